"""Sweeps: many independent cells, computed by several workers and kept as they are done.

A *cell* says what to compute: a figure, a game, a method, a seed, parameters. A *computation* is a
function that can be imported by name, takes a cell and returns JSON-able numbers. All randomness
comes from the cell, so the results depend neither on the order nor on the workers, which are the
processes of `iirl_opt.experiments.workers` or those of any executor of `concurrent.futures`.

A *checkpoint* (`iirl_opt.checkpoint`) says what is being computed and by which versions, and has a
record for each finished cell: an interrupted sweep goes on where it stopped.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import sha256
from itertools import chain
from math import inf
from pathlib import Path
from socket import gethostname
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from iirl_opt.brief import in_brief
from iirl_opt.checkpoint import Beginning, Checkpoint, dump
from iirl_opt.checks import FLAG, checked, is_a, optional, whole
from iirl_opt.errors import InvalidArgument, InvalidValue
from iirl_opt.experiments.workers import completed
from iirl_opt.versions import versions

__all__ = ["Cell", "CellResult", "Computation", "Summary", "Sweep", "run_cells", "summarise"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    """What to compute; two cells are the same if all of it is.

    Attributes
    ----------
    figure : the number of the figure in the paper, or a name.
    game : which game, by a name that the computation knows.
    method : the learner or planner.
    seed : of whatever is shared with other cells, such as the game.
    parameters : further JSON-able facts.

    Examples
    --------
    >>> cell = Cell("mine", "maze", "active", seed=1, parameters={"run": 2})
    >>> str(cell)
    'maze 1, active, run 2'
    >>> same = Cell("mine", "maze", "active", 1, {"run": 2})
    >>> same.key == cell.key, int(same.rng().integers(1000)) == int(cell.rng().integers(1000))
    (True, True)
    """

    figure: int | str
    game: str
    method: str
    seed: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)

    __repr__ = in_brief

    @property
    def key(self) -> str:
        """The cell as one line of JSON, the same for equal cells."""
        try:
            return dump(asdict(self))
        except (RecursionError, TypeError, ValueError) as problem:
            said, allowed = f"cannot be written as JSON ({problem})", "finite JSON-able facts"
            raise InvalidArgument("parameters", said, allowed, self.parameters) from None

    def rng(self) -> np.random.Generator:
        """Return the generator of this cell's own randomness, a function of its key."""
        return np.random.default_rng(int.from_bytes(sha256(self.key.encode()).digest()))

    def __str__(self) -> str:
        facts = ", ".join(f"{name} {value}" for name, value in self.parameters.items())
        return f"{self.game} {self.seed}, {self.method}" + (f", {facts}" if facts else "")


Computation = Callable[[Cell], Mapping[str, Any]]


@dataclass(frozen=True)
class CellResult:
    """A finished cell: its numbers, as they come back from JSON, and the seconds it took.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> def toss(cell):
    ...     return {"heads": int(cell.rng().integers(2))}
    >>> with ThreadPoolExecutor(1) as threads:
    ...     [result] = run_cells([Cell("mine", "coin", "toss")], toss, executor=threads)
    >>> result.cell.game, dict(result.values)
    ('coin', {'heads': 0})
    """

    cell: Cell
    values: Mapping[str, Any]
    seconds: float

    __repr__ = in_brief


@dataclass(frozen=True, eq=False)
class Summary:
    """The mean of independent runs and an interval for it.

    Attributes
    ----------
    runs : how many.
    mean : over the runs.
    low, high : the ends of the interval; NaN for a single run, which says nothing of the spread.
    """

    runs: int
    mean: Array
    low: Array
    high: Array

    def record(self) -> dict[str, Any]:
        """Return it as JSON-able numbers, with None for NaN."""
        parts = {"mean": self.mean, "low": self.low, "high": self.high}
        return {"runs": self.runs} | {name: _finite(part) for name, part in parts.items()}


