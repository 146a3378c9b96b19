"""Lines of words, and tables of those."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.errors import FileProblem
from iirl_opt.files import read_text
from iirl_opt.formats.numbers import whole_number
from iirl_opt.game.kernel import ROUNDED_SUMS, SUM_TOLERANCE, sum_allowed

__all__ = ["WordTable", "check_sums", "read_lines"]

MOST_BYTES = 2**28  # of a file


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file; a mark of the byte order at its begin is none of it."""
    return read_text(path, MOST_BYTES, "utf-8-sig", "replace").split("\n")


@dataclass(frozen=True, eq=False)
class WordTable:
    """Lines of a file, as words; each distinct word is read once.

    Attributes
    ----------
    path : the file.
    at : the number of each line in the file, from 1.
    words : the words of each line.
    """

    path: Path
    at: Sequence[int]
    words: Sequence[Sequence[str]]

    def problem(self, row: int, column: int | None, text: str) -> FileProblem:
        """Return the error at a word of a line: the place is the word's number in it."""
        place = "" if column is None else f"word {column + 1}: "
        return FileProblem(self.path, place + text, line=self.at[row])

    def column(
        self, column: int, read: Callable[[str], Any], allowed: str
    ) -> tuple[list[Any], NDArray[np.int64]]:
        """Return what the distinct words of a column mean, and which of them stands in each line.

        Raises
        ------
        FileProblem
            The first word of the column that means nothing.
        """
        found = [words[column] for words in self.words]
        code = {word: i for i, word in enumerate(dict.fromkeys(found))}
        meant = [read(word) for word in code]
        codes = np.array([code[word] for word in found], dtype=np.int64)
        wrong = np.array([x is None for x in meant], dtype=bool)
        if wrong.any():
            row = int(np.argmax(wrong[codes]))
            raise self.problem(row, column, f"found {found[row]!r}; allowed {allowed}")
        return meant, codes

    def whole(self, column: int, kind: str, size: int | None = None) -> NDArray[np.int64]:
        """Return a column of whole numbers, of which there are `size`."""

        def read(word: str) -> int | None:
            number = whole_number(word)
            return None if number is None or (size is not None and number >= size) else number

        last = "" if size is None else f" to {size - 1}"
        meant, codes = self.column(column, read, f"a {kind}, a whole number from 0{last}")
        return np.array(meant, dtype=np.int64)[codes]

    def refuse_doubles(self, *keys: NDArray[np.int64], what: str) -> None:
        """Refuse a line that says again what an earlier one did."""
        order = np.lexsort((np.arange(len(self.at)), *keys[::-1]))
        same = np.all([np.diff(key[order]) == 0 for key in keys], axis=0)
        if same.any():
            row = int(order[1:][same].min())
            raise self.problem(row, None, f"found {what} again; allowed once")


def check_sums(
    numbers: Sequence[Fraction],
    codes: NDArray[np.int64],
    row_of: NDArray[np.int64],
    n_rows: int,
    normalise: bool,
) -> tuple[int, str] | None:
    """Return the first row whose exact sum is not one within the tolerance, and what to say of it.

    Floats tell which rows are worth an exact sum.
    """
    tolerance = ROUNDED_SUMS if normalise else SUM_TOLERANCE
    floats = np.array([float(p) for p in numbers])[codes]
    sums = np.bincount(row_of, floats, n_rows)
    for row in np.flatnonzero(abs(sums - 1) > tolerance / 2).tolist():
        total = sum((numbers[k] for k in codes[row_of == row].tolist()), Fraction(0))
        if abs(total - 1) > Fraction(repr(tolerance)):
            return row, f"sums to {float(total):.12g}; allowed {sum_allowed(total, tolerance)}"
    return None
