"""Mazes: the doors that a leader opens and the moves of a follower, or a number in each cell."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import POSITIVE, TEXT, Rule, checked, is_a, optional, whole
from iirl_opt.errors import InvalidArgument
from iirl_opt.game.grid import GridGame
from iirl_opt.game.reward import check_reward
from iirl_opt.plot.canvas import AX, Style, as_label, ink_on, new_axes, tone

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_maze", "plot_rewards"]

Array = NDArray[np.float64]

# Row and column steps of N, E, S, W, and the colours of wall, free cell and prize. Doors and moves
# differ in shape too; rewards below zero are orange and those above blue.
STEPS = {"N": (-1, 0), "E": (0, 1), "S": (1, 0), "W": (0, -1)}
WALL, FREE, LINE, OPEN = "#3b3f46", "#ffffff", "#b9bec7", "#0072b2"
START, PRIZE, MOVE = "#cfe3ff", "#ffe08a", "#c2410c"
ABOVE, BELOW = "#0072b2", "#d55e00"

LAYER: Rule = whole(0)


@checked(maze=is_a(GridGame), layer=LAYER, ax=AX)
def plot_maze(
    maze: GridGame,
    leader: ArrayLike | None = None,
    follower: ArrayLike | None = None,
    *,
    layer: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw a maze; with policies, the doors that the leader opens and the moves of the follower.

    A legend under the maze names what is drawn.

    Parameters
    ----------
    leader, follower : policies of shape (S, A) and (S, B); opacity is probability.
    layer : which set of remaining prizes to show, as in ``maze.layers``.

    Raises
    ------
    InvalidArgument, InvalidPolicy
        No such layer; no policy of this game.

    **Cost** a patch a cell, and with policies one for each door and move that is played.

    Examples
    --------
    >>> from iirl_opt.game.mazes import maze_maker
    >>> axes = plot_maze(maze_maker())
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['prize, and what it pays', 'start']
    """
    from matplotlib.patches import Rectangle

    states = _states_of(maze, layer)
    pi1 = None if leader is None else maze.game.check_leader_policy(leader)[states]
    pi2 = None if follower is None else maze.game.check_follower_policy(follower)[states]
    axes = new_axes((0.75 * maze.columns + 0.4, 0.75 * maze.rows + 0.9)) if ax is None else ax
    left = maze.layers[layer]
    names = {WALL: "wall", START: "start", PRIZE: "prize, and what it pays"}
    for r in range(maze.rows):
        for c in range(maze.columns):
            symbol = maze.text[r][c]
            prize = (r, c) in maze.prizes and symbol in left
            colour = WALL if symbol == "#" else PRIZE if prize else FREE
            colour = START if (r, c) in maze.starts else colour
            cell = Rectangle((c, r), 1, 1, facecolor=colour, edgecolor=LINE)
            cell.set_label(names.pop(colour, ""))
            axes.add_patch(cell)
            if prize:
                text = f"{maze.prizes[r, c]:+g}"
                look: Style = {"fontweight": "bold", "color": "black"}  # on the prize's own colour
                axes.text(c + 0.12, r + 0.12, text, fontsize=9, va="top", **look)
    cells = maze.cells[states]
    if pi1 is not None:
        _doors(axes, cells, pi1, [str(name) for name in maze.game.leader_actions])
    if pi2 is not None:
        _moves(axes, maze, cells, pi2)
    _frame(axes, maze)
    _explain(axes, doors=leader is not None, moves=follower is not None)
    return axes


def _explain(axes: Axes, *, doors: bool, moves: bool) -> None:
    """Put a legend under a maze: what its cells are, and its doors and moves."""
    from matplotlib.lines import Line2D

    handles, names = axes.get_legend_handles_labels()
    if doors:
        handles.append(Line2D([], [], color=OPEN, linewidth=3))
        names.append("door that the leader opens")
    if moves:
        handles.append(Line2D([], [], color=MOVE, marker=">", linewidth=1.2))
        names.append("move of the follower")
    below: Style = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "frameon": False}
    axes.legend(handles, names, ncols=min(2, len(names)), **below)


