"""Reading what a solver returned: its status where that is a proof, and residuals of our own.

Every number is recomputed from the returned point and multipliers and the compiled arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.solver.linear import column_bounds, row_bounds
from iirl_opt.solver.records import Clarabel, HiGHS, Residuals, Status

__all__ = ["HIGHS_STATUS", "READERS", "Answer", "kkt_residuals", "read_other"]

Array = NDArray[np.float64]
Run = Callable[..., Any]


@dataclass(frozen=True)
class Answer:
    """What a reader makes of a raw result; status None asks cvxpy, `raw` is what it may unpack.

    `relative` is the largest residual relative to the size of what it speaks of.
    """

    status: Status | None
    raw: Any
    residuals: Residuals | None = None
    relative: float = np.inf
    duals: bool = False
    bound_distance: float | None = None
    iterations: int = 0


HIGHS_STATUS = {
    "kOptimal": Status.OPTIMAL,
    "kInfeasible": Status.INFEASIBLE,
    "kUnbounded": Status.UNBOUNDED,
    "kTimeLimit": Status.LIMIT,
    "kIterationLimit": Status.LIMIT,
    "kSolutionLimit": Status.LIMIT,
    "kObjectiveBound": Status.LIMIT,
    "kObjectiveTarget": Status.LIMIT,
}


# The run whose statuses are the most reliable.
PLAIN = {"presolve": "off", "solver": "choose", "allow_unbounded_or_infeasible": False}


def _read_highs(raw: Any, data: Any, run: Run) -> Answer:
    """Read HiGHS's result, running it again where the first status is no proof."""
    name = raw["model_status"]
    if name == "kUnboundedOrInfeasible":
        raw = run(**PLAIN)
        name = raw["model_status"]
    status = HIGHS_STATUS.get(name, Status.FAILED)
    info = raw["info"]
    integer = bool(data.get("bool_vars_idx") or data.get("int_vars_idx"))
    iterations = sum(
        max(getattr(info, f"{kind}_iteration_count"), 0)
        for kind in ("simplex", "ipm", "crossover", "pdlp", "qp")
    )
    if status is Status.INFEASIBLE:
        if not integer and _is_farkas(raw, data):
            return Answer(status, raw, duals=True, iterations=iterations)
        again = run(**PLAIN)
        name = again["model_status"]
        if name != "kInfeasible":
            disputed = HIGHS_STATUS.get(name) is not Status.LIMIT
            status = Status.FAILED if disputed else Status.LIMIT
            return Answer(status, None, iterations=iterations)
        proved = not integer and _is_farkas(again, data)
        return Answer(status, again, duals=proved, iterations=iterations)
    if status is Status.UNBOUNDED or status is Status.FAILED:
        return Answer(status, raw if status is Status.UNBOUNDED else None, iterations=iterations)
    # HiGHS calls a point infeasible that misses its absolute tolerance by a hair when it is scaled
    # back; of an optimum our own residuals decide.
    usable = info.primal_solution_status == 2 or (status is Status.OPTIMAL and not integer)
    if not usable:
        return Answer(status, None, iterations=iterations)
    if integer:
        distance = float(info.objective_function_value - info.mip_dual_bound)
        return Answer(status, raw, bound_distance=distance, iterations=iterations)
    residuals, relative = _highs_residuals(raw, data)
    return Answer(status, raw, residuals, relative, duals=True, iterations=iterations)


def _highs_residuals(raw: Any, data: Any) -> tuple[Residuals, float]:
    """Return the KKT residuals of ``min ½x'Px + c'x`` with row and column bounds."""
    matrix, low, high = row_bounds(data)
    x = np.array(raw["solution"].col_value)
    y = np.array(raw["solution"].row_dual)
    cost = data["c"] if "c" in data else data["q"]
    curved = data["P"] @ x if data.get("P") is not None else np.zeros_like(x)
    return kkt_residuals(x, y, cost, matrix, (low, high), column_bounds(data, x.size), curved)


def kkt_residuals(
    x: Array,
    y: Array,
    cost: Array,
    matrix: Any,
    rows: tuple[Array, Array],
    columns: tuple[Array, Array],
    curved: ArrayLike = 0.0,
) -> tuple[Residuals, float]:
    """Return residuals of a point and multipliers y of the rows, and the largest relative one.

    For ``min c'x`` with bounds on ``A x`` and on x; y is the gain of the objective for one more
    unit of the bound that a row stands at. `curved` is the gradient of a quadratic part.
    """
    (low, high), (lower, upper) = rows, columns
    bend = np.broadcast_to(np.asarray(curved, dtype=float), x.shape)
    activity = matrix @ x
    reduced = cost + bend - matrix.T @ y
    off_rows, off_columns = _outside(activity, low, high), _outside(x, lower, upper)
    dual = max(_wrong_sign(y, low, high), _wrong_sign(reduced, lower, upper))
    products = [_slack_product(y, activity, low, high), _slack_product(reduced, x, lower, upper)]
    gap = float(abs(sum(part.sum() for part in products)))
    largest = max(float(np.abs(part).max(initial=0.0)) for part in products)
    residuals = Residuals(_largest(off_rows, off_columns), dual, largest, gap)
    primal = max(
        _largest(off_rows / (1 + _size(low, high))),
        _largest(off_columns / (1 + _size(lower, upper))),
    )
    return residuals, _relative(primal, dual, gap, cost, bend, x)


