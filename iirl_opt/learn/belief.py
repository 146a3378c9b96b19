"""What the active learner believes: rows, their centre, the optimum there and what it doubts.

All of it follows from the rows. A belief that nothing new joins is the same belief, so an episode
that teaches nothing costs nothing here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import Optimum, modified_policy_iteration
from iirl_opt.learn.information import Outlook, look_ahead
from iirl_opt.rewards.centre import Centre, analytic_centre
from iirl_opt.rewards.unit_rows import UnitRows

__all__ = ["Belief"]

Array = NDArray[np.float64]

# The truth is thought to be normal around the centre, so many times as wide as the barrier is.
WIDTH = 3.0

# Rows held in the barrier, as a multiple of the states, and the accuracy of the centre.
HELD, ACCURACY = 2.5, 1e-3


@dataclass(frozen=True, eq=False)
class Belief:
    """Rows of rewards with what follows from them.

    Attributes
    ----------
    game, rows : what is known.
    price : of violating a row by one unit.
    near : the centre of the rows before the last ones.
    """

    game: TwoAgentMDP
    rows: UnitRows
    price: float
    near: Centre | None = None

    def joined(self, rows: Array) -> Belief:
        """Return the belief that unit rows (m, S) are known as well; itself if they were."""
        more = self.rows.joined(rows)
        return self if more is self.rows else replace(self, rows=more, near=self.centre)

    @cached_property
    def centre(self) -> Centre | None:
        """The analytic centre of the rows, or None while there are none."""
        if not len(self.rows):
            return None
        return analytic_centre(
            self.rows.array,
            price=self.price,
            tolerance=ACCURACY,
            near=self.near,
            keep=int(HELD * self.game.n_states) + 1,
        )

    @property
    def estimate(self) -> Array | None:
        """The estimate (S,) in the simplex; None while only constants are known."""
        if self.centre is None or self.centre.constant:
            return None
        return self.centre.point

    @cached_property
    def optimum(self) -> Optimum | None:
        """The joint optimum of the estimate."""
        reward = self.estimate
        return None if reward is None else modified_policy_iteration(self.game, reward)

    @cached_property
    def outlook(self) -> Outlook | None:
        """What is expected of the optimum, and what would tell more."""
        if self.optimum is None or self.centre is None:
            return None
        return look_ahead(self.game, self.optimum, WIDTH * self.centre.root())
