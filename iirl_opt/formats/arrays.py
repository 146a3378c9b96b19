"""Arrays in any order of axes: dense, or one matrix for each action.

Every package has an order of its own. With S states and A actions of a single agent, P is

==================================  ============================================================
pymdptoolbox, matrices an action    (A, S, S): ``axes="action state next"``
QuantEcon, tables of Gymnasium      (S, A, S): ``axes="state action next"``
column-stochastic matrices          (A, S, S): ``axes="action next state"``
this library, two agents            (S, A, B, S): ``axes="state leader follower next"``
==================================  ============================================================

Shapes alone cannot tell them apart where numbers agree, so axes are named. An *action* is one of
the single agent; or, if the actions of both are said, a pair: action ``a·B + b``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.checks import FLAG, MAPPING, TEXT, checked, each, read_floats
from iirl_opt.errors import InvalidArgument, InvalidGame, InvalidReward
from iirl_opt.formats.choices import (
    AGENT,
    UNAVAILABLE,
    Agent,
    Names,
    Unavailable,
    absorb,
    expected,
    kernel_of_entries,
    name_actions,
    read_names,
    stand_ins,
)
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.game.kernel import is_sparse, kernel_array
from iirl_opt.game.labels import Labels
from iirl_opt.game.mdp import TwoAgentMDP

__all__ = ["from_arrays"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
Axes = tuple[str, ...]

HOUSE = ("state", "leader", "follower", "next")
AXES = ("state", "leader", "follower", "action", "next")
AGENTS = ("leader", "follower")


class _Table(NamedTuple):
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

    def entries(self, known: Mapping[str, Labels]) -> tuple[Integers, Integers, Any]:
        """Return row ``(s·A + a)·B + b``, column and number of all entries that are not zero."""
        places, numbers = self.places, self.numbers
        if self.dense is not None:
            places = tuple(np.nonzero(self.dense != 0))
            numbers = self.dense[places]
        at = {axis: i.astype(np.int64) for axis, i in zip(self.axes, places, strict=True)}
        for axis, keys in self.keys.items():
            at[axis] = np.array([known[axis].index(key) for key in keys])[at[axis]]
        n_a, n_b = (len(known[agent]) for agent in AGENTS)
        a, b = (at.get(agent, np.zeros_like(at["state"])) for agent in AGENTS)
        choice = at["action"] if "action" in at else a * n_b + b
        row = at["state"] * (n_a * n_b) + choice
        kept = np.asarray(numbers != 0, dtype=bool)
        return row[kept], at["next"][kept], numbers[kept]


@checked(rewards=MAPPING, agent=AGENT, unavailable=UNAVAILABLE, absorbing=FLAG, normalise=FLAG)
def from_arrays(
    kernel: Any,
    discount: Any,
    reward: Any = None,
    *,
    axes: str | Iterable[str] | None = None,
    rewards: Mapping[str, Any] | None = None,
    reward_axes: str | Iterable[str] | None = None,
    start: Any = None,
    states: Names = None,
    leader_actions: Names = None,
    follower_actions: Names = None,
    agent: Agent = "follower",
    available: Any = None,
    unavailable: Unavailable = "repeat",
    absorbing: bool = False,
    normalise: bool = False,
) -> ImportedGame:
    """Return the game of arrays whose axes are named.

    Parameters
    ----------
    kernel : a dense array; or matrices, dense or of any scipy sparse form: a list with one for each
        action, a list of such lists (``kernel[a][b]``), ``{action: matrix}`` or
        ``{(leader, follower): matrix}``, whose keys are the labels. In floats, integer weights a
        row, or Fractions. A row of zeros is a choice that its state lacks.
    discount, start, states, normalise : as in `TwoAgentMDP`.
    reward : state rewards (S,), rewards of choices, or of transitions, which are averaged; −inf
        marks a choice that is not available. Its name in the result is "reward".
    axes : the names of the kernel's axes in their order: "state" and "next", "leader" and
        "follower" or "action"; as a list, or as a text such as ``"action state next"``. Matrices
        have rows of states and columns of next states if nothing is said, and an array of four
        axes is (state, leader, follower, next).
    rewards : rewards by name, in place of `reward`.
    reward_axes : the axes of rewards, some of those. By default ``("state",)``, or (state, choice)
        in this order, whatever the kernel's; an array with as many axes as the kernel has its axes.
    leader_actions, follower_actions : labels, or their number; of an axis "action" these say whose
        the actions are, by default those of `agent`, while the other has the one action "-".
    available : (S, A, B) of bool, or (S, actions): which choices the source has.
    unavailable : whether a choice that a state lacks repeats one that it has, or is refused.
    absorbing : whether a state without any choice stays where it is; otherwise it is an error.

    Raises
    ------
    InvalidArgument
        The axes are no axes, or not of this array: says what would fit.
    InvalidGame, InvalidReward, UnknownLabel

    **Cost** arithmetic, linear in the entries.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> stay, move = sp.eye_array(2), sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    >>> found = from_arrays([stay, move], "9/10", [[0, 0], [1, 0]])
    >>> found.game
    TwoAgentMDP(2 states, 1×2 actions, discount=0.9, 4 transitions, float)
    >>> found.reward()[1, 0]
    array([1., 0.])
    >>> from_arrays({("open", "go"): move, ("shut", "go"): stay}, "9/10").game.leader_actions
    ('open', 'shut')
    """
    if reward is not None and rewards is not None:
        raise InvalidArgument("rewards", "are given beside reward", "one of the two", rewards)
    table = _read("P", kernel, None if axes is None else _read_axes("axes", axes))
    _check_axes(table)
    names = _names(table, states, {"leader": leader_actions, "follower": follower_actions}, agent)
    known = dict(zip(("state", *AGENTS), names, strict=True))
    known |= {"next": names[0], "action": _choice_labels(table, names, agent)}
    shape = (len(names[0]), len(names[1]), len(names[2]))
    row, column, numbers = table.entries(known)
    given = dict(rewards or {}) if reward is None else {"reward": reward}
    order = None if reward_axes is None else _read_axes("reward_axes", reward_axes)
    worth = {name: _read_reward(name, r, order, table.axes, known) for name, r in given.items()}
    offered = _offered(available, row, shape, worth.values())
    ending = np.empty(0, dtype=np.int64)
    if absorbing:
        row, column, numbers, ending = absorb(row, column, numbers, offered)
    rows = stand_ins(offered, names, unavailable)
    game = TwoAgentMDP(
        kernel_of_entries(row, column, numbers, (offered.size, shape[0]), rows),
        discount,
        start,
        states=names[0],
        leader_actions=names[1],
        follower_actions=names[2],
        normalise=normalise,
    )
    found = {name: _of_choices(game, r, rows, ending) for name, r in worth.items()}
    every = bool(offered.all())
    return ImportedGame(game, found, available=None if every else offered, source="arrays")


# Axes


def _read_axes(name: str, given: str | Iterable[str]) -> Axes:
    """Return names of axes, each once, or say which there are."""
    listed = given.replace(",", " ").split() if isinstance(given, str) else given
    axes: Axes = each(TEXT)(name, listed)
    fits = all(axis in AXES for axis in axes) and len(set(axes)) == len(axes)
    if not fits or ("action" in axes and not {*AGENTS}.isdisjoint(axes)):
        allowed = "each once, of state, next, and leader, follower or action"
        raise InvalidArgument(name, f"are {' '.join(axes)!r}", allowed, given)
    return axes


def _check_axes(table: _Table) -> None:
    """Refuse a kernel whose axes are not those of its shape, or say which would fit."""
    sizes = table.sizes
    if "state" not in sizes or "next" not in sizes:
        said = f"are {' '.join(table.axes)!r}"
        raise InvalidArgument("axes", said, "state and next among them", table.axes)
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


def _names(
    table: _Table, states: Names, said: dict[str, Names], agent: Agent
) -> tuple[Labels, Labels, Labels]:
    """Return the labels of states and actions: as they are said, else the keys of a mapping."""
    sizes, keys = table.sizes, table.keys
    if "action" in sizes:
        if "action" in keys and said == {"leader": None, "follower": None}:
            said = {**said, agent: keys["action"]}
        actions = name_actions(sizes["action"], said["leader"], said["follower"], agent)
    else:
        leaders, followers = (
            read_names(f"{name} action", said[name], sizes.get(name, 1), keys.get(name))
            for name in AGENTS
        )
        actions = leaders, followers
    return read_names("state", states, sizes["state"], keys.get("state")), *actions


def _choice_labels(table: _Table, names: tuple[Labels, Labels, Labels], agent: Agent) -> Labels:
    """Return what an axis of actions is called: as by the single agent, by keys, or 0, 1, …"""
    n_a, n_b = map(len, names[1:])
    if 1 in (n_a, n_b):
        mover = AGENTS.index(agent) if n_a == n_b else int(n_a == 1)
        return names[1 + mover]
    return Labels(table.keys.get("action", range(n_a * n_b)), "action")


# What is given


def _read(name: str, given: Any, axes: Axes | None) -> _Table:
    """Return an array or matrices with names of their axes."""
    matrices = _matrices(name, given)
    if matrices is not None:
        return _stacked(name, *matrices, axes)
    array = kernel_array(given)
    if axes is None and array.ndim == 2 and array.shape[1] and not array.shape[0] % array.shape[1]:
        n_states, n = array.shape[1], array.shape[0] // array.shape[1]
        axes, shape = ("state", "action", "next"), (n_states, n, n_states)
        if not is_sparse(array):
            return _Table(axes, shape, array.reshape(shape))
        coo = array.tocoo()
        return _Table(axes, shape, None, (*np.divmod(coo.coords[0], n), coo.coords[1]), coo.data)
    if axes is None and array.ndim == 4:
        axes = HOUSE
    if axes is None or len(axes) != array.ndim:
        said = "are not given" if axes is None else f"are {' '.join(axes)!r}"
        problem = f"{said}, and {name} has shape {array.shape}"
        raise InvalidArgument("axes", problem, _fitting(array.shape), axes)
    if not is_sparse(array):
        return _Table(axes, array.shape, array)
    coo = array.tocoo()
    return _Table(axes, array.shape, None, coo.coords, _wide(coo.data))


def _matrices(name: str, given: Any) -> tuple[Axes, dict[tuple[Any, ...], Any], bool] | None:
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


def _stacked(
    name: str, outer: Axes, matrices: dict[tuple[Any, ...], Any], labelled: bool, axes: Axes | None
) -> _Table:
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
        numbers.append(matrix[inner] if coo is None else _wide(coo.data))
        at = [np.full(len(inner[0]), index[k][part]) for k, part in enumerate(key)]
        places.append(np.stack([*at, *inner]).astype(np.int64))
    sizes = (*map(len, keys), *(shape or ()))
    every = tuple(np.concatenate(places, axis=1))
    labels = dict(zip(axes, keys, strict=False)) if labelled else {}
    return _Table(axes, sizes, None, every, np.concatenate(numbers), labels)


def _wide(numbers: Any) -> Any:
    """Return numbers in a type that scipy keeps matrices of."""
    return numbers.astype({"f": np.float64, "b": np.int64}.get(numbers.dtype.kind, numbers.dtype))


def _offered(
    available: Any, row: Integers, shape: tuple[int, int, int], rewards: Iterable[Any]
) -> Booleans:
    """Return which choices the source has, (S, A, B)."""
    if available is None:
        offered = np.bincount(row, minlength=int(np.prod(shape))).astype(bool)
    else:
        offered = np.array(available)
        flat = (shape[0], shape[1] * shape[2])
        if offered.dtype != np.bool_ or offered.shape not in (shape, flat):
            found = f"has shape {offered.shape} and type {offered.dtype}"
            raise InvalidGame("available", found, f"bool of shape {shape} or {flat}")
    offered = offered.reshape(shape)
    for r in rewards:
        if r.ndim == 3:
            offered &= r != -np.inf
    return offered


# Rewards


def _read_reward(
    name: str, given: Any, axes: Axes | None, kernel_axes: Axes, known: Mapping[str, Labels]
) -> Any:
    """Return a reward (S,), (S, A, B), or of transitions: dense (S, A, B, S), or sparse."""
    matrices = _matrices(name, given)
    if matrices is not None:
        return _sparse_reward(name, _stacked(name, *matrices, axes), known)
    array: Any = given if is_sparse(given) else read_floats(name, given, InvalidReward)
    if axes is None:
        choice = tuple(axis for axis in AXES if axis in kernel_axes and axis != "next")
        axes = {len(choice): choice, len(kernel_axes): kernel_axes, 1: ("state",)}.get(array.ndim)
    if axes is None or len(axes) != array.ndim:
        said = "are not given" if axes is None else f"are {' '.join(axes)!r}"
        problem = f"{said}, and {name} has shape {array.shape}"
        raise InvalidArgument("reward_axes", problem, "a name for each of its axes", axes)
    if is_sparse(array) and {"state", "next"} <= {*axes}:
        coo = array.tocoo()
        table = _Table(axes, array.shape, None, coo.coords, _wide(coo.data))
        return _sparse_reward(name, table, known)
    return _dense_reward(name, array.toarray() if is_sparse(array) else array, axes, known)


def _check_lengths(name: str, table: _Table, known: Mapping[str, Labels]) -> None:
    for i, (axis, n) in enumerate(table.sizes.items()):
        if axis not in table.keys and n != len(known[axis]):
            problem = f"has shape {table.shape}, {n} along axis {i}, {axis!r}"
            raise InvalidReward(name, problem, f"{len(known[axis])}, as in P", table.shape)


def _sparse_reward(name: str, table: _Table, known: Mapping[str, Labels]) -> Any:
    """Return a reward of transitions as a sparse matrix (S·A·B, S)."""
    _check_lengths(name, table, known)
    row, column, numbers = table.entries(known)
    n_states, n = len(known["state"]), len(known["leader"]) * len(known["follower"])
    places = np.arange(n_states * n).reshape(n_states, len(known["leader"]), -1)
    # What has no axis of an agent's is the same for all of its actions: the first is written.
    if "action" not in table.axes:
        places = places[:, :, :1] + 0 * places if "follower" not in table.axes else places
        places = places[:, :1] + 0 * places if "leader" not in table.axes else places
    matrix = sp.csr_array((numbers.astype(float), (row, column)), shape=(n_states * n, n_states))
    return matrix[places.ravel()]


def _dense_reward(name: str, array: Array, axes: Axes, known: Mapping[str, Labels]) -> Array:
    """Return a reward of states as it is, any other as (S, A, B), or (S, A, B, S)."""
    _check_lengths(name, _Table(axes, array.shape, array), known)
    if axes == ("state",):
        return array
    order = [axis for axis in AXES if axis in axes]
    array = array.transpose([axes.index(axis) for axis in order])
    there = {*axes} | ({*AGENTS} if "action" in axes else set())
    sizes = [len(known[axis]) if axis in there else 1 for axis in HOUSE]
    whole = [*(len(known[axis]) for axis in HOUSE[:3]), sizes[3]]
    array = np.broadcast_to(array.reshape(sizes), whole)
    return array if "next" in axes else array[..., 0]


def _of_choices(game: TwoAgentMDP, given: Any, rows: Integers, ending: Integers) -> Array:
    """Return a reward of states as it is, any other as (S, A, B), that of stand-ins too."""
    if given.ndim == 1:
        return np.asarray(given)
    if given.ndim == 3:
        reward = given.reshape(-1)[rows].reshape(game.shape)
    else:
        kernel: Any = sp.csr_array(game.matrix)
        row = rows[np.repeat(np.arange(len(rows)), np.diff(kernel.indptr))]
        at = (row,) if is_sparse(given) else np.unravel_index(row, game.shape)
        reward = expected(game, np.asarray(given[(*at, kernel.indices)], dtype=float).ravel())
    reward[ending] = 0.0
    return np.asarray(reward)
