"""The game of a Gymnasium environment: outcomes summed, ends absorbing, rewards expected."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.checks import LABELS, checked, has, optional
from iirl_opt.errors import InvalidArgument, InvalidGame
from iirl_opt.exact.numbers import common
from iirl_opt.formats.choices import AGENT, IDLE, Agent
from iirl_opt.formats.gymnasium.outcomes import Outcomes
from iirl_opt.formats.gymnasium.splits import Split
from iirl_opt.formats.gymnasium.table import read_outcomes
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.game.entries import RowBlocks
from iirl_opt.game.kernel import LARGEST
from iirl_opt.game.mdp import TwoAgentMDP

__all__ = ["GymnasiumGame", "from_gymnasium"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class GymnasiumGame(ImportedGame):
    """The game of an environment.

    Attributes
    ----------
    rewards : ``"reward"``, (S, A, B), the expected reward of each choice.
    labels : ``"terminal"``: where play is over.
    next_state_reward : CSR of shape (S·A·B, S), laid out as ``game.matrix``: the reward of each
        transition; of several outcomes with one successor their mean.
    n_table_states : how many states are the environment's own; they come first, so that an
        observation of the environment is the index of a state, as an action of it is.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> hall, goal = {0: [(0.5, 1, 5, True), (0.5, 0, -1, False)]}, {0: [(1, 1, 0, False)]}
    >>> env = SimpleNamespace(P={0: hall, 1: goal})  # the table of an environment of Gymnasium's
    >>> env.unwrapped = env
    >>> found = from_gymnasium(env, "9/10", states=["hall", "goal"])
    >>> found.game.states, found.n_table_states
    (('hall', 'goal'), 2)
    >>> found.next_state_reward.toarray()[0]
    array([-1.,  5.])
    """

    next_state_reward: Any = None
    n_table_states: int = 0


@checked(
    agent=AGENT,
    leader=optional(has("rewrite", what="a split, such as Doors or Setting")),
    states=LABELS,
    actions=LABELS,
)
def from_gymnasium(
    env: Any,
    discount: Any = None,
    *,
    agent: Agent = "follower",
    leader: Split | None = None,
    start: Any = None,
    states: Iterable[Any] | None = None,
    actions: Iterable[Any] | None = None,
) -> GymnasiumGame:
    """Return the game of a Gymnasium environment that has a table ``env.unwrapped.P``.

    Parameters
    ----------
    env : a FrozenLake, CliffWalking or Taxi, or any other environment with such a table, whose
        ``step`` is taken to follow it.
    discount : 0 ≤ γ < 1; an environment has none of its own.
    agent : who acts in the environment. The other has the one action ``"-"``.
    leader : what the leader sets, while the follower acts: `Doors`, `Setting`, `TableChoice` or
        `StartChoice`.
    start : a distribution over the table's states, as in `TwoAgentMDP`, in place of the
        environment's ``initial_state_distrib``; uniform over the table's states where there is
        neither.
    states, actions : labels, in the table's order; see `iirl_opt.formats.gymnasium.names` for
        what they are by default.

    Returns
    -------
    GymnasiumGame
        Its rewards are expected, ``"reward"`` of shape (S, A, B). What the numbers mean, and which
        states stand for the end of play, says `iirl_opt.formats.gymnasium`.

    Raises
    ------
    InvalidArgument
        No discount; `env` is no environment, several of them, or one without a table; a split
        where the leader is the agent, or a start beside a `StartChoice`.
    InvalidGame
        The table is malformed: names state and action.

    **Source** see the package. **Cost** arithmetic, one pass over the table.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> hall = {"open": [(0.75, 1, 5, True), (0.25, 0, -1, False)], "wait": [(1, 0, -1, False)]}
    >>> goal = {"open": [(1, 0, -1, False)], "wait": [(1, 1, -1, False)]}
    >>> env = SimpleNamespace(P=[list(hall.values()), list(goal.values())])
    >>> env.unwrapped = env
    >>> found = from_gymnasium(env, "9/10", states=["hall", "goal"], actions=hall)
    >>> found.game.states, found.labels["terminal"]
    (('hall', 'goal', 'end at goal'), array([False, False,  True]))
    >>> found.reward()[0]
    array([[ 3.5, -1. ]])
    """
    if discount is None:
        raise InvalidArgument("discount", "is not given", "0 ≤ γ < 1, as an environment has none")
    outcomes = read_outcomes(env, states, actions)
    if leader is not None:
        if agent == "leader":
            raise InvalidArgument("leader", "is a split", 'None where agent="leader"', leader)
        before, outcomes = outcomes.start, leader.rewrite(outcomes, env)
        if start is not None and outcomes.start is not before:
            raise InvalidArgument("start", "is given", "None where the split chooses it", start)
    start = outcomes.start if start is None else _start_weights(start, outcomes.n_table)
    outcomes, terminal = _with_ends(outcomes)
    if not isinstance(start, str | Mapping):
        start = np.ones(outcomes.n_table, dtype=object) if start is None else start
        start = np.append(start, [0] * (outcomes.n_states - len(start)))
    sums = _Sums.of(outcomes)
    shape = (outcomes.n_states, len(outcomes.leader_actions), len(outcomes.follower_actions))
    names = outcomes.leader_actions, outcomes.follower_actions
    if agent == "leader":
        shape, names = (shape[0], shape[2], 1), (outcomes.follower_actions, (IDLE,))
    game = TwoAgentMDP(
        sums.kernel(outcomes.is_rational),
        discount,
        start,
        states=outcomes.states,
        leader_actions=names[0],
        follower_actions=names[1],
    )
    spec = getattr(env, "spec", None)
    return GymnasiumGame(
        game,
        {"reward": sums.expected().reshape(shape)},
        {"terminal": terminal},
        source=f"Gymnasium, {spec.id if spec else type(env.unwrapped).__name__}",
        next_state_reward=sums.next_state(),
        n_table_states=outcomes.n_table,
    )


def _start_weights(start: Any, n_states: int) -> Any:
    """Return the start distribution that was asked for, None for uniform over the table."""
    if start is None or isinstance(start, Mapping):
        return start
    if isinstance(start, str):
        return None if start == "uniform" else start
    try:
        array = np.asarray(start)
    except ValueError:
        raise InvalidGame("start", "is ragged", f"shape ({n_states},)", start) from None
    if array.shape != (n_states,):
        raise InvalidGame("start", f"has shape {array.shape}", f"({n_states},)", array.shape)
    return array


def _with_ends(outcomes: Outcomes) -> tuple[Outcomes, NDArray[np.bool_]]:
    """Return outcomes that end play in absorbing states without reward, and those states.

    Copies of states are added where the outcome's successor goes on by the table's own rows.
    """
    n = outcomes.n_states
    goes_on = np.zeros(n, dtype=bool)
    goes_on[outcomes.state[(outcomes.successor != outcomes.state) | (outcomes.reward != 0)]] = True
    entered = np.zeros(n, dtype=bool)
    entered[outcomes.successor[outcomes.ended]] = True
    copied = np.flatnonzero(entered & goes_on)
    copy_of = np.arange(n)
    copy_of[copied] = n + np.arange(copied.size)
    n_a, n_b = len(outcomes.leader_actions), len(outcomes.follower_actions)
    state, leader, follower = (part.ravel() for part in np.mgrid[n : n + copied.size, :n_a, :n_b])
    one, nothing = np.empty(state.size, dtype=object), np.empty(state.size, dtype=object)
    one[:], nothing[:] = Fraction(1), Fraction(0)
    names = tuple(f"end at {outcomes.states[s]}" for s in copied)
    successor = np.where(outcomes.ended, copy_of[outcomes.successor], outcomes.successor)
    terminal = np.append(entered & ~goes_on, np.ones(copied.size, dtype=bool))
    return dataclasses.replace(
        outcomes,
        states=(*outcomes.states, *names),
        cells=(*outcomes.cells, *names),
        state=np.append(outcomes.state, state),
        leader=np.append(outcomes.leader, leader),
        follower=np.append(outcomes.follower, follower),
        successor=np.append(successor, state),
        probability=np.append(outcomes.probability, one),
        reward=np.append(outcomes.reward, nothing),
        ended=np.append(outcomes.ended, np.zeros(state.size, dtype=bool)),
    ), terminal


@dataclass(frozen=True, eq=False)
class _Sums:
    """Outcomes summed over those of one choice and one successor, in integers.

    An entry is a transition: row ``(s·A + a)·B + b``, column the successor, the probability
    ``weight / total`` and ``gain / (total · unit)``, probability times reward.
    """

    shape: tuple[int, int]
    row: Integers
    column: Integers
    weight: NDArray[Any]
    gain: NDArray[Any]
    total: int
    unit: int

    @classmethod
    def of(cls, outcomes: Outcomes) -> _Sums:
        """Sum outcomes."""
        n_a, n_b = len(outcomes.leader_actions), len(outcomes.follower_actions)
        n = outcomes.n_states
        row = (outcomes.state * n_a + outcomes.leader) * n_b + outcomes.follower
        order = np.lexsort((outcomes.successor, row))
        row, column = row[order], outcomes.successor[order]
        first = np.flatnonzero(np.diff(row, prepend=-1) | np.diff(column, prepend=-1))
        weight, total = common(outcomes.probability[order])
        reward, unit = common(outcomes.reward[order])
        return cls(
            (n * n_a * n_b, n),
            row[first],
            column[first],
            np.add.reduceat(weight, first),
            np.add.reduceat(weight * reward, first),
            total,
            unit,
        )

    def kernel(self, is_rational: bool) -> Any:
        """Return the kernel: integer weights a row, or floats."""
        if not is_rational:
            floats = np.array([w / self.total for w in self.weight.tolist()])
            return self._matrix(floats)
        indptr = np.searchsorted(self.row, np.arange(self.shape[0] + 1))
        fits = self.total <= LARGEST
        weights = self.weight.astype(np.int64) if fits else self.weight
        return RowBlocks(self.shape, [(indptr, self.column, weights)])

    def expected(self) -> Array:
        """Return the expected reward of each choice, (S·A·B,), the floats nearest to it."""
        first = np.flatnonzero(np.diff(self.row, prepend=-1))
        gains = np.add.reduceat(self.gain, first).tolist()
        weights = np.add.reduceat(self.weight, first).tolist()
        return np.array([g / (w * self.unit) for g, w in zip(gains, weights, strict=True)])

    def next_state(self) -> Any:
        """Return the mean reward of each transition, CSR of the shape of the kernel."""
        pairs = zip(self.gain.tolist(), self.weight.tolist(), strict=True)
        matrix = self._matrix(np.array([g / (w * self.unit) for g, w in pairs]))
        for part in (matrix.data, matrix.indices, matrix.indptr):
            part.flags.writeable = False
        return matrix

    def _matrix(self, data: Array) -> Any:
        indptr = np.searchsorted(self.row, np.arange(self.shape[0] + 1))
        return sp.csr_array((data, self.column, indptr), shape=self.shape)
