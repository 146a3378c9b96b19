"""Arrays in every order of axes, and matrices an action, against the game that they are of."""

import tracemalloc
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

import iirl_opt as iirl
from iirl_opt.errors import IIRLError, InvalidArgument, InvalidGame, InvalidReward, UnknownLabel
from iirl_opt.formats import from_arrays
from iirl_opt.testing import games

HOUSE = ("state", "leader", "follower", "next")
GAME, _ = iirl.random_game(4, 2, 3, rng=0)
P, RNG = GAME.kernel, np.random.default_rng(1)
R = RNG.normal(size=P.shape)
MEANS = (P * R).sum(axis=-1)


def turned(array, axes):
    return array.transpose([HOUSE.index(axis) for axis in axes])


def is_game(found):
    return found.game.shape == GAME.shape and (found.game.kernel == P).all()


@pytest.mark.parametrize("axes", [*permutations(HOUSE)], ids=" ".join)
def test_every_order_of_axes_is_read_dense_and_sparse_with_rewards_in_it(axes):
    dense = turned(P, axes)
    for kernel in (dense, sp.coo_array(dense)):
        found = from_arrays(kernel, "9/10", turned(R, axes), axes=axes)
        assert is_game(found)
        assert np.allclose(found.reward(), MEANS, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("axes", [*permutations(("state", "action", "next"))], ids=" ".join)
def test_an_axis_of_actions_is_one_agents_or_both(axes):
    pairs = P.reshape(4, 6, 4)
    kernel = pairs.transpose([("state", "action", "next").index(axis) for axis in axes])
    assert is_game(from_arrays(kernel, 0.9, axes=" ".join(axes), leader_actions=2))
    assert is_game(from_arrays(kernel, 0.9, axes=", ".join(axes), follower_actions=range(3)))
    alone = from_arrays(kernel, 0.9, axes=axes).game
    assert alone.action_labels == (("-",), tuple(range(6)))
    assert from_arrays(kernel, 0.9, axes=axes, agent="leader").game.shape == (4, 6, 1)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dok", "lil", "bsr", "dense"])
def test_matrices_by_action_are_read_in_lists_and_mappings(form):
    def matrix(a, b):
        part = P[:, a, b]
        return part if form == "dense" else sp.coo_array(part).asformat(form)

    leaders, followers = ("open", "shut"), ("go", "stay", "wait")
    nested = [[matrix(a, b) for b in range(3)] for a in range(2)]
    assert is_game(from_arrays(nested, 0.9))
    assert is_game(from_arrays([m for row in nested for m in row], 0.9, leader_actions=2))
    keyed = {(leaders[a], followers[b]): matrix(a, b) for b in (2, 0, 1) for a in (1, 0)}
    deep = {leader: {f: keyed[leader, f] for f in followers} for leader in leaders}
    for kernel in (keyed, deep):
        # The keys are labels, whose order is said, or that of their first appearance.
        found = from_arrays(kernel, 0.9, leader_actions=leaders, follower_actions=followers)
        assert is_game(found)
        assert found.game.action_labels == (leaders, followers)
    assert from_arrays(keyed, 0.9).game.action_labels == (("shut", "open"), ("wait", "go", "stay"))
    worth = {
        key: sp.csr_array(turned(R, HOUSE)[:, leaders.index(key[0]), followers.index(key[1])])
        for key in reversed(keyed)
    }
    found = from_arrays(keyed, 0.9, worth, leader_actions=leaders, follower_actions=followers)
    assert np.allclose(found.reward(), MEANS, rtol=1e-14, atol=1e-14)


def test_rewards_of_any_axes_are_those_of_the_others_alike():
    expected = {
        "state": R[:, 0, 0, 0],
        "leader": np.broadcast_to(R[0, :, 0, 0][:, None], (4, 2, 3)),
        "follower state": np.broadcast_to(R[:, 0, :, 0][:, None], (4, 2, 3)),
        "next": P @ R[0, 0, 0],
        "next state": (P * R[:, :1, :1]).sum(-1),
        "leader next": (P * R[:1, :, :1]).sum(-1),
        "state action": R[..., 0],
        "next action": (P * R[:1]).sum(-1),
    }
    given = {
        "state": R[:, 0, 0, 0],
        "leader": R[0, :, 0, 0],
        "follower state": R[:, 0, :, 0].T,
        "next": R[0, 0, 0],
        "next state": R[:, 0, 0].T,
        "leader next": R[0, :, 0],
        "state action": R[..., 0].reshape(4, 6),
        "next action": R[0].reshape(6, 4).T,
    }
    for axes, reward in given.items():
        for form in [reward] + [sp.csr_array(reward)] * (reward.ndim == 2):
            found = from_arrays(P, 0.9, form, reward_axes=axes).reward()
            assert np.allclose(found, expected[axes], rtol=1e-14, atol=1e-14), axes


def test_several_rewards_keep_their_names_and_a_constant_one_is_not_rounded():
    found = from_arrays(P, 0.9, rewards={"tenths": np.full(P.shape, 0.1), "steps": [1, 2, 3, 4]})
    assert (found.reward("tenths") == 0.1).all()
    assert found.reward("steps").tolist() == [1, 2, 3, 4]


@given(game=games())
def test_exact_numbers_stay_exact(game):
    kernel = game.rational.rows.dense().reshape(*game.shape, -1)
    found = from_arrays(
        turned(kernel, ("next", "follower", "state", "leader")),
        game.exact_discount,
        axes="next follower state leader",
        start=np.array(game.exact_start),
    )
    assert found.game.rational.rows.dense().tolist() == game.rational.rows.dense().tolist()
    assert found.game.fingerprint == game.fingerprint
    each = [[kernel[:, a, b] for b in range(game.shape[2])] for a in range(game.shape[1])]
    again = from_arrays(each, game.exact_discount, start=np.array(game.exact_start))
    assert again.game == found.game


# Choices that a state lacks


@given(data=st.data())
def test_missing_choices_repeat_one_of_their_state_and_are_worth_no_more(data):
    game = data.draw(games(min_states=2))
    n = game.n_states * game.n_choices
    drawn = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    there = np.array(drawn).reshape(game.shape)
    there[~there.any(axis=(1, 2)), -1, -1] = True
    reward = RNG.normal(size=game.shape)
    zeroed = np.where(there[..., None], game.kernel, 0.0)
    marked = np.where(there, reward, -np.inf)
    for found in (
        from_arrays(zeroed, 0.5, reward),
        from_arrays(game.kernel, 0.5, marked),
        from_arrays(game.kernel, 0.5, reward, available=there),
    ):
        assert found.available is None if there.all() else (found.available == there).all()
        kernel, worth = found.game.kernel, found.reward()
        assert (kernel[there] == game.kernel[there]).all()
        assert (worth[there] == reward[there]).all()
        for s, a, b in np.argwhere(~there):
            has = a if there[s, a].any() else there[s].any(axis=1).argmax()
            then = b if there[s, has, b] else there[s, has].argmax()
            assert (kernel[s, a, b] == game.kernel[s, has, then]).all()
            assert worth[s, a, b] == reward[s, has, then]
    if not there.all():
        with pytest.raises(InvalidGame, match=r"P\[s=.*, a=.*, b=.*\] is not available"):
            from_arrays(zeroed, 0.5, unavailable="refuse")


def test_a_state_without_choices_is_named_or_stays_where_it_is():
    kernel = P.copy()
    kernel[2] = 0
    with pytest.raises(InvalidGame, match=r"state 'c' has no choice; allowed .*absorbing=True"):
        from_arrays(kernel, 0.9, states="abcd")
    found = from_arrays(kernel, 0.9, R, absorbing=True)
    assert (found.game.kernel[2] == np.eye(4)[2]).all()
    assert (found.reward()[2] == 0).all()
    assert found.available is None


# What is refused


@pytest.mark.parametrize(
    ("shape", "axes", "fits"),
    [
        ((2, 3, 3), None, "'action state next' or 'action next state'"),
        ((3, 2, 3), "action state next", "'state action next' or 'next action state'"),
        ((3, 3, 2), "action state next", "'state next action' or 'next state action'"),
        ((2, 3, 4), "action state next", "two axes of one length"),
        ((5, 2, 3, 5), "leader state follower next", "'state leader follower next' or"),
        ((3, 2, 3), "state next", "'state action next'"),
        ((3, 3), "state action", "state and next among them"),
        ((3,), None, "two to four axes"),
        ((3, 3, 3), "state states next", "each once, of state, next"),
        ((3, 3, 3), "state state next", "each once, of state, next"),
        ((3, 3, 3, 3), "state leader action next", "each once, of state, next"),
    ],
)
def test_axes_that_do_not_fit_are_refused_with_those_that_would(shape, axes, fits):
    with pytest.raises(InvalidArgument, match=f"axes .*{fits}"):
        from_arrays(np.ones(shape), 0.9, axes=axes)


@pytest.mark.parametrize(
    ("kernel", "more", "error", "message"),
    [
        ([sp.eye_array(2), sp.eye_array(3)], {}, InvalidGame, r"P\[action=1\] has shape \(3, 3\)"),
        ({"a": np.eye(2), "b": np.eye(3)}, {}, InvalidGame, r"P\[action='b'\] has shape"),
        ({}, {}, InvalidGame, "P is empty"),
        ([np.zeros((0, 0))], {}, InvalidGame, r"P has shape \(1, 0, 0\)"),
        (np.zeros((2, 0, 1, 2)), {}, InvalidGame, r"P has shape \(2, 0, 1, 2\)"),
        ([[1, 2], [3]], {}, InvalidGame, "P is ragged"),
        ({("a", "b"): np.eye(2)}, {"leader_actions": "c"}, UnknownLabel, "called 'a'"),
        ({"a": np.eye(2)}, {"reward": {"b": np.eye(2)}}, UnknownLabel, "called 'b'"),
        ([sp.eye_array(2).astype(complex)], {}, InvalidGame, "type complex"),
        (P, {"available": np.ones((4, 2), dtype=bool)}, InvalidGame, "available has shape"),
        (P, {"reward": MEANS.transpose(1, 0, 2)}, InvalidReward, "2 along axis 0, 'state'"),
        (P, {"reward": R[:, 0, :, 0]}, InvalidArgument, "reward_axes are not given"),
        (P, {"reward": np.full(P.shape, np.nan)}, InvalidReward, r"reward\[s=0, a=0, b=0\] is nan"),
        (P, {"reward": np.full(P.shape, -np.inf)}, InvalidReward, "is -inf"),
        (P, {"reward": sp.coo_array(np.eye(4) * 1j)}, InvalidReward, "reward has type complex128"),
        (P, {"reward": [0] * 4, "rewards": {}}, InvalidArgument, "rewards are given beside"),
        (P, {"states": 10**9}, InvalidGame, "state labels are 1000000000; allowed 4"),
        ({"a": np.eye(2)}, {"follower_actions": 10**9}, InvalidGame, "are 1000000000; allowed 1"),
        (P, {"leader_actions": "abc"}, InvalidGame, "leader action labels are 3; allowed 2"),
        (
            [np.eye(2)] * 3,
            {"leader_actions": 2},
            InvalidGame,
            "leader_actions, .* are 2; allowed 3 pairs",
        ),
        (P.astype(np.float32) * np.float32(1.0001), {}, InvalidGame, "normalise=True"),
        (P * 0.97, {"normalise": True}, InvalidGame, r"sums to 0\.97; allowed 1 ± 0\.002"),
    ],
)
def test_what_is_wrong_is_named(kernel, more, error, message):
    with pytest.raises(error, match=message) as caught:
        from_arrays(kernel, 0.9, **more)
    assert isinstance(caught.value, IIRLError)


def test_weights_and_single_precision_are_read_as_by_the_game_itself():
    found = from_arrays([sp.csr_array([[1, 3], [0, 2]])], "1/2").game
    assert found.rational.rows.row(0) == {0: Fraction(1, 4), 1: Fraction(3, 4)}
    single = turned(P, ("leader", "follower", "state", "next")).astype(np.float32)
    game = from_arrays(single, 0.9, axes="leader follower state next", normalise=True).game
    assert abs(game.kernel - P).max() < 1e-6


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("times", [2, 3, 4])
def test_repeated_entries_are_summed_whatever_their_type_holds(kind, times):
    most = min(np.iinfo(kind).max, 2**62)
    last = [0] * times, [1] * times
    kernel = sp.coo_array(
        (np.array([most] * times + [1, 1], kind), ([*last[0], 0, 1], [*last[1], 0, 1])),
        shape=(2, 2),
    )
    row = {
        0: Fraction(1, times * int(most) + 1),
        1: Fraction(times * int(most), times * int(most) + 1),
    }
    for found in (
        from_arrays([kernel], "1/2").game,
        from_arrays(kernel, "1/2").game,
        iirl.TwoAgentMDP(kernel, "1/2", follower_actions=1),
        iirl.MDP(kernel, "1/2"),
    ):
        assert found.rational.rows.row(0) == row
    reward = sp.coo_array((np.array([most] * times, kind), ([0] * times,) * 2), shape=(2, 1))
    assert from_arrays([np.eye(2)], "1/2", reward).reward()[0] == times * float(most)


def test_matrices_of_several_types_keep_whole_numbers_whole():
    one, other = np.array([[1, 2**62], [0, 1]]), np.array([[1, 2**63], [0, 1]], np.uint64)
    for kernel in ([one, other], [sp.coo_array(one), sp.csr_array(other)]):
        rows = from_arrays(kernel, "1/2").game.rational.rows
        assert rows.row(0)[0] == Fraction(1, 2**62 + 1)
        assert rows.row(1)[0] == Fraction(1, 2**63 + 1)


KEYED = {"a": np.eye(2), "b": np.eye(2)[::-1]}


@pytest.mark.parametrize("agent", ["leader", "follower"])
@pytest.mark.parametrize(
    ("said", "labels"),
    [
        (None, ("a", "b")),
        (2, ("a", "b")),
        (["b", "a"], ("b", "a")),
        (["c", "b", "a"], ("c", "b", "a")),
    ],
)
def test_keys_are_the_labels_of_who_has_them(agent, said, labels):
    other = {"leader": "follower", "follower": "leader"}[agent]
    for more in ({}, {f"{other}_actions": ["x"]}):
        given = {f"{agent}_actions": said} | more if said is not None else {"agent": agent} | more
        found = from_arrays(KEYED, "1/2", {"a": np.eye(2)}, **given)
        names = found.game.action_labels
        assert set(names) == {labels, ("x",) if more else ("-",)}
        game, at = found.game, labels.index("b")
        b = game.kernel[:, at, 0] if agent == "leader" else game.kernel[:, 0, at]
        np.testing.assert_array_equal(b, KEYED["b"])
        assert (found.available is None) == ("c" not in labels)


def test_a_key_that_is_no_label_of_who_has_the_others_is_named():
    with pytest.raises(UnknownLabel, match=r"no follower action is called 'b' .known: 'a'"):
        from_arrays(KEYED, "1/2", follower_actions=["a"])
    with pytest.raises(UnknownLabel, match=r"no leader action is called 'a' .known: 'b', 'c'"):
        from_arrays(KEYED, "1/2", leader_actions=["b", "c"])


def test_a_kernel_of_rows_is_read_as_it_is_by_the_game():
    flat = P.reshape(-1, 4)
    for kernel in (flat, sp.csr_array(flat), sp.dok_array(flat)):
        assert is_game(from_arrays(kernel, 0.9, leader_actions=2))
    steps = sp.csr_array(np.eye(4, dtype=bool)[[1, 2, 3, 3]])
    assert from_arrays(steps, "1/2").game.rational.rows.row(2) == {3: 1}


def test_what_is_dense_is_not_held_as_entries():
    kernel = np.broadcast_to(np.full(400, 1 / 400), (4, 400, 4, 400))
    tracemalloc.start()
    try:
        from_arrays(kernel, 0.9, axes="leader state follower next")
        assert tracemalloc.get_traced_memory()[1] < 4 * 8 * kernel.size
    finally:
        tracemalloc.stop()
