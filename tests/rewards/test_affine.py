"""Affine classes of rewards: their members, half-spaces and distances, against definitions."""

from math import pi, sqrt

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from hypothesis.extra.numpy import arrays
from instances import rewards
from kkt import assert_kkt

from iirl_opt.errors import InvalidReward
from iirl_opt.rewards.affine import AffineClass, affine_distance, affine_halfspaces
from iirl_opt.rewards.domains import RewardSimplex
from iirl_opt.solver import solve


def integer_rewards(least=1, most=8):
    return st.integers(least, most).flatmap(
        lambda n: arrays(np.int64, n, elements=st.integers(-9, 9))
    )


def varied_rewards(least=2, most=8):
    return integer_rewards(least, most).filter(lambda r: np.ptp(r) > 0)


# Members


@given(
    reward=rewards(4),
    scale=st.floats(1e-3, 1e3),
    shift=st.floats(-1e3, 1e3),
    magnitude=st.sampled_from([1e-200, 1e-12, 1.0, 1e12, 1e150]),
)
def test_an_affine_class_holds_its_positive_affine_images(reward, scale, shift, magnitude):
    affine = AffineClass(reward * magnitude)
    image = (scale * reward + shift) * magnitude
    assert affine.contains(image)
    assert affine.contains(image, strict=True)
    assert affine.contains(np.full(4, shift))
    constant = not np.ptp(reward)
    assert affine.contains(np.full(4, shift), strict=True) == constant
    assert affine.contains(-image) == constant


@given(reward=rewards(4), other=rewards(4))
def test_an_affine_class_is_decided_exactly(reward, other):
    # λ1 r + λ2 = x with λ1 ≥ 0 iff all differences are proportional.
    d, e = (np.subtract.outer(v, v).ravel() for v in (reward, other))
    proportional = (np.outer(d, e) == np.outer(e, d)).all() and (d @ e >= 0)
    assert AffineClass(reward).contains(other) == bool(proportional and (d.any() or not e.any()))


def test_an_affine_class_is_closed_but_strictly_an_equivalence_class():
    affine = AffineClass([0.0, 1.0, 3.0])
    assert affine.contains([5.0, 5.0, 5.0])
    assert not affine.contains([5.0, 5.0, 5.0], strict=True)
    assert not AffineClass([5.0, 5.0, 5.0]).contains([0.0, 1.0, 3.0])


def test_the_tolerance_of_an_affine_class_is_a_share_of_the_spread():
    affine = AffineClass([0.0, 1.0, 2.0])
    for scale in (1e-6, 1.0, 1e6):
        off = scale * np.array([0.0, 1.001, 2.0])
        assert not affine.contains(off)
        assert affine.contains(off, tolerance=1e-3)


@pytest.mark.parametrize("bad", [[], [[1.0]], 1.0, [np.nan, 0.0], [0.0, np.inf]])
def test_an_affine_class_refuses_what_is_no_state_reward(bad):
    with pytest.raises(InvalidReward):
        AffineClass(bad)


@pytest.mark.parametrize("bad", [[1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]], [np.nan, 0.0]])
def test_an_affine_class_refuses_to_judge_what_is_no_reward_of_its_size(bad):
    with pytest.raises(InvalidReward):
        AffineClass([0.0, 1.0]).contains(bad)


def test_the_constraints_of_an_affine_class_hold_exactly_its_members():
    affine = AffineClass([0.0, 1.0, 3.0])
    r = cp.Variable(3, name="r")
    for objective, best in (([0, 0, 1.0], [0, 0.25, 0.75]), ([1.0, 0, 0], [1 / 3] * 3)):
        rows = affine.constraints(r) + RewardSimplex().constraints(r)
        problem = cp.Problem(cp.Maximize(np.array(objective) @ r), rows)
        solved = solve(problem)
        assert r.value == pytest.approx(best, abs=1e-9)
        assert affine.contains(r.value, tolerance=1e-8)
        assert_kkt(problem, solved)


# Half-spaces and distances


@given(reward=integer_rewards(), data=st.data())
def test_the_half_spaces_hold_exactly_the_class(reward, data):
    h = affine_halfspaces(reward)
    inside = data.draw(st.integers(0, 5)) * reward + data.draw(st.integers(-5, 5))
    assert (h @ inside >= -1e-9).all()
    other = data.draw(arrays(np.int64, reward.size, elements=st.integers(-9, 9)))
    assume(np.ptp(other) > 0)
    same = affine_distance(reward, other) < 1e-7
    assert (h @ other >= -1e-9).all() == same


@given(reward=varied_rewards(2, 5), other=varied_rewards(2, 5))
def test_the_distance_is_the_angle_whose_cosine_is_the_correlation(reward, other):
    assume(reward.size == other.size)
    distance = affine_distance(reward, other)
    assert np.cos(distance) == pytest.approx(np.corrcoef(reward, other)[0, 1])
    assert distance == pytest.approx(affine_distance(other, reward))
    assert affine_distance(3 * reward - 7, 0.5 * other) == pytest.approx(distance, abs=1e-7)
    assert affine_distance(reward, -other) == pytest.approx(pi - distance)


def test_small_angles_keep_their_digits():
    r = np.array([0.0, 1.0, 2.0])
    across = np.array([1.0, -2.0, 1.0]) / sqrt(3)  # as long as the centred r, and orthogonal to it
    assert affine_distance(r, r + 1e-12 * across) == pytest.approx(1e-12, rel=1e-3)


def test_a_constant_is_at_a_right_angle_to_all_but_constants():
    assert affine_distance([1, 1], [5, 5]) == 0
    assert affine_distance([1, 1], [0, 1]) == affine_distance([0, 1], [1, 1]) == pi / 2
    with pytest.raises(InvalidReward, match="second"):
        affine_distance([1, 2], [1, 2, 3])


@given(
    n=st.integers(2, 6),
    gamma=st.sampled_from([0.05, 0.5, 0.99]),
    seed=st.integers(0, 2**32 - 1),
)
def test_epic_with_uniform_coverage_is_the_sine_of_half_the_angle(n, gamma, seed):
    """EPIC by its definition: canonical shaping, then the Pearson distance over (s, s')."""
    rng = np.random.default_rng(seed)

    def canonical(r):
        here, there = np.meshgrid(r, r, indexing="ij")
        return (here + gamma * there - here - gamma * r.mean()).ravel()

    first, second = rng.normal(size=(2, n))
    correlation = np.corrcoef(canonical(first), canonical(second))[0, 1]
    epic = np.sqrt(max(1 - correlation, 0) / 2)
    assert epic == pytest.approx(np.sin(affine_distance(first, second) / 2), abs=1e-6)
