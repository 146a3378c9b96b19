"""Indifference mixtures: what they cost, and what they do to the follower."""

import numpy as np
import pytest

from iirl_opt.errors import InvalidArgument
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.values import follower_reward, modified_policy_iteration, policy_iteration
from iirl_opt.learn.indifference import indifferent_commitment


def answer(game, pi1, reward):
    return policy_iteration(game.follower_mdp(pi1), follower_reward(game, pi1, reward))


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_one_mixture_makes_two_answers_equally_good(seed, joint):
    game, reward = random_game(10, 3, 3, seed)
    if joint:
        reward = np.random.default_rng(seed).random(game.shape)
    found = indifferent_commitment(game, reward, 100.0, share=1e-9)
    (state,), (pair,) = found.states, found.pairs
    plain = indifferent_commitment(game, reward, 100.0, share=0.0)
    before, after = (answer(game, one.policy, reward).q[state] for one in (plain, found))
    assert pair[0] != pair[1]
    assert abs(np.diff(after[pair])[0]) < 0.02 * abs(np.diff(before[pair])[0])
    assert after.max() - after[pair].max() < 1e-6 + 0.02 * abs(np.diff(before[pair])[0])
    assert np.count_nonzero(found.policy[state]) == 2


@pytest.mark.parametrize("budget", [0.0, 0.01, 0.1, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_cost_is_what_planning_says_and_within_the_budget(seed, budget):
    game, reward = random_game(10, 3, 3, seed)
    found = indifferent_commitment(game, reward, budget)
    best = game.start @ modified_policy_iteration(game, reward).values
    earned = game.start @ answer(game, found.policy, reward).values
    assert found.cost == pytest.approx(best - earned, abs=1e-10)
    assert found.cost <= budget + 1e-12
    assert game.check_leader_policy(found.policy).shape == (10, 3)
    assert np.array_equal(
        np.flatnonzero(np.count_nonzero(found.policy, axis=1) > 1), np.sort(found.states)
    )


def test_a_follower_without_a_choice_is_never_made_indifferent():
    game, reward = random_game(5, 3, 1, 0)
    assert indifferent_commitment(game, reward, 10.0).states.size == 0
    one = TwoAgentMDP(np.ones((1, 2, 2, 1), int), "1/2")
    assert indifferent_commitment(one, [1.0], 10.0).states.size == 0


def test_a_negative_budget_is_refused():
    game, reward = random_game(3, 2, 2, 0)
    with pytest.raises(InvalidArgument, match="budget"):
        indifferent_commitment(game, reward, -1.0)
