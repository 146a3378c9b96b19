"""Usage errors in a line: what was given, what was meant by it, and where all is listed.

They come from typer, which shows them in four lines or a box, with names that merely share a
letter. Here the nearest name is the one that `iirl_opt.spelling` finds everywhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import typer

from iirl_opt.spelling import nearest

__all__ = ["PROGRAM", "USAGE", "refuse_empty", "usage_error"]

PROGRAM = "iirl-opt"

# How typer begins to say what a value may be.
SHOULD = "Input should be "

# The ancestor of typer's usage errors, which typer itself does not export.
USAGE: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def usage_error(problem: Any, arguments: Sequence[str], root: Any) -> str:
    """Return what is wrong with how the command was called, in a line.

    Parameters
    ----------
    problem : the error, a `USAGE`.
    arguments : what the command was called with.
    root : the command as typer holds it, with its ``commands`` by their names.
    """
    called = _Called.by(arguments, root)
    option: str = getattr(problem, "option_name", "")
    parameter = getattr(problem, "param", None)
    if hasattr(problem, "possibilities"):
        said = f"no option {_shown(option)}{_meant(option, called.command, root)}"
    elif parameter is not None and problem.message:
        said = _refused(parameter, problem.message, called.own)
    elif called.command is root and called.name is not None:
        said = f"no command {_shown(called.name)}{_meant_by(called.name, root)}"
    else:  # of what is missing there is only this form
        said = _small(getattr(problem, "message", "") or problem.format_message())
    said = " ".join(said.split())
    stop = "" if said.endswith("?") else "."
    return f"{': '.join(called.path)}: {said}{stop} Try '{' '.join(called.path)} --help'"


def refuse_empty(arguments: Sequence[str], root: Any) -> None:
    """Refuse a value without a sign, which would be taken for the folder to work in.

    Raises
    ------
    BadParameter
        One of the values is empty: says of which option, or which word of the command.
    """
    own = _Called.by(arguments, root).own
    for before, word in zip(["", *own], own, strict=False):
        name, equals, value = word.partition("=")
        if name[:2] == "--" and equals and not value:
            raise typer.BadParameter(f"{name} is ''; allowed a text that is not empty")
        if not word:
            what = f"what stands behind {before}" if before else "its first argument"
            raise typer.BadParameter(f"{what} is ''; allowed a text that is not empty")


class _Called(NamedTuple):
    """Which command was called: its path, its own words, and the name that was given for it."""

    command: Any
    path: list[str]
    own: Sequence[str]
    name: str | None

    @classmethod
    def by(cls, arguments: Sequence[str], root: Any) -> _Called:
        """Read it off the arguments: before a command stand options without values."""
        place, name = next(
            ((i, word) for i, word in enumerate(arguments) if not word.startswith("-")),
            (len(arguments), None),
        )
        own, known = arguments[:place], {word for each in root.params for word in each.opts}
        strange = any(word not in known for word in own)  # which typer says first
        if name in root.commands and not strange:
            return cls(root.commands[name], [PROGRAM, str(name)], arguments[place + 1 :], name)
        # Some options of the root have a value after all: what stands there is no command then.
        return cls(root, [PROGRAM], arguments[: place + 1], None if strange else name)


def _refused(parameter: Any, message: str, own: Sequence[str]) -> str:
    """Return which value of an option is not allowed, and what is."""
    given = list(_given(parameter.opts, own))
    value = f" is {given[-1]!r}" if given else ""
    allowed = message.partition(", unable to parse")[0]
    if allowed.startswith(SHOULD):
        allowed = allowed.removeprefix(SHOULD).replace("a valid integer", "an integer")
        return f"{parameter.opts[0]}{value}; allowed {allowed}"
    return f"{parameter.opts[0]}{value}: {_small(message)}"


def _given(names: Sequence[str], arguments: Sequence[str]) -> Iterator[str]:
    """Yield what an option was given, by any of its names."""
    for word, after in zip(arguments, [*arguments[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if name in names:
            yield value if equals else after


def _meant(option: str, command: Any, root: Any) -> str:
    """Return which option was meant by one that a command does not have, or whose it is."""
    owners = [
        name
        for name, each in root.commands.items()
        if any(option in parameter.opts for parameter in each.params)
    ]
    whose = f", which is an option of {', '.join(owners)}" if owners else ""
    # Without the dashes, which all have in common.
    own = [word.lstrip("-") for each in command.params for word in each.opts if word[:2] == "--"]
    near = nearest(option.lstrip("-"), [*own, "help"])
    return whose if near is None else f"{whose}; did you mean --{near}?"


def _meant_by(name: str, root: Any) -> str:
    """Return which command was meant by a word, or which option of the program."""
    options = {word.lstrip("-"): word for each in root.params for word in each.opts}
    options = {"help": "--help"} | options | {each: each for each in root.commands}
    near = nearest(name, options)
    return "" if near is None else f"; did you mean {options[near]}?"


def _shown(word: str) -> str:
    """Return a word as it was written, unless that would be taken for something else."""
    return word if word.isprintable() and word and " " not in word else repr(word)


def _small(said: str) -> str:
    """Return what typer says, as it goes on within a line of ours."""
    said = said.removeprefix("Value error, ").rstrip(".")
    named = any(letter.isupper() for letter in said.partition(" ")[0][1:])  # TERM, NAME=VALUE
    return said if named else said[:1].lower() + said[1:]
