"""What a given number means, and vectors of exact numbers.

Integers, Fractions, Decimals and strings (``"9/10"``, ``"0.9"``) mean what they say. A float is the
dyadic rational that it is: ``0.9`` is 8106479329266893 / 2⁵³ and not 9/10. So adding a constant to
a reward changes nothing where the sum loses no bit, nor does scaling by a power of two. Vectors of
exact numbers are object arrays of `fractions.Fraction`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["UNREADABLE", "as_fraction", "as_fractions", "as_reals", "common", "over"]

# Vectors of the one arithmetic or the other: floats, or objects that are Fractions.
Vector = NDArray[Any]

# What reading a number raises where there is none: NaN and infinity among them.
UNREADABLE = (TypeError, ValueError, OverflowError, ZeroDivisionError)


def as_fraction(number: Any) -> Fraction:
    """Return a number as a Fraction; a float is the dyadic rational that it is.

    Examples
    --------
    >>> as_fraction(0.75), as_fraction("0.9"), as_fraction(Fraction(1, 3))
    (Fraction(3, 4), Fraction(9, 10), Fraction(1, 3))
    """
    return Fraction(number.item() if isinstance(number, np.generic) else number)


def as_fractions(numbers: Any) -> Vector:
    """Return numbers as Fractions; floats as what they are."""
    given = np.asarray(numbers)
    out = np.empty(given.shape, dtype=object)
    flat = given.ravel().tolist()
    out.ravel()[:] = [x if type(x) is Fraction else as_fraction(x) for x in flat]
    return out


def as_reals(numbers: Any) -> NDArray[np.float64]:
    """Return numbers as floats; a Fraction beyond all floats becomes infinite."""
    given = np.asarray(numbers)
    if given.dtype != object:
        return given.astype(float)
    return np.array([_real(x) for x in given.ravel()], dtype=float).reshape(given.shape)


def _real(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def common(vector: Vector) -> tuple[Vector, int]:
    """Return a vector of Fractions as integers over one denominator."""
    flat = vector.ravel().tolist()
    below = math.lcm(*(x.denominator for x in flat))
    out = np.empty(len(flat), dtype=object)
    out[:] = [x.numerator * (below // x.denominator) for x in flat]
    return out.reshape(vector.shape), below


def over(above: Iterable[int], below: Iterable[int]) -> Vector:
    """Return quotients of integers."""
    zero = Fraction(0)
    quotients = [Fraction(a, b) if a else zero for a, b in zip(above, below, strict=True)]
    out = np.empty(len(quotients), dtype=object)
    out[:] = quotients
    return out
