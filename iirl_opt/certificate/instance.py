"""The game that a certificate carries, in exact numbers.

Kernel rows, the start and policies are *weights*: numbers ≥ 0 that mean their shares of their sum.
So floats that sum to one only up to rounding are a distribution, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from iirl_opt.brief import in_brief
from iirl_opt.certificate.form import read_array, read_integer, read_number, write
from iirl_opt.checks import array_of_floats, checked, each, kept, whole
from iirl_opt.errors import InvalidArgument
from iirl_opt.exact.numbers import as_fractions, common
from iirl_opt.exact.rows import ExactRows
from iirl_opt.game.kernel import fingerprint
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.printing.records import with_html

__all__ = ["Instance", "SparseRows", "clamped", "distributions", "is_distribution", "span"]

Integers = NDArray[np.int64]
# Objects that are Fractions.
Vector = NDArray[Any]


@dataclass(frozen=True, eq=False)
class SparseRows:
    """A sparse matrix with few numbers a row, in the layout of CSR.

    Examples
    --------
    >>> rows = SparseRows.of([[0, 1, 0], [2, 0, 3]], 3)
    >>> len(rows), [int(x) for x in rows.row(1)], rows.indices
    (2, [2, 0, 3], array([1, 0, 2]))
    """

    indptr: Integers
    indices: Integers
    data: Vector
    width: int

    __repr__ = in_brief

    @classmethod
    @checked(width=whole(0))
    def of(cls, rows: Any, width: int) -> SparseRows:
        """Return rows given as dense vectors, one at a time."""
        indices, data = [], []
        for row in _dense_rows(rows, width):
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

    @classmethod
    def read(cls, given: Any) -> SparseRows:
        """Return what ``{"width": n, "rows": [[[j, x], …], …]}`` says."""
        if given.keys() != {"width", "rows"}:
            raise KeyError("the keys of sparse rows")
        indptr, indices, numbers = _read_pairs(given["rows"])
        data = np.empty(len(numbers), dtype=object)
        data[:] = [read_number(x) for x in numbers]
        return cls(indptr, indices, data, read_integer(given["width"]))

    def to_plain(self) -> dict[str, Any]:
        """Return the rows as JSON values."""
        return {"width": self.width, "rows": _sparse_pairs(self.indptr, self.indices, self.data)}

    def exact(self) -> SparseRows:
        """Return the rows with Fractions in them."""
        return SparseRows(self.indptr, self.indices, as_fractions(self.data), self.width)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.indptr) - 1

    def __iter__(self) -> Iterator[Vector]:
        return (self.row(i) for i in range(len(self)))

    def entries(self, index: int) -> list[tuple[int, Fraction]]:
        """Return the columns and numbers of one row."""
        span = slice(self.indptr[index], self.indptr[index + 1])
        return [*zip(self.indices[span].tolist(), self.data[span].tolist(), strict=True)]

    @checked(index=whole(0))
    def row(self, index: int) -> Vector:
        """Return one row as a dense vector."""
        out = np.full(self.width, Fraction(0), dtype=object)
        for j, x in self.entries(index):
            out[j] = x
        return out

    def times(self, vector: Vector) -> Vector:
        """Return the product with a vector."""
        out = np.full(len(self), Fraction(0), dtype=object)
        for i in range(len(self)):
            out[i] = sum((x * vector[j] for j, x in self.entries(i)), Fraction(0))
        return out

    def transposed(self, weights: Vector) -> Vector:
        """Return the sum of the rows, each times its weight."""
        out = np.full(self.width, Fraction(0), dtype=object)
        for i in np.flatnonzero(weights).tolist():
            for j, x in self.entries(i):
                out[j] += weights[i] * x
        return out

    @checked(n_rows=whole(0), width=whole(0))
    def fits(self, n_rows: int, width: int) -> bool:
        """Return whether this is a matrix of a shape."""
        return self.width == width and _is_layout(
            self.indptr, self.indices, self.data, n_rows, width
        )


def _dense_rows(rows: Any, width: int) -> Any:
    """Return the rows of an array, or of an iterable of vectors, of so many finite numbers each."""
    listed = each(kept(array_of_floats(1)))("rows", rows)
    for i, row in enumerate(listed):
        if len(row) != width:
            raise InvalidArgument(f"rows[{i}]", f"has {len(row)} entries", f"{width}", len(row))
    return map(np.asarray, listed)


def _read_pairs(rows: Any) -> tuple[Integers, Integers, list[Any]]:
    if not isinstance(rows, list):
        raise TypeError("rows that are no list")
    pairs = [(read_integer(j), x) for row in rows for j, x in row]
    sizes = [0, *(len(row) for row in rows)]
    indices = np.array([j for j, _ in pairs], dtype=np.int64)
    return np.cumsum(sizes).astype(np.int64), indices, [x for _, x in pairs]


def _sparse_pairs(indptr: Integers, indices: Integers, data: Vector) -> list[Any]:
    entries = [*zip(indices.tolist(), write(data), strict=True)]
    return [[[j, x] for j, x in entries[i:k]] for i, k in pairwise(indptr.tolist())]


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


def clamped(vector: Vector) -> Vector:
    """Return a vector with zero for what is negative."""
    out = vector.copy()
    out[out < 0] = Fraction(0)
    return out


def distributions(weights: Vector) -> Vector:
    """Return weights (…, n) as shares of the sums over the last axis."""
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def is_distribution(weights: Vector) -> bool:
    """Return whether weights (…, n) are not negative and have positive sums."""
    return bool(np.all(weights >= 0) and np.all(weights.sum(axis=-1) > 0))


@dataclass(frozen=True, eq=False)
class Instance:
    """A game as a certificate carries it: sparse rows ``(s·A + a)·B + b``, labels as text.

    Attributes
    ----------
    shape : (S, A, B).
    rows : the kernel, (S·A·B, S).
    discount, start : γ and the start distribution, (S,).
    states, leader_actions, follower_actions : labels.
    fingerprint : that of the game.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 2]]], [[[0, 1]]]], discount="1/3")
    >>> known = Instance.of(game)
    >>> known.shape, known.discount, known.rows.numerators.tolist()  # weights
    ((2, 1, 1), Fraction(1, 3), [1, 2, 1])
    """

    shape: tuple[int, int, int]
    rows: ExactRows
    discount: Fraction
    start: Vector
    states: tuple[str, ...]
    leader_actions: tuple[str, ...]
    follower_actions: tuple[str, ...]
    fingerprint: str

    __repr__ = in_brief

    _repr_html_ = with_html

    @classmethod
    @checked(game=GAME)
    def of(cls, game: TwoAgentMDP) -> Instance:
        """Return the instance of a game."""
        n_states, n_a, n_b = game.shape
        return cls(
            (n_states, n_a, n_b),
            game.rational.rows,
            game.rational.discount,
            as_fractions(np.array(game.rational.start, dtype=object)),
            tuple(str(name) for name in game.states),
            tuple(str(name) for name in game.leader_actions),
            tuple(str(name) for name in game.follower_actions),
            game.fingerprint,
        )

    @classmethod
    def read(cls, body: Any) -> Instance:
        """Return the instance of JSON values.

        Raises
        ------
        TypeError, ValueError, KeyError, AttributeError, OverflowError
        """
        names = ("states", "leader_actions", "follower_actions")
        keys = {"shape", "kernel", "discount", "start", *names, "fingerprint"}
        if body.keys() != keys:
            raise KeyError(f"keys of the instance {sorted(body.keys() ^ keys)}")
        labels = [tuple(body[name]) for name in names]
        texts = [text for kind in labels for text in kind] + [body["fingerprint"]]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("a label that is no text")
        shape = tuple(map(read_integer, body["shape"]))
        if len(shape) != 3 or min(shape) < 1:
            raise ValueError(f"shape {shape}")
        indptr, indices, numbers = _read_pairs(body["kernel"])
        weights = list(map(read_integer, numbers))
        totals = [sum(weights[i:j]) for i, j in pairwise(indptr.tolist())]
        numerators = np.array([*weights, None], dtype=object)[:-1]
        denominators = np.array([*totals, None], dtype=object)[:-1]
        width = shape[0]
        start = read_array(body["start"])
        if start.ndim != 1 or not is_distribution(start):
            raise ValueError("a start that is no distribution")
        return cls(
            (shape[0], shape[1], shape[2]),
            ExactRows(indptr, indices, numerators, denominators, width),
            read_number(body["discount"]),
            distributions(start),
            labels[0],
            labels[1],
            labels[2],
            body["fingerprint"],
        )

    def to_plain(self) -> dict[str, Any]:
        """Return the instance as JSON values."""
        whole, _ = common(self.start)
        divisor = math.gcd(*whole.tolist()) or 1
        return {
            "shape": list(self.shape),
            "kernel": _sparse_pairs(self.rows.indptr, self.rows.indices, self.rows.numerators),
            "discount": write(self.discount),
            "start": write(whole // divisor),
            "states": list(self.states),
            "leader_actions": list(self.leader_actions),
            "follower_actions": list(self.follower_actions),
            "fingerprint": self.fingerprint,
        }

    def misfits(self) -> list[str]:
        """Return the fields whose form makes no game."""
        n_rows = math.prod(self.shape)
        labels = (self.states, self.leader_actions, self.follower_actions)
        rows = self.rows
        right = {
            "shape": min(self.shape) > 0,
            "kernel": _is_layout(rows.indptr, rows.indices, rows.numerators, n_rows, self.shape[0])
            and all(n > 0 for n in rows.numerators.tolist())
            and all(n > 0 for n in rows.denominators.tolist()),
            "start": self.start.shape == self.shape[:1],
            "labels": tuple(map(len, labels)) == self.shape,
            "discount": 0 <= self.discount < 1,
        }
        return [f"the {name}" for name, fits in right.items() if not fits]

    def residuals(self) -> dict[str, Any]:
        """Return whether the fingerprint is that of the game."""
        same = fingerprint(self.shape, self.rows, self.discount, self.start) == self.fingerprint
        return {"the fingerprint is that of the instance": 0 if same else math.inf}

    def taken(self, measure: Vector) -> Vector:
        """Return the sums of a measure (S·A·B,) over the choices of each state."""
        return np.asarray(measure.reshape(self.shape[0], -1).sum(axis=1))

    def leave(self, values: Vector) -> Vector:
        """Return ``(E − γP) V``, (S·A·B,)."""
        _, n_a, n_b = self.shape
        return np.asarray(np.repeat(values, n_a * n_b) - self.discount * self.rows.times(values))

    def flow(self, measure: Vector) -> Vector:
        """Return ``(E − γP)ᵀ μ``, (S,)."""
        return np.asarray(self.taken(measure) - self.discount * self.rows.transposed(measure))

    def chain(self, joint: Vector) -> ExactRows:
        """Return the rows (S, S) under a joint policy (S, A, B)."""
        n_states = self.shape[0]
        at = np.arange(math.prod(self.shape)).reshape(n_states, -1)
        return self.rows.mixed(joint.reshape(n_states, -1), at)

    def follower(self, pi1: Vector) -> ExactRows:
        """Return the rows (S·B, S) that a commitment (S, A) leaves to the follower."""
        n_states, n_a, n_b = self.shape
        at = np.arange(n_states * n_a * n_b).reshape(self.shape).swapaxes(1, 2)
        return self.rows.mixed(np.repeat(pi1, n_b, axis=0), at.reshape(-1, n_a))

    def over_choices(self, reward: Vector) -> Vector:
        """Return a reward (S,) or (S, A, B) as a vector (S·A·B,)."""
        if reward.ndim == 3:
            return reward.ravel()
        return np.repeat(reward, self.shape[1] * self.shape[2])


def span(reward: Iterable[Any]) -> Fraction:
    """Return the difference of the largest and the least number."""
    numbers = cast("list[Fraction]", np.asarray(reward).ravel().tolist())
    return max(numbers) - min(numbers)
