"""Grid games: mazes whose doors the leader opens (paper, Section 5 and Figure 1).

A maze is a text of one character a cell: ``#`` a wall, ``.`` or a blank a free cell, ``S`` a
start, a digit or another named character a *prize*. The follower moves a cart N, E, S or W; the
leader chooses which doors of the cart's cell are unlocked for this one step. With probability
``1 − slip`` the cart makes the move if its door is open and stays if it is locked; with
probability `slip` it moves in a direction drawn uniformly, whatever the doors. A step into a wall
or over the border leaves it where it is.

A prize is a reward of its cell. Where prizes *vanish*, the state holds the prizes that are left:
one copy of the cells, a *layer*, for each of the 2^k sets; a step from a prize's cell, staying
included, leads into the layer without it, so that each prize is paid once.

All probabilities are rational.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import told
from iirl_opt.checks import FLAG, MAPPING, checked
from iirl_opt.errors import InvalidArgument
from iirl_opt.game.grid_text import (
    DIRECTIONS,
    PrizeRule,
    characters,
    read_doors,
    read_prizes,
    read_slip,
    read_text,
)
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.moves import following_layers, neighbours_of, prize_layers, row_weights
from iirl_opt.printing.table import safe
from iirl_opt.spelling import allowed_names

__all__ = ["GridGame", "grid_game"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

Cell = tuple[int, int]
ARROWS = ("↑", "→", "↓", "←")
DASHED_ARROWS = ("⇡", "⇢", "⇣", "⇠")


@dataclass(frozen=True, eq=False)
class GridGame:
    """A game on a grid, its reward, and what a picture of it needs; unpacks as (game, reward).

    Attributes
    ----------
    game : the two-agent MDP; state ``layer · n + cell`` for n cells, in row order.
    reward : the prizes that are left, shape (S,).
    text : the rows of the grid, one character a cell.
    prizes : ``{(row, column): value}``.
    cells : row and column of each state's cell, integers of shape (S, 2).
    layers : the characters of the prizes left in each layer; a single layer unless they vanish.

    Examples
    --------
    >>> from iirl_opt import grid_game
    >>> maze = grid_game("S.1", discount="9/10")
    >>> maze.text, maze.prizes, maze.layers
    (('S.1',), {(0, 2): 1.0}, ('1', ''))
    """

    game: TwoAgentMDP
    reward: Array
    text: tuple[str, ...]
    prizes: Mapping[Cell, float]
    cells: Integers
    layers: tuple[str, ...]

    def __post_init__(self) -> None:
        self.reward.flags.writeable = self.cells.flags.writeable = False

    def __iter__(self) -> Iterator[Any]:
        yield self.game
        yield self.reward

    @property
    def rows(self) -> int:
        """The number of rows of the grid."""
        return len(self.text)

    @property
    def columns(self) -> int:
        """The number of columns of the grid."""
        return len(self.text[0])

    @property
    def walls(self) -> NDArray[np.bool_]:
        """Which cells are walls, shape (rows, columns)."""
        return np.asarray(characters(self.text) == "#")

    @property
    def starts(self) -> tuple[Cell, ...]:
        """The cells in which the game may start."""
        return tuple((int(r), int(c)) for r, c in self.cells[self.game.start > 0])

    def render(
        self,
        leader: ArrayLike | None = None,
        follower: ArrayLike | None = None,
        *,
        left: str | None = None,
    ) -> str:
        """Return the grid as text: each cell, the leader's open doors there, the follower's move.

        An action that is most probable but not certain is written small: lower-case doors, a
        dashed arrow; ``?`` where several are most probable.

        Parameters
        ----------
        leader, follower : policies of shape (S, A) and (S, B).
        left : the layer to show, by the prizes left in it (``"13"``); all of them by default.

        Raises
        ------
        InvalidPolicy, InvalidArgument
            No policy of this game; no such layer.

        Examples
        --------
        >>> import numpy as np
        >>> maze = grid_game(["..1", "S#."], discount=0.9, slip="1/5")
        >>> print(maze.render())
        . . 1
        S # .
        >>> print(maze.render(follower=np.eye(4)[[1] * maze.game.n_states]))
        .→  .→  1→
        S→  ##  .→
        """
        left = self.layers[0] if left is None else left
        if left not in self.layers:
            raise InvalidArgument("left", f"is {left!r}", f"one of {self.layers}", left)
        n = self.game.n_states // len(self.layers)
        first = self.layers.index(left) * n
        names = [str(name).removeprefix("open ") for name in self.game.leader_actions]
        marks = [""] * n
        if leader is not None:
            pi1 = self.game.check_leader_policy(leader)[first : first + n]
            doors = [_mark(row, names, [name.lower() for name in names]) for row in pi1]
            width = max(map(len, doors))
            marks = [mark.ljust(width) for mark in doors]
        if follower is not None:
            pi2 = self.game.check_follower_policy(follower)[first : first + n]
            marks = [m + _mark(p, ARROWS, DASHED_ARROWS) for m, p in zip(marks, pi2, strict=True)]
        mark_of = {(int(r), int(c)): m for (r, c), m in zip(self.cells[:n], marks, strict=True)}

        def show(r: int, c: int) -> str:
            symbol = self.text[r][c]
            if symbol == "#":
                return "#" * (1 + len(marks[0]))
            free = symbol == " " or ((r, c) in self.prizes and symbol not in left)
            return ("." if free else symbol) + mark_of[r, c]

        gap = "  " if marks[0] else " "
        lines = (gap.join(show(r, c) for c in range(self.columns)) for r in range(self.rows))
        return "\n".join(line.rstrip() for line in lines)

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        values = tuple(self.prizes.values())
        return told(self, f"{self.rows}×{self.columns} cells, prizes {values}", repr(self.game))

    def _repr_html_(self) -> str:
        return f"<pre>{safe(self.render())}</pre>{self.game._repr_html_()}"


@checked(prizes=MAPPING, wall_states=FLAG)
def grid_game(
    text: str | Sequence[str],
    *,
    discount: Any,
    slip: Any = 0,
    doors: Literal["pairs", "open"] | Sequence[str] = "pairs",
    prizes: Mapping[str, Any] | None = None,
    prize_rule: PrizeRule = "vanish",
    wall_states: bool = False,
) -> GridGame:
    """Return the game on a grid that is drawn as text.

    States are labelled ``"(row,column)"``, counted from 0 at the top left, followed by the prizes
    left where they vanish: ``"(3,3) 123"``. The start is uniform over the
    cells marked ``S``, or over all that are no walls where none is.

    Parameters
    ----------
    text : the rows, or one string of lines; empty lines at either end are dropped, blanks never.
    discount : 0 ≤ γ < 1, a float, Fraction or string such as ``"9/10"``.
    slip : the probability that the cart moves at random, 0 ≤ slip ≤ 1.
    doors : the leader's actions, each the doors it opens: ``"pairs"`` is all six pairs of doors,
        ``"open"`` the one action that opens all four; or a sequence such as ``("", "N", "NESW")``.
        Labels are ``"open NE"``, directions in the order N, E, S, W.
    prizes : ``{character: value}``, added to the digits, whose value is their own.
    prize_rule : ``"vanish"`` pays a prize once; ``"stay"`` at every step in its cell;
        ``"absorb"`` makes its cell absorbing and pays for ever.
    wall_states : whether walls are states too, which can be left but not entered, so that all
        grids of one size have the same states.

    Raises
    ------
    InvalidArgument
        A ragged text (names line and length), an unknown character (names line and column), a
        vanishing prize whose character stands twice, or an argument out of its range.
    InvalidGame
        The discount.

    **Source** paper, Section 5, Maze-Maker, of which this is the generalisation.
    **Cost** arithmetic.

    Examples
    --------
    >>> game, reward = grid_game(["S.#", "#.1"], discount="9/10")
    >>> game
    TwoAgentMDP(8 states, 6×4 actions, discount=0.9, 192 transitions, rational)
    >>> game.states[:4], game.states[-1]
    (('(0,0) 1', '(0,1) 1', '(1,1) 1', '(1,2) 1'), '(1,2)')
    """
    rules = get_args(PrizeRule)
    if prize_rule not in rules:
        allowed = f"one of {allowed_names(prize_rule, rules)}"
        raise InvalidArgument("prize_rule", f"is {prize_rule!r}", allowed, prize_rule)
    worth = read_prizes(prizes or {})
    lines = read_text(text, worth)
    picture = characters(lines)
    cells = np.argwhere((picture != "#") | wall_states)
    symbols = picture[tuple(cells.T)]
    values = np.array([worth.get(symbol, 0.0) for symbol in symbols])
    valued = np.flatnonzero(np.isin(symbols, list(worth)))
    valued = valued[np.argsort(symbols[valued], kind="stable")]
    neighbours = neighbours_of(cells, picture != "#")
    if prize_rule == "absorb":
        neighbours[:, valued] = valued
    vanishing = valued if prize_rule == "vanish" else valued[:0]
    left = prize_layers(symbols[vanishing])
    opened = read_doors(doors)

    reward = np.tile(values, (len(left), 1))
    reward[:, vanishing] = np.where(left, values[vanishing], 0.0)
    starts = symbols == "S" if (symbols == "S").any() else symbols != "#"
    labels = ["".join(symbols[vanishing[row]]) for row in left]
    game = TwoAgentMDP(
        row_weights(
            neighbours, opened, read_slip(slip), following_layers(left, vanishing, len(cells))
        ),
        discount,
        np.concatenate([starts, np.zeros(reward.size - starts.size)]).astype(np.int64),
        states=[f"({r},{c}) {label}".rstrip() for label in labels for r, c in cells.tolist()],
        leader_actions=[f"open {names}" if names else "shut" for names in opened],
        follower_actions=DIRECTIONS,
    )
    return GridGame(
        game=game,
        reward=reward.ravel(),
        text=lines,
        prizes=dict(zip(map(tuple, cells[valued].tolist()), values[valued].tolist(), strict=True)),
        cells=np.tile(cells, (len(left), 1)),
        layers=tuple(labels) if vanishing.size else ("".join(dict.fromkeys(symbols[valued])),),
    )


def _mark(probabilities: Array, certain: Sequence[str], likely: Sequence[str]) -> str:
    """Return the mark of the most probable action: certain, merely likely, or ``?`` if tied."""
    best = np.flatnonzero(probabilities >= probabilities.max() - 1e-9)
    if best.size > 1:
        return "?"
    names = certain if probabilities[best[0]] > 1 - 1e-9 else likely
    return names[int(best[0])]
