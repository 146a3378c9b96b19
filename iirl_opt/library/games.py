"""The game of a model file, from whichever source its ``[game]`` table names."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.errors import FileProblem, InvalidArgument, InvalidGame, InvalidValue, UnknownLabel
from iirl_opt.exact.numbers import as_reals
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.formats.kinds import read_file
from iirl_opt.game.entries import RowBlocks
from iirl_opt.game.generate import random_game
from iirl_opt.game.grid import GridGame, grid_game
from iirl_opt.game.horizon import FiniteHorizon
from iirl_opt.game.labels import Labels
from iirl_opt.game.mazes import introductory_game, maze_maker
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.library.entries import as_float, find_label
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

__all__ = ["LABELS", "GameOfFile", "Reading", "environment_of", "read_game", "read_imported"]

Array = NDArray[np.float64]

LABELS = {
    "states": "state",
    "leader_actions": "leader action",
    "follower_actions": "follower action",
}

# Of a game that a line of a file makes: what is drawn or laid out before anything is known of it.
MOST_TRANSITIONS = 2**27


@dataclass(frozen=True)
class Reading:
    """What is asked of a file of another kind, in place of what it says itself.

    Attributes
    ----------
    discount : in place of its own.
    constants : the values of its constants, by name, as it would write them.
    reward : which of its rewards, by name; its only one if that is None.
    normalise : whether rows that are off one by rounding are divided by their sum.
    leader : action labels and players that are the leader's.
    absorbing : whether states without a choice stay where they are.
    """

    discount: Any = None
    constants: Mapping[str, str] = field(default_factory=dict)
    reward: str | None = None
    normalise: bool = False
    leader: tuple[str, ...] = ()
    absorbing: bool = False

    @property
    def as_stated(self) -> bool:
        """Whether nothing is asked."""
        return self == Reading()


@dataclass(frozen=True, eq=False)
class GameOfFile:
    """A game with what came along with it."""

    game: TwoAgentMDP
    reward: Array | None = None
    grid: GridGame | None = None
    imported: ImportedGame | None = None
    environment: Environment | None = None
    horizon: FiniteHorizon | None = None


def read_imported(path: Path, asked: Reading) -> GameOfFile:
    """Return the game of a file of another kind, with the reward that is asked for.

    Where the file has several and none is asked for, there is none: not every question needs one.
    """
    try:
        found = read_file(
            path,
            discount=asked.discount,
            constants=asked.constants,
            normalise=asked.normalise,
            leader=asked.leader or None,
            absorbing=asked.absorbing,
        )
    except InvalidArgument as problem:
        raise FileProblem(path, str(problem)) from problem
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
        "floats": ("transitions", "kernel"),
    }
    for key, sources in own.items():
        if getattr(table, key) not in (None, False) and source not in sources:
            raise FileProblem(path, f"has no meaning beside {source}", key=f"game.{key}")
    constants = {name: _as_text(value) for name, value in table.constants.items()}
    asked = Reading(
        gamma,
        constants | dict(asked.constants),
        asked.reward or table.reward,
        asked.normalise or table.normalise,
        asked.leader or tuple(table.leader),
        asked.absorbing or table.absorbing,
    )
    for key in ("constants", "reward", "normalise", "leader", "absorbing"):
        given = getattr(asked, key)
        if given and source != "file":
            raise FileProblem(path, f"has no meaning beside {source}", key=f"game.{key}")
    if gamma is None and source in ("transitions", "kernel", "grid", "environment"):
        raise FileProblem(path, "is missing", key="game.discount")
    try:
        return _from_source(path, table, asked)
    except (InvalidValue, UnknownLabel) as problem:
        at = getattr(problem, "place", None) == "discount"
        key = "discount" if at else source
        raise FileProblem(path, str(problem), key=f"game.{key}") from problem


def _as_text(value: bool | int | float | str) -> str:
    """Return the value of a constant as files write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _from_source(path: Path, table: GameTable, asked: Reading) -> GameOfFile:
    gamma = asked.discount
    given = {} if gamma is None else {"discount": gamma}
    if table.file is not None:
        if "\0" in table.file:
            raise FileProblem(path, f"{table.file!r} is no path", key="game.file")
        inside = Path(os.path.realpath(path.parent / table.file))
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
        # Six pairs of doors and four moves, which lead to five cells at most.
        _refuse_to_fill_the_memory(path, m.size**2 * 2 ** len(m.prizes or "123") * 120)
        prizes = {} if m.prizes is None else {"prizes": {int(k): v for k, v in m.prizes.items()}}
        maze = maze_maker(m.size, m.start, slip=m.slip, **prizes, **given)
        return GameOfFile(maze.game, maze.reward, maze)
    if isinstance(table.generator, RandomGameTable):
        r = table.generator
        choices = r.states * r.leader_actions * r.follower_actions
        _refuse_to_fill_the_memory(path, choices * (r.successors or r.states))
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
    if table.kernel is not None:
        kernel = _exact_kernel(path, table.kernel)
        names = {key: labels_of(getattr(table, key), kind) for key, kind in LABELS.items()}
        return GameOfFile(_written_out(path, table, kernel, gamma, names))
    return GameOfFile(_from_transitions(path, table, gamma))


