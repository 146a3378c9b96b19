"""What it costs to plan for the wrong follower, and what knowing the right one is worth.

A leader that assumes follower f and faces follower g commits to what is best against f and earns
``V_g(π1_f)``; its *loss* is ``max_π1 V_g(π1) − V_g(π1_f)``. The paper's experiments are of this
kind: the leader's part of the optimal joint policy is what is best if the follower is assumed to be
optimal. If the follower's type is drawn from a prior and the leader commits without knowing it, the
best single commitment maximises ``Σ_k w_k V_k(π1)``, and the *value of information* is by how much
``Σ_k w_k max_π1 V_k(π1)`` is larger. All commitments here are deterministic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from iirl_opt.brief import in_brief
from iirl_opt.checks import TIME_LIMIT, array_of_floats, checked, each, optional, whole
from iirl_opt.commitment.branch_and_bound import suited
from iirl_opt.commitment.dominating import optimistic_commitment
from iirl_opt.commitment.enumeration import LIMIT
from iirl_opt.commitment.incumbent import PROVED, Incumbent, Settled, scales
from iirl_opt.commitment.lemma_2 import joint_optimum, proved_joint
from iirl_opt.commitment.plans import METHOD, Commitment, CommitmentMethod
from iirl_opt.commitment.problem import PROBLEM, Array, CommitmentProblem, Integers
from iirl_opt.commitment.relaxation import bounded
from iirl_opt.commitment.searches import Search, check_count, commitments
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower
from iirl_opt.follower.protocols import FOLLOWER, Follower
from iirl_opt.printing.records import Tabular

# Commitments near the best of the mean that are evaluated once more.
RESOLVED = 1000

__all__ = [
    "Information",
    "Misspecified",
    "assume",
    "misspecification_loss",
    "plan_for",
    "value_of_information",
]


@dataclass(frozen=True, eq=False)
class Misspecified(Tabular):
    """What a commitment planned for an assumed follower earns against the true one.

    Attributes
    ----------
    actions : the commitment, (S,).
    value, values : against the true follower, from the start distribution and every state (S,).
    best : the best commitment found against the true follower, and its bound.

    Examples
    --------
    >>> from iirl_opt.follower import BoltzmannFollower
    >>> from iirl_opt.game.generate import random_game
    >>> problem = CommitmentProblem(*random_game(3, 2, 2, rng=6), BoltzmannFollower(1.0))
    >>> found = misspecification_loss(problem)["optimal"]  # planned for an optimal follower
    >>> found.actions, found.best.actions, round(found.loss, 3)
    (array([0, 1, 1]), array([0, 1, 0]), 0.144)
    """

    actions: Integers
    value: float
    values: Array
    best: Search

    __repr__ = in_brief

    @property
    def loss(self) -> float:
        """How much less it earns than the best commitment found: exact where `best` is complete."""
        return self.best.value - self.value

    @property
    def loss_bound(self) -> float:
        """The loss is at most this."""
        return self.best.bound - self.value


@dataclass(frozen=True, eq=False)
class Information(Tabular):
    """The value of knowing the follower's type before the leader commits.

    Attributes
    ----------
    actions : the best single commitment (S,) under the prior.
    value : its expected value.
    values : its value against each type, (K,).
    known_actions : the best commitment against each type, (K, S).
    known_values : their values, (K,).
    gain : the expected gain of knowing the type, ≥ 0.

    Examples
    --------
    >>> from iirl_opt.follower import BoltzmannFollower
    >>> from iirl_opt.game.generate import random_game
    >>> problem = CommitmentProblem(*random_game(3, 2, 2, rng=6))
    >>> found = value_of_information(problem, [BoltzmannFollower(0.1), BoltzmannFollower(10.0)])
    >>> found.actions, found.known_actions.tolist()
    (array([0, 1, 1]), [[0, 0, 1], [0, 1, 1]])
    """

    actions: Integers
    value: float
    values: Array
    known_actions: Integers
    known_values: Array
    gain: float

    __repr__ = in_brief


def assume(problem: CommitmentProblem, follower: Follower) -> CommitmentProblem:
    """Return the problem with another follower; its tie rule is kept where it has a meaning."""
    ties = problem.ties if isinstance(follower, OptimalFollower | EpsilonGreedyFollower) else None
    return replace(problem, follower=follower, ties=ties)


def plan_for(problem: CommitmentProblem) -> Integers:
    """Return a best deterministic commitment (S,): a dominating one where the bounds prove one.

    A commitment that is best from the start distribution may play anything in states that this
    follower never visits, and another follower may go there; a dominating one is best there too.
    So for an optimal follower this is the leader's part of a joint policy optimal everywhere.

    Raises
    ------
    InvalidArgument
        As `BranchAndBound.search`, or `Enumeration.search`.
    """
    if bounded(problem):
        if problem.lemma_2:
            found = proved_joint(problem, joint_optimum(problem)).policy
            return np.asarray(found.argmax(axis=1))
        actions, least, bounds = optimistic_commitment(problem)
        response = problem.assess(actions[None]).response[0]
        if (least >= bounds - PROVED * scales(problem, actions, response)).all():
            return actions
    return suited(problem).search(problem).actions


@checked(problem=PROBLEM, by=optional(METHOD), time_limit=TIME_LIMIT)
def misspecification_loss(
    problem: CommitmentProblem,
    assumed: Follower | Mapping[str, Follower] | None = None,
    *,
    by: CommitmentMethod | None = None,
    time_limit: float | None = None,
) -> dict[str, Misspecified]:
    """Return what commitments planned for assumed followers lose against the true one.

    Parameters
    ----------
    problem : with the true follower.
    assumed : a follower, or followers by name; ``"optimal"`` is always among the answers, a single
        follower goes by ``"assumed"``.
    by : the method that plans for the assumed followers, a deterministic commitment each; by
        default a search for one that is best from every state, where there is one.
    time_limit : seconds for the search of the best commitment against the true follower, after
        which its bound stands in for it.

    Raises
    ------
    InvalidArgument
        The method's commitment is not deterministic, or not to allowed actions; else as
        `BranchAndBound.search`, or `Enumeration.search`.

    **Source** paper, Section 5 (the joint policy against suboptimal followers). **Cost** one search
    a follower.

    Examples
    --------
    >>> from iirl_opt.follower import BoltzmannFollower
    >>> from iirl_opt.game.generate import random_game
    >>> game, reward = random_game(8, 2, 2, rng=0)
    >>> problem = CommitmentProblem(game, reward, BoltzmannFollower(1))
    >>> found = misspecification_loss(problem, {"ten times": BoltzmannFollower(10)})
    >>> {name: bool(answer.loss >= 0) for name, answer in found.items()}
    {'optimal': True, 'ten times': True}
    """
    followers: dict[str, Follower] = {"optimal": OptimalFollower()}
    if isinstance(assumed, Mapping):
        followers.update(assumed)
    elif assumed is not None:
        followers["assumed"] = assumed
    plans = {}
    for name, follower in followers.items():
        asked = assume(problem, follower)
        plans[name] = plan_for(asked) if by is None else _actions_of(name, by.plan(asked))
    earned = {name: settled(problem, actions) for name, actions in plans.items()}
    first = max(earned.values(), key=lambda one: one.value).actions
    best = suited(problem, incumbent=first, time_limit=time_limit).search(problem)
    return {
        name: Misspecified(one.actions, one.value, one.values, best) for name, one in earned.items()
    }


@checked(problem=PROBLEM, limit=whole(1), followers=each(FOLLOWER, 1), weights=array_of_floats(1))
def value_of_information(
    problem: CommitmentProblem,
    followers: Sequence[Follower],
    weights: ArrayLike | None = None,
    *,
    limit: int = LIMIT,
) -> Information:
    """Return the expected gain of knowing the follower's type over the best single commitment.

    Parameters
    ----------
    problem : the game, rewards and allowed actions; its own follower plays no part.
    followers : K types, such as Boltzmann followers over a grid of β.
    weights : prior (K,), ≥ 0 with a positive sum, which is made 1; uniform by default.
    limit : how many commitments are accepted.

    Raises
    ------
    InvalidArgument
        No follower; weights that are no prior; more commitments than the limit.

    **Cost** arithmetic: K enumerations.

    Examples
    --------
    >>> from iirl_opt.follower import BoltzmannFollower
    >>> from iirl_opt.game.generate import random_game
    >>> problem = CommitmentProblem(*random_game(3, 2, 2, rng=6))
    >>> followers = [BoltzmannFollower(0.1), BoltzmannFollower(10.0)]
    >>> round(value_of_information(problem, followers).gain, 3)
    0.289
    """
    prior = _check_prior(len(followers), weights)
    check_count(problem, limit)
    types = [assume(problem, follower) for follower in followers]
    start = problem.game.start
    alone = [Incumbent(kind) for kind in types]
    rivals: list[tuple[float, Integers]] = []
    floor = -np.inf
    for rows in commitments(problem.allowed):
        low, high = np.zeros(len(rows)), np.zeros(len(rows))
        for one, weight in zip(alone, prior, strict=True):
            found = one.look(rows)
            low += weight * (found.lower @ start)
            high += weight * (found.upper @ start)
        floor = max(floor, float(low.max()))
        rivals += [(float(high[k]), rows[k]) for k in np.flatnonzero(high >= floor)]
    # Whoever may be best is evaluated as exactly as its followers allow.
    near = sorted((r for r in rivals if r[0] >= floor), key=lambda rival: -rival[0])[:RESOLVED]
    worth = [np.array([settled(kind, rows).value for kind in types]) for _, rows in near]
    at = int(np.argmax([scores @ prior for scores in worth]))
    known = [one.settle(-np.inf) for one in alone]
    best = np.array([one.value for one in known])
    value = float(worth[at] @ prior)
    gain = max(float(prior @ best) - value, 0.0)
    known_actions = np.stack([one.actions for one in known])
    return Information(near[at][1].copy(), value, worth[at], known_actions, best, gain)


def settled(problem: CommitmentProblem, actions: Integers) -> Settled:
    """Return what one commitment (S,) earns: in rational arithmetic where that is possible."""
    one = Incumbent(problem)
    one.look(actions[None])
    return one.settle(-np.inf)


def _actions_of(name: str, planned: Commitment) -> Integers:
    """Return a deterministic commitment to allowed actions as actions (S,)."""
    policy, allowed = planned.policy, planned.problem.allowed
    if not np.isin(policy, (0, 1)).all() or (policy.astype(bool) & ~allowed).any():
        wanted = "a deterministic commitment to allowed actions"
        raise InvalidArgument(f"plan for {name!r}", f"is {policy!r}", wanted, policy)
    return np.asarray(policy.argmax(axis=1))


def _check_prior(n: int, weights: ArrayLike | None) -> Array:
    if n == 0:
        raise InvalidArgument("followers", "is empty", "at least one type", 0)
    prior = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    sound = prior.shape == (n,) and np.isfinite(prior).all() and (prior >= 0).all()
    if not sound or not 0 < prior.sum() < np.inf:
        raise InvalidArgument("weights", f"is {prior}", f"a prior of shape ({n},)", weights)
    return np.asarray(prior / prior.sum())
