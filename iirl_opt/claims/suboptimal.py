"""Committing to suboptimal followers: Theorem 3, Lemma 3, the uniform follower.

Source: the paper, Section 5.2 and Appendix B. The two counterexample games are built as the paper
draws them. They are decided in Fractions, with functions f that take Fractions to Fractions; the
exponential is rounded to a double first, which leaves it a nondecreasing function.

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

from iirl_opt.claims.claim import Claim, Outcome, untried
from iirl_opt.claims.exact import (
    Exact,
    action_values,
    exact,
    policies_of,
    policy_values,
    stochastic,
)
from iirl_opt.claims.instances import POSITIVE, Case, cases, generic_cases
from iirl_opt.game.mdp import TwoAgentMDP

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["CLAIMS", "Greedy", "earned", "greedy", "lemma_3_case", "proportional", "theorem_3_case"]

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
class Proportional:
    """The game of Theorem 3 with a discount, and the follower's f."""

    weight: Weight
    discount: Fraction
    y: Fraction = Fraction(1)


@dataclass(frozen=True)
class Greedy:
    """The game of Lemma 3: ε, δ, the discount, and whether it enters the rewards of s3 and s4."""

    epsilon: Fraction
    delta: Fraction
    discount: Fraction
    scaled: bool


def _branching(n_states: int, ends: int) -> Any:
    """Return the kernel that both games share: s0 leads to s1 or s2, all else to the end."""
    kernel = np.zeros((n_states, 2, 2, n_states), dtype=int)
    kernel[0, :, 0, 1] = kernel[0, :, 1, 2] = 1
    kernel[1, :, :, ends] = kernel[3:, :, :, ends] = 1
    return kernel


def earned(at: Case, share: Fraction, answer: Callable[[Exact], Exact]) -> Exact:
    """Return the values (S,) when the leader plays a1 with probability `share` everywhere.

    Parameters
    ----------
    answer : the follower's response (S, B) to its optimal action values (S, B).
    """
    problem = share * at.kernel[:, 0] + (1 - share) * at.kernel[:, 1]
    q = action_values(problem, at.reward, at.discount)
    return policy_values(problem, at.reward, answer(q), at.discount)


def greedy(epsilon: Fraction, *, last: bool = False) -> Callable[[Exact], Exact]:
    """Return an ε-greedy answer, which plays the first of its best actions, or the last."""

    def answer(q: Exact) -> Exact:
        n_b = q.shape[1]
        best = [np.flatnonzero(row == row.max())[-1 if last else 0] for row in q]
        policy: Exact = (1 - epsilon) * stochastic(best, n_b) + epsilon * Fraction(1, n_b)
        return policy

    return answer


def theorem_3_case(x: Fraction, y: Fraction, discount: Fraction) -> Case:
    """Return the game of Theorem 3, with its reward scaled so that Q(b1) = x and Q(b2) = y."""
    kernel = _branching(6, 5)
    kernel[2, 0, :, 3] = kernel[2, 1, :, 4] = 1
    gamma = discount or Fraction(1)
    reward = exact([0, x / gamma, 0, y / gamma**2, 0, 0])
    return Case(TwoAgentMDP(kernel, discount), reward)


def _reversed_at(at: Proportional, x: Fraction) -> bool:
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


def _undefined(at: Proportional) -> bool:
    """Return whether π2 ∝ f(Q) is 0/0 at the end and in s2 under a2, where all values are 0."""
    return at.weight.f(Fraction(0)) == 0


def _enough(at: Proportional) -> Fraction | None:
    """Return an x at which the closed form promises a reversal, or None."""
    top, zero = at.weight.f(at.y), at.weight.f(Fraction(0))
    return None if top == zero else 2 * at.y * top / (top - zero) * (1 + NEARLY)


def theorem_3(at: Proportional) -> Outcome:
    """Decide whether the paper's game has no dominating commitment for this f, for some x."""
    if _undefined(at):
        return Outcome(False, "the response is undefined: f(0) = 0, and all values are 0 in s2")
    x = _enough(at)
    found = x is not None and _reversed_at(at, x)
    shown = "for no x" if x is None else f"at x = {float(x):.4g}: {found}"
    return Outcome(found, f"a1 is better from s2 and worse from s0 {shown}")


def only_strictly_increasing(at: Proportional) -> Outcome:
    """Decide: a reversal needs a strictly increasing f."""
    x = _enough(at)
    if x is None or not _reversed_at(at, x):
        return untried("no reversal")
    return Outcome(at.weight.strictly_increasing, f"a reversal at x = {float(x):.4g}")


def somewhere_increasing(at: Proportional, *, factor: Fraction = Fraction(1)) -> Outcome:
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


def threshold(at: Proportional, *, factor: Fraction = Fraction(1)) -> Outcome:
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


def theorem_3_limit(at: Proportional) -> Outcome:
    """Decide the printed limit: ``f(x)(f(y) − f(0))/(f(x) + f(0)) → 1``."""
    return _tends_to(at, Fraction(1))


