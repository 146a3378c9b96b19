"""Numbers far from one: statuses and values are right in any units, or refused by name."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from simplex import decide

from iirl_opt.errors import InvalidArgument, SolverProblem
from iirl_opt.solver import Clarabel, LiveProgram, Named, Status, solve

INF = np.inf
NAMES = {"optimal": "OPTIMAL", "infeasible": "INFEASIBLE", "unbounded": "UNBOUNDED"}


@st.composite
def programs(draw):
    """Integers small enough to be decided at once, half of them with signs that bound them."""
    n, m = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    numbers = st.integers(-3, 3)
    rows = draw(st.lists(st.lists(numbers, min_size=n, max_size=n), min_size=m, max_size=m))
    right = draw(st.lists(st.integers(-4, 4), min_size=m, max_size=m))
    relations = draw(st.lists(st.sampled_from(["<=", "<=", ">=", "="]), min_size=m, max_size=m))
    if draw(st.booleans()):
        rows += np.eye(n, dtype=int).tolist()
        right, relations = right + [0] * n, relations + [">="] * n
    cost = draw(st.lists(numbers, min_size=n, max_size=n))
    return cost, rows, relations, right


@st.composite
def exponents(draw, size):
    far = draw(st.sampled_from([3, 30, 60, 250]))
    return np.array(draw(st.lists(st.integers(-far, far), min_size=size, max_size=size)), int)


@given(program=programs(), data=st.data())
def test_the_units_of_rows_variables_and_objective_change_nothing(program, data):
    cost, rows, relations, right = program
    truth, value = decide(*program)
    r, k = data.draw(exponents(len(rows))), data.draw(exponents(len(cost)))
    o = int(data.draw(exponents(1))[0])
    matrix = np.ldexp(np.array(rows, dtype=float), r[:, None] + k[None, :])
    bounds, slope = (
        np.ldexp(np.array(right, dtype=float), r),
        np.ldexp(np.array(cost, float), k + o),
    )
    relation = np.array(relations)
    low, high = np.where(relation == "<=", -INF, bounds), np.where(relation == ">=", INF, bounds)
    solved = LiveProgram(slope, matrix, low, high).solve(throw=False)
    # None of these is refused: a refusal would be allowed, and so few that it has to be looked at.
    assert solved.status.name == NAMES[truth]
    if truth == "optimal":
        size = np.ldexp(max(abs(float(value)), 1.0), o)
        assert solved.value == pytest.approx(np.ldexp(float(value), o), abs=1e-9 * size, rel=1e-9)
    x = cp.Variable(len(cost), name="x")
    comparisons = [
        matrix[i] @ x <= bounds[i] if how == "<=" else matrix[i] @ x >= bounds[i]
        for i, how in enumerate(relations)
        if how != "="
    ] + [matrix[i] @ x == bounds[i] for i, how in enumerate(relations) if how == "="]
    again = solve(cp.Problem(cp.Minimize(slope @ x), comparisons), throw=False)
    assert again.status is solved.status


TINY = [1e-9, 1e-10, 1e-12, 2.0**-40, 1e-30, 1e-200]


@pytest.mark.parametrize("tiny", TINY)
@pytest.mark.parametrize("equal", [True, False])
def test_a_tiny_coefficient_is_no_zero(tiny, equal):
    x = cp.Variable(2, name="x")
    row = tiny * x[0] == 1 if equal else tiny * x[0] >= 1
    assert solve(cp.Problem(cp.Minimize(x[0]), [row, x >= 0])).value == pytest.approx(1 / tiny)
    # A square root of a variable is no plain expression, so this takes cvxpy's own compilation.
    y = cp.Variable((2, 1), name="y")
    row = tiny * y[0, 0] == 1 if equal else tiny * y[0, 0] >= 1
    problem = cp.Problem(cp.Minimize(cp.max(y)), [row, y >= 0])
    assert solve(problem).value == pytest.approx(1 / tiny)


@pytest.mark.parametrize("tiny", TINY)
def test_a_row_of_tiny_coefficients_holds(tiny):
    r = cp.Variable(3, name="r")
    rows = [tiny * (r[0] - r[1]) >= 0, cp.sum(r) == 1, r >= 0]
    assert solve(cp.Problem(cp.Maximize(r[1]), rows)).primal["r"] == pytest.approx([0.5, 0.5, 0])


@pytest.mark.parametrize("solver", [Named("HIGHS"), Named("SCIPY"), Named("SCS"), Clarabel()])
def test_of_other_solvers_tiny_rows_are_looked_at_too(solver):
    r = cp.Variable(3, name="r")
    rows = [1e-10 * (r[0] - r[1]) >= 0, cp.sum(r) == 1, r >= 0]
    solved = solve(cp.Problem(cp.Maximize(r[1]), rows), solver, throw=False)
    if solved.status is Status.OPTIMAL:
        assert solved.primal["r"] == pytest.approx([0.5, 0.5, 0], abs=1e-4)
    else:
        assert solved.status is Status.FAILED


@pytest.mark.parametrize("tiny", [1e-9, 1e-10, 1e-12])
def test_a_quadratic_program_with_tiny_coefficients_is_right_or_refused(tiny):
    x = cp.Variable(2, name="x")
    row = tiny * (x[0] + x[1]) == 2 * tiny
    solved = solve(cp.Problem(cp.Minimize(cp.sum_squares(x)), [row]), throw=False)
    assert solved.status is Status.FAILED or solved.primal["x"] == pytest.approx([1, 1], abs=1e-5)
    far = solve(cp.Problem(cp.Minimize(cp.sum_squares(x)), [tiny * x[0] == 1]), throw=False)
    assert far.status is Status.FAILED or far.primal["x"][0] == pytest.approx(1 / tiny)


@pytest.mark.parametrize("tiny", TINY)
def test_a_live_program_takes_tiny_numbers_whenever_they_come(tiny):
    live = LiveProgram([1.0, 1.0], [[1.0, 1.0]], [1.0], [INF], lower=0.0)
    assert live.solve().value == pytest.approx(1)
    live.add_rows([[0.0, tiny]], [1.0], [INF])
    assert live.solve().value == pytest.approx(1 / tiny)
    live.change_rows([1.0, 0.0], [INF, INF])
    assert live.solve().value == pytest.approx(1)
    live.add_columns([tiny], [[tiny], [0.0]])
    live.change_objective([1.0, 2.0, tiny / 2])
    assert live.solve().value == pytest.approx(0.5)
    live.remove_columns([2])
    assert live.solve().value == pytest.approx(1)


@pytest.mark.parametrize("size", [1e15, 1e20, 1e25, 1e100, 1e300])
def test_bounds_and_right_sides_beyond_those_that_count_as_infinite(size):
    x = cp.Variable(2, name="x")
    assert solve(cp.Problem(cp.Minimize(x[0]), [x[0] >= size])).value == pytest.approx(size)
    assert solve(cp.Problem(cp.Maximize(x[0]), [x[0] + x[1] <= size, x >= 0])).value == size
    bounded = cp.Variable(bounds=[0, size])
    assert solve(cp.Problem(cp.Maximize(bounded))).value == size
    both = [x[0] >= size, x[0] <= size / 2]
    assert solve(cp.Problem(cp.Minimize(0), both), throw=False).status is Status.INFEASIBLE


@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1e-100, 1e100, 1e300])
def test_costs_at_the_ends_of_the_floats(scale):
    x = cp.Variable(3, name="x")
    rows = [cp.sum(x) == 1, x >= 0]
    solved = solve(cp.Problem(cp.Minimize(scale * (np.array([3.0, 1.0, 2.0]) @ x)), rows))
    assert solved.primal["x"] == pytest.approx([0, 1, 0])
    assert solved.value == pytest.approx(scale, rel=1e-6, abs=0)


def test_two_parts_with_units_of_their_own():
    x = cp.Variable(2, name="x")
    rows = [x[0] >= 1e-12, x[1] >= 1e12]
    assert solve(cp.Problem(cp.Minimize(cp.sum(x)), rows)).primal["x"] == pytest.approx(
        [1e-12, 1e12], rel=1e-9
    )


@pytest.mark.parametrize("tiny", [1e-9, 1e-10, 1e-12, 1e-20])
def test_a_mixed_integer_program_with_tiny_coefficients(tiny):
    n = cp.Variable(2, integer=True, name="n")
    row = tiny * (2 * n[0] + 3 * n[1]) <= 7.5 * tiny
    solved = solve(cp.Problem(cp.Maximize(3 * n[0] + 4 * n[1]), [row, n >= 0]))
    assert solved.value == solved.bound == 10
    crossed = [tiny * n[0] >= 2.5 * tiny, tiny * n[0] <= 2.75 * tiny]
    assert solve(cp.Problem(cp.Minimize(0), crossed), throw=False).status is Status.INFEASIBLE


def test_a_coefficient_that_matters_only_far_out_still_does():
    x = cp.Variable(2, name="x")
    rows = [1e-10 * x[0] + x[1] <= 1, x[0] <= 1e12, x[1] >= 0]
    assert solve(cp.Problem(cp.Maximize(x[0]), rows)).value == pytest.approx(1e10)


@pytest.mark.parametrize("tiny", [1e-9, 1e-10, 1e-12, 1e-20])
def test_parameters_may_be_tiny(tiny):
    x, p = cp.Variable(2, name="x"), cp.Parameter(nonneg=True)
    problem = cp.Problem(cp.Minimize(x[0]), [p * x[0] >= 1, x >= 0])
    for value in (1.0, tiny):
        p.value = value
        assert solve(problem).value == pytest.approx(1 / value)


@given(
    matrix=st.lists(
        st.sampled_from([0.0, 1.0, -1.0, 1e-310, 1e300, -1e308]), min_size=4, max_size=4
    ),
    right=st.lists(st.sampled_from([0.0, 1.0, 1e-310, 1e300]), min_size=2, max_size=2),
)
def test_numbers_at_the_ends_of_the_floats_bring_typed_errors_or_right_answers(matrix, right):
    rows = np.reshape(matrix, (2, 2))
    try:
        solved = LiveProgram([1.0, 1.0], rows, right, [INF, INF], lower=0.0).solve()
    except (SolverProblem, InvalidArgument):
        return
    # A right side of 1e-310 beside coefficients of one is missed by 1e-310: no float tells more.
    signs, truths = [[1, 0], [0, 1]], []
    for slack in (Fraction(0), Fraction(10) ** -300):
        given_ = [Fraction(b) - slack for b in right]
        truths.append(decide([1, 1], [*rows.tolist(), *signs], [">="] * 4, [*given_, 0, 0])[1])
    near = [x for x in truths if x is not None]
    assert any(solved.value == pytest.approx(float(x), rel=1e-6, abs=1e-290) for x in near)


def test_an_empty_row_or_column_of_any_size_changes_nothing():
    live = LiveProgram([1.0, 0.0], [[1.0, 0.0], [0.0, 0.0]], [1.0, -1e-30], [INF, 1e30], lower=0.0)
    assert live.solve().value == 1
    never = LiveProgram([1.0], [[1.0], [0.0]], [0.0, 1e-30], [INF, INF], lower=0.0)
    assert never.solve(throw=False).status is Status.INFEASIBLE


@pytest.mark.parametrize("small", [1e-7, 1e-10, 1e-15])
def test_an_objective_without_a_bound_has_none_however_it_is_written(small):
    cost = np.array([-small, 1.0])
    x, n = cp.Variable(2, name="x"), cp.Variable(2, nonneg=True, name="n")
    ways = [(x, [x >= 0]), (n, [n[1] >= 2]), (n, [cp.sum(n) >= 0]), (x, [x >= 0, cp.sum(x) >= 1])]
    for variable, rows in ways:
        problem = cp.Problem(cp.Minimize(cost @ variable), rows)
        assert solve(problem, throw=False).status is Status.UNBOUNDED
        # As others have it, it may be a failure.
        for other in (Named("SCS"), Named("OSQP"), Named("HIGHS"), Clarabel()):
            assert solve(problem, other, throw=False).status is not Status.OPTIMAL
    live = LiveProgram([small, 1.0], np.ones((1, 2)), [0.0], [INF], lower=0.0)
    assert live.solve().value == 0
    live.change_objective(cost)
    assert live.solve(throw=False).status is Status.UNBOUNDED


@pytest.mark.parametrize("small", [1e-7, 1e-10, 1e-15])
def test_a_small_cost_counts_as_far_as_the_rows_let_it(small):
    cost = np.array([-small, 1.0])
    x, n = cp.Variable(2, name="x"), cp.Variable(2, nonneg=True, name="n")
    for variable, rows in [(x, [x >= 0, x <= 1e6]), (n, [cp.sum(n) <= 1e6]), (n, [n <= 1e6])]:
        solved = solve(cp.Problem(cp.Minimize(cost @ variable), rows))
        assert solved.value == pytest.approx(-small * 1e6, rel=1e-9, abs=0)
