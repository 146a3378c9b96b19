"""Commitments: one question, and the program or search that answers it.

When the follower answers optimally and has the leader's reward, the leader's part of an optimal
joint policy is an optimal commitment, and every optimal answer to it has the value of the joint
optimum, whatever the tie rule (paper, Section 4.2 and Lemma 2). This needs a joint policy that is
optimal *from every state*: one that is optimal only from the start distribution leaves states it
never visits to chance, and a follower may go there. So the program's policy is completed by policy
iteration, which keeps what is optimal.

Against every other follower, and for a follower with its own reward, `commit` takes an approximate
value iteration (a heuristic), or a search over the *deterministic* commitments, which ends with a
proof or with a bound. Stochastic commitments may earn more than all deterministic ones; of those
only one-state games are solved exactly, otherwise they are climbed to and bounded.

Constraints are of three kinds, and which is meant must be said:

* of the leader's policy alone: `allowed` actions, `admissible` distributions a state at a time;
* on the joint play, *respected by both* (``whose="both"``): the occupancy program, whose optimum is
  a commitment only if it is a pair of policies;
* on the joint play, of the leader alone (``whose="leader"``): *the follower ignores them*, which is
  a bilevel program (`iirl_opt.commitment.bilevel`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any, Literal, get_args

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.certificate import certify
from iirl_opt.checks import FLAG, FUNCTION, MAPPING, TIME_LIMIT, checked, one_of
from iirl_opt.commitment.admissible import AdmissibleCommitment, Restriction
from iirl_opt.commitment.ascent import improve_stochastic
from iirl_opt.commitment.bilevel import BilevelSolution, DeterministicCommitment
from iirl_opt.commitment.bounds import bounded, value_bounds
from iirl_opt.commitment.enumeration import Search, enumerate_commitments
from iirl_opt.commitment.incumbent import proves
from iirl_opt.commitment.normal_form import MixedCommitment
from iirl_opt.commitment.optimal_follower import JointOptimum, joint_optimum, proved_joint
from iirl_opt.commitment.problem import CommitmentProblem, Reply, Ties
from iirl_opt.commitment.proof import certificate_of_commitment
from iirl_opt.commitment.search import branch_and_bound
from iirl_opt.commitment.value_iteration import approximate_value_iteration, evaluated
from iirl_opt.errors import Interrupted, InvalidArgument
from iirl_opt.follower import FOLLOWER, Follower, OptimalFollower
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.values import REWARD, check_reward, evaluate, local_scale
from iirl_opt.occupancy.measure import OccupancyMeasure
from iirl_opt.solver import Solved, Solver, solve
from iirl_opt.solver.records import SOLVER
from iirl_opt.solver.rules import CONSTRAINTS

__all__ = ["Commitment", "Guarantee", "Method", "StackelbergCommitment", "commit"]

Array = NDArray[np.float64]
Method = Literal[
    "choose",
    "policy-iteration",
    "program",
    "approximate",
    "enumerate",
    "milp",
    "branch-and-bound",
]
METHODS = get_args(Method)
Rows = Callable[[Any], Sequence[cp.Constraint]]

# Up to so many commitments a mixed-integer program's answer is confirmed by looking at all.
CONFIRMED = 20_000


class Guarantee(Enum):
    """What is known about a commitment, among those that its `among` names."""

    EXACT = "no commitment has a larger value: proved, up to 2⁻⁴⁰ of the scale of its rewards"
    BOUND = "the value is within a stated bound of the best"
    HEURISTIC = "the value is what this commitment earns; nothing is known of the best"


@dataclass(frozen=True, eq=False)
class Commitment:
    """A leader policy with its value against the follower.

    Attributes
    ----------
    policy : the commitment, shape (S, A).
    response : an answer that the follower may give, shape (S, B).
    value : expected discounted reward of the leader from the start distribution, by our own
        evaluation of this commitment and this response.
    values : the same from every state, shape (S,).
    guarantee : what is known about it. ``EXACT`` means that the interval from `value` to `bound` is
        proved, and no wider than 2⁻⁴⁰ of the local scale of the reward that this play meets
        (`iirl_opt.game.values.local_scale`), or than neighbouring floats; for optimal and ε-greedy
        followers of small games, that no other is better in exact numbers. A solver's word is never
        enough for it.
    residual : the Bellman residual of `values` in the joint MDP of the leader's reward, recomputed:
        zero (up to rounding) proves that no joint policy, so no commitment, is better.
    solved : the solver's record where a program was solved.
    bound : no commitment `among` those named has a larger value; None where nothing is known. Of a
        program it may be the solver's word; of a search, our own arithmetic.
    gap : by how much another can be better, as known before `value` and `bound` were rounded; None
        where nothing is known.
    among : ``"all"`` commitments, ``"deterministic"`` ones, or ``"admissible"`` ones; in each case
        those that respect the constraints.
    method : what found it.
    converged : whether an approximate value iteration came to rest; None of other methods.
    problem : what it is a commitment in: game, rewards, follower, tie rule, allowed actions.
    """

    policy: Array
    response: Array
    value: float
    values: Array
    guarantee: Guarantee
    residual: float
    problem: CommitmentProblem
    solved: Solved | None = None
    bound: float | None = None
    gap: float | None = None
    among: Literal["all", "deterministic", "admissible"] = "all"
    method: Method = "policy-iteration"
    converged: bool | None = None

    def __repr__(self) -> str:
        mine = self.solved is None or self.guarantee is Guarantee.EXACT
        word = "" if mine else " by the solver's word"
        bound = "" if self.bound is None else f", bound {self.bound:.9g}{word}"
        rest = "" if self.converged is not False else ", not converged"
        return (
            f"Commitment(value {self.value:.9g}{bound}, {self.guarantee.name} among {self.among}, "
            f"{self.method}{rest})"
        )


certify.register(Commitment, certificate_of_commitment)


@dataclass(frozen=True, eq=False)
class StackelbergCommitment:
    """The commitment problem against an optimal follower as a cvxpy program to extend.

    The joint optimum as an occupancy linear program; `constraints` and `objective` are cvxpy's own.
    Rows that you add are respected by both agents: then the optimum may be correlated and is a
    commitment only if it splits (see `iirl_opt.occupancy.measure`).

    Parameters
    ----------
    game : the game.
    reward : shape (S,) or (S, A, B).
    """

    game: TwoAgentMDP
    reward: Array

    @checked(game=GAME)
    def __init__(self, game: TwoAgentMDP, reward: ArrayLike) -> None:
        object.__setattr__(self, "game", game)
        object.__setattr__(self, "reward", check_reward(game, reward))

    @cached_property
    def measure(self) -> OccupancyMeasure:
        """The joint occupancy measure: its `variable` is what to constrain."""
        return OccupancyMeasure(self.game)

    def expected(self, quantity: ArrayLike) -> cp.Expression:
        """Return the expected discounted sum of a quantity (S,) or (S, A, B) as an expression."""
        return self.measure.expected(quantity)

    @property
    def objective(self) -> cp.Maximize:
        """The expected discounted reward."""
        return cp.Maximize(self.expected(self.reward))

    @property
    def constraints(self) -> list[cp.Constraint]:
        """The flow constraints of the measure."""
        return self.measure.constraints

    @checked(subject_to=CONSTRAINTS)
    def problem(self, subject_to: Sequence[cp.Constraint] = ()) -> cp.Problem:
        """Return the cvxpy problem, with further constraints if given."""
        return cp.Problem(self.objective, [*self.constraints, *subject_to])

    @checked(solver=SOLVER)
    def solve(self, solver: Solver | None = None) -> Commitment:
        """Return an optimal commitment; states that it never visits are completed optimally.

        **Source** paper, Lemma 2. **Cost** one LP, and a few linear systems for the completion.
        """
        solved = solve(self.problem(), solver)
        mass = np.array(self.measure.variable.value).reshape(self.game.n_states, -1)
        problem = CommitmentProblem(self.game, self.reward)
        return _joint(problem, joint_optimum(problem, start=mass.argmax(axis=1)), solved)


@checked(
    game=GAME,
    solver=SOLVER,
    time_limit=TIME_LIMIT,
    follower=FOLLOWER,
    subject_to=FUNCTION,
    reward=REWARD,
    leader_reward=REWARD,
    follower_reward=REWARD,
    exact=FLAG,
    stochastic=FLAG,
    method=one_of(*METHODS),
    whose=one_of("leader", "both"),
    admissible=MAPPING,
)
def commit(
    game: TwoAgentMDP,
    reward: ArrayLike | None = None,
    *,
    leader_reward: ArrayLike | None = None,
    follower_reward: ArrayLike | None = None,
    follower: Follower | None = None,
    exact: bool = False,
    stochastic: bool = False,
    method: Method = "choose",
    ties: Ties | None = None,
    allowed: ArrayLike | None = None,
    admissible: Mapping[Any, Restriction] | None = None,
    subject_to: Rows | None = None,
    whose: Literal["leader", "both"] = "leader",
    time_limit: float | None = None,
    solver: Solver | None = None,
) -> Commitment:
    """Return the best commitment of the leader that the method finds, and what is known of it.

    Parameters
    ----------
    reward : of both agents, shape (S,) or (S, A, B); or else `leader_reward` and, where it differs,
        `follower_reward`.
    follower : `OptimalFollower` by default.
    exact : search the deterministic commitments to the end. Without it, and unless the problem is
        one of Lemma 2, the answer is a heuristic.
    stochastic : go on from the best deterministic commitment to stochastic ones, a lower bound on
        their optimum with an upper one beside it; in a one-state game against an optimal or
        ε-greedy follower with ``exact=True`` the optimum itself (strong Stackelberg).
    method : by default what is fastest. ``"policy-iteration"`` and ``"program"`` solve the problem
        of Lemma 2; ``"approximate"`` is `approximate_value_iteration`; the others are exact over
        deterministic commitments: ``"branch-and-bound"``, which `exact` takes wherever the
        follower's answers can be bounded, ``"enumerate"``, and ``"milp"`` for optimal and ε-greedy
        followers, which alone takes rows (see `DeterministicCommitment`).
    ties : ``"optimistic"`` (strong Stackelberg) or ``"pessimistic"`` (weak), in place of the
        follower's own tie rule.
    allowed : mask (S, A) of the leader's actions; all by default.
    admissible : ``{state: (G, h)}``, distributions p over the leader's actions with ``G p ≤ h``;
        ``"*"`` for all other states. Only for the problem of Lemma 2: see `AdmissibleCommitment`.
    subject_to : a function that is given the program, and returns cvxpy constraints on it:
        ``lambda program: [budget(program.expected(cost), 2.0, name="cost")]``.
    whose : who respects these constraints. ``"leader"``: the follower ignores them, and the best
        *deterministic* commitment is found (`DeterministicCommitment`). ``"both"``: the joint
        optimum under them, for an optimal follower with the leader's reward.
    time_limit : seconds for an exact search, which then returns its best with a bound.
    solver : of the programs; HiGHS by default.

    Raises
    ------
    InvalidArgument
        The method does not fit the follower or the constraints: says which do. No reward.
    InvalidReward
    NotAProduct
        The joint optimum under shared constraints is correlated: no pair of policies plays it.
    Infeasible
        No commitment respects the constraints, which are named where no joint policy does.
    LimitReached, SolverFailed
        A program brought nothing that can be used.
    Interrupted
        Ctrl-C during a mixed-integer program; its `found` is the best commitment so far, or None.

    **Source** paper, Lemma 2 and appendix C; the searches are ours. **Cost** arithmetic; one LP for
    ``"program"``; mixed-integer programs for ``"milp"``; exponential in S at worst where exact.

    Examples
    --------
    >>> from iirl_opt.follower import EpsilonGreedyFollower
    >>> from iirl_opt.game.generate import random_game
    >>> game, reward = random_game(6, 2, 2, rng=0)
    >>> commit(game, reward).guarantee.name  # Lemma 2
    'EXACT'
    >>> plan = commit(game, reward, follower=EpsilonGreedyFollower(0.2), exact=True)
    >>> plan.guarantee.name, plan.among, plan.gap < 1e-8
    ('EXACT', 'deterministic', True)
    """
    own = reward if leader_reward is None else leader_reward
    if own is None or (reward is not None and leader_reward is not None):
        raise InvalidArgument("reward", "is stated not once", "reward or leader_reward", own)
    model = OptimalFollower() if follower is None else follower
    if isinstance(model, OptimalFollower) and follower_reward is None:
        model = replace(model, ties="first")  # Lemma 2: the rule does not matter
    problem = CommitmentProblem(
        game, own, model, follower_reward=follower_reward, ties=ties, allowed=allowed
    )
    if admissible is not None:
        return _admissible(problem, admissible, method, subject_to, solver)
    if subject_to is not None:
        return _constrained(problem, subject_to, whose, method, time_limit, solver)
    lemma = problem.cooperative and isinstance(model, OptimalFollower)
    if method in ("policy-iteration", "program") or (method == "choose" and lemma):
        return _lemma_2(problem, method, solver)
    if stochastic and exact and game.n_states == 1 and problem.epsilon is not None:
        return _mixed(problem, solver)
    found = _deterministic(problem, exact, method, time_limit, solver)
    return _stochastic(problem, found) if stochastic else found


def _lemma_2(problem: CommitmentProblem, method: Method, solver: Solver | None) -> Commitment:
    """Return an optimal commitment to an optimal follower with the leader's reward."""
    _need_lemma_2(problem, "method", method)
    game, reward = problem.game, problem.reward
    if method == "program":
        if problem.allowed.all():
            return StackelbergCommitment(game, reward).solve(solver)
        solved = (
            AdmissibleCommitment(game, reward, {}, allowed=problem.allowed).solve(solver).solved
        )
        return _joint(problem, joint_optimum(problem), solved)
    return _joint(problem, joint_optimum(problem))


