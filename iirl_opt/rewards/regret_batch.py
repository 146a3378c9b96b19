"""Multipliers that bound many linear functions over the feasible rewards at once, without a solver.

A bound on the largest value of ``c·r`` over the rewards of the simplex with ``G r ≥ 0`` needs only
multipliers ``y ≥ 0``: it is ``max_i (c + Gᵀy)_i`` (`iirl_opt.rewards.ceiling`). Linear programs
bring the best y, one c at a time; some dozens of steps of the alternating direction method bring
good ones for all c at once by products of matrices. Its systems ``GᵀG + I`` are all the same, and
its dual point has the right sign at any time:

    x ← (GᵀG + I)^{-1} (Gᵀ|q| + |p| + c/ρ),   q ← G x + min(q, 0),   p ← x + min(p, 0),   y = −ρ q⁻

where p does for ``x ≥ 0`` what q does for the rows; x is the reward times the number of its
entries. Rows have norm one. Constants are feasible and satisfy every row with equality, so x moves
among vectors of the same sum.

Source: Boyd, Parikh, Chu, Peleato & Eckstein 2011 (sections 3.4.3 and 5), in a form with one
variable for each row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from iirl_opt.rewards.regret_rows import Polytope

__all__ = ["Batch"]

Array = NDArray[np.float64]

# The penalty ρ for functions of norm one, and the over-relaxation.
PENALTY, RELAXED = 0.01, 1.6
# Functions at a time, so that what belongs to them stays in the processor's cache.
TOGETHER = 32
# So many rows for each entry of a reward are kept: those that count most for a few functions.
KEPT, FEW, TRIED = 6, 64, 20


class Batch:
    """Multipliers of rows for many linear functions, made better a few steps at a time.

    Parameters
    ----------
    rows : of the feasible set; ties are left out.
    functions : c, shape (k, width); constants have no part in them.

    Attributes
    ----------
    kept : the free rows that take part.
    """

    kept: NDArray[np.int64]

    def __init__(self, rows: Polytope, functions: Array) -> None:
        norm = np.linalg.norm(rows.free, axis=1)
        self.kept, _ = rows.beyond_rounding
        self._norm, width = norm, functions.shape[1]
        self._size = np.linalg.norm(functions, axis=1)
        self._size[self._size == 0.0] = 1.0
        self._c = (functions / self._size[:, None] / PENALTY).astype(np.float32)
        self._begin(rows)
        if self.kept.size > KEPT * width:
            few = np.linspace(0, len(functions) - 1, FEW).astype(np.int64)
            weight = self.improved(few, TRIED).sum(axis=0)
            order = np.argsort(-weight, kind="stable")[: KEPT * width]
            self.kept = self.kept[np.sort(order)]
            self._begin(rows)

    def _begin(self, rows: Polytope) -> None:
        exact = rows.free[self.kept] / self._norm[self.kept, None]
        width = exact.shape[1]
        # Constants are taken out here once for all.
        inverse = np.linalg.inv(exact.T @ exact + np.eye(width)) - 1.0 / width
        self._inverse = inverse.astype(np.float32)
        self._rows = exact.astype(np.float32)
        self._q = np.zeros((len(self._c), self.kept.size), dtype=np.float32)
        self._p = np.zeros((len(self._c), width), dtype=np.float32)

    def improved(self, which: NDArray[np.int64], steps: int) -> Array:
        """Return multipliers ≥ 0 of the kept rows, (len(which), kept), after so many more steps."""
        out = np.empty((which.size, self.kept.size))
        for begin in range(0, which.size, TOGETHER):
            part = which[begin : begin + TOGETHER]
            q, p, c = self._q[part], self._p[part], self._c[part]
            for _ in range(steps):
                of_rows, of_signs = np.abs(q), np.abs(p)
                x = (of_rows @ self._rows + of_signs + c) @ self._inverse
                x *= RELAXED
                _onward(q, of_rows, x @ self._rows.T)
                _onward(p, of_signs, x + np.float32(RELAXED))
            self._q[part], self._p[part] = q, p
            out[begin : begin + TOGETHER] = -np.minimum(q, 0.0)
        out *= PENALTY * self._size[which, None] / self._norm[self.kept]
        return out


def _onward(q: NDArray[np.float32], size: NDArray[np.float32], step: NDArray[np.float32]) -> None:
    """Move ``q`` to ``step + min(q, 0) + (1 − α) max(q, 0)`` in place; `size` is |q|."""
    q *= np.float32(1.0 - RELAXED / 2)
    size *= np.float32(RELAXED / 2)
    q -= size
    q += step
