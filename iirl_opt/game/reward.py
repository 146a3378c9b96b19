"""Rewards: what they may be, what the follower faces of one, and what rounding makes of it.

A reward is (S,) as in the paper, or has an entry for each choice: (S, B) in an `MDP`, (S, A, B) in
a `TwoAgentMDP`. Games are free of reward, so every function that needs one takes it as an argument,
in floats or in exact numbers, and checks it here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import array_of_floats, between, checked, kept
from iirl_opt.errors import InvalidReward
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.game.policy import as_floats

__all__ = [
    "REWARD",
    "ROUNDING",
    "check_reward",
    "finite_reward",
    "follower_reward",
    "tie_tolerance",
]

Array = NDArray[np.float64]

# What an argument may be that is a reward: finite numbers, handed on as given, exact or not.
REWARD = kept(array_of_floats(error=InvalidReward))

# The largest size of a value.
LARGEST_VALUE = 1e300

# What `tie_tolerance` takes for rounding, as a share of the largest value.
ROUNDING = 8 * float(np.finfo(float).eps)


def check_reward(model: MDP | TwoAgentMDP, reward: ArrayLike, name: str = "reward") -> Array:
    """Return a reward as a float array of shape (S,) or of the shape of the model's choices.

    Raises
    ------
    InvalidReward
        Names the state, or the wrong shape or type, or an entry whose values overflow.
    """
    array = finite_reward(model, reward, name, ((model.n_states,), model.shape))
    largest = float(np.abs(array).max())
    if largest > LARGEST_VALUE * (1 - model.discount):
        raise InvalidReward(
            name,
            f"has an entry of size {largest:g}, whose values overflow",
            f"sizes up to {LARGEST_VALUE:g} × (1 − γ)",
            largest,
        )
    return array


def finite_reward(
    model: MDP | TwoAgentMDP, reward: ArrayLike, name: str, shapes: tuple[tuple[int, ...], ...]
) -> Array:
    """Return a reward as a float array of finite numbers, of one of several shapes.

    Raises
    ------
    InvalidReward
    """
    array = as_floats(reward, name, InvalidReward)
    if array.shape not in shapes:
        *others, last = map(str, shapes)
        allowed = f"{', '.join(others)} or {last}"
        raise InvalidReward(name, f"has shape {array.shape}", allowed, array.shape)
    bad = ~np.isfinite(array)
    if bad.any():
        at = np.unravel_index(int(np.argmax(bad)), array.shape)
        names = (model.states, *model.action_labels, model.states)
        axes = (*model.axes, "next state")
        where = ", ".join(
            f"{axis}={known[i]!r}" for axis, known, i in zip(axes, names, at, strict=False)
        )
        raise InvalidReward(f"{name}[{where}]", f"is {array[at]}", "finite numbers", array[at])
    return array


def follower_reward(game: TwoAgentMDP, reward: ArrayLike, pi1: ArrayLike) -> Array:
    """Return the reward that the follower faces: (S,) as it is, else ``Σ_a π1 r``, (S, B)."""
    r = check_reward(game, reward)
    if r.ndim == 1:
        return r
    marginal: Array = np.einsum("sa,sab->sb", game.check_leader_policy(pi1), r)
    return marginal


@checked(reward=array_of_floats(error=InvalidReward, empty=False), discount=between(0, 1, "[)"))
def tie_tolerance(reward: ArrayLike, discount: float) -> float:
    """Return the planning tolerance that verification allows a follower unasked.

    Whoever plans in floats, or stops early, may take actions as tied whose values differ by this.
    This library's followers do not: they decide ties exactly (`Optimum.optimal`), and report near
    ones on a local scale (`Optimum.near`).

    ``max(1e-9 span(r), 8 ε max|r| / (1−γ)) / (1−γ)`` with ε the rounding unit.

    **Cost** arithmetic.

    Examples
    --------
    >>> tie_tolerance([0, 1], 0.5), tie_tolerance([7, 7], 0.5) < 1e-12
    (2e-09, True)
    """
    r = np.asarray(reward, dtype=float)
    rounding = ROUNDING * np.abs(r).max() / (1 - discount)
    return float(max(1e-9 * np.ptp(r), rounding) / (1 - discount))
