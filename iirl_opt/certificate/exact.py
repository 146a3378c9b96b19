"""Rational linear algebra: what an exact check and a repair compute with.

Vectors are object arrays of `fractions.Fraction`. A matrix is kept as `ExactRows`, integers over
one denominator a row, so that products run on integers and a fraction is reduced once an entry. The
same methods on floats are `FloatRows`; a condition written against them holds in both arithmetics.

Dense systems are solved by python-flint where it is installed (the extra ``exact``: 392 equations
take a tenth of a second), by elimination on Fractions up to 40 equations, and not at all beyond.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.errors import NotExact
from iirl_opt.game.kernel import Matrix, as_fraction

__all__ = [
    "ExactRows",
    "FloatRows",
    "NotRepaired",
    "as_fractions",
    "as_reals",
    "rational_policy",
    "solve",
    "solve_near",
]

# Vectors of the one arithmetic or the other: floats, or objects that are Fractions.
Vector = NDArray[Any]
Integers = NDArray[np.int64]

WITHOUT_FLINT = 40  # equations that elimination in Python solves in a moment


@dataclass(eq=False)
class NotRepaired(NotExact):
    """Numbers of a certificate are floats, and why no exact ones were found."""

    reason: str

    def __str__(self) -> str:
        return f"{self.what} has no exact numbers: {self.reason}"


def as_fractions(numbers: Any) -> Vector:
    """Return numbers as Fractions; floats are read as the decimals they print as."""
    given = np.asarray(numbers)
    out = np.empty(given.shape, dtype=object)
    flat = given.ravel().tolist()
    out.ravel()[:] = [x if type(x) is Fraction else as_fraction(x) for x in flat]
    return out


def as_reals(numbers: Any) -> NDArray[np.float64]:
    """Return numbers as floats; a Fraction beyond all floats becomes infinite."""
    given = np.asarray(numbers)
    if given.dtype != object:
        return given.astype(float)
    return np.array([_real(x) for x in given.ravel()], dtype=float).reshape(given.shape)


def _real(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def rational_policy(policy: ArrayLike, what: str) -> Vector:
    """Return a policy (S, n) as Fractions that are rows summing to one.

    A float is read as its decimal, and where these do not sum to one as the simplest fraction that
    rounds to it, so that 1/3 is found again.

    Raises
    ------
    NotExact
        Neither sums to one: names the row.
    """
    given = np.asarray(policy)
    rows = as_fractions(given.reshape(given.shape[0], math.prod(given.shape[1:])))
    for s in np.flatnonzero(rows.sum(axis=1) != 1):
        rows[s] = [_simplest(x) for x in rows[s]]
        if rows[s].sum() != 1:
            reason = f"the probabilities of row {s} do not sum to exactly one"
            raise NotRepaired(what, reason)
    return rows.reshape(given.shape)


def _simplest(number: Fraction) -> Fraction:
    near = number.limit_denominator(10_000)
    return near if float(near) == float(number) else number


def common(vector: Vector) -> tuple[Vector, int]:
    """Return a vector of Fractions as integers over one denominator."""
    flat = vector.ravel().tolist()
    below = math.lcm(*(x.denominator for x in flat))
    out = np.empty(len(flat), dtype=object)
    out[:] = [x.numerator * (below // x.denominator) for x in flat]
    return out.reshape(vector.shape), below


def _over(above: Iterable[int], below: Iterable[int]) -> Vector:
    zero = Fraction(0)
    quotients = [Fraction(a, b) if a else zero for a, b in zip(above, below, strict=True)]
    out = np.empty(len(quotients), dtype=object)
    out[:] = quotients
    return out


@dataclass(frozen=True, eq=False)
class FloatRows:
    """A sparse matrix of floats with the methods of `ExactRows`."""

    matrix: Matrix

    def times(self, vector: Vector) -> Vector:
        """Return the product with a vector."""
        return np.asarray(self.matrix @ vector)

    def transposed(self, weights: Vector) -> Vector:
        """Return the sum of the rows, each times its weight."""
        return np.asarray(self.matrix.T @ weights)

    def mixed(self, weights: Vector, at: Integers) -> FloatRows:
        """Return the matrix whose row i is ``Σ_k weights[i, k] · row at[i, k]``."""
        i, k = np.nonzero(weights)
        shape = (len(weights), self.matrix.shape[0])
        return FloatRows(sp.csr_array((weights[i, k], (i, at[i, k])), shape=shape) @ self.matrix)

    def dense(self) -> Vector:
        """Return the matrix as a dense array."""
        return np.asarray(self.matrix.toarray())


@dataclass(frozen=True, eq=False)
class ExactRows:
    """A sparse matrix of rationals: integers over one denominator a row, in the layout of CSR."""

    indptr: Integers
    indices: Integers
    numerators: NDArray[Any]
    denominators: NDArray[Any]
    width: int

    @classmethod
    def of(cls, rows: Iterable[tuple[dict[int, int], int]], width: int) -> ExactRows:
        """Return the matrix of rows given as ``({column: numerator}, denominator)``."""
        given = list(rows)
        sizes = [len(row) for row, _ in given]
        numerators = np.array([x for row, _ in given for x in row.values()], dtype=object)
        indices = np.array([j for row, _ in given for j in row], dtype=np.int64)
        below = np.array([total for _, total in given], dtype=object)
        return cls(np.concatenate([[0], np.cumsum(sizes)]), indices, numerators, below, width)

    def times(self, vector: Vector) -> Vector:
        """Return the product with a vector."""
        numbers, below = common(vector)
        products = (self.numerators * numbers[self.indices]).tolist()
        sums = [sum(products[i:j]) for i, j in pairwise(self.indptr)]
        return _over(sums, (self.denominators * below).tolist())

    def transposed(self, weights: Vector) -> Vector:
        """Return the sum of the rows, each times its weight."""
        used = np.flatnonzero(weights)
        below = [Fraction(1, int(x)) for x in self.denominators[used]]
        scaled, total = common(weights[used] * np.array(below, dtype=object))
        out = np.zeros(self.width, dtype=object)
        for row, weight in zip(used, scaled, strict=True):
            span = slice(self.indptr[row], self.indptr[row + 1])
            out[self.indices[span]] += weight * self.numerators[span]
        return _over(out.tolist(), [total] * self.width)

    def mixed(self, weights: Vector, at: Integers) -> ExactRows:
        """Return the matrix whose row i is ``Σ_k weights[i, k] · row at[i, k]``."""
        return ExactRows.of(map(self._mixture, weights, at), self.width)

    def _mixture(self, weights: Vector, at: Integers) -> tuple[dict[int, int], int]:
        used = np.flatnonzero(weights)
        pairs = zip(weights[used], at[used].tolist(), strict=True)
        parts = [(w / int(self.denominators[i]), i) for w, i in pairs]
        below = math.lcm(*(w.denominator for w, _ in parts))
        row: dict[int, int] = {}
        for weight, i in parts:
            scale = weight.numerator * (below // weight.denominator)
            span = slice(self.indptr[i], self.indptr[i + 1])
            columns, numbers = self.indices[span].tolist(), self.numerators[span].tolist()
            for j, x in zip(columns, numbers, strict=True):
                row[j] = row.get(j, 0) + scale * int(x)
        return row, below

    def dense(self) -> Vector:
        """Return the matrix as a dense array of Fractions."""
        out = np.full((len(self.denominators), self.width), Fraction(0), dtype=object)
        spans = np.diff(self.indptr)
        rows = np.repeat(np.arange(len(spans)), spans)
        below = np.repeat(self.denominators, spans)
        out[rows, self.indices] = _over(self.numerators.tolist(), below.tolist())
        return out


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
    entries = [flint.fmpq(x.numerator, x.denominator) for x in matrix.ravel()]
    form, rank = flint.fmpq_mat(*matrix.shape, entries).rref()
    numbers = form.entries()
    reduced = _over([int(x.p) for x in numbers], [int(x.q) for x in numbers]).reshape(matrix.shape)
    return reduced, [int(np.flatnonzero(row)[0]) for row in reduced[:rank]]


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
    size = len(matrix)
    reduced, pivots = echelon(np.hstack([matrix, right.reshape(size, -1)]))
    return reduced[:, size:].reshape(right.shape) if pivots == list(range(size)) else None


def solve_near(matrix: Vector, right: Vector, guess: ArrayLike) -> Vector | None:
    """Return a solution of a system of any shape near a guess, or None if there is none.

    Unknowns that the equations leave free keep the value of the guess, read as decimals; those
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
