"""The demonstration tree: six small sites in two languages, one per host, joined by a ring."""
