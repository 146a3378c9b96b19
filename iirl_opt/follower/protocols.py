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
    """What every response model does; write your own with this one method.

    Examples
    --------
    >>> class Lazy:  # plays its first action whatever the leader has committed to
    ...     def respond(self, game, reward, pi1, rng=None):
    ...         return np.eye(game.n_follower_actions)[np.zeros(game.n_states, dtype=int)]
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], discount=0.5)
    >>> Lazy().respond(game, [0, 1], [[1], [1]])
    array([[1., 0.],
           [1., 0.]])
    """

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
    """A follower whose play in a state depends on its optimal action values there alone.

    Examples
    --------
    >>> from iirl_opt.follower import BoltzmannFollower
    >>> follower = BoltzmannFollower(beta=np.log(3))
    >>> isinstance(follower, LocalFollower)
    True
    >>> follower.answer(np.array([0.0, 1.0]))
    array([0.25, 0.75])
    """

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
