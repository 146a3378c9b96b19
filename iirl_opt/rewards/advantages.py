"""The advantages of a play: what a commitment with its response earns, linear in the reward.

A `Play` is a commitment with a response. What it earns is linear in the reward, and so are the
advantages ``adv_r(s, a, b) = Q_π(s, a, b) − V_π(s)`` of all joint actions: for state rewards

    adv_r(s, a, b) = γ (P_ab − P_π)(I − γ P_π)^{-1} r .

What is proved with them stands in `iirl_opt.rewards.ceiling`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from iirl_opt.game.factors import DENSE_STATES
from iirl_opt.game.kernel import Matrix, is_sparse
from iirl_opt.game.mdp import TwoAgentMDP

__all__ = ["Play", "visits_of"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Play:
    """A commitment with a response: what they earn, as linear maps of the flat reward."""

    game: TwoAgentMDP
    pi1: Array
    pi2: Array
    joint: bool

    @property
    def width(self) -> int:
        """The number of entries of a reward."""
        return int(np.prod(self.reward_shape))

    @property
    def reward_shape(self) -> tuple[int, ...]:
        return self.game.shape if self.joint else self.game.shape[:1]

    @property
    def state(self) -> NDArray[np.int64]:
        """The state of each choice, (S·A·B,)."""
        return np.repeat(np.arange(self.game.n_states), self.game.n_choices)

    @property
    def choose(self) -> Matrix:
        """The (S·A·B, S) matrix that repeats a state's entry for each of its choices."""
        return sp.csr_array(sp.eye_array(self.game.n_states, format="csr")[self.state])

    @cached_property
    def policy(self) -> Array:
        """The joint policy, (S, A·B)."""
        return (self.pi1[:, :, None] * self.pi2[:, None, :]).reshape(self.game.n_states, -1)

    @cached_property
    def system(self) -> Array:
        """``I − γ P_π``, dense."""
        chain = _dense_chain(self.game.joint_chain(self.pi1, self.pi2))
        return np.eye(self.game.n_states) - self.game.discount * chain

    @cached_property
    def advantages(self) -> Array:
        """The (S·A·B, width) matrix of ``r ↦ adv_r``."""
        n_states, gamma = self.game.n_states, self.game.discount
        mean = self._mean(self.policy) if self.joint else np.eye(n_states)
        values = np.linalg.solve(self.system, mean)
        out: Array = gamma * np.asarray(self.game.matrix @ values)
        out -= (values if self.joint else values - mean)[self.state]
        if self.joint:
            out[np.arange(len(out)), np.arange(len(out))] += 1.0
        return out

    def relative(self, linear: Array) -> Array:
        """Return the advantages relative to φ, (S, width): ``adv + γ P φ − φ``."""
        if not linear.any():
            return self.advantages
        after = np.asarray(self.game.matrix @ linear)
        return self.advantages + self.game.discount * after - linear[self.state]

    def deviations(self) -> Array:
        """Return the (S·B, width) matrix of the follower's ``V_π(s) − Q_π(s, b)``."""
        split = self.advantages.reshape(*self.game.shape, self.width)
        gaps: Array = -np.einsum("sa,sabi->sbi", self.pi1, split)
        return gaps.reshape(-1, self.width)

    def measure(self, policy: Array) -> Array:
        """Return how the value from the start depends on the reward under a joint policy."""
        mass = visits_of(self.game, policy)
        return np.asarray((mass[:, None] * policy).ravel()) if self.joint else mass

    @staticmethod
    def _mean(policy: Array) -> Array:
        n_states, n_choices = policy.shape
        out = np.zeros((n_states, n_states, n_choices))
        out[np.arange(n_states), np.arange(n_states)] = policy
        flat: Array = out.reshape(n_states, -1)
        return flat


def visits_of(game: TwoAgentMDP, policy: Array) -> Array:
    """Return the discounted visits of each state under a joint policy (S, A·B), shape (S,)."""
    chain = game.joint_mdp().chain(policy)
    if is_sparse(chain) and game.n_states > DENSE_STATES:
        system: Any = sp.eye_array(game.n_states, format="csc") - game.discount * chain.tocsc()
        return np.asarray(splu(system.T.tocsc()).solve(np.array(game.start)))
    system = np.eye(game.n_states) - game.discount * _dense_chain(chain)
    return np.asarray(np.linalg.solve(system.T, game.start))


def _dense_chain(matrix: Matrix) -> Array:
    return np.asarray(matrix.toarray() if is_sparse(matrix) else matrix)
