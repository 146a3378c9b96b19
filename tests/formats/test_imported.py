"""The record that every door fills: what it holds is of its game, and cannot be changed."""

import numpy as np
import pytest

import iirl_opt as iirl
from iirl_opt.errors import InvalidArgument, InvalidGame, InvalidReward, UnknownLabel
from iirl_opt.formats import ImportedGame

GAME, REWARD = iirl.random_game(3, 2, 2, rng=0)


def test_a_reward_is_found_by_its_name_and_the_only_one_without():
    one = ImportedGame(GAME, {"steps": REWARD})
    assert (one.reward() == REWARD).all()
    assert one.reward() is one.reward("steps")
    two = ImportedGame(GAME, {"steps": REWARD, "energy": np.ones(GAME.shape)})
    assert two.reward("energy").shape == GAME.shape
    with pytest.raises(InvalidArgument, match="2 rewards; allowed one of 'steps', 'energy'"):
        two.reward()
    with pytest.raises(InvalidArgument, match="no reward"):
        ImportedGame(GAME).reward()
    with pytest.raises(UnknownLabel, match="energies"):
        two.reward("energies")


@pytest.mark.parametrize(
    ("given", "error", "place"),
    [
        ({"rewards": {"r": [1.0, 2.0]}}, InvalidReward, "shape"),
        ({"labels": {"done": [True]}}, InvalidGame, "labels\\['done'\\]"),
        ({"labels": {"done": [0, 1, 0]}}, InvalidGame, "labels\\['done'\\]"),
        ({"available": np.ones((3, 2, 1), dtype=bool)}, InvalidGame, "available"),
        ({"available": np.zeros((3, 2, 2), dtype=bool)}, InvalidGame, "available\\[s=0\\]"),
    ],
)
def test_what_is_not_of_the_game_is_refused_with_its_place(given, error, place):
    with pytest.raises(error, match=place):
        ImportedGame(GAME, **given)


def test_the_arrays_are_its_own_and_stay_as_they_are():
    marks = np.array([False, True, False])
    found = ImportedGame(GAME, {"r": REWARD}, {"done": marks})
    marks[:] = True
    assert found.labels["done"].tolist() == [False, True, False]
    for array in (found.reward(), found.labels["done"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(TypeError):
        found.labels["other"] = marks
