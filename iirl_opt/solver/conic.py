"""Reading what solvers of conic programs returned; their statuses are words until we checked them.

Every number is recomputed from the returned point and multipliers and the compiled arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.solver.program import Quality
from iirl_opt.solver.records import Residuals, Status

__all__ = ["CLARABEL_STATUS", "CVXPY_STATUS", "clarabel_quality"]

Array = NDArray[np.float64]

CVXPY_STATUS = {
    "optimal": Status.OPTIMAL,
    "infeasible": Status.INFEASIBLE,
    "unbounded": Status.UNBOUNDED,
    "user_limit": Status.LIMIT,
}

CLARABEL_STATUS = {
    "Solved": Status.OPTIMAL,
    "PrimalInfeasible": Status.INFEASIBLE,
    "DualInfeasible": Status.UNBOUNDED,
    "MaxIterations": Status.LIMIT,
    "MaxTime": Status.LIMIT,
}


def clarabel_quality(raw: Any, data: Any) -> Quality:
    """Judge Clarabel's point and multipliers by the optimality conditions of ``min c'x + ½x'Px``.

    The slack ``b − A x`` and the multipliers are in their cones by the method.
    """
    with np.errstate(all="ignore"):
        x, z, s = (np.array(v) for v in (raw.x, raw.z, raw.s))
        curved = data["P"] @ x if data.get("P") is not None else np.zeros_like(x)
        rows = data["A"] @ x + s - data["b"]
        dual = _norm(curved + data["c"] + data["A"].T @ z)
        gap = float(abs(s @ z))
        primal = _norm(rows / (1 + np.abs(data["b"]) + np.abs(s)))
        slope = _norm(data["c"], curved) or 1.0
        value = abs(float((data["c"] + curved / 2) @ x))
        relative = float(np.max([primal, dual / slope, gap / max(slope, value)]))
    return Quality(Residuals(_norm(rows), dual, gap, gap), relative)


def _norm(*parts: Array) -> float:
    return float(np.max([np.abs(part).max(initial=0.0) for part in parts], initial=0.0))
