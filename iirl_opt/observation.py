"""Observations: a commitment and what was seen of the response (paper, Section 3.1).

*Full information* (3a in the paper) is an `Observation`. A response is a follower policy (S, B),
or the *whole* set of optimal actions as a boolean mask (S, B). Either way some actions are known to
be optimal: those played with positive probability, those in the mask. Of the others only a mask
says that they are not optimal; since feasible sets are closed, that shows nowhere but in the ties.

*Partial information* (3b) is a `Trajectory`: the steps (s, a, b) of one episode and no more.

A response that is not claimed to be optimal carries a `Suboptimality`: what it may lose of the
optimal value. It is then known which reward *may* have led to it, but of no action that it is
optimal; whatever takes optimal responses refuses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief, shortly
from iirl_opt.checks import (
    FLAG,
    NOT_NEGATIVE,
    RNG,
    SHARE,
    Rule,
    between,
    checked,
    each,
    is_a,
    whole,
)
from iirl_opt.errors import InvalidArgument, InvalidObservation
from iirl_opt.exact.numbers import UNREADABLE, as_fraction
from iirl_opt.game.kernel import is_sparse
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.policy import as_floats
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable

__all__ = [
    "Observation",
    "Suboptimality",
    "Trajectory",
    "check_trajectory",
    "observe",
    "record_trajectory",
    "sample_trajectory",
]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# What is allowed in place of a trajectory where the answer in every state is wanted.
WHOLE = (
    "a policy (S, B) or a mask of all optimal actions: of a log that visits every state "
    "`game.follower_policy({state: action})`; of others ask `FeasibleRewards.add`"
)


def _amount(rule: Rule) -> Rule:
    """Return a rule for a number that may be written as a text such as ``"1/3"``, and is exact."""

    def read(name: str, value: Any) -> Any:
        if isinstance(value, str):
            with suppress(*UNREADABLE):
                value = as_fraction(value)
        rule(name, value)
        return value

    return read


@checked(loss=_amount(NOT_NEGATIVE), share=_amount(SHARE), start=FLAG)
@dataclass(frozen=True)
class Suboptimality:
    """What a response may lose: the word of whoever declares it, and no estimate.

    With the optimal value ``V*`` under a commitment and the value ``V`` of the response, either
    ``V* − V ≤ loss``, or ``V ≥ (1 − share) V*``; in every state, or expected from the start
    distribution. A share is meant for rewards of at least zero: a shift of the reward changes it.

    Parameters
    ----------
    loss : ε ≥ 0, in the unit of values; a number, exact as Fraction or text.
    share : δ of the optimum, 0 ≤ δ ≤ 1; one of the two is given.
    start : whether only the expectation from the start distribution is meant.

    Examples
    --------
    >>> Suboptimality(0.5), Suboptimality(share="1/10", start=True)
    (Suboptimality(loss=0.5), Suboptimality(share=Fraction(1, 10), start=True))
    """

    loss: float | str | Fraction | None = None
    share: float | str | Fraction | None = None
    start: bool = False

    def __post_init__(self) -> None:
        if (self.loss is None) == (self.share is None):
            said = "are both given" if self.share is not None else "are both left out"
            raise InvalidArgument("loss and share", said, "one of them", (self.loss, self.share))

    def __repr__(self) -> str:
        given = {"loss": self.loss, "share": self.share, "start": self.start or None}
        said = ", ".join(f"{name}={x!r}" for name, x in given.items() if x is not None)
        return f"Suboptimality({said})"

    @property
    def nothing(self) -> bool:
        """Whether it leaves optimal responses alone."""
        return not self.start and not (self.loss or self.share)

    @property
    def amount(self) -> float:
        """ε or δ."""
        return float(self.exact_amount)

    @property
    def exact_amount(self) -> Fraction:
        """ε or δ, as the number that it is."""
        return as_fraction(self.loss if self.share is None else self.share)


def SUBOPTIMALITY(name: str, value: Any) -> Suboptimality:
    """Return a declared suboptimality; a number is a loss in every state."""
    if isinstance(value, Suboptimality):
        return value
    return Suboptimality(_amount(NOT_NEGATIVE)(name, value))


class _Record:
    """What records of arrays share: those of a kind that hold the same are equal."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(map(np.array_equal, vars(self).values(), vars(other).values()))

    def __hash__(self) -> int:
        return hash(tuple(tuple(np.ravel(part).tolist()) for part in vars(self).values()))


