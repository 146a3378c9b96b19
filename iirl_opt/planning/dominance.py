"""Dominating commitments: one that is best from every state, or states that rule it out.

A deterministic commitment *dominates* if no deterministic commitment has a larger value in any
state. Against an optimal follower with the same reward one exists (Lemma 2); against Boltzmann,
proportional and ε-greedy followers it may not (Theorem 3, Lemma 3). Let M(s) be the largest value
from s. A set T of states is *jointly attained* if one commitment has the value M(s) in all of them,
which it is if and only if ``max_π1 Σ_T V_π1(s) = Σ_T M(s)``. So every question here is a search
with other weights of the states:

* a commitment that attains M everywhere dominates. Where the optimistic bound of the whole problem
  meets its values no search is needed: for an optimal follower with the leader's reward that bound
  is the joint optimum, and its Bellman residual is the proof of Lemma 2;
* if two states are not jointly attained nothing dominates; if every two are, three or more states
  may still rule it out, and a smallest such set in the sense of inclusion is named.

Up to `limit` commitments the answer is exact up to rounding, and only then is a set of states
certain to be found; beyond, M is known between bounds, and the answer may be undecided.
Stochastic commitments are not spoken of: one may be better than every deterministic one, so that
what dominates here need not dominate those.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from iirl_opt.checks import POSITIVE, TIME_LIMIT, checked, optional, whole
from iirl_opt.game.values import tie_tolerance
from iirl_opt.planning.bounds import Relaxation, bounded
from iirl_opt.planning.branch import branch_and_bound
from iirl_opt.planning.enumeration import check_count, commitments
from iirl_opt.planning.problem import PROBLEM, Array, CommitmentProblem, Integers

__all__ = ["Dominance", "DominanceVerdict", "dominance", "optimistic_commitment"]

# Commitments whose values from every state are kept in memory.
LIMIT = 100_000


class DominanceVerdict(Enum):
    """What is known about a dominating deterministic commitment."""

    DOMINATING = "this deterministic commitment is best from every state"
    RULED_OUT = "no deterministic commitment is best from all of these states"
    UNDECIDED = "the bounds found in the time allowed prove neither"


@dataclass(frozen=True, eq=False)
class Dominance:
    """Whether a deterministic commitment is best from every state, with the evidence.

    Attributes
    ----------
    verdict : dominating, ruled out, undecided.
    actions : the dominating commitment (S,), or None.
    states : indices of states (T,) of which no commitment is best in all; two where two suffice,
        all of them where bounds prove it for no pair. Empty unless ruled out.
    best_actions : for each of these states a commitment that is best from it, (T, S).
    best_values : entry (i, j), the value from ``states[j]`` of the commitment that is best from
        ``states[i]``, (T, T); with two states the four values of the proof.
    values : the largest value known from every state, (S,).
    bounds : no deterministic commitment has a larger value from a state, (S,).
    shortfall : by how much, in the mean over `states`, every commitment is below the best values
        (a lower bound; 0 unless ruled out).
    tolerance : values within this are equal.
    """

    verdict: DominanceVerdict
    actions: Integers | None
    states: tuple[int, ...]
    best_actions: Integers
    best_values: Array
    values: Array
    bounds: Array
    shortfall: float
    tolerance: float

    @property
    def exact(self) -> bool:
        """Whether `values` are proved to be the largest, up to the tolerance."""
        return bool((self.bounds - self.values <= self.tolerance).all())


@checked(problem=PROBLEM, tolerance=POSITIVE, limit=whole(0), time_limit=optional(TIME_LIMIT))
def dominance(
    problem: CommitmentProblem,
    *,
    tolerance: float | None = None,
    limit: int = LIMIT,
    time_limit: float | None = 60.0,
) -> Dominance:
    """Find a dominating deterministic commitment, or states that rule it out.

    Parameters
    ----------
    tolerance : values within this are equal; by default the tie tolerance of the leader's reward.
    limit : commitments up to which all are evaluated; beyond, branch and bound.
    time_limit : seconds for the searches beyond the limit, about.

    Raises
    ------
    InvalidArgument
        More commitments than the limit and a follower without bounds; a negative tolerance.

    **Source** paper, Section 4.2, Lemmas 2 and 3 and Theorem 3, for deterministic commitments.
    **Cost** arithmetic: one bound; then an enumeration, or a branch and bound a state.

    Examples
    --------
    >>> from iirl_opt.game.generate import random_game
    >>> game, reward = random_game(50, 3, 3, seed=0)
    >>> dominance(CommitmentProblem(game, reward)).verdict.name  # an optimal follower: Lemma 2
    'DOMINATING'
    """
    if tolerance is None:
        tolerance = tie_tolerance(problem.reward, problem.game.discount)
    bounds = np.full(problem.game.n_states, np.inf)
    if bounded(problem):
        actions, values, bounds = optimistic_commitment(problem)
        if (values >= bounds - tolerance).all():
            return _dominating(actions, values, np.maximum(bounds, values), tolerance)
        if problem.n_deterministic > limit:
            return _by_bounds(problem, actions, bounds, tolerance, time_limit)
    check_count(problem, limit)
    return _by_table(problem, tolerance)


def optimistic_commitment(problem: CommitmentProblem) -> tuple[Integers, Array, Array]:
    """Return the optimistic commitment (S,), its values (S,) and a bound (S,) on all commitments.

    Where values and bound agree the commitment dominates all deterministic ones. Against an optimal
    follower with the leader's reward it is the leader's part of an optimal joint policy.
    """
    box = Relaxation(problem).bound(problem.allowed[None])
    return box.actions[0], problem.values_of(box.actions)[0], box.w_hi[0]


def _dominating(actions: Integers, values: Array, bounds: Array, tolerance: float) -> Dominance:
    none = np.empty((0, len(actions)), dtype=np.int64)
    verdict = DominanceVerdict.DOMINATING
    empty = np.empty((0, 0))
    return Dominance(verdict, actions, (), none, empty, values, bounds, 0.0, tolerance)


def _by_table(problem: CommitmentProblem, tolerance: float) -> Dominance:
    """Decide by the values of all commitments."""
    rows = np.concatenate(list(commitments(problem.allowed)))
    values = problem.values_of(rows)
    best = values.max(axis=0)
    attained = values >= best - tolerance
    everywhere = attained.all(axis=1)
    if everywhere.any():
        at = int(everywhere.argmax())
        return _dominating(rows[at], values[at], best, tolerance)
    states = _not_jointly(attained, (best - values))
    chosen = values[:, states].argmax(axis=0)
    shortfall = float((best - values)[:, states].mean(axis=1).min())
    return Dominance(
        DominanceVerdict.RULED_OUT,
        None,
        tuple(states),
        rows[chosen],
        values[np.ix_(chosen, states)],
        best,
        best,
        shortfall,
        tolerance,
    )


def _not_jointly(attained: NDArray[np.bool_], loss: Array) -> list[int]:
    """Return states that no row (K, S) attains together: two if two do, else irreducible.

    Of several pairs that with the largest loss that cannot be avoided is returned.
    """
    patterns = np.unique(attained, axis=0).astype(float)
    apart = patterns.T @ patterns == 0
    if apart.any():
        pairs = np.argwhere(np.triu(apart))
        least = [float(loss[:, pair].sum(axis=1).min()) for pair in pairs]
        return [int(s) for s in pairs[int(np.argmax(least))]]
    states = list(range(attained.shape[1]))
    for s in range(attained.shape[1]):
        fewer = [t for t in states if t != s]
        if not (patterns[:, fewer] == 1).all(axis=1).any():
            states = fewer
    return states


def _by_bounds(
    problem: CommitmentProblem,
    incumbent: Integers,
    bounds: Array,
    tolerance: float,
    time_limit: float | None,
) -> Dominance:
    """Decide by branch and bound, weights on one state, on all, on two."""
    n_states = problem.game.n_states
    until = np.inf if time_limit is None else time.perf_counter() + time_limit

    def find(states: list[int], share: float) -> tuple[Integers, Array, float]:
        """Return the best commitment for the mean over states, its values, and a bound."""
        left = until - time.perf_counter()
        seconds = None if np.isinf(left) else max(left * share, 0.0)
        weights = np.isin(np.arange(n_states), states) / len(states)
        found = branch_and_bound(problem, start=weights, incumbent=incumbent, time_limit=seconds)
        return found.actions, found.values, found.bound

    everywhere = list(range(n_states))
    trials = [find([s], 0.5 / (n_states - s)) for s in everywhere]
    bounds = np.minimum(bounds, [bound for _, _, bound in trials])
    joint = find(everywhere, 0.3)
    rows = np.stack([incumbent, joint[0], *(actions for actions, _, _ in trials)])
    table = problem.values_of(rows)
    best = table.max(axis=0)
    bounds = np.maximum(bounds, best)
    dominating = (table >= bounds - tolerance).all(axis=1)
    if dominating.any():
        at = int(dominating.argmax())
        return _dominating(rows[at], table[at], bounds, tolerance)
    chosen = table.argmax(axis=0)
    verdict, states, shortfall = DominanceVerdict.UNDECIDED, [], 0.0
    lack = float(best.mean()) - joint[2]
    if lack > tolerance:
        verdict, states, shortfall = DominanceVerdict.RULED_OUT, everywhere, lack
    # A pair is worth a search if even the commitments best for one of the two, or all, lose there.
    loss = best - table
    pairs = [(float(loss[:, p].sum(axis=1).min()), list(p)) for p in combinations(everywhere, 2)]
    for least, pair in sorted(pairs, reverse=True)[:n_states]:
        if least <= 2 * tolerance or time.perf_counter() > until:
            break
        lack = float(best[pair].mean()) - find(pair, 0.5)[2]
        if lack > tolerance:
            verdict, states, shortfall = DominanceVerdict.RULED_OUT, pair, lack
            break
    picked = chosen[states].astype(np.int64)
    return Dominance(
        verdict,
        None,
        tuple(states),
        rows[picked],
        table[np.ix_(picked, states)],
        best,
        bounds,
        shortfall,
        tolerance,
    )
