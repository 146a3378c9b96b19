"""Feasible rewards: the programs agree with the definition, decided by brute force in Fractions."""

from fractions import Fraction
from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from depth import share
from hypothesis import given, strategies as st
from instances import (
    DISCOUNTS,
    deterministic_policies,
    exact_values,
    follower_problem,
    games,
    is_optimal,
    kernel_of,
    optimal_policies,
    policies,
    rewards,
)
from kkt import assert_farkas, assert_kkt

from iirl_opt.errors import (
    Infeasible,
    InvalidObservation,
    InvalidPolicy,
    InvalidReward,
    OnlyConstantRewards,
    Unbounded,
)
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.rewards.affine import AffineClass
from iirl_opt.rewards.domains import RewardSimplex
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.solver import Clarabel, solve

HALF = Fraction(1, 2)


@st.composite
def observed_games(draw, *, episodes=(1, 2), discounts=DISCOUNTS):
    """Draw a game and episodes [(pi1, pi2)] in Fractions."""
    game = draw(games(discounts=discounts))
    n_states, n_a, n_b = game.shape
    history = [
        (draw(policies(n_states, n_a)), draw(policies(n_states, n_b)))
        for _ in range(draw(st.integers(*episodes)))
    ]
    return game, history


@st.composite
def explained_games(draw, *, discounts=DISCOUNTS):
    """Draw a game, a reward (S,) or (S, A, B), and episodes whose responses are optimal for it."""
    game = draw(games(discounts=discounts))
    n_states, n_a, _ = game.shape
    truth = draw(rewards(n_states if draw(st.booleans()) else game.shape))
    history = []
    for _ in range(draw(st.integers(1, 2))):
        pi1 = draw(policies(n_states, n_a))
        problem = follower_problem(game, pi1, truth)
        optimal = optimal_policies(*problem, game.rational.discount)
        chosen = draw(st.lists(st.sampled_from(optimal), min_size=1, max_size=2))
        history.append((pi1, sum(chosen) / len(chosen)))
    return game, truth, history


def by_definition(game, history, reward):
    """Whether every response is optimal: no deterministic policy is better in any state."""
    return all(
        is_optimal(*follower_problem(game, pi1, reward), pi2, game.rational.discount)
        for pi1, pi2 in history
    )


def actions(deterministic):
    return {tuple(policy.argmax(axis=1)) for policy in deterministic}


def feasible_set(game, history):
    out = FeasibleRewards(game)
    for pi1, pi2 in history:
        out = out.observe(pi1.astype(float), pi2.astype(float))
    return out


def reward_program(feasible, objective, domain=None):
    """The program behind `maximise`, built again."""
    c = np.asarray(objective, dtype=float)
    shape = c.shape if c.ndim == 1 else (c.shape[0], c[0].size)
    r = cp.Variable(shape, name="r")
    rows = feasible.constraints(r) + (domain or RewardSimplex()).constraints(r)
    return cp.Problem(cp.Maximize(cp.sum(cp.multiply(c.reshape(shape), r))), rows)


def maximise(feasible, objective, domain=None):
    """Maximise; the answer is optimal by KKT, feasible by arithmetic, its value its objective's."""
    found = feasible.maximise(objective, domain=domain)
    assert_kkt(reward_program(feasible, objective, domain), found.solved)
    assert feasible.contains(found.reward, tolerance=1e-7)
    assert found.value == pytest.approx(np.sum(objective * found.reward), abs=1e-7)
    return found


def two_states(discount=HALF):
    """In the hall the follower may stay or go to the yard, where everybody stays."""
    kernel = [[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]]
    labels = {"states": ["hall", "yard"], "follower_actions": ["stay", "go"]}
    return TwoAgentMDP(kernel, discount, **labels, leader_actions=["wait"])


def swap_game(discount):
    """THEORY item 1: in both states the follower may stay or swap."""
    kernel = [[[[1, 0], [0, 1]]], [[[0, 1], [1, 0]]]]
    return TwoAgentMDP(kernel, discount)


