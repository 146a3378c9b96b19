"""Random games with bounded influence (paper, Section 5, Random MDPs).

A row of the kernel is drawn from a Dirichlet distribution and rounded to integer weights, so the
game is rational. The *influence* of an agent is the largest L1 distance between two rows of one
state that differ in this agent's action alone (paper, appendix on influence): 0 where the agent
is irrelevant, at most 2.

To bound it, each state's rows are mixed with their mean over the agent's actions. With one share
λ for all rows of a state, the differences between the agent's actions shrink by exactly λ, and
those between the other agent's actions do not grow: they become averages of old differences.
Hence the leader's bound, met first, survives the follower's. The mixing is done in integers, so
both bounds hold exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, combinations
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.checks import FLAG, POSITIVE, RNG, checked, whole
from iirl_opt.errors import InvalidArgument
from iirl_opt.exact.numbers import as_fraction
from iirl_opt.game.entries import BLOCK, Part, RowBlocks
from iirl_opt.game.mdp import TwoAgentMDP

__all__ = ["random_game"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

ROW_TOTAL = 10**5
SHARE_STEPS = 1000  # a share is rounded down by less than one part in this
LARGEST_TOTAL = 2**60  # of a row; L1 distances, up to twice as large, still fit into int64


@checked(
    n_states=whole(1),
    n_leader_actions=whole(1),
    n_follower_actions=whole(1),
    rng=RNG,
    concentration=POSITIVE,
    restart=FLAG,
)
def random_game(
    n_states: int,
    n_leader_actions: int,
    n_follower_actions: int,
    rng: int | np.random.Generator | None,
    *,
    concentration: float | None = None,
    successors: int | None = None,
    leader_influence: Any = None,
    follower_influence: Any = None,
    discount: Any = "9/10",
    restart: bool = True,
) -> tuple[TwoAgentMDP, Array]:
    """Draw a game and a reward of shape (S,).

    From the paper: rows from a Dirichlet and rewards from a Beta distribution, bounded influence,
    discount 0.9 (there S = 200 and four actions each). From the authors' code: Dirichlet(1/S),
    rows of five decimals, the restart, Beta(0.5, 0.7). Theirs repairs a rounded row at a random
    entry and bounds no influence; here rows are rounded by largest remainder to weights of total
    10⁵, rewards to six decimals.

    Parameters
    ----------
    n_states, n_leader_actions, n_follower_actions : S, A and B.
    rng : a seed gives the same game every time, a generator is drawn from, None is fresh entropy.
        Bounds on influence and the restart draw nothing, so they change the same game.
    concentration : of the Dirichlet distribution, > 0; 1/S by default, 1 with `successors`.
    successors : the number of next states a row has, drawn uniformly, all of positive weight; by
        default any state may follow. Mixing for a bound on influence unites successors.
    leader_influence, follower_influence : bounds in [0, 2]; at 0 the rows of all the agent's
        actions are equal. A state above the bound is mixed with the largest share λ that meets
        it, rounded down by less than one part in 1000; other states are left as drawn.
    discount : 0 ≤ γ < 1, a float, Fraction or string.
    restart : whether the game starts in state 0, which leads to every state with the same
        probability whatever the actions; otherwise the start is uniform and state 0 like others.

    Raises
    ------
    InvalidArgument
        A size, seed, concentration or bound out of its range; a bound above 0 so small that its
        integer weights would not fit into int64.
    InvalidGame
        The discount.

    **Source** paper, Section 5, Random MDPs, and the appendix on influence.
    **Cost** arithmetic; S²·A·B draws, or S·A·B·successors.

    Examples
    --------
    >>> game, reward = random_game(30, 3, 3, rng=0, leader_influence="1/2")
    >>> game
    TwoAgentMDP(30 states, 3×3 actions, discount=0.9, 5856 transitions, rational)
    >>> round(game.influence()[0], 12)
    0.5
    """
    shape = n_states, n_leader_actions, n_follower_actions
    bounds = {
        "leader_influence": _bound("leader_influence", leader_influence),
        "follower_influence": _bound("follower_influence", follower_influence),
    }
    if concentration is None:
        concentration = 1 / n_states if successors is None else 1.0
    random = np.random.default_rng(rng)
    if successors is None:
        drawn: Iterator[sp.csr_array] = _dirichlet_rows(random, shape, concentration)
    else:
        whole(1, min(n_states, ROW_TOTAL))("successors", successors)
        drawn = _sparse_rows(random, shape, successors, concentration)
    start = np.ones(n_states, dtype=np.int64)
    restarting: Iterator[Part] = iter(())
    if restart:
        start[1:] = 0
        drawn = chain([next(drawn)[prod(shape[1:]) :]], drawn)
        restarting = _uniform_rows(shape)
    for axis, (name, bound) in enumerate(bounds.items(), start=1):
        if bound is not None:
            drawn = _bounded(drawn, shape[1:], axis, bound, name)
    rows = ((part.indptr, part.indices, part.data) for part in drawn if part.shape[0])
    game = TwoAgentMDP(
        RowBlocks((prod(shape), n_states), chain(restarting, rows)),
        discount,
        start,
        leader_actions=n_leader_actions,
        follower_actions=n_follower_actions,
    )
    return game, np.round(random.beta(0.5, 0.7, n_states), 6)


def _bound(name: str, bound: Any) -> Fraction | None:
    if bound is None:
        return None
    try:
        exact = as_fraction(bound)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise InvalidArgument(name, f"is {bound!r}", "a number in [0, 2]", bound) from None
    if not 0 <= exact <= 2:
        raise InvalidArgument(name, f"is {bound}", "a number in [0, 2]", bound)
    return exact


def _dirichlet_rows(
    rng: np.random.Generator, shape: tuple[int, int, int], concentration: float
) -> Iterator[sp.csr_array]:
    """Draw rows over all states, those of some states at a time, since few entries survive."""
    n_states, n_choices = shape[0], prod(shape[1:])
    alpha = np.full(n_states, concentration)
    for states in _portions(n_states, n_choices * n_states):
        shares = rng.dirichlet(alpha, states * n_choices)
        yield sp.csr_array(_rounded(shares, ROW_TOTAL))


def _sparse_rows(
    rng: np.random.Generator, shape: tuple[int, int, int], successors: int, concentration: float
) -> Iterator[sp.csr_array]:
    """Draw rows over `successors` distinct states each, those of some states at a time.

    All next states are drawn before the first probability (Floyd's sampling).
    """
    n_states, n_choices = shape[0], prod(shape[1:])
    columns = np.empty((n_states * n_choices, successors), dtype=np.int32)
    for j, last in enumerate(range(n_states - successors, n_states)):
        for first in range(0, len(columns), BLOCK):
            rows = columns[first : first + BLOCK]
            drawn = rng.integers(last + 1, size=len(rows))
            for earlier in rows.T[:j]:
                drawn[earlier == drawn] = last
            rows[:, j] = drawn
    alpha, first = np.full(successors, concentration), 0
    for states in _portions(n_states, n_choices * successors):
        n_rows = states * n_choices
        shares = rng.dirichlet(alpha, n_rows)
        weights = 1 + _rounded(shares, ROW_TOTAL - successors)
        heads = columns[first : first + n_rows].ravel()
        indptr = np.arange(n_rows + 1) * successors
        yield sp.csr_array((weights.ravel(), heads, indptr), shape=(n_rows, n_states))
        first += n_rows


def _uniform_rows(shape: tuple[int, int, int]) -> Iterator[Part]:
    """Return the rows of a state that leads to every state alike."""
    n_states = shape[0]
    for rows in _portions(prod(shape[1:]), n_states):
        columns = np.tile(np.arange(n_states), rows)
        yield np.arange(rows + 1) * n_states, columns, np.ones(columns.size, dtype=np.int64)


def _portions(n: int, entries: int) -> Iterator[int]:
    """Return how many of n things are taken at a time, where one has so many entries."""
    size = max(1, BLOCK // entries)
    for first in range(0, n, size):
        yield min(size, n - first)


def _rounded(rows: Array, total: int) -> Integers:
    """Return probabilities as integers that sum to `total`, by largest remainder."""
    floors = np.floor(rows * total)
    missing = total - floors.sum(axis=1, keepdims=True)
    order = np.argsort(floors - rows * total, axis=1, kind="stable")
    extra = np.empty_like(floors)
    np.put_along_axis(extra, order, np.arange(rows.shape[1]) < missing, axis=1)
    return (floors + extra).astype(np.int64)


def _bounded(
    drawn: Iterator[sp.csr_array], choices: tuple[int, int], axis: int, bound: Fraction, name: str
) -> Iterator[sp.csr_array]:
    """Return weights in which the agent of `axis` has at most the influence `bound`."""
    for weights in drawn:
        states = weights.shape[0] // prod(choices)
        yield _mixed(weights, (states, *choices), axis, bound, name) if states else weights


def _mixed(
    weights: sp.csr_array, shape: tuple[int, int, int], axis: int, bound: Fraction, name: str
) -> sp.csr_array:
    """Return the rows of some states, mixed until the agent of `axis` meets the bound.

    All rows of a state share one total. Where the share kept is kept / whole, the new row is
    ``n·kept·row + (whole − kept)·(sum over the agent's n actions)``, of total n·whole·total.
    """
    rows = np.moveaxis(np.arange(prod(shape)).reshape(shape), axis, -1)
    n = shape[axis]
    gap = np.zeros(shape[0], dtype=np.int64)
    for i, j in combinations(range(n), 2):
        difference = weights[rows[..., i].ravel()] - weights[rows[..., j].ravel()]
        gap = np.maximum(gap, abs(difference).sum(axis=1).reshape(shape[0], -1).max(axis=1))
    total = weights.sum(axis=1)[:: prod(shape[1:])]
    shares = [_share(d, t, bound) for d, t in zip(gap.tolist(), total.tolist(), strict=True)]
    if max(n * of * t for (_, of), t in zip(shares, total.tolist(), strict=True)) > LARGEST_TOTAL:
        problem = f"is {float(bound):g}, whose integer weights would be too large"
        raise InvalidArgument(name, problem, "0, or a larger bound", bound)
    kept, whole = np.array(shares).T[:, :, None, None, None]
    onto, source = np.broadcast_arrays(rows[..., :, None], rows[..., None, :])
    data = np.broadcast_to(whole - kept + n * kept * np.eye(n, dtype=np.int64), onto.shape)
    mixer = sp.csr_array((data.ravel(), (onto.ravel(), source.ravel())))
    mixer.eliminate_zeros()
    return sp.csr_array(mixer @ weights)


def _share(gap: int, total: int, bound: Fraction) -> tuple[int, int]:
    """Return (kept, whole), the share that brings an L1 distance gap / total to the bound.

    The largest share is allowed / found. Kept is so large that whole is SHARE_STEPS at least, and
    rounding whole up loses less than one part in as many.
    """
    allowed, found = bound.numerator * total, bound.denominator * gap
    if found <= allowed:
        return 1, 1
    if allowed == 0:
        return 0, 1
    kept = -(-SHARE_STEPS * allowed // found)
    return kept, -(-kept * found // allowed)
