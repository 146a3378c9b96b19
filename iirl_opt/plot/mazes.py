"""Mazes: the doors that a leader opens and the moves of a follower, or a number in each cell."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from iirl_opt.game.grid import GridGame
from iirl_opt.game.reward import check_reward
from iirl_opt.plot.canvas import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_maze", "plot_rewards"]

# Row and column steps of N, E, S, W, and the colours of wall, free cell and prize.
STEPS = {"N": (-1, 0), "E": (0, 1), "S": (1, 0), "W": (0, -1)}
WALL, FREE, LOCKED, OPEN = "#3b3f46", "#ffffff", "#b9bec7", "#2a9d5b"
START, PRIZE, CART = "#cfe3ff", "#ffe08a", "#c2410c"


def plot_maze(
    maze: GridGame,
    leader: ArrayLike | None = None,
    follower: ArrayLike | None = None,
    *,
    layer: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw a maze; with policies, the doors that the leader opens and the moves of the follower.

    Parameters
    ----------
    leader, follower : policies of shape (S, A) and (S, B); opacity is probability.
    layer : which set of remaining prizes to show, as in ``maze.layers``.
    """
    from matplotlib.patches import Rectangle

    axes = new_axes((0.75 * maze.columns + 0.4, 0.75 * maze.rows + 0.6)) if ax is None else ax
    n = maze.game.n_states // len(maze.layers)
    states = slice(layer * n, (layer + 1) * n)
    left = maze.layers[layer]
    for r in range(maze.rows):
        for c in range(maze.columns):
            symbol = maze.text[r][c]
            prize = (r, c) in maze.prizes and symbol in left
            colour = WALL if symbol == "#" else PRIZE if prize else FREE
            colour = START if (r, c) in maze.starts else colour
            axes.add_patch(Rectangle((c, r), 1, 1, facecolor=colour, edgecolor=LOCKED))
            if prize:
                text = f"{maze.prizes[r, c]:+g}"
                axes.text(c + 0.06, r + 0.1, text, fontsize=8, fontweight="bold", va="top")
    cells = maze.cells[states]
    if leader is not None:
        pi1 = maze.game.check_leader_policy(leader)[states]
        _doors(axes, cells, pi1, [str(name) for name in maze.game.leader_actions])
    if follower is not None:
        pi2 = maze.game.check_follower_policy(follower)[states]
        _moves(axes, maze, cells, pi2)
    _frame(axes, maze)
    return axes


def plot_rewards(
    maze: GridGame,
    rewards: ArrayLike,
    *,
    layer: int = 0,
    top: float | None = None,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw a number for each cell of a maze as a shade, from 0 in white; walls have marked corners.

    Parameters
    ----------
    rewards : shape (S,), as many as the maze has states.
    layer : which set of remaining prizes to show, as in ``maze.layers``.
    top : what is darkest; the largest absolute reward by default. Negative rewards are red.

    **Source** the paper's Figure 1(b); the numbers are ours.
    """
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Rectangle

    values = check_reward(maze.game, rewards)
    most = float(np.abs(values).max()) if top is None else top
    axes = new_axes((0.75 * maze.columns + 0.4, 0.75 * maze.rows + 0.6)) if ax is None else ax
    n = maze.game.n_states // len(maze.layers)
    states = slice(layer * n, (layer + 1) * n)
    for (r, c), value in zip(maze.cells[states], values[states], strict=True):
        share = min(abs(value) / most, 1.0) if most > 0 else 0.0
        colour = to_rgba(OPEN if value >= 0 else CART, share)
        axes.add_patch(Rectangle((c, r), 1, 1, facecolor=colour, edgecolor=LOCKED))
        axes.text(c + 0.5, r + 0.5, f"{value:.2g}", fontsize=7, ha="center", va="center")
    for r, c in np.argwhere(maze.walls):
        for x, y in product((0, 1), repeat=2):  # from each corner, clear of the number
            ends = [c + x, c + 0.7 * x + 0.15], [r + y, r + 0.7 * y + 0.15]
            axes.plot(*ends, color=WALL, linewidth=1.0, solid_capstyle="butt")
    axes.set_title(title, fontsize=10)
    _frame(axes, maze)
    return axes


def _frame(axes: Axes, maze: GridGame) -> None:
    """Show a maze as it is, without axes."""
    axes.set_xlim(-0.05, maze.columns + 0.05)
    axes.set_ylim(maze.rows + 0.05, -0.05)
    axes.set_aspect("equal")
    axes.axis("off")


def _doors(axes: Axes, cells: Any, pi1: Any, names: list[str]) -> None:
    """Draw a bar at each side of a cell, as strong as the probability that the door is open."""
    for direction, (down, right) in STEPS.items():
        opens = np.array([direction in name.removeprefix("open ") for name in names])
        for (r, c), probability in zip(cells, pi1[:, opens].sum(axis=1), strict=True):
            if probability > 0:
                y, x = r + 0.5 + 0.43 * down, c + 0.5 + 0.43 * right
                dy, dx = (0.0, 0.2) if down else (0.2, 0.0)
                axes.plot(
                    [x - dx, x + dx],
                    [y - dy, y + dy],
                    color=OPEN,
                    alpha=float(probability),
                    linewidth=3,
                    solid_capstyle="butt",
                )


def _moves(axes: Axes, maze: GridGame, cells: Any, pi2: Any) -> None:
    """Draw an arrow for each move, as strong as its probability."""
    for b, name in enumerate(maze.game.follower_actions):
        down, right = STEPS[str(name)]
        for (r, c), probability in zip(cells, pi2[:, b], strict=True):
            if probability > 0 and maze.text[r][c] != "#":
                axes.annotate(
                    "",
                    xy=(c + 0.5 + 0.3 * right, r + 0.5 + 0.3 * down),
                    xytext=(c + 0.5 - 0.12 * right, r + 0.5 - 0.12 * down),
                    arrowprops={
                        "arrowstyle": "-|>",
                        "color": CART,
                        "alpha": float(probability),
                        "linewidth": 1.2,
                    },
                )
