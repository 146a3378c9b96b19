"""Outcomes: what happens after each choice, and with what probability.

Reading an environment makes no game yet. A split between two agents rewrites its outcomes, and the
game is made of what is left (`iirl_opt.formats.gymnasium.reading`).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.brief import in_brief
from iirl_opt.exact.numbers import as_fraction

__all__ = ["Outcomes", "read_reward", "simple_fraction"]

Integers = NDArray[np.int64]
Exact = NDArray[Any]

# A probability was worked out from 1 by an operation or two.
ROUNDING = Fraction(1, 2**52)
LARGEST_DENOMINATOR = 10**6


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The outcomes of all choices of two agents, each an entry of the arrays.

    Attributes
    ----------
    n_table : how many of the states are the table's; they come first.
    states, leader_actions, follower_actions : labels.
    cells : where the follower stands in each state; the state itself where that is not known.
    state, leader, follower, successor : indices.
    probability, reward : Fractions; the probabilities are positive.
    ended : whether play is over after this outcome.
    start : (S,) of Fractions or floats, or None for uniform.
    is_rational : whether the probabilities of each choice sum to one exactly.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from types import SimpleNamespace
    >>> from iirl_opt.formats import from_gymnasium
    >>> class Watch:  # a split that looks at them, and has a leader who only watches
    ...     def rewrite(self, outcomes, env):
    ...         print(outcomes.successor, outcomes.probability, outcomes.ended)
    ...         return replace(outcomes, leader_actions=("watch",))
    >>> hall, goal = {0: [(0.5, 1, 5, True), (0.5, 0, -1, False)]}, {0: [(1, 1, 0, False)]}
    >>> env = SimpleNamespace(P={0: hall, 1: goal})
    >>> env.unwrapped = env
    >>> game = from_gymnasium(env, "9/10", leader=Watch()).game
    [1 0 1] [Fraction(1, 2) Fraction(1, 2) Fraction(1, 1)] [ True False False]
    """

    n_table: int
    states: tuple[Hashable, ...]
    leader_actions: tuple[Hashable, ...]
    follower_actions: tuple[Hashable, ...]
    cells: tuple[Hashable, ...]
    state: Integers
    leader: Integers
    follower: Integers
    successor: Integers
    probability: Exact
    reward: Exact
    ended: NDArray[np.bool_]
    start: Any
    is_rational: bool

    __repr__ = in_brief

    @property
    def n_states(self) -> int:
        """The number of states, S."""
        return len(self.states)


def read_reward(number: Any) -> Fraction:
    """Return a reward as a Fraction, if its float is finite: expected rewards are floats.

    Raises
    ------
    TypeError, ValueError, OverflowError, ZeroDivisionError
        One of `iirl_opt.exact.numbers.UNREADABLE`.
    """
    exact = as_fraction(number)
    float(exact)
    return exact


def simple_fraction(number: float) -> Fraction:
    """Return the fraction within 2⁻⁵² of a float whose denominator is at most 10⁶, else the float.

    Examples
    --------
    >>> simple_fraction(1 / 3), simple_fraction((1 - 0.8) / 2), simple_fraction(2**-30)
    (Fraction(1, 3), Fraction(1, 10), Fraction(1, 1073741824))

    What is possible stays so: a positive float is never read as zero.
    """
    itself = Fraction(number)
    near = itself.limit_denominator(LARGEST_DENOMINATOR)
    return near if abs(near - itself) <= ROUNDING and bool(near) == bool(itself) else itself
