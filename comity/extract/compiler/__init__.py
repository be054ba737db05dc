"""From KDL nodes to a checked program, or to everything that is wrong with them. Nothing here reaches a network."""
