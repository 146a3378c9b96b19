"""Moves on a grid: the cells beside each, the layers that prizes leave, the weights of all rows.

Where prizes vanish, a state is a cell in a *layer*: the set of prizes that are left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from iirl_opt.errors import InvalidArgument
from iirl_opt.game.entries import BLOCK, Part, RowBlocks
from iirl_opt.game.grid_text import DIRECTIONS

__all__ = ["following_layers", "neighbours_of", "prize_layers", "row_weights"]

Integers = NDArray[np.int64]

STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))
MOST_VANISHING = 12


def prize_layers(prizes: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Return which prizes each layer still holds, shape (2^k, k): fewest gone first."""
    k = prizes.size
    names, counts = np.unique(prizes, return_counts=True)
    if (counts > 1).any():
        name = str(names[np.argmax(counts > 1)])
        allowed = "one cell a character, for prizes that vanish"
        raise InvalidArgument(f"prize {name!r}", "stands in several cells", allowed, name)
    if k > MOST_VANISHING:
        raise InvalidArgument("prizes", f"that vanish are {k}", f"at most {MOST_VANISHING}", k)
    gone = [subset for size in range(k + 1) for subset in combinations(range(k), size)]
    left = np.ones((len(gone), k), dtype=bool)
    for layer, subset in enumerate(gone):
        left[layer, list(subset)] = False
    return left


def following_layers(left: NDArray[np.bool_], prizes: Integers, n_cells: int) -> Integers:
    """Return the layer that a step from each cell of each layer leads into, shape (L, n)."""
    code = left @ (1 << np.arange(prizes.size))
    layer_of = np.argsort(code)
    following = np.repeat(np.arange(len(left))[:, None], n_cells, axis=1)
    for j, cell in enumerate(prizes):
        following[:, cell] = layer_of[code & ~(1 << j)]
    return following


def neighbours_of(cells: Integers, free: NDArray[np.bool_]) -> Integers:
    """Return the cell N, E, S and W of each, itself where none can be entered, shape (4, n)."""
    index = np.full((free.shape[0] + 2, free.shape[1] + 2), -1)
    index[tuple(cells.T + 1)] = np.where(free[tuple(cells.T)], np.arange(len(cells)), -1)
    beside = np.stack([index[tuple(cells.T + 1 + np.array(step)[:, None])] for step in STEPS])
    return np.where(beside >= 0, beside, np.arange(len(cells)))


def row_weights(
    neighbours: Integers, opened: Sequence[str], slip: Fraction, following: Integers
) -> RowBlocks:
    """Return the integer weights of all rows, 4 · (denominator of the slip) in each."""
    n_layers, n = following.shape
    n_rows = n_layers * n * len(opened) * len(DIRECTIONS)
    return RowBlocks((n_rows, n_layers * n), _row_parts(neighbours, opened, slip, following))


def _row_parts(
    neighbours: Integers, opened: Sequence[str], slip: Fraction, following: Integers
) -> Iterator[Part]:
    """Return the rows of some cells of a layer at a time."""
    open_ = np.array([[d in names for d in DIRECTIONS] for names in opened])
    p, q = slip.numerator, slip.denominator
    weights = np.array([4 * (q - p), p, p, p, p])
    n = following.shape[1]
    step = max(1, BLOCK // (open_.size * weights.size))
    for layer in following:
        for cells in np.split(np.arange(n), range(step, n, step)):
            beside = neighbours.T[cells, None, :]
            move = np.where(open_, beside, cells[:, None, None])
            slipped = np.broadcast_to(beside[..., None, :], (*move.shape, 4))
            targets = np.concatenate([move[..., None], slipped], axis=-1)[..., weights > 0]
            columns = layer[cells, None, None, None] * n + targets
            n_rows = move.size
            indptr = np.arange(n_rows + 1) * targets.shape[-1]
            yield indptr, columns.ravel(), np.tile(weights[weights > 0], n_rows)
