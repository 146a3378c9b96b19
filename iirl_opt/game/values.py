"""Values of policies, and how wrong and how different they can be.

For a reward ``r`` and a discount γ the values of a policy solve ``V = r_π + γ P_π V``. Every
function takes an `MDP` or a `TwoAgentMDP`; a game is read as its joint MDP, in which one planner
chooses both actions. Optimal values are in `iirl_opt.game.optimum`.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import array_of_floats, checked
from iirl_opt.errors import InvalidArgument
from iirl_opt.game.factors import Factors, error_of
from iirl_opt.game.mdp import MDP, MODEL, TwoAgentMDP
from iirl_opt.game.problem import as_mdp, joint_problem, policy_weights
from iirl_opt.game.reward import check_reward

__all__ = ["error_bound", "evaluate", "local_scale", "scale_of"]

Array = NDArray[np.float64]


@checked(model=MODEL)
def evaluate(
    model: MDP | TwoAgentMDP, reward: ArrayLike, policy: ArrayLike | tuple[ArrayLike, ArrayLike]
) -> Array:
    """Return the values (S,) of a policy: the solution of ``V = r_π + γ P_π V``.

    Parameters
    ----------
    reward : (S,), (S, B) of an MDP, (S, A, B) of a game.
    policy : (S, B) in an MDP; in a game a pair ``(pi1, pi2)`` or a joint policy (S, A, B).

    **Cost** arithmetic: one linear system with S unknowns.

    Examples
    --------
    >>> mdp = MDP([[[1, 0], [0, 1]], [[0, 1], [0, 1]]], discount=0.5)
    >>> evaluate(mdp, [0, 1], [[0, 1], [1, 0]])
    array([1., 2.])
    """
    mdp, flat = as_mdp(model), policy_weights(model, policy)
    r = check_reward(model, reward).reshape(model.n_states, -1)
    mean = r[:, 0] if r.shape[1] == 1 else (flat * r).sum(axis=1)
    return Factors(mdp.chain(flat), mdp.discount).solve(mean)


@checked(model=MODEL)
def local_scale(
    model: MDP | TwoAgentMDP, reward: ArrayLike, policy: ArrayLike | tuple[ArrayLike, ArrayLike]
) -> Array:
    """Return how much values from each state can differ by what a policy meets there, (S,).

    With m the reward that is worth as much as the policy, for ever: the discounted sum of the
    expected ``(r − m)²`` over 1 − γ, its root. Constants and what is never met do not enter, and a
    factor multiplies it.

    **Cost** arithmetic: two linear systems with S unknowns.

    Examples
    --------
    >>> mdp = MDP([[[1, 0]], [[0, 1]]], discount=0.5)
    >>> local_scale(mdp, [[5], [5]], [[1], [1]])  # a constant says nothing
    array([0., 0.])
    >>> mdp = MDP([[[0, 1]], [[1, 0]]], discount=0.5)
    >>> local_scale(mdp, [0, 1], [[1], [1]]).round(3)
    array([0.943, 0.943])
    """
    mdp, flat = as_mdp(model), policy_weights(model, policy)
    r = check_reward(model, reward).reshape(model.n_states, -1)
    factors = Factors(mdp.chain(flat), mdp.discount)
    return scale_of(factors, flat, r, factors.solve((flat * r).sum(axis=1)))


def scale_of(factors: Factors, flat: Array, reward: Array, values: Array) -> Array:
    """Return the local scale of a policy, weights (S, n) of the choices, with its values."""
    # In a unit, a power of two, in which squares of rewards neither overflow nor vanish.
    unit = 2.0 ** int(np.frexp(np.abs(reward).max(initial=0.0))[1])
    unit = min(max(unit, 2.0**-1000), 2.0**1000)
    reward, values = reward / unit, values / unit
    gamma, worth = factors.discount, (1 - factors.discount) * values
    own = (flat * (reward - worth[:, None]) ** 2).sum(axis=1)
    # Σ_j P(s, j) (worth_j − worth_s)², without the cancellation of its expansion.
    rows = sp.csr_array(factors.chain)
    of = np.repeat(np.arange(worth.size), np.diff(rows.indptr))
    steps = rows.data * (worth[rows.indices] - worth[of]) ** 2
    spread = np.bincount(of, steps, worth.size)
    total = factors.solve(own + gamma / (1 - gamma) * spread)
    return np.asarray(unit * np.sqrt(np.maximum(total, 0.0) / (1 - gamma)))


@checked(model=MODEL, values=array_of_floats(1))
def error_bound(
    model: MDP | TwoAgentMDP,
    reward: ArrayLike,
    policy: ArrayLike | tuple[ArrayLike, ArrayLike],
    values: ArrayLike,
) -> Array:
    """Return a bound (S,) on how far values are from those of a policy, state by state.

    It holds of the exact numbers of model and reward, whatever the values are: they may come from
    anywhere. A policy given in floats is taken as these floats over the exact sums of its rows.

    **Source** `iirl_opt.game.factors`. **Cost** arithmetic: a linear system with S unknowns.

    Examples
    --------
    >>> mdp = MDP([[[1]]], discount=0.5)  # the value of its policy is 2
    >>> error_bound(mdp, [1], [[1]], [1.75]).round(3)
    array([0.25])
    """
    flat, mdp = policy_weights(model, policy), as_mdp(model)
    mean, slop = joint_problem(model, reward).mixed(flat)
    found = np.asarray(values, dtype=float)
    if found.shape != mean.shape:
        raise InvalidArgument("values", f"have shape {found.shape}", f"{mean.shape}", found.shape)
    factors = Factors(mdp.chain(flat), mdp.discount, mdp.is_nearest, flat.shape[1])
    return error_of(factors, mean, slop, found)
