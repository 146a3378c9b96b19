"""The family ``soft_rewards``: what the answers of a soft-optimal follower say about the reward.

The follower of the file is ``model = "soft-optimal"`` with its ``temperature``, or ``"unknown"``.
Its answers are exact probabilities, and an observation that leaves them out is answered by it.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec
import numpy as np

from iirl_opt.checks import NOT_NEGATIVE
from iirl_opt.errors import FileProblem, IIRLError
from iirl_opt.library.answers import ModelAnswer, by_name
from iirl_opt.library.problem import ModelProblem
from iirl_opt.library.question import ProgramQuestion
from iirl_opt.library.schema import Number, SoftOptimalTable
from iirl_opt.rewards.soft_rows import SoftAnswer, refuse_samples

__all__ = ["SoftRewardsQuestion"]


class SoftRewardsQuestion(ProgramQuestion, tag="soft_rewards"):
    """The reward that fits soft-optimal answers, what commitments tell of it, and verdicts."""

    takes: ClassVar[frozenset[str]] = frozenset({"unknown"})

    ask: Literal["fit", "identify", "verify"]
    rewards: Literal["state", "follower", "joint"] = "state"
    hypothesis: dict[str, Number] = msgspec.field(default_factory=dict)
    band: float = 0.0

    def check(self, problem: ModelProblem) -> None:
        """Refuse files of other followers, or without an answer, as soon as they are read."""
        if not isinstance(problem.partner, SoftOptimalTable):
            said = "allowed 'soft-optimal' in this family"
            raise FileProblem(problem.path, said, key="follower.model")
        if not problem.observations:
            raise FileProblem(problem.path, "needs one answer at least", key="observation")
        if self.ask == "verify" and self.rewards != "state":
            said = f"is {self.rewards!r}; allowed 'state' where a hypothesis is verified"
            raise FileProblem(problem.path, said, key="question.rewards")
        try:
            NOT_NEGATIVE("band", self.band)
        except IIRLError as error:
            raise FileProblem(problem.path, str(error), key="question") from error
        for i, seen in enumerate(problem.observations):
            try:
                refuse_samples(seen.played if seen.whole else seen.pi2)
                SoftAnswer.of(problem.game, seen.pi1, seen.pi2, None)
            except IIRLError as error:
                raise FileProblem(problem.path, str(error), key=f"observation[{i}]") from error

    def find(self, problem: ModelProblem) -> ModelAnswer:
        """Return what the file asks of the answers."""
        known = self._known(problem)
        counts = {"answers": float(len(known.answers))}
        if self.ask == "identify":
            from iirl_opt.verification import identifiability

            rank = identifiability(problem.game, [x.pi1 for x in known.answers], self.rewards)
            told = {name: float(getattr(rank, name)) for name in ("left", "rank", "identified")}
            return ModelAnswer(counts | told, {"known": repr(rank)}, rank)
        return (
            self._verdict(problem, known, counts)
            if self.ask == "verify"
            else self._fit(problem, known, counts)
        )

    def _known(self, problem: ModelProblem) -> Any:
        """Return the rewards that explain the answers of the file."""
        from iirl_opt.rewards import SoftRewards

        assert isinstance(problem.partner, SoftOptimalTable)
        heat = problem.partner.temperature
        known = SoftRewards(problem.game, None if heat == "unknown" else heat, self.band)
        for seen in problem.observations:
            known = known.add(seen)
        return known

    def _fit(self, problem: ModelProblem, known: Any, counts: dict[str, float]) -> ModelAnswer:
        fit = known.fit(self.rewards)
        names = ("residual", "temperature", "unknown", "redundant")
        told = {name: float(getattr(fit, name)) for name in names}
        told |= {"error": float(fit.error.max()), "spread": float(np.ptp(fit.reward))}
        if self.rewards == "state":
            told |= by_name("reward", problem.game.states, fit.reward)
        return ModelAnswer(counts | told, {"reward": fit.reward.tolist()}, fit)

    def _verdict(self, problem: ModelProblem, known: Any, counts: dict[str, float]) -> ModelAnswer:
        from iirl_opt.verification import Verdict, verify_soft_optimal

        report = verify_soft_optimal(self.claimed_reward(problem), known)
        told = {verdict.name.lower(): float(verdict is report.verdict) for verdict in Verdict}
        told["explained"] = float(not (report.verdict is Verdict.REFUTED and not report.violation))
        told |= {"gap": report.gap} if np.isfinite(report.gap) else {}
        told |= {} if report.angle is None else {"angle": report.angle}
        told |= {} if report.temperature is None else {"temperature": report.temperature}
        evidence = {"report": str(report), "assumptions": list(report.assumptions)}
        open_ = "inconclusive" if report.verdict is Verdict.INCONCLUSIVE else ""
        return ModelAnswer(counts | told, evidence, report, unanswered=open_)

    def claimed_reward(self, problem: ModelProblem) -> Any:
        """Return the hypothesis of a file that has one, or the true reward."""
        if self.ask != "verify" or not self.hypothesis:
            return problem.truth if self.ask != "verify" else problem.need_truth()
        return problem.exact_vector(self.hypothesis, "question.hypothesis")
