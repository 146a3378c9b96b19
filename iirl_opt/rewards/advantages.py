"""The largest advantages over a set of rewards, and the MDP that has them for a reward.

A `Play` is a commitment with a response. What it earns is linear in the reward, and so are the
advantages ``adv_r(s, a, b) = Q_π(s, a, b) − V_π(s)`` of all joint actions: for state rewards

    adv_r(s, a, b) = γ (P_ab − P_π)(I − γ P_π)^{-1} r .

`Ceiling` bounds the largest value ``ā(s, a, b)`` of each over the feasible rewards of the simplex,
and the optimal value of the MDP whose reward is ā. For any ``y ≥ 0`` and any z, with the rows
``G r ≥ 0`` and ``E r = 0`` of the feasible set,

    c·r ≤ c·r + y·G r − z·E r ≤ max_i (c + Gᵀy − Eᵀz)_i        (weak duality),

so bounds are made from multipliers by this formula, never from a solver's value: a solver that errs
makes them loose, not wrong.

The regret of the play, ``V*(r) − V_π(r)`` from the start distribution, is at most that value. More
generally let φ be any linear functions ``φ_s(r)`` of the reward, a state each. Along a trajectory
``γ^t (γ φ(s_{t+1}) − φ(s_t))`` telescopes, so the regret under r is

    φ_start(r) + max over joint policies of E Σ_t γ^t (adv_r + γ P φ(r) − φ(r))(s_t, a_t, b_t),

and both parts can be bounded by their largest values over all feasible rewards. φ = 0 gives the
bound above, in which every choice meets its own worst reward. Good φ make the worst rewards agree;
`linear_values` finds them by one program, the dual of a maximisation over *products* of visits and
reward, ``D(s, a, b) = d(s, a, b) r``: each a point of the cone, conserved by the flow in every
entry. It has S·A·B·S columns, so it is for small games.

The MDP's value needs no ``ā`` of its own for actions that its optimal policy leaves alone. All
start with cheap bounds; programs are solved for what that policy uses, largest effect first, their
multipliers are tried on all others, and it ends when the policy uses nothing that could still fall.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from iirl_opt.game.factors import DENSE_STATES
from iirl_opt.game.kernel import Matrix, is_sparse
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import policy_iteration
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.rewards.lifted_rows import ZERO
from iirl_opt.solver import HiGHS, LiveProgram, Status

__all__ = ["Ceiling", "Play", "Polytope", "Programs", "excess", "known_rows", "linear_values"]

Array = NDArray[np.float64]

# Rows that a program takes in at a time, the most violated first, and what counts as violated.
CUTS, VIOLATED = 40, 1e-9

# Programs between two looks at the MDP.
BATCH = 32


@dataclass(frozen=True, eq=False)
class Play:
    """A commitment with a response: what they earn, as linear maps of the flat reward."""

    game: TwoAgentMDP
    pi1: Array
    pi2: Array
    joint: bool

    @property
    def width(self) -> int:
        """The number of entries of a reward."""
        return int(np.prod(self.reward_shape))

    @property
    def reward_shape(self) -> tuple[int, ...]:
        return self.game.shape if self.joint else self.game.shape[:1]

    @property
    def state(self) -> NDArray[np.int64]:
        """The state of each choice, (S·A·B,)."""
        return np.repeat(np.arange(self.game.n_states), self.game.n_choices)

    @property
    def choose(self) -> Matrix:
        """The (S·A·B, S) matrix that repeats a state's entry for each of its choices."""
        return sp.csr_array(sp.eye_array(self.game.n_states, format="csr")[self.state])

    @cached_property
    def policy(self) -> Array:
        """The joint policy, (S, A·B)."""
        return (self.pi1[:, :, None] * self.pi2[:, None, :]).reshape(self.game.n_states, -1)

    @cached_property
    def system(self) -> Array:
        """``I − γ P_π``, dense."""
        chain = _dense(self.game.joint_chain(self.pi1, self.pi2))
        return np.eye(self.game.n_states) - self.game.discount * chain

    @cached_property
    def advantages(self) -> Array:
        """The (S·A·B, width) matrix of ``r ↦ adv_r``."""
        n_states, gamma = self.game.n_states, self.game.discount
        mean = self._mean(self.policy) if self.joint else np.eye(n_states)
        values = np.linalg.solve(self.system, mean)
        out: Array = gamma * np.asarray(self.game.matrix @ values)
        out -= (values if self.joint else values - mean)[self.state]
        if self.joint:
            out[np.arange(len(out)), np.arange(len(out))] += 1.0
        return out

    def relative(self, linear: Array) -> Array:
        """Return the advantages relative to φ, (S, width): ``adv + γ P φ − φ``."""
        if not linear.any():
            return self.advantages
        after = np.asarray(self.game.matrix @ linear)
        return self.advantages + self.game.discount * after - linear[self.state]

    def deviations(self) -> Array:
        """Return the (S·B, width) matrix of the follower's ``V_π(s) − Q_π(s, b)``."""
        split = self.advantages.reshape(*self.game.shape, self.width)
        gaps: Array = -np.einsum("sa,sabi->sbi", self.pi1, split)
        return gaps.reshape(-1, self.width)

    def measure(self, policy: Array) -> Array:
        """Return how the value from the start depends on the reward under a joint policy."""
        mass = _visits(self.game, policy)
        return np.asarray((mass[:, None] * policy).ravel()) if self.joint else mass

    @staticmethod
    def _mean(policy: Array) -> Array:
        n_states, n_choices = policy.shape
        out = np.zeros((n_states, n_states, n_choices))
        out[np.arange(n_states), np.arange(n_states)] = policy
        flat: Array = out.reshape(n_states, -1)
        return flat