def theorem_3_positive_limit(at: Proportional) -> Outcome:
    """Decide the limit f(y) − f(0) > 0 for unbounded f."""
    if at.weight.bounded:
        return untried("f is bounded")
    return _tends_to(at, at.weight.f(at.y) - at.weight.f(Fraction(0)))


def _tends_to(at: Proportional, limit: Fraction) -> Outcome:
    """Decide whether the term falls below every 2^-k from the limit, along x = 1, 2, 4, 8, …"""
    y, zero = at.weight.f(at.y), at.weight.f(Fraction(0))
    farthest = 512 if at.weight.name == "exp x" else 2**40  # beyond which exp has no double

    def term(x: Fraction) -> Fraction:
        return at.weight.f(x) * (y - zero) / (at.weight.f(x) + zero)

    distance = abs(term(Fraction(farthest)) - limit)
    shown = f"y = {float(at.y):g}: it tends to {float(term(Fraction(farthest))):.4g}"
    return Outcome(limit > 0 and distance < Fraction(1, 10**3) * limit, shown)


def lemma_3_case(at: Greedy) -> Case:
    """Return the game of Lemma 3 and its reward."""
    kernel = _branching(7, 6)
    kernel[2, 0, 0, 3] = kernel[2, 0, 1, 4] = kernel[2, 1, :, 5] = 1
    loss = -2 * (2 - at.delta) * (1 - at.epsilon / 2) / at.epsilon
    scale = 1 / at.discount if at.scaled else Fraction(1)
    reward = exact([0, 1, 0, 2 * scale, loss * scale, 0, 0])
    return Case(TwoAgentMDP(kernel, at.discount), reward)


def _no_dominance(at: Greedy) -> tuple[bool, str]:
    """Return whether a1 is better from s2 and worse from s0, whatever the ties."""
    case = lemma_3_case(at)
    for last in (False, True):
        answer = greedy(at.epsilon, last=last)
        first, second = (earned(case, share, answer) for share in (Fraction(1), Fraction(0)))
        v0, v2 = float(first[0]), float(first[2])
        shown = f"V0(a1) = {v0:.3f}, V0(a2) = {float(second[0]):.3f}, V2(a1) = {v2:.3f}"
        if not (first[2] > second[2] and first[0] < second[0]):
            return False, shown
    return True, shown


def lemma_3(at: Greedy) -> Outcome:
    """Decide whether the paper's game has no dominating commitment, whatever the ties."""
    if at.epsilon == 0:
        return Outcome(False, "the reward of s4 divides by ε = 0")
    return Outcome(*_no_dominance(at))


def lemma_3_bound(at: Greedy, *, factor: Fraction = Fraction(1)) -> Outcome:
    """Decide: no commitment dominates iff δ < (1−ε)/(1−ε/2)², for 0 < ε < 1, δ > 0, scaled."""
    bound = factor * (1 - at.epsilon) / (1 - at.epsilon / 2) ** 2
    found, shown = _no_dominance(at)
    near = float(at.delta / bound)
    return Outcome(found == (at.delta < bound), f"δ / bound = {near:.4f}; {shown}")


def maximum_exists(at: Greedy) -> Outcome:
    """Decide whether the best value from s0 is attained, with ties broken against the leader.

    The follower prefers b2 in s0 from p = 1/2 on, where b2 is worse for both. On either side of it
    the value is linear in the probability p of a1 in s2, so its ends tell.
    """
    case, answer = lemma_3_case(at), greedy(at.epsilon, last=True)
    half, small = Fraction(1, 2), Fraction(1, 2**30)
    start, near, middle, one = (
        earned(case, share, answer)[0] for share in (Fraction(0), half - small, half, Fraction(1))
    )
    attained = max(middle, one, start) >= near
    shown = f"towards p = 1/2: {float(near):.4f}, from there on {float(max(middle, one)):.4f}"
    return Outcome(bool(attained), shown)


def deterministic_is_best(at: Greedy) -> Outcome:
    """Decide: some deterministic commitment earns as much from s0 as any."""
    case, answer = lemma_3_case(at), greedy(at.epsilon)
    pure = max(earned(case, share, answer)[0] for share in (Fraction(0), Fraction(1)))
    mixed = earned(case, Fraction(1, 2) - Fraction(1, 2**20), answer)[0]
    return Outcome(bool(pure >= mixed), f"a stochastic one earns {float(mixed / pure - 1):+.2%}")


def mixing_gains(at: Greedy, *, factor: Fraction = Fraction(1)) -> Outcome:
    """Decide: in Lemma 3's game the supremum is 1 + εδ/4 times the best deterministic value.

    That is approached from below as p → 1/2, to within 2^-40 of it.
    """
    case, answer = lemma_3_case(at), greedy(at.epsilon)
    shares = (Fraction(0), Fraction(1))
    pure = max(earned(case, share, answer)[0] for share in shares)
    near = earned(case, Fraction(1, 2) - Fraction(1, 2**40), answer)[0] / pure
    stated = 1 + factor * at.epsilon * at.delta / 4
    return Outcome(bool(0 < stated - near < Fraction(1, 2**38)), f"{float(near - 1):+.2%}")


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
) -> Callable[[], SearchStrategy[Proportional]]:
    """Return the function that makes games of Theorem 3 with some of the functions f."""

    def strategy() -> SearchStrategy[Proportional]:
        from hypothesis import strategies as st

        gammas = st.sampled_from([Fraction(x) for x in discounts])
        levels = st.sampled_from([Fraction(1, 2), Fraction(3, 4), Fraction(1)])
        return st.builds(Proportional, st.sampled_from(weights), gammas, levels)

    return strategy


