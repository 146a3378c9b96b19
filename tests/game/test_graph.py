"""The graph of a game against networkx's own algorithms, and both ways through networkx."""

import math
from fractions import Fraction
from itertools import pairwise, product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st

import iirl_opt
from iirl_opt.errors import InvalidArgument, InvalidGame, InvalidPolicy, InvalidReward, UnknownLabel
from iirl_opt.game.classes import absorbing_states, communicating_classes, dead_ends, reachable
from iirl_opt.game.entries import RowBlocks
from iirl_opt.game.generate import random_game
from iirl_opt.game.graph import from_networkx, to_networkx
from iirl_opt.game.grid import grid_game
from iirl_opt.game.kernel import is_sparse
from iirl_opt.game.mazes import maze_maker
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import policy_iteration
from iirl_opt.game.policy import random_policy
from iirl_opt.game.pruning import prune
from iirl_opt.game.values import evaluate
from iirl_opt.occupancy.measure import flow_matrix


@st.composite
def games(draw, kinds=("weights", "Fractions", "floats")):
    """Small games of few successors, in every kind of number and label."""
    shape = draw(st.tuples(st.integers(1, 6), st.integers(1, 3), st.integers(1, 3)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weights = rng.integers(1, 9, (*shape, shape[0])) * (rng.random((*shape, shape[0])) < 0.3)
    weights[..., rng.integers(shape[0])] += weights.sum(axis=-1) == 0
    start = rng.integers(1, 9, shape[0]) * (np.arange(shape[0]) <= rng.integers(shape[0]))
    kind = draw(st.sampled_from(kinds))
    if kind == "floats":
        kernel = weights * rng.random(weights.shape)
        kernel /= kernel.sum(axis=-1, keepdims=True)
        start = start / start.sum()
    elif kind == "Fractions":
        totals = weights.sum(axis=-1, keepdims=True)
        kernel = np.vectorize(Fraction, otypes=[object])(weights, totals)
    else:
        kernel = weights
    label = draw(st.sampled_from([int, str, np.int64, lambda i: (i, "x"), lambda i: f"room {-i}"]))
    names = [[label(i) for i in range(size)] for size in shape]
    return TwoAgentMDP(
        kernel,
        draw(st.sampled_from([0, "9/10", 0.99])),
        draw(st.sampled_from([None, start])),
        states=names[0],
        leader_actions=names[1],
        follower_actions=names[2],
    )


def exact_rows(game):
    return [
        {j: p for j, p in game.rational.rows.row(i).items() if p}
        for i in range(game.n_states * game.n_choices)
    ]


def assert_same_game(game, other):
    assert other == game
    assert other.kernel.tobytes() == game.kernel.tobytes()
    assert other.is_rational == game.is_rational
    if game.is_rational:
        assert exact_rows(other) == exact_rows(game)
        assert other.rational.start == game.rational.start
        assert other.rational.discount == game.rational.discount


def hall(**changes):
    """Two leader actions, one follower action, a hall and a goal that is left with all edges."""
    graph = nx.MultiDiGraph()
    data = {"follower": "go", "probability": Fraction(1, 4)}
    graph.add_edge("hall", "goal", leader="open", follower="go", probability=Fraction(3, 4))
    graph.add_edge("hall", "hall", **{"leader": "open", **data, **changes})
    graph.add_edge("hall", "goal", leader="shut", follower="go", probability=1)
    for leader in ("open", "shut"):
        graph.add_edge("goal", "goal", leader=leader, follower="go", probability=1)
    return graph


# Round trips


@given(game=games())
def test_a_game_is_itself_again_after_networkx(game):
    assert_same_game(game, from_networkx(to_networkx(game)))


@given(game=games(), seed=st.integers(0, 99))
def test_neither_the_order_of_edges_nor_their_keys_matter(game, seed):
    graph = to_networkx(game)
    edges = [(u, v, dict(data)) for u, v, data in graph.edges(data=True)]
    np.random.default_rng(seed).shuffle(edges)
    other = nx.MultiDiGraph(**graph.graph)
    other.add_nodes_from(graph)
    other.add_edges_from(edges)
    assert_same_game(game, from_networkx(other))


@pytest.mark.parametrize("make", [grid_game, None])
def test_sparse_games_and_mazes_are_themselves_again(make):
    if make is None:
        game, _ = random_game(60, 3, 2, 0, successors=3)
    else:
        game, _ = make(["S.1", ".#.", "2.."], discount=0.95, slip="1/5")
    assert is_sparse(game.matrix)
    assert_same_game(game, from_networkx(to_networkx(game)))


def test_numbers_beyond_64_bits_survive():
    tiny = Fraction(1, 10**400)
    kernel = np.array([[[[1 - tiny, tiny]]], [[[Fraction(0), Fraction(1)]]]], dtype=object)
    game = TwoAgentMDP(kernel, Fraction(10**30 - 1, 10**30 + 10**29), {0: 1 - tiny, 1: tiny})
    graph = to_networkx(game)
    graph.add_edge(1, 0, leader=0, follower=0, probability=np.int64(0))
    assert graph.edges[0, 1, (0, 0)]["probability"] == tiny
    assert graph.graph["start"] == {0: 1 - tiny, 1: tiny}
    assert_same_game(game, from_networkx(graph))


def test_the_graph_holds_the_game_in_plain_sight():
    game = TwoAgentMDP([[[[1, 3]], [[0, 1]]], [[[0, 1]], [[1, 0]]]], "9/10", [0, 1])
    graph = to_networkx(game)
    assert list(graph) == [0, 1]
    assert graph.graph == {
        "discount": Fraction(9, 10),
        "start": {1: Fraction(1)},
        "leader_actions": (0, 1),
        "follower_actions": (0,),
    }
    assert {
        (u, v, key): data["probability"] for u, v, key, data in graph.edges(data=True, keys=True)
    } == {
        (0, 0, (0, 0)): Fraction(1, 4),
        (0, 1, (0, 0)): Fraction(3, 4),
        (0, 1, (1, 0)): 1,
        (1, 1, (0, 0)): 1,
        (1, 0, (1, 0)): 1,
    }
    assert all(
        (data["leader"], data["follower"]) == key
        for *_, key, data in graph.edges(data=True, keys=True)
    )


def test_actions_that_lead_to_the_same_state_are_never_summed():
    kernel = np.array([[[[0.25, 0.75], [0.5, 0.5]], [[0.0, 1.0], [0.75, 0.25]]]] * 2)
    graph = to_networkx(TwoAgentMDP(kernel, 0.9))
    found = {key: data["probability"] for key, data in graph[0][1].items()}
    assert found == {(0, 0): 0.75, (0, 1): 0.5, (1, 0): 1.0, (1, 1): 0.25}
    assert from_networkx(graph).kernel.tolist() == kernel.tolist()


def test_tuples_and_numpy_integers_survive_as_nodes_and_actions():
    graph = nx.MultiDiGraph()
    start, end = (0, 1), np.int64(7)
    for leader, follower in product(((0, 0), np.int64(3)), (np.int32(5), "b")):
        graph.add_edge(start, end, leader=leader, follower=follower, probability=np.int64(1))
        graph.add_edge(end, start, leader=leader, follower=follower, probability=1)
    game = from_networkx(graph, 0.5)
    assert game.states == ((0, 1), 7)
    assert game.leader_actions == ((0, 0), 3)
    assert game.follower_actions == (5, "b")
    assert type(game.states[1]) is type(game.leader_actions[1]) is int
    assert game.kernel[:, 0, 0].tolist() == [[0, 1], [1, 0]]
    assert_same_game(game, from_networkx(to_networkx(game)))


# What is read


def test_rational_edges_make_a_rational_game_and_a_single_float_does_not():
    exact = from_networkx(hall(), "9/10")
    assert exact_rows(exact)[0] == {0: Fraction(1, 4), 1: Fraction(3, 4)}
    assert not from_networkx(hall(probability=0.25), "9/10").is_rational
    assert from_networkx(hall(probability=0.25), "9/10") == exact


def test_orders_are_those_of_the_graph_unless_given():
    graph = hall()
    game = from_networkx(graph, 0.9)
    assert (game.states, game.leader_actions) == (("hall", "goal"), ("open", "shut"))
    other = from_networkx(graph, 0.9, states=["goal", "hall"], leader_actions=["shut", "open"])
    assert (other.states, other.leader_actions) == (("goal", "hall"), ("shut", "open"))
    assert other.kernel.tolist() == game.kernel[::-1, ::-1, :, ::-1].tolist()


def test_arguments_win_over_the_attributes_of_the_graph():
    graph = hall()
    graph.graph |= {"discount": 0.5, "start": {"goal": 1}}
    game = from_networkx(graph)
    assert (game.discount, game.start.tolist()) == (0.5, [0, 1])
    game = from_networkx(graph, 0, start={"hall": 1})
    assert (game.discount, game.start.tolist()) == (0, [1, 0])
    assert from_networkx(hall(), 0.5).start.tolist() == [0.5, 0.5]


def test_absorbing_states_need_no_edges_if_one_says_so():
    graph = hall()
    graph.remove_edges_from([("goal", "goal", 0), ("goal", "goal", 1)])
    assert_same_game(from_networkx(hall(), "9/10"), from_networkx(graph, "9/10", absorbing=True))
    with pytest.raises(
        InvalidGame, match=r"state 'goal' has no outgoing edges; allowed .*absorbing"
    ):
        from_networkx(graph, 0.9)
    graph.add_node("end")
    with pytest.raises(
        InvalidGame, match=r"state 'goal' has no outgoing edges \(nor have 1 more\)"
    ):
        from_networkx(graph, 0.9)
    lonely = nx.MultiDiGraph()
    lonely.add_node("only")
    game = from_networkx(lonely, 0.9, leader_actions="ab", follower_actions=[0], absorbing=True)
    assert game.kernel.tolist() == [[[[1.0]], [[1.0]]]]
    with pytest.raises(InvalidGame, match="leader_actions are empty"):
        from_networkx(lonely, 0.9, absorbing=True)


def test_absorbing_does_not_fill_a_state_that_has_some_edges():
    graph = hall()
    graph.remove_edge("goal", "goal", 1)
    with pytest.raises(InvalidGame, match="s='goal', a='shut', b='go'] has no edge"):
        from_networkx(graph, 0.9, absorbing=True)


@pytest.mark.parametrize("missing", ["leader", "follower", "probability"])
def test_an_edge_that_lacks_data_is_named(missing):
    graph = hall()
    del graph.edges["hall", "hall", 0][missing]
    with pytest.raises(InvalidGame, match=f"edge 'hall' → 'hall' .* has no {missing}"):
        from_networkx(graph, 0.9)


def test_an_edge_that_is_given_twice_is_named():
    graph = hall()
    graph.add_edge("hall", "goal", leader="shut", follower="go", probability=Fraction(0))
    named = r"edge 'hall' → 'goal' \(leader='shut', follower='go'\) is given twice"
    with pytest.raises(InvalidGame, match=named):
        from_networkx(graph, 0.9)


def test_missing_pairs_are_named_and_counted():
    graph = hall()
    graph.add_edge("goal", "goal", leader="shut", follower="stay", probability=1)
    named = r"P\[s='hall', a='open', b='stay'\] has no edge \(nor have 2 more\)"
    with pytest.raises(InvalidGame, match=named):
        from_networkx(graph, 0.9)


@pytest.mark.parametrize(
    ("probability", "message"),
    [
        (Fraction(1, 3), r"P\[s='hall', a='open', b='go'\] sums to 13/12; allowed 1 exactly"),
        (0, r"P\[s='hall', a='open', b='go'\] sums to 3/4"),
        (0.2, r"P\[s='hall', a='open', b='go'\] sums to 0.95"),
        (Fraction(-1, 4), r"edge 'hall' → 'hall' .* has probability Fraction\(-1, 4\)"),
        (-1e-12, "edge 'hall' → 'hall' .* has probability -1e-12"),
        (float("nan"), "edge 'hall' → 'hall' .* has probability nan"),
        (float("inf"), r"P\[s='hall', a='open', b='go', s'='hall'\] is inf"),
        ("1/0", "edge 'hall' → 'hall' .* has probability '1/0'"),
        ("1/5", r"P\[s='hall', a='open', b='go'\] sums to 19/20; allowed 1 exactly"),
        (None, "edge 'hall' → 'hall' .* has probability None"),
        (0.25j, "edge 'hall' → 'hall' .* has probability 0.25j"),
    ],
)
def test_a_wrong_probability_is_named(probability, message):
    with pytest.raises(InvalidGame, match=message):
        from_networkx(hall(probability=probability), 0.9)


def test_single_precision_is_normalised_if_asked():
    graph = hall(probability=np.float32(0.1))
    graph.edges["hall", "goal", 0]["probability"] = np.float32(0.9)
    with pytest.raises(InvalidGame, match=r"sums to 0\.9999999776.*normalise=True"):
        from_networkx(graph, 0.9)
    assert from_networkx(graph, 0.9, normalise=True).kernel[0, 0, 0].sum() == 1


def test_an_edge_of_probability_zero_is_no_transition():
    graph = hall()
    graph.add_edge("goal", "hall", leader="open", follower="go", probability=np.int64(0))
    assert from_networkx(graph, 0.9) == from_networkx(hall(), 0.9)
    assert not to_networkx(from_networkx(graph, 0.9)).has_edge("goal", "hall")


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiGraph, nx.Graph])
def test_graphs_that_lose_edges_or_directions_are_refused(kind):
    with pytest.raises(InvalidArgument, match=f"graph is a {kind.__name__}; allowed .*MultiDi"):
        from_networkx(kind(hall()), 0.9)


