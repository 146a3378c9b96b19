"""Rewards that explain soft-optimal answers: equations, fits, and what is refused."""

import cvxpy as cp
import numpy as np
import pytest

import iirl_opt as iirl
from iirl_opt.errors import InvalidArgument, InvalidObservation, InvalidPolicy
from iirl_opt.follower import SoftOptimalFollower
from iirl_opt.rewards import SoftRewards, affine_distance


def partner(seed, *, heat=1.0, n=4, n_a=2, n_b=3, discount=0.9):
    """A game, a state reward, commitments, and the soft-optimal answers."""
    rng = np.random.default_rng(seed)
    game, reward = iirl.random_game(n, n_a, n_b, rng=seed, discount=discount)
    temperature = heat * float(np.ptp(reward))
    pi1 = [iirl.random_policy(n, n_a, rng) for _ in range(3)]
    follower = SoftOptimalFollower(temperature)
    return game, reward, temperature, pi1, [follower.log_respond(game, reward, p) for p in pi1]


def test_one_answer_tells_the_reward_however_hot_the_partner_is():
    for seed in range(5):
        for heat in (0.1, 1.0, 100.0):
            game, reward, temperature, pi1, logs = partner(seed, heat=heat)
            fit = SoftRewards(game, temperature).observe_log(pi1[0], logs[0]).fit()
            assert fit.unknown == 0
            assert affine_distance(reward, fit.reward) < 1e-9
            assert (np.abs(fit.reward - (reward - reward.mean())) <= fit.error).all()


def test_without_the_temperature_the_reward_is_told_up_to_its_unit():
    game, reward, temperature, pi1, logs = partner(1)
    known = SoftRewards(game)
    for p, log in zip(pi1, logs, strict=True):
        known = known.observe_log(p, log)
    fit = known.fit()
    assert temperature * fit.reward == pytest.approx(reward - reward.mean(), rel=1e-9)
    assert known.best_temperature(5 * reward - 3) == pytest.approx(5 * temperature, rel=1e-9)
    assert known.best_temperature(-reward) is None
    assert known.contains(5 * reward - 3)
    assert not known.contains(-reward)
    assert not known.contains(5 * reward, temperature=temperature)


def test_constraints_compose_and_find_the_reward_and_the_temperature():
    game, reward, temperature, pi1, logs = partner(2)
    known = SoftRewards(game, band=1e-9).observe_log(pi1[0], logs[0])
    r, heat = cp.Variable(4), cp.Variable()
    own = [cp.sum(r) == 1, r >= 0, r[int(reward.argmin())] == 0]
    iirl.solve(cp.Problem(cp.Minimize(cp.norm1(r)), known.constraints(r, heat) + own))
    unit = (reward - reward.min()).sum()
    assert r.value == pytest.approx((reward - reward.min()) / unit, abs=1e-6)
    assert float(heat.value) == pytest.approx(temperature / unit, abs=1e-6)


def test_a_band_makes_an_interval_that_holds_the_truth():
    rng = np.random.default_rng(0)
    game, reward, temperature, pi1, logs = partner(3)
    band = 1e-3
    known = SoftRewards(game, temperature, band=band)
    for p, log in zip(pi1, logs, strict=True):
        off = log + rng.uniform(-band, band, log.shape) / 2
        known = known.observe_log(p, off - np.log(np.exp(off).sum(axis=1, keepdims=True)))
    centred = reward - reward.mean()
    for s in range(4):
        unit = np.eye(4)[s]
        least, most = -known.maximise(-unit).value, known.maximise(unit).value
        assert least - 1e-6 <= centred[s] <= most + 1e-6
        assert most - least < 0.5 * np.ptp(reward)
    fit = known.fit()
    assert fit.residual <= 2 * band
    assert (np.abs(fit.reward - centred) <= fit.error).all()


