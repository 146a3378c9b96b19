"""`solve`: any cvxpy problem in, one record out, and no status that passes for a proof."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from iirl_opt.errors import Infeasible, LimitReached, SolverFailed, SolverProblem, Unbounded
from iirl_opt.game.kernel import is_sparse
from iirl_opt.solver.answers import READERS, Answer, read_other
from iirl_opt.solver.compiled import (
    CVXPY_STATUS,
    Compiled,
    compile_problem,
    quiet,
    swallow_banner,
)
from iirl_opt.solver.records import HiGHS, Residuals, Solved, Solver, Status

__all__ = ["solve"]

Array = NDArray[np.float64]

# Recomputed residuals above this, each relative to the size of what it speaks of, are no optimum.
ACCEPTED = 1e-5


EXCEPTIONS: Mapping[Status, type[SolverProblem]] = {
    Status.INFEASIBLE: Infeasible,
    Status.UNBOUNDED: Unbounded,
    Status.LIMIT: LimitReached,
    Status.FAILED: SolverFailed,
}


def solve(
    problem: cp.Problem,
    solver: Solver | None = None,
    *,
    throw: bool = True,
    start: Mapping[cp.Variable, Any] | None = None,
) -> Solved:
    """Solve any cvxpy problem and return what was found, with recomputed residuals.

    Variables keep their values afterwards, as cvxpy users expect.

    Parameters
    ----------
    problem : a convex cvxpy problem; label constraints by ``constraint.set_label(name)`` to find
        their multipliers under that name.
    solver : `HiGHS` by default.
    throw : raise on every status but OPTIMAL; otherwise return the record.
    start : values of all variables, a point from which HiGHS begins a mixed-integer program that is
        plain (vectors and constant matrices); it saves time and changes no answer.

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
    swallow_banner()
    began = time.perf_counter()
    compiled = compile_problem(problem, chosen, start)
    ready = time.perf_counter()
    read = READERS.get(type(chosen), read_other) if problem.variables() else read_other
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


def _unpack(problem: cp.Problem, compiled: Compiled, answer: Answer) -> tuple[Status, float | None]:
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


def _bound(problem: cp.Problem, value: float | None, answer: Answer) -> float | None:
    """Return the solver's bound in the sense of the user's own objective."""
    if value is None or answer.bound_distance is None:
        return None
    maximised = isinstance(problem.objective, cp.Maximize)
    return value + answer.bound_distance if maximised else value - answer.bound_distance


def _violation(problem: cp.Problem) -> tuple[float, float]:
    """Return the largest violation of a constraint or of a variable's sign, bounds or integrality.

    The second number is relative to the size of the values that are compared.
    """
    with quiet():
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
    with quiet():
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
