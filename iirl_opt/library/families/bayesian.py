"""The family ``bayesian``: the posterior of the reward and of the follower's unknown number.

A file holds what was seen, as trajectories or whole responses, and asks what that says
(`PosteriorRun`); or it holds the truth and a number of episodes, and a leader learns from a
follower that is simulated (`PlayedRun`; paper, Section 5.1, Algorithm 4).

A result whose chains have not mixed is no verdict.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from iirl_opt import bayesian
from iirl_opt.errors import FileProblem, InvalidArgument, InvalidValue
from iirl_opt.files import writing
from iirl_opt.library.entries import by_state
from iirl_opt.library.problem import ModelProblem
from iirl_opt.library.question import RunQuestion
from iirl_opt.library.run import EpisodesRun, Run, numbers_given
from iirl_opt.library.schema import (
    BoltzmannTable,
    EpsilonGreedyTable,
    ExponentialTable,
    GammaTable,
    PolicyTable,
    PriorTable,
    Table,
    UniformTable,
)

if TYPE_CHECKING:
    from iirl_opt.bayesian.chains import Chains
    from iirl_opt.bayesian.families import FollowerFamily
    from iirl_opt.bayesian.posterior import Posterior
    from iirl_opt.bayesian.priors import DirichletPrior, ParameterPrior, UniformPrior
    from iirl_opt.bayesian.sampler import RewardMove
    from iirl_opt.bayesian.summary import PosteriorSummary

__all__ = ["BayesianQuestion", "PlayedRun", "PosteriorRun", "Settings"]

Array = NDArray[np.float64]

# How many lines tell of the draws of one posterior.
LINES = 10

# The least number of steps of a trajectory, the paper's.
MIN_LENGTH = 2

# What may replace numbers of the file.
REPLACED = ("seed", "proposals", "chains", "episodes")


class WalkTable(Table, tag_field="name", tag="walk"):
    """The paper's moves: see `iirl_opt.bayesian.SimplexWalk`."""

    moves: int = 100
    grid: int = 1000


class DirichletTable(Table, tag_field="name", tag="dirichlet"):
    """See `iirl_opt.bayesian.DirichletProposal`."""

    concentration: float = 1000.0
    offset: float = 1.0


class HamiltonianTable(Table, tag_field="name", tag="hamiltonian"):
    """See `iirl_opt.bayesian.Hamiltonian`."""

    leaps: int = 1
    step: float = 0.1
    acceptance: float = 0.6


