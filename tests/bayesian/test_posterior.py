"""The posterior: its likelihood against the naive formula, its ridge, gradient and priors."""

import numpy as np
import pytest
from depth import share
from hypothesis import given, strategies as st
from scipy import stats

from iirl_opt.bayesian.evidence import Evidence
from iirl_opt.bayesian.families import BoltzmannFamily, EpsilonGreedyFamily, FollowerFamily
from iirl_opt.bayesian.posterior import Posterior, normalise
from iirl_opt.bayesian.priors import (
    DirichletPrior,
    GammaPrior,
    Known,
    UniformPrior,
    exponential_prior,
)
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.policy import random_policy
from iirl_opt.observation import sample_trajectory


def trajectories(seed=0, n_states=6, episodes=3, discount="9/10"):
    """A game, trajectories in it, and their evidence."""
    game, _ = random_game(n_states, 2, 3, rng=seed, discount=discount)
    rng = np.random.default_rng(seed)
    seen, evidence = [], Evidence(game)
    for _ in range(episodes):
        pi1, pi2 = random_policy(n_states, 2, rng), random_policy(n_states, 3, rng)
        seen.append(sample_trajectory(game, pi1, pi2, rng, min_length=5, end_probability=0.2))
        evidence = evidence.observe(seen[-1])
    return game, seen, evidence


def naive(game, seen, r, follower):
    """The likelihood as the paper defines it, step by step."""
    total = 0.0
    for steps in seen:
        log = np.log(follower.respond(game, r, steps.pi1))
        total += sum(log[s, b] for s, b in zip(steps.states, steps.follower_actions, strict=True))
    return total


@given(seed=st.integers(0, 50), beta=st.floats(0, 30), discount=st.sampled_from(["0", "9/10"]))
def test_the_likelihood_is_the_product_over_all_steps(seed, beta, discount):
    game, seen, evidence = trajectories(seed, discount=discount)
    r = np.random.default_rng(seed).dirichlet(np.ones(6))
    follower = BoltzmannFollower(beta)
    expected = sum(
        follower.log_respond(game, r, steps.pi1)[steps.states, steps.follower_actions].sum()
        for steps in seen
    )
    assert Posterior(evidence).log_likelihood(r, beta) == pytest.approx(expected, abs=1e-9)


@given(seed=st.integers(0, 20), epsilon=st.floats(0.05, 1))
def test_and_for_epsilon_greedy_followers(seed, epsilon):
    game, seen, evidence = trajectories(seed)
    r = np.random.default_rng(seed).dirichlet(np.ones(6))
    posterior = Posterior(evidence, family=EpsilonGreedyFamily())
    expected = naive(game, seen, r, EpsilonGreedyFollower(epsilon, ties="mix"))
    assert posterior.log_likelihood(r, epsilon) == pytest.approx(expected, abs=1e-9)


def test_an_optimal_follower_cannot_have_erred():
    _, _, evidence = trajectories()
    posterior = Posterior(evidence, family=EpsilonGreedyFamily())
    r = np.random.default_rng(0).dirichlet(np.ones(6))
    assert posterior.log_likelihood(r, 0.0) == -np.inf
    assert posterior.log_likelihood(np.full(6, 1 / 6), 0.0) > -np.inf  # where all is optimal


def test_a_whole_response_is_scored_by_its_cross_entropy():
    game, _, _ = trajectories()
    pi1, pi2 = game.leader_policy({"*": 0}), random_policy(6, 3, np.random.default_rng(1))
    posterior = Posterior(Evidence(game).respond(pi1, pi2, weight=4.0))
    r = np.random.default_rng(2).dirichlet(np.ones(6))
    log = BoltzmannFollower(7.0).log_respond(game, r, pi1)
    assert posterior.log_likelihood(r, 7.0) == pytest.approx(4 * (pi2 * log).sum(), rel=1e-12)


def test_without_episodes_the_posterior_is_the_prior():
    game, _, _ = trajectories()
    posterior = Posterior(Evidence(game), reward_prior=DirichletPrior([1, 2, 3, 1, 1, 1]))
    r = np.random.default_rng(0).dirichlet(np.ones(6))
    expected = stats.dirichlet.logpdf(r / r.sum(), [1, 2, 3, 1, 1, 1])
    expected += stats.expon.logpdf(40.0, scale=500)
    assert posterior.log_density(r, 40.0) == pytest.approx(expected, rel=1e-9)
    assert posterior.action_values(r).shape == (0, 6, 3)


