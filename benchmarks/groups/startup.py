"""Starting: what a command costs before it does anything. CPU time of a process of its own.

The peers are what any Python program that plans has to load.
"""

from __future__ import annotations

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

        def command(*words: str) -> Callable[[int], None]:
            return lambda _: _wait("-m", "iirl_opt", *words)

        return {
            "import iirl_opt": ours(code("import iirl_opt")),
            "iirl-opt --version": ours(command("--version")),
            "iirl-opt --help": ours(command("--help")),
            "iirl-opt show maze-maker": ours(command("show", "maze-maker")),
            "python -c pass": peer(code("pass")),
            "import numpy, scipy.sparse": peer(code("import numpy, scipy.sparse")),
            "import cvxpy": peer(code("import cvxpy")),
        }

    return [Case("processes", {}, prepare, runs=7, seconds=6.0)]


def _wait(*arguments: str) -> None:
    # Safe paths: of the working directory no package is imported, it may be another checkout.
    command = [sys.executable, "-P", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
