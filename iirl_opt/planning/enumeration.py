"""The best deterministic commitment by trying all of them.

The allowed deterministic commitments are counted like numbers, the last state turning fastest, in
blocks of action arrays (K, S) that are evaluated together; no list of all of them is ever made.
Of equally good commitments the first counts. `Search` is what every search over deterministic
commitments returns: the best one found, and a bound that no other exceeds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import TIME_LIMIT, checked, whole
from iirl_opt.errors import InvalidArgument
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import as_floats, deterministic_policy
from iirl_opt.planning.bounds import value_bounds
from iirl_opt.planning.problem import PROBLEM, Array, CommitmentProblem, Integers
from iirl_opt.planning.tree import SearchTree

__all__ = ["LIMIT", "Search", "check_weights", "commitments", "digits", "enumerate_commitments"]

# Commitments beyond which an enumeration is refused unless asked for: some minutes of work.
LIMIT = 2_000_000

# Commitments in a block.
BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Search:
    """The outcome of a search over the allowed deterministic commitments.

    Attributes
    ----------
    actions : the best commitment found, an action a state, (S,).
    value : its value, weighted over the states.
    values : its value from every state, (S,).
    bound : no allowed deterministic commitment has a larger value.
    evaluated : commitments that were evaluated.
    nodes : boxes of commitments that were bounded (0 in an enumeration).
    seconds : wall-clock time.
    complete : whether the search ended by itself, so that `actions` is best (within its tolerance).
    tree : of a branch and bound that was asked to keep it.
    """

    actions: Integers
    value: float
    values: Array
    bound: float
    evaluated: int
    nodes: int
    seconds: float
    complete: bool
    tree: SearchTree | None = None

    @property
    def gap(self) -> float:
        """How much better than `value` another commitment can be."""
        return self.bound - self.value

    @checked(n_actions=whole(1))
    def policy(self, n_actions: int) -> Array:
        """Return the commitment as a policy (S, A)."""
        return deterministic_policy(self.actions, n_actions)


def commitments(allowed: ArrayLike, block: int = BLOCK) -> Iterator[Integers]:
    """Yield all deterministic commitments to allowed actions (S, A), in blocks (K, S), K ≤ block.

    Examples
    --------
    >>> [rows.tolist() for rows in commitments([[True, True], [False, True]])]
    [[[0, 1], [1, 1]]]
    """
    choices = [np.flatnonzero(row) for row in np.asarray(allowed, dtype=bool)]
    first, size = len(choices), 1
    while first > 0 and size * len(choices[first - 1]) <= max(block, 1):
        first -= 1
        size *= len(choices[first])
    late = choices[first:]
    places = digits(np.arange(size), [len(choice) for choice in late])
    tail = np.empty(places.shape, dtype=np.int64)
    for at, choice in enumerate(late):
        tail[:, at] = choice[places[:, at]]
    for head in product(*(row.tolist() for row in choices[:first])):
        rows = np.empty((len(tail), len(choices)), dtype=np.int64)
        rows[:, :first], rows[:, first:] = head, tail
        yield rows


def digits(numbers: Integers, bases: Sequence[int]) -> Integers:
    """Return the digits (K, n) of numbers (K,) in a system of n bases, the last turning fastest.

    (NumPy's grids and indices end at 32 or 64 axes; games do not.)
    """
    found = np.empty((len(numbers), len(bases)), dtype=np.int64)
    for at in range(len(bases) - 1, -1, -1):
        numbers, found[:, at] = np.divmod(numbers, bases[at])
    return found


@checked(problem=PROBLEM, limit=whole(1), time_limit=TIME_LIMIT)
def enumerate_commitments(
    problem: CommitmentProblem,
    *,
    start: ArrayLike | None = None,
    limit: int = LIMIT,
    time_limit: float | None = None,
) -> Search:
    """Return the best allowed deterministic commitment, the first of several.

    Parameters
    ----------
    start : weights (S,) of the states in the objective; the game's start distribution by default.
    limit : how many commitments are accepted.
    time_limit : seconds after which the best so far is returned, with a bound that is valid but
        rarely tight; at least one block is evaluated.

    Raises
    ------
    InvalidArgument
        There are more commitments than the limit: names their number.

    **Cost** arithmetic: each commitment takes some S×S linear systems, stacked (about 10⁴ a second
    at S = 10).
    """
    weights = check_weights(problem.game, start)
    began = time.perf_counter()
    check_count(problem, limit)
    actions, values, best = np.empty(0, dtype=np.int64), np.empty(0), -np.inf
    evaluated = 0
    for rows in commitments(problem.allowed):
        if evaluated and time_limit is not None and time.perf_counter() - began > time_limit:
            bound = max(best, float(weights @ value_bounds(problem, stochastic=False).w_hi))
            break
        block = problem.values_of(rows)
        scores = block @ weights
        evaluated += len(rows)
        at = int(scores.argmax())
        if scores[at] > best:
            actions, values, best = rows[at].copy(), block[at].copy(), float(scores[at])
    else:
        bound = best
    complete = evaluated == problem.n_deterministic
    seconds = time.perf_counter() - began
    return Search(actions, best, values, bound, evaluated, 0, seconds, complete)


def check_count(problem: CommitmentProblem, limit: int) -> None:
    """Refuse a problem of more deterministic commitments than the limit."""
    count = problem.n_deterministic
    if count > limit:
        raise InvalidArgument(
            "problem", f"has {count:,} deterministic commitments", f"at most {limit:,}", count
        )


def check_weights(game: TwoAgentMDP, start: ArrayLike | None) -> NDArray[np.float64]:
    """Return weights (S,) of the states, finite and ≥ 0; the start distribution by default."""
    if start is None:
        return np.asarray(game.start, dtype=float)
    weights = as_floats(start, "start", InvalidArgument)
    if weights.shape != (game.n_states,) or not (np.isfinite(weights) & (weights >= 0)).all():
        allowed = f"finite numbers ≥ 0 of shape ({game.n_states},)"
        raise InvalidArgument("start", f"is {weights}", allowed, start)
    return weights
