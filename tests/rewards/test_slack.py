"""Followers that err: contradictions by name, and a price at which observations are violated."""

import warnings

import numpy as np
import pytest
from depth import share
from hypothesis import given, strategies as st
from kkt import assert_kkt

from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import random_policy
from iirl_opt.learn.algorithm_1 import ContradictionWarning, InteractiveIRL
from iirl_opt.learn.choices import AnalyticCentre, MeanOfVertices, RandomVertex
from iirl_opt.learn.episodes import interact
from iirl_opt.observation import record_trajectory, sample_trajectory
from iirl_opt.rewards.domains import RewardBox, RewardSimplex
from iirl_opt.rewards.feasible import FeasibleRewards

seeds = st.integers(0, 2**32 - 1)
prices = st.sampled_from([0.01, 0.3, 1.0, 30.0])

# Both lead to one room: to the yard, or to the hall.
GO, BACK = [[0, 1], [1, 0]], [[1, 0], [0, 1]]


class Erring:
    """An optimal follower that in each state takes some action at random with probability ε."""

    def __init__(self, epsilon):
        self.epsilon = epsilon

    def respond(self, game, reward, pi1, rng=None):
        best = OptimalFollower().respond(game, reward, pi1)
        some = np.eye(best.shape[1])[rng.integers(best.shape[1], size=len(best))]
        return np.where(rng.random((len(best), 1)) < self.epsilon, some, best)


