"""What a shell completes: models, files, learners, figures and scales.

``iirl-opt --install-completion`` installs it, of bash, zsh, fish or PowerShell. Nothing is solved
or read for it, and whatever goes wrong there is nothing to complete: no shell shows a traceback.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path

__all__ = [
    "COMPLETION",
    "FIGURES",
    "MAZES",
    "SCALES",
    "complete_certificate",
    "complete_claims",
    "complete_figure",
    "complete_learner",
    "complete_learners",
    "complete_maze",
    "complete_model",
    "complete_prizes",
    "complete_scale",
    "of_a_shell",
]

# The options that make a shell complete; behind them a shell may be named.
COMPLETION = ("--install-completion", "--show-completion")

# Set, typer takes the shell that is named; else the one that it finds itself in.
NAMED = "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"

# Those of `iirl_opt.experiments.figure`, which takes longer to import than a shell may wait.
MAZES = ("maze",)
FIGURES = ("1", "3", "4", "6", "7", "proposition-1", "transfer")
SCALES = ("small", "paper", "mixing", "two", "mazes")

Completion = Callable[[str], list[str]]


def _quiet(names: Callable[[str], Iterable[str]]) -> Completion:
    """Return the completion of a word from the names that there are."""

    @wraps(names)
    def complete(incomplete: str) -> list[str]:
        try:
            return [name for name in names(incomplete) if name.startswith(incomplete)]
        except Exception:  # the user is in the midst of a line
            return []

    return complete


@contextmanager
def of_a_shell(arguments: Sequence[str]) -> Iterator[None]:
    """Let the options of `COMPLETION` mean the shell that is named behind them, if one is."""
    before = os.environ.get(NAMED)
    if arguments[:1] and arguments[0] in COMPLETION and arguments[1:]:
        os.environ[NAMED] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(NAMED, None)


@_quiet
def complete_model(incomplete: str) -> Iterable[str]:
    """Yield shipped models, and files of kinds that are read."""
    if "/" not in incomplete:
        from iirl_opt.library.shipped import shipped_by_name

        yield from shipped_by_name()
    from iirl_opt.formats.kinds import KINDS

    yield from _paths(incomplete, tuple(end for kind in KINDS for end in kind.suffixes))


@_quiet
def complete_certificate(incomplete: str) -> Iterable[str]:
    """Yield files that may be certificates."""
    return _paths(incomplete, (".json",))


@_quiet
def complete_claims(incomplete: str) -> Iterable[str]:
    """Yield Python files."""
    return _paths(incomplete, (".py",))


@_quiet
def complete_learner(incomplete: str) -> Iterable[str]:
    """Yield learners; each with ``-fixed`` behind it once the name itself is written."""
    from iirl_opt.library.learners import FIXED, LEARNERS

    yield from LEARNERS
    yield from (name + FIXED for name in LEARNERS if incomplete.startswith(name))


@_quiet
def complete_learners(incomplete: str) -> Iterable[str]:
    """Yield a list of learners with commas between, whose last one is completed."""
    before, comma, last = incomplete.rpartition(",")
    return (f"{before}{comma}{name}" for name in complete_learner(last))


@_quiet
def complete_figure(incomplete: str) -> Iterable[str]:
    """Yield the figures of the paper."""
    return FIGURES


@_quiet
def complete_scale(incomplete: str) -> Iterable[str]:
    """Yield the scales of all figures."""
    return SCALES


@_quiet
def complete_maze(incomplete: str) -> Iterable[str]:
    """Yield the mazes to play in."""
    return MAZES


@_quiet
def complete_prizes(incomplete: str) -> Iterable[str]:
    """Yield the pairs of prizes, the first prize first."""
    from iirl_opt.play.maze import PrizeMaze

    return map("".join, PrizeMaze().rankings)


def _paths(incomplete: str, suffixes: tuple[str, ...]) -> Iterable[str]:
    """Yield folders, and files with some suffixes, whose path so begins."""
    before = incomplete[: incomplete.rfind("/") + 1]
    for entry in sorted(Path(before or ".").iterdir()):
        if entry.is_dir():
            yield f"{before}{entry.name}/"
        elif entry.name.lower().endswith(suffixes):
            yield f"{before}{entry.name}"
