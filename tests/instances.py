"""Small rational games and policies, and the paper's definitions decided by brute force on them.

Everything here is in `fractions.Fraction` and by definition: values by Gaussian elimination,
optimal policies by comparison with every deterministic policy. Nothing is the library's own.
"""

from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from iirl_opt.game.mdp import TwoAgentMDP

__all__ = [
    "DISCOUNTS",
    "best_values",
    "deterministic_policies",
    "exact_values",
    "follower_problem",
    "games",
    "is_optimal",
    "kernel_of",
    "optimal_policies",
    "policies",
    "rewards",
]

DISCOUNTS = (Fraction(0), Fraction(1, 2), Fraction(9, 10))


@st.composite
def games(draw, *, states=(1, 3), leader=(1, 2), follower=(1, 3), discounts=DISCOUNTS):
    """Draw a game whose rows are small integer weights; some states are absorbing."""
    n = draw(st.integers(*states))
    shape = (n, draw(st.integers(*leader)), draw(st.integers(*follower)), n)
    weights = draw(arrays(np.int64, shape, elements=st.integers(0, 3)))
    weights[weights.sum(axis=-1) == 0, 0] = 1
    for s in range(n):
        if draw(st.integers(0, 3)) == 3:
            weights[s] = np.eye(n, dtype=np.int64)[s]
    start = draw(arrays(np.int64, n, elements=st.integers(0, 3)))
    start[0] += not start.any()
    return TwoAgentMDP(weights, draw(st.sampled_from(discounts)), start)


@st.composite
def policies(draw, n_states, n_actions, *, deterministic=None):
    """Draw a policy (S, n) of Fractions: deterministic rows, or small weights (by default both)."""
    if deterministic is None:
        deterministic = draw(st.booleans())
    if deterministic:
        rows = draw(arrays(np.int64, n_states, elements=st.integers(0, n_actions - 1)))
        weights = np.eye(n_actions, dtype=np.int64)[rows]
    else:
        weights = draw(arrays(np.int64, (n_states, n_actions), elements=st.integers(0, 3)))
        weights[weights.sum(axis=1) == 0, 0] = 1
    return np.array([[Fraction(int(w), int(row.sum())) for w in row] for row in weights])


def rewards(shape):
    """Draw a reward of small integers, which makes ties."""
    return arrays(np.int64, shape, elements=st.integers(-2, 2))


def kernel_of(game):
    """Return the exact kernel (S, A, B, S) of a rational game as Fractions."""
    n = game.n_states
    kernel = np.full((n * game.n_choices, n), Fraction(0))
    for i in range(len(kernel)):
        for j, p in game.rational.rows.row(i).items():
            kernel[i, j] = p
    return kernel.reshape(*game.shape, n)


def follower_problem(game, pi1, reward):
    """Return (P, r) of shapes (S, B, S) and (S, B): what the commitment leaves to the follower."""
    kernel, r = kernel_of(game), np.asarray(reward) * Fraction(1)
    if r.ndim == 1:
        r = np.broadcast_to(r[:, None, None], game.shape)
    return (pi1[:, :, None, None] * kernel).sum(axis=1), (pi1[:, :, None] * r).sum(axis=1)


def exact_values(kernel, reward, policy, discount):
    """Return the values of a policy (S, n) in an MDP (S, n, S) with reward (S, n)."""
    n = len(policy)
    chain = (policy[:, :, None] * kernel).sum(axis=1)
    rows = [
        [Fraction(int(i == j)) - discount * chain[i, j] for j in range(n)]
        + [sum(policy[i] * reward[i], Fraction(0))]
        for i in range(n)
    ]
    for i in range(n):
        pivot = next(k for k in range(i, n) if rows[k][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(n):
            if k != i and rows[k][i] != 0:
                rows[k] = [x - rows[k][i] * y for x, y in zip(rows[k], rows[i], strict=True)]
    return np.array([row[-1] for row in rows])


def deterministic_policies(n_states, n_actions):
    """Yield every deterministic policy (S, n) as Fractions."""
    unit = np.eye(n_actions, dtype=np.int64) * Fraction(1)
    for choices in product(range(n_actions), repeat=n_states):
        yield unit[list(choices)]


def best_values(kernel, reward, discount):
    """Return the largest value that a deterministic policy has in each state, shape (S,)."""
    every = deterministic_policies(*reward.shape)
    return np.max([exact_values(kernel, reward, p, discount) for p in every], axis=0)


def is_optimal(kernel, reward, policy, discount):
    """Return whether no deterministic policy is better than `policy` in any state."""
    best = best_values(kernel, reward, discount)
    return bool((exact_values(kernel, reward, policy, discount) >= best).all())


def optimal_policies(kernel, reward, discount):
    """Return every deterministic policy than which none is better in any state."""
    pairs = [
        (policy, exact_values(kernel, reward, policy, discount))
        for policy in deterministic_policies(*reward.shape)
    ]
    best = np.max([values for _, values in pairs], axis=0)
    return [policy for policy, values in pairs if (values >= best).all()]
