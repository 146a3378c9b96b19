"""Sweeps on the command line: the folder of a run of many cells, its checkpoint, what is kept."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from iirl_opt.cli.json_document import text_of
from iirl_opt.cli.options import beginning
from iirl_opt.cli.printing import Printer

__all__ = ["SweepRun", "files_of"]


class SweepRun:
    """A run of many cells, which can be interrupted and gone on with.

    Parameters
    ----------
    name : of its files.
    folder : in ``results/``, where nobody names one.
    total : how many cells there are.
    """

    printer: Printer
    name: str
    total: int
    folder: Path | None

    def __init__(self, printer: Printer, name: str, folder: str, total: int) -> None:
        self.printer, self.name, self.total = printer, name, total
        self.folder = printer.folder(folder)

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
        checkpoint = None if self.folder is None else self.folder / f"{self.name}.jsonl"
        beginning(checkpoint, resume=resume, restart=restart)
        if scheduler is not None and jobs > 1:
            raise typer.BadParameter("--jobs beside --scheduler, whose workers compute")
        if scheduler is None and patience is not None:
            raise typer.BadParameter("--patience without --scheduler, whose workers it waits for")
        try:
            with (
                _executor(scheduler, patience) as executor,
                self.printer.progress(self.total, self.name) as advance,
            ):
                return compute(
                    jobs=jobs,
                    executor=executor,
                    checkpoint=checkpoint,
                    resume=resume,
                    restart=restart,
                    progress=lambda result: advance(f"{result.seconds:>9.2f} s   {result.cell}"),
                )
        except KeyboardInterrupt:
            kept = "" if checkpoint is None else f"; go on with --resume from {checkpoint}"
            typer.echo(f"iirl-opt: interrupted{kept}", err=True)
            return None

    def keep(self, document: Mapping[str, Any], draw: Callable[[Any, Path], Path]) -> None:
        """Write the document, its tidy table with metadata and, with matplotlib, its picture."""
        if self.folder is None:
            return
        from iirl_opt.experiments.tables import write_tidy

        self.printer.write(self.folder / f"{self.name}.json", text_of(document, lines=True))
        for file in write_tidy(document, self.folder / self.name):
            self.printer.say(f"wrote {file}")
        if self.printer.draws():
            picture = draw(document["summary"], self.folder / f"{self.name}.png")
            self.printer.say(f"wrote {picture}")


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
