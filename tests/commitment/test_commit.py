"""Commitments: Lemma 2 with its ties, and every method for every follower against enumeration."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from depth import share
from hypothesis import given, strategies as st
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

from iirl_opt.commitment import (
    Automatic,
    BranchAndBound,
    CommitmentProblem,
    DeterministicCommitment,
    Enumeration,
    Guarantee,
    JointOptimum,
    LocalSearch,
    MixedInteger,
    NormalForm,
    OccupancyProgram,
    StackelbergCommitment,
    ValueIteration,
    commit,
)
from iirl_opt.errors import Infeasible, InvalidArgument, InvalidReward, NotAProduct
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower, best_responses
from iirl_opt.follower.proportional import ProportionalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import policy_iteration
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.game.values import evaluate
from iirl_opt.occupancy.measure import OccupancyMeasure
from iirl_opt.occupancy.quantities import budget
from iirl_opt.solver import HiGHS, solve

METHODS = (JointOptimum(), OccupancyProgram())


@st.composite
def small_instances(draw, **sizes):
    """Draw a game small enough to enumerate all joint policies, with a reward (S,) or (S, A, B)."""
    game = draw(games(states=(1, 3), leader=(1, 2), follower=(1, 2), **sizes))
    return game, draw(rewards(draw(st.sampled_from([(game.n_states,), game.shape]))))


def plan_for(game, reward, method):
    """Commit, and prove the program's answer by KKT where there was one."""
    plan = commit(game, reward, by=method)
    assert (plan.solved is None) == isinstance(method, JointOptimum)
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
    pi2 = OptimalFollower(ties, seed=0).respond(game, reward, plan.policy)
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
        game.start @ best_responses(game, reward, pi1).values
        for pi1 in deterministic(n_states, n_a)
    ]
    assert max(found) == pytest.approx(plan.value, abs=1e-9)


@given(instance=small_instances(), data=st.data())
def test_no_stochastic_commitment_is_better(instance, data):
    game, reward = instance
    pi1 = data.draw(policies(game.n_states, game.n_leader_actions)).astype(float)
    values = best_responses(game, reward, pi1).values
    assert (values <= commit(game, reward).values + 1e-9).all()


@pytest.mark.oracle
@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_quantecon_finds_the_same_values(joint, seed):
    markov = pytest.importorskip("quantecon.markov")
    game, state_reward = random_game(8, 3, 2, rng=seed)
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
    game, reward = random_game(8, 3, 2, rng=1)
    plan = plan_for(game, reward, OccupancyProgram(solver))
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
    game, _ = random_game(5, 2, 2, rng=0)
    plan = plan_for(game, np.full(5, 2.0), method)
    assert plan.values == pytest.approx(np.full(5, 20.0))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e-3, 1e6])
def test_scaled_rewards_have_scaled_values_and_the_same_commitment(method, scale):
    game, reward = random_game(6, 2, 3, rng=2)
    plan, scaled = (plan_for(game, k * reward, method) for k in (1, scale))
    assert np.array_equal(plan.policy, scaled.policy)
    assert scaled.values == pytest.approx(scale * plan.values, rel=1e-9)


@pytest.mark.parametrize(
    "follower",
    [BoltzmannFollower(1.0), EpsilonGreedyFollower(0.1), ProportionalFollower(np.exp)],
)
@pytest.mark.parametrize("method", METHODS)
def test_methods_of_lemma_2_refuse_a_follower_that_is_not_optimal(follower, method):
    game, reward = random_game(3, 2, 2, rng=0)
    with pytest.raises(InvalidArgument, match="follower is") as caught:
        commit(game, reward, follower, by=method)
    assert caught.value.value is follower


def test_what_is_no_method_is_refused():
    game, reward = random_game(3, 2, 2, rng=0)
    for by in ("guess", BranchAndBound):
        with pytest.raises(InvalidArgument, match="by"):
            commit(game, reward, by=by)