def ideal_game():
    """THEORY item 4: the ideal environment of (0, 1, 2), whose ties decide what is learned."""
    uniform = [2, 2, 2]
    second = [[1, 4, 1], [3, 0, 3], [4, 2, 0]]
    return TwoAgentMDP([[[uniform, row]] for row in second], HALF)


WAIT2, WAIT3 = np.ones((2, 1)), np.ones((3, 1))
B1, B2 = [1.0, 0.0], [0.0, 1.0]


# Theorem 1 and Corollary 1.


@given(instance=observed_games(), data=st.data())
def test_a_state_reward_is_feasible_iff_every_response_is_optimal_for_it(instance, data):
    game, history = instance
    reward = data.draw(rewards(game.n_states))
    assert feasible_set(game, history).contains(reward) == by_definition(game, history, reward)


@given(instance=observed_games(), data=st.data())
def test_a_joint_reward_is_feasible_iff_every_response_is_optimal_for_it(instance, data):
    game, history = instance
    reward = data.draw(rewards(game.shape))
    assert feasible_set(game, history).contains(reward) == by_definition(game, history, reward)


@given(instance=explained_games())
def test_what_a_response_is_optimal_for_is_feasible(instance):
    game, truth, history = instance
    assert by_definition(game, history, truth)
    feasible = feasible_set(game, history)
    assert feasible.contains(truth)
    assert feasible.violations(truth) == ()


@given(instance=explained_games(), data=st.data())
def test_a_mask_says_that_every_policy_in_it_is_optimal(instance, data):
    game, truth, history = instance
    pi1 = history[0][0]
    gamma = game.rational.discount
    optimal = optimal_policies(*follower_problem(game, pi1, truth), gamma)
    mask = np.array(sum(optimal) > 0, dtype=bool)
    feasible = FeasibleRewards(game).observe(pi1.astype(float), mask)
    assert feasible.contains(truth)
    other = data.draw(rewards(truth.shape))
    also_optimal = actions(optimal_policies(*follower_problem(game, pi1, other), gamma))
    inside = actions(p for p in deterministic_policies(*mask.shape) if not p[~mask].any())
    assert feasible.contains(other) == (inside <= also_optimal)


@given(instance=observed_games(), data=st.data())
def test_the_lifted_rows_hold_exactly_the_feasible_rewards(instance, data):
    game, history = instance
    reward = data.draw(rewards(data.draw(st.sampled_from([(game.n_states,), game.shape]))))
    feasible = feasible_set(game, history)
    shape = reward.shape if reward.ndim == 1 else (game.n_states, game.n_choices)
    r = cp.Variable(shape, name="r")
    fixed = (r == reward.reshape(shape).astype(float)).set_label("fixed")
    problem = cp.Problem(cp.Minimize(0), [*feasible.constraints(r), fixed])
    solved = solve(problem, throw=False)
    if by_definition(game, history, reward):
        assert_kkt(problem, solved)
    else:
        assert_farkas(problem, solved)


