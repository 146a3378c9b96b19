"""Occupancy measures: the linear program of a game, its prices, and what a budget does to it."""

from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from instances import DISCOUNTS, games, policies, rewards
from kkt import assert_farkas, assert_kkt

from iirl_opt.errors import Infeasible, InvalidPolicy, InvalidReward, SolverFailed
from iirl_opt.follower.optimal import best_responses
from iirl_opt.game.exact import exact_optimum
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import policy_iteration
from iirl_opt.game.policy import deterministic_policy, joint_policy
from iirl_opt.game.values import evaluate
from iirl_opt.occupancy.measure import OccupancyMeasure
from iirl_opt.occupancy.planned import planned
from iirl_opt.occupancy.quantities import budget
from iirl_opt.solver import HiGHS, LiveProgram, solve


def maximise(measure, reward, subject_to=(), solver=None):
    """Maximise, and prove the answer by KKT."""
    best = measure.maximise(reward, subject_to=subject_to, solver=solver)
    goal = cp.Maximize(measure.expected(reward))
    assert_kkt(cp.Problem(goal, [*measure.constraints, *subject_to]), best.solved)
    return best


def measure_of(game, policy):
    """The discounted frequencies of a joint policy (S, A, B), by one linear system."""
    chain = np.einsum("sab,sabt->st", policy, game.kernel)
    states = np.linalg.solve(np.eye(game.n_states) - game.discount * chain.T, game.start)
    return states[:, None, None] * policy


@st.composite
def games_with_rewards(draw, **options):
    game = draw(games(**options))
    return game, draw(rewards(draw(st.sampled_from([(game.n_states,), game.shape]))))


def one_state():
    """One state, two actions each: the joint policy is a 2×2 table."""
    return TwoAgentMDP(np.ones((1, 2, 2, 1), dtype=int), "1/2")


# Policies and measures.


@given(game=games(), data=st.data())
def test_the_measure_of_a_policy_satisfies_the_flow_and_gives_the_policy_back(game, data):
    policy = data.draw(policies(game.n_states, game.n_choices)).astype(float).reshape(game.shape)
    mu = measure_of(game, policy)
    measure = OccupancyMeasure(game)
    measure.variable.value = mu.ravel()
    assert np.abs(measure.flow.violation()).max() <= 1e-9
    assert mu.sum() == pytest.approx(1 / (1 - game.discount))
    solution = replace(measure.maximise(np.zeros(game.n_states)), measure=mu)
    seen = solution.visited
    assert solution.joint_policy[seen] == pytest.approx(policy[seen])
    assert solution.joint_policy[~seen] == pytest.approx(1 / game.n_choices)
    assert np.array_equal(seen, mu.sum(axis=(1, 2)) > 1e-12)


@given(instance=games_with_rewards(), data=st.data())
def test_the_expected_reward_of_a_measure_is_the_value_of_its_policy(instance, data):
    game, reward = instance
    policy = data.draw(policies(game.n_states, game.n_choices)).astype(float).reshape(game.shape)
    measure = OccupancyMeasure(game)
    measure.variable.value = measure_of(game, policy).ravel()
    value = float(game.start @ evaluate(game, reward, policy))
    assert measure.expected(reward).value == pytest.approx(value, abs=1e-9)


@given(instance=games_with_rewards(), presolve=st.booleans())
def test_the_optimal_measure_has_the_value_of_policy_iteration(instance, presolve):
    game, reward = instance
    best = maximise(OccupancyMeasure(game), reward, solver=HiGHS(presolve=presolve))
    values = policy_iteration(game, reward).values
    # It begins at the best policy, so that nothing is left to the solver.
    assert (best.solved.solver, best.solved.iterations) == ("HIGHS", 0)
    assert best.value == pytest.approx(game.start @ values, abs=1e-7)
    assert best.measure.min() >= 0
    assert best.measure.sum() == pytest.approx(1 / (1 - game.discount))
    assert best.price == {}
    # Prices are optimal values where the measure comes, and bounds elsewhere.
    assert best.state_prices[best.visited] == pytest.approx(values[best.visited], abs=1e-6)
    assert (best.state_prices >= values - 1e-6).all()
    # The policy that is read off is optimal from the start.
    played = evaluate(game, reward, best.joint_policy)
    assert game.start @ played == pytest.approx(best.value, abs=1e-6)


