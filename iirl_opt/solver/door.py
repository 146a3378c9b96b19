"""`solve`: any cvxpy problem in, one record out, and no status that passes for a proof."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import FLAG, MAPPING, checked
from iirl_opt.errors import (
    Infeasible,
    Interrupted,
    InvalidArgument,
    LimitReached,
    SolverFailed,
    SolverProblem,
    Unbounded,
)
from iirl_opt.solver.banner import swallow_banner
from iirl_opt.solver.call import objective_scale
from iirl_opt.solver.compiled import Compiled, Other, compile_other, compile_problem, quiet
from iirl_opt.solver.conic import CLARABEL_STATUS, CVXPY_STATUS, clarabel_quality
from iirl_opt.solver.foreign import answer_of, as_dense, rows_hold, violation
from iirl_opt.solver.log import aloud, report
from iirl_opt.solver.names import STRUCTURAL, about, is_called, labels_of, unique_names
from iirl_opt.solver.program import Quality
from iirl_opt.solver.records import (
    SOLVER,
    Clarabel,
    ConflictingRow,
    HiGHS,
    Solved,
    Solver,
    Status,
)
from iirl_opt.solver.rules import PROGRAM
from iirl_opt.solver.settle import Settlement, settle

__all__ = ["crossing", "raised", "recorded", "solve", "version_of"]

Array = NDArray[np.float64]

# What other solvers than HiGHS may be off, of the scale of what it speaks of; beyond, no optimum.
ACCEPTED_OTHER = 1e-5

EXCEPTIONS: Mapping[Status, type[SolverProblem]] = {
    Status.INFEASIBLE: Infeasible,
    Status.UNBOUNDED: Unbounded,
    Status.LIMIT: LimitReached,
    Status.FAILED: SolverFailed,
}


@checked(problem=PROGRAM, solver=SOLVER, throw=FLAG, initial=MAPPING, basis=MAPPING, verbose=FLAG)
def solve(
    problem: cp.Problem,
    solver: Solver | str | None = None,
    *,
    throw: bool = True,
    initial: Mapping[cp.Variable, Any] | None = None,
    basis: Mapping[str, ArrayLike] | None = None,
    verbose: bool = False,
) -> Solved:
    """Solve any cvxpy problem and return what was found, with recomputed residuals.

    Variables keep their values afterwards, as cvxpy users expect.

    Parameters
    ----------
    problem : a convex cvxpy problem; label constraints by ``constraint.set_label(name)`` to find
        their multipliers under that name.
    solver : `HiGHS` by default; another, or the name of one that cvxpy has installed, in upper or
        lower case: ``"clarabel"``.
    throw : raise on every status but OPTIMAL; otherwise return the record.
    initial : values of all variables, a point from which HiGHS begins a mixed-integer program that
        is plain (vectors and constant matrices); it saves time and changes no answer.
    basis : where HiGHS's simplex method begins a plain linear program: by the name of a variable or
        of a constraint, a mask of what is basic in it, or one flag for all. Variables left out are
        not basic, constraints are; as many are as there are rows. It saves time, and may change
        which of several optima is found. For every other problem, and by other solvers, neither
        `initial` nor `basis` is used, or looked at.
    verbose : show the solver's own log on the standard output. A line a solve goes to the logger
        ``iirl_opt.solver`` in any case.

    Raises
    ------
    Infeasible, Unbounded, LimitReached, SolverFailed
        Each carries the `Solved` record.
    Interrupted
        Ctrl-C, whatever `throw` says; a `KeyboardInterrupt` that carries the record.
    InvalidArgument
        No problem; no solver: names those that are installed; an option that the solver does not
        have, or a value of one that it does not take; data that are NaN; a basis that a plain
        problem cannot have; both a point and a basis.
    cvxpy.error.SolverError, cvxpy.error.DCPError
        The solver cannot take the problem; the problem is not convex.

    **Cost** one program; some more where the first answer is no proof.

    Examples
    --------
    >>> x = cp.Variable(2, name="x")
    >>> budget = (cp.sum(x) <= 1).set_label("budget")
    >>> solved = solve(cp.Problem(cp.Maximize(x[0] + 2 * x[1]), [budget, x >= 0]))
    >>> solved.status.name, round(solved.value, 6), round(float(solved.duals["budget"]), 6)
    ('OPTIMAL', 2.0, 2.0)
    """
    if initial is not None and basis is not None:
        raise InvalidArgument("initial", "is given beside a basis", "one of the two", initial)
    chosen = HiGHS() if solver is None else SOLVER("solver", solver)
    chosen = aloud(chosen) if verbose else chosen
    swallow_banner()
    if isinstance(chosen, HiGHS) and problem.variables():
        solved, cause = _by_highs(problem, chosen, initial, basis)
    else:
        solved, cause = _by_other(problem, chosen, verbose=verbose), None
    return raised(solved, cause, throw=throw)


def raised(solved: Solved, cause: BaseException | None, *, throw: bool) -> Solved:
    """Return a record, or raise what belongs to its status, or what a signal raised meanwhile."""
    if isinstance(cause, KeyboardInterrupt):
        raise Interrupted(solved) from cause
    if cause is not None:
        raise cause
    if throw and solved.status is not Status.OPTIMAL:
        raise EXCEPTIONS[solved.status](solved)
    return solved


def _by_highs(
    problem: cp.Problem,
    chosen: HiGHS,
    initial: Mapping[cp.Variable, Any] | None,
    basis: Mapping[str, ArrayLike] | None,
) -> tuple[Solved, BaseException | None]:
    began = time.perf_counter()
    compiled = compile_problem(problem, chosen, initial, basis)
    ready = time.perf_counter()
    answer = settle(compiled.program, chosen, start=compiled.start)
    seconds = (time.perf_counter() - ready, ready - began)
    solved = recorded(problem, chosen, compiled, answer, seconds)
    report(compiled.program.kind, compiled.program.shape, solved)
    return solved, answer.cause


def recorded(
    problem: cp.Problem,
    chosen: HiGHS,
    compiled: Compiled,
    answer: Settlement,
    seconds: tuple[float, float],
) -> Solved:
    """Return the record of what HiGHS answered, and give variables and constraints their values.

    Parameters
    ----------
    seconds : in HiGHS, and before.
    """
    usable = answer.x is not None and answer.status in USABLE
    _forget(problem)
    if usable or answer.status is Status.INFEASIBLE:
        compiled.give(answer)
    value = _value(problem) if usable else None
    whole = bool(compiled.program.whole.any())
    proved = answer.y is not None if usable else answer.ray is not None
    multipliers = _multipliers(problem) if proved and not whole else {}
    bound = None
    if value is not None and answer.bound is not None and answer.x is not None:
        distance = compiled.program.value(answer.x) - answer.bound
        bound = value + distance if isinstance(problem.objective, cp.Maximize) else value - distance
    options = objective_scale(compiled.program) | chosen.arguments()["highs_options"]
    contradicting, count = _largest_rows(problem, {} if usable else multipliers)
    note = answer.note
    if answer.status is Status.INFEASIBLE and answer.ray is None:
        note = note or crossing(compiled)
    return Solved(
        status=answer.status,
        value=value,
        primal=_primal(problem) if usable else {},
        duals=multipliers if usable else {},
        farkas=None if usable else multipliers or None,
        residuals=answer.quality.residuals if usable and answer.quality else None,
        bound=bound,
        solver=chosen.name,
        version=version_of(chosen.name),
        options={"highs_options": options},
        compile_seconds=seconds[1],
        seconds=seconds[0],
        iterations=answer.iterations,
        said=answer.said,
        note=note,
        contradicting=contradicting,
        n_contradicting=count,
    )


# So many rows of a contradiction are named in a message.
NAMED = 6


def _largest_rows(
    problem: cp.Problem, farkas: Mapping[str, Array]
) -> tuple[tuple[ConflictingRow, ...], int]:
    """Return the largest rows of a ray, one's own first, and how many there are."""
    sizes = {label: np.abs(ray) for label, ray in farkas.items() if np.any(ray)}
    total = sum(int(np.count_nonzero(size)) for size in sizes.values())
    found: list[ConflictingRow] = []
    for label, size in sizes.items():
        for k in np.argsort(-size, axis=None, kind="stable")[:NAMED]:
            index = tuple(map(int, np.unravel_index(k, size.shape)))
            if size[index]:
                found.append(ConflictingRow(label, index, float(farkas[label][index])))

    def rank(row: ConflictingRow) -> tuple[bool, float]:
        return any(is_called(row.label, name) for name in STRUCTURAL), -abs(row.multiplier)

    largest = sorted(found, key=rank)[:NAMED]
    constraints = labels_of(problem)
    spoken = (replace(row, about=about(constraints[row.label], row.index)) for row in largest)
    return tuple(spoken), total


