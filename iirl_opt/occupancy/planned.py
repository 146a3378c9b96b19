"""The optimum of an occupancy program as planning finds it: where a solver begins, or the answer.

The measure of a deterministic policy π is a basic solution: the columns (s, π(s)) are basic, all
others and the rows of the flow are at their bounds. Planning finds the best policy much sooner than
a simplex method does, which then has nothing left to do but to factor that basis. On unstructured
kernels its factors fill in. So beyond some thousands of states no solver is asked: the policy's
measure and values are a point and multipliers like a solver's, judged as those are, and the optimum
is at most ``start·(V + E)`` with E the proved bound on the error of planning's values.

**Source** Puterman 1994, section 6.9.4: simplex steps on the program are steps of policy iteration.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.game.factors import UNIT, Factors
from iirl_opt.game.iteration import near_optimum
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import modified_policy_iteration
from iirl_opt.game.problem import joint_problem

__all__ = ["FILLED", "PlannedMeasure", "basic_choices", "near_choices", "planned"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# Beyond so many states HiGHS's factors of an unstructured kernel cost more than seconds.
FILLED = 2000


def basic_choices(game: TwoAgentMDP, choices: Integers) -> NDArray[np.bool_]:
    """Return the columns (S·A·B,) that a policy's choices ``a·B + b`` (S,) make basic."""
    basic = np.zeros((game.n_states, game.n_choices), dtype=bool)
    basic[np.arange(game.n_states), choices] = True
    return basic.ravel()


def near_choices(game: TwoAgentMDP, reward: ArrayLike) -> Integers:
    """Return the choices (S,) of a joint policy near the best for a reward (S,) or (S, A, B).

    **Cost** arithmetic: one planning problem, and no proof of it.
    """
    return near_optimum(joint_problem(game, reward))[0]


class PlannedMeasure(NamedTuple):
    """The best joint policy as a point and multipliers of the occupancy program.

    Attributes
    ----------
    measure : of the policy, (S·A·B,).
    values : of the policy, (S,), the multipliers of the flow.
    bound : on the optimum, proved.
    iterations : of planning.
    """

    measure: Array
    values: Array
    bound: float
    iterations: int


def planned(game: TwoAgentMDP, reward: Array) -> PlannedMeasure:
    """Return the optimum of the occupancy program without side constraints, by planning.

    Parameters
    ----------
    reward : (S·A·B,).

    **Cost** arithmetic: one planning problem and a linear system with S unknowns.
    """
    best = modified_policy_iteration(game, reward.reshape(game.shape))
    basic = np.flatnonzero(basic_choices(game, best.actions))
    # The visits solve the transposed system of the chain that is played.
    mass = Factors(game.matrix[basic].T, game.discount).solve(game.start)
    measure = np.zeros(reward.size)
    measure[basic] = np.maximum(mass, 0.0)
    most = math.fsum(game.start * (best.values + best.error))
    # A start whose floats sum to one within S·ε = 2·S units is left so; the exact one is divided.
    units = (4 + 2 * game.n_states) * UNIT
    lost = units * math.fsum(game.start * (np.abs(best.values) + best.error))
    return PlannedMeasure(
        measure, best.values, math.nextafter(most + lost, np.inf), best.iterations
    )