def test_what_is_no_graph_of_a_game_is_refused():
    with pytest.raises(InvalidGame, match="states are empty"):
        from_networkx(nx.MultiDiGraph(), 0.9)
    with pytest.raises(InvalidArgument, match="discount is not given, and the graph"):
        from_networkx(hall())
    with pytest.raises(InvalidGame, match="discount is 1"):
        from_networkx(hall(), 1)
    with pytest.raises(UnknownLabel, match="no state is called 'Hall'; did you mean 'hall'"):
        from_networkx(hall(), 0.9, states=["Hall", "hall", "goal"])
    with pytest.raises(InvalidGame, match="state 'goal' is not in the order given"):
        from_networkx(hall(), 0.9, states=["hall"])
    with pytest.raises(InvalidGame, match="state 'hall' is named twice"):
        from_networkx(hall(), 0.9, states=["hall", "goal", "hall"])
    with pytest.raises(UnknownLabel, match="no leader action is called 'shut'"):
        from_networkx(hall(), 0.9, leader_actions=["open"])
    with pytest.raises(UnknownLabel, match="no state is called 'attic'"):
        from_networkx(hall(), 0.9, start={"attic": 1})
    with pytest.raises(InvalidGame, match=r"edge 'hall' → 'hall' .* has an unhashable action"):
        from_networkx(hall(leader={"open"}), 0.9)


