"""The rows of a set of rewards by what they speak of: episode, state, action.

The rows of an episode stand in a program under the labels ``optimal[t]`` and ``tied[t]``, those of
trajectories under one commitment as ``seen[t]``, ``unseen[t]`` and ``ceiling[t]``, those of a
largest margin as ``margin[t]``, what a response may lose as ``loss[t]``, and a preference as
``preferred[t]``. Rows of zeros and multiples of others are left out there, and the
rest are scaled; here each gap ``V(s) − Q(s, b)`` has a number of its own, in its own unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.rewards.lifted_rows import GapRows, WholeResponse
from iirl_opt.rewards.preferences import Preferred
from iirl_opt.rewards.suboptimal import SuboptimalResponse
from iirl_opt.rewards.trajectories import PartialResponse
from iirl_opt.solver.multipliers import rows_under

__all__ = ["LABELS", "ObservedRow", "of_loss", "of_pool", "of_preference", "of_response"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# What the rows of an episode are called, before its number.
LABELS = (
    *("values", "optimal", "tied", "idle", "seen", "unseen", "ceiling", "margin"),
    *("best", "loss", "nonnegative", "preferred"),
)


class ObservedRow(NamedTuple):
    """An observed choice, as the rows of an episode speak of it; a tuple, and asked for as one.

    Attributes
    ----------
    episode : counted from 1; of trajectories under one commitment, the first.
    state : label; None of a loss from the start, and of a preference.
    action : the follower action whose gap is bounded; None of a bound on the state's value.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> known = iirl.FeasibleRewards(game).observe([[1], [1]], [[0, 1], [1, 0]])
    >>> price = known.by_row(known.maximise([1.0, 0.0]))
    >>> round(price[ObservedRow(1, 0, 0)], 6)
    1.0
    """

    episode: int
    state: Any
    action: Any


class PlacedRows(NamedTuple):
    """Numbers of the rows of one episode, and the places (s, b) that they stand at.

    Attributes
    ----------
    states, actions : positions; the action is −1 where the row speaks of the state alone, and the
        state where it speaks of none.
    numbers : multipliers, or a ray's, in the unit of the gaps.
    """

    states: Integers
    actions: Integers
    numbers: Array


def of_response(
    given: Mapping[str, ArrayLike], t: int, response: WholeResponse, parts: tuple[GapRows, GapRows]
) -> Iterator[PlacedRows]:
    """Yield what multipliers by constraint say of the gaps of episode t."""
    n_actions = response.played.shape[1]
    for label, rows in zip(("optimal", "tied"), parts, strict=True):
        found = rows_under(given, f"{label}[{t}]", rows.at.size)
        if found is None and not rows.at.size and f"values[{t}]" in given:
            found = np.zeros(0)
        if found is not None:
            at = np.concatenate([rows.every, rows.idle])
            yield PlacedRows(at // n_actions, at % n_actions, rows.spread(found))
    open_actions = np.flatnonzero(~response.played)
    margins = rows_under(given, f"margin[{t}]", open_actions.size)
    if margins is not None:
        yield PlacedRows(open_actions // n_actions, open_actions % n_actions, margins)


def of_pool(
    given: Mapping[str, ArrayLike], t: int, pool: PartialResponse, *, joint: bool
) -> Iterator[PlacedRows]:
    """Yield what multipliers by constraint say of trajectories, of which t is the first."""
    n_actions = pool.counts.shape[1]
    seen, unseen, away = pool.places(joint=joint)
    for label, at in (("seen", seen), ("unseen", unseen)):
        found = rows_under(given, f"{label}[{t}]", at.size)
        if found is not None:
            yield PlacedRows(at // n_actions, at % n_actions, found)
    ceilings = rows_under(given, f"ceiling[{t}]", away.size)
    if ceilings is not None:
        yield PlacedRows(away, np.full(away.size, -1), ceilings)


def of_loss(
    given: Mapping[str, ArrayLike], t: int, response: SuboptimalResponse
) -> Iterator[PlacedRows]:
    """Yield what multipliers by constraint say of what a response may lose."""
    at = np.arange(1 if response.declared.start else response.environment.game.n_states)
    found = rows_under(given, f"loss[{t}]", at.size)
    if found is not None:
        nowhere = np.full(at.size, -1)
        yield PlacedRows(nowhere if response.declared.start else at, nowhere, found)


def of_preference(
    given: Mapping[str, ArrayLike], t: int, preference: Preferred, joint: bool
) -> Iterator[PlacedRows]:
    """Yield what multipliers by constraint say of a preference, in the unit of values."""
    found = rows_under(given, f"preferred[{t}]", 1)
    if found is not None:
        nowhere = np.array([-1])
        yield PlacedRows(nowhere, nowhere, found / preference.size(joint=joint))
