"""Policies: row-stochastic arrays, and how to make, check, mix and split them.

A leader policy has shape (S, A), a follower policy (S, B), a joint policy (S, A, B); rows sum to
one over all axes but the first. A joint policy may be *correlated*: then no pair of policies
has it as its product, and `split` says in which state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import (
    LABELS,
    POSITIVE,
    RNG,
    TEXT,
    array_of_floats,
    checked,
    each,
    read_floats,
    whole,
)
from iirl_opt.errors import InvalidPolicy, InvalidValue, NotAProduct, UnknownLabel
from iirl_opt.exact.numbers import as_fractions
from iirl_opt.game.kernel import ROUNDED_SUMS, SUM_TOLERANCE

__all__ = [
    "as_floats",
    "check_policy",
    "deterministic_policy",
    "from_labels",
    "joint_policy",
    "mix",
    "random_deterministic_policy",
    "random_policy",
    "rational_policy",
    "split",
    "uniform_policy",
]

Array = NDArray[np.float64]


def as_floats(given: Any, name: str, error: type[InvalidValue] = InvalidPolicy) -> Array:
    """Return a fresh float array, or raise `error` for what is no array of numbers."""
    return read_floats(name, given, error)


@checked(shape=each(whole(0), 1), name=TEXT, states=LABELS)
def check_policy(
    policy: ArrayLike,
    shape: tuple[int, ...],
    *,
    name: str = "policy",
    states: Sequence[object] | None = None,
) -> Array:
    """Return a policy as a fresh float array whose rows sum to one.

    Parameters
    ----------
    policy : array of shape `shape`; entries within 1e-9 below zero are set to zero, then rows
        within 1e-9 of one are renormalised; those within rounding of one stay as they are.
    shape : (S, A), (S, B) or (S, A, B).
    name : what to call the policy in an error.
    states : labels for the error message.

    Raises
    ------
    InvalidPolicy
        Names the state and the sum, or the wrong shape.

    **Cost** arithmetic.

    Examples
    --------
    >>> check_policy([[1, 0], [0.25, 0.75]], (2, 2))
    array([[1.  , 0.  ],
           [0.25, 0.75]])
    >>> check_policy([[1, 0], [0.5, 0.25]], (2, 2), states=["hall", "goal"])
    Traceback (most recent call last):
        ...
    iirl_opt.errors.InvalidPolicy: policy[s='goal'] sums to 0.75; allowed 1 ± 1e-09
    """
    array = as_floats(policy, name)
    if array.shape != shape:
        raise InvalidPolicy(name, f"has shape {array.shape}", f"{shape}", array.shape)
    rows = array.reshape(shape[0], -1)

    def place(s: int) -> str:
        return f"{name}[s={s if states is None else states[s]!r}]"

    wrong = ~np.isfinite(rows).all(axis=1) | (rows < -SUM_TOLERANCE).any(axis=1)
    if wrong.any():
        s = int(np.argmax(wrong))
        worst = rows[s][~np.isfinite(rows[s]) | (rows[s] < -SUM_TOLERANCE)][0]
        raise InvalidPolicy(place(s), f"has an entry {worst:g}", "0 ≤ p ≤ 1", float(worst))
    rows = np.maximum(rows, 0.0)
    sums = rows.sum(axis=1)
    off = np.abs(sums - 1.0) > SUM_TOLERANCE
    if off.any():
        s = int(np.argmax(off))
        allowed = f"1 ± {SUM_TOLERANCE:g}"
        if abs(sums[s] - 1.0) <= ROUNDED_SUMS:
            allowed += " (of float32: policy.astype(float), then its rows divided by their sums)"
        raise InvalidPolicy(place(s), f"sums to {sums[s]:.12g}", allowed, float(sums[s]))
    sums[np.abs(sums - 1.0) <= np.finfo(float).eps * rows.shape[1]] = 1.0
    checked: Array = (rows / sums[:, None]).reshape(shape)
    return checked


def POLICY(name: str, value: Any) -> Any:
    """Return a policy, or a pair of them, as given, if it holds finite numbers."""
    for part in value if isinstance(value, tuple) and len(value) == 2 else (value,):
        _NUMBERS(name, part)
    return value


_NUMBERS = array_of_floats(error=InvalidPolicy)


def rational_policy(policy: ArrayLike) -> NDArray[Any]:
    """Return a checked policy (S, …) as Fractions, each over the exact sum of its row."""
    rows = as_fractions(policy)
    return np.asarray(rows / rows.sum(axis=tuple(range(1, rows.ndim)), keepdims=True))


@checked(n_actions=whole(1))
def deterministic_policy(actions: ArrayLike, n_actions: int) -> Array:
    """Return the policy that plays ``actions[s]`` in state s.

    Parameters
    ----------
    actions : integers of shape (S,), each in ``0 … n_actions - 1``.

    **Cost** arithmetic.

    Examples
    --------
    >>> deterministic_policy([1, 0], 2)
    array([[0., 1.],
           [1., 0.]])
    """
    chosen = np.asarray(actions)
    if chosen.ndim != 1 or not np.issubdtype(chosen.dtype, np.integer):
        raise InvalidPolicy(
            "actions",
            f"have shape {chosen.shape} and type {chosen.dtype}",
            "integers of shape (S,)",
            actions,
        )
    outside = (chosen < 0) | (chosen >= n_actions)
    if outside.any():
        s = int(np.argmax(outside))
        raise InvalidPolicy(f"actions[s={s}]", f"is {chosen[s]}", f"0 … {n_actions - 1}", chosen[s])
    policy = np.zeros((chosen.size, n_actions))
    policy[np.arange(chosen.size), chosen] = 1.0
    return policy


@checked(n_states=whole(1), n_actions=whole(1))
def uniform_policy(n_states: int, n_actions: int) -> Array:
    """Return the policy that plays every action with the same probability.

    **Cost** arithmetic.

    Examples
    --------
    >>> uniform_policy(2, 4)
    array([[0.25, 0.25, 0.25, 0.25],
           [0.25, 0.25, 0.25, 0.25]])
    """
    return np.full((n_states, n_actions), 1.0 / n_actions)


@checked(n_states=whole(1), n_actions=whole(1), rng=RNG)
def random_policy(n_states: int, n_actions: int, rng: int | np.random.Generator | None) -> Array:
    """Draw a stochastic policy, each row uniform on the simplex.

    **Cost** arithmetic: S·A draws.

    Examples
    --------
    >>> policy = random_policy(3, 2, rng=0)
    >>> policy.shape, policy.sum(axis=1).round(12)
    ((3, 2), array([1., 1., 1.]))
    """
    return np.random.default_rng(rng).dirichlet(np.ones(n_actions), size=n_states)


@checked(n_states=whole(1), n_actions=whole(1), rng=RNG)
def random_deterministic_policy(
    n_states: int, n_actions: int, rng: int | np.random.Generator | None
) -> Array:
    """Draw a deterministic policy, uniform over all of them.

    **Cost** arithmetic: S draws.

    Examples
    --------
    >>> random_deterministic_policy(3, 2, rng=0)
    array([[0., 1.],
           [0., 1.],
           [0., 1.]])
    """
    chosen = np.random.default_rng(rng).integers(n_actions, size=n_states)
    return deterministic_policy(chosen, n_actions)


@checked(pi1=array_of_floats(2, error=InvalidPolicy), pi2=array_of_floats(2, error=InvalidPolicy))
def joint_policy(pi1: ArrayLike, pi2: ArrayLike) -> Array:
    """Return the product policy ``pi1[s, a] * pi2[s, b]`` of shape (S, A, B).

    **Cost** arithmetic: S·A·B products.

    Examples
    --------
    >>> joint_policy([[0.5, 0.5]], [[0.25, 0.75]])
    array([[[0.125, 0.375],
            [0.125, 0.375]]])
    """
    left, right = np.asarray(pi1, dtype=float), np.asarray(pi2, dtype=float)
    if len(left) != len(right):
        raise InvalidPolicy("pi2", f"has {len(right)} rows", f"{len(left)}, as pi1", right.shape)
    product: Array = left[:, :, None] * right[:, None, :]
    return product


@checked(policies=each(array_of_floats(error=InvalidPolicy)))
def mix(policies: Sequence[ArrayLike], weights: ArrayLike) -> Array:
    """Return the state by state mixture of policies of one shape.

    The mixture plays policy i with probability ``weights[i]``, drawn anew at every step (it is
    not the mixture of whole runs, whose occupancy differs).

    **Cost** arithmetic, linear in the entries of the policies.

    Examples
    --------
    >>> mix([[[1, 0], [0, 1]], [[1, 0], [1, 0]]], [0.25, 0.75])
    array([[1.  , 0.  ],
           [0.75, 0.25]])
    """
    row = np.atleast_2d(as_floats(weights, "weights"))
    w = check_policy(row, (1, len(policies)), name="weights")[0]
    parts = [as_floats(policy, f"policies[{i}]") for i, policy in enumerate(policies)]
    for i, part in enumerate(parts):
        if part.shape != parts[0].shape:
            raise InvalidPolicy(
                f"policies[{i}]", f"has shape {part.shape}", f"{parts[0].shape}", part.shape
            )
    return np.tensordot(w, np.stack(parts), axes=1)


@checked(tolerance=POSITIVE, states=LABELS)
def split(
    joint: ArrayLike, *, tolerance: float = 1e-9, states: Sequence[object] | None = None
) -> tuple[Array, Array]:
    """Return (pi1, pi2) whose product is a joint policy of shape (S, A, B).

    Parameters
    ----------
    tolerance : by how much an entry, a probability, may differ from the product.

    Raises
    ------
    InvalidPolicy
        It is no policy.
    NotAProduct
        It is correlated: names the state and by how much an entry differs from the product of the
        marginals.

    **Cost** arithmetic, linear in the S·A·B entries.

    Examples
    --------
    >>> split([[[0.125, 0.375], [0.125, 0.375]]])
    (array([[0.5, 0.5]]), array([[0.25, 0.75]]))
    """
    array = as_floats(joint, "joint policy")
    if array.ndim != 3:
        raise InvalidPolicy("joint policy", f"has shape {array.shape}", "(S, A, B)", array.shape)
    array = check_policy(array, array.shape, name="joint policy", states=states)
    pi1, pi2 = array.sum(axis=2), array.sum(axis=1)
    gap = np.abs(array - joint_policy(pi1, pi2)).max(axis=(1, 2))
    s = int(np.argmax(gap))
    if gap[s] > tolerance:
        raise NotAProduct(
            f"joint policy[s={s if states is None else states[s]!r}]",
            f"differs from the product of its marginals by {gap[s]:.3g}",
            f"at most {tolerance:g} (a correlated policy is no pair of policies)",
            float(gap[s]),
        )
    return pi1, pi2


def from_labels(
    choices: Mapping[Any, Any], states: Sequence[Any], actions: Sequence[Any], *, name: str
) -> Array:
    """Return the policy written as ``{state: action}`` or ``{state: {action: probability}}``.

    The key ``"*"`` speaks for all states that are not named.

    Raises
    ------
    UnknownLabel, InvalidPolicy
        A label the game lacks; a state without an action; a row that does not sum to one, or holds
        what is no number.

    Examples
    --------
    >>> from_labels({"hall": "open", "*": "shut"}, ("hall", "yard"), ("open", "shut"), name="pi1")
    array([[1., 0.],
           [0., 1.]])
    """
    row_of = {label: s for s, label in enumerate(states)}
    column_of = {label: a for a, label in enumerate(actions)}

    def row(state: Any, entry: Any) -> Array:
        weights = entry.items() if isinstance(entry, Mapping) else [(entry, 1.0)]
        out = np.zeros(len(actions))
        for action, weight in weights:
            try:
                out[column_of[action]] = float(weight)
            except KeyError:
                raise UnknownLabel("action", action, tuple(actions)) from None
            except (TypeError, ValueError):
                place = f"{name}[s={state!r}]"
                raise InvalidPolicy(
                    place, f"is {entry!r}", "an action, or probabilities of actions", entry
                ) from None
        return out

    policy = np.zeros((len(states), len(actions)))
    if "*" in choices and "*" not in row_of:
        policy[:] = row("*", choices["*"])
    for state, entry in choices.items():
        if state in row_of:
            policy[row_of[state]] = row(state, entry)
        elif state != "*":
            raise UnknownLabel("state", state, tuple(states))
    return check_policy(policy, policy.shape, name=name, states=states)
