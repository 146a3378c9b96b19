"""Plain programs read directly are the arrays that cvxpy compiles, and the same answers."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.policy import random_policy
from iirl_opt.occupancy.measure import OccupancyMeasure
from iirl_opt.occupancy.quantities import budget
from iirl_opt.rewards.domains import RewardBox, RewardSimplex
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.solver import Clarabel, HiGHS, Status, solve
from iirl_opt.solver.linear import read_linear


def assert_as_cvxpy_compiles(problem: cp.Problem) -> None:
    ours = read_linear(problem)
    assert ours is not None
    data, _, _ = problem.get_problem_data("HIGHS")
    np.testing.assert_allclose(ours.data["c"], data["c"], atol=1e-14)
    np.testing.assert_allclose(ours.data["b"], data["b"], atol=1e-14)
    assert ours.data["dims"].zero == data["dims"].zero
    np.testing.assert_allclose(ours.data["A"].toarray(), data["A"].toarray(), atol=1e-14)
    n = len(data["c"])
    assert ours.data["int_vars_idx"] == list(data["int_vars_idx"])
    for side, missing in (("lower_bounds", -np.inf), ("upper_bounds", np.inf)):
        bounds = [np.full(n, missing) if d[side] is None else d[side] for d in (ours.data, data)]
        np.testing.assert_array_equal(*bounds)


@st.composite
def affine(
    draw: st.DrawFn, variables: list[cp.Variable], size: int, depth: int = 2
) -> cp.Expression:
    """An expression of a given size, of every kind that is read directly."""
    numbers = st.integers(-3, 3).map(float)

    def array(*shape: int) -> np.ndarray:
        n = int(np.prod(shape))
        return np.array(draw(st.lists(numbers, min_size=n, max_size=n))).reshape(shape)

    deeper = ["sum", "minus", "times", "over", "total", "entries"]
    kinds = ["constant", "product"] + (deeper if depth else [])
    kind = draw(st.sampled_from(kinds))
    if kind == "constant":
        return cp.Constant(array(size))
    if kind == "product":
        v = draw(st.sampled_from(variables))
        matrix = array(size, v.size)
        form = draw(st.sampled_from([np.asarray, sp.csr_array, sp.csc_array]))
        return form(matrix) @ v if draw(st.booleans()) else v @ form(matrix.T)
    if kind == "entries":
        whole = draw(affine(variables, size + 1, depth - 1))
        picked = draw(st.lists(st.integers(-size - 1, size), min_size=size, max_size=size))
        return whole[draw(st.sampled_from([slice(1, None), slice(None, 0, -1), picked]))]
    inner = draw(affine(variables, size, depth - 1))
    if kind == "sum":
        return inner + draw(affine(variables, size, depth - 1)) + draw(numbers)
    if kind == "minus":
        return draw(affine(variables, size, depth - 1)) - inner
    if kind == "times":
        return cp.multiply(array(size), inner)
    if kind == "over":
        return inner / 4.0
    return cp.sum(inner) + array(size)


@given(data=st.data())
def test_random_plain_programs(data: st.DataObject) -> None:
    attributes = [{}, {"nonneg": True}, {"nonpos": True}, {"bounds": [-1, 2]}, {"integer": True}]
    variables = [
        cp.Variable(data.draw(st.integers(1, 3)), **data.draw(st.sampled_from(attributes)))
        for _ in range(data.draw(st.integers(1, 3)))
    ]
    constraints = []
    for _ in range(data.draw(st.integers(0, 3))):
        size = data.draw(st.integers(1, 3))
        left, right = (data.draw(affine(variables, size)) for _ in range(2))
        compare = data.draw(st.sampled_from(["<=", ">=", "=="]))
        if compare == "==":
            constraints.append(left == right)
        else:
            constraints.append(left <= right if compare == "<=" else left >= right)
    goal = sum(cp.sum(v) for v in variables) + cp.sum(data.draw(affine(variables, 2)))
    sense = data.draw(st.sampled_from([cp.Minimize, cp.Maximize]))
    assert_as_cvxpy_compiles(cp.Problem(sense(goal), constraints))


def test_scalars_vectors_and_cones() -> None:
    x, y = cp.Variable(), cp.Variable(3)
    constraints = [
        x >= 1,
        y >= x,
        y - x <= [1, 2, 3],
        cp.constraints.NonNeg(y + 1),
        cp.constraints.Zero(cp.sum(y) - 3 * x),
        np.ones(3) @ y <= 7,
        y[1] + y[-1] >= 2 * y[0] + x,
        y[np.array([True, False, True])] <= 5,
    ]
    assert_as_cvxpy_compiles(cp.Problem(cp.Minimize(x + 2 * cp.sum(y)), constraints))


@given(seed=st.integers(0, 10_000))
def test_the_programs_of_the_library_are_plain(seed: int) -> None:
    game, truth = random_game(4, 2, 2, rng=seed)
    feasible = FeasibleRewards(game)
    rng = np.random.default_rng(seed)
    for ties in ("first", "mix"):
        pi1 = random_policy(4, 2, rng)
        feasible = feasible.observe(pi1, OptimalFollower(ties).respond(game, truth, pi1))
    for domain in (RewardSimplex(), RewardBox(2.0)):
        assert_as_cvxpy_compiles(feasible.problem(rng.normal(size=4), domain=domain))
    measure = OccupancyMeasure(game)
    cap = budget(measure.expected(np.eye(4)[0]), 1.0, name="cap")
    several = budget(measure.expected(rng.random((2, 4))), [1.0, 2.0], name="caps")
    assert_as_cvxpy_compiles(measure.problem(truth, subject_to=[cap, several]))


@given(seed=st.integers(0, 10_000))
def test_values_and_multipliers_are_those_of_another_solver(seed: int) -> None:
    """Nondegenerate by random data, so both are unique."""
    rng = np.random.default_rng(seed)
    x = cp.Variable(4, name="x")
    rows, bounds, cost = rng.normal(size=(6, 4)), rng.uniform(1, 2, 6), rng.normal(size=4)
    constraints = [
        (rows @ x <= bounds).set_label("rows"),
        (x >= -1).set_label("low"),
        (x <= 1).set_label("high"),
        (cp.sum(x) == 0.5).set_label("sum"),
    ]
    problem = cp.Problem(cp.Maximize(cost @ x), constraints)
    ours, point = solve(problem), x.value.copy()
    theirs = solve(problem, Clarabel())
    assert ours.value == pytest.approx(theirs.value, abs=1e-6)
    np.testing.assert_allclose(point, x.value, atol=1e-5)
    for name, dual in ours.duals.items():
        np.testing.assert_allclose(dual, theirs.duals[name], atol=1e-4)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: cp.Problem(cp.Minimize(cp.norm1(x)), [x >= 1]),
        lambda x: cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= 1]),
        lambda x: cp.Problem(cp.Minimize(cp.Parameter(2, value=[1, 2]) @ x), [x >= 1]),
        lambda x: cp.Problem(cp.Minimize(cp.sum(cp.Variable((2, 2)))), [x >= 1]),
        lambda x: cp.Problem(cp.Minimize(cp.sum(cp.Variable(2, boolean=[(0,)]) + x)), [x >= 1]),
        lambda x: cp.Problem(cp.Minimize(cp.Constant(3))),
    ],
)
def test_everything_else_goes_cvxpys_own_way(make) -> None:  # type: ignore[no-untyped-def]
    assert read_linear(make(cp.Variable(2))) is None


def test_data_that_is_no_number_is_left_for_cvxpy_to_refuse() -> None:
    x = cp.Variable(2)
    assert read_linear(cp.Problem(cp.Minimize(cp.sum(x)), [np.array([1, np.nan]) @ x >= 1])) is None


def test_a_mixed_integer_program_begins_at_a_given_point() -> None:
    """Without time to search, the point given is the incumbent that comes back."""
    rng = np.random.default_rng(3)
    take, spare = cp.Variable(40, boolean=True), cp.Variable(nonneg=True)
    weights = rng.integers(1, 100, (5, 40))
    gain = rng.uniform(size=40)
    problem = cp.Problem(cp.Maximize(gain @ take - spare), [weights @ take <= 900, spare >= 0])
    point = {take: np.r_[np.ones(3), np.zeros(37)], spare: np.array(0.0)}
    assert (weights @ point[take] <= 900).all()
    program = read_linear(problem)
    assert program is not None
    for variable, at in program.columns.items():
        np.testing.assert_array_equal(program.point(point)[at], np.ravel(point[variable]))
    begun = solve(problem, HiGHS(time_limit=0, presolve=False), throw=False, initial=point)
    assert begun.status is Status.LIMIT
    assert begun.value == pytest.approx(gain[:3].sum())
    assert solve(problem, HiGHS(tolerance=1e-2), initial=point).value >= begun.value
