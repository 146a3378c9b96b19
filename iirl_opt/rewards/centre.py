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
penalty with price p). So any positive x is a start, and flat sets need no case of their own.
`iirl_opt.rewards.centring` has the steps.

**Source** Sonnevend 1986 and Goffin & Vial 2002 (centres and cuts); Nesterov & Nemirovskii 1994
(self-concordance, partial maximisation).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_solve, solve_triangular

from iirl_opt.checks import POSITIVE, RNG, array_of_floats, checked, is_a, whole
from iirl_opt.errors import InvalidArgument
from iirl_opt.printing.records import with_html
from iirl_opt.rewards.centring import (
    WHOLE_STEP,
    Slopes,
    approach,
    direction,
    line_search,
    slope_of,
)
from iirl_opt.rewards.constant import MaybeConstant

__all__ = ["Centre", "analytic_centre"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# A row left out counts as violated beyond this share of 1/p, where rows that cannot hold end.
THIN = 100.0

# By so many standard deviations a row left out must be violated to be added, and so near must the
# slopes be to those of the margins before such rows are looked for.
SHALLOW, EARLY = 0.1, 8.0

# Primal–dual steps with the same rows that may settle; there are rarely more than ten.
PATIENCE = 40

# Variances below this are rounding.
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Centre(MaybeConstant):
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

    Examples
    --------
    >>> centre = analytic_centre(np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]]) / np.sqrt(2))
    >>> centre.point.round(3).tolist()
    [0.1, 0.3, 0.6]
    >>> centre.spread(2, rng=0).shape
    (2, 3)
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
    _deviations: Array = field(repr=False)  # of rows at this or an earlier centre, inf if unknown

    def __repr__(self) -> str:
        kind = "a constant reward" if self.constant else "no constant reward"
        found = "converged" if self.converged else f"decrement {self.decrement:.1e}"
        return f"Centre({kind}, {int(self.active.sum())} rows active, {found})"

    _repr_html_ = with_html

    @property
    def _reward_found(self) -> Array:
        return self.point

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
        return np.asarray((rows @ self.point) / _deviation(rows, self.point, self.factor))

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
    rows : shape (rows, n), of norm one and mean zero, see `iirl_opt.rewards.unit_rows`. Give an
        equality as a row and its negative.
    price : of a unit of violation of a row, > 0.
    tolerance : on Newton's decrement.
    near : the centre of nearly the same rows, where Newton's method begins and rows are chosen; of
        the first of these rows, as a rule.
    keep : hold only so many rows, those of the least depth at `near`, and those that turn out to be
        violated. All by default. The centre is that of the rows held: `Centre.active`.
    max_iterations : Newton steps in all.

    Raises
    ------
    InvalidArgument

    **Cost** arithmetic: a product ``Gᵀ D G`` and a Cholesky factorisation a Newton step, of which
    there are 5 to 10 near an earlier centre, some 20 from the constant, and more where rows that
    were left out turn out to be violated.

    Examples
    --------
    >>> rows = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]]) / np.sqrt(2)  # r0 ≤ r1 ≤ r2
    >>> found = analytic_centre(rows)
    >>> found.converged, bool((found.margins > 0).all())
    (True, True)
    """
    g = np.asarray(rows, dtype=float)
    if not g.shape[1]:
        raise InvalidArgument("rows", f"have shape {g.shape}", "(rows, n), finite", g)
    if near is not None and near.point.size != g.shape[1]:
        allowed = f"one of {g.shape[1]}"
        raise InvalidArgument("near", f"is a point of {near.point.size} entries", allowed, near)
    most = len(g) if keep is None else min(keep, len(g))
    return _newton(g, _beginning(g, near, most, price), price, tolerance, max_iterations)


class _Beginning(NamedTuple):
    """Which rows to hold, where Newton's method begins, and deviations of all rows."""

    held: Integers
    x: Array
    slopes: Slopes
    deviations: Array


def _beginning(g: Array, near: Centre | None, most: int, price: float) -> _Beginning:
    """Return the beginning with so many rows: at a centre nearby, or at the constant.

    At the constant all margins are zero, so the latest rows are held.
    """
    m, n = g.shape
    deviations, multipliers = np.full(m, np.inf), np.zeros(m)
    if near is None:
        x, held = np.full(n, 1 / n), np.arange(m - most, m)
        return _Beginning(held, x, Slopes.beginning(g[held] @ x, x[0], price), deviations)
    margins, old = g @ near.point, len(near.margins)
    # What is known of rows of old is of use only if they are these rows.
    if old <= m and np.allclose(margins[:old], near.margins, rtol=1e-9, atol=1e-12):
        deviations[:old], multipliers[:old] = near._deviations, near.multipliers
    held = _shallowest(g, near, margins, deviations, most)
    fresh = Slopes.beginning(margins[held], deviations[held], price)
    known = multipliers[held]
    y = np.where((known > 0) & (known < price), known, fresh.y)
    return _Beginning(held, near.point, Slopes(y, price - y), deviations)