def test_a_state_called_none_cannot_enter_networkx():
    game = TwoAgentMDP(np.ones((1, 1, 1, 1)), 0.9, states=[None])
    with pytest.raises(InvalidArgument, match="states contain None"):
        to_networkx(game)


# What the graph decides


@given(game=games())
def test_reachable_states_are_the_descendants_of_the_start(game):
    graph = to_networkx(game)
    starts = [state for state, p in zip(game.states, game.start, strict=True) if p > 0]
    expected = set(starts).union(*(nx.descendants(graph, state) for state in starts))
    assert {game.states[s] for s in np.flatnonzero(reachable(game))} == expected


@given(game=games(), seed=st.integers(0, 99), which=st.sampled_from(["1", "2", "12"]))
def test_reachable_states_under_policies_are_those_of_positive_occupancy(game, seed, which):
    rng = np.random.default_rng(seed)
    pi1, pi2 = (random_policy(game.n_states, n, rng) for n in game.shape[1:])
    pi1[:, 1:] *= rng.random(pi1[:, 1:].shape) < 0.5
    pi1[:, 0] += 1 - pi1.sum(axis=1)
    pi2[:, 1:] = 0
    pi2[:, 0] = 1
    uniform1, uniform2 = (np.full((game.n_states, n), 1 / n) for n in game.shape[1:])
    chain = game.joint_chain(pi1 if "1" in which else uniform1, pi2 if "2" in which else uniform2)
    dense = chain.toarray() if is_sparse(chain) else np.asarray(chain)
    occupancy = np.linalg.solve(np.eye(game.n_states) - 0.5 * dense.T, game.start)
    found = reachable(game, pi1 if "1" in which else None, pi2 if "2" in which else None)
    assert found.tolist() == (occupancy > 1e-12).tolist()


