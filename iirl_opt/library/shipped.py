"""Where model files are: the shipped ones by their names, all others by their paths."""

from __future__ import annotations

from pathlib import Path

import iirl_opt
from iirl_opt.checks import PATH, checked
from iirl_opt.errors import FileProblem

__all__ = ["find_model", "shipped_models"]


def shipped_models() -> Path:
    """Return the folder of the shipped model files: the checkout's own, or the installed copy."""
    package = Path(iirl_opt.__file__).parent
    checkout = package.parent / "models"
    return checkout if (checkout / "README.md").is_file() else package / "models"


@checked(name=PATH)
def find_model(name: str | Path) -> Path:
    """Return the path of a model file: a path as it is, a bare name from the shipped ones.

    Raises
    ------
    FileProblem
        There is no such file.
    """
    path = Path(name)
    if path.is_file():
        return path
    if path.name == str(name) and not path.suffix:
        folder = shipped_models()
        matches = sorted(folder.glob(f"**/{path.name}.toml"))
        if matches:
            return matches[0]
        known = ", ".join(sorted(file.stem for file in folder.glob("**/*.toml")))
        raise FileProblem(path, f"is neither a file nor a shipped model (shipped: {known})")
    raise FileProblem(path, _what_it_is(path))


def _what_it_is(path: Path) -> str:
    """Say why there is no file to read at a path."""
    if path.is_dir():
        return "is a folder"
    return "is no ordinary file" if path.exists() else "no such file"
