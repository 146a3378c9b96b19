"""Canvases: figures and axes to draw on, one legend for several, and files.

Every picture of the room draws on the axes that it is given, or on a figure of its own, and returns
the axes. No window is opened: figures know no backend but the one that writes files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iirl_opt.errors import MissingExtra
from iirl_opt.files import writing

try:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
except ImportError:  # pragma: no cover - the message is tested with the module hidden
    raise MissingExtra("Plotting", "plot") from None

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COLOURS", "legend_below", "new_axes", "new_figure", "panels", "save"]

# Colours by order: told apart by the colour-blind too (Okabe and Ito).
COLOURS = ("#0072b2", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#e69f00", "#000000")


def new_figure(size: tuple[float, float], layout: Any = None) -> Figure:
    """Return an empty figure of so many inches, width and height."""
    figure = Figure(figsize=size, layout=layout)
    FigureCanvasAgg(figure)
    return figure


def new_axes(size: tuple[float, float]) -> Axes:
    """Return axes in a figure of their own, of so many inches."""
    return new_figure(size).add_subplot()


def panels(n: int, size: tuple[float, float] = (3.8, 3.2)) -> list[Axes]:
    """Return n axes side by side in one figure, each of so many inches."""
    figure = new_figure((n * size[0], size[1]), "constrained")
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


def save(axes: Axes, path: str | Path) -> Path:
    """Write the figure of some axes to a file, at 150 dots an inch, and return its path.

    The suffix says the format (png, pdf, svg, ...); without one it is png.
    """
    figure: Any = axes.figure
    with writing(path) as part:
        figure.savefig(part, format=part.suffix[1:] or "png", dpi=150, bbox_inches="tight")
    return Path(path)
