"""The basis of an occupancy program, solved to full precision by exact residuals.

With a discount near one the flow constraints are nearly singular, and the float image of a game is
another game: a measure of 1/(1 − γ) times the rounding of a kernel row is no rounding any more. But
which choices are played, and which side constraints bind, is found all the same. These choose a
square system for the measure, and its transpose for values and prices. Both are solved by floats
and corrected by residuals that are computed exactly, from the game's rational numbers, until
nothing is left to correct.

**Source** iterative refinement: Wilkinson 1963; of linear programs: Gleixner, Steffy & Wolter 2016.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from iirl_opt.exact.numbers import Vector, as_fractions, as_reals
from iirl_opt.exact.rows import ExactRows
from iirl_opt.game.mdp import TwoAgentMDP

__all__ = ["Basis", "near_one"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# Rounds of refinement; each gains the digits by which the system is better than singular.
ROUNDS = 12

# Relative corrections below this change no float.
DONE = 2.0**-56

# A discount is near one where rounding of a kernel row matters by more than this, relatively.
NEAR = 1e-12


def near_one(game: TwoAgentMDP) -> bool:
    """Return whether the rounding of a game's numbers can be seen in its values."""
    return bool(np.finfo(float).eps / (1 - game.discount) > NEAR)


@dataclass(frozen=True, eq=False)
class Basis:
    """Which choices are played, in which states, and which side constraints bind.

    Attributes
    ----------
    game : the game.
    choices : rows ``(s·A + a)·B + b`` of the kernel that are played, shape (k,).
    states : the states where they are, shape (m,).
    side : the binding side constraints on all choices, shape (l, S·A·B).
    right : their right-hand sides, (l,).
    """

    game: TwoAgentMDP
    choices: Integers
    states: Integers
    side: Array
    right: Array

    @classmethod
    def of(cls, game: TwoAgentMDP, measure: Array, side: Array, right: Array) -> Basis:
        """Return the basis that a measure (S·A·B,) in floats shows, given what binds.

        Each state that play reaches has its most frequent choice; each binding constraint adds the
        next most frequent one of all.
        """
        n = game.n_choices
        first = np.arange(game.n_states) * n + measure.reshape(game.n_states, n).argmax(axis=1)
        rest = measure.copy()
        rest[first] = -np.inf
        more = np.argsort(-rest, kind="stable")[: len(right)]
        chosen = np.union1d(first, more)
        onward = sp.csr_array(sp.csr_array(game.matrix)[chosen])
        reached = game.start > 0
        while True:
            now = np.flatnonzero(reached[chosen // n])
            further = reached.copy()
            further[onward[now].indices[onward[now].data > 0]] = True
            if (further == reached).all():
                break
            reached = further
        return cls(game, chosen[reached[chosen // n]], np.flatnonzero(reached), side, right)

    def solution(self, reward: Array) -> tuple[Array, Array, Array, float] | None:
        """Return (measure (k,), values (m,), prices (l,), value), or None where it is no basis.

        Parameters
        ----------
        reward : shape (S·A·B,).

        **Cost** a sparse factorisation, and some exact products with the rows that are played.
        """
        size = len(self.states) + len(self.right)
        if len(self.choices) != size:
            return None
        rows = self.game.exact_rows(self.choices)
        side = as_fractions(self.side[:, self.choices])
        try:
            factors: Any = splu(self._system(rows))
        except RuntimeError:
            return None
        right = np.concatenate(
            [as_fractions(self.game.exact_start)[self.states], as_fractions(self.right)]
        )
        given = as_fractions(reward[self.choices])

        def of_measure(mu: Vector) -> Vector:
            flow = self._owned(mu) - self.game.exact_discount * rows.transposed(mu)
            return np.asarray(right - np.concatenate([flow[self.states], side @ mu]))

        def of_values(y: Vector) -> Vector:
            values = np.full(self.game.n_states, Fraction(0), dtype=object)
            values[self.states] = y[: len(self.states)]
            own = values[self.choices // self.game.n_choices]
            flow = own - self.game.exact_discount * rows.times(values)
            return np.asarray(given - flow - side.T @ y[len(self.states) :])

        mu = _refined(of_measure, factors.solve, size)
        y = _refined(of_values, lambda r: factors.solve(r, trans="T"), size)
        if mu is None or y is None:
            return None
        value = float(sum((mu * given).tolist(), Fraction(0)))
        reals = as_reals(y)
        return as_reals(mu), reals[: len(self.states)], reals[len(self.states) :], value

    def _owned(self, mu: Vector) -> Vector:
        """Return the measure of each state, (S,)."""
        out = np.full(self.game.n_states, Fraction(0), dtype=object)
        for s, x in zip((self.choices // self.game.n_choices).tolist(), mu.tolist(), strict=True):
            out[s] += x
        return out

    def _system(self, rows: ExactRows) -> Any:
        """Return the flow of the played choices over the side constraints, as sparse floats."""
        n, m = len(self.choices), len(self.states)
        at = np.full(self.game.n_states, -1)
        at[self.states] = np.arange(m)
        entries: list[tuple[int, int, float]] = []
        for column, choice in enumerate(self.choices.tolist()):
            flow = {choice // self.game.n_choices: Fraction(1)}
            for s, p in rows.row(column).items():
                flow[s] = flow.get(s, Fraction(0)) - self.game.exact_discount * p
            entries += [(int(at[s]), column, float(x)) for s, x in flow.items() if at[s] >= 0]
        i, j, values = (np.array(part) for part in zip(*entries, strict=True))
        over = sp.csc_array((values, (i, j)), shape=(m, n))
        return sp.vstack([over, sp.csc_array(self.side[:, self.choices])], format="csc")


def _refined(
    residual: Callable[[Vector], Vector], solve: Callable[[Array], Array], size: int
) -> Vector | None:
    """Return the solution whose residual vanishes, or None where corrections do not shrink."""
    found = np.full(size, Fraction(0), dtype=object)
    before = np.inf
    for _ in range(ROUNDS):
        step = np.asarray(solve(as_reals(residual(found))))
        largest = float(np.abs(step).max(initial=0.0))
        if not np.isfinite(step).all() or largest > before / 2:
            return None
        found = found + as_fractions(step)
        if np.all(np.abs(step) <= DONE * np.abs(as_reals(found))):
            return found
        before = largest
    return None
