"""Verdicts: complete and sound under every tie rule, and exactly as often as the theory says."""

from fractions import Fraction
from importlib import import_module
from itertools import product
from math import atan
from pathlib import Path

import numpy as np
import pytest
from depth import share
from hypothesis import given, strategies as st
from instances import exact_values

from iirl_opt.errors import InvalidArgument, InvalidObservation, InvalidPolicy, InvalidValue
from iirl_opt.follower.optimal import OptimalFollower, best_responses
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.values import evaluate
from iirl_opt.observation import sample_trajectory
from iirl_opt.rewards.affine import affine_distance, affine_halfspaces
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.rewards.response_proof import violation
from iirl_opt.verification.ideal import ideal_environment
from iirl_opt.verification.inclusion import prove_inclusion
from iirl_opt.verification.strict import strict_environment
from iirl_opt.verification.verdict import Verdict, verify_affine

CONFIRMED, REFUTED, INCONCLUSIVE = Verdict


def adversary(environment, truth):
    """An optimal response that leaves b1 wherever another action is as good."""
    n = truth.size
    optimal = best_responses(environment.game, truth, np.ones((n, 1))).optimal
    return np.eye(optimal.shape[1])[optimal.shape[1] - 1 - optimal[:, ::-1].argmax(axis=1)]


def respond(environment, truth, ties, seed=0):
    if ties == "adversary":
        return adversary(environment, truth)
    alone = np.ones((truth.size, 1))
    return OptimalFollower(ties, seed=seed).respond(environment.game, truth, alone)


def random_reward(rng, n):
    return rng.normal(size=n).round(3) + np.arange(n) * 1e-2


def assert_proof(report):
    """The multipliers combine the printed rows of Corollary 1 to every half-space of the class."""
    environment, pi2 = report.environment, report.observation.pi2
    kernel, gamma = environment.kernel, environment.discount
    n = pi2.shape[0]
    chain = np.einsum("sb,sbt->st", pi2, kernel)
    rows = gamma * (chain[:, None] - kernel) @ np.linalg.inv(np.eye(n) - gamma * chain)
    combined = np.einsum("hsb,sbt->ht", report.multipliers[:, 0], rows)
    assert combined == pytest.approx(report.halfspaces, abs=1e-6)
    assert (report.multipliers[:, 0][:, ~report.observation.played] >= 0).all()
    assert report.halfspaces == pytest.approx(affine_halfspaces(report.hypothesis))


# The strict environment: complete and sound


@given(
    n=st.integers(2, 8),
    gamma=st.sampled_from([0.05, 0.5, 0.9, 0.99]),
    seed=st.integers(0, 2**32 - 1),
    ties=st.sampled_from(["first", "last", "random", "mix", "all", "adversary"]),
    rational=st.booleans(),
    n_actions=st.integers(2, 3),
)
def test_the_strict_test_accepts_every_reward_of_the_class(
    n, gamma, seed, ties, rational, n_actions
):
    rng = np.random.default_rng(seed)
    r = random_reward(rng, n)
    environment = strict_environment(r, gamma, None, n_actions, rational=rational)
    truth = rng.uniform(0.1, 10) * r + rng.normal()
    report = verify_affine(r, environment, respond(environment, truth, ties, seed))
    assert report.verdict is CONFIRMED
    assert report.angle == atan(environment.tan_bound)


@given(
    n=st.integers(2, 8),
    share=st.sampled_from([1e-4, 1e-2, 1.0]),
    gamma=st.sampled_from([0.05, 0.9]),
    seed=st.integers(0, 2**32 - 1),
    ties=st.sampled_from(["first", "last", "random", "mix", "all"]),
    rational=st.booleans(),
)
def test_what_the_strict_test_accepts_is_within_the_angle(n, share, gamma, seed, ties, rational):
    rng = np.random.default_rng(seed)
    r = random_reward(rng, n)
    environment = strict_environment(r, gamma, share, rational=rational)
    reach = rng.choice([0.1, 0.5, 1.0, 2.0]) * share * n
    truth = (r - r.mean()) / np.linalg.norm(r - r.mean()) + reach * rng.normal(size=n) / n
    report = verify_affine(r, environment, respond(environment, truth, ties, seed))
    assert report.verdict is not INCONCLUSIVE
    if report.verdict is CONFIRMED:
        assert np.tan(affine_distance(truth, r)) <= environment.tan_bound * (1 + 1e-6) + 1e-9
    else:
        assert report.violation.slack > 0


def test_a_response_within_the_tolerance_refutes_nothing():
    r = np.array([0.0, 1.0, 3.0])
    environment = strict_environment(r, 0.9, 1e-11)
    answer = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    assert verify_affine(r, environment, answer).verdict is INCONCLUSIVE
    assert verify_affine(r, environment, answer, tolerance=1e-13).verdict is REFUTED


