"""The active learner: an optimal follower's reward from mixtures that cost little.

Algorithm 1 commits to what is optimal for a vertex of the feasible set. It learns only what such
commitments happen to teach and keeps a regret floor on most random games. This learner

1. takes the analytic centre r of the feasible set (`iirl_opt.programs.centre`) as its estimate,
2. commits to what is optimal for r, but
3. in states where it costs least mixes its actions so that under r the follower would be
   indifferent (`iirl_opt.learn.indifference`): whatever the answer, it cuts through the centre;
4. spends on mixtures at most a *budget*: some multiple of the regret that it still expects. That is
   estimated on rewards drawn around the centre from the shape of the set, as what one step of
   policy improvement would gain. Being a value under r, the budget is free of the scale of rewards
   and of the game. It falls as the set shrinks but does not reach zero by itself: after `explore`
   episodes the learner is greedy for good, so set that by how many episodes there will be.

An episode costs arithmetic, no program. Rows that repeat earlier ones are left out, which would
push the centre away. Rows that contradict each other, of a follower that errs, are violated at a
price (an L1 penalty), so the learner goes on; `contradictions` names the episodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.errors import InvalidArgument
from iirl_opt.game.kernel import is_sparse
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.values import modified_policy_iteration
from iirl_opt.learn.indifference import Indifference, indifferent_commitment
from iirl_opt.learn.interactive import Learner
from iirl_opt.learn.strategies import SPREAD
from iirl_opt.programs.centre import Centre, analytic_centre, unit_rows
from iirl_opt.programs.regret import RegretBound, regret_bound
from iirl_opt.programs.rewards import FeasibleRewards

__all__ = ["ActiveIRL"]

Array = NDArray[np.float64]

# Rewards drawn around the centre to estimate the regret left, at so many standard deviations.
DRAWS, DEVIATIONS = 64, 3.0

# Rows held in the barrier, as a multiple of the states, and the accuracy of the centre.
HELD, ACCURACY = 2.5, 1e-3


@dataclass(frozen=True, eq=False)
class ActiveIRL(Learner):
    """A learner that pays for information while it expects to earn more than it pays.

    Frozen; it asks and tells as `iirl_opt.InteractiveIRL` does. For state rewards (S,).

    Parameters
    ----------
    game : the game; the learner never sees the reward.
    seed : of the first commitment and of the draws around the centre.
    first : the first commitment (S, A); by default deterministic and uniformly random.
    patience : ≥ 0, the budget of an episode as a multiple of the regret expected; 0 is greedy.
    fade : in (0, 1], by what the multiple shrinks an episode.
    explore : the number of episodes after which it plays greedily for good.
    share : in (0, 1], of the states with a mixture, how many may be mixed at once.
    price : > 0, of violating a row of norm one by one unit; lower it for a follower that errs.
    feasible : what is known so far; leave it to `tell`.

    **Source** ours; the paper's Algorithm 1 is what it is held against. Centres and cuts: Goffin &
    Vial 2002.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, truth = iirl.random_game(10, 2, 3, seed=1)
    >>> learner = iirl.ActiveIRL(game, seed=0)
    >>> for episode in iirl.interact(learner, truth, 30):
    ...     learner = episode.learner
    >>> bool(episode.regret < 1e-6), learner.known.contains(truth)
    (True, True)
    """

    game: TwoAgentMDP
    seed: int = 0
    first: ArrayLike | None = None
    patience: float = 30.0
    fade: float = 0.95
    explore: int = 20
    share: float = 0.85
    price: float = 1e8
    feasible: FeasibleRewards | None = None
    _rows: Array | None = field(default=None, repr=False)
    _near: Array | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name, holds, allowed in [
            ("patience", 0 <= self.patience < np.inf, "0 ≤ patience < ∞"),
            ("fade", 0 < self.fade <= 1, "0 < fade ≤ 1"),
            ("share", 0 < self.share <= 1, "0 < share ≤ 1"),
            ("price", 0 < self.price < np.inf, "0 < price < ∞"),
        ]:
            if not holds:
                value = getattr(self, name)
                raise InvalidArgument(name, f"is {value}", allowed, value)
        self._begin()
        if self._rows is None:
            object.__setattr__(self, "_rows", _unit(self.known))

    @cached_property
    def centre(self) -> Centre | None:
        """The analytic centre of what is known, or None while nothing is.

        **Cost** arithmetic: some ten to fifty S×S linear systems.
        """
        assert self._rows is not None
        if not len(self._rows):
            return None
        return analytic_centre(
            self._rows,
            price=self.price,
            tolerance=ACCURACY,
            near=self._near,
            keep=int(HELD * self.game.n_states) + 1,
        )

    @property
    def reward(self) -> Array | None:
        """The estimate (S,) in the simplex; None while only constants are known."""
        if self.centre is None or np.ptp(self.centre.point) <= SPREAD * self.centre.point.max():
            return None
        return self.centre.point.copy()

    @cached_property
    def expected_regret(self) -> float:
        """What one step of policy improvement would gain on rewards around the centre.

        Σ over visits of the best advantage under a reward, at the greedy joint policy, averaged
        over the draws; NaN before there is an estimate. An estimate and no bound: see `regret`.

        **Cost** arithmetic: two S×S systems, one with `DRAWS` right-hand sides.
        """
        if self.centre is None or self.reward is None:
            return float("nan")
        game, n = self.game, self.game.n_states
        draws = self.centre.spread(DRAWS, self._rng(), scale=DEVIATIONS).T
        actions = modified_policy_iteration(game, self.reward).actions
        chain = game.matrix[np.arange(n) * game.n_choices + actions]
        system = np.eye(n) - game.discount * (chain.toarray() if is_sparse(chain) else chain)
        values = np.linalg.solve(system, draws)
        visits = np.linalg.solve(system.T, game.start)
        ahead = (game.matrix @ values).reshape(n, game.n_choices, DRAWS)
        best = (draws[:, None, :] + game.discount * ahead).max(axis=1)
        return float((visits @ (best - values)).mean())

    @cached_property
    def plan(self) -> Indifference | None:
        """The next commitment with what it mixes and what that costs; None before an estimate."""
        if self.reward is None:
            return None
        budget = 0.0
        if self.episode < self.explore:
            budget = self.patience * self.fade**self.episode * max(self.expected_regret, 0.0)
        if budget == 0.0:
            return indifferent_commitment(self.game, self.reward, 0.0, share=0.0)
        return indifferent_commitment(self.game, self.reward, budget, share=self.share)

    def ask(self) -> Array:
        """Return the commitment (S, A) to play in the next episode.

        **Cost** arithmetic: one centre and some ten planning problems.
        """
        return self._uninformed() if self.plan is None else self.plan.policy.copy()

    def tell(self, response: ArrayLike, *, pi1: ArrayLike | None = None) -> Self:
        """Return the learner that also knows this response; the old one stays as it is.

        Parameters
        ----------
        response : policy (S, B), or a boolean mask (S, B) of all optimal actions.
        pi1 : what was committed, where it was not what `ask` returned.

        Raises
        ------
        InvalidPolicy, InvalidObservation
            The response is no policy; nothing is lost.
        """
        played = self.ask() if pi1 is None else pi1
        known = self.known.observe(played, response)
        assert self._rows is not None
        rows = self._rows
        if known.episodes[-1] not in self.known.episodes:
            last = _unit(FeasibleRewards(self.game, (known.episodes[-1],)))
            rows = unit_rows(np.concatenate([rows, last]))
        near = None if self.centre is None else self.centre.point
        return replace(self, feasible=known, _rows=rows, _near=near)

    def stop(self) -> ActiveIRL:
        """Return the learner that explores no more."""
        return replace(self, explore=0)

    def regret(self, *, delta: float | None = None) -> RegretBound:
        """Return bounds on the regret of the next commitment under every feasible reward.

        The unit is that of values under rewards of the simplex. Where the upper bound is small
        enough, `stop`.

        Parameters
        ----------
        delta : end once the bound is at most this, or cannot be.

        **Cost** many LPs: for games of up to some thirty states (see `iirl_opt.regret_bound`).
        """
        return regret_bound(self.known, self.ask(), delta=delta)

    def certified(self, delta: float) -> bool:
        """Return whether the next commitment is proved to lose at most `delta`, whatever the truth.

        False says only that there is no proof. **Cost** as `regret`.
        """
        return self.regret(delta=delta).upper <= delta

    def contradictions(self) -> tuple[int, ...] | None:
        """Return episodes that no non-constant reward explains together, or None.

        **Cost** at most two LPs an episode.
        """
        return self.known.explain_infeasibility()


def _unit(known: FeasibleRewards) -> Array:
    """Return the unit rows of a set, an equation as a row and its negative, shape (rows, S)."""
    seen = known.distinct_rows()
    return unit_rows(np.concatenate([seen.rows, seen.ties, -seen.ties]))
