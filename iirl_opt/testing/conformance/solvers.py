"""What a solver promises (`iirl_opt.solver.Solver`), tried on programs whose answers are known.

A solver is a name and options, which `iirl_opt.solve` hands to cvxpy; what it brings is judged
here by closed forms, by the optimality conditions, and for small linear programs by listing all
vertices in exact numbers. Of programs that are not linear it is tried on those that cvxpy lets it
take.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import cvxpy as cp
import numpy as np

from iirl_opt.checks import POSITIVE, checked, each, has, one_of, optional
from iirl_opt.errors import SolverProblem
from iirl_opt.solver.door import solve
from iirl_opt.solver.records import Solved, Solver, Status
from iirl_opt.testing.assertions import assert_kkt
from iirl_opt.testing.conformance.programs import (
    KNOWN,
    PROGRAM_KINDS,
    SMALL_COSTS,
    Answered,
    ProgramKind,
    crossing_rows,
    market_split,
)
from iirl_opt.testing.conformance.promises import Promises, agree, flags, require, suite_settings
from iirl_opt.testing.distributions import given, st

__all__ = ["check_solver"]

# Whether it is installed is a promise, not a condition.
A_SOLVER = has("name", "arguments", what="a solver such as HiGHS()")


@checked(
    solver=A_SOLVER,
    solves=each(one_of(*PROGRAM_KINDS)),
    limited=optional(A_SOLVER),
    tolerance=POSITIVE,
)
def check_solver(
    solver: Solver,
    *,
    solves: Iterable[ProgramKind] = ("linear",),
    limited: Solver | None = None,
    tolerance: float = 1e-5,
    pickles: bool = True,
) -> None:
    """Try what a solver promises on programs whose answers are known; fail with what broke.

    Every solver promises: the name of a solver that cvxpy has; options that are the same whenever
    they are asked for, in a dictionary that is the caller's own; that a pickled copy has the same;
    that the record says what ran, with these options. And on each program: the optimum, at a point
    and with multipliers, by the names of the constraints, that prove each other (`assert_kkt`);
    INFEASIBLE where no point is, with a ray that names the rows that contradict each other, and
    UNBOUNDED where there is no bound, never one of the other words, and the error that belongs to
    it; the same answer when the objective is in other units, and where those are far from one, or
    a small cost speaks of what is far out, the optimum or FAILED; values left in the variables.

    Parameters
    ----------
    solver : any object of the protocol `Solver`.
    solves : the kinds of programs that it must solve: ``"linear"``, ``"quadratic"``,
        ``"mixed-integer"``, ``"second-order"`` (cones), ``"entropy"`` (exponential cones). It is
        tried on the others, too, as far as cvxpy takes them to it; there it may give up (FAILED).
    limited : the solver with a limit that comes before any answer, such as
        ``HiGHS(time_limit=0)``: what stops early is never called an optimum.
    tolerance : of values and conditions, relative to one plus their size.
    pickles : whether it can be pickled, as runs in several processes need.

    Raises
    ------
    AssertionError
        A promise is broken: names it, what was found, and the program.
    InvalidArgument

    **Cost** some twenty small programs, and two an example.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> check_solver(iirl.HiGHS(), solves=("linear", "quadratic", "mixed-integer"))
    """
    __tracebackhide__ = True
    flags(pickles=pickles)
    suite = _SolverSuite(solver, tolerance)
    suite.says_what_it_is(pickles)
    if limited is not None:
        suite.stops(limited)
    for known in KNOWN:
        suite.try_known(known, must=known.kind in solves)
    suite.counts_in_any_units()
    tried = given(data=st.data())(suite.try_instance)
    suite.promises.run(suite_settings()(tried))


def _taken(problem: cp.Problem, solver: Solver) -> bool:
    """Return whether cvxpy takes a program to a solver at all."""
    try:
        problem.get_problem_data(solver.name)
    except cp.error.SolverError:
        return False
    return True


@dataclass(frozen=True)
class _SolverSuite:
    """The promises of one solver."""

    solver: Solver
    tolerance: float

    @property
    def promises(self) -> Promises:
        return Promises("Solver", self.solver)

    def says_what_it_is(self, pickles: bool) -> None:
        """Try name and options, before anything is solved."""
        __tracebackhide__ = True
        with self.promises.keeps("`name` is that of a solver that cvxpy has"):
            known = cp.installed_solvers()
            if self.solver.name not in known:
                raise AssertionError(f"it is {self.solver.name!r}; cvxpy has {', '.join(known)}")
        with self.promises.keeps("`arguments()` is a dictionary of options by name"):
            first = self.solver.arguments()
            if not isinstance(first, dict) or not all(isinstance(key, str) for key in first):
                raise AssertionError(f"it is {first!r}")
        with self.promises.keeps("`arguments()` is the same whenever it is asked for"):
            kept = pickle.loads(pickle.dumps(first))
            first.clear()
            if (again := self.solver.arguments()) != kept:
                raise AssertionError(f"at first {kept}, then {again}, the caller wrote into it")
        if pickles:
            with self.promises.keeps("a pickled copy has its name and options"):
                copy = pickle.loads(pickle.dumps(self.solver))
                found = copy.name, copy.arguments()
                if found != (self.solver.name, self.solver.arguments()):
                    raise AssertionError(f"it has {found}")

    def try_known(self, known: Answered, *, must: bool) -> None:
        """Try one program with a known answer."""
        __tracebackhide__ = True
        problem = known.make()
        if not must and not _taken(problem, self.solver):
            return
        solved = self._ends(known.title, problem, known.status, must=must)
        if solved is None:
            return
        if known.status is Status.OPTIMAL:
            assert known.value is not None
            self._is_optimum(known.title, problem, solved, known.value, known.kind)
            if known.point is not None:
                # An objective that is flat near its optimum tells the point by its square root.
                near = self.tolerance if known.kind == "linear" else self.tolerance**0.5
                with self.promises.keeps(f"{known.title}: the only optimal point is found"):
                    agree(solved.primal["x"], known.point, ("found", "optimal"), near)
            for name, dual in known.duals.items():
                with self.promises.keeps(f"{known.title}: the multiplier of {name} is found"):
                    agree(solved.duals[name], dual, ("found", "right"), self.tolerance**0.5)
        if known.ray:
            self._proves(known, solved)

    def _ends(
        self, title: str, problem: cp.Problem, status: Status, *, must: bool = True
    ) -> Solved | None:
        """Try that a program ends as it must, and that the record says so; None if it may fail."""
        __tracebackhide__ = True
        with self.promises.keeps(f"{title}: ends with {status.name}"):
            solved = solve(problem, self.solver, throw=False)
            if solved.status is Status.FAILED and not must:
                return None
            if solved.status is not status:
                said = f", the solver said {solved.said!r}" if solved.said else ""
                raise AssertionError(f"it ended with {solved!r}{said}")
            if status is not Status.OPTIMAL and solved.value is not None:
                raise AssertionError(f"it has the value {solved.value:g} nevertheless")
        with self.promises.keeps("the record says what ran, with its options"):
            if solved.solver != self.solver.name:
                raise AssertionError(f"it says {solved.solver}")
            for place, option in _leaves(self.solver.arguments()):
                if (there := dict(_leaves(solved.options)).get(place)) != option:
                    raise AssertionError(f"{'.'.join(place)} is {option!r}, and {there!r} in it")
        return solved

    def _is_optimum(
        self, title: str, problem: cp.Problem, solved: Solved, value: float, kind: ProgramKind
    ) -> None:
        __tracebackhide__ = True
        with self.promises.keeps(f"{title}: the optimum is {value:g}"):
            assert solved.value is not None
            if not abs(solved.value - value) <= self.tolerance * (1 + abs(value)):
                raise AssertionError(f"it is said to be {solved.value:.12g}")
        with self.promises.keeps(f"{title}: a bound is no better than the optimum"):
            if solved.bound is not None:
                agree(solved.bound, value, ("the bound", "the optimum"), self.tolerance)
        with self.promises.keeps(f"{title}: multipliers stand under the names of the constraints"):
            names = {c.label for c in problem.constraints} if kind != "mixed-integer" else set()
            if set(solved.duals) != names:
                raise AssertionError(f"{sorted(solved.duals)}, not {sorted(names)}")
        if kind in ("linear", "quadratic"):
            with self.promises.keeps(f"{title}: point and multipliers prove each other optimal"):
                assert_kkt(problem, solved, tolerance=self.tolerance)

    def _proves(self, known: Answered, solved: Solved) -> None:
        __tracebackhide__ = True
        with self.promises.keeps(f"{known.title}: a ray names the rows that contradict each other"):
            ray = solved.farkas or {}
            if set(ray) != set(known.ray):
                raise AssertionError(f"it names {sorted(ray)}, not {sorted(known.ray)}")
            found = np.concatenate([np.ravel(ray[name]) for name in known.ray])
            wanted = np.concatenate([np.ravel(known.ray[name]) for name in known.ray])
            found = found / np.abs(found).sum() * np.abs(wanted).sum()
            if not np.allclose(found, wanted, atol=self.tolerance):
                raise AssertionError(f"it is {dict(ray)}")

    def stops(self, limited: Solver) -> None:
        """Try that a limit which comes first is no optimum."""
        __tracebackhide__ = True
        problem = market_split()
        problem = problem if _taken(problem, limited) else crossing_rows()
        with self.promises.keeps(f"what {limited!r} stops is a LIMIT, or FAILED as inaccurate"):
            solved = solve(problem, limited, throw=False)
            inaccurate = solved.status is Status.FAILED and "inaccurate" in solved.said
            require(solved.status is Status.LIMIT or inaccurate, f"it ended with {solved!r}")
            if solved.value is not None and solved.bound is not None:
                holds = solved.bound <= solved.value + self.tolerance
                require(holds, f"a minimum cannot be {solved.value}, with {solved.bound} below")

    def counts_in_any_units(self) -> None:
        """Try that a small unit, or a small cost far out, is no excuse for a wrong optimum.

        A solver whose tolerances are absolute may give up; the record then says FAILED.
        """
        __tracebackhide__ = True
        for cost, most, best in SMALL_COSTS:
            x = cp.Variable(2, name="x")
            rows = [(x >= 0).set_label("sign"), (x <= most).set_label("most")]
            solved = solve(
                cp.Problem(cp.Minimize(np.array(cost) @ x), rows), self.solver, throw=False
            )
            title = f"min {cost[0]:g}·x0 + {cost[1]:g}·x1, 0 ≤ x ≤ {most:g}"
            with self.promises.keeps(f"{title}: the optimum is {best:g}, or the status FAILED"):
                if solved.status is Status.OPTIMAL:
                    assert solved.value is not None
                    unit = max(map(abs, (*cost, best)))
                    right = abs(solved.value - best) <= self.tolerance * unit
                    require(right, f"it is said to be {solved.value:.12g}")
                    proved = solved.residuals is not None and solved.residuals.gap is not None
                    require(proved, "no multipliers prove it: the record has no gap")
                else:
                    require(solved.status is Status.FAILED, f"it ended with {solved!r}")

    def try_instance(self, data: st.DataObject) -> None:
        """Try a small linear program against the list of its vertices, and in other units."""
        __tracebackhide__ = True
        small = st.integers(-2, 2)
        rows = data.draw(st.lists(st.tuples(small, small, small), max_size=3), label="a, b ≤ c")
        cost = data.draw(st.tuples(small, small), label="cost")
        most = data.draw(st.sampled_from([3, None]), label="most")
        power = data.draw(st.sampled_from([0, 10, -10]), label="power of two")
        status, value = _by_vertices(rows, cost, most)
        x = cp.Variable(2, name="x")
        constraints = [(x >= 0).set_label("sign")]
        if rows:
            matrix, right = np.array(rows)[:, :2], np.array(rows)[:, 2]
            constraints.append((matrix @ x <= right).set_label("rows"))
        if most is not None:
            constraints.append((x <= most).set_label("most"))
        problem = cp.Problem(cp.Minimize(2.0**power * np.array(cost) @ x), constraints)
        title = "a small linear program"
        solved = self._ends(title, problem, status)
        if value is not None:
            goal, unit = float(value), 2.0**power
            with self.promises.keeps(f"{title}: the optimum is {goal:g} · 2^{power}"):
                assert solved is not None
                assert solved.value is not None
                if not abs(solved.value / unit - goal) <= self.tolerance * (1 + abs(goal)):
                    raise AssertionError(f"it is said to be {solved.value / unit:.12g} · 2^{power}")
            with self.promises.keeps(f"{title}: values stay in the variables"):
                if x.value is None or not np.array_equal(x.value, solved.primal["x"]):
                    raise AssertionError(f"{x.value}, and {solved.primal['x']} in the record")
        else:
            self._raises(problem, status)

    def _raises(self, problem: cp.Problem, status: Status) -> None:
        __tracebackhide__ = True
        with self.promises.keeps(f"without an optimum an error of the status {status.name}"):
            try:
                solve(problem, self.solver)
            except SolverProblem as error:
                if error.solved.status is not status:
                    raise AssertionError(f"it was {error.solved!r}") from None
            else:
                raise AssertionError("nothing was raised")


def _leaves(options: Mapping[str, Any], *place: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Return options with their places, those in dictionaries of options too."""
    for name, option in options.items():
        if isinstance(option, Mapping):
            yield from _leaves(option, *place, name)
        else:
            yield (*place, name), option


