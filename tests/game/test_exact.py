"""Exact optima: the same as in floating point and by definition, with every tie decided."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from iirl_opt.claims.arithmetic import exact, kernel_of, leave, optimal_policies
from iirl_opt.errors import InvalidPolicy, InvalidReward
from iirl_opt.follower.optimal import best_responses
from iirl_opt.game.exact import exact_kernel, exact_optimum
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import modified_policy_iteration
from iirl_opt.testing import games, policies, rewards


@given(data=st.data())
def test_the_follower_s_optimal_actions_are_those_of_all_optimal_policies(data):
    game = data.draw(games(max_states=3))
    reward, pi1 = data.draw(rewards(game)), data.draw(policies(game))
    found = exact_optimum(game, reward, pi1)
    problem = leave(kernel_of(game), exact(pi1))
    policies_ = optimal_policies(problem, exact(reward), game.rational.discount)
    assert set(zip(*np.nonzero(found.optimal), strict=True)) == {
        (s, b) for policy in policies_ for s, b in enumerate(policy)
    }
    near = best_responses(game, reward, pi1)
    assert found.values.astype(float) == pytest.approx(near.values, rel=1e-9, abs=1e-9)


@given(data=st.data())
def test_the_joint_optimum_of_any_reward_agrees_with_floating_point(data):
    game = data.draw(games())
    reward = data.draw(arrays(float, game.shape, elements=st.integers(-3, 3).map(float)))
    found, near = exact_optimum(game, reward), modified_policy_iteration(game, reward)
    assert found.values.astype(float) == pytest.approx(near.values, rel=1e-9, abs=1e-9)
    assert np.array_equal(found.optimal.reshape(near.optimal.shape), near.optimal)
    assert found.gaps.shape == game.shape
    assert (found.gaps >= 0).all()


def test_a_difference_below_every_tolerance_is_none_of_a_tie():
    stay, go = [1, 0], [0, 1]
    game = TwoAgentMDP([[[stay, go]], [[go, go]]], "9/10")
    one = np.ones((2, 1), dtype=int)
    for tiny, optimal in [(Fraction(1, 10**30), [False, True]), (Fraction(0), [True, True])]:
        found = exact_optimum(game, [Fraction(1), 1 + tiny], one)
        assert found.optimal[0].tolist() == optimal
        assert found.values.tolist() == [10 + 9 * tiny, 10 + 10 * tiny]


def test_the_kernel_is_the_exact_one():
    game = TwoAgentMDP([[[[1, 2]]], [[[3, 4]]]], "1/2")
    third, seventh = Fraction(1, 3), Fraction(1, 7)
    assert exact_kernel(game).reshape(2, 2).tolist() == [
        [third, 2 * third],
        [3 * seventh, 4 * seventh],
    ]


def test_what_is_no_policy_or_reward_is_refused():
    game = TwoAgentMDP(np.ones((2, 2, 2, 2), dtype=int), "9/10")
    with pytest.raises(InvalidPolicy):
        exact_optimum(game, [0, 1], [[1.0, 0.5], [1.0, 0.0]])
    for reward in ([0.0, np.nan], [0.0], [[1.0, 2.0]]):
        with pytest.raises(InvalidReward):
            exact_optimum(game, reward)
