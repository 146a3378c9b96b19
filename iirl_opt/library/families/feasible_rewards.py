"""The family ``feasible_rewards``: what the observations of the file say about the reward."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec

from iirl_opt.brief import FEW
from iirl_opt.errors import FileProblem, Infeasible
from iirl_opt.library.answers import ModelAnswer, by_name, solver_record
from iirl_opt.library.problem import ModelProblem
from iirl_opt.library.question import ProgramQuestion
from iirl_opt.library.rows import UserRow, prices
from iirl_opt.library.schema import Number

if TYPE_CHECKING:
    from iirl_opt.rewards.domains import RewardDomain

__all__ = ["FeasibleRewardsQuestion"]


# What can be asked where an episode was seen step by step.
OF_TRAJECTORIES = ("maximise", "nearest", "contains")


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

    takes: ClassVar[frozenset[str]] = frozenset({"trajectory"})

    ask: Literal["maximise", "nearest", "contains", "dimension", "centre", "max_margin"]
    objective: dict[str, Number] = msgspec.field(default_factory=dict)
    target: dict[str, Number] = msgspec.field(default_factory=dict)
    norm: Literal[1, 2] = 1
    domain: Literal["simplex", "box"] = "simplex"
    bound: float = 1.0
    penalty: float = 0.0

    def check(self, problem: ModelProblem) -> None:
        """Refuse to ask for what takes the explicit rows that trajectories do not have."""
        if problem.trajectories and self.ask not in OF_TRAJECTORIES:
            said = f"is {self.ask!r}, beside [[trajectory]]; allowed {', '.join(OF_TRAJECTORIES)}"
            raise FileProblem(problem.path, said, key="question.ask")

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
        if problem.trajectories:
            counts["exact"] = float(feasible.exact)
        if self.ask == "contains":
            wrong = feasible.violations(target)
            told = {"contains": float(not wrong), "violations": float(len(wrong))}
            told["slack"] = wrong[0].slack if wrong else 0.0
            rows = [violation._asdict() for violation in wrong]
            return ModelAnswer(counts | told, {"violations": rows})
        if self.ask == "dimension":
            dimension = feasible.dimension()
            told = {"dimension": float(dimension), "constant": float(dimension == 1)}
            return ModelAnswer(counts | told, {"constant": dimension == 1})
        if self.ask == "centre":
            ball = feasible.chebyshev_centre(domain=domain)
            entries = by_name("reward", problem.game.states, ball.centre)
            record = {"centre": ball.centre.tolist(), "solved": solver_record(ball.solved)}
            told = {"radius": ball.radius, "constant": float(ball.constant)}
            return ModelAnswer(counts | told | entries, record | {"constant": ball.constant}, ball)
        found = self._reward(problem, feasible, domain, target)
        quantities = {
            **counts,
            "value": found.value,
            "spread": found.spread,
            "constant": float(found.constant),
            "contains": float(feasible.contains(found.reward, tolerance=1e-7)),
            **prices(found.solved.duals, problem.rows),
            **by_name("reward", problem.game.states, found.reward),
        }
        evidence = {"reward": found.reward.tolist(), "solved": solver_record(found.solved)}
        evidence["constant"] = found.constant
        return ModelAnswer(quantities, evidence, found)

    def contradiction(self, problem: ModelProblem, nothing: Infeasible) -> dict[str, Any]:
        """Return the observed choices that contradict the domain, by the Farkas ray."""
        if not nothing.solved.farkas:
            return {}
        rows = problem.feasible_rewards().by_row(nothing)
        return {"rows": [{**row._asdict(), "multiplier": y} for row, y in rows.items() if y]}

    def report(self, answer: ModelAnswer) -> Iterator[str]:
        """Yield the lines of the answer; that it is a constant is said by name."""
        yield from super().report(answer)
        if answer.evidence.get("constant"):
            from iirl_opt.rewards.constant import TELLS_NOTHING

            only = "only constants explain what was seen: " if self.ask == "dimension" else ""
            yield f"  {'uninformative':<24} {only}{TELLS_NOTHING}"

    def against(self, answer: ModelAnswer) -> list[str]:
        """Return what contradicts each other: choices that were seen, and rows of file and domain.

        The strongest choices come first, and no other row is behind so many that it is not shown.
        """
        if not answer.evidence.get("rows"):
            return super().against(answer)
        from iirl_opt.rewards.observed_rows import LABELS

        choices = [
            f"episode {row['episode']}, {row['state']}: {row['action']} "
            f"(multiplier {row['multiplier']:.6g})"
            for row in answer.evidence["rows"]
        ]
        named = [x for x in super().against(answer) if x.partition("[")[0] not in LABELS]
        first = max(FEW - len(named), FEW // 2)
        return [*choices[:first], *named, *choices[first:]]

    def _reward(self, problem: ModelProblem, feasible: Any, domain: CutDomain, target: Any) -> Any:
        """Return the one reward that the file asks for."""
        if self.ask == "maximise":
            objective = problem.vector(self.objective, "question.objective")
            return feasible.maximise(objective, domain=domain)
        if self.ask == "nearest":
            return feasible.nearest(target, norm=self.norm, domain=domain)
        return feasible.max_margin(penalty=self.penalty, bound=self.bound)
