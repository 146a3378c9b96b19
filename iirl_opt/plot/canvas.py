"""Canvases: figures and axes to draw on, one legend for several, and files.

Every picture of the room draws on the axes that it is given, or on a figure of its own, and returns
the axes. No window is opened: figures know no backend but the one that writes files.

A picture is drawn in ink on the paper that its axes have, dark paper too; names are cut where they
would blow it up.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from iirl_opt.brief import cut
from iirl_opt.checks import PATH, POSITIVE, Rule, checked, each, has, optional, refuse, whole
from iirl_opt.errors import InvalidArgument, MissingExtra
from iirl_opt.files import writing
from iirl_opt.spelling import allowed_names

try:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
except ImportError:  # pragma: no cover - the message is tested with the module hidden
    raise MissingExtra("Plotting", "plot") from None

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "AX",
    "AXES",
    "COLOURS",
    "LINES",
    "MARKERS",
    "Style",
    "as_label",
    "colours",
    "ink_on",
    "legend_below",
    "new_axes",
    "new_figure",
    "panels",
    "paper_of",
    "save",
    "tone",
]

# What an argument `axes` or `ax` may be.
AXES: Rule = has("add_patch", "figure", what="matplotlib's Axes")
AX: Rule = optional(AXES)

# How an artist looks: what matplotlib takes by name.
Style: TypeAlias = dict[str, Any]

# Colours by order: told apart by the colour-blind too (Okabe and Ito); and lines and markers, which
# tell series apart without any colour.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


# A picture of more dots than this fills the memory.
MOST_DOTS = 2**28

# A colour as its shares of red, green and blue, from 0 to 1.
Colour: TypeAlias = tuple[float, float, float]


def paper_of(axes: Axes) -> Colour:
    """Return the colour that is drawn on: of the axes, or of the figure where they have none."""
    from matplotlib.colors import to_rgba

    figure: Any = axes.figure
    patches = [axes.patch] if axes.axison else []
    while figure is not None:  # a part of a figure stands on the whole
        patches.append(figure.patch)
        figure = figure.figure if figure.figure is not figure else None
    for patch in patches:
        red, green, blue, alpha = to_rgba(patch.get_facecolor())
        if alpha > 0.5 and patch.get_visible():
            return red, green, blue
    return 1.0, 1.0, 1.0


def ink_on(paper: Colour) -> Colour:
    """Return black or white, whichever can be read on a colour."""
    brightness = 0.299 * paper[0] + 0.587 * paper[1] + 0.114 * paper[2]
    return (0.0, 0.0, 0.0) if brightness > 0.5 else (1.0, 1.0, 1.0)


def tone(axes: Axes, share: float, ink: Any = None) -> Colour:
    """Return ink, that of the axes by default, so strong on their paper: from 0 to 1."""
    from matplotlib.colors import to_rgb

    paper = paper_of(axes)
    full = ink_on(paper) if ink is None else to_rgb(ink)
    red, green, blue = (p + (i - p) * share for p, i in zip(paper, full, strict=True))
    return red, green, blue


def colours(axes: Axes) -> tuple[Any, ...]:
    """Return the colours by order; the last is the ink of the axes."""
    return (*COLOURS[:-1], tone(axes, 1))


def as_label(name: Any, room: int = 60) -> str:
    """Return a name as matplotlib shows it: cut, seen in legends, and no broken formula."""
    text = cut(str(name), room)
    if text.count("$") > 1:  # which matplotlib takes for a formula
        from matplotlib.mathtext import MathTextParser

        try:
            MathTextParser("path").parse(text)
        except ValueError:
            text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text  # legends leave such a name out


def new_figure(size: tuple[float, float], layout: Any = None) -> Figure:
    """Return an empty figure of so many inches, width and height."""
    figure = Figure(figsize=size, layout=layout)
    FigureCanvasAgg(figure)
    return figure


def new_axes(size: tuple[float, float]) -> Axes:
    """Return axes in a figure of their own, of so many inches."""
    return new_figure(size).add_subplot()


def INCHES(name: str, value: Any) -> tuple[float, float]:
    """Return a width and a height."""
    sizes = each(POSITIVE)(name, value)
    if len(sizes) != 2:
        raise refuse(name, value, "a width and a height, both > 0")
    return sizes[0], sizes[1]


@checked(n=whole(1), size=INCHES, columns=whole(1))
def panels(n: int, size: tuple[float, float] = (3.1, 2.7), *, columns: int = 2) -> list[Axes]:
    """Return n axes in one figure, row by row, each of so many inches.

    Two columns of this size leave letters of 9 pixels where the picture is 400 wide.

    **Cost** an empty figure; drawn when it is saved.

    Examples
    --------
    >>> left, right, below = panels(3)
    >>> left.figure is below.figure, len(left.figure.axes)
    (True, 3)
    """
    columns = min(n, columns)
    rows = -(-n // columns)
    figure = new_figure((columns * size[0], rows * size[1]), "constrained")
    every = list(figure.subplots(rows, columns, squeeze=False).flat)
    for spare in every[n:]:
        spare.remove()
    return every[:n]


@checked(axes=each(AXES, 1))
def legend_below(axes: Sequence[Axes]) -> None:
    """Put one legend under panels, with each name once, in as many columns as there is room for.

    **Cost** the legend is measured once for each number of columns tried.

    Examples
    --------
    >>> axes = panels(2)
    >>> for panel in axes:
    ...     line = panel.plot([0, 1], label="regret")
    >>> legend_below(axes)
    >>> [text.get_text() for text in axes[0].figure.legends[0].get_texts()]
    ['regret']
    """
    figure: Any = axes[0].figure
    handles: dict[str, Any] = {}
    for panel in axes:
        for handle, name in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    for n in range(len(handles), 0, -1):
        legend = figure.legend(
            handles.values(), handles, loc="outside lower center", ncols=n, frameon=False
        )
        if legend.get_window_extent().width <= figure.bbox.width:
            return
        if n > 1:
            legend.remove()


@checked(axes=AXES, path=PATH, dpi=whole(1))
def save(axes: Axes, path: str | Path, *, dpi: int = 150) -> Path:
    """Write the figure of some axes to a file, and return its path.

    Parameters
    ----------
    path : the suffix says the format (png, pdf, svg, ...); without one it is png.
    dpi : dots an inch.

    Raises
    ------
    InvalidArgument
        There is no such format; so many dots that a picture of 2**28 would not hold them.

    **Cost** the figure is drawn once.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     save(panels(1, (1.0, 1.0))[0], Path(folder) / "empty.png").name
    'empty.png'
    """
    figure: Any = axes.figure
    kind = Path(path).suffix[1:].lower() or "png"
    known = figure.canvas.get_supported_filetypes()
    if kind not in known:
        raise InvalidArgument("path", f"ends in .{kind}", allowed_names(kind, known), path)
    width, height = figure.get_size_inches()
    if width * height * dpi**2 > MOST_DOTS:
        most = f"at most {MOST_DOTS} dots: {width:g} × {height:g} inches"
        raise InvalidArgument("dpi", f"is {dpi}", most, dpi)
    with writing(path) as part:
        figure.savefig(part, format=kind, dpi=dpi, bbox_inches="tight")
    return Path(path)