def _need_lemma_2(problem: CommitmentProblem, name: str, value: object) -> None:
    """Refuse a problem that Lemma 2 does not speak of."""
    if not (problem.cooperative and isinstance(problem.follower, OptimalFollower)):
        reward = "the leader's reward" if problem.cooperative else "a reward of its own"
        raise InvalidArgument(
            name,
            f"is {value!r} for a follower {problem.follower!r} with {reward}",
            "an OptimalFollower with the leader's reward",
            problem.follower,
        )


def _admissible(
    problem: CommitmentProblem,
    restrictions: Mapping[Any, Restriction],
    method: Method,
    subject_to: Rows | None,
    solver: Solver | None,
) -> Commitment:
    """Return the best commitment from rectangular sets of policies."""
    _need_lemma_2(problem, "admissible", restrictions)
    if method not in ("choose", "program") or subject_to is not None:
        raise InvalidArgument(
            "admissible",
            f"stands beside method={method!r} or subject_to",
            "method='program' and no other rows: sets that couple states are not solved exactly",
            method,
        )
    restricted = AdmissibleCommitment(
        problem.game, problem.reward, restrictions, allowed=problem.allowed
    )
    policy, bounds, solved = restricted.solve(solver)
    bound, proved = float(problem.game.start @ bounds), False
    exact = restricted.exactly()
    if exact is not None:
        policy, bound = exact
    reply = problem.reply(policy)
    value = float(problem.game.start @ reply.values)
    if exact is not None:
        proved = proves(bound - value, _scale(problem, policy, reply.response), value)
    return _made(
        problem,
        policy,
        reply,
        bound=bound,
        proved=proved,
        among="admissible" if restrictions else "all",
        method="program",
        solved=solved,
    )