@pytest.mark.parametrize(
    ("follower", "theirs", "heuristic", "exact"),
    [
        (OptimalFollower(), None, JointOptimum, JointOptimum),
        (OptimalFollower(), [1.0, 0, 0], ValueIteration, BranchAndBound),
        (EpsilonGreedyFollower(0.1), None, ValueIteration, BranchAndBound),
        (ProportionalFollower(lambda q: np.exp(-q)), None, ValueIteration, Enumeration),
    ],
)
def test_without_a_method_the_one_that_fits_is_taken(follower, theirs, heuristic, exact):
    game, reward = random_game(3, 2, 2, rng=0)
    problem = CommitmentProblem(game, reward, follower, follower_reward=theirs)
    assert isinstance(Automatic().chosen(problem), heuristic)
    assert isinstance(Automatic(exact=True).chosen(problem), exact)


def test_a_method_stands_beside_no_other_word_for_one():
    game, reward = random_game(3, 2, 2, rng=0)
    with pytest.raises(InvalidArgument, match="exact"):
        commit(game, reward, exact=True, by=ValueIteration())


@pytest.mark.parametrize("bad", [[1.0, 2.0], [np.nan, 0.0, 0.0], np.ones((3, 4))])
def test_a_reward_that_is_none_is_refused(bad):
    game, _ = random_game(3, 2, 2, rng=0)
    for ask in (commit, StackelbergCommitment):
        with pytest.raises(InvalidReward):
            ask(game, bad)


def test_the_model_shows_cvxpys_own_objects():
    game, reward = random_game(3, 2, 2, rng=0)
    model = StackelbergCommitment(game, reward)
    assert isinstance(model.objective, cp.Maximize)
    assert [c.label for c in model.constraints] == ["flow"]
    assert model.problem().variables() == [model.measure.variable]


# Other followers, and rewards of two kinds.

FOLLOWERS = (
    OptimalFollower("first"),
    OptimalFollower("mix"),
    EpsilonGreedyFollower(0.3, "last"),
    BoltzmannFollower(3.0),
    ProportionalFollower(np.exp),
)
EXACT_METHODS = (Enumeration(), BranchAndBound(), MixedInteger())


def earned(game, own, theirs, follower):
    """What every deterministic commitment earns, by evaluating the follower's own answer."""
    for pi1 in deterministic(game.n_states, game.n_leader_actions):
        pi2 = follower.respond(game, theirs, pi1)
        yield float(game.start @ evaluate(game, own, (pi1, pi2)))


def serves(method, follower):
    return not isinstance(method, MixedInteger) or isinstance(
        follower, OptimalFollower | EpsilonGreedyFollower
    )


@st.composite
def two_rewards(draw):
    game = draw(games(states=(1, 3), leader=(1, 3), follower=(1, 2)))
    shape = draw(st.sampled_from([(game.n_states,), game.shape]))
    own = draw(rewards(shape)).astype(float)
    return game, own, own if draw(st.booleans()) else draw(rewards(shape)).astype(float)


@given(instance=two_rewards(), follower=st.sampled_from(FOLLOWERS), data=st.data())
def test_every_exact_method_finds_the_best_deterministic_commitment(instance, follower, data):
    game, own, theirs = instance
    best = max(earned(game, own, theirs, follower))
    method = data.draw(st.sampled_from([m for m in EXACT_METHODS if serves(m, follower)]))
    plan = method.plan(CommitmentProblem(game, own, follower, follower_reward=theirs))
    assert plan.value == pytest.approx(best, abs=1e-7)
    assert (plan.guarantee, plan.among) == (Guarantee.EXACT, "deterministic")
    assert plan.gap <= 1e-6
    assert plan.value == pytest.approx(float(game.start @ plan.values), rel=1e-14, abs=1e-14)
    again = evaluate(game, own, (plan.policy, plan.response))
    assert plan.values == pytest.approx(again, abs=1e-9)


