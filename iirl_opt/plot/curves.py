"""Curves: the regret of runs by episode, and series over any axis with their intervals."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import MAPPING, POSITIVE, array_of_floats, checked, optional
from iirl_opt.errors import InvalidArgument
from iirl_opt.plot.canvas import AX, COLOURS, LINES, MARKERS, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_curves", "plot_regret"]


# Markers on a curve, at most; curves that coincide are told apart by markers at other places.
MARKED = 15


def styles() -> Iterator[dict[str, Any]]:
    """Yield colour, line and marker of each series of a picture, for ever."""
    for colour, line, marker in zip(cycle(COLOURS), cycle(LINES), cycle(MARKERS), strict=False):
        yield {
            "color": colour,
            "linestyle": line,
            "marker": marker,
            "markersize": 3.5,
            "linewidth": 1.5,
        }


@checked(ax=AX)
def plot_regret(
    regrets: ArrayLike | Mapping[str, Sequence[float]], *, ax: Axes | None = None
) -> Axes:
    """Draw the regret of each episode; of several runs by name.

    Parameters
    ----------
    regrets : shape (T,), in the unit of the values, or ``{name: regrets}``.

    **Cost** a line a run.

    Examples
    --------
    >>> axes = plot_regret({"planner": [2.0, 0.5, 0.0], "random": [2.0, 1.5, 1.8]})
    >>> axes.get_xlabel(), [line.get_label() for line in axes.get_lines()][:2]
    ('episode', ['planner', 'random'])
    """
    from matplotlib.ticker import MaxNLocator

    runs = regrets if isinstance(regrets, Mapping) else {"": regrets}
    axes = new_axes((5.4, 3.6)) if ax is None else ax
    for (name, run), style in zip(runs.items(), styles(), strict=False):
        values = array_of_floats(1)(f"regrets[{name!r}]" if name else "regrets", run)
        episodes = np.arange(1, values.size + 1)
        axes.plot(episodes, values, label=name or None, **style)
    axes.axhline(0.0, color="0.7", linewidth=0.8, zorder=0)
    axes.set_xlabel("episode")
    axes.set_ylabel("regret")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.spines[["top", "right"]].set_visible(False)
    if any(runs):
        axes.legend(frameon=False)
    return axes


@checked(series=MAPPING, x=array_of_floats(1), log=optional(POSITIVE), ax=AX)
def plot_curves(
    series: Mapping[str, ArrayLike | tuple[ArrayLike, ArrayLike, ArrayLike]],
    x: ArrayLike,
    *,
    xlabel: str = "",
    ylabel: str = "",
    title: str = "",
    points: Collection[str] = (),
    band: str = "",
    log: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw curves over the same x, with bands around them.

    Parameters
    ----------
    series : ``{name: (line, low, high)}`` or ``{name: line}``, each of shape (T,); None or NaN
        where there is nothing to draw.
    x : shape (T,).
    points : names of series to draw as open circles, not as a curve.
    band : what line and band are, as the legend says it: "mean; band: 10 % to 90 % of runs".
    log : a logarithmic axis above this value and a linear one around zero, so that zeros are seen;
        linear by default.

    Raises
    ------
    InvalidArgument
        A curve is not as long as x.

    **Cost** a line and a band a series.

    Examples
    --------
    >>> line, low, high = [2.0, 1.0], [1.5, 0.5], [2.5, 1.5]
    >>> axes = plot_curves({"regret": (line, low, high)}, [1, 2], xlabel="episode")
    >>> axes.get_xlabel(), len(axes.get_lines()), len(axes.collections)
    ('episode', 1, 1)
    """
    axes = new_axes((5.4, 3.6)) if ax is None else ax
    at = np.asarray(x, dtype=float)
    banded = False
    every = -(-at.size // MARKED)
    for i, ((name, curve), style) in enumerate(zip(series.items(), styles(), strict=False)):
        line, *ends = _of_length(name, curve, at)
        colour = style["color"]
        if name in points:
            style |= {"markersize": 6, "linestyle": "none", "fillstyle": "none"}
        elif at.size:
            style["markevery"] = (i % every, every)
        axes.plot(at, line, label=name, zorder=3, **style)
        if ends and name not in points and np.isfinite(ends).any():
            banded = True
            axes.fill_between(at, ends[0], ends[1], color=colour, alpha=0.15, linewidth=0)
    if band and banded:
        axes.fill_between([], [], [], color="0.5", alpha=0.3, linewidth=0, label=band)
    if log is not None:
        # The linear part around zero is half a decade high: enough to see zero apart.
        axes.set_yscale("symlog", linthresh=log, linscale=0.5)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.set_title(title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
    return axes


def _of_length(name: str, curve: Any, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the line and the ends of its band, each as long as x."""
    try:
        rows = np.atleast_2d(np.asarray(curve, dtype=float))
    except (TypeError, ValueError):
        rows = np.empty((0, 0))
    if x.ndim != 1 or rows.shape not in {(1, x.size), (3, x.size)}:
        allowed = f"a curve of shape ({x.size},) as x, or three of them: line, low, high"
        raise InvalidArgument(f"series[{name!r}]", "is not over x", allowed, curve)
    return rows
