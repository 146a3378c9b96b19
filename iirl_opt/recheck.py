#!/usr/bin/env python3
"""Check a certificate of version 2 with Python's standard library and nothing else.

    python recheck.py proof.json [--seconds 600]

prints the claim, what was checked, and ``PROVED`` (exit code 0) or ``NOT PROVED`` with the
condition that failed (1); what is no certificate is refused with the reason (2). This file, with
`recheck_tree.py` for search trees, can be copied to a machine without the library: it was written
from the page "The certificate format" of its documentation, imports nothing of it, and decides
everything in whole numbers and fractions.

Vectors are kept as whole numbers over one denominator, rows of a kernel too, so that long sums need
no common denominator term by term.
"""

from __future__ import annotations

import decimal
import hashlib
import importlib
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from operator import mul
from typing import Any, NamedTuple

VERSION, MOST_BYTES = 2, 2_000_000_000
INTEGER = re.compile(r"-?(?:[0-9]{1,4000}|0x[0-9a-fA-F]{1,1000000})")
TIME = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
ZERO, ONE = Fraction(0), Fraction(1)
both = partial(zip, strict=True)


class Unreadable(Exception):
    """This is no certificate: the message says where and why."""


# What a document that is no certificate can end in.
TROUBLE = (
    Unreadable, OSError, ValueError, ArithmeticError, LookupError, TypeError, RecursionError,
    MemoryError,
)  # fmt: skip


class NotProved(Exception):
    """A condition does not hold: the message says which."""


def need(holds: bool, condition: str) -> None:
    """Note a condition that the proof must meet."""
    if not holds:
        raise NotProved(condition)


# Reading. Numbers, and arrays of them, of a form that the caller knows.


def form(holds: bool, place: str, allowed: str) -> None:
    """Refuse a document whose form is wrong."""
    if not holds:
        raise Unreadable(f"{place} is not {allowed}")


def whole(given: Any, place: str, least: int | None = None, below: int | None = None) -> int:
    """Return an integer that stands as a plain JSON number, within limits."""
    form(type(given) is int, place, "an integer")
    form(least is None or given >= least, place, f"at least {least}")
    form(below is None or given < below, place, f"below {below}")
    return int(given)


def integer_of(text: str, place: str) -> int:
    """Return the integer that a text writes in decimal or hexadecimal digits."""
    form(bool(INTEGER.fullmatch(text)), place, "a number")
    return int(text, 16 if "x" in text else 10)


def number(given: Any, place: str) -> Fraction:
    """Return a number as the rational that it is."""
    if type(given) is float:
        form(math.isfinite(given), place, "finite")
        return Fraction(given)
    if type(given) is int:
        return Fraction(given)
    form(type(given) is str, place, "a number")
    above, slash, below = given.partition("/")
    under = integer_of(below, place) if slash else 1
    form(under > 0, place, "a number (its denominator)")
    return Fraction(integer_of(above, place), under)


def array(given: Any, shape: tuple[int, ...], place: str) -> Any:
    """Return nested lists of numbers of a shape."""
    if not shape:
        return number(given, place)
    form(type(given) is list and len(given) == shape[0], place, f"a list of {shape[0]}")
    return [array(x, shape[1:], place) for x in given]


def is_nested(given: Any) -> bool:
    """Return whether this is a list of lists."""
    return type(given) is list and bool(given) and type(given[0]) is list


def distributions(given: Any, shape: tuple[int, ...], place: str) -> Any:
    """Return nested lists whose innermost ones are weights, divided by their sums."""
    if len(shape) > 1:
        form(type(given) is list and len(given) == shape[0], place, f"a list of {shape[0]}")
        return [distributions(x, shape[1:], place) for x in given]
    weights = array(given, shape, place)
    total = sum(weights)
    form(min(weights) >= 0 < total, place, "weights with a positive sum")
    return [x / total for x in weights]


def sparse(
    given: Any, width: int, place: str, count: int | None = None
) -> list[dict[int, Fraction]]:
    """Return sparse rows as ``{column: number}``."""
    form(type(given) is dict and given.keys() == {"width", "rows"}, place, "sparse rows")
    form(whole(given["width"], place) == width, place, f"of width {width}")
    rows = given["rows"]
    form(type(rows) is list and count in (None, len(rows)), place, f"{count} rows")
    return [sparse_row(row, width, place) for row in rows]


def sparse_row(row: Any, width: int, place: str) -> dict[int, Fraction]:
    """Return one sparse row, its columns increasing."""
    form(type(row) is list, place, "lists of pairs")
    found: dict[int, Fraction] = {}
    last = -1
    for pair in row:
        form(type(pair) is list and len(pair) == 2, place, "pairs of a column and a number")
        last = whole(pair[0], place, last + 1, width)
        found[last] = number(pair[1], place)
    return found


def texts(given: Any, count: int, place: str) -> list[str]:
    """Return a list of texts."""
    fits = type(given) is list and len(given) == count and all(type(x) is str for x in given)
    form(fits, place, f"{count} texts")
    return list(given)


