"""The family ``feasible_rewards``: what the observations of the file say about the reward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from iirl_opt.errors import FileProblem
from iirl_opt.library.answers import ModelAnswer, by_name, solver_record
from iirl_opt.library.problem import ModelProblem
from iirl_opt.library.question import ProgramQuestion
from iirl_opt.library.rows import UserRow, prices
from iirl_opt.library.schema import Number

if TYPE_CHECKING:
    from iirl_opt.rewards.domains import RewardDomain

__all__ = ["FeasibleRewardsQuestion"]


@dataclass(frozen=True, eq=False)
class CutDomain:
    """A domain cut by the user's own rows."""

    base: RewardDomain
    rows: Sequence[UserRow]

    def constraints(self, r: Any) -> list[Any]:
        """Return the base constraints and a labelled one for each row."""
        own = [part for row in self.rows for part in row.constraints(row.coefficients @ r)]
        return [*self.base.constraints(r), *own]


class FeasibleRewardsQuestion(ProgramQuestion, tag="feasible_rewards"):
    """What is known about the reward from the observations."""

    ask: Literal["maximise", "nearest", "contains", "dimension", "centre", "max_margin"]
    objective: dict[str, Number] = msgspec.field(default_factory=dict)
    target: dict[str, Number] = msgspec.field(default_factory=dict)
    norm: Literal[1, 2] = 1
    domain: Literal["simplex", "box"] = "simplex"
    bound: float = 1.0
    penalty: float = 0.0

    def program(self, problem: ModelProblem) -> Any:
        """Return the linear program whose objective the file states."""
        if self.ask != "maximise":
            return super().program(problem)
        objective = problem.vector(self.objective, "question.objective")
        return problem.feasible_rewards().problem(objective, domain=self.cut_domain(problem))

    def cut_domain(self, problem: ModelProblem) -> CutDomain:
        """Return where rewards are sought: the domain of the question under the file's rows."""
        from iirl_opt.rewards import RewardBox, RewardSimplex

        for i, row in enumerate(problem.rows):
            if row.target != "reward" or row.coefficients.ndim != 1:
                place = f"constraint[{i}]"
                raise FileProblem(problem.path, "must be on the reward, by state", key=place)
        base = RewardSimplex() if self.domain == "simplex" else RewardBox(self.bound)
        return CutDomain(base, problem.rows)

    def find(self, problem: ModelProblem) -> ModelAnswer:
        """Return what the file asks of the feasible rewards."""
        feasible = problem.feasible_rewards()
        domain, target = self.cut_domain(problem), problem.vector(self.target, "question.target")
        counts = {"episodes": float(len(feasible.episodes)), "rows": float(feasible.count_rows())}
        if self.ask == "contains":
            wrong = feasible.violations(target)
            told = {"contains": float(not wrong), "violations": float(len(wrong))}
            told["slack"] = wrong[0].slack if wrong else 0.0
            rows = [violation._asdict() for violation in wrong]
            return ModelAnswer(counts | told, {"violations": rows})
        if self.ask == "dimension":
            return ModelAnswer({**counts, "dimension": float(feasible.dimension())})
        if self.ask == "centre":
            ball = feasible.chebyshev_centre(domain=domain)
            entries = by_name("reward", problem.game.states, ball.centre)
            record = {"centre": ball.centre.tolist(), "solved": solver_record(ball.solved)}
            return ModelAnswer({**counts, "radius": ball.radius, **entries}, record, ball)
        found = self._reward(problem, feasible, domain, target)
        quantities = {
            **counts,
            "value": found.value,
            "spread": found.spread,
            "contains": float(feasible.contains(found.reward, tolerance=1e-7)),
            **prices(found.solved.duals, problem.rows),
            **by_name("reward", problem.game.states, found.reward),
        }
        evidence = {"reward": found.reward.tolist(), "solved": solver_record(found.solved)}
        return ModelAnswer(quantities, evidence, found)

    def _reward(self, problem: ModelProblem, feasible: Any, domain: CutDomain, target: Any) -> Any:
        """Return the one reward that the file asks for."""
        if self.ask == "maximise":
            objective = problem.vector(self.objective, "question.objective")
            return feasible.maximise(objective, domain=domain)
        if self.ask == "nearest":
            return feasible.nearest(target, norm=self.norm, domain=domain)
        return feasible.max_margin(penalty=self.penalty, bound=self.bound)
