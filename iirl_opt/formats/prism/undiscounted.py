"""Bounds on what is earned without a discount, proved from discounted values.

Rewards are ≥ 0, and play ends in some states, which earn nothing. What is earned with a discount is
then at most what is earned without, and both are asked for: the most, or the least.

**The proof.** Let v be values found in floats, and T numbers of steps before the end (or before
nothing can be earned any more); and over all states that can be met, and their choices, let
``d ≥ r + P v − v`` and ``0 < c ≤ T − P T``. Then ``v + (d/c) T`` is at least what any choice makes
of it, so no policy earns more without a discount; of the least, the one policy found is enough.
Where a policy can go round for ever before the end there is no such c. If it earns nothing there,
the states that it can keep to (an *end component*) are worth the same, since each leads to each: v
and T are made so, and choices that keep to them are no step. If it earns there, there is no bound.

With the discount, no choice is better than the policy found but perhaps those that tie with it as
far as floats tell: what these gain, times T/c of γP in place of P, is all that it may lack.
Differences count with the rounding that they carry.

Source: the optimality equations of positive problems (Puterman 1994, section 7.2), of which the
values are the least solution, so that what solves them with ≥ is above.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from iirl_opt.game.iteration import Played, Rivals, improved, near_optimum
from iirl_opt.game.kernel import is_sparse
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.problem import PlanningProblem, joint_problem
from iirl_opt.game.support import adjacency, reached_from, transitions
from iirl_opt.game.values import evaluate

__all__ = ["avoiding", "discounted_bounds", "limit_bounds", "surely"]

Array = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Integers = NDArray[np.int64]

EPS = float(np.finfo(float).eps)


def limit_bounds(game: TwoAgentMDP, reward: Array, ends: Booleans) -> tuple[float, float]:
    """Return bounds on the most that is earned from the start as γ → 1.

    Parameters
    ----------
    game : which stays where it ends.
    reward : (S,) or (S, A, B), all ≥ 0; or all ≤ 0, for the least of its opposite.
    ends : the states where play ends, (S,), which earn nothing.

    **Source** see the module. **Cost** arithmetic.
    """
    wide = np.abs(reward).reshape(game.n_states, -1)
    earned = np.broadcast_to(wide, (game.n_states, game.n_choices))
    problem, played, rivals = _nearly_best(game, reward)
    least_of_all = bool((reward < 0).any())
    every = _Walk.of(game, earned, ends, None, rests=not least_of_all)
    values = every.tidy(np.abs(played.values))
    if least_of_all:
        low = values - played.error - every.lack(problem, played, rivals)
        one = _Walk.of(game, earned, ends, played.actions)
        high = one.above(one.tidy(values))
    else:
        low, high = np.abs(played.values) - played.error, every.above(values)
    least, most = _outward(game, np.maximum(low, 0.0), high)
    return (-most, -least) if least_of_all else (least, most)


def discounted_bounds(game: TwoAgentMDP, reward: Array) -> tuple[float, float]:
    """Return bounds on the most that is earned from the start with the game's own discount.

    **Cost** arithmetic.
    """
    played, wide = _nearly_best(game, reward)[1], reward.reshape(game.n_states, -1)
    values, shape = played.values, (game.n_states, game.n_choices)
    ahead, size = (
        game.discount * np.asarray(game.matrix @ x).reshape(shape) for x in (values, np.abs(values))
    )
    gain = wide + ahead - values[:, None]
    gain = gain + EPS * (_width(game.matrix) + 8) * (np.abs(wide) + size + np.abs(values[:, None]))
    # What a gain in each step is worth; γ itself is known up to rounding.
    left = 1 - game.discount - EPS
    return _outward(game, values - played.error, values + float(gain.max(initial=0.0)) / left)


class _Walk(NamedTuple):
    """What can be met from the start by some choices: all, or those of a policy.

    Attributes
    ----------
    game : the game, which stays where it ends.
    inside : the states that can be met before an end, and from which something can be earned, (S,).
    rows, here : of the kernel that are chosen inside, and their states, (k,).
    reward : of these choices, (k,).
    steps : how many steps are taken inside at most, near the discounted number, (S,).
    one : the end component of each state, by number, (S,).
    """

    game: TwoAgentMDP
    inside: Booleans
    rows: NDArray[np.int64]
    here: NDArray[np.int64]
    reward: Array
    steps: Array
    one: Integers

    @classmethod
    def of(
        cls,
        game: TwoAgentMDP,
        reward: Array,
        ends: Booleans,
        actions: NDArray[np.int64] | None,
        *,
        rests: bool = False,
    ) -> _Walk:
        """Return what can be met by these actions, or by all.

        With `rests`, end components without reward are one, and keeping to them is no step.
        """
        n_states, n = reward.shape
        kept = np.ones((n_states, n), dtype=bool)
        if actions is not None:
            kept = np.eye(n, dtype=bool)[actions]
        row, after, _ = transitions(game)
        chosen = kept.ravel()[row]
        before, after = row[chosen] // n, after[chosen]
        met = reached_from(before, after, game.start > 0)
        earns: Booleans = np.asarray((kept & (reward > 0)).any(axis=1))
        inside = met & ~ends & reached_from(after, before, earns)
        counted, one = kept & inside[:, None], np.arange(n_states)
        if rests:
            one, keeps = _end_components(row, after, counted & (reward == 0))
            counted &= ~keeps
        rows = np.flatnonzero(counted)
        if actions is None:
            number = counted.astype(float).reshape(game.shape)
            steps = _largest_of(_nearly_best(game, number)[1].values, one)
        else:
            policy = kept.astype(float).reshape(game.shape)
            steps = evaluate(game, inside.astype(float), policy)
        return cls(game, inside, rows, rows // n, reward.ravel()[rows], steps, one)

    def tidy(self, values: Array) -> Array:
        """Return values that are zero where nothing more is earned, and one an end component."""
        return _largest_of(np.where(self.inside, values, 0.0), self.one)

    def above(self, values: Array) -> Array:
        """Return what no policy of these choices exceeds without a discount."""
        ahead = np.asarray(self.game.matrix[self.rows] @ values)
        gain = self.reward + ahead - values[self.here]
        gain += self._rounding * (self.reward + ahead + values[self.here])
        return values + self._worth(float(gain.max(initial=0.0)), 1.0)

    def lack(self, problem: PlanningProblem, played: Played, rivals: Rivals) -> Array:
        """Return how much better any policy may be, with the game's discount, than what is played.

        Choices that are the same as what is played gain nothing.
        """
        n = self.game.n_choices
        one, two = rivals.s * n + rivals.b, rivals.s * n + played.actions[rivals.s]
        same = self.game.same_rows(one, two) & problem.same_rewards(one, two)
        most = np.where(same | ~self.inside[rivals.s], 0.0, rivals.gain + rivals.width)
        return self._worth(float(most.max(initial=0.0)), self.game.discount)

    def _worth(self, gain: float, discount: float) -> Array:
        """Return what a gain in each step is worth, (S,): without a bound where no end is sure."""
        ahead = discount * np.asarray(self.game.matrix[self.rows] @ self.steps)
        here = self.steps[self.here]
        pace = float((here - ahead - self._rounding * (here + ahead)).min(initial=np.inf))
        if gain == 0:
            return np.zeros_like(self.steps)
        if pace <= 0:
            return np.where(self.inside, np.inf, 0.0)
        share = gain / pace * (1 + 8 * EPS)
        return np.asarray(np.where(self.inside, share * self.steps, 0.0))

    @property
    def _rounding(self) -> float:
        """The share that a sum over successors may be off, of floats near exact numbers."""
        return EPS * (_width(self.game.matrix) + 8)


def _largest_of(values: Array, one: Integers) -> Array:
    """Return for each state the largest of the values of its class, (S,)."""
    most = np.full(values.size, -np.inf)
    np.maximum.at(most, one, values)
    return most[one]


def _end_components(row: Integers, after: Integers, usable: Booleans) -> tuple[Integers, Booleans]:
    """Return the end component of each state, (S,), and which choices keep to it, (S, n).

    `row` and `after` are the transitions, `usable` the choices that count, (S, n).
    """
    n_states, n = usable.shape
    keeps = usable.ravel().copy()
    while True:
        held = keeps[row]
        graph = adjacency(row[held] // n, after[held], n_states)
        one = connected_components(graph, connection="strong")[1].astype(np.int64)
        leaves = keeps.copy()
        leaves[:] = False
        leaves[row[one[after] != one[row // n]]] = True
        if not (keeps & leaves).any():
            return one, keeps.reshape(n_states, n)
        keeps &= ~leaves


def _nearly_best(game: TwoAgentMDP, reward: Array) -> tuple[PlanningProblem, Played, Rivals]:
    """Return a policy that no choice improves beyond rounding, and the choices that may tie."""
    problem = joint_problem(game, reward)
    actions, near, _ = near_optimum(problem)
    played, rivals, _ = improved(problem, actions, near)
    return problem, played, rivals


def _width(matrix: Any) -> int:
    """Return the most entries that a row of a matrix has."""
    return int(np.diff(matrix.indptr).max()) if is_sparse(matrix) else int(matrix.shape[1])


def _outward(game: TwoAgentMDP, low: Array, high: Array) -> tuple[float, float]:
    """Return the means of bounds over the start, wider by what their rounding may be."""
    at = game.start > 0
    by = EPS * (np.count_nonzero(at) + 8)
    start, low, high = game.start[at], low[at], high[at]
    below = float(start @ low - by * (start @ np.abs(low)))
    above = float(start @ high + by * (start @ np.abs(high)))
    return below, above


# What can be missed, and what is reached for sure, on the graph alone


def avoiding(
    row: NDArray[np.int64], after: NDArray[np.int64], n: int, goal: Booleans, usable: Booleans
) -> Booleans:
    """Return the states in which some usable choices never lead to the goal, (S,)."""
    stays = ~goal
    while True:
        good = usable & np.repeat(stays, n)
        good[row[~stays[after]]] = False
        fewer: Booleans = np.asarray(good.reshape(-1, n).any(axis=1))
        if (fewer == stays).all():
            return stays
        stays = fewer


def surely(row: NDArray[np.int64], after: NDArray[np.int64], n: int, goal: Booleans) -> Booleans:
    """Return the states from which some policy reaches the goal with probability 1, (S,)."""
    within = np.ones(goal.size, dtype=bool)
    while True:
        # Choices that stay within, and the states from which these lead to the goal.
        safe = np.ones(goal.size * n, dtype=bool)
        safe[row[~within[after]]] = False
        kept = safe[row]
        fewer = within & reached_from(after[kept], row[kept] // n, goal)
        if (fewer == within).all():
            return within
        within = fewer
