"""What a game and an MDP share: labels, rows over the choices of each state, exact numbers.

Both hold one read-only matrix of transition rows (see `iirl_opt.game.kernel`): row
``(s·A + a)·B + b`` of a game, row ``s·B + b`` of an MDP. Discounts satisfy 0 ≤ γ < 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from iirl_opt.brief import shortly
from iirl_opt.checks import FLAG, LABELS
from iirl_opt.errors import InvalidArgument, InvalidGame
from iirl_opt.exact.numbers import UNREADABLE, as_fraction
from iirl_opt.exact.rows import ExactRows, same_entries
from iirl_opt.game.entries import Exact, RowBlocks, read_kernel, rows_of
from iirl_opt.game.kernel import (
    ROUNDED_SUMS,
    SUM_TOLERANCE,
    Matrix,
    Rational,
    fill_missing,
    fingerprint,
    is_sparse,
    kernel_array,
    kernel_shape,
    read_distribution,
)
from iirl_opt.game.labels import Labels
from iirl_opt.game.policy import rational_policy
from iirl_opt.printing.table import FactTable, html_of

__all__ = ["FiniteModel", "check_discount"]

Array = NDArray[np.float64]


class FiniteModel:
    """What a game and an MDP share: rows over the choices of each state."""

    axes: tuple[str, ...]
    matrix: Matrix
    shape: tuple[int, ...]
    discount: float
    start: Array
    states: Labels
    is_rational: bool
    # Whether the matrix is the nearest one in floats to exact weights, and no floats divided.
    is_nearest: bool
    _labels: tuple[Labels, ...]
    exact_discount: Fraction
    exact_start: tuple[Fraction, ...]
    _exact: Exact
    # The game and the commitment that this MDP comes from, if it does.
    _origin: tuple[FiniteModel, Array | None] | None

    def _set(
        self,
        kernel: Any,
        discount: Any,
        start: Any,
        states: Iterable[Any] | int | None,
        actions: dict[str, Iterable[Any] | int | None],
        fallback: dict[str, Any],
        normalise: bool,
    ) -> None:
        kernel = kernel if isinstance(kernel, RowBlocks) else kernel_array(kernel)
        named = {
            kind: _labels_or_number(f"{kind}s".replace(" ", "_"), names)
            for kind, names in {"state": states, **actions}.items()
        }
        shape = kernel_shape(kernel, list(named.values())[1:])
        labels = []
        for (kind, names), size in zip(named.items(), shape, strict=True):
            if size == 0:
                raise InvalidGame(f"{kind}s", "are empty", "at least one", 0)
            known = names if isinstance(names, tuple) else range(size if names is None else names)
            if len(known) != size:
                raise InvalidGame(
                    f"{kind} labels", f"are {len(known)}", f"{size}, as in P", len(known)
                )
            labels.append(Labels(known, kind))

        def place(*at: int) -> str:
            names = zip((*self.axes, "s'"), (*labels, labels[0]), at, strict=False)
            return f"P[{', '.join(f'{axis}={known[i]!r}' for axis, known, i in names)}]"

        if kernel.ndim > 2:
            kernel = kernel.reshape(math.prod(shape), shape[0])
        kernel = fill_missing(kernel, shape, labels[1:], list(fallback.values()))
        tolerance = ROUNDED_SUMS if FLAG("normalise", normalise) else SUM_TOLERANCE
        matrix, exact = read_kernel(kernel, (*shape, shape[0]), place, tolerance)
        number = check_discount(discount)
        self.__setstate__(
            {
                "matrix": matrix,
                "shape": shape,
                "discount": float(number),
                **_read_start(start, labels[0], exact is not None, tolerance),
                "states": labels[0],
                "is_rational": exact is not None,
                "is_nearest": exact is not None and not is_sparse(exact),
                "_labels": tuple(labels),
                "exact_discount": number,
                "_exact": exact,
                "_origin": None,
            }
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set all attributes, arrays read-only: of a new model, and of an unpickled one."""
        self.__dict__.update(state)
        matrix = self.matrix
        parts = (matrix.data, matrix.indices, matrix.indptr) if is_sparse(matrix) else (matrix,)
        for array in (*parts, self.start):
            array.flags.writeable = False

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is read-only: {name!r} cannot be set")

    def starting_at(self, start: Any) -> Self:
        """Return the same model with another start: weights (S,), or ``{label: weight}``."""
        return self._with(_read_start(start, self.states, self.is_rational))

    def discounted(self, discount: Any) -> Self:
        """Return the same model with another discount, 0 ≤ γ < 1."""
        number = check_discount(discount)
        return self._with({"discount": float(number), "exact_discount": number})

    def _with(self, changed: dict[str, Any]) -> Self:
        """Return the same model but for some attributes."""
        other = object.__new__(type(self))
        kept = {name: vars(self)[name] for name in FiniteModel.__annotations__ if name != "axes"}
        other.__setstate__(kept | changed)
        return other

    @property
    def n_states(self) -> int:
        """The number of states, S."""
        return self.shape[0]

    @property
    def action_labels(self) -> tuple[Labels, ...]:
        """The labels of each kind of action, in the order of `axes`."""
        return self._labels[1:]

    @property
    def n_choices(self) -> int:
        """The number of rows a state has: A·B of a game, B of an MDP."""
        return math.prod(self.shape[1:])

    @property
    def kernel(self) -> Array:
        """The kernel as a dense array (S, A, B, S) or (S, B, S); made anew where kept sparse."""
        dense = self.matrix.toarray() if is_sparse(self.matrix) else self.matrix
        return np.asarray(dense).reshape(*self.shape, self.n_states)

    @property
    def given_floats(self) -> Matrix | None:
        """The kernel as the floats that were given, before rows were divided by their sums.

        None where exact numbers were given.
        """
        if self._exact is None and not self.is_rational:
            return self.matrix
        return self._exact if is_sparse(self._exact) else None

    @cached_property
    def rational(self) -> Rational:
        """The exact numbers of the model, of which the float arrays are the image.

        They are made at the first call; of a float kernel each entry, the dyadic rational that it
        is, over the exact sum of its row. **Cost** arithmetic, linear in the transitions: on
        Python's integers for a float kernel.
        """
        if self._origin is None:
            rows = rows_of(self.matrix, self._exact)
        else:
            rows = self.exact_rows(np.arange(self.n_states * self.n_choices))
        rows.freeze()
        return Rational(rows, self.exact_discount, self.exact_start)

    def exact_rows(self, rows: NDArray[Any]) -> ExactRows:
        """Return some rows ``s·n + choice`` of the kernel in exact numbers."""
        if "rational" in vars(self):
            return self.rational.rows.take(rows)
        if self._origin is None:
            return rows_of(self.matrix, self._exact, rows)
        game, pi1 = self._origin
        if pi1 is None:
            return game.exact_rows(rows)
        _, n_a, n_b = game.shape
        s, b = np.divmod(rows, n_b)
        if (pi1[s].max(axis=1, initial=0.0) == 1).all():
            return game.exact_rows((s * n_a + pi1[s].argmax(axis=1)) * n_b + b)
        mixed = rational_policy(pi1[s])
        played, a = np.nonzero(mixed)
        of = game.exact_rows((s[played] * n_a + a) * n_b + b[played])
        at = np.zeros(mixed.shape, dtype=np.int64)
        at[played, a] = np.arange(played.size)
        return of.mixed(mixed, at)

    def same_rows(self, one: NDArray[Any], two: NDArray[Any]) -> NDArray[np.bool_]:
        """Return for pairs of rows ``s·n + choice`` of a state whether they are written alike.

        Then they are equal; equal rows may be written differently where they are mixtures.
        """
        if self._origin is not None:
            return self._same_in_origin(one, two)
        if self.is_rational:
            both = self.exact_rows(np.concatenate([one, two]))
            return both.same(np.arange(one.size), np.arange(one.size, 2 * one.size))
        kernel = self.matrix
        if is_sparse(kernel):
            return same_entries(kernel.indptr, kernel.indices, kernel.data, one, two)
        return np.asarray((kernel[one] == kernel[two]).all(axis=1))

    def _same_in_origin(self, one: NDArray[Any], two: NDArray[Any]) -> NDArray[np.bool_]:
        assert self._origin is not None
        game, pi1 = self._origin
        if pi1 is None:
            return game.same_rows(one, two)
        _, n_a, n_b = game.shape
        pair, a = np.nonzero(pi1[one // n_b])
        at = ((one // n_b)[pair] * n_a + a) * n_b
        apart = ~game.same_rows(at + one[pair] % n_b, at + two[pair] % n_b)
        same = np.ones(one.shape, dtype=bool)
        same[pair[apart]] = False
        return same

    def leads_to(self, rows: NDArray[Any], labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the label that all states have which rows ``s·n + choice`` lead to, or −1, (k,).

        A probability too small for a float counts. `labels` has shape (S,).
        """
        if self._origin is not None:
            game, pi1 = self._origin
            if pi1 is None:
                return game.leads_to(rows, labels)
            _, n_a, n_b = game.shape
            pair, a = np.nonzero(pi1[rows // n_b])
            each = game.leads_to(((rows // n_b)[pair] * n_a + a) * n_b + rows[pair] % n_b, labels)
            starts = np.searchsorted(pair, np.arange(rows.size))
        else:
            exact = self.is_rational
            given: Any = self.exact_rows(rows) if exact else csr_array(self.matrix[rows])
            each, starts = labels[given.indices], given.indptr[:-1]
        if not rows.size:
            return each
        least, most = np.minimum.reduceat(each, starts), np.maximum.reduceat(each, starts)
        return np.where(least == most, least, -1)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the exact kernel, discount and start distribution; not of labels."""
        exact = self.rational
        return fingerprint(self.shape, exact.rows, exact.discount, exact.start)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        mine, theirs = self._labels, other._labels
        return self.fingerprint == other.fingerprint and mine == theirs

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    @property
    def n_transitions(self) -> int:
        """The number of transitions of positive probability."""
        return int(self.matrix.nnz if is_sparse(self.matrix) else np.count_nonzero(self.matrix))

    def _repr_html_(self) -> str:
        labels = {f"{names.kind}s": names for names in self._labels}
        facts = {kind: f"{len(names)}: {shortly(names)}" for kind, names in labels.items()}
        exact = "rational" if self.is_rational else "floats"
        starts = np.count_nonzero(self.start)
        facts |= {
            "discount": shortly(self.exact_discount if self.is_rational else self.discount),
            "start": f"in {starts} of {self.n_states} states",
            "transitions": f"{self.n_transitions}, {exact}",
        }
        return html_of(FactTable([facts], type(self).__name__))

    def _sizes(self) -> str:
        exact = "rational" if self.is_rational else "float"
        return f"discount={self.discount:g}, {self.n_transitions} transitions, {exact}"


def _labels_or_number(name: str, given: Any) -> tuple[Any, ...] | int | None:
    """Return labels as a tuple, or their number."""
    if given is None:
        return None
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        return int(given)
    try:
        return LABELS(name, given)
    except InvalidArgument as problem:
        raise InvalidGame(name, problem.problem, "labels, or their number", given) from None


def _read_start(
    start: Any, states: Labels, rational: bool, tolerance: float = SUM_TOLERANCE
) -> dict[str, Any]:
    """Return a start distribution in floats and in exact numbers, by their names in a model."""
    if isinstance(start, Mapping):
        weights = np.zeros(len(states), dtype=object)
        for name, weight in start.items():
            weights[states.index(name)] = weight
        start = weights
    floats, exact = read_distribution(
        start,
        len(states),
        name="start",
        labels=states,
        rational=rational,
        tolerance=tolerance,
    )
    return {"start": floats, "exact_start": exact}


def check_discount(discount: Any, name: str = "discount") -> Fraction:
    """Return a discount as the fraction that it is.

    Raises
    ------
    InvalidGame
        It is no number, or not 0 ≤ γ < 1.
    """
    try:
        number = as_fraction(discount)
    except UNREADABLE:
        allowed = "a number with 0 ≤ γ < 1"
        raise InvalidGame(name, f"is {discount!r}", allowed, discount) from None
    if number == 1:
        allowed = "0 ≤ γ < 1 (undiscounted values need not exist)"
        raise InvalidGame(name, "is 1", allowed, discount)
    if not 0 <= number < 1:
        raise InvalidGame(name, f"is {discount}", "0 ≤ γ < 1", discount)
    if float(number) == 1:
        raise InvalidGame(name, "is 1 as a float", "0 ≤ γ < 1, as a float too", discount)
    return number
