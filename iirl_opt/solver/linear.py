"""Linear programs read straight off cvxpy expressions.

Compiling a program costs cvxpy some 4 ms and then 4 to 5 times what reading it here does (measured:
5.2 and 1.2 ms for three variables; 7.7 and 2.2 for a feasible set of Maze-Maker after one episode,
whose whole solve takes 27; 36 and 7 for an occupancy program of 1,000 states and 16,000 variables,
whose whole solve takes 88). It also knows where each variable and constraint stands, which live
programs, cuts and bases need. Nearly all programs here are plain: vectors of real, whole or boolean
variables, constant matrices times variables, their entries, sums and differences, and comparisons
of those. `read_linear` turns such a problem into the arrays that cvxpy would have made, rows and
columns in the same order, and returns None for every other problem, which then takes cvxpy's own
way. A test holds the two against each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.affine.index import index, special_index
from cvxpy.atoms.affine.promote import Promote
from cvxpy.atoms.affine.sum import Sum
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.constraints import Equality, Inequality, NonNeg, NonPos, Zero
from cvxpy.reductions.solution import Solution
from numpy.typing import NDArray

from iirl_opt.errors import InvalidArgument
from iirl_opt.game.kernel import Matrix, is_sparse
from iirl_opt.solver.names import unique_names

__all__ = ["LinearProgram", "column_bounds", "read_linear", "row_bounds"]

Array = NDArray[np.float64]

# The attributes of a variable that are bounds on its columns.
LOWER, UPPER = ("nonneg", "pos"), ("nonpos", "neg")

# The attributes of a variable whose columns are whole numbers.
WHOLE = ("boolean", "integer")


class _NotPlain(Exception):
    """The expression is none of those read here."""


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """A plain linear program: the arrays of ``min c·x``, and the way back to the problem.

    Attributes
    ----------
    data : as cvxpy compiles it for HiGHS: ``c``, ``A``, ``b``, ``dims``, ``lower_bounds``,
        ``upper_bounds``, ``bool_vars_idx``, ``int_vars_idx``; equations first, then rows
        ``A x ≤ b``.
    columns, rows : where each variable and each constraint stands.
    """

    problem: cp.Problem
    data: Mapping[str, Any]
    columns: Mapping[cp.Variable, slice]
    rows: Mapping[cp.constraints.Constraint, slice]

    @property
    def column_names(self) -> dict[str, slice]:
        """Where each variable stands, by its name."""
        names = unique_names(v.name() for v in self.columns)
        return dict(zip(names, self.columns.values(), strict=True))

    @property
    def row_names(self) -> dict[str, slice]:
        """Where each constraint stands, by its label."""
        ordered = self.problem.constraints
        names = unique_names(c.label or str(c) for c in ordered)
        return {name: self.rows[c] for name, c in zip(names, ordered, strict=True)}

    def point(self, values: Mapping[cp.Variable, Any]) -> Array:
        """Return values of all variables as one vector of columns."""
        x = np.empty(len(self.data["c"]))
        for variable, at in self.columns.items():
            if variable not in values:
                raise InvalidArgument(
                    "initial", f"lacks {variable.name()}", "all variables", values
                )
            x[at] = np.ravel(values[variable])
        return x

    def unpack(self, status: str, x: Array, multipliers: Array) -> None:
        """Give variables and constraints their values; multipliers are ≥ 0 on rows ``A x ≤ b``.

        A program with whole variables has no multipliers.
        """
        primal = {v.id: x[at].reshape(v.shape) for v, at in self.columns.items()}
        whole = self.data["bool_vars_idx"] or self.data["int_vars_idx"]
        rows = {} if whole else self.rows
        dual = {c.id: multipliers[at].reshape(c.shape) for c, at in rows.items()}
        self.problem.unpack(Solution(status, None, primal, dual, {}))


@dataclass(frozen=True, eq=False)
class _Affine:
    """A vector ``Σ parts[v] @ v + constant``; a part of None is the identity."""

    parts: dict[cp.Variable, Matrix | None]
    constant: Array

    def scaled(self, factor: Any) -> _Affine:
        """Return each entry times a number, or times its own."""
        if np.ndim(factor) == 0:
            eye = sp.eye_array(self.constant.size, format="csr")
            parts = {v: factor * (eye if m is None else m) for v, m in self.parts.items()}
            return _Affine(parts, factor * self.constant)
        by = np.broadcast_to(np.asarray(factor, dtype=float), self.constant.shape)
        diagonal = sp.diags_array(by, format="csr")
        parts = {v: diagonal if m is None else diagonal @ m for v, m in self.parts.items()}
        return _Affine(parts, by * self.constant)

    def through(self, matrix: Matrix) -> _Affine:
        """Return a constant matrix times the vector."""
        parts = {v: matrix if m is None else matrix @ m for v, m in self.parts.items()}
        return _Affine(parts, matrix @ self.constant)

    def repeated(self, size: int) -> _Affine:
        """Return a single entry as often as `size` says."""
        if self.constant.size == size:
            return self
        return self.through(sp.csr_array(np.ones((size, 1))))

    def plus(self, other: _Affine) -> _Affine:
        """Return the sum, a single entry counting for all."""
        size = max(self.constant.size, other.constant.size)
        one, two = self.repeated(size), other.repeated(size)
        parts = dict(one.parts)
        for v, m in two.parts.items():
            parts[v] = _sum(parts[v], m, size) if v in parts else m
        return _Affine(parts, one.constant + two.constant)


def read_linear(problem: cp.Problem) -> LinearProgram | None:
    """Return the linear program of a plain problem, or None.

    **Cost** arithmetic, linear in the nonzeros.
    """
    try:
        return _read_plainly(problem)
    except _NotPlain:
        return None


def _read_plainly(problem: cp.Problem) -> LinearProgram:
    variables = problem.variables()
    if not variables or problem.parameters():
        raise _NotPlain
    ends = np.cumsum([0, *(v.size for v in variables)])
    columns = {v: slice(a, b) for v, a, b in zip(variables, ends, ends[1:], strict=False)}
    lower, upper = zip(*map(_bounds, variables), strict=True)
    goal = _affine(problem.objective.args[0])
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    cost = np.zeros(ends[-1])
    for v, m in goal.parts.items():
        cost[columns[v]] = sign * (1.0 if m is None else m.toarray()[0])

    both = [(c, *_comparison(c)) for c in problem.constraints]
    ordered = [x for x in both if x[1]] + [x for x in both if not x[1]]
    rows: dict[Any, slice] = {}
    blocks: list[tuple[NDArray[Any], ...]] = []
    right: list[Array] = []
    at = equal = 0
    for constraint, is_equation, side in ordered:
        rows[constraint] = slice(at, at + side.constant.size)
        for v, m in side.parts.items():
            if m is None:
                own = np.arange(v.size)
                blocks.append((own + at, own + columns[v].start, np.ones(v.size)))
                continue
            entries: Matrix = m.tocoo()
            blocks.append((entries.row + at, entries.col + columns[v].start, entries.data))
        right.append(-side.constant)
        at += side.constant.size
        equal += side.constant.size if is_equation else 0
    i, j, values = (
        np.concatenate([np.zeros(0, dtype=kind), *(block[k] for block in blocks)])
        for k, kind in enumerate((np.int32, np.int32, np.float64))
    )
    bounds = [np.concatenate(side) for side in (lower, upper)]
    data = {
        "c": cost,
        "A": sp.csc_array((values, (i, j)), shape=(at, ends[-1])),
        "b": np.concatenate([np.zeros(0), *right]),
        "dims": SimpleNamespace(zero=equal, nonneg=at - equal),
        "lower_bounds": bounds[0] if np.isfinite(bounds[0]).any() else None,
        "upper_bounds": bounds[1] if np.isfinite(bounds[1]).any() else None,
        "bool_vars_idx": _columns_of(columns, "boolean"),
        "int_vars_idx": _columns_of(columns, "integer"),
        "variables": variables,
    }
    if not all(np.isfinite(part).all() for part in (cost, values, data["b"])):
        raise _NotPlain
    return LinearProgram(problem, data, columns, rows)


def _columns_of(columns: Mapping[cp.Variable, slice], kind: str) -> list[int]:
    """Return the columns of the variables that are wholly boolean, or integer."""
    return [
        j
        for v, at in columns.items()
        if v.attributes[kind]
        for j in range(int(at.start), int(at.stop))
    ]


def _bounds(variable: cp.Variable) -> tuple[Array, Array]:
    """Return the bounds on the columns of a plain variable."""
    wanted = {
        name
        for name, value in variable.attributes.items()
        if value is not None and value is not False
    }
    if variable.ndim > 1 or wanted - {*LOWER, *UPPER, *WHOLE, "bounds"}:
        raise _NotPlain
    if any(isinstance(variable.attributes[kind], list) for kind in WHOLE):
        raise _NotPlain
    low, high = variable.attributes.get("bounds") or (-np.inf, np.inf)
    if variable.attributes["boolean"]:
        low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
    if any(isinstance(side, cp.Expression) for side in (low, high)):
        raise _NotPlain
    low = np.maximum(low, 0.0) if wanted & set(LOWER) else low
    high = np.minimum(high, 0.0) if wanted & set(UPPER) else high
    flat = [
        np.broadcast_to(np.asarray(x, dtype=float), variable.shape).ravel() for x in (low, high)
    ]
    return flat[0], flat[1]


def _comparison(constraint: Any) -> tuple[bool, _Affine]:
    """Return whether it is an equation, and the side that is to be zero, or at most zero."""
    kind = type(constraint)
    if kind in (Equality, Inequality):
        left, right = (_affine(arg) for arg in constraint.args)
        return kind is Equality, left.plus(right.scaled(-1.0))
    if kind in (Zero, NonPos):
        return kind is Zero, _affine(constraint.args[0])
    if kind is NonNeg:
        return False, _affine(constraint.args[0]).scaled(-1.0)
    raise _NotPlain


def _affine(expression: Any) -> _Affine:
    """Return a plain expression as an affine vector."""
    if expression.ndim > 1 or expression.is_complex():
        raise _NotPlain
    if isinstance(expression, cp.Variable):
        return _Affine({expression: None}, np.zeros(expression.size))
    if expression.is_constant():
        return _Affine({}, _array(expression).ravel())
    kind, args = type(expression), expression.args
    if kind is AddExpression:
        total = _affine(args[0])
        for arg in args[1:]:
            total = total.plus(_affine(arg))
        return total.repeated(expression.size)
    if kind is NegExpression:
        return _affine(args[0]).scaled(-1.0)
    if kind is Promote:
        return _affine(args[0]).repeated(expression.size)
    if kind is Sum and args[0].ndim <= 1:
        inner = _affine(args[0])
        return inner.through(sp.csr_array(np.ones((1, inner.constant.size))))
    if kind in (index, special_index):
        inner = _affine(args[0])
        key = expression._orig_key if kind is index else expression.key
        chosen = np.ravel(np.arange(inner.constant.size)[key])
        eye: Any = sp.eye_array(inner.constant.size, format="csr")
        return inner.through(eye[chosen])
    if kind is DivExpression and args[1].is_constant():
        return _affine(args[0]).repeated(expression.size).scaled(1.0 / _array(args[1]).ravel())
    if kind is multiply and any(arg.is_constant() for arg in args):
        known, other = args if args[0].is_constant() else args[::-1]
        return _affine(other).repeated(expression.size).scaled(_array(known).ravel())
    if kind is MulExpression and args[0].is_constant() and args[1].ndim == 1:
        return _affine(args[1]).through(_matrix(args[0]))
    if kind is MulExpression and args[1].is_constant() and args[0].ndim == 1:
        return _affine(args[0]).through(_matrix(args[1], transposed=True))
    raise _NotPlain


def _array(constant: Any) -> Array:
    value = constant.value
    return np.asarray(value.toarray() if is_sparse(value) else value, dtype=np.float64)


def _matrix(constant: Any, *, transposed: bool = False) -> Matrix:
    """Return a constant factor of a vector as a sparse matrix; a vector is a single row."""
    value = constant.value
    if not is_sparse(value):
        value = np.atleast_2d(np.asarray(value, dtype=float))
        transposed = transposed and constant.ndim > 1
    return sp.csr_array(value.T if transposed else value)


def _sum(one: Matrix | None, two: Matrix | None, size: int) -> Matrix:
    eye = sp.eye_array(size, format="csr")
    return (eye if one is None else one) + (eye if two is None else two)


def row_bounds(data: Any) -> tuple[Any, Array, Array]:
    """Return (A, lower, upper) of a compiled or live linear program, or of a quadratic one."""
    if "row_lower" in data:
        return data["A"], data["row_lower"], data["row_upper"]
    if "F" in data:
        matrix: Any = sp.vstack([data["A"], data["F"]], format="csc")
        lower = np.concatenate([data["b"], np.full(len(data["G"]), -np.inf)])
        return matrix, lower, np.concatenate([data["b"], data["G"]])
    equal = data["dims"].zero
    lower = np.concatenate([data["b"][:equal], np.full(len(data["b"]) - equal, -np.inf)])
    return data["A"], lower, data["b"]


def column_bounds(data: Any, n: int) -> tuple[Array, Array]:
    lower, upper = data.get("lower_bounds"), data.get("upper_bounds")
    return (
        np.full(n, -np.inf) if lower is None else np.asarray(lower, dtype=float),
        np.full(n, np.inf) if upper is None else np.asarray(upper, dtype=float),
    )
