"""Problems: what the tables of a model file mean.

Builds games, rewards, followers, observations and rows of a checked `Document`; every error names
file and key. Labels are matched by their text, which is how a TOML key writes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.errors import FileProblem, IIRLError, InvalidValue, UnknownLabel
from iirl_opt.follower import (
    BoltzmannFollower,
    EpsilonGreedyFollower,
    Follower,
    OptimalFollower,
    ProportionalFollower,
)
from iirl_opt.formats.dpomdp.problem import DecPOMDP, read_dpomdp
from iirl_opt.game.generate import random_game
from iirl_opt.game.grid import GridGame, grid_game, introductory_game, maze_maker
from iirl_opt.game.labels import Labels
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.game.policy import from_labels
from iirl_opt.library import schema as model
from iirl_opt.observation import Observation, Trajectory, observe, record_trajectory
from iirl_opt.verification.environment import Environment
from iirl_opt.verification.ideal import ideal_environment
from iirl_opt.verification.strict import strict_environment

__all__ = ["Problem", "Row", "read_concentration", "read_problem"]

Array = NDArray[np.float64]

FUNCTIONS: dict[str, Any] = {
    "exp": np.exp,
    "1 + x": lambda x: 1 + x,
    "identity": lambda x: x,
    "sqrt": np.sqrt,
}


@dataclass(frozen=True, eq=False)
class Row:
    """A linear row of the user's own: ``low ≤ Σ coefficients · x ≤ high``.

    Attributes
    ----------
    name : under which its price is reported.
    target : ``"reward"`` or ``"measure"``.
    coefficients : shape (S,), or (S, A, B) on choices.
    low, high : bounds, infinite where there is none.
    whose : who respects a row on the measure, ``"leader"`` or ``"both"``.
    """

    name: str
    target: str
    coefficients: Array
    low: float
    high: float
    whose: str = "both"


@dataclass(frozen=True, eq=False)
class Problem:
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
    policy : the leader policy (S, A) that the question speaks of (the first commitment of a
        learner, the commitment to evaluate), or None.
    observations : what was seen.
    rows : the user's own rows.
    expect : the expected quantities.
    decpomdp : the ``.dpomdp`` file behind the game, whose convention its values are reported in.
    environment : the test that the game is, of a verification problem.
    follower_reward : what the follower maximises where it is not the true reward, or None.
    allowed : mask (S, A) of the actions that a commitment may play, or None.
    trajectories : episodes that were seen step by step.
    partner : the follower as the file has it, for what a leader knows of it; None if optimal.
    prior : what the file says is believed before the first episode, or None.
    """

    path: Path
    title: str
    source: str
    game: TwoAgentMDP
    truth: Array | None
    grid: GridGame | None
    follower: Follower
    question: model.Question
    policy: Array | None = None
    observations: tuple[Observation, ...] = ()
    rows: tuple[Row, ...] = ()
    expect: tuple[model.Expect, ...] = ()
    decpomdp: DecPOMDP | None = None
    environment: Environment | None = None
    follower_reward: Array | None = None
    allowed: NDArray[np.bool_] | None = None
    trajectories: tuple[Trajectory, ...] = ()
    partner: model.Partner | None = None
    prior: model.Prior | None = None

    def reported(self, values: Array) -> Array:
        """Return values (S,) in the convention of the file behind the game."""
        return values if self.decpomdp is None else self.decpomdp.file_values(values)

    def need_truth(self) -> Array:
        """Return the true reward, or say that the file lacks it."""
        if self.truth is None:
            raise FileProblem(self.path, "is missing: this question needs it", key="reward")
        return self.truth

    def vector(self, entries: Mapping[str, model.Number], key: str) -> Array:
        """Return ``{state: number}`` as an array (S,) of floats, zero elsewhere."""
        return _by_state(self.path, self.game, entries, key, Fraction(0))

    def exact_vector(self, entries: Mapping[str, model.Number], key: str) -> NDArray[Any]:
        """Return ``{state: number}`` as an array (S,) of the numbers as written, zero elsewhere."""
        array = np.full(self.game.n_states, Fraction(0), dtype=object)
        for name, value in entries.items():
            array[_lookup(self.path, self.game.states, name, f"{key}.{name}")] = value
        return array


