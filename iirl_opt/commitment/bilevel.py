"""The best deterministic commitment to an optimal or ε-greedy follower as a mixed-integer program.

Committing is a *bilevel* problem: the leader optimises subject to the follower's optimising. Here
the inner problem is replaced by its optimality conditions, with

* binaries ``z(s, a, b)``: the leader plays a in s, where b is greedy for the follower;
* ``H(s)``, the follower's optimal values of its own reward r2 under the commitment;
* the *greedy measure* ``m(s, a, b) ≥ 0``: the discounted visits of s where z chooses (a, b).

With ``Q(s, a, b) = r2 + γ Σ P H`` and the kernel and the leader's reward mixed by the follower's
errors, ``P_ε = (1 − ε) P + ε mean_b P`` and likewise r1, the program is

    max Σ m r1_ε
    Σ_ab z(s, ·) = 1                                                        one choice
    Σ_ab m(s', ·) − γ Σ P_ε(s' | ·) m = start(s'),      m ≤ U(s) z          flow, visits
    H(s) ≥ Q(s, a, b) − M(s, a, b) (1 − Σ_c z(s, a, c))                     optimum
    H(s) ≤ Q(s, a, b) + N(s, a, b) (1 − z(s, a, b)) + τ                     greedy

Every constant is as small as the row allows: U(s) is the largest measure that any joint policy has
in s, and M and N are the largest differences over the box of the follower's values that
`value_bounds` proves. The measure is what makes it tight: without the follower's rows the program
is the occupancy program of the joint optimum, so for the leader's own reward and ε = 0 its
relaxation is exact. τ is what the solver's own tolerance makes of a tie: the program may take a
worse answer for one, and what it finds is always evaluated at the true answer.

Rows of your own on the measure (budgets on the leader's actions, hazards) are constraints of the
*leader*: the follower optimises its reward and ignores them, and so the leader must find a
commitment whose answer happens to respect them. Rows that both respect are another problem (see
`iirl_opt.occupancy.measure`).

The program is optimistic: where the follower is tied it answers in the leader's favour. Its optimum
is an upper bound for every other tie rule. For those, what it finds is evaluated under the true
rule and cut off, and the program is solved again until its bound is no better than the best
evaluated. A cut removes all commitments that agree where play can go, so there are finitely many,
but where ties are many, so are the rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import TIME_LIMIT, checked
from iirl_opt.commitment.bilevel_rounds import Rounds
from iirl_opt.commitment.bounds import ValueBounds, value_bounds
from iirl_opt.commitment.plans import Commitment
from iirl_opt.commitment.problem import PROBLEM, CommitmentProblem, check_local, dense_matrix
from iirl_opt.commitment.stacked import Stack, upper_values
from iirl_opt.errors import InvalidArgument
from iirl_opt.game.kernel import Matrix
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.occupancy.quantities import MeasuredPlay
from iirl_opt.solver import Solver
from iirl_opt.solver.records import SOLVER
from iirl_opt.solver.rules import CONSTRAINTS, Rows

__all__ = ["DeterministicCommitment"]

Array = NDArray[np.float64]

# Bounds are widened by this share, so that rounding cuts no commitment off.
SLACK = 1e-9

# The tolerance τ of a tie, as a share of span(r2)/(1−γ).
TIES = 1e-9


@checked(asked=PROBLEM)
@dataclass(frozen=True, eq=False)
class DeterministicCommitment(MeasuredPlay):
    """The commitment problem over deterministic commitments as a cvxpy program to extend.

    Parameters
    ----------
    asked : game, rewards, tie rule and allowed actions, with an optimal or ε-greedy follower.

    Raises
    ------
    InvalidArgument
        Another follower, whose answer is no solution of linear rows; or random ties without a seed.

    **Source** a single-level reformulation of the leader's problem; the measure in place of the
    leader's values is ours. **Cost** a mixed-integer program with S·A·B binaries.

    Examples
    --------
    >>> from iirl_opt.game.generate import random_game
    >>> from iirl_opt.follower import EpsilonGreedyFollower
    >>> game, reward = random_game(4, 2, 2, rng=0)
    >>> model = DeterministicCommitment(CommitmentProblem(game, reward, EpsilonGreedyFollower(0.3)))
    >>> costly = np.array([[[1.0, 1.0], [0.0, 0.0]]] * 4)
    >>> found = model.solve([(model.expected(costly) <= 5.0).set_label("budget")])
    >>> found.gap < 1e-8, found.value < model.solve().value
    (True, True)
    """

    asked: CommitmentProblem

    __repr__ = in_brief

    def __post_init__(self) -> None:
        if self.asked.epsilon is None:
            raise InvalidArgument(
                "follower",
                f"is {self.asked.follower!r}",
                "an OptimalFollower or EpsilonGreedyFollower: no linear rows say what others play",
                self.asked.follower,
            )
        check_local(self.asked)

    @cached_property
    def choice(self) -> cp.Variable:
        """The binaries z, shape (S·A·B,), row order ``(s·A + a)·B + b``."""
        return cp.Variable(self._size, boolean=True, name="choice")

    @cached_property
    def greedy_measure(self) -> cp.Variable:
        """The greedy measure m, shape (S·A·B,)."""
        return cp.Variable(self._size, nonneg=True, name="greedy measure")

    @cached_property
    def scaled_values(self) -> cp.Variable:
        """The follower's values with its reward scaled to [0, 1], shape (S,)."""
        low, high = self.box
        return cp.Variable(low.size, bounds=[low, high], name="follower values")

    @property
    def follower_values(self) -> cp.Expression:
        """The follower's optimal values H under the commitment, shape (S,)."""
        low, span = self.unit
        return span * self.scaled_values + low / (1 - self.asked.game.discount)

    @property
    def leader(self) -> cp.Expression:
        """The commitment as zeros and ones, shape (S·A,), row order ``s·A + a``."""
        n_b = self.asked.game.n_follower_actions
        rows = self._size // n_b
        return sp.kron(sp.eye_array(rows), np.ones((1, n_b)), format="csr") @ self.choice

    @property
    def measure(self) -> cp.Expression:
        """The occupancy measure of the joint play, shape (S·A·B,): what rows of yours speak of."""
        return self._mixing @ self.greedy_measure

    @property
    def _measured(self) -> tuple[TwoAgentMDP, cp.Expression]:
        return self.asked.game, self.measure

    @property
    def objective(self) -> cp.Maximize:
        """The leader's expected discounted reward."""
        return cp.Maximize(self.expected(self.asked.reward))

    @cached_property
    def constraints(self) -> list[cp.Constraint]:
        """The rows of the module's docstring, under the names that stand there."""
        game, z, m = self.asked.game, self.choice, self.greedy_measure
        n_states = game.n_states
        own = sp.kron(sp.eye_array(n_states), np.ones((1, game.n_choices)), format="csr")
        mixed = sp.csr_array(self._mixing.T @ sp.csr_array(game.matrix))
        rows = [
            (own @ z == np.ones(n_states)).set_label("one choice"),
            ((own - game.discount * mixed.T) @ m == game.start).set_label("flow"),
            (m - sp.diags_array(self._most) @ z <= np.zeros(self._size)).set_label("visits"),
            *self._follower_rows(),
        ]
        forbidden = np.flatnonzero(~np.repeat(self.asked.allowed, game.n_follower_actions))
        if forbidden.size:
            out = sp.eye_array(self._size, format="csr")[forbidden]
            rows.append((out @ z == np.zeros(forbidden.size)).set_label("forbidden"))
        return rows

    @checked(subject_to=CONSTRAINTS)
    def problem(self, subject_to: Rows = ()) -> cp.Problem:
        """Return the cvxpy problem, with further constraints if given."""
        return cp.Problem(self.objective, [*self.constraints, *subject_to])

    @checked(solver=SOLVER, time_limit=TIME_LIMIT, subject_to=CONSTRAINTS)
    def solve(
        self,
        subject_to: Rows = (),
        *,
        incumbent: ArrayLike | None = None,
        time_limit: float | None = None,
        solver: Solver | str | None = None,
    ) -> Commitment:
        """Return the best deterministic commitment under the problem's own tie rule.

        Its value is our own evaluation, its bound the solver's word, of which no certificate is
        kept: so it is no more than BOUND, however small its gap.

        Parameters
        ----------
        subject_to : rows on the variables here, which the follower ignores. Under an optimistic
            rule it breaks ties so that they hold; under others they are checked at its true answer.
        incumbent : a commitment (S, A), deterministic, to begin with; approximate value iteration's
            by default.
        time_limit : seconds after which the best so far is returned with its bound.
        solver : HiGHS by default.

        Raises
        ------
        Infeasible
            No deterministic commitment respects the rows. Where no joint policy does either, the
            Farkas ray in ``solved.farkas`` names the rows that contradict each other.
        InvalidArgument
            Rows on variables of your own beside a tie rule that is not optimistic; a time limit for
            another solver.
        LimitReached, SolverFailed
            The solver brought no commitment in time, or none that can be used.
        Interrupted
            Ctrl-C; its ``found`` is the best commitment so far, if there is one.

        **Cost** one mixed-integer program, or one a round.
        """
        return Rounds(self, list(subject_to), incumbent, time_limit, solver).run()

    @property
    def _size(self) -> int:
        return int(np.prod(self.asked.game.shape))

    @property
    def unit(self) -> tuple[float, float]:
        """Return the least of the follower's reward, and its span (1 for a constant)."""
        theirs = self.asked.follower_reward
        return float(theirs.min()), float(np.ptp(theirs)) or 1.0

    @cached_property
    def box(self) -> tuple[Array, Array]:
        """Bounds on the scaled values of the follower, a little wide."""
        low, span = self.unit
        gamma = self.asked.game.discount
        wide = SLACK / (1 - gamma)
        h_lo, h_hi = ((h - low / (1 - gamma)) / span for h in self.bounds[:2])
        return h_lo - wide, np.maximum(h_hi, h_lo) + wide

    @cached_property
    def bounds(self) -> ValueBounds:
        """Bounds on both agents' values under any deterministic commitment."""
        return value_bounds(self.asked, stochastic=False)

    @cached_property
    def _mixing(self) -> Matrix:
        """The map from the greedy measure to the measure of the play: ε of it is uniform."""
        assert self.asked.epsilon is not None
        n_b, epsilon = self.asked.game.n_follower_actions, self.asked.epsilon
        block = (1 - epsilon) * np.eye(n_b) + epsilon / n_b
        return sp.kron(sp.eye_array(self._size // n_b), block, format="csr")

    @cached_property
    def _most(self) -> Array:
        """The largest measure U of each state, at each choice: (S·A·B,).

        It is the value of a reward of one in that state, under the best joint policy.
        """
        game, n_states = self.asked.game, self.asked.game.n_states
        kernel = dense_matrix(self._mixing.T @ game.matrix).reshape(n_states, -1, n_states)
        open_choices = np.repeat(self.asked.allowed, game.n_follower_actions, axis=1)
        some = (n_states, *kernel.shape[:2])
        reward = np.broadcast_to(np.eye(n_states)[:, :, None], some)
        allowed = np.broadcast_to(open_choices, some)
        stack = Stack(np.broadcast_to(kernel, (n_states, *kernel.shape)), reward, reward)
        most = upper_values(stack, self.asked.arithmetic, allowed) @ game.start
        return np.repeat(most * (1 + SLACK), game.n_choices)

    def _follower_rows(self) -> list[cp.Constraint]:
        """Return the rows that make H the follower's values and z greedy."""
        game, z, h = self.asked.game, self.choice, self.scaled_values
        gamma, n_b = game.discount, game.n_follower_actions
        low, span = self.unit
        theirs = ((self.asked.full_follower_reward - low) / span).ravel()
        state = np.repeat(np.arange(game.n_states), game.n_choices)
        own = sp.csr_array(
            (np.ones(self._size), (np.arange(self._size), state)), shape=game.matrix.shape
        )
        ahead = sp.csr_array(gamma * sp.csr_array(game.matrix) - own)  # theirs + ahead·H = Q − H(s)
        above, below = ahead.maximum(0), ahead.minimum(0)
        h_lo, h_hi = self.box
        largest = theirs + above @ h_hi + below @ h_lo
        least = theirs + above @ h_lo + below @ h_hi
        ties = TIES / (1 - gamma)
        plays = sp.kron(sp.eye_array(self._size // n_b), np.ones((n_b, n_b)), format="csr")
        optimum = ahead @ h + (sp.diags_array(largest) @ plays) @ z <= largest - theirs
        greedy = ahead @ h + sp.diags_array(least) @ z >= least - theirs - ties
        return [optimum.set_label("optimum"), greedy.set_label("greedy")]
