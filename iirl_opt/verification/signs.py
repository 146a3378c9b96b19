"""Which rewards explain an answer in an ideal environment: decided in exact numbers, by signs.

The rows of an ideal environment are ``D_s = P_b1 − P_b2 = c_s φ_s`` with c_s > 0. All but that of
the hypothesis add to nothing, ``Σ φ_s = 0``, and there is no other dependency among them. As P_b1
leads everywhere alike, the values V of the answer explain it iff in every state

    D_s V ≥ 0 where b1 alone was played, ≤ 0 where others alone were, = 0 where both were.

So the numbers ``y_s = φ_s V`` can be any that add to zero and have these signs. All of them must
vanish iff the signs of the states that are not held at zero are all the same; then V is in the
class of the hypothesis, and so is the reward. If they are not, a state of either sign makes a
reward of another class (`other_reward`). Where they are, `proofs` has the multipliers of the rows,
which combine to every half-space of the class.

Source: paper, Theorem 2; the criterion and both constructions are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from iirl_opt.exact.numbers import Vector, as_fractions
from iirl_opt.observation import Observation
from iirl_opt.rewards.affine import class_rows
from iirl_opt.verification.environments import Environment

__all__ = ["Signs"]

Integers = NDArray[np.int64]


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
