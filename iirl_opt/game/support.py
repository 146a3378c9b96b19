"""The support of a game: which states its transitions of positive probability lead to.

Which states can follow which is a matter of the support alone. It is read off the exact numbers
where a game has them, so that a probability too small for a float still counts. No question takes
more than one graph search in `scipy.sparse.csgraph`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.game.mdp import TwoAgentMDP

__all__ = ["adjacency", "reached_from", "row_pointers", "steps", "transitions"]

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


def transitions(game: TwoAgentMDP) -> tuple[Integers, Integers, NDArray[Any]]:
    """Return row, next state and weight of all transitions of positive probability, in order.

    A weight is a numerator over the row's denominator where the game is rational, else a float.
    """
    if game.is_rational:
        rows = game.rational.rows
        indptr, column, weight = rows.indptr, rows.indices, rows.numerators
    else:
        csr: Any = sp.csr_array(game.matrix)
        indptr, column, weight = csr.indptr, csr.indices, csr.data
    row = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    positive = np.asarray(weight > 0, dtype=bool)
    return row[positive], column[positive].astype(np.int64), weight[positive]


def steps(game: TwoAgentMDP) -> tuple[Integers, Integers]:
    """Return the states before and after each transition."""
    row, column, _ = transitions(game)
    return row // game.n_choices, column


def row_pointers(row: Integers, n_rows: int) -> Integers:
    """Return the CSR row pointers of entries that stand in these rows."""
    return np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n_rows))])


def adjacency(tail: Integers, head: Integers, n: int) -> sp.csr_array:
    """Return the graph of n nodes that has these edges."""
    return sp.csr_array((np.ones(tail.size), (tail, head)), shape=(n, n))


def reached_from(tail: Integers, head: Integers, sources: Mask) -> Mask:
    """Return which nodes the edges lead to from any of the sources, these included."""
    from scipy.sparse.csgraph import breadth_first_order

    n, roots = sources.size, np.flatnonzero(sources)
    # One more node, with an edge to each source, makes it a search from a single place.
    graph = adjacency(
        np.concatenate([tail, np.full(roots.size, n)]), np.concatenate([head, roots]), n + 1
    )
    found = np.zeros(n + 1, dtype=bool)
    found[breadth_first_order(graph, n, return_predecessors=False)] = True
    return found[:n]
