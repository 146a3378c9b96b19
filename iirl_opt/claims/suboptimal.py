"""Committing to suboptimal followers: Theorem 3, Lemma 3, the uniform follower.

Source: the paper, Section 5.2 and Appendix B. The two counterexample games are built as the
paper draws them and evaluated by the library's own response models, in floating point: the
inequalities that decide are strict by margins far above rounding. The uniform follower is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from iirl_opt.claims.claim import Claim, Outcome
from iirl_opt.claims.exact import policies_of, policy_values, stochastic
from iirl_opt.claims.instances import POSITIVE, Case, cases
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower import (
    EpsilonGreedyFollower,
    Follower,
    ProportionalFollower,
)
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.values import evaluate

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["CLAIMS"]

Array = NDArray[np.float64]

MARGIN = 1e-9
GRID = (1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)


@dataclass(frozen=True)
class Weight:
    """A function f of action values for a follower with ``π2 ∝ f(Q)``, and a large argument."""

    name: str
    f: Callable[[Array], Array]
    far: float = 1e9
    strictly_increasing: bool = True

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Proportional:
    """The game of Theorem 3 with a discount, and the follower's f."""

    weight: Weight
    discount: Fraction
    y: float = 1.0


@dataclass(frozen=True)
class Greedy:
    """The game of Lemma 3: ε, δ, the discount, and whether it enters the rewards of s3 and s4."""

    epsilon: Fraction
    delta: Fraction
    discount: Fraction
    scaled: bool


def _branching(n_states: int, ends: int) -> Array:
    """Return the kernel that both games share: s0 leads to s1 or s2, all else to the end."""
    kernel = np.zeros((n_states, 2, 2, n_states), dtype=int)
    kernel[0, :, 0, 1] = kernel[0, :, 1, 2] = 1
    kernel[1, :, :, ends] = kernel[3:, :, :, ends] = 1
    return kernel


def _commit(game: TwoAgentMDP, reward: Array, share: float, follower: Follower) -> Array:
    """Return the values when the leader plays a1 with probability `share` everywhere."""
    pi1 = np.tile([share, 1 - share], (game.n_states, 1))
    return evaluate(game, reward, (pi1, follower.respond(game, pi1, reward)))


def theorem_3_game(x: float, y: float, discount: Fraction) -> tuple[TwoAgentMDP, Array]:
    """Return the game of Theorem 3 and its reward, scaled so that Q(b1) = x and Q(b2) = y."""
    kernel = _branching(6, 5)
    kernel[2, 0, :, 3] = kernel[2, 1, :, 4] = 1
    gamma = float(discount) or 1.0
    reward = np.array([0, x / gamma, 0, y / gamma**2, 0, 0])
    return TwoAgentMDP(kernel, discount), reward


def _reversal(at: Proportional) -> float | None:
    """Return an x at which a1 is better from s2 and worse from s0, if the grid has one."""
    follower = ProportionalFollower(at.weight.f)
    for factor in GRID:
        game, reward = theorem_3_game(factor * at.y, at.y, at.discount)
        first, second = (_commit(game, reward, share, follower) for share in (1.0, 0.0))
        if first[2] > second[2] + MARGIN and first[0] < second[0] - MARGIN:
            return factor * at.y
    return None


def theorem_3(at: Proportional) -> Outcome:
    """Decide whether the paper's game has no dominating commitment for this f, for some x."""
    try:
        x = _reversal(at)
    except InvalidArgument as problem:
        return Outcome(False, f"the response is undefined: {problem}")
    found = "for no x of the grid" if x is None else f"at x = {x:g}, y = {at.y:g}"
    return Outcome(x is not None, f"a1 is better from s2 and worse from s0 {found}")


def theorem_3_limit(at: Proportional) -> Outcome:
    """Decide the printed limit: ``f(x)(f(y) − f(0))/(f(x) + f(0)) → 1``."""
    limit, _ = _limit(at)
    return Outcome(abs(limit - 1) < 1e-3, f"y = {at.y:g}: it tends to {limit:.4g}")


def theorem_3_positive_limit(at: Proportional) -> Outcome:
    """Decide the limit f(y) − f(0) > 0 for unbounded f."""
    limit, expected = _limit(at)
    return Outcome(limit > 0 and abs(limit - expected) < 1e-3 * expected, f"{limit:.4g}")


def _limit(at: Proportional) -> tuple[float, float]:
    far, y, zero = at.weight.f(np.array([at.weight.far, at.y, 0.0])).tolist()
    return far / (far + zero) * (y - zero), y - zero


