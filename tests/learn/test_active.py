"""The active learner: frozen, honest about the truth, within its budget, ahead of Algorithm 1."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from instances import games, rewards

from iirl_opt.errors import InvalidArgument
from iirl_opt.follower import OptimalFollower, best_responses
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.values import evaluate, modified_policy_iteration
from iirl_opt.learn.active import ActiveIRL
from iirl_opt.learn.interactive import InteractiveIRL, interact
from iirl_opt.programs.commitment import commit


def played(game, truth, episodes=4, ties="first", **options):
    learner = ActiveIRL(game, **options)
    for episode in interact(learner, truth, episodes, follower=OptimalFollower(ties, 0)):
        learner = episode.learner
    return learner


@st.composite
def runs(draw):
    game = draw(games(leader=(1, 3), follower=(1, 3)))
    truth = np.asarray(draw(rewards(game.n_states)), dtype=float)
    ties = draw(st.sampled_from(["first", "last", "random", "mix", "all"]))
    if ties == "all":
        learner = ActiveIRL(game)
        for _ in range(3):
            pi1 = learner.ask()
            learner = learner.tell(OptimalFollower("all").respond(game, pi1, truth))
        return game, truth, learner
    return game, truth, played(game, truth, 3, ties)


@given(run=runs())
def test_the_truth_stays_feasible_and_the_estimate_lies_in_the_simplex(run):
    game, truth, learner = run
    assert learner.known.contains(truth)
    assert game.check_leader_policy(learner.ask()).shape == game.shape[:2]
    if learner.reward is not None:
        assert learner.reward.min() > 0
        assert learner.reward.sum() == pytest.approx(1)
        # Flat sets are met within about the reciprocal of the price.
        assert learner.centre.violation < 1e-5


@given(run=runs())
def test_the_same_learner_always_asks_the_same(run):
    _, _, learner = run
    assert np.array_equal(learner.ask(), learner.ask())
    assert np.array_equal(pickle.loads(pickle.dumps(learner)).ask(), learner.ask())


def costs(learner):
    """What the next commitment loses under the estimate, by planning alone."""
    game, r = learner.game, learner.reward
    best = game.start @ modified_policy_iteration(game, r).values
    return float(best - game.start @ best_responses(game, learner.ask(), r).values)


@pytest.mark.parametrize("seed", range(5))
def test_the_commitment_costs_what_the_plan_says_and_no_more_than_the_budget(seed):
    game, truth = random_game(12, 3, 3, seed)
    learner = played(game, truth, 2)
    budget = learner.patience * learner.fade**learner.episode * learner.expected_regret
    assert costs(learner) == pytest.approx(learner.plan.cost, abs=1e-9)
    assert costs(learner) <= budget + 1e-9
    assert len(learner.plan.states) > 0


def test_a_learner_that_stops_plays_what_is_optimal_for_its_estimate():
    game, truth = random_game(10, 3, 3, 0)
    for learner in (played(game, truth, 3).stop(), played(game, truth, 3, patience=0.0)):
        assert costs(learner) == pytest.approx(0, abs=1e-9)
        assert set(np.unique(learner.ask())) <= {0.0, 1.0}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ties", ["first", "last", "mix"])
def test_it_ends_far_below_algorithm_1(seed, ties):
    game, truth = random_game(12, 3, 3, seed)
    follower = OptimalFollower(ties, 0)
    late = []
    for learner in (ActiveIRL(game, seed=seed), InteractiveIRL(game, seed=seed)):
        regrets = [e.regret for e in interact(learner, truth, 30, follower=follower)]
        late.append(np.mean(regrets[20:]))
    best = commit(game, truth).value
    assert late[0] <= max(0.1 * late[1], 1e-6 * best)


def test_nothing_can_be_learnt_where_every_answer_is_the_same():
    # Both states are reached whatever the follower does: no commitment tells rewards apart.
    game = TwoAgentMDP(np.full((2, 2, 2, 2), 1, dtype=int), "9/10")
    learner = played(game, [1.0, 0.0], 5)
    assert learner.reward is None
    assert learner.known.count_rows() == 0


def test_a_repeated_episode_brings_no_rows():
    game, truth = random_game(8, 2, 2, 3)
    learner = ActiveIRL(game)
    pi1 = learner.ask()
    response = OptimalFollower().respond(game, pi1, truth)
    once = learner.tell(response, pi1=pi1)
    twice = once.tell(response, pi1=pi1)
    assert len(twice._rows) == len(once._rows)
    assert twice.episode == 2


def test_contradicting_episodes_are_named_and_the_learner_goes_on():
    game, _ = random_game(6, 2, 2, 1)
    learner = ActiveIRL(game, price=1e3)
    rng = np.random.default_rng(0)
    for _ in range(6):
        noise = rng.standard_normal(6)
        learner = learner.tell(OptimalFollower().respond(game, learner.ask(), noise))
    assert learner.contradictions()
    assert game.check_leader_policy(learner.ask()).shape == (6, 2)


def test_a_certificate_ends_exploration_only_where_the_bound_allows():
    game, truth = random_game(5, 2, 2, 4)
    learner = played(game, truth, 12).stop()
    bound = learner.regret()
    assert bound.check()
    assert learner.certified(bound.upper + 1e-9)
    normal = (truth - truth.min()) / (truth - truth.min()).sum()
    seen = OptimalFollower().respond(game, learner.ask(), truth)
    own = commit(game, normal).value - commit_value(game, normal, learner.ask(), seen)
    assert own <= bound.upper + 1e-8


def commit_value(game, reward, pi1, response):
    return float(game.start @ evaluate(game, reward, (pi1, response)))


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 1, 2), (3, 2, 1), (1, 2, 2)])
@pytest.mark.parametrize("discount", [0, "9/10"])
def test_small_games_and_discount_zero_do_no_harm(shape, discount):
    states, a, b = shape
    kernel = np.ones((states, a, b, states), dtype=int)
    learner = played(TwoAgentMDP(kernel, discount), np.arange(states, dtype=float), 3)
    assert learner.episode == 3


@pytest.mark.parametrize(
    ("name", "value"),
    [("patience", -1.0), ("patience", np.nan), ("fade", 0.0), ("share", 1.5), ("price", 0.0)],
)
def test_an_option_outside_its_range_is_refused(name, value):
    game, _ = random_game(3, 2, 2, 0)
    with pytest.raises(InvalidArgument, match=name):
        ActiveIRL(game, **{name: value})
