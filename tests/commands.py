"""The command as tests run it: in this process, or in one of its own where that is the point."""

import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from types import EllipsisType
from typing import Any, NamedTuple, TextIO

import pytest

from iirl_opt.cli.app import main, run

RUN = (sys.executable, "-m", "iirl_opt")

LONGEST = 240.0
"""Seconds after which a test stops waiting for a process: no promise, an end."""


class Done(NamedTuple):
    """What a command left: its exit code, and what it wrote to either stream."""

    code: int
    out: str
    err: str


def iirl(*arguments: object, cwd: Path | None = None) -> Done:
    """Run ``iirl-opt`` in this process: one of its own would cost more than most answers."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), chdir(cwd or Path.cwd()):
        code = run([*map(str, arguments)])
    return Done(code, out.getvalue(), err.getvalue())


def start(command: Sequence[object], **options: Any) -> subprocess.Popen[str]:
    """Start a process that hears Ctrl-C, also where this one does not.

    A shell starts what runs in the background with SIGINT ignored, and what is ignored is
    inherited; a handler is not, so for the moment of the start there is one.
    """
    environment = os.environ | {"PYTHONUNBUFFERED": "1"} | options.pop("env", {})
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen([*map(str, command)], env=environment, text=True, **options)
    finally:
        signal.signal(signal.SIGINT, before)


def child(command: Sequence[object], **options: Any) -> Done:
    """Run a process of its own to its end, and return what it left."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start(command, **pipes, **options) as process:
        try:
            out, err = process.communicate(timeout=LONGEST)
        except BaseException:
            process.kill()
            raise
    return Done(process.returncode, out, err)


def interrupt(command: Sequence[object], sign: str) -> Done:
    """Start a process, press Ctrl-C when a line that it prints holds a sign, and wait.

    What it printed up to that line is left out.
    """
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start(command, **pipes) as process:
        alarm = threading.Timer(LONGEST, process.kill)
        alarm.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if sign in line:
                    break
            process.send_signal(signal.SIGINT)
            rest, err = process.communicate()
        finally:
            alarm.cancel()
            process.kill()
    return Done(process.returncode, rest, err)


def whole(
    *arguments: object,
    out: TextIO | EllipsisType | None = ...,
    err: TextIO | EllipsisType | None = ...,
) -> Done:
    """Run ``iirl-opt`` as its process would, from its arguments to its exit code, in this one.

    Parameters
    ----------
    out, err : where its streams lead, or None where it has none; what is written there is not
        returned.
    """
    streams = [io.StringIO() if stream is ... else stream for stream in (out, err)]
    signals = signal.SIGINT, signal.SIGTERM
    handlers = [signal.getsignal(which) for which in signals]
    with pytest.MonkeyPatch.context() as here, redirect_stdout(streams[0]):
        here.setattr(sys, "argv", ["iirl-opt", *map(str, arguments)])
        with redirect_stderr(streams[1]), pytest.raises(SystemExit) as left:
            main()
    assert [signal.getsignal(which) for which in signals] == handlers
    code = left.value.code
    assert isinstance(code, int)
    texts = [stream.getvalue() if isinstance(stream, io.StringIO) else "" for stream in streams]
    return Done(code, *texts)
