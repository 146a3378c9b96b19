"""What arguments that belong to cvxpy, or to a linear program, may be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import Rule, array_of_floats, each, is_a, refuse
from iirl_opt.errors import InvalidArgument
from iirl_opt.game.kernel import Matrix, is_sparse

__all__ = [
    "CONSTRAINTS",
    "EXPRESSION",
    "LIMITS",
    "MATRIX",
    "NUMBERS",
    "PROGRAM",
    "Rows",
    "check_values",
    "own_matrix",
    "pair_of_bounds",
    "vector",
    "without_variables",
]

Array = NDArray[np.float64]

# What an argument `subject_to` may be: constraints, and lists of them as `budget` makes.
Rows: TypeAlias = Sequence[cp.Constraint | Sequence[cp.Constraint]]

EXPRESSION: Rule = is_a(cp.Expression)
_PROBLEM: Rule = is_a(cp.Problem)
_CONSTRAINT: Rule = is_a(cp.Constraint)


def CONSTRAINTS(name: str, value: Any) -> tuple[cp.Constraint, ...]:
    """Return constraints as a tuple, those of lists among them one by one."""
    parts = each(_constraint_or_list)(name, value)
    return tuple(c for part in parts for c in (part if isinstance(part, tuple) else (part,)))


def _constraint_or_list(name: str, value: Any) -> Any:
    """Return a constraint or a tuple of them, or say what became of one that was meant to be."""
    if isinstance(value, list | tuple):
        return each(_CONSTRAINT)(name, value)
    if isinstance(value, bool | np.bool_):
        allowed = "a Constraint: compare an expression in cvxpy variables, not their values"
        raise refuse(name, value, allowed)
    if isinstance(value, cp.Expression):
        raise refuse(name, value, "a Constraint: compare the expression with <=, == or >=")
    return _CONSTRAINT(name, value)


def check_values(parameters: Iterable[cp.Parameter], place: str) -> None:
    """Refuse parameters that have no value yet, by name."""
    for parameter in parameters:
        if parameter.value is None:
            problem, allowed = "has no value", f"a value of shape {parameter.shape}"
            raise InvalidArgument(
                f"{place}: parameter {parameter.name()}", problem, allowed, parameter
            )


def without_variables(name: str, expression: cp.Expression) -> cp.Expression:
    """Return an expression of numbers and parameters."""
    for variable in expression.variables():
        allowed = "numbers, or what is affine in parameters"
        raise InvalidArgument(name, f"holds the variable {variable.name()}", allowed, expression)
    return expression


# Coefficients, and bounds, which may be infinite.
NUMBERS: Rule = array_of_floats(1)
LIMITS: Rule = array_of_floats(0, 1, finite=False)
_DENSE: Rule = array_of_floats(2)


def PROGRAM(name: str, value: Any) -> cp.Problem:
    """Return a cvxpy problem each constraint of which is listed once."""
    problem: cp.Problem = _PROBLEM(name, value)
    listed = list(dict.fromkeys(problem.constraints))
    # Of one that is listed twice cvxpy would hand out the multipliers of the last copy alone.
    twice = len(listed) < len(problem.constraints)
    return cp.Problem(problem.objective, listed) if twice else problem


def MATRIX(name: str, value: Any) -> Any:
    """Return a matrix of finite real numbers, dense or in the sparse form that it has."""
    if not is_sparse(value):
        return _DENSE(name, value)
    if value.dtype.kind not in "biuf" or not np.isfinite(value.data).all():
        raise InvalidArgument(name, "holds what is no finite number", "finite numbers", value)
    return value


def vector(place: str, values: ArrayLike, size: int | None = None) -> Array:
    """Return finite numbers, (size,), as a fresh array."""
    numbers = np.array(values, dtype=float)
    if numbers.ndim != 1 or size not in (None, numbers.size):
        allowed = "one dimension" if size is None else f"({size},)"
        raise InvalidArgument(place, f"has shape {numbers.shape}", allowed, numbers.shape)
    if not np.isfinite(numbers).all():
        raise InvalidArgument(place, "is not finite", "finite numbers", values)
    return numbers


def own_matrix(values: Any, shape: tuple[int | None, int]) -> Matrix:
    """Return a matrix by columns; None in a shape is any number."""
    # Its own: what the caller changes later must not reach a program whose size is known.
    matrix: Matrix = sp.csc_array(values, dtype=float, copy=True)
    # HiGHS takes no entry twice.
    matrix.sum_duplicates()
    if matrix.ndim != 2 or any(
        a not in (None, b) for a, b in zip(shape, matrix.shape, strict=True)
    ):
        allowed = f"({'any' if shape[0] is None else shape[0]}, {shape[1]})"
        raise InvalidArgument("matrix", f"has shape {matrix.shape}", allowed, matrix.shape)
    if not np.isfinite(matrix.data).all():
        raise InvalidArgument("matrix", "is not finite", "finite numbers", values)
    return matrix


def pair_of_bounds(place: str, low: ArrayLike, high: ArrayLike, size: int) -> tuple[Array, Array]:
    """Return lower and upper bounds that do not cross, (size,) each."""
    try:
        pair = [np.broadcast_to(np.asarray(side, dtype=float), (size,)) for side in (low, high)]
    except ValueError:
        shapes = f"have shapes {np.shape(low)} and {np.shape(high)}"
        raise InvalidArgument(place, shapes, f"({size},)", (low, high)) from None
    if np.isnan(pair).any() or (pair[0] > pair[1]).any():
        raise InvalidArgument(place, "cross or are not numbers", "lower ≤ upper", (low, high))
    return pair[0].copy(), pair[1].copy()
