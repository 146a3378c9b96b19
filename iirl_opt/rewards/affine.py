"""Affine classes of state rewards: their members, their half-spaces, distances between them.

Two state rewards are *equivalent* when one is ``λ1 r + λ2 1`` of the other with λ1 > 0: then they
have the same optimal policies in every game (Lemma 1). The class of r with its boundary, the
constants, is the closed cone

    Aff(r) = {λ1 r + λ2 1 : λ1 ≥ 0},

and it is an intersection of half-spaces: rows ``φ_1 … φ_{N−2}`` that span ``span(r, 1)^⊥``, minus
their sum (together they are nonnegative only where all are zero), and the centred reward itself.
All of it is decided in exact numbers (`iirl_opt.rewards.state_reward`).

**Source** paper, Lemma 1, and the lemma on half-spaces in the proof of Theorem 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import FLAG, POSITIVE, array_of_floats, checked, unmasked
from iirl_opt.errors import InvalidReward
from iirl_opt.game.reward import REWARD
from iirl_opt.rewards.affine_rows import class_rows
from iirl_opt.rewards.state_reward import StateReward
from iirl_opt.solver.rules import EXPRESSION

__all__ = [
    "AffineClass",
    "affine_distance",
    "affine_halfspaces",
]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AffineClass:
    """The positive affine images ``{λ1 r + λ2 1 : λ1 ≥ 0}`` of a state reward r of shape (S,).

    Its boundary λ1 = 0, the constants, belongs to it: then it is closed, but no equivalence class
    (a constant lies in every class). With ``strict`` membership λ1 > 0 is asked for.

    **Source** paper, Lemma 1.
    """

    reward: Array
    _exact: StateReward = field(repr=False)

    @checked(reward=REWARD)
    def __init__(self, reward: ArrayLike) -> None:
        exact = StateReward.of(reward)
        object.__setattr__(self, "reward", exact.floats)
        object.__setattr__(self, "_exact", exact)

    @checked(x=EXPRESSION)
    def constraints(self, x: cp.Expression) -> list[cp.Constraint]:
        """Return constraints that hold an expression x of shape (S,) in the class."""
        scale, shift = cp.Variable(name="affine scale"), cp.Variable(name="affine shift")
        return [
            (x == scale * self.reward + shift).set_label("affine class"),
            (scale >= 0).set_label("affine scale"),
        ]

    @checked(x=array_of_floats(error=InvalidReward), strict=FLAG, tolerance=POSITIVE)
    def contains(self, x: ArrayLike, *, strict: bool = False, tolerance: float = 1e-9) -> bool:
        """Return whether x lies in the class, within `tolerance` of its own spread.

        Every number is what it is: a shift enters only by the bits that the sum of floats lost.

        Raises
        ------
        InvalidReward
            x has another shape or is not finite.

        **Cost** arithmetic: one projection.
        """
        y = StateReward.of(x, "x")
        if y.size != self._exact.size:
            raise InvalidReward("x", f"has shape ({y.size},)", f"{self.reward.shape}", y.size)
        if y.is_constant or self._exact.is_constant:
            return y.is_constant and (self._exact.is_constant or not strict)
        return y.is_image(self._exact, tolerance)


@checked(first=unmasked(InvalidReward), second=unmasked(InvalidReward))
def affine_distance(first: ArrayLike, second: ArrayLike) -> float:
    """Return the angle between two centred state rewards, in [0, π].

    Zero iff the rewards are positive affine images of one another. Of two constants it is zero, of
    a constant and another reward π/2: a constant has no direction, so it is no nearer to r than to
    −r. The cosine is Pearson's correlation over the states.

    It shares the invariances of EPIC (Gleave et al. 2021) under positive scaling and shifts. It has
    none under potential shaping: a shaped state reward is one of transitions, not of states, and
    among state rewards the responses do tell apart what shaping would identify. EPIC's Pearson
    distance is ``sin(angle / 2)``, taken after a canonicalisation that is not needed here.

    Raises
    ------
    InvalidReward
        The shapes differ, or a reward is no finite (S,).
    """
    a, b = StateReward.of(first, "first"), StateReward.of(second, "second")
    if a.size != b.size:
        raise InvalidReward("second", f"has shape ({b.size},)", f"({a.size},)", b.size)
    constant = a.is_constant, b.is_constant
    if any(constant):
        return 0.0 if all(constant) else math.pi / 2
    x, y = a.direction, b.direction
    return 2 * math.atan2(float(np.linalg.norm(x - y)), float(np.linalg.norm(x + y)))


@checked(reward=unmasked(InvalidReward))
def affine_halfspaces(reward: ArrayLike) -> Array:
    """Return half-spaces (H, S) whose intersection is Aff(r): the rows of `ideal_environment`.

    Rows of zeros (N ≤ 2) are left out; the rest are scaled to a largest entry of one.

    **Source** paper, the lemma on half-spaces in the proof of Theorem 2. **Cost** arithmetic.
    """
    r = StateReward.of(reward)
    rows = class_rows(r)
    rows = rows[(rows != 0).any(axis=1)]
    scaled = [[float(Fraction(x, int(abs(row).max()))) for x in row] for row in rows]
    return np.array(scaled).reshape(-1, r.size)
