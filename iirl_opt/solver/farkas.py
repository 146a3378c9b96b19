"""Proofs that a program has no point, or no bound: by exact arithmetic alone.

Floats are rational numbers, so the data of a program are, and so are a solver's rays. Two facts:

* *Farkas*. Let y be multipliers of the rows, positive only where a row has a lower bound, negative
  only where it has an upper one. Every x within its bounds has ``y'A x ≤ Σ_j max_j (A'y)_j x_j``,
  each maximum taken over the bounds of x_j; every x that meets the rows has ``y'A x ≥ Σ_i y_i b_i``
  with the bound that y_i points at. If the first is less than the second there is no x. A
  coefficient ``(A'y)_j ≠ 0`` of a variable without a bound on that side proves nothing, however
  small.
* *Recession*. From a feasible point, along a direction d that no row, no bound and no curvature
  stops, with ``c·d < 0``, the objective falls without end. (Whole variables do not matter: d is
  rational, so a multiple of it is whole.)

A ray in floats misses its zeros by rounding. Then those zeros are demanded as equations and the ray
that solves them, nearest in the entries that they leave free, is computed in rationals.

**Source** Neumaier & Shcherbina 2004, *Safe bounds in linear and mixed-integer linear programming*.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.errors import NotExact
from iirl_opt.exact.linear import solve_near
from iirl_opt.exact.numbers import Vector, as_fraction, as_fractions, as_reals
from iirl_opt.solver.program import Program

__all__ = ["exact_ray", "meets", "no_common_divisor", "recedes", "refutes"]

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

# A combination that ought to vanish is this small beside its own terms.
NOISE = 1e-6

# How many equations, and entries of them, are solved in rationals for one ray.
EQUATIONS, ENTRIES = 500, 250_000

# How often a repaired ray may turn up another combination that ought to vanish.
REPAIRS = 5


def refutes(program: Program, ray: Array) -> Array | None:
    """Return what `exact_ray` does, rounded to floats."""
    proved = exact_ray(program, ray)
    return None if proved is None else _floats(proved)


def exact_ray(program: Program, ray: Array | Vector) -> Vector | None:
    """Return multipliers of the rows that prove that the program has no point, or None.

    Parameters
    ----------
    ray : shape (m,), a solver's Farkas ray: positive where a row presses on its lower bound; or a
        rational one, which is looked at as it is.

    Returns
    -------
    rationals, shape (m,). Rounded to floats they may prove nothing.

    **Cost** arithmetic in integers; a linear system in rationals where the ray has to be repaired.
    """
    proved = _near(
        program.matrix,
        ray,
        may_rise=np.isfinite(program.row_lower),
        may_fall=np.isfinite(program.row_upper),
        may_be_positive=np.isfinite(program.upper),
        may_be_negative=np.isfinite(program.lower),
    )
    for y, combined in proved:
        demand = np.where(y > 0, program.row_lower, program.row_upper)
        reach = np.where(combined > 0, program.upper, program.lower)
        if _sum(y, demand) > _sum(combined, reach):
            return y
    return None


def recedes(program: Program, direction: Array) -> bool:
    """Return whether the objective falls without end along a direction, from any feasible point.

    **Cost** arithmetic in integers; a linear system in rationals where it has to be repaired.
    """
    matrix, low, high = program.matrix, program.row_lower, program.row_upper
    if program.curved is not None:
        matrix = sp.vstack([matrix, program.curved], format="csc")
        flat = np.zeros(program.shape[1])
        low, high = np.append(low, flat), np.append(high, flat)
    proved = _near(
        sp.csc_array(matrix.T),
        direction,
        may_rise=np.isinf(program.upper),
        may_fall=np.isinf(program.lower),
        may_be_positive=np.isinf(high),
        may_be_negative=np.isinf(low),
    )
    return any(_sum(d, program.cost) < 0 for d, _ in proved)


def meets(program: Program, x: Array) -> Vector | None:
    """Return a rational point near x that meets all rows and bounds exactly, (n,), or None.

    Whole variables are held at the nearest whole number. With a last coordinate t > 0 every row
    ``b ≤ a·x`` is a combination ``a·x − b t ≥ 0``: the point is found as a ray is.

    **Cost** arithmetic in integers; a linear system in rationals where the point is to be moved.
    """
    fixed = np.where(program.whole, np.round(x), np.nan)
    lower = np.where(program.whole, fixed, program.lower)
    upper = np.where(program.whole, fixed, program.upper)
    if program.columns.crossed(program.whole).any() or not np.isfinite(x).all():
        return None
    if ((fixed < program.lower) | (fixed > program.upper)).any():
        return None
    eye = sp.eye_array(x.size, format="csr")
    both = sp.vstack([program.matrix, eye], format="csr")
    low = np.concatenate([program.row_lower, lower])
    high = np.concatenate([program.row_upper, upper])
    equal = low == high
    parts = [
        (equal, low, False, False),
        (np.isfinite(low) & ~equal, low, True, False),
        (np.isfinite(high) & ~equal, high, False, True),
    ]
    columns = [sp.hstack([both[at], -side[at][:, None]]) for at, side, _, _ in parts]
    counts = [int(at.sum()) for at, _, _, _ in parts]
    free = np.ones(x.size + 1, dtype=bool)
    forward = free.copy()
    forward[-1] = False
    proved = _near(
        sp.csc_array(sp.vstack(columns).T),
        np.append(x, 1.0),
        may_rise=free,
        may_fall=forward,
        may_be_positive=np.repeat([up for _, _, up, _ in parts], counts),
        may_be_negative=np.repeat([down for _, _, _, down in parts], counts),
        dust=0.0,
    )
    return next((y[:-1] / y[-1] for y, _ in proved if y[-1] > 0), None)


def no_common_divisor(program: Program) -> bool:
    """Return whether some row of whole variables asks for a number that it cannot reach.

    Whole coefficients add up to multiples of their greatest common divisor.
    """
    rows = program.matrix.tocsr()
    for i, (a, b) in enumerate(pairwise(rows.indptr)):
        used = rows.data[a:b] != 0
        if not used.any() or not program.whole[rows.indices[a:b][used]].all():
            continue
        numbers = [Fraction(x) for x in rows.data[a:b][used].tolist()]
        below = math.lcm(*(x.denominator for x in numbers))
        step = Fraction(math.gcd(*(int(x * below) for x in numbers)), below)
        low, high = float(program.row_lower[i]), float(program.row_upper[i])
        if math.isfinite(low) and math.isfinite(high):
            least = math.ceil(Fraction(low) / step)
            if least * step > Fraction(high):
                return True
    return False


def _near(
    matrix: Any,
    ray: Array | Vector,
    *,
    may_rise: Flags,
    may_fall: Flags,
    may_be_positive: Flags,
    may_be_negative: Flags,
    dust: float = NOISE**2,
) -> Iterator[tuple[Vector, Vector]]:
    """Yield (y, A'y) in rationals, y near a ray, with only the signs that are allowed.

    Where A'y has a sign that is not allowed and is small, y is repaired. Entries up to `dust` times
    the largest of a ray are a solver's noise.
    """
    if ray.shape != may_rise.shape:
        return
    if ray.dtype == object:
        combined = _combination(matrix, _whole_numbers(matrix.data), ray)
        signs = np.where(ray > 0, may_rise, may_fall) | (ray == 0)
        others = np.where(combined > 0, may_be_positive, may_be_negative) | (combined == 0)
        if signs.all() and others.all():
            yield ray, combined
        return
    if not np.isfinite(ray).all() or not ray.any():
        return
    largest = float(np.abs(ray).max())
    used = np.where(ray > 0, may_rise, may_fall) & (np.abs(ray) > dust * largest)
    y = as_fractions(np.where(used, np.ldexp(ray, -int(np.frexp(largest)[1])), 0.0))
    entries = _whole_numbers(matrix.data)
    terms = abs(matrix).T @ np.abs(_floats(y))
    demanded = np.zeros(matrix.shape[1], dtype=bool)
    for _ in range(REPAIRS):
        combined = _combination(matrix, entries, y)
        wrong = np.where(combined > 0, ~may_be_positive, ~may_be_negative) & (combined != 0)
        signs = np.where(y > 0, may_rise, may_fall) | (y == 0)
        if not wrong.any() and signs.all():
            yield y, combined
            return
        small = np.abs(_floats(combined)) <= NOISE * terms
        if (wrong & ~small).any() or (not (wrong & ~demanded).any() and signs.all()):
            return
        demanded |= wrong
        y[~signs] = Fraction(0)
        repaired = _repair(matrix, y, demanded)
        if repaired is None:
            return
        y = repaired


def _repair(matrix: Any, y: Vector, demanded: Flags) -> Vector | None:
    """Return multipliers near y, on its support, whose demanded combinations vanish."""
    support, columns = np.flatnonzero(y != 0), np.flatnonzero(demanded)
    if len(columns) > EQUATIONS or len(columns) * len(support) > ENTRIES or not len(support):
        return None
    system = as_fractions(matrix[:, columns].toarray()[support].T)
    try:
        found = solve_near(system, as_fractions(np.zeros(len(columns))), y[support])
    except NotExact:
        return None
    if found is None:
        return None
    out = as_fractions(np.zeros(len(y)))
    out[support] = found
    return out


def _whole_numbers(values: Array) -> tuple[list[int], int]:
    """Return floats as integers times one power of two."""
    mantissas, exponents = np.frexp(values)
    whole = (mantissas * 2.0**53).astype(np.int64).tolist()
    shifts = (exponents - 53).tolist()
    least = min(shifts, default=0)
    return [n << (k - least) for n, k in zip(whole, shifts, strict=True)], least


def _combination(matrix: Any, entries: tuple[list[int], int], y: Vector) -> Vector:
    """Return A'y exactly."""
    numbers, shift = entries
    below = math.lcm(*(x.denominator for x in y.tolist()))
    weights = [x.numerator * (below // x.denominator) for x in y.tolist()]
    products = [n * weights[i] for n, i in zip(numbers, matrix.indices.tolist(), strict=True)]
    sums = [sum(products[a:b]) for a, b in pairwise(matrix.indptr.tolist())]
    unit = Fraction(2) ** shift / below
    out = np.empty(len(sums), dtype=object)
    out[:] = [n * unit if n else Fraction(0) for n in sums]
    return out


def _sum(weights: Vector, values: Array) -> Fraction:
    """Return Σ weight · value exactly, over the weights that are not zero."""
    used = np.flatnonzero(weights != 0)
    return sum(
        (w * as_fraction(x) for w, x in zip(weights[used], values[used].tolist(), strict=True)),
        Fraction(0),
    )


def _floats(vector: Vector) -> Array:
    return np.asarray(as_reals(vector), dtype=float)
