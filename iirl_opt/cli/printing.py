"""Printing: lines for people as the work goes on, or with ``--json`` one document and nothing else.

What a command found it gives to its `Printer` once, which writes the files, ends the checkpoint and
then prints: what standard output does not take is on the disk. Files go where ``--out`` says;
without it and without ``--json``, `learn`, `figure` and `compare` write to ``results/NAME``.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
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

__all__ = ["Printer", "ended", "lines_of_findings"]

# Seconds that may pass without a sign.
PATIENCE = 2.0

# What is put in order when the command that runs has ended.
_ENDING: ContextVar[ExitStack] = ContextVar("ending")


class Printer:
    """Where the words of a command go, and its files: the files first.

    Parameters
    ----------
    as_json : whether standard output is for one document alone.
    out : the folder for files, if one was named; it is made at once.
    leaves : the files that will be written there in any case.
    always : of a command that always leaves files, unless ``--json``: their folder in ``results``.

    Attributes
    ----------
    folder : where files go, or None.
    until : what is open until the files are written; an error on the way closes it as one.
    interrupted : whether work was interrupted whose beginning is kept.

    Raises
    ------
    BadParameter
        The folder cannot be made, or one of the files cannot be written there.
    """

    as_json: bool
    folder: Path | None
    until: ExitStack
    interrupted: bool

    def __init__(
        self,
        as_json: bool,
        out: Path | None,
        leaves: Sequence[str] = ("result.json",),
        *,
        always: str | None = None,
    ) -> None:
        self.as_json, self.folder, self.interrupted = as_json, out, False
        self.until, said = ExitStack(), "--out"
        if out is None and always is not None and not as_json:
            self.folder, said = Path("results", always), "the place of results"
        ending = _ENDING.get()
        if self.folder is not None:
            new = made(self.folder, said, leaves)
            ending.callback(_take_away_empty, new)
        ending.push(self.until)

    def say(self, line: str) -> None:
        """Print a line for people."""
        if not self.as_json:
            typer.echo(line)

    def give(
        self,
        document: Mapping[str, Any],
        report: Iterable[str] = (),
        *,
        name: str | None = "result.json",
        beside: Iterable[Path | str] = (),
    ) -> None:
        """Write what was found to the folder, close what waits for that, and only then print.

        So nothing is lost to a reader that has gone or a full disk behind standard output. Where a
        file cannot be written, it is printed all the same.

        Parameters
        ----------
        report : the lines for people, printed in place of the document unless ``--json``.
        name : of the file of the document; None where `beside` has all files.
        beside : writes the other files as it is gone through; each path, or what there is to say.
        """
        written: list[Path | str] = []
        try:
            if name is not None:
                written += self.texts({name: text_of(document, lines=True)})
            written.extend(beside)
            self.until.close()
        except Exception:
            self._print(document, report, written)
            raise
        self._print(document, report, written)

    def _print(
        self, document: Mapping[str, Any], report: Iterable[str], written: Iterable[Path | str]
    ) -> None:
        if self.as_json:
            typer.echo(text_of(document))
            return
        for line in report:
            self.say(line)
        for file in written:
            self.say(f"wrote {file}" if isinstance(file, Path) else file)

    def texts(self, texts: Mapping[str, str]) -> Iterator[Path]:
        """Write texts to the folder, where there is one, by the names of their files."""
        if self.folder is not None:
            for name, text in texts.items():
                yield write_text(self.folder / name, text + "\n")

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
def ended() -> Iterator[None]:
    """End a command in the block: folders that it made and left empty go, however it ends."""
    with ExitStack() as ending:
        before = _ENDING.set(ending)
        try:
            yield
        finally:
            _ENDING.reset(before)


def _take_away_empty(folders: Iterable[Path]) -> None:
    """Take away folders, each within the next, as far as nothing is in them."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def lines_of_findings(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield a line an expectation."""
    for finding in findings:
        mark = "ok " if finding.met else "NOT MET"
        yield f"{mark} {finding.quantity} = {finding.found!r} (expected {finding.expected})"


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
