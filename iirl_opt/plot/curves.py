"""Curves: the regret of runs by episode, and series over any axis with their intervals."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import MAPPING, POSITIVE, TEXT, array_of_floats, checked, each, optional
from iirl_opt.errors import InvalidArgument
from iirl_opt.plot.canvas import AX, LINES, MARKERS, as_label, colours, new_axes, tone
from iirl_opt.spelling import allowed_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_curves", "plot_regret"]


# Characters of a title, or of what stands at an axis; and numbers that an axis can be divided for.
ROOM, LARGEST = 200, 1e300
# Markers on a curve, at most; curves that coincide are told apart by markers at other places.
MARKED = 15


def styles(axes: Axes) -> Iterator[dict[str, Any]]:
    """Yield colour, line and marker of each series of a picture, for ever."""
    every = colours(axes)
    for colour, line, marker in zip(cycle(every), cycle(LINES), cycle(MARKERS), strict=False):
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

    Raises
    ------
    InvalidArgument
        No run, a run without an episode, or a regret that is not finite, or beyond 1e300.

    **Cost** a line a run.

    Examples
    --------
    >>> axes = plot_regret({"planner": [2.0, 0.5, 0.0], "random": [2.0, 1.5, 1.8]})
    >>> axes.get_xlabel(), [line.get_label() for line in axes.get_lines()][:2]
    ('episode', ['planner', 'random'])
    """
    from matplotlib.ticker import MaxNLocator

    runs = regrets if isinstance(regrets, Mapping) else {"": regrets}
    if not runs:
        raise InvalidArgument("regrets", "are none", "one run at least", regrets)
    read = {
        name: array_of_floats(1, empty=False)(f"regrets[{name!r}]" if name else "regrets", run)
        for name, run in runs.items()
    }
    for name, run in read.items():
        _check_size(f"regrets[{name!r}]" if name else "regrets", run)
    axes = new_axes((5.4, 3.6)) if ax is None else ax
    for (name, values), style in zip(read.items(), styles(axes), strict=False):
        episodes = np.arange(1, values.size + 1)
        axes.plot(episodes, values, label=as_label(name) or None, **style)
    axes.update_datalim([(0.5, 0.0), (1.5, 0.0)])  # room for one episode, with one tick
    axes.autoscale_view()
    axes.axhline(0.0, color=tone(axes, 0.3), linewidth=0.8, zorder=0)
    axes.set_xlabel("episode")
    axes.set_ylabel("regret")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.spines[["top", "right"]].set_visible(False)
    if any(runs):
        axes.legend(frameon=False)
    return axes


@checked(
    series=MAPPING,
    x=array_of_floats(1, empty=False),
    xlabel=TEXT,
    ylabel=TEXT,
    title=TEXT,
    points=each(TEXT),
    band=TEXT,
    log=optional(POSITIVE),
    ax=AX,
)
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
        where there is nothing to draw. A line may leave its band, as a mean does quantiles.
    x : shape (T,).
    points : names of series to draw as open circles, not as a curve.
    band : what line and band are, as the legend says it: "mean; band: 10 % to 90 % of runs".
    log : a logarithmic axis above this value and a linear one around zero, so that zeros are seen;
        linear by default.

    Raises
    ------
    InvalidArgument
        No series; a curve is not as long as x, infinite, or beyond 1e300; an end of a band above
        the other; of `points` one is no series.

    **Cost** a line and a band a series.

    Examples
    --------
    >>> line, low, high = [2.0, 1.0], [1.5, 0.5], [2.5, 1.5]
    >>> axes = plot_curves({"regret": (line, low, high)}, [1, 2], xlabel="episode")
    >>> axes.get_xlabel(), len(axes.get_lines()), len(axes.collections)
    ('episode', 1, 1)
    """
    if not series:
        raise InvalidArgument("series", "are none", "one at least", series)
    for i, name in enumerate(points):
        if name not in series:
            known = allowed_names(name, series)
            raise InvalidArgument(f"points[{i}]", f"is {name!r}", f"of the series: {known}", name)
    at = np.asarray(x, dtype=float)
    _check_size("x", at)
    read = {name: _of_length(name, curve, at) for name, curve in series.items()}
    axes = new_axes((5.4, 3.6)) if ax is None else ax
    banded = False
    every = -(-at.size // MARKED)
    for i, (name, style) in enumerate(zip(read, styles(axes), strict=False)):
        line, *ends = read[name]
        colour = style["color"]
        if name in points:
            style |= {"markersize": 6, "linestyle": "none", "fillstyle": "none"}
        else:
            style["markevery"] = (i % every, every)
        axes.plot(at, line, label=as_label(name), zorder=3, **style)
        if ends and name not in points and np.isfinite(ends).any():
            banded = True
            axes.fill_between(at, ends[0], ends[1], color=colour, alpha=0.15, linewidth=0)
    if band and banded:
        axes.fill_between([], [], [], color=tone(axes, 0.5), alpha=0.3, linewidth=0, label=band)
    if log is not None:
        # The linear part around zero is half a decade high: enough to see zero apart.
        axes.set_yscale("symlog", linthresh=log, linscale=0.5)
    axes.set_xlabel(as_label(xlabel, ROOM))
    axes.set_ylabel(as_label(ylabel, ROOM))
    axes.set_title(as_label(title, ROOM), fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=tone(axes, 0.08), linewidth=0.8)
    axes.set_axisbelow(True)
    return axes


def _of_length(name: str, curve: Any, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the line and the ends of its band, each as long as x, NaN where there is nothing."""
    place = f"series[{name!r}]"
    try:
        rows = np.atleast_2d(np.asarray(curve, dtype=float))
    except (TypeError, ValueError):
        rows = np.empty((0, 0))
    if x.ndim != 1 or rows.shape not in {(1, x.size), (3, x.size)}:
        allowed = f"a curve of shape ({x.size},) as x, or three of them: line, low, high"
        raise InvalidArgument(place, "is not over x", allowed, curve)
    for part, row in zip(("line", "low", "high"), rows, strict=False):
        for i in np.flatnonzero(np.isinf(row))[:1]:
            allowed = "finite numbers, or NaN where there is nothing to draw"
            raise InvalidArgument(f"{place}, {part}[{i}]", f"is {row[i]}", allowed, float(row[i]))
        _check_size(f"{place}, {part}", row)
    for i in np.flatnonzero(rows[1:2] > rows[2:3])[:1]:
        low, high = map(float, rows[1:, i])
        raise InvalidArgument(f"{place}, low[{i}]", f"is {low}", f"at most high, {high}", low)
    return rows


def _check_size(place: str, numbers: NDArray[np.float64]) -> None:
    """Refuse numbers whose differences overflow, for which there is no axis."""
    for i in np.flatnonzero(np.abs(numbers) > LARGEST)[:1]:
        value = float(numbers[i])
        raise InvalidArgument(f"{place}[{i}]", f"is {value}", f"at most {LARGEST:g}", value)
