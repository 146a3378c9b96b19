"""One observed episode in the arithmetic of a check: what a reward does to the response.

With the policies (π1, π2), the response's chain P and the follower's rows P_b,

    r̄(s, b) = Σ_a π1 r(s, a, b),   V = Σ_b π2 r̄ + γ P V,   gap(s, b) = V − r̄(·, b) − γ P_b V.

A reward explains the response iff no gap is negative and those of played actions are zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.certificate.instance import Numbers, largest
from iirl_opt.exact.linear import solve

__all__ = ["Episode", "combined", "explicit_rows", "on_reward", "policy_residuals"]

Vector = NDArray[Any]


def policy_residuals(name: str, policy: Vector) -> dict[str, Any]:
    """Return how far an array (…, S, n) is from policies."""
    return {
        f"{name} sums to one": largest(np.abs(policy.sum(axis=-1) - 1)),
        f"{name} is not negative": largest(-policy),
    }


@dataclass(eq=False)
class Episode:
    """A commitment (S, A) and a response (S, B) in a game, in one arithmetic."""

    numbers: Numbers
    pi1: Vector
    pi2: Vector
    follower: Any = field(init=False)
    chain: Any = field(init=False)

    def __post_init__(self) -> None:
        n_states, _, n_b = self.numbers.shape
        self.follower = self.numbers.follower(self.pi1)
        self.chain = self.follower.mixed(self.pi2, np.arange(n_states * n_b).reshape(-1, n_b))

    @property
    def played(self) -> NDArray[np.bool_]:
        """Which actions the response plays, (S, B): they are known to be optimal."""
        return np.asarray(self.pi2 > 0, dtype=bool)

    def own(self, reward: Vector) -> Vector:
        """Return r̄(s, b), (S, B) or (S, 1), of a reward (S,) or (S, A, B)."""
        if reward.ndim == 1:
            return reward[:, None]
        return np.asarray((self.pi1[:, :, None] * reward).sum(axis=1))

    def mean(self, reward: Vector) -> Vector:
        """Return ``Σ_b π2 r̄``, (S,)."""
        if reward.ndim == 1:
            return reward
        return np.asarray((self.pi2 * self.own(reward)).sum(axis=1))

    def values(self, reward: Vector) -> Vector:
        """Return the values (S,) of the response."""
        size = self.numbers.shape[0]
        system = np.eye(size, dtype=int) - self.numbers.discount * self.chain.dense()
        if not self.numbers.exact:
            return np.linalg.solve(system, self.mean(reward))
        found = solve(system, self.mean(reward))
        assert found is not None  # I − γP is never singular
        return found

    def errors(self, reward: Vector, values: Vector) -> Vector:
        """Return ``V − r̄ − γ P V``, (S,): zero for the values of the response."""
        onward = self.numbers.discount * self.chain.times(values)
        return np.asarray(values - self.mean(reward) - onward)

    def gaps(self, reward: Vector, values: Vector) -> Vector:
        """Return ``V(s) − Q(s, b)``, (S, B)."""
        onward = self.numbers.discount * self.follower.times(values).reshape(self.pi2.shape)
        return np.asarray(values[:, None] - self.own(reward) - onward)


def combined(episode: Episode, weights: Vector, values: Vector) -> Vector:
    """Return ``γ Dᵀ y − (I − γP)ᵀ z``, (S,)."""
    by_state = weights.reshape(episode.pi2.shape).sum(axis=1)
    onward = episode.chain.transposed(by_state + values) - episode.follower.transposed(weights)
    return np.asarray(episode.numbers.discount * onward - values)


def on_reward(episode: Episode, weights: Vector, values: Vector, joint: bool) -> Vector:
    """Return ``Cᵀ y + R̄ᵀ z``, over state rewards (S,) or joint ones (S·A·B,)."""
    if not joint:
        return values
    y = weights.reshape(episode.pi2.shape)
    each = (y.sum(axis=1) + values)[:, None] * episode.pi2 - y
    return np.asarray((episode.pi1[:, :, None] * each[:, None, :]).ravel())


def explicit_rows(
    episode: Episode, wanted: NDArray[np.int64], *, joint: bool
) -> tuple[Vector, Vector]:
    """Return conditions over the reward alone, and the multipliers z that eliminate the values.

    Parameters
    ----------
    wanted : positions of gaps, ``s·B + b``.

    Returns
    -------
    rows : (m, S) or (m, S·A·B): Corollary 1 as printed, with the factor γ.
    through : (m, S).
    """
    n = episode.numbers
    n_states, n_b = episode.pi2.shape
    one = Fraction(1) if n.exact else 1.0
    zero = Fraction(0) if n.exact else 0.0
    weights = np.full((len(wanted), n_states * n_b), zero, dtype=object if n.exact else float)
    weights[np.arange(len(wanted)), wanted] = one
    nothing = np.full(n_states, zero, dtype=weights.dtype)
    right = np.array([combined(episode, y, nothing) for y in weights]).reshape(-1, n_states)
    # Rows that the chain maps to zero, as where every state leads on alike, need no solution.
    onward = [episode.chain.transposed(row) for row in right] if n.exact else [np.ones(1)]
    through = right
    if any(x.any() for x in onward):
        system = np.eye(n_states, dtype=int) - n.discount * episode.chain.dense()
        found = solve(system.T, right.T) if n.exact else np.linalg.solve(system.T, right.T)
        assert found is not None  # I − γP is never singular
        through = found.T
    pairs = zip(weights, through, strict=True)
    rows = [on_reward(episode, y, z, joint) for y, z in pairs]
    width = n_states * n.shape[1] * n.shape[2] if joint else n_states
    return np.array(rows, dtype=weights.dtype).reshape(-1, width), through
