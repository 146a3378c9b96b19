"""The follower of a model file: how it answers, and what of it the file calls unknown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from iirl_opt.errors import FileProblem, InvalidArgument, InvalidValue
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower
from iirl_opt.follower.proportional import Affine, Exponential, Power, ProportionalFollower
from iirl_opt.follower.protocols import Follower
from iirl_opt.follower.soft import SoftOptimalFollower
from iirl_opt.library.schema import (
    AffineTable,
    BoltzmannTable,
    EpsilonGreedyTable,
    ExponentialWeightTable,
    FollowerTable,
    OptimalTable,
    PowerTable,
    ProportionalTable,
    SoftOptimalTable,
)

__all__ = ["follower_table", "read_follower", "unknown_number"]

FUNCTIONS: dict[str, Any] = {
    "exp": np.exp,
    "1 + x": lambda x: 1 + x,
    "identity": lambda x: x,
    "sqrt": np.sqrt,
}


def read_follower(path: Path, table: Any) -> Follower:
    unknown = unknown_number(table)
    if unknown is not None:
        return _NobodyKnown(path, unknown)
    try:
        if isinstance(table, EpsilonGreedyTable):
            return EpsilonGreedyFollower(float(table.epsilon), table.ties, table.seed)
        if isinstance(table, BoltzmannTable):
            return BoltzmannFollower(float(table.beta))
        if isinstance(table, SoftOptimalTable):
            return SoftOptimalFollower(float(table.temperature))
        if isinstance(table, ProportionalTable):
            return ProportionalFollower(_function(table))
        return OptimalFollower() if table is None else OptimalFollower(table.ties, table.seed)
    except InvalidValue as error:
        raise FileProblem(path, str(error), key="follower") from error


def follower_table(follower: Follower) -> FollowerTable:
    """Return the table that states a follower.

    Raises
    ------
    InvalidArgument
        It is none of the five kinds, or weighs values by a function that files have no name for.
    """
    if type(follower) is OptimalFollower:
        return OptimalTable(follower.ties, follower.seed)
    if type(follower) is EpsilonGreedyFollower:
        ties: Any = follower.ties
        return EpsilonGreedyTable(float(follower.epsilon), ties, follower.seed)
    if type(follower) is BoltzmannFollower:
        return BoltzmannTable(float(follower.beta))
    if type(follower) is SoftOptimalFollower:
        return SoftOptimalTable(float(follower.temperature))
    if type(follower) is ProportionalFollower:
        return ProportionalTable(_function_table(follower.f))
    allowed = (
        "an optimal, ε-greedy, Boltzmann, soft-optimal or proportional follower: files state no "
        "other"
    )
    raise InvalidArgument("follower", f"is {follower!r}", allowed, follower)


def _function_table(function: Any) -> Any:
    """Return how a file writes the function of a proportional follower."""
    for name, known in FUNCTIONS.items():
        if function is known:
            return name
    if type(function) is Affine:
        return AffineTable(float(function.constant), float(function.slope))
    if type(function) is Power:
        return PowerTable(function.exponent)
    if type(function) is Exponential:
        return ExponentialWeightTable(float(function.rate))
    allowed = "np.exp, np.sqrt, Affine, Power or Exponential: files have a name for no other"
    raise InvalidArgument("follower", f"weighs values by {function!r}", allowed, function)


def _function(table: ProportionalTable) -> Any:
    """Return the function by which a proportional follower weighs values."""
    named = table.function
    if isinstance(named, AffineTable):
        return Affine(named.constant, named.slope)
    if isinstance(named, PowerTable):
        return Power(named.exponent)
    return Exponential(named.rate) if isinstance(named, Struct) else FUNCTIONS[named]


def unknown_number(table: FollowerTable | None) -> str | None:
    """Return the name of the follower's number where the file calls it unknown."""
    named = ("beta", "epsilon", "temperature")
    return next((name for name in named if getattr(table, name, None) == "unknown"), None)


@dataclass(frozen=True)
class _NobodyKnown:
    """In place of a follower whose parameter is unknown: nobody can answer for it."""

    path: Path
    parameter: str

    def respond(self, *_: Any, **__: Any) -> NDArray[Any]:
        """Say that the file does not make it known."""
        problem = "is 'unknown', so its answers must be given; allowed a number"
        raise FileProblem(self.path, problem, key=f"follower.{self.parameter}")
