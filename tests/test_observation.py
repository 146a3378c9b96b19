"""Observations of whole responses: what they say, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from instances import games, policies

from iirl_opt.errors import InvalidObservation, InvalidPolicy
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.observation import observe, record_trajectory


def house():
    labels = {"states": ["hall", "yard"], "leader_actions": ["open", "shut"]}
    return TwoAgentMDP(np.ones((2, 2, 3, 2), int), 0.9, **labels)


PI1 = [[1, 0], [0.25, 0.75]]


@given(data=st.data(), game=games(leader=(1, 2), follower=(1, 3)))
def test_what_is_played_with_positive_probability_is_known_to_be_optimal(data, game):
    n, n_a, n_b = game.shape
    pi1, pi2 = data.draw(policies(n, n_a)), data.draw(policies(n, n_b))
    seen = observe(game, pi1, pi2)
    assert seen.pi1 == pytest.approx(pi1.astype(float))
    assert seen.pi2 == pytest.approx(pi2.astype(float))
    assert (seen.played == (pi2 > 0)).all()


@given(data=st.data(), game=games(leader=(1, 2), follower=(1, 3)))
def test_a_mask_is_the_set_of_actions_known_to_be_optimal(data, game):
    n, n_a, n_b = game.shape
    mask = data.draw(arrays(bool, (n, n_b)))
    mask[:, 0] |= ~mask.any(axis=1)
    for given_mask in (mask, mask.tolist()):
        seen = observe(game, np.full((n, n_a), 1 / n_a), given_mask)
        assert (seen.played == mask).all()
        assert seen.pi2 == pytest.approx(mask / mask.sum(axis=1, keepdims=True))


def test_a_follower_is_observed_in_either_form():
    game = house()
    whole = observe(game, PI1, OptimalFollower("all").respond(game, [0, 1], PI1))
    single = observe(game, PI1, OptimalFollower("last").respond(game, [0, 1], PI1))
    assert whole.played.all()
    assert single.played.tolist() == [[False, False, True]] * 2
    mixed = observe(game, PI1, OptimalFollower("mix").respond(game, [0, 1], PI1))
    assert (mixed.played == whole.played).all()
    assert (mixed.pi2 == whole.pi2).all()


def test_rounding_is_not_taken_for_play():
    seen = observe(house(), PI1, [[1 + 5e-10, -5e-10, 0], [0, 0.5, 0.5]])
    assert seen.played.tolist() == [[True, False, False], [False, True, True]]


@pytest.mark.parametrize(
    ("response", "kind", "message"),
    [
        ([[1, 0, 0], [0.5, 0, 0]], InvalidPolicy, r"follower policy\[s='yard'\] sums to 0\.5"),
        ([[2, -1, 0], [1, 0, 0]], InvalidPolicy, r"follower policy\[s='hall'\] has an entry -1"),
        (
            [[np.nan, 1, 0], [1, 0, 0]],
            InvalidPolicy,
            r"follower policy\[s='hall'\] has an entry nan",
        ),
        (np.eye(2), InvalidPolicy, r"follower policy has shape \(2, 2\); allowed \(2, 3\)"),
        ([[1, 0, 0], [1, 0]], InvalidPolicy, "response is no array of numbers"),
        ([["go"] * 3] * 2, InvalidPolicy, "response is no array of numbers"),
        (np.eye(2, 3, dtype=bool)[[0, 0]] & False, InvalidObservation, r"response\[s='hall'\]"),
        (
            [[True, False, False], [False] * 3],
            InvalidObservation,
            r"response\[s='yard'\] names no action; allowed at least one optimal action",
        ),
        (
            np.eye(2, dtype=bool),
            InvalidObservation,
            r"response has shape \(2, 2\); allowed \(2, 3\)",
        ),
        ([True, False], InvalidObservation, r"response has shape \(2,\)"),
    ],
)
def test_what_no_follower_answers_is_refused(response, kind, message):
    with pytest.raises(kind, match=message):
        observe(house(), PI1, response)


def test_what_no_leader_commits_to_is_refused():
    with pytest.raises(InvalidPolicy, match=r"leader policy\[s='yard'\] sums to 0\.5"):
        observe(house(), [[1, 0], [0.5, 0]], np.ones((2, 3), dtype=bool))


def test_an_observation_is_read_only_and_holds_copies():
    pi1, pi2 = np.array(PI1), np.full((2, 3), 1 / 3)
    seen = observe(house(), pi1, pi2)
    pi1[...] = pi2[...] = 7
    assert seen.pi1.tolist() == PI1
    assert seen.pi2.max() < 1
    for array in (seen.pi1, seen.pi2, seen.played):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1
    with pytest.raises(AttributeError):
        seen.pi1 = pi1


def test_records_that_hold_the_same_are_equal():
    game = TwoAgentMDP([[[[1, 1], [0, 1]]], [[[0, 1], [1, 0]]]], "1/2")
    pi1, mask = [[1.0], [1.0]], np.ones((2, 2), dtype=bool)
    whole, half = observe(game, pi1, mask), observe(game, pi1, mask / 2)
    assert whole == observe(game, pi1, mask)
    assert len({whole, observe(game, pi1, mask), half}) == 2
    steps = [(0, 0, 0), (1, 0, 1)]
    walked = record_trajectory(game, pi1, steps)
    assert walked == record_trajectory(game, pi1, steps)
    assert len({walked, record_trajectory(game, pi1, steps), whole}) == 2
    assert walked != record_trajectory(game, pi1, steps[:1])
