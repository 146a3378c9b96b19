"""Other solvers than HiGHS: their points and multipliers are judged as those of HiGHS are."""

import cvxpy as cp
import numpy as np
import pytest

import iirl_opt as iirl
from iirl_opt.errors import InvalidArgument
from iirl_opt.solver import Clarabel, HiGHS, Named, Status, solve

TIGHT = {"eps_abs": 1e-9, "eps_rel": 1e-9}
LOOSE = {"tol_gap_abs": 0.1, "tol_gap_rel": 0.1, "tol_feas": 1e-2}
OTHERS = {
    "SCS": Named("SCS"),
    "tight SCS": Named("SCS", TIGHT),
    "OSQP": Named("OSQP"),
    "loose Clarabel": Named("CLARABEL", LOOSE),
    "Clarabel": Clarabel(),
    "SCIPY": Named("SCIPY"),
    "loose HIGHS": Named("HIGHS", {"dual_feasibility_tolerance": 1e-2}),
}
every_other = pytest.mark.parametrize("solver", OTHERS.values(), ids=OTHERS)


def linear(cost, most=np.inf):
    """Its rows are bounds, so that its optimum is known."""
    x = cp.Variable(2, name="x")
    rows = [(x >= 0).set_label("low")]
    rows += [(x <= most).set_label("high")] if np.isfinite(most) else []
    return cp.Problem(cp.Minimize(np.array(cost) @ x), rows)


@every_other
@pytest.mark.parametrize("unit", [1e-5, 1.0, 2.0**20])
def test_what_is_called_the_optimum_of_an_occupancy_program_is_it(solver, unit):
    game, reward = iirl.random_game(6, 2, 2, rng=5)
    measure = iirl.OccupancyMeasure(game)
    best = measure.maximise(reward).value
    solved = solve(measure.problem(reward * unit), solver, throw=False)
    if solved.status is Status.OPTIMAL:
        assert solved.value / unit == pytest.approx(best, rel=1e-5)
        assert solved.residuals.gap is not None
        assert "primal" not in repr(solved)
    else:
        assert solved.status is Status.FAILED
        assert solver.name in solved.note
        assert solved.value is None
        assert not solved.primal


@every_other
@pytest.mark.parametrize("small", [1e-3, 1e-6, 1e-9])
def test_a_small_cost_far_out_counts(solver, small):
    solved = solve(linear([-small, 1.0], 1e5), solver, throw=False)
    assert solved.status is Status.FAILED or solved.value == pytest.approx(-small * 1e5, abs=1e-5)


@every_other
def test_a_program_without_a_bound_has_no_optimum(solver):
    solved = solve(linear([-5e-3, 1.0]), solver, throw=False)
    assert solved.status in (Status.FAILED, Status.UNBOUNDED)


def test_programs_that_cvxpy_has_to_rewrite_are_judged_by_their_multipliers_too():
    y = cp.Variable((2, 1), name="y")
    rows = [cp.sum(y) == 1, y >= 0]
    bent = cp.Problem(cp.Maximize(-cp.norm1(y - 1) - cp.max(y)), rows)
    for solver in (Named("SCS", TIGHT), Named("OSQP", TIGHT), Clarabel(), Named("SCIPY")):
        solved = solve(bent, solver)
        assert solved.value == pytest.approx(-1.5, abs=1e-6)
        assert solved.residuals.gap == pytest.approx(0, abs=1e-6)
    curved = cp.Problem(cp.Minimize(cp.sum_squares(y - 1)), rows)
    for solver in (Named("SCS", TIGHT), Named("OSQP", TIGHT), Named("CLARABEL"), Named("HIGHS")):
        solved = solve(curved, solver)
        assert solved.value == pytest.approx(0.5, abs=1e-6)
        assert solved.residuals.dual == pytest.approx(0, abs=1e-6)


def test_of_cones_the_point_alone_is_checked_and_the_record_says_so():
    x = cp.Variable(2)
    solved = solve(cp.Problem(cp.Minimize(cp.norm(x - 1)), [cp.sum(x) == 1]), "SCS")
    assert "that nothing is better is the word of SCS" in solved.note
    assert "primal residuals" in repr(solved)
    assert solved.residuals.gap is None


BAD_OPTIONS = [
    ("SCS", {"nonsense": 1}),
    ("SCS", {"max_iters": "x"}),
    ("SCS", {3: 1}),
    ("OSQP", {"nonsense": 1}),
    ("OSQP", {"max_iter": "x"}),
    ("CLARABEL", {"nonsense": 1}),
    ("CLARABEL", {"max_iter": "x"}),
    ("SCIPY", {"nonsense": 1}),
    ("SCIPY", {"scipy_options": {"method": "no"}}),
    ("HIGHS", {"nonsense": 1}),
    ("HIGHS", {"time_limit": "x"}),
]


@pytest.mark.parametrize(("name", "options"), BAD_OPTIONS)
def test_an_option_that_a_solver_does_not_take_is_named_with_the_solver(name, options):
    own = {"HIGHS": HiGHS, "CLARABEL": Clarabel}
    solvers = [Named(name, options)] + ([own[name](options=options)] if name in own else [])
    for solver in solvers:
        with pytest.raises(InvalidArgument, match=r"options.*(?i:highs|" + name + ")") as caught:
            solve(linear([1.0, 1.0]), solver)
        assert str(next(iter(options))) in str(caught.value)
    assert solvers[0].arguments() == options
