"""Node-link JSON: networkx's own reader reads it, and the game is the same."""

import json

import networkx as nx
import numpy as np
import pytest
from doors import same
from hypothesis import given, strategies as st

import iirl_opt as iirl
from iirl_opt.errors import FileProblem, InvalidArgument, InvalidGame
from iirl_opt.formats import ImportedGame, read_file, read_node_link, write_node_link
from iirl_opt.testing import games

pytestmark = pytest.mark.oracle

LABELS = {
    "integers": lambda i: i - 1,
    "digits": str,
    "floats": lambda i: i / 2,
    "tuples": lambda i: (i, "x"),
    "bools and beyond": lambda i: (False, True, 2**80, -1.5)[i],
    "any text": lambda i: ["", 'ü\n"', "\x00", "source"][i],
}
NESTED = {"nested tuples": lambda i: ((i, ("a",)), i), "with none": lambda i: None if i else "go"}


@st.composite
def problems(draw):
    """Small games in every kind of number and label, with all that comes along with a game."""
    game = draw(games())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kernel = game.rational.rows.dense().reshape(*game.shape, -1)
    if draw(st.booleans()):
        kernel = rng.dirichlet(np.ones(game.n_states), game.shape)
    names = [LABELS[draw(st.sampled_from([*LABELS]))]]
    names += [(LABELS | NESTED)[draw(st.sampled_from([*LABELS, *NESTED]))] for _ in range(2)]
    states, leaders, followers = (
        [name(i) for i in range(n)] for name, n in zip(names, game.shape, strict=True)
    )
    game = iirl.TwoAgentMDP(
        kernel,
        draw(st.sampled_from(["1/3", 0.9, 0])),
        np.array(game.exact_start),
        states=states,
        leader_actions=leaders,
        follower_actions=followers,
    )
    there = rng.random(game.shape) < 0.7
    there[:, 0, 0] = True
    return ImportedGame(
        game,
        {"reward": rng.normal(size=game.n_states), "id": rng.normal(size=game.shape)},
        {"x": rng.random(game.n_states) < 0.5, "nobody": np.zeros(game.n_states, dtype=bool)},
        None if there.all() else there,
        draw(st.sampled_from(["", "a test"])),
    )


@given(problem=problems())
def test_networkx_reads_what_it_wrote_and_the_game_is_the_same(problem):
    game = problem.game
    graph = iirl.to_networkx(game, json=True)
    for edges in ("edges", "links"):
        text = json.dumps(nx.node_link_data(graph, edges=edges), allow_nan=False)
        again = nx.node_link_graph(json.loads(text), edges=edges)
        assert nx.utils.edges_equal(again.edges(keys=True), graph.edges(keys=True), directed=True)
        found = iirl.from_networkx(again)
        assert found == game
        assert found.is_rational == game.is_rational
        assert (found.kernel == game.kernel).all()
        assert found.exact_start == game.exact_start


