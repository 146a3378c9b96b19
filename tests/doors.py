"""What went out by a door and came in again."""

import numpy as np


def same(one, two):
    """Assert that two imported games are equal in all that they hold."""
    assert one.game == two.game
    assert list(one.rewards) == list(two.rewards)
    assert one.labels.keys() == two.labels.keys()
    for name, reward in one.rewards.items():
        assert np.array_equal(reward, two.rewards[name])
    for name, marks in one.labels.items():
        assert np.array_equal(marks, two.labels[name])
    assert (one.available is None) == (two.available is None)
    assert one.available is None or np.array_equal(one.available, two.available)
