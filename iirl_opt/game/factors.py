"""Systems of ``I − γ P``, and bounds on what a solution of them is off, state by state.

A float evaluation ``V̂`` of a policy π comes with a bound: any E with

    E ≥ |ρ| + rounding + γ P_π E

bounds ``|V̂ − V_π|``, ρ being the residual ``r_π + γ P_π V̂ − V̂``, for the error is the discounted
sum of residuals that π itself meets. So a penalty in a state that π never enters adds nothing. The
bound holds whatever found V̂, so the cheapest way does. Sweeps need as many as a chain needs to mix,
however near one γ is; a Krylov method bears some slow modes; and factors of ``I − γ P`` are filled
in by chains that mix fast. Sweeps end where they bring little, steps where they cost what factors
are expected to.

**Source** the bound is the componentwise one of a monotone contraction, e.g. Puterman (1994),
theorem 6.2.2; BiCGSTAB is van der Vorst's (1992). I − γP is diagonally dominant by rows, so it is
factored in symmetric order without pivots (Wilkinson: entries at most double).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.game.kernel import Matrix, is_sparse

__all__ = ["DENSE_STATES", "UNIT", "Factors", "error_of", "row_units", "underflow"]

Array = NDArray[np.float64]

UNIT = float(np.finfo(float).eps) / 2

# Up to so many states a dense factorisation is the cheapest way.
DENSE_STATES = 256

# A Krylov method stops at this share of the right side. It is begun where what factors cost pays so
# many steps: what slow chains need, these over the root of 1 − γ, and at least, and at most.
SHARE, SLOW, FEWEST, MOST = 1e-8, 32, 32, 1000

# Sweeps until one looks at what they bring, and the share that has to be left at most.
BATCH, MIXING = 8, 1 / 16

# All but e^-40 of a discounted sum is within 40/(1 − γ) terms.
TERMS = 40

# A residual is at rounding within this share of the bound on it; how often a bound is corrected.
CLOSE, TRIES = 0.5, 6

# Milliseconds, measured: of a factorisation a state times the width of its graph, that width cubed
# (what fills in), and a dense one a state cubed; of a sweep, a number in it, and a state a step.
FILLED, CUBED, DENSE, SWEEP, PRODUCT, VECTORS = 1.7e-5, 8e-8, 1e-7, 0.015, 1e-6, 1e-5


def underflow(n: int, largest: float = 1.0) -> float:
    """Return a bound on what underflow loses in a product with a row of n entries.

    Numbers up to `largest`: of what is lost of a probability they are multiples.
    """
    return (4 * n + 64) * float(np.finfo(float).smallest_subnormal) * (1 + largest)


def row_units(matrix: Matrix, nearest: bool, terms: int) -> Array:
    """Return the relative error of a sum over each row of a kernel, (rows,).

    That is of its rounding, and of the row's as an image: the nearest floats, or else floats that
    sum to one within two units an entry, or are divided by their sum. `terms` is the number of
    rows of which each is the mean.
    """
    sparse = is_sparse(matrix)
    entries = np.diff(matrix.indptr) if sparse else np.count_nonzero(matrix, axis=1)
    return np.asarray(((1 if nearest else 3) * entries + 4 * terms + 8) * UNIT)


class Factors:
    """Solves systems of ``I − γ P`` for a chain P, (S, S); factored only where that is cheaper.

    Parameters
    ----------
    chain : (S, S), ≥ 0; `bound` wants rows that sum to one.
    discount : 0 ≤ γ < 1.
    nearest, terms : as for `row_units`.
    """

    chain: Matrix
    discount: float
    units: Array
    _mixes: bool
    _direct: Callable[[Array], Array] | None

    def __init__(
        self, chain: Matrix, discount: float, nearest: bool = False, terms: int = 1
    ) -> None:
        self.chain = chain.tocsr() if is_sparse(chain) else chain
        self.discount, self.units = discount, row_units(chain, nearest, terms)
        self._direct, self._mixes = None, chain.shape[0] > DENSE_STATES

    def solve(self, right: Array, near: Array | None = None) -> Array:
        """Return the solution (S,) with residuals of the size of rounding, where floats reach it.

        `near` is where to begin.
        """
        found = self.approximate(right) if near is None else near
        off, excess = self._off(right, found)
        while excess > CLOSE:
            factored = self._direct is not None
            better = found + self.approximate(off)
            rest, least = self._off(right, better)
            slow = not least <= excess / 2
            if slow and not factored and not min(least, excess) <= 1:
                # What is small beside a mistake is found anew: no correction is as small.
                self._mixes, self._steps = False, 0
                better = self.approximate(right)
                rest, least = self._off(right, better)
            if least < excess:
                found, off, excess = better, rest, least
            if slow and (factored or excess <= 1):
                break
        return found

    def _off(self, right: Array, found: Array) -> tuple[Array, float]:
        """Return the residual where it is not of the size of rounding, and how often it is that.

        What is at rounding is left, so that a correction is as small as what it corrects.
        """
        ahead, met = self.discount * (self.chain @ np.column_stack([found, np.abs(found)])).T
        residual = right + ahead - found
        rounding = self.units * (np.abs(right) + met + np.abs(found)) + underflow(1)
        excess = np.abs(residual) / rounding
        return np.where(excess > CLOSE, residual, 0.0), float(excess.max())

    def approximate(self, right: Array, share: float = SHARE) -> Array:
        """Return a solution (S,) that is off by a share of the right side, or some digits only."""
        # In a unit, a power of two, in which squares neither overflow nor vanish.
        unit = 2.0 ** min(int(np.frexp(np.abs(right).max())[1]), 1023)
        scaled, found = right / unit, np.zeros(right.shape)
        if self._mixes:
            found, self._mixes = self._mixed(scaled, share)
        if not self._mixes:
            stepped = self._stepped(scaled, found, share) if self._steps else None
            if stepped is None:
                self._direct = self._direct or self._factored()
                stepped = self._direct(np.ascontiguousarray(scaled))
            found = stepped
        return np.asarray(unit * found)

    def _mixed(self, right: Array, share: float) -> tuple[Array, bool]:
        """Return a solution by sweeps in which the chain mixes, and whether it does so fast.

        The middle of a residual is corrected for at once, as rows sum to one; what is left of it
        then shrinks as fast as values from all states become alike.
        """
        found, rest = np.zeros(right.shape), right
        size = most = float(np.abs(right).max())
        while size > share * most:
            before = size
            for _ in range(BATCH):
                middle = (float(rest.max()) + float(rest.min())) / 2
                rest = rest - middle
                found += rest + middle / (1 - self.discount)
                rest = self.discount * (self.chain @ rest)
            size = float(np.abs(rest).max())
            if not size <= MIXING * before:
                return found, False
        return found, True

    @cached_property
    def _steps(self) -> int:
        """How many steps of a Krylov method may be taken before factors are the cheaper way."""
        affordable = int(self._dearness / (2 * self._sweep + VECTORS * self.chain.shape[0]))
        needed = min(max(FEWEST, SLOW / math.sqrt(1 - self.discount)), MOST)
        return affordable if affordable >= needed else 0

    def _stepped(self, right: Array, found: Array, share: float) -> Array | None:
        """Return a solution by a Krylov method, or None where it costs more than it is worth."""
        from scipy.sparse.linalg import bicgstab

        failed, left = -1, self._steps

        def count(_: Array) -> None:
            self._steps -= 1

        with np.errstate(all="ignore"):
            # It breaks down where states of the right side are not come back to, and begins anew.
            while failed < 0 and 0 < self._steps <= left:
                left = self._steps - 1
                found, failed = bicgstab(
                    self._system, right, found, rtol=share, maxiter=left + 1, callback=count
                )
        self._steps = 0 if failed or not np.isfinite(found).all() else max(self._steps, 0)
        return np.asarray(found) if self._steps else None

    def _factored(self) -> Callable[[Array], Array]:
        """Return a solver by factors, or by sweeps where these are cheaper still."""
        from scipy.linalg import lu_factor, lu_solve
        from scipy.sparse.linalg import splu

        n, sweeps = self.chain.shape[0], math.ceil(TERMS / (1 - self.discount))
        if not is_sparse(self.chain) or n <= DENSE_STATES:
            system = self._system.toarray() if is_sparse(self._system) else self._system
            factors = lu_factor(system, check_finite=False)
            return lambda right: lu_solve(factors, right, check_finite=False)
        if sweeps * self._sweep < self._dearness:
            return lambda right: self._swept(right, sweeps)
        symmetric = {"SymmetricMode": True}
        found: Any = splu(
            self._system.tocsc(),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options=symmetric,
        )
        solve: Callable[[Array], Array] = found.solve
        return solve

    def _swept(self, right: Array, sweeps: int) -> Array:
        """Return the sum of the first terms of ``Σ_t (γ P)^t right``: all but e^-40 of it."""
        found = right
        for _ in range(sweeps):
            found = right + self.discount * (self.chain @ found)
        return found

    @cached_property
    def _system(self) -> Matrix:
        if not is_sparse(self.chain):
            return np.eye(len(self.chain)) - self.discount * self.chain
        one = sp.eye_array(self.chain.shape[0], format="csr")
        return sp.csr_array(one - self.discount * self.chain)

    @property
    def _sweep(self) -> float:
        """What a sweep costs, in milliseconds; a step costs two."""
        numbers = self.chain.nnz if is_sparse(self.chain) else self.chain.size
        return float(SWEEP + PRODUCT * (numbers + 2 * self.chain.shape[0]))

    @cached_property
    def _dearness(self) -> float:
        """What a factorisation is expected to cost, in milliseconds."""
        n = self.chain.shape[0]
        if n <= DENSE_STATES:
            return 0.0
        if not is_sparse(self.chain):
            return float(DENSE * n**3)
        width = _width(self.chain)
        return float(FILLED * n * width + CUBED * width**3)

    def bound(self, sizes: Array) -> Array:
        """Return some E ≥ sizes + γ P E, verified, (S,), for sizes ≥ 0; infinite if there is none.

        None of it is much more than twice as wide as it need be, as far as floats go.
        """
        left, unit = 1 - self.discount, float(self.units.max())
        grow = max(2.0**-10, 16 * unit / left)
        if not (grow < 1 and np.isfinite(sizes).all()):
            return np.full(sizes.shape, np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            sizes = sizes + underflow(len(sizes), float(sizes.max()) / left)
            error, sound = self.approximate(sizes, grow), np.inf * sizes
            # What is tiny beside what play leads to is raised, so that it covers the rounding.
            sizes = np.maximum(sizes, 2 * self.units / grow * self.discount * (self.chain @ error))
            for attempt in range(TRIES):
                error = np.maximum(error, sizes)
                ahead = self.discount * (self.chain @ error)
                lacking, wide = sizes + ahead - error, error * (1 + grow)
                if (wide >= (sizes + ahead * (1 + grow)) * (1 + self.units)).all():
                    sound = np.minimum(sound, wide)
                    if (lacking >= -sizes).all():
                        return wide
                if attempt == TRIES - 2:
                    self._mixes, self._steps = False, 0
                error = error + self.approximate(lacking, grow)
            return np.minimum(sound, float(sizes.max()) / left * (1 + grow))


def _width(chain: Matrix) -> int:
    """Return how many states are equally far from one: the width of a chain's graph.

    Of its largest part, without states that lead, or are led to from, far more states than others:
    an order of elimination leaves them to the end.
    """
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    n = chain.shape[0]
    many = 10 * math.isqrt(n)
    graph = sp.csr_array((np.ones(chain.nnz, np.int8), chain.indices, chain.indptr), chain.shape)
    rows, columns = np.diff(graph.indptr), np.bincount(graph.indices, minlength=n)
    if max(rows.max(), columns.max()) > many:
        kept = (rows <= many) & (columns <= many)
        graph = graph[kept][:, kept]
    if not graph.shape[0]:
        return int(n)
    graph = graph + graph.T
    count, part = connected_components(graph, directed=False)
    root = 0 if count == 1 else int((part == np.bincount(part).argmax()).argmax())
    order, before = breadth_first_order(graph, root, directed=True)
    steps, link = np.zeros(graph.shape[0], dtype=np.int64), np.where(before < 0, root, before)
    steps[order[1:]] = 1
    while (steps[link[order]] > 0).any():
        steps, link = steps + steps[link], link[link]
    return int(np.bincount(steps[order]).max())


def error_of(factors: Factors, mean: Array, slop: Array, values: Array) -> Array:
    """Return a bound (S,) on the error of values under a chain with rewards known up to `slop`."""
    ahead, size = factors.discount * (factors.chain @ np.column_stack([values, np.abs(values)])).T
    met = np.abs(mean) + size + np.abs(values)
    sizes = np.abs(mean + ahead - values) + factors.units * met + slop
    return factors.bound(sizes + underflow(len(values), float(np.abs(values).max())))
