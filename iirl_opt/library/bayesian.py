"""Model files that ask for a posterior: what their tables mean, and what there is to report.

A file of the family ``bayesian`` holds what was seen, as trajectories or whole responses, and asks
what that says of the reward and of the follower's parameter; or it holds the truth and a number of
episodes, and a leader learns from a follower that is simulated (paper, Section 5.1, Algorithm 4).

A result whose chains have not mixed is no verdict: `Summary.quantities` then has the diagnostics
and nothing of the posterior.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iirl_opt.bayesian.algorithm_4 import BayesianInteractiveIRL
from iirl_opt.bayesian.chains import Chains, Diagnostics
from iirl_opt.bayesian.evidence import Evidence
from iirl_opt.bayesian.families import (
    BoltzmannFamily,
    EpsilonGreedyFamily,
    FollowerFamily,
)
from iirl_opt.bayesian.posterior import Posterior
from iirl_opt.bayesian.priors import (
    DirichletPrior,
    GammaPrior,
    Known,
    ParameterPrior,
    UniformPrior,
    exponential_prior,
)
from iirl_opt.bayesian.proposals import DirichletProposal, Hamiltonian, SimplexWalk
from iirl_opt.bayesian.sampler import RewardMove, sampling
from iirl_opt.errors import FileProblem, InvalidArgument, InvalidValue, MissingExtra
from iirl_opt.learn.episodes import Episode, interact
from iirl_opt.learn.regrets import best_value
from iirl_opt.library import schema as model
from iirl_opt.library.problem import Problem, read_concentration

__all__ = ["Estimate", "Settings", "Summary", "answer"]

Array = NDArray[np.float64]

# The least number of steps of a trajectory, the paper's.
MIN_LENGTH = 2

# A share of the constant reward that is worth a sentence.
SHARE = 0.01

# The share of accepted proposals that Dirichlet proposals adapt to.
ACCEPTANCE = 0.3

# Proposals of each chain: in each episode and in large games; and of one posterior of a small one,
# in which they take seconds and give means to three digits.
PROPOSALS, MANY_PROPOSALS = 10_000, 200_000

# Draws that are kept of each chain: about so many numbers, between these ends.
NUMBERS, FEWEST, MOST = 150_000, 1000, 50_000

# Up to so many states Dirichlet proposals mix faster than the paper's walk, see docs/bayesian.rst.
SMALL = 20


class Estimate(NamedTuple):
    """A mean, and the ends of a central interval of the posterior."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Settings:
    """A file of the family, with what replaces its own numbers.

    Attributes
    ----------
    problem : the file.
    seed, proposals, chains, episodes : in place of the file's own, or None.

    Raises
    ------
    FileProblem
        From every method: the question is another, a table is missing, or a number is out of its
        range; names file and key.
    """

    problem: Problem
    seed: int | None = None
    proposals: int | None = None
    chains: int | None = None
    episodes: int | None = None

    def __post_init__(self) -> None:
        question = self.question
        for name, value, allowed, fits in (
            ("seed", self.number("seed"), "≥ 0", self.number("seed") >= 0),
            ("proposals", self.number("proposals"), "≥ 1", self.number("proposals") >= 1),
            ("chains", self.number("chains"), "≥ 1", self.number("chains") >= 1),
            ("thin", question.thin, "≥ 1", question.thin is None or question.thin >= 1),
            ("level", question.level, "0 < level < 1", 0 < question.level < 1),
        ):
            if not fits:
                self.refuse(f"question.{name}", f"is {value}; allowed {allowed}")
        seen = self.problem.observations or self.problem.trajectories
        if self.total is None and not seen:
            self.refuse("question.episodes", "is missing; or give [[trajectory]], [[observation]]")
        if self.total is not None and seen:
            what = "observation" if self.problem.observations else "trajectory"
            self.refuse(what, "has no meaning beside episodes, in which the follower answers")
        if self.total is not None:
            self._check_truth()

    def _check_truth(self) -> None:
        """Refuse a file that nobody can answer for."""
        name = self.family.parameter
        if getattr(self.problem.partner, name) == "unknown":
            self.refuse(
                f"follower.{name}",
                "is 'unknown', so nobody can answer in the episodes; allowed a number, which "
                "[prior] parameter hides from the leader",
            )
        if self.problem.need_truth().ndim != 1:
            self.refuse("reward.choices", "allowed a reward by state in this family")

    @property
    def question(self) -> model.Bayesian:
        """The question of the file."""
        if not isinstance(self.problem.question, model.Bayesian):
            self.refuse("question.family", "is not bayesian")
        assert isinstance(self.problem.question, model.Bayesian)
        return self.problem.question

    def refuse(self, key: str, what: str) -> None:
        """Raise the error of a key."""
        raise FileProblem(self.problem.path, what, key=key)

    @contextmanager
    def blaming(self, key: str) -> Iterator[None]:
        """Turn what the library refuses into an error of the file at a key."""
        try:
            yield
        except InvalidValue as error:
            raise FileProblem(self.problem.path, str(error), key=key) from error

    def number(self, name: str) -> int:
        """Return seed, proposals or chains: the replacement, or the file's own."""
        own: int | None = getattr(self.question, name)
        given: int | None = getattr(self, name)
        number = own if given is None else given
        return self._usual_proposals if number is None else number

    @property
    def _usual_proposals(self) -> int:
        small = self.problem.game.n_states <= SMALL and self.total is None
        return MANY_PROPOSALS if small else PROPOSALS

    @property
    def total(self) -> int | None:
        """The number of episodes to play, or None where what was seen is given."""
        total = self.question.episodes if self.episodes is None else self.episodes
        if total is not None and total < 1:
            self.refuse("question.episodes", f"is {total}; allowed ≥ 1")
        return total

    @property
    def thin(self) -> int:
        """How many proposals make a draw: by default what leaves 1000 draws a chain, or more.

        Up to 50,000 in the smallest games, so that the draws of a file stay some megabytes.
        """
        own = self.question.thin
        kept = min(max(NUMBERS // self.problem.game.n_states, FEWEST), MOST)
        return max(1, self.number("proposals") // kept) if own is None else own

    @property
    def family(self) -> FollowerFamily:
        """The family of the file's follower."""
        partner = self.problem.partner
        if isinstance(partner, model.Boltzmann):
            return BoltzmannFamily()
        if isinstance(partner, model.EpsilonGreedy):
            return EpsilonGreedyFamily()
        self.refuse("follower.model", "allowed 'boltzmann' or 'epsilon-greedy' in this family")
        raise AssertionError

    @property
    def reward_prior(self) -> DirichletPrior:
        """The Dirichlet distribution of the file, uniform by default."""
        prior = self.problem.prior or model.Prior()
        with self.blaming("prior.reward"):
            return DirichletPrior(read_concentration(self.problem, prior.reward))

    @property
    def parameter_prior(self) -> ParameterPrior | None:
        """The prior of the file; else a number of the file is known, and for another None."""
        table = None if self.problem.prior is None else self.problem.prior.parameter
        with self.blaming("prior.parameter"):
            if isinstance(table, model.Exponential):
                return exponential_prior(table.mean)
            if isinstance(table, model.Gamma):
                return GammaPrior(table.shape, table.rate)
            if isinstance(table, model.Uniform):
                return self._uniform(table)
        stated = getattr(self.problem.partner, self.family.parameter)
        return None if stated == "unknown" else Known(float(stated))

    def _uniform(self, table: model.Uniform) -> UniformPrior:
        prior = UniformPrior(table.low, table.high)
        if table.low < 0 or (table.high > 1 and not self.family.scales):
            allowed = "≥ 0" if self.family.scales else "within [0, 1]"
            raise InvalidArgument("low, high", f"are {table.low}, {table.high}", allowed, table.low)
        return prior

    @property
    def move(self) -> RewardMove:
        """The sampler of the file; by default the walk in large games, else Dirichlet proposals.

        These adapt while the chains warm up.
        """
        table = self.question.sampler
        with self.blaming("question.sampler"):
            if isinstance(table, model.Walk):
                return SimplexWalk(table.moves, table.grid)
            if isinstance(table, model.Dirichlet):
                return DirichletProposal(table.concentration, table.offset)
            if isinstance(table, model.Hamiltonian):
                return Hamiltonian(table.leaps, table.step, table.acceptance)
        n_states = self.problem.game.n_states
        walks = n_states > SMALL and bool((self.reward_prior.shape(n_states) >= 1).all())
        if walks:
            return SimplexWalk(grid=max(1000, 2 * n_states))
        return DirichletProposal(10.0 * n_states, acceptance=ACCEPTANCE)

    @cached_property
    def posterior(self) -> Posterior:
        """The posterior of what the file says was seen."""
        evidence = Evidence(self.problem.game)
        for trajectory in self.problem.trajectories:
            evidence = evidence.observe(trajectory)
        for i, seen in enumerate(self.problem.observations):
            with self.blaming("question.weight" if not seen.whole else f"observation[{i}]"):
                evidence = evidence.observe(seen, weight=self.question.weight)
        return Posterior(evidence, self.family, self.reward_prior, self.parameter_prior)

    def sampling(self) -> Iterator[Chains]:
        """Return the draws so far, again and again, until there are all of them."""
        proposals, warmup = self.number("proposals"), self.question.warmup
        run = sampling(
            self.posterior,
            proposals,
            move=self.move,
            chains=self.number("chains"),
            thin=self.thin,
            warmup=proposals // 4 if warmup is None else warmup,
            rng=self.number("seed"),
        )
        with self.blaming("question"):
            yield from run

    @cached_property
    def learner(self) -> BayesianInteractiveIRL:
        """The learner that plays the file's episodes."""
        question = self.question
        return BayesianInteractiveIRL(
            self.problem.game,
            seed=self.number("seed"),
            family=self.family,
            reward_prior=self.reward_prior,
            parameter_prior=self.parameter_prior,
            proposals=self.number("proposals"),
            thin=self.thin,
            chains=self.number("chains"),
            move=self.move,
            choose=question.choose,
            normalise=question.normalise,
            fixed=question.fixed,
            first=self.problem.policy,
        )

    @cached_property
    def best(self) -> float:
        """The value of the best commitment known for the true reward and the file's follower."""
        problem = self.problem
        return best_value(problem.game, problem.need_truth(), problem.follower)

    def play(self) -> Iterator[Episode[BayesianInteractiveIRL]]:
        """Play the episodes against the file's follower, one at a time."""
        assert self.total is not None
        run = interact(
            self.learner,
            self.problem.need_truth(),
            self.total,
            follower=self.problem.follower,
            min_length=MIN_LENGTH if self.question.sees == "trajectory" else None,
            best=self.best,
        )
        with self.blaming("question"):
            yield from run

    def summary(self, chains: Chains) -> Summary:
        """Return what there is to report of some draws."""
        how, states = self.question.normalise, self.problem.game.states
        shown = chains if how is None else chains.normalised(how)
        return Summary(chains, shown, self.question.level, how, tuple(map(str, states)))


@dataclass(frozen=True, eq=False)
class Summary:
    """What there is to report of the draws from a posterior.

    Attributes
    ----------
    chains : the draws as they came.
    shown : the draws as they are reported, moved along their ridge where the file says so.
    level : the probability of the intervals.
    normalise : how they were moved, or None.
    states : the names of the states.
    """

    chains: Chains
    shown: Chains
    level: float
    normalise: str | None
    states: Sequence[str]

    def _estimate(self, draws: Array) -> Estimate:
        tail = (1 - self.level) / 2
        low, high = np.quantile(draws, (tail, 1 - tail))
        return Estimate(float(draws.mean()), float(low), float(high))

    @cached_property
    def reward(self) -> dict[str, Estimate]:
        """The reward of each state."""
        draws = np.moveaxis(self.shown.rewards, -1, 0)
        return {s: self._estimate(d) for s, d in zip(self.states, draws, strict=True)}

    @cached_property
    def parameter(self) -> Estimate:
        """The parameter of the follower."""
        return self._estimate(self.shown.parameters)

    @cached_property
    def diagnostics(self) -> Diagnostics | None:
        """R-hat and effective sample sizes; None where ArviZ is not installed."""
        try:
            return self.chains.diagnostics
        except MissingExtra:
            return None

    @property
    def converged(self) -> bool | None:
        """Whether nothing speaks against the draws; None where ArviZ is not there to say."""
        return None if self.diagnostics is None else self.chains.warning is None

    @property
    def warning(self) -> str | None:
        """Why the numbers are no verdict, in a sentence; None if they are one."""
        found = self.chains.warning
        if found is None:
            return None
        known = "NOT CONVERGED" if self.diagnostics else "not known to have converged"
        return f"{known}, so no verdict: {found}"

    @property
    def ridge(self) -> str | None:
        """What the likelihood cannot tell, in a sentence; None where that is next to nothing."""
        if self.normalise is not None:
            return f"each draw is moved along its ridge, normalise = {self.normalise!r}"
        ridge = self.chains.ridge
        if ridge.uniform_share < SHARE:
            return None
        if self.chains.scales:
            return str(ridge)
        return (
            f"the reward is known up to a constant only: a share {ridge.uniform_share:.3g} of the "
            "mean draw is one, which the likelihood cannot see; normalise = 'min' takes it out"
        )

    @property
    def quantities(self) -> dict[str, float]:
        """The numbers by the names of ``[[expect]]`` tables."""
        found = {
            "draws": float(self.chains.n_draws),
            "acceptance": float(self.chains.acceptance.mean()),
        }
        if self.diagnostics is not None:
            known = {k: v for k, v in self.diagnostics._asdict().items() if np.isfinite(v)}
            found |= {**known, "converged": float(bool(self.converged))}
        if self.converged is False:
            return found
        name = self.chains.parameter
        found["uniform_share"] = self.chains.ridge.uniform_share
        found |= {f"{name}{end}": v for end, v in zip(ENDS, self.parameter, strict=True)}
        for state, estimate in self.reward.items():
            found |= {f"reward{e}[{state}]": v for e, v in zip(ENDS, estimate, strict=True)}
        return found

    def record(self) -> dict[str, Any]:
        """Return all there is, ready for JSON."""
        found = self.diagnostics
        return {
            "converged": self.converged,
            "warning": self.warning,
            "ridge": self.ridge,
            "normalise": self.normalise,
            "level": self.level,
            "reward": {state: each._asdict() for state, each in self.reward.items()},
            self.chains.parameter: self.parameter._asdict(),
            "draws": self.chains.n_draws,
            "thin": self.chains.thin,
            "acceptance": self.chains.acceptance.tolist(),
            "diagnostics": {
                name: value if np.isfinite(value) else None
                for name, value in ({} if found is None else found._asdict()).items()
            },
            **self.chains.ridge._asdict(),
            "seconds": round(self.chains.seconds, 3),
        }


ENDS = ("", "_low", "_high")


def answer(problem: Problem, *, seed: int | None = None) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the quantities of a file, and the evidence for them, ready for JSON.

    **Cost** the sampling; with episodes, that of each episode.
    """
    settings = Settings(problem, seed=seed)
    if settings.total is None:
        *_, chains = settings.sampling()
        summary = settings.summary(chains)
        counts = {"episodes": float(settings.posterior.evidence.episodes)}
        return {**counts, **summary.quantities}, summary.record()
    return played(settings, list(settings.play()))


def played(
    settings: Settings, episodes: Sequence[Episode[BayesianInteractiveIRL]]
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return what the episodes played so far came to."""
    regrets = [episode.regret for episode in episodes]
    quantities = {"best_known_value": settings.best, "episodes": float(len(regrets))}
    if not episodes:
        return quantities, {"regrets": regrets}
    summary = settings.summary(episodes[-1].learner.sample())
    quantities |= {
        "first_regret": regrets[0],
        "final_regret": regrets[-1],
        "least_regret": min(regrets),
        "total_regret": sum(regrets),
        **summary.quantities,
    }
    return quantities, {"regrets": regrets, **summary.record()}
