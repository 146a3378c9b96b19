"""Numbers for proofs: exact where that is cheap, else dyadic and as near as one likes.

A proof may hold any numbers; what they miss an exact one by is computed by its check. So makers
solve ``x = b + γ P x`` in floating point and refine with exact residuals, which adds some twenty
bits a step even at a discount of 1 − 1e-9. What is left is 2^-150 of the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from iirl_opt.exact.chains import discounted_sums, largest_class
from iirl_opt.exact.linear import solve
from iirl_opt.exact.numbers import as_reals
from iirl_opt.exact.rows import ExactRows

__all__ = ["in_units", "masses", "rounded", "sums"]

# Objects that are Fractions.
Vector = NDArray[Any]

SMALL = 40  # equations that are solved exactly
BITS = 160  # to which the others are


def sums(rows: ExactRows, discount: Fraction, reward: Vector) -> Vector:
    """Return V near the solution of ``V = r + γ P V``, (S,): the solution itself where cheap.

    **Cost** exact systems of at most 40 equations, or one sparse factorisation in floating point
    and some ten exact products.
    """
    if largest_class(rows) <= SMALL:
        return discounted_sums(rows, discount, reward)
    return _by_refinement(rows, discount, reward, rows.times, transposed=False)


def masses(rows: ExactRows, discount: Fraction, start: Vector) -> Vector:
    """Return m near the solution of ``m = start + γ Pᵀ m``, (S,): the discounted visits.

    **Cost** as `sums`.
    """
    size = len(start)
    if size <= SMALL:
        found = solve((np.eye(size, dtype=int) - discount * rows.dense()).T, start)
        assert found is not None  # I − γP is regular
        return found
    return _by_refinement(rows, discount, start, rows.transposed, transposed=True)


def _by_refinement(
    rows: ExactRows,
    discount: Fraction,
    right: Vector,
    times: Callable[[Vector], Vector],
    *,
    transposed: bool,
) -> Vector:
    """Return x near the solution of ``x = right + γ·times(x)`` by refinement."""
    x = np.full(len(right), Fraction(0), dtype=object)
    left = right
    size = max(map(abs, right.tolist()), default=Fraction(0))
    if not size:
        return x
    inner = floats_of(rows)
    chain = inner.T if transposed else inner
    solver = splu(sp.csc_array(sp.eye_array(len(right)) - float(discount) * chain))
    grid = math.ceil(_log2(size) + math.log2(1 - discount)) - BITS
    for _ in range(64):
        unit = in_units(left)
        step = solver.solve(as_reals(left * Fraction(2) ** -unit))
        if not np.isfinite(step).all():
            return x
        moved = rounded([Fraction(s) * Fraction(2) ** unit for s in step.tolist()], grid)
        after = x + moved
        error = right - after + discount * times(after)
        worst = max(map(abs, error.tolist()))
        if worst >= max(map(abs, left.tolist())):
            return x
        x, left = after, error
        if not worst or _log2(worst) < grid + 8:
            return x
    return x


def floats_of(rows: ExactRows) -> Any:
    """Return a matrix in floats, CSR."""
    below = np.repeat(rows.denominators, np.diff(rows.indptr))
    pairs = zip(rows.numerators.tolist(), below.tolist(), strict=True)
    data = np.array([n / d for n, d in pairs], dtype=float)
    return sp.csr_array((data, rows.indices, rows.indptr), (len(rows.denominators), rows.width))


def in_units(vector: Vector) -> int:
    """Return k such that the largest number of a vector is about 2^k; 0 for a zero vector."""
    size = max(map(abs, vector.ravel().tolist()), default=Fraction(0))
    return round(_log2(size)) if size else 0


def _log2(number: Fraction) -> float:
    """Return a logarithm up to rounding, of numbers beyond all floats too."""
    shift = number.numerator.bit_length() - number.denominator.bit_length()
    scaled = number / (Fraction(2) ** shift)
    return shift + math.log2(scaled)


def rounded(vector: Any, bits: int) -> Vector:
    """Return numbers rounded to multiples of 2^bits."""
    unit = Fraction(2) ** bits
    out = np.empty(len(vector), dtype=object)
    out[:] = [round(x / unit) * unit for x in vector]
    return out
