"""Exact numbers as the texts of files have them, in and out."""

from __future__ import annotations

import re
from decimal import Context, Decimal, Inexact
from fractions import Fraction

from iirl_opt.exact.numbers import UNREADABLE, as_fraction

__all__ = ["DECIMAL", "as_decimal", "number_text", "plain", "read_number", "whole_number"]

DECIMAL = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?"

_NUMBER = re.compile(rf"[+-]?[0-9]+/[0-9]+|{DECIMAL}")


def read_number(word: str) -> Fraction | None:
    """Return the number that a word means, a decimal or a fraction, or None."""
    try:
        return as_fraction(word) if _NUMBER.fullmatch(word) else None
    except UNREADABLE:
        return None


def whole_number(word: str) -> int | None:
    """Return the whole number that a word means, or None."""
    return int(word) if word.isascii() and word.isdecimal() and len(word) < 19 else None


def as_decimal(number: Fraction, digits: int) -> Decimal | None:
    """Return a number as a decimal of so many digits, or None if it is none."""
    above, below = number.as_integer_ratio()
    if below.bit_length() > 4 * digits:
        return None
    try:
        return Context(prec=digits, traps=[Inexact]).divide(Decimal(above), Decimal(below))
    except Inexact:
        return None


def plain(number: Decimal) -> str:
    """Return a decimal as text, with an exponent where there are many zeros behind the point."""
    return f"{number:f}" if not number or number.adjusted() >= -20 else f"{number:e}"


def number_text(number: Fraction, digits: int = 15) -> str:
    """Return a number exactly: as a decimal, if so many digits are enough, else as a fraction.

    Examples
    --------
    >>> [number_text(Fraction(text)) for text in ("1/4", "1/3", "12")]
    ['0.25', '1/3', '12']
    """
    decimal = None if number.denominator == 1 else as_decimal(number, digits)
    return str(number) if decimal is None else plain(decimal)
