"""The door to solvers: a status is a proof or it is none, and every number is checked again."""

import pickle
import subprocess
import sys
import warnings

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from kkt import assert_farkas, assert_kkt

from iirl_opt.errors import (
    Infeasible,
    InvalidArgument,
    LimitReached,
    SolverFailed,
    SolverProblem,
    Unbounded,
)
from iirl_opt.solver import Clarabel, HiGHS, Named, Residuals, Status, solve

METHODS = ("choose", "simplex", "ipm", "pdlp")
WITHOUT_PRESOLVE = HiGHS(presolve=False)


def transport():
    """A transport problem with integer data; its optimum is 3·1 + 2·2 + 3·1 = 10."""
    x = cp.Variable((2, 2), nonneg=True, name="x")
    cost = np.array([[1.0, 2.0], [4.0, 1.0]])
    return cp.Problem(
        cp.Minimize(cp.sum(cp.multiply(cost, x))),
        [
            (cp.sum(x, axis=1) <= [5, 3]).set_label("supply"),
            (cp.sum(x, axis=0) >= [3, 5]).set_label("demand"),
        ],
    )


def contradiction(presolve_sees_it):
    """An infeasible program; one kind is found by presolve, the other takes the simplex method."""
    x = cp.Variable(3, name="x")
    if presolve_sees_it:
        rows = [(x[0] >= 2).set_label("low"), (x[0] <= 1).set_label("high"), x >= 0]
    else:
        # Each variable is at most the mean of the others less one: sum them up.
        rows = [(x[i] <= (cp.sum(x) - x[i]) / 2 - 1).set_label(f"row {i}") for i in range(3)]
    return cp.Problem(cp.Minimize(cp.sum(x)), rows)


def market_split():
    """A small mixed-integer program that takes far longer than any test."""
    weights = np.random.default_rng(3).integers(0, 100, (5, 40))
    take = cp.Variable(40, boolean=True, name="take")
    off = cp.Variable((5, 2), nonneg=True, name="off")
    rows = [weights @ take + off[:, 0] - off[:, 1] == weights.sum(axis=1) // 2]
    return cp.Problem(cp.Minimize(cp.sum(off)), rows)


# What kinds of programs are solved, and by whom.


def test_highs_refuses_what_it_cannot_solve():
    x = cp.Variable()
    with pytest.raises(cp.error.SolverError):
        solve(cp.Problem(cp.Minimize(cp.exp(x))))


def test_a_nonconvex_problem_is_refused():
    x = cp.Variable()
    with pytest.raises(cp.error.DCPError):
        solve(cp.Problem(cp.Maximize(cp.square(x)), [x <= 1]))


@pytest.mark.parametrize(
    ("kind", "cap"),
    [
        ({"diag": True}, 0.5),
        ({"symmetric": True}, 0.25),
        ({"PSD": True}, 0.25),
        ({"sparsity": ([0, 1], [0, 1])}, 0.5),
        ({"hermitian": True}, 0.25),
        ({"complex": True}, 0.25),
    ],
)
def test_matrix_variables_of_every_kind_are_read_without_a_warning(kind, cap):
    x = cp.Variable((2, 2), name="x", **kind)
    total = cp.real(cp.sum(x)) if x.is_complex() else cp.sum(x)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - np.eye(2))), [total <= 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solved = solve(problem, Named("SCS", {"eps": 1e-7}))
    # The nearest matrix is I less a multiple of the pattern of free entries.
    assert solved.value == pytest.approx(cap, abs=1e-4)
    assert solved.primal["x"].shape == (2, 2)
    assert np.iscomplexobj(solved.primal["x"]) == x.is_complex()


# Statuses.


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_of_other_cones_a_word_that_we_cannot_prove_stays_a_word(solver):
    x = cp.Variable(2, name="x")
    none = cp.Problem(cp.Minimize(cp.sum(x)), [cp.norm(x) <= 1, cp.sum(x) >= 3])
    with pytest.raises(SolverFailed) as caught:
        solve(none, solver)
    assert "nfeasible" in caught.value.solved.said
    assert caught.value.solved.said in str(caught.value)


def test_an_unbounded_quadratic_program_never_passes_for_solved():
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(cp.square(x[0]) + x[1]), [x[0] >= 1])
    assert solve(problem, throw=False).status in (Status.UNBOUNDED, Status.FAILED)


