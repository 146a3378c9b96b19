"""Records as tables: the rows that a record has, and one table of many records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from iirl_opt.brief import facts
from iirl_opt.checks import TEXT, checked, each, shown
from iirl_opt.errors import InvalidArgument
from iirl_opt.printing.frames import Backend
from iirl_opt.printing.table import FactTable

__all__ = ["Tabular", "tabulate", "with_html"]


class Tabular:
    """What has a table: it is shown in notebooks, and goes out as a frame, as CSV and as LaTeX.

    A record says its own rows by ``table``; the fields of a dataclass in one row are the default.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Run(Tabular):
    ...     seed: int
    ...     regret: float
    >>> print(Run(1, 0.25).to_csv())
    seed,regret
    1,0.25
    """

    __slots__ = ()

    def table(self) -> FactTable:
        """Return what the record says as a table."""
        assert is_dataclass(self)
        facts = {f.name: getattr(self, f.name) for f in fields(self) if f.repr}
        return FactTable([facts], type(self).__name__)

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def to_frame(self, backend: Backend | None = None) -> Any:
        """Return ``table`` as a data frame of pandas, polars or pyarrow (`FactTable.to_frame`)."""
        return self.table().to_frame(backend)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return ``table`` as comma-separated values, written to a file if one is named."""
        return self.table().to_csv(path)

    def to_latex(self, path: str | Path | None = None) -> str:
        """Return ``table`` as a ``tabular`` of LaTeX, written to a file if one is named."""
        return self.table().to_latex(path)


def with_html(record: Any, by: str = "") -> str:
    """Return a record's fields as a table in HTML, for ``_repr_html_ = with_html`` in its class.

    Parameters
    ----------
    by : what a row of each of its arrays is of; then a row of the table is, too.
    """
    rows: list[Mapping[str, Any]] = [dict(facts(record))]
    if by:
        entries = zip(*rows[0].values(), strict=True)
        rows = [{by: i, **dict(zip(rows[0], x, strict=True))} for i, x in enumerate(entries)]
    return FactTable(rows, type(record).__name__)._repr_html_()


@checked(caption=TEXT)
def tabulate(records: Iterable[Any] | Mapping[str, Any], caption: str = "") -> FactTable:
    """Return one table of many records: the rows of each, one under the other.

    Parameters
    ----------
    records : whatever has a ``table``, such as reports, commitments, episodes, results of claims,
        or plain mappings; or all these by name: the names are the first column.
    caption : what the table is of.

    Raises
    ------
    InvalidArgument
        One of them has no table, or they are no collection.

    **Cost** one ``table()`` a record.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, truth = iirl.random_game(4, 2, 2, rng=0)
    >>> tabulate(iirl.interact(iirl.InteractiveIRL(game), truth, 2))
    episode    value     best    regret
          1  3.92206  6.43478   2.51272
          2  6.27132  6.43478  0.163462
    """
    if isinstance(records, Mapping):
        named = [(name, _RECORD(f"records[{shown(name)}]", x)) for name, x in records.items()]
        return FactTable([{"name": name, **row} for name, rows in named for row in rows], caption)
    parts = each(_RECORD)("records", records)
    return FactTable([row for rows in parts for row in rows], caption)


def _RECORD(name: str, value: Any) -> Sequence[Mapping[str, Any]]:
    """Return the rows of what has a table, or is a row."""
    if isinstance(value, Mapping):
        return [value]
    if not isinstance(value, Tabular | FactTable):
        raise InvalidArgument(name, f"is a {type(value).__name__}", "what has a table", value)
    return value if isinstance(value, FactTable) else value.table()
