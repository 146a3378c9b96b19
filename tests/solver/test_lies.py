"""A solver that lies: whatever HiGHS is made to say, no false word becomes a proof."""

from types import SimpleNamespace

import cvxpy as cp
import highspy
import numpy as np
import pytest
from hypothesis import given, strategies as st

from iirl_opt.errors import SolverFailed
from iirl_opt.solver import HiGHS, LiveProgram, Status, solve

INF = np.inf


def linear():
    """Optimum 5 at (1, 2)."""
    x = cp.Variable(2, name="x")
    rows = [x[0] + x[1] <= 3, x[0] <= 1, x >= 0]
    return cp.Problem(cp.Maximize(x[0] + 2 * x[1] - cp.sum(0 * x)), [*rows, x[1] <= 2])


def quadratic():
    x = cp.Variable(2, name="x")
    return cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), [cp.sum(x) == 1, x >= 0])


def whole():
    n = cp.Variable(2, integer=True, name="n")
    return cp.Problem(cp.Maximize(5 * n[0] + 4 * n[1]), [6 * n[0] + 4 * n[1] <= 24, n >= 0, n <= 5])


def live(problem):
    return LiveProgram([1.0, 2.0], [[1.0, 1.0]], [-INF], [3.0], lower=0.0, upper=2, maximise=True)


KINDS = {"linear": linear, "quadratic": quadratic, "whole": whole}
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def lie(monkeypatch):
    """Return a way to replace what HiGHS says."""

    def say(**words):
        for name, word in words.items():
            monkeypatch.setattr(highspy.Highs, name, word)

    return say


def status_of(name):
    return lambda self: getattr(highspy.HighsModelStatus, name)


RAYS = {
    "none": (highspy.HighsStatus.kOk, False, np.zeros(0)),
    "zero": (highspy.HighsStatus.kOk, True, np.zeros(9)),
    "ones": (highspy.HighsStatus.kOk, True, np.ones(9)),
    "minus": (highspy.HighsStatus.kOk, True, -np.ones(9)),
    "nan": (highspy.HighsStatus.kOk, True, np.full(9, np.nan)),
    "tiny": (highspy.HighsStatus.kOk, True, np.full(9, 1e-300)),
    "huge": (highspy.HighsStatus.kOk, True, np.full(9, 1e308)),
}


@every_kind
@pytest.mark.parametrize("ray", RAYS)
def test_a_false_infeasible_said_as_often_as_we_ask_is_a_failure(lie, kind, ray):
    problem = KINDS[kind]()
    said, there, values = RAYS[ray]
    lie(
        getModelStatus=status_of("kInfeasible"),
        getDualRay=lambda self: (said, there, values[: self.getNumRow()]),
    )
    solved = solve(problem, throw=False)
    assert solved.status is Status.FAILED
    assert solved.said == "kInfeasible"
    with pytest.raises(SolverFailed, match="kInfeasible"):
        solve(problem)
    assert live(problem).solve(throw=False).status is Status.FAILED


@every_kind
@pytest.mark.parametrize("word", ["kUnbounded", "kUnboundedOrInfeasible"])
def test_a_false_unbounded_is_a_failure_and_ends(lie, kind, word):
    lie(getModelStatus=status_of(word))
    problem = KINDS[kind]()
    assert solve(problem, throw=False).status is Status.FAILED
    assert live(problem).solve(throw=False).status is Status.FAILED


@every_kind
@pytest.mark.parametrize("word", highspy.HighsModelStatus.__members__)
def test_every_word_on_every_program_is_a_failure_a_limit_or_true(lie, kind, word):
    problem = KINDS[kind]()
    truth = solve(problem).value
    lie(getModelStatus=status_of(word))
    solved = solve(problem, throw=False)
    if solved.status is Status.OPTIMAL:
        assert solved.value == pytest.approx(truth, abs=1e-6)
    else:
        assert solved.status in (Status.FAILED, Status.LIMIT)


@given(number=st.sampled_from([np.nan, INF, -INF, -1.0, 0.3, 1e9]), of=st.sampled_from("xyb"))
@every_kind
def test_false_points_multipliers_and_bounds_are_no_optima(kind, number, of):
    problem = KINDS[kind]()
    truth = solve(problem).value
    honest = highspy.Highs.getSolution, highspy.Highs.getInfo

    def solution(self):
        true = honest[0](self)
        x, y = np.array(true.col_value), np.array(true.row_dual)
        return SimpleNamespace(
            col_value=np.full_like(x, number) if of == "x" else x,
            row_dual=np.full_like(y, number) if of == "y" else y,
            dual_valid=true.dual_valid,
        )

    def info(self):
        true = honest[1](self)
        counts = [f"{k}_iteration_count" for k in ("simplex", "ipm", "crossover", "pdlp", "qp")]
        return SimpleNamespace(
            **{count: getattr(true, count) for count in counts},
            primal_solution_status=true.primal_solution_status,
            mip_dual_bound=number if of == "b" else true.mip_dual_bound,
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(highspy.Highs, "getSolution", solution)
        patch.setattr(highspy.Highs, "getInfo", info)
        solved = solve(problem, throw=False)
        if solved.status is Status.OPTIMAL:
            # The lie did not matter: a mixed-integer program has no multipliers, others no bound.
            assert solved.value == pytest.approx(truth, abs=1e-6)
            assert of != "x"
            assert (of == "y") == (kind == "whole")
        else:
            assert solved.status is Status.FAILED
            assert solved.value is None
            assert not solved.primal


def test_a_bound_far_from_the_value_is_no_optimum_of_a_mixed_integer_program(lie):
    honest = highspy.Highs.getInfo

    def info(self):
        true = honest(self)
        true.mip_dual_bound = true.mip_dual_bound - 1.0
        return true

    lie(getInfo=info)
    assert solve(whole(), throw=False).status is Status.FAILED


def test_the_true_ray_of_a_true_infeasible_program_counts():
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(0), [x[0] + x[1] >= 2, x[0] <= 0.75, x[1] <= 1, x >= 0])
    for solver in (HiGHS(), HiGHS(presolve=False), HiGHS("ipm"), HiGHS("pdlp")):
        solved = solve(problem, solver, throw=False)
        assert solved.status is Status.INFEASIBLE
        assert solved.farkas is not None


def test_a_failure_takes_the_values_of_an_earlier_call_away(lie):
    problem = linear()
    solve(problem)
    assert problem.variables()[0].value is not None
    lie(getModelStatus=status_of("kInfeasible"))
    solve(problem, throw=False)
    assert problem.variables()[0].value is None
