"""The paper's mazes: Maze-Maker and the three of Figure 1(a), made by `grid_game`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from iirl_opt.checks import MAPPING, checked, whole
from iirl_opt.errors import InvalidArgument
from iirl_opt.game.grid import GridGame, grid_game
from iirl_opt.game.grid_text import DIRECTIONS
from iirl_opt.game.mdp import TwoAgentMDP

__all__ = ["introductory_game", "introductory_mazes", "maze_maker"]

PAPER_PRIZES: Mapping[int, int] = MappingProxyType({36: 1, 13: 2, 47: 3})

# The dark cells of Figure 1(a), whose coordinates count columns from the left, rows from below.
PAPER_MAZES = ("...1\nS###\n....", ".##1\nS...\n..#.", "..#1\nS##.\n....")


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

    Examples
    --------
    >>> maze = introductory_game()
    >>> maze.game.leader_actions
    ('maze 1', 'maze 2', 'maze 3')
    >>> maze.text
    ('...1', 'S...', '....')
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
