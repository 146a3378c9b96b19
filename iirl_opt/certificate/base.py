"""What all certificates share: the claim, checking, reading and writing.

All numbers are exact: floats are read as the dyadic rationals that they are, and what cannot be
read so, NaN and infinity, is no certificate. There is one check and it has no tolerance; what a
proof in floating point misses an exact one by is part of the claim.
"""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.certificate.boxes import Bounds
from iirl_opt.certificate.form import read_array, read_integer, read_number, write
from iirl_opt.certificate.instance import Instance, SparseRows, distributions, is_distribution
from iirl_opt.certificate.match import differences
from iirl_opt.checks import PATH, TEXT, checked
from iirl_opt.errors import FileProblem, IIRLError, InvalidArgument
from iirl_opt.exact.numbers import UNREADABLE, as_fraction, as_fractions, as_reals
from iirl_opt.files import read_text, write_text
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.observation import Observation

__all__ = [
    "Certificate",
    "Check",
    "Conditions",
    "Match",
    "digest_of",
    "magnitude",
    "positive",
    "read_certificate",
]

# Objects that are Fractions.
Vector = NDArray[Any]

VERSION, MOST_BYTES = 2, 2_000_000_000

# The kinds of this package and their modules, which are loaded when one is read.
HOMES = {
    "angle bound": "strict",
    "class inclusion": "inclusion",
    "inclusion": "inclusion",
    "infeasibility": "occupancy",
    "optimality": "occupancy",
    "policy improvement": "policies",
    "search tree": "tree",
    "violation": "rewards",
    "witness": "rewards",
}
MALFORMED = (*UNREADABLE, KeyError, AttributeError, RecursionError, IIRLError)


class Conditions(NamedTuple):
    """What a proof consists of.

    Attributes
    ----------
    residuals : by condition, how far it is from holding: zero or less holds.
    margins : by strict condition, by how much it holds: more than zero is needed.
    """

    residuals: Mapping[str, Any]
    margins: Mapping[str, Any]


@dataclass(frozen=True)
class Check:
    """The outcome of a check: true when the claim is proved.

    Attributes
    ----------
    residuals : by condition, how far it is from holding exactly (zero or less: it holds).
    tolerance : what was allowed; zero in a check of a certificate.
    margins : by strict condition, by how much it holds; more than `tolerance` is needed.
    """

    residuals: Mapping[str, Any]
    tolerance: float = 0.0
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


def _short(number: Any) -> str:
    return f"{as_reals(number).item():.3g}"


@dataclass(frozen=True)
class Match:
    """Whether a certificate speaks of what it was compared with: true when nothing differs.

    Attributes
    ----------
    differences : in words.
    """

    differences: tuple[str, ...]

    def __bool__(self) -> bool:
        return not self.differences


# How a field of each form is read from JSON; from Python's objects `_exact` reads all of them.
READERS: Mapping[str, Callable[[Any], Any]] = {
    "number": read_number,
    "integer": read_integer,
    "array": read_array,
    "weights": read_array,
    "rows": SparseRows.read,
    "positions": lambda given: tuple(map(read_integer, _listed(given))),
    "text": lambda given: _text(given),
    "lists": lambda given: _integers(_listed(given)),
    "box": Bounds.read,
    "boxes": lambda given: tuple(map(Bounds.read, _listed(given))),
}


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError(f"{given!r} is no text")
    return given


def _integers(given: Any) -> Any:
    """Return nested lists of integers as nested tuples."""
    return tuple(map(_integers, given)) if isinstance(given, list) else read_integer(given)


def _listed(given: Any) -> list[Any]:
    if not isinstance(given, list):
        raise TypeError(f"{given!r} is no list")
    return given


