"""The worst regret from below: feasible rewards under which a play loses much.

The joint optimum for a reward r, and the feasible reward that is worst against this joint policy (a
linear program), alternate until the regret no longer grows; the best reward met is the witness. The
regret of a play is convex in the reward, so each step can only add to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from iirl_opt.follower.optimal import best_responses
from iirl_opt.game.optimum import modified_policy_iteration
from iirl_opt.game.values import evaluate
from iirl_opt.rewards.advantages import Play
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.rewards.regret_rows import Programs

__all__ = ["GROWTH", "WorstSoFar", "largest_slack", "off_simplex", "regret_under"]

Array = NDArray[np.float64]

# In the unit of values: what programs, solved to 1e-9, cannot tell from zero.
GROWTH = 1e-8


@dataclass(eq=False)
class WorstSoFar:
    """The feasible reward of largest regret so far: at first a constant, which has none."""

    play: Play
    seen: bool
    program: Programs
    regret: float = 0.0
    reward: Array = field(init=False)

    def __post_init__(self) -> None:
        self.reward = np.full(self.play.width, 1.0 / self.play.width)

    def climb(self, reward: Array) -> None:
        """Alternate joint optimum and worst reward from a feasible reward on."""
        before = -np.inf
        while True:
            shaped = reward.reshape(self.play.reward_shape)
            optimum = modified_policy_iteration(self.play.game, shaped)
            regret = _short_of(optimum.values, self.play, self.seen, shaped)
            if regret > self.regret:
                self.regret, self.reward = regret, reward
            if not regret > before + GROWTH:
                return
            before = regret
            reward = self._worst_against(optimum.policy)

    def oppose(self, policy: Array) -> None:
        """Begin with the reward under which a joint policy (S, A·B) gains most."""
        self.climb(self._worst_against(policy))

    def _worst_against(self, policy: Array) -> Array:
        gain = self.play.measure(policy) - self.play.measure(self.play.policy)
        return self.program.maximise(gain).reward


def regret_under(play: Play, seen: bool, reward: Array) -> float:
    """Return the regret under one reward; of an unseen response that against the best response."""
    return _short_of(modified_policy_iteration(play.game, reward).values, play, seen, reward)


def _short_of(best: Array, play: Play, seen: bool, reward: Array) -> float:
    """Return by how much a play falls short of the optimal values (S,) at the start."""
    game = play.game
    if seen:
        return float(game.start @ (best - evaluate(game, reward, (play.pi1, play.pi2))))
    return float(game.start @ (best - best_responses(game, reward, play.pi1).values))


def largest_slack(feasible: FeasibleRewards, reward: Array) -> float:
    """Return the largest gap, in the unit of values, that a feasible reward does not have."""
    return float(feasible.slack(reward).max(initial=0.0))


def off_simplex(reward: Array) -> float:
    return float(max(-reward.min(), abs(reward.sum() - 1.0)))
