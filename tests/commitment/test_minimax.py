"""Minimax regret: both bounds against enumeration, one agent alone, and closed forms."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from enumerated_regret import instance, worst_by_enumeration
from scipy.optimize import linprog

import iirl_opt as iirl
from iirl_opt.commitment import minimax_regret
from iirl_opt.errors import InvalidArgument
from iirl_opt.rewards import regret_elsewhere


def enumerated(feasible, game):
    """Return the least worst regret of all deterministic commitments."""
    n_states, n_actions, _ = game.shape
    choices = itertools.product(range(n_actions), repeat=n_states)
    return min(worst_by_enumeration(feasible, game, np.eye(n_actions)[list(c)]) for c in choices)


def hub(n):
    """Return the game of one choice among n rooms that nobody leaves."""
    kernel = np.zeros((n + 1, n, 1, n + 1))
    kernel[0, range(n), 0, range(1, n + 1)] = 1
    kernel[range(1, n + 1), :, 0, range(1, n + 1)] = 1
    return iirl.TwoAgentMDP(kernel, discount=0.9, start=np.eye(n + 1)[0])


@pytest.mark.parametrize(
    ("seed", "n_states", "episodes", "here"),
    [(0, 2, 0, True), (2, 2, 0, False)],
)
def test_deterministic_commitments_are_searched_to_the_end(seed, n_states, episodes, here):
    feasible, away, _, _ = instance(seed, n_states=n_states, episodes=episodes)
    game = feasible.game if here else away
    brute = enumerated(feasible, game)
    for by in ("enumerate", "program"):
        found = minimax_regret(feasible, game, by=by, rounds=1)
        assert found.exact
        assert found.lower == pytest.approx(brute, abs=1e-7)
        assert found.upper == pytest.approx(brute, abs=1e-7)
        assert 0 < found.floor.value <= found.mixed.upper <= found.upper
        assert found.check()


def test_nobody_has_less_worst_regret_than_the_floor():
    feasible, away, _, _ = instance(6, n_states=3)
    found = minimax_regret(feasible, away)
    rng = np.random.default_rng(0)
    assert found.floor.value > 0
    for _ in range(3):
        pi1 = rng.dirichlet(np.full(2, 0.7), 3)
        assert regret_elsewhere(feasible, away, pi1).upper >= found.floor.value
    pi1 = found.mixed_policy
    assert regret_elsewhere(feasible, away, pi1).upper == pytest.approx(found.mixed.upper)


def test_of_equal_rooms_each_is_as_good_and_a_lottery_is_better():
    n = 3
    found = minimax_regret(iirl.FeasibleRewards(hub(n)))
    assert found.upper == pytest.approx(9.0)  # the other room for ever, from the next step on
    assert found.lower == pytest.approx(9.0)
    assert found.mixed.upper == pytest.approx(9.0 * (1 - 1 / n))
    assert found.floor.value == pytest.approx(9.0 * (1 - 1 / n))
    np.testing.assert_allclose(found.mixed_policy[0], 1 / n, atol=1e-7)


@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(2))
def test_one_agent_alone_has_the_minimax_regret_of_its_linear_program(seed):
    # Regan & Boutilier 2009 over the simplex: the worst rewards are its corners, where the best
    # earns the most visits U(s), so the program is min δ, U(s) − f(s) ≤ δ over visits f.
    game, _ = iirl.random_game(4, 3, 1, rng=seed)
    kernel, n = game.kernel.reshape(12, 4), 4
    state = np.kron(np.eye(n), np.ones((1, 3)))
    flow = state - game.discount * kernel.T
    most = []
    for s in range(n):
        best = linprog(-state[s], A_eq=flow, b_eq=game.start)
        most.append(-best.fun)
    rows = np.hstack([-state, -np.ones((n, 1))])
    equal = np.hstack([flow, np.zeros((n, 1))])
    least = linprog(np.eye(13)[12], rows, -np.array(most), equal, game.start)
    found = minimax_regret(iirl.FeasibleRewards(game))
    assert found.mixed.upper == pytest.approx(least.fun, abs=1e-7)
    assert found.floor.value == pytest.approx(least.fun, abs=1e-7)


def test_a_reward_that_is_known_leaves_no_regret():
    home = iirl.ideal_environment([0, 1, 3], 0.9)
    game, _ = iirl.random_game(3, 2, 2, rng=0)
    response = iirl.policy_iteration(home.mdp, [0, 1, 3]).optimal
    feasible = iirl.FeasibleRewards(home.game).observe([[1]] * 3, response)
    found = minimax_regret(feasible, iirl.TwoAgentMDP(game.kernel, discount=0.9))
    assert found.upper <= 1e-6
    assert found.worst.by_arithmetic


def test_no_time_keeps_valid_bounds():
    feasible, away, _, _ = instance(6, n_states=3)
    full = minimax_regret(feasible, away)
    for by in ("enumerate", "program"):
        cut = minimax_regret(feasible, away, by=by, time_limit=0)
        assert cut.lower <= full.upper + 1e-8
        assert cut.upper >= full.lower - 1e-8
        assert cut.check()


def test_edited_bounds_are_found_out():
    feasible, away, _, _ = instance(6, n_states=3)
    found = minimax_regret(feasible, away)
    floor = found.floor
    assert not replace(found, lower=found.lower * 1.01).check()
    assert not replace(found, floor=floor._replace(value=floor.value * 1.01)).check()
    assert not replace(found, floor=floor._replace(linear=floor.linear * 1.1)).check()
    assert not replace(found, rewards=np.eye(3)[[0] * len(found.rewards)]).check()
    twice = floor._replace(value=floor.value * 2, linear=floor.linear * 2)
    forged = replace(found, rewards=found.rewards * 2, lower=found.lower * 2, floor=twice)
    assert not forged.check()  # of rewards that are not in the simplex


def test_what_cannot_be_asked_is_refused_by_name():
    feasible, _, _, _ = instance(0)
    smaller, _ = iirl.random_game(2, 2, 2, rng=0)
    with pytest.raises(InvalidArgument, match="2 states"):
        minimax_regret(feasible, smaller)
    large, _ = iirl.random_game(40, 3, 2, rng=0)
    with pytest.raises(InvalidArgument, match="12157665459056928801 commitments"):
        minimax_regret(iirl.FeasibleRewards(large), by="enumerate")


def test_a_discount_near_one_ends_with_bounds_that_hold():
    game, _ = iirl.random_game(3, 2, 2, rng=1, discount=1 - 1e-9)
    found = minimax_regret(iirl.FeasibleRewards(game), rounds=1)
    assert 0 < found.lower < found.upper
    assert found.worst.solved is None
