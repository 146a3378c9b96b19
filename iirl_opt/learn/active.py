"""The active learner: an optimal follower's reward from mixtures that are worth their cost.

Algorithm 1 commits to what is optimal for a vertex of the feasible set. It learns only what such
commitments happen to teach and keeps a regret floor on most random games. This learner

1. takes the analytic centre r of the feasible set (`iirl_opt.rewards.centre`) as its estimate,
2. commits to what is optimal for r, but
3. in some states mixes its actions so that under r the follower would be indifferent
   (`iirl_opt.learn.indifference`): whatever the answer, it cuts through the centre;
4. makes a mixture where what the answer tells is worth more than it costs
   (`iirl_opt.learn.information`): the share it explains of the regret that the learner still
   expects, times the number of episodes that this is thought to last. That number, `lasting`,
   starts at zero, since at first whatever is played teaches much, and grows with the square of the
   episode until exploration ends.

Both sides are values under r, so nothing depends on the scale of rewards or on the game's size.
After `explore` episodes the learner is greedy for good; so it is for as long as a certificate says
that the greedy commitment loses at most `delta` under every feasible reward. An estimate says when
exploring no longer pays; only the certificate says that nothing is lost.

An episode costs arithmetic, no program; what is made of an answer is in
`iirl_opt.learn.believing`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import NOT_NEGATIVE, POSITIVE, SEED, checked, whole
from iirl_opt.follower.optimal import best_responses
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.learn.belief import Belief
from iirl_opt.learn.believing import BelievingLearner
from iirl_opt.learn.indifference import Indifference, cheapest_mixtures, mixed_commitment
from iirl_opt.observation import Trajectory
from iirl_opt.rewards.feasible import FEASIBLE, FeasibleRewards
from iirl_opt.rewards.lifted_rows import WholeResponse
from iirl_opt.rewards.regret import RegretBound, regret_bound

__all__ = ["ActiveIRL"]

Array = NDArray[np.float64]

# Expected regrets below this share of the optimal value are rounding.
ROUNDING = 1e-9


@checked(
    game=GAME,
    seed=SEED,
    lasting=NOT_NEGATIVE,
    explore=whole(0),
    delta=POSITIVE,
    price=POSITIVE,
    feasible=FEASIBLE,
)
@dataclass(frozen=True, eq=False)
class ActiveIRL(BelievingLearner):
    """A learner that pays for information while it is worth more than it costs.

    It asks and tells as `iirl_opt.InteractiveIRL` does. For state rewards (S,).

    Parameters
    ----------
    game : the game; the learner never sees the reward.
    seed : of the first commitment and of the random ones where mixtures lead nowhere.
    first : the first commitment (S, A); by default deterministic and uniformly random.
    lasting : ≥ 0, the exchange rate: the episodes that information is thought to last when
        exploration ends, were all mixtures equally dear; 0 is greedy.
    explore : the number of episodes after which it plays greedily for good.
    delta : > 0, a regret; the learner is greedy while it is certified to lose no more, in the unit
        of values under rewards of the simplex. Costs linear programs: for small games.
    price : > 0, of violating a row of norm one by one unit; lower it for a follower that errs.
    feasible : what is known so far; leave it to `tell`.

    **Source** ours; the paper's Algorithm 1 is what it is held against. Centres and cuts: Goffin &
    Vial 2002.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, truth = iirl.random_game(10, 2, 3, rng=1)
    >>> learner = iirl.ActiveIRL(game, seed=0)
    >>> for episode in iirl.interact(learner, truth, 30):
    ...     learner = episode.learner
    >>> bool(episode.regret < 1e-6), learner.known.contains(truth)
    (True, True)
    """

    game: TwoAgentMDP
    seed: int = 0
    first: ArrayLike | None = None
    lasting: float = 1000.0
    explore: int = 20
    delta: float | None = None
    price: float = 1e7
    feasible: FeasibleRewards | None = None
    _belief: Belief | None = field(default=None, repr=False)

    __repr__ = in_brief

    @property
    def expected_regret(self) -> float:
        """What the truth would gain on the greedy commitment in one step of policy improvement.

        NaN before there is an estimate. An estimate and no bound: see `regret`.

        **Cost** arithmetic: an S×S system with S right-hand sides.
        """
        outlook = self._believed.outlook
        return float("nan") if outlook is None else outlook.expected_regret

    def mix(self) -> Indifference | None:
        """Return the next commitment with what it mixes and costs; None before an estimate.

        **Cost** arithmetic: one centre and some ten planning problems; with `delta` many LPs.
        """
        return self._mixed

    @cached_property
    def _mixed(self) -> Indifference | None:
        reward, optimum = self._believed.estimate, self._believed.optimum
        if optimum is None or reward is None:
            return None
        mixtures = cheapest_mixtures(self.game, optimum)
        none = mixtures.take(np.zeros(0, dtype=np.int64))
        greedy = mixed_commitment(self.game, reward, optimum, none)
        if self.episode >= self.explore or not self.lasting or self._certifies(greedy.policy):
            return greedy
        outlook = self._believed.outlook
        assert outlook is not None
        lasting = self.lasting * (self.episode / self.explore) ** 2
        chosen = outlook.worthwhile(mixtures, lasting)
        plan = mixed_commitment(self.game, reward, optimum, mixtures.take(chosen))
        return self._anything_new(plan)

    def _anything_new(self, plan: Indifference) -> Indifference:
        """Return the plan, or a random commitment where the plan was answered before.

        Then it teaches nothing, though regret may be expected. The random one must cost less than
        that regret over as many episodes as are explored.
        A trajectory is no whole answer: another one may visit other states.
        """
        answered = (seen.pi1 for seen in self.known.answers if not isinstance(seen, Trajectory))
        if not any(np.array_equal(plan.policy, pi1) for pi1 in answered):
            return plan
        reward, optimum = self._believed.estimate, self._believed.optimum
        assert optimum is not None
        assert reward is not None
        n_states, n_actions, _ = self.game.shape
        policy = self._rng().dirichlet(np.ones(n_actions), n_states)
        best = float(self.game.start @ optimum.values)
        cost = best - self.game.start @ best_responses(self.game, reward, policy).values
        if self.expected_regret <= ROUNDING * best or cost > self.explore * self.expected_regret:
            return plan
        return Indifference(policy, plan.states[:0], plan.pairs[:0], max(float(cost), 0.0))

    def ask(self) -> Array:
        """Return the commitment (S, A) to play in the next episode.

        **Cost** as `mix`.
        """
        return self._uninformed() if self._mixed is None else self._mixed.policy.copy()

    def stop(self) -> ActiveIRL:
        """Return the learner that explores no more."""
        return replace(self, explore=0)

    @checked(delta=NOT_NEGATIVE)
    def regret(self, *, delta: float | None = None) -> RegretBound:
        """Return bounds on the regret of the next commitment under every feasible reward.

        The unit is that of values under rewards of the simplex. Where the upper bound is small
        enough, `stop`.

        Parameters
        ----------
        delta : end once the bound is at most this, or cannot be.

        **Cost** seconds with thirty states, a minute with two hundred, where bounds are far apart
        (`iirl_opt.rewards.regret_bound`).
        """
        return regret_bound(self.known, self.ask(), delta=delta)

    @checked(delta=NOT_NEGATIVE)
    def certified(self, delta: float) -> bool:
        """Return whether the next commitment is proved to lose at most `delta`, whatever the truth.

        False says only that there is no proof. **Cost** as `regret`.
        """
        return self.regret(delta=delta).upper <= delta

    def _certifies(self, pi1: Array) -> bool:
        """Return whether responses prove that a commitment loses at most `delta`.

        Bounds take whole optimal responses; without the rest more rewards are feasible: proofs
        hold.
        """
        whole = tuple(e for e in self.known.episodes if isinstance(e, WholeResponse))
        if self.delta is None or not whole:
            return False
        known = FeasibleRewards(self.game, whole)
        return regret_bound(known, pi1, delta=self.delta).upper <= self.delta