def _shallowest(g: Array, near: Centre, margins: Array, deviations: Array, most: int) -> Integers:
    """Return so many rows of the least depth at a centre, in order; put in their deviations.

    As rows join, nearly all deviations shrink. So those of earlier centres bound depths from below,
    and only rows that may be among the least are asked. Where one has grown, a row may be missed,
    a few in a hundred; that concerns the choice of rows alone.
    """
    depth, sure = margins / deviations, np.zeros(len(g), dtype=bool)
    while True:
        least = np.arange(most)
        if 0 < most < len(g):
            least = np.argpartition(depth, most - 1)[:most]
        asked = least[~sure[least]]
        if not asked.size:
            return np.sort(least)
        deviations[asked] = _deviation(g[asked], near.point, near.factor)
        depth[asked], sure[asked] = margins[asked] / deviations[asked], True


def _deviation(rows: Array, x: Array, factor: Array) -> Array:
    """Return the standard deviations (m,) of rows (m, n) under the barrier's normal law at x."""
    along = solve_triangular(factor, (rows * x).T, lower=True, overwrite_b=True, check_finite=False)
    pull = solve_triangular(factor, x, lower=True, check_finite=False)
    variance = np.einsum("ij,ij->j", along, along) - (pull @ along) ** 2 / (pull @ pull)
    return np.asarray(np.sqrt(np.maximum(variance, TINY)))


def _newton(g: Array, beginning: _Beginning, price: float, tolerance: float, limit: int) -> Centre:
    """Return the centre of the rows held and of those found violated on the way.

    Rows are looked for once steps have come near, so that few are added that the centre does not
    violate, and before they have settled, so that few steps are lost; and in the end. Should
    primal–dual steps not settle, damped ones begin at the constant, whence they converge.
    """
    held, x, slopes, deviations = beginning
    rows, steps = g[held], 0
    while True:
        found = _approached(rows, x, slopes, EARLY, limit - steps)
        steps += found.steps
        missed = _missed(g, held, found, price)
        if not missed.size:
            if found.factor.size and not found.settled:
                found = _approached(rows, found.x, found.slopes, 0.0, limit - steps)
                steps += found.steps
            astray = not found.settled and steps < limit
            begin = np.full(x.size, 1 / x.size) if astray else found.x
            found, decrement = _settled(rows, begin, price, tolerance, limit - steps)
            steps += found.steps
            missed = _missed(g, held, found, price)
            if not missed.size or steps >= limit:
                break
        x = found.x
        fresh = _deviation(g[missed], x, found.factor)
        slopes = found.slopes.joined(Slopes.beginning(g[missed] @ x, fresh, price))
        held, rows = np.concatenate([held, missed]), np.concatenate([rows, g[missed]])
    active, multipliers = np.zeros(len(g), dtype=bool), np.zeros(len(g))
    active[held], multipliers[held] = True, found.slopes.y
    gradient = 1 / found.x + found.slopes.y @ rows
    return Centre(
        point=found.x,
        margins=g @ found.x,
        multipliers=multipliers,
        active=active,
        residual=float(np.abs(found.x * (gradient - found.x @ gradient)).max()),
        decrement=decrement,
        iterations=steps,
        converged=decrement <= tolerance and not missed.size,
        price=price,
        factor=found.factor,
        _deviations=deviations,
    )


class _Found(NamedTuple):
    """What steps led to.

    Attributes
    ----------
    x, slopes : a point, and slopes of the rows held.
    factor : of the last system; empty far from the centre, where none is of use.
    steps : how many.
    settled : whether steps in x alone may go on.
    """

    x: Array
    slopes: Slopes
    factor: Array
    steps: int
    settled: bool


def _approached(rows: Array, x: Array, slopes: Slopes, enough: float, limit: int) -> _Found:
    """Make primal–dual steps until slopes lack no more than `enough`, or x has settled."""
    steps = 0
    while steps < min(limit, PATIENCE):
        made = approach(rows, x, slopes)
        x, slopes, steps = made.x, made.slopes, steps + 1
        if made.settled or made.gap <= enough:
            return _Found(x, slopes, made.factor, steps, made.settled)
    return _Found(x, slopes, np.zeros((0, 0)), steps, False)


def _settled(
    rows: Array, x: Array, price: float, tolerance: float, limit: int
) -> tuple[_Found, float]:
    """Make damped Newton steps until the decrement is at most `tolerance`; return it, too."""
    steps = 0
    while True:
        margins = rows @ x
        slopes, curvature = slope_of(margins, price)
        step, decrement, factor = direction(rows, x, slopes.y, curvature)
        if decrement <= tolerance or steps == limit:
            return _Found(x, slopes, factor, steps, True), decrement
        if decrement > WHOLE_STEP:
            step = line_search(x, step, margins, rows @ step, price) * step
        x = x + step
        x /= x.sum()
        steps += 1


def _missed(g: Array, held: Integers, found: _Found, price: float) -> Integers:
    """Return rows that are not held and violated, at most n of them, the deepest first."""
    if not found.factor.size:
        return np.zeros(0, dtype=np.int64)
    margins = g @ found.x
    margins[held] = np.inf
    out = np.flatnonzero(margins < -THIN / price)
    depth = margins[out] / _deviation(g[out], found.x, found.factor)
    first = np.argsort(depth)[: found.x.size]
    return np.asarray(out[first[depth[first] < -SHALLOW]])
