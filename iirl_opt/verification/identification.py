"""How much is known of the reward: the size of a feasible set, also against a hypothesis.

`identify` measures a feasible set: its dimension, its largest ball, how many directions are pinned,
and how far from a hypothesis r a feasible reward can point. Distances to the class are measured by
``|φ · x|`` over an orthonormal basis φ of ``span(r, 1)^⊥``, which are linear programs; the distance
itself would be a maximum of a convex function.

Source: paper, Section 4.1 for what is asked; the measures are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import null_space

from iirl_opt.checks import checked, has, unmasked
from iirl_opt.errors import Infeasible, InvalidReward, Unbounded
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.rewards.domains import RewardBox, RewardSimplex
from iirl_opt.rewards.sets import RewardSet
from iirl_opt.rewards.state_reward import StateReward
from iirl_opt.solver import Solver, solve
from iirl_opt.solver.records import SOLVER

__all__ = ["Identification", "RewardFrame", "identify"]

Array = NDArray[np.float64]

# Below this a program's optimum is zero.
THIN = 1e-8


@dataclass(frozen=True)
class Identification:
    """The size of a feasible set of state rewards, each number the answer of linear programs.

    Attributes
    ----------
    n_states : S.
    dimension : of the cone; 1 when only constants are left, 2 when it is a class (or its span).
    radius : of the largest ball within the reward simplex and the set's own affine hull.
    width : the largest ``|φ · x|`` or ``−w · x`` over the set within the reward simplex, w being
        the centred hypothesis of length one: zero for its class; None without hypothesis.
    angle : an upper bound on the angle between the hypothesis and a feasible reward, in radians; π
        where it is not bounded below a right angle; None without hypothesis, or where only
        constants are feasible.
    angle_at_least : some feasible reward is that far; π/2 where `angle` is π.
    """

    n_states: int
    dimension: int
    radius: float
    width: float | None = None
    angle: float | None = None
    angle_at_least: float | None = None

    @property
    def pinned(self) -> int:
        """The number of directions in which all feasible rewards agree, up to S − 1."""
        return self.n_states - self.dimension

    def __str__(self) -> str:
        lines = [
            f"dimension          {self.dimension} of {self.n_states}",
            f"pinned directions  {self.pinned}",
            f"largest ball       {self.radius:.3g}",
        ]
        if self.width is not None:
            lines.append(f"width              {self.width:.3g}")
        if self.angle is not None and self.angle_at_least is not None:
            bound = "not bounded" if self.angle == math.pi else f"at most {self.angle:.3g} rad"
            lines.append(f"angle              {bound}, at least {self.angle_at_least:.3g} rad")
        return "\n".join(lines)


@checked(
    hypothesis=unmasked(InvalidReward),
    solver=SOLVER,
    feasible=has("lifted", what="a set of rewards"),
)
def identify(
    feasible: RewardSet, hypothesis: ArrayLike | None = None, *, solver: Solver | None = None
) -> Identification:
    """Measure a feasible set of state rewards, also against a hypothesis.

    Parameters
    ----------
    hypothesis : shape (S,), not constant.

    Raises
    ------
    InvalidReward

    **Cost** a few LPs; with a hypothesis 4 (S − 2) more, compiled twice.
    """
    n_states = feasible.game.n_states
    dimension = feasible.dimension(solver=solver)
    radius = feasible.chebyshev_centre(solver=solver).radius
    if hypothesis is None:
        return Identification(n_states, dimension, radius)
    frame = RewardFrame.of(feasible.game, hypothesis)
    width, _ = frame.width(feasible, solver)
    if dimension == 1:
        return Identification(n_states, dimension, radius, width)
    most, least = frame.angles(feasible, solver)
    return Identification(n_states, dimension, radius, width, most, least)


class RewardFrame(NamedTuple):
    """An orthonormal basis that fits a hypothesis: 1, the unit w along it, and the rest.

    Attributes
    ----------
    w : (S,).
    across : φ, shape (S − 2, S).
    """

    w: Array
    across: Array

    @classmethod
    def of(cls, game: TwoAgentMDP, hypothesis: ArrayLike) -> RewardFrame:
        r = StateReward.of(hypothesis, "hypothesis")
        if r.size != game.n_states:
            raise InvalidReward(
                "hypothesis", f"has shape ({r.size},)", f"({game.n_states},)", (r.size,)
            )
        if r.is_constant:
            allowed = "a reward with a direction: one that varies"
            raise InvalidReward("hypothesis", "is constant", allowed, float(r.numbers[0]))
        w = r.direction
        return cls(w, null_space(np.stack([np.ones(w.size), w])).T)

    def width(self, feasible: RewardSet, solver: Solver | None) -> tuple[float, Array]:
        """Return the largest ``|φ · x|`` or ``−w · x`` in the simplex, and an x that has it."""
        r, c = cp.Variable(self.w.size, name="r"), cp.Parameter(self.w.size)
        limits = feasible.constraints(r) + RewardSimplex().constraints(r)
        program = cp.Problem(cp.Maximize(c @ r), limits)
        width, at = 0.0, np.full(self.w.size, 1 / self.w.size)
        for direction in (*self.across, *(-self.across), -self.w):
            c.value = direction
            value = solve(program, solver).value
            assert value is not None
            if value > width:
                width, at = value, np.asarray(r.value)
        return width, at

    def angles(self, feasible: RewardSet, solver: Solver | None) -> tuple[float, float]:
        """Return bounds above and below on the largest angle between w and a feasible reward.

        With ``w · x = 1`` and m_i the largest ``|φ_i · x|``, the tangent is between max m and |m|.
        """
        unbounded = math.pi, math.pi / 2
        r, c = cp.Variable(self.w.size, name="r"), cp.Parameter(self.w.size)
        cone = [*feasible.constraints(r), (cp.sum(r) == 0).set_label("centred")]
        against = solve(
            cp.Problem(cp.Minimize(self.w @ r), [*cone, *RewardBox().constraints(r)]), solver
        )
        if against.value is None or against.value < -THIN:
            return unbounded
        program = cp.Problem(cp.Maximize(c @ r), [*cone, (self.w @ r == 1).set_label("unit along")])
        largest = np.zeros(len(self.across))
        for i, direction in enumerate(self.across):
            for sign in (1.0, -1.0):
                c.value = sign * direction
                try:
                    value = solve(program, solver).value
                except (Infeasible, Unbounded):
                    return unbounded
                assert value is not None
                largest[i] = max(largest[i], value)
        most = math.atan(float(np.linalg.norm(largest)))
        return most, math.atan(float(largest.max(initial=0.0)))
