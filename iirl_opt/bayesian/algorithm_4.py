"""Bayesian interactive IRL: learn from a follower who errs and is seen in part (Algorithm 4).

    commit to π1_t, observe a trajectory or a response        (lines 4 and 5)
    draw K rewards and parameters from the posterior          (lines 7 to 12)
    start the next episode's chains where these ended         (line 14)
    commit next under the mean reward and parameter           (lines 15 and 16)

The learner asks and tells as all others do (`iirl_opt.learn.learner`). What it commits to is
planned for the follower that it believes to face, by approximate value iteration; under which
reward, `choose` says:

* ``"mean"``, the paper's: the means of the draws;
* ``"thompson"``: one draw;
* ``"value"``: of the commitments for the mean and for some draws, the one of the largest value on
  average over draws. (The best commitment for the mean reward need not be good on average: the
  follower's answer changes with the reward.)

With ``fixed=True`` it is the baseline of the paper's experiments: it commits to the same policy in
every episode, so it watches the follower in one environment, while `plan` is what it would play
with what it has learnt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.bayesian.chains import Chains
from iirl_opt.bayesian.evidence import Evidence
from iirl_opt.bayesian.families import FAMILY, BoltzmannFamily, FollowerFamily
from iirl_opt.bayesian.posterior import Normal, Posterior
from iirl_opt.bayesian.priors import PRIOR, DirichletPrior, ParameterPrior, RewardPrior
from iirl_opt.bayesian.proposals import MOVE, REWARD_MOVE, SimplexWalk
from iirl_opt.bayesian.sampler import START, ParameterMove, RewardMove, sample
from iirl_opt.brief import in_brief
from iirl_opt.checks import (
    FLAG,
    MAPPING,
    POSITIVE,
    SEED,
    checked,
    each,
    is_a,
    one_of,
    unmasked,
    whole,
)
from iirl_opt.errors import InvalidObservation, InvalidPolicy
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.reward import check_reward
from iirl_opt.learn.episode_regret import plan_for, value_of
from iirl_opt.learn.learner import Learner
from iirl_opt.observation import SEEN, Observation, Trajectory, observe

__all__ = ["BayesianInteractiveIRL"]

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
    initial=each(START),
    history=each(SEEN),
)
@dataclass(frozen=True, eq=False)
class BayesianInteractiveIRL(Learner):
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
    fixed : whether every episode has the first commitment, whatever the plan.
    first : the first commitment (S, A); by default deterministic and uniformly random.
    evidence, initial, history : what is known so far; leave them to `tell`.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, truth = iirl.random_game(5, 2, 2, rng=1)
    >>> partner = iirl.BoltzmannFollower(20.0)
    >>> learner = BayesianInteractiveIRL(game, seed=0, proposals=200, thin=10, fast=False)
    >>> pi1 = learner.ask()
    >>> learner = learner.tell(partner.respond(game, truth, pi1))
    >>> learner.episode, learner.estimate().shape, learner.ask().shape
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
    initial: tuple[tuple[Array, float], ...] | None = None
    history: tuple[Trajectory | Observation, ...] = ()

    __repr__ = in_brief

    def __post_init__(self) -> None:
        self._keep_first(self.first)
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

    def sample(self) -> Chains:
        """Return the draws of this episode, as they come. **Cost** the whole sampling, once."""
        return self._draws

    @cached_property
    def _draws(self) -> Chains:
        return sample(
            self.posterior,
            self.proposals,
            move=self.move,
            parameter_move=self.parameter_move,
            chains=self.chains,
            thin=self.thin,
            initial=self._usable_start(),
            rng=[self.seed, self.episode],
            fast=self.fast,
        )

    def _usable_start(self) -> tuple[tuple[Array, float], ...] | None:
        """Return the ends of the last episode's chains that the newest one has not ruled out."""
        posterior = self.posterior
        ends = self.initial or ()
        usable = tuple(at for at in ends if np.isfinite(posterior.log_density(*at)))
        return usable or None

    @cached_property
    def _normal(self) -> Chains:
        return self._draws if self.normalise is None else self._draws.normalised(self.normalise)

    def estimate(self) -> Array | None:
        """Return the mean reward (S,) of the draws; None before the first episode.

        **Cost** as `sample`.
        """
        return self._normal.mean_reward if self.episode else None

    def estimate_parameter(self) -> float | None:
        """Return the mean parameter of the draws; None before the first episode.

        **Cost** as `sample`.
        """
        return self._normal.mean_parameter if self.episode else None

    def facts(self) -> dict[str, float]:
        """Return the mean parameter by its name, and the acceptance; none before the first episode.

        **Cost** as `sample`.
        """
        if not self.episode:
            return {}
        return {
            self._draws.parameter: self._normal.mean_parameter,
            "acceptance": float(self._draws.acceptance.mean()),
        }

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.episode, 1])

    @cached_property
    def _initial(self) -> Array:
        if self.first is not None:
            return np.array(self.first)
        return self._random_commitment(np.random.default_rng([self.seed, 0, 1]))

    @cached_property
    def _planned(self) -> Array:
        if not self.episode:
            return self._initial
        draws, rng = self._normal, self._rng()
        if self.choose == "thompson":
            return self._plan_under(*draws.pick(rng))
        mean = self._plan_under(draws.mean_reward, draws.mean_parameter)
        if self.choose == "mean":
            return mean
        plans = [mean, *(self._plan_under(*draws.pick(rng)) for _ in range(self.candidates))]
        believed = [draws.pick(rng) for _ in range(self.candidates)]
        values = [
            sum(value_of(self.game, r, pi1, self.family.follower(theta)) for r, theta in believed)
            for pi1 in plans
        ]
        return plans[int(np.argmax(values))]

    def _plan_under(self, reward: Array, parameter: float) -> Array:
        return plan_for(self.game, reward, self.family.follower(parameter))

    def plan(self) -> Array:
        """Return the commitment (S, A) that is best for what is known; at first the first.

        **Source** Algorithm 4, line 16. **Cost** the sampling, and one planning problem; for
        ``"value"`` a planning problem a candidate and one a pair of a candidate and a draw.
        """
        return self._planned.copy()

    def ask(self) -> Array:
        """Return the commitment (S, A) to play in the next episode: the plan, or always the first.

        **Cost** that of `plan`; nothing where the environment is fixed.
        """
        return self._initial.copy() if self.fixed else self.plan()

    @checked(weight=POSITIVE, pi1=unmasked(InvalidPolicy))
    def tell(
        self,
        response: Trajectory | ArrayLike,
        *,
        pi1: ArrayLike | None = None,
        weight: float = 1.0,
    ) -> Self:
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
        initial = self._draws.last if self.episode else self.initial
        return replace(self, evidence=evidence, initial=initial, history=(*self.history, seen))

    def memory(self) -> dict[str, Any]:
        """Return where the chains of this learner start, ready for JSON."""
        starts = self.initial
        return {"initial": starts and [[r.tolist(), theta] for r, theta in starts]}

    @checked(seen=SEEN, memory=MAPPING)
    def recall(self, seen: Observation | Trajectory, memory: Mapping[str, Any]) -> Self:
        """Return the learner that also knows an episode of an earlier run, as `tell` does.

        Raises
        ------
        InvalidArgument, InvalidReward
            The memory is no start of chains in this game.

        **Cost** arithmetic: nothing is drawn.
        """
        starts = memory.get("initial")
        if starts is not None:
            starts = each(START)("memory", starts)
            for reward, _ in starts:
                check_reward(self.game, reward, "memory")
        evidence = self.known.observe(seen)
        return replace(self, evidence=evidence, initial=starts, history=(*self.history, seen))
