"""Runs that leave draws from a posterior: of what a file says was seen, or episode by episode.

`PosteriorRun` samples once, and keeps the draws of each tenth with the places where its chains
stand; `PlayedRun` plays Algorithm 4 against the file's follower (paper, Section 5.1).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from iirl_opt.files import writing
from iirl_opt.library.run import EpisodesRun, Run

if TYPE_CHECKING:
    from iirl_opt.bayesian.algorithm_4 import BayesianInteractiveIRL
    from iirl_opt.bayesian.chains import Chains
    from iirl_opt.bayesian.summary import PosteriorSummary
    from iirl_opt.learn.learner import Learner
    from iirl_opt.library.families.bayesian import Settings

__all__ = ["PlayedRun", "PosteriorRun"]

# How many lines tell of the draws of one posterior.
LINES = 10

# The least number of steps of a trajectory, the paper's.
MIN_LENGTH = 2


class DrawnRun(Run):
    """A run that leaves draws from a posterior."""

    main_picture: ClassVar[str] = "posterior.png"

    settings_asked: dict[str, Any]

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings.problem, settings.given)
        self.settings = settings
        self.settings_asked = {
            **{name: settings.number(name) for name in ("seed", "proposals", "chains")},
            "thin": settings.thin,
            "compiled": find_spec("numba") is not None,
        }

    @property
    @abstractmethod
    def chains(self) -> Chains | None:
        """The draws so far, or None."""

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


class PosteriorRun(DrawnRun):
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

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._chains: Chains | None = None
        self._kept = 0

    @property
    def chains(self) -> Chains | None:
        """The draws so far, or None."""
        return self._chains

    @property
    def taken_up(self) -> int:
        """The number of steps that are done."""
        return self._kept

    def take_up(self, step: Any) -> None:
        """Take up the draws of a step, and where the chains stood behind them."""
        self.settings.sampler.take_up(step)
        self._chains = self.settings.sampler.chains
        self._kept += 1

    def steps(self) -> Iterator[str]:
        """Draw, and yield a line at each tenth of the draws."""
        settings = self.settings
        total = settings.number("proposals") // settings.thin
        told = 0 if self._chains is None else self._chains.parameters.shape[1] * LINES // total
        with settings.blaming("question"):
            for chains in settings.sampler:
                self._chains = chains
                reached = chains.parameters.shape[1] * LINES // total
                if reached > told:
                    told = reached
                    self.keep(settings.sampler.record())
                    self._kept += 1
                    yield (
                        f"{100 * told // LINES:>3} %   {chains.parameter} "
                        f"{chains.mean_parameter:.4g}   "
                        f"acceptance {chains.acceptance.mean():.2f}   {chains.seconds:.1f} s"
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


class PlayedRun(DrawnRun, EpisodesRun):
    """The episodes of the file, in which its simulated follower answers.

    A regret is the true value of what was played, whatever the chains did: it needs no verdict.
    """

    @cached_property
    def learner(self) -> BayesianInteractiveIRL:
        """The learner of Algorithm 4, before the first episode."""
        from iirl_opt.bayesian.algorithm_4 import BayesianInteractiveIRL

        settings, question = self.settings, self.settings.question
        return BayesianInteractiveIRL(
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

    @property
    def chains(self) -> Chains | None:
        """The draws of the last episode, or None before there is one."""
        return self.episodes[-1].learner.sample() if self.episodes else None

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

    def play(self, learner: Learner) -> Iterator[Any]:
        """Play the episodes that a learner does not know, one at a time."""
        from iirl_opt.learn.episodes import interact

        run = interact(
            learner,
            self.problem.need_truth(),
            self.total,
            follower=self.problem.follower,
            min_length=MIN_LENGTH if self.settings.question.sees == "trajectory" else None,
            best=self.best,
        )
        with self.settings.blaming("question"):
            yield from run

    def value(self, episode: Any) -> float:
        """Return the true value of what the learner held for best."""
        return float(episode.value)

    def facts(self, episode: Any) -> dict[str, float]:
        """Return the parameter's mean and the share of accepted proposals: here they are drawn."""
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
