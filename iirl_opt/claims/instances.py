"""The instances of the paper's claims, and how they are drawn.

Each is a small record that prints whole. Games, policies and rewards come from `iirl_opt.testing`
as Fractions, so every statement about optimality is decided exactly. What a statement presupposes
is built in, not filtered for. hypothesis is loaded when a strategy is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from iirl_opt.claims.arithmetic import (
    Exact,
    action_values,
    complement,
    constraint_rows,
    discount_of,
    exact,
    kernel_of,
    leave,
)
from iirl_opt.game.mdp import TwoAgentMDP

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = [
    "Case",
    "Exchange",
    "answered_cases",
    "case",
    "cases",
    "fractions",
    "generic_case",
    "generic_cases",
    "independent",
    "moved_cases",
    "near_ties",
    "vectors_of",
]

POSITIVE = ("1/2", "9/10", "1/3", "99/100")


@dataclass(frozen=True, eq=False)
class Exchange:
    """A commitment (S, A) and a response (S, B) of Fractions."""

    pi1: Exact
    pi2: Exact


@dataclass(frozen=True, eq=False)
class Case:
    """A game, a reward (S,), episodes, and whatever else a statement is about."""

    game: TwoAgentMDP
    reward: Exact
    episodes: tuple[Exchange, ...] = ()
    other: tuple[Any, ...] = ()

    @cached_property
    def kernel(self) -> Exact:
        """The exact kernel (S, A, B, S)."""
        return kernel_of(self.game)

    @cached_property
    def discount(self) -> Fraction:
        """The exact discount."""
        return discount_of(self.game)

    @property
    def seen(self) -> list[tuple[Exact, Exact]]:
        """The commitment and the response of each episode."""
        return [(episode.pi1, episode.pi2) for episode in self.episodes]

    def problem(self, episode: int = 0) -> Exact:
        """Return the problem (S, B, S) that the commitment of an episode leaves."""
        return leave(self.kernel, self.episodes[episode].pi1)


def case(
    weights: Any,
    discount: Any,
    reward: Sequence[Any],
    pi2: Sequence[int] = (),
    *,
    start: Any = None,
    other: tuple[Any, ...] = (),
) -> Case:
    """Return a case written out: integer weights (S, A, B, S), first leader action, choices."""
    game = TwoAgentMDP(weights, Fraction(discount), start)
    n_states, n_a, n_b = game.shape
    pi1 = exact(np.eye(n_a, dtype=int)[[0] * n_states])
    episode = Exchange(pi1, exact(np.eye(n_b, dtype=int)[list(pi2)])) if pi2 else None
    r = exact(np.array([Fraction(x) for x in reward], dtype=object))
    return Case(game, r, () if episode is None else (episode,), other)


def cases(
    *,
    episodes: int = 0,
    deterministic: bool | None = None,
    other: Callable[[TwoAgentMDP], SearchStrategy[tuple[Any, ...]]] | None = None,
    constant: bool | None = None,
    **bounds: Any,
) -> SearchStrategy[Case]:
    """Return a strategy for cases; `bounds` are those of `iirl_opt.testing.games`."""
    from hypothesis import strategies as st

    from iirl_opt.testing.arrays import policies, rewards
    from iirl_opt.testing.models import games

    @st.composite
    def drawn(draw: st.DrawFn) -> Case:
        game = draw(games(**{"max_states": 3, **bounds}))
        reward = draw(rewards(game, constant=constant, exact=True))
        played = tuple(
            Exchange(
                draw(policies(game, exact=True)),
                draw(policies(game, agent="follower", deterministic=deterministic, exact=True)),
            )
            for _ in range(episodes)
        )
        return Case(game, reward, played, () if other is None else draw(other(game)))

    return drawn()


def answered_cases(*, answered: int | None = None, **bounds: Any) -> SearchStrategy[Case]:
    """Return a strategy for cases in which the responses drawn are made optimal for the reward.

    Those of the first so many episodes, by default all.
    """
    return cases(**{"episodes": 1, **bounds}).map(lambda at: _answered(at, answered))


def _answered(at: Case, most: int | None) -> Case:
    """Return the case with responses that play what was drawn within the optimal actions."""
    played = list(at.episodes)
    for t, episode in list(enumerate(at.episodes))[:most]:
        q = action_values(at.problem(t), at.reward, at.discount)
        weights = (q == q.max(axis=1)[:, None]) * episode.pi2
        idle = weights.sum(axis=1) == 0
        weights[idle, q[idle].argmax(axis=1)] = Fraction(1)
        played[t] = replace(episode, pi2=weights / weights.sum(axis=1)[:, None])
    return replace(at, episodes=tuple(played))


def near_ties(**bounds: Any) -> SearchStrategy[Case]:
    """Return a strategy for cases whose reward is on the boundary of those that explain the answer.

    Or just beyond it, or just short of it.
    """
    from iirl_opt.testing.extreme import boundary_rewards

    def moved(at: Case) -> SearchStrategy[Case]:
        rows = constraint_rows(at.problem(), at.episodes[0].pi2, at.discount)
        shares = (0, Fraction(1, 50), Fraction(-1, 50), Fraction(1, 10**12), Fraction(-1, 10**12))
        near = boundary_rewards(rows, at.reward, beyond=shares)
        return near.map(lambda reward: replace(at, reward=reward))

    inside = {"min_states": 2, "min_follower_actions": 2, "discounts": POSITIVE, "constant": False}
    return answered_cases(**{**inside, **bounds}).flatmap(moved)


def moved_cases(min_states: int, **bounds: Any) -> SearchStrategy[Case]:
    """Return a strategy for cases of two episodes, γ > 0, with a second reward in `other`."""
    from iirl_opt.testing.arrays import rewards

    return cases(
        episodes=2,
        min_states=min_states,
        min_follower_actions=2,
        discounts=POSITIVE,
        other=lambda game: rewards(game, exact=True).map(lambda u: (u,)),
        **bounds,
    )


def generic_case(seed: int, n_states: int, n_b: int, steered: int, n_a: int = 2) -> Case:
    """Return a game without accidental ties, and a reward.

    Weights are from 1 to 97 and γ = 9/10. The leader has influence in the first `steered` states.
    """
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 98, (n_states, n_a, n_b, n_states))
    weights[steered:] = weights[steered:, :1]
    return Case(TwoAgentMDP(weights, Fraction(9, 10)), exact(rng.permutation(97)[:n_states]))


def generic_cases(n_states: int, n_b: int = 2, *, n_a: int = 2) -> SearchStrategy[Case]:
    """Return a strategy for such games; the leader has influence in all states."""
    from hypothesis import strategies as st

    seeds = st.integers(0, 10**6)
    return seeds.map(lambda seed: generic_case(seed, n_states, n_b, n_states, n_a))


def fractions(least: int = -4, most: int = 4) -> SearchStrategy[Fraction]:
    """Return a strategy for short fractions between two whole numbers."""
    from hypothesis import strategies as st

    return st.fractions(least, most, max_denominator=6)


def vectors_of(n: int, *, constant: bool | None = None) -> SearchStrategy[Exact]:
    """Return a strategy for vectors (n,) of small whole numbers, constant ones, or none such."""
    from hypothesis import strategies as st

    if constant:
        return st.integers(-3, 3).map(lambda x: exact([x] * n))

    def spread(numbers: list[int]) -> Exact:
        if constant is False and len(set(numbers)) == 1:
            numbers = [numbers[0] + 1, *numbers[1:]]
        return exact(numbers)

    return st.lists(st.integers(-3, 3), min_size=n, max_size=n).map(spread)


def independent(vectors: Sequence[Exact]) -> list[Exact]:
    """Return vectors of the same length, at most as many as that, made linearly independent.

    A vector that depends on those before it is moved by the first unit vector that helps.
    """
    found: list[Exact] = []
    for vector in vectors:
        moves = [0 * vector, *exact(np.eye(len(vector), dtype=int))]
        grown = ([*found, vector + move] for move in moves)
        found = next(x for x in grown if len(complement(*x)) == len(vector) - len(x))
    return found