def test_a_locked_door_cuts_the_graph():
    game = from_networkx(hall(), 0.9, start={"hall": 1})
    assert reachable(game).tolist() == [True, True]
    stay = nx.MultiDiGraph()
    for pair in product("os", "gw"):
        to = "goal" if pair == ("o", "g") else "hall"
        stay.add_edge("hall", to, leader=pair[0], follower=pair[1], probability=1)
    game = from_networkx(stay, 0.9, start={"hall": 1}, absorbing=True)
    shut, wait = game.leader_policy({"*": "s"}), game.follower_policy({"*": "w"})
    assert reachable(game).tolist() == [True, True]
    assert reachable(game, shut).tolist() == [True, False]
    assert reachable(game, pi2=wait).tolist() == [True, False]
    with pytest.raises(InvalidPolicy, match="leader policy has shape"):
        reachable(game, np.ones((3, 3)))
    with pytest.raises(InvalidPolicy, match="follower policy"):
        reachable(game, pi2=np.ones((2, 2)))


@given(game=games())
def test_classes_are_the_strong_components_and_the_closed_ones_attract(game):
    graph = to_networkx(game)
    classes = communicating_classes(game)
    assert {frozenset(c.states) for c in classes} == {
        frozenset(c) for c in nx.strongly_connected_components(graph)
    }
    assert {frozenset(c.states) for c in classes if c.closed} == {
        frozenset(c) for c in nx.attracting_components(graph)
    }
    assert sorted(s for c in classes for s in c.members.tolist()) == list(range(game.n_states))
    for c in classes:
        assert c.states == tuple(game.states[s] for s in c.members)
        assert (np.diff(c.members) > 0).all()
    assert all(c.members[0] < d.members[0] for c, d in pairwise(classes))


