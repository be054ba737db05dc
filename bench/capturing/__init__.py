"""What bench/capture loads and captures, and who else captures it."""
