"""Learners that keep the feasible set: what `InteractiveIRL` and `ActiveIRL` share.

All they know is `FeasibleRewards`, the rewards that explain every answer. Before the first answer,
and where nothing is known but constants, they play the first commitment or a random one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.learn.learner import Learner
from iirl_opt.observation import Observation, Trajectory
from iirl_opt.rewards.feasible import FeasibleRewards

__all__ = ["FeasibleLearner"]

Array = NDArray[np.float64]


class FeasibleLearner(Learner):
    """A learner whose knowledge is the set of rewards that explain all answers.

    Attributes
    ----------
    first : the first commitment (S, A), or None for a random one.
    feasible : what is known; `known` is the same, and never None.
    joint : whether it learns a joint reward (S, A, B).
    """

    first: ArrayLike | None
    feasible: FeasibleRewards | None
    joint: bool = False

    @property
    def known(self) -> FeasibleRewards:
        """The rewards that explain all episodes."""
        assert self.feasible is not None
        return self.feasible

    @property
    def history(self) -> tuple[Observation | Trajectory, ...]:
        """All observations; what somebody prefers is no answer to a commitment."""
        return self.known.answers

    def facts(self) -> dict[str, float]:
        """Return the number of rows of the feasible set. **Cost** arithmetic."""
        return {"rows": self.known.count_rows(joint=self.joint)}

    def contradictions(self) -> tuple[int, ...] | None:
        """Return episodes that no non-constant reward explains together, or None.

        Counted from 1; a smallest such set. Where trajectories were seen, None is no proof.

        **Cost** at most two LPs an episode.
        """
        return self.known.explain_infeasibility()

    def _begin(self) -> None:
        """Check the first commitment, and start from no observation unless some are given."""
        self._keep_first(self.first)
        if self.feasible is None:
            object.__setattr__(self, "feasible", FeasibleRewards(self.game))

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.episode])

    def _uninformed(self) -> Array:
        """Return the first commitment, or a random one where nothing is known."""
        if not self.episode and self.first is not None:
            return np.array(self.first)
        return self._random_commitment(self._rng())
