"""What an argument may be: rules, declared once at every public entrance.

A *rule* is a function ``(name, value)`` that returns the value the function is to work with, or
raises an error that names the argument, the value and what is allowed. `checked` applies rules to
the arguments of a function, or of a class's constructor:

>>> @checked(n=whole(1), tolerance=POSITIVE)
... def draw(n: int, tolerance: float = 1e-9) -> int:
...     return n
>>> draw(2.5)
Traceback (most recent call last):
...
iirl_opt.errors.InvalidArgument: n is 2.5; allowed a whole number ≥ 1

An argument left at its default passes unread, so that ``None`` is allowed exactly where it is the
default. NaN passes no rule: each asks whether a value is inside, never whether it is outside.

What depends on a game (is this a policy, a reward of it?) stays with its noun: `game.policy`,
`game.reward`.
"""

from __future__ import annotations

import functools
import inspect
import math
import os
import reprlib
from collections.abc import Callable, Mapping
from decimal import Decimal
from numbers import Rational
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from iirl_opt.errors import InvalidArgument, InvalidValue
from iirl_opt.spelling import allowed_names

__all__ = [
    "FINITE",
    "FLAG",
    "FUNCTION",
    "LABELS",
    "MAPPING",
    "NOT_NEGATIVE",
    "PATH",
    "POSITIVE",
    "RNG",
    "SEED",
    "SHARE",
    "TEXT",
    "TIME_LIMIT",
    "Rule",
    "array_of_floats",
    "array_of_whole",
    "between",
    "checked",
    "each",
    "has",
    "is_a",
    "kept",
    "one_of",
    "optional",
    "refuse",
    "unmasked",
    "whole",
]

Rule: TypeAlias = Callable[[str, Any], Any]
T = TypeVar("T")


class _Short(reprlib.Repr):
    """What a value looks like in a line; Python writes no integer of thousands of digits out."""

    def repr_int(self, x: int, level: int) -> str:
        try:
            return super().repr_int(x, level)
        except ValueError:
            return f"an integer of {x.bit_length()} bits"


_SHORT = _Short()
_SHORT.maxstring = _SHORT.maxother = 60


def shown(value: Any) -> str:
    """Return a value as a message shows it: in a few words, however large it is."""
    return _SHORT.repr(value)


def checked(**rules: Rule) -> Callable[[T], T]:
    """Return a decorator that holds arguments to rules, of a function or of a class's constructor.

    The function gets what the rules return: a count as an ``int``, an array as an array.

    **Cost** some 0.3 µs a call and rule.
    """

    def decorate(target: T) -> T:
        if isinstance(target, type):
            # A dataclass makes its own __init__, which is checked like one written by hand.
            target.__init__ = _guard(target.__init__, rules)  # type: ignore[misc]
            return target
        guarded: T = _guard(target, rules)
        return guarded

    return decorate


def _guard(function: Any, rules: dict[str, Rule]) -> Any:
    parameters = inspect.signature(function).parameters
    order = list(parameters)
    plan = [(order.index(name), name, parameters[name].default, rules[name]) for name in rules]

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        values = list(given)
        for at, name, default, rule in plan:
            if at < len(values):
                if values[at] is not default:
                    values[at] = rule(name, values[at])
            elif name in named and named[name] is not default:
                named[name] = rule(name, named[name])
        return function(*values, **named)

    return call


def refuse(
    name: str, value: Any, allowed: str, error: type[InvalidValue] = InvalidArgument
) -> InvalidValue:
    """Return the error that an argument is not what is allowed; the caller raises it."""
    return error(name, f"is {shown(value)}", allowed, value)


# Numbers


def whole(least: int, most: int | None = None) -> Rule:
    """Return the rule of a count: an integer, NumPy's too, but no bool and no 2.0."""
    upper = math.inf if most is None else most
    allowed = f"a whole number ≥ {least}" + ("" if most is None else f" and ≤ {most}")

    def rule(name: str, value: Any) -> int:
        fits = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not (fits and least <= value <= upper):
            raise refuse(name, value, allowed)
        return int(value)

    return rule


