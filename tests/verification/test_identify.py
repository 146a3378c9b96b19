"""How much is known: sizes against closed forms, and the protocol that asks until it is enough."""

from dataclasses import FrozenInstanceError
from math import atan, pi, sqrt

import numpy as np
import pytest
from depth import share
from hypothesis import given, strategies as st

from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.rewards.affine import affine_distance
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.verification.ideal import ideal_environment
from iirl_opt.verification.identification import identify
from iirl_opt.verification.protocol import VerificationProtocol
from iirl_opt.verification.strict import strict_environment
from iirl_opt.verification.verdict import Verdict

CONFIRMED, REFUTED, INCONCLUSIVE = Verdict


def answered(environment, response):
    n = environment.mdp.n_states
    return FeasibleRewards(environment.game).observe(np.ones((n, 1)), response)


def b1(n):
    return np.eye(2)[np.zeros(n, dtype=int)]


def random_reward(n, seed):
    return np.random.default_rng(seed).permutation(3 * n)[:n].astype(float)


def play(protocol, truth, ties="first", most=300):
    """Ask a follower with a true reward until the protocol is finished."""
    follower = OptimalFollower(ties, seed=0)
    while not protocol.finished() and protocol.episode < most:
        protocol = protocol.tell(follower.respond(protocol.game, truth, protocol.ask()))
    return protocol


# Sizes


@share(0.4)
@given(n=st.integers(2, 5), seed=st.integers(0, 99))
def test_of_an_ideal_answer_only_the_class_is_left(n, seed):
    r = random_reward(n, seed)
    found = identify(answered(ideal_environment(r, 0.9), b1(n)), r)
    assert (found.dimension, found.pinned) == (2, n - 2)
    assert found.width == pytest.approx(0, abs=1e-7)
    assert found.angle == pytest.approx(0, abs=1e-7)
    # In the simplex the class is the segment from the uniform reward to the one with a zero.
    end = (r - r.min()) / (r - r.min()).sum()
    assert found.radius == pytest.approx(np.linalg.norm(end - 1 / n) / 2, abs=1e-6)


@share(0.4)
@given(n=st.integers(3, 5), seed=st.integers(0, 99), share=st.sampled_from([1e-3, 0.1]))
def test_of_a_strict_answer_the_angle_is_between_the_bounds(n, seed, share):
    r = random_reward(n, seed)
    environment = strict_environment(r, 0.9, share)
    found = identify(answered(environment, b1(n)), r)
    assert found.dimension == n
    assert found.angle_at_least <= environment.angle_bound * (1 + 1e-6)
    assert environment.angle_bound <= found.angle * (1 + 1e-6)
    assert found.angle <= atan(sqrt(n - 2) * (n - 2) * share) * (1 + 1e-6)


def test_of_two_states_one_answer_tells_the_sign():
    found = identify(answered(ideal_environment([0, 1], 0.9), b1(2)), [0.0, 1.0])
    assert (found.dimension, found.width, found.angle) == (2, pytest.approx(0, abs=1e-9), 0)
    against = identify(answered(ideal_environment([0, 1], 0.9), b1(2)), [1.0, 0.0])
    assert against.angle == pi
    assert against.width == pytest.approx(sqrt(0.5))


def test_unfavourable_ties_leave_all_dimensions():
    r = [0.0, 1.0, 3.0, 7.0]
    answer = answered(ideal_environment(r, 0.9), np.eye(2)[[1, 0, 0, 0]])
    found = identify(answer, r)
    assert (found.dimension, found.pinned) == (4, 0)
    assert found.radius > 0.01
    drawn = answer.sample(200, np.random.default_rng(0))
    largest = max(affine_distance(x, r) for x in drawn)
    assert 0.5 < largest <= found.angle
    assert found.angle_at_least <= found.angle


def test_before_any_answer_no_angle_is_bounded():
    game, _ = random_game(3, 2, 2, rng=0)
    found = identify(FeasibleRewards(game), [0.0, 1.0, 3.0])
    assert (found.dimension, found.pinned) == (3, 0)
    assert (found.angle, found.angle_at_least) == (pi, pi / 2)
    assert "not bounded" in str(found)


def test_without_a_hypothesis_nothing_is_compared():
    found = identify(FeasibleRewards(TwoAgentMDP(np.ones((3, 1, 1, 3), dtype=np.int64), 0.9)))
    assert found.dimension == 3
    assert (found.width, found.angle, found.angle_at_least) == (None, None, None)
    # The largest circle in a triangle with sides sqrt(2).
    assert found.radius == pytest.approx(sqrt(1 / 6))
    assert str(found).splitlines()[0].split() == ["dimension", "3", "of", "3"]


def test_where_only_constants_are_left_there_is_no_angle():
    found = identify(answered(ideal_environment(np.ones(3), 0.9), b1(3)), [0.0, 1.0, 3.0])
    assert (found.dimension, found.radius) == (1, 0)
    assert found.angle is None


@pytest.mark.parametrize("bad", [[1.0, 1.0], [1.0, 2.0, 3.0], [1.0, np.nan]])
def test_a_hypothesis_needs_a_direction(bad):
    game, _ = random_game(2, 2, 2, rng=0)
    with pytest.raises(InvalidReward):
        identify(FeasibleRewards(game), bad)
    with pytest.raises(InvalidReward):
        VerificationProtocol(game, bad)


# The protocol


