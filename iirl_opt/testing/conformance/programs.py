"""Programs whose answers are known, on which solvers are tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

import cvxpy as cp
import numpy as np

from iirl_opt.solver.records import Status

__all__ = [
    "KNOWN",
    "PROGRAM_KINDS",
    "SMALL_COSTS",
    "Answered",
    "ProgramKind",
    "crossing_rows",
    "market_split",
]

ProgramKind: TypeAlias = Literal["linear", "quadratic", "mixed-integer", "second-order", "entropy"]
PROGRAM_KINDS: tuple[ProgramKind, ...] = get_args(ProgramKind)


@dataclass(frozen=True)
class Answered:
    """A program with its answer.

    Attributes
    ----------
    status : how it ends.
    value : its optimal value.
    point : its only optimal point, of the variable ``x``.
    duals : its only multipliers, of some constraints.
    ray : multipliers of rows, up to their size, of the only proof that there is no point.
    """

    title: str
    kind: ProgramKind
    make: Callable[[], cp.Problem]
    status: Status = Status.OPTIMAL
    value: float | None = None
    point: Any = None
    duals: Mapping[str, float] = field(default_factory=dict)
    ray: Mapping[str, Any] = field(default_factory=dict)


def _program(
    goal: Callable[[Any], Any], rows: Callable[[Any], Mapping[str, Any]], n: int = 2, **kind: bool
) -> Callable[[], cp.Problem]:
    """Return what makes a program in a variable ``x`` of n entries, with rows by name."""

    def make() -> cp.Problem:
        x = cp.Variable(n, name="x", **kind)
        return cp.Problem(goal(x), [row.set_label(name) for name, row in rows(x).items()])

    return make


def _transport() -> cp.Problem:
    x = cp.Variable((2, 2), nonneg=True, name="x")
    cost = np.array([[1.0, 2.0], [4.0, 1.0]])
    supply, demand = cp.sum(x, axis=1) <= [5, 3], cp.sum(x, axis=0) >= [3, 5]
    rows = [supply.set_label("supply"), demand.set_label("demand")]
    return cp.Problem(cp.Minimize(cp.sum(cp.multiply(cost, x))), rows)


WEIGHTS = np.array([0.0, 1.0, 2.0])
LOG_SUM = float(np.log(np.exp(WEIGHTS).sum()))

KNOWN = (
    Answered("transport", "linear", _transport, value=10, point=[[3, 2], [0, 3]]),
    Answered(
        "free variables and an equation",
        "linear",
        _program(
            lambda x: cp.Maximize(x[0] - 2 * x[1] + 7),
            lambda x: {"equal": x[0] + x[1] == 1, "low": x >= -2},
        ),
        value=14,
        point=[3, -2],
    ),
    Answered(
        "two rows that contradict each other",
        "linear",
        _program(
            lambda x: cp.Minimize(cp.sum(x)),
            lambda x: {"low": x[0] >= 2, "high": x[0] <= 1, "sign": x >= 0},
        ),
        Status.INFEASIBLE,
        ray={"low": 1, "high": 1, "sign": [0, 0]},
    ),
    Answered(
        "each entry less than the mean of the others, and no bound without these rows",
        "linear",
        _program(
            lambda x: cp.Minimize(cp.sum(x)),
            lambda x: {f"row {i}": x[i] <= (cp.sum(x) - x[i]) / 2 - 1 for i in range(3)},
            3,
        ),
        Status.INFEASIBLE,
        ray={"row 0": 1, "row 1": 1, "row 2": 1},
    ),
    Answered(
        "a row against the signs",
        "linear",
        _program(
            lambda x: cp.Minimize(0 * x[0]), lambda x: {"negative": cp.sum(x) <= -1}, nonneg=True
        ),
        Status.INFEASIBLE,
        ray={"negative": 1},
    ),
    Answered(
        "nothing that bounds the sum",
        "linear",
        _program(
            lambda x: cp.Maximize(cp.sum(x)), lambda x: {"apart": x[1] - x[0] >= 1, "sign": x >= 0}
        ),
        Status.UNBOUNDED,
    ),
    Answered(
        "least squares",
        "quadratic",
        _program(
            lambda x: cp.Minimize(cp.sum_squares(x)),
            lambda x: {"sum": cp.sum(x) == 1, "cap": x[0] <= 0.25},
        ),
        value=0.625,
        point=[0.25, 0.75],
        duals={"sum": -1.5, "cap": 1.0},
    ),
    Answered(
        "least squares over nothing",
        "quadratic",
        _program(
            lambda x: cp.Minimize(cp.sum_squares(x)),
            lambda x: {"sum": cp.sum(x) == 1, "low": x >= 1},
        ),
        Status.INFEASIBLE,
    ),
    Answered(
        "a knapsack",
        "mixed-integer",
        _program(
            lambda x: cp.Maximize(np.array([3.0, 5, 7, 2, 8, 6, 4, 9]) @ x),
            lambda x: {"weight": np.array([2.0, 3, 6, 1, 7, 5, 3, 8]) @ x <= 16},
            8,
            boolean=True,
        ),
        value=22,
    ),
    Answered(
        "an odd number as twice a whole one, and no bound without that",
        "mixed-integer",
        _program(
            lambda x: cp.Maximize(x[2]),
            lambda x: {"odd": 2 * x[0] - 4 * x[1] == 1, "low": x >= 0, "high": x[:2] <= 9},
            3,
            integer=True,
        ),
        Status.INFEASIBLE,
    ),
    Answered(
        "whole numbers without end",
        "mixed-integer",
        _program(lambda x: cp.Maximize(x[0]), lambda x: {"low": x >= 1}, integer=True),
        Status.UNBOUNDED,
    ),
    Answered(
        "the shortest vector",
        "second-order",
        _program(lambda x: cp.Minimize(cp.norm(x)), lambda x: {"sum": cp.sum(x) == 1}, 4),
        value=0.5,
        point=[0.25] * 4,
        duals={"sum": -0.5},
    ),
    Answered(
        "the largest entropy",
        "entropy",
        _program(
            lambda x: cp.Maximize(cp.sum(cp.entr(x)) + WEIGHTS @ x),
            lambda x: {"sum": cp.sum(x) == 1},
            3,
        ),
        value=LOG_SUM,
        point=np.exp(WEIGHTS - LOG_SUM),
        # Stationarity of −entropy − w·x + ν(Σx − 1).
        duals={"sum": LOG_SUM - 1},
    ),
)


# Costs, the upper bound of both variables, and the least value.
SMALL_COSTS = (
    ((-1e-6, 1.0), 1e5, -0.1),
    ((-1e-10, 1.0), 1e6, -1e-4),
    ((-(2.0**-20), 2.0**-21), 1.0, -(2.0**-20)),
    ((-(2.0**-40), 2.0**-41), 1.0, -(2.0**-40)),
    ((-(2.0**20), 2.0**21), 1.0, -(2.0**20)),
    ((-(2.0**40), 2.0**41), 1.0, -(2.0**40)),
)


def market_split() -> cp.Problem:
    """Return a small mixed-integer program that takes longer than any limit."""
    weights = np.random.default_rng(3).integers(0, 100, (5, 40))
    take, off = cp.Variable(40, boolean=True), cp.Variable((5, 2), nonneg=True)
    split = weights @ take + off[:, 0] - off[:, 1] == weights.sum(axis=1) // 2
    return cp.Problem(cp.Minimize(cp.sum(off)), [split])


def crossing_rows() -> cp.Problem:
    """Return a linear program that takes some steps."""
    rng = np.random.default_rng(0)
    x = cp.Variable(30, nonneg=True)
    goal = cp.Maximize(rng.uniform(1, 2, 30) @ x)
    return cp.Problem(goal, [rng.uniform(0, 1, (30, 30)) @ x <= 1])
