from dataclasses import dataclass

import numpy as np
import pytest
from depth import share
from exhaustive import all_values, every_commitment, random_problem
from hypothesis import given, strategies as st

from iirl_opt.commitment.misspecification import (
    assume,
    misspecification_loss,
    plan_for,
    value_of_information,
)
from iirl_opt.commitment.plans import Commitment
from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower
from iirl_opt.follower.proportional import ProportionalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.optimum import policy_iteration
from iirl_opt.game.policy import deterministic_policy


@share(0.4)
@given(seed=st.integers(0, 10**6))
def test_losses_are_those_of_a_plain_loop(seed):
    problem = random_problem(seed, "Boltzmann 1", states=3)
    start = problem.game.start
    scores = all_values(problem) @ start
    assumed = {"cold": BoltzmannFollower(5), "greedy": EpsilonGreedyFollower(0.3)}
    found = misspecification_loss(problem, assumed)
    assert list(found) == ["optimal", "cold", "greedy"]
    for name, answer in found.items():
        follower = assumed.get(name, OptimalFollower())
        theirs = all_values(assume(problem, follower)) @ start
        at = every_commitment(problem).index(tuple(answer.actions.tolist()))
        assert theirs[at] == pytest.approx(theirs.max(), abs=1e-7)
        assert answer.value == pytest.approx(scores[at], abs=1e-9)
        assert answer.loss == pytest.approx(scores.max() - scores[at], abs=1e-7)
        assert answer.loss <= answer.loss_bound
        assert answer.best.complete


def test_assuming_the_true_follower_loses_nothing():
    game, reward = random_game(12, 2, 3, rng=5)
    problem = CommitmentProblem(game, reward, BoltzmannFollower(2))
    answer = misspecification_loss(problem, BoltzmannFollower(2))["assumed"]
    assert answer.loss == pytest.approx(0, abs=1e-7)


def test_assuming_optimality_plays_the_leaders_part_of_the_joint_policy():
    game, reward = random_game(12, 3, 3, rng=5)
    problem = CommitmentProblem(game, reward, BoltzmannFollower(1))
    answer = misspecification_loss(problem)["optimal"]
    joint = policy_iteration(game, reward)
    assert answer.actions.tolist() == (joint.actions // 3).tolist()  # no ties in this game
    assert answer.loss > 0


@dataclass(frozen=True, eq=False)
class Always:
    """A method of one's own: the same commitment, whatever the problem."""

    policy: object

    def plan(self, problem):
        return Commitment.of(problem, self.policy, method="always")


def test_a_method_of_ones_own_is_used():
    game, reward = random_game(6, 2, 2, rng=5)
    problem = CommitmentProblem(game, reward, BoltzmannFollower(1))
    row = [0, 1, 0, 1, 0, 1]
    found = misspecification_loss(problem, by=Always(deterministic_policy(row, 2)))["optimal"]
    assert found.actions.tolist() == row
    assert found.value == pytest.approx(problem.values_of([row])[0] @ game.start)


@pytest.mark.parametrize("policy", [deterministic_policy([0, 1, 0], 2), np.full((3, 2), 0.5)])
def test_a_plan_that_is_no_deterministic_commitment_to_allowed_actions_is_refused(policy):
    game, reward = random_game(3, 2, 2, rng=5)
    allowed = [[True, True], [True, False], [True, True]]
    problem = CommitmentProblem(game, reward, BoltzmannFollower(1), allowed=allowed)
    with pytest.raises(InvalidArgument, match="plan for 'optimal'"):
        misspecification_loss(problem, by=Always(policy))


def test_a_time_limit_leaves_a_bound_on_the_loss():
    game, reward = random_game(14, 2, 3, rng=3)
    problem = CommitmentProblem(game, reward, BoltzmannFollower(2))
    early = misspecification_loss(problem, time_limit=0)["optimal"]
    full = misspecification_loss(problem)["optimal"]
    assert not early.best.complete
    assert early.loss <= full.loss + 1e-9 <= early.loss_bound + 2e-9


def test_other_followers_keep_rewards_allowed_actions_and_ties_that_mean_something():
    problem = random_problem(4, "greedy, pessimistic", states=4)
    other = assume(problem, OptimalFollower())
    assert (other.ties, other.allowed.tolist()) == ("pessimistic", problem.allowed.tolist())
    assert other.follower_reward.tolist() == problem.follower_reward.tolist()
    assert assume(problem, BoltzmannFollower(1)).ties is None


def test_the_plan_for_an_optimal_follower_is_best_where_the_start_never_leads():
    # A start distribution on one state: what is played elsewhere matters to other followers.
    game, reward = random_game(8, 2, 2, rng=6, successors=2, restart=False)
    problem = CommitmentProblem(game, reward)
    values = problem.values_of(plan_for(problem)[None])[0]
    np.testing.assert_allclose(values, policy_iteration(game, reward).values, atol=1e-9)


def test_a_follower_without_bounds_is_planned_for_by_enumeration():
    game, reward = random_game(4, 2, 2, rng=0)
    problem = CommitmentProblem(game, reward, ProportionalFollower(lambda q: np.exp(-q)))
    scores = all_values(problem) @ game.start
    found = misspecification_loss(problem, problem.follower)
    assert found["assumed"].loss == pytest.approx(0, abs=1e-12)
    assert found["optimal"].best.value == pytest.approx(scores.max())


@share(0.4)
@given(seed=st.integers(0, 10**6))
def test_the_value_of_information_is_that_of_a_plain_loop(seed):
    problem = random_problem(seed, "Boltzmann 1", states=4)
    followers = [BoltzmannFollower(beta) for beta in (0.3, 2, 20)]
    prior = np.array([0.5, 0.3, 0.2])
    table = [all_values(assume(problem, f)) @ problem.game.start for f in followers]
    found = value_of_information(problem, followers, 10 * prior)
    mixed = prior @ table
    assert found.value == pytest.approx(mixed.max(), abs=1e-9)
    assert found.value == pytest.approx(prior @ found.values, abs=1e-9)
    np.testing.assert_allclose(found.known_values, np.max(table, axis=1), atol=1e-9)
    assert found.gain == pytest.approx(prior @ np.max(table, axis=1) - mixed.max(), abs=1e-9)
    for follower, actions, value in zip(
        followers, found.known_actions, found.known_values, strict=True
    ):
        values = assume(problem, follower).values_of(actions[None])[0]
        assert values @ problem.game.start == pytest.approx(value)


def test_a_known_type_has_no_value_of_information():
    game, reward = random_game(6, 2, 2, rng=1)
    problem = CommitmentProblem(game, reward)
    assert value_of_information(problem, [BoltzmannFollower(1)]).gain == 0
    same = value_of_information(problem, [BoltzmannFollower(1)] * 3, [1, 0, 2])
    assert same.gain == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("weights", [[1.0], [0, 0], [1, -1], [np.nan, 1], [np.inf, 1]])
def test_weights_that_are_no_prior_are_refused(weights):
    game, reward = random_game(3, 2, 2, rng=1)
    followers = [BoltzmannFollower(1), BoltzmannFollower(2)]
    with pytest.raises(InvalidArgument, match="weights"):
        value_of_information(CommitmentProblem(game, reward), followers, weights)


def test_no_types_and_too_many_commitments_are_refused():
    game, reward = random_game(30, 2, 2, rng=1)
    problem = CommitmentProblem(game, reward)
    with pytest.raises(InvalidArgument, match="followers"):
        value_of_information(problem, [])
    with pytest.raises(InvalidArgument, match="1,073,741,824"):
        value_of_information(problem, [BoltzmannFollower(1)])
