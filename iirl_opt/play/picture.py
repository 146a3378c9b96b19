"""A session as text: the maze with its doors, and what each letter may still be worth.

A line is a list of spans, each a text and its *kind*, which a terminal gives a style to: ``wall``,
``way`` (an open door that the cart can get to), ``door`` (another one, or a locked one), ``cart``,
``trail``, ``prize`` (a letter that may be one), ``out`` (one that is none), ``plain``. Without any
style the text says the same: letters that are out are small.

An open door is an arrow, or a gap where it is open both ways; a locked one is a line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from iirl_opt.observation import Trajectory
from iirl_opt.play.session import Session

__all__ = [
    "Span",
    "letter_lines",
    "maze_lines",
    "record_lines",
    "text_of_lines",
    "verdict",
    "walk_words",
]

WALL, BAR = "░", 8
ARROWS = {"N": "^", "E": ">", "S": "v", "W": "<"}
WORDS = {"N": "north", "E": "east", "S": "south", "W": "west"}

Cell = tuple[int, int]


class Span(NamedTuple):
    """A text and its kind."""

    text: str
    kind: str = "plain"


Line = list[Span]


def text_of_lines(lines: Sequence[Line]) -> str:
    """Return lines as plain text."""
    return "\n".join("".join(span.text for span in line).rstrip() for line in lines)


def maze_lines(session: Session) -> list[Line]:
    """Return the picture of the maze: 15 lines of 29 characters."""
    drawn = _Drawing(session)
    grid = session.maze.grid
    lines = []
    for r in range(grid.rows + 1):
        edge = [Span(WALL, "wall")]
        for c in range(grid.columns):
            edge += [drawn.across((r - 1, c), (r, c)), drawn.corner(r, c + 1)]
        lines.append(edge)
        if r < grid.rows:
            row = [drawn.beside((r, -1), (r, 0))]
            for c in range(grid.columns):
                row += [drawn.inside((r, c)), drawn.beside((r, c), (r, c + 1))]
            lines.append(row)
    return lines


def letter_lines(session: Session, shares: Mapping[str, tuple[float, float]] | None) -> list[Line]:
    """Return a line a letter: its least and largest share of all worth, and which prize it may be.

    Parameters
    ----------
    shares : of `Doorkeeper.shares`; None where nothing explains the walks.
    """
    rankings = session.learner.rankings
    lines = [[Span("   share of worth    may be")]]
    for letter in session.maze.letters:
        places = [letter in firsts for firsts in zip(*rankings, strict=True)] or [False, False]
        kind = "prize" if any(places) else "out"
        low, high = (0.0, 0.0) if shares is None else shares[letter]
        sure, most = (round(BAR * share) for share in (low, high))
        bar = "█" * sure + "▒" * (most - sure) + "·" * (BAR - most)
        named = zip(("1st", "2nd"), places, strict=True)
        may = " ".join(name if possible else "   " for name, possible in named)
        span = f"{100 * low:3.0f}-{100 * high:.0f}%".ljust(8)
        lines.append([Span(f" {letter if any(places) else letter.lower()} ", kind)])
        lines[-1] += [Span(f"{bar} {span} {may}".rstrip(), kind)]
    return lines


def record_lines(session: Session) -> list[Line]:
    """Return a line a walk that is over: where it ended."""
    game, maze = session.maze.game, session.maze
    at = {state: letter for letter, state in maze.states.items()}
    lines = []
    for number, seen in enumerate(session.learner.history, start=1):
        end = int(seen.states[-1]) if isinstance(seen, Trajectory) else maze.start
        where = f"to {at[end]}" if end in at else f"stayed in {game.states[end]}"
        lines.append([Span(f" walk {number}: {'stayed at S' if end == maze.start else where}")])
    return lines


def walk_words(session: Session) -> str:
    """Return the walk under way in words: ``"north, north, west to A"``; ``"nowhere"``."""
    at = {state: letter for letter, state in session.maze.states.items()}.get(session.cart)
    moves = ", ".join(WORDS[direction] for direction in session.walk)
    return (moves or "nowhere") + (f" to {at}" if at else "")


def verdict(session: Session) -> str:
    """Return what the leader says after a walk."""
    learner = session.learner
    if learner.named is not None:
        first, second = learner.named
        return f"Your prizes are {first}, then {second}: no other two explain your walks."
    if learner.contradiction is not None:
        walks = " and ".join(map(str, learner.contradiction))
        several = len(learner.contradiction) > 1
        said = f"walks {walks} together" if several else f"walk {walks}"
        return f"No two prizes explain {said}: they contradict each other."
    return "Now with other doors."


class _Drawing:
    """What is drawn in the cells of a maze, and between them.

    Attributes
    ----------
    reached : the states that the open doors lead to.
    """

    reached: set[int]

    def __init__(self, session: Session) -> None:
        grid = session.maze.grid
        self.session = session
        self.state = {(int(r), int(c)): s for s, (r, c) in enumerate(grid.cells)}
        self.letter = {state: letter for letter, state in session.maze.states.items()}
        self.reached, todo = set(), [session.maze.start]
        while todo:
            state = todo.pop()
            if state not in self.reached:
                self.reached.add(state)
                todo += session.ways[state].values()
        self.trail = set(pairwise(session.states))

    def inside(self, cell: Cell) -> Span:
        """Return what is in a cell, three characters."""
        if cell not in self.state:
            return Span(WALL * 3, "wall")
        state, learner = self.state[cell], self.session.learner
        letter = self.letter.get(state, "")
        places = [i for ranking in learner.rankings for i in (0, 1) if ranking[i] == letter]
        name = letter if places else letter.lower()
        number = str(places[0] + 1) if learner.named and places else ""
        if state == self.session.cart:
            return Span(f"{name or ' '}@{number or ' '}", "cart")
        if letter:
            return Span(f" {name}{number or ' '}", "prize" if places else "out")
        return Span(" · " if state in self.session.states else "   ", "trail")

    def beside(self, left: Cell, right: Cell) -> Span:
        """Return what is between two cells of a row."""
        return self._between(left, right, "E", "W", "│", 1)

    def across(self, upper: Cell, lower: Cell) -> Span:
        """Return what is between two cells of a column."""
        return self._between(upper, lower, "S", "N", "───", 3)

    def corner(self, r: int, c: int) -> Span:
        """Return what is where four cells meet."""
        around = [(r - i, c - j) in self.state for i in (0, 1) for j in (0, 1)]
        return Span("·", "door") if all(around) else Span(WALL, "wall")

    def _between(
        self, one: Cell, other: Cell, there: str, back: str, shut: str, width: int
    ) -> Span:
        if one not in self.state or other not in self.state:
            return Span(WALL * width, "wall")
        here, ahead = self.state[one], self.state[other]
        opened = [
            (state, direction)
            for state, direction in ((here, there), (ahead, back))
            if direction in self.session.ways[state]
        ]
        if not opened:
            return Span(shut, "door")
        is_way = any(state in self.reached for state, _ in opened)
        if {(here, ahead), (ahead, here)} & self.trail:
            is_way = True
        mark = ARROWS[opened[0][1]] if len(opened) == 1 else " "
        return Span(mark.center(width), "way" if is_way else "door")
