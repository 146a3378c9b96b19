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
from numpy.typing import ArrayLike, NDArray

from iirl_opt.certificate.base import Certificate, Conditions, positive
from iirl_opt.certificate.form import down
from iirl_opt.certificate.given import joint_weights, read_reward
from iirl_opt.certificate.instance import Instance
from iirl_opt.certificate.near import sums
from iirl_opt.checks import checked
from iirl_opt.errors import InvalidPolicy
from iirl_opt.exact.numbers import as_reals
from iirl_opt.exact.rows import ExactRows
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.policy import POLICY
from iirl_opt.game.values import REWARD

__all__ = ["PolicyImprovement", "policy_improvement"]

# Objects that are Fractions.
Vector = NDArray[Any]


@dataclass(frozen=True, eq=False, kw_only=True)
class PolicyImprovement(Certificate):
    """A joint policy is not optimal: another is worth more from a state.

    Attributes
    ----------
    reward : (S,) or (S, A, B).
    old, new : the joint policies, weights (S, A, B).
    old_values, new_values : near their values, (S,).
    state : position of a state.
    gain : how much more the new one is worth there, at least.
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


@checked(game=GAME, reward=REWARD, old=POLICY, new=POLICY)
def policy_improvement(
    game: TwoAgentMDP,
    reward: ArrayLike,
    old: ArrayLike | tuple[ArrayLike, ArrayLike],
    new: ArrayLike | tuple[ArrayLike, ArrayLike],
) -> PolicyImprovement:
    """Return the proof that a policy is not optimal, because another is worth more somewhere.

    Parameters
    ----------
    reward : (S,) or (S, A, B).
    old, new : pairs ``(pi1, pi2)``, or joint policies (S, A, B).

    Raises
    ------
    InvalidPolicy
        The new policy is worth no more from any state.

    **Cost** arithmetic: two linear systems with S unknowns.
    """
    instance, r = Instance.of(game), read_reward(game, reward)
    policies = [joint_weights(game, p, name) for p, name in ((old, "old"), (new, "new"))]
    values = []
    for policy in policies:
        chain: ExactRows = instance.chain(policy)
        values.append(sums(chain, instance.discount, mean_reward(r, policy)))
    gains = values[1] - values[0]
    state = int(np.argmax(gains))
    parts: dict[str, Any] = {
        "instance": instance,
        "reward": r,
        "old": policies[0],
        "new": policies[1],
        "old_values": values[0],
        "new_values": values[1],
        "state": state,
    }
    gain = PolicyImprovement(**parts, gain=gains[state]).proved()
    if gain <= 0:
        problem = f"is no improvement (the largest gain is {as_reals(gains[state]).item():.3g})"
        raise InvalidPolicy("new policy", problem, "one that is worth more from a state", None)
    return PolicyImprovement(**parts, gain=gain)
