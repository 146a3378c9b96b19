"""Learners that believe: what `ActiveIRL` and `CommitteeIRL` share.

Beside the feasible set they keep its rows with their analytic centre (`iirl_opt.learn.belief`),
which is their estimate. Rows that repeat earlier ones are left out, which would push the centre
away. Rows that contradict each other, of a follower that errs, are violated at a price (an L1
penalty), so the learner goes on; `contradictions` names the episodes. Of a trajectory they take
rows that every reward explaining it meets, found by a few linear programs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.learn.belief import WIDTH, Belief
from iirl_opt.learn.feasible_learner import FeasibleLearner
from iirl_opt.observation import Trajectory
from iirl_opt.rewards.centre import Centre
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.rewards.unit_rows import UnitRows, unit_rows

__all__ = ["BelievingLearner"]

Array = NDArray[np.float64]


class BelievingLearner(FeasibleLearner):
    """A learner of state rewards (S,) whose estimate is the centre of what is known.

    Attributes
    ----------
    price : > 0, of violating a row of norm one by one unit.
    """

    price: float
    _belief: Belief | None

    def __post_init__(self) -> None:
        self._begin()
        belief = self._belief
        if belief is None:
            belief = Belief(self.game, UnitRows.of(self._learnt(self.known, None)), self.price)
        elif belief.price != self.price:
            belief = replace(belief, price=self.price)
        object.__setattr__(self, "_belief", belief)

    @property
    def _believed(self) -> Belief:
        assert self._belief is not None
        return self._belief

    @property
    def centre(self) -> Centre | None:
        """The analytic centre of what is known, or None while nothing is.

        **Cost** arithmetic: some ten to thirty S×S linear systems, once.
        """
        return self._believed.centre

    def estimate(self) -> Array | None:
        """Return the estimate (S,) in the simplex; None while only constants are known.

        **Cost** arithmetic: that of the centre.
        """
        reward = self._believed.estimate
        return None if reward is None else reward.copy()

    def tell(self, response: ArrayLike | Trajectory, *, pi1: ArrayLike | None = None) -> Self:
        """Return the learner that also knows this response; the old one stays as it is.

        Parameters
        ----------
        response : policy (S, B), a boolean mask (S, B) of all optimal actions, or a trajectory.
        pi1 : what was committed, where it was not what `ask` returned; a trajectory says it itself.

        Raises
        ------
        InvalidPolicy, InvalidObservation
            The response is no policy; nothing is lost.
        """
        if isinstance(response, Trajectory):
            played = response.pi1 if pi1 is None else pi1
        else:
            played = self.ask() if pi1 is None else pi1
        known = self.known.observe(played, response)
        belief = self._believed
        if known.episodes[-1] not in self.known.episodes:
            belief = belief.joined(self._learnt(known, belief.centre, since=self.episode))
        changed: Any = replace(cast("Any", self), feasible=known, _belief=belief)
        return cast("Self", changed)

    def _learnt(self, known: FeasibleRewards, centre: Centre | None, *, since: int = 0) -> Array:
        """Return the unit rows (rows, S) of the episodes from `since` on.

        An equation is a row and its negative. Trajectories have no list of rows; theirs cut off
        points around the centre, and all those under one commitment are taken together.
        """
        new = known.episodes[since:]
        watched = [e.observation.pi1 for e in new if isinstance(e.observation, Trajectory)]
        whole = tuple(e for e in new if not isinstance(e.observation, Trajectory))
        seen = FeasibleRewards(self.game, whole).distinct_rows()
        rows = [seen.rows, seen.ties, -seen.ties]
        if watched:
            paths = tuple(
                episode
                for episode in known.episodes
                if isinstance(episode.observation, Trajectory)
                and any(np.array_equal(episode.observation.pi1, pi1) for pi1 in watched)
            )
            points = self._probes(centre)
            # Rows that use that rewards are not negative do not survive the loss of their means.
            rows.append(FeasibleRewards(self.game, paths).outer_rows(points, ceilings=False))
        return unit_rows(np.concatenate(rows))

    def _probes(self, centre: Centre | None) -> Array:
        """Return the centre, points around it and points all over the simplex, (k, S)."""
        n, rng = self.game.n_states, self._rng()
        if centre is None:
            return rng.dirichlet(np.ones(n), 2 * n)
        near = np.maximum(centre.spread(n, rng, scale=WIDTH), 0.0)
        near /= near.sum(axis=1, keepdims=True)
        return np.concatenate([centre.point[None], near, rng.dirichlet(np.ones(n), n)])