def test_rounded_logarithms_leave_the_equations_empty_and_a_residual():
    game, _, temperature, pi1, logs = partner(4, n_b=4)
    known = SoftRewards(game, temperature)
    for p, log in zip(pi1, logs, strict=True):
        rounded = np.round(np.exp(log), 2)
        rounded[:, 0] += 1 - rounded.sum(axis=1)
        known = known.observe(p, rounded)
    with pytest.raises(iirl.errors.Infeasible):
        known.maximise([1, 0, 0, 0])
    fit = known.fit()
    assert fit.redundant > 0
    assert fit.residual > 1e-4


def test_rewards_of_choices_are_fitted_as_far_as_they_are_told():
    rng = np.random.default_rng(5)
    game, _ = iirl.random_game(3, 3, 2, rng=5, concentration=1.0)
    pi1 = [iirl.random_policy(3, 3, rng) for _ in range(6)]
    for kind, shape, left in (("follower", (3, 1, 2), 0), ("joint", (3, 3, 2), 2)):
        truth = rng.normal(size=shape)
        full = np.broadcast_to(truth, game.shape)
        known = SoftRewards(game, 0.5)
        for p in pi1:
            known = known.observe(p, SoftOptimalFollower(0.5).respond(game, full, p))
        fit = known.fit(kind)
        assert fit.unknown == left
        off = truth.reshape(fit.reward.shape) - fit.reward
        off = off - off.mean()
        for z in fit.directions:
            off = off - (z * off).sum() * z
        assert np.abs(off).max() <= max(fit.error.max(), 1e-9) < 1e-6


def test_rare_actions_leave_inequalities():
    game, reward, _, pi1, _ = partner(6)
    follower = SoftOptimalFollower(0.02 * float(np.ptp(reward)))
    answer = follower.respond(game, reward, pi1[0])
    seen = np.where(answer < 1e-9, 0.0, answer)
    assert (seen == 0).any()
    known = SoftRewards(game, follower.temperature, band=1e-8)
    with pytest.raises(InvalidObservation, match=r"response\[s=.*is 0; allowed .*observe_log"):
        known.observe(pi1[0], seen)
    known = known.observe(pi1[0], seen, floor=1e-9)
    assert known.contains(reward)
    assert not known.contains(-reward)
    r = cp.Variable(4)
    labels = {c.label for c in known.constraints(r)}
    assert labels == {"soft below[1]", "soft above[1]", "rare[1]"}
    iirl.solve(cp.Problem(cp.Minimize(0), [*known.constraints(r), r == reward]))


@pytest.mark.parametrize(
    ("response", "match"),
    [
        ([[3, 1, 0], [2, 2, 2], [0, 1, 5], [1, 1, 1]], "holds counts.*Posterior"),
        (np.full((4, 3), True), "is a mask of optimal actions.*Posterior"),
        (np.full((4, 3), 0.3), "sums to 0.9"),
        (np.full((3, 3), 1 / 3), "has shape"),
        (np.full((4, 3), np.nan), "nan"),
        (np.eye(3)[[0, 1, 2, 0]], "is 0; allowed a probability > 0"),
    ],
)
def test_what_is_no_exact_answer_is_refused_by_place(response, match):
    game, *_, pi1, _ = partner(7)
    with pytest.raises((InvalidObservation, InvalidPolicy), match=match):
        SoftRewards(game, 1.0).observe(pi1[0], response)


@pytest.mark.parametrize("least", [5e-324, 1e-315, 2e-308])
def test_probabilities_that_lost_digits_are_refused_or_rare(least):
    game, *_, pi1, _ = partner(7)
    play, known = np.array([[1, least, 0.1], [1, 1, 1], [1, 1, 1], [1, 1, 1]]), SoftRewards(game, 1)
    play = play / play.sum(axis=1, keepdims=True)
    with pytest.raises(InvalidObservation, match=r"response\[s=0, b=1\] is .*e-3.*below which"):
        known.observe(pi1[0], play)
    with pytest.raises(InvalidObservation, match=r"response\[s=0, b=1\] is .*e-3.*below which"):
        known.observe(pi1[0], play, floor=5e-324) if least > 5e-324 else known.observe(pi1[0], play)
    assert known.observe(pi1[0], play, floor=1e-300).answers[0].rare.sum() == 1


