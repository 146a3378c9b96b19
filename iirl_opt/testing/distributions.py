"""How strategies draw distributions and arrays: one value for everything, and some exceptions.

Each exception has its place: hypothesis can drop those that do not matter and renumber a state
wherever it occurs, and so gets down to few states. A distribution is drawn as the list of its
outcomes, each counted as often as it occurs.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from hypothesis import given, stateful, strategies as st
from numpy.typing import NDArray

__all__ = ["distributions", "exceptions", "given", "st", "stateful", "up_to"]

Integers = NDArray[np.int64]


@st.composite
def distributions(
    draw: st.DrawFn, shape: tuple[int, ...], width: int, least: int, most: int
) -> Integers:
    """Draw `shape` rows of `width` weights, whole numbers ≥ 0 that sum to `least` … `most`."""
    weights = np.zeros((*shape, width), dtype=np.int64)

    def row() -> Integers:
        outcomes = [draw(up_to(width - 1)) for _ in range(least + draw(up_to(most - least)))]
        return np.bincount(np.array(outcomes, dtype=np.int64), minlength=width)

    weights[:] = row()
    for _ in range(draw(exceptions(math.prod(shape)))):
        weights[tuple(draw(up_to(size - 1)) for size in shape)] = row()
    return weights


def exceptions(size: int) -> st.SearchStrategy[int]:
    """Return how many exceptions to draw in an array: enough to reach most of its entries."""
    return up_to(2 * size if size > 1 else 0)


@cache  # making a strategy takes hypothesis longer than drawing from it
def up_to(most: int) -> st.SearchStrategy[int]:
    return st.integers(0, most)
