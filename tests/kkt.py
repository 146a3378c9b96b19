"""Optimality and infeasibility from a record alone, by arithmetic that solver.py does not share.

The Lagrangian of a program ``min f(x), g_i(x) ≤ 0, h_j(x) = 0`` is taken from the user's own
expressions: their values and gradients at the point of the record, never the compiled matrices.
"""

from collections import Counter

import cvxpy as cp
import numpy as np

__all__ = ["assert_farkas", "assert_kkt"]


def assert_kkt(problem, solved, tolerance=1e-7):
    """Assert that point and multipliers of `solved` prove each other optimal for `problem`.

    `problem` may be built anew: values and multipliers are matched by name. Variables are free or
    nonnegative; constraints are affine; the objective is differentiable. An affine objective must
    also equal the dual objective.
    """
    variables = problem.variables()
    names = numbered(v.name() for v in variables)
    assert set(names) == set(solved.primal)
    for name, variable in zip(names, variables, strict=True):
        kinds = {key for key, value in variable.attributes.items() if value not in (None, False)}
        assert kinds <= {"nonneg"}, f"assert_kkt does not know variables that are {kinds}"
        variable.save_value(np.reshape(solved.primal[name], variable.shape))
    duals = by_constraint(problem, solved.duals)
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    goal = problem.objective.args[0]
    near = tolerance * (1 + largest(v.value for v in variables)) * (1 + largest(duals))

    assert abs(float(goal.value) - solved.value) <= near
    for constraint, dual in zip(problem.constraints, duals, strict=True):
        values = flat(left(constraint).value)
        if isinstance(constraint, cp.constraints.Inequality):
            assert values.max() <= near, f"{constraint} is violated"
            assert dual.min() >= -near, f"the multiplier of {constraint} has the wrong sign"
            assert np.abs(values * dual).max() <= near, f"{constraint} is neither tight nor free"
        else:
            assert np.abs(values).max() <= near, f"{constraint} is violated"

    slopes = combine(problem, duals)
    for variable, part in gradients(goal).items():
        slopes[variable] += sign * part[:, 0]
    for variable, slope in slopes.items():
        if variable.is_nonneg():
            assert variable.value.min() >= -near
            assert slope.min() >= -near, f"{variable.name()} wants to grow"
            assert np.abs(slope * flat(variable.value)).max() <= near
        else:
            assert np.abs(slope).max() <= near, f"not stationary in {variable.name()}"

    if goal.is_affine():
        dual_value = sign * float(at_zero(goal)[0]) + constant(problem, duals)
        assert abs(dual_value - sign * solved.value) <= near


def assert_farkas(problem, solved, tolerance=1e-9):
    """Assert that the ray of `solved` proves that no point meets the affine constraints.

    With y ≥ 0 on inequalities, ``Σ y·g(x)`` is at most zero at a feasible x; the ray makes it
    positive at every x within the signs of the variables.
    """
    assert solved.value is None
    assert not solved.duals
    for variable in problem.variables():
        variable.save_value(np.zeros(variable.shape))
    rays = by_constraint(problem, solved.farkas)
    near = tolerance * largest(rays)
    assert near > 0
    for constraint, ray in zip(problem.constraints, rays, strict=True):
        if isinstance(constraint, cp.constraints.Inequality):
            assert ray.min() >= -near
    for variable, slope in combine(problem, rays).items():
        if variable.is_nonneg():
            assert slope.min() >= -near
        else:
            assert np.abs(slope).max() <= near
    assert constant(problem, rays) > near


def by_constraint(problem, multipliers):
    names = numbered(c.label or c.name() for c in problem.constraints)
    assert set(names) == set(multipliers)
    known = cp.constraints.Inequality | cp.constraints.Equality
    assert all(isinstance(c, known) for c in problem.constraints)
    return [flat(multipliers[name]) for name in names]


def numbered(names):
    seen = Counter()
    out = []
    for name in names:
        seen[name] += 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return out


def left(constraint):
    """Return g of ``g ≤ 0`` or ``g = 0``."""
    return constraint.args[0] - constraint.args[1]


def flat(value):
    return np.asarray(value, dtype=float).ravel(order="F")


def largest(arrays):
    return max((float(np.abs(x).max()) for x in arrays), default=0.0)


def gradients(expression):
    """Return the dense gradient (variable.size, expression.size) in each of its variables."""
    return {
        v: np.reshape(part.toarray() if hasattr(part, "toarray") else part, (v.size, -1))
        for v, part in expression.grad.items()
    }


def combine(problem, multipliers):
    """Return the gradient of ``Σ y·g`` in each variable of the problem."""
    out = {v: np.zeros(v.size) for v in problem.variables()}
    for constraint, dual in zip(problem.constraints, multipliers, strict=True):
        for variable, part in gradients(left(constraint)).items():
            out[variable] += part @ dual
    return out


def constant(problem, multipliers):
    """Return ``Σ y·g(0)``."""
    pairs = zip(problem.constraints, multipliers, strict=True)
    return float(sum(dual @ at_zero(left(c)) for c, dual in pairs))


def at_zero(expression):
    """Return an affine expression at the origin, from its value and gradient elsewhere."""
    parts = gradients(expression).items()
    return flat(expression.value) - sum(part.T @ flat(v.value) for v, part in parts)
