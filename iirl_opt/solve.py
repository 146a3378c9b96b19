"""The one door to solvers: any cvxpy problem in, one `Solved` record out.

`solve` compiles the problem with cvxpy, runs a named solver on the compiled data and *recomputes*
feasibility, stationarity, complementarity and the duality gap from the numbers it returned. A
status that is no proof never passes for one:

* an infeasible answer is confirmed by its Farkas ray, or by a second run without presolve;
* "infeasible or unbounded" is resolved into one of the two by further runs;
* an optimum whose residuals are too large, or a limit that came first, is no optimum.

HiGHS solves linear, mixed-integer and convex quadratic programs; `Clarabel`, or any other solver
that cvxpy knows through `Named`, solves the rest. The solver is always named, warm starts are off
(for linear programs they bring errors and no speed), nothing is printed and no warning leaks.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from importlib.metadata import version
from types import MappingProxyType
from typing import Any, Literal, Protocol

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from iirl_opt.errors import (
    Infeasible,
    InvalidArgument,
    LimitReached,
    SolverFailed,
    SolverProblem,
    Unbounded,
)

__all__ = ["Clarabel", "HiGHS", "Named", "Residuals", "Solved", "Solver", "Status", "solve"]

Array = NDArray[np.float64]

# How cvxpy compiles: of its backends the one that was quickest on large sparse blocks.
BACKEND = "COO"

# Recomputed residuals above this, relative to the size of the data, are no optimum.
ACCEPTED = 1e-5


class Status(Enum):
    """How a solver call ended; the value of each member is advice."""

    OPTIMAL = "An optimum within the tolerances: see the residuals."
    INFEASIBLE = (
        "No point meets all constraints. The Farkas ray in `farkas`, where there is one, names "
        "constraints that contradict each other: drop or relax one of those."
    )
    UNBOUNDED = (
        "The objective has no bound over the constraints: bound the variables. A cone of rewards "
        "needs a simplex or a box."
    )
    LIMIT = (
        "A time or iteration limit came first: raise it, or use `value` and `bound` as they are."
    )
    FAILED = (
        "The solver gave up, or its numbers failed our own check: rescale the data, loosen the "
        "tolerance, or try another method or solver."
    )

    @property
    def advice(self) -> str:
        """What the status means and what to do next."""
        return self.value


EXCEPTIONS: Mapping[Status, type[SolverProblem]] = {
    Status.INFEASIBLE: Infeasible,
    Status.UNBOUNDED: Unbounded,
    Status.LIMIT: LimitReached,
    Status.FAILED: SolverFailed,
}


class Solver(Protocol):
    """What `solve` needs to know of a solver: its cvxpy name and its arguments there."""

    @property
    def name(self) -> str:
        """The name under which cvxpy knows the solver."""
        ...

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments that cvxpy passes to the solver."""
        ...


@dataclass(frozen=True)
class HiGHS:
    """HiGHS: linear, mixed-integer and convex quadratic programs.

    Parameters
    ----------
    method : ``"choose"`` (dual simplex), ``"simplex"``, ``"ipm"`` or ``"pdlp"``.
    tolerance : primal and dual feasibility, absolute; 1e-10 … 1e-1. The default is tighter than
        HiGHS's own 1e-7, at which thin feasible sets gave objectives off by 1e-4.
    time_limit : seconds, or None.
    presolve : whether HiGHS may simplify the program first.
    options : further HiGHS options by name.
    """

    method: Literal["choose", "simplex", "ipm", "pdlp"] = "choose"
    tolerance: float = 1e-9
    time_limit: float | None = None
    presolve: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)
    name: str = field(default="HIGHS", init=False)

    def __post_init__(self) -> None:
        if self.method not in ("choose", "simplex", "ipm", "pdlp"):
            raise InvalidArgument(
                "method", f"is {self.method!r}", "choose, simplex, ipm, pdlp", self.method
            )
        if not 1e-10 <= self.tolerance <= 1e-1:
            raise InvalidArgument(
                "tolerance", f"is {self.tolerance}", "1e-10 … 0.1", self.tolerance
            )

    def arguments(self) -> dict[str, Any]:
        """Return the HiGHS options as cvxpy takes them."""
        options = {
            "solver": self.method,
            "primal_feasibility_tolerance": self.tolerance,
            "dual_feasibility_tolerance": self.tolerance,
            "presolve": "on" if self.presolve else "off",
        }
        if self.time_limit is not None:
            options["time_limit"] = float(self.time_limit)
        return {"highs_options": options | dict(self.options)}


