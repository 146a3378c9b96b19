"""The learner of Algorithm 4: ask and tell, its options, its baseline and its driver."""

import numpy as np
import pytest

from iirl_opt.bayesian.algorithm_4 import BayesianInteractiveIRL
from iirl_opt.bayesian.families import EpsilonGreedyFamily
from iirl_opt.commitment.algorithms_2_and_3 import ValueIteration
from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.errors import InvalidArgument, InvalidObservation, InvalidPolicy
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.values import evaluate
from iirl_opt.learn.episode_regret import best_value, plan_for
from iirl_opt.learn.episodes import interact
from iirl_opt.observation import sample_trajectory

GAME, TRUTH = random_game(5, 2, 2, rng=6)
TRUTH = TRUTH / TRUTH.sum()
PARTNER = BoltzmannFollower(30.0)


def learner(**settings):
    return BayesianInteractiveIRL(GAME, **{"proposals": 150, "thin": 5, "fast": False, **settings})


def told(some, episodes=2):
    for _ in range(episodes):
        pi1 = some.ask()
        some = some.tell(PARTNER.respond(GAME, TRUTH, pi1), pi1=pi1)
    return some


def test_the_first_commitment_is_deterministic_random_or_given():
    first = learner(seed=1).ask()
    assert set(np.unique(first)) == {0.0, 1.0}
    np.testing.assert_array_equal(first, learner(seed=1).ask())
    assert any((first != learner(seed=s).ask()).any() for s in range(2, 8))
    given = np.full((5, 2), 0.5)
    np.testing.assert_array_equal(learner(first=given).ask(), given)


def test_it_commits_by_algorithm_2_under_the_posterior_means():
    some = told(learner())
    np.testing.assert_allclose(some.estimate(), some.sample().rewards.mean(axis=(0, 1)))
    problem = CommitmentProblem(GAME, some.estimate(), BoltzmannFollower(some.estimate_parameter()))
    np.testing.assert_array_equal(some.ask(), ValueIteration().iterate(problem).policy)


def test_chains_start_where_those_of_the_last_episode_ended():
    old = told(learner(chains=2), 1)
    new = told(old, 1)
    for (r, beta), (s, theta) in zip(new.initial, old.sample().last, strict=True):
        np.testing.assert_array_equal(r, s)
        assert beta == theta


def test_trajectories_and_responses_can_be_told():
    some = learner()
    rng = np.random.default_rng(0)
    steps = sample_trajectory(GAME, some.ask(), PARTNER.respond(GAME, TRUTH, some.ask()), rng)
    one = some.tell(steps)
    assert one.known.counts[0].sum() == len(steps)
    assert one.history == (steps,)
    two = one.tell(PARTNER.respond(GAME, TRUTH, one.ask()), weight=4.0)
    assert two.episode == 2
    other = 1 - some.ask()
    with pytest.raises(InvalidObservation, match="pi1"):
        some.tell(steps, pi1=other)
    with pytest.raises(InvalidPolicy):
        some.tell(np.ones((5, 2)))
    with pytest.raises(InvalidObservation, match="mask"):
        some.tell(np.ones((5, 2), dtype=bool))


def test_thompson_sampling_plans_for_one_of_the_draws():
    some = told(learner(choose="thompson"), 1)
    r, beta = some.sample().pick(np.random.default_rng([0, 1, 1]))
    np.testing.assert_array_equal(some.ask(), plan_for(GAME, r, BoltzmannFollower(beta)))


def test_the_value_choice_is_no_worse_on_its_draws_than_the_mean():
    mean, value = told(learner(), 1), told(learner(choose="value", candidates=6), 1)
    rng = np.random.default_rng([0, 1, 1])
    for _ in range(6):
        value.sample().pick(rng)
    believed = [value.sample().pick(rng) for _ in range(6)]

    def worth(pi1):
        total = 0.0
        for r, beta in believed:
            response = BoltzmannFollower(beta).respond(GAME, r, pi1)
            total += GAME.start @ evaluate(GAME, r, (pi1, response))
        return total

    assert worth(value.ask()) >= worth(mean.ask()) - 1e-12


def test_the_fixed_environment_commits_to_the_same_and_learns_all_the_same():
    some = told(learner(fixed=True), 3)
    np.testing.assert_array_equal(some.ask(), learner().ask())
    assert len(some.known.commitments) == 1
    assert some.known.episodes == 3
    expected = plan_for(GAME, some.estimate(), BoltzmannFollower(some.estimate_parameter()))
    np.testing.assert_array_equal(some.plan(), expected)


def test_normalised_means_are_those_of_normalised_draws():
    some = told(learner(normalise="min"), 1)
    np.testing.assert_allclose(some.estimate(), some.sample().normalised("min").mean_reward)
    assert (some.sample().rewards.min(axis=-1) > 0).any()


def test_other_families_are_planned_for_by_their_own_followers():
    some = told(learner(family=EpsilonGreedyFamily()), 1)
    assert 0 <= some.estimate_parameter() <= 1
    follower = EpsilonGreedyFollower(some.estimate_parameter(), ties="mix")
    np.testing.assert_array_equal(some.ask(), plan_for(GAME, some.estimate(), follower))


@pytest.mark.parametrize("wrong", [{"choose": "best"}, {"normalise": "max"}, {"candidates": 0}])
def test_options_that_do_not_exist_are_refused(wrong):
    with pytest.raises(InvalidArgument):
        learner(**wrong)


# The driver


def test_a_run_yields_episodes_with_true_values():
    run = list(interact(learner(), TRUTH, 3, follower=PARTNER, min_length=2))
    assert [e.number for e in run] == [1, 2, 3]
    best = best_value(GAME, TRUTH, PARTNER)
    for episode, steps in zip(run, run[-1].learner.history, strict=True):
        np.testing.assert_array_equal(episode.plan, steps.pi1)
        response = PARTNER.respond(GAME, TRUTH, steps.pi1)
        value = GAME.start @ evaluate(GAME, TRUTH, (steps.pi1, response))
        assert episode.value == pytest.approx(value)
        assert episode.regret == pytest.approx(best - value)


def test_a_run_goes_on_where_it_was_left():
    whole = [e.regret for e in interact(learner(), TRUTH, 3, follower=PARTNER)]
    *_, half = interact(learner(), TRUTH, 2, follower=PARTNER)
    rest = [e.regret for e in interact(half.learner, TRUTH, 3, follower=PARTNER)]
    assert rest == whole[2:]


def test_regret_goes_away_where_the_follower_is_seen_well():
    pytest.importorskip("numba")
    some = learner(seed=5, proposals=2000, thin=10, chains=2, fast=None)
    run = list(interact(some, TRUTH, 8, follower=PARTNER, min_length=150))
    assert np.mean([e.regret for e in run[-3:]]) < 0.02 * best_value(GAME, TRUTH, PARTNER)
