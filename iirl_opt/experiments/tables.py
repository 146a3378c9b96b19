"""Tidy tables of sweeps: a row an observation, a column a fact.

Every row says its cell (figure, game, method, seed and a column a parameter) and what was measured.
Where a cell measures a list, it has a row for each entry: the regrets of learning are a row an
*episode*, counted from 1, and figure 1's rewards a row a *state*, counted from 0. Where it measures
numbers alone, as figures 6 and 7 do at each level of the follower, the cell is the row. A number of
the whole cell stands in each of its rows.

Seconds are in no table: the same sweep gives the same one, whoever computed it.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

from iirl_opt.errors import InvalidArgument
from iirl_opt.experiments.sweep import CellResult
from iirl_opt.files import write_text, writing

__all__ = ["tidy", "write_tidy"]

# What a list of a cell runs along, from which number on, and what one entry of it is called.
ALONG = {
    "regrets": ("episode", 1, "regret"),
    "reward": ("state", 0, "reward"),
    "truth": ("state", 0, "truth"),
}
CELL = ("figure", "game", "method", "seed")


def tidy(found: Mapping[str, Any] | Iterable[CellResult]) -> list[dict[str, Any]]:
    """Return the rows of a sweep, all with the same columns, None where a cell has no such fact.

    Parameters
    ----------
    found : the document of a figure or comparison, or results of `run_cells`. Lists of one's own
        computations run along ``index``, from 0. What is no number, truth value or text, such as
        the size of a game, becomes its JSON text.

    Raises
    ------
    InvalidArgument
        A cell has lists of different lengths, or one name for two columns.

    Examples
    --------
    >>> from iirl_opt.experiments import Cell
    >>> cell = Cell("mine", "maze", "active", 0, {"run": 1})
    >>> for row in tidy([CellResult(cell, {"optimal": 2.0, "regrets": [0.5, 0.0]}, 0.1)]):
    ...     print(list(row.values()))
    ['mine', 'maze', 'active', 0, 1, 1, 2.0, 0.5]
    ['mine', 'maze', 'active', 0, 1, 2, 2.0, 0.0]
    """
    rows = [row for cell in _cells(found) for row in _rows_of_cell(cell)]
    places = {name: place for row in rows for name, (place, _) in row.items()}
    # Those of the cell, its parameters, what lists run along, what was measured.
    columns = sorted(places, key=lambda name: places[name])
    return [{name: row.get(name, (0, None))[1] for name in columns} for row in rows]


def write_tidy(document: Mapping[str, Any], path: str | Path) -> list[Path]:
    """Write the rows of a document as CSV and, where pyarrow is, as parquet; return the files.

    The schema of the parquet file has, under ``iirl_opt``, what the document says of the whole
    sweep: what was asked, and by which versions. CSV has no place for it.

    Parameters
    ----------
    path : of the files, without an ending.

    Raises
    ------
    InvalidArgument
        As `tidy`.
    OSError
        The folder is not there or cannot be written to.
    """
    rows = tidy(document)
    text = StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(rows[0] if rows else CELL)
    table.writerows([_in_csv(value) for value in row.values()] for row in rows)
    written = [write_text(Path(f"{path}.csv"), text.getvalue())]
    if find_spec("pyarrow") is not None:
        written.append(_write_parquet(document, rows, Path(f"{path}.parquet")))
    return written


def _write_parquet(document: Mapping[str, Any], rows: Sequence[Any], path: Path) -> Path:
    import pyarrow as pa
    from pyarrow import parquet

    names = tuple(rows[0]) if rows else CELL
    table = pa.table({name: _column([row[name] for row in rows]) for name in names})
    facts = {k: v for k, v in document.items() if k not in ("cells", "statements", "summary")}
    table = table.replace_schema_metadata({"iirl_opt": json.dumps(facts, sort_keys=True)})
    with writing(path) as part:
        parquet.write_table(table, part)
    return path


def _column(values: Sequence[Any]) -> list[Any]:
    """Return values of one type, which parquet needs: as they are, as floats, or as texts."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) < 2:
        return list(values)
    kind: type = float if kinds == {int, float} else str
    return [None if value is None else kind(_in_csv(value)) for value in values]


def _in_csv(value: Any) -> Any:
    return ("true" if value else "false") if isinstance(value, bool) else value


def _cells(found: Mapping[str, Any] | Iterable[CellResult]) -> Iterator[Mapping[str, Any]]:
    if isinstance(found, Mapping):
        if "cells" not in found:
            raise InvalidArgument("document", "has no cells", "one of a figure or comparison")
        yield from found["cells"]
        return
    for result in found:
        if not isinstance(result, CellResult):
            said = f"holds a {type(result).__name__}"
            raise InvalidArgument("results", said, "results of run_cells", result)
        yield {**asdict(result.cell), "values": result.values}


def _rows_of_cell(cell: Mapping[str, Any]) -> Iterator[dict[str, tuple[int, Any]]]:
    """Yield the rows of a cell: by column its place among the others, and the value."""
    lists = {name: value for name, value in cell["values"].items() if isinstance(value, list)}
    axes = {(*ALONG.get(name, ("index", 0))[:2], len(entries)) for name, entries in lists.items()}
    if len(axes) > 1:
        said = f"has lists that differ: {', '.join(f'{n} has {len(v)}' for n, v in lists.items())}"
        raise InvalidArgument(f"the cell {cell['game']}, {cell['method']}", said, "one length")
    axis, begin, length = axes.pop() if axes else ("", 0, 1)
    for number in range(length) if length else (None,):
        row = [(0, name, cell[name]) for name in CELL]
        row += [(1, *fact) for fact in cell["parameters"].items()]
        row += [(2, axis, None if number is None else begin + number)] if axis else []
        for name, value in cell["values"].items():
            if name not in lists:
                row.append((3, name, value))
            else:
                entry = None if number is None else value[number]
                row.append((3, ALONG[name][2] if name in ALONG else name, entry))
        names = [name for _, name, _ in row]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidArgument("cells", f"have two columns called {twice!r}", "one", twice)
        yield {name: (place, _scalar(value)) for place, name, value in row}


def _scalar(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return json.dumps(value, sort_keys=True)
