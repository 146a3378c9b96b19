"""Workers: calls of one function, made through an executor of `concurrent.futures`.

Whatever executor it is, a call that raises is told from an executor that fails: what a call raises
is raised here as it is, with the worker's traceback as a note, and what becomes of the executor
itself (a worker ended by the system, a cluster that is gone, a function that cannot be sent) is a
`WorkersLost`. The standard one is made here: processes that are spawned, whose linear algebra has
one thread, which leave interrupts to their parent and do not outlive it.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
)
from contextlib import contextmanager
from itertools import islice
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

from iirl_opt.errors import WorkersLost

__all__ = ["THREADS", "completed"]

Item = TypeVar("Item")
Answer = TypeVar("Answer")

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

ENDED = (
    "worker processes ended, twice: a signal, want of memory, or a script that calls this outside "
    '`if __name__ == "__main__"`'
)


class _Raised(NamedTuple):
    """What a call raised in a worker, and the traceback there."""

    problem: Exception
    trace: str


def completed(
    function: Callable[[Item], Answer],
    items: Sequence[Item],
    *,
    jobs: int = 1,
    executor: Executor | None = None,
) -> Generator[Answer, None, None]:
    """Yield the function's answer for each item, as they are there.

    Parameters
    ----------
    function : can be pickled, as items and answers.
    jobs : processes of the standard pool. If one of them ends, the pool is made anew, once, and
        gets the items that are left.
    executor : in its place; it gets all items at once, and is left open.

    Raises
    ------
    WorkersLost
        The executor failed: names the items that it had.
    """
    left = dict(enumerate(items))
    if not left:
        return
    if executor is not None:
        yield from _through(executor, function, left, len(left))
        return
    for again in (False, True):
        try:
            # As many as there are workers, so that those that are lost are those that ran.
            workers = min(jobs, len(left))
            with _pool(workers) as pool:
                yield from _through(pool, function, left, workers)
            return
        except WorkersLost as lost:
            broken = isinstance(lost.__cause__, BrokenExecutor)
            if again and broken:
                raise WorkersLost(lost.lost, lost.left, ENDED) from lost.__cause__
            if not broken:
                raise


def _through(
    executor: Executor, function: Callable[[Item], Answer], left: dict[int, Item], most: int
) -> Iterator[Answer]:
    """Yield answers and take their items from `left`; at most so many are with the executor."""
    finished: SimpleQueue[Future[Any]] = SimpleQueue()
    given: dict[Future[Any], int] = {}
    waiting = iter(list(left))
    try:
        while left:
            try:
                for index in islice(waiting, most - len(given)):
                    future = executor.submit(_call, function, left[index])
                    given[future] = index
                    future.add_done_callback(finished.put)
                future = finished.get()
                answer = future.result()
            except Exception as problem:
                for other in filter(_is_answered, given):
                    del left[given[other]]
                    yield other.result()
                lost = tuple(str(left[index]) for index in given.values() if index in left)
                reason = f"{type(problem).__name__}: {problem}"
                if isinstance(problem, CancelledError):
                    reason = "the executor cancelled its calls, as when a cluster is gone"
                raise WorkersLost(lost, len(left), reason) from problem
            if isinstance(answer, _Raised):
                answer.problem.add_note(f"In the worker: {answer.trace}")
                raise answer.problem
            del left[given.pop(future)]
            yield answer
    finally:
        for future in given:
            future.cancel()


def _is_answered(future: Future[Any]) -> bool:
    if not future.done() or future.cancelled() or future.exception() is not None:
        return False
    return not isinstance(future.result(), _Raised)


def _call(function: Callable[[Item], Answer], item: Item) -> Answer | _Raised:
    """Return the answer or what was raised, as something that comes through a pipe whole."""
    try:
        return function(item)
    except Exception as problem:
        trace = traceback.format_exc()
        try:
            pickle.loads(pickle.dumps(problem))
        except Exception:
            # One that cannot be read again would break the pool of the parent.
            problem = RuntimeError(f"{type(problem).__name__}: {problem}")
        return _Raised(problem, trace)


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of spawned processes, none of which is left when the block ends."""
    others = set(multiprocessing.active_children())
    with _single_threaded():
        pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _obey_parent)
        try:
            yield pool
        except BaseException:
            # Calls that run take what they take: nobody waits for what is no longer wanted.
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


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
