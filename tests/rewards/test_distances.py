"""EPIC, STARC and DARD: what each ignores and tells apart, against definitions term by term."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

import iirl_opt as iirl
from iirl_opt.errors import InvalidArgument, InvalidPolicy, InvalidReward, NotExact
from iirl_opt.rewards import (
    affine_distance,
    canonical_reward,
    dard_distance,
    epic_distance,
    reward_distances,
    starc_distance,
)

DISTANCES = {"EPIC": epic_distance, "STARC": starc_distance, "DARD": dard_distance}
SEEDS = st.integers(0, 2**32 - 1)
FORMS = ["s", "sab", "sabt"]


def game_and(rng, n=3, a=2, b=2, discount=None):
    discount = rng.choice([0.25, 0.5, 0.9]) if discount is None else discount
    kernel = rng.integers(0, 4, (n, a, b, n))
    kernel[..., 0] += 1
    return iirl.TwoAgentMDP(kernel, float(discount))


def reward_of(game, rng, form):
    shape = {"s": game.shape[:1], "sab": game.shape, "sabt": (*game.shape, game.n_states)}[form]
    return rng.normal(size=shape)


def whole(game, r):
    """A reward as a function of transitions."""
    missing = 4 - r.ndim
    return np.broadcast_to(r.reshape(*r.shape, *[1] * missing), (*game.shape, game.n_states))


def shaped(game, r, phi):
    return whole(game, r) + game.discount * phi - phi[:, None, None, None]


@given(seed=SEEDS, form=st.sampled_from(FORMS))
def test_scale_shift_and_shaping_are_ignored_by_all(seed, form):
    rng = np.random.default_rng(seed)
    game = game_and(rng)
    r, other = reward_of(game, rng, form), reward_of(game, rng, "sab")
    image = shaped(game, rng.uniform(0.1, 10) * r + rng.normal(), rng.normal(size=3))
    for distance in DISTANCES.values():
        assert distance(game, r, image) == pytest.approx(0, abs=1e-9)
        assert distance(game, image, other) == pytest.approx(distance(game, r, other), abs=1e-9)
        assert distance(game, r, -image) == pytest.approx(1, abs=1e-9)


@given(seed=SEEDS)
def test_all_are_pseudometrics(seed):
    rng = np.random.default_rng(seed)
    game = game_and(rng)
    triple = [reward_of(game, rng, form) for form in FORMS]
    triple[rng.integers(3)] = np.full(3, rng.normal())  # a constant at times
    for distance in DISTANCES.values():
        d = np.array([[distance(game, x, y) for y in triple] for x in triple])
        assert (d == d.T).all()
        assert not d.diagonal().any()
        assert ((d >= 0) & (d <= 1)).all()
        for i, j, k in itertools.permutations(range(3)):
            assert d[i, k] <= d[i, j] + d[j, k] + 1e-12


@given(seed=SEEDS)
def test_starc_alone_ignores_how_a_reward_is_spread_over_next_states(seed):
    rng = np.random.default_rng(seed)
    game = game_and(rng)
    r = reward_of(game, rng, "sabt")
    mean = (r * game.kernel).sum(axis=3)
    assert starc_distance(game, r, mean) == pytest.approx(0, abs=1e-9)
    assert epic_distance(game, r, mean) > 1e-3
    assert dard_distance(game, r, mean) > 1e-3


@given(seed=SEEDS)
def test_starc_is_zero_where_policies_are_ordered_alike(seed):
    """Values from all starts are an affine image of each other's, policy for policy."""
    rng = np.random.default_rng(seed)
    game = game_and(rng)
    r = reward_of(game, rng, "sab")
    policies = [rng.dirichlet(np.ones(4), 3).reshape(game.shape) for _ in range(12)]

    def worths(reward):
        return np.array([game.start @ iirl.evaluate(game, reward, policy) for policy in policies])

    image = (shaped(game, 2 * r, rng.normal(size=3)) * game.kernel).sum(axis=3)
    assert starc_distance(game, r, image) == pytest.approx(0, abs=1e-9)
    assert (np.argsort(worths(r)) == np.argsort(worths(image))).all()
    assert np.corrcoef(worths(r), worths(image))[0, 1] == pytest.approx(1)
    # Which policy levels the rewards does not matter where the distance is zero.
    for policy in policies[:3]:
        assert starc_distance(game, r, image, policy=policy) == pytest.approx(0, abs=1e-9)


