"""Unit rows: half-spaces of the simplex, of which only the direction counts, none of them twice.

On the simplex a row and the same less its mean times ``1`` differ by a constant, which is zero for
the rows of feasible sets (constants explain everything). So rows are taken without their means and
of norm one, and rows that agree are one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.rewards.explicit_rows import first_of_equals, row_keys

__all__ = ["UnitRows", "unit_rows"]

Array = NDArray[np.float64]

# Rows whose norm is below this share of their largest entry's are rounding.
ZERO = 1e-12

# Unit rows that agree to so many digits are equal.
DIGITS = 10


def unit_rows(rows: ArrayLike) -> Array:
    """Return rows without their means, scaled to norm one; zeros and repetitions left out.

    **Cost** arithmetic.
    """
    given = np.asarray(rows, dtype=float)
    unit = given - given.mean(axis=1, keepdims=True)
    norms = np.sqrt(np.einsum("ij,ij->i", unit, unit))
    largest = np.maximum(given.max(axis=1, initial=0.0), -given.min(axis=1, initial=0.0))
    kept = norms > ZERO * largest
    unit, norms = (unit, norms) if kept.all() else (unit[kept], norms[kept])
    unit /= norms[:, None]
    first = first_of_equals(unit, DIGITS)
    return unit if len(first) == len(unit) else np.asarray(unit[first])


@dataclass(frozen=True, eq=False)
class UnitRows:
    """Unit rows that more may join; the longer ones share the memory of those that they extend.

    So a learner that is told of an episode costs its rows and no copy of all earlier ones, and the
    one before stays as it is, whichever threads extend it. Copies and pickles hold their own rows
    alone.
    """

    _buffer: Array
    _written: list[int]  # by whoever shares the buffer: so many of its rows
    _keys: NDArray[np.complex128]
    _lock: Lock = field(default_factory=Lock, repr=False)  # of the buffer and what is written

    def __reduce__(self) -> tuple[type[Self], tuple[Array, list[int], NDArray[np.complex128]]]:
        """Return what copies and pickles are made of: these rows, neither the rest nor the lock."""
        return type(self), (self.array, [len(self)], self._keys)

    @classmethod
    def of(cls, rows: Array) -> Self:
        """Return unit rows (m, n) as such, see `unit_rows`."""
        return cls(rows, [len(rows)], row_keys(rows, DIGITS))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._keys)

    @property
    def array(self) -> Array:
        """The rows, (m, n), in the order in which they joined."""
        return self._buffer[: len(self)]

    def joined(self, rows: Array) -> Self:
        """Return the rows with those of others, unit too, that repeat none; itself without any.

        **Cost** arithmetic: that of the new rows; now and then a copy of all.
        """
        keys = row_keys(rows, DIGITS)
        new = ~np.isin(keys, self._keys)
        if not new.any():
            return self
        size, end = len(self), len(self) + int(new.sum())
        buffer, written, lock = self._buffer, self._written, self._lock
        # Whoever comes first takes the place behind these rows; any other makes room elsewhere.
        with lock:
            room = written[0] == size and end <= len(buffer)
            if room:
                written[0] = end
        if not room:
            buffer, written, lock = np.empty((2 * end, rows.shape[1])), [end], Lock()
            buffer[:size] = self.array
        buffer[size:end] = rows[new]
        return type(self)(buffer, written, np.concatenate([self._keys, keys[new]]), lock)
