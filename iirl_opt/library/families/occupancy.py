"""The family ``occupancy``: the best joint policy under the rows of the file."""

from __future__ import annotations

from typing import Any, Literal

from iirl_opt.errors import NotAProduct
from iirl_opt.library.answers import ModelAnswer, by_name, solver_record
from iirl_opt.library.problem import ModelProblem
from iirl_opt.library.question import ProgramQuestion
from iirl_opt.library.rows import prices

__all__ = ["OccupancyQuestion"]


class OccupancyQuestion(ProgramQuestion, tag="occupancy"):
    """The best joint policy under side constraints."""

    ask: Literal["maximise"] = "maximise"

    def program(self, problem: ModelProblem) -> Any:
        """Return the linear program of the measure, with the rows of the file."""
        from iirl_opt.occupancy import OccupancyMeasure

        measure = OccupancyMeasure(problem.game)
        rows = problem.rows_on_measure(measure)
        return measure.problem(problem.need_truth(), subject_to=rows)

    def find(self, problem: ModelProblem) -> ModelAnswer:
        """Return the value, whether two policies reach it, and the prices."""
        from iirl_opt.occupancy import OccupancyMeasure

        measure = OccupancyMeasure(problem.game)
        rows = problem.rows_on_measure(measure)
        best = measure.maximise(problem.need_truth(), subject_to=rows)
        try:
            best.split()
            product = 1.0
        except NotAProduct:
            product = 0.0
        return ModelAnswer(
            {
                "value": best.value,
                "product": product,
                "total": float(best.measure.sum()),
                **prices(best.price, problem.rows),
                **by_name("state_price", problem.game.states, best.state_prices),
            },
            {"measure": best.measure.tolist(), "solved": solver_record(best.solved)},
            best,
        )
