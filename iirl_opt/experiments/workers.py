"""Workers: calls of one function, made through an executor of `concurrent.futures`.

Whatever executor it is, a call that raises is told from an executor that fails: what a call raises
is raised here as it is, with the worker's traceback as a note, and what becomes of the executor
itself (a worker ended by the system, a cluster that is gone, a function that cannot be sent) is a
`WorkersLost`. The standard one is made here: processes that are spawned, whose linear algebra has
one thread, which leave interrupts to their parent and do not outlive it.

The function goes to a worker once, with all that it holds, such as a large game: to a process of
the standard pool as it starts, to a machine by a `SharingExecutor`. Only items go with the calls.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
)
from contextlib import ExitStack, contextmanager
from functools import cache
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar

from iirl_opt.errors import WorkersLost

__all__ = ["THREADS", "NobodyComputes", "SharingExecutor", "completed"]

Item = TypeVar("Item")
Answer = TypeVar("Answer")

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

ENDED = (
    "worker processes ended, twice: a signal, want of memory, or a script that calls this outside "
    '`if __name__ == "__main__"`'
)

# Signals by which a command may be stopped, where the system knows them.
STOPPING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)

# Seconds without an answer after which an executor is asked whether anybody computes.
SILENCE = 1.0


class NobodyComputes(Exception):
    """An executor has nobody left who could answer; its text says why, for `WorkersLost`."""


class SharingExecutor(Executor, ABC):
    """An executor to whose workers a function goes once, and that knows when there are none."""

    @abstractmethod
    def share(self, function: Callable[..., Any]) -> Any:
        """Return what stands for a function among the arguments of `submit`."""

    @abstractmethod
    def watch(self) -> None:
        """Look whether anybody computes; called every second while there is no answer.

        Raises
        ------
        NobodyComputes
            Nobody does, and it was waited for long enough.
        """


class _Raised(NamedTuple):
    """What a call raised in a worker, and the traceback there."""

    problem: BaseException
    trace: str


class _Unreceived(NamedTuple):
    """Why a worker has no function to call."""

    reason: str


class _Lost(Exception):
    """An executor failed: which items it had, and what became of it."""

    def __init__(self, items: Iterable[int], cause: Exception) -> None:
        super().__init__()
        self.items, self.cause = frozenset(items), cause


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
    jobs : processes of the standard pool. If one of them ends, the pool is made anew; the items
        that it had are submitted once more, and not more than once.
    executor : in its place; it gets all items at once, and is left open.

    Raises
    ------
    WorkersLost
        The executor failed: names the items that it had.
    """
    left = dict(enumerate(items))
    lost_before: frozenset[int] = frozenset()
    while left:
        try:
            if executor is None:
                yield from _through_processes(jobs, function, left)
            else:
                yield from _through_other(executor, function, left)
        except _Lost as lost:
            ended = executor is None and isinstance(lost.cause, BrokenExecutor)
            if ended and not lost.items & lost_before:
                lost_before |= lost.items
                continue
            had = tuple(str(left[index]) for index in sorted(lost.items))
            reason = ENDED if ended else _reason(lost.cause)
            raise WorkersLost(had, len(left), reason) from lost.cause


def _reason(problem: Exception) -> str:
    if isinstance(problem, CancelledError):
        return "the executor cancelled its calls, as when a cluster is gone"
    if isinstance(problem, NobodyComputes):
        return str(problem)
    return f"{type(problem).__name__}: {problem}"


def _through_processes(
    jobs: int, function: Callable[[Item], Answer], left: dict[int, Item]
) -> Iterator[Answer]:
    try:
        packed = pickle.dumps(function, protocol=5)
    except Exception as problem:
        raise _Lost(left, problem) from problem
    # As many as there are workers, so that those that are lost are those that ran.
    workers = min(jobs, len(left))
    with _pool(workers, packed) as pool:

        def submit(item: Item) -> Future[Any]:
            with _undisturbed():  # the pool starts its processes here
                return pool.submit(_call_received, item)

        yield from _through(submit, left, workers)


def _through_other(
    executor: Executor, function: Callable[[Item], Answer], left: dict[int, Item]
) -> Iterator[Answer]:
    if not isinstance(executor, SharingExecutor):
        yield from _through(lambda item: executor.submit(_call, function, item), left, len(left))
        return
    try:
        shared = executor.share(function)
    except Exception as problem:
        raise _Lost(left, problem) from problem
    yield from _through(
        lambda item: executor.submit(_call, shared, item), left, len(left), executor.watch
    )