@dataclass(frozen=True, eq=False, kw_only=True)
class Certificate(ABC):
    """What all kinds share: the instance, the claim, its source, and reading and writing.

    Attributes
    ----------
    instance : the game.
    claim : what is proved, in words; made from the numbers, and checked against them.
    source : the theorem behind the proof.
    """

    kind: ClassVar[str]
    theorem: ClassVar[str]
    # The form of each field: a key of `READERS`, with "?" after it if it may be None.
    forms: ClassVar[Mapping[str, str]]
    kinds: ClassVar[dict[str, type[Certificate]]] = {}

    instance: Instance
    claim: str = ""
    source: str = ""

    def __init_subclass__(cls) -> None:
        if "kind" in cls.__dict__:
            Certificate.kinds[cls.kind] = cls

    def __post_init__(self) -> None:
        for name, form in self.forms.items():
            object.__setattr__(self, name, _exact(name, form, getattr(self, name)))
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
        """Return the shapes that arrays, weights, positions and sparse rows must have."""

    @abstractmethod
    def _words(self) -> str:
        """Return the claim in words."""

    @abstractmethod
    def _conditions(self) -> Conditions:
        """Return how far the proof is from holding."""

    def _misfits(self) -> list[str]:
        """Return the fields that have another form than they should."""
        return [
            f"{name} has no shape {shape}"
            for name, shape in self._shapes().items()
            if not self._fits(name, shape)
        ]

    def _fits(self, name: str, shape: tuple[int, ...]) -> bool:
        form, value = self.forms[name], getattr(self, name)
        if form == "rows":
            return bool(value.fits(*shape))
        if form == "positions":
            return bool(len(value) == shape[0] and all(0 <= x < shape[1] for x in value))
        if form == "weights":
            return value.shape == shape and is_distribution(self._flat(name, value))
        return bool(value.shape == shape)

    def _flat(self, name: str, value: Vector) -> Vector:
        """Return weights as an array whose last axis is what a distribution is over."""
        return value

    def shares(self, name: str) -> Vector:
        """Return the distributions that the weights of a field mean."""
        value = getattr(self, name)
        return distributions(self._flat(name, value)).reshape(value.shape)

    def check(self) -> Check:
        """Check the proof, in exact numbers.

        **Cost** arithmetic on integers: a few sparse products.
        """
        misfits = [*self.instance.misfits(), *self._misfits()]
        if misfits:
            return Check({f"the form fits ({text})": math.inf for text in misfits})
        said = (self.claim, self.source) == (self._words(), self.theorem)
        residuals, margins = self._conditions()
        everything = {
            "the words are those of the numbers": 0 if said else math.inf,
            **self.instance.residuals(),
            **residuals,
        }
        return Check(MappingProxyType(everything), margins=MappingProxyType(dict(margins)))

    def matches(
        self,
        game: TwoAgentMDP,
        *,
        reward: ArrayLike | None = None,
        observations: Sequence[Observation] | None = None,
        policy: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Match:
        """Compare what the certificate speaks of with a game, and more, of one's own.

        A certificate proves something about the game inside it; only this says that it is yours.

        Parameters
        ----------
        reward : (S,) or (S, A, B): that of the claim, the hypothesis for example.
        observations : the episodes of the claim.
        policy : ``(pi1, pi2)``, of an optimality claim.

        **Cost** arithmetic.
        """
        return Match(tuple(differences(self, game, reward, observations, policy)))

    def to_json(self) -> str:
        """Return the certificate as one JSON document with version, kind and digest."""
        own = {name: _plain(getattr(self, name)) for name in self.forms}
        words = {"claim": self.claim, "source": self.source}
        head = {"version": VERSION, "kind": self.kind, "instance": self.instance.to_plain()}
        body = {**head, **words, **own}
        return json.dumps({**body, "digest": digest_of(body)}, allow_nan=False)

    @classmethod
    @checked(text=TEXT)
    def from_json(cls, text: str) -> Certificate:
        """Return the certificate of any kind that a JSON document holds.

        Raises
        ------
        FileProblem
            It is no certificate, of another version, or its digest does not fit.
        """
        return _parse(text, Path("<JSON>"))

    @checked(path=PATH)
    def save(self, path: str | Path) -> None:
        """Write the certificate to a file."""
        write_text(path, self.to_json() + "\n")

    @classmethod
    def _from(cls, body: dict[str, Any]) -> Self:
        texts = {name: body.pop(name) for name in ("claim", "source")}
        instance = Instance.read(body.pop("instance"))
        if not all(isinstance(text, str) and text for text in texts.values()):
            raise TypeError("words that are no text")
        if body.keys() != cls.forms.keys():
            raise KeyError(f"fields {sorted(body.keys() ^ cls.forms.keys())}")
        own = {name: _read(form, body[name]) for name, form in cls.forms.items()}
        return cls(instance=instance, **texts, **own)


def _read(form: str, given: Any) -> Any:
    if form.endswith("?") and given is None:
        return None
    return READERS[form.removesuffix("?")](given)


def _exact(name: str, form: str, given: Any) -> Any:
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


def _plain(value: Any) -> Any:
    if isinstance(value, SparseRows | Bounds):
        return value.to_plain()
    if isinstance(value, tuple) and value and isinstance(value[0], Bounds):
        return [box.to_plain() for box in value]
    return write(value)


@checked(source=PATH)
def read_certificate(source: str | Path) -> Certificate:
    """Read a certificate from a file.

    Raises
    ------
    FileProblem
        The file is no certificate, of another version, or its digest does not fit.
    """
    path = Path(source)
    try:
        text = read_text(path, MOST_BYTES)
    except ValueError as problem:
        raise FileProblem(path, f"is no certificate ({problem})") from None
    return _parse(text, path)


def _parse(text: str, path: Path) -> Certificate:
    try:
        body = json.loads(text)
        digest, kind, version = body.pop("digest"), body.pop("kind"), body.pop("version")
        same = digest_of({"version": version, "kind": kind, **body}) == digest
        hash(kind)
    except MALFORMED as problem:
        raise FileProblem(path, f"is no certificate ({problem})") from None
    if kind in HOMES:
        import_module(f"iirl_opt.certificate.{HOMES[kind]}")
    kinds = Certificate.kinds
    if version != VERSION or type(version) is not int or kind not in kinds:
        known = f"{', '.join({**HOMES, **kinds})}, {VERSION}"
        raise FileProblem(path, f"is {kind!r} of version {version!r}; known: {known}")
    if not same:
        raise FileProblem(path, "does not have the digest of its contents", key="digest")
    try:
        return kinds[kind]._from(body)
    except MALFORMED as problem:
        raise FileProblem(path, f"lacks or misstates a field ({problem})") from None


def digest_of(body: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a JSON document in its canonical form."""
    text = json.dumps(body, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def magnitude(vector: Any) -> Fraction:
    """Return the largest absolute value of an array, or zero."""
    return max(map(abs, np.asarray(vector).ravel().tolist()), default=Fraction(0))


def positive(vector: Any) -> Fraction:
    """Return the largest number of an array, or zero if none is positive."""
    numbers: list[Fraction] = np.asarray(vector).ravel().tolist()
    return max([Fraction(0), *numbers])
