"""The user's own linear rows of a model file, on the reward or on the occupancy measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.brief import in_brief
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.library.entries import by_choice, by_state
from iirl_opt.library.schema import (
    ConstraintTable,
)

__all__ = ["UserRow", "prices", "read_row"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class UserRow:
    """A linear row of the user's own: ``low ≤ Σ coefficients · x ≤ high``.

    Attributes
    ----------
    name : under which its price is reported.
    target : ``"reward"`` or ``"measure"``.
    coefficients : shape (S,), or (S, A, B) on choices.
    low, high : bounds, infinite where there is none.
    whose : who respects a row on the measure, ``"leader"`` or ``"both"``.

    Examples
    --------
    >>> from iirl_opt import library
    >>> (row,) = library.read_model("goal-twice-the-start").rows
    >>> row.name, row.target
    ('goal twice the start', 'reward')
    >>> row.coefficients, row.low, row.high
    (array([-2.,  0.,  1.]), 0.0, inf)
    """

    name: str
    target: str
    coefficients: Array
    low: float
    high: float
    whose: str = "both"

    __repr__ = in_brief

    def constraints(self, expression: Any) -> list[Any]:
        """Return the constraints on a cvxpy expression, each labelled by the name of the row."""
        if self.low == self.high:
            return [(expression == self.low).set_label(self.name)]
        below = [(expression >= self.low).set_label(self.name)] if np.isfinite(self.low) else []
        above = [(expression <= self.high).set_label(self.name)] if np.isfinite(self.high) else []
        return below + above


def read_row(path: Path, game: TwoAgentMDP, table: ConstraintTable, key: str) -> UserRow:
    """Return the row of a ``[[constraint]]`` table."""
    base = by_state(path, game, table.terms, f"{key}.terms", Fraction(0))
    low = -np.inf if table.at_least is None else table.at_least
    high = np.inf if table.at_most is None else table.at_most
    if table.equals is not None:
        low = high = table.equals
    coefficients = by_choice(path, game, base, table.choices, key)
    return UserRow(table.name, table.target, coefficients, low, high, table.whose)


def prices(duals: Mapping[str, Any], rows: Sequence[UserRow]) -> dict[str, float]:
    """Return the prices of the file's own rows, ``price[name]``, from the duals of a program."""
    names = {row.name for row in rows}
    return {f"price[{name}]": float(dual) for name, dual in duals.items() if name in names}
