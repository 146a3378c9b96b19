"""The game as a graph: networkx in and out.

The graph of a game has a node a state and an edge ``s → s'`` for every pair of actions that leads
there with positive probability; edges carry ``leader``, ``follower`` and ``probability``. It is a
`networkx.MultiDiGraph`, because two pairs of actions that lead to the same state are two edges:
the pair is the edge's key, and nothing is summed across pairs.

With ``json=True`` a graph holds nothing that JSON does not: then it is the same graph after
`networkx.node_link_data`, JSON and `networkx.node_link_graph`. Exact numbers are texts, the start
stands with the nodes, whose names as keys of a mapping would become texts, and edges have numbers
as keys, since the reader takes no others.

Split each state from its choices and the graph becomes a network: an edge from s to the choice
(s, a, b), which carries the occupancy μ(s, a, b); from there one to each s', which carries
``γ P(s' | s, a, b) μ(s, a, b)``; and one out of the network, which carries the loss
``(1−γ) μ(s, a, b)``. What enters a state then leaves it, and that is the flow constraint of
`iirl_opt.occupancy.measure`.

**Source** Puterman 1994, section 6.9, for the flow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product, starmap
from json import dumps, loads
from numbers import Rational as RationalNumber, Real
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.checks import FLAG, LABELS, checked, shown
from iirl_opt.errors import InvalidArgument, InvalidGame, UnknownLabel
from iirl_opt.exact.numbers import UNREADABLE, as_fraction
from iirl_opt.exact.rows import ExactRows
from iirl_opt.game.entries import RowBlocks
from iirl_opt.game.kernel import LARGEST
from iirl_opt.game.labels import Labels
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.support import row_pointers, transitions

__all__ = ["as_label", "from_networkx", "to_networkx"]

Integers = NDArray[np.int64]

EDGE_DATA = ("leader", "follower", "probability")


class _Edge(NamedTuple):
    tail: Any
    head: Any
    leader: Any
    follower: Any
    probability: Any

    def __str__(self) -> str:
        pair = f"leader={self.leader!r}, follower={self.follower!r}"
        return f"edge {self.tail!r} → {self.head!r} ({pair})"


@checked(
    states=LABELS, leader_actions=LABELS, follower_actions=LABELS, absorbing=FLAG, normalise=FLAG
)
def from_networkx(
    graph: nx.MultiDiGraph[Any],
    discount: Any = None,
    *,
    start: Any = None,
    states: Iterable[Any] | None = None,
    leader_actions: Iterable[Any] | None = None,
    follower_actions: Iterable[Any] | None = None,
    absorbing: bool = False,
    normalise: bool = False,
) -> TwoAgentMDP:
    """Return the game of a graph whose edges carry ``leader``, ``follower`` and ``probability``.

    Parameters
    ----------
    graph : nodes are states. A probability is a float, or exact: an integer, Fraction or Decimal,
        or a text such as "1/3". If all are exact, the game is rational and each row must sum to
        one exactly. Edge keys and further data are not read. Labels that are lists, as JSON makes
        of tuples, are tuples again.
    discount, start : as in `TwoAgentMDP`; by default the graph's attributes of these names, which
        `to_networkx` writes, or, of the start, those of the nodes. A graph without ``start`` starts
        uniformly.
    states : the order of the nodes; by default the graph's own.
    leader_actions, follower_actions : the order of the actions; by default the graph's attributes
        of these names, or else the order of first appearance among the edges.
    absorbing : whether a state without outgoing edges stays where it is under every pair of
        actions; otherwise it is an error.
    normalise : as in `TwoAgentMDP`, for floats.

    Raises
    ------
    InvalidArgument
        The graph is no MultiDiGraph; there is no discount.
    InvalidGame
        Names what it refuses: an edge that is given twice or lacks data, a state without edges, a
        pair of actions without an edge, a row that does not sum to one.
    UnknownLabel
        A state or action that is not in the order given.

    **Cost** arithmetic, linear in the edges.

    Examples
    --------
    >>> graph = nx.MultiDiGraph()
    >>> _ = graph.add_edge("hall", "goal", leader="open", follower="go", probability=0.75)
    >>> _ = graph.add_edge("hall", "hall", leader="open", follower="go", probability=0.25)
    >>> _ = graph.add_edge("hall", "hall", leader="shut", follower="go", probability=1)
    >>> game = from_networkx(graph, discount=0.9, absorbing=True)
    >>> game.kernel[0, :, 0]
    array([[0.25, 0.75],
           [1.  , 0.  ]])
    """
    if not isinstance(graph, nx.MultiDiGraph):
        raise InvalidArgument(
            "graph",
            f"is a {type(graph).__name__}",
            "a networkx.MultiDiGraph, in which edges of different actions stay apart",
            graph,
        )
    if discount is None and "discount" not in graph.graph:
        problem = "is not given, and the graph has no attribute of this name"
        raise InvalidArgument("discount", problem, "0 ≤ γ < 1")
    edges = [_read_edge(*edge) for edge in graph.edges(data=True)]
    labels = (
        _state_order(graph, states),
        _action_order(graph, "leader", leader_actions, edges),
        _action_order(graph, "follower", follower_actions, edges),
    )
    return TwoAgentMDP(
        _kernel_of_edges(edges, labels, absorbing),
        graph.graph["discount"] if discount is None else discount,
        _start_of(graph) if start is None else start,
        states=labels[0],
        leader_actions=labels[1],
        follower_actions=labels[2],
        normalise=normalise,
    )


def _start_of(graph: nx.MultiDiGraph[Any]) -> Any:
    """Return the start that a graph states, or None."""
    of_nodes = {node: data["start"] for node, data in graph.nodes(data=True) if "start" in data}
    return graph.graph.get("start", of_nodes or None)


@checked(game=GAME, json=FLAG)
def to_networkx(game: TwoAgentMDP, *, json: bool = False) -> nx.MultiDiGraph[Any]:
    """Return the graph of a game; `from_networkx` gives the same game back.

    Nodes are the states in their order, edges the transitions of positive probability with data
    ``leader``, ``follower`` and ``probability`` and key ``(leader, follower)``. The graph's
    attributes are ``discount``, ``start`` as ``{state: probability}``, ``leader_actions`` and
    ``follower_actions``. Numbers are Fractions where the game is rational, else floats.

    Parameters
    ----------
    json : whether JSON shall hold the graph: ``json.dumps(nx.node_link_data(graph))``. Then exact
        numbers are texts, the start is the nodes' attribute ``start``, and an edge's key is the
        number of its pair, ``a·B + b``.

    Raises
    ------
    InvalidArgument
        A state is called None, which networkx cannot hold; or, for JSON, a label is no text,
        number, bool or tuple of those, or a state a tuple within a tuple.

    **Cost** arithmetic, linear in the transitions.

    Examples
    --------
    >>> graph = to_networkx(TwoAgentMDP([[[[1, 1]], [[0, 1]]], [[[0, 1]], [[0, 1]]]], "9/10"))
    >>> graph.edges[0, 1, (0, 0)]
    {'leader': 0, 'follower': 0, 'probability': Fraction(1, 2)}
    >>> from_networkx(graph).kernel[0, 0, 0]
    array([0.5, 0.5])
    """
    if None in game.states:
        raise InvalidArgument("states", "contain None", "any other label, for networkx", None)
    if json:
        _check_json(game)
    start = {s: p for s, p in zip(game.states, game.exact_start, strict=True) if p > 0}
    graph: nx.MultiDiGraph[Any] = nx.MultiDiGraph(
        discount=str(game.exact_discount) if json else game.exact_discount,
        leader_actions=tuple(game.leader_actions),
        follower_actions=tuple(game.follower_actions),
    )
    graph.add_nodes_from(game.states)
    if not json:
        graph.graph["start"] = start
    else:
        nx.set_node_attributes(graph, {s: str(p) for s, p in start.items()}, "start")
    choices = list(product(game.states, game.leader_actions, game.follower_actions))
    row, column, weight = transitions(game)
    numbers = weight.tolist()
    if game.is_rational:
        totals = game.rational.rows.denominators[row].tolist()
        numbers = [Fraction(n, total) for n, total in zip(numbers, totals, strict=True)]
        numbers = list(map(str, numbers)) if json else numbers
    for i, j, probability in zip(row.tolist(), column.tolist(), numbers, strict=True):
        state, leader, follower = choices[i]
        data = dict(zip(EDGE_DATA, (leader, follower, probability), strict=True))
        key = i % game.n_choices if json else (leader, follower)
        graph.add_edge(state, game.states[j], key, **data)
    return graph


def _check_json(game: TwoAgentMDP) -> None:
    """Refuse labels that networkx's reader does not make again of what JSON holds of them."""
    for name in ("states", "leader_actions", "follower_actions"):
        for label in getattr(game, name):
            try:
                again = as_label(loads(dumps(label, allow_nan=False)))
            except (TypeError, ValueError):
                again = None
            nested = name == "states" and type(label) is tuple and tuple in map(type, label)
            if again != label or nested:
                allowed = "text, numbers and tuples of those, for JSON"
                raise InvalidArgument(name, f"contain {label!r}", allowed, label)


