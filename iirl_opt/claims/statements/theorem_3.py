"""Theorem 3: committing to followers with ``π2 ∝ f(Q)``, and to one that plays uniformly.

Source: the paper, Section 5.2 and Appendix B. The counterexample game is built as the paper draws
it. It is decided in Fractions, with functions f that take Fractions to Fractions; the exponential
is rounded to a double first, which leaves it a nondecreasing function.

In the game of Theorem 3 the follower chooses in s0 between x and what a state s2 is worth, y under
a1 and 0 under a2. So a1 is better from s2 for y > 0, and worse from s0 iff

    x f(x) / (f(x) + f(0)) > y f(y) / (f(y) − f(0)),

whose left side grows with x, from f(x) ≥ f(0) > 0 on it is at least x/2. So there is such an x if
f(y) > f(0), and every x > 2y f(y)/(f(y) − f(0)) will do; and if f(y) = f(0) there is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from iirl_opt.claims.arithmetic import Exact, exact, policies_of, policy_values, stochastic
from iirl_opt.claims.branching import branching_kernel, earned, halves
from iirl_opt.claims.claim import Claim, Outcome, untried
from iirl_opt.claims.instances import POSITIVE, Case, cases, generic_cases
from iirl_opt.claims.problems import nearest
from iirl_opt.game.mdp import TwoAgentMDP

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


__all__ = ["CLAIMS", "proportional", "theorem_3_case"]

NEARLY = Fraction(1, 1000)


@dataclass(frozen=True)
class Weight:
    """A function f of action values ≥ 0 for a follower with ``π2 ∝ f(Q)``; nondecreasing."""

    name: str
    f: Callable[[Fraction], Fraction]
    strictly_increasing: bool = True
    bounded: bool = False

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class ProportionalGame:
    """The game of Theorem 3 with a discount, and the follower's f."""

    weight: Weight
    discount: Fraction
    y: Fraction = Fraction(1)


def theorem_3_case(x: Fraction, y: Fraction, discount: Fraction) -> Case:
    """Return the game of Theorem 3, with its reward scaled so that Q(b1) = x and Q(b2) = y."""
    kernel = branching_kernel(6, 5)
    kernel[2, 0, :, 3] = kernel[2, 1, :, 4] = 1
    gamma = discount or Fraction(1)
    reward = exact([0, x / gamma, 0, y / gamma**2, 0, 0])
    return Case(TwoAgentMDP(kernel, discount), reward)


def _reversed_at(at: ProportionalGame, x: Fraction) -> bool:
    """Return whether a1 is better from s2 and worse from s0, for this x."""
    case = theorem_3_case(x, at.y, at.discount)

    def answer(q: Exact) -> Exact:
        # Where the actions lead to the same states (all but s0) f is not asked, nor exponentials
        # of what no decision depends on.
        weights = exact(np.ones(q.shape, dtype=int))
        weights[0] = [at.weight.f(value) for value in q[0]]
        if weights[0].sum() == 0:
            raise ZeroDivisionError
        policy: Exact = weights / weights.sum(axis=1)[:, None]
        return policy

    first, second = (earned(case, share, answer) for share in (Fraction(1), Fraction(0)))
    return bool(first[2] > second[2] and first[0] < second[0])


def _undefined(at: ProportionalGame) -> bool:
    """Return whether π2 ∝ f(Q) is 0/0 at the end and in s2 under a2, where all values are 0."""
    return at.weight.f(Fraction(0)) == 0


def _enough(at: ProportionalGame) -> Fraction | None:
    """Return an x at which the closed form promises a reversal, or None."""
    top, zero = at.weight.f(at.y), at.weight.f(Fraction(0))
    return None if top == zero else 2 * at.y * top / (top - zero) * (1 + NEARLY)


def theorem_3(at: ProportionalGame) -> Outcome:
    """Decide whether the paper's game has no dominating commitment for this f, for some x."""
    if _undefined(at):
        return Outcome(False, "the response is undefined: f(0) = 0, and all values are 0 in s2")
    x = _enough(at)
    found = x is not None and _reversed_at(at, x)
    shown = "for no x" if x is None else f"at x = {float(x):.4g}: {found}"
    return Outcome(found, f"a1 is better from s2 and worse from s0 {shown}")


def only_strictly_increasing(at: ProportionalGame) -> Outcome:
    """Decide: a reversal needs a strictly increasing f."""
    x = _enough(at)
    if x is None or not _reversed_at(at, x):
        return untried("no reversal")
    return Outcome(at.weight.strictly_increasing, f"a reversal at x = {float(x):.4g}")


