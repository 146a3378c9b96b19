"""One call of HiGHS: a program and options in, what it said out, unjudged."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from iirl_opt.errors import InvalidArgument
from iirl_opt.solver.basis import SimplexBasis
from iirl_opt.solver.log import LOGGER
from iirl_opt.solver.program import Program
from iirl_opt.solver.run import Stopped, run_highs

__all__ = [
    "EITHER",
    "RANGE",
    "Said",
    "Start",
    "begin_at",
    "call",
    "left",
    "new_highs",
    "objective_scale",
    "read",
    "set_options",
]

Array = NDArray[np.float64]
Start = Array | SimplexBasis | None

# HiGHS drops coefficients of 1e-9 unless told, and counts bounds of 1e20 as none.
RANGE = {"small_matrix_value": 1e-12, "infinite_bound": 1e300, "infinite_cost": 1e300}

# HiGHS's word for the primal simplex method at a feasible basis, and the dual one at any other.
EITHER = 0


@dataclass(frozen=True, eq=False)
class Said:
    """What HiGHS said of a program.

    Attributes
    ----------
    status : the name of its model status, ``kInterrupt`` where something stopped it.
    x, y, ray : a point, multipliers of the rows and a Farkas ray, where there are any.
    feasible : whether HiGHS calls the point feasible.
    bound : on the value of a mixed-integer program.
    stopped : what stopped it from outside.
    """

    status: str
    x: Array | None = None
    y: Array | None = None
    ray: Array | None = None
    feasible: bool = False
    bound: float = np.nan
    iterations: int = 0
    stopped: Stopped = field(default_factory=Stopped)


def new_highs(options: Mapping[str, Any]) -> highspy.Highs:
    """Return a silent HiGHS object with options.

    Raises
    ------
    InvalidArgument
        HiGHS refuses an option.
    """
    highs = highspy.Highs()
    highs.setOptionValue("log_to_console", False)
    set_options(highs, options)
    return highs


def set_options(highs: highspy.Highs, options: Mapping[str, Any]) -> None:
    """Set options by name."""
    for name, value in options.items():
        try:
            refused = highs.setOptionValue(name, value) == highspy.HighsStatus.kError
        except TypeError:
            refused = True
        if refused:
            place, problem = f"options[{name!r}]", f"is {value!r}, which HiGHS refuses"
            raise InvalidArgument(
                place, problem, "an option of HiGHS, and a value of its kind", value
            )


def call(program: Program, options: Mapping[str, Any], start: Start = None) -> Said:
    """Run HiGHS on a program.

    Parameters
    ----------
    start : a point with which a mixed-integer program begins, or a basis with which a linear one
        does: by the primal simplex method where the basis is feasible, else by the dual one.
    """
    highs = new_highs(options)
    if not program.pass_to(highs):
        return Said("kModelError")
    if isinstance(start, SimplexBasis):
        begin_at(highs, start, program)
        set_options(highs, {"simplex_strategy": options.get("simplex_strategy", EITHER)})
    elif start is not None:
        point = highspy.HighsSolution()
        point.col_value = start
        highs.setSolution(point)
    stopped = run_highs(highs, whole=bool(program.whole.any()))
    said = read(highs, stopped)
    LOGGER.debug("HiGHS: %s after %d iterations, options %s", said.status, said.iterations, options)
    return said


def begin_at(highs: highspy.Highs, basis: SimplexBasis, program: Program) -> None:
    """Give HiGHS the basis at which it is to begin with the program that it holds."""
    highs.setBasis(basis.status(program))


def read(highs: highspy.Highs, stopped: Stopped) -> Said:
    """Return what HiGHS said in a run that is over; of a lost one, what it had reported."""
    if stopped.lost:
        found = stopped.incumbent is not None
        return Said("kInterrupt", stopped.incumbent, None, None, found, stopped.bound, 0, stopped)
    info, solution = highs.getInfo(), highs.getSolution()
    status = "kInterrupt" if stopped.cause is not None else highs.getModelStatus().name
    ray = None
    if status == "kInfeasible":
        there = highs.getDualRay()
        ray = np.array(there[2], dtype=float) if there[1] and len(there[2]) else None
    return Said(
        status,
        np.array(solution.col_value, dtype=float) if len(solution.col_value) else None,
        np.array(solution.row_dual, dtype=float) if solution.dual_valid else None,
        ray,
        info.primal_solution_status == 2,
        float(info.mip_dual_bound),
        sum(
            max(getattr(info, f"{kind}_iteration_count"), 0)
            for kind in ("simplex", "ipm", "crossover", "pdlp", "qp")
        ),
        stopped,
    )


def objective_scale(program: Program) -> dict[str, int]:
    """Return the option by which HiGHS scales costs above a thousand or below a thousandth.

    Its tolerances are absolute: they swallow an objective of 1e-9, and none of 1e9 meets them.
    Large ones are scaled to a thousand only, so that small costs beside them still count.
    """
    largest = program.largest_cost
    if program.curved is not None:
        largest = max(largest, float(np.abs(program.curved.data).max(initial=0.0)))
    if largest == 0 or 1e-3 <= largest <= 1e3:
        return {}
    wanted = 1e3 if largest > 1e3 else 1.0
    return {"user_objective_scale": round(np.log2(wanted) - np.log2(largest))}


def left(deadline: float | None) -> dict[str, float]:
    """Return the option that ends HiGHS at a deadline of `time.perf_counter`."""
    return {} if deadline is None else {"time_limit": max(deadline - time.perf_counter(), 0.0)}
