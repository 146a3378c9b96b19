"""What a `.dpomdp` file declares before its statements: names, discount, start distribution.

The declarations come once each and in a fixed order; labels and joint indices of all that follows
are looked up in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iirl_opt.errors import FileProblem, UnknownLabel
from iirl_opt.formats.choices import IDLE
from iirl_opt.formats.dpomdp.statements import NUMBER, FileLine, FileStatement
from iirl_opt.formats.numbers import whole_number
from iirl_opt.game.kernel import SUM_TOLERANCE, sum_allowed

__all__ = [
    "ALL",
    "Header",
    "Joint",
    "Names",
    "Single",
    "check_size",
    "read_discount",
    "read_header",
    "read_probability",
    "read_start",
    "read_values",
]

ALL = slice(None)
LARGEST = 2**28  # entries of a dense table: 1 GiB of transitions, 2 GiB of rewards


@dataclass(frozen=True, slots=True)
class Names:
    """The states, or the actions or observations of one agent: a number, and perhaps names."""

    kind: str
    size: int
    index: dict[str, int]

    @classmethod
    def declared(cls, line: FileLine, i: int, kind: str) -> Names:
        """Return what a field declares: a number from 1, or names."""
        words = line.fields[i]
        count = whole_number(words[0]) if len(words) == 1 else None
        if count:
            return cls(kind, count, {})
        index: dict[str, int] = {}
        for j, word in enumerate(words):
            if word in index or not (word[0].isalpha() or word[0] == "_"):
                again = " again" if word in index else ""
                allowed = "a number from 1, or distinct names that begin with a letter"
                raise line.problem(i, j, f"found {kind} {word!r}{again}; allowed {allowed}")
            index[word] = j
        return cls(kind, len(words), index)

    @property
    def labels(self) -> Sequence[Any]:
        """The names, or the indices where there are none."""
        return tuple(self.index) or range(self.size)

    def get(self, word: str) -> int | None:
        """Return the index that a name or an index means, or None."""
        at = whole_number(word)
        return self.index.get(word) if at is None else at if at < self.size else None

    def find(self, line: FileLine, i: int, j: int) -> int:
        """Return the index that a word means."""
        at = self.get(line.fields[i][j])
        if at is None:
            unknown = UnknownLabel(self.kind, line.fields[i][j], self.labels)
            allowed = f"a name or an index from 0 to {self.size - 1}"
            raise line.problem(i, j, f"{unknown}; allowed {allowed}")
        return at

    def select(self, line: FileLine, i: int, j: int) -> slice:
        """Return the indices that a word means: all of them for ``*``."""
        if line.fields[i][j] == "*":
            return ALL
        at = self.find(line, i, j)
        return slice(at, at + 1)

    def select_field(self, line: FileLine, i: int) -> slice:
        """Return the indices that a field of one word means."""
        if len(line.fields[i]) != 1:
            found = " ".join(line.fields[i])
            raise line.problem(i, 0, f"found {found!r}; allowed one {self.kind} or '*'")
        return self.select(line, i, 0)


@dataclass(frozen=True, slots=True)
class Joint:
    """Joint actions or observations, those of the second agent running fastest."""

    first: Names
    second: Names

    @classmethod
    def declared(cls, statement: FileStatement, kind: str) -> Joint:
        """Return what the two lines under ``actions:`` or ``observations:`` declare."""
        places = statement.places(1)
        if len(places) != 2:
            line, i = places[2] if len(places) > 2 else (statement.head, 1)
            allowed = "2, one for each agent"
            raise line.problem(i, 0, f"found {len(places)} lines of {kind}s; allowed {allowed}")
        (line, i), (other, j) = places
        first = Names.declared(line, i, f"{kind} of agent 1")
        return cls(first, Names.declared(other, j, f"{kind} of agent 2"))

    @property
    def size(self) -> int:
        return self.first.size * self.second.size

    def select(self, line: FileLine, i: int) -> slice:
        """Return the flat indices that a field means: a slice, whatever the wildcards."""
        words, n = line.fields[i], self.second.size
        if len(words) == 2:
            one, two = self.first.select(line, i, 0), self.second.select(line, i, 1)
            if one == ALL:
                return ALL if two == ALL else slice(two.start, None, n)
            if two == ALL:
                return slice(one.start * n, one.stop * n)
            return slice(one.start * n + two.start, one.start * n + two.stop)
        if words == ["*"]:
            return ALL
        at = whole_number(words[0]) if len(words) == 1 else None
        if at is None or at >= self.size:
            kinds = f"one {self.first.kind} and one {self.second.kind}"
            allowed = f"'*', an index from 0 to {self.size - 1}, or {kinds}"
            raise line.problem(i, 0, f"found {' '.join(words)!r}; allowed {allowed}")
        return slice(at, at + 1)


@dataclass(frozen=True, slots=True)
class Single(Joint):
    """The actions or observations of one agent; the other has one, which is never written."""

    of_first: bool

    @classmethod
    def of(cls, names: Names, of_first: bool = False) -> Single:
        """Return the joint actions in which the other agent has nothing to choose."""
        other = Names(names.kind, 1, {IDLE: 0})
        return cls(*((names, other) if of_first else (other, names)), of_first)

    def select(self, line: FileLine, i: int) -> slice:
        """Return the indices that a field of one word means."""
        return (self.first if self.of_first else self.second).select_field(line, i)


class Header(NamedTuple):
    """What a file declares, and the statements that follow."""

    discount: Fraction
    discount_at: tuple[FileLine, int]
    values: str
    states: Names
    start: NDArray[Any]
    actions: Joint
    observations: Joint
    statements: Iterator[FileStatement]
    tolerance: float


def read_header(path: Path, statements: Iterator[FileStatement], tolerance: float) -> Header:
    """Return the declarations, or complain of the first wrong one."""

    def take(*allowed: str) -> FileStatement:
        statement = next(statements, None)
        if statement is None:
            raise FileProblem(path, f"the file ends; allowed '{allowed[0]}:' next")
        if statement.key not in allowed:
            problem = f"found '{statement.key}:'; allowed '{allowed[0]}:', since the order is fixed"
            raise statement.head.problem(0, 0, problem)
        if len(statement.head.fields) > 2:
            raise statement.head.problem(2, 0, "found a second colon; allowed one")
        return statement

    line, i = take("agents").only_place()
    agents = Names.declared(line, i, "agent")
    if agents.size != 2:
        raise line.problem(i, 0, f"found {agents.size} agents; allowed 2")
    discount, discount_at = read_discount(take("discount"))
    values = read_values(take("values"))
    line, i = take("states").only_place()
    states = Names.declared(line, i, "state")
    check_size(line, i, "S²", states.size**2)
    start = read_start(take("start", "start include", "start exclude"), states, tolerance)
    actions = Joint.declared(take("actions"), "action")
    check_size(line, i, "S²·A·B", states.size**2 * actions.size)
    observations = Joint.declared(take("observations"), "observation")
    return Header(
        discount, discount_at, values, states, start, actions, observations, statements, tolerance
    )


def check_size(line: FileLine, i: int, what: str, entries: int) -> None:
    """Refuse a table that would not fit into memory."""
    if entries > LARGEST:
        raise line.problem(i, 0, f"found {what} = {entries:g}; allowed up to {LARGEST:g}")


def read_discount(statement: FileStatement) -> tuple[Fraction, tuple[FileLine, int]]:
    """Return the discount, which may be 1, and where it stands."""
    line, i = statement.only_place()
    found = " ".join(line.fields[i])
    if not NUMBER.fullmatch(found) or not 0 <= (discount := Fraction(found)) <= 1:
        raise line.problem(i, 0, f"found the discount {found!r}; allowed 0 ≤ γ ≤ 1")
    return discount, (line, i)


def read_values(statement: FileStatement) -> str:
    """Return whether a file speaks of rewards or of costs."""
    line, i = statement.only_place()
    values = " ".join(line.fields[i])
    if values not in ("reward", "cost"):
        raise line.problem(i, 0, f"found {values!r}; allowed 'reward' or 'cost'")
    return values


def read_start(statement: FileStatement, states: Names, tolerance: float) -> NDArray[Any]:
    """Return the start distribution as S Fractions."""
    words = statement.words(1)
    word = words[0][0] if len(words) == 1 else None
    chosen: Sequence[int] = range(states.size)
    if statement.key != "start":
        listed = {states.find(line, i, j) for _, line, i, j in words}
        chosen = [s for s in chosen if (s in listed) == (statement.key == "start include")]
        if not chosen:
            raise statement.head.problem(1, 0, "leaves no state; allowed one or more")
    elif word is not None and word != "uniform" and (states.size > 1 or states.get(word) == 0):
        chosen = [states.find(*words[0][1:])]
    elif statement.keyword(1, ("uniform",)) is None:
        row: NDArray[Any] = statement.numbers(1, (1, states.size), read_probability)[0][0]
        total = row.sum()
        if abs(total - 1) > tolerance:
            problem = f"sums to {float(total):.12g}; allowed {sum_allowed(total, tolerance)}"
            _, line, i, j = words[0]
            raise line.problem(i, j, f"the start distribution {problem}")
        return row
    start = np.full(states.size, Fraction(0), dtype=object)
    start[list(chosen)] = Fraction(1, len(chosen))
    return start


def read_probability(line: FileLine, i: int, j: int) -> Fraction:
    """Return the probability that a word means."""
    word = line.fields[i][j]
    if not NUMBER.fullmatch(word) or not 0 <= (number := Fraction(word)) <= 1 + SUM_TOLERANCE:
        raise line.problem(i, j, f"found {word!r}; allowed a probability, 0 ≤ p ≤ 1")
    return number
