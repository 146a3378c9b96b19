"""The game of a model file, from whichever source its ``[game]`` table names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.errors import FileProblem, InvalidValue, UnknownLabel
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.formats.kinds import read_file
from iirl_opt.game.entries import RowBlocks
from iirl_opt.game.generate import random_game
from iirl_opt.game.grid import GridGame, grid_game
from iirl_opt.game.labels import Labels
from iirl_opt.game.mazes import introductory_game, maze_maker
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.library.entries import find_label
from iirl_opt.library.schema import (
    SOURCES,
    EnvironmentTable,
    GameTable,
    IntroductoryGameTable,
    MazeMakerTable,
    RandomGameTable,
)
from iirl_opt.verification.environment import Environment
from iirl_opt.verification.ideal import ideal_environment
from iirl_opt.verification.strict import strict_environment

__all__ = ["GameOfFile", "Reading", "read_game", "read_imported"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Reading:
    """What is asked of a file of another kind, in place of what it says itself.

    Attributes
    ----------
    discount : in place of its own.
    constants : the values of its constants, by name, as it would write them.
    reward : which of its rewards, by name; its only one if that is None.
    """

    discount: Any = None
    constants: Mapping[str, str] = field(default_factory=dict)
    reward: str | None = None

    @property
    def as_stated(self) -> bool:
        """Whether nothing is asked."""
        return self.discount is None and not self.constants and self.reward is None


@dataclass(frozen=True, eq=False)
class GameOfFile:
    """A game with what came along with it."""

    game: TwoAgentMDP
    reward: Array | None = None
    grid: GridGame | None = None
    imported: ImportedGame | None = None
    environment: Environment | None = None


def read_imported(path: Path, asked: Reading) -> GameOfFile:
    """Return the game of a file of another kind, with the reward that is asked for.

    Where the file has several and none is asked for, there is none: not every question needs one.
    """
    found = read_file(path, discount=asked.discount, constants=asked.constants)
    try:
        several = asked.reward is None and len(found.rewards) != 1
        reward = None if several else found.reward(asked.reward)
    except UnknownLabel as problem:
        raise FileProblem(path, str(problem), key="reward") from None
    return GameOfFile(found.game, reward, imported=found)


def read_game(path: Path, table: GameTable, asked: Reading) -> GameOfFile:
    """Return the game of a model file from whichever source it names."""
    gamma = table.discount if asked.discount is None else asked.discount
    source = next(name for name in SOURCES if getattr(table, name) is not None)
    own = {
        "states": ("transitions", "kernel", "environment"),
        "leader_actions": ("transitions", "kernel"),
        "follower_actions": ("transitions", "kernel"),
        "start": ("transitions", "kernel"),
    }
    for key, sources in own.items():
        if getattr(table, key) is not None and source not in sources:
            raise FileProblem(path, f"has no meaning beside {source}", key=f"game.{key}")
    constants = {name: _as_text(value) for name, value in table.constants.items()}
    asked = Reading(gamma, constants | dict(asked.constants), asked.reward or table.reward)
    for key, given in (("constants", asked.constants), ("reward", asked.reward)):
        if given and source != "file":
            raise FileProblem(path, f"has no meaning beside {source}", key=f"game.{key}")
    if gamma is None and source in ("transitions", "kernel", "grid", "environment"):
        raise FileProblem(path, "is missing", key="game.discount")
    try:
        return _from_source(path, table, asked)
    except (InvalidValue, UnknownLabel) as problem:
        raise FileProblem(path, str(problem), key=f"game.{source}") from problem


def _as_text(value: bool | int | float | str) -> str:
    """Return the value of a constant as files write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _from_source(path: Path, table: GameTable, asked: Reading) -> GameOfFile:
    gamma = asked.discount
    given = {} if gamma is None else {"discount": gamma}
    if table.file is not None:
        inside = (path.parent / table.file).resolve()
        if not inside.is_relative_to(path.parent.resolve()):
            raise FileProblem(path, f"{table.file!r} leaves the model's folder", key="game.file")
        if not inside.is_file():
            raise FileProblem(path, f"{table.file!r} is no file here", key="game.file")
        return read_imported(inside, asked)
    if table.grid is not None:
        g = table.grid
        grid = grid_game(
            g.rows,
            slip=g.slip,
            doors=g.doors,
            prizes=g.prizes,
            prize_rule=g.prize_rule,
            wall_states=g.wall_states,
            discount=gamma,
        )
        return GameOfFile(grid.game, grid.reward, grid)
    if isinstance(table.generator, MazeMakerTable):
        m = table.generator
        prizes = {} if m.prizes is None else {"prizes": {int(k): v for k, v in m.prizes.items()}}
        maze = maze_maker(m.size, m.start, slip=m.slip, **prizes, **given)
        return GameOfFile(maze.game, maze.reward, maze)
    if isinstance(table.generator, RandomGameTable):
        r = table.generator
        game, reward = random_game(
            r.states,
            r.leader_actions,
            r.follower_actions,
            r.seed,
            concentration=r.concentration,
            successors=r.successors,
            leader_influence=r.leader_influence,
            follower_influence=r.follower_influence,
            restart=r.restart,
            **given,
        )
        return GameOfFile(game, reward)
    if isinstance(table.generator, IntroductoryGameTable):
        if gamma is not None:
            raise FileProblem(path, "is fixed at 0.9 for this generator", key="game.discount")
        intro = introductory_game()
        return GameOfFile(intro.game, intro.reward, intro)
    if table.environment is not None:
        return _environment_game(path, table, table.environment, gamma)
    start = table.start if table.start != "uniform" else None
    if table.kernel is not None:
        return GameOfFile(
            TwoAgentMDP(
                _exact_kernel(path, table.kernel),
                gamma,
                start,
                states=table.states,
                leader_actions=table.leader_actions,
                follower_actions=table.follower_actions,
            )
        )
    return GameOfFile(_from_transitions(path, table, gamma, start))