def crossing(compiled: Compiled) -> str:
    """Name a variable whose own bounds leave it no value, if there is one."""
    program = compiled.program
    wrong = np.flatnonzero(program.columns.crossed(program.whole))
    if not wrong.size:
        return ""
    for block in compiled.layout().columns:
        if block.name is not None and block.at.start <= wrong[0] < block.at.stop:
            index = block.entries[int(wrong[0]) - block.start]
            return f"no number is within the bounds of {block.name}{list(index) or ''}"
    return "bounds of a variable cross"


# Statuses whose point counts.
USABLE = (Status.OPTIMAL, Status.LIMIT, Status.INTERRUPTED)


def _by_other(problem: cp.Problem, chosen: Solver, *, verbose: bool) -> Solved:
    began = time.perf_counter()
    compiled = compile_other(problem, chosen, verbose=verbose)
    ready = time.perf_counter()
    raw = compiled.run()
    seconds = time.perf_counter() - ready
    _forget(problem)
    iterations, conic = 0, None
    if isinstance(chosen, Clarabel) and problem.variables():
        said, iterations = str(raw.status), int(raw.iterations)
        status = CLARABEL_STATUS.get(said, Status.FAILED)
        if status is Status.OPTIMAL:
            compiled.unpack(raw)
            conic = clarabel_quality(raw, compiled.data)
    else:
        try:
            said = compiled.unpack(raw)
        except cp.error.SolverError:
            said = "solver_error"
        status = CVXPY_STATUS.get(said, Status.FAILED)
    point = status in (Status.OPTIMAL, Status.LIMIT) and problem.value is not None
    judged = _judged(problem, chosen, compiled, raw, status, conic) if point else None
    note = "" if judged is None else judged.note
    if status is Status.OPTIMAL and not (judged and judged.holds):
        status = Status.FAILED
    elif judged and not judged.holds:
        point = False
    quality = None if judged is None else judged.quality
    farkas: Mapping[str, Array] | None = None
    if status in (Status.INFEASIBLE, Status.UNBOUNDED) and problem.variables():
        _forget(problem)
        status, farkas = _second_opinion(problem, status)
    value = float(problem.value) if point and status in USABLE else None
    if value is None:
        _forget(problem)
    solved = Solved(
        status=status,
        value=value,
        primal={} if value is None else _primal(problem),
        duals={} if value is None else _multipliers(problem),
        farkas=farkas,
        residuals=None if value is None or quality is None else quality.residuals,
        bound=None,
        solver=chosen.name,
        version=version_of(chosen.name),
        options=chosen.arguments(),
        compile_seconds=ready - began,
        seconds=seconds,
        iterations=iterations,
        said=said,
        note=note,
    )
    matrix = compiled.data.get("A") if isinstance(compiled.data, dict) else None
    report("program", None if matrix is None else matrix.shape, solved)
    return solved


