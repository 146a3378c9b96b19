"""Rows of observations that hold exactly, or may be violated at a price.

A follower that errs leaves observations that no reward but a constant explains. Then each row
``g(r, V) ≥ 0`` gets a *slack* e ≥ 0, by how much it is violated,

    max  c·r − price · Σ weight · e    with   g(r, V) + e ≥ 0,

an L1 penalty. It is exact: where the rows contradict none, some finite price (any above the largest
multiplier of a row) brings a reward that violates nothing. Below, the few rows that pull against
many are given up, as a majority of observations would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.solver.names import speaks_of

__all__ = ["LabelledRows", "exactly", "in_words", "priced"]

Array = NDArray[np.float64]


class LabelledRows(NamedTuple):
    """Rows of a lifted set of rewards, under one label.

    Attributes
    ----------
    label : of the constraint.
    value : the affine expression g.
    kind : ``"least"``: g ≥ 0, violated by −g; ``"equal"``: g = 0, violated by |g|; ``"most"``:
        g = 0 where other rows say g ≥ 0, violated by g.
    weight : what a unit of g counts for in the price, shape (rows,); None where no price is asked,
        of rows that hold whatever was observed.
    say : what each row speaks of, for messages.
    """

    label: str
    value: cp.Expression
    kind: Literal["least", "equal", "most"]
    weight: Array | None
    say: Callable[[tuple[int, ...]], str] | None = None


def in_words(
    game: TwoAgentMDP, at: NDArray[np.int64] | None = None
) -> Callable[[tuple[int, ...]], str]:
    """Return what rows say that speak of the choices ``s·B + b`` at some places, or of each state.

    As messages have it: ``s='goal', b='go'``.
    """
    n_actions = game.shape[2]

    def say(index: tuple[int, ...]) -> str:
        k = index[0] if index else 0
        if at is None:
            return f"s={game.states[k]!r}"
        s, b = divmod(int(at[k]), n_actions)
        return f"s={game.states[s]!r}, b={game.follower_actions[b]!r}"

    return say


def exactly(rows: LabelledRows) -> cp.Constraint:
    """Return the rows as a constraint that holds exactly."""
    return _labelled(rows.value >= 0 if rows.kind == "least" else rows.value == 0, rows)


def _labelled(limit: cp.Constraint, rows: LabelledRows) -> cp.Constraint:
    limit.set_label(rows.label)
    return limit if rows.say is None else speaks_of(limit, rows.say)


def priced(
    rows: Sequence[LabelledRows], price: float
) -> tuple[list[cp.Constraint], list[cp.Expression]]:
    """Return the rows with slacks, named ``slack`` and their label, and what these cost."""
    limits, costs = [], []
    for part in rows:
        label, value, kind, weight = part[:4]
        if weight is None:
            limits.append(exactly(part))
            continue
        n = value.shape[0]
        # An equation may lack (first half) or exceed (second half).
        size = 2 * n if kind == "equal" else n
        slack = cp.Variable(size, nonneg=True, name=f"slack {label}")
        if kind == "least":
            limit = value + slack >= 0
        elif kind == "most":
            limit = value - slack == 0
        else:
            limit = value + slack[:n] - slack[n:] == 0
        limits.append(_labelled(limit, part))
        costs.append(price * (np.tile(weight, size // n) @ slack))
    return limits, costs
