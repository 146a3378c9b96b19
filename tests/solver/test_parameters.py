"""Live programs of cvxpy problems: at any values of the parameters, the answer is a fresh one's."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from kkt import assert_kkt

from iirl_opt.errors import Infeasible, InvalidArgument, UnknownLabel
from iirl_opt.game.generate import random_game
from iirl_opt.occupancy.measure import OccupancyMeasure
from iirl_opt.solver import HiGHS, LiveProgram, Status, solve

x = cp.Variable(3, name="x")
y = cp.Variable(name="y", nonneg=True)
wide = cp.Variable((2, 3), name="wide", nonneg=True)
half = cp.Variable((2, 2), name="half", symmetric=True)
p = cp.Parameter(name="p", nonneg=True)
q = cp.Parameter(3, name="q")
full = cp.Parameter((2, 3), name="full")
moved = cp.Variable(2, name="moved", bounds=[-p, p + 1])
BOX = [x <= 4, x >= -4]

# Costs, right sides, coefficients, bounds, norms, maxima, matrices, slices, constants.
SHAPES = {
    "a cost": (cp.Minimize(q @ x), BOX),
    "one entry": (cp.Maximize(x[0]), [*BOX, (p * x[0] <= 3).set_label("cap")]),
    "a right side": (cp.Maximize(cp.sum(x)), [*BOX, (x <= q).set_label("q"), cp.sum(x) <= p]),
    "coefficients": (cp.Maximize(x[1]), [*BOX, (q @ x <= 1).set_label("row")]),
    "a matrix": (cp.Minimize(cp.sum(x)), [*BOX, (full @ x >= -2).set_label("rows")]),
    "bounds": (cp.Minimize(cp.sum(moved) + y), [moved[0] - moved[1] == p / 2]),
    "a norm": (cp.Minimize(cp.norm1(x - q)), [*BOX, (cp.sum(x) == p).set_label("sum")]),
    "a maximum": (cp.Minimize(cp.max(cp.multiply(q, x)) + cp.norm_inf(x)), [cp.sum(x) == 1]),
    "a cap on a norm": (cp.Maximize(cp.sum(x)), [(cp.abs(x - 1) <= p).set_label("near")]),
    "a matrix variable": (cp.Minimize(cp.sum(wide)), [(wide >= full).set_label("full")]),
    "half a matrix": (cp.Minimize(cp.trace(half)), [half >= p, (half[0, 1] == 2).set_label("off")]),
    "a sum of the largest": (cp.Minimize(cp.sum_largest(x, 2)), [x >= q]),
    "an offset": (cp.Maximize(cp.sum(x) - 3 * p + 7), [*BOX, x <= p]),
    "no objective": (cp.Minimize(0), [(x >= q).set_label("q"), y <= p]),
    "an objective of parameters": (cp.Minimize(p + 1), [x == q]),
    "reshaped": (cp.Maximize(cp.sum(cp.reshape(x, (3, 1), order="C"))), [cp.hstack([x, y]) <= p]),
    "an old value": (cp.Minimize(q @ x + 2), [*BOX, cp.sum(x) == 1]),
    "a product": (cp.Minimize(cp.sum(x)), [*BOX, cp.multiply(q, x) + p * np.ones(3) >= -1]),
    "a contradiction": (cp.Minimize(y), [(y >= p).set_label("low"), (y <= 1).set_label("high")]),
    "no bound": (cp.Minimize(cp.sum(x)), [(p * x >= -1).set_label("below")]),
}


@pytest.mark.parametrize("name", SHAPES)
@settings(max_examples=3)
@given(seed=st.integers(0, 2**32 - 1))
def test_at_any_values_a_live_program_says_what_a_fresh_one_does(name, seed):
    rng = np.random.default_rng(seed)
    problem = cp.Problem(*SHAPES[name])
    p.value, q.value, full.value = 1.0, np.ones(3), np.ones((2, 3))
    live = LiveProgram.of(problem)
    for _ in range(5):
        p.value = float(rng.integers(0, 4)) / 2
        q.value = rng.integers(-2, 3, 3).astype(float)
        full.value = rng.integers(-2, 3, (2, 3)).astype(float)
        solved = live.solve(throw=False)
        fresh = solve(cp.Problem(*SHAPES[name]), throw=False)
        assert solved.status is fresh.status
        if solved.status is Status.OPTIMAL:
            assert solved.value == pytest.approx(fresh.value, abs=1e-8)
            assert {k: v.shape for k, v in solved.primal.items()} == {
                k: v.shape for k, v in fresh.primal.items()
            }
            assert {k: v.shape for k, v in solved.duals.items()} == {
                k: v.shape for k, v in fresh.duals.items()
            }
            assert solved.residuals.largest() < 1e-7
        assert (solved.farkas or {}).keys() == (fresh.farkas or {}).keys()


def test_duals_of_a_live_program_meet_the_optimality_conditions():
    problem = cp.Problem(*SHAPES["one entry"])
    live = LiveProgram.of(problem)
    for value in (1.0, 0.5, 3.0, 0.0, 2.0):
        live.set(p=value)
        solved = live.solve()
        assert solved.value == pytest.approx(min(4.0, 3 / value if value else np.inf))
        assert solved.duals["cap"] == pytest.approx(1 / value if value > 0.75 else 0.0)
        assert x.value[0] == solved.primal["x"][0]
        assert_kkt(problem, solved)


def test_a_live_program_goes_on_from_its_basis():
    game, reward = random_game(40, 2, 2, rng=0)
    measure = OccupancyMeasure(game)
    visits = measure.expected(np.eye(40)[3])
    limit = cp.Parameter(name="limit", nonneg=True, value=0.1)
    cap = (visits <= limit).set_label("visits")
    problem = cp.Problem(cp.Maximize(measure.expected(reward)), [*measure.constraints, cap])
    live = LiveProgram.of(problem)
    assert live.solve().iterations > 20
    limit.value = 0.11
    again = live.solve()
    assert again.iterations < 5
    assert again.value == pytest.approx(solve(problem).value, abs=1e-9)
    assert again.duals["visits"] > 0


@pytest.mark.parametrize("scale", [1e-14, 1e-9, 1.0, 1e9, 1e14])
def test_values_that_leave_the_range_of_the_solver_and_come_back_change_no_promise(scale):
    live = LiveProgram.of(cp.Problem(cp.Maximize(x[0]), [p * x[0] <= 3 * p, x >= 0, x[1:] <= 1]))
    for value in (1.0, scale, 2.0, scale, 1.0):
        live.set(p=value)
        assert live.solve().primal["x"][0] == pytest.approx(3)


def test_other_solves_of_the_same_problem_do_not_disturb_a_live_program():
    problem = cp.Problem(*SHAPES["a norm"])
    p.value, q.value = 1.0, np.array([1.0, 2.0, 3.0])
    live = LiveProgram.of(problem)
    for value in (1.0, 2.0, 3.0):
        p.value = value
        assert live.solve().value == pytest.approx(solve(problem, "clarabel").value, abs=1e-6)


def test_parameters_are_set_together_or_not_at_all():
    p.value, q.value = 1.0, np.ones(3)
    live = LiveProgram.of(cp.Problem(cp.Minimize(q @ x), [x >= p]))
    for wrong, said in (
        ({"q": [1, 2, 3], "p": -1.0}, "parameter p"),
        ({"q": [1, 2]}, "parameter q"),
        ({"q": [1, 2, np.nan]}, "parameter q"),
        ({"q": "much"}, "parameter q"),
        ({"p": 1j}, "parameter p"),
    ):
        with pytest.raises(InvalidArgument, match=said):
            live.set(**wrong)
    with pytest.raises(UnknownLabel, match="did you mean 'p'"):
        live.set(q=np.zeros(3), pp=1.0)
    assert (p.value, *q.value) == (1.0, 1.0, 1.0, 1.0)
    p.value = None
    with pytest.raises(InvalidArgument, match="parameter p has no value"):
        live.solve()
    live.set(p=2.0)
    assert live.solve().value == pytest.approx(6)
    with pytest.raises(InvalidArgument, match="follows parameters"):
        live.change_objective(np.zeros(live.shape[1]))
    with pytest.raises(InvalidArgument, match="parameters"):
        LiveProgram([1.0], [[1.0]], [0.0], [1.0]).set(p=1.0)


@pytest.mark.parametrize(
    ("goal", "rows", "said"),
    [
        (cp.Minimize(p * p * y), [], r"objective, in it p \* p is not affine in the parameters"),
        (cp.Minimize(y), [(cp.exp(p) * y >= 1).set_label("e")], r"constraint 'e', in it exp\(p\)"),
        (cp.Minimize(cp.sum_squares(x)), [], "objective.* is no linear part"),
        (cp.Minimize(y), [(cp.norm(x) <= y).set_label("ball")], "constraint 'ball', in it Pnorm"),
        (cp.Minimize(y), [cp.SOC(y, x).set_label("cone")], "constraint 'cone' is of the kind SOC"),
        (cp.Maximize(cp.norm1(x)), [], "objective is not convex"),
        (cp.Minimize(y), [(cp.sqrt(y) <= 1).set_label("root")], "constraint 'root' is not convex"),
        (cp.Minimize(cp.sum(cp.Variable(2, boolean=True, name="take"))), [], "take is boolean"),
        (cp.Minimize(cp.Variable(integer=True, name="n")), [], "variable n is integer"),
        (cp.Minimize(cp.trace(cp.Variable((2, 2), PSD=True, name="P"))), [], "variable P is PSD"),
        (cp.Minimize(p), [], "has no variable"),
    ],
)
def test_what_cannot_be_live_is_refused_by_the_part_that_it_fails_for(goal, rows, said):
    p.value, q.value = 1.0, np.ones(3)
    with pytest.raises(InvalidArgument, match=said):
        LiveProgram.of(cp.Problem(goal, rows))


def test_what_is_added_to_a_problem_has_a_name_and_what_is_its_own_stays():
    live = LiveProgram.of(cp.Problem(cp.Maximize(y + 5), [(y <= 3).set_label("cap")]), HiGHS())
    assert live.solve().value == pytest.approx(8)
    live.add_rows([[1.0]], [-np.inf], [2.0])
    solved = live.solve()
    assert (solved.value, solved.duals["cap"]) == (pytest.approx(7), 0)
    assert solved.duals["added rows"] == pytest.approx([1])
    live.add_columns([4.0], [[1.0], [1.0]])
    assert live.solve().primal["added columns"] == pytest.approx([2])
    assert set(live.columns) == {"y", "added columns"}
    with pytest.raises(InvalidArgument, match=r"which has 0; allowed 1 … 1"):
        live.remove_columns([0])
    live.remove_columns([1])
    assert live.solve().value == pytest.approx(2)
    live.add_rows([[1.0]], [3.0], [np.inf])
    with pytest.raises(Infeasible) as caught:
        live.solve()
    assert set(caught.value.solved.farkas) == {"cap", "added rows"}


def test_parameters_of_one_name_are_not_set_by_it():
    one, two = (cp.Parameter(name="same", value=float(k)) for k in (1, 2))
    live = LiveProgram.of(cp.Problem(cp.Minimize(cp.sum(x)), [x >= one, x[0] >= two]))
    with pytest.raises(InvalidArgument, match="name of several parameters"):
        live.set(same=3.0)
    one.value = 1.5
    assert live.solve().value == pytest.approx(5)


@pytest.mark.parametrize("goal", [cp.sum(x), cp.norm1(x)])
def test_a_constraint_that_is_listed_twice_has_one_multiplier(goal):
    low = (x >= 1).set_label("low")
    problem = cp.Problem(cp.Minimize(goal), [low, low])
    for solved in (solve(problem), LiveProgram.of(problem).solve()):
        assert set(solved.duals) == {"low"}
        assert solved.duals["low"] == pytest.approx(np.ones(3))
