"""Indifference mixtures: which there are, what they cost, and what they do to the follower."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from instances import games, rewards

from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import modified_policy_iteration, policy_iteration
from iirl_opt.game.reward import follower_reward
from iirl_opt.learn.indifference import cheapest_mixtures, mixed_commitment


def answer(game, pi1, reward):
    return policy_iteration(game.follower_mdp(pi1), follower_reward(game, reward, pi1))


def drawn(seed, joint=False, shape=(10, 3, 3)):
    """A game, a reward and its optimum."""
    game, reward = random_game(*shape, seed)
    if joint:
        reward = np.random.default_rng(seed).random(game.shape)
    return game, reward, modified_policy_iteration(game, reward)


def by_hand(q, own, first):
    """The least loss of all mixtures of two actions in a state that tie two answers, and which."""
    least, found = np.inf, None
    for other in range(q.shape[0]):
        for rival in range(q.shape[1]):
            lead, gain = q[own, first] - q[own, rival], q[other, rival] - q[other, first]
            if lead <= 0 or gain <= 0:
                continue
            share = 1 / (1 + gain / lead)
            mixed = (1 - share) * q[own] + share * q[other]
            if mixed.max() <= mixed[first] + 1e-9 and q[own, first] - mixed[first] < least:
                least, found = q[own, first] - mixed[first], (other, rival, share)
    return least, found


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_mixtures_are_the_cheapest_of_each_state(seed, joint):
    game, _, optimum = drawn(seed, joint)
    found = cheapest_mixtures(game, optimum)
    q = optimum.q.reshape(game.shape)
    own, first = np.divmod(optimum.actions, game.n_follower_actions)
    expected = {}
    for s in range(game.n_states):
        least, mixture = by_hand(q[s], own[s], first[s])
        if mixture:
            expected[s] = (own[s], first[s], *mixture, least)
    assert found.states.tolist() == list(expected)
    for i, s in enumerate(found.states):
        mine, its, other, rival, share, least = expected[s]
        assert (found.own[i], found.answer[i]) == (mine, its)
        assert (found.other[i], found.rival[i]) == (other, rival)
        assert found.share[i] == pytest.approx(share)
        assert found.loss[i] == pytest.approx(least, abs=1e-12)


@given(game=games(leader=(1, 3)), data=st.data())
def test_shares_lie_between_zero_and_one_and_no_loss_is_negative(game, data):
    joint = data.draw(st.booleans())
    reward = data.draw(rewards(game.shape if joint else game.n_states)).astype(float)
    optimum = modified_policy_iteration(game, reward)
    found = cheapest_mixtures(game, optimum)
    assert (found.share > 0).all()
    assert (found.share < 1).all()
    assert (found.loss >= 0).all()
    assert (found.own != found.other).all()
    assert (found.answer != found.rival).all()
    assert np.array_equal(found.states, np.unique(found.states))
    plan = mixed_commitment(game, reward, optimum, found)
    assert game.check_leader_policy(plan.policy).shape == game.shape[:2]
    earned = game.start @ answer(game, plan.policy, reward).values
    assert plan.cost == pytest.approx(float(game.start @ optimum.values - earned), abs=1e-9)


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_one_mixture_makes_two_answers_equally_good(seed, joint):
    game, reward, optimum = drawn(seed, joint)
    mixtures = cheapest_mixtures(game, optimum)
    found = mixed_commitment(game, reward, optimum, mixtures.take(mixtures.loss.argsort()[:1]))
    plain = mixed_commitment(game, reward, optimum, mixtures.take(np.zeros(0, np.int64)))
    (state,), (pair,) = found.states, found.pairs
    before, after = (answer(game, one.policy, reward).q[state] for one in (plain, found))
    gap = abs(np.diff(before[pair])[0])
    assert pair[0] != pair[1]
    assert abs(np.diff(after[pair])[0]) < 0.02 * gap
    assert after.max() - after[pair].max() < 1e-6 + 0.02 * gap
    assert np.count_nonzero(found.policy[state]) == 2


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_many_mixtures_tie_together_far_closer_than_before(seed, joint):
    game, reward, optimum = drawn(seed, joint)
    mixtures = cheapest_mixtures(game, optimum)
    cheap = mixtures.take(np.sort(mixtures.loss.argsort()[:5]))
    found = mixed_commitment(game, reward, optimum, cheap)
    plain = mixed_commitment(game, reward, optimum, mixtures.take(np.zeros(0, np.int64)))
    assert found.states.size >= 3
    before, after = (
        np.take_along_axis(answer(game, one.policy, reward).q[found.states], found.pairs, axis=1)
        for one in (plain, found)
    )
    gaps = [np.abs(np.diff(q, axis=1)).sum() for q in (before, after)]
    assert gaps[1] < 0.02 * gaps[0]


@pytest.mark.parametrize("some", [0, 1, 4, 100])
@pytest.mark.parametrize("seed", range(4))
def test_the_cost_is_what_planning_says(seed, some):
    game, reward, optimum = drawn(seed)
    mixtures = cheapest_mixtures(game, optimum)
    found = mixed_commitment(
        game, reward, optimum, mixtures.take(np.arange(len(mixtures[0])) < some)
    )
    earned = game.start @ answer(game, found.policy, reward).values
    assert found.cost == pytest.approx(game.start @ optimum.values - earned, abs=1e-10)
    assert found.cost >= 0
    assert np.array_equal(
        np.flatnonzero(np.count_nonzero(found.policy, axis=1) > 1), np.sort(found.states)
    )
    assert found.states.size <= some
    if not some:
        assert found.cost == pytest.approx(0, abs=1e-10)


def test_a_single_mixture_is_the_one_of_a_closed_form():
    # From the start the good state comes with these tenths; both others are absorbing.
    tenths = np.array([[8, 1], [1, 4]])
    kernel = np.zeros((3, 2, 2, 3), int)
    kernel[0, ..., 1], kernel[0, ..., 2] = tenths, 10 - tenths
    kernel[1, ..., 1] = kernel[2, ..., 2] = 1
    game, reward = TwoAgentMDP(kernel, "1/10", [1, 0, 0]), np.array([0.0, 1.0, 0.0])
    optimum = modified_policy_iteration(game, reward)
    # Answers tie where 8 − 7θ = 1 + 3θ; 4.9 of the ten are lost, times γ V(good) = 1/9.
    mixtures = cheapest_mixtures(game, optimum)
    assert [part.tolist() for part in mixtures[:5]] == [[0], [0], [1], [0], [1]]
    assert mixtures.share == pytest.approx([0.7])
    assert mixtures.loss == pytest.approx([0.49 / 9])
    found = mixed_commitment(game, reward, optimum, mixtures)
    assert found.policy[0] == pytest.approx([0.3, 0.7])
    assert found.cost == pytest.approx(0.49 / 9)
    assert np.ptp(answer(game, found.policy, reward).q[0]) == pytest.approx(0, abs=1e-12)


def test_a_follower_without_a_choice_is_never_made_indifferent():
    game, _, optimum = drawn(0, shape=(5, 3, 1))
    assert cheapest_mixtures(game, optimum).states.size == 0
    one = TwoAgentMDP(np.ones((1, 2, 2, 1), int), "1/2")
    assert cheapest_mixtures(one, modified_policy_iteration(one, [1.0])).states.size == 0


def test_a_leader_without_a_choice_has_nothing_to_mix():
    game, _, optimum = drawn(0, shape=(5, 1, 3))
    assert cheapest_mixtures(game, optimum).states.size == 0
