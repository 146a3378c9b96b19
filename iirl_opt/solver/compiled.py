"""Problems ready to run: compiled by cvxpy's own chain, or read as plain linear programs.

cvxpy is not thread-safe, and neither is turning its warnings off: both happen under one lock.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from threading import RLock
from types import SimpleNamespace
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.errors import InvalidArgument
from iirl_opt.game.kernel import is_sparse
from iirl_opt.solver.basis import SimplexBasis
from iirl_opt.solver.call import Start
from iirl_opt.solver.linear import read_linear
from iirl_opt.solver.names import Layout
from iirl_opt.solver.program import Program
from iirl_opt.solver.records import HiGHS, Solver, Status
from iirl_opt.solver.settle import Settlement

__all__ = ["Compiled", "Other", "compile_other", "compile_problem", "compiled_data", "quiet"]

Array = NDArray[np.float64]

# How cvxpy compiles: of its backends the one that was quickest on large sparse blocks.
BACKEND = "COO"

# The words of HiGHS and of cvxpy for what an answer brings.
WORDS = {
    Status.OPTIMAL: ("kOptimal", cp.OPTIMAL),
    Status.LIMIT: ("kTimeLimit", cp.USER_LIMIT),
    Status.INTERRUPTED: ("kTimeLimit", cp.USER_LIMIT),
    Status.INFEASIBLE: ("kInfeasible", cp.INFEASIBLE),
}


@dataclass(frozen=True, eq=False)
class Compiled:
    """A problem ready for HiGHS: its arrays, and the way back to its variables.

    Attributes
    ----------
    data : as cvxpy names it.
    program : the same as a `Program`.
    start : a point with which a mixed-integer program begins, a basis of a linear one, or None.
    give : takes a `Settlement` with a point, or a ray, to the variables and constraints.
    layout : returns which rows and columns belong to what; asked for when names are wanted.
    """

    data: Mapping[str, Any]
    program: Program
    start: Start
    give: Callable[[Settlement], None]
    layout: Callable[[], Layout]


@dataclass(frozen=True, eq=False)
class Other:
    """A problem ready for another solver, by cvxpy's own chain.

    Attributes
    ----------
    data : what the solver is given.
    run : asks it, and returns what it returned.
    read : returns of that the point and the multipliers of the data, and its constraints in order.
    unpack : takes it to the variables and constraints of the problem; returns cvxpy's status.
    """

    data: Any
    run: Callable[[], Any]
    read: Callable[[Any], tuple[Any, list[Any]]]
    unpack: Callable[[Any], str]


def compile_problem(
    problem: cp.Problem,
    chosen: HiGHS,
    initial: Mapping[cp.Variable, Any] | None = None,
    basis: Mapping[str, ArrayLike] | None = None,
) -> Compiled:
    """Return a problem with variables ready for HiGHS: read directly where it is plain.

    Values, or a basis, to start from are passed on where it is.
    """
    plain = read_linear(problem)
    if plain is not None:
        begin: Start = None if initial is None else plain.point(initial)
        if basis is not None:
            names, shape = (plain.column_names, plain.row_names), plain.data["A"].shape
            begin = SimplexBasis.named(basis, *names, shape)

        def give_plain(answer: Settlement) -> None:
            multipliers = answer.ray if answer.x is None else answer.y
            y = np.zeros(len(plain.data["b"])) if multipliers is None else -multipliers
            x = np.zeros(len(plain.data["c"])) if answer.x is None else answer.x
            plain.unpack(WORDS[answer.status][1], x, y)

        def lay_plain() -> Layout:
            return Layout.plain(plain.column_names, plain.row_names)

        program = Program.of(plain.data)
        _check_numbers(program)
        return Compiled(plain.data, program, begin, give_plain, lay_plain)
    data, chain, inverse = _chained(problem, chosen)

    def give(answer: Settlement) -> None:
        with quiet():
            problem.unpack(chain.invert(_raw(answer, data), inverse))

    def lay() -> Layout:
        return Layout.compiled(problem, data["param_prob"], chain)

    program = Program.of(data)
    _check_numbers(program)
    return Compiled(data, program, None, give, lay)


def _check_numbers(program: Program) -> None:
    """Refuse data that are no numbers."""
    curved = np.zeros(0) if program.curved is None else program.curved.data
    for part in (program.cost, program.matrix.data, curved):
        if not np.isfinite(part).all():
            raise InvalidArgument("problem", "has coefficients NaN or infinite", "finite numbers")
    sides = ((program.row_lower, program.row_upper), (program.lower, program.upper))
    for low, high in sides:
        if np.isnan([low, high]).any() or (low == np.inf).any() or (high == -np.inf).any():
            raise InvalidArgument(
                "problem", "has bounds that are NaN or infinite", "finite numbers"
            )


def compiled_data(problem: cp.Problem) -> Any:
    """Return the arrays of a problem, as cvxpy compiles it for HiGHS.

    Raises
    ------
    cvxpy.error.SolverError
        HiGHS cannot take it.
    """
    plain = read_linear(problem)
    return _chained(problem, HiGHS())[0] if plain is None else plain.data


def compile_other(problem: cp.Problem, chosen: Solver, *, verbose: bool = False) -> Other:
    """Return a problem ready for another solver than HiGHS, or without any variable.

    Parameters
    ----------
    verbose : whether the solver is to show its own log.
    """
    # A solver may take options out of dictionaries of them.
    options = deepcopy(chosen.arguments())
    data, chain, inverse = _chained(problem, chosen)
    _check_compiled(data)

    def run() -> Any:
        with quiet(), _options_known(chosen):
            return chain.solve_via_data(problem, data, False, verbose, options)

    def read(raw: Any) -> tuple[Any, list[Any]]:
        own = inverse[-1]
        with quiet():
            found = chain.solver.invert(raw, own)
        return found, [*own[chain.solver.EQ_CONSTR], *own[chain.solver.NEQ_CONSTR]]

    def unpack(raw: Any) -> str:
        with quiet():
            solution = chain.invert(raw, inverse)
            if solution.status in WORTH:
                problem.unpack(solution)
            return str(solution.status)

    return Other(data, run, read, unpack)


def _check_compiled(data: Any) -> None:
    """Refuse data for another solver that are no numbers."""
    if not isinstance(data, Mapping):
        return
    for key in ("P", "c", "q", "A", "F"):
        part: Any = data.get(key)
        numbers = part.data if is_sparse(part) else part
        if numbers is not None and not np.isfinite(numbers).all():
            raise InvalidArgument("problem", "has coefficients NaN or infinite", "finite numbers")


@contextmanager
def _options_known(chosen: Solver) -> Iterator[None]:
    """Say by a typed error that a solver does not take its options; each has an error of its own.

    Without options an error is the solver's, and stays as it is.
    """
    given = getattr(chosen, "options", None)
    try:
        yield
    except (TypeError, ValueError, AttributeError, KeyError, cp.error.SolverError) as error:
        if not given:
            raise
        said = (str(error).splitlines() or [""])[0]
        found = f"are {dict(given)!r}, which {chosen.name} does not take: {said}"
        raise InvalidArgument("options", found, f"options of {chosen.name}", given) from error


# What cvxpy can unpack and we can use.
WORTH = {cp.OPTIMAL, cp.USER_LIMIT, cp.INFEASIBLE, cp.UNBOUNDED}


def _chained(problem: cp.Problem, chosen: Solver) -> tuple[Any, Any, Any]:
    for parameter in problem.parameters():
        if parameter.value is None:
            place, allowed = f"parameter {parameter.name()}", f"numbers of shape {parameter.shape}"
            raise InvalidArgument(place, "has no value, which counts as NaN", allowed)
    with quiet():
        parts: tuple[Any, Any, Any] = problem.get_problem_data(
            chosen.name, solver_opts=chosen.arguments(), canon_backend=BACKEND
        )
    return parts


def _raw(answer: Settlement, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer as cvxpy's interface to HiGHS would have returned it."""
    rows = len(data["b"]) + len(data.get("G", ()))
    counts = ("ipm", "crossover", "pdlp", "qp", "simplex")
    x = np.zeros(len(data["c"] if "c" in data else data["q"])) if answer.x is None else answer.x
    y = np.zeros(rows) if answer.y is None else answer.y
    return {
        "run_time": 0.0,
        "info": SimpleNamespace(
            objective_function_value=0.0, **{f"{kind}_iteration_count": 0 for kind in counts}
        ),
        "model_status": WORDS[answer.status][0],
        "solution": SimpleNamespace(col_value=x, row_dual=y),
        "dual_ray": (None, True, np.zeros(rows) if answer.ray is None else answer.ray),
    }


_lock = RLock()


@contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings in one thread at a time, so that the filters are as before afterwards."""
    with _lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
