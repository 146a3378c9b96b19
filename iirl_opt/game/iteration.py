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

__all__ = [
    "Gains",
    "Played",
    "Rivals",
    "action_values",
    "evaluated",
    "gains",
    "improved",
    "near_optimum",
    "rivals",
]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# Modified policy iteration ends after so many steps without a smaller error: rounding is reached.
PATIENCE = 100

# With the same greedy policy for so many steps, exact policy iteration takes over where it ends the
# matter anyway: values may converge as slowly as γ does, on periodic chains.
SETTLED = 2


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


def evaluated(problem: PlanningProblem, actions: Integers, near: Array | None = None) -> Played:
    """Return the values of actions (S,) with a bound on their error, state by state.

    `near` is where to begin.
    """
    mdp = problem.mdp
    mean = problem.of(actions)
    factors = Factors(
        mdp.matrix[problem.rows(actions)], mdp.discount, mdp.is_nearest, problem.terms
    )
    values = factors.solve(mean, near)
    slop = np.broadcast_to(problem.slop, mdp.shape)[np.arange(mdp.n_states), actions]
    return Played(actions, values, error_of(factors, mean, slop, values), factors)


class Gains(NamedTuple):
    """What each choice gains over what is played, (S, n), and how wrong that may be, (S, n)."""

    q: Array
    gain: Array
    width: Array


def gains(problem: PlanningProblem, values: Array, error: Array) -> Gains:
    """Return the gains of all choices over a policy with these values (S,), off by `error`."""
    every = np.arange(problem.units.size)
    q = action_values(problem, values)
    width = _widths(problem, values, error, every).reshape(q.shape)
    return Gains(q, q - values[:, None], width)


def action_values(problem: PlanningProblem, values: Array) -> Array:
    """Return the values (S, n) of all choices followed by what has these values (S,)."""
    ahead = problem.mdp.matrix @ values
    return np.asarray(problem.reward + problem.mdp.discount * ahead.reshape(problem.mdp.shape))


def _widths(problem: PlanningProblem, values: Array, error: Array, rows: Integers) -> Array:
    """Return how wrong the gains of choices, given as rows ``s·n + b``, may be."""
    mdp = problem.mdp
    columns = np.column_stack([np.abs(values), error])
    few = 2 * rows.size < problem.units.size
    with np.errstate(invalid="ignore"):
        ahead = mdp.matrix[rows] @ columns if few else (mdp.matrix @ columns)[rows]
    met, off = mdp.discount * ahead.T
    s, b = np.divmod(rows, mdp.n_choices)
    reward = np.abs(np.broadcast_to(problem.reward, mdp.shape)[s, b])
    slop, units = np.broadcast_to(problem.slop, mdp.shape)[s, b], problem.units[s, b]
    width = (off + error[s]) * (1 + units) + units * (reward + met + np.abs(values[s]))
    width = width + slop + underflow(mdp.n_states, float(columns.max()))
    # Nothing of a bound that there is none of is no number.
    return np.where(np.isnan(width), np.inf, width)


class Rivals(NamedTuple):
    """The choices (s, b) that may be as good as what is played, it apart.

    Attributes
    ----------
    q : the values of all choices, (S, n).
    s, b : states and choices, in order.
    gain, width : what they gain, and how wrong that may be.
    """

    q: Array
    s: Integers
    b: Integers
    gain: Array
    width: Array


def rivals(problem: PlanningProblem, played: Played) -> Rivals:
    """Return the choices that may be as good as what is played."""
    values, error, n = played.values, played.error, problem.mdp.n_choices
    q = action_values(problem, values)
    gain = q - values[:, None]
    size = float(np.abs(problem.reward).max()) + 2 * float(np.abs(values).max())
    unit = float(problem.units.max())
    widest = 2 * float(error.max()) + 2 * unit * size + float(np.max(problem.slop))
    gain[np.arange(len(gain)), played.actions] = np.nan
    rows = np.flatnonzero(gain >= -2 * widest - underflow(len(values), size))
    gain, width = gain.ravel()[rows], _widths(problem, values, error, rows)
    near = gain >= -width
    s, b = np.divmod(rows[near], n)
    return Rivals(q, s, b, gain[near], width[near])


def improved(
    problem: PlanningProblem, actions: Integers, near: Array | None = None
) -> tuple[Played, Rivals, int]:
    """Improve actions (S,) until no choice is better beyond the bound on the error.

    Every step is an improvement in truth, so there is no cycle. Returns what is played in the end,
    the choices that may be as good, and the number of steps. `near` is near its values.
    """
    steps = 0
    while True:
        played = evaluated(problem, actions, near)
        found = rivals(problem, played)
        sure = np.flatnonzero(found.gain > found.width)
        if not sure.size:
            return played, found, steps
        # The last one written counts: the first choice of those that gain most.
        order = sure[np.lexsort((-found.b[sure], found.gain[sure]))]
        actions = actions.copy()
        actions[found.s[order]] = found.b[order]
        near = played.values
        steps += 1


def near_optimum(
    problem: PlanningProblem, tolerance: float = 1e-10, sweeps: int = 20
) -> tuple[Integers, Array, int]:
    """Return a policy near the optimum by modified policy iteration, near its values, its steps."""
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
            return actions, improved_values, iterations
        iterations += 1
        chain, mean = mdp.matrix[problem.rows(actions)], full[states, actions]
        values = improved_values
        for _ in range(sweeps):
            values = mean + gamma * (chain @ values)
