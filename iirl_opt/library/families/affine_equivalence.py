"""The family ``affine_equivalence``: does a hypothesis explain what was seen, and is it *the* one?

With ``ask = "verify"`` the game is the test of the hypothesis, an ideal or strict environment, and
the one observation is the partner's answer (paper, Theorem 2 and Corollary 2).
"""

from __future__ import annotations

from typing import Any, Literal

from iirl_opt.errors import FileProblem, IIRLError
from iirl_opt.library.answers import ModelAnswer
from iirl_opt.library.problem import ModelProblem
from iirl_opt.library.question import ProgramQuestion
from iirl_opt.library.schema import Number

__all__ = ["AffineQuestion"]


class AffineQuestion(ProgramQuestion, tag="affine_equivalence"):
    """Whether a hypothesis explains the observations, or passes the test of its environment."""

    hypothesis: dict[str, Number] | None = None
    ask: Literal["explains", "verify"] = "explains"

    def find(self, problem: ModelProblem) -> ModelAnswer:
        """Return what the file asks of its hypothesis."""
        return self.verify(problem) if self.ask == "verify" else self._explain(problem)

    def _explain(self, problem: ModelProblem) -> ModelAnswer:
        """Return whether the hypothesis explains the observations, and how many rewards do."""
        from iirl_opt.rewards import AffineClass

        feasible = problem.feasible_rewards()
        hypothesis = problem.vector(self.hypothesis or {}, "question.hypothesis")
        wrong = feasible.violations(hypothesis)
        quantities = {
            "explains": float(not wrong),
            "violations": float(len(wrong)),
            "dimension": float(feasible.dimension()),
        }
        truth = problem.truth
        if truth is not None and truth.ndim == 1:
            equivalent = AffineClass(truth).contains(hypothesis, strict=True)
            quantities["equivalent"] = float(equivalent)
            quantities["truth_feasible"] = float(feasible.contains(truth))
        return ModelAnswer(quantities, {"violations": [row._asdict() for row in wrong]})

    def verify(self, problem: ModelProblem) -> ModelAnswer:
        """Return the verdict on the hypothesis; `found` is the `VerificationReport`."""
        from iirl_opt.verification import Verdict, verify_affine

        if self.ask != "verify":
            return super().verify(problem)
        environment = problem.environment
        if environment is None:
            raise FileProblem(problem.path, "needs [game.environment]", key="game")
        if len(problem.observations) != 1:
            raise FileProblem(problem.path, "needs exactly one answer", key="observation")
        seen = problem.observations[0]
        response = seen.played if seen.whole else seen.pi2
        try:
            report = verify_affine(self.claimed_reward(problem), environment, response)
        except IIRLError as error:
            raise FileProblem(problem.path, str(error), key="question.hypothesis") from error
        quantities = {verdict.name.lower(): float(verdict is report.verdict) for verdict in Verdict}
        if report.angle is not None:
            quantities["angle"] = report.angle
        evidence = {"report": str(report), "assumptions": list(report.assumptions)}
        none = "inconclusive" if report.verdict is Verdict.INCONCLUSIVE else ""
        return ModelAnswer(quantities, evidence, report, unanswered=none)

    def claimed_reward(self, problem: ModelProblem) -> Any:
        """Return the hypothesis, by default that of the environment; else the true reward."""
        if problem.environment is None:
            return problem.truth
        if self.hypothesis is None:
            return problem.environment.exact.numbers
        return problem.exact_vector(self.hypothesis, "question.hypothesis")