@pytest.mark.parametrize("options", [{}, {"allow_unbounded_or_infeasible": True}])
@pytest.mark.parametrize("presolve", [True, False])
def test_infeasible_or_unbounded_is_resolved_into_one_of_the_two(options, presolve):
    solver = HiGHS(options=options, presolve=presolve)
    x = cp.Variable(2, name="x")
    pull = cp.Maximize(cp.sum(x))
    open_, shut = x[1] - x[0] >= 1, x[0] - x[1] >= 10
    assert solve(cp.Problem(pull, [open_, x >= 0]), solver, throw=False).status is Status.UNBOUNDED
    both = cp.Problem(pull, [open_.set_label("open"), shut.set_label("shut"), x >= 0])
    solved = solve(both, solver, throw=False)
    assert solved.status is Status.INFEASIBLE
    assert_farkas(both, solved)


@pytest.mark.parametrize(
    "options", [{"mip_max_nodes": 1}, {"mip_max_improving_sols": 1}, {"objective_target": 1e6}]
)
def test_every_limit_of_highs_is_a_limit(options):
    solved = solve(market_split(), HiGHS(options=options), throw=False)
    assert solved.status is Status.LIMIT
    assert solved.value is not None


@pytest.mark.parametrize("limit", [0, 1])
def test_an_iteration_limit_is_never_an_optimum(limit):
    stopped = HiGHS(presolve=False, options={"simplex_iteration_limit": limit})
    with pytest.raises(LimitReached):
        solve(transport(), stopped)


@pytest.mark.parametrize("stopped", [Clarabel(time_limit=0), Clarabel(options={"max_iter": 1})])
def test_a_limit_of_clarabel_is_never_an_optimum(stopped):
    x = cp.Variable(3)
    with pytest.raises(LimitReached):
        solve(cp.Problem(cp.Minimize(cp.norm(x)), [cp.sum(x) == 1]), stopped)


def test_a_row_of_whole_numbers_without_a_common_divisor_needs_no_search():
    n = cp.Variable(30, boolean=True, name="n")
    problem = cp.Problem(cp.Minimize(0), [cp.sum(2 * n) == 31])
    none = {"mip_max_nodes": 0}
    # Presolve says infeasible by itself; two does not divide 31, so that is true.
    assert solve(problem, Named("HIGHS", none), throw=False).status is Status.INFEASIBLE
    assert solve(problem, HiGHS(options=none), throw=False).status is Status.LIMIT
    assert solve(problem, throw=False).status is Status.INFEASIBLE


def test_what_other_solvers_call_inaccurate_is_a_failure():
    x = cp.Variable(4)
    problem = cp.Problem(cp.Minimize(cp.norm(x)), [cp.sum(x) == 1])
    with pytest.raises(SolverFailed):
        solve(problem, Named("SCS", {"max_iters": 2}))


@given(
    matrix=arrays(np.int64, (3, 2), elements=st.integers(-2, 2)),
    bound=arrays(np.int64, 3, elements=st.integers(-2, 2)),
    cost=arrays(np.int64, 2, elements=st.integers(-2, 2)),
    presolve=st.booleans(),
)
def test_every_status_of_a_linear_program_can_be_proved(matrix, bound, cost, presolve):
    x = cp.Variable(2, name="x")
    rows = [(matrix @ x <= bound).set_label("rows")]
    problem = cp.Problem(cp.Minimize(cost @ x), rows)
    solved = solve(problem, HiGHS(presolve=presolve), throw=False)
    if solved.status is Status.OPTIMAL:
        assert_kkt(problem, solved)
    elif solved.status is Status.INFEASIBLE:
        # HiGHS finds no ray where there is no coefficient at all.
        if solved.farkas is not None or matrix.any():
            assert_farkas(problem, solved)
    else:
        # Unbounded: feasible, and some direction of the recession cone is downhill.
        assert solved.status is Status.UNBOUNDED
        feasible = cp.Problem(cp.Minimize(0), rows)
        assert_kkt(feasible, solve(feasible))
        cone = cp.Problem(cp.Minimize(cost @ x), [matrix @ x <= 0, x >= -1, x <= 1])
        steepest = solve(cone)
        assert_kkt(cone, steepest)
        assert steepest.value < -1e-6


# Numbers that do not survive our own arithmetic.


SCALES = pytest.mark.parametrize("scale", [1e-12, 1e-9, 1e-5, 1.0, 1e6, 1e9, 1e12])


