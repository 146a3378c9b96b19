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
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import FLAG, LABELS, POSITIVE, array_of_floats, checked, one_of, unmasked
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.game.reward import REWARD
from iirl_opt.occupancy.rows import StateRow
from iirl_opt.printing.records import Tabular
from iirl_opt.rewards.affine_rows import class_rows
from iirl_opt.rewards.sets import RewardSolution
from iirl_opt.rewards.state_reward import StateReward
from iirl_opt.solver import Clarabel, Solver, solve
from iirl_opt.solver.multipliers import by_size, multipliers_of, rows_under
from iirl_opt.solver.records import SOLVER
from iirl_opt.solver.rules import EXPRESSION

__all__ = [
    "AffineClass",
    "affine_distance",
    "affine_halfspaces",
]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AffineClass(Tabular):
    """The positive affine images ``{λ1 r + λ2 1 : λ1 ≥ 0}`` of a state reward r of shape (S,).

    Its boundary λ1 = 0, the constants, belongs to it: then it is closed, but no equivalence class
    (a constant lies in every class). With ``strict`` membership λ1 > 0 is asked for.

    **Source** paper, Lemma 1.

    Examples
    --------
    >>> same = AffineClass([0.0, 1.0, 3.0])
    >>> same.contains([5.0, 7.0, 11.0]), same.contains([3.0, 1.0, 0.0])
    (True, False)
    >>> round(same.nearest([0.0, 1.0, 2.0]).value, 9)
    0.333333333
    """

    reward: Array
    _exact: StateReward = field(repr=False)

    __repr__ = in_brief

    @checked(reward=REWARD)
    def __init__(self, reward: ArrayLike) -> None:
        exact = StateReward.of(reward)
        object.__setattr__(self, "reward", exact.floats)
        object.__setattr__(self, "_exact", exact)

    @checked(r=EXPRESSION)
    def constraints(self, r: cp.Expression) -> list[cp.Constraint]:
        """Return constraints that hold an expression r of shape (S,) in the class."""
        if r.shape != self.reward.shape:
            raise InvalidReward("r", f"has shape {r.shape}", f"{self.reward.shape}", r.shape)
        scale, shift = cp.Variable(name="affine scale"), cp.Variable(name="affine shift")
        return [
            (r == scale * self.reward + shift).set_label("affine class"),
            (scale >= 0).set_label("affine scale"),
        ]

    @checked(reward=array_of_floats(error=InvalidReward), strict=FLAG, tolerance=POSITIVE)
    def contains(self, reward: ArrayLike, *, strict: bool = False, tolerance: float = 1e-9) -> bool:
        """Return whether a reward lies in the class, within `tolerance` of its own spread.

        Every number is what it is: a shift enters only by the bits that the sum of floats lost.

        Raises
        ------
        InvalidReward
            It has another shape or is not finite.

        **Cost** arithmetic: one projection.
        """
        y = StateReward.of(reward, "reward")
        if y.size != self._exact.size:
            raise InvalidReward("reward", f"has shape ({y.size},)", f"{self.reward.shape}", y.size)
        if y.is_constant or self._exact.is_constant:
            return y.is_constant and (self._exact.is_constant or not strict)
        return y.is_image(self._exact, tolerance)

    @checked(reward=array_of_floats(error=InvalidReward), norm=one_of(1, 2), solver=SOLVER)
    def nearest(
        self, reward: ArrayLike, *, norm: Literal[1, 2] = 1, solver: Solver | str | None = None
    ) -> RewardSolution:
        """Return the member of the class nearest to a reward (S,); its ``value`` is the distance.

        Parameters
        ----------
        norm : 1 (sum of absolute differences, an LP by HiGHS) or 2 (Euclidean, a second-order cone
            program by Clarabel).

        **Cost** one LP or one cone program.
        """
        target = np.asarray(reward)
        if target.shape != self.reward.shape:
            allowed = f"{self.reward.shape}"
            raise InvalidReward("reward", f"has shape {target.shape}", allowed, target.shape)
        r = cp.Variable(target.size, name="r")
        distance = cp.norm1(r - target) if norm == 1 else cp.norm2(r - target)
        if norm == 2 and solver is None:
            solver = Clarabel()
        solved = solve(cp.Problem(cp.Minimize(distance), self.constraints(r)), solver)
        found = np.array(r.value)
        return RewardSolution(found, float(np.linalg.norm(found - target, ord=norm)), solved)

    @checked(states=LABELS)
    def by_row(self, answer: Any, *, states: Sequence[Any] | None = None) -> dict[StateRow, float]:
        """Return multipliers, or a Farkas ray, of the rows ``affine class`` by (state,).

        The largest come first: what the objective gains (maximised; the fall of one that is
        minimised) where the reward may exceed its image in that state by one unit.

        Parameters
        ----------
        answer : a `Solved`, or a record or an error that holds one, of a program with these
            `constraints`; or multipliers by constraint.
        states : labels; positions by default.

        Raises
        ------
        InvalidArgument
            It holds no multipliers and no ray, or not those of this class; other states.
        """
        given = multipliers_of(answer)
        size = self.reward.size
        labels = range(size) if states is None else states
        if len(labels) != size:
            raise InvalidArgument("states", f"are {len(labels)}", f"{size} labels", states)
        rows = rows_under(given, "affine class", size)
        if rows is None:
            found = ", ".join(given) or "nothing"
            raise InvalidArgument("answer", f"holds {found}", "rows of this class", answer)
        return by_size(zip(map(StateRow, labels), rows.tolist(), strict=True))

    def dimension(self) -> int:
        """Return the dimension of the class: 2, or 1 of a constant. **Cost** arithmetic."""
        return 1 if self._exact.is_constant else 2


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

    **Cost** arithmetic: one pass over the states.

    Examples
    --------
    >>> affine_distance([0.0, 1.0, 3.0], [5.0, 7.0, 11.0])
    0.0
    >>> round(affine_distance([0.0, 1.0, 0.0], [0.0, 0.0, 1.0]), 6)  # two thirds of π
    2.094395
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

    Examples
    --------
    >>> halfspaces = affine_halfspaces([0.0, 1.0, 2.0])
    >>> halfspaces.tolist()
    [[0.5, -1.0, 0.5], [-0.5, 1.0, -0.5], [-1.0, 0.0, 1.0]]
    >>> (halfspaces @ [5.0, 7.0, 9.0]).tolist()  # an image of it
    [0.0, 0.0, 4.0]
    """
    r = StateReward.of(reward)
    rows = class_rows(r)
    rows = rows[(rows != 0).any(axis=1)]
    scaled = [[float(Fraction(x, int(abs(row).max()))) for x in row] for row in rows]
    return np.array(scaled).reshape(-1, r.size)
