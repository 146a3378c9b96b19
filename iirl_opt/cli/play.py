"""The terminal partner: `play` lets a person, or the library's own follower, answer a learner."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from iirl_opt.cli.completion import MAZES, complete_maze, complete_prizes
from iirl_opt.cli.exit_codes import ANSWERED, INTERNAL, INTERRUPTED, NO_ANSWER
from iirl_opt.cli.json_document import head
from iirl_opt.cli.options import Json, Out
from iirl_opt.cli.printing import Printer
from iirl_opt.errors import InvalidArgument, MissingExtra
from iirl_opt.spelling import allowed_names

if TYPE_CHECKING:
    from iirl_opt.play import Session
    from iirl_opt.play.maze import Ranking

__all__ = ["play"]

# Said before what takes time is imported: until the maze is there, nobody reads the keys.
LOADING = "iirl-opt: loading the maze; keys count once it is shown …"


def play(
    maze: Annotated[
        str, typer.Argument(help="Which maze: maze.", autocompletion=complete_maze)
    ] = MAZES[0],
    prizes: Annotated[
        str | None,
        typer.Option(
            metavar="CF",
            help="Let an optimal follower with these two prizes walk in place of you.",
            autocompletion=complete_prizes,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Of the choice among doors that teach alike.")
    ] = 0,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Be the follower: walk to prizes that you alone know, until the leader names them."""
    if maze not in MAZES:
        raise InvalidArgument("maze", f"is {maze!r}", allowed_names(maze, MAZES), maze)
    if prizes is None:
        _check_terminal()
        typer.echo(LOADING, err=True)
    from iirl_opt.play.maze import RANKING

    wanted = None if prizes is None else RANKING("prizes", prizes)
    printer = Printer(as_json, out, ["result.json", "session.toml"])
    from iirl_opt.play import Doorkeeper, PrizeMaze, Session
    from iirl_opt.play.picture import verdict

    sessions = [Session(Doorkeeper(PrizeMaze(), seed))]
    fine = True
    with printer.kept():
        if wanted is None:
            fine = _show(sessions)
        else:
            _walk(sessions, wanted, printer)
    session = sessions[-1]
    count = len(session.learner.rankings)
    line = verdict(session) if session.over else f"not at its end; pairs of prizes left: {count}"
    files = () if out is None else _write_session(session, out)
    printer.give(_document(session, seed), [line], beside=files)
    if not fine:
        return INTERNAL
    if not session.over:
        return INTERRUPTED
    return NO_ANSWER if session.learner.named is None else ANSWERED


def _write_session(session: Session, out: Path) -> Iterator[Path]:
    """Write a session beside its document."""
    from iirl_opt.play.record import write_session

    yield Path(write_session(session, out / "session.toml"))


def _check_terminal() -> None:
    """Refuse to begin where no person can see the maze, or press a key.

    Raises
    ------
    MissingExtra
        There is no textual.
    BadParameter
        Standard input or standard error, where the maze is drawn, is no terminal.
    """
    if find_spec("textual") is None:
        raise MissingExtra("iirl-opt play", "play")
    streams = {"standard input": sys.__stdin__, "standard error": sys.__stderr__}
    for name, stream in streams.items():
        if not _is_terminal(stream):
            raise typer.BadParameter(
                f"{name} is no terminal, and a person plays in one; allowed --prizes CF, with "
                "which an optimal follower walks in place of you"
            )
    if os.environ.get("TERM") in (None, "", "dumb"):
        raise typer.BadParameter("TERM names no terminal that a maze can be drawn in")


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


def _show(sessions: list[Session]) -> bool:
    """Let a person play, and add the session as it stands at the end.

    Returns
    -------
    whether textual came to its end, and was not brought down by what it could not read.

    Raises
    ------
    KeyboardInterrupt
        By a signal from outside: of that textual makes a silent end, without a code; or by the
        end of the terminal.
    """
    from iirl_opt.play.terminal import PlayApp, odd_bytes_as_keys

    app = PlayApp(sessions[-1])
    try:
        with odd_bytes_as_keys():
            app.run()
    except Exception:
        if _is_terminal(sys.__stderr__):
            raise
        # The terminal has gone, which textual tried to put in order all the same.
        raise KeyboardInterrupt from None
    finally:
        if hasattr(signal, "SIGCONT"):  # which textual would still answer, without its loop
            signal.signal(signal.SIGCONT, signal.SIG_DFL)
        sessions.append(app.session)
    if app.return_code is None:
        raise KeyboardInterrupt
    return app.return_code == 0


def _walk(sessions: list[Session], wanted: Ranking, printer: Printer) -> None:
    """Let an optimal follower play, and add the session after each walk."""
    from iirl_opt.play import walk_for
    from iirl_opt.play.picture import walk_words

    while not (session := sessions[-1]).over:
        for direction in walk_for(session, session.maze.reward(wanted)):
            session = session.move(direction)
        sessions.append(session.stay())
        left = len(sessions[-1].learner.rankings)
        said = f"walk {session.round}: {walk_words(session)}; pairs of prizes left: {left}"
        printer.say(said)


def _document(session: Session, seed: int) -> dict[str, Any]:
    """Return the document of a session: its walks, and what the leader made of them."""
    from iirl_opt.observation import Trajectory

    learner, game = session.learner, session.maze.game
    walks = [
        [str(game.follower_actions[b]) for b in seen.follower_actions[:-1]]
        for seen in learner.history
        if isinstance(seen, Trajectory)
    ]
    return {
        **head(
            "play",
            title="maze",
            fingerprint=game.fingerprint,
            discount=game.discount,
            seed=seed,
            complete=session.over,
        ),
        "walks": walks,
        "prizes": learner.named,
        "contradiction": learner.contradiction,
        "rankings": ["".join(ranking) for ranking in learner.rankings],
        "shares": learner.shares(),
    }
