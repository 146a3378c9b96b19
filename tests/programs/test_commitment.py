"""Optimal commitments: Lemma 2 with its ties, and the program against every other way."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from instances import (
    best_values,
    exact_values,
    follower_problem,
    games,
    kernel_of,
    optimal_policies,
    policies,
    rewards,
)
from kkt import assert_kkt

from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.follower import (
    BoltzmannFollower,
    EpsilonGreedyFollower,
    OptimalFollower,
    ProportionalFollower,
    best_responses,
)
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.game.values import evaluate, policy_iteration
from iirl_opt.programs.commitment import Guarantee, StackelbergCommitment, commit
from iirl_opt.programs.occupancy import budget
from iirl_opt.solver import HiGHS, solve

METHODS = ("policy-iteration", "program")


@st.composite
def small_instances(draw, **sizes):
    """Draw a game small enough to enumerate all joint policies, with a reward (S,) or (S, A, B)."""
    game = draw(games(states=(1, 3), leader=(1, 2), follower=(1, 2), **sizes))
    return game, draw(rewards(draw(st.sampled_from([(game.n_states,), game.shape]))))


def plan_for(game, reward, method, solver=None):
    """Commit, and prove the program's answer by KKT where there was one."""
    plan = commit(game, reward, method=method, solver=solver)
    assert (plan.solved is None) == (method == "policy-iteration")
    if plan.solved is not None:
        assert_kkt(StackelbergCommitment(game, reward).problem(), plan.solved)
    return plan


def joint_optimum(game, reward):
    """The exact optimal values of the joint MDP, by enumeration."""
    joint = np.broadcast_to(reward.reshape(game.n_states, -1), (game.n_states, game.n_choices))
    kernel = kernel_of(game).reshape(game.n_states, game.n_choices, game.n_states)
    return best_values(kernel, joint, game.rational.discount)


def deterministic(n_states, n_actions):
    choices = product(range(n_actions), repeat=n_states)
    return [deterministic_policy(np.array(c), n_actions) for c in choices]


# Lemma 2.


@pytest.mark.parametrize("method", METHODS)
@given(instance=small_instances())
def test_every_optimal_response_to_the_commitment_has_the_joint_value_exactly(method, instance):
    game, reward = instance
    plan = plan_for(game, reward, method)
    gamma = game.rational.discount
    best = joint_optimum(game, reward)
    pi1 = plan.policy.astype(int)
    kernel, r = follower_problem(game, pi1, reward)
    responses = optimal_policies(kernel, r, gamma)
    assert responses
    for pi2 in responses:
        assert (exact_values(kernel, r, pi2, gamma) == best).all()
    assert plan.values == pytest.approx(best.astype(float), abs=1e-9)


@given(instance=small_instances(), ties=st.sampled_from(["first", "last", "random", "mix"]))
def test_the_value_is_kept_whatever_the_tie_rule(instance, ties):
    game, reward = instance
    plan = commit(game, reward)
    pi2 = OptimalFollower(ties, seed=0).respond(game, plan.policy, reward)
    values = evaluate(game, reward, (plan.policy, pi2))
    assert values == pytest.approx(plan.values, abs=1e-8)
    assert evaluate(game, reward, (plan.policy, plan.response)) == pytest.approx(plan.values)


def test_a_policy_that_is_optimal_from_the_start_only_is_no_such_commitment():
    # The start is state 0, where both stay. The measure never sees state 1, so it would do with
    # "bad" there, which is worth 0; Lemma 2 speaks of every state.
    kernel = np.zeros((2, 2, 1, 2), dtype=int)
    kernel[0, :, 0, 0] = 1
    kernel[1, 0, 0, 1] = kernel[1, 1, 0, 0] = 1
    game = TwoAgentMDP(kernel, "9/10", start=[1, 0], leader_actions=["bad", "good"])
    reward = np.array([1.0, 0.0])
    for method in METHODS:
        plan = plan_for(game, reward, method)
        assert plan.values == pytest.approx([10, 9])
        assert plan.policy[1].tolist() == [0, 1]


# The program against other ways.


@given(instance=small_instances())
def test_the_program_is_optimal_by_kkt_and_equals_policy_iteration_from_every_state(instance):
    game, reward = instance
    model = StackelbergCommitment(game, reward)
    plan = model.solve()
    assert_kkt(model.problem(), plan.solved)
    values = policy_iteration(game, reward).values
    assert plan.values == pytest.approx(values, abs=1e-9)
    assert plan.value == pytest.approx(plan.solved.value, abs=1e-7)
    assert plan.value == pytest.approx(commit(game, reward).value, abs=1e-9)
    assert plan.guarantee is Guarantee.EXACT
    assert plan.residual <= 1e-9


