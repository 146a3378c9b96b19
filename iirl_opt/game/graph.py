"""The game as a graph: networkx in and out, and what the graph alone decides.

The graph of a game has a node a state and an edge ``s → s'`` for every pair of actions that leads
there with positive probability; edges carry `leader`, `follower` and `probability`. It is a
`networkx.MultiDiGraph`, because two pairs of actions that lead to the same state are two edges:
the pair is the edge's key, and nothing is summed across pairs.

Split each state from its choices and the graph becomes a network: an edge from s to the choice
(s, a, b), which carries the occupancy μ(s, a, b); from there one to each s', which carries
``γ P(s' | s, a, b) μ(s, a, b)``; and one out of the network, which carries the loss
``(1−γ) μ(s, a, b)``. What enters a state then leaves it, and that is the flow constraint of
`iirl_opt.occupancy.measure`.

Which states can follow which is a matter of the *support*, the transitions of positive
probability. It is read off the exact numbers where a game has them, so that a probability too
small for a float still counts. No question takes more than one graph search in
`scipy.sparse.csgraph`.

**Source** Puterman 1994, appendix A, for classes and closed sets; section 6.9 for the flow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product, starmap
from numbers import Rational as RationalNumber
from numbers import Real
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import breadth_first_order, connected_components

from iirl_opt.checks import FLAG, LABELS, checked, refuse
from iirl_opt.errors import InvalidArgument, InvalidGame, UnknownLabel
from iirl_opt.exact.numbers import as_fraction
from iirl_opt.exact.rows import ExactRows
from iirl_opt.game.kernel import LARGEST
from iirl_opt.game.labels import Labels
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.reward import check_reward

__all__ = [
    "CommunicatingClass",
    "Pruned",
    "absorbing_states",
    "communicating_classes",
    "dead_ends",
    "from_networkx",
    "prune",
    "reachable",
    "to_networkx",
]

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

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


@checked(states=LABELS, leader_actions=LABELS, follower_actions=LABELS, absorbing=FLAG)
def from_networkx(
    graph: nx.MultiDiGraph[Any],
    discount: Any = None,
    *,
    start: Any = None,
    states: Iterable[Any] | None = None,
    leader_actions: Iterable[Any] | None = None,
    follower_actions: Iterable[Any] | None = None,
    absorbing: bool = False,
) -> TwoAgentMDP:
    """Return the game of a graph whose edges carry `leader`, `follower` and `probability`.

    Parameters
    ----------
    graph : nodes are states. A probability is a float, or an integer or Fraction; if all are of
        the latter kind, the game is rational and each row must sum to one exactly. Edge keys and
        further data are not read.
    discount, start : as in `TwoAgentMDP`; by default the graph's attributes of these names, which
        `to_networkx` writes. A graph without `start` starts uniformly.
    states : the order of the nodes; by default the graph's own.
    leader_actions, follower_actions : the order of the actions; by default the graph's attributes
        of these names, or else the order of first appearance among the edges.
    absorbing : whether a state without outgoing edges stays where it is under every pair of
        actions; otherwise it is an error.

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
        _kernel(edges, labels, absorbing),
        graph.graph["discount"] if discount is None else discount,
        graph.graph.get("start") if start is None else start,
        states=labels[0],
        leader_actions=labels[1],
        follower_actions=labels[2],
    )


