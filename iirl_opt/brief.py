"""What a record says of itself on one screen: its fields, each in brief.

An array is its shape and its range, ``<392×8, 0 to 1>``, or its entries where they are few; a long
text, tuple or mapping is its beginning and how much is left out; a record within a record is its
own line, or its name where that line is long. Nothing is taken for harmless: the texts of labels
and the `__repr__` of a user's objects come out cut, on one line, or not at all.

A class opts in by ``__repr__ = in_brief`` in its body, which a dataclass and a named tuple keep.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from itertools import islice
from numbers import Number
from typing import Any

__all__ = ["cut", "facts", "in_brief", "mixture", "shortly", "told", "with_advice"]

# A screen: characters a line, lines, entries of a list, bits of an integer, lists within lists.
WIDTH, MOST_FIELDS, FEW, MOST_BITS, DEEPEST = 100, 17, 6, 128, 3
# Exact numbers beyond which the range of an array would take a noticeable time.
MOST_EXACT = 10_000


def in_brief(record: Any) -> str:
    """Return a record's name and its fields in brief, on at most twenty lines.

    Parameters
    ----------
    record : a dataclass or a named tuple. Private fields, those kept out of its `repr`, and options
        that were left at None are not said.

    **Cost** arithmetic: one pass over its arrays.
    """
    return told(record, *(f"{field}={shortly(value)}" for field, value in facts(record)))


def told(record: Any, *parts: str) -> str:
    """Return a record's name and what is said of it: on one line, or else a line each."""
    name = type(record).__name__
    line = f"{name}({', '.join(parts)})"
    if len(line) <= WIDTH:
        return line
    rest = len(parts) - MOST_FIELDS
    more = [] if rest <= 0 else [f"    … {rest} more"]
    kept = [f"    {cut(text, WIDTH - 5)}," for text in parts[:MOST_FIELDS]]
    return "\n".join([f"{name}(", *kept, *more, ")"])


def with_advice(member: Enum) -> str:
    """Return what a member of an `enum.Enum` is called, and the beginning of what it says."""
    return cut(f"<{type(member).__name__}.{member.name}: {member.value!r}", WIDTH - 1) + ">"


def shortly(value: Any, depth: int = 0) -> str:
    """Return any value in brief, on one line of at most some eighty characters."""
    if depth > DEEPEST:
        return "…"
    for kinds, write in _WHOLE:
        if isinstance(value, kinds):
            return cut(write(value))
    for kinds, write_parts in _OF_PARTS:
        if isinstance(value, kinds):
            return cut(write_parts(value, depth + 1))
    if is_dataclass(value) and not isinstance(value, type):
        return _record(value)
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return _array(value)
    return cut(_own_words(value))


def mixture(names: Sequence[Any], weights: Any) -> str:
    """Return a distribution over labels in words: ``open N``, or ``open N: 0.5, closed: 0.5``."""
    words = [name if isinstance(name, str) else shortly(name) for name in names]
    played = [(w, words[i]) for i, w in enumerate(weights.tolist()) if w > 0]
    if len(played) == 1:
        return cut(played[0][1])
    played.sort(key=lambda part: -part[0])
    rest = [] if len(played) <= FEW else [f"… {len(played) - FEW} more"]
    return ", ".join([f"{cut(name, 30)}: {w:.3g}" for w, name in played[:FEW]] + rest)


def cut(text: str, room: int = 80) -> str:
    """Return a text on one line, its end replaced by an ellipsis where it is long."""
    line = " ".join(text[: 8 * room].split())
    if not line.isprintable():  # of an object's own words: no control characters of a terminal
        line = "".join(x if x.isprintable() else "\N{REPLACEMENT CHARACTER}" for x in line)
    return line if len(line) <= room else f"{line[: room - 1]}…"


def facts(record: Any) -> Iterable[tuple[str, Any]]:
    """Yield the fields of a record that are for its reader."""
    if is_dataclass(record):
        shown = [(f.name, f.default is None) for f in fields(record) if f.repr]
    else:
        shown = [(name, False) for name in record._fields]
    for name, optional in shown:
        value = getattr(record, name, None)
        if not name.startswith("_") and not (optional and value is None):
            yield name, value