@given(game=games())
def test_absorbing_states_lead_to_themselves_alone(game):
    graph = to_networkx(game)
    expected = [set(graph.successors(state)) == {state} for state in game.states]
    assert absorbing_states(game).tolist() == expected


@given(game=games(), data=st.data())
def test_from_a_dead_end_all_rewards_are_the_same(game, data):
    by_choice = data.draw(st.booleans(), label="reward of the choices")
    shape = game.shape if by_choice else game.shape[:1]
    size = math.prod(shape)
    values = st.lists(st.sampled_from([0.0, 0.0, 1.0]), min_size=size, max_size=size)
    reward = np.array(data.draw(values, label="reward")).reshape(shape)
    graph = to_networkx(game)
    met = [
        [reward[game.states.index(s)] for s in nx.descendants(graph, state) | {state}]
        for state in game.states
    ]
    assert dead_ends(game, reward).tolist() == [bool(np.ptp(rewards) == 0) for rewards in met]


@given(game=games(), seed=st.integers(0, 99))
def test_in_a_dead_end_every_policy_has_the_same_value(game, seed):
    rng = np.random.default_rng(seed)
    reward = rng.integers(0, 2, game.n_states)
    dead = dead_ends(game, reward)
    pair = tuple(random_policy(game.n_states, n, rng) for n in game.shape[1:])
    best, worst = (sign * policy_iteration(game, sign * reward).values for sign in (1, -1))
    expected = reward[dead] / (1 - game.discount)
    for values in (evaluate(game, reward, pair), best, worst):
        assert values[dead] == pytest.approx(expected, abs=1e-9)


def test_mazes_die_when_the_last_prize_is_gone():
    maze = maze_maker()
    gone = np.repeat([layer == "" for layer in maze.layers], 49)
    assert dead_ends(maze.game, maze.reward).tolist() == gone.tolist()
    assert reachable(maze.game).all()
    # A layer is a room that one cannot come back to; only the last cannot be left.
    classes = communicating_classes(maze.game)
    assert [c.members.size for c in classes if c.closed] == [49]
    assert not absorbing_states(maze.game).any()
    assert dead_ends(maze.game, np.ones(392)).all()


