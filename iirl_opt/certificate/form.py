"""The numbers of a certificate: how JSON writes them, and how a claim does.

Every number of a certificate is rational. In JSON it stands as an integer, as a float (the dyadic
rational that it is) or as a string ``"n/d"``; in a claim as a decimal, rounded to the side on which
the claim stays true. The format is written down in ``docs/certificate_format.rst``.
"""

from __future__ import annotations

import decimal
import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "above",
    "below",
    "down",
    "read_array",
    "read_integer",
    "read_number",
    "up",
    "write",
]

Vector = NDArray[Any]

LONGEST = 1_000_000  # digits that an integer may have
DECIMALS = 4_000  # of them in decimal digits, which take quadratic time to read
INTEGER = r"-?(?:0x[0-9a-fA-F]+|[0-9]+)"
RATIONAL = re.compile(rf"({INTEGER})(?:/({INTEGER}))?")
DIGITS = 12


def read_integer(given: Any) -> int:
    """Return a JSON integer, or a string with one.

    Raises
    ------
    TypeError, ValueError
    """
    if isinstance(given, str):
        number = read_number(given)
        if number.denominator != 1:
            raise ValueError(f"{given[:40]!r} is no integer")
        return number.numerator
    if type(given) is not int:
        raise TypeError(f"{given!r} is no integer")
    return given


def read_number(given: Any) -> Fraction:
    """Return a JSON number, or a string ``"n/d"``, as the rational that it is.

    Raises
    ------
    TypeError, ValueError, OverflowError
        It is no number, or none that is finite.

    Examples
    --------
    >>> read_number(0.75), read_number("0x10/3")
    (Fraction(3, 4), Fraction(16, 3))
    """
    if isinstance(given, str):
        found = RATIONAL.fullmatch(given) if len(given) <= 2 * LONGEST else None
        if found is None:
            raise ValueError(f"{given[:40]!r} is no number")
        above, below = (_digits(part or "1") for part in found.groups())
        if below <= 0:
            raise ValueError(f"{given[:40]!r} has no positive denominator")
        return Fraction(above, below)
    if type(given) not in (int, float):
        raise TypeError(f"{given!r} is no number")
    return Fraction(given)


def _digits(text: str) -> int:
    if "x" in text:
        return int(text, 16)
    if len(text) > DECIMALS:
        raise ValueError(f"more than {DECIMALS} decimal digits")
    return int(text)


def read_array(given: Any) -> Vector:
    """Return nested lists of JSON numbers as an array of Fractions.

    Raises
    ------
    TypeError, ValueError, OverflowError
        A list is ragged, or what stands in it is no number.
    """
    shape: list[int] = []
    level: list[Any] = [given]
    while any(isinstance(item, list) for item in level):
        sizes = {len(item) if isinstance(item, list) else -1 for item in level}
        if len(sizes) != 1:
            raise ValueError("a ragged array")
        shape += sizes
        level = [part for item in level for part in item]
        if not level:
            break
    out = np.empty(len(level), dtype=object)
    out[:] = [read_number(item) for item in level]
    return out.reshape(shape)


def write(value: Any) -> Any:
    """Return numbers and arrays as JSON values: short where nothing is lost.

    Examples
    --------
    >>> write([Fraction(3), Fraction(1, 4), Fraction(1, 3)])
    [3, 0.25, '1/3']
    """
    if isinstance(value, np.ndarray):
        return write(value.tolist())
    if isinstance(value, list | tuple):
        return [write(item) for item in value]
    if isinstance(value, Fraction):
        return _shortest(value)
    if isinstance(value, int | np.integer):
        return int(value) if int(value).bit_length() <= 53 else _written(int(value))
    return value


def _shortest(number: Fraction) -> Any:
    if number.denominator == 1 and number.numerator.bit_length() <= 53:
        return number.numerator
    try:
        near = float(number)
    except OverflowError:
        near = math.inf
    if math.isfinite(near) and near == number:
        return near
    above, under = _written(number.numerator), _written(number.denominator)
    return above if under == "1" else f"{above}/{under}"


def _written(number: int) -> str:
    """Return an integer in decimal digits, or hexadecimal ones where it is long."""
    return str(number) if number.bit_length() < 10_000 else hex(number)


def up(number: Fraction) -> str:
    """Return a number as a claim writes it where no more than it is claimed.

    Examples
    --------
    >>> up(Fraction(1, 3)), down(Fraction(1, 3)), up(Fraction(5)), up(Fraction(1, 3 * 10**9))
    ('0.333333333334', '0.333333333333', '5', '3.33333333334E-10')
    """
    return _decimal(number, decimal.ROUND_CEILING)


def down(number: Fraction) -> str:
    """Return a number as a claim writes it where no less than it is claimed."""
    return _decimal(number, decimal.ROUND_FLOOR)


def _decimal(number: Fraction, rounding: str) -> str:
    context = decimal.Context(DIGITS, rounding, decimal.MIN_EMIN, decimal.MAX_EMAX)
    quotient = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    found = quotient.normalize(context)
    return format(found, "f") if not found or -6 <= found.adjusted() < DIGITS else str(found)


def below(square: Fraction) -> Fraction:
    """Return a rational a little below a square root: exact to 64 bits at least."""
    root, bits = _root(square)
    return Fraction(root, 1 << bits)


def above(square: Fraction) -> Fraction:
    """Return a rational a little above a square root; the root of zero is zero."""
    root, bits = _root(square)
    return Fraction(root + (square > 0), 1 << bits)


def _root(square: Fraction) -> tuple[int, int]:
    n, d = square.numerator, square.denominator
    bits = max(0, 64 + (d.bit_length() - n.bit_length()) // 2)
    return math.isqrt((n << (2 * bits)) // d), bits
