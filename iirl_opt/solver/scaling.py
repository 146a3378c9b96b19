"""Powers of two that bring a program into the range of a solver, without any rounding.

HiGHS drops coefficients of 1e-9 and less without a word, and its tolerances are absolute. Times
powers of two, rows, columns and objective have other units and the same solutions, bit for bit:

    A'_ij = 2^(r_i + k_j) A_ij,  b'_i = 2^(r_i) b_i,  x'_j = 2^(−k_j) x_j,  c'_j = 2^(k_j + o_j) c_j

The exponents make the logarithms of a row's and of a column's coefficients zero on average (a few
rounds of the method of Curtis & Reid), then the largest coefficient of each row about one. What is
left free, one factor for each part of the program that shares no variable and no row with another,
makes its largest bound about one, and o its largest cost. Whole variables keep their units.

**Source** Curtis & Reid 1972, *On the automatic scaling of matrices for Gaussian elimination*.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from iirl_opt.solver.program import Program

__all__ = ["Scaling", "in_range"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# Coefficients, bounds and costs between these need no scaling.
COEFFICIENTS = (1e-8, 1e8)
BOUNDS = (1e-2, 1e7)
COSTS = (1e-12, 1e15)

ROUNDS = 30


def in_range(program: Program) -> bool:
    """Return whether a program's numbers are such that a solver takes them as they are.

    Entries that are noise beside both their row and their column are passed over: where they matter
    after all, the answer fails our check.
    """
    least, most = program.coefficients.extremes
    return (
        least >= COEFFICIENTS[0]
        and most <= COEFFICIENTS[1]
        and _moderate(max(program.rows.largest, program.columns.largest), *BOUNDS)
        and _moderate(program.largest_cost, *COSTS)
        and (program.curved is None or _within(program.curved.data, *COEFFICIENTS))
    )


def _moderate(size: float, least: float, most: float) -> bool:
    return size == 0 or least <= size <= most


def _within(numbers: Array, least: float, most: float) -> bool:
    sizes = np.abs(numbers[numbers != 0])
    return bool(not sizes.size or (sizes.min() >= least and sizes.max() <= most))


@dataclass(frozen=True, eq=False)
class Scaling:
    """Exponents of two: rows (m,), columns (n,), and the objective as columns and rows see it."""

    rows: Integers
    columns: Integers
    goal: Integers
    row_goal: Integers

    @classmethod
    def none(cls, program: Program) -> Scaling:
        """Return the scaling that changes nothing."""
        m, n = program.shape
        rows, columns = np.zeros(m, dtype=np.int64), np.zeros(n, dtype=np.int64)
        return cls(rows, columns, columns, rows)

    @classmethod
    def of(cls, program: Program) -> Scaling:
        """Return the scaling that makes coefficients, bounds and costs moderate.

        Every number counts here, noise or not: which it is cannot be seen before the units are.

        **Cost** arithmetic, some thirty passes over the nonzeros.
        """
        return _equilibrate(program)

    def apply(self, program: Program) -> Program | None:
        """Return the scaled program, or None if a number leaves the range of floats."""
        with np.errstate(over="ignore", under="ignore"):
            return self._applied(program)

    def _applied(self, program: Program) -> Program | None:
        matrix = program.matrix
        columns = np.repeat(self.columns, np.diff(matrix.indptr))
        scaled = replace(
            program,
            cost=np.ldexp(program.cost, self.columns + self.goal),
            matrix=sp.csc_array(
                (
                    np.ldexp(matrix.data, self.rows[matrix.indices] + columns),
                    matrix.indices,
                    matrix.indptr,
                ),
                shape=matrix.shape,
            ),
            row_lower=np.ldexp(program.row_lower, self.rows),
            row_upper=np.ldexp(program.row_upper, self.rows),
            lower=np.ldexp(program.lower, -self.columns),
            upper=np.ldexp(program.upper, -self.columns),
            curved=self._bend(program.curved),
        )
        pairs = [
            (program.cost, np.ldexp(scaled.cost, -self.columns - self.goal)),
            (matrix.data, np.ldexp(scaled.matrix.data, -self.rows[matrix.indices] - columns)),
            (program.row_lower, np.ldexp(scaled.row_lower, -self.rows)),
            (program.row_upper, np.ldexp(scaled.row_upper, -self.rows)),
            (program.lower, np.ldexp(scaled.lower, self.columns)),
            (program.upper, np.ldexp(scaled.upper, self.columns)),
        ]
        return scaled if all(np.array_equal(one, two) for one, two in pairs) else None

    def _bend(self, curved: Any) -> Any:
        if curved is None:
            return None
        at = np.repeat(np.arange(curved.shape[1]), np.diff(curved.indptr))
        exponents = self.columns[curved.indices] + self.columns[at] + self.goal[at]
        data = np.ldexp(curved.data, exponents)
        return sp.csc_array((data, curved.indices, curved.indptr), shape=curved.shape)

    def point(self, x: Array) -> Array:
        """Return a point of the scaled program in the program's own units."""
        return _times(x, self.columns)

    def scaled_point(self, x: Array) -> Array:
        """Return a point of the program in the units of the scaled one."""
        return _times(x, -self.columns)

    def multipliers(self, y: Array) -> Array:
        """Return multipliers of the scaled program's rows in the program's own units."""
        return _times(y, self.rows - self.row_goal)

    def scaled_multipliers(self, y: Array) -> Array:
        """Return multipliers of the program's rows in the units of the scaled one."""
        return _times(y, self.row_goal - self.rows)


