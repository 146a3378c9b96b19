"""What all commitments of a box can earn, proved by inequalities in exact numbers.

A box allows the leader some actions in each state. Three vectors bound all its deterministic
commitments, and each is proved by one application of a monotone γ-contraction, without a solve:

* ``h_lo ≤ min_a max_b (f + γ P h_lo)`` bounds the follower's optimal values from below,
* ``h_hi ≥ max_a max_b (f + γ P h_hi)`` bounds them from above,
* ``w ≥ max_a max_p Σ_b p_b (r + γ P w)(s, a, b)`` bounds the leader's values from above, where p is
  any play that the follower can give when its values lie between h_lo and h_hi.

**Compatible play.** Every kind of follower plays ``p ∝ x`` with weights x in an interval each:

* Boltzmann: ``x_b = exp(β (q_b − q_c))`` for any reference c, each difference of action values
  being a linear function of the values, whose extremes over ``[h_lo, h_hi]`` are exact;
* proportional: ``x_b = f(q_b)`` with f nondecreasing;
* optimal: one action that is nowhere surely worse, or, under ``"mix"``, all optimal ones: weights 0
  or 1, and 1 where the action is surely optimal.

So ``Σ_b p_b w_b ≤ v`` for all compatible p iff ``Σ_b max(lo_b t_b, hi_b t_b) ≤ 0``, t_b = w_b − v:
no maximisation is left. Where an ε-greedy follower plays uniformly with probability ε,
``t_b = (1 − ε) w_b + ε mean w − v``. A lower bound on the leader's values is the same for −r.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from operator import mul
from typing import Any, NamedTuple

from iirl_opt.certificate.form import read_integer, write

__all__ = [
    "MODELS",
    "RULES",
    "Bounds",
    "FollowerPlay",
    "KernelRow",
    "Mask",
    "Model",
    "Weights",
    "exp_bounds",
    "product_of",
]

Vector = Sequence[Fraction]
Mask = Sequence[Sequence[int]]
# By an action of the follower, the least and the largest weight.
Weights = list[tuple[Fraction | int, Fraction | int]]

MODELS = ("greedy", "boltzmann", "affine", "power")
RULES = ("first", "last", "mix", "any", "optimistic", "pessimistic")

# Weights of a Boltzmann follower are integers over 2^BITS, GUARD more inside the series.
BITS, GUARD = 128, 32


class KernelRow(NamedTuple):
    """A row of a kernel: where it leads, with integer weights over one denominator."""

    at: tuple[int, ...]
    weights: tuple[int, ...]
    below: int


class Bounds(NamedTuple):
    """The vectors (S,) of a box: integers over one denominator.

    Attributes
    ----------
    over : the denominator.
    h_lo, h_hi : of the follower's optimal values.
    w : of the leader's values: an upper bound, or a lower one where that is said.
    """

    over: int
    h_lo: tuple[int, ...]
    h_hi: tuple[int, ...]
    w: tuple[int, ...]

    @classmethod
    def read(cls, given: Any) -> Bounds:
        """Return what ``{"over": D, "low": […], "high": […], "worth": […]}`` says."""
        if given.keys() != {"over", "low", "high", "worth"}:
            raise KeyError("the keys of the vectors of a box")
        parts = [tuple(map(read_integer, given[name])) for name in ("low", "high", "worth")]
        return cls(read_integer(given["over"]), *parts)

    def to_plain(self) -> dict[str, Any]:
        """Return the vectors as JSON values."""
        return dict(zip(("over", "low", "high", "worth"), write(list(self)), strict=True))


class FollowerPlay(NamedTuple):
    """How a follower plays.

    Attributes
    ----------
    model : ``"greedy"``, ``"boltzmann"``, or ``"affine"`` or ``"power"``: in proportion to that.
    ties : the tie rule of a greedy follower; ``"any"`` stands for every rule. Else empty.
    numbers : (ε,), (β,), (c0, c1) of ``c0 + c1 x``, or (k,) of ``x^k``.
    """

    model: str
    ties: str
    numbers: tuple[Fraction, ...]

    @property
    def is_known(self) -> bool:
        """Whether this is a follower."""
        n = self.numbers
        if self.model not in MODELS or len(n) != (2 if self.model == "affine" else 1):
            return False
        if self.model == "greedy":
            return 0 <= n[0] <= 1 and self.ties in RULES
        whole = self.model != "power" or (n[0].denominator == 1 and 1 <= n[0] <= 64)
        return n[-1] >= 0 and whole and not self.ties

    @property
    def epsilon(self) -> Fraction:
        """The share of uniform play."""
        return self.numbers[0] if self.model == "greedy" else Fraction(0)

    @property
    def reversed(self) -> FollowerPlay:
        """The same follower for a leader whose reward has the other sign."""
        other = {"optimistic": "pessimistic", "pessimistic": "optimistic"}
        return self._replace(ties=other.get(self.ties, self.ties))


def product_of(row: KernelRow, numbers: Sequence[int]) -> int:
    """Return the weights of a row times whole numbers, over the denominators of both."""
    return sum(map(mul, row.weights, map(numbers.__getitem__, row.at)))


@dataclass(frozen=True, eq=False)
class Model:
    """A commitment problem in exact numbers.

    Attributes
    ----------
    shape : (S, A, B).
    rows : S·A·B rows of the kernel, in the order ``(s·A + a)·B + b``.
    discount : γ.
    leader, follower : rewards in the same order.
    play : how the follower plays.
    """

    shape: tuple[int, int, int]
    rows: Sequence[KernelRow]
    discount: Fraction
    leader: Vector
    follower: Vector
    play: FollowerPlay

    @cached_property
    def reversed(self) -> Model:
        """The problem of a leader whose reward has the other sign."""
        leader = [-r for r in self.leader]
        parts = (self.shape, self.rows, self.discount, leader, self.follower)
        return Model(*parts, self.play.reversed)

    @cached_property
    def _differences(self) -> dict[tuple[int, int], KernelRow]:
        """The rows of two answers to the same action of the leader, subtracted."""
        n_b = self.shape[2]
        found = {}
        for i in range(len(self.rows)):
            for c in range(n_b):
                other = i - i % n_b + c
                if other != i:
                    found[i, other] = _minus(self.rows[i], self.rows[other])
        return found

    @cached_property
    def _range(self) -> tuple[Fraction, Fraction]:
        left = 1 - self.discount
        return min(self.follower) / left, max(self.follower) / left

    def row(self, s: int, a: int, b: int = 0) -> int:
        """Return the position of a row."""
        _, n_a, n_b = self.shape
        return (s * n_a + a) * n_b + b

    def action_values(
        self, s: int, a: int, values: Sequence[int], over: int, reward: Vector
    ) -> list[Fraction]:
        """Return ``reward + γ P values`` for every answer b."""
        g, first = self.discount, self.row(s, a)
        return [
            reward[i]
            + Fraction(
                g.numerator * product_of(self.rows[i], values),
                g.denominator * self.rows[i].below * over,
            )
            for i in range(first, first + self.shape[2])
        ]

    def follower_low(self, mask: Mask, h: Sequence[int], over: int) -> Fraction:
        """Return by how much h exceeds ``min_a max_b (f + γ P h)`` at most: ≤ 0 proves it."""
        return max(
            Fraction(h[s], over) - max(self.action_values(s, a, h, over, self.follower))
            for s, a in _choices_of(mask)
        )

    def follower_high(self, mask: Mask, h: Sequence[int], over: int) -> Fraction:
        """Return by how much ``max_a max_b (f + γ P h)`` exceeds h at most: ≤ 0 proves it."""
        return max(
            max(self.action_values(s, a, h, over, self.follower)) - Fraction(h[s], over)
            for s, a in _choices_of(mask)
        )

    def leader_high(self, mask: Mask, bounds: Bounds) -> Fraction | None:
        """Return how far w is from bounding the leader: ≤ 0 proves it; None: it says nothing.

        The number is a mean excess over w of a compatible play.
        """
        worst: Fraction | None = None
        for s, a in _choices_of(mask):
            gains, least = self.gains(s, a, bounds), None
            for weights in self.weights(s, a, bounds):
                excess = _excess(weights, gains)
                least = excess if least is None else min(least, excess)
                if least <= 0:
                    break
            if least is None:
                return None
            worst = least if worst is None else max(worst, least)
        return worst

    def gains(self, s: int, a: int, bounds: Bounds) -> list[Fraction]:
        """Return ``t_b = (1 − ε) w_b + ε mean w − w(s)`` for every answer b."""
        worth = self.action_values(s, a, bounds.w, bounds.over, self.leader)
        epsilon, n_b = self.play.epsilon, self.shape[2]
        level = epsilon * sum(worth) / n_b - Fraction(bounds.w[s], bounds.over)
        return [(1 - epsilon) * x + level for x in worth]

    def weights(self, s: int, a: int, bounds: Bounds) -> Iterator[Weights]:
        """Yield intervals of weights: the play in s after a is ∝ to some x in each of them."""
        if self.play.model in ("affine", "power"):
            return self._proportional(s, a, bounds)
        least = self._least(s, a, bounds)
        if self.play.model == "boltzmann":
            return self._boltzmann(least)
        return self._greedy(least)

    def undecided(self, s: int, a: int, bounds: Bounds) -> bool:
        """Return whether some answer of a greedy follower is neither optimal nor excluded."""
        least = self._least(s, a, bounds)
        columns = zip(*least, strict=True)
        return any(
            min(row) < 0 and max(column) <= 0 for row, column in zip(least, columns, strict=True)
        )

    def _least(self, s: int, a: int, bounds: Bounds) -> list[list[Fraction]]:
        """Return the least ``q_b − q_c`` for all b, c; the largest is minus that of c, b."""
        first, n_b, over, g = self.row(s, a), self.shape[2], bounds.over, self.discount
        out = [[Fraction(0)] * n_b for _ in range(n_b)]
        for b, c in product(range(n_b), repeat=2):
            if b != c:
                row = self._differences[first + b, first + c]
                low = sum(
                    x * (bounds.h_lo if x > 0 else bounds.h_hi)[j]
                    for j, x in zip(row.at, row.weights, strict=True)
                )
                onward = Fraction(g.numerator * low, g.denominator * row.below * over)
                out[b][c] = self.follower[first + b] - self.follower[first + c] + onward
        return out

    def _boltzmann(self, least: list[list[Fraction]]) -> Iterator[Weights]:
        beta, n_b = self.play.numbers[0], len(least)
        for c in range(n_b if n_b > 2 else 1):  # of two answers each reference says the same
            low = [beta * least[b][c] for b in range(n_b)]
            high = [-beta * least[c][b] for b in range(n_b)]
            top = max(high)
            if any(x > y for x, y in zip(low, high, strict=True)):
                return  # no values lie between the bounds
            yield [
                (exp_bounds(x - top)[0], exp_bounds(y - top)[1])
                for x, y in zip(low, high, strict=True)
            ]

    def _greedy(self, least: list[list[Fraction]]) -> Iterator[Weights]:
        n_b, rule = len(least), self.play.ties
        sure = [min(row) >= 0 for row in least]
        may = [not any(least[c][b] > 0 for c in range(n_b)) for b in range(n_b)]
        if rule == "pessimistic":
            for b in range(n_b):
                if sure[b]:
                    yield [(int(x == b), int(x == b)) for x in range(n_b)]
        if rule in ("first", "last") and any(sure):
            if rule == "first":
                at = sure.index(True)
                may[at + 1 :] = [False] * (n_b - at - 1)
            else:
                at = n_b - 1 - sure[::-1].index(True)
                may[:at] = [False] * at
        if not any(may):
            return  # no values lie between the bounds
        known = sure if rule == "mix" else [False] * n_b
        yield [(int(x), int(y)) for x, y in zip(known, may, strict=True)]

    def _proportional(self, s: int, a: int, bounds: Bounds) -> Iterator[Weights]:
        least, most = self._range
        both = [
            [
                min(max(q, least), most)
                for q in self.action_values(s, a, h, bounds.over, self.follower)
            ]
            for h in (bounds.h_lo, bounds.h_hi)
        ]
        low, high = ([self._of(q) for q in each] for each in both)
        if self.play.model == "power" and min(both[0]) < 0:
            return  # x^k need not be nondecreasing
        if min(low) >= 0 < max(low) and all(x <= y for x, y in zip(low, high, strict=True)):
            yield list(zip(low, high, strict=True))

    def _of(self, q: Fraction) -> Fraction:
        """Return f(q)."""
        n = self.play.numbers
        return n[0] + n[1] * q if self.play.model == "affine" else Fraction(q ** int(n[0]))


def _choices_of(mask: Mask) -> Iterator[tuple[int, int]]:
    return ((s, a) for s, actions in enumerate(mask) for a in actions)


def _excess(weights: Weights, gains: Vector) -> Fraction:
    """Return the largest ``Σ x_b t_b`` over the largest weight."""
    total = sum(
        (max(lo * t, hi * t) for (lo, hi), t in zip(weights, gains, strict=True)), Fraction(0)
    )
    return total / max(hi for _, hi in weights)


def _minus(first: KernelRow, second: KernelRow) -> KernelRow:
    below = math.lcm(first.below, second.below)
    numbers: dict[int, int] = {}
    for row, sign in ((first, below // first.below), (second, -(below // second.below))):
        for j, x in zip(row.at, row.weights, strict=True):
            numbers[j] = numbers.get(j, 0) + sign * x
    used = {j: x for j, x in sorted(numbers.items()) if x}
    return KernelRow(tuple(used), tuple(used.values()), below)


def _logarithm(bits: int) -> int:
    """Return a whole number below ``2^bits ln 2`` by less than ``bits`` units."""
    return sum((1 << bits) // (k << k) for k in range(1, bits + 1))


INNER = BITS + GUARD
LOG2_LOW = _logarithm(INNER)
LOG2_HIGH = LOG2_LOW + INNER + 1


def exp_bounds(x: Fraction) -> tuple[int, int]:
    """Return whole numbers around ``2^BITS exp(x)`` for x ≤ 0.

    **Source** ``exp(x) = 2^{-n} exp(x + n ln 2)``, and the series with its terms rounded down, or
    up with twice the first term left out. **Cost** some forty products of integers.
    """
    if x == 0:
        return 1 << BITS, 1 << BITS
    down = (x.numerator << INNER) // x.denominator
    n = -(down // LOG2_LOW)
    if n > BITS + 1:
        return 0, 1
    low, high = down + n * LOG2_LOW, down + 1 + n * LOG2_HIGH
    shift = GUARD + n
    return _series(max(low, 0), 0) >> shift, -(-_series(high, 1) >> shift)


def _series(x: int, up: int) -> int:
    """Return ``2^INNER exp(x / 2^INNER)`` rounded down, or up if that is 1; 0 ≤ x ≤ 1 or so."""
    total = term = 1 << INNER
    k = 0
    while term > up:
        k += 1
        term = (term * x >> INNER) // k if not up else -(-(term * x) // (k << INNER))
        total += term
    return total + 2 * up
