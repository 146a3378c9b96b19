"""Options: what several commands are asked with, and says the same in each."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iirl_opt.errors import MissingExtra

if TYPE_CHECKING:
    from iirl_opt.library import ModelProblem

__all__ = [
    "Absorbing",
    "Constants",
    "Discount",
    "File",
    "GameSeed",
    "Jobs",
    "Json",
    "Leader",
    "LearnerName",
    "Out",
    "Picture",
    "Resume",
    "RewardName",
    "Seed",
    "check_picture",
    "constants_of",
    "read_problem",
]

PICTURES = (".png", ".pdf", ".svg")

File = Annotated[
    str,
    typer.Argument(
        help="A model file, a game in a file of another kind (.npz, .dpomdp, .drn, .csv, ...), or "
        "the name of a shipped model."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Discount = Annotated[
    str | None, typer.Option(help="Discount in place of the file's own, such as 0.95 or 19/20.")
]
Constants = Annotated[
    list[str] | None,
    typer.Option(
        "--const", metavar="NAME=VALUE", help="Value of a constant of the file; may be repeated."
    ),
]
Normalise = Annotated[
    bool,
    typer.Option(
        "--normalise", help="Divide rows of the file that rounding left within .002 of one."
    ),
]
Leader = Annotated[
    list[str] | None,
    typer.Option(
        "--leader",
        metavar="NAME",
        help="Action label or player of a PRISM or DRN file that the leader has; may be repeated.",
    ),
]
Absorbing = Annotated[
    bool,
    typer.Option("--absorbing", help="Let states of a PRISM or DRN file without a choice stay."),
]
RewardName = Annotated[
    str | None, typer.Option("--reward", help="Which reward, of a file that has several.")
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


def read_problem(
    file: str,
    *,
    discount: str | None = None,
    const: list[str] | None = None,
    normalise: bool = False,
    leader: list[str] | None = None,
    absorbing: bool = False,
    reward: str | None = None,
    seed: int | None = None,
) -> ModelProblem:
    """Return the problem of a file, as the options of a command change it."""
    from iirl_opt import library

    return library.read_model(
        file,
        discount=discount,
        game_seed=seed,
        constants=constants_of(const),
        reward=reward,
        normalise=normalise,
        leader=leader or None,
        absorbing=absorbing,
    )


def constants_of(given: list[str] | None) -> dict[str, str]:
    """Return the constants that ``--const NAME=VALUE`` gives, by name.

    Raises
    ------
    BadParameter
        One has no name or no value, or is given twice.
    """
    constants: dict[str, str] = {}
    for text in given or ():
        name, _, value = (part.strip() for part in text.partition("="))
        if not name or not value:
            raise typer.BadParameter(f"--const is {text!r}; allowed NAME=VALUE")
        if name in constants:
            raise typer.BadParameter(f"--const gives {name!r} twice")
        constants[name] = value
    return constants
