"""What a solver call is asked by and what it brings: solvers, statuses, residuals, the record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from enum import Enum
from functools import cache
from typing import Any, Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from iirl_opt.brief import in_brief, with_advice
from iirl_opt.checks import (
    FLAG,
    MAPPING,
    TEXT,
    TIME_LIMIT,
    between,
    checked,
    one_of,
    refuse,
)
from iirl_opt.errors import InvalidArgument
from iirl_opt.printing.records import Tabular, with_html
from iirl_opt.printing.table import FactTable

__all__ = [
    "Clarabel",
    "ConflictingRow",
    "HiGHS",
    "Named",
    "Residuals",
    "Solved",
    "Solver",
    "Status",
]

Array = NDArray[np.float64]


class Status(Enum):
    """How a solver call ended; the value of each member is advice.

    Examples
    --------
    >>> [status.name for status in Status]
    ['OPTIMAL', 'INFEASIBLE', 'UNBOUNDED', 'LIMIT', 'INTERRUPTED', 'FAILED']
    >>> Status.LIMIT.advice
    'A time or iteration limit came first: raise it, or use `value` and `bound` as they are.'
    """

    __repr__ = with_advice

    OPTIMAL = "An optimum within the tolerances: see the residuals."
    INFEASIBLE = (
        "No point meets all constraints. The Farkas ray in `farkas`, where there is one, names "
        "constraints that contradict each other: drop or relax one of those."
    )
    UNBOUNDED = (
        "The objective has no bound over the constraints: bound the variables. A cone of rewards "
        "needs a simplex or a box."
    )
    LIMIT = (
        "A time or iteration limit came first: raise it, or use `value` and `bound` as they are."
    )
    INTERRUPTED = (
        "Ctrl-C came first: `value` and `bound` are what was found until then, if anything."
    )
    FAILED = (
        "The solver gave up, or what it said failed our own check: see `said` and `note`; rescale "
        "the data, loosen the tolerance, or try another method or solver."
    )

    @property
    def advice(self) -> str:
        """What the status means and what to do next."""
        return self.value


class Solver(Protocol):
    """What `solve` needs to know of a solver: its cvxpy name and its arguments there.

    Examples
    --------
    >>> class Patient:
    ...     name = "HIGHS"
    ...     def arguments(self):
    ...         return {"time_limit": 3600.0}
    >>> import cvxpy as cp
    >>> from iirl_opt.solver import solve
    >>> x = cp.Variable(name="x")
    >>> round(solve(cp.Problem(cp.Minimize(x), [x >= 1]), Patient()).value, 6)
    1.0
    """

    @property
    def name(self) -> str:
        """The name under which cvxpy knows the solver."""
        ...

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments that cvxpy passes to the solver."""
        ...


@checked(
    method=one_of("choose", "simplex", "ipm", "pdlp"),
    tolerance=between(1e-10, 1e-1),
    time_limit=TIME_LIMIT,
    presolve=FLAG,
    options=MAPPING,
)
@dataclass(frozen=True)
class HiGHS:
    """HiGHS: linear, mixed-integer and convex quadratic programs.

    Parameters
    ----------
    method : ``"choose"`` (dual simplex), ``"simplex"``, ``"ipm"`` or ``"pdlp"``.
    tolerance : primal and dual feasibility, absolute (the dual one once a very large or small
        objective is scaled), and the relative gap of mixed-integer programs; 1e-10 … 1e-1. The
        default is tighter than HiGHS's own 1e-7, at which thin feasible sets gave objectives off by
        1e-4, and than its gap of 1e-4.
    time_limit : seconds ≥ 0, or None.
    presolve : whether HiGHS may simplify the program first.
    options : further HiGHS options by name.

    Examples
    --------
    >>> HiGHS(method="ipm", time_limit=60).arguments()["highs_options"]["solver"]
    'ipm'
    """

    method: Literal["choose", "simplex", "ipm", "pdlp"] = "choose"
    tolerance: float = 1e-9
    time_limit: float | None = None
    presolve: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)
    name: str = field(default="HIGHS", init=False)

    __repr__ = in_brief

    def arguments(self) -> dict[str, Any]:
        """Return the HiGHS options as cvxpy takes them."""
        options = {
            "solver": self.method,
            "primal_feasibility_tolerance": self.tolerance,
            "dual_feasibility_tolerance": self.tolerance,
            "mip_rel_gap": self.tolerance,
            "output_flag": False,
            "presolve": "on" if self.presolve else "off",
        }
        if self.time_limit is not None:
            options["time_limit"] = float(self.time_limit)
        return {"highs_options": options | dict(self.options)}


