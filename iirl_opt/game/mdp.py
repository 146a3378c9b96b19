"""The two-agent MDP and the single-agent MDP that the follower faces (paper, Section 3).

A `TwoAgentMDP` is ``(S, A, B, P, γ)`` with a start distribution and labels; it is free of reward,
which is always an argument: the same game is asked about many rewards. Once the leader commits
to ``π1``, the follower plans in the `MDP` with kernel
``P_π1(s' | s, b) = Σ_a π1(a | s) P(s' | s, a, b)``.

Both hold one read-only matrix of transition rows (see `iirl_opt.game.kernel`): row
``(s·A + a)·B + b`` of a game, row ``s·B + b`` of an MDP. Discounts satisfy 0 ≤ γ < 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import LABELS, MAPPING, Rule, checked, is_a
from iirl_opt.errors import InvalidArgument, InvalidGame
from iirl_opt.exact.numbers import UNREADABLE, as_fraction
from iirl_opt.exact.rows import ExactRows
from iirl_opt.game.kernel import (
    Matrix,
    Rational,
    fill_missing,
    fingerprint,
    is_sparse,
    kernel_array,
    kernel_shape,
    read_distribution,
    read_kernel,
)
from iirl_opt.game.labels import Labels
from iirl_opt.game.policy import check_policy, from_labels, rational_policy

__all__ = ["MDP", "TwoAgentMDP"]

Array = NDArray[np.float64]


class _Model:
    """What a game and an MDP share: rows over the choices of each state."""

    axes: tuple[str, ...]
    matrix: Matrix
    shape: tuple[int, ...]
    discount: float
    start: Array
    states: Labels
    is_rational: bool
    _labels: tuple[Labels, ...]
    exact_discount: Fraction
    exact_start: tuple[Fraction, ...]
    _rows: ExactRows | None
    # The game and the commitment that this MDP comes from, if it does.
    _origin: tuple[TwoAgentMDP, Array | None] | None

    def _set(
        self,
        kernel: Any,
        discount: Any,
        start: Any,
        states: Iterable[Any] | int | None,
        actions: dict[str, Iterable[Any] | int | None],
        fallback: dict[str, Any],
    ) -> None:
        kernel = kernel_array(kernel)
        named = {
            kind: _names(f"{kind}s".replace(" ", "_"), names)
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

        kernel = kernel.reshape(math.prod(shape), shape[0])
        kernel = fill_missing(kernel, shape, labels[1:], list(fallback.values()))
        matrix, exact = read_kernel(kernel, (*shape, shape[0]), place)
        number = _check_discount(discount)
        self.__setstate__(
            {
                "matrix": matrix,
                "shape": shape,
                "discount": float(number),
                **_read_start(start, labels[0], exact is not None),
                "states": labels[0],
                "is_rational": exact is not None,
                "_labels": tuple(labels),
                "exact_discount": number,
                "_rows": exact,
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
        if self._rows is not None:
            self._rows.freeze()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is read-only: {name!r} cannot be set")

    def starting_at(self, start: Any) -> Self:
        """Return the same model with another start: weights (S,), or ``{label: weight}``."""
        other = object.__new__(type(self))
        kept = {name: vars(self)[name] for name in _Model.__annotations__ if name != "axes"}
        other.__setstate__(kept | _read_start(start, self.states, self.is_rational))
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

    @cached_property
    def rational(self) -> Rational:
        """The exact numbers of the model, of which the float arrays are the image.

        Of a float kernel they are made at the first call: each entry, the dyadic rational that it
        is, over the exact sum of its row. **Cost** arithmetic on Python's integers, linear in the
        transitions.
        """
        every = np.arange(self.n_states * self.n_choices)
        rows = self.exact_rows(every) if self._rows is None else self._rows
        rows.freeze()
        return Rational(rows, self.exact_discount, self.exact_start)

    def exact_rows(self, rows: NDArray[Any]) -> ExactRows:
        """Return some rows ``s·n + choice`` of the kernel in exact numbers."""
        if self._rows is not None:
            return self._rows.take(rows)
        if self._origin is None:
            return ExactRows.of_weights(sp.csr_array(self.matrix[rows]))
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

    def _sizes(self) -> str:
        exact = "rational" if self.is_rational else "float"
        return f"discount={self.discount:g}, {self.n_transitions} transitions, {exact}"


class MDP(_Model):
    """A finite Markov decision process without reward.

    Parameters
    ----------
    kernel : ``P[s, b, s']`` of shape (S, B, S), or (S·B, S) with row ``s·B + b``, dense or sparse;
        floats, integer weights a row, or Fractions.
    discount : 0 ≤ γ < 1, a float, Fraction or string such as ``"9/10"``.
    start : distribution over states, shape (S,), or ``{label: weight}``, in the numbers that a
        kernel may have; uniform by default.
    states, actions : labels (any hashables), or their number; integers by default.
    fallback : an action whose row stands in for actions that a state lacks (all-zero rows);
        without it such a row is an error.

    Raises
    ------
    InvalidGame, UnknownLabel

    **Cost** arithmetic.
    """

    axes: tuple[str, ...] = ("s", "b")

    def __init__(
        self,
        kernel: Any,
        discount: Any,
        start: Any = None,
        *,
        states: Iterable[Any] | int | None = None,
        actions: Iterable[Any] | int | None = None,
        fallback: Any = None,
    ) -> None:
        self._set(kernel, discount, start, states, {"action": actions}, {"action": fallback})

    @property
    def actions(self) -> Labels:
        """The action labels."""
        return self._labels[1]

    @property
    def n_actions(self) -> int:
        """The number of actions, B."""
        return self.shape[1]

    def chain(self, policy: ArrayLike) -> Matrix:
        """Return the (S, S) transition matrix under a policy of shape (S, B)."""
        return _mixed_rows(self.matrix, check_policy(policy, self.shape, states=self.states))

    def __repr__(self) -> str:
        return f"MDP({self.n_states} states, {self.n_actions} actions, {self._sizes()})"


class TwoAgentMDP(_Model):
    """A cooperative two-agent MDP without reward (paper, Section 3).

    Parameters
    ----------
    kernel : ``P[s, a, b, s']`` of shape (S, A, B, S), or (S·A·B, S) with row ``(s·A + a)·B + b``
        (then A or B must be known from `leader_actions` or `follower_actions`), dense or in any
        scipy sparse form; floats, integer weights a row, or Fractions.
    discount : 0 ≤ γ < 1, a float, Fraction or string such as ``"9/10"``.
    start : distribution over states, shape (S,), or ``{label: weight}``, in the numbers that a
        kernel may have; uniform by default.
    states, leader_actions, follower_actions : labels (any hashables), or their number; integers
        by default.
    leader_fallback, follower_fallback : an action whose rows stand in for actions that a state
        lacks (all-zero rows); without it such a row is an error.

    Raises
    ------
    InvalidGame
        Names the place: ``P[s='(2,3)', a='open NE', b='W'] sums to 0.97; allowed 1 ± 1e-09``.
    UnknownLabel
        A fallback or start label that does not exist.

    **Cost** arithmetic.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 1]], [[0, 1]]], [[[0, 1]], [[0, 1]]]], discount=0.9)
    >>> game
    TwoAgentMDP(2 states, 2×1 actions, discount=0.9, 5 transitions, rational)
    >>> game.kernel[0, 0, 0]
    array([0.5, 0.5])
    """

    axes: tuple[str, ...] = ("s", "a", "b")

    def __init__(
        self,
        kernel: Any,
        discount: Any,
        start: Any = None,
        *,
        states: Iterable[Any] | int | None = None,
        leader_actions: Iterable[Any] | int | None = None,
        follower_actions: Iterable[Any] | int | None = None,
        leader_fallback: Any = None,
        follower_fallback: Any = None,
    ) -> None:
        self._set(
            kernel,
            discount,
            start,
            states,
            {"leader action": leader_actions, "follower action": follower_actions},
            {"leader action": leader_fallback, "follower action": follower_fallback},
        )

    @classmethod
    @checked(mdp=is_a(MDP, error=InvalidGame))
    def single_agent(cls, mdp: MDP) -> TwoAgentMDP:
        """Return an MDP as the game whose leader has one action and no influence."""
        return cls(
            mdp.rational.rows.weights() if mdp.is_rational else mdp.matrix,
            mdp.exact_discount,
            np.array(mdp.exact_start, dtype=object),
            states=mdp.states,
            leader_actions=("wait",),
            follower_actions=mdp.actions,
        )

    @property
    def leader_actions(self) -> Labels:
        """The labels of the leader's actions."""
        return self._labels[1]

    @property
    def follower_actions(self) -> Labels:
        """The labels of the follower's actions."""
        return self._labels[2]

    @property
    def n_leader_actions(self) -> int:
        """The number of the leader's actions, A."""
        return self.shape[1]

    @property
    def n_follower_actions(self) -> int:
        """The number of the follower's actions, B."""
        return self.shape[2]

    def check_leader_policy(self, pi1: ArrayLike) -> Array:
        """Return a leader policy (S, A) as a checked float array, or raise `InvalidPolicy`."""
        return check_policy(pi1, self.shape[:2], name="leader policy", states=self.states)

    def check_follower_policy(self, pi2: ArrayLike) -> Array:
        """Return a follower policy (S, B) as a checked float array, or raise `InvalidPolicy`."""
        shape = (self.shape[0], self.shape[2])
        return check_policy(pi2, shape, name="follower policy", states=self.states)

    @checked(choices=MAPPING)
    def leader_policy(self, choices: Mapping[Any, Any]) -> Array:
        """Return the leader policy written as ``{state: action}``; ``"*"`` is the rest."""
        return from_labels(choices, self.states, self.leader_actions, name="leader policy")

    @checked(choices=MAPPING)
    def follower_policy(self, choices: Mapping[Any, Any]) -> Array:
        """Return the follower policy written as ``{state: action}``; ``"*"`` is the rest."""
        return from_labels(choices, self.states, self.follower_actions, name="follower policy")

    def follower_mdp(self, pi1: ArrayLike) -> MDP:
        """Return the MDP that the follower faces after the commitment `pi1` of shape (S, A).

        **Source** paper, Section 3.1: ``P_π1``. **Cost** arithmetic: one sparse product.
        """
        n_states, n_a, n_b = self.shape
        pi1 = self.check_leader_policy(pi1)
        s, a = np.nonzero(pi1)
        rows = (s[:, None] * n_b + np.arange(n_b)).ravel()
        columns = ((s * n_a + a)[:, None] * n_b + np.arange(n_b)).ravel()
        weights = sp.csr_array(
            (np.repeat(pi1[s, a], n_b), (rows, columns)),
            shape=(n_states * n_b, n_states * n_a * n_b),
        )
        shape, matrix = (n_states, n_b), weights @ self.matrix
        return _trusted(matrix, self, shape, self.follower_actions, pi1)

    def joint_mdp(self) -> MDP:
        """Return the MDP in which one planner chooses both actions; action ``a·B + b``."""
        actions = ((a, b) for a in self.leader_actions for b in self.follower_actions)
        shape = (self.n_states, self.n_choices)
        return _trusted(self.matrix, self, shape, Labels(actions, "action"), None)

    def joint_chain(self, pi1: ArrayLike, pi2: ArrayLike) -> Matrix:
        """Return ``P_{π1,π2}``, the (S, S) transition matrix under both policies."""
        pi1, pi2 = self.check_leader_policy(pi1), self.check_follower_policy(pi2)
        joint = (pi1[:, :, None] * pi2[:, None, :]).reshape(self.n_states, -1)
        return _mixed_rows(self.matrix, joint)

    def influence(self) -> tuple[float, float]:
        """Return the influences (I(A1), I(A2)) of leader and follower, each in [0, 2].

        ``I(A1) = max_{s, a, a', b} ‖P(·|s, a, b) − P(·|s, a', b)‖₁``, and likewise for the
        follower. **Source** paper, Appendix on influence. **Cost** arithmetic: one pass over the
        kernel a pair of actions.
        """
        row = np.arange(math.prod(self.shape)).reshape(self.shape)
        pairs1 = ((row[:, i, :], row[:, j, :]) for i, j in combinations(range(self.shape[1]), 2))
        pairs2 = ((row[:, :, i], row[:, :, j]) for i, j in combinations(range(self.shape[2]), 2))

        def largest(pairs: Iterable[tuple[NDArray[Any], NDArray[Any]]]) -> float:
            gaps = (abs(self.matrix[i.ravel()] - self.matrix[j.ravel()]) for i, j in pairs)
            return min(2.0, max((float(gap.sum(axis=1).max()) for gap in gaps), default=0.0))

        return largest(pairs1), largest(pairs2)

    def __repr__(self) -> str:
        sizes = f"{self.n_states} states, {self.n_leader_actions}×{self.n_follower_actions} actions"
        return f"TwoAgentMDP({sizes}, {self._sizes()})"


