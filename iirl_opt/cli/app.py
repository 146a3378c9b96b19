"""The command ``iirl-opt``: model files in, answers with their evidence out.

A group of commands is a file: `model_files`, `conversion`, `solving`, `proofs`, `learning`,
`play`, `research`. What they share is another: `options`, `printing`, `json_document`, `sweeps`,
`streams`, `exit_codes`. Nothing that takes time to import is imported before a command needs it.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import cache, wraps
from typing import Annotated, Any, NamedTuple

import typer

from iirl_opt.cli.completion import COMPLETION, of_a_shell
from iirl_opt.cli.conversion import convert
from iirl_opt.cli.exit_codes import ANSWERED, BAD_INPUT, INTERNAL, INTERRUPTED
from iirl_opt.cli.failures import FAILURES, failure, printable
from iirl_opt.cli.learning import learn
from iirl_opt.cli.model_files import export, schema, show
from iirl_opt.cli.play import play
from iirl_opt.cli.printing import ended
from iirl_opt.cli.proofs import recheck, verify
from iirl_opt.cli.research import claims, compare, figure
from iirl_opt.cli.solving import check, solve
from iirl_opt.cli.streams import Process
from iirl_opt.cli.usage import PROGRAM, USAGE, refuse_empty, usage_error
from iirl_opt.versions import version_of, versions_in_words

__all__ = ["app", "main", "run"]

STOPPED = "iirl-opt: interrupted"

app: typer.Typer = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Interactive inverse reinforcement learning as optimisation models.",
)

COMMANDS = (
    learn,
    show,
    solve,
    check,
    convert,
    export,
    schema,
    verify,
    recheck,
    claims,
    figure,
    compare,
    play,
)


class _Answer(NamedTuple):
    """The exit code of a command, which has said why; typer's own codes are bare numbers."""

    code: int


def _heard(command: Callable[..., int]) -> Callable[..., _Answer]:
    """Let a command say that it was interrupted: typer would leave without a word."""

    @wraps(command)
    def heard(**given: Any) -> _Answer:
        try:
            with ended():
                return _Answer(command(**given))
        except KeyboardInterrupt:
            raise typer.Abort from None

    return heard


for _command in COMMANDS:
    app.command()(_heard(_command))


def main() -> None:
    """Run the command and leave with its exit code."""
    process = Process()
    code = None
    with suppress(KeyboardInterrupt), process.prepared():
        code = run(sys.argv[1:], process)
        if process.lost is not None:
            typer.echo(f"iirl-opt: standard output: {process.lost.strerror}", err=True)
    if code is None:  # interrupted when nobody was there to say so
        with suppress(OSError):
            typer.echo(STOPPED, err=True)
    if code in (None, INTERRUPTED):
        code = process.stopped_by
    runs = sys.modules.get("iirl_opt.solver.run")
    if runs is not None and runs.left_to_themselves():
        # A solver that has not heard that it is to stop would be torn down amidst its work.
        os._exit(code)
    # An interrupt within `exec`, as of an import that makes a dataclass, would have Python leave by
    # SIGINT though it is dealt with; another `exec` makes it forget.
    exec("")
    sys.exit(code)


@cache
def _made() -> Any:
    return typer.main.get_command(app)


def _parser(arguments: list[str]) -> Any:
    """Return what typer makes of the app: dear, and the same for all but completion."""
    return typer.main.get_command(app) if arguments[:1] and arguments[0] in COMPLETION else _made()


def run(arguments: list[str], process: Process | None = None) -> int:
    """Run the command on its arguments and return the exit code."""
    try:
        if "" in arguments[1:] or any(word[:2] == "--" and word[-1] == "=" for word in arguments):
            refuse_empty(arguments, _parser(arguments))
        with of_a_shell(arguments):
            answer = _parser(arguments)(arguments, prog_name=PROGRAM, standalone_mode=False)
        if answer == INTERRUPTED:  # before a command began, of which typer says nothing
            raise KeyboardInterrupt
    except USAGE as problem:
        if not arguments:  # the help, which is asked for so, too
            problem.show()
            return BAD_INPUT
        said = usage_error(problem, arguments, _parser(arguments))
        typer.echo(printable(said), err=True)
        return BAD_INPUT
    except (typer.Abort, KeyboardInterrupt):
        typer.echo(STOPPED, err=True)
        return INTERRUPTED
    except FAILURES as problem:
        code, said = failure(problem)
        doing = f"{arguments[0]}: " if arguments[0] in COMPLETION else ""
        typer.echo(f"iirl-opt: {doing}{said}", err=True)
        return code
    except Exception as problem:
        # What a library made of an interrupt within its imports, and then swallowed, may turn up as
        # any error of a module that is half there.
        if _is_of_an_interrupt(problem) or (process is not None and process.heard):
            typer.echo(STOPPED, err=True)
            return INTERRUPTED
        traceback.print_exc()
        typer.echo("iirl-opt: this is a fault of iirl-opt, please report it", err=True)
        return INTERNAL
    if isinstance(answer, _Answer):
        return answer.code
    return BAD_INPUT if answer else ANSWERED  # typer's own 1 is of a shell that it does not know


def _is_of_an_interrupt(problem: BaseException | None) -> bool:
    """Say whether an interrupt brought an error about.

    One that comes while a module is imported may be dressed up: Python 3.11 turns whatever is
    raised within ``__set_name__`` into a `RuntimeError`.
    """
    while problem is not None and not isinstance(problem, KeyboardInterrupt):
        problem = problem.__cause__ or problem.__context__
    return problem is not None


def _say_versions(asked: bool) -> None:
    if asked:
        typer.echo(versions_in_words())
        raise typer.Exit


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"iirl-opt {version_of('iirl-opt')}")
        raise typer.Exit


@app.callback()
def about(
    version_asked: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and leave.", is_eager=True, callback=_say_version
        ),
    ] = False,
    versions_asked: Annotated[
        bool,
        typer.Option(
            "--versions",
            help="Print what a report of a fault should say: versions, machine, extras.",
            is_eager=True,
            callback=_say_versions,
        ),
    ] = False,
) -> None:
    """Interactive inverse reinforcement learning as optimisation models."""