def expected(game, r, by):
    """The canonical form by its definition, an expectation a term."""
    n, gamma = game.n_states, game.discount
    kernel, full = game.kernel.reshape(n, -1, n), whole(game, r).reshape(n, -1, n)
    k, found = kernel.shape[1], np.empty((n, kernel.shape[1], n))
    anywhere = [[np.full(n, 1 / n)] * k] * n
    lead = kernel if by == "DARD" else anywhere
    for s, c, t in np.ndindex(found.shape):
        total = 0.0
        for a in range(k):
            for u in range(n):
                total += gamma * lead[t][a][u] * full[t, a, u] - lead[s][a][u] * full[s, a, u]
                for v in range(n):
                    # EPIC's S is drawn anew, DARD's S' from s; S'' from t.
                    total -= gamma * lead[s][a][u] * lead[t][a][v] * full[u, a, v]
        found[s, c, t] = full[s, c, t] + total / k
    return found.reshape(*game.shape, n)


@pytest.mark.parametrize("by", ["EPIC", "DARD"])
@pytest.mark.parametrize("form", FORMS)
def test_canonical_forms_are_those_of_the_papers(by, form):
    rng = np.random.default_rng(1)
    game = game_and(rng)
    r = 1e6 + 3 * reward_of(game, rng, form)
    assert canonical_reward(game, r, by) == pytest.approx(expected(game, r, by), abs=1e-8)


def test_levelling_takes_the_values_of_a_policy_away():
    rng = np.random.default_rng(2)
    game, policy = game_and(rng), (iirl.uniform_policy(3, 2), np.eye(2)[[0, 1, 1]])
    r = reward_of(game, rng, "sab")
    level = canonical_reward(game, r, "STARC", policy=policy)
    assert iirl.evaluate(game, level, policy) == pytest.approx(0, abs=1e-9)
    image = shaped(game, r, r[:, 0, 0])
    assert level == pytest.approx(canonical_reward(game, image, "STARC", policy=policy))


@given(seed=SEEDS, gamma=st.sampled_from([0.05, 0.5, 0.99]))
def test_epic_of_state_rewards_is_the_sine_of_half_the_angle(seed, gamma):
    rng = np.random.default_rng(seed)
    game = game_and(rng, n=4, discount=gamma)
    first, second = rng.normal(size=(2, 4)) + 5
    half = affine_distance(first, second) / 2
    assert epic_distance(game, first, second) == pytest.approx(math.sin(half), abs=1e-12)


def test_without_a_future_every_state_reward_is_shaping():
    game = game_and(np.random.default_rng(3), discount=0.0)
    table = reward_distances(game, [0.0, 1.0, 2.0], [2.0, 0.0, 1.0])
    assert table.column("value")[1:] == [0, 0, 0]
    assert table[0]["value"] > 1


def exactly_shaped(game, phi):
    """A reward that is nothing but shaping, in Fractions; of few bits it is so in floats."""
    gamma = Fraction(game.discount)
    found = [[gamma * Fraction(y) - Fraction(x) for y in phi] for x in phi]
    return np.broadcast_to(np.array(found, dtype=object)[:, None, None], (*game.shape, len(phi)))


