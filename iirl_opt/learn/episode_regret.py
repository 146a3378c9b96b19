"""Regret: what a commitment earns less than the best one (paper, Section 3.1).

    regret(π1) = V* − E_start[V_{π1, π2(π1)}],    V* = max_π1 E_start[V_{π1, π2(π1)}]

with π2(π1) the follower's response, absolute, in the unit of the values. Every regret of this
library is `loss` of two such values.

V* is known exactly where the follower answers optimally: it is the joint optimum. No follower does
better than that, so against one of which nothing is known it is an upper bound. For a follower that
errs, V* is the value of the best commitment *known*: the better of what approximate value iteration
finds (Algorithms 2 and 3) and the leader's part of an optimal joint policy. That is a lower bound,
so a regret against it may be negative.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import FINITE, checked, each
from iirl_opt.commitment.algorithms_2_and_3 import ValueIteration
from iirl_opt.commitment.methods import commit
from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.follower.protocols import FOLLOWER, Follower, LocalFollower
from iirl_opt.follower.soft import SoftOptimalFollower
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.values import evaluate
from iirl_opt.observation import SEEN, Observation, Trajectory

__all__ = ["best_value", "loss", "plan_for", "regret"]

Array = NDArray[np.float64]

# Differences below this share of the larger value are rounding.
ROUNDING = 1e-12


@checked(best=FINITE, value=FINITE)
def loss(best: float, value: float) -> float:
    """Return ``best − value``, or 0 where the two differ by rounding alone.

    **Cost** arithmetic.

    Examples
    --------
    >>> loss(2.0, 1.5), loss(0.1 + 0.2, 0.3)
    (0.5, 0.0)
    """
    gap = best - value
    return 0.0 if abs(gap) <= ROUNDING * max(abs(best), abs(value)) else gap


@checked(game=GAME, follower=FOLLOWER)
def best_value(game: TwoAgentMDP, truth: ArrayLike, follower: Follower | None = None) -> float:
    """Return V*, the value from the start of the best commitment that is known.

    Parameters
    ----------
    truth : the reward, (S,) or (S, A, B).
    follower : who answers; optimally by default. A follower that says only how it responds to a
        whole commitment is not asked: it gets the joint optimum, which bounds what it can reach.

    **Source** paper, Section 3.1. **Cost** one LP; for a follower that errs also an approximate
    value iteration.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], 0.5, start=[1, 0])
    >>> round(best_value(game, [0, 1]), 6)
    1.0
    >>> from iirl_opt import EpsilonGreedyFollower
    >>> round(best_value(game, [0, 1], EpsilonGreedyFollower(0.5)), 6)  # it stays now and then
    0.857143
    """
    joint = commit(game, truth)
    if not isinstance(follower, LocalFollower) or isinstance(follower, OptimalFollower):
        return float(joint.value)
    plans = plan_for(game, truth, follower), joint.policy
    return max(value_of(game, truth, pi1, follower) for pi1 in plans)


def plan_for(game: TwoAgentMDP, reward: ArrayLike, follower: Follower) -> Array:
    """Return a good commitment (S, A) to a follower: heuristic, or for others the joint policy.

    **Source** paper, Algorithms 2 and 3 for local followers. **Cost** arithmetic.
    """
    if isinstance(follower, LocalFollower):
        return ValueIteration().iterate(CommitmentProblem(game, reward, follower)).policy
    if isinstance(follower, SoftOptimalFollower):
        return commit(game, reward, follower).policy
    return commit(game, reward).policy


def value_of(game: TwoAgentMDP, reward: ArrayLike, pi1: Array, follower: Follower) -> float:
    """Return what a commitment (S, A) earns from the start with a follower's response."""
    response = follower.respond(game, reward, pi1)
    return float(game.start @ evaluate(game, reward, (pi1, response)))


@checked(game=GAME, history=each(SEEN), best=FINITE)
def regret(
    game: TwoAgentMDP,
    truth: ArrayLike,
    history: Sequence[Observation | Trajectory],
    *,
    best: float | None = None,
) -> Array:
    """Return the regret of each episode under the true reward, shape (T,).

    Parameters
    ----------
    history : whole responses; a trajectory does not say what was earned on average.
    best : V*, `best_value` for an optimal follower by default: then no regret is below 0, near a
        discount of one either, where the values of the responses are rounded more than V*.

    Raises
    ------
    InvalidArgument
        There is a trajectory: take `Episode.regret` of a run.

    **Source** paper, Section 3.1 (objective and regret). **Cost** arithmetic, one linear system an
    episode.

    Examples
    --------
    >>> from iirl_opt import observe
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], 0.5, start=[1, 0])
    >>> stays, goes = ([[1], [1]], [[1, 0], [1, 0]]), ([[1], [1]], [[0, 1], [1, 0]])
    >>> regret(game, [0, 1], [observe(game, *stays), observe(game, *goes)])
    array([1., 0.])
    """
    whole = [seen for seen in history if isinstance(seen, Observation)]
    if len(whole) < len(history):
        raise InvalidArgument("history", "holds trajectories", "whole responses", history)
    top = best_value(game, truth) if best is None else best
    earned = [float(game.start @ evaluate(game, truth, (o.pi1, o.pi2))) for o in whole]
    least = 0.0 if best is None else -np.inf
    return np.array([max(loss(top, value), least) for value in earned])
