"""Linear programs for others: LP and MPS files with our names, and the rows of constraints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import cvxpy as cp
import highspy
import numpy as np
from numpy.typing import NDArray

from iirl_opt.checks import PATH, checked, is_a, one_of
from iirl_opt.errors import InvalidArgument
from iirl_opt.files import writing
from iirl_opt.solver.banner import swallow_banner
from iirl_opt.solver.call import new_highs
from iirl_opt.solver.compiled import compiled_data
from iirl_opt.solver.program import Program
from iirl_opt.solver.rules import CONSTRAINTS, PROGRAM

__all__ = ["LinearRows", "linear_rows", "write_program"]

Array = NDArray[np.float64]


@checked(problem=PROGRAM, path=PATH, form=one_of(".lp", ".mps"))
def write_program(problem: cp.Problem, path: str | Path, form: str | None = None) -> Path:
    """Write a linear program as an LP or MPS file, with the names of its variables and constraints.

    Columns are ``name(i)`` and rows ``label(i)``, in C order; brackets become parentheses.

    Parameters
    ----------
    form : ``".lp"`` or ``".mps"``; the suffix of `path` by default.

    Raises
    ------
    InvalidArgument
        Another form, or a problem that is not a linear program.
    """
    target = Path(path)
    kind = target.suffix if form is None else form
    if kind not in (".lp", ".mps"):
        raise InvalidArgument("form", f"is {kind!r}", ".lp or .mps", kind)
    try:
        data = compiled_data(problem)
    except cp.error.SolverError:
        raise InvalidArgument("problem", "is no linear program", "an LP", problem) from None
    if "dims" not in data or "c" not in data:
        raise InvalidArgument("problem", "is no linear program", "an LP", problem)
    swallow_banner()
    solver, program = new_highs({}), Program.of(data)
    program.pass_to(solver)
    variables = data.get("variables") or data["param_prob"].variables
    for j, name in enumerate(n for v in variables for n in _entry_names(v.name(), v.size)):
        solver.passColName(j, name)
    equal = [c for c in problem.constraints if isinstance(c, cp.constraints.Equality)]
    rest = [c for c in problem.constraints if not isinstance(c, cp.constraints.Equality)]
    rows = [n for c in equal + rest for n in _entry_names(c.label or str(c), c.size)]
    if len(rows) == program.shape[0] and len(set(rows)) == len(rows):
        for i, name in enumerate(rows):
            solver.passRowName(i, name)
    with writing(target, kind) as part:  # HiGHS picks the format by the suffix
        if solver.writeModel(str(part)) == highspy.HighsStatus.kError:
            raise OSError(f"cannot write {target}")
    return target


def _entry_names(name: str, size: int) -> list[str]:
    plain = re.sub(r"[^A-Za-z0-9_().]+", "_", name.replace("[", "(").replace("]", ")")).strip("_")
    plain = f"c_{plain}" if not plain or plain[0] in "eE.0123456789(" else plain
    return [plain] if size == 1 else [f"{plain}({i})" for i in range(size)]


class LinearRows(NamedTuple):
    """A polyhedron ``rows x ≤ bounds``, ``equal x = right``, dense."""

    rows: Array
    bounds: Array
    equal: Array
    right: Array


@checked(constraints=CONSTRAINTS, variable=is_a(cp.Variable))
def linear_rows(constraints: Sequence[cp.Constraint], variable: cp.Variable) -> LinearRows:
    """Return the rows of linear constraints on one variable, flattened in C order.

    Raises
    ------
    InvalidArgument
        The constraints are not linear in this variable alone.

    **Cost** one compilation.
    """
    problem = cp.Problem(cp.Minimize(0), list(constraints))
    own = [v.id for v in problem.variables()] in ([], [variable.id])
    try:
        data = compiled_data(problem)
    except cp.error.SolverError:
        own = False
    if not own or (constraints and data["A"].shape[1] != variable.size):
        raise InvalidArgument("constraints", "need other variables", f"rows on {variable.name()}")
    if not constraints:
        empty = np.zeros((0, variable.size))
        return LinearRows(empty, np.zeros(0), empty, np.zeros(0))
    matrix, equal = data["A"].toarray(), data["dims"].zero
    if variable.ndim > 1:
        matrix = matrix[:, np.arange(variable.size).reshape(variable.shape, order="F").ravel()]
    return LinearRows(matrix[equal:], data["b"][equal:], matrix[:equal], data["b"][:equal])