def _environment_game(
    path: Path, table: GameTable, test: EnvironmentTable, gamma: Any
) -> GameOfFile:
    """Return the environment of a hypothesis as a game, with the names of the states."""
    names = list(test.reward) if table.states is None else table.states
    states = Labels(names, "state")
    entries = [Fraction(0)] * len(states)
    for name, value in test.reward.items():
        key = f"game.environment.reward.{name}"
        entries[find_label(path, states, name, key)] = value
    reward = np.array(entries, dtype=object)
    if test.kind == "ideal":
        environment = ideal_environment(reward, gamma)
    else:
        environment = strict_environment(
            reward,
            gamma,
            test.epsilon,
            planning_tolerance=test.planning_tolerance,
            rational=test.rational,
        )
    mdp = environment.mdp
    named = MDP(
        RowBlocks.of(mdp.rational.rows) if mdp.is_rational else mdp.matrix,
        mdp.rational.discount,
        states=states,
        actions=("b1", "b2"),
    )
    environment = replace(environment, mdp=named)
    return GameOfFile(environment.game, environment=environment)


def _exact_kernel(path: Path, kernel: Any) -> NDArray[Any]:
    """Return a kernel written as nested lists as an array of Fractions."""
    try:
        return np.array(kernel, dtype=object)
    except ValueError as problem:
        raise FileProblem(path, str(problem), key="game.kernel") from None


def _from_transitions(path: Path, table: GameTable, gamma: Any, start: Any) -> TwoAgentMDP:
    """Return the game written as a list of transitions."""
    names = {}
    for key in ("states", "leader_actions", "follower_actions"):
        if getattr(table, key) is None:
            raise FileProblem(path, "is missing", key=f"game.{key}")
        names[key] = list(getattr(table, key))
    states, leaders, followers = names.values()
    kinds = ("state", "leader action", "follower action")
    position = [Labels(group, kind) for group, kind in zip(names.values(), kinds, strict=True)]
    kernel = np.zeros((len(states), len(leaders), len(followers), len(states)), dtype=object)
    owner = np.full(kernel.shape[:3], -1)

    def lookup(group: int, name: str, key: str) -> int:
        try:
            return position[group].index(name)
        except UnknownLabel as problem:
            raise FileProblem(path, str(problem), key=key) from None

    for i, row in enumerate(table.transitions or ()):
        key = f"game.transitions[{i}]"
        s = lookup(0, row.origin, f"{key}.from")
        a = range(len(leaders)) if row.leader == "*" else [lookup(1, row.leader, f"{key}.leader")]
        b = (
            range(len(followers))
            if row.follower == "*"
            else [lookup(2, row.follower, f"{key}.follower")]
        )
        target = np.zeros(len(states), dtype=object)
        for name, weight in row.to.items():
            target[lookup(0, name, f"{key}.to")] = weight
        if sum(target, Fraction(0)) != 1:
            total = float(sum(target, Fraction(0)))
            raise FileProblem(path, f"sums to {total:g}; allowed 1 exactly", key=f"{key}.to")
        for at in product([s], a, b):
            if owner[at] >= 0:
                raise FileProblem(
                    path,
                    f"{_choice_in_words(table, *at)} was already given by transitions[{owner[at]}]",
                    key=key,
                )
            owner[at] = i
            kernel[at] = target
    if (owner < 0).any():
        s, a, b = np.argwhere(owner < 0)[0].tolist()
        raise FileProblem(
            path, f"no row for {_choice_in_words(table, s, a, b)}", key="game.transitions"
        )
    return TwoAgentMDP(
        kernel,
        gamma,
        start,
        states=states,
        leader_actions=leaders,
        follower_actions=followers,
    )


def _choice_in_words(table: GameTable, s: int, a: int, b: int) -> str:
    assert table.states is not None
    assert table.leader_actions is not None
    assert table.follower_actions is not None
    return (
        f"from={table.states[s]!r}, leader={table.leader_actions[a]!r}, "
        f"follower={table.follower_actions[b]!r}"
    )
