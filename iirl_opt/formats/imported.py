"""What a door brings in: a game, and what its source says of it besides.

Sources differ in what they hold. Some have one reward, some several by name, some none; some label
sets of states; in some a state offers fewer actions than others. One record has room for all of
it, so that whatever one door reads another can write.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.brief import shortly, told
from iirl_opt.checks import TEXT, checked, refuse
from iirl_opt.errors import InvalidArgument, InvalidGame, UnknownLabel
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.reward import check_reward
from iirl_opt.printing.table import FactTable

__all__ = ["ImportedGame"]

Array = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ImportedGame:
    """A game from outside, with the rewards and labels that came along with it.

    Attributes
    ----------
    game : the game. A problem of one agent is a game in which the other has one action.
    rewards : (S,) or (S, A, B) by the source's own names, read-only.
    labels : sets of states by the source's own names (PRISM's labels), each (S,) of bool.
    available : (S, A, B) of bool, the choices that the source has, or None if it has all; the
        others are stand-ins, which repeat a choice of the same state that it has.
    source : where it comes from, in words.

    Raises
    ------
    InvalidReward
    InvalidGame
        Labels or available choices of another shape, or a state without any choice.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game = iirl.TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], "1/2")
    >>> found = ImportedGame(game, {"steps": [1.0, 0.0]}, {"done": [False, True]})
    >>> found.reward(), found.labels["done"]
    (array([1., 0.]), array([False,  True]))
    """

    game: TwoAgentMDP
    rewards: Mapping[str, Array] = field(default_factory=dict)
    labels: Mapping[str, Booleans] = field(default_factory=dict)
    available: Booleans | None = None
    source: str = ""

    def __post_init__(self) -> None:
        rewards = {name: check_reward(self.game, r).copy() for name, r in self.rewards.items()}
        labels = {
            name: self._marks(f"labels[{name!r}]", marks, self.game.shape[:1])
            for name, marks in self.labels.items()
        }
        for array in (*rewards.values(), *labels.values()):
            array.flags.writeable = False
        object.__setattr__(self, "rewards", MappingProxyType(rewards))
        object.__setattr__(self, "labels", MappingProxyType(labels))
        if self.available is not None:
            available = self._marks("available", self.available, self.game.shape)
            bare = np.flatnonzero(~available.any(axis=(1, 2)))
            if bare.size:
                state = self.game.states[bare[0]]
                raise InvalidGame(f"available[s={state!r}]", "is empty", "at least one choice")
            available.flags.writeable = False
            object.__setattr__(self, "available", available)

    def _marks(self, place: str, given: Booleans, shape: tuple[int, ...]) -> Booleans:
        """Return an array of bool as a copy, or say that it is none of this shape."""
        marks = np.array(given)
        if marks.dtype != np.bool_ or marks.shape != shape:
            found = f"has shape {marks.shape} and type {marks.dtype}"
            raise InvalidGame(place, found, f"bool of shape {shape}")
        return marks

    @staticmethod
    def of(problem: Any) -> ImportedGame:
        """Return what a door out is to write: a game alone is one without rewards and labels.

        Raises
        ------
        InvalidArgument
            It is neither a game nor an `ImportedGame`.

        **Cost** arithmetic.
        """
        if isinstance(problem, TwoAgentMDP):
            return ImportedGame(problem)
        if not isinstance(problem, ImportedGame):
            raise refuse("problem", problem, "an ImportedGame or a TwoAgentMDP")
        return problem

    @checked(name=TEXT)
    def reward(self, name: str | None = None) -> Array:
        """Return a reward by its name; without one, the only reward that there is.

        Raises
        ------
        UnknownLabel
        InvalidArgument
            No name is given and there is no reward, or more than one.

        **Cost** arithmetic.
        """
        if name is not None:
            if name not in self.rewards:
                raise UnknownLabel("reward", name, tuple(self.rewards))
            return self.rewards[name]
        if len(self.rewards) != 1:
            n = len(self.rewards)
            count = f"there are {n} rewards" if n else "there is no reward"
            known = ", ".join(map(repr, self.rewards)) or "none"
            raise InvalidArgument("name", f"is not given, and {count}", f"one of {known}")
        return next(iter(self.rewards.values()))

    def __repr__(self) -> str:
        named = {what: ", ".join(getattr(self, what)) for what in ("rewards", "labels")}
        parts = [f"{what}: {names}" for what, names in named.items() if names]
        return told(self, repr(self.game), *parts)

    def _repr_html_(self) -> str:
        rows = [{"reward": name, "numbers": shortly(r)} for name, r in self.rewards.items()]
        rows += [{"label": name, "states": str(x.sum())} for name, x in self.labels.items()]
        own = FactTable(rows, type(self).__name__)
        return own._repr_html_() + self.game._repr_html_()
