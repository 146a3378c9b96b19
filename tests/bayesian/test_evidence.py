"""Evidence: counts of actions under commitments."""

import numpy as np
import pytest

from iirl_opt.bayesian.evidence import Evidence
from iirl_opt.errors import InvalidArgument, InvalidObservation, InvalidPolicy
from iirl_opt.game.generate import random_game
from iirl_opt.game.policy import random_policy
from iirl_opt.observation import sample_trajectory

GAME, _ = random_game(4, 2, 3, rng=0)
ONE, OTHER = GAME.leader_policy({"*": 0}), GAME.leader_policy({"*": 1})


def test_a_trajectory_counts_each_step_once():
    rng = np.random.default_rng(0)
    seen = sample_trajectory(GAME, ONE, random_policy(4, 3, rng), rng, min_length=30)
    (counts,) = Evidence(GAME).observe(seen, weight=2.0).counts
    for s in range(4):
        for b in range(3):
            times = ((seen.states == s) & (seen.follower_actions == b)).sum()
            assert counts[s, b] == 2 * times


def test_episodes_under_one_commitment_share_their_counts():
    evidence = Evidence(GAME).count(ONE, np.ones((4, 3))).count(OTHER, np.zeros((4, 3)))
    evidence = evidence.count(ONE, np.full((4, 3), 2.0))
    assert evidence.episodes == 3
    assert len(evidence.commitments) == 2
    np.testing.assert_array_equal(evidence.counts[0], 3.0)
    np.testing.assert_array_equal(evidence.counts[1], 0.0)


def test_a_whole_response_counts_for_its_weight_in_every_state():
    response = random_policy(4, 3, np.random.default_rng(1))
    (counts,) = Evidence(GAME).respond(ONE, response, weight=5.0).counts
    np.testing.assert_allclose(counts, 5 * response)


def test_telling_leaves_the_old_evidence_as_it_was():
    old = Evidence(GAME).count(ONE, np.ones((4, 3)))
    old.count(ONE, np.ones((4, 3)))
    np.testing.assert_array_equal(old.counts[0], 1.0)
    with pytest.raises(ValueError, match="read-only"):
        old.counts[0][0, 0] = 2.0


def test_a_mask_of_optimal_actions_is_no_play():
    with pytest.raises(InvalidObservation, match="mask"):
        Evidence(GAME).respond(ONE, np.ones((4, 3), dtype=bool))


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_a_count_that_is_none_is_named(bad):
    counts = np.ones((4, 3))
    counts[2, 1] = bad
    with pytest.raises(InvalidObservation, match=r"counts\[s=2, b=1\]"):
        Evidence(GAME).count(ONE, counts)


def test_wrong_shapes_and_weights_are_refused():
    with pytest.raises(InvalidObservation, match="shape"):
        Evidence(GAME).count(ONE, np.ones((3, 4)))
    with pytest.raises(InvalidPolicy):
        Evidence(GAME).count(np.ones((4, 2)), np.ones((4, 3)))
    with pytest.raises(InvalidArgument, match="weight"):
        Evidence(GAME).respond(ONE, random_policy(4, 3, np.random.default_rng(0)), weight=0.0)
