"""Tie rules: which of several optimal actions a follower plays.

The paper's results depend on it, so the rule is part of the follower: ``"first"`` or ``"last"`` in
order, ``"random"`` in each state, ``"mix"`` of all with equal probability, or ``"all"``, the whole
optimal set as a mask.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from iirl_opt.checks import refuse

__all__ = ["MASK", "TIES", "Ties", "break_ties"]

Ties = Literal["first", "last", "random", "mix", "all"]
TIES = ("first", "last", "random", "mix", "all")


def MASK(name: str, value: Any) -> NDArray[np.bool_]:
    """Return a mask (…, B) of actions, at least one in each state."""
    try:
        mask = np.asarray(value)
    except ValueError:  # rows of different lengths
        mask = np.zeros(0)
    if mask.dtype != bool or not mask.ndim or not mask.any(axis=-1).all():
        raise refuse(name, value, "booleans (…, B), one of them true in each state")
    return mask


def break_ties(
    optimal: NDArray[np.bool_], ties: Ties, rng: int | np.random.Generator | None = None
) -> NDArray[Any]:
    """Return the play (…, B) by a tie rule among optimal actions, a mask (…, B).

    `rng` is asked by the rule ``"random"`` alone.
    """
    if ties == "all":
        return optimal
    if ties == "mix":
        return np.asarray(optimal / optimal.sum(axis=-1, keepdims=True))
    if ties == "first":
        chosen = optimal.argmax(axis=-1)
    elif ties == "last":
        chosen = optimal.shape[-1] - 1 - optimal[..., ::-1].argmax(axis=-1)
    else:
        draws = np.random.default_rng(rng).random(optimal.shape)
        chosen = np.where(optimal, draws, -1.0).argmax(axis=-1)
    return np.asarray(np.eye(optimal.shape[-1])[chosen])