def _constrained(
    problem: CommitmentProblem,
    subject_to: Rows,
    whose: str,
    method: Method,
    time_limit: float | None,
    solver: Solver | None,
) -> Commitment:
    """Return the best commitment under rows that both respect, or the leader alone."""
    fits = "program" if whose == "both" else "milp"
    if method not in ("choose", fits):
        raise InvalidArgument(
            "method", f"is {method!r} under constraints of {whose!r}", fits, method
        )
    if whose == "leader":
        return _bilevel(problem, subject_to, time_limit, solver)
    _need_lemma_2(problem, "whose", whose)
    model = StackelbergCommitment(problem.game, problem.reward)
    rows = list(subject_to(model))
    forbidden = np.repeat(~problem.allowed, problem.game.n_follower_actions).astype(float)
    if forbidden.any():
        rows.append((forbidden @ model.measure.variable <= 0).set_label("forbidden"))
    best = model.measure.maximise(problem.reward, subject_to=rows, solver=solver)
    policy, response = best.split()
    values = evaluate(problem.game, problem.reward, (policy, response))
    reply = Reply(response, values)
    return _made(
        problem,
        policy,
        reply,
        bound=best.value,
        proved=False,
        among="all",
        method="program",
        solved=best.solved,
    )


def _bilevel(
    problem: CommitmentProblem,
    subject_to: Rows | None,
    time_limit: float | None,
    solver: Solver | None,
) -> Commitment:
    if problem.epsilon is None:
        raise InvalidArgument(
            "method" if subject_to is None else "subject_to",
            f"needs the mixed-integer program for {problem.follower!r}",
            "an OptimalFollower or EpsilonGreedyFollower, or branch-and-bound, enumerate",
            problem.follower,
        )
    bilevel = DeterministicCommitment(problem)
    rows = [] if subject_to is None else list(subject_to(bilevel))

    def commitment(found: BilevelSolution) -> Commitment:
        reply = Reply(found.response, found.values)
        return _made(
            problem,
            found.policy,
            reply,
            bound=found.bound,
            proved=False,
            among="deterministic",
            method="milp",
            solved=found.solved,
        )

    try:
        found = bilevel.solve(rows, time_limit=time_limit, solver=solver)
    except Interrupted as stop:
        if stop.found is not None:
            stop.found = commitment(stop.found)
        raise
    if subject_to is None and problem.n_deterministic <= CONFIRMED:
        # The solver's word is no proof; so few commitments are looked at one by one.
        return _searched(problem, enumerate_commitments(problem), "milp", found.solved)
    return commitment(found)