@checked(game=GAME)
def to_networkx(game: TwoAgentMDP) -> nx.MultiDiGraph[Any]:
    """Return the graph of a game; `from_networkx` gives the same game back.

    Nodes are the states in their order, edges the transitions of positive probability with data
    `leader`, `follower` and `probability` and key ``(leader, follower)``. The graph's attributes
    are `discount`, `start` as ``{state: probability}``, `leader_actions` and `follower_actions`.
    Numbers are Fractions where the game is rational, else floats.

    Raises
    ------
    InvalidArgument
        A state is called None, which networkx cannot hold.

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
    graph: nx.MultiDiGraph[Any] = nx.MultiDiGraph(
        discount=game.exact_discount,
        start={
            state: weight
            for state, weight in zip(game.states, game.exact_start, strict=True)
            if weight > 0
        },
        leader_actions=tuple(game.leader_actions),
        follower_actions=tuple(game.follower_actions),
    )
    graph.add_nodes_from(game.states)
    choices = list(product(game.states, game.leader_actions, game.follower_actions))
    row, column, weight = _transitions(game)
    numbers = weight.tolist()
    if game.is_rational:
        totals = game.rational.rows.denominators[row].tolist()
        numbers = [Fraction(n, total) for n, total in zip(numbers, totals, strict=True)]
    for i, j, probability in zip(row.tolist(), column.tolist(), numbers, strict=True):
        state, leader, follower = choices[i]
        data = dict(zip(EDGE_DATA, (leader, follower, probability), strict=True))
        graph.add_edge(state, game.states[j], (leader, follower), **data)
    return graph


@checked(game=GAME)
def reachable(
    game: TwoAgentMDP, pi1: ArrayLike | None = None, pi2: ArrayLike | None = None
) -> Mask:
    """Return which states can occur, from the states in which the game can start: shape (S,).

    Parameters
    ----------
    pi1, pi2 : policies of shape (S, A) and (S, B); where one is not given, that agent may do
        anything.

    Raises
    ------
    InvalidPolicy

    **Cost** arithmetic: one graph search.
    """
    allowed = np.ones(game.shape, dtype=bool)
    if pi1 is not None:
        allowed &= (game.check_leader_policy(pi1) > 0)[:, :, None]
    if pi2 is not None:
        allowed &= (game.check_follower_policy(pi2) > 0)[:, None, :]
    row, column, _ = _transitions(game)
    used = allowed.ravel()[row]
    start = game.exact_start
    return _search(row[used] // game.n_choices, column[used], np.array([p > 0 for p in start]))


@dataclass(frozen=True, eq=False)
class CommunicatingClass:
    """A largest set of states each of which can follow each other.

    Attributes
    ----------
    members : the numbers of the states, ascending.
    states : their labels.
    closed : whether no pair of actions can lead out.
    """

    members: Integers
    states: tuple[Any, ...]
    closed: bool


@checked(game=GAME)
def communicating_classes(game: TwoAgentMDP) -> list[CommunicatingClass]:
    """Return the classes into which the states fall, ordered by their first members.

    A state that no other communicates with is a class of its own, even if it cannot come back to
    itself. **Cost** arithmetic: one graph search.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], 0.9, states=["hall", "goal"])
    >>> [(group.states, group.closed) for group in communicating_classes(game)]
    [(('hall',), False), (('goal',), True)]
    """
    tail, head = _steps(game)
    graph = _adjacency(tail, head, game.n_states)
    count, label = connected_components(graph, directed=True, connection="strong")
    leaves = np.zeros(count, dtype=bool)
    leaves[label[tail[label[tail] != label[head]]]] = True
    order = np.argsort(label, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(label, minlength=count))[:-1])
    return [
        CommunicatingClass(
            members, tuple(game.states[s] for s in members), not leaves[label[members[0]]]
        )
        for members in sorted(groups, key=lambda members: int(members[0]))
    ]


@checked(game=GAME)
def absorbing_states(game: TwoAgentMDP) -> Mask:
    """Return which states no pair of actions can leave, shape (S,). **Cost** arithmetic."""
    tail, head = _steps(game)
    mask = np.ones(game.n_states, dtype=bool)
    mask[tail[tail != head]] = False
    return mask


@checked(game=GAME)
def dead_ends(game: TwoAgentMDP, reward: ArrayLike) -> Mask:
    """Return the states in which nothing is at stake any more, shape (S,).

    From a dead end every state that any joint policy can reach has the same reward, for every pair
    of actions; a goal that pays for ever is one, too. This definition is the useful one here
    because all policies then have the same value: no commitment matters there, and no response
    there tells anything about the reward. (All policies can agree elsewhere, too, by the
    probabilities; that the graph cannot see.) Rewards are compared exactly.

    Parameters
    ----------
    reward : (S,) or (S, A, B).

    Raises
    ------
    InvalidReward

    **Cost** arithmetic: one graph search.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], 0.9)
    >>> dead_ends(game, [0, 1])
    array([False,  True])
    """
    r = check_reward(game, reward).reshape(game.n_states, -1)
    least, most = r.min(axis=1), r.max(axis=1)
    tail, head = _steps(game)
    # A path between different rewards has a step between different rewards, or a state with two.
    changes = least < most
    changes[tail[least[tail] != least[head]]] = True
    return ~_search(head, tail, changes)


@dataclass(frozen=True, eq=False)
class Pruned:
    """A game without the states that cannot occur, and the way back.

    Attributes
    ----------
    game : the smaller game, of S' states, with the labels and exact numbers of the old one.
    kept : the old numbers of its states, ascending, shape (S',).
    n_states : the number of states of the old game, S.
    """

    game: TwoAgentMDP
    kept: Integers
    n_states: int

    def restrict(self, array: ArrayLike) -> NDArray[Any]:
        """Return an array over the old states, shape (S, …), on those kept: (S', …)."""
        return self._over(array, self.n_states)[self.kept]

    def extend(self, array: ArrayLike, fill: Any) -> NDArray[Any]:
        """Return an array over the states kept, shape (S', …), on all old ones: (S, …).

        Parameters
        ----------
        fill : what stands at the states left out; a number, NaN too, or an array that fits one
            state.
        """
        known = self._over(array, self.kept.size)
        kind = np.result_type(known, np.asarray(fill))
        try:
            full = np.full((self.n_states, *known.shape[1:]), fill, dtype=kind)
        except ValueError:
            raise refuse("fill", fill, f"a number, or an array {known.shape[1:]}") from None
        full[self.kept] = known
        return full

    @staticmethod
    def _over(array: ArrayLike, n_states: int) -> NDArray[Any]:
        known = np.asarray(array)
        if np.ma.is_masked(array) or (known.dtype.kind == "f" and np.isnan(known).any()):
            raise InvalidArgument("array", "holds NaN or masked entries", "neither", array)
        if known.shape[:1] != (n_states,):
            raise InvalidArgument(
                "array", f"has shape {known.shape}", f"({n_states}, …)", known.shape
            )
        return known


@checked(game=GAME)
def prune(game: TwoAgentMDP) -> Pruned:
    """Return the game on the states that can occur at all, whatever the agents do.

    Values, optimal actions and occupancies there are those of the whole game.
    **Cost** arithmetic: one graph search.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0]]], [[[1, 1]]]], 0.9, start=[1, 0], states=["in", "out"])
    >>> pruned = prune(game)
    >>> pruned.game.states
    ('in',)
    >>> pruned.extend([10.0], fill=np.nan)
    array([10., nan])
    """
    mask = reachable(game)
    kept = np.flatnonzero(mask)
    kept.flags.writeable = False
    rows = np.repeat(mask, game.n_choices)
    kernel: Any = game.matrix[rows][:, kept]
    start = np.array([game.exact_start[s] for s in kept], dtype=object)
    if game.is_rational:
        row, column, numerators = _transitions(game)
        inside = rows[row]
        kernel = ExactRows(
            _pointers((np.cumsum(rows) - 1)[row[inside]], int(rows.sum())),
            (np.cumsum(mask) - 1)[column[inside]],
            numerators[inside],
            game.rational.rows.denominators[rows],
            kept.size,
        ).weights()
    smaller = TwoAgentMDP(
        kernel,
        game.exact_discount,
        start,
        states=[game.states[s] for s in kept],
        leader_actions=game.leader_actions,
        follower_actions=game.follower_actions,
    )
    return Pruned(smaller, kept, game.n_states)


def _read_edge(tail: Any, head: Any, data: dict[str, Any]) -> _Edge:
    edge = _Edge(tail, head, *(data.get(name) for name in EDGE_DATA))
    for name in EDGE_DATA:
        if name not in data:
            raise InvalidGame(str(edge), f"has no {name}", f"edges with {', '.join(EDGE_DATA)}")
    probability, is_number = edge.probability, isinstance(edge.probability, Real)
    if not is_number or not probability >= 0:
        allowed = "a float, integer or Fraction ≥ 0"
        raise InvalidGame(str(edge), f"has probability {probability!r}", allowed, probability)
    try:
        hash((edge.leader, edge.follower))
    except TypeError:
        raise InvalidGame(str(edge), "has an unhashable action", "hashable labels") from None
    return edge


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
        given = graph.graph.get(attribute, seen)
    names = Labels(given, f"{agent} action")
    if not names:
        raise InvalidGame(attribute, "are empty", "at least one", 0)
    return names


def _kernel(edges: list[_Edge], labels: tuple[Labels, Labels, Labels], absorbing: bool) -> Any:
    """Return the kernel of edges as `TwoAgentMDP` takes it, or name what is double or missing."""
    states, leaders, followers = labels
    shape = (len(states), len(leaders), len(followers))
    n_rows = math.prod(shape)

    def place(i: int) -> str:
        s, a, b = map(int, np.unravel_index(i, shape))
        return f"P[s={states[s]!r}, a={leaders[a]!r}, b={followers[b]!r}]"

    row, column = _places(edges, labels)
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
    return _weights(_pointers(row, n_rows), column[order], numbers, shape[0], place)


def _places(edges: list[_Edge], labels: tuple[Labels, Labels, Labels]) -> tuple[Integers, Integers]:
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


def _weights(
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
            raise InvalidGame(place(i), f"sums to {whole}", "1 exactly, for Fractions", whole)
        totals[i] = math.lcm(*(p.denominator for p in row))
        numerators[span] = [int(p * totals[i]) for p in row]
    if max(totals) <= LARGEST:
        numerators, totals = numerators.astype(np.int64), totals.astype(np.int64)
    return ExactRows(indptr, column, numerators, totals, n_states).weights()


def _transitions(game: TwoAgentMDP) -> tuple[Integers, Integers, NDArray[Any]]:
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


def _steps(game: TwoAgentMDP) -> tuple[Integers, Integers]:
    """Return the states before and after each transition."""
    row, column, _ = _transitions(game)
    return row // game.n_choices, column


def _pointers(row: Integers, n_rows: int) -> Integers:
    """Return the CSR row pointers of entries that stand in these rows."""
    return np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n_rows))])


def _adjacency(tail: Integers, head: Integers, n: int) -> sp.csr_array:
    return sp.csr_array((np.ones(tail.size), (tail, head)), shape=(n, n))


def _search(tail: Integers, head: Integers, sources: Mask) -> Mask:
    """Return which nodes the edges lead to from any of the sources, these included."""
    n, roots = sources.size, np.flatnonzero(sources)
    # One more node, with an edge to each source, makes it a search from a single place.
    graph = _adjacency(
        np.concatenate([tail, np.full(roots.size, n)]), np.concatenate([head, roots]), n + 1
    )
    found = np.zeros(n + 1, dtype=bool)
    found[breadth_first_order(graph, n, return_predecessors=False)] = True
    return found[:n]
