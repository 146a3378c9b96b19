"""Proofs that a joint policy, or a commitment with its response, is not optimal.

Another policy is worth no less from any state and more from one. Both are evaluated: values that
violate ``V = r_π + γ P_π V`` by ρ are wrong by at most ρ/(1−γ), which the margin takes into
account.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.certificate.base import Certificate, Conditions
from iirl_opt.certificate.episodes import policy_residuals
from iirl_opt.certificate.instance import Instance, Numbers, largest
from iirl_opt.certificate.rewards import best, outside, read_reward
from iirl_opt.errors import InvalidPolicy
from iirl_opt.exact.linear import solve
from iirl_opt.exact.numbers import as_reals
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import check_policy, joint_policy, rational_policy

__all__ = ["PolicyImprovement", "policy_improvement"]

Vector = NDArray[Any]


@dataclass(frozen=True, eq=False, kw_only=True)
class PolicyImprovement(Certificate):
    """A joint policy is not optimal: another is worth more from a state, and never less.

    Attributes
    ----------
    reward : (S,) or (S, A, B).
    old, new : the joint policies, (S, A, B).
    old_values, new_values : (S,).
    state : position of the state with the largest gain.
    gain : there.
    """

    kind: ClassVar[str] = "policy improvement"
    theorem: ClassVar[str] = "evaluation of both policies"

    reward: Vector
    old: Vector
    new: Vector
    old_values: Vector
    new_values: Vector
    state: int
    gain: float | Fraction

    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        shape = self.instance.shape
        one = shape[:1]
        return {
            "reward": shape if np.ndim(self.reward) == 3 else one,
            "old": shape,
            "new": shape,
            "old_values": one,
            "new_values": one,
            "state": (),
            "gain": (),
        }

    def _misfits(self) -> list[str]:
        return super()._misfits() + outside(self, {"state": self.instance.shape[0]})

    def _words(self) -> str:
        gain = as_reals(self.gain).item()
        return (
            f"the old policy is not optimal: the new one is worth {gain:.6g} more from "
            f"{self.instance.states[self.state]} and no less from any other state"
        )

    def _conditions(self, numbers: Numbers) -> Conditions:
        n = numbers
        reward, old, new = n(self.reward), n(self.old), n(self.new)
        old_values, new_values = n(self.old_values), n(self.new_values)
        errors = [
            largest(np.abs(_errors(n, reward, policy, values)))
            for policy, values in ((old, old_values), (new, new_values))
        ]
        gains = new_values - old_values
        residuals = {
            **policy_residuals("the old policy", old.reshape(len(old), -1)),
            **policy_residuals("the new policy", new.reshape(len(new), -1)),
            "the old values are those of the policy": errors[0],
            "the new values are those of the policy": errors[1],
            "no state is worth less": largest(-gains),
            "the gain is the stated one": abs(gains[self.state] - n(self.gain)[()]),
        }
        doubt = (errors[0] + errors[1]) / (1 - n.discount)
        return Conditions(residuals, {"a state is worth more": gains[self.state] - doubt})


def _mean(reward: Vector, policy: Vector) -> Vector:
    return reward if reward.ndim == 1 else np.asarray((policy * reward).sum(axis=(1, 2)))


def _errors(n: Numbers, reward: Vector, policy: Vector, values: Vector) -> Vector:
    onward = n.discount * n.chain(policy).times(values)
    return np.asarray(values - _mean(reward, policy) - onward)


def policy_improvement(
    game: TwoAgentMDP,
    reward: ArrayLike,
    old: ArrayLike | tuple[ArrayLike, ArrayLike],
    new: ArrayLike | tuple[ArrayLike, ArrayLike],
) -> PolicyImprovement:
    """Return the proof that a policy is not optimal, because another is better.

    Exact where the game is: rewards and policies in floats are read as decimals.

    Parameters
    ----------
    reward : (S,) or (S, A, B).
    old, new : pairs ``(pi1, pi2)``, or joint policies (S, A, B).

    Raises
    ------
    InvalidPolicy
        The new policy is worth less from some state, or no more from any.

    **Cost** arithmetic: two linear systems with S unknowns.
    """
    instance = Instance.of(game)
    given = read_reward(game, reward)

    def build(exact: bool, why: str) -> PolicyImprovement:
        n = Numbers(instance, exact)
        parts = [_joint(game, p, name, exact) for p, name in ((old, "old"), (new, "new"))]
        values = [_values(n, n(given), part) for part in parts]
        gains = values[1] - values[0]
        state = int(np.argmax(gains))
        return PolicyImprovement(
            instance=instance,
            reward=n(given),
            old=parts[0],
            new=parts[1],
            old_values=values[0],
            new_values=values[1],
            state=state,
            gain=gains[state] if exact else float(gains[state]),
            inexact=why,
        )

    found: PolicyImprovement = best(build, instance.is_exact, "the game has no exact numbers")
    outcome = found.check(exact=found.is_exact)
    if not outcome:
        problem = f"is no improvement ({outcome.reasons[0]})"
        raise InvalidPolicy("new policy", problem, "one that is never worse", None)
    return found


def _joint(
    game: TwoAgentMDP, policy: ArrayLike | tuple[ArrayLike, ArrayLike], name: str, exact: bool
) -> Vector:
    """Return a joint policy (S, A, B) in one arithmetic."""
    what = f"the {name} policy"
    if isinstance(policy, tuple):
        pi1, pi2 = game.check_leader_policy(policy[0]), game.check_follower_policy(policy[1])
        if exact:
            return np.asarray(rational_policy(pi1)[:, :, None] * rational_policy(pi2)[:, None, :])
        return joint_policy(pi1, pi2)
    checked = check_policy(policy, game.shape, name=what, states=game.states)
    return rational_policy(checked) if exact else checked


def _values(n: Numbers, reward: Vector, policy: Vector) -> Vector:
    """Return the values (S,) of a joint policy."""
    system = np.eye(len(policy), dtype=int) - n.discount * n.chain(policy).dense()
    if not n.exact:
        return np.linalg.solve(system, _mean(reward, policy))
    found = solve(system, _mean(reward, policy))
    assert found is not None  # I − γP is never singular
    return found