def _array(array: Any) -> str:
    """Return an array, dense or sparse, as its entries or as its shape and range."""
    import numpy as np

    shape = "×".join(map(str, array.shape))
    if not isinstance(array, np.ndarray):  # of scipy's sparse forms, or another library's
        stored = getattr(array, "nnz", None)
        return f"<{shape} {'array' if stored is None else f'sparse, {stored} entries'}>"
    if array.ndim == 0:
        return shortly(array.item())
    if array.size == 0:
        return "[]" if array.ndim == 1 else f"<{shape}>"
    if array.ndim == 1 and array.size <= FEW:
        return f"[{', '.join(map(shortly, array.tolist()))}]"
    if array.dtype == bool:
        return f"<{shape}, {np.count_nonzero(array)} true>"
    return f"<{shape}{_range(array)}>"


def _range(array: Any) -> str:
    """Return what the numbers of an array lie between, and how many are none."""
    import numpy as np

    if array.dtype.kind not in "iuf":
        exact = array.size <= MOST_EXACT and all(isinstance(x, int | Fraction) for x in array.flat)
        return f", {shortly(min(array.flat))} to {shortly(max(array.flat))}" if exact else ""
    missing = int(np.isnan(array).sum()) if array.dtype.kind == "f" else 0
    if missing == array.size:
        return ", NaN"
    low, high = np.nanmin(array).item(), np.nanmax(array).item()
    ends = f", all {low:.4g}" if low == high else f", {low:.4g} to {high:.4g}"
    return ends + (f", {missing} NaN" if missing else "")


def _integer(value: int) -> str:
    if isinstance(value, bool | Enum) or value.bit_length() <= MOST_BITS:
        return str(value)
    return f"{'-' if value < 0 else ''}2^{math.log2(abs(value)):.1f}"


def _fraction(value: Fraction) -> str:
    above, below = value.numerator.bit_length(), value.denominator.bit_length()
    if above + below <= MOST_BITS // 2:
        return str(value)
    if not -1000 < above - below < 1000:
        return f"≈{'-' if value < 0 else ''}2^{above - below}"
    return f"≈{float(value):.9g}"


def _many(values: Iterable[Any], size: int, marks: str, depth: int) -> str:
    """Return the first few of many values, and how many are left out."""
    kept = [cut(shortly(value, depth), 24) for value in islice(values, FEW)]
    rest = [] if size <= FEW else [f"… {size - FEW} more"]
    last = "," if size == 1 and marks == "()" else ""
    return f"{marks[0]}{', '.join(kept + rest)}{last}{marks[1]}"


def _sequence(values: Sequence[Any], depth: int) -> str:
    if hasattr(values, "_fields"):
        return _record(values)
    return _many(values, len(values), "()" if isinstance(values, tuple) else "[]", depth)


def _mapping(values: Mapping[Any, Any], depth: int) -> str:
    first = islice(values.items(), FEW)
    pairs = (f"{shortly(name, depth)}: {cut(shortly(x, depth), 40)}" for name, x in first)
    rest = [] if len(values) <= FEW else [f"… {len(values) - FEW} more"]
    return f"{{{', '.join([*pairs, *rest])}}}"


def _record(record: Any) -> str:
    """Return a record within another: its own line if it has a short one, else its name."""
    own: Any = type(record).__repr__
    generated = not is_dataclass(record) or hasattr(own, "__wrapped__")
    text = in_brief(record) if generated or own is in_brief else _own_words(record)
    short = "\n" not in text and len(text) < WIDTH - 8
    return cut(text, WIDTH) if short else f"{type(record).__name__}(…)"


def _own_words(value: Any) -> str:
    """Return an object's own `repr`, whatever comes of it."""
    try:
        text = repr(value)
    except Exception:  # a label may be any object
        return f"<{type(value).__name__} without a repr>"
    return text if isinstance(text, str) else ""


def _quoted(value: str | bytes) -> str:
    return repr(value[:WIDTH])


_WHOLE: list[tuple[Any, Callable[[Any], str]]] = [
    (Enum, lambda value: value.name),
    (str | bytes, _quoted),
    (int, _integer),
    (Fraction, _fraction),
    (float, lambda value: f"{value:.9g}"),
    (Number, _own_words),
    (type, lambda value: value.__name__),
]
_OF_PARTS: list[tuple[Any, Callable[[Any, int], str]]] = [
    (Mapping, _mapping),
    (list | tuple, _sequence),
    (Set, lambda values, depth: _many(values, len(values), "{}", depth)),
]
