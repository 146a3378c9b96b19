"""Games of the experiments: Maze-Maker, a small maze, and random games, each made from its cell.

A random game has the seed of its cell, and the size and concentration of its parameters; it is
called ``random``, or ``small`` where an experiment has two sizes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.experiments.sweep import Cell
from iirl_opt.game.generate import random_game
from iirl_opt.game.grid import grid_game
from iirl_opt.game.mazes import maze_maker
from iirl_opt.game.mdp import TwoAgentMDP

__all__ = ["GAMES", "game_of"]

Array = NDArray[np.float64]

GAMES = ("maze-maker", "small-maze", "random", "small")
SMALL_MAZE = ".....\n.1...\n..S..\n...2.\n....."


def game_of(cell: Cell) -> tuple[TwoAgentMDP, Array]:
    """Return the game of a cell and its true reward (S,)."""
    size = tuple(cell.parameters.get("size", ()))
    return _made(cell.game, cell.seed, size, cell.parameters.get("concentration"))


@lru_cache(maxsize=4)
def _made(
    name: str, seed: int, size: tuple[int, ...], concentration: Any
) -> tuple[TwoAgentMDP, Array]:
    """Return the game: cells of one game come one after the other, so a few are kept."""
    if name in ("maze-maker", "small-maze"):
        small = name == "small-maze"
        maze = grid_game(SMALL_MAZE, discount="9/10", slip="1/5") if small else maze_maker()
        return maze.game, maze.reward
    n_states, n_leader, n_follower = size
    return random_game(n_states, n_leader, n_follower, seed, concentration=concentration)