@dataclass(frozen=True)
class _JudgedPoint:
    """What our arithmetic makes of a point that another solver found.

    Attributes
    ----------
    holds : whether it counts.
    note : why it does not, or what is the solver's word alone.
    """

    quality: Quality
    holds: bool
    note: str = ""


def _judged(
    problem: cp.Problem,
    chosen: Solver,
    compiled: Other,
    raw: Any,
    status: Status,
    conic: Quality | None,
) -> _JudgedPoint:
    """Judge a point that another solver found, with its multipliers wherever HiGHS's would be."""
    if status is Status.OPTIMAL and problem.variables():
        found = answer_of(compiled.data, *compiled.read(raw))
        if found is not None:
            quality = found.quality(ACCEPTED_OTHER)
            holds = quality.relative <= ACCEPTED_OTHER
            off = f"off by {quality.relative:.1e} of its scale, which may be {ACCEPTED_OTHER:.0e}"
            note = f"an optimality condition is {off}: ask {chosen.name} for a tighter tolerance"
            if holds and quality.excused:
                aside = _value_aside(problem)
                unit = max(found.program.largest_cost, abs(aside))
                holds = abs(_value(problem) - aside) <= ACCEPTED_OTHER * unit
                note = f"a small cost speaks of what is far out: the value is {aside:.9g} by HiGHS"
            return _JudgedPoint(quality, bool(holds), "" if holds else note)
    quality = violation(problem) if conic is None else conic
    holds = quality.relative <= ACCEPTED_OTHER and rows_hold(problem, ACCEPTED_OTHER)
    note = ""
    if not holds:
        note = f"a constraint or an optimality condition is off by {quality.relative:.1e}"
    elif conic is None and status is Status.OPTIMAL and problem.variables():
        note = f"that nothing is better is the word of {chosen.name}: its point was checked alone"
    return _JudgedPoint(quality, bool(holds), note)


