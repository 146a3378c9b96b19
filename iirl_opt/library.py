"""The model library: finds model files, makes games of them, answers their questions.

A model file states one whole problem (see `models/README.md`). A name without a path means a file
that ships with the package. A ``.dpomdp`` file is taken as a learning problem whose reward is
hidden from the leader.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import iirl_opt
from iirl_opt.errors import FileProblem, IIRLError, InvalidValue, UnknownLabel
from iirl_opt.follower import (
    BoltzmannFollower,
    EpsilonGreedyFollower,
    Follower,
    OptimalFollower,
)
from iirl_opt.formats import dpomdp, model
from iirl_opt.game.generate import random_game
from iirl_opt.game.grid import GridGame, grid_game, introductory_game, maze_maker
from iirl_opt.game.kernel import as_fraction
from iirl_opt.game.labels import Labels
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import from_labels
from iirl_opt.learn.interactive import Episode, InteractiveIRL, interact
from iirl_opt.programs.commitment import Commitment

__all__ = ["Finding", "Model", "check", "find_model", "learn", "learning_quantities", "read_model"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Model:
    """A problem read from a file.

    Attributes
    ----------
    path : the file.
    title, source : what it is and where it comes from.
    game : the game.
    truth : the true reward, (S,) or (S, A, B), or None where the file states none.
    grid : the maze with its picture, where the game is one.
    follower : the response model.
    question : what is asked.
    first : the first commitment (S, A) of a learning problem, where the file states one.
    expect : the expected quantities.
    decpomdp : the ``.dpomdp`` file behind the game, whose convention its values are reported in.
    """

    path: Path
    title: str
    source: str
    game: TwoAgentMDP
    truth: Array | None
    grid: GridGame | None
    follower: Follower
    question: model.Learning
    first: Array | None = None
    expect: tuple[model.Expect, ...] = ()
    decpomdp: dpomdp.DecPOMDP | None = None

    def reported(self, values: Array) -> float:
        """Return the expected value from the start, in the convention of the file."""
        own = values if self.decpomdp is None else self.decpomdp.file_values(values)
        return float(self.game.start @ own)


@dataclass(frozen=True)
class Finding:
    """An expectation held against what was found."""

    quantity: str
    expected: str
    found: float | None
    met: bool
    source: str


def shipped_models() -> Path:
    """Return the folder of the shipped model files: the checkout's own, or the installed copy."""
    package = Path(iirl_opt.__file__).parent
    checkout = package.parent / "models"
    return checkout if (checkout / "README.md").is_file() else package / "models"


def find_model(name: str | Path) -> Path:
    """Return the path of a model file: a path as it is, a bare name from the shipped ones.

    Raises
    ------
    FileProblem
        There is no such file.
    """
    path = Path(name)
    if path.is_file():
        return path
    if path.name == str(name) and not path.suffix:
        folder = shipped_models()
        matches = sorted(folder.glob(f"**/{path.name}.toml"))
        if matches:
            return matches[0]
        known = ", ".join(sorted(file.stem for file in folder.glob("**/*.toml")))
        raise FileProblem(path, f"is neither a file nor a shipped model (shipped: {known})")
    raise FileProblem(path, "is a folder" if path.is_dir() else "no such file")


def read_model(name: str | Path, *, discount: Any = None) -> Model:
    """Read a model file, a ``.dpomdp`` file, or a shipped model by its name.

    Parameters
    ----------
    discount : in place of the file's own.

    Raises
    ------
    FileProblem
        Names the file and the key or line.
    """
    path = find_model(name)
    if path.suffix == ".dpomdp":
        file = dpomdp.read(path, discount)
        return Model(
            path=path,
            title=path.stem,
            source="the file's own reward, hidden from the leader",
            game=file.game,
            truth=file.reward,
            grid=None,
            follower=OptimalFollower(),
            question=model.Learning(),
            decpomdp=file,
        )
    document = model.read_document(path)
    made = _game(path, document.game, discount)
    reward = made.reward
    if document.reward is not None:
        reward = _reward(path, document.reward, made.game)
    return Model(
        path=path,
        title=document.title,
        source=document.source,
        game=made.game,
        truth=reward,
        grid=made.grid,
        follower=_follower(document.follower),
        question=document.question,
        first=_policy(path, made.game, document.question.first),
        expect=tuple(document.expect),
        decpomdp=made.decpomdp if document.reward is None else None,
    )


def learn(
    problem: Model, *, episodes: int | None = None, seed: int | None = None
) -> Iterator[Episode]:
    """Play Algorithm 1 against the file's follower, an episode at a time.

    Parameters
    ----------
    episodes, seed : in place of the file's own.

    Raises
    ------
    FileProblem
        The file has no reward, so nobody could answer.
    """
    if problem.truth is None:
        raise FileProblem(problem.path, "is missing: a follower needs a reward", key="reward")
    question = problem.question
    joint = question.rewards == "joint" or (question.rewards is None and problem.truth.ndim == 3)
    learner = InteractiveIRL(
        problem.game,
        seed=question.seed if seed is None else seed,
        first=problem.first,
        joint=joint,
    )
    total = question.episodes if episodes is None else episodes
    return interact(learner, problem.truth, total, follower=problem.follower)