def test_an_episode_without_steps_tells_nothing():
    game, _, evidence = trajectories()
    more = evidence.count(game.leader_policy({"*": 1}), np.zeros((6, 3)))
    r = np.random.default_rng(0).dirichlet(np.ones(6))
    assert Posterior(more).log_likelihood(r, 9.0) == Posterior(evidence).log_likelihood(r, 9.0)


def test_at_beta_zero_no_reward_is_likelier():
    _, seen, evidence = trajectories()
    steps = sum(len(s) for s in seen)
    for r in np.random.default_rng(0).dirichlet(np.ones(6), size=3):
        value = Posterior(evidence).log_likelihood(r, 0.0)
        assert value == pytest.approx(steps * np.log(1 / 3), rel=1e-12)


def test_huge_inverse_temperatures_give_no_nan():
    _, _, evidence = trajectories()
    r = np.random.default_rng(0).dirichlet(np.ones(6))
    assert Posterior(evidence).log_likelihood(r, 1e12) < -1e6
    assert not np.isnan(Posterior(evidence).log_likelihood(r, 1e300))


# The ridge


@given(seed=st.integers(0, 20), share=st.floats(0.05, 1))
def test_the_likelihood_is_constant_along_the_ridge(seed, share):
    _, _, evidence = trajectories(seed)
    posterior = Posterior(evidence)
    r = np.random.default_rng(seed).dirichlet(np.ones(6))
    mixed = (1 - share) / 6 + share * r
    assert posterior.log_likelihood(mixed, 12.0 / share) == pytest.approx(
        posterior.log_likelihood(r, 12.0), abs=1e-8
    )


@given(seed=st.integers(0, 20), share=st.floats(0.05, 1), how=st.sampled_from(["min", "direction"]))
def test_normalising_maps_a_ridge_to_one_follower(seed, share, how):
    _, _, evidence = trajectories(seed)
    posterior = Posterior(evidence)
    r = np.random.default_rng(seed).dirichlet(np.ones(6))
    one = normalise(r, 12.0, how)
    other = normalise((1 - share) / 6 + share * r, 12.0 / share, how)
    np.testing.assert_allclose(other[0], one[0], atol=1e-9)
    np.testing.assert_allclose(other[1], one[1], rtol=1e-9)
    value = posterior.log_likelihood(one[0], float(one[1]))
    assert value == pytest.approx(posterior.log_likelihood(r, 12.0), abs=1e-8)


def test_what_normalised_rewards_look_like():
    r = np.random.default_rng(0).dirichlet(np.ones(6), size=(2, 5))
    small, _ = normalise(r, np.ones((2, 5)), "min")
    np.testing.assert_allclose(small.min(axis=-1), 0)
    np.testing.assert_allclose(small.sum(axis=-1), 1)
    direction, _ = normalise(r, np.ones((2, 5)), "direction")
    np.testing.assert_allclose(direction.sum(axis=-1), 0, atol=1e-15)
    np.testing.assert_allclose((direction**2).sum(axis=-1), 1)


def test_a_constant_reward_has_no_direction():
    r, beta = normalise(np.full(4, 0.25), 8.0, "min")
    np.testing.assert_array_equal(r, 0.25)
    assert beta == 0
    r, epsilon = normalise(np.full(4, 0.25), 0.3, "direction", scales=False)
    np.testing.assert_array_equal(r, 0.0)
    assert epsilon == 0.3
    with pytest.raises(InvalidArgument, match="normalise"):
        normalise([1.0, 0.0], 1.0, "max")


# The gradient


@share(0.4)
@given(seed=st.integers(0, 30))
def test_the_gradient_is_that_of_differences(seed):
    _, _, evidence = trajectories(seed)
    posterior = Posterior(evidence)
    r = np.random.default_rng(seed).dirichlet(np.ones(6))
    by_reward, by_beta = posterior.gradient(r, 9.0)
    step = 1e-6
    for s in range(6):
        up, down = r.copy(), r.copy()
        up[s] += step
        down[s] -= step
        sides = [posterior.log_likelihood(x, 9.0) for x in (up, r, down)]
        right, left = (sides[0] - sides[1]) / step, (sides[1] - sides[2]) / step
        if abs(right - left) < 1e-2:  # no kink between
            assert by_reward[s] == pytest.approx((right + left) / 2, abs=1e-3)
    up, down = (posterior.log_likelihood(r, 9.0 + h) for h in (step, -step))
    assert by_beta == pytest.approx((up - down) / (2 * step), abs=1e-4)


