"""What a given number means, and vectors of exact numbers.

Integers, Fractions, Decimals and strings (``"9/10"``, ``"0.9"``) mean what they say. A float is the
dyadic rational that it is: ``0.9`` is 8106479329266893 / 2⁵³ and not 9/10. So adding a constant to
a reward changes nothing where the sum loses no bit, nor does scaling by a power of two. Vectors of
exact numbers are object arrays of `fractions.Fraction`.

A text of a few letters can mean a number that fills the memory, as ``1e-400000000`` does. Texts and
Decimals of more than 4,000 digits, with those that an exponent stands for, are no numbers here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.checks import refuse

__all__ = ["UNREADABLE", "as_fraction", "as_fractions", "as_reals", "common", "over"]

# Vectors of the one arithmetic or the other: floats, or objects that are Fractions.
Vector = NDArray[Any]

# What reading a number raises where there is none: NaN and infinity among them.
UNREADABLE = (TypeError, ValueError, OverflowError, ZeroDivisionError)


# The digits that a number may have which is written in decimals.
DIGITS = 4000

_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")


def as_fraction(number: Any) -> Fraction:
    """Return a number as a Fraction; a float is the dyadic rational that it is.

    Raises
    ------
    TypeError, ValueError, OverflowError, ZeroDivisionError
        It is no finite number, or is written in more than 4,000 digits: one of `UNREADABLE`.

    Examples
    --------
    >>> as_fraction(0.75), as_fraction("0.9"), as_fraction(Fraction(1, 3))
    (Fraction(3, 4), Fraction(9, 10), Fraction(1, 3))
    """
    if isinstance(number, np.generic):
        number = number.item()
    if isinstance(number, str | Decimal) and _digits(number) > DIGITS:
        raise ValueError(f"more than {DIGITS} digits")
    return Fraction(number)


def _digits(number: str | Decimal) -> int:
    """Return at least how many digits a number takes when it is written out, up to a few."""
    if isinstance(number, str):
        found = _EXPONENT.search(number)
        # Neither a long text nor a long exponent is worth reading.
        exponent = found[1] if found and len(number) <= DIGITS else "0"
        return max(len(number), abs(int(exponent)))
    _, digits, power = number.as_tuple()
    return max(len(digits), abs(power)) if isinstance(power, int) else 0


def EXACT(name: str, value: Any) -> Fraction:
    """Return what an argument states exactly: a number, or a text such as "1/3"."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return as_fraction(value)
    except UNREADABLE:
        raise refuse(name, value, "a finite number") from None


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
