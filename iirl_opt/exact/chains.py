"""Exact solutions of ``V = r + γ P V``, a strongly connected class of states at a time.

States that lead to each other are solved for together, after the classes that they lead to: so the
numbers of a state depend on nothing that it never reaches, absorbing states cost nothing, and the
systems are as small as the chain allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.exact.linear import solve
from iirl_opt.exact.numbers import Vector
from iirl_opt.exact.rows import ExactRows

__all__ = ["discounted_sums", "largest_class"]


def discounted_sums(
    rows: ExactRows, discount: Fraction, reward: Vector, wanted: NDArray[Any] | None = None
) -> Vector:
    """Return the solution of ``V = r + γ P V`` in Fractions.

    Parameters
    ----------
    rows : the chain P, (S, S), stochastic.
    reward : r, (S,).
    wanted : states whose values are asked for; what these do not reach stays zero. All by default.

    Raises
    ------
    NotExact
        A class has more than 40 states and python-flint is not installed.

    **Cost** an exact linear system for each class of states that lead to each other.
    """
    values = np.full(len(reward), Fraction(0), dtype=object)
    for states in _classes(rows, wanted):
        own = rows.take(states)
        inside = np.zeros(len(reward), dtype=bool)
        inside[states] = True
        known = reward[states] + discount * own.times(values)
        if len(states) == 1:
            stay = own.row(0).get(int(states[0]), Fraction(0))
            values[states] = known / (1 - discount * stay)
            continue
        place = np.cumsum(inside) - 1
        system = np.full((len(states), len(states)), Fraction(0), dtype=object)
        for i in range(len(states)):
            for j, p in own.row(i).items():
                if inside[j]:
                    system[i, place[j]] = -discount * p
            system[i, i] += 1
        found = solve(system, known)
        assert found is not None  # I − γP is regular
        values[states] = found
    return values


def largest_class(rows: ExactRows, wanted: NDArray[Any] | None = None) -> int:
    """Return how many states the largest class has that `discounted_sums` would solve for."""
    return max(map(len, _classes(rows, wanted)), default=0)


def _classes(rows: ExactRows, wanted: NDArray[Any] | None) -> Iterator[NDArray[np.int64]]:
    """Yield the classes that the wanted states reach, each after those that it leads to."""
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    n = len(rows.denominators)
    tail = np.repeat(np.arange(n), np.diff(rows.indptr))
    positive = np.array(rows.numerators != 0, dtype=bool)
    tail, head = tail[positive], rows.indices[positive]
    graph = sp.csr_array((np.ones(tail.size), (tail, head)), shape=(n, n))
    count, label = connected_components(graph, directed=True, connection="strong")
    across = label[tail] != label[head]
    above, below = label[tail[across]], label[head[across]]
    roots = np.arange(count) if wanted is None else np.unique(label[np.asarray(wanted)])
    # One more node leads to all roots; depth first, a class is done after those below it.
    edges = sp.csr_array(
        (
            np.ones(above.size + roots.size),
            (np.append(above, np.full(roots.size, count)), np.append(below, roots)),
        ),
        shape=(count + 1, count + 1),
    )
    reached = breadth_first_order(edges, count, return_predecessors=False)
    members = np.argsort(label, kind="stable")
    ends = np.cumsum(np.bincount(label, minlength=count))
    for c in _last_first(edges, reached[reached != count]):
        yield members[ends[c - 1] if c else 0 : ends[c]].astype(np.int64)


def _last_first(edges: Any, nodes: NDArray[Any]) -> Iterator[int]:
    """Yield the nodes of an acyclic graph, each after all that it leads to."""
    done: set[int] = set()
    for root in nodes.tolist():
        stack = [(root, False)]
        while stack:
            node, open_ = stack.pop()
            if node in done:
                continue
            if open_:
                done.add(node)
                yield node
                continue
            stack.append((node, True))
            stack += [
                (int(k), False)
                for k in edges.indices[edges.indptr[node] : edges.indptr[node + 1]]
                if int(k) not in done
            ]
