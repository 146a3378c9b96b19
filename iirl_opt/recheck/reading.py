"""What a document may look like: numbers, and arrays of them, of a form that the caller knows.

A document of another form is `Unreadable`; a condition of a proof that fails is `NotProved`.
"""

import math
import re
from fractions import Fraction
from typing import Any

INTEGER = re.compile(r"-?(?:[0-9]{1,4000}|0x[0-9a-fA-F]{1,1000000})")

SparseRow = dict[int, Fraction]


class Unreadable(Exception):
    """This is no certificate: the message says where and why."""


class NotProved(Exception):
    """A condition does not hold: the message says which."""


# What a document that is no certificate can end in.
TROUBLE = (
    Unreadable, OSError, ValueError, ArithmeticError, LookupError, TypeError, RecursionError,
    MemoryError,
)  # fmt: skip


def need(holds: bool, condition: str) -> None:
    """Note a condition that the proof must meet."""
    if not holds:
        raise NotProved(condition)


def form(holds: bool, place: str, allowed: str) -> None:
    """Refuse a document whose form is wrong."""
    if not holds:
        raise Unreadable(f"{place} is not {allowed}")


def listed(given: Any, place: str, count: int | None = None) -> list[Any]:
    """Return a list, of so many entries."""
    form(type(given) is list, place, "a list")
    form(count in (None, len(given)), place, f"a list of {count}")
    return list(given)


def whole(given: Any, place: str, least: int | None = None, below: int | None = None) -> int:
    """Return an integer that stands as a plain JSON number, within limits."""
    form(type(given) is int, place, "an integer")
    form(least is None or given >= least, place, f"at least {least}")
    form(below is None or given < below, place, f"below {below}")
    return int(given)


def integer_of(text: str, place: str) -> int:
    """Return the integer that a text writes in decimal or hexadecimal digits."""
    form(bool(INTEGER.fullmatch(text)), place, "a number")
    return int(text, 16 if "x" in text else 10)


def number(given: Any, place: str) -> Fraction:
    """Return a number as the rational that it is."""
    if type(given) is float:
        form(math.isfinite(given), place, "finite")
    if type(given) in (int, float):
        return Fraction(given)
    form(type(given) is str, place, "a number")
    above, slash, below = given.partition("/")
    under = integer_of(below, place) if slash else 1
    form(under > 0, place, "a number (its denominator)")
    return Fraction(integer_of(above, place), under)


def array(given: Any, shape: tuple[int, ...], place: str) -> Any:
    """Return nested lists of numbers of a shape."""
    if not shape:
        return number(given, place)
    return [array(x, shape[1:], place) for x in listed(given, place, shape[0])]


def shares(weights: list[Fraction], place: str) -> list[Fraction]:
    """Return weights divided by their sum."""
    total = sum(weights)
    form(min(weights) >= 0 < total, place, "weights with a positive sum")
    return [x / total for x in weights]


def distributions(given: Any, shape: tuple[int, ...], place: str) -> Any:
    """Return nested lists whose innermost ones are weights, divided by their sums."""
    if len(shape) > 1:
        return [distributions(x, shape[1:], place) for x in listed(given, place, shape[0])]
    return shares(array(given, shape, place), place)


def sparse_row(row: Any, width: int, place: str) -> SparseRow:
    """Return one sparse row as ``{column: number}``, its columns increasing."""
    found: SparseRow = {}
    last = -1
    for pair in listed(row, place):
        form(type(pair) is list and len(pair) == 2, place, "pairs of a column and a number")
        last = whole(pair[0], place, last + 1, width)
        found[last] = number(pair[1], place)
    return found


def texts(given: Any, count: int, place: str) -> list[str]:
    """Return a list of texts."""
    form(all(type(x) is str for x in listed(given, place, count)), place, f"{count} texts")
    return list(given)