def read_problem(path: Path, *, discount: Any = None, game_seed: int | None = None) -> Problem:
    """Read a model file or a ``.dpomdp`` file.

    Parameters
    ----------
    discount, game_seed : in place of the file's own discount, and of the seed of its random game.

    Raises
    ------
    FileProblem
        Names the file and the key or line.
    """
    if path.suffix == ".dpomdp":
        file = read_dpomdp(path, discount)
        return Problem(
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
    if game_seed is not None and isinstance(document.game.generator, model.RandomGame):
        document.game.generator.seed = game_seed
    made = _game(path, document.game, discount)
    game, truth = made.game, made.reward
    if document.reward is not None:
        truth = _reward(path, document.reward, game, "reward")
    theirs = document.follower_reward
    if theirs is not None and not isinstance(document.question, model.CommitmentQuestion):
        raise FileProblem(path, "has a meaning for commitment alone", key="follower_reward")
    question = document.question
    _only_bayesian(path, document)
    follower = _follower(path, document.follower)
    stated = {name: getattr(question, name, None) for name in ("first", "leader")}
    policies = [
        _policy(path, game, choices, f"question.{name}")
        for name, choices in stated.items()
        if choices is not None
    ]
    return Problem(
        path=path,
        title=document.title,
        source=document.source,
        game=game,
        truth=truth,
        grid=made.grid,
        follower=follower,
        question=question,
        policy=policies[0] if policies else None,
        observations=tuple(
            _observation(path, game, table, f"observation[{i}]", follower, truth)
            for i, table in enumerate(document.observation)
        ),
        rows=tuple(
            _row(path, game, table, f"constraint[{i}]")
            for i, table in enumerate(document.constraint)
        ),
        expect=tuple(document.expect),
        decpomdp=made.decpomdp if document.reward is None else None,
        environment=made.environment,
        follower_reward=None if theirs is None else _reward(path, theirs, game, "follower_reward"),
        allowed=_allowed(path, game, getattr(question, "forbidden", {})),
        trajectories=tuple(
            _trajectory(path, game, table, f"trajectory[{i}]")
            for i, table in enumerate(document.trajectory)
        ),
        partner=document.follower,
        prior=document.prior,
    )


def _only_bayesian(path: Path, document: model.Document) -> None:
    """Refuse what only the posterior has a use for, where something else is asked."""
    if isinstance(document.question, model.Bayesian):
        return
    for key in ("trajectory", "prior"):
        if getattr(document, key):
            raise FileProblem(path, "has a meaning for the family bayesian alone", key=key)
    unknown = _unknown(document.follower)
    if unknown is not None:
        problem = "is 'unknown'; allowed a number, but in the family bayesian"
        raise FileProblem(path, problem, key=f"follower.{unknown}")


def _unknown(table: model.Partner | None) -> str | None:
    """Return the name of the follower's number where the file calls it unknown."""
    named = ("beta", "epsilon")
    return next((name for name in named if getattr(table, name, None) == "unknown"), None)


@dataclass(frozen=True)
class _Nobody:
    """In place of a follower whose parameter is unknown: nobody can answer for it."""

    path: Path
    parameter: str

    def respond(self, *_: Any, **__: Any) -> NDArray[Any]:
        """Say that the file does not make it known."""
        problem = "is 'unknown', so its answers must be given; allowed a number"
        raise FileProblem(self.path, problem, key=f"follower.{self.parameter}")


@dataclass(frozen=True, eq=False)
class _Made:
    """A game with what came along with it."""

    game: TwoAgentMDP
    reward: Array | None = None
    grid: GridGame | None = None
    decpomdp: DecPOMDP | None = None
    environment: Environment | None = None


def _game(path: Path, table: model.Game, discount: Any) -> _Made:
    """Return the game of a model file from whichever source it names."""
    gamma = table.discount if discount is None else discount
    source = next(name for name in model.SOURCES if getattr(table, name) is not None)
    own = {
        "states": ("transitions", "kernel", "environment"),
        "leader_actions": ("transitions", "kernel"),
        "follower_actions": ("transitions", "kernel"),
        "start": ("transitions", "kernel"),
    }
    for key, sources in own.items():
        if getattr(table, key) is not None and source not in sources:
            raise FileProblem(path, f"has no meaning beside {source}", key=f"game.{key}")
    if gamma is None and source in ("transitions", "kernel", "grid", "environment"):
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
        file = read_dpomdp(inside, gamma)
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
    if table.environment is not None:
        return _environment(path, table, table.environment, gamma)
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


def _environment(path: Path, table: model.Game, test: model.Environment, gamma: Any) -> _Made:
    """Return the environment of a hypothesis as a game, with the names of the states."""
    names = list(test.reward) if table.states is None else table.states
    states = Labels(names, "state")
    entries = [Fraction(0)] * len(states)
    for name, value in test.reward.items():
        key = f"game.environment.reward.{name}"
        entries[_lookup(path, states, name, key)] = value
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
        mdp.rational.rows.weights() if mdp.is_rational else mdp.matrix,
        mdp.rational.discount,
        states=states,
        actions=("b1", "b2"),
    )
    environment = replace(environment, mdp=named)
    return _Made(environment.game, environment=environment)


