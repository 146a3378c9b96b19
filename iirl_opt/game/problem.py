"""A single agent's planning problem: an MDP with the reward of each choice, in floats and exactly.

The one planner of a game chooses both actions (`joint_problem`); the follower faces what a
commitment leaves (`follower_problem`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.errors import InvalidPolicy
from iirl_opt.exact.numbers import Vector, as_fractions
from iirl_opt.game.factors import UNIT, row_units
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.game.policy import check_policy, joint_policy, rational_policy
from iirl_opt.game.reward import check_reward, follower_reward

__all__ = ["PlanningProblem", "as_mdp", "follower_problem", "joint_problem", "policy_weights"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PlanningProblem:
    """A single agent's problem: an MDP and the reward of each choice, in floats and exactly.

    Attributes
    ----------
    mdp : the MDP, S states and n actions.
    reward : shape (S, n), or (S, 1) where it depends on the state alone.
    slop : how far that may be from the exact reward, (S, n), (S, 1) or zero.
    exact : the exact rewards of choices given as rows ``s·n + b``.
    terms : the number of given rows of which a row of the kernel is the mean.
    """

    mdp: MDP
    reward: Array
    slop: Any
    exact: Callable[[Integers], Vector]
    terms: int = 1

    @cached_property
    def units(self) -> Array:
        """The relative errors of sums over the rows of the kernel, (S, n)."""
        return row_units(self.mdp.matrix, self.mdp.is_nearest, self.terms).reshape(self.mdp.shape)

    def rows(self, actions: Integers) -> Integers:
        """Return the rows of the kernel that actions (S,) play."""
        return np.arange(self.mdp.n_states) * self.mdp.n_choices + actions

    def of(self, actions: Integers) -> Array:
        """Return the rewards (S,) of actions (S,)."""
        full = np.broadcast_to(self.reward, self.mdp.shape)
        return np.asarray(full[np.arange(self.mdp.n_states), actions])

    def same_rewards(self, one: Integers, two: Integers) -> NDArray[np.bool_]:
        """Return for pairs of rows ``s·n + b`` of a state whether their exact rewards are equal."""
        if self.reward.shape[1] == 1:
            return np.ones(one.shape, dtype=bool)
        return np.asarray(self.exact(one) == self.exact(two), dtype=bool)

    def mixed(self, flat: Array) -> tuple[Array, Array]:
        """Return the mean rewards (S,) under weights (S, n), and how far off they may be."""
        slop = self.slop + 4 * (flat.shape[1] + 3) * UNIT * np.abs(self.reward)
        return (flat * self.reward).sum(axis=1), (flat * slop).sum(axis=1)


def joint_problem(model: MDP | TwoAgentMDP, reward: ArrayLike) -> PlanningProblem:
    """Return the problem of an MDP, or of the one planner of a game, for a reward."""
    check_reward(model, reward)
    return _own_problem(as_mdp(model), np.asarray(reward))


def _own_problem(mdp: MDP, reward: NDArray[Any]) -> PlanningProblem:
    """Return the problem of an MDP for a checked reward of its choices, or of its states."""
    given = reward.reshape(mdp.n_states, -1)
    r = given.astype(float)
    slop = UNIT * np.abs(r) if given.dtype == object else 0.0

    def exact(rows: NDArray[np.int64]) -> NDArray[Any]:
        s, b = np.divmod(rows, mdp.n_choices)
        return as_fractions(given[s, b if given.shape[1] > 1 else 0])

    return PlanningProblem(mdp, r, slop, exact)


def follower_problem(game: TwoAgentMDP, reward: ArrayLike, pi1: ArrayLike) -> PlanningProblem:
    """Return the problem that a commitment leaves to the follower."""
    policy, mdp = game.check_leader_policy(pi1), game.follower_mdp(pi1)
    r, terms = follower_reward(game, reward, policy), game.n_leader_actions
    if r.ndim == 1:
        return replace(_own_problem(mdp, np.asarray(reward)), terms=terms)
    given, n_b = np.asarray(reward), game.n_follower_actions
    slop = 2 * (game.n_leader_actions + 2) * UNIT * np.einsum("sa,sab->sb", policy, np.abs(given))

    def exact(rows: NDArray[np.int64]) -> NDArray[Any]:
        s, b = np.divmod(rows, n_b)
        return np.asarray((rational_policy(policy[s]) * as_fractions(given[s, :, b])).sum(axis=1))

    return PlanningProblem(mdp, r, slop.astype(float), exact, terms)


def as_mdp(model: MDP | TwoAgentMDP) -> MDP:
    """Return the MDP that one planner of the whole model faces."""
    return model.joint_mdp() if isinstance(model, TwoAgentMDP) else model


def policy_weights(
    model: MDP | TwoAgentMDP, policy: ArrayLike | tuple[ArrayLike, ArrayLike]
) -> Array:
    """Return a policy as weights (S, n) of the choices."""
    if isinstance(model, MDP):
        return check_policy(policy, model.shape, states=model.states)  # type: ignore[arg-type]
    if isinstance(policy, tuple):
        if len(policy) != 2:
            raise InvalidPolicy("policy", f"is a tuple of {len(policy)}", "a pair", policy)
        pi1, pi2 = policy
        policy = joint_policy(model.check_leader_policy(pi1), model.check_follower_policy(pi2))
    weights = check_policy(policy, model.shape, name="joint policy", states=model.states)
    return weights.reshape(model.n_states, -1)
