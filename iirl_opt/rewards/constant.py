"""Constant rewards: the answer that explains everything and tells nothing.

Every set of rewards that explain observations holds the constants, and a program often ends there:
in an ideal environment a random objective does about half the time. Records whose reward is one say
so by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

__all__ = ["SPREAD", "TELLS_NOTHING", "MaybeConstant", "is_constant"]

Array = NDArray[np.float64]

# A reward is constant when its spread is at most this times its largest entry.
SPREAD = 1e-6

# What a constant answer means, where people read it.
TELLS_NOTHING = "a constant reward, which explains everything and tells nothing"


def is_constant(reward: Array, spread: float = SPREAD) -> bool:
    """Return whether ``max r − min r`` is at most a share of the largest entry, by default 1e-6.

    That is the precision of a reward that a program found; of given numbers 0 asks for equality.
    """
    least, most = float(np.min(reward)), float(np.max(reward))
    return most - least <= spread * max(abs(least), abs(most))


class MaybeConstant(ABC):
    """A record of a reward that was found."""

    @property
    @abstractmethod
    def _reward_found(self) -> Array:
        """The reward."""

    @property
    def constant(self) -> bool:
        """Whether the reward is a constant, up to 1e-6 of its largest entry.

        It explains everything and tells nothing.
        """
        return is_constant(self._reward_found)
