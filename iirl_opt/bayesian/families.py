"""Families of followers: response models with one unknown number (paper, Section 5.1).

A family says what a follower of parameter θ plays in a state where the optimal action values are
``Q*(s, ·)``, in logarithms, and makes that follower for planning. Here are:

* `BoltzmannFamily`: ``π2(b | s) ∝ exp(β Q*(s, b))`` with unknown β ≥ 0;
* `EpsilonGreedyFamily`: optimal with probability 1 − ε, else uniform, with unknown ε in [0, 1];
* `SoftOptimalFamily`: reward plus entropy is maximised, at an unknown temperature 1/β. It plans for
  its own play, which is no function of Q*.

Your own family is any object with the members of `FollowerFamily`; one that plans for its own play
has `SoftOptimalFamily.log_planned` beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from iirl_opt.checks import NOT_NEGATIVE, SHARE, checked, has
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower
from iirl_opt.follower.protocols import VALUES, Follower
from iirl_opt.follower.soft import SoftOptimalFollower, soft_log_play

__all__ = ["BoltzmannFamily", "EpsilonGreedyFamily", "FollowerFamily", "SoftOptimalFamily"]

Array = NDArray[np.float64]


@runtime_checkable
class FollowerFamily(Protocol):
    """What the posterior asks of a family of followers.

    Attributes
    ----------
    parameter : the name of the unknown number, for records and plots.
    scales : whether it is in one over the unit of the reward, so that ``(λ r + c, θ/λ)`` is the
        same follower as ``(r, θ)`` for every λ > 0; otherwise ``(λ r + c, θ)`` must be.
    bounds : the smallest and the largest number that a follower of the family can have.

    Examples
    --------
    >>> class Careful(EpsilonGreedyFamily):  # your own: errs in one step of ten at most
    ...     bounds = (0.0, 0.1)
    >>> from iirl_opt.bayesian import Evidence, Posterior
    >>> from iirl_opt.game.generate import random_game
    >>> game, _ = random_game(3, 2, 2, rng=0)
    >>> isinstance(Careful(), FollowerFamily), Posterior(Evidence(game), Careful()).support
    (True, (0.0, 0.1))
    """

    @property
    def parameter(self) -> str: ...

    @property
    def scales(self) -> bool: ...

    @property
    def bounds(self) -> tuple[float, float]: ...

    def log_answer(self, q: Array, parameter: float, tolerance: float) -> Array:
        """Return log-probabilities (n, B) at action values (n, B); within `tolerance` are ties.

        −∞ is an answer that this follower never gives.
        """
        ...

    def follower(self, parameter: float) -> Follower:
        """Return the follower of this parameter."""
        ...


# What an argument `family` may be.
FAMILY = has("log_answer", "follower", "scales", what="a family of followers")


@dataclass(frozen=True)
class BoltzmannFamily:
    """Boltzmann-rational followers with unknown inverse temperature β.

    **Source** paper, Section 5.1. The second line of its likelihood drops the normalising constant,
    which depends on reward and β; here it is kept.

    Examples
    --------
    >>> family = BoltzmannFamily()
    >>> np.exp(family.log_answer(np.array([[0.0, 1.0]]), 2.0)).round(3)  # of Q = 0, 1; β = 2
    array([[0.119, 0.881]])
    >>> family.follower(2.0)
    BoltzmannFollower(beta=2.0)
    """

    parameter = "beta"
    scales = True
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)

    @checked(q=VALUES, parameter=NOT_NEGATIVE, tolerance=NOT_NEGATIVE)
    def log_answer(self, q: Array, parameter: float, tolerance: float = 0.0) -> Array:
        """Return ``β Q(s, b) − log Σ_b' exp(β Q(s, b'))``, shape (n, B)."""
        with np.errstate(
            over="ignore"
        ):  # a product below what floats hold is −∞, and that is right
            below = parameter * (q - q.max(axis=-1, keepdims=True))
        return np.asarray(log_softmax(below, axis=-1))

    @checked(parameter=NOT_NEGATIVE)
    def follower(self, parameter: float) -> Follower:
        """Return `BoltzmannFollower` of this β."""
        return BoltzmannFollower(float(parameter))


@dataclass(frozen=True)
class EpsilonGreedyFamily:
    """Followers that play optimally with probability 1 − ε and uniformly else; ties are mixed.

    **Source** paper, Section 5.1, footnote, and the proof of Lemma 3.

    Examples
    --------
    >>> family = EpsilonGreedyFamily()
    >>> np.exp(family.log_answer(np.array([[0.0, 1.0]]), 0.2)).round(3)  # of Q = 0, 1; ε = 0.2
    array([[0.1, 0.9]])
    >>> family.follower(0.2)
    EpsilonGreedyFollower(epsilon=0.2, ties='mix', seed=None)
    """

    parameter = "epsilon"
    scales = False
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    @checked(q=VALUES, parameter=SHARE, tolerance=NOT_NEGATIVE)
    def log_answer(self, q: Array, parameter: float, tolerance: float = 0.0) -> Array:
        """Return ``log((1 − ε) [b optimal] / #optimal + ε / B)``, shape (n, B)."""
        best = q >= q.max(axis=-1, keepdims=True) - tolerance
        chances = (1 - parameter) * best / best.sum(axis=-1, keepdims=True)
        with np.errstate(divide="ignore"):  # log 0 = −∞ is right
            return np.asarray(np.log(chances + parameter / q.shape[-1]))

    @checked(parameter=SHARE)
    def follower(self, parameter: float) -> Follower:
        """Return `EpsilonGreedyFollower` of this ε that mixes its ties."""
        return EpsilonGreedyFollower(min(max(float(parameter), 0.0), 1.0), ties="mix")


@dataclass(frozen=True)
class SoftOptimalFamily:
    """Soft-optimal followers with unknown inverse temperature β = 1/λ.

    They maximise reward plus λ times entropy, and so plan for their own play: the likelihood of a
    reward takes soft planning (`log_planned`), some linear systems a commitment. β is in one over
    the unit of the reward, as a Boltzmann follower's; a temperature that is known is the prior
    ``Known(1 / λ)``.

    **Source** Ziebart, Bagnell & Dey 2010; `iirl_opt.follower.SoftOptimalFollower`.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, truth = iirl.random_game(4, 2, 2, rng=0)
    >>> family, pi1 = SoftOptimalFamily(), [[1, 0]] * 4
    >>> seen = family.follower(2.0).respond(game, truth, pi1)
    >>> known = iirl.Posterior(iirl.bayesian.Evidence(game).respond(pi1, seen, weight=9.0), family)
    >>> likelihood = [known.log_likelihood(truth, beta) for beta in (1.0, 2.0, 4.0)]
    >>> likelihood.index(max(likelihood))
    1
    """

    parameter = "beta"
    scales = True
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)

    @checked(q=VALUES, parameter=NOT_NEGATIVE, tolerance=NOT_NEGATIVE)
    def log_answer(self, q: Array, parameter: float, tolerance: float = 0.0) -> Array:
        """Return the logarithm of the play at *soft* action values (n, B), of the follower's own.

        At Q* it is the Boltzmann follower's.
        """
        return BoltzmannFamily().log_answer(q, parameter, tolerance)

    @checked(q=VALUES, discount=SHARE, parameter=NOT_NEGATIVE)
    def log_planned(self, kernel: Any, discount: float, q: Array, parameter: float) -> Array:
        """Return the logarithm of the play (S, B) in a problem of which Q* is known.

        Parameters
        ----------
        kernel : (S·B, S), with row ``s·B + b``.
        q : Q*, shape (S, B), by which the reward is known, too.
        """
        reward = q - (discount * (kernel @ q.max(axis=1))).reshape(q.shape)
        return soft_log_play(kernel, discount, parameter * reward)

    @checked(parameter=NOT_NEGATIVE)
    def follower(self, parameter: float) -> Follower:
        """Return `SoftOptimalFollower` of the temperature 1/β; of β = 0 what plays uniformly."""
        return SoftOptimalFollower(1 / parameter) if parameter else BoltzmannFollower(0.0)
