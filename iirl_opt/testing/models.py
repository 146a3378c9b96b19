"""Hypothesis strategies for games and MDPs: small, and rational by construction.

Every strategy takes its bounds as keywords, checks its arguments at once, filters nothing, and says
what it shrinks towards. Rows of a kernel and start distributions are small integer weights, so that
``game.rational`` has the exact numbers, a claim can be decided in exact arithmetic, and a
counterexample be read.

Strategies for what lives in a game (`iirl_opt.testing.arrays`, `iirl_opt.testing.partners`) take
the game, so draw that first::

    @given(data=st.data())
    def test_of_a_theorem(data):
        game = data.draw(games(min_states=2))
        reward = data.draw(rewards(game, constant=False))

or chain them: ``games().flatmap(observations)``. The style is that of ``hypothesis.extra.numpy``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import numpy as np

from iirl_opt.checks import each, one_of, whole
from iirl_opt.errors import InvalidArgument
from iirl_opt.exact.numbers import EXACT
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.testing.distributions import distributions, st

__all__ = ["check_game", "games", "mdps", "sizes_between"]

Start: TypeAlias = Literal["any", "first", "uniform"]
T = TypeVar("T")
DISCOUNTS = ("1/2", "9/10", "1/3", "99/100", "0")
STARTS: tuple[Start, ...] = get_args(Start)


def games(
    *,
    min_states: int = 1,
    max_states: int = 4,
    min_leader_actions: int = 1,
    max_leader_actions: int = 2,
    min_follower_actions: int = 1,
    max_follower_actions: int = 2,
    max_denominator: int = 4,
    discounts: Iterable[Any] = DISCOUNTS,
    start: Start = "any",
) -> st.SearchStrategy[TwoAgentMDP]:
    """Return a strategy for games.

    Shrinks towards few states and actions, all transitions and the start to the first state, and
    the first discount.

    Parameters
    ----------
    min_states, max_states, … : bounds on S, A and B, each ≥ 1.
    max_denominator : of the probabilities in a row or in the start distribution, and so the largest
        number of next states, ≥ 1; at 1 the game is deterministic.
    discounts : the discounts to choose from, 0 ≤ γ < 1. Zero is among the default ones: pass others
        for a theorem that needs γ > 0.
    start : ``"any"`` distribution, the ``"first"`` state or ``"uniform"``.

    Raises
    ------
    InvalidArgument

    Examples
    --------
    >>> from hypothesis import find
    >>> find(games(), lambda game: game.influence()[1] > 0)
    TwoAgentMDP(2 states, 1×2 actions, discount=0.5, 4 transitions, rational)
    """
    sizes = (
        sizes_between("states", min_states, max_states),
        sizes_between("leader_actions", min_leader_actions, max_leader_actions),
        sizes_between("follower_actions", min_follower_actions, max_follower_actions),
    )
    return st.tuples(*sizes).flatmap(_models(TwoAgentMDP, max_denominator, discounts, start))


def mdps(
    *,
    min_states: int = 1,
    max_states: int = 4,
    min_actions: int = 1,
    max_actions: int = 2,
    max_denominator: int = 4,
    discounts: Iterable[Any] = DISCOUNTS,
    start: Start = "any",
) -> st.SearchStrategy[MDP]:
    """Return a strategy for single-agent MDPs; arguments and shrinking are those of `games`."""
    sizes = (
        sizes_between("states", min_states, max_states),
        sizes_between("actions", min_actions, max_actions),
    )
    return st.tuples(*sizes).flatmap(_models(MDP, max_denominator, discounts, start))


def _DISCOUNT(name: str, value: Any) -> Fraction:
    """Return an exact discount."""
    number = EXACT(name, value)
    if not 0 <= number < 1:
        raise InvalidArgument(name, f"is {value}", "0 ≤ γ < 1", value)
    return number


def _models(
    kind: type[T], max_denominator: Any, discounts: Any, start: Any
) -> Callable[[tuple[int, ...]], st.SearchStrategy[T]]:
    """Return the function from a shape (S, …) to the strategy for models of that shape."""
    most = whole(1)("max_denominator", max_denominator)
    one_of(*STARTS)("start", start)
    known = st.sampled_from(each(_DISCOUNT, 1)("discounts", discounts))

    def models(shape: tuple[int, ...]) -> st.SearchStrategy[T]:
        n_states = shape[0]
        starts: dict[Start, st.SearchStrategy[Any]] = {
            "any": distributions((1,), n_states, 1, most).map(lambda rows: rows[0].tolist()),
            "first": st.just(np.eye(1, n_states, dtype=np.int64)[0].tolist()),
            "uniform": st.just("uniform"),
        }
        kernel = distributions(shape, n_states, 1, most).map(np.ndarray.tolist)
        # Made by `builds`, an instance is reported as the call that makes it.
        return st.builds(kind, kernel, known, starts[start])

    return models


def sizes_between(what: str, least: Any, most: Any) -> st.SearchStrategy[int]:
    """Return whole numbers from ``min_<what>`` to ``max_<what>``, both ≥ 1."""
    low = whole(1)(f"min_{what}", least)
    # Sampled, not `integers`: then hypothesis redraws what follows when it tries a smaller size.
    return st.sampled_from(range(low, whole(low)(f"max_{what}", most) + 1))


def check_game(game: Any) -> None:
    """Refuse what is no game, such as a strategy for games."""
    if not isinstance(game, TwoAgentMDP):
        problem = f"is {type(game).__name__}"
        raise InvalidArgument("game", problem, "a TwoAgentMDP; draw strategies first", game)