def somewhere_increasing(at: ProportionalGame, *, factor: Fraction = Fraction(1)) -> Outcome:
    """Decide: the paper's game is reversed for some x iff f(y) > f(0).

    Where f(y) = f(0), no x does of those from y/1000 to 2^60 y; else the closed form says which.
    """
    if _undefined(at):
        return untried("f(0) = 0")
    x = _enough(at)
    if x is not None:
        x = factor * x
        return Outcome(_reversed_at(at, x), f"a reversal at x = {float(x):.4g}")
    tried = (at.y * Fraction(2) ** k for k in range(-10, 61, 10))
    found = next((x for x in tried if _reversed_at(at, x)), None)
    return Outcome(found is None, f"f(y) = f(0); a reversal at x = {found}")


def _without_follower(at: ProportionalGame) -> Any:
    """Return the best joint play of the game, of which the follower is not asked."""
    why = (
        "the follower has no answer where f is zero for every action"
        if _undefined(at)
        else f"files have no name for f, {at.weight}"
    )
    case = theorem_3_case(_enough(at) or 3 * at.y, at.y, at.discount)
    return nearest(why, case.game, case.reward, question="occupancy")


def _reversal(at: ProportionalGame) -> Any:
    """Return whether a commitment is best everywhere against π2 ∝ exp Q; the limit is of f."""
    from iirl_opt.follower import ProportionalFollower

    case = theorem_3_case(_enough(at) or 3 * at.y, at.y, at.discount)
    return nearest(
        "the limit is one of f, and of no game",
        case.game,
        case.reward,
        question={"family": "commitment", "ask": "dominance"},
        follower=ProportionalFollower(np.exp),
    )


def threshold(at: ProportionalGame, *, factor: Fraction = Fraction(1)) -> Outcome:
    """Decide: a1 is worse from s0 iff x f(x)/(f(x) + f(0)) > y f(y)/(f(y) − f(0)).

    Tried a thousandth on either side of the x at which both are equal, which bisection finds.
    """
    top, zero = at.weight.f(at.y), at.weight.f(Fraction(0))
    if zero == 0 or top == zero:
        return untried("f(y) = f(0), or f(0) = 0")
    wanted = factor * at.y * top / (top - zero)

    def left(x: Fraction) -> Fraction:
        return x * at.weight.f(x) / (at.weight.f(x) + zero)

    low, high = Fraction(0), 2 * wanted
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (middle, high) if left(middle) <= wanted else (low, middle)
    below, above = low * (1 - NEARLY), high * (1 + NEARLY)
    found = _reversed_at(at, below), _reversed_at(at, above)
    return Outcome(found == (False, True), f"X = {float(high):.4g}")


def theorem_3_limit(at: ProportionalGame) -> Outcome:
    """Decide the printed limit: ``f(x)(f(y) − f(0))/(f(x) + f(0)) → 1``."""
    return _tends_to(at, Fraction(1))


def theorem_3_positive_limit(at: ProportionalGame) -> Outcome:
    """Decide the limit f(y) − f(0) > 0 for unbounded f."""
    if at.weight.bounded:
        return untried("f is bounded")
    return _tends_to(at, at.weight.f(at.y) - at.weight.f(Fraction(0)))


def _tends_to(at: ProportionalGame, limit: Fraction) -> Outcome:
    """Decide whether the term falls below every 2^-k from the limit, along x = 1, 2, 4, 8, …"""
    y, zero = at.weight.f(at.y), at.weight.f(Fraction(0))
    farthest = 512 if at.weight.name == "exp x" else 2**40  # beyond which exp has no double

    def term(x: Fraction) -> Fraction:
        return at.weight.f(x) * (y - zero) / (at.weight.f(x) + zero)

    distance = abs(term(Fraction(farthest)) - limit)
    shown = f"y = {float(at.y):g}: it tends to {float(term(Fraction(farthest))):.4g}"
    return Outcome(limit > 0 and distance < Fraction(1, 10**3) * limit, shown)


def uniform_follower(at: Case, *, steady: bool = False) -> Outcome:
    """Decide whether a commitment dominates all deterministic ones and the one given.

    Or one of those that play the same action in all states, `steady`.
    """
    problem = at.kernel.mean(axis=2)
    n_states, n_a, _ = problem.shape
    every = [(a,) * n_states for a in range(n_a)] if steady else policies_of(n_states, n_a)
    tried = [stochastic(choices, n_a) for choices in every]
    tried += [episode.pi1 for episode in at.episodes]
    values = np.array([policy_values(problem, at.reward, pi1, at.discount) for pi1 in tried])
    best = values.max(axis=0)
    return Outcome(bool((values == best).all(axis=1).any()), f"{len(tried)} commitments compared")


