"""Feasible rewards by cuts: the explicit rows of Corollary 1, added where they are violated.

Explicit rows (`iirl_opt.rewards.explicit_rows`) are dense and there are thousands, but at a vertex
only as many bind as there are states. So a program starts with the domain alone, looks
for violated rows by one product ``G r``, adds some and is solved again, until no row is violated
(Kelley 1960). Of each state and action it adds the row of one episode, the worst: rows of other
episodes nearly agree with it, and together they would crowd the program (on Maze-Maker after 30
episodes 3.6 times the time). Rows that have long stopped to bind are dropped on the way.

The program is kept in dual form, in which a row of rewards is a column: its basis then has the
size of the number of states however many rows have been added, and the primal simplex method goes
on from it. Rounds are not judged (`LiveProgram.advance`); the last one is, in the form of the
lifted program. Where the chain ``I − γ P_t`` mixes, as in random games, or there are many episodes,
this is many times faster than the sparse lifted program; where the chain is local and episodes are
few, as in mazes, the lifted program wins (`prefers_cuts`).

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

from iirl_opt.game.kernel import Matrix
from iirl_opt.rewards.explicit_rows import Block
from iirl_opt.solver import HiGHS, LiveProgram
from iirl_opt.solver.door import version_of
from iirl_opt.solver.linear import LinearProgram, column_bounds

__all__ = ["CutProgram", "Point", "prefers_cuts"]

Array = NDArray[np.float64]

# A row, scaled to a largest entry of one, is violated beyond this share of Σ|r|. After thirty
# episodes the value may be off by 1e4 times what rows are violated by, so this is near what their
# rounding is; 1e-13 is too near: bases of rows that agree but for rounding prove nothing.
VIOLATED = 1e-11

# HiGHS counts what is beyond its tolerance, so costs are multiplied until that is `VIOLATED`, by
# powers of two, which change nothing else; by no more than this.
LARGEST_UNIT = 2.0**20

# Entries of rows whose largest is one that are no more than this are dropped by HiGHS.
DROPPED = 1e-12

# A round adds at most half as many rows as there are variables, in small programs this many.
LEAST = 100

# Rows are dropped when there are more than so many times as many as variables.
CROWD = 4

# Dropped rows may come back; from this round on none is dropped, so that there is an end.
PATIENCE = 100

# Cuts win where the factors of all I − γP_t together fill at least this share of a square matrix,
# or where the game is small; beyond LARGE states the dense rows do not pay.
FILL, SMALL, LARGE = 0.4, 40, 1000


def prefers_cuts(blocks: Sequence[Block]) -> bool:
    """Return whether programs over these episodes are faster by cuts than lifted: a measured rule.

    The time of the lifted program as a multiple of that by cuts, and the fill of an episode's
    factors, for one random objective:

    ============================ ====  === === === === === ===
    game (states, joint actions) fill  t=1   2   5  10  20  30
    ============================ ====  === === === === === ===
    small maze (100, 24)         .14    .4 1.1 1.8 2.4 4.1 5.9
    Maze-Maker (392, 24)         .04    .4  .7 1.1 2.3 5.1 8.3
    maze (512, 24)               .05    .2  .2  .8 1.1
    random game (200, 16)        .77   1.1 2.4  13
    random, 5 successors (400,8) .31    .3 1.0
    ... of (1000, 4)             .34    .5
    ============================ ====  === === === === === ===

    **Cost** arithmetic: one sparse factorisation an episode, kept.
    """
    if not any(map(len, blocks)):
        return False
    n_states = blocks[0].flow.shape[0]
    if n_states <= SMALL:
        return True
    return n_states <= LARGE and sum(block.fill for block in blocks) >= FILL


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
        self._unit, self._scale = float(np.abs(bounds).max(initial=0.0)) or 1.0, 1.0
        self._ends = np.cumsum([0, *map(len, blocks)])
        self._pair = np.concatenate([np.zeros(0, np.int64), *(block.at for block in blocks)])
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
        self._live.change_rows(*self._limits())
        found = self._settled(began)
        if found is None:
            return None
        x, y, iterations = found
        sides, on_inside = np.split(y, [self._sides.owner.size])
        multipliers = np.zeros(self._tied.size)
        multipliers[self._inside] = np.where(
            self._tied[self._inside], on_inside, np.maximum(on_inside, 0.0)
        )
        on_domain = self._on_domain(sides, multipliers) * largest
        return Point(
            x * self._unit,
            on_domain,
            multipliers * largest,
            iterations,
            time.perf_counter() - began,
            version_of(self.solver.name),
        )

    def _settled(self, began: float) -> tuple[Array, Array, int] | None:
        """Add violated rows until there are none; return x, y and the iterations, or None."""
        iterations, limit = 0, self.solver.time_limit
        for turn in range(PATIENCE * 10):
            after = self._live.advance()
            if after is None:
                return None
            iterations += after.iterations
            x = after.y / self._scale
            size = float(np.abs(x[self.reward]).sum())
            margin = self._margin(x[self.reward])
            wrong = np.where(self._tied, np.abs(margin), -margin)
            wrong[self._inside] = 0.0
            new = np.flatnonzero(wrong > VIOLATED * size)
            if not new.size:
                return x, after.x, iterations
            if limit is not None and time.perf_counter() - began > limit:
                return None
            if not turn:
                self._sharpen(size)
            if self._inside.size > CROWD * self._cost.size and turn < PATIENCE:
                self._drop(margin, after.x)
            self._add(self._worst(new, wrong))
        return None

    def _sharpen(self, size: float) -> None:
        """Multiply the costs so that HiGHS's tolerance is the share of Σ|r| that counts."""
        unit = self.solver.tolerance / (VIOLATED * size) if size else 1.0
        self._scale = float(2.0 ** np.floor(np.log2(np.clip(unit, 1.0, LARGEST_UNIT))))
        bounds = np.zeros(self._live.shape[1])
        bounds[: self._sides.owner.size] = -self._sides.bounds * (self._scale / self._unit)
        self._live.change_objective(bounds)

    def _margin(self, r: Array) -> Array:
        """Return ``G r`` of all explicit rows."""
        return np.concatenate([np.zeros(0), *(block.rows @ r for block in self.blocks)])

    def _worst(self, new: NDArray[np.int64], wrong: Array) -> NDArray[np.int64]:
        """Return which violated rows a round adds: the worst of each state and action first.

        Rows of one state and action in different episodes nearly agree; one of them mends most.
        """
        order = new[np.argsort(-wrong[new], kind="stable")]
        pair = self._pair[order]
        by_pair = np.argsort(pair, kind="stable")
        begins = np.flatnonzero(np.diff(pair[by_pair], prepend=-1))
        lengths = np.diff(begins, append=pair.size)
        rank = np.empty(pair.size, dtype=np.int64)
        rank[by_pair] = np.arange(pair.size) - np.repeat(begins, lengths)
        batch = max(self._cost.size // 2, LEAST)
        return order[np.argsort(rank, kind="stable")[:batch]]

    def _limits(self) -> tuple[Array, Array]:
        """Return the bounds on the rows of the dual program, one a variable of the primal."""
        c, sign = self._cost, self._sides.sign
        return np.where(sign > 0, -np.inf, -c), np.where(sign < 0, np.inf, -c)

    def _add(self, which: NDArray[np.int64]) -> None:
        """Add explicit rows as columns."""
        columns = np.zeros((self._cost.size, which.size))
        columns[self.reward] = self._explicit(which).T
        columns[np.abs(columns) <= DROPPED] = 0.0
        upper = self._price[which]
        lower = np.where(self._tied[which], -upper, 0.0)
        self._live.add_columns(np.zeros(which.size), columns, lower, upper)
        self._inside = np.concatenate([self._inside, which])

    def _explicit(self, which: NDArray[np.int64]) -> Array:
        """Return explicit rows by position."""
        block = np.searchsorted(self._ends, which, side="right") - 1
        out = np.empty((which.size, self.reward.stop - self.reward.start))
        for t in np.unique(block):
            mine = block == t
            out[mine] = self.blocks[t].rows[which[mine] - self._ends[t]]
        return out

    def _drop(self, margin: Array, y: Array) -> None:
        """Drop the rows that are furthest from binding, down to half the crowd."""
        away = np.where(self._tied[self._inside], 0.0, margin[self._inside])
        away[y[self._sides.owner.size :] != 0] = 0.0
        order = np.argsort(-away, kind="stable")[: self._inside.size - CROWD * self._cost.size // 2]
        gone = np.sort(order[away[order] > 0.0])
        if gone.size:
            self._live.remove_columns(gone + self._sides.owner.size)
            self._inside = np.delete(self._inside, gone)

    def _on_domain(self, sides: Array, multipliers: Array) -> Array:
        """Return the multipliers of the domain's own rows, for the scaled objective."""
        own = self._sides
        slope = self._cost + own.rows.T @ sides
        at = np.flatnonzero(multipliers)
        slope[self.reward] += multipliers[at] @ self._explicit(at)
        out = np.zeros(len(self.domain.data["b"]))
        listed = own.owner >= 0
        flip = np.where(np.arange(own.owner.size) < own.equal, -1.0, 1.0)
        out[own.owner[listed]] = (flip * sides)[listed]
        signed = own.sign_owner >= 0
        out[own.sign_owner[signed]] = np.maximum(-own.sign * slope, 0.0)[signed]
        return out
