"""From tables to games."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from iirl_opt.checks import FLAG, TEXT, checked, one_of
from iirl_opt.errors import InvalidGame
from iirl_opt.exact.numbers import common
from iirl_opt.formats.choices import (
    UNAVAILABLE,
    Integers,
    Names,
    Unavailable,
    absorb,
    kernel_of_entries,
    stand_ins,
)
from iirl_opt.formats.frames.columns import EdgeTable, Numbers
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.game.kernel import LARGEST, ROUNDED_SUMS, SUM_TOLERANCE, sum_allowed
from iirl_opt.game.labels import Labels
from iirl_opt.game.mdp import TwoAgentMDP

__all__ = ["from_frame"]

Array = NDArray[np.float64]
Duplicates: TypeAlias = Literal["refuse", "sum"]


@checked(
    state=TEXT,
    leader=TEXT,
    follower=TEXT,
    successor=TEXT,
    probability=TEXT,
    duplicates=one_of("refuse", "sum"),
    unavailable=UNAVAILABLE,
    absorbing=FLAG,
    normalise=FLAG,
)
def from_frame(
    frame: Any,
    discount: Any = None,
    *,
    state: str = "state",
    leader: str = "leader",
    follower: str = "follower",
    successor: str = "next_state",
    probability: str = "probability",
    reward: str | Iterable[str] | None = None,
    start: Any = None,
    states: Names = None,
    leader_actions: Names = None,
    follower_actions: Names = None,
    duplicates: Duplicates = "refuse",
    unavailable: Unavailable = "repeat",
    absorbing: bool = False,
    normalise: bool = False,
) -> ImportedGame:
    """Return the game of a table that has a row for each transition.

    Parameters
    ----------
    frame : a DataFrame of pandas or polars, or a Table of pyarrow.
    discount, start : as in `TwoAgentMDP`; by default the columns of these names. A table without
        `start` starts uniformly.
    state, leader, follower, successor, probability : the names of columns; `leader` and `follower`
        may be missing under their default names.
    reward : columns that are rewards; by default "reward" and those that begin with "reward:".
    states, leader_actions, follower_actions : labels in their order, where the table's will not do.
    duplicates : whether two rows of one transition are an error, or their probabilities are added.
    unavailable : whether a choice without rows repeats one that its state has, or is refused.
    absorbing : whether a state without rows stays where it is, at no reward; else it is an error.
    normalise : as in `TwoAgentMDP`, for exact numbers, too.

    Returns
    -------
    ImportedGame
        Its rewards are (S,) if all choices of each state are worth the same, else (S, A, B).

    Raises
    ------
    InvalidArgument
        It is no table; there is no discount.
    UnknownLabel
        There is no such column; a label is not among those given.
    InvalidGame
        Names the row, counted from 0, and the column: what is missing or no number, or two rows of
        one transition. Names the choice whose row of the kernel is no distribution.
    MissingExtra
        narwhals is not installed.

    **Cost** arithmetic: some 2 s for a million rows.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame(
    ...     {
    ...         "state": ["hall", "hall", "goal"],
    ...         "action": ["go", "go", "go"],
    ...         "next_state": ["hall", "goal", "goal"],
    ...         "probability": ["1/3", "2/3", "1"],
    ...         "reward": [0, 1, 0],
    ...     }
    ... )
    >>> found = from_frame(frame, "9/10", follower="action")
    >>> found.game.rational.rows.row(0), found.reward()
    ({0: Fraction(1, 3), 1: Fraction(2, 3)}, array([0.66666667, 0.        ]))
    """
    table = EdgeTable.of(frame)
    agents = {"leader": (leader, leader_actions), "follower": (follower, follower_actions)}
    (s, a, b, column), names = table.places((state, successor), agents, states)
    shape = (len(names[0]), len(names[1]), len(names[2]))
    row = (s * shape[1] + a) * shape[2] + b
    chances = table.numbers(probability, "probability")
    table.check(probability, chances.floats() < 0, "a number ≥ 0")
    order = np.flatnonzero(chances.floats() > 0)
    order = order[np.argsort(row[order] * shape[0] + column[order], kind="stable")]
    edges = Edges(row[order], column[order], chances.take(order), names)
    if duplicates == "refuse":
        table.check_double(order[edges.repeated()], order[edges.repeated(-1)], state, successor)
    rewards = table.reward_columns(reward)
    worth = {
        name: edges.means(table.numbers(of, "reward").floats()[order])
        for name, of in rewards.items()
    }
    tolerance = ROUNDED_SUMS if normalise else SUM_TOLERANCE
    offered = np.bincount(edges.row, minlength=math.prod(shape)).astype(bool).reshape(shape)
    ending = absorb(offered) if absorbing else np.empty(0, dtype=np.int64)
    rows = stand_ins(offered, names, unavailable)
    game = TwoAgentMDP(
        kernel_of_entries(*edges.weights(tolerance), rows, ending, shape[0]),
        table.discount() if discount is None else discount,
        table.start(s, shape[0]) if start is None else start,
        states=names[0],
        leader_actions=names[1],
        follower_actions=names[2],
        normalise=normalise,
    )
    found = {name: _least(r[rows].reshape(shape), ending) for name, r in worth.items()}
    every = bool(offered.all())
    labels = table.marks(s, shape[0])
    return ImportedGame(game, found, labels, None if every else offered, "a table")


def _least(reward: Array, ending: Integers) -> Array:
    """Return a reward as (S,) where all choices of each state are worth the same."""
    reward[ending] = 0.0
    first = reward[:, 0, 0]
    return first.copy() if (reward == first[:, None, None]).all() else reward


@dataclass(frozen=True, eq=False)
class Edges:
    """The transitions of positive probability, in the order of their places in the kernel."""

    row: Integers
    column: Integers
    chances: Numbers
    names: tuple[Labels, Labels, Labels]

    def repeated(self, by: int = 0) -> Integers:
        """Return the edges that have the place of the one before, or these."""
        same = (np.diff(self.row) == 0) & (np.diff(self.column) == 0)
        return np.flatnonzero(same) + 1 + by

    def means(self, worth: Array) -> Array:
        """Return what choices are worth on average, shape (S·A·B,); zero where there is no edge.

        If all of a choice's edges are worth the same, so is the choice, without rounding.
        """
        means = np.zeros(math.prod(map(len, self.names)))
        if not self.row.size:
            return means
        starts = np.flatnonzero(np.diff(self.row, prepend=-1))
        chances = self.chances.floats()
        sums = np.add.reduceat(chances * worth, starts) / np.add.reduceat(chances, starts)
        least, most = np.minimum.reduceat(worth, starts), np.maximum.reduceat(worth, starts)
        means[self.row[starts]] = np.where(least == most, least, sums)
        return means

    def weights(self, tolerance: float) -> tuple[Integers, Integers, NDArray[Any]]:
        """Return rows, columns and numbers.

        Exact numbers become weights over one denominator.
        """
        numbers, exact = self.chances.values, self.chances.exact
        if exact is not None and self.row.size:
            whole, below = common(np.array(exact, dtype=object))
            if below > 1:
                self._check_sums(tolerance)
            numbers = (whole.astype(np.int64) if max(whole) < LARGEST else whole)[numbers]
        return self.row, self.column, numbers

    def _check_sums(self, tolerance: float) -> None:
        """Refuse exact numbers of a choice that do not sum to one."""
        starts = np.flatnonzero(np.diff(self.row, prepend=-1))
        sums = np.add.reduceat(self.chances.floats(), starts)
        off = np.flatnonzero(~(abs(sums - 1) <= tolerance))
        if off.size:
            shape = tuple(map(len, self.names))
            where = np.unravel_index(self.row[starts[off[0]]], shape)
            at = ", ".join(
                f"{axis}={known[i]!r}"
                for axis, known, i in zip("sab", self.names, where, strict=True)
            )
            total = float(sums[off[0]])
            problem = f"sums to {total:.12g}"
            raise InvalidGame(f"P[{at}]", problem, sum_allowed(total, tolerance), total)
