"""The lifted rows of an episode: Corollary 1 with a variable for the values.

A reward r explains a whole response ``π2_t`` to the commitment ``π1_t`` when with the values V_t

    V_t = r̄_t + γ P_t V_t                                         (values)
    r̄_t − r̄_{t,b} + γ (P_t − P_{t,b}) V_t ≥ 0   for every action b  (optimal)

where ``r̄_t = Σ π1 π2 r`` and ``r̄_{t,b} = Σ_a π1 r(·, a, b)``; for state rewards the difference of
the r̄ vanishes. Actions known to be optimal are tied: their rows are equalities. These rows are as
sparse as the kernel. Rows that are zero or repeat another are left out, the rest are scaled to a
largest entry of one.

**Source** paper, Theorem 1 and Corollary 1, lifted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.game.exact import exact_gaps
from iirl_opt.game.kernel import Matrix, is_sparse
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.game.optimum import Gaps, follower_gaps
from iirl_opt.observation import Observation
from iirl_opt.rewards.explicit_rows import Block, equal_rows

__all__ = ["ZERO", "GapRows", "Lifted", "WholeResponse", "gaps_of", "same_response"]

Array = NDArray[np.float64]

# Entries of P_t − P_{t,b} below this are rounding of equal probabilities.
ZERO = 1e-12


class Lifted(NamedTuple):
    """A set in lifted form: equalities, and labelled expressions that are to be nonnegative.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> known = iirl.FeasibleRewards(game).observe([[1], [1]], [[0, 1], [1, 0]])
    >>> lifted = known.lifted(cp.Variable(2))
    >>> [label for label, _ in lifted.nonnegative]
    ['optimal[1]']
    """

    equalities: list[cp.Constraint]
    nonnegative: list[tuple[str, cp.Expression]]

    def __repr__(self) -> str:
        return in_brief(self)


class GapRows(NamedTuple):
    """Rows ``on_r @ r + on_v @ V`` of one episode; `on_r` is None for state rewards.

    Row i speaks of the state and action s·B + b = ``at[i]``; times ``size[i]`` it is the sum of the
    gaps ``V(s) − Q(s, b)`` of that action and of all whose rows are multiples of its own. The
    actions ``every[k]`` are those of the row ``of[k]``; all others that the rows could speak of,
    ``idle``, have a row of zeros.
    """

    on_r: Matrix | None
    on_v: Matrix
    at: NDArray[np.int64]
    size: Array
    every: NDArray[np.int64]
    of: NDArray[np.int64]
    idle: NDArray[np.int64]

    def spread(self, multipliers: Array) -> Array:
        """Return what multipliers of the rows are for the gaps of `every`, then of `idle`.

        Together those of the multiples of a row weigh what the row does, a unit of each gap alike.
        """
        own = (multipliers / self.size)[self.of]
        return np.concatenate([own, np.zeros(self.idle.size)])


@dataclass(frozen=True, eq=False)
class WholeResponse:
    """One observation with what the programs need of it."""

    game: TwoAgentMDP
    observation: Observation

    @cached_property
    def mdp(self) -> MDP:
        return self.game.follower_mdp(self.observation.pi1)

    @cached_property
    def chain(self) -> Matrix:
        return self.mdp.chain(self.observation.pi2)

    @property
    def played(self) -> NDArray[np.bool_]:
        """Which actions are known to be optimal, shape (S, B)."""
        return self.observation.played

    def gaps(self, reward: ArrayLike) -> Gaps:
        """Return ``V(s) − Q(s, b)`` under the response."""
        return follower_gaps(self.game, reward, self.observation.pi1, self.observation.pi2)

    def exact_gaps(self, reward: ArrayLike) -> NDArray[Any]:
        """Return ``V(s) − Q(s, b)`` under the response in Fractions, shape (S, B)."""
        return exact_gaps(self.game, reward, self.observation.pi1, self.observation.pi2)

    @cached_property
    def mean_reward(self) -> Matrix:
        """The (S, S·A·B) matrix of ``r ↦ r̄`` for joint rewards."""
        o = self.observation
        return _by_own_state(o.pi1[:, :, None] * o.pi2[:, None, :])

    @property
    def open_gaps(self) -> tuple[Matrix, NDArray[np.int64]]:
        """Rows ``gap = rows @ V`` of state rewards for the actions not known to be optimal.

        Unscaled, with the state of each.
        """
        n_states, n_actions = self.mdp.shape
        state = np.repeat(np.arange(n_states), n_actions)
        gaps = sp.csr_array(self.chain)[state] - self.mdp.matrix
        wanted = np.flatnonzero(~self.observation.played.ravel())
        return self.game.discount * sp.csr_array(gaps)[wanted], state[wanted]

    @cached_property
    def block(self) -> Block:
        """The rows of state rewards, lifted and explicit."""
        free, tied = self.state_rows
        return Block(self.flow, free.on_v, tied.on_v, np.concatenate([free.at, tied.at]))

    @property
    def sizes(self) -> Array:
        """What the rows of the block were divided by, shape (rows,)."""
        return np.concatenate([rows.size for rows in self.state_rows])

    @property
    def flow(self) -> Matrix:
        """The matrix I − γP_t."""
        eye: Any = sp.eye_array(self.game.n_states, format="csc")
        return sp.csc_array(eye - self.game.discount * sp.csc_array(self.chain))

    def explicit(self, joint: bool) -> tuple[Array, Array]:
        """Return the free and the tied lifted rows with the value variable eliminated."""
        if not joint:
            whole = self.block.rows * self.block.size[:, None]
            return whole[: self.block.free.shape[0]], whole[self.block.free.shape[0] :]
        free, tied = (self._eliminated(rows) for rows in self.joint_rows)
        return free, tied

    def _eliminated(self, rows: GapRows) -> Array:
        assert rows.on_r is not None
        dense = np.ascontiguousarray(rows.on_v.toarray().T)
        through_v = self.block.splu.solve(dense, trans="T").T if dense.size else dense.T
        return np.asarray(through_v @ self.mean_reward.toarray() + rows.on_r.toarray())

    @cached_property
    def state_rows(self) -> tuple[GapRows, GapRows]:
        return self._rows(joint=False)

    @cached_property
    def joint_rows(self) -> tuple[GapRows, GapRows]:
        return self._rows(joint=True)

    def _rows(self, joint: bool) -> tuple[GapRows, GapRows]:
        """Return the rows of actions not known to be optimal (≥ 0), and of tied ones (= 0)."""
        n_states, n_actions = self.mdp.shape
        repeat = np.repeat(np.arange(n_states), n_actions)
        gamma = self.game.discount
        on_v = gamma * sp.csr_array(sp.csr_array(self.chain)[repeat] - self.mdp.matrix)
        on_r = None
        if joint:
            pi1 = self.observation.pi1
            each = np.zeros((n_states, n_actions, *self.game.shape[1:]))
            actions = np.arange(n_actions)
            each[:, actions, :, actions] = pi1[None, :, :]
            flat = each.reshape(n_states * n_actions, *self.game.shape[1:])
            own = _by_own_state(flat, repeat, n_states)
            on_r = sp.csr_array(sp.csr_array(self.mean_reward)[repeat] - own)
        played = self.observation.played
        alone = played & (played.sum(axis=1, keepdims=True) == 1)
        tied = (played & ~alone).ravel()
        return _tidied(on_r, on_v, ~played.ravel()), _tidied(on_r, on_v, tied)


def gaps_of(rows: GapRows, r: cp.Expression, v: cp.Expression) -> cp.Expression:
    return rows.on_v @ v if rows.on_r is None else rows.on_r @ r + rows.on_v @ v


def _by_own_state(
    weights: Array, owner: NDArray[np.int64] | None = None, n_states: int | None = None
) -> Matrix:
    """Return the matrix whose row i holds weights[i], (A, B), in the columns of its state."""
    n_rows, width = weights.shape[0], int(np.prod(weights.shape[1:]))
    states = np.arange(n_rows) if owner is None else owner
    columns = (states[:, None] * width + np.arange(width)).ravel()
    rows = np.repeat(np.arange(n_rows), width)
    shape = (n_rows, width * (n_rows if n_states is None else n_states))
    matrix: Any = sp.csr_array((weights.ravel(), (rows, columns)), shape=shape)
    matrix.eliminate_zeros()
    return matrix


def _tidied(on_r: Matrix | None, on_v: Matrix, wanted: NDArray[np.bool_]) -> GapRows:
    """Return the wanted rows without zeros and repetitions, scaled to a largest entry of one."""
    whole: Any = sp.csr_array(on_v if on_r is None else sp.hstack([on_r, on_v], format="csr"))
    at = np.flatnonzero(wanted)
    whole = whole[at]
    whole.data[np.abs(whole.data) < ZERO] = 0.0
    whole.eliminate_zeros()
    told = np.diff(whole.indptr) > 0
    whole, at, idle = whole[np.flatnonzero(told)], at[told], at[~told]
    every, of = at, np.zeros(0, dtype=np.int64)
    size: Array = np.zeros(0)
    if whole.shape[0]:
        largest = abs(whole).max(axis=1)
        largest = largest.toarray() if is_sparse(largest) else np.asarray(largest)
        whole = sp.diags_array(1.0 / largest.ravel(), format="csr") @ whole
        first, of = equal_rows(whole)
        size = np.bincount(of, weights=largest.ravel()).astype(float)
        whole, at = whole[first], at[first]
    width = 0 if on_r is None else on_r.shape[1]
    on = (None if on_r is None else whole[:, :width]), whole[:, width:]
    return GapRows(*on, at, size, every, of, idle)


def same_response(one: Observation, other: Observation) -> bool:
    """Return whether two observations say the same."""
    parts = ("pi1", "pi2", "played")
    return one.whole == other.whole and all(
        np.array_equal(getattr(one, part), getattr(other, part)) for part in parts
    )