def as_label(label: Any) -> Any:
    """Return a label with the lists that JSON makes of tuples as tuples."""
    return tuple(map(as_label, label)) if isinstance(label, list | tuple) else label


def _read_edge(tail: Any, head: Any, data: dict[str, Any]) -> _Edge:
    leader, follower, probability = (data.get(name) for name in EDGE_DATA)
    edge = _Edge(tail, head, as_label(leader), as_label(follower), probability)
    for name in EDGE_DATA:
        if name not in data:
            raise InvalidGame(str(edge), f"has no {name}", f"edges with {', '.join(EDGE_DATA)}")
    number: Any = probability
    if isinstance(probability, str | Decimal):
        with suppress(*UNREADABLE):
            number = as_fraction(probability)
    fits = isinstance(number, Real) and number >= 0  # type: ignore[operator]
    if not fits or LARGEST < number < math.inf:
        allowed = 'a float, integer, Fraction or text such as "1/3", 0 ≤ p ≤ 1'
        raise InvalidGame(str(edge), f"has probability {shown(probability)}", allowed, probability)
    try:
        hash((edge.leader, edge.follower))
    except TypeError:
        raise InvalidGame(str(edge), "has an unhashable action", "hashable labels") from None
    return edge._replace(probability=number)


def _state_order(graph: nx.MultiDiGraph[Any], given: Iterable[Any] | None) -> Labels:
    names = Labels(graph.nodes if given is None else given, "state")
    for name in names:
        if name not in graph:
            raise UnknownLabel("state", name, tuple(graph.nodes))
    known = set(names)
    for node in graph:
        if node not in known:
            raise InvalidGame(f"state {node!r}", "is not in the order given", "all nodes", node)
    if not names:
        raise InvalidGame("states", "are empty", "at least one", 0)
    return names


