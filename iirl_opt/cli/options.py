"""Options: what several commands are asked with, and says the same in each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer

from iirl_opt.checkpoint import Beginning
from iirl_opt.cli.completion import complete_learner, complete_model
from iirl_opt.cli.places import check_file
from iirl_opt.errors import MissingExtra

__all__ = [
    "NOTHING",
    "Asked",
    "File",
    "GameSeed",
    "Jobs",
    "Json",
    "LearnerName",
    "Out",
    "Patience",
    "Picture",
    "Restart",
    "Resume",
    "Scheduler",
    "Seed",
    "asking",
    "beginning",
    "check_picture",
]

PICTURES = (".png", ".pdf", ".svg")

# How a file is read: what `library.read_model` takes beside its name.
Asked = Mapping[str, Any]
NOTHING: Asked = MappingProxyType({})

File = Annotated[
    str,
    typer.Argument(
        help="A model file, a game in a file of another kind (.npz, .dpomdp, .drn, .csv, ...), or "
        "the name of a shipped model.",
        autocompletion=complete_model,
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
    typer.Option(
        "--learner",
        help="algorithm-1, active, ... in place of the file's own.",
        autocompletion=complete_learner,
    ),
]
Jobs = Annotated[int, typer.Option(min=1, help="Processes.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in the folder.")]
Restart = Annotated[
    bool,
    typer.Option(
        "--restart", help="Begin anew, and drop the unfinished run that is in the folder."
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="Of a Dask scheduler, whose workers compute in place of processes."
    ),
]
Patience = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="How long a cluster may be without any worker; 60 if not given.",
        show_default=False,
    ),
]


def check_picture(path: Path | None) -> None:
    """Refuse a picture that could not be written, before anything is computed.

    Raises
    ------
    BadParameter
        It names no picture, or cannot be written.
    MissingExtra
        There is no matplotlib.
    """
    if path is None:
        return
    if path.suffix not in PICTURES:
        raise typer.BadParameter(f"--plot is {str(path)!r}; allowed names in {', '.join(PICTURES)}")
    check_file(path, "--plot")
    if find_spec("matplotlib") is None:
        raise MissingExtra("--plot", "plot")


def beginning(checkpoint: Path | None, *, resume: bool, restart: bool) -> Beginning:
    """Return how a checkpoint is begun by these options.

    Raises
    ------
    BadParameter
        Both are given, or there is no folder for a checkpoint.
    """
    if resume and restart:
        raise typer.BadParameter("--resume stands beside --restart; allowed one of them")
    if (resume or restart) and checkpoint is None:
        name = "--resume" if resume else "--restart"
        raise typer.BadParameter(f"{name} with --json needs the folder, --out DIR")
    return "resume" if resume else "restart" if restart else "new"


def asking(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options that say how its file is read.

    They stand in the place of its argument `asked`, which `library.read_model` takes.
    """
    own = signature(command, eval_str=True)
    options = signature(_asked, eval_str=True).parameters

    @wraps(command)
    def run(**given: Any) -> int:
        asked = _asked(**{name: given.pop(name) for name in options})
        return command(**given, asked=asked)

    parameters = [
        part
        for name, parameter in own.parameters.items()
        for part in (options.values() if name == "asked" else (parameter,))
    ]
    run.__annotations__ = {part.name: part.annotation for part in parameters}
    run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


def _asked(
    discount: Discount = None,
    const: Constants = None,
    normalise: Normalise = False,
    leader: Leader = None,
    absorbing: Absorbing = False,
    reward: RewardName = None,
) -> Asked:
    """Return what the options say to `library.read_model`."""
    return {
        "discount": discount,
        "constants": _constants(const),
        "normalise": normalise,
        "leader": leader or None,
        "absorbing": absorbing,
        "reward": reward,
    }


def _constants(given: list[str] | None) -> dict[str, str]:
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