@dataclass(frozen=True)
class Clarabel:
    """Clarabel: conic programs (entropies, norms, semidefinite) by an interior-point method.

    Parameters
    ----------
    tolerance : relative and absolute gap and feasibility.
    time_limit : seconds, or None.
    options : further Clarabel settings by name.
    """

    tolerance: float = 1e-9
    time_limit: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    name: str = field(default="CLARABEL", init=False)

    def arguments(self) -> dict[str, Any]:
        """Return the Clarabel settings as cvxpy takes them."""
        limit = {} if self.time_limit is None else {"time_limit": float(self.time_limit)}
        tolerances = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), self.tolerance)
        return tolerances | limit | dict(self.options)


@dataclass(frozen=True)
class Named:
    """Any other solver that cvxpy has, by its cvxpy name, with options passed on as they are."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        """Return the options as given."""
        return dict(self.options)


@dataclass(frozen=True)
class Residuals:
    """How well an answer meets the optimality conditions, computed by us from its numbers.

    All are absolute and in the units of the compiled program; the last three are None where the
    solver returns no duals (mixed-integer programs).

    Attributes
    ----------
    primal : largest violation of a constraint or bound.
    dual : largest violation of stationarity or of a multiplier's sign.
    complementarity : largest product of a multiplier and its slack.
    gap : difference of the primal and the dual objective.
    """

    primal: float
    dual: float | None = None
    complementarity: float | None = None
    gap: float | None = None

    def largest(self) -> float:
        """Return the largest of the residuals that are known."""
        parts = (self.primal, self.dual, self.complementarity, self.gap)
        return max(part for part in parts if part is not None)


@dataclass(frozen=True, eq=False)
class Solved:
    """What a solver call brought; nothing is stored on the problem but the variables' values.

    Attributes
    ----------
    status : how it ended, with advice.
    value : the objective at the returned point, or None without a point.
    primal : values by variable name.
    duals : multipliers by constraint name (its label where set), in cvxpy's sign: ≥ 0 for
        inequalities. Empty for mixed-integer programs.
    farkas : for an infeasible linear program a ray by constraint name that proves it: the same
        combination of the constraints has no solution. None where none was found.
    residuals : recomputed by us; None without a point.
    bound : for mixed-integer programs the solver's bound on the optimal value (its word, not ours).
    solver, version, options : what ran.
    compile_seconds, seconds : in cvxpy, and in the solver (all runs).
    iterations : of the solver.
    """

    status: Status
    value: float | None
    primal: Mapping[str, Array]
    duals: Mapping[str, Array]
    farkas: Mapping[str, Array] | None
    residuals: Residuals | None
    bound: float | None
    solver: str
    version: str
    options: Mapping[str, Any]
    compile_seconds: float
    seconds: float
    iterations: int

    def __repr__(self) -> str:
        residual = "" if self.residuals is None else f", residuals ≤ {self.residuals.largest():.1e}"
        value = "" if self.value is None else f", value {self.value:.9g}"
        return (
            f"Solved({self.status.name}{value}{residual}, {self.solver} {self.version}, "
            f"{self.iterations} iterations, {self.seconds:.3g} s)"
        )


def solve(problem: cp.Problem, solver: Solver | None = None, *, throw: bool = True) -> Solved:
    """Solve any cvxpy problem and return what was found, with recomputed residuals.

    Variables keep their values afterwards, as cvxpy users expect.

    Parameters
    ----------
    problem : a convex cvxpy problem; label constraints by ``constraint.set_label(name)`` to find
        their multipliers under that name.
    solver : `HiGHS` by default.
    throw : raise on every status but OPTIMAL; otherwise return the record.

    Raises
    ------
    Infeasible, Unbounded, LimitReached, SolverFailed
        Each carries the `Solved` record.
    cvxpy.error.SolverError, cvxpy.error.DCPError
        The solver is not installed or cannot take the problem; the problem is not convex.

    **Cost** one program; a second or third run where the first answer is no proof.
    """
    chosen = HiGHS() if solver is None else solver
    _swallow_banner()
    began = time.perf_counter()
    with _quiet():
        data, chain, inverse = problem.get_problem_data(chosen.name, solver_opts=chosen.arguments())
    compiled = time.perf_counter()

    def run(**changes: Any) -> Any:
        options = chosen.arguments()
        options.get("highs_options", options).update(changes)
        with _quiet():
            return chain.solve_via_data(problem, data, False, False, options)

    read = READERS.get(type(chosen), _read_other) if problem.variables() else _read_other
    answer = read(run(), data, run)
    seconds = time.perf_counter() - compiled
    status, value = _unpack(problem, chain, inverse, answer)
    residuals = answer.residuals
    if value is not None and residuals is None:
        residuals = Residuals(_violation(problem))
    if status is Status.OPTIMAL and (
        residuals is None or residuals.largest() > ACCEPTED * _scale(data, value)
    ):
        status = Status.FAILED
    infeasible = status is Status.INFEASIBLE
    named = ((c.label or c.name(), c.dual_value) for c in problem.constraints)
    multipliers = _named(named) if answer.duals and (infeasible or value is not None) else {}
    solved = Solved(
        status=status,
        value=value,
        primal={} if value is None else _named((v.name(), v.value) for v in problem.variables()),
        duals={} if infeasible else multipliers,
        farkas=multipliers if infeasible and multipliers else None,
        residuals=residuals,
        bound=_bound(problem, value, answer),
        solver=chosen.name,
        version=_version(chosen.name),
        options=MappingProxyType(chosen.arguments()),
        compile_seconds=compiled - began,
        seconds=seconds,
        iterations=answer.iterations,
    )
    if throw and status is not Status.OPTIMAL:
        raise EXCEPTIONS[status](solved)
    return solved


@dataclass(frozen=True)
class _Answer:
    """What a reader makes of a raw result; status None asks cvxpy, `raw` is what it may unpack."""

    status: Status | None
    raw: Any
    residuals: Residuals | None = None
    duals: bool = False
    bound_distance: float | None = None
    iterations: int = 0


Run = Callable[..., Any]

HIGHS_STATUS = {
    "kOptimal": Status.OPTIMAL,
    "kInfeasible": Status.INFEASIBLE,
    "kUnbounded": Status.UNBOUNDED,
    "kTimeLimit": Status.LIMIT,
    "kIterationLimit": Status.LIMIT,
    "kSolutionLimit": Status.LIMIT,
    "kInterrupt": Status.LIMIT,
}


def _read_highs(raw: Any, data: Any, run: Run) -> _Answer:
    """Read HiGHS's result, running it again where the first status is no proof."""
    name = raw["model_status"]
    if name == "kUnboundedOrInfeasible":
        raw = run(presolve="off")
        name = raw["model_status"]
    status = HIGHS_STATUS.get(name, Status.FAILED)
    info = raw["info"]
    integer = bool(data.get("bool_vars_idx") or data.get("int_vars_idx"))
    iterations = sum(
        max(getattr(info, f"{kind}_iteration_count"), 0)
        for kind in ("simplex", "ipm", "crossover", "pdlp", "qp")
    )
    if status is Status.INFEASIBLE:
        if integer:
            return _Answer(status, raw, iterations=iterations)
        if _is_farkas(raw, data):
            return _Answer(status, raw, duals="A" in data and "c" in data, iterations=iterations)
        again = run(presolve="off", solver="simplex")
        if again["model_status"] != "kInfeasible":
            return _Answer(Status.FAILED, None, iterations=iterations)
        return _Answer(status, again, duals=_is_farkas(again, data), iterations=iterations)
    if status is Status.UNBOUNDED or status is Status.FAILED:
        return _Answer(status, raw if status is Status.UNBOUNDED else None, iterations=iterations)
    feasible = info.primal_solution_status == 2
    if not feasible:
        return _Answer(status, None, iterations=iterations)
    if integer:
        distance = float(info.objective_function_value - info.mip_dual_bound)
        return _Answer(status, raw, bound_distance=distance, iterations=iterations)
    return _Answer(status, raw, _highs_residuals(raw, data), duals=True, iterations=iterations)


