"""A ceiling over the regret: bounds on all advantages of a play, and the MDP that has them.

A `Play` is a commitment with its response; its advantages ``adv_r(s, a, b)`` are linear in the
reward. `Ceiling` bounds the largest value ``ā(s, a, b)`` of each over the feasible rewards of the
simplex, and the optimal value of the MDP whose reward is ā. For any ``y ≥ 0`` and any z, with the
rows ``G r ≥ 0`` and ``E r = 0`` of the feasible set,

    c·r ≤ c·r + y·G r − z·E r ≤ max_i (c + Gᵀy − Eᵀz)_i        (weak duality),

so bounds are made from multipliers by this formula, never from a solver's value: a solver that errs
makes them loose, not wrong.

The regret of the play, ``V*(r) − V_π(r)`` from the start distribution, is at most that value. More
generally let φ be any linear functions ``φ_s(r)`` of the reward, a state each. Along a trajectory
``γ^t (γ φ(s_{t+1}) − φ(s_t))`` telescopes, so the regret under r is

    φ_start(r) + max over joint policies of E Σ_t γ^t (adv_r + γ P φ(r) − φ(r))(s_t, a_t, b_t),

and both parts can be bounded by their largest values over all feasible rewards. φ = 0 gives the
bound above, in which every choice meets its own worst reward. Good φ make the worst rewards agree
(`linear_values` in `iirl_opt.rewards.regret_rows` finds them).

The MDP's value needs no ``ā`` of its own for actions that its optimal policy leaves alone. All
start with cheap bounds; programs are solved for what that policy uses, largest effect first, their
multipliers are tried on all others, and it ends when the policy uses nothing that could still fall.
On large games, where that would be thousands of dear programs, multipliers of all bounds are made
together before (`iirl_opt.rewards.regret_batch`), and then further for what the policy uses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.game.kernel import Matrix
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import policy_iteration
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.rewards.advantages import Play, visits_of
from iirl_opt.rewards.regret_batch import Batch
from iirl_opt.rewards.regret_rows import Programs

__all__ = ["Ceiling", "Line", "excess"]

Array = NDArray[np.float64]

# Programs between two looks at the MDP.
BATCH = 32

# Steps for all bounds together, then for those that the policy uses, at most so often, while the
# value falls by this share.
ALL, FURTHER, ROUNDS, FALL = 60, 40, 60, 0.004


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
    before : a ceiling of the same play relative to other φ, whose multipliers are tried at once.
    gains : (S·A·B, width), the advantages relative to φ.
    base, base_proof, base_reward : a bound on φ at the start, the line behind it, and the reward
        that attains it; None where φ = 0.
    bounds, proof : (S·A·B,), and the line of `lines` behind each.
    least : (S·A·B,), what some feasible reward makes of each advantage.
    rewards : the worst reward of each choice that a program was solved for.
    actions, values, visits : the optimal policy of the MDP, its values, and its visits.
    upper : the bound on the regret.
    """

    play: Play
    program: Programs
    linear: Array
    before: Ceiling | None = None
    gains: Array = field(init=False)
    base: float = field(init=False)
    base_reward: Array | None = field(init=False, default=None)
    base_proof: int = field(init=False)
    lines: list[Line] = field(init=False)
    bounds: Array = field(init=False)
    proof: NDArray[np.int64] = field(init=False)
    least: Array = field(init=False)
    rewards: dict[int, Array] = field(default_factory=dict)
    actions: NDArray[np.int64] = field(init=False)
    values: Array = field(init=False)
    upper: float = field(init=False)
    visits: Array = field(init=False)

    def __post_init__(self) -> None:
        self.gains = self.play.relative(self.linear)
        n = len(self.gains)
        self.lines = [Line(np.zeros(0, dtype=np.int64), np.zeros(0), self._no_ties)]
        self.bounds, self.proof = self.gains.max(axis=1), np.zeros(n, dtype=np.int64)
        self.least = self.gains.mean(axis=1)
        if self.before is not None:
            self._use_the_lines(self.before)
        elif self.program.rows.own is not None:
            self._use_the_response(self.program.rows.own)
        self.base, self.base_proof = 0.0, 0
        if self.linear.any():
            self._bound_the_start()
        self.actions = self.bounds.reshape(self.play.game.n_states, -1).argmax(axis=1)
        self._look()
        self.before = None

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

    def proofs(self) -> tuple[Matrix, Array, NDArray[np.int64]]:
        """Return the multipliers, of free and tied rows, that prove bounds, and the line of each.

        The last of these lines is that of the base.
        """
        used, proof = np.unique(np.append(self.proof, self.base_proof), return_inverse=True)
        lines, rows = [self.lines[at] for at in used], self.program.rows
        ends = np.cumsum([0, *(line.at.size for line in lines)])
        at, values = (np.concatenate([line[k] for line in lines]) for k in (0, 1))
        free = sp.csr_array((values, at, ends), shape=(len(lines), len(rows.free)))
        return free, np.array([line.tied for line in lines]), proof

    def relative_to(self, linear: Array, rewards: Array) -> Ceiling:
        """Return the ceiling relative to other φ, with these lines and `rewards`, (k, width)."""
        other = Ceiling(self.play, self.program, linear, self)
        other.least = np.maximum(other.least, (other.gains @ rewards.T).max(axis=1))
        return other

    def lower_to(self, delta: float, *, tolerance: float, limit: float) -> None:
        """Solve programs until the value is at most `delta`, or has but `tolerance` to fall."""
        n_states = self.play.game.n_states
        while self.upper > delta:
            chosen = self.chosen
            gain = self.visits * np.maximum(self.bounds - self.least, 0.0)[chosen]
            known = np.isin(chosen, list(self.rewards))
            open_ = ~known & (gain > tolerance / (2 * n_states))
            left = limit - len(self.rewards)
            if not open_.any() or gain.sum() <= tolerance or left <= 0:
                return
            order = np.argsort(-gain[open_], kind="stable")[: int(min(BATCH, left))]
            for choice in chosen[open_][order]:
                self._solve(int(choice))
            self._look()

    def lower_together(self, delta: float) -> None:
        """Lower all bounds by multipliers that no program was solved for, in a fixed time."""
        batch, which, steps = Batch(self.program.rows, self.gains), np.arange(len(self.gains)), ALL
        for _ in range(ROUNDS):
            before = self.upper
            self._use(batch.kept, batch.improved(which, steps), which)
            self._look()
            if self.upper <= delta or before - self.upper < FALL * before:
                return
            which, steps = self.chosen[self.visits * self.bounds[self.chosen] > 0.0], FURTHER

    def use(self, free: Array, tied: Array) -> None:
        """Use multipliers of free rows, ≥ 0, and of tied ones, a line for each choice."""
        rows = self.program.rows
        proved = (self.gains + free @ rows.free - tied @ rows.tied).max(axis=1)
        for i in np.flatnonzero(proved < self.bounds):
            at = np.flatnonzero(free[i])
            self.bounds[i], self.proof[i] = proved[i], len(self.lines)
            self.lines.append(Line(at, free[i, at], tied[i]))
        self._look()

    def worst(self, n: int) -> list[Array]:
        """Return the worst rewards of the n choices that add most to the bound."""
        order = np.argsort(-self.visits * self.bounds[self.chosen], kind="stable")
        most = (self.rewards.get(int(choice)) for choice in self.chosen[order])
        return [reward for reward in most if reward is not None][:n]

    def _bound_the_start(self) -> None:
        at_start = self.play.game.start @ self.linear
        line, self.base_reward = self._line(at_start)
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

    def _use(self, rows: NDArray[np.int64], free: Array, which: NDArray[np.int64]) -> None:
        """Use multipliers of some free rows, (len(which), rows), each for a choice of its own."""
        proved = (self.gains[which] + free @ self.program.rows.free[rows]).max(axis=1)
        for i in np.flatnonzero(proved < self.bounds[which]):
            at = np.flatnonzero(free[i])
            self.bounds[which[i]], self.proof[which[i]] = proved[i], len(self.lines)
            self.lines.append(Line(rows[at], free[i, at], self._no_ties))

    def _line(self, c: Array) -> tuple[Line, Array]:
        found = self.program.maximise(c)
        at = np.flatnonzero(found.free)
        return Line(at, found.free[at], found.tied), found.reward

    def _shift(self, line: Line) -> Array:
        """Return ``Gᵀy − Eᵀz``, which no feasible reward makes negative."""
        rows = self.program.rows
        return np.asarray(line.free @ rows.free[line.at] - line.tied @ rows.tied)

    def _use_the_lines(self, before: Ceiling) -> None:
        """Bound each advantage by the multipliers that bounded it relative to other φ."""
        used, proof = np.unique(before.proof, return_inverse=True)
        shift = np.array([self._shift(before.lines[at]) for at in used])
        proved = (self.gains + shift[proof]).max(axis=1)
        better = proved < self.bounds
        self.bounds[better], self.proof[better] = proved[better], len(self.lines) + proof[better]
        self.lines += [before.lines[at] for at in used]

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
        self.visits = visits_of(game, self.policy)
        self.upper = self.base + float(game.start @ self.values)


def excess(game: TwoAgentMDP, reward: Array, values: Array) -> float:
    """Return the largest ``r(s, a, b) + γ P_ab v − v(s)``: at most zero, v bounds all values."""
    q = reward.reshape(game.n_states, -1) + game.discount * (game.matrix @ values).reshape(
        game.n_states, -1
    )
    return float((q - values[:, None]).max())