def _through(
    submit: Callable[[Item], Future[Any]],
    left: dict[int, Item],
    most: int,
    watch: Callable[[], None] | None = None,
) -> Iterator[Answer]:
    """Yield answers and take their items from `left`; at most so many are with the executor."""
    finished: SimpleQueue[Future[Any]] = SimpleQueue()
    given: dict[Future[Any], int] = {}
    waiting = list(reversed(left))
    try:
        while left:
            try:
                # An executor may compute within `submit`: what is there is kept before the next.
                if waiting and len(given) < most and finished.empty():
                    future = submit(left[waiting[-1]])
                    given[future] = waiting.pop()
                    future.add_done_callback(finished.put)
                    continue
                future = _next(finished, watch)
                answer = future.result()
                if isinstance(answer, _Unreceived):
                    raise NobodyComputes(answer.reason)
            except Exception as problem:
                for other in filter(_is_answered, given):
                    del left[given[other]]
                    yield other.result()
                had = left.keys() & given.values()
                raise _Lost(had or waiting[-1:], problem) from problem
            if isinstance(answer, _Raised):
                answer.problem.add_note(f"In the worker: {answer.trace}")
                raise answer.problem
            del left[given.pop(future)]
            yield answer
    finally:
        for future in given:
            future.cancel()


def _next(finished: SimpleQueue[Future[Any]], watch: Callable[[], None] | None) -> Future[Any]:
    """Return the next future that is done; while there is none, let somebody watch."""
    while watch is not None:
        try:
            return finished.get(timeout=SILENCE)
        except Empty:
            watch()
    return finished.get()


def _is_answered(future: Future[Any]) -> bool:
    if not future.done() or future.cancelled() or future.exception() is not None:
        return False
    return not isinstance(future.result(), _Raised | _Unreceived)


def _call(function: Callable[[Item], Answer], item: Item) -> Answer | _Raised:
    """Return the answer or what was raised, as something that comes through a pipe whole."""
    try:
        return function(item)
    except KeyboardInterrupt:
        return _Raised(KeyboardInterrupt(), traceback.format_exc())
    except BaseException as problem:
        trace = traceback.format_exc()
        return _Raised(problem if _comes_through(problem) else _said(problem), trace)


def _comes_through(problem: BaseException) -> bool:
    """Return whether it is an error that another process can read: its pool would break if not.

    Whoever leaves, as `sys.exit` does, leaves the cell, and not the sweep without a word.
    """
    try:
        pickle.loads(pickle.dumps(problem))
    except Exception:
        return False
    return isinstance(problem, Exception)


def _said(problem: BaseException) -> RuntimeError:
    return RuntimeError(f"{type(problem).__name__}: {problem}")


# What a process of the standard pool was started with, until it is read.
_received = b""


@cache
def _function() -> Callable[[Any], Any]:
    """Return the function that all calls of this process are of."""
    global _received
    packed, _received = _received, b""
    function: Callable[[Any], Any] = pickle.loads(packed)
    return function


def _call_received(item: Any) -> Any:
    try:
        function = _function()
    except Exception as problem:
        return _Unreceived(f"a worker cannot read what it is to compute: {_said(problem)}")
    return _call(function, item)


@contextmanager
def _pool(jobs: int, packed: bytes) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of spawned processes that have a function; none is left when the block ends."""
    others = set(multiprocessing.active_children())
    with _single_threaded():
        pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _receive, (packed,))
        try:
            yield pool
        except BaseException:
            # Calls that run take what they take: nobody waits for what is no longer wanted.
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Let a process be started whole: a signal that stops this one comes when that is done.

    One that is started half, without what it is to read, would say so in a traceback. SIGINT is
    blocked meanwhile, and what is blocked stays so in the processes that are started.
    """
    held: list[int] = []
    with ExitStack() as after:
        if threading.current_thread() is threading.main_thread():
            for which in STOPPING:
                if callable(handler := signal.getsignal(which)):
                    after.callback(signal.signal, which, handler)
                    signal.signal(which, lambda which, _frame: held.append(which))
        if hasattr(signal, "pthread_sigmask"):
            blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            after.callback(signal.pthread_sigmask, signal.SIG_SETMASK, blocked)
        try:
            yield
        finally:
            after.close()
            if held:
                signal.raise_signal(held[0])


def _receive(packed: bytes) -> None:
    """Begin as a process of the pool: with its function, obeying the parent."""
    global _received
    _received = packed
    _obey_parent()


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