@checked(tolerance=between(0, 1, "()"), time_limit=TIME_LIMIT, options=MAPPING)
@dataclass(frozen=True)
class Clarabel:
    """Clarabel: conic programs (entropies, norms, semidefinite) by an interior-point method.

    Parameters
    ----------
    tolerance : relative and absolute gap and feasibility, > 0.
    time_limit : seconds ≥ 0, or None.
    options : further Clarabel settings by name.

    Examples
    --------
    >>> Clarabel(tolerance=1e-7).arguments()
    {'tol_gap_abs': 1e-07, 'tol_gap_rel': 1e-07, 'tol_feas': 1e-07}
    """

    tolerance: float = 1e-9
    time_limit: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    name: str = field(default="CLARABEL", init=False)

    __repr__ = in_brief

    def arguments(self) -> dict[str, Any]:
        """Return the Clarabel settings as cvxpy takes them."""
        limit = {} if self.time_limit is None else {"time_limit": float(self.time_limit)}
        tolerances = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), self.tolerance)
        return tolerances | limit | dict(self.options)


@checked(name=TEXT, options=MAPPING)
@dataclass(frozen=True)
class Named:
    """Any other solver that cvxpy has, by its cvxpy name, with options passed on as they are.

    Examples
    --------
    >>> Named("SCS", {"eps_abs": 1e-6}).arguments()
    {'eps_abs': 1e-06}
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    __repr__ = in_brief

    def arguments(self) -> dict[str, Any]:
        """Return the options as given."""
        return dict(self.options)


def SOLVER(name: str, value: Any) -> Solver:
    """Return a solver that is installed, or the one that a text names, upper case or lower."""
    chosen = _called(value) if isinstance(value, str) else value
    called = getattr(chosen, "name", None)
    if (
        isinstance(chosen, type)
        or not isinstance(called, str)
        or not callable(getattr(chosen, "arguments", None))
    ):
        raise refuse(name, value, _allowed(called))
    if not isinstance(chosen, HiGHS | Clarabel) and called not in _installed():
        what = f"is {called!r}, which is not installed"
        raise InvalidArgument(name, what, _allowed(called), value)
    return cast(Solver, chosen)


def HIGHS(name: str, value: Any) -> HiGHS:
    """Return HiGHS, the only solver that begins where it ended, or ``"highs"``."""
    chosen = _called(value) if isinstance(value, str) else value
    if not isinstance(chosen, HiGHS):
        raise refuse(name, value, "HiGHS(), or its name")
    return chosen


def _called(name: str) -> Solver:
    known: dict[str, Solver] = {"HIGHS": HiGHS(), "CLARABEL": Clarabel()}
    return known.get(name.upper()) or Named(name.upper())


@cache
def _installed() -> tuple[str, ...]:
    from cvxpy import installed_solvers

    return tuple(installed_solvers())


def _allowed(called: object) -> str:
    """Say what a solver may be, the nearest names first, equally near ones by the alphabet."""
    wanted = called.upper() if isinstance(called, str) else ""
    known = sorted(_installed())
    near = sorted(known, key=lambda name: -SequenceMatcher(None, wanted, name).ratio())
    return f"a name among {', '.join(near)}, or HiGHS(...), Clarabel(...), Named(...)"


@dataclass(frozen=True)
class Residuals:
    """How well an answer meets the optimality conditions, computed by us from its numbers.

    All are absolute and in the units of the compiled program; the last three are None for
    mixed-integer programs, which have no duals, and for cones that a `Named` solver was given:
    then the point was checked, and that nothing is better is the solver's word.

    Attributes
    ----------
    primal : largest violation of a constraint, a bound or integrality.
    dual : largest violation of stationarity or of a multiplier's sign.
    complementarity : largest product of a multiplier and its slack.
    gap : difference of the primal and the dual objective.

    Examples
    --------
    >>> import cvxpy as cp
    >>> from iirl_opt.solver import solve
    >>> x = cp.Variable(name="x")
    >>> found = solve(cp.Problem(cp.Minimize(x), [x >= 1])).residuals
    >>> found.primal, found.largest() <= 1e-9
    (0.0, True)
    """

    primal: float
    dual: float | None = None
    complementarity: float | None = None
    gap: float | None = None

    def largest(self) -> float:
        """Return the largest of the residuals that are known."""
        parts = (self.primal, self.dual, self.complementarity, self.gap)
        return max(part for part in parts if part is not None)


@dataclass(frozen=True)
class ConflictingRow:
    """A row that a proof of infeasibility uses.

    Attributes
    ----------
    label : of the constraint; its text where it has none.
    index : of the row in the constraint's shape; () of a scalar.
    multiplier : of the row in the proof, in cvxpy's sign: ≥ 0 for inequalities; 0 where no ray is
        the proof.
    about : what the row speaks of, where its model says so: ``s='goal', b='go'``.

    Examples
    --------
    >>> row = ConflictingRow("optimal", (3,), 0.5, about="s='goal', b='go'")
    >>> row.name, str(row)
    ("optimal at s='goal', b='go'", "optimal at s='goal', b='go' × 0.5")
    """

    label: str
    index: tuple[int, ...]
    multiplier: float
    about: str = ""

    __repr__ = in_brief

    _repr_html_ = with_html

    @property
    def name(self) -> str:
        """The row in words: ``optimal[3] at s='goal', b='go'``, or ``cap[5]``."""
        if self.about:
            return f"{self.label} at {self.about}"
        return f"{self.label}{list(self.index)}" if self.index else self.label

    def __str__(self) -> str:
        return f"{self.name} × {self.multiplier:.3g}" if self.multiplier else self.name


@dataclass(frozen=True, eq=False)
class Solved(Tabular):
    """What a solver call brought; nothing is stored on the problem but the variables' values.

    Attributes
    ----------
    status : how it ended, with advice.
    value : the objective at the returned point, or None without a point.
    primal : values by variable name.
    duals : multipliers by constraint name (its label where set), in cvxpy's sign: ≥ 0 for
        inequalities. Empty for mixed-integer programs.
    farkas : for an infeasible linear program a ray by constraint name that proves it, checked by
        us: the same combination of the constraints has no solution. None where none was found.
    residuals : recomputed by us; None without a point.
    bound : for mixed-integer programs the solver's bound on the optimal value (its word, not ours);
        of a program that planning solved, a proved one.
    solver, version, options : what ran.
    compile_seconds, seconds : in cvxpy, and in the solver (all runs).
    iterations : of the solver.
    said : the solver's own word for how it ended, last asked. No proof of anything: of a program
        whose status is FAILED it may be that there is no point.
    note : what went wrong, where it has a name; of an optimum, what is the solver's word alone.
    contradicting : of `farkas`, the rows with the largest multipliers, the largest first; those
        that only say what a variable means (``flow``, ``values``) after one's own.
    n_contradicting : how many rows have one. For a smallest set of them ask `explain`.

    Examples
    --------
    >>> import cvxpy as cp
    >>> from iirl_opt.solver import solve
    >>> x = cp.Variable(name="x")
    >>> clash = [(x >= 1).set_label("low"), (x <= 0).set_label("high")]
    >>> solved = solve(cp.Problem(cp.Minimize(x), clash), throw=False)
    >>> solved.status.name, solved.value, sorted(solved.farkas)
    ('INFEASIBLE', None, ['high', 'low'])
    """

    status: Status
    value: float | None
    primal: Mapping[str, Array]
    duals: Mapping[str, Array]
    farkas: Mapping[str, Array] | None
    residuals: Residuals | None
    bound: float | None
    solver: str
    version: str
    options: Mapping[str, Any]
    compile_seconds: float
    seconds: float
    iterations: int
    said: str = ""
    note: str = ""
    contradicting: tuple[ConflictingRow, ...] = ()
    n_contradicting: int = 0

    def __repr__(self) -> str:
        found = self.residuals
        kind = "residuals" if found is None or found.gap is not None else "primal residuals"
        residual = "" if found is None else f", {kind} ≤ {found.largest():.1e}"
        value = "" if self.value is None else f", value {self.value:.9g}"
        return (
            f"Solved({self.status.name}{value}{residual}, {self.solver} {self.version}, "
            f"{self.iterations} iterations, {self.seconds:.3g} s)"
        )

    def table(self) -> FactTable:
        """Return one row: how it ended, the residuals that we computed, and what ran."""
        found = {} if self.residuals is None else self.residuals.__dict__
        facts = {
            "status": self.status,
            "value": self.value,
            "bound": self.bound,
            **{f"{name} residual": size for name, size in found.items()},
            "solver": f"{self.solver} {self.version}",
            "iterations": self.iterations,
            "seconds": self.seconds,
            "advice": self.status.value,
            "note": self.note or None,
        }
        return FactTable([facts], "Solved")
