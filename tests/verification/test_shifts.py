"""What is said of a reward modulo constants and units does not depend on them: one property.

A reward is written as ``2ᵏ (r + c)`` with no bit lost, r of small integers; everything that decides
or reports about it must be what it is for r, times 2ᵏ where it is in the reward's unit.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from depth import share
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from iirl_opt.certificate import certify
from iirl_opt.errors import InvalidArgument, NotCertified
from iirl_opt.follower.optimal import OptimalFollower, best_responses
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.values import local_scale
from iirl_opt.rewards.affine import AffineClass, affine_distance, affine_halfspaces
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.rewards.state_reward import StateReward
from iirl_opt.verification.ideal import ideal_environment
from iirl_opt.verification.identification import identify
from iirl_opt.verification.protocol import VerificationProtocol
from iirl_opt.verification.realisable import realise
from iirl_opt.verification.strict import strict_environment
from iirl_opt.verification.verdict import Verdict, VerificationReport, verify_affine

CONFIRMED, REFUTED, INCONCLUSIVE = Verdict


@st.composite
def images(draw, n):
    """A function that writes integer rewards in another unit and with a shift, and the unit."""
    power = draw(st.integers(-1000, 960))
    shift = draw(st.integers(-(2**44), 2**44))
    kind = draw(st.sampled_from(["floats", "fractions"]))
    unit = Fraction(2) ** power

    def write(r):
        exact = [unit * (int(x) + shift) for x in r]
        floats = [float(x) for x in exact]
        assert [Fraction(x) for x in floats] == exact
        return floats if kind == "floats" else exact

    return write, unit


@st.composite
def cases(draw, least=2, most=5):
    n = draw(st.integers(least, most))
    rewards = arrays(np.int64, n, elements=st.integers(-9, 9))
    r = draw(rewards.filter(lambda r: np.ptp(r) > 0))
    return r, draw(rewards), draw(images(n))


@given(case=cases(), answer=st.lists(st.integers(0, 1), min_size=5, max_size=5))
def test_nothing_but_the_unit_of_values_changes_with_shift_and_unit(case, answer):
    r, other, (write, unit) = case
    same, gamma = write(r), "9/10"
    assert affine_distance(same, write(other)) == affine_distance(r, other)
    np.testing.assert_array_equal(affine_halfspaces(same), affine_halfspaces(r))
    for one, two in ((other, write(other)), (3 * r + 1, write(3 * r + 1)), (0 * r, write(0 * r))):
        for strict in (False, True):
            plain = AffineClass(r).contains(one, strict=strict)
            assert AffineClass(same).contains(two, strict=strict) == plain
    response = np.eye(2)[answer[: r.size]]
    for kind in ("ideal", "strict", "rational"):
        make = strict_environment if kind != "ideal" else ideal_environment
        how = {"rational": kind == "rational"} if kind != "ideal" else {}
        plain, moved = make(r, gamma, **how), make(same, gamma, **how)
        assert moved.mdp == plain.mdp
        assert (moved.epsilon, moved.tan2_bound) == (plain.epsilon, plain.tan2_bound)
        assert Fraction(moved.gap) == Fraction(plain.gap) * unit
        one, two = verify_affine(r, plain, response), verify_affine(same, moved, response)
        assert (two.verdict, two.tan_bound) == (one.verdict, one.tan_bound)
        if one.violation is not None:
            assert two.violation[:3] == one.violation[:3]
            assert Fraction(two.violation.slack) == Fraction(one.violation.slack) * unit
        if one.witness is not None:
            np.testing.assert_array_equal(two.witness, one.witness)


@given(case=cases(3, 4))
@share(0.24)
def test_nor_do_programs_that_measure_against_it(case):
    r, _, (write, _) = case
    game, truth = random_game(r.size, 2, 2, rng=7)
    pi1 = game.leader_policy({"*": 0})
    response = OptimalFollower().respond(game, truth, pi1)
    feasible = FeasibleRewards(game).observe(pi1, response)
    assert identify(feasible, write(r)) == identify(feasible, r)
    one, two = (VerificationProtocol(game, x, pairs=3) for x in (r, write(r)))
    assert two.verdict() == one.verdict()
    if not one.finished():
        np.testing.assert_array_equal(two.ask(), one.ask())


@given(case=cases(2, 3))
@share(0.4)
def test_nor_does_the_commitment_that_makes_the_environment(case):
    r, _, (write, _) = case
    environment = strict_environment(write(r), "1/2", rational=True)
    kernel = environment.kernel[:, None]
    other = np.full_like(kernel, 1 / r.size)
    game = TwoAgentMDP(np.concatenate([other, kernel], axis=1), "1/2")
    np.testing.assert_allclose(realise(game, environment), np.eye(2)[[1] * r.size], atol=1e-4)


# Members of the kind


@pytest.mark.parametrize("rational", [False, True])
@pytest.mark.parametrize(
    "hypothesis",
    [
        [1e8, 1e8 + 3, 1e8 + 3],
        [1e12, 1e12 + 1, 1e12 + 2, 1e12 + 5],
        [1.0, 1.0 + 2**-40, 1.0 + 3 * 2**-40],
        [1.0, 1.0 + 1e-12, 1.0 + 3e-12],
        [1e-300, 3e-300, 2e-300],
        [1e299, 3e299, -2e299],
        [0.0, 1.0, 2.0, -1e12],
        [Fraction(10**30), Fraction(10**30) + 1, Fraction(10**30) + Fraction(1, 3)],
        [5e-324, 0.0, 1e-323],
    ],
)
def test_a_true_hypothesis_is_confirmed_with_a_certificate(hypothesis, rational):
    n = len(hypothesis)
    truth = [2 * x for x in hypothesis]
    environment = strict_environment(hypothesis, "1/2", rational=rational)
    exact = environment.mdp.rational.rows.dense()
    assert (exact >= 0).all()
    assert (exact.sum(axis=1) == 1).all()
    assert (environment.exact_gaps[environment.telling, -1] > 0).all()
    response = np.eye(2)[np.zeros(n, dtype=int)]
    if max(abs(float(x)) for x in truth) < 1e299:
        q = best_responses(environment.game, StateReward.of(truth).unit, np.ones((n, 1)))
        np.testing.assert_array_equal(q.optimal[environment.telling][:, 1], False)
    report = verify_affine(hypothesis, environment, response)
    assert report.verdict is CONFIRMED
    certificate = certify(report)
    assert certificate.check()
    assert certificate.tan_squared <= environment.tan2_bound
    worst = np.eye(2)[[1] + [0] * (n - 1)]
    refuted = verify_affine(hypothesis, environment, worst, tolerance=5e-324)
    if environment.exact_gaps.max() <= Fraction(5e-324):
        assert refuted.verdict is INCONCLUSIVE
        return
    assert refuted.verdict is REFUTED
    assert certify(refuted).check()


def test_the_follower_of_the_shifted_reward_itself_is_not_refuted():
    hypothesis = np.array([1e8, 1e8 + 3, 1e8 + 3])
    for rational in (False, True):
        environment = strict_environment(hypothesis, "1/2", rational=rational)
        for ties in ("first", "last", "mix"):
            response = OptimalFollower(ties).respond(
                environment.game, 2 * hypothesis, np.ones((3, 1))
            )
            assert verify_affine(hypothesis, environment, response).verdict is CONFIRMED


@given(case=cases(3, 6), mixed=st.lists(st.booleans(), min_size=6, max_size=6))
def test_every_answer_in_an_ideal_environment_has_its_certificate(case, mixed):
    r, _, (write, _) = case
    n, hypothesis = r.size, write(r)
    environment = ideal_environment(hypothesis, "3/4")
    rng = np.random.default_rng(n)
    weights = rng.integers(1, 4, (n, 2)) * np.array([[1, 1] if m else [1, 0] for m in mixed[:n]])
    weights[rng.random(n) < 0.4] = [0, 1]
    weights[-1] = [1, 0]
    answer = weights / weights.sum(axis=1, keepdims=True)
    report = verify_affine(hypothesis, environment, answer)
    assert report.verdict in (CONFIRMED, INCONCLUSIVE)
    certificate = certify(report)
    assert certificate.check()
    assert (certificate.kind == "class inclusion") == (report.verdict is CONFIRMED)
    if report.verdict is CONFIRMED:
        assert certificate.tan == 0


# Reports that say something else than their answer


def test_a_verdict_cannot_be_written_by_hand():
    for environment in (ideal_environment([0, 1, 3], "1/2"), strict_environment([0, 1, 3], "1/2")):
        report = verify_affine([0, 1, 3], environment, np.eye(2)[[0, 1, 1]])
        for name in ("verdict", "evidence", "tan_bound", "violation", "witness", "multipliers"):
            with pytest.raises((TypeError, ValueError), match=name):
                replace(report, **{name: getattr(report, name)})
        with pytest.raises((TypeError, ValueError), match="_judged"):
            replace(report, _judged=report._judged)


def test_a_report_with_another_answer_has_the_verdict_of_that_answer():
    for environment in (ideal_environment([0, 1, 3], "1/2"), strict_environment([0, 1, 3], "1/2")):
        answers = [np.eye(2)[list(b)] for b in ((0, 0, 0), (1, 0, 0), (0, 1, 1), (1, 1, 1))]
        reports = [verify_affine([0, 1, 3], environment, answer) for answer in answers]
        assert len({report.verdict for report in reports}) >= 2
        for one, other in product(reports, repeat=2):
            edited = replace(one, observation=other.observation)
            assert str(edited) == str(other)
            assert certify(edited).to_json() == certify(other).to_json()
            assert certify(edited).check()


def test_a_verdict_that_is_forced_has_no_certificate_of_what_is_not_so():
    for environment in (ideal_environment([0, 1, 3], "1/2"), strict_environment([0, 1, 3], "1/2")):
        answers = [np.eye(2)[list(b)] for b in ((0, 0, 0), (1, 0, 0), (0, 1, 1), (1, 1, 1))]
        reports = [verify_affine([0, 1, 3], environment, answer) for answer in answers]
        for one, other in product(reports, repeat=2):
            if one.verdict is other.verdict:
                continue
            forged = replace(one)
            object.__setattr__(forged, "_judged", other._judged)
            with pytest.raises(NotCertified):
                certify(forged)


def test_certifying_a_report_judges_nothing_again(monkeypatch):
    judged = []
    once = VerificationReport._judge
    monkeypatch.setattr(
        VerificationReport, "_judge", lambda self: judged.append(self) or once(self)
    )
    for environment in (ideal_environment([0, 1, 3], "1/2"), strict_environment([0, 1, 3], "1/2")):
        report = verify_affine([0, 1, 3], environment, np.eye(2)[[0, 0, 0]])
        assert certify(report).check()
        assert judged == [report]
        judged.clear()


def test_what_is_worse_within_the_tolerance_is_inconclusive_and_says_the_width():
    environment = ideal_environment([0, 1, 3], "1/2")
    answer = np.eye(2)[[0, 0, 1]]
    assert verify_affine([0, 1, 3], environment, answer).verdict is REFUTED
    report = verify_affine([0, 1, 3], environment, answer, tolerance=100.0)
    assert report.verdict is INCONCLUSIVE
    assert f"{environment.gap if environment.gap else float(environment.exact_gaps[2, 1]):.3g}" in (
        report.evidence
    )
    with pytest.raises(NotCertified, match="tolerance"):
        certify(report)


@pytest.mark.parametrize("tolerance", [np.nan, -1.0, 0.0, np.inf, "a"])
def test_tolerances_that_are_none_are_refused(tolerance):
    environment = ideal_environment([0, 1, 3], "1/2")
    with pytest.raises(InvalidArgument, match="tolerance"):
        verify_affine([0, 1, 3], environment, np.eye(2)[[0, 0, 0]], tolerance=tolerance)
    with pytest.raises(InvalidArgument, match="tolerance"):
        AffineClass([0, 1, 3]).contains([0, 1, 3], tolerance=tolerance)


def test_a_hypothesis_that_is_an_image_but_for_rounding_gets_the_angle_between():
    r = np.array([0.1, 0.7, 0.35])
    environment = ideal_environment(r, "1/2")
    report = verify_affine(3 * r + 0.1, environment, np.eye(2)[[0, 0, 0]])
    assert report.verdict is CONFIRMED
    assert 0 < report.tan_bound < 1e-14
    certificate = certify(report)
    assert certificate.check()
    assert 0 < certificate.tan < 1e-12


@pytest.mark.parametrize("epsilon", ["1/1000", Fraction(1, 1000), 0.001])
def test_a_share_is_any_number(epsilon):
    for rational in (False, True):
        environment = strict_environment([0, 1, 3], "1/2", epsilon, rational=rational)
        assert environment.epsilon == 0.001
        assert 0.0005 < environment.tan_bound <= 0.001 * (1 + 1e-5)
    with pytest.raises(InvalidArgument, match="epsilon"):
        strict_environment([0, 1, 3], "1/2", "some")


@given(case=cases(2, 4), power=st.sampled_from([-900, -500, 0, 500, 900]))
@share(0.8)
def test_a_factor_multiplies_the_local_scale(case, power):
    r, _, _ = case
    game, _ = random_game(r.size, 2, 2, rng=3)
    joint = game.leader_policy({"*": 0}), np.eye(2)[np.zeros(r.size, dtype=int)]
    plain = local_scale(game, r.astype(float), joint)
    np.testing.assert_array_equal(local_scale(game, r * 2.0**power, joint), plain * 2.0**power)
