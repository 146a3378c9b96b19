"""The best deterministic commitment by trying all of them.

The allowed deterministic commitments are counted like numbers, the last state turning fastest, in
blocks of action arrays (K, S) that are evaluated together; no list of all of them is ever made.
Of equally good commitments the first counts, where rational arithmetic can tell. `Search` is what
every search over deterministic commitments returns: the best one found, and a bound that no other
exceeds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import TIME_LIMIT, checked, whole
from iirl_opt.commitment.bounds import Relaxation
from iirl_opt.commitment.incumbent import Incumbent, Settled, proves, weighted
from iirl_opt.commitment.problem import PROBLEM, Array, CommitmentProblem, Integers
from iirl_opt.commitment.tree import SearchTree
from iirl_opt.errors import InvalidArgument
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import as_floats, deterministic_policy

__all__ = [
    "LIMIT",
    "Search",
    "check_weights",
    "commitments",
    "digits",
    "enumerate_commitments",
]

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
    response : the follower's answer to it, (S, B).
    value : what these two earn, weighted over the states.
    values : the same from every state, (S,).
    bound : no allowed deterministic commitment has a larger value.
    gap : by how much another commitment can be better, as proved: `bound` less the least that this
        one earns, free of the rounding of large numbers.
    exact : whether the gap was proved zero in rational arithmetic.
    scale : the local scale of the reward that the two meet (`iirl_opt.game.values.local_scale`):
        what a gap is compared with.
    evaluated : commitments that were evaluated.
    nodes : boxes of commitments that were bounded (0 in an enumeration).
    seconds : wall-clock time.
    complete : whether the search ended by itself.
    tree : of a branch and bound that was asked to keep it.
    """

    actions: Integers
    response: Array
    value: float
    values: Array
    bound: float
    gap: float
    exact: bool
    scale: float
    evaluated: int
    nodes: int
    seconds: float
    complete: bool
    tree: SearchTree | None = None

    @property
    def proved(self) -> bool:
        """Whether no commitment is better: exactly, or as far as a gap counts (`proves`)."""
        return self.exact or proves(self.gap, self.scale, self.value)

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
    incumbent, beyond, complete = Incumbent(problem, weights), -np.inf, True
    for rows in commitments(problem.allowed):
        late = time_limit is not None and time.perf_counter() - began > time_limit
        if incumbent.evaluated and late:
            beyond, complete = _bound_of_all(problem, weights), False
            break
        incumbent.look(rows)
    return made(incumbent.settle(beyond, left(began, time_limit)), incumbent, began, complete)


def left(began: float, time_limit: float | None) -> float | None:
    """Return the seconds left, at least a few for the end game."""
    return None if time_limit is None else max(time_limit - (time.perf_counter() - began), 1.0)


def made(
    settled: Settled,
    incumbent: Incumbent,
    began: float,
    complete: bool,
    nodes: int = 0,
    tree: SearchTree | None = None,
) -> Search:
    """Return the record of a search."""
    return Search(
        actions=settled.actions,
        response=settled.response,
        value=settled.value,
        values=settled.values,
        bound=settled.bound,
        gap=settled.gap,
        exact=settled.exact,
        scale=settled.scale,
        evaluated=incumbent.evaluated,
        nodes=nodes,
        seconds=time.perf_counter() - began,
        complete=complete,
        tree=tree,
    )


def _bound_of_all(problem: CommitmentProblem, weights: Array) -> float:
    """Return what no commitment exceeds, centred."""
    box = Relaxation(problem, free=True).bound(problem.allowed[None])
    return float(weighted(box.w_hi, weights)[0])


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
