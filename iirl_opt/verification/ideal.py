"""The ideal environment of Theorem 2, and which rewards explain an answer in it, by signs.

Its rows ``D_s = P_b1 − P_b2 = c_s φ_s``, c_s > 0, are the half-spaces of the class of r: vectors
``φ_1 … φ_{N−2}`` that span ``span(r, 1)^⊥``, minus their sum, and ``w = r − mean(r)``. So b1
everywhere leaves exactly the class of r. But under r both actions are tied in N − 1 states, and a
follower that breaks those ties its own way leaves a larger set: a true hypothesis is confirmed with
probability 2^{−(N−2)} under random ties, and always when all optimal actions are seen.

**Signs.** All φ but w add to nothing, ``Σ φ_s = 0``, and there is no other dependency among them.
As P_b1 leads everywhere alike, the values V of an answer explain it iff in every state

    D_s V ≥ 0 where b1 alone was played, ≤ 0 where others alone were, = 0 where both were.

So the numbers ``y_s = φ_s V`` can be any that add to zero and have these signs. All of them must
vanish iff the signs of the states that are not held at zero are all the same; then V is in the
class of the hypothesis, and so is the reward. If they are not, a state of either sign makes a
reward of another class (`Signs.other_reward`). Where they are, `Signs.proofs` has the multipliers
of the rows, which combine to every half-space of the class.

Sources: paper, Theorem 2 and its proof; the criterion and both constructions of `Signs` are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import checked, unmasked, whole
from iirl_opt.errors import InvalidReward
from iirl_opt.exact.numbers import Vector, as_fractions
from iirl_opt.observation import Observation
from iirl_opt.rewards.affine_rows import class_rows
from iirl_opt.rewards.state_reward import StateReward
from iirl_opt.verification.environment import (
    Environment,
    checked_discount,
    integer_kernel,
    mdp_of,
)

__all__ = ["Signs", "ideal_environment"]

Integers = NDArray[np.int64]


@checked(reward=unmasked(InvalidReward), n_actions=whole(1))
def ideal_environment(reward: ArrayLike, discount: Any, n_actions: int = 2) -> Environment:
    """Return the environment of Theorem 2: b1 everywhere leaves exactly the class of the reward.

    Always rational: a float is the dyadic rational that it is, so a positive factor, or a shift
    that loses no bit, gives the same environment. The basis of ``span(r, 1)^⊥`` is not orthonormal:
    the vector of state s moves its probability to the states of the least and the largest reward,
    in the proportion that keeps the mean reward.

    Parameters
    ----------
    reward : the hypothesis, shape (S,): floats, Fractions or integers. For a constant one N rows
        span the vectors that sum to zero.
    discount : 0 < γ < 1, a float, Fraction or string.
    n_actions : B ≥ 2 (or 1 when S = 1); the actions after the second are copies of it.

    Raises
    ------
    InvalidReward, InvalidArgument

    **Source** paper, proof of Theorem 2. **Cost** arithmetic with S² integers.

    Examples
    --------
    >>> ideal_environment([0, 1, 2], 0.9).kernel[:, 1]
    array([[0.        , 1.        , 0.        ],
           [0.5       , 0.        , 0.5       ],
           [0.66666667, 0.33333333, 0.        ]])
    """
    r = StateReward.of(reward)
    gamma = checked_discount(discount, n_actions, r.size)
    mdp = mdp_of(integer_kernel(class_rows(r)), gamma, n_actions)
    return Environment("ideal", r.floats, mdp, None, Fraction(0), r)


@dataclass(frozen=True, eq=False)
class Signs:
    """What an answer that the hypothesis explains shows in an ideal environment.

    Attributes
    ----------
    environment : an ideal one.
    answer : optimal for the hypothesis.
    """

    environment: Environment
    answer: Observation

    @cached_property
    def tied(self) -> Integers:
        """The states in which the hypothesis ties the actions though they differ."""
        zero = np.asarray(self.environment.exact_gaps[:, -1] == 0)
        return np.flatnonzero(self.environment.telling & zero)

    @cached_property
    def signs(self) -> Integers:
        """1 where b1 alone was played, −1 where others alone were, 0 where both were, (S,)."""
        first, others = self.answer.played[:, 0], self.answer.played[:, 1:].any(axis=1)
        return first.astype(np.int64) - others.astype(np.int64)

    @property
    def only_class(self) -> bool:
        """Whether only the class of the hypothesis explains the answer."""
        shown = self.signs[self.tied]
        return not ((shown > 0).any() and (shown < 0).any())

    @cached_property
    def shares(self) -> Vector:
        """With what probability the answer is another than b1, (S,)."""
        weights = as_fractions(self.answer.pi2)
        return np.asarray(weights[:, 1:].sum(axis=1) / weights.sum(axis=1))

    def other_reward(self) -> Vector:
        """Return a reward (S,) of another class that explains the answer, of size one.

        Its values V have ``φ_s V`` of either sign in a state of either sign, and zero in all other
        tied states; a multiple of the hypothesis is added until b1 is right in the last one.
        """
        r, n = self.environment.exact, self.environment.exact.size
        rows = class_rows(r)
        up, down = (self.tied[self.signs[self.tied] == sign][0] for sign in (1, -1))
        others = [s for s in range(n) if s not in (int(r.steps.argmin()), int(r.steps.argmax()))]
        spread = int(max(r.steps)) or 1
        values = np.full(n, Fraction(0))
        for row, y in ((up, 1), (down, -1)):
            if row < len(others):  # the last of the simplex follows, as the rows add to nothing
                values[others[row]] -= Fraction(y, spread)
        if not r.is_constant:
            along = sum((int(x) * v for x, v in zip(rows[-1], values, strict=True)), Fraction(0))
            square = sum(int(x) * int(x) for x in rows[-1])
            values = values - min(along, Fraction(0)) / square * as_fractions(rows[-1])
        reward = self._reward(values)
        return np.asarray(reward / (max(map(abs, reward)) or 1))

    def _reward(self, values: Vector) -> Vector:
        """Return ``V − γ P_π V`` but for a constant."""
        ahead = self.environment.exact_rows @ values
        return np.asarray(values + self.environment.mdp.rational.discount * self.shares * ahead)

    def proofs(self) -> Iterator[Vector]:
        """Yield for each half-space of the class multipliers (1, S, B) of the answer's gaps.

        They combine the rows ``γ (P_π − P_b) (I − γ P_π)⁻¹`` to those of the environment, as they
        are, without the zero ones. **Cost** arithmetic with S Fractions each.
        """
        environment, gamma = self.environment, self.environment.mdp.rational.discount
        rows, n = environment.exact_rows, environment.exact.size
        sizes = np.abs(class_rows(environment.exact)).max(axis=1)
        scale = np.full(n, Fraction(0))
        for s in self.tied:
            scale[s] = max(map(abs, rows[s])) / int(sizes[s])  # c_s
        shown = self.signs[self.tied]
        sign = int(shown[shown != 0][0]) if shown.any() else 1
        for i in np.flatnonzero(environment.telling):
            # As a sum of rows of values: h·r = h·V + γ Σ_s h_s share_s D_s V.
            weight = gamma * self.shares * rows[i] * environment.telling
            weight[i] += 1
            free = [s for s in self.tied if self.signs[s]]
            lift = max([Fraction(0), *(-sign * weight[s] * scale[s] for s in free)])
            for s in self.tied:
                weight[s] += sign * lift / scale[s]
            yield self._on_pairs(weight)[None]

    def _on_pairs(self, weight: Vector) -> Vector:
        """Return multipliers (S, B) of ``γ (P_π − P_b) V`` that make ``Σ_s weight_s D_s V``."""
        gamma = self.environment.mdp.rational.discount
        out = np.full(self.answer.pi2.shape, Fraction(0))
        for s in np.flatnonzero(weight):
            if self.shares[s] == 1:  # γ (P_π − P_b1) = −γ D_s
                out[s, 0] = -weight[s] / gamma
            else:  # γ (P_π − P_b) = γ (1 − share) D_s, for any other b, and one that was played
                b = 1 + int(self.answer.played[s, 1:].argmax())
                out[s, b] = weight[s] / (gamma * (1 - self.shares[s]))
        return out
