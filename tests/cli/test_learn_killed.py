"""`learn` ended at random times, in every way that ends a process, and resumed: nothing is lost."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from commands import RUN, child, start

LEARN = (*RUN, "learn", "maze-maker", "--out")
WAYS = ("TERM", "KILL", "PIPE", "INT")
CODES = {"TERM": 143, "KILL": -signal.SIGKILL, "PIPE": 141, "INT": 130}


def result(folder: Path) -> dict[str, bytes]:
    """Return what the files of a run hold, but for the checkpoint and for times."""
    files = (path for path in folder.iterdir() if path.suffix != ".jsonl")
    return {path.name: re.sub(rb'"seconds": [^,\n}]*', b"", path.read_bytes()) for path in files}


@pytest.mark.campaign
def test_a_run_that_was_killed_and_resumed_is_the_run_that_was_not(tmp_path: Path) -> None:
    began = time.monotonic()
    assert child([*LEARN, tmp_path / "whole"]).code == 0
    whole, lasted = result(tmp_path / "whole"), time.monotonic() - began
    assert whole
    luck = random.Random(2022)
    for number in range(10):
        way, folder = WAYS[number % len(WAYS)], tmp_path / str(number)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with start([*LEARN, folder], **pipes) as process:
            time.sleep(luck.uniform(0.1, 0.9) * lasted)
            if way == "PIPE":
                assert process.stdout is not None
                process.stdout.close()
            else:
                process.send_signal(signal.Signals[f"SIG{way}"])
            assert process.wait() in (CODES[way], 0)
        done = child([*LEARN, folder, "--resume"])
        assert (done.code, done.err) == (0, "")
        assert result(folder) == whole