@SCALES
@pytest.mark.parametrize("presolve", [True, False])
def test_the_unit_of_a_linear_objective_changes_nothing(scale, presolve):
    x = cp.Variable(3, name="x")
    cost = np.array([3.0, 1.0, 2.0])
    rows = [(cp.sum(x) == 1).set_label("sum"), (x >= 0).set_label("sign")]
    problem = cp.Problem(cp.Minimize(scale * cost @ x), rows)
    solved = solve(problem, HiGHS(presolve=presolve))
    assert solved.value == pytest.approx(scale)
    assert solved.primal["x"] == pytest.approx([0, 1, 0])
    assert solved.duals["sign"] == pytest.approx(scale * np.array([2, 0, 1]))


@pytest.mark.parametrize("scale", [1e-9, 1e-5, 1.0, 1e6, 1e9, 1e12])
def test_the_unit_of_a_quadratic_objective_changes_nothing(scale):
    x = cp.Variable(3, name="x")
    rows = [(cp.sum(x) == 1).set_label("sum"), x >= -1]
    problem = cp.Problem(cp.Minimize(scale * cp.sum_squares(x)), rows)
    solved = solve(problem)
    assert solved.value == pytest.approx(scale / 3)
    assert solved.primal["x"] == pytest.approx([1 / 3] * 3, abs=1e-6)


@SCALES
def test_the_unit_of_a_mixed_integer_objective_changes_nothing(scale):
    gain, weight = np.array([[3, 5, 7, 2, 8, 6, 4, 9.0], [2, 3, 6, 1, 7, 5, 3, 8]])
    take = cp.Variable(8, boolean=True, name="take")
    solved = solve(cp.Problem(cp.Maximize(scale * gain @ take), [weight @ take <= 16]))
    assert solved.value == pytest.approx(22 * scale)
    assert solved.bound == pytest.approx(22 * scale)


def test_a_small_cost_beside_a_large_one_still_counts():
    x = cp.Variable(2, name="x")
    rows = [cp.sum(x) >= 1, x >= 0, x[1] <= 5]
    for presolve in (True, False):
        solved = solve(cp.Problem(cp.Minimize(1e9 * x[0] - x[1]), rows), HiGHS(presolve=presolve))
        assert solved.primal["x"] == pytest.approx([0, 5])


def test_a_scale_of_ones_own_is_left_alone():
    x = cp.Variable(name="x")
    problem = cp.Problem(cp.Minimize(1e6 * x), [x >= 1])
    for options, exponent in (({}, -10), ({"user_objective_scale": -3}, -3)):
        solved = solve(problem, HiGHS(options=options))
        assert solved.options["highs_options"]["user_objective_scale"] == exponent
        assert solved.value == 1e6


def test_residuals_are_recomputed_and_small():
    solved = solve(transport())
    assert isinstance(solved.residuals, Residuals)
    assert solved.residuals.largest() <= 1e-8
    assert None not in vars(solved.residuals).values()


