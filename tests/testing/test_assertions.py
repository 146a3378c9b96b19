"""Assertions: they pass on what is right by closed form and name what is wrong."""

from dataclasses import dataclass, replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from iirl_opt import FeasibleRewards, OccupancyMeasure, RewardSimplex, Status, solve
from iirl_opt.errors import Infeasible, InvalidArgument
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.game.policy import uniform_policy
from iirl_opt.game.values import evaluate
from iirl_opt.solver import Clarabel
from iirl_opt.testing import (
    assert_certificate,
    assert_kkt,
    assert_policy,
    games,
    observations,
    policies,
    rewards,
)

GAME = TwoAgentMDP(
    np.ones((2, 2, 3, 2), dtype=int), "1/2", states=("hall", "yard"), leader_actions=("a", "b")
)
MODEL = MDP(np.ones((2, 3, 2), dtype=int), "1/2")


# Policies


def test_policies_of_every_agent_pass_in_their_own_shape():
    assert_policy(uniform_policy(2, 2), GAME)
    assert_policy(uniform_policy(2, 3), GAME, agent="follower")
    assert_policy(np.full((2, 2, 3), 1 / 6), GAME, agent="joint")
    assert_policy(uniform_policy(2, 3), MODEL)
    assert_policy([[Fraction(1, 3), Fraction(2, 3)]], (1, 2))
    assert_policy([[1 + 1e-12, -1e-12]], (1, 2))


@pytest.mark.parametrize(
    ("policy", "where", "agent", "message"),
    [
        (uniform_policy(2, 3), GAME, "leader", r"leader policy has shape \(2, 3\); allowed \(2, 2"),
        (uniform_policy(2, 2), GAME, "follower", r"follower policy has shape \(2, 2\)"),
        (uniform_policy(2, 3), GAME, "joint", "joint policy has shape"),
        ([[1, 0], [0.5, 0.6]], GAME, "leader", r"leader policy\[s='yard'\] sums to 1.1"),
        ([[1, 0], [-0.5, 1.5]], GAME, "leader", r"leader policy\[s='yard'\] has an entry -0.5"),
        ([[1, 0], [np.nan, 1]], (2, 2), "leader", r"policy\[s=1\] has an entry nan"),
        ([[1, 0], [1]], (2, 2), "leader", "no array"),
        ("first", (2, 2), "leader", "no array"),
        (uniform_policy(2, 2), MODEL, "follower", "has shape"),
    ],
)
def test_what_is_no_policy_fails_with_its_place(policy, where, agent, message):
    with pytest.raises(AssertionError, match=message):
        assert_policy(policy, where, agent=agent)


def test_a_policy_of_nothing_known_is_a_wrong_argument():
    with pytest.raises(InvalidArgument, match="agent is 'A1'; allowed leader, follower, joint"):
        assert_policy(uniform_policy(2, 2), GAME, agent="A1")
    with pytest.raises(InvalidArgument, match="game is list"):
        assert_policy(uniform_policy(2, 2), [2, 2])


# Optimality conditions, on values written down by hand


def give(constraint, multiplier):
    constraint.dual_variables[0].save_value(np.asarray(multiplier, dtype=float))


def production(sense=cp.Maximize, **attributes):
    """``max 3x + 2y, x + y ≤ 4, x + 3y ≤ 6, x ≤ 3, x, y ≥ 0`` is 11 at (3, 1), prices (2, 0, 1).

    The textbook's corner: the third row and the first meet there, the second has slack zero too, so
    the optimum is degenerate.
    """
    v = cp.Variable(2, name="v", **(attributes or {"nonneg": True}))
    value = 3 * v[0] + 2 * v[1]
    rows = [
        (v[0] + v[1] <= 4).set_label("hours"),
        (-v[0] - 3 * v[1] >= -6).set_label("wood"),
        (v[0] <= 3).set_label("demand"),
    ]
    problem = cp.Problem(sense(value if sense is cp.Maximize else -value), rows)
    v.value = np.array([3.0, 1.0])
    for row, price in zip(rows, (2, 0, 1), strict=True):
        give(row, price)
    return problem


@pytest.mark.parametrize("sense", [cp.Maximize, cp.Minimize])
@pytest.mark.parametrize("attributes", [{"nonneg": True}, {"bounds": [0, 10]}, {"name": "v"}])
def test_the_closed_form_of_a_linear_program_passes(sense, attributes):
    attributes = {key: value for key, value in attributes.items() if key != "name"}
    assert_kkt(production(sense, **attributes), tolerance=1e-12)


def test_other_multipliers_of_a_degenerate_optimum_pass_too():
    problem = production()
    for row, price in zip(problem.constraints, (0, 2 / 3, 7 / 3), strict=True):
        give(row, price)
    assert_kkt(problem, tolerance=1e-12)


