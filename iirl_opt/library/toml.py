"""TOML text: values and tables as model files write them.

A table is inline where it fits on a line, else a section of its own; a list that does not fit has
an element on each line. Python reads TOML and does not write it; writers that are packages choose
their own layout, in which a list of transitions is twenty lines a row, and know no exact numbers.

A Fraction is written as an integer or a decimal where it is one, exactly, else as a text such as
``"1/3"``; a float as the shortest decimal that is read as the same float.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from iirl_opt.errors import InvalidArgument
from iirl_opt.exact.numbers import DIGITS
from iirl_opt.library.schema import Concentration

__all__ = ["as_plain", "document_text", "number_text"]

WIDTH = 100
LARGEST_INTEGER = 2**63
EXPONENT = re.compile(r"(?<=e)\+?(-?)0*")
BARE = re.compile(r"[A-Za-z0-9_-]+")
ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def document_text(tables: Mapping[str, Any]) -> str:
    """Return a document: values first, then a section for each table and for each of a list.

    Raises
    ------
    InvalidArgument
        A text holds half of a surrogate pair, or a number has too many digits: names the key.
    """
    return "\n".join(_section((), tables)) + "\n"


def _section(path: tuple[str, ...], table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table: those of its own values, then the sections within it."""
    inner: list[tuple[str, str, Mapping[str, Any]]] = []
    for key, value in table.items():
        place = ".".join((*path, key))
        if isinstance(value, Mapping) and (not path or _is_long(key, value, place)):
            inner.append((key, "[{}]", value))
        elif not path and isinstance(value, list) and all(isinstance(x, Mapping) for x in value):
            inner += [(key, "[[{}]]", each) for each in value]
        else:
            yield from _assignment(key, value, place)
    for key, brackets, value in inner:
        name = ".".join(map(_key, (*path, key)))
        yield ""
        yield brackets.format(name)
        yield from _section((*path, key), value)


def _is_long(key: str, value: Mapping[str, Any], place: str) -> bool:
    """Return whether a table is no line: it is too long, or holds a list of several texts."""
    rows = any(isinstance(x, list) and len(x) > 1 for x in value.values())
    return bool(value) and (rows or len(f"{_key(key)} = {_inline(value, place)}") > WIDTH)


def _assignment(key: str, value: Any, place: str) -> Iterator[str]:
    """Yield a key and its value; a list that is too long on lines of its own."""
    line = f"{_key(key)} = {_inline(value, place)}"
    if not isinstance(value, list) or not value:
        yield line
        return
    rows = isinstance(value[0], Mapping | list) or key == "rows"  # of a grid, which is a picture
    if len(line) <= WIDTH and not rows:
        yield line
        return
    yield f"{_key(key)} = ["
    parts = [f"{_inline(each, place)}," for each in value]
    lines = parts if rows else _filled(parts)
    yield from (f"  {each}" for each in lines)
    yield "]"


def _filled(parts: list[str]) -> Iterator[str]:
    """Yield lines that hold as many parts as fit."""
    line = ""
    for part in parts:
        if line and len(line) + len(part) + 3 > WIDTH:
            yield line
            line = ""
        line = f"{line} {part}".lstrip()
    yield line


def _inline(value: Any, place: str) -> str:
    """Return a value on one line."""
    if isinstance(value, Mapping):
        parts = [f"{_key(key)} = {_inline(x, f'{place}.{key}')}" for key, x in value.items()]
        return f"{{ {', '.join(parts)} }}" if parts else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_inline(x, place) for x in value)}]"
    if isinstance(value, str):
        return _text(value, place)
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value, place)


def _key(key: str) -> str:
    return key if BARE.fullmatch(key) else _text(key, key)


def _text(value: str, place: str) -> str:
    """Return a text in quotation marks, which any text can stand in but halves of pairs."""
    try:
        value.encode()
    except UnicodeEncodeError as problem:
        allowed = "whole characters, as UTF-8 has them"
        raise InvalidArgument(place, f"is {value!r}", allowed, value) from problem
    shown = (ESCAPES.get(c) or (c if c.isprintable() else f"\\U{ord(c):08X}") for c in value)
    return f'"{"".join(shown)}"'


def number_text(number: Fraction | float, place: str = "number") -> str:
    """Return a number as a model file writes it.

    Raises
    ------
    InvalidArgument
        It is not finite, or has too many digits to be read again: names the place.

    Examples
    --------
    >>> [number_text(Fraction(x)) for x in ("3", "0.125", "1/3", "1e-30")]
    ['3', '0.125', '"1/3"', '1e-30']
    >>> number_text(0.1)
    '0.1'
    """
    if isinstance(number, float):
        if number - number != 0:
            raise InvalidArgument(place, f"is {number}", "finite numbers", number)
        return EXPONENT.sub(r"\1", repr(number))
    exact = Fraction(number)
    long = max(exact.numerator.bit_length(), exact.denominator.bit_length()) > 4 * DIGITS
    text = "" if long else _exact_text(exact)
    if long or len(text) > DIGITS:
        allowed = f"numbers that are written in at most {DIGITS} digits"
        raise InvalidArgument(place, "has too many digits", allowed, number)
    return text


def _exact_text(exact: Fraction) -> str:
    """Return an integer or a decimal where the number is one, else a quotient as a text."""
    above, below = exact.numerator, exact.denominator
    if below == 1:
        return str(above) if abs(above) < LARGEST_INTEGER else f'"{above}"'
    digits = _decimals(below)
    if digits is None:
        return f'"{exact}"'
    whole = str(abs(above) * 10**digits // below)
    sign = "-" if above < 0 else ""
    if len(whole) + 5 < digits:
        return f"{sign}{whole}e-{digits}"
    padded = whole.rjust(digits + 1, "0")
    return f"{sign}{padded[:-digits]}.{padded[-digits:]}"


def _decimals(below: int) -> int | None:
    """Return how many digits behind the point a quotient has, or None if they do not end."""
    twos = (below & -below).bit_length() - 1
    rest, fives = below >> twos, 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 else None


def as_plain(value: Any) -> Any:
    """Return a table as a mapping of its keys without those at their defaults; else the value."""
    if isinstance(value, Struct):
        config = value.__struct_config__
        tag = {} if config.tag_field is None else {config.tag_field: config.tag}
        return tag | {
            field.encode_name: as_plain(getattr(value, field.name))
            for field in fields(value)
            if not _is_default(field, getattr(value, field.name))
        }
    if isinstance(value, Concentration):
        return as_plain(value.by_state or value.default)
    if isinstance(value, dict):
        return {key: as_plain(x) for key, x in value.items()}
    return [as_plain(x) for x in value] if isinstance(value, list | tuple) else value


def _is_default(field: Any, value: Any) -> bool:
    if field.default is not NODEFAULT:
        return bool(value == field.default)
    return field.default_factory is not NODEFAULT and bool(value == field.default_factory())
