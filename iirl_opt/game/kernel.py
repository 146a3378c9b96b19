"""Transition kernels: from what a user has to one read-only matrix, and its exact numbers.

A kernel over n choices a state is a matrix of shape (S·n, S) whose row ``s·n + choice`` is the
distribution of the next state. It may be given

* as floats, dense of shape (S, …, S) or (S·n, S), or in any scipy sparse form of these shapes;
  rows within 1e-9 of one are read as weights, too: each entry over the exact sum of its row;
* as integers of any size, read as *weights a row*: the row ``[1, 3]`` means (1/4, 3/4);
* as `fractions.Fraction` in an object array, whose rows must sum to one exactly, or within 1e-9 of
  one where floats stand among them.

So every kernel has exact numbers, a `Rational`, and the float matrix is their image up to rounding
(of a float kernel they are made when they are asked for).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.errors import InvalidGame
from iirl_opt.exact.numbers import UNREADABLE, as_fraction
from iirl_opt.exact.rows import ExactRows
from iirl_opt.game.labels import Labels

__all__ = [
    "Matrix",
    "Rational",
    "fill_missing",
    "fingerprint",
    "is_sparse",
    "kernel_array",
    "kernel_shape",
    "read_distribution",
    "read_kernel",
]

# A `scipy.sparse.csr_array` or a dense array: what the two share (``@``, row indexing, sums) is all
# that is used, and no static type says so.
Matrix: TypeAlias = Any
Place = Callable[..., str]

SUM_TOLERANCE = 1e-9
EPS = float(np.finfo(float).eps)
LARGEST = 2**62  # of integers kept as int64


def is_sparse(matrix: Matrix) -> bool:
    """Return whether a matrix is kept in a scipy sparse form."""
    return bool(sp.issparse(matrix))


@dataclass(frozen=True, eq=False)
class Rational:
    """The exact numbers of a game: kernel rows, discount, and the S start probabilities."""

    rows: ExactRows
    discount: Fraction
    start: tuple[Fraction, ...]


def kernel_array(kernel: Any) -> Any:
    """Return a kernel as an array of numbers, sparse as it is, or say why it is none."""
    try:
        array = kernel if is_sparse(kernel) else np.asarray(kernel)
    except ValueError:
        raise InvalidGame("P", "is ragged", "rows of one length", kernel) from None
    if array.dtype.kind not in "biufO":
        raise InvalidGame(
            "P", f"has type {array.dtype}", "floats, integers or Fractions", array.dtype
        )
    return array


def fingerprint(
    shape: tuple[int, ...], rows: ExactRows, discount: Fraction, start: Iterable[Fraction]
) -> str:
    """Return the SHA-256 of a model's exact numbers in canonical form.

    Equal models have equal fingerprints, whatever types they were given in. The form is written
    down in ``docs/certificate_format.rst``.
    """
    lines = [
        " ".join(f"{n:x}" for n in shape),
        f"{discount.numerator:x}/{discount.denominator:x}",
        " ".join(f"{p.numerator:x}/{p.denominator:x}" for p in start),
    ]
    columns, weights = rows.indices.tolist(), rows.numerators.tolist()
    for i, j in pairwise(rows.indptr.tolist()):
        common = math.gcd(*weights[i:j]) or 1
        entries = sorted(zip(columns[i:j], weights[i:j], strict=True))
        lines.append(" ".join(f"{k:x}:{n // common:x}" for k, n in entries if n))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def kernel_shape(kernel: Any, actions: Sequence[Any]) -> tuple[int, ...]:
    """Return (S, number of each kind of action) of a kernel given as an array, or say why not.

    `actions` holds, for each kind of action, its labels, their number, or None for unknown.
    """
    counts = [len(names) if isinstance(names, Sequence) else names for names in actions]
    axes = len(actions) + 2
    wanted = "(S, A, B, S)" if axes == 4 else "(S, B, S)"
    flat = "(S·A·B, S)" if axes == 4 else "(S·B, S)"
    if kernel.ndim == axes and kernel.shape[0] == kernel.shape[-1]:
        return tuple(kernel.shape[:-1])
    if kernel.ndim != 2 or kernel.shape[1] == 0 or kernel.shape[0] % kernel.shape[1]:
        raise InvalidGame("P", f"has shape {kernel.shape}", f"{wanted} or {flat}", kernel.shape)
    n_states, n_choices = kernel.shape[1], kernel.shape[0] // kernel.shape[1]
    if len(counts) == 1:
        return n_states, n_choices
    if counts == [None, None]:
        raise InvalidGame(
            "P",
            f"has shape {kernel.shape}, which does not tell A from B",
            "leader_actions or follower_actions beside it",
            kernel.shape,
        )
    n_a = counts[0] if counts[0] is not None else n_choices // max(counts[1] or 1, 1)
    n_b = n_choices // max(n_a, 1)
    if n_a * n_b != n_choices:
        raise InvalidGame(
            "P", f"has {n_choices} rows a state", f"a multiple of {n_a} leader actions", n_choices
        )
    return n_states, int(n_a), int(n_b)


def fill_missing(
    kernel: Any, shape: tuple[int, ...], labels: Sequence[Labels], fallback: Sequence[Any]
) -> Any:
    """Return a kernel (S·n, S) with all-zero rows replaced by those of the fallback actions.

    `labels` and `fallback` have one entry for each kind of action; None means no fallback. A row
    is taken from the first fallback action whose row is not empty itself.
    """
    wanted = [
        (axis, names.index(name))
        for axis, (names, name) in enumerate(zip(labels, fallback, strict=True), start=1)
        if name is not None
    ]
    if not wanted:
        return kernel
    flat = kernel.tocsr() if is_sparse(kernel) else kernel
    empty = np.asarray((flat != 0).sum(axis=1) == 0).reshape(shape)
    source = np.arange(math.prod(shape)).reshape(shape)
    for axis, action in wanted:
        copy = np.broadcast_to(np.take(source, [action], axis=axis), shape)
        lacks = np.broadcast_to(~np.take(empty, [action], axis=axis), shape) & empty
        source, empty = np.where(lacks, copy, source), empty & ~lacks
    return flat[source.ravel()]


def read_distribution(
    weights: Any, n: int, *, name: str, labels: Sequence[object]
) -> tuple[NDArray[np.float64], tuple[Fraction, ...]]:
    """Return a distribution over n states as floats and as Fractions.

    `weights` is None or ``"uniform"``, a mapping from labels, or an array of shape (n,) of floats
    (within 1e-9 of one), integer weights or Fractions.
    """
    if weights is None or (isinstance(weights, str) and weights == "uniform"):
        return np.full(n, 1.0 / n), (Fraction(1, n),) * n
    try:
        array = np.asarray(weights)
    except ValueError:
        raise InvalidGame(name, "is ragged", f"shape ({n},)", weights) from None
    if array.shape != (n,):
        raise InvalidGame(name, f"has shape {array.shape}", f"({n},)", array.shape)
    numbers = []
    for s, x in enumerate(array.tolist()):
        p = _exact(x)
        if p is None or p < 0:
            raise InvalidGame(f"{name}[s={labels[s]!r}]", f"is {x}", "0 ≤ p ≤ 1", x)
        numbers.append(p)
    total = sum(numbers, Fraction(0))
    if not (_whole(array) and total > 0) and abs(total - 1) > SUM_TOLERANCE:
        raise InvalidGame(
            name, f"sums to {float(total):.12g}", f"1 ± {SUM_TOLERANCE:g}", float(total)
        )
    fractions = tuple(p / total for p in numbers)
    # As in kernels, what sums to one up to rounding is left.
    floats = [float(p) for p in (numbers if abs(total - 1) <= n * EPS else fractions)]
    return np.array(floats), fractions


def read_kernel(
    kernel: Any, shape: tuple[int, ...], place: Place
) -> tuple[Matrix, ExactRows | None]:
    """Return the canonical matrix of a kernel and its exact parts.

    Parameters
    ----------
    kernel : see the module; of shape (S·n, S).
    shape : (S, choices…, S).
    place : names an entry or a row in the caller's labels: ``place(s, a, b[, s'])``.

    Returns
    -------
    matrix : float, (S·n, S); CSR where that takes less memory, else dense.
    exact : the same numbers as integers, or None for a float kernel whose rows were divided by
        nothing, so that `ExactRows.of_weights` of the matrix makes them.

    **Cost** arithmetic, linear in the entries given.
    """
    n_rows, n_states = math.prod(shape[:-1]), shape[-1]
    if is_sparse(kernel):
        if kernel.dtype.kind in "biu":  # else sums of doubled entries overflow a narrow type
            kernel = kernel.astype(np.uint64 if kernel.dtype.kind == "u" else np.int64)
        csr: Any = sp.csr_array(kernel, copy=True)
        try:
            csr.check_format()  # scipy itself reads and writes wherever an index points
        except ValueError as problem:
            raise InvalidGame(
                "P", f"is no sparse array ({problem})", "indices in it", kernel
            ) from None
        csr.sum_duplicates()
        csr.eliminate_zeros()
        given = _Entries(csr.indptr, csr.indices, csr.data, shape, place)
    else:
        rows, columns = np.nonzero(kernel != 0)
        pointers = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_rows))])
        given = _Entries(pointers, columns, kernel[rows, columns], shape, place)
    exact: ExactRows | None
    if given.data.dtype.kind == "f":
        exact, data = given.floats()
    else:
        exact = given.weights() if _whole(given.data) else given.fractions()
        data = _quotients(exact.numerators, np.repeat(exact.denominators, given.spans))
    index = sp.get_index_dtype(maxval=max(data.size, n_states))
    parts = (data, given.indices.astype(index), given.indptr.astype(index))
    return _compact(sp.csr_array(parts, shape=(n_rows, n_states))), exact


@dataclass(frozen=True)
class _Entries:
    """The nonzero entries of a kernel as they were given, in the layout of a CSR matrix."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: NDArray[Any]
    shape: tuple[int, ...]
    place: Place

    @property
    def spans(self) -> NDArray[np.int64]:
        """The number of entries of each row."""
        return np.diff(self.indptr)

    @property
    def row_of(self) -> NDArray[np.int64]:
        """The row of each entry."""
        return np.repeat(np.arange(self.spans.size), self.spans)

    def check(self, bad: NDArray[np.bool_], allowed: str) -> None:
        """Raise for the first bad entry."""
        if bad.any():
            entry = int(np.argmax(bad))
            where = np.unravel_index(self.row_of[entry], self.shape[:-1])
            at = self.place(*map(int, where), int(self.indices[entry]))
            raise InvalidGame(at, f"is {self.data[entry]}", allowed, self.data[entry])

    def check_sums(self, bad: NDArray[np.bool_], sums: NDArray[Any], allowed: str) -> None:
        """Raise for the first row with a bad sum."""
        if bad.any():
            row = int(np.argmax(bad))
            total = f"{sums[row]:.12g}" if sums.dtype == float else f"{sums[row]}"
            where = self.place(*map(int, np.unravel_index(row, self.shape[:-1])))
            raise InvalidGame(where, f"sums to {total}", allowed, sums[row])

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
        numbers = np.array([_exact(x) for x in self.data], dtype=object)
        rounded = any(isinstance(x, float | np.floating) for x in self.data)
        slack = Fraction(SUM_TOLERANCE) if rounded else Fraction(0)
        self.check(np.array([x is None or x < -slack for x in numbers], dtype=bool), "0 ≤ p ≤ 1")
        numbers = np.where(numbers < 0, Fraction(0), numbers)  # type: ignore[call-overload]
        sums = self.sums(numbers)
        allowed = f"1 ± {SUM_TOLERANCE:g}" if rounded else "1 exactly, for Fractions"
        self.check_sums(np.abs(sums - 1) > slack, sums, allowed)
        numbers = numbers / np.repeat(sums, self.spans)
        below = np.array([x.denominator for x in numbers], dtype=object)
        totals = np.lcm.reduceat(below, self.indptr[:-1])
        return self.rational(_integers(numbers * np.repeat(totals, self.spans)), totals)

    def floats(self) -> tuple[ExactRows | None, NDArray[np.float64]]:
        """Return floats whose rows sum to one, and their exact numbers where rows were divided.

        A sum within rounding of one is left, so reading a kernel again changes nothing.
        """
        data = self.data.astype(float)
        self.check(~np.isfinite(data) | (data < -SUM_TOLERANCE), "0 ≤ p ≤ 1")
        data = np.maximum(data, 0.0)
        sums = self.sums(data)
        self.check_sums(np.abs(sums - 1.0) > SUM_TOLERANCE, sums, f"1 ± {SUM_TOLERANCE:g}")
        rounding = EPS * np.bincount(self.row_of, data > 0, self.spans.size)
        off = np.abs(sums - 1.0) > rounding
        if not off.any():
            return None, data
        size = (self.spans.size, self.shape[-1])
        weights = sp.csr_array((data, self.indices, self.indptr), shape=size)
        exact = ExactRows.of_weights(weights)
        return exact, np.asarray(data / np.repeat(np.where(off, sums, 1.0), self.spans))

    def rational(self, numerators: NDArray[Any], totals: NDArray[Any]) -> ExactRows:
        """Return rational rows, as int64 where all numbers fit."""
        if totals.max() <= LARGEST:
            numerators, totals = numerators.astype(np.int64), totals.astype(np.int64)
        pointers, columns = self.indptr.astype(np.int64), self.indices.astype(np.int64)
        return ExactRows(pointers, columns, numerators, totals, self.shape[-1])


