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

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.checks import FLAG, MAPPING, checked, read_floats
from iirl_opt.errors import InvalidArgument, InvalidGame, InvalidReward
from iirl_opt.formats.axes import (
    AGENTS,
    AXES,
    HOUSE,
    ArrayTable,
    Axes,
    check_axes,
    in_house,
    matrices_of,
    read_array,
    read_axes,
    stacked,
)
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
    name_keys,
    read_names,
    stand_ins,
    wide,
)
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.game.kernel import is_sparse
from iirl_opt.game.labels import Labels
from iirl_opt.game.mdp import TwoAgentMDP

__all__ = ["from_arrays"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


class _SparseKernel(NamedTuple):
    """A kernel by its entries that are not zero: row ``(s·A + a)·B + b``, column and number."""

    row: Integers
    column: Integers
    numbers: Any

    def filled(self, n: int) -> Booleans:
        """Return which of n rows have entries."""
        return np.bincount(self.row, minlength=n).astype(bool)

    def kernel(self, rows: Integers, ending: Integers, n: int) -> Any:
        """Return some of the rows; states that are `ending` stay where they are."""
        return kernel_of_entries(*self, rows, ending, n)


class _DenseKernel(NamedTuple):
    """A kernel as a dense array (S·A·B, S)."""

    array: Any

    def filled(self, n: int) -> Booleans:
        """Return which of the n rows have entries."""
        return np.asarray((self.array != 0).any(axis=1), dtype=bool)

    def kernel(self, rows: Integers, ending: Integers, n: int) -> Any:
        """Return some of the rows; states that are `ending` stay where they are."""
        if not ending.size and (rows == np.arange(len(rows))).all():
            return self.array
        array = self.array[rows].reshape(n, -1, n)
        array[ending] = 0
        array[ending, :, ending] = 1
        return array.reshape(-1, n)


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
        the actions are, by default those of `agent`, while the other has the one action "-". Where
        a mapping has keys, a list with a key among its labels has all of them, and maybe more.
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
    table = read_array("P", kernel, None if axes is None else read_axes("axes", axes))
    check_axes(table)
    names = _names(table, states, {"leader": leader_actions, "follower": follower_actions}, agent)
    known = dict(zip(("state", *AGENTS), names, strict=True))
    known |= {"next": names[0], "action": _choice_labels(table, names, agent)}
    shape = (len(names[0]), len(names[1]), len(names[2]))
    source: _DenseKernel | _SparseKernel
    if table.dense is not None:
        source = _DenseKernel(table.matrix(known))
    else:
        source = _SparseKernel(*table.entries(known))
    given = dict(rewards or {}) if reward is None else {"reward": reward}
    order = None if reward_axes is None else read_axes("reward_axes", reward_axes)
    worth = {name: _read_reward(name, r, order, table.axes, known) for name, r in given.items()}
    offered = _offered(available, source, shape, worth.values())
    ending = absorb(offered) if absorbing else np.empty(0, dtype=np.int64)
    rows = stand_ins(offered, names, unavailable)
    game = TwoAgentMDP(
        source.kernel(rows, ending, shape[0]),
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


def _names(
    table: ArrayTable, states: Names, said: dict[str, Names], agent: Agent
) -> tuple[Labels, Labels, Labels]:
    """Return the labels of states and actions: as they are said, else the keys of a mapping."""
    sizes, keys = table.sizes, table.keys
    if "action" in sizes:
        if "action" in keys:
            actions = name_keys(keys["action"], said["leader"], said["follower"], agent)
        else:
            actions = name_actions(sizes["action"], said["leader"], said["follower"], agent)
    else:
        leaders, followers = (
            read_names(f"{name} action", said[name], sizes.get(name, 1), keys.get(name))
            for name in AGENTS
        )
        actions = leaders, followers
    return read_names("state", states, sizes["state"], keys.get("state")), *actions


def _choice_labels(table: ArrayTable, names: tuple[Labels, Labels, Labels], agent: Agent) -> Labels:
    """Return what an axis of actions is called: as by the single agent, by keys, or 0, 1, …"""
    n_a, n_b = map(len, names[1:])
    keys = table.keys.get("action", ())
    for own, n in ((names[1], n_b), (names[2], n_a)):
        if n == 1 and not {*keys}.isdisjoint(own):
            return own
    if 1 in (n_a, n_b):
        mover = AGENTS.index(agent) if n_a == n_b else int(n_a == 1)
        return names[1 + mover]
    return Labels(keys or range(n_a * n_b), "action")


def _offered(
    available: Any,
    source: _SparseKernel | _DenseKernel,
    shape: tuple[int, int, int],
    rewards: Iterable[Any],
) -> Booleans:
    """Return which choices the source has, (S, A, B)."""
    if available is None:
        offered = source.filled(math.prod(shape))
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
    matrices = matrices_of(name, given)
    if matrices is not None:
        return _sparse_reward(name, stacked(name, *matrices, axes), known)
    array: Any = given
    if not is_sparse(given):
        array = read_floats(name, given, InvalidReward)
    elif given.dtype.kind not in "biuf":
        raise InvalidReward(name, f"has type {given.dtype}", "real numbers", given.dtype)
    if axes is None:
        choice = tuple(axis for axis in AXES if axis in kernel_axes and axis != "next")
        axes = {len(choice): choice, len(kernel_axes): kernel_axes, 1: ("state",)}.get(array.ndim)
    if axes is None or len(axes) != array.ndim:
        said = "are not given" if axes is None else f"are {' '.join(axes)!r}"
        problem = f"{said}, and {name} has shape {array.shape}"
        raise InvalidArgument("reward_axes", problem, "a name for each of its axes", axes)
    if is_sparse(array) and {"state", "next"} <= {*axes}:
        coo = array.tocoo()
        table = ArrayTable(axes, array.shape, None, coo.coords, wide(coo.data))
        return _sparse_reward(name, table, known)
    return _dense_reward(
        name, array.astype(float).toarray() if is_sparse(array) else array, axes, known
    )


def _check_lengths(name: str, table: ArrayTable, known: Mapping[str, Labels]) -> None:
    for i, (axis, n) in enumerate(table.sizes.items()):
        if axis not in table.keys and n != len(known[axis]):
            problem = f"has shape {table.shape}, {n} along axis {i}, {axis!r}"
            raise InvalidReward(name, problem, f"{len(known[axis])}, as in P", table.shape)


def _sparse_reward(name: str, table: ArrayTable, known: Mapping[str, Labels]) -> Any:
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
    _check_lengths(name, ArrayTable(axes, array.shape, array), known)
    if axes == ("state",):
        return array
    array = in_house(array, axes, known)
    whole = [*(len(known[axis]) for axis in HOUSE[:3]), array.shape[3]]
    array = np.broadcast_to(array, whole)
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
