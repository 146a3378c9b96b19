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
    """Return the import and the commands."""

    def prepare() -> dict[str, Contestant]:
        def code(text: str) -> Callable[[int], None]:
            return lambda _: _wait("-c", text)

        def command(*words: str, code: int = 0) -> Callable[[int], None]:
            return lambda _: _wait("-m", "iirl_opt", *words, code=code)

        def tab(*words: str) -> Callable[[int], None]:
            asked = {
                "_IIRL_OPT_COMPLETE": "complete_bash",
                "COMP_WORDS": " ".join(["iirl-opt", *words]),
                "COMP_CWORD": str(len(words)),
            }
            return lambda _: _wait("-m", "iirl_opt", **asked)

        return {
            "import iirl_opt": ours(code("import iirl_opt")),
            "iirl-opt --version": ours(command("--version")),
            "iirl-opt --help": ours(command("--help")),
            "iirl-opt lern": ours(command("lern", code=2)),
            "iirl-opt show": ours(command("show")),
            "iirl-opt show maze-maker": ours(command("show", "maze-maker")),
            "completion, lea": ours(tab("lea")),
            "completion, learn maze-m": ours(tab("learn", "maze-m")),
            "completion, learn x --learner act": ours(tab("learn", "x", "--learner", "act")),
            "python -c pass": peer(code("pass")),
            "import numpy, scipy.sparse": peer(code("import numpy, scipy.sparse")),
            "import cvxpy": peer(code("import cvxpy")),
        }

    return [Case("processes", {}, prepare, runs=7, seconds=6.0)]


def _wait(*arguments: str, code: int = 0, **environment: str) -> None:
    # Safe paths: of the working directory no package is imported, it may be another checkout.
    command = [sys.executable, "-P", *arguments]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    done = subprocess.run(command, env=os.environ | environment, **quiet)
    if done.returncode != code:
        raise subprocess.CalledProcessError(done.returncode, command)
