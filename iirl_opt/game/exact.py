"""Exact values and optima: in Fractions, without a tolerance.

What two rewards have in common, or whether a commitment is optimal, can hang on a tie. Here it is
decided in `fractions.Fraction`: policy iteration starts from the floating-point optimum and goes on
in rational arithmetic until no action is better. Every game has exact numbers (see
`iirl_opt.game.kernel`); rewards and policies are read as the numbers that they are, and each row of
a policy is divided by its exact sum.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import checked
from iirl_opt.exact.chains import discounted_sums
from iirl_opt.exact.numbers import as_fractions, as_reals
from iirl_opt.exact.rows import ExactRows
from iirl_opt.game.entries import RowBlocks
from iirl_opt.game.mdp import GAME, MDP, MODEL, TwoAgentMDP
from iirl_opt.game.optimum import modified_policy_iteration
from iirl_opt.game.policy import check_policy, rational_policy
from iirl_opt.game.reward import check_reward
from iirl_opt.printing.records import with_html

__all__ = [
    "Exact",
    "ExactOptimum",
    "exact_gaps",
    "exact_kernel",
    "exact_optimum",
    "exact_policy",
    "exact_reward",
    "exact_values",
]

# Arrays of Fractions.
Exact = NDArray[Any]


class ExactOptimum(NamedTuple):
    """The optimum of a problem in Fractions.

    Attributes
    ----------
    values : shape (S,).
    gaps : by how much each action is worse than the best, (S, B), or (S, A, B) of a whole game.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], discount="1/2")
    >>> found = exact_optimum(game, [0, 1], [[1], [1]])
    >>> found.gaps.tolist()
    [[Fraction(1, 2), Fraction(0, 1)], [Fraction(0, 1), Fraction(0, 1)]]
    >>> found.optimal.tolist()
    [[False, True], [True, True]]
    """

    values: Exact
    gaps: Exact

    def __repr__(self) -> str:
        return in_brief(self)

    def _repr_html_(self) -> str:
        return with_html(self, "state")

    @property
    def optimal(self) -> NDArray[np.bool_]:
        """All optimal actions, a mask of the shape of `gaps`."""
        return np.asarray(self.gaps == 0)


def exact_kernel(game: TwoAgentMDP) -> Exact:
    """Return the kernel (S, A, B, S) in Fractions."""
    return game.rational.rows.dense().reshape(*game.shape, game.n_states)


def exact_reward(model: MDP | TwoAgentMDP, reward: ArrayLike) -> Exact:
    """Return a reward (S,) or of the model's choices as Fractions, one for every choice.

    Raises
    ------
    InvalidReward
    """
    check_reward(model, reward)
    r = as_fractions(reward)
    if r.ndim == 1:
        r = r.reshape(-1, *[1] * (len(model.shape) - 1))
    return np.broadcast_to(r, model.shape)


def exact_policy(given: ArrayLike, shape: tuple[int, ...], **names: Any) -> Exact:
    """Return a policy of a shape (S, …) as Fractions whose rows sum to one.

    Raises
    ------
    InvalidPolicy
    """
    check_policy(given, shape, **names)
    return rational_policy(np.reshape(given, (shape[0], -1))).reshape(shape)


@checked(model=MODEL)
def exact_values(
    model: MDP | TwoAgentMDP, reward: ArrayLike, policy: ArrayLike | tuple[ArrayLike, ArrayLike]
) -> Exact:
    """Return the exact values (S,) of a policy: the solution of ``V = r_π + γ P_π V``.

    Parameters
    ----------
    reward : (S,), (S, B) of an MDP, (S, A, B) of a game; floats or exact numbers.
    policy : (S, B) in an MDP; in a game a pair ``(pi1, pi2)`` or a joint policy (S, A, B).

    Raises
    ------
    InvalidReward, InvalidPolicy
    NotExact
        More than 40 states lead to each other and python-flint is not installed.

    **Cost** an exact linear system for each class of states that lead to each other.

    Examples
    --------
    >>> exact_values(MDP([[[1]]], "9/10"), [1], [[1]]).tolist()
    [Fraction(10, 1)]
    """
    if isinstance(policy, tuple):
        assert isinstance(model, TwoAgentMDP)
        pi1 = exact_policy(policy[0], model.shape[:2], name="leader policy", states=model.states)
        shape = (model.n_states, model.n_follower_actions)
        pi2 = exact_policy(policy[1], shape, name="follower policy", states=model.states)
        weights = pi1[:, :, None] * pi2[:, None, :]
    else:
        weights = exact_policy(policy, model.shape, states=model.states)
    flat = weights.reshape(model.n_states, -1)
    r = exact_reward(model, reward).reshape(model.n_states, -1)
    mean = (flat * r).sum(axis=1)
    return discounted_sums(_chain(model, flat), model.rational.discount, mean)


@checked(game=GAME)
def exact_gaps(game: TwoAgentMDP, reward: ArrayLike, pi1: ArrayLike, pi2: ArrayLike) -> Exact:
    """Return by how much the follower's actions are worse than a response, exactly, (S, B).

    Parameters
    ----------
    pi1, pi2 : commitment (S, A) and response (S, B), floats or Fractions.

    Raises
    ------
    InvalidReward, InvalidPolicy, NotExact

    **Cost** as `exact_values`.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], discount="1/3")
    >>> exact_gaps(game, [0, 1], [[1], [1]], [[0, 1], [1, 0]]).tolist()
    [[Fraction(1, 3), Fraction(0, 1)], [Fraction(0, 1), Fraction(0, 1)]]
    """
    values = exact_values(game, reward, (pi1, pi2))
    rows, r = _followers(game, exact_reward(game, reward), pi1)
    q = r + game.exact_discount * rows.times(values).reshape(r.shape)
    return np.asarray(values[:, None] - q)


def _followers(game: TwoAgentMDP, reward: Exact, pi1: ArrayLike) -> tuple[ExactRows, Exact]:
    """Return the rows (S·B, S) and the rewards (S, B) that a commitment leaves to the follower."""
    n_states, n_a, n_b = game.shape
    weights = exact_policy(pi1, (n_states, n_a), name="leader policy", states=game.states)
    at = np.arange(n_states * n_a * n_b).reshape(game.shape).swapaxes(1, 2).reshape(-1, n_a)
    rows = game.rational.rows.mixed(np.repeat(weights, n_b, axis=0), at)
    return rows, np.asarray((weights[:, :, None] * reward).sum(axis=1))


def _chain(model: MDP | TwoAgentMDP, weights: Exact) -> ExactRows:
    """Return the chain (S, S) under weights (S, n) of the choices."""
    s, k = np.nonzero(weights)
    at = np.zeros(weights.shape, dtype=np.int64)
    at[s, k] = np.arange(s.size)
    return model.exact_rows(s * model.n_choices + k).mixed(weights, at)


@checked(game=GAME)
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
    InvalidReward, InvalidPolicy
    NotExact
        More than 40 states lead to each other and python-flint is not installed.

    **Cost** some policy iterations in Fractions.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], discount="1/2")
    >>> found = exact_optimum(game, [0, 1], [[1], [1]])
    >>> found.values.tolist(), found.optimal.tolist()
    ([Fraction(1, 1), Fraction(2, 1)], [[False, True], [True, True]])
    """
    r, rows = exact_reward(game, reward), game.rational.rows
    shape: tuple[int, ...] = game.shape
    if pi1 is not None:
        rows, r = _followers(game, r, pi1)
        shape = r.shape
    values, gaps = _iterate(rows, r.reshape(game.n_states, -1), game.rational.discount)
    return ExactOptimum(values, gaps.reshape(shape))


def _iterate(rows: ExactRows, reward: Exact, discount: Fraction) -> tuple[Exact, Exact]:
    """Return optimal values (S,) and gaps (S, n) of a problem of rows ``s·n + b``."""
    states, n = np.arange(len(reward)), reward.shape[1]
    near = MDP(RowBlocks.of(rows), discount)
    choices = modified_policy_iteration(near, as_reals(reward)).q.argmax(axis=1)
    while True:
        values = discounted_sums(rows.take(states * n + choices), discount, reward[states, choices])
        q = reward + discount * rows.times(values).reshape(reward.shape)
        best = q.argmax(axis=1)
        better = q[states, best] > values
        if not better.any():
            return values, values[:, None] - q
        choices = np.where(better, best, choices)
