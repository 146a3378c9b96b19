"""Verdicts by soft-optimal answers, given discount, kernel and probabilities."""

from fractions import Fraction

import numpy as np
import pytest

import iirl_opt as iirl
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.follower import BoltzmannFollower, SoftOptimalFollower
from iirl_opt.rewards import SoftRewards, affine_distance
from iirl_opt.verification import Verdict, identifiability, verify_soft_optimal


def instance(seed, *, times=1, discount=0.9, theirs=None, heat=1.0):
    """A game, a reward, the set that knows answers given with another discount, and its twin."""
    rng = np.random.default_rng(seed)
    game, reward = iirl.random_game(5, 2, 3, rng=seed, discount=discount)
    faced = game if theirs is None else iirl.TwoAgentMDP(game.kernel, theirs)
    follower = SoftOptimalFollower(heat * float(np.ptp(reward)))
    known, unknown = SoftRewards(game, follower.temperature), SoftRewards(game)
    for _ in range(times):
        pi1 = iirl.random_policy(5, 2, rng)
        log = follower.log_respond(faced, reward, pi1)
        known, unknown = known.observe_log(pi1, log), unknown.observe_log(pi1, log)
    return game, reward, known, unknown


@pytest.mark.parametrize("heat", [0.1, 1.0, 100.0])
def test_the_truth_is_confirmed_and_what_is_near_it_refuted(heat):
    for seed in range(2):
        _, reward, known, unknown = instance(seed, heat=heat)
        step = 1e-3 * np.ptp(reward) * np.eye(5)[seed]
        for hypothesis, seen in ((reward + 7, known), (3 * reward - 1, unknown)):
            report = verify_soft_optimal(hypothesis, seen)
            assert report.verdict is Verdict.CONFIRMED
            assert affine_distance(hypothesis, reward) <= report.angle < 1e-2
            assert report.gap < 1e-9
            assert report.identifiability.certificate.check()
            wrong = verify_soft_optimal(hypothesis + step, seen)
            assert wrong.verdict is Verdict.REFUTED
            assert wrong.violation.slack == wrong.gap


def test_a_known_temperature_tells_the_unit_and_an_unknown_one_does_not():
    _, reward, known, unknown = instance(3)
    assert verify_soft_optimal(2 * reward, known).verdict is Verdict.REFUTED
    report = verify_soft_optimal(2 * reward, unknown)
    assert report.verdict is Verdict.CONFIRMED
    assert report.temperature == pytest.approx(2 * known.temperature, rel=1e-6)
    assert verify_soft_optimal(-reward, unknown).verdict is Verdict.REFUTED
    assert verify_soft_optimal(np.ones(5), unknown).verdict is Verdict.REFUTED


def test_another_discount_hides_behind_one_answer_and_shows_behind_two():
    for seed in range(3):
        _, reward, one, _ = instance(seed, theirs=0.8)
        fit = one.fit()
        assert fit.residual < 1e-12
        assert affine_distance(fit.reward, reward) > 1e-4
        # So the wrong reward is confirmed, as the report assumes the discount.
        report = verify_soft_optimal(fit.reward, one)
        assert report.verdict is Verdict.CONFIRMED
        assert "discount 0.9" in report.assumptions[0]
        for known in instance(seed, theirs=0.8, times=2)[2:]:
            report = verify_soft_optimal(fit.reward, known)
            assert report.verdict is Verdict.REFUTED
            assert report.violation is None
            assert "no reward" in report.evidence


def test_a_boltzmann_follower_is_found_out_by_a_second_commitment():
    game, reward, known, _ = instance(1)
    rng = np.random.default_rng(1)
    for times, verdict in ((1, True), (2, False)):
        seen = SoftRewards(game, known.temperature)
        for _ in range(times):
            pi1 = iirl.random_policy(5, 2, rng)
            answer = BoltzmannFollower(1 / known.temperature).respond(game, reward, pi1)
            seen = seen.observe(pi1, answer)
        assert (seen.fit().residual < 1e-12) is verdict
    assert verify_soft_optimal(reward, seen).verdict is Verdict.REFUTED


def test_what_is_not_told_is_inconclusive_with_a_reward_of_the_same_answers():
    weights = np.ones((4, 1, 2, 4), dtype=int)
    weights[0, 0, 1] = [2, 1, 1, 0]
    game, reward = iirl.TwoAgentMDP(weights, "9/10"), np.array([1.0, 0.0, 2.0, 5.0])
    pi1, follower = np.ones((4, 1)), SoftOptimalFollower(1.0)
    known = SoftRewards(game, 1.0).observe(pi1, follower.respond(game, reward, pi1))
    report = verify_soft_optimal(reward, known)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert affine_distance(report.witness, reward) > 1e-3
    assert known.contains(report.witness)


def test_a_band_widens_the_angle_until_nothing_is_confirmed():
    angles = []
    for band in (1e-9, 1e-5, 1e-3):
        _, reward, known, _ = instance(2)
        wide = SoftRewards(known.game, known.temperature, band, known.answers)
        angles.append(verify_soft_optimal(reward, wide).angle)
    assert angles == sorted(angles)
    assert angles[0] < 1e-5 < angles[-1]
    hopeless = SoftRewards(known.game, known.temperature, 3.0, known.answers)
    assert verify_soft_optimal(reward, hopeless).verdict is Verdict.INCONCLUSIVE