class Polytope(NamedTuple):
    """Rows ``free r ≥ 0`` and ``tied r = 0`` over flat rewards.

    The follower's own deviations from the play are the free rows from `own` on, unscaled, where
    the play was observed.
    """

    free: Array
    tied: Array
    own: int | None = None


def known_rows(feasible: FeasibleRewards, play: Play) -> Polytope:
    """Return the rows of the feasible set, and those of the play once more where it is known."""
    free, tied = map(_without_noise, feasible.explicit_rows(joint=play.joint))
    if _was_observed(feasible, play):
        again = _without_noise(play.deviations())
        return Polytope(np.concatenate([free, again]), tied, len(free))
    return Polytope(free, tied)


def _without_noise(rows: Array) -> Array:
    """Return rows whose entries are zero where they are rounding of larger numbers.

    The row of an action that is taken is zero; rounded, it would be a constraint of its own.
    """
    return np.where(np.abs(rows) < ZERO * np.abs(rows).max(initial=0.0), 0.0, rows)


def _was_observed(feasible: FeasibleRewards, play: Play) -> bool:
    return any(
        np.array_equal(o.pi1, play.pi1) and np.array_equal(o.pi2, play.pi2)
        for o in feasible.observations
    )


class Maximum(NamedTuple):
    """The maximum of a linear function: a feasible reward, and multipliers of the rows."""

    reward: Array
    free: Array
    tied: Array


class Programs:
    """Linear functions over the feasible rewards of the simplex.

    One live program: rows are taken in when a reward violates them, and stay.

    Attributes
    ----------
    rows : all rows of the feasible set.
    used : which of the free ones are in the program.
    """

    def __init__(self, rows: Polytope, solver: HiGHS | None) -> None:
        self.rows, self.solver, self.used = rows, solver, np.zeros(0, dtype=np.int64)
        width = rows.free.shape[1]
        right = np.zeros(1 + len(rows.tied))
        right[0] = 1.0
        fixed = np.concatenate([np.ones((1, width)), rows.tied])
        self._live = LiveProgram(
            np.zeros(width), fixed, right, right, lower=0.0, maximise=True, solver=solver
        )

    def maximise(self, c: Array) -> Maximum:
        """Return a maximum of ``c·r``."""
        largest = float(np.abs(c).max())
        self._live.change_objective(c / largest if largest else c)
        while True:
            solved = self._live.solve()
            reward = _onto_simplex(solved.primal["x"])
            slack = self.rows.free @ reward
            slack[self.used] = 0.0
            wrong = np.flatnonzero(slack < -VIOLATED)
            if not wrong.size:
                break
            worst = wrong[np.argsort(slack[wrong], kind="stable")[:CUTS]]
            self._live.add_rows(self.rows.free[worst], np.zeros(worst.size), np.inf)
            self.used = np.concatenate([self.used, worst])
        duals = largest * solved.duals["rows"]
        first = 1 + len(self.rows.tied)
        free = np.zeros(len(self.rows.free))
        free[self.used] = np.maximum(-duals[first:], 0.0)
        return Maximum(reward, free, duals[1:first])


