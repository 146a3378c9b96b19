"""A small table: what it looks like, and the ways out of it.

Its rows are mappings from names of columns to facts; a column that a row lacks is empty there. On a
screen and in a notebook long tables show their beginning and end, and a table of one row stands
upright, a line a fact. Out of it all rows go, whole:

* `FactTable.to_frame`, of pandas, polars or pyarrow (extra ``tables``);
* `FactTable.to_csv`, for any program: numbers unrounded, truth values as ``true`` and ``false``;
* `FactTable.to_latex`, a ``tabular`` with the rules of the package booktabs.

Whatever stands in a fact is text there, and never markup.
"""

from __future__ import annotations

import csv
import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, overload
from unicodedata import category

from iirl_opt.brief import MOST_FIELDS, WIDTH, cut, shortly
from iirl_opt.checks import MAPPING, PATH, TEXT, checked, each, optional
from iirl_opt.errors import InvalidArgument
from iirl_opt.files import write_text
from iirl_opt.printing.frames import BACKEND, Backend, frame_of, library_for, of_one_type
from iirl_opt.printing.latex import latex_of

__all__ = ["FactTable", "html_of", "plain", "safe"]

Row: TypeAlias = Mapping[str, Any]

# How many rows and columns a notebook shows, how many lines a screen, and how many come last.
SHOWN_ROWS, SHOWN_COLUMNS, LAST = 25, 14, 3
# Beyond these bits Python writes no integer out.
MOST_BITS = 14_000

# Colours are the page's own: lines of a half transparent grey are seen on white and on black.
STYLE = (
    "<style>table.iirl-opt{border-collapse:collapse;border:none;margin:.4em 0;color:inherit}"
    "table.iirl-opt caption{caption-side:top;text-align:left;font-weight:600;color:inherit;"
    "white-space:nowrap}"
    "table.iirl-opt th,table.iirl-opt td{text-align:left;vertical-align:top;max-width:40em;"
    "padding:.15em .8em;border:none;border-bottom:1px solid rgba(128,128,128,.5)}"
    "table.iirl-opt .n{text-align:right}</style>"
)


