"""`comity watch …` for people: pages, lists, who is told, and moving in."""