def learning_quantities(
    problem: Model, best: Commitment, episodes: Sequence[Episode]
) -> dict[str, float]:
    """Return what a run found, by the names that ``[[expect]]`` tables use."""
    influence = problem.game.influence()
    top = problem.reported(best.values)
    regrets = [top - problem.reported(episode.values) for episode in episodes]
    quantities = {
        "states": float(problem.game.n_states),
        "leader_influence": influence[0],
        "follower_influence": influence[1],
        "optimal_value": top,
        "episodes": float(len(episodes)),
    }
    if episodes:
        known = episodes[-1].learner.known
        quantities |= {
            "first_regret": regrets[0],
            "final_regret": regrets[-1],
            "least_regret": min(regrets),
            "total_regret": sum(regrets),
            "rows": float(known.n_rows),
            "truth_feasible": float(known.contains(problem.truth)),  # type: ignore[arg-type]
        }
    return quantities


def check(
    expect: Sequence[model.Expect], quantities: Mapping[str, float], path: Path
) -> tuple[Finding, ...]:
    """Hold the expectations of a file against what was found.

    Raises
    ------
    FileProblem
        A quantity that this family of questions does not have.
    """
    findings = []
    for i, expected in enumerate(expect):
        if expected.quantity not in quantities:
            known = ", ".join(quantities)
            raise FileProblem(
                path,
                f"{expected.quantity!r} is no quantity of this question (known: {known})",
                key=f"expect[{i}].quantity",
            )
        found = quantities[expected.quantity]
        met = np.isfinite(found)
        words = []
        if expected.value is not None:
            met = met and abs(found - expected.value) <= expected.tolerance
            words.append(f"{expected.value!r} ± {expected.tolerance:g}")
        if expected.at_most is not None:
            met = met and found <= expected.at_most
            words.append(f"≤ {expected.at_most!r}")
        if expected.at_least is not None:
            met = met and found >= expected.at_least
            words.append(f"≥ {expected.at_least!r}")
        findings.append(
            Finding(expected.quantity, ", ".join(words), found, bool(met), expected.source)
        )
    return tuple(findings)


@dataclass(frozen=True, eq=False)
class _Made:
    """A game with what came along with it."""

    game: TwoAgentMDP
    reward: Array | None = None
    grid: GridGame | None = None
    decpomdp: dpomdp.DecPOMDP | None = None


def _game(path: Path, table: model.Game, discount: Any) -> _Made:
    """Return the game of a model file from whichever source it names."""
    gamma = table.discount if discount is None else discount
    source = next(name for name in model.SOURCES if getattr(table, name) is not None)
    own = {
        "states": ("transitions", "kernel"),
        "leader_actions": ("transitions", "kernel"),
        "follower_actions": ("transitions", "kernel"),
        "start": ("transitions", "kernel"),
    }
    for key, sources in own.items():
        if getattr(table, key) is not None and source not in sources:
            raise FileProblem(path, f"has no meaning beside {source}", key=f"game.{key}")
    if gamma is None and source in ("transitions", "kernel", "grid"):
        raise FileProblem(path, "is missing", key="game.discount")
    try:
        return _sources(path, table, source, gamma)
    except (InvalidValue, UnknownLabel) as problem:
        raise FileProblem(path, str(problem), key=f"game.{source}") from problem


def _sources(path: Path, table: model.Game, source: str, gamma: Any) -> _Made:
    given = {} if gamma is None else {"discount": gamma}
    if table.file is not None:
        inside = (path.parent / table.file).resolve()
        if not inside.is_relative_to(path.parent.resolve()):
            raise FileProblem(path, f"{table.file!r} leaves the model's folder", key="game.file")
        if inside.suffix != ".dpomdp" or not inside.is_file():
            raise FileProblem(path, f"{table.file!r} is no .dpomdp file here", key="game.file")
        file = dpomdp.read(inside, gamma)
        return _Made(file.game, file.reward, decpomdp=file)
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
        return _Made(grid.game, grid.reward, grid)
    if isinstance(table.generator, model.MazeMaker):
        m = table.generator
        prizes = {} if m.prizes is None else {"prizes": {int(k): v for k, v in m.prizes.items()}}
        maze = maze_maker(m.size, m.start, slip=m.slip, **prizes, **given)
        return _Made(maze.game, maze.reward, maze)
    if isinstance(table.generator, model.RandomGame):
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
        return _Made(game, reward)
    if isinstance(table.generator, model.IntroductoryGame):
        if gamma is not None:
            raise FileProblem(path, "is fixed at 0.9 for this generator", key="game.discount")
        intro = introductory_game()
        return _Made(intro.game, intro.reward, intro)
    start = table.start if table.start != "uniform" else None
    if table.kernel is not None:
        return _Made(
            TwoAgentMDP(
                _exact_kernel(path, table.kernel),
                gamma,
                start,
                states=table.states,
                leader_actions=table.leader_actions,
                follower_actions=table.follower_actions,
            )
        )
    return _Made(_from_transitions(path, table, gamma, start))


