"""Exact numbers: vectors and rows as whole numbers over one denominator, roots and decimals.

One denominator for a whole vector, or a whole row of a kernel, so that long sums need no common
denominator term by term.
"""

import decimal
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from operator import mul
from typing import Any, NamedTuple

ZERO, ONE = Fraction(0), Fraction(1)
both: "partial[zip[Any]]" = partial(zip, strict=True)


@dataclass(frozen=True)
class WholeVector:
    """Whole numbers over one denominator, not in lowest terms."""

    above: list[int]
    below: int

    def __getitem__(self, at: int) -> Fraction:
        return Fraction(self.above[at], self.below)

    def __mul__(self, factor: Fraction) -> "WholeVector":
        above = [x * factor.numerator for x in self.above]
        return WholeVector(above, self.below * factor.denominator)

    def __add__(self, other: "WholeVector") -> "WholeVector":
        below = math.lcm(self.below, other.below)
        one, two = below // self.below, below // other.below
        return WholeVector([one * x + two * y for x, y in both(self.above, other.above)], below)

    def __sub__(self, other: "WholeVector") -> "WholeVector":
        return self + other * -ONE

    def __matmul__(self, other: "WholeVector") -> Fraction:
        return Fraction(sum(map(mul, self.above, other.above)), self.below * other.below)

    def most(self) -> Fraction:
        """Return the largest entry."""
        return Fraction(max(self.above), self.below)

    def least(self) -> Fraction:
        """Return the smallest entry."""
        return Fraction(min(self.above), self.below)

    def size(self) -> Fraction:
        """Return the largest absolute value, zero if there are no entries."""
        return Fraction(max(map(abs, self.above), default=0), self.below)

    def sum(self, of: Callable[[int], int] = int) -> Fraction:
        """Return the sum of a function of the entries that scales."""
        return Fraction(sum(map(of, self.above)), self.below)


def positive(x: int) -> int:
    """Return a number, or zero if it is negative."""
    return max(x, 0)


def negative(x: int) -> int:
    """Return minus a number, or zero if it is positive."""
    return max(-x, 0)


def vector(numbers: Iterable[Fraction]) -> WholeVector:
    """Return numbers over one denominator."""
    given = list(numbers)
    below = math.lcm(*(x.denominator for x in given))
    return WholeVector([x.numerator * (below // x.denominator) for x in given], below)


class WholeRow(NamedTuple):
    """A row of a kernel: columns, whole weights, and what these are over."""

    columns: Sequence[int]
    weights: Sequence[int]
    below: int

    def __matmul__(self, v: WholeVector) -> Fraction:
        above = sum(map(mul, self.weights, map(v.above.__getitem__, self.columns)))
        return Fraction(above, self.below * v.below)

    def dense(self, width: int) -> WholeVector:
        """Return the row with its zeros."""
        out = [0] * width
        for j, x in both(self.columns, self.weights):
            out[j] = x
        return WholeVector(out, self.below)


def mixture(rows: Iterable[tuple[Fraction, WholeRow]]) -> WholeRow:
    """Return the sum of rows, each times a number."""
    parts = [(share, row) for share, row in rows if share]
    below = math.lcm(*(share.denominator * row.below for share, row in parts))
    out: dict[int, int] = {}
    for share, row in parts:
        factor = share.numerator * (below // (share.denominator * row.below))
        for j, x in both(row.columns, row.weights):
            out[j] = out.get(j, 0) + factor * x
    return WholeRow(list(out), list(out.values()), below)


def root(x: Fraction, up: bool) -> Fraction:
    """Return a number next to the square root of x ≥ 0, below it or above."""
    if x == 0:
        return ZERO
    n, d = x.numerator, x.denominator
    k = max(0, 64 + (d.bit_length() - n.bit_length()) // 2)
    return Fraction(math.isqrt((n << (2 * k)) // d) + up, 1 << k)


def words(x: Fraction, up: bool) -> str:
    """Write a number to twelve digits, rounded up or down."""
    rounding = decimal.ROUND_CEILING if up else decimal.ROUND_FLOOR
    c = decimal.Context(12, rounding, decimal.MIN_EMIN, decimal.MAX_EMAX)
    d = c.divide(decimal.Decimal(x.numerator), decimal.Decimal(x.denominator)).normalize(c)
    return format(d, "f") if not d or -6 <= d.adjusted() < 12 else str(d)
