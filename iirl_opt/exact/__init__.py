"""Rational numbers: what given numbers mean, sparse rows, linear systems. Knows no game."""
