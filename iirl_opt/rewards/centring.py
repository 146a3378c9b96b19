"""Newton's method for the barrier of unit rows in the simplex, from any point.

The barrier ``Σ log x + Σ ψ(G x)`` of `iirl_opt.rewards.centre` has the slope ``y = ψ'(u)`` at a
row's margin u, which solves ``φ(y) = u`` with ``φ(y) = 1/y − 1/(p − y)``. Newton's method in x
alone takes y from u. It stalls where rows are violated: there y is all but p and ψ straight, so
its curvature says nothing of how far the row is from being met.

The *primal–dual* step keeps a slope of its own for each row and linearises ``φ(y) = u`` in both.
Then rows that a point violates are met at the speed of those that it meets, so the centre of a
smaller set is a start for that of a larger one: a new row begins with the slope of one that passes
within a standard deviation. Each slope is kept in (0, p) by itself; x is, as a whole. Close to the
centre, steps in x alone take over, whose decrement says how close.

**Source** Nesterov & Nemirovskii 1994 (self-concordance); Wright 1997, Primal–Dual Interior-Point
Methods; Goffin & Vial 2002 (recovering a centre after many deep cuts).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

__all__ = ["Slopes", "approach", "direction", "line_search", "slope_of"]

Array = NDArray[np.float64]

# Below this decrement whole steps stay inside and converge quadratically (self-concordance).
WHOLE_STEP = 0.25

# The search along a step ends when a further Newton step would change its length by this share.
LINE_ACCURACY, LINE_STEPS = 1e-2, 40

# A primal-dual step goes no nearer than this share of the way to where an entry of x vanishes,
# and leaves this share of each slope, and of what lacks to the price.
INSIDE, LEFT = 0.9, 0.3

# Steps in x alone take over where what slopes lack is below the first of these, and x changes by
# less than the second, each in standard deviations.
CONSISTENT, SETTLED = 1.0, 2.0


class Slopes(NamedTuple):
    """The slopes y of rows and what they lack to the price, p − y, each to full accuracy."""

    y: Array
    rest: Array

    @classmethod
    def beginning(cls, margins: Array, deviations: Array, price: float) -> Slopes:
        """Return slopes to begin with: those of the logarithm, a standard deviation inside."""
        y = np.minimum(1 / np.maximum(margins, deviations), price / 2)
        return cls(y, price - y)

    def joined(self, other: Slopes) -> Slopes:
        """Return these and others."""
        y, rest = (np.concatenate(pair) for pair in zip(self, other, strict=True))
        return Slopes(y, rest)

    @property
    def margins(self) -> Array:
        """The margins φ(y) of which these are the slopes."""
        return 1 / self.y - 1 / self.rest

    @property
    def curvature(self) -> Array:
        """−ψ'' at these margins."""
        return 1 / (1 / self.y**2 + 1 / self.rest**2)


class Approach(NamedTuple):
    """A primal–dual step that was made.

    Attributes
    ----------
    x, slopes : where it led.
    gap : by how much the slopes are not those of the margins, in standard deviations.
    settled : whether steps in x alone may take over.
    factor : of the step's system, see `direction`.
    """

    x: Array
    slopes: Slopes
    gap: float
    settled: bool
    factor: Array


def slope_of(u: Array, price: float) -> tuple[Slopes, Array]:
    """Return the slopes ψ'(u) and −ψ''(u); both differences that could cancel are taken apart."""
    root = np.sqrt((price * u) ** 2 + 4)
    positive, negative = price * np.maximum(u, 0), price * np.maximum(-u, 0)
    above = np.where(u >= 0, 2 + positive + root, 2 + 4 / (root + negative))
    below = np.where(u <= 0, 2 + negative + root, 2 + 4 / (root + positive))
    slopes = Slopes(2 * price / above, 2 * price / below)
    return slopes, slopes.curvature


def direction(g: Array, x: Array, slope: Array, curvature: Array) -> tuple[Array, float, Array]:
    """Return Newton's step within ``Σ x = 1``, its decrement, and the factor of its system.

    The system is scaled by x, in which it is ``I + (G X)ᵀ D (G X)``.
    """
    weighted = g * x
    weighted *= np.sqrt(curvature)[:, None]
    hessian = weighted.T @ weighted
    hessian[np.diag_indices(x.size)] += 1
    try:
        factor = cholesky(hessian, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        # Beside large curvatures the identity is lost, unless they are not squared.
        whole = np.concatenate([np.eye(x.size), weighted])
        factor = np.asarray(np.linalg.qr(whole, mode="r")).T
    gradient = 1 + x * (slope @ g)
    half = solve_triangular(factor, np.stack([gradient, x], axis=1), lower=True, check_finite=False)
    # The decrement is the length of this, never less whatever the shift. Its product with the
    # gradient is rounding where slopes are large, and zero or negative far from the centre.
    free = half[:, 0] - (half[:, 1] @ half[:, 0]) / (half[:, 1] @ half[:, 1]) * half[:, 1]
    step = solve_triangular(factor, free, lower=True, trans="T", check_finite=False)
    return x * step, float(np.linalg.norm(free)), factor


def approach(g: Array, x: Array, slopes: Slopes) -> Approach:
    """Make a primal–dual step from x with these slopes of the rows g (m, n)."""
    curvature = slopes.curvature
    lack = curvature * (g @ x - slopes.margins)
    step, _, factor = direction(g, x, slopes.y - lack, curvature)
    ratio = step / x
    length = min(1.0, INSIDE / max(float(-ratio.min()), 1e-300))
    change = -length * (lack + curvature * (g @ step))
    change = np.clip(change, (LEFT - 1) * slopes.y, (1 - LEFT) * slopes.rest)
    slopes = Slopes(slopes.y + change, slopes.rest - change)
    x = x + length * step
    x /= x.sum()
    gap = float(np.sqrt(slopes.curvature @ (g @ x - slopes.margins) ** 2))
    settled = length == 1 and gap < CONSISTENT and float(ratio @ ratio) < SETTLED**2
    return Approach(x, slopes, gap, settled, factor)


def line_search(x: Array, step: Array, margins: Array, change: Array, price: float) -> float:
    """Return the length that maximises the barrier along the step, roughly.

    Safeguarded Newton steps for the zero of the slope, which falls; no matrix is met here.
    """
    shrinking = step < 0
    low, high = 0.0, float(np.min(-x[shrinking] / step[shrinking], initial=np.inf))
    if not np.isfinite(high):
        return 0.0
    length = min(1.0, 0.9 * high)
    for _ in range(LINE_STEPS):
        slopes, curvature = slope_of(margins + length * change, price)
        ratio = step / (x + length * step)
        rise, bend = ratio.sum() + slopes.y @ change, ratio @ ratio + curvature @ change**2
        low, high = (length, high) if rise > 0 else (low, length)
        if abs(rise) <= LINE_ACCURACY * bend * length:
            break
        nearer = length + rise / bend
        length = nearer if low < nearer < high else (low + high) / 2
    return length
