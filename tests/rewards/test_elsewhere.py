"""The worst regret in another game: both bounds against enumeration, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from enumerated_regret import instance, worst_by_enumeration

import iirl_opt as iirl
from iirl_opt.errors import InvalidArgument, InvalidPolicy, InvalidReward
from iirl_opt.rewards import regret_bound, regret_elsewhere, still_matters
from iirl_opt.rewards.elsewhere import shared_regret

STAY, GO = [1, 0], [0, 1]


def corridor(rows, **options):
    return iirl.TwoAgentMDP(rows, discount=0.5, **options)


@pytest.mark.parametrize("seed", range(5))
def test_the_program_is_exact_and_arithmetic_bounds_it(seed):
    feasible, away, pi1, _ = instance(seed)
    brute = worst_by_enumeration(feasible, away, pi1)
    found = regret_elsewhere(feasible, away, pi1)
    assert found.exact
    assert found.lower == pytest.approx(brute, abs=1e-7)
    assert found.upper == pytest.approx(brute, abs=1e-7)
    assert found.proved.upper >= brute - 1e-7
    assert found.check()
    assert feasible.contains(found.reward, tolerance=1e-7)
    assert shared_regret(away, found.reward, pi1) >= found.lower
    guessed = regret_bound(feasible, pi1, game=away)
    assert guessed.lower <= brute + 1e-7 <= guessed.upper + 2e-7
    assert guessed.check()


def test_no_feasible_reward_has_a_larger_regret():
    feasible, away, pi1, truth = instance(11, n_states=5, episodes=2)
    found = regret_elsewhere(feasible, away, pi1, by="arithmetic")
    points = [truth, *feasible.sample(30, 0), found.reward]
    regrets = [shared_regret(away, r / r.sum(), pi1) for r in points]
    assert max(regrets) == pytest.approx(regrets[-1])
    assert regrets[-1] == pytest.approx(found.lower)
    assert max(regrets) <= found.proved.upper


def test_one_who_may_stay_loses_what_going_once_would_earn():
    home = corridor([[[STAY, GO]], [[GO, GO]]])
    away = corridor([[[STAY], [GO]], [[STAY], [GO]]])
    nothing = iirl.FeasibleRewards(home)
    stays = [[1, 0], [1, 0]]
    # All reward on state 1: the play leaves it at once; the best earns 2 there, or 1 from state 0.
    assert regret_elsewhere(nothing, away, stays).upper == pytest.approx(1.0)
    assert regret_elsewhere(nothing, away, stays).by_arithmetic
    known = nothing.observe([[1], [1]], [GO, STAY])  # the second state is worth at least as much
    assert regret_elsewhere(known, away, [GO, GO]).upper == pytest.approx(0, abs=1e-8)
    assert regret_elsewhere(known, away, stays).lower == pytest.approx(1.0)


def test_at_home_an_answer_that_was_seen_is_known():
    feasible, _, _, _ = instance(3, episodes=2)
    pi1, pi2 = feasible.observations[0].pi1, feasible.observations[0].pi2
    seen = iirl.rewards.worst_regret(feasible, pi1, pi2)
    here = regret_elsewhere(feasible, feasible.game, pi1)
    assert here.check()
    assert here.lower == pytest.approx(seen.value, abs=1e-7)
    assert here.upper == pytest.approx(seen.bound, abs=1e-7)


def test_a_shorter_time_keeps_both_bounds():
    feasible, away, pi1, _ = instance(0, n_states=6, episodes=1)
    full = regret_elsewhere(feasible, away, pi1)
    cut = regret_elsewhere(feasible, away, pi1, by="program", time_limit=0)
    assert cut.lower <= full.lower + 1e-8
    assert full.upper - 1e-8 <= cut.upper <= cut.proved.upper
    assert cut.check()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"states": ("here", "there")}, "'here' at place 0 of its states"),
        ({"states": (1, 0)}, "1 at place 0"),
    ],
)
def test_other_states_are_refused_by_name(change, said):
    home = corridor([[[STAY, GO]], [[GO, GO]]])
    away = corridor([[[STAY], [GO]], [[STAY], [GO]]], **change)
    with pytest.raises(InvalidArgument, match=said):
        regret_elsewhere(iirl.FeasibleRewards(home), away, [GO, GO])
    with pytest.raises(InvalidArgument, match=said):
        regret_bound(iirl.FeasibleRewards(home), [GO, GO], game=away)


def test_another_number_of_states_and_a_policy_of_the_other_game_are_refused():
    feasible, away, _, _ = instance(0)
    smaller, _ = iirl.random_game(2, 2, 2, rng=0)
    with pytest.raises(InvalidArgument, match=r"2 states.*the 3 of the rewards"):
        regret_elsewhere(feasible, smaller, [[1, 0]] * 2)
    with pytest.raises(InvalidPolicy):
        regret_elsewhere(feasible, away, np.eye(3))
    wider, _ = iirl.random_game(3, 3, 2, rng=0)
    with pytest.raises(InvalidArgument, match="leader actions"):
        regret_bound(feasible, [[1, 0, 0]] * 3, game=wider, joint=True)


def test_edited_bounds_are_found_out():
    feasible, away, pi1, _ = instance(1)
    found = regret_elsewhere(feasible, away, pi1)
    assert found.lower > 1e-3
    assert not replace(found, lower=found.lower * 1.01).check()
    assert not replace(found, reward=np.eye(3)[0]).check()
    assert not replace(found, reward=found.reward * 2, lower=found.lower * 2).check()
    assert not replace(found, upper=found.upper * 0.99).check()
    assert not replace(found, proved=replace(found.proved, upper=found.proved.upper * 0.9)).check()


def test_what_is_known_of_one_state_bounds_the_regret_of_all_such_rewards():
    feasible, away, pi1, truth = instance(6, n_states=3)
    share = (truth - truth.min()) / (truth - truth.min()).sum()
    found = still_matters(feasible, away, pi1, guess=share)
    assert (found.cut >= 0).all()
    assert found.cut.max() > 1e-3
    assert shared_regret(away, share, pi1) <= found.known.min() + 1e-8
    # Of three rewards with one sum and one of them known, one number is left: look along it.
    for s in range(3):
        along = np.roll([0.0, 1.0, -1.0], s)
        for step in np.linspace(-1, 1, 41):
            r = share + step * along
            if r.min() >= 0 and feasible.contains(r):
                assert shared_regret(away, r, pi1) <= found.known[s] + 1e-8
    assert found.table()[0]["cut"] == found.cut.max()
    with pytest.raises(InvalidReward, match="explains not every answer"):
        still_matters(feasible, away, pi1, guess=-truth)


def test_a_discount_near_one_is_bounded_by_arithmetic():
    game, _ = iirl.random_game(3, 2, 2, rng=1, discount=1 - 1e-9)
    found = regret_elsewhere(iirl.FeasibleRewards(game), game, [[1, 0]] * 3)
    assert found.solved is None
    assert 3.38e8 < found.lower <= found.upper == found.proved.upper


@pytest.mark.parametrize(
    ("guess", "match"),
    [
        ([1.0, 0.0], r"has shape \(2,\); allowed \(3,\)"),
        (np.ones((3, 2, 2)), r"has shape \(3, 2, 2"),
    ],
)
def test_a_guess_of_another_shape_is_refused_as_such(guess, match):
    feasible, away, pi1, _ = instance(1)
    with pytest.raises(InvalidReward, match=match):
        still_matters(feasible, away, pi1, guess=guess)
