"""Taxi's fickle passenger, of whom the table knows nothing.

With ``fickle_passenger=True`` a coin is tossed at the start of an episode. If it falls so, the
first time that the taxi moves with the passenger in it the destination changes, to each of the
three others with the same probability; afterwards it never does. The driver does not see the coin.
Nor need he: until that first move it has no effect, so it may as well be tossed then. What he has
to remember is whether that move is behind him. So there are two states for each of the table's:
state s before it, and state 500 + s after it, called ``…, settled``. In these the game is Markov.

Source: Gymnasium 1.4, `TaxiEnv.step`; Dietterich 2000, section 7.1.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np

from iirl_opt.errors import InvalidArgument
from iirl_opt.formats.gymnasium.outcomes import Outcomes, simple_fraction

__all__ = ["with_fickle_passenger"]

RIDING = 4


def with_fickle_passenger(raw: Any, table: Outcomes) -> Outcomes:
    """Return the outcomes of a Taxi whose passenger may change the destination once.

    Raises
    ------
    InvalidArgument
        It is a Taxi of before Gymnasium 1.3, which did something else.
    """
    if not hasattr(raw, "fickle_probability"):
        problem = "has a fickle passenger of an older kind"
        raise InvalidArgument("env", problem, "Taxi-v4 of Gymnasium 1.3 or later", raw)
    n = table.n_states
    change = simple_fraction(float(raw.fickle_probability))
    row, line, passenger, goal = np.array([raw.decode(s) for s in range(n)]).T
    moved = (row[table.state] != row[table.successor]) | (
        line[table.state] != line[table.successor]
    )
    first = np.flatnonzero(moved & (passenger[table.state] == RIDING))
    others = np.arange(n).reshape(-1, 4)  # the destination runs fastest
    before, after = (_picked(table, np.arange(table.state.size)) for _ in range(2))
    before["successor"][first] += n
    before["probability"][first] *= 1 - change
    after["state"] += n
    after["successor"] += n
    changed = []
    for shift in (1, 2, 3):
        part = _picked(table, first)
        at = part["successor"]
        part["successor"] = n + others[at // 4, (goal[at] + shift) % 4]
        part["probability"] *= change / 3
        changed.append(part)
    parts = [before, *changed, after]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in before}
    possible = np.array([p > 0 for p in joined["probability"]], dtype=bool)
    settled = tuple(f"{state}, settled" for state in table.states)
    start = np.concatenate([table.start, np.full(n, Fraction(0))])
    return dataclasses.replace(
        table,
        states=(*table.states, *settled),
        cells=table.cells * 2,
        start=start,
        **{name: column[possible] for name, column in joined.items()},
    )


def _picked(table: Outcomes, at: Any) -> dict[str, Any]:
    """Return some outcomes as columns of their own."""
    names = ("state", "leader", "follower", "successor", "probability", "reward", "ended")
    return {name: getattr(table, name)[at].copy() for name in names}
