"""Optimal values, and the set of all optimal actions.

Optimal values solve ``V = max_b (r(·, b) + γ P_b V)``. Ties matter everywhere in this theory, so
`Optimum.optimal` is the set of all optimal actions. It is decided by `iirl_opt.game.optimality`, by
error bounds and in the last resort in rational arithmetic: no tolerance enters, and nothing depends
on rewards that are never met. Functions of a model take an `MDP` or a `TwoAgentMDP`, whose one
planner chooses both actions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import FLAG, POSITIVE, checked, whole
from iirl_opt.errors import InvalidPolicy
from iirl_opt.game.factors import Factors, error_of
from iirl_opt.game.iteration import Played, Rivals, action_values, gains, improved, near_optimum
from iirl_opt.game.mdp import GAME, MDP, MODEL, TwoAgentMDP
from iirl_opt.game.optimality import Decision, decide
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.game.problem import (
    PlanningProblem,
    as_mdp,
    follower_problem,
    joint_problem,
)
from iirl_opt.game.refinement import sharpened
from iirl_opt.game.values import scale_of
from iirl_opt.printing.records import Tabular, with_html

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

# The share of a value that it may change by when a tie is decided, if that is left for later.
SLIGHT = 2.0**-33


class _Tied(NamedTuple):
    """What is known of an optimum once its ties are decided: see `Optimum`."""

    actions: NDArray[np.int64]
    optimal: NDArray[np.bool_]
    undecided: NDArray[np.bool_]
    doubt: float
    error: Array


class _Ties:
    """Decides ties, and looks at scales, when somebody asks; any thread may."""

    def __init__(self, problem: PlanningProblem, decided: Callable[[], _Tied]) -> None:
        self._problem = problem
        self._known: _Tied | Callable[[], _Tied] = decided

    @property
    def known(self) -> _Tied:
        known = self._known
        if not isinstance(known, _Tied):
            known = self._known = known()
        return known

    @cached_property
    def scale(self) -> Array:
        mdp = self._problem.mdp
        flat = deterministic_policy(self.known.actions, mdp.n_choices)
        factors = Factors(mdp.matrix[self._problem.rows(self.known.actions)], mdp.discount)
        values = factors.solve(self._problem.of(self.known.actions))
        return scale_of(factors, flat, self._problem.reward, values)

    def __reduce__(self) -> tuple[Any, ...]:
        return _decided, (self.known, self.scale)


def _decided(known: _Tied, scale: Array) -> _Ties:
    """Return ties that are decided, without the problem that they come from."""
    ties = object.__new__(_Ties)
    vars(ties).update(_known=known, scale=scale)
    return ties


@dataclass(frozen=True, eq=False)
class Optimum(Tabular):
    """Optimal values and all optimal actions; ties are decided when somebody asks.

    Attributes
    ----------
    values : optimal from every state, (S,).
    q : (S, n), the value of each choice followed by what has these values.
    iterations : improvement steps.

    Examples
    --------
    >>> mdp = MDP([[[1, 0], [0, 1]], [[0, 1], [0, 1]]], discount=0.5)
    >>> found = policy_iteration(mdp, [0, 1])
    >>> found.values, found.actions
    (array([1., 2.]), array([1, 0]))
    >>> found.optimal  # in the second state both are
    array([[False,  True],
           [ True,  True]])
    """

    values: Array
    q: Array
    iterations: int
    _ties: _Ties = field(repr=False)

    __repr__ = in_brief

    @property
    def error(self) -> Array:
        """Bounds on ``|values − V*|``, state by state, (S,): rounding, and what is undecided."""
        return self._ties.known.error

    @property
    def actions(self) -> NDArray[np.int64]:
        """An optimal choice in each state, (S,): the first one where all is decided."""
        return self._ties.known.actions

    @property
    def optimal(self) -> NDArray[np.bool_]:
        """The set of all optimal choices as a mask (S, n)."""
        return self._ties.known.optimal

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """Choices of that mask of which it is not known whether they are optimal, (S, n)."""
        return self._ties.known.undecided

    @property
    def doubt(self) -> float:
        """What an undecided choice may gain at most in one step; 0 where all is decided."""
        return self._ties.known.doubt

    @property
    def scale(self) -> Array:
        """The local scale of `policy`, (S,): see `local_scale`."""
        return self._ties.scale

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

    Examples
    --------
    >>> mdp = MDP([[[1, 0], [0, 1]], [[0, 1], [0, 1]]], discount=0.5)
    >>> policy_iteration(mdp, [0, 1]).policy
    array([[0., 1.],
           [1., 0.]])
    """
    mdp, problem = as_mdp(model), joint_problem(model, reward)
    full = np.broadcast_to(problem.reward, mdp.shape)
    actions = full.argmax(axis=1) if initial is None else _initial_choices(mdp, initial)
    return _optimum(problem, actions, None, 0, exact)


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
    (Puterman 1994, sections 6.5 and 6.6), or the greedy policy stays the same for some steps, or
    that bound no longer falls. Policy iteration ends it from there, so that none of this decides
    what is optimal.

    Parameters
    ----------
    reward : (S,), (S, B) of an MDP, (S, A, B) of a game.
    exact : see `policy_iteration`.

    **Cost** arithmetic.

    Examples
    --------
    >>> mdp = MDP([[[1, 0], [0, 1]], [[0, 1], [0, 1]]], discount=0.5)
    >>> found = modified_policy_iteration(mdp, [0, 1])
    >>> found.values, found.actions
    (array([1., 2.]), array([1, 0]))
    """
    problem = joint_problem(model, reward)
    actions, near, steps = near_optimum(problem, tolerance, sweeps)
    return _optimum(problem, actions, near, steps, exact)


def follower_optimum(
    game: TwoAgentMDP, reward: ArrayLike, pi1: ArrayLike, *, exact: bool = False
) -> Optimum:
    """Return the optimum of the MDP that the commitment `pi1` (S, A) leaves to the follower."""
    problem = follower_problem(game, reward, pi1)
    actions, near, steps = near_optimum(problem)
    return _optimum(problem, actions, near, steps, exact)


def follower_action_values(game: TwoAgentMDP, reward: ArrayLike, pi1: ArrayLike) -> Array:
    """Return the follower's optimal action values (S, B), for those to whom ties are nothing."""
    return follower_optimum(game, reward, pi1).q


