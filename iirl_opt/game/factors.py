"""The factors of ``I − γ P``, and bounds on what a solution by them is off, state by state.

A float evaluation ``V̂`` of a policy π comes with a bound: any E with

    E ≥ |ρ| + rounding + γ P_π E

bounds ``|V̂ − V_π|``, ρ being the residual ``r_π + γ P_π V̂ − V̂``, for the error is the discounted
sum of residuals that π itself meets. So a penalty in a state that π never enters adds nothing.

**Source** the bound is the componentwise one of a monotone contraction, e.g. Puterman (1994),
theorem 6.2.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import lu_factor, lu_solve
from scipy.sparse.linalg import splu

from iirl_opt.game.kernel import Matrix, is_sparse

__all__ = ["DENSE_STATES", "UNIT", "Factors", "error_of", "underflow"]

Array = NDArray[np.float64]

UNIT = float(np.finfo(float).eps) / 2

# Below the first size a dense factorisation beats a sparse one; above the second, fill-in of I − γP
# makes it dearer than so many sweeps (random sparse kernels; grids would bear more).
DENSE_STATES, SPARSE_STATES, SWEEPS = 128, 2000, 5000


def underflow(n: int) -> float:
    """Return a bound on what is lost to underflow in a row of n entries."""
    return (4 * n + 64) * float(np.finfo(float).smallest_subnormal)


class Factors:
    """The factors of ``I − γ P`` for a chain P, (S, S), or sweeps where these are cheaper."""

    chain: Matrix
    discount: float
    _solve: Callable[[Array], Array]

    def __init__(self, chain: Matrix, discount: float) -> None:
        self.chain, self.discount = chain, discount
        n, sweeps = chain.shape[0], math.ceil(40 / (1 - discount))
        if n > SPARSE_STATES and sweeps <= SWEEPS:
            self._solve = lambda right: self._swept(right, sweeps)
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


def error_of(factors: Factors, mean: Array, slop: Array, values: Array, unit: float) -> Array:
    """Return a bound (S,) on the error of values under a chain with rewards known up to `slop`."""
    gamma = factors.discount
    met = np.abs(mean) + gamma * (factors.chain @ np.abs(values)) + np.abs(values)
    residual = np.abs(mean + gamma * (factors.chain @ values) - values)
    return factors.bound(residual + unit * met + slop, unit)
