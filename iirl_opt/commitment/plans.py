"""What planning returns: a commitment, its value, and what is known of all others.

A `CommitmentMethod` plans for a `CommitmentProblem` and returns a `Commitment`: a leader policy, an
answer that the follower may give, what the two earn, and a bound on what other commitments earn. A
`Guarantee` says what that bound is worth: EXACT is proved by arithmetic of our own, BOUND may be a
solver's word or an unfinished search, HEURISTIC is no bound at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import mixture, with_advice
from iirl_opt.certificate import certify
from iirl_opt.checks import (
    FINITE,
    FLAG,
    NOT_NEGATIVE,
    TEXT,
    Rule,
    checked,
    has,
    is_a,
    one_of,
    optional,
)
from iirl_opt.commitment.problem import PROBLEM, CommitmentProblem, Reply
from iirl_opt.commitment.proof import certificate_of_commitment
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable, html_of
from iirl_opt.solver.records import Solved

__all__ = ["METHOD", "Commitment", "CommitmentMethod", "Guarantee"]

Array = NDArray[np.float64]
Among = Literal["all", "deterministic", "admissible"]


class Guarantee(Enum):
    """What is known about a commitment, among those that its ``among`` names.

    Examples
    --------
    >>> [guarantee.name for guarantee in Guarantee]
    ['EXACT', 'BOUND', 'HEURISTIC']
    """

    __repr__ = with_advice

    EXACT = "no commitment has a larger value: proved, up to 2⁻⁴⁰ of the scale of its rewards"
    BOUND = "the value is within a stated bound of the best"
    HEURISTIC = "the value is what this commitment earns; nothing is known of the best"


@dataclass(frozen=True, eq=False)
class Commitment(Tabular):
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
    problem : what it is a commitment in: game, rewards, follower, tie rule, allowed actions.
    method : what found it.
    solved : the solver's record where a program was solved.
    bound : none ``among`` those named has a larger value; None where nothing is known. Of a program
        it may be the solver's word; of a search, our own arithmetic.
    gap : by how much another can be better, as known before `value` and `bound` were rounded; None
        where nothing is known.
    among : ``"all"`` commitments, ``"deterministic"`` ones, or ``"admissible"`` ones; in each case
        those that respect the constraints.
    converged : whether an approximate value iteration came to rest; None of other methods.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, reward = iirl.random_game(5, 2, 3, rng=0)
    >>> plan = iirl.commit(game, reward)
    >>> plan.guarantee.name, plan.policy.shape, plan.among, plan.residual < 1e-12
    ('EXACT', (5, 2), 'all', True)
    """

    policy: Array
    response: Array
    value: float
    values: Array
    guarantee: Guarantee
    residual: float
    problem: CommitmentProblem
    method: str
    solved: Solved | None = None
    bound: float | None = None
    gap: float | None = None
    among: Among = "all"
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

    def table(self) -> FactTable:
        """Return one row: value and bound, what they are worth, and what found them."""
        facts = {
            "value": self.value,
            "bound": self.bound,
            "gap": self.gap,
            "guarantee": self.guarantee,
            "among": self.among,
            "method": self.method,
            "follower": self.problem.follower,
            "residual": self.residual,
            "converged": self.converged,
        }
        return FactTable([facts], "Commitment")

    def by_state(self) -> FactTable:
        """Return a row a state: what the leader commits to, what the follower answers, the value.

        **Cost** arithmetic.
        """
        game = self.problem.game
        parts = (game.leader_actions, self.policy), (game.follower_actions, self.response)
        leader, follower = ([mixture(names, row) for row in play] for names, play in parts)
        states = zip(game.states, leader, follower, self.values.tolist(), strict=True)
        names = ("state", "leader", "follower", "value")
        return FactTable([dict(zip(names, row, strict=True)) for row in states])

    def _repr_html_(self) -> str:
        return html_of(self.table()) + html_of(self.by_state())

    @classmethod
    @checked(
        problem=PROBLEM,
        reply=optional(is_a(Reply)),
        method=TEXT,
        value=optional(FINITE),
        bound=optional(FINITE),
        gap=optional(NOT_NEGATIVE),
        proved=FLAG,
        among=one_of("all", "deterministic", "admissible"),
        solved=optional(is_a(Solved)),
        converged=optional(FLAG),
    )
    def of(
        cls,
        problem: CommitmentProblem,
        policy: ArrayLike,
        reply: Reply | None = None,
        *,
        method: str,
        value: float | None = None,
        bound: float | None = None,
        gap: float | None = None,
        proved: bool = False,
        among: Among = "all",
        solved: Solved | None = None,
        converged: bool | None = None,
    ) -> Commitment:
        """Return the record of a commitment, with the guarantee that its bound gives it.

        Parameters
        ----------
        policy : the commitment, shape (S, A).
        reply : the follower's answer and what the leader earns; the problem's by default.
        method : what found it, a word of yours.
        value : what it earns from the start, where that is known better than by `reply`.
        bound, gap, among : no commitment ``among`` those named earns more, and by how much at most.
        proved : whether the gap counts as none.
        solved, converged : as the attributes.

        **Cost** arithmetic: one pass over the kernel; without a reply, the follower's planning.

        Examples
        --------
        >>> from iirl_opt.game.generate import random_game
        >>> game, reward = random_game(4, 2, 2, rng=0)
        >>> Commitment.of(CommitmentProblem(game, reward), [[1, 0]] * 4, method="always the first")
        Commitment(value 6.43477865, HEURISTIC among all, always the first)
        """
        game = problem.game
        pi1 = game.check_leader_policy(policy)
        response, values = problem.reply(pi1) if reply is None else reply
        earned = float(game.start @ values) if value is None else value
        guarantee = Guarantee.HEURISTIC
        if bound is not None:
            guarantee = Guarantee.EXACT if proved else Guarantee.BOUND
            bound = max(bound, earned)
            gap = bound - earned if gap is None else gap
        ahead = (game.discount * (game.matrix @ values)).reshape(game.n_states, -1)
        best = (problem.full_reward.reshape(game.n_states, -1) + ahead).max(axis=1)
        return cls(
            policy=pi1,
            response=response,
            value=earned,
            values=values,
            guarantee=guarantee,
            residual=float(np.abs(best - values).max()),
            problem=problem,
            method=method,
            solved=solved,
            bound=bound,
            gap=gap,
            among=among,
            converged=converged,
        )


class CommitmentMethod(Protocol):
    """A way to plan: one of this room's, or your own.

    Examples
    --------
    >>> from iirl_opt.commitment.methods import commit
    >>> from iirl_opt.game.generate import random_game
    >>> class First:  # your own: always the first action
    ...     def plan(self, problem):
    ...         policy = problem.game.leader_policy({"*": problem.game.leader_actions[0]})
    ...         return Commitment.of(problem, policy, method="first")
    >>> commit(*random_game(4, 2, 2, rng=0), by=First())
    Commitment(value 6.43477865, HEURISTIC among all, first)
    """

    def plan(self, problem: CommitmentProblem) -> Commitment:
        """Return a commitment for the problem, and what is known of it."""
        ...


# What an argument `by` may be.
METHOD: Rule = has("plan", what="a method of planning")

certify.register(Commitment, certificate_of_commitment)