class Gaps(NamedTuple):
    """By how much choices are worse than a policy.

    Attributes
    ----------
    gaps : ``V(s) − Q(s, b)`` in floats, (S, n).
    widths : a bound on their error, (S, n).
    scale : the local scale of the policy, (S,).

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], discount=0.5)
    >>> found = follower_gaps(game, [0, 1], [[1], [1]])
    >>> float(found.gaps[0, 0]), bool(found.widths.max() < 1e-12)
    (0.5, True)
    """

    gaps: Array
    widths: Array
    scale: Array

    def __repr__(self) -> str:
        return in_brief(self)

    def _repr_html_(self) -> str:
        return with_html(self, "state")


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

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], discount=0.5)
    >>> found = follower_gaps(game, [0, 1], [[1], [1]], [[1, 0], [1, 0]])
    >>> float(found.gaps[0, 1])  # one who stays would gain as much by going
    -1.0
    """
    problem = follower_problem(game, reward, pi1)
    if pi2 is None:
        played = improved(problem, *near_optimum(problem)[:2])[0]
        pi2 = deterministic_policy(played.actions, problem.mdp.n_choices)
    flat = game.check_follower_policy(pi2)
    mean, slop = problem.mixed(flat)
    mdp, terms = problem.mdp, problem.terms + flat.shape[1]
    factors = Factors(mdp.chain(flat), mdp.discount, mdp.is_nearest, terms)
    values = factors.solve(mean)
    error = error_of(factors, mean, slop, values)
    found = gains(problem, values, error)
    return Gaps(-found.gain, found.width, scale_of(factors, flat, problem.reward, values))


def _optimum(
    problem: PlanningProblem,
    actions: NDArray[np.int64],
    near: Array | None,
    before: int,
    exact: bool,
) -> Optimum:
    played, found, steps = improved(problem, actions, near)
    q, decision = found.q, None
    if not _slight(found, played, problem.mdp.discount):
        decision = decide(problem, played, found, exact=exact)
        played, q = decision.played, decision.q
    if _blurred(problem, played):
        played = sharpened(problem, played)
        q = action_values(problem, played.values)

    def decided() -> _Tied:
        made = decide(problem, played, found, exact=exact) if decision is None else decision
        return _tied(problem, played, made)

    return Optimum(played.values, q, before + steps, _Ties(problem, decided))


def _tied(problem: PlanningProblem, played: Played, decision: Decision) -> _Tied:
    """Return what a decision says beside the values and the error of what was played before."""
    actions, error = decision.played.actions, played.error
    if actions is not played.actions:
        # Something was better by less than floats tell: the values are those of what was not.
        error = decision.played.error + np.abs(decision.played.values - played.values)
    if not decision.undecided.any():
        actions = decision.optimal.argmax(axis=1)
    error = error + decision.doubt / (1 - problem.mdp.discount)
    return _Tied(actions, decision.optimal, decision.undecided, decision.doubt, error)


def _blurred(problem: PlanningProblem, played: Played) -> bool:
    """Return whether values are worth refining."""
    sizes, least = np.abs(played.values), played.error - TINY
    if (least <= SHARP * sizes).all():
        return False
    flat = deterministic_policy(played.actions, problem.mdp.n_choices)
    scale = scale_of(played.factors, flat, problem.reward, played.values)
    return bool((least > SHARP * np.maximum(sizes, scale)).any())


def _slight(found: Rivals, played: Played, discount: float) -> bool:
    """Return whether values hardly change if a choice is better that may be."""
    most = (found.gain + found.width) / (1 - discount)
    return bool((most <= SLIGHT * np.abs(played.values[found.s]) + TINY).all())


def _initial_choices(mdp: MDP, choices: ArrayLike) -> NDArray[np.int64]:
    """Return choices (S,) that exist, as they are."""
    if np.shape(choices) != (mdp.n_states,):
        raise InvalidPolicy(
            "initial", f"has shape {np.shape(choices)}", f"({mdp.n_states},)", choices
        )
    chosen: NDArray[np.int64] = deterministic_policy(choices, mdp.n_choices).argmax(axis=1)
    return chosen
