"""The corners of a small polytope of distributions, in Fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np

from iirl_opt.exact.linear import solve
from iirl_opt.exact.numbers import Vector

__all__ = ["corners", "count_of_systems"]


def count_of_systems(n: int, m: int) -> int:
    """Return how many linear systems `corners` solves for n numbers and m rows."""
    return math.comb(n + m, n - 1)


def corners(rows: Vector, right: Vector) -> Vector:
    """Return the corners (k, n) of ``{p ≥ 0, Σ p = 1, rows · p ≤ right}``; none if it is empty.

    Parameters
    ----------
    rows : (m, n).
    right : (m,).

    **Cost** an exact solve of n equations for every choice of n − 1 tight rows: for few of both.

    Examples
    --------
    >>> half = np.array([[Fraction(0), Fraction(1)]]), np.array([Fraction(1, 2)])
    >>> corners(*half).tolist()
    [[Fraction(1, 1), Fraction(0, 1)], [Fraction(1, 2), Fraction(1, 2)]]
    """
    n = rows.shape[1]
    zero, one = Fraction(0), Fraction(1)
    signs = np.full((n, n), zero, dtype=object)
    signs[np.diag_indices(n)] = -one
    every = np.vstack([signs, rows])
    most = np.concatenate([np.full(n, zero, dtype=object), right])
    found: dict[tuple[Fraction, ...], None] = {}
    for tight in combinations(range(len(every)), n - 1):
        at = list(tight)
        system = np.vstack([np.full((1, n), one, dtype=object), every[at]])
        point = solve(system, np.concatenate([np.array([one], dtype=object), most[at]]))
        if point is not None and (every @ point <= most).all():
            found[tuple(point)] = None
    out = np.empty((len(found), n), dtype=object)
    for i, corner in enumerate(found):
        out[i] = corner
    return out
