"""The analytic centre of a polyhedron in the simplex, by Newton's method and no program.

For unit rows G with nothing but the sign wanted of ``G x``, the centre of
``{x ≥ 0, Σ x = 1, G x ≥ 0}`` maximises ``Σ log x + Σ log(G x)``. It lies deep inside, so a
half-space through it cuts off much of the set, whereas a vertex says little about the rest.

Feasible sets of rewards are cones whose apex, the constant, is always there, but they may be flat:
with ties an observation and its opposite leave ``g x = 0``. Then no point has ``log(G x)`` finite.
So a row may be violated at a *price* p:

    ψ(u) = max over ξ > 0 of  log(u + ξ) + log ξ − p ξ        (up to a constant)

in place of ``log u``. ψ is finite for every u, its slope ``y = ψ'(u)`` solves
``1/y − 1/(p − y) = u``, hence 0 < y < p, and as a partial maximum of a self-concordant function it
is one itself. Where ``p u`` is large ψ is the logarithm; a row that cannot be positive ends within
some 1/p of zero; rows that contradict each other are violated where that costs least (an L1
penalty with price p). So any positive x is a start, damped Newton steps converge from the
constant, and flat sets need no case of their own.

**Source** Sonnevend 1986 and Goffin & Vial 2002 (centres and cuts); Nesterov & Nemirovskii 1994
(self-concordance, partial maximisation).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular

from iirl_opt.checks import POSITIVE, RNG, array_of_floats, checked, is_a, whole
from iirl_opt.errors import InvalidArgument

__all__ = ["Centre", "analytic_centre"]

Array = NDArray[np.float64]

# A row left out counts as violated beyond this share of 1/p, where rows that cannot hold end.
THIN = 100.0

# By so many standard deviations a row left out must be violated to be added, and so near must
# Newton's decrement be before they are looked for.
SHALLOW, CLOSE = 0.1, 5.0

# Variances below this are rounding.
TINY = 1e-300

# Below this decrement whole steps stay inside and converge quadratically (self-concordance).
WHOLE_STEP = 0.25

# The search along a step ends when a further Newton step would change its length by this share.
LINE_ACCURACY, LINE_STEPS = 1e-2, 40


@dataclass(frozen=True, eq=False)
class Centre:
    """An analytic centre and how well it meets its optimality conditions.

    Attributes
    ----------
    point : shape (n,); positive, sums to one.
    margins : ``G x`` for the unit rows, shape (rows,); negative where a row is violated.
    multipliers : the slope y of each row that was kept, 0 of those that were not; in (0, p).
    active : which rows the barrier holds, shape (rows,).
    residual : largest entry of ``x · (∇ − mean)``, recomputed: the gradient over the simplex in
        units where that of one coordinate's logarithm is one.
    decrement : Newton's decrement λ at the point; the barrier is within about λ²/2 of its optimum.
    iterations : Newton steps.
    converged : whether the decrement met the tolerance and no row left out is violated, by more
        than some 1/p and a tenth of a standard deviation.
    price : of a unit of violation.
    """

    point: Array
    margins: Array
    multipliers: Array
    active: NDArray[np.bool_]
    residual: float
    decrement: float
    iterations: int
    converged: bool
    price: float
    factor: Array = field(repr=False)

    def root(self) -> Array:
        """Return a square root (n, n) of the covariance C of the barrier's normal law.

        C is the inverse of the barrier's Hessian within ``Σ x = 1``: one standard deviation is the
        unit Dikin ellipsoid in every direction. A cheap picture of what the set leaves open.

        **Cost** arithmetic: n triangular systems.
        """
        return self._steps(np.eye(self.point.size))

    @checked(rng=RNG, n=whole(0), scale=POSITIVE)
    def spread(
        self, n: int, rng: int | np.random.Generator | None = None, *, scale: float = 1.0
    ) -> Array:
        """Return n points (n, width) of the law with covariance ``scale² C``: see `root`.

        Single points may lie outside the set. **Cost** arithmetic.
        """
        free = np.random.default_rng(rng).standard_normal((self.point.size, n))
        return np.asarray(self.point + scale * self._steps(free).T)

    @checked(rows=array_of_floats(2))
    def depth(self, rows: Array) -> Array:
        """Return the margins of rows (m, n) at the centre in standard deviations, shape (m,).

        Small where a row passes close to the centre, measured by how far the set reaches there;
        negative where the centre violates it.

        **Cost** arithmetic: m triangular systems.
        """
        if rows.shape[1] != self.point.size:
            allowed = f"(m, {self.point.size})"
            raise InvalidArgument("rows", f"has shape {rows.shape}", allowed, rows.shape)
        solve = partial(solve_triangular, self.factor, lower=True, check_finite=False)
        along = solve((rows * self.point).T)
        pull = solve(self.point)
        variance = (along**2).sum(axis=0) - (pull @ along) ** 2 / (pull @ pull)
        return np.asarray((rows @ self.point) / np.sqrt(np.maximum(variance, TINY)))

    def _steps(self, free: Array) -> Array:
        """Return the displacements (n, m) that independent standard normal columns lead to."""
        steps = solve_triangular(self.factor, free, lower=True, trans="T", check_finite=False)
        pull = cho_solve((self.factor, True), self.point, check_finite=False)
        steps -= np.outer(pull, self.point @ steps / (self.point @ pull))
        return np.asarray(self.point[:, None] * steps)

    @property
    def slack(self) -> Array:
        """By how much each row is violated, ≥ 0, shape (rows,): about 1/p on flat sets, else 0."""
        return np.maximum(-self.margins, 0.0)


@checked(
    tolerance=POSITIVE,
    price=POSITIVE,
    rows=array_of_floats(2),
    keep=whole(0),
    max_iterations=whole(0),
    near=is_a(Centre),
)
def analytic_centre(
    rows: ArrayLike,
    *,
    price: float = 1e8,
    tolerance: float = 1e-8,
    near: Centre | None = None,
    keep: int | None = None,
    max_iterations: int = 200,
) -> Centre:
    """Return the analytic centre of ``{x in the simplex: rows x ≥ 0}``.

    Parameters
    ----------
    rows : shape (rows, n), of norm one and mean zero: see
        `iirl_opt.rewards.unit_rows`. Give an equality as a row
        and its negative.
    price : of a unit of violation of a row, > 0.
    tolerance : on Newton's decrement.
    near : the centre of nearly the same rows; only used to choose rows.
    keep : hold only so many rows, those of the least depth at `near`, and those that turn out to be
        violated. All by default. The centre is that of the rows held: `Centre.active`.
    max_iterations : Newton steps in all.

    Raises
    ------
    InvalidArgument

    **Cost** arithmetic: a product ``Gᵀ D G`` and a Cholesky factorisation a Newton step, of which
    there are 20 to 60.
    """
    g = np.asarray(rows, dtype=float)
    if not g.shape[1]:
        raise InvalidArgument("rows", f"have shape {g.shape}", "(rows, n), finite", g)
    active = np.ones(len(g), dtype=bool)
    if keep is not None and keep < len(g):
        # Rows of mean zero all have margin zero at the constant: then the latest are taken.
        depth = -np.arange(len(g)) if near is None else near.depth(g)
        active[np.argsort(depth, kind="stable")[keep:]] = False
    return _newton(g, active, price, tolerance, max_iterations)


def _newton(
    g: Array, active: NDArray[np.bool_], price: float, tolerance: float, limit: int
) -> Centre:
    """Return the centre of the active rows and of those found violated on the way.

    Rows are looked for once Newton's steps have come near, so that few are added that the centre
    does not violate, and before they have settled, so that few steps are lost.
    """
    # At a violated row ψ is all slope and no curvature, so the constant is a better start than an
    # old centre.
    n = g.shape[1]
    x, held, steps = np.full(n, 1 / n), g[active], 0
    while True:
        margins = held @ x
        slope, curvature = _slope(margins, price)
        step, decrement, factor = _direction(held, x, slope, curvature)
        ends = decrement <= tolerance or steps == limit
        if ends or decrement <= CLOSE:
            centre = _record(g, active, x, price, factor, decrement, steps)
            missed = _missed(g, centre, price, n)
            if missed.size and steps < limit:
                active = active.copy()
                active[missed] = True
                held = g[active]
                continue
        if ends:
            return replace(centre, converged=decrement <= tolerance and not missed.size)
        if decrement > WHOLE_STEP:
            step = _line_search(x, step, margins, held @ step, price) * step
        x = x + step
        x /= x.sum()
        steps += 1


def _record(
    g: Array,
    active: NDArray[np.bool_],
    x: Array,
    price: float,
    factor: Array,
    decrement: float,
    steps: int,
) -> Centre:
    """Return a point with its margins, multipliers and residual, recomputed from all rows."""
    margins = g @ x
    multipliers = np.where(active, _slope(margins, price)[0], 0.0)
    gradient = 1 / x + multipliers @ g
    residual = float(np.abs(x * (gradient - x @ gradient)).max())
    return Centre(
        point=x,
        margins=margins,
        multipliers=multipliers,
        active=active,
        residual=residual,
        decrement=decrement,
        iterations=steps,
        converged=False,
        price=price,
        factor=factor,
    )


def _missed(g: Array, centre: Centre, price: float, most: int) -> NDArray[np.int64]:
    """Return rows that are not held and violated, at most so many, the deepest first."""
    out = np.flatnonzero(~centre.active & (centre.margins < -THIN / price))
    depth = centre.depth(g[out])
    first = np.argsort(depth)[:most]
    return out[first[depth[first] < -SHALLOW]]


def _slope(u: Array, price: float) -> tuple[Array, Array]:
    """Return ψ'(u) and −ψ''(u); both differences that could cancel are taken apart."""
    root = np.sqrt((price * u) ** 2 + 4)
    positive, negative = price * np.maximum(u, 0), price * np.maximum(-u, 0)
    above = np.where(u >= 0, 2 + positive + root, 2 + 4 / (root + negative))
    below = np.where(u <= 0, 2 + negative + root, 2 + 4 / (root + positive))
    y, rest = 2 * price / above, 2 * price / below
    return y, 1 / (1 / y**2 + 1 / rest**2)


