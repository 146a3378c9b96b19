"""The Boltzmann-rational follower, ``π2(b | s) ∝ exp(β Q*(s, b))``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import NOT_NEGATIVE, RNG, checked
from iirl_opt.follower.protocols import VALUES
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.optimum import follower_action_values

__all__ = ["BoltzmannFollower"]

Array = NDArray[np.float64]


@checked(beta=NOT_NEGATIVE)
@dataclass(frozen=True)
class BoltzmannFollower:
    """A follower with ``π2(b | s) ∝ exp(β Q*_π1(s, b))``.

    ``Q*`` is of optimal play: it errs, and does not expect to err later. One that plans for its own
    noise is the `SoftOptimalFollower`, another partner with other answers.

    Parameters
    ----------
    beta : inverse temperature β ≥ 0, in one over the unit of the reward; 0 plays uniformly.

    **Source** paper, Section 3.1; computed in logarithms, so large β overflow nowhere.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], discount=0.5)
    >>> BoltzmannFollower(beta=2.0).respond(game, [0, 1], [[1], [1]]).round(3)
    array([[0.269, 0.731],
           [0.5  , 0.5  ]])
    """

    beta: float

    @checked(game=GAME)
    def log_respond(self, game: TwoAgentMDP, reward: ArrayLike, pi1: ArrayLike) -> Array:
        """Return the logarithm of the response, shape (S, B)."""
        return self.log_answer(follower_action_values(game, reward, pi1))

    @checked(q=VALUES)
    def log_answer(self, q: Array) -> Array:
        """Return the logarithm of the play (…, B) at q (…, B)."""
        from scipy.special import log_softmax  # a tenth of a second, which who only plans saves

        with np.errstate(over="ignore"):  # β times what an action is worse by: −∞ is right
            below = self.beta * (q - q.max(axis=-1, keepdims=True))
        return np.asarray(log_softmax(below, axis=-1))

    @checked(q=VALUES, tolerance=NOT_NEGATIVE, rng=RNG)
    def answer(
        self, q: Array, tolerance: float = 0.0, rng: int | np.random.Generator | None = None
    ) -> Array:
        """Return the Boltzmann-rational play (…, B) at q (…, B)."""
        return np.exp(self.log_answer(q))

    @checked(game=GAME, rng=RNG)
    def respond(
        self,
        game: TwoAgentMDP,
        reward: ArrayLike,
        pi1: ArrayLike,
        rng: int | np.random.Generator | None = None,
    ) -> NDArray[Any]:
        """Return the Boltzmann-rational response, shape (S, B)."""
        return np.exp(self.log_respond(game, reward, pi1))
