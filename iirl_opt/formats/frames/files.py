"""Tables in files: ``.csv`` and ``.parquet``, through polars, pandas or pyarrow.

A file holds the columns of a table (`iirl_opt.formats.frames`) and nothing else: discount, start
and labels of states stand in columns of their own. Of what a table cannot hold, the order of
actions that no first state has and the name of the source are lost; labels that are neither all
texts nor all integers are refused.

All of a CSV file is text. Labels are integers if all of one kind look so. Numbers are the decimals
or fractions that are written, exactly; but a column with a decimal of more than fifteen digits is
one of floats that a program printed, and is read as those. So rational games come back as they are,
and those of floats bit for bit where any of their numbers takes sixteen digits.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

from iirl_opt.checks import PATH, checked
from iirl_opt.errors import (
    FileProblem,
    InvalidArgument,
    InvalidGame,
    InvalidReward,
    MissingExtra,
    UnknownLabel,
)
from iirl_opt.files import read_bytes, read_text, write_text, writing
from iirl_opt.formats.frames.reading import from_frame
from iirl_opt.formats.frames.writing import frame_columns
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.formats.numbers import DECIMAL
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.printing.frames import load_narwhals

__all__ = ["read_table", "write_table"]

MOST_BYTES = 2**32
INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
TRUTH = {"true": True, "True": True, "false": False, "False": False}


@checked(path=PATH)
def read_table(path: str | Path, discount: Any = None, **columns: Any) -> ImportedGame:
    """Read the game of a ``.csv`` or ``.parquet`` file that has a row for each transition.

    Parameters
    ----------
    path : a CSV file has commas between its fields and the columns' names in its first line, and
        may be compressed (``.csv.gz``).
    discount : 0 ≤ γ < 1; by default the column of this name.
    columns : what `from_frame` takes: the columns' names, orders of labels, and so on.

    Raises
    ------
    FileProblem
        Names the row, counted from 0 below the first line, and the column.
    InvalidArgument
        There is no discount.
    MissingExtra
        narwhals is not installed, or none of polars, pandas and pyarrow.
    OSError
        There is no such file, or it cannot be opened.

    **Cost** arithmetic: some 4 s for a million rows.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> rows = ["state,action,next_state,probability", "0,go,0,1/3", "0,go,1,2/3", "1,go,1,1"]
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "game.csv")
    ...     _ = path.write_text("\\n".join(rows))
    ...     found = read_table(path, "9/10", follower="action")
    >>> found.game.rational.rows.row(0)
    {0: Fraction(1, 3), 1: Fraction(2, 3)}
    """
    path = Path(path)
    frame = _read_csv(path) if _is_csv(path) else _read_parquet(path)
    if discount is not None:
        columns["discount"] = discount
    try:
        return from_frame(_typed(frame, columns) if _is_csv(path) else frame, **columns)
    except (InvalidArgument, InvalidGame, InvalidReward, UnknownLabel) as problem:
        if getattr(problem, "place", "frame") in {"discount", *columns}:
            raise
        raise FileProblem(path, str(problem)) from problem


@checked(path=PATH)
def write_table(problem: ImportedGame | TwoAgentMDP, path: str | Path) -> None:
    """Write a game to a ``.csv`` or ``.parquet`` file, whole or not at all.

    Numbers of a rational game are written exactly, as 0.25 or 1/3; a ``.parquet`` file holds those
    of a game of floats as they are.

    Raises
    ------
    InvalidArgument
        Labels are neither all texts nor all integers, or texts that would be read as integers.
    FileProblem
        The name ends in neither suffix.
    MissingExtra
        narwhals is not installed, or none of polars, pandas and pyarrow.
    OSError
        The folder is not there or cannot be written to.

    **Cost** arithmetic, linear in the transitions.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import iirl_opt as iirl
    >>> game = iirl.TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], "1/2", states=["hall", "goal"])
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "game.csv")
    ...     write_table(game, path)
    ...     print(*path.read_text().splitlines(), sep="\\n")
    state,leader,follower,next_state,probability,discount,start
    hall,0,0,hall,0.5,0.5,0.5
    hall,0,0,goal,0.5,0.5,0.5
    goal,0,0,goal,1,0.5,0.5
    """
    given, path = ImportedGame.of(problem), Path(path)
    csv = _is_csv(path)
    game = given.game
    for name, labels in (
        ("states", game.states),
        ("leader_actions", game.leader_actions),
        ("follower_actions", game.follower_actions),
    ):
        _check_labels(name, list(labels), csv)
    for kind, named in (("rewards", given.rewards), ("labels", given.labels)):
        _check_labels(kind, [name or "-" for name in named], csv=False)
        quoted = [name for name in named if csv and '"' in name]
        if quoted:  # readers of CSV disagree on those in a head
            allowed = "names without quotation marks in a .csv file"
            raise InvalidArgument(f"{kind}[{quoted[0]!r}]", "cannot be written", allowed, quoted[0])
    nw, backend = load_narwhals(), _backend(csv)
    columns = frame_columns(given, exact=True)
    frame = nw.from_dict(columns, backend=backend)
    if csv:
        write_text(path, frame.write_csv())
    else:
        with writing(path, ".parquet") as part:
            frame.write_parquet(part)


def _is_csv(path: Path) -> bool:
    """Return whether a name is that of a CSV file, and not of the other kind."""
    name = path.name.lower()
    if name.endswith((".csv", ".csv.gz")):
        return True
    if not name.endswith(".parquet"):
        raise FileProblem(path, "is of no kind of tables; allowed .csv, .csv.gz or .parquet")
    return False


def _backend(csv: bool) -> str:
    """Return the library that reads and writes files, the fastest that is installed."""
    libraries = ("polars", "pandas") if csv else ("polars", "pyarrow")
    for name in libraries:
        if find_spec(name) is not None:
            return name
    raise MissingExtra(f"a table in a file ({' or '.join(libraries)})", "tables")


def _read_csv(path: Path) -> Any:
    """Return a CSV file as a table of texts; what is empty is null."""
    nw, backend = load_narwhals(), _backend(csv=True)
    texts: dict[str, dict[str, Any]] = {
        "polars": {"infer_schema": False},
        "pandas": {"dtype": str, "keep_default_na": False, "na_values": [""]},
    }
    try:
        content = BytesIO(read_text(path, MOST_BYTES).encode())
        return nw.read_csv(content, backend=backend, **texts[backend])
    except (FileProblem, OSError):
        raise
    except Exception as problem:  # whatever a library says of a file that is none
        said = str(problem).strip().split("\n")[0]
        raise FileProblem(path, f"is no table of comma-separated values ({said})") from problem


def _read_parquet(path: Path) -> Any:
    nw, backend = load_narwhals(), _backend(csv=False)
    content = BytesIO(read_bytes(path, MOST_BYTES))
    try:
        return nw.read_parquet(content, backend=backend)
    except Exception as problem:  # whatever a library says of a file that is none
        said = str(problem).strip().split("\n")[0]
        raise FileProblem(path, f"is no parquet file, or damaged ({said})") from problem


def _typed(frame: Any, columns: dict[str, Any]) -> Any:
    """Return a table of texts with the types that they show."""
    nw = load_narwhals()
    defaults = {"state": "state", "successor": "next_state"}
    ends = [columns.get(name, default) for name, default in defaults.items()]
    agents = [columns.get(name, name) for name in ("leader", "follower")]
    for names in (ends, agents[:1], agents[1:]):
        there = [name for name in names if name in frame.columns]
        known = {text for name in there for text in frame[name].unique().to_list()}
        if there and all(text is not None and INTEGER.fullmatch(text) for text in known):
            frame = frame.with_columns(nw.col(name).cast(nw.Int64) for name in there)
    for name in frame.columns:
        if name in (*ends, *agents) or frame.schema[name] != nw.String:
            continue
        known = frame[name].unique().to_list()
        if name.startswith("label:") and set(known) <= TRUTH.keys():
            values = frame[name].replace_strict(TRUTH, return_dtype=nw.Boolean)
            frame = frame.with_columns(values.alias(name))
        elif _are_printed(known):
            frame = frame.with_columns(nw.col(name).cast(nw.Float64))
    return frame


def _are_printed(known: list[str | None]) -> bool:
    """Return whether the different texts of a column are floats that a program printed."""
    texts = [text for text in known if text is not None]
    if not any("." in text and _significant(text) > 15 for text in texts):
        return False
    return all(re.fullmatch(DECIMAL, text) for text in texts)


def _significant(text: str) -> int:
    """Return how many digits a decimal has, from the first that is not zero."""
    mantissa = text.lower().partition("e")[0]
    return len(mantissa.strip("+-").replace(".", "").lstrip("0"))


def _check_labels(name: str, labels: list[Any], csv: bool) -> None:
    """Refuse labels that would come back as others."""
    if all(type(label) is int and abs(label) < 10**18 for label in labels):
        return
    wrong = next((label for label in labels if not _is_text(label)), None)
    if wrong is not None or None in labels:
        allowed = "text (of Unicode, not empty, without \\r), or integers alone, in a table"
        raise InvalidArgument(name, f"contain {wrong!r}", allowed, wrong)
    if csv and all(map(INTEGER.fullmatch, labels)):
        problem = f"are texts such as {labels[0]!r}, which would be read as integers"
        raise InvalidArgument(name, problem, "other texts, or .parquet", labels[0])


def _is_text(label: Any) -> bool:
    """Return whether a label is a text that comes back as it is."""
    if type(label) is not str or not label or "\r" in label:
        return False
    try:
        label.encode()
    except UnicodeEncodeError:
        return False
    return True
