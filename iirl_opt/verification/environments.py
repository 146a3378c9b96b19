"""Is the follower's reward this one, up to positive affine transformation? Ask, and prove it.

The leader turns the game into an `Environment` made for the hypothesis r. In both kinds the first
action b1 leads everywhere with the same probabilities, ``P_b1 = 1/N``, so that the feasible set of
the answer "b1 everywhere" is ``{x : (P_b1 − P_b2) x ≥ 0}`` for every γ > 0, and the environment is
free to choose these rows:

* `ideal_environment` (Theorem 2): rows ``φ_1 … φ_{N−2}`` that span ``span(r, 1)^⊥``, minus their
  sum, and ``w = r − mean(r)``. They cut out exactly the class of r. But under r both actions are
  tied in N − 1 states. A follower that breaks those ties its own way leaves a larger set, so a true
  hypothesis is confirmed with probability 2^{−(N−2)} under random ties, and always when all optimal
  actions are seen.
* `strict_environment`: rows ``u_i + ε w`` with u_i the corners of a simplex in the same span. Under
  r the first action is strictly better everywhere, so every follower answers b1, and who answers b1
  everywhere has a reward within ``arctan((N − 2) ε)`` of r.

`iirl_opt.verification.realisable` finds the commitment that makes a game an environment, and
`iirl_opt.verification.verify` judges the answer.

Sources: paper, Theorem 2, Corollary 2 and their proofs; the strict environment is ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import helmert, null_space

from iirl_opt.checks import FLAG, NOT_NEGATIVE, checked, unmasked, whole
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.exact.numbers import UNREADABLE, Vector, as_fraction, as_reals
from iirl_opt.exact.rows import ExactRows
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.game.values import tie_tolerance
from iirl_opt.rewards.affine import basis_across, class_rows, closed_rows
from iirl_opt.rewards.state_reward import StateReward

__all__ = [
    "Environment",
    "ideal_environment",
    "strict_environment",
]

Array = NDArray[np.float64]

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Environment:
    """A single-agent MDP made for a reward hypothesis; the first action is the predicted answer.

    Attributes
    ----------
    kind : ``"ideal"`` or ``"strict"``.
    reward : the hypothesis, shape (S,).
    mdp : the MDP with kernel (S, B, S); made of integers unless it is strict with rows in floating
        point, whose exact numbers are those floats divided by their sums.
    epsilon : the share of w in the rows of a strict environment; None for an ideal one.
    tan2_bound : the square of the tangent of the largest angle that b1 everywhere allows: exact
        where the rows are, otherwise a bound that holds for the rows as they were rounded.
    exact : the hypothesis in exact numbers, from which everything here is computed.
    """

    kind: Literal["ideal", "strict"]
    reward: Array
    mdp: MDP
    epsilon: float | None
    tan2_bound: Fraction
    exact: StateReward = field(repr=False)

    @property
    def discount(self) -> float:
        """The discount γ."""
        return self.mdp.discount

    @cached_property
    def kernel(self) -> Array:
        """The kernel, shape (S, B, S), b1 first."""
        return self.mdp.kernel

    @cached_property
    def game(self) -> TwoAgentMDP:
        """The environment as a game whose leader has one action."""
        return TwoAgentMDP.single_agent(self.mdp)

    @property
    def rows(self) -> Array:
        """``P_b1 − P_b2``, shape (S, S): who answers b1 everywhere has ``rows @ reward ≥ 0``."""
        return as_reals(self.exact_rows)

    @cached_property
    def exact_rows(self) -> Vector:
        """The rows in exact numbers."""
        n, n_actions = self.mdp.shape
        every = np.arange(n) * n_actions
        rows: ExactRows = self.mdp.rational.rows
        return np.asarray(rows.take(every).dense() - rows.take(every + n_actions - 1).dense())

    @property
    def telling(self) -> NDArray[np.bool_]:
        """The states in which the actions differ, shape (S,)."""
        return np.asarray((self.exact_rows != 0).any(axis=1))

    @cached_property
    def exact_gaps(self) -> Vector:
        """By how much b1 is better than each action under the hypothesis, Fractions (S, B).

        As ``P_b1`` leads everywhere alike, its values are the reward but for a constant, and the
        gaps ``γ (P_b1 − P_b) r``.
        """
        ahead = self.mdp.rational.rows.times(self.exact.numbers - min(self.exact.numbers))
        ahead = ahead.reshape(self.mdp.shape)
        return np.asarray(self.mdp.rational.discount * (ahead[:, :1] - ahead))

    @property
    def tan_bound(self) -> float:
        """The tangent of the largest angle that b1 everywhere allows; 0 means exact."""
        return math.sqrt(self.tan2_bound)

    @property
    def angle_bound(self) -> float:
        """The angle itself, in radians."""
        return math.atan(self.tan_bound)

    @property
    def gap(self) -> float:
        """By how much b1 is at least better under the hypothesis, where the actions differ at all.

        In the unit of the hypothesis's values; zero in an ideal environment with N ≥ 3.
        """
        gaps = self.exact_gaps[self.telling, -1]
        return float(as_reals(max(min(gaps), Fraction(0)))) if gaps.size else 0.0

    def __repr__(self) -> str:
        share = "" if self.epsilon is None else f", epsilon={self.epsilon:g}"
        return f"Environment({self.kind}{share}, tan θ ≤ {self.tan_bound:.3g}, {self.mdp!r})"


@checked(reward=unmasked(InvalidReward), n_actions=whole(1))
def ideal_environment(reward: ArrayLike, discount: Any, n_actions: int = 2) -> Environment:
    """Return the environment of Theorem 2: b1 everywhere leaves exactly the class of the reward.

    Always rational: a float is the dyadic rational that it is, so a positive factor, or a shift
    that loses no bit, gives the same environment. The basis of ``span(r, 1)^⊥`` is not orthonormal:
    the vector of state s moves its probability to the states of the least and the largest reward,
    in the proportion that keeps the mean reward.

    Parameters
    ----------
    reward : the hypothesis, shape (S,): floats, Fractions or integers. For a constant one N rows
        span the vectors that sum to zero.
    discount : 0 < γ < 1, a float, Fraction or string.
    n_actions : B ≥ 2 (or 1 when S = 1); the actions after the second are copies of it.

    Raises
    ------
    InvalidReward, InvalidArgument

    **Source** paper, proof of Theorem 2. **Cost** arithmetic with S² integers.

    Examples
    --------
    >>> ideal_environment([0, 1, 2], 0.9).kernel[:, 1]
    array([[0.        , 1.        , 0.        ],
           [0.5       , 0.        , 0.5       ],
           [0.66666667, 0.33333333, 0.        ]])
    """
    r = StateReward.of(reward)
    gamma = _check(discount, n_actions, r.size)
    mdp = _build(_integer_kernel(class_rows(r)), gamma, n_actions)
    return Environment("ideal", r.floats, mdp, None, Fraction(0), r)


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
    """
    r = StateReward.of(reward)
    gamma = _check(discount, n_actions, r.size)
    if r.size == 1:
        mdp = _build(_integer_kernel(np.zeros((1, 1), dtype=object)), gamma, n_actions)
        share = None if epsilon is None else _read_share(epsilon)
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
    share = _share(r, gamma, epsilon, planning_tolerance, rational)
    if rational:
        rows, tan2 = _rational_rows(r, share)
        mdp = _build(_integer_kernel(rows), gamma, n_actions)
    else:
        mdp = _build(_float_kernel(_regular_rows(r, float(share))), gamma, n_actions)
        tan2 = _rounded_bound(r.size, share) ** 2
    return Environment("strict", r.floats, mdp, float(share), tan2, r)


