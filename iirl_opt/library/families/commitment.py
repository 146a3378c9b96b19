"""The family ``commitment``: the best commitment, what one earns, whether one is best everywhere.

Lemma 2, Algorithm 2 and the searches answer it (`iirl_opt.commitment`); rows of the file on the
measure are respected by both agents, or by the leader alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from iirl_opt.errors import FileProblem, Interrupted, InvalidArgument, NotAProduct
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.library.answers import ModelAnswer, by_name, solver_record
from iirl_opt.library.entries import find_label
from iirl_opt.library.problem import ModelProblem
from iirl_opt.library.question import ProgramQuestion
from iirl_opt.library.schema import PolicyTable
from iirl_opt.library.steps import each_step

if TYPE_CHECKING:
    from iirl_opt.commitment import Commitment, CommitmentMethod, CommitmentProblem

__all__ = ["CommitmentQuestion"]

Array = NDArray[np.float64]


class CommitmentQuestion(ProgramQuestion, tag="commitment"):
    """The best commitment, what a given one earns, or whether one is best from every state."""

    takes: ClassVar[frozenset[str]] = frozenset({"follower_reward"})
    policy_key: ClassVar[str | None] = "leader"

    ask: Literal["optimal", "evaluate", "dominance"] = "optimal"
    leader: PolicyTable | None = None
    exact: bool = False
    stochastic: bool = False
    method: Literal[
        "choose",
        "policy-iteration",
        "program",
        "approximate",
        "enumerate",
        "milp",
        "branch-and-bound",
    ] = "choose"
    ties: Literal["optimistic", "pessimistic"] | None = None
    forbidden: dict[str, list[str]] = msgspec.field(default_factory=dict)

    def check(self, problem: ModelProblem) -> None:
        """Refuse forbidden actions that there are not."""
        self.allowed(problem)

    def allowed(self, problem: ModelProblem) -> NDArray[np.bool_] | None:
        """Return the mask (S, A) of the leader's actions that are not forbidden, or None."""
        if not self.forbidden:
            return None
        path, game = problem.path, problem.game
        mask = np.ones(game.shape[:2], dtype=bool)
        for state, actions in each_step(problem.horizon, self.forbidden, whole=False).items():
            key = f"question.forbidden.{state}"
            rows = slice(None) if state == "*" else find_label(path, game.states, state, key)
            for action in actions:
                mask[rows, find_label(path, game.leader_actions, action, key)] = False
        return mask

    def asked(self, problem: ModelProblem) -> CommitmentProblem:
        """Return the commitment problem of the file."""
        from iirl_opt.commitment import CommitmentProblem

        follower = problem.follower
        if isinstance(follower, OptimalFollower) and follower.ties == "all":
            follower = replace(follower, ties="mix")  # who reports all of them plays any
        try:
            return CommitmentProblem(
                problem.game,
                problem.need_truth(),
                follower,
                follower_reward=problem.follower_reward,
                ties=self.ties,
                allowed=self.allowed(problem),
            )
        except InvalidArgument as error:
            raise FileProblem(problem.path, str(error), key="question") from error

    def program(self, problem: ModelProblem) -> Any:
        """Return the joint optimum's program where that answers it, else the bilevel one."""
        from iirl_opt.commitment import DeterministicCommitment, StackelbergCommitment

        if self.ask != "optimal":
            return super().program(problem)
        asked = self.asked(problem)
        alone = any(row.whose == "leader" for row in problem.rows)
        if asked.cooperative and asked.epsilon == 0 and not alone and not self.forbidden:
            joint = StackelbergCommitment(problem.game, problem.need_truth())
            return joint.problem(problem.rows_on_measure(joint))
        try:
            bilevel = DeterministicCommitment(asked)
        except InvalidArgument as error:
            raise FileProblem(problem.path, str(error), key="follower") from error
        return bilevel.problem(problem.rows_on_measure(bilevel))

    def find(self, problem: ModelProblem) -> ModelAnswer:
        """Return the commitment that the file asks for, or what there is to say of its own."""
        if self.ask == "dominance":
            return _dominance(self.asked(problem))
        if self.ask == "evaluate":
            return self._evaluate(problem)
        try:
            found = _committed(problem, self._best(problem))
        except Interrupted as stop:
            if stop.found is not None:
                stop.found = _committed(problem, stop.found)
            raise
        except NotAProduct as error:
            evidence = {"correlated": str(error)}
            return ModelAnswer({"product": 0.0}, evidence, unanswered="product")
        if any(row.whose == "both" for row in problem.rows):
            return replace(found, quantities={**found.quantities, "product": 1.0})
        return found

    def _evaluate(self, problem: ModelProblem) -> ModelAnswer:
        """Return what the commitment of the question earns."""
        if problem.policy is None:
            raise FileProblem(problem.path, "is missing", key="question.leader")
        reply = self.asked(problem).reply(problem.policy)
        evidence = {"policy": problem.policy.tolist(), "response": reply.response.tolist()}
        return ModelAnswer(_values(problem, reply.values), evidence, reply)

    def _best(self, problem: ModelProblem) -> Commitment:
        """Return the best commitment, or what the named method takes for it."""
        asked = self.asked(problem)
        if asked.lemma_2:  # then the tie rule does not matter
            asked = replace(asked, follower=OptimalFollower("first"))
        try:
            if problem.rows:
                return self._constrained(problem, asked)
            return self._by(asked).plan(asked)
        except InvalidArgument as error:
            raise FileProblem(problem.path, str(error), key="question") from error

    def _by(self, asked: CommitmentProblem) -> CommitmentMethod:
        """Return the method that the question names."""
        from iirl_opt import commitment

        named: dict[str, CommitmentMethod] = {
            "choose": commitment.Automatic(exact=self.exact),
            "policy-iteration": commitment.JointOptimum(),
            "program": commitment.OccupancyProgram(),
            "approximate": commitment.ValueIteration(),
            "enumerate": commitment.Enumeration(),
            "milp": commitment.MixedInteger(),
            "branch-and-bound": commitment.BranchAndBound(),
        }
        method = named[self.method]
        proved = asked.lemma_2 and self.method == "choose"
        if not self.stochastic or proved or self.method in ("policy-iteration", "program"):
            return method
        if self.exact and asked.game.n_states == 1 and asked.epsilon is not None:
            return commitment.NormalForm()
        return commitment.LocalSearch(begin=method)

    def _constrained(self, problem: ModelProblem, asked: CommitmentProblem) -> Commitment:
        """Return the best commitment under rows that both respect, or the leader alone."""
        from iirl_opt.commitment import DeterministicCommitment, StackelbergCommitment

        kinds = {row.whose for row in problem.rows}
        if len(kinds) > 1:
            problem_said = "is of the leader in one row, of both in another"
            raise FileProblem(problem.path, problem_said, key="constraint")
        fits = "milp" if "leader" in kinds else "program"
        if self.method not in ("choose", fits):
            wrong = f"is {self.method!r} under constraints of {kinds.pop()!r}"
            raise InvalidArgument("method", wrong, fits, self.method)
        if "leader" in kinds:
            alone = DeterministicCommitment(asked)
            return alone.solve(problem.rows_on_measure(alone))
        if not asked.lemma_2:
            wrong = f"is {asked.follower!r}, beside rows that both respect"
            wanted = "an OptimalFollower with the leader's reward"
            raise InvalidArgument("follower", wrong, wanted, asked.follower)
        joint = StackelbergCommitment(asked.game, asked.reward, allowed=asked.allowed)
        return joint.solve(problem.rows_on_measure(joint))


