"""Pictures: the regret of a run, a maze with its doors, curves with intervals (needs matplotlib).

Each function draws on the axes that it is given, or on a figure of its own, and returns the axes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import cycle, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from iirl_opt.bayesian.chains import Chains
from iirl_opt.bayesian.posterior import Normal
from iirl_opt.errors import MissingExtra
from iirl_opt.files import writing
from iirl_opt.game.grid import GridGame
from iirl_opt.game.reward import check_reward

try:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import to_rgba
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle
    from matplotlib.ticker import MaxNLocator
except ImportError:  # pragma: no cover - the message is tested with the module hidden
    raise MissingExtra("Plotting", "plot") from None

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "legend_below",
    "panels",
    "plot_chains",
    "plot_curves",
    "plot_maze",
    "plot_regret",
    "plot_rewards",
    "save",
]

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
    values = check_reward(maze.game, rewards)
    most = float(np.abs(values).max()) if top is None else top
    axes = _axes((0.75 * maze.columns + 0.4, 0.75 * maze.rows + 0.6)) if ax is None else ax
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


def save(axes: Axes, path: str | Path) -> Path:
    """Write the figure of some axes to a file, at 150 dots an inch, and return its path.

    The suffix says the format (png, pdf, svg, ...); without one it is png.
    """
    figure: Any = axes.figure
    with writing(path) as part:
        figure.savefig(part, format=part.suffix[1:] or "png", dpi=150, bbox_inches="tight")
    return Path(path)


def _axes(size: tuple[float, float]) -> Axes:
    figure = Figure(figsize=size)
    FigureCanvasAgg(figure)
    return figure.add_subplot()


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


# Chains of a sampler.


def plot_chains(
    chains: Chains,
    *,
    states: Sequence[str] | None = None,
    normalise: Normal | None = None,
    truth: tuple[ArrayLike, float] | None = None,
    most: int = 3,
) -> list[Axes]:
    """Draw traces and posteriors of the parameter and some rewards, and the ridge in the last row.

    On the ridge a grey curve joins what the likelihood cannot tell apart: the same follower, with
    more of its reward constant and a larger parameter (where that scales).

    Parameters
    ----------
    chains : the draws as they came.
    states : names of the states.
    normalise : how draws are moved along their ridge before they are drawn in the upper rows.
    truth : the true reward (S,), and parameter, as a line in each posterior.
    most : how many states to show: those of the largest mean reward.

    Returns
    -------
    The axes row by row, a trace and a posterior in each row, and the two of the ridge at last.
    """
    shown = chains if normalise is None else chains.normalised(normalise)
    names = [str(s) for s in range(shown.rewards.shape[-1])] if states is None else list(states)
    largest = np.sort(np.argsort(-shown.mean_reward, kind="stable")[:most])
    rows = [(chains.parameter, shown.parameters, None if truth is None else truth[1])]
    for s in largest:
        true = None if truth is None else float(np.asarray(truth[0], dtype=float)[s])
        rows.append((f"reward of {names[s]}", shown.rewards[..., s], true))
    figure = Figure(figsize=(8.0, 1.9 * len(rows) + 2.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(rows) + 1, 2, width_ratios=(2, 1), squeeze=False)
    for (left, right), (name, draws, true) in zip(axes, rows, strict=False):
        edges = list(np.histogram_bin_edges(draws, bins=40))
        for run, colour in zip(draws, cycle(CURVES), strict=False):
            left.plot(run, color=colour, linewidth=0.5, alpha=0.8)
            right.hist(run, bins=edges, color=colour, density=True, histtype="step", linewidth=1.1)
        if true is not None:
            right.axvline(true, color="0.3", linestyle="--", linewidth=1)
        left.set_ylabel(name)
        right.set_yticks([])
        left.margins(x=0)
    axes[-2, 0].set_xlabel("draw; a colour a chain")
    _ridge(axes[-1, 0], axes[-1, 1], chains)
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
    return list(axes.flat)


def _ridge(left: Axes, right: Axes, chains: Chains) -> None:
    """Draw the parameter over the constant share of the reward, and its spread with and without."""
    share = (chains.rewards.shape[-1] * chains.rewards.min(axis=-1)).ravel()
    theta = chains.parameters.ravel()
    moved = chains.normalised("min").parameters.ravel()
    left.plot(share, theta, ".", color=CURVES[0], markersize=2, alpha=0.4, label="draws")
    along = np.linspace(0.0, min(float(share.max()), 0.99), 100)
    for level in np.quantile(moved, (0.1, 0.5, 0.9)):
        curve = level / (1 - along) if chains.scales else np.full_like(along, level)
        left.plot(along, curve, color="0.45", linewidth=1.2)
    left.set_ylim(0, 1.05 * float(theta.max()) or 1.0)
    left.set_xlabel("share of the reward that is constant")
    left.set_ylabel(chains.parameter)
    edges = list(np.histogram_bin_edges(np.concatenate([theta, moved]), bins=40))
    for draws, name, colour in ((theta, "as drawn", CURVES[0]), (moved, "min r = 0", CURVES[2])):
        right.hist(draws, bins=edges, color=colour, histtype="step", label=name, linewidth=1.2)
    right.set_xlabel(chains.parameter)
    right.set_yticks([])
    right.legend(frameon=False, fontsize=8)