class BayesianQuestion(RunQuestion, tag="bayesian"):
    """The posterior of reward and parameter: of what was seen, or episode by episode."""

    takes: ClassVar[frozenset[str]] = frozenset({"prior", "trajectory", "unknown"})
    policy_key: ClassVar[str | None] = "first"

    proposals: int | None = None
    chains: int = 4
    thin: int | None = None
    warmup: int | None = None
    seed: int = 0
    sampler: WalkTable | DirichletTable | HamiltonianTable | None = None
    normalise: Literal["min", "direction"] | None = None
    level: float = 0.9
    weight: float = 1.0
    episodes: int | None = None
    first: PolicyTable | None = None
    sees: Literal["trajectory", "response"] = "trajectory"
    choose: Literal["mean", "thompson", "value"] = "mean"
    fixed: bool = False

    def learn(self, problem: ModelProblem, **given: Any) -> PosteriorRun | PlayedRun:
        """Return the run; `seed`, `proposals`, `chains` and `episodes` may replace the file's."""
        settings = Settings(problem, **numbers_given(problem, given, *REPLACED))
        return PosteriorRun(settings) if settings.total is None else PlayedRun(settings)


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

    problem: ModelProblem
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
    def question(self) -> BayesianQuestion:
        """The question of the file."""
        if not isinstance(self.problem.question, BayesianQuestion):
            self.refuse("question.family", "is not bayesian")
        return self.problem.question

    def refuse(self, key: str, what: str) -> NoReturn:
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
        if number is None:
            from iirl_opt.bayesian.sampling_defaults import usual_proposals

            return usual_proposals(self.problem.game.n_states, episodes=self.total is not None)
        return number

    @property
    def total(self) -> int | None:
        """The number of episodes to play, or None where what was seen is given."""
        total = self.question.episodes if self.episodes is None else self.episodes
        if total is not None and total < 1:
            self.refuse("question.episodes", f"is {total}; allowed ≥ 1")
        return total

    @property
    def thin(self) -> int:
        """How many proposals make a draw."""
        from iirl_opt.bayesian.sampling_defaults import usual_thin

        own, n_states = self.question.thin, self.problem.game.n_states
        return usual_thin(n_states, self.number("proposals")) if own is None else own

    @property
    def family(self) -> FollowerFamily:
        """The family of the file's follower."""
        partner = self.problem.partner
        if not isinstance(partner, BoltzmannTable | EpsilonGreedyTable):
            self.refuse("follower.model", "allowed 'boltzmann' or 'epsilon-greedy' in this family")
        return (
            bayesian.BoltzmannFamily()
            if isinstance(partner, BoltzmannTable)
            else bayesian.EpsilonGreedyFamily()
        )

    @property
    def reward_prior(self) -> DirichletPrior:
        """The Dirichlet distribution of the file, uniform by default."""
        prior = self.problem.prior or PriorTable()
        with self.blaming("prior.reward"):
            path, game, given = self.problem.path, self.problem.game, prior.reward
            shape = by_state(path, game, given.by_state, "prior.reward", given.default)
            return bayesian.DirichletPrior(shape)

    @property
    def parameter_prior(self) -> ParameterPrior | None:
        """The prior of the file; else a number of the file is known, and for another None."""
        table = None if self.problem.prior is None else self.problem.prior.parameter
        with self.blaming("prior.parameter"):
            if isinstance(table, ExponentialTable):
                return bayesian.exponential_prior(table.mean)
            if isinstance(table, GammaTable):
                return bayesian.GammaPrior(table.shape, table.rate)
            if isinstance(table, UniformTable):
                return self._uniform(table)
        stated = getattr(self.problem.partner, self.family.parameter)
        return None if stated == "unknown" else bayesian.Known(float(stated))

    def _uniform(self, table: UniformTable) -> UniformPrior:
        prior = bayesian.UniformPrior(table.low, table.high)
        if table.low < 0 or (table.high > 1 and not self.family.scales):
            allowed = "≥ 0" if self.family.scales else "within [0, 1]"
            raise InvalidArgument("low, high", f"are {table.low}, {table.high}", allowed, table.low)
        return prior

    @property
    def move(self) -> RewardMove:
        """The sampler of the file, or the usual one of games of this size."""
        table = self.question.sampler
        with self.blaming("question.sampler"):
            if isinstance(table, WalkTable):
                return bayesian.SimplexWalk(table.moves, table.grid)
            if isinstance(table, DirichletTable):
                return bayesian.DirichletProposal(table.concentration, table.offset)
            if isinstance(table, HamiltonianTable):
                return bayesian.Hamiltonian(table.leaps, table.step, table.acceptance)
        from iirl_opt.bayesian.sampling_defaults import usual_move

        return usual_move(self.problem.game.n_states, self.reward_prior)

    @cached_property
    def posterior(self) -> Posterior:
        """The posterior of what the file says was seen."""
        evidence = bayesian.Evidence(self.problem.game)
        for trajectory in self.problem.trajectories:
            evidence = evidence.observe(trajectory)
        for i, seen in enumerate(self.problem.observations):
            with self.blaming("question.weight" if not seen.whole else f"observation[{i}]"):
                evidence = evidence.observe(seen, weight=self.question.weight)
        return bayesian.Posterior(evidence, self.family, self.reward_prior, self.parameter_prior)

    def sampling(self) -> Iterator[Chains]:
        """Return the draws so far, again and again, until there are all of them."""
        proposals, warmup = self.number("proposals"), self.question.warmup
        run = bayesian.sampling(
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

    @property
    def given(self) -> dict[str, int]:
        """What replaces the file's own numbers."""
        return {name: getattr(self, name) for name in REPLACED if getattr(self, name) is not None}

    def summary(self, chains: Chains) -> PosteriorSummary:
        """Return what there is to report of some draws."""
        from iirl_opt.bayesian.summary import PosteriorSummary

        how, states = self.question.normalise, self.problem.game.states
        shown = chains if how is None else chains.normalised(how)
        return PosteriorSummary(chains, shown, self.question.level, how, tuple(map(str, states)))


class _Drawn(Run):
    """A run that leaves draws from a posterior."""

    main_picture: ClassVar[str] = "posterior.png"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings.problem, settings.given)
        self.settings = settings
        self.chains: Chains | None = None

    @property
    def summary(self) -> PosteriorSummary | None:
        """What there is to report of the draws so far."""
        return None if self.chains is None else self.settings.summary(self.chains)

    @property
    def evidence(self) -> dict[str, Any]:
        """The whole record of the posterior."""
        return {} if self.summary is None else self.summary.record()

    def document(self) -> dict[str, Any]:
        """Return the result so far, ready for JSON."""
        settings = self.settings
        return {
            "seed": settings.number("seed"),
            "proposals": settings.number("proposals"),
            "chains": settings.number("chains"),
            "sampler": repr(settings.move),
            "complete": self.complete,
            "verdict": self.complete and self.verdict,
            "quantities": self.quantities,
            "posterior": None if self.summary is None else self.summary.record(),
        }

    def report(self) -> Iterator[str]:
        """Yield the lines for people."""
        if self.summary is not None:
            yield from self.summary.report()

    def write_data(self, folder: Path) -> Iterator[Path]:
        """Write the draws."""
        if self.chains is None:
            return
        arrays: dict[str, Any] = {
            "reward": self.chains.rewards,
            self.chains.parameter: self.chains.parameters,
            "log_posterior": self.chains.log_posterior,
        }
        with writing(folder / "draws.npz") as part:
            np.savez_compressed(part, **arrays)
        yield folder / "draws.npz"

    def draw_main(self, path: Path) -> Iterator[Path]:
        """Draw the chains."""
        from iirl_opt import plot

        summary = self.summary
        if summary is not None:
            how = summary.normalise
            axes = plot.plot_chains(summary.chains, states=summary.states, normalise=how)
            yield plot.save(axes[0], path)


