"""Model files: one whole problem as TOML, written by people (`models/README.md` specifies them).

Here is the schema and its reader: text in, checked tables out, every error with file and key or
line. What the tables mean is in `iirl_opt.library`. Numbers of the problem are read as they are
written, ``0.1`` and ``"1/10"`` alike; those of algorithms (tolerances, limits) as floats.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from iirl_opt.errors import FileProblem
from iirl_opt.exact.numbers import DIGITS, UNREADABLE, as_fraction
from iirl_opt.files import read_text

__all__ = ["VERSION", "Document", "read_document"]

VERSION, MOST_BYTES = 1, 2**28

# What a file writes as an integer, a decimal or a text such as "1/3".
Number = Fraction
Weights = dict[str, Number]
Policy = dict[str, str | Weights]


class _Table(Struct, forbid_unknown_fields=True):
    """A TOML table in which every key means something."""


class Concentration:
    """One number for all states, or numbers by state."""

    def __init__(self, default: Number, by_state: dict[str, Number]) -> None:
        self.default, self.by_state = default, by_state


class Transition(_Table, rename={"origin": "from"}):
    """One row or several of the kernel; ``"*"`` stands for every action."""

    origin: str
    to: Weights
    leader: str = "*"
    follower: str = "*"


class Grid(_Table):
    """A maze drawn as text: see `iirl_opt.grid_game`."""

    rows: list[str]
    slip: Number = Fraction(0)
    doors: Literal["pairs", "open"] | list[str] = "pairs"
    prizes: dict[str, Number] = {}
    prize_rule: Literal["vanish", "stay", "absorb"] = "vanish"
    wall_states: bool = False


class RandomGame(_Table, tag_field="name", tag="random_game"):
    """A random game: see `iirl_opt.random_game`."""

    states: int
    leader_actions: int
    follower_actions: int
    seed: int
    concentration: float | None = None
    successors: int | None = None
    leader_influence: Number | None = None
    follower_influence: Number | None = None
    restart: bool = True


class MazeMaker(_Table, tag_field="name", tag="maze_maker"):
    """The paper's Maze-Maker: see `iirl_opt.maze_maker`."""

    size: int = 7
    start: int | None = None
    prizes: dict[str, Number] | None = None
    slip: Number = Fraction(1, 5)


class IntroductoryGame(_Table, tag_field="name", tag="introductory_game"):
    """The mazes of Figure 1 as one game: see `iirl_opt.game.introductory_game`."""


class Environment(_Table):
    """The test of a hypothesis: see `iirl_opt.ideal_environment`, `iirl_opt.strict_environment`."""

    kind: Literal["ideal", "strict"]
    reward: dict[str, Number]
    epsilon: Number | None = None
    planning_tolerance: float | None = None
    rational: bool = False


class Game(_Table):
    """The game, from exactly one of its sources: see `SOURCES`."""

    discount: Number | None = None
    states: list[str] | None = None
    leader_actions: list[str] | None = None
    follower_actions: list[str] | None = None
    start: Literal["uniform"] | Weights | None = None
    transitions: list[Transition] | None = None
    kernel: list[list[list[list[Number]]]] | None = None
    grid: Grid | None = None
    generator: RandomGame | MazeMaker | IntroductoryGame | None = None
    environment: Environment | None = None
    file: str | None = None


SOURCES = ("transitions", "kernel", "grid", "generator", "environment", "file")


class JointReward(_Table):
    """The reward of one choice, or of several: ``"*"`` stands for every state or action."""

    value: Number
    state: str = "*"
    leader: str = "*"
    follower: str = "*"


class Reward(_Table):
    """The true reward: by state, or by choice (later entries override earlier ones)."""

    values: dict[str, Number] = {}
    default: Number = Fraction(0)
    choices: list[JointReward] = []


class Optimal(_Table, tag_field="model", tag="optimal"):
    """A follower that answers optimally."""

    ties: Literal["first", "last", "random", "mix", "all"] = "first"


class EpsilonGreedy(_Table, tag_field="model", tag="epsilon-greedy"):
    """A follower that errs with probability epsilon."""

    epsilon: float | Literal["unknown"]
    ties: Literal["first", "last", "random", "mix"] = "first"


class Boltzmann(_Table, tag_field="model", tag="boltzmann"):
    """A Boltzmann-rational follower."""

    beta: float | Literal["unknown"]


class Proportional(_Table, tag_field="model", tag="proportional"):
    """A follower that plays in proportion to a function of the action values."""

    function: Literal["exp", "1 + x", "identity", "sqrt"]


Partner = Optimal | EpsilonGreedy | Boltzmann | Proportional


class Observation(_Table):
    """One episode: a commitment, and a response, all optimal actions, or the follower's answer."""

    leader: Policy
    follower: Policy | None = None
    optimal: dict[str, list[str]] | None = None


class Trajectory(_Table):
    """One episode: a commitment, and its steps ``[state, leader action, follower action]``."""

    leader: Policy
    steps: list[list[str]]


class Exponential(_Table, tag_field="name", tag="exponential"):
    """See `iirl_opt.bayesian.exponential_prior`."""

    mean: float = 500.0


