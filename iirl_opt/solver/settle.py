"""What HiGHS says of a program, settled: each status is proved by our own arithmetic, or is none.

* OPTIMAL: the point, and for linear and quadratic programs the multipliers, meet the optimality
  conditions of the program as it was given (`Program.quality`); the value and the bound of a
  mixed-integer program agree.
* INFEASIBLE: a ray proves it in exact arithmetic (`proof.refutes`); for a mixed-integer program
  that of its relaxation, a common divisor, or a small tree of such rays.
* UNBOUNDED: there is a feasible point, and a direction that is proved (`proof.recedes`).
* LIMIT, INTERRUPTED: with a point that is feasible by our arithmetic, or without any.
* FAILED: everything else. That HiGHS says the same thing twice proves nothing.

What is not settled is asked again: without presolve, in other units, and of an infeasible program
by the elastic program, whose multipliers are a ray.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.solver.basis import SimplexBasis
from iirl_opt.solver.call import RANGE, Said, Start, call, left, objective_scale
from iirl_opt.solver.farkas import no_common_divisor, recedes, refutes
from iirl_opt.solver.program import ACCEPTED, DUST, FLOOR, Program, Quality
from iirl_opt.solver.rays import elastic_ray, strict_ray
from iirl_opt.solver.records import HiGHS, Status
from iirl_opt.solver.scaling import Scaling, in_range

__all__ = ["PLAIN", "Settlement", "Unit", "judge", "settle"]

Array = NDArray[np.float64]

LIMITS = {
    "kTimeLimit",
    "kIterationLimit",
    "kSolutionLimit",
    "kObjectiveBound",
    "kObjectiveTarget",
    "kInterrupt",
}

# The run whose statuses are the most reliable.
PLAIN: dict[str, Any] = {
    "presolve": "off",
    "solver": "choose",
    "allow_unbounded_or_infeasible": False,
}

# A reduced cost of this size, HiGHS sees.
SEEN = 1e-6

# Branches of the tree that proves that no whole point exists, and nonzeros it may run through.
BRANCHES, WORK = 300, 3_000_000


@dataclass(frozen=True, eq=False)
class Settlement:
    """What is known of a program, in its own units.

    Attributes
    ----------
    status : settled.
    said : what HiGHS said last, in its own word.
    x, y : a point that counts, and multipliers of the rows where they do.
    ray : the Farkas ray that was proved.
    quality : of point and multipliers.
    bound : HiGHS's bound on the value of a mixed-integer program (its word); −∞ for none yet.
    note : why it failed, where that has a name.
    cause : what a signal raised meanwhile.
    """

    status: Status
    said: str = ""
    x: Array | None = None
    y: Array | None = None
    ray: Array | None = None
    quality: Quality | None = None
    bound: float | None = None
    iterations: int = 0
    note: str = ""
    cause: BaseException | None = None

    @property
    def final(self) -> bool:
        """Whether asking again would bring nothing."""
        return self.status is not Status.FAILED

    @property
    def excused(self) -> bool:
        """Whether it is an optimum by multipliers that are small beside the largest cost alone."""
        return bool(self.status is Status.OPTIMAL and self.quality and self.quality.excused)


@dataclass(frozen=True, eq=False)
class Unit:
    """A program in the units of a scaling."""

    program: Program
    scaling: Scaling
    scaled: Program

    @classmethod
    def plain(cls, program: Program) -> Unit:
        """Return the program in its own units."""
        return cls(program, Scaling.none(program), program)

    @classmethod
    def choices(cls, program: Program) -> Iterator[Unit]:
        """Yield the program in the units that suit it, then in others.

        Its own units come first where its numbers are moderate, and not at all where they are not.
        """
        if in_range(program):
            yield cls.plain(program)
        scaling = Scaling.of(program)
        scaled = scaling.apply(program)
        if scaled is not None:
            yield cls(program, scaling, scaled)

    def quality(self, x: Array, y: Array | None) -> Quality:
        """Judge an answer, given in the scaled units, on the program's own data.

        The residuals are those of the program; what they are relative to is its local scale.
        """
        plain = self.scaled is self.program
        floor = FLOOR if plain else 0.0
        if y is None:
            local = self.scaled.point_quality(x, floor)
        else:
            local = self.scaled.quality(x, y, floor)
        if plain:
            return local
        own = self.scaling.point(x)
        if not np.array_equal(self.scaling.scaled_point(own), x):
            return Quality(local.residuals, np.inf)
        if y is None:
            return Quality(self.program.point_quality(own).residuals, local.relative)
        judged = self.program.quality(own, self.scaling.multipliers(y))
        return Quality(judged.residuals, local.relative, local.excused)

    def best(self, x: Array, y: Array | None) -> tuple[Quality, Array, Array | None]:
        """Judge an answer, and without a solver's noise where it does not count with it."""
        quality = self.quality(x, y)
        if quality.accepted or self.scaled is self.program:
            return quality, x, y
        unit = self.scaled.largest_cost or 1.0
        clean = None if y is None else np.where(np.abs(y) <= DUST * unit, 0.0, y)
        again = self.quality(self.scaled.cleaned(x), clean)
        return (again, self.scaled.cleaned(x), clean) if again.accepted else (quality, x, y)