def test_a_wrong_reward_is_refused():
    game = from_networkx(hall(), 0.9)
    with pytest.raises(InvalidReward, match="shape"):
        dead_ends(game, [1, 2, 3])
    with pytest.raises(InvalidReward, match="s='goal'] is nan"):
        dead_ends(game, [1, np.nan])


def test_a_probability_below_every_float_still_leads_somewhere():
    tiny = Fraction(1, 10**400)
    kernel = np.array([[[[1 - tiny, tiny]]], [[[Fraction(0), Fraction(1)]]]], dtype=object)
    game = TwoAgentMDP(kernel, 0.9, [1, 0])
    assert game.kernel[0, 0, 0].tolist() == [1.0, 0.0]
    assert reachable(game).tolist() == [True, True]
    assert absorbing_states(game).tolist() == [False, True]
    assert [c.closed for c in communicating_classes(game)] == [False, True]
    assert dead_ends(game, [0, 1]).tolist() == [False, True]
    assert_same_game(game, prune(game).game)
    apart = TwoAgentMDP([[[[1, 0]]], [[[0, 1]]]], 0.9, {0: 1 - tiny, 1: tiny})
    assert apart.start.tolist() == [1.0, 0.0]
    assert reachable(apart).tolist() == [True, True]


# Pruning


@given(game=games(), seed=st.integers(0, 99))
def test_pruning_keeps_the_numbers_and_the_way_back(game, seed):
    rng = np.random.default_rng(seed)
    pruned = prune(game)
    small, kept = pruned.game, pruned.kept
    assert kept.tolist() == np.flatnonzero(reachable(game)).tolist()
    assert small.states == tuple(game.states[s] for s in kept)
    assert small._labels[1:] == game._labels[1:]
    assert small.kernel.tobytes() == game.kernel[kept][..., kept].tobytes()
    assert small.start.tobytes() == game.start[kept].tobytes()
    assert small.is_rational == game.is_rational
    if game.is_rational:
        back = [{int(kept[j]): p for j, p in row.items()} for row in exact_rows(small)]
        rows = (kept[:, None] * game.n_choices + np.arange(game.n_choices)).ravel()
        assert back == [exact_rows(game)[i] for i in rows]
        assert small.rational.start == tuple(game.rational.start[s] for s in kept)
        assert small.rational.discount == game.rational.discount
    reward = rng.random(game.shape)
    pi1, pi2 = (random_policy(game.n_states, n, rng) for n in game.shape[1:])
    values = evaluate(game, reward, (pi1, pi2))
    restricted = (pruned.restrict(pi1), pruned.restrict(pi2))
    found = evaluate(small, pruned.restrict(reward), restricted)
    assert found == pytest.approx(values[kept], abs=1e-9)
    assert_same_game(small, prune(small).game)


def test_pruning_drops_what_cannot_occur_and_extends_with_a_filling():
    kernel = [[[[1, 0, 1]]], [[[1, 1, 1]]], [[[1, 0, 0]]]]
    pruned = prune(TwoAgentMDP(kernel, "1/2", [1, 0, 0], states="abc", leader_actions=["only"]))
    assert pruned.kept.tolist() == [0, 2]
    assert pruned.game.states == ("a", "c")
    assert pruned.game.leader_actions == ("only",)
    assert exact_rows(pruned.game) == [{0: Fraction(1, 2), 1: Fraction(1, 2)}, {0: Fraction(1)}]
    assert pruned.restrict([5, 6, 7]).tolist() == [5, 7]
    assert pruned.extend([5, 7], fill=-1).tolist() == [5, -1, 7]
    assert pruned.extend([5, 7], fill=-1).dtype.kind == "i"
    assert pruned.extend([5, 7], fill=0.5).tolist() == [5, 0.5, 7]
    policy = pruned.extend([[1.0, 0.0], [0.0, 1.0]], fill=[0.25, 0.75])
    assert policy.tolist() == [[1, 0], [0.25, 0.75], [0, 1]]
    with pytest.raises(InvalidArgument, match=r"array has shape \(2,\); allowed \(3, …\)"):
        pruned.restrict([5, 7])
    with pytest.raises(InvalidArgument, match=r"array has shape \(3,\); allowed \(2, …\)"):
        pruned.extend([5, 6, 7], fill=0)
    with pytest.raises(InvalidArgument, match=r"array has shape \(\)"):
        pruned.extend(1.0, fill=0)


