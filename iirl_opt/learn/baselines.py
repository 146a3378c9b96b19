"""Baselines: other people's answers to "which reward?", beside the choices of this library.

* `MaxMargin`: the reward under which what was seen is best by the largest margin (Ng & Russell
  2000). The margin is positive wherever any reward has a positive one.
* `MaximumEntropy`: maximum causal entropy IRL (Ziebart 2010). The follower is modelled as soft
  optimal, ``π2(b|s) = exp(Q(s,b) − V(s))`` with ``V = log Σ_b exp Q``, ``Q = r + γ P_π1 V``, and r
  maximises the likelihood of the responses where they lead, less a penalty. The gradient is the
  difference of the discounted visits seen and expected, so at the optimum they match but for the
  penalty, without which deterministic responses drive r to infinity.
* `RandomReward`: a reward drawn at random that looks at nothing.

Each is a choice of reward for `iirl_opt.InteractiveIRL`. `FixedEnvironment` makes any learner one
of standard IRL, which sees the follower in one environment only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

from iirl_opt.brief import in_brief
from iirl_opt.checks import NOT_NEGATIVE, POSITIVE, RNG, checked, each, is_a
from iirl_opt.game.kernel import Matrix, is_sparse
from iirl_opt.game.mdp import MDP
from iirl_opt.learn.choices import Chosen, informative
from iirl_opt.learn.learner import Learner
from iirl_opt.observation import SEEN, Observation, Trajectory, check_trajectory, observe
from iirl_opt.rewards.feasible import FEASIBLE, FeasibleRewards
from iirl_opt.solver import Solver
from iirl_opt.solver.records import SOLVER

__all__ = ["FixedEnvironment", "MaxMargin", "MaximumEntropy", "RandomReward", "soft_values"]

Array = NDArray[np.float64]

# Soft values are right when a sweep changes them by at most this share; Newton takes a few steps.
SOFT_TOLERANCE, NEWTON_STEPS = 1e-12, 50

# Steps of the quasi-Newton method: the penalised likelihood is flat long before.
MOST_STEPS = 200


@checked(penalty=NOT_NEGATIVE)
@dataclass(frozen=True)
class MaxMargin:
    """The reward with the largest margin of what was seen over everything else.

    Parameters
    ----------
    penalty : ≥ 0, on the sum of absolute rewards.

    **Source** Ng & Russell 2000. **Cost** one LP.

    Examples
    --------
    >>> from iirl_opt import OptimalFollower, random_game
    >>> game, truth = random_game(3, 2, 2, rng=1)
    >>> pi1 = [[1, 0], [1, 0], [1, 0]]
    >>> pi2 = OptimalFollower().respond(game, truth, pi1)
    >>> feasible = FeasibleRewards(game).observe(pi1, pi2)
    >>> found = MaxMargin().choose(feasible, rng=0)
    >>> found.reward.round(3), round(found.evidence.value, 3)
    (array([ 1.,  1., -1.]), 0.627)
    """

    penalty: float = 0.0

    @checked(feasible=FEASIBLE, rng=RNG, solver=SOLVER)
    def choose(
        self,
        feasible: FeasibleRewards,
        rng: int | np.random.Generator | None,
        solver: Solver | str | None = None,
    ) -> Chosen | None:
        """Return the reward (S,), or None if no reward has a positive margin."""
        found = feasible.max_margin(penalty=self.penalty, solver=solver)
        return informative(found.reward, found) if found.value > 0 else None


@checked(penalty=POSITIVE)
@dataclass(frozen=True)
class MaximumEntropy:
    """Maximum causal entropy IRL over all episodes.

    Parameters
    ----------
    penalty : > 0, on half the squared norm of the reward: the smaller, the more certain is the
        follower taken to be.

    **Source** Ziebart 2010, for several environments. **Cost** arithmetic: soft value iteration for
    every episode in some hundred steps of a quasi-Newton method.

    Examples
    --------
    >>> from iirl_opt import OptimalFollower, random_game
    >>> game, truth = random_game(3, 2, 2, rng=1)
    >>> pi1 = [[1, 0], [1, 0], [1, 0]]
    >>> pi2 = OptimalFollower().respond(game, truth, pi1)
    >>> feasible = FeasibleRewards(game).observe(pi1, pi2)
    >>> found = MaximumEntropy(penalty=0.1).choose(feasible, rng=0)
    >>> found.reward.round(2), found.evidence.success
    (array([ 0.98,  1.71, -2.7 ]), True)
    """

    penalty: float = 1e-2

    @checked(feasible=FEASIBLE, rng=RNG, solver=SOLVER)
    def choose(
        self,
        feasible: FeasibleRewards,
        rng: int | np.random.Generator | None,
        solver: Solver | str | None = None,
    ) -> Chosen | None:
        """Return the reward (S,) of mean zero, or None if the responses say nothing."""
        game, gamma = feasible.game, feasible.game.discount
        seen = []
        for o in feasible.observations:
            mdp = game.follower_mdp(o.pi1)
            seen.append((mdp, _visits(mdp.chain(o.pi2), game.start, gamma), o.pi2))

        values: list[Array | None] = [None] * len(seen)

        def loss(r: Array) -> tuple[float, Array]:
            value, gradient = self.penalty / 2 * float(r @ r), self.penalty * r
            for t, (mdp, visits, pi2) in enumerate(seen):
                v, q = soft_values(mdp, r, values[t])
                values[t] = v
                log_pi = q - v[:, None]
                value -= float(visits @ (pi2 * log_pi).sum(axis=1))
                expected = _visits(mdp.chain(np.exp(log_pi)), game.start, gamma)
                gradient = gradient + expected - visits
            return value, gradient

        found = minimize(
            loss,
            np.zeros(game.n_states),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": MOST_STEPS},
        )
        return informative(np.asarray(found.x) - float(np.mean(found.x)), found)


@dataclass(frozen=True)
class RandomReward:
    """A reward drawn uniformly from the simplex, whatever was seen.

    Examples
    --------
    >>> from iirl_opt import random_game
    >>> game, _ = random_game(3, 2, 2, rng=1)
    >>> found = RandomReward().choose(FeasibleRewards(game), rng=0)
    >>> found.reward.round(3), found.evidence
    (array([0.395, 0.593, 0.012]), None)
    """

    @checked(feasible=FEASIBLE, rng=RNG, solver=SOLVER)
    def choose(
        self,
        feasible: FeasibleRewards,
        rng: int | np.random.Generator | None,
        solver: Solver | str | None = None,
    ) -> Chosen | None:
        """Return the reward (S,)."""
        draws = np.random.default_rng(rng)
        return informative(draws.dirichlet(np.ones(feasible.game.n_states)))


def soft_values(mdp: MDP, reward: Array, start: Array | None = None) -> tuple[Array, Array]:
    """Return soft-optimal values (S,) and action values (S, B) of a state reward (S,).

    ``V = log Σ_b exp Q``, ``Q = r + γ P V``, by Newton's method: the soft policy of the last values
    is evaluated exactly, its entropy included. Values rise from step to step after the first.

    Parameters
    ----------
    start : values (S,) to begin with; what is good for a nearby reward is good here.

    **Source** Ziebart 2010. **Cost** arithmetic: some five S×S linear systems.
    """
    gamma = mdp.discount
    values = np.zeros(mdp.n_states) if start is None else start
    for _ in range(NEWTON_STEPS):
        q = reward[:, None] + gamma * (mdp.matrix @ values).reshape(mdp.shape)
        soft = np.asarray(logsumexp(q, axis=1))
        if np.abs(soft - values).max() <= SOFT_TOLERANCE * max(1.0, np.abs(soft).max()):
            break
        policy = np.exp(q - soft[:, None])
        system = np.eye(mdp.n_states) - gamma * _full(mdp.chain(policy))
        values = values + np.linalg.solve(system, soft - values)
    return soft, q


def _visits(chain: Matrix, start: Array, discount: float) -> Array:
    """Return the discounted state visits (S,) of a chain (S, S)."""
    return np.asarray(np.linalg.solve((np.eye(len(start)) - discount * _full(chain)).T, start))


def _full(chain: Matrix) -> Array:
    return np.asarray(chain.toarray() if is_sparse(chain) else chain)


@checked(learner=is_a(Learner), played=each(SEEN))
@dataclass(frozen=True, eq=False)
class FixedEnvironment(Learner):
    """Standard IRL: a learner that learns from the first commitment's answer alone.

    It plays the first commitment, then what its learner makes of the answer; the later answers are
    kept in `history` but not learnt from. With full information the same commitment's answer would
    say nothing new.

    Parameters
    ----------
    learner : the learner within, such as ``InteractiveIRL(game, choice=MaxMargin())``.

    **Source** paper, Section 6, "fixed environment".

    Examples
    --------
    >>> from iirl_opt import InteractiveIRL, random_game
    >>> game, truth = random_game(3, 2, 2, rng=1)
    >>> learner = FixedEnvironment(InteractiveIRL(game, choice=MaxMargin(), seed=0))
    >>> for _ in range(3):
    ...     learner = learner.tell([[1, 0], [1, 0], [1, 0]])
    >>> len(learner.history), len(learner.learner.history)  # three seen, one learnt from
    (3, 1)
    """

    learner: Learner
    played: tuple[Observation | Trajectory, ...] = ()

    __repr__ = in_brief

    def __post_init__(self) -> None:
        for name in ("game", "seed"):
            object.__setattr__(self, name, getattr(self.learner, name))

    def estimate(self) -> Array | None:
        """Return the reward that the commitments are optimal for."""
        return self.learner.estimate()

    def facts(self) -> dict[str, float]:
        """Return those of the learner within."""
        return self.learner.facts()

    @property
    def history(self) -> tuple[Observation | Trajectory, ...]:
        """All observations, also those not learnt from."""
        return self.played

    def ask(self) -> Array:
        """Return the commitment (S, A) to play: the same from the second episode on."""
        return self.learner.ask()

    def tell(self, response: Trajectory | ArrayLike, *, pi1: ArrayLike | None = None) -> Self:
        """Return the learner that has seen this response, and has learnt from it if the first."""
        seen: Observation | Trajectory
        if isinstance(response, Trajectory):
            check_trajectory(self.game, response)
            seen = response
        else:
            seen = observe(self.game, self.ask() if pi1 is None else pi1, response)
        played = seen.pi1
        learner = self.learner if self.played else self.learner.tell(response, pi1=played)
        return replace(self, learner=learner, played=(*self.played, seen))