def _by_vertices(
    rows: list[tuple[int, int, int]], cost: tuple[int, int], most: int | None
) -> tuple[Status, Fraction | None]:
    """Return status and value of ``min cost·x, a·x ≤ c, 0 ≤ x ≤ most`` in two unknowns, exactly.

    The set has no line in it, so it has a point only if it has a vertex; and it has a bound
    only if no extreme ray of ``a·d ≤ 0, d ≥ 0`` leads down.
    """
    sides = [*rows, (-1, 0, 0), (0, -1, 0)]
    sides += [] if most is None else [(1, 0, most), (0, 1, most)]
    vertices = []
    for (a, b, right), (c, d, other) in combinations(sides, 2):
        if determinant := a * d - b * c:
            x = Fraction(right * d - b * other, determinant)
            y = Fraction(a * other - right * c, determinant)
            if all(p * x + q * y <= limit for p, q, limit in sides):
                vertices.append((x, y))
    if not vertices:
        return Status.INFEASIBLE, None
    rays = [sign for a, b, _ in sides for sign in ((-b, a), (b, -a))]
    for p, q in rays:
        if all(a * p + b * q <= 0 for a, b, _ in sides) and cost[0] * p + cost[1] * q < 0:
            return Status.UNBOUNDED, None
    return Status.OPTIMAL, min(Fraction(cost[0] * p + cost[1] * q) for p, q in vertices)