def _direction(g: Array, x: Array, slope: Array, curvature: Array) -> tuple[Array, float, Array]:
    """Return Newton's step within ``Σ x = 1``, its decrement, and the factor of its system.

    The system is scaled by x, in which it is ``I + (G X)ᵀ D (G X)``.
    """
    weighted = np.sqrt(curvature)[:, None] * (g * x)
    hessian = weighted.T @ weighted
    hessian[np.diag_indices(x.size)] += 1
    try:
        factor = cholesky(hessian, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        # Beside large curvatures the identity is lost, unless they are not squared.
        whole = np.concatenate([np.eye(x.size), weighted])
        factor = np.asarray(np.linalg.qr(whole, mode="r")).T
    gradient = 1 + x * (slope @ g)
    solved = cho_solve((factor, True), np.stack([gradient, x], axis=1), check_finite=False)
    shift = (x @ solved[:, 0]) / (x @ solved[:, 1])
    step = solved[:, 0] - shift * solved[:, 1]
    decrement = max(float(step @ (gradient - shift * x)), 0.0) ** 0.5
    return x * step, decrement, factor


def _line_search(x: Array, step: Array, margins: Array, change: Array, price: float) -> float:
    """Return the length that maximises the barrier along the step, roughly.

    Safeguarded Newton steps for the zero of the slope, which falls; no matrix is met here.
    """
    shrinking = step < 0
    low, high = 0.0, float(np.min(-x[shrinking] / step[shrinking], initial=np.inf))
    if not np.isfinite(high):
        return 0.0
    length = min(1.0, 0.9 * high)
    for _ in range(LINE_STEPS):
        slope, curvature = _slope(margins + length * change, price)
        ratio = step / (x + length * step)
        rise, bend = ratio.sum() + slope @ change, ratio @ ratio + curvature @ change**2
        low, high = (length, high) if rise > 0 else (low, length)
        if abs(rise) <= LINE_ACCURACY * bend * length:
            break
        nearer = length + rise / bend
        length = nearer if low < nearer < high else (low + high) / 2
    return length
