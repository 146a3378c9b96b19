"""One-state games: the best stochastic commitment, by one mixed-integer program.

With one state a commitment is a mixed strategy x over the leader's actions, and the follower's
answer is a best response to the mean reward ``Σ_a x_a r2(a, b)``: the normal-form Stackelberg game.
Unlike in games of many states, the best *stochastic* commitment is then a small program:

    max Σ z(a, b) r1_ε(a, b)       over  z ≥ 0,  Σ z = 1,  y binary,  Σ_b y_b = 1,
    Σ_a z(a, b) ≤ y_b,             0 ≤ u − Σ_a x_a r2(a, b) ≤ N_b (1 − y_b),   x_a = Σ_b z(a, b),

with r1_ε the leader's reward under the errors of an ε-greedy follower and N_b the largest loss that
answer b can have. Ties are broken in the leader's favour (strong Stackelberg); the optimum is the
supremum under every other tie rule too if the leader can make each answer strictly best.

**Source** Paruchuri, Pearce, Marecki, Tambe, Ordóñez & Kraus 2008 (DOBSS) for one follower type;
the same optimum as the linear program an answer of Conitzer & Sandholm 2006.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from iirl_opt.brief import in_brief
from iirl_opt.checks import checked
from iirl_opt.commitment.algorithms_2_and_3 import evaluated
from iirl_opt.commitment.bilevel_rounds import STRICT
from iirl_opt.commitment.exact import ExactProblem
from iirl_opt.commitment.incumbent import meets, upwards
from iirl_opt.commitment.local_search import LocalSearch
from iirl_opt.commitment.plans import Commitment
from iirl_opt.commitment.problem import PROBLEM, CommitmentProblem
from iirl_opt.errors import InvalidArgument
from iirl_opt.exact.polytope import corners, count_of_systems
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.occupancy.quantities import MeasuredPlay
from iirl_opt.solver import Solver, solve
from iirl_opt.solver.records import SOLVER
from iirl_opt.solver.rules import CONSTRAINTS, Rows

__all__ = ["MixedCommitment"]

# Exact systems that are solved for the supremum.
CORNERS = 5000


@checked(asked=PROBLEM)
@dataclass(frozen=True, eq=False)
class MixedCommitment(MeasuredPlay):
    """The best stochastic commitment of a one-state game as a cvxpy program to extend.

    Parameters
    ----------
    asked : a game of one state with an optimal or ε-greedy follower.

    Raises
    ------
    InvalidArgument
        More states, or another follower.

    Examples
    --------
    >>> from iirl_opt.game.mdp import TwoAgentMDP
    >>> game = TwoAgentMDP(np.ones((1, 2, 2, 1), dtype=int), 0)
    >>> mine, theirs = [[[2.0, 4.0], [1.0, 3.0]]], [[[1.0, 0.0], [0.0, 1.0]]]
    >>> asked = CommitmentProblem(game, mine, follower_reward=theirs, ties="optimistic")
    >>> found = MixedCommitment(asked).solve()
    >>> found.policy.round(6), found  # Conitzer & Sandholm's example: half each
    (array([[0.5, 0.5]]), Commitment(value 3.5, bound 3.5, EXACT among all, milp))
    """

    asked: CommitmentProblem

    __repr__ = in_brief

    def __post_init__(self) -> None:
        p = self.asked
        if p.game.n_states != 1:
            raise InvalidArgument(
                "game", f"has {p.game.n_states} states", "one state", p.game.n_states
            )
        if p.epsilon is None:
            raise InvalidArgument(
                "follower",
                f"is {p.follower!r}",
                "an OptimalFollower or EpsilonGreedyFollower",
                p.follower,
            )

    @cached_property
    def play(self) -> cp.Variable:
        """The probability z of leader action a with greedy answer b, shape (A·B,), ``a·B + b``."""
        return cp.Variable(int(np.prod(self.asked.game.shape)), nonneg=True, name="play")

    @cached_property
    def answer(self) -> cp.Variable:
        """The follower's greedy answer y, shape (B,)."""
        return cp.Variable(self.asked.game.n_follower_actions, boolean=True, name="answer")

    @cached_property
    def _value(self) -> cp.Variable:
        """The follower's value u of a step, its reward scaled to [0, 1]."""
        return cp.Variable(1, name="follower value")

    @property
    def leader(self) -> cp.Expression:
        """The mixed strategy x, shape (A,)."""
        _, n_a, n_b = self.asked.game.shape
        return np.kron(np.eye(n_a), np.ones(n_b)) @ self.play

    @property
    def measure(self) -> cp.Expression:
        """The occupancy measure of the joint play, shape (A·B,): what rows of yours speak of."""
        p = self.asked
        assert p.epsilon is not None
        n_b = p.game.n_follower_actions
        mixing = (1 - p.epsilon) * np.eye(n_b) + p.epsilon / n_b
        whole = np.kron(np.eye(p.game.n_leader_actions), mixing) / (1 - p.game.discount)
        return whole @ self.play

    @property
    def _measured(self) -> tuple[TwoAgentMDP, cp.Expression]:
        return self.asked.game, self.measure

    @property
    def objective(self) -> cp.Maximize:
        """The leader's discounted reward."""
        return cp.Maximize(self.expected(self.asked.reward))

    @cached_property
    def constraints(self) -> list[cp.Constraint]:
        """The rows of the module's docstring, labelled."""
        _, n_a, n_b = self.asked.game.shape
        theirs = self.asked.full_follower_reward[0]
        theirs = (theirs - theirs.min()) / (float(np.ptp(theirs)) or 1.0)
        losses = sp.csr_array(np.repeat(theirs, n_b, axis=0).T)  # (B, A·B): Σ_a x_a r2(a, b)
        most = (theirs.max(axis=1, keepdims=True) - theirs).max(axis=0)
        spread = np.ones((n_b, 1))
        rows = [
            (np.ones((1, n_a * n_b)) @ self.play == [1.0]).set_label("one strategy"),
            (np.ones((1, n_b)) @ self.answer == [1.0]).set_label("one answer"),
            (np.kron(np.ones(n_a), np.eye(n_b)) @ self.play <= self.answer).set_label("played"),
            (losses @ self.play <= spread @ self._value).set_label("optimum"),
            (
                spread @ self._value - losses @ self.play + sp.diags_array(most) @ self.answer
                <= most
            ).set_label("greedy"),
        ]
        forbidden = np.flatnonzero(~np.repeat(self.asked.allowed[0], n_b))
        if forbidden.size:
            out = sp.eye_array(n_a * n_b, format="csr")[forbidden]
            rows.append((out @ self.play == np.zeros(forbidden.size)).set_label("forbidden"))
        return rows

    @checked(subject_to=CONSTRAINTS)
    def problem(self, subject_to: Rows = ()) -> cp.Problem:
        """Return the cvxpy problem, with further constraints if given."""
        return cp.Problem(self.objective, [*self.constraints, *subject_to])

    @checked(subject_to=CONSTRAINTS, solver=SOLVER)
    def solve(self, subject_to: Rows = (), *, solver: Solver | str | None = None) -> Commitment:
        """Return the best mixed strategy, evaluated at the follower's true answer.

        Without rows of yours it is EXACT where it meets the `supremum`. With rows, which the
        follower ignores, the bound is the solver's word.

        Raises
        ------
        Infeasible
            No mixed strategy respects the rows.

        **Cost** a mixed-integer program with B binaries; then arithmetic.
        """
        solved = solve(self.problem(subject_to), STRICT if solver is None else solver)
        x = np.maximum(np.asarray(self.leader.value), 0.0)
        bound = solved.value if solved.bound is None else solved.bound
        assert bound is not None
        best, supremum = evaluated(self.asked, (x / x.sum())[None]), None
        if not subject_to:
            supremum = self.supremum()
            bound = bound if supremum is None else supremum
            if best.value < bound:  # ties not in the leader's favour, or lost by rounding
                found = LocalSearch(begin=best.policy).climb(self.asked).best
                best = max(found, best, key=lambda one: one.value)
        return Commitment.of(
            self.asked,
            best.policy,
            best.reply,
            method="milp",
            bound=bound,
            proved=supremum is not None and meets(self.asked, best.policy, best.reply, supremum),
            solved=solved,
        )

    def supremum(self) -> float | None:
        """Return what no commitment exceeds, by the corners of the follower's regions; else None.

        Where answer b is best for the follower is a polytope of mixed strategies; the leader's
        reward is linear there, so its largest value is at a corner. None where corners are many.

        **Source** Conitzer & Sandholm 2006. **Cost** arithmetic in Fractions.
        """
        p = self.asked
        _, n_a, n_b = p.game.shape
        if count_of_systems(n_a, n_b - 1) * n_b > CORNERS:
            return None
        exact = ExactProblem(p)
        mixed = exact.own[0]
        mean = mixed.sum(axis=1, keepdims=True) / Fraction(n_b)
        mixed = (1 - exact.epsilon) * mixed + exact.epsilon * mean
        open_actions = np.flatnonzero(p.allowed[0])
        most = None
        for b in range(n_b):
            others = [c for c in range(n_b) if c != b]
            worse = (exact.theirs[0][:, others] - exact.theirs[0][:, [b]])[open_actions].T
            for x in corners(worse, np.full(len(others), Fraction(0), dtype=object)):
                value = (x * mixed[open_actions, b]).sum()
                most = value if most is None else max(most, value)
        assert most is not None  # some answer is best
        return upwards(Fraction(most) / (1 - exact.discount))
