"""Runs: answers that come a step at a time, may be stopped at any step, and leave files behind.

A `Run` is iterated for the lines that tell how far it is. Whenever it is stopped it knows what
there is so far: its quantities, the document of its result, the lines of its report, its pictures.
An `EpisodesRun` is one in which a learner plays against the file's follower.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from iirl_opt.checks import whole
from iirl_opt.errors import FileProblem
from iirl_opt.files import write_text
from iirl_opt.library.problem import ModelProblem

__all__ = ["EpisodesRun", "Run", "numbers_given"]


# The numbers that may be given in place of a file's own, and the least that they may be.
NUMBERS = {"seed": 0, "episodes": 1, "proposals": 1, "chains": 1}


def numbers_given(problem: ModelProblem, given: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """Return what is given in place of a file's own numbers, without what is None.

    Raises
    ------
    FileProblem
        Something is given that has no meaning in the family of the file.
    InvalidArgument
        A seed, or a number of episodes, proposals or chains, is none.
    """
    stated = {name: value for name, value in given.items() if value is not None}
    for name, value in stated.items():
        if name not in known:
            problem_said = f"{name} has no meaning in the family {problem.question.family()}"
            raise FileProblem(problem.path, problem_said, key="question.family")
        if name in NUMBERS:
            stated[name] = whole(NUMBERS[name])(name, value)
    return stated


class Run(ABC):
    """The run of a file, from before its first step on.

    Parameters
    ----------
    problem : the file.
    given : what replaces the file's own numbers.

    Attributes
    ----------
    complete : whether the run came to its end.
    main_picture : the name of the file of that picture in a folder.
    """

    main_picture: ClassVar[str]

    problem: ModelProblem
    given: Mapping[str, Any]
    complete: bool

    def __init__(self, problem: ModelProblem, given: Mapping[str, Any]) -> None:
        self.problem, self.given = problem, given
        self.complete = False

    def __iter__(self) -> Iterator[str]:
        """Yield a line for each step."""
        yield from self.steps()
        self.complete = True

    @property
    @abstractmethod
    def title(self) -> str:
        """What the run is about, in a line before the first step."""

    @property
    @abstractmethod
    def total(self) -> int:
        """The number of steps."""

    @abstractmethod
    def steps(self) -> Iterator[str]:
        """Carry out the steps, and yield a line for each."""

    @property
    @abstractmethod
    def quantities(self) -> dict[str, float]:
        """The numbers so far, by the names of ``[[expect]]`` tables."""

    @property
    @abstractmethod
    def evidence(self) -> dict[str, Any]:
        """What supports them, ready for JSON."""

    @property
    def verdict(self) -> bool:
        """Whether what there is so far is an answer."""
        return True

    @property
    def as_stated(self) -> bool:
        """Whether the file was run as it stands, so that its expectations are about this run."""
        return self.complete and self.verdict and self.problem.as_stated and not self.given

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """Return the result so far, ready for JSON."""

    def report(self) -> Iterator[str]:
        """Yield the lines for people that follow those of the steps."""
        yield from ()

    def write(self, folder: Path | None, document: str, picture: Path | None) -> Iterator[Path]:
        """Write document and all else into a folder, and the main picture where it is wanted.

        Parameters
        ----------
        folder, picture : nothing goes where None stands.
        document : the text of ``result.json``.
        """
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            yield write_text(folder / "result.json", f"{document}\n")
            yield from self.write_data(folder)
            if find_spec("matplotlib") is not None:
                yield from self.draw(folder)
        if picture is not None:
            yield from self.draw_main(picture)

    def write_data(self, folder: Path) -> Iterator[Path]:
        """Write what goes beside the result."""
        yield from ()

    def draw(self, folder: Path) -> Iterator[Path]:
        """Draw all pictures into a folder."""
        yield from self.draw_main(folder / self.main_picture)

    @abstractmethod
    def draw_main(self, path: Path) -> Iterator[Path]:
        """Draw the main picture, if there is anything to draw."""


class EpisodesRun(Run):
    """A learner plays the episodes of a file against its follower.

    Attributes
    ----------
    episodes : those that are over.
    records : what there is to tell of each, ready for JSON; they count from 1.
    """

    def __init__(self, problem: ModelProblem, given: Mapping[str, Any]) -> None:
        super().__init__(problem, given)
        self.episodes: list[Any] = []
        self.records: list[dict[str, Any]] = []

    @property
    @abstractmethod
    def best(self) -> float:
        """The value that regret is measured against."""

    @abstractmethod
    def play(self) -> Iterator[Any]:
        """Play the episodes, one at a time."""

    @abstractmethod
    def value(self, episode: Any) -> float:
        """Return what an episode earned."""

    @abstractmethod
    def facts(self, episode: Any) -> dict[str, float]:
        """Return what the learner has to say of an episode."""

    @property
    def title(self) -> str:
        """The value of the best commitment."""
        return f"best commitment: value {self.best:.6f}"

    def steps(self) -> Iterator[str]:
        """Play the episodes, and yield a line for each."""
        from iirl_opt.learn.episode_regret import loss

        began = time.perf_counter()
        for episode in self.play():
            value = self.value(episode)
            record: dict[str, Any] = {
                "episode": episode.number,
                "value": value,
                "regret": loss(self.best, value),
                **self.facts(episode),
            }
            record["seconds"] = round(time.perf_counter() - began, 4)
            self.episodes.append(episode)
            self.records.append(record)
            yield self.line(record)

    def line(self, record: Mapping[str, Any]) -> str:
        """Return the line of an episode."""
        told = ("episode", "value", "regret", "seconds")
        facts = {name: fact for name, fact in record.items() if name not in told}
        words = "".join(
            f"   {name} {fact:.{'0f' if float(fact).is_integer() else '4g'}}"
            for name, fact in facts.items()
        )
        return (
            f"episode {record['episode']:>3}   value {record['value']:>10.6f}   "
            f"regret {record['regret']:>10.6f}{words}"
        )

    @property
    def regrets(self) -> list[float]:
        """The regret of each episode so far."""
        return [record["regret"] for record in self.records]

    @property
    def regret_quantities(self) -> dict[str, float]:
        """The numbers about regret; none before there is an episode."""
        regrets = self.regrets
        if not regrets:
            return {}
        return {
            "first_regret": regrets[0],
            "final_regret": regrets[-1],
            "least_regret": min(regrets),
            "total_regret": sum(regrets),
        }
