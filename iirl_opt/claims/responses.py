"""What is optimal in a case: the follower's responses, and joint policies of both agents.

All is exact, by comparison with every deterministic policy, or by the optimal action values.
"""

from __future__ import annotations

import numpy as np

from iirl_opt.claims.arithmetic import (
    Choices,
    Exact,
    joint_problem,
    optimal_policies,
    policies_of,
    policy_values,
    stochastic,
)
from iirl_opt.claims.instances import Case

__all__ = [
    "STAY_OR_SWAP",
    "case_problem",
    "is_feasible",
    "joint_optima",
    "responses",
    "split",
    "values",
]

STAY_OR_SWAP = [[[[1, 0], [0, 1]]], [[[0, 1], [1, 0]]]]


def is_feasible(at: Case, reward: Exact) -> bool:
    """Return whether every episode's response is optimal, by definition."""
    for t, episode in enumerate(at.episodes):
        problem = at.problem(t)
        values = policy_values(problem, reward, episode.pi2, at.discount)
        n_states, n_actions, _ = problem.shape
        for choices in policies_of(n_states, n_actions):
            other = policy_values(problem, reward, stochastic(choices, n_actions), at.discount)
            if (other > values).any():
                return False
    return True


def case_problem(at: Case, choices: tuple[int, ...]) -> Exact:
    """Return what a deterministic commitment leaves to the follower, (S, B, S)."""
    chosen: Exact = at.kernel[np.arange(len(choices)), list(choices)]
    return chosen


def joint_optima(at: Case, reward: Exact) -> list[Choices]:
    """Return the deterministic joint policies that are optimal in all states."""
    return optimal_policies(joint_problem(at.kernel), reward, at.discount)


def split(at: Case, joint: Choices) -> tuple[Choices, Choices]:
    """Return the two parts of a joint policy."""
    n_b = at.game.shape[2]
    return tuple(c // n_b for c in joint), tuple(c % n_b for c in joint)


def values(at: Case, pi1: Choices, pi2: Choices, reward: Exact) -> Exact:
    """Return the values (S,) of two deterministic policies."""
    policy = stochastic(pi2, at.game.shape[2])
    return policy_values(case_problem(at, pi1), reward, policy, at.discount)


def responses(at: Case, pi1: Choices, reward: Exact) -> list[Choices]:
    """Return the deterministic responses to a deterministic commitment that are optimal."""
    return optimal_policies(case_problem(at, pi1), reward, at.discount)