def test_along_constants_the_gradient_vanishes():
    _, _, evidence = trajectories()
    by_reward, _ = Posterior(evidence).gradient(np.full(6, 1 / 6) + np.eye(6)[0], 5.0)
    assert by_reward.sum() == pytest.approx(0, abs=1e-10)


# What is refused


def test_rewards_that_are_none_are_named():
    _, _, evidence = trajectories()
    posterior = Posterior(evidence)
    with pytest.raises(InvalidReward, match=r"reward\[s=3\]"):
        posterior.log_likelihood([0.2, 0.2, 0.2, np.nan, 0.2, 0.2], 1.0)
    with pytest.raises(InvalidReward, match="shape"):
        posterior.log_likelihood(np.ones((6, 2, 3)), 1.0)
    with pytest.raises(InvalidArgument, match="family"):
        Posterior(evidence, family=EpsilonGreedyFamily()).gradient(np.full(6, 1 / 6), 0.5)


def test_off_the_simplex_or_the_support_there_is_no_density():
    _, _, evidence = trajectories()
    posterior = Posterior(evidence)
    assert posterior.log_density([2.0, -1.0, 0, 0, 0, 0], 1.0) == -np.inf
    assert posterior.log_density(np.full(6, 0.2), 1.0) == -np.inf
    assert posterior.log_density(np.full(6, 1 / 6), -1.0) == -np.inf


# Priors and families


def test_priors_have_the_densities_of_scipy_and_draw_from_them():
    rng = np.random.default_rng(0)
    assert GammaPrior(3.0, 0.5).log_density(2.0) == pytest.approx(
        stats.gamma.logpdf(2.0, 3.0, scale=2.0)
    )
    draws = [exponential_prior(20.0).draw(rng) for _ in range(2000)]
    assert stats.kstest(draws, stats.expon(scale=20).cdf).pvalue > 0.01
    draws = [UniformPrior(1, 3).draw(rng) for _ in range(2000)]
    assert stats.kstest(draws, stats.uniform(1, 2).cdf).pvalue > 0.01
    draws = np.array([DirichletPrior([1, 2, 5]).draw(3, rng) for _ in range(4000)])
    np.testing.assert_allclose(draws.mean(axis=0), np.array([1, 2, 5]) / 8, atol=0.02)
    assert Known(4.0).draw(rng) == 4.0
    assert (Known(4.0).log_density(4.0), Known(4.0).log_density(3.0)) == (0.0, -np.inf)
    assert UniformPrior(1, 3).log_density(4.0) == -np.inf


@pytest.mark.parametrize(
    "make",
    [
        lambda: DirichletPrior(0.0),
        lambda: DirichletPrior([1.0, np.nan]),
        lambda: DirichletPrior([1.0, 1.0]).shape(3),
        lambda: GammaPrior(0.0, 1.0),
        lambda: GammaPrior(1.0, np.inf),
        lambda: exponential_prior(-1.0),
        lambda: UniformPrior(1.0, 1.0),
        lambda: Known(np.nan),
    ],
)
def test_priors_that_are_none_are_refused(make):
    with pytest.raises(InvalidArgument):
        make()


def test_families_make_the_followers_that_they_score():
    game, _, _ = trajectories()
    r, pi1 = np.random.default_rng(0).dirichlet(np.ones(6)), game.leader_policy({"*": 0})
    for family, parameter in ((BoltzmannFamily(), 8.0), (EpsilonGreedyFamily(), 0.3)):
        assert isinstance(family, FollowerFamily)
        response = family.follower(parameter).respond(game, r, pi1)
        seen = Posterior(Evidence(game).count(pi1, np.ones((6, 3))), family=family)
        expected = np.log(response).sum()
        assert seen.log_likelihood(r, parameter) == pytest.approx(expected, rel=1e-9)
