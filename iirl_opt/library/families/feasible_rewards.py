"""The family ``feasible_rewards``: what the observations of the file say about the reward."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec

from iirl_opt.brief import FEW
from iirl_opt.checks import NOT_NEGATIVE, POSITIVE
from iirl_opt.errors import FileProblem, Infeasible, InvalidArgument
from iirl_opt.library.answers import ModelAnswer, by_name, solver_record
from iirl_opt.library.problem import ModelProblem
from iirl_opt.library.question import ProgramQuestion
from iirl_opt.library.rows import prices
from iirl_opt.library.schema import Number

if TYPE_CHECKING:
    from iirl_opt.rewards.domains import RewardDomain

__all__ = ["FeasibleRewardsQuestion"]


# What can be asked where an episode was seen step by step, may lose something, or is a preference.
OF_TRAJECTORIES = ("maximise", "nearest", "contains")
OF_LOSSES = (*OF_TRAJECTORIES, "compatibility", "most_compatible")
OF_PREFERENCES = (*OF_TRAJECTORIES, "centre", "most_compatible")


def _place(row: dict[str, Any]) -> str:
    """Return what a row speaks of, after its episode: a state and an action, if any."""
    named = [str(row[key]) for key in ("state", "action") if row[key] is not None]
    return ", " * bool(named) + ": ".join(named)


class FeasibleRewardsQuestion(ProgramQuestion, tag="feasible_rewards"):
    """What is known about the reward from the observations."""

    takes: ClassVar[frozenset[str]] = frozenset({"trajectory", "suboptimality", "preference"})

    ask: Literal[
        "maximise",
        "nearest",
        "contains",
        "dimension",
        "centre",
        "max_margin",
        "compatibility",
        "most_compatible",
    ]
    objective: dict[str, Number] = msgspec.field(default_factory=dict)
    target: dict[str, Number] = msgspec.field(default_factory=dict)
    norm: Literal[1, 2] = 1
    domain: Literal["simplex", "box"] = "simplex"
    bound: float = 1.0
    penalty: float = 0.0
    price: float | None = None

    def check(self, problem: ModelProblem) -> None:
        """Refuse to ask for what takes the explicit rows that some episodes do not have."""
        losing = any(seen.suboptimality is not None for seen in problem.observations)
        for there, name, allowed in (
            (problem.trajectories, "[[trajectory]]", OF_TRAJECTORIES),
            (losing, "observation.suboptimality", OF_LOSSES),
            (problem.preferences, "[[preference]]", OF_PREFERENCES),
        ):
            if there and self.ask not in allowed:
                said = f"is {self.ask!r}, beside {name}; allowed {', '.join(allowed)}"
                raise FileProblem(problem.path, said, key="question.ask")
        if self.price is not None and self.ask != "maximise":
            said = f"has no meaning beside ask = {self.ask!r}; allowed in 'maximise'"
            raise FileProblem(problem.path, said, key="question.price")
        self._check_numbers(problem)

    def _check_numbers(self, problem: ModelProblem) -> None:
        """Refuse numbers outside their range, and a share of the optimum where r may be < 0."""
        rules = {"bound": POSITIVE, "penalty": NOT_NEGATIVE, "price": POSITIVE}
        for name, rule in rules.items():
            try:
                if (number := getattr(self, name)) is not None:
                    rule(name, number)
            except InvalidArgument as wrong:
                said = str(wrong).removeprefix(f"{name} ")
                raise FileProblem(problem.path, said, key=f"question.{name}") from None
        declared = [seen.suboptimality for seen in problem.observations]
        share = any(said is not None and said.share is not None for said in declared)
        if share and self.domain == "box" and self.ask in ("maximise", "nearest"):
            said = "is 'box', beside a share in observation.suboptimality; allowed 'simplex'"
            raise FileProblem(problem.path, said, key="question.domain")

    def program(self, problem: ModelProblem) -> Any:
        """Return the linear program whose objective the file states."""
        if self.ask != "maximise":
            return super().program(problem)
        objective = problem.vector(self.objective, "question.objective")
        known = problem.feasible_rewards()
        return known.problem(objective, domain=self.cut_domain(problem), price=self.price)

    def cut_domain(self, problem: ModelProblem) -> RewardDomain:
        """Return where rewards are sought: the domain of the question under the file's rows."""
        from iirl_opt.rewards.domains import NarrowedDomain, RewardBox, RewardSimplex

        for i, row in enumerate(problem.rows):
            if row.target != "reward" or row.coefficients.ndim != 1:
                place = f"constraint[{i}]"
                raise FileProblem(problem.path, "must be on the reward, by state", key=place)
        base: RewardDomain = RewardSimplex() if self.domain == "simplex" else RewardBox(self.bound)

        def own(r: Any) -> list[Any]:
            return [part for row in problem.rows for part in row.constraints(row.coefficients @ r)]

        return NarrowedDomain(base, own)

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
        if self.ask == "compatibility":
            lost = feasible.losses(target).max(axis=1, initial=0.0)
            losses = by_name("loss", range(1, len(lost) + 1), lost)
            return ModelAnswer(
                counts | {"compatibility": feasible.compatibility(target)} | losses, {}
            )
        if self.ask == "most_compatible":
            # Every reward has a multiple in simplex and box, shifted: only rows leave some out.
            least = feasible.most_compatible(domain=domain if problem.rows else None)
            entries = by_name("reward", problem.game.states, least.reward)
            record = {"reward": least.reward.tolist(), "solved": solver_record(least.solved)}
            record |= {"best": str(least.best), "worst": str(least.worst)}
            return ModelAnswer(counts | {"loss": least.loss} | entries, record, least)
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
            f"episode {row['episode']}{_place(row)} (multiplier {row['multiplier']:.6g})"
            for row in answer.evidence["rows"]
        ]
        named = [x for x in super().against(answer) if x.partition("[")[0] not in LABELS]
        first = max(FEW - len(named), FEW // 2)
        return [*choices[:first], *named, *choices[first:]]

    def _reward(
        self, problem: ModelProblem, feasible: Any, domain: RewardDomain, target: Any
    ) -> Any:
        """Return the one reward that the file asks for."""
        if self.ask == "maximise":
            objective = problem.vector(self.objective, "question.objective")
            return feasible.maximise(objective, domain=domain, price=self.price)
        if self.ask == "nearest":
            return feasible.nearest(target, norm=self.norm, domain=domain)
        return feasible.max_margin(penalty=self.penalty, bound=self.bound)
