"""Scaling a reward against β: which pairs of both make the same Boltzmann policy.

Source: the paper, Section 5.1, and a remark of Appendix A that the print leaves out. All is exact:
two pairs make the same policy iff β times the differences of their action values are the same,
which needs no exponential.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from iirl_opt.claims.arithmetic import Exact, discount_of, exact, kernel_of, leave
from iirl_opt.claims.claim import Claim, Outcome
from iirl_opt.claims.instances import POSITIVE, vectors_of
from iirl_opt.claims.problems import nearest, showing
from iirl_opt.claims.statements.likelihood import follower_values, two_states
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.game.mdp import TwoAgentMDP

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


__all__ = ["CLAIMS", "controlled"]


@dataclass(frozen=True, eq=False)
class Scaled:
    """A game, a reward, β and the share t that is kept of the reward."""

    game: TwoAgentMDP
    reward: Exact
    beta: Fraction
    share: Fraction


@dataclass(frozen=True, eq=False)
class Pairs:
    """A game, and two pairs of a reward and β."""

    game: TwoAgentMDP
    first: tuple[Exact, Fraction]
    second: tuple[Exact, Fraction]


def printed_scaling(at: Scaled) -> Outcome:
    """Decide: β' = β Σ r and r' = r / β' are in the simplex and have β' r' = β r."""
    total = at.beta * at.reward.sum()
    if total == 0:
        return Outcome(False, "β Σ r = 0")
    scaled = at.reward / total
    same = (total * scaled == at.beta * at.reward).all()
    inside = scaled.sum() == 1 and (scaled >= 0).all()
    return Outcome(bool(same and inside), f"r' sums to {scaled.sum()}, β'r' = β r: {bool(same)}")


def _normal_form(reward: Exact, beta: Fraction) -> tuple[Exact, Fraction]:
    """Return the pair with least entry 0 and sum 1 that makes the same Boltzmann policies."""
    lifted = reward - reward.min()
    return lifted / lifted.sum(), beta * lifted.sum()


def _same_policy(game: TwoAgentMDP, *pairs: tuple[Exact, Fraction]) -> bool:
    """Return whether two pairs make one Boltzmann policy: β times differences of Q are the same."""
    pi1 = exact(np.ones(game.shape[:2], dtype=int)) / game.n_leader_actions
    first, second = (beta * follower_values(game, reward, pi1) for reward, beta in pairs)
    return bool((first - first[:, :1] == second - second[:, :1]).all())


def repaired_scaling(at: Scaled, *, factor: Fraction = Fraction(1)) -> Outcome:
    """Decide: the normal form lies in the simplex and makes the same policy."""
    reward, beta = _normal_form(at.reward, factor * at.beta)
    inside = reward.sum() == 1 and (reward >= 0).all()
    return Outcome(bool(inside) and _same_policy(at.game, (at.reward, at.beta), (reward, beta)))


def _shrunk(at: Scaled) -> tuple[Exact, Fraction]:
    n = len(at.reward)
    return (1 - at.share) * Fraction(1, n) + at.share * at.reward, at.beta / at.share


def identifiable(at: Scaled) -> Outcome:
    """Decide: two different pairs on the simplex make different policies."""
    other, beta = _shrunk(at)
    same = (other == at.reward).all() and beta == at.beta
    equal = _same_policy(at.game, (at.reward, at.beta), (other, beta))
    return Outcome(bool(same) or not equal, f"({', '.join(map(str, other))}), β = {beta} too")


def identified_normal_form(at: Pairs) -> Outcome:
    """Decide: two pairs make the same policy iff their normal forms are the same."""
    first, second = (_normal_form(*pair) for pair in (at.first, at.second))
    one_form = bool((first[0] == second[0]).all()) and first[1] == second[1]
    one_policy = _same_policy(at.game, at.first, at.second)
    shown = f"same normal form: {one_form}, same policy: {one_policy}"
    return Outcome(one_form == one_policy, shown)


def _one_policy(at: Scaled) -> Any:
    """Return what the other pair's follower earns under the reward: as much as the pair's own."""
    other, beta = _shrunk(at)
    uniform = exact(np.ones(at.game.shape[:2], dtype=int)) / at.game.n_leader_actions
    q = (at.beta * follower_values(at.game, at.reward, uniform)).astype(float)
    weights = np.exp(q - q.max(axis=1, keepdims=True))
    kernel = leave(kernel_of(at.game), uniform).astype(float)
    chain = (weights[:, :, None] * kernel).sum(axis=1) / weights.sum(axis=1)[:, None]
    system = np.eye(len(other)) - float(discount_of(at.game)) * chain
    return showing(
        at.game,
        at.reward,
        question={"family": "commitment", "ask": "evaluate", "leader": uniform},
        follower=BoltzmannFollower(float(beta)),
        follower_reward=other,
        expect={"value": ("values", np.linalg.solve(system, at.reward.astype(float)))},
    )


