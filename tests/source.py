"""The package as text, every file of it parsed once; and what a line of code loads."""

import ast
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import iirl_opt

__all__ = ["HEAVY", "PACKAGE", "loaded_by", "parsed"]

PACKAGE = Path(iirl_opt.__file__).parent

# What takes long to import, so that nobody waits for it who does not need it.
HEAVY = (
    "cvxpy",
    "highspy",
    "networkx",
    "matplotlib",
    "hypothesis",
    "joblib",
    "typer",
    "rich",
    "gymnasium",
    "stormpy",
    "quantecon",
    "narwhals",
    "distributed",
    "pyarrow",
    "textual",
    "numba",
    "pandas",
    "scipy.optimize",
)


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file, which nobody changes."""
    return ast.parse(path.read_text("utf-8"))


def loaded_by(codes: Sequence[str]) -> dict[str, list[str]]:
    """Return the heavy libraries that are in memory after each of several lines of code.

    They are run one after the other in one fresh interpreter.
    """
    report = f"import sys; print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    lines = [line for code in codes for line in (code, report)]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return {
        code: found.split() for code, found in zip(codes, done.stdout.split("\n"), strict=False)
    }