def _times(numbers: Array, exponents: Integers) -> Array:
    """Return numbers times powers of two; what leaves the range of floats becomes infinite or 0."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.ldexp(numbers, exponents))


def _equilibrate(program: Program) -> Scaling:
    m, n = program.shape
    matrix = program.matrix
    counted = matrix.data != 0
    i = matrix.indices[counted].astype(np.int64)
    j = np.repeat(np.arange(n), np.diff(matrix.indptr))[counted]
    size = np.log2(np.abs(matrix.data[counted]))
    movable = ~program.whole
    rows, columns = np.zeros(m), np.zeros(n)
    in_row = np.maximum(np.bincount(i, minlength=m), 1)
    in_column = np.maximum(np.bincount(j, minlength=n), 1)
    for _ in range(ROUNDS):
        before = rows
        rows = -np.bincount(i, size + columns[j], m) / in_row
        columns = np.where(movable, -np.bincount(j, size + rows[i], n) / in_column, 0.0)
        if np.abs(rows - before).max(initial=0.0) < 0.5:
            break
    largest = np.full(m, -np.inf)
    np.maximum.at(largest, i, size + columns[j])
    rows = np.where(np.isfinite(largest), -largest, 0.0)
    part, row_part, parts = _parts(program, i, j)
    free = np.bincount(part, program.whole, parts) == 0
    shift = np.where(free, _bound_exponent(program, rows, columns, part, row_part, parts), 0.0)
    columns, rows = columns + shift[part], rows - shift[row_part]
    whole_columns, whole_rows = np.rint(columns).astype(np.int64), np.rint(rows).astype(np.int64)
    goal = _goal_exponent(program, whole_columns, part, parts)
    return Scaling(whole_rows, whole_columns, goal[part], goal[row_part])


def _parts(program: Program, i: Integers, j: Integers) -> tuple[Integers, Integers, int]:
    """Return to which independent part of the program each column and each row belongs."""
    m, n = program.shape
    tail, head = [j], [i + n]
    if program.curved is not None:
        bend = sp.coo_array(program.curved)
        tail, head = [*tail, bend.row.astype(np.int64)], [*head, bend.col.astype(np.int64)]
    one, two = np.concatenate(tail), np.concatenate(head)
    graph = sp.coo_array((np.ones(one.size), (one, two)), shape=(n + m, n + m))
    parts, label = connected_components(graph, directed=False)
    if program.whole.any():
        # A bound on the sum of the objectives is wanted: one factor for all.
        parts, label = 1, np.zeros_like(label)
    part = np.asarray(label, dtype=np.int64)
    return part[:n], part[n:], int(parts)


def _bound_exponent(
    program: Program,
    rows: Array,
    columns: Array,
    part: Integers,
    row_part: Integers,
    parts: int,
) -> Array:
    """Return by which power of two the variables of each part are to grow in their units."""
    of_rows = _logarithms(program.row_lower, program.row_upper) + rows
    of_columns = _logarithms(program.lower, program.upper) - columns
    largest = np.full(parts, -np.inf)
    np.maximum.at(largest, row_part, of_rows)
    without = largest == -np.inf
    on_columns = np.full(parts, -np.inf)
    np.maximum.at(on_columns, part, of_columns)
    largest = np.where(without, on_columns, largest)
    return np.where(np.isfinite(largest), largest, 0.0)


def _logarithms(low: Array, high: Array) -> Array:
    """Return the binary logarithm of the larger finite bound, −∞ where there is none or zero."""
    sizes = [np.where(np.isfinite(side), np.abs(side), 0.0) for side in (low, high)]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log2(np.maximum(*sizes)))


def _goal_exponent(program: Program, columns: Integers, part: Integers, parts: int) -> Integers:
    """Return by which power of two the objective of each part is to be multiplied."""
    with np.errstate(divide="ignore"):
        size = np.log2(np.abs(program.cost)) + columns
        if program.curved is not None:
            bend = sp.coo_array(program.curved)
            steep = np.log2(np.abs(bend.data)) + columns[bend.row] + columns[bend.col]
            np.maximum.at(size, bend.row, steep)
    largest = np.full(parts, -np.inf)
    np.maximum.at(largest, part, size)
    return np.where(np.isfinite(largest), -np.rint(largest), 0.0).astype(np.int64)