def _exact(number: Any) -> Fraction | None:
    """Return a number as a Fraction, or None for what is no finite number."""
    try:
        return as_fraction(number)
    except UNREADABLE:
        return None


def _whole(array: NDArray[Any]) -> bool:
    """Return whether all numbers are of integer types, that is, weights."""
    if array.dtype == object:
        return all(isinstance(x, int | np.integer) for x in array)
    return array.dtype.kind in "biu"


def _integers(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers as Python's integers, which have no bound."""
    return np.array([int(x) for x in numbers], dtype=object)


def _quotients(numerators: NDArray[Any], denominators: NDArray[Any]) -> NDArray[np.float64]:
    """Return the floats nearest to quotients of integers."""
    if denominators.dtype == object or denominators.max() > 2**53:
        # NumPy would round such integers to floats first; Python divides them correctly.
        numerators, denominators = numerators.astype(object), denominators.astype(object)
    return np.asarray(numerators / denominators, dtype=float)


def _compact(csr: Matrix) -> Matrix:
    """Return the matrix in the form that takes less memory."""
    csr.eliminate_zeros()
    csr.sort_indices()
    sparse_bytes = csr.data.nbytes + csr.indices.nbytes + csr.indptr.nbytes
    return csr.toarray() if sparse_bytes >= 8 * csr.shape[0] * csr.shape[1] else csr
