"""Where model files are: the shipped ones by their names, all others by their paths."""

from __future__ import annotations

import tomllib
from errno import ELOOP
from itertools import islice
from pathlib import Path

import iirl_opt
from iirl_opt.checks import PATH, checked
from iirl_opt.errors import FileProblem
from iirl_opt.spelling import nearest

__all__ = ["find_model", "nearest_file", "shipped_by_name", "shipped_models", "shipped_titles"]

_MANY = 10_000  # names of a folder among which the nearest is looked for


def shipped_models() -> Path:
    """Return the folder of the shipped model files: the checkout's own, or the installed copy.

    **Cost** one look at the file system.

    Examples
    --------
    >>> shipped_models().name, (shipped_models() / "learning" / "two-rooms.toml").is_file()
    ('models', True)
    """
    package = Path(iirl_opt.__file__).parent
    checkout = package.parent / "models"
    return checkout if (checkout / "README.md").is_file() else package / "models"


def shipped_by_name() -> dict[str, Path]:
    """Return the shipped model files by their names, in alphabetical order."""
    found = {file.stem: file for file in shipped_models().glob("**/*.toml")}
    return dict(sorted(found.items()))


def shipped_titles() -> list[dict[str, str]]:
    """Return name, family and title of each shipped model."""
    listed = []
    for name, path in shipped_by_name().items():
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        listed.append(
            {"name": name, "family": tables["question"]["family"], "title": tables["title"]}
        )
    return listed


@checked(name=PATH)
def find_model(name: str | Path) -> Path:
    """Return the path of a model file: a path as it is, a bare name from the shipped ones.

    Raises
    ------
    FileProblem
        There is no such file: says which has the nearest name.

    **Cost** one look through the folder of shipped models.

    Examples
    --------
    >>> find_model("two-rooms").name
    'two-rooms.toml'
    """
    path = Path(name)
    if path.is_file():
        return path
    bare = path.name == str(name)
    if bare and not path.suffix and (model := shipped_by_name().get(path.name)):
        return model
    if path.is_dir():
        raise FileProblem(path, "is a folder: give a file of it; iirl-opt check takes folders")
    if path.exists():
        raise FileProblem(path, "is no ordinary file")
    # The name of a file is no model's, unless somebody wrote a model's as if it were a file.
    named = bare and (not path.suffix or path.stem in shipped_by_name())
    said = "neither a file nor a shipped model" if bare and not path.suffix else "no such file"
    more = " (iirl-opt show lists all models)" if named else ""
    raise FileProblem(path, f"{said}{nearest_file(path, models=named)}{more}")


def nearest_file(path: Path, *, models: bool = False) -> str:
    """Say which file, or shipped model, has the name nearest to one that is not there."""
    if path.is_symlink():
        return f"; it is a link to {_end_of(path)}"
    there: dict[str, str] = {}  # what to write, by the name that is compared
    folder = path.parent
    if not folder.is_dir():
        up = next(above for above in folder.parents if above.is_dir())
        lost = folder.relative_to(up).parts[0]
        if (up / lost).is_symlink() and not (up / lost).exists():
            return f": {up / lost} is a link to {_end_of(up / lost)}"
        inside = nearest(lost, (entry for entry in _entries(up) if (up / entry).is_dir()))
        hint = "" if inside is None else f"; the nearest is {up / inside}"
        return f": there is no folder {up / lost}{hint}"
    if models:
        for name in shipped_by_name():
            there |= {name: name, f"{name}.toml": name}
    there |= {name: str(folder / name) for name in _entries(folder)}
    near = nearest(path.name, there)
    if near is None:
        near = nearest(path.name, stems := {Path(name).stem: there[name] for name in there})
        there |= stems
    return "" if near is None else f"; the nearest is {there[near]}"


def _end_of(link: Path) -> str:
    """Say where a link leads that leads to no file."""
    try:
        link.stat()
    except OSError as problem:
        if problem.errno == ELOOP:
            return "itself, in a circle of links"
    return f"{link.readlink()}, which is not there"


def _entries(folder: Path) -> list[str]:
    """Return some names that are in a folder: all, unless there are very many."""
    try:
        return sorted(entry.name for entry in islice(folder.iterdir(), _MANY))
    except OSError:
        return []
