"""The best deterministic commitment by branch and bound, for every follower that can be bounded.

`BranchAndBound` is the method. Boxes of commitments are bounded in
`iirl_opt.commitment.relaxation`, where the proof stands, and opened in
`iirl_opt.commitment.branching`. The search is exact: it ends with the best commitment and a bound
that meets it, or, out of time, with a bound that is valid.
"""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from iirl_opt.brief import in_brief
from iirl_opt.checks import NOT_NEGATIVE, TIME_LIMIT, array_of_whole, checked, whole
from iirl_opt.commitment.branching import GAP, LEAF, branched
from iirl_opt.commitment.enumeration import Enumeration, searched
from iirl_opt.commitment.plans import Commitment
from iirl_opt.commitment.problem import PROBLEM, CommitmentProblem, Integers
from iirl_opt.commitment.relaxation import bounded
from iirl_opt.commitment.searches import Search, check_actions

__all__ = ["BranchAndBound", "suited"]


@checked(
    incumbent=array_of_whole(1),
    gap=NOT_NEGATIVE,
    time_limit=TIME_LIMIT,
    leaf=whole(1),
)
@dataclass(frozen=True, eq=False)
class BranchAndBound:
    """Search the deterministic commitments to the end, a box of them at a time.

    Parameters
    ----------
    incumbent : actions (S,) of a commitment to begin with.
    gap : the search ends when the bound exceeds the value by no more than this share of
        `Search.scale` (or than rounding). For optimal and ε-greedy followers an end game goes on to
        look at what is within it, in rational arithmetic where need be.
    time_limit : seconds after which the best so far is returned with the bound proved so far; the
        root is always bounded and its optimistic commitment evaluated.
    leaf : boxes of so many commitments are enumerated.

    Examples
    --------
    >>> from iirl_opt.follower import BoltzmannFollower
    >>> from iirl_opt.game.generate import random_game
    >>> game, reward = random_game(10, 2, 2, rng=0)
    >>> problem = CommitmentProblem(game, reward, BoltzmannFollower(2))
    >>> found = BranchAndBound(time_limit=60).search(problem)
    >>> found.complete, found.gap < 1e-6
    (True, True)
    """

    incumbent: ArrayLike | None = None
    gap: float = GAP
    time_limit: float | None = None
    leaf: int = LEAF

    __repr__ = in_brief

    @checked(problem=PROBLEM)
    def search(self, problem: CommitmentProblem) -> Search:
        """Return the best allowed deterministic commitment, and a bound on all of them.

        Raises
        ------
        InvalidArgument
            The follower declares no bounds on its answers (see ``Relaxation``); the incumbent plays
            an action that is not allowed.

        **Source** the relaxation of `iirl_opt.commitment.relaxation`, proved there. **Cost**
        arithmetic: a node takes some 15 S×S linear systems; their number grows exponentially in S
        at worst.
        """
        given = None if self.incumbent is None else check_actions(problem, self.incumbent)
        return branched(
            problem, incumbent=given, gap=self.gap, time_limit=self.time_limit, leaf=self.leaf
        )

    def plan(self, problem: CommitmentProblem) -> Commitment:
        """Return the best deterministic commitment. Raises and costs as `search`."""
        return searched(problem, self.search(problem), "branch-and-bound")


def suited(
    problem: CommitmentProblem,
    *,
    incumbent: Integers | None = None,
    time_limit: float | None = None,
) -> BranchAndBound | Enumeration:
    """Return the search that fits the follower.

    Branch and bound (which enumerates what is small) where the follower's answers can be bounded,
    else enumeration, which refuses where there are too many commitments.
    """
    if bounded(problem):
        return BranchAndBound(incumbent=incumbent, time_limit=time_limit)
    return Enumeration(time_limit=time_limit)
