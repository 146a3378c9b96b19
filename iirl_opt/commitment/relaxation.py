"""The optimistic relaxation: bounds on what commitments earn when only a box of them is known.

A *box* gives every state a set of allowed leader actions, a mask (S, A); a commitment lies in it if
it plays allowed actions alone. Three numbers a state bound all commitments of a box at once:

* ``h_lo ≤ H_π1 ≤ h_hi``, the follower's optimal values under its own reward: the fixed points of
  ``min_a max_b`` and ``max_a max_b`` over allowed a;
* ``V_π1 ≤ w_hi``, the leader's values: the optimum of an MDP in which a partner picks, beside a,
  the best answer p *compatible* with these bounds.

What is compatible, and the best of it: see `iirl_opt.commitment.compatible`; a tighter account of
a Boltzmann follower: `iirl_opt.commitment.deviations`.

**Validity.** Let T be the leader's evaluation operator of a commitment π1 in the box and U the
optimistic one. Its true answer is compatible, so ``T w ≤ U w`` for every w; both are monotone
γ-contractions, hence ``V_π1 = T^∞ w ≤ U^∞ w``, and ``U^∞ w ≤ w`` follows from ``U w ≤ w``: whatever
w the iteration ends with is raised a little, and that inequality is checked, with what rounding may
do to U on the side of safety. A penalty beyond a state's reach has no part in it. The same holds of
h_lo and h_hi. A box that is one commitment has its value as bound (except where a mixing rule meets
a tie that is not sure).

Values here are *centred*, those of rewards less a constant (`CommitmentProblem.centre`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iirl_opt.commitment.compatible import (
    BoundedFollower,
    Weights,
    best_compatible,
    boltzmann_weights,
    largest_mean,
    proportional_weights,
)
from iirl_opt.commitment.deviations import Range, deviating
from iirl_opt.commitment.problem import Array, CommitmentProblem, Integers
from iirl_opt.commitment.stacked import UNIT, solved
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.proportional import ProportionalFollower

__all__ = ["Box", "Relaxation", "bounded"]

Mask = NDArray[np.bool_]

# Newton steps before plain value iteration, and steps in all; both only cost tightness.
NEWTON, STEPS = 25, 200

# An f is seen to decrease by a fall above this share of its values.
ROUNDING = 256 * UNIT

# Tries to raise the end of an iteration to a bound, before the bound that needs no luck.
RAISES = 4

# Points at which f is tested for being nondecreasing.
GRID = 1025


class Box(NamedTuple):
    """Bounds of N boxes.

    Attributes
    ----------
    mask : the allowed actions, (N, S, A).
    h_lo, h_hi, w_hi : bounds, (N, S).
    q : the optimistic value of each allowed action, (N, S, A); −∞ for the others.
    response : the answer that the optimistic partner gives, (N, S, B).
    """

    mask: Mask
    h_lo: Array
    h_hi: Array
    w_hi: Array
    q: Array
    response: Array

    @property
    def actions(self) -> Integers:
        """The optimistic commitment of each box, (N, S)."""
        chosen: Integers = self.q.argmax(axis=-1)
        return chosen

    def take(self, indices: Integers | list[int]) -> Box:
        """Return the bounds of some of the boxes, in the given order."""
        return Box(
            self.mask[indices],
            self.h_lo[indices],
            self.h_hi[indices],
            self.w_hi[indices],
            self.q[indices],
            self.response[indices],
        )

    @staticmethod
    def stack(boxes: Sequence[Box]) -> Box:
        """Return the bounds of all boxes together."""
        return Box(
            np.concatenate([box.mask for box in boxes]),
            np.concatenate([box.h_lo for box in boxes]),
            np.concatenate([box.h_hi for box in boxes]),
            np.concatenate([box.w_hi for box in boxes]),
            np.concatenate([box.q for box in boxes]),
            np.concatenate([box.response for box in boxes]),
        )


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The optimistic relaxation of a commitment problem, its constants computed once.

    Parameters
    ----------
    problem : the problem.
    stochastic : whether the bounds hold for stochastic commitments to allowed actions as well; then
        the follower's intervals are united over a, and h_lo is the fixed point of ``max_b min_a``.
    free : let the partner answer as it likes where the follower declares no bounds; otherwise such
        a follower is refused.
    tight : for a Boltzmann follower bound its differences of action values by
        `iirl_opt.commitment.deviations` as well, for deterministic commitments; a certificate
        cannot state that.

    Raises
    ------
    InvalidArgument
        Both `stochastic` and `tight`.
    InvalidArgument
        The follower is not local, or its own and without `weight_bounds`; f is seen to decrease (it
        is tested at 1025 points of the range of action values: a test, no proof).
    """

    problem: CommitmentProblem
    stochastic: bool = False
    free: bool = False
    tight: bool = False

    def __post_init__(self) -> None:
        if self.tight and self.stochastic:
            raise InvalidArgument("tight", "is True", "False for stochastic commitments", True)
        if self.refusal is not None and not self.free:
            raise InvalidArgument(
                "follower",
                self.refusal,
                "optimal, ε-greedy, Boltzmann, proportional with nondecreasing f, or your own with "
                "weight_bounds(lower, upper)",
                self.problem.follower,
            )

    @cached_property
    def _by_answer(self) -> Array:
        """The kernel as (B, S', S·A): products with it lie as sums over answers want them."""
        kernel = self.problem.kernel.transpose(2, 3, 0, 1)
        return np.ascontiguousarray(kernel).reshape(*kernel.shape[:2], -1)

    @cached_property
    def _range(self) -> tuple[float, float]:
        """The least and the largest centred value that the follower's reward can make."""
        theirs, left = self.problem.centred_follower_reward, self.problem.arithmetic.left
        low, high = float(theirs.min() / left), float(theirs.max() / left)
        return low - 8 * UNIT * abs(low), high + 8 * UNIT * abs(high)

    @cached_property
    def _absolute(self) -> float:
        """What the follower's centred values are short of."""
        return self.problem.answers.offset

    @cached_property
    def _pairs(self) -> tuple[Array, Array]:
        """Differences b − c of the follower's reward (S, A, R, B) and of the kernel (R·B, S', S·A).

        The R references c are all answers; one of two is enough for a Boltzmann follower.
        """
        p = self.problem
        two = isinstance(p.follower, BoltzmannFollower) and p.game.n_follower_actions == 2
        references = slice(None, 1 if two else None)
        rows = (p.kernel[:, :, None] - p.kernel[:, :, :, None])[:, :, references]
        theirs = p.full_follower_reward
        rewards = (theirs[:, :, None] - theirs[..., None])[:, :, references]
        size = rows.shape[2] * rows.shape[3], p.game.n_states, rows.shape[0] * rows.shape[1]
        return rewards, np.ascontiguousarray(rows.transpose(2, 3, 4, 0, 1)).reshape(size)

    @cached_property
    def _unlike(self) -> Mask:
        """Where (S, A, R, B) reference and answer differ in row or reward."""
        alike = self.problem.alike
        unlike = alike[:, :, None] != alike[..., None]
        return np.asarray(unlike[:, :, : self._pairs[0].shape[2]])

    @cached_property
    def refusal(self) -> str | None:
        """Why the follower's answers cannot be bounded, or None."""
        follower = self.problem.follower
        if self.problem.epsilon is not None or isinstance(
            follower, BoltzmannFollower | BoundedFollower
        ):
            return None
        if not isinstance(follower, ProportionalFollower):
            return f"is {follower!r}, which declares no bounds on its answers"
        grid = np.linspace(*self._range, GRID) + self._absolute
        with np.errstate(all="ignore"):
            weights = follower.weights(grid)
        falls = np.diff(weights) < -ROUNDING * np.abs(weights[1:])
        if falls.any():
            at = int(np.argmax(falls))
            return f"has an f that decreases between {grid[at]:g} and {grid[at + 1]:g}"
        return None

    def bound(self, mask: Mask, warm: Box | None = None) -> Box:
        """Return the bounds of N boxes (N, S, A), each with an allowed action in every state.

        Parameters
        ----------
        warm : bounds of boxes that hold them, to start from.

        **Cost** arithmetic: some 15 S×S linear systems a box, stacked, and B² S² A numbers.
        """
        h_lo, h_hi = self.follower_values(mask, warm)
        answers = self.answers(mask, h_lo, h_hi)
        start = None if warm is None else warm.w_hi
        return self.leader(mask, h_lo, h_hi, answers, start)

    def follower_values(self, mask: Mask, warm: Box | None = None) -> tuple[Array, Array]:
        """Return the bounds h_lo and h_hi (N, S) of N boxes (N, S, A)."""
        h_lo = self._follower(mask, None if warm is None else warm.h_lo, least=True)
        h_hi = self._follower(mask, None if warm is None else warm.h_hi)
        if warm is not None:
            h_lo, h_hi = np.maximum(h_lo, warm.h_lo), np.minimum(h_hi, warm.h_hi)
        return h_lo, h_hi

    def action_values(self, values: Array) -> Array:
        """Return the follower's action values (N, S, A, B) above its values (N, S)."""
        return self._q(values, self.problem.centred_follower_reward)

    def own_values(self, values: Array) -> Array:
        """Return the leader's action values (N, S, A, B) above its values (N, S)."""
        return self._q(values, self.problem.centred_reward)

    def _q(self, values: Array, reward: Array) -> Array:
        """Return ``reward + γ P values`` for values (N, S): (N, S, A, B)."""
        n_states, n_a, n_b = self.problem.game.shape
        products = np.matmul(self.problem.arithmetic.discount * values, self._by_answer)
        q = np.moveaxis(products.reshape(n_b, len(values), n_states, n_a), 0, -1)
        q += reward
        return np.asarray(q)

    def _noise(self, values: Array, reward: Array) -> Array:
        """Return what rounding does to `_q` at most."""
        return self.problem.arithmetic.unit * self._q(abs(values), abs(reward))

    def _follower(self, mask: Mask, warm: Array | None, least: bool = False) -> Array:
        """Return an upper bound (N, S) on the follower's values, or a lower one."""
        n, states = np.arange(len(mask))[:, None], np.arange(mask.shape[1])
        reward, kernel = self.problem.centred_follower_reward, self.problem.kernel

        def improve(values: Array, sign: float) -> tuple[Array, Array]:
            q = self.action_values(values)
            if sign:
                q += sign * self._noise(values, reward)
            if least and self.stochastic:
                worst = np.where(mask[..., None], q, np.inf)
                b = worst.min(axis=2).argmax(axis=-1)
                a = worst[n, states, :, b].argmin(axis=-1)
            else:
                best = q.max(axis=-1)
                a = (
                    np.where(mask, best, np.inf).argmin(axis=-1)
                    if least
                    else np.where(mask, best, -np.inf).argmax(axis=-1)
                )
                b = q[n, states, a].argmax(axis=-1)
            return q[n, states, a, b], kernel[states, a, b]

        start = np.zeros(mask.shape[:2]) if warm is None else warm
        low, high = self._range
        values = self._bounded(improve, start, -1.0 if least else 1.0)
        return np.maximum(values, low) if least else np.minimum(values, high)

    def leader(
        self,
        mask: Mask,
        h_lo: Array,
        h_hi: Array,
        answers: Weights,
        warm: Array | None,
        sign: float = 1.0,
    ) -> Box:
        """Return the boxes with the bound w_hi on the values of ``sign`` times the reward."""
        n, states = np.arange(len(mask))[:, None], np.arange(mask.shape[1])
        reward, kernel = sign * self.problem.centred_reward, self.problem.kernel
        epsilon = self.problem.epsilon or 0.0
        n_answers = kernel.shape[2]

        def best(values: Array, sign: float = 1.0) -> tuple[Array, Array, Integers]:
            w = self._q(values, reward)
            if sign:
                w += self._noise(values, reward)
            value = (1 - epsilon) * largest_mean(w, answers) + epsilon * w.mean(axis=-1)
            value += 4 * UNIT * (abs(value) + epsilon * abs(w).mean(axis=-1))
            q = np.where(mask, value, -np.inf)
            return q, w, q.argmax(axis=-1)

        def played(w: Array, a: Integers) -> Array:
            at = n, states, a
            _, play = best_compatible(w[at][:, :, None], answers.at(*at))
            return np.asarray((1 - epsilon) * play[:, :, 0] + epsilon / n_answers)

        def improve(values: Array, sign: float) -> tuple[Array, Array]:
            q, w, a = best(values, sign)
            chain = np.matmul(played(w, a)[:, :, None], kernel[states, a])[:, :, 0]
            return q[n, states, a], chain

        start = np.zeros(mask.shape[:2]) if warm is None else warm
        w_hi = self._bounded(improve, start, 1.0)
        if warm is not None:
            w_hi = np.minimum(w_hi, warm)
        q, w, a = best(w_hi)
        return Box(mask, h_lo, h_hi, w_hi, q, played(w, a))

    def _bounded(
        self, improve: Callable[[Array, float], tuple[Array, Array]], values: Array, sign: float
    ) -> Array:
        """Return values (N, S) that an operator does not raise, or for sign −1 does not lower.

        `improve` returns the image of the values under the operator, with rounding on the side of
        safety if its second argument is the sign, 0 for none, and the chain (N, S, S) of the
        choices made there. Newton's steps solve for these; they may cycle where the operator is no
        maximum, so plain iteration follows.
        """
        arithmetic = self.problem.arithmetic
        for step in range(STEPS):
            image, chain = improve(values, 0.0)
            change = image - values
            numbers = abs(image) + abs(values) + np.matmul(chain, abs(values)[..., None])[..., 0]
            if (abs(change) <= 4 * arithmetic.unit * numbers).all():
                break
            values = values + solved(chain, change, arithmetic) if step < NEWTON else image
        beyond = abs(change) + 2 * arithmetic.unit * numbers  # a guess, for the first try alone
        for tries in range(RAISES):
            if tries:
                image, chain = improve(values, sign)
                beyond = np.maximum(sign * (image - values), 0) + arithmetic.unit * abs(values)
            raised = values + sign * np.maximum(2 * solved(chain, beyond, arithmetic), beyond)
            holds = np.asarray((sign * (raised - improve(raised, sign)[0]) >= 0).all(axis=1))
            if holds.all() or tries == RAISES - 1:
                break
            values = np.where(holds[:, None], values, raised)
        most = beyond.max(axis=1, keepdims=True) + arithmetic.unit * abs(values).max(
            axis=1, keepdims=True
        )
        far = values + sign * (most / arithmetic.left) * (1 + 8 * UNIT)
        return np.asarray(np.where(holds[:, None], raised, far))

    def answers(self, mask: Mask, h_lo: Array, h_hi: Array, every_tie: bool = False) -> Weights:
        """Return what the follower may answer in each state to each action."""
        follower, shape = self.problem.follower, (len(mask), *self.problem.game.shape)
        if self.refusal is not None:
            return Weights(np.zeros((*shape[:3], 1, shape[3])), np.ones((*shape[:3], 1, shape[3])))
        theirs = self.problem.centred_follower_reward
        noise = self._noise(np.maximum(abs(h_lo), abs(h_hi)), theirs)
        if isinstance(follower, ProportionalFollower | BoundedFollower):
            shift, least, most = self._absolute, *self._range
            noise = noise + 8 * UNIT * abs(shift)
            lower = np.clip(self.action_values(h_lo) - noise, least, most) + shift
            upper = np.clip(self.action_values(h_hi) + noise, least, most) + shift
            lower, upper = self._united(mask, lower, upper)
            return proportional_weights(follower, lower, upper, mask)
        gamma = self.problem.arithmetic.discount
        rewards, slopes = self._pairs
        half = np.moveaxis(rewards, (2, 3), (0, 1)).shape[:2]
        places = *half, len(mask), *rewards.shape[:2]
        width, centre = (
            np.moveaxis(x.reshape(places), (0, 1), (3, 4))
            for x in (
                np.matmul(gamma / 2 * (h_hi - h_lo), np.abs(slopes)),
                np.matmul(gamma / 2 * (h_hi + h_lo), slopes),
            )
        )
        # What rounding does to a difference; none where both answers are the same.
        margin = (noise[:, :, :, : rewards.shape[2], None] + noise[:, :, :, None]) * self._unlike
        lower, upper = (centre + sign * width + rewards + sign * margin for sign in (-1, 1))
        if self.tight and isinstance(follower, BoltzmannFollower):
            found = deviating(self.problem, mask, Range(h_lo, h_hi), self.action_values(h_hi))
            spread = rewards.shape[2]
            apart = (gamma * x[:, :, :, :spread] + rewards for x in found)
            lower, upper = Range(lower, upper).within(
                Range(*(x + sign * margin for x, sign in zip(apart, (-1, 1), strict=True)))
            )
            # One reference serves nearly as well as all: the one whose differences are known best.
            best = (upper - lower).sum(axis=-1).argmin(axis=-1)[..., None, None]
            lower, upper = (
                np.moveaxis(np.moveaxis(np.take_along_axis(x, best, axis=-2), -1, 0).copy(), 0, -1)
                for x in (lower, upper)
            )
        lower, upper = self._united(mask, lower, upper)
        if isinstance(follower, BoltzmannFollower):
            return boltzmann_weights(follower.beta, lower, upper)
        return self._greedy(lower, upper, every_tie or self.stochastic)

    def _united(self, mask: Mask, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Return intervals (N, S, A, …) as they are, or united over a for stochastic play."""
        if not self.stochastic:
            return lower, upper
        allowed = mask.reshape(*mask.shape, *(1,) * (lower.ndim - 3))
        least = np.where(allowed, lower, np.inf).min(axis=2, keepdims=True)
        most = np.where(allowed, upper, -np.inf).max(axis=2, keepdims=True)
        return np.broadcast_to(least, lower.shape), np.broadcast_to(most, upper.shape)

    def _greedy(self, lower: Array, upper: Array, every_tie: bool) -> Weights:
        """Return which actions may be, and surely are, greedy: q_b − q_c is (N, S, A, c, b)."""
        may = np.asarray((upper >= 0).all(axis=3))
        sure = np.asarray((lower >= 0).all(axis=3))
        rule = self.problem.ties or getattr(self.problem.follower, "ties", None)
        if every_tie:
            rule = None
        if rule in ("first", "last"):
            ahead = sure if rule == "first" else sure[..., ::-1]
            behind = ahead.cumsum(axis=-1) - ahead > 0
            may = may & ~(behind if rule == "first" else behind[..., ::-1])
        lo = sure if rule == "mix" else np.zeros_like(sure)
        known = sure if rule == "pessimistic" else None
        return Weights(lo[:, :, :, None].astype(float), may[:, :, :, None].astype(float), known)


def bounded(problem: CommitmentProblem) -> bool:
    """Return whether the follower's answers can be bounded, so that `Relaxation` serves it."""
    return Relaxation(problem, free=True).refusal is None
