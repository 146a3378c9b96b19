"""Answers that no solver found, judged as those of a solver are.

Planning solves programs, too: a policy is a point, its values are multipliers. What counts is not
who found them but whether they meet the optimality conditions, by our arithmetic on the program.
"""

from __future__ import annotations

from collections.abc import Mapping

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from iirl_opt.errors import InvalidArgument
from iirl_opt.solver.door import version_of
from iirl_opt.solver.linear import read_linear
from iirl_opt.solver.log import report
from iirl_opt.solver.program import Program
from iirl_opt.solver.records import Solved, Status

__all__ = ["stated"]

Array = NDArray[np.float64]


def stated(
    problem: cp.Problem,
    primal: Mapping[str, Array],
    duals: Mapping[str, Array],
    *,
    found_by: str,
    iterations: int,
    seconds: float,
    bound: float,
    note: str,
) -> Solved:
    """Return the record of a plain linear program's point and multipliers, judged.

    Its status is OPTIMAL or FAILED; variables and constraints take their values as after `solve`.

    Parameters
    ----------
    primal, duals : by the name of every variable, and of every constraint in cvxpy's sign.
    found_by, iterations, seconds, bound, note : for the record.

    Raises
    ------
    InvalidArgument
        The problem is no plain linear program.

    **Cost** arithmetic: some passes over the nonzeros.
    """
    plain = read_linear(problem)
    if plain is None:
        raise InvalidArgument("problem", "is no plain linear program", "an LP", problem)
    program = Program.of(plain.data)
    y, x = (np.empty(size) for size in program.shape)
    for name, at in plain.column_names.items():
        x[at] = primal[name]
    for name, at in plain.row_names.items():
        y[at] = duals[name]
    quality = program.quality(x, -y)
    status = Status.OPTIMAL if quality.accepted else Status.FAILED
    plain.unpack(cp.OPTIMAL, x, y)
    solved = Solved(
        status=status,
        value=float(problem.objective.value),
        primal=dict(primal),
        duals=dict(duals),
        farkas=None,
        residuals=quality.residuals,
        bound=bound,
        solver=found_by,
        version=version_of("iirl_opt"),
        options={},
        compile_seconds=0.0,
        seconds=seconds,
        iterations=iterations,
        note=note,
    )
    report(program.kind, program.shape, solved)
    return solved
