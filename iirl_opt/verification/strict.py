"""The strict environment: b1 is strictly best under the hypothesis, whatever the tie rule.

Its rows are ``u_i + ε w`` with u_i the corners of a simplex in ``span(r, 1)^⊥`` and w the centred
hypothesis, so that every follower with a reward of the class answers b1, and who answers b1
everywhere has a reward within ``arctan((N − 2) ε)`` of r. With the rational rows of
`iirl_opt.verification.ideal` in the place of a regular simplex the angle is computed exactly, from
the extreme rays of the cone that the rows cut out.

Source: ours, a repair of Corollary 2 of the paper.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import FLAG, NOT_NEGATIVE, checked, unmasked, whole
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.exact.numbers import UNREADABLE, as_fraction, as_reals
from iirl_opt.game.reward import tie_tolerance
from iirl_opt.rewards.affine_rows import basis_across, closed_rows
from iirl_opt.rewards.state_reward import StateReward
from iirl_opt.verification.environment import (
    Environment,
    checked_discount,
    integer_kernel,
    mdp_of,
)

__all__ = ["strict_environment"]

Array = NDArray[np.float64]

EPS = float(np.finfo(float).eps)


@checked(
    reward=unmasked(InvalidReward),
    n_actions=whole(1),
    planning_tolerance=NOT_NEGATIVE,
    rational=FLAG,
)
def strict_environment(
    reward: ArrayLike,
    discount: Any,
    epsilon: float | Fraction | str | None = None,
    n_actions: int = 2,
    *,
    planning_tolerance: float | None = None,
    rational: bool = False,
) -> Environment:
    """Return an environment in which b1 is strictly best under the reward, whatever the tie rule.

    Under any ``λ r + c`` with λ > 0 the follower answers b1 everywhere. Whose answer is b1
    everywhere has a constant reward, or one within the angle of `Environment.angle_bound` of r.

    Parameters
    ----------
    reward : the hypothesis, shape (S,), not constant unless S = 1.
    discount : 0 < γ < 1.
    epsilon : the share of w in the rows. By default ``100 N τ / (γ |r − mean r|)``, which leaves a
        hundredfold of room for the follower's planning tolerance τ, and never below 1e-10.
    n_actions : B ≥ 2; the actions after the second are copies of it.
    planning_tolerance : τ, by how much in values the follower may err, in the unit of the reward;
        by default the tie tolerance of this library's own followers.
    rational : whether the rows are rational, over the basis of `ideal_environment` with its sum as
        last corner; the bound is then the largest over the extreme rays of the cone, computed
        exactly, and at most ``ε sqrt((N−2)² + N − 3)``. Otherwise the rows are a regular simplex in
        floating point with the tight bound ``(N−2) ε``.

    Raises
    ------
    InvalidReward
        A constant hypothesis: everybody's answers are optimal for it, so none can confirm it.
    InvalidArgument
        γ = 0, or an ε whose effect floats do not carry.

    **Source** ours, a repair of Corollary 2. **Cost** arithmetic: a basis of S − 2 vectors.

    Examples
    --------
    >>> environment = strict_environment([0, 1, 2], 0.9, epsilon="1/100")
    >>> environment.kind, round(environment.angle_bound, 3)
    ('strict', 0.01)
    >>> bool((environment.exact_gaps[:, 1] > 0).all())  # b1 is strictly best
    True
    """
    r = StateReward.of(reward)
    gamma = checked_discount(discount, n_actions, r.size)
    if r.size == 1:
        mdp = mdp_of(integer_kernel(np.zeros((1, 1), dtype=object)), gamma, n_actions)
        share = None if epsilon is None else _read_epsilon(epsilon)
        return Environment(
            "strict", r.floats, mdp, None if share is None else float(share), Fraction(0), r
        )
    if r.is_constant:
        raise InvalidReward(
            "reward",
            "is constant",
            "a reward with a spread: every response is optimal for a constant, so none confirms it",
            float(r.numbers[0]),
        )
    share = _epsilon_of(r, gamma, epsilon, planning_tolerance, rational)
    if rational:
        rows, tan2 = _rational_rows(r, share)
        mdp = mdp_of(integer_kernel(rows), gamma, n_actions)
    else:
        mdp = mdp_of(_float_kernel(_regular_rows(r, float(share))), gamma, n_actions)
        tan2 = _rounded_bound(r.size, share) ** 2
    return Environment("strict", r.floats, mdp, float(share), tan2, r)


def _float_kernel(rows: Array) -> Array:
    """Return the same kernel (S, 2, S) in floats."""
    n = rows.shape[1]
    scale = np.minimum(1 / (n * rows.max(axis=1)), (1 - 1 / n) / (-rows).max(axis=1))
    second = np.clip(1 / n - scale[:, None] * rows, 0.0, 1.0)
    return np.stack([np.full_like(second, 1 / n), second], axis=1)


def _read_epsilon(epsilon: Any) -> Fraction:
    try:
        return as_fraction(epsilon)
    except UNREADABLE:
        raise InvalidArgument("epsilon", f"is {epsilon!r}", "a number > 0", epsilon) from None


def _epsilon_of(
    r: StateReward, gamma: Fraction, epsilon: Any, tolerance: float | None, rational: bool
) -> Fraction:
    """Return ε, checked, or by default what the follower's planning tolerance asks for.

    The least ε makes the gap ``γ ε |r| / N`` of an environment larger than the rounding of values,
    and is larger than that of the rows.
    """
    n, discount = r.size, float(gamma)
    rows = 0.0 if rational else 4 * float(_rounding_of_rows(n, Fraction(0)))
    least = max(1e-12, 8 * EPS * n / (discount * (1 - discount)), rows)
    if epsilon is not None:
        share = _read_epsilon(epsilon)
        if not (least <= share and float(as_reals(share)) < np.inf):
            raise InvalidArgument(
                "epsilon", f"is {epsilon}", f"{least:.3g} ≤ ε < ∞, which floats carry", epsilon
            )
        return share
    if tolerance is None:
        relative = tie_tolerance(r.unit, discount)
    elif 0 <= tolerance < np.inf:
        relative = float(as_reals(Fraction(tolerance) / r.spread))
    else:
        raise InvalidArgument("planning_tolerance", f"is {tolerance}", "0 ≤ τ < ∞", tolerance)
    default = 100 * n * relative / (discount * float(np.linalg.norm(r.unit)))
    if not default < np.inf:
        allowed = "a τ that is no larger than the reward's spread by orders of magnitude"
        raise InvalidArgument("planning_tolerance", f"is {tolerance}", allowed, tolerance)
    return Fraction(max(default, 1e-10, least))


def _rounded_bound(n: int, share: Fraction) -> Fraction:
    """Return a bound on the tangent for rows that are those of a regular simplex but for rounding.

    Let each row of the kernel be a positive multiple of ``u_i + ε w + e_i`` with ``|e_i| ≤ η``, and
    let no row be negative at ``x = α w + v``. As some ``u_i·v ≤ −|v|/k``, k = N − 2,

        |v|/k ≤ ε α + η (|α| + |v|),

    so that ``α > 0`` where η < ε and k η < 1, and then ``|v| (1/k − η) ≤ (ε + η) α``.
    """
    k, eta = n - 2, _rounding_of_rows(n, share)
    if k == 0:
        return Fraction(0)
    if k * eta >= 1 or eta >= share:
        raise InvalidArgument(
            "epsilon", f"is {float(share)}", "an ε whose rows floats carry", share
        )
    return k * (share + eta) / (1 - k * eta)


def _rounding_of_rows(n: int, share: Fraction) -> Fraction:
    """Return η: entries of the kernel are rounded by an ulp of one, of rows of 1/(N (1 + ε))."""
    return Fraction(EPS) * (8 * n * (math.isqrt(n) + 1) * (1 + share) + 16 * n)


def _regular_rows(r: StateReward, share: float) -> Array:
    """Return ``u_i + ε w`` for the corners u_i of a regular simplex, and w in the last state."""
    from scipy.linalg import helmert, null_space

    n = r.size
    w = r.direction
    if n == 2:
        return np.stack([w, w])
    span = null_space(np.stack([np.ones(n), w]))
    corners = helmert(n - 1).T * math.sqrt((n - 1) / (n - 2))
    return np.vstack([corners @ span.T + share * w, w])


def _rational_rows(r: StateReward, share: Fraction) -> tuple[NDArray[Any], Fraction]:
    """Return integer rows ``φ_i + ε w``, and the exact tan² of the cone that they span.

    With φ in the unit of the spread d the Gram matrix is ``G = I + C Cᵀ``, C of two columns. The
    extreme ray on which all rows but the j-th vanish has ``φ z = ε (1 − (k+1) e_j)`` beside w, up
    to sign, so ``tan² = ε² zᵀ G⁻¹ z``; for the last row z is 1.
    """
    exact, n, w = r.steps, r.size, r.weights
    length2 = int((w * w).sum())
    spread = int(exact.max() - exact.min())
    wide = Context(prec=40, Emax=10**9, Emin=-(10**9))
    size = wide.divide(Decimal(share.numerator), Decimal(share.denominator))
    ratio = Context(prec=6, Emax=10**9, Emin=-(10**9)).divide(size, wide.sqrt(Decimal(length2)))
    factor = Fraction(ratio)
    basis = basis_across(exact)
    rows = closed_rows(basis) * factor.denominator + factor.numerator * spread * w
    lo, hi = int(exact.argmin()), int(exact.argmax())
    columns = basis[:, [lo, hi]]
    inverse = _inverse_of_two(spread, columns)
    k = len(basis)
    rays = [np.ones(k, dtype=object), *(1 - (k + 1) * np.eye(k, dtype=int).astype(object))]
    largest = max((_squared(z, columns, spread, inverse) for z in rays), default=Fraction(0))
    return np.vstack([rows, w]) if n > 2 else np.stack([w, w]), factor**2 * length2 * largest


def _inverse_of_two(spread: int, columns: NDArray[Any]) -> list[list[Fraction]]:
    """Return ``(d² I + CᵀC)⁻¹`` for the 2×2 matrix of integer columns."""
    a, b, c = (int(x) for x in _gram_of_two(columns))
    a, c = a + spread**2, c + spread**2
    det = a * c - b * b
    return [[Fraction(c, det), Fraction(-b, det)], [Fraction(-b, det), Fraction(a, det)]]


def _gram_of_two(columns: NDArray[Any]) -> tuple[Any, Any, Any]:
    x, y = columns[:, 0], columns[:, 1]
    return (x * x).sum(), (x * y).sum(), (y * y).sum()


def _squared(
    z: NDArray[Any], columns: NDArray[Any], spread: int, inverse: list[list[Fraction]]
) -> Fraction:
    """Return ``zᵀ G⁻¹ z`` by the formula of Woodbury."""
    x, y = int((columns[:, 0] * z).sum()), int((columns[:, 1] * z).sum())
    (a, b), (_, c) = inverse
    return int((z * z).sum()) - (a * x * x + 2 * b * x * y + c * y * y)