@share(0.6)
@given(
    instance=observed_games(discounts=DISCOUNTS[1:]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_printed_dense_rows_have_the_same_maximum(instance, seed):
    game, history = instance
    n_states = game.n_states
    objective = np.random.default_rng(seed).uniform(-1, 1, n_states)
    feasible = feasible_set(game, history)
    found = maximise(feasible, objective)

    gamma = float(game.discount)
    r = cp.Variable(n_states, name="r")
    rows = RewardSimplex().constraints(r)
    for pi1, pi2 in history:
        kernel = (pi1[:, :, None, None] * kernel_of(game)).sum(axis=1).astype(float)
        chain = np.einsum("sb,sbt->st", pi2.astype(float), kernel)
        inverse = np.linalg.inv(np.eye(n_states) - gamma * chain)
        rows += [(chain - kernel[:, b]) @ inverse @ r >= 0 for b in range(kernel.shape[1])]
    printed = cp.Problem(cp.Maximize(objective @ r), rows)
    solved = solve(printed)
    assert_kkt(printed, solved)
    assert found.value == pytest.approx(solved.value, abs=1e-7)


def test_at_discount_zero_the_printed_rows_are_too_strict():
    game = swap_game(0)
    response = np.array([B2, B1])
    reward = np.array([1.0, 0.0])
    # The printed row of the first state, (P_π − P_stay)(I − 0)^{-1} r, is negative …
    assert (np.array([0.0, 1.0]) - np.array([1.0, 0.0])) @ reward == -1
    # … but every policy is optimal when nothing beyond the present counts.
    feasible = FeasibleRewards(game).observe(WAIT2, response)
    assert by_definition(game, [(WAIT2 * Fraction(1), response * Fraction(1))], np.array([1, 0]))
    assert feasible.contains(reward)
    assert feasible.count_rows() == 0
    assert maximise(feasible, reward).reward == pytest.approx(reward)
    # With γ > 0 the same response rules the reward out.
    assert not FeasibleRewards(swap_game(HALF)).observe(WAIT2, response).contains(reward)


def test_at_discount_zero_a_joint_reward_still_has_rows():
    game = swap_game(0)
    feasible = FeasibleRewards(game).observe(WAIT2, [B1, B1])
    better, worse = np.zeros((2, 1, 2)), np.zeros((2, 1, 2))
    better[0, 0, 0] = worse[0, 0, 1] = 1
    assert feasible.contains(better)
    assert not feasible.contains(worse)
    found = maximise(feasible, worse)
    assert found.value == pytest.approx(0.5)


# Lemma 1.


@given(
    instance=observed_games(),
    scale=st.floats(0.1, 10),
    shift=st.floats(-10, 10),
    data=st.data(),
)
def test_positive_affine_images_are_feasible_together(instance, scale, shift, data):
    game, history = instance
    reward = data.draw(rewards(game.n_states))
    feasible = feasible_set(game, history)
    assert feasible.contains(scale * reward + shift) == feasible.contains(reward)


@pytest.mark.parametrize("scale", [1e-150, 1e-12, 1e12, 1e150])
@given(instance=observed_games(), data=st.data())
def test_huge_and_tiny_rewards_are_judged_alike(scale, instance, data):
    game, history = instance
    reward = data.draw(rewards(data.draw(st.sampled_from([(game.n_states,), game.shape]))))
    feasible = feasible_set(game, history)
    assert feasible.contains(scale * reward) == feasible.contains(reward)


@given(instance=observed_games(), constant=st.floats(-1e6, 1e6))
def test_constants_are_always_feasible(instance, constant):
    game, history = instance
    feasible = feasible_set(game, history)
    assert feasible.contains(np.full(game.n_states, constant))
    assert feasible.contains(np.full(game.shape, constant))


def test_without_its_scale_an_infeasible_reward_becomes_feasible():
    feasible = FeasibleRewards(swap_game(HALF)).observe(WAIT2, [B2, B1])
    assert not feasible.contains([1.0, 0.0])
    assert feasible.contains([0.0, 0.0])


# Theorem 2 on its smallest counterexample.


@pytest.mark.parametrize(
    ("response", "admits"), [([B1, B1, B1], False), ([B2, B2, B1], False), ([B2, B1, B1], True)]
)
def test_the_ties_of_an_ideal_environment_decide_what_is_learned(response, admits):
    game = ideal_game()
    feasible = FeasibleRewards(game).observe(WAIT3, response)
    stranger = np.array([-1 / 3, 5 / 6, -1 / 6])
    exact = [(WAIT3.astype(int) * Fraction(1), np.array(response).astype(int) * Fraction(1))]
    assert by_definition(game, exact, np.array([0, 1, 2]))
    assert by_definition(game, exact, np.array([-2, 5, -1])) == admits
    assert feasible.contains([0.0, 1.0, 2.0])
    assert feasible.contains(stranger) == admits
    across = np.array([1.0, -2.0, 1.0])  # orthogonal to (0, 1, 2) and to constants
    widths = [maximise(feasible, direction).value for direction in (across, -across)]
    assert (max(widths) > 1e-3) == admits


def test_the_whole_optimal_set_of_an_ideal_environment_leaves_the_affine_class():
    mask = np.array([[True, True], [True, True], [True, False]])
    feasible = FeasibleRewards(ideal_game()).observe(WAIT3, mask)
    truth = AffineClass([0.0, 1.0, 2.0])
    rng = np.random.default_rng(0)
    for _ in range(8):
        objective = rng.uniform(-1, 1, 3)
        found = maximise(feasible, objective)
        # A solver's constant is one but for rounding, which points in any direction.
        assert np.ptp(found.reward) < 1e-9 or truth.contains(found.reward, tolerance=1e-6)
    labels = {c.label for c in feasible.constraints(cp.Variable(3))}
    assert labels == {"values[1]", "optimal[1]", "tied[1]"}


# Violations, gaps and slack.


def test_a_violation_names_episode_state_action_and_gap():
    game = two_states()
    feasible = (
        FeasibleRewards(game).observe(WAIT2, [B2, B1]).observe(WAIT2, [B1, B1])
    )  # goes, then stays
    # r = (0, 1): going is worth γ/(1−γ) = 1 and staying nothing.
    (wrong,) = feasible.violations([0.0, 1.0])
    assert (wrong.episode, wrong.state, wrong.action) == (2, "hall", "go")
    assert wrong.slack == pytest.approx(1)
    # r = (1, 0): after going the hall is worth 1; staying once before is worth 1 + γ·1.
    (wrong,) = feasible.violations([1.0, 0.0])
    assert (wrong.episode, wrong.state, wrong.action) == (1, "hall", "stay")
    assert wrong.slack == pytest.approx(0.5)
    assert feasible.violations([1.0, 0.0], tolerance=0.6) == ()


def test_violations_come_worst_first_and_name_tied_actions_that_are_worse():
    game = two_states()
    feasible = FeasibleRewards(game).observe(WAIT2, [B1, B1]).observe(WAIT2, [[0.25, 0.75], B1])
    found = feasible.violations([0.0, 1.0])
    # V(hall) = γ(V/4 + 3/4·2), so 6/7; staying first has 3/7, going has 1.
    assert [(v.episode, v.action) for v in found] == [(1, "go"), (2, "stay"), (2, "go")]
    assert [v.slack for v in found] == pytest.approx([1, 3 / 7, 1 / 7])


def test_gaps_are_the_advantages_of_the_response():
    game = two_states()
    feasible = FeasibleRewards(game).observe(WAIT2, [B2, B1])
    expected = [[[1 - HALF, 0], [0, 0]]]
    assert feasible.gaps([0.0, 1.0]) == pytest.approx(np.array(expected, dtype=float))
    assert FeasibleRewards(game).gaps([0.0, 1.0]).shape == (0, 2, 2)


@given(instance=observed_games(), data=st.data())
def test_gaps_equal_their_definition_exactly(instance, data):
    game, history = instance
    reward = data.draw(rewards(game.shape))
    gaps = feasible_set(game, history).gaps(reward)
    for t, (pi1, pi2) in enumerate(history):
        kernel, r = follower_problem(game, pi1, reward)
        gamma = game.rational.discount
        for s, b in product(range(game.n_states), range(game.n_follower_actions)):
            # Deviating once is Q; its values follow from those of the response.
            values = exact_values(kernel, r, pi2, gamma)
            gap = values[s] - r[s, b] - gamma * (kernel[s, b] @ values)
            assert gaps[t, s, b] == pytest.approx(float(gap), abs=1e-12)


# Programs.


@share(0.6)
@given(instance=explained_games(), seed=st.integers(0, 2**32 - 1))
def test_maximise_is_optimal_and_not_below_the_truth(instance, seed):
    game, truth, history = instance
    objective = np.random.default_rng(seed).uniform(-1, 1, truth.shape)
    feasible = feasible_set(game, history)
    found = maximise(feasible, objective)
    assert found.reward.shape == truth.shape
    assert found.reward.sum() == pytest.approx(1)
    if np.ptp(truth):
        member = (truth - truth.min()) / (truth - truth.min()).sum()
        assert found.value >= np.sum(objective * member) - 1e-9
    assert found.value >= objective.mean() - 1e-9


def test_constraints_compose_with_rows_of_ones_own():
    game = two_states()
    feasible = FeasibleRewards(game).observe(WAIT2, [B2, B1])
    r = cp.Variable(2, name="r")
    mine = [
        (cp.sum(r) == 1).set_label("total"),
        (r >= 0).set_label("sign"),
        (r[1] <= 3 * r[0]).set_label("at most three times"),
    ]
    problem = cp.Problem(cp.Maximize(r[1]), feasible.constraints(r) + mine)
    solved = solve(problem)
    assert r.value == pytest.approx([0.25, 0.75])
    assert solved.primal["r"] == pytest.approx([0.25, 0.75])
    assert solved.primal["V[1]"] == pytest.approx([1.0, 1.5])
    # Per unit of r_yard − 3 r_hall: r_yard grows by a quarter.
    assert solved.duals["at most three times"] == pytest.approx(0.25)
    assert solved.duals["optimal[1]"] == pytest.approx(0)
    assert_kkt(problem, solved)


def test_a_reward_of_linear_features_is_a_composition():
    game = ideal_game()
    feasible = FeasibleRewards(game).observe(WAIT3, [B1, B1, B1])
    features = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]])
    w = cp.Variable(2, name="w")
    rows = [*feasible.constraints(features @ w), w >= -1, w <= 1]
    # Here R = Aff, and of the combinations of the features only w₂ = 0 are images of (0, 1, 2).
    for sign in (1, -1):
        problem = cp.Problem(cp.Maximize(sign * w[1]), rows)
        solved = solve(problem)
        assert solved.value == pytest.approx(0, abs=1e-7)
        assert_kkt(problem, solved)