class Gamma(_Table, tag_field="name", tag="gamma"):
    """See `iirl_opt.bayesian.GammaPrior`."""

    shape: float
    rate: float


class Uniform(_Table, tag_field="name", tag="uniform"):
    """See `iirl_opt.bayesian.UniformPrior`."""

    low: float = 0.0
    high: float = 1.0


class Prior(_Table):
    """What is believed before the first episode: Dirichlet of the reward, and of the parameter."""

    reward: Concentration = Concentration(Fraction(1), {})
    parameter: Exponential | Gamma | Uniform | None = None


class Walk(_Table, tag_field="name", tag="walk"):
    """The paper's moves: see `iirl_opt.bayesian.SimplexWalk`."""

    moves: int = 100
    grid: int = 1000


class Dirichlet(_Table, tag_field="name", tag="dirichlet"):
    """See `iirl_opt.bayesian.DirichletProposal`."""

    concentration: float = 1000.0
    offset: float = 1.0


class Hamiltonian(_Table, tag_field="name", tag="hamiltonian"):
    """See `iirl_opt.bayesian.Hamiltonian`."""

    leaps: int = 1
    step: float = 0.1
    acceptance: float = 0.6


class Constraint(_Table, rename={"target": "on"}):
    """A linear row of the user's own, on the reward or on the occupancy measure."""

    name: str
    target: Literal["reward", "measure"]
    whose: Literal["leader", "both"] = "both"
    terms: dict[str, Number] = {}
    choices: list[JointReward] = []
    at_least: float | None = None
    at_most: float | None = None
    equals: float | None = None


class Learning(_Table, tag_field="family", tag="learning"):
    """A leader learns the reward: Algorithm 1."""

    episodes: int = 30
    seed: int = 0
    rewards: Literal["state", "joint"] | None = None
    first: Policy | None = None


class Bayesian(_Table, tag_field="family", tag="bayesian"):
    """The posterior of reward and parameter: of what was seen, or episode by episode."""

    proposals: int | None = None
    chains: int = 4
    thin: int | None = None
    warmup: int | None = None
    seed: int = 0
    sampler: Walk | Dirichlet | Hamiltonian | None = None
    normalise: Literal["min", "direction"] | None = None
    level: float = 0.9
    weight: float = 1.0
    episodes: int | None = None
    first: Policy | None = None
    sees: Literal["trajectory", "response"] = "trajectory"
    choose: Literal["mean", "thompson", "value"] = "mean"
    fixed: bool = False


class FeasibleRewardsQuestion(_Table, tag_field="family", tag="feasible_rewards"):
    """What is known about the reward from the observations."""

    ask: Literal["maximise", "nearest", "contains", "dimension", "centre", "max_margin"]
    objective: dict[str, Number] = {}
    target: dict[str, Number] = {}
    norm: Literal[1, 2] = 1
    domain: Literal["simplex", "box"] = "simplex"
    bound: float = 1.0
    penalty: float = 0.0


class OccupancyQuestion(_Table, tag_field="family", tag="occupancy"):
    """The best joint policy under side constraints."""

    ask: Literal["maximise"] = "maximise"


class CommitmentQuestion(_Table, tag_field="family", tag="commitment"):
    """The best commitment, what a given one earns, or whether one is best from every state."""

    ask: Literal["optimal", "evaluate", "dominance"] = "optimal"
    leader: Policy | None = None
    exact: bool = False
    stochastic: bool = False
    method: Literal[
        "choose",
        "policy-iteration",
        "program",
        "approximate",
        "enumerate",
        "milp",
        "branch-and-bound",
    ] = "choose"
    ties: Literal["optimistic", "pessimistic"] | None = None
    forbidden: dict[str, list[str]] = {}


class AffineQuestion(_Table, tag_field="family", tag="affine_equivalence"):
    """Whether a hypothesis explains the observations, or passes the test of its environment."""

    hypothesis: dict[str, Number] | None = None
    ask: Literal["explains", "verify"] = "explains"


Question = (
    Learning
    | Bayesian
    | FeasibleRewardsQuestion
    | OccupancyQuestion
    | CommitmentQuestion
    | AffineQuestion
)


class Expect(_Table):
    """An expected quantity: a value with its tolerance, or a bound; and where it comes from."""

    quantity: str
    source: str
    value: float | None = None
    tolerance: float = 0.0
    at_most: float | None = None
    at_least: float | None = None


class Document(_Table):
    """A whole model file."""

    version: int
    title: str
    source: str
    game: Game
    question: Question
    reward: Reward | None = None
    follower_reward: Reward | None = None
    follower: Partner | None = None
    prior: Prior | None = None
    observation: list[Observation] = []
    trajectory: list[Trajectory] = []
    constraint: list[Constraint] = []
    expect: list[Expect] = []


