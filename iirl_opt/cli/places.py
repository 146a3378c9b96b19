"""Places that files are to take: refused before any work, if nothing could be written there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import typer

__all__ = ["check_file", "made", "without_empty_folders"]

# Folders that the command has made, inner ones first.
_made: list[Path] = []


def made(folder: Path, said: str, leaves: Iterable[str] = ()) -> Path:
    """Return a folder that files can be written to, made if it is not there.

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
        _made[:0] = [each for each in (folder, *folder.parents) if not each.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        _try(folder)
    except (OSError, ValueError) as problem:
        raise _unfit(folder, said, f"and no folder: {_why(problem)}") from None
    for name in leaves:
        _check_free(folder / name, said)
    return folder


@contextmanager
def without_empty_folders() -> Iterator[None]:
    """Take away what was made within the block and stayed empty, as when a command is refused."""
    try:
        yield
    finally:
        while _made:
            with suppress(OSError):
                _made.pop(0).rmdir()


def check_file(path: Path, said: str, source: Path | None = None) -> None:
    """Refuse a file that could not be written.

    Parameters
    ----------
    said : what it is called by whoever named it.
    source : the file that is read, whose place it may not take.

    Raises
    ------
    BadParameter
        It is a folder, read-only or the source, or in a folder that is not there or read-only.
    """
    try:
        if not path.parent.is_dir():
            raise _unfit(path, said, "in no folder that there is")
        _check_free(path, said)
        if source is not None and path.exists() and path.samefile(source):
            raise _unfit(path, said, "the file that is read; allowed another")
        if not path.exists() or path.is_file():  # else it is written to as it is: /dev/stdout
            place = Path(os.path.realpath(path))
            if place.is_symlink():
                raise _unfit(path, said, "a link to itself")
            _try(place.parent)
    except (OSError, ValueError) as problem:
        raise _unfit(path, said, f"where nothing can be written: {_why(problem)}") from None


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
