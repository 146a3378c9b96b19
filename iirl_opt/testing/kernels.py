"""How strategies draw kernels with a property: built, never filtered.

A kernel is an array (S, n, S) of whole weights, n the number of joint actions.

* *Chains*. Under every policy the chain is irreducible if and only if, for each state t, one can
  go on adding states all of whose rows lead to what was added before, from {t} to all states. Where
  that ends early a drawn state is given an outcome there, in each row that lacks one. So every such
  kernel can come out, and one that is such from the start stays as it is. It is aperiodic, too, if
  some state may stay whatever is played.
* *Influence*. All rows have N outcomes. Of these m may differ with an agent's action, so that its
  influence is at most 2m/N; and in a drawn state k of them do, so that it is at least 2k/N.

**Source** influence: paper, Appendix; chains of every policy: the recurrent MDPs of Puterman.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from iirl_opt.checks import refuse
from iirl_opt.exact.numbers import EXACT
from iirl_opt.testing.distributions import distributions, st, up_to

__all__ = ["CHAINS", "ChainKind", "KernelBounds", "kernels", "outcomes", "read_influence"]

Integers = NDArray[np.int64]
ChainKind: TypeAlias = Literal["any", "irreducible", "ergodic"]
CHAINS: tuple[ChainKind, ...] = get_args(ChainKind)


@dataclass(frozen=True)
class KernelBounds:
    """What is asked of a kernel.

    Attributes
    ----------
    most : outcomes of a row.
    chains : of every policy.
    influence : bounds (at least, at most) on leader's and follower's; None where none is asked.
    """

    most: int
    chains: ChainKind = "any"
    influence: tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]] | None = None

    def reserved(self, n_states: int) -> int:
        """Return how many outcomes of a row are kept for the chain where influence is bounded."""
        return CHAINS.index(self.chains) if n_states > 1 else 0

    def slots(self, n_states: int) -> list[_Slots]:
        """Return the divisions of rows that meet the bounds on influence."""
        found = []
        for n in range(1, self.most + 1):
            free = n - self.reserved(n_states)
            pairs = self.influence or ()
            least = tuple(math.ceil(low * n / 2) for low, _ in pairs)
            largest = tuple(min(math.floor(high * n / 2), free) for _, high in pairs)
            if all(k <= m for k, m in zip(least, largest, strict=True)):
                found.append(_Slots(free, least, largest))
        return found


class _Slots(NamedTuple):
    """A division of rows: free outcomes, those that must differ, and those that may."""

    free: int
    least: tuple[int, ...]
    largest: tuple[int, ...]


def read_influence(name: str, bounds: Any) -> tuple[Fraction, Fraction]:
    """Return bounds on an influence: from a pair, from the upper one alone, or all for None.

    Raises
    ------
    InvalidArgument
    """
    pair = (0, 2) if bounds is None else (0, bounds) if np.ndim(bounds) == 0 else bounds
    allowed = "a number from 0 to 2, or a pair of them: at least, at most"
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise refuse(name, bounds, allowed)
    low, high = (EXACT(name, bound) for bound in pair)
    if not 0 <= low <= high <= 2:
        raise refuse(name, bounds, allowed)
    return low, high


@st.composite
def kernels(draw: st.DrawFn, shape: tuple[int, ...], bounds: KernelBounds) -> Integers:
    """Draw weights (S, …, S) for rows of a shape (S, A, B) or (S, B)."""
    n_states, rows = shape[0], math.prod(shape[1:])
    if bounds.influence is not None:
        return _influenced(draw, shape, bounds)
    if bounds.chains != "any" and bounds.most == 1:
        following = np.eye(n_states, dtype=np.int64)[_cycle(draw, n_states)]
        return np.repeat(following, rows, axis=0).reshape(*shape, n_states)
    weights = draw(distributions(shape, n_states, 1, bounds.most))
    if bounds.chains != "any":
        _connect(draw, weights.reshape(n_states, rows, n_states))
    if bounds.chains == "ergodic":
        _let_one_stay(draw, weights.reshape(n_states, rows, n_states))
    return weights


@st.composite
def outcomes(draw: st.DrawFn, shape: tuple[int, ...], width: int) -> Integers:
    """Draw whole numbers below `width`: one for all places, and some exceptions."""
    size = math.prod(shape)
    found = np.full(size, _below(draw, width), dtype=np.int64)
    for _ in range(_below(draw, size + 1) if size > 1 else 0):
        found[_below(draw, size)] = _below(draw, width)
    return found.reshape(shape)


def _below(draw: st.DrawFn, size: int) -> int:
    """Draw a whole number from 0 to size − 1.

    Also where there is but one a choice is drawn, so that choices mean the same whatever the sizes:
    hypothesis varies instances by their choices.
    """
    return draw(up_to(max(size - 1, 1))) % size


def _cycle(draw: st.DrawFn, n_states: int) -> Integers:
    """Draw a state's successor in a cycle through all states."""
    order = np.array(draw(st.permutations(range(n_states))))
    successor = np.empty(n_states, dtype=np.int64)
    successor[order] = np.roll(order, -1)
    return successor


