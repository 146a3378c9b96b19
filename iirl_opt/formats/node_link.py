"""Graphs in files: networkx's node-link JSON, which its own reader reads.

A file is what ``networkx.node_link_data`` makes of ``to_networkx(game, json=True)``, in JSON: nodes
are states, edges transitions with `leader`, `follower` and `probability`, exact numbers texts. What
came along with a game is data of nodes and edges, by the names that tables have:

* ``reward`` or ``reward:NAME``: of a node, a state reward; of an edge, what the transition is
  worth, averaged when it is read;
* ``label:NAME``: true at the nodes of a set of states; the graph's ``labels`` are their names;
* ``available``: false on edges that stand in for a choice that the source lacks; so the graph is
  one of the whole game;
* ``source``: of the graph, in words.

Edges may stand under ``edges``, as networkx writes them since 3.6, or ``links``, as before.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.checks import FLAG, PATH, checked, shown
from iirl_opt.errors import (
    FileProblem,
    InvalidArgument,
    InvalidGame,
    InvalidReward,
    UnknownLabel,
)
from iirl_opt.files import read_text, write_text
from iirl_opt.formats.choices import expected
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.game.graph import as_label, from_networkx, to_networkx
from iirl_opt.game.mdp import TwoAgentMDP

__all__ = ["read_node_link", "write_node_link"]

Array = NDArray[np.float64]

MOST_BYTES = 2**30


@checked(path=PATH)
def write_node_link(problem: ImportedGame | TwoAgentMDP, path: str | Path) -> None:
    """Write a game as node-link JSON, whole or not at all.

    ``networkx.node_link_graph`` reads the file, and `from_networkx` of that is the game.

    Raises
    ------
    InvalidArgument
        A label is no text, number, bool or tuple of those; or a state is a tuple within a tuple,
        which networkx's reader does not know, or None.
    OSError
        The folder is not there or cannot be written to.

    **Cost** arithmetic, linear in the transitions.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import iirl_opt as iirl
    >>> game = iirl.TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], "1/2", states=["hall", "goal"])
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "game.json")
    ...     write_node_link(game, path)
    ...     document = json.loads(path.read_text())
    >>> [(edge["source"], edge["target"]) for edge in document["edges"]]
    [('hall', 'hall'), ('hall', 'goal'), ('goal', 'goal')]
    """
    given = ImportedGame.of(problem)
    graph = to_networkx(given.game, json=True)
    graph.graph |= {"source": given.source} if given.source else {}
    graph.graph |= {"labels": list(given.labels)} if given.labels else {}
    keys = {name: name if name == "reward" else f"reward:{name}" for name in given.rewards}
    of_states = {keys[name]: r for name, r in given.rewards.items() if r.ndim == 1}
    of_choices = {keys[name]: r for name, r in given.rewards.items() if r.ndim == 3}
    place = {state: s for s, state in enumerate(given.game.states)}
    for state, data in graph.nodes(data=True):
        s = place[state]
        data |= {key: float(r[s]) for key, r in of_states.items()}
        data |= {f"label:{name}": True for name, marks in given.labels.items() if marks[s]}
    for tail, _, choice, data in graph.edges(keys=True, data=True):
        at = (place[tail], *divmod(choice, given.game.n_follower_actions))
        data |= {key: float(r[at]) for key, r in of_choices.items()}
        if given.available is not None and not given.available[at]:
            data["available"] = False
    nodes = [{**data, "id": node} for node, data in graph.nodes(data=True)]
    edges = [
        {**data, "source": tail, "target": head, "key": key}
        for tail, head, key, data in graph.edges(keys=True, data=True)
    ]
    document = {"directed": True, "multigraph": True, "graph": graph.graph, "nodes": nodes}
    write_text(path, json.dumps(document | {"edges": edges}, allow_nan=False) + "\n")


@checked(path=PATH, normalise=FLAG)
def read_node_link(
    path: str | Path, discount: Any = None, *, normalise: bool = False
) -> ImportedGame:
    """Read the game of a node-link JSON file, whoever wrote it.

    Parameters
    ----------
    discount : 0 ≤ γ < 1, used in place of the graph's; needed where it has none.
    normalise : as in `TwoAgentMDP`, for floats.

    Raises
    ------
    FileProblem
        It is no JSON, no node-link data, or not those of a game: names the node or the edge.
    InvalidArgument
        There is no discount.
    OSError
        There is no such file, or it cannot be opened.

    **Cost** arithmetic, linear in the edges.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import iirl_opt as iirl
    >>> game = iirl.TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], "1/2", states=["hall", "goal"])
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "game.json")
    ...     write_node_link(ImportedGame(game, {"reward": [0.0, 1.0]}), path)
    ...     found = read_node_link(path, discount="9/10")
    >>> found.game, found.reward()
    (TwoAgentMDP(2 states, 1×1 actions, discount=0.9, 3 transitions, rational), array([0., 1.]))
    """
    path = Path(path)
    try:
        document = json.loads(read_text(path, MOST_BYTES), parse_constant=_refuse)
    except (ValueError, RecursionError) as problem:  # UnicodeDecodeError, JSONDecodeError
        if isinstance(problem, FileProblem):
            raise
        raise FileProblem(path, f"is no JSON ({problem})") from problem
    graph = _graph(path, document)
    try:
        game = from_networkx(graph, discount, normalise=normalise)
        rewards, labels = _read_rewards(game, graph), _marks(graph)
        return ImportedGame(game, rewards, labels, _available(game, graph), _source(graph))
    except (InvalidArgument, InvalidGame, InvalidReward, UnknownLabel) as problem:
        missing = isinstance(problem, InvalidArgument) or discount is not None
        if getattr(problem, "place", None) == "discount" and missing:
            raise
        raise FileProblem(path, str(problem)) from problem


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON's")


def _graph(path: Path, document: Any) -> Any:
    """Return the graph of node-link data."""
    graph: Any = nx.MultiDiGraph()
    edges_key = "edges" if isinstance(document, dict) and "edges" in document else "links"
    try:
        if document["directed"] is not True:
            said = f"is a graph without directions; allowed true, not {document['directed']!r}"
            raise FileProblem(path, said, "directed")
        graph.graph.update(document.get("graph", {}))
        for data in document["nodes"]:
            node = as_label(data["id"])
            if node in graph:
                problem = f"a node is called {node!r}, as one before: one state to Python"
                raise FileProblem(path, problem, "nodes")
            graph.add_node(node, **_data_without(data, "id"))
        for data in document[edges_key]:
            tail, head = as_label(data["source"]), as_label(data["target"])
            for end in (tail, head):
                if end not in graph:
                    problem = f"an edge leads from or to {end!r}, which is no node"
                    raise FileProblem(path, problem, edges_key)
            graph.add_edge(tail, head, **_data_without(data, "source", "target", "key"))
    except KeyError as problem:
        raise FileProblem(path, f"is no node-link data: it has no {problem}") from None
    except (TypeError, ValueError, AttributeError, nx.NetworkXException) as problem:
        if isinstance(problem, FileProblem):
            raise
        raise FileProblem(path, f"is no node-link data ({problem})") from problem
    return graph


def _data_without(data: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in names}


def _read_rewards(game: TwoAgentMDP, graph: Any) -> dict[str, Array]:
    """Return the rewards of nodes, and those of edges, averaged over the next state."""
    nodes, edges = list(graph.nodes(data=True)), list(graph.edges(data=True))
    of_nodes = dict.fromkeys(key for _, data in nodes for key in data if _is_reward(key))
    of_edges = dict.fromkeys(key for *_, data in edges for key in data if _is_reward(key))
    both = of_nodes.keys() & of_edges.keys()
    if both:
        raise InvalidReward(min(both), "is one of nodes and of edges", "one of the two")
    if {"reward", "reward:reward"} <= of_nodes.keys() | of_edges.keys():
        raise InvalidReward("reward", "is called reward:reward as well", "one of the two")
    found = {}
    for key in of_nodes:
        worth = {node: _number(f"node {node!r}", key, data.get(key)) for node, data in nodes}
        found[key.removeprefix("reward:")] = np.array([worth[state] for state in game.states])
    if of_edges:
        rows = _choices(game, edges)
        columns = [game.states.index(head) for _, head, _ in edges]
        kernel: Any = sp.csr_array(game.matrix)
        at = np.repeat(np.arange(kernel.shape[0]), np.diff(kernel.indptr)), kernel.indices
    for key in of_edges:
        numbers = [
            _number(f"edge {tail!r} → {head!r}", key, data.get(key)) for tail, head, data in edges
        ]
        table: Any = sp.csr_array((numbers, (rows, columns)), shape=kernel.shape)
        found[key.removeprefix("reward:")] = expected(game, np.asarray(table[at]).ravel())
    return found


def _is_reward(key: str) -> bool:
    return key == "reward" or key.startswith("reward:")


def _number(place: str, key: str, value: Any) -> float:
    """Return a finite number."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            number = float(value)
            if math.isfinite(number):
                return number
    except OverflowError:
        pass
    raise InvalidReward(place, f"has {key} {shown(value)}", "a finite number", value)


