"""What a property test would otherwise load within its first example.

Hypothesis allows an example 200 milliseconds by default. cvxpy alone takes half a second to load,
so a test that uses a feasible set would fail at its first example and at no other, which hypothesis
calls flaky. Opening `iirl_opt.testing` therefore loads what this package's rooms load late, about a
second's worth, and registers the profile of `iirl_opt.testing.profile`. Nothing is solved.
`iirl_opt` itself stays light, and so does hypothesis, whose entry point is another module,
`iirl_opt._hypothesis`.

What compiles is left out: the samplers of `iirl_opt.bayesian` take numba half a minute when they
are first used. In a property test sample with ``fast=False``, or without a deadline.
"""

from contextlib import suppress
from importlib import import_module

__all__ = ["LIBRARIES", "ROOMS"]

ROOMS = (
    *("game", "follower", "observation", "certificate", "solver", "occupancy", "rewards"),
    *("commitment", "verification", "learn", "bayesian"),
)

# What these rooms load within functions.
LIBRARIES = (
    *("email.parser", "flint", "networkx", "numpy.random", "scipy.linalg", "scipy.optimize"),
    *("scipy.sparse.csgraph", "scipy.sparse.linalg", "scipy.special"),
)


def _load() -> None:
    for room in map(import_module, (f"iirl_opt.{room}" for room in ROOMS)):
        for name in room.__all__:
            getattr(room, name)
    for module in (*LIBRARIES, "iirl_opt.testing.profile"):
        with suppress(ImportError):  # flint and hypothesis are extras
            import_module(module)


_load()
