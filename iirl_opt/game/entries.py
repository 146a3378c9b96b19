"""The entries of a kernel, read a block of rows at a time.

Each block is checked, divided by its rows' sums and put into the arrays of the final matrix, so
that beside this matrix no more is held than the kernel as it was given and some blocks. A kernel
that is drawn or worked out need never stand anywhere as a whole: its `RowBlocks` are made as they
are read.

Nor is it kept twice. An entry is the float nearest to numerator / denominator; up to a denominator
of 2⁵⁰ the numerator can be read off both again (`ExactRows.of_image`). So of most rational kernels
the denominators, one a row, are all that is kept beside the floats.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.errors import InvalidGame
from iirl_opt.exact.rows import IMAGE, ExactRows
from iirl_opt.game.kernel import (
    EPS,
    LARGEST,
    SUM_TOLERANCE,
    Matrix,
    Place,
    are_whole,
    exact_or_none,
    is_sparse,
    sum_allowed,
)

__all__ = ["BLOCK", "Exact", "Part", "RowBlocks", "read_kernel", "rows_of", "summed", "sums_fit"]

# What tells the exact numbers beside their float image: the rows' denominators; the CSR matrix of
# floats that each row's sum divided; the rows themselves; None where the image was given.
Exact: TypeAlias = Any
# Pointers, columns and entries of consecutive rows, in the layout of CSR.
Part: TypeAlias = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]

BLOCK = 2**14  # entries read at a time


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """A kernel (S·n, S) of integer weights that is made while it is read, which is once.

    Attributes
    ----------
    shape : (S·n, S).
    parts : pointers, columns and weights of consecutive rows; a column that comes twice is summed.
    """

    shape: tuple[int, int]
    parts: Iterable[Part]
    ndim: ClassVar[int] = 2
    dtype: ClassVar[np.dtype[Any]] = np.dtype(np.int64)

    @classmethod
    def of(cls, rows: ExactRows) -> RowBlocks:
        """Return rows of exact numbers as weights; they are read as they stand.

        Raises
        ------
        InvalidGame
            An entry is outside the matrix; the columns of a row do not ascend, or one comes twice.
        """
        shape = (len(rows.denominators), rows.width)
        places = np.ones(len(rows.numerators), dtype=bool)
        _check_places(sp.csr_array((places, rows.indices, rows.indptr), shape))
        ascends = np.ones(len(rows.indices) + 1, dtype=bool)
        ascends[1:-1] = rows.indices[1:] > rows.indices[:-1]
        ascends[rows.indptr] = True  # where a row begins
        if not ascends.all():
            raise InvalidGame(
                "P", "has a row whose columns do not ascend", "each column once, in order", rows
            )
        return cls(shape, _cut(rows.indptr, rows.indices, rows.numerators))


def read_kernel(
    kernel: Any, shape: tuple[int, ...], place: Place, tolerance: float = SUM_TOLERANCE
) -> tuple[Matrix, Exact]:
    """Return the canonical matrix of a kernel, and what tells its exact numbers.

    Parameters
    ----------
    kernel : see `iirl_opt.game.kernel`; of shape (S·n, S).
    shape : (S, choices…, S).
    place : names an entry or a row in the caller's labels: ``place(s, a, b[, s'])``.
    tolerance : how far a row of floats may be off one; above the usual, one of Fractions, too.

    Returns
    -------
    matrix : float, (S·n, S); CSR where that takes less memory, else dense.
    exact : what `rows_of` needs beside it; None for a float kernel whose rows were divided by
        nothing.

    **Cost** arithmetic, linear in the entries given.
    """
    image = _GrowingMatrix(shape[-1])
    divisors = _Growing(np.float64)
    exact: list[Exact] = []
    for part in _parts(kernel):
        given = _Entries(image.n_rows, *part, shape, place, tolerance)
        if given.data.dtype.kind == "f":
            data, sums = given.floats()
            divisors.append(sums)
        else:
            rows = given.weights() if are_whole(given.data) else given.fractions()
            data = _quotients(rows.numerators, np.repeat(rows.denominators, given.spans))
            exact.append(_beside(rows))
        image.append(given, data)
    read = image.done()
    size = (image.n_rows, shape[-1])
    if divisors.size:
        beside = _divided(read, size, divisors.done())
    elif all(isinstance(part, np.ndarray) for part in exact):
        beside = np.concatenate(exact)
    else:
        csr = sp.csr_array(read[::-1], size)
        beside = ExactRows.stacked(
            rows_of(csr[first:last], part)
            for part, (first, last) in zip(exact, pairwise(image.cuts), strict=True)
        )
    return _compact(read, size), beside


def rows_of(matrix: Matrix, exact: Exact, rows: NDArray[Any] | None = None) -> ExactRows:
    """Return rows of a kernel, by default all, in exact numbers."""
    if isinstance(exact, ExactRows):
        return exact if rows is None else exact.take(rows)
    of_weights = exact is None or is_sparse(exact)
    floats = exact if is_sparse(exact) else matrix
    csr = sp.csr_array(floats if rows is None else floats[rows])
    if of_weights:
        return ExactRows.of_weights(csr)
    return ExactRows.of_image(csr, exact if rows is None else exact[rows])


@dataclass(frozen=True)
class _Entries:
    """The nonzero entries of consecutive rows as they were given, in the layout of CSR."""

    first: int
    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: NDArray[Any]
    shape: tuple[int, ...]
    place: Place
    tolerance: float

    @property
    def spans(self) -> NDArray[np.int64]:
        """The number of entries of each row."""
        return np.diff(self.indptr)

    @property
    def row_of(self) -> NDArray[np.int64]:
        """The row of each entry, counted from the first."""
        return np.repeat(np.arange(self.spans.size), self.spans)

    def check(self, bad: NDArray[np.bool_], allowed: str) -> None:
        """Raise for the first bad entry."""
        if bad.any():
            entry = int(np.argmax(bad))
            at = self.row(self.row_of[entry], int(self.indices[entry]))
            raise InvalidGame(at, f"is {self.data[entry]}", allowed, self.data[entry])

    def check_sums(
        self, bad: NDArray[np.bool_], sums: NDArray[Any], allowed: str | None = None
    ) -> None:
        """Raise for the first row with a bad sum."""
        if bad.any():
            row = int(np.argmax(bad))
            allowed = allowed or sum_allowed(sums[row], self.tolerance)
            total = f"{sums[row]:.12g}" if sums.dtype == float else f"{sums[row]}"
            raise InvalidGame(self.row(row), f"sums to {total}", allowed, sums[row])

    def row(self, row: int, *column: int) -> str:
        """Name a row, or an entry of it."""
        choice = np.unravel_index(self.first + row, self.shape[:-1])
        return self.place(*map(int, choice), *column)

    def sums(self, data: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of each row, zero for an empty one."""
        if data.dtype == object:
            return np.array([sum(data[i:j]) for i, j in pairwise(self.indptr)], dtype=object)
        if data.dtype.kind == "f":
            return np.bincount(self.row_of, data, self.spans.size)
        return np.diff(np.concatenate([[0], np.cumsum(data)])[self.indptr])

    def weights(self) -> ExactRows:
        """Return integer weights as rational rows in lowest terms."""
        self.check(self.data < 0, "weights ≥ 0")
        fit = self.data.dtype != object and self.sums(self.data.astype(float)).max() <= LARGEST
        data = self.data.astype(np.int64) if fit else _integers(self.data)
        totals = self.sums(data)
        self.check_sums(totals == 0, totals, "a positive total weight")
        common = np.gcd.reduceat(data, self.indptr[:-1])
        return self.rational(data // np.repeat(common, self.spans), totals // common)

    def fractions(self) -> ExactRows:
        """Return rational numbers as rational rows in lowest terms.

        With floats among them the rows may be off one by rounding, and are divided by their sums.
        """
        numbers = np.array([exact_or_none(x) for x in self.data], dtype=object)
        rounded = any(isinstance(x, float | np.floating) for x in self.data)
        slack = Fraction(SUM_TOLERANCE) if rounded else Fraction(0)
        rounded |= self.tolerance > SUM_TOLERANCE
        most = Fraction(self.tolerance) if rounded else Fraction(0)
        self.check(np.array([x is None or x < -slack for x in numbers], dtype=bool), "0 ≤ p ≤ 1")
        numbers = np.where(numbers < 0, Fraction(0), numbers)  # type: ignore[call-overload]
        sums = self.sums(numbers)
        allowed = None if rounded else "1 exactly, for Fractions"
        self.check_sums(np.abs(sums - 1) > most, sums, allowed)
        numbers = numbers / np.repeat(sums, self.spans)
        below = np.array([x.denominator for x in numbers], dtype=object)
        totals = np.lcm.reduceat(below, self.indptr[:-1])
        return self.rational(_integers(numbers * np.repeat(totals, self.spans)), totals)

    def floats(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return floats, and what divides each row so that it sums to one.

        A sum within rounding of one is left, so reading a kernel again changes nothing.
        """
        data = self.data.astype(float)
        self.check(~np.isfinite(data) | (data < -SUM_TOLERANCE), "0 ≤ p ≤ 1")
        data = np.maximum(data, 0.0)
        sums = self.sums(data)
        self.check_sums(np.abs(sums - 1.0) > self.tolerance, sums)
        rounding = EPS * np.bincount(self.row_of, data > 0, self.spans.size)
        return data, np.where(np.abs(sums - 1.0) > rounding, sums, 1.0)

    def rational(self, numerators: NDArray[Any], totals: NDArray[Any]) -> ExactRows:
        """Return rational rows, as int64 where all numbers fit."""
        if totals.max() <= LARGEST:
            numerators, totals = numerators.astype(np.int64), totals.astype(np.int64)
        return ExactRows(self.indptr, self.indices, numerators, totals, self.shape[-1])


class _GrowingMatrix:
    """The matrix of floats that grows by blocks of rows."""

    def __init__(self, n_columns: int) -> None:
        self.cuts = [0]
        index = sp.get_index_dtype(maxval=n_columns)
        self.data, self.indices, self.spans = map(_Growing, (np.float64, index, index))

    @property
    def n_rows(self) -> int:
        """The number of rows so far."""
        return self.cuts[-1]

    def append(self, given: _Entries, data: NDArray[np.float64]) -> None:
        """Add the rows of a block, without what became zero."""
        kept = data > 0
        columns, spans = given.indices, given.spans
        if not kept.all():
            data, columns = data[kept], columns[kept]
            spans = np.bincount(given.row_of[kept], minlength=spans.size)
        self.data.append(data)
        self.indices.append(columns)
        self.spans.append(spans)
        self.cuts.append(self.n_rows + spans.size)

    def done(self) -> Part:
        """Return the pointers, columns and entries of all rows."""
        data, indices, spans = self.data.done(), self.indices.done(), self.spans.done()
        index = np.promote_types(indices.dtype, sp.get_index_dtype(maxval=data.size))
        indptr = np.zeros(self.n_rows + 1, dtype=index)
        np.cumsum(spans, dtype=index, out=indptr[1:])
        return indptr, indices.astype(index, copy=False), data


class _Growing:
    """An array that grows in place, by an eighth at least, so that no second one is needed."""

    def __init__(self, dtype: Any) -> None:
        self.array, self.size = np.empty(0, dtype), 0

    def append(self, part: NDArray[Any]) -> None:
        """Write at the end."""
        end = self.size + part.size
        if end > self.array.size:
            self.array.resize(max(end, self.array.size * 9 // 8), refcheck=False)
        self.array[self.size : end] = part
        self.size = end

    def done(self) -> NDArray[Any]:
        """Return what was written."""
        self.array.resize(self.size, refcheck=False)
        return self.array


def _parts(kernel: Any) -> Iterator[Part]:
    """Return consecutive rows of a kernel, without zeros and doubled entries."""
    if isinstance(kernel, RowBlocks):
        for part in kernel.parts:
            yield part if part[2].dtype == object else _canonical(part, kernel.shape[1])
    elif is_sparse(kernel):
        if kernel.format == "csr":
            _check_places(kernel)
        elif kernel.dtype.kind in "iu":
            kernel = kernel.tocoo()
        if kernel.dtype.kind in "iu" and not sums_fit(kernel.data):
            coo = kernel.tocoo()
            row, column = coo.coords
            found = summed(row, column, coo.data, kernel.shape[1])
            if found[2].size < coo.data.size:
                row, column, numbers = (part[found[2] != 0] for part in found)
                yield np.searchsorted(row, np.arange(kernel.shape[0] + 1)), column, numbers
                return
        if kernel.format != "csr":
            kernel = kernel.astype(_wide(kernel.dtype), copy=False)
        csr = sp.csr_array(kernel)
        for part in _cut(csr.indptr, csr.indices, csr.data):
            yield _canonical(part, csr.shape[1])
    else:
        # Of Python's numbers the kind, weights or Fractions, shows in all of them together.
        size = len(kernel) if kernel.dtype == object else max(1, BLOCK // kernel.shape[1])
        for first in range(0, len(kernel), size):
            block = kernel[first : first + size]
            rows, columns = np.nonzero(block != 0)
            pointers = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(block)))])
            yield pointers, columns, block[rows, columns]


def sums_fit(numbers: NDArray[Any]) -> bool:
    """Return whether integers are so small that no sum of them overflows, or none."""
    if numbers.dtype.kind not in "iu" or not numbers.size:
        return True
    largest = max(abs(float(numbers.min())), float(numbers.max()))
    return largest * numbers.size < LARGEST or float(abs(numbers.astype(float)).sum()) < LARGEST


def summed(row: Any, column: Any, numbers: Any, n_columns: int) -> Part:
    """Return entries in the order of their places, those of one place summed: integers exactly."""
    place = row.astype(np.int64) * n_columns + column
    order = np.argsort(place, kind="stable")
    first = np.flatnonzero(np.diff(place[order], prepend=-1))
    row, column, numbers = row[order], column[order], numbers[order]
    if first.size < place.size:
        numbers = numbers if sums_fit(numbers) else numbers.astype(object)
        numbers = np.add.reduceat(numbers, first)
    return row[first], column[first], numbers


def _check_places(csr: Any) -> None:
    """Refuse entries outside their matrix: scipy itself reads and writes where an index points."""
    try:
        csr.check_format()
    except ValueError as problem:
        raise InvalidGame("P", f"is no sparse array ({problem})", "indices in it", csr) from None


def _cut(indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any]) -> Iterator[Part]:
    """Return blocks of whole rows of a matrix in the layout of CSR."""
    ends = (
        np.searchsorted(indptr, np.arange(BLOCK, int(indptr[-1]) + BLOCK, BLOCK), side="right") - 1
    )
    ends[-1:] = indptr.size - 1
    cuts = np.unique(np.concatenate([[0], ends, [indptr.size - 1]]))
    for first, last in pairwise(cuts.tolist()):
        span = slice(indptr[first], indptr[last])
        yield indptr[first : last + 1] - indptr[first], indices[span], data[span]


def _canonical(part: Part, n_columns: int) -> Part:
    """Return rows in order, without zeros and doubled entries; those given are left."""
    indptr, indices, data = part
    csr = sp.csr_array(
        (data.astype(_wide(data.dtype)), indices.copy(), indptr), (indptr.size - 1, n_columns)
    )
    csr.sum_duplicates()
    csr.eliminate_zeros()
    return csr.indptr, csr.indices, csr.data


def _wide(dtype: np.dtype[Any]) -> Any:
    """Return the type in which doubled entries are summed: integers overflow in narrow ones."""
    return {"u": np.uint64, "i": np.int64, "b": np.int64}.get(dtype.kind, dtype)


def _beside(rows: ExactRows) -> Exact:
    """Return what rows need beside their image."""
    largest = rows.denominators.max()
    if largest > IMAGE:
        return rows
    return rows.denominators.astype(np.int32 if largest < 2**31 else np.int64)


def _divided(image: Part, size: tuple[int, int], divisors: NDArray[np.float64]) -> Any:
    """Divide the rows of a matrix in place; return what it was, or None if nothing changes."""
    if (divisors == 1.0).all():
        return None
    indptr, indices, data = image
    given = sp.csr_array((data.copy(), indices, indptr), size)
    for first in range(0, divisors.size, BLOCK):
        span = indptr[first : first + BLOCK + 1]
        by = np.repeat(divisors[first : first + BLOCK], np.diff(span))
        data[span[0] : span[-1]] /= by
    return given


def _compact(image: Part, size: tuple[int, int]) -> Matrix:
    """Return the matrix in the form that takes less memory, dense in the place of its entries."""
    indptr, indices, data = image
    n_rows, width = size
    if data.nbytes + indices.nbytes + indptr.nbytes < 8 * n_rows * width:
        return sp.csr_array((data, indices, indptr), size)
    data.resize(n_rows * width, refcheck=False)
    step = max(1, BLOCK // width)
    # From the last row on: a row moves to the right, over what has moved already.
    for first in reversed(range(0, n_rows, step)):
        span = indptr[first : first + step + 1]
        entries = data[span[0] : span[-1]].copy()
        starts = np.arange(first, first + span.size - 1) * width
        data[first * width : (first + step) * width] = 0.0
        data[np.repeat(starts, np.diff(span)) + indices[span[0] : span[-1]]] = entries
    data.resize(size, refcheck=False)
    return data


def _integers(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers as Python's integers, which have no bound."""
    return np.array([int(x) for x in numbers], dtype=object)


def _quotients(numerators: NDArray[Any], denominators: NDArray[Any]) -> NDArray[np.float64]:
    """Return the floats nearest to quotients of integers."""
    if denominators.dtype == object or denominators.max() > 2**53:
        # NumPy would round such integers to floats first; Python divides them correctly.
        numerators, denominators = numerators.astype(object), denominators.astype(object)
    return np.asarray(numerators / denominators, dtype=float)