@pytest.mark.parametrize("exact", [True, False])
def test_sparse_games_are_pruned_too(exact):
    game, _ = random_game(80, 2, 2, 3, successors=1, restart=False)
    kernel = RowBlocks.of(game.rational.rows) if exact else game.matrix
    game = TwoAgentMDP(kernel, "9/10", {79: 1}, leader_actions=2)
    pruned = prune(game)
    assert is_sparse(game.matrix)
    assert 1 < pruned.kept.size < 80
    assert pruned.game.kernel.tolist() == game.kernel[pruned.kept][..., pruned.kept].tolist()
    assert pruned.game.is_rational == exact


# The flow


def network(game):
    """The network of a game, built from its graph: states, choices, a source and a sink.

    Each edge's flow is written as a row over the choices: the share of μ(s, a, b) that it carries.
    """
    graph, gamma = to_networkx(game), game.discount
    place = {
        choice: i
        for i, choice in enumerate(product(game.states, game.leader_actions, game.follower_actions))
    }
    flow = nx.DiGraph()
    flow.add_nodes_from([("state", s) for s in game.states] + [("choice", c) for c in place])
    for choice in place:
        flow.add_edge(("state", choice[0]), ("choice", choice), choice=choice, share=1.0)
        flow.add_edge(("choice", choice), "sink", choice=choice, share=1 - gamma)
    for u, v, (leader, follower), p in graph.edges(keys=True, data="probability"):
        choice = (u, leader, follower)
        flow.add_edge(("choice", choice), ("state", v), choice=choice, share=gamma * float(p))
    shares = np.zeros((flow.number_of_edges(), len(place)))
    for i, (_, _, data) in enumerate(flow.edges(data=True)):
        shares[i, place[data["choice"]]] = data["share"]
    return flow, shares


@given(game=games())
def test_the_occupancy_constraints_are_conservation_on_the_incidence_of_networkx(game):
    flow, shares = network(game)
    nodes = [("state", s) for s in game.states]
    choices = [node for node in flow if node[0] == "choice"]
    incidence = nx.incidence_matrix(flow, [*nodes, *choices, "sink"], flow.edges, oriented=True)
    net = incidence @ shares
    # Columns are μ: at a state what enters less what leaves is −(E − γP)ᵀμ, to be −start;
    # at a choice nothing is left over; the sink takes what the discount loses.
    n = game.n_states
    assert net[:n] == pytest.approx(-flow_matrix(game).toarray().T, abs=1e-15)
    assert net[n:-1] == pytest.approx(np.zeros((len(choices), len(choices))), abs=1e-12)
    assert net[-1] == pytest.approx(np.full(len(choices), 1 - game.discount), abs=1e-15)


@given(game=games(), seed=st.integers(0, 99))
def test_the_occupancy_of_a_policy_is_a_flow_of_one_unit(game, seed):
    flow, shares = network(game)
    rng = np.random.default_rng(seed)
    pi1, pi2 = (random_policy(game.n_states, n, rng) for n in game.shape[1:])
    joint = (pi1[:, :, None] * pi2[:, None, :]).reshape(game.n_states, -1)
    chain = np.einsum("sc,sct->st", joint, game.kernel.reshape(game.n_states, -1, game.n_states))
    visits = np.linalg.solve(np.eye(game.n_states) - game.discount * chain.T, game.start)
    carried = shares @ (visits[:, None] * joint).ravel()
    for s, p in zip(game.states, game.start.tolist(), strict=True):
        flow.add_edge("source", ("state", s))
        carried = np.append(carried, p)
    inner = [node for node in flow if node not in ("source", "sink")]
    order = [*[e for e in flow.edges if e[0] != "source"], *flow.edges("source")]
    incidence = nx.incidence_matrix(flow, [*inner, "source", "sink"], order, oriented=True)
    net = incidence @ carried
    assert net[:-2] == pytest.approx(np.zeros(len(inner)), abs=1e-9)
    assert net[-2:] == pytest.approx([-1, 1], abs=1e-9)


def test_the_graph_layer_is_public():
    assert iirl_opt.from_networkx is from_networkx
    assert iirl_opt.to_networkx is to_networkx
    assert iirl_opt.game.prune is prune