# What an argument `game`, or `model`, may be.
GAME: Rule = is_a(TwoAgentMDP, error=InvalidGame)
MODEL: Rule = is_a(TwoAgentMDP, MDP, error=InvalidGame)


def _names(name: str, given: Any) -> tuple[Any, ...] | int | None:
    """Return labels as a tuple, or their number."""
    if given is None:
        return None
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        return int(given)
    try:
        return LABELS(name, given)
    except InvalidArgument as problem:
        raise InvalidGame(name, problem.problem, "labels, or their number", given) from None


def _read_start(start: Any, states: Labels, rational: bool) -> dict[str, Any]:
    """Return a start distribution in floats and in exact numbers, by their names in a model."""
    if isinstance(start, Mapping):
        weights = np.zeros(len(states), dtype=object)
        for name, weight in start.items():
            weights[states.index(name)] = weight
        start = weights
    floats, exact = read_distribution(start, len(states), name="start", labels=states)
    return {"start": np.array(exact, dtype=float) if rational else floats, "exact_start": exact}


def _check_discount(discount: Any) -> Fraction:
    try:
        number = as_fraction(discount)
    except UNREADABLE:
        allowed = "a number with 0 ≤ γ < 1"
        raise InvalidGame("discount", f"is {discount!r}", allowed, discount) from None
    if number == 1:
        allowed = "0 ≤ γ < 1 (undiscounted values need not exist)"
        raise InvalidGame("discount", "is 1", allowed, discount)
    if not 0 <= number < 1:
        raise InvalidGame("discount", f"is {discount}", "0 ≤ γ < 1", discount)
    if float(number) == 1:
        raise InvalidGame("discount", "is 1 as a float", "0 ≤ γ < 1, as a float too", discount)
    return number


def _mixed_rows(matrix: Matrix, weights: Array) -> Matrix:
    """Return the (S, S) mixture of each state's rows with weights of shape (S, n)."""
    n_states, n_choices = weights.shape
    s, k = np.nonzero(weights)
    mixer = sp.csr_array(
        (weights[s, k], (s, s * n_choices + k)), shape=(n_states, n_states * n_choices)
    )
    return mixer @ matrix


def _trusted(
    matrix: Matrix, game: TwoAgentMDP, shape: tuple[int, ...], actions: Labels, pi1: Array | None
) -> MDP:
    """Return an MDP over a matrix that is known to be stochastic, without checking it again."""
    mdp = object.__new__(MDP)
    mdp.__setstate__(
        {
            "matrix": matrix,
            "shape": shape,
            "discount": game.discount,
            "start": game.start,
            "states": game.states,
            "is_rational": game.is_rational,
            "_labels": (game.states, actions),
            "exact_discount": game.exact_discount,
            "exact_start": game.exact_start,
            "_rows": None,
            "_origin": (game, pi1),
        }
    )
    return mdp
