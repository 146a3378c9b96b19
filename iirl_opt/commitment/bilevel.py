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

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NoReturn

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import TIME_LIMIT, checked
from iirl_opt.commitment.bounds import ValueBounds, value_bounds
from iirl_opt.commitment.problem import PROBLEM, CommitmentProblem, Reply
from iirl_opt.commitment.stacked import Stack, upper_values
from iirl_opt.commitment.value_iteration import approximate_value_iteration, check_local
from iirl_opt.errors import Infeasible, Interrupted, InvalidArgument, LimitReached, SolverFailed
from iirl_opt.follower import best_responses
from iirl_opt.game.kernel import Matrix, is_sparse
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.game.values import check_reward, evaluate
from iirl_opt.solver import HiGHS, Solved, Solver, Status, solve
from iirl_opt.solver.records import SOLVER
from iirl_opt.solver.rules import CONSTRAINTS

__all__ = ["STRICT", "BilevelSolution", "DeterministicCommitment", "accepted_gap"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# A bound above the value by less than this share of span(r)/(1−γ) is rounding: the solver meets
# rows within 1e-9 only.
ACCEPTED = 1e-8

# Bounds are widened by this share, so that rounding cuts no commitment off.
SLACK = 1e-9

# The tolerance τ of a tie, as a share of span(r2)/(1−γ).
TIES = 1e-9

# Rows count as respected within this share of their size.
RESPECTED = 1e-7

# HiGHS counts 1e-6 as zero by default, which a row with a large constant turns into a real loss.
STRICT = HiGHS(options={"mip_feasibility_tolerance": 1e-9, "mip_abs_gap": 1e-10})


@dataclass(frozen=True, eq=False)
class BilevelSolution:
    """The best commitment found, evaluated by our own arithmetic, and the solver's bound.

    Attributes
    ----------
    policy, response, values : the commitment (S, A), the answer (S, B), the leader's values (S,).
    value : from the start distribution.
    bound : no deterministic commitment that respects the rows has a larger value. It is the
        solver's word: no certificate of it is kept.
    rounds : how many programs were solved.
    complete : whether the bound meets the value.
    solved : the record of the last program.
    """

    policy: Array
    response: Array
    values: Array
    value: float
    bound: float
    rounds: int
    complete: bool
    solved: Solved

    @property
    def gap(self) -> float:
        """How much better than `value` another commitment can be."""
        return self.bound - self.value


@checked(problem=PROBLEM)
@dataclass(frozen=True, eq=False)
class DeterministicCommitment:
    """The commitment problem over deterministic commitments as a cvxpy program to extend.

    Parameters
    ----------
    problem : game, rewards, tie rule and allowed actions, with an optimal or ε-greedy follower.

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
    >>> found.complete, found.value < model.solve().value
    (True, True)
    """

    problem: CommitmentProblem

    def __post_init__(self) -> None:
        if self.problem.epsilon is None:
            raise InvalidArgument(
                "follower",
                f"is {self.problem.follower!r}",
                "an OptimalFollower or EpsilonGreedyFollower: no linear rows say what others play",
                self.problem.follower,
            )
        check_local(self.problem)

    @cached_property
    def choice(self) -> cp.Variable:
        """The binaries z, shape (S·A·B,), row order ``(s·A + a)·B + b``."""
        return cp.Variable(self._size, boolean=True, name="choice")

    @cached_property
    def greedy_measure(self) -> cp.Variable:
        """The greedy measure m, shape (S·A·B,)."""
        return cp.Variable(self._size, nonneg=True, name="greedy measure")

    @cached_property
    def _scaled_values(self) -> cp.Variable:
        """The follower's values with its reward scaled to [0, 1], shape (S,)."""
        low, high = self._box
        return cp.Variable(low.size, bounds=[low, high], name="follower values")

    @property
    def follower_values(self) -> cp.Expression:
        """The follower's optimal values H under the commitment, shape (S,)."""
        low, span = self._unit
        return span * self._scaled_values + low / (1 - self.problem.game.discount)

    @property
    def leader(self) -> cp.Expression:
        """The commitment as zeros and ones, shape (S·A,), row order ``s·A + a``."""
        n_b = self.problem.game.n_follower_actions
        rows = self._size // n_b
        return sp.kron(sp.eye_array(rows), np.ones((1, n_b)), format="csr") @ self.choice

    @property
    def measure(self) -> cp.Expression:
        """The occupancy measure of the joint play, shape (S·A·B,): what rows of yours speak of."""
        return self._mixing @ self.greedy_measure

    def expected(self, quantity: ArrayLike) -> cp.Expression:
        """Return the expected discounted sum of a quantity (S,) or (S, A, B) as an expression."""
        q = check_reward(self.problem.game, quantity)
        joint = q[:, None, None] if q.ndim == 1 else q
        return np.broadcast_to(joint, self.problem.game.shape).ravel() @ self.measure

    @property
    def objective(self) -> cp.Maximize:
        """The leader's expected discounted reward."""
        return cp.Maximize(self.expected(self.problem.reward))

    @cached_property
    def constraints(self) -> list[cp.Constraint]:
        """The rows of the module's docstring, under the names that stand there."""
        game, z, m = self.problem.game, self.choice, self.greedy_measure
        n_states = game.n_states
        own = sp.kron(sp.eye_array(n_states), np.ones((1, game.n_choices)), format="csr")
        mixed = sp.csr_array(self._mixing.T @ sp.csr_array(game.matrix))
        rows = [
            (own @ z == np.ones(n_states)).set_label("one choice"),
            ((own - game.discount * mixed.T) @ m == game.start).set_label("flow"),
            (m - sp.diags_array(self._most) @ z <= np.zeros(self._size)).set_label("visits"),
            *self._follower_rows(),
        ]
        forbidden = np.flatnonzero(~np.repeat(self.problem.allowed, game.n_follower_actions))
        if forbidden.size:
            out = sp.eye_array(self._size, format="csr")[forbidden]
            rows.append((out @ z == np.zeros(forbidden.size)).set_label("forbidden"))
        return rows

    @checked(subject_to=CONSTRAINTS)
    def program(self, subject_to: Sequence[cp.Constraint] = ()) -> cp.Problem:
        """Return the cvxpy problem, with further constraints if given."""
        return cp.Problem(self.objective, [*self.constraints, *subject_to])

    @checked(solver=SOLVER, time_limit=TIME_LIMIT, subject_to=CONSTRAINTS)
    def solve(
        self,
        subject_to: Sequence[cp.Constraint] = (),
        *,
        incumbent: ArrayLike | None = None,
        time_limit: float | None = None,
        solver: Solver | None = None,
    ) -> BilevelSolution:
        """Return the best deterministic commitment under the problem's own tie rule.

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
            Farkas ray in `solved.farkas` names the rows that contradict each other.
        InvalidArgument
            Rows on variables of your own beside a tie rule that is not optimistic; a time limit for
            another solver.
        LimitReached, SolverFailed
            The solver brought no commitment in time, or none that can be used.
        Interrupted
            Ctrl-C; its `found` is the `BilevelSolution` so far, if there is one.

        **Cost** one mixed-integer program, or one a round.
        """
        return _Search(self, list(subject_to), incumbent, time_limit, solver).run()

    @property
    def _size(self) -> int:
        return int(np.prod(self.problem.game.shape))

    @property
    def _unit(self) -> tuple[float, float]:
        """Return the least of the follower's reward, and its span (1 for a constant)."""
        theirs = self.problem.follower_reward
        return float(theirs.min()), float(np.ptp(theirs)) or 1.0

    @cached_property
    def _box(self) -> tuple[Array, Array]:
        """Bounds on the scaled values of the follower, a little wide."""
        low, span = self._unit
        gamma = self.problem.game.discount
        wide = SLACK / (1 - gamma)
        h_lo, h_hi = ((h - low / (1 - gamma)) / span for h in self._bounds[:2])
        return h_lo - wide, np.maximum(h_hi, h_lo) + wide

    @cached_property
    def _bounds(self) -> ValueBounds:
        return value_bounds(self.problem, stochastic=False)

    @cached_property
    def _mixing(self) -> Matrix:
        """The map from the greedy measure to the measure of the play: ε of it is uniform."""
        assert self.problem.epsilon is not None
        n_b, epsilon = self.problem.game.n_follower_actions, self.problem.epsilon
        block = (1 - epsilon) * np.eye(n_b) + epsilon / n_b
        return sp.kron(sp.eye_array(self._size // n_b), block, format="csr")

    @cached_property
    def _most(self) -> Array:
        """The largest measure U of each state, at each choice: (S·A·B,).

        It is the value of a reward of one in that state, under the best joint policy.
        """
        game, n_states = self.problem.game, self.problem.game.n_states
        kernel = _dense(self._mixing.T @ game.matrix).reshape(n_states, -1, n_states)
        open_choices = np.repeat(self.problem.allowed, game.n_follower_actions, axis=1)
        some = (n_states, *kernel.shape[:2])
        reward = np.broadcast_to(np.eye(n_states)[:, :, None], some)
        allowed = np.broadcast_to(open_choices, some)
        stack = Stack(np.broadcast_to(kernel, (n_states, *kernel.shape)), reward, reward)
        most = upper_values(stack, self.problem.arithmetic, allowed) @ game.start
        return np.repeat(most * (1 + SLACK), game.n_choices)

    def _follower_rows(self) -> list[cp.Constraint]:
        """Return the rows that make H the follower's values and z greedy."""
        game, z, h = self.problem.game, self.choice, self._scaled_values
        gamma, n_b = game.discount, game.n_follower_actions
        low, span = self._unit
        theirs = ((self.problem.full_follower_reward - low) / span).ravel()
        state = np.repeat(np.arange(game.n_states), game.n_choices)
        own = sp.csr_array(
            (np.ones(self._size), (np.arange(self._size), state)), shape=game.matrix.shape
        )
        ahead = sp.csr_array(gamma * sp.csr_array(game.matrix) - own)  # theirs + ahead·H = Q − H(s)
        above, below = ahead.maximum(0), ahead.minimum(0)
        h_lo, h_hi = self._box
        largest = theirs + above @ h_hi + below @ h_lo
        least = theirs + above @ h_lo + below @ h_hi
        ties = TIES / (1 - gamma)
        plays = sp.kron(sp.eye_array(self._size // n_b), np.ones((n_b, n_b)), format="csr")
        optimum = ahead @ h + (sp.diags_array(largest) @ plays) @ z <= largest - theirs
        greedy = ahead @ h + sp.diags_array(least) @ z >= least - theirs - ties
        return [optimum.set_label("optimum"), greedy.set_label("greedy")]


@dataclass
class _Search:
    """Programs solved and cut until their bound meets the best commitment evaluated."""

    model: DeterministicCommitment
    rows: list[cp.Constraint]
    incumbent: ArrayLike | None
    time_limit: float | None
    solver: Solver | None

    def __post_init__(self) -> None:
        p = self.model.problem
        self.optimistic = p.ties == "optimistic"
        mine = {self.model.choice, self.model.greedy_measure, self.model._scaled_values}
        self.foreign = [v for row in self.rows for v in row.variables() if v not in mine]
        if self.foreign and not self.optimistic:
            raise InvalidArgument(
                "subject_to",
                f"has the variable {self.foreign[0].name()!r}",
                "variables of the model, or ties='optimistic'",
                self.foreign[0],
            )
        chosen = STRICT if self.solver is None else self.solver
        _limited(chosen, self.time_limit)
        self.chosen = chosen
        self.accepted = accepted_gap(p.reward, p.game.discount)
        self.cuts: list[cp.Constraint] = []
        self.best: tuple[Array, Reply, float] | None = None
        # Without the follower's rows: the joint optimum.
        self.bound = float(p.game.start @ self.model._bounds.w_hi)

    @property
    def value(self) -> float:
        """The value of the best commitment so far."""
        return -np.inf if self.best is None else self.best[2]

    def run(self) -> BilevelSolution:
        """Solve and cut."""
        began, rounds = time.perf_counter(), 0
        start = self._begin()
        while True:
            left = None
            if self.time_limit is not None:
                left = max(self.time_limit - (time.perf_counter() - began), 0.0)
            program = self.model.program([*self.rows, *self.cuts])
            begin = None if self.foreign or self.cuts else start
            rounds += 1
            try:
                solved = solve(program, _limited(self.chosen, left), throw=False, start=begin)
            except Interrupted as stop:
                if stop.solved.value is not None:
                    self._look(stop.solved)
                if self.best is not None:
                    stop.found = self._found(stop.solved, rounds)
                raise
            if _refused(solved) and (self.cuts or self.best is not None):
                self.bound = self.value
            elif solved.value is None:
                break
            else:
                self._look(solved)
            if self.bound <= self.value + self.accepted or solved.status is not Status.OPTIMAL:
                break
        if self.best is None:
            self._give_up(solved)
        return self._found(solved, rounds)

    def _found(self, solved: Solved, rounds: int) -> BilevelSolution:
        """Return the best commitment so far, with its bound."""
        assert self.best is not None
        policy, reply, value = self.best
        self.bound = max(self.bound, value)
        complete = self.bound <= value + self.accepted
        return BilevelSolution(
            policy, reply.response, reply.values, value, self.bound, rounds, complete, solved
        )

    def _begin(self) -> dict[cp.Variable, Array]:
        """Evaluate the incumbent and return it as a point of the program."""
        p = self.model.problem
        given = self.incumbent
        policy = approximate_value_iteration(p).policy if given is None else given
        actions = p.game.check_leader_policy(policy).argmax(axis=1)
        pi1 = deterministic_policy(actions, p.game.n_leader_actions)
        favourable = CommitmentProblem(
            p.game,
            p.reward,
            p.follower,
            follower_reward=p.follower_reward,
            ties="optimistic",
            allowed=p.allowed,
        )
        greedy = self._greedy(pi1, favourable.reply(pi1).response)
        if not self.foreign and p.allowed[np.arange(len(actions)), actions].all():
            self._consider(pi1, greedy.argmax(axis=1))
        return self._point(actions, greedy)

    def _greedy(self, pi1: Array, response: Array) -> Array:
        """Return the greedy part (S, B) of a response."""
        p = self.model.problem
        assert p.epsilon is not None
        if p.epsilon == 1:  # it always errs and shows no greedy action
            return best_responses(p.game, p.follower_reward, pi1).policy
        return np.asarray((response - p.epsilon / response.shape[1]) / (1 - p.epsilon))

    def _play(self, greedy: Array) -> Array:
        """Return the follower's play (S, B) with a greedy part."""
        epsilon = self.model.problem.epsilon
        assert epsilon is not None
        return np.asarray((1 - epsilon) * greedy + epsilon / greedy.shape[1])

    def _point(self, actions: Integers, greedy: Array) -> dict[cp.Variable, Array]:
        """Return the values of all variables at a commitment and the greedy part of its answer."""
        model, p = self.model, self.model.problem
        states = np.arange(p.game.n_states)
        z, m = np.zeros(p.game.shape), np.zeros(p.game.shape)
        z[states, actions, greedy.argmax(axis=1)] = 1.0
        pi1 = deterministic_policy(actions, p.game.n_leader_actions)
        m[states, actions] = self._visits(pi1, self._play(greedy))[:, None] * greedy
        low, span = model._unit
        values = best_responses(p.game, p.follower_reward, pi1).values
        h = (values - low / (1 - p.game.discount)) / span
        return {
            model.choice: z.ravel(),
            model.greedy_measure: m.ravel(),
            model._scaled_values: np.clip(h, *model._box),
        }

    def _visits(self, pi1: Array, pi2: Array) -> Array:
        """Return the discounted visits (S,) of a pair of policies."""
        game = self.model.problem.game
        chain = _dense(game.joint_chain(pi1, pi2))
        system = np.eye(game.n_states) - game.discount * chain.T
        return np.asarray(np.maximum(np.linalg.solve(system, game.start), 0.0))

    def _look(self, solved: Solved) -> None:
        """Take in the bound and the point of a program, and cut the point off."""
        p = self.model.problem
        bound = np.inf if solved.bound is None else solved.bound
        self.bound = min(self.bound, max(bound, self.value))
        z = np.asarray(self.model.choice.value).reshape(p.game.n_states, -1).argmax(axis=1)
        actions, answers = np.divmod(z, p.game.n_follower_actions)
        self._consider(deterministic_policy(actions, p.game.n_leader_actions), answers)
        self.cuts.append(self._cut(actions, answers))

    def _consider(self, pi1: Array, answers: Integers) -> None:
        """Evaluate a commitment, and keep it if it respects the rows and is the best so far.

        Where there are rows, an optimistic follower gives these answers wherever they are optimal.
        """
        p = self.model.problem
        if self.rows and self.optimistic:
            optimal = best_responses(p.game, p.follower_reward, pi1).optimal
            given = optimal[np.arange(len(answers)), answers]
            chosen = np.where(given, answers, optimal.argmax(axis=1))
            response = self._play(deterministic_policy(chosen, p.game.n_follower_actions))
            reply = Reply(response, evaluate(p.game, p.reward, (pi1, response)))
        else:
            reply = p.reply(pi1)
        value = float(p.game.start @ reply.values)
        if value > self.value and self._respects(pi1, reply.response):
            self.best = (pi1, reply, value)

    def _respects(self, pi1: Array, response: Array) -> bool:
        """Return whether the rows hold at the play of a commitment and its answer."""
        if not self.rows:
            return True
        point = self._point(pi1.argmax(axis=1), self._greedy(pi1, response))
        kept = {variable: variable.value for variable in point}
        for variable, value in point.items():
            variable.save_value(value)
        off = [float(np.max(row.violation())) for row in self.rows]
        sizes = [float(np.max(np.abs(arg.value))) for row in self.rows for arg in row.args]
        for variable, value in kept.items():
            variable.save_value(value)
        return max(off) <= RESPECTED * max(1.0, *sizes)

    def _cut(self, actions: Integers, answers: Integers) -> cp.Constraint:
        """Return the row that removes all choices that agree with this one where play can go."""
        game = self.model.problem.game
        where = np.flatnonzero(self._reached(actions))
        z = np.zeros(game.shape)
        if self.optimistic and self.rows:
            z[where, actions[where], answers[where]] = 1.0
        else:
            z[where, actions[where]] = 1.0
        name = f"cut {len(self.cuts) + 1}"
        return (z.ravel() @ self.model.choice <= where.size - 1).set_label(name)

    def _reached(self, actions: Integers) -> NDArray[np.bool_]:
        """Return the states (S,) that play can reach, whatever the follower does."""
        game = self.model.problem.game
        pi1 = deterministic_policy(actions, game.n_leader_actions)
        uniform = np.full((game.n_states, game.n_follower_actions), 1 / game.n_follower_actions)
        onward = _dense(game.joint_chain(pi1, uniform)) > 0
        seen = game.start > 0
        while True:
            more = seen | onward[seen].any(axis=0)
            if (more == seen).all():
                return np.asarray(seen)
            seen = more

    def _give_up(self, solved: Solved) -> NoReturn:
        """Say why there is no commitment: with a proof by name, where no joint policy will do."""
        if solved.status is Status.LIMIT:
            raise LimitReached(solved)
        if solved.status is not Status.INFEASIBLE:
            raise SolverFailed(solved)
        model = self.model
        of_play = {model.greedy_measure}
        rows = [row for row in self.rows if set(row.variables()) <= of_play]
        flow = next(row for row in model.constraints if row.label == "flow")
        joint = solve(cp.Problem(model.objective, [flow, *rows]), self.chosen, throw=False)
        raise Infeasible(joint if joint.status is Status.INFEASIBLE else solved)


def _refused(solved: Solved) -> bool:
    """Return whether HiGHS finds no point: for the bound its word counts, as it does for optima."""
    return solved.status is Status.INFEASIBLE or (
        solved.status is Status.FAILED and solved.said == "kInfeasible"
    )


def accepted_gap(reward: Array, discount: float) -> float:
    """Return the gap between bound and value that is rounding."""
    rounding = 64 * float(np.finfo(float).eps) * float(np.abs(reward).max())
    return max(ACCEPTED * float(np.ptp(reward)), rounding) / (1 - discount)


def _limited(solver: Solver | None, seconds: float | None) -> Solver | None:
    """Return a solver with a time limit, which only HiGHS takes here."""
    if seconds is None:
        return solver
    chosen = HiGHS() if solver is None else solver
    if not isinstance(chosen, HiGHS):
        raise InvalidArgument("time_limit", f"is {seconds} for {chosen.name}", "HiGHS", seconds)
    given = seconds if chosen.time_limit is None else min(seconds, chosen.time_limit)
    return replace(chosen, time_limit=given)


def _dense(matrix: Matrix) -> Array:
    return np.asarray(matrix.toarray() if is_sparse(matrix) else matrix)
