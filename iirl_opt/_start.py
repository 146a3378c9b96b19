"""The first moments of the command, when nothing of it is there yet that could hear Ctrl-C.

Python's own answer is a traceback, through whatever is being imported. In the process of the
command, and in no other that imports the package, it is a line and the exit code instead, until
`iirl_opt.cli.streams.Process` listens and again when it has done: nothing is half written then.
This is imported before all else, so until then it imports only what Python itself has loaded.
"""

import _signal  # type: ignore[import-not-found]  # `signal` without its enumerations
import os
import sys

__all__ = ["hold", "leave"]

SCRIPTS = ("iirl-opt", "iirl-opt.exe", "iirl-opt-script.py")
INTERRUPTED = 130  # that of `iirl_opt.cli.exit_codes`


def hold() -> None:
    """Leave on Ctrl-C without a traceback, if this is the process of the command."""
    if not _is_command() or _signal.getsignal(_signal.SIGINT) is not _signal.default_int_handler:
        return
    try:
        _signal.signal(_signal.SIGINT, leave)
    except ValueError:  # not in the main thread: then somebody else was first
        return
    import atexit  # not before: Python has not loaded it yet

    # All is said then, and as Python takes itself down it would let Ctrl-C end it by the signal.
    atexit.register(_signal.signal, _signal.SIGINT, _signal.SIG_IGN)


def leave(*_: object) -> None:
    """Say that the command was interrupted, and leave at once."""
    try:
        os.write(2, b"iirl-opt: interrupted\n")
    finally:  # whether anybody listens or not
        os._exit(INTERRUPTED)


def _is_command() -> bool:
    """Say whether this is ``iirl-opt``, or ``python -m iirl_opt`` before its module is found."""
    words: list[str] = getattr(sys, "argv", [])
    if words[:1] == ["-m"]:
        module = sys.orig_argv[-len(words)]
        return module == "iirl_opt" or (module[:1] == "-" and module.endswith("miirl_opt"))
    return bool(words) and os.path.basename(words[0]) in SCRIPTS
