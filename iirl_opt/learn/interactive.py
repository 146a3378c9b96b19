"""Interactive IRL against an optimal follower by linear programming (paper, Algorithm 1).

    commit to π1_t, observe π2_t                      (lines 3 and 4)
    add its constraints to those of the past          (line 5)
    draw an objective c, find r_t ∈ R_t maximal for c (lines 6 and 7)
    commit next to an optimal commitment for r_t      (line 8)

A learner is frozen and only asks and tells: `ask` says which commitment to play, `tell` takes the
response and returns the learner that knows it. The partner is a response model, another program or
a person. The same learner always asks the same: its randomness is derived from seed and episode.

Constants explain everything; when the linear program brings nothing else (`OnlyConstantRewards`),
the observations are uninformative, or contradict each other. Every commitment is then optimal for
what is known, and the learner plays a random one. If it can prove that no other reward explains
everything it says so once in a run, with the episodes to blame (`ContradictionWarning`). With
`price` it goes on: observations are then violated at a price.

Where only a trajectory is seen, `tell` takes that: it says what is optimal in the visited states
(`iirl_opt.rewards.trajectories`). Algorithm 1 as printed keeps a regret floor on most random games
(the paper's Proposition 1 needs an assumption that random games do not meet). Lines 6 and 7 may be
replaced by another choice (`iirl_opt.learn.strategies`), and the leader may draw among its tied
optimal actions instead of taking the first.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import (
    FINITE,
    FLAG,
    POSITIVE,
    RNG,
    SEED,
    checked,
    each,
    has,
    is_a,
    one_of,
    whole,
)
from iirl_opt.commitment.plans import commit
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower import FOLLOWER, Follower, OptimalFollower
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.policy import deterministic_policy, random_deterministic_policy
from iirl_opt.game.values import evaluate, modified_policy_iteration
from iirl_opt.learn.strategies import Chosen, RandomVertex, RewardChoice
from iirl_opt.observation import SEEN, Observation, Trajectory, observe, sample_trajectory
from iirl_opt.rewards.domains import DOMAIN, RewardDomain
from iirl_opt.rewards.feasible import FEASIBLE, FeasibleRewards
from iirl_opt.solver import Solver
from iirl_opt.solver.records import SOLVER

__all__ = ["ContradictionWarning", "Episode", "InteractiveIRL", "Learner", "interact", "regret"]

Array = NDArray[np.float64]


class ContradictionWarning(UserWarning):
    """No reward but constants explains some episodes together.

    Attributes
    ----------
    episodes : a smallest such set, counted from 0; without any one the others can be explained.
    """

    def __init__(self, episodes: tuple[int, ...]) -> None:
        super().__init__(episodes)
        self.episodes = episodes

    def __str__(self) -> str:
        names = ", ".join(map(str, self.episodes))
        return (
            f"no reward but constants explains episodes {names} (counted from 0) together, so "
            "commitments are random: the follower errs or has no preference; a finite price goes on"
        )


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
    def history(self) -> tuple[Observation | Trajectory, ...]:
        """All observations."""
        return self.known.seen

    @property
    @abstractmethod
    def reward(self) -> Array | None:
        """The reward that the next commitment is planned for; None before there is one."""

    @abstractmethod
    def ask(self) -> Array:
        """Return the commitment (S, A) to play in the next episode."""

    @abstractmethod
    def tell(self, response: Trajectory | ArrayLike, *, pi1: ArrayLike | None = None) -> Self:
        """Return the learner that also knows this response; the old one stays as it is."""

    def contradictions(self) -> tuple[int, ...] | None:
        """Return episodes that no non-constant reward explains together, or None.

        Counted from 0; a smallest such set. Where trajectories were seen, None is no proof.

        **Cost** at most two LPs an episode.
        """
        return self.known.explain_infeasibility()

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


@checked(
    game=GAME,
    seed=SEED,
    joint=FLAG,
    domain=DOMAIN,
    solver=SOLVER,
    feasible=FEASIBLE,
    price=POSITIVE,
    strategy=has("choose", what="a choice of a reward"),
    leader_ties=one_of("first", "random"),
)
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
    strategy : the choice of a reward in place of lines 6 and 7; `joint`, `domain` and `price` are
        the printed choice's and go with no other.
    price : > 0, for a follower that errs: the price of violating what was observed, for each unit
        in which an action that was not chosen is better than the choice. Objectives are of order
        one and rewards sum to one; prices of some tenths give up single errors. Constants violate
        nothing, so where many observations err a large price leaves nothing else. None, as
        printed, violates nothing.
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
    price: float | None = None
    _blamed: tuple[int, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        own = self.joint or self.domain is not None or self.price is not None
        if self.strategy is not None and own:
            raise InvalidArgument(
                "strategy", "stands beside joint, domain or price", "one of them", self.strategy
            )
        self._begin()

    @cached_property
    def estimate(self) -> Chosen | None:
        """The choice r_t among the feasible rewards, or None while nothing but constants was found.

        Warns
        -----
        ContradictionWarning
            Only constants explain what was seen, for the first time in this run.

        **Source** Algorithm 1, lines 6 and 7. **Cost** that of the strategy, one LP as printed; two
        an episode more where it finds a contradiction.
        """
        if not self.episode:
            return None
        choice = self.strategy or RandomVertex(self.joint, self.domain, self.price)
        chosen = choice.choose(self.known, self._rng(), self.solver)
        if chosen is None and self._blamed is None:
            self._blame()
        return chosen

    def _blame(self) -> None:
        """Find the episodes that leave constants alone, if any, and say so; once in a run."""
        if self.joint and self.known.is_informative(joint=True, solver=self.solver):
            return
        found = self.known.explain_infeasibility(solver=self.solver)
        if found:
            object.__setattr__(self, "_blamed", found)
            warnings.warn(ContradictionWarning(found), stacklevel=2)

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

    def tell(self, response: Trajectory | ArrayLike, *, pi1: ArrayLike | None = None) -> Self:
        """Return the learner that also knows this response; the old one stays as it is.

        Parameters
        ----------
        response : policy (S, B), or a boolean mask (S, B) of all optimal actions; or a trajectory,
            where no more was seen.
        pi1 : what was committed, where it was not what `ask` returned; a trajectory knows it.

        Raises
        ------
        InvalidPolicy, InvalidObservation
            The response is no policy, or the trajectory was played under another commitment than
            `pi1`; nothing is lost.
        """
        if pi1 is None:
            pi1 = response.pi1 if isinstance(response, Trajectory) else self.ask()
        return replace(self, feasible=self.known.observe(pi1, response))


@checked(game=GAME, history=each(SEEN), best=FINITE)
def regret(
    game: TwoAgentMDP,
    truth: ArrayLike,
    history: Sequence[Observation | Trajectory],
    *,
    best: float | None = None,
) -> Array:
    """Return the regret of each episode under the true reward, shape (T,).

    ``V* − E_start[V_{π1,π2}]`` with V* the value of the best commitment to an optimal follower:
    absolute, in the unit of the values.

    Parameters
    ----------
    history : whole responses; a trajectory does not say what was earned on average.
    best : V*, if it is known already.

    Raises
    ------
    InvalidArgument
        There is a trajectory: take `Episode.regret` of a run.

    **Source** paper, Section 3.1 (objective and regret). **Cost** arithmetic, one linear system an
    episode.
    """
    whole = [o for o in history if isinstance(o, Observation)]
    if len(whole) < len(history):
        raise InvalidArgument("history", "holds trajectories", "whole responses", history)
    top = commit(game, truth).value if best is None else best
    earned = [float(game.start @ evaluate(game, truth, (o.pi1, o.pi2))) for o in whole]
    return np.array([max(top - value, 0.0) for value in earned])  # below zero is rounding


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
    pi1, pi2 : the commitment (S, A) and the response (S, B), also where a trajectory was shown.
    """

    number: int
    learner: Learner
    values: Array
    value: float
    regret: float
    pi1: Array
    pi2: Array


