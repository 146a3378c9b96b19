"""The tables of a model file, one class each: which keys there are, and what type they have.

``models/README.md`` specifies them for people; `iirl_opt.library.document` reads a file into them,
and what they mean as games, rewards, followers and observations is in the files of those names.
Each family's ``[question]`` is in its own file in `iirl_opt.library.families`. Numbers of the
problem are exact, ``0.1`` and ``"1/10"`` alike; those of algorithms (tolerances, limits) floats.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Literal

from msgspec import Struct, field

__all__ = [
    "SOURCES",
    "AffineTable",
    "BoltzmannTable",
    "ChoiceTable",
    "Concentration",
    "ConstraintTable",
    "EnvironmentTable",
    "EpsilonGreedyTable",
    "ExpectTable",
    "ExponentialTable",
    "ExponentialWeightTable",
    "FollowerTable",
    "GameTable",
    "GammaTable",
    "GridTable",
    "IntroductoryGameTable",
    "Label",
    "MazeMakerTable",
    "Number",
    "ObservationTable",
    "OptimalTable",
    "PlayedTable",
    "PolicyTable",
    "PowerTable",
    "PreferenceTable",
    "PriorTable",
    "ProportionalTable",
    "RandomGameTable",
    "RewardTable",
    "SuboptimalityTable",
    "Table",
    "TrajectoryTable",
    "TransitionTable",
    "UniformTable",
    "Weights",
]

# What a file writes as an integer, a decimal or a text such as "1/3".
Number = Fraction
Weights = dict[str, Number]
PolicyTable = dict[str, str | Weights]

# A name of a state or action; a list is a tuple. Elsewhere in a file its text stands for it.
Label = str | int | float | bool | list[Any]


def _by_default(*ratio: int) -> Any:
    """Return the default of a key that holds a number."""
    return field(default_factory=lambda: Fraction(*ratio))


class Table(Struct, forbid_unknown_fields=True):
    """A TOML table in which every key means something."""


class Concentration:
    """One number for all states, or numbers by state."""

    default: Number
    by_state: dict[str, Number]

    def __init__(self, default: Number, by_state: dict[str, Number]) -> None:
        self.default, self.by_state = default, by_state

    def __repr__(self) -> str:
        return f"Concentration({self.default!r}, {self.by_state!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Concentration) and vars(self) == vars(other)

    __hash__: ClassVar[None]  # type: ignore[assignment]


class TransitionTable(Table, kw_only=True, rename={"origin": "from"}):
    """One row or several of the kernel; ``"*"`` stands for every action."""

    origin: str
    leader: str = "*"
    follower: str = "*"
    to: Weights


class GridTable(Table):
    """A maze drawn as text: see `iirl_opt.grid_game`."""

    rows: list[str]
    slip: Number = _by_default(0)
    doors: Literal["pairs", "open"] | list[str] = "pairs"
    prizes: dict[str, Number] = {}
    prize_rule: Literal["vanish", "stay", "absorb"] = "vanish"
    wall_states: bool = False


class RandomGameTable(Table, tag_field="name", tag="random_game"):
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


class MazeMakerTable(Table, tag_field="name", tag="maze_maker"):
    """The paper's Maze-Maker: see `iirl_opt.maze_maker`."""

    size: int = 7
    start: int | None = None
    prizes: dict[str, Number] | None = None
    slip: Number = _by_default(1, 5)


class IntroductoryGameTable(Table, tag_field="name", tag="introductory_game"):
    """The mazes of Figure 1 as one game: see `iirl_opt.game.introductory_game`."""


class EnvironmentTable(Table):
    """The test of a hypothesis: see `iirl_opt.ideal_environment`, `iirl_opt.strict_environment`."""

    kind: Literal["ideal", "strict"]
    reward: dict[str, Number]
    epsilon: Number | None = None
    planning_tolerance: float | None = None
    rational: bool = False


class GameTable(Table):
    """The game, from exactly one of its sources: see `SOURCES`."""

    discount: Number | None = None
    horizon: int | None = None
    floats: bool = False
    states: list[Label] | None = None
    leader_actions: list[Label] | None = None
    follower_actions: list[Label] | None = None
    start: Literal["uniform"] | Weights | None = None
    transitions: list[TransitionTable] | None = None
    kernel: list[list[list[list[Number]]]] | None = None
    grid: GridTable | None = None
    generator: RandomGameTable | MazeMakerTable | IntroductoryGameTable | None = None
    environment: EnvironmentTable | None = None
    file: str | None = None
    constants: dict[str, bool | int | float | str] = {}
    reward: str | None = None
    normalise: bool = False
    leader: list[str] = []
    absorbing: bool = False


SOURCES = ("transitions", "kernel", "grid", "generator", "environment", "file")