# Whole numbers over one denominator.


@dataclass(frozen=True)
class Vector:
    """Whole numbers over one denominator, not in lowest terms."""

    above: list[int]
    below: int

    def __getitem__(self, at: int) -> Fraction:
        return Fraction(self.above[at], self.below)

    def times(self, factor: Fraction) -> Vector:
        """Return the vector times a number."""
        return Vector([x * factor.numerator for x in self.above], self.below * factor.denominator)

    def plus(self, other: Vector, sign: int = 1) -> Vector:
        """Return the sum with another vector, or the difference."""
        below = math.lcm(self.below, other.below)
        one, two = below // self.below, sign * (below // other.below)
        return Vector([one * x + two * y for x, y in both(self.above, other.above)], below)

    def minus(self, other: Vector) -> Vector:
        """Return the difference."""
        return self.plus(other, -1)

    def most(self) -> Fraction:
        """Return the largest entry."""
        return Fraction(max(self.above), self.below)

    def least(self) -> Fraction:
        """Return the smallest entry."""
        return Fraction(min(self.above), self.below)

    def size(self) -> Fraction:
        """Return the largest absolute value, zero if there are no entries."""
        return Fraction(max(map(abs, self.above), default=0), self.below)

    def sum(self, of: Callable[[int], int] = int) -> Fraction:
        """Return the sum of a function of the entries that scales."""
        return Fraction(sum(map(of, self.above)), self.below)

    def dot(self, other: Vector) -> Fraction:
        """Return the inner product."""
        return Fraction(sum(map(mul, self.above, other.above)), self.below * other.below)


def positive(x: int) -> int:
    return max(x, 0)


def negative(x: int) -> int:
    return max(-x, 0)


