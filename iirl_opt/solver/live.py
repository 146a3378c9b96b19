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
from dataclasses import replace
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import FLAG, MAPPING, array_of_whole, checked
from iirl_opt.errors import InvalidArgument
from iirl_opt.game.kernel import Matrix
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable
from iirl_opt.solver.basis import SimplexBasis
from iirl_opt.solver.door import raised, recorded, version_of
from iirl_opt.solver.engine import DUAL, PRIMAL, Engine
from iirl_opt.solver.log import report
from iirl_opt.solver.names import unique_names
from iirl_opt.solver.program import Program
from iirl_opt.solver.records import HIGHS, HiGHS, Solved, Status
from iirl_opt.solver.rules import (
    LIMITS,
    MATRIX,
    NUMBERS,
    PROGRAM,
    own_matrix,
    pair_of_bounds,
    vector,
)
from iirl_opt.solver.settle import Settlement
from iirl_opt.solver.source import Source

__all__ = ["LiveProgram"]

Array = NDArray[np.float64]

# The names of rows and of columns that came after a problem's own.
ADDED = ("added rows", "added columns")


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


class LiveProgram(Tabular):
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
        sign = -1.0 if maximise else 1.0
        cost = sign * vector("objective", objective)
        n = cost.size
        rows = own_matrix(matrix, (None, n))
        low, high = pair_of_bounds("row_lower, row_upper", row_lower, row_upper, rows.shape[0])
        least, most = pair_of_bounds("lower, upper", lower, upper, n)
        program = Program(cost, rows, low, high, least, most, np.zeros(n, dtype=bool))
        self._begin(program, sign, solver, None)

    def _begin(
        self, program: Program, sign: float, solver: HiGHS | None, source: Source | None
    ) -> None:
        self._engine, self._sign, self._source = Engine(program, solver), sign, source
        # Whether the value is that of the problem behind, or of an objective that came later.
        self._own_goal = source is not None

    @classmethod
    @checked(problem=PROGRAM, solver=HIGHS)
    def of(cls, problem: cp.Problem, solver: HiGHS | None = None) -> LiveProgram:
        """Return a linear cvxpy problem as a live program, with the names that it has.

        It may hold parameters, as long as everything is affine in them (cvxpy calls that DPP): each
        `solve` is at their values of then, and begins where the one before ended. What cvxpy adds,
        for a norm or a maximum, is there, too. `columns` and `rows` say where each variable (by
        name) and each constraint (by label) stands. Inequalities are rows ``A x ≤ b``, so that
        their multipliers are ≥ 0.

        Raises
        ------
        InvalidArgument
            The problem is no linear program, or not DPP: names the part of it that is none.

        Examples
        --------
        >>> share = cp.Parameter(name="share", nonneg=True)
        >>> x = cp.Variable(2, name="x", nonneg=True)
        >>> rows = [(cp.sum(x) == 1).set_label("sum"), (x[1] <= share).set_label("cap")]
        >>> share.value = 0.25
        >>> live = LiveProgram.of(cp.Problem(cp.Maximize(x[0] + 3 * x[1]), rows))
        >>> live.solve().value
        1.5
        >>> live.set(share=0.5)
        >>> solved = live.solve()
        >>> solved.value, solved.primal["x"], solved.duals["cap"]
        (2.0, array([0.5, 0.5]), array(2.))
        """
        source = Source(problem)
        live = cls.__new__(cls)
        sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
        live._begin(source.compiled.program, sign, solver, source)
        return live

    @property
    def columns(self) -> Mapping[str, slice]:
        """Where each variable stands; those that were added stand under a name of their own."""
        return self._where("x", 1)

    @property
    def rows(self) -> Mapping[str, slice]:
        """Where each constraint stands; rows that were added stand under a name of their own."""
        return self._where("rows", 0)

    def _where(self, whole: str, axis: int) -> dict[str, slice]:
        now = self.shape[axis]
        if self._source is None:
            return {whole: slice(0, now)}
        layout = self._source.layout
        blocks = layout.columns if axis else layout.rows
        at = [block.at for block in blocks if block.name is not None]
        names = [block.name for block in blocks if block.name is not None]
        first = self._source.compiled.program.shape[axis]
        if now > first:
            names, at = [*names, ADDED[axis]], [*at, slice(first, now)]
        return dict(zip(unique_names(names), at, strict=True))

    def set(self, **values: ArrayLike) -> None:
        """Set parameters of the problem by name: all of them, or none.

        ``parameter.value = ...`` does the same.

        Raises
        ------
        UnknownLabel
            No parameter has this name.
        InvalidArgument
            A value that the parameter does not admit; a program that comes from no problem.
        """
        if self._source is None:
            raise InvalidArgument("values", "are of parameters", "a program from `of`", values)
        self._source.set(values)

    @property
    def solver(self) -> HiGHS:
        """HiGHS with its options."""
        return self._engine.solver

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"LiveProgram({rows} rows, {columns} columns)"

    def table(self) -> FactTable:
        """Return a row a part: each constraint and each variable with its rows or columns."""
        parts = [("rows", name, at) for name, at in self.rows.items()]
        parts += [("columns", name, at) for name, at in self.columns.items()]
        facts = [{"part": k, "name": n, "size": at.stop - at.start} for k, n, at in parts]
        return FactTable(facts, repr(self))

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self._engine.program.shape

    @checked(objective=NUMBERS)
    def change_objective(self, objective: ArrayLike) -> None:
        """Replace the objective, shape (n,); the sense stays."""
        self._refuse_to_diverge()
        cost = self._sign * vector("objective", objective, self.shape[1])
        self._own_goal = False
        every = np.arange(cost.size, dtype=np.int32)
        self._engine.change(
            self._engine.program.changed(cost=cost),
            PRIMAL,
            lambda highs: highs.changeColsCost(cost.size, every, cost),
        )

    @checked(row_lower=LIMITS, row_upper=LIMITS)
    def change_rows(self, row_lower: ArrayLike, row_upper: ArrayLike) -> None:
        """Replace the bounds on the rows, shape (m,) each."""
        self._refuse_to_diverge()
        m = self.shape[0]
        low, high = pair_of_bounds("row_lower, row_upper", row_lower, row_upper, m)
        every = np.arange(m, dtype=np.int32)
        self._engine.change(
            self._engine.program.changed(row_lower=low, row_upper=high),
            DUAL,
            lambda highs: highs.changeRowsBounds(m, every, low, high),
        )

    @checked(matrix=MATRIX, row_lower=LIMITS, row_upper=LIMITS)
    def add_rows(self, matrix: Any, row_lower: ArrayLike, row_upper: ArrayLike) -> None:
        """Add rows, shape (k, n), below those that are there."""
        self._refuse_to_diverge()
        new = own_matrix(matrix, (None, self.shape[1])).tocsr()
        low, high = pair_of_bounds("row_lower, row_upper", row_lower, row_upper, new.shape[0])
        now = self._engine.program
        longer = now.changed(
            matrix=sp.vstack([now.matrix, new], format="csc"),
            row_lower=np.append(now.row_lower, low),
            row_upper=np.append(now.row_upper, high),
        )
        entries = (new.nnz, new.indptr, new.indices, new.data)
        self._engine.change(
            longer, DUAL, lambda highs: highs.addRows(new.shape[0], low, high, *entries)
        )

    @checked(objective=NUMBERS, matrix=MATRIX, lower=LIMITS, upper=LIMITS)
    def add_columns(
        self, objective: ArrayLike, matrix: Any, lower: ArrayLike = 0.0, upper: ArrayLike = np.inf
    ) -> None:
        """Add variables after those that are there: their objective (k,) and columns (m, k)."""
        self._refuse_to_diverge()
        cost = self._sign * vector("objective", objective)
        self._own_goal = False
        new = own_matrix(matrix, (self.shape[0], cost.size))
        low, high = pair_of_bounds("lower, upper", lower, upper, cost.size)
        now = self._engine.program
        wider = now.changed(
            cost=np.append(now.cost, cost),
            matrix=_beside(now.matrix, new),
            lower=np.append(now.lower, low),
            upper=np.append(now.upper, high),
            whole=np.zeros(now.cost.size + cost.size, dtype=bool),
        )
        entries = (new.nnz, new.indptr, new.indices, new.data)
        self._engine.change(
            wider, PRIMAL, lambda highs: highs.addCols(cost.size, cost, low, high, *entries)
        )

    @checked(which=array_of_whole(1))
    def remove_columns(self, which: ArrayLike) -> None:
        """Remove variables by position; those after them move up.

        Raises
        ------
        InvalidArgument
            A position that the program does not have, or that a variable of a problem has.
        """
        gone, n = np.unique(np.asarray(which)), self.shape[1]
        first = 0 if self._source is None else self._source.compiled.program.shape[1]
        if gone.size and not (first <= gone[0] and gone[-1] < n):
            wrong = gone[-1] if gone[-1] >= n else gone[0]
            raise InvalidArgument("which", f"has {wrong}", f"{first} … {n - 1}", which)
        gone = gone.astype(np.int32)
        kept = np.setdiff1d(np.arange(n), gone)
        now = self._engine.program
        names = ("cost", "lower", "upper", "whole")
        columns = {name: getattr(now, name)[kept] for name in names}
        narrower = now.changed(matrix=now.matrix[:, kept], **columns)
        self._engine.change(narrower, PRIMAL, lambda highs: highs.deleteCols(gone.size, gone))

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
        self._engine.begin_at(basis)

    @checked(throw=FLAG, verbose=FLAG)
    def solve(self, *, throw: bool = True, verbose: bool = False) -> Solved:
        """Solve the program as it stands, from the last basis where there is one.

        Parameters
        ----------
        throw : raise on every status but OPTIMAL; otherwise return the record.
        verbose : show HiGHS's own log on the standard output.

        Returns
        -------
        Solved
            ``primal["x"]``, and ``duals["rows"]`` in the sign of cvxpy: a multiplier is positive
            where the row presses against its upper bound, and negative against its lower bound. Of
            a cvxpy problem, all of it by name and in its shape, as after `iirl_opt.solver.solve`.

        Raises
        ------
        Infeasible, Unbounded, LimitReached, SolverFailed
            As `iirl_opt.solver.solve` does, each with the record.
        InvalidArgument
            A parameter without a value.

        **Cost** one linear program, hot; another one, cold, where that failed.
        """
        began = time.perf_counter()
        if self._source is not None and self._source.parameters:
            self._engine.follow(self._source.read())
        ready = time.perf_counter()
        answer = self._engine.answer(verbose=verbose)
        solved = self._record(answer, time.perf_counter() - ready, ready - began)
        report("live LP", self.shape, solved)
        return raised(solved, answer.cause, throw=throw)

    def _refuse_to_diverge(self) -> None:
        """Refuse changes of a program that follows parameters: the next values would undo them."""
        if self._source is not None and self._source.parameters:
            names = ", ".join(p.name() for p in self._source.parameters)
            raise InvalidArgument("program", f"follows parameters ({names})", "values for those")

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
        said = self._engine.round()
        if said is None:
            return None
        if said.stopped.cause is not None:
            interrupted = Settlement(Status.INTERRUPTED, said.status, cause=said.stopped.cause)
            raised(self._record(interrupted, 0.0, 0.0), interrupted.cause, throw=True)
        if said.status not in ("kOptimal", "kUnknown") or said.x is None or said.y is None:
            return None
        return Advance(said.x, -said.y, said.iterations)

    def _record(self, answer: Settlement, seconds: float, compile_seconds: float) -> Solved:
        if self._source is not None:
            return self._named(self._source, answer, (seconds, compile_seconds))
        value, primal, duals, farkas = None, {}, {}, None
        if answer.x is not None:
            value = float(self._sign * self._engine.program.value(answer.x))
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

    def _named(self, source: Source, answer: Settlement, times: tuple[float, float]) -> Solved:
        """Return the record by the names of a problem, and of what was added to it."""
        m, n = source.compiled.program.shape
        own = replace(
            answer,
            x=None if answer.x is None else answer.x[:n],
            y=None if answer.y is None else answer.y[:m],
            ray=None if answer.ray is None else answer.ray[:m],
        )
        solved = recorded(source.problem, self.solver, source.compiled, own, times)
        more: dict[str, Any] = {}
        if not self._own_goal and answer.x is not None:
            more["value"] = float(self._sign * self._engine.program.value(answer.x))
        for part, given, at in (
            ("primal", answer.x, self.columns.get(ADDED[1])),
            ("duals", None if answer.y is None else -answer.y, self.rows.get(ADDED[0])),
            ("farkas", None if answer.ray is None else -answer.ray, self.rows.get(ADDED[0])),
        ):
            if given is not None and at is not None:
                name = ADDED[1] if part == "primal" else ADDED[0]
                more[part] = dict(getattr(solved, part) or {}) | {name: given[at]}
        return replace(solved, **more) if more else solved


def _beside(left: Matrix, right: Matrix) -> Matrix:
    """Return two matrices by columns as one; scipy's own way costs more than a small solve."""
    parts = (
        np.concatenate([left.data, right.data]),
        np.concatenate([left.indices, right.indices]),
        np.concatenate([left.indptr, left.indptr[-1] + right.indptr[1:]]),
    )
    return sp.csc_array(parts, shape=(left.shape[0], left.shape[1] + right.shape[1]))
