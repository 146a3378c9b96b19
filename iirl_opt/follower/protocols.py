"""What a response model is: the methods by which the follower answers a commitment.

`Follower.respond` takes the game, the reward that the follower maximises and the commitment ``π1``,
and returns its policy of shape (S, B). A follower is *local* if what it plays in s is a function,
`answer`, of the optimal action values ``Q*_π1(s, ·)`` of the MDP that the commitment leaves to it.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import array_of_floats, has
from iirl_opt.game.mdp import TwoAgentMDP

__all__ = ["FOLLOWER", "VALUES", "Follower", "LocalFollower"]

Array = NDArray[np.float64]

# What an argument `follower`, or `q` (action values), may be.
FOLLOWER = has("respond", what="a response model")
VALUES = array_of_floats(1, 2, 3, 4, empty=False)


class Follower(Protocol):
    """What every response model does; write your own with this one method."""

    def respond(
        self,
        game: TwoAgentMDP,
        reward: ArrayLike,
        pi1: ArrayLike,
        rng: np.random.Generator | None = None,
    ) -> NDArray[Any]:
        """Return the response to the commitment `pi1` of shape (S, A): a policy (S, B)."""
        ...


@runtime_checkable
class LocalFollower(Follower, Protocol):
    """A follower whose play in a state depends on its optimal action values there alone."""

    def answer(
        self,
        q: Array,
        tolerance: float = 0.0,
        rng: np.random.Generator | None = None,
    ) -> NDArray[Any]:
        """Return the play (…, B) at action values q (…, B); values within `tolerance` tie.

        `tolerance` is absolute, in the unit of q: whoever asks knows the error of q.
        """
        ...
