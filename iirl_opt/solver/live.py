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
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import cvxpy as cp
import highspy
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.errors import InvalidArgument
from iirl_opt.game.kernel import Matrix
from iirl_opt.solver.answers import READERS, Answer
from iirl_opt.solver.compiled import highs_model, objective_scale, swallow_banner
from iirl_opt.solver.door import ACCEPTED, EXCEPTIONS
from iirl_opt.solver.linear import column_bounds, read_linear, row_bounds
from iirl_opt.solver.records import HiGHS, Solved, Status

__all__ = ["LiveProgram"]

Array = NDArray[np.float64]

# A solve from an old basis whose largest relative residual is above this is repeated from scratch.
HOT = 1e-7

# HiGHS's names of its simplex methods.
DUAL, PRIMAL = 1, 4

# What HiGHS does with a cost that needs no scaling.
UNSCALED = {"user_objective_scale": 0}


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
        self.solver = HiGHS() if solver is None else solver
        if not isinstance(self.solver, HiGHS) or self.solver.method not in ("choose", "simplex"):
            raise InvalidArgument(
                "solver", f"is {self.solver}", "HiGHS by a simplex method", self.solver
            )
        self._sign = -1.0 if maximise else 1.0
        self._cost = self._sign * _vector("objective", objective)
        n = self._cost.size
        self._matrix = _matrix(matrix, (None, n))
        m = self._matrix.shape[0]
        self._rows = _bounds("row_lower, row_upper", row_lower, row_upper, m)
        self._columns = _bounds("lower, upper", lower, upper, n)
        self.columns: Mapping[str, slice] = {"x": slice(0, n)}
        self.rows: Mapping[str, slice] = {"rows": slice(0, m)}
        self._method = DUAL
        self._solved = False
        swallow_banner()
        self._highs = highspy.Highs()
        self._highs.setOptionValue("log_to_console", False)
        self._set(self.solver.arguments()["highs_options"])
        self._highs.passModel(highs_model(self._data()))

    @classmethod
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
        live.columns = {v.name(): at for v, at in program.columns.items()}
        live.rows = {c.label or str(c): at for c, at in program.rows.items()}
        return live

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"LiveProgram({rows} rows, {columns} columns)"

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return int(self._matrix.shape[0]), int(self._matrix.shape[1])

    def change_objective(self, objective: ArrayLike) -> None:
        """Replace the objective, shape (n,); the sense stays."""
        cost = self._sign * _vector("objective", objective, self.shape[1])
        self._cost, self._method = cost, PRIMAL
        at = np.arange(cost.size, dtype=np.int32)
        self._highs.changeColsCost(cost.size, at, cost)

    def change_rows(self, row_lower: ArrayLike, row_upper: ArrayLike) -> None:
        """Replace the bounds on the rows, shape (m,) each."""
        m = self.shape[0]
        self._rows = _bounds("row_lower, row_upper", row_lower, row_upper, m)
        self._method = DUAL
        self._highs.changeRowsBounds(m, np.arange(m, dtype=np.int32), *self._rows)

    def add_rows(self, matrix: Any, row_lower: ArrayLike, row_upper: ArrayLike) -> None:
        """Add rows, shape (k, n), below those that are there."""
        new = _matrix(matrix, (None, self.shape[1])).tocsr()
        low, high = _bounds("row_lower, row_upper", row_lower, row_upper, new.shape[0])
        self._matrix = sp.vstack([self._matrix, new], format="csc")
        self._rows = tuple(map(np.append, self._rows, (low, high)))
        self._method = DUAL
        self._highs.addRows(new.shape[0], low, high, new.nnz, new.indptr, new.indices, new.data)

    def add_columns(
        self, objective: ArrayLike, matrix: Any, lower: ArrayLike = 0.0, upper: ArrayLike = np.inf
    ) -> None:
        """Add variables after those that are there: their objective (k,) and columns (m, k)."""
        cost = self._sign * _vector("objective", objective)
        new = _matrix(matrix, (self.shape[0], cost.size))
        low, high = _bounds("lower, upper", lower, upper, cost.size)
        self._matrix = _beside(self._matrix, new)
        self._cost = np.append(self._cost, cost)
        self._columns = tuple(map(np.append, self._columns, (low, high)))
        self._method = PRIMAL
        entries = (new.nnz, new.indptr, new.indices, new.data)
        self._highs.addCols(cost.size, cost, low, high, *entries)

    def remove_columns(self, which: ArrayLike) -> None:
        """Remove variables by position; those after them move up."""
        gone = np.unique(np.asarray(which, dtype=np.int32))
        kept = np.setdiff1d(np.arange(self.shape[1]), gone)
        self._matrix, self._cost = self._matrix[:, kept], self._cost[kept]
        self._columns = tuple(side[kept] for side in self._columns)
        self._method = PRIMAL
        self._highs.deleteCols(gone.size, gone)

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
        data = self._data()
        answer = READERS[HiGHS](self._run(), data, self._afresh)
        if self._solved and not _is_sound(answer):
            answer = READERS[HiGHS](self._afresh(), data, self._afresh)
        self._solved = answer.status is Status.OPTIMAL
        status = answer.status or Status.FAILED
        if status is Status.UNBOUNDED:
            status = self._feasibility()
        if status is Status.OPTIMAL and not answer.relative <= ACCEPTED:
            status = Status.FAILED
        solved = self._record(status, answer, time.perf_counter() - began)
        if throw and status is not Status.OPTIMAL:
            raise EXCEPTIONS[status](solved)
        return solved

    def _record(self, status: Status, answer: Answer, seconds: float) -> Solved:
        raw, value, primal, duals, farkas = answer.raw, None, {}, {}, None
        if raw is not None and status in (Status.OPTIMAL, Status.LIMIT):
            x = np.array(raw["solution"].col_value)
            value = float(self._sign * (self._cost @ x))
            primal, duals = {"x": x}, {"rows": -np.array(raw["solution"].row_dual)}
        elif status is Status.INFEASIBLE and answer.duals:
            farkas = {"rows": -np.array(raw["dual_ray"][2])}
        return Solved(
            status=status,
            value=value,
            primal=primal,
            duals=duals,
            farkas=farkas,
            residuals=None if value is None else answer.residuals,
            bound=None,
            solver=self.solver.name,
            version=self._highs.version(),
            options=self.solver.arguments(),
            compile_seconds=0.0,
            seconds=seconds,
            iterations=answer.iterations,
        )

    def _data(self) -> dict[str, Any]:
        """Return the program as the arrays that readers of answers know."""
        return {
            "c": self._cost,
            "A": self._matrix,
            "row_lower": self._rows[0],
            "row_upper": self._rows[1],
            "lower_bounds": self._columns[0],
            "upper_bounds": self._columns[1],
            "bool_vars_idx": [],
            "int_vars_idx": [],
        }

    def _set(self, options: Mapping[str, Any]) -> None:
        for name, value in options.items():
            if self._highs.setOptionValue(name, value) == highspy.HighsStatus.kError:
                raise ValueError(f"HiGHS refuses the option {name} = {value!r}")

    def _run(self) -> dict[str, Any]:
        highs, own = self._highs, self.solver.options
        self._set({"simplex_strategy": self._method} | UNSCALED | objective_scale(self._data()))
        self._set(own)
        if self.solver.time_limit is not None:
            # HiGHS's clock runs on from one solve of an object to the next.
            self._set({"time_limit": highs.getRunTime() + self.solver.time_limit})
        highs.run()
        raw = {
            "solution": highs.getSolution(),
            "info": highs.getInfo(),
            "model_status": highs.getModelStatus().name,
        }
        if raw["model_status"] == "kInfeasible":
            raw["dual_ray"] = highs.getDualRay()
        return raw

    def _afresh(self, **changes: Any) -> dict[str, Any]:
        """Run again without the basis, with other options for this once."""
        usual = self.solver.arguments()["highs_options"]
        self._highs.clearSolver()
        self._method = DUAL
        self._set({k: v for k, v in changes.items() if k not in self.solver.options})
        try:
            return self._run()
        finally:
            plain = highspy.HighsOptions()
            self._set({k: usual.get(k, getattr(plain, k)) for k in changes})

    def _feasibility(self) -> Status:
        """Return UNBOUNDED if some point meets all rows; otherwise what was found instead."""
        n = self.shape[1]
        aside = LiveProgram(
            np.zeros(n),
            self._matrix,
            *self._rows,
            lower=self._columns[0],
            upper=self._columns[1],
            solver=self.solver,
        )
        found = aside.solve(throw=False).status
        return Status.UNBOUNDED if found is Status.OPTIMAL else found


def _is_sound(answer: Answer) -> bool:
    return answer.status is Status.OPTIMAL and answer.relative <= HOT


def _vector(place: str, values: ArrayLike, size: int | None = None) -> Array:
    vector = np.array(values, dtype=float)
    if vector.ndim != 1 or size not in (None, vector.size):
        allowed = "one dimension" if size is None else f"({size},)"
        raise InvalidArgument(place, f"has shape {vector.shape}", allowed, vector.shape)
    if not np.isfinite(vector).all():
        raise InvalidArgument(place, "is not finite", "finite numbers", values)
    return vector


def _matrix(values: Any, shape: tuple[int | None, int]) -> Matrix:
    matrix: Matrix = sp.csc_array(values, dtype=float)
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