def _scaled_in_vain(at: Scaled) -> Any:
    """Return what the follower with the reward and β earns."""
    why = "that r' is no reward of the simplex is arithmetic"
    uniform = exact(np.ones(at.game.shape[:2], dtype=int)) / at.game.n_leader_actions
    question = {"family": "commitment", "ask": "evaluate", "leader": uniform}
    follower = BoltzmannFollower(float(at.beta))
    return nearest(why, at.game, at.reward, question=question, follower=follower)


def _scaled(*, simplex: bool) -> Callable[[], SearchStrategy[Scaled]]:
    """Return the function that makes rewards, signed or in the simplex, with their β and share."""

    def strategy() -> SearchStrategy[Scaled]:
        from hypothesis import strategies as st

        from iirl_opt.testing.arrays import rewards
        from iirl_opt.testing.models import games

        @st.composite
        def drawn(draw: st.DrawFn) -> Scaled:
            game = draw(games(min_states=2, max_states=3, min_follower_actions=2))
            least = 0 if simplex else -4
            reward = draw(rewards(game, constant=False, min_value=least, exact=True))
            reward = reward / reward.sum() if simplex else reward
            beta = Fraction(draw(st.integers(1, 8)), 2)
            return Scaled(game, reward, beta, Fraction(draw(st.integers(1, 9)), 10))

        return drawn()

    return strategy


def controlled(*, free: bool = True) -> SearchStrategy[Pairs]:
    """Return a strategy for pairs in a game whose follower goes where it likes, if `free`.

    The second pair is an image of the first that makes the same policy, or close to such an image.
    """
    from hypothesis import strategies as st

    @st.composite
    def drawn(draw: st.DrawFn) -> Pairs:
        n = draw(st.integers(2, 3))
        kernel = np.tile(np.eye(n, dtype=int), (n, 1, 1, 1)) if free else np.ones((n, 1, n, n), int)
        game = TwoAgentMDP(kernel, Fraction(draw(st.sampled_from(POSITIVE))))
        reward, beta = draw(vectors_of(n, constant=False)), Fraction(draw(st.integers(1, 4)), 2)
        scale = Fraction(draw(st.integers(1, 6)), 2)
        image = scale * reward + draw(st.integers(-2, 2))
        moved = draw(st.sampled_from([0, 0, Fraction(1, 1000)]))
        image[draw(st.integers(0, n - 1))] += moved
        return Pairs(game, (reward, beta), (image, beta / scale))

    return drawn()


CLAIMS = (
    Claim(
        "beta-scaling",
        "Appendix A, remark left out in print",
        "β' = β Σ r and r' = r/β' lie in the simplex and have β' Q(r') = β Q(r).",
        _scaled(simplex=False),
        printed_scaling,
        "false as stated",
        counterexample=lambda: Scaled(two_states(), exact([1, 3]) / 2, Fraction(2), Fraction(1, 2)),
        problem=_scaled_in_vain,
    ),
    Claim(
        "beta-scaling-repaired",
        "Appendix A, remark left out in print",
        "With m = min r, β' = β Σ(r − m) and r' = (r − m)/Σ(r − m) make the same Boltzmann policy.",
        _scaled(simplex=False),
        repaired_scaling,
        "repaired",
    ),
    Claim(
        "beta-identifiable",
        "Section 5.1",
        "On the reward simplex the Boltzmann policy tells (r, β).",
        _scaled(simplex=True),
        identifiable,
        "false as stated",
        counterexample=lambda: Scaled(two_states(), exact([1, 0]), Fraction(1), Fraction(1, 2)),
        problem=_one_policy,
    ),
    Claim(
        "beta-identifiable-repaired",
        "Section 5.1",
        "Where A2 can go anywhere, two pairs make the same policy iff they have the same normal "
        "form, with min r = 0 and Σ r = 1: so all pairs ((1−t)u + t r, β/t), u uniform, do.",
        controlled,
        identified_normal_form,
        "repaired",
    ),
)