def test_a_program_that_only_differs_by_its_gap_is_solved_to_the_end():
    # HiGHS's own relative gap of 1e-4 would leave more than one unit in ten thousand unproved.
    rng = np.random.default_rng(1)
    gain = rng.integers(1000, 100000, 30)
    weight = gain + rng.integers(0, 3000, 30)
    take = cp.Variable(30, boolean=True, name="take")
    solved = solve(cp.Problem(cp.Maximize(gain @ take), [weight @ take <= weight.sum() // 2]))
    assert solved.bound - solved.value < 1


# What stands in the record.


@pytest.mark.parametrize("sense", [cp.Minimize, cp.Maximize])
def test_the_bound_of_a_mixed_integer_program_is_in_the_users_sense(sense):
    n = cp.Variable(integer=True, name="n")
    solved = solve(cp.Problem(sense(n + 100), [2 * n >= -7, 2 * n <= 7]))
    assert solved.value == solved.bound == (97 if sense is cp.Minimize else 103)


@pytest.mark.parametrize("sense", [cp.Minimize, cp.Maximize])
def test_the_bound_is_on_the_right_side_where_a_limit_came_first(sense):
    problem = market_split()
    goal = problem.objective.args[0] + 7
    turned = cp.Problem(sense(goal if sense is cp.Minimize else -goal), problem.constraints)
    solved = solve(turned, HiGHS(options={"mip_max_improving_sols": 1}), throw=False)
    assert solved.status is Status.LIMIT
    if sense is cp.Minimize:
        assert 7 - 1e-9 <= solved.bound < solved.value
    else:
        assert -7 + 1e-9 >= solved.bound > solved.value


def test_duals_stand_under_their_labels_and_later_ones_are_numbered():
    x = cp.Variable(2, name="x")
    rows = [(x[0] <= 1).set_label("cap"), (x[1] <= 2).set_label("cap"), x[0] + x[1] <= 100]
    problem = cp.Problem(cp.Maximize(3 * x[0] + 5 * x[1]), rows)
    solved = solve(problem)
    assert solved.duals["cap"] == 3
    assert solved.duals["cap (2)"] == 5
    assert len(solved.duals) == 3
    assert_kkt(problem, solved)


def test_variables_of_one_name_are_numbered():
    first, second = cp.Variable(name="x"), cp.Variable(name="x")
    solved = solve(cp.Problem(cp.Minimize(first + 2 * second), [first >= 1, second >= first]))
    assert sorted(map(float, solved.primal.values())) == [1, 1]
    assert set(solved.primal) == {"x", "x (2)"}


def test_variables_keep_their_values_and_the_record_has_copies():
    problem = transport()
    x = problem.variables()[0]
    solved = solve(problem)
    assert np.array_equal(x.value, solved.primal["x"])
    solved.primal["x"][:] = 7
    assert not (x.value == 7).any()


def test_multipliers_of_an_earlier_solve_do_not_come_back():
    x = cp.Variable(name="x")
    n = cp.Variable(name="n", integer=True)
    cap = (x <= 3).set_label("cap")
    assert solve(cp.Problem(cp.Maximize(x), [cap])).duals["cap"] == 1
    for solver in (HiGHS(), Named("HIGHS")):
        assert not solve(cp.Problem(cp.Maximize(x + n), [cap, n <= 2.5]), solver).duals
    assert cap.dual_value is None


def test_the_record_says_what_ran():
    solved = solve(transport(), HiGHS("simplex", tolerance=1e-8, time_limit=60))
    options = solved.options["highs_options"]
    assert options["solver"] == "simplex"
    assert options["time_limit"] == 60
    assert options["primal_feasibility_tolerance"] == 1e-8
    assert solved.version.count(".") == 2
    assert solved.seconds > 0
    assert solved.compile_seconds > 0
    assert "OPTIMAL, value 10" in repr(solved)


def test_a_record_and_its_exception_survive_pickling():
    with pytest.raises(Infeasible) as caught:
        solve(contradiction(True))
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.solved.status is Status.INFEASIBLE
    assert again.solved.farkas.keys() == caught.value.solved.farkas.keys()
    assert str(again) == str(caught.value)


def test_every_exception_carries_its_record_and_says_what_to_do():
    with pytest.raises(SolverProblem) as caught:
        solve(contradiction(True))
    assert "HIGHS: INFEASIBLE. " in str(caught.value)
    assert caught.value.solved.status.advice in str(caught.value)


@pytest.mark.parametrize("throw", [True, False])
def test_throw_only_matters_without_an_optimum(throw):
    assert solve(transport(), throw=throw).status is Status.OPTIMAL


# Edges.


def test_problems_without_variables_are_decided():
    assert solve(cp.Problem(cp.Minimize(3.5))).value == 3.5
    assert solve(cp.Problem(cp.Maximize(2), [cp.Constant(-1) <= 0])).value == 2
    with pytest.raises(Infeasible):
        solve(cp.Problem(cp.Minimize(0), [cp.Constant(1) <= 0]))


def test_a_constant_row_that_cannot_hold_makes_the_rest_infeasible():
    x = cp.Variable(name="x")
    problem = cp.Problem(cp.Minimize(x), [(cp.Constant(1) <= 0).set_label("never"), x >= 0])
    solved = solve(problem, throw=False)
    assert solved.status is Status.INFEASIBLE
    assert_farkas(problem, solved)


def test_a_constant_objective_asks_for_any_feasible_point():
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(7), [(x >= 1).set_label("one")])
    solved = solve(problem)
    assert solved.value == 7
    assert_kkt(problem, solved)


def test_problems_without_constraints_are_decided():
    x, y = cp.Variable(2, name="x"), cp.Variable(nonneg=True, name="y")
    lowest = cp.Problem(cp.Minimize(y + 1))
    assert solve(lowest).value == 1
    assert_kkt(lowest, solve(lowest))
    squares = cp.Problem(cp.Minimize(cp.sum_squares(x - 1)))
    assert_kkt(squares, solve(squares))
    boolean = cp.Variable(3, boolean=True)
    assert solve(cp.Problem(cp.Maximize(cp.sum(boolean) + 0.5))).value == 3.5
    for goal in (cp.Maximize(y), cp.Minimize(cp.sum(x))):
        with pytest.raises(Unbounded):
            solve(cp.Problem(goal))


def test_a_bound_that_is_infinite_is_no_bound():
    x = cp.Variable(2, bounds=[[0, -np.inf], [np.inf, 5]], name="x")
    solved = solve(cp.Problem(cp.Maximize(x[1] - x[0]), []))
    assert solved.value == 5
    assert solved.residuals.largest() == 0


@pytest.mark.parametrize("where", ["objective", "row", "parameter"])
def test_data_that_is_not_a_number_is_refused(where):
    x = cp.Variable(name="x")
    bad = cp.Parameter() if where == "parameter" else np.nan
    goal, row = (x, bad * x <= 1) if where == "row" else (bad * x, x <= 1)
    with pytest.raises(ValueError, match="NaN"):
        solve(cp.Problem(cp.Maximize(goal), [row]))


@pytest.mark.parametrize(
    ("kind", "argument", "value"),
    [
        (HiGHS, "method", "barrier"),
        (HiGHS, "tolerance", 1e-11),
        (HiGHS, "tolerance", 0.5),
        (HiGHS, "tolerance", np.nan),
        (HiGHS, "time_limit", -1),
        (HiGHS, "time_limit", np.nan),
        (Clarabel, "tolerance", 0.0),
        (Clarabel, "tolerance", np.nan),
        (Clarabel, "time_limit", -1.0),
    ],
)
def test_a_bad_solver_argument_is_named(kind, argument, value):
    with pytest.raises(InvalidArgument) as caught:
        kind(**{argument: value})
    assert caught.value.place == argument
    assert caught.value.value is value


def test_a_solver_that_does_not_exist_is_refused():
    for nope in (Named("NOPE"), "nope", 3, cp.CLARABEL + " "):
        with pytest.raises(InvalidArgument, match=r"solver is .*HIGHS") as caught:
            solve(transport(), nope)
        assert caught.value.value is nope
    with pytest.raises(InvalidArgument, match="problem is"):
        solve("CLARABEL")


def test_the_nearest_solver_stands_first_whatever_the_case():
    for wrong, near in (("HIGSH", "HIGHS"), ("claribel", "CLARABEL"), (Named("scc"), "SCS")):
        with pytest.raises(InvalidArgument, match=rf"a name among {near}, "):
            solve(transport(), wrong)
    with pytest.raises(InvalidArgument, match=r"solver is '', which .* CLARABEL, HIGHS, OSQP"):
        solve(transport(), "")


def test_a_solver_may_be_called_by_its_name():
    for name in ("HIGHS", "clarabel", "SCS"):
        solved = solve(transport(), name)
        assert (solved.solver, solved.value) == (name.upper(), pytest.approx(10, abs=1e-3))


# Silence.


def test_nothing_is_printed_and_no_warning_leaks(capfd):
    x = cp.Variable(2, name="x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solve(transport())
        for method in METHODS:
            solve(contradiction(False), HiGHS(method), throw=False)
            solve(transport(), HiGHS(method, presolve=False))
        solve(cp.Problem(cp.Maximize(cp.sum(x))), throw=False)
        solve(market_split(), HiGHS(time_limit=0), throw=False)
        solve(cp.Problem(cp.Minimize(cp.norm(x - 1))), Clarabel())
        solve(cp.Problem(cp.Minimize(cp.norm(x - 1))), Named("SCS", {"max_iters": 1}), throw=False)
    assert capfd.readouterr() == ("", "")


FIRST_SOLVE = """
import cvxpy as cp
from iirl_opt.solver import solve
x = cp.Variable(2)
assert solve(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1])).value == 2
"""


@pytest.mark.process
@pytest.mark.parametrize("before", ["", "import os, sys; os.close(1); sys.stdout = None"])
def test_the_first_solve_of_a_process_prints_nothing(before):
    command = [sys.executable, "-c", before + FIRST_SOLVE]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
