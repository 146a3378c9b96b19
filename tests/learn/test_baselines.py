"""Baselines: the optimality conditions of each, and what a fixed environment learns."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.policy import random_policy
from iirl_opt.learn.algorithm_1 import InteractiveIRL
from iirl_opt.learn.baselines import (
    FixedEnvironment,
    MaximumEntropy,
    MaxMargin,
    RandomReward,
    soft_values,
)
from iirl_opt.learn.episodes import interact
from iirl_opt.rewards.feasible import FeasibleRewards


def seen(seed, response=None):
    game, truth = random_game(6, 2, 3, seed)
    rng = np.random.default_rng(seed)
    feasible = FeasibleRewards(game)
    for _ in range(2):
        pi1 = random_policy(6, 2, rng)
        feasible = feasible.observe(pi1, OptimalFollower("mix").respond(game, truth, pi1))
    return feasible, truth


@pytest.mark.parametrize("seed", range(4))
def test_the_margin_is_positive_where_one_exists(seed):
    feasible, _ = seen(seed)
    found = MaxMargin().choose(feasible, np.random.default_rng(0))
    assert feasible.contains(found.reward, tolerance=1e-7)
    assert found.evidence.value > 1e-6
    assert np.ptp(found.reward) > 1e-3


@pytest.mark.parametrize("scale", [0.0, 1.0, 100.0])
def test_soft_values_are_a_fixed_point_and_near_the_maximum_for_large_rewards(scale):
    game, truth = random_game(8, 2, 3, 0)
    mdp = game.follower_mdp(random_policy(8, 2, np.random.default_rng(0)))
    values, q = soft_values(mdp, scale * truth)
    again = scale * truth[:, None] + 0.9 * (mdp.matrix @ values).reshape(8, 3)
    assert q == pytest.approx(again, rel=1e-9, abs=1e-9)
    assert values == pytest.approx(np.log(np.exp(q - q.max()).sum(axis=1)) + q.max(), rel=1e-9)
    hard = q.max(axis=1)
    assert (values >= hard).all()
    assert (values <= hard + np.log(3) + 1e-9).all()


@pytest.mark.parametrize("seed", range(3))
def test_maximum_entropy_is_stationary_for_the_penalised_likelihood(seed):
    feasible, _ = seen(seed)
    game = feasible.game

    def loss(r):
        total = 0.05 * r @ r
        for o in feasible.observations:
            mdp = game.follower_mdp(o.pi1)
            v, q = soft_values(mdp, r)
            visits = np.linalg.solve(np.eye(6) - 0.9 * np.asarray(mdp.chain(o.pi2)).T, game.start)
            total -= visits @ (o.pi2 * (q - v[:, None])).sum(axis=1)
        return total

    found = MaximumEntropy(0.1).choose(feasible, np.random.default_rng(0))
    assert np.abs(approx_fprime(found.evidence.x, loss, 1e-6)).max() < 1e-3
    assert found.reward.mean() == pytest.approx(0, abs=1e-12)


def test_maximum_entropy_needs_a_penalty():
    with pytest.raises(InvalidArgument, match="penalty"):
        MaximumEntropy(0.0)


def test_a_random_reward_looks_at_nothing():
    one, two = seen(0)[0], FeasibleRewards(seen(0)[0].game)
    draws = [RandomReward().choose(f, np.random.default_rng(3)).reward for f in (one, two)]
    assert np.array_equal(*draws)


def test_in_a_fixed_environment_only_the_first_answer_teaches():
    game, truth = random_game(8, 3, 3, 2)
    learner = FixedEnvironment(InteractiveIRL(game, choice=MaxMargin()))
    episodes = list(interact(learner, truth, 4))
    last = episodes[-1].learner
    assert len(last.learner.known.episodes) == 1
    assert len(last.history) == 4 == last.episode
    assert last.learner.known.contains(truth)
    plays = [o.pi1 for o in last.history]
    assert np.array_equal(plays[1], plays[2])
    assert np.array_equal(plays[2], plays[3])
    assert episodes[1].regret == episodes[3].regret
    assert np.array_equal(last.estimate(), episodes[0].learner.estimate())
