"""Regret under the worst reward: in another game, and of the commitment that has least of it.

Source: ours, of `iirl_opt.rewards.elsewhere` and `iirl_opt.commitment.minimax`; Regan & Boutilier
2009 for one agent. Regrets are exact, bounds are what the library says in floats.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from iirl_opt.claims.arithmetic import Exact, best_values, exact, joint_problem, kernel_of, leave
from iirl_opt.claims.claim import Claim, Outcome, untried
from iirl_opt.claims.instances import Case, answered_cases, case, cases
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.rewards.feasible import FeasibleRewards

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["CLAIMS"]

PLACE = "worst regret, ours"


def regret_of(game: TwoAgentMDP, reward: Exact, pi1: Exact) -> Fraction:
    """Return what a commitment loses from the start when leader and follower have this reward."""
    kernel, gamma = kernel_of(game), game.rational.discount
    best = best_values(joint_problem(kernel), reward, gamma)
    theirs = best_values(leave(kernel, pi1), reward, gamma)
    return Fraction((exact(game.rational.start) * (best - theirs)).sum())


def truth_is_bounded(at: Case, factor: Fraction = Fraction(1)) -> Outcome:
    """Decide: what a reward that explains the answers loses elsewhere is within the bound."""
    from iirl_opt.rewards.elsewhere import regret_elsewhere

    away, pi1 = at.other
    share = at.reward - at.reward.min()
    if not share.any():
        return untried("the reward is constant")
    known = FeasibleRewards(at.game)
    for seen in at.episodes:
        known = known.observe(seen.pi1.astype(float), seen.pi2.astype(float))
    bound = regret_elsewhere(known, away, pi1.astype(float), by="arithmetic").upper
    regret = regret_of(away, share / share.sum(), pi1)
    rounding = 1e-8 / (1 - away.discount)
    return Outcome(
        regret <= bound * float(factor) + rounding, f"{float(regret):.9g}, at most {bound:.9g}"
    )


def floor_holds(at: Case, factor: Fraction = Fraction(1)) -> Outcome:
    """Decide: a commitment loses as much as the floor says under some of the rewards."""
    from iirl_opt.commitment.minimax_program import RegretOfFinitely

    pi1, *rewards = at.other
    numbers = np.array([reward.astype(float) for reward in rewards])
    floor = RegretOfFinitely(at.game, numbers).floor()[0].value
    worst = max(regret_of(at.game, reward, pi1) for reward in rewards)
    return Outcome(worst >= floor * float(factor), f"{float(worst):.9g}, at least {floor:.9g}")


def deterministic_is_least(at: Case) -> Outcome:
    """Decide: no lottery that is found has less worst regret than any deterministic commitment."""
    from iirl_opt.commitment.minimax import minimax_regret

    found = minimax_regret(FeasibleRewards(at.game), by="enumerate", rounds=2)
    allowed = 10 * found.worst.tolerance
    shown = f"deterministic at least {found.lower:.6g}, a lottery at most {found.mixed.upper:.6g}"
    return Outcome(found.mixed.upper >= found.lower - allowed, shown)


def _elsewhere() -> SearchStrategy[Case]:
    """Return a strategy for answered cases with another game of two states and a commitment."""
    from hypothesis import strategies as st

    from iirl_opt.testing.arrays import policies
    from iirl_opt.testing.models import games

    def there(game: TwoAgentMDP) -> SearchStrategy[tuple[Any, ...]]:
        n = game.n_states
        drawn = games(min_states=n, max_states=n)
        return drawn.flatmap(lambda away: st.tuples(st.just(away), policies(away, exact=True)))

    return answered_cases(min_states=2, constant=False, other=there)


def _committed() -> SearchStrategy[Case]:
    """Return a strategy for cases with a commitment and two rewards."""
    from hypothesis import strategies as st

    from iirl_opt.testing.arrays import policies, rewards

    def both(game: TwoAgentMDP) -> SearchStrategy[tuple[Any, ...]]:
        wanted = rewards(game, exact=True)
        return st.tuples(policies(game, exact=True), wanted, wanted)

    return cases(min_states=2, min_leader_actions=2, other=both)


def _three_rooms() -> Case:
    """Return a hall with a door for each of three rooms, which nobody leaves."""
    weights = np.zeros((4, 3, 1, 4), dtype=int)
    weights[0, range(3), 0, range(1, 4)] = 1
    weights[range(1, 4), :, 0, range(1, 4)] = 1
    return case(weights, "9/10", [0, 0, 0, 0], start=[1, 0, 0, 0])


CLAIMS = (
    Claim(
        "regret-elsewhere",
        PLACE,
        "In another game over the same states no reward that explains the answers loses more under "
        "a commitment than the proved bound.",
        _elsewhere,
        truth_is_bounded,
    ),
    Claim(
        "minimax-floor",
        PLACE,
        "Every commitment, stochastic or not, loses at least the floor under one of the rewards.",
        _committed,
        floor_holds,
    ),
    Claim(
        "minimax-deterministic",
        PLACE,
        "Some deterministic commitment has the least worst regret of all commitments.",
        lambda: cases(min_states=2, max_follower_actions=1),
        deterministic_is_least,
        "false as stated",
        counterexample=_three_rooms,
        model="a-lottery-is-safer",
    ),
)
