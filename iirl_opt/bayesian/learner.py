"""Bayesian interactive IRL: learn from a follower who errs and is seen in part (Algorithm 4).

    commit to π1_t, observe a trajectory or a response        (lines 4 and 5)
    draw K rewards and parameters from the posterior          (lines 7 to 12)
    start the next episode's chains where these ended         (line 14)
    commit next under the mean reward and parameter           (lines 15 and 16)

A learner is frozen and only asks and tells, as `iirl_opt.learn.interactive.InteractiveIRL` does.
What it commits to is planned for the follower that it believes to face, by approximate value
iteration; under which reward, `choose` says:

* ``"mean"``, the paper's: the means of the draws;
* ``"thompson"``: one draw;
* ``"value"``: of the commitments for the mean and for some draws, the one of the largest value on
  average over draws. (The best commitment for the mean reward need not be good on average: the
  follower's answer changes with the reward.)

With ``fixed=True`` it is the baseline of the paper's experiments: it commits to the same policy in
every episode, so it watches the follower in one environment, while `commitment` is what it would
play with what it has learnt.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.bayesian.chains import Chains
from iirl_opt.bayesian.evidence import Evidence
from iirl_opt.bayesian.families import FAMILY, BoltzmannFamily, FollowerFamily
from iirl_opt.bayesian.posterior import Normal, Posterior
from iirl_opt.bayesian.priors import PRIOR, DirichletPrior, ParameterPrior, RewardPrior
from iirl_opt.bayesian.proposals import MOVE, REWARD_MOVE, SimplexWalk
from iirl_opt.bayesian.sampler import START, ParameterMove, RewardMove, sample
from iirl_opt.checks import (
    FINITE,
    FLAG,
    POSITIVE,
    SEED,
    checked,
    each,
    is_a,
    one_of,
    unmasked,
    whole,
)
from iirl_opt.commitment.plans import commit
from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.commitment.value_iteration import approximate_value_iteration
from iirl_opt.errors import InvalidObservation, InvalidPolicy
from iirl_opt.follower import FOLLOWER, BoltzmannFollower, Follower, LocalFollower
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.policy import random_deterministic_policy
from iirl_opt.game.values import REWARD, evaluate
from iirl_opt.observation import SEEN, Observation, Trajectory, observe, sample_trajectory

__all__ = [
    "BayesianEpisode",
    "BayesianInteractiveIRL",
    "best_known_value",
    "interact_bayesian",
]

Array = NDArray[np.float64]
Choice = Literal["mean", "thompson", "value"]
CHOICES = ("mean", "thompson", "value")


@checked(
    game=GAME,
    seed=SEED,
    family=FAMILY,
    reward_prior=PRIOR,
    parameter_prior=PRIOR,
    proposals=whole(1),
    thin=whole(1),
    chains=whole(1),
    move=REWARD_MOVE,
    parameter_move=MOVE,
    fast=FLAG,
    choose=one_of(*CHOICES),
    candidates=whole(1),
    normalise=one_of("min", "direction"),
    fixed=FLAG,
    evidence=is_a(Evidence),
    start=each(START),
    history=each(SEEN),
)
@dataclass(frozen=True, eq=False)
class BayesianInteractiveIRL:
    """The learner of Algorithm 4.

    Parameters
    ----------
    game : the game; the learner never sees the reward.
    seed : of everything.
    family : the followers among which the partner is sought; Boltzmann with unknown β by default.
    reward_prior, parameter_prior : see `Posterior`.
    proposals, thin, chains, move, parameter_move, fast : of each episode's sampling, see `sample`.
        The paper has one chain of 25,000; every 25th proposal is kept here.
    choose : ``"mean"``, ``"thompson"`` or ``"value"``.
    candidates : for ``"value"``, the number of draws that are planned for, and over which values
        are averaged.
    normalise : how draws are moved along their ridge before means are taken; not at all by default,
        as in the paper.
    fixed : whether every episode has the first commitment.
    first : the first commitment (S, A); by default deterministic and uniformly random.
    evidence, start, history : what is known so far; leave them to `tell`.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, truth = iirl.random_game(5, 2, 2, seed=1)
    >>> partner = iirl.BoltzmannFollower(20.0)
    >>> learner = BayesianInteractiveIRL(game, seed=0, proposals=200, thin=10, fast=False)
    >>> pi1 = learner.ask()
    >>> learner = learner.tell(partner.respond(game, pi1, truth))
    >>> learner.episode, learner.reward.shape, learner.ask().shape
    (1, (5,), (5, 2))
    """

    game: TwoAgentMDP
    seed: int = 0
    family: FollowerFamily = field(default_factory=BoltzmannFamily)
    reward_prior: RewardPrior = field(default_factory=DirichletPrior)
    parameter_prior: ParameterPrior | None = None
    proposals: int = 25_000
    thin: int = 25
    chains: int = 1
    move: RewardMove = field(default_factory=SimplexWalk)
    parameter_move: ParameterMove | None = None
    fast: bool | None = None
    choose: Choice = "mean"
    candidates: int = 8
    normalise: Normal | None = None
    fixed: bool = False
    first: ArrayLike | None = None
    evidence: Evidence | None = None
    start: tuple[tuple[Array, float], ...] | None = None
    history: tuple[Trajectory | Observation, ...] = ()

    def __post_init__(self) -> None:
        if self.first is not None:
            first = self.game.check_leader_policy(self.first)
            first.flags.writeable = False
            object.__setattr__(self, "first", first)
        if self.evidence is None:
            object.__setattr__(self, "evidence", Evidence(self.game))

    @property
    def known(self) -> Evidence:
        """The evidence of all episodes."""
        assert self.evidence is not None
        return self.evidence

    @property
    def episode(self) -> int:
        """The number of episodes told."""
        return self.known.episodes

    @property
    def posterior(self) -> Posterior:
        """The posterior after all episodes."""
        return Posterior(self.known, self.family, self.reward_prior, self.parameter_prior)

    @cached_property
    def draws(self) -> Chains:
        """The draws of this episode, as they come. **Cost** the whole sampling, once."""
        return sample(
            self.posterior,
            self.proposals,
            move=self.move,
            parameter_move=self.parameter_move,
            chains=self.chains,
            thin=self.thin,
            start=self._usable_start(),
            seed=[self.seed, self.episode],
            fast=self.fast,
        )

    def _usable_start(self) -> tuple[tuple[Array, float], ...] | None:
        """Return the ends of the last episode's chains that the newest one has not ruled out."""
        posterior = self.posterior
        ends = self.start or ()
        usable = tuple(at for at in ends if np.isfinite(posterior.log_density(*at)))
        return usable or None

    @cached_property
    def _normal(self) -> Chains:
        return self.draws if self.normalise is None else self.draws.normalised(self.normalise)

    @property
    def reward(self) -> Array | None:
        """The mean reward (S,) of the draws; None before the first episode."""
        return self._normal.mean_reward if self.episode else None

    @property
    def parameter(self) -> float | None:
        """The mean parameter of the draws; None before the first episode."""
        return self._normal.mean_parameter if self.episode else None

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.episode, 1])

    @cached_property
    def _initial(self) -> Array:
        if self.first is not None:
            return np.array(self.first)
        n_states, n_actions, _ = self.game.shape
        rng = np.random.default_rng([self.seed, 0, 1])
        return random_deterministic_policy(n_states, n_actions, rng)

    @cached_property
    def _planned(self) -> Array:
        if not self.episode:
            return self._initial
        draws, rng = self._normal, self._rng()
        if self.choose == "thompson":
            return self._plan(*draws.pick(rng))
        mean = self._plan(draws.mean_reward, draws.mean_parameter)
        if self.choose == "mean":
            return mean
        plans = [mean, *(self._plan(*draws.pick(rng)) for _ in range(self.candidates))]
        believed = [draws.pick(rng) for _ in range(self.candidates)]
        values = [
            sum(_value(self.game, pi1, r, self.family.follower(theta)) for r, theta in believed)
            for pi1 in plans
        ]
        return plans[int(np.argmax(values))]

    def _plan(self, reward: Array, parameter: float) -> Array:
        return plan_commitment(self.game, reward, self.family.follower(parameter))

    @property
    def commitment(self) -> Array:
        """The commitment (S, A) that is best for what is known; the first before any episode."""
        return self._planned.copy()

    def ask(self) -> Array:
        """Return the commitment (S, A) to play in the next episode.

        **Source** Algorithm 4, line 16. **Cost** the sampling, and one planning problem; for
        ``"value"`` a planning problem a candidate and one a pair of a candidate and a draw.
        """
        return self._initial.copy() if self.fixed else self.commitment

    @checked(weight=POSITIVE, pi1=unmasked(InvalidPolicy))
    def tell(
        self,
        response: Trajectory | ArrayLike,
        *,
        pi1: ArrayLike | None = None,
        weight: float = 1.0,
    ) -> BayesianInteractiveIRL:
        """Return the learner that also knows this episode; the old one stays as it is.

        Its chains start where those of this learner ended, so this learner's are drawn now if they
        were not before.

        Parameters
        ----------
        response : a trajectory, or a whole response policy (S, B).
        pi1 : what was committed, where it was not what `ask` returned; a trajectory knows it.
        weight : what each step, or each state of a whole response, counts for.

        Raises
        ------
        InvalidObservation, InvalidPolicy
            The response is none, or of another commitment than `pi1`; nothing is lost.
        """
        if isinstance(response, Trajectory):
            seen: Trajectory | Observation = response
            if pi1 is not None and not np.array_equal(response.pi1, np.asarray(pi1)):
                raise InvalidObservation(
                    "pi1", "is not what the trajectory was played under", "the same", pi1
                )
        else:
            seen = observe(self.game, self.ask() if pi1 is None else pi1, response)
        evidence = self.known.observe(seen, weight=weight)
        start = self.draws.last if self.episode else self.start
        return replace(self, evidence=evidence, start=start, history=(*self.history, seen))