@given(instance=games_with_rewards(), data=st.data())
def test_any_policy_is_a_basis_from_which_the_optimum_is_found(instance, data):
    game, reward = instance
    n_states, n_a, n_b = game.shape
    measure = OccupancyMeasure(game)
    problem = measure.problem(reward)
    each = st.integers(0, n_a * n_b - 1)
    choices = data.draw(st.lists(each, min_size=n_states, max_size=n_states))
    basis = measure.basis(choices)
    leader, follower = np.divmod(choices, n_b)
    pair = deterministic_policy(leader, n_a), deterministic_policy(follower, n_b)
    assert np.array_equal(measure.basis(pair)["occupancy"], basis["occupancy"])
    assert np.array_equal(measure.basis(joint_policy(*pair))["occupancy"], basis["occupancy"])
    begun = solve(problem, basis=basis)
    assert_kkt(problem, begun)
    live = LiveProgram.of(problem)
    live.start_from(basis)
    near = 1e-9 * (1 + abs(begun.value))
    assert live.solve().value == pytest.approx(begun.value, abs=near)
    live.start_from(basis)
    assert live.solve().value == pytest.approx(begun.value, abs=near)
    assert solve(problem).value == pytest.approx(begun.value, abs=near)


@pytest.mark.parametrize(
    "policy",
    [
        (1, 2, 3),
        (),
        [[1, 2], [3]],
        np.ma.array([0, 0], mask=[True, False]),
        [0, 2],
        [0.0, 1.0],
        [0, 1, 1],
        "policy",
        None,
    ],
)
def test_what_is_no_policy_is_no_basis_and_has_no_value(policy):
    game = TwoAgentMDP(np.ones((2, 1, 2, 2), int), 0.5)
    with pytest.raises(InvalidPolicy, match="policy"):
        OccupancyMeasure(game).basis(policy)
    with pytest.raises(InvalidPolicy, match="policy"):
        evaluate(game, [0.0, 1.0], policy)


def test_the_bound_of_planning_covers_a_start_that_is_one_but_for_rounding():
    n = 2100
    start = np.full(n, (1 - 3.7e-13) / n)
    game = TwoAgentMDP(sp.eye_array(n, format="csr"), 0.5, start, leader_actions=1)
    # Each state keeps its reward of one for good: the exact optimum is 2.
    assert planned(game, np.ones(n)).bound >= 2


@given(instance=games_with_rewards())
def test_what_planning_states_beyond_the_solvers_sizes_is_proved_by_the_same_conditions(instance):
    game, reward = instance
    measure = OccupancyMeasure(game)
    asked = measure.maximise(reward)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("iirl_opt.occupancy.measure.FILLED", 0)
        found = maximise(measure, reward)
    assert found.solved.solver == "policy iteration"
    assert "no solver was asked" in found.solved.note
    near = 1e-9 * (1 + abs(asked.value))
    assert found.value == pytest.approx(asked.value, abs=near)
    exact = exact_optimum(game, reward)
    most = sum(p * v for p, v in zip(game.exact_start, exact.values, strict=True))
    assert most <= found.solved.bound <= float(most) + near
    assert np.asarray(measure.variable.value) == pytest.approx(found.measure.ravel())


def test_a_state_that_is_never_visited_is_played_uniformly():
    stay = np.eye(2, dtype=int)[:, None, None, :].repeat(3, axis=2)
    game = TwoAgentMDP(stay, "9/10", start=[1, 0])
    best = maximise(OccupancyMeasure(game), [1.0, 5.0])
    assert best.visited.tolist() == [True, False]
    assert best.value == pytest.approx(10)
    assert best.joint_policy[1] == pytest.approx(np.full((1, 3), 1 / 3))


def test_at_discount_zero_the_measure_is_the_start():
    game = TwoAgentMDP([[[[0, 1]]], [[[1, 0]]]], 0, start=[1, 3])
    best = maximise(OccupancyMeasure(game), [2.0, 0.0])
    assert best.measure.ravel() == pytest.approx([0.25, 0.75])
    assert best.value == pytest.approx(0.5)


def test_a_single_state_with_single_actions_has_one_measure():
    game = TwoAgentMDP([[[[1]]]], "9/10")
    best = maximise(OccupancyMeasure(game), [3.0])
    assert best.measure.ravel() == pytest.approx([10])
    assert best.state_prices == pytest.approx([30])
    assert [policy.tolist() for policy in best.split()] == [[[1.0]], [[1.0]]]


# A leader that is held.


