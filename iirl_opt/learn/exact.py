"""Exact optima of small rational games: values and all optimal actions, without a tolerance.

What two rewards have in common, or whether a commitment is optimal, can hang on a tie. Here it is
decided in `fractions.Fraction`: policy iteration starts from the floating-point optimum and goes on
in rational arithmetic until no action is better. Rewards are read as the decimals that they print
as, and so are commitments, whose rows must then sum to one.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.certificate.exact import as_fractions, as_reals, rational_policy, solve
from iirl_opt.errors import NotExact
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.game.values import check_reward, modified_policy_iteration

__all__ = ["Exact", "ExactOptimum", "exact_kernel", "exact_optimum", "exact_reward"]

# Arrays of Fractions.
Exact = NDArray[Any]


class ExactOptimum(NamedTuple):
    """The optimum of a problem in Fractions.

    Attributes
    ----------
    values : shape (S,).
    gaps : by how much each action is worse than the best, (S, B), or (S, A, B) of a whole game.
    """

    values: Exact
    gaps: Exact

    @property
    def optimal(self) -> NDArray[np.bool_]:
        """All optimal actions, a mask of the shape of `gaps`."""
        return np.asarray(self.gaps == 0)


def exact_kernel(game: TwoAgentMDP) -> Exact:
    """Return the kernel (S, A, B, S) in Fractions.

    Raises
    ------
    NotExact
        The game was given in floating point.
    """
    if game.rational is None:
        raise NotExact("game")
    n = game.n_states
    kernel = np.full((n * game.n_choices, n), Fraction(0), dtype=object)
    for row, entries in enumerate(kernel):
        for at, p in game.rational.rows.row(row).items():
            entries[at] = p
    return kernel.reshape(*game.shape, n)


def exact_reward(game: TwoAgentMDP, reward: ArrayLike) -> Exact:
    """Return a reward (S,) or (S, A, B) as (S, A, B) Fractions.

    Raises
    ------
    InvalidReward
    """
    given = np.asarray(reward)
    check_reward(game, as_reals(given) if given.dtype == object else given)
    r = as_fractions(given)
    return np.broadcast_to(r[:, None, None], game.shape) if r.ndim == 1 else r


def exact_optimum(
    game: TwoAgentMDP, reward: ArrayLike, pi1: ArrayLike | None = None
) -> ExactOptimum:
    """Return the follower's exact optimum under a commitment, or that of both agents together.

    Parameters
    ----------
    reward : shape (S,) or (S, A, B), floats or Fractions.
    pi1 : the commitment, shape (S, A), floats or Fractions; without it the joint optimum.

    Raises
    ------
    NotExact
        The game was given in floating point, or a row of the commitment does not sum to one.
    InvalidReward, InvalidPolicy

    **Cost** some policy iterations in Fractions: for a few states.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], discount="1/2")
    >>> found = exact_optimum(game, [0, 1], [[1], [1]])
    >>> found.values.tolist(), found.optimal.tolist()
    ([Fraction(1, 1), Fraction(2, 1)], [[False, True], [True, True]])
    """
    kernel, r = exact_kernel(game), exact_reward(game, reward)
    assert game.rational is not None
    shape: tuple[int, ...] = game.shape
    if pi1 is not None:
        given = np.asarray(pi1)
        game.check_leader_policy(as_reals(given) if given.dtype == object else given)
        weights = rational_policy(given, "the commitment")
        kernel = (weights[:, :, None, None] * kernel).sum(axis=1)
        r = (weights[:, :, None] * r).sum(axis=1)
        shape = (game.n_states, game.n_follower_actions)
    n = game.n_states
    values, gaps = _iterate(kernel.reshape(n, -1, n), r.reshape(n, -1), game.rational.discount)
    return ExactOptimum(values, gaps.reshape(shape))


def _iterate(kernel: Exact, reward: Exact, discount: Fraction) -> tuple[Exact, Exact]:
    """Return optimal values (S,) and gaps (S, n) of a problem (S, n, S) with rewards (S, n)."""
    n = len(kernel)
    states = np.arange(n)
    near = MDP(kernel, discount)
    choices = modified_policy_iteration(near, as_reals(reward)).q.argmax(axis=1)
    while True:
        chain = kernel[states, choices]
        values = solve(
            as_fractions(np.eye(n, dtype=int)) - discount * chain, reward[states, choices]
        )
        assert values is not None  # I − γP is regular
        q = reward + discount * (kernel @ values)
        best = q.argmax(axis=1)
        better = q[states, best] > values
        if not better.any():
            return values, values[:, None] - q
        choices = np.where(better, best, choices)