def test_one_program_may_hold_two_rewards_in_one_set():
    feasible = FeasibleRewards(two_states()).observe(WAIT2, [B2, B1])
    first, second = cp.Variable(2, name="first"), cp.Variable(2, name="second")
    rows = feasible.constraints(first) + feasible.constraints(second)
    box = [(first >= -1), (first <= 1), (second >= -1), (second <= 1)]
    problem = cp.Problem(cp.Maximize(cp.sum(first[1] - second)), rows + box)
    solved = solve(problem)
    assert solved.value == pytest.approx(4)
    assert {"values[1]", "values[1] (2)", "optimal[1]", "optimal[1] (2)"} <= set(solved.duals)
    assert_kkt(problem, solved)


def test_a_conic_program_over_the_set_finds_the_projection():
    feasible = FeasibleRewards(two_states()).observe(WAIT2, [B2, B1])
    r = cp.Variable(2, name="r")
    goal = cp.Minimize(cp.norm(r - np.array([1.0, 0.0])))
    solved = solve(cp.Problem(goal, feasible.constraints(r)), Clarabel())
    assert solved.value == pytest.approx(np.sqrt(0.5), abs=1e-7)
    assert r.value == pytest.approx([0.5, 0.5], abs=1e-6)


class Contradiction:
    """A domain without a reward."""

    def constraints(self, r):
        return [(r >= 1).set_label("one each"), (cp.sum(r) <= 1).set_label("one in all")]


