"""What a follower may answer when its action values are known between bounds.

Between bounds on the follower's values every difference ``q(s, a, b) − q(s, a, c)`` of its action
values lies in an interval, exactly computed as a linear function over a box. So

* a Boltzmann follower plays ``p_b ∝ exp(β (q_b − q_c))`` with each weight in an interval, for every
  reference c; the smallest of the bounds that are made counts;
* a proportional follower with nondecreasing f plays ``p_b ∝ f(q_b)``, each in an interval;
* an optimal or ε-greedy follower is greedy for b only if b is nowhere surely worse; under a rule
  that mixes all ties the weights are 0 or 1, and 1 where b is surely greedy.

**The best compatible answer.** ``Σ p_b w_b`` with ``p ∝ x``, x in a box, is linear-fractional: at a
maximum of value v, x_b is as large as it can be where w_b > v and as small where w_b < v. So the
maximum is one of B thresholds in the sorted w, and all are tried.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from iirl_opt.commitment.problem import Array, Integers
from iirl_opt.commitment.stacked import UNIT
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.proportional import ProportionalFollower
from iirl_opt.follower.protocols import LocalFollower
from iirl_opt.game.factors import underflow

__all__ = [
    "BoundedFollower",
    "Weights",
    "best_compatible",
    "boltzmann_weights",
    "largest_mean",
    "proportional_weights",
]

Mask = NDArray[np.bool_]

# Boltzmann weights, the largest being 1, are raised to this, which keeps quotients defined.
FLOOR = 1e-280


@runtime_checkable
class BoundedFollower(LocalFollower, Protocol):
    """A local follower of your own that says how its play moves with the action values.

    Examples
    --------
    >>> from iirl_opt.commitment import BranchAndBound, CommitmentProblem
    >>> from iirl_opt.follower import best_responses
    >>> from iirl_opt.game.generate import random_game
    >>> class Squares:  # your own: it plays in proportion to q², for rewards ≥ 0
    ...     def respond(self, game, reward, pi1, rng=None):
    ...         return self.answer(best_responses(game, reward, pi1).q)
    ...     def answer(self, q, tolerance=0.0, rng=None):
    ...         return q**2 / (q**2).sum(axis=-1, keepdims=True)
    ...     def weight_bounds(self, lower, upper):
    ...         return lower**2, upper**2
    >>> problem = CommitmentProblem(*random_game(3, 2, 2, rng=6), Squares())
    >>> isinstance(Squares(), BoundedFollower), BranchAndBound().plan(problem).guarantee.name
    (True, 'EXACT')
    """

    def weight_bounds(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Return bounds (…, B) on weights x ≥ 0, the play being ∝ x, for q in [lower, upper]."""
        ...


class Weights(NamedTuple):
    """Bounds (N, S, A, R, B) on weights, the play being ∝ to one between; surely greedy actions."""

    lo: Array
    hi: Array
    sure: Mask | None = None

    def at(self, n: Integers, states: Integers, actions: Integers) -> Weights:
        """Return the bounds after one action a state, A = 1: places (N, S) of each axis."""
        place = n, states, actions
        lo, hi = (x[place][:, :, None] for x in self[:2])
        return Weights(lo, hi, None if self.sure is None else self.sure[place][:, :, None])


def boltzmann_weights(beta: float, lower: Array, upper: Array) -> Weights:
    """Return bounds on Boltzmann weights, given those (N, S, A, R, B) on differences of q."""
    with np.errstate(over="ignore"):
        low = np.clip(beta * lower, -1e300, 1e300)
        high = np.clip(beta * upper, -1e300, 1e300)
    low, high = low - 4 * UNIT * abs(low), high + 4 * UNIT * abs(high)
    top = high.max(axis=-1, keepdims=True)
    low, high = low - top, high - top
    lo = np.exp(low - 4 * UNIT * (abs(low) + 2))
    return Weights(
        np.where(lo < FLOOR, 0.0, lo), np.maximum(np.exp(high + 4 * UNIT * (abs(high) + 2)), FLOOR)
    )


def proportional_weights(
    follower: ProportionalFollower | BoundedFollower, lower: Array, upper: Array, mask: Mask
) -> Weights:
    """Return bounds on the weights of a follower that plays ∝ f(q), q in [lower, upper]."""
    if isinstance(follower, BoundedFollower):
        lo, hi = follower.weight_bounds(lower, upper)
    else:
        lo, hi = follower.weights(lower), follower.weights(upper)
        lo, hi = np.minimum(lo, hi), np.maximum(lo, hi)  # rounding in f
    return Weights(*_over_largest(lo[:, :, :, None], hi[:, :, :, None], lower, mask))