def _action_order(
    graph: nx.MultiDiGraph[Any], agent: str, given: Iterable[Any] | None, edges: list[_Edge]
) -> Labels:
    attribute = f"{agent}_actions"
    if given is None:
        seen = dict.fromkeys(getattr(edge, agent) for edge in edges)
        given = map(as_label, LABELS(attribute, graph.graph.get(attribute, seen)))
    names = Labels(given, f"{agent} action")
    if not names:
        raise InvalidGame(attribute, "are empty", "at least one", 0)
    return names


def _kernel_of_edges(
    edges: list[_Edge], labels: tuple[Labels, Labels, Labels], absorbing: bool
) -> Any:
    """Return the kernel of edges as `TwoAgentMDP` takes it, or name what is double or missing."""
    states, leaders, followers = labels
    shape = (len(states), len(leaders), len(followers))
    n_rows = math.prod(shape)

    def place(i: int) -> str:
        s, a, b = map(int, np.unravel_index(i, shape))
        return f"P[s={states[s]!r}, a={leaders[a]!r}, b={followers[b]!r}]"

    row, column = _edge_places(edges, labels)
    numbers: list[Any] = [e.probability for e in edges]
    bare = (np.bincount(row, minlength=n_rows) == 0).reshape(shape[0], -1)
    ending = np.flatnonzero(bare.all(axis=1))
    if absorbing:
        stay = np.arange(n_rows).reshape(bare.shape)[ending]
        row = np.concatenate([row, stay.ravel()])
        column = np.concatenate([column, np.repeat(ending, stay.shape[1])])
        numbers += [1] * stay.size
        bare[ending] = False
    elif ending.size:
        allowed = "edges for every pair of actions, or absorbing=True"
        problem = f"has no outgoing edges{_among(ending)}"
        raise InvalidGame(f"state {states[ending[0]]!r}", problem, allowed)
    if bare.any():
        missing = np.flatnonzero(bare)
        problem = f"has no edge{_among(missing)}"
        raise InvalidGame(place(missing[0]), problem, "edges for every pair of actions")
    order = np.argsort(row * shape[0] + column)
    numbers = [numbers[i] for i in order]
    return _row_weights(row_pointers(row, n_rows), column[order], numbers, shape[0], place)


