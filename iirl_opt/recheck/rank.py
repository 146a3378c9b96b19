"""How far soft-optimal answers tell the reward: the rank of their equations."""

import math
from fractions import Fraction

from .arithmetic import ONE, ZERO, WholeRow, both, mixture, vector
from .game import Fields, StatedGame
from .reading import distributions, form, need

KINDS = ("state", "follower", "joint")
BELOW = 2**31


def reward_rank(given: Fields) -> str:
    """Check what the equations of the commitments leave of the reward."""
    game, kind = given.game, given.given["rewards"]
    form(type(kind) is str and kind in KINDS, "rewards", f"one of {', '.join(KINDS)}")
    n_s, n_a, n_b = game.shape
    count = given.length("commitments")
    form(count > 0, "commitments", "one at least")
    plays = distributions(given.given["commitments"], (count, n_s, n_a), "commitments")
    size = n_s * {"state": 1, "follower": n_b, "joint": n_a * n_b}[kind]
    width, height = size + count * n_s, count * n_s * n_b
    modulus, rank = given.whole("modulus", 2, BELOW), given.length("columns")
    columns, rows = given.positions("columns", rank, width), given.positions("rows", rank, height)
    need(len(set(columns)) == len(set(rows)) == rank, "rows and columns stand once")
    null = given.array("null", width - rank, width)
    system = [equation(game, plays, kind, at) for at in range(height)]
    for found in null:
        x = vector(found)
        for row in system:
            total = sum((p * x.above[j] for j, p in row.items()), ZERO)
            need(total == 0, "the null vectors solve the equations")
    free = [j for j in range(width) if j not in set(columns)]
    unit = [[ONE if i == j else ZERO for j in free] for i in free]
    need([[row[j] for j in free] for row in null] == unit, "the null vectors are independent")
    minor = [[whole_row(system[at]).get(j, 0) % modulus for j in columns] for at in rows]
    need(is_invertible(minor, modulus), "the minor is invertible")
    answers = "the commitment" if count == 1 else f"the {count} commitments"
    by = "is constant" if len(null) == 1 else f"is in the stated space of {len(null)} dimensions"
    return (
        f"two {kind} rewards have the same soft-optimal answers to {answers}, at one temperature, "
        f"iff their difference {by}"
    )


def equation(
    game: StatedGame, plays: list[list[list[Fraction]]], kind: str, at: int
) -> dict[int, Fraction]:
    """Return a row on (r, V_1, …, V_T): r̄_b(s) + γ P_b V_t − V_t(s)."""
    n_s, n_a, n_b = game.shape
    t, choice = divmod(at, n_s * n_b)
    s, b = divmod(choice, n_b)
    choices = [(s * n_a + a) * n_b + b for a in range(n_a)]
    size = n_s * {"state": 1, "follower": n_b, "joint": n_a * n_b}[kind]
    row = {s if kind == "state" else choice: ONE}
    if kind == "joint":
        row = {j: share for j, share in both(choices, plays[t][s]) if share}
    ahead: WholeRow = mixture(both(plays[t][s], [game.rows[j] for j in choices]))
    first = size + t * n_s
    for j, x in both(ahead.columns, ahead.weights):
        row[first + j] = game.discount * Fraction(x, ahead.below)
    row[first + s] = row.get(first + s, ZERO) - 1
    return row


def whole_row(row: dict[int, Fraction]) -> dict[int, int]:
    """Return a row times the least number that makes it whole."""
    below = math.lcm(*(x.denominator for x in row.values()))
    return {j: x.numerator * (below // x.denominator) for j, x in row.items()}


def is_invertible(matrix: list[list[int]], modulus: int) -> bool:
    """Return whether elimination shows a square matrix invertible modulo a number."""
    left = [list(row) for row in matrix]
    for j in range(len(left)):
        found = next((i for i in range(j, len(left)) if math.gcd(left[i][j], modulus) == 1), None)
        if found is None:
            return False
        left[j], left[found] = left[found], left[j]
        inverse = pow(left[j][j], -1, modulus)
        for i in range(j + 1, len(left)):
            if factor := left[i][j] * inverse % modulus:
                left[i] = [(x - factor * y) % modulus for x, y in both(left[i], left[j])]
    return True
