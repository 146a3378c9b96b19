"""Play that ends: what its time-expanded game keeps of it, and what changes with the step.

Source: ours, of `iirl_opt.game.finite_horizon`; the paper plays for ever. All is exact: backward
induction on the game against policy iteration on the expanded one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from iirl_opt.claims.arithmetic import (
    Exact,
    action_values,
    constraint_rows,
    discount_of,
    exact,
    joint_problem,
    kernel_of,
    leave,
    optimal_policies,
    stochastic,
)
from iirl_opt.claims.claim import Claim, Outcome
from iirl_opt.claims.instances import Case, case, cases
from iirl_opt.claims.problems import nearest
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.game.horizon import FiniteHorizon, finite_horizon

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["CLAIMS"]

PLACE = "finite horizon, ours"


@dataclass(frozen=True, eq=False)
class Ending:
    """A case whose play ends.

    Attributes
    ----------
    at : the game and a reward.
    steps : H.
    plain : whether rewards are summed as they are.
    """

    at: Case
    steps: int
    plain: bool = True

    @property
    def play(self) -> FiniteHorizon:
        """The time-expanded game."""
        return finite_horizon(self.at.game, self.steps, discount=1 if self.plain else None)


def _backward(at: Ending, problem: Exact) -> list[Exact]:
    """Return the action values (S, n) of each step, by backward induction."""
    criterion = Fraction(1) if at.plain else at.at.discount
    ahead, found = exact(np.zeros(len(at.at.reward), dtype=int)), []
    for _ in range(at.steps):
        found.append(at.at.reward[:, None] + criterion * (problem @ ahead))
        ahead = found[-1].max(axis=1)
    return found[::-1]


def same_values(ending: Ending, *, in_unit: bool = True) -> Outcome:
    """Decide: folded back, in the steps' unit, optimal action values are those of induction."""
    play, own = ending.play, joint_problem(ending.at.kernel)
    expanded = joint_problem(kernel_of(play.game))
    reward = exact(play.expand_reward(ending.at.reward))
    fold = play.fold_values if in_unit else play.fold
    q = fold(action_values(expanded, reward, discount_of(play.game)))
    want = _backward(ending, own)
    return Outcome(bool((q == np.array(want)).all()), f"{ending.steps} steps, {play.game}")


def steps_invisible(ending: Ending, *, by_state: bool = False) -> Outcome:
    """Decide: what each step pays wherever one is explains every answer, with either sign.

    Or what each state pays at every step, which is seen.
    """
    play = ending.play
    n_states, n_a, _ = play.game.shape
    problem = leave(kernel_of(play.game), stochastic([0] * n_states, n_a))
    reward, gamma = exact(play.expand_reward(ending.at.reward)), discount_of(play.game)
    answer = stochastic(optimal_policies(problem, reward, gamma)[0], problem.shape[1])
    rows = constraint_rows(problem, answer, gamma)
    states = np.arange(ending.steps * play.base.n_states)
    step, state = np.divmod(states, play.base.n_states)
    paid = exact(np.eye(len(states), dtype=int)[state if by_state else step])
    return Outcome(bool((rows[:, :-1] @ paid == 0).all()))


def soft_unchanged(ending: Ending) -> Outcome:
    """Decide: a Boltzmann follower of one β answers in the expanded game as over the steps.

    Two vectors of action values make one policy iff their differences are the same.
    """
    play, pi1 = ending.play, [0] * len(ending.at.reward)
    own = leave(ending.at.kernel, stochastic(pi1, ending.at.game.n_leader_actions))
    n_states, n_a, _ = play.game.shape
    problem = leave(kernel_of(play.game), stochastic([0] * n_states, n_a))
    reward = exact(play.expand_reward(ending.at.reward))
    q = play.fold(action_values(problem, reward, discount_of(play.game)))
    want = np.array(_backward(ending, own))
    apart = (q - q[..., :1]) != (want - want[..., :1])
    where = np.argwhere(apart)
    if not where.size:
        return Outcome(True)
    step, state, b = where[0]
    shown = f"step {step}, state {state}: Q differs by {q[step, state, b] - q[step, state, 0]}"
    return Outcome(False, f"{shown}, and by {(want[..., :] - want[..., :1])[step, state, b]}")


def _endings(plain: bool | None = None) -> SearchStrategy[Ending]:
    """Return a strategy for plays of one to three steps; with plain sums, without, or either."""
    from hypothesis import strategies as st

    def ended(at: Case) -> SearchStrategy[Ending]:
        plainly = st.booleans() if plain is None else st.just(plain)
        return st.builds(Ending, st.just(at), st.integers(1, 3), plainly)

    drawn = cases(min_states=2, max_states=2, min_follower_actions=2, constant=False)
    return drawn.flatmap(ended)


def _hotter() -> Ending:
    """Return two steps from a state to one that pays or back, and the last of them again."""
    return Ending(case([[[[1, 0], [0, 1]]], [[[1, 0], [0, 1]]]], "1/2", [0, 1]), 3)


def _two_games(ending: Ending) -> Any:
    """Return what the follower earns in the game that is played for ever."""
    why = "of a horizon with factors, files refuse this follower"
    at = ending.at
    question = {
        "family": "commitment",
        "ask": "evaluate",
        "leader": stochastic([0] * len(at.reward), at.game.n_leader_actions),
    }
    return nearest(why, at.game, at.reward, question=question, follower=BoltzmannFollower(1.0))


CLAIMS = (
    Claim(
        "finite-horizon-values",
        PLACE,
        "Over the factor of the step, optimal action values of the time-expanded game are those of "
        "backward induction.",
        _endings,
        same_values,
    ),
    Claim(
        "finite-horizon-steps",
        PLACE,
        "Over H steps what a step pays in every state alike is never seen: H dimensions, and the "
        "end's, explain every answer.",
        _endings,
        steps_invisible,
    ),
    Claim(
        "finite-horizon-soft",
        PLACE,
        "A Boltzmann follower answers in the time-expanded game as it does over the steps.",
        lambda: _endings(plain=False),
        soft_unchanged,
        "needs a condition",
        outside=lambda: _endings(plain=True),
        counterexample=_hotter,
        problem=_two_games,
    ),
)