def test_the_table_of_the_benchmark_holds_on_a_few_instances(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    strict_table = import_module("groups.verification").strict_table
    for ties, instances, accepted, _, ratio in strict_table(60, 1):
        assert (ties, accepted) == (ties, instances)
        assert ratio <= 1 + 1e-6


# The ideal environment


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_of_all_ways_to_break_the_ties_two_to_the_minus_n_plus_2_confirm(n):
    r = np.random.default_rng(n).permutation(n * n)[:n]
    environment = ideal_environment(r, 0.9)
    verdicts = []
    for ties in product([0, 1], repeat=n - 1):
        report = verify_affine(r, environment, np.eye(2)[[*ties, 0]])
        verdicts.append(report.verdict)
        if report.verdict is CONFIRMED:
            assert_proof(report)
        else:
            assert report.verdict is INCONCLUSIVE
            assert affine_distance(report.witness, r) > 0.1
            alone = np.ones((n, 1))
            feasible = FeasibleRewards(environment.game).observe(alone, np.eye(2)[[*ties, 0]])
            assert feasible.contains(report.witness, tolerance=1e-7)
    assert Fraction(verdicts.count(CONFIRMED), len(verdicts)) == Fraction(1, 2 ** (n - 2))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_a_constant_hypothesis_is_confirmed_by_one_in_two_to_the_n_minus_1(n):
    environment, r = ideal_environment(np.ones(n), 0.9), np.full(n, 3.0)
    answers = [np.eye(2)[list(ties)] for ties in product([0, 1], repeat=n)]
    verdicts = [verify_affine(r, environment, answer).verdict for answer in answers]
    assert Fraction(verdicts.count(CONFIRMED), len(verdicts)) == Fraction(1, 2 ** (n - 1))
    assert REFUTED not in verdicts


@given(
    n=st.integers(1, 7),
    gamma=st.sampled_from([0.05, 0.5, 0.99]),
    seed=st.integers(0, 2**32 - 1),
    whole=st.booleans(),
    n_actions=st.integers(2, 3),
)
def test_all_optimal_actions_seen_or_played_always_confirm_exactly(
    n, gamma, seed, whole, n_actions
):
    rng = np.random.default_rng(seed)
    r = random_reward(rng, n)
    environment = ideal_environment(r, gamma, n_actions)
    truth = rng.uniform(0.1, 10) * r + rng.normal()
    # In floats the truth is an image of r but for rounding, which an exact follower would see.
    mask = best_responses(environment.game, truth, np.ones((n, 1))).near
    weights = rng.uniform(0.05, 0.95, mask.shape) * mask
    answer = mask if whole else weights / weights.sum(axis=1, keepdims=True)
    report = verify_affine(r, environment, answer)
    assert report.verdict is CONFIRMED
    assert report.angle == 0
    assert_proof(report)


@given(
    n=st.integers(3, 6),
    seed=st.integers(0, 2**32 - 1),
    ties=st.sampled_from(["first", "last", "random", "mix", "all", "adversary"]),
    near=st.booleans(),
)
def test_no_other_reward_is_confirmed_in_an_ideal_environment(n, seed, ties, near):
    rng = np.random.default_rng(seed)
    r = random_reward(rng, n)
    truth = r + 1e-2 * rng.normal(size=n) if near else rng.choice([-r, rng.normal(size=n)])
    environment = ideal_environment(r, 0.9)
    report = verify_affine(r, environment, respond(environment, truth, ties, seed))
    assert report.verdict is not CONFIRMED
    if report.verdict is REFUTED:
        # By definition: under the hypothesis the named action is better than what was played, or
        # is itself played and worse than the best, or is missing from the set.
        v, mdp, pi2 = report.violation, environment.mdp, report.observation.pi2
        s, b = mdp.states.index(v.state), mdp.actions.index(v.action)
        values = evaluate(mdp, r, pi2)
        gain = 0.9 * environment.kernel[s, b] @ values + r[s] - values[s]
        missing = ties == "all" and not report.observation.played[s, b]
        assert abs(gain) == pytest.approx(v.slack, abs=1e-9) or (missing and v.slack == 0)


def test_a_refutation_names_an_action_by_which_the_hypothesis_would_gain():
    r = [0, 1, 3]
    environment = ideal_environment(r, Fraction(1, 2))
    report = verify_affine(r, environment, np.eye(2)[[0, 0, 1]])
    assert report.verdict is REFUTED
    assert report.violation[:3] == (1, 2, "b1")
    mdp, half = environment.mdp, Fraction(1, 2)
    rows = [mdp.rational.rows.row(i) for i in range(6)]
    kernel = np.array([[[row.get(j, Fraction(0)) for j in range(3)] for row in rows]])
    kernel = kernel.reshape(3, 2, 3)
    reward = np.array([[Fraction(x)] * 2 for x in r])
    values = exact_values(kernel, reward, np.eye(2, dtype=int)[[0, 0, 1]] * Fraction(1), half)
    gain = r[2] + half * sum(kernel[2, 0] * values) - values[2]
    assert report.violation.slack == pytest.approx(float(gain))
    assert "state 2 action 'b1'" in str(report)


def test_a_set_that_leaves_out_a_predicted_action_is_no_set_of_the_hypothesis():
    r = np.array([0, 1, 3, 4])
    environment = ideal_environment(r, 0.9)
    mask = respond(environment, r, "all")
    mask[1, 1] = False
    report = verify_affine(r, environment, mask)
    assert report.verdict is REFUTED
    assert report.violation == (1, 1, "b2", 0.0)


def test_a_constant_truth_is_what_the_assumptions_name():
    r = np.array([0.0, 1.0, 3.0])
    for make in (ideal_environment, strict_environment):
        environment = make(r, 0.9)
        report = verify_affine(r, environment, respond(environment, np.ones(3), "first"))
        assert report.verdict is CONFIRMED
        assert any("not constant" in line for line in report.assumptions)
        last = verify_affine(r, environment, respond(environment, np.ones(3), "last"))
        assert last.verdict is REFUTED


def test_an_ideal_answer_of_hundreds_of_states_is_proved():
    r = np.random.default_rng(0).integers(0, 50, 150)
    environment = ideal_environment(r, 0.9)
    report = verify_affine(r, environment, np.eye(2)[np.zeros(150, dtype=int)])
    assert report.verdict is CONFIRMED
    assert_proof(report)


def test_what_does_not_belong_together_is_refused():
    environment = ideal_environment([0, 1, 3], 0.9)
    b1 = np.eye(2)[[0, 0, 0]]
    wrong = {
        "another class": [3, 1, 0],
        "is constant": [1, 1, 1],
        r"\(2,\); allowed \(3,\)": [0, 1],
    }
    for said, other in (wrong | {"a mapping; .* game.states": dict(enumerate("123"))}).items():
        with pytest.raises(InvalidValue, match=said):
            verify_affine(other, environment, b1)
    with pytest.raises(InvalidArgument, match="is not constant"):
        verify_affine([0, 1, 3], ideal_environment([2, 2, 2], 0.9), b1)
    game, alone = environment.game, np.ones((3, 1))
    log = sample_trajectory(game, alone, b1, 0, min_length=5)
    with pytest.raises(InvalidObservation, match=r"is a trajectory; allowed .*follower_policy"):
        verify_affine([0, 1, 3], environment, log)
    with pytest.raises(InvalidArgument, match=r"is a trajectory; allowed .*observe\("):
        violation(game, [0, 1, 3], log, 0, 0)
    for labels in (["b1"] * 3, {0: "b1"}):
        with pytest.raises(InvalidPolicy, match=r"follower_policy\(\{state: action\}\)"):
            verify_affine([0, 1, 3], environment, labels)
    with pytest.raises(InvalidPolicy):
        verify_affine([0, 1, 3], environment, b1[:2])
    with pytest.raises(InvalidObservation, match="names no action"):
        verify_affine([0, 1, 3], environment, np.zeros((3, 2), dtype=bool))


# Inclusions in general


@share(0.6)
@given(n=st.integers(2, 4), episodes=st.integers(0, 3), seed=st.integers(0, 2**32 - 1))
def test_a_half_space_is_proved_or_has_a_witness_on_any_game(n, episodes, seed):
    rng = np.random.default_rng(seed)
    game, _ = random_game(n, 2, 3, rng=seed % 1000)
    truth, feasible = rng.random(n), FeasibleRewards(game)
    for t in range(episodes):
        pi1 = rng.dirichlet(np.ones(2), n)
        answer = OptimalFollower(["first", "mix", "all"][t]).respond(game, truth, pi1)
        feasible = feasible.observe(pi1, answer)
    free, tied = feasible.explicit_rows()
    h = rng.normal(size=(1, n))
    if len(free) and rng.random() < 0.7:
        h = rng.random((1, len(free))) @ free
    found = prove_inclusion(feasible, h)
    if found:
        assert found.residual <= 1e-6
        assert found.halfspaces @ truth >= -1e-6
        for x in rng.normal(size=(50, n)):
            if (free @ x >= 0).all() and (np.abs(tied @ x) <= 1e-12).all():
                assert found.halfspaces @ x >= -1e-6
    else:
        assert feasible.contains(found.witness, tolerance=1e-6)
        assert found.value == pytest.approx(found.halfspaces[0] @ found.witness)
        assert found.value < 0
        assert np.abs(found.witness).max() <= 1 + 1e-9


def test_without_an_episode_every_half_space_has_a_witness():
    game = TwoAgentMDP(np.ones((2, 1, 2, 2), dtype=np.int64), 0.9)
    found = prove_inclusion(FeasibleRewards(game), [[1.0, -1.0]])
    assert not found
    assert found.value == pytest.approx(-2)
    for bad in ([[0.0, 0.0]], [1.0, 2.0], [[1.0, np.nan]]):
        with pytest.raises(InvalidArgument, match="halfspaces"):
            prove_inclusion(FeasibleRewards(game), bad)
