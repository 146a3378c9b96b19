"""Lemma 3 and V*: committing to an ε-greedy follower, and what the best commitment is.

Source: the paper, Sections 3.1 and 5.2, Appendix B. The counterexample game is built as the paper
draws it, and decided in Fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from iirl_opt.claims.arithmetic import Exact, exact, stochastic
from iirl_opt.claims.branching import branching_kernel, earned, halves
from iirl_opt.claims.claim import Claim, Outcome
from iirl_opt.claims.instances import POSITIVE, Case
from iirl_opt.claims.problems import showing
from iirl_opt.follower.optimal import EpsilonGreedyFollower
from iirl_opt.game.mdp import TwoAgentMDP

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


__all__ = ["CLAIMS", "GreedyGame", "greedy", "lemma_3_case"]


@dataclass(frozen=True)
class GreedyGame:
    """The game of Lemma 3: ε, δ, the discount, and whether it enters the rewards of s3 and s4."""

    epsilon: Fraction
    delta: Fraction
    discount: Fraction
    scaled: bool


def greedy(epsilon: Fraction, *, last: bool = False) -> Callable[[Exact], Exact]:
    """Return an ε-greedy answer, which plays the first of its best actions, or the last."""

    def answer(q: Exact) -> Exact:
        n_b = q.shape[1]
        best = [np.flatnonzero(row == row.max())[-1 if last else 0] for row in q]
        policy: Exact = (1 - epsilon) * stochastic(best, n_b) + epsilon * Fraction(1, n_b)
        return policy

    return answer


def lemma_3_case(at: GreedyGame) -> Case:
    """Return the game of Lemma 3 and its reward."""
    kernel = branching_kernel(7, 6)
    kernel[2, 0, 0, 3] = kernel[2, 0, 1, 4] = kernel[2, 1, :, 5] = 1
    loss = -2 * (2 - at.delta) * (1 - at.epsilon / 2) / at.epsilon
    scale = 1 / at.discount if at.scaled else Fraction(1)
    reward = exact([0, 1, 0, 2 * scale, loss * scale, 0, 0])
    return Case(TwoAgentMDP(kernel, at.discount), reward)


def _no_dominance(at: GreedyGame) -> tuple[bool, str]:
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


def lemma_3(at: GreedyGame) -> Outcome:
    """Decide whether the paper's game has no dominating commitment, whatever the ties."""
    if at.epsilon == 0:
        return Outcome(False, "the reward of s4 divides by ε = 0")
    return Outcome(*_no_dominance(at))


def lemma_3_bound(at: GreedyGame, *, factor: Fraction = Fraction(1)) -> Outcome:
    """Decide: no commitment dominates iff δ < (1−ε)/(1−ε/2)², for 0 < ε < 1, δ > 0, scaled."""
    bound = factor * (1 - at.epsilon) / (1 - at.epsilon / 2) ** 2
    found, shown = _no_dominance(at)
    near = float(at.delta / bound)
    return Outcome(found == (at.delta < bound), f"δ / bound = {near:.4f}; {shown}")


def maximum_exists(at: GreedyGame) -> Outcome:
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


def deterministic_is_best(at: GreedyGame) -> Outcome:
    """Decide: some deterministic commitment earns as much from s0 as any."""
    case, answer = lemma_3_case(at), greedy(at.epsilon)
    pure = max(earned(case, share, answer)[0] for share in (Fraction(0), Fraction(1)))
    mixed = earned(case, Fraction(1, 2) - Fraction(1, 2**20), answer)[0]
    return Outcome(bool(pure >= mixed), f"a stochastic one earns {float(mixed / pure - 1):+.2%}")


def evaluated(at: GreedyGame, share: Fraction, expect: Mapping[str, Any], **ties: Any) -> Any:
    """Return what the commitment earns that plays a1 with some probability everywhere."""
    case = lemma_3_case(at)
    leader = np.array([[float(share), float(1 - share)]] * case.game.n_states)
    question = {"family": "commitment", "ask": "evaluate", "leader": leader}
    follower = EpsilonGreedyFollower(float(at.epsilon), **ties)
    return showing(case.game, case.reward, question=question, follower=follower, expect=expect)


def _beyond_all_attained(at: GreedyGame) -> Any:
    """Return what is earned just short of p = 1/2: more than from there on."""
    case, answer = lemma_3_case(at), greedy(at.epsilon, last=True)
    share = Fraction(1, 2) - Fraction(1, 2**20)
    near, middle, one = (earned(case, p, answer)[0] for p in (share, Fraction(1, 2), Fraction(1)))
    between = float((near + max(middle, one)) / 2)
    return evaluated(at, share, {"value[0]": ("at_least", between)}, ties="last")


