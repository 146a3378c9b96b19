"""What the states and actions of an environment are called.

========================  =======================  =============================================
environment               states                   actions
========================  =======================  =============================================
FrozenLake                ``(row,column)``         left, down, right, up
CliffWalking              ``(row,column)``         up, right, down, left
Taxi                      ``(row,column) R to G``  south, north, east, west, pick up, drop off
every other               0, 1, …                  0, 1, …
========================  =======================  =============================================

In Taxi the cell is the taxi's, and the passenger waits at R, G, Y or B or rides in the ``taxi``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from iirl_opt.errors import InvalidGame
from iirl_opt.game.labels import Labels

__all__ = ["TableNames", "names_of"]

Cell = tuple[int, int]


class TableNames(NamedTuple):
    """Labels of states and actions, and the cell that the player stands on in each state."""

    states: tuple[Hashable, ...]
    actions: tuple[Hashable, ...]
    cells: tuple[Hashable, ...]


def names_of(raw: Any, n_states: int, n_actions: int, states: Any, actions: Any) -> TableNames:
    """Return names as they are given, or else the documented ones.

    Raises
    ------
    InvalidGame
        Their number is wrong, or one comes twice.
    """
    known = next(
        (known for kind in type(raw).__mro__ if (known := _KNOWN.get(kind.__name__))), None
    )
    cells: tuple[Hashable, ...] | None = None
    if known is not None and len(known.actions) == n_actions:
        described = [known.describe(raw, s) for s in range(n_states)]
        cells = tuple(cell for cell, _ in described)
        states = tuple(name for _, name in described) if states is None else states
        actions = known.actions if actions is None else actions
    chosen = []
    for kind, names, size in (("state", states, n_states), ("action", actions, n_actions)):
        labels = Labels(range(size) if names is None else names, kind)
        if len(labels) != size:
            place, allowed = f"{kind} labels", f"{size}, as in P"
            raise InvalidGame(place, f"are {len(labels)}", allowed, len(labels))
        chosen.append(tuple(labels))
    return TableNames(chosen[0], chosen[1], chosen[0] if cells is None else cells)


class _Described(NamedTuple):
    actions: tuple[str, ...]
    describe: Callable[[Any, int], tuple[Cell, str]]


def _on_grid(cell: Cell, more: str = "") -> tuple[Cell, str]:
    return cell, f"({cell[0]},{cell[1]}){more}"


def _in_taxi(raw: Any, s: int) -> tuple[Cell, str]:
    row, column, passenger, goal = raw.decode(s)
    waits = ("R", "G", "Y", "B", "taxi")
    return _on_grid((row, column), f" {waits[passenger]} to {waits[goal]}")


_KNOWN = {
    "FrozenLakeEnv": _Described(
        ("left", "down", "right", "up"), lambda raw, s: _on_grid(divmod(s, int(raw.ncol)))
    ),
    "CliffWalkingEnv": _Described(
        ("up", "right", "down", "left"), lambda raw, s: _on_grid(divmod(s, int(raw.shape[1])))
    ),
    "TaxiEnv": _Described(("south", "north", "east", "west", "pick up", "drop off"), _in_taxi),
}