def linear_values(play: Play, rows: Polytope, solver: HiGHS | None) -> tuple[Array, Array] | None:
    """Return linear functions φ, (S, width), that make the bound small, and a bad reward.

    Any φ gives a valid bound, so `rows` may be few and nothing rests on the solver's word; None
    where it brings no optimum.

    **Source** ours: the reformulation-linearisation of ``max E Σ γ^t adv_r`` over visits and r.
    **Cost** one LP with (S·A·B + 1)·width columns.
    """
    n, width = play.advantages.shape
    game = play.game
    each = sp.eye_array(width, format="csr")
    flow = sp.csr_array(play.choose.T) - game.discount * sp.csr_array(game.matrix).T
    begin = sp.csr_array(-game.start[:, None])
    matrix = sp.vstack(
        [
            sp.hstack([sp.kron(flow, each), sp.kron(begin, each)]),
            sp.hstack([sp.csr_array((1, n * width)), sp.csr_array(np.ones((1, width)))]),
            sp.kron(sp.eye_array(n + 1), sp.csr_array(rows.tied)),
            sp.kron(sp.eye_array(n + 1), sp.csr_array(rows.free)),
        ],
        format="csc",
    )
    low, high = np.zeros(matrix.shape[0]), np.zeros(matrix.shape[0])
    n_flows = game.n_states * width
    low[n_flows] = high[n_flows] = 1.0
    high[len(high) - (n + 1) * len(rows.free) :] = np.inf
    goal = np.concatenate([play.advantages.ravel(), np.zeros(width)])
    live = LiveProgram(goal, matrix, low, high, lower=0.0, maximise=True, solver=solver)
    solved = live.solve(throw=False)
    if solved.status is not Status.OPTIMAL:
        return None
    values = solved.duals["rows"][:n_flows].reshape(game.n_states, width)
    return values, _onto_simplex(solved.primal["x"][-width:])


class Line(NamedTuple):
    """Multipliers ``y ≥ 0`` of some free rows and z of the tied ones."""

    at: NDArray[np.int64]
    free: Array
    tied: Array


