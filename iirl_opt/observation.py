"""Observations: a commitment and the response it got (paper, Section 3.1, full information).

A response is a follower policy (S, B), or the *whole* set of optimal actions as a boolean mask
(S, B). Either way some actions are known to be optimal: those played with positive probability,
those in the mask. Of the others only a mask says that they are not optimal; since feasible sets
are closed, that shows nowhere but in the ties.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.errors import InvalidObservation
from iirl_opt.game.mdp import TwoAgentMDP

__all__ = ["Observation", "observe"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Observation:
    """One episode as the leader sees it afterwards; make it with `observe`, which checks it.

    Attributes
    ----------
    pi1 : the commitment, shape (S, A).
    pi2 : the response, shape (S, B); uniform over the mask where the whole optimal set was seen.
    played : which actions are known to be optimal, shape (S, B).
    """

    pi1: Array
    pi2: Array
    played: NDArray[np.bool_]


def observe(game: TwoAgentMDP, pi1: ArrayLike, response: ArrayLike) -> Observation:
    """Return a checked observation.

    Parameters
    ----------
    pi1 : commitment, shape (S, A).
    response : policy of shape (S, B), deterministic or stochastic, or a boolean mask (S, B) of all
        optimal actions.

    Raises
    ------
    InvalidPolicy, InvalidObservation
        Names the state: a row that sums to something else, a mask without an action.
    """
    commitment = game.check_leader_policy(pi1)
    answer = np.asarray(response)
    if answer.dtype == bool:
        shape = (game.n_states, game.n_follower_actions)
        if answer.shape != shape:
            raise InvalidObservation("response", f"has shape {answer.shape}", f"{shape}", answer)
        empty = ~answer.any(axis=1)
        if empty.any():
            s = game.states[int(np.argmax(empty))]
            raise InvalidObservation(
                f"response[s={s!r}]", "names no action", "at least one optimal action", s
            )
        answer = answer / answer.sum(axis=1, keepdims=True)
    pi2 = game.check_follower_policy(answer)
    played = pi2 > 0
    for array in (commitment, pi2, played):
        array.flags.writeable = False
    return Observation(commitment, pi2, played)
