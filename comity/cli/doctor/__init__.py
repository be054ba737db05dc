"""`comity doctor`: every link of the chain, the fix beside each that does not hold."""
