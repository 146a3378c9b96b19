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
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from iirl_opt.solver.log import show

__all__ = ["Stopped", "left_to_themselves", "run_highs"]

Array = NDArray[np.float64]
Answers = SimpleQueue[BaseException | None]

KINDS = highspy.cb.HighsCallbackType
TALK = KINDS.kCallbackLogging
IMPROVED = KINDS.kCallbackMipImprovingSolution
INTERRUPTS = (KINDS.kCallbackSimplexInterrupt, KINDS.kCallbackIpmInterrupt)
OF_MIPS = (KINDS.kCallbackMipInterrupt, IMPROVED)

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
    asked : whether HiGHS is to stop.
    incumbent, value, bound : of a mixed-integer program, as reported before.
    """

    cause: BaseException | None = None
    lost: bool = False
    incumbent: Array | None = None
    value: float = np.nan
    bound: float = np.nan
    asked: bool = False

    def watch(self, _kind: Any, _message: str, _found: Any, answer: Any, _owner: Any) -> None:
        """Tell HiGHS whether to stop."""
        if self.asked:
            answer.user_interrupt = True

    def watch_aloud(self, kind: Any, message: str, found: Any, answer: Any, owner: Any) -> None:
        """Show HiGHS's log besides."""
        if kind == TALK:
            show(message)
        else:
            self.watch_mip(kind, message, found, answer, owner)

    def watch_mip(self, kind: Any, message: str, found: Any, answer: Any, owner: Any) -> None:
        """Tell HiGHS whether to stop, and keep an improving solution."""
        if kind == IMPROVED:
            self.incumbent = np.array(found.mip_solution)
            self.value, self.bound = found.objective_function_value, found.mip_dual_bound
        else:
            self.watch(kind, message, found, answer, owner)


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
            stopped.asked = True
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
    talks = highs.getOptionValue("output_flag")[1] and not highs.getOptionValue("log_to_console")[1]
    alone = threading.current_thread() is not threading.main_thread()
    if alone and not talks:
        highs.run()
        return stopped
    # Of highspy's own events each costs 10 µs an iteration; of a plain callback it is a third.
    watch = stopped.watch_mip if whole else stopped.watch
    highs.setCallback(stopped.watch_aloud if talks else watch, None)
    kinds = (*INTERRUPTS, *(OF_MIPS if whole else ()), *((TALK,) if talks else ()))
    for kind in kinds:
        highs.startCallback(kind)
    if not alone and (_worker is None or _worker.process != os.getpid()):
        _worker = _Worker()
    try:
        if alone or _worker is None:
            highs.run()
        else:
            _worker.do(highs.run, stopped)
    finally:
        if stopped.lost:
            # It may still be at work: it keeps its thread, its object and its callbacks.
            _worker = None
        else:
            highs.setCallback(None, None)
            if talks:
                highs.stopCallback(TALK)
    return stopped