class PosteriorRun(_Drawn):
    """The chains of what the file says was seen."""

    @property
    def title(self) -> str:
        """What is learnt from, in a line."""
        evidence = self.settings.posterior.evidence
        count = sum(float(counts.sum()) for counts in evidence.counts)
        return (
            f"{evidence.episodes} episodes under {len(evidence.commitments)} commitments, "
            f"{count:g} observed actions"
        )

    @property
    def total(self) -> int:
        """The number of lines."""
        return LINES

    def steps(self) -> Iterator[str]:
        """Draw, and yield a line at each tenth of the draws."""
        settings = self.settings
        total, told = settings.number("proposals") // settings.thin, 0
        for chains in settings.sampling():
            self.chains: Chains | None = chains
            reached = self.chains.parameters.shape[1] * LINES // total
            if reached > told:
                told = reached
                yield (
                    f"{100 * told // LINES:>3} %   {self.chains.parameter} "
                    f"{self.chains.mean_parameter:.4g}   "
                    f"acceptance {self.chains.acceptance.mean():.2f}   {self.chains.seconds:.1f} s"
                )

    @property
    def quantities(self) -> dict[str, float]:
        """The numbers by the names of ``[[expect]]`` tables; none before there is a draw."""
        if self.summary is None:
            return {}
        episodes = float(self.settings.posterior.evidence.episodes)
        return {"episodes": episodes, **self.summary.quantities}

    @property
    def verdict(self) -> bool:
        """Whether the draws have mixed, which alone makes them an answer."""
        return self.summary is not None and bool(self.summary.converged)


class PlayedRun(_Drawn, EpisodesRun):
    """The episodes of the file, in which its simulated follower answers.

    A regret is the true value of what was played, whatever the chains did: it needs no verdict.
    """

    @cached_property
    def best(self) -> float:
        """The value of the best commitment known for the true reward and the file's follower."""
        from iirl_opt.learn.episode_regret import best_value

        return best_value(self.problem.game, self.problem.need_truth(), self.problem.follower)

    @property
    def title(self) -> str:
        """The value of the best commitment known."""
        return f"best commitment known: value {self.best:.6f}"

    @property
    def total(self) -> int:
        """The number of episodes."""
        assert self.settings.total is not None
        return self.settings.total

    def play(self) -> Iterator[Any]:
        """Play the episodes, one at a time."""
        from iirl_opt.bayesian.algorithm_4 import BayesianInteractiveIRL
        from iirl_opt.learn.episodes import interact

        settings, question = self.settings, self.settings.question
        learner = BayesianInteractiveIRL(
            self.problem.game,
            seed=settings.number("seed"),
            family=settings.family,
            reward_prior=settings.reward_prior,
            parameter_prior=settings.parameter_prior,
            proposals=settings.number("proposals"),
            thin=settings.thin,
            chains=settings.number("chains"),
            move=settings.move,
            choose=question.choose,
            normalise=question.normalise,
            fixed=question.fixed,
            first=self.problem.policy,
        )
        run = interact(
            learner,
            self.problem.need_truth(),
            self.total,
            follower=self.problem.follower,
            min_length=MIN_LENGTH if question.sees == "trajectory" else None,
            best=self.best,
        )
        with settings.blaming("question"):
            yield from run

    def value(self, episode: Any) -> float:
        """Return the true value of what the learner held for best."""
        return float(episode.value)

    def facts(self, episode: Any) -> dict[str, float]:
        """Return the parameter's mean and the share of accepted proposals: here they are drawn."""
        self.chains: Chains | None = episode.learner.sample()
        return dict(episode.learner.facts())

    @property
    def quantities(self) -> dict[str, float]:
        """The numbers so far, by the names of ``[[expect]]`` tables."""
        found = {"best_known_value": self.best, "episodes": float(len(self.episodes))}
        if self.summary is None:
            return found
        return {**found, **self.regret_quantities, **self.summary.quantities}

    @property
    def evidence(self) -> dict[str, Any]:
        """The regrets, and the record of the last posterior."""
        return {"regrets": self.regrets, **super().evidence}

    def document(self) -> dict[str, Any]:
        """Return the result so far, ready for JSON."""
        return {**super().document(), "episodes": self.records}