def _rows(data: Any) -> tuple[Any, Array, Array]:
    """Return (A, lower, upper) of a compiled linear or quadratic program."""
    if "F" in data:
        from scipy.sparse import vstack

        matrix: Any = vstack([data["A"], data["F"]], format="csc")
        lower = np.concatenate([data["b"], np.full(len(data["G"]), -np.inf)])
        return matrix, lower, np.concatenate([data["b"], data["G"]])
    equal = data["dims"].zero
    lower = np.concatenate([data["b"][:equal], np.full(len(data["b"]) - equal, -np.inf)])
    return data["A"], lower, data["b"]


def _bounds(data: Any, n: int) -> tuple[Array, Array]:
    lower, upper = data.get("lower_bounds"), data.get("upper_bounds")
    return (
        np.full(n, -np.inf) if lower is None else np.asarray(lower, dtype=float),
        np.full(n, np.inf) if upper is None else np.asarray(upper, dtype=float),
    )


def _highs_residuals(raw: Any, data: Any) -> Residuals:
    """Return the KKT residuals of ``min ½x'Px + c'x`` with row and column bounds."""
    matrix, low, high = _rows(data)
    x = np.array(raw["solution"].col_value)
    y = np.array(raw["solution"].row_dual)
    cost = data["c"] if "c" in data else data["q"]
    curved = data["P"] @ x if data.get("P") is not None else np.zeros_like(x)
    activity = matrix @ x
    reduced = cost + curved - matrix.T @ y
    lower, upper = _bounds(data, x.size)
    primal = max(_outside(activity, low, high), _outside(x, lower, upper))
    dual = max(_wrong_sign(y, low, high), _wrong_sign(reduced, lower, upper))
    products = [_slack_product(y, activity, low, high), _slack_product(reduced, x, lower, upper)]
    gap = abs(sum(part.sum() for part in products))
    largest = max(float(np.abs(part).max(initial=0.0)) for part in products)
    return Residuals(primal, dual, largest, float(gap))


