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

Up to `limit` commitments all are evaluated, in rational arithmetic where values are close and the
follower's answers are rational numbers: so the answer is exact, and only then is a set of states
certain to be found. Otherwise M is known between bounds, and the answer may be undecided.
Stochastic commitments are not spoken of: one may be better than every deterministic one, so that
what dominates here need not dominate those.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from enum import Enum
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iirl_opt.brief import in_brief, with_advice
from iirl_opt.checks import POSITIVE, TIME_LIMIT, checked, optional, whole
from iirl_opt.commitment.answers import Assessment
from iirl_opt.commitment.branch_and_bound import BranchAndBound
from iirl_opt.commitment.exact import DENSE, ExactProblem
from iirl_opt.commitment.incumbent import PROVED, scales, surely
from iirl_opt.commitment.lemma_2 import joint_optimum
from iirl_opt.commitment.problem import PROBLEM, Array, CommitmentProblem, Integers
from iirl_opt.commitment.relaxation import Relaxation, bounded
from iirl_opt.commitment.searches import check_count, commitments
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable

__all__ = ["Dominance", "DominanceVerdict", "dominance", "optimistic_commitment"]

# Commitments whose values from every state are kept in memory.
LIMIT = 100_000

# Of these so many are evaluated in rational arithmetic.
RESOLVED = 5_000


class DominanceVerdict(Enum):
    """What is known about a dominating deterministic commitment.

    Examples
    --------
    >>> [verdict.name for verdict in DominanceVerdict]
    ['DOMINATING', 'RULED_OUT', 'UNDECIDED']
    """

    __repr__ = with_advice

    DOMINATING = "this deterministic commitment is best from every state"
    RULED_OUT = "no deterministic commitment is best from all of these states"
    UNDECIDED = "the bounds found in the time allowed prove neither"