@given(instance=games_with_rewards(), data=st.data())
def test_with_the_leader_held_the_optimum_is_the_followers_own(instance, data):
    game, reward = instance
    pi1 = data.draw(policies(game.n_states, game.n_leader_actions)).astype(float)
    measure = OccupancyMeasure(game)
    best = maximise(measure, reward, measure.hold_leader(pi1))
    value = game.start @ best_responses(game, reward, pi1).values
    assert best.value == pytest.approx(value, abs=1e-7)
    seen = best.visited
    played, answer = best.split(tolerance=1e-6)
    assert played[seen] == pytest.approx(pi1[seen], abs=1e-6)
    # In unvisited states the joint policy is uniform, whatever the leader would do there.
    again = evaluate(game, reward, (np.where(seen[:, None], played, pi1), answer))
    assert game.start @ again == pytest.approx(best.value, abs=1e-5)
    assert set(best.price) == {"leader"}


def test_the_leader_must_be_a_policy():
    with pytest.raises(InvalidPolicy, match="leader policy"):
        OccupancyMeasure(one_state()).hold_leader([[0.5, 0.6]])


# Budgets.


@given(instance=games_with_rewards(states=(2, 3), discounts=DISCOUNTS[1:]), data=st.data())
def test_the_price_of_a_budget_is_between_the_gains_of_a_little_less_and_a_little_more(
    instance, data
):
    game, reward = instance
    hazard = data.draw(rewards(game.n_states)) + 2.0
    measure = OccupancyMeasure(game)
    spent = measure.expected(hazard)
    least = -maximise(measure, -hazard).value
    most = maximise(measure, hazard).value
    limit = least + data.draw(st.floats(0.05, 0.95)) * (most - least)
    step = 0.01 * (most - least)

    def value(allowance):
        row = budget(spent, allowance, name="hazard")
        best = maximise(measure, reward, [row])
        assert np.sum(best.measure.sum(axis=(1, 2)) * hazard) <= allowance + 1e-6
        return best

    best = value(limit)
    price = best.price["hazard"]
    assert price >= -1e-9
    if step > 1e-6:
        less, more = value(limit - step).value, value(limit + step).value
        assert more - best.value <= price * step + 1e-6
        assert price * step <= best.value - less + 1e-6


def test_a_budget_that_does_not_bind_has_no_price():
    game = one_state()
    measure = OccupancyMeasure(game)
    best = maximise(measure, np.ones((1, 2, 2)), [budget(measure.expected([1.0]), 5, name="time")])
    assert best.price["time"] == pytest.approx(0)
    assert best.value == pytest.approx(2)


def test_a_wrong_limit_is_named_before_a_missing_name():
    measure = OccupancyMeasure(one_state())
    for quantity, limit, place in (
        ([1.0], np.nan, "limit is"),
        ([[1.0], [2.0]], [1, 2, 3], "limit has"),
    ):
        with pytest.raises(ValueError, match=rf"^{place}"):
            budget(measure.expected(quantity), limit)
    with pytest.raises(ValueError, match=r"^name is"):
        budget(measure.expected([1.0]), 1)


def test_a_budget_on_both_agents_may_have_a_correlated_optimum():
    game = one_state()
    # Meeting on the dear table is worth 2, on the cheap one 1, missing each other nothing.
    meet = np.array([[[2.0, 0.0], [0.0, 1.0]]])
    dear = np.array([[[1.0, 1.0], [0.0, 0.0]]])
    measure = OccupancyMeasure(game)
    best = maximise(measure, meet, [budget(measure.expected(dear), 1, name="dear")])
    # Half of the mass 1/(1−γ) = 2 may be dear: the best is to toss one coin for both.
    assert best.value == pytest.approx(3)
    assert best.price["dear"] == pytest.approx(1)
    assert best.joint_policy[0] == pytest.approx(np.eye(2) / 2)
    with pytest.raises(InvalidPolicy) as caught:
        best.split()
    assert "s=0" in caught.value.place
    assert caught.value.value == pytest.approx(0.25)


def test_without_a_budget_the_optimum_of_that_game_splits():
    best = maximise(OccupancyMeasure(one_state()), [[[2.0, 0.0], [0.0, 1.0]]])
    pi1, pi2 = best.split()
    assert joint_policy(pi1, pi2) == pytest.approx(best.joint_policy)
    assert pi1 == pytest.approx(np.array([[1.0, 0.0]]))
    assert pi2 == pytest.approx(np.array([[1.0, 0.0]]))


