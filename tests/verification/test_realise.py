"""Realising an environment: a commitment, or a proof by arithmetic that there is none."""

from itertools import product

import numpy as np
import pytest
from depth import share
from hypothesis import given, strategies as st
from scipy.optimize import linprog

from iirl_opt.errors import InvalidArgument
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.verification.ideal import ideal_environment
from iirl_opt.verification.realisable import (
    NotRealisable,
    Separation,
    realise,
    satisfies_condition_b,
)
from iirl_opt.verification.strict import strict_environment


def all_maps(n_states, n_b=2, discount=0.9):
    """The smallest game with condition (B): an action for every map from B to the states."""
    maps = np.eye(n_states, dtype=np.int64)[list(product(range(n_states), repeat=n_b))]
    return TwoAgentMDP(np.stack([maps] * n_states), discount)


def without(game, state, action):
    """The game in which an action of one state does what the one before it does."""
    kernel = game.kernel.copy()
    kernel[state, action] = kernel[state, action - 1]
    return TwoAgentMDP(kernel, game.discount)


def distance_by_scipy(offered, wanted):
    """The L∞ distance from `wanted` to the mixtures of the rows `offered` (A, k), by another LP."""
    n_a, k = offered.shape
    ones = -np.ones((k, 1))
    rows = np.vstack([np.hstack([offered.T, ones]), np.hstack([-offered.T, ones])])
    found = linprog(
        np.r_[np.zeros(n_a), 1.0],
        rows,
        np.r_[wanted, -wanted],
        np.r_[np.ones(n_a), 0.0][None],
        [1.0],
        bounds=[(0, None)] * (n_a + 1),
    )
    return found.fun


@given(n=st.integers(1, 4), seed=st.integers(0, 99), strict=st.booleans())
def test_a_game_with_all_maps_becomes_any_environment(n, seed, strict):
    game = all_maps(n)
    assert satisfies_condition_b(game)
    reward = np.random.default_rng(seed).random(n)
    make = strict_environment if strict else ideal_environment
    environment = make(reward, 0.9)
    reached = game.follower_mdp(realise(game, environment)).kernel
    assert np.abs(reached - environment.kernel).max() <= 1e-12


def test_with_three_follower_actions_the_third_is_a_copy():
    game, reward = all_maps(3, 3), [0.2, 1.0, 0.4]
    environment = ideal_environment(reward, 0.9, 3)
    reached = game.follower_mdp(realise(game, environment)).kernel
    assert reached == pytest.approx(environment.kernel, abs=1e-12)
    with pytest.raises(InvalidArgument, match="2 actions"):
        realise(game, ideal_environment(reward, 0.9))


@given(n=st.integers(2, 3), data=st.data())
def test_one_map_less_in_one_state_breaks_the_condition(n, data):
    game = all_maps(n)
    state, action = data.draw(st.integers(0, n - 1)), data.draw(st.integers(1, n * n - 1))
    assert not satisfies_condition_b(without(game, state, action))


def test_the_condition_needs_every_map_and_nothing_else():
    game = all_maps(2)
    kernel = game.kernel
    more = TwoAgentMDP(np.concatenate([kernel[:, ::-1], kernel[:, :1]], axis=1), 0.9)
    assert satisfies_condition_b(more)
    nearly = kernel.copy()
    nearly[1, 2] = 0.9 * nearly[1, 2] + 0.05
    assert not satisfies_condition_b(TwoAgentMDP(nearly, 0.9))
    assert not satisfies_condition_b(TwoAgentMDP(kernel[:, :3], 0.9))
    assert satisfies_condition_b(TwoAgentMDP(np.ones((1, 1, 5, 1), dtype=np.int64), 0.9))


@share(0.6)
@given(n=st.integers(2, 4), n_a=st.integers(1, 4), n_b=st.integers(2, 3), seed=st.integers(0, 99))
def test_a_refusal_carries_its_proof_and_the_nearest_kernel(n, n_a, n_b, seed):
    game, _ = random_game(n, n_a, n_b, rng=seed)
    environment = ideal_environment(np.random.default_rng(seed).random(n), 0.9, n_b)
    with pytest.raises(NotRealisable) as caught:
        realise(game, environment)
    refusal = caught.value
    assert refusal.proof.check()
    # The proof by hand: in the named states the weights tell the wanted rows from all offered ones.
    named = [game.states.index(s) for s in refusal.states]
    offered = game.kernel.reshape(n, n_a, -1)
    wanted = environment.kernel.reshape(n, -1)
    y = refusal.proof.multipliers.reshape(n, -1)
    for s in range(n):
        distance = distance_by_scipy(offered[s], wanted[s])
        assert (distance > 1e-9) == (s in named)
        if s in named:
            assert np.abs(y[s]).sum() <= 1 + 1e-7
            assert y[s] @ wanted[s] - (offered[s] @ y[s]).max() == pytest.approx(distance)
    away = np.abs(refusal.kernel - environment.kernel).max(axis=(1, 2))
    assert refusal.distance == away.max()
    assert refusal.kernel == pytest.approx(game.follower_mdp(refusal.commitment).kernel)
    assert refusal.proof.margins[named] == pytest.approx(away[named], abs=1e-7)
    assert f"{len(named)} states" in str(refusal)


def test_a_proof_of_something_false_does_not_check():
    game = all_maps(2)
    environment = ideal_environment([0.0, 1.0], 0.9)
    y = np.random.default_rng(0).uniform(-1, 1, (50, 2, 2, 2))
    assert not any(Separation(game, environment.kernel, each).check() for each in y)


def test_the_rows_that_can_still_be_pinned_are_counted():
    # One state is stuck, the other two can show whatever they like: two of the three rows.
    kernel = all_maps(3).kernel.copy()
    kernel[1] = np.eye(3)[0]
    game = TwoAgentMDP(kernel, 0.9)
    with pytest.raises(NotRealisable) as caught:
        realise(game, ideal_environment([0.0, 1.0, 3.0], 0.9))
    assert (caught.value.states, caught.value.pinnable, caught.value.rows) == ((1,), 2, 3)
    assert caught.value.distance == pytest.approx(2 / 3)


def test_a_state_that_offers_one_row_pins_only_that_row():
    environment = strict_environment([0.0, 1.0, 3.0], 0.9, 0.1)
    uniform = np.full((3, 3), 1 / 3)
    second = np.stack([uniform, environment.kernel[[1, 1, 1], 1]], axis=1)
    game = TwoAgentMDP(second[:, None], 0.9)
    with pytest.raises(NotRealisable) as caught:
        realise(game, environment)
    assert caught.value.pinnable == 1
    assert set(caught.value.states) == {0, 2}


def test_a_leader_without_influence_realises_what_the_game_is_already():
    environment = ideal_environment([0, 1, 3], 0.9)
    assert (realise(environment.game, environment) == 1).all()


def test_the_discount_must_be_that_of_the_game():
    with pytest.raises(InvalidArgument, match="discount"):
        realise(all_maps(2), ideal_environment([0, 1], 0.8))