@pytest.mark.parametrize(
    ("point", "prices", "reasons"),
    [
        ((3, 1.1), (2, 0, 1), ["primal: hours is off by 0.1", "primal: wood is off by 0.3"]),
        ((4, -0.5), (2, 0, 1), [r"primal: demand is off by 1,", r"primal: bounds of v\[1\]"]),
        ((2, 1), (2, 0, 1), ["gap: multipliers times slacks add up to 3"]),
        ((3, 1), (-2, 4 / 3, 11 / 3), ["dual: sign of hours is off by 2"]),
        ((3, 1), (2, 0, 0), [r"dual: gradient for v\[0\] is off by 1"]),
        ((3, 1), (0, 0, 0), [r"dual: gradient for v\[0\] is off by 3"]),
        ((3, 1), (2.5, 0, 0.5), ["gap: multipliers times slacks add up to 0.5"]),
        ((3, np.nan), (2, 0, 1), ["primal: hours is off by nan"]),
        ((3, 1), (np.nan, 0, 1), ["dual: sign of hours is off by nan", "gap: .* nan"]),
    ],
)
def test_each_condition_that_fails_is_named(point, prices, reasons):
    problem = production()
    problem.variables()[0].save_value(np.array(point, dtype=float))
    for row, price in zip(problem.constraints, prices, strict=True):
        give(row, price)
    with pytest.raises(AssertionError, match="the optimality conditions do not hold:") as failure:
        assert_kkt(problem)
    for reason in reasons:
        failure.match(reason)


def test_a_gradient_may_push_against_bounds_that_exist_and_against_no_others():
    lower, upper = cp.Variable(bounds=[-1, None]), cp.Variable(bounds=[None, 2], name="up")
    lower.value, upper.value = -1, 2
    assert_kkt(cp.Problem(cp.Minimize(lower - upper)))
    with pytest.raises(AssertionError, match="dual: gradient for up is off by 1"):
        assert_kkt(cp.Problem(cp.Minimize(lower + upper)))
    upper.save_value(np.array(1.5))
    with pytest.raises(AssertionError, match=r"gap: multipliers times slacks add up to 0\.5"):
        assert_kkt(cp.Problem(cp.Minimize(lower - upper)))
    upper.save_value(np.array(3.0))
    with pytest.raises(AssertionError, match="primal: bounds of up is off by 1"):
        assert_kkt(cp.Problem(cp.Minimize(lower - upper)))


def test_the_closed_form_of_a_quadratic_program_passes():
    x = cp.Variable(2, name="x")
    rows = [x[0] <= 1, cp.sum(x) == 3]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), rows)
    x.value = np.array([1.0, 2.0])
    give(rows[0], 2)  # 2x₀ + y + z = 0 and 2x₁ + z = 0
    give(rows[1], -4)
    assert_kkt(problem, tolerance=1e-12)
    x.value = np.array([1.5, 1.5])  # optimal without the first row
    give(rows[0], 0)
    give(rows[1], -3)
    with pytest.raises(AssertionError, match=r"primal: .* is off by 0\.5"):
        assert_kkt(problem)


def test_matrix_variables_and_broadcast_rows_are_read_in_cvxpys_order():
    """Two stores ship to three shops; shop prices (1, 2, 3) less store rents (0, 1) are the costs.

    Then those prices are the multipliers, and every plan that meets supply and demand is optimal.
    """
    plan = cp.Variable((2, 3), nonneg=True, name="plan")
    cost = np.array([[1.0, 2, 3], [0, 1, 2]])
    supply, demand = cp.sum(plan, axis=1) <= [4, 2], cp.sum(plan, axis=0) == [1, 2, 3]
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(cost, plan))), [supply, demand, plan <= 9])
    plan.value = np.array([[1.0, 0, 3], [0, 2, 0]])
    give(supply, [0, 1])
    give(demand, [-1, -2, -3])
    give(problem.constraints[2], np.zeros((2, 3)))
    assert_kkt(problem, tolerance=1e-12)
    give(demand, [-1, -3, -2])
    with pytest.raises(AssertionError, match=r"dual: gradient for plan\[2\] is off by 1"):
        assert_kkt(problem)


def test_a_problem_that_is_not_solved_fails():
    x = cp.Variable(name="x")
    problem = cp.Problem(cp.Minimize(x), [(x >= 1).set_label("floor")])
    with pytest.raises(AssertionError, match="variable x has no value: solve the problem first"):
        assert_kkt(problem)
    x.value = 1.0
    with pytest.raises(AssertionError, match="floor has no multiplier"):
        assert_kkt(problem)
    contradiction = cp.Problem(cp.Minimize(x), [x >= 1, x <= 0])
    with pytest.raises(Infeasible):
        solve(contradiction)
    with pytest.raises(AssertionError):
        assert_kkt(contradiction)