def _deterministic(
    problem: CommitmentProblem,
    exact: bool,
    method: Method,
    time_limit: float | None,
    solver: Solver | None,
) -> Commitment:
    """Return the best deterministic commitment, or what a heuristic finds."""
    if method == "choose":
        searched: Method = "branch-and-bound" if bounded(problem) else "enumerate"
        method = searched if exact else "approximate"
    if method == "milp":
        return _bilevel(problem, None, time_limit, solver)
    if method == "approximate":
        found = approximate_value_iteration(problem)
        return _made(
            problem,
            found.policy,
            found.reply,
            bound=None,
            proved=False,
            among="deterministic",
            method=method,
            converged=found.converged,
        )
    search: Search
    if method == "enumerate":
        search = enumerate_commitments(problem, time_limit=time_limit)
    else:
        search = branch_and_bound(problem, time_limit=time_limit)
    return _searched(problem, search, method)


def _searched(
    problem: CommitmentProblem, search: Search, method: Method, solved: Solved | None = None
) -> Commitment:
    """Return what a search found."""
    return _made(
        problem,
        search.policy(problem.game.n_leader_actions),
        Reply(search.response, search.values),
        value=search.value,
        bound=search.bound,
        gap=search.gap,
        proved=search.proved,
        among="deterministic",
        method=method,
        solved=solved,
    )


