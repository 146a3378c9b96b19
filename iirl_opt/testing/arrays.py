"""Hypothesis strategies for the arrays that live in a game: policies and rewards.

Policies are small integer weights a state, normalised; rewards are short decimals, whole numbers by
default. With ``exact=True`` both are arrays of Fractions. Without it they are floats, and each
float is the binary fraction that it is: 1/3 and 0.1 are rounded, 1/4 and 3 are not.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from iirl_opt.checks import one_of, whole
from iirl_opt.errors import InvalidArgument
from iirl_opt.exact.numbers import EXACT, as_fractions
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.testing.assertions import Agent, policy_shape
from iirl_opt.testing.distributions import distributions, exceptions, st, up_to

__all__ = ["policies", "rewards"]

LARGEST_ENTRY = 10**15  # below 2⁵³: decimals with so many digits survive as floats


def policies(
    game: TwoAgentMDP | MDP,
    *,
    agent: Agent = "leader",
    deterministic: bool | None = None,
    max_denominator: int = 4,
    exact: bool = False,
) -> st.SearchStrategy[Any]:
    """Return a strategy for policies of a game or an MDP.

    Shrinks towards the first action in every state; without deterministic ones towards the uniform
    policy.

    Parameters
    ----------
    agent : whose: ``"leader"`` (S, A), ``"follower"`` (S, B), or ``"joint"`` (S, A, B), which may
        be correlated. An MDP has one agent, (S, B).
    deterministic : True for one action a state; False for policies that play every action with
        positive probability; None for all.
    max_denominator : of the probabilities, ≥ 1; larger by the number of actions where all must be
        played.
    exact : True for arrays of Fractions, False for floats.

    Raises
    ------
    InvalidArgument

    **Cost** a draw is a few whole numbers a state.

    Examples
    --------
    >>> from hypothesis import find
    >>> from iirl_opt import TwoAgentMDP
    >>> stay, go = [1, 0], [0, 1]
    >>> game = TwoAgentMDP([[[stay, go]], [[go, go]]], discount="1/2")
    >>> find(policies(game, agent="follower", deterministic=False), lambda pi2: True).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    shape = policy_shape(game, agent)
    one_of(None, True, False)("deterministic", deterministic)
    one_of(True, False)("exact", exact)
    most = whole(1)("max_denominator", max_denominator)
    totals = {None: (1, most), True: (1, 1), False: (0, most)}
    return _policies(shape, *totals[deterministic], exact)


def rewards(
    game: TwoAgentMDP | MDP,
    *,
    shape: Literal["state", "joint"] = "state",
    min_value: Any = -4,
    max_value: Any = 4,
    decimals: int = 0,
    constant: bool | None = None,
    exact: bool = False,
) -> st.SearchStrategy[Any]:
    """Return a strategy for rewards: short decimals, by default small integers.

    Shrinks towards zero, or the admitted value next to it, in every entry; without constant rewards
    towards one that differs in the first entry, by one unit of the last decimal.

    Parameters
    ----------
    shape : ``"state"`` for (S,), ``"joint"`` for (S, A, B) of a game or (S, B) of an MDP.
    min_value, max_value : bounds on the entries, floats, Fractions or strings such as ``"-1/2"``.
    decimals : digits after the point, 0 … 15.
    constant : True for constant rewards only, False for none, None for all.
    exact : True for arrays of Fractions, False for the floats nearest to the decimals.

    Raises
    ------
    InvalidArgument
        Among others: no decimal lies within the bounds, or no reward that is not constant.

    **Cost** a draw is a whole number an entry.

    Examples
    --------
    >>> from hypothesis import find
    >>> from iirl_opt import TwoAgentMDP
    >>> stay, go = [1, 0], [0, 1]
    >>> game = TwoAgentMDP([[[stay, go]], [[go, go]]], discount="1/2")
    >>> find(rewards(game, shape="joint"), lambda r: True).tolist()  # the simplest one
    [[[0.0, 0.0]], [[0.0, 0.0]]]
    """
    policy_shape(game)
    one_of("state", "joint")("shape", shape)
    one_of(None, True, False)("constant", constant)
    one_of(True, False)("exact", exact)
    unit = 10 ** whole(0, 15)("decimals", decimals)
    low = math.ceil(EXACT("min_value", min_value) * unit)
    high = math.floor(EXACT("max_value", max_value) * unit)
    if low > high:
        problem, allowed = f"is {max_value}", f"a decimal between it and min_value = {min_value}"
        raise InvalidArgument("max_value", problem, allowed, max_value)
    for name, bound, units in (("min_value", min_value, low), ("max_value", max_value, high)):
        if abs(units) > LARGEST_ENTRY:
            problem = f"is {bound}, too long with {decimals} decimals"
            raise InvalidArgument(name, problem, "at most 15 digits in all", bound)
    wanted = (game.n_states,) if shape == "state" else game.shape
    size = math.prod(wanted)
    if constant is False and (size == 1 or low == high):
        problem = f"is False with {size} entries from {low / unit:g} to {high / unit:g}"
        raise InvalidArgument("constant", problem, "two entries and two values, or None", constant)
    return _rewards(wanted, low, high, unit, constant, exact)


@st.composite
def _policies(
    draw: st.DrawFn, shape: tuple[int, ...], least: int, most: int, exact: bool
) -> NDArray[Any]:
    weights = draw(distributions(shape[:1], math.prod(shape[1:]), least, most))
    if least == 0:
        weights += 1
    if exact:
        weights = as_fractions(weights)
    policy: NDArray[Any] = (weights / weights.sum(axis=1, keepdims=True)).reshape(shape)
    return policy


@st.composite
def _rewards(
    draw: st.DrawFn,
    shape: tuple[int, ...],
    low: int,
    high: int,
    unit: int,
    constant: bool | None,
    exact: bool,
) -> NDArray[Any]:
    size, value = math.prod(shape), st.integers(low, high)
    entries = [draw(value)] * size
    for _ in range(0 if constant else draw(exceptions(size))):
        entries[draw(up_to(size - 1))] = draw(value)
    if constant is False and len(set(entries)) == 1:
        entries[draw(up_to(size - 1))] += 1 if entries[0] < high else -1
    if exact:
        return as_fractions([Fraction(entry, unit) for entry in entries]).reshape(shape)
    return np.array([entry / unit for entry in entries]).reshape(shape)