def _choices(game: TwoAgentMDP, edges: list[Any]) -> NDArray[np.int64]:
    """Return the rows of edges in the kernel."""
    leaders, followers = game.action_labels
    at = [
        (
            game.states.index(tail),
            leaders.index(as_label(data["leader"])),
            followers.index(as_label(data["follower"])),
        )
        for tail, _, data in edges
    ]
    rows = np.ravel_multi_index(tuple(np.array(at).T), game.shape)
    return np.asarray(rows, dtype=np.int64)


def _available(game: TwoAgentMDP, graph: Any) -> NDArray[np.bool_] | None:
    """Return which choices the source has, or None if it has all."""
    edges = [edge for edge in graph.edges(data=True) if edge[2].get("available") is False]
    if not edges:
        return None
    available = np.ones(game.n_states * game.n_choices, dtype=bool)
    available[_choices(game, edges)] = False
    return available.reshape(game.shape)


def _marks(graph: Any) -> dict[str, NDArray[np.bool_]]:
    """Return the sets of states."""
    said = graph.graph.get("labels", [])
    names = dict.fromkeys(name for name in said if isinstance(name, str))
    for _, data in graph.nodes(data=True):
        keys = (key for key, value in data.items() if value is True)
        names |= dict.fromkeys(key[6:] for key in keys if key.startswith("label:"))
    return {
        name: np.array([data.get(f"label:{name}") is True for _, data in graph.nodes(data=True)])
        for name in names
    }


def _source(graph: Any) -> str:
    source = graph.graph.get("source", "")
    return source if isinstance(source, str) else ""
