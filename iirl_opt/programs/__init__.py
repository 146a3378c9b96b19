"""The optimisation models, a file a family."""
