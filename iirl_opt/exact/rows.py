"""Sparse matrices of exact numbers, and of floats with the same methods.

A matrix is kept as integers over one denominator a row, so that products run on integers and a
fraction is reduced once an entry.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.exact.numbers import Vector, common, over

__all__ = ["IMAGE", "ExactRows", "FloatRows", "same_entries"]

Integers = NDArray[np.int64]

IMAGE = 2**50  # the largest denominator of rows that are read off their floats


@dataclass(frozen=True, eq=False)
class FloatRows:
    """A sparse matrix of floats with the methods of `ExactRows`."""

    matrix: Any

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
    """A sparse matrix of rationals: integers over one denominator a row, in the layout of CSR.

    Attributes
    ----------
    indptr, indices : where the entries stand, row by row.
    numerators : integers of shape (nnz,), int64, or Python integers where int64 is too small.
    denominators : integers of shape (n,), one a row: entry = numerator / denominator.
    width : the number of columns.
    """

    indptr: Integers
    indices: Integers
    numerators: NDArray[Any]
    denominators: NDArray[Any]
    width: int

    @classmethod
    def of_weights(cls, csr: Any) -> ExactRows:
        """Return the rows of a CSR matrix of floats ≥ 0, each divided by its exact sum."""
        mantissas, exponents = np.frexp(csr.data)
        whole = (mantissas * 2.0**53).astype(np.int64).tolist()
        shifts = (exponents - 53).tolist()
        numerators = np.empty(len(whole), dtype=object)
        denominators = np.ones(len(csr.indptr) - 1, dtype=object)
        for i, (start, end) in enumerate(pairwise(csr.indptr.tolist())):
            least = min(shifts[start:end], default=0)
            row = [
                n << (k - least) for n, k in zip(whole[start:end], shifts[start:end], strict=True)
            ]
            common = math.gcd(*row) or 1
            numerators[start:end] = [n // common for n in row]
            denominators[i] = sum(row) // common or 1
        return cls(csr.indptr, csr.indices, numerators, denominators, csr.shape[1])

    @classmethod
    def of_image(cls, csr: Any, denominators: NDArray[Any]) -> ExactRows:
        """Return the rows whose entries, rounded to floats, are a CSR matrix.

        A rounded quotient times its denominator is off the numerator by less than a half while
        that is below 2⁵¹: by one rounding of each operation.
        """
        numbers = np.repeat(denominators.astype(float), np.diff(csr.indptr))
        np.multiply(csr.data, numbers, out=numbers)
        numerators = np.rint(numbers, out=numbers).astype(np.int64)
        below = denominators.astype(np.int64)
        return cls(csr.indptr, csr.indices, numerators, below, csr.shape[1])

    @classmethod
    def stacked(cls, parts: Iterable[ExactRows]) -> ExactRows:
        """Return the rows of all parts, one below the other."""
        given = list(parts)
        spans = np.concatenate([np.diff(part.indptr) for part in given])
        return cls(
            np.concatenate([[0], np.cumsum(spans)]),
            np.concatenate([part.indices for part in given]),
            np.concatenate([part.numerators for part in given]),
            np.concatenate([part.denominators for part in given]),
            given[0].width,
        )

    @classmethod
    def of(cls, rows: Iterable[tuple[dict[int, int], int]], width: int) -> ExactRows:
        """Return the matrix of rows given as ``({column: numerator}, denominator)``."""
        # In order of columns, so that equal rows are written alike.
        given = [(dict(sorted(row.items())), total) for row, total in rows]
        sizes = [len(row) for row, _ in given]
        numerators = np.array([x for row, _ in given for x in row.values()], dtype=object)
        indices = np.array([j for row, _ in given for j in row], dtype=np.int64)
        below = np.array([total for _, total in given], dtype=object)
        return cls(np.concatenate([[0], np.cumsum(sizes)]), indices, numerators, below, width)

    def freeze(self) -> None:
        """Make the arrays read-only."""
        for array in (self.indptr, self.indices, self.numerators, self.denominators):
            array.flags.writeable = False

    def row(self, index: int) -> dict[int, Fraction]:
        """Return one row as ``{column: entry}``."""
        span = slice(self.indptr[index], self.indptr[index + 1])
        total = int(self.denominators[index])
        columns, numbers = self.indices[span].tolist(), self.numerators[span].tolist()
        return {j: Fraction(n, total) for j, n in zip(columns, numbers, strict=True)}

    def take(self, rows: Integers) -> ExactRows:
        """Return some of the rows."""
        spans = np.diff(self.indptr)[rows]
        pointers = np.concatenate([[0], np.cumsum(spans)]).astype(np.int64)
        at = np.repeat(self.indptr[rows] - pointers[:-1], spans) + np.arange(pointers[-1])
        return ExactRows(
            pointers, self.indices[at], self.numerators[at], self.denominators[rows], self.width
        )

    def same(self, one: Integers, two: Integers) -> NDArray[np.bool_]:
        """Return for pairs of rows whether they are written alike, as rows in lowest terms are.

        **Cost** arithmetic on the entries of the pairs.
        """
        alike = np.asarray(self.denominators[one] == self.denominators[two], dtype=bool)
        return alike & same_entries(self.indptr, self.indices, self.numerators, one, two)

    def times(self, vector: Vector) -> Vector:
        """Return the product with a vector."""
        numbers, below = common(vector)
        products = (self.numerators * numbers[self.indices]).tolist()
        sums = [sum(products[i:j]) for i, j in pairwise(self.indptr.tolist())]
        return over(sums, (self.denominators.astype(object) * below).tolist())

    def transposed(self, weights: Vector) -> Vector:
        """Return the sum of the rows, each times its weight."""
        used = np.flatnonzero(weights)
        below = [Fraction(1, int(x)) for x in self.denominators[used]]
        scaled, total = common(weights[used] * np.array(below, dtype=object))
        out = np.zeros(self.width, dtype=object)
        for row, weight in zip(used, scaled, strict=True):
            span = slice(self.indptr[row], self.indptr[row + 1])
            # As objects, whose products overflow nothing.
            out[self.indices[span]] += weight * self.numerators[span].astype(object)
        return over(out.tolist(), [total] * self.width)

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
        out[rows, self.indices] = over(self.numerators.tolist(), below.tolist())
        return out


def same_entries(
    indptr: Integers, indices: Integers, data: NDArray[Any], one: Integers, two: Integers
) -> NDArray[np.bool_]:
    """Return for pairs of rows in the layout of CSR whether their entries are the same, in order.

    Parameters
    ----------
    one, two : numbers of rows, of one shape (k,).
    """
    spans = np.diff(indptr)
    same = np.asarray(spans[one] == spans[two])
    pair = np.repeat(np.flatnonzero(same), spans[one[same]])
    starts = np.cumsum(spans[one[same]]) - spans[one[same]]
    step = np.arange(pair.size) - np.repeat(starts, spans[one[same]])
    first, second = indptr[one[pair]] + step, indptr[two[pair]] + step
    apart = (indices[first] != indices[second]) | (data[first] != data[second])
    same[pair[apart.astype(bool)]] = False
    return same