class FactTable(Sequence[Row]):
    """Rows of facts under named columns, which reads like a list of mappings.

    Parameters
    ----------
    rows : mappings from the names of columns to numbers, truth values, texts or None; anything else
        is told in brief. Columns stand in the order in which they are first named.
    caption : what the table is of.

    Raises
    ------
    InvalidArgument
        A row is no mapping, or a column's name no text.

    Examples
    --------
    >>> table = FactTable([{"reward": "truth", "value": 1.5}, {"reward": "guess", "value": 0.25}])
    >>> table
    reward  value
    truth     1.5
    guess    0.25
    >>> print(table.to_csv(), end="")
    reward,value
    truth,1.5
    guess,0.25
    """

    columns: tuple[str, ...]
    caption: str

    @checked(rows=each(MAPPING), caption=TEXT)
    def __init__(self, rows: Iterable[Row], caption: str = "") -> None:
        names: dict[str, None] = {}
        kept = []
        for i, row in enumerate(rows):
            for name in row:
                if not isinstance(name, str):
                    said = f"has a column called {cut(repr(name))}"
                    raise InvalidArgument(f"rows[{i}]", said, "texts", name)
            names.update(dict.fromkeys(row))
            kept.append({name: plain(value) for name, value in row.items()})
        self.columns, self.caption = tuple(names), caption
        self._rows = [{name: row.get(name) for name in names} for row in kept]

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> FactTable: ...
    def __getitem__(self, at: int | slice) -> Row | FactTable:
        if isinstance(at, slice):
            return FactTable(self._rows[at], self.caption)
        return self._rows[at]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return self._rows == list(other)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # it compares like the list that it reads like

    def __repr__(self) -> str:
        return "\n".join(_lines(self))

    def _repr_html_(self) -> str:
        return html_of(self)

    def column(self, name: str) -> list[Any]:
        """Return the facts of a column, a row each.

        Raises
        ------
        InvalidArgument
            There is no such column.
        """
        if name not in self.columns:
            known = ", ".join(self.columns) or "none"
            raise InvalidArgument("name", f"is {cut(repr(name))}", f"a column: {known}", name)
        return [row[name] for row in self._rows]

    @checked(backend=BACKEND)
    def to_frame(self, backend: Backend | None = None) -> Any:
        """Return the table as a data frame of a library.

        A column of numbers, truth values or texts is of that type, with gaps where a row has none;
        one of several kinds is of texts, and so are Fractions.

        Parameters
        ----------
        backend : the library; None: the first that is installed of pandas, polars and pyarrow.

        Raises
        ------
        MissingExtra
            narwhals is not installed, or none of the three.
        InvalidArgument
            The library is not installed; two names of columns differ in no frame.

        **Cost** arithmetic.
        """
        columns = {_encodable(name): of_one_type(self.column(name)) for name in self.columns}
        if len(columns) < len(self.columns):
            said = "are the same name when written out in UTF-8"
            raise InvalidArgument("columns", said, "names that differ", self.columns)
        return frame_of(columns, library_for(backend))

    @checked(path=optional(PATH))
    def to_csv(self, path: str | Path | None = None) -> str:
        """Return the table as comma-separated values, and write them to a file if one is named.

        Raises
        ------
        OSError
            The folder is not there or cannot be written to.
        """
        text = StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(map(_encodable, self.columns))
        writer.writerows([_in_csv(value) for value in row.values()] for row in self._rows)
        if path is not None:
            write_text(path, text.getvalue())
        return text.getvalue()

    @checked(path=optional(PATH))
    def to_latex(self, path: str | Path | None = None) -> str:
        r"""Return the table as a ``tabular`` of LaTeX, and write it to a file if one is named.

        The document needs ``\usepackage{booktabs}``. Numbers have six digits; signs that LaTeX
        takes for its own are escaped, and those of mathematics (γ, ≤, ²) written in its mode.

        Raises
        ------
        OSError
            The folder is not there or cannot be written to.
        """
        text = latex_of(self.columns, [list(row.values()) for row in self._rows])
        if path is not None:
            write_text(path, text)
        return text


def plain(value: Any) -> Any:
    """Return a fact as None, a truth value, a number or a text."""
    if isinstance(value, Enum):
        return value.name.lower().replace("_", " ")
    if hasattr(value, "dtype") and getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, int | Fraction):
        digits = max(value.numerator.bit_length(), value.denominator.bit_length())
        return value if digits <= MOST_BITS else shortly(value)
    if value is None or isinstance(value, float | str):
        return value
    return shortly(value)