def _outside(values: Array, low: Array, high: Array) -> float:
    return float(np.maximum(low - values, values - high).max(initial=0.0))


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
    if "dims" not in data or ray is None or not ray[1] or not np.any(ray[2]):
        return False
    matrix, low, high = _rows(data)
    y = np.array(ray[2]) / np.abs(ray[2]).max()
    if _wrong_sign(y, low, high) > 1e-9:
        return False
    combined = matrix.T @ y
    lower, upper = _bounds(data, combined.size)
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


def _read_clarabel(raw: Any, data: Any, run: Run) -> _Answer:
    """Read Clarabel's result; its infeasible answers come with a certificate of their own."""
    status = CLARABEL_STATUS.get(str(raw.status), Status.FAILED)
    if status in (Status.FAILED, Status.LIMIT):
        return _Answer(status, None, iterations=raw.iterations)
    if status is not Status.OPTIMAL:
        return _Answer(status, raw, iterations=raw.iterations)
    x, z, s = (np.array(v) for v in (raw.x, raw.z, raw.s))
    curved = data["P"] @ x if data.get("P") is not None else np.zeros_like(x)
    primal = float(np.abs(data["A"] @ x + s - data["b"]).max(initial=0.0))
    dual = float(np.abs(curved + data["c"] + data["A"].T @ z).max(initial=0.0))
    gap = float(abs(s @ z))
    return _Answer(
        status, raw, Residuals(primal, dual, gap, gap), duals=True, iterations=raw.iterations
    )


def _read_other(raw: Any, data: Any, run: Run) -> _Answer:
    """Leave the status to cvxpy: a solver that we do not know, or a program without variables."""
    return _Answer(None, raw, duals=True)


READERS: Mapping[type, Callable[[Any, Any, Run], _Answer]] = {
    HiGHS: _read_highs,
    Clarabel: _read_clarabel,
}


CVXPY_STATUS = {
    cp.OPTIMAL: Status.OPTIMAL,
    cp.INFEASIBLE: Status.INFEASIBLE,
    cp.UNBOUNDED: Status.UNBOUNDED,
    cp.USER_LIMIT: Status.LIMIT,
}


def _unpack(
    problem: cp.Problem, chain: Any, inverse: Any, answer: _Answer
) -> tuple[Status, float | None]:
    """Give the variables their values; return the status and the value at a usable point."""
    status = answer.status
    if answer.raw is None:
        return status or Status.FAILED, None
    try:
        with _quiet():
            problem.unpack_results(answer.raw, chain, inverse)
    except cp.error.SolverError:
        return Status.FAILED, None
    status = status or CVXPY_STATUS.get(problem.status, Status.FAILED)
    usable = status in (Status.OPTIMAL, Status.LIMIT) and problem.value is not None
    return status, float(problem.value) if usable else None


def _bound(problem: cp.Problem, value: float | None, answer: _Answer) -> float | None:
    """Return the solver's bound in the sense of the user's own objective."""
    if value is None or answer.bound_distance is None:
        return None
    maximised = isinstance(problem.objective, cp.Maximize)
    return value + answer.bound_distance if maximised else value - answer.bound_distance


def _violation(problem: cp.Problem) -> float:
    violations = [np.max(np.abs(c.violation()), initial=0.0) for c in problem.constraints]
    return float(max(violations, default=0.0))


def _scale(data: Any, value: float | None) -> float:
    size = float(np.abs(data["b"]).max(initial=0.0)) if isinstance(data, dict) else 0.0
    return 1.0 + max(size, abs(value or 0.0))


def _named(pairs: Iterator[tuple[str, Any]]) -> dict[str, Array]:
    """Return values by name, numbering the later of equal names; what has no value is left out."""
    out: dict[str, Array] = {}
    for name, value in pairs:
        if value is None:
            continue
        unique, count = str(name), 1
        while unique in out:
            count += 1
            unique = f"{name} ({count})"
        out[unique] = np.array(value, dtype=float)
    return out


@cache
def _version(solver: str) -> str:
    package = {"HIGHS": "highspy"}.get(solver, solver.lower())
    try:
        return version(package)
    except ModuleNotFoundError:
        return "unknown"


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@cache
def _swallow_banner() -> None:
    """Run HiGHS once with file descriptor 1 closed off: its first run prints a banner there."""
    import highspy

    sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:
        return
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            highspy.Highs().run()
    finally:
        os.dup2(kept, 1)
        os.close(kept)