def noisy(seed, *, episodes=(1, 5), trajectories=False, epsilon=0.3):
    """A game with answers that contradict, some of them repeated, mixed, or masks."""
    rng = np.random.default_rng(seed)
    n, n_a, n_b = int(rng.integers(1, 7)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    gamma = float(rng.choice([0, 0.5, 0.9, 0.99]))
    game, truth = random_game(n, n_a, n_b, rng=seed, discount=gamma)
    known = FeasibleRewards(game)
    for _ in range(int(rng.integers(*episodes))):
        pi1 = random_policy(n, n_a, rng)
        response = Erring(epsilon).respond(game, truth, pi1, rng)
        if trajectories:
            response = sample_trajectory(game, pi1, response, rng)
        elif rng.integers(2):
            response = response > 0
            response[rng.integers(n), rng.integers(n_b)] = True
        known = known.observe(pi1, response)
        if not rng.integers(3):
            known = known.observe(pi1, response)
    return known, rng.uniform(-1, 1, n)


def total_violation(known, reward):
    """By how much a reward violates what was observed, from gaps alone."""
    gaps = known.gaps(reward)
    played = np.array([o.played for o in known.observations]).reshape(gaps.shape)
    return float(np.where(played, np.abs(gaps), np.maximum(-gaps, 0)).sum())


def two_rooms():
    """A hall and a yard; the follower may stay or go over, the leader has no influence."""
    kernel = [[[[1, 0], [0, 1]]], [[[0, 1], [1, 0]]]]
    return TwoAgentMDP(kernel, "1/2", states=["hall", "yard"], follower_actions=["stay", "go"])


# What is paid.


@pytest.mark.parametrize("method", ["cuts", "lifted"])
@share(0.6)
@given(seed=seeds, price=prices)
def test_the_value_is_the_objective_less_the_price_of_all_gaps(method, seed, price):
    known, objective = noisy(seed)
    found = known.maximise(objective, price=price, method=method)
    paid = price * total_violation(known, found.reward)
    assert known.slack(found.reward).sum() * price == pytest.approx(paid)
    tolerance = 1e-6 * (1 + price)
    assert found.value == pytest.approx(objective @ found.reward - paid, abs=tolerance)
    assert found.reward.sum() == pytest.approx(1)
    # No vertex of the simplex, and no constant, does better.
    for other in [*np.eye(len(objective)), np.full(len(objective), 1 / len(objective))]:
        assert objective @ other - price * total_violation(known, other) <= found.value + tolerance


@pytest.mark.parametrize("method", ["cuts", "lifted"])
@share(0.6)
@given(seed=seeds, price=prices, box=st.booleans())
def test_point_and_multipliers_prove_each_other_optimal(method, seed, price, box):
    known, objective = noisy(seed)
    domain = RewardBox(2.0) if box else RewardSimplex()
    found = known.maximise(objective, price=price, method=method, domain=domain)
    assert_kkt(known.problem(objective, price=price, domain=domain), found.solved, 1e-6)


@share(0.4)
@given(seed=seeds, price=prices)
def test_trajectories_are_violated_at_the_same_price(seed, price):
    known, objective = noisy(seed, trajectories=True)
    found = known.maximise(objective, price=price)
    assert_kkt(known.problem(objective, price=price), found.solved, 1e-6)
    assert found.value >= known.maximise(objective).value - 1e-7
    # What it pays is no more than the gaps of the reward under optimal values.
    gaps = known.gaps(found.reward)
    seen = np.zeros(gaps.shape, dtype=bool)
    for t, steps in enumerate(known.seen):
        seen[t, steps.states, steps.follower_actions] = True
    paid = objective @ found.reward - found.value
    assert paid <= price * gaps[seen].sum() + 1e-6 * (1 + price)


@given(seed=seeds)
def test_joint_rewards_have_the_same_price(seed):
    known, _ = noisy(seed, episodes=(1, 3))
    objective = np.random.default_rng(seed).uniform(-1, 1, known.game.shape)
    found = known.maximise(objective, price=0.5)
    paid = 0.5 * total_violation(known, found.reward)
    assert found.value == pytest.approx(np.sum(objective * found.reward) - paid, abs=1e-6)


@given(seed=seeds)
def test_a_high_price_gives_the_exact_set_back_where_nothing_contradicts(seed):
    known, objective = noisy(seed, epsilon=0.0)
    exact = known.maximise(objective)
    found = known.maximise(objective, price=1e7)
    assert found.value == pytest.approx(exact.value, abs=1e-5)
    assert total_violation(known, found.reward) <= 1e-6


@share(0.6)
@given(seed=seeds)
def test_a_higher_price_violates_less_and_earns_less(seed):
    known, objective = noisy(seed)
    found = [known.maximise(objective, price=price) for price in (0.01, 0.1, 1.0, 10.0)]
    values = [one.value for one in found] + [known.maximise(objective).value]
    assert (np.diff(values) <= 1e-7).all()
    assert (np.diff([total_violation(known, one.reward) for one in found]) <= 1e-6).all()


def test_an_answer_counts_as_often_as_it_was_given():
    # A reward of one in one room violates an answer that leads to the other by ½ in both rooms. So
    # for an objective (h, y) the yard earns y − 1·p, the hall h − 2·p, constants (h + y)/2.
    known = FeasibleRewards(two_rooms())
    for response in (GO, GO, BACK):
        known = known.observe([[1.0], [1.0]], response)
    for objective, reward, value in [
        ([0, 1], [0.5, 0.5], 0.5),
        ([0, 3], [0, 1], 2),
        ([3, 0], [0.5, 0.5], 1.5),
        ([5, 0], [1, 0], 3),
    ]:
        found = known.maximise(objective, price=1.0)
        assert found.reward == pytest.approx(reward)
        assert found.value == pytest.approx(value)


# What is violated, and by whom.


def one_error():
    """Nine answers to a true reward; in the third the follower errs in the second state."""
    game, truth = random_game(6, 2, 2, rng=4)
    rng = np.random.default_rng(4)
    known = FeasibleRewards(game)
    for t in range(9):
        pi1 = random_policy(6, 2, rng)
        response = OptimalFollower().respond(game, truth, pi1)
        if t == 2:
            response[1] = response[1, ::-1]
        known = known.observe(pi1, response)
    return known, truth


def test_the_violated_rows_are_those_of_the_error():
    known = FeasibleRewards(two_rooms())
    for response in (GO, GO, BACK, GO):
        known = known.observe([[1.0], [1.0]], response)
    for k in range(10):
        # By the same count the hall would need an objective of 2.4, and entries are below one.
        found = known.random_vertex(np.random.default_rng(k), price=0.4, tries=100)
        assert found.reward == pytest.approx([0, 1])
        violated = known.violations(found.reward)
        assert {(v.episode, v.state) for v in violated} == {(3, "hall"), (3, "yard")}
        assert [v.slack for v in violated] == pytest.approx([0.5, 0.5])


def test_among_many_observations_the_error_is_what_is_violated_most():
    known, truth = one_error()
    state = known.game.states[1]
    assert {(v.episode, v.state) for v in known.violations(truth)} == {(3, state)}
    for k in range(4):
        found = known.random_vertex(np.random.default_rng(k), price=3.0)
        worst = known.violations(found.reward)[0]
        assert (worst.episode, worst.state) == (3, state)


def test_contradictions_name_the_error_and_leave_the_rest_explained():
    known, truth = one_error()
    learner = InteractiveIRL(known.game, feasible=known)
    named = learner.contradictions()
    assert 3 in named
    rest = FeasibleRewards(known.game, tuple(e for t, e in enumerate(known.episodes) if t != 2))
    assert InteractiveIRL(known.game, feasible=rest).contradictions() is None
    for t in named:
        fewer = tuple(known.episodes[i - 1] for i in named if i != t)
        assert FeasibleRewards(known.game, fewer).is_informative()
    assert rest.contains(truth)


def test_a_learner_whose_observations_contradict_says_so_once_and_goes_on():
    game = two_rooms()
    learner = InteractiveIRL(game, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner = learner.tell(GO)
        learner.ask()
        learner = learner.tell(BACK)
    with pytest.warns(ContradictionWarning, match=r"episodes 1, 2 together") as caught:
        asked = learner.ask()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(learner.ask(), asked)
    assert caught[0].message.episodes == (1, 2) == learner.contradictions()
    assert learner.estimate() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner = learner.tell(GO, pi1=asked)
        learner = learner.tell(GO)
        learner.ask()
    assert learner.episode == 4


def test_what_teaches_nothing_is_no_contradiction():
    single = TwoAgentMDP([[[[1], [1]], [[1], [1]]]], "9/10")
    same = TwoAgentMDP(np.ones((3, 2, 2, 3), dtype=int), "1/2")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for game in (single, same):
            for episode in interact(InteractiveIRL(game), np.ones(game.n_states), 3):
                episode.learner.ask()
                assert not episode.learner.contradictions()


def test_trajectories_that_contradict_are_named_and_a_price_goes_on():
    game = two_rooms()
    pi1 = [[1.0], [1.0]]
    go = record_trajectory(game, pi1, [("hall", 0, "go"), ("yard", 0, "stay")])
    back = record_trajectory(game, pi1, [("yard", 0, "go"), ("hall", 0, "stay")])
    learner = InteractiveIRL(game).tell(go).tell(back)
    assert learner.contradictions() == (1, 2)
    with pytest.warns(ContradictionWarning):
        learner.ask()
    soft = InteractiveIRL(game, price=0.1).tell(go).tell(go).tell(back)
    assert soft.estimate() == pytest.approx([0, 1]) or soft.estimate() == pytest.approx([1, 0])
    assert {v.episode for v in soft.known.violations(soft.estimate())} <= {1, 2, 3}


# Learning.


@pytest.mark.campaign
def test_with_a_price_the_late_regret_of_an_erring_partner_is_below_that_without():
    def late(**options):
        total = 0.0
        for seed in range(3):
            game, truth = random_game(8, 2, 3, rng=seed)
            learner = InteractiveIRL(game, seed=seed, **options)
            run = list(interact(learner, truth, 16, follower=Erring(0.05)))
            total += sum(episode.regret for episode in run[-6:])
        return total

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContradictionWarning)
        without = late()
    assert late(price=0.3) < 0.6 * without
    assert late(choice=MeanOfVertices(3, price=0.3)) < 0.3 * without


def test_without_errors_a_high_price_changes_nothing():
    game, truth = random_game(5, 2, 3, rng=2)
    plain = [e.regret for e in interact(InteractiveIRL(game), truth, 6)]
    soft = [e.regret for e in interact(InteractiveIRL(game, price=1e6), truth, 6)]
    assert soft == pytest.approx(plain, abs=1e-6)


@pytest.mark.parametrize("price", [0, -1.0, np.nan, np.inf, True])
def test_a_price_that_is_none_is_refused(price):
    game, _ = random_game(3, 2, 2, rng=2)
    known = FeasibleRewards(game).observe(np.eye(2)[[0, 0, 0]], np.eye(2)[[0, 0, 0]])
    for attempt in (
        lambda: InteractiveIRL(game, price=price),
        lambda: RandomVertex(price=price),
        lambda: MeanOfVertices(price=price),
        lambda: known.maximise(np.zeros(3), price=price),
        lambda: known.problem(np.zeros(3), price=price),
        lambda: known.random_vertex(np.random.default_rng(0), price=price),
    ):
        with pytest.raises(InvalidArgument, match="price"):
            attempt()


def test_a_price_stands_beside_no_other_choice():
    game, _ = random_game(3, 2, 2, rng=2)
    with pytest.raises(InvalidArgument, match="choice"):
        InteractiveIRL(game, price=1.0, choice=AnalyticCentre())
