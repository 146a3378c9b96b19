"""The game that a certificate states, its episodes, and its other fields, read as they are asked.

A choice is a triple (s, a, b), in the order ``(s·A + a)·B + b``. An episode is a commitment π1 and
a response π2 to it; for any values v its *errors* are ``ρ(s) = v(s) − r̄_π(s) − γ P_π(s)·v`` and its
*gaps* ``g(s, b) = v(s) − r̄(s, b) − γ P_b(s)·v``.
"""

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import Any, NamedTuple

from .arithmetic import ZERO, WholeRow, WholeVector, both, mixture, vector
from .reading import (
    SparseRow,
    array,
    distributions,
    form,
    listed,
    number,
    shares,
    sparse_row,
    texts,
    whole,
)

LABELS = ("states", "leader_actions", "follower_actions")
KEYS = ("shape", "kernel", "discount", "start", *LABELS)


class StatedGame(NamedTuple):
    """The game of a certificate: `rows` is the kernel, a row for each choice."""

    shape: tuple[int, int, int]
    rows: list[WholeRow]
    discount: Fraction
    start: WholeVector
    labels: list[list[str]]
    fingerprint: str

    def leave(self, v: WholeVector) -> WholeVector:
        """Return ``(E − γP) v`` over all choices."""
        each = len(self.rows) // self.shape[0]
        return vector(v[i // each] - self.discount * (row @ v) for i, row in enumerate(self.rows))

    def canonical(self) -> str:
        """Return the fingerprint of the numbers."""
        ratios = [self.discount, *(self.start[s] for s in range(self.shape[0]))]
        gamma, *start = (f"{x.numerator:x}/{x.denominator:x}" for x in ratios)
        lines = [" ".join(f"{n:x}" for n in self.shape), gamma, " ".join(start)]
        for columns, weights, _ in self.rows:
            common = math.gcd(*weights)
            lines.append(" ".join(f"{j:x}:{x // common:x}" for j, x in both(columns, weights)))
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def game_of(given: Any) -> StatedGame:
    """Read the game."""
    form(type(given) is dict, "instance", "an object")
    form(given.keys() == {*KEYS, "fingerprint"}, "instance", f"an object with {', '.join(KEYS)}")
    n_s, n_a, n_b = (whole(n, "shape", 1) for n in listed(given["shape"], "shape", 3))
    rows = []
    for row in listed(given["kernel"], "kernel", n_s * n_a * n_b):
        entries = sparse_row(row, n_s, "kernel")
        fits = bool(entries) and all(x > 0 and x.denominator == 1 for x in entries.values())
        form(fits, "kernel", "rows of positive integers")
        weights = [x.numerator for x in entries.values()]
        rows.append(WholeRow(list(entries), weights, sum(weights)))
    discount = number(given["discount"], "discount")
    form(0 <= discount < 1, "discount", "in [0, 1)")
    form(type(given["fingerprint"]) is str, "fingerprint", "a text")
    start = vector(distributions(given["start"], (n_s,), "start"))
    labels = [texts(given[name], count, name) for name, count in both(LABELS, (n_s, n_a, n_b))]
    return StatedGame((n_s, n_a, n_b), rows, discount, start, labels, given["fingerprint"])


class StatedEpisode:
    """A commitment and a response, as distributions, and what they lead to."""

    game: StatedGame
    pi1: Any
    pi2: Any
    follower: list[WholeRow]
    chain: list[WholeRow]
    played: list[Any]

    def __init__(self, game: StatedGame, pi1: Any, pi2: Any) -> None:
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

    def own(self, reward: WholeVector) -> list[Fraction]:
        """Return r̄(s, b)."""
        n_s, n_a, n_b = self.game.shape
        return [
            sum((self.pi1[s][a] * reward[(s * n_a + a) * n_b + b] for a in range(n_a)), ZERO)
            for s in range(n_s)
            for b in range(n_b)
        ]

    def errors(self, reward: WholeVector, v: WholeVector) -> WholeVector:
        """Return ρ over the states."""
        own, n_b = self.own(reward), self.game.shape[2]
        mean = [
            sum(map(mul, play, own[s * n_b : (s + 1) * n_b]), ZERO)
            for s, play in enumerate(self.pi2)
        ]
        gamma = self.game.discount
        return vector(v[s] - mean[s] - gamma * (row @ v) for s, row in enumerate(self.chain))

    def gaps(self, reward: WholeVector, v: WholeVector) -> WholeVector:
        """Return g over the pairs s, b."""
        own, n_b, gamma = self.own(reward), self.game.shape[2], self.game.discount
        return vector(
            v[i // n_b] - own[i] - gamma * (row @ v) for i, row in enumerate(self.follower)
        )


@dataclass(frozen=True)
class Fields:
    """The fields of a certificate beside its game, read by name."""

    given: dict[str, Any]
    game: StatedGame

    def number(self, name: str) -> Fraction:
        """Return a number."""
        return number(self.given[name], name)

    def whole(self, name: str, least: int, below: int | None = None) -> int:
        """Return an integer within limits."""
        return whole(self.given[name], name, least, below)

    def positions(self, name: str, count: int, below: int) -> list[int]:
        """Return a list of so many positions."""
        return [whole(x, name, 0, below) for x in listed(self.given[name], name, count)]

    def array(self, name: str, *shape: int) -> Any:
        """Return nested lists of numbers."""
        return array(self.given[name], shape, name)

    def vector(self, name: str, size: int | None = None) -> WholeVector:
        """Return a vector, over the states unless its size is told."""
        return vector(self.array(name, self.game.shape[0] if size is None else size))

    def length(self, name: str) -> int:
        """Return how long a list is."""
        return len(listed(self.given[name], name))

    def is_joint(self, name: str) -> bool:
        """Return whether a reward is one of choices: a list of lists."""
        given = self.given[name]
        return type(given) is list and bool(given) and type(given[0]) is list

    def reward(self, name: str) -> WholeVector:
        """Return a reward (S) or (S, A, B) over all choices."""
        n_s, n_a, n_b = self.game.shape
        if self.is_joint(name):
            planes = self.array(name, n_s, n_a, n_b)
            return vector(x for plane in planes for row in plane for x in row)
        return vector(x for x in self.array(name, n_s) for _ in range(n_a * n_b))

    def joint(self, name: str) -> list[list[Fraction]]:
        """Return weights (S, A, B) as distributions over the pairs (a, b) of each state."""
        planes = self.array(name, *self.game.shape)
        return [shares([x for row in plane for x in row], name) for plane in planes]

    def sparse(self, name: str, width: int, count: int | None = None) -> list[SparseRow]:
        """Return sparse rows."""
        given = self.given[name]
        form(type(given) is dict and given.keys() == {"width", "rows"}, name, "sparse rows")
        form(whole(given["width"], name) == width, name, f"of width {width}")
        return [sparse_row(row, width, name) for row in listed(given["rows"], name, count)]

    def episode(self) -> StatedEpisode:
        """Return one commitment and the response to it."""
        n_s, n_a, n_b = self.game.shape
        pi1 = distributions(self.given["pi1"], (n_s, n_a), "pi1")
        return StatedEpisode(self.game, pi1, distributions(self.given["pi2"], (n_s, n_b), "pi2"))

    def episodes(self) -> list[StatedEpisode]:
        """Return several commitments, each with its response."""
        n_s, n_a, n_b = self.game.shape
        count = self.length("pi1")
        pi1 = distributions(self.given["pi1"], (count, n_s, n_a), "pi1")
        pi2 = distributions(self.given["pi2"], (count, n_s, n_b), "pi2")
        return [StatedEpisode(self.game, *pair) for pair in both(pi1, pi2)]
