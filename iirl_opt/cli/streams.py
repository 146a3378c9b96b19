"""Streams and signals of the command's process, so that nothing that is done is lost to them.

What a code page cannot show is replaced. A stream that is not there swallows what is said. A reader
that has gone (``| head -1``), a disk that is full behind ``>`` and SIGTERM stop the command as
Ctrl-C does: by a `KeyboardInterrupt`, on which each command keeps what it has; the exit code says
which it was. Where Python drops an interrupt, as in what it calls when an object goes, it comes
once more.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import sys
import threading
from _thread import interrupt_main
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType
from typing import Any, TextIO

from iirl_opt._start import leave
from iirl_opt.cli.exit_codes import BAD_INPUT, CLOSED, INTERRUPTED, TERMINATED

__all__ = ["Process"]

# Of a terminal, in columns: help takes memory for each of them.
NARROWEST, WIDEST = 20, 500

# Signals that ask a process to end, where the system knows them.
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Process:
    """The process of a command, for as long as the command runs.

    Attributes
    ----------
    stopped_by : the exit code that says what stopped it: Ctrl-C, unless it was something else.
    heard : whether a signal asked it to stop.
    lost : what went wrong on standard output, but for a reader that has gone.
    """

    stopped_by: int
    heard: bool
    lost: OSError | None

    def __init__(self) -> None:
        self.stopped_by, self.heard, self.lost = INTERRUPTED, False, None

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """Make streams and signals ready; they are as they were when the block ends."""
        _occupy()
        _fit_width()
        streams, hook = (sys.stdout, sys.stderr), sys.unraisablehook
        handlers: dict[signal.Signals, Any] = {}
        sys.unraisablehook = partial(self._raise_again, hook)
        sys.stdout, sys.stderr = (self._guarded(stream) for stream in streams)
        if threading.current_thread() is threading.main_thread():
            for which in ENDING:
                if signal.getsignal(which) is signal.SIG_DFL:  # one ignored is to stay so: nohup
                    handlers[which] = signal.signal(which, self._end)
            if signal.getsignal(signal.SIGINT) is leave:  # until now there was nothing to keep
                handlers[signal.SIGINT] = leave
                signal.signal(signal.SIGINT, self._interrupt)
        try:
            yield
        finally:
            for which, handler in handlers.items():
                signal.signal(which, handler)
            with suppress(KeyboardInterrupt):
                sys.stdout.flush()
            with suppress(KeyboardInterrupt):
                sys.stderr.flush()
            sys.stdout, sys.stderr = streams
            sys.unraisablehook = hook

    def stop(self, problem: OSError) -> None:
        """Stop the command, since standard output takes no more.

        Raises
        ------
        KeyboardInterrupt
            Always.
        """
        if self.stopped_by != INTERRUPTED:  # by a signal, such as that of a terminal that is closed
            raise KeyboardInterrupt
        gone = isinstance(problem, BrokenPipeError)
        self.stopped_by, self.lost = (CLOSED, None) if gone else (BAD_INPUT, problem)
        if gone:  # who has seen enough is told no more
            sys.stderr = io.StringIO()
        raise KeyboardInterrupt

    def _interrupt(self, which: int, frame: FrameType | None) -> None:
        self.heard = True
        signal.default_int_handler(which, frame)

    def _end(self, which: int, _frame: FrameType | None) -> None:
        self.heard = True
        self.stopped_by = TERMINATED - signal.SIGTERM + which
        raise KeyboardInterrupt

    def _raise_again(self, otherwise: Callable[[Any], object], dropped: Any) -> None:
        if isinstance(dropped.exc_value, KeyboardInterrupt) and self.stopped_by > 128:
            # Later: here it would be dropped again.
            again = threading.Timer(0.01, _signal_main_thread, (self.stopped_by - 128,))
            again.daemon = True
            again.start()
        else:
            otherwise(dropped)

    def _guarded(self, stream: TextIO | None) -> Any:
        if stream is None:
            return io.StringIO()
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace", line_buffering=True)
            try:
                "é".encode(stream.encoding, "replace")
            except (LookupError, UnicodeError):  # a code page that replaces nothing, such as IDNA
                stream.reconfigure(encoding="ascii", errors="replace")
        return _Guarded(stream, self if stream is sys.stdout else None)


class _Guarded:
    """A stream that is left alone once it has failed.

    Parameters
    ----------
    process : what is stopped then; nothing is where it is None.
    """

    def __init__(self, stream: TextIO, process: Process | None) -> None:
        self._stream, self._process, self._failed = stream, process, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def encoding(self) -> str:
        """The code page, by no name of ASCII: click would write UTF-8 to it all the same."""
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        return "us, replaced" if encoding.lower() in ("ascii", "us-ascii") else encoding

    def write(self, text: str) -> int:
        """Write text, unless the stream has failed."""
        if not self._failed:
            try:
                return self._stream.write(text)
            except OSError as problem:
                self._give_up(problem)
        return len(text)

    def flush(self) -> None:
        """Flush the stream, unless it has failed."""
        if not self._failed:
            try:
                self._stream.flush()
            except OSError as problem:
                self._give_up(problem)

    def _give_up(self, problem: OSError) -> None:
        self._failed = True
        # What is still in the buffer would fail once more at the end of the process.
        with suppress(OSError), open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), self._stream.fileno())
        if self._process is not None:
            self._process.stop(problem)


def _signal_main_thread(which: int) -> None:
    if hasattr(signal, "pthread_kill"):  # which ends a wait of the system, too
        signal.pthread_kill(threading.main_thread().ident or 0, which)
    else:
        interrupt_main(signal.Signals(which))


def _fit_width() -> None:
    """Have those who ask how wide the terminal is hear a width that a line can have."""
    said, wide = os.environ.get("COLUMNS"), shutil.get_terminal_size().columns
    fit = min(max(wide, NARROWEST), WIDEST)
    if said is not None or fit != wide:
        os.environ["COLUMNS"] = str(fit)


def _occupy() -> None:
    """Keep the numbers of streams that are closed, or the next file to be opened gets one."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
