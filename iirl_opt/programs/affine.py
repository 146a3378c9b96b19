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

`iirl_opt.programs.realise` finds the commitment that makes a game an environment, and
`iirl_opt.programs.verify` judges the answer.

Sources: paper, Theorem 2, Corollary 2 and their proofs; the strict environment is ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import helmert, null_space

from iirl_opt.checks import FLAG, NOT_NEGATIVE, checked, whole
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.exact.numbers import UNREADABLE, as_fraction
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.game.values import tie_tolerance
from iirl_opt.programs.rewards import AffineClass

__all__ = [
    "Environment",
    "affine_distance",
    "affine_halfspaces",
    "check_hypothesis",
    "ideal_environment",
    "is_constant",
    "strict_environment",
    "unit_direction",
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
    mdp : the MDP with kernel (S, B, S); rational unless it is strict with rows in floating point.
    epsilon : the share of w in the rows of a strict environment; None for an ideal one.
    tan2_bound : the square of the tangent of the largest angle that b1 everywhere allows: exact
        for a rational MDP, otherwise up to the rounding of its rows.
    """

    kind: Literal["ideal", "strict"]
    reward: Array
    mdp: MDP
    epsilon: float | None
    tan2_bound: Fraction

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
        return np.asarray(self.kernel[:, 0] - self.kernel[:, -1])

    @property
    def telling(self) -> NDArray[np.bool_]:
        """The states in which the actions differ, shape (S,)."""
        return np.asarray(self.rows.any(axis=1))

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
        values = _centred(self.reward)
        gaps = self.discount * self.rows[self.telling] @ values
        return float(np.maximum(gaps, 0.0).min()) if gaps.size else 0.0

    def __repr__(self) -> str:
        share = "" if self.epsilon is None else f", epsilon={self.epsilon:g}"
        return f"Environment({self.kind}{share}, tan θ ≤ {self.tan_bound:.3g}, {self.mdp!r})"


@checked(n_actions=whole(1))
def ideal_environment(reward: ArrayLike, discount: Any, n_actions: int = 2) -> Environment:
    """Return the environment of Theorem 2: b1 everywhere leaves exactly the class of the reward.

    Always rational: a float is read as the decimal that prints it, so 0.1 is 1/10. The basis of
    ``span(r, 1)^⊥`` is not orthonormal: the vector of state s moves its probability to the states
    of the least and the largest reward, in the proportion that keeps the mean reward.

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
    exact, floats = _read_reward(reward)
    gamma = _check(discount, n_actions, exact.size)
    basis = _simplex_rows(_basis(exact))
    rows = basis if is_constant(floats) else np.vstack([basis, _weights_of(exact)])
    mdp = _build(_integer_kernel(rows), gamma, n_actions)
    return Environment("ideal", floats, mdp, None, Fraction(0))


@checked(n_actions=whole(1), planning_tolerance=NOT_NEGATIVE, rational=FLAG)
def strict_environment(
    reward: ArrayLike,
    discount: Any,
    epsilon: float | None = None,
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
    exact, floats = _read_reward(reward)
    gamma = _check(discount, n_actions, exact.size)
    n = exact.size
    if n == 1:
        mdp = _build(_integer_kernel(np.zeros((1, 1), dtype=object)), gamma, n_actions)
        return Environment("strict", floats, mdp, epsilon, Fraction(0))
    if is_constant(floats):
        raise InvalidReward(
            "reward",
            "is constant",
            "a reward with a spread: every response is optimal for a constant, so none confirms it",
            floats[0],
        )
    share = _share(floats, float(gamma), epsilon, planning_tolerance)
    if rational:
        rows, tan2 = _rational_rows(exact, share)
        mdp = _build(_integer_kernel(rows), gamma, n_actions)
    else:
        mdp = _build(_float_kernel(_regular_rows(floats, share)), gamma, n_actions)
        tan2 = ((n - 2) * as_fraction(share)) ** 2
    return Environment("strict", floats, mdp, share, tan2)


def _read_reward(reward: ArrayLike) -> tuple[NDArray[Any], Array]:
    """Return a state reward as integers in a common unit, and as floats."""
    given = np.asarray(reward)
    if given.ndim != 1 or not given.size:
        raise InvalidReward("reward", f"has shape {given.shape}", "(S,)", given.shape)
    numbers = []
    for s, x in enumerate(given):
        try:
            numbers.append(as_fraction(x))
            float(numbers[-1])
        except UNREADABLE:
            raise InvalidReward(f"reward[{s}]", f"is {x}", "finite numbers", x) from None
    unit = math.lcm(*(x.denominator for x in numbers))
    whole = [int(x * unit) for x in numbers]
    common = math.gcd(*(x - whole[0] for x in whole)) or 1
    exact = np.array([(x - whole[0]) // common for x in whole], dtype=object)
    floats = np.array([float(x) for x in numbers])
    floats.flags.writeable = False
    if is_constant(floats):
        exact = 0 * exact
    return exact, floats


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


def check_hypothesis(reward: ArrayLike) -> Array:
    """Return a finite state reward of shape (S,) as floats, or raise `InvalidReward`."""
    return _read_reward(reward)[1]


def is_constant(reward: Array) -> bool:
    """Return whether a reward is constant up to rounding."""
    return AffineClass(np.zeros(reward.size)).contains(reward)


def _centred(reward: Array) -> Array:
    return np.asarray(reward - reward.mean())


def _weights_of(exact: NDArray[Any]) -> NDArray[Any]:
    """Return N times the centred reward, in integers."""
    return np.asarray(exact.size * exact - exact.sum(), dtype=object)


def _basis(exact: NDArray[Any]) -> NDArray[Any]:
    """Return integer rows that span the vectors orthogonal to the reward and to 1.

    ``−(hi − lo) e_s + (hi − r_s) e_lo + (r_s − lo) e_hi`` for every state s but lo and hi; for a
    constant reward ``e_lo − e_s`` for every s but the first.
    """
    n = exact.size
    lo, hi = int(exact.argmin()), int(exact.argmax())
    spread = exact[hi] - exact[lo] or 1
    others = [s for s in range(n) if s not in (lo, hi)]
    basis = np.zeros((len(others), n), dtype=object)
    at = np.arange(len(others))
    basis[at, others] = -spread
    basis[at, lo] += (exact[hi] - exact[others]) if lo != hi else spread
    basis[at, hi] += exact[others] - exact[lo]
    return basis


def _simplex_rows(basis: NDArray[Any]) -> NDArray[Any]:
    """Return the basis with minus its sum: together the rows are ≥ 0 only where all are zero."""
    return np.vstack([basis, -basis.sum(axis=0, keepdims=True)])


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


def _share(reward: Array, gamma: float, epsilon: float | None, tolerance: float | None) -> float:
    """Return ε, checked, or by default what the follower's planning tolerance asks for.

    The least ε makes the gap ``γ ε |r| / N`` of an environment larger than the rounding of values.
    """
    n = reward.size
    least = max(1e-12, 8 * EPS * n / (gamma * (1 - gamma)))
    if epsilon is not None:
        if not least <= epsilon < np.inf:
            raise InvalidArgument(
                "epsilon", f"is {epsilon}", f"{least:.3g} ≤ ε < ∞, which floats carry", epsilon
            )
        return float(epsilon)
    unit = _spread_over_one(reward)
    if tolerance is None:
        relative = tie_tolerance(unit, gamma)
    elif 0 <= tolerance < np.inf:
        relative = tolerance / float(np.ptp(reward))
    else:
        raise InvalidArgument("planning_tolerance", f"is {tolerance}", "0 ≤ τ < ∞", tolerance)
    return max(100 * n * relative / (gamma * float(np.linalg.norm(unit))), 1e-10, least)


def _regular_rows(reward: Array, share: float) -> Array:
    """Return ``u_i + ε w`` for the corners u_i of a regular simplex, and w in the last state."""
    n = reward.size
    w = unit_direction(reward)
    if n == 2:
        return np.stack([w, w])
    span = null_space(np.stack([np.ones(n), w]))
    corners = helmert(n - 1).T * math.sqrt((n - 1) / (n - 2))
    return np.vstack([corners @ span.T + share * w, w])


def unit_direction(reward: Array) -> Array:
    """Return the centred reward of length one; the reward is not constant."""
    w = _spread_over_one(reward)
    return np.asarray(w / np.linalg.norm(w))


def _spread_over_one(reward: Array) -> Array:
    """Return the centred reward of spread one, without overflow."""
    scaled = reward / np.abs(reward).max()
    return _centred(scaled / np.ptp(scaled))


def _rational_rows(exact: NDArray[Any], share: float) -> tuple[NDArray[Any], Fraction]:
    """Return integer rows ``φ_i + ε w``, and the exact tan² of the cone that they span.

    With φ in the unit of the spread d the Gram matrix is ``G = I + C Cᵀ``, C of two columns. The
    extreme ray on which all rows but the j-th vanish has ``φ z = ε (1 − (k+1) e_j)`` beside w, up
    to sign, so ``tan² = ε² zᵀ G⁻¹ z``; for the last row z is 1.
    """
    n, w = exact.size, _weights_of(exact)
    length2 = int((w * w).sum())
    spread = int(exact.max() - exact.min())
    ratio = Context(prec=6).divide(Decimal(repr(share)), Decimal(length2).sqrt())
    factor = Fraction(str(ratio))
    basis = _basis(exact)
    rows = _simplex_rows(basis) * factor.denominator + factor.numerator * spread * w
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


def affine_distance(first: ArrayLike, second: ArrayLike) -> float:
    """Return the angle between two centred state rewards, in [0, π].

    Zero iff the rewards are positive affine images of one another. Of two constants it is zero, of
    a constant and another reward π/2: a constant has no direction, so it is no nearer to r than to
    −r. The cosine is Pearson's correlation over the states.

    It shares the invariances of EPIC (Gleave et al. 2021) under positive scaling and shifts. It has
    none under potential shaping: a shaped state reward is one of transitions, not of states, and
    among state rewards the responses do tell apart what shaping would identify. EPIC's Pearson
    distance is ``sin(angle / 2)``, taken after a canonicalisation that is not needed here.

    Raises
    ------
    InvalidReward
        The shapes differ, or a reward is no finite (S,).
    """
    (_, a), (_, b) = _read_reward(first), _read_reward(second)
    if a.shape != b.shape:
        raise InvalidReward("second", f"has shape {b.shape}", f"{a.shape}", b.shape)
    constant = is_constant(a), is_constant(b)
    if any(constant):
        return 0.0 if all(constant) else math.pi / 2
    x, y = unit_direction(a), unit_direction(b)
    return 2 * math.atan2(float(np.linalg.norm(x - y)), float(np.linalg.norm(x + y)))


def affine_halfspaces(reward: ArrayLike) -> Array:
    """Return half-spaces (H, S) whose intersection is Aff(r): the rows of `ideal_environment`.

    Rows of zeros (N ≤ 2) are left out; the rest are scaled to a largest entry of one.

    **Source** paper, the lemma on half-spaces in the proof of Theorem 2. **Cost** arithmetic.
    """
    exact, floats = _read_reward(reward)
    rows = _simplex_rows(_basis(exact))
    if not is_constant(floats):
        rows = np.vstack([rows, _weights_of(exact)])
    rows = rows[(rows != 0).any(axis=1)]
    scaled = [[float(Fraction(x, int(abs(row).max()))) for x in row] for row in rows]
    return np.array(scaled).reshape(-1, exact.size)
