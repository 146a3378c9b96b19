"""The rows of an occupancy program by what they speak of: a state, or a state and its joint choice.

The flow has a row a state; the sign of the measure, a bound a choice (s, a, b). Solvers keep no
multipliers of such bounds. They are what the others leave of the objective: with values V of the
flow, and prices λ of the side constraints G μ ≤ h,

    V(s) − γ P V + λ·G − r ≥ 0      for every (s, a, b),

which is by how much the choice is worse than what is played. Of a Farkas ray the same without r.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.solver.multipliers import rows_under

__all__ = ["ChoiceRow", "StateRow", "of_choices", "of_states"]

Array = NDArray[np.float64]


class StateRow(NamedTuple):
    """The row of a state: conservation of flow there; a tuple, and asked for as one.

    Examples
    --------
    >>> from iirl_opt import OccupancyMeasure
    >>> stay, go = [1, 0], [0, 1]
    >>> game = TwoAgentMDP([[[stay, go]], [[go, go]]], 0.5, start=[1, 0], states=["hall", "yard"])
    >>> measure = OccupancyMeasure(game)
    >>> price = measure.by_row(measure.maximise([0.0, 1.0]))
    >>> round(price[StateRow("hall")], 6), price[("hall",)] == price[StateRow("hall")]
    (1.0, True)
    """

    state: Any


class ChoiceRow(NamedTuple):
    """The bound on the measure of a joint choice; a tuple, and asked for as one.

    Attributes
    ----------
    state, leader, follower : labels.

    Examples
    --------
    >>> from iirl_opt import OccupancyMeasure
    >>> stay, go = [1, 0], [0, 1]
    >>> game = TwoAgentMDP([[[stay, go]], [[go, go]]], 0.5, start=[1, 0], states=["hall", "yard"])
    >>> measure = OccupancyMeasure(game)
    >>> price = measure.by_row(measure.maximise([0.0, 1.0]))
    >>> round(price[ChoiceRow("hall", 0, 0)], 6), round(price[ChoiceRow("hall", 0, 1)], 6)
    (0.5, 0.0)
    """

    state: Any
    leader: Any
    follower: Any


def of_states(
    game: TwoAgentMDP, given: Mapping[str, ArrayLike], label: str
) -> Iterator[tuple[StateRow, float]]:
    """Yield the numbers of the rows under a label, one a state."""
    rows = rows_under(given, label, game.n_states)
    if rows is not None:
        yield from zip(map(StateRow, game.states), rows.tolist(), strict=True)


def of_choices(
    game: TwoAgentMDP, numbers: Array, where: NDArray[np.int64] | None = None
) -> Iterator[tuple[ChoiceRow, float]]:
    """Yield numbers of joint choices ``(s·A + a)·B + b``, all of them, or those at some places."""
    n_a, n_b = game.shape[1:]
    at = np.arange(numbers.size) if where is None else where
    places = zip(*(part.tolist() for part in np.unravel_index(at, game.shape)), strict=True)
    leader, follower = game.leader_actions[:n_a], game.follower_actions[:n_b]
    for (s, a, b), number in zip(places, numbers.tolist(), strict=True):
        yield ChoiceRow(game.states[s], leader[a], follower[b]), number
