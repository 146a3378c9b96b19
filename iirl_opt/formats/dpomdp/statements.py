"""Lines, words and statements of a `.dpomdp` file: its text, before anything means something."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.errors import FileProblem
from iirl_opt.files import read_text
from iirl_opt.formats.numbers import DECIMAL

__all__ = ["NUMBER", "FileLine", "FileStatement", "split_statements"]

MOST_BYTES = 2**28  # of a file

NUMBER = re.compile(rf"(?!.{{100}}){DECIMAL}")


@dataclass(frozen=True)
class FileLine:
    """A line that says something: its fields are the words between its colons."""

    path: Path
    number: int
    text: str

    @cached_property
    def fields(self) -> list[list[str]]:
        """The words of each field."""
        return [part.split() for part in self.text.split(":")]

    def problem(self, i: int, j: int, text: str) -> FileProblem:
        """Return the error at word j of field i, or at the end of the field or line without it."""
        parts = self.text.split(":")
        i = min(i, len(parts) - 1)
        starts = [word.start() for word in re.finditer(r"\S+", parts[i])]
        within = starts[j] if j < len(starts) else len(parts[i].rstrip())
        column = sum(len(part) + 1 for part in parts[:i]) + within + 1
        return FileProblem(self.path, text, line=self.number, column=column)


@dataclass(frozen=True, slots=True)
class FileStatement:
    """A line with a colon, and the lines without one that follow it."""

    head: FileLine
    body: list[FileLine]

    @property
    def key(self) -> str:
        """What stands before the first colon."""
        return " ".join(self.head.text.partition(":")[0].split())

    def places(self, field: int) -> list[tuple[FileLine, int]]:
        """Return (line, field) of all that stands from a field of the head on."""
        inline = field < len(self.head.fields) and bool(self.head.fields[field])
        return [(self.head, field)] * inline + [(line, 0) for line in self.body]

    def only_place(self) -> tuple[FileLine, int]:
        """Return where the one line stands that this statement may say."""
        places = self.places(1)
        if len(places) != 1:
            line, i = places[1] if places else (self.head, 1)
            raise line.problem(i, 0, f"found {len(places)} lines of {self.key}; allowed one")
        return places[0]

    def words(self, field: int) -> list[tuple[str, FileLine, int, int]]:
        """Return (word, line, field, position) of all that stands from a field of the head on."""
        return [
            (word, line, i, j)
            for line, i in self.places(field)
            for j, word in enumerate(line.fields[i])
        ]

    def keyword(self, field: int, allowed: Sequence[str]) -> str | None:
        """Return the keyword that stands from a field of the head on, alone, or None."""
        words = self.words(field)
        if not words or words[0][0] not in allowed:
            return None
        if len(words) > 1:
            found, line, i, j = words[1]
            raise line.problem(i, j, f"found {found!r}; allowed nothing after {words[0][0]!r}")
        return words[0][0]

    def numbers(
        self, field: int, shape: tuple[int, int], read: Callable[[FileLine, int, int], Any]
    ) -> tuple[NDArray[Any], list[int]]:
        """Return the array that stands from a field on, and the line number of each row."""
        n_rows, n_columns = shape
        found: list[Any] = []
        lines: list[int] = []
        for line, i in self.places(field):
            count = len(line.fields[i])
            found += [read(line, i, j) for j in range(count)]
            if count % n_columns:
                at = count // n_columns * n_columns if count > n_columns else count
                raise line.problem(i, at, f"found {count} numbers; allowed rows of {n_columns}")
            lines += [line.number] * (count // n_columns)
            if len(lines) > n_rows:
                at = count - (len(lines) - n_rows) * n_columns
                raise line.problem(i, at, f"found a row too many; allowed {n_rows}×{n_columns}")
        if len(lines) < n_rows:
            last = self.body[-1] if self.body else self.head
            i = len(last.fields) - 1
            problem = f"found {len(lines)} rows; allowed {n_rows}×{n_columns} numbers"
            raise last.problem(i, len(last.fields[i]), problem)
        return np.array(found).reshape(shape), lines


def split_statements(path: Path) -> Iterator[FileStatement]:
    """Split a file into statements, one at a time; comments and blank lines are dropped."""
    # Old files carry Latin-1 names in their comments: no reason to refuse them.
    text = read_text(path, MOST_BYTES, errors="replace")
    statement: FileStatement | None = None
    for number, raw in enumerate(text.split("\n"), start=1):
        said = raw.partition("#")[0]
        if ":" in said:
            if statement is not None:
                yield statement
            statement = FileStatement(FileLine(path, number, said), [])
        elif said and not said.isspace():
            line = FileLine(path, number, said)
            if statement is None:
                raise line.problem(0, 0, f"found {line.fields[0][0]!r}; allowed 'agents:'")
            statement.body.append(line)
    if statement is not None:
        yield statement