@dataclass(eq=False)
class Ceiling:
    """Upper bounds on all advantages, their proofs, and the MDP that has them for a reward.

    Attributes
    ----------
    linear : φ, (S, width).
    gains : (S·A·B, width), the advantages relative to φ.
    base, base_proof : a bound on φ at the start, and the line behind it.
    bounds, proof : (S·A·B,), and the line of `lines` behind each.
    least : (S·A·B,), what some feasible reward makes of each advantage.
    rewards : the worst reward of each choice that a program was solved for.
    actions, values : the optimal policy of the MDP, and its values.
    upper : the bound on the regret.
    """

    play: Play
    program: Programs
    linear: Array
    gains: Array = field(init=False)
    base: float = field(init=False)
    base_proof: int = field(init=False)
    lines: list[Line] = field(init=False)
    bounds: Array = field(init=False)
    proof: NDArray[np.int64] = field(init=False)
    least: Array = field(init=False)
    rewards: dict[int, Array] = field(default_factory=dict)
    actions: NDArray[np.int64] = field(init=False)
    values: Array = field(init=False)
    upper: float = field(init=False)
    _weight: Array = field(init=False)

    def __post_init__(self) -> None:
        self.gains = self.play.relative(self.linear)
        n = len(self.gains)
        self.lines = [Line(np.zeros(0, dtype=np.int64), np.zeros(0), self._no_ties)]
        self.bounds, self.proof = self.gains.max(axis=1), np.zeros(n, dtype=np.int64)
        self.least = self.gains.mean(axis=1)
        if self.program.rows.own is not None:
            self._use_the_response(self.program.rows.own)
        self.base, self.base_proof = 0.0, 0
        if self.linear.any():
            self._bound_the_start()
        self.actions = self.bounds.reshape(self.play.game.n_states, -1).argmax(axis=1)
        self._look()

    @property
    def _no_ties(self) -> Array:
        return np.zeros(len(self.program.rows.tied))

    @property
    def chosen(self) -> NDArray[np.int64]:
        """The choice of that policy in each state, among all S·A·B."""
        game = self.play.game
        return np.asarray(np.arange(game.n_states) * game.n_choices + self.actions)

    @property
    def policy(self) -> Array:
        """The optimal policy of the MDP, (S, A·B)."""
        return deterministic_policy(self.actions, self.play.game.n_choices)

    @property
    def multipliers(self) -> tuple[Matrix, Array]:
        """The multipliers of free and tied rows, a line each."""
        ends = np.cumsum([0, *(line.at.size for line in self.lines)])
        parts = [np.concatenate([line[k] for line in self.lines]) for k in (1, 0)]
        shape = (len(self.lines), len(self.program.rows.free))
        free = sp.csr_array((parts[0], parts[1], ends), shape=shape)
        return free, np.array([line.tied for line in self.lines])

    def lower_to(self, delta: float, *, tolerance: float, limit: int) -> None:
        """Solve programs until the value is at most `delta`, or has but `tolerance` to fall."""
        n_states = self.play.game.n_states
        while self.upper > delta:
            chosen = self.chosen
            gain = self._weight * np.maximum(self.bounds - self.least, 0.0)[chosen]
            known = np.isin(chosen, list(self.rewards))
            open_ = ~known & (gain > tolerance / (2 * n_states))
            left = limit - len(self.rewards)
            if not open_.any() or gain.sum() <= tolerance or left <= 0:
                return
            order = np.argsort(-gain[open_], kind="stable")[: min(BATCH, left)]
            for choice in chosen[open_][order]:
                self._solve(int(choice))
            self._look()

    def worst(self, n: int) -> list[Array]:
        """Return the worst rewards of the n choices that add most to the bound."""
        order = np.argsort(-self._weight * self.bounds[self.chosen], kind="stable")
        most = (self.rewards.get(int(choice)) for choice in self.chosen[order])
        return [reward for reward in most if reward is not None][:n]

    def _bound_the_start(self) -> None:
        at_start = self.play.game.start @ self.linear
        line, _ = self._line(at_start)
        self.base, self.base_proof = float((at_start + self._shift(line)).max()), len(self.lines)
        self.lines.append(line)

    def _solve(self, choice: int) -> None:
        """Solve the program of a choice, and use its multipliers wherever they prove more."""
        line, reward = self._line(self.gains[choice])
        self.rewards[choice] = reward
        self.least = np.maximum(self.least, self.gains @ reward)
        open_ = np.flatnonzero(self.bounds > self.least)
        proved = (self.gains[open_] + self._shift(line)).max(axis=1)
        better = proved < self.bounds[open_]
        if better.any():
            self.bounds[open_[better]] = proved[better]
            self.proof[open_[better]] = len(self.lines)
            self.lines.append(line)

    def _line(self, c: Array) -> tuple[Line, Array]:
        found = self.program.maximise(c)
        at = np.flatnonzero(found.free)
        return Line(at, found.free[at], found.tied), found.reward

    def _shift(self, line: Line) -> Array:
        """Return ``Gᵀy − Eᵀz``, which no feasible reward makes negative."""
        rows = self.program.rows
        return np.asarray(line.free @ rows.free[line.at] - line.tied @ rows.tied)

    def _use_the_response(self, first: int) -> None:
        """Add to each advantage the row of the follower's action in it, which is among the rows.

        Where the leader plays but one action, that leaves nothing: the follower has chosen.
        """
        game = self.play.game
        deviations = self.program.rows.free[first:].reshape(game.n_states, 1, game.shape[2], -1)
        split = self.gains.reshape(*game.shape, -1)
        proved = (split + deviations).max(axis=3).ravel()
        action = np.arange(proved.size) % game.shape[2]
        row = self.play.state * game.shape[2] + action
        better = proved < self.bounds
        self.bounds[better], self.proof[better] = proved[better], 1 + row[better]
        one = np.ones(1)
        self.lines += [
            Line(np.array([at]), one, self._no_ties)
            for at in range(first, len(self.program.rows.free))
        ]

    def _look(self) -> None:
        """Solve the MDP; its values are raised until they are a bound by arithmetic."""
        game = self.play.game
        bounds = self.bounds.reshape(game.shape)
        optimum = policy_iteration(game, bounds, initial=self.actions)
        over = max(0.0, excess(game, bounds, optimum.values))
        self.values = optimum.values + over / (1 - game.discount)
        self.actions = optimum.q.argmax(axis=1)
        self._weight = _visits(game, self.policy)
        self.upper = self.base + float(game.start @ self.values)


def excess(game: TwoAgentMDP, reward: Array, values: Array) -> float:
    """Return the largest ``r(s, a, b) + γ P_ab v − v(s)``: at most zero, v bounds all values."""
    q = reward.reshape(game.n_states, -1) + game.discount * (game.matrix @ values).reshape(
        game.n_states, -1
    )
    return float((q - values[:, None]).max())


def _visits(game: TwoAgentMDP, policy: Array) -> Array:
    """Return the discounted visits of each state under a joint policy (S, A·B), shape (S,)."""
    chain = game.joint_mdp().chain(policy)
    if is_sparse(chain) and game.n_states > DENSE_STATES:
        system: Any = sp.eye_array(game.n_states, format="csc") - game.discount * chain.tocsc()
        return np.asarray(splu(system.T.tocsc()).solve(np.array(game.start)))
    system = np.eye(game.n_states) - game.discount * _dense(chain)
    return np.asarray(np.linalg.solve(system.T, game.start))


def _onto_simplex(reward: Array) -> Array:
    """Return a solver's reward without its rounding: nonnegative, with sum one."""
    clipped = np.maximum(reward, 0.0)
    return np.asarray(clipped / clipped.sum())


def _dense(matrix: Matrix) -> Array:
    return np.asarray(matrix.toarray() if is_sparse(matrix) else matrix)