@given(instance=small_instances())
def test_no_deterministic_commitment_is_better(instance):
    game, reward = instance
    plan = commit(game, reward)
    n_states, n_a, _ = game.shape
    found = [
        game.start @ best_responses(game, pi1, reward).values
        for pi1 in deterministic(n_states, n_a)
    ]
    assert max(found) == pytest.approx(plan.value, abs=1e-9)


@given(instance=small_instances(), data=st.data())
def test_no_stochastic_commitment_is_better(instance, data):
    game, reward = instance
    pi1 = data.draw(policies(game.n_states, game.n_leader_actions)).astype(float)
    values = best_responses(game, pi1, reward).values
    assert (values <= commit(game, reward).values + 1e-9).all()


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_quantecon_finds_the_same_values(joint, seed):
    markov = pytest.importorskip("quantecon.markov")
    game, state_reward = random_game(8, 3, 2, seed=seed)
    rng = np.random.default_rng(seed)
    reward = rng.normal(size=game.shape) if joint else state_reward
    n, m = game.n_states, game.n_choices
    table = np.broadcast_to(reward.reshape(n, -1), (n, m))
    ddp = markov.DiscreteDP(table.copy(), game.kernel.reshape(n, m, n), game.discount)
    expected = ddp.solve(method="policy_iteration").v
    for method in METHODS:
        plan = plan_for(game, reward, method)
        assert plan.values == pytest.approx(expected, abs=1e-9)
        assert plan.value == pytest.approx(game.start @ expected, abs=1e-9)


@pytest.mark.parametrize("solver", [HiGHS("ipm"), HiGHS(presolve=False)])
def test_another_solver_brings_the_same_commitment_value(solver):
    game, reward = random_game(8, 3, 2, seed=1)
    plan = plan_for(game, reward, "program", solver)
    assert plan.value == pytest.approx(commit(game, reward).value, abs=1e-9)
    assert plan.solved.options == solver.arguments()


def test_rows_of_ones_own_bind_both_agents():
    game = TwoAgentMDP(np.ones((1, 2, 2, 1), dtype=int), "1/2")
    meet = np.array([[[2.0, 0.0], [0.0, 1.0]]])
    model = StackelbergCommitment(game, meet)
    dear = model.measure.expected([[[1.0, 1.0], [0.0, 0.0]]])
    problem = model.problem([budget(dear, 0, name="dear")])
    solved = solve(problem)
    assert solved.value == pytest.approx(2)
    assert model.solve().value == pytest.approx(4)
    assert_kkt(problem, solved)


# Edges.


def test_discount_zero_and_one_state_and_one_action_are_no_exceptions():
    alone = TwoAgentMDP([[[[1]]]], 0)
    for method in METHODS:
        plan = plan_for(alone, [3.0], method)
        assert plan.value == pytest.approx(3)
        assert plan.policy.tolist() == plan.response.tolist() == [[1.0]]


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_reward_makes_every_commitment_optimal(method):
    game, _ = random_game(5, 2, 2, seed=0)
    plan = plan_for(game, np.full(5, 2.0), method)
    assert plan.values == pytest.approx(np.full(5, 20.0))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e-3, 1e6])
def test_scaled_rewards_have_scaled_values_and_the_same_commitment(method, scale):
    game, reward = random_game(6, 2, 3, seed=2)
    plan, scaled = (plan_for(game, k * reward, method) for k in (1, scale))
    assert np.array_equal(plan.policy, scaled.policy)
    assert scaled.values == pytest.approx(scale * plan.values, rel=1e-9)


@pytest.mark.parametrize(
    "follower",
    [BoltzmannFollower(1.0), EpsilonGreedyFollower(0.1), ProportionalFollower(np.exp)],
)
def test_a_follower_that_is_not_optimal_is_refused(follower):
    game, reward = random_game(3, 2, 2, seed=0)
    with pytest.raises(InvalidArgument, match="follower") as caught:
        commit(game, reward, follower=follower)
    assert caught.value.value is follower


def test_a_method_that_does_not_exist_is_refused():
    game, reward = random_game(3, 2, 2, seed=0)
    with pytest.raises(InvalidArgument, match="method"):
        commit(game, reward, method="guess")


@pytest.mark.parametrize("bad", [[1.0, 2.0], [np.nan, 0.0, 0.0], np.ones((3, 4))])
def test_a_reward_that_is_none_is_refused(bad):
    game, _ = random_game(3, 2, 2, seed=0)
    for ask in (commit, StackelbergCommitment):
        with pytest.raises(InvalidReward):
            ask(game, bad)


def test_the_model_shows_cvxpys_own_objects():
    game, reward = random_game(3, 2, 2, seed=0)
    model = StackelbergCommitment(game, reward)
    assert isinstance(model.objective, cp.Maximize)
    assert [c.label for c in model.constraints] == ["flow"]
    assert model.problem().variables() == [model.measure.variable]
