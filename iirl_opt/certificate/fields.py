"""The fields of a certificate: their forms, and how each is read, made exact and written.

A form is ``number``, ``integer``, ``array`` or ``weights`` of any shape, ``rows`` (sparse ones),
``positions`` (a list of integers), ``text``, ``lists`` (nested integers), ``box`` or ``boxes`` (of
a search tree), with ``?`` after it where the field may be None.

All numbers are exact: floats are read as the dyadic rationals that they are, and what cannot be
read so, NaN and infinity, is no field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from iirl_opt.certificate.boxes import Bounds
from iirl_opt.certificate.form import read_array, read_integer, read_number, write
from iirl_opt.certificate.instance import SparseRows
from iirl_opt.errors import InvalidArgument
from iirl_opt.exact.numbers import UNREADABLE, as_fraction, as_fractions

__all__ = ["exact_field", "plain_field", "read_field"]

READERS: Mapping[str, Callable[[Any], Any]] = {
    "number": read_number,
    "integer": read_integer,
    "array": read_array,
    "weights": read_array,
    "rows": SparseRows.read,
    "positions": lambda given: tuple(map(read_integer, _as_list(given))),
    "text": lambda given: _as_text(given),
    "lists": lambda given: _as_integers(_as_list(given)),
    "box": Bounds.read,
    "boxes": lambda given: tuple(map(Bounds.read, _as_list(given))),
}


def _as_text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError(f"{given!r} is no text")
    return given


def _as_integers(given: Any) -> Any:
    """Return nested lists of integers as nested tuples."""
    return tuple(map(_as_integers, given)) if isinstance(given, list) else read_integer(given)


def _as_list(given: Any) -> list[Any]:
    if not isinstance(given, list):
        raise TypeError(f"{given!r} is no list")
    return given


def read_field(form: str, given: Any) -> Any:
    """Return the value of a field from its JSON value.

    Raises
    ------
    TypeError, ValueError, KeyError, AttributeError, OverflowError
        It has another form.
    """
    if form.endswith("?") and given is None:
        return None
    return READERS[form.removesuffix("?")](given)


def exact_field(name: str, form: str, given: Any) -> Any:
    """Return the value of a field in exact numbers.

    Raises
    ------
    InvalidArgument
        It holds something else than finite numbers.
    """
    if given is None and form.endswith("?"):
        return None
    try:
        if form.startswith("number"):
            return as_fraction(given)
        if form == "integer":
            return read_integer(given.item() if isinstance(given, np.generic) else given)
        if form == "positions":
            return tuple(int(x) for x in given)
        if form == "rows":
            return given.exact()
        if form in ("text", "lists", "box", "boxes"):  # whole numbers already
            return given
        return as_fractions(given)
    except (*UNREADABLE, AttributeError):
        raise InvalidArgument(name, "is not finite or no number", "finite numbers", given) from None


def plain_field(value: Any) -> Any:
    """Return the value of a field as a JSON value."""
    if isinstance(value, SparseRows | Bounds):
        return value.to_plain()
    if isinstance(value, tuple) and value and isinstance(value[0], Bounds):
        return [box.to_plain() for box in value]
    return write(value)
