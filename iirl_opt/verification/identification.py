"""How much is known of the reward: the size of a feasible set, also against a hypothesis.

`identify` measures a feasible set: its dimension, its largest ball, how many directions are pinned,
and how far from a hypothesis r a feasible reward can point. Distances to the class are measured by
``|φ · x|`` over an orthonormal basis φ of ``span(r, 1)^⊥``, which are linear programs; the distance
itself would be a maximum of a convex function.

Source: paper, Section 4.1 for what is asked; the measures are ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import null_space

from iirl_opt.brief import in_brief
from iirl_opt.checks import checked, has, unmasked
from iirl_opt.errors import Infeasible, InvalidReward, Unbounded
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.printing.records import Tabular
from iirl_opt.rewards.domains import RewardBox, RewardSimplex
from iirl_opt.rewards.sets import RewardSet
from iirl_opt.rewards.state_reward import StateReward
from iirl_opt.solver import LiveProgram, Solver, solve
from iirl_opt.solver.records import SOLVER

__all__ = ["Identification", "RewardFrame", "identify"]

Array = NDArray[np.float64]

# Below this a program's optimum is zero.
THIN = 1e-8


@dataclass(frozen=True)
class Identification(Tabular):
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

    Examples
    --------
    >>> print(Identification(n_states=4, dimension=2, radius=0.1))
    dimension          2 of 4
    pinned directions  2
    largest ball       0.1
    """

    n_states: int
    dimension: int
    radius: float
    width: float | None = None
    angle: float | None = None
    angle_at_least: float | None = None

    __repr__ = in_brief

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
    feasible: RewardSet, hypothesis: ArrayLike | None = None, *, solver: Solver | str | None = None
) -> Identification:
    """Measure a feasible set of state rewards, also against a hypothesis.

    Parameters
    ----------
    hypothesis : shape (S,), not constant.

    Raises
    ------
    InvalidReward

    **Cost** a few LPs; with a hypothesis 4 (S − 2) more, each begun where the last one ended.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> known = iirl.FeasibleRewards(game).observe([[1], [1]], [[0, 1], [1, 0]])
    >>> found = identify(known, [0, 1])
    >>> found.dimension, round(found.angle, 6)
    (2, 0.0)
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

    def width(self, feasible: RewardSet, solver: Solver | str | None) -> tuple[float, Array]:
        """Return the largest ``|φ · x|`` or ``−w · x`` in the simplex, and an x that has it."""
        r = cp.Variable(self.w.size, name="r")
        limits = feasible.constraints(r) + RewardSimplex().constraints(r)
        width, at = 0.0, np.full(self.w.size, 1 / self.w.size)
        directions = np.stack([*self.across, *(-self.across), -self.w])
        for value, x in _furthest(r, limits, directions, solver):
            if value > width:
                width, at = value, x
        return width, at

    def angles(self, feasible: RewardSet, solver: Solver | str | None) -> tuple[float, float]:
        """Return bounds above and below on the largest angle between w and a feasible reward.

        With ``w · x = 1`` and m_i the largest ``|φ_i · x|``, the tangent is between max m and |m|.
        """
        unbounded = math.pi, math.pi / 2
        r = cp.Variable(self.w.size, name="r")
        cone = [*feasible.constraints(r), (cp.sum(r) == 0).set_label("centred")]
        against = solve(
            cp.Problem(cp.Minimize(self.w @ r), [*cone, *RewardBox().constraints(r)]), solver
        )
        if against.value is None or against.value < -THIN:
            return unbounded
        limits = [*cone, (self.w @ r == 1).set_label("unit along")]
        signed = np.concatenate([self.across, -self.across])
        try:
            found = [value for value, _ in _furthest(r, limits, signed, solver)]
        except (Infeasible, Unbounded):
            return unbounded
        largest = np.maximum(0.0, np.max(np.reshape(found, (2, -1)), axis=0))
        most = math.atan(float(np.linalg.norm(largest)))
        return most, math.atan(float(largest.max(initial=0.0)))


def _furthest(
    r: cp.Variable, limits: list[cp.Constraint], directions: Array, solver: Solver | str | None
) -> Iterator[tuple[float, Array]]:
    """Yield how far rewards within limits go in each direction (k, S), and one that does.

    Each program begins where the one before it ended, unless a solver is named.
    """
    if solver is None and len(directions):
        live = LiveProgram.of(cp.Problem(cp.Maximize(directions[0] @ r), limits))
        at, goal = live.columns[r.name()], np.zeros(live.shape[1])
        for direction in directions:
            goal[at] = direction
            live.change_objective(goal)
            found = live.solve()
            assert found.value is not None
            yield found.value, found.primal[r.name()]
        return
    c = cp.Parameter(r.size)
    program = cp.Problem(cp.Maximize(c @ r), limits)
    for direction in directions:
        c.value = direction
        value = solve(program, solver).value
        assert value is not None
        yield value, np.asarray(r.value)
