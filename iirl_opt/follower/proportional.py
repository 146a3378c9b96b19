"""Followers with ``π2(b | s) ∝ f(Q*(s, b))`` for some f ≥ 0 (Theorem 3), and functions f."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import FINITE, FUNCTION, NOT_NEGATIVE, RNG, checked
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.protocols import VALUES
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.optimum import follower_action_values
from iirl_opt.game.policy import as_floats

__all__ = ["Affine", "Exponential", "Power", "ProportionalFollower"]

Array = NDArray[np.float64]


@checked(f=FUNCTION)
@dataclass(frozen=True)
class ProportionalFollower:
    """A follower with ``π2(b | s) ∝ f(Q*_π1(s, b))``.

    Parameters
    ----------
    f : a vectorised function with finite values ≥ 0 on the action values, not all zero in a state.
        `Affine`, `Power`, `Exponential` and ``np.exp`` are functions that a certificate can state.

    **Source** paper, Theorem 3, which needs f increasing with f(0) > 0.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], discount=0.5)
    >>> ProportionalFollower(Affine(constant=1)).respond(game, [0, 1], [[1], [1]])
    array([[0.42857143, 0.57142857],
           [0.5       , 0.5       ]])
    """

    f: Callable[[Array], Array]

    __repr__ = in_brief

    @checked(game=GAME, rng=RNG)
    def respond(
        self,
        game: TwoAgentMDP,
        reward: ArrayLike,
        pi1: ArrayLike,
        rng: int | np.random.Generator | None = None,
    ) -> NDArray[Any]:
        """Return the proportional response, shape (S, B).

        Raises
        ------
        InvalidArgument
            f is negative, not finite, or zero for every action: names the state and action; or its
            values are no array of the shape of Q.
        """
        q = follower_action_values(game, reward, pi1)
        weights = self.weights(q)
        bad = ~np.isfinite(weights) | (weights < 0)
        if bad.any():
            s, b = np.argwhere(bad)[0]
            raise InvalidArgument(
                f"f(Q)[s={game.states[s]!r}, b={game.follower_actions[b]!r}]",
                f"is {weights[s, b]} at Q = {q[s, b]:g}",
                "finite values ≥ 0",
                float(weights[s, b]),
            )
        largest = weights.max(axis=1)
        if (largest == 0).any():
            s = int(np.argmin(largest))
            raise InvalidArgument(
                f"f(Q)[s={game.states[s]!r}]", "is 0 for every action", "a positive sum", 0.0
            )
        return _proportions(weights)

    @checked(q=VALUES)
    def weights(self, q: Array) -> Array:
        """Return f(q) as floats, of the shape of q."""
        weights = as_floats(self.f(q.copy()), "f(Q)", InvalidArgument)
        if weights.shape != q.shape:
            raise InvalidArgument("f(Q)", f"has shape {weights.shape}", f"{q.shape}", weights.shape)
        return weights

    @checked(q=VALUES, tolerance=NOT_NEGATIVE, rng=RNG)
    def answer(
        self, q: Array, tolerance: float = 0.0, rng: int | np.random.Generator | None = None
    ) -> Array:
        """Return the proportional play (…, B) at q (…, B).

        Raises
        ------
        InvalidArgument
            As `respond`; names the action values in place of the state.
        """
        weights = self.weights(q)
        sound = (np.isfinite(weights) & (weights >= 0)).all(axis=-1) & (weights.max(axis=-1) > 0)
        if not sound.all():
            at = tuple(np.argwhere(~sound)[0])
            raise InvalidArgument(
                f"f(Q) at Q = {q[at]}", f"is {weights[at]}", "finite values ≥ 0, not all 0", q[at]
            )
        return _proportions(weights)


@checked(constant=FINITE, slope=NOT_NEGATIVE)
@dataclass(frozen=True)
class Affine:
    """The function ``c + d x`` for a `ProportionalFollower`.

    Parameters
    ----------
    constant, slope : c, and d ≥ 0.

    Examples
    --------
    >>> Affine(1, 2)(np.array([0.0, 3.0]))
    array([1., 7.])
    """

    constant: float = 0
    slope: float = 1

    def __call__(self, q: Array) -> Array:
        """Return ``c + d q``."""
        return np.asarray(self.constant + self.slope * q, dtype=float)


@dataclass(frozen=True)
class Power:
    """The function ``x^k`` for a `ProportionalFollower` whose action values are not negative.

    Parameters
    ----------
    exponent : a whole number, 1 ≤ k ≤ 64.

    Examples
    --------
    >>> Power(2)(np.array([0.0, 3.0]))
    array([0., 9.])
    """

    exponent: int

    def __post_init__(self) -> None:
        if isinstance(self.exponent, bool) or self.exponent not in range(1, 65):
            raise InvalidArgument("exponent", f"is {self.exponent!r}", "1 … 64", self.exponent)

    def __call__(self, q: Array) -> Array:
        """Return ``q^k`` for q ≥ 0, and a negative number for negative q."""
        return np.asarray(np.sign(q) * np.abs(q) ** self.exponent)


@checked(rate=NOT_NEGATIVE)
@dataclass(frozen=True)
class Exponential:
    """The function ``exp(c x)`` for a `ProportionalFollower`: a Boltzmann follower with β = c.

    Parameters
    ----------
    rate : 0 ≤ c < ∞.

    Examples
    --------
    >>> Exponential(2)(np.array([0.0]))
    array([1.])
    """

    rate: float = 1

    def __call__(self, q: Array) -> Array:
        """Return ``exp(c q)``."""
        return np.exp(self.rate * q)


def _proportions(weights: Array) -> Array:
    """Return weights over their sums, without overflow."""
    shares = weights / weights.max(axis=-1, keepdims=True)
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))
