"""Interactive IRL against an optimal follower by linear programming (paper, Algorithm 1).

    commit to π1_t, observe π2_t                      (lines 3 and 4)
    add its constraints to those of the past          (line 5)
    draw an objective c, find r_t ∈ R_t maximal for c (lines 6 and 7)
    commit next to an optimal commitment for r_t      (line 8)

A learner is frozen and only asks and tells: `ask` says which commitment to play, `tell` takes the
response and returns the learner that knows it. The partner is a response model, another program or
a person. The same learner always asks the same: its randomness is derived from seed and episode.

Constants explain everything; when the linear program brings nothing else (`OnlyConstantRewards`),
the observations are uninformative. Every commitment is then optimal for what is known, and the
learner plays a random one. Algorithm 1 as printed keeps a regret floor on most random games (the
paper's Proposition 1 needs an assumption that random games do not meet). Lines 6 and 7 may be
replaced by another choice (`iirl_opt.learn.strategies`), and the leader may draw among its tied
optimal actions instead of taking the first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.errors import InvalidArgument
from iirl_opt.follower import Follower, OptimalFollower
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import deterministic_policy, random_deterministic_policy
from iirl_opt.game.values import evaluate, modified_policy_iteration
from iirl_opt.learn.strategies import Chosen, RandomVertex, RewardChoice
from iirl_opt.observation import Observation
from iirl_opt.programs.commitment import commit
from iirl_opt.programs.rewards import FeasibleRewards
from iirl_opt.programs.sets import RewardDomain
from iirl_opt.solver import Solver

__all__ = ["Episode", "InteractiveIRL", "Learner", "interact", "regret"]

Array = NDArray[np.float64]


class Learner(ABC):
    """What every frozen ask-and-tell learner has: a game, a seed, and what is known so far."""

    game: TwoAgentMDP
    seed: int
    first: ArrayLike | None
    feasible: FeasibleRewards | None
    joint: bool = False  # whether it learns a joint reward (S, A, B)

    @property
    def known(self) -> FeasibleRewards:
        """The rewards that explain all episodes."""
        assert self.feasible is not None
        return self.feasible

    @property
    def episode(self) -> int:
        """The number of episodes told."""
        return len(self.history)

    @property
    def history(self) -> tuple[Observation, ...]:
        """All observations."""
        return self.known.observations

    @property
    @abstractmethod
    def reward(self) -> Array | None:
        """The reward that the next commitment is planned for; None before there is one."""

    @abstractmethod
    def ask(self) -> Array:
        """Return the commitment (S, A) to play in the next episode."""

    @abstractmethod
    def tell(self, response: ArrayLike, *, pi1: ArrayLike | None = None) -> Self:
        """Return the learner that also knows this response; the old one stays as it is."""

    def _begin(self) -> None:
        """Check the first commitment, and start from no observation unless some are given."""
        if self.first is not None:
            first = self.game.check_leader_policy(self.first)
            first.flags.writeable = False
            object.__setattr__(self, "first", first)
        if self.feasible is None:
            object.__setattr__(self, "feasible", FeasibleRewards(self.game))

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.episode])

    def _uninformed(self) -> Array:
        """Return the first commitment, or a random one where nothing is known."""
        if not self.episode and self.first is not None:
            return np.array(self.first)
        n_states, n_actions, _ = self.game.shape
        return random_deterministic_policy(n_states, n_actions, self._rng())


@dataclass(frozen=True, eq=False)
class InteractiveIRL(Learner):
    """The learner of Algorithm 1.

    Parameters
    ----------
    game : the game; the learner never sees the reward.
    seed : of the first commitment and of all objectives.
    first : the first commitment (S, A); by default deterministic and uniformly random.
    joint : learn a joint reward (S, A, B) in place of a state reward (S,).
    domain : where rewards are sought; the reward simplex by default.
    strategy : the choice of a reward in place of lines 6 and 7; `joint` and `domain` are the
        printed choice's and go with no other.
    leader_ties : which of several optimal actions the leader commits to: ``"first"`` in order, or
        ``"random"``, so that a tie under the estimate is not always broken the same way.
    solver : of the linear programs; HiGHS by default.
    feasible : what is known so far; leave it to `tell`.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, truth = iirl.random_game(5, 2, 2, seed=1)
    >>> learner = iirl.InteractiveIRL(game, seed=0)
    >>> partner = iirl.OptimalFollower()
    >>> for _ in range(3):
    ...     pi1 = learner.ask()
    ...     learner = learner.tell(partner.respond(game, pi1, truth))
    >>> learner.episode, learner.feasible.contains(learner.reward), learner.feasible.contains(truth)
    (3, True, True)
    """

    game: TwoAgentMDP
    seed: int = 0
    first: ArrayLike | None = None
    joint: bool = False
    domain: RewardDomain | None = None
    strategy: RewardChoice | None = None
    leader_ties: Literal["first", "random"] = "first"
    solver: Solver | None = None
    feasible: FeasibleRewards | None = None

    def __post_init__(self) -> None:
        if self.strategy is not None and (self.joint or self.domain is not None):
            raise InvalidArgument(
                "strategy", "stands beside joint or domain", "one of them", self.strategy
            )
        if self.leader_ties not in ("first", "random"):
            raise InvalidArgument(
                "leader_ties", f"is {self.leader_ties!r}", "first, random", self.leader_ties
            )
        self._begin()

    @cached_property
    def estimate(self) -> Chosen | None:
        """The choice r_t among the feasible rewards, or None while nothing but constants was found.

        **Source** Algorithm 1, lines 6 and 7. **Cost** that of the strategy, one LP as printed.
        """
        if not self.episode:
            return None
        choice = self.strategy or RandomVertex(self.joint, self.domain)
        return choice.choose(self.known, self._rng(), self.solver)

    @property
    def reward(self) -> Array | None:
        """The reward r_t that the next commitment is optimal for; None before there is one."""
        return None if self.estimate is None else self.estimate.reward.copy()

    def ask(self) -> Array:
        """Return the commitment (S, A) to play in the next episode.

        **Source** Algorithm 1, line 8. **Cost** one LP and one planning problem.
        """
        if self.reward is None:
            return self._uninformed()
        if self.leader_ties == "first":
            return commit(self.game, self.reward).policy
        optimal = modified_policy_iteration(self.game, self.reward).optimal
        possible = optimal.reshape(self.game.shape).any(axis=2)
        draws = self._rng().random(possible.shape)
        chosen = np.where(possible, draws, -1.0).argmax(axis=1)
        return deterministic_policy(chosen, self.game.n_leader_actions)

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
        return replace(self, feasible=self.known.observe(played, response))


def regret(
    game: TwoAgentMDP,
    truth: ArrayLike,
    history: Sequence[Observation],
    *,
    best: float | None = None,
) -> Array:
    """Return the regret of each episode under the true reward, shape (T,).

    ``V* − E_start[V_{π1,π2}]`` with V* the value of the best commitment to an optimal follower:
    absolute, in the unit of the values.

    Parameters
    ----------
    best : V*, if it is known already.

    **Source** paper, Section 3.1 (objective and regret). **Cost** arithmetic, one linear system an
    episode.
    """
    top = commit(game, truth).value if best is None else best
    return np.array([top - game.start @ evaluate(game, truth, (o.pi1, o.pi2)) for o in history])


@dataclass(frozen=True, eq=False)
class Episode:
    """One finished episode of a run.

    Attributes
    ----------
    number : counted from 1.
    learner : the learner that knows it.
    values : true values (S,) of the two policies from every state.
    value : the same from the start distribution.
    regret : V* less that value.
    """

    number: int
    learner: Learner
    values: Array
    value: float
    regret: float


def interact(
    learner: Learner,
    truth: ArrayLike,
    episodes: int,
    *,
    follower: Follower | None = None,
    rng: np.random.Generator | None = None,
) -> Iterator[Episode]:
    """Play a learner against a response model that knows the true reward, an episode at a time.

    A generator: each episode is there when it is over, so a run can be stopped at any time.

    Parameters
    ----------
    truth : the follower's reward, (S,) or (S, A, B).
    episodes : their number in all; a learner that knows some already plays the rest.
    follower : `OptimalFollower` by default.
    rng : of a follower with random ties; seeded by the learner's seed by default.
    """
    partner = OptimalFollower() if follower is None else follower
    ties = np.random.default_rng(learner.seed) if rng is None else rng
    best = commit(learner.game, truth).value
    for number in range(learner.episode + 1, episodes + 1):
        pi1 = learner.ask()
        response = partner.respond(learner.game, pi1, truth, ties)
        learner = learner.tell(response, pi1=pi1)
        last = learner.history[-1]
        values = evaluate(learner.game, truth, (last.pi1, last.pi2))
        value = float(learner.game.start @ values)
        yield Episode(number, learner, values, value, best - value)