def _relative(
    primal: float, dual: float, gap: float, cost: Array, curved: Array, x: Array
) -> float:
    """Return the largest residual, the dual ones relative to the objective.

    The objective may be tiny: tolerances are absolute, and no solver sees costs below them.
    """
    slope = _largest(cost, curved) or 1.0
    value = abs(float((cost + curved / 2) @ x))
    return float(np.max([primal, dual / slope, gap / max(slope, value)]))


def _outside(values: Array, low: Array, high: Array) -> Array:
    return np.maximum(np.maximum(low - values, values - high), 0.0)


def _size(low: Array, high: Array) -> Array:
    """Return the magnitude of the finite ones of two bounds."""
    finite = (np.where(np.isinf(bound), 0.0, np.abs(bound)) for bound in (low, high))
    return np.maximum(*finite)


def _largest(*parts: Array) -> float:
    return max(float(np.abs(part).max(initial=0.0)) for part in parts)


def _wrong_sign(multipliers: Array, low: Array, high: Array) -> float:
    """Return by how much multipliers push against bounds that do not exist."""
    up = np.where(np.isinf(low), np.maximum(multipliers, 0.0), 0.0)
    down = np.where(np.isinf(high), np.maximum(-multipliers, 0.0), 0.0)
    return float(np.maximum(up, down).max(initial=0.0))


def _slack_product(multipliers: Array, values: Array, low: Array, high: Array) -> Array:
    """Return each multiplier times the distance to the bound that it speaks of."""
    bound = np.where(multipliers > 0, low, high)
    slack = np.where(np.isinf(bound), 0.0, values - np.where(np.isinf(bound), 0.0, bound))
    return multipliers * slack


def _is_farkas(raw: Any, data: Any) -> bool:
    """Return whether HiGHS's dual ray proves infeasibility, by our own arithmetic.

    For every x within the column bounds ``ray'A x`` would have to reach ``ray'(row bound)``, and
    cannot.
    """
    ray = raw.get("dual_ray")
    linear = "dims" in data or "row_lower" in data
    if not linear or ray is None or not ray[1] or not np.any(ray[2]):
        return False
    matrix, low, high = row_bounds(data)
    y = np.array(ray[2]) / np.abs(ray[2]).max()
    if _wrong_sign(y, low, high) > 1e-9:
        return False
    combined = matrix.T @ y
    lower, upper = column_bounds(data, combined.size)
    demand = np.where(y > 0, low, high)
    least = float(y[y != 0] @ demand[y != 0])
    reach = np.where(combined > 0, upper, lower)
    relevant = np.abs(combined) > 1e-9
    if np.isinf(reach[relevant]).any():
        return False
    return least > float(combined[relevant] @ reach[relevant]) + 1e-9


CLARABEL_STATUS = {
    "Solved": Status.OPTIMAL,
    "AlmostSolved": Status.FAILED,
    "PrimalInfeasible": Status.INFEASIBLE,
    "DualInfeasible": Status.UNBOUNDED,
    "MaxIterations": Status.LIMIT,
    "MaxTime": Status.LIMIT,
}


def _read_clarabel(raw: Any, data: Any, run: Run) -> Answer:
    """Read Clarabel's result; its infeasible answers come with a certificate of their own."""
    status = CLARABEL_STATUS.get(str(raw.status), Status.FAILED)
    if status in (Status.FAILED, Status.LIMIT):
        return Answer(status, None, iterations=raw.iterations)
    if status is not Status.OPTIMAL:
        return Answer(status, raw, iterations=raw.iterations)
    x, z, s = (np.array(v) for v in (raw.x, raw.z, raw.s))
    curved = data["P"] @ x if data.get("P") is not None else np.zeros_like(x)
    rows = data["A"] @ x + s - data["b"]
    dual = _largest(curved + data["c"] + data["A"].T @ z)
    gap = float(abs(s @ z))
    primal = _largest(rows / (1 + np.abs(data["b"]) + np.abs(s)))
    return Answer(
        status,
        raw,
        Residuals(_largest(rows), dual, gap, gap),
        _relative(primal, dual, gap, data["c"], curved, x),
        duals=True,
        iterations=raw.iterations,
    )


def read_other(raw: Any, data: Any, run: Run) -> Answer:
    """Leave the status to cvxpy: a solver that we do not know, or a program without variables."""
    return Answer(None, raw, duals=True)


READERS: Mapping[type, Callable[[Any, Any, Run], Answer]] = {
    HiGHS: _read_highs,
    Clarabel: _read_clarabel,
}