def _led_cases() -> SearchStrategy[Case]:
    from hypothesis import strategies as st

    drawn = cases(episodes=1, min_states=2, min_leader_actions=2, max_leader_actions=3)
    return st.one_of(generic_cases(3), generic_cases(2), drawn)


def _outside_theorem_3() -> SearchStrategy[Proportional]:
    from hypothesis import strategies as st

    zero = proportional(INCREASING, ("0",))()
    return st.one_of(proportional((IDENTITY, SQUARE))(), zero)


SHARES = tuple(Fraction(x) for x in ("1/2", "1/10", "9/10", "99/100", "999/1000"))


def _greedy(
    *, within: bool, shares: tuple[Fraction, ...] = SHARES, unscaled: bool = False
) -> Callable[[], SearchStrategy[Greedy]]:
    """Return the function that makes Lemma 3's games, within its repaired conditions or not.

    `shares` are those of the bound on δ to choose from; `unscaled` admits the rewards as printed.
    """

    def build(epsilon: int, share: Fraction, gamma: str, scaled: bool) -> Greedy:
        e = Fraction(epsilon, 20)
        bound = (1 - e) / (1 - e / 2) ** 2 if within else Fraction(1)
        return Greedy(e, share * bound, Fraction(gamma), scaled)

    def strategy() -> SearchStrategy[Greedy]:
        from hypothesis import strategies as st

        share = st.sampled_from(shares)
        if within:
            printed = [("9/10", False)] if unscaled else []
            gammas = st.sampled_from([(g, True) for g in POSITIVE] + printed)
            return st.builds(lambda e, d, g: build(e, d, *g), st.integers(1, 19), share, gammas)
        gamma = st.sampled_from(["1/10", "2/5", "1/2"])
        return st.builds(build, st.integers(0, 20), share, gamma, st.booleans())

    return strategy


def _half(numerator: int, denominator: int = 2) -> Fraction:
    return Fraction(numerator, denominator)


def audited() -> Greedy:
    """Return Lemma 3's game with ε = 1/2, δ = 3/10 and γ = 9/10, scaled."""
    return Greedy(_half(1), _half(3, 10), _half(9, 10), scaled=True)


NEAR_BOUND = tuple(Fraction(x) for x in ("99/100", "101/100", "1/2", "999/1000", "2", "1001/1000"))

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
        counterexample=lambda: Proportional(IDENTITY, _half(1)),
    ),
    Claim(
        "theorem-3-limit",
        "Theorem 3, proof",
        "f(x)(f(y) − f(0))/(f(x) + f(0)) → 1 as x → ∞.",
        proportional(UNBOUNDED),
        theorem_3_limit,
        "false as stated",
        counterexample=lambda: Proportional(EXPONENTIAL, _half(1)),
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
        counterexample=lambda: Proportional(STEP, _half(1)),
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
    Claim(
        "lemma-3",
        "Lemma 3",
        "If A2 plays ε-greedily, no commitment may dominate. Conditions: 0 < ε < 1, "
        "0 < δ < (1−ε)/(1−ε/2)², and the rewards of s3 and s4 divided by γ (or γ > 1/2).",
        _greedy(within=True, unscaled=True),
        lemma_3,
        "needs a condition",
        outside=_greedy(within=False),
        counterexample=lambda: Greedy(_half(1), _half(4, 9), _half(2, 5), scaled=False),
        model="lemma-3-unscaled-a1",
    ),
    Claim(
        "lemma-3-bound",
        "Lemma 3",
        "With those rewards divided by γ, 0 < ε < 1 and δ > 0 no commitment dominates iff "
        "δ < (1−ε)/(1−ε/2)².",
        _greedy(within=True, shares=NEAR_BOUND),
        lemma_3_bound,
        "repaired",
    ),
    Claim(
        "best-value-attained",
        "Section 3.1, V*",
        "V* = max over π1 of the value against a suboptimal follower exists.",
        _greedy(within=True),
        maximum_exists,
        "false as stated",
        counterexample=audited,
    ),
    Claim(
        "deterministic-greedy",
        "Section 3.1, V*",
        "Against an ε-greedy follower some deterministic commitment is best.",
        _greedy(within=True),
        deterministic_is_best,
        "false as stated",
        counterexample=audited,
    ),
    Claim(
        "deterministic-greedy-gain",
        "Section 3.1, V*",
        "In Lemma 3's game stochastic commitments earn up to 1 + εδ/4 times the best "
        "deterministic one.",
        _greedy(within=True),
        mixing_gains,
        "repaired",
    ),
)
