"""Runs: answers that come a step at a time, may be stopped at any step, and leave files behind.

A `Run` is iterated for the lines that tell how far it is. Whenever it is stopped it knows what
there is so far: its quantities, the document of its result, the lines of its report, its pictures.
An `EpisodesRun` is one in which a learner plays against the file's follower.

With a *checkpoint* each step is kept as soon as it is done: a run that ended early, however it did,
is taken up again and comes to the same result as if nothing had been in its way.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from iirl_opt.checkpoint import Beginning, Checkpoint
from iirl_opt.checks import FINITE, MAPPING, each, refuse, whole
from iirl_opt.errors import FileProblem, IIRLError
from iirl_opt.files import write_text
from iirl_opt.library.problem import ModelProblem
from iirl_opt.versions import versions

if TYPE_CHECKING:
    from iirl_opt.learn import Episode, Learner

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


def FACT(name: str, value: Any) -> list[Any]:
    """Return what a learner said of itself: a list of a name and a number."""
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[0], str):
        raise refuse(name, value, "a name and a number")
    FINITE(name, value[1])
    return value


class Run(ABC):
    """The run of a file, from before its first step on.

    Parameters
    ----------
    problem : the file.
    given : what replaces the file's own numbers.

    Attributes
    ----------
    complete : whether the run came to its end.
    checkpoint : the file that keeps each step, or None.
    until : what the checkpoint stays open for when all is done, if anything.
    begin : whether it is ``"new"``, resumed from or restarted, see `iirl_opt.checkpoint`.
    settings_asked : what steps depend on and a file or its reader chose, by name, JSON-able.
    main_picture : the name of the file of that picture in a folder.

    Examples
    --------
    >>> from iirl_opt import library
    >>> run = library.learn(library.read_model("two-rooms"), episodes=1)
    >>> run.complete, len(list(run)), run.complete
    (False, 1, True)
    >>> run.quantities["episodes"]
    1.0
    """

    main_picture: ClassVar[str]

    problem: ModelProblem
    given: Mapping[str, Any]
    complete: bool
    checkpoint: Path | None
    begin: Beginning
    until: ExitStack | None
    settings_asked: dict[str, Any]

    def __init__(self, problem: ModelProblem, given: Mapping[str, Any]) -> None:
        self.problem, self.given = problem, given
        self.complete = False
        self.checkpoint, self.begin, self.until = None, "new", None
        self._work: Checkpoint | None = None

    def __iter__(self) -> Iterator[str]:
        """Open the checkpoint, take up what it holds, and return what yields a line a step.

        Raises
        ------
        FileProblem
            The checkpoint is another process's, unfinished, of something else or damaged; or it
            holds what is no step of this run: names file and line.
        OSError
            It cannot be made.
        """
        if self.checkpoint is not None:
            work = Checkpoint(self.checkpoint, self.about, begin=self.begin)
            try:
                self._take_up(work)
            except BaseException:
                work.close()
                raise
            if self.until is not None:
                self.until.callback(work.close)
            self._work, self.begin = work, "resume"  # who iterates it again goes on
        return self._lines()

    def _lines(self) -> Iterator[str]:
        if self._work is None:
            yield from self.steps()
            self.complete = True
            return
        with ExitStack() as here:
            if self.until is None:
                here.callback(self._work.close)
            yield from self.steps()
            self.complete = True
            self._work.end_with(here if self.until is None else self.until)

    def _take_up(self, work: Checkpoint) -> None:
        """Take up the records of a checkpoint."""
        if len(work.records) > self.total:
            problem = f"holds {len(work.records)} steps; allowed at most {self.total}, as are asked"
            raise FileProblem(work.path, problem)
        for i, record in enumerate(work.records[self.taken_up :], start=self.taken_up):
            try:
                self.take_up(record)
            except IIRLError as problem:
                raise work.problem(i, f"is no step of this run: {problem}") from problem

    def keep(self, step: object) -> None:
        """Write what a step has done, JSON-able, into the checkpoint if there is one."""
        if self._work is not None:
            self._work.append(step)

    @abstractmethod
    def take_up(self, step: Any) -> None:
        """Take up a step that was kept: the next one, if it is what it should be.

        Raises
        ------
        IIRLError
            It is not.
        """

    @property
    @abstractmethod
    def taken_up(self) -> int:
        """The number of steps that are done."""

    @property
    def about(self) -> dict[str, Any]:
        """What is computed, JSON-able: a checkpoint goes on with nothing else.

        It names the file and what it holds, the game, reward and answers that were read from it,
        what is asked and the versions. How long the run is to be is no part of it.
        """
        problem = self.problem
        return {
            "command": "learn",
            "file": problem.path.name,
            "digest": problem.digest,
            **self.settings_asked,
            **versions(),
        }

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

    Examples
    --------
    >>> from iirl_opt import library
    >>> run = library.learn(library.read_model("two-rooms"), episodes=2)
    >>> for line in run:
    ...     print(line)
    episode   1   value   0.000000   regret   2.400000   rows 1
    episode   2   value   2.400000   regret   0.000000   rows 2
    >>> round(run.best, 6), run.taken_up, len(run.records)
    (2.4, 2, 2)
    """

    def __init__(self, problem: ModelProblem, given: Mapping[str, Any]) -> None:
        super().__init__(problem, given)
        self.episodes: list[Episode[Any]] = []
        self.records: list[dict[str, Any]] = []

    @property
    @abstractmethod
    def learner(self) -> Learner:
        """The learner, as it is before the first episode."""

    @property
    @abstractmethod
    def best(self) -> float:
        """The value that regret is measured against."""

    @property
    def against(self) -> float:
        """The same in the unit of the game, where a file has another."""
        return self.best

    @abstractmethod
    def play(self, learner: Learner) -> Iterator[Any]:
        """Let a learner play the episodes that it does not know, one at a time."""

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

    @property
    def latest(self) -> Learner:
        """The learner as it is now."""
        learner: Learner = self.episodes[-1].learner if self.episodes else self.learner
        return learner

    @property
    def taken_up(self) -> int:
        """The number of episodes that are over."""
        return len(self.episodes)

    def steps(self) -> Iterator[str]:
        """Play the episodes, and yield a line for each."""
        from iirl_opt.learn.records import record_of

        before = self.records[-1]["seconds"] if self.records else 0.0
        began = time.perf_counter() - before
        for episode in self.play(self.latest):
            facts = self.facts(episode)
            seconds = round(time.perf_counter() - began, 4)
            self.keep({**record_of(episode), "facts": [*facts.items()], "seconds": seconds})
            yield self.line(self._told(episode, facts, seconds))

    def take_up(self, step: Any) -> None:
        """Take up an episode that was kept.

        Raises
        ------
        IIRLError
            It is not the next one, or its answer is none of this game.
        """
        from iirl_opt.learn.records import recall

        record = MAPPING("record", step)
        seconds, facts = FINITE("seconds", record.get("seconds")), {}
        for pair in each(FACT)("facts", record.get("facts")):
            facts[pair[0]] = pair[1]
        self._told(recall(self.latest, record, best=self.against), facts, seconds)

    def _told(self, episode: Any, facts: Mapping[str, float], seconds: float) -> dict[str, Any]:
        """Return what there is to tell of an episode, and count it among those that are over."""
        from iirl_opt.learn.episode_regret import loss

        value = self.value(episode)
        record = {
            "episode": episode.number,
            "value": value,
            "regret": loss(self.best, value),
            **facts,
            "seconds": seconds,
        }
        self.episodes.append(episode)
        self.records.append(record)
        return record

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
