"""Choices of a reward: each explains what was seen, and is the centre that its name promises."""

import numpy as np
import pytest

from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import random_policy
from iirl_opt.learn.algorithm_1 import InteractiveIRL
from iirl_opt.learn.choices import (
    AnalyticCentre,
    ChebyshevCentre,
    HitAndRunMean,
    MeanOfVertices,
    RandomVertex,
)
from iirl_opt.learn.episodes import interact
from iirl_opt.rewards.domains import RewardSimplex
from iirl_opt.rewards.feasible import FeasibleRewards

CHOICES = [
    RandomVertex(),
    MeanOfVertices(3),
    ChebyshevCentre(),
    AnalyticCentre(),
    HitAndRunMean(20),
]


def seen(seed, episodes=3):
    game, truth = random_game(6, 2, 3, seed)
    feasible, rng = FeasibleRewards(game), np.random.default_rng(seed)
    for _ in range(episodes):
        pi1 = random_policy(6, 2, rng)
        feasible = feasible.observe(pi1, OptimalFollower().respond(game, truth, pi1))
    return feasible


def test_inner_points_have_more_room_than_vertices_and_the_ball_has_most():
    feasible = seen(4)
    rows = feasible.distinct_rows().rows
    rows = rows - rows.mean(axis=1, keepdims=True)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    n = feasible.game.n_states
    walls = np.eye(n) - 1 / n
    walls /= np.linalg.norm(walls, axis=1, keepdims=True)

    def room(choice):
        r = choice.choose(feasible, np.random.default_rng(1)).reward
        return min((rows @ r).min(), (walls @ r + 1 / n / np.sqrt(1 - 1 / n)).min())

    rooms = [room(choice) for choice in CHOICES]
    assert rooms[0] == pytest.approx(0, abs=1e-9)
    assert max(rooms) == pytest.approx(rooms[2])
    assert rooms[3] > 0
    assert rooms[4] > 0


def test_the_mean_of_one_vertex_is_a_vertex():
    feasible = seen(2)
    one, mean = (
        choice.choose(feasible, np.random.default_rng(5)).reward
        for choice in (RandomVertex(), MeanOfVertices(1))
    )
    assert np.array_equal(one, mean)


@pytest.mark.parametrize("kind", [MeanOfVertices, HitAndRunMean])
def test_no_point_at_all_is_refused(kind):
    with pytest.raises(InvalidArgument, match="n is 0"):
        kind(0)


# In the learner


@pytest.mark.parametrize("choice", CHOICES, ids=lambda c: type(c).__name__)
def test_a_learner_plays_what_is_optimal_for_its_choice(choice):
    game, truth = random_game(6, 2, 2, 7)
    for episode in interact(InteractiveIRL(game, choice=choice), truth, 3):
        learner = episode.learner
    assert learner.known.contains(truth)
    expected = choice.choose(learner.known, np.random.default_rng([0, 3])).reward
    assert learner.estimate() == pytest.approx(expected)


def test_the_printed_choice_is_the_default():
    game, truth = random_game(6, 2, 2, 7)
    plain = [e.regret for e in interact(InteractiveIRL(game), truth, 4)]
    named = [e.regret for e in interact(InteractiveIRL(game, choice=RandomVertex()), truth, 4)]
    assert plain == named


def test_random_ties_of_the_leader_are_optimal_for_the_estimate_too():
    game, truth = random_game(6, 3, 2, 1)
    copies = TwoAgentMDP(np.repeat(game.kernel, 2, axis=1), game.discount, game.start)
    learner = InteractiveIRL(copies, leader_ties="random")
    asked = [e.learner.ask().argmax(axis=1) for e in interact(learner, truth, 6)]
    assert len({tuple(a % 2) for a in asked}) > 1  # copies of one action are tied
    again = [e.learner.ask().argmax(axis=1) for e in interact(learner, truth, 6)]
    assert np.array_equal(asked, again)


def test_what_does_not_fit_together_is_refused():
    game, _ = random_game(3, 2, 2, 0)
    with pytest.raises(InvalidArgument, match="choice"):
        InteractiveIRL(game, choice=RandomVertex(), domain=RewardSimplex())
    with pytest.raises(InvalidArgument, match="leader_ties"):
        InteractiveIRL(game, leader_ties="last")
