import re
from dataclasses import replace
from itertools import islice, product

import numpy as np
import pytest
from exhaustive import FOLLOWERS, all_values, every_commitment, random_problem
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from iirl_opt.commitment.enumeration import Enumeration
from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.commitment.searches import commitments
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP


@given(mask=arrays(bool, st.tuples(st.integers(1, 5), st.integers(1, 3))), block=st.integers(1, 20))
def test_blocks_hold_every_commitment_once_in_order(mask, block):
    mask[~mask.any(axis=1), 0] = True
    blocks = list(commitments(mask, block))
    assert all(1 <= len(rows) <= block for rows in blocks)
    expected = product(*(np.flatnonzero(row).tolist() for row in mask))
    assert [tuple(row) for rows in blocks for row in rows.tolist()] == list(expected)


def test_blocks_of_more_commitments_than_any_memory_come_one_at_a_time():
    blocks = list(islice(commitments(np.ones((200, 3), dtype=bool), 100), 2))
    assert [rows.shape for rows in blocks] == [(81, 200)] * 2
    assert blocks[1][0].tolist() == [0] * 195 + [1] + [0] * 4


@pytest.mark.parametrize("kind", FOLLOWERS)
def test_enumeration_finds_what_a_plain_loop_finds(kind):
    for seed in range(4):
        problem = random_problem(seed, kind, states=4)
        values = all_values(problem)
        scores = values @ problem.game.start
        found = Enumeration().search(problem)
        assert found.value == pytest.approx(scores.max(), abs=1e-11)
        assert found.complete
        assert found.proved
        assert found.value <= found.bound <= found.value + 1e-11
        assert found.evaluated == len(values) == problem.n_deterministic
        at = every_commitment(problem).index(tuple(found.actions.tolist()))
        np.testing.assert_allclose(found.values, values[at], atol=1e-11)


def test_of_equally_good_commitments_the_first_is_returned():
    game = TwoAgentMDP(np.full((3, 2, 2, 3), 1 / 3), 0.5)
    found = Enumeration().search(CommitmentProblem(game, np.ones(3), BoltzmannFollower(1)))
    assert found.actions.tolist() == [0, 0, 0]
    assert found.value == pytest.approx(2)
    assert found.policy(2).tolist() == [[1, 0]] * 3


def test_the_objective_follows_the_start_of_the_game():
    problem = random_problem(3, "Boltzmann 1", states=4)
    values = all_values(problem)
    for s, weights in enumerate(np.eye(problem.game.n_states)):
        there = replace(problem, game=problem.game.starting_at(weights))
        found = Enumeration().search(there)
        assert found.value == pytest.approx(values[:, s].max(), abs=1e-11)


def test_a_limit_is_refused_with_the_number_of_commitments():
    game, reward = random_game(200, 3, 2, rng=0)
    problem = CommitmentProblem(game, reward)
    with pytest.raises(InvalidArgument, match=re.escape(f"{3**200:,}")) as caught:
        Enumeration().search(problem)
    assert caught.value.value == 3**200


def test_a_time_limit_returns_a_commitment_with_a_valid_bound():
    game, reward = random_game(13, 2, 2, rng=1)
    problem = CommitmentProblem(game, reward, BoltzmannFollower(2))
    found = Enumeration(time_limit=0).search(problem)
    best = Enumeration().search(problem)
    assert not found.complete
    assert 0 < found.evaluated < problem.n_deterministic
    assert found.value <= best.value <= found.bound
    assert problem.values_of(found.actions[None])[0] @ game.start == pytest.approx(found.value)


@pytest.mark.parametrize("states", [32, 33, 64, 65, 70])
def test_games_of_any_number_of_states_are_counted(states):
    allowed = np.zeros((states, 2), dtype=bool)
    allowed[:, 1] = True
    allowed[[3, states - 1], 0] = True
    rows = np.concatenate(list(commitments(allowed)))
    assert rows[:, [3, states - 1]].tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert (np.delete(rows, [3, states - 1], axis=1) == 1).all()
