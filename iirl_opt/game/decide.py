"""Which actions are optimal, decided and not presumed.

A float evaluation ``V̂`` of a policy π comes with a bound, state by state: any E with

    E ≥ |ρ| + rounding + γ P_π E

bounds ``|V̂ − V_π|``, ρ being the residual ``r_π + γ P_π V̂ − V̂``, for the error is the discounted
sum of residuals that π itself meets. So a penalty in a state that π never enters adds nothing. An
action b is better or worse than π where ``q(s, b)`` differs from ``V̂(s)`` by more than both errors,
that of q being ``γ P_b E`` and its own rounding; what is better is played, until nothing is. The
pairs left undecided are taken through, in this order,

1. *identical rows*: the same reward and the same distribution are a tie without arithmetic;
2. *refinement*: residuals are computed exactly, in integers over a power of two, and corrected for
   by the factors at hand, until the error is some 160 bits below the values;
3. *an exact solve* of the chain that the two actions lead to, in rational numbers, where its
   classes are small enough; then a tie is a tie. (Where they are very small, it comes first.)

What is still undecided is said to be so, with the width of the doubt.

**Source** the bound is the componentwise one of a monotone contraction, e.g. Puterman (1994),
theorem 6.2.2; refinement is Wilkinson's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import lu_factor, lu_solve
from scipy.sparse.linalg import splu

from iirl_opt.exact.chains import discounted_sums, largest_class
from iirl_opt.exact.linear import WITHOUT_FLINT, has_flint
from iirl_opt.exact.numbers import Vector
from iirl_opt.exact.rows import ExactRows
from iirl_opt.game.kernel import Matrix, is_sparse
from iirl_opt.game.mdp import MDP

__all__ = ["Decision", "Played", "Problem", "decide", "evaluated", "gains", "improved", "sharpened"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

UNIT = float(np.finfo(float).eps) / 2

# Below the first size a dense factorisation beats a sparse one; above the second, fill-in of I − γP
# makes it dearer than so many sweeps (random sparse kernels; grids would bear more).
DENSE_STATES, SPARSE_STATES, SWEEPS = 128, 2000, 5000

# Rounds of refinement at most; the bits that fixed-point values have below one, and below the least
# of them; the units of fixed point that a residual may be off by.
ROUNDS, BITS, FLOOR = 32, 160, 4

# States that lead to each other, up to which ties are decided by an exact solve unasked (tens of
# milliseconds), and when asked (seconds).
QUICK, LARGEST = 64, 1200


@dataclass(frozen=True, eq=False)
class Problem:
    """A single agent's problem: an MDP and the reward of each choice, in floats and exactly.

    Attributes
    ----------
    mdp : the MDP, S states and n actions.
    reward : shape (S, n), or (S, 1) where it depends on the state alone.
    slop : how far that may be from the exact reward, (S, n), (S, 1) or zero.
    exact : the exact rewards of choices given as rows ``s·n + b``.
    """

    mdp: MDP
    reward: Array
    slop: Any
    exact: Callable[[Integers], Vector]

    @cached_property
    def unit(self) -> float:
        """The relative error of a sum over a row: of its rounding, and of the row's as an image."""
        matrix = self.mdp.matrix
        longest = int(np.diff(matrix.indptr).max()) if is_sparse(matrix) else self.mdp.n_states
        return (2 * longest + 12) * UNIT

    def rows(self, actions: Integers) -> Integers:
        """Return the rows of the kernel that actions (S,) play."""
        return np.arange(self.mdp.n_states) * self.mdp.n_choices + actions

    def of(self, actions: Integers) -> Array:
        """Return the rewards (S,) of actions (S,)."""
        full = np.broadcast_to(self.reward, self.mdp.shape)
        return np.asarray(full[np.arange(self.mdp.n_states), actions])


def underflow(n: int) -> float:
    """Return a bound on what is lost to underflow in a row of n entries."""
    return (4 * n + 64) * float(np.finfo(float).smallest_subnormal)


