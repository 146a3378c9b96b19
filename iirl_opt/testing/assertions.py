"""Assertions for tests: policies, optimality conditions, certificates.

An assertion fails with every reason it has found, each with the place and by how much.

`assert_kkt` judges a solved program by the conditions of Karush, Kuhn and Tucker, from nothing
but the program as its user wrote it and the numbers that now stand in its variables and
multipliers; it shares no arithmetic with `iirl_opt.solver`. With the objective f (negated if it is
maximised), rows ``g ≤ 0`` and ``h = 0``, their multipliers y and z, and column bounds:

* *primal*: ``g ≤ 0``, ``h = 0``, and the bounds hold;
* *dual*: ``y ≥ 0``, and ``d = ∇f + Σ y ∇g + Σ z ∇h`` pushes against existing bounds only;
* *gap*: every multiplier times its slack is zero, those of the bounds included.

For a convex program these prove that the point is optimal. The idea is that of cvxpy's own solver
tests, which check the parts one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import POSITIVE, checked, has, one_of
from iirl_opt.errors import InvalidArgument, InvalidPolicy
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.game.policy import check_policy

__all__ = ["assert_certificate", "assert_kkt", "assert_policy", "policy_shape"]

Array = NDArray[np.float64]
Agent: TypeAlias = Literal["leader", "follower", "joint"]

ROWS = ("Equality", "Inequality")
SIGNS_AND_BOUNDS = {"nonneg", "nonpos", "pos", "neg", "bounds"}


def policy_shape(model: TwoAgentMDP | MDP, agent: Agent = "leader") -> tuple[int, ...]:
    """Return the shape of a policy: (S, A), (S, B), (S, A, B) in a game; (S, B) in an MDP."""
    shapes: dict[Agent, tuple[int, ...]]
    if isinstance(model, TwoAgentMDP):
        n_states, n_a, n_b = model.shape
        shapes = {"leader": (n_states, n_a), "follower": (n_states, n_b), "joint": model.shape}
    elif isinstance(model, MDP):
        shapes = dict.fromkeys(("leader", "follower", "joint"), model.shape)
    else:
        problem = f"is {type(model).__name__}"
        raise InvalidArgument("game", problem, "a TwoAgentMDP or MDP; draw strategies first", model)
    one_of(*shapes)("agent", agent)
    return shapes[agent]


@checked(agent=one_of("leader", "follower", "joint"))
def assert_policy(
    policy: ArrayLike, where: TwoAgentMDP | MDP | tuple[int, ...], *, agent: Agent = "leader"
) -> None:
    """Fail unless an array is a policy: of the right shape, each row a distribution within 1e-9.

    Parameters
    ----------
    policy : the array.
    where : the game or MDP, or the shape itself: (S, A), (S, B) or (S, A, B).
    agent : whose policy it is in a game: ``"leader"``, ``"follower"`` or ``"joint"``.

    Raises
    ------
    AssertionError
        Names the state and the sum or entry, or the wrong shape.

    **Cost** arithmetic.

    Examples
    --------
    >>> assert_policy([[0.5, 0.5], [1.0, 0.0]], (2, 2))
    """
    __tracebackhide__ = True
    model = None if isinstance(where, tuple) else where
    shape = where if isinstance(where, tuple) else policy_shape(where, agent)
    try:
        name = "policy" if model is None else f"{agent} policy"
        check_policy(policy, shape, name=name, states=None if model is None else model.states)
    except InvalidPolicy as problem:
        raise AssertionError(str(problem)) from None


@checked(certificate=has("check", what="a certificate"))
def assert_certificate(certificate: Any) -> None:
    """Fail unless a certificate proves its claim.

    Parameters
    ----------
    certificate : anything with ``check()`` whose answer is true where the claim is proved, and else
        says why not in its ``reasons``.

    Raises
    ------
    AssertionError
        Lists the reasons of the check.

    **Cost** arithmetic; no solver.

    Examples
    --------
    >>> from iirl_opt import TwoAgentMDP
    >>> from iirl_opt.occupancy import optimality
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], discount="1/2")
    >>> assert_certificate(optimality(game, [0, 1], ([[1], [1]], [[0, 1], [1, 0]])))
    """
    __tracebackhide__ = True
    answer = certificate.check()
    if not answer:
        reasons = [str(reason) for reason in getattr(answer, "reasons", ())]
        _fail(f"{type(certificate).__name__} does not hold", reasons)


@checked(
    problem=has("objective", "constraints", what="a cvxpy problem"),
    solved=has("status", "primal", "duals", what="a Solved record"),
    tolerance=POSITIVE,
)
def assert_kkt(problem: Any, solved: Any = None, *, tolerance: float = 1e-6) -> None:
    """Fail unless a solved program meets its optimality conditions (see the module).

    Parameters
    ----------
    problem : a convex cvxpy problem with an affine or quadratic objective and affine rows ``==``,
        ``<=``, ``>=``, whose variables and multipliers have values; the variables may have signs
        and bounds, but no other attributes.
    solved : the `Solved` record of the same call, if it is to be checked too: that it is optimal
        and holds the same objective, values and multipliers.
    tolerance : of each condition, relative to one plus the largest number that enters it.

    Raises
    ------
    AssertionError
        Lists every condition that is not met, with its place and the amount.
    InvalidArgument
        The program is not of this kind.

    **Cost** arithmetic.

    Examples
    --------
    >>> import cvxpy as cp
    >>> from iirl_opt.solver import solve
    >>> x = cp.Variable(name="x")
    >>> problem = cp.Problem(cp.Minimize(x), [x >= 1])
    >>> assert_kkt(problem, solve(problem))
    >>> x.value = 2.0
    >>> assert_kkt(problem)
    Traceback (most recent call last):
        ...
    AssertionError: the optimality conditions do not hold:
      gap: multipliers times slacks add up to 1, not 3e-06
    """
    __tracebackhide__ = True
    _refuse_others(problem)
    reasons = list(_without_value(problem))
    if not reasons:
        parts = _Constraints(problem), _Variables(problem)
        reasons = [reason for part in parts for reason in part.reasons(tolerance)]
        gap = sum(part.products for part in parts)
        allowed = tolerance * (1 + abs(float(problem.objective.expr.value)))
        if not gap <= allowed:
            reasons.append(f"gap: multipliers times slacks add up to {gap:.3g}, not {allowed:.3g}")
        if solved is not None:
            reasons += _other_record(problem, solved, tolerance)
    if reasons:
        _fail("the optimality conditions do not hold", reasons)


class _Constraints:
    """The constraints: their violations, the signs of their multipliers, and the products."""

    def __init__(self, problem: Any) -> None:
        self.constraints = problem.constraints
        self.products = sum(
            float(np.abs(_flat(c.dual_value) * _flat(c.expr.value)).sum()) for c in self.constraints
        )

    def reasons(self, tolerance: float) -> Iterator[str]:
        for c in self.constraints:
            name = _name(c)
            size = max(float(np.abs(_flat(side.value)).max(initial=0.0)) for side in c.args)
            yield from _too_large(f"primal: {name}", _flat(c.violation()), tolerance * (1 + size))
            if type(c).__name__ == "Inequality":
                y = _flat(c.dual_value)
                size = float(np.abs(y).max(initial=0.0))
                yield from _too_large(f"dual: sign of {name}", -y, tolerance * (1 + size))


class _Variables:
    """The variables: their bounds, the gradient of the Lagrangian, and the products."""

    def __init__(self, problem: Any) -> None:
        sense = -1.0 if problem.objective.NAME == "maximize" else 1.0
        terms = [(problem.objective.expr, sense)]
        terms += [(c.expr, c.dual_value) for c in problem.constraints]
        self.variables = problem.variables()
        self.gradient = [np.zeros(v.size) for v in self.variables]
        self.size = [np.zeros(v.size) for v in self.variables]
        position = {v.id: i for i, v in enumerate(self.variables)}
        for expression, multiplier in terms:
            y = _flat(multiplier)
            for variable, jacobian in expression.grad.items():
                matrix = np.asarray(_dense_entries(jacobian), dtype=float).reshape(
                    variable.size, -1
                )
                self.gradient[position[variable.id]] += matrix @ y
                self.size[position[variable.id]] += np.abs(matrix) @ np.abs(y)
        self.bounds = [
            tuple(_flat(_dense_entries(b)) for b in v.get_bounds()) for v in self.variables
        ]
        self.products = 0.0
        for v, d, (low, high) in zip(self.variables, self.gradient, self.bounds, strict=True):
            x = _flat(v.value)
            bound = np.where(d > 0, low, high)
            slack = np.where(np.isfinite(bound), x - bound, 0.0)
            self.products += float(np.abs(d * slack).sum())

    def reasons(self, tolerance: float) -> Iterator[str]:
        for v, d, size, (low, high) in zip(
            self.variables, self.gradient, self.size, self.bounds, strict=True
        ):
            x = _flat(v.value)
            outside = np.maximum(low - x, x - high)
            scale = 1 + float(np.abs(x).max(initial=0.0))
            yield from _too_large(f"primal: bounds of {v.name()}", outside, tolerance * scale)
            unbounded = np.where(d > 0, np.isinf(low), np.isinf(high))
            push = np.where(unbounded, np.abs(d), 0.0)
            scale = 1 + float(size.max(initial=0.0))
            yield from _too_large(f"dual: gradient for {v.name()}", push, tolerance * scale)


def _refuse_others(problem: Any) -> None:
    objective = problem.objective.expr
    if not problem.is_dcp() or not objective.is_quadratic():
        raise InvalidArgument(
            "objective",
            f"is {objective}",
            "affine, or quadratic and convex for the sense of the program",
            objective,
        )
    for c in problem.constraints:
        if type(c).__name__ not in ROWS or not c.expr.is_affine():
            raise InvalidArgument(_name(c), f"is {c}", "==, <= or >= between affine sides", c)
    for v in problem.variables():
        others = [
            name
            for name, setting in v.attributes.items()
            if name not in SIGNS_AND_BOUNDS and setting is not False and setting is not None
        ]
        if others:
            raise InvalidArgument(
                f"variable {v.name()}", f"is {', '.join(others)}", "signs and bounds only", others
            )


def _without_value(problem: Any) -> Iterator[str]:
    for v in problem.variables():
        if v.value is None:
            yield f"variable {v.name()} has no value: solve the problem first"
    for c in problem.constraints:
        if c.dual_value is None:
            yield f"{_name(c)} has no multiplier: solve the problem first"


def _other_record(problem: Any, solved: Any, tolerance: float) -> Iterator[str]:
    """Yield where a `Solved` record is not optimal or differs from what the problem holds."""
    if solved.status.name != "OPTIMAL":
        yield f"record: its status is {solved.status.name}"
    pairs = [("value", problem.objective.expr.value, solved.value)]
    for kind, here, there in (
        ("variables", [v.value for v in problem.variables()], solved.primal),
        ("multipliers", [c.dual_value for c in problem.constraints], solved.duals),
    ):
        if len(here) != len(there):
            yield f"record: it holds {len(there)} {kind}, the problem {len(here)}"
        pairs += [(name, x, there[name]) for name, x in zip(there, here, strict=False)]
    for name, mine, theirs in pairs:
        x, y = _flat(mine), _flat(np.nan if theirs is None else theirs)
        if x.shape != y.shape:
            yield f"record: {name} has {y.size} entries, the problem {x.size}"
            continue
        scale = 1 + float(np.abs(x).max(initial=0.0))
        yield from _too_large(f"record: {name}", np.abs(x - y), tolerance * scale)


def _too_large(what: str, amounts: Array, allowed: float) -> Iterator[str]:
    """Yield a reason if an amount exceeds what is allowed or is no number, for the largest one."""
    bad = ~(amounts <= allowed)
    if bad.any():
        at = int(np.argmax(np.where(np.isnan(amounts), np.inf, amounts)))
        where = f"[{at}]" if amounts.size > 1 else ""
        yield f"{what}{where} is off by {amounts[at]:.3g}, allowed {allowed:.3g}"


def _flat(numbers: Any) -> Array:
    """Return numbers as a vector in Fortran order, which is cvxpy's order of derivatives."""
    return np.asarray(numbers, dtype=float).ravel(order="F")


def _dense_entries(matrix: Any) -> Any:
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


def _name(constraint: Any) -> str:
    return str(constraint.label or constraint)


def _fail(headline: str, reasons: list[str]) -> None:
    __tracebackhide__ = True
    raise AssertionError("\n  ".join([f"{headline}:", *reasons]) if reasons else headline)
