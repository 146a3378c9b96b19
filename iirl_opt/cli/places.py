"""Places that files are to take: refused before any work, if nothing could be written there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from iirl_opt.errors import FileProblem

__all__ = ["check_file", "goes_on", "made"]


def made(folder: Path, said: str, leaves: Iterable[str] = ()) -> list[Path]:
    """Make a folder that files can be written to, if it is not there; return all that were made.

    Parameters
    ----------
    said : what the folder is called by whoever named it.
    leaves : names of files that will be written there.

    Raises
    ------
    BadParameter
        It cannot be made, nothing can be written there, or one of the names is taken.
    """
    try:
        new = [place for place in (folder, *folder.parents) if not place.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        _try(folder)
    except (OSError, ValueError) as problem:
        raise _unfit(folder, said, f"and no folder: {_why(problem)}") from None
    for name in leaves:
        _check_free(folder / name, said)
        if (folder / name).is_symlink():
            check_file(folder / name, said)
    return new


def check_file(path: Path, said: str, source: Path | None = None, *, replace: bool = True) -> None:
    """Refuse a file that could not be written.

    Parameters
    ----------
    said : what it is called by whoever named it.
    source : the file that is read, whose place it may not take.
    replace : whether it may take that of another.

    Raises
    ------
    BadParameter
        It is there and may not be replaced, a folder, read-only or the source, or in a folder that
        is not there or read-only.
    """
    try:
        if not path.parent.is_dir():
            raise _unfit(path, said, "in no folder that there is")
        _check_free(path, said)
        if source is not None and path.exists() and path.samefile(source):
            raise _unfit(path, said, "the file that is read; allowed another")
        if path.is_file() and not replace:
            raise _unfit(path, said, "there already; allowed a new file, or --force")
        if not path.exists() or path.is_file():  # else it is written to as it is: /dev/stdout
            place = Path(os.path.realpath(path))
            if place.is_symlink():
                raise _unfit(path, said, "a link to itself")
            _try(place.parent)
    except (OSError, ValueError) as problem:
        raise _unfit(path, said, f"where nothing can be written: {_why(problem)}") from None


@contextmanager
def goes_on(checkpoint: Path | None, kept: Callable[[], int]) -> Iterator[None]:
    """Say of a file that cannot be written amidst a run, as on a full disk, how the run goes on.

    Parameters
    ----------
    kept : how many pieces of work the checkpoint has.

    Raises
    ------
    FileProblem
        In place of the error of the system, where anything is kept.
    """
    try:
        yield
    except OSError as problem:
        if checkpoint is None or problem.filename is None or not kept():
            raise
        how = f"with --resume the same command goes on from {checkpoint}"
        raise FileProblem(Path(problem.filename), f"{_why(problem)}; {how}") from problem


def _check_free(path: Path, said: str) -> None:
    """Refuse a file that is there and cannot be replaced."""
    if path.is_dir():
        raise _unfit(path, said, "a folder; allowed a file")
    if path.exists() and not os.access(path, os.W_OK):
        raise _unfit(path, said, "a read-only file")


def _try(folder: Path) -> None:
    tempfile.TemporaryFile(dir=folder).close()


def _unfit(path: Path, said: str, why: str) -> typer.BadParameter:
    return typer.BadParameter(f"{said} is {str(path)!r}, {why}")


def _why(problem: OSError | ValueError) -> str:
    return str(getattr(problem, "strerror", None) or problem)
