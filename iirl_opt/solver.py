"""The one door to solvers: any cvxpy problem in, one `Solved` record out.

`solve` compiles the problem with cvxpy, runs a named solver on the compiled data and *recomputes*
feasibility, stationarity, complementarity and the duality gap from the numbers it returned. A
status that is no proof never passes for one:

* an infeasible answer is confirmed by its Farkas ray, or by a second run without presolve;
* "infeasible or unbounded" is resolved into one of the two by further runs, and so is "unbounded",
  which many solvers say of a program that has no feasible point either;
* an optimum whose residuals are too large, or a limit that came first, is no optimum.

HiGHS solves linear, mixed-integer and convex quadratic programs; `Clarabel`, or any other solver
that cvxpy knows through `Named`, solves the rest. The solver is always named, warm starts are off
(for linear programs they bring errors and no speed), nothing is printed and no warning leaks.
"""

from __future__ import annotations

import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import cvxpy as cp
import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack

from iirl_opt.errors import (
    Infeasible,
    InvalidArgument,
    LimitReached,
    SolverFailed,
    SolverProblem,
    Unbounded,
)
from iirl_opt.game.kernel import is_sparse
from iirl_opt.linear import read_linear

__all__ = [
    "Clarabel",
    "HiGHS",
    "LinearRows",
    "Named",
    "Residuals",
    "Solved",
    "Solver",
    "Status",
    "linear_rows",
    "solve",
    "write_program",
]

Array = NDArray[np.float64]

# How cvxpy compiles: of its backends the one that was quickest on large sparse blocks.
BACKEND = "COO"