def _exact_kernel(path: Path, kernel: Any) -> NDArray[Any]:
    """Return a kernel written as nested lists as an array of Fractions."""
    try:
        return np.array(kernel, dtype=object)
    except ValueError as problem:
        raise FileProblem(path, str(problem), key="game.kernel") from None


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
            target[lookup(0, name, f"{key}.to")] = weight
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


def _choice(table: model.Game, s: int, a: int, b: int) -> str:
    assert table.states is not None
    assert table.leader_actions is not None
    assert table.follower_actions is not None
    return (
        f"from={table.states[s]!r}, leader={table.leader_actions[a]!r}, "
        f"follower={table.follower_actions[b]!r}"
    )


def _lookup(path: Path, names: Labels, name: str, key: str) -> int:
    """Return the position of a label by its text."""
    texts = {str(label): i for i, label in enumerate(names)}
    if name not in texts:
        raise FileProblem(path, str(UnknownLabel(names.kind, name, list(texts))), key=key)
    return texts[name]


def _by_state(
    path: Path,
    game: TwoAgentMDP,
    entries: Mapping[str, model.Number],
    key: str,
    default: model.Number,
) -> Array:
    array = np.full(game.n_states, _float(path, default, f"{key}.default"))
    for name, value in entries.items():
        at = _lookup(path, game.states, name, f"{key}.{name}")
        array[at] = _float(path, value, f"{key}.{name}")
    return array


def _float(path: Path, number: model.Number, key: str) -> float:
    """Return the float nearest to a number of a file."""
    try:
        return float(number)
    except OverflowError:
        raise FileProblem(path, "is beyond all floats", key=key) from None


def read_concentration(problem: Problem, given: model.Concentration) -> Array:
    """Return the concentrations (S,) of a Dirichlet prior: one for all, or by state and else 1."""
    entries = problem.path, problem.game, given.by_state, "prior.reward", given.default
    return _by_state(*entries)


def _by_choice(
    path: Path, game: TwoAgentMDP, base: Array, choices: Sequence[model.JointReward], key: str
) -> Array:
    """Return a state vector, or the (S, A, B) array that the entries make of it."""
    if not choices:
        return base
    joint = np.broadcast_to(base[:, None, None], game.shape).copy()
    for i, entry in enumerate(choices):
        names = {"state": entry.state, "leader": entry.leader, "follower": entry.follower}
        groups = (game.states, *game.action_labels)
        at = tuple(
            slice(None) if name == "*" else _lookup(path, group, name, f"{key}.choices[{i}].{axis}")
            for group, (axis, name) in zip(groups, names.items(), strict=True)
        )
        joint[at] = _float(path, entry.value, f"{key}.choices[{i}].value")
    return joint


def _reward(path: Path, table: model.Reward, game: TwoAgentMDP, key: str) -> Array:
    """Return a reward of a model file, (S,) or (S, A, B)."""
    base = _by_state(path, game, table.values, f"{key}.values", table.default)
    return _by_choice(path, game, base, table.choices, key)


