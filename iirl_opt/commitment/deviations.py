"""Bounds on differences of the follower's values, by how they deviate from one policy's.

Let ``h̄`` be the values of a *reference*: a leader action and an answer in every state, with kernel
``P̄`` and reward ``r̄``, and h the follower's optimal values under some commitment π1 of a box. Then

    h − h̄ = (I − γP̄)⁻¹ d,    d(s) = h(s) − r̄(s) − γ(P̄ h)(s),

the performance-difference identity: d is what the commitment changes in one step. In state s it is

    d(s) = max_b [f(s, a, b) − r̄(s) + γ (P(s, a, b) − P̄(s)) h],    a = π1(s),

so it lies between the least and the largest over allowed a. For a row x that sums to zero, such as
the difference of two answers' rows, ``x h = x h̄ + m d`` with ``m = x (I − γP̄)⁻¹``: since chains
mix, the entries of m cancel, and what all values have in common drops out. Bounds that take each
value between two numbers of its own know nothing of that: they are several times as wide.

The bounds of the box give bounds on d, these better ones on ``x h``, and these on d once more. (A
third time gains nothing to speak of.)

**Validity.** M, the inverse as computed, may be any matrix: with ``R = I − M(I − γP̄)`` it is
``x h = x h̄ + xM(d + ρ̄) + xR(h − h̄)``, ρ̄ the residual of h̄. One margin a box covers R, ρ̄ and the
rounding of all sums (Neumaier's way).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iirl_opt.commitment.problem import Array, CommitmentProblem
from iirl_opt.commitment.stacked import UNIT

__all__ = ["Range", "deviating"]

Mask = NDArray[np.bool_]


class Range(NamedTuple):
    """Bounds, lower and upper."""

    lo: Array
    hi: Array

    def along(self, rows: Array, sizes: Array, margin: Array) -> Range:
        """Return bounds on the products with rows (N, K, S) of numbers (N, S) between these.

        `sizes` are the absolute entries of the rows.
        """
        middle, half = (self.hi + self.lo) / 2, (self.hi - self.lo) / 2
        centre = np.matmul(rows, middle[..., None])[..., 0]
        width = np.matmul(sizes, half[..., None])[..., 0] + margin
        return Range(centre - width, centre + width)

    def within(self, other: Range) -> Range:
        """Return the bounds that both give."""
        return Range(np.maximum(self.lo, other.lo), np.minimum(self.hi, other.hi))

    def plus(self, numbers: Array) -> Range:
        """Return the bounds with numbers added."""
        return Range(self.lo + numbers, self.hi + numbers)


def deviating(problem: CommitmentProblem, mask: Mask, h: Range, q: Array) -> Range:
    """Return bounds (N, S, A, B, B) on ``(P(s, a, b) − P(s, a, c)) h``, by s, a, c, b.

    Parameters
    ----------
    mask : the allowed actions of N boxes, (N, S, A).
    h : bounds (N, S) on the follower's optimal values under each commitment of a box.
    q : its action values (N, S, A, B) above the upper ones; the reference is greedy for them.

    **Cost** arithmetic: one S×S inverse a box and its product with the kernel.
    """
    kernel, reward = problem.kernel, problem.centred_follower_reward
    gamma, (n_states, n_a, n_b) = problem.arithmetic.discount, problem.game.shape
    boxes, states = np.arange(len(mask))[:, None], np.arange(n_states)
    a = np.where(mask, q.max(axis=-1), -np.inf).argmax(axis=-1)
    b = q[boxes, states, a].argmax(axis=-1)
    chain, earned = kernel[states, a, b], reward[states, a, b]
    system = np.eye(n_states) - gamma * chain
    inverse = np.linalg.inv(system)
    near = np.matmul(inverse, earned[..., None])[..., 0]

    size = np.maximum(abs(h.lo), abs(h.hi)).max(axis=1) + abs(near).max(axis=1)
    size += abs(reward).max()
    most = abs(inverse).sum(axis=2).max(axis=1)
    off = abs(np.eye(n_states) - np.matmul(inverse, system)).sum(axis=2).max(axis=1)
    rest = earned - np.matmul(system, near[..., None])[..., 0]
    unit = 8 * (n_states + 8) * UNIT
    # d is at most 4 times the size; products with M of what is rounded, R and ρ̄ are all in here.
    margin = 4 * size * (unit * (1 + most) + 2 * off) + 4 * most * abs(rest).max(axis=1)
    margin = np.where(np.isfinite(margin), margin, np.inf)[:, None]
    step = unit * size[:, None]

    rows = kernel.reshape(1, n_states, -1, n_states) - chain[:, :, None]
    rows = rows.reshape(len(mask), -1, n_states)
    moved = np.matmul(rows, inverse)
    products = h.along(rows, abs(rows), step)
    level = np.matmul(rows, near[..., None])[..., 0]
    extra = (reward.reshape(1, n_states, -1) - earned[:, :, None]).reshape(len(mask), -1)
    changes = _changes(mask, products, extra, gamma, n_b, step)
    products = products.within(changes.along(moved, abs(moved), margin).plus(level))
    changes = _changes(mask, products, extra, gamma, n_b, step)
    # The difference of c and b is minus that of b and c.
    above, below = np.triu_indices(n_b, 1)
    moved = moved.reshape(len(mask), -1, n_b, n_states)
    apart = (moved[:, :, below] - moved[:, :, above]).reshape(len(mask), -1, n_states)
    level = level.reshape(len(mask), -1, n_b)
    onward = (level[:, :, below] - level[:, :, above]).reshape(len(mask), -1)
    found = changes.along(apart, abs(apart), 2 * margin).plus(onward)
    lo, hi = (np.zeros((len(mask), n_states, n_a, n_b, n_b)) for _ in found)
    for least, most, (x, y) in ((lo, hi, (above, below)), (hi, lo, (below, above))):
        sign = 1.0 if least is lo else -1.0
        least[..., x, y] = sign * found.lo.reshape(len(mask), n_states, n_a, -1)
        most[..., x, y] = sign * found.hi.reshape(len(mask), n_states, n_a, -1)
    return Range(lo, hi)


def _changes(
    mask: Mask, products: Range, extra: Array, gamma: float, n_b: int, step: Array
) -> Range:
    """Return bounds (N, S) on d."""
    shape = (*mask.shape, n_b)
    lo, hi = ((extra + gamma * x).reshape(shape).max(axis=-1) for x in products)
    least = np.where(mask, lo, np.inf).min(axis=-1) - step
    return Range(least, np.where(mask, hi, -np.inf).max(axis=-1) + step)
