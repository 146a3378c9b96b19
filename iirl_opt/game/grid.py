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
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import FLAG, MAPPING, TEXT, checked, each, whole
from iirl_opt.errors import InvalidArgument
from iirl_opt.exact.numbers import as_fraction
from iirl_opt.game.mdp import TwoAgentMDP

__all__ = ["GridGame", "grid_game", "introductory_game", "introductory_mazes", "maze_maker"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Cell = tuple[int, int]
PrizeRule = Literal["vanish", "stay", "absorb"]

RESERVED = "#. S"
DIRECTIONS = "NESW"
STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))
ARROWS = ("↑", "→", "↓", "←")
DASHED_ARROWS = ("⇡", "⇢", "⇣", "⇠")
MOST_VANISHING = 12
LARGEST_DENOMINATOR = 10**15

PAPER_PRIZES: Mapping[int, int] = MappingProxyType({36: 1, 13: 2, 47: 3})
# The dark cells of Figure 1(a), whose coordinates count columns from the left, rows from below.
PAPER_MAZES = ("...1\nS###\n....", ".##1\nS...\n..#.", "..#1\nS##.\n....")


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
        return np.asarray(_characters(self.text) == "#")

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
        return f"GridGame({self.rows}×{self.columns} cells, prizes {values}, {self.game})"


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
        raise InvalidArgument("prize_rule", f"is {prize_rule!r}", f"one of {rules}", prize_rule)
    worth = _prize_values(prizes or {})
    lines = _read_text(text, worth)
    picture = _characters(lines)
    cells = np.argwhere((picture != "#") | wall_states)
    symbols = picture[tuple(cells.T)]
    values = np.array([worth.get(symbol, 0.0) for symbol in symbols])
    valued = np.flatnonzero(np.isin(symbols, list(worth)))
    valued = valued[np.argsort(symbols[valued], kind="stable")]
    neighbours = _neighbours(cells, picture != "#")
    if prize_rule == "absorb":
        neighbours[:, valued] = valued
    vanishing = valued if prize_rule == "vanish" else valued[:0]
    left = _layers(symbols[vanishing])
    opened = _read_doors(doors)

    reward = np.tile(values, (len(left), 1))
    reward[:, vanishing] = np.where(left, values[vanishing], 0.0)
    starts = symbols == "S" if (symbols == "S").any() else symbols != "#"
    labels = ["".join(symbols[vanishing[row]]) for row in left]
    game = TwoAgentMDP(
        _kernel(neighbours, opened, _read_slip(slip), _following(left, vanishing, len(cells))),
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


@checked(size=whole(1), prizes=MAPPING)
def maze_maker(
    size: int = 7,
    start: int | None = None,
    prizes: Mapping[int, Any] = PAPER_PRIZES,
    slip: Any = "1/5",
    discount: Any = "9/10",
) -> GridGame:
    """Return Maze-Maker: the cart, the doors and the vanishing prizes of the paper's experiments.

    From the paper: the 7×7 cells, three prizes of +1, +2 and +3 that vanish, hence 49 · 8 = 392
    states; the leader's six pairs of doors; the follower's four moves; success with probability
    0.8, else a random neighbour; discount 0.9; the start in the centre. From the authors' code,
    where the paper is silent: the prizes' cells 36, 13 and 47; the slip as 0.05 a direction,
    doors or not, and staying put at the border; the prize as the reward of its cell's state, from
    which every step leads into the layer without it; the order of actions and of layers (all
    prizes; without 1, 2, 3; without 12, 13, 23; none).

    Parameters
    ----------
    size : the number of rows and of columns.
    start : the cell of the start, counted in row order from 0; the centre by default.
    prizes : ``{cell: value}``, shown as ``1``, ``2``, … in this order; at most nine.
    slip, discount : see `grid_game`.

    Raises
    ------
    InvalidArgument
        A cell outside the grid, a start on a prize, or what `grid_game` refuses.

    **Source** paper, Section 5 and the appendix on Maze-Maker. **Cost** arithmetic.

    Examples
    --------
    >>> maze = maze_maker()
    >>> maze.game
    TwoAgentMDP(392 states, 6×4 actions, discount=0.9, 39264 transitions, rational)
    >>> game, truth = maze_maker(size=5, prizes={6: 1, 18: 2})
    >>> game.states[12]
    '(2,2) 12'
    """
    start = size // 2 * (size + 1) if start is None else start
    if len(prizes) > 9:
        raise InvalidArgument("prizes", f"are {len(prizes)}", "at most 9", prizes)
    names = {cell: str(i) for i, cell in enumerate(prizes, start=1)}
    for what, cell in (("start", start), *(("prize cell", cell) for cell in prizes)):
        if not isinstance(cell, int | np.integer) or not 0 <= cell < size**2:
            raise InvalidArgument(what, f"is {cell!r}", f"0 … {size**2 - 1}", cell)
    if start in names:
        raise InvalidArgument("start", f"is {start}, where a prize is", "a free cell", start)
    drawn = "".join((names | {start: "S"}).get(cell, ".") for cell in range(size**2))
    return grid_game(
        [drawn[i : i + size] for i in range(0, size**2, size)],
        discount=discount,
        slip=slip,
        prizes={names[cell]: value for cell, value in prizes.items()},
    )


def introductory_mazes() -> tuple[GridGame, GridGame, GridGame]:
    """Return the three mazes of Figure 1(a), in which the leader has nothing left to choose.

    Each has the same 12 states, so that one reward (12,) is seen through all three: dark cells
    are states that cannot be entered. From the figure: the dark cells, the start at the left of
    the middle row, +1 in the top right corner. From the authors' code: moves never slip, and a
    discount of 0.9.

    The paper is silent on what follows the goal. Here the goal is absorbing and pays +1 at every
    step. In the authors' code it pays once and the game ends in a thirteenth state. Their values
    of the true reward are ours times 1 − γ = 1/10, so the paper's Boltzmann follower of inverse
    temperature 10 is the one of inverse temperature 1 here.

    **Source** paper, Figure 1(a) and its appendix. **Cost** arithmetic.

    Examples
    --------
    >>> print(introductory_mazes()[2])
    . . # 1
    S # # .
    . . . .
    """
    first, second, third = (
        grid_game(text, discount="9/10", doors="open", prize_rule="absorb", wall_states=True)
        for text in PAPER_MAZES
    )
    return first, second, third


def introductory_game() -> GridGame:
    """Return the game in which the leader chooses among the three mazes of Figure 1(a).

    A leader action lays out the cart's surroundings as in ``"maze 1"``, ``"maze 2"`` or
    ``"maze 3"`` for one step; the same action everywhere makes that maze. The picture shows no
    walls, since none stands in all three. See `introductory_mazes` for all else.

    **Source** paper, Figure 1(a). **Cost** arithmetic.
    """
    mazes = introductory_mazes()
    first = mazes[0]
    game = TwoAgentMDP(
        np.concatenate([maze.game.kernel for maze in mazes], axis=1).astype(np.int64),
        "9/10",
        first.game.start.astype(np.int64),
        states=first.game.states,
        leader_actions=[f"maze {i}" for i in (1, 2, 3)],
        follower_actions=DIRECTIONS,
    )
    text = tuple(line.replace("#", ".") for line in first.text)
    return replace(first, game=game, text=text)


def _characters(lines: Sequence[str]) -> NDArray[np.str_]:
    return np.array([list(line) for line in lines])


def _read_text(text: str | Sequence[str], known: Mapping[str, float]) -> tuple[str, ...]:
    """Return the rows of a rectangular text of known characters, or name the place that is not."""
    lines = text.splitlines() if isinstance(text, str) else list(each(TEXT)("text", text))
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    for i, line in enumerate(lines, start=1):
        if len(line) != len(lines[0]):
            allowed = f"{len(lines[0])}, as in line 1"
            raise InvalidArgument(f"grid line {i}", f"has length {len(line)}", allowed, line)
        for j, character in enumerate(line, start=1):
            if character not in RESERVED and character not in known:
                raise InvalidArgument(
                    f"grid line {i}, column {j}",
                    f"is {character!r}",
                    "'#', '.', ' ', 'S', a digit or a character named in prizes",
                    character,
                )
    if not set("".join(lines)) - {"#"}:
        raise InvalidArgument("grid", "has no free cell", "at least one", text)
    return tuple(lines)


def _prize_values(prizes: Mapping[str, Any]) -> dict[str, float]:
    """Return the value of every character that is a prize: the digits and those given."""
    values = {str(digit): float(digit) for digit in range(10)}
    for character, value in prizes.items():
        if not isinstance(character, str) or len(character) != 1 or character in RESERVED:
            allowed = "one character, not '#', '.', ' ' or 'S'"
            raise InvalidArgument("prizes", f"names {character!r}", allowed, character)
        values[character] = float(_read_number(f"prizes[{character!r}]", value, "a finite number"))
    return values


def _read_number(name: str, number: Any, allowed: str) -> Fraction:
    try:
        exact = as_fraction(number)
        float(exact)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise InvalidArgument(name, f"is {number!r}", allowed, number) from None
    return exact


def _read_slip(slip: Any) -> Fraction:
    probability = _read_number("slip", slip, "0 ≤ slip ≤ 1")
    if not 0 <= probability <= 1:
        raise InvalidArgument("slip", f"is {slip}", "0 ≤ slip ≤ 1", slip)
    if probability.denominator > LARGEST_DENOMINATOR:
        allowed = f"a fraction of denominator at most {LARGEST_DENOMINATOR:g}"
        raise InvalidArgument("slip", f"is {slip}", allowed, slip)
    return probability


def _read_doors(doors: str | Sequence[str]) -> list[str]:
    """Return the leader's actions, each the directions it opens in the order N, E, S, W."""
    named = {"pairs": ["".join(p) for p in combinations(DIRECTIONS, 2)], "open": [DIRECTIONS]}
    given = named.get(doors, []) if isinstance(doors, str) else each(TEXT)("doors", doors)
    opened = ["".join(d for d in DIRECTIONS if d in names) for names in given]
    alike = all(sorted(a) == sorted(b) for a, b in zip(opened, given, strict=True))
    if not opened or not alike or len(set(opened)) < len(opened):
        allowed = "'pairs', 'open' or distinct sets of the letters N, E, S, W"
        raise InvalidArgument("doors", f"is {doors!r}", allowed, doors)
    return opened


def _layers(prizes: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Return which prizes each layer still holds, shape (2^k, k): fewest gone first."""
    k = prizes.size
    names, counts = np.unique(prizes, return_counts=True)
    if (counts > 1).any():
        name = str(names[np.argmax(counts > 1)])
        allowed = "one cell a character, for prizes that vanish"
        raise InvalidArgument(f"prize {name!r}", "stands in several cells", allowed, name)
    if k > MOST_VANISHING:
        raise InvalidArgument("prizes", f"that vanish are {k}", f"at most {MOST_VANISHING}", k)
    gone = [subset for size in range(k + 1) for subset in combinations(range(k), size)]
    left = np.ones((len(gone), k), dtype=bool)
    for layer, subset in enumerate(gone):
        left[layer, list(subset)] = False
    return left


def _following(left: NDArray[np.bool_], prizes: Integers, n_cells: int) -> Integers:
    """Return the layer that a step from each cell of each layer leads into, shape (L, n)."""
    code = left @ (1 << np.arange(prizes.size))
    layer_of = np.argsort(code)
    following = np.repeat(np.arange(len(left))[:, None], n_cells, axis=1)
    for j, cell in enumerate(prizes):
        following[:, cell] = layer_of[code & ~(1 << j)]
    return following


def _neighbours(cells: Integers, free: NDArray[np.bool_]) -> Integers:
    """Return the cell N, E, S and W of each, itself where none can be entered, shape (4, n)."""
    index = np.full((free.shape[0] + 2, free.shape[1] + 2), -1)
    index[tuple(cells.T + 1)] = np.where(free[tuple(cells.T)], np.arange(len(cells)), -1)
    beside = np.stack([index[tuple(cells.T + 1 + np.array(step)[:, None])] for step in STEPS])
    return np.where(beside >= 0, beside, np.arange(len(cells)))


def _kernel(
    neighbours: Integers, opened: Sequence[str], slip: Fraction, following: Integers
) -> sp.csr_array:
    """Return the integer weights of all rows, 4 · (denominator of the slip) in each."""
    n_layers, n = following.shape
    open_ = np.array([[d in names for d in DIRECTIONS] for names in opened])
    move = np.where(open_, neighbours.T[:, None, :], np.arange(n)[:, None, None])
    slipped = np.broadcast_to(neighbours.T[:, None, None, :], (*move.shape, 4))
    targets = np.concatenate([move[..., None], slipped], axis=-1)
    p, q = slip.numerator, slip.denominator
    weights = np.array([4 * (q - p), p, p, p, p])
    targets, weights = targets[..., weights > 0], weights[weights > 0]
    columns = following[:, :, None, None, None] * n + targets
    n_rows = columns.size // weights.size
    indptr = np.arange(n_rows + 1) * weights.size
    kernel = sp.csr_array(
        (np.tile(weights, n_rows), columns.ravel(), indptr), shape=(n_rows, n_layers * n)
    )
    kernel.sum_duplicates()
    return kernel


def _mark(probabilities: Array, certain: Sequence[str], likely: Sequence[str]) -> str:
    """Return the mark of the most probable action: certain, merely likely, or ``?`` if tied."""
    best = np.flatnonzero(probabilities >= probabilities.max() - 1e-9)
    if best.size > 1:
        return "?"
    names = certain if probabilities[best[0]] > 1 - 1e-9 else likely
    return names[int(best[0])]
