"""`comity extract run` and `schema`: pages in, typed data out, one or many."""