@given(instance=two_rewards(), follower=st.sampled_from(FOLLOWERS[1:]))
def test_the_heuristic_is_no_better_than_the_exact_and_says_whether_it_came_to_rest(
    instance, follower
):
    game, own, theirs = instance
    problem = CommitmentProblem(game, own, follower, follower_reward=theirs)
    plan, whole = ValueIteration().plan(problem), Automatic(exact=True).plan(problem)
    assert plan.value <= whole.value + 1e-7
    assert plan.converged in (True, False)
    if not (isinstance(follower, OptimalFollower) and theirs is own):
        assert (plan.guarantee, plan.bound, plan.gap) == (Guarantee.HEURISTIC, None, None)
    assert whole.converged is None
    assert whole.bound >= max(earned(game, own, theirs, follower)) - 1e-7


@share(0.6)
@given(instance=two_rewards(), ties=st.sampled_from(["optimistic", "pessimistic"]))
def test_zero_sum_is_the_best_of_the_worst_whatever_the_ties(instance, ties):
    game, own, _ = instance
    worst = [
        min(
            float(game.start @ evaluate(game, own, (pi1, pi2)))
            for pi2 in deterministic(game.n_states, game.n_follower_actions)
        )
        for pi1 in deterministic(game.n_states, game.n_leader_actions)
    ]
    problem = CommitmentProblem(game, own, follower_reward=-own, ties=ties)
    for method in EXACT_METHODS:
        plan = method.plan(problem)
        assert plan.value == pytest.approx(max(worst), abs=1e-6)


@given(instance=small_instances(), method=st.sampled_from(EXACT_METHODS))
def test_with_the_leaders_reward_every_method_finds_the_joint_optimum(instance, method):
    game, reward = instance
    plan = commit(game, reward, by=method)
    assert plan.value == pytest.approx(commit(game, reward).value, abs=1e-8)


@share(0.6)
@given(instance=two_rewards(), follower=st.sampled_from(FOLLOWERS))
def test_stochastic_commitments_are_no_worse_and_within_their_bound(instance, follower):
    game, own, theirs = instance
    problem = CommitmentProblem(game, own, follower, follower_reward=theirs)
    plan, mixed = Enumeration().plan(problem), LocalSearch(begin=Enumeration()).plan(problem)
    assert mixed.value >= plan.value - 1e-9
    assert mixed.bound >= mixed.value
    assert mixed.among == "all"


def test_without_a_dominating_commitment_the_optimum_is_that_from_the_start():
    # Lemma 3, ε = 1/2, δ = 3/10, at discount 1/2: a2 earns γ (1 − ε/2) from s0, a1 0.209375.
    kernel = np.zeros((7, 2, 2, 7), dtype=int)
    kernel[0, :, 0, 1] = kernel[0, :, 1, 2] = 1
    kernel[2, 0, 0, 3] = kernel[2, 0, 1, 4] = kernel[2, 1, :, 5] = 1
    kernel[[1, 3, 4, 5, 6], :, :, 6] = 1
    game = TwoAgentMDP(kernel, "1/2", start=np.eye(7, dtype=int)[0])
    reward = np.array([0, 1, 0, 4, -10.2, 0, 0])
    follower = EpsilonGreedyFollower(0.5)
    for method in (Automatic(exact=True), *EXACT_METHODS):
        plan = commit(game, reward, follower, by=method)
        assert plan.value == pytest.approx(0.375)
        assert plan.policy[2].tolist() == [0, 1]
    # A mixture just in favour of a2's answer is better than both (it is no deterministic one).
    mixed = commit(game, reward, follower, by=LocalSearch(begin=Automatic(exact=True)))
    assert mixed.value >= 0.375


# Constraints.


def crossing():
    """Two who meet at home if both turn the same way; turning left together pays one at once."""
    kernel = np.zeros((3, 2, 2, 3), dtype=int)
    kernel[0, [0, 1], [0, 1], 1] = kernel[0, [0, 1], [1, 0], 2] = 1
    kernel[1, :, :, 1] = kernel[2, :, :, 2] = 1
    reward = np.zeros((3, 2, 2))
    reward[1], reward[0, 0, 0] = 1, 1
    left = np.zeros((3, 2, 2))
    left[0, 0] = 1
    return TwoAgentMDP(kernel, "1/2", start=[1, 0, 0]), reward, left