def best_compatible(w: Array, answers: Weights) -> tuple[Array, Array]:
    """Return the largest mean (N, S, A) of w (N, S, A, B) over compatible plays, and these plays.

    Of the R boxes of weights the one with the smallest maximum counts.
    """
    each = _means(w, answers)
    reference = each.argmin(axis=0)
    largest = np.take_along_axis(each, reference[None], axis=0)[0]
    lo, hi, sure = answers
    if lo.shape[-2] > 1:
        at = reference[..., None, None]
        lo, hi = (np.take_along_axis(x, at, axis=-2) for x in (lo, hi))
    # At a maximum the weights are large where w is above it; a little below, by rounding.
    level = (largest - 8 * w.shape[-1] * UNIT * abs(largest))[..., None]
    weights = np.where(w + 8 * UNIT * abs(w) >= level, hi[..., 0, :], lo[..., 0, :])
    play = weights / np.maximum(weights.sum(axis=-1, keepdims=True), FLOOR)
    if sure is None:
        return largest, play
    worst = np.where(sure, w, np.inf)
    known = np.asarray(sure.any(axis=-1))
    unit = np.eye(w.shape[-1])[worst.argmin(axis=-1)]
    return _unless_sure(w, largest, sure), np.where(known[..., None], unit, play)


def largest_mean(w: Array, answers: Weights) -> Array:
    """Return the largest mean (N, S, A) of w (N, S, A, B) over compatible plays."""
    largest = _means(w, answers).min(axis=0)
    return largest if answers.sure is None else _unless_sure(w, largest, answers.sure)


def _unless_sure(w: Array, largest: Array, sure: Mask) -> Array:
    """Return the least w of a surely greedy answer where there is one, else the largest mean."""
    return np.where(sure.any(axis=-1), np.where(sure, w, np.inf).min(axis=-1), largest)


def _means(w: Array, answers: Weights) -> Array:
    """Return the largest means for each of the R boxes, (R, N, S, A), rounded upwards.

    For each b the weights of the answers that are worth at least w_b are the largest, the others
    the least. The loops go over answers; numbers lie as the answer's axis would, were it the first.
    In a unit of the largest w, a power of two, little of a product with a weight is lost below.
    """
    lo, hi, _ = answers
    n_b = w.shape[-1]
    rounding, lost = 4 * (n_b + 2) * UNIT, underflow(n_b) * w.any(axis=-1)
    unit = 2.0 ** min(max(int(np.frexp(np.abs(w).max())[1]), -1022), 1023)
    w = w / unit
    parts = [w[..., b] for b in range(n_b)]
    ahead = [[parts[c] >= parts[b] for c in range(n_b)] for b in range(n_b)]
    sizes = [abs(part) for part in parts]
    found = np.full((lo.shape[-2], *np.broadcast_shapes(w.shape[:-1], lo.shape[:-2])), -np.inf)
    for r, most in enumerate(found):
        least = [lo[..., r, c] for c in range(n_b)]
        wide = [hi[..., r, c] - least[c] for c in range(n_b)]
        for b in range(n_b):
            total, mean, size = np.zeros((3, *most.shape))
            for c in range(n_b):
                x = least[c] + wide[c] * ahead[b][c]
                total, mean, size = total + x, mean + x * parts[c], size + x * sizes[c]
            with np.errstate(divide="ignore", invalid="ignore"):
                value = np.where(total > 0, (mean + rounding * size + lost) / total, -np.inf)
            np.maximum(most, value, out=most)
    return np.asarray(found * unit + lost)


def _over_largest(lo: Array, hi: Array, q: Array, mask: Mask) -> tuple[Array, Array]:
    """Return weights (N, S, A, 1, B) over their largest; checks them."""
    ordered = np.isfinite(lo) & np.isfinite(hi) & (lo >= 0) & (hi >= lo)
    sound = np.asarray((ordered.all(axis=-1) & (hi.max(axis=-1) > 0))[..., 0] | ~mask)
    if not sound.all():
        at = tuple(np.argwhere(~sound)[0])
        raise InvalidArgument(
            f"f(Q) above Q = {q[at]}",
            f"lies between {lo[at][0]} and {hi[at][0]}",
            "finite bounds ≥ 0 in order, not all 0",
            q[at],
        )
    top = hi.max(axis=-1, keepdims=True)
    top = np.where(top > 0, top, 1.0)
    return lo / top, hi / top
