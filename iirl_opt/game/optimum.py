"""Optimal values, and the set of all optimal actions.

Optimal values solve ``V = max_b (r(·, b) + γ P_b V)``. Ties matter everywhere in this theory, so
`Optimum.optimal` is the set of all optimal actions. It is decided by `iirl_opt.game.optimality`, by
error bounds and in the last resort in rational arithmetic: no tolerance enters, and nothing depends
on rewards that are never met. Functions of a model take an `MDP` or a `TwoAgentMDP`, whose one
planner chooses both actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import FLAG, POSITIVE, checked, whole
from iirl_opt.errors import InvalidPolicy
from iirl_opt.game.factors import UNIT, Factors, error_of
from iirl_opt.game.iteration import Played, gains, improved, near_optimum
from iirl_opt.game.mdp import GAME, MDP, MODEL, TwoAgentMDP
from iirl_opt.game.optimality import decide
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.game.problem import (
    PlanningProblem,
    as_mdp,
    follower_problem,
    joint_problem,
)
from iirl_opt.game.refinement import sharpened
from iirl_opt.game.values import scale_of

__all__ = [
    "Gaps",
    "Optimum",
    "follower_action_values",
    "follower_gaps",
    "follower_optimum",
    "modified_policy_iteration",
    "policy_iteration",
]

Array = NDArray[np.float64]

# The share of the local scale within which choices are reported as tied.
TIE = 1e-9

# Values whose error is a larger share of them, or of their local scale, are refined; and what is no
# error worth it.
SHARP, TINY = 2.0**-43, 1e-290


@dataclass(frozen=True, eq=False)
class Optimum:
    """Optimal values and all optimal actions.

    Attributes
    ----------
    values : of `policy`, optimal from every state, (S,).
    q : (S, n), the value of each choice followed by `policy`.
    error : bounds on ``|values − V*|``, state by state, (S,): rounding, and what is undecided.
    actions : an optimal choice in each state, (S,): the first one where all is decided.
    optimal : the set of all optimal choices as a mask (S, n).
    undecided : choices of that mask of which it is not known whether they are optimal.
    doubt : what an undecided choice may gain at most in one step; 0 where all is decided.
    iterations : improvement steps.
    scale : the local scale of `policy`, (S,): see `local_scale`.
    """

    values: Array
    q: Array
    error: Array
    actions: NDArray[np.int64]
    optimal: NDArray[np.bool_]
    undecided: NDArray[np.bool_]
    doubt: float
    iterations: int
    scale: Array

    @property
    def tie_tolerance(self) -> Array:
        """What `near` takes for a tie, (S, 1): 1e-9 of the local scale, or rounding."""
        return np.maximum(TIE * self.scale, 4 * self.error)[:, None]

    @property
    def near(self) -> NDArray[np.bool_]:
        """The choices within `tie_tolerance` of the best, (S, n): a report; nobody plays by it."""
        mask: NDArray[np.bool_] = self.q >= self.q.max(axis=1, keepdims=True) - self.tie_tolerance
        return mask

    @property
    def policy(self) -> Array:
        """The deterministic policy that plays `actions`, shape (S, n)."""
        return deterministic_policy(self.actions, self.q.shape[1])

    @property
    def residual(self) -> float:
        """The Bellman residual ``max_s |max_b q(s, b) − values(s)|``, recomputed."""
        return float(np.abs(self.q.max(axis=1) - self.values).max())


@checked(model=MODEL, exact=FLAG)
def policy_iteration(
    model: MDP | TwoAgentMDP,
    reward: ArrayLike,
    *,
    initial: ArrayLike | None = None,
    exact: bool = False,
) -> Optimum:
    """Return the optimum by Howard's policy iteration, which cannot cycle among ties.

    A state changes its action for a gain beyond its own error bound; what is left is decided as
    `iirl_opt.game.optimality` says.

    Parameters
    ----------
    reward : (S,), (S, B) of an MDP, (S, A, B) of a game.
    initial : choices (S,) to begin with; greedy for the immediate reward by default.
    exact : decide ties among up to 1,200 states that lead to each other, in place of 64.

    Raises
    ------
    InvalidReward
    InvalidPolicy
        `initial` names a choice that does not exist.

    **Cost** arithmetic: three linear systems with S unknowns and one matrix an iteration.
    """
    mdp, problem = as_mdp(model), joint_problem(model, reward)
    full = np.broadcast_to(problem.reward, mdp.shape)
    actions = full.argmax(axis=1) if initial is None else _initial_choices(mdp, initial)
    return _optimum(problem, actions, 0, exact)


@checked(model=MODEL, tolerance=POSITIVE, sweeps=whole(0), exact=FLAG)
def modified_policy_iteration(
    model: MDP | TwoAgentMDP,
    reward: ArrayLike,
    *,
    tolerance: float = 1e-10,
    sweeps: int = 20,
    exact: bool = False,
) -> Optimum:
    """Return the optimum by modified policy iteration, the engine of this library.

    Greedy steps alternate with `sweeps` evaluations of the greedy policy until the *span* of the
    last change bounds the error by `tolerance` times span(r)/(1−γ), or by what rounding allows
    (Puterman 1994, sections 6.5 and 6.6); policy iteration ends it.

    Parameters
    ----------
    reward : (S,), (S, B) of an MDP, (S, A, B) of a game.
    exact : see `policy_iteration`.

    **Cost** arithmetic.
    """
    problem = joint_problem(model, reward)
    actions, steps = near_optimum(problem, tolerance, sweeps)
    return _optimum(problem, actions, steps, exact)


def follower_optimum(
    game: TwoAgentMDP, reward: ArrayLike, pi1: ArrayLike, *, exact: bool = False
) -> Optimum:
    """Return the optimum of the MDP that the commitment `pi1` (S, A) leaves to the follower."""
    problem = follower_problem(game, reward, pi1)
    actions, steps = near_optimum(problem, 1e-10, 20)
    return _optimum(problem, actions, steps, exact)


def follower_action_values(game: TwoAgentMDP, reward: ArrayLike, pi1: ArrayLike) -> Array:
    """Return the follower's optimal action values (S, B), for those to whom ties are nothing."""
    problem = follower_problem(game, reward, pi1)
    return improved(problem, near_optimum(problem, 1e-10, 20)[0])[1].q


