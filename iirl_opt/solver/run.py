"""Running HiGHS so that Ctrl-C ends it.

Python delivers a signal to its main thread, between two instructions of Python. While HiGHS works
there are none. So when the main thread solves, HiGHS works in a second thread and the main thread
waits; what it is interrupted by (Ctrl-C, or whatever else a signal's handler raises) is kept, HiGHS
is asked to stop at its next callback, and its answer so far, an incumbent perhaps, is read. Some
phases of HiGHS have no callback for a long time: after most of a second the thread is left to
itself, and only what HiGHS reported before is kept. It stops when it can; a process that ends
before gives it most of another second, since its callbacks must find Python alive. In other threads
no signal arrives, and HiGHS runs there directly.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

__all__ = ["Stopped", "left_to_themselves", "run_highs"]

Array = NDArray[np.float64]
Answers = SimpleQueue[BaseException | None]

# How long HiGHS may take to notice that it is to stop, in seconds.
PATIENCE = 0.8

# How long the end of the process waits for what was left to itself, in seconds.
FAREWELL = 0.8


@dataclass
class Stopped:
    """What stopped a run from outside, and what HiGHS had found if it did not come back.

    Attributes
    ----------
    cause : the exception that a signal raised in the main thread, or None.
    lost : whether HiGHS was left to itself: its object may not be touched again.
    incumbent, value, bound : of a mixed-integer program, as reported before.
    """

    cause: BaseException | None = None
    lost: bool = False
    incumbent: Array | None = None
    value: float = np.nan
    bound: float = np.nan
    _asked: threading.Event = field(default_factory=threading.Event)

    def watch(self, event: Any) -> None:
        """Tell HiGHS whether to stop: once that was asked for."""
        event.interrupt(self._asked.is_set())

    def keep(self, event: Any) -> None:
        """Keep an improving solution of a mixed-integer program."""
        out = event.data_out
        self.incumbent = np.array(out.mip_solution)
        self.value, self.bound = out.objective_function_value, out.mip_dual_bound

    def ask(self) -> None:
        """Ask HiGHS to stop."""
        self._asked.set()


class _Worker:
    """A thread that carries out one task after the other, for the main thread."""

    def __init__(self) -> None:
        self.tasks: SimpleQueue[tuple[Callable[[], Any], Answers]] = SimpleQueue()
        self.process = os.getpid()
        threading.Thread(target=self._work, name="HiGHS", daemon=True).start()

    def _work(self) -> None:
        while True:
            task, answers = self.tasks.get()
            failure = None
            try:
                task()
            except BaseException as problem:
                failure = problem
            del task
            answers.put(failure)

    def do(self, task: Callable[[], Any], stopped: Stopped) -> None:
        """Carry out a task; what a signal raises meanwhile is kept in `stopped`."""
        answers: Answers = SimpleQueue()
        try:
            self.tasks.put((task, answers))
            failure = answers.get()
        except BaseException as cause:
            stopped.cause = cause
            stopped.ask()
            failure = _patiently(answers, stopped)
        if failure is not None:
            raise failure


def _patiently(answers: Answers, stopped: Stopped) -> BaseException | None:
    """Wait for a task that was asked to stop; a second signal ends the waiting at once."""
    try:
        return answers.get(timeout=PATIENCE)
    except Empty:
        pass
    except BaseException as cause:
        stopped.cause = cause
    stopped.lost = True
    _lost.append(answers)
    return None


_worker: _Worker | None = None

# The answers, still to come, of runs that were left to themselves.
_lost: list[Answers] = []


def left_to_themselves() -> int:
    """Return how many runs that were left to themselves are still at work."""
    _lost[:] = [answers for answers in _lost if answers.empty()]
    return len(_lost)


@atexit.register
def _farewell() -> None:
    """Give runs that were asked to stop a moment to do so while Python is alive."""
    until = time.monotonic() + FAREWELL
    while left_to_themselves() and time.monotonic() < until:
        time.sleep(0.02)


def run_highs(highs: highspy.Highs, *, whole: bool = False) -> Stopped:
    """Run HiGHS on the model that it holds, and say whether something stopped it.

    Parameters
    ----------
    whole : whether the program is mixed-integer: then its incumbents are kept.
    """
    global _worker
    stopped = Stopped()
    if threading.current_thread() is not threading.main_thread():
        highs.run()
        return stopped
    if _worker is None or _worker.process != os.getpid():
        _worker = _Worker()
    hooks = [(highs.cbSimplexInterrupt, stopped.watch), (highs.cbIpmInterrupt, stopped.watch)]
    if whole:
        hooks += [
            (highs.cbMipInterrupt, stopped.watch),
            (highs.cbMipImprovingSolution, stopped.keep),
        ]
    for hook, function in hooks:
        hook.subscribe(function)
    try:
        _worker.do(highs.run, stopped)
    finally:
        if stopped.lost:
            # It may still be at work: it keeps its thread, its object and its callbacks.
            _worker = None
        else:
            for hook, function in hooks:
                hook.unsubscribe(function)
    return stopped
