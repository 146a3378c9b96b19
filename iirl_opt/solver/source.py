"""A cvxpy problem behind a live program: its arrays at the parameters' values of now, and names.

cvxpy compiles a problem once into affine maps of its parameters (disciplined parametrised
programming, DPP). For other values those maps are applied anew, which is a product of a sparse
matrix and a vector, and nothing is compiled again. A problem that this cannot be done for, or that
is no linear program, is refused by the part that it fails for: an expression, a constraint, a
variable.

**Source** Agrawal, Amos, Barratt, Boyd, Diamond & Kolter 2019, *Differentiable convex optimization
layers*, on DPP.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

import cvxpy as cp
import numpy as np

from iirl_opt.errors import InvalidArgument, UnknownLabel
from iirl_opt.solver.compiled import Compiled, compile_problem
from iirl_opt.solver.names import Layout
from iirl_opt.solver.program import Program
from iirl_opt.solver.records import HiGHS

__all__ = ["Source", "check_linear"]

_SHORT = reprlib.Repr()
_SHORT.maxother = 120

LINES = (cp.constraints.Equality, cp.constraints.Inequality, cp.constraints.Zero)
SIDES = (*LINES, cp.constraints.NonNeg, cp.constraints.NonPos, cp.constraints.FiniteSet)


class Source:
    """A linear cvxpy problem whose numbers may depend on parameters.

    Attributes
    ----------
    problem : the user's.
    compiled : at the parameters' values when it was last read.
    layout : where each variable and each constraint stands; it never changes.

    Raises
    ------
    InvalidArgument
        A part that is no part of a linear program, or not affine in the parameters: names it.
    """

    def __init__(self, problem: cp.Problem) -> None:
        _check_live(problem)
        self.problem = problem
        # The same objects in a problem of its own: what else is done with the user's, such as a
        # solve by another solver, throws away what cvxpy compiled.
        self._own = cp.Problem(problem.objective, problem.constraints)
        self.parameters: tuple[cp.Parameter, ...] = tuple(self._own.parameters())
        try:
            self.compiled: Compiled = compile_problem(self._own, HiGHS())
        except cp.error.SolverError as why:
            _refuse("problem", f"is no linear program: {why}", "a linear program", problem)
        if self.compiled.program.kind != "LP":
            kind = {"MIP": "has whole numbers", "QP": "has a quadratic objective"}
            _refuse("problem", kind[self.compiled.program.kind], "a linear program", problem)
        self.layout: Layout = self.compiled.layout()

    def read(self) -> Program:
        """Return the program at the parameters' values of now.

        **Cost** arithmetic, linear in the entries that depend on parameters and in the nonzeros.
        """
        if self.parameters:
            self.compiled = compile_problem(self._own, HiGHS())
        return self.compiled.program

    def set(self, values: Mapping[str, Any]) -> None:
        """Set parameters by name: all of them, or none.

        Raises
        ------
        UnknownLabel
            No parameter has this name.
        InvalidArgument
            A shape, a sign or a number that the parameter does not admit.
        """
        known = {p.name(): p for p in self.parameters}
        for name in values:
            if name not in known:
                raise UnknownLabel("parameter", name, tuple(known))
            if sum(p.name() == name for p in self.parameters) > 1:
                several = f"is the name of several parameters: set {name}.value of each"
                raise InvalidArgument(f"parameter {name}", several, "names of one parameter each")
        before = {name: known[name].value for name in values}
        try:
            for name, value in values.items():
                _assign(known[name], value)
        except InvalidArgument:
            for name, value in before.items():
                known[name].save_value(value)
            raise


def _assign(parameter: cp.Parameter, value: Any) -> None:
    place = f"parameter {parameter.name()}"
    try:
        numbers = np.asarray(value, dtype=float)
        parameter.value = numbers
    except (TypeError, ValueError) as why:
        allowed = f"numbers of shape {parameter.shape} ({why})"
        raise InvalidArgument(place, f"cannot be {_SHORT.repr(value)}", allowed, value) from None
    if not np.isfinite(numbers).all():
        raise InvalidArgument(place, "is not finite", "finite numbers", value)


def _check_live(problem: cp.Problem) -> None:
    """Refuse what has no basis, or is not affine in its parameters."""
    if not problem.variables():
        _refuse("problem", "has no variable", "a linear program", problem)
    for variable in problem.variables():
        for kind in ("boolean", "integer"):
            if variable.attributes[kind]:
                place = f"variable {variable.name()}"
                _refuse(place, f"is {kind}", "real variables of linear programs")
    check_linear(problem)
    for place, part in _placed_parts(problem):
        if not part.is_dcp(dpp=True):
            what = "is not affine in the parameters by the rules of cvxpy (DPP): solve it afresh"
            _refuse_part(place, part, lambda e: bool(e.is_dpp()), what)


def check_linear(problem: cp.Problem) -> None:
    """Refuse a problem that is no linear, or mixed-integer linear, program.

    Raises
    ------
    InvalidArgument
        Names the first part that makes it none: a variable, or an expression in a constraint.
    """
    for variable in problem.variables():
        for kind in ("PSD", "NSD"):
            if variable.attributes[kind]:
                _refuse(f"variable {variable.name()}", f"is {kind}", "what a linear program has")
    for place, part in _placed_parts(problem):
        if part is not problem.objective and type(part) not in SIDES:
            _refuse(place, f"is of the kind {type(part).__name__}", "≤, ≥ or == of linear parts")
        if not part.is_dcp():
            what = "is not convex by the rules of cvxpy (DCP)"
            _refuse_part(place, part, lambda e: bool(e.is_dcp()), what)
        for arg in part.args:
            if not arg.is_pwl():
                _refuse_part(place, part, lambda e: bool(e.is_pwl()), "is no linear part")


def _placed_parts(problem: cp.Problem) -> Iterator[tuple[str, Any]]:
    yield "objective", problem.objective
    for constraint in problem.constraints:
        yield f"constraint {constraint.label or str(constraint)!r}", constraint


def _refuse_part(place: str, part: Any, good: Callable[[Any], bool], what: str) -> NoReturn:
    """Raise the error that names the smallest expression in a part that is not good."""
    smallest = part
    while True:
        inner = [arg for arg in smallest.args if not good(arg)]
        if not inner:
            break
        smallest = inner[0]
    if smallest is part:
        _refuse(place, what, "a linear program", part)
    _refuse(f"{place}, in it {_shortened(smallest)}", what, "a linear program", part)


def _shortened(expression: Any) -> str:
    text = str(expression)
    return text if len(text) <= 80 else f"{text[:60]} … {text[-15:]}"


def _refuse(place: str, what: str, allowed: str, value: object = None) -> NoReturn:
    raise InvalidArgument(place, what, allowed, value)
