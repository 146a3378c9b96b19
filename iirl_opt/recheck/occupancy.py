"""What no joint policy earns, that none is allowed, and that one is not optimal.

``r − (E − γP)V − Gᵀλ − Kᵀκ`` bounds what any measure earns (weak duality; Farkas' lemma where no
measure is allowed at all). Each function raises where a condition fails, and returns the claim.
"""

from collections.abc import Iterable
from fractions import Fraction

from .arithmetic import ZERO, WholeVector, both, mixture, positive, vector, words
from .game import Fields, StatedGame
from .reading import SparseRow, need


class Sides:
    """Side constraints G μ ≤ h, K μ = k and their prices, those of G clamped at zero."""

    rows: list[SparseRow]
    equal: list[SparseRow]
    bounds: WholeVector
    right: WholeVector
    free: WholeVector
    prices: WholeVector
    game: StatedGame
    values: WholeVector

    def __init__(self, given: Fields) -> None:
        width = len(given.game.rows)
        m, k = given.length("bounds"), given.length("right")
        self.rows, self.equal = given.sparse("rows", width, m), given.sparse("equal", width, k)
        self.bounds, self.right = given.vector("bounds", m), given.vector("right", k)
        prices, self.free = given.vector("prices", m), given.vector("equal_prices", k)
        self.prices = WholeVector(list(map(positive, prices.above)), prices.below)
        self.game, self.values = given.game, given.vector("values")

    def combined(self) -> WholeVector:
        """Return ``(E − γP) V + Gᵀ λ + Kᵀ κ`` over all choices."""
        side = [ZERO] * len(self.game.rows)
        for rows, by in ((self.rows, self.prices), (self.equal, self.free)):
            for j, row in enumerate(rows):
                for i, x in row.items():
                    side[i] += x * by[j]
        return self.game.leave(self.values) + vector(side)

    def paid(self) -> Fraction:
        """Return ``start·V + h·λ + k·κ``."""
        return self.game.start @ self.values + self.bounds @ self.prices + self.right @ self.free


def optimality(given: Fields) -> str:
    """Check what any joint policy earns at most, and what the stated one earns at least."""
    game, sides, reward = given.game, Sides(given), given.reward("reward")
    mass = given.vector("mass")
    policy = [p for row in given.joint("policy") for p in row]
    lower, upper, excess = map(given.number, ("lower", "upper", "excess"))
    left, each = 1 - game.discount, len(policy) // game.shape[0]
    bound = sides.paid() + (reward - sides.combined()).most() / left
    need(upper >= bound, "the upper bound is start·V + h·λ + k·κ + max δ/(1−γ) or more")
    mu = [mass[i // each] * p for i, p in enumerate(policy)]
    flow = mass - mixture(both(mu, game.rows)).dense(game.shape[0]) * game.discount
    doubt = (game.start - flow).sum(abs) / left

    def rest(row: Iterable[tuple[int, Fraction]]) -> Fraction:
        """Return ``max |c_π| D`` of a row c over choices."""
        means = [ZERO] * game.shape[0]
        for i, x in row:
            means[i // each] += policy[i] * x
        return max(map(abs, means)) * doubt

    earned = sum((x * reward[i] for i, x in enumerate(mu)), ZERO)
    lost = rest((i, reward[i]) for i in range(len(policy)))
    need(lower <= earned - lost, "the lower bound is r·μ − max|r_π| D or less")
    need(excess >= 0, "the excess is not negative")
    parts = ((sides.rows, sides.bounds, Fraction), (sides.equal, sides.right, abs))
    for rows, by, measure in parts:
        for j, row in enumerate(rows):
            far = measure(sum((x * mu[i] for i, x in row.items()), ZERO) - by[j])
            far += rest(row.items())
            need(excess >= far, f"constraint {j} is broken by the excess at most")
    side = " within the side constraints" if sides.rows or sides.equal else ""
    beyond = f", and breaks a constraint by at most {words(excess, True)}" if excess else ""
    return (
        f"no joint policy{side} earns more than {words(upper, True)}; the stated one earns at "
        f"least {words(lower, False)}{beyond}"
    )


def infeasibility(given: Fields) -> str:
    """Check that no joint policy meets side constraints."""
    sides = Sides(given)
    asked = sides.combined().least() / (1 - given.game.discount)
    need(sides.paid() < asked, "start·V + h·λ + k·κ is less than min c/(1−γ)")
    return "no joint policy meets the side constraints"


def policy_improvement(given: Fields) -> str:
    """Check that a policy is worth less in a state than another."""
    game, reward = given.game, given.reward("reward")
    state = given.whole("state", 0, game.shape[0])
    gain = given.number("gain")

    def evaluated(name: str) -> tuple[Fraction, WholeVector]:
        """Return the stated value in the state, and the errors of all values."""
        v, each = given.vector(f"{name}_values"), len(game.rows) // game.shape[0]
        rho = []
        for s, row in enumerate(given.joint(name)):
            here = range(s * each, (s + 1) * each)
            mean = sum((p * reward[i] for p, i in both(row, here)), ZERO)
            onward = mixture((p, game.rows[i]) for p, i in both(row, here)) @ v
            rho.append(v[s] - mean - game.discount * onward)
        return v[state], vector(rho)

    (new, over), (old, under) = evaluated("new"), evaluated("old")
    doubt = max(over.most(), ZERO) + max(-under.least(), ZERO)
    need(gain > 0, "the gain is positive")
    need(gain <= new - old - doubt / (1 - game.discount), "the new policy gains so much")
    return (
        f"the old policy is not optimal: from {game.labels[0][state]} the new one is worth at "
        f"least {words(gain, False)} more"
    )