def _edge_places(
    edges: list[_Edge], labels: tuple[Labels, Labels, Labels]
) -> tuple[Integers, Integers]:
    """Return the row and the column of each edge in the kernel, none twice."""
    states, leaders, followers = labels
    at = np.array(
        [
            (
                states.index(edge.tail),
                leaders.index(edge.leader),
                followers.index(edge.follower),
                states.index(edge.head),
            )
            for edge in edges
        ],
        dtype=np.int64,
    ).reshape(-1, 4)
    first = np.unique(at, axis=0, return_index=True)[1]
    if first.size < len(edges):
        double = np.setdiff1d(np.arange(len(edges)), first)[0]
        raise InvalidGame(str(edges[double]), "is given twice", "one such edge")
    row = (at[:, 0] * len(leaders) + at[:, 1]) * len(followers) + at[:, 2]
    return row, at[:, 3]


def _among(places: Integers) -> str:
    return f" (nor have {places.size - 1} more)" if places.size > 1 else ""


def _row_weights(
    indptr: Integers,
    column: Integers,
    numbers: list[Any],
    n_states: int,
    place: Callable[[int], str],
) -> Any:
    """Return the rows as floats, or as exact weights where every number is rational."""
    n_rows = indptr.size - 1
    if not all(isinstance(p, RationalNumber) for p in numbers):
        floats = np.array([float(p) for p in numbers])
        return sp.csr_array((floats, column, indptr), shape=(n_rows, n_states))
    numerators = np.empty(len(numbers), dtype=object)
    totals = np.empty(n_rows, dtype=object)
    for i, span in enumerate(starmap(slice, pairwise(indptr.tolist()))):
        row = [as_fraction(p) for p in numbers[span]]
        whole = sum(row, Fraction(0))
        if whole != 1:
            said = whole if whole.denominator <= LARGEST else float(whole)
            raise InvalidGame(place(i), f"sums to {said}", "1 exactly, for Fractions", whole)
        totals[i] = math.lcm(*(p.denominator for p in row))
        numerators[span] = [int(p * totals[i]) for p in row]
    if max(totals) <= LARGEST:
        numerators, totals = numerators.astype(np.int64), totals.astype(np.int64)
    return RowBlocks.of(ExactRows(indptr, column, numerators, totals, n_states))
