"""The soft-optimal follower against its defining equations, by an independent route."""

import numpy as np
import pytest

import iirl_opt as iirl
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.follower import BoltzmannFollower, SoftOptimalFollower, soft_optimum
from iirl_opt.rewards import SoftRewards


def problem_of(game, reward, pi1):
    """The follower's kernel (S, B, S) and rewards (S, B) in long doubles, rows summing to one."""
    kernel = game.kernel.astype(np.longdouble)
    kernel /= kernel.sum(axis=-1, keepdims=True)
    play = np.asarray(pi1, dtype=np.longdouble)
    play = play / play.sum(axis=1, keepdims=True)
    full = reward if reward.ndim == 3 else np.broadcast_to(reward[:, None, None], game.shape)
    own = np.einsum("sa,sab->sb", play, full.astype(np.longdouble))
    return np.einsum("sa,sabt->sbt", play, kernel), own


def by_sweeps(game, reward, pi1, temperature):
    """Soft values by value iteration in long doubles."""
    kernel, own = problem_of(game, reward, pi1)
    discount, values = np.longdouble(game.discount), np.zeros(game.n_states, np.longdouble)
    while True:
        q = own + discount * kernel @ values
        most = q.max(axis=1)
        sums = np.exp((q - most[:, None]) / temperature).sum(axis=1)
        better = most + temperature * np.log(sums)
        if np.abs(better - values).max() <= 1e-18 * np.abs(better).max():
            return better
        values = better


def instances(count, seed):
    """Games, rewards and temperatures over six decades, some rewards far from zero."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        shape = [int(x) for x in rng.integers([1, 1, 1], [6, 4, 4])]
        discount = float(rng.choice([0, 0.5, 0.9]))
        game, _ = iirl.random_game(*shape, rng=k, discount=discount)
        scale = 10.0 ** rng.integers(-3, 4)
        reward = scale * rng.normal(size=shape[:1] if k % 2 else shape)
        temperature = float(np.ptp(reward) or 1) * 10 ** rng.uniform(-3, 2)
        yield game, reward + 1e5 * (k % 3 == 0), iirl.random_policy(*shape[:2], rng), temperature


def test_values_are_those_of_value_iteration_within_their_bound():
    for game, reward, pi1, temperature in instances(40, seed=1):
        found = soft_optimum(game, reward, pi1, temperature)
        right = by_sweeps(game, reward, pi1, temperature)
        off = np.abs(right - found.values)
        least = 1e-18 * np.abs(right) / (1 - game.discount)  # what the reference is off itself
        assert (off <= found.error + least).all()
        # Rounding a sum of rewards that are 10⁵ from zero is all that there is.
        assert (found.error <= 1e-11 * np.abs(right).max()).all()


def test_the_answer_solves_its_linear_equations():
    for game, reward, pi1, temperature in instances(20, seed=2):
        found = soft_optimum(game, reward, pi1, temperature)
        kernel, own = problem_of(game, reward, pi1)
        right = own + game.discount * kernel @ found.values - found.values[:, None]
        off = temperature * found.log_response - right
        assert np.abs(off).max() <= 4 * (found.error.max() + 1e-12 * np.abs(found.q).max())
        assert np.exp(found.log_response).sum(axis=1) == pytest.approx(1, abs=1e-14)


def test_no_response_is_worth_more_with_its_entropy():
    rng = np.random.default_rng(3)
    game, reward = iirl.random_game(4, 2, 3, rng=3)
    pi1, heat = iirl.random_policy(4, 2, rng), 0.7
    best = SoftOptimalFollower(heat).values(game, reward, pi1)
    answer = SoftOptimalFollower(heat).respond(game, reward, pi1)
    for other in (answer, *rng.dirichlet(np.ones(3), size=(20, 4))):
        entropy = -(other * np.log(other)).sum(axis=1)
        chain = game.joint_chain(pi1, other)
        worth = np.linalg.solve(np.eye(4) - game.discount * chain, reward + heat * entropy)
        assert (worth <= best + 1e-12).all()
        assert (other is not answer) or worth == pytest.approx(best, rel=1e-12)


def test_it_is_optimal_where_cold_and_uniform_where_hot():
    game, reward = iirl.random_game(5, 2, 3, rng=4)
    pi1 = np.full((5, 2), 0.5)
    cold = SoftOptimalFollower(1e-9).respond(game, reward, pi1)
    assert cold == pytest.approx(iirl.OptimalFollower("mix").respond(game, reward, pi1), abs=1e-12)
    hot = SoftOptimalFollower(1e9).respond(game, reward, pi1)
    assert hot == pytest.approx(np.full((5, 3), 1 / 3), abs=1e-8)


def test_it_is_the_boltzmann_follower_at_discount_zero_and_no_other_elsewhere():
    reward = np.random.default_rng(0).normal(size=(2, 2, 3))
    pi1 = np.full((2, 2), 0.5)
    kernel = iirl.random_game(2, 2, 3, rng=0)[0].kernel
    for discount, same in ((0, True), (0.9, False)):
        game = iirl.TwoAgentMDP(kernel, discount)
        soft = SoftOptimalFollower(2.0).respond(game, reward, pi1)
        boltzmann = BoltzmannFollower(0.5).respond(game, reward, pi1)
        assert bool(np.abs(soft - boltzmann).max() < 1e-12) is same


def test_answers_are_as_sharp_near_a_discount_of_one_and_for_rewards_of_any_size():
    rng = np.random.default_rng(6)
    pi1 = iirl.random_policy(4, 2, rng)
    game, reward = iirl.random_game(4, 2, 3, rng=6)
    for discount, scale in ((1 - 1e-12, 1.0), (0.9, 1e290), (0.9, 1e-300)):
        near = iirl.TwoAgentMDP(game.kernel, discount)
        logs = SoftOptimalFollower(scale).log_respond(near, scale * reward, pi1)
        fit = SoftRewards(near, scale).observe_log(pi1, logs).fit()
        assert np.abs(fit.reward / scale - (reward - reward.mean())).max() < 1e-12


def test_a_constant_changes_nothing_and_a_factor_only_the_temperature():
    for game, reward, pi1, heat in instances(10, seed=5):
        logs = SoftOptimalFollower(heat).log_respond(game, reward, pi1)
        moved = SoftOptimalFollower(8 * heat).log_respond(game, 8 * reward + 64, pi1)
        assert moved == pytest.approx(logs, rel=1e-9, abs=1e-6)


def test_logarithms_are_finite_where_probabilities_underflow():
    game, reward = iirl.random_game(4, 2, 2, rng=0)
    pi1 = np.full((4, 2), 0.5)
    follower = SoftOptimalFollower(1e-6)
    assert (follower.respond(game, reward, pi1) == 0).any()
    assert np.isfinite(follower.log_respond(game, reward, pi1)).all()


@pytest.mark.parametrize("heat", [0, -1, np.nan, np.inf, "1", None, True, [1.0]])
def test_a_temperature_is_a_finite_number_above_zero(heat):
    with pytest.raises(InvalidArgument, match="temperature"):
        SoftOptimalFollower(heat)


def test_a_reward_of_another_shape_is_refused():
    game, _ = iirl.random_game(3, 2, 2, rng=0)
    with pytest.raises(InvalidReward):
        SoftOptimalFollower(1.0).respond(game, [1.0, 2.0], np.full((3, 2), 0.5))
