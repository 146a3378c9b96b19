"""Slack: how far a reward violates what was observed.

The *gap* of an action is ``V(s) − Q(s, b)`` under the response: negative where the action would
have been better, and not zero where one that is known to be optimal is worse, or better, than the
response. The *slack* is by how much: zero everywhere iff the reward explains what was observed.
What a unit of it may cost is said by a *price* (`iirl_opt.rewards.price`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["ViolatedRow", "violated_by"]


class ViolatedRow(NamedTuple):
    """An observed action that a reward does not explain.

    Attributes
    ----------
    episode : counted from 1.
    state : label; None of a loss from the start, and of a preference.
    action : the follower action that would have been better, or (when tied) is worse than played;
        None where more is lost than was declared.
    slack : by how much; in the unit of the values.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> known = iirl.FeasibleRewards(game).observe([[1], [1]], [[0, 1], [1, 0]])
    >>> known.violations([1.0, 0.0])
    (ViolatedRow(episode=1, state=0, action=0, slack=0.5),)
    """

    episode: int
    state: Any
    action: Any
    slack: float


def violated_by(gaps: NDArray[Any], played: NDArray[np.bool_]) -> NDArray[Any]:
    """Return by how much gaps ``V − Q`` are below zero, or beside zero where an action is known."""
    return np.asarray(np.where(played, np.abs(gaps), np.maximum(-gaps, 0)))
