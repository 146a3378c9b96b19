"""Choices of sources outside: whose they are, which a state lacks, and what stands in for those.

A `TwoAgentMDP` has every pair of actions in every state. Elsewhere one agent may choose alone, from
actions that differ from state to state. Here the one agent is the follower, or the leader, and the
other has one action; and a pair that a state lacks repeats one that it has, so that nothing can be
gained by it. A leader's action that the state lacks repeats the first that it has; behind a
leader's action, a follower's that the state lacks there repeats the first that it has there. So who
has no choice in a state cannot take the other's away.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.checks import LABELS, Rule, one_of, whole
from iirl_opt.errors import InvalidArgument, InvalidGame
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.game.entries import RowBlocks, summed, sums_fit
from iirl_opt.game.kernel import LARGEST
from iirl_opt.game.labels import Labels
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.reward import check_reward

__all__ = [
    "AGENT",
    "IDLE",
    "UNAVAILABLE",
    "Agent",
    "Names",
    "Unavailable",
    "absorb",
    "expected",
    "kernel_of_entries",
    "name_actions",
    "name_keys",
    "named_reward",
    "read_names",
    "refuse_bare",
    "stand_ins",
    "wide",
]

Agent: TypeAlias = Literal["leader", "follower"]
Unavailable: TypeAlias = Literal["repeat", "refuse"]
Integers: TypeAlias = NDArray[np.int64]
# What a caller says of states or actions: their labels, or how many there are.
Names: TypeAlias = Iterable[Any] | int | None

AGENT: Rule = one_of("leader", "follower")
UNAVAILABLE: Rule = one_of("repeat", "refuse")
IDLE = "-"  # the action of an agent that has no choice


def read_names(kind: str, given: Names, n: int, keys: Sequence[Any] | None = None) -> Labels:
    """Return n labels as they are given, by default integers, or a single "-" for an agent.

    Where the source has n `keys`, they are the labels by default, and may be some of those given.
    """
    name = f"{kind}s".replace(" ", "_")
    if given is None:
        given = keys or ((IDLE,) if n == 1 and kind != "state" else range(n))
    elif isinstance(given, int | np.integer) and not isinstance(given, bool):
        n = len(keys) if keys else n
        if given != n:
            raise InvalidGame(f"{kind} labels", f"are {given}", f"{n}, as in P", given)
        given = range(n) if keys is None or {*keys} == {*range(n)} else keys
    names = Labels(LABELS(name, given), kind)
    if len(names) != n and not keys:
        raise InvalidGame(f"{kind} labels", f"are {len(names)}", f"{n}, as in P", len(names))
    return names


def name_actions(
    n: int, leader_actions: Names, follower_actions: Names, agent: Agent
) -> tuple[Labels, Labels]:
    """Return the labels of both agents where a state has n choices, choice ``a·B + b``.

    If neither is said, all are the actions of `agent`; if one is, the other agent has the rest.

    Raises
    ------
    InvalidGame
        The numbers do not fit.
    """
    given = {"leader": leader_actions, "follower": follower_actions}
    counts = {name: _count(f"{name}_actions", names) for name, names in given.items()}
    if counts["leader"] is None and counts["follower"] is None:
        counts = {agent: n, _other(agent): 1}
    known = math.prod(count for count in counts.values() if count is not None)
    if n % known or (known != n and None not in counts.values()):
        said = "·".join(str(count) for count in counts.values() if count is not None)
        raise InvalidGame(
            "leader_actions, follower_actions", f"are {said}", f"{n} pairs, as in P", said
        )
    sizes = {name: n // known if count is None else count for name, count in counts.items()}
    leaders, followers = (
        read_names(f"{name} action", given[name], sizes[name]) for name in ("leader", "follower")
    )
    return leaders, followers


def name_keys(
    keys: Sequence[Any], leader_actions: Names, follower_actions: Names, agent: Agent
) -> tuple[Labels, Labels]:
    """Return the labels of both agents where a source calls its choices by `keys`.

    Who has a list of labels with a key among them has all the keys, and may have more labels. If
    nobody has, it is as in `name_actions`, and who has all the choices has the keys.
    """
    given = {"leader": leader_actions, "follower": follower_actions}
    lists = {
        name: Labels(LABELS(f"{name}_actions", names), f"{name} action")
        for name, names in given.items()
        if names is not None and not isinstance(names, int | np.integer)
    }
    given = {**given, **lists}
    mover = agent
    named = [name for name, names in lists.items() if not {*keys}.isdisjoint(names)]
    if not named:
        pairs = name_actions(len(keys), given["leader"], given["follower"], agent)
        sizes = {"leader": len(pairs[0]), "follower": len(pairs[1])}
        mover = agent if sizes[agent] == len(keys) else _other(agent)
        if sizes[mover] < len(keys):
            return pairs
    elif agent not in named:
        mover = _other(agent)
    names = {mover: read_names(f"{mover} action", given[mover], len(keys), keys)}
    names[_other(mover)] = read_names(f"{_other(mover)} action", given[_other(mover)], 1)
    return names["leader"], names["follower"]


def _other(agent: Agent) -> Agent:
    return "follower" if agent == "leader" else "leader"


def _count(name: str, given: Names) -> int | None:
    if given is None or isinstance(given, int | np.integer):
        return None if given is None else whole(1)(name, given)
    if not isinstance(given, Sequence):
        raise InvalidArgument(name, f"is a {type(given).__name__}", "a list, or a number", given)
    return len(given) or None


def stand_ins(
    available: NDArray[np.bool_], names: Sequence[Sequence[Any]], unavailable: Unavailable
) -> Integers:
    """Return for each choice ``(s·A + a)·B + b`` the one that stands for it: itself if available.

    Parameters
    ----------
    available : (S, A, B).
    names : the labels of states, leader's and follower's actions.
    unavailable : whether a missing choice repeats one that its state has, or is refused.

    Raises
    ------
    InvalidGame
        A state has no choice; a choice is missing, and that is refused.
    """
    refuse_bare(np.asarray(~available.any(axis=(1, 2))), names[0])
    if unavailable == "refuse" and not available.all():
        missing = np.argwhere(~available)
        at = ", ".join(
            f"{axis}={known[i]!r}" for axis, known, i in zip("sab", names, missing[0], strict=True)
        )
        allowed = 'every pair of actions in every state, or unavailable="repeat"'
        raise InvalidGame(f"P[{at}]", f"is not available{_more(missing)}", allowed)
    n_states, n_a, n_b = available.shape
    s, some = np.arange(n_states)[:, None], available.any(axis=2)
    a = np.where(some, np.arange(n_a), some.argmax(axis=1)[:, None])
    first = available.argmax(axis=2)[s, a][..., None]
    chosen = np.where(available[s, a], np.arange(n_b), first) + a[..., None] * n_b
    return np.asarray(chosen + s[..., None] * (n_a * n_b), dtype=np.int64).ravel()


def refuse_bare(bare: NDArray[np.bool_], states: Sequence[Any]) -> None:
    """Refuse states that have no choice.

    Raises
    ------
    InvalidGame
    """
    if bare.any():
        at = np.flatnonzero(bare)
        first = states[at[0]]
        problem = f"has no choice{_more(at)}"
        raise InvalidGame(
            f"state {first!r}", problem, "at least one, or absorbing=True (--absorbing)", first
        )


def absorb(offered: NDArray[np.bool_]) -> Integers:
    """Return the states without any choice, after giving them all: they are to stay where they are.

    Parameters
    ----------
    offered : which choices there are, (S, A, B); changed in place.
    """
    ending = np.flatnonzero(~offered.any(axis=(1, 2)))
    offered[ending] = True
    return ending


def _more(places: NDArray[Any]) -> str:
    return f" (nor {len(places) - 1} more)" if len(places) > 1 else ""


def kernel_of_entries(
    row: Integers, column: Integers, numbers: NDArray[Any], rows: Integers, ending: Integers, n: int
) -> Any:
    """Return some rows of the kernel that has these entries, as `TwoAgentMDP` takes it.

    Parameters
    ----------
    numbers : floats, weights or Fractions; those of one place are summed.
    rows : which of the kernel's rows (S·A·B) to take, in order.
    ending : states that stay where they are, whatever their entries.
    n : the number of states, S.
    """
    numbers = wide(numbers)
    stay = np.arange(len(rows)).reshape(n, -1)[ending]
    if stay.size:
        kept = np.isin(row, stay, invert=True)
        row = np.concatenate([row[kept], stay.ravel()])
        column = np.concatenate([column[kept], ending.repeat(stay.shape[1])])
        numbers = np.concatenate([numbers[kept], np.ones(stay.size, dtype=numbers.dtype)])
    shape = (len(rows), n)
    if numbers.dtype == object or not sums_fit(numbers):
        row, column, numbers = summed(row, column, numbers, n)
    if numbers.dtype != object:
        return sp.csr_array((numbers, (row, column)), shape=shape)[rows]
    # scipy holds no objects: their places are taken.
    at = sp.csr_array((np.arange(1, numbers.size + 1), (row, column)), shape=shape)[rows]
    at.sort_indices()
    entries = numbers[at.data - 1]
    if not (entries != 0).all():
        at.data, entries = (entries != 0).astype(np.int64) * at.data, entries[entries != 0]
        at.eliminate_zeros()
    return RowBlocks(shape, [(at.indptr, at.indices, entries)])


def wide(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return numbers in a type that is enough for some of their kind, and that scipy has."""
    kind = numbers.dtype.kind
    if kind == "u" and numbers.size and numbers.max() >= LARGEST:
        return numbers.astype(object)
    types = {"f": np.float64, "b": np.int64, "i": np.int64, "u": np.int64}
    return numbers.astype(types.get(kind, numbers.dtype), copy=False)


def expected(game: TwoAgentMDP, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what transitions are worth on average, shape (S, A, B).

    Parameters
    ----------
    values : one for each entry of ``scipy.sparse.csr_array(game.matrix)``, row by row. If those of
        a row are all the same, so is the result, without rounding.
    """
    kernel: Any = sp.csr_array(game.matrix)
    starts = kernel.indptr[:-1]
    means = np.add.reduceat(kernel.data * values, starts)
    least, most = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    return np.asarray(np.where(least == most, least, means)).reshape(game.shape)


def named_reward(problem: ImportedGame, reward: Any) -> NDArray[np.float64]:
    """Return a reward that is given as an array, or by its name; by default the only one."""
    if reward is None or isinstance(reward, str):
        try:
            return problem.reward(reward)
        except InvalidArgument as wrong:
            raise InvalidArgument("reward", wrong.problem, wrong.allowed) from None
    return check_reward(problem.game, reward)
