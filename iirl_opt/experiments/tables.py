"""Tidy tables of sweeps: a row an observation, a column a fact.

Every row says its cell (figure, game, method, seed and a column a parameter) and what was measured.
Where a cell measures a list, it has a row for each entry: the regrets of learning are a row an
*episode*, counted from 1, and figure 1's rewards a row a *state*, counted from 0. Where it measures
numbers alone, as figures 6 and 7 do at each level of the follower, the cell is the row. A number of
the whole cell stands in each of its rows.

In files, each column has one type, by Arrow's name: ``bool``, ``int64``, ``double`` or ``string``;
one in which nothing is known is ``double``. A column that none of them holds (numbers beside texts,
whole numbers of more than 64 bits, texts that are no Unicode) has the JSON text of each value. What
no column says (versions, seeds, which columns are JSON) is the table's *metadata*.

Seconds are in no table: the same sweep gives the same one, whoever computed it.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from iirl_opt.checkpoint import dump
from iirl_opt.checks import PATH, checked, shown
from iirl_opt.errors import InvalidArgument
from iirl_opt.experiments.figure import document
from iirl_opt.experiments.sweep import CellResult
from iirl_opt.files import writing
from iirl_opt.printing.table import FactTable
from iirl_opt.versions import versions

__all__ = ["tidy", "write_tidy"]

# What a list of a cell runs along, from which number on, and what one entry of it is called.
ALONG = {
    "regrets": ("episode", 1, "regret"),
    "losses": ("answer", 1, "loss"),
    "reward": ("state", 0, "reward"),
    "truth": ("state", 0, "truth"),
}
CELL = ("figure", "game", "method", "seed")

# Of a document, what is a cell's or speaks of all cells, and so is not in the metadata.
NO_FACTS = ("cells", "statements", "summary")


def tidy(found: Mapping[str, Any] | Iterable[CellResult]) -> FactTable:
    """Return the table of a sweep, whose rows have None where a cell has no such fact.

    Parameters
    ----------
    found : the document of a figure or comparison, or results of `run_cells`. Lists of one's own
        computations run along ``index``, from 0. What is no number, truth value or text, such as
        the size of a game, becomes its JSON text.

    Raises
    ------
    InvalidArgument
        It is neither, or a cell in it is not whole; a cell has lists of different lengths, one name
        for two columns, or what is no JSON.

    **Cost** arithmetic, linear in the entries of the table.

    Examples
    --------
    >>> from iirl_opt.experiments import Cell
    >>> cell = Cell("mine", "maze", "active", 0, {"run": 1})
    >>> for row in tidy([CellResult(cell, {"optimal": 2.0, "regrets": [0.5, 0.0]}, 0.1)]):
    ...     print(list(row.values()))
    ['mine', 'maze', 'active', 0, 1, 1, 2.0, 0.5]
    ['mine', 'maze', 'active', 0, 1, 2, 2.0, 0.0]
    """
    cells = _document_of(found)["cells"]
    rows = [row for number, cell in enumerate(cells) for row in _rows_of_cell(number, cell)]
    places: dict[str, int] = {}
    for row in rows:
        for name, (place, _) in row.items():
            if places.setdefault(name, place) != place:
                said = f"have a column called {name!r} of two kinds"
                raise InvalidArgument("cells", said, "one: a parameter or what was measured", name)
    # Those of the cell, its parameters, what lists run along, what was measured.
    columns = sorted(places, key=lambda name: places[name])
    return FactTable({name: row.get(name, (0, None))[1] for name in columns} for row in rows)


@checked(path=PATH)
def write_tidy(found: Mapping[str, Any] | Iterable[CellResult], path: str | Path) -> list[Path]:
    """Write the rows of a sweep as CSV and, where pyarrow is, as parquet, with their metadata.

    Returns the files: ``PATH.csv``, ``PATH.parquet`` and ``PATH.meta.json``. The metadata stands in
    the schema of the parquet file, too, under ``iirl_opt``: what the document says of the whole
    sweep, such as its versions, ``document_sha256`` (of the document as JSON with sorted keys),
    ``seeds``, ``rows``, and ``columns``, each with ``name`` and ``type``, and ``json`` where its
    values are JSON texts.

    Parameters
    ----------
    found : as for `tidy`. Results are a document of the versions that are installed.
    path : of the files, without an ending.

    Raises
    ------
    InvalidArgument
        As `tidy`; the path has such an ending, or names no file; a column has no name, or one that
        is no Unicode.
    OSError
        The folder is not there or cannot be written to, or a folder stands in a file's place.

    **Cost** arithmetic, linear in the entries of the table.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from iirl_opt.experiments import Cell
    >>> result = CellResult(Cell("mine", "maze", "active"), {"regrets": [0.5, 0.0]}, 0.1)
    >>> with TemporaryDirectory() as folder:
    ...     print(write_tidy([result], Path(folder, "runs"))[0].read_text(), end="")
    figure,game,method,seed,episode,regret
    mine,maze,active,0,1,0.5
    mine,maze,active,0,2,0.0
    """
    files = _files_of(path)
    whole = _document_of(found)
    rows = tidy(whole)
    columns = [_column(name, [row[name] for row in rows]) for name in (rows[0] if rows else CELL)]
    facts = _metadata(whole, rows, columns)
    contents = [_csv(columns).encode(), (json.dumps(facts, indent=1) + "\n").encode()]
    if find_spec("pyarrow") is not None:
        contents.insert(1, _parquet(columns, facts))
    else:
        del files[1]
    for file, content in zip(files, contents, strict=True):
        with writing(file) as part:
            part.write_bytes(content)
    return files


def _files_of(path: str | Path) -> list[Path]:
    """Return the files that are to be written; all can be, as far as is known before."""
    endings = (".csv", ".parquet", ".meta.json")
    name = os.path.basename(path)
    if name in ("", ".", "..") or name.lower().endswith(endings):
        raise InvalidArgument("path", f"is {shown(path)}", "files' name without an ending", path)
    files = [Path(f"{os.fspath(path)}{ending}") for ending in endings]
    for file in files:
        if file.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(file))
    return files


class _Column(NamedTuple):
    """A column of one type: its name, its type by Arrow's name, whether it has JSON texts."""

    name: str
    type: str
    json: bool
    values: Sequence[Any]


