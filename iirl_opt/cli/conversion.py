"""The command `convert`: a problem from one kind of file to another, and what that loses."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iirl_opt.cli.exit_codes import ANSWERED
from iirl_opt.cli.json_document import head
from iirl_opt.cli.options import (
    NOTHING,
    Asked,
    File,
    Json,
    asking,
)
from iirl_opt.cli.printing import Printer

if TYPE_CHECKING:
    from iirl_opt.formats import FileKind, ImportedGame
    from iirl_opt.library import ModelProblem

__all__ = ["convert"]

# By their names in `iirl_opt.formats.KINDS`, which takes time to import.
KINDS_WRITTEN = "npz, dpomdp, pomdp, drn, explicit, csv, parquet, node-link, model"
MODEL = "model"  # the kind that the library writes, a room above the others


@asking
def convert(
    file: File,
    target: Annotated[Path, typer.Argument(help="File to write; its suffix says of which kind.")],
    to: Annotated[
        str | None,
        typer.Option(help=f"Kind of the file, where its suffix says none: {KINDS_WRITTEN}."),
    ] = None,
    asked: Asked = NOTHING,
    rounded: Annotated[
        bool, typer.Option("--round", help="Let numbers be rounded that the kind cannot hold.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    as_json: Json = False,
) -> int:
    """Write a problem as another kind of file, and say what that kind does not hold.

    What is written is read back first: where it would be another game, nothing is written.
    """
    from iirl_opt import library
    from iirl_opt.formats.comparison import write_compared
    from iirl_opt.formats.kinds import named_kinds

    problem = library.read_model(file, **asked)
    kind = _kind(target, to)
    given = _imported(problem, asked["reward"])
    printer = Printer(as_json, None)
    with printer.progress(name="converting"):
        found, written = write_compared(
            given,
            target,
            partial(_write, problem, given, kind, rounded),
            partial(_read_back, given, kind),
            kind.check_beside,
            rounded=rounded,
            replace=force,
            source=problem.path,
        )
    lost = [*found.lost, *found.rounded, *_left(problem, kind)]
    if kind not in named_kinds(target):
        lost.append(f"its name: nothing reads {target.name} unless it ends in {kind.suffixes[0]}")
    for line in lost:
        typer.echo(f"iirl-opt: {line}", err=True)
    names = [str(path) for path in written]
    document = {**head("convert", problem), "kind": kind.name, "written": names, "lost": lost}
    printer.give(document, name=None, beside=written)
    return ANSWERED


def _kind(target: Path, to: str | None) -> FileKind:
    """Return the kind of the file to write, or say which there are."""
    from iirl_opt.formats.kinds import kind_to_write, named_kind, named_kinds

    kinds = named_kinds(target) if to is None else (named_kind(to),)
    model = [kind for kind in kinds if kind.name == MODEL]
    return model[0] if model else kind_to_write(target, to)


def _imported(problem: ModelProblem, reward: str | None) -> ImportedGame:
    """Return what there is to write of a problem: one reward, where one is asked for."""
    from iirl_opt.formats import ImportedGame

    given = problem.imported
    if given is None:
        rewards = {} if problem.truth is None else {"reward": problem.truth}
        return ImportedGame(problem.game, rewards, source=problem.title)
    return given if reward is None else replace(given, rewards={reward: given.reward(reward)})


def _write(
    problem: ModelProblem, given: ImportedGame, kind: FileKind, rounded: bool, path: Path
) -> None:
    if kind.name == MODEL:
        from iirl_opt import library

        library.write_model(_in_words(problem, given), path)
    else:
        kind.write(given, path, rounded=rounded)


def _in_words(problem: ModelProblem, given: ImportedGame) -> ModelProblem:
    """Return a problem whose model file states the game itself, where people can read that.

    That of a file of another kind would refer to the file: it does if it has more to hold than a
    model file.
    """
    from iirl_opt.formats.kinds import kind_of
    from iirl_opt.library.tables import game_table

    small = len(given.rewards) <= 1 and game_table(problem.game) is not None
    if not small or kind_of(problem.path).name == MODEL:
        return problem
    return replace(problem, stated={})


def _read_back(given: ImportedGame, kind: FileKind, path: Path) -> ImportedGame:
    """Read back what was written, with the discount where the kind has no place for it."""
    if kind.name == MODEL:
        from iirl_opt import library

        found = _imported(library.read_model(path), None)
        # A file that the model file refers to may hold other rewards than the one it names.
        asked = {name: found.rewards[name] for name in given.rewards if name in found.rewards}
        return replace(found, rewards=asked or found.rewards)
    discount = given.game.exact_discount if "discount" in kind.loses else None
    return kind.read(path, discount=discount)


def _left(problem: ModelProblem, kind: FileKind) -> list[str]:
    """Return what else of a problem is not in the file that was written."""
    from iirl_opt.formats.kinds import kind_of

    said = []
    if "discount" in kind.loses:
        said.append(f"discount: {problem.game.exact_discount} is not held: give it (--discount)")
    seen = ("observations", "trajectories", "preferences", "rows", "expect")
    held = (*seen, "prior", "follower_reward", "horizon", "policy", "environment")
    found = {name: getattr(problem, name) for name in held}
    more = [
        name for name, x in found.items() if not (x is None or (isinstance(x, tuple) and not x))
    ]
    if kind.name != MODEL and kind_of(problem.path).name == MODEL:
        said.append(f"of the model file: {', '.join(['question', 'follower', *more])} are lost")
    return said
