"""What the sweeps of the tests compute, in workers: these import this file, and little else."""

import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from iirl_opt.errors import InvalidArgument
from iirl_opt.experiments.sweep import Cell


def draw(cell: Cell) -> dict[str, Any]:
    """Return numbers that depend on the cell alone, and how many threads it may use."""
    threads = os.environ.get("OPENBLAS_NUM_THREADS")
    return {"x": cell.rng().random(cell.parameters["n"]).tolist(), "threads": threads}


def fail_at_two(cell: Cell) -> Mapping[str, Any]:
    """Fail as a library function does."""
    if cell.parameters["n"] == 2:
        raise InvalidArgument("n", "is 2", "anything else", 2)
    return draw(cell)


def count_of_calls(cell: Cell) -> dict[str, Any]:
    """Leave a trace of each call in the folder that the cell names."""
    Path(cell.parameters["folder"], f"{cell.seed}-{os.getpid()}").touch()
    return {"seed": cell.seed}


def wait(cell: Cell) -> dict[str, Any]:
    """Say who computes, and take longer than anybody waits."""
    Path(cell.parameters["folder"], str(os.getpid())).touch()
    time.sleep(600)
    return {}


def end_once(cell: Cell) -> dict[str, Any]:
    """Be killed, as by a system without memory, in the fourth cell, the first time."""
    ended = Path(cell.parameters["folder"], "ended")
    if cell.seed == 3 and not ended.exists():
        ended.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"seed": cell.seed}


def end_always(cell: Cell) -> dict[str, Any]:
    """Be killed in every cell from one on."""
    if cell.seed >= cell.parameters["last"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"seed": cell.seed}


def not_a_number(cell: Cell) -> dict[str, Any]:
    """Return what JSON does not hold."""
    return {"x": float("nan")}


class UnreadableError(Exception):
    """One that can be pickled and not read again."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__("neither")


def unreadable(cell: Cell) -> dict[str, Any]:
    """Raise what no process can read."""
    raise UnreadableError(1, 2)


def process_of() -> int:
    """Return which process computes."""
    return os.getpid()


def slow(cell: Cell) -> dict[str, Any]:
    """Take longer than it takes to hear of another cell."""
    time.sleep(0.02)
    return {"seed": cell.seed}


class Shared:
    """A computation that says in its folder whenever it is read."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        Path(self.folder, f"{os.getpid()}-{time.monotonic_ns()}").touch()

    def __call__(self, cell: Cell) -> dict[str, Any]:
        """Return the number of the cell."""
        return {"seed": cell.seed}


class UnreadableFunction(Shared):
    """One that no worker can read."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        raise ValueError("not here")


def leave(cell: Cell) -> dict[str, Any]:
    """Leave as a script does that has seen enough."""
    sys.exit(0)


def interrupted(cell: Cell) -> dict[str, Any]:
    """Be interrupted by Ctrl-C, which goes to the processes of a terminal alike."""
    raise KeyboardInterrupt


def end_each_once(cell: Cell) -> dict[str, Any]:
    """Be killed in each cell, the first time."""
    ended = Path(cell.parameters["folder"], str(cell.seed))
    if not ended.exists():
        ended.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"seed": cell.seed}