def written(value: Any) -> str:
    """Return a fact as it stands on a screen: numbers in six digits, an absent one not at all."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return cut(value, 500) if isinstance(value, str) else shortly(value)


def html_of(table: FactTable) -> str:
    """Return a table in HTML that takes its colours from the page, light or dark."""
    head = f"<caption>{safe(table.caption)}</caption>" if table.caption else ""
    return f"{STYLE}<table class='iirl-opt'>{head}{_upright(table) or _lying(table)}</table>"


def _upright(table: FactTable) -> str:
    """Return the only row of a table, a line a fact; or that there is no fact."""
    if none := _no_facts(table):
        return f"<tbody><tr><td>{safe(none)}</td></tr></tbody>"
    if len(table) != 1:
        return ""
    facts = ((safe(name), safe(written(value))) for name, value in _facts_of(table))
    lines = (f"<tr><th scope='row'>{name}</th><td>{value}</td></tr>" for name, value in facts)
    return f"<tbody>{''.join(lines)}</tbody>"


def _no_facts(table: FactTable) -> str:
    """Return what is said of a table in which no fact stands."""
    if any(value is not None for row in table for value in row.values()):
        return ""
    rows = "1 row" if len(table) == 1 else f"{len(table)} rows"
    if not table.columns:
        return f"{rows}, no columns" if table else rows
    return f"{rows}, all empty: {cut(', '.join(table.columns))}"


def _facts_of(table: FactTable) -> list[tuple[str, Any]]:
    """Return what the only row of a table says."""
    return [(name, value) for name, value in table[0].items() if value is not None]


def _lying(table: FactTable) -> str:
    """Return the rows of a table, or the first and the last of them, under their columns."""
    columns, hidden = _some(list(table.columns), SHOWN_COLUMNS)
    sides = {name: " class='n'" if _is_number(table, name) else "" for name in columns}
    names = "".join(f"<th{sides[name]}>{safe(name)}</th>" for name in columns)
    rows, missing = _some(list(table), SHOWN_ROWS)
    lines = [
        "".join(f"<td{sides[name]}>{safe(written(row[name]))}</td>" for name in columns)
        for row in rows
    ]
    notes = [f"{missing} more rows"] if missing else []
    notes += [f"{hidden} more columns"] if hidden else []
    if missing:
        lines.insert(len(rows) - LAST, f"<td colspan='{len(columns)}'>…</td>")
    foot = f"<caption class='foot'>… {', '.join(notes)}</caption>" if notes else ""
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"{foot}<thead><tr>{names}</tr></thead><tbody>{body}</tbody>"


def safe(text: str) -> str:
    """Return a text as HTML that shows it as it is, but for what has no look of its own.

    Controls, and what turns the direction of the text around it, are replaced.
    """
    seen = (x if _has_a_look(x) else "\N{REPLACEMENT CHARACTER}" for x in _encodable(text))
    return html.escape("".join(seen))


def _has_a_look(sign: str) -> bool:
    return sign.isprintable() or sign in "\n\t" or category(sign) == "Zs"


def _some(values: list[Any], most: int) -> tuple[list[Any], int]:
    """Return the first and the last few of many values, and how many are left out."""
    if len(values) <= most:
        return values, 0
    return values[: most - LAST] + values[-LAST:], len(values) - most


def _is_number(table: FactTable, name: str) -> bool:
    """Return whether a column holds numbers, or labels that are, and perhaps gaps."""
    cells = [row[name] for row in table if row[name] is not None]
    return bool(cells) and all(
        x.isdecimal() if type(x) is str else type(x) in (int, float, Fraction) for x in cells
    )


def _lines(table: FactTable) -> Iterator[str]:
    """Yield the lines of a table on a screen."""
    if table.caption:
        yield cut(table.caption, WIDTH)
    if none := _no_facts(table):
        yield none
        return
    if len(table) == 1:
        facts, missing = _some(_facts_of(table), MOST_FIELDS)
        width = max((len(cut(name)) for name, _ in facts), default=0)
        for name, value in facts:
            yield f"{cut(name):{width}}  {cut(written(value), WIDTH - width - 2)}".rstrip()
        if missing:
            yield f"… {missing} more"
        return
    rows, missing = _some(list(table), MOST_FIELDS - 2)
    columns = []
    room = WIDTH
    for name in table.columns:
        cells = [cut(text, 64) for text in (name, *(written(row[name]) for row in rows))]
        width = max(map(len, cells))
        room -= width + 2
        if room < -2:
            break
        right = _is_number(table, name)
        columns.append([f"{cell:>{width}}" if right else f"{cell:{width}}" for cell in cells])
    lines = ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]
    if missing:
        lines.insert(len(lines) - LAST, f"… {missing} more rows …")
    yield from lines
    if len(columns) < len(table.columns):
        yield f"… {len(table.columns) - len(columns)} more columns"


def _in_csv(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _encodable(value) if isinstance(value, str) else value


def _encodable(text: str) -> str:
    """Return a text without halves of characters, which no file can hold."""
    return text.encode("utf-8", "backslashreplace").decode()
