"""Live linear programs: one HiGHS object that is changed and solved again from where it stood.

    min or max c·x   with   row_lower ≤ A x ≤ row_upper,   lower ≤ x ≤ upper

The simplex method ends with a basis. After a small change that basis is nearly right, so the next
solve takes a few pivots where a fresh one takes thousands. New objectives and new columns keep the
basis primal feasible, and the primal simplex method goes on from it; new rows and new bounds keep
it dual feasible, and the dual method goes on.

A live program keeps the promises of `solve`: residuals are computed anew from the numbers that came
back, an infeasible answer is confirmed, "unbounded" is resolved, and no status that is no proof
passes for one. A solve from the old basis that fails, or leaves residuals, is repeated from
scratch. Nothing of the history shows but in which of several optima is found.

A method of cuts needs no such promise of a round, whose point only says which rows come next:
`LiveProgram.advance` takes what HiGHS says as it is, and who calls it judges the last point.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import cvxpy as cp
import highspy
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import FLAG, MAPPING, array_of_whole, checked
from iirl_opt.errors import InvalidArgument
from iirl_opt.game.kernel import Matrix
from iirl_opt.solver.banner import swallow_banner
from iirl_opt.solver.basis import SimplexBasis
from iirl_opt.solver.call import (
    EITHER,
    RANGE,
    Said,
    begin_at,
    new_highs,
    objective_scale,
    read,
    set_options,
)
from iirl_opt.solver.door import raised, version_of
from iirl_opt.solver.linear import column_bounds, read_linear, row_bounds
from iirl_opt.solver.program import Program
from iirl_opt.solver.records import HIGHS, HiGHS, Solved, Status
from iirl_opt.solver.rules import LIMITS, MATRIX, NUMBERS, PROGRAM
from iirl_opt.solver.run import run_highs
from iirl_opt.solver.scaling import in_range
from iirl_opt.solver.settle import Settlement, Unit, judge, settle

__all__ = ["LiveProgram"]

Array = NDArray[np.float64]

# A solve from an old basis whose largest relative residual is above this is repeated from scratch.
HOT = 1e-7

# HiGHS's names of its simplex methods.
DUAL, PRIMAL = 1, 4

# What HiGHS does with a cost that needs no scaling.
UNSCALED = {"user_objective_scale": 0}


class Advance(NamedTuple):
    """Where HiGHS stands after a round: nothing of it is judged.

    Attributes
    ----------
    x : point, shape (n,).
    y : multipliers of the rows in the sign of cvxpy, shape (m,).
    iterations : of the round.
    """

    x: Array
    y: Array
    iterations: int


class LiveProgram:
    """A linear program that can be changed and solved again.

    Parameters
    ----------
    objective : shape (n,).
    matrix : A, shape (m, n), dense or sparse.
    row_lower, row_upper : shape (m,), infinite where there is no bound; equal for an equation.
    lower, upper : bounds on x, shape (n,) or a number.
    maximise : whether the objective is to be large.
    solver : `HiGHS` by default, with a simplex method: other methods do not start from a basis.

    Raises
    ------
    InvalidArgument
        Shapes that do not fit, numbers that are not finite, a method that is no simplex method.

    Examples
    --------
    >>> live = LiveProgram([1.0, 2.0], [[1.0, 1.0]], [1.0], [1.0], lower=0.0, maximise=True)
    >>> live.solve().value
    2.0
    >>> live.add_rows([[0.0, 1.0]], [-float("inf")], [0.25])
    >>> live.solve().primal["x"]
    array([0.75, 0.25])
    """

    @checked(
        objective=NUMBERS,
        matrix=MATRIX,
        row_lower=LIMITS,
        row_upper=LIMITS,
        lower=LIMITS,
        upper=LIMITS,
        maximise=FLAG,
    )
    def __init__(
        self,
        objective: ArrayLike,
        matrix: Any,
        row_lower: ArrayLike,
        row_upper: ArrayLike,
        *,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        maximise: bool = False,
        solver: HiGHS | None = None,
    ) -> None:
        self.solver: HiGHS = HiGHS() if solver is None else solver
        if not isinstance(self.solver, HiGHS) or self.solver.method not in ("choose", "simplex"):
            raise InvalidArgument(
                "solver", f"is {self.solver}", "HiGHS by a simplex method", self.solver
            )
        self._sign = -1.0 if maximise else 1.0
        cost = self._sign * _vector("objective", objective)
        n = cost.size
        rows = _matrix(matrix, (None, n))
        m = rows.shape[0]
        low, high = _bounds("row_lower, row_upper", row_lower, row_upper, m)
        least, most = _bounds("lower, upper", lower, upper, n)
        self._program = Program(cost, rows, low, high, least, most, np.zeros(n, dtype=bool))
        self.columns: Mapping[str, slice] = {"x": slice(0, n)}
        self.rows: Mapping[str, slice] = {"rows": slice(0, m)}
        self._method = DUAL
        self._solved = False
        # Whether rounds were asked for, and HiGHS's copy may lack numbers: it serves them alone.
        self._rounds = self._rough = False
        swallow_banner()
        self._highs: highspy.Highs | None = None
        self._load()

    @classmethod
    @checked(problem=PROGRAM, solver=HIGHS)
    def of(cls, problem: cp.Problem, solver: HiGHS | None = None) -> LiveProgram:
        """Return a plain cvxpy problem as a live program; constants of its objective are left out.

        `columns` and `rows` then say where each variable (by name) and each constraint (by label)
        stands. Inequalities are rows ``A x ≤ b``, so that their multipliers are ≥ 0.

        Raises
        ------
        InvalidArgument
            The problem is not made of vectors, constant matrices and comparisons of those.
        """
        program = read_linear(problem)
        whole = program is not None and [
            *program.data["bool_vars_idx"],
            *program.data["int_vars_idx"],
        ]
        if program is None or whole:
            raise InvalidArgument("problem", "is no plain linear program", "an LP", problem)
        matrix, low, high = row_bounds(program.data)
        lower, upper = column_bounds(program.data, matrix.shape[1])
        maximise = isinstance(problem.objective, cp.Maximize)
        goal = -program.data["c"] if maximise else program.data["c"]
        live = cls(
            goal, matrix, low, high, lower=lower, upper=upper, maximise=maximise, solver=solver
        )
        live.columns, live.rows = program.column_names, program.row_names
        return live

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"LiveProgram({rows} rows, {columns} columns)"

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self._program.shape

    @checked(objective=NUMBERS)
    def change_objective(self, objective: ArrayLike) -> None:
        """Replace the objective, shape (n,); the sense stays."""
        cost = self._sign * _vector("objective", objective, self.shape[1])
        self._program, self._method = self._program.changed(cost=cost), PRIMAL
        if highs := self._still_in_range():
            self._keep(highs.changeColsCost(cost.size, np.arange(cost.size, dtype=np.int32), cost))

    @checked(row_lower=LIMITS, row_upper=LIMITS)
    def change_rows(self, row_lower: ArrayLike, row_upper: ArrayLike) -> None:
        """Replace the bounds on the rows, shape (m,) each."""
        m = self.shape[0]
        low, high = _bounds("row_lower, row_upper", row_lower, row_upper, m)
        self._program = self._program.changed(row_lower=low, row_upper=high)
        self._method = DUAL
        if highs := self._still_in_range():
            self._keep(highs.changeRowsBounds(m, np.arange(m, dtype=np.int32), low, high))

    @checked(matrix=MATRIX, row_lower=LIMITS, row_upper=LIMITS)
    def add_rows(self, matrix: Any, row_lower: ArrayLike, row_upper: ArrayLike) -> None:
        """Add rows, shape (k, n), below those that are there."""
        new = _matrix(matrix, (None, self.shape[1])).tocsr()
        low, high = _bounds("row_lower, row_upper", row_lower, row_upper, new.shape[0])
        now = self._program
        self._program = now.changed(
            matrix=sp.vstack([now.matrix, new], format="csc"),
            row_lower=np.append(now.row_lower, low),
            row_upper=np.append(now.row_upper, high),
        )
        self._method = DUAL
        if highs := self._still_in_range():
            self._keep(
                highs.addRows(new.shape[0], low, high, new.nnz, new.indptr, new.indices, new.data)
            )

    @checked(objective=NUMBERS, matrix=MATRIX, lower=LIMITS, upper=LIMITS)
    def add_columns(
        self, objective: ArrayLike, matrix: Any, lower: ArrayLike = 0.0, upper: ArrayLike = np.inf
    ) -> None:
        """Add variables after those that are there: their objective (k,) and columns (m, k)."""
        cost = self._sign * _vector("objective", objective)
        new = _matrix(matrix, (self.shape[0], cost.size))
        low, high = _bounds("lower, upper", lower, upper, cost.size)
        now = self._program
        self._program = now.changed(
            cost=np.append(now.cost, cost),
            matrix=_beside(now.matrix, new),
            lower=np.append(now.lower, low),
            upper=np.append(now.upper, high),
            whole=np.zeros(now.cost.size + cost.size, dtype=bool),
        )
        self._method = PRIMAL
        if highs := self._still_in_range():
            entries = (new.nnz, new.indptr, new.indices, new.data)
            self._keep(highs.addCols(cost.size, cost, low, high, *entries))

    @checked(which=array_of_whole(1))
    def remove_columns(self, which: ArrayLike) -> None:
        """Remove variables by position; those after them move up.

        Raises
        ------
        InvalidArgument
            A position that the program does not have.
        """
        gone, n = np.unique(np.asarray(which)), self.shape[1]
        if gone.size and gone[-1] >= n:
            raise InvalidArgument("which", f"has {gone[-1]}", f"0 … {n - 1}", which)
        gone = gone.astype(np.int32)
        kept = np.setdiff1d(np.arange(n), gone)
        now = self._program
        names = ("cost", "lower", "upper", "whole")
        columns = {name: getattr(now, name)[kept] for name in names}
        self._program = now.changed(matrix=now.matrix[:, kept], **columns)
        self._method = PRIMAL
        if highs := self._still_in_range():
            self._keep(highs.deleteCols(gone.size, gone))

    @checked(basic=MAPPING)
    def start_from(self, basic: Mapping[str, ArrayLike]) -> None:
        """Begin the next solve at a basis: a policy's, say, that planning found.

        It saves time alone. A program whose numbers are out of HiGHS's range is solved in other
        units, from scratch: there the basis is checked, and not used.

        Parameters
        ----------
        basic : by name, as in `columns` and `rows`, which entries are basic: a mask each, or one
            flag for all. Variables left out are not basic, rows are; as many are basic as there are
            rows.

        Raises
        ------
        InvalidArgument
            A name or a shape that the program does not have; too many or too few entries.

        Examples
        --------
        >>> live = LiveProgram([1.0, 2.0], [[1.0, 1.0]], [1.0], [1.0], lower=0.0, maximise=True)
        >>> live.start_from({"x": [False, True], "rows": False})
        >>> live.solve().iterations
        0
        """
        basis = SimplexBasis.named(basic, self.columns, self.rows, self.shape)
        if self._highs is not None:
            begin_at(self._highs, basis, self._program)
            self._method = EITHER

    @checked(throw=FLAG)
    def solve(self, *, throw: bool = True) -> Solved:
        """Solve the program as it stands, from the last basis where there is one.

        Returns
        -------
        Solved
            ``primal["x"]``, and ``duals["rows"]`` in the sign of cvxpy: a multiplier is positive
            where the row presses against its upper bound, and negative against its lower bound.

        Raises
        ------
        Infeasible, Unbounded, LimitReached, SolverFailed
            As `iirl_opt.solver.solve` does, each with the record.

        **Cost** one linear program, hot; another one, cold, where that failed.
        """
        began = time.perf_counter()
        program = self._program
        answer = self._hot(program) if self._highs is not None and not self._rough else None
        if answer is None:
            answer = settle(program, self.solver)
        elif not answer.final:
            answer = settle(program, self.solver, first=answer)
        self._solved = answer.status is Status.OPTIMAL
        solved = self._record(program, answer, time.perf_counter() - began)
        return raised(solved, answer.cause, throw=throw)

    def _hot(self, program: Program) -> Settlement | None:
        """Solve from the last basis; None where what came of it is to be solved from scratch."""
        assert self._highs is not None
        options = objective_scale(program)
        said = self._said(self._highs, options)
        answer = judge(Unit.plain(program), said, options)
        if answer.cause is not None or answer.status is Status.LIMIT:
            return answer
        good = answer.quality is not None and answer.quality.relative <= HOT
        if answer.final and (good or answer.status is not Status.OPTIMAL or not self._solved):
            return answer
        self._highs.clearSolver()
        self._method = DUAL
        return None if answer.final else answer

    def advance(self) -> Advance | None:
        """Go on from the last basis, and return where that led: a round of a method of cuts.

        HiGHS is asked once, in the program's own units, and what it says is not judged: a point
        that is off still says which rows it violates. The caller judges the last one. Numbers that
        HiGHS drops, or that are far apart, end no run of rounds; after rounds with such numbers
        `solve` is afresh.

        Returns
        -------
        Advance, or None where HiGHS found no point with multipliers, or was at its time limit.

        **Cost** one linear program, hot.
        """
        self._rounds = True
        if self._highs is None:
            self._load()
        if self._highs is None:
            return None
        said = self._said(self._highs, {})
        if said.stopped.cause is not None:
            interrupted = Settlement(Status.INTERRUPTED, said.status, cause=said.stopped.cause)
            raised(self._record(self._program, interrupted, 0.0), interrupted.cause, throw=True)
        if said.status not in ("kOptimal", "kUnknown") or said.x is None or said.y is None:
            return None
        return Advance(said.x, -said.y, said.iterations)

    def _said(self, highs: highspy.Highs, options: Mapping[str, Any]) -> Said:
        """Run HiGHS from the last basis with further options, and return what it says."""
        set_options(highs, {"simplex_strategy": self._method} | UNSCALED | dict(options))
        set_options(highs, self.solver.options)
        if self.solver.time_limit is not None:
            # HiGHS's clock runs on from one solve of an object to the next.
            set_options(highs, {"time_limit": highs.getRunTime() + self.solver.time_limit})
        stopped = run_highs(highs)
        said = read(highs, stopped)
        if stopped.cause is not None:
            # HiGHS would find itself interrupted again, or is still at work.
            self._load()
        return said

    def _load(self) -> None:
        """Give the program to a new HiGHS object, or to none where its numbers need other units.

        Rounds are served in any case.
        """
        self._highs = None
        self._method = DUAL
        self._rough = not in_range(self._program)
        if self._rounds or not self._rough:
            self._highs = new_highs(RANGE | self.solver.arguments()["highs_options"])
            if not self._program.pass_to(self._highs):
                self._highs = None

    def _keep(self, said: highspy.HighsStatus) -> None:
        """Give HiGHS's copy up where HiGHS refused a change of it."""
        if said == highspy.HighsStatus.kError:
            self._highs = None

    def _still_in_range(self) -> highspy.Highs | None:
        """Return the HiGHS object that is to change too; without one every solve is afresh.

        It is given up for good where a number came that it may drop or refuse; among rounds it
        serves them still.
        """
        if self._highs is not None and not self._rough and not in_range(self._program):
            self._rough = True
            self._highs = self._highs if self._rounds else None
        return self._highs

    def _record(self, program: Program, answer: Settlement, seconds: float) -> Solved:
        value, primal, duals, farkas = None, {}, {}, None
        if answer.x is not None:
            value = float(self._sign * program.value(answer.x))
            primal = {"x": answer.x}
            duals = {} if answer.y is None else {"rows": -answer.y}
        elif answer.ray is not None:
            farkas = {"rows": -answer.ray}
        return Solved(
            status=answer.status,
            value=value,
            primal=primal,
            duals=duals,
            farkas=farkas,
            residuals=None if answer.quality is None or value is None else answer.quality.residuals,
            bound=None,
            solver=self.solver.name,
            version=version_of(self.solver.name),
            options=self.solver.arguments(),
            compile_seconds=0.0,
            seconds=seconds,
            iterations=answer.iterations,
            said=answer.said,
            note=answer.note,
        )


