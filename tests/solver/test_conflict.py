"""Which rows contradict each other: no point meets them, and some meets all but any one."""

import pickle
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from iirl_opt.certificate import certify
from iirl_opt.errors import Infeasible, InvalidArgument, NotCertified
from iirl_opt.follower import OptimalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.policy import uniform_policy
from iirl_opt.occupancy.measure import OccupancyMeasure
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.solver import LiveProgram, Status, explain, solve
from iirl_opt.solver.names import speaks_of

x = cp.Variable(3, name="x")
n = cp.Variable(2, integer=True, name="n")
wide = cp.Variable((2, 2), name="wide")
half = cp.Variable((2, 2), symmetric=True, name="half")
p = cp.Parameter(name="p", value=3.0)
hemmed = cp.Variable(2, name="hemmed", bounds=[p * np.ones(2), np.array([4.0, 2.0])])
LEAST = np.arange(4.0).reshape(2, 2)


def labelled(rows):
    return cp.Problem(cp.Maximize(cp.sum(x)), [row.set_label(own) for own, row in rows.items()])


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ({"low": x[:2] >= 1, "sum": x[0] + x[1] <= 1, "idle": x <= 9}, {"low[0]", "low[1]", "sum"}),
        ({"ball": cp.norm1(x) <= 1, "far": x[0] + x[1] >= 2, "x": x >= -5}, {"ball", "far"}),
        ({"near": cp.abs(x) <= 1, "far": x[2] == 5}, {"near[2]", "far"}),
        ({"wide": wide >= LEAST, "cap": wide[1, 0] + wide[0, 1] <= 1}, 3),
        ({"half": half >= LEAST, "off": half[1, 0] <= 1}, {"half[1, 0]", "off"}),
        ({"never": cp.Constant([1, 2]) <= 0, "x": x >= 0}, 1),
        ({"neg": cp.sum(cp.Variable(2, name="z", nonneg=True)) <= -1}, {"neg"}),
        ({"even": 2 * n[0] + 4 * n[1] == 1, "n": n >= 0}, {"even"}),
        ({"two": cp.sum(n) >= 2, "most": n <= 0.9, "idle": x >= 0}, {"two", "most[0]", "most[1]"}),
        ({"low": x >= p, "high": x[1] <= 2}, {"low[1]", "high"}),
        ({"loop": x - np.roll(np.eye(3), 1, 0) @ x >= 1}, {"loop[0]", "loop[1]", "loop[2]"}),
        ({"a": x[0] / 3 + x[1] / 7 == 1 / 3, "b": x[0] / 3 + x[1] / 7 == 0.5}, {"a", "b"}),
        ({"tiny": 1e-10 * x[0] >= 1, "one": x[0] <= 1, "y": x[1] >= 1e9}, {"tiny", "one"}),
        ({"low": x[0] >= 1e12, "high": x[0] <= 1e11, "tie": x[1] == 1e6 * x[0]}, {"low", "high"}),
        ({"low": x[0] >= 1, "high": x[0] <= 1 - 1e-6}, {"low", "high"}),
        ({"hemmed": hemmed >= 0}, set()),
    ],
)
def test_the_rows_that_contradict_each_other_are_named_and_both_halves_proved(rows, expected):
    found = explain(labelled(rows))
    names = {row.name for row in found.rows}
    assert names == expected if isinstance(expected, set) else len(names) == expected
    assert found.minimal
    assert found.check()
    assert found.programs <= 2 + 2 * sum(row.size for row in rows.values())
    assert "a smallest set, proved" in str(found)


@settings(max_examples=15)
@given(
    matrix=arrays(np.int64, (6, 2), elements=st.integers(-2, 2)),
    bound=arrays(np.int64, 6, elements=st.integers(-3, 2)),
    whole=st.booleans(),
)
def test_what_is_found_is_infeasible_and_each_part_of_it_is_not(matrix, bound, whole):
    z = cp.Variable(2, name="z", integer=whole)
    sides = {"rows": (matrix, bound), "low": (-np.eye(2), [9, 9]), "high": (np.eye(2), [9, 9])}
    every = [(a @ z <= np.array(b)).set_label(label) for label, (a, b) in sides.items()]
    problem = cp.Problem(cp.Minimize(0), every)
    if solve(problem, throw=False).status is not Status.INFEASIBLE:
        with pytest.raises(InvalidArgument, match="has a feasible point"):
            explain(problem)
        return
    found = explain(problem)
    assert found.minimal
    assert found.check()

    def status(rows):
        left = [sides[row.label][0][row.index[0]] for row in rows]
        right = [sides[row.label][1][row.index[0]] for row in rows]
        kept = [np.array(left) @ z <= np.array(right)] if rows else []
        return solve(cp.Problem(cp.Minimize(0 * z[0]), kept), throw=False).status

    assert status(found.rows) is Status.INFEASIBLE
    for row in found.rows:
        assert status([other for other in found.rows if other is not row]) is Status.OPTIMAL


