"""Sweeps: many independent cells, computed by several processes and kept as they are done.

A *cell* says what to compute: a figure, a game, a method, a seed, parameters. A *computation* is a
function that can be imported by name, takes a cell and returns JSON-able numbers. All randomness
comes from the cell, so the results depend neither on the order nor on the number of processes;
every cell runs in a worker process whose linear algebra has one thread, for the same reason.

The *checkpoint* is a file of JSON lines: a head that says what is being computed and by which
versions, then a line a finished cell. What is written is safe: an interrupted sweep goes on where
it stopped, and a line that was cut off half-way is computed again.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from iirl_opt.errors import FileProblem, InvalidArgument
from iirl_opt.files import Journal

__all__ = ["Cell", "CellResult", "Computation", "Summary", "Sweep", "run_cells", "summarise"]

Array = NDArray[np.float64]

CHECKPOINT_FORMAT = 1
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


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
    """

    figure: int | str
    game: str
    method: str
    seed: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def key(self) -> str:
        """The cell as one line of JSON, the same for equal cells."""
        return _dump(asdict(self))

    def rng(self) -> np.random.Generator:
        """Return the generator of this cell's own randomness, a function of its key."""
        return np.random.default_rng(int.from_bytes(sha256(self.key.encode()).digest()))

    def __str__(self) -> str:
        facts = ", ".join(f"{name} {value}" for name, value in self.parameters.items())
        return f"{self.game} {self.seed}, {self.method}" + (f", {facts}" if facts else "")


Computation = Callable[[Cell], Mapping[str, Any]]


@dataclass(frozen=True)
class CellResult:
    """A finished cell: its numbers, as they come back from JSON, and the seconds it took."""

    cell: Cell
    values: Mapping[str, Any]
    seconds: float


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
    checkpoint: Path | None
    resume: bool
    progress: Callable[[CellResult], object] | None


def run_cells(
    cells: Iterable[Cell],
    compute: Computation,
    *,
    jobs: int = 1,
    checkpoint: Path | None = None,
    about: Mapping[str, Any] | None = None,
    resume: bool = False,
    progress: Callable[[CellResult], object] | None = None,
) -> list[CellResult]:
    """Compute all cells and return their results, in the order of the cells.

    A script that calls this needs the usual ``if __name__ == "__main__"``: the workers import it.

    Parameters
    ----------
    compute : a function that can be imported by name; what it raises is raised here.
    jobs : worker processes.
    checkpoint : the file that keeps finished cells; begun anew unless `resume` is set.
    about : facts such as versions, which a checkpoint must share to be continued.
    resume : take finished cells from the checkpoint, if there is one.
    progress : called with each result as it is there, those of the checkpoint first.

    Raises
    ------
    InvalidArgument
        A cell stands twice; no job; nothing to resume from.
    FileProblem
        The checkpoint is of something else (names the fact), broken before its last line, or
        being written by another process.
    KeyboardInterrupt
        The workers are ended first; what was finished is in the checkpoint.

    **Cost** that of the computation, and about a second to start the workers.
    """
    planned = list(cells)
    keys = [cell.key for cell in planned]
    wanted = set(keys)
    if len(wanted) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InvalidArgument("cells", f"holds {twice} twice", "each cell once", twice)
    if jobs < 1:
        raise InvalidArgument("jobs", f"is {jobs}", "at least 1", jobs)
    if resume and checkpoint is None:
        raise InvalidArgument("resume", "is set without a checkpoint", "a file to resume from")
    name = f"{compute.__module__}.{compute.__qualname__}"
    head = {"format": CHECKPOINT_FORMAT, "compute": name, **(about or {})}
    found: dict[str, CellResult] = {}
    with ExitStack() as open_now:
        journal: Journal | None = None
        done: list[CellResult] = []
        if checkpoint is not None:
            journal = open_now.enter_context(Journal(checkpoint, resume=resume))
            done = list(_finished(checkpoint, journal.lines, head))
            if not journal.lines:
                journal.append(_dump(head))
        done = [result for result in done if result.cell.key in wanted]
        left = [cell for cell in planned if cell.key not in {r.cell.key for r in done}]
        lines = open_now.enter_context(closing(_lines(left, compute, jobs)))
        for result in chain(done, _kept(lines, journal)):
            found[result.cell.key] = result
            if progress is not None:
                progress(result)
    return [found[key] for key in keys]


def _kept(lines: Iterable[str], journal: Journal | None) -> Iterator[CellResult]:
    """Write each line to the checkpoint before its result is passed on."""
    for line in lines:
        if journal is not None:
            journal.append(line)
        yield _result(json.loads(line))


def _lines(cells: Sequence[Cell], compute: Computation, jobs: int) -> Generator[str]:
    """Yield the results as lines of the checkpoint, as they are there."""
    if not cells:
        return
    others = set(multiprocessing.active_children())
    with _single_threaded():
        pool = ProcessPoolExecutor(
            min(jobs, len(cells)), multiprocessing.get_context("spawn"), _obey_parent
        )
        try:
            for future in as_completed([pool.submit(_line, compute, cell) for cell in cells]):
                yield future.result()
        except BaseException:
            # Cells that run take what they take: nobody waits for what is no longer wanted.
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def _line(compute: Computation, cell: Cell) -> str:
    began = time.perf_counter()
    values = dict(compute(cell))
    seconds = round(time.perf_counter() - began, 4)
    return _dump({"cell": asdict(cell), "values": values, "seconds": seconds})


def _obey_parent() -> None:
    """Leave interrupts to the parent process, and do not outlive it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Let processes that are started meanwhile use one thread for linear algebra."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _finished(path: Path, lines: Sequence[bytes], head: Mapping[str, Any]) -> Iterator[CellResult]:
    """Yield the finished cells of a checkpoint; refuse one of something else by what differs."""
    for number, line in enumerate(lines, start=1):
        record = _parse(path, number, line)
        if number == 1:
            _check_head(path, record, json.loads(_dump(head)))
            continue
        try:
            yield _result(record)
        except (KeyError, TypeError):
            raise FileProblem(path, "holds no finished cell", line=number) from None


def _check_head(path: Path, written: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for name in {**wanted, **written}:
        was, now = written.get(name), wanted.get(name)
        if was != now:
            problem = f"was written with {name} {was!r}, now it is {now!r}; do not resume from it"
            raise FileProblem(path, problem, line=1)


def _parse(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as problem:
        raise FileProblem(path, f"is no JSON: {problem}", line=number) from None
    if not isinstance(record, dict):
        raise FileProblem(path, "holds no JSON object", line=number)
    return record


def _result(record: Mapping[str, Any]) -> CellResult:
    return CellResult(Cell(**record["cell"]), record["values"], record["seconds"])


def _dump(value: object) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)


def _finite(numbers: Array) -> Any:
    """Return an array as nested lists, with None for NaN."""
    found = numbers.astype(object)
    found[np.isnan(numbers)] = None
    return found.tolist()