@dataclass(frozen=True, eq=False)
class Dominance(Tabular):
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
    tolerance : values within this are equal; 0 where rational arithmetic decided.

    Examples
    --------
    >>> from iirl_opt.follower import EpsilonGreedyFollower
    >>> from iirl_opt.game.generate import random_game
    >>> game, reward = random_game(3, 2, 2, rng=343, concentration=0.3, restart=False)
    >>> found = dominance(CommitmentProblem(game, reward, EpsilonGreedyFollower(0.5)))
    >>> found.verdict.name, found.states  # what is best from one of them is not from the other
    ('RULED_OUT', (0, 2))
    >>> found.best_values.round(2)
    array([[7.27, 7.43],
           [7.2 , 7.47]])
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

    __repr__ = in_brief

    def table(self) -> FactTable:
        """Return a row a state, by its number: the largest value known, its bound, the action."""
        actions = [None] * self.values.size if self.actions is None else self.actions.tolist()
        numbers = range(self.values.size)
        facts = zip(numbers, self.values.tolist(), self.bounds.tolist(), actions, strict=True)
        names = ("state", "value", "bound", "action")
        rows: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in facts]
        for s in self.states:
            rows[s]["not best with the others"] = True
        return FactTable(rows, f"Dominance: {self.verdict.value}")

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
    tolerance : values within this are equal. By default equality is that of exact numbers for
        optimal and ε-greedy followers in small games, and else 2⁻⁴⁰ of the scale from each state.
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
    >>> game, reward = random_game(50, 3, 3, rng=0)
    >>> dominance(CommitmentProblem(game, reward)).verdict.name  # an optimal follower: Lemma 2
    'DOMINATING'
    """
    if problem.lemma_2 and problem.game.n_states <= DENSE:
        return _by_lemma_2(problem, tolerance)
    bounds = np.full(problem.game.n_states, np.inf)
    if bounded(problem):
        box = Relaxation(problem).bound(problem.allowed[None])
        found, bounds = problem.assess(box.actions), box.w_hi[0]
        allowed = _accepted(problem, box.actions[0], found, 0, tolerance)
        if (found.lower[0] >= bounds - allowed).all():
            values = found.values[0]
            best = np.maximum(bounds, values)
            return _dominating(problem, box.actions[0], values, best, float(allowed.max()))
        if problem.n_deterministic > limit:
            most = float(allowed.max())
            return _by_bounds(problem, box.actions[0], bounds, most, time_limit)
    check_count(problem, limit)
    return _by_table(problem, tolerance)


def optimistic_commitment(problem: CommitmentProblem) -> tuple[Integers, Array, Array]:
    """Return the optimistic commitment (S,), the least it earns (S,) and a bound (S,) on all.

    Where the two agree the commitment dominates all deterministic ones. Against an optimal follower
    with the leader's reward it is the leader's part of an optimal joint policy. Values are centred
    (`CommitmentProblem.centre`).
    """
    box = Relaxation(problem).bound(problem.allowed[None])
    return box.actions[0], problem.assess(box.actions).lower[0], box.w_hi[0]


def _accepted(
    problem: CommitmentProblem,
    actions: Integers,
    found: Assessment,
    at: int,
    tolerance: float | None,
) -> Array:
    """Return by how much values from a state may differ and count as equal, (S,).

    No less than rounding leaves open of the commitment `at` that was assessed.
    """
    if tolerance is not None:
        return np.full(problem.game.n_states, tolerance)
    rounding = 4 * (found.upper[at] - found.lower[at])
    return np.asarray(np.maximum(PROVED * scales(problem, actions, found.response[at]), rounding))


def _by_lemma_2(problem: CommitmentProblem, tolerance: float | None) -> Dominance:
    """Return the commitment of Lemma 2, which dominates; in rational arithmetic."""
    exact, near = ExactProblem(problem), joint_optimum(problem)
    choices = near.leader * problem.game.n_follower_actions + near.follower
    actions, joint = exact.joint_optimum(choices)
    values = np.array([float(v - problem.offset) for v in joint])
    return _dominating(problem, actions, values, values, tolerance or 0.0)


def _dominating(
    problem: CommitmentProblem, actions: Integers, values: Array, bounds: Array, tolerance: float
) -> Dominance:
    """Return the record of a dominating commitment; values and bounds are centred."""
    shift = float(problem.offset)
    none, empty = np.empty((0, len(actions)), dtype=np.int64), np.empty((0, 0))
    return Dominance(
        DominanceVerdict.DOMINATING,
        actions,
        (),
        none,
        empty,
        values + shift,
        bounds + shift,
        0.0,
        tolerance,
    )


class _AllValues(NamedTuple):
    """Commitments (K, S), their values (K, S) as computed, and bounds on them."""

    rows: Integers
    values: Array
    lower: Array
    upper: Array
    allowed: Array


def _by_table(problem: CommitmentProblem, tolerance: float | None) -> Dominance:
    """Decide by the values of all commitments."""
    rows, values, lower, upper, allowed = _table(problem, tolerance)
    least, most = lower.max(axis=0), upper.max(axis=0)
    surely = (lower >= most - allowed).all(axis=1)
    if surely.any():
        at = int(surely.argmax())
        return _dominating(problem, rows[at], values[at], most, float(allowed.max()))
    perhaps = upper >= least - allowed
    if perhaps.all(axis=1).any():
        verdict, states = DominanceVerdict.UNDECIDED, []
    else:
        verdict, states = DominanceVerdict.RULED_OUT, _not_jointly(perhaps, least - upper)
    shift = float(problem.offset)
    chosen = lower[:, states].argmax(axis=0)
    short = float((least - upper)[:, states].mean(axis=1).min()) if states else 0.0
    return Dominance(
        verdict,
        None,
        tuple(states),
        rows[chosen],
        values[np.ix_(chosen, states)] + shift,
        values.max(axis=0) + shift,
        most + shift,
        max(short, 0.0),
        float(allowed.max()),
    )


def _table(problem: CommitmentProblem, tolerance: float | None) -> _AllValues:
    """Return all commitments that may be best from some state.

    Up to some thousand of them are evaluated in rational arithmetic, where that is possible; then
    their bounds are their values, rounded once, and exact ties are equal.
    """
    rows = np.concatenate(list(commitments(problem.allowed)))
    found = problem.assess(rows)
    equal = tolerance or 0.0
    near = found.upper >= found.lower.max(axis=0) - equal
    live = np.flatnonzero(near.any(axis=1))
    exactly = problem.epsilon is not None and live.size <= RESOLVED
    if not exactly or problem.game.n_states > DENSE:
        best = int((found.lower @ problem.game.start).argmax())
        allowed = _accepted(problem, rows[best], found, best, tolerance)
        return _AllValues(rows, found.values, found.lower, found.upper, allowed)
    exact = ExactProblem(problem)
    lower, upper = found.lower.copy(), found.upper.copy()
    # Exact values, by rank in each state: floats would make ties of what differs by less.
    values = [exact.reply(rows[k], found.answers[k]).values - problem.offset for k in live]
    for s in range(rows.shape[1]):
        column = [value[s] for value in values]
        top = max(column)
        for k, value in zip(live.tolist(), column, strict=True):
            near_value = float(value)
            if value < top and near_value >= float(top):
                near_value = float(np.nextafter(float(top), -np.inf))
            lower[k, s] = upper[k, s] = near_value
    allowed = np.full(rows.shape[1], equal)
    return _AllValues(rows, np.clip(found.values, lower, upper), lower, upper, allowed)


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
        mean = problem.game.starting_at(np.isin(np.arange(n_states), states).astype(int))
        search = BranchAndBound(incumbent=incumbent, time_limit=seconds)
        found = search.search(replace(problem, game=mean))
        return found.actions, found.values, found.bound

    shift = float(problem.offset)
    everywhere = list(range(n_states))
    trials = [find([s], 0.5 / (n_states - s)) for s in everywhere]
    bounds = np.minimum(bounds + shift, [bound for _, _, bound in trials])
    joint = find(everywhere, 0.3)
    rows = np.stack([incumbent, joint[0], *(actions for actions, _, _ in trials)])
    least, table = (part + shift for part in surely(problem, rows))
    best = table.max(axis=0)
    bounds = np.maximum(bounds, best)
    dominating = (least >= bounds - tolerance).all(axis=1)
    if dominating.any():
        at = int(dominating.argmax())
        return _dominating(problem, rows[at], table[at] - shift, bounds - shift, tolerance)
    chosen = table.argmax(axis=0)
    verdict, states, shortfall = DominanceVerdict.UNDECIDED, [], 0.0
    sure = least.max(axis=0)
    lack = float(sure.mean()) - joint[2]
    if lack > tolerance:
        verdict, states, shortfall = DominanceVerdict.RULED_OUT, everywhere, lack
    # A pair is worth a search if even the commitments best for one of the two, or all, lose there.
    loss = best - table
    pairs = [(float(loss[:, p].sum(axis=1).min()), list(p)) for p in combinations(everywhere, 2)]
    for lost, pair in sorted(pairs, reverse=True)[:n_states]:
        if lost <= 2 * tolerance or time.perf_counter() > until:
            break
        lack = float(sure[pair].mean()) - find(pair, 0.5)[2]
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