def _vector(place: str, values: ArrayLike, size: int | None = None) -> Array:
    vector = np.array(values, dtype=float)
    if vector.ndim != 1 or size not in (None, vector.size):
        allowed = "one dimension" if size is None else f"({size},)"
        raise InvalidArgument(place, f"has shape {vector.shape}", allowed, vector.shape)
    if not np.isfinite(vector).all():
        raise InvalidArgument(place, "is not finite", "finite numbers", values)
    return vector


def _matrix(values: Any, shape: tuple[int | None, int]) -> Matrix:
    # Its own: what the caller changes later must not reach a program whose size is known.
    matrix: Matrix = sp.csc_array(values, dtype=float, copy=True)
    # HiGHS takes no entry twice.
    matrix.sum_duplicates()
    if matrix.ndim != 2 or any(
        a not in (None, b) for a, b in zip(shape, matrix.shape, strict=True)
    ):
        allowed = f"({'any' if shape[0] is None else shape[0]}, {shape[1]})"
        raise InvalidArgument("matrix", f"has shape {matrix.shape}", allowed, matrix.shape)
    if not np.isfinite(matrix.data).all():
        raise InvalidArgument("matrix", "is not finite", "finite numbers", values)
    return matrix


def _beside(left: Matrix, right: Matrix) -> Matrix:
    """Return two matrices by columns as one; scipy's own way costs more than a small solve."""
    parts = (
        np.concatenate([left.data, right.data]),
        np.concatenate([left.indices, right.indices]),
        np.concatenate([left.indptr, left.indptr[-1] + right.indptr[1:]]),
    )
    return sp.csc_array(parts, shape=(left.shape[0], left.shape[1] + right.shape[1]))


def _bounds(place: str, low: ArrayLike, high: ArrayLike, size: int) -> tuple[Array, ...]:
    try:
        pair = [np.broadcast_to(np.asarray(side, dtype=float), (size,)) for side in (low, high)]
    except ValueError:
        shapes = f"have shapes {np.shape(low)} and {np.shape(high)}"
        raise InvalidArgument(place, shapes, f"({size},)", (low, high)) from None
    if np.isnan(pair).any() or (pair[0] > pair[1]).any():
        raise InvalidArgument(place, "cross or are not numbers", "lower ≤ upper", (low, high))
    return tuple(side.copy() for side in pair)
