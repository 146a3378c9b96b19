"""The question of a model file, and what a family of them has to know.

A *family* is one class: the ``[question]`` table of its files, with the methods that answer it. It
stands in a file of its own in `iirl_opt.library.families` and holds all that is particular to the
family: keys, programs, quantities, and what the command prints and writes. There are two sorts:

* `ProgramQuestion`, answered by programs: it has `find`;
* `RunQuestion`, answered by a run that may be watched and stopped: it has `learn`.

What a question cannot do it refuses, so a family overrides what it can.
"""

from __future__ import annotations

import shlex
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from iirl_opt.brief import FEW
from iirl_opt.errors import FileProblem, Infeasible
from iirl_opt.library.answers import ModelAnswer, solver_record
from iirl_opt.library.schema import Table

if TYPE_CHECKING:
    from iirl_opt.library.problem import ModelProblem
    from iirl_opt.library.run import Run

__all__ = ["ProgramQuestion", "Question", "RunQuestion"]


class Question(Table, tag_field="family", tag="question"):
    """The question of a file: the base of all families.

    Attributes
    ----------
    takes : tables that have a meaning in some families alone, and in this one:
        ``"follower_reward"``, ``"prior"``, ``"trajectory"``, ``"preference"``, ``"suboptimality"``
        of an observation, and ``"unknown"`` for a follower whose number is so.
    policy_key : the key of the question that holds a leader policy, or None.

    Examples
    --------
    >>> from iirl_opt import library
    >>> question = library.make_question(library.read_model("two-rooms").game, "occupancy")
    >>> question.family(), isinstance(question, Question)
    ('occupancy', True)
    """

    takes: ClassVar[frozenset[str]] = frozenset()
    policy_key: ClassVar[str | None] = None

    @classmethod
    def family(cls) -> str:
        """Return the name of the family, as a file has it."""
        return str(cls.__struct_config__.tag)

    def check(self, problem: ModelProblem) -> None:
        """Refuse what makes no sense in this family, as soon as the file is read."""

    @abstractmethod
    def answer(self, problem: ModelProblem, *, seed: int | None = None) -> ModelAnswer:
        """Return the answer. **Cost** that of the question."""

    def program(self, problem: ModelProblem) -> Any:
        """Return the cvxpy problem behind the question, for export."""
        _refuse_to(problem, "question", "is not one linear program")

    def verify(self, problem: ModelProblem) -> ModelAnswer:
        """Return the answer whose ``found`` is the report on a hypothesis."""
        _refuse_to(problem, "question.ask", "does not ask to verify")

    def learn(self, problem: ModelProblem, **_: Any) -> Run:
        """Return the run that answers the question, before its first step."""
        _refuse_to(problem, "question.family", f"is not learning, but {self.family()}")

    def claimed_reward(self, problem: ModelProblem) -> Any:
        """Return the reward that a certificate of this file speaks of, or None."""
        return problem.truth

    def report(self, answer: ModelAnswer) -> Iterator[str]:
        """Yield the lines that the command prints for an answer."""
        for name, value in answer.quantities.items():
            yield f"  {name:<24} {value:.10g}"
        solved = answer.evidence.get("solved")
        if solved:
            residual = solved["residual"]
            most = "" if residual is None else f", residuals ≤ {residual:.1e}"
            ran = f"{solved['solver']} {solved['version']}: {solved['status']}"
            yield f"  {'evidence':<24} {ran}{most}"
        against = self.against(answer)
        for row in against[:FEW]:
            yield f"  {'contradicts':<24} {row}"
        if len(against) > FEW:
            yield f"  {'':<24} and {len(against) - FEW} more"

    def against(self, answer: ModelAnswer) -> list[str]:
        """Return what contradicts each other where nothing is feasible, the most first."""
        return list((answer.evidence.get("solved") or {}).get("farkas") or ())


class ProgramQuestion(Question):
    """A question that programs answer; that one has no feasible point *is* an answer.

    Examples
    --------
    >>> from iirl_opt import library
    >>> problem = library.read_model("correlated-budget")
    >>> isinstance(problem.question, ProgramQuestion)
    True
    >>> round(problem.question.answer(problem).quantities["value"], 6)
    1.5
    """

    @abstractmethod
    def find(self, problem: ModelProblem) -> ModelAnswer:
        """Return what the programs found."""

    def contradiction(self, problem: ModelProblem, nothing: Infeasible) -> dict[str, Any]:
        """Return what else is known of why there is no point, ready for JSON."""
        return {}

    def answer(self, problem: ModelProblem, *, seed: int | None = None) -> ModelAnswer:
        """Return the answer, with the facts that all these families share; nothing is drawn."""
        try:
            found = self.find(problem)
        except Infeasible as nothing:
            evidence = {
                "solved": solver_record(nothing.solved),
                **self.contradiction(problem, nothing),
            }
            return ModelAnswer({"infeasible": 1.0}, evidence, unanswered="infeasible")
        facts = {"states": float(problem.game.n_states), "infeasible": 0.0}
        return replace(found, quantities={**facts, **found.quantities})


class RunQuestion(Question):
    """A question that a run answers, a step at a time.

    Examples
    --------
    >>> from iirl_opt import library
    >>> problem = library.read_model("two-rooms")
    >>> isinstance(problem.question, RunQuestion)
    True
    >>> len(list(problem.question.learn(problem, episodes=2)))
    2
    """

    @abstractmethod
    def learn(self, problem: ModelProblem, **given: Any) -> Run:
        """Return the run, before its first step."""

    def answer(self, problem: ModelProblem, *, seed: int | None = None) -> ModelAnswer:
        """Return the answer of the whole run."""
        run = self.learn(problem, seed=seed)
        for _ in run:
            pass
        mixed = run.verdict
        none = "" if mixed else "converged"
        return ModelAnswer(run.quantities, run.evidence, run, unanswered=none, decides=mixed)


def _refuse_to(problem: ModelProblem, key: str, what: str) -> NoReturn:
    """Say what the question of a file is not, and which command answers it."""
    command = "learn" if isinstance(problem.question, RunQuestion) else "solve"
    fitting = f"iirl-opt {command} {shlex.quote(str(problem.path))}"
    raise FileProblem(problem.path, f"{what}: {fitting} answers it", key=key)
