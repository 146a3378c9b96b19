"""The answer of a follower whose play is no rational number, as exactly as floats can say it.

The action values are exact; the follower's own function of them, an exponential or one that the
user wrote, is computed in floats. What the leader earns with the play that comes out is exact
again, and how far this can be from what the true play earns is bounded state by state.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.commitment.exact import ExactProblem
from iirl_opt.commitment.problem import Array, Integers
from iirl_opt.commitment.stacked import UNIT, majorant
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.proportional import ProportionalFollower
from iirl_opt.follower.protocols import LocalFollower

__all__ = ["answered"]


def answered(
    exact: ExactProblem, actions: Integers, near: Integers
) -> tuple[Array, NDArray[Any], Array]:
    """Return the response (S, B) to a commitment (S,), its exact values (S,), and a bound (S,).

    The bound is on how far the values are from those of the follower's true play.
    """
    q = exact.action_values(actions, near)
    response, doubt = _play(exact.problem.follower, q)
    values = exact.values(actions, response)
    ahead = exact.ahead(actions, values) - values[:, None]
    worth = np.array([float(abs(x)) for x in ahead.ravel()]).reshape(ahead.shape)
    wrong = (doubt * worth).sum(axis=1) * (1 + 8 * UNIT)
    kernel = exact.problem.kernel[np.arange(len(actions)), actions]
    chain = np.einsum("sb,sbt->st", response + doubt, kernel)
    return response, values, majorant(chain[None], wrong[None], exact.problem.arithmetic)[0]


def _play(follower: Any, q: NDArray[Any]) -> tuple[Array, Array]:
    """Return a local follower's play (S, B) at exact action values, and how wrong it may be."""
    assert isinstance(follower, LocalFollower)
    if q.shape[1] == 1:
        return np.ones(q.shape), np.zeros(q.shape)
    if isinstance(follower, BoltzmannFollower):
        below = q - q.max(axis=1)[:, None]
        near = np.array([float(x) for x in below.ravel()]).reshape(q.shape)
        response = np.asarray(follower.answer(near), dtype=float)
        return response, response * (8 * UNIT * (8 + follower.beta * abs(near)))
    near = np.array([float(x) for x in q.ravel()]).reshape(q.shape)
    response = np.asarray(follower.answer(near), dtype=float)
    rounding = 8 * UNIT * response
    if not isinstance(follower, ProportionalFollower):
        return response, rounding
    wide = 2 * UNIT * abs(near)
    with np.errstate(all="ignore"):  # f need not be defined beyond the values
        ends = follower.weights(near - wide), follower.weights(near + wide)
        least, most = np.minimum(*ends), np.maximum(*ends)
        high = most / (most + least.sum(axis=1, keepdims=True) - least)
        low = least / (least + most.sum(axis=1, keepdims=True) - most)
    doubt = np.maximum(high - response, response - low) + rounding
    return response, np.where(np.isfinite(doubt), np.clip(doubt, 0.0, 1.0), 1.0)