@checked(maze=is_a(GridGame), layer=LAYER, top=optional(POSITIVE), title=TEXT, ax=AX)
def plot_rewards(
    maze: GridGame,
    rewards: ArrayLike,
    *,
    truth: ArrayLike | None = None,
    layer: int = 0,
    top: float | None = None,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw a number for each cell of a maze as a shade, from 0 in white; walls have marked corners.

    Parameters
    ----------
    rewards : shape (S,), as many as the maze has states.
    truth : the true reward (S,), drawn beside them. Since answers tell a reward up to a positive
        affine transformation, both are then moved so that they run from 0 to 1, over
        all layers.
    layer : which set of remaining prizes to show, as in ``maze.layers``.
    top : what is darkest; the largest absolute reward by default. Negative rewards are orange.

    Raises
    ------
    InvalidArgument, InvalidReward
        No such layer; no state reward of this game.

    **Source** the paper's Figure 1(b); the numbers are ours. **Cost** a patch a cell.

    Examples
    --------
    >>> from iirl_opt.game.grid import grid_game
    >>> maze = grid_game(["S.1"], discount=0.5)
    >>> axes = plot_rewards(maze, maze.reward, title="what the cells pay")
    >>> axes.get_title(), len(axes.patches)
    ('what the cells pay', 3)
    """
    values, states = _state_reward(maze, "rewards", rewards), _states_of(maze, layer)
    true = None if truth is None else _state_reward(maze, "truth", truth)
    width = maze.columns if truth is None else 2 * maze.columns + 1
    size = min(0.75, 6.2 / width)
    axes = new_axes((size * width + 0.4, size * maze.rows + 0.6)) if ax is None else ax
    axes.axis("off")  # then the paper is the figure's
    if true is None:
        most = float(np.abs(values).max()) if top is None else top
        _shades(axes, maze, values[states], maze.cells[states], most)
    else:
        for shift, name, part in zip((0, maze.columns + 1), PAIR, (values, true), strict=True):
            unit = _from_0_to_1(part)[states]
            _shades(axes, maze, unit, maze.cells[states], 1.0, shift, places=1)
            name += "\nover all layers" if len(maze.layers) > 1 else ""
            above: Style = {"ha": "center", "va": "bottom", "color": tone(axes, 1)}
            axes.text(shift + maze.columns / 2, -0.15, name, fontsize=10, **above)
    lines = 0 if truth is None else 1 + (len(maze.layers) > 1)
    axes.set_title(as_label(title, 200), fontsize=10, pad=6.0 + 12.0 * lines)
    _frame(axes, maze, width)
    return axes


# What stands above the two halves of a picture of rewards and truth.
PAIR = ("estimate, from 0 to 1", "truth, from 0 to 1")


def _state_reward(maze: GridGame, name: str, given: ArrayLike) -> Array:
    """Return a reward (S,) of a maze."""
    reward = check_reward(maze.game, given, name)
    if reward.ndim != 1:
        raise InvalidArgument(name, f"has shape {reward.shape}", "a state reward (S,)", given)
    return reward


def _from_0_to_1(values: Array) -> Array:
    """Return a reward moved to least 0 and greatest 1; zeros of a constant one."""
    spread = float(np.ptp(values))
    return np.asarray((values - values.min()) / spread if spread > 0 else np.zeros_like(values))


def _states_of(maze: GridGame, layer: int) -> slice:
    """Return the states of a layer."""
    if layer >= len(maze.layers):
        raise InvalidArgument("layer", f"is {layer}", f"0 … {len(maze.layers) - 1}", layer)
    n = maze.game.n_states // len(maze.layers)
    return slice(layer * n, (layer + 1) * n)


def _shades(
    axes: Axes,
    maze: GridGame,
    values: Array,
    cells: Any,
    most: float,
    shift: int = 0,
    places: int | None = None,
) -> None:
    """Draw the numbers of a layer's cells as shades, so many columns to the right."""
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Rectangle

    for (r, c), value in zip(cells, values, strict=True):
        share = min(abs(value) / most, 1.0) if most > 0 else 0.0
        colour = to_rgba(ABOVE if value >= 0 else BELOW, share)
        axes.add_patch(Rectangle((c + shift, r), 1, 1, facecolor=colour, edgecolor=LINE))
        said = f"{value:.2g}" if places is None else f"{round(value, places):g}"
        ink = ink_on(tone(axes, share, colour[:3]))
        place = (c + shift + 0.5, r + 0.5)
        axes.text(*place, said, fontsize=8, ha="center", va="center", color=ink)
    for r, c in np.argwhere(maze.walls):
        for x, y in product((0, 1), repeat=2):  # from each corner, clear of the number
            ends = [c + shift + x, c + shift + 0.7 * x + 0.15], [r + y, r + 0.7 * y + 0.15]
            axes.plot(*ends, color=tone(axes, 0.75), linewidth=1.0, solid_capstyle="butt")


def _frame(axes: Axes, maze: GridGame, width: int | None = None) -> None:
    """Show a maze as it is, or two beside each other, without axes."""
    axes.set_xlim(-0.05, (width or maze.columns) + 0.05)
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
                        "color": MOVE,
                        "alpha": float(probability),
                        "linewidth": 1.2,
                    },
                )
