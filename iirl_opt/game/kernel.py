"""Transition kernels: from what a user has to one read-only matrix, and its exact numbers.

A kernel over n choices a state is a matrix of shape (S·n, S) whose row ``s·n + choice`` is the
distribution of the next state. It may be given

* as floats, dense of shape (S, …, S) or (S·n, S), or in any scipy sparse form of these shapes;
  rows within 1e-9 of one are read as weights, too: each entry over the exact sum of its row;
* as integers of any size, read as *weights a row*: the row ``[1, 3]`` means (1/4, 3/4);
* as `fractions.Fraction` in an object array, whose rows must sum to one exactly, or within 1e-9 of
  one where floats stand among them.

Numbers of single or half precision, and decimals of few digits, sum to one less well. With
``normalise=True`` rows within 2e-3 of one are read as weights, and no others: what is further off
is no rounding.

So every kernel has exact numbers, a `Rational`, and the float matrix is their image up to rounding.
How the entries are read, and what is kept of them, says `iirl_opt.game.entries`.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
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
    "EPS",
    "LARGEST",
    "ROUNDED_SUMS",
    "SUM_TOLERANCE",
    "Matrix",
    "Place",
    "Rational",
    "are_whole",
    "exact_or_none",
    "fill_missing",
    "fingerprint",
    "is_sparse",
    "kernel_array",
    "kernel_shape",
    "read_distribution",
    "sum_allowed",
]

# A `scipy.sparse.csr_array` or a dense array: what the two share (``@``, row indexing, sums) is all
# that is used, and no static type says so.
Matrix: TypeAlias = Any
Place = Callable[..., str]

SUM_TOLERANCE = 1e-9
ROUNDED_SUMS = 2e-3  # how far rows may be off one that are to be normalised
EPS = float(np.finfo(float).eps)
LARGEST = 2**62  # of integers kept as int64


def sum_allowed(total: Any, tolerance: float) -> str:
    """Return what a sum may be, and what to do if it is off by no more than rounding."""
    said = f"1 ± {tolerance:g}"
    if tolerance < abs(total - 1) <= ROUNDED_SUMS:
        by = f"divides by sums that rounding left within {ROUNDED_SUMS:g}"
        return f"{said} (normalise=True, --normalise, {by})"
    return said


def is_sparse(matrix: Matrix) -> bool:
    """Return whether a matrix is kept in a scipy sparse form."""
    return bool(sp.issparse(matrix))


@dataclass(frozen=True, eq=False)
class Rational:
    """The exact numbers of a game: kernel rows, discount, and the S start probabilities."""

    rows: ExactRows
    discount: Fraction
    start: tuple[Fraction, ...]


def are_whole(numbers: NDArray[Any]) -> bool:
    """Return whether all numbers are of integer types, that is, weights."""
    if numbers.dtype == object:
        return all(isinstance(x, int | np.integer) for x in numbers)
    return numbers.dtype.kind in "biu"


def exact_or_none(number: Any) -> Fraction | None:
    """Return a number as a Fraction, or None for what is no finite number."""
    try:
        return as_fraction(number)
    except UNREADABLE:
        return None


def kernel_array(kernel: Any) -> Any:
    """Return a kernel as an array of numbers, sparse as it is, or say why it is none."""
    if np.ma.is_masked(kernel):
        raise InvalidGame("P", "has masked entries", "numbers", kernel)
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
    weights: Any,
    n: int,
    *,
    name: str,
    labels: Sequence[object],
    rational: bool,
    tolerance: float = SUM_TOLERANCE,
) -> tuple[NDArray[np.float64], tuple[Fraction, ...]]:
    """Return a distribution over n states as floats and as Fractions.

    `weights` is None or ``"uniform"``, a mapping from labels, or an array of shape (n,) of floats
    (within `tolerance` of one), integer weights or Fractions. Where all is `rational`, the floats
    are the image of the Fractions; else what sums to one up to rounding is left, as in kernels.
    """
    if weights is None or (isinstance(weights, str) and weights == "uniform"):
        return np.full(n, 1.0 / n), (Fraction(1, n),) * n
    if np.ma.is_masked(weights):
        raise InvalidGame(name, "has masked entries", "numbers", weights)
    try:
        array = np.asarray(weights)
    except ValueError:
        raise InvalidGame(name, "is ragged", f"shape ({n},)", weights) from None
    if array.shape != (n,):
        raise InvalidGame(name, f"has shape {array.shape}", f"({n},)", array.shape)
    # A start says few different things of many states: each is read, and kept, once.
    given, numbers = array.tolist(), dict[Any, Fraction]()
    for s, x in enumerate(given):
        if not isinstance(x, Hashable) or x not in numbers:
            p = exact_or_none(x)
            if p is None or p < 0:
                raise InvalidGame(f"{name}[s={labels[s]!r}]", f"is {x}", "0 ≤ p ≤ 1", x)
            numbers[x] = p
    total = sum((numbers[x] * times for x, times in Counter(given).items()), Fraction(0))
    if not (are_whole(array) and total > 0) and abs(total - 1) > tolerance:
        # Of a mapping, as model files have, the numbers are not those of an array of float32.
        rounded = array.dtype.kind == "f"
        allowed = sum_allowed(total, tolerance) if rounded else f"1 ± {tolerance:g}"
        raise InvalidGame(name, f"sums to {float(total):.12g}", allowed, float(total))
    fractions = {x: p / total for x, p in numbers.items()}
    image = numbers if not rational and abs(total - 1) <= n * EPS else fractions
    floats = {x: float(p) for x, p in image.items()}
    return np.array([floats[x] for x in given]), tuple(fractions[x] for x in given)
