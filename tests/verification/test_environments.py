"""Environments for a hypothesis: exact rows, tight bounds, and what no environment can be for."""

from fractions import Fraction
from math import isqrt, sqrt

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.follower.optimal import best_responses
from iirl_opt.rewards.affine import affine_distance
from iirl_opt.verification.ideal import ideal_environment
from iirl_opt.verification.strict import strict_environment


def integer_rewards(least=1, most=8):
    return st.integers(least, most).flatmap(
        lambda n: arrays(np.int64, n, elements=st.integers(-9, 9))
    )


def varied_rewards(least=2, most=8):
    return integer_rewards(least, most).filter(lambda r: np.ptp(r) > 0)


def fractions_of(environment):
    """The exact kernel (S, B, S) of a rational environment."""
    n, b = environment.mdp.shape
    rows = environment.mdp.rational.rows
    kernel = np.full((n * b, n), Fraction(0))
    for i in range(n * b):
        for j, p in rows.row(i).items():
            kernel[i, j] = p
    return kernel.reshape(n, b, n)


def solved(matrix, right):
    """The solution of a square system of Fractions by elimination, or None if there is no one."""
    rows = [[*map(Fraction, row), Fraction(x)] for row, x in zip(matrix, right, strict=True)]
    n = len(rows)
    for i in range(n):
        pivot = next((k for k in range(i, n) if rows[k][i]), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(n):
            if k != i:
                rows[k] = [x - rows[k][i] * y for x, y in zip(rows[k], rows[i], strict=True)]
    return [row[-1] for row in rows]


def rank(matrix):
    return np.linalg.matrix_rank(np.array(matrix, dtype=float)) if len(matrix) else 0


def rays(rows):
    """The extreme rays of {x : rows x ≥ 0, sum x = 0}, rows (N − 1, N) exact, by vertices."""
    n = len(rows) + 1
    for j in range(n - 1):
        right = [Fraction(int(i == j)) for i in range(n - 1)] + [Fraction(0)]
        yield solved([*rows, [1] * n], right)


def tan2(ray, reward):
    """The exact squared tangent of the angle between a centred ray and a centred reward."""
    w = [Fraction(int(x)) - Fraction(int(reward.sum()), reward.size) for x in reward]
    along = sum(x * y for x, y in zip(ray, w, strict=True))
    assert along > 0
    length = sum(x * x for x in ray)
    return length * sum(y * y for y in w) / along**2 - 1


# The ideal environment


@given(reward=integer_rewards(), n_actions=st.integers(2, 4))
def test_the_ideal_rows_span_what_is_orthogonal_to_the_reward_and_add_to_nothing(reward, n_actions):
    environment = ideal_environment(reward, Fraction(1, 2), n_actions)
    kernel, n = fractions_of(environment), reward.size
    assert (kernel[:, 0] == Fraction(1, n)).all()
    assert all((kernel[:, b] == kernel[:, 1]).all() for b in range(2, n_actions))
    assert (kernel >= 0).all()
    rows = kernel[:, 0] - kernel[:, 1]
    assert (rows.sum(axis=1) == 0).all()
    if np.ptp(reward) > 0:
        reward = reward.astype(object)
        assert (rows[:-1] @ reward == 0).all()
        assert rank(rows[:-1]) == n - 2
        centred = reward * n - reward.sum()
        factor = rows[-1] @ centred / (centred @ centred)
        assert factor > 0
        assert (rows[-1] == factor * centred).all()
    else:
        assert rank(rows) == n - 1
    assert environment.tan_bound == 0
    assert environment.rows == pytest.approx(rows.astype(float), abs=1e-15)


@given(reward=varied_rewards(3))
def test_all_ideal_rows_but_the_last_hold_together_only_as_equations(reward):
    # Positive weights on the rows add to zero, and no other dependency than this one exists.
    rows = ideal_environment(reward, 0.9).rows[:-1]
    _, values, directions = np.linalg.svd(rows.T)
    assert (values > 1e-9).sum() == reward.size - 2
    weights = directions[-1] * np.sign(directions[-1][0])
    assert (weights > 1e-9).all()


def test_the_environment_of_zero_one_two():
    # Up to the scale of a row and the order of the first two, THEORY's minimal example.
    kernel = fractions_of(ideal_environment([0, 1, 2], Fraction(1, 2)))
    third = Fraction(1, 3)
    assert kernel[:, 1].tolist() == [
        [0, 1, 0],
        [Fraction(1, 2), 0, Fraction(1, 2)],
        [2 * third, third, 0],
    ]


def test_floats_are_what_they_are_and_texts_what_they_say():
    floats, texts = [0.1, 0.2, 0.7], ["0.1", "1/5", "7/10"]
    exact = [Fraction(x) for x in floats]
    assert ideal_environment(floats, 0.9).mdp == ideal_environment(exact, Fraction(0.9)).mdp
    assert ideal_environment(texts, "9/10").mdp == ideal_environment([1, 2, 7], "0.9").mdp
    assert ideal_environment(floats, 0.9).mdp != ideal_environment(texts, 0.9).mdp


@given(reward=varied_rewards(), scale=st.integers(1, 9), shift=st.integers(-9, 9))
def test_a_class_has_one_ideal_environment(reward, scale, shift):
    assert ideal_environment(reward, 0.9).mdp == ideal_environment(scale * reward + shift, 0.9).mdp


@pytest.mark.parametrize(
    "reward", [[8e307, -8e307, 0.0], [1e-300, 0.0, 2e-300], [5e-324, 0.0], [1e9, 1e9 + 1]]
)
def test_huge_and_tiny_rewards_have_environments(reward):
    for environment in (ideal_environment(reward, 0.9), strict_environment(reward, 0.9, 0.1)):
        assert np.isfinite(environment.kernel).all()
        assert environment.kernel.sum(axis=2) == pytest.approx(1)
    assert affine_distance(reward, reward) == 0


# The strict environment


@given(reward=varied_rewards(3), share=st.sampled_from([1e-9, 1e-4, 0.1, 1.0]))
def test_the_rational_bound_is_the_angle_of_the_worst_extreme_ray(reward, share):
    environment = strict_environment(reward, 0.9, share, rational=True)
    kernel = fractions_of(environment)
    rows = (kernel[:, 0] - kernel[:, 1])[:-1]
    assert environment.tan2_bound == max(tan2(ray, reward) for ray in rays(rows))
    k = reward.size - 2
    assert environment.tan_bound <= share * sqrt(k * k + k - 1) * (1 + 1e-5)


@given(reward=varied_rewards(3), share=st.sampled_from([1e-6, 1e-3, 0.1, 1.0]))
def test_the_bound_of_the_regular_rows_is_tight(reward, share):
    environment = strict_environment(reward, 0.9, share)
    rows, n = environment.rows[:-1], reward.size
    assert 1 <= environment.tan_bound / ((n - 2) * share) <= 1 + 1e-5
    scaled = rows / np.abs(rows).max(axis=1, keepdims=True)
    vertices = np.linalg.inv(np.vstack([scaled, np.ones(n)]))[:, :-1]
    w = (reward - reward.mean()) / np.linalg.norm(reward - reward.mean())
    along = w @ vertices
    across = np.linalg.norm(vertices - np.outer(w, along), axis=0)
    assert (along > 0).all()
    assert across / along == pytest.approx((n - 2) * share, rel=1e-6)


@given(reward=varied_rewards(), rational=st.booleans(), data=st.data())
def test_the_first_action_is_better_everywhere_by_the_stated_gap(reward, rational, data):
    gamma = data.draw(st.sampled_from([0.05, 0.5, 0.99]))
    scale = data.draw(st.sampled_from([1e-3, 1.0, 1e3]))
    environment = strict_environment(reward, gamma, 0.01, rational=rational)
    q = best_responses(environment.game, scale * reward + 5, np.ones((reward.size, 1))).q
    assert environment.gap > 0
    assert (q[:, 0] - q[:, 1]).min() == pytest.approx(scale * environment.gap, rel=1e-4)


@given(reward=varied_rewards(3), n_actions=st.integers(2, 4))
def test_further_actions_are_copies(reward, n_actions):
    kernel = strict_environment(reward, 0.9, 0.1, n_actions).kernel
    two = strict_environment(reward, 0.9, 0.1).kernel
    assert (kernel[:, :1] == two[:, :1]).all()
    assert (kernel[:, 1:] == two[:, 1:]).all()


def test_the_default_share_grows_with_the_planning_tolerance():
    reward = np.array([0.0, 3.0, 4.0])
    length = np.linalg.norm(reward - reward.mean())
    environment = strict_environment(reward, 0.5, planning_tolerance=1e-4)
    assert environment.epsilon == pytest.approx(100 * 3 * 1e-4 / (0.5 * length))
    assert environment.gap > 10 * 1e-4
    assert strict_environment(reward, 0.5, planning_tolerance=0.0).epsilon == 1e-10


def test_two_states_leave_no_angle_and_one_state_no_question():
    assert strict_environment([1.0, 0.0], 0.9, 0.5).tan_bound == 0
    for environment in (ideal_environment([3.0], 0.9, 1), strict_environment([3.0], 0.9)):
        assert environment.tan_bound == 0
        assert (environment.kernel == 1).all()
        assert not environment.telling.any()


# Refusals


@pytest.mark.parametrize("make", [ideal_environment, strict_environment])
@pytest.mark.parametrize("discount", [0, 1, -0.1, float("nan"), "half"])
def test_a_discount_outside_the_open_interval_is_refused(make, discount):
    with pytest.raises(InvalidArgument, match="discount"):
        make([0, 1], discount)


def test_without_a_future_the_reason_is_named():
    with pytest.raises(InvalidArgument, match="every response is optimal"):
        ideal_environment([0, 1], 0)


@pytest.mark.parametrize("reward", [[2, 2, 2], [0.1 + 0.2, 0.3 + 2**-54]])
def test_a_constant_hypothesis_has_an_ideal_environment_and_no_strict_one(reward):
    assert ideal_environment(reward, 0.9).rows == pytest.approx(
        ideal_environment([0] * len(reward), 0.9).rows
    )
    with pytest.raises(InvalidReward, match="constant"):
        strict_environment(reward, 0.9)


@pytest.mark.parametrize("make", [ideal_environment, strict_environment])
@pytest.mark.parametrize(
    "reward", [[], 3.0, [[1, 2]], [0, float("nan")], [0, float("inf")], ["a"], [10**400, 1]]
)
def test_what_is_no_finite_state_reward_is_refused(make, reward):
    with pytest.raises(InvalidReward):
        make(reward, 0.9)


@pytest.mark.parametrize("share", [0.0, -1.0, 1e-13, float("nan"), float("inf")])
def test_a_share_that_floats_do_not_carry_is_refused(share):
    with pytest.raises(InvalidArgument, match="epsilon"):
        strict_environment([0, 1, 2], 0.9, share)


def test_other_arguments_are_checked():
    with pytest.raises(InvalidArgument, match="n_actions"):
        ideal_environment([0, 1], 0.9, 1)
    with pytest.raises(InvalidArgument, match="planning_tolerance"):
        strict_environment([0, 1, 2], 0.9, planning_tolerance=-1.0)


def test_integers_of_any_size_keep_their_roots():
    # The share is set against the length of w, whose square is far beyond floats here.
    big = isqrt(10**300)
    environment = strict_environment([0, big, 3 * big], 0.9, 1e-3, rational=True)
    small = strict_environment([0, 1, 3], 0.9, 1e-3, rational=True)
    assert environment.mdp == small.mdp