@dataclass(frozen=True, eq=False)
class Observation(Tabular, _Record):
    """One episode as the leader sees it afterwards; make it with `observe`, which checks it.

    Two that hold the same are equal.

    Attributes
    ----------
    pi1 : the commitment, shape (S, A).
    pi2 : the response, shape (S, B); uniform over the mask where the whole optimal set was seen.
    played : which actions are known to be optimal, shape (S, B).
    whole : whether these are known to be all of them.
    suboptimality : what the response may lose; None of an optimal one. If it is there, no action
        is known to be optimal, and `played` is False throughout.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], discount=0.5)
    >>> seen = observe(game, [[1.0], [1.0]], [[True], [True]])
    >>> seen.whole, seen.played.tolist()
    (True, [[True], [True]])
    """

    pi1: Array
    pi2: Array
    played: NDArray[np.bool_]
    whole: bool = False
    suboptimality: Suboptimality | None = None

    __repr__ = in_brief


@checked(game=GAME, suboptimality=SUBOPTIMALITY)
def observe(
    game: TwoAgentMDP,
    pi1: ArrayLike,
    response: ArrayLike,
    *,
    suboptimality: float | Suboptimality | None = None,
) -> Observation:
    """Return a checked observation.

    Parameters
    ----------
    pi1 : commitment, shape (S, A).
    response : policy of shape (S, B), deterministic or stochastic, or a boolean mask (S, B) of all
        optimal actions.
    suboptimality : what the response may lose, in every state where it is a number; a loss of zero
        is that of an optimal response, as by default.

    Raises
    ------
    InvalidPolicy, InvalidObservation
        Names the state: a row that sums to something else, a mask without an action. Or a mask of
        optimal actions is declared suboptimal.

    **Cost** arithmetic: one pass over both policies.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], discount=0.5)
    >>> observe(game, [[1.0], [1.0]], [[0.0, 1.0], [0.5, 0.5]]).played.tolist()
    [[False, True], [True, True]]
    >>> observe(game, [[1.0], [1.0]], [[False, True], [True, True]]).pi2.tolist()
    [[0.0, 1.0], [0.5, 0.5]]
    >>> observe(game, [[1.0], [1.0]], [[1, 0], [1, 0]], suboptimality=0.5).suboptimality
    Suboptimality(loss=0.5)
    """
    commitment = game.check_leader_policy(pi1)
    if isinstance(response, Trajectory):
        raise InvalidObservation("response", "is a trajectory", WHOLE, response)
    answer = as_floats(response, "response")
    whole = np.asarray(response).dtype == bool
    declared: Suboptimality | None = None
    if isinstance(suboptimality, Suboptimality) and not suboptimality.nothing:
        declared = suboptimality
    if whole:
        if declared is not None:
            what = "a policy (S, B): what was played"
            raise InvalidObservation("response", f"is a mask, beside {declared}", what, response)
        shape = (game.n_states, game.n_follower_actions)
        if answer.shape != shape:
            raise InvalidObservation("response", f"has shape {answer.shape}", f"{shape}", answer)
        empty = ~answer.any(axis=1)
        if empty.any():
            s = game.states[int(np.argmax(empty))]
            raise InvalidObservation(
                f"response[s={s!r}]", "names no action", "at least one optimal action", s
            )
        answer = answer / answer.sum(axis=1, keepdims=True)
    pi2 = game.check_follower_policy(answer)
    played = pi2 > 0 if declared is None else np.zeros(pi2.shape, dtype=bool)
    for array in (commitment, pi2, played):
        array.flags.writeable = False
    return Observation(commitment, pi2, played, whole, declared)


