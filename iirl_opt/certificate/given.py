"""Rewards, policies and observations as makers are given them, in exact numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.certificate.instance import Instance, distributions
from iirl_opt.exact.numbers import as_fractions, as_reals
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import check_policy, rational_policy
from iirl_opt.game.reward import check_reward
from iirl_opt.observation import Observation

__all__ = ["joint_weights", "read_reward", "stacked"]

# Objects that are Fractions.
Vector = NDArray[Any]


def stacked(instance: Instance, observations: Sequence[Observation]) -> tuple[Vector, Vector]:
    """Return commitments (T, S, A) and responses (T, S, B) as distributions in Fractions."""
    n_states, n_a, n_b = instance.shape
    parts = []
    for name, width in (("pi1", n_a), ("pi2", n_b)):
        rows = [rational_policy(getattr(seen, name)) for seen in observations]
        parts.append(np.array(rows, dtype=object).reshape(len(observations), n_states, width))
    return parts[0], parts[1]


def read_reward(game: TwoAgentMDP, reward: ArrayLike) -> Vector:
    """Return a reward in Fractions, of a shape of the game."""
    check_reward(game, reward)
    return as_fractions(reward)


def joint_weights(
    game: TwoAgentMDP, policy: ArrayLike | tuple[ArrayLike, ArrayLike], name: str = "joint"
) -> Vector:
    """Return a joint policy (S, A, B) in Fractions: a pair's product, or an array."""
    what = f"the {name} policy"
    if isinstance(policy, tuple):
        pi1, pi2 = (np.asarray(part) for part in policy)
        game.check_leader_policy(_as_floats(pi1))
        game.check_follower_policy(_as_floats(pi2))
        return np.asarray(rational_policy(pi1)[:, :, None] * rational_policy(pi2)[:, None, :])
    given = np.asarray(policy)
    check_policy(_as_floats(given), game.shape, name=what, states=game.states)
    return distributions(as_fractions(given).reshape(len(given), -1)).reshape(game.shape)


def _as_floats(policy: Vector) -> Vector:
    return as_reals(policy) if policy.dtype == object else policy
