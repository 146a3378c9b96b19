"""Values: closed forms first, then one optimum by several independent routes, and all its ties."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from instances import best_values, games, kernel_of, policies, rewards

from iirl_opt.errors import InvalidPolicy, InvalidReward
from iirl_opt.exact.numbers import as_reals
from iirl_opt.game import optimum, refinement
from iirl_opt.game.exact import exact_optimum, exact_values
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.game.optimum import modified_policy_iteration, policy_iteration
from iirl_opt.game.reward import check_reward, follower_reward, tie_tolerance
from iirl_opt.game.values import error_bound, evaluate, local_scale

PLANNERS = [policy_iteration, modified_policy_iteration]
EPS = np.finfo(float).eps


def random_mdp(seed, n=6, n_actions=3, discount=0.9):
    rng = np.random.default_rng(seed)
    return MDP(rng.dirichlet(np.full(n, 0.4), (n, n_actions)), discount), rng


def dense_problem(model, reward):
    """P (S, n, S) and r (S, n) of a model, by NumPy alone."""
    n = model.n_states
    r = np.asarray(reward, dtype=float)
    spread = r.reshape(n, *([1] * (len(model.shape) - 1))) if r.ndim == 1 else r
    return model.kernel.reshape(n, -1, n), np.broadcast_to(spread, model.shape).reshape(n, -1)


def value_iteration(model, reward):
    """Optimal values by repeated Bellman updates, until the contraction bounds the error."""
    kernel, r = dense_problem(model, reward)
    gamma, values = model.discount, np.zeros(model.n_states)
    while True:
        new = (r + gamma * kernel @ values).max(axis=1)
        change = np.abs(new - values).max()
        values = new
        if gamma * change <= 1e-12 * (1 - gamma) * max(np.abs(r).max(), 1e-300):
            return values


def assert_optimal(found, model, reward):
    """Check Bellman's optimality equations, and q, in plain NumPy."""
    kernel, r = dense_problem(model, reward)
    size = np.abs(r).max() / (1 - model.discount)
    assert found.q == pytest.approx(r + model.discount * kernel @ found.values, abs=1e-12 * size)
    assert found.residual <= found.error.max() + 1e-12 * size
    assert found.residual == np.abs(found.q.max(axis=1) - found.values).max()


# Closed forms

# Puterman (1994), example 3.1.1: s1 has a11 (reward 5, stays with probability 1/2, else to s2) and
# a12 (reward 10, to s2), s2 has a21 (reward −1, stays); λ = 0.95. Then v*(s2) = −1/(1 − λ) = −20;
# a12 is worth 10 − 0.95·20 = −9, and a11 solves v = 5 + 0.95 (v − 20)/2, that is v = −60/7.
HALF = Fraction(1, 2)
PUTERMAN = {
    "floats": np.array([[[0.5, 0.5], [0, 1]], [[0, 1], [0, 1]]]),
    "sparse weights": sp.coo_array(np.array([[1, 1], [0, 1], [0, 1], [0, 1]])),
    "Fractions": np.array([[[HALF, HALF], [0, 1]], [[0, 1], [0, 1]]], dtype=object),
    "a fallback": np.array([[[1, 1], [0, 1]], [[0, 1], [0, 0]]]),
}


@pytest.mark.parametrize("form", PUTERMAN)
@pytest.mark.parametrize("plan", PLANNERS)
@pytest.mark.parametrize("agent", ["alone", "follower", "leader"])
def test_the_example_of_puterman(form, plan, agent):
    reward = np.array([[5, 10], [-1, -1]])
    kernel = PUTERMAN[form]
    if agent == "alone":
        model = MDP(kernel, "95/100", actions=2, fallback=0 if form == "a fallback" else None)
    else:
        flat = kernel if sp.issparse(kernel) else kernel.reshape(4, 2)
        fallback = {f"{agent}_fallback": 0} if form == "a fallback" else {}
        model = TwoAgentMDP(flat, "95/100", **{f"{agent}_actions": 2}, **fallback)
        reward = reward.reshape(model.shape)
    best = plan(model, reward)
    assert best.values == pytest.approx([-60 / 7, -20], rel=1e-13)
    assert best.q == pytest.approx(np.array([[-60 / 7, -9], [-20, -20]]), rel=1e-13)
    assert best.optimal.tolist() == [[True, False], [True, True]]
    assert best.actions.tolist() == [0, 0]
    assert best.policy.tolist() == [[1, 0], [1, 0]]
    assert best.error.max() < 1e-9
    policy = np.array([[0, 1], [1, 0]]).reshape(model.shape)
    assert evaluate(model, reward, policy) == pytest.approx([-9, -20], rel=1e-13)


