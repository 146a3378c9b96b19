"""Commitments whose worst regret over finitely many rewards is least: the outer problem.

Leader and follower share the reward. Of rewards ``r_1 … r_K`` of states the leader seeks

    min over c of max_k [V*(r_k) − W_k(c)],        W_k(c) the best that a response to c earns,

each W_k the largest ``r_k · d_k`` over the visits d_k of any response to c. With one block of
visits a reward, and for all of them the same deterministic commitment x,

    min t
    t ≥ V*(r_k) − Σ r_k(s) d_k(s, a, b)                               regret
    Σ_ab d_k(s', a, b) − γ Σ P(s' | ·) d_k = start(s')                flow
    L(s) x(s, a) ≤ Σ_b d_k(s, a, b) ≤ U(s) x(s, a)                    least, most
    Σ_a x(s, a) = 1,   x binary                                       one choice

L and U are the least and the largest visits of a state under any joint policy. The minimum makes
each block a best response. Where x is not binary, the program has room for every stochastic
commitment: ``c = x`` with its visits satisfies all rows. So the linear program bounds the worst
regret of *all* commitments from below. By weak duality all φ_k and all ``w ≥ 0`` with sum one give

    Σ_k w_k V*(r_k) − Σ_k start · φ_k − Σ_s max_a Σ_k (U(s) g_k⁺ − L(s) g_k⁻)
    with  g_k(s, a) = max_b [w_k r_k(s) + γ P_ab φ_k − φ_k(s)],

which is the bound that counts here: multipliers in, arithmetic out. Where the follower has but one
action, visits do not depend on the reward: one block serves all, and the linear program is exact
for stochastic commitments (Regan & Boutilier 2009).

Source: ours. Constraint generation for minimax regret: Regan & Boutilier 2009, for one agent alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.commitment.searches import commitments
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import modified_policy_iteration
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.rewards.elsewhere import NEAR_ONE
from iirl_opt.rewards.regret_products import SLACK, most_visits, strict
from iirl_opt.solver import HiGHS, Solved, Status, solve

__all__ = ["AllCommitments", "Floor", "RegretOfFinitely", "best_value", "floor_value"]

Array = NDArray[np.float64]

EPS = float(np.finfo(float).eps)


class Floor(NamedTuple):
    """A lower bound on the worst regret of every commitment, and what proves it.

    Attributes
    ----------
    value : the bound, by arithmetic.
    weights : w, (K,): a share of each reward.
    linear : φ, (K, S), or (1, S) where one block of visits serves all.
    """

    value: float
    weights: Array
    linear: Array


def best_value(game: TwoAgentMDP, reward: Array) -> float:
    """Return at most what the joint optimum earns from the start: its error taken off."""
    best = modified_policy_iteration(game, reward)
    return float(game.start @ (best.values - best.error))


def least_visits(game: TwoAgentMDP) -> Array:
    """Return the least discounted number of visits that any joint policy pays to each state."""
    units = np.eye(game.n_states)
    least = [-float(game.start @ modified_policy_iteration(game, -unit).values) for unit in units]
    return np.maximum(np.array(least) * (1 - SLACK), 0.0)


def floor_value(
    game: TwoAgentMDP, rewards: Array, weights: Array, linear: Array, box: tuple[Array, Array]
) -> float:
    """Return the bound of the module that weights and φ prove, rounding taken off.

    Parameters
    ----------
    box : L and U, (S,) each.
    """
    w = np.maximum(weights, 0.0) / np.maximum(weights, 0.0).sum()
    own = w[:, None] * rewards if len(linear) == len(w) else (w @ rewards)[None]
    ahead = np.asarray(game.matrix @ linear.T).T.reshape(len(linear), *game.shape)
    gains = (own - linear)[:, :, None, None] + game.discount * ahead
    best = gains.max(axis=3)
    least, most = (part[None, :, None] for part in box)
    spent = (most * np.maximum(best, 0.0) + least * np.minimum(best, 0.0)).sum(axis=0).max(axis=1)
    earned = np.array([best_value(game, reward) for reward in rewards])
    parts = np.concatenate([w * earned, -(linear @ game.start), -spent])
    return float(parts.sum() - 8 * len(parts) * EPS * np.abs(parts).sum())


@dataclass(frozen=True, eq=False)
class RegretOfFinitely:
    """The program of the module, in units of 1/(1 − γ).

    Parameters
    ----------
    game : in which the leader commits.
    rewards : (K, S).
    """

    game: TwoAgentMDP
    rewards: Array

    @cached_property
    def leader(self) -> cp.Variable:
        """The commitment x, (S·A,), row order ``s·A + a``: binary."""
        return cp.Variable(int(np.prod(self.game.shape[:2])), boolean=True, name="leader")

    @cached_property
    def mixed(self) -> cp.Variable:
        """The same, not binary."""
        return cp.Variable(int(np.prod(self.game.shape[:2])), nonneg=True, name="leader")

    @cached_property
    def visits(self) -> cp.Variable:
        """(1 − γ) d, (K·S·A·B,): a block a reward, or one; row order as everywhere."""
        size = self._blocks * self.game.matrix.shape[0]
        return cp.Variable(size, nonneg=True, name="visits")

    @property
    def _blocks(self) -> int:
        return 1 if self.game.n_follower_actions == 1 else len(self.rewards)

    @cached_property
    def worst(self) -> cp.Variable:
        """(1 − γ) t."""
        return cp.Variable(nonneg=True, name="worst")

    @cached_property
    def box(self) -> tuple[Array, Array]:
        """L and U."""
        return least_visits(self.game), most_visits(self.game)

    def problem(self, *, binary: bool = True) -> cp.Problem:
        """Return the program over deterministic commitments, or the linear program over all."""
        game, k = self.game, self._blocks
        n_states, n_a, n_b = game.shape
        x, d, scale = self.leader if binary else self.mixed, self.visits, 1 - game.discount
        state = sp.kron(sp.eye_array(n_states), np.ones((1, n_a * n_b)), format="csr")
        action = sp.kron(sp.eye_array(k * n_states * n_a), np.ones((1, n_b)), format="csr")
        flow = sp.kron(sp.eye_array(k), state - game.discount * sp.csr_array(game.matrix).T)
        each = [sp.csr_array(r[None, :] @ state) for r in self.rewards]
        earns = (sp.vstack if k == 1 else sp.block_diag)(each, format="csr")
        best = np.array([best_value(game, r) for r in self.rewards]) * scale
        least, most = (
            sp.vstack([sp.diags_array(np.repeat(part * scale, n_a))] * k, format="csr")
            for part in self.box
        )
        own = sp.kron(sp.eye_array(n_states), np.ones((1, n_a)), format="csr")
        rows = [
            (self.worst + earns @ d >= best).set_label("regret"),
            (flow @ d == np.tile(game.start * scale, k)).set_label("flow"),
            (action @ d - least @ x >= 0).set_label("least"),
            (most @ x - action @ d >= 0).set_label("most"),
            (own @ x == 1).set_label("one choice"),
        ]
        return cp.Problem(cp.Minimize(self.worst), rows)

    def floor(self, solver: HiGHS | None = None) -> tuple[Floor, Array | None]:
        """Return a lower bound for all commitments, and the commitment of the linear program.

        Zero, and no commitment, where it brings no optimum, and where the discount is so near one
        that a solver drops what it makes.

        **Cost** one LP with K·S·A·B columns.
        """
        if 1 - self.game.discount < NEAR_ONE:
            return self._nothing, None
        solved = solve(self.problem(binary=False), solver, throw=False)
        if solved.status is not Status.OPTIMAL:
            return self._nothing, None
        weights = np.maximum(solved.duals["regret"], 0.0)
        linear = solved.duals["flow"].reshape(-1, self.game.n_states)
        total = weights.sum()
        policy = self._mixed_policy(solved)
        if not total > 0:
            return self._nothing, policy
        weights, linear = weights / total, linear / total
        value = floor_value(self.game, self.rewards, weights, linear, self.box)
        return Floor(max(value, 0.0), weights, linear), policy

    def _mixed_policy(self, solved: Solved) -> Array:
        """Return the commitment of the linear program: that of all its visits together."""
        own = solved.primal["visits"].reshape(self._blocks, *self.game.shape).sum(axis=(0, 3))
        own = np.maximum(own, 0.0)
        total = own.sum(axis=1, keepdims=True)
        met = total > SLACK * (1 - self.game.discount)
        x = _as_policy(solved.primal["leader"], self.game)
        return np.where(met, own / np.where(met, total, 1.0), x)

    @property
    def _nothing(self) -> Floor:
        k = len(self.rewards)
        return Floor(0.0, np.full(k, 1 / k), np.zeros((self._blocks, self.game.n_states)))

    def best(self, solver: HiGHS | None, left: float | None) -> tuple[Array | None, float, Solved]:
        """Return the best deterministic commitment, a bound for all such, and the record."""
        solved = solve(self.problem(), strict(solver, left), throw=False)
        found = None
        if solved.value is not None:
            found = _as_policy(solved.primal["leader"], self.game)
            found = deterministic_policy(found.argmax(axis=1), self.game.n_leader_actions)
        bound = 0.0 if solved.bound is None else solved.bound / (1 - self.game.discount)
        return found, max(bound, 0.0), solved


def _as_policy(leader: Array, game: TwoAgentMDP) -> Array:
    """Return a solver's commitment as a policy (S, A)."""
    weights = np.maximum(leader.reshape(game.shape[:2]), 0.0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@dataclass(eq=False)
class AllCommitments:
    """Every deterministic commitment with its worst regret so far, bounded from below."""

    game: TwoAgentMDP

    def __post_init__(self) -> None:
        blocks = commitments(np.ones(self.game.shape[:2], dtype=bool))
        self.actions: NDArray[np.int64] = np.concatenate(list(blocks))
        self.worst: Array = np.zeros(len(self.actions))

    def add(self, reward: Array) -> None:
        """Take a reward in. **Cost** that of `CommitmentProblem.assess`."""
        problem = CommitmentProblem(self.game, reward)
        upper = problem.assess(self.actions).upper @ self.game.start + float(problem.offset)
        rounding = 8 * EPS * np.abs(upper).max(initial=0.0)
        self.worst = np.maximum(self.worst, best_value(self.game, reward) - upper - rounding)

    def best(self) -> tuple[Array, float]:
        """Return the first commitment with the least worst regret, and that regret."""
        at = int(self.worst.argmin())
        policy = deterministic_policy(self.actions[at], self.game.n_leader_actions)
        return policy, float(self.worst[at])