def test_an_infeasible_budget_is_proved_and_named():
    game = one_state()
    measure = OccupancyMeasure(game)
    rows = [
        budget(measure.expected([1.0]), 1.9, name="time"),
        budget(measure.expected([[[1.0, 0.0], [0.0, 0.0]]]), 100, name="idle"),
    ]
    with pytest.raises(Infeasible) as caught:
        measure.maximise([1.0], subject_to=rows)
    solved = caught.value.solved
    problem = cp.Problem(cp.Maximize(measure.expected([1.0])), [*measure.constraints, *rows])
    assert_farkas(problem, solved)
    assert solved.farkas["time"] > 0
    assert solved.farkas["idle"] == pytest.approx(0)


def test_a_row_of_ones_own_that_is_called_flow_keeps_its_price():
    game = one_state()
    measure = OccupancyMeasure(game)
    mine = budget(measure.expected([[[1.0, 0.0], [0.0, 0.0]]]), 1, name="flow")
    best = maximise(measure, [[[2.0, 0.0], [0.0, 1.0]]], [mine])
    assert best.state_prices == pytest.approx([2])
    assert best.price["flow (2)"] == pytest.approx(1)


# Refusals.


@pytest.mark.parametrize("bad", [[1.0, 2.0], [np.nan], [[1.0, 2.0]], np.ones((1, 2, 3))])
def test_a_quantity_that_is_none_is_refused(bad):
    measure = OccupancyMeasure(one_state())
    for ask in (measure.expected, measure.maximise):
        with pytest.raises(InvalidReward):
            ask(bad)


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1e3, 1e12])
@given(instance=games_with_rewards())
def test_large_and_small_rewards_have_proportional_values(scale, instance):
    game, reward = instance
    value = maximise(OccupancyMeasure(game), reward).value
    scaled = maximise(OccupancyMeasure(game), scale * reward).value
    assert scaled == pytest.approx(scale * value, rel=1e-6, abs=scale * 1e-6)


# Discounts near one.


def patient(seed, discount):
    """A game of integer weights, with a state that is never left where the seed is odd."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 3, (4, 2, 2, 4))
    weights[..., 0] += weights.sum(axis=-1) == 0
    weights[3] = [0, 0, 0, 1] if seed % 2 else weights[3]
    kernel = [
        [[[Fraction(int(x), int(row.sum())) for x in row] for row in b] for b in a] for a in weights
    ]
    return TwoAgentMDP(kernel, discount=discount), rng.integers(-3, 4, 4).astype(float)


def test_with_a_discount_still_nearer_to_one_it_is_right_or_refused():
    refused = 0
    for seed in range(12):
        game, reward = patient(seed, "0.99999999999")
        try:
            best = OccupancyMeasure(game).maximise(reward)
        except SolverFailed:
            refused += 1
            continue
        exact = exact_optimum(game, reward).values
        assert best.value == pytest.approx(float(sum(exact) / 4), rel=1e-14)
    assert refused <= 6


@pytest.mark.parametrize("discount", ["0.9999999", "0.999999999"])
@pytest.mark.parametrize("seed", range(8))
def test_with_a_discount_near_one_the_value_is_that_of_the_game_and_not_of_its_floats(
    discount, seed
):
    game, reward = patient(seed, discount)
    best = OccupancyMeasure(game).maximise(reward)
    exact = exact_optimum(game, reward).values
    assert best.value == pytest.approx(float(sum(exact) / 4), rel=1e-14)
    assert best.state_prices[best.visited] == pytest.approx(
        np.array([float(v) for v in exact])[best.visited], rel=1e-14
    )
    assert best.measure.sum() == pytest.approx(float(1 / (1 - Fraction(discount))), rel=1e-14)


def test_with_a_discount_near_one_a_budget_is_met_to_the_last_digit():
    discount = Fraction("0.999999999")
    stay, go = [1, 0], [0, 1]
    # Play stays at home unless it goes out, which pays 1 a step and costs 1 a step for ever.
    game = TwoAgentMDP([[[stay, go]], [[go, go]]], discount="0.999999999", start=[1, 0])
    measure = OccupancyMeasure(game)
    out = measure.expected([0.0, 1.0])
    best = measure.maximise([0.0, 1.0], subject_to=[budget(out, 1e8, name="out")])
    assert best.value == pytest.approx(1e8, rel=1e-12)
    assert best.measure.sum() == pytest.approx(float(1 / (1 - discount)), rel=1e-12)
    # A mixture, which play at home takes at one rate in each step.
    assert best.joint_policy[0, 0].min() > 0
    assert best.visited.all()