def test_a_shared_budget_may_have_an_optimum_that_no_commitment_plays():
    game, reward, left = crossing()
    shared = StackelbergCommitment(game, reward)
    with pytest.raises(NotAProduct):
        shared.solve([budget(shared.expected(left), 0.5, name="left")])
    # A deterministic commitment turns right; the follower ignores the budget and may do so.
    own = DeterministicCommitment(CommitmentProblem(game, reward))
    alone = own.solve([budget(own.expected(left), 0.5, name="left")])
    assert alone.value == pytest.approx(1)
    # The bound of such a program is the solver's word, which is no proof.
    assert (alone.guarantee, alone.among) == (Guarantee.BOUND, "deterministic")
    assert alone.gap <= 1e-7
    assert "by the solver's word" in repr(alone)


def test_a_shared_budget_whose_optimum_is_a_pair_is_a_commitment():
    game, reward, left = crossing()
    model = StackelbergCommitment(game, reward)
    plan = model.solve([budget(model.expected(left), 0, name="left")])
    assert plan.value == pytest.approx(1)
    assert plan.policy[0] == pytest.approx([0, 1])
    direct = OccupancyMeasure(game)
    cap = budget(direct.expected(left), 0, name="left")
    assert plan.bound == pytest.approx(direct.maximise(reward, subject_to=[cap]).value)
    forbidden = np.array([[True, False], [True, True], [True, True]])
    narrow = StackelbergCommitment(game, reward, allowed=forbidden)
    with pytest.raises(Infeasible):
        narrow.solve([budget(narrow.expected(left), 0, name="left")])


@pytest.mark.parametrize(
    ("question", "method", "match"),
    [
        ({"follower": BoltzmannFollower(1)}, MixedInteger(), "no linear rows"),
        ({"follower": BoltzmannFollower(1)}, NormalForm(), "one state"),
        ({"follower_reward": [1.0, 0, 0]}, JointOptimum(), "reward of its own"),
        ({"follower": BoltzmannFollower(1)}, OccupancyProgram(), "OptimalFollower"),
    ],
)
def test_a_method_that_does_not_fit_the_question_is_refused(question, method, match):
    game, reward = random_game(3, 2, 2, rng=0)
    with pytest.raises(InvalidArgument, match=match):
        method.plan(CommitmentProblem(game, reward, **question))


@pytest.mark.parametrize("kind", [Enumeration, BranchAndBound, MixedInteger])
def test_a_time_limit_leaves_a_value_and_a_bound(kind):
    game, reward = random_game(9, 3, 2, rng=0)
    other = np.random.default_rng(0).normal(size=9)
    problem = CommitmentProblem(game, reward, follower_reward=other)
    plan, whole = kind(time_limit=0).plan(problem), BranchAndBound().plan(problem)
    assert plan.value <= whole.value + 1e-9
    assert plan.bound >= whole.value - 1e-9
    assert plan.gap >= 0
    assert f"{plan.guarantee.name} among deterministic" in repr(plan)


def test_a_bound_of_a_program_is_marked_as_the_solvers_word_until_it_is_confirmed(monkeypatch):
    game, reward = random_game(3, 2, 2, rng=0)
    follower = EpsilonGreedyFollower(0.3)

    def plans():
        found = [commit(game, reward, follower, by=method) for method in EXACT_METHODS]
        return {plan.method: plan for plan in found}

    assert not any("solver" in repr(plan) for plan in plans().values())
    assert {plan.guarantee for plan in plans().values()} == {Guarantee.EXACT}
    monkeypatch.setattr("iirl_opt.commitment.methods.CONFIRMED", 7)
    found = plans()
    assert "by the solver's word" in repr(found["milp"])
    assert found["milp"].guarantee is Guarantee.BOUND
    assert "solver" not in repr(found["enumerate"]) + repr(found["branch-and-bound"])
