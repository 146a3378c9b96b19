"""What the sweeps of the tests compute, in workers: these import this file, and little else."""

import os
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
