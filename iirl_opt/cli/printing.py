"""Printing: lines for people as the work goes on, or with ``--json`` one document and nothing else.

Files go where ``--out`` says; without it and without ``--json``, `learn`, `figure` and `compare`
write to ``results/NAME``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from iirl_opt.cli.json_document import text_of
from iirl_opt.files import write_text

if TYPE_CHECKING:
    from iirl_opt.library import Finding

__all__ = ["Printer"]


class Printer:
    """Where the words of a command go, and its files.

    Parameters
    ----------
    as_json : whether standard output is for one document alone.
    out : the folder for files, if one was named.
    """

    as_json: bool
    out: Path | None

    def __init__(self, as_json: bool, out: Path | None) -> None:
        self.as_json, self.out = as_json, out

    def say(self, line: str) -> None:
        """Print a line for people."""
        if not self.as_json:
            typer.echo(line)

    def say_findings(self, findings: Sequence[Finding]) -> None:
        """Print a line an expectation."""
        for finding in findings:
            mark = "ok " if finding.met else "NOT MET"
            self.say(f"{mark} {finding.quantity} = {finding.found!r} (expected {finding.expected})")

    def give(self, document: Mapping[str, Any]) -> None:
        """Print the document, where it is wanted."""
        if self.as_json:
            typer.echo(text_of(document))

    def folder(self, name: str) -> Path | None:
        """Return the folder for files of a command that always leaves some, unless ``--json``."""
        return Path("results", name) if self.out is None and not self.as_json else self.out

    def keep(self, document: Mapping[str, Any], name: str = "result.json") -> None:
        """Write the document into the folder, where one is named."""
        if self.out is not None:
            self.write(self.out / name, text_of(document, lines=True))

    def write(self, path: Path, text: str) -> None:
        """Write a text file, in a folder that is made if need be, and say so."""
        path.parent.mkdir(parents=True, exist_ok=True)
        written = write_text(path, text + "\n")
        self.say(f"wrote {written}")

    @contextmanager
    def progress(self, total: int, name: str = "learning") -> Iterator[Callable[[str], None]]:
        """Yield a function that prints a line and moves the bar, which only a terminal shows."""
        if self.as_json or not sys.stdout.isatty():
            yield self.say
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

        columns = (name, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, transient=True) as bar:
            task = bar.add_task(name, total=total)

            def advance(line: str) -> None:
                bar.console.print(line, highlight=False)
                bar.advance(task)

            yield advance