@dataclass(frozen=True, eq=False)
class Trajectory(Tabular, _Record):
    """The steps of one episode; make it with `record_trajectory` or `sample_trajectory`.

    Two that hold the same are equal.

    Attributes
    ----------
    pi1 : the commitment, shape (S, A).
    states, leader_actions, follower_actions : positions of the states and actions of the steps
        0 … H, integers of shape (H+1,).

    **Source** paper, Section 3.1, 3b.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], discount=0.5, states=("hall", "yard"))
    >>> seen = record_trajectory(game, [[1.0], [1.0]], [("hall", 0, 0), ("yard", 0, 0)])
    >>> seen.states.tolist(), len(seen)
    ([0, 1], 2)
    """

    pi1: Array
    states: Integers
    leader_actions: Integers
    follower_actions: Integers

    __repr__ = in_brief

    def __len__(self) -> int:
        """Return the number of steps, H + 1."""
        return self.states.size

    def table(self) -> FactTable:
        """Return a row a step: positions of the state and of both actions."""
        names = ("state", "leader action", "follower action")
        columns = [self.states, self.leader_actions, self.follower_actions]
        steps = enumerate(zip(*(x.tolist() for x in columns), strict=True))
        rows = [{"step": t, **dict(zip(names, step, strict=True))} for t, step in steps]
        return FactTable(rows, f"Trajectory under a commitment {shortly(self.pi1)}")


def WHOLE_RESPONSE(name: str, value: Any) -> Any:
    """Return an observation of an optimal response, whole.

    A trajectory says nothing of the states that it does not visit, and of a response that is
    declared suboptimal no action is known to be optimal.
    """
    if isinstance(value, Trajectory):
        allowed = f"an Observation, by `observe(game, pi1, response)`, the response {WHOLE}"
        raise InvalidArgument(name, "is a trajectory", allowed, value)
    seen = is_a(Observation)(name, value)
    if seen.suboptimality is not None:
        said = f"is declared suboptimal ({seen.suboptimality})"
        raise InvalidArgument(name, said, "an optimal response: proofs are built of those", value)
    return seen


# What has been seen of an episode.
SEEN: Rule = is_a(Observation, Trajectory, error=InvalidObservation)


@checked(game=GAME)
def record_trajectory(
    game: TwoAgentMDP, pi1: ArrayLike, steps: Iterable[Sequence[Any]]
) -> Trajectory:
    """Return a checked trajectory.

    Parameters
    ----------
    pi1 : commitment, shape (S, A).
    steps : triples (state, leader action, follower action) of labels, at least one. The first state
        need not be one that the game starts in.

    Raises
    ------
    InvalidPolicy, UnknownLabel
    InvalidObservation
        There is no step, a step is no triple, the leader plays what it has not committed to, or the
        game never leads from one state to the next: names the step.

    **Cost** arithmetic: one pass over the steps.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], discount=0.5, states=("hall", "yard"))
    >>> len(record_trajectory(game, [[1.0], [1.0]], [("hall", 0, 0), ("yard", 0, 0)]))
    2
    """
    commitment = game.check_leader_policy(pi1)
    labels = (game.states, game.leader_actions, game.follower_actions)
    rows = []
    for h, step in enumerate(each(lambda _, step: step)("steps", steps)):
        triple = tuple(step) if isinstance(step, Iterable) and not isinstance(step, str) else ()
        if len(triple) != 3:
            raise InvalidObservation(f"steps[{h}]", f"is {step!r}", "a triple (s, a, b)", step)
        rows.append([known.index(label) for known, label in zip(labels, triple, strict=True)])
    if not rows:
        raise InvalidObservation("steps", "are empty", "at least one triple (s, a, b)", 0)
    s, a, b = np.array(rows, dtype=np.int64).T
    strange = commitment[s, a] == 0
    if strange.any():
        h = int(np.argmax(strange))
        raise InvalidObservation(
            f"steps[{h}]",
            f"has the leader action {game.leader_actions[a[h]]!r} in {game.states[s[h]]!r}",
            "an action that the commitment plays there",
            game.leader_actions[a[h]],
        )
    _, n_a, n_b = game.shape
    row = (s * n_a + a) * n_b + b
    chances = game.matrix[row[:-1], s[1:]]
    never = (chances.toarray() if is_sparse(chances) else chances) == 0
    if never.any():
        h = int(np.argmax(never)) + 1
        before, after = game.states[s[h - 1]], game.states[s[h]]
        raise InvalidObservation(
            f"steps[{h}]",
            f"is in {after!r}, where {before!r} never leads under the actions of the step before",
            "a state of positive probability",
            after,
        )
    return _trajectory(commitment, s, a, b)