def only_strictly_increasing(at: Proportional) -> Outcome:
    """Decide: a reversal needs a strictly increasing f."""
    x = _reversal(at)
    return Outcome(x is None or at.weight.strictly_increasing, f"a reversal at x = {x}")


def somewhere_increasing(at: Proportional) -> Outcome:
    """Decide: there is a reversal iff f(y) > f(0), for nondecreasing f with f(0) > 0."""
    at_y, at_zero = at.weight.f(np.array([at.y, 0.0]))
    x = _reversal(at)
    return Outcome((x is not None) == bool(at_y > at_zero), f"a reversal at x = {x}")


def lemma_3_game(at: Greedy) -> tuple[TwoAgentMDP, Array]:
    """Return the game of Lemma 3 and its reward."""
    kernel = _branching(7, 6)
    kernel[2, 0, 0, 3] = kernel[2, 0, 1, 4] = kernel[2, 1, :, 5] = 1
    loss = -2 * (2 - at.delta) * (1 - at.epsilon / 2) / at.epsilon
    scale = 1 / at.discount if at.scaled else Fraction(1)
    reward = [Fraction(x) for x in (0, 1, 0, 2 * scale, loss * scale, 0, 0)]
    return TwoAgentMDP(kernel, at.discount), np.array(reward, dtype=float)


def lemma_3(at: Greedy) -> Outcome:
    """Decide whether the paper's game has no dominating commitment, whatever the ties."""
    if at.epsilon == 0:
        return Outcome(False, "the reward of s4 divides by ε = 0")
    game, reward = lemma_3_game(at)
    for ties in ("first", "last"):
        follower = EpsilonGreedyFollower(float(at.epsilon), ties)
        first, second = (_commit(game, reward, share, follower) for share in (1.0, 0.0))
        if not (first[2] > second[2] + 1e-12 and first[0] < second[0] - 1e-12):
            return Outcome(
                False, f"V0(a1) = {first[0]:.3f}, V0(a2) = {second[0]:.3f}, V2(a1) = {first[2]:.3f}"
            )
    return Outcome(True, f"V0(a1) = {first[0]:.3f} < V0(a2) = {second[0]:.3f}")


def maximum_exists(at: Greedy) -> Outcome:
    """Decide whether the best value from s0 is attained, ties broken against the leader."""
    game, reward = lemma_3_game(at)
    follower = EpsilonGreedyFollower(float(at.epsilon), "last")  # b2, which is worse for both
    below = [float(_commit(game, reward, 0.5 - 2.0**-k, follower)[0]) for k in (10, 20)]
    at_or_above = max(
        float(_commit(game, reward, share, follower)[0]) for share in np.linspace(0.5, 1, 11)
    )
    attained = at_or_above >= below[1] or below[1] <= below[0]
    return Outcome(attained, f"towards p = 1/2: {below[1]:.4f}, from there on {at_or_above:.4f}")


def uniform_follower(at: Case) -> Outcome:
    """Decide whether a commitment dominates all deterministic ones and the one given."""
    problem = at.kernel.mean(axis=2)
    n_states, n_a, _ = problem.shape
    tried = [stochastic(choices, n_a) for choices in policies_of(n_states, n_a)]
    tried += [episode.pi1 for episode in at.episodes]
    values = np.array([policy_values(problem, at.reward, pi1, at.discount) for pi1 in tried])
    best = values.max(axis=0)
    return Outcome(bool((values == best).all(axis=1).any()), f"{len(tried)} commitments compared")


IDENTITY = Weight("x", lambda q: q)
ROOT = Weight("sqrt x", np.sqrt)
STEP = Weight(
    "1 below 1/4, else 2", lambda q: np.where(q < 0.25, 1.0, 2.0), strictly_increasing=False
)
CONSTANT = Weight("1", np.ones_like, strictly_increasing=False)
INCREASING = (
    Weight("exp x", np.exp, 500.0),
    Weight("exp x/100", lambda q: np.exp(q / 100), 50_000.0),
    Weight("1 + x", lambda q: 1 + q),
    Weight("3 + x", lambda q: 3 + q),
    Weight("1 + x²", lambda q: 1 + q**2),
    Weight("1 + x/(1 + x)", lambda q: 1 + q / (1 + q)),
)