def test_rows_taken_for_granted_take_part_and_are_not_named():
    game, reward = random_game(6, 2, 2, rng=0)
    measure = OccupancyMeasure(game)
    visits = measure.expected(np.ones(6))
    rows = [(visits <= 5).set_label("rest"), (measure.expected(reward) <= 99).set_label("idle")]
    problem = cp.Problem(cp.Maximize(measure.expected(reward)), [*measure.constraints, *rows])
    found = explain(problem)
    assert [row.name for row in found.rows] == ["rest"]
    assert {row.label for row in found.background} == {"flow"}
    whole = explain(problem, background=())
    assert {row.label for row in whole.rows} == {"flow", "rest"}
    assert not whole.background
    assert found.check()
    assert whole.check()
    nothing = explain(problem, background=["flow", "rest", "idle"])
    assert nothing.rows == ()
    assert "taken for granted contradicts itself" in str(nothing)
    with pytest.raises(InvalidArgument, match=r"background names 'flux'.*flow, rest, idle"):
        explain(problem, background=["flux"])


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({"fine": x >= 1}, "has a feasible point;"),
        ({"ball": cp.norm(x) <= 1, "far": x >= 3}, "constraint 'ball', in it"),
        ({"hollow": cp.norm1(x) >= 1}, "constraint 'hollow' is not convex"),
        ({"cone": cp.SOC(x[0], x[1:])}, "constraint 'cone' is of the kind SOC"),
        ({"nan": x >= np.nan}, "NaN"),
        ({"p": x >= cp.Parameter(name="later")}, "later"),
    ],
)
def test_what_has_no_conflict_to_explain_is_refused(rows, said):
    with pytest.raises(InvalidArgument, match=said):
        explain(labelled(rows))


def test_a_proof_that_was_tampered_with_does_not_check():
    found = explain(labelled({"low": x[:2] >= 1, "sum": x[0] + x[1] <= 1}))
    proof = found._proof
    off = {i: point + 1 for i, point in proof.points.items()}
    for change in ({"ray": -proof.ray}, {"ray": None}, {"points": off}, {"kept": proof.kept[:-1]}):
        assert not replace(found, _proof=replace(proof, **change)).check()
    with pytest.raises(NotCertified, match=r"a Conflict: its proof is its own: `check\(\)`"):
        certify(found)


# The message of `Infeasible`.


def test_the_message_names_the_rows_of_the_ray_with_their_multipliers():
    for ask in (solve, lambda problem: LiveProgram.of(problem).solve()):
        with pytest.raises(Infeasible, match=r"They are: low\[1\] × \S+, high × \S+") as caught:
            ask(labelled({"low": x >= 3, "high": x[1] <= 2, "idle": x <= 9}))
        solved = caught.value.solved
        assert [row.name for row in solved.contradicting] == ["low[1]", "high"]
        assert solved.n_contradicting == 2
        assert solved.farkas["low"][1] == solved.contradicting[0].multiplier
        assert "iirl.solver.explain(problem)" in str(caught.value)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_the_message_names_ones_own_rows_first():
    # values[t] only say what V is, however large their multipliers.
    rows = {f"values[{t}]": 1e-3 * x[t] == 1e-3 for t in (0, 1)} | {"mine": x[0] + x[1] <= 1}
    with pytest.raises(Infeasible, match=r"They are: mine × \S+, values\[\d\]") as caught:
        solve(labelled(rows))
    own, *granted = (abs(row.multiplier) for row in caught.value.solved.contradicting)
    assert all(own < size for size in granted)


def test_the_message_names_a_few_of_many_and_says_how_many_there_are():
    many = cp.Variable(50, name="many")
    rows = [(many >= 1).set_label("each"), (cp.sum(many) <= 9).set_label("sum")]
    with pytest.raises(Infeasible, match=r"each\[0\].*, … \(51 rows in all\)") as caught:
        solve(cp.Problem(cp.Minimize(0), rows))
    assert len(str(caught.value)) < 500


def test_the_message_says_what_rows_speak_of_where_their_model_does():
    at = speaks_of((x >= 3).set_label("optimal[3]"), lambda index: f"s='{'abc'[index[0]]}'")
    problem = cp.Problem(cp.Minimize(0), [at, (x[1] <= 2).set_label("cap")])
    with pytest.raises(Infeasible, match=r"optimal\[3\] at s='b' × "):
        solve(problem)
    assert "optimal[3] at s='b'" in str(explain(problem))


def test_the_message_names_a_variable_whose_bounds_leave_it_nothing():
    with pytest.raises(Infeasible, match=r"no number is within the bounds of hemmed\[1\]"):
        solve(cp.Problem(cp.Minimize(cp.sum(hemmed))))


def test_rows_of_the_library_are_named_by_the_labels_of_the_game():
    game, truth = random_game(4, 2, 2, rng=1)
    follower = OptimalFollower()
    pi1 = uniform_policy(4, 2)
    feasible = FeasibleRewards(game).observe(pi1, follower.respond(game, truth, pi1))
    r = cp.Variable(4, name="r")
    mine = (r == -truth).set_label("mine")
    problem = cp.Problem(cp.Minimize(0), [*feasible.constraints(r), mine])
    with pytest.raises(Infeasible, match=r"(optimal|tied)\[1\] at s='?\w+'?, b="):
        solve(problem)
    found = explain(problem)
    assert found.minimal
    assert any(row.about for row in found.rows)
    assert all(row.label == "values[1]" and row.about for row in found.background)
