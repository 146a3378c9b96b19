"""The instances of the paper's claims, and how they are drawn.

Each is a small record that prints whole. Games come from `iirl_opt.testing`, so they are rational
and every statement about optimality is decided exactly. hypothesis is loaded when a strategy is
asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from iirl_opt.claims.exact import Exact, discount_of, exact, kernel_of, leave
from iirl_opt.game.mdp import TwoAgentMDP

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["Case", "Episode", "case", "cases", "fractions", "generic_cases", "moved_cases"]

POSITIVE = ("1/2", "9/10", "1/3", "99/100")


@dataclass(frozen=True, eq=False)
class Episode:
    """A commitment (S, A) and a response (S, B) of Fractions."""

    pi1: Exact
    pi2: Exact


@dataclass(frozen=True, eq=False)
class Case:
    """A game, a reward (S,), episodes, and whatever else a statement is about."""

    game: TwoAgentMDP
    reward: Exact
    episodes: tuple[Episode, ...] = ()
    other: tuple[Any, ...] = ()

    @cached_property
    def kernel(self) -> Exact:
        """The exact kernel (S, A, B, S)."""
        return kernel_of(self.game)

    @cached_property
    def discount(self) -> Fraction:
        """The exact discount."""
        return discount_of(self.game)

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
    episode = Episode(pi1, exact(np.eye(n_b, dtype=int)[list(pi2)])) if pi2 else None
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

    from iirl_opt.testing.strategies import games, policies, rewards

    @st.composite
    def drawn(draw: st.DrawFn) -> Case:
        game = draw(games(**{"max_states": 3, **bounds}))
        reward = exact(draw(rewards(game, constant=constant)))
        played = tuple(
            Episode(
                exact(draw(policies(game))),
                exact(draw(policies(game, agent="follower", deterministic=deterministic))),
            )
            for _ in range(episodes)
        )
        return Case(game, reward, played, () if other is None else draw(other(game)))

    return drawn()


def moved_cases(min_states: int) -> SearchStrategy[Case]:
    """Return a strategy for cases of two episodes, γ > 0, with a second reward in `other`."""
    from iirl_opt.testing.strategies import rewards

    return cases(
        episodes=2,
        min_states=min_states,
        min_follower_actions=2,
        discounts=POSITIVE,
        other=lambda game: rewards(game).map(lambda u: (exact(u),)),
    )


def generic_cases(n_states: int) -> SearchStrategy[Case]:
    """Return a strategy for games without accidental ties: 2×2 actions, weights from 1 to 97."""
    from hypothesis import strategies as st

    def drawn(seed: int) -> Case:
        rng = np.random.default_rng(seed)
        weights = rng.integers(1, 98, (n_states, 2, 2, n_states))
        return Case(TwoAgentMDP(weights, Fraction(9, 10)), exact(rng.permutation(97)[:n_states]))

    return st.integers(0, 10**6).map(drawn)


def fractions(least: int = -4, most: int = 4) -> SearchStrategy[Fraction]:
    """Return a strategy for short fractions between two whole numbers."""
    from hypothesis import strategies as st

    return st.fractions(least, most, max_denominator=6)
