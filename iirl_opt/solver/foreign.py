"""What other solvers than HiGHS say of a problem, judged by our own arithmetic.

A linear or quadratic program that cvxpy has made for them holds the same arrays as one for HiGHS:
their point and multipliers go through the same optimality conditions (`Program.quality`), in the
same units. Of other cones, and of whole numbers, the point is judged alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.constraints import Equality, Inequality
from numpy.typing import NDArray

from iirl_opt.game.kernel import is_sparse
from iirl_opt.solver.compiled import quiet
from iirl_opt.solver.program import Program, Quality
from iirl_opt.solver.records import Residuals
from iirl_opt.solver.settle import Unit

__all__ = ["Answer", "answer_of", "as_dense", "rows_hold", "violation"]

Array = NDArray[np.float64]

# Methods that go through the interior, or project, leave noise beside one in every multiplier.
BESIDE = 1.0

# What a program for HiGHS does not have, by the names of cvxpy.
OTHER_CONES = ("soc", "psd", "exp", "p3d", "pnd")


@dataclass(frozen=True, eq=False)
class Answer:
    """What a solver found of a linear or quadratic program: a point, and multipliers of its rows.

    Attributes
    ----------
    y : the gain of the objective for one more unit of the bound that a row stands at.
    """

    program: Program
    x: Array
    y: Array

    def quality(self, limit: float) -> Quality:
        """Judge it as what HiGHS says is judged: in the units that suit the program, or in others.

        Parameters
        ----------
        limit : what may be off, a share of its local scale.

        **Cost** arithmetic: some passes over the nonzeros.
        """
        judged = [Quality(self.program.quality(self.x, self.y).residuals, np.inf)]
        for unit in Unit.choices(self.program):
            if unit.scaled is self.program:
                judged.append(self.program.quality(self.x, self.y, BESIDE))
            else:
                x, y = unit.scaling.scaled_point(self.x), unit.scaling.scaled_multipliers(self.y)
                judged.append(unit.best(x, y)[0])
            if judged[-1].relative <= limit:
                return judged[-1]
        return min(judged, key=lambda quality: np.nan_to_num(quality.relative, nan=np.inf))


def answer_of(data: Any, found: Any, constraints: Sequence[Any]) -> Answer | None:
    """Return what a solver found of a linear or quadratic program; None of others.

    Parameters
    ----------
    data : what cvxpy made for the solver.
    found : what cvxpy read from it, by the variable and the constraints of that.
    constraints : of that, in the order of the rows, equations first.
    """
    program = _program_of(data)
    if program is None or program.whole.any() or len(found.primal_vars or {}) != 1:
        return None
    (x,) = (np.array(value, dtype=float).ravel() for value in found.primal_vars.values())
    duals = found.dual_vars or {}
    if any(c.id not in duals for c in constraints):
        return None
    y = [np.ravel(np.asarray(duals[c.id], dtype=float)) for c in constraints]
    answer = Answer(program, x, -np.concatenate([np.zeros(0), *y]))
    return answer if (answer.y.size, x.size) == program.shape else None


def _program_of(data: Any) -> Program | None:
    """Return the arrays that cvxpy made for a solver, or None where they hold other cones."""
    dims = data.get("dims") if isinstance(data, Mapping) else None
    if dims is None or any(np.any(getattr(dims, cone, 0)) for cone in OTHER_CONES):
        return None
    named = dict(data)
    if "h" in data:
        # Some solvers take equations and inequalities apart, and None for no row.
        n = len(data["c"])
        named |= {key: data[key] if data.get(key) is not None else [] for key in ("b", "h")}
        named |= {
            key: sp.csc_array((0, n)) if data.get(key) is None else data[key] for key in ("A", "G")
        }
        named |= {"F": named["G"], "G": named["h"]}
    elif "F" not in data and dims.zero + dims.nonneg != len(data["b"]):
        return None
    return Program.of(named)


def violation(problem: cp.Problem) -> Quality:
    """Return the largest violation of a constraint or of a variable's sign, bounds or integrality.

    Relative to the size of the values that are compared.
    """
    with quiet(), np.errstate(all="ignore"):
        pairs = [
            (c.violation(), [as_dense(arg.value) for arg in c.args]) for c in problem.constraints
        ]
        for variable in problem.variables():
            value = as_dense(variable.value)
            pairs.append((value - as_dense(variable.project(value)), [value]))
    absolute = [float(np.max(np.abs(off), initial=0.0)) for off, _ in pairs]
    sizes = [max(float(np.max(np.abs(x), initial=0.0)) for x in values) for _, values in pairs]
    relative = [off / (1 + size) for off, size in zip(absolute, sizes, strict=True)]
    largest = float(np.max(relative, initial=0.0))
    return Quality(Residuals(float(np.max(absolute, initial=0.0))), largest)


def rows_hold(problem: cp.Problem, limit: float) -> bool:
    """Return whether affine comparisons hold, each by its own coefficients and its own constant."""
    if any(v.is_complex() for v in problem.variables()):
        return True
    plain = (c for c in problem.constraints if isinstance(c, Equality | Inequality))
    with quiet():
        return all(_violated_share(c) <= limit for c in plain if c.expr.is_affine())


def _violated_share(comparison: Any) -> float:
    """Return the largest violation of ``g(x) ≤ 0`` or ``g(x) = 0``, a share of ``‖∇g‖ + |g(0)|``.

    g is affine.
    """
    expression = comparison.expr
    value = as_dense(expression.value).ravel(order="F")
    off = np.abs(value) if isinstance(comparison, Equality) else np.maximum(value, 0.0)
    squares, constant = np.zeros(value.size), value.copy()
    for variable, slope in expression.grad.items():
        known: Any = slope if sp.issparse(slope) else np.atleast_2d(slope)
        slopes = sp.csc_array(known).reshape((variable.size, value.size))
        squares += np.asarray((slopes**2).sum(axis=0)).ravel()
        constant -= slopes.T @ as_dense(variable.value).ravel(order="F")
    local = np.sqrt(squares) + np.abs(constant)
    return float(np.max(np.where(off > 0, off / np.where(local > 0, local, 1.0), 0.0), initial=0.0))


def as_dense(value: Any) -> Array:
    """Return a copy of a value as a dense array of floats, or of complex numbers."""
    array = np.array(value.toarray() if is_sparse(value) else value)
    return array if np.iscomplexobj(array) else array.astype(float)