def test_trajectories_and_observations_are_sent_where_they_belong():
    game, _reward, *_, pi1, logs = partner(7)
    known = SoftRewards(game, 1.0)
    steps = iirl.sample_trajectory(game, pi1[0], np.exp(logs[0]), 0)
    with pytest.raises(InvalidObservation, match="Posterior"):
        known.observe(pi1[0], steps)
    seen = iirl.observe(game, pi1[0], np.exp(logs[0]))
    with pytest.raises(InvalidObservation, match="pi2"):
        known.observe(pi1[0], seen)
    assert len(known.add(seen).answers) == 1
    with pytest.raises(InvalidObservation, match="declared suboptimal"):
        known.add(iirl.observe(game, pi1[0], np.exp(logs[0]), suboptimality=0.1))
    with pytest.raises(InvalidObservation, match="mask"):
        known.add(iirl.observe(game, pi1[0], np.full((4, 3), True)))


def test_logarithms_of_what_sums_to_something_else_are_refused_beyond_the_band():
    game, *_, pi1, logs = partner(8)
    with pytest.raises(InvalidObservation, match=r"probabilities that sum to 1\.01"):
        SoftRewards(game, 1.0).observe_log(pi1[0], logs[0] + np.log(1.01))
    assert SoftRewards(game, 1.0, band=0.01).observe_log(pi1[0], logs[0] + np.log(1.01)).answers
    for wrong in (np.full((4, 3), -np.inf), np.zeros((4, 2)), "logs"):
        with pytest.raises(InvalidObservation):
            SoftRewards(game, 1.0).observe_log(pi1[0], wrong)


def test_a_temperature_stands_once():
    game, *_, pi1, logs = partner(9)
    known = SoftRewards(game, 1.0).observe_log(pi1[0], logs[0])
    with pytest.raises(InvalidArgument, match="temperature stands beside one that is known"):
        known.constraints(cp.Variable(4), cp.Variable())
    with pytest.raises(InvalidArgument, match="has shape"):
        known.constraints(cp.Variable(5))
    with pytest.raises(InvalidArgument, match="answers are none"):
        SoftRewards(game).fit()


def test_a_band_holds_the_truth_at_a_temperature_that_is_not_known():
    rng = np.random.default_rng(5)
    for seed in range(4):
        game, truth = iirl.random_game(3, 2, 3, rng=seed)
        band, heat = 10.0 ** rng.uniform(-8, -1), rng.uniform(0.1, 100)
        known = SoftRewards(game, band=band)
        for _ in range(2):
            pi1 = iirl.random_policy(3, 2, rng)
            logs = SoftOptimalFollower(heat).log_respond(game, truth, pi1)
            known = known.observe_log(pi1, logs + 0.999 * band * rng.choice([-1, 1], size=(3, 3)))
        assert known.contains(truth)
        assert known.contains(np.ones(3)) == (known.misfit(np.ones(3)) <= band).all()
        assert (known.misfit(truth) <= known.misfit(truth, temperature=heat).max() * 1.01).all()


@pytest.mark.parametrize("unit", [1e-320, 1e-300, 1e300])
def test_a_fit_at_any_unit_leaves_what_one_at_unit_one_leaves(unit):
    game, *_, pi1, logs = partner(8)
    fits = [SoftRewards(game, heat).observe_log(pi1[0], logs[0]).fit() for heat in (1.0, unit)]
    assert fits[1].residual == fits[0].residual
    off = fits[1].reward - fits[0].reward * unit
    assert (np.abs(off) <= fits[1].error).all()
