"""Searches over deterministic commitments: what they return, and how commitments are counted.

The allowed deterministic commitments are counted like numbers, the last state turning fastest, in
blocks of action arrays (K, S) that are evaluated together; no list of all of them is ever made. A
`Search` is the best one found, and a bound that no other exceeds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from iirl_opt.brief import in_brief
from iirl_opt.checks import checked, whole
from iirl_opt.commitment.incumbent import Incumbent, Settled, proves
from iirl_opt.commitment.problem import Array, CommitmentProblem, Integers, Reply
from iirl_opt.commitment.search_tree import SearchTree
from iirl_opt.errors import InvalidArgument
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.printing.records import Tabular

__all__ = [
    "Search",
    "check_actions",
    "check_count",
    "commitments",
    "concluded",
    "digits",
    "seconds_left",
]

# Commitments in a block.
BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Search(Tabular):
    """The outcome of a search over the allowed deterministic commitments.

    Attributes
    ----------
    actions : the best commitment found, an action a state, (S,).
    response : the follower's answer to it, (S, B).
    value : what these two earn from the start distribution.
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

    Examples
    --------
    >>> from iirl_opt.commitment import Enumeration
    >>> from iirl_opt.follower import EpsilonGreedyFollower
    >>> from iirl_opt.game.generate import random_game
    >>> problem = CommitmentProblem(*random_game(3, 2, 2, rng=6), EpsilonGreedyFollower(0.2))
    >>> found = Enumeration().search(problem)
    >>> found.actions, found.evaluated, found.exact
    (array([0, 1, 1]), 8, True)
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

    __repr__ = in_brief

    @property
    def proved(self) -> bool:
        """Whether no commitment is better: exactly, or as far as a gap counts (``proves``)."""
        return self.exact or proves(self.gap, self.scale, self.value)

    @checked(n_actions=whole(1))
    def policy(self, n_actions: int) -> Array:
        """Return the commitment as a policy (S, A)."""
        return deterministic_policy(self.actions, n_actions)

    @property
    def reply(self) -> Reply:
        """The answer to the commitment, and what the leader earns."""
        return Reply(self.response, self.values)


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


def seconds_left(began: float, time_limit: float | None) -> float | None:
    """Return the seconds left, at least a few for the end game."""
    return None if time_limit is None else max(time_limit - (time.perf_counter() - began), 1.0)


def concluded(
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


def check_count(problem: CommitmentProblem, limit: int) -> None:
    """Refuse a problem of more deterministic commitments than the limit."""
    count = problem.n_deterministic
    if count > limit:
        raise InvalidArgument(
            "problem", f"has {count:,} deterministic commitments", f"at most {limit:,}", count
        )


def check_actions(problem: CommitmentProblem, incumbent: ArrayLike) -> Integers:
    """Return allowed actions (S,) of the leader."""
    actions = np.asarray(incumbent)
    shape = (problem.game.n_states,)
    if actions.shape != shape or actions.dtype.kind not in "iu":
        raise InvalidArgument(
            "incumbent",
            f"is {actions.dtype} of shape {actions.shape}",
            f"integers {shape}",
            actions,
        )
    known = (actions >= 0) & (actions < problem.game.n_leader_actions)
    known[known] = problem.allowed[np.flatnonzero(known), actions[known]]
    if not known.all():
        s = int(np.argmin(known))
        raise InvalidArgument(
            f"incumbent[s={problem.game.states[s]!r}]",
            f"is {actions[s]}",
            f"one of {np.flatnonzero(problem.allowed[s]).tolist()}",
            int(actions[s]),
        )
    return actions.astype(np.int64)
