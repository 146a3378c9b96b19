"""Printing: lines for people as the work goes on, or with ``--json`` one document and nothing else.

Files go where ``--out`` says; without it and without ``--json``, `learn`, `figure` and `compare`
write to ``results/NAME``.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from iirl_opt.cli.json_document import text_of
from iirl_opt.cli.places import made
from iirl_opt.errors import MissingExtra
from iirl_opt.files import write_text

if TYPE_CHECKING:
    from rich.progress import Progress

    from iirl_opt.library import Finding

__all__ = ["Printer"]

# Seconds that may pass without a sign.
PATIENCE = 2.0


class Printer:
    """Where the words of a command go, and its files.

    Parameters
    ----------
    as_json : whether standard output is for one document alone.
    out : the folder for files, if one was named; it is made at once.
    leaves : the files that will be written there in any case.

    Attributes
    ----------
    interrupted : whether work was interrupted whose beginning is kept.

    Raises
    ------
    BadParameter
        The folder cannot be made, or one of the files cannot be written there.
    """

    as_json: bool
    out: Path | None
    interrupted: bool

    def __init__(
        self, as_json: bool, out: Path | None, leaves: Sequence[str] = ("result.json",)
    ) -> None:
        self.as_json, self.out, self.interrupted = as_json, out, False
        self._leaves = leaves
        if out is not None:
            made(out, "--out", leaves)

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

    def place(self, name: str) -> Path | None:
        """Return where the files of a command go that always leaves some, unless ``--json``."""
        return self.out if self.out is not None or self.as_json else Path("results", name)

    def folder(self, name: str) -> Path | None:
        """Return that place, made if it is not there.

        Raises
        ------
        BadParameter
            It cannot be made, or written to.
        """
        place = self.place(name)
        return None if place is None else made(place, "the place of results", self._leaves)

    def keep(self, document: Mapping[str, Any], name: str = "result.json") -> None:
        """Write the document into the folder, where one is named."""
        if self.out is not None:
            self.write(self.out / name, text_of(document, lines=True))

    def write(self, path: Path, text: str) -> None:
        """Write a text file and say so."""
        written = write_text(path, text + "\n")
        self.say(f"wrote {written}")

    def draws(self) -> bool:
        """Return whether pictures can be drawn, and say so where they cannot."""
        if find_spec("matplotlib") is not None:
            return True
        typer.echo(f"iirl-opt: no pictures: {MissingExtra('plotting', 'plot')}", err=True)
        return False

    @contextmanager
    def kept(self) -> Iterator[None]:
        """End the block when it is interrupted, and say so: what was done is still to be kept."""
        try:
            yield
        except KeyboardInterrupt:
            self.interrupted = True
            typer.echo("iirl-opt: interrupted, keeping what is done", err=True)

    @contextmanager
    def progress(
        self, total: int | None = None, name: str = "learning"
    ) -> Iterator[Callable[[str], None]]:
        """Yield a function that prints a line and moves a bar.

        The bar is on standard error, if that is a terminal, once this has taken two seconds.

        Parameters
        ----------
        total : the number of lines to come; None where there is none, and only time goes by.
        """
        if not sys.stderr.isatty() or os.environ.get("TERM") in (None, "", "dumb"):
            yield self.say
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

        counted = () if total is None else (MofNCompleteColumn(),)
        columns = (name, BarColumn(), *counted, TimeElapsedColumn())
        with _late(Progress(*columns, console=Console(stderr=True), transient=True)) as bar:
            task = bar.add_task(name, total=total)

            def advance(line: str) -> None:
                if self.as_json or not sys.stdout.isatty():
                    self.say(line)
                else:  # above the bar
                    bar.console.file, was = sys.stdout, bar.console.file
                    try:
                        bar.print(line, highlight=False, markup=False, soft_wrap=True)
                    finally:
                        bar.console.file = was
                bar.advance(task)

            yield advance


@contextmanager
def _late(bar: Progress) -> Iterator[Progress]:
    """Show a bar once the block has taken some time, and take it away when it ends."""
    timer = threading.Timer(PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield bar
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
