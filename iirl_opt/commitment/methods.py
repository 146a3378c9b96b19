"""How to commit: `commit`, and the methods that solve programs.

A method is a small frozen object with `plan(problem)`; each holds its own options:

============================  =====================================================================
`Automatic`                   one of the next four, as it fits
`JointOptimum`                Lemma 2, by policy iteration: exact
`ValueIteration`              Algorithms 2 and 3: a heuristic
`BranchAndBound`              exact among deterministic commitments, for followers with bounds
`Enumeration`                 exact among deterministic commitments, for every local follower
`LocalSearch`                 climbs to stochastic commitments: a bound
`OccupancyProgram`            Lemma 2, by the occupancy program (`StackelbergCommitment`)
`MixedInteger`                among deterministic commitments (`DeterministicCommitment`)
`NormalForm`                  stochastic commitments of one-state games (`MixedCommitment`)
============================  =====================================================================

The last three solve a cvxpy program as it is; to add rows of your own, build the program itself.
They load cvxpy when they plan.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from numpy.typing import ArrayLike

from iirl_opt.checks import FLAG, TIME_LIMIT, checked, optional
from iirl_opt.commitment.algorithms_2_and_3 import ValueIteration
from iirl_opt.commitment.branch_and_bound import suited
from iirl_opt.commitment.enumeration import Enumeration
from iirl_opt.commitment.lemma_2 import JointOptimum, need_lemma_2
from iirl_opt.commitment.local_search import LocalSearch
from iirl_opt.commitment.plans import METHOD, Commitment, CommitmentMethod
from iirl_opt.commitment.problem import PROBLEM, CommitmentProblem
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.follower.protocols import FOLLOWER, Follower
from iirl_opt.follower.soft import SoftOptimalFollower
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.reward import REWARD
from iirl_opt.solver.records import SOLVER, Solver

__all__ = ["Automatic", "MixedInteger", "NormalForm", "OccupancyProgram", "commit"]

# Up to so many commitments a mixed-integer program's answer is confirmed by looking at all.
CONFIRMED = 20_000


@checked(
    game=GAME,
    reward=REWARD,
    follower=optional(FOLLOWER),
    exact=FLAG,
    by=optional(METHOD),
)
def commit(
    game: TwoAgentMDP,
    reward: ArrayLike,
    follower: Follower | None = None,
    *,
    exact: bool = False,
    by: CommitmentMethod | None = None,
) -> Commitment:
    """Return the best commitment of the leader that a method finds, and what is known of it.

    Parameters
    ----------
    reward : of both agents, shape (S,) or (S, A, B).
    follower : `OptimalFollower` by default. All else that a question has (forbidden actions, a
        reward of the follower's own, ties in the leader's favour) belongs to a
        `CommitmentProblem`, for which a method plans.
    exact : search the deterministic commitments to the end. Without it, and unless the problem is
        one of Lemma 2, the answer is a heuristic.
    by : the method; `Automatic` by default.

    Raises
    ------
    InvalidArgument
        The method does not fit the follower: says which do. `exact` beside a method.
    InvalidReward
    LimitReached, SolverFailed
        A program brought nothing that can be used.
    Interrupted
        Ctrl-C during a mixed-integer program; its ``found`` is the best commitment so far, or None.

    **Source** paper, Lemma 2 and appendix C; the searches are ours. **Cost** that of the method:
    arithmetic by default, exponential in S at worst where exact.

    Examples
    --------
    >>> from iirl_opt.commitment.branch_and_bound import BranchAndBound
    >>> from iirl_opt.follower import EpsilonGreedyFollower
    >>> from iirl_opt.game.generate import random_game
    >>> game, reward = random_game(6, 2, 2, rng=0)
    >>> commit(game, reward).guarantee.name  # Lemma 2
    'EXACT'
    >>> plan = commit(game, reward, EpsilonGreedyFollower(0.2), by=BranchAndBound(time_limit=60))
    >>> plan.guarantee.name, plan.among, plan.gap < 1e-8
    ('EXACT', 'deterministic', True)
    """
    model = OptimalFollower() if follower is None else follower
    if isinstance(model, OptimalFollower):
        model = replace(model, ties="first")  # Lemma 2: the rule does not matter
    if by is None:
        by = Automatic(exact=exact)
    elif exact:
        raise InvalidArgument("exact", f"stands beside by={by!r}", "one of the two", exact)
    return by.plan(CommitmentProblem(game, reward, model))


@checked(exact=FLAG)
@dataclass(frozen=True)
class Automatic:
    """Take the method that fits the problem.

    For an optimal follower with the leader's reward that is `JointOptimum`. For others it is
    `ValueIteration`, or with `exact` a search: `BranchAndBound` wherever the follower's answers can
    be bounded, else `Enumeration`. For a soft-optimal follower it is `LocalSearch`, a lower bound;
    no search proves more of it.

    Examples
    --------
    >>> from iirl_opt.follower import EpsilonGreedyFollower
    >>> from iirl_opt.game.generate import random_game
    >>> game, reward = random_game(4, 2, 2, rng=0)
    >>> Automatic().chosen(CommitmentProblem(game, reward))  # an optimal follower: Lemma 2
    JointOptimum()
    >>> problem = CommitmentProblem(game, reward, EpsilonGreedyFollower(0.2))
    >>> Automatic(exact=True).plan(problem)
    Commitment(value 5.96534896, bound 5.96534896, EXACT among deterministic, branch-and-bound)
    """

    exact: bool = False

    @checked(problem=PROBLEM)
    def chosen(self, problem: CommitmentProblem) -> CommitmentMethod:
        """Return the method that it takes for a problem."""
        if problem.lemma_2:
            return JointOptimum()
        if isinstance(problem.follower, SoftOptimalFollower) and not self.exact:
            return LocalSearch()
        return suited(problem) if self.exact else ValueIteration()

    def plan(self, problem: CommitmentProblem) -> Commitment:
        """Return what the chosen method finds. Raises and costs as it does."""
        return self.chosen(problem).plan(problem)


@checked(solver=SOLVER)
@dataclass(frozen=True)
class OccupancyProgram:
    """Solve the occupancy program of Lemma 2 (`StackelbergCommitment`).

    Parameters
    ----------
    solver : HiGHS by default.

    Examples
    --------
    >>> from iirl_opt.game.generate import random_game
    >>> problem = CommitmentProblem(*random_game(4, 2, 2, rng=0))
    >>> OccupancyProgram().plan(problem)
    Commitment(value 6.43477865, bound 6.43477865, EXACT among all, program)
    """

    solver: Solver | str | None = None

    @checked(problem=PROBLEM)
    def plan(self, problem: CommitmentProblem) -> Commitment:
        """Return an optimal commitment, proved.

        Raises
        ------
        InvalidArgument
            The follower is not optimal, or has a reward of its own.
        SolverFailed

        **Cost** one LP.
        """
        from iirl_opt.commitment.stackelberg import StackelbergCommitment

        need_lemma_2(problem, self)
        model = StackelbergCommitment(problem.game, problem.reward, allowed=problem.allowed)
        return replace(model.solve(solver=self.solver), problem=problem)


@checked(time_limit=TIME_LIMIT, solver=SOLVER)
@dataclass(frozen=True)
class MixedInteger:
    """Solve the program over deterministic commitments (`DeterministicCommitment`).

    A solver's word is no proof: where there are few commitments they are looked at one by one.

    Parameters
    ----------
    time_limit : seconds of the program, after which the best so far is returned with its bound.
    solver : HiGHS by default.

    Examples
    --------
    >>> from iirl_opt.follower import EpsilonGreedyFollower
    >>> from iirl_opt.game.generate import random_game
    >>> problem = CommitmentProblem(*random_game(2, 2, 2, rng=0), EpsilonGreedyFollower(0.2))
    >>> MixedInteger().plan(problem)
    Commitment(value 6.14534283, bound 6.14534283, EXACT among deterministic, milp)
    """

    time_limit: float | None = None
    solver: Solver | str | None = None

    @checked(problem=PROBLEM)
    def plan(self, problem: CommitmentProblem) -> Commitment:
        """Return the best deterministic commitment.

        Raises
        ------
        InvalidArgument, LimitReached, SolverFailed, Interrupted
            As `DeterministicCommitment.solve`.

        **Cost** one mixed-integer program, or one a round; an enumeration of 20,000 at most.
        """
        from iirl_opt.commitment.bilevel import DeterministicCommitment

        model = DeterministicCommitment(problem)
        found = model.solve(time_limit=self.time_limit, solver=self.solver)
        if problem.n_deterministic > CONFIRMED:
            return found
        return replace(Enumeration().plan(problem), method=found.method, solved=found.solved)


@checked(solver=SOLVER)
@dataclass(frozen=True)
class NormalForm:
    """Solve the program over mixed strategies of a one-state game (`MixedCommitment`).

    Parameters
    ----------
    solver : HiGHS by default.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1], [1]], [[1], [1]]]], 0)  # one state, two actions each
    >>> mine, theirs = [[[2, 4], [1, 3]]], [[[1, 0], [0, 1]]]
    >>> problem = CommitmentProblem(game, mine, follower_reward=theirs, ties="optimistic")
    >>> NormalForm().plan(problem).policy.round(6)
    array([[0.5, 0.5]])
    """

    solver: Solver | str | None = None

    @checked(problem=PROBLEM)
    def plan(self, problem: CommitmentProblem) -> Commitment:
        """Return the best stochastic commitment.

        Raises
        ------
        InvalidArgument
            More states than one, or a follower that is neither optimal nor ε-greedy.

        **Cost** a mixed-integer program with B binaries.
        """
        from iirl_opt.commitment.normal_form import MixedCommitment

        return MixedCommitment(problem).solve(solver=self.solver)