def _committed(problem: ModelProblem, plan: Commitment) -> ModelAnswer:
    """Return what there is to say of a commitment."""
    quantities = _values(problem, plan.values)
    if plan.bound is not None and not problem.counts_otherwise:
        quantities |= {"bound": plan.bound, "gap": plan.bound - plan.value}
    evidence = {
        "policy": plan.policy.tolist(),
        "response": plan.response.tolist(),
        "guarantee": plan.guarantee.value,
        "among": plan.among,
        "method": plan.method,
    }
    if plan.solved is not None:
        evidence["solved"] = solver_record(plan.solved)
    return ModelAnswer(quantities, evidence, plan)


def _dominance(asked: CommitmentProblem) -> ModelAnswer:
    """Return whether a commitment is best from every state, or states that rule it out."""
    from iirl_opt.commitment import DominanceVerdict, dominance

    found = dominance(asked)
    states: Sequence[Any] = asked.game.states
    quantities = {
        "dominating": float(found.verdict is DominanceVerdict.DOMINATING),
        "ruled_out": float(found.verdict is DominanceVerdict.RULED_OUT),
        **by_name("value", states, found.values),
        **by_name("bound", states, found.bounds),
    }
    evidence = {
        "verdict": found.verdict.value,
        "policy": None if found.actions is None else found.actions.tolist(),
        "states": [str(states[s]) for s in found.states],
        "best_actions": found.best_actions.tolist(),
        "best_values": found.best_values.tolist(),
    }
    open_ = "" if quantities["dominating"] or quantities["ruled_out"] else "dominating"
    return ModelAnswer(quantities, evidence, found, unanswered=open_)


def _values(problem: ModelProblem, values: Array) -> dict[str, float]:
    """Return the value from the start distribution, and from every state, as they are reported."""
    told = problem.reported(values)
    start = float(problem.game.start @ told)
    return {"value": start, **by_name("value", problem.game.states, told)}
