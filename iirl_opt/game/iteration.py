"""Policy iteration: actions, their values, and what every other choice gains over them.

A choice b is better or worse than a policy π where ``q(s, b)`` differs from ``V̂(s)`` by more than
both errors: that of ``V̂`` (see `iirl_opt.game.factors`), and that of q, ``γ P_b E`` and its own
rounding. What is better is played, until nothing is; what is left is for
`iirl_opt.game.optimality`. Modified policy iteration finds where to begin.

**Source** Puterman 1994, sections 6.4 to 6.6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iirl_opt.game.factors import Factors, error_of, underflow
from iirl_opt.game.problem import PlanningProblem
from iirl_opt.game.reward import ROUNDING

__all__ = ["Gains", "Played", "evaluated", "gains", "improved", "near_optimum"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# Modified policy iteration ends after so many steps without a smaller error: rounding is reached.
PATIENCE = 100

# With the same greedy policy for so many steps, exact policy iteration takes over where it ends the
# matter anyway: values may converge as slowly as γ does, on periodic chains.
SETTLED = 50


class Played(NamedTuple):
    """Actions with their values.

    Attributes
    ----------
    actions : what is played, (S,).
    values : its values in floats, (S,).
    error : a bound on their error, (S,).
    factors : of the chain.
    """

    actions: Integers
    values: Array
    error: Array
    factors: Factors


def evaluated(problem: PlanningProblem, actions: Integers) -> Played:
    """Return the values of actions (S,) with a bound on their error, state by state."""
    mdp = problem.mdp
    mean = problem.of(actions)
    factors = Factors(mdp.matrix[problem.rows(actions)], mdp.discount)
    values = factors.solve(mean)
    values = values + factors.solve(mean + mdp.discount * (factors.chain @ values) - values)
    slop = np.broadcast_to(problem.slop, mdp.shape)[np.arange(mdp.n_states), actions]
    return Played(actions, values, error_of(factors, mean, slop, values, problem.unit), factors)


class Gains(NamedTuple):
    """What each choice gains over what is played, (S, n), and how wrong that may be, (S, n)."""

    q: Array
    gain: Array
    width: Array


def gains(problem: PlanningProblem, values: Array, error: Array) -> Gains:
    """Return the gains of all choices over a policy with these values (S,), off by `error`."""
    mdp, gamma = problem.mdp, problem.mdp.discount
    ahead = gamma * (mdp.matrix @ np.column_stack([values, np.abs(values), error]))
    q = problem.reward + ahead[:, 0].reshape(mdp.shape)
    met = np.abs(problem.reward) + ahead[:, 1].reshape(mdp.shape) + np.abs(values)[:, None]
    width = (ahead[:, 2].reshape(mdp.shape) + error[:, None]) * (1 + problem.unit)
    width = width + problem.unit * met + problem.slop + underflow(mdp.n_states)
    return Gains(q, q - values[:, None], width)


def improved(problem: PlanningProblem, actions: Integers) -> tuple[Played, Gains, int]:
    """Improve actions (S,) until no choice is better beyond the bound on the error.

    Every step is an improvement in truth, so there is no cycle. Returns what is played in the end,
    the gains over it, and the number of steps.
    """
    steps = 0
    while True:
        played = evaluated(problem, actions)
        found = gains(problem, played.values, played.error)
        sure = np.where(found.gain > found.width, found.gain, -np.inf)
        better = sure.max(axis=1) > 0
        if not better.any():
            return played, found, steps
        actions = np.where(better, sure.argmax(axis=1), actions)
        steps += 1


def near_optimum(
    problem: PlanningProblem, tolerance: float, sweeps: int
) -> tuple[NDArray[np.int64], int]:
    """Return a policy near the optimum by modified policy iteration, and its steps."""
    mdp, r = problem.mdp, problem.reward
    full = np.broadcast_to(r, mdp.shape)
    gamma, states = mdp.discount, np.arange(mdp.n_states)
    rounding = ROUNDING * float(np.abs(r).max()) / (1 - gamma)
    accepted = max(tolerance * float(np.ptp(r)), rounding) / (1 - gamma)
    values = full.max(axis=1) / (1 - gamma)
    least, iterations, last = np.inf, 0, 0
    actions, same = np.zeros(mdp.n_states, dtype=np.int64), 0
    while True:
        q = r + gamma * (mdp.matrix @ values).reshape(mdp.shape)
        before, actions = actions, q.argmax(axis=1)
        same = same + 1 if np.array_equal(before, actions) else 0
        improved_values = q[states, actions]
        error = gamma / (1 - gamma) * float(np.ptp(improved_values - values)) / 2
        if error < least:
            least, last = error, iterations
        if error <= accepted or iterations - last >= PATIENCE or same >= SETTLED:
            return actions, iterations
        iterations += 1
        chain, mean = mdp.matrix[problem.rows(actions)], full[states, actions]
        values = improved_values
        for _ in range(sweeps):
            values = mean + gamma * (chain @ values)