def plan_commitment(game: TwoAgentMDP, reward: ArrayLike, follower: Follower) -> Array:
    """Return a good commitment (S, A) to a follower: heuristic, or for others the joint policy.

    **Source** paper, Algorithms 2 and 3 for local followers. **Cost** arithmetic.
    """
    if isinstance(follower, LocalFollower):
        return approximate_value_iteration(CommitmentProblem(game, reward, follower)).policy
    return commit(game, reward).policy


def _value(game: TwoAgentMDP, pi1: Array, reward: Array, follower: Follower) -> float:
    response = follower.respond(game, pi1, reward)
    return float(game.start @ evaluate(game, reward, (pi1, response)))


def best_known_value(game: TwoAgentMDP, truth: ArrayLike, follower: Follower) -> float:
    """Return the value of the best commitment known for a follower that does not maximise.

    The better of approximate value iteration and the leader's part of an optimal joint policy: a
    lower bound on the best, so regrets against it may be negative.
    """
    plans = (plan_commitment(game, truth, follower), commit(game, truth).policy)
    return max(_value(game, pi1, np.asarray(truth, dtype=float), follower) for pi1 in plans)


@dataclass(frozen=True, eq=False)
class BayesianEpisode:
    """One finished episode of a run.

    Attributes
    ----------
    number : counted from 1.
    learner : the learner that knows it.
    commitment : what the learner held for best before this episode, (S, A): what it played, unless
        it is the fixed-environment baseline.
    value : its true value from the start distribution.
    regret : what the best commitment known earns, less that.
    """

    number: int
    learner: BayesianInteractiveIRL
    commitment: Array
    value: float
    regret: float


