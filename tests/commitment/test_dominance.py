import numpy as np
import pytest
from depth import share
from exhaustive import FOLLOWERS, all_values, random_problem
from hypothesis import given, strategies as st

from iirl_opt.commitment.dominating import (
    DominanceVerdict,
    _not_jointly,
    dominance,
    optimistic_commitment,
)
from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower
from iirl_opt.follower.proportional import ProportionalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import policy_iteration

DOMINATING, RULED_OUT, UNDECIDED = DominanceVerdict


def branching(n_states):
    """s0 leads to s1 (b1) or s2 (b2); all else to the last state."""
    kernel = np.zeros((n_states, 2, 2, n_states))
    kernel[..., -1] = 1
    kernel[0] = 0
    kernel[0, :, 0, 1] = kernel[0, :, 1, 2] = 1
    return kernel


def theorem_3(follower, discount=0.5):
    kernel = branching(6)
    kernel[2] = 0
    kernel[2, 0, :, 3] = kernel[2, 1, :, 4] = 1
    reward = np.array([0, 4 / discount**2, 0, 1 / discount**3, 0, 0])
    return CommitmentProblem(TwoAgentMDP(kernel, discount), reward, follower)


def lemma_3(epsilon, delta, discount=0.5, ties="first"):
    kernel = branching(7)
    kernel[2] = 0
    kernel[2, 0, 0, 3] = kernel[2, 0, 1, 4] = kernel[2, 1, :, 5] = 1
    loss = -2 * (2 - delta) * (1 - epsilon / 2) / epsilon
    reward = np.array([0, 1, 0, 2 / discount, loss / discount, 0, 0])
    follower = EpsilonGreedyFollower(epsilon, ties)
    return CommitmentProblem(TwoAgentMDP(kernel, discount), reward, follower)


@pytest.mark.parametrize("follower", [BoltzmannFollower(1), ProportionalFollower(np.exp)])
@pytest.mark.parametrize("limit", [100_000, 1])
def test_theorem_3_is_ruled_out_by_s0_and_s2(follower, limit):
    problem = theorem_3(follower)
    found = dominance(problem, limit=limit)
    assert (found.verdict, found.states) == (RULED_OUT, (0, 2))
    assert found.actions is None
    # a2 is best from s0, a1 from s2: each worse than the other where it is not best.
    assert found.best_actions[:, 2].tolist() == [1, 0]
    expected = [problem.values_of(found.best_actions[i : i + 1])[0, [0, 2]] for i in (0, 1)]
    np.testing.assert_allclose(found.best_values, expected)
    assert found.best_values[0, 0] > found.best_values[1, 0] + 1e-3
    assert found.best_values[1, 1] > found.best_values[0, 1] + 1e-3
    assert 1e-4 < found.shortfall <= (found.best_values[0, 0] - found.best_values[1, 0]) / 2 + 1e-9
    assert found.exact


@pytest.mark.parametrize("ties", ["first", "last"])
@pytest.mark.parametrize("limit", [100_000, 1])
def test_lemma_3_is_ruled_out_by_s0_and_s2(ties, limit):
    found = dominance(lemma_3(0.5, 0.3, ties=ties), limit=limit)
    assert (found.verdict, found.states) == (RULED_OUT, (0, 2))
    assert found.best_values[0, 0] == pytest.approx(0.5 * 0.75)
    assert found.best_values[1, 0] == pytest.approx(0.209375)
    assert found.best_values[1, 1] == pytest.approx(0.225)
    assert found.best_values[0, 1] == pytest.approx(0)


@pytest.mark.parametrize("epsilon", [0.5, 0.9])
def test_outside_lemma_3s_condition_on_delta_a_commitment_dominates(epsilon):
    inside = (1 - epsilon) / (1 - epsilon / 2) ** 2
    assert dominance(lemma_3(epsilon, 0.9 * inside)).verdict is RULED_OUT
    assert dominance(lemma_3(epsilon, 1.1 * inside)).verdict is DOMINATING


def test_without_a_future_a_commitment_dominates():
    game, _ = random_game(5, 3, 3, rng=0, discount=0)
    reward = np.random.default_rng(0).normal(size=(5, 3, 3))
    problem = CommitmentProblem(game, reward, BoltzmannFollower(1))
    assert dominance(problem).verdict is DOMINATING


@share(0.6)
@given(seed=st.integers(0, 10**6), uniform=st.sampled_from(["uniform", "Boltzmann 0"]))
def test_something_dominates_against_a_uniform_follower_and_is_best_everywhere(seed, uniform):
    problem = random_problem(seed, uniform, states=4)
    found = dominance(problem)
    assert (found.verdict, found.states, found.shortfall) == (DOMINATING, (), 0.0)
    np.testing.assert_allclose(found.values, all_values(problem).max(axis=0), atol=1e-8)


