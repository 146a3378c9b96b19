"""The parts of a program that answers are judged by: its coefficients and its bounds.

What judging asks of them depends on no answer, so each is computed once, and stays with the part
where a program changes elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Coefficients", "Interval"]

Array = NDArray[np.float64]

# An entry smaller than this beside both its row and its column may be noise.
NOISE = 1e-11


@dataclass(frozen=True, eq=False)
class Coefficients:
    """A matrix (m, n), stored by columns."""

    matrix: Any

    @cached_property
    def transposed(self) -> Any:
        """The matrix (n, m), by rows."""
        return self.matrix.T

    @cached_property
    def sizes(self) -> Any:
        """The magnitudes (m, n) of the coefficients."""
        return abs(self.matrix)

    @cached_property
    def sizes_transposed(self) -> Any:
        """The magnitudes (n, m), by rows."""
        return self.sizes.T

    @cached_property
    def row_norms(self) -> Array:
        """The Euclidean norms of the rows, (m,)."""
        return self._norms(self.matrix.indices, self.matrix.shape[0])

    @cached_property
    def column_norms(self) -> Array:
        """The Euclidean norms of the columns, (n,)."""
        return self._norms(self._columns, self.matrix.shape[1])

    @cached_property
    def extremes(self) -> tuple[float, float]:
        """The least and the largest magnitude that is neither zero nor noise; (1, 1) without any.

        Noise is beside both the largest entry of its row and that of its column.
        """
        sizes = np.abs(self.matrix.data)
        counted = sizes > 0
        if not counted.any():
            return 1.0, 1.0
        if not sizes.min() > NOISE * sizes.max():
            i, j, (m, n) = self.matrix.indices, self._columns, self.matrix.shape
            of_row, of_column = np.zeros(m), np.zeros(n)
            np.maximum.at(of_row, i, sizes)
            np.maximum.at(of_column, j, sizes)
            counted &= sizes > NOISE * np.minimum(of_row[i], of_column[j])
            sizes = sizes[counted]
        return float(sizes.min(initial=np.inf)), float(sizes.max(initial=0.0))

    @property
    def _columns(self) -> NDArray[np.intp]:
        """The column of each stored entry, as ``matrix.indices`` is its row."""
        return np.repeat(np.arange(self.matrix.shape[1]), np.diff(self.matrix.indptr))

    def _norms(self, at: Any, size: int) -> Array:
        return np.asarray(np.sqrt(np.bincount(at, self.matrix.data**2, size)))


@dataclass(frozen=True, eq=False)
class Interval:
    """Bounds on rows or on variables, infinite where there is none, shape (k,) each."""

    low: Array
    high: Array

    @cached_property
    def size(self) -> Array:
        """The magnitude of the larger finite bound, 0 without one, (k,)."""
        finite = (np.where(np.isinf(side), 0.0, np.abs(side)) for side in (self.low, self.high))
        return np.asarray(np.maximum(*finite))

    @cached_property
    def largest(self) -> float:
        """The magnitude of the largest finite bound of all."""
        return float(self.size.max(initial=0.0))

    @cached_property
    def _open(self) -> tuple[Array, Array]:
        """One where there is no lower bound, and where there is no upper one; else zero."""
        return np.isinf(self.low).astype(float), np.isinf(self.high).astype(float)

    def crossed(self, whole: Any) -> Any:
        """Return where no value is within the bounds; where `whole` says so, no whole one."""
        low = np.where(whole, np.ceil(self.low), self.low)
        high = np.where(whole, np.floor(self.high), self.high)
        return low > high

    def outside(self, values: Array) -> Array:
        """Return by how much values miss their bounds."""
        return np.asarray(np.maximum(np.maximum(self.low - values, values - self.high), 0.0))

    def wrong_sign(self, multipliers: Array) -> Array:
        """Return by how much multipliers push against bounds that do not exist."""
        return np.asarray(np.abs(multipliers) * np.where(multipliers > 0, *self._open))

    def slack_product(self, multipliers: Array, values: Array) -> Array:
        """Return each multiplier times the distance to the bound that it speaks of."""
        bound = np.where(multipliers > 0, self.low, self.high)
        return np.asarray(multipliers * np.where(np.isinf(bound), 0.0, values - bound))