class Gaps(NamedTuple):
    """By how much choices are worse than a policy.

    Attributes
    ----------
    gaps : ``V(s) − Q(s, b)`` in floats, (S, n).
    widths : a bound on their error, (S, n).
    scale : the local scale of the policy, (S,).
    """

    gaps: Array
    widths: Array
    scale: Array


@checked(game=GAME)
def follower_gaps(
    game: TwoAgentMDP, reward: ArrayLike, pi1: ArrayLike, pi2: ArrayLike | None = None
) -> Gaps:
    """Return by how much the follower's actions are worse than a response, or than an optimal one.

    Parameters
    ----------
    pi1, pi2 : commitment (S, A) and response (S, B); without it the best one.

    **Cost** arithmetic: four linear systems with S unknowns and one matrix, and a planning problem
    without a response.
    """
    problem = follower_problem(game, reward, pi1)
    if pi2 is None:
        actions = near_optimum(problem, 1e-10, 20)[0]
        pi2 = deterministic_policy(improved(problem, actions)[0].actions, problem.mdp.n_choices)
    flat = game.check_follower_policy(pi2)
    unit = problem.unit + 4 * flat.shape[1] * UNIT
    mean = (flat * problem.reward).sum(axis=1)
    slop = (flat * (problem.slop + unit * np.abs(problem.reward))).sum(axis=1)
    factors = Factors(problem.mdp.chain(flat), problem.mdp.discount)
    values = factors.solve(mean)
    values = values + factors.solve(mean + factors.discount * (factors.chain @ values) - values)
    error = error_of(factors, mean, slop, values, unit)
    found = gains(problem, values, error)
    return Gaps(-found.gain, found.width, scale_of(factors, flat, problem.reward, values))


def _optimum(
    problem: PlanningProblem, actions: NDArray[np.int64], before: int, exact: bool
) -> Optimum:
    played, found, steps = improved(problem, actions)
    decision = decide(problem, played, found, exact=exact)
    played, q, scale = decision.played, decision.gains.q, _scale(problem, decision.played)
    if (played.error > SHARP * np.maximum(np.abs(played.values), scale) + TINY).any():
        played = sharpened(problem, played)
        q = gains(problem, played.values, played.error).q
    open_ = decision.undecided.any()
    actions = decision.played.actions if open_ else decision.optimal.argmax(axis=1)
    doubt = decision.doubt / (1 - problem.mdp.discount)
    return Optimum(
        played.values,
        q,
        played.error + doubt,
        actions,
        decision.optimal,
        decision.undecided,
        decision.doubt,
        before + steps,
        scale,
    )


def _scale(problem: PlanningProblem, played: Played) -> Array:
    flat = deterministic_policy(played.actions, problem.mdp.n_choices)
    return scale_of(played.factors, flat, problem.reward, played.values)


def _initial_choices(mdp: MDP, choices: ArrayLike) -> NDArray[np.int64]:
    """Return choices (S,) that exist, as they are."""
    if np.shape(choices) != (mdp.n_states,):
        raise InvalidPolicy(
            "initial", f"has shape {np.shape(choices)}", f"({mdp.n_states},)", choices
        )
    chosen: NDArray[np.int64] = deterministic_policy(choices, mdp.n_choices).argmax(axis=1)
    return chosen
