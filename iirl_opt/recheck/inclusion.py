"""All rewards that explain responses lie in half-spaces, in a class, or within an angle of one.

Linear duality: multipliers y of the gaps and z of the values combine to every half-space, but for
what they miss it by, which is computed exactly and weakens the claim.
"""

from collections.abc import Sequence
from fractions import Fraction

from .arithmetic import (
    ONE,
    ZERO,
    WholeVector,
    both,
    mixture,
    negative,
    positive,
    root,
    vector,
    words,
)
from .game import Fields, StatedEpisode, StatedGame
from .reading import SparseRow, form, need


class Multipliers:
    """The multipliers of an inclusion, and by how much each half-space is missed."""

    game: StatedGame
    episodes: list[StatedEpisode]
    on_gaps: list[SparseRow]
    on_values: list[SparseRow]
    begin: str

    def __init__(self, given: Fields, count: int) -> None:
        n_s, _, n_b = given.game.shape
        self.game, self.episodes = given.game, given.episodes()
        t = len(self.episodes)
        self.on_gaps = given.sparse("on_gaps", t * n_s * n_b, count)
        self.on_values = given.sparse("on_values", t * n_s, count)
        self.begin = f"every reward that explains the {t} observed responses"

    def missed(self, at: int, h: WholeVector, is_joint: bool = False) -> Fraction:
        """Return η of half-space number `at`."""
        n_s, n_a, n_b = self.game.shape
        gamma, lost = self.game.discount, ZERO
        for t, one in enumerate(self.episodes):
            y = part(self.on_gaps[at], t * n_s * n_b, n_s * n_b)
            y = {i: x for i, x in y.items() if x > 0 or one.played[i]}
            z = part(self.on_values[at], t * n_s, n_s)
            along = [z.get(s, ZERO) for s in range(n_s)]
            onward, here = along.copy(), vector(along)
            for i, x in y.items():
                onward[i // n_b] += x
            rows = [*both(onward, one.chain), *((-x, one.follower[i]) for i, x in y.items())]
            lost += (mixture(rows).dense(n_s) * gamma - here).sum(positive) / (1 - gamma)
            if is_joint:
                here = vector(
                    one.pi1[s][a] * (onward[s] * one.pi2[s][b] - y.get(s * n_b + b, ZERO))
                    for s in range(n_s)
                    for a in range(n_a)
                    for b in range(n_b)
                )
            h = h - here
        return lost + h.sum(negative)


def part(row: SparseRow, first: int, count: int) -> SparseRow:
    """Return so many columns of a row from the first on, counted from there."""
    return {i - first: x for i, x in row.items() if first <= i < first + count}


def inclusion(given: Fields) -> str:
    """Check that all rewards that explain the responses lie in half-spaces."""
    n_s, stated = given.game.shape[0], given.given["halfspaces"]
    form(type(stated) is dict, "halfspaces", "sparse rows")
    is_joint = stated.get("width") != n_s
    width = len(given.game.rows) if is_joint else n_s
    rows, slack = given.sparse("halfspaces", width), given.number("slack")
    proof = Multipliers(given, len(rows))
    need(slack >= 0, "the slack is not negative")
    for k, row in enumerate(rows):
        h = vector(row.get(j, ZERO) for j in range(width))
        need(h.sum() == 0, f"half-space {k} sums to zero")
        missed = proof.missed(k, h, is_joint)
        need(missed <= slack * h.size(), f"half-space {k} is missed by at most the slack")
    if slack:
        least = f"-{words(slack, True)} · max|h| · span r"
        return f"{proof.begin} has h·r >= {least} for the {len(rows)} half-spaces h"
    return f"{proof.begin} lies in the {len(rows)} half-spaces h·r >= 0"


Reward = Sequence[Fraction]


def centred(rho: Reward) -> list[Fraction]:
    return [len(rho) * x - sum(rho) for x in rho]


def affine_rows(rho: Reward) -> list[list[Fraction]]:
    """Return the half-spaces of Aff(ρ), w the last unless ρ is constant."""
    low, high = rho.index(min(rho)), rho.index(max(rho))
    span = rho[high] - rho[low]
    rows = []
    for k, x in enumerate(rho):
        phi = [ZERO] * len(rho)
        if span and k not in (low, high):
            phi[low], phi[high], phi[k] = rho[high] - x, x - rho[low], -span
            rows.append(phi)
        elif not span and k:
            phi[0], phi[k] = ONE, -ONE
            rows.append(phi)
    if rows:
        rows.append([-sum(column) for column in both(*rows)])
    return [*rows, centred(rho)] if span else rows


def orthogonal(rho: Reward) -> list[list[Fraction]]:
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


def square(v: Reward) -> Fraction:
    one = vector(v)
    return one @ one


def class_inclusion(given: Fields) -> str:
    """Check that all such rewards are in a class, or within an angle of it."""
    rho, tan = given.array("reward", given.game.shape[0]), given.number("tan")
    need(tan >= 0, "the tangent is not negative")
    if given.given["inner"] is not None:
        begin = within_cone(given, rho, tan, given.number("inner"))
    else:
        rows = affine_rows(rho)
        proof = Multipliers(given, len(rows))
        begin, eta = proof.begin, [proof.missed(k, vector(row)) for k, row in enumerate(rows)]
        if min(rho) == max(rho):
            need(sum(eta) < Fraction(1, 2), "the half-spaces are missed by less than 1/2")
            return f"{begin} is constant"
        c = 2 * eta[-1] ** 2 / square(rows[-1])
        d = 2 * (len(rho) - 2) * sum(eta[:-1]) ** 2 / (max(rho) - min(rho)) ** 2
        need(c + d < 1, "C + D is less than one")
        need(d <= tan**2 * (1 - d), "D is at most tan² (1 − D)")
    if tan:
        return (
            f"{begin} is constant, or its angle to the stated reward, both centred, has a tangent "
            f"of at most {words(tan, True)}"
        )
    return f"{begin} is λ r + c with λ >= 0, for the stated reward r"


def within_cone(given: Fields, rho: Reward, tan: Fraction, inner: Fraction) -> str:
    """Check the half-spaces of a cone around a reward; return the begin of the claim."""
    form(min(rho) < max(rho), "reward", "a reward with a direction, as `inner` needs")
    form(inner > 0, "inner", "positive")
    w, phis = centred(rho), orthogonal(rho)
    scales = [root(inner**2 * square(f) / (square(w) * len(phis)), up=False) for f in phis]
    rows = [
        [t * x + sign * y for x, y in both(w, f)] for t, f in both(scales, phis) for sign in (1, -1)
    ] or [w]
    proof = Multipliers(given, len(rows))
    eta = [proof.missed(k, vector(row)) for k, row in enumerate(rows)]
    if phis:
        pairs = list(both(eta[::2], eta[1::2], scales, phis))
        b = sum(2 * max(x, y) ** 2 / square(f) for x, y, _, f in pairs)
        c = min((x + y) ** 2 / (2 * t**2 * square(w)) for x, y, t, _ in pairs)
        need(b + c < 1, "B + C is less than one")
        wide = inner + root(b * (1 + tan**2), up=True)
        need(wide <= tan, "inner + √(B (1 + tan²)) is at most tan")
    else:
        need(2 * eta[0] ** 2 / square(w) < 1, "C is less than one")
        need(inner <= tan, "inner is at most tan")
    return proof.begin


def angle_bound(given: Fields) -> str:
    """Check that a response is optimal only within an angle of a reward."""
    game, one = given.game, given.episode()
    n_s, _, n_b = game.shape
    rho = given.array("reward", n_s)
    form(n_s == 1 or min(rho) < max(rho), "reward", "a reward with a direction")
    states = given.positions("states", n_s - 1, n_s)
    actions = given.positions("actions", n_s - 1, n_b)
    rays = given.array("rays", n_s - 1, n_s)
    bound = given.number("tan_squared")
    need(bound >= 0, "tan² is not negative")
    need(game.discount > 0, "the discount is positive")
    xs, first = [vector(x) for x in rays], one.chain[0].dense(n_s)
    alike = all((row.dense(n_s) - first).size() == 0 for row in one.chain)
    need(alike, "the response leads on alike")
    need(all(x.sum() == 0 for x in xs), "the rays sum to zero")
    away = [ZERO] * len(xs)
    for i, (s, b) in enumerate(both(states, actions)):
        psi = mixture([(ONE, one.chain[s]), (-ONE, one.follower[s * n_b + b])])
        for j, x in enumerate(xs):
            away[j] += abs(psi @ x - (i == j))
    epsilon = max(away, default=ZERO)
    need(epsilon < 1, "the rays are near the extreme ones")
    far = ZERO
    if epsilon:
        far = epsilon / (1 - epsilon) * root(max(x @ x for x in xs), up=True)
    w = vector(centred(rho))
    ww = w @ w
    for j, x in enumerate(xs):
        along, xx = w @ x, x @ x
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
