"""A program as arrays, and how well a point and multipliers solve it.

    min c·x + ½ x'Px   with   row_lower ≤ A x ≤ row_upper,   lower ≤ x ≤ upper,   some x whole

Every number that a solver returns is judged here, on the data as given. What is accepted as an
optimum is relative to a *local* scale, so that the unit of a row, a variable or the objective
changes nothing:

* a row may be violated by `ACCEPTED` times ``‖a‖ + |b|``, its own coefficients and its own bound,
  and times ``Σ |a_j x_j| + |b|``, its terms, so that no huge coefficient of a zero excuses it,
* a variable may miss its bound by that share of ``1 + |bound|``,
* a reduced cost may have the wrong sign by that share of its own cost and column, and of its terms,
* the gap between both objectives may be that share of the value, or of the largest cost,

each in the units of the program's `Scaling`, which are one wherever its numbers are moderate, and
each beyond what rounding of the sums themselves explains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.solver.linear import column_bounds, row_bounds
from iirl_opt.solver.parts import Coefficients, Interval
from iirl_opt.solver.records import Residuals

__all__ = ["ACCEPTED", "DUST", "FLOOR", "Program", "Quality"]

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Recomputed residuals above this, each relative to the scale of what it speaks of, are no optimum.
ACCEPTED = 1e-6

# A sum of floats is trusted up to so many units in the last place of its terms.
ROUNDING = 8 * float(np.finfo(float).eps)

# In the units of a program as it was given, this is small beside one: times `ACCEPTED`, what HiGHS
# lets a row be off.
FLOOR = 1e-3

# In other units no size is known to count as nothing; this is what a solver's noise is below.
DUST = 1e-11

# How far a whole variable may be from a whole number.
WHOLE = 1e-5

# The fields that the cached parts of a program are made of.
PARTS = {
    "coefficients": {"matrix"},
    "rows": {"row_lower", "row_upper"},
    "columns": {"lower", "upper"},
    "largest_cost": {"cost"},
}


@dataclass(frozen=True)
class Quality:
    """Residuals of an answer, in the program's own units, and the largest relative one.

    Attributes
    ----------
    excused : the least multiplier of the wrong sign that is small beside the largest cost, and not
        beside those that it stands with: what it speaks of may be far out, or without end; 0 if
        there is none.
    """

    residuals: Residuals
    relative: float
    excused: float = 0.0

    @property
    def accepted(self) -> bool:
        """Whether the answer counts as one; never where a residual is no number."""
        return bool(self.relative <= ACCEPTED)


@dataclass(frozen=True, eq=False)
class Program:
    """The arrays of a linear, mixed-integer or convex quadratic program.

    Attributes
    ----------
    cost : c, shape (n,).
    matrix : A, shape (m, n), by columns.
    row_lower, row_upper : shape (m,), infinite where there is no bound.
    lower, upper : bounds on x, shape (n,).
    whole : which variables are whole numbers, shape (n,).
    curved : P, (n, n), or None.
    """

    cost: Array
    matrix: Any
    row_lower: Array
    row_upper: Array
    lower: Array
    upper: Array
    whole: Flags
    curved: Any = None

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Program:
        """Return a program that cvxpy, or `read_linear`, has compiled for HiGHS."""
        matrix, low, high = row_bounds(data)
        n = matrix.shape[1]
        whole = np.zeros(n, dtype=bool)
        whole[[*data.get("bool_vars_idx", ()), *data.get("int_vars_idx", ())]] = True
        lower, upper = column_bounds(data, n)
        booleans = list(data.get("bool_vars_idx", ()))
        if booleans:
            lower, upper = lower.copy(), upper.copy()
            lower[booleans] = np.maximum(lower[booleans], 0.0)
            upper[booleans] = np.minimum(upper[booleans], 1.0)
        cost = data["c"] if "c" in data else data["q"]
        curved = data.get("P")
        if curved is not None:
            curved = sp.csc_array(curved) if curved.count_nonzero() else None
        csc = sp.csc_array(matrix)
        return cls(np.asarray(cost, float), csc, low, high, lower, upper, whole, curved)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of variables."""
        return int(self.matrix.shape[0]), int(self.matrix.shape[1])

    @property
    def kind(self) -> str:
        """What it is called: LP, MIP, QP."""
        if self.whole.any():
            return "MIP"
        return "LP" if self.curved is None else "QP"

    @cached_property
    def coefficients(self) -> Coefficients:
        """The matrix, with what judging answers asks of it."""
        return Coefficients(self.matrix)

    @cached_property
    def rows(self) -> Interval:
        """The bounds on the rows."""
        return Interval(self.row_lower, self.row_upper)

    @cached_property
    def columns(self) -> Interval:
        """The bounds on the variables."""
        return Interval(self.lower, self.upper)

    @cached_property
    def largest_cost(self) -> float:
        """The magnitude of the largest cost."""
        return float(np.abs(self.cost).max(initial=0.0))

    def changed(self, **fields: Any) -> Program:
        """Return the program with other fields; what is known of the rest stays known."""
        other = replace(self, **fields)
        for part, made_of in PARTS.items():
            if part in self.__dict__ and not made_of & fields.keys():
                other.__dict__[part] = self.__dict__[part]
        return other

    def pass_to(self, highs: highspy.Highs) -> bool:
        """Give the program to HiGHS, a minimisation without an offset; return whether it took it.

        As arrays: a `HighsModel` takes them number by number, some 0.1 µs each.
        """
        (m, n), matrix = self.shape, self.matrix
        form, sense = highspy.MatrixFormat.kColwise, highspy.ObjSense.kMinimize
        bounds = (self.lower, self.upper, self.row_lower, self.row_upper)
        entries = (matrix.indptr, matrix.indices, matrix.data)
        head = (n, m, matrix.nnz, int(form), int(sense), 0.0, self.cost)
        said = [highs.passModel(*head, *bounds, *entries, self.whole.astype(np.int32))]
        if self.curved is not None:
            # One triangle: the other may differ by rounding, which HiGHS calls asymmetric.
            above = sp.triu(self.curved, format="csc")
            shape = (n, above.nnz, int(highspy.HessianFormat.kTriangular))
            bent = (above.indptr, above.indices, above.data)
            said.append(highs.passHessian(*shape, *bent))
        return highspy.HighsStatus.kError not in said

    def value(self, x: Array) -> float:
        """Return the objective at a point."""
        with np.errstate(all="ignore"):
            bend = 0.0 if self.curved is None else float(x @ (self.curved @ x)) / 2
            return float(self.cost @ x) + bend

    def off(self, x: Array) -> tuple[Array, Array, Array]:
        """Return the activities A x, and by how much rows and variables miss their bounds."""
        activity = self.matrix @ x
        rows, columns = self.rows.outside(activity), self.columns.outside(x)
        if self.whole.any():
            fraction = np.where(self.whole, np.abs(x - np.round(x)), 0.0)
            columns = np.maximum(columns, fraction)
        return activity, rows, columns

    def cleaned(self, x: Array) -> Array:
        """Return a point with what is noise beside one taken to zero, or to the bound it is at."""
        out = np.where(np.abs(x) <= DUST, 0.0, x)
        for bound in (self.lower, self.upper):
            with np.errstate(invalid="ignore"):
                near = np.abs(x - bound) <= DUST * (1 + np.abs(bound))
            out = np.where(near & np.isfinite(bound), bound, out)
        return np.asarray(out)

    def point_quality(self, x: Array, floor: float = FLOOR) -> Quality:
        """Judge a point alone, as of a mixed-integer program, which has no multipliers."""
        if self.whole.any():
            # HiGHS lets rows of mixed-integer programs be off by 1e-6, in units of whole variables.
            floor = 1.0
        with np.errstate(all="ignore"):
            _, rows, columns = self.off(x)
            # A whole variable is as whole as HiGHS's own tolerance makes it.
            share = np.where(self.whole, columns * (ACCEPTED / WHOLE), columns)
            relative, _ = self._primal(x, rows, share, floor)
        return Quality(Residuals(_largest(rows, columns)), relative)

    def quality(self, x: Array, y: Array, floor: float = FLOOR) -> Quality:
        """Judge a point and multipliers y of the rows by the optimality conditions.

        Parameters
        ----------
        y : the gain of the objective for one more unit of the bound that a row stands at.
        floor : what counts as small in a variable, or in a multiplier beside the largest cost.
        """
        with np.errstate(all="ignore"):
            return self._quality(x, y, floor)

    def _quality(self, x: Array, y: Array, floor: float) -> Quality:
        activity, rows, columns = self.off(x)
        slope, steep = self.cost, np.abs(self.cost)
        if self.curved is not None:
            # HiGHS adds 1e-7 to the curvature of quadratic programs: they are no sharper than that.
            floor = 1.0
            slope = slope + self.curved @ x
            steep = steep + abs(self.curved) @ np.maximum(np.abs(x), floor)
        known = self.coefficients
        reduced = slope - known.transposed @ y
        wrong_rows, wrong = self.rows.wrong_sign(y), self.columns.wrong_sign(reduced)
        products = (self.rows.slack_product(y, activity), self.columns.slack_product(reduced, x))
        gap = abs(sum(float(part.sum()) for part in products))
        unit = _largest(steep) or 1.0
        pressed, at_least = _pair(known.sizes_transposed, y, floor * unit)
        primal, terms = self._primal(x, rows, columns, floor)
        beyond = gap - ROUNDING * float(np.abs(self.cost) @ np.abs(x) + np.abs(y) @ terms)
        shares = (
            primal,
            _worst_share(
                wrong - ROUNDING * (pressed + steep),
                steep + unit * known.column_norms,
                steep + at_least,
            ),
            _largest(wrong_rows) / unit,
            0.0 if beyond <= 0 else beyond / max(unit, abs(self.value(x))),
        )
        residuals = Residuals(
            _largest(rows, columns), _largest(wrong, wrong_rows), _largest(*products), gap
        )
        excused = 0.0
        if self.curved is None and (wrong.any() or wrong_rows.any()):
            excused = self._excused(wrong, wrong_rows, ACCEPTED * (steep + pressed))
        return Quality(residuals, float(np.max(shares)), excused)

    def _excused(self, wrong: Array, wrong_rows: Array, local: Array) -> float:
        """Return the least part of a reduced cost that has the wrong sign and counts, or 0."""
        found = wrong[wrong > local]
        if wrong_rows.any():
            part = wrong_rows[self.matrix.indices] * np.abs(self.matrix.data)
            found = np.append(found, part[part > np.repeat(local, np.diff(self.matrix.indptr))])
        return float(found.min()) if found.size else 0.0

    def _primal(self, x: Array, rows: Array, columns: Array, floor: float) -> tuple[float, Array]:
        """Return the largest violation relative to its own scale, and ``Σ |a_j x_j|`` of rows."""
        known, demand = self.coefficients, self.rows.size
        terms, at_least = _pair(known.sizes, x, floor)
        excess = rows - ROUNDING * terms
        shares = (
            _worst_share(excess, demand + known.row_norms, demand + at_least),
            _worst_share(columns, 1.0 + self.columns.size),
        )
        return float(np.max(shares)), terms


def _pair(sizes: Any, x: Array, floor: float) -> tuple[Array, Array]:
    """Return magnitudes of coefficients times ``|x|``, and times ``max(|x|, floor)``."""
    size = np.abs(x)
    both = sizes @ np.stack([size, np.maximum(size, floor)], axis=1)
    return both[:, 0], both[:, 1]


def _largest(*parts: Array) -> float:
    return float(np.max([np.abs(part).max(initial=0.0) for part in parts]))


def _worst_share(off: Array, *scales: Array) -> float:
    """Return the largest share of any scale; zero off is no share of anything, NaN stays NaN."""
    if (off <= 0).all():
        return 0.0
    worst = [np.where(off <= 0, 0.0, off / np.where(scale > 0, scale, 1.0)) for scale in scales]
    return float(np.max(worst))
