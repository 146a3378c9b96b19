"""Curves: the regret of runs by episode, and series over any axis with their intervals."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from iirl_opt.plot.canvas import COLOURS, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_curves", "plot_regret"]


def plot_regret(
    regrets: ArrayLike | Mapping[str, Sequence[float]], *, ax: Axes | None = None
) -> Axes:
    """Draw the regret of each episode; of several runs by name.

    Parameters
    ----------
    regrets : shape (T,), in the unit of the values, or ``{name: regrets}``.
    """
    from matplotlib.ticker import MaxNLocator

    runs = regrets if isinstance(regrets, Mapping) else {"": regrets}
    axes = new_axes((7.0, 4.0)) if ax is None else ax
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
    axes = new_axes((7.0, 4.0)) if ax is None else ax
    at = np.asarray(x, dtype=float)
    for (name, curve), colour in zip(series.items(), cycle(COLOURS), strict=False):
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
