"""Chords of sets whose responses may lose something: how far they reach along a line.

The loss of a response is convex and piecewise linear in the reward, one piece a deterministic
policy, so along a line the set is a segment. From outside an end is found by Newton's method: the
policy that is optimal there is one of the pieces, and the place where that one loses what is
declared is nearer to the end, or is the end. Policies are finitely many, so it ends; in practice
after two or three planning problems.

It serves the walk of `iirl_opt.rewards.geometry`, which needs no list of rows for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.game.kernel import is_sparse
from iirl_opt.rewards.suboptimal import SuboptimalResponse

__all__ = ["LosingChords"]

Array = NDArray[np.float64]

# A loss is exceeded by more than this share of the values.
ROUNDING = 1e-11


@dataclass(frozen=True, eq=False)
class LosingChords:
    """The state rewards under which some responses lose at most what is declared."""

    episodes: Sequence[SuboptimalResponse]

    def shortened(self, x: Array, direction: Array, low: float, high: float) -> tuple[float, float]:
        """Return the part of ``low ≤ t ≤ high`` with ``x + t · direction`` in the set, x being so.

        **Cost** some planning problems an episode.
        """
        lines = [_Line(episode, x, direction) for episode in self.episodes]
        ends = []
        for t in (low, high):
            while t and (nearer := min((line.end(t) for line in lines), key=abs)) != t:
                t = nearer
            ends.append(t)
        return ends[0], ends[1]


class _Line:
    """What a response loses along a line of rewards."""

    def __init__(self, episode: SuboptimalResponse, x: Array, direction: Array) -> None:
        self.mdp, self.line = episode.environment.mdp, np.stack([x, direction], axis=1)
        declared = episode.declared
        self.weight, self.allowed = 1.0, declared.amount
        if declared.share is not None:
            self.weight, self.allowed = 1 - declared.amount, 0.0
        self.start = np.asarray(self.mdp.start)[None] if declared.start else None
        self.kernel, self.actions = _dense(self.mdp.matrix), episode.observation.pi2.argmax(axis=1)
        self.own = self._of(_dense(episode.response.flow))

    def _of(self, flow: Array) -> Array:
        """Return the values of both ends of the line, by state or from the start, (·, 2)."""
        values = np.linalg.solve(flow, self.line)
        return np.asarray(values if self.start is None else self.start @ values)

    def _best_flow(self, t: float) -> Array:
        """Return ``I − γP`` of the best policy at t, up to rounding, from the last one on."""
        (n_states, n_actions), gamma = self.mdp.shape, self.mdp.discount
        reward, states = self.line @ [1.0, t], np.arange(n_states)
        while True:
            chain = self.kernel[states * n_actions + self.actions]
            flow = np.eye(n_states) - gamma * chain
            ahead = (self.kernel @ np.linalg.solve(flow, reward)).reshape(n_states, n_actions)
            most, size = ahead.max(axis=1), np.abs(ahead).max()
            better = most > ahead[states, self.actions] + ROUNDING * size
            if not better.any():
                return np.asarray(flow)
            self.actions = np.where(better, ahead.argmax(axis=1), self.actions)

    def end(self, t: float) -> float:
        """Return t, or a place nearer to 0 that the set does not reach beyond."""
        lost = self.weight * self._of(self._best_flow(t)) - self.own
        over = lost @ [1.0, t] - self.allowed
        size = np.abs(self.own) @ [1.0, abs(t)] + self.allowed
        wrong = over > ROUNDING * size
        if not wrong.any():
            return t
        reached = (self.allowed - lost[wrong, 0]) / lost[wrong, 1]
        found = float(reached[np.abs(reached).argmin()])
        return found if 0 < found / t < 1 else 0.0


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if is_sparse(matrix) else matrix)
