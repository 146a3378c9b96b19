"""The game that a certificate carries, and its numbers in one arithmetic or the other.

`Instance` holds a kernel in floats and, where the game has them, the exact numbers whose image they
are. `Numbers` reads it, and the fields of a certificate, as floats or as Fractions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.exact.numbers import as_fractions, as_reals
from iirl_opt.exact.rows import ExactRows, FloatRows
from iirl_opt.game.kernel import Matrix, fingerprint
from iirl_opt.game.mdp import TwoAgentMDP

__all__ = ["Instance", "Numbers", "SparseRows", "is_finite", "largest", "zero_if"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
# Numbers of the one arithmetic or the other: floats, or objects that are Fractions.
Vector = NDArray[Any]


@dataclass(frozen=True, eq=False)
class SparseRows:
    """A sparse matrix with few numbers a row, floats or Fractions, in the layout of CSR."""

    indptr: Integers
    indices: Integers
    data: Vector
    width: int

    @classmethod
    def of(cls, rows: Any, width: int) -> SparseRows:
        """Return rows given as dense vectors, one at a time."""
        indices, data = [], []
        for row in rows:
            at = np.flatnonzero(row)
            indices.append(at)
            data.append(row[at])
        sizes = [len(at) for at in indices]
        pointers = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        empty = np.zeros(0, dtype=object)
        return cls(
            pointers,
            np.concatenate([np.zeros(0, dtype=np.int64), *indices]),
            np.concatenate(data) if data else empty,
            width,
        )

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.indptr) - 1

    def __iter__(self) -> Iterator[Vector]:
        return (self.row(i) for i in range(len(self)))

    def row(self, index: int) -> Vector:
        """Return one row as a dense vector."""
        span = slice(self.indptr[index], self.indptr[index + 1])
        zero = Fraction(0) if self.data.dtype == object else 0.0
        out = np.full(self.width, zero, dtype=self.data.dtype)
        out[self.indices[span]] = self.data[span]
        return out

    def fits(self, n_rows: int, width: int) -> bool:
        """Return whether this is a matrix of a shape."""
        layout = _is_layout(self.indptr, self.indices, self.data, n_rows, width)
        return layout and self.width == width and is_finite(self.data)


def _is_layout(indptr: Any, indices: Any, data: Any, n_rows: int, width: int) -> bool:
    if indptr.shape != (n_rows + 1,) or indices.ndim != 1 or data.shape != indices.shape:
        return False
    ends = indptr[0] == 0 and indptr[-1] == len(indices)
    if not ends or (np.diff(indptr) < 0).any():
        return False
    inside = ((indices >= 0) & (indices < width)).all()
    # Within a row they increase, so that no entry stands there twice.
    first = np.zeros(len(indices) + 1, dtype=bool)
    first[indptr] = True
    return bool(inside and ((np.diff(indices) > 0) | first[1:-1]).all())


@dataclass(frozen=True, eq=False)
class Instance:
    """A game as a certificate carries it: sparse rows ``(s·A + a)·B + b``, labels as text.

    Attributes
    ----------
    shape : (S, A, B).
    indptr, indices, data : the kernel in CSR.
    discount, start : γ and the start distribution, (S,).
    states, leader_actions, follower_actions : labels.
    fingerprint : that of the game.
    numerators, denominators : the exact kernel in the same layout, with one denominator a row;
        None where the game has no exact numbers, as are the next two.
    exact_discount, exact_start : γ and the start as Fractions.
    """

    shape: tuple[int, int, int]
    indptr: Integers
    indices: Integers
    data: Array
    discount: float
    start: Array
    states: tuple[str, ...]
    leader_actions: tuple[str, ...]
    follower_actions: tuple[str, ...]
    fingerprint: str
    numerators: NDArray[Any] | None = None
    denominators: NDArray[Any] | None = None
    exact_discount: Fraction | None = None
    exact_start: Vector | None = None

    @classmethod
    def of(cls, game: TwoAgentMDP) -> Instance:
        """Return the instance of a game, with its exact numbers if it has them."""
        rows: Any = sp.csr_array(game.matrix)
        n_states, n_a, n_b = game.shape
        exact: dict[str, Any] = {}
        # A probability too small for a float has no place in the layout of the float matrix.
        if game.rational.rows.indices.size == rows.indices.size:
            exact = {
                "numerators": game.rational.rows.numerators.astype(object),
                "denominators": game.rational.rows.denominators.astype(object),
                "exact_discount": game.rational.discount,
                "exact_start": as_fractions(np.array(game.rational.start, dtype=object)),
            }
        return cls(
            (n_states, n_a, n_b),
            rows.indptr.astype(np.int64),
            rows.indices.astype(np.int64),
            rows.data.copy(),
            game.discount,
            game.start.copy(),
            tuple(str(name) for name in game.states),
            tuple(str(name) for name in game.leader_actions),
            tuple(str(name) for name in game.follower_actions),
            game.fingerprint,
            **exact,
        )

    @property
    def is_exact(self) -> bool:
        """Whether the exact numbers are there."""
        return self.numerators is not None

    @property
    def kernel(self) -> Matrix:
        """The kernel, (S·A·B, S)."""
        size = (math.prod(self.shape), self.shape[0])
        return sp.csr_array((self.data, self.indices, self.indptr), shape=size)

    def misfits(self) -> list[str]:
        """Return the fields whose form makes no game."""
        n_states, n_a, n_b = self.shape
        n_rows = n_states * n_a * n_b
        labels = (self.states, self.leader_actions, self.follower_actions)
        exact = (self.numerators, self.denominators, self.exact_discount, self.exact_start)
        right = {
            "shape": min(self.shape) > 0,
            "kernel": _is_layout(self.indptr, self.indices, self.data, n_rows, n_states),
            "start": self.start.shape == (n_states,),
            "floats": all(map(is_finite, (self.data, self.start, self.discount))),
            "labels": tuple(map(len, labels)) == self.shape,
            "exact numbers": all(part is None for part in exact)
            or (
                all(part is not None for part in exact)
                and _shape(self.numerators) == self.data.shape
                and _shape(self.denominators) == (n_rows,)
                and min(np.asarray(self.denominators)) > 0
                and _shape(self.exact_start) == (n_states,)
            ),
        }
        return [f"the {name}" for name, fits in right.items() if not fits]

    def residuals(self, exact: bool) -> dict[str, Any]:
        """Return how far this is from a game whose fingerprint is the stated one."""
        csr = (self.indptr, self.indices, self.data)
        same = fingerprint(self.shape, csr, self.discount, self.start) == self.fingerprint
        found: dict[str, Any] = {"the fingerprint is that of the instance": zero_if(same)}
        if self.is_exact:
            found["the floats are the image of the exact numbers"] = zero_if(self._is_image())
        sums, data, discount, start = self._parts(exact)
        return found | {
            "rows of the kernel sum to one": largest(np.abs(sums - 1)),
            "probabilities are not negative": largest(-data),
            "the discount is in [0, 1)": zero_if(0 <= discount < 1),
            "the start sums to one": abs(start.sum() - 1),
            "the start is not negative": largest(-start),
        }

    def _parts(self, exact: bool) -> tuple[Vector, Vector, Any, Vector]:
        """Return the sums of the rows, the entries up to scale, the discount and the start."""
        if not exact:
            sums = np.asarray(self.kernel.sum(axis=1)).ravel()
            return sums, self.data, self.discount, self.start
        assert self.numerators is not None
        assert self.denominators is not None
        assert self.exact_start is not None
        totals = np.zeros(len(self.denominators), dtype=object)
        np.add.at(totals, np.repeat(np.arange(len(totals)), np.diff(self.indptr)), self.numerators)
        off = np.flatnonzero(totals != self.denominators)
        sums = np.array([Fraction(1)] * (not len(off)) + [Fraction(2)] * len(off), dtype=object)
        return sums, self.numerators, self.exact_discount, self.exact_start

    def _is_image(self) -> bool:
        assert self.numerators is not None
        assert self.denominators is not None
        below = np.repeat(self.denominators, np.diff(self.indptr))
        image = np.array([_quotient(a, b) for a, b in zip(self.numerators, below, strict=True)])
        return bool(
            np.array_equal(image, self.data)
            and as_reals(np.array(self.exact_discount, dtype=object)) == self.discount
            and np.array_equal(as_reals(self.exact_start), self.start)
        )


def is_finite(numbers: Any) -> bool:
    """Return whether these are numbers, exact or finite."""
    if not isinstance(numbers, np.ndarray):
        return type(numbers) in (int, Fraction) or (
            isinstance(numbers, float) and math.isfinite(numbers)
        )
    return numbers.dtype == object or bool(np.isfinite(numbers).all())


def _shape(array: Any) -> tuple[int, ...]:
    return np.shape(array)


def _quotient(above: int, below: int) -> float:
    return above / below if above <= below else math.inf


def zero_if(holds: bool) -> float:
    return 0.0 if holds else math.inf


def largest(vector: Any) -> Any:
    """Return the largest number of an array, or zero."""
    return np.asarray(vector).max(initial=0)


class Numbers:
    """A game and the fields of its certificate in one arithmetic, floats or Fractions.

    Attributes
    ----------
    exact : whether they are Fractions.
    rows : the kernel, (S·A·B, S).
    discount, start : γ and the start distribution.
    """

    def __init__(self, instance: Instance, exact: bool) -> None:
        self.exact = exact
        self.shape = instance.shape
        self.rows: Any
        if exact:
            assert instance.exact_discount is not None
            self.discount: Any = instance.exact_discount
            self.start: Vector = np.asarray(instance.exact_start)
            self.rows = ExactRows(
                instance.indptr,
                instance.indices,
                np.asarray(instance.numerators),
                np.asarray(instance.denominators),
                instance.shape[0],
            )
        else:
            self.discount, self.start = instance.discount, instance.start
            self.rows = FloatRows(instance.kernel)

    def __call__(self, given: Any) -> Vector:
        """Return numbers of a certificate in this arithmetic."""
        return as_fractions(given) if self.exact else as_reals(given)

    def leave(self, values: Vector) -> Vector:
        """Return ``(E − γP) V``, (S·A·B,)."""
        _, n_a, n_b = self.shape
        return np.asarray(np.repeat(values, n_a * n_b) - self.discount * self.rows.times(values))

    def flow(self, measure: Vector) -> Vector:
        """Return ``(E − γP)ᵀ μ``, (S,)."""
        taken = measure.reshape(self.shape[0], -1).sum(axis=1)
        return np.asarray(taken - self.discount * self.rows.transposed(measure))

    def chain(self, joint: Vector) -> Any:
        """Return the rows (S, S) under a joint policy (S, A, B)."""
        n_states = self.shape[0]
        at = np.arange(math.prod(self.shape)).reshape(n_states, -1)
        return self.rows.mixed(joint.reshape(n_states, -1), at)

    def follower(self, pi1: Vector) -> Any:
        """Return the rows (S·B, S) that a commitment (S, A) leaves to the follower."""
        n_states, n_a, n_b = self.shape
        at = np.arange(n_states * n_a * n_b).reshape(self.shape).swapaxes(1, 2)
        return self.rows.mixed(np.repeat(pi1, n_b, axis=0), at.reshape(-1, n_a))