class ChoiceTable(Table, kw_only=True):
    """The reward of one choice, or of several: ``"*"`` stands for every state or action."""

    state: str = "*"
    leader: str = "*"
    follower: str = "*"
    value: Number


class RewardTable(Table):
    """The true reward: by state, or by choice (later entries override earlier ones)."""

    values: dict[str, Number] = {}
    default: Number = _by_default(0)
    choices: list[ChoiceTable] = []


class OptimalTable(Table, tag_field="model", tag="optimal"):
    """A follower that answers optimally."""

    ties: Literal["first", "last", "random", "mix", "all"] = "first"
    seed: int | None = None


class EpsilonGreedyTable(Table, tag_field="model", tag="epsilon-greedy"):
    """A follower that errs with probability epsilon."""

    epsilon: float | Literal["unknown"]
    ties: Literal["first", "last", "random", "mix"] = "first"
    seed: int | None = None


class BoltzmannTable(Table, tag_field="model", tag="boltzmann"):
    """A Boltzmann-rational follower."""

    beta: float | Literal["unknown"]


class SoftOptimalTable(Table, tag_field="model", tag="soft-optimal"):
    """A follower that maximises reward plus temperature times entropy."""

    temperature: float | Literal["unknown"]


class AffineTable(Table, tag_field="name", tag="affine"):
    """See `iirl_opt.follower.Affine`."""

    constant: float = 0.0
    slope: float = 1.0


class PowerTable(Table, tag_field="name", tag="power"):
    """See `iirl_opt.follower.Power`."""

    exponent: int


class ExponentialWeightTable(Table, tag_field="name", tag="exponential"):
    """See `iirl_opt.follower.Exponential`."""

    rate: float = 1.0


class ProportionalTable(Table, tag_field="model", tag="proportional"):
    """A follower that plays in proportion to a function of the action values."""

    function: (
        Literal["exp", "1 + x", "identity", "sqrt"]
        | AffineTable
        | PowerTable
        | ExponentialWeightTable
    )


FollowerTable = (
    OptimalTable | EpsilonGreedyTable | BoltzmannTable | SoftOptimalTable | ProportionalTable
)


class SuboptimalityTable(Table):
    """What a response may lose: see `iirl_opt.observation.Suboptimality`."""

    loss: Number | None = None
    share: Number | None = None
    start: bool = False


class ObservationTable(Table):
    """One episode: a commitment, and a response, all optimal actions, or the follower's answer."""

    leader: PolicyTable
    follower: PolicyTable | None = None
    optimal: dict[str, list[str]] | None = None
    suboptimality: SuboptimalityTable | None = None


class TrajectoryTable(Table):
    """One episode: a commitment, and its steps ``[state, leader action, follower action]``."""

    leader: PolicyTable
    steps: list[list[str]]


class PlayedTable(Table):
    """A way of playing that is compared: both policies, or a commitment and steps under it."""

    leader: PolicyTable
    follower: PolicyTable | None = None
    steps: list[list[str]] | None = None


class PreferenceTable(Table):
    """One way of playing is better than another: see `iirl_opt.rewards.prefer`."""

    better: PlayedTable
    worse: PlayedTable
    by: Number = _by_default(0)
    absorbed: bool = False


class ExponentialTable(Table, tag_field="name", tag="exponential"):
    """See `iirl_opt.bayesian.exponential_prior`."""

    mean: float = 500.0


class GammaTable(Table, tag_field="name", tag="gamma"):
    """See `iirl_opt.bayesian.GammaPrior`."""

    shape: float
    rate: float


class UniformTable(Table, tag_field="name", tag="uniform"):
    """See `iirl_opt.bayesian.UniformPrior`."""

    low: float = 0.0
    high: float = 1.0


class PriorTable(Table):
    """What is believed before the first episode: Dirichlet of the reward, and of the parameter."""

    reward: Concentration = field(default_factory=lambda: Concentration(Fraction(1), {}))
    parameter: ExponentialTable | GammaTable | UniformTable | None = None


class ConstraintTable(Table, rename={"target": "on"}):
    """A linear row of the user's own, on the reward or on the occupancy measure."""

    name: str
    target: Literal["reward", "measure"]
    whose: Literal["leader", "both"] = "both"
    terms: dict[str, Number] = {}
    choices: list[ChoiceTable] = []
    at_least: float | None = None
    at_most: float | None = None
    equals: float | None = None


class ExpectTable(Table, kw_only=True):
    """An expected quantity: a value with its tolerance, or a bound; and where it comes from.

    `values` are those of a quantity that has many, ``quantity[name]``: by name, or all in order.
    """

    quantity: str
    value: float | None = None
    values: dict[str, float] | list[float] | None = None
    tolerance: float = 0.0
    at_most: float | None = None
    at_least: float | None = None
    source: str
