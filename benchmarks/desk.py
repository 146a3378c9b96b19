"""Where contestants run: in this process, or in one that can be given up.

A `Desk` holds one case and runs its contestants when told to, so that whoever tells can let them
take turns, also across two checkouts of the library: a `RemoteDesk` is the same in a process of its
own, with one thread for linear algebra, the package of the checkout first in its path, and an end
to what takes too long. Objects cross as pickles of numbers and arrays.

CPU time is that of the process and of its children, so that commands count as well.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any, NamedTuple

from cases import Contestant, Outcome, group

__all__ = ["Absent", "Desk", "Failed", "GivenUp", "RemoteDesk", "Run"]

ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

WORKER = Path(__file__).with_name("worker.py")

# What a function that a checkout does not have raises: the name, the module or the argument.
MISSING = (AttributeError, ImportError, TypeError)


class Absent(Exception):
    """A contestant does not exist in this checkout."""


class GivenUp(Exception):
    """A run took longer than its limit, or ended its process."""


class Failed(Exception):
    """A run ended in an error, in a process of its own."""


class Run(NamedTuple):
    """One run: seconds of CPU and by the clock, the answer, further figures, CPU seconds in all."""

    cpu: float
    wall: float
    value: Any
    figures: dict[str, float]
    spent: float


class Desk:
    """The contestants of one case, in this process."""

    def __init__(self) -> None:
        self._contestants: dict[str, Contestant] = {}

    def open(self, name: str, index: int, quick: bool) -> list[tuple[str, bool]]:
        """Prepare a case; return the names of its contestants, and which are ours."""
        self._contestants = {}
        gc.collect()
        try:
            self._contestants = group(name).cases(quick)[index].prepare()
        except MISSING as cause:
            raise Absent(str(cause)) from cause
        return [(label, each.ours) for label, each in self._contestants.items()]

    def run(self, label: str, i: int, limit: float = 0.0) -> Run:
        """Run a contestant once on input number i; `limit` is for desks that can be left."""
        contestant = self._contestants[label]
        try:
            given = contestant.fresh(i)
            gc.collect()
            began, cpu = time.perf_counter(), _cpu()
            found = contestant.run(given)
            cpu, wall = _cpu() - cpu, time.perf_counter() - began
        except MISSING as cause:
            raise Absent(f"{type(cause).__name__}: {cause}") from cause
        outcome = found if isinstance(found, Outcome) else Outcome(found)
        unit = 1.0 if outcome.cpu is None else outcome.cpu / cpu
        return Run(unit * cpu, unit * wall, outcome.value, dict(outcome.figures), cpu)

    def peak(self, label: str) -> float:
        """Return by how many megabytes a run raises the memory of this process; NaN but on Linux.

        What was freed before is given back to the system first, so that it is counted again.
        """
        contestant = self._contestants[label]
        given = contestant.fresh(0)
        gc.collect()
        if not sys.platform.startswith("linux"):
            return float("nan")
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
        before = _status("VmRSS")
        contestant.run(given)
        return (_status("VmHWM") - before) / 1024


class RemoteDesk:
    """A desk in a process of its own, which imports the library from a checkout."""

    def __init__(self, checkout: Path | None = None) -> None:
        self._checkout = checkout
        self._case: tuple[str, int, bool] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None

    def open(self, name: str, index: int, quick: bool, limit: float = 600.0) -> list[Any]:
        """Prepare a case there."""
        self._case = (name, index, quick)
        return self._ask(limit, "open", *self._case)

    def run(self, label: str, i: int, limit: float) -> Run:
        """Run a contestant there once, or give it up."""
        return self._ask(limit, "run", label, i)

    def peak(self, label: str, limit: float = 600.0) -> float:
        """Measure the peak of memory there."""
        return self._ask(limit, "peak", label)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._connection is not None:
            self._connection.close()
        self._process = self._connection = None

    def _ask(self, limit: float, *request: Any) -> Any:
        if self._connection is None:
            self._start()
            if request[0] != "open" and self._case is not None:
                self._ask(limit, "open", *self._case)
        assert self._connection is not None
        try:
            self._connection.send(request)
            if not self._connection.poll(limit):
                self.close()
                raise GivenUp(f"more than {limit:g} s")
            kind, answer = self._connection.recv()
        except (EOFError, ConnectionError) as cause:
            self.close()
            raise GivenUp("its process ended") from cause
        if kind == "absent":
            raise Absent(answer)
        if kind == "trouble":
            raise Failed(answer)
        return answer

    def _start(self) -> None:
        environment = os.environ | ENVIRONMENT
        if self._checkout is not None:
            environment["PYTHONPATH"] = str(self._checkout)
        with tempfile.TemporaryDirectory() as folder:
            address = str(Path(folder, "desk"))
            with Listener(address, "AF_UNIX") as listener:
                self._process = subprocess.Popen(
                    [sys.executable, str(WORKER), address],
                    env=environment,
                    stdout=subprocess.DEVNULL,
                )
                self._connection = listener.accept()


def _cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _status(key: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return float(line.split()[1])
    return float("nan")