def between(
    low: float,
    high: float,
    ends: str = "[]",
    *,
    allowed: str | None = None,
    error: type[InvalidValue] = InvalidArgument,
) -> Rule:
    """Return the rule of a finite real number in an interval; `ends` such as ``"(]"``.

    Integers, floats, NumPy's scalars, Fractions and Decimals are numbers; bools and text are not.
    """
    left, right = ("≤" if ends[0] == "[" else "<"), ("≤" if ends[1] == "]" else "<")
    said = allowed or f"a number, {low:g} {left} x {right} {high:g}"

    def rule(name: str, value: Any) -> float:
        try:
            if isinstance(value, bool) or not isinstance(value, _NUMBERS):
                raise TypeError
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise refuse(name, value, said, error) from None
        above = low <= number if ends[0] == "[" else low < number
        below = number <= high if ends[1] == "]" else number < high
        if not (math.isfinite(number) and above and below):
            raise refuse(name, value, said, error)
        return value if isinstance(value, int | float) else number

    return rule


_NUMBERS = (int, float, Rational, Decimal, np.integer, np.floating)

FINITE: Rule = between(-math.inf, math.inf, allowed="a finite number")
POSITIVE: Rule = between(0, math.inf, "()", allowed="a finite number > 0")
NOT_NEGATIVE: Rule = between(0, math.inf, allowed="a finite number ≥ 0")
SHARE: Rule = between(0, 1)
TIME_LIMIT: Rule = between(0, math.inf, allowed="seconds ≥ 0, finite, or None")
SEED: Rule = whole(0)


def RNG(name: str, value: Any) -> np.random.Generator:
    """Return a generator as it is, or a new one from a seed, or from fresh entropy for None."""
    if isinstance(value, np.random.Generator):
        return value
    fits = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if value is not None and not (fits and value >= 0):
        raise refuse(name, value, "a numpy Generator, a seed ≥ 0, or None")
    return np.random.default_rng(value)


# Arrays


def array_of_floats(
    *dimensions: int,
    error: type[InvalidValue] = InvalidArgument,
    finite: bool = True,
    empty: bool = True,
) -> Rule:
    """Return the rule of an array of real numbers with so many axes (any number if not said).

    Masked entries, complex numbers, text and objects that are no numbers are refused; so is what
    is not finite, unless `finite` is False, and NaN always; and no entry, if `empty` is False.
    """
    said = ("finite " if finite else "") + "real numbers"
    axes = f" with {' or '.join(map(str, dimensions))} axes" if dimensions else ""

    def rule(name: str, value: Any) -> NDArray[np.float64]:
        array = read_floats(name, value, error)
        if (dimensions and array.ndim not in dimensions) or not (array.size or empty):
            some = "" if empty else ", one at least"
            raise error(name, f"has shape {array.shape}", f"{said}{axes}{some}", array.shape)
        wrong = ~np.isfinite(array) if finite else np.isnan(array)
        if wrong.any():
            at = tuple(map(int, np.argwhere(wrong)[0]))
            place = f"{name}[{', '.join(map(str, at))}]" if at else name
            raise error(place, f"is {array[at]}", said, float(array[at]))
        return array

    return rule


def read_floats(
    name: str, value: Any, error: type[InvalidValue] = InvalidArgument
) -> NDArray[np.float64]:
    """Return a fresh float array, or raise `error` for what is no array of real numbers."""
    try:
        if callable(value):
            raise TypeError("is a function: call it")
        if np.ma.is_masked(value):
            raise TypeError("has masked entries")
        array = np.asarray(value)
        labels = array.dtype.kind in "SU" or isinstance(value, Mapping)
        if not labels:
            if array.dtype.kind not in "biufO":
                raise TypeError(f"has type {array.dtype}")
            if array.dtype.kind == "O" and not all(isinstance(x, _READABLE) for x in array.flat):
                raise TypeError("holds what is no number")
            return array.astype(float)
    except (TypeError, ValueError, OverflowError) as problem:
        raise error(name, f"is no array of numbers ({problem})", "real numbers", value) from None
    kind = "a mapping" if isinstance(value, Mapping) else "text"
    raise error(name, f"is no array of numbers (is {kind})", error.unlabelled, value)


_READABLE = (*_NUMBERS, np.bool_)


def array_of_whole(*dimensions: int, least: int = 0) -> Rule:
    """Return the rule of an array of integers that are at least `least`."""
    axes = f" with {' or '.join(map(str, dimensions))} axes" if dimensions else ""
    said = f"integers ≥ {least}{axes}"

    def rule(name: str, value: Any) -> NDArray[np.int64]:
        try:
            array = np.asarray(value)
        except ValueError:
            raise refuse(name, value, said) from None
        if np.ma.is_masked(value) or array.dtype.kind not in "iu":
            raise error_of_type(name, value, array.dtype, said)
        if (dimensions and array.ndim not in dimensions) or not (array >= least).all():
            raise refuse(name, array, said)
        return array.astype(np.int64)

    return rule