@checked(game=GAME, trajectory=is_a(Trajectory, error=InvalidObservation))
def check_trajectory(game: TwoAgentMDP, trajectory: Trajectory) -> None:
    """Check that a trajectory fits a game, whose states and actions it names by position.

    Raises
    ------
    InvalidPolicy, InvalidObservation
        It was recorded in a game of other sizes.

    **Cost** arithmetic: one pass over the commitment and the steps.

    Examples
    --------
    >>> small = TwoAgentMDP([[[[1.0]]]], discount=0.5)
    >>> large = TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], discount=0.5)
    >>> seen = record_trajectory(large, [[1.0], [1.0]], [(0, 0, 0), (1, 0, 0)])
    >>> check_trajectory(large, seen)
    >>> from iirl_opt.errors import InvalidPolicy
    >>> try:
    ...     check_trajectory(small, seen)
    ... except InvalidPolicy as error:
    ...     print(error)
    leader policy has shape (2, 1); allowed (1, 1)
    """
    game.check_leader_policy(trajectory.pi1)
    parts = (trajectory.states, trajectory.leader_actions, trajectory.follower_actions)
    for name, part, size in zip(("s", "a", "b"), parts, game.shape, strict=True):
        if part.max() >= size:
            raise InvalidObservation(
                f"trajectory[{name}]", f"reaches {part.max()}", f"positions below {size}", part
            )


@checked(game=GAME, rng=RNG, end_probability=between(0, 1, "(]"), min_length=whole(1))
def sample_trajectory(
    game: TwoAgentMDP,
    pi1: ArrayLike,
    pi2: ArrayLike,
    rng: int | np.random.Generator | None,
    *,
    end_probability: float | None = None,
    min_length: int = 2,
) -> Trajectory:
    """Draw the steps of one episode from the start distribution.

    The episode ends with the same probability after every step from the `min_length`-th on, so its
    length is ``min_length − 1`` plus a geometric number.

    Parameters
    ----------
    pi1, pi2 : commitment (S, A) and response (S, B).
    end_probability : 0 < p ≤ 1; by default 1 − γ.
    min_length : the least number of steps, ≥ 1.

    Raises
    ------
    InvalidPolicy, InvalidArgument

    **Source** paper, Section 5, suboptimal responses and partial information; its footnote imposes
    two steps. **Cost** arithmetic: a loop over the steps.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[0, 1]]], [[[1, 0]]]], discount=0.5, start=[1, 0])
    >>> seen = sample_trajectory(game, [[1.0], [1.0]], [[1.0], [1.0]], 0, min_length=4)
    >>> seen.states.tolist()
    [0, 1, 0, 1, 0]
    """
    end = 1 - game.discount if end_probability is None else end_probability
    commitment = game.check_leader_policy(pi1)
    leader = np.cumsum(commitment, axis=1)
    follower = np.cumsum(game.check_follower_policy(pi2), axis=1)
    random = np.random.default_rng(rng)
    length = min_length - 1 + int(random.geometric(end))
    s, a, b = steps = np.empty((3, length), dtype=np.int64)
    state = _pick(np.cumsum(game.start), random.random())
    for h, draws in enumerate(random.random((length, 3))):
        s[h] = state
        a[h], b[h] = _pick(leader[state], draws[0]), _pick(follower[state], draws[1])
        successors, chances = _row(game, *steps[:, h])
        state = int(successors[_pick(np.cumsum(chances), draws[2])])
    return _trajectory(commitment, s, a, b)


def _pick(cumulative: Array, draw: float) -> int:
    """Return the index that a draw from [0, 1) falls to; one of no weight is never hit."""
    return int(np.searchsorted(cumulative, draw * cumulative[-1], side="right"))


def _row(game: TwoAgentMDP, s: int, a: int, b: int) -> tuple[NDArray[Any], Array]:
    """Return next states and their probabilities."""
    _, n_a, n_b = game.shape
    row = (s * n_a + a) * n_b + b
    if is_sparse(game.matrix):
        span = slice(game.matrix.indptr[row], game.matrix.indptr[row + 1])
        return game.matrix.indices[span], game.matrix.data[span]
    return np.arange(game.n_states), game.matrix[row]


def _trajectory(pi1: Array, s: Integers, a: Integers, b: Integers) -> Trajectory:
    parts = [np.ascontiguousarray(part) for part in (s, a, b)]
    for array in (pi1, *parts):
        array.flags.writeable = False
    return Trajectory(pi1, *parts)
