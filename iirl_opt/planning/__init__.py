"""PLANNING: what a commitment earns, Algorithms 2 and 3, and searches that need no solver."""