@checked(episodes=whole(1), follower=FOLLOWER, rng=RNG, learner=is_a(Learner), horizon=whole(0))
def interact(
    learner: Learner,
    truth: ArrayLike,
    episodes: int,
    *,
    follower: Follower | None = None,
    rng: np.random.Generator | None = None,
    horizon: int | None = None,
) -> Iterator[Episode]:
    """Play a learner against a response model that knows the true reward, an episode at a time.

    A generator: each episode is there when it is over, so a run can be stopped at any time.

    Parameters
    ----------
    truth : the follower's reward, (S,) or (S, A, B).
    episodes : their number in all; a learner that knows some already plays the rest.
    follower : `OptimalFollower` by default.
    rng : of a follower with random ties, and of trajectories; seeded by the learner's seed by
        default.
    horizon : H ≥ 0: show the learner a trajectory s_0 … s_H in place of the response.

    Raises
    ------
    InvalidArgument
        The horizon is no number of steps, or the learner takes no trajectories.
    """
    partner = OptimalFollower() if follower is None else follower
    ties = np.random.default_rng(learner.seed) if rng is None else rng
    best = commit(learner.game, truth).value
    for number in range(learner.episode + 1, episodes + 1):
        pi1 = learner.ask()
        response = partner.respond(learner.game, pi1, truth, ties)
        pair = observe(learner.game, pi1, response)
        if horizon is None:
            learner = learner.tell(response, pi1=pi1)
        else:
            steps = sample_trajectory(
                learner.game, pi1, pair.pi2, ties, end_probability=1.0, min_length=horizon + 1
            )
            learner = learner.tell(steps, pi1=pi1)
        values = evaluate(learner.game, truth, (pair.pi1, pair.pi2))
        value = float(learner.game.start @ values)
        yield Episode(number, learner, values, value, best - value, pair.pi1, pair.pi2)