class Everything:
    """No domain at all."""

    def constraints(self, r):
        return []


class Box:
    """Rewards between −1 and 1."""

    def constraints(self, r):
        return [(r <= 1).set_label("high"), (r >= -1).set_label("low")]


def test_a_domain_without_feasible_rewards_is_proved_empty():
    feasible = FeasibleRewards(two_states()).observe(WAIT2, [B2, B1])
    with pytest.raises(Infeasible) as caught:
        feasible.maximise([1.0, 0.0], domain=Contradiction())
    assert_farkas(reward_program(feasible, [1.0, 0.0], Contradiction()), caught.value.solved)
    assert caught.value.solved.farkas["one in all"] > 0


def test_the_cone_itself_is_unbounded_and_another_domain_may_bound_it():
    feasible = FeasibleRewards(two_states()).observe(WAIT2, [B2, B1])
    with pytest.raises(Unbounded):
        feasible.maximise([0.0, 1.0], domain=Everything())
    found = maximise(feasible, [1.0, -1.0], domain=Box())
    assert found.value == pytest.approx(0)
    found = maximise(feasible, [-1.0, 1.0], domain=Box())
    assert found.reward == pytest.approx([-1, 1])


def test_without_an_observation_every_reward_is_feasible():
    game = two_states()
    nothing = FeasibleRewards(game)
    assert nothing.observations == ()
    assert nothing.contains([1e9, -1e9])
    assert nothing.constraints(cp.Variable(2)) == []
    assert maximise(nothing, [1.0, 2.0]).reward == pytest.approx([0, 1])