def _proportional(
    weights: tuple[Weight, ...], discounts: tuple[str, ...] = POSITIVE
) -> Callable[[], SearchStrategy[Proportional]]:
    def strategy() -> SearchStrategy[Proportional]:
        from hypothesis import strategies as st

        gammas = st.sampled_from([Fraction(x) for x in discounts])
        levels = st.sampled_from([0.5, 0.75, 1.0])
        return st.builds(Proportional, st.sampled_from(weights), gammas, levels)

    return strategy


def _outside_theorem_3() -> SearchStrategy[Proportional]:
    from hypothesis import strategies as st

    return st.one_of(_proportional((IDENTITY, ROOT))(), _proportional(INCREASING, ("0",))())


def _greedy(*, within: bool) -> Callable[[], SearchStrategy[Greedy]]:
    """Return the function that makes Lemma 3's games, within its repaired conditions or not."""

    def build(epsilon: int, share: int, gamma: str, scaled: bool) -> Greedy:
        e = Fraction(epsilon, 20)
        bound = (1 - e) / (1 - e / 2) ** 2 if within else Fraction(1)
        return Greedy(e, Fraction(share, 20) * bound, Fraction(gamma), scaled)

    def strategy() -> SearchStrategy[Greedy]:
        from hypothesis import strategies as st

        share = st.integers(1, 19)
        if within:
            gammas = st.sampled_from([(g, True) for g in POSITIVE] + [("9/10", False)])
            return st.builds(lambda e, d, g: build(e, d, *g), st.integers(1, 19), share, gammas)
        gamma = st.sampled_from(["1/10", "2/5", "1/2"])
        return st.builds(build, st.integers(0, 20), share, gamma, st.booleans())

    return strategy


def _half(numerator: int, denominator: int = 2) -> Fraction:
    return Fraction(numerator, denominator)


CLAIMS = (
    Claim(
        "theorem-3",
        "Theorem 3",
        "If π2 ∝ f(Q) for a strictly increasing f ≥ 0, no commitment may dominate. Conditions: "
        "γ > 0 and f(0) > 0.",
        _proportional(INCREASING),
        theorem_3,
        "needs a condition",
        outside=_outside_theorem_3,
        counterexample=lambda: Proportional(IDENTITY, _half(1)),
    ),
    Claim(
        "theorem-3-limit",
        "Theorem 3, proof",
        "f(x)(f(y) − f(0))/(f(x) + f(0)) → 1 as x → ∞.",
        _proportional(INCREASING[:5]),
        theorem_3_limit,
        "false as stated",
        counterexample=lambda: Proportional(INCREASING[0], _half(1)),
    ),
    Claim(
        "theorem-3-limit-repaired",
        "Theorem 3, proof",
        "For unbounded f it tends to f(y) − f(0) > 0, which suffices.",
        _proportional(INCREASING[:5]),
        theorem_3_positive_limit,
        "repaired",
    ),
    Claim(
        "theorem-3-only-strict",
        "Section 5.2, after Theorem 3",
        "It generally holds for strictly increasing f only.",
        _proportional((*INCREASING, STEP, CONSTANT)),
        only_strictly_increasing,
        "false as stated",
        counterexample=lambda: Proportional(STEP, _half(1)),
    ),
    Claim(
        "theorem-3-repaired",
        "Theorem 3",
        "For nondecreasing f with f(0) > 0 and γ > 0 the paper's game has no dominating "
        "commitment iff f(y) > f(0) for some y.",
        _proportional((*INCREASING, STEP, CONSTANT)),
        somewhere_increasing,
        "repaired",
    ),
    Claim(
        "uniform-follower",
        "Section 5.2, after Theorem 3",
        "If A2 plays uniformly at random, a dominating commitment exists.",
        lambda: cases(episodes=1, max_leader_actions=3),
        uniform_follower,
    ),
    Claim(
        "lemma-3",
        "Lemma 3",
        "If A2 plays ε-greedily, no commitment may dominate. Conditions: 0 < ε < 1, "
        "0 < δ < (1−ε)/(1−ε/2)², and the rewards of s3 and s4 divided by γ (or γ > 1/2).",
        _greedy(within=True),
        lemma_3,
        "needs a condition",
        outside=_greedy(within=False),
        counterexample=lambda: Greedy(_half(1), _half(4, 9), _half(2, 5), scaled=False),
        model="lemma-3-unscaled-a1",
    ),
    Claim(
        "best-value-attained",
        "Section 3.1, V*",
        "V* = max over π1 of the value against a suboptimal follower exists.",
        _greedy(within=True),
        maximum_exists,
        "false as stated",
        counterexample=lambda: Greedy(_half(1), _half(3, 10), _half(9, 10), scaled=True),
    ),
)