@checked(
    truth=REWARD,
    follower=FOLLOWER,
    episodes=whole(1),
    learner=is_a(BayesianInteractiveIRL),
    partial=FLAG,
    min_length=whole(1),
    best=FINITE,
)
def interact_bayesian(
    learner: BayesianInteractiveIRL,
    truth: ArrayLike,
    episodes: int,
    *,
    follower: Follower | None = None,
    partial: bool = True,
    min_length: int = 2,
    best: float | None = None,
) -> Iterator[BayesianEpisode]:
    """Play a learner against a response model that knows the true reward, an episode at a time.

    A generator: each episode is there when it is over, so a run can be stopped at any time.

    Parameters
    ----------
    truth : the follower's reward, (S,).
    episodes : their number in all; a learner that knows some already plays the rest.
    follower : by default `BoltzmannFollower` with β = 10, as in the paper.
    partial : whether a trajectory is seen, or the whole response.
    min_length : of the trajectories.
    best : what regret is measured against; `best_known_value` by default.

    **Source** paper, Section 5, suboptimal responses and partial information.
    """
    game = learner.game
    partner = BoltzmannFollower(10.0) if follower is None else follower
    reward = np.asarray(truth, dtype=float)
    top = best_known_value(game, reward, partner) if best is None else best
    for number in range(learner.episode + 1, episodes + 1):
        held, pi1 = learner.commitment, learner.ask()
        value = _value(game, held, reward, partner)
        response = partner.respond(game, pi1, reward)
        rng = np.random.default_rng([learner.seed, number, 2])
        if partial:
            steps = sample_trajectory(game, pi1, response, rng, min_length=min_length)
            learner = learner.tell(steps)
        else:
            learner = learner.tell(response, pi1=pi1)
        yield BayesianEpisode(number, learner, held, value, top - value)
