"""Certificates: data that proves an answer, checked by arithmetic alone.

A certificate is self-contained: it holds the instance, the claim in words, where the claim comes
from, and the numbers that prove it. `check` recomputes everything from the arrays and never asks a
solver. Saved as JSON with a version and a digest, it can be sent to somebody who trusts neither the
solver nor this library's programs.

Occupancy programs over the measures ``μ ≥ 0`` of a game with side constraints,

    maximise  r·μ   subject to   (E − γP)ᵀ μ = start,   G μ ≤ h,   K μ = k,

have two kinds. `Optimality` proves by weak duality that no measure earns more: for values V and
prices λ ≥ 0, κ with ``r − (E − γP) V − Gᵀ λ − Kᵀ κ ≤ 0`` every measure earns at most
``start·V + h·λ + k·κ``. `Infeasibility` proves by Farkas' lemma that no measure meets the
constraints: ``(E − γP) V + Gᵀ λ + Kᵀ κ ≥ 0`` and ``start·V + h·λ + k·κ < 0``.

The checks here are in floating point: a residual within the tolerance counts as zero.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.errors import FileProblem
from iirl_opt.game.kernel import Matrix, fingerprint
from iirl_opt.game.mdp import TwoAgentMDP

__all__ = ["Certificate", "Check", "Infeasibility", "Instance", "Optimality", "read_certificate"]

Array = NDArray[np.float64]

VERSION = 1


@dataclass(frozen=True)
class Check:
    """The outcome of a check: true when the claim is proved.

    Attributes
    ----------
    residuals : by condition, how far it is from holding exactly (zero or less: it holds).
    tolerance : what was allowed.
    """

    residuals: Mapping[str, float]
    tolerance: float

    @property
    def reasons(self) -> tuple[str, ...]:
        """The conditions that fail, with their residuals; empty when the claim is proved."""
        return tuple(
            f"{name}: {residual:.3g} exceeds {self.tolerance:g}"
            for name, residual in self.residuals.items()
            if not residual <= self.tolerance
        )

    def __bool__(self) -> bool:
        return not self.reasons


@dataclass(frozen=True, eq=False)
class Instance:
    """A game as a certificate carries it: sparse rows ``(s·A + a)·B + b``, labels as text."""

    shape: tuple[int, int, int]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    data: Array
    discount: float
    start: Array
    states: tuple[str, ...]
    fingerprint: str

    @classmethod
    def of(cls, game: TwoAgentMDP) -> Instance:
        """Return the instance of a game."""
        rows: Any = sp.csr_array(game.matrix)
        n_states, n_a, n_b = game.shape
        return cls(
            (n_states, n_a, n_b),
            rows.indptr.astype(np.int64),
            rows.indices.astype(np.int64),
            rows.data.copy(),
            game.discount,
            game.start.copy(),
            tuple(str(name) for name in game.states),
            game.fingerprint,
        )

    @property
    def kernel(self) -> Matrix:
        """The kernel, (S·A·B, S)."""
        size = (int(np.prod(self.shape)), self.shape[0])
        return sp.csr_array((self.data, self.indices, self.indptr), shape=size)

    @property
    def flow(self) -> Matrix:
        """``E − γP``: what each choice takes from its state and brings to the next ones."""
        kernel = self.kernel
        n_rows, n_states = kernel.shape
        own = np.repeat(np.arange(n_states), n_rows // n_states)
        leave = sp.csr_array((np.ones(n_rows), (np.arange(n_rows), own)), shape=kernel.shape)
        return leave - self.discount * kernel

    def residuals(self) -> dict[str, float]:
        """Return how far this is from a game whose fingerprint is the stated one."""
        sums = np.asarray(self.kernel.sum(axis=1)).ravel()
        csr = (self.indptr, self.indices, self.data)
        same = fingerprint(self.shape, csr, self.discount, self.start) == self.fingerprint
        return {
            "rows of the kernel sum to one": float(np.abs(sums - 1).max(initial=0.0)),
            "probabilities are not negative": float(-self.data.min(initial=0.0)),
            "the discount is in [0, 1)": 0.0 if 0 <= self.discount < 1 else np.inf,
            "the start sums to one": float(abs(self.start.sum() - 1)),
            "the start is not negative": float(-self.start.min(initial=0.0)),
            "the fingerprint is that of the instance": 0.0 if same else np.inf,
        }


@dataclass(frozen=True, eq=False)
class Certificate:
    """What all kinds share: the instance, the claim, its source, and reading and writing.

    Attributes
    ----------
    instance : the game.
    claim : what is proved, in words.
    source : the theorem behind the proof.
    """

    kind: ClassVar[str]

    instance: Instance
    claim: str
    source: str

    def _residuals(self) -> dict[str, float]:
        """Return by condition how far the proof is from holding."""
        raise TypeError("a certificate is of one of its kinds")

    def check(self, tolerance: float = 1e-6) -> Check:
        """Check the proof in floating point.

        Parameters
        ----------
        tolerance : absolute, on every condition.

        **Cost** arithmetic: a few sparse products.
        """
        residuals = {**self.instance.residuals(), **self._residuals()}
        return Check(MappingProxyType(residuals), tolerance)

    def to_json(self) -> str:
        """Return the certificate as one JSON document with version, kind and digest."""
        body = {"version": VERSION, "kind": self.kind, **_plain(self)}
        return json.dumps({**body, "digest": _digest(body)}, allow_nan=False)

    def save(self, path: str | Path) -> None:
        """Write the certificate to a file."""
        Path(path).write_text(self.to_json() + "\n", encoding="utf-8")

    @classmethod
    def _from(cls, body: Mapping[str, Any]) -> Self:
        n_states, n_a, n_b = body["instance"]["shape"]
        instance = Instance(
            **{
                **body["instance"],
                "shape": (n_states, n_a, n_b),
                "states": tuple(body["instance"]["states"]),
                "indptr": np.array(body["instance"]["indptr"], dtype=np.int64),
                "indices": np.array(body["instance"]["indices"], dtype=np.int64),
                "data": np.array(body["instance"]["data"], dtype=float),
                "start": np.array(body["instance"]["start"], dtype=float),
            }
        )
        own: dict[str, Any] = {f.name: body[f.name] for f in fields(cls) if f.name != "instance"}
        arrays: dict[str, Any] = {
            k: np.array(v, dtype=float) if isinstance(v, list) else v for k, v in own.items()
        }
        return cls(instance=instance, **arrays)


@dataclass(frozen=True, eq=False)
class _Constrained(Certificate):
    """Side constraints ``rows μ ≤ bounds`` and ``equal μ = right``, dense over S·A·B choices."""

    rows: Array
    bounds: Array
    equal: Array
    right: Array
    values: Array
    prices: Array
    equal_prices: Array

    def _combined(self) -> Array:
        """Return ``(E − γP) V + Gᵀ λ + Kᵀ κ`` for every choice."""
        n = self.instance.flow.shape[0]
        rows, equal = self.rows.reshape(-1, n), self.equal.reshape(-1, n)
        combined: Array = (
            self.instance.flow @ self.values + rows.T @ self.prices + equal.T @ self.equal_prices
        )
        return combined

    def _paid(self) -> float:
        """Return ``start·V + h·λ + k·κ``."""
        own = self.instance.start @ self.values
        return float(own + self.bounds @ self.prices + self.right @ self.equal_prices)


@dataclass(frozen=True, eq=False)
class Optimality(_Constrained):
    """No measure within the side constraints earns more than this one.

    Attributes
    ----------
    reward : (S·A·B,).
    measure : the measure, (S·A·B,).
    values, prices, equal_prices : V (S,), λ, κ.
    value : what the measure earns.
    """

    kind: ClassVar[str] = "optimality"

    reward: Array
    measure: Array
    value: float

    def _residuals(self) -> dict[str, float]:
        flow, mu, n = self.instance.flow, self.measure, self.measure.size
        rows, equal = self.rows.reshape(-1, n), self.equal.reshape(-1, n)
        return {
            "the measure is not negative": float(-mu.min(initial=0.0)),
            "flow is conserved": float(np.abs(flow.T @ mu - self.instance.start).max()),
            "the rows are met": float((rows @ mu - self.bounds).max(initial=0.0)),
            "the equations are met": float(np.abs(equal @ mu - self.right).max(initial=0.0)),
            "the value is that of the measure": float(abs(self.reward @ mu - self.value)),
            "prices are not negative": float(-self.prices.min(initial=0.0)),
            "no choice is worth more": float((self.reward - self._combined()).max()),
            "the bound is the value": float(abs(self._paid() - self.value)),
        }


@dataclass(frozen=True, eq=False)
class Infeasibility(_Constrained):
    """No measure meets the side constraints; the multipliers are scaled to ``paid = −1``."""

    kind: ClassVar[str] = "infeasibility"

    def _residuals(self) -> dict[str, float]:
        return {
            "prices are not negative": float(-self.prices.min(initial=0.0)),
            "the combination is not negative": float(-self._combined().min(initial=0.0)),
            "the combination asks for less than nothing": float(self._paid() + 0.5),
        }


KINDS: Mapping[str, type[Certificate]] = {kind.kind: kind for kind in (Optimality, Infeasibility)}


def read_certificate(source: str | Path) -> Certificate:
    """Read a certificate from a file.

    Raises
    ------
    FileProblem
        The file is no certificate, of another version, or its digest does not fit.
    """
    path = Path(source)
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        digest, kind, version = body.pop("digest"), body.pop("kind"), body.pop("version")
    except (ValueError, AttributeError, KeyError, TypeError) as problem:
        raise FileProblem(path, f"is no certificate ({problem})") from None
    if version != VERSION or kind not in KINDS:
        raise FileProblem(path, f"is {kind!r} of version {version!r}; known: {', '.join(KINDS)}, 1")
    if _digest({"version": version, "kind": kind, **body}) != digest:
        raise FileProblem(path, "does not have the digest of its contents", key="digest")
    try:
        return KINDS[kind]._from(body)
    except (KeyError, TypeError, ValueError) as problem:
        raise FileProblem(path, f"lacks or misstates a field ({problem})") from None


def _plain(record: Any) -> dict[str, Any]:
    """Return a record as JSON values."""
    out: dict[str, Any] = {}
    for item in fields(record):
        value = getattr(record, item.name)
        if isinstance(value, Instance):
            value = _plain(value)
        out[item.name] = value.tolist() if isinstance(value, np.ndarray) else value
    return out


def _digest(body: Mapping[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