def _exact_kernel(path: Path, kernel: Any) -> NDArray[Any]:
    """Return a kernel written as numbers or strings such as ``"1/3"`` as Fractions."""

    def exact(entry: Any) -> Any:
        return [exact(x) for x in entry] if isinstance(entry, list) else as_fraction(entry)

    try:
        array = np.array(exact(kernel), dtype=object)
    except ValueError as problem:
        raise FileProblem(path, str(problem), key="game.kernel") from None
    return array


def _from_transitions(path: Path, table: model.Game, gamma: Any, start: Any) -> TwoAgentMDP:
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
            target[lookup(0, name, f"{key}.to")] = _number(path, weight, f"{key}.to.{name}")
        if sum(target, Fraction(0)) != 1:
            total = float(sum(target, Fraction(0)))
            raise FileProblem(path, f"sums to {total:g}; allowed 1 exactly", key=f"{key}.to")
        for at in product([s], a, b):
            if owner[at] >= 0:
                raise FileProblem(
                    path,
                    f"{_choice(table, *at)} was already given by transitions[{owner[at]}]",
                    key=key,
                )
            owner[at] = i
            kernel[at] = target
    if (owner < 0).any():
        s, a, b = np.argwhere(owner < 0)[0].tolist()
        raise FileProblem(path, f"no row for {_choice(table, s, a, b)}", key="game.transitions")
    return TwoAgentMDP(
        kernel,
        gamma,
        start,
        states=states,
        leader_actions=leaders,
        follower_actions=followers,
    )


def _number(path: Path, number: Any, key: str) -> Fraction:
    try:
        return as_fraction(number)
    except (ValueError, OverflowError, ZeroDivisionError):
        raise FileProblem(path, f"{number!r} is no number", key=key) from None


def _choice(table: model.Game, s: int, a: int, b: int) -> str:
    assert table.states is not None
    assert table.leader_actions is not None
    assert table.follower_actions is not None
    return (
        f"from={table.states[s]!r}, leader={table.leader_actions[a]!r}, "
        f"follower={table.follower_actions[b]!r}"
    )


def _labels(names: Sequence[Any]) -> dict[str, int]:
    """Return positions by the text of each label, which is how a TOML key writes it."""
    return {str(name): i for i, name in enumerate(names)}


def _reward(path: Path, table: model.Reward, game: TwoAgentMDP) -> Array:
    """Return the reward of a model file, (S,) or (S, A, B)."""
    groups = [_labels(names) for names in (game.states, *game.action_labels)]

    def lookup(group: int, name: str, key: str) -> int:
        if name not in groups[group]:
            kind = (game.states, *game.action_labels)[group].kind
            raise FileProblem(path, str(UnknownLabel(kind, name, list(groups[group]))), key=key)
        return groups[group][name]

    by_state = np.full(game.n_states, table.default)
    for name, value in table.values.items():
        by_state[lookup(0, name, f"reward.values.{name}")] = value
    if not table.choices:
        return by_state
    joint = np.broadcast_to(by_state[:, None, None], game.shape).copy()
    for i, entry in enumerate(table.choices):
        at = [
            slice(None) if name == "*" else lookup(group, name, f"reward.choices[{i}].{key}")
            for group, (key, name) in enumerate(
                [("state", entry.state), ("leader", entry.leader), ("follower", entry.follower)]
            )
        ]
        joint[tuple(at)] = entry.value
    return joint


def _follower(table: Any) -> Follower:
    if isinstance(table, model.EpsilonGreedy):
        return EpsilonGreedyFollower(table.epsilon)
    if isinstance(table, model.Boltzmann):
        return BoltzmannFollower(table.beta)
    return OptimalFollower() if table is None else OptimalFollower(table.ties)


def _policy(path: Path, game: TwoAgentMDP, choices: Mapping[str, Any] | None) -> Array | None:
    """Return the leader policy of ``question.first``, whose keys are label texts."""
    if choices is None:
        return None
    states, actions = (
        [str(name) for name in names] for names in (game.states, game.leader_actions)
    )
    exact = {
        state: {a: float(_number(path, p, "question.first")) for a, p in entry.items()}
        if isinstance(entry, dict)
        else entry
        for state, entry in choices.items()
    }
    try:
        return from_labels(exact, states, actions, name="first")
    except IIRLError as error:
        raise FileProblem(path, str(error), key="question.first") from None