def _connect(draw: st.DrawFn, weights: Integers) -> None:
    """Add outcomes to rows (S, n, S) until every state is reached under every policy.

    What may be needed is drawn beforehand: hypothesis varies best what it draws whatever the rest.
    """
    n_states, rows, _ = weights.shape
    next_ones = draw(outcomes((n_states,), n_states))
    wish = draw(outcomes((n_states, rows), n_states))
    for target in range(n_states):
        reached = np.arange(n_states) == target
        while not reached.all():
            leads = (weights[:, :, reached].sum(axis=2) > 0).all(axis=1) & ~reached
            if not leads.any():
                others = np.flatnonzero(~reached)
                s = others[next_ones[target] % len(others)]
                lack = np.flatnonzero(~weights[s][:, reached].any(axis=1))
                there = np.flatnonzero(reached)
                weights[s, lack, there[(wish[s, lack] + target) % len(there)]] += 1
                leads[s] = True
            reached |= leads


def _let_one_stay(draw: st.DrawFn, weights: Integers) -> None:
    """Add outcomes to rows (S, n, S) until some state may stay whatever is played."""
    n_states = len(weights)
    own = weights[np.arange(n_states), :, np.arange(n_states)]
    s = _below(draw, n_states)
    if not (own > 0).all(axis=1).any():
        weights[s, own[s] == 0, s] += 1


def _influenced(draw: st.DrawFn, shape: tuple[int, ...], bounds: KernelBounds) -> Integers:
    """Draw weights (S, A, B, S) within bounds on influence."""
    n_states, n_a, n_b = shape
    free, (k1, k2), (m1, m2) = draw(st.sampled_from(bounds.slots(n_states)))
    both = _from(draw, max(0, k1 + k2 - free), min(m1, m2))
    needed = max(0, k2 - both)
    first = _from(draw, max(0, k1 - both), min(m1 - both, free - both - needed))
    second = _from(draw, needed, min(m2 - both, free - both - first))
    # Outcomes that differ with either action, with the leader's, the follower's, and with neither.
    either = draw(outcomes((n_states, n_a, n_b, both), n_states))
    leader = draw(outcomes((n_states, n_a, first), n_states))
    follower = draw(outcomes((n_states, n_b, second), n_states))
    neither = draw(outcomes((n_states, free - both - first - second), n_states))
    s, x = _below(draw, n_states), _below(draw, n_states)
    (a, other_a), (b, other_b) = _two(draw, n_a), _two(draw, n_b)
    y, z = _another(draw, x, n_states), _another(draw, x, n_states)
    in1, in2 = min(k1, first), min(k2, second)  # the rest of k1 and k2 differs with either
    e1, e2 = k1 - in1, k2 - in2
    leader[s, a, :in1] = follower[s, b, :in2] = either[s, a, b, : max(e1, e2)] = x
    if k1:
        leader[s, other_a] = leader[s, a]
        either[s, other_a, b] = either[s, a, b]
        leader[s, other_a, :in1] = either[s, other_a, b, :e1] = y
    if k2:
        follower[s, other_b] = follower[s, b]
        either[s, a, other_b] = either[s, a, b]
        follower[s, other_b, :in2] = either[s, a, other_b, :e2] = z
    unit = np.eye(n_states, dtype=np.int64)
    weights: Integers = (
        unit[either].sum(axis=3)
        + unit[leader].sum(axis=2)[:, :, None]
        + unit[follower].sum(axis=2)[:, None]
        + unit[neither].sum(axis=1)[:, None, None]
    )
    reserved = bounds.reserved(n_states)
    if reserved:
        weights += unit[_cycle(draw, n_states)][:, None, None]
    if reserved == 2:
        stays = draw(outcomes((n_states,), n_states))
        one = _below(draw, n_states)
        stays[one] = one
        weights += unit[stays][:, None, None]
    return weights


def _from(draw: st.DrawFn, low: int, high: int) -> int:
    """Draw a whole number from low to high."""
    return low + _below(draw, high - low + 1)


def _two(draw: st.DrawFn, size: int) -> tuple[int, int]:
    """Draw two actions, different ones where there are two."""
    one = _below(draw, size)
    return one, _another(draw, one, size)


def _another(draw: st.DrawFn, one: int, size: int) -> int:
    """Draw a number below `size` that is not `one`, unless there is no other."""
    return (one + 1 + _below(draw, max(size - 1, 1))) % size