def summarise(runs: ArrayLike, confidence: float = 0.95) -> Summary:
    """Return the mean over runs, shape (R,) or (R, …), with Student's t-interval.

    Raises
    ------
    InvalidArgument
        There is no run, or the confidence is not in (0, 1).

    Examples
    --------
    >>> summary = summarise([1.0, 2.0, 3.0])
    >>> round(float(summary.low), 3), float(summary.mean)
    (-0.484, 2.0)
    """
    values = np.asarray(runs, dtype=float)
    if values.ndim == 0 or len(values) == 0:
        raise InvalidArgument("runs", f"has shape {values.shape}", "at least one run", runs)
    if not 0 < confidence < 1:
        raise InvalidArgument("confidence", f"is {confidence}", "a number in (0, 1)", confidence)
    n, mean = len(values), np.asarray(values.mean(axis=0))
    half = np.full(mean.shape, np.nan)
    if n > 1:
        half = stdtrit(n - 1, (1 + confidence) / 2) * values.std(axis=0, ddof=1) / np.sqrt(n)
    return Summary(n, mean, np.asarray(mean - half), np.asarray(mean + half))


class Sweep(TypedDict, total=False):
    """How to run cells: what `run_cells` takes beside what is computed."""

    jobs: int
    executor: Executor | None
    checkpoint: str | Path | None
    resume: bool
    restart: bool
    until: ExitStack | None
    progress: Callable[[CellResult], object] | None


@checked(
    jobs=whole(1),
    executor=optional(is_a(Executor)),
    resume=FLAG,
    restart=FLAG,
    until=optional(is_a(ExitStack)),
)
def run_cells(
    cells: Iterable[Cell],
    compute: Computation,
    *,
    jobs: int = 1,
    executor: Executor | None = None,
    checkpoint: str | Path | None = None,
    about: Mapping[str, Any] | None = None,
    resume: bool = False,
    restart: bool = False,
    until: ExitStack | None = None,
    progress: Callable[[CellResult], object] | None = None,
) -> list[CellResult]:
    """Compute all cells and return their results, in the order of the cells.

    A script that calls this needs the usual ``if __name__ == "__main__"``: the workers import it.

    Parameters
    ----------
    compute : a function that can be imported by name, or an object that can be pickled and called;
        what it raises is raised here.
    jobs : worker processes. If one of them is ended from outside, all are started anew; the cells
        that they had are submitted once more, and not more than once.
    executor : of `concurrent.futures`, in place of these processes: threads, a cluster. It is left
        open. How many threads its workers use for linear algebra is up to who made it.
    checkpoint : the path of the file that keeps finished cells, an
        `iirl_opt.checkpoint.Checkpoint`; one that is finished is begun anew.
    about : facts such as versions, which a checkpoint must share to be continued.
    resume : take finished cells from the checkpoint, if there is one.
    restart : drop a checkpoint that is unfinished, which is refused otherwise.
    until : the checkpoint stays open until this stack is closed, and says that all is done only
        then, if no error closes it: for results that are still to be written down.
    progress : called with each result as it is there, those of the checkpoint first.

    Raises
    ------
    InvalidArgument
        A cell stands twice or is not JSON-able; there is nothing to resume from; jobs beside an
        executor, restart beside resume; what is no executor.
    InvalidValue
        A computation returns what JSON does not hold, such as NaN; a worker has other versions of
        the packages that results depend on.
    FileProblem
        The checkpoint is unfinished and neither resumed nor dropped, is of something else (names
        the fact), damaged, or being written by another process.
    WorkersLost
        Workers ended, the standard ones twice in the same cell, or none is left; what was finished
        is in the checkpoint.
    KeyboardInterrupt
        Here or in a worker. The workers are ended first; what was finished is in the checkpoint.

    **Cost** that of the computation, and about a second to start the workers.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from iirl_opt.experiments.commitment import compute
    >>> cells = [Cell(7, "small", "epsilon-greedy", 0, {"epsilon": 0.5, "size": [3, 2, 2]})]
    >>> with ThreadPoolExecutor(2) as threads:
    ...     [result] = run_cells(cells, compute, executor=threads)
    >>> result.values["converged"]
    True
    """
    planned: dict[str, Cell] = {}
    for cell in cells:
        key = cell.key
        if key in planned:
            raise InvalidArgument("cells", f"holds {key} twice", "each cell once", key)
        planned[key] = cell
    if executor is not None and jobs != 1:
        raise InvalidArgument("jobs", f"is {jobs} beside an executor", "one of them", jobs)
    begin = _beginning(checkpoint, resume, restart)
    found: dict[str, CellResult] = {}
    with ExitStack() as open_now:
        work: Checkpoint | None = None
        held = open_now if until is None else until
        if checkpoint is not None:
            head = {"compute": _name_of(compute), **(about or {})}
            work = Checkpoint(checkpoint, head, begin=begin)
            held.callback(work.close)
            for result in _finished(work, planned):
                found[result.cell.key] = result
        done = list(found.values())
        left = [cell for key, cell in planned.items() if key not in found]
        function = partial(_record, compute, versions())
        records = completed(function, left, jobs=jobs, executor=executor)
        open_now.enter_context(closing(records))
        for result in chain(done, _kept(records, work)):
            found[result.cell.key] = result
            if progress is not None:
                progress(result)
        if work is not None:
            work.end_with(held)
    return [found[key] for key in planned]


