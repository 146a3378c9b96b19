"""Trajectories of an optimal follower: what the visited states say, and a convex outer set.

A trajectory shows actions b in the states that it visits, under a commitment π1. A reward r
*explains* it when each is optimal, that is with the optimal value V* of what π1 leaves

    V*(s) = r(s, b) + γ P_b V*(s)        for every pair (s, b) that was seen.

What the follower does elsewhere is not known, and V* depends on it: the set of these rewards is a
union of polyhedral cones, one a way to complete the response, and in general not convex. To decide
whether a *given* reward belongs to it takes one planning problem. Programs work on a cone around
it, over rewards and *super-solutions* V of Bellman's equation:

    V(s) ≥ r(s, b) + γ P_b V(s)     for every pair               (unseen)
    V(s) = r(s, b) + γ P_b V(s)     for every pair that was seen (seen, idle)

*It contains every reward that explains the trajectory*, with V = V*.

*What it adds.* It holds exactly the rewards r for which some r + d explains the trajectory, d ≥ 0
a function of the state that is zero in the visited ones: given (r, V), raise r in each other state
by the least slack of its rows; then V solves Bellman's equation, so it is V*, and what was seen is
optimal. Conversely V* of r + d is a super-solution for r.

*Where it is exact.* Let no action that was seen lead out of the visited states. On them V is then
the value of following what was seen, which is at most V*, while every super-solution is at least
V*. So V = V* there, and the pairs seen are optimal. A whole response is the case where all states
are visited. States in which the follower has no influence count as visited.

Trajectories under the same commitment share V (the optimal value is one function), which cuts more
than each by itself.

*Ceilings.* In a domain of state rewards r ≥ ρ, as the simplex with ρ = 0, values of states that
were not visited are no larger than what can be collected from there:

    V(s) ≤ ρ/(1−γ) + Σ_s' N(s, s') (r(s') − ρ)                   (ceiling)

with N(s, s') the largest expected discounted number of visits to s' from s. For V* is sublinear in
the reward (a maximum of linear functions, over policies) and r − ρ is a sum of multiples of
indicators, of which the columns of N are the optimal values. At the vertices of the simplex the two
sides are equal, so no smaller concave function of r bounds V*(s) there. The whole cone has no such
rows: it contains every shift of its rewards.

*Rows of rewards alone* would be a projection of the cone, with too many facets to list. But a
reward outside is cut off by one: the multipliers of the program that looks for its V sum the rows
to an inequality in which V cancels (`PartialResponse.outer_rows`, as in Benders' method).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.game.exact import exact_optimum
from iirl_opt.game.kernel import Matrix, is_sparse
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.game.optimum import Gaps, follower_gaps
from iirl_opt.observation import Trajectory
from iirl_opt.rewards.lifted_rows import ZERO
from iirl_opt.rewards.price import LabelledRows, in_words
from iirl_opt.solver import LiveProgram

__all__ = ["CommittedGame", "PartialResponse", "Watched", "count_pairs", "visit_ceilings"]

Array = NDArray[np.float64]

# Ceilings within this share of 1/(1−γ) of the least ones, or after so many sweeps, will do.
LOOSE, SWEEPS = 1e-4, 400

# A row of norm one cuts a point off when it is negative there by more than this.
CUTS = 1e-9


@dataclass(frozen=True, eq=False)
class CommittedGame:
    """What a commitment leaves to the follower; all trajectories under it share this."""

    game: TwoAgentMDP
    pi1: Array

    @cached_property
    def mdp(self) -> MDP:
        """The follower's decision problem."""
        return self.game.follower_mdp(self.pi1)

    @cached_property
    def idle(self) -> NDArray[np.bool_]:
        """In which states all follower actions lead to the same, shape (S,)."""
        n_states, n_actions = self.mdp.shape
        first = np.repeat(np.arange(n_states) * n_actions, n_actions)
        off = abs(sp.csr_array(self.mdp.matrix) - sp.csr_array(self.mdp.matrix)[first])
        worst = off.max(axis=1).toarray().reshape(n_states, n_actions)
        idle: NDArray[np.bool_] = worst.max(axis=1) < ZERO
        return idle

    @property
    def on_values(self) -> Matrix:
        """The (S·B, S) matrix of ``V ↦ V(s) − γ P_b V(s)``."""
        n_states, n_actions = self.mdp.shape
        eye: Any = sp.eye_array(n_states, format="csr")
        own = eye[np.repeat(np.arange(n_states), n_actions)]
        return sp.csr_array(own - self.game.discount * sp.csr_array(self.mdp.matrix))

    @cached_property
    def ceilings(self) -> Array:
        """The matrix N from above, shape (S, S)."""
        return visit_ceilings(self.mdp)

    def gaps(self, reward: ArrayLike) -> Gaps:
        """Return ``V*(s) − Q*(s, b)``."""
        return follower_gaps(self.game, reward, self.pi1)

    def exact_gaps(self, reward: ArrayLike) -> NDArray[Any]:
        """Return ``V*(s) − Q*(s, b)`` in Fractions, shape (S, B)."""
        return exact_optimum(self.game, reward, self.pi1).gaps

    def on_rewards(self, joint: bool) -> Matrix:
        """Return the (S·B, ·) matrix of ``r ↦ r(s, b)``, over flat rewards."""
        n_states, n_actions = self.mdp.shape
        eye: Any = sp.eye_array(n_states, format="csr")
        if not joint:
            return eye[np.repeat(np.arange(n_states), n_actions)]
        s, a = np.nonzero(self.pi1)
        b = np.arange(n_actions)
        rows = (s[:, None] * n_actions + b).ravel()
        columns = ((s * self.pi1.shape[1] + a)[:, None] * n_actions + b).ravel()
        entries = np.repeat(self.pi1[s, a], n_actions)
        width = n_states * self.pi1.shape[1] * n_actions
        matrix: Matrix = sp.csr_array(
            (entries, (rows, columns)), shape=(n_states * n_actions, width)
        )
        return matrix