def settle(
    program: Program,
    solver: HiGHS,
    *,
    start: Start = None,
    first: Settlement | None = None,
) -> Settlement:
    """Ask HiGHS about a program until the answer is settled, or nothing more is to be tried.

    Parameters
    ----------
    start : a point with which a mixed-integer program begins, or a basis of a linear one.
    first : what an earlier run brought, and was not enough.

    **Cost** one program; some more where the first answer is no proof.
    """
    options = solver.arguments()["highs_options"]
    deadline = None if solver.time_limit is None else time.perf_counter() + solver.time_limit
    inquiry = _Inquiry(options, deadline)
    answer = inquiry.ask(program, start, first)
    return replace(answer, iterations=inquiry.iterations)


class _Inquiry:
    """The runs about one program, within one time limit."""

    def __init__(self, options: Mapping[str, Any], deadline: float | None) -> None:
        self.options, self.deadline = options, deadline
        self.iterations = 0

    def ask(self, program: Program, start: Start, first: Settlement | None) -> Settlement:
        """Try units and options in turn, each time looking for a proof of what was said."""
        if _crossed(program):
            return Settlement(Status.INFEASIBLE, "kInfeasible")
        answer, basis = first, isinstance(start, SimplexBasis)
        excused: Settlement | None = None
        for unit in Unit.choices(program):
            # What was said in the units that suit the program is proved before others are tried.
            said: set[str] = set()
            if answer is None or answer is not first:
                answer = self.once(unit, {}, start)
            said.add(answer.said)
            if not answer.final:
                answer = self.once(unit, PLAIN, None if basis else start)
                said.add(answer.said)
            if basis and not answer.final and said == {"kUnknown"}:
                # From a basis HiGHS does not presolve, which is what finds some rows contradictory.
                answer = self.once(unit, {})
                said.add(answer.said)
            answer = answer if answer.final else self.proved(unit, said) or answer
            if answer.excused:
                excused = excused or answer
                answer = self.sharper(unit, answer)
            if answer.final:
                break
            first = None
        if excused is not None and answer is not None and not answer.final:
            return excused
        if answer is None:
            note = "its numbers are too far apart for the range of floats, in any units"
            return Settlement(Status.FAILED, note=note)
        return answer

    def sharper(self, unit: Unit, answer: Settlement) -> Settlement:
        """Ask again with an objective so large that what an optimum's multipliers lack counts.

        HiGHS's tolerances are absolute: a cost below them may speak of what is far out, or without
        end.
        """
        assert answer.quality is not None
        power = int(np.ceil(np.log2(SEEN / answer.quality.excused)))
        options = dict(self.options) | {"user_objective_scale": power}
        again = _Inquiry(options, self.deadline)
        found = again.once(unit, PLAIN)
        if not found.final:
            found = again.proved(unit, {found.said}) or found
        self.iterations += again.iterations
        return replace(found, status=Status.FAILED) if found.excused else found

    def once(self, unit: Unit, change: Mapping[str, Any], start: Start = None) -> Settlement:
        """Run HiGHS once and judge what it says."""
        options = RANGE | objective_scale(unit.scaled) | dict(self.options) | dict(change)
        begin = start
        if not (begin is None or isinstance(begin, SimplexBasis)):
            begin = unit.scaling.scaled_point(begin)
        said = call(unit.scaled, options | left(self.deadline), begin)
        self.iterations += said.iterations
        answer = judge(unit, said, options)
        if not answer.final and not answer.note:
            return replace(answer, note=_out_of_range(unit.scaled))
        return answer

    def proved(self, unit: Unit, said: set[str]) -> Settlement | None:
        """Look for a proof that the program has no point, or no bound, where it may be so."""
        # Of a program without a point HiGHS sometimes says that it does not know.
        none, open_ = bool({"kInfeasible", "kUnknown"} & said), "kUnbounded" in said
        if "kUnboundedOrInfeasible" in said:
            none = open_ = True
        answer = self.nothing(unit) if none else None
        if answer is None and open_:
            answer = self.falling(unit)
        return answer

    def nothing(self, unit: Unit) -> Settlement | None:
        """Prove that a program has no point."""
        program = unit.scaled
        if not program.whole.any() and program.curved is None:
            return self.elastic(unit)
        answer = self.relaxed(unit)
        if answer is not None and answer.status is Status.INFEASIBLE:
            # The ray is the relaxation's; a mixed-integer program has no multipliers of its own.
            return replace(answer, ray=None) if program.whole.any() else answer
        if not program.whole.any():
            return answer if answer is not None and answer.status is not Status.OPTIMAL else None
        if no_common_divisor(program) or self.no_whole_point(program):
            return Settlement(Status.INFEASIBLE, "kInfeasible")
        return None

    def relaxed(self, unit: Unit) -> Settlement | None:
        """Ask for any point of the relaxation: no costs, no curvature, no whole numbers."""
        n = unit.scaled.shape[1]
        alone = replace(unit.scaled, cost=np.zeros(n), curved=None, whole=np.zeros(n, dtype=bool))
        return self.of_part(unit, self.inner(alone))

    def inner(self, program: Program) -> Settlement:
        """Ask about a program that serves a proof; what is said of it is not asked about again."""
        unit = Unit.plain(program)
        answer = Settlement(Status.FAILED)
        for change in ({}, PLAIN):
            answer = self.once(unit, change)
            if answer.final:
                return answer
        if answer.said == "kInfeasible" and not program.whole.any() and program.curved is None:
            return self.elastic(unit) or answer
        return answer

    def of_part(self, unit: Unit, answer: Settlement) -> Settlement | None:
        """Return an answer of a part's program, where it settles the whole, in its own units."""
        if answer.status in (Status.LIMIT, Status.INTERRUPTED):
            return Settlement(answer.status, answer.said, cause=answer.cause)
        if answer.status is Status.INFEASIBLE:
            ray = None if answer.ray is None else unit.scaling.multipliers(answer.ray)
            return Settlement(Status.INFEASIBLE, answer.said, ray=ray)
        return answer if answer.status is Status.OPTIMAL else None

    def elastic(self, unit: Unit) -> Settlement | None:
        """Find a ray by programs that have a point in any case: by a margin, then by giving way."""
        program = unit.scaled
        if not program.shape[0]:
            return None
        stopped: list[Said] = []

        def ask(asked: Program) -> Said:
            options = RANGE | dict(self.options) | PLAIN
            said = call(asked, options | left(self.deadline))
            self.iterations += said.iterations
            if said.stopped.cause is not None:
                stopped.append(said)
            return said

        for find in (strict_ray, elastic_ray):
            ray = find(program, ask)
            if stopped:
                said = stopped[0]
                return Settlement(Status.INTERRUPTED, said.status, cause=said.stopped.cause)
            proved = None if ray is None else refutes(program, ray)
            if proved is not None:
                back = unit.scaling.multipliers(proved)
                return Settlement(Status.INFEASIBLE, "kInfeasible", ray=back)
        return None

    def falling(self, unit: Unit) -> Settlement | None:
        """Prove that an objective has no bound: a feasible point, and a direction that falls."""
        program, n = unit.scaled, unit.scaled.shape[1]
        point = self.of_part(unit, self.inner(replace(program, cost=np.zeros(n), curved=None)))
        if point is None or point.status is not Status.OPTIMAL:
            return point
        rows = [program.matrix]
        sides = [_recession(program.row_lower, program.row_upper)]
        if program.curved is not None:
            rows.append(program.curved)
            sides.append((np.zeros(n), np.zeros(n)))
        lower, upper = _recession(program.lower, program.upper)
        cone = Program(
            cost=program.cost,
            matrix=sp.vstack(rows, format="csc"),
            row_lower=np.concatenate([side[0] for side in sides]),
            row_upper=np.concatenate([side[1] for side in sides]),
            lower=np.maximum(lower, -1.0),
            upper=np.minimum(upper, 1.0),
            whole=np.zeros(n, dtype=bool),
        )
        steepest = self.inner(cone)
        if steepest.x is not None and recedes(program, steepest.x):
            return Settlement(Status.UNBOUNDED, "kUnbounded")
        return None

    def no_whole_point(self, program: Program) -> bool:
        """Prove by a small tree of relaxations that a mixed-integer program has no point."""
        relaxed = replace(
            program,
            cost=np.zeros_like(program.cost),
            curved=None,
            whole=np.zeros_like(program.whole),
        )
        budget = min(BRANCHES, WORK // max(program.matrix.nnz, 1))
        open_ = [(program.lower, program.upper)]
        for _ in range(budget):
            if not open_:
                return True
            lower, upper = open_.pop()
            node = replace(relaxed, lower=lower, upper=upper)
            if np.any(lower > upper):
                continue
            answer = self.inner(node)
            if answer.status is Status.INFEASIBLE:
                continue
            if answer.x is None or answer.status is not Status.OPTIMAL:
                return False
            fraction = np.where(program.whole, np.abs(answer.x - np.round(answer.x)), 0.0)
            j = int(fraction.argmax())
            if fraction[j] <= ACCEPTED:
                return False
            below, above = upper.copy(), lower.copy()
            below[j], above[j] = np.floor(answer.x[j]), np.ceil(answer.x[j])
            open_ += [(lower, below), (above, upper)]
        return not open_


def judge(unit: Unit, said: Said, options: Mapping[str, Any]) -> Settlement:
    """Return what a run settles by itself."""
    program, word = unit.scaled, said.status
    bound = said.bound if program.whole.any() else None
    if word == "kInfeasible" and said.ray is not None and program.curved is None:
        ray = None if program.whole.any() else refutes(program, said.ray)
        if ray is not None:
            return Settlement(Status.INFEASIBLE, word, ray=unit.scaling.multipliers(ray))
    if word in ("kOptimal", "kUnknown") and said.x is not None:
        y = None if program.whole.any() else said.y
        if y is None and not program.whole.any():
            return Settlement(Status.FAILED, word)
        quality, x, y = unit.best(said.x, y)
        agreed = bound is None or (word == "kOptimal" and _agrees(program, x, bound, options))
        status = Status.OPTIMAL if quality.accepted and agreed else Status.FAILED
        return _with_point(unit, said, status, quality, x, y)
    ended = said.stopped.cause is not None
    if ended or word in LIMITS:
        status = Status.INTERRUPTED if ended else Status.LIMIT
        usable = said.feasible and said.x is not None
        if usable and said.x is not None:
            found, x, _ = unit.best(said.x, None)
            if found.accepted:
                return _with_point(unit, said, status, found, x, None)
        return Settlement(status, word, cause=said.stopped.cause)
    return Settlement(Status.FAILED, word)


def _with_point(
    unit: Unit, said: Said, status: Status, quality: Quality, x: Array, y: Array | None
) -> Settlement:
    bound = None
    if unit.scaled.whole.any() and not np.isnan(said.bound):
        bound = float(np.ldexp(said.bound, -int(unit.scaling.goal[0])))
    if unit.scaled is not unit.program:
        x, y = unit.scaling.point(x), None if y is None else unit.scaling.multipliers(y)
    return Settlement(
        status,
        said.status,
        x,
        y,
        None,
        quality,
        bound,
        cause=said.stopped.cause,
    )


def _agrees(program: Program, x: Array, bound: float, options: Mapping[str, Any]) -> bool:
    """Return whether HiGHS's bound on a minimum is what it should be beside the value at x."""
    value = program.value(x)
    unit = program.largest_cost
    share = float(options.get("mip_rel_gap", 1e-4))
    flat = float(options.get("mip_abs_gap", 1e-6)) * 2.0 ** -options.get("user_objective_scale", 0)
    allowed = max(1.01 * share * abs(value), flat) + ACCEPTED * max(abs(value), unit)
    return bool(abs(value - bound) <= allowed)


def _crossed(program: Program) -> bool:
    """Return whether two bounds of one row or variable contradict each other."""
    columns = program.columns.crossed(program.whole)
    return bool(np.any(columns) or np.any(program.row_lower > program.row_upper))


def _recession(low: Array, high: Array) -> tuple[Array, Array]:
    """Return the bounds of a direction along which bounds of a point are never met."""
    return np.where(np.isinf(low), -np.inf, 0.0), np.where(np.isinf(high), np.inf, 0.0)


def _out_of_range(program: Program) -> str:
    """Name a coefficient that no scaling brought into HiGHS's range."""
    sizes = np.abs(program.matrix.data)
    small = np.flatnonzero((sizes > 0) & (sizes <= RANGE["small_matrix_value"]))
    if not small.size:
        return ""
    k = int(small[0])
    column = int(np.searchsorted(program.matrix.indptr, k, side="right")) - 1
    return (
        f"the coefficient of row {int(program.matrix.indices[k])}, column {column} is "
        f"{sizes[k]:.1e} times the largest near it, below what HiGHS keeps"
    )
