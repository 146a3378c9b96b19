"""The two lines that HiGHS prints once a process, whatever its options say, kept from view.

They come from C, so they go where C's `stdout` points. For the one run that prints them it is
pointed elsewhere; Python's own output does not pass through it, so other threads may print
meanwhile. Where the C library does not show that pointer, file descriptor 1 is redirected instead.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from threading import Lock

import highspy

__all__ = ["swallow_banner"]

# How the C libraries that we know call the pointer: glibc and musl, then macOS.
NAMES = ("stdout", "__stdoutp")

_lock = Lock()
_swallowed = False


def swallow_banner() -> None:
    """Let HiGHS print its banner where nobody reads it; later calls do nothing."""
    global _swallowed
    with _lock:
        if not _swallowed:
            aside = _with_c_stdout_aside if _c_stdout() is not None else _with_descriptor_aside
            aside(_first_run)
            _swallowed = True


def _first_run() -> None:
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.addVars(1, [0.0], [1.0])
    highs.run()


def _c_stdout() -> ctypes.c_void_p | None:
    """Return C's `stdout` as a variable, or None where the library hides it."""
    for name in NAMES:
        try:
            return ctypes.c_void_p.in_dll(ctypes.CDLL(None), name)
        except (ValueError, OSError, TypeError):
            continue
    return None


def _with_c_stdout_aside(work: Callable[[], None]) -> None:
    library, pointer = ctypes.CDLL(None), _c_stdout()
    assert pointer is not None
    library.fopen.restype = ctypes.c_void_p
    library.fclose.argtypes = [ctypes.c_void_p]
    nowhere = library.fopen(os.devnull.encode(), b"w")
    kept = pointer.value
    if nowhere is None:
        work()
        return
    try:
        pointer.value = nowhere
        work()
    finally:
        pointer.value = kept
        library.fclose(nowhere)


def _with_descriptor_aside(work: Callable[[], None]) -> None:
    if sys.stdout is not None:
        sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:
        work()
        return
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            work()
    finally:
        os.dup2(kept, 1)
        os.close(kept)
