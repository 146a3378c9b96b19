"""What all certificates share: the claim, checking, reading and writing.

A number of a certificate is a float or exact: a Fraction, in JSON a string ``"p/q"``. A kind states
its conditions once, against `Numbers`, and they are checked in either arithmetic.
"""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from iirl_opt.certificate.instance import Instance, Numbers, SparseRows, is_finite, zero_if
from iirl_opt.errors import FileProblem, NotExact
from iirl_opt.exact.linear import NotRepaired
from iirl_opt.exact.numbers import as_reals

__all__ = ["Certificate", "Check", "Conditions", "digest_of", "in_words", "read_certificate"]

# Numbers of the one arithmetic or the other: floats, or objects that are Fractions.
Vector = NDArray[Any]

VERSION = 1
UNREADABLE = (KeyError, TypeError, ValueError, ArithmeticError, AttributeError)


class Conditions(NamedTuple):
    """What a proof consists of.

    Attributes
    ----------
    residuals : by condition, how far it is from holding: at most the tolerance is allowed.
    margins : by strict condition, by how much it holds: more than the tolerance is needed.
    """

    residuals: Mapping[str, Any]
    margins: Mapping[str, Any]


@dataclass(frozen=True)
class Check:
    """The outcome of a check: true when the claim is proved.

    Attributes
    ----------
    residuals : by condition, how far it is from holding exactly (zero or less: it holds).
    tolerance : what was allowed; zero in an exact check.
    margins : by strict condition, by how much it holds; more than `tolerance` is needed.
    """

    residuals: Mapping[str, Any]
    tolerance: float
    margins: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The conditions that fail, with their residuals; empty when the claim is proved."""
        wide = (
            f"{name}: {_short(residual)} exceeds {self.tolerance:g}"
            for name, residual in self.residuals.items()
            if not residual <= self.tolerance
        )
        narrow = (
            f"{name}: {_short(margin)} does not exceed {self.tolerance:g}"
            for name, margin in self.margins.items()
            if not margin > self.tolerance
        )
        return (*wide, *narrow)

    def __bool__(self) -> bool:
        return not self.reasons


def in_words(number: Any) -> str:
    """Return a number as a claim writes it: long fractions as decimals."""
    if isinstance(number, Fraction) and number.denominator.bit_length() > 40:
        return f"about {as_reals(number).item():.12g}"
    return str(number)


def _short(number: Any) -> str:
    return f"{as_reals(number).item():.3g}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Certificate(ABC):
    """What all kinds share: the instance, the claim, its source, and reading and writing.

    Attributes
    ----------
    instance : the game.
    claim : what is proved, in words; made from the numbers, and checked against them.
    source : the theorem behind the proof.
    inexact : why exact numbers were looked for in vain, or empty.
    """

    kind: ClassVar[str]
    theorem: ClassVar[str]
    kinds: ClassVar[dict[str, type[Certificate]]] = {}

    instance: Instance
    claim: str = ""
    source: str = ""
    inexact: str = ""

    def __init_subclass__(cls) -> None:
        if "kind" in cls.__dict__:
            Certificate.kinds[cls.kind] = cls

    def __post_init__(self) -> None:
        for name, shape in self._shapes().items():
            value = getattr(self, name)
            if isinstance(value, np.ndarray) and value.size == 0 == math.prod(shape):
                object.__setattr__(self, name, value.reshape(shape))  # JSON forgets empty shapes
        if not self.claim and not self._misfits():
            object.__setattr__(self, "claim", self._words())
        if not self.source:
            object.__setattr__(self, "source", self.theorem)

    @abstractmethod
    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Return the shapes that the arrays must have."""

    @abstractmethod
    def _words(self) -> str:
        """Return the claim in words."""

    @abstractmethod
    def _conditions(self, numbers: Numbers) -> Conditions:
        """Return how far the proof is from holding."""

    def _misfits(self) -> list[str]:
        """Return the fields that have another form than they should."""
        found = {name: getattr(self, name) for name in self._shapes()}
        return [
            f"{name} is no array of shape {shape}" if shape else f"{name} is no number"
            for name, shape in self._shapes().items()
            if np.shape(found[name]) != shape or not is_finite(found[name])
        ]

    def check(self, tolerance: float = 1e-6, *, exact: bool = False) -> Check:
        """Check the proof.

        Parameters
        ----------
        tolerance : absolute, on every condition in floating point.
        exact : in rational arithmetic, where every condition must hold without tolerance.

        Raises
        ------
        NotExact
            An exact check of numbers that are floats: says which, and why.

        **Cost** arithmetic: a few sparse products.
        """
        misfits = [*self.instance.misfits(), *self._misfits()]
        if misfits:
            return Check({f"the form fits ({text})": math.inf for text in misfits}, tolerance)
        if exact:
            self._demand_exact()
        said = (self.claim, self.source) == (self._words(), self.theorem)
        with np.errstate(all="ignore"):
            residuals, margins = self._conditions(Numbers(self.instance, exact))
            everything = {
                "the words are those of the numbers": zero_if(said),
                **self.instance.residuals(exact),
                **residuals,
            }
        proxy = MappingProxyType
        return Check(proxy(everything), 0.0 if exact else tolerance, proxy(dict(margins)))

    @property
    def is_exact(self) -> bool:
        """Whether all numbers are exact, so that an exact check is possible."""
        return self.instance.is_exact and not any(self._floats())

    def _floats(self) -> Iterator[str]:
        """Yield the names of the fields that hold floats."""
        for item in fields(self):
            value = getattr(self, item.name)
            numbers = value.data if isinstance(value, SparseRows) else value
            if isinstance(numbers, float) or (
                isinstance(numbers, np.ndarray) and numbers.size and numbers.dtype != object
            ):
                yield item.name

    def _demand_exact(self) -> None:
        if not self.instance.is_exact:
            raise NotExact(f"the game of this {self.kind} certificate")
        names = list(self._floats())
        if names:
            reason = self.inexact or f"floats in {', '.join(names)}"
            raise NotRepaired(f"this {self.kind} certificate", reason)

    def to_json(self) -> str:
        """Return the certificate as one JSON document with version, kind and digest."""
        body = {"version": VERSION, "kind": self.kind, **_plain(self)}
        return json.dumps({**body, "digest": digest_of(body)}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Return the certificate of any kind that a JSON document holds.

        Raises
        ------
        FileProblem
            It is no certificate, of another version, or its digest does not fit.
        """
        return _parse(text, Path("<JSON>"))

    def save(self, path: str | Path) -> None:
        """Write the certificate to a file."""
        Path(path).write_text(self.to_json() + "\n", encoding="utf-8")

    @classmethod
    def _from(cls, body: Mapping[str, Any]) -> Self:
        texts = ("claim", "source", "inexact")
        own = {
            name: value if name in texts else _read_value(value)
            for name, value in body.items()
            if name != "instance"
        }
        if not all(isinstance(own[name], str) for name in texts):
            raise TypeError("words that are no text")
        return cls(instance=_read_instance(body["instance"]), **own)


def read_certificate(source: str | Path) -> Certificate:
    """Read a certificate from a file.

    Raises
    ------
    FileProblem
        The file is no certificate, of another version, or its digest does not fit.
    """
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8")
    except ValueError as problem:
        raise FileProblem(path, f"is no certificate ({problem})") from None
    return _parse(text, path)


def _parse(text: str, path: Path) -> Certificate:
    try:
        body = json.loads(text)
        digest, kind, version = body.pop("digest"), body.pop("kind"), body.pop("version")
        same = digest_of({"version": version, "kind": kind, **body}) == digest
    except UNREADABLE as problem:
        raise FileProblem(path, f"is no certificate ({problem})") from None
    kinds = Certificate.kinds
    if version != VERSION or kind not in kinds:
        known = f"{', '.join(kinds)}, {VERSION}"
        raise FileProblem(path, f"is {kind!r} of version {version!r}; known: {known}")
    if not same:
        raise FileProblem(path, "does not have the digest of its contents", key="digest")
    try:
        return kinds[kind]._from(body)
    except UNREADABLE as problem:
        raise FileProblem(path, f"lacks or misstates a field ({problem})") from None


def digest_of(body: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a JSON document in its canonical form."""
    text = json.dumps(body, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(record: Any) -> Any:
    """Return a record or a value as JSON values."""
    if isinstance(record, Certificate | Instance | SparseRows):
        return {item.name: _plain(getattr(record, item.name)) for item in fields(record)}
    if isinstance(record, np.ndarray):
        return _plain(record.tolist())
    if isinstance(record, list | tuple):
        return [_plain(item) for item in record]
    if isinstance(record, Fraction):
        above, below = _digits(record.numerator), _digits(record.denominator)
        return above if below == "1" else f"{above}/{below}"
    if isinstance(record, int) and record.bit_length() > 53:  # other readers of JSON have floats
        return _digits(record)
    return record


def _digits(number: int) -> str:
    """Return an integer as decimal digits, or hexadecimal ones where Python limits decimals."""
    return str(number) if number.bit_length() < 10_000 else hex(number)


def _read_integer(given: Any) -> int:
    if isinstance(given, bool | float):
        raise TypeError(f"{given} is no whole number")
    return int(given, 16 if "x" in given else 10) if isinstance(given, str) else int(given)


def _read_fraction(text: Any) -> Fraction:
    if not isinstance(text, str):
        raise TypeError(f"{text!r} among exact numbers")
    above, _, below = text.partition("/")
    return Fraction(_read_integer(above), _read_integer(below or "1"))


def _read_array(given: list[Any]) -> Vector:
    array = np.array(given, dtype=object)
    flat = array.ravel().tolist()
    if any(isinstance(x, list) for x in flat):
        raise ValueError("a ragged array")
    if any(isinstance(x, str) for x in flat) or not flat:
        out = np.empty(array.shape, dtype=object)
        out.ravel()[:] = [_read_fraction(x) for x in flat]
        return out
    return array.astype(float)


def _read_value(given: Any) -> Any:
    if isinstance(given, list):
        return _read_array(given)
    if isinstance(given, str):
        return _read_fraction(given)
    if isinstance(given, dict):
        if given.keys() != {item.name for item in fields(SparseRows)}:
            raise KeyError("fields of sparse rows")
        return SparseRows(
            _read_integers(given["indptr"], np.int64),
            _read_integers(given["indices"], np.int64),
            _read_array(given["data"]),
            _read_integer(given["width"]),
        )
    return given


def _read_integers(given: Any, kind: type) -> NDArray[Any]:
    return np.array([_read_integer(x) for x in given], dtype=kind)


def _read_instance(body: Mapping[str, Any]) -> Instance:
    n_states, n_a, n_b = map(_read_integer, body["shape"])
    read: dict[str, Any] = {
        "shape": (n_states, n_a, n_b),
        "indptr": _read_integers(body["indptr"], np.int64),
        "indices": _read_integers(body["indices"], np.int64),
        "data": np.array(body["data"], dtype=float),
        "discount": float(body["discount"]),
        "start": np.array(body["start"], dtype=float),
        **{
            name: tuple(map(str, body[name]))
            for name in ("states", "leader_actions", "follower_actions")
        },
    }
    if body["numerators"] is not None:
        read |= {
            "numerators": _read_integers(body["numerators"], object),
            "denominators": _read_integers(body["denominators"], object),
            "exact_discount": _read_fraction(body["exact_discount"]),
            "exact_start": _read_array(body["exact_start"]),
        }
    return Instance(**{**body, **read})
