"""Runs: a learner plays with a response model that knows the true reward, an episode at a time.

One driver for all learners. In each episode the learner commits, the follower responds, and the
learner is told the whole response, or no more than the steps of a trajectory (paper, Sections 3.2
and 5). What it lost is said by `Episode.regret`, see `iirl_opt.learn.episode_regret`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import FINITE, RNG, checked, is_a, whole
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.follower.protocols import FOLLOWER, Follower
from iirl_opt.game.values import evaluate
from iirl_opt.learn.episode_regret import best_value, loss
from iirl_opt.learn.learner import Learner
from iirl_opt.observation import observe, sample_trajectory
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable

__all__ = ["Episode", "interact"]

Array = NDArray[np.float64]
L = TypeVar("L", bound=Learner)


@dataclass(frozen=True, eq=False)
class Episode(Tabular, Generic[L]):
    """One finished episode of a run.

    Attributes
    ----------
    number : counted from 1.
    learner : the learner that knows it; what it adds is there (`Learner.facts`, its posterior).
    pi1, pi2 : the commitment (S, A) and the response (S, B), also where a trajectory was shown.
    plan : the learner's plan (S, A) before this episode: `pi1`, unless the learner is fixed.
    values : true values (S,) of the plan and its response from every state.
    value : the same from the start distribution.
    best : what regret is measured against, V*.

    Examples
    --------
    >>> from iirl_opt import InteractiveIRL, random_game
    >>> game, truth = random_game(3, 2, 2, rng=1)
    >>> (episode,) = interact(InteractiveIRL(game, seed=0), truth, 1)
    >>> episode.number, episode.regret == episode.best - episode.value
    (1, True)
    """

    number: int
    learner: L
    pi1: Array
    pi2: Array
    plan: Array
    values: Array
    value: float
    best: float

    __repr__ = in_brief

    def table(self) -> FactTable:
        """Return one row: the episode's number, what its plan earned, the best, and the regret."""
        facts = {"episode": self.number, "value": self.value, "best": self.best}
        return FactTable([{**facts, "regret": self.regret}], "Episode")

    @property
    def regret(self) -> float:
        """What the plan loses of V*, in the unit of the values."""
        return loss(self.best, self.value)


@checked(
    learner=is_a(Learner),
    episodes=whole(1),
    follower=FOLLOWER,
    horizon=whole(0),
    min_length=whole(1),
    rng=RNG,
    best=FINITE,
)
def interact(
    learner: L,
    truth: ArrayLike,
    episodes: int,
    *,
    follower: Follower | None = None,
    horizon: int | None = None,
    min_length: int | None = None,
    rng: int | np.random.Generator | None = None,
    best: float | None = None,
) -> Iterator[Episode[L]]:
    """Play a learner against a response model that knows the true reward, an episode at a time.

    A generator: each episode is there when it is over, so a run can be stopped at any time.

    Parameters
    ----------
    truth : the follower's reward, (S,) or (S, A, B).
    episodes : their number in all; a learner that knows some already plays the rest.
    follower : `OptimalFollower` by default.
    horizon : H ≥ 0: show the learner a trajectory s_0 … s_H in place of the response.
    min_length : ≥ 1: show it a trajectory of random length, at least so many steps
        (`sample_trajectory`).
    rng : of a follower with random ties, and of trajectories. By default each episode has its own,
        from the learner's seed: a run that is taken up again goes on as if it had not been left.
    best : what regret is measured against; `best_value` of this follower by default.

    Raises
    ------
    InvalidArgument
        The horizon is no number of steps, there is a least length beside it, or the learner takes
        no trajectories.
    InvalidReward
        The truth is no reward of the game.

    **Source** paper, Section 3.2; trajectories: Section 5.

    **Cost** as `Learner.ask` and `Learner.tell` an episode, its response and one linear system;
    before the first one `best_value`, unless `best` is given.

    Examples
    --------
    >>> from iirl_opt import InteractiveIRL, random_game
    >>> game, truth = random_game(3, 2, 2, rng=1)
    >>> for episode in interact(InteractiveIRL(game, seed=0), truth, 3):
    ...     print(episode.number, round(episode.regret, 3))
    1 0.025
    2 0.061
    3 0.0
    """
    if horizon is not None and min_length is not None:
        raise InvalidArgument("min_length", "stands beside horizon", "one of them", min_length)
    game, partner = learner.game, OptimalFollower() if follower is None else follower
    top = best_value(game, truth, partner) if best is None else best
    for number in range(learner.episode + 1, episodes + 1):
        luck = np.random.default_rng([learner.seed, number, 2]) if rng is None else rng
        luck = np.random.default_rng(luck)
        pi1 = learner.ask()
        plan = learner.plan() if learner.fixed else pi1
        response = partner.respond(game, truth, pi1, luck)
        seen = observe(game, pi1, response)
        followed = seen.pi2
        if not np.array_equal(plan, pi1):
            followed = observe(game, plan, partner.respond(game, truth, plan, luck)).pi2
        if horizon is not None:
            shown = sample_trajectory(
                game, pi1, seen.pi2, luck, end_probability=1.0, min_length=horizon + 1
            )
            learner = learner.tell(shown, pi1=pi1)
        elif min_length is not None:
            shown = sample_trajectory(game, pi1, seen.pi2, luck, min_length=min_length)
            learner = learner.tell(shown, pi1=pi1)
        else:
            learner = learner.tell(response, pi1=pi1)
        values = evaluate(game, truth, (plan, followed))
        value = float(game.start @ values)
        yield Episode(number, learner, seen.pi1, seen.pi2, plan, values, value, top)
