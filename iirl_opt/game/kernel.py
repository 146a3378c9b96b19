"""Transition kernels: from what a user has to one read-only matrix, and its exact numbers.

A kernel over n choices a state is a matrix of shape (S·n, S) whose row ``s·n + choice`` is the
distribution of the next state. It may be given

* as floats, dense of shape (S, …, S) or (S·n, S), or in any scipy sparse form of shape (S·n, S);
  rows within 1e-9 of one are renormalised;
* as integers, read as *weights a row*: the row ``[1, 3]`` means (1/4, 3/4);
* as `fractions.Fraction` in an object array, whose rows must sum to one exactly.

The last two are exact: beside the float matrix a `Rational` keeps numerators and denominators,
and the float matrix is their image. A float kernel has no exact numbers, because its rows do
not sum to exactly one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.errors import InvalidGame
from iirl_opt.game.labels import Labels

__all__ = [
    "Matrix",
    "Rational",
    "RationalRows",
    "as_fraction",
    "fill_missing",
    "is_sparse",
    "kernel_shape",
    "read_distribution",
    "read_kernel",
]

# A `scipy.sparse.csr_array` or a dense array: what the two share (``@``, row indexing, sums) is all
# that is used, and no static type says so.
Matrix: TypeAlias = Any
Place = Callable[..., str]

SUM_TOLERANCE = 1e-9


def is_sparse(matrix: Matrix) -> bool:
    """Return whether a matrix is kept in a scipy sparse form."""
    return bool(sp.issparse(matrix))


def as_fraction(number: Any) -> Fraction:
    """Return a number as a Fraction; a float is read as the decimal it prints as.

    Examples
    --------
    >>> as_fraction(0.9), as_fraction(Fraction(1, 3))
    (Fraction(9, 10), Fraction(1, 3))
    """
    return Fraction(repr(float(number))) if isinstance(number, float) else Fraction(number)


class RationalRows(NamedTuple):
    """The exact numbers of a kernel, in the layout of a CSR matrix.

    Attributes
    ----------
    indptr, indices : where the entries stand, row by row.
    numerators : integers of shape (nnz,), int64, or Python integers where int64 is too small.
    denominators : integers of shape (S·n,), one a row: entry = numerator / denominator.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    numerators: NDArray[Any]
    denominators: NDArray[Any]

    def row(self, index: int) -> dict[int, Fraction]:
        """Return one row as ``{next state: probability}``."""
        span = slice(self.indptr[index], self.indptr[index + 1])
        total = int(self.denominators[index])
        return {
            int(j): Fraction(int(n), total)
            for j, n in zip(self.indices[span], self.numerators[span], strict=True)
        }

    def kernel(self, n_states: int) -> Any:
        """Return the rows as `read_kernel` takes them: integer weights, or Fractions if too big."""
        size = (len(self.denominators), n_states)
        if self.numerators.dtype != object:
            return sp.csr_array((self.numerators, self.indices, self.indptr), shape=size)
        dense = np.zeros(size, dtype=object)
        for i in range(size[0]):
            for j, p in self.row(i).items():
                dense[i, j] = p
        return dense


@dataclass(frozen=True, eq=False)
class Rational:
    """The exact numbers of a game: kernel rows, discount, and the S start probabilities."""

    rows: RationalRows
    discount: Fraction
    start: tuple[Fraction, ...]


def kernel_shape(kernel: Any, actions: Sequence[Any]) -> tuple[int, ...]:
    """Return (S, number of each kind of action) of a kernel given as an array, or say why not.

    `actions` holds, for each kind of action, its labels, their number, or None for unknown.
    """
    counts = [
        names if names is None or isinstance(names, int | np.integer) else len(list(names))
        for names in actions
    ]
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
    """Return the kernel with all-zero rows replaced by those of the fallback actions.

    `labels` and `fallback` have one entry for each kind of action; None means no fallback.
    """
    wanted = [
        (axis, names.index(name))
        for axis, (names, name) in enumerate(zip(labels, fallback, strict=True), start=1)
        if name is not None
    ]
    if not wanted:
        return kernel
    flat = kernel.tocsr() if is_sparse(kernel) else kernel.reshape(math.prod(shape), shape[0])
    empty = np.asarray(abs(flat).sum(axis=1) == 0).reshape(shape)
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
    array = np.asarray(weights)
    if array.shape != (n,):
        raise InvalidGame(name, f"has shape {array.shape}", f"({n},)", array.shape)
    exact = array.dtype.kind in "iub" or array.dtype == object
    values = array.astype(float)
    bad = ~np.isfinite(values) | (values < 0)
    if bad.any():
        s = int(np.argmax(bad))
        raise InvalidGame(
            f"{name}[s={labels[s]!r}]", f"is {values[s]:g}", "0 ≤ p ≤ 1", float(values[s])
        )
    total = values.sum()
    weighted = array.dtype.kind in "iub" and total > 0
    if not weighted and abs(total - 1.0) > SUM_TOLERANCE:
        raise InvalidGame(name, f"sums to {total:.12g}", f"1 ± {SUM_TOLERANCE:g}", float(total))
    fractions = [as_fraction(x if exact else float(x)) for x in array.tolist()]
    whole = sum(fractions, Fraction(0))
    return values / total, tuple(x / whole for x in fractions)