def _exponential(q: Fraction) -> Fraction:
    return Fraction(math.exp(q))


IDENTITY = Weight("x", lambda q: q)
SQUARE = Weight("x²", lambda q: q**2)
EXPONENTIAL = Weight("exp x", _exponential)
STEP = Weight(
    "1 below 1/4, else 2",
    lambda q: Fraction(1 if q < Fraction(1, 4) else 2),
    strictly_increasing=False,
    bounded=True,
)
CONSTANT = Weight("1", lambda _: Fraction(1), strictly_increasing=False, bounded=True)
RATIO = Weight("1 + x/(1 + x)", lambda q: 1 + q / (1 + q), bounded=True)
STEEP = Weight("1 + x/10000", lambda q: 1 + q / 10_000)
INCREASING = (
    EXPONENTIAL,
    Weight("1 + x", lambda q: 1 + q),
    Weight("3 + x", lambda q: 3 + q),
    Weight("1 + x²", lambda q: 1 + q**2),
    STEEP,  # whose X is 20,000 y
    RATIO,
)
UNBOUNDED = INCREASING[:-1]


def proportional(
    weights: tuple[Weight, ...], discounts: tuple[str, ...] = POSITIVE
) -> Callable[[], SearchStrategy[ProportionalGame]]:
    """Return the function that makes games of Theorem 3 with some of the functions f."""

    def strategy() -> SearchStrategy[ProportionalGame]:
        from hypothesis import strategies as st

        gammas = st.sampled_from([Fraction(x) for x in discounts])
        levels = st.sampled_from([Fraction(1, 2), Fraction(3, 4), Fraction(1)])
        return st.builds(ProportionalGame, st.sampled_from(weights), gammas, levels)

    return strategy


def _led_cases() -> SearchStrategy[Case]:
    from hypothesis import strategies as st

    drawn = cases(episodes=1, min_states=2, min_leader_actions=2, max_leader_actions=3)
    return st.one_of(generic_cases(3), generic_cases(2), drawn)


def _outside_theorem_3() -> SearchStrategy[ProportionalGame]:
    from hypothesis import strategies as st

    zero = proportional(INCREASING, ("0",))()
    return st.one_of(proportional((IDENTITY, SQUARE))(), zero)


CLAIMS = (
    Claim(
        "theorem-3",
        "Theorem 3",
        "If π2 ∝ f(Q) for a strictly increasing f ≥ 0, no commitment may dominate. Conditions: "
        "γ > 0 and f(0) > 0.",
        proportional(INCREASING),
        theorem_3,
        "needs a condition",
        outside=_outside_theorem_3,
        counterexample=lambda: ProportionalGame(IDENTITY, halves(1)),
        problem=_without_follower,
    ),
    Claim(
        "theorem-3-limit",
        "Theorem 3, proof",
        "f(x)(f(y) − f(0))/(f(x) + f(0)) → 1 as x → ∞.",
        proportional(UNBOUNDED),
        theorem_3_limit,
        "false as stated",
        counterexample=lambda: ProportionalGame(EXPONENTIAL, halves(1)),
        problem=_reversal,
    ),
    Claim(
        "theorem-3-limit-repaired",
        "Theorem 3, proof",
        "For unbounded f it tends to f(y) − f(0) > 0, which suffices.",
        proportional(UNBOUNDED),
        theorem_3_positive_limit,
        "repaired",
    ),
    Claim(
        "theorem-3-only-strict",
        "Section 5.2, after Theorem 3",
        "It generally holds for strictly increasing f only.",
        proportional((*INCREASING, STEP)),
        only_strictly_increasing,
        "false as stated",
        counterexample=lambda: ProportionalGame(STEP, halves(1)),
        problem=_without_follower,
    ),
    Claim(
        "theorem-3-repaired",
        "Theorem 3",
        "For nondecreasing f with f(0) > 0 and γ > 0 the paper's game has no dominating "
        "commitment, for some x, iff f(y) > f(0).",
        proportional((CONSTANT, STEP, *INCREASING)),
        somewhere_increasing,
        "repaired",
    ),
    Claim(
        "theorem-3-threshold",
        "Theorem 3, proof",
        "There no commitment dominates iff x f(x)/(f(x) + f(0)) > y f(y)/(f(y) − f(0)): X = 1.835 "
        "for exp, 2.562 for 1 + x, at y = 1.",
        proportional((*INCREASING, STEP)),
        threshold,
        "repaired",
    ),
    Claim(
        "uniform-follower",
        "Section 5.2, after Theorem 3",
        "If A2 plays uniformly at random, a dominating commitment exists.",
        _led_cases,
        uniform_follower,
    ),
)
