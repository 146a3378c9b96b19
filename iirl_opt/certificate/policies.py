"""Proofs that a joint policy, or a commitment with its response, is not optimal.

Another policy is worth more from some state. Both are evaluated: values that violate
``V = r_π + γ P_π V`` by ρ are wrong by at most ρ/(1−γ), which the gain takes into account.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from iirl_opt.certificate.check import Conditions, positive
from iirl_opt.certificate.form import down
from iirl_opt.certificate.record import Certificate

__all__ = ["PolicyImprovement", "mean_reward"]

# Objects that are Fractions.
Vector = NDArray[Any]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PolicyImprovement(Certificate):
    """A joint policy is not optimal: another is worth more from a state.

    Attributes
    ----------
    reward : (S,) or (S, A, B).
    old, new : the joint policies, weights (S, A, B).
    old_values, new_values : near their values, (S,).
    state : position of a state.
    gain : how much more the new one is worth there, at least.

    Examples
    --------
    >>> from iirl_opt.game.mdp import TwoAgentMDP
    >>> from iirl_opt.occupancy import policy_improvement
    >>> stay, go = [1, 0], [0, 1]
    >>> game = TwoAgentMDP([[[stay, go]], [[go, go]]], discount="1/2", start=[1, 0])
    >>> stays, goes = ([[1], [1]], [[1, 0], [1, 0]]), ([[1], [1]], [[0, 1], [1, 0]])
    >>> proof = policy_improvement(game, [0, 1], stays, goes)
    >>> print(proof.claim)
    the old policy is not optimal: from 0 the new one is worth at least 1 more
    """

    kind: ClassVar[str] = "policy improvement"
    theorem: ClassVar[str] = "evaluation of both policies"
    forms: ClassVar[Mapping[str, str]] = {
        "reward": "array",
        "old": "weights",
        "new": "weights",
        "old_values": "array",
        "new_values": "array",
        "state": "integer",
        "gain": "number",
    }

    reward: Vector
    old: Vector
    new: Vector
    old_values: Vector
    new_values: Vector
    state: int
    gain: Fraction

    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        shape = self.instance.shape
        one = shape[:1]
        return {
            "reward": shape if self.reward.ndim == 3 else one,
            "old": shape,
            "new": shape,
            "old_values": one,
            "new_values": one,
        }

    def _flat(self, name: str, value: Vector) -> Vector:
        return value.reshape(len(value), -1)

    def _misfits(self) -> list[str]:
        outside = [] if 0 <= self.state < self.instance.shape[0] else ["state is none"]
        return super()._misfits() + outside

    def _words(self) -> str:
        return (
            f"the old policy is not optimal: from {self.instance.states[self.state]} the new one "
            f"is worth at least {down(self.gain)} more"
        )

    def proved(self) -> Fraction:
        """Return the largest `gain` that the other numbers prove."""
        doubt = Fraction(0)
        for name, values, sign in (("old", self.old_values, -1), ("new", self.new_values, 1)):
            policy = self.shares(name)
            chain = self.instance.chain(policy)
            ahead = mean_reward(self.reward, policy) + self.instance.discount * chain.times(values)
            doubt += positive(sign * (values - ahead))
        gain: Fraction = self.new_values[self.state] - self.old_values[self.state]
        return gain - doubt / (1 - self.instance.discount)

    def _conditions(self) -> Conditions:
        residuals = {"the gain is no larger than it is proved": self.gain - self.proved()}
        return Conditions(residuals, {"the state is worth more": self.gain})


def mean_reward(reward: Vector, policy: Vector) -> Vector:
    """Return ``r_π``, (S,), of a joint policy (S, A, B)."""
    return reward if reward.ndim == 1 else np.asarray((policy * reward).sum(axis=(1, 2)))
