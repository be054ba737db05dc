"""Parts of bench/watch.py: the web that is watched, and those who watch it, each a process of its own."""