def read_document(path: Path) -> Document:
    """Read and check a model file.

    Raises
    ------
    FileProblem
        The text is no TOML (names line and column), a key is missing, unknown or of the wrong
        type (names the key), or the version is another.
    """
    try:
        tables = tomllib.loads(read_text(path, MOST_BYTES), parse_float=Decimal)
    except tomllib.TOMLDecodeError as problem:
        raise _syntax(path, str(problem)) from None
    except UnicodeDecodeError as problem:
        raise FileProblem(path, f"is no UTF-8 text (byte {problem.start})") from None
    except RecursionError:
        raise FileProblem(path, "is nested too deeply") from None
    except (ValueError, ArithmeticError):  # of an integer, or of a Decimal
        raise FileProblem(path, f"holds a number of more than {DIGITS} digits") from None
    found = tables.get("version")
    if found is not None and found != VERSION:
        raise FileProblem(path, f"is {found!r}; this release reads {VERSION}", key="version")
    try:
        document = msgspec.convert(tables, Document, strict=True, dec_hook=_read)
    except msgspec.ValidationError as problem:
        raise _validation(path, str(problem), tables, problem.__cause__) from None
    given = [name for name in SOURCES if getattr(document.game, name) is not None]
    if len(given) != 1:
        what = f"has {' and '.join(given)}" if given else "has no source"
        raise FileProblem(path, f"{what}; give exactly one of {', '.join(SOURCES)}", key="game")
    for i, expected in enumerate(document.expect):
        if expected.value is expected.at_most is expected.at_least is None:
            raise FileProblem(path, "needs one of value, at_most, at_least", key=f"expect[{i}]")
    for i, row in enumerate(document.constraint):
        if row.equals is row.at_most is row.at_least is None:
            raise FileProblem(path, "needs equals, at_most or at_least", key=f"constraint[{i}]")
    return document


def _syntax(path: Path, message: str) -> FileProblem:
    at = re.search(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    if at is None:
        return FileProblem(path, message)
    text = message[: at.start()]
    if at[1] is None:
        return FileProblem(path, f"{text} at the end of the file")
    return FileProblem(path, text, line=int(at[1]), column=int(at[2]))


class _Unread(ValueError):
    """What stands where a number should."""

    def __init__(self, found: Any, problem: str) -> None:
        super().__init__(problem)
        self.found = found


def _read(kind: type, found: Any) -> Any:
    """Return what a table holds as a number, exactly; or as the numbers of a prior."""
    if kind is Concentration:
        if isinstance(found, dict):
            return Concentration(Fraction(1), {k: _read(Number, x) for k, x in found.items()})
        return Concentration(_read(Number, found), {})
    if isinstance(found, bool) or not isinstance(found, int | Decimal | str):
        raise _Unread(found, f"is {_short(found)}; allowed a number, or a text such as '1/3'")
    try:
        return as_fraction(found)
    except UNREADABLE as problem:
        long = "digits" in str(problem)
        why = f"has more than {DIGITS} digits" if long else "is no number"
        raise _Unread(found, f"{_short(found)} {why}") from None


def _short(found: Any) -> str:
    text = str(found).lower() if isinstance(found, Decimal) else repr(found)
    return text if len(text) <= 60 else f"{text[:40]}…{text[-10:]}"


def _places(found: Any, tables: Any, key: str = "") -> Iterator[str]:
    """Yield the dotted keys at which tables hold this very object."""
    if tables is found:
        yield key
    elif isinstance(tables, dict):
        for name, inner in tables.items():
            yield from _places(found, inner, f"{key}.{name}" if key else name)
    elif isinstance(tables, list):
        for i, inner in enumerate(tables):
            yield from _places(found, inner, f"{key}[{i}]")


def _validation(
    path: Path, message: str, tables: dict[str, Any], cause: BaseException | None
) -> FileProblem:
    """Say what msgspec found in the words of the file: the dotted key, and a near miss."""
    text, _, at = message.partition(" - at `$")
    key = at.rstrip("`").lstrip(".").replace("[...]", "[*]")
    if isinstance(cause, _Unread):
        places = [*_places(cause.found, tables)]
        return FileProblem(path, text, key=places[0] if len(places) == 1 else key)
    unknown = re.search(r"contains unknown field `(.+)`", text)
    missing = re.search(r"missing required field `(.+)`", text)
    if unknown:
        known = _known_keys(key)
        near = get_close_matches(unknown[1], known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f" (known: {', '.join(known)})"
        text = f"unknown key{hint if known else ''}"
    elif missing:
        text = "is missing"
    name = (unknown or missing or [None, ""])[1]
    return FileProblem(path, text, key=".".join(part for part in (key, name) if part) or None)


def _known_keys(key: str) -> list[str]:
    """Return the keys that the table at a dotted key may have, where it has one type."""
    table: Any = Document
    for part in re.sub(r"\[.*?\]", "", key).split(".") if key else ():
        fields = {f.encode_name: f.type for f in msgspec.structs.fields(table)}
        inner = fields.get(part)
        tables = _structs(inner)
        if len(tables) != 1:
            return []
        table = tables[0]
    return [f.encode_name for f in msgspec.structs.fields(table)]


def _structs(hint: Any) -> list[type[Struct]]:
    if isinstance(hint, type) and issubclass(hint, Struct):
        return [hint]
    return [table for inner in getattr(hint, "__args__", ()) for table in _structs(inner)]
