"""Starting: what a command costs before it does anything. CPU time of a process of its own.

The peers are what any Python program that plans has to load. *Completion* is what a shell waits for
at a Tab: of a command, of a model's name, and of an option's value.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

from cases import Case, Contestant, ours, peer

TITLE = "Start-up"
GROWTH = None


def cases(quick: bool) -> list[Case]:
    """Return the import and the commands, and what completion takes."""

    def prepare() -> dict[str, Contestant]:
        return {
            "import iirl_opt": ours(code("import iirl_opt")),
            "iirl-opt --version": ours(command("--version")),
            "iirl-opt --help": ours(command("--help")),
            "iirl-opt show maze-maker": ours(command("show", "maze-maker")),
            "python -c pass": peer(code("pass")),
            "import numpy, scipy.sparse": peer(code("import numpy, scipy.sparse")),
            "import cvxpy": peer(code("import cvxpy")),
        }

    def complete() -> dict[str, Contestant]:
        return {
            "a command, lea": ours(tab("lea")),
            "a model, learn maze-m": ours(tab("learn", "maze-m")),
            "a value, learn x --learner act": ours(tab("learn", "x", "--learner", "act")),
            "import cvxpy": peer(code("import cvxpy")),
        }

    return [
        Case("processes", {}, prepare, runs=7, seconds=6.0),
        Case("completion", {}, complete, runs=5, seconds=4.0, before=False),
    ]


def code(text: str) -> Callable[[int], None]:
    """Return a run of Python on some code."""
    return lambda _: _wait("-c", text)


def command(*words: str) -> Callable[[int], None]:
    """Return a run of the command."""
    return lambda _: _wait("-m", "iirl_opt", *words)


def tab(*words: str) -> Callable[[int], None]:
    """Return a run of the command as a shell asks it for what to complete."""
    asked = {
        "_IIRL_OPT_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["iirl-opt", *words]),
        "COMP_CWORD": str(len(words)),
    }
    return lambda _: _wait("-m", "iirl_opt", **asked)


def _wait(*arguments: str, **environment: str) -> None:
    # Safe paths: of the working directory no package is imported, it may be another checkout.
    whole = [sys.executable, "-P", *arguments]
    subprocess.run(whole, check=True, stdout=subprocess.DEVNULL, env=os.environ | environment)