@pytest.mark.parametrize("discount", [0.5, 0.9, 1 - 1e-12])
def test_a_reward_without_direction_is_between_all_others(discount):
    game = game_and(np.random.default_rng(4), discount=discount)
    none, r = exactly_shaped(game, [1.0, -2.0, 0.5]), np.arange(3.0)
    if discount == 0.5:
        none = none.astype(float)
    found = [distance(game, none, r) for distance in DISTANCES.values()]
    assert found == pytest.approx([math.sqrt(0.5), 0.5, math.sqrt(0.5)])
    assert [distance(game, none, [1, 1, 1]) for distance in DISTANCES.values()] == [0, 0, 0]


@pytest.mark.parametrize("by", DISTANCES)
def test_shaping_but_for_rounding_is_refused(by):
    """It is neither zero nor has it a direction that could be told."""
    game = game_and(np.random.default_rng(4), discount=0.9)
    r, phi = np.arange(3.0), np.array([1.0, -2.0, 0.5]) / 3
    with pytest.raises(NotExact, match="direction of second"):
        DISTANCES[by](game, r, shaped(game, np.full(3, 7.0), phi))
    large = 2e18 * np.array([1.0, -2.0, 0.5])
    with pytest.raises(NotExact, match="direction of first"):
        DISTANCES[by](game, shaped(game, r, large), r)


def test_what_floats_lose_in_a_large_game_is_refused(monkeypatch):
    monkeypatch.setattr("iirl_opt.rewards.canonical.MOST_EXACT", 10)
    game = game_and(np.random.default_rng(4), discount=0.5)
    r, phi = np.arange(3.0), 2.0**45 * np.array([1.0, -2.0, 0.5])
    for distance in DISTANCES.values():
        with pytest.raises(NotExact, match="too large"):
            distance(game, r, shaped(game, r, phi))


@given(seed=SEEDS, bits=st.integers(0, 45), form=st.sampled_from(FORMS))
def test_no_shaping_is_large_enough_to_hide_a_reward(seed, bits, form):
    """Of few bits its sums with a reward are floats, so that the distances are known."""
    rng = np.random.default_rng(seed)
    game = game_and(rng, discount=0.5)
    shape = reward_of(game, rng, form).shape
    r, other = (rng.integers(-8, 9, shape).astype(float) for _ in range(2))
    r.flat[0] += 32
    phi = 2.0**bits * rng.integers(-4, 5, 3)
    for distance in DISTANCES.values():
        hidden = shaped(game, r, phi)
        assert distance(game, hidden, r) == pytest.approx(0, abs=1e-6)
        assert distance(game, hidden, shaped(game, -r, phi)) == pytest.approx(1, abs=1e-6)
        assert distance(game, hidden, other) == pytest.approx(distance(game, r, other), abs=1e-6)


@given(seed=SEEDS, short=st.floats(-16, 0), n=st.integers(1, 4))
def test_no_discount_is_too_near_one(seed, short, n):
    """Distances are continuous there: of an ergodic game they come to a limit."""
    rng = np.random.default_rng(seed)
    kernel = rng.integers(1, 5, (n, 2, 2, n))
    near = iirl.TwoAgentMDP(kernel, min(1 - 10**short, math.nextafter(1, 0)))
    r, other = rng.normal(size=(2, n, 2, 2))
    assert starc_distance(near, r, -r) == pytest.approx(1)
    assert starc_distance(near, 3 * r + 2, r) == pytest.approx(0, abs=1e-9)
    nearer = iirl.TwoAgentMDP(kernel, (near.discount + 1) / 2)
    far = 40 * (1 - near.discount) + 1e-9
    assert starc_distance(near, r, other) == pytest.approx(
        starc_distance(nearer, r, other), abs=far
    )


