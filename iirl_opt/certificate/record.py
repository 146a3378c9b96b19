"""The record that all certificates are: the claim, checking it, reading and writing it.

A kind says the form of its fields (`iirl_opt.certificate.fields`), the words of its claim, and the
conditions under which the numbers prove it (`iirl_opt.certificate.check`).
"""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.certificate.check import Check, Conditions
from iirl_opt.certificate.fields import exact_field, plain_field, read_field
from iirl_opt.certificate.instance import Instance, distributions, is_distribution
from iirl_opt.certificate.match import Match, differences
from iirl_opt.checks import PATH, TEXT, checked
from iirl_opt.errors import FileProblem, IIRLError
from iirl_opt.exact.numbers import UNREADABLE
from iirl_opt.files import read_text, write_text
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.observation import Observation
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable

__all__ = [
    "Certificate",
    "digest_of",
    "read_certificate",
]

# Objects that are Fractions.
Vector = NDArray[Any]

VERSION, MOST_BYTES = 2, 2_000_000_000

# The kinds of this package and their modules, which are loaded when one is read.
HOMES = {
    "angle bound": "angle",
    "class inclusion": "inclusion",
    "inclusion": "inclusion",
    "infeasibility": "occupancy",
    "optimality": "occupancy",
    "policy improvement": "policies",
    "reward rank": "reward_rank",
    "search tree": "tree",
    "violation": "responses",
    "witness": "responses",
}
MALFORMED = (*UNREADABLE, KeyError, AttributeError, RecursionError, IIRLError)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Certificate(Tabular, ABC):
    """What all kinds share: the instance, the claim, its source, and reading and writing.

    Attributes
    ----------
    instance : the game.
    claim : what is proved, in words; made from the numbers, and checked against them.
    source : the theorem behind the proof.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> certificate = iirl.certify(iirl.commit(*iirl.random_game(3, 2, 2, rng=0)))
    >>> certificate.kind, certificate.source
    ('optimality', 'weak duality of the occupancy program (Puterman 1994, section 6.9)')
    >>> bool(Certificate.from_json(certificate.to_json()).check())
    True
    """

    kind: ClassVar[str]
    theorem: ClassVar[str]
    # The form of each field (`iirl_opt.certificate.fields`).
    forms: ClassVar[Mapping[str, str]]
    kinds: ClassVar[dict[str, type[Certificate]]] = {}

    instance: Instance
    claim: str = ""
    source: str = ""

    __repr__ = in_brief

    def table(self) -> FactTable:
        """Return one row: kind and claim, what they rest on, and the game they speak of."""
        shape = "×".join(map(str, self.instance.shape))
        facts = {
            "kind": self.kind,
            "claim": self.claim,
            "source": self.source,
            "states × actions": shape,
            "discount": self.instance.discount,
            "fingerprint": self.instance.fingerprint,
        }
        return FactTable([facts], "Certificate")

    def __init_subclass__(cls) -> None:
        if "kind" in cls.__dict__:
            Certificate.kinds[cls.kind] = cls

    def __post_init__(self) -> None:
        for name, form in self.forms.items():
            object.__setattr__(self, name, exact_field(name, form, getattr(self, name)))
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
        own = {name: plain_field(getattr(self, name)) for name in self.forms}
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
        own = {name: read_field(form, body[name]) for name, form in cls.forms.items()}
        return cls(instance=instance, **texts, **own)


@checked(source=PATH)
def read_certificate(source: str | Path) -> Certificate:
    """Read a certificate from a file.

    Raises
    ------
    FileProblem
        The file is no certificate, of another version, or its digest does not fit.

    **Cost** that of reading the file; it is not checked.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> from tempfile import TemporaryDirectory
    >>> certificate = iirl.certify(iirl.commit(*iirl.random_game(3, 2, 2, rng=0)))
    >>> with TemporaryDirectory() as folder:
    ...     certificate.save(f"{folder}/proof.json")
    ...     again = read_certificate(f"{folder}/proof.json")
    >>> again.claim == certificate.claim, bool(again.check())
    (True, True)
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
