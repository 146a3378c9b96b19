"""The mixed-integer program solved, its points evaluated and cut off, until nothing is left.

The program of `iirl_opt.commitment.bilevel` answers ties in the leader's favour, and respects its
rows as far as a solver does. So every point that it finds is evaluated at the follower's true
answer and then cut off by a row; a round ends when the program's bound is no better than the best
commitment evaluated.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.commitment.algorithms_2_and_3 import ValueIteration
from iirl_opt.commitment.plans import Commitment
from iirl_opt.commitment.problem import Reply, dense_matrix
from iirl_opt.errors import Infeasible, Interrupted, InvalidArgument, LimitReached, SolverFailed
from iirl_opt.follower.optimal import best_responses
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.game.values import evaluate
from iirl_opt.solver import HiGHS, Solved, Solver, Status, solve
from iirl_opt.solver.records import SOLVER

if TYPE_CHECKING:
    from iirl_opt.commitment.bilevel import DeterministicCommitment

__all__ = ["STRICT", "Rounds", "accepted_gap"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# A bound above the value by less than this share of span(r)/(1−γ) is rounding: the solver meets
# rows within 1e-9 only.
ACCEPTED = 1e-8

# Rows count as respected within this share of their size.
RESPECTED = 1e-7

# HiGHS counts 1e-6 as zero by default, which a row with a large constant turns into a real loss.
STRICT = HiGHS(options={"mip_feasibility_tolerance": 1e-9, "mip_abs_gap": 1e-10})


@dataclass
class Rounds:
    """Programs solved and cut until their bound meets the best commitment evaluated."""

    model: DeterministicCommitment
    rows: list[cp.Constraint]
    incumbent: ArrayLike | None
    time_limit: float | None
    solver: Solver | str | None

    def __post_init__(self) -> None:
        p = self.model.asked
        self.optimistic: bool = p.ties == "optimistic"
        mine = {self.model.choice, self.model.greedy_measure, self.model.scaled_values}
        self.foreign: list[cp.Variable] = [
            v for row in self.rows for v in row.variables() if v not in mine
        ]
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
        self.accepted: float = accepted_gap(p.reward, p.game.discount)
        self.cuts: list[cp.Constraint] = []
        self.best: tuple[Array, Reply, float] | None = None
        # Without the follower's rows: the joint optimum.
        self.bound: float = float(p.game.start @ self.model.bounds.w_hi)

    @property
    def value(self) -> float:
        """The value of the best commitment so far."""
        return -np.inf if self.best is None else self.best[2]

    def run(self) -> Commitment:
        """Solve and cut."""
        began = time.perf_counter()
        start = self._begin()
        while True:
            left = None
            if self.time_limit is not None:
                left = max(self.time_limit - (time.perf_counter() - began), 0.0)
            program = self.model.problem([*self.rows, *self.cuts])
            begin = None if self.foreign or self.cuts else start
            try:
                solved = solve(program, _limited(self.chosen, left), throw=False, initial=begin)
            except Interrupted as stop:
                if stop.solved.value is not None:
                    self._look(stop.solved)
                if self.best is not None:
                    stop.found = self._found(stop.solved)
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
        return self._found(solved)

    def _found(self, solved: Solved) -> Commitment:
        """Return the best commitment so far, with its bound."""
        assert self.best is not None
        policy, reply, _ = self.best
        return Commitment.of(
            self.model.asked,
            policy,
            reply,
            method="milp",
            bound=self.bound,
            among="deterministic",
            solved=solved,
        )

    def _begin(self) -> dict[cp.Variable, Array]:
        """Evaluate the incumbent and return it as a point of the program."""
        p = self.model.asked
        given = self.incumbent
        policy = ValueIteration().iterate(p).policy if given is None else given
        actions = p.game.check_leader_policy(policy).argmax(axis=1)
        pi1 = deterministic_policy(actions, p.game.n_leader_actions)
        greedy = self._greedy(pi1, replace(p, ties="optimistic").reply(pi1).response)
        if not self.foreign and p.allowed[np.arange(len(actions)), actions].all():
            self._consider(pi1, greedy.argmax(axis=1))
        return self._point(actions, greedy)

    def _greedy(self, pi1: Array, response: Array) -> Array:
        """Return the greedy part (S, B) of a response."""
        p = self.model.asked
        assert p.epsilon is not None
        if p.epsilon == 1:  # it always errs and shows no greedy action
            return best_responses(p.game, p.follower_reward, pi1).policy
        return np.asarray((response - p.epsilon / response.shape[1]) / (1 - p.epsilon))

    def _play(self, greedy: Array) -> Array:
        """Return the follower's play (S, B) with a greedy part."""
        epsilon = self.model.asked.epsilon
        assert epsilon is not None
        return np.asarray((1 - epsilon) * greedy + epsilon / greedy.shape[1])

    def _point(self, actions: Integers, greedy: Array) -> dict[cp.Variable, Array]:
        """Return the values of all variables at a commitment and the greedy part of its answer."""
        model, p = self.model, self.model.asked
        states = np.arange(p.game.n_states)
        z, m = np.zeros(p.game.shape), np.zeros(p.game.shape)
        z[states, actions, greedy.argmax(axis=1)] = 1.0
        pi1 = deterministic_policy(actions, p.game.n_leader_actions)
        m[states, actions] = self._visits(pi1, self._play(greedy))[:, None] * greedy
        low, span = model.unit
        values = best_responses(p.game, p.follower_reward, pi1).values
        h = (values - low / (1 - p.game.discount)) / span
        return {
            model.choice: z.ravel(),
            model.greedy_measure: m.ravel(),
            model.scaled_values: np.clip(h, *model.box),
        }

    def _visits(self, pi1: Array, pi2: Array) -> Array:
        """Return the discounted visits (S,) of a pair of policies."""
        game = self.model.asked.game
        chain = dense_matrix(game.joint_chain(pi1, pi2))
        system = np.eye(game.n_states) - game.discount * chain.T
        return np.asarray(np.maximum(np.linalg.solve(system, game.start), 0.0))

    def _look(self, solved: Solved) -> None:
        """Take in the bound and the point of a program, and cut the point off."""
        p = self.model.asked
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
        p = self.model.asked
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
        game = self.model.asked.game
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
        game = self.model.asked.game
        pi1 = deterministic_policy(actions, game.n_leader_actions)
        uniform = np.full((game.n_states, game.n_follower_actions), 1 / game.n_follower_actions)
        onward = dense_matrix(game.joint_chain(pi1, uniform)) > 0
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


def _limited(solver: Solver | str | None, seconds: float | None) -> Solver | str | None:
    """Return a solver with a time limit, which only HiGHS takes here."""
    if seconds is None:
        return solver
    chosen = HiGHS() if solver is None else SOLVER("solver", solver)
    if not isinstance(chosen, HiGHS):
        raise InvalidArgument("time_limit", f"is {seconds} for {chosen.name}", "HiGHS", seconds)
    given = seconds if chosen.time_limit is None else min(seconds, chosen.time_limit)
    return replace(chosen, time_limit=given)