def test_a_constant_is_confirmed_by_uniform_play_alone():
    game, _, known, _ = instance(0)
    flat = SoftRewards(game, 1.0).observe(known.answers[0].pi1, np.full((5, 3), 1 / 3))
    report = verify_soft_optimal(np.full(5, 4.0), flat)
    assert (report.verdict, report.angle) == (Verdict.CONFIRMED, None)
    assert verify_soft_optimal(np.arange(5.0), flat).verdict is Verdict.REFUTED


def test_a_constant_is_not_confirmed_where_what_varies_within_a_band_explains_the_answers():
    game, reward, known, _ = instance(0)
    wide = SoftRewards(game, known.temperature, 5.0, known.answers)
    assert wide.contains(np.ones(5))
    flat = SoftRewards(game, 1.0, 0.1).observe(known.answers[0].pi1, np.full((5, 3), 1 / 3))
    hot = 1e10 * float(np.ptp(reward))  # its play is uniform within 1e-9 nats
    near = SoftRewards(game).observe(
        known.answers[0].pi1, SoftOptimalFollower(hot).respond(game, reward, known.answers[0].pi1)
    )
    for seen in (wide, flat, near, SoftRewards(game, hot, answers=near.answers)):
        assert verify_soft_optimal(np.ones(5), seen).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("gap", [2.0**-52, 2.0**-54, "1/10000000000000000000000"])
def test_a_rank_that_floats_do_not_see_confirms_nothing(gap):
    gap = Fraction(gap)
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    first = [[half, quarter, quarter], [quarter, half, quarter]]
    second = [[half, quarter, quarter], [half, quarter - gap, quarter + gap]]
    kernel = np.array([[first], [second], [[[1, 0, 0], [1, 0, 0]]]], dtype=object)
    game, pi1 = iirl.TwoAgentMDP(kernel, "9/10"), [[1], [1], [1]]
    assert identifiability(game, [pi1]).identified
    reward, wrong = np.array([0, 1, 0.3]), np.array([0, 1, 0.9])
    answer = SoftOptimalFollower(0.5).respond(game, reward, pi1)
    for known in (SoftRewards(game, 0.5), SoftRewards(game)):
        seen = known.observe(pi1, answer)
        for hypothesis in (reward, wrong):
            report = verify_soft_optimal(hypothesis, seen)
            assert report.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("unit", [1e-310, 1e-300, 1e-160, 1e160, 1e290])
def test_verdicts_do_not_hang_on_the_unit(unit):
    game, reward, known, follower = instance(1)
    pi1 = known.answers[0].pi1
    follower = SoftOptimalFollower(known.temperature * unit)
    answer = follower.respond(game, reward * unit, pi1)
    for heat in (follower.temperature, None):
        seen = SoftRewards(game, heat).observe(pi1, answer)
        report = verify_soft_optimal(reward * unit, seen)
        assert report.verdict is Verdict.CONFIRMED
        assert report.angle < 1e-6
        assert verify_soft_optimal(-reward * unit, seen).verdict is Verdict.REFUTED


def test_where_all_actions_are_rare_nothing_is_told():
    game, reward, known, _ = instance(0)
    rare = SoftRewards(game).observe(known.answers[0].pi1, np.full((5, 3), 1 / 3), floor=0.9)
    for hypothesis in (reward, np.ones(5)):
        assert verify_soft_optimal(hypothesis, rare).verdict is Verdict.INCONCLUSIVE


def test_uniform_play_says_nothing_where_no_action_matters():
    weights = np.ones((3, 1, 2, 3), dtype=int)
    for game in (iirl.TwoAgentMDP(weights, "1/2"), iirl.TwoAgentMDP(np.eye(3)[:, None, None], 0)):
        play = np.full((3, game.n_follower_actions), 1 / game.n_follower_actions)
        known = SoftRewards(game).observe(np.ones((3, 1)), play)
        report = verify_soft_optimal([0, 1, 5], known)
        assert report.verdict is Verdict.INCONCLUSIVE
        assert known.contains(report.witness)


def test_a_game_too_large_for_a_proof_leaves_open_what_floats_say():
    rng = np.random.default_rng(0)
    game, reward = iirl.random_game(60, 2, 2, rng=0)
    hasty, follower = iirl.TwoAgentMDP(game.matrix, 0.8, leader_actions=2), SoftOptimalFollower(1.0)
    known = SoftRewards(game)
    for _ in range(2):
        pi1 = iirl.random_policy(60, 2, rng)
        known = known.observe(pi1, follower.respond(hasty, reward, pi1))
    assert known.fit().residual > 1e-4
    assert verify_soft_optimal(reward, known).verdict is Verdict.INCONCLUSIVE
    told = SoftRewards(game, 1.0, answers=known.answers)  # by its own answers, at this temperature
    assert verify_soft_optimal(reward, told).verdict is Verdict.REFUTED


def test_bad_arguments_are_named():
    game, reward, known, _ = instance(0)
    with pytest.raises(InvalidReward, match="hypothesis has shape"):
        verify_soft_optimal(reward[:3], known)
    with pytest.raises(InvalidArgument, match="holds no answer"):
        verify_soft_optimal(reward, SoftRewards(game, 1.0))
    with pytest.raises(InvalidReward, match=r"hypothesis\[0\] is nan"):
        verify_soft_optimal([np.nan] * 5, known)
    for wrong in (0, -1, np.nan, np.inf):
        with pytest.raises(InvalidArgument, match="tolerance"):
            verify_soft_optimal(reward, known, tolerance=wrong)
    with pytest.raises(InvalidArgument, match="known"):
        verify_soft_optimal(reward, iirl.FeasibleRewards(game))
