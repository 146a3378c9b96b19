"""Hypothesis strategy for planted ties: a game, a commitment and a reward with chosen optimal sets.

`tied_rewards` walks to a tie from a drawn game; here the tie comes first. Values V are drawn, and
what belongs to them is built so that, under the commitment π1, ``Q(s, b) = V(s)`` for each action b
of the chosen set of s, and less for the others:

* a *joint reward* can be had for every kernel: V(s) less ``γ P(·|s, a, b)·V`` and less a gap, which
  is zero on the set and positive elsewhere. So it ties under every commitment;
* a *state reward* cannot tell actions apart, so the kernel has to. V takes the values 0 … L. All
  rows have N outcomes, and these are moved up and down by one until their values add up to the same
  T(s, a) on the set, and to less elsewhere; ``r(s) = V(s) − γ Σ_a π1(a|s) T(s, a) / N``. Another
  commitment changes V, and may undo the ties.

Everything is in Fractions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import each, one_of, whole
from iirl_opt.errors import InvalidArgument
from iirl_opt.exact.numbers import as_fractions
from iirl_opt.follower.ties import MASK
from iirl_opt.game.exact import exact_kernel
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.testing.arrays import policies
from iirl_opt.testing.distributions import distributions, exceptions, st, up_to
from iirl_opt.testing.kernels import outcomes
from iirl_opt.testing.models import DISCOUNT, sizes_between

__all__ = ["PlantedTies", "planted_ties"]

Exact = NDArray[Any]  # Fractions
Integers = NDArray[np.int64]

LARGEST_GAP, LARGEST_VALUE = 3, 4


@dataclass(frozen=True, eq=False)
class PlantedTies:
    """An instance with chosen ties, exactly.

    Attributes
    ----------
    game : the game.
    reward : the follower's, (S,) or (S, A, B), Fractions.
    pi1 : the commitment (S, A), Fractions.
    optimal : the follower's optimal actions under it, a mask (S, B).

    Examples
    --------
    >>> from hypothesis import find
    >>> tied = find(planted_ties(optimal=[[True, False], [True, True]]), lambda found: True)
    >>> tied.game.n_states, tied.optimal.tolist()
    (2, [[True, False], [True, True]])
    """

    game: TwoAgentMDP
    reward: Exact
    pi1: Exact
    optimal: NDArray[np.bool_]

    __repr__ = in_brief


def planted_ties(
    *,
    optimal: ArrayLike | None = None,
    shape: Literal["state", "joint"] = "state",
    max_states: int = 4,
    max_leader_actions: int = 2,
    max_follower_actions: int = 3,
    max_denominator: int = 4,
    discounts: Iterable[Any] = ("1/2", "9/10", "1/3", "99/100"),
) -> st.SearchStrategy[PlantedTies]:
    """Return a strategy for games, rewards and commitments with a chosen set of optimal actions.

    Shrinks towards few states and actions, all of them optimal, and towards a kernel that stays in
    the first state.

    Parameters
    ----------
    optimal : the mask (S, B), with at least one action a state; by default any in which some state
        has two.
    shape : of the reward: ``"state"`` (S,), or ``"joint"`` (S, A, B), which ties under every
        commitment.
    max_states, max_leader_actions, max_follower_actions : bounds on S, A and B, where the mask does
        not say them.
    max_denominator : of the probabilities, ≥ 1.
    discounts : to choose from; not 0 for state rewards, under which all actions tie then.

    Raises
    ------
    InvalidArgument
        Among others: in one state a state reward ties all actions.

    **Cost** a draw is a small game made of Fractions; no planning.

    Examples
    --------
    >>> from hypothesis import find
    >>> found = find(planted_ties(optimal=[[True, False], [True, True]]), lambda found: True)
    >>> found.reward.tolist(), found.game.kernel[0, 0].tolist()
    ([Fraction(-1, 2), Fraction(1, 1)], [[0.0, 1.0], [1.0, 0.0]])
    """
    one_of("state", "joint")("shape", shape)
    most = whole(1)("max_denominator", max_denominator)
    leaders = sizes_between("leader_actions", 1, max_leader_actions)
    known = each(DISCOUNT, 1)("discounts", discounts)
    if shape == "state" and 0 in known:
        raise InvalidArgument("discounts", "hold 0, at which all actions tie", "0 < γ < 1", known)
    if optimal is None:
        states = sizes_between("states", 1, max_states)
        sizes = st.tuples(states, sizes_between("follower_actions", 2, max_follower_actions))
        masks = sizes.flatmap(lambda size: _masks(size, all_of_one=shape == "state"))
    else:
        mask = MASK("optimal", optimal)
        if mask.ndim != 2:
            raise InvalidArgument("optimal", f"has shape {mask.shape}", "(S, B)", mask.shape)
        if shape == "state" and len(mask) == 1 and not mask.all():
            problem, allowed = "leaves out actions of the only state", 'all of them, or "joint"'
            raise InvalidArgument("optimal", problem, allowed, mask.tolist())
        masks = st.just(mask)
    plant = _state_ties if shape == "state" else _joint_ties
    drawn = st.tuples(masks, leaders, st.sampled_from(known))
    return drawn.flatmap(lambda parts: plant(parts[0], parts[1], parts[2], most))


@st.composite
def _masks(draw: st.DrawFn, size: tuple[int, int], *, all_of_one: bool) -> NDArray[np.bool_]:
    """Draw a mask (S, B) with an action in each state, and two in some; all of a single one."""
    n_states, n_b = size
    mask = np.ones(size, dtype=bool)
    for _ in range(0 if all_of_one and n_states == 1 else draw(exceptions(mask.size))):
        s, b = draw(up_to(n_states - 1)), draw(up_to(n_b - 1))
        mask[s, b] = False
        mask[s, 0] |= not mask[s].any()
    if (mask.sum(axis=1) < 2).all():
        mask[draw(up_to(n_states - 1)), :2] = True
    return mask


@st.composite
def _joint_ties(
    draw: st.DrawFn, mask: NDArray[np.bool_], n_a: int, discount: Fraction, most: int
) -> PlantedTies:
    """Draw a game of any kernel, values, and the joint reward that has them."""
    n_states, n_b = mask.shape
    kernel = draw(distributions((n_states, n_a, n_b), n_states, 1, most))
    game = draw(_built(kernel, discount))
    values = as_fractions(draw(outcomes((n_states,), 2 * LARGEST_VALUE + 1)))
    gaps = as_fractions(np.where(mask, 0, 1 + draw(outcomes(mask.shape, LARGEST_GAP))))
    reward = values[:, None, None] - discount * (exact_kernel(game) @ values) - gaps[:, None]
    return PlantedTies(game, reward, draw(policies(game, exact=True)), mask)


@st.composite
def _state_ties(
    draw: st.DrawFn, mask: NDArray[np.bool_], n_a: int, discount: Fraction, most: int
) -> PlantedTies:
    """Draw values, and a kernel whose rows have the means that they need."""
    n_states, n_b = mask.shape
    top = min(n_states - 1, 1 + draw(up_to(2)))
    values = np.array([*range(top + 1), *(draw(up_to(top)) for _ in range(n_states - top - 1))])
    values = values[np.array(draw(st.permutations(range(n_states))))]
    n = 1 + draw(up_to(most - 1))
    # Where an action is to be worse, there must be room below.
    least = (~mask).any(axis=1, keepdims=True)
    totals = np.maximum(draw(outcomes((n_states, n_a), n * top + 1)), least)
    rows = draw(outcomes((n_states, n_a, n_b, n), n_states))
    of_value = [int(np.flatnonzero(values == v)[0]) for v in range(top + 1)]
    for s, a, b in np.ndindex(n_states, n_a, n_b):
        total = int(totals[s, a])
        if not mask[s, b]:
            total = min(total - 1, int(values[rows[s, a, b]].sum()))
        _move(rows[s, a, b], values, of_value, total)
    game = draw(_built(np.eye(n_states, dtype=np.int64)[rows].sum(axis=3), discount))
    pi1 = draw(policies(game, exact=True))
    ahead = (pi1 * as_fractions(totals)).sum(axis=1) / Fraction(n)
    return PlantedTies(game, as_fractions(values) - discount * ahead, pi1, mask)


def _built(kernel: Integers, discount: Fraction) -> st.SearchStrategy[TwoAgentMDP]:
    """Return the game as a strategy: then it is reported as the call that makes it."""
    return st.builds(TwoAgentMDP, st.just(kernel.tolist()), st.just(discount))


def _move(row: Integers, values: Integers, of_value: list[int], total: int) -> None:
    """Move the outcomes of a row to states of the next value until their values add up."""
    while (off := total - int(values[row].sum())) != 0:
        step, last = (1, len(of_value) - 1) if off > 0 else (-1, 0)
        at = int(np.flatnonzero(values[row] != last)[0])
        row[at] = of_value[values[row[at]] + step]