@dataclass(frozen=True, eq=False)
class Watched:
    """One trajectory; those under the same commitment share its environment."""

    observation: Trajectory
    environment: CommittedGame

    @cached_property
    def played(self) -> NDArray[np.bool_]:
        """Which actions are known to be optimal, shape (S, B)."""
        return count_pairs(self.observation, self.environment.game.n_follower_actions) > 0

    def gaps(self, reward: ArrayLike) -> Gaps:
        """Return ``V*(s) − Q*(s, b)``."""
        return self.environment.gaps(reward)

    def exact_gaps(self, reward: ArrayLike) -> NDArray[Any]:
        """Return ``V*(s) − Q*(s, b)`` in Fractions, shape (S, B)."""
        return self.environment.exact_gaps(reward)


@dataclass(frozen=True, eq=False)
class PartialResponse:
    """What all trajectories under one commitment say of the response.

    Attributes
    ----------
    environment : what the commitment leaves to the follower.
    counts : in how many trajectories each pair was seen, shape (S, B).
    """

    environment: CommittedGame
    counts: NDArray[np.int64]

    @property
    def closed(self) -> bool:
        """Whether nothing that was seen leads out of the visited states: then the cone is exact."""
        idle, seen = self._known(joint=False)
        known = seen.copy()
        known[idle, 0] = True
        leaving = self.environment.mdp.matrix[known.ravel()][:, ~known.any(axis=1)]
        return not (leaving.nnz if is_sparse(leaving) else np.any(leaving))

    def _known(self, joint: bool) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return in which states all actions are the same (S,), and what was seen elsewhere."""
        n_states, n_actions = self.counts.shape
        idle = np.full(n_states, n_actions == 1) if joint else self.environment.idle
        return idle, (self.counts > 0) & ~idle[:, None]

    def places(self, *, joint: bool) -> tuple[NDArray[np.int64], ...]:
        """Return what the rows ``seen``, ``unseen`` (s·B + b) and ``ceiling`` (s) speak of."""
        idle, seen = self._known(joint=joint)
        others = ~(seen | idle[:, None])
        return tuple(map(np.flatnonzero, (seen, others, ~(idle | seen.any(axis=1)))))

    def rows(
        self, t: int, r: cp.Expression, v: cp.Variable, *, joint: bool, floor: float | None
    ) -> list[LabelledRows]:
        """Return the lifted rows: only those of what was seen have a price.

        Parameters
        ----------
        t : the number in the labels, from 1.
        r : flat, (S,) or (S·A·B,).
        v : the super-solution, (S,).
        joint : whether it stands for a joint reward.
        floor : what no state reward of the domain is below, where that is known.
        """
        env, n_actions = self.environment, self.counts.shape[1]
        gamma = env.game.discount
        on_v, on_r = env.on_values, sp.csr_array(env.on_rewards(joint=joint))

        def gap(which: NDArray[np.int64]) -> cp.Expression:
            return on_v[which] @ v - on_r[which] @ r

        same = np.flatnonzero(self._known(joint=joint)[0]) * n_actions
        shown, others, away = self.places(joint=joint)
        weight = self.counts.ravel()[shown].astype(float)
        rows = [
            LabelledRows(f"idle[{t}]", gap(same), "equal", None, in_words(env.game, same)),
            LabelledRows(f"seen[{t}]", gap(shown), "most", weight, in_words(env.game, shown)),
            LabelledRows(f"unseen[{t}]", gap(others), "least", None, in_words(env.game, others)),
        ]
        if floor is not None and away.size:
            n = env.ceilings[away]
            rest = floor * (1 / (1 - gamma) - n.sum(axis=1))
            rows.append(LabelledRows(f"ceiling[{t}]", n @ r + rest - v[away], "least", None))
        return [part for part in rows if part.value.size]

    def outer_rows(self, points: Array, *, ceilings: bool = True) -> Array:
        """Return rows g with ``g·r ≥ 0`` for all rewards of the simplex that explain what was seen.

        Each cuts off one of the points; those in the cone bring none. Sound to the last bit but for
        rounding of sums: what the multipliers leave of V is bounded by 1/(1−γ) and added.

        Parameters
        ----------
        points : shape (k, S), in the simplex.
        ceilings : whether they count; without, rows vanish on constants (up to rounding).

        Returns
        -------
        rows of norm one, shape (m, S), m ≤ k.

        **Cost** k LPs in S + 1 variables, hot: only right-hand sides change.
        """
        env, (n_states, n_actions) = self.environment, self.counts.shape
        gamma = env.game.discount
        eye: Any = sp.eye_array(n_states, format="csr")
        every = np.repeat(np.arange(n_states), n_actions)
        idle, known = self._known(joint=False)
        known[idle, 0] = True
        shown = np.flatnonzero(known)
        away = np.flatnonzero(~known.any(axis=1) & ceilings)
        on_v = env.on_values
        on_v = sp.vstack([on_v, -on_v[shown], -eye[away]], format="csr")
        on_r = np.concatenate(
            [np.eye(n_states)[every], -np.eye(n_states)[every[shown]], -env.ceilings[away]]
        )
        live = LiveProgram(
            np.eye(n_states + 1)[n_states],
            sp.hstack([on_v, sp.csr_array(np.ones((len(on_r), 1)))], format="csc"),
            np.zeros(len(on_r)),
            np.full(len(on_r), np.inf),
            lower=np.append(np.full(n_states, -np.inf), 0.0),
        )
        out = [np.zeros((0, n_states))]
        for point in points:
            live.change_rows(on_r @ point, np.full(len(on_r), np.inf))
            solved = live.solve()
            weight = np.maximum(-solved.duals["rows"], 0.0)
            row = np.abs(on_v.T @ weight).sum() / (1 - gamma) - weight @ on_r
            if row @ point < -CUTS * np.linalg.norm(row):
                out.append(row[None] / np.linalg.norm(row))
        return np.concatenate(out)


def count_pairs(trajectory: Trajectory, n_actions: int) -> NDArray[np.int64]:
    """Return which pairs (s, b) a trajectory shows, as zeros and ones of shape (S, B)."""
    shown = np.zeros((len(trajectory.pi1), n_actions), dtype=np.int64)
    shown[trajectory.states, trajectory.follower_actions] = 1
    return shown


def visit_ceilings(mdp: MDP) -> Array:
    """Return upper bounds on the largest expected discounted numbers of visits, shape (S, S).

    Entry (s, s') is at least ``max_π E Σ_t γ^t [s_t = s']`` from s: the optimal value for the
    indicator of s'. All columns are iterated at once; at every sweep ``TV + γ max(TV − V)/(1−γ)``
    bounds the optimum from above, so it is sound wherever it stops.

    **Source** MacQueen 1966 (the bounds). **Cost** arithmetic: a product of the kernel with an
    (S, S) matrix a sweep, some tens to hundreds of them.
    """
    n_states, n_actions = mdp.shape
    gamma, target = mdp.discount, np.eye(n_states)
    values, best = target, np.full((n_states, n_states), 1 / (1 - gamma))
    for _ in range(SWEEPS):
        ahead = np.asarray(mdp.matrix @ values).reshape(n_states, n_actions, n_states)
        improved = target + gamma * ahead.max(axis=1)
        change = improved - values
        high, low = change.max(axis=0), change.min(axis=0)
        best = np.minimum(best, improved + gamma / (1 - gamma) * high)
        values = improved
        if gamma * float((high - low).max()) <= LOOSE:
            break
    return best
