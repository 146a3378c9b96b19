"""A share of the campaign of `exactness`, and twenty games of some hundred states."""

import numpy as np
import pytest
from campaigns.exactness import draw, judge

from iirl_opt.commitment.methods import commit
from iirl_opt.commitment.plans import Guarantee
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower
from iirl_opt.game.exact import exact_optimum
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP


@pytest.mark.parametrize("seed", range(9000, 9030))
def test_what_is_called_exact_is_and_all_is(seed):
    instance = draw(seed)
    plan = instance.plan()
    assert judge(instance, plan) == []
    assert plan.guarantee is Guarantee.EXACT


@pytest.mark.parametrize("discount", ["9/10", "0.999999", "0.9999999999"])
def test_a_game_of_a_hundred_states_is_decided(discount):
    """The joint optimum by the exact policy iteration of the game layer; a penalty is planted."""
    pytest.importorskip("flint", reason="more than 40 states want the extra 'exact'")
    game, reward = random_game(100, 3, 2, rng=1, discount=discount)
    reward = reward.copy()
    reward[7] -= 1e12
    plan = commit(game, reward)
    assert plan.guarantee is Guarantee.EXACT
    exact = exact_optimum(game, reward).values @ np.array(game.rational.start, dtype=object)
    assert plan.value == pytest.approx(float(exact), rel=1e-9)
    assert plan.bound >= float(exact)


def test_a_sparse_game_of_two_thousand_states_is_proved_in_floats():
    game, reward = random_game(2000, 4, 4, rng=0, successors=5)
    plan = commit(game, reward - 1e9 * (np.arange(2000) == 3))
    assert plan.guarantee is Guarantee.EXACT
    assert plan.gap <= 1e-12 * abs(plan.value)


def test_a_penalty_that_nobody_pays_makes_no_ties():
    """Stay, go on or step off, four steps to a prize; off is a state with a penalty of 10^k."""
    kernel = np.zeros((5, 1, 3, 5))
    for s in range(4):
        kernel[s, 0, 0, s] = kernel[s, 0, 1, min(s + 1, 3)] = kernel[s, 0, 2, 4] = 1
    kernel[4, 0, :, 4] = 1
    for power, discount in ((6, 0.999), (9, 0.95), (12, 1 - 1e-10)):
        reward = np.array([0, 0, 0, 1.0, -(10.0**power)])
        game = TwoAgentMDP(kernel, discount)
        for shift in (0.0, 1e12):
            for follower in (OptimalFollower("last"), EpsilonGreedyFollower(0.0, "mix")):
                plan = commit(game, reward + shift, follower=follower, exact=True)
                assert plan.response[:3].argmax(axis=1).tolist() == [1, 1, 1]
                assert plan.guarantee is Guarantee.EXACT