@given(problem=problems())
def test_a_file_holds_all_and_networkx_reads_it(problem, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "game.json"
    write_node_link(problem, path)
    found = read_file(path)
    same(found, problem)
    assert found.source == problem.source
    assert iirl.from_networkx(nx.node_link_graph(json.loads(path.read_text()))) == problem.game


GAME = iirl.TwoAgentMDP([[[[1, 3]]], [[[0, 1]]]], "1/2", states=["hall", "goal"])


def document(**changes):
    data = nx.node_link_data(iirl.to_networkx(GAME, json=True))
    return json.loads(json.dumps(data | changes))


def test_files_of_others_are_read_and_rewards_of_transitions_averaged(tmp_path):
    data = document()
    data["links"] = data.pop("edges")
    del data["graph"]["discount"], data["graph"]["leader_actions"]
    for worth, edge in enumerate(data["links"]):
        edge["reward"] = worth
        edge.pop("key")
    path = tmp_path / "game.json"
    path.write_text(json.dumps(data), encoding="utf-8-sig")
    found = read_node_link(path, "1/2")
    assert found.game == GAME
    assert found.reward().ravel().tolist() == [0.75, 2]
    with pytest.raises(InvalidArgument, match="discount is not given"):
        read_node_link(path)
    with pytest.raises(InvalidGame, match="discount is 2"):
        read_node_link(path, 2)


def edges_with(**changes):
    data = document()
    data["edges"][0] |= changes
    return data


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ('{"nodes": NaN}', "NaN is no number of JSON's"),
        ("[]", "is no node-link data"),
        ("{}", "is no node-link data: it has no 'directed'"),
        (document(directed=False), "graph without directions"),
        (document(directed="no"), "allowed true, not 'no'"),
        (document(directed=1), "allowed true, not 1"),
        (document(nodes=[{"id": "hall"}, {"id": "goal"}, {"id": "hall"}]), "called 'hall', as one"),
        (document(nodes=[{"id": 1}, {"id": True}]), "a node is called True, as one before"),
        (document(nodes=[{"id": 1}, {"id": 1.0}]), "a node is called 1.0, as one before"),
        (document(nodes=[{"id": [0, 1]}, {"id": [False, 1]}]), "called .False, 1., as one before"),
        (
            document(nodes=[{"id": "hall", "reward": 10**400}, {"id": "goal", "reward": 0}]),
            "node 'hall' has reward 1000",
        ),
        (
            document(nodes=[{"id": n, "reward": 1, "reward:reward": 2} for n in GAME.states]),
            "reward is called reward:reward as well",
        ),
        (edges_with(reward=-(10**400)), "edge 'hall' → 'hall' has reward -1000"),
        (edges_with(probability=10**400), "edge 'hall' → 'hall' .* has probability 1000"),
        (edges_with(probability="1e4000"), "has probability '1e4000'"),
        (edges_with(probability=f"1/1{'0' * 3990}"), "sums to 0.75; allowed 1 exactly"),
        (document(graph={"discount": 10**400}), "discount is 1000"),
        (document(nodes=5), "is no node-link data"),
        (document(nodes=[{"name": "hall"}]), "it has no 'id'"),
        (document(nodes=[{"id": {}}]), "is no node-link data"),
        (document(nodes=[{"id": None}]), "is no node-link data"),
        (document(graph=[1]), "is no node-link data"),
        (document(graph={"discount": {}}), "discount is {}"),
        (
            document(graph={"discount": 1, "leader_actions": {"a": 1}}),
            "no leader action is called 0",
        ),
        (
            document(graph={"discount": 0, "leader_actions": 5}),
            "leader_actions is 5; allowed a list",
        ),
        (document(edges=[]), "state 'hall' has no outgoing edges"),
        (edges_with(target="attic"), "from or to 'attic', which is no node"),
        (edges_with(leader={"a": 1}), "edge 'hall' → 'hall' .* has an unhashable action"),
        (edges_with(probability="x"), "edge 'hall' → 'hall' .* has probability 'x'"),
        (edges_with(probability="1e-400000000"), "has probability '1e-400000000'"),
        (edges_with(probability="1/5"), "sums to 19/20"),
        (edges_with(reward=1), "edge 'hall' → 'goal' has reward None; allowed a finite number"),
        (document(nodes=[{"id": "hall", "reward": "1"}, {"id": "goal"}]), "'hall' has reward '1'"),
    ],
)
def test_what_is_no_graph_of_a_game_is_named(tmp_path, content, message):
    path = tmp_path / "game.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(FileProblem, match=message) as caught:
        read_node_link(path)
    assert caught.value.path == path


@pytest.mark.parametrize(
    "names", [[((0, 1), 2), "a"], [np.inf, 1], [frozenset([1]), 2], [b"x", 1], [None, 1]]
)
def test_labels_that_would_not_come_back_are_refused_and_nothing_is_written(tmp_path, names):
    game = iirl.TwoAgentMDP([[[[1, 3]]], [[[0, 1]]]], "1/2", states=names)
    with pytest.raises(InvalidArgument, match="states contain"):
        write_node_link(game, tmp_path / "game.json")
    assert list(tmp_path.iterdir()) == []


def test_json_of_other_kinds_is_told_from_graphs(tmp_path):
    game = iirl.TwoAgentMDP([[[[1, 3]]], [[[0, 1]]]], "1/2")
    reward = [0.0, 1.0]
    best = iirl.policy_iteration(game, reward).policy.reshape(game.shape)
    proof = iirl.occupancy.optimality(game, reward, best)
    proof.save(tmp_path / "proof.json")
    with pytest.raises(FileProblem, match="is a certificate"):
        read_file(tmp_path / "proof.json")
    write_node_link(game, tmp_path / "game.json")
    assert read_file(tmp_path / "game.json").game == game
