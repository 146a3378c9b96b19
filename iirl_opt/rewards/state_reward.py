"""State rewards up to constants and positive factors, in exact numbers.

Every finite number is a rational, so whether a reward varies, by how much, and in which direction
it points beside the constants has an exact answer, whatever was added to it. Floats are taken from
those answers, each rounded once: they are the same for r, for 2ᵏ r, and for r + c where the sum
loses no bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.errors import InvalidReward
from iirl_opt.exact.numbers import UNREADABLE, Vector, as_fraction

__all__ = ["StateReward"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StateReward:
    """A state reward as exact numbers; make it with `StateReward.of`.

    Attributes
    ----------
    numbers : Fractions, shape (S,).
    """

    numbers: Vector

    @classmethod
    def of(cls, reward: ArrayLike, name: str = "reward") -> StateReward:
        """Return a reward as what its numbers are.

        Raises
        ------
        InvalidReward
            It has another shape than (S,), or holds what is no finite number that floats can be
            near to: names the state.
        """
        if isinstance(reward, StateReward):
            return reward
        if isinstance(reward, Mapping):
            raise InvalidReward(name, "is a mapping", InvalidReward.unlabelled, reward)
        try:
            given = np.asarray(reward)
        except ValueError:
            raise InvalidReward(name, "is ragged", "(S,)", reward) from None
        if given.ndim != 1 or not given.size:
            raise InvalidReward(name, f"has shape {given.shape}", "(S,)", given.shape)
        numbers = np.empty(given.size, dtype=object)
        for s, x in enumerate(given):
            try:
                numbers[s] = as_fraction(x)
                float(numbers[s])
            except UNREADABLE:
                raise InvalidReward(f"{name}[{s}]", f"is {x}", "finite numbers", x) from None
        numbers.flags.writeable = False
        return cls(numbers)

    @property
    def size(self) -> int:
        """The number of states."""
        return int(self.numbers.size)

    @cached_property
    def floats(self) -> Array:
        """The nearest floats, (S,)."""
        out = self.numbers.astype(float)
        out.flags.writeable = False
        return np.asarray(out)

    @cached_property
    def spread(self) -> Fraction:
        """The largest number less the smallest."""
        return Fraction(max(self.numbers) - min(self.numbers))

    @property
    def is_constant(self) -> bool:
        """Whether all numbers are the same."""
        return self.spread == 0

    @cached_property
    def steps(self) -> NDArray[Any]:
        """The reward less its smallest number, in the largest unit that makes all integers."""
        above = (self.numbers - min(self.numbers)).tolist()
        below = math.lcm(*(x.denominator for x in above))
        whole = [x.numerator * (below // x.denominator) for x in above]
        common = math.gcd(*whole) or 1
        out = np.empty(len(whole), dtype=object)
        out[:] = [x // common for x in whole]
        return out

    @cached_property
    def weights(self) -> NDArray[Any]:
        """S times the centred reward, in the unit of `steps`: integers."""
        return np.asarray(self.size * self.steps - self.steps.sum(), dtype=object)

    @cached_property
    def unit(self) -> Array:
        """The centred reward of spread one, or zeros, as floats rounded once, (S,)."""
        over = self.size * max(self.steps) or 1
        return np.array([int(w) / int(over) for w in self.weights])

    @cached_property
    def direction(self) -> Array:
        """The centred reward of length one, or zeros, (S,)."""
        largest = max(map(abs, self.weights)) or 1
        near = np.array([int(w) / int(largest) for w in self.weights])
        return near / (float(np.linalg.norm(near)) or 1.0)

    def is_image(self, other: StateReward, tolerance: float | Fraction = 0) -> bool:
        """Return whether this is ``λ other + c`` with λ > 0; neither is constant.

        Within the tolerance, a share of the spread, of the best such λ.
        """
        own, given = other.weights, self.weights
        square, along = (own * own).sum(), (own * given).sum()
        if along <= 0:
            return False
        allowed = Fraction(tolerance) * self.size * int(max(self.steps)) * square
        return bool(max(map(abs, given * square - own * along)) <= allowed)

    def tan2_to(self, other: StateReward) -> Fraction:
        """Return tan² of the angle to another reward, both centred; the angle is below 90°."""
        one, two = self.weights, other.weights
        along = int((one * two).sum())
        square = int((one * one).sum()) * int((two * two).sum())
        return Fraction(square - along * along, along * along)