# Recomputed residuals above this, each relative to the size of what it speaks of, are no optimum.
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
    tolerance : primal and dual feasibility, absolute (the dual one once a very large or small
        objective is scaled), and the relative gap of mixed-integer programs; 1e-10 … 1e-1. The
        default is tighter than HiGHS's own 1e-7, at which thin feasible sets gave objectives off by
        1e-4, and than its gap of 1e-4.
    time_limit : seconds ≥ 0, or None.
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
        _check_time_limit(self.time_limit)

    def arguments(self) -> dict[str, Any]:
        """Return the HiGHS options as cvxpy takes them."""
        options = {
            "solver": self.method,
            "primal_feasibility_tolerance": self.tolerance,
            "dual_feasibility_tolerance": self.tolerance,
            "mip_rel_gap": self.tolerance,
            "output_flag": False,
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
    tolerance : relative and absolute gap and feasibility, > 0.
    time_limit : seconds ≥ 0, or None.
    options : further Clarabel settings by name.
    """

    tolerance: float = 1e-9
    time_limit: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    name: str = field(default="CLARABEL", init=False)

    def __post_init__(self) -> None:
        if not 0 < self.tolerance < 1:
            raise InvalidArgument("tolerance", f"is {self.tolerance}", "0 < ε < 1", self.tolerance)
        _check_time_limit(self.time_limit)

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


def _check_time_limit(seconds: float | None) -> None:
    if seconds is not None and not seconds >= 0:
        raise InvalidArgument("time_limit", f"is {seconds}", "seconds ≥ 0, or None", seconds)


@dataclass(frozen=True)
class Residuals:
    """How well an answer meets the optimality conditions, computed by us from its numbers.

    All are absolute and in the units of the compiled program; the last three are None for
    mixed-integer programs, which have no duals, and for `Named` solvers.

    Attributes
    ----------
    primal : largest violation of a constraint, a bound or integrality.
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
    farkas : for an infeasible linear program a ray by constraint name that proves it, checked by
        us: the same combination of the constraints has no solution. None where none was found.
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
    ValueError, TypeError
        cvxpy names what it refuses: an option that the solver does not have, data that is NaN.

    **Cost** one program; a second or third run where the first answer is no proof.
    """
    chosen = HiGHS() if solver is None else solver
    _swallow_banner()
    began = time.perf_counter()
    compiled = _compile(problem, chosen)
    ready = time.perf_counter()
    read = READERS.get(type(chosen), _read_other) if problem.variables() else _read_other
    answer = read(compiled.run(), compiled.data, compiled.run)
    seconds = time.perf_counter() - ready
    status, value = _unpack(problem, compiled, answer)
    residuals, relative = answer.residuals, answer.relative
    if value is not None and residuals is None:
        violation, relative = _violation(problem)
        residuals = Residuals(violation)
    if status is Status.OPTIMAL and not relative <= ACCEPTED:
        status = Status.FAILED
    named = ((c.label or str(c), c.dual_value) for c in problem.constraints)
    # A ray that no reader has checked (its status is cvxpy's own) proves nothing.
    usable = value is not None or answer.status is Status.INFEASIBLE
    multipliers = _named(named) if answer.duals and usable else {}
    duals = {} if value is None else multipliers
    farkas: Mapping[str, Array] | None = (multipliers or None) if value is None else None
    if status is Status.UNBOUNDED:
        feasible = solve(cp.Problem(cp.Minimize(0), problem.constraints), chosen, throw=False)
        if feasible.status is not Status.OPTIMAL:
            status, farkas = feasible.status, feasible.farkas
        for variable in problem.variables():
            variable.save_value(None)
        seconds += feasible.seconds
    solved = Solved(
        status=status,
        value=value,
        primal={} if value is None else _named((v.name(), v.value) for v in problem.variables()),
        duals=duals,
        farkas=farkas,
        residuals=residuals,
        bound=_bound(problem, value, answer),
        solver=chosen.name,
        version=_version(chosen.name),
        options=compiled.options,
        compile_seconds=ready - began,
        seconds=seconds,
        iterations=answer.iterations,
    )
    if throw and status is not Status.OPTIMAL:
        raise EXCEPTIONS[status](solved)
    return solved


def write_program(problem: cp.Problem, path: str | Path, form: str | None = None) -> Path:
    """Write a linear program as an LP or MPS file, with the names of its variables and constraints.

    Columns are ``name(i)`` and rows ``label(i)``, in C order; brackets become parentheses.

    Parameters
    ----------
    form : ``".lp"`` or ``".mps"``; the suffix of `path` by default.

    Raises
    ------
    InvalidArgument
        Another form, or a problem that is not a linear program.
    """
    target = Path(path)
    kind = target.suffix if form is None else form
    if kind not in (".lp", ".mps"):
        raise InvalidArgument("form", f"is {kind!r}", ".lp or .mps", kind)
    try:
        data = _compile(problem, HiGHS()).data
    except cp.error.SolverError:
        raise InvalidArgument("problem", "is no linear program", "an LP", problem) from None
    if "dims" not in data or "c" not in data:
        raise InvalidArgument("problem", "is no linear program", "an LP", problem)
    _swallow_banner()
    model = _highs_model(data)
    model.lp_.col_names_ = [
        name
        for v in data.get("variables") or data["param_prob"].variables
        for name in _entry_names(v.name(), v.size)
    ]
    equal = [c for c in problem.constraints if isinstance(c, cp.constraints.Equality)]
    rest = [c for c in problem.constraints if not isinstance(c, cp.constraints.Equality)]
    rows = [n for c in equal + rest for n in _entry_names(c.label or str(c), c.size)]
    if len(rows) == model.lp_.num_row_ and len(set(rows)) == len(rows):
        model.lp_.row_names_ = rows
    solver = highspy.Highs()
    solver.setOptionValue("log_to_console", False)
    solver.passModel(model)
    # HiGHS picks the format by the suffix; write aside and move, so that no half file is left.
    part = target.with_name(f".{target.name}.part{kind}")
    if solver.writeModel(str(part)) == highspy.HighsStatus.kError:
        raise OSError(f"cannot write {target}")
    os.replace(part, target)
    return target


def _entry_names(name: str, size: int) -> list[str]:
    plain = re.sub(r"[^A-Za-z0-9_().]+", "_", name.replace("[", "(").replace("]", ")")).strip("_")
    plain = f"c_{plain}" if not plain or plain[0] in "eE.0123456789(" else plain
    return [plain] if size == 1 else [f"{plain}({i})" for i in range(size)]


def _highs_model(data: Mapping[str, Any]) -> highspy.HighsModel:
    """Return a compiled linear program as a HiGHS model: its minimisation, without the offset."""
    model = highspy.HighsModel()
    program, matrix = model.lp_, data["A"].tocsc()
    program.num_row_, program.num_col_ = matrix.shape
    program.col_cost_ = data["c"]
    _, program.row_lower_, program.row_upper_ = _rows(data)
    program.col_lower_, program.col_upper_ = _bounds(data, matrix.shape[1])
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_, program.a_matrix_.index_ = matrix.indptr, matrix.indices
    program.a_matrix_.value_ = matrix.data
    return model


class LinearRows(NamedTuple):
    """A polyhedron ``rows x ≤ bounds``, ``equal x = right``, dense."""

    rows: Array
    bounds: Array
    equal: Array
    right: Array


def linear_rows(constraints: Sequence[cp.Constraint], variable: cp.Variable) -> LinearRows:
    """Return the rows of linear constraints on one variable, flattened in C order.

    Raises
    ------
    InvalidArgument
        The constraints are not linear in this variable alone.

    **Cost** one compilation.
    """
    problem = cp.Problem(cp.Minimize(0), list(constraints))
    own = [v.id for v in problem.variables()] in ([], [variable.id])
    try:
        data = _compile(problem, HiGHS()).data
    except cp.error.SolverError:
        own = False
    if not own or (constraints and data["A"].shape[1] != variable.size):
        raise InvalidArgument("constraints", "need other variables", f"rows on {variable.name()}")
    if not constraints:
        empty = np.zeros((0, variable.size))
        return LinearRows(empty, np.zeros(0), empty, np.zeros(0))
    matrix, equal = data["A"].toarray(), data["dims"].zero
    if variable.ndim > 1:
        matrix = matrix[:, np.arange(variable.size).reshape(variable.shape, order="F").ravel()]
    return LinearRows(matrix[equal:], data["b"][equal:], matrix[:equal], data["b"][:equal])


@dataclass(frozen=True, eq=False)
class _Compiled:
    """A problem ready to run: by cvxpy's own chain, or as a plain linear program."""

    data: Any
    options: dict[str, Any]
    run: Callable[..., Any]
    unpack: Callable[[Any], None]


def _compile(problem: cp.Problem, chosen: Solver) -> _Compiled:
    options = chosen.arguments()
    program = read_linear(problem) if isinstance(chosen, HiGHS) else None
    if program is not None:
        highs = _objective_scale(program.data) | options["highs_options"]

        def run_linear(**changes: Any) -> Any:
            return _run_highs(program.data, highs | changes)

        def unpack_linear(raw: Any) -> None:
            infeasible = raw["model_status"] == "kInfeasible"
            status = HIGHS_STATUS.get(raw["model_status"], Status.FAILED)
            word = next((k for k, v in CVXPY_STATUS.items() if v is status), cp.SOLVER_ERROR)
            ray = raw["dual_ray"][2] if infeasible else raw["solution"].row_dual
            y = -np.array(ray) if len(ray) else np.zeros(len(program.data["b"]))
            program.unpack(word, np.array(raw["solution"].col_value), y)

        return _Compiled(program.data, {"highs_options": highs}, run_linear, unpack_linear)
    with _quiet():
        data, chain, inverse = problem.get_problem_data(
            chosen.name, solver_opts=options, canon_backend=BACKEND
        )
    if isinstance(chosen, HiGHS) and problem.variables():
        options["highs_options"] = _objective_scale(data) | options["highs_options"]

    def run(**changes: Any) -> Any:
        passed = dict(options)
        if "highs_options" in passed:
            passed["highs_options"] = passed["highs_options"] | changes
        with _quiet():
            return chain.solve_via_data(problem, data, False, False, passed)

    def unpack(raw: Any) -> None:
        with _quiet():
            problem.unpack_results(raw, chain, inverse)

    return _Compiled(data, options, run, unpack)


def _run_highs(data: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Run HiGHS on a plain linear program and return what cvxpy's interface would."""
    solver = highspy.Highs()
    solver.setOptionValue("log_to_console", False)
    for name, value in options.items():
        if solver.setOptionValue(name, value) == highspy.HighsStatus.kError:
            raise ValueError(f"HiGHS refuses the option {name} = {value!r}")
    solver.passModel(_highs_model(data))
    solver.run()
    raw = {
        "solution": solver.getSolution(),
        "info": solver.getInfo(),
        "model_status": solver.getModelStatus().name,
    }
    if raw["model_status"] == "kInfeasible":
        raw["dual_ray"] = solver.getDualRay()
    return raw


@dataclass(frozen=True)
class _Answer:
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


Run = Callable[..., Any]

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


def _read_highs(raw: Any, data: Any, run: Run) -> _Answer:
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
            return _Answer(status, raw, duals=True, iterations=iterations)
        again = run(**PLAIN)
        name = again["model_status"]
        if name != "kInfeasible":
            disputed = HIGHS_STATUS.get(name) is not Status.LIMIT
            status = Status.FAILED if disputed else Status.LIMIT
            return _Answer(status, None, iterations=iterations)
        proved = not integer and _is_farkas(again, data)
        return _Answer(status, again, duals=proved, iterations=iterations)
    if status is Status.UNBOUNDED or status is Status.FAILED:
        return _Answer(status, raw if status is Status.UNBOUNDED else None, iterations=iterations)
    feasible = info.primal_solution_status == 2
    if not feasible:
        return _Answer(status, None, iterations=iterations)
    if integer:
        distance = float(info.objective_function_value - info.mip_dual_bound)
        return _Answer(status, raw, bound_distance=distance, iterations=iterations)
    residuals, relative = _highs_residuals(raw, data)
    return _Answer(status, raw, residuals, relative, duals=True, iterations=iterations)


def _objective_scale(data: Any) -> dict[str, int]:
    """Return the option by which HiGHS scales costs above a thousand or below a thousandth.

    Its tolerances are absolute: they swallow an objective of 1e-9, and none of 1e9 meets them.
    Large ones are scaled to a thousand only, so that small costs beside them still count.
    """
    parts = [data[key] for key in ("c", "q", "P") if data.get(key) is not None]
    largest = max((float(abs(part).max()) for part in parts if part.size), default=1.0)
    if largest == 0 or 1e-3 <= largest <= 1e3:
        return {}
    return {"user_objective_scale": round(np.log2((1e3 if largest > 1e3 else 1.0) / largest))}


def _rows(data: Any) -> tuple[Any, Array, Array]:
    """Return (A, lower, upper) of a compiled linear or quadratic program."""
    if "F" in data:
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


def _highs_residuals(raw: Any, data: Any) -> tuple[Residuals, float]:
    """Return the KKT residuals of ``min ½x'Px + c'x`` with row and column bounds."""
    matrix, low, high = _rows(data)
    x = np.array(raw["solution"].col_value)
    y = np.array(raw["solution"].row_dual)
    cost = data["c"] if "c" in data else data["q"]
    curved = data["P"] @ x if data.get("P") is not None else np.zeros_like(x)
    activity = matrix @ x
    reduced = cost + curved - matrix.T @ y
    lower, upper = _bounds(data, x.size)
    rows, columns = _outside(activity, low, high), _outside(x, lower, upper)
    dual = max(_wrong_sign(y, low, high), _wrong_sign(reduced, lower, upper))
    products = [_slack_product(y, activity, low, high), _slack_product(reduced, x, lower, upper)]
    gap = float(abs(sum(part.sum() for part in products)))
    largest = max(float(np.abs(part).max(initial=0.0)) for part in products)
    residuals = Residuals(_largest(rows, columns), dual, largest, gap)
    primal = max(
        _largest(rows / (1 + _size(low, high))), _largest(columns / (1 + _size(lower, upper)))
    )
    return residuals, _relative(primal, dual, gap, cost, curved, x)


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
    rows = data["A"] @ x + s - data["b"]
    dual = _largest(curved + data["c"] + data["A"].T @ z)
    gap = float(abs(s @ z))
    primal = _largest(rows / (1 + np.abs(data["b"]) + np.abs(s)))
    return _Answer(
        status,
        raw,
        Residuals(_largest(rows), dual, gap, gap),
        _relative(primal, dual, gap, data["c"], curved, x),
        duals=True,
        iterations=raw.iterations,
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
    problem: cp.Problem, compiled: _Compiled, answer: _Answer
) -> tuple[Status, float | None]:
    """Give the variables their values; return the status and the value at a usable point."""
    status = answer.status
    if answer.raw is None:
        return status or Status.FAILED, None
    # cvxpy leaves the multipliers of an earlier call where this one brings none.
    for variable in (dual for c in problem.constraints for dual in c.dual_variables):
        variable.save_value(None)
    try:
        compiled.unpack(answer.raw)
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


def _violation(problem: cp.Problem) -> tuple[float, float]:
    """Return the largest violation of a constraint or of a variable's sign, bounds or integrality.

    The second number is relative to the size of the values that are compared.
    """
    with _quiet():
        pairs = [
            (c.violation(), [_dense(arg.value) for arg in c.args]) for c in problem.constraints
        ]
        for variable in problem.variables():
            value = _dense(variable.value)
            pairs.append((value - _dense(variable.project(value)), [value]))
    absolute = [float(np.max(np.abs(off), initial=0.0)) for off, _ in pairs]
    sizes = [max(float(np.max(np.abs(x), initial=0.0)) for x in values) for _, values in pairs]
    relative = [off / (1 + size) for off, size in zip(absolute, sizes, strict=True)]
    return float(np.max(absolute, initial=0.0)), float(np.max(relative, initial=0.0))


def _named(pairs: Iterator[tuple[str, Any]]) -> dict[str, Array]:
    """Return values by name, numbering the later of equal names; what has no value is left out."""
    out: dict[str, Array] = {}
    with _quiet():
        for name, value in pairs:
            if value is None:
                continue
            unique, count = str(name), 1
            while unique in out:
                count += 1
                unique = f"{name} ({count})"
            out[unique] = _dense(value)
    return out


def _dense(value: Any) -> Array:
    """Return a copy of a value as a dense array of floats, or of complex numbers."""
    array = np.array(value.toarray() if is_sparse(value) else value)
    return array if np.iscomplexobj(array) else array.astype(float)


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
    if sys.stdout is not None:
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
