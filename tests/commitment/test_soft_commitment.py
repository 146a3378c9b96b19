"""Committing to a soft-optimal follower: gradients against differences, bounds, and refusals."""

import itertools

import numpy as np
import pytest

import iirl_opt as iirl
from iirl_opt.commitment import (
    Enumeration,
    LocalSearch,
    MixedInteger,
    ValueIteration,
    start_gradient,
    value_bounds,
)
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower import SoftOptimalFollower


def test_the_gradient_is_that_of_differences():
    rng = np.random.default_rng(0)
    for k in range(6):
        game, _ = iirl.random_game(4, 3, 2, rng=k)
        own, theirs = rng.normal(size=(2, *game.shape))
        follower = SoftOptimalFollower(10 ** rng.uniform(-1.5, 1))
        problem = iirl.CommitmentProblem(game, own, follower, follower_reward=theirs)
        pi1, step = iirl.random_policy(4, 3, rng), rng.normal(size=(4, 3))
        step = 1e-5 * (step - step.mean(axis=1, keepdims=True))
        ends = [start_gradient(problem, pi1 + sign * step).value for sign in (1, -1)]
        slope = (start_gradient(problem, pi1).gradient * step).sum()
        assert (ends[0] - ends[1]) / 2 == pytest.approx(slope, rel=1e-4, abs=1e-10)


def test_a_commitment_is_no_worse_than_deterministic_ones_and_within_its_bound():
    for seed in range(4):
        game, reward = iirl.random_game(3, 2, 2, rng=seed)
        problem = iirl.CommitmentProblem(game, reward, SoftOptimalFollower(0.3))
        found = iirl.commit(game, reward, problem.follower)
        policies = [np.eye(2)[list(a)] for a in itertools.product(range(2), repeat=3)]
        values = [float(game.start @ problem.reply(p).values) for p in policies]
        assert max(values) <= found.value + 1e-7 <= found.bound + 2e-7
        assert max(values) <= float(game.start @ value_bounds(problem).w_hi) + 1e-9
        assert found.value == pytest.approx(float(game.start @ problem.reply(found.policy).values))


@pytest.mark.parametrize("method", [Enumeration(), ValueIteration(), iirl.BranchAndBound()])
def test_methods_for_local_followers_refuse_it(method):
    game, reward = iirl.random_game(3, 2, 2, rng=0)
    with pytest.raises(InvalidArgument, match="follower is SoftOptimalFollower"):
        iirl.commit(game, reward, SoftOptimalFollower(0.3), by=method)


def test_so_do_exact_searches_and_programs():
    game, reward = iirl.random_game(3, 2, 2, rng=0)
    follower = SoftOptimalFollower(0.3)
    for refused in (
        lambda: iirl.commit(game, reward, follower, exact=True),
        lambda: iirl.commit(game, reward, follower, by=MixedInteger()),
        lambda: iirl.dominance(iirl.CommitmentProblem(game, reward, follower)),
        lambda: LocalSearch(begin=ValueIteration(), steps=-1),
    ):
        with pytest.raises(InvalidArgument, match=r"follower is SoftOptimalFollower|steps"):
            refused()
