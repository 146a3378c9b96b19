"""Hypothesis strategies for where theorems break: boundaries of cones, extreme rays, ties.

A reward drawn at random lies well within the set of those that explain an answer, so a bound that
is attained on the boundary of that set looks as if it held with room to spare. These strategies
walk to the boundary. They begin at a point inside and go on in a drawn direction until the first
inequality is tight, then along that facet to the next one, and so on; what is left after so many
steps as there are dimensions is an extreme ray. All of it is in Fractions: in floating point no
reward is on a boundary, and nothing is tied.

The walk keeps the mean and the part along the point that it began at, both of which only shift and
scale a reward. So it moves within a section of the cone and does not end at a constant reward.
Where no inequality bounds that section, as with two states, it leaves it; then it may. Nothing is
filtered.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import each, optional, unmasked, whole
from iirl_opt.errors import InvalidArgument
from iirl_opt.exact.numbers import EXACT, UNREADABLE, as_fractions
from iirl_opt.game.exact import exact_kernel, exact_optimum, exact_policy, exact_values
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.testing.arrays import policies, rewards
from iirl_opt.testing.distributions import st
from iirl_opt.testing.models import check_game

__all__ = ["boundary_rewards", "tied_rewards"]

Exact = NDArray[Any]  # Fractions

LARGEST_STEP = 3


def boundary_rewards(
    rows: ArrayLike,
    inside: ArrayLike,
    *,
    faces: int | None = None,
    beyond: Iterable[Any] = (0,),
) -> st.SearchStrategy[Exact]:
    """Return a strategy for rewards (S,) on the boundary of ``{x : rows·x ≥ 0}``, as Fractions.

    Shrinks towards few steps, in the direction of the first coordinates.

    Parameters
    ----------
    rows : shape (m, S), Fractions or other numbers; floats are read as what they are.
    inside : a reward (S,) of the set.
    faces : how many steps to walk, each of which makes one more inequality tight where any is in
        the way: 1 ends on a facet, S − 2 on an extreme ray. By default any number from 1 to S − 2.
    beyond : the shares of the last step to choose from, by which to overshoot; 0 stops on the
        boundary, ``"1/100"`` a hundredth of the way outside, a negative one inside.

    Raises
    ------
    InvalidArgument
        Among others: `inside` violates a row.

    **Cost** a draw is some products of all rows with a vector for each step, in Fractions.

    Examples
    --------
    >>> from hypothesis import find
    >>> cone = [[1, -1, 0], [0, 1, -1]]  # r0 ≥ r1 ≥ r2
    >>> find(boundary_rewards(cone, [2, 1, 0]), lambda r: True).tolist()
    [Fraction(7, 3), Fraction(1, 3), Fraction(1, 3)]
    """
    matrix, begun = _read_numbers("rows", rows, 2), _read_numbers("inside", inside, 1)
    n = begun.size
    if matrix.shape[1] != n:
        problem = f"have {matrix.shape[1]} entries and inside has {n}"
        raise InvalidArgument("rows", problem, "as many", matrix.shape)
    if (matrix @ begun < 0).any():
        at = int(np.argmin(matrix @ begun))
        raise InvalidArgument("inside", f"violates row {at}", "a point of the set", begun)
    shares = _read_shares(beyond)
    _check_faces(faces, n)
    steps = st.integers(1, max(n - 2, 1)) if faces is None else st.just(faces)
    way = st.lists(st.integers(-LARGEST_STEP, LARGEST_STEP), min_size=n, max_size=n)
    ways = steps.flatmap(lambda k: st.lists(way, min_size=k, max_size=k))
    return st.builds(
        lambda drawn, share: _walk(matrix, begun, drawn, share), ways, st.sampled_from(shares)
    )


def tied_rewards(
    game: TwoAgentMDP,
    pi1: ArrayLike | None = None,
    *,
    faces: int | None = None,
    beyond: Iterable[Any] = (0,),
) -> st.SearchStrategy[Exact]:
    """Return a strategy for rewards (S,) that tie a follower who has several actions to tie.

    Draws a reward, and walks from it to the boundary of those for which the same answer is optimal:
    there another action becomes optimal, too. A follower without influence is tied anyway. Shrinks
    as `boundary_rewards` does.

    Parameters
    ----------
    pi1 : the commitment (S, A); by default one of ``policies(game)``, which the reward does not
        tell.
    faces, beyond : as in `boundary_rewards`; ``beyond=("1e-12", "-1e-12")`` makes near ties.

    Raises
    ------
    InvalidArgument, InvalidPolicy

    **Cost** a draw is planning in exact numbers, and then that of `boundary_rewards`.

    Examples
    --------
    >>> from random import Random
    >>> from hypothesis import Phase, find, settings
    >>> from iirl_opt import best_responses, random_game
    >>> (game, _), pi1 = random_game(3, 1, 2, rng=0), [[1], [1], [1]]
    >>> one = settings(phases=[Phase.generate])  # the first that comes, not the simplest one
    >>> tied = find(tied_rewards(game, pi1), lambda r: True, settings=one, random=Random(0))
    >>> bool((best_responses(game, tied, pi1).optimal.sum(axis=1) > 1).any())
    True
    """
    check_game(game)
    shares = _read_shares(beyond)
    _check_faces(faces, game.n_states)
    if game.n_states == 1:
        return rewards(game, exact=True)  # where every reward ties
    if pi1 is None:
        commitments = policies(game, exact=True)
    else:
        given = exact_policy(pi1, game.shape[:2], name="leader policy", states=game.states)
        commitments = st.just(given)
    truths = rewards(game, constant=False, exact=True)

    def tied(commitment: Exact, truth: Exact) -> st.SearchStrategy[Exact]:
        rows = _optimality_rows(game, commitment, truth)
        return boundary_rewards(rows, truth, faces=faces, beyond=shares)

    return st.tuples(commitments, truths).flatmap(lambda drawn: tied(*drawn))


def _optimality_rows(game: TwoAgentMDP, pi1: Exact, truth: Exact) -> Exact:
    """Return rows (S·B, S) whose products with a reward are what an optimal answer is ahead by."""
    n_states, _, n_b = game.shape
    choices = exact_optimum(game, truth, pi1).optimal.argmax(axis=1)
    pi2 = as_fractions(np.eye(n_b, dtype=np.int64)[choices])
    kernel = (pi1[:, :, None, None] * exact_kernel(game)).sum(axis=1)  # (S, B, S)
    own = kernel[np.arange(n_states), choices]
    values = np.array(
        [exact_values(game, unit, (pi1, pi2)) for unit in np.eye(n_states, dtype=np.int64)]
    ).T
    ahead = (own[:, None] - kernel).reshape(n_states * n_b, n_states) @ values
    scaled: Exact = game.rational.discount * ahead
    return scaled


def _walk(rows: Exact, begun: Exact, ways: list[list[int]], beyond: Fraction) -> Exact:
    """Walk along the ways until a row is tight, each time within those that are tight already."""
    n = begun.size
    held: list[Exact] = []  # orthogonal directions that the walk may not take
    _hold(held, as_fractions(np.ones(n, dtype=np.int64)))
    _hold(held, begun)
    x, last = begun, 0 * begun
    for way in ways:
        found = _towards_a_row(rows, held, as_fractions(way))
        if found is None and x is begun:  # no row bounds the section
            found = _towards_a_row(rows, held[:1], as_fractions(way))
        if found is None:
            break
        against = rows @ found
        length = min(rows[i] @ x / -against[i] for i in np.flatnonzero(against < 0))
        x, last = x + length * found, (length or 1) * found
        for i in np.flatnonzero(against < 0):
            if rows[i] @ x == 0:
                _hold(held, rows[i])
    reached: Exact = x + beyond * last
    return reached


def _towards_a_row(rows: Exact, held: list[Exact], way: Exact) -> Exact | None:
    """Return a free direction, the way or else a coordinate's, in which some row gets smaller."""
    for direction in (way, *as_fractions(np.eye(way.size, dtype=np.int64))):
        free = _without(held, direction)
        for candidate in (free, as_fractions(-free)):
            if (rows @ candidate < 0).any():
                return candidate
    return None


def _without(held: list[Exact], vector: Exact) -> Exact:
    for other in held:
        vector = vector - (vector @ other) / (other @ other) * other
    return vector


def _hold(held: list[Exact], vector: Exact) -> None:
    rest = _without(held, vector)
    if (rest != 0).any():
        held.append(rest)


def _read_numbers(name: str, numbers: ArrayLike, ndim: int) -> Exact:
    unmasked()(name, numbers)
    try:
        read = as_fractions(numbers)
    except UNREADABLE:
        raise InvalidArgument(name, "has an entry that is no number", "numbers", numbers) from None
    if read.ndim != ndim or read.size == 0:
        shape = "(m, S)" if ndim == 2 else "(S,)"
        raise InvalidArgument(name, f"has shape {read.shape}", shape, read.shape)
    return read


def _check_faces(faces: Any, n: int) -> None:
    most = max(n - 2, 1)
    optional(whole(1, most))("faces", faces)


def _read_shares(beyond: Any) -> list[Fraction]:
    return list(each(EXACT, 1)("beyond", beyond))