def test_a_chain_of_two_states_by_hand():
    # V0 = 1 + γ (V0 + V1)/2 and V1 = γ V0, so V0 (1 − γ/2 − γ²/2) = 1.
    mdp = MDP([[[1, 1]], [[1, 0]]], 0.8)
    first = 1 / (1 - 0.4 - 0.32)
    assert evaluate(mdp, [1, 0], [[1], [1]]) == pytest.approx([first, 0.8 * first], rel=1e-14)
    for plan in PLANNERS:
        assert plan(mdp, [1, 0]).values == pytest.approx([first, 0.8 * first], rel=1e-13)


@pytest.mark.parametrize(
    ("n", "discount"),
    [*((n, discount) for n in (1, 2, 7, 300) for discount in (0, 0.5, 0.99)), (2, 0.9999)],
)
@pytest.mark.parametrize("plan", PLANNERS)
def test_a_round_trip_is_worth_a_geometric_series(n, discount, plan):
    # States in a ring, reward 1 in state 0: V(s) = γ^(−s mod n) / (1 − γ^n).
    mdp = MDP(sp.csr_array(np.roll(np.eye(n), 1, axis=1)), discount)
    reward = np.eye(n)[0]
    steps = -np.arange(n) % n
    expected = np.where(steps == 0, 1.0, float(discount) ** steps) / (1 - float(discount) ** n)
    assert plan(mdp, reward).values == pytest.approx(expected, rel=1e-10, abs=1e-300)
    assert evaluate(mdp, reward, np.ones((n, 1))) == pytest.approx(expected, rel=1e-10, abs=1e-300)


@pytest.mark.parametrize("plan", PLANNERS)
def test_with_discount_zero_the_reward_is_the_value(plan):
    model, rng = random_mdp(0, discount=0)
    reward = rng.random((6, 3))
    reward[2, 1] = reward[2, 0] = 2
    best = plan(model, reward)
    assert best.values.tolist() == reward.max(axis=1).tolist()
    assert (best.optimal == (reward == reward.max(axis=1, keepdims=True))).all()
    assert plan(model, reward[:, 0]).optimal.all()


@pytest.mark.parametrize("plan", PLANNERS)
def test_one_state_and_one_action(plan):
    best = plan(MDP([[[1]]], 0.75), [3])
    assert best.values.tolist() == [12]
    assert best.optimal.tolist() == [[True]]
    assert best.policy.tolist() == [[1]]


@pytest.mark.parametrize("plan", PLANNERS)
def test_states_that_nothing_leads_to_have_values_too(plan):
    kernel = np.zeros((3, 2, 3))
    kernel[:2, :, 0] = 1
    kernel[2, 0, 0] = kernel[2, 1, 1] = 1
    best = plan(MDP(kernel, 0.5, start=[1, 0, 0]), [1, 0, 0])
    assert best.values == pytest.approx([2, 1, 1])
    assert best.actions.tolist() == [0, 0, 0]


# Evaluation


@given(data=st.data(), game=games(leader=(1, 3)))
def test_values_solve_their_equation_for_rewards_and_policies_of_every_shape(data, game):
    n, n_a, n_b = game.shape
    reward = data.draw(st.one_of(rewards(n), rewards(game.shape)))
    pi1 = data.draw(policies(n, n_a)).astype(float)
    pi2 = data.draw(policies(n, n_b)).astype(float)
    joint = np.einsum("sa,sb->sab", pi1, pi2)
    kernel, r = dense_problem(game, reward)
    chain = np.einsum("sk,skt->st", joint.reshape(n, -1), kernel)
    expected = np.linalg.inv(np.eye(n) - game.discount * chain) @ (joint.reshape(n, -1) * r).sum(1)
    for policy in [(pi1, pi2), joint, joint.tolist()]:
        assert evaluate(game, reward, policy) == pytest.approx(expected, abs=1e-11)
    mdp, marginal = game.follower_mdp(pi1), follower_reward(game, reward, pi1)
    assert evaluate(mdp, marginal, pi2) == pytest.approx(expected, abs=1e-11)
    assert evaluate(game.joint_mdp(), r, joint.reshape(n, -1)) == pytest.approx(expected, abs=1e-11)


