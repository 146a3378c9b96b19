"""What an estimate of the reward is worth in other games.

A reward that was learnt with a partner in one game may be used in others over the same states: by
an agent that acts there alone, or a planner of both, who plays what is best for the estimate. What
that loses under the true reward is the *loss elsewhere*. How much a commitment can lose there under
any reward that explains what was seen says `iirl_opt.rewards.regret_elsewhere`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import checked, each
from iirl_opt.errors import InvalidReward
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.optimum import modified_policy_iteration
from iirl_opt.game.reward import REWARD, check_reward
from iirl_opt.game.values import evaluate

__all__ = ["loss_elsewhere"]

Array = NDArray[np.float64]


@checked(games=each(GAME, 1), truth=REWARD, estimate=REWARD)
def loss_elsewhere(games: Sequence[TwoAgentMDP], truth: ArrayLike, estimate: ArrayLike) -> Array:
    """Return what the best play for an estimate loses in each of some games, (k,), in shares of V*.

    Leader and follower play there as one, for the estimate; a game of one agent is
    `TwoAgentMDP.single_agent`. Ties go to the first action.

    Parameters
    ----------
    games : of the same states as the rewards, S.
    truth, estimate : (S,), or (S, A, B) where all games have so many actions.

    Raises
    ------
    InvalidReward
        The optimal value under the truth is not positive in a game, so there is no share of it.

    **Cost** arithmetic: two planning problems a game.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, truth = iirl.random_game(5, 2, 2, rng=1)
    >>> other, _ = iirl.random_game(5, 1, 3, rng=2)
    >>> loss_elsewhere([game, other], truth, 2 * truth + 1).round(9)
    array([0., 0.])
    >>> loss_elsewhere([game, other], truth, -truth).round(2)
    array([0.64, 0.7 ])
    """
    losses = []
    for k, game in enumerate(games):
        given = check_reward(game, estimate, "estimate")
        best = modified_policy_iteration(game, check_reward(game, truth, "truth")).values
        top = float(game.start @ best)
        if not top > 0:
            place = f"truth in games[{k}]"
            raise InvalidReward(place, f"is worth {top:g} at best", "a value > 0", top)
        actions = modified_policy_iteration(game, given).actions
        played = np.eye(game.n_choices)[actions].reshape(game.shape)
        lost = float(game.start @ (best - evaluate(game, truth, played)))
        losses.append(max(lost, 0.0) / top)
    return np.array(losses)
