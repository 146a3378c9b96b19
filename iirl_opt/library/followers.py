"""The follower of a model file: how it answers, and what of it the file calls unknown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.errors import FileProblem, InvalidValue
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower
from iirl_opt.follower.proportional import ProportionalFollower
from iirl_opt.follower.protocols import Follower
from iirl_opt.library.schema import (
    BoltzmannTable,
    EpsilonGreedyTable,
    FollowerTable,
    ProportionalTable,
)

__all__ = ["read_follower", "unknown_number"]

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
            return EpsilonGreedyFollower(float(table.epsilon), table.ties)
        if isinstance(table, BoltzmannTable):
            return BoltzmannFollower(float(table.beta))
    except InvalidValue as error:
        raise FileProblem(path, str(error), key="follower") from error
    if isinstance(table, ProportionalTable):
        return ProportionalFollower(FUNCTIONS[table.function])
    return OptimalFollower() if table is None else OptimalFollower(table.ties)


def unknown_number(table: FollowerTable | None) -> str | None:
    """Return the name of the follower's number where the file calls it unknown."""
    named = ("beta", "epsilon")
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