# Uninformative sets.


def only_constants(game=None):
    """Staying and swapping are both optimal in both states, so both are worth the same."""
    game = swap_game(HALF) if game is None else game
    return FeasibleRewards(game).observe(WAIT2, np.ones((2, 2), dtype=bool))


def test_a_set_of_constants_is_reported_by_name():
    feasible = only_constants()
    assert feasible.contains([3.0, 3.0])
    assert not feasible.contains([3.0, 3.1])
    with pytest.raises(OnlyConstantRewards) as caught:
        feasible.random_vertex(np.random.default_rng(0), tries=4)
    assert caught.value.tries == 4
    assert "4 objectives" in str(caught.value)


def test_a_single_state_has_constants_only():
    game = TwoAgentMDP([[[[1], [1]]]], HALF)
    feasible = FeasibleRewards(game).observe([[1.0]], [B1])
    assert feasible.count_rows() == 0
    assert feasible.contains([-2.0])
    assert maximise(feasible, [1.0]).reward == pytest.approx([1])
    with pytest.raises(OnlyConstantRewards):
        feasible.random_vertex(np.random.default_rng(0))
    # A joint reward of one state can still be learned.
    joint = feasible.random_vertex(np.random.default_rng(0), joint=True)
    assert joint.reward.shape == (1, 1, 2)
    assert joint.reward[0, 0, 0] > joint.reward[0, 0, 1]


def test_constants_are_drawn_again_where_others_exist():
    # R ∩ simplex is the segment from (½, ½) to (0, 1): half the objectives end at the constant.
    feasible = FeasibleRewards(two_states()).observe(WAIT2, [B2, B1])
    constant = 0
    for seed in range(20):
        found = feasible.random_vertex(np.random.default_rng(seed))
        assert found.reward == pytest.approx([0, 1], abs=1e-9)
        assert found.spread == pytest.approx(1)
        try:
            feasible.random_vertex(np.random.default_rng(seed), tries=1)
        except OnlyConstantRewards:
            constant += 1
    assert 4 <= constant <= 16


def test_a_zero_reward_counts_as_constant():
    class Origin:
        def constraints(self, r):
            return [r == 0]

    with pytest.raises(OnlyConstantRewards):
        FeasibleRewards(two_states()).random_vertex(np.random.default_rng(0), domain=Origin())


@share(0.6)
@given(instance=observed_games(), seed=st.integers(0, 2**32 - 1), joint=st.booleans())
def test_a_random_vertex_is_feasible_not_constant_and_follows_its_seed(instance, seed, joint):
    game, history = instance
    feasible = feasible_set(game, history)
    try:
        found = feasible.random_vertex(np.random.default_rng(seed), joint=joint, tries=3)
    except OnlyConstantRewards:
        with pytest.raises(OnlyConstantRewards):
            feasible.random_vertex(np.random.default_rng(seed), joint=joint, tries=3)
        return
    assert found.reward.shape == (game.shape if joint else (game.n_states,))
    assert feasible.contains(found.reward, tolerance=1e-7)
    assert found.spread > 1e-6 * found.reward.max()
    again = feasible.random_vertex(np.random.default_rng(seed), joint=joint, tries=3)
    assert np.array_equal(found.reward, again.reward)


