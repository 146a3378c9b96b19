"""The family ``bayesian``: the posterior of the reward and of the follower's unknown number.

A file holds what was seen, as trajectories or whole responses, and asks what that says
(`PosteriorRun`); or it holds the truth and a number of episodes, and a leader learns from a
follower that is simulated (`PlayedRun`; paper, Section 5.1, Algorithm 4). The runs stand in
`iirl_opt.library.posterior_runs`.

A result whose chains have not mixed is no verdict.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from iirl_opt import bayesian
from iirl_opt.errors import FileProblem, InvalidArgument, InvalidValue
from iirl_opt.library.entries import by_state
from iirl_opt.library.posterior_runs import PlayedRun, PosteriorRun
from iirl_opt.library.problem import ModelProblem
from iirl_opt.library.question import RunQuestion
from iirl_opt.library.run import numbers_given
from iirl_opt.library.schema import (
    BoltzmannTable,
    EpsilonGreedyTable,
    ExponentialTable,
    GammaTable,
    PolicyTable,
    PriorTable,
    SoftOptimalTable,
    Table,
    UniformTable,
)

if TYPE_CHECKING:
    from iirl_opt.bayesian.chains import Chains
    from iirl_opt.bayesian.families import FollowerFamily
    from iirl_opt.bayesian.posterior import Posterior
    from iirl_opt.bayesian.priors import DirichletPrior, ParameterPrior, UniformPrior
    from iirl_opt.bayesian.sampler import PosteriorSampler, RewardMove
    from iirl_opt.bayesian.summary import PosteriorSummary

__all__ = ["BayesianQuestion", "Settings"]

Array = NDArray[np.float64]

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
        if isinstance(partner, BoltzmannTable):
            return bayesian.BoltzmannFamily()
        if isinstance(partner, SoftOptimalTable):
            return bayesian.SoftOptimalFamily()
        if not isinstance(partner, EpsilonGreedyTable):
            allowed = "allowed 'boltzmann' or 'epsilon-greedy', or 'soft-optimal', in this family"
            self.refuse("follower.model", allowed)
        return bayesian.EpsilonGreedyFamily()

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
        partner = self.problem.partner
        if isinstance(partner, SoftOptimalTable):
            heat = partner.temperature
            return None if heat == "unknown" else bayesian.Known(1 / heat)
        stated = getattr(partner, self.family.parameter)
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

    @cached_property
    def sampler(self) -> PosteriorSampler:
        """The chains of the posterior, before they draw."""
        proposals, warmup = self.number("proposals"), self.question.warmup
        with self.blaming("question"):
            return bayesian.PosteriorSampler(
                self.posterior,
                proposals,
                move=self.move,
                chains=self.number("chains"),
                thin=self.thin,
                warmup=proposals // 4 if warmup is None else warmup,
                rng=self.number("seed"),
            )

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
