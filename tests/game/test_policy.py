"""Policies: what is accepted, what is refused and in which words, and how they compose."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from iirl_opt.errors import InvalidPolicy, NotAProduct, UnknownLabel
from iirl_opt.game.policy import (
    check_policy,
    deterministic_policy,
    from_labels,
    joint_policy,
    mix,
    random_deterministic_policy,
    random_policy,
    split,
    uniform_policy,
)

ROOMS = ("hall", "yard")


@st.composite
def stochastic(draw, shape=None):
    """Draw positive rows that sum to one up to rounding."""
    if shape is None:
        shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 5)))
    weights = draw(arrays(float, shape, elements=st.floats(1e-3, 1)))
    return weights / weights.sum(axis=tuple(range(1, len(shape))), keepdims=True)


# Checking


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1, 0], [0.97, 0]], r"pi1\[s='yard'\] sums to 0\.97; allowed 1 ± 1e-09$"),
        (np.float32([[1, 0], [0.1, 0.9]]), r"yard'\] sums to .*; allowed 1 ± 1e-09 \(of float32"),
        ([[0, 0], [1, 0]], r"pi1\[s='hall'\] sums to 0; allowed"),
        ([[2, 0], [1, 0]], r"pi1\[s='hall'\] sums to 2; allowed"),
        ([[1, 0], [1.5, -0.5]], r"pi1\[s='yard'\] has an entry -0\.5; allowed 0 ≤ p ≤ 1"),
        ([[1, 0], [np.nan, 1]], r"pi1\[s='yard'\] has an entry nan"),
        ([[np.inf, 0], [1, 0]], r"pi1\[s='hall'\] has an entry inf"),
        ([[1, 0]], r"pi1 has shape \(1, 2\); allowed \(2, 2\)"),
        ([1, 0], r"pi1 has shape \(2,\); allowed"),
        (1.0, r"pi1 has shape \(\); allowed"),
        ([[1, 0], [1]], "pi1 is no array of numbers"),
        ([["a", "b"], ["c", "d"]], "pi1 is no array of numbers"),
        ([[1j, 0], [1, 0]], r"pi1 is no array of numbers \(has type complex128\)"),
        ([[object(), 0], [1, 0]], "pi1 is no array of numbers"),
        (sp.eye_array(2), "pi1 is no array of numbers"),
    ],
)
def test_what_is_no_policy_is_refused_with_its_place(rows, message):
    with pytest.raises(InvalidPolicy, match=message):
        check_policy(rows, (2, 2), name="pi1", states=ROOMS)


def test_a_state_without_a_label_goes_by_its_number():
    with pytest.raises(InvalidPolicy, match=r"policy\[s=1\] sums to 0\.5"):
        check_policy([[1, 0], [0.5, 0]], (2, 2))


def test_the_error_carries_its_facts():
    with pytest.raises(InvalidPolicy) as caught:
        check_policy([[0.25, 0.5]], (1, 2), name="pi2", states=["hall"])
    assert caught.value.place == "pi2[s='hall']"
    assert caught.value.value == 0.75


def test_what_sums_to_one_within_the_tolerance_is_renormalised():
    found = check_policy([[0.5, 0.5 + 5e-10], [1.0, -5e-10]], (2, 2))
    assert found.sum(axis=1) == pytest.approx(1, abs=1e-15)
    assert found[1].tolist() == [1, 0]
    with pytest.raises(InvalidPolicy, match="sums to"):
        check_policy([[0.5, 0.5 + 2e-9]], (1, 2))
    with pytest.raises(InvalidPolicy, match="has an entry -2e-09"):
        check_policy([[1.0 + 2e-9, -2e-9]], (1, 2))


@given(policy=stochastic())
def test_checking_again_changes_no_bit(policy):
    once = check_policy(policy, policy.shape)
    assert check_policy(once, policy.shape).tobytes() == once.tobytes()


@given(policy=stochastic(shape=(2, 2, 3)))
def test_a_joint_policy_has_one_sum_a_state(policy):
    assert check_policy(policy, (2, 2, 3)) == pytest.approx(policy, abs=1e-15)


def test_the_result_is_a_copy():
    given_policy = np.eye(2)
    check_policy(given_policy, (2, 2))[0, 0] = 7
    assert given_policy[0, 0] == 1


def test_fractions_and_booleans_are_numbers():
    third = Fraction(1, 3)
    assert check_policy([[third, 2 * third]], (1, 2)) == pytest.approx(np.array([[1 / 3, 2 / 3]]))
    assert check_policy([[True, False]], (1, 2)).tolist() == [[1, 0]]


# Making


@given(actions=st.lists(st.integers(0, 3), min_size=1, max_size=5))
def test_a_deterministic_policy_plays_the_given_actions(actions):
    policy = deterministic_policy(actions, 4)
    assert policy.shape == (len(actions), 4)
    assert policy.argmax(axis=1).tolist() == actions
    assert policy.sum() == len(actions)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 2], r"actions\[s=1\] is 2; allowed 0 … 1"),
        ([-1, 0], r"actions\[s=0\] is -1; allowed 0 … 1"),
        ([0.0, 1.0], "type float64; allowed integers"),
        ([True, False], "type bool; allowed integers"),
        ([[0], [1]], r"shape \(2, 1\)"),
        (0, r"shape \(\)"),
        ([], "type float64"),
    ],
)
def test_what_is_no_action_is_refused(actions, message):
    with pytest.raises(InvalidPolicy, match=message):
        deterministic_policy(actions, 2)


def test_unsigned_actions_are_actions():
    assert deterministic_policy(np.array([1, 0], dtype=np.uint8), 2).tolist() == [[0, 1], [1, 0]]


def test_the_uniform_policy_is_uniform():
    assert uniform_policy(2, 4).tolist() == [[0.25] * 4] * 2


@pytest.mark.parametrize("draw", [random_policy, random_deterministic_policy])
@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (5, 4)])
def test_random_policies_are_policies_and_follow_their_generator(draw, shape):
    first = draw(*shape, np.random.default_rng(3))
    assert check_policy(first, shape) == pytest.approx(first, abs=1e-15)
    assert (draw(*shape, np.random.default_rng(3)) == first).all()
    if shape[1] > 1:
        assert (draw(*shape, np.random.default_rng(4)) != first).any()


def test_random_policies_are_uniform():
    rng = np.random.default_rng(0)
    stochastic = random_policy(20_000, 3, rng)
    assert stochastic.mean(axis=0) == pytest.approx(np.full(3, 1 / 3), abs=0.01)
    # Uniform on the simplex of three: P(p > 1/2) = 1/4 for each entry.
    assert (stochastic > 0.5).mean(axis=0) == pytest.approx(np.full(3, 0.25), abs=0.015)
    chosen = random_deterministic_policy(20_000, 3, rng)
    assert set(np.unique(chosen)) == {0, 1}
    assert chosen.mean(axis=0) == pytest.approx(np.full(3, 1 / 3), abs=0.015)


# Composing


@given(data=st.data(), n=st.integers(1, 3), n_a=st.integers(1, 3), n_b=st.integers(1, 3))
def test_a_product_splits_into_its_factors(data, n, n_a, n_b):
    pi1, pi2 = data.draw(stochastic((n, n_a))), data.draw(stochastic((n, n_b)))
    joint = joint_policy(pi1, pi2)
    assert joint.shape == (n, n_a, n_b)
    assert joint[n - 1, 0, n_b - 1] == pi1[n - 1, 0] * pi2[n - 1, n_b - 1]
    left, right = split(joint)
    assert left == pytest.approx(pi1, abs=1e-14)
    assert right == pytest.approx(pi2, abs=1e-14)


def test_a_correlated_policy_does_not_split():
    joint = np.array([[[0.25, 0.25], [0.25, 0.25]], [[0.5, 0], [0, 0.5]]])
    with pytest.raises(NotAProduct) as caught:
        split(joint, states=ROOMS)
    assert caught.value.place == "joint policy[s='yard']"
    assert caught.value.value == 0.25  # 0.5 against 0.5 · 0.5
    assert split(joint, tolerance=0.26)[0].tolist() == [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        (np.full((1, 2, 2), np.nan), "has an entry nan"),
        (np.zeros((1, 2, 2)), "sums to 0"),
        (np.ones((1, 2, 2)), "sums to 4"),
        (np.eye(2), r"has shape \(2, 2\); allowed \(S, A, B\)"),
    ],
)
def test_what_is_no_joint_policy_does_not_split(joint, message):
    with pytest.raises(InvalidPolicy, match=message) as caught:
        split(joint)
    assert not isinstance(caught.value, NotAProduct)


def test_a_mixture_is_taken_state_by_state():
    first, second = np.array([[1, 0], [0, 1]]), np.array([[0, 1], [0, 1]])
    assert mix([first, second], [0.25, 0.75]).tolist() == [[0.25, 0.75], [0, 1]]
    assert mix([first], [1]).tolist() == first.tolist()


@given(data=st.data(), count=st.integers(1, 3))
def test_mixtures_are_policies_of_any_shape(data, count):
    shape = data.draw(st.sampled_from([(2, 3), (2, 2, 2)]))
    policies = [data.draw(stochastic(shape)) for _ in range(count)]
    weights = data.draw(stochastic((1, count)))[0]
    mixed = mix(policies, weights)
    assert mixed == pytest.approx(
        sum(w * p for w, p in zip(weights, policies, strict=True)), abs=1e-14
    )
    assert check_policy(mixed, shape) == pytest.approx(mixed, abs=1e-14)


@pytest.mark.parametrize(
    ("policies", "weights", "message"),
    [
        ([np.eye(2), np.eye(2)], [0.5, 0.25], r"weights\[s=0\] sums to 0\.75"),
        ([np.eye(2), np.eye(2)], [1.5, -0.5], r"weights\[s=0\] has an entry -0\.5"),
        ([np.eye(2), np.eye(2)], [1.0], r"weights has shape \(1, 1\)"),
        ([np.eye(2), np.eye(3)], [0.5, 0.5], r"policies\[1\] has shape \(3, 3\)"),
        ([np.eye(2), "pi"], [0.5, 0.5], r"policies\[1\] is no array"),
        ([], [], "sums to 0"),
    ],
)
def test_what_does_not_mix_is_refused(policies, weights, message):
    with pytest.raises(InvalidPolicy, match=message):
        mix(policies, weights)


# Labels


def test_policies_are_written_in_labels():
    states, actions = ("hall", "yard", (0, 1)), ("open", "shut", "lock")
    policy = from_labels(
        {"hall": "open", "*": {"shut": 0.25, "lock": 0.75}}, states, actions, name="pi1"
    )
    assert policy.tolist() == [[1, 0, 0], [0, 0.25, 0.75], [0, 0.25, 0.75]]
    third = Fraction(1, 3)
    policy = from_labels(
        {(0, 1): {"open": third, "shut": 2 * third}, "*": "lock"}, states, actions, name="pi1"
    )
    assert policy == pytest.approx(np.array([[0, 0, 1], [0, 0, 1], [1 / 3, 2 / 3, 0]]))


def test_a_star_that_is_a_state_speaks_for_itself_alone():
    choices = {"*": "open", "hall": "shut"}
    policy = from_labels(choices, ("*", "hall"), ("open", "shut"), name="pi1")
    assert policy.tolist() == [[1, 0], [0, 1]]
    with pytest.raises(InvalidPolicy, match=r"pi1\[s='yard'\] sums to 0"):
        from_labels(choices, ("*", "hall", "yard"), ("open", "shut"), name="pi1")


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"hall": "open"}, r"pi1\[s='yard'\] sums to 0"),
        ({"hall": {"open": 0.5}, "*": "shut"}, r"pi1\[s='hall'\] sums to 0\.5"),
        ({"hall": {"open": 2, "shut": -1}, "*": "shut"}, r"pi1\[s='hall'\] has an entry -1"),
        ({"hall": ["open"], "*": "shut"}, r"pi1\[s='hall'\] is \['open'\]; allowed an action"),
        ({"hall": {"open": "much"}, "*": "shut"}, r"pi1\[s='hall'\] is {'open': 'much'}"),
        ({"hall": {"open": None}, "*": "shut"}, r"pi1\[s='hall'\] is {'open': None}"),
    ],
)
def test_a_policy_in_labels_that_is_none_is_refused(choices, message):
    with pytest.raises(InvalidPolicy, match=message):
        from_labels(choices, ROOMS, ("open", "shut"), name="pi1")


def test_unknown_labels_are_named_with_what_is_near():
    with pytest.raises(UnknownLabel, match="no action is called 'opne'; did you mean 'open'"):
        from_labels({"*": "opne"}, ROOMS, ("open", "shut"), name="pi1")
    with pytest.raises(UnknownLabel, match="no state is called 'garden'"):
        from_labels({"garden": "open", "*": "shut"}, ROOMS, ("open", "shut"), name="pi1")
