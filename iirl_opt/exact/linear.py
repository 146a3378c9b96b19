"""Exact solutions of linear systems of Fractions.

python-flint solves them where it is installed (the extra ``exact``: 392 equations take a tenth of a
second), elimination on Fractions up to 40 equations, and nothing beyond.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from iirl_opt.errors import NotExact
from iirl_opt.exact.numbers import Vector, as_fractions, as_reals, over

__all__ = [
    "WITHOUT_FLINT",
    "NotRepaired",
    "echelon",
    "eliminate",
    "has_flint",
    "solve",
    "solve_near",
]

WITHOUT_FLINT = 40  # equations that elimination in Python solves in a moment


@dataclass(eq=False)
class NotRepaired(NotExact):
    """Numbers of a certificate are floats, and why no exact ones were found."""

    reason: str

    def __str__(self) -> str:
        return f"{self.what} has no exact numbers: {self.reason}"


def has_flint() -> bool:
    """Return whether python-flint is installed."""
    return find_spec("flint") is not None


def echelon(matrix: Vector) -> tuple[Vector, list[int]]:
    """Return the reduced row echelon form of a matrix of Fractions, and the columns of its pivots.

    Raises
    ------
    NotExact
        There are more than 40 rows or columns and python-flint is not installed.
    """
    try:
        flint = importlib.import_module("flint")
    except ImportError:
        return eliminate(matrix)
    if 0 in matrix.shape:
        return matrix.copy(), []
    form, rank = _flint(flint, matrix).rref()
    reduced = _numbers(form).reshape(matrix.shape)
    return reduced, [int(np.flatnonzero(row)[0]) for row in reduced[:rank]]


def _flint(flint: Any, matrix: Vector) -> Any:
    entries = [flint.fmpq(x.numerator, x.denominator) for x in matrix.ravel()]
    return flint.fmpq_mat(*matrix.shape, entries)


def _numbers(matrix: Any) -> Vector:
    numbers = matrix.entries()
    return over([int(x.p) for x in numbers], [int(x.q) for x in numbers])


def eliminate(matrix: Vector) -> tuple[Vector, list[int]]:
    """Return what `echelon` does, without python-flint."""
    size = min(matrix.shape)
    if size > WITHOUT_FLINT:
        reason = f"{size} equations need python-flint: pip install 'iirl-opt[exact]'"
        raise NotRepaired("a linear system", reason)
    reduced = matrix.copy()
    pivots: list[int] = []
    for column in range(matrix.shape[1]):
        below = np.flatnonzero(reduced[len(pivots) :, column])
        if not len(below):
            continue
        here, chosen = len(pivots), len(pivots) + int(below[0])
        reduced[[here, chosen]] = reduced[[chosen, here]]
        reduced[here] = reduced[here] / reduced[here, column]
        for other in np.flatnonzero(reduced[:, column]):
            if other != here:
                reduced[other] = reduced[other] - reduced[other, column] * reduced[here]
        pivots.append(column)
    return reduced, pivots


def solve(matrix: Vector, right: Vector) -> Vector | None:
    """Return the solution of a square system of Fractions, or None if it is singular.

    Parameters
    ----------
    matrix : (n, n).
    right : (n,) or (n, k).
    """
    size, columns = len(matrix), right.reshape(len(matrix), -1)
    try:
        flint = importlib.import_module("flint")
    except ImportError:
        reduced, pivots = eliminate(np.hstack([matrix, columns]))
        return reduced[:, size:].reshape(right.shape) if pivots == list(range(size)) else None
    try:
        found = _flint(flint, matrix).solve(_flint(flint, columns), algorithm="dixon")
    except ZeroDivisionError:
        return None
    return _numbers(found).reshape(right.shape)


def solve_near(matrix: Vector, right: Vector, guess: ArrayLike) -> Vector | None:
    """Return a solution of a system of any shape near a guess, or None if there is none.

    Unknowns that the equations leave free keep the value of the guess; those
    whose guess is largest are determined first.
    """
    near = as_fractions(guess)
    order = np.argsort(-np.abs(as_reals(near)), kind="stable")
    reduced, pivots = echelon(np.hstack([matrix[:, order], right[:, None]]))
    if len(order) in pivots:
        return None
    free = np.setdiff1d(np.arange(len(order)), pivots)
    found = near[order]
    for row, pivot in zip(reduced, pivots, strict=False):
        used = free[np.flatnonzero(row[free])]
        found[pivot] = row[-1] - sum((row[used] * found[used]).tolist(), Fraction(0))
    out = np.empty_like(found)
    out[order] = found
    return out