def test_a_correlated_policy_has_values_of_its_own():
    # Only (0, 0) and (1, 1) are rewarded: correlation earns 1 a step, independence one half.
    game = TwoAgentMDP(np.ones((1, 2, 2, 1), int), 0.5)
    reward = np.eye(2)[None]
    assert evaluate(game, reward, 0.5 * reward) == pytest.approx([2])
    assert evaluate(game, reward, ([[0.5, 0.5]], [[0.5, 0.5]])) == pytest.approx([1])


def test_large_sparse_systems_are_solved_as_small_dense_ones_are():
    rng = np.random.default_rng(0)
    n = 300
    weights = rng.integers(0, 9, (n, 2, n)) * (rng.random((n, 2, n)) < 0.02)
    weights[..., 0] += weights.sum(axis=-1) == 0
    mdp, reward = MDP(weights, 0.95), rng.random((n, 2))
    assert sp.issparse(mdp.matrix)
    policy = rng.dirichlet(np.ones(2), n)
    chain = np.einsum("sb,sbt->st", policy, mdp.kernel)
    expected = np.linalg.solve(np.eye(n) - 0.95 * chain, (policy * reward).sum(axis=1))
    assert evaluate(mdp, reward, policy) == pytest.approx(expected, rel=1e-12)
    for plan in PLANNERS:
        assert_optimal(plan(mdp, reward), mdp, reward)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (([[1], [1]], [[1, 0], [0.5, 0]]), r"follower policy\[s=1\] sums to 0\.5"),
        (([[1], [2]], [[1, 0], [1, 0]]), r"leader policy\[s=1\] sums to 2"),
        (np.full((2, 1, 2), 0.25), r"joint policy\[s=0\] sums to 0\.5"),
        (np.eye(2), r"joint policy has shape \(2, 2\); allowed \(2, 1, 2\)"),
    ],
)
def test_values_of_what_is_no_policy_are_refused(policy, message):
    with pytest.raises(InvalidPolicy, match=message):
        evaluate(TwoAgentMDP(np.ones((2, 1, 2, 2), int), 0.9), [0, 1], policy)


# Rewards


@pytest.mark.parametrize(
    ("reward", "message"),
    [
        ([1, np.nan], r"reward\[s='yard'\] is nan; allowed finite numbers"),
        ([np.inf, 0], r"reward\[s='hall'\] is inf"),
        ([[[0, 0]] * 2, [[0, 0], [0, -np.inf]]], r"reward\[s='yard', a='b', b=1\] is -inf"),
        ([1, 2, 3], r"reward has shape \(3,\); allowed \(2,\) or \(2, 2, 2\)"),
        (np.zeros((2, 2)), r"reward has shape \(2, 2\)"),
        (np.zeros((2, 1)), r"reward has shape \(2, 1\)"),
        (1.0, r"reward has shape \(\)"),
        ([[1], [2, 3]], "reward is no array of numbers"),
        (["a", "b"], "reward is no array of numbers"),
        ([1j, 0], r"reward is no array of numbers \(has type complex128\)"),
        ([object(), 0], "reward is no array of numbers"),
    ],
)
def test_what_is_no_reward_is_refused(reward, message):
    kernel = np.ones((2, 2, 2, 2), int)
    game = TwoAgentMDP(kernel, 0.9, states=["hall", "yard"], leader_actions="ab")
    for use in (check_reward, policy_iteration, modified_policy_iteration):
        with pytest.raises(InvalidReward, match=message):
            use(game, reward)


def test_a_reward_is_copied_as_floats():
    mdp = MDP(np.ones((2, 2, 2), int), 0.9)
    given = np.array([1.0, 2.0])
    checked = check_reward(mdp, given)
    checked[0] = 7
    assert given[0] == 1
    assert check_reward(mdp, [Fraction(1, 4), True]).tolist() == [0.25, 1]


