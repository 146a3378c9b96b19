"""Which reward to plan for, among all that explain the answers.

Algorithm 1 says: a vertex of the feasible set, for a random objective. A *choice* is a small frozen
object that is given the set and a generator and returns one reward, or None where it finds nothing
but constants. Write your own with this one method. All choices here look in the reward simplex, or
in the domain that they are given, and for state rewards but where `joint` says otherwise.

Where trajectories were seen in place of responses, `RandomVertex` and `MeanOfVertices` choose in
the cone around the rewards that explain them (`iirl_opt.rewards.trajectories`); the other choices
need rows that it does not have, and raise `InvalidArgument`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import FLAG, POSITIVE, RNG, checked, whole
from iirl_opt.errors import OnlyConstantRewards
from iirl_opt.printing.records import with_html
from iirl_opt.rewards.centre import analytic_centre
from iirl_opt.rewards.constant import is_constant
from iirl_opt.rewards.domains import DOMAIN, RewardDomain
from iirl_opt.rewards.feasible import FEASIBLE, FeasibleRewards
from iirl_opt.rewards.unit_rows import unit_rows
from iirl_opt.solver import Solver
from iirl_opt.solver.records import SOLVER

__all__ = [
    "AnalyticCentre",
    "ChebyshevCentre",
    "Chosen",
    "HitAndRunMean",
    "MeanOfVertices",
    "RandomVertex",
    "RewardChoice",
]

Array = NDArray[np.float64]


class Chosen(NamedTuple):
    """A reward and where it comes from.

    Attributes
    ----------
    reward : shape (S,) or (S, A, B).
    evidence : what supports it: a `RewardSolution`, a `Ball`, a `Centre`, a tuple of them; None of
        a choice that needs none.

    Examples
    --------
    >>> from iirl_opt import random_game
    >>> game, _ = random_game(3, 2, 2, rng=1)
    >>> found = RandomVertex().choose(FeasibleRewards(game), rng=0)
    >>> found.reward > 0
    array([ True, False, False])
    >>> type(found.evidence).__name__
    'RewardSolution'
    """

    reward: Array
    evidence: Any = None

    def __repr__(self) -> str:
        return in_brief(self)

    def _repr_html_(self) -> str:
        return with_html(self)


class RewardChoice(Protocol):
    """What every choice of a reward does.

    Examples
    --------
    >>> from iirl_opt import InteractiveIRL, random_game
    >>> class Uphill:  # the same belief, whatever is seen
    ...     def choose(self, feasible, rng, solver=None):
    ...         return Chosen(np.linspace(0, 1, feasible.game.n_states))
    >>> game, truth = random_game(3, 2, 2, rng=1)
    >>> learner = InteractiveIRL(game, choice=Uphill()).tell([[1, 0], [1, 0], [1, 0]])
    >>> learner.estimate()
    array([0. , 0.5, 1. ])
    """

    def choose(
        self,
        feasible: FeasibleRewards,
        rng: np.random.Generator,
        solver: Solver | str | None = None,
    ) -> Chosen | None:
        """Return the choice, or None if nothing but constants was found."""
        ...


@checked(domain=DOMAIN, price=POSITIVE, joint=FLAG)
@dataclass(frozen=True)
class RandomVertex:
    """A vertex of the feasible set that maximises a random objective.

    Parameters
    ----------
    joint : among joint rewards (S, A, B) in place of state rewards.
    domain : where rewards are sought; the reward simplex by default.
    price : > 0, at which observations may be violated, for a follower that errs; see
        `FeasibleRewards.maximise`. By default none may.

    **Source** paper, Algorithm 1, lines 6 and 7. **Cost** one LP; more when it meets constants.

    Examples
    --------
    >>> from iirl_opt import InteractiveIRL, random_game
    >>> game, _ = random_game(3, 2, 2, rng=1)
    >>> RandomVertex().choose(FeasibleRewards(game), rng=0).reward > 0
    array([ True, False, False])
    >>> InteractiveIRL(game, choice=RandomVertex(joint=True)).choice.joint
    True
    """

    joint: bool = False
    domain: RewardDomain | None = None
    price: float | None = None

    @checked(feasible=FEASIBLE, rng=RNG, solver=SOLVER)
    def choose(
        self,
        feasible: FeasibleRewards,
        rng: int | np.random.Generator | None,
        solver: Solver | str | None = None,
    ) -> Chosen | None:
        """Return the vertex, or None."""
        try:
            found = feasible.random_vertex(
                rng, joint=self.joint, domain=self.domain, solver=solver, price=self.price
            )
        except OnlyConstantRewards:
            return None
        return Chosen(found.reward, found)


@checked(domain=DOMAIN, price=POSITIVE, n=whole(1))
@dataclass(frozen=True)
class MeanOfVertices:
    """The mean of several random vertices, which lies inside the set.

    Parameters
    ----------
    n : their number, at least 1.
    price : of violations, as for `RandomVertex`.

    **Cost** n LPs.

    Examples
    --------
    >>> from iirl_opt import random_game
    >>> game, _ = random_game(3, 2, 2, rng=1)
    >>> MeanOfVertices(n=4).choose(FeasibleRewards(game), rng=0).reward
    array([0.5 , 0.25, 0.25])
    """

    n: int = 5
    domain: RewardDomain | None = None
    price: float | None = None

    @checked(feasible=FEASIBLE, rng=RNG, solver=SOLVER)
    def choose(
        self,
        feasible: FeasibleRewards,
        rng: int | np.random.Generator | None,
        solver: Solver | str | None = None,
    ) -> Chosen | None:
        """Return the mean, or None."""
        vertex = RandomVertex(domain=self.domain, price=self.price)
        found = [vertex.choose(feasible, rng, solver) for _ in range(self.n)]
        vertices = [one for one in found if one is not None]
        if not vertices:
            return None
        mean = np.mean([one.reward for one in vertices], axis=0)
        return informative(mean, tuple(one.evidence for one in vertices))


@checked(domain=DOMAIN)
@dataclass(frozen=True)
class ChebyshevCentre:
    """The centre of the largest ball in the set.

    **Cost** a few LPs.

    Examples
    --------
    >>> from iirl_opt import OptimalFollower, random_game
    >>> game, truth = random_game(3, 2, 2, rng=1)
    >>> pi1 = [[1, 0], [1, 0], [1, 0]]
    >>> pi2 = OptimalFollower().respond(game, truth, pi1)
    >>> feasible = FeasibleRewards(game).observe(pi1, pi2)
    >>> found = ChebyshevCentre().choose(feasible, rng=0)
    >>> found.reward.round(3), round(found.evidence.radius, 3)
    (array([0.349, 0.498, 0.153]), 0.187)
    """

    domain: RewardDomain | None = None

    @checked(feasible=FEASIBLE, rng=RNG, solver=SOLVER)
    def choose(
        self,
        feasible: FeasibleRewards,
        rng: int | np.random.Generator | None,
        solver: Solver | str | None = None,
    ) -> Chosen | None:
        """Return the centre, or None."""
        ball = feasible.chebyshev_centre(domain=self.domain, solver=solver)
        return informative(ball.centre, ball)


@checked(price=POSITIVE)
@dataclass(frozen=True)
class AnalyticCentre:
    """The analytic centre of the set in the reward simplex.

    Parameters
    ----------
    price : of a unit of violation of a row (rows have norm one); see `analytic_centre`.

    **Cost** arithmetic: some ten to fifty S×S linear systems.

    Examples
    --------
    >>> from iirl_opt import OptimalFollower, random_game
    >>> game, truth = random_game(3, 2, 2, rng=1)
    >>> pi1 = [[1, 0], [1, 0], [1, 0]]
    >>> pi2 = OptimalFollower().respond(game, truth, pi1)
    >>> feasible = FeasibleRewards(game).observe(pi1, pi2)
    >>> found = AnalyticCentre().choose(feasible, rng=0)
    >>> found.reward.round(3), feasible.contains(found.reward)
    (array([0.273, 0.624, 0.103]), True)
    """

    price: float = 1e8

    @checked(feasible=FEASIBLE, rng=RNG, solver=SOLVER)
    def choose(
        self,
        feasible: FeasibleRewards,
        rng: int | np.random.Generator | None,
        solver: Solver | str | None = None,
    ) -> Chosen | None:
        """Return the centre, or None."""
        inequalities, equalities = feasible.explicit_rows()
        rows = unit_rows(np.concatenate([inequalities, equalities, -equalities]))
        if not len(rows):
            return None
        centre = analytic_centre(rows, price=self.price)
        return informative(centre.point, centre)


@checked(domain=DOMAIN, n=whole(1))
@dataclass(frozen=True)
class HitAndRunMean:
    """The mean of points drawn uniformly from the set: an estimate of its centre of mass.

    Parameters
    ----------
    n : how many points, at least 1.

    **Cost** a few LPs, then ``(n + 10) d`` products with the dense rows in d dimensions.

    Examples
    --------
    >>> from iirl_opt import random_game
    >>> game, _ = random_game(3, 2, 2, rng=1)
    >>> found = HitAndRunMean(n=20).choose(FeasibleRewards(game), rng=0)
    >>> found.reward.shape, round(float(found.reward.sum()), 6)
    ((3,), 1.0)
    """

    n: int = 50
    domain: RewardDomain | None = None

    @checked(feasible=FEASIBLE, rng=RNG, solver=SOLVER)
    def choose(
        self,
        feasible: FeasibleRewards,
        rng: int | np.random.Generator | None,
        solver: Solver | str | None = None,
    ) -> Chosen | None:
        """Return the mean, or None."""
        points = feasible.sample(self.n, rng, domain=self.domain, solver=solver)
        return informative(points.mean(axis=0))


def informative(reward: Array, evidence: Any = None) -> Chosen | None:
    """Return the reward as a choice, or None if it is a constant."""
    return None if is_constant(reward) else Chosen(reward, evidence)