# Edges.


@given(game=games(follower=(1, 1)), data=st.data())
def test_a_follower_with_one_action_tells_nothing(game, data):
    pi1 = data.draw(policies(game.n_states, game.n_leader_actions)).astype(float)
    feasible = FeasibleRewards(game).observe(pi1, np.ones((game.n_states, 1)))
    assert feasible.count_rows() == 0
    assert feasible.contains(data.draw(rewards(game.n_states)))
    assert feasible.contains(data.draw(rewards(game.shape)))


def test_absorbing_states_make_no_rows():
    stay = np.eye(3, dtype=int)[:, None, None, :].repeat(2, axis=2)
    feasible = FeasibleRewards(TwoAgentMDP(stay, HALF)).observe(WAIT3, [B1, B2, [0.5, 0.5]])
    assert feasible.count_rows() == 0
    assert feasible.contains([1.0, 5.0, 2.0])


def test_rows_that_repeat_stand_once():
    game = two_states()
    kernel = [[[[1, 0], [0, 1], [0, 1], [1, 1]]], [[[0, 1]] * 4]]
    wide = TwoAgentMDP(kernel, HALF)
    assert FeasibleRewards(game).observe(WAIT2, [B1, B1]).count_rows() == 1
    # "go" twice, and half way, whose row is half as long: all say V(hall) ≥ V(yard).
    pi2 = [[1.0, 0, 0, 0], [1.0, 0, 0, 0]]
    feasible = FeasibleRewards(wide).observe(WAIT2, pi2)
    assert feasible.count_rows() == 1
    assert feasible.contains([1.0, 0.0])
    assert not feasible.contains([0.0, 1.0])


@given(instance=observed_games(episodes=(1, 3)), seed=st.integers(0, 2**32 - 1))
def test_a_repeated_observation_is_an_episode_more_and_no_rows(instance, seed):
    game, history = instance
    once = feasible_set(game, history)
    twice = feasible_set(game, [*history, *history])
    assert len(twice.episodes) == len(twice.observations) == 2 * len(history)
    for joint in (False, True):
        assert twice.count_rows(joint=joint) == once.count_rows(joint=joint)
        for one, other in zip(
            once.explicit_rows(joint=joint), twice.explicit_rows(joint=joint), strict=True
        ):
            assert np.array_equal(one, other)
    for one, other in zip(once.distinct_rows(), twice.distinct_rows(), strict=True):
        assert np.array_equal(one, other)
    r = cp.Variable(game.n_states)
    assert len(twice.constraints(r)) == len(once.constraints(r))
    objective = np.random.default_rng(seed).uniform(-1, 1, game.n_states)
    assert np.array_equal(once.maximise(objective).reward, twice.maximise(objective).reward)
    assert twice.gaps(objective).shape[0] == 2 * len(history)


def test_the_same_response_seen_in_another_way_has_rows_of_its_own():
    game = two_states()
    once = FeasibleRewards(game).observe(WAIT2, [B2, B1])
    # The mask also says that nothing else was optimal; a mixed response ties two actions.
    assert once.observe(WAIT2, np.array([B2, B1], dtype=bool)).count_rows() == 1 + 1
    assert once.observe(WAIT2, [[0.5, 0.5], B1]).count_rows() == 1 + 2


def test_a_repeated_episode_counts_again_in_the_margin():
    game = two_states()
    once = FeasibleRewards(game).observe(WAIT2, [B2, B1])
    twice = once.observe(WAIT2, [B2, B1])
    assert twice.max_margin().value == pytest.approx(2 * once.max_margin().value)


