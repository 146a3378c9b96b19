"""Signs of gains that floats leave open: refined residuals, then exact numbers.

*Refinement*: residuals are computed exactly, in integers over a power of two, and corrected for by
the factors at hand, until the error is some 160 bits below the values. *An exact solve* of the
chain that two choices lead to, in rational numbers, where its classes are small enough; then a tie
is a tie. (Where they are very small, it comes first.)

**Source** refinement is Wilkinson's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from iirl_opt.exact.chains import discounted_sums, largest_class
from iirl_opt.exact.linear import WITHOUT_FLINT, has_flint
from iirl_opt.exact.numbers import Vector
from iirl_opt.exact.rows import ExactRows
from iirl_opt.game.factors import UNIT, underflow
from iirl_opt.game.iteration import Played
from iirl_opt.game.problem import PlanningProblem
from iirl_opt.game.support import reached_from

__all__ = ["UNKNOWN", "sharpened", "signs_of_gains"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# Rounds of refinement at most; the bits that fixed-point values have below one, and below the least
# of them; the units of fixed point that a residual may be off by.
ROUNDS, BITS, FLOOR = 32, 160, 4

# States that lead to each other, up to which ties are decided by an exact solve unasked (tens of
# milliseconds), and when asked (seconds).
QUICK, LONGEST = 64, 1200

# The sign of a gain that stays open.
UNKNOWN = 2


def signs_of_gains(
    problem: PlanningProblem, played: Played, s: Integers, b: Integers, exact: bool
) -> tuple[Integers, float]:
    """Return the signs of the gains of choices (s, b) over what is played, and the doubt left.

    A sign is −1, 0, 1, or `UNKNOWN`.
    """
    mdp, gamma = problem.mdp, problem.mdp.exact_discount
    choices = s * mdp.n_choices + b
    other, gained = mdp.exact_rows(choices), problem.exact(choices)
    ahead = np.unique(np.append(other.indices, s))
    rows, reward = _followed(problem, played, ahead)
    size = largest_class(rows, ahead)
    quick, longest = (QUICK, LONGEST) if has_flint() else (WITHOUT_FLINT, WITHOUT_FLINT)
    signs, doubt = np.full(s.size, UNKNOWN, dtype=np.int64), np.zeros(s.size)
    if size > quick:
        fine = _Refined.of(problem, played)
        signs, doubt = fine.signs(s, other, gained)
    open_ = np.flatnonzero(signs == UNKNOWN)
    wide = not (doubt[open_] <= 2.0**-60 * np.abs(played.values[s[open_]])).all()
    if open_.size and size <= (longest if exact or wide else quick):
        values = discounted_sums(rows, gamma, reward, ahead)
        gain = gained[open_] + gamma * other.take(open_).times(values) - values[s[open_]]
        signs[open_] = [(x > 0) - (x < 0) for x in gain]
    return signs, float(doubt[signs == UNKNOWN].max(initial=0.0))


def _followed(
    problem: PlanningProblem, played: Played, sources: Integers
) -> tuple[ExactRows, Vector]:
    """Return the exact chain, (S, S), and rewards (S,) of all states that some lead to, these too.

    Rows of all other states are empty.
    """
    n, choices = len(played.actions), problem.rows(played.actions)
    graph = csr_array(played.factors.chain)
    tail, head = np.repeat(np.arange(n), np.diff(graph.indptr)), graph.indices.astype(np.int64)
    reached, more = np.zeros(n, dtype=bool), sources
    while more.size:
        reached[more] = True
        reached = reached_from(tail, head, reached)
        own = problem.mdp.exact_rows(choices[reached])
        # A probability too small for a float leads on, too.
        more = own.indices[~reached[own.indices]]
    spans, below = np.zeros(n, dtype=np.int64), np.ones(n, dtype=object)
    spans[reached], below[reached] = np.diff(own.indptr), own.denominators
    reward = np.full(n, Fraction(0), dtype=object)
    reward[reached] = problem.exact(choices[reached])
    pointers = np.concatenate([[0], np.cumsum(spans)])
    return ExactRows(pointers, own.indices, own.numerators, below, n), reward


def sharpened(problem: PlanningProblem, played: Played) -> Played:
    """Return what is played with values refined by exact residuals, nearly to their last bit.

    **Cost** arithmetic on Python's integers, some 20 passes over the chain.
    """
    fine = _Refined.of(problem, played)
    values = _reals(fine.values, fine.bits)
    error = fine.error * (1 + 4 * UNIT) + 2 * UNIT * np.abs(values)
    better = error < played.error
    return played._replace(
        values=np.where(better, values, played.values), error=np.where(better, error, played.error)
    )


@dataclass(frozen=True, eq=False)
class _Refined:
    """Values in fixed point, integers over ``2^bits``, with a bound on their error."""

    bits: int
    discount: Fraction
    values: Vector
    error: Array

    @classmethod
    def of(cls, problem: PlanningProblem, played: Played) -> _Refined:
        """Refine float values by exact residuals until only those of fixed point are left."""
        discount, choices = problem.mdp.exact_discount, problem.rows(played.actions)
        rows, reward = problem.mdp.exact_rows(choices), problem.exact(choices)
        sizes = np.abs(played.values)
        exponents = np.frexp(sizes[(sizes > 0) & np.isfinite(sizes)])[1]
        bits = BITS - min(int(exponents.min(initial=0)), 0)
        found = cls(bits, discount, _fixed(played.values, bits), played.error)
        residual, least = found._backup(rows, reward) - found.values, None
        for _ in range(ROUNDS):
            largest = max(map(abs, residual.tolist()))
            if largest <= FLOOR or (least is not None and 2 * largest > least):
                break
            step = played.factors.approximate(_reals(residual, bits))
            found = replace(found, values=found.values + _fixed(step, bits))
            residual, least = found._backup(rows, reward) - found.values, largest
        left = np.abs(_reals(residual, bits)) * (1 + 4 * UNIT) + math.ldexp(FLOOR, -bits)
        return replace(found, error=played.factors.bound(left))

    def _backup(self, rows: ExactRows, reward: Vector) -> Vector:
        """Return ``r + γ P V`` in fixed point, off by two units at most."""
        up, down = self.discount.numerator, self.discount.denominator
        products = (rows.numerators * self.values[rows.indices]).tolist()
        sums = [sum(products[i:j]) for i, j in pairwise(rows.indptr.tolist())]
        out = np.empty(len(sums), dtype=object)
        out[:] = [
            (r.numerator << self.bits) // r.denominator + up * total // (down * below)
            for r, total, below in zip(
                reward.tolist(), sums, rows.denominators.tolist(), strict=True
            )
        ]
        return out

    def signs(self, s: Integers, rows: ExactRows, reward: Vector) -> tuple[Integers, Array]:
        """Return the signs of the gains of choices in states s, and what they gain at most."""
        gain = _reals(self._backup(rows, reward) - self.values[s], self.bits)
        ahead = np.array(
            [sum(self.error[j] * float(p) for j, p in rows.row(i).items()) for i in range(len(s))]
        )
        entries = np.diff(rows.indptr)
        width = (self.error[s] + ahead) * (1 + (entries + 8) * UNIT)
        lost = underflow(int(entries.max(initial=0)), float(self.error.max()))
        width = width + lost + math.ldexp(FLOOR, -self.bits)
        width = width + 4 * UNIT * np.abs(gain)
        signs = np.where(np.abs(gain) > width, np.sign(gain), UNKNOWN).astype(np.int64)
        return signs, np.abs(gain) + width


def _fixed(numbers: Array, bits: int) -> Vector:
    """Return floats as integers over ``2^bits``, rounded down."""
    mantissas, exponents = np.frexp(numbers)
    whole = (mantissas * 2.0**53).astype(np.int64).tolist()
    out = np.empty(len(whole), dtype=object)
    shifts = (exponents - 53 + bits).tolist()
    out[:] = [n << k if k >= 0 else n >> -k for n, k in zip(whole, shifts, strict=True)]
    return out


def _reals(numbers: Vector, bits: int) -> Array:
    """Return integers over ``2^bits`` as the nearest floats."""
    below = 1 << bits
    return np.array([n / below for n in numbers.tolist()], dtype=float)