def test_classes_that_no_step_joins_have_exact_values():
    """Where values grow as 1/(1 − γ) apart from another, floats lose them."""
    kernel = np.zeros((2, 2, 1, 2))
    kernel[[0, 1], :, :, [0, 1]] = 1
    game = iirl.TwoAgentMDP(kernel, 1 - 2.0**-40)
    r = np.array([[[1.0], [2.0]], [[5.0], [3.0]]])
    assert starc_distance(game, r, -r) == 1
    level = canonical_reward(game, r, "STARC")
    assert level[..., 0] == pytest.approx(np.array([[-0.5, 0.5], [1.0, -1.0]]))


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e-9, 1.0, 1e9, 1e200, 1e307])
def test_no_scale_is_too_small_or_too_large(size):
    rng = np.random.default_rng(5)
    game = game_and(rng)
    r, other = rng.integers(-9, 10, (3, 2, 2)), reward_of(game, rng, "sab")
    for distance in DISTANCES.values():
        assert distance(game, size * r, other) == pytest.approx(distance(game, r, other))


def test_small_differences_keep_their_digits():
    rng = np.random.default_rng(6)
    game = game_and(rng)
    r, across = reward_of(game, rng, "sab"), reward_of(game, rng, "sab")
    for distance in DISTANCES.values():
        one, half = (distance(game, r, r + step * across) for step in (1e-9, 5e-10))
        assert one / half == pytest.approx(2, rel=1e-4)


def test_coverage_weighs_transitions():
    rng = np.random.default_rng(7)
    game = game_and(rng)
    r, other = reward_of(game, rng, "sabt"), reward_of(game, rng, "sabt")
    assert epic_distance(game, r, other, coverage=np.ones((3, 2, 2, 3))) == pytest.approx(
        epic_distance(game, r, other)
    )
    assert dard_distance(game, r, other, coverage=9 * game.kernel) == pytest.approx(
        dard_distance(game, r, other)
    )
    forms = [canonical_reward(game, x, "EPIC")[game.kernel > 0] for x in (r, other)]
    rho = np.corrcoef(*forms)[0, 1]
    covered = epic_distance(game, r, other, coverage=game.kernel > 0)
    assert covered == pytest.approx(math.sqrt((1 - rho) / 2))


def test_what_is_no_reward_or_coverage_is_named():
    game = game_and(np.random.default_rng(8))
    for distance in DISTANCES.values():
        with pytest.raises(InvalidReward, match="second"):
            distance(game, [1, 2, 3], [1, 2])
        with pytest.raises(InvalidReward, match="first"):
            distance(game, np.full((3, 2, 2, 3), np.nan), [1, 2, 3])
        with pytest.raises(InvalidReward, match=r"allowed \(3,\), \(3, 2, 2\) or \(3, 2, 2, 3\)"):
            distance(game, [1, 2, 3], np.ones((3, 2, 3, 2)))
    for wrong in (np.zeros((3, 2, 2, 3)), -np.ones((3, 2, 2, 3)), np.ones((2, 2, 2, 2)), [1.0]):
        with pytest.raises(InvalidArgument, match="coverage"):
            epic_distance(game, [1, 2, 3], [3, 2, 1], coverage=wrong)
    with pytest.raises(InvalidPolicy):
        starc_distance(game, [1, 2, 3], [3, 2, 1], policy=np.ones((3, 2, 2)))
    ends, first = np.tile([1.7e308, -1.7e308], (3, 2, 1)), np.tile([1.0, 0.0], (3, 1))
    with pytest.raises(InvalidReward, match="overflows"):
        canonical_reward(game, ends, "STARC", policy=(first, first))
    with pytest.raises(InvalidArgument, match="policy"):
        canonical_reward(game, [1, 2, 3], "EPIC", policy=np.full((3, 2, 2), 0.25))


def test_a_game_too_large_for_all_pairs_of_states_is_refused_by_size(monkeypatch):
    monkeypatch.setattr("iirl_opt.rewards.canonical.MOST_TRANSITIONS", 10)
    game = game_and(np.random.default_rng(9))
    for distance in (epic_distance, dard_distance):
        with pytest.raises(InvalidArgument, match="36 transitions"):
            distance(game, [1, 2, 3], [3, 2, 1])
    assert starc_distance(game, [1, 2, 3], [3, 2, 1]) > 0