class Factors:
    """The factors of ``I − γ P`` for a chain P, (S, S), or sweeps where these are cheaper."""

    def __init__(self, chain: Matrix, discount: float) -> None:
        self.chain, self.discount = chain, discount
        n, sweeps = chain.shape[0], math.ceil(40 / (1 - discount))
        if n > SPARSE_STATES and sweeps <= SWEEPS:
            self._solve: Callable[[Array], Array] = lambda right: self._swept(right, sweeps)
        elif is_sparse(chain) and n > DENSE_STATES:
            system: Any = sp.eye_array(n, format="csc") - discount * chain.tocsc()
            self._solve = splu(system).solve
        else:
            dense = chain.toarray() if is_sparse(chain) else chain
            factors = lu_factor(np.eye(n) - discount * dense, check_finite=False)
            self._solve = lambda right: lu_solve(factors, right, check_finite=False)

    def solve(self, right: Array) -> Array:
        """Return an approximate solution."""
        return np.asarray(self._solve(np.ascontiguousarray(right)))

    def _swept(self, right: Array, sweeps: int) -> Array:
        """Return the sum of the first terms of ``Σ_t (γ P)^t right``: all but e^-40 of it."""
        found = right
        for _ in range(sweeps):
            found = right + self.discount * (self.chain @ found)
        return found

    def bound(self, sizes: Array, unit: float) -> Array:
        """Return some E ≥ sizes + γ P E, verified, (S,); infinite where floats hold none.

        Parameters
        ----------
        sizes : (S,), ≥ 0.
        unit : the relative error of a sum over a row.
        """
        left = 1 - self.discount
        grow = max(2.0**-10, 16 * unit / left)
        if not (grow < 1 and np.isfinite(sizes).all()):
            return np.full(sizes.shape, np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            sizes = sizes + underflow(len(sizes))
            error = np.maximum(self.solve(sizes), 0.0) * (1 + grow)
            if (error >= (sizes + self.discount * (self.chain @ error)) * (1 + unit)).all():
                return error
            return np.full(sizes.shape, float(sizes.max()) / left * (1 + grow))


class Played(NamedTuple):
    """Actions with their values.

    Attributes
    ----------
    actions : what is played, (S,).
    values : its values in floats, (S,).
    error : a bound on their error, (S,).
    factors : of the chain.
    """

    actions: Integers
    values: Array
    error: Array
    factors: Factors


def evaluated(problem: Problem, actions: Integers) -> Played:
    """Return the values of actions (S,) with a bound on their error, state by state."""
    mdp = problem.mdp
    mean = problem.of(actions)
    factors = Factors(mdp.matrix[problem.rows(actions)], mdp.discount)
    values = factors.solve(mean)
    values = values + factors.solve(mean + mdp.discount * (factors.chain @ values) - values)
    slop = np.broadcast_to(problem.slop, mdp.shape)[np.arange(mdp.n_states), actions]
    return Played(actions, values, error_of(factors, mean, slop, values, problem.unit), factors)


def error_of(factors: Factors, mean: Array, slop: Array, values: Array, unit: float) -> Array:
    """Return a bound (S,) on the error of values under a chain with rewards known up to `slop`."""
    gamma = factors.discount
    met = np.abs(mean) + gamma * (factors.chain @ np.abs(values)) + np.abs(values)
    residual = np.abs(mean + gamma * (factors.chain @ values) - values)
    return factors.bound(residual + unit * met + slop, unit)


class Gains(NamedTuple):
    """What each choice gains over what is played, (S, n), and how wrong that may be, (S, n)."""

    q: Array
    gain: Array
    width: Array


def gains(problem: Problem, values: Array, error: Array) -> Gains:
    """Return the gains of all choices over a policy with these values (S,), off by `error`."""
    mdp, gamma = problem.mdp, problem.mdp.discount
    ahead = gamma * (mdp.matrix @ np.column_stack([values, np.abs(values), error]))
    q = problem.reward + ahead[:, 0].reshape(mdp.shape)
    met = np.abs(problem.reward) + ahead[:, 1].reshape(mdp.shape) + np.abs(values)[:, None]
    width = (ahead[:, 2].reshape(mdp.shape) + error[:, None]) * (1 + problem.unit)
    width = width + problem.unit * met + problem.slop + underflow(mdp.n_states)
    return Gains(q, q - values[:, None], width)


def improved(problem: Problem, actions: Integers) -> tuple[Played, Gains, int]:
    """Improve actions (S,) until no choice is better beyond the bound on the error.

    Every step is an improvement in truth, so there is no cycle. Returns what is played in the end,
    the gains over it, and the number of steps.
    """
    steps = 0
    while True:
        played = evaluated(problem, actions)
        found = gains(problem, played.values, played.error)
        sure = np.where(found.gain > found.width, found.gain, -np.inf)
        better = sure.max(axis=1) > 0
        if not better.any():
            return played, found, steps
        actions = np.where(better, sure.argmax(axis=1), actions)
        steps += 1


class Decision(NamedTuple):
    """What is known of every choice.

    Attributes
    ----------
    played : what is played in the end, optimal where nothing is undecided.
    gains : those over what is played.
    optimal : the choices that are optimal, and those undecided, (S, n).
    undecided : the choices of which it is not known, (S, n).
    doubt : how much an undecided choice may gain at most.
    """

    played: Played
    gains: Gains
    optimal: Mask
    undecided: Mask
    doubt: float


def decide(problem: Problem, played: Played, found: Gains, *, exact: bool = False) -> Decision:
    """Decide which choices are optimal.

    Parameters
    ----------
    played, found : from `improved`.
    exact : solve exact systems of up to 1,200 states that lead to each other; else up to 64 (40
        without python-flint in either case).
    """
    if np.ptp(problem.reward) == 0 and not np.any(problem.slop):
        everything = np.ones(problem.mdp.shape, dtype=bool)
        return Decision(played, found, everything, ~everything, 0.0)
    while True:
        actions = played.actions
        states = np.arange(len(actions))
        undecided = np.abs(found.gain) <= found.width
        undecided[states, actions] = False
        optimal = undecided.copy()
        optimal[states, actions] = True
        s, b = np.nonzero(undecided)
        if s.size:
            same = _identical(problem, s, b, actions[s])
            undecided[s[same], b[same]] = False
            s, b = s[~same], b[~same]
        if not s.size:
            return Decision(played, found, optimal, undecided, 0.0)
        signs, doubt = _signs(problem, played, s, b, exact)
        known = signs != UNKNOWN
        undecided[s[known], b[known]] = False
        optimal[s[signs < 0], b[signs < 0]] = False
        if not (signs == 1).any():
            return Decision(played, found, optimal, undecided, doubt)
        better = np.flatnonzero(signs == 1)
        actions = actions.copy()
        actions[s[better]] = b[better]
        played, found, _ = improved(problem, actions)


def sharpened(problem: Problem, played: Played) -> Played:
    """Return what is played with values refined by exact residuals, nearly to their last bit.

    **Cost** arithmetic on Python's integers, some 20 passes over the chain.
    """
    rows = problem.mdp.exact_rows(problem.rows(played.actions))
    reward = problem.exact(problem.rows(played.actions))
    fine = _Refined.of(rows, reward, problem.mdp.exact_discount, played, problem.unit)
    values = _reals(fine.values, fine.bits)
    error = fine.error * (1 + 4 * UNIT) + 2 * UNIT * np.abs(values)
    better = error < played.error
    return played._replace(
        values=np.where(better, values, played.values), error=np.where(better, error, played.error)
    )


UNKNOWN = 2


def _identical(problem: Problem, s: Integers, b: Integers, other: Integers) -> Mask:
    """Return for pairs of choices (s, b), (s, other) whether reward and row are the same."""
    n = problem.mdp.n_choices
    one, two = s * n + b, s * n + other
    apart = problem.mdp.matrix[one] - problem.mdp.matrix[two]
    largest = abs(apart).max(axis=1)
    near = largest.toarray() if is_sparse(largest) else largest
    same: Mask = np.ravel(near) <= problem.unit
    at = np.flatnonzero(same)
    if at.size:
        rewards = problem.exact(one[at]) == problem.exact(two[at])
        rows = _equal_rows(problem.mdp.exact_rows(one[at]), problem.mdp.exact_rows(two[at]))
        same[at] = np.asarray(rewards, dtype=bool) & rows
    return same


def _equal_rows(one: ExactRows, two: ExactRows) -> Mask:
    return np.array([one.row(i) == two.row(i) for i in range(len(one.denominators))], dtype=bool)


def _signs(
    problem: Problem, played: Played, s: Integers, b: Integers, exact: bool
) -> tuple[Integers, float]:
    """Return the signs of the gains of choices (s, b) over what is played, and the doubt left.

    A sign is −1, 0, 1, or `UNKNOWN`.
    """
    mdp, gamma = problem.mdp, problem.mdp.exact_discount
    rows = mdp.exact_rows(problem.rows(played.actions))
    reward = problem.exact(problem.rows(played.actions))
    choices = s * mdp.n_choices + b
    other, gained = mdp.exact_rows(choices), problem.exact(choices)
    ahead = np.unique(np.append(other.indices, s))
    size = largest_class(rows, ahead)
    quick, longest = (QUICK, LARGEST) if has_flint() else (WITHOUT_FLINT, WITHOUT_FLINT)
    signs, doubt = np.full(s.size, UNKNOWN, dtype=np.int64), np.zeros(s.size)
    if size > quick:
        fine = _Refined.of(rows, reward, gamma, played, problem.unit)
        signs, doubt = fine.signs(s, other, gained)
    open_ = np.flatnonzero(signs == UNKNOWN)
    wide = not (doubt[open_] <= 2.0**-60 * np.abs(played.values[s[open_]])).all()
    if open_.size and size <= (longest if exact or wide else quick):
        values = discounted_sums(rows, gamma, reward, ahead)
        gain = gained[open_] + gamma * other.take(open_).times(values) - values[s[open_]]
        signs[open_] = [(x > 0) - (x < 0) for x in gain]
    return signs, float(doubt[signs == UNKNOWN].max(initial=0.0))


@dataclass(frozen=True, eq=False)
class _Refined:
    """Values in fixed point, integers over ``2^bits``, with a bound on their error."""

    bits: int
    discount: Fraction
    unit: float
    values: Vector
    error: Array

    @classmethod
    def of(
        cls, rows: ExactRows, reward: Vector, discount: Fraction, played: Played, unit: float
    ) -> _Refined:
        """Refine float values by exact residuals until only those of fixed point are left."""
        sizes = np.abs(played.values)
        exponents = np.frexp(sizes[(sizes > 0) & np.isfinite(sizes)])[1]
        bits = BITS - min(int(exponents.min(initial=0)), 0)
        found = cls(bits, discount, unit, _fixed(played.values, bits), played.error)
        residual, least = found._backup(rows, reward) - found.values, None
        for _ in range(ROUNDS):
            largest = max(map(abs, residual.tolist()))
            if largest <= FLOOR or (least is not None and 2 * largest > least):
                break
            step = played.factors.solve(_reals(residual, bits))
            found = replace(found, values=found.values + _fixed(step, bits))
            residual, least = found._backup(rows, reward) - found.values, largest
        left = np.abs(_reals(residual, bits)) * (1 + 4 * UNIT) + math.ldexp(FLOOR, -bits)
        return replace(found, error=played.factors.bound(left, unit))

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
        width = (self.error[s] + ahead) * (1 + self.unit) + math.ldexp(FLOOR, -self.bits)
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