def _mixing_earns_more(at: GreedyGame) -> Any:
    """Return what a stochastic commitment earns: more than every deterministic one."""
    case, answer = lemma_3_case(at), greedy(at.epsilon)
    share = Fraction(1, 2) - Fraction(1, 2**20)
    mixed, *pure = (earned(case, p, answer)[0] for p in (share, Fraction(0), Fraction(1)))
    between = float(mixed + max(pure)) / 2
    return evaluated(at, share, {"value[0]": ("at_least", between)})


def mixing_gains(at: GreedyGame, *, factor: Fraction = Fraction(1)) -> Outcome:
    """Decide: in Lemma 3's game the supremum is 1 + εδ/4 times the best deterministic value.

    That is approached from below as p → 1/2, to within 2^-40 of it.
    """
    case, answer = lemma_3_case(at), greedy(at.epsilon)
    shares = (Fraction(0), Fraction(1))
    pure = max(earned(case, share, answer)[0] for share in shares)
    near = earned(case, Fraction(1, 2) - Fraction(1, 2**40), answer)[0] / pure
    stated = 1 + factor * at.epsilon * at.delta / 4
    return Outcome(bool(0 < stated - near < Fraction(1, 2**38)), f"{float(near - 1):+.2%}")


SHARES = tuple(Fraction(x) for x in ("1/2", "1/10", "9/10", "99/100", "999/1000"))


def _greedy_games(
    *, within: bool, shares: tuple[Fraction, ...] = SHARES, unscaled: bool = False
) -> Callable[[], SearchStrategy[GreedyGame]]:
    """Return the function that makes Lemma 3's games, within its repaired conditions or not.

    `shares` are those of the bound on δ to choose from; `unscaled` admits the rewards as printed.
    """

    def build(epsilon: int, share: Fraction, gamma: str, scaled: bool) -> GreedyGame:
        e = Fraction(epsilon, 20)
        bound = (1 - e) / (1 - e / 2) ** 2 if within else Fraction(1)
        return GreedyGame(e, share * bound, Fraction(gamma), scaled)

    def strategy() -> SearchStrategy[GreedyGame]:
        from hypothesis import strategies as st

        share = st.sampled_from(shares)
        if within:
            printed = [("9/10", False)] if unscaled else []
            gammas = st.sampled_from([(g, True) for g in POSITIVE] + printed)
            return st.builds(lambda e, d, g: build(e, d, *g), st.integers(1, 19), share, gammas)
        gamma = st.sampled_from(["1/10", "2/5", "1/2"])
        return st.builds(build, st.integers(0, 20), share, gamma, st.booleans())

    return strategy


def audited() -> GreedyGame:
    """Return Lemma 3's game with ε = 1/2, δ = 3/10 and γ = 9/10, scaled."""
    return GreedyGame(halves(1), halves(3, 10), halves(9, 10), scaled=True)


NEAR_BOUND = tuple(Fraction(x) for x in ("99/100", "101/100", "1/2", "999/1000", "2", "1001/1000"))
CLAIMS = (
    Claim(
        "lemma-3",
        "Lemma 3",
        "If A2 plays ε-greedily, no commitment may dominate. Conditions: 0 < ε < 1, "
        "0 < δ < (1−ε)/(1−ε/2)², and the rewards of s3 and s4 divided by γ (or γ > 1/2).",
        _greedy_games(within=True, unscaled=True),
        lemma_3,
        "needs a condition",
        outside=_greedy_games(within=False),
        counterexample=lambda: GreedyGame(halves(1), halves(4, 9), halves(2, 5), scaled=False),
        model="lemma-3-unscaled-a1",
    ),
    Claim(
        "lemma-3-bound",
        "Lemma 3",
        "With those rewards divided by γ, 0 < ε < 1 and δ > 0 no commitment dominates iff "
        "δ < (1−ε)/(1−ε/2)².",
        _greedy_games(within=True, shares=NEAR_BOUND),
        lemma_3_bound,
        "repaired",
    ),
    Claim(
        "best-value-attained",
        "Section 3.1, V*",
        "V* = max over π1 of the value against a suboptimal follower exists.",
        _greedy_games(within=True),
        maximum_exists,
        "false as stated",
        counterexample=audited,
        problem=_beyond_all_attained,
    ),
    Claim(
        "deterministic-greedy",
        "Section 3.1, V*",
        "Against an ε-greedy follower some deterministic commitment is best.",
        _greedy_games(within=True),
        deterministic_is_best,
        "false as stated",
        counterexample=audited,
        problem=_mixing_earns_more,
    ),
    Claim(
        "deterministic-greedy-gain",
        "Section 3.1, V*",
        "In Lemma 3's game stochastic commitments earn up to 1 + εδ/4 times the best "
        "deterministic one.",
        _greedy_games(within=True),
        mixing_gains,
        "repaired",
    ),
)
