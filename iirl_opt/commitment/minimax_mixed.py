"""Stochastic commitments with a smaller worst regret over finitely many rewards: a descent.

What a response to a commitment c can earn under a reward is the maximum of what its responses earn,
and where one is best the derivative by c(a|s) is ``d(s) Q(s, a)``: the visits of that play, times
what action a is worth there against the same response. So the worst regret over rewards r_1 … r_K
is nearly ``max_k [V*(r_k) − W_k(c) − ∇W_k · (c' − c)]`` for commitments c' close to c, and the best
of these is a linear program in c' and one number more. A step that does not better the worst regret
is halved. It ends in a local optimum at best; nothing rests on it, since whatever it finds is
bounded anew (`iirl_opt.rewards.elsewhere`).

Source: ours; sequential linear programming with a trust region.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from iirl_opt.commitment.minimax_program import best_value
from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.commitment.stacked import Arithmetic, Stack, best
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.solver import HiGHS, LiveProgram, Status

__all__ = ["Descent"]

Array = NDArray[np.float64]

# The largest change of a probability at first, the least that is tried, steps at most, and what
# counts as better, as a share.
WIDE, NARROW, STEPS, BETTER = 0.5, 1e-3, 40, 1e-6


@dataclass(frozen=True, eq=False)
class Descent:
    """The worst regret of commitments over rewards (K, S), and how to lower it."""

    game: TwoAgentMDP
    rewards: Array
    solver: HiGHS | None = None

    @cached_property
    def best(self) -> Array:
        """V* from the start, (K,)."""
        return np.array([best_value(self.game, reward) for reward in self.rewards])

    @cached_property
    def _arithmetic(self) -> Arithmetic:
        return CommitmentProblem(self.game, self.rewards[0]).arithmetic

    @cached_property
    def _kernel(self) -> Array:
        return self.game.kernel

    def regrets(self, pi1: Array) -> tuple[Array, Array]:
        """Return the regrets (K,) of a commitment (S, A), and ∇W, (K, S, A)."""
        n_states, k = self.game.n_states, len(self.rewards)
        theirs = np.einsum("sa,sabt->sbt", pi1, self._kernel)
        shape = (k, n_states, self.game.n_follower_actions)
        reward = np.broadcast_to(self.rewards[:, :, None], shape)
        stack = Stack(np.broadcast_to(theirs, (k, *theirs.shape)), reward, abs(reward))
        found = best(stack, self._arithmetic)
        states, gamma = np.arange(n_states), self.game.discount
        chains = theirs[states, found.actions]
        systems = np.eye(n_states) - gamma * chains.transpose(0, 2, 1)
        right = np.broadcast_to(self.game.start[:, None], (k, n_states, 1))
        visits = np.linalg.solve(systems, right)[..., 0]
        # What each leader action leads to against the response: (K, S, A, S') · (K, S').
        rows = self._kernel[states, :, found.actions]
        ahead = gamma * np.einsum("ksat,kt->ksa", rows, found.values)
        return self.best - found.values @ self.game.start, visits[:, :, None] * ahead

    def lowered(self, pi1: Array) -> tuple[Array, float]:
        """Return a commitment that is at least as good as one (S, A), and its worst regret."""
        regrets, slopes = self.regrets(pi1)
        worst, width = float(regrets.max()), WIDE
        for _ in range(STEPS):
            if width < NARROW:
                break
            step = self._step(pi1, regrets, slopes, width)
            if step is None:
                break
            tried, slope = self.regrets(step)
            if tried.max() < worst - BETTER * abs(worst):
                pi1, regrets, slopes, worst = step, tried, slope, float(tried.max())
            else:
                width /= 2
        return pi1, worst

    def _step(self, pi1: Array, regrets: Array, slopes: Array, width: float) -> Array | None:
        """Return the best commitment within a width, by the slopes; None where HiGHS has none."""
        size, k = pi1.size, len(regrets)
        flat = slopes.reshape(k, size)
        matrix = np.zeros((k + pi1.shape[0], size + 1))
        matrix[:k, :size], matrix[:k, size] = flat, 1.0
        matrix[k:, :size] = np.kron(np.eye(pi1.shape[0]), np.ones((1, pi1.shape[1])))
        one = np.ones(pi1.shape[0])
        program = LiveProgram(
            np.append(np.zeros(size), 1.0),
            matrix,
            np.append(regrets + flat @ pi1.ravel(), one),
            np.append(np.full(k, np.inf), one),
            lower=np.append(np.maximum(pi1.ravel() - width, 0.0), -np.inf),
            upper=np.append(np.minimum(pi1.ravel() + width, 1.0), np.inf),
            solver=self.solver,
        )
        solved = program.solve(throw=False)
        if solved.status is not Status.OPTIMAL:
            return None
        found = np.maximum(solved.primal["x"][:-1].reshape(pi1.shape), 0.0)
        return np.asarray(found / found.sum(axis=1, keepdims=True))
