"""One observed episode in exact numbers: what a reward does to the response.

With the policies (π1, π2), the response's chain P and the follower's rows P_b,

    r̄(s, b) = Σ_a π1 r(s, a, b),   V = Σ_b π2 r̄ + γ P V,   gap(s, b) = V − r̄(·, b) − γ P_b V.

A reward explains the response iff no gap is negative. For values v near V that miss their equation
by ρ, ``v − max ρ⁺/(1−γ) ≤ V ≤ v + max ρ⁻/(1−γ)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.certificate.instance import Instance
from iirl_opt.exact.linear import solve
from iirl_opt.exact.numbers import over
from iirl_opt.exact.rows import ExactRows

__all__ = ["ExactEpisode", "combined", "explicit_rows", "on_reward"]

Vector = NDArray[Any]


@dataclass(eq=False)
class ExactEpisode:
    """A commitment (S, A) and a response (S, B) in a game, distributions in Fractions."""

    instance: Instance
    pi1: Vector
    pi2: Vector
    follower: ExactRows = field(init=False)
    chain: ExactRows = field(init=False)

    def __post_init__(self) -> None:
        n_states, _, n_b = self.instance.shape
        self.follower = self.instance.follower(self.pi1)
        self.chain = self.follower.mixed(self.pi2, np.arange(n_states * n_b).reshape(-1, n_b))

    @property
    def discount(self) -> Fraction:
        """The discount γ."""
        return self.instance.discount

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

    def errors(self, reward: Vector, values: Vector) -> Vector:
        """Return ``V − r̄ − γ P V``, (S,): zero for the values of the response."""
        onward = self.discount * self.chain.times(values)
        return np.asarray(values - self.mean(reward) - onward)

    def gaps(self, reward: Vector, values: Vector) -> Vector:
        """Return ``V(s) − Q(s, b)``, (S, B)."""
        onward = self.discount * self.follower.times(values).reshape(self.pi2.shape)
        return np.asarray(values[:, None] - self.own(reward) - onward)


def combined(episode: ExactEpisode, weights: Vector, values: Vector) -> Vector:
    """Return ``γ Dᵀ y − (I − γP)ᵀ z``, (S,)."""
    n_b = episode.pi2.shape[1]
    by_state: dict[int, Fraction] = {s: values[s] for s in np.flatnonzero(values).tolist()}
    parts = []
    for i in np.flatnonzero(weights).tolist():
        by_state[i // n_b] = by_state.get(i // n_b, Fraction(0)) + weights[i]
        parts.append((-weights[i], episode.follower, i))
    parts += [(weight, episode.chain, s) for s, weight in by_state.items()]
    # Sums of rows in integers over one denominator.
    shares = [weight / int(rows.denominators[i]) for weight, rows, i in parts]
    below = math.lcm(*(share.denominator for share in shares))
    total = [0] * len(values)
    for share, (_, rows, i) in zip(shares, parts, strict=True):
        factor = share.numerator * (below // share.denominator)
        span = slice(rows.indptr[i], rows.indptr[i + 1])
        for j, n in zip(rows.indices[span].tolist(), rows.numerators[span].tolist(), strict=True):
            total[j] += factor * n
    gamma = episode.discount
    return (
        over((gamma.numerator * n for n in total), repeat(gamma.denominator * below, len(total)))
        - values
    )


def on_reward(episode: ExactEpisode, weights: Vector, values: Vector, joint: bool) -> Vector:
    """Return ``Cᵀ y + R̄ᵀ z``, over state rewards (S,) or joint ones (S·A·B,)."""
    if not joint:
        return values
    y = weights.reshape(episode.pi2.shape)
    each = (y.sum(axis=1) + values)[:, None] * episode.pi2 - y
    return np.asarray((episode.pi1[:, :, None] * each[:, None, :]).ravel())


def explicit_rows(
    episode: ExactEpisode, wanted: NDArray[np.int64], *, joint: bool
) -> tuple[Vector, Vector]:
    """Return conditions over the reward alone, and the multipliers z that eliminate the values.

    Parameters
    ----------
    wanted : positions of gaps, ``s·B + b``.

    Returns
    -------
    rows : (m, S) or (m, S·A·B): Corollary 1 as printed, with the factor γ.
    through : (m, S).

    Raises
    ------
    NotExact
        There are more than 40 states and python-flint is not installed.
    """
    n_states, n_b = episode.pi2.shape
    weights = np.full((len(wanted), n_states * n_b), Fraction(0), dtype=object)
    weights[np.arange(len(wanted)), wanted] = Fraction(1)
    nothing = np.full(n_states, Fraction(0), dtype=object)
    right = np.array([combined(episode, y, nothing) for y in weights], dtype=object)
    through = right = right.reshape(-1, n_states)
    # Rows that the chain maps to zero, as where every state leads on alike, need no solution.
    if any(episode.chain.transposed(row).any() for row in right):
        system = np.eye(n_states, dtype=int) - episode.discount * episode.chain.dense()
        found = solve(system.T, right.T)
        assert found is not None  # I − γP is never singular
        through = found.T
    pairs = zip(weights, through, strict=True)
    rows = [on_reward(episode, y, z, joint) for y, z in pairs]
    width = n_states * episode.pi1.shape[1] * n_b if joint else n_states
    return np.array(rows, dtype=object).reshape(-1, width), through