@given(instance=observed_games(episodes=(1, 3)))
def test_distinct_rows_are_the_explicit_rows_and_say_whence_they_come(instance):
    game, history = instance
    feasible = feasible_set(game, history)
    found = feasible.distinct_rows()
    for rows, episode, state, action, all_rows in (
        (*found[:4], feasible.explicit_rows()[0]),
        (*found[4:], feasible.explicit_rows()[1]),
    ):
        assert np.abs(rows).max(axis=1, initial=0) == pytest.approx(np.ones(len(rows)))
        assert len(np.unique(np.round(rows, 9), axis=0)) == len(rows)
        # Every explicit row is one of them, but for its scale.
        scaled = all_rows / np.abs(all_rows).max(axis=1, keepdims=True)
        apart = np.abs(scaled[:, None] - rows[None]).max(axis=2, initial=0)
        assert apart.min(axis=1, initial=np.inf if len(rows) else 0) == pytest.approx(0, abs=1e-9)
        reward = np.random.default_rng(0).normal(size=game.n_states)
        gaps = feasible.gaps(reward)[episode, state, action]
        # The gap of that action under any reward is the row's product, but for the scale.
        size = np.linalg.norm(
            [feasible.gaps(e)[episode, state, action] for e in np.eye(game.n_states)],
            axis=0,
            ord=np.inf,
        )
        assert rows @ reward * size == pytest.approx(gaps, abs=1e-9)


def test_observing_makes_a_new_set_and_shares_nothing_that_can_change():
    game = two_states()
    pi1, pi2 = np.ones((2, 1)), np.array([B2, B1])
    before = FeasibleRewards(game).observe(pi1, pi2)
    after = before.observe(pi1, [B1, B1])
    assert (len(before.observations), len(after.observations)) == (1, 2)
    assert before.contains([0.0, 1.0])
    assert not after.contains([0.0, 1.0])
    pi2[:] = [B1, B1]
    assert before.contains([0.0, 1.0])
    assert not before.contains([1.0, 0.0])
    for array in (before.observations[0].pi1, before.observations[0].pi2):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 0
    with pytest.raises(AttributeError):
        before.episodes = ()
    assert "1 episode, 1 row," in repr(before)


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (np.ones((2, 3), dtype=bool), InvalidObservation),
        (np.array([[True, False], [False, False]]), InvalidObservation),
        ([[1.0, 0.0]], InvalidPolicy),
        ([[0.5, 0.4], [1.0, 0.0]], InvalidPolicy),
        ([[np.nan, 1.0], [1.0, 0.0]], InvalidPolicy),
        ([[1.5, -0.5], [1.0, 0.0]], InvalidPolicy),
    ],
)
def test_a_response_that_is_none_is_refused_and_named(response, error):
    feasible = FeasibleRewards(two_states())
    with pytest.raises(error) as caught:
        feasible.observe(WAIT2, response)
    if "s=" in caught.value.place:
        assert "'hall'" in caught.value.place or "'yard'" in caught.value.place
    assert feasible.observations == ()


@pytest.mark.parametrize("bad", [np.ones(3), np.ones((2, 2)), np.ones((2, 2, 1)), 1.0])
def test_a_reward_of_the_wrong_shape_is_refused(bad):
    feasible = FeasibleRewards(two_states()).observe(WAIT2, [B2, B1])
    for ask in (feasible.contains, feasible.violations, feasible.gaps, feasible.maximise):
        with pytest.raises(InvalidReward, match="shape"):
            ask(bad)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("method", ["contains", "gaps", "slack", "maximise"])
def test_a_reward_that_is_not_finite_is_refused_and_named(method, value):
    with pytest.raises(InvalidReward, match="'yard'"):
        getattr(FeasibleRewards(two_states()), method)([0.0, value])


@pytest.mark.parametrize("shape", [(), (3,), (2, 1), (2, 3), (1, 2)])
def test_an_expression_of_the_wrong_shape_is_refused(shape):
    feasible = FeasibleRewards(two_states()).observe(WAIT2, [B2, B1])
    with pytest.raises(InvalidReward) as caught:
        feasible.constraints(cp.Variable(shape))
    assert caught.value.value == shape