@pytest.mark.parametrize(
    ("n", "seed"), [(2, 0), (3, 0), (4, 10), pytest.param(6, 4, marks=pytest.mark.campaign)]
)
def test_a_true_hypothesis_is_pinned_where_the_game_can_tell(n, seed):
    game, _ = random_game(n, 2, 2, rng=seed)
    truth = np.random.default_rng(seed).random(n)
    protocol = play(VerificationProtocol(game, truth, pairs=30), 5 * truth + 2)
    assert protocol.verdict() is CONFIRMED
    assert not protocol.stuck()
    assert protocol.episode == len(protocol.history) <= 300
    # A second computation on the dense rows: rewards that explain all are within the width.
    free, tied = protocol.known.explicit_rows()
    assert len(tied) == 0
    assert (free @ (truth / truth.sum()) >= -1e-9).all()
    assert protocol.identification().width <= 1e-6
    assert protocol.identification().angle < 1e-4
    rng = np.random.default_rng(0)
    across = rng.normal(size=(50, n))
    others = truth + 1e-2 * across
    far = np.array([affine_distance(x, truth) for x in others]) > 1e-3
    assert far.any() or n == 2
    assert ((free @ others[far].T).min(axis=0) < 0).all()


@share(0.4)
@given(
    n=st.integers(2, 4),
    seed=st.integers(0, 999),
    ties=st.sampled_from(["first", "last", "random", "mix", "all"]),
)
def test_a_true_hypothesis_is_never_refuted(n, seed, ties):
    game, _ = random_game(n, 2, 2, rng=seed)
    truth = np.random.default_rng(seed).random(n)
    protocol = play(VerificationProtocol(game, truth, pairs=10), truth, ties)
    assert protocol.verdict() is not REFUTED
    assert protocol.stuck() == (protocol.verdict() is INCONCLUSIVE)


@share(0.4)
@given(n=st.integers(2, 4), seed=st.integers(0, 999), kind=st.integers(0, 2))
def test_another_reward_is_never_confirmed(n, seed, kind):
    rng = np.random.default_rng(seed)
    game, _ = random_game(n, 2, 2, rng=seed)
    truth = rng.random(n)
    guess = [-truth, truth + 1e-2 * rng.normal(size=n), rng.random(n)][kind]
    protocol = play(VerificationProtocol(game, guess, pairs=10), truth)
    if affine_distance(truth, guess) > 1e-3:
        assert protocol.verdict() is not CONFIRMED
    if protocol.verdict() is REFUTED:
        assert protocol.violation.slack > 0
        assert not protocol.known.contains(guess)
        assert protocol.known.contains(truth)


def test_a_follower_that_nothing_moves_leaves_it_stuck_and_it_says_so():
    game, _ = random_game(3, 2, 2, rng=1)
    truth = np.random.default_rng(1).random(3)
    protocol = play(VerificationProtocol(game, truth, pairs=30), truth)
    assert protocol.stuck()
    assert protocol.summary().startswith("stuck after")
    with pytest.raises(InvalidArgument, match="finished: stuck"):
        protocol.ask()


def test_a_follower_without_influence_tells_nothing():
    kernel = np.random.default_rng(0).dirichlet(np.ones(3), (3, 2, 1))
    game = TwoAgentMDP(np.repeat(kernel, 2, axis=2), 0.9)
    protocol = VerificationProtocol(game, [0.0, 1.0, 3.0], pairs=5)
    assert protocol.stuck()
    assert protocol.episode == 0


def test_when_every_commitment_found_is_asked_it_ends():
    game, _ = random_game(6, 2, 2, rng=4)
    truth = np.random.default_rng(4).random(6)
    protocol = play(VerificationProtocol(game, truth, pairs=1), truth)
    assert protocol.stuck()
    assert protocol.episode >= 1
    assert protocol.known.contains(truth)


def test_without_a_future_nothing_is_told():
    game = TwoAgentMDP(random_game(3, 2, 2, rng=0)[0].kernel, 0)
    assert VerificationProtocol(game, [0.0, 1.0, 3.0], pairs=5).stuck()


def test_the_protocol_is_frozen_and_repeatable():
    game, truth = random_game(3, 2, 2, rng=0)
    start = VerificationProtocol(game, truth, pairs=10)
    pi1 = start.ask()
    assert (pi1 == start.ask()).all()
    assert (pi1 == VerificationProtocol(game, truth, pairs=10).ask()).all()
    told = start.tell(OptimalFollower().respond(game, truth, pi1))
    assert (start.episode, told.episode) == (0, 1)
    with pytest.raises(FrozenInstanceError):
        start.seed = 1
    other = np.full((3, 2), 0.5)
    own = told.tell(OptimalFollower().respond(game, truth, other), pi1=other)
    assert (own.history[-1].pi1 == other).all()
    assert own.episode == 2


def test_what_is_known_already_counts():
    game, truth = random_game(3, 2, 2, rng=0)
    done = play(VerificationProtocol(game, truth, pairs=20), truth)
    again = VerificationProtocol(game, truth, feasible=done.known)
    assert again.finished()
    assert again.verdict() is CONFIRMED


@pytest.mark.parametrize("bad", [{"width": 0}, {"pairs": 0}, {"resolution": -1.0}])
def test_arguments_out_of_range_are_named(bad):
    game, truth = random_game(3, 2, 2, rng=0)
    with pytest.raises(InvalidArgument, match=next(iter(bad))):
        VerificationProtocol(game, truth, **bad)