def test_the_follower_faces_the_mean_over_the_leader():
    game = TwoAgentMDP(np.ones((1, 2, 2, 1), int), 0.9)
    reward = [[[0, 4], [8, 0]]]
    assert follower_reward(game, reward, [[0.25, 0.75]]).tolist() == [[6, 1]]
    assert follower_reward(game, [3], [[0.25, 0.75]]).tolist() == [3]


def test_ties_are_told_at_a_share_of_the_largest_value_difference():
    assert tie_tolerance([0, 2], 0.75) == pytest.approx(1e-9 * 2 / 0.25, rel=1e-12)
    assert tie_tolerance([5, 5], 0.75) == pytest.approx(8 * EPS * 5 / 0.25**2, rel=1e-12)
    assert tie_tolerance([0, 0], 0.75) == 0
    assert tie_tolerance([[-3, -1], [-2, -2]], 0) == pytest.approx(2e-9, rel=1e-12)
    scaled = [tie_tolerance(scale * np.array([1.0, 3.0]), 0.9) / scale for scale in (1e-12, 1e12)]
    assert scaled[0] == pytest.approx(scaled[1], rel=1e-12)


# One optimum by several routes


@given(data=st.data(), game=games(states=(1, 4), leader=(1, 2), follower=(1, 2)))
def test_all_routes_lead_to_the_same_optimum(data, game):
    reward = data.draw(st.one_of(rewards(game.n_states), rewards(game.shape)))
    expected = value_iteration(game, reward)
    mdp, r = game.joint_mdp(), dense_problem(game, reward)[1]
    found = [plan(model, it) for plan in PLANNERS for model, it in [(game, reward), (mdp, r)]]
    found.append(modified_policy_iteration(game, reward, sweeps=0))
    for best in found:
        assert_optimal(best, game, reward)
        assert (np.abs(best.values - expected) <= best.error + 1e-9).all()
        assert (best.optimal == found[0].optimal).all()
        assert best.q[np.arange(game.n_states), best.actions] == pytest.approx(
            best.values, abs=2 * best.error.max()
        )


