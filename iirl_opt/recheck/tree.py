"""Check that no commitment earns more than a branch and bound says: search trees.

A leaf is a box: some allowed leader actions in each state. Three vectors bound what every
deterministic commitment of the box leads to, each by one application of a monotone γ-contraction,
and the boxes of a tree's leaves hold every allowed commitment.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

from .arithmetic import ONE, ZERO, WholeVector, both, mixture, words
from .game import Fields, StatedGame
from .reading import array, form, listed, need, number, whole

TIES = ("first", "last", "mix", "any", "optimistic", "pessimistic")
PLACES, EXTRA = 128, 32
INNER = PLACES + EXTRA
LN2_BELOW = sum((1 << INNER) // (k << k) for k in range(1, INNER + 1))
LN2_ABOVE = LN2_BELOW + INNER + 1
Interval = tuple[Fraction | int, Fraction | int]


def exponential(x: Fraction) -> tuple[int, int]:
    """Return whole numbers below and above ``2^PLACES exp(x)``, x ≤ 0."""
    if x == 0:
        return 1 << PLACES, 1 << PLACES
    y = math.floor(x * (1 << INNER))
    halvings = -(y // LN2_BELOW)
    if halvings > PLACES + 1:
        return 0, 1
    low, high = max(y + halvings * LN2_BELOW, 0), y + 1 + halvings * LN2_ABOVE
    below = term = 1 << INNER
    k = 1
    while term:
        term = term * low // (k << INNER)
        below, k = below + term, k + 1
    above = term = 1 << INNER
    k = 1
    while term > 1:
        term = -(-term * high // (k << INNER))
        above, k = above + term, k + 1
    return below >> (EXTRA + halvings), -(-(above + 2) >> (EXTRA + halvings))


class StatedFollower:
    """How the follower of a search tree plays, and what is known of it in a box."""

    game: StatedGame
    model: Any
    ties: Any
    reward: WholeVector
    numbers: Any
    epsilon: Any
    range: tuple[Fraction, Fraction]
    apart: dict[Any, Any]

    def __init__(self, given: Fields) -> None:
        game = self.game = given.game
        self.model, self.ties = given.given["model"], given.given["ties"]
        self.reward = given.reward("follower_reward")
        form(self.model in ("greedy", "boltzmann", "affine", "power"), "model", "a known follower")
        form(self.ties in (TIES if self.model == "greedy" else ("",)), "ties", "a tie rule of it")
        n = self.numbers = given.array("numbers", 2 if self.model == "affine" else 1)
        fits = {
            "greedy": 0 <= n[0] <= 1,
            "boltzmann": n[0] >= 0,
            "affine": n[-1] >= 0,
            "power": n[0].denominator == 1 and 1 <= n[0] <= 64,
        }
        form(fits[self.model], "numbers", "those of such a follower")
        self.epsilon = n[0] if self.model == "greedy" else ZERO
        left = 1 - game.discount
        self.range = self.reward.least() / left, self.reward.most() / left
        n_b, self.apart = game.shape[2], {}
        for i, row in enumerate(game.rows):
            for j in range(i - i % n_b, i - i % n_b + n_b):
                if i != j:
                    self.apart[i, j] = mixture([(ONE, row), (-ONE, game.rows[j])])

    def words(self) -> str:
        n = [words(x, False) for x in self.numbers]
        if self.model == "greedy":
            kind = (
                f"an ε-greedy follower with ε = {n[0]}" if self.epsilon else "an optimal follower"
            )
            return f"{kind} (ties: {self.ties})"
        if self.model == "boltzmann":
            return f"a Boltzmann follower with β = {n[0]}"
        shape = f"{n[0]} + {n[1]} x" if self.model == "affine" else f"x^{n[0]}"
        return f"a follower that plays in proportion to {shape}"

    def value(self, i: int, v: WholeVector) -> Fraction:
        """Return the follower's action value of a row above its values."""
        return self.reward[i] + self.game.discount * (self.game.rows[i] @ v)

    def apart_at_least(self, i: int, j: int, low: WholeVector, high: WholeVector) -> Fraction:
        """Return the least difference of two action values, its values being in the box."""
        row = self.apart[i, j]
        ends = (low.above, high.above)
        above = sum(x * ends[x < 0][k] for k, x in both(row.columns, row.weights))
        onward = Fraction(above, row.below * low.below)
        return self.reward[i] - self.reward[j] + self.game.discount * onward

    def plays(
        self, first: int, low: WholeVector, high: WholeVector, sign: int
    ) -> Iterator[list[Interval]]:
        """Yield intervals of weights for the answers `first`, … : the play is ∝ to some in them."""
        n_b = self.game.shape[2]
        rows = range(first, first + n_b)
        if self.model in ("affine", "power"):
            ends = [
                [self.image(min(max(self.value(i, v), self.range[0]), self.range[1])) for i in rows]
                for v in (low, high)
            ]
            need(min(ends[0]) >= 0 < max(ends[0]), "the follower's play is defined in every leaf")
            yield list(both(*ends))
            return
        d = [[self.apart_at_least(i, j, low, high) if i != j else ZERO for j in rows] for i in rows]
        if self.model == "boltzmann":
            for c in range(n_b):
                tops = [-self.numbers[0] * d[c][b] for b in range(n_b)]
                bottoms = [self.numbers[0] * d[b][c] for b in range(n_b)]
                top = max(tops)
                yield [
                    (exponential(x - top)[0], exponential(y - top)[1])
                    for x, y in both(bottoms, tops)
                ]
            return
        sure = [all(x >= 0 for x in d[b]) for b in range(n_b)]
        may = [all(d[c][b] <= 0 for c in range(n_b)) for b in range(n_b)]
        against = {"pessimistic": 1, "optimistic": -1}.get(self.ties, 0) == sign
        if against:
            yield from ([(int(b == k),) * 2 for k in range(n_b)] for b in range(n_b) if sure[b])  # type: ignore[misc]
        if self.ties == "first":
            may = [x and not any(sure[:b]) for b, x in enumerate(may)]
        if self.ties == "last":
            may = [x and not any(sure[b + 1 :]) for b, x in enumerate(may)]
        yield [(int(x and self.ties == "mix"), int(y)) for x, y in both(sure, may)]

    def image(self, q: Fraction) -> Fraction:
        """Return f(q)."""
        if self.model == "affine":
            return Fraction(self.numbers[0] + self.numbers[1] * q)
        need(q >= 0, "the follower's play is defined in every leaf")
        return Fraction(q ** int(self.numbers[0]))


