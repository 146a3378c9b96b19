"""Which rows contradict each other: a smallest set of one's own, with the proof of both halves.

An *irreducible infeasible subset* is a set of rows that no point meets, while some point meets all
but any one of them. To relax rows outside of it is of no use: a repair has to touch one inside.

`explain` begins with the rows of a Farkas ray, which contradict each other already, and leaves out
one after the other (a deletion filter): if the rest still contradicts itself, by a new ray, the row
and all that the new ray does without are gone; if a point meets the rest, the row stays. Both
verdicts are proved in exact arithmetic: rays by `exact_ray`, points by `meets`.

**Source** Chinneck & Dravnieks 1991, *Locating minimal infeasible constraint sets in linear
programs*; Gleeson & Ryan 1990, on the rows of a ray.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from iirl_opt.brief import in_brief
from iirl_opt.certificate import Certificate, certify
from iirl_opt.checks import TEXT, checked, each
from iirl_opt.errors import InvalidArgument, NotCertified
from iirl_opt.exact.numbers import Vector, as_fractions, as_reals
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable
from iirl_opt.solver.call import RANGE, call
from iirl_opt.solver.compiled import Compiled, compile_problem
from iirl_opt.solver.door import crossing, raised, recorded
from iirl_opt.solver.engine import DUAL, Engine
from iirl_opt.solver.farkas import exact_ray, meets, no_common_divisor
from iirl_opt.solver.names import STRUCTURAL, about, is_called, labels_of
from iirl_opt.solver.program import Program
from iirl_opt.solver.rays import elastic_ray, own_ray, strict_ray
from iirl_opt.solver.records import HIGHS, ConflictingRow, HiGHS, Status
from iirl_opt.solver.rules import PROGRAM
from iirl_opt.solver.settle import PLAIN, Settlement, Unit, settle
from iirl_opt.solver.source import check_linear
from iirl_opt.spelling import allowed_names

__all__ = ["Conflict", "explain"]

# Seconds for each mixed-integer program, unless the solver has a time limit.
PATIENCE = 5.0

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Conflict(Tabular):
    """Rows that no point meets together.

    Attributes
    ----------
    rows : of one's own, that contradict each other and what is taken for granted; the largest
        multiplier first.
    minimal : whether it is proved that a point meets all but any one of them, and what is taken
        for granted.
    background : rows taken for granted that the proof uses.
    farkas : the ray by constraint, as in `Solved`; None of a mixed-integer program, where a small
        tree of rays is the proof, or where a variable's own bounds leave it no value.
    programs : how many linear (or mixed-integer) programs were solved.
    note : what holds where a part could not be proved, or needs no rows.

    Examples
    --------
    >>> x = cp.Variable(name="x")
    >>> rows = [(x >= 1).set_label("low"), (x <= 0).set_label("high"), (x <= 9).set_label("spare")]
    >>> found = explain(cp.Problem(cp.Minimize(0), rows))
    >>> sorted(row.name for row in found.rows), found.minimal, found.check()
    (['high', 'low'], True, True)
    """

    rows: tuple[ConflictingRow, ...]
    minimal: bool
    background: tuple[ConflictingRow, ...]
    farkas: Mapping[str, Array] | None
    programs: int
    note: str = ""
    _proof: _Evidence | None = field(default=None, repr=False)

    __repr__ = in_brief

    def table(self) -> FactTable:
        """Return a row for each row that contradicts the others, with its multiplier."""
        rows = [{"row": row.name, "multiplier": row.multiplier} for row in self.rows]
        return FactTable(rows, "rows that contradict each other")

    def __str__(self) -> str:
        kind = "a smallest set, proved" if self.minimal else "not proved to be a smallest set"
        head = f"{len(self.rows)} rows contradict each other ({kind}):"
        if len(self.rows) == 1:
            head = f"one row that nothing meets ({kind}):"
        taken = f"with {len(self.background)} taken for granted"
        lines = [head, *(f"  {row}" for row in self.rows)]
        lines += [taken] if self.background else []
        return "\n".join([*lines, self.note] if self.note else lines)

    def check(self) -> bool:
        """Return whether ray and points prove what is said, in exact arithmetic and unsolved anew.

        Of a mixed-integer program the points are checked, and that there is none is not.
        """
        return self._proof is not None and self._proof.holds(minimal=self.minimal)


@dataclass(frozen=True, eq=False)
class _Evidence:
    """What proves a conflict: a program without costs, a ray, and a point for each row left out."""

    program: Program
    ray: Vector | None
    kept: tuple[int, ...]
    points: Mapping[int, Vector]
    others: Flags

    def holds(self, *, minimal: bool) -> bool:
        """Return whether the ray refutes the kept rows, and each point meets all but one."""
        whole = _with_rows(self.program, self._and(self.kept))
        proved = self.ray is not None and exact_ray(whole, self.ray) is not None
        if not (proved or self.program.whole.any()):
            return bool(whole.columns.crossed(whole.whole).any())
        if not minimal:
            return True
        for i in self.kept:
            rest = _with_rows(self.program, self._and(j for j in self.kept if j != i))
            if i not in self.points or not _is_point(rest, self.points[i]):
                return False
        return True

    def _and(self, rows: Iterable[int]) -> Flags:
        flags = self.others.copy()
        flags[list(rows)] = True
        return flags


@certify.register
def _of_conflict(found: Conflict) -> Certificate:
    reason = "its proof is its own: `check()`, in exact numbers and without a solver"
    raise NotCertified("a Conflict", reason)


@checked(problem=PROGRAM, solver=HIGHS, background=each(TEXT))
def explain(
    problem: cp.Problem,
    solver: HiGHS | None = None,
    *,
    background: Sequence[str] | None = None,
) -> Conflict:
    """Return a smallest set of a problem's own rows that contradict each other.

    Parameters
    ----------
    problem : infeasible; linear or mixed-integer once cvxpy has compiled its constraints. The
        objective does not matter.
    solver : `HiGHS` by default; its time limit is that of each program, five seconds of each
        mixed-integer one unless it says otherwise.
    background : labels of constraints that are taken for granted: they take part in every set and
        are not named as its rows. ``"values"`` stands for ``values[1]``, ``values[2]``, …, too. By
        default those of the library whose rows only say what a variable means, ``"flow"`` and
        ``"values"``; ``()`` for none. Rows that cvxpy adds, for a norm, say, and bounds that are
        attributes of variables are always taken for granted.

    Raises
    ------
    InvalidArgument
        A problem that has a point; one that is no linear program; a label that it does not have.
    LimitReached, SolverFailed, Interrupted
        Nothing could be proved of the whole problem.

    **Cost** one program, and one for each row that the first proof uses. What contradicts each
    other among the *episodes* of a set of rewards asks
    `iirl_opt.FeasibleRewards.explain_infeasibility`, where constants count as no explanation.

    Examples
    --------
    >>> x = cp.Variable(2, name="x")
    >>> rows = {"low": x >= 1, "total": cp.sum(x) <= 1.5, "spare": x[0] <= 9}
    >>> named = [row.set_label(label) for label, row in rows.items()]
    >>> found = explain(cp.Problem(cp.Minimize(0), named))
    >>> print(found)
    3 rows contradict each other (a smallest set, proved):
      low[0] × 0.5
      low[1] × 0.5
      total × 0.5
    >>> found.check()
    True
    """
    asked = cp.Problem(cp.Minimize(0), problem.constraints)
    if not asked.variables():
        # Constants alone: a variable that nothing speaks of makes them a program.
        asked = cp.Problem(cp.Minimize(cp.Variable(nonneg=True)), problem.constraints)
    chosen = HiGHS() if solver is None else solver
    try:
        compiled = compile_problem(asked, chosen)
    except (cp.error.SolverError, cp.error.DCPError):
        check_linear(asked)
        raise InvalidArgument("problem", "is no linear program", "an LP or MIP") from None
    free = replace(compiled.program, cost=np.zeros_like(compiled.program.cost), curved=None)
    search = _DeletionFilter(replace(compiled, program=free), asked, chosen, background)
    first = settle(free, chosen)
    if first.status is Status.OPTIMAL and first.x is not None:
        ray = search.narrow(free, first.x)
        if ray is None:
            what = "has a feasible point"
            if not search.points:
                what = (
                    "has a point within the tolerances of `solve`, and none that is exact is known"
                )
            raise InvalidArgument("problem", what, "an infeasible problem")
        first = Settlement(Status.INFEASIBLE, ray=ray)
    if first.status is not Status.INFEASIBLE:
        raised(recorded(asked, chosen, compiled, first, (0.0, 0.0)), first.cause, throw=True)
    return search.conflict(first)


class _DeletionFilter:
    """A deletion filter over the rows of a program."""

    def __init__(
        self,
        compiled: Compiled,
        problem: cp.Problem,
        solver: HiGHS,
        background: Sequence[str] | None,
    ) -> None:
        self.compiled, self.program, self.solver = compiled, compiled.program, solver
        self.constraints, self.layout = labels_of(problem), compiled.layout()
        granted = STRUCTURAL if background is None else tuple(background)
        if background is not None:
            for label in granted:
                if not any(is_called(own, label) for own in self.constraints):
                    known = allowed_names(label, self.constraints)
                    raise InvalidArgument("background", f"names {label!r}", f"of {known}", label)
        self.own = np.zeros(self.program.shape[0], dtype=bool)
        for block in self.layout.rows:
            named = block.name is not None
            granted_block = named and any(is_called(str(block.name), x) for x in granted)
            self.own[block.at] = named and not granted_block
        self.programs = 1
        self.points: dict[int, Vector] = {}
        whole = bool(self.program.whole.any())
        self.engine = None if whole else Engine(self.program, solver)
        if whole and solver.time_limit is None:
            self.solver = replace(solver, time_limit=PATIENCE)

    def conflict(self, first: Settlement) -> Conflict:
        """Return the smallest set that the filter finds."""
        note = crossing(self.compiled)
        if note:
            proof = _Evidence(self.program, None, (), {}, np.zeros_like(self.own))
            return Conflict((), True, (), None, self.programs, note, proof)
        ray, stay = first.ray, list[int]()
        queue: list[int] = np.flatnonzero(self.own).tolist()
        if ray is not None:
            # What counts least in the proof is tried first: the rest may do without.
            sizes = np.abs(ray)
            queue = sorted((i for i in queue if sizes[i]), key=lambda i: float(sizes[i]))
        while queue:
            i = queue.pop(0)
            answer = self.without(i, [*stay, *queue])
            if answer is None:
                stay.append(i)
            elif answer.ray is not None:
                ray = answer.ray
                queue = [j for j in queue if ray[j]]
                stay = [j for j in stay if ray[j]]
        return self.found(tuple(sorted(stay)), ray)

    def without(self, i: int, rest: Sequence[int]) -> Settlement | None:
        """Return a proof that the rest has no point, or None; keep the point that it has."""
        flags = ~self.own
        flags[list(rest)] = True
        trial = _with_rows(self.program, flags)
        self.programs += 1
        if self.engine is None:
            # Without bounds on whole variables a search need never end: this needs none.
            if no_common_divisor(trial):
                return Settlement(Status.INFEASIBLE)
            answer = settle(trial, self.solver)
        else:
            every = np.arange(trial.shape[0], dtype=np.int32)
            low, high = trial.row_lower, trial.row_upper
            self.engine.change(
                trial, DUAL, lambda highs: highs.changeRowsBounds(every.size, every, low, high)
            )
            answer = self.engine.answer()
        if answer.cause is not None:
            raise answer.cause
        if answer.status is Status.INFEASIBLE:
            return answer
        if answer.x is None:
            return None
        ray = self.narrow(trial, answer.x, i)
        return None if ray is None else Settlement(Status.INFEASIBLE, ray=ray)

    def narrow(self, program: Program, x: Array, i: int = -1) -> Array | None:
        """Keep an exact point near one within tolerances; else return a ray, where there is one."""
        point = meets(program, x)
        if point is not None:
            self.points[i] = point
            return None
        if program.whole.any():
            return None
        self.programs += 2
        proved = _proved_ray(program, self.solver)
        return None if proved is None else np.asarray(as_reals(proved), dtype=float)

    def found(self, kept: tuple[int, ...], ray: Array | None) -> Conflict:
        """Return the record of what stayed."""
        ray, exact = self.exact(kept, ray)
        proved = all(i in self.points for i in kept)
        note = "" if kept else "what is taken for granted contradicts itself"
        if not proved:
            count = sum(i not in self.points for i in kept)
            note = (
                f"of {count} rows no exact point was found that meets all others: they may be idle"
            )
        used = np.zeros(self.own.size) if ray is None else -ray
        rows = self.rows({i: float(used[i]) for i in kept})
        granted = np.flatnonzero(~self.own & (used != 0))
        background = self.rows({int(i): float(used[i]) for i in granted})
        proof = _Evidence(self.program, exact, kept, self.points, ~self.own)
        farkas = None if ray is None else self.by_constraint(used)
        return Conflict(rows, proved, background, farkas, self.programs, note, proof)

    def exact(self, kept: Sequence[int], ray: Array | None) -> tuple[Array | None, Vector | None]:
        """Return a ray of the rows that stayed, and the rational one that proves it.

        A ray that was proved and then rounded may prove nothing any more; then another is found.
        """
        if ray is None:
            return None, None
        flags = ~self.own
        flags[list(kept)] = True
        program = _with_rows(self.program, flags)
        proved = exact_ray(program, ray)
        if proved is None:
            self.programs += 2
            proved = _proved_ray(program, self.solver)
        return (ray if proved is None else np.asarray(as_reals(proved), dtype=float)), proved

    def rows(self, multipliers: Mapping[int, float]) -> tuple[ConflictingRow, ...]:
        """Return rows by name, the largest multiplier first."""
        found = []
        for i, multiplier in sorted(multipliers.items(), key=lambda pair: -abs(pair[1])):
            block = next(b for b in self.layout.rows if b.at.start <= i < b.at.stop)
            index = block.entries[i - block.start]
            if block.name is None:
                found.append(ConflictingRow("added by cvxpy", index, multiplier))
                continue
            what = about(self.constraints[block.name], index)
            found.append(ConflictingRow(block.name, index, multiplier, what))
        return tuple(found)

    def by_constraint(self, used: Array) -> dict[str, Array]:
        """Return the entries of a ray by constraint, in its shape."""
        return {
            block.name: used[block.at].reshape(self.constraints[block.name].shape, order="F")
            for block in self.layout.rows
            if block.name is not None and len(block.entries) == self.constraints[block.name].size
        }


def _proved_ray(program: Program, solver: HiGHS) -> Vector | None:
    """Return a rational ray that proves that a linear program has no point, or None.

    **Cost** three linear programs; some more where no ray is found in the program's own units.
    """
    options = RANGE | solver.arguments()["highs_options"] | PLAIN
    for unit in Unit.choices(program):
        for find in (strict_ray, elastic_ray, own_ray):
            ray = find(unit.scaled, lambda asked: call(asked, options))
            proved = None if ray is None else exact_ray(unit.scaled, ray)
            if proved is not None:
                exponents = (unit.scaling.rows - unit.scaling.row_goal).tolist()
                back = [y * Fraction(2) ** k for y, k in zip(proved, exponents, strict=True)]
                return as_fractions(back)
    return None


def _with_rows(program: Program, kept: Flags) -> Program:
    """Return a program whose other rows demand nothing."""
    return program.changed(
        row_lower=np.where(kept, program.row_lower, -np.inf),
        row_upper=np.where(kept, program.row_upper, np.inf),
    )


def _is_point(program: Program, point: Vector) -> bool:
    """Return whether a rational point meets all rows and bounds, exactly."""
    matrix = program.matrix.tocsr()
    activity = []
    for a, b in zip(matrix.indptr, matrix.indptr[1:], strict=False):
        terms = zip(matrix.data[a:b].tolist(), matrix.indices[a:b].tolist(), strict=True)
        activity.append(sum((Fraction(x) * point[j] for x, j in terms), Fraction(0)))
    sides = [
        (activity, program.row_lower, program.row_upper),
        (point.tolist(), program.lower, program.upper),
    ]
    held = all(
        (low == -np.inf or Fraction(low) <= value) and (high == np.inf or value <= Fraction(high))
        for values, lower, upper in sides
        for value, low, high in zip(values, lower.tolist(), upper.tolist(), strict=True)
    )
    return held and all(x.denominator == 1 for x in point[program.whole])