@pytest.mark.oracle
@pytest.mark.parametrize("discount", [0, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("shape", ["(S,)", "(S, B)"])
@pytest.mark.parametrize("kind", ["any", "tied", "constant", "huge", "tiny"])
def test_quantecon_finds_the_same_optimum(discount, shape, kind):
    markov = pytest.importorskip("quantecon.markov")
    model, rng = random_mdp(5, 12, 4, discount)
    reward = rng.normal(size=12 if shape == "(S,)" else (12, 4))
    if kind == "tied":
        kernel = model.kernel.copy()
        kernel[:, 2] = kernel[:, 1]
        reward = np.round(reward)
        if reward.ndim == 2:
            reward[:, 2] = reward[:, 1]
        model = MDP(kernel, discount)
    reward = {"constant": 0 * reward + 0.1, "huge": 1e12 * reward, "tiny": 1e-12 * reward}.get(
        kind, reward
    )
    kernel, r = dense_problem(model, reward)
    theirs = markov.DiscreteDP(r.copy(), kernel, discount).solve(method="policy_iteration")
    for plan in PLANNERS:
        best = plan(model, reward)
        assert best.values == pytest.approx(theirs.v, rel=1e-9, abs=1e-9 * np.abs(r).max())
        assert best.optimal[np.arange(12), theirs.sigma].all()
        if kind == "tied":
            assert (best.optimal[:, 1] == best.optimal[:, 2]).all()
        if kind == "constant":
            assert best.optimal.all()


@given(data=st.data(), game=games(leader=(1, 2), follower=(1, 2)))
def test_the_mask_is_the_exact_set_of_optimal_actions(data, game):
    reward = data.draw(st.one_of(rewards(game.n_states), rewards(game.shape)))
    n = game.n_states
    kernel = kernel_of(game).reshape(n, -1, n)
    r = dense_problem(game, reward)[1].astype(int) * Fraction(1)
    gamma = game.rational.discount
    best = best_values(kernel, r, gamma)
    q = r + gamma * (kernel * best).sum(axis=2)
    for plan in PLANNERS:
        found = plan(game, reward)
        assert (found.optimal == (q == q.max(axis=1, keepdims=True))).all()
        assert found.values == pytest.approx(best.astype(float), abs=1e-11)


@given(
    data=st.data(),
    game=games(leader=(1, 2), follower=(1, 2)),
    scale=st.sampled_from([1e-12, 1e-3, 0.1, 7, 1e12]),
    shift=st.floats(-100, 100),
)
def test_the_mask_does_not_change_with_scale_and_shift(data, game, scale, shift):
    reward = data.draw(rewards(game.n_states))
    moved = scale * (reward + shift)
    for plan in PLANNERS:
        before, after = plan(game, reward), plan(game, moved)
        assert (before.optimal == after.optimal).all()
        expected = scale * (before.values + shift / (1 - game.discount))
        size = scale * (np.abs(reward).max() + abs(shift)) / (1 - game.discount)
        assert after.values == pytest.approx(expected, abs=1e-12 * size)


@pytest.mark.parametrize("discount", [0, 0.3, 0.9, 0.999, 0.9999, 0.999999])
@pytest.mark.parametrize("reward", [0.0, 0.1, -0.1, 1e12, 1e-12, 1 / 3])
def test_under_a_constant_reward_everything_is_optimal(discount, reward):
    for n in (1, 2, 7, 40):
        model, _ = random_mdp(n, n, 3, discount)
        for best in (
            policy_iteration(model, np.full(n, reward)),
            modified_policy_iteration(model, np.full((n, 3), reward)),
        ):
            assert best.optimal.all()
            size = 100 * EPS * abs(reward) / (1 - discount) ** 2
            assert best.values == pytest.approx(np.full(n, reward / (1 - discount)), abs=size)


# Ties


@given(data=st.data(), game=games(states=(1, 4), leader=(1, 1), follower=(1, 3)))
def test_policy_iteration_ends_among_ties_from_any_start(data, game):
    n, _, n_b = game.shape
    reward = data.draw(rewards(n))
    doubled = MDP(np.concatenate([game.kernel[:, 0]] * 2, axis=1), game.discount)
    start = data.draw(arrays(np.int64, n, elements=st.integers(0, 2 * n_b - 1)))
    once, twice = policy_iteration(game, reward), policy_iteration(doubled, reward, initial=start)
    assert (twice.optimal == np.concatenate([once.optimal] * 2, axis=1)).all()
    assert twice.values == pytest.approx(once.values, abs=1e-11)
    assert twice.iterations <= (2 * n_b) ** n


@pytest.mark.parametrize("seed", range(5))
def test_policy_iteration_ends_where_rounding_makes_the_gains(seed):
    model, rng = random_mdp(seed, 20, 5, 1 - 1e-8)
    for reward in (np.full(20, 0.1), 0.1 + 1e-15 * rng.random(20), 1e6 + rng.random(20)):
        best = policy_iteration(model, reward)
        assert best.iterations < 100
        assert np.isfinite(best.values).all()


def test_a_start_that_is_optimal_takes_no_step():
    model, rng = random_mdp(3)
    reward = rng.random((6, 3))
    best = policy_iteration(model, reward)
    assert best.iterations > 0
    again = policy_iteration(model, reward, initial=best.actions)
    assert again.iterations == 0
    assert again.values == pytest.approx(best.values, rel=1e-14)


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        ([0, 3], r"actions\[s=1\] is 3; allowed 0 … 2"),
        ([-1, 0], r"actions\[s=0\] is -1"),
        ([0], r"initial has shape \(1,\); allowed \(2,\)"),
        (0, r"initial has shape \(\)"),
        ([0.0, 1.0], "type float64; allowed integers"),
    ],
)
def test_initial_choices_that_do_not_exist_are_refused(initial, message):
    with pytest.raises(InvalidPolicy, match=message):
        policy_iteration(MDP(np.ones((2, 3, 2), int), 0.9), [0, 1], initial=initial)