def _allowed(
    path: Path, game: TwoAgentMDP, forbidden: Mapping[str, Sequence[str]]
) -> NDArray[np.bool_] | None:
    """Return the mask (S, A) of the leader's actions that are not forbidden, or None."""
    if not forbidden:
        return None
    mask = np.ones(game.shape[:2], dtype=bool)
    for state, actions in forbidden.items():
        key = f"question.forbidden.{state}"
        rows = slice(None) if state == "*" else _lookup(path, game.states, state, key)
        for action in actions:
            mask[rows, _lookup(path, game.leader_actions, action, key)] = False
    return mask


def _row(path: Path, game: TwoAgentMDP, table: model.Constraint, key: str) -> Row:
    base = _by_state(path, game, table.terms, f"{key}.terms", Fraction(0))
    low = -np.inf if table.at_least is None else table.at_least
    high = np.inf if table.at_most is None else table.at_most
    if table.equals is not None:
        low = high = table.equals
    coefficients = _by_choice(path, game, base, table.choices, key)
    return Row(table.name, table.target, coefficients, low, high, table.whose)


def _follower(path: Path, table: Any) -> Follower:
    unknown = _unknown(table)
    if unknown is not None:
        return _Nobody(path, unknown)
    try:
        if isinstance(table, model.EpsilonGreedy):
            return EpsilonGreedyFollower(float(table.epsilon), table.ties)
        if isinstance(table, model.Boltzmann):
            return BoltzmannFollower(float(table.beta))
    except InvalidValue as error:
        raise FileProblem(path, str(error), key="follower") from error
    if isinstance(table, model.Proportional):
        return ProportionalFollower(FUNCTIONS[table.function])
    return OptimalFollower() if table is None else OptimalFollower(table.ties)


def _policy(
    path: Path, game: TwoAgentMDP, choices: model.Policy, key: str, *, follower: bool = False
) -> Array:
    """Return the policy written as ``{state: action}`` or ``{state: {action: probability}}``."""
    labels = game.follower_actions if follower else game.leader_actions
    states, actions = ([str(name) for name in names] for names in (game.states, labels))
    exact = {
        state: {a: _float(path, p, key) for a, p in entry.items()}
        if isinstance(entry, dict)
        else entry
        for state, entry in choices.items()
    }
    try:
        return from_labels(exact, states, actions, name="policy")
    except IIRLError as error:
        raise FileProblem(path, str(error), key=key) from None


def _trajectory(path: Path, game: TwoAgentMDP, table: model.Trajectory, key: str) -> Trajectory:
    """Return a trajectory; labels are matched by their text."""
    pi1 = _policy(path, game, table.leader, f"{key}.leader")
    groups = (game.states, *game.action_labels)
    steps = []
    for h, step in enumerate(table.steps):
        place = f"{key}.steps[{h}]"
        if len(step) != 3:
            problem = f"is {step}; allowed [state, leader action, follower action]"
            raise FileProblem(path, problem, key=place)
        at = [_lookup(path, group, name, place) for group, name in zip(groups, step, strict=True)]
        steps.append([group[i] for group, i in zip(groups, at, strict=True)])
    try:
        return record_trajectory(game, pi1, steps)
    except IIRLError as error:
        raise FileProblem(path, str(error), key=key) from None


def _observation(
    path: Path,
    game: TwoAgentMDP,
    table: model.Observation,
    key: str,
    follower: Follower,
    truth: Array | None,
) -> Observation:
    """Return an observation; a response that the file leaves out is the follower's own."""
    pi1 = _policy(path, game, table.leader, f"{key}.leader")
    response: NDArray[Any]
    if table.optimal is not None:
        response = np.zeros((game.n_states, game.n_follower_actions), dtype=bool)
        for state, actions in table.optimal.items():
            rows = slice(None)
            if state != "*":
                s = _lookup(path, game.states, state, f"{key}.optimal")
                rows = slice(s, s + 1)
                response[rows] = False
            for action in actions:
                b = _lookup(path, game.follower_actions, action, f"{key}.optimal.{state}")
                response[rows, b] = True
    elif table.follower is not None:
        response = _policy(path, game, table.follower, f"{key}.follower", follower=True)
    elif truth is not None:
        response = follower.respond(game, truth, pi1)
    else:
        raise FileProblem(path, "needs follower, optimal, or a [reward] to answer for", key=key)
    try:
        return observe(game, pi1, response)
    except IIRLError as error:
        raise FileProblem(path, str(error), key=key) from None
