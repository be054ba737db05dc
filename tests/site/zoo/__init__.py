"""The zoo: everything on the web that makes a crawler's life hard, one cage each, behind `/zoo/`."""