def test_small_gains_that_add_up_are_not_taken_for_ties():
    # In state 0 the second action earns g more a step, which is worth g / (1 − γ) in the long run.
    gain, discount = 5e-6, 0.9999
    kernel = np.broadcast_to(np.eye(2)[:, None, :], (2, 2, 2))
    reward = np.array([[0, gain], [1, 0]])
    model = MDP(kernel, discount)
    expected = [gain / (1 - discount), 1 / (1 - discount)]
    for best in (
        policy_iteration(model, reward, initial=[0, 0]),
        policy_iteration(model, reward, initial=[0, 1]),
        modified_policy_iteration(model, reward),
    ):
        assert best.values == pytest.approx(expected, rel=1e-10)
        assert best.optimal.tolist() == [[False, True], [True, False]]


@pytest.mark.parametrize("far", [0, -1e6, -1e12, 1e12])
@pytest.mark.parametrize("discount", [0, 0.5, 0.999, 1 - 1e-10])
def test_the_least_preference_decides_whatever_is_paid_elsewhere(discount, far):
    # Both actions stay in state 0; state 1 is never entered.
    model = MDP(np.broadcast_to(np.eye(2)[:, None, :], (2, 2, 2)), discount)
    for gap, tied in [(2.0**-52, False), (0.0, True)]:
        best = policy_iteration(model, np.array([[1 + gap, 1], [far, far]]))
        assert best.optimal.tolist() == [[True, tied], [True, True]]
        assert best.error[0] <= 100 * EPS / (1 - discount) ** 2


