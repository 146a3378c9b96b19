"""Interactive IRL against an optimal follower by linear programming (paper, Algorithm 1).

    commit to π1_t, observe π2_t                      (lines 3 and 4)
    add its constraints to those of the past          (line 5)
    draw an objective c, find r_t ∈ R_t maximal for c (lines 6 and 7)
    commit next to an optimal commitment for r_t      (line 8)

The learner asks and tells (`iirl_opt.learn.learner`); what it knows is the feasible set.

Constants explain everything; when the linear program brings nothing else (`OnlyConstantRewards`),
the observations are uninformative, or contradict each other. Every commitment is then optimal for
what is known, and the learner plays a random one. If it can prove that no other reward explains
everything it says so once in a run, with the episodes to blame (`ContradictionWarning`). With
a `price` it goes on: observations are then violated at that price.

Where only a trajectory is seen, `tell` takes that: it says what is optimal in the visited states
(`iirl_opt.rewards.trajectories`). Algorithm 1 as printed keeps a regret floor on most random games
(the paper's Proposition 1 needs an assumption that random games do not meet). Lines 6 and 7 may be
replaced by another choice (`iirl_opt.learn.choices`), and the leader may draw among its tied
optimal actions instead of taking the first.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import FLAG, POSITIVE, SEED, checked, has, one_of
from iirl_opt.commitment.methods import commit
from iirl_opt.errors import InvalidArgument
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.optimum import modified_policy_iteration
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.learn.choices import Chosen, RandomVertex, RewardChoice
from iirl_opt.learn.feasible_learner import FeasibleLearner
from iirl_opt.observation import Trajectory
from iirl_opt.rewards.domains import DOMAIN, RewardDomain
from iirl_opt.rewards.feasible import FEASIBLE, FeasibleRewards
from iirl_opt.rewards.preferences import Preference
from iirl_opt.solver import Solver
from iirl_opt.solver.records import SOLVER

__all__ = ["ContradictionWarning", "InteractiveIRL"]

Array = NDArray[np.float64]

# Of so many states a contradiction comes with the least loss that explains all.
FEW_STATES = 8


class ContradictionWarning(UserWarning):
    """No reward but constants explains some episodes together.

    Attributes
    ----------
    episodes : a smallest such set, counted from 1; without any one the others can be explained.
    suboptimality : ε per unit of the span of the reward: if every response of the run may lose so
        much, some reward that is no constant explains all of them, and with less none does. A lower
        bound on what the follower loses, and no estimate of it. None where it was not computed: of
        trajectories, preferences or a joint reward, and where there are more than eight states, for
        which `FeasibleRewards.most_compatible` has it.
    """

    episodes: tuple[int, ...]
    suboptimality: float | None

    def __init__(self, episodes: tuple[int, ...], suboptimality: float | None = None) -> None:
        super().__init__(episodes, suboptimality)
        self.episodes, self.suboptimality = episodes, suboptimality

    def __str__(self) -> str:
        names = ", ".join(map(str, self.episodes))
        said = (
            f"no reward but constants explains episodes {names} together, so "
            "commitments are random: the follower errs or has no preference; a price goes on"
        )
        if self.suboptimality is None:
            return said
        return (
            f"{said}. Some reward explains everything if responses may lose "
            f"{self.suboptimality:.3g} per unit of its span, and none with less: a lower bound on "
            "what the follower loses, no estimate of it (`observe(..., suboptimality=)`)"
        )


@checked(
    game=GAME,
    seed=SEED,
    joint=FLAG,
    domain=DOMAIN,
    solver=SOLVER,
    feasible=FEASIBLE,
    price=POSITIVE,
    choice=has("choose", what="a choice of a reward"),
    leader_ties=one_of("first", "random"),
)
@dataclass(frozen=True, eq=False)
class InteractiveIRL(FeasibleLearner):
    """The learner of Algorithm 1.

    Parameters
    ----------
    game : the game; the learner never sees the reward.
    seed : of the first commitment and of all objectives.
    first : the first commitment (S, A); by default deterministic and uniformly random.
    joint : learn a joint reward (S, A, B) in place of a state reward (S,).
    domain : where rewards are sought; the reward simplex by default.
    choice : of a reward, in place of lines 6 and 7; `joint`, `domain` and `price` are those of the
        printed choice and go with no other.
    price : > 0, for a follower that errs: what it costs to violate what was observed, for each unit
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
    >>> game, truth = iirl.random_game(5, 2, 2, rng=1)
    >>> learner = iirl.InteractiveIRL(game, seed=0)
    >>> partner = iirl.OptimalFollower()
    >>> for _ in range(3):
    ...     pi1 = learner.ask()
    ...     learner = learner.tell(partner.respond(game, truth, pi1))
    >>> learner.feasible.contains(learner.estimate()), learner.feasible.contains(truth)
    (True, True)
    """

    game: TwoAgentMDP
    seed: int = 0
    first: ArrayLike | None = None
    joint: bool = False
    domain: RewardDomain | None = None
    choice: RewardChoice | None = None
    leader_ties: Literal["first", "random"] = "first"
    solver: Solver | str | None = None
    feasible: FeasibleRewards | None = None
    price: float | None = None
    _blamed: tuple[int, ...] | None = field(default=None, repr=False)

    __repr__ = in_brief

    def __post_init__(self) -> None:
        own = self.joint or self.domain is not None or self.price is not None
        if self.choice is not None and own:
            raise InvalidArgument(
                "choice", "stands beside joint, domain or price", "one of them", self.choice
            )
        self._begin()

    def choose(self) -> Chosen | None:
        """Return the choice r_t among the feasible rewards, or None while it finds but constants.

        Warns
        -----
        ContradictionWarning
            Only constants explain what was seen, for the first time in this run.

        **Source** Algorithm 1, lines 6 and 7. **Cost** that of the choice, one LP as printed; two
        an episode more where it finds a contradiction, and one for every ordered pair of at most
        eight states. Once: the choice is kept.
        """
        return self._chosen

    @cached_property
    def _chosen(self) -> Chosen | None:
        if not self.episode:
            return None
        choice = self.choice or RandomVertex(self.joint, self.domain, self.price)
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
            warnings.warn(ContradictionWarning(found, self._least_loss()), stacklevel=2)

    def _least_loss(self) -> float | None:
        """Return the least loss per unit of span that explains all, where that is cheap."""
        some = any(isinstance(seen, Trajectory | Preference) for seen in self.known.seen)
        if some or self.joint or self.game.n_states > FEW_STATES:
            return None
        return self.known.most_compatible(solver=self.solver).loss

    def estimate(self) -> Array | None:
        """Return the reward r_t that the next commitment is optimal for; None before there is one.

        **Cost** as `choose`.
        """
        return None if self._chosen is None else self._chosen.reward.copy()

    def ask(self) -> Array:
        """Return the commitment (S, A) to play in the next episode.

        **Source** Algorithm 1, line 8. **Cost** one LP and one planning problem.
        """
        reward = self.estimate()
        if reward is None:
            return self._uninformed()
        if self.leader_ties == "first":
            return commit(self.game, reward).policy
        optimal = modified_policy_iteration(self.game, reward).optimal
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
