"""A model file whose game ends after a number of steps: ``horizon`` in its ``[game]`` table.

The game of the problem is the time-expanded one (`iirl_opt.game.horizon`). What the file says by
state it says of every step, and numbers by state are taken along as a reward is. A text such as
``"('hall', 2)"``, the label of an expanded state, is that state at one step. In policies it goes
before the state at every step; numbers are either of every step or of single ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from iirl_opt.errors import FileProblem, InvalidArgument
from iirl_opt.follower.protocols import Follower
from iirl_opt.follower.steps import check_steps
from iirl_opt.formats.dpomdp.problem import DecPOMDP
from iirl_opt.game.horizon import FiniteHorizon, finite_horizon
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.library.entries import by_state, read_reward
from iirl_opt.library.games import GameOfFile, Reading, read_game
from iirl_opt.library.rows import UserRow, read_row
from iirl_opt.library.schema import (
    ConstraintTable,
    GameTable,
    Number,
    ObservationTable,
    RewardTable,
    TrajectoryTable,
)

__all__ = [
    "check_follower",
    "each_step",
    "read_expanded",
    "reward_over",
    "row_over",
    "seen_each_step",
    "vector_over",
]

Array = NDArray[np.float64]
T = TypeVar("T")
Seen = TypeVar("Seen", ObservationTable, TrajectoryTable)


def read_expanded(path: Path, table: GameTable, asked: Reading) -> GameOfFile:
    """Return the game of a table, expanded over its steps where it has a horizon.

    There a discount of 1 means plain sums.
    """
    if table.horizon is None:
        return read_game(path, table, asked)
    if table.environment is not None:
        raise FileProblem(path, "has no meaning beside environment", key="game.horizon")
    given = table.discount if asked.discount is None else asked.discount
    if given == 1:  # any will do: what counts is said when the game is expanded
        base = read_game(path, structs.replace(table, discount=0), replace(asked, discount=None))
    else:
        base = read_game(path, table, asked)
    try:
        play = finite_horizon(base.game, table.horizon, discount=given)
    except InvalidArgument as problem:
        raise FileProblem(path, str(problem), key="game.horizon") from problem
    # A maze has no picture of its steps; names of rewards to choose from are kept.
    imported = base.imported if base.reward is None else None
    return GameOfFile(play.game, _played(base), imported=imported, horizon=play)


def _played(made: GameOfFile) -> NDArray[np.float64] | None:
    """Return the reward of a game with an end, by choice where it is for entering a state."""
    file, reward = made.imported, made.reward
    if not isinstance(file, DecPOMDP) or reward is None or reward.ndim > 1:
        return reward
    if file.reward_form != "next state":
        return reward
    return np.asarray(made.game.matrix @ reward).reshape(made.game.shape)


def reward_over(
    path: Path, made: GameOfFile, table: RewardTable | None, key: str
) -> NDArray[Any] | None:
    """Return a reward of a file on its game, by default the game's own; exact over steps."""
    game = made.game if made.horizon is None else made.horizon.base
    reward = made.reward if table is None else read_reward(path, table, game, key)
    return reward if made.horizon is None or reward is None else made.horizon.expand_reward(reward)


def check_follower(path: Path, made: GameOfFile, follower: Follower) -> Follower:
    """Return the follower of a file, or refuse it where its numbers change with the step."""
    if made.horizon is None:
        return follower
    try:
        return check_steps(made.horizon, follower)
    except InvalidArgument as problem:
        raise FileProblem(path, str(problem), key="follower") from problem


def each_step(
    horizon: FiniteHorizon | None, entries: Mapping[str, T], *, whole: bool = True
) -> dict[str, T]:
    """Return entries by state as those of each step; what is said of one step goes before.

    Of a `whole` policy the end, where nothing is chosen, has some entry, too.
    """
    if horizon is None:
        return dict(entries)
    said = dict(entries)
    steps = [str(label) for label in horizon.game.states]
    for i, state in enumerate(map(str, horizon.base.states)):
        if state in said and state not in steps:
            every = said.pop(state)
            for label in steps[i : -1 : horizon.base.n_states]:
                said.setdefault(label, every)
            if whole and "*" not in said:
                said.setdefault(steps[-1], every)
    return said


def seen_each_step(horizon: FiniteHorizon | None, table: Seen) -> Seen:
    """Return the table of an episode with its policies, or its path, written out by step."""
    if horizon is None:
        return table
    changed: dict[str, Any] = {"leader": each_step(horizon, table.leader)}
    if isinstance(table, TrajectoryTable):
        base = {str(s): s for s in horizon.base.states}
        changed["steps"] = [
            [str((base[state], h)) if state in base else state for state in step[:1]] + step[1:]
            for h, step in enumerate(table.steps)
        ]
    else:
        for name in ("follower", "optimal"):
            said = getattr(table, name)
            changed[name] = None if said is None else each_step(horizon, said)
    return structs.replace(table, **changed)


def row_over(
    path: Path, game: TwoAgentMDP, horizon: FiniteHorizon | None, table: ConstraintTable, key: str
) -> UserRow:
    """Return a row of the user's own on the game of a file; by state, on what steps add up to."""
    names = [*table.terms, *(entry.state for entry in table.choices)]
    if horizon is None or not _of_every_step(horizon, names):
        return read_row(path, game, table, key)
    row = read_row(path, horizon.base, table, key)
    return replace(row, coefficients=horizon.expand_reward(row.coefficients).astype(float))


def vector_over(
    path: Path,
    game: TwoAgentMDP,
    horizon: FiniteHorizon | None,
    entries: Mapping[str, Number],
    key: str,
) -> Array:
    """Return numbers by state as an array over the states of a game, zero elsewhere."""
    if horizon is None or not _of_every_step(horizon, entries):
        return by_state(path, game, entries, key, Fraction(0))
    every = by_state(path, horizon.base, entries, key, Fraction(0))
    return horizon.expand_reward(every).astype(float)


def _of_every_step(horizon: FiniteHorizon, names: Iterable[str]) -> bool:
    """Return whether no name is that of a state at one step."""
    steps = {str(label) for label in horizon.game.states}
    return not steps.intersection(names)