def _value_aside(problem: cp.Problem) -> float:
    """Return the value that HiGHS finds of the same problem, NaN where it has no optimum."""
    kept = [(v, v.value) for v in problem.variables()]
    kept += [(dual, dual.value) for c in problem.constraints for dual in c.dual_variables]
    aside = solve(cp.Problem(problem.objective, problem.constraints), HiGHS(), throw=False)
    for variable, value in kept:
        variable.save_value(value)
    return np.nan if aside.value is None else aside.value


def _second_opinion(
    problem: cp.Problem, status: Status
) -> tuple[Status, Mapping[str, Array] | None]:
    """Return what our own arithmetic makes of a solver's word that there is no point, or no bound.

    It proves both of what HiGHS can take; of other cones such a word stays a word, hence FAILED.
    """
    try:
        aside = solve(cp.Problem(problem.objective, problem.constraints), HiGHS(), throw=False)
    except (cp.error.SolverError, cp.error.DCPError, ValueError):
        return Status.FAILED, None
    proved = aside.status in (Status.INFEASIBLE, Status.UNBOUNDED)
    return (aside.status, aside.farkas) if proved else (Status.FAILED, None)


def _forget(problem: cp.Problem) -> None:
    """Take all values from the variables and multipliers: cvxpy leaves those of an earlier call."""
    for variable in problem.variables():
        variable.save_value(None)
    for variable in (dual for c in problem.constraints for dual in c.dual_variables):
        variable.save_value(None)


def _value(problem: cp.Problem) -> float:
    # cvxpy discourages the dense value of a sparse variable, in an expression too, by a warning.
    with quiet() if _is_sparse(problem) else nullcontext():
        return float(problem.objective.value)


def _primal(problem: cp.Problem) -> dict[str, Array]:
    with quiet() if _is_sparse(problem) else nullcontext():
        return _named((v.name(), v.value) for v in problem.variables())


def _is_sparse(problem: cp.Problem) -> bool:
    return any(v.attributes.get("sparsity") for v in problem.variables())


def _multipliers(problem: cp.Problem) -> dict[str, Array]:
    return _named((c.label or str(c), c.dual_value) for c in problem.constraints)


def _named(pairs: Iterator[tuple[str, Any]]) -> dict[str, Array]:
    """Return values by name, numbering the later of equal names; what has no value is left out."""
    known = [(str(name), as_dense(value)) for name, value in pairs if value is not None]
    names = unique_names(name for name, _ in known)
    return dict(zip(names, (value for _, value in known), strict=True))


@cache
def version_of(solver: str) -> str:
    """Return the version of a solver, by its cvxpy name."""
    package = {"HIGHS": "highspy"}.get(solver, solver.lower())
    try:
        return version(package)
    except ModuleNotFoundError:
        return "unknown"