def _refuse_to_fill_the_memory(path: Path, transitions: int) -> None:
    """Refuse a generator that makes more transitions than a game may have."""
    if transitions > MOST_TRANSITIONS:
        what = f"makes up to {transitions} transitions; allowed {MOST_TRANSITIONS}"
        raise FileProblem(path, what, key="game.generator")


def _environment_game(
    path: Path, table: GameTable, test: EnvironmentTable, gamma: Any
) -> GameOfFile:
    """Return the environment of a hypothesis as a game, with the names of the states."""
    states = labels_of(list(test.reward) if table.states is None else table.states, "state")
    assert states is not None
    for name in test.reward:
        find_label(path, states, name, f"game.environment.reward.{name}")
    environment = environment_of(states, test, gamma)
    return GameOfFile(environment.game, environment=environment)


def environment_of(states: Labels, test: EnvironmentTable, gamma: Any) -> Environment:
    """Return the environment of a table, whose actions are ``b1`` and ``b2``."""
    reward = np.array([test.reward.get(str(s), Fraction(0)) for s in states], dtype=object)
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
    return replace(environment, mdp=named)


def _exact_kernel(path: Path, kernel: Any) -> NDArray[Any]:
    """Return a kernel written as nested lists as an array of Fractions."""
    try:
        return np.array(kernel, dtype=object)
    except ValueError as problem:
        raise FileProblem(path, str(problem), key="game.kernel") from None


def _written_out(
    path: Path, table: GameTable, kernel: Any, gamma: Any, names: dict[str, Labels | None]
) -> TwoAgentMDP:
    """Return the game of a kernel (S, A, B, S) of Fractions, or of the floats nearest to them."""
    start: Any = table.start if table.start != "uniform" else None
    if start is not None:
        states = names["states"] or Labels(range(len(kernel)), "state")
        weights = np.zeros(len(states), dtype=object)
        for name, weight in start.items():
            key = f"game.start.{name}"
            exact = as_float(path, weight, key) if table.floats else weight
            weights[find_label(path, states, name, key)] = exact
        start = weights
    if table.floats:
        try:
            kernel = as_reals(kernel)
        except TypeError:
            raise FileProblem(path, "is ragged; allowed (S, A, B, S)", key="game.kernel") from None
    given: Any = names
    return TwoAgentMDP(kernel, gamma, start, **given)


def labels_of(written: list[Any] | None, kind: str) -> Labels | None:
    """Return labels as a file writes them: a list stands for a tuple.

    Raises
    ------
    InvalidGame
        Two of them have the same text, which stands for a label everywhere else.
    """
    if written is None:
        return None
    labels = Labels(map(_label, written), kind)
    texts = [str(label) for label in labels]
    if len(set(texts)) < len(texts):
        double = next(text for i, text in enumerate(texts) if text in texts[:i])
        allowed = "labels of different texts"
        raise InvalidGame(f"{kind} labels", f"are {double!r} as text twice", allowed, double)
    return labels


def _label(written: Any) -> Any:
    if isinstance(written, list):
        return tuple(map(_label, written))
    if not isinstance(written, float | Decimal):
        return written
    number = float(written)
    if not math.isfinite(number):
        raise InvalidGame("label", f"is {written}", "a finite number, or a text", written)
    return number


def _from_transitions(path: Path, table: GameTable, gamma: Any) -> TwoAgentMDP:
    """Return the game written as a list of transitions."""
    names: dict[str, Labels | None] = {}
    for key, kind in LABELS.items():
        names[key] = labels_of(getattr(table, key), kind)
        if names[key] is None:
            raise FileProblem(path, "is missing", key=f"game.{key}")
    states, leaders, followers = groups = [known for known in names.values() if known is not None]
    position = [{str(label): i for i, label in enumerate(group)} for group in groups]
    kernel = np.zeros((len(states), len(leaders), len(followers), len(states)), dtype=object)
    owner = np.full(kernel.shape[:3], -1)

    def lookup(group: int, name: str, key: str) -> int:
        if name not in position[group]:
            problem = UnknownLabel(groups[group].kind, name, list(position[group]))
            raise FileProblem(path, str(problem), key=key)
        return position[group][name]

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
        if sum(target, Fraction(0)) != 1 and not table.floats:
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
    return _written_out(path, table, kernel, gamma, names)


def _choice_in_words(table: GameTable, s: int, a: int, b: int) -> str:
    assert table.states is not None
    assert table.leader_actions is not None
    assert table.follower_actions is not None
    return (
        f"from={table.states[s]!r}, leader={table.leader_actions[a]!r}, "
        f"follower={table.follower_actions[b]!r}"
    )
