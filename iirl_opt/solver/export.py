"""Linear programs for others: LP and MPS files with our names, and the rows of constraints."""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import cvxpy as cp
import highspy
import numpy as np
from numpy.typing import NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import PATH, checked, is_a, one_of
from iirl_opt.errors import InvalidArgument
from iirl_opt.files import write_text
from iirl_opt.solver.banner import swallow_banner
from iirl_opt.solver.call import RANGE, new_highs
from iirl_opt.solver.compiled import compile_problem, compiled_data
from iirl_opt.solver.names import Written
from iirl_opt.solver.program import Program
from iirl_opt.solver.records import HiGHS
from iirl_opt.solver.rules import CONSTRAINTS, PROGRAM
from iirl_opt.solver.source import check_linear

__all__ = ["LinearRows", "linear_rows", "write_program"]

# How a whole file ends.
LAST = {".lp": "end", ".mps": "ENDATA"}

Array = NDArray[np.float64]


@checked(problem=PROGRAM, path=PATH, form=one_of(".lp", ".mps"))
def write_program(problem: cp.Problem, path: str | Path, form: str | None = None) -> Path:
    """Write a linear program as an LP or MPS file, with the names of its variables and constraints.

    Columns are ``name(i)``, or ``name(i,j)`` of a matrix, and rows ``label(i)``, whatever cvxpy
    adds; what it adds is called ``aux(k)``, and ``row_of_aux(k)(i)`` for the rows of that. Brackets
    become parentheses. What formats do not allow (blanks, other letters, a first digit or e, words
    of their own, more than 255 characters, a name twice) is changed; the first lines of the file
    say into what. Numbers have all their digits, parameters their values of now. The file holds a
    minimisation without constants; of a ``Maximize``, that of the negative.

    Parameters
    ----------
    problem : linear, or mixed-integer linear, once cvxpy has compiled it (norms, maxima).
    form : ``".lp"`` or ``".mps"``; the suffix of `path` by default.

    Raises
    ------
    InvalidArgument
        Another form; a problem that is no linear program, or not convex; a coefficient below
        1e-12, which the writer would drop.
    OSError
        The file cannot be written.

    **Cost** one compilation, and the writing of the file; nothing is solved.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> x = cp.Variable(2, name="x")
    >>> problem = cp.Problem(cp.Minimize(cp.sum(x)), [(x >= 1).set_label("low")])
    >>> with TemporaryDirectory() as folder:
    ...     text = write_program(problem, Path(folder) / "small.lp").read_text()
    >>> "x(0)" in text, "low(1)" in text
    (True, True)
    """
    target = Path(path)
    kind = target.suffix if form is None else form
    if kind not in LAST:
        raise InvalidArgument("form", f"is {kind!r}", ".lp or .mps", kind)
    if not problem.variables():
        raise InvalidArgument("problem", "has no variable", "an LP", problem)
    try:
        compiled = compile_problem(problem, HiGHS())
    except (cp.error.SolverError, cp.error.DCPError):
        check_linear(problem)
        raise InvalidArgument("problem", "is no linear program", "an LP", problem) from None
    program, names = compiled.program, Written(compiled.layout())
    if program.curved is not None:
        problem_is = "is no linear program: its objective is quadratic"
        raise InvalidArgument("problem", problem_is, "an LP", problem)
    swallow_banner()
    solver = new_highs(RANGE)
    if not program.pass_to(solver) or solver.getNumNz() != program.matrix.count_nonzero():
        raise _unwritable(program, names)
    for j, name in enumerate(names.columns):
        solver.passColName(j, name)
    for i, name in enumerate(names.rows):
        solver.passRowName(i, name)
    text = _text_of(solver, kind)
    filled = _filled(text, names.columns) if kind == ".lp" else text
    return write_text(target, _head(kind, names.changed) + filled)


def _text_of(solver: highspy.Highs, kind: str) -> str:
    """Return what HiGHS writes of a program; it does not say why it cannot, or of a full disk."""
    with TemporaryDirectory() as folder:
        part = Path(folder, f"program{kind}")  # HiGHS picks the format by the suffix
        done = solver.writeModel(str(part)) != highspy.HighsStatus.kError
        text = part.read_text("utf-8") if done else ""
        if not text.rstrip().endswith(LAST[kind]):
            raise OSError(errno.EIO, "HiGHS could not write the whole program there", folder)
    return text


def _unwritable(program: Program, names: Written) -> InvalidArgument:
    """Return the error that a number would be lost."""
    entries = program.matrix.tocoo()
    sizes = np.where(entries.data == 0, np.inf, np.abs(entries.data))
    if not sizes.size or not (sizes.min() <= RANGE["small_matrix_value"]):
        return InvalidArgument("problem", "has numbers that HiGHS refuses", "finite numbers")
    k = int(sizes.argmin())
    place = f"problem, row {names.rows[entries.row[k]]}, column {names.columns[entries.col[k]]}"
    limit = f"0, or more than {RANGE['small_matrix_value']:g}: the writer drops less"
    return InvalidArgument(place, f"has the coefficient {entries.data[k]:g}", limit)


def _head(kind: str, changed: Mapping[str, str]) -> str:
    """Return the comments that say what stands for names that could not stay as they were."""
    mark = "\\" if kind == ".lp" else "*"
    lines = (f"{mark} {new} stands for {ascii(old)[:400]}\n" for old, new in changed.items())
    return "".join(lines)


def _filled(text: str, columns: Sequence[str]) -> str:
    """Return an LP file with a row, and a term in each row: most readers want both."""
    text = re.sub(r"^st\n(?! )", "st\n added: <= 0\n", text, flags=re.MULTILINE)
    return re.sub(r"^( \S+:) +(?=[<>=]|$)", rf"\1 0 {columns[0]} ", text, flags=re.MULTILINE)


class LinearRows(NamedTuple):
    """A polyhedron ``rows x ≤ bounds``, ``equal x = right``, dense.

    Examples
    --------
    >>> x = cp.Variable(2, name="x")
    >>> found = linear_rows([x[0] + x[1] <= 3, x[0] == 2 * x[1]], x)
    >>> found.bounds.tolist(), found.equal.tolist()
    ([3.0], [[1.0, -2.0]])
    """

    rows: Array
    bounds: Array
    equal: Array
    right: Array

    def __repr__(self) -> str:
        return in_brief(self)


@checked(constraints=CONSTRAINTS, variable=is_a(cp.Variable))
def linear_rows(constraints: Sequence[cp.Constraint], variable: cp.Variable) -> LinearRows:
    """Return the rows of linear constraints on one variable, flattened in C order.

    Raises
    ------
    InvalidArgument
        The constraints are not linear in this variable alone.

    **Cost** one compilation.

    Examples
    --------
    >>> x = cp.Variable(2, name="x")
    >>> linear_rows([x[0] + x[1] <= 3, x[0] == 2 * x[1]], x).rows.tolist()
    [[1.0, 1.0]]
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