def box_vectors(given: Any, n_s: int) -> tuple[WholeVector, WholeVector, WholeVector]:
    """Read the three vectors of a leaf."""
    names = ("low", "high", "worth")
    form(type(given) is dict and given.keys() == {"over", *names}, "a leaf", "three vectors")
    below = number(given["over"], "over")
    form(below.denominator == 1 and below > 0, "over", "a positive integer")
    found = []
    for name in names:
        x = array(given[name], (n_s,), name)
        form(all(n.denominator == 1 for n in x), name, "integers")
        found.append(WholeVector([n.numerator for n in x], below.numerator))
    return tuple(found)  # type: ignore[return-value]


def check_box(
    who: StatedFollower,
    reward: WholeVector,
    mask: list[list[int]],
    vectors: Any,
    sign: int,
    place: str,
) -> None:
    """Check that the vectors bound what the commitments of a box lead to (from below for −1)."""
    game, (low, high, worth) = who.game, vectors
    _, n_a, n_b = game.shape
    for s, actions in enumerate(mask):
        for first in ((s * n_a + a) * n_b for a in actions):
            rows = range(first, first + n_b)
            need(max(who.value(i, low) for i in rows) >= low[s], f"{place}: h_lo is a lower bound")
            need(
                max(who.value(i, high) for i in rows) <= high[s], f"{place}: h_hi is an upper bound"
            )
            w = [reward[i] + game.discount * (game.rows[i] @ worth) for i in rows]
            level = who.epsilon * sum(w) / n_b - worth[s]
            t = [sign * ((1 - who.epsilon) * x + level) for x in w]
            fits = any(
                sum(max(x * lo, x * hi) for x, (lo, hi) in both(t, weights)) <= 0
                for weights in who.plays(first, low, high, sign)
            )
            need(fits, f"{place}: w bounds the leader's values")


def leaves_of(nodes: Any, allowed: list[list[int]], n_a: int) -> Iterator[list[list[int]]]:
    """Yield the boxes of the leaves of a tree in preorder."""
    form(type(nodes) is list and len(nodes) > 0, "nodes", "a list of nodes")
    waiting = [allowed]
    for node in nodes:
        form(len(waiting) > 0, "nodes", "one tree")
        form(type(node) is list, "nodes", "lists")
        mask = waiting.pop()
        if not node:
            yield mask
            continue
        s = whole(node[0], "nodes", 0, len(mask))
        parts = [positions(part, n_a, "nodes") for part in node[1:]]
        need(sorted(a for part in parts for a in part) == mask[s], "a node divides what is allowed")
        waiting += [[*mask[:s], part, *mask[s + 1 :]] for part in reversed(parts)]
    need(not waiting, "every part of a node has its subtree")


def positions(given: Any, n_a: int, place: str) -> list[int]:
    """Return increasing positions of leader actions, at least one."""
    found = [whole(a, place, 0, n_a) for a in listed(given, place)]
    form(bool(found) and all(x < y for x, y in pairwise(found)), place, "increasing positions")
    return found


def search_tree(given: Fields) -> str:
    """Check that no allowed commitment earns more, and that the stated one earns so much."""
    (n_s, n_a, _), start = given.game.shape, given.game.start
    doc, reward, who = given.given, given.reward("reward"), StatedFollower(given)
    allowed = [positions(row, n_a, "allowed") for row in listed(doc["allowed"], "allowed", n_s)]
    actions = given.positions("actions", n_s, n_a)
    need(all(a in row for a, row in both(actions, allowed)), "the stated commitment is allowed")
    lower, upper = given.number("lower"), given.number("upper")
    own = box_vectors(doc["incumbent"], n_s)
    check_box(who, reward, [[a] for a in actions], own, -1, "the stated commitment")
    need(lower <= start @ own[2], "the stated commitment earns the lower bound")
    leaves, count = listed(doc["leaves"], "leaves"), 0
    for mask in leaves_of(doc["nodes"], allowed, n_a):
        form(count < len(leaves), "leaves", "as many as the tree has")
        vectors = box_vectors(leaves[count], n_s)
        check_box(who, reward, mask, vectors, 1, f"leaf {count}")
        need(start @ vectors[2] <= upper, f"leaf {count} is within the upper bound")
        count += 1
    form(count == len(leaves), "leaves", "as many as the tree has")
    return (
        f"no allowed deterministic commitment earns more than {words(upper, True)} against "
        f"{who.words()}; the stated one earns at least {words(lower, False)}"
    )
