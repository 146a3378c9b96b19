"""Pictures: the regret of a run, a maze with its doors, curves with intervals (needs matplotlib).

Each function draws on the axes that it is given, or on a figure of its own, and returns the axes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from iirl_opt.errors import MissingExtra
from iirl_opt.game.grid import GridGame

try:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle
    from matplotlib.ticker import MaxNLocator
except ImportError:  # pragma: no cover - the message is tested with the module hidden
    raise MissingExtra("Plotting", "plot") from None

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["legend_below", "panels", "plot_curves", "plot_maze", "plot_regret", "save"]

# Row and column steps of N, E, S, W, and the colours of wall, free cell and prize.
STEPS = {"N": (-1, 0), "E": (0, 1), "S": (1, 0), "W": (0, -1)}
WALL, FREE, LOCKED, OPEN = "#3b3f46", "#ffffff", "#b9bec7", "#2a9d5b"
START, PRIZE, CART = "#cfe3ff", "#ffe08a", "#c2410c"

# Curves by their order: told apart by the colour-blind too (Okabe and Ito).
CURVES = ("#0072b2", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#e69f00", "#000000")


def plot_regret(
    regrets: ArrayLike | Mapping[str, Sequence[float]], *, ax: Axes | None = None
) -> Axes:
    """Draw the regret of each episode; of several runs by name.

    Parameters
    ----------
    regrets : shape (T,), in the unit of the values, or ``{name: regrets}``.
    """
    runs = regrets if isinstance(regrets, Mapping) else {"": regrets}
    axes = _axes((7.0, 4.0)) if ax is None else ax
    for name, run in runs.items():
        values = np.asarray(run, dtype=float)
        episodes = np.arange(1, values.size + 1)
        axes.plot(episodes, values, marker="o", markersize=3.5, linewidth=1.4, label=name or None)
    axes.axhline(0.0, color="0.7", linewidth=0.8, zorder=0)
    axes.set_xlabel("episode")
    axes.set_ylabel("regret")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.spines[["top", "right"]].set_visible(False)
    if any(runs):
        axes.legend(frameon=False)
    return axes


def plot_curves(
    series: Mapping[str, ArrayLike | tuple[ArrayLike, ArrayLike, ArrayLike]],
    x: ArrayLike,
    *,
    xlabel: str = "",
    ylabel: str = "",
    title: str = "",
    points: Collection[str] = (),
    log: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw curves over the same x, with their intervals as bands.

    Parameters
    ----------
    series : ``{name: (mean, low, high)}`` or ``{name: mean}``, each of shape (T,); None or NaN
        where there is nothing to draw.
    x : shape (T,).
    points : names of series to draw as open circles, not as a curve.
    log : a logarithmic axis above this value and a linear one around zero, so that zeros are seen;
        linear by default.
    """
    axes = _axes((7.0, 4.0)) if ax is None else ax
    at = np.asarray(x, dtype=float)
    for (name, curve), colour in zip(series.items(), cycle(CURVES), strict=False):
        mean, *ends = np.atleast_2d(np.asarray(curve, dtype=float))
        style: dict[str, Any]
        if name in points:
            style = {"marker": "o", "markersize": 7, "linestyle": "none", "fillstyle": "none"}
        else:
            style = {"marker": "o", "markersize": 3, "linewidth": 1.6}
        axes.plot(at, mean, label=name, color=colour, zorder=3, **style)
        if ends and name not in points:
            axes.fill_between(at, ends[0], ends[1], color=colour, alpha=0.18, linewidth=0)
    if log is not None:
        axes.set_yscale("symlog", linthresh=log)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.set_title(title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
    return axes


def panels(n: int, size: tuple[float, float] = (3.8, 3.2)) -> list[Axes]:
    """Return n axes side by side in one figure, each of so many inches."""
    figure = Figure(figsize=(n * size[0], size[1]), layout="constrained")
    FigureCanvasAgg(figure)
    return list(figure.subplots(1, n, squeeze=False)[0])


def legend_below(axes: Sequence[Axes]) -> None:
    """Put one legend under a row of panels, with each name once."""
    figure: Any = axes[0].figure
    handles: dict[str, Any] = {}
    for panel in axes:
        for handle, name in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    figure.legend(
        handles.values(), handles, loc="outside lower center", ncols=len(handles), frameon=False
    )


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
    axes = _axes((0.75 * maze.columns + 0.4, 0.75 * maze.rows + 0.6)) if ax is None else ax
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
    axes.set_xlim(-0.05, maze.columns + 0.05)
    axes.set_ylim(maze.rows + 0.05, -0.05)
    axes.set_aspect("equal")
    axes.axis("off")
    return axes


def save(axes: Axes, path: str | Path) -> Path:
    """Write the figure of some axes to a file, at 150 dots an inch, and return its path."""
    figure: Any = axes.figure
    figure.savefig(path, dpi=150, bbox_inches="tight")
    return Path(path)


def _axes(size: tuple[float, float]) -> Axes:
    figure = Figure(figsize=size)
    FigureCanvasAgg(figure)
    return figure.add_subplot()


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
