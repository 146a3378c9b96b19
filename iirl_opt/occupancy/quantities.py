"""Quantities of a joint play: what is expected of a measure, as numbers, and as cvxpy expressions.

A quantity is a number for each state (S,), or for each joint choice (S, A, B); what is expected of
it is linear in the measure. Several at once are a stack, (k, S) or (k, S, A, B), a list, or a
mapping from names; what is expected of them is a vector, or a mapping from the same names.

A quantity may also be a `cvxpy.Parameter`, or what is affine in parameters, of shape (S,), or
(S, A·B) as joint rewards are in cvxpy: then a program is compiled once, and solved for many values
(its products of parameters and variables follow cvxpy's rules for that, DPP).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, overload

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import FINITE, TEXT, read_floats, refuse
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.reward import check_reward
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable
from iirl_opt.solver.rules import EXPRESSION, check_values, without_variables

__all__ = [
    "MeasuredPlay",
    "Quantities",
    "Quantity",
    "budget",
    "composed",
    "expected_of",
    "flat",
    "in_numbers",
    "value_of",
]

Array = NDArray[np.float64]

# One quantity, or a stack; several of them.
Quantity: TypeAlias = ArrayLike | cp.Expression
Quantities: TypeAlias = Mapping[str, Quantity] | Sequence[Quantity] | Quantity


class MeasuredPlay(Tabular, ABC):
    """A model in whose variables every expected quantity of the joint play is linear."""

    constraints: Any

    def table(self) -> FactTable:
        """Return a row a part: the variables of the model, and its constraints by name.

        **Cost** that of building the constraints.
        """
        parts = list(self.constraints)
        variables = {x.id: x for row in parts for x in row.variables()}
        rows = [_part("variable", x.name(), x) for x in variables.values()]
        rows += [_part(type(row).__name__.lower(), row.label or "", row) for row in parts]
        return FactTable(rows, type(self).__name__)

    @property
    @abstractmethod
    def _measured(self) -> tuple[TwoAgentMDP, cp.Expression]:
        """The game, and the occupancy measure (S·A·B,) of the joint play."""

    @overload
    def expected(self, quantity: Mapping[str, Quantity]) -> dict[str, cp.Expression]: ...

    @overload
    def expected(self, quantity: Quantity | Sequence[Quantity]) -> cp.Expression: ...

    def expected(self, quantity: Quantities) -> Any:
        """Return the expected discounted sum of a quantity as an expression.

        Parameters
        ----------
        quantity : (S,) or (S, A, B): a scalar. Several, as a stack (k, S) or (k, S, A, B), or a
            list: a vector (k,). A mapping: a mapping with the same keys. Each may be a
            `cvxpy.Parameter`, or affine in parameters, of shape (S,) or (S, A·B).

        Raises
        ------
        InvalidReward, InvalidArgument
            What is no quantity of the game, or holds a cvxpy variable: names which.

        Examples
        --------
        >>> import iirl_opt as iirl
        >>> game, reward = iirl.random_game(3, 2, 2, rng=0)
        >>> measure = iirl.OccupancyMeasure(game)
        >>> measure.expected([[1, 0, 0], [0, 1, 0]]).shape
        (2,)
        >>> caps = iirl.budget(measure.expected({"fuel": [1, 0, 0], "noise": [0, 1, 0]}), 5.0)
        >>> sorted(measure.maximise(reward, subject_to=caps).price)
        ['fuel', 'noise']
        """
        return expected_of(*self._measured, quantity)


def _part(kind: str, name: str, part: Any) -> dict[str, Any]:
    return {"part": kind, "name": name, "shape": "×".join(map(str, part.shape)), "size": part.size}


def flat(game: TwoAgentMDP, quantity: ArrayLike, name: str = "quantity") -> Array:
    """Return one quantity in numbers for each joint choice, (S·A·B,).

    Raises
    ------
    InvalidReward
        It has another shape, is not finite, or is a cvxpy expression.
    """
    q = in_numbers(game, quantity, name)
    return np.repeat(q, game.n_choices) if q.ndim == 1 else q.ravel()


def in_numbers(game: TwoAgentMDP, quantity: ArrayLike, name: str = "reward") -> Array:
    """Return one quantity as an array (S,) or (S, A, B), where parameters are none: in what solves.

    Raises
    ------
    InvalidReward
        It has another shape, is not finite, or is a cvxpy expression.
    """
    if isinstance(quantity, cp.Expression):
        allowed = "numbers: what solves takes no parameters, `problem` and `expected` do"
        raise refuse(name, quantity, allowed, InvalidReward)
    return check_reward(game, quantity, name)


def value_of(game: TwoAgentMDP, quantity: Quantity, name: str = "reward") -> Array:
    """Return one quantity as an array (S,) or (S, A, B), of parameters at their values.

    Raises
    ------
    InvalidReward, InvalidArgument
        It is none; a parameter has no value.
    """
    if not isinstance(quantity, cp.Expression):
        return check_reward(game, quantity, name)
    _flat_expression(game, quantity, name)
    check_values(quantity.parameters(), name)
    shape = (game.n_states,) if quantity.ndim == 1 else game.shape
    return check_reward(game, np.reshape(quantity.value, shape), name)


def composed(game: TwoAgentMDP, quantity: Quantity, name: str = "reward") -> Array | cp.Expression:
    """Return one quantity, checked: an array, or an expression in parameters as it is."""
    if not isinstance(quantity, cp.Expression):
        return check_reward(game, quantity, name)
    _flat_expression(game, quantity, name)
    return quantity


def expected_of(game: TwoAgentMDP, measure: Any, quantities: Any, name: str = "quantity") -> Any:
    """Return what is expected under a measure (S·A·B,), an expression or numbers.

    Returns
    -------
    scalar of one quantity, vector (k,) of a stack or a list, mapping of a mapping.
    """
    if isinstance(quantities, Mapping):
        return {
            key: expected_of(game, measure, q, f"{name}[{key!r}]") for key, q in quantities.items()
        }
    numbers = isinstance(measure, np.ndarray)
    stack = _stack(quantities)
    if stack is not None and not any(isinstance(q, cp.Expression) for q in stack):
        return np.array([flat(game, q, f"{name}[{i}]") for i, q in enumerate(stack)]) @ measure
    if stack is not None:
        parts = [expected_of(game, measure, q, f"{name}[{i}]") for i, q in enumerate(stack)]
        return np.array(parts) if numbers else cp.hstack(parts)
    if numbers:
        return float(flat(game, value_of(game, quantities, name)) @ measure)
    if not isinstance(quantities, cp.Expression):
        return flat(game, quantities, name) @ measure
    row = _flat_expression(game, quantities, name)
    if quantities.ndim > 1:
        return row @ measure
    own = sp.kron(sp.eye_array(game.n_states), np.ones((1, game.n_choices)), format="csr")
    return row @ (own @ measure)


@overload
def budget(
    expected: cp.Expression, limit: float | ArrayLike | cp.Expression, *, name: str
) -> Any: ...


@overload
def budget(
    expected: Mapping[str, cp.Expression],
    limit: float | Mapping[str, float | cp.Expression],
    *,
    name: str | None = None,
) -> list[cp.Constraint]: ...


def budget(
    expected: cp.Expression | Mapping[str, cp.Expression],
    limit: float | ArrayLike | cp.Expression | Mapping[str, float | cp.Expression],
    *,
    name: str | None = None,
) -> Any:
    """Return the constraint that an expected quantity of the joint measure is at most `limit`.

    It is shared: both agents respect it. Its price is found under `name`. Of several quantities
    it is a list with a constraint for each, which may stand in ``subject_to`` as it is: those of a
    vector are called ``name[0]``, ``name[1]``, …, those of a mapping by its keys (``name[key]``,
    if a name is given).

    Parameters
    ----------
    expected : what `OccupancyMeasure.expected` returns: an expression, scalar or vector (k,), or a
        mapping of scalars.
    limit : a number for all, or one for each: (k,), or a mapping with the same keys. A number may
        be a `cvxpy.Parameter`.
    name : the label; required, but of a mapping.

    Raises
    ------
    InvalidArgument
        Limits that are not finite, or not those of the quantities; no name.

    **Cost** a constraint of cvxpy for each limit; nothing is solved.

    Examples
    --------
    >>> from iirl_opt import OccupancyMeasure, TwoAgentMDP
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], discount=0.5, start=[1, 0])
    >>> measure = OccupancyMeasure(game)
    >>> cap = budget(measure.expected([0.0, 1.0]), 0.5, name="visits")
    >>> found = measure.maximise([0.0, 1.0], subject_to=[cap])
    >>> round(found.value, 6), round(float(found.price["visits"]), 6)
    (0.5, 1.0)
    """
    if isinstance(expected, Mapping):
        limits = limit if isinstance(limit, Mapping) else dict.fromkeys(expected, limit)
        if set(limits) != set(expected):
            found = f"is for {', '.join(map(repr, limits))}"
            raise InvalidArgument("limit", found, ", ".join(map(repr, expected)), limit)
        labels = {
            key: str(key) if name is None else f"{TEXT('name', name)}[{key}]" for key in expected
        }
        return [
            row
            for key, e in expected.items()
            for row in _rows(
                EXPRESSION(f"expected[{key!r}]", e), limits[key], f"[{key!r}]", labels[key]
            )
        ]
    # What is wrong with the limits is said before that there is no name.
    rows = _rows(EXPRESSION("expected", expected), limit, "", name if isinstance(name, str) else "")
    TEXT("name", name)
    return rows if expected.ndim else rows[0]


def _rows(e: cp.Expression, limit: Any, at: str, label: str) -> list[cp.Constraint]:
    """Return the rows of one budget, scalar or vector; `at` is its place among several."""
    if not e.ndim:
        return [_row(e, limit, f"limit{at}", label)]
    if e.ndim > 1:
        raise InvalidArgument(f"expected{at}", f"has shape {e.shape}", "() or (k,)", e)
    given = limit if isinstance(limit, cp.Expression) else read_floats(f"limit{at}", limit)
    if given.shape not in ((), e.shape):
        raise InvalidArgument(f"limit{at}", f"has shape {given.shape}", f"() or {e.shape}", limit)
    each = [given[i] if given.ndim else given for i in range(e.size)]
    return [_row(e[i], x, f"limit{at}[{i}]", f"{label}[{i}]") for i, x in enumerate(each)]


def _row(expected: cp.Expression, limit: Any, place: str, label: str) -> cp.Constraint:
    """Return one row of a budget."""
    if not isinstance(limit, cp.Expression):
        single = isinstance(limit, np.ndarray | np.generic) and limit.ndim == 0
        limit = FINITE(place, limit.item() if single else limit)
    elif without_variables(place, limit).size > 1:
        raise InvalidArgument(place, f"has shape {limit.shape}", "a scalar", limit)
    return (expected <= limit).set_label(label)


def _stack(quantities: Any) -> list[Any] | None:
    """Return the members of several quantities, or None of what is one, or nothing of the kind."""
    if isinstance(quantities, list | tuple):
        if any(isinstance(q, cp.Expression) for q in quantities):
            return list(quantities)
        try:
            dimensions = {np.ndim(q) for q in quantities}
        except ValueError:
            return None
        if len(dimensions) > 1 and dimensions <= {1, 3}:
            return list(quantities)
    try:
        several = np.ndim(quantities) in (2, 4) and len(quantities) > 0
    except (TypeError, ValueError):
        return None
    return list(quantities) if several else None


def _flat_expression(game: TwoAgentMDP, quantity: cp.Expression, name: str) -> cp.Expression:
    """Return an expression without variables as a vector, (S,) or (S·A·B,)."""
    shapes = ((game.n_states,), (game.n_states, game.n_choices))
    if quantity.shape not in shapes:
        allowed = " or ".join(map(str, shapes))
        raise InvalidReward(name, f"has shape {quantity.shape}", allowed, quantity.shape)
    if without_variables(name, quantity).is_complex():
        raise refuse(name, quantity, "real numbers or parameters", InvalidReward)
    return quantity if quantity.ndim == 1 else cp.vec(quantity, order="C")