def _column(name: str, values: Sequence[Any]) -> _Column:
    if not name or not _is_unicode(name):
        raise InvalidArgument(f"the column {name!r}", "has a name of no text", "Unicode", name)
    known = [value for value in values if value is not None]
    kinds = {type(value) for value in known} or {float}
    for kind, (held, is_held) in HOLDS.items():
        if kinds <= held and all(map(is_held, known)):
            return _Column(name, kind, False, values)
    texts = [None if value is None else json.dumps(value) for value in values]
    return _Column(name, "string", True, texts)


def _is_unicode(text: str) -> bool:
    """Return whether a text has no half of a surrogate pair, as names of files may have."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _is_float(value: float) -> bool:
    return isinstance(value, float) or (abs(value) <= 2**53)


# By Arrow's name of a type: which values it holds, the first that holds them all is a column's.
HOLDS: Mapping[str, tuple[frozenset[type], Callable[[Any], bool]]] = {
    "bool": (frozenset({bool}), lambda value: True),
    "int64": (frozenset({int}), lambda value: -(2**63) <= value < 2**63),
    "double": (frozenset({int, float}), _is_float),
    "string": (frozenset({str}), _is_unicode),
}


def _metadata(
    whole: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], columns: Sequence[_Column]
) -> dict[str, Any]:
    """Return what is known of a table beside its rows, JSON-able."""
    try:
        digest = sha256(dump(whole).encode()).hexdigest()
    except (RecursionError, TypeError, ValueError) as problem:
        said = f"cannot be written as JSON ({problem})"
        raise InvalidArgument("document", said, "finite JSON-able facts") from None
    told = [
        {"name": column.name, "type": column.type} | ({"json": True} if column.json else {})
        for column in columns
    ]
    return {
        **{name: fact for name, fact in whole.items() if name not in NO_FACTS},
        "document_sha256": digest,
        "seeds": list(dict.fromkeys(row["seed"] for row in rows)),
        "rows": len(rows),
        "columns": told,
    }


def _csv(columns: Sequence[_Column]) -> str:
    """Return the lines of a table, in which an empty text is ``""`` and what is unknown nothing."""
    fields = [[_field(value) for value in (column.name, *column.values)] for column in columns]
    return "".join(",".join(line) + "\n" for line in zip(*fields, strict=True))


def _field(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return repr(value)
    if value and not any(letter in value for letter in ',"\r\n'):
        return value
    return '"' + value.replace('"', '""') + '"'


def _parquet(columns: Sequence[_Column], facts: Mapping[str, Any]) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    arrays = {
        column.name: pa.array(column.values, pa.type_for_alias(column.type)) for column in columns
    }
    table = pa.table(arrays).replace_schema_metadata({"iirl_opt": json.dumps(facts)})
    sink = BytesIO()
    parquet.write_table(table, sink)
    return sink.getvalue()


def _document_of(found: Mapping[str, Any] | Iterable[CellResult]) -> Mapping[str, Any]:
    """Return a document, or that of results."""
    if isinstance(found, Mapping):
        if not isinstance(found.get("cells"), Sequence) or isinstance(found["cells"], str):
            raise InvalidArgument("document", "has no cells", "one of a figure or comparison")
        return found
    if not isinstance(found, Iterable):
        said = f"is {shown(found)}"
        raise InvalidArgument("results", said, "a document, or results of run_cells", found)
    results = list(found)
    for result in results:
        if not isinstance(result, CellResult):
            said = f"holds a {type(result).__name__}"
            raise InvalidArgument("results", said, "results of run_cells", result)
    return document(results, {"versions": versions()})


def _rows_of_cell(number: int, cell: Any) -> Iterator[dict[str, tuple[int, Any]]]:
    """Yield the rows of a cell: by column its place among the others, and the value."""
    _check_cell(number, cell)
    place = f"the cell {shown(cell['game'])}, {shown(cell['method'])}"
    lists = {name: value for name, value in cell["values"].items() if isinstance(value, list)}
    axes = {(*ALONG.get(name, ("index", 0))[:2], len(entries)) for name, entries in lists.items()}
    if len(axes) > 1:
        said = f"has lists that differ: {', '.join(f'{n} has {len(v)}' for n, v in lists.items())}"
        raise InvalidArgument(place, said, "one length")
    axis, begin, length = axes.pop() if axes else ("", 0, 1)
    for index in range(length) if length else (None,):
        row = [(0, name, cell[name]) for name in CELL]
        row += [(1, *fact) for fact in cell["parameters"].items()]
        row += [(2, axis, None if index is None else begin + index)] if axis else []
        for name, value in cell["values"].items():
            if name not in lists:
                row.append((3, name, value))
            else:
                entry = None if index is None else value[index]
                row.append((3, ALONG[name][2] if name in ALONG else name, entry))
        names = [name for _, name, _ in row]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidArgument("cells", f"have two columns called {twice!r}", "one", twice)
        yield {name: (rank, _scalar(place, name, value)) for rank, name, value in row}


def _check_cell(number: int, cell: Any) -> None:
    """Refuse what is no cell of a document, by its number."""
    place = f"cells[{number}]"
    if not isinstance(cell, Mapping):
        raise InvalidArgument(place, f"is {shown(cell)}", "a mapping", cell)
    for name in (*CELL, "parameters", "values"):
        if name not in cell:
            raise InvalidArgument(place, f"has no {name!r}", "a cell with its values", cell)
    for part in ("parameters", "values"):
        facts = cell[part]
        if not isinstance(facts, Mapping) or not all(isinstance(name, str) for name in facts):
            said = f"is {shown(facts)}"
            raise InvalidArgument(f"{place}[{part!r}]", said, "a mapping of texts", facts)


def _scalar(place: str, column: str, value: Any) -> Any:
    """Return a value as one of Python's own, or its JSON text."""
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    if value is None:
        return None
    try:
        return dump(value)
    except (RecursionError, TypeError, ValueError) as problem:
        said = f"has {shown(value)} as {column!r}, which is no JSON ({problem})"
        raise InvalidArgument(place, said, "finite JSON-able facts", value) from None
