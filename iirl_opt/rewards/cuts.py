"""Feasible rewards by cuts: the explicit rows of Corollary 1, added where they are violated.

Explicit rows (`iirl_opt.rewards.explicit_rows`) are dense and there are thousands, but at a vertex
only as many bind as there are states. So a program starts with the domain alone, looks
for violated rows by one product ``G r``, adds the worst and is solved again, until no row is
violated (Kelley 1960). Rows that have long stopped to bind are dropped on the way.

The program is kept in dual form, in which a row of rewards is a column: its basis then has the
size of the number of states however many rows have been added, and the primal simplex method goes
on from it. Where the chain ``I − γ P_t`` mixes, as in random games, this is many times faster than
the sparse lifted program; where it is local, as in mazes, the lifted program wins (`prefers_cuts`).

Where rows may be violated at a price (`iirl_opt.rewards.price`), their multipliers are at most that
price: a bound on the columns of the dual, and nothing else changes.

What is found is made an answer of the lifted program in `iirl_opt.rewards.cut_search`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.errors import SolverProblem
from iirl_opt.game.kernel import Matrix
from iirl_opt.rewards.explicit_rows import Block
from iirl_opt.solver import HiGHS, LiveProgram
from iirl_opt.solver.linear import LinearProgram, column_bounds

__all__ = ["CutProgram", "Point", "prefers_cuts"]

Array = NDArray[np.float64]

# A row, scaled to a largest entry of one, is violated beyond this at a point of the size of one.
VIOLATED = 1e-9

# A round adds at most as many rows as there are variables, in small programs this many.
LEAST = 400

# Dropped rows may come back; from this round on none is dropped, so that there is an end.
PATIENCE = 100

# Cuts win where the factors of I − γP fill at least this share of a square matrix, or where the
# game is small; beyond LARGE states the dense rows do not pay.
FILL, SMALL, LARGE = 0.2, 40, 1000


def prefers_cuts(blocks: Sequence[Block]) -> bool:
    """Return whether programs over these episodes are faster by cuts than lifted: a measured rule.

    **Cost** arithmetic: one sparse factorisation an episode, kept.
    """
    if not any(map(len, blocks)):
        return False
    n_states = blocks[0].flow.shape[0]
    if n_states <= SMALL:
        return True
    return n_states <= LARGE and float(np.mean([block.fill for block in blocks])) >= FILL


class Point(NamedTuple):
    """A vertex with multipliers that prove it.

    Attributes
    ----------
    x : values of all variables of the domain's program, the reward among them.
    on_domain : multipliers of the domain's rows, ≥ 0 on inequalities.
    on_rows : multipliers of the explicit rows of all episodes, ≥ 0 but on tied ones.
    iterations, seconds, version : of the solver.
    """

    x: Array
    on_domain: Array
    on_rows: Array
    iterations: int
    seconds: float
    version: str


class _Sides(NamedTuple):
    """A domain as ``rows x ≥ bounds`` (the first `equal` of them equations) and signs of entries.

    Attributes
    ----------
    owner : the domain's own row that each row is, or −1 for bounds on variables.
    sign : 1 where ``x_j ≥ 0`` holds, −1 where ``x_j ≤ 0``, 0 where neither; shape (n,).
    sign_owner : the domain's own row that says so.
    """

    rows: Matrix
    bounds: Array
    equal: int
    owner: NDArray[np.int64]
    sign: NDArray[np.int64]
    sign_owner: NDArray[np.int64]

    @classmethod
    def of(cls, data: Any) -> _Sides:
        matrix, right, equal = sp.csr_array(data["A"]), data["b"], data["dims"].zero
        m, n = matrix.shape
        sign, sign_owner = np.zeros(n, dtype=np.int64), np.full(n, -1)
        alone = (np.diff(matrix.indptr) == 1) & (right == 0) & (np.arange(m) >= equal)
        at = np.flatnonzero(alone)
        columns = matrix.indices[matrix.indptr[at]]
        # The first row that bounds a variable by zero becomes its sign; others stay rows.
        columns, first = np.unique(columns, return_index=True)
        at = at[first]
        sign[columns] = -np.sign(matrix.data[matrix.indptr[at]]).astype(np.int64)
        sign_owner[columns] = at
        kept = np.setdiff1d(np.arange(m), at[sign[columns] != 0])
        flip = np.where(kept < equal, 1.0, -1.0)
        eye = sp.eye_array(n, format="csr")
        lower, upper = column_bounds(data, n)
        below, above = np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
        parts = [sp.diags_array(flip, format="csr") @ matrix[kept], eye[below], -eye[above]]
        return cls(
            sp.vstack(parts, format="csr"),
            np.concatenate([flip * right[kept], lower[below], -upper[above]]),
            equal,
            np.concatenate([kept, np.full(below.size + above.size, -1)]),
            sign,
            sign_owner,
        )


class CutProgram:
    """Programs ``max c·r`` over a domain and the explicit rows of episodes, solved by cuts.

    Parameters
    ----------
    blocks : the episodes.
    domain : a plain linear program over the domain; its objective does not count.
    reward : where the reward stands among its columns.
    solver : with a simplex method.
    prices : of a unit of violation of each block's lifted rows, where they may be violated.

    A program that has been solved goes on from what it had for the next objective.
    """

    blocks: Sequence[Block]
    domain: LinearProgram
    reward: slice
    solver: HiGHS

    def __init__(
        self,
        blocks: Sequence[Block],
        domain: LinearProgram,
        reward: slice,
        solver: HiGHS,
        prices: Sequence[Array] | None = None,
    ) -> None:
        self.prices = prices
        self.blocks, self.domain, self.reward, self.solver = blocks, domain, reward, solver
        self._sides = _Sides.of(domain.data)
        bounds = self._sides.bounds
        self._unit = float(np.abs(bounds).max(initial=0.0)) or 1.0
        empty = np.zeros((0, reward.stop - reward.start))
        self._rows = np.concatenate([empty, *(block.rows for block in blocks)])
        self._tied = np.concatenate(
            [np.zeros(0, bool), *(np.arange(len(b)) >= b.free.shape[0] for b in blocks)]
        )
        self._price = np.full(self._tied.size, np.inf)
        if prices is not None:
            parts = (price * block.size for price, block in zip(prices, blocks, strict=True))
            self._price = np.concatenate([np.zeros(0), *parts])
        self._inside = np.zeros(0, dtype=np.int64)
        self._cost = np.zeros(len(self._sides.sign))
        free = np.arange(self._sides.owner.size) < self._sides.equal
        self._live = LiveProgram(
            -bounds / self._unit,
            self._sides.rows.T,
            *self._limits(),
            lower=np.where(free, -np.inf, 0.0),
            solver=solver,
        )

    def maximise(self, objective: Array) -> Point | None:
        """Return an optimal vertex, or None where the cuts find none and the lifted program must.

        **Cost** a dozen small linear programs, hot.
        """
        began = time.perf_counter()
        largest = float(np.abs(objective).max(initial=0.0)) or 1.0
        if self.prices is not None:
            largest = 1.0
        self._cost[self.reward] = objective / largest
        iterations, n = 0, self._cost.size
        self._live.change_rows(*self._limits())
        try:
            for turn in range(PATIENCE * 10):
                solved = self._live.solve()
                iterations += solved.iterations
                x, y = solved.duals["rows"], solved.primal["x"]
                margin = self._rows @ x[self.reward]
                wrong = np.where(self._tied, np.abs(margin), -margin)
                wrong[self._inside] = 0.0
                new = np.flatnonzero(wrong > VIOLATED * max(1.0, float(np.abs(x).max(initial=0.0))))
                if not new.size:
                    break
                limit = self.solver.time_limit
                if limit is not None and time.perf_counter() - began > limit:
                    return None
                if self._inside.size > 2 * n and turn < PATIENCE:
                    self._drop(margin, y)
                batch = max(n, LEAST)
                if new.size > batch:
                    new = new[np.argpartition(-wrong[new], batch)[:batch]]
                self._add(new)
            else:
                return None
        except SolverProblem:
            return None
        multipliers = np.zeros(self._tied.size)
        multipliers[self._inside] = y[self._sides.owner.size :]
        on_domain = self._on_domain(y[: self._sides.owner.size], multipliers) * largest
        return Point(
            x * self._unit,
            on_domain,
            multipliers * largest,
            iterations,
            time.perf_counter() - began,
            solved.version,
        )

    def _limits(self) -> tuple[Array, Array]:
        """Return the bounds on the rows of the dual program, one a variable of the primal."""
        c, sign = self._cost, self._sides.sign
        return np.where(sign > 0, -np.inf, -c), np.where(sign < 0, np.inf, -c)

    def _add(self, which: NDArray[np.int64]) -> None:
        """Add explicit rows as columns."""
        columns = np.zeros((self._cost.size, which.size))
        columns[self.reward] = self._rows[which].T
        upper = self._price[which]
        lower = np.where(self._tied[which], -upper, 0.0)
        self._live.add_columns(np.zeros(which.size), columns, lower, upper)
        self._inside = np.concatenate([self._inside, which])

    def _drop(self, margin: Array, y: Array) -> None:
        """Drop the rows that are furthest from binding, down to twice the number of states."""
        away = np.where(self._tied[self._inside], 0.0, margin[self._inside])
        away[y[self._sides.owner.size :] != 0] = 0.0
        order = np.argsort(-away, kind="stable")[: self._inside.size - 2 * self._cost.size]
        gone = np.sort(order[away[order] > VIOLATED])
        if gone.size:
            self._live.remove_columns(gone + self._sides.owner.size)
            self._inside = np.delete(self._inside, gone)

    def _on_domain(self, sides: Array, multipliers: Array) -> Array:
        """Return the multipliers of the domain's own rows, for the scaled objective."""
        own = self._sides
        slope = self._cost + own.rows.T @ sides
        at = np.flatnonzero(multipliers)
        slope[self.reward] += multipliers[at] @ self._rows[at]
        out = np.zeros(len(self.domain.data["b"]))
        listed = own.owner >= 0
        flip = np.where(np.arange(own.owner.size) < own.equal, -1.0, 1.0)
        out[own.owner[listed]] = (flip * sides)[listed]
        signed = own.sign_owner >= 0
        out[own.sign_owner[signed]] = np.maximum(-own.sign * slope, 0.0)[signed]
        return out