def error_of_type(name: str, value: Any, kind: Any, allowed: str) -> InvalidArgument:
    """Return the error that an array holds numbers of the wrong type."""
    return InvalidArgument(name, f"has type {kind}", allowed, value)


# Objects


def is_a(*kinds: type, error: type[InvalidValue] = InvalidArgument) -> Rule:
    """Return the rule of an instance of one of some classes."""
    said = " or ".join(kind.__name__ for kind in kinds)

    def rule(name: str, value: Any) -> Any:
        if not isinstance(value, kinds):
            raise refuse(name, value, said, error)
        return value

    return rule


def has(*methods: str, what: str) -> Rule:
    """Return the rule of an object with some methods, whose class is the user's own affair."""
    said = f"{what}, with {', '.join(methods)}"

    def rule(name: str, value: Any) -> Any:
        if isinstance(value, type | np.ndarray) or not all(
            hasattr(value, method) for method in methods
        ):
            raise refuse(name, value, said)
        return value

    return rule


def one_of(*names: Any) -> Rule:
    """Return the rule of a choice from a list; by type too, so that 1 is no True."""

    def rule(name: str, value: Any) -> Any:
        if not any(type(value) is type(known) and value == known for known in names):
            raise refuse(name, value, allowed_names(shown(value).strip("'"), names))
        return value

    return rule


def optional(rule: Rule) -> Rule:
    """Return the rule that lets None pass where it is allowed without being the default."""

    def wider(name: str, value: Any) -> Any:
        return None if value is None else rule(name, value)

    return wider


def unmasked(error: type[InvalidValue] = InvalidArgument) -> Rule:
    """Return the rule of an array that its reader checks, but for masks, which readers drop."""

    def rule(name: str, value: Any) -> Any:
        if np.ma.is_masked(value):
            raise error(name, "has masked entries", "numbers", value)
        return value

    return rule


def kept(rule: Rule) -> Rule:
    """Return the rule that checks a value and hands on the very object that was given."""

    def same(name: str, value: Any) -> Any:
        rule(name, value)
        return value

    return same


def each(rule: Rule, least: int = 0) -> Rule:
    """Return the rule of a list of values that one rule holds for; a text is no list."""

    def wider(name: str, value: Any) -> tuple[Any, ...]:
        values = tuple(rule(f"{name}[{i}]", x) for i, x in enumerate(_listed(name, value)))
        if not values and least == 1:
            raise InvalidArgument(name, "is empty", "at least one", value)
        if len(values) < least:
            raise InvalidArgument(name, f"has {len(values)} entries", f"at least {least}", value)
        return values

    return wider


def LABELS(name: str, value: Any) -> tuple[Any, ...]:
    """Return labels in their order, a tuple; a text is its letters, a mapping its keys."""
    return tuple(value) if isinstance(value, str | Mapping) else _listed(name, value)


def _listed(name: str, value: Any) -> tuple[Any, ...]:
    """Return what an iterable of values holds; text and mappings are no lists."""
    if not isinstance(value, str | bytes | Mapping):
        try:
            return tuple(value)
        except TypeError:
            pass
    raise refuse(name, value, "a list")


def FLAG(name: str, value: Any) -> bool:
    """Return a truth value; nothing else stands for one."""
    if not isinstance(value, bool | np.bool_):
        raise refuse(name, value, "True or False")
    return bool(value)


def MAPPING(name: str, value: Any) -> Any:
    """Return a mapping as it is given."""
    if not isinstance(value, Mapping):
        raise refuse(name, value, "a mapping")
    return value


def FUNCTION(name: str, value: Any) -> Any:
    """Return what can be called."""
    if not callable(value) or value in (dict, list, tuple):
        raise refuse(name, value, "a function")
    return value


def TEXT(name: str, value: Any) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise refuse(name, value, "a text")
    return value


def PATH(name: str, value: Any) -> Any:
    """Return a path as it is given, a text or an `os.PathLike`."""
    if not isinstance(value, str | os.PathLike) or "\0" in os.fspath(value):
        raise refuse(name, value, "a path")
    return value
