"""Sweeps on the command line: the folder of a run of many cells, its checkpoint, what is kept."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from iirl_opt.cli.options import beginning
from iirl_opt.cli.places import goes_on
from iirl_opt.cli.printing import Printer

if TYPE_CHECKING:
    from iirl_opt.experiments.sweep import CellResult

__all__ = ["SweepRun", "files_of"]


class SweepRun:
    """A run of many cells, which can be interrupted and gone on with.

    Parameters
    ----------
    name : of its files.
    total : how many cells there are.
    heading : printed when the work begins, after all that may refuse it.
    """

    printer: Printer
    name: str
    total: int
    heading: str
    checkpoint: Path | None

    def __init__(self, printer: Printer, name: str, total: int, heading: str = "") -> None:
        self.printer, self.name, self.total, self.heading = printer, name, total, heading
        folder = printer.folder
        self.checkpoint = None if folder is None else folder / f"{name}.jsonl"

    def run(
        self,
        compute: Callable[..., dict[str, Any]],
        *,
        jobs: int,
        scheduler: str | None,
        patience: float | None,
        resume: bool,
        restart: bool,
    ) -> dict[str, Any] | None:
        """Return what is computed, or None when interrupted: then it is said what is kept.

        Raises
        ------
        BadParameter
            There is no folder to resume from, or options that exclude each other.
        """
        beginning(self.checkpoint, resume=resume, restart=restart)
        if scheduler is not None and jobs > 1:
            raise typer.BadParameter("--jobs beside --scheduler, whose workers compute")
        if scheduler is None and patience is not None:
            raise typer.BadParameter("--patience without --scheduler, whose workers it waits for")
        kept: list[str] = []
        try:
            with (
                goes_on(self.checkpoint, lambda: len(kept)),
                _executor(scheduler, patience) as executor,
                self.printer.progress(self.total, self.name) as advance,
            ):

                def progress(result: CellResult) -> None:
                    kept.append(f"{result.seconds:>9.2f} s   {result.cell}")
                    advance(kept[-1])

                if self.heading:
                    self.printer.say(self.heading)
                return compute(
                    jobs=jobs,
                    executor=executor,
                    checkpoint=self.checkpoint,
                    resume=resume,
                    restart=restart,
                    until=self.printer.until,
                    progress=progress,
                )
        except KeyboardInterrupt:
            how = f"; go on with --resume from {self.checkpoint}"
            typer.echo(f"iirl-opt: interrupted{how if kept and self.checkpoint else ''}", err=True)
            return None

    def give(
        self,
        document: Mapping[str, Any],
        report: Iterable[str],
        draw: Callable[[Any, Path], Path],
    ) -> None:
        """Write the document and what `_beside` does, and print what there is to say."""
        with goes_on(self.checkpoint, lambda: self.total):
            files = self._beside(document, draw)
            self.printer.give(document, report, name=f"{self.name}.json", beside=files)

    def _beside(
        self, document: Mapping[str, Any], draw: Callable[[Any, Path], Path]
    ) -> Iterator[Path]:
        """Write the tidy table of a document, with metadata, and with matplotlib its picture."""
        if self.printer.folder is None:
            return
        from iirl_opt.experiments.tables import write_tidy

        yield from write_tidy(document, self.printer.folder / self.name)
        if self.printer.draws():
            yield draw(document["summary"], self.printer.folder / f"{self.name}.png")


def files_of(name: str) -> list[str]:
    """Return the names of the files that a run leaves, by its own."""
    return [
        f"{name}.{suffix}" for suffix in ("json", "jsonl", "csv", "parquet", "meta.json", "png")
    ]


@contextmanager
def _executor(scheduler: str | None, patience: float | None) -> Iterator[Executor | None]:
    """Yield the executor of a cluster, or None where there is no scheduler; say if it has to wait.

    What Dask logs of a lost connection is not shown: what became of it is said in a line.
    """
    if scheduler is None:
        yield None
        return
    from iirl_opt.experiments.cluster import PATIENCE, dask_executor

    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with dask_executor(
            scheduler,
            patience=PATIENCE if patience is None else patience,
            say=lambda line: typer.echo(f"iirl-opt: {line}", err=True),
        ) as executor:
            yield executor
    finally:
        logging.disable(disabled)
