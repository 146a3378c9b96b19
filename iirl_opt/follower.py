"""Response models: how the follower answers a commitment (paper, Section 3.1).

A follower is a small frozen object. `respond` takes the game, the commitment ``π1`` and the reward
that the follower maximises, and returns its policy of shape (S, B). All models here are *local*:
`answer` maps the optimal action values ``Q*_π1(s, ·)`` of the MDP that the commitment leaves to the
follower to what it plays in s, and looks at nothing else:

* `OptimalFollower`: an optimal response; its tie rule is part of the model;
* `EpsilonGreedyFollower`: optimal with probability 1 − ε, else uniform;
* `BoltzmannFollower`: ``π2(b | s) ∝ exp(β Q*(s, b))``;
* `ProportionalFollower`: ``π2(b | s) ∝ f(Q*(s, b))`` for a function f ≥ 0 (Theorem 3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax

from iirl_opt.checks import (
    FUNCTION,
    NOT_NEGATIVE,
    RNG,
    SEED,
    SHARE,
    array_of_floats,
    checked,
    has,
    one_of,
    refuse,
)
from iirl_opt.errors import InvalidArgument
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.optimum import Optimum, follower_action_values, follower_optimum
from iirl_opt.game.policy import as_floats

__all__ = [
    "Affine",
    "BoltzmannFollower",
    "EpsilonGreedyFollower",
    "Exponential",
    "Follower",
    "LocalFollower",
    "OptimalFollower",
    "Power",
    "ProportionalFollower",
    "best_responses",
]

Array = NDArray[np.float64]
Ties = Literal["first", "last", "random", "mix", "all"]
TIES = ("first", "last", "random", "mix", "all")

# What an argument `follower`, or `q` (action values), may be.
FOLLOWER = has("respond", what="a response model")
VALUES = array_of_floats(1, 2, 3, 4, empty=False)


def MASK(name: str, value: Any) -> NDArray[np.bool_]:
    """Return a mask (…, B) of actions, at least one in each state."""
    mask = np.asarray(value)
    if mask.dtype != bool or not mask.ndim or not mask.any(axis=-1).all():
        raise refuse(name, value, "booleans (…, B), one of them true in each state")
    return mask


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
        """Return the play (…, B) at action values q (…, B); values within `tolerance` are tied."""
        ...


@checked(game=GAME)
def best_responses(game: TwoAgentMDP, reward: ArrayLike, pi1: ArrayLike) -> Optimum:
    """Return values (S,), action values (S, B) and all optimal actions of the follower's MDP.

    **Cost** arithmetic: one planning problem with S states and B actions.
    """
    return follower_optimum(game, reward, pi1)


@checked(ties=one_of(*TIES), seed=SEED)
@dataclass(frozen=True)
class OptimalFollower:
    """A follower that maximises its value from every state.

    Parameters
    ----------
    ties : which of several optimal actions it plays: ``"first"`` or ``"last"`` in order;
        ``"random"``, uniform and independent a state; ``"mix"``, all with equal probability;
        ``"all"``, the whole optimal set as a boolean mask (S, B) in place of a policy.
    seed : of ``"random"`` when `respond` is given no generator; then the same commitment gets the
        same answer every time.

    **Source** paper, Section 3.1; the tie rules are ours (the paper's results depend on them).
    """

    ties: Ties = "first"
    seed: int | None = None

    @checked(game=GAME, rng=RNG)
    def respond(
        self,
        game: TwoAgentMDP,
        reward: ArrayLike,
        pi1: ArrayLike,
        rng: int | np.random.Generator | None = None,
    ) -> NDArray[Any]:
        """Return an optimal response (S, B), or the mask of all optimal actions."""
        return self.among(best_responses(game, reward, pi1).optimal, rng)

    @checked(q=VALUES, tolerance=NOT_NEGATIVE, rng=RNG)
    def answer(
        self,
        q: Array,
        tolerance: float = 0.0,
        rng: int | np.random.Generator | None = None,
    ) -> NDArray[Any]:
        """Return the best actions (…, B) at q (…, B), or the mask of all of them."""
        return self.among(q >= q.max(axis=-1, keepdims=True) - tolerance, rng)

    @checked(optimal=MASK, rng=RNG)
    def among(
        self, optimal: NDArray[np.bool_], rng: int | np.random.Generator | None = None
    ) -> NDArray[Any]:
        """Return the play (…, B) by the tie rule among optimal actions, a mask (…, B)."""
        if self.ties == "all":
            return optimal
        if self.ties == "mix":
            return np.asarray(optimal / optimal.sum(axis=-1, keepdims=True))
        if self.ties == "first":
            chosen = optimal.argmax(axis=-1)
        elif self.ties == "last":
            chosen = optimal.shape[-1] - 1 - optimal[..., ::-1].argmax(axis=-1)
        else:
            random = np.random.default_rng(self.seed if rng is None else rng)
            draws = random.random(optimal.shape)
            chosen = np.where(optimal, draws, -1.0).argmax(axis=-1)
        return np.asarray(np.eye(optimal.shape[-1])[chosen])


@checked(epsilon=SHARE, ties=one_of(*TIES[:-1]), seed=SEED)
@dataclass(frozen=True)
class EpsilonGreedyFollower:
    """A follower that plays optimally with probability 1 − ε and uniformly otherwise.

    Parameters
    ----------
    epsilon : 0 ≤ ε ≤ 1.
    ties, seed : as for `OptimalFollower`; ``"all"`` has no meaning here.

    **Source** paper, proof of Lemma 3.
    """

    epsilon: float
    ties: Ties = "first"
    seed: int | None = None

    @checked(game=GAME, rng=RNG)
    def respond(
        self,
        game: TwoAgentMDP,
        reward: ArrayLike,
        pi1: ArrayLike,
        rng: int | np.random.Generator | None = None,
    ) -> NDArray[Any]:
        """Return the ε-greedy response, shape (S, B)."""
        return self.among(best_responses(game, reward, pi1).optimal, rng)

    @checked(q=VALUES, tolerance=NOT_NEGATIVE, rng=RNG)
    def answer(
        self,
        q: Array,
        tolerance: float = 0.0,
        rng: int | np.random.Generator | None = None,
    ) -> Array:
        """Return the ε-greedy play (…, B) at q (…, B)."""
        return self.among(q >= q.max(axis=-1, keepdims=True) - tolerance, rng)

    @checked(optimal=MASK, rng=RNG)
    def among(
        self, optimal: NDArray[np.bool_], rng: int | np.random.Generator | None = None
    ) -> Array:
        """Return the play (…, B) by the tie rule among optimal actions, a mask (…, B)."""
        greedy = OptimalFollower(self.ties, self.seed).among(optimal, rng)
        return np.asarray((1 - self.epsilon) * greedy + self.epsilon / greedy.shape[-1])


@checked(beta=NOT_NEGATIVE)
@dataclass(frozen=True)
class BoltzmannFollower:
    """A follower with ``π2(b | s) ∝ exp(β Q*_π1(s, b))``.

    Parameters
    ----------
    beta : inverse temperature β ≥ 0, in one over the unit of the reward; 0 plays uniformly.

    **Source** paper, Section 3.1; computed in logarithms, so large β overflow nowhere.
    """

    beta: float

    @checked(game=GAME)
    def log_respond(self, game: TwoAgentMDP, reward: ArrayLike, pi1: ArrayLike) -> Array:
        """Return the logarithm of the response, shape (S, B)."""
        return self.log_answer(follower_action_values(game, reward, pi1))

    @checked(q=VALUES)
    def log_answer(self, q: Array) -> Array:
        """Return the logarithm of the play (…, B) at q (…, B)."""
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


@checked(f=FUNCTION)
@dataclass(frozen=True)
class ProportionalFollower:
    """A follower with ``π2(b | s) ∝ f(Q*_π1(s, b))``.

    Parameters
    ----------
    f : a vectorised function with finite values ≥ 0 on the action values, not all zero in a state.
        `Affine`, `Power`, `Exponential` and ``np.exp`` are functions that a certificate can state.

    **Source** paper, Theorem 3, which needs f increasing with f(0) > 0.
    """

    f: Callable[[Array], Array]

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

    def __post_init__(self) -> None:
        if not (np.isfinite(self.constant) and 0 <= self.slope < np.inf):
            raise InvalidArgument("Affine", f"is {self}", "a finite c, and 0 ≤ d < ∞", self)

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

    def __post_init__(self) -> None:
        if not 0 <= self.rate < np.inf:
            raise InvalidArgument("rate", f"is {self.rate}", "0 ≤ c < ∞", self.rate)

    def __call__(self, q: Array) -> Array:
        """Return ``exp(c q)``."""
        return np.exp(self.rate * q)


def _proportions(weights: Array) -> Array:
    """Return weights over their sums, without overflow."""
    shares = weights / weights.max(axis=-1, keepdims=True)
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))
