"""The terminal of ``iirl-opt play``: a person walks by keys, and sees what each walk gives away.

Colours are those of the terminal itself, so that dark and light ones can be read; without colour
(``NO_COLOR``) the picture says the same (`iirl_opt.play.picture`). It fits into 60 columns and 21
lines, and says so where there are fewer. Needs textual (the extra ``play``), and writes to standard
error: standard output is left to the command.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Key, Resize
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.widgets import Footer, Static

from iirl_opt.play.picture import Line, letter_lines, maze_lines, record_lines, verdict, walk_words
from iirl_opt.play.session import Session

__all__ = ["PlayApp", "odd_bytes_as_keys"]

STYLES = {
    "plain": "",
    "wall": "dim",
    "door": "dim",
    "way": "bold green",
    "cart": "bold reverse",
    "trail": "bold",
    "prize": "bold",
    "out": "dim",
}

# Columns and lines.
ROOM = (60, 21)

BEGIN = (
    "Choose two letters and keep them to yourself: on your first prize you earn 2 coins a step, "
    "on your second 1 coin. Go where these doors let you earn most, and stay there."
)
HELP = """\
Choose two letters in secret, a first and a second prize:
a step on the first earns 2 coins, on the second 1 coin.

The leader opens two doors of every cell for each walk:
  >  <  ^  v   open, that way only;  a gap: both ways
  | and ---    locked
Go to your first prize if you can get there, else to your
second, and press Enter to stay for good. If you can get
to neither, press Enter at once.

The leader sees where you go, and nothing else. It works
out which letters may still be your prizes, and the share
of all worth that each may have. Small letters are out.
Five walks are enough. If you err, it says which walks
contradict each other.

  arrows, h j k l, w a s d    go
  Enter, Space                stay here for good
  u, Backspace                walk anew, from the start
  q, Ctrl-C                   leave"""


class HelpPage(ModalScreen[None]):
    """The rules, until a key is pressed."""

    def compose(self) -> ComposeResult:
        """Yield the text."""
        yield Static(HELP, id="help", markup=False)

    def on_key(self, event: Key) -> None:
        """Close the page; the key does nothing else."""
        event.stop()
        event.prevent_default()
        self.dismiss()


class PlayApp(App[None]):
    """The game in a terminal.

    Parameters
    ----------
    session : where it begins.

    Attributes
    ----------
    session : where it stands.
    """

    TITLE: str | None = "iirl-opt play"
    ENABLE_COMMAND_PALETTE: ClassVar[bool] = False
    CSS: ClassVar[str] = """
    Screen, Static, Footer, FooterKey, FooterKey:hover { background: ansi_default; }
    Screen, Static, FooterKey .footer-key--description { color: ansi_default; }
    FooterKey .footer-key--key, FooterKey .footer-key--description { background: ansi_default; }
    FooterKey .footer-key--key { color: ansi_green; text-style: bold; }
    #head, #said { height: auto; padding: 0 1; }
    #maze { width: 31; padding: 0 1; }
    #letters { width: 1fr; }
    #maze, #letters { text-wrap: nowrap; }
    #said { min-height: 3; }
    Horizontal { height: auto; }
    HelpPage { align: center middle; }
    #help { width: auto; height: auto; border: solid; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k,w", "go('N')", "Go", key_display="↑↓←→"),
        Binding("down,j,s", "go('S')", show=False),
        Binding("left,h,a", "go('W')", show=False),
        Binding("right,l,d", "go('E')", show=False),
        Binding("enter,space", "stay", "Stay here", key_display="Enter"),
        Binding("u,backspace", "anew", "Walk anew", key_display="u"),
        Binding("question_mark,f1", "help", "Help", key_display="?"),
        Binding("q", "leave", "Leave"),
        Binding("ctrl+c,ctrl+q", "quit", show=False, priority=True),
    ]

    session: Session

    def __init__(self, session: Session) -> None:
        super().__init__(ansi_color=True)
        self.session = session
        self._shares = session.learner.shares()
        self._head = ""

    def compose(self) -> ComposeResult:
        """Yield the head, the maze beside the letters, what is said, and the keys."""
        yield Static(id="head", markup=False)
        with Horizontal():
            yield Static(id="maze", markup=False)
            yield Static(id="letters", markup=False)
        yield Static(id="said", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Show where it begins."""
        self._show(BEGIN)

    def on_resize(self, event: Resize) -> None:
        """Say when there is no room for the maze."""
        self._say_head(event.size)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Return whether a key does anything: but for Ctrl-C, none does beneath the help."""
        return action == "quit" or not isinstance(self.screen, HelpPage)

    def action_go(self, direction: str) -> None:
        """Move the cart, if the door is open."""
        if self.session.over:
            return
        if direction not in self.session.exits:
            ways = "all doors here are locked: Enter stays, u walks anew"
            self._show("That door is locked." if self.session.exits else f"Locked; {ways}.")
            return
        self.session = self.session.move(direction)
        arrived = "Enter stays here for good." if not self.session.exits else ""
        self._show(arrived)

    def action_anew(self) -> None:
        """Put the cart back to the start."""
        if not self.session.over:
            self.session = self.session.back()
            self._show("At the start again.")

    def action_stay(self) -> None:
        """End the walk where the cart stands, and let the leader learn from it; or end the game."""
        if self.session.over:
            self.action_leave()
            return
        walked = walk_words(self.session)
        self.session = self.session.stay()
        self._shares = self.session.learner.shares()
        learner = self.session.learner
        self._show(f"Walk {learner.episode}: {walked}.\n{verdict(self.session)}")

    def action_help(self) -> None:
        """Show the rules."""
        self.push_screen(HelpPage())

    def action_leave(self) -> None:
        """End the game, or leave before its end."""
        self.exit()

    def _say_head(self, size: Size) -> None:
        """Say above the maze how it stands, or that there is no room for it."""
        columns, lines = ROOM
        small = size.width < columns or size.height < lines
        room = f"This takes {columns} columns and {lines} lines: enlarge the window."
        self.query_one("#head", Static).update(room if small else self._head)

    def _show(self, said: str) -> None:
        learner = self.session.learner
        count = len(learner.rankings)
        now = "The end" if self.session.over else f"Walk {self.session.round}"
        head = f"{now} · {count} of {len(learner.maze.rankings)} pairs of prizes explain your walks"
        self._head = head
        self._say_head(self.size)
        self.query_one("#maze", Static).update(_styled(maze_lines(self.session)))
        letters = [*letter_lines(self.session, self._shares), *record_lines(self.session)]
        self.query_one("#letters", Static).update(_styled(letters))
        self.query_one("#said", Static).update(said)


def _styled(lines: Sequence[Line]) -> Text:
    text = Text(no_wrap=True)
    for i, line in enumerate(lines):
        text.append("\n" if i else "")
        for span in line:
            text.append(span.text, STYLES[span.kind])
    return text


@contextmanager
def odd_bytes_as_keys() -> Iterator[None]:
    """Have textual take bytes that are no UTF-8 for a key that does nothing, in the block.

    They would end its thread that reads the terminal, which has no setting for them.
    """
    driver: Any = None
    with suppress(ImportError):  # where terminals are not of this kind, as on Windows
        from textual.drivers import linux_driver as driver
    strict = getattr(driver, "getincrementaldecoder", None)
    if strict is None:
        yield
        return
    driver.getincrementaldecoder = lambda name: partial(strict(name), errors="replace")
    try:
        yield
    finally:
        driver.getincrementaldecoder = strict