@pytest.mark.parametrize("ties", ["first", "last", "mix"])
def test_against_an_optimal_follower_the_joint_policys_part_dominates(ties):
    game, reward = random_game(60, 4, 4, rng=1)
    problem = CommitmentProblem(game, reward, OptimalFollower(ties))
    found = dominance(problem)
    assert found.verdict is DOMINATING
    joint = policy_iteration(game, reward)
    np.testing.assert_allclose(found.values, joint.values, atol=1e-9)
    np.testing.assert_allclose(found.bounds, joint.values, atol=1e-9)
    assert found.exact


@pytest.mark.parametrize("kind", FOLLOWERS)
@share(0.24)
@given(seed=st.integers(0, 10**6))
def test_the_verdict_agrees_with_a_plain_loop_and_its_evidence_holds(kind, seed):
    problem = random_problem(seed, kind, states=4)
    values = all_values(problem)
    best = values.max(axis=0)
    for limit in (100_000, 0):
        found = dominance(problem, tolerance=1e-7, limit=limit)
        clear = (best - values).max(axis=1).min()
        if clear < 1e-8:
            assert found.verdict is DOMINATING
        elif clear > 1e-5:
            assert found.verdict in (RULED_OUT, UNDECIDED) if limit == 0 else (RULED_OUT,)
        assert (found.bounds >= best - 1e-9).all()
        assert (found.values <= best + 1e-9).all()
        if found.verdict is DOMINATING:
            assert (problem.values_of(found.actions[None])[0] >= best - 1e-6).all()
        if found.verdict is RULED_OUT:
            states = list(found.states)
            assert len(states) >= 2
            lost = (best - values)[:, states]
            assert (lost.max(axis=1) > 1e-7).all()
            assert (lost.mean(axis=1) >= found.shortfall - 1e-8).all()
            np.testing.assert_allclose(np.diag(found.best_values), best[states], atol=1e-6)


def test_three_states_are_named_where_no_two_suffice():
    attained = ~np.eye(3, dtype=bool)  # each commitment is best from two of the three states
    assert _not_jointly(attained, 1.0 * ~attained) == [0, 1, 2]
    padded = np.pad(attained, ((0, 0), (1, 1)), constant_values=True)
    assert _not_jointly(padded, 1.0 * ~padded) == [1, 2, 3]


def test_of_several_pairs_the_one_with_the_largest_loss_is_named():
    attained = np.eye(3, dtype=bool)
    loss = np.array([[0, 1, 5], [1, 0, 4], [1, 4, 0.0]])
    assert _not_jointly(attained, loss) == [1, 2]


def test_no_time_leaves_it_undecided_with_valid_bounds():
    problem = theorem_3(BoltzmannFollower(1))
    found = dominance(problem, limit=1, time_limit=0)
    best = all_values(problem).max(axis=0)
    assert (found.values <= best + 1e-12).all()
    assert (found.bounds >= best - 1e-12).all()


def test_bounds_decide_as_enumeration_does():
    verdicts = set()
    for seed in range(3):
        game, reward = random_game(9, 2, 2, rng=seed)
        problem = CommitmentProblem(game, reward, BoltzmannFollower(2))
        exact, found = dominance(problem), dominance(problem, limit=1, time_limit=None)
        assert found.verdict is exact.verdict
        assert found.exact
        np.testing.assert_allclose(found.values, exact.values, atol=1e-7)
        verdicts.add(found.verdict)
    assert RULED_OUT in verdicts


def test_a_stochastic_commitment_may_beat_every_deterministic_one():
    problem = lemma_3(0.5, 0.25, discount=0.5, ties="first")  # dyadic, so the tie is one
    best = dominance(problem).values
    pi1 = np.tile([0.5, 0.5], (7, 1))
    assert problem.reply(pi1).values[0] > best[0] + 0.01


def test_optimistic_commitment_bounds_everything():
    problem = random_problem(11, "Boltzmann 1", states=4)
    actions, values, bounds = optimistic_commitment(problem)
    shift = float(problem.offset)
    np.testing.assert_allclose(values + shift, problem.values_of(actions[None])[0])
    assert (all_values(problem) <= bounds + shift + 1e-10).all()


def test_bad_arguments_are_named():
    problem = theorem_3(BoltzmannFollower(1))
    with pytest.raises(InvalidArgument, match="tolerance"):
        dominance(problem, tolerance=-1)
    unbounded = theorem_3(ProportionalFollower(lambda q: np.exp(-q)))
    with pytest.raises(InvalidArgument, match="64"):
        dominance(unbounded, limit=10)
