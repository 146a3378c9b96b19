"""The columns of a table, by narwhals: labels, numbers, and what is said of states."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.checks import TEXT, each
from iirl_opt.errors import InvalidArgument, InvalidGame, UnknownLabel
from iirl_opt.exact.numbers import UNREADABLE, as_fraction, as_reals
from iirl_opt.formats.choices import IDLE, Integers, Names, read_names
from iirl_opt.game.labels import Labels
from iirl_opt.printing.frames import load_narwhals

if TYPE_CHECKING:
    import narwhals as nw

__all__ = ["EdgeTable", "Numbers"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers: as they are, or the places of exact ones in a list of these."""

    values: NDArray[Any]
    exact: tuple[Fraction, ...] | None = None

    def take(self, rows: Integers) -> Numbers:
        """Return those of some rows."""
        return Numbers(self.values[rows], self.exact)

    def floats(self) -> Array:
        """Return the numbers as floats."""
        if self.exact is None:
            return self.values.astype(float)
        known: Array = as_reals(np.array([*self.exact, 0], dtype=object))
        return np.asarray(known[self.values])

    def objects(self) -> NDArray[Any]:
        """Return the numbers as Python's: exact ones as Fractions; place −1 is of zero."""
        if self.exact is None:
            return self.values.astype(object)
        return np.asarray(np.array([*self.exact, 0], dtype=object)[self.values])


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """A table by narwhals, with what its columns hold."""

    frame: nw.DataFrame[Any]

    @classmethod
    def of(cls, given: Any) -> EdgeTable:
        """Return a table, or say that it is none."""
        narwhals = load_narwhals()
        try:
            frame = narwhals.from_native(given, eager_only=True)
            if len(frame):
                return cls(frame)
            said = "has no rows"
        except TypeError:
            said = f"is a {type(given).__name__}"
        except Exception as problem:  # whatever a library says of columns of one name
            said = f"is no table ({problem})"
        allowed = "a row for each transition, in a table of pandas, polars (not lazy) or pyarrow"
        raise InvalidArgument("frame", said, allowed, given)

    def column(self, name: str, role: str = "") -> Any:
        """Return a column, all of it filled; `role` says which column is missing."""
        if name not in self.frame.columns:
            raise UnknownLabel(f"{role} column".strip(), name, self.frame.columns)
        series = self.frame[name]
        self.check(name, series.is_null().to_numpy(), "a value", "is empty")
        return series

    def check(
        self, name: str, wrong: NDArray[np.bool_], allowed: str, problem: str | None = None
    ) -> None:
        """Refuse the first row, counted from 0, that has something wrong in a column."""
        if wrong.any():
            row = int(np.argmax(wrong))
            value = self.frame[name][row]
            value = value.item() if isinstance(value, np.generic) else value
            said = problem or f"is {reprlib.repr(value)}"
            raise InvalidGame(f"row {row}, column {name!r}", said, allowed, value)

    def check_double(self, rows: Integers, before: Integers, state: str, successor: str) -> None:
        """Refuse rows that have the transitions of others."""
        if rows.size:
            first = int(np.argmin(rows))
            values = f"{self.frame[state][int(rows[first])]!r} → "
            values += f"{self.frame[successor][int(rows[first])]!r}"
            problem = f"is the transition {values} of row {before[first]} again"
            allowed = 'each transition once, or duplicates="sum"'
            raise InvalidGame(f"row {rows[first]}", problem, allowed, int(rows[first]))

    def coded(self, name: str, role: str) -> tuple[Integers, list[Any]]:
        """Return labels in their order, and which of them stands in each row."""
        nw, series = load_narwhals(), self.column(name, role)
        if series.dtype in (nw.Object, nw.Unknown):
            return _coded_objects(name, series.to_list())
        if series.dtype.is_nested():
            raise InvalidGame(f"column {name!r}", f"is of type {series.dtype}", "labels", name)
        found = series.unique(maintain_order=True)
        labels, old = found.to_list(), found
        if series.dtype in (nw.Categorical, nw.Enum):
            old, series = found.cast(nw.String), series.cast(nw.String)
        old = old.to_list()
        if len({*old}) < len(labels):  # categories that read alike, as 1 and "1"
            codes, labels = _coded_objects(name, self.frame[name].to_list())
        else:
            places = list(range(len(old)))
            codes = series.replace_strict(old, places, return_dtype=nw.Int64).to_numpy()
        if found.dtype != nw.Enum:
            return codes, labels
        order = {category: i for i, category in enumerate(found.dtype.categories)}
        by_order = sorted(range(len(labels)), key=lambda i: order[labels[i]])
        return np.argsort(by_order)[codes], [labels[i] for i in by_order]

    def places(
        self,
        ends: tuple[str, str],
        agents: dict[str, tuple[str, Names]],
        states: Names,
    ) -> tuple[list[Integers], tuple[Labels, Labels, Labels]]:
        """Return where each row's state, actions and next state stand among their labels."""
        tails, before = self.coded(ends[0], "state")
        heads, after = self.coded(ends[1], "successor")
        names = [_labels("state", states, [*before, *after])]
        found = [_index(names[0], before)[tails]]
        for agent, (name, given) in agents.items():
            if name not in self.frame.columns and name == agent:
                codes, labels = np.zeros(len(self.frame), dtype=np.int64), [IDLE]
                labels = labels if given is None else list(read_names(f"{agent} action", given, 1))
            else:
                codes, labels = self.coded(name, agent)
            names.append(_labels(f"{agent} action", given, labels))
            found.append(_index(names[-1], labels)[codes])
        return [*found, _index(names[0], after)[heads]], (names[0], names[1], names[2])

    def numbers(self, name: str, role: str = "") -> Numbers:
        """Return a column of finite numbers."""
        nw, series = load_narwhals(), self.column(name, role)
        if series.dtype.is_numeric() and series.dtype != nw.Decimal:
            values = series.to_numpy()
            self.check(name, ~np.isfinite(values), "a finite number")
            return Numbers(values)
        if series.dtype in (nw.Object, nw.Unknown):
            codes, given = _coded_objects(name, series.to_list())
        elif series.dtype.is_nested():
            raise InvalidGame(f"column {name!r}", f"is of type {series.dtype}", "numbers", name)
        else:
            series = series.cast(nw.String) if series.dtype != nw.Boolean else series
            given = series.unique(maintain_order=True).to_list()
            codes = series.replace_strict(given, list(range(len(given))), return_dtype=nw.Int64)
            codes = codes.to_numpy()
        exact = [_fraction(value) for value in given]
        unread = np.array([number is None for number in exact], dtype=bool)
        self.check(name, unread[codes] if unread.any() else unread, 'a number, 0.25 or "1/4"')
        return Numbers(codes, tuple(number for number in exact if number is not None))

    def reward_columns(self, given: str | Iterable[str] | None) -> dict[str, str]:
        """Return the columns of rewards by the rewards' names."""
        columns = self.frame.columns
        if given is None:
            found = [name for name in columns if name == "reward" or name.startswith("reward:")]
        else:
            found = [given] if isinstance(given, str) else list(each(TEXT)("reward", given))
        by_name: dict[str, str] = {}
        for column in found:
            first = by_name.setdefault(name := column.removeprefix("reward:"), column)
            if first != column:
                problem = f"are in columns {first!r} and {column!r} as {name!r}"
                raise InvalidArgument("rewards", problem, "one column for each name", found)
        return by_name

    def discount(self) -> Any:
        """Return the one discount of all rows."""
        if "discount" not in self.frame.columns:
            problem = "is not given, and the table has no column of this name"
            raise InvalidArgument("discount", problem, "0 ≤ γ < 1")
        numbers = self.numbers("discount")
        self.check("discount", numbers.values != numbers.values[0], "the same in all rows")
        return numbers.take(np.zeros(1, dtype=np.int64)).objects()[0]

    def start(self, state: Integers, n: int) -> Any:
        """Return the start distribution, or None if there is none."""
        if "start" not in self.frame.columns:
            return None
        numbers = self.numbers("start")
        zero = 0 if numbers.exact is None else -1
        said = self._of_states("start", numbers.values, zero, state, n)
        return Numbers(said, numbers.exact).objects()

    def marks(self, state: Integers, n: int) -> dict[str, NDArray[np.bool_]]:
        """Return the sets of states that columns mark."""
        nw, found = load_narwhals(), {}
        for name in self.frame.columns:
            if name.startswith("label:"):
                series = self.column(name)
                if series.dtype != nw.Boolean:
                    problem = f"is of type {series.dtype}"
                    raise InvalidGame(f"column {name!r}", problem, "true or false", name)
                values = series.to_numpy().astype(bool)
                found[name.removeprefix("label:")] = self._of_states(name, values, False, state, n)
        return found

    def _of_states(
        self, name: str, values: NDArray[Any], missing: Any, state: Integers, n: int
    ) -> NDArray[Any]:
        """Return what a column says of states, which must be the same in all rows of a state."""
        known, first = np.unique(state, return_index=True)
        at = np.zeros(n, dtype=np.int64)
        at[known] = first
        self.check(name, values != values[at[state]], "the same in all rows of a state")
        said = np.full(n, missing, dtype=values.dtype)
        said[known] = values[first]
        return said


def _fraction(value: Any) -> Fraction | None:
    try:
        return None if isinstance(value, bool | np.bool_) else as_fraction(value)
    except UNREADABLE:
        return None


def _coded_objects(name: str, values: list[Any]) -> tuple[Integers, list[Any]]:
    """Return what `EdgeTable.coded` does, of Python's objects."""
    known: dict[Any, int] = {}
    try:
        codes = [known.setdefault(value, len(known)) for value in values]
    except TypeError as problem:
        raise InvalidGame(f"column {name!r}", f"holds an {problem}", "labels", name) from None
    return np.array(codes, dtype=np.int64), list(known)


def _labels(kind: str, given: Names, found: list[Any]) -> Labels:
    """Return labels in the order given, or else in that of their places in the table."""
    seen = list(dict.fromkeys(found))
    return read_names(kind, given, len(seen), seen or None)


def _index(names: Labels, labels: list[Any]) -> Integers:
    return np.array([names.index(label) for label in labels], dtype=np.int64)