def _beginning(checkpoint: str | Path | None, resume: bool, restart: bool) -> Beginning:
    if checkpoint is None and (resume or restart):
        name = "resume" if resume else "restart"
        raise InvalidArgument(name, "is set without a checkpoint", "a file of finished cells")
    if resume and restart:
        raise InvalidArgument("restart", "is set beside resume", "one of them")
    return "resume" if resume else "restart" if restart else "new"


def _name_of(compute: Computation) -> str:
    """Return where a computation is defined: the function, or the class of an object."""
    named = compute if hasattr(compute, "__qualname__") else type(compute)
    return f"{named.__module__}.{named.__qualname__}"


def _kept(lines: Iterable[str], work: Checkpoint | None) -> Iterator[CellResult]:
    """Write each record to the checkpoint before its result is passed on."""
    for line in lines:
        record = json.loads(line)
        if work is not None:
            work.append(record)
        yield _result(record)


def _record(compute: Computation, expected: Mapping[str, str], cell: Cell) -> str:
    """Compute a cell, in a worker, and return what a checkpoint keeps of it, as JSON."""
    here = versions()
    if here != expected:
        name = next(name for name in expected if here.get(name) != expected[name])
        raise InvalidValue(
            f"worker {gethostname()}", f"has {name} {here.get(name)}", f"{name} {expected[name]}"
        )
    began = time.perf_counter()
    values = compute(cell)
    seconds = round(time.perf_counter() - began, 4)
    try:
        return dump({"cell": asdict(cell), "values": dict(values), "seconds": seconds})
    except (RecursionError, TypeError, ValueError) as problem:
        raise InvalidValue(
            f"what {_name_of(compute)} returns for {cell}",
            f"cannot be kept ({problem})",
            "a mapping of names to what JSON holds, numbers finite",
        ) from None


def _finished(work: Checkpoint, planned: Mapping[str, Cell]) -> Iterator[CellResult]:
    """Yield the finished cells of a checkpoint, each of them planned, and there once."""
    seen: dict[str, int] = {}
    for index, record in enumerate(work.records):
        try:
            result = _result(record)
            key = result.cell.key
            whole = isinstance(result.values, dict) and 0 <= float(result.seconds) < inf
        except (InvalidArgument, KeyError, TypeError, ValueError):
            whole = False
        if not whole:
            raise work.problem(index, "holds no finished cell")
        if key not in planned:
            raise work.problem(index, f"is of a cell that is not in this sweep: {result.cell}")
        if key in seen:
            raise work.problem(index, f"repeats the cell of line {seen[key] + 2}: {result.cell}")
        seen[key] = index
        yield result


def _result(record: Mapping[str, Any]) -> CellResult:
    return CellResult(Cell(**record["cell"]), record["values"], record["seconds"])


def _finite(numbers: Array) -> Any:
    """Return an array as nested lists, with None for NaN."""
    found = numbers.astype(object)
    found[np.isnan(numbers)] = None
    return found.tolist()
