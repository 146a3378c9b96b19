"""What a grid is drawn with: the rows of a text, the values of prizes, doors and the slip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from iirl_opt.checks import TEXT, each
from iirl_opt.errors import InvalidArgument
from iirl_opt.exact.numbers import as_fraction

__all__ = [
    "DIRECTIONS",
    "PrizeRule",
    "characters",
    "read_doors",
    "read_prizes",
    "read_slip",
    "read_text",
]

RESERVED = "#. S"
DIRECTIONS = "NESW"
LARGEST_DENOMINATOR = 10**15
PrizeRule = Literal["vanish", "stay", "absorb"]


def characters(lines: Sequence[str]) -> NDArray[np.str_]:
    """Return the characters of lines of one length, (rows, columns)."""
    return np.array([list(line) for line in lines])


def read_text(text: str | Sequence[str], known: Mapping[str, float]) -> tuple[str, ...]:
    """Return the rows of a rectangular text of known characters, or name the place that is not."""
    lines = text.splitlines() if isinstance(text, str) else list(each(TEXT)("text", text))
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    for i, line in enumerate(lines, start=1):
        if len(line) != len(lines[0]):
            allowed = f"{len(lines[0])}, as in line 1"
            raise InvalidArgument(f"grid line {i}", f"has length {len(line)}", allowed, line)
        for j, character in enumerate(line, start=1):
            if character not in RESERVED and character not in known:
                raise InvalidArgument(
                    f"grid line {i}, column {j}",
                    f"is {character!r}",
                    "'#', '.', ' ', 'S', a digit or a character named in prizes",
                    character,
                )
    if not set("".join(lines)) - {"#"}:
        raise InvalidArgument("grid", "has no free cell", "at least one", text)
    return tuple(lines)


def read_prizes(prizes: Mapping[str, Any]) -> dict[str, float]:
    """Return the value of every character that is a prize: the digits and those given."""
    values = {str(digit): float(digit) for digit in range(10)}
    for character, value in prizes.items():
        if not isinstance(character, str) or len(character) != 1 or character in RESERVED:
            allowed = "one character, not '#', '.', ' ' or 'S'"
            raise InvalidArgument("prizes", f"names {character!r}", allowed, character)
        values[character] = float(
            _finite_number(f"prizes[{character!r}]", value, "a finite number")
        )
    return values


def _finite_number(name: str, number: Any, allowed: str) -> Fraction:
    try:
        exact = as_fraction(number)
        float(exact)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise InvalidArgument(name, f"is {number!r}", allowed, number) from None
    return exact


def read_slip(slip: Any) -> Fraction:
    probability = _finite_number("slip", slip, "0 ≤ slip ≤ 1")
    if not 0 <= probability <= 1:
        raise InvalidArgument("slip", f"is {slip}", "0 ≤ slip ≤ 1", slip)
    if probability.denominator > LARGEST_DENOMINATOR:
        allowed = f"a fraction of denominator at most {LARGEST_DENOMINATOR:g}"
        raise InvalidArgument("slip", f"is {slip}", allowed, slip)
    return probability


def read_doors(doors: str | Sequence[str]) -> list[str]:
    """Return the leader's actions, each the directions it opens in the order N, E, S, W."""
    named = {"pairs": ["".join(p) for p in combinations(DIRECTIONS, 2)], "open": [DIRECTIONS]}
    given = named.get(doors, []) if isinstance(doors, str) else each(TEXT)("doors", doors)
    opened = ["".join(d for d in DIRECTIONS if d in names) for names in given]
    alike = all(sorted(a) == sorted(b) for a, b in zip(opened, given, strict=True))
    if not opened or not alike or len(set(opened)) < len(opened):
        allowed = "'pairs', 'open' or distinct sets of the letters N, E, S, W"
        raise InvalidArgument("doors", f"is {doors!r}", allowed, doors)
    return opened
