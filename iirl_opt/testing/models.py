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
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import numpy as np

from iirl_opt.checks import each, one_of, whole
from iirl_opt.errors import InvalidArgument
from iirl_opt.exact.numbers import EXACT
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.testing.distributions import distributions, st
from iirl_opt.testing.kernels import CHAINS, ChainKind, KernelBounds, kernels, read_influence

__all__ = ["DISCOUNT", "check_game", "games", "mdps", "sizes_between"]

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
    deterministic: bool = False,
    chains: ChainKind = "any",
    leader_influence: Any = None,
    follower_influence: Any = None,
    discounts: Iterable[Any] = DISCOUNTS,
    start: Start = "any",
) -> st.SearchStrategy[TwoAgentMDP]:
    """Return a strategy for games.

    Shrinks towards few states and actions, all transitions and the start to the first state, and
    the first discount; with bounds, towards as few other transitions as they leave.

    Parameters
    ----------
    min_states, max_states, … : bounds on S, A and B, each ≥ 1.
    max_denominator : of the probabilities in a row or in the start distribution, and so the largest
        number of next states, ≥ 1; at 1 the game is deterministic. Rows that chains need to lead
        elsewhere, too, may have S − 1 more.
    deterministic : whether every row has one next state.
    chains : ``"irreducible"`` for games in which every policy, also a correlated one, has a chain
        that goes from each state to all; ``"ergodic"`` for aperiodic ones besides, with a state
        that may stay whatever is played. An irreducible deterministic game is one cycle.
    leader_influence, follower_influence : bounds on `TwoAgentMDP.influence`, in [0, 2]: the most,
        as in `random_game`, or a pair, at least and at most. Then all rows have as many outcomes,
        N; an influence that is more than 0 draws at least two states and actions. With `chains`,
        rows of a state share one outcome (two if ergodic), which form a cycle.
    discounts : the discounts to choose from, 0 ≤ γ < 1. Zero is among the default ones: pass others
        for a theorem that needs γ > 0.
    start : ``"any"`` distribution, the ``"first"`` state or ``"uniform"``.

    Raises
    ------
    InvalidArgument
        Among others: no rows of so few outcomes meet the bounds.

    **Cost** a draw is a few whole numbers for each row of the kernel.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(games(), lambda game: game.influence()[1] > 0)
    TwoAgentMDP(2 states, 1×2 actions, discount=0.5, 4 transitions, rational)
    >>> find(games(leader_influence=(1, 1), chains="ergodic"), lambda game: True).influence()
    (1.0, 0.0)
    """
    bounds = _bounds(max_denominator, deterministic, chains, max_states)
    read = (
        read_influence("leader_influence", leader_influence),
        read_influence("follower_influence", follower_influence),
    )
    some1, some2 = (low > 0 for low, _ in read)
    sizes = (
        sizes_between("states", min_states, max_states, at_least=1 + (some1 or some2)),
        sizes_between("leader_actions", min_leader_actions, max_leader_actions, at_least=1 + some1),
        sizes_between(
            "follower_actions", min_follower_actions, max_follower_actions, at_least=1 + some2
        ),
    )
    given = {"leader_influence": leader_influence, "follower_influence": follower_influence}
    asked = {name: value for name, value in given.items() if value is not None}
    if asked:
        bounds = replace(bounds, influence=read)
        if not bounds.slots(max_states):
            free = f"m ≤ N − {bounds.reserved(max_states)}, N ≤ {bounds.most}"
            problem = " and ".join(f"is {value!r}" for value in asked.values())
            allowed = f"bounds with some 2m/N between them, {free}"
            raise InvalidArgument(" and ".join(asked), problem, allowed, asked)
    return st.tuples(*sizes).flatmap(_models(TwoAgentMDP, bounds, discounts, start))


def mdps(
    *,
    min_states: int = 1,
    max_states: int = 4,
    min_actions: int = 1,
    max_actions: int = 2,
    max_denominator: int = 4,
    deterministic: bool = False,
    chains: ChainKind = "any",
    discounts: Iterable[Any] = DISCOUNTS,
    start: Start = "any",
) -> st.SearchStrategy[MDP]:
    """Return a strategy for single-agent MDPs; arguments and shrinking are those of `games`.

    **Cost** a draw is a few whole numbers for each row of the kernel.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(mdps(min_states=2, discounts=["9/10"]), lambda mdp: True)
    MDP(2 states, 1 actions, discount=0.9, 2 transitions, rational)
    """
    bounds = _bounds(max_denominator, deterministic, chains, max_states)
    sizes = (
        sizes_between("states", min_states, max_states),
        sizes_between("actions", min_actions, max_actions),
    )
    return st.tuples(*sizes).flatmap(_models(MDP, bounds, discounts, start))


def _bounds(most: Any, deterministic: Any, chains: Any, max_states: Any) -> KernelBounds:
    """Return what is asked of all kernels."""
    outcomes = whole(1)("max_denominator", most)
    one_of(True, False)("deterministic", deterministic)
    one_of(*CHAINS)("chains", chains)
    bounds = KernelBounds(1 if deterministic else outcomes, chains)
    if bounds.most == 1 and chains == "ergodic" and whole(1)("max_states", max_states) > 1:
        problem = "is 'ergodic', of deterministic games of several states"
        raise InvalidArgument("chains", problem, "'irreducible': such chains have a period", chains)
    return bounds


def DISCOUNT(name: str, value: Any) -> Fraction:
    """Return an exact discount."""
    number = EXACT(name, value)
    if not 0 <= number < 1:
        raise InvalidArgument(name, f"is {value}", "0 ≤ γ < 1", value)
    return number


def _models(
    kind: type[T], bounds: KernelBounds, discounts: Any, start: Any
) -> Callable[[tuple[int, ...]], st.SearchStrategy[T]]:
    """Return the function from a shape (S, …) to the strategy for models of that shape."""
    one_of(*STARTS)("start", start)
    known = st.sampled_from(each(DISCOUNT, 1)("discounts", discounts))

    def models(shape: tuple[int, ...]) -> st.SearchStrategy[T]:
        n_states = shape[0]
        starts: dict[Start, st.SearchStrategy[Any]] = {
            "any": distributions((1,), n_states, 1, bounds.most).map(lambda rows: rows[0].tolist()),
            "first": st.just(np.eye(1, n_states, dtype=np.int64)[0].tolist()),
            "uniform": st.just("uniform"),
        }
        # Made by `builds`, an instance is reported as the call that makes it.
        return st.builds(kind, kernels(shape, bounds).map(np.ndarray.tolist), known, starts[start])

    return models


def sizes_between(what: str, least: Any, most: Any, at_least: int = 1) -> st.SearchStrategy[int]:
    """Return whole numbers from ``min_<what>`` to ``max_<what>``, both ≥ 1."""
    low = max(whole(1)(f"min_{what}", least), at_least)
    # Sampled, not `integers`: then hypothesis redraws what follows when it tries a smaller size.
    return st.sampled_from(range(low, whole(low)(f"max_{what}", most) + 1))


def check_game(game: Any) -> None:
    """Refuse what is no game, such as a strategy for games."""
    if not isinstance(game, TwoAgentMDP):
        problem = f"is {type(game).__name__}"
        raise InvalidArgument("game", problem, "a TwoAgentMDP; draw strategies first", game)