FREE = cp.Variable(2, name="x")


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (cp.Problem(cp.Minimize(cp.norm1(FREE))), "objective is .*norm1.*; allowed affine"),
        (cp.Problem(cp.Maximize(cp.sum_squares(FREE))), "objective is"),
        (
            cp.Problem(cp.Minimize(FREE[0]), [cp.norm(FREE) <= 1]),
            "allowed ==, <= or >= between affine",
        ),
        (
            cp.Problem(cp.Minimize(FREE[0]), [cp.SOC(FREE[0], FREE)]),
            "allowed ==, <= or >= between affine",
        ),
        (cp.Problem(cp.Minimize(cp.Variable(name="n", integer=True))), "variable n is integer"),
        (cp.Problem(cp.Minimize(cp.Variable(name="n", boolean=True))), "variable n is boolean"),
        (
            cp.Problem(cp.Minimize(cp.trace(cp.Variable((2, 2), name="m", PSD=True)))),
            "variable m is PSD",
        ),
    ],
)
def test_other_programs_are_refused_rather_than_judged(problem, message):
    with pytest.raises(InvalidArgument, match=message):
        assert_kkt(problem)


# Optimality conditions, on what solvers return


@given(data=st.data())
def test_occupancy_programs_meet_the_conditions_and_other_policies_do_not(data):
    game = data.draw(games())
    reward = data.draw(rewards(game, shape="joint"))
    measure = OccupancyMeasure(game)
    problem = cp.Problem(cp.Maximize(measure.expected(reward)), measure.constraints)
    solved = solve(problem)
    assert_kkt(problem, solved)
    policy = data.draw(policies(game, agent="joint"))
    value = float(game.start @ evaluate(game, reward, policy))
    measure.variable.value = occupancy(game, policy)
    assert problem.objective.value == pytest.approx(value)
    if value < solved.value - 1e-3:
        with pytest.raises(AssertionError, match="gap"):
            assert_kkt(problem)
    else:
        assert value <= solved.value + 1e-6


def occupancy(game, policy):
    """The measure of a joint policy, from its Markov chain."""
    flat = policy.reshape(game.n_states, -1)
    rows = game.kernel.reshape(game.n_states, -1, game.n_states)
    chain = np.einsum("sk,skt->st", flat, rows)
    visits = np.linalg.solve(np.eye(game.n_states) - game.discount * chain.T, game.start)
    return (visits[:, None] * flat).ravel()


@given(data=st.data())
def test_programs_over_feasible_rewards_meet_the_conditions(data):
    game = data.draw(games())
    feasible = FeasibleRewards(game)
    for seen in data.draw(st.lists(observations(game), max_size=2)):
        feasible = feasible.observe(seen.pi1, seen.pi2)
    r = cp.Variable(game.n_states, name="r")
    constraints = feasible.constraints(r) + RewardSimplex().constraints(r)
    problem = cp.Problem(cp.Maximize(data.draw(rewards(game)) @ r), constraints)
    assert_kkt(problem, solve(problem))


def test_conic_solvers_are_judged_by_the_same_conditions():
    problem = production()
    assert_kkt(problem, solve(problem, Clarabel()))


def test_the_record_must_be_of_this_very_solve():
    problem = production()
    solved = solve(problem)
    assert_kkt(problem, solved)
    wrong = {
        "record: value is off by 1": replace(solved, value=solved.value + 1),
        "record: value is off by nan": replace(solved, value=None),
        r"record: v\[1\] is off by 1": replace(solved, primal={"v": np.array([3.0, 2.0])}),
        "record: v has 3 entries, the problem 2": replace(solved, primal={"v": np.ones(3)}),
        "record: it holds 0 multipliers, the problem 3": replace(solved, duals={}),
        "record: demand is off by 5": replace(
            solved, duals={**solved.duals, "demand": solved.duals["demand"] + 5}
        ),
        "record: its status is LIMIT": replace(solved, status=Status.LIMIT),
    }
    for reason, record in wrong.items():
        with pytest.raises(AssertionError, match=reason):
            assert_kkt(problem, record)


# Certificates


@dataclass(frozen=True)
class Answer:
    reasons: tuple[str, ...]

    def __bool__(self) -> bool:
        return not self.reasons


@dataclass(frozen=True)
class IsRoot:
    """Proves that x is the square root of a number; a real certificate, if a small one."""

    number: Fraction
    x: Fraction

    def check(self) -> Answer:
        holds = self.x**2 == self.number
        return Answer(() if holds else (f"x² is {self.x**2}", f"the number is {self.number}"))


def test_a_certificate_fails_with_all_its_reasons():
    assert_certificate(IsRoot(Fraction(9, 4), Fraction(3, 2)))
    with pytest.raises(AssertionError, match="IsRoot does not hold") as failure:
        assert_certificate(IsRoot(Fraction(2), Fraction(3)))
    failure.match("x² is 9\n  the number is 2")


def test_a_check_that_returns_nothing_proves_nothing():
    class Silent:
        def check(self) -> None:
            return None

    with pytest.raises(AssertionError, match="Silent does not hold"):
        assert_certificate(Silent())