@pytest.mark.parametrize("flint", [True, False])
@given(data=st.data())
def test_the_mask_is_the_exact_one(data, flint):
    """Planted penalties, shifts, near ties and extreme discounts, against rational arithmetic."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n, n_b = int(rng.integers(1, 5)), int(rng.integers(2, 4))
    discount = data.draw(st.sampled_from([0, 0.9, 1 - 1e-6, 1 - 1e-10, "0.999999999", "1/3"]))
    kernel = rng.integers(0, 3, size=(n, 1, n_b, n)) + np.eye(n, dtype=int)[:, None, None]
    if data.draw(st.booleans()):
        kernel = kernel / kernel.sum(axis=-1, keepdims=True)
    reward = rng.integers(-2, 3, size=(n, 1, n_b)).astype(float)
    for plant in data.draw(st.lists(st.sampled_from(["penalty", "shift", "near", "scale"]))):
        if plant == "penalty":
            reward.flat[rng.integers(reward.size)] = -(10.0 ** rng.integers(3, 13))
        elif plant == "near":
            reward.flat[rng.integers(reward.size)] += 1e-12
        else:
            reward = reward + 1e12 if plant == "shift" else reward * 2.0**-40
    game = TwoAgentMDP(kernel, discount)
    exact = exact_optimum(game, reward)
    with patched_flint(flint):
        for plan in PLANNERS:
            found = plan(game, reward)
            assert (found.optimal == exact.optimal.reshape(n, -1)).all()
            assert not found.undecided.any()
            for value, error, true in zip(found.values, found.error, exact.values, strict=True):
                assert abs(Fraction(value) - true) <= Fraction(error)


def patched_flint(there):
    """Take python-flint away, or leave it."""
    return nullcontext() if there else patch.object(refinement, "has_flint", lambda: False)


@pytest.mark.parametrize("plan", PLANNERS)
@pytest.mark.parametrize("exponent", [-44, -46, -50, -52])
def test_without_a_bound_on_the_error_ties_are_decided_exactly(plan, exponent):
    model = MDP(np.array([[[1.0, 0], [1, 0]], [[0, 1], [0, 1]]]), 1 - 2.0**exponent)
    found = plan(model, np.array([[0.0, 1], [0, 0]]))
    assert found.optimal.tolist() == [[False, True], [True, True]]
    assert not found.undecided.any()


@pytest.mark.parametrize("plan", PLANNERS)
def test_probabilities_that_underflow_count_in_the_bound(plan):
    p = Fraction(1, 2**1080)
    kernel = np.array([[[1 - p, p], [1, 0]], [[0, 1], [0, 1]]], dtype=object)
    game = TwoAgentMDP(kernel[:, None] + Fraction(0), Fraction(9, 10))
    reward = np.array([[0, 1e-318], [1e10, 1e10]])[:, None]
    found, exact = plan(game, reward), exact_optimum(game, reward)
    for v, e, x in zip(found.values, found.error, exact.values, strict=True):
        assert abs(Fraction(v) - x) <= Fraction(e)
    assert (found.optimal >= exact.optimal[:, 0]).all()


def test_threads_may_share_an_optimum_that_decides_its_ties():
    game, reward = random_game(40, 2, 2, rng=0)
    optimum, copied = (policy_iteration(game, reward) for _ in range(2))
    with ThreadPoolExecutor(8) as threads:
        asked = list(threads.map(lambda _: optimum.optimal.tobytes(), range(64)))
    copied = pickle.loads(pickle.dumps(copied))
    assert set(asked) == {copied.optimal.tobytes()}
    for name in ("actions", "undecided", "error", "scale"):
        assert np.array_equal(getattr(optimum, name), getattr(copied, name))


@given(data=st.data(), game=games(states=(1, 4), leader=(1, 2), follower=(1, 2)))
def test_ties_are_decided_later_as_they_are_at_once(data, game):
    reward = data.draw(rewards(game.n_states))
    with patch.object(optimum, "SLIGHT", -1.0):
        at_once = modified_policy_iteration(game, reward)
    later = modified_policy_iteration(game, reward)
    values = later.values
    for found in (later, pickle.loads(pickle.dumps(later))):
        assert (found.optimal == at_once.optimal).all()
        assert (found.actions == at_once.actions).all()
        assert (found.undecided == at_once.undecided).all()
        assert found.doubt == at_once.doubt
        assert (np.abs(found.values - at_once.values) <= found.error + at_once.error).all()
        assert (found.values == values).all()
        assert (found.scale == later.scale).all()


@pytest.mark.parametrize("pays", [Fraction(1, 10**400), Fraction(1, 3)])
def test_nothing_is_at_stake_only_where_all_that_follows_pays_the_same(pays):
    # From state 0 to one of two that nothing leads away from; the one pays a little more.
    kernel = np.zeros((3, 2, 3), dtype=int)
    kernel[0, 0, 1] = kernel[0, 1, 2] = kernel[1, :, 1] = kernel[2, :, 2] = 1
    for second, ties in [(pays, True), (pays + Fraction(1, 10**420), False)]:
        reward = np.array([0, pays, second], dtype=object)
        found = policy_iteration(MDP(kernel, "9/10"), reward)
        assert found.optimal.tolist() == [[ties, True], [True, True], [True, True]]


def test_ties_of_large_classes_are_decided_when_asked():
    # A ring of 90 states, in each of which both actions lead on: one reward is a hair larger.
    n = 90
    ring = np.roll(np.eye(n, dtype=int), 1, axis=1)
    half = ring + np.eye(n, dtype=int)
    model = MDP(np.stack([ring, half, half], axis=1), "0.95")
    quick, exact = (policy_iteration(model, np.ones(n), exact=by) for by in (False, True))
    assert quick.optimal.all()
    assert exact.optimal.all()
    reward = np.ones(n) + np.arange(n)
    quick, exact = (policy_iteration(model, reward, exact=by) for by in (False, True))
    assert (exact.optimal <= quick.optimal).all()
    assert not exact.undecided.any()
    assert (exact.optimal[:, 1] == exact.optimal[:, 2]).all()


@given(data=st.data(), game=games(states=(1, 4), leader=(1, 2), follower=(1, 2)))
def test_an_error_bound_holds_of_any_values(data, game):
    reward = data.draw(rewards(game.n_states))
    pi1, pi2 = (
        data.draw(policies(game.n_states, game.shape[1])),
        data.draw(policies(game.n_states, game.shape[2])),
    )
    exact = exact_values(game, reward, (pi1, pi2))
    off = data.draw(arrays(float, game.n_states, elements=st.floats(-1, 1)))
    for values in (evaluate(game, reward, (pi1, pi2)), as_reals(exact) + off):
        bound = error_bound(game, reward, (pi1, pi2), values)
        for value, true, error in zip(values, exact, bound, strict=True):
            assert abs(Fraction(value) - true) <= Fraction(error)


@given(data=st.data(), game=games(states=(1, 4), leader=(1, 2), follower=(1, 2)))
def test_the_local_scale_knows_neither_shift_nor_what_is_not_met(data, game):
    reward = data.draw(rewards(game.n_states))
    pair = (
        data.draw(policies(game.n_states, game.shape[1])),
        data.draw(policies(game.n_states, game.shape[2])),
    )
    scale = local_scale(game, reward, pair)
    assert local_scale(game, 8 * (reward + 2), pair) == pytest.approx(8 * scale, abs=1e-6)
    chain = game.joint_chain(*pair)
    dense = chain.toarray() if sp.issparse(chain) else chain
    met = np.linalg.solve(np.eye(game.n_states) - game.discount * dense, np.eye(game.n_states))
    worth = (1 - game.discount) * met @ reward
    squares = np.array([row @ (reward - w) ** 2 for row, w in zip(met, worth, strict=True)])
    assert scale == pytest.approx(np.sqrt(np.maximum(squares, 0) / (1 - game.discount)), abs=1e-6)


# The engine


@pytest.mark.parametrize("discount", [0, 0.5, 0.9, 0.99, 0.9999, 0.999999])
@pytest.mark.parametrize("kind", ["plain", "shifted", "far shifted", "huge", "tiny", "doubled"])
def test_the_engine_ends_and_its_error_bound_holds(discount, kind):
    for n in (1, 2, 7, 40):
        model, rng = random_mdp(n, n, 3, discount)
        reward = rng.random(n)
        reward = {"shifted": reward + 1e3, "far shifted": reward + 1e6, "huge": 1e12 * reward}.get(
            kind, 1e-12 * reward if kind == "tiny" else reward
        )
        if kind == "doubled":
            kernel = model.kernel.copy()
            kernel[:, 1] = kernel[:, 0]
            model = MDP(kernel, discount)
        exact = policy_iteration(model, reward)
        for tolerance in (1e-10, 1e-3, 1e-300):
            found = modified_policy_iteration(model, reward, tolerance=tolerance)
            assert (np.abs(found.values - exact.values) <= found.error + exact.error).all()
            assert (found.optimal == exact.optimal).all()


def test_rewards_whose_values_overflow_are_refused():
    model, rng = random_mdp(0)
    for plan in PLANNERS:
        with pytest.raises(InvalidReward, match=r"reward has an entry .* whose values overflow"):
            plan(model, 1e308 * rng.random((6, 3)))
        assert np.isfinite(plan(model, 1e-310 * rng.random((6, 3))).values).all()


@pytest.mark.parametrize("discount", [0.9, 0.999])
def test_large_models_are_swept_or_factored(discount):
    for n in (2000, 2001):
        mdp = MDP(sp.csr_array(np.roll(np.eye(n), 1, axis=1)), discount)
        best = modified_policy_iteration(mdp, np.eye(n)[0])
        assert best.values[0] == pytest.approx(1 / (1 - discount**n), rel=1e-9)
        assert best.error.max() < 1e-9


@pytest.mark.parametrize("gamma", [0.99, 0.9999, 1 - 1e-6, 1 - 1e-9])
def test_a_periodic_chain_is_not_waited_for(gamma):
    # Values swing with the period, so their span shrinks only as fast as the discount.
    game = TwoAgentMDP([[[[0, 1]]], [[[1, 0]]]], discount=gamma)
    optimum = modified_policy_iteration(game, [1.0, 0.0])
    assert optimum.iterations < 200
    assert optimum.values == pytest.approx(np.array([1, gamma]) / (1 - gamma**2))


@pytest.mark.parametrize("far", [0.0, -1e9])
def test_near_ties_are_reported_on_a_local_scale_and_played_by_nobody(far):
    # Cycle between rewards 0 and 1; the second action is worse by a hair, the third leads away.
    kernel = np.zeros((3, 3, 3))
    kernel[0, :2, 1] = kernel[1, :2, 0] = kernel[0, 2, 2] = kernel[1, 2, 2] = kernel[2, :, 2] = 1
    for gap, near in [(1e-11, True), (1e-6, False)]:
        reward = np.array([[0, -gap, 0], [1, 1 - gap, 1], [far, far, far]])
        found = policy_iteration(MDP(kernel, 0.9), reward)
        assert found.optimal[:2].tolist() == [[True, False, False]] * 2
        assert found.near[:2, 1].tolist() == [near, near]
        assert not found.near[:2, 2].any()