def vector(numbers: Iterable[Fraction]) -> Vector:
    """Return numbers over one denominator."""
    given = list(numbers)
    below = math.lcm(*(x.denominator for x in given))
    return Vector([x.numerator * (below // x.denominator) for x in given], below)


class Row(NamedTuple):
    """A row of a kernel: columns, whole weights, and what these are over."""

    columns: Sequence[int]
    weights: Sequence[int]
    below: int

    def dot(self, v: Vector) -> Fraction:
        """Return the row times a vector."""
        above = sum(map(mul, self.weights, map(v.above.__getitem__, self.columns)))
        return Fraction(above, self.below * v.below)

    def dense(self) -> dict[int, Fraction]:
        """Return the entries by their columns."""
        return {j: Fraction(x, self.below) for j, x in both(self.columns, self.weights)}


def mixture(rows: Iterable[tuple[Fraction, Row]]) -> Row:
    """Return the sum of rows, each times a number."""
    parts = [(share, row) for share, row in rows if share]
    below = math.lcm(*(share.denominator * row.below for share, row in parts))
    out: dict[int, int] = {}
    for share, row in parts:
        factor = share.numerator * (below // (share.denominator * row.below))
        for j, x in both(row.columns, row.weights):
            out[j] = out.get(j, 0) + factor * x
    return Row(list(out), list(out.values()), below)


def transposed(weights: Sequence[Fraction], rows: Sequence[Row], width: int) -> Vector:
    """Return the sum of rows, each times its weight, as a vector."""
    row = mixture(both(weights, rows))
    out = [0] * width
    for j, x in both(row.columns, row.weights):
        out[j] = x
    return Vector(out, row.below)


def root(x: Fraction, up: bool) -> Fraction:
    """Return a number next to the square root of x ≥ 0, below it or above."""
    if x == 0:
        return ZERO
    n, d = x.numerator, x.denominator
    k = max(0, 64 + (d.bit_length() - n.bit_length()) // 2)
    return Fraction(math.isqrt((n << (2 * k)) // d) + up, 1 << k)


def words(x: Fraction, up: bool) -> str:
    """Write a number to twelve digits, rounded up or down."""
    rounding = decimal.ROUND_CEILING if up else decimal.ROUND_FLOOR
    c = decimal.Context(12, rounding, decimal.MIN_EMIN, decimal.MAX_EMAX)
    d = c.divide(decimal.Decimal(x.numerator), decimal.Decimal(x.denominator)).normalize(c)
    return format(d, "f") if not d or -6 <= d.adjusted() < 12 else str(d)


# The game.


class Game(NamedTuple):
    """The game of a certificate; `rows` in the order ``(s·A + a)·B + b``."""

    shape: tuple[int, int, int]
    rows: list[Row]
    discount: Fraction
    start: Vector
    labels: tuple[list[str], list[str], list[str]]
    fingerprint: str

    def reward(self, given: Any, place: str) -> Vector:
        """Return a reward (S) or (S, A, B) over all choices."""
        n_s, n_a, n_b = self.shape
        if is_nested(given):
            return vector(
                x for plane in array(given, self.shape, place) for row in plane for x in row
            )
        return vector(x for x in array(given, (n_s,), place) for _ in range(n_a * n_b))

    def leave(self, v: Vector) -> Vector:
        """Return ``(E − γP) v`` over all choices."""
        each = len(self.rows) // self.shape[0]
        return vector(v[i // each] - self.discount * row.dot(v) for i, row in enumerate(self.rows))

    def canonical(self) -> str:
        """Return the fingerprint of the numbers."""

        def ratio(x: Fraction) -> str:
            return f"{x.numerator:x}/{x.denominator:x}"

        lines = [
            " ".join(f"{n:x}" for n in self.shape),
            ratio(self.discount),
            " ".join(ratio(self.start[s]) for s in range(self.shape[0])),
        ]
        for row in self.rows:
            common = math.gcd(*row.weights)
            lines.append(
                " ".join(f"{j:x}:{x // common:x}" for j, x in both(row.columns, row.weights))
            )
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


GAME = ("shape", "kernel", "discount", "start", "states", "leader_actions", "follower_actions")


def game_of(given: Any) -> Game:
    """Read the game."""
    form(type(given) is dict, "instance", "an object")
    form(given.keys() == {*GAME, "fingerprint"}, "instance", f"an object with {', '.join(GAME)}")
    shape = given["shape"]
    form(type(shape) is list and len(shape) == 3, "shape", "three integers")
    n_s, n_a, n_b = (whole(n, "shape", 1) for n in shape)
    kernel = given["kernel"]
    form(type(kernel) is list and len(kernel) == n_s * n_a * n_b, "kernel", "S·A·B rows")
    rows = []
    for row in kernel:
        entries = sparse_row(row, n_s, "kernel")
        fits = bool(entries) and all(x > 0 and x.denominator == 1 for x in entries.values())
        form(fits, "kernel", "rows of positive integers")
        weights = [x.numerator for x in entries.values()]
        rows.append(Row(list(entries), weights, sum(weights)))
    names = both(("states", "leader_actions", "follower_actions"), (n_s, n_a, n_b))
    discount = number(given["discount"], "discount")
    form(0 <= discount < 1, "discount", "in [0, 1)")
    form(type(given["fingerprint"]) is str, "fingerprint", "a text")
    start = vector(distributions(given["start"], (n_s,), "start"))
    labels = [texts(given[name], count, name) for name, count in names]
    return Game((n_s, n_a, n_b), rows, discount, start, tuple(labels), given["fingerprint"])  # type: ignore[arg-type]


class Episode:
    """A commitment and a response, as distributions, and what they lead to."""

    def __init__(self, game: Game, pi1: Any, pi2: Any) -> None:
        self.game, self.pi1, self.pi2 = game, pi1, pi2
        n_s, n_a, n_b = game.shape
        self.follower = [
            mixture((pi1[s][a], game.rows[(s * n_a + a) * n_b + b]) for a in range(n_a))
            for s in range(n_s)
            for b in range(n_b)
        ]
        self.chain = [
            mixture(both(pi2[s], self.follower[s * n_b : (s + 1) * n_b])) for s in range(n_s)
        ]
        self.played = [p > 0 for row in pi2 for p in row]

    def own(self, reward: Vector) -> list[Fraction]:
        """Return r̄(s, b)."""
        n_s, n_a, n_b = self.game.shape
        return [
            sum((self.pi1[s][a] * reward[(s * n_a + a) * n_b + b] for a in range(n_a)), ZERO)
            for s in range(n_s)
            for b in range(n_b)
        ]

    def errors(self, reward: Vector, v: Vector) -> Vector:
        """Return ρ over the states."""
        n_b, own = self.game.shape[2], self.own(reward)
        mean = [
            sum(map(mul, play, own[s * n_b : (s + 1) * n_b]), ZERO)
            for s, play in enumerate(self.pi2)
        ]
        return vector(
            v[s] - mean[s] - self.game.discount * row.dot(v) for s, row in enumerate(self.chain)
        )

    def gaps(self, reward: Vector, v: Vector) -> Vector:
        """Return g over the pairs s, b."""
        n_b, own = self.game.shape[2], self.own(reward)
        return vector(
            v[i // n_b] - own[i] - self.game.discount * row.dot(v)
            for i, row in enumerate(self.follower)
        )


def episodes_of(doc: dict[str, Any], game: Game) -> list[Episode]:
    """Read the commitments and responses of several episodes."""
    n_s, n_a, n_b = game.shape
    form(type(doc["pi1"]) is list, "pi1", "a list")
    count = len(doc["pi1"])
    pi1 = distributions(doc["pi1"], (count, n_s, n_a), "pi1") if count else []
    pi2 = distributions(doc["pi2"], (count, n_s, n_b), "pi2")
    return [Episode(game, *pair) for pair in both(pi1, pi2)]


def episode_of(doc: dict[str, Any], game: Game) -> Episode:
    """Read one commitment and response."""
    n_s, n_a, n_b = game.shape
    pi1 = distributions(doc["pi1"], (n_s, n_a), "pi1")
    return Episode(game, pi1, distributions(doc["pi2"], (n_s, n_b), "pi2"))


# The kinds. Each function raises where a condition fails, and returns the claim.


class Sides:
    """Side constraints G μ ≤ h, K μ = k and their prices, those of G clamped at zero."""

    def __init__(self, doc: dict[str, Any], game: Game) -> None:
        self.rows, self.bounds, prices = self.part(doc, game, "rows", "bounds", "prices")
        self.equal, self.right, self.free = self.part(doc, game, "equal", "right", "equal_prices")
        self.prices = Vector([max(x, 0) for x in prices.above], prices.below)
        self.game, self.values = game, vector(array(doc["values"], game.shape[:1], "values"))

    @staticmethod
    def part(
        doc: dict[str, Any], game: Game, rows: str, bounds: str, prices: str
    ) -> tuple[list[dict[int, Fraction]], Vector, Vector]:
        """Read rows, their right sides and their prices."""
        form(type(doc[bounds]) is list, bounds, "a list")
        m = len(doc[bounds])
        found = sparse(doc[rows], len(game.rows), rows, m)
        right, paid = (vector(array(doc[name], (m,), name)) for name in (bounds, prices))
        return found, right, paid

    def combined(self) -> Vector:
        """Return ``(E − γP) V + Gᵀ λ + Kᵀ κ`` over all choices."""
        side = [ZERO] * len(self.game.rows)
        for rows, by in ((self.rows, self.prices), (self.equal, self.free)):
            for j, row in enumerate(rows):
                for i, x in row.items():
                    side[i] += x * by[j]
        return self.game.leave(self.values).plus(vector(side))

    def paid(self) -> Fraction:
        """Return ``start·V + h·λ + k·κ``."""
        side = self.bounds.dot(self.prices) + self.right.dot(self.free)
        return self.game.start.dot(self.values) + side


def optimality(doc: dict[str, Any], game: Game) -> str:
    n_s, n_a, n_b = game.shape
    sides, reward = Sides(doc, game), game.reward(doc["reward"], "reward")
    mass = vector(array(doc["mass"], (n_s,), "mass"))
    policy = [p for row in joint(doc["policy"], game, "policy") for p in row]
    lower, upper, excess = (number(doc[name], name) for name in ("lower", "upper", "excess"))
    left = 1 - game.discount
    bound = sides.paid() + reward.minus(sides.combined()).most() / left
    need(upper >= bound, "the upper bound is start·V + h·λ + k·κ + max δ/(1−γ) or more")
    mu = [mass[i // (n_a * n_b)] * p for i, p in enumerate(policy)]
    flow = mass.minus(transposed(mu, game.rows, n_s).times(game.discount))
    doubt = game.start.minus(flow).sum(abs) / left
    earned = sum((x * reward[i] for i, x in enumerate(mu)), ZERO)
    each = n_a * n_b

    def mean(row: Iterable[tuple[int, Fraction]]) -> Fraction:
        """Return ``max |c_π|`` of a row over choices."""
        means = [ZERO] * n_s
        for i, x in row:
            means[i // each] += policy[i] * x
        return max(map(abs, means))

    rest = mean((i, reward[i]) for i in range(len(policy))) * doubt
    need(lower <= earned - rest, "the lower bound is r·μ − max|r_π| D or less")
    need(excess >= 0, "the excess is not negative")
    parts = ((sides.rows, sides.bounds, Fraction), (sides.equal, sides.right, abs))
    for rows, by, measure in parts:
        for j, row in enumerate(rows):
            far = measure(sum((x * mu[i] for i, x in row.items()), ZERO) - by[j])
            far += mean(row.items()) * doubt
            need(excess >= far, f"constraint {j} is broken by the excess at most")
    side = " within the side constraints" if sides.rows or sides.equal else ""
    beyond = f", and breaks a constraint by at most {words(excess, True)}" if excess else ""
    return (
        f"no joint policy{side} earns more than {words(upper, True)}; the stated one earns at "
        f"least {words(lower, False)}{beyond}"
    )


def infeasibility(doc: dict[str, Any], game: Game) -> str:
    sides = Sides(doc, game)
    asked = sides.combined().least() / (1 - game.discount)
    need(sides.paid() < asked, "start·V + h·λ + k·κ is less than min c/(1−γ)")
    return "no joint policy meets the side constraints"


def joint(given: Any, game: Game, place: str) -> list[list[Fraction]]:
    """Read weights (S, A, B) as distributions over the pairs (a, b) of each state."""
    flat = []
    for state in array(given, game.shape, place):
        row = [x for part in state for x in part]
        form(min(row) >= 0 < sum(row), place, "weights with a positive sum")
        flat.append([x / sum(row) for x in row])
    return flat


def policy_improvement(doc: dict[str, Any], game: Game) -> str:
    n_s, n_a, n_b = game.shape
    reward = game.reward(doc["reward"], "reward")
    state = whole(doc["state"], "state", 0, n_s)
    gain = number(doc["gain"], "gain")
    worth, errors = [], []
    for name in ("new", "old"):
        v = vector(array(doc[f"{name}_values"], (n_s,), f"{name}_values"))
        rho = []
        for s, row in enumerate(joint(doc[name], game, name)):
            here = range(s * n_a * n_b, (s + 1) * n_a * n_b)
            mean = sum((p * reward[i] for p, i in both(row, here)), ZERO)
            onward = mixture(both(row, (game.rows[i] for i in here))).dot(v)
            rho.append(v[s] - mean - game.discount * onward)
        worth.append(v[state])
        errors.append(vector(rho))
    doubt = max(errors[0].most(), ZERO) + max(-errors[1].least(), ZERO)
    need(gain > 0, "the gain is positive")
    need(gain <= worth[0] - worth[1] - doubt / (1 - game.discount), "the new policy gains so much")
    return (
        f"the old policy is not optimal: from {game.labels[0][state]} the new one is worth at "
        f"least {words(gain, False)} more"
    )


def violation(doc: dict[str, Any], game: Game) -> str:
    n_s, _, n_b = game.shape
    one = episode_of(doc, game)
    episode = whole(doc["episode"], "episode", 1)
    s, b = whole(doc["state"], "state", 0, n_s), whole(doc["action"], "action", 0, n_b)
    reward = game.reward(doc["reward"], "reward")
    v = vector(array(doc["values"], (n_s,), "values"))
    advantage = number(doc["advantage"], "advantage")
    doubt = one.errors(reward, v).size() * (1 + game.discount) / (1 - game.discount)
    gap = one.gaps(reward, v)[s * n_b + b]
    if advantage > 0:
        need(advantage <= -gap - doubt, "the action would have been better by the advantage")
        tail = f"would have been better by at least {words(advantage, False)}"
    else:
        need(advantage < 0, "the advantage is not zero")
        need(one.played[s * n_b + b], "the action was played")
        need(advantage >= -gap + doubt, "the action is worse by the advantage")
        tail = f"was played though it is worse by at least {words(-advantage, False)}"
    return (
        f"the reward does not explain the response of episode {episode}: in {game.labels[0][s]} "
        f"the action {game.labels[2][b]} {tail}"
    )


def witness(doc: dict[str, Any], game: Game) -> str:
    n_s = game.shape[0]
    episodes = episodes_of(doc, game)
    reward = game.reward(doc["reward"], "reward")
    nested = [is_nested(doc[name]) for name in ("reward", "halfspace")]
    form(nested[0] == nested[1], "halfspace", "of the shape of the reward")
    h = game.reward(doc["halfspace"], "halfspace")
    values = array(doc["values"], (len(episodes), n_s), "values")
    margin, loss = number(doc["margin"], "margin"), number(doc["loss"], "loss")
    each = 1 if nested[0] else len(game.rows) // n_s
    need(margin > 0, "the margin is positive")
    need(margin <= -h.dot(reward) / each, "h·r is below zero by the margin")
    need(loss >= 0, "the loss is not negative")
    span = reward.most() - reward.least()
    for t, (one, numbers) in enumerate(both(episodes, values)):
        v = vector(numbers)
        far = max(-one.gaps(reward, v).least(), ZERO) + max(one.errors(reward, v).most(), ZERO)
        need(far <= loss * (1 - game.discount) * span, f"response {t + 1} loses at most the loss")
    nearly = f" all but {words(loss, True)} of span r of" if loss else ""
    return (
        f"the reward r explains{nearly} all {len(episodes)} observed responses and lies outside "
        f"the half-space h·r >= 0: h·r <= {words(-margin, True)}"
    )


class Multipliers:
    """The multipliers of an inclusion, and by how much each half-space is missed."""

    def __init__(self, doc: dict[str, Any], game: Game, count: int) -> None:
        n_s, _, n_b = game.shape
        self.episodes = episodes_of(doc, game)
        t = len(self.episodes)
        self.on_gaps = sparse(doc["on_gaps"], t * n_s * n_b, "on_gaps", count)
        self.on_values = sparse(doc["on_values"], t * n_s, "on_values", count)
        self.game = game

    def missed(self, at: int, h: Vector, is_joint: bool) -> Fraction:
        """Return η of half-space number `at`."""
        n_s, n_a, n_b = self.game.shape
        gamma, lost = self.game.discount, ZERO
        for t, one in enumerate(self.episodes):
            first = t * n_s * n_b
            y = {
                i - first: x
                for i, x in self.on_gaps[at].items()
                if first <= i < first + n_s * n_b and (x > 0 or one.played[i - first])
            }
            z = {i - t * n_s: x for i, x in self.on_values[at].items() if 0 <= i - t * n_s < n_s}
            along = [ZERO] * n_s
            for i, x in y.items():
                along[i // n_b] += x
            taken = mixture(
                [
                    *((along[s] + z.get(s, ZERO), one.chain[s]) for s in range(n_s)),
                    *((-x, one.follower[i]) for i, x in y.items()),
                ]
            )
            f = [0] * n_s
            for j, x in both(taken.columns, taken.weights):
                f[j] = x
            here = vector(z.get(s, ZERO) for s in range(n_s))
            lost += Vector(f, taken.below).times(gamma).minus(here).sum(positive) / (1 - gamma)
            if is_joint:
                here = vector(
                    one.pi1[s][a]
                    * ((along[s] + z.get(s, ZERO)) * one.pi2[s][b] - y.get(s * n_b + b, ZERO))
                    for s in range(n_s)
                    for a in range(n_a)
                    for b in range(n_b)
                )
            h = h.minus(here)
        return lost + h.sum(negative)


def observed(count: int) -> str:
    return f"every reward that explains the {count} observed responses"


def inclusion(doc: dict[str, Any], game: Game) -> str:
    n_s = game.shape[0]
    given = doc["halfspaces"]
    form(type(given) is dict, "halfspaces", "sparse rows")
    is_joint = given.get("width") != n_s
    width = len(game.rows) if is_joint else n_s
    rows = sparse(given, width, "halfspaces")
    slack = number(doc["slack"], "slack")
    proof = Multipliers(doc, game, len(rows))
    need(slack >= 0, "the slack is not negative")
    for k, row in enumerate(rows):
        h = vector(row.get(j, ZERO) for j in range(width))
        need(h.sum() == 0, f"half-space {k} sums to zero")
        missed = proof.missed(k, h, is_joint)
        need(missed <= slack * h.size(), f"half-space {k} is missed by at most the slack")
    begin, count = observed(len(proof.episodes)), len(rows)
    if slack:
        least = f"-{words(slack, True)} · max|h| · span r"
        return f"{begin} has h·r >= {least} for the {count} half-spaces h"
    return f"{begin} lies in the {count} half-spaces h·r >= 0"


def affine_rows(rho: list[Fraction]) -> list[list[Fraction]]:
    """Return the half-spaces of Aff(ρ), w the last unless ρ is constant."""
    low, high = rho.index(min(rho)), rho.index(max(rho))
    constant = rho[low] == rho[high]
    rows = []
    for k in range(len(rho)):
        phi = [ZERO] * len(rho)
        if constant and k > 0:
            phi[0], phi[k] = ONE, -ONE
        elif not constant and k not in (low, high):
            phi[low], phi[high], phi[k] = (
                rho[high] - rho[k],
                rho[k] - rho[low],
                rho[low] - rho[high],
            )
        else:
            continue
        rows.append(phi)
    if rows:
        rows.append([-sum(column) for column in both(*rows)])
    return rows if constant else [*rows, centred(rho)]


def centred(rho: list[Fraction]) -> list[Fraction]:
    return [len(rho) * x - sum(rho) for x in rho]


def orthogonal(rho: list[Fraction]) -> list[list[Fraction]]:
    """Return the φ of a cone: orthogonal to ρ, to constants and to one another."""
    second = next(k for k, x in enumerate(rho) if x != rho[0])
    order = [0, second, *(k for k in range(1, len(rho)) if k != second)]
    x, rows = [rho[k] for k in order], []
    p, q = x[0] + x[1], x[0] ** 2 + x[1] ** 2
    for k in range(2, len(rho)):
        d = k * q - p * p
        a, b = (p * x[k] - q) / d, (p - k * x[k]) / d
        phi = [ZERO] * len(rho)
        for j in range(k):
            phi[order[j]] = a + b * x[j]
        phi[order[k]] = ONE
        rows.append(phi)
        p, q = p + x[k], q + x[k] ** 2
    return rows


def square(v: Sequence[Fraction]) -> Fraction:
    one = vector(v)
    return one.dot(one)


def class_inclusion(doc: dict[str, Any], game: Game) -> str:
    rho = array(doc["reward"], game.shape[:1], "reward")
    tan = number(doc["tan"], "tan")
    need(tan >= 0, "the tangent is not negative")
    constant = min(rho) == max(rho)
    if doc["inner"] is None:
        rows = affine_rows(rho)
    else:
        form(not constant, "reward", "a reward with a direction, as `inner` needs")
        inner = number(doc["inner"], "inner")
        form(inner > 0, "inner", "positive")
        w, phis = centred(rho), orthogonal(rho)
        scales = [root(inner**2 * square(f) / (square(w) * len(phis)), up=False) for f in phis]
        rows = [
            [t * x + sign * y for x, y in both(w, f)]
            for t, f in both(scales, phis)
            for sign in (1, -1)
        ] or [w]
    proof = Multipliers(doc, game, len(rows))
    eta = [proof.missed(k, vector(row), is_joint=False) for k, row in enumerate(rows)]
    begin = observed(len(proof.episodes))
    if constant:
        need(sum(eta) < Fraction(1, 2), "the half-spaces are missed by less than 1/2")
        return f"{begin} is constant"
    if doc["inner"] is None:
        rest = sum(eta[:-1])
        c = 2 * eta[-1] ** 2 / square(rows[-1])
        d = 2 * (len(rho) - 2) * rest**2 / (max(rho) - min(rho)) ** 2
        need(c + d < 1, "C + D is less than one")
        need(d <= tan**2 * (1 - d), "D is at most tan² (1 − D)")
    elif phis:
        pairs = list(both(eta[::2], eta[1::2], scales, phis))
        b = sum(2 * max(x, y) ** 2 / square(f) for x, y, _, f in pairs)
        c = min((x + y) ** 2 / (2 * t**2 * square(w)) for x, y, t, _ in pairs)
        need(b + c < 1, "B + C is less than one")
        need(
            inner + root(b * (1 + tan**2), up=True) <= tan, "inner + √(B (1 + tan²)) is at most tan"
        )
    else:
        need(2 * eta[0] ** 2 / square(w) < 1, "C is less than one")
        need(inner <= tan, "inner is at most tan")
    if tan:
        return (
            f"{begin} is constant, or its angle to the stated reward, both centred, has a tangent "
            f"of at most {words(tan, True)}"
        )
    return f"{begin} is λ r + c with λ >= 0, for the stated reward r"


def angle_bound(doc: dict[str, Any], game: Game) -> str:
    n_s, _, n_b = game.shape
    one = episode_of(doc, game)
    rho = array(doc["reward"], (n_s,), "reward")
    form(n_s == 1 or min(rho) < max(rho), "reward", "a reward with a direction")
    for name in ("states", "actions"):
        form(type(doc[name]) is list and len(doc[name]) == n_s - 1, name, f"{n_s - 1} integers")
    states = [whole(s, "states", 0, n_s) for s in doc["states"]]
    actions = [whole(b, "actions", 0, n_b) for b in doc["actions"]]
    rays = array(doc["rays"], (n_s - 1, n_s), "rays")
    bound = number(doc["tan_squared"], "tan_squared")
    need(bound >= 0, "tan² is not negative")
    need(game.discount > 0, "the discount is positive")
    need(
        all(row.dense() == one.chain[0].dense() for row in one.chain), "the response leads on alike"
    )
    need(all(sum(x) == 0 for x in rays), "the rays sum to zero")
    w, xs = vector(centred(rho)), [vector(x) for x in rays]
    away = [ZERO] * len(xs)
    for i, (s, b) in enumerate(both(states, actions)):
        psi = mixture([(ONE, one.chain[s]), (-ONE, one.follower[s * n_b + b])])
        for j, x in enumerate(xs):
            away[j] += abs(psi.dot(x) - (i == j))
    epsilon = max(away, default=ZERO)
    need(epsilon < 1, "the rays are near the extreme ones")
    far = ZERO
    if epsilon:
        far = epsilon / (1 - epsilon) * root(max(x.dot(x) for x in xs), up=True)
    ww = w.dot(w)
    for j, x in enumerate(xs):
        along, xx = w.dot(x), x.dot(x)
        if far == 0:
            need(along > 0, f"ray {j} is on the side of the reward")
            need(xx * ww - along**2 <= bound * along**2, f"ray {j} is within the angle")
        else:
            least = along / root(ww, up=True) - far
            need(least > 0, f"ray {j} is on the side of the reward")
            across = root(xx - along**2 / ww, up=True) + far
            need(across**2 <= bound * least**2, f"ray {j} is within the angle")
    return (
        "the stated response is optimal only for state rewards that are constant, or whose angle "
        f"to the stated one, both centred, has tan² <= {words(bound, True)}"
    )


def search_tree(doc: dict[str, Any], game: Game) -> str:
    """Check a search tree by the file `recheck_tree.py` beside this one."""
    prefix = f"{__package__}." if __package__ else ""  # none where this file was copied
    sys.modules.setdefault(f"{prefix}recheck", sys.modules[__name__])  # also when it is __main__
    try:
        beside = importlib.import_module(f"{prefix}recheck_tree")
    except ImportError:
        raise Unreadable("a search tree needs recheck_tree.py beside recheck.py") from None
    claim: str = beside.search_tree(doc, game)
    return claim


# The document.

SIDES = ("rows", "bounds", "equal", "right", "values", "prices", "equal_prices")
DUALITY = "linear duality over Corollary 1 of the paper, with the factor γ"
# By kind: the check, its source, and its fields.
KINDS: dict[str, tuple[Callable[[dict[str, Any], Game], str], str, tuple[str, ...]]] = {
    "optimality": (
        optimality,
        "weak duality of the occupancy program (Puterman 1994, section 6.9)",
        (*SIDES, "reward", "policy", "mass", "lower", "upper", "excess"),
    ),
    "infeasibility": (infeasibility, "Farkas' lemma on the occupancy program", SIDES),
    "policy improvement": (
        policy_improvement,
        "evaluation of both policies",
        ("reward", "old", "new", "old_values", "new_values", "state", "gain"),
    ),
    "violation": (
        violation,
        "policy improvement; paper, Theorem 1",
        ("episode", "state", "action", "pi1", "pi2", "reward", "values", "advantage"),
    ),
    "witness": (
        witness,
        "paper, Corollary 1, with the factor γ",
        ("pi1", "pi2", "reward", "halfspace", "values", "margin", "loss"),
    ),
    "inclusion": (
        inclusion,
        DUALITY,
        ("pi1", "pi2", "halfspaces", "on_gaps", "on_values", "slack"),
    ),
    "class inclusion": (
        class_inclusion,
        DUALITY,
        ("pi1", "pi2", "reward", "inner", "on_gaps", "on_values", "tan"),
    ),
    "angle bound": (
        angle_bound,
        "extreme rays of the simplicial cone of the strict test",
        ("pi1", "pi2", "reward", "states", "actions", "rays", "tan_squared"),
    ),
    "search tree": (
        search_tree,
        "monotone contractions over boxes of commitments (branch and bound)",
        (
            "reward",
            "follower_reward",
            "model",
            "ties",
            "numbers",
            "allowed",
            "actions",
            "lower",
            "upper",
            "incumbent",
            "nodes",
            "leaves",
        ),
    ),
}


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these pairs, none of whose keys stands twice."""
    found = dict(pairs)
    form(len(found) == len(pairs), "an object", "one whose keys stand once")
    return found


def refuse(text: str) -> Any:
    raise Unreadable(f"{text} is no number")


def parse(text: str) -> tuple[dict[str, Any], Game]:
    """Return a certificate's fields and its game.

    Raises
    ------
    Unreadable
    """
    try:
        doc = json.loads(text, object_pairs_hook=once, parse_constant=refuse)
        form(type(doc) is dict, "the document", "an object")
        digest = doc.pop("digest", None)
        canonical = json.dumps(doc, sort_keys=True, allow_nan=False)
    except (ValueError, RecursionError) as problem:
        raise Unreadable(f"the document is no JSON that can be read ({problem})") from None
    known = doc.get("kind")
    form(type(known) is str and known in KINDS, "kind", f"one of {', '.join(KINDS)}")
    form(whole(doc.get("version"), "version") == VERSION, "version", str(VERSION))
    keys = {"version", "kind", "instance", "claim", "source", *KINDS[known][2]}
    form(doc.keys() == keys, "the document", f"an object with the keys {', '.join(sorted(keys))}")
    form(type(doc["claim"]) is type(doc["source"]) is str, "claim and source", "texts")
    right = digest == hashlib.sha256(canonical.encode()).hexdigest()
    form(right, "digest", "that of the document")
    return doc, game_of(doc["instance"])


def check(text: str) -> str:
    """Return the claim that a certificate proves.

    Raises
    ------
    Unreadable
        This is no certificate.
    NotProved
        A condition does not hold.
    """
    doc, game = parse(text)
    prove, source, _ = KINDS[doc["kind"]]
    claim = prove(doc, game)
    need(game.canonical() == game.fingerprint, "the fingerprint is that of the game")
    need(doc["claim"] == claim, f"the claim is the one of the numbers: {claim}")
    need(doc["source"] == source, "the source is the one of the kind")
    return claim


def holds(text: str) -> bool:
    """Return whether a document proves its claim."""
    try:
        check(text)
    except (NotProved, *TROUBLE):
        return False
    return True


def inspect(path: str) -> int:
    """Check a file and say what came of it; return the exit code."""
    try:
        with open(path, "rb") as file:
            raw = file.read(MOST_BYTES + 1)
        form(len(raw) <= MOST_BYTES, path, f"of at most {MOST_BYTES} bytes")
        claim = check(raw.decode("utf-8"))
    except NotProved as problem:
        print(f"NOT PROVED: it does not hold that {problem}")
        return 1
    except TROUBLE as problem:
        print(f"UNREADABLE: {path}: {problem}")
        return 2
    print(f"claim: {claim}")
    print("checked in exact numbers: every condition of its kind, the fingerprint and the digest")
    print("PROVED, about the game inside this file")
    return 0


def main(arguments: Sequence[str]) -> int:
    """Check a file in a process of its own, which ends in time; return the exit code."""
    match list(arguments):
        case ["--inside", path]:
            return inspect(path)
        case [path]:
            seconds = 600.0
        case [path, "--seconds", given] | ["--seconds", given, path] if TIME.fullmatch(given):
            seconds = float(given)
        case _:
            print("usage: python recheck.py proof.json [--seconds 600]", file=sys.stderr)
            return 2
    command = [sys.executable, os.path.abspath(__file__), "--inside", path]
    try:
        code = subprocess.run(command, timeout=seconds, check=False).returncode
    except subprocess.TimeoutExpired:
        print(f"UNREADABLE: {path}: no end within {seconds:g} seconds")
        return 2
    return code if code in (0, 1) else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
