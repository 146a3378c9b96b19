"""Options: what several commands are asked with, and says the same in each."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from iirl_opt.errors import MissingExtra

__all__ = [
    "Discount",
    "File",
    "GameSeed",
    "Jobs",
    "Json",
    "LearnerName",
    "Out",
    "Picture",
    "Resume",
    "Seed",
    "check_picture",
]

PICTURES = (".png", ".pdf", ".svg")

File = Annotated[
    str, typer.Argument(help="A model file, a .dpomdp file, or the name of a shipped model.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Discount = Annotated[
    str | None, typer.Option(help="Discount in place of the file's own, such as 0.95 or 19/20.")
]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed in place of the file's own.")]
GameSeed = Annotated[
    int | None,
    typer.Option("--seed", min=0, help="Seed of a random game in place of the file's own."),
]
Out = Annotated[Path | None, typer.Option(help="Folder for the result files.")]
Picture = Annotated[
    Path | None,
    typer.Option("--plot", help="File (png, pdf, svg) for the main picture: regret, or chains."),
]
LearnerName = Annotated[
    str | None,
    typer.Option("--learner", help="algorithm-1, active, ... in place of the file's own."),
]
Jobs = Annotated[int, typer.Option(min=1, help="Processes.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in the folder.")]


def check_picture(path: Path | None) -> None:
    """Refuse a picture that could not be written, before anything is computed.

    Raises
    ------
    BadParameter
        It names no picture, or is in a folder that is not there.
    MissingExtra
        There is no matplotlib.
    """
    if path is None:
        return
    if path.suffix not in PICTURES:
        raise typer.BadParameter(f"--plot is {str(path)!r}; allowed names in {', '.join(PICTURES)}")
    if not path.parent.is_dir():
        raise typer.BadParameter(f"--plot is {str(path)!r}, in no folder that there is")
    if find_spec("matplotlib") is None:
        raise MissingExtra("--plot", "plot")
