"""Moving pages in from another system, and what both tell each other while both live."""
