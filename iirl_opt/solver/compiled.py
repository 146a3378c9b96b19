"""Problems ready to run: compiled by cvxpy's own chain, or read as plain linear programs."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import cvxpy as cp
import highspy
import numpy as np

from iirl_opt.solver.answers import HIGHS_STATUS
from iirl_opt.solver.linear import column_bounds, read_linear, row_bounds
from iirl_opt.solver.records import HiGHS, Solver, Status

__all__ = ["CVXPY_STATUS", "Compiled", "compile_problem", "highs_model", "quiet", "swallow_banner"]

# How cvxpy compiles: of its backends the one that was quickest on large sparse blocks.
BACKEND = "COO"


CVXPY_STATUS = {
    cp.OPTIMAL: Status.OPTIMAL,
    cp.INFEASIBLE: Status.INFEASIBLE,
    cp.UNBOUNDED: Status.UNBOUNDED,
    cp.USER_LIMIT: Status.LIMIT,
}


@dataclass(frozen=True, eq=False)
class Compiled:
    """A problem ready to run: by cvxpy's own chain, or as a plain linear program."""

    data: Any
    options: dict[str, Any]
    run: Callable[..., Any]
    unpack: Callable[[Any], None]


def compile_problem(
    problem: cp.Problem, chosen: Solver, start: Mapping[cp.Variable, Any] | None = None
) -> Compiled:
    """Return a problem ready for its solver: read directly where it is plain and HiGHS's.

    Values to start from are passed on where it is.
    """
    options = chosen.arguments()
    program = read_linear(problem) if isinstance(chosen, HiGHS) else None
    if program is not None:
        highs = objective_scale(program.data) | options["highs_options"]
        point = None if start is None else program.point(start)

        def run_linear(**changes: Any) -> Any:
            return run_highs(program.data, highs | changes, point)

        def unpack_linear(raw: Any) -> None:
            infeasible = raw["model_status"] == "kInfeasible"
            status = HIGHS_STATUS.get(raw["model_status"], Status.FAILED)
            word = next((k for k, v in CVXPY_STATUS.items() if v is status), cp.SOLVER_ERROR)
            ray = raw["dual_ray"][2] if infeasible else raw["solution"].row_dual
            y = -np.array(ray) if len(ray) else np.zeros(len(program.data["b"]))
            program.unpack(word, np.array(raw["solution"].col_value), y)

        return Compiled(program.data, {"highs_options": highs}, run_linear, unpack_linear)
    with quiet():
        data, chain, inverse = problem.get_problem_data(
            chosen.name, solver_opts=options, canon_backend=BACKEND
        )
    if isinstance(chosen, HiGHS) and problem.variables():
        options["highs_options"] = objective_scale(data) | options["highs_options"]

    def run(**changes: Any) -> Any:
        passed = dict(options)
        if "highs_options" in passed:
            passed["highs_options"] = passed["highs_options"] | changes
        with quiet():
            return chain.solve_via_data(problem, data, False, False, passed)

    def unpack(raw: Any) -> None:
        with quiet():
            problem.unpack_results(raw, chain, inverse)

    return Compiled(data, options, run, unpack)


def run_highs(
    data: Mapping[str, Any], options: Mapping[str, Any], start: Any = None
) -> dict[str, Any]:
    """Run HiGHS on a plain linear program and return what cvxpy's interface would.

    `start` is a point with which a mixed-integer program begins.
    """
    solver = highspy.Highs()
    solver.setOptionValue("log_to_console", False)
    for name, value in options.items():
        if solver.setOptionValue(name, value) == highspy.HighsStatus.kError:
            raise ValueError(f"HiGHS refuses the option {name} = {value!r}")
    solver.passModel(highs_model(data))
    if start is not None:
        point = highspy.HighsSolution()
        point.col_value = start
        solver.setSolution(point)
    solver.run()
    raw = {
        "solution": solver.getSolution(),
        "info": solver.getInfo(),
        "model_status": solver.getModelStatus().name,
    }
    if raw["model_status"] == "kInfeasible":
        raw["dual_ray"] = solver.getDualRay()
    return raw


def highs_model(data: Mapping[str, Any]) -> highspy.HighsModel:
    """Return a compiled linear program as a HiGHS model: its minimisation, without the offset."""
    model = highspy.HighsModel()
    program, matrix = model.lp_, data["A"].tocsc()
    program.num_row_, program.num_col_ = matrix.shape
    program.col_cost_ = data["c"]
    _, program.row_lower_, program.row_upper_ = row_bounds(data)
    program.col_lower_, program.col_upper_ = column_bounds(data, matrix.shape[1])
    whole = [*data["bool_vars_idx"], *data["int_vars_idx"]]
    if whole:
        kinds = [highspy.HighsVarType.kContinuous] * matrix.shape[1]
        for j in whole:
            kinds[j] = highspy.HighsVarType.kInteger
        program.integrality_ = kinds
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_, program.a_matrix_.index_ = matrix.indptr, matrix.indices
    program.a_matrix_.value_ = matrix.data
    return model


def objective_scale(data: Any) -> dict[str, int]:
    """Return the option by which HiGHS scales costs above a thousand or below a thousandth.

    Its tolerances are absolute: they swallow an objective of 1e-9, and none of 1e9 meets them.
    Large ones are scaled to a thousand only, so that small costs beside them still count.
    """
    parts = [data[key] for key in ("c", "q", "P") if data.get(key) is not None]
    largest = max((float(abs(part).max()) for part in parts if part.size), default=1.0)
    if largest == 0 or 1e-3 <= largest <= 1e3:
        return {}
    return {"user_objective_scale": round(np.log2((1e3 if largest > 1e3 else 1.0) / largest))}


@contextmanager
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@cache
def swallow_banner() -> None:
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