def _check(discount: Any, n_actions: int, n_states: int) -> Fraction:
    try:
        gamma = as_fraction(discount)
    except UNREADABLE:
        raise InvalidArgument(
            "discount", f"is {discount!r}", "a number with 0 < γ < 1", discount
        ) from None
    if gamma == 0:
        raise InvalidArgument(
            "discount",
            "is 0",
            "0 < γ < 1: without a future every response is optimal for every state reward",
            discount,
        )
    if not 0 < gamma < 1:
        raise InvalidArgument("discount", f"is {discount}", "0 < γ < 1", discount)
    if n_actions < (1 if n_states == 1 else 2):
        raise InvalidArgument(
            "n_actions", f"is {n_actions}", "at least 2: one action shows no choice", n_actions
        )
    return gamma


def _integer_kernel(rows: NDArray[Any]) -> NDArray[Any]:
    """Return integer weights (S, 2, S) of ``P_b1 = 1/N``, ``P_b2 = 1/N − c_s rows_s``, c_s largest.

    ``c = min(1 / (N max row), (N − 1) / (N max −row))``: no entry below 0 or above 1.
    """
    n = rows.shape[1]
    up, down = rows.max(axis=1, keepdims=True), (-rows).max(axis=1, keepdims=True)
    above = down > (n - 1) * up
    second = np.where(above, down - (n - 1) * rows, np.where(up > 0, up - rows, 1))
    return np.stack([np.full_like(second, 1), second], axis=1)


def _float_kernel(rows: Array) -> Array:
    """Return the same kernel (S, 2, S) in floats."""
    n = rows.shape[1]
    scale = np.minimum(1 / (n * rows.max(axis=1)), (1 - 1 / n) / (-rows).max(axis=1))
    second = np.clip(1 / n - scale[:, None] * rows, 0.0, 1.0)
    return np.stack([np.full_like(second, 1 / n), second], axis=1)


def _build(kernel: NDArray[Any], gamma: Fraction, n_actions: int) -> MDP:
    """Return the MDP with copies of the second action after it."""
    which = np.minimum(np.arange(n_actions), 1)
    names = [f"b{i}" for i in range(1, n_actions + 1)]
    return MDP(kernel[:, which], gamma, actions=names)


def _read_share(epsilon: Any) -> Fraction:
    try:
        return as_fraction(epsilon)
    except UNREADABLE:
        raise InvalidArgument("epsilon", f"is {epsilon!r}", "a number > 0", epsilon) from None


def _share(
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
        share = _read_share(epsilon)
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
    a, b, c = (int(x) for x in _products(columns))
    a, c = a + spread**2, c + spread**2
    det = a * c - b * b
    return [[Fraction(c, det), Fraction(-b, det)], [Fraction(-b, det), Fraction(a, det)]]


def _products(columns: NDArray[Any]) -> tuple[Any, Any, Any]:
    x, y = columns[:, 0], columns[:, 1]
    return (x * x).sum(), (x * y).sum(), (y * y).sum()


def _squared(
    z: NDArray[Any], columns: NDArray[Any], spread: int, inverse: list[list[Fraction]]
) -> Fraction:
    """Return ``zᵀ G⁻¹ z`` by the formula of Woodbury."""
    x, y = int((columns[:, 0] * z).sum()), int((columns[:, 1] * z).sum())
    (a, b), (_, c) = inverse
    return int((z * z).sum()) - (a * x * x + 2 * b * x * y + c * y * y)
