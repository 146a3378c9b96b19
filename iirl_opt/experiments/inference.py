"""Inference: a run of Bayesian learning on a model file, a line at a time, and what it leaves.

An `Inference` is iterated for the lines that tell how far it is; it can be stopped at any time and
then knows what there is so far: the result document, the lines of its report, and its picture.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from iirl_opt.bayesian.algorithm_4 import BayesianInteractiveIRL
from iirl_opt.bayesian.chains import Chains
from iirl_opt.files import write_text, writing
from iirl_opt.learn.episodes import Episode
from iirl_opt.library.bayesian import Estimate, Settings, Summary, played

__all__ = ["Inference"]

# How many lines tell of the draws of one posterior, and how many states a report names.
LINES, NAMED = 10, 12


class Inference:
    """A run on a model file of the family ``bayesian``.

    Parameters
    ----------
    settings : the file, and what replaces its own numbers.

    Attributes
    ----------
    complete : whether the run came to its end.
    chains : the draws so far, or None before there are any.
    episodes : the episodes played so far.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.complete = False
        self.chains: Chains | None = None
        self.episodes: list[Episode[BayesianInteractiveIRL]] = []
        self.records: list[dict[str, Any]] = []
        self.total = LINES if settings.total is None else settings.total

    @property
    def title(self) -> str:
        """What is learnt from, in a line."""
        settings = self.settings
        if settings.total is not None:
            return f"best commitment known: value {settings.best:.6f}"
        evidence = settings.posterior.evidence
        count = sum(float(counts.sum()) for counts in evidence.counts)
        return (
            f"{evidence.episodes} episodes under {len(evidence.commitments)} commitments, "
            f"{count:g} observed actions"
        )

    def __iter__(self) -> Iterator[str]:
        """Yield a line at each tenth of the draws, or for each episode."""
        yield from self._draw() if self.settings.total is None else self._play()
        self.complete = True

    def _draw(self) -> Iterator[str]:
        settings = self.settings
        total, told = settings.number("proposals") // settings.thin, 0
        for self.chains in settings.sampling():
            reached = self.chains.parameters.shape[1] * LINES // total
            if reached > told:
                told = reached
                yield (
                    f"{100 * told // LINES:>3} %   {self.chains.parameter} "
                    f"{self.chains.mean_parameter:.4g}   "
                    f"acceptance {self.chains.acceptance.mean():.2f}   {self.chains.seconds:.1f} s"
                )

    def _play(self) -> Iterator[str]:
        began = time.perf_counter()
        for episode in self.settings.play():
            self.chains = episode.learner.sample()  # before it counts as played: may be interrupted
            self.episodes.append(episode)
            record = {
                "episode": episode.number,
                "value": episode.value,
                "regret": episode.regret,
                **episode.learner.facts(),
                "seconds": round(time.perf_counter() - began, 4),
            }
            self.records.append(record)
            yield (
                f"episode {episode.number:>3}   value {episode.value:>10.6f}   "
                f"regret {episode.regret:>10.6f}   "
                f"{self.chains.parameter} {record[self.chains.parameter]:.4g}"
            )

    @property
    def summary(self) -> Summary | None:
        """What there is to report of the draws so far."""
        return None if self.chains is None else self.settings.summary(self.chains)

    @property
    def quantities(self) -> dict[str, float]:
        """The numbers by the names of ``[[expect]]`` tables; none before there is a draw."""
        if self.settings.total is not None:
            return played(self.settings, self.episodes)[0]
        if self.summary is None:
            return {}
        return {
            "episodes": float(self.settings.posterior.evidence.episodes),
            **self.summary.quantities,
        }

    @property
    def verdict(self) -> bool:
        """Whether there is an answer: the draws have mixed, or there are regrets, which need none.

        A regret is the true value of what was played, whatever the chains did.
        """
        if self.settings.total is not None:
            return True
        return self.summary is not None and bool(self.summary.converged)

    def document(self) -> dict[str, Any]:
        """Return the result so far, ready for JSON."""
        settings = self.settings
        facts: dict[str, Any] = {
            "seed": settings.number("seed"),
            "proposals": settings.number("proposals"),
            "chains": settings.number("chains"),
            "sampler": repr(settings.move),
            "complete": self.complete,
            "verdict": self.complete and self.verdict,
            "quantities": self.quantities,
        }
        if settings.total is not None:
            facts["episodes"] = self.records
        return facts | {"posterior": None if self.summary is None else self.summary.record()}

    def report(self) -> Iterator[str]:
        """Yield the lines for people."""
        summary = self.summary
        if summary is None:
            return
        level = f"{100 * summary.level:g} %"
        rows = {summary.chains.parameter: summary.parameter}
        largest = sorted(summary.reward, key=lambda s: -summary.reward[s].mean)[:NAMED]
        named = [state for state in summary.reward if state in largest]
        rows |= {f"reward {state}": summary.reward[state] for state in named}
        width = max(map(len, rows))
        yield f"{'':<{width}}  {'mean':>10}  {level + ' of the posterior':>24}"
        yield from (_row(name, each, width) for name, each in rows.items())
        rest = len(summary.reward) - len(named)
        if rest:
            yield f"and {rest} states whose reward is smaller"
        found = summary.diagnostics
        if found is not None:
            yield (
                f"R-hat {found.r_hat:.3f}, effective draws {found.ess_bulk:.0f} (bulk) and "
                f"{found.ess_tail:.0f} (tail) of {summary.chains.n_draws}, the worst of all rows"
            )
        each = ", ".join(f"{share:.2f}" for share in summary.chains.acceptance)
        yield f"acceptance {each}"
        yield from (line for line in (summary.ridge, summary.warning) if line is not None)

    def write(self, folder: Path | None, document: str, picture: Path | None) -> Iterator[Path]:
        """Write document, draws and picture into a folder, and the picture where it is wanted.

        Parameters
        ----------
        folder, picture : nothing goes where None stands.
        document : the text of ``result.json``.
        """
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            yield write_text(folder / "result.json", document + "\n")
        if self.chains is None:
            return
        if folder is not None:
            with writing(folder / "draws.npz") as part:
                self._save_draws(part)
            yield folder / "draws.npz"
        pictures = [picture] if picture is not None else []
        if folder is not None and find_spec("matplotlib") is not None:
            pictures.append(folder / "posterior.png")
        for path in pictures:
            self._draw_chains(path)
            yield path

    def _save_draws(self, path: Path) -> None:
        assert self.chains is not None
        arrays: dict[str, Any] = {
            "reward": self.chains.rewards,
            self.chains.parameter: self.chains.parameters,
            "log_posterior": self.chains.log_posterior,
        }
        np.savez_compressed(path, **arrays)

    def _draw_chains(self, path: Path) -> None:
        from iirl_opt import plot

        summary = self.summary
        assert summary is not None
        how = self.settings.question.normalise
        axes = plot.plot_chains(summary.chains, states=summary.states, normalise=how)
        plot.save(axes[0], path)


def _row(name: str, found: Estimate, width: int) -> str:
    return f"{name:<{width}}  {found.mean:>10.4g}  {found.low:>11.4g} … {found.high:<10.4g}"