def read_kernel(
    kernel: Any, shape: tuple[int, ...], place: Place
) -> tuple[Matrix, RationalRows | None]:
    """Return the canonical matrix of a kernel and its exact parts.

    Parameters
    ----------
    kernel : see the module; already known to have the right shape.
    shape : (S, choices…, S).
    place : names an entry or a row in the caller's labels: ``place(s, a, b[, s'])``.

    Returns
    -------
    matrix : float, (S·n, S), read-only; CSR where that takes less memory, else dense.
    exact : the same numbers as integers, or None for a float kernel.

    **Cost** arithmetic, linear in the entries given.
    """
    n_rows, n_states = math.prod(shape[:-1]), shape[-1]
    if is_sparse(kernel):
        csr: Any = sp.csr_array(kernel, copy=True)
        csr.sum_duplicates()
        indptr, indices, data = csr.indptr, csr.indices, csr.data
    else:
        flat = np.asarray(kernel).reshape(n_rows, n_states)
        rows, columns = np.nonzero(flat)
        pointers = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_rows))])
        indptr, indices, data = pointers, columns, flat[rows, columns]
    row_of = np.repeat(np.arange(n_rows), np.diff(indptr))

    def fail(entry: int, problem: str, allowed: str) -> InvalidGame:
        where = np.unravel_index(row_of[entry], shape[:-1])
        at = place(*map(int, where), int(indices[entry]))
        return InvalidGame(at, problem, allowed, data[entry])

    def check(bad: NDArray[np.bool_], allowed: str) -> None:
        if bad.any():
            entry = int(np.argmax(bad))
            raise fail(entry, f"is {data[entry]}", allowed)

    def sums_to(total: Any, row: int, allowed: str) -> InvalidGame:
        where = np.unravel_index(row, shape[:-1])
        return InvalidGame(place(*map(int, where)), f"sums to {total}", allowed, total)

    exact: RationalRows | None = None
    if data.dtype.kind in "iub":
        check(data < 0, "weights ≥ 0")
        numerators = data.astype(np.int64)
        totals = _row_sums(numerators, indptr)
        if (totals == 0).any():
            raise sums_to(0, int(np.argmax(totals == 0)), "a positive total weight")
        common = np.gcd.reduceat(numerators, indptr[:-1])
        numerators, totals = numerators // np.repeat(common, np.diff(indptr)), totals // common
        probabilities = numerators / np.repeat(totals, np.diff(indptr))
        exact = RationalRows(indptr.astype(np.int64), indices.astype(np.int64), numerators, totals)
    elif data.dtype == object and not any(isinstance(x, float) for x in data):
        fractions = [Fraction(x) for x in data]
        data = np.array(fractions, dtype=object)
        check(np.array([x < 0 for x in fractions], dtype=bool), "0 ≤ p ≤ 1")
        numerators = np.empty(len(fractions), dtype=object)
        totals = np.empty(n_rows, dtype=object)
        for i in range(n_rows):
            span = slice(indptr[i], indptr[i + 1])
            total = sum(fractions[span], Fraction(0))
            if total != 1:
                raise sums_to(total, i, "1 exactly, for Fractions")
            totals[i] = math.lcm(*(x.denominator for x in fractions[span]))
            numerators[span] = [x.numerator * (totals[i] // x.denominator) for x in fractions[span]]
        probabilities = np.array([float(x) for x in fractions])
        if all(t < 2**62 for t in totals):
            numerators, totals = numerators.astype(np.int64), totals.astype(np.int64)
        exact = RationalRows(indptr.astype(np.int64), indices.astype(np.int64), numerators, totals)
    else:
        data = data.astype(float)
        check(~np.isfinite(data) | (data < -SUM_TOLERANCE), "0 ≤ p ≤ 1")
        data = np.maximum(data, 0.0)
        sums = _row_sums(data, indptr)
        off = np.abs(sums - 1.0) > SUM_TOLERANCE
        if off.any():
            row = int(np.argmax(off))
            raise sums_to(f"{sums[row]:.12g}", row, f"1 ± {SUM_TOLERANCE:g}")
        probabilities = data / np.repeat(sums, np.diff(indptr))
    return _compact(sp.csr_array((probabilities, indices, indptr), shape=(n_rows, n_states))), exact


def _row_sums(data: NDArray[Any], indptr: NDArray[Any]) -> NDArray[Any]:
    """Return the sum of each CSR row, zero for an empty one."""
    return (
        np.diff(np.concatenate([[0], np.cumsum(data)])[indptr])
        if data.dtype.kind == "i"
        else (
            np.bincount(
                np.repeat(np.arange(indptr.size - 1), np.diff(indptr)), data, indptr.size - 1
            )
        )
    )


def _compact(csr: Matrix) -> Matrix:
    """Return the matrix read-only, in the form that takes less memory."""
    csr.eliminate_zeros()
    csr.sort_indices()
    sparse_bytes = csr.data.nbytes + csr.indices.nbytes + csr.indptr.nbytes
    if sparse_bytes >= 8 * csr.shape[0] * csr.shape[1]:
        dense = csr.toarray()
        dense.flags.writeable = False
        return dense
    for part in (csr.data, csr.indices, csr.indptr):
        part.flags.writeable = False
    return csr