def _mixed(problem: CommitmentProblem, solver: Solver | None) -> Commitment:
    """Return the best stochastic commitment of a one-state game."""
    mixed = MixedCommitment(problem)
    found = mixed.solve(solver)
    supremum = mixed.supremum()
    bound = found.bound if supremum is None else supremum
    best = evaluated(problem, found.policy)
    if best.value < bound:  # ties that are not in the leader's favour, or were lost by rounding
        best = max(improve_stochastic(problem, found.policy).best, best, key=lambda b: b.value)
    scale = _scale(problem, best.policy, best.reply.response)
    return _made(
        problem,
        best.policy,
        best.reply,
        bound=bound,
        proved=supremum is not None and proves(bound - best.value, scale, best.value),
        among="all",
        method="milp",
        solved=found.solved,
    )


def _stochastic(problem: CommitmentProblem, found: Commitment) -> Commitment:
    """Return what climbing from a deterministic commitment reaches, with a bound on all."""
    best = improve_stochastic(problem, found.policy).best
    bound = float(problem.game.start @ value_bounds(problem).w_hi)
    scale = _scale(problem, best.policy, best.reply.response)
    return _made(
        problem,
        best.policy,
        best.reply,
        bound=bound,
        proved=proves(bound - best.value, scale, best.value),
        among="all",
        method=found.method,
        converged=found.converged,
    )


def _joint(
    problem: CommitmentProblem, near: JointOptimum, solved: Solved | None = None
) -> Commitment:
    """Return the leader's part of an optimal joint policy, with what is known of it."""
    best = proved_joint(problem, near)
    return _made(
        problem,
        best.policy,
        best.reply,
        value=best.value,
        bound=best.bound,
        gap=best.gap,
        proved=best.proved,
        among="all",
        method="policy-iteration" if solved is None else "program",
        solved=solved,
    )


def _scale(problem: CommitmentProblem, policy: Array, response: Array) -> float:
    """Return the local scale of the leader's reward under a pair, from the start."""
    return float(problem.game.start @ local_scale(problem.game, problem.reward, (policy, response)))


def _made(
    problem: CommitmentProblem,
    policy: Array,
    reply: Reply,
    *,
    bound: float | None,
    proved: bool,
    among: Literal["all", "deterministic", "admissible"],
    value: float | None = None,
    gap: float | None = None,
    method: Method = "policy-iteration",
    solved: Solved | None = None,
    converged: bool | None = None,
) -> Commitment:
    """Return a commitment with the guarantee that its bound gives it."""
    game = problem.game
    earned = float(game.start @ reply.values) if value is None else value
    guarantee = Guarantee.HEURISTIC
    if bound is not None:
        guarantee = Guarantee.EXACT if proved else Guarantee.BOUND
        bound = max(bound, earned)
        gap = bound - earned if gap is None else gap
    ahead = game.discount * (game.matrix @ reply.values)
    best = (problem.full_reward.reshape(game.n_states, -1) + ahead.reshape(game.n_states, -1)).max(
        1
    )
    return Commitment(
        policy=policy,
        response=reply.response,
        value=earned,
        values=reply.values,
        guarantee=guarantee,
        residual=float(np.abs(best - reply.values).max()),
        problem=problem,
        solved=solved,
        bound=bound,
        gap=gap,
        among=among,
        method=method,
        converged=converged,
    )
