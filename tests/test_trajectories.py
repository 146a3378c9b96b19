"""Trajectories: what is recorded is possible, what is sampled has the right frequencies."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from iirl_opt.errors import InvalidArgument, InvalidObservation, InvalidPolicy, UnknownLabel
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import deterministic_policy, random_policy
from iirl_opt.observation import record_trajectory, sample_trajectory
from iirl_opt.testing import games, policies

# One corridor: "go" leads along it, if the door is open; "stay" stays. Starts in the hall.
CORRIDOR = TwoAgentMDP(
    [
        [[[0, 1, 0], [1, 0, 0]], [[1, 0, 0], [1, 0, 0]]],
        [[[0, 0, 1], [0, 1, 0]], [[0, 1, 0], [0, 1, 0]]],
        [[[0, 0, 1], [0, 0, 1]], [[0, 0, 1], [0, 0, 1]]],
    ],
    "9/10",
    {"hall": 1},
    states=("hall", "yard", "goal"),
    leader_actions=("open", "shut"),
    follower_actions=("go", "stay"),
)
OPEN = deterministic_policy([0, 0, 0], 2)
GO = deterministic_policy([0, 0, 0], 2)


def test_a_recorded_trajectory_holds_positions_of_labels():
    steps = [("hall", "open", "go"), ("yard", "open", "stay"), ("yard", "open", "go")]
    seen = record_trajectory(CORRIDOR, OPEN, steps)
    assert len(seen) == 3
    assert seen.states.tolist() == [0, 1, 1]
    assert seen.leader_actions.tolist() == [0, 0, 0]
    assert seen.follower_actions.tolist() == [0, 1, 0]
    for array in (seen.pi1, seen.states, seen.leader_actions, seen.follower_actions):
        assert not array.flags.writeable


def test_a_trajectory_may_begin_anywhere_and_have_one_step():
    assert len(record_trajectory(CORRIDOR, OPEN, iter([("goal", "open", "go")]))) == 1


@pytest.mark.parametrize(
    ("steps", "error", "message"),
    [
        ([], InvalidObservation, "steps are empty"),
        ([("hall", "open")], InvalidObservation, r"steps\[0\] is \('hall', 'open'\)"),
        (["abc"], InvalidObservation, r"steps\[0\] is 'abc'; allowed a triple"),
        ([("cellar", "open", "go")], UnknownLabel, "no state is called 'cellar'"),
        ([("hall", "push", "go")], UnknownLabel, "no leader action is called 'push'"),
        ([("hall", "open", "run")], UnknownLabel, "no follower action is called 'run'"),
        (
            [("hall", "open", "go"), ("yard", "shut", "go")],
            InvalidObservation,
            r"steps\[1\] has the leader action 'shut' in 'yard'",
        ),
        (
            [("hall", "open", "go"), ("yard", "open", "stay"), ("goal", "open", "go")],
            InvalidObservation,
            r"steps\[2\] is in 'goal', where 'yard' never leads",
        ),
    ],
)
def test_what_cannot_have_happened_is_refused_with_its_step(steps, error, message):
    with pytest.raises(error, match=message):
        record_trajectory(CORRIDOR, OPEN, steps)


@pytest.mark.parametrize("form", [np.asarray, lambda P: sp.csr_array(P.reshape(-1, 3))])
def test_transitions_are_checked_in_dense_and_sparse_kernels(form):
    P = np.zeros((3, 1, 1, 3))
    P[[0, 1, 2], 0, 0, [1, 2, 0]] = 1
    game = TwoAgentMDP(form(P), 0.5, leader_actions=1, follower_actions=1)
    one = np.ones((3, 1))
    assert record_trajectory(game, one, [(s, 0, 0) for s in (0, 1, 2, 0)]).states[-1] == 0
    with pytest.raises(InvalidObservation, match=r"steps\[2\]"):
        record_trajectory(game, one, [(s, 0, 0) for s in (0, 1, 0)])


def test_a_deterministic_episode_is_the_one_worked_out_by_hand():
    rng = np.random.default_rng(0)
    seen = sample_trajectory(CORRIDOR, OPEN, GO, rng, min_length=5, end_probability=1.0)
    assert seen.states.tolist() == [0, 1, 2, 2, 2]
    stay = sample_trajectory(
        CORRIDOR, OPEN, deterministic_policy([1, 1, 1], 2), rng, min_length=3, end_probability=1
    )
    assert stay.states.tolist() == [0, 0, 0]
    assert stay.follower_actions.tolist() == [1, 1, 1]


@given(data=st.data(), seed=st.integers(0, 99), least=st.integers(1, 4))
def test_every_sample_can_be_recorded_and_is_long_enough(data, seed, least):
    game = data.draw(games())
    pi1, pi2 = data.draw(policies(game)), data.draw(policies(game, agent="follower"))
    rng = np.random.default_rng(seed)
    seen = sample_trajectory(game, pi1, pi2, rng, min_length=least)
    assert len(seen) >= least
    assert game.start[seen.states[0]] > 0
    assert (pi2[seen.states, seen.follower_actions] > 0).all()
    again = record_trajectory(
        game, pi1, zip(seen.states, seen.leader_actions, seen.follower_actions, strict=True)
    )
    np.testing.assert_array_equal(again.states, seen.states)


def test_discount_zero_ends_at_the_least_length():
    game, _ = random_game(4, 2, 2, rng=0, discount=0)
    pi = np.full((4, 2), 0.5)
    lengths = {len(sample_trajectory(game, pi, pi, np.random.default_rng(i))) for i in range(20)}
    assert lengths == {2}


def test_the_same_generator_gives_the_same_trajectory():
    game, _ = random_game(6, 2, 3, rng=0)
    pi1, pi2 = np.full((6, 2), 1 / 2), np.full((6, 3), 1 / 3)
    one, two = (sample_trajectory(game, pi1, pi2, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(one.states, two.states)
    np.testing.assert_array_equal(one.follower_actions, two.follower_actions)


def test_lengths_are_geometric_beyond_the_least():
    rng = np.random.default_rng(1)
    lengths = np.array([len(sample_trajectory(CORRIDOR, OPEN, GO, rng)) for _ in range(4000)])
    assert lengths.min() == 2
    for n in (2, 3, 5, 12):  # P(H + 1 > n) = 0.9^(n − 1); five standard errors
        tail = 0.9 ** (n - 1)
        assert (lengths > n).mean() == pytest.approx(
            tail, abs=5 * np.sqrt(tail * (1 - tail) / 4000)
        )


@pytest.mark.parametrize("sparse", [False, True])
def test_steps_have_the_frequencies_of_start_policies_and_kernel(sparse):
    rng = np.random.default_rng(2)
    game, _ = random_game(
        4, 2, 3, rng=3, concentration=1, restart=False, successors=1 if sparse else None
    )
    pi1, pi2 = random_policy(4, 2, rng), random_policy(4, 3, rng)
    seen = sample_trajectory(game, pi1, pi2, rng, min_length=40_000, end_probability=1)
    s, a, b = seen.states, seen.leader_actions, seen.follower_actions
    counts = np.zeros((*game.shape, 4))
    np.add.at(counts, (s[:-1], a[:-1], b[:-1], s[1:]), 1)
    visits = counts.sum(axis=(1, 2, 3))
    shares = pi1[:, :, None, None] * pi2[:, None, :, None] * game.kernel
    expected = visits[:, None, None, None] * shares
    deviation = np.abs(counts - expected)
    assert (deviation <= 5 * np.sqrt(expected) + 1e-9).all()
    firsts = [
        sample_trajectory(game, pi1, pi2, rng, end_probability=1).states[0] for _ in range(2000)
    ]
    np.testing.assert_allclose(np.bincount(firsts, minlength=4) / 2000, game.start, atol=0.06)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"end_probability": 0}, "end_probability is 0; allowed a number, 0 < x ≤ 1"),
        ({"end_probability": 1.5}, "end_probability is 1.5"),
        ({"end_probability": float("nan")}, "end_probability is nan"),
        ({"min_length": 0}, "min_length is 0; allowed a whole number ≥ 1"),
        ({"min_length": 2.5}, "min_length is 2.5"),
        ({"min_length": True}, "min_length is True"),
    ],
)
def test_arguments_out_of_range_are_refused(options, message):
    with pytest.raises(InvalidArgument, match=message):
        sample_trajectory(CORRIDOR, OPEN, GO, np.random.default_rng(0), **options)


def test_wrong_policies_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidPolicy, match="leader policy"):
        sample_trajectory(CORRIDOR, np.ones((3, 2)), GO, rng)
    with pytest.raises(InvalidPolicy, match="follower policy"):
        sample_trajectory(CORRIDOR, OPEN, np.ones((3, 3)), rng)
    with pytest.raises(InvalidPolicy, match="leader policy"):
        record_trajectory(CORRIDOR, np.ones((3, 2)), [("hall", "open", "go")])
