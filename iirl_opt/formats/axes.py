"""Arrays and matrices with names of their axes, as they are given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iirl_opt.checks import TEXT, each
from iirl_opt.errors import InvalidArgument, InvalidGame
from iirl_opt.formats.choices import wide
from iirl_opt.game.kernel import is_sparse, kernel_array
from iirl_opt.game.labels import Labels

__all__ = [
    "AGENTS",
    "AXES",
    "HOUSE",
    "ArrayTable",
    "Axes",
    "check_axes",
    "in_house",
    "matrices_of",
    "read_array",
    "read_axes",
    "stacked",
]

Integers = NDArray[np.int64]
Axes = tuple[str, ...]

HOUSE = ("state", "leader", "follower", "next")
AXES = ("state", "leader", "follower", "action", "next")
AGENTS = ("leader", "follower")


class ArrayTable(NamedTuple):
    """What is given, with named axes: a dense array, or the places and numbers of its entries."""

    axes: Axes
    shape: tuple[int, ...]
    dense: Any
    places: tuple[Integers, ...] = ()
    numbers: Any = None
    keys: Mapping[str, Sequence[Any]] = {}  # of a mapping, by axis

    @property
    def sizes(self) -> dict[str, int]:
        """The length of each axis."""
        return dict(zip(self.axes, self.shape, strict=True))

    def matrix(self, known: Mapping[str, Labels]) -> Any:
        """Return what is dense as an array (S·A·B, S)."""
        return in_house(self.dense, self.axes, known).reshape(-1, len(known["next"]))

    def entries(self, known: Mapping[str, Labels]) -> tuple[Integers, Integers, Any]:
        """Return row ``(s·A + a)·B + b``, column and number of all entries that are not zero."""
        places, numbers = self.places, self.numbers
        at = {axis: i.astype(np.int64) for axis, i in zip(self.axes, places, strict=True)}
        for axis, keys in self.keys.items():
            at[axis] = np.array([known[axis].index(key) for key in keys])[at[axis]]
        n_a, n_b = (len(known[agent]) for agent in AGENTS)
        a, b = (at.get(agent, np.zeros_like(at["state"])) for agent in AGENTS)
        choice = at["action"] if "action" in at else a * n_b + b
        row = at["state"] * (n_a * n_b) + choice
        kept = np.asarray(numbers != 0, dtype=bool)
        return row[kept], at["next"][kept], numbers[kept]


def read_axes(name: str, given: str | Iterable[str]) -> Axes:
    """Return names of axes, each once, or say which there are."""
    listed = given.replace(",", " ").split() if isinstance(given, str) else given
    axes: Axes = each(TEXT)(name, listed)
    fits = all(axis in AXES for axis in axes) and len(set(axes)) == len(axes)
    if not fits or ("action" in axes and not {*AGENTS}.isdisjoint(axes)):
        allowed = "each once, of state, next, and leader, follower or action"
        raise InvalidArgument(name, f"are {' '.join(axes)!r}", allowed, given)
    return axes


def check_axes(table: ArrayTable) -> None:
    """Refuse a kernel whose axes are not those of its shape, or say which would fit."""
    sizes = table.sizes
    if "state" not in sizes or "next" not in sizes:
        said = f"are {' '.join(table.axes)!r}"
        raise InvalidArgument("axes", said, "state and next among them", table.axes)
    if 0 in table.shape:
        raise InvalidGame("P", f"has shape {table.shape}", "at least one along each axis")
    if sizes["state"] != sizes["next"]:
        i, j = (table.axes.index(name) for name in ("state", "next"))
        problem = (
            f"are {' '.join(table.axes)!r}, and P has shape {table.shape}: {sizes['state']} states "
            f"along axis {i}, {sizes['next']} next states along axis {j}"
        )
        raise InvalidArgument("axes", problem, _fitting(table.shape), table.axes)


def _fitting(shape: tuple[int, ...]) -> str:
    """Say which orders of axes an array of this shape may have."""
    actions = {2: (), 3: ("action",), 4: AGENTS}.get(len(shape))
    if actions is None:
        return "arrays of two to four axes"
    found = []
    for i, j in permutations(range(len(shape)), 2):
        if shape[i] == shape[j]:
            names = list(actions)
            for at, name in sorted([(i, "state"), (j, "next")]):
                names.insert(at, name)
            found.append(" ".join(names))
    return " or ".join(map(repr, found)) or "two axes of one length, those of state and next"


def in_house(array: Any, axes: Axes, known: Mapping[str, Labels]) -> Any:
    """Return an array in the order (S, A, B, S), of length one along the axes that it lacks."""
    array = array.transpose([axes.index(axis) for axis in AXES if axis in axes])
    there = {*axes} | ({*AGENTS} if "action" in axes else set())
    return array.reshape([len(known[axis]) if axis in there else 1 for axis in HOUSE])


def read_array(name: str, given: Any, axes: Axes | None) -> ArrayTable:
    """Return an array or matrices with names of their axes."""
    matrices = matrices_of(name, given)
    if matrices is not None:
        return stacked(name, *matrices, axes)
    array = kernel_array(given)
    if axes is None and array.ndim == 2 and array.shape[1] and not array.shape[0] % array.shape[1]:
        n_states, n = array.shape[1], array.shape[0] // array.shape[1]
        axes, shape = ("state", "action", "next"), (n_states, n, n_states)
        if not is_sparse(array):
            return ArrayTable(axes, shape, array.reshape(shape))
        coo = array.tocoo()
        places = (*np.divmod(coo.coords[0], n), coo.coords[1])
        return ArrayTable(axes, shape, None, places, wide(coo.data))
    if axes is None and array.ndim == 4:
        axes = HOUSE
    if axes is None or len(axes) != array.ndim:
        said = "are not given" if axes is None else f"are {' '.join(axes)!r}"
        problem = f"{said}, and {name} has shape {array.shape}"
        raise InvalidArgument("axes", problem, _fitting(array.shape), axes)
    if not is_sparse(array):
        return ArrayTable(axes, array.shape, array)
    coo = array.tocoo()
    return ArrayTable(axes, array.shape, None, coo.coords, wide(coo.data))


def matrices_of(name: str, given: Any) -> tuple[Axes, dict[tuple[Any, ...], Any], bool] | None:
    """Return matrices by keys and the axes of these, and whether keys are labels; None of arrays.

    A matrix is sparse, or an array of two axes that stands in a list or mapping.
    """
    if is_sparse(given):  # a dok_array is a mapping, too
        return None
    if isinstance(given, Mapping):
        if all(isinstance(part, Mapping) and not is_sparse(part) for part in given.values()):
            given = {(key, k): part for key, parts in given.items() for k, part in parts.items()}
        if not given:
            raise InvalidGame(name, "is empty", "a matrix for each action", given)
        if all(isinstance(key, tuple) and len(key) == 2 for key in given):
            return AGENTS, dict(given), True
        return ("action",), {(key,): part for key, part in given.items()}, True
    listed = isinstance(given, list | tuple) or (
        isinstance(given, np.ndarray) and given.dtype == object
    )
    if not listed or not len(given):
        return None
    if all(map(_is_matrix, given)):
        return ("action",), {(i,): part for i, part in enumerate(given)}, False
    if all(isinstance(parts, list | tuple) and parts and _is_matrix(parts[0]) for parts in given):
        each = {(i, j): part for i, parts in enumerate(given) for j, part in enumerate(parts)}
        return AGENTS, each, False
    return None


def _is_matrix(given: Any) -> bool:
    return is_sparse(given) or (isinstance(given, np.ndarray) and given.ndim == 2)


def stacked(
    name: str, outer: Axes, matrices: dict[tuple[Any, ...], Any], labelled: bool, axes: Axes | None
) -> ArrayTable:
    """Return matrices by keys as one table."""
    axes = (*outer, "state", "next") if axes is None else axes
    if len(axes) != len(outer) + 2:
        problem = f"are {' '.join(axes)!r}, for matrices by {len(outer)} keys"
        raise InvalidArgument("axes", problem, f"{len(outer) + 2} names", axes)
    keys = [list(dict.fromkeys(key[k] for key in matrices)) for k in range(len(outer))]
    index = [{key: i for i, key in enumerate(each)} for each in keys]
    places, numbers, shape = [], [], None
    for key, given in matrices.items():
        matrix = kernel_array(given)
        shape = matrix.shape if shape is None else shape
        if matrix.ndim != 2 or matrix.shape != shape:
            where = ", ".join(f"{axis}={k!r}" for axis, k in zip(axes, key, strict=False))
            expects = f"{shape}, as of the first" if len(shape) == 2 else "two axes"
            raise InvalidGame(f"{name}[{where}]", f"has shape {matrix.shape}", expects, given)
        coo = matrix.tocoo() if is_sparse(matrix) else None
        inner = np.nonzero(matrix != 0) if coo is None else coo.coords
        numbers.append(wide(matrix[inner] if coo is None else coo.data))
        at = [np.full(len(inner[0]), index[k][part]) for k, part in enumerate(key)]
        places.append(np.stack([*at, *inner]).astype(np.int64))
    sizes = (*map(len, keys), *(shape or ()))
    every = tuple(np.concatenate(places, axis=1))
    labels = dict(zip(axes, keys, strict=False)) if labelled else {}
    return ArrayTable(axes, sizes, None, every, np.concatenate(numbers), labels)
