"""Random games: the distribution they say they have, and bounds that hold exactly."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from iirl_opt.errors import InvalidArgument, InvalidGame
from iirl_opt.game.generate import random_game

BOUNDS = st.one_of(st.none(), st.sampled_from([0, 2]), st.fractions("1/100000", 2))


def rows_of(game):
    """All rows as {(s, a, b): {next state: Fraction}}."""
    assert game.is_rational
    n_s, n_a, n_b = game.shape
    return {
        (s, a, b): game.rational.rows.row((s * n_a + a) * n_b + b)
        for s, a, b in product(range(n_s), range(n_a), range(n_b))
    }


def distance(p, q):
    return sum(abs(p.get(j, Fraction(0)) - q.get(j, Fraction(0))) for j in p.keys() | q.keys())


def influence(game):
    """Both influences in rational arithmetic, by the definition."""
    rows, (n_s, n_a, n_b) = rows_of(game), game.shape
    leader = (
        distance(rows[s, a, b], rows[s, other, b])
        for s, b in product(range(n_s), range(n_b))
        for a, other in combinations(range(n_a), 2)
    )
    follower = (
        distance(rows[s, a, b], rows[s, a, other])
        for s, a in product(range(n_s), range(n_a))
        for b, other in combinations(range(n_b), 2)
    )
    return max(leader, default=Fraction(0)), max(follower, default=Fraction(0))


sizes = st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.integers(0, 99))


@given(sizes=sizes, leader=BOUNDS, follower=BOUNDS, concentration=st.sampled_from([None, 2.0]))
def test_both_bounds_hold_at_once_and_exactly(sizes, leader, follower, concentration):
    game, _ = random_game(
        *sizes,
        concentration=concentration,
        leader_influence=leader,
        follower_influence=follower,
    )
    assert all(sum(row.values()) == 1 for row in rows_of(game).values())
    found = influence(game)
    assert found[0] <= (2 if leader is None else leader)
    assert found[1] <= (2 if follower is None else follower)
    assert game.influence() == pytest.approx(tuple(map(float, found)), abs=1e-12)


@given(sizes=sizes, bound=st.fractions("1/100000", 2), agent=st.sampled_from([0, 1]))
def test_a_bound_that_bites_is_reached_to_one_part_in_a_thousand(sizes, bound, agent):
    name = ("leader_influence", "follower_influence")[agent]
    free = influence(random_game(*sizes)[0])[agent]
    found = influence(random_game(*sizes, **{name: bound})[0])[agent]
    if free <= bound:
        assert found == free
    else:
        assert bound * Fraction(999, 1000) < found <= bound


@given(sizes=sizes, bound=st.fractions("1/10", 2))
def test_a_bound_mixes_each_state_alone_towards_its_mean(sizes, bound):
    free, bounded = random_game(*sizes)[0], random_game(*sizes, leader_influence=bound)[0]
    assert bounded.kernel.mean(axis=1) == pytest.approx(free.kernel.mean(axis=1), abs=1e-12)
    old, new = rows_of(free), rows_of(bounded)
    for s in range(free.n_states):
        widest = max(
            distance(old[s, a, b], old[s, other, b])
            for a, other in product(range(free.n_leader_actions), repeat=2)
            for b in range(free.n_follower_actions)
        )
        here = [(s, a, b) for a in range(free.shape[1]) for b in range(free.shape[2])]
        assert (widest <= bound) == all(old[at] == new[at] for at in here)


def test_an_agent_of_influence_zero_has_equal_rows_to_the_last_bit():
    no_leader, _ = random_game(12, 3, 4, 1, leader_influence=0)
    no_follower, _ = random_game(12, 3, 4, 1, follower_influence=0.0)
    nobody, _ = random_game(12, 3, 4, 1, leader_influence=0, follower_influence="0")
    assert (no_leader.kernel == no_leader.kernel[:, :1]).all()
    assert no_leader.influence()[1] > 1
    assert (no_follower.kernel == no_follower.kernel[:, :, :1]).all()
    assert no_follower.influence()[0] > 1
    assert influence(nobody) == (0, 0)
    assert influence(no_leader)[0] == influence(no_follower)[1] == 0


def test_bounds_change_the_game_but_neither_its_draws_nor_its_reward():
    (free, reward), (bounded, same) = (
        random_game(8, 2, 2, 5, leader_influence=bound) for bound in (None, "1/3")
    )
    assert free != bounded
    assert reward.tolist() == same.tolist()
    assert bounded.kernel.mean(axis=1) == pytest.approx(free.kernel.mean(axis=1), abs=1e-12)


def test_the_rows_are_dirichlet_draws_rounded_to_five_decimals():
    game, _ = random_game(40, 3, 2, 7)
    draws = np.random.default_rng(7).dirichlet(np.full(40, 1 / 40), 40 * 3 * 2)
    kernel = game.kernel.reshape(-1, 40)[6:]
    assert np.abs(kernel - draws[6:]).max() < 1e-5
    assert kernel * 1e5 == pytest.approx(np.round(kernel * 1e5), abs=1e-9)
    assert all(10**5 % row_total == 0 for row_total in game.rational.rows.denominators[6:].tolist())


@pytest.mark.parametrize(("concentration", "expected"), [(None, 1 / 50), (0.3, 0.3), (20.0, 20.0)])
def test_the_concentration_spreads_the_rows_as_a_dirichlet_does(concentration, expected):
    game, _ = random_game(50, 3, 3, 0, concentration=concentration, restart=False)
    squares = (game.kernel**2).sum(axis=-1)
    # E Σ p² = (α + 1) / (Sα + 1) for the symmetric Dirichlet distribution.
    theory = (expected + 1) / (50 * expected + 1)
    assert squares.mean() == pytest.approx(theory, abs=5 * squares.std() / np.sqrt(squares.size))


def test_state_zero_restarts_uniformly_and_is_the_start():
    game, _ = random_game(7, 2, 3, 0)
    assert game.kernel[0] == pytest.approx(1 / 7)
    assert game.rational.rows.row(4) == dict.fromkeys(range(7), Fraction(1, 7))
    assert game.start.tolist() == [1, 0, 0, 0, 0, 0, 0]


def test_without_the_restart_only_state_zero_and_the_start_differ():
    with_it, reward = random_game(7, 2, 3, 0)
    without, same = random_game(7, 2, 3, 0, restart=False)
    assert (with_it.kernel[1:] == without.kernel[1:]).all()
    assert np.ptp(without.kernel[0]) > 0.1
    assert without.rational.start == (Fraction(1, 7),) * 7
    assert reward.tolist() == same.tolist()


def test_rewards_are_beta_draws_of_six_decimals():
    _, reward = random_game(20_000, 1, 1, 3, successors=1)
    assert reward.shape == (20_000,)
    assert ((reward >= 0) & (reward <= 1)).all()
    assert all(len(repr(float(x)).partition(".")[2]) <= 6 for x in reward if x > 1e-4)
    mean, variance = 0.5 / 1.2, 0.5 * 0.7 / (1.2**2 * 2.2)
    assert reward.mean() == pytest.approx(mean, abs=5 * np.sqrt(variance / 20_000))
    assert reward.var() == pytest.approx(variance, rel=0.03)


@given(n=st.integers(1, 12), data=st.data())
def test_each_row_has_as_many_successors_as_asked_for(n, data):
    k = data.draw(st.integers(1, n), label="successors")
    concentration = data.draw(st.sampled_from([None, 1e-6, 5.0]))
    game, _ = random_game(n, 2, 2, 0, successors=k, concentration=concentration, restart=False)
    assert (np.count_nonzero(game.kernel, axis=-1) == k).all()
    assert all(sum(row.values()) == 1 for row in rows_of(game).values())


def test_every_set_of_successors_is_as_likely():
    game, _ = random_game(5, 100, 100, 0, successors=2, restart=False)
    follows = game.kernel.reshape(-1, 5) > 0
    counts = [int((follows[:, i] & follows[:, j]).sum()) for i, j in combinations(range(5), 2)]
    # 50,000 rows over ten pairs: 5,000 each, standard deviation 67.
    assert counts == pytest.approx([5000] * 10, abs=5 * 67)


def test_sparse_games_obey_bounds_too():
    game, _ = random_game(20, 2, 2, 0, successors=3, leader_influence="1/2", follower_influence=1)
    assert influence(game)[0] <= Fraction(1, 2)
    assert influence(game)[1] <= 1


def test_the_same_seed_makes_the_same_game():
    (first, r1), (second, r2) = (random_game(9, 2, 2, np.int64(4)) for _ in range(2))
    assert first == second
    assert r1.tolist() == r2.tolist()
    from_generator, _ = random_game(9, 2, 2, np.random.default_rng(4))
    assert from_generator == first
    assert random_game(9, 2, 2, 5)[0] != first


def test_a_generator_is_drawn_from_and_moves_on():
    rng = np.random.default_rng(0)
    assert random_game(4, 2, 2, rng)[0] != random_game(4, 2, 2, rng)[0]


def test_games_larger_than_one_block_of_draws_are_the_same_stream():
    game, _ = random_game(1500, 1, 1, 2, restart=False)
    draws = np.random.default_rng(2).dirichlet(np.full(1500, 1 / 1500), 1500)
    assert np.abs(game.kernel[:, 0, 0] - draws).max() < 1e-5


def test_one_state_and_one_action_are_a_game():
    game, reward = random_game(1, 1, 1, 0, leader_influence=0, follower_influence=0)
    assert game.kernel.tolist() == [[[[1.0]]]]
    assert reward.shape == (1,)


def test_the_discount_is_nine_tenths_unless_another_is_given():
    assert random_game(2, 1, 1, 0)[0].rational.discount == Fraction(9, 10)
    assert random_game(2, 1, 1, 0, discount=0)[0].discount == 0
    with pytest.raises(InvalidGame, match="discount is 1"):
        random_game(2, 1, 1, 0, discount=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_states": 0}, "n_states is 0; allowed a whole number ≥ 1"),
        ({"n_leader_actions": 2.0}, "n_leader_actions is 2.0"),
        ({"n_follower_actions": True}, "n_follower_actions is True"),
        ({"rng": -1}, "rng is -1; allowed a numpy Generator, a seed ≥ 0"),
        ({"rng": 1.5}, "rng is 1.5"),
        ({"concentration": 0}, "concentration is 0; allowed a finite number > 0"),
        ({"concentration": float("nan")}, "concentration is nan"),
        ({"concentration": float("inf")}, "concentration is inf"),
        ({"concentration": "1"}, "concentration is '1'"),
        ({"successors": 0}, "successors is 0; allowed a whole number ≥ 1 and ≤ 4"),
        ({"successors": 5}, "successors is 5"),
        ({"leader_influence": -1}, r"leader_influence is -1; allowed a number in \[0, 2\]"),
        ({"leader_influence": "much"}, "leader_influence is 'much'"),
        ({"follower_influence": 2.5}, "follower_influence is 2.5"),
        ({"follower_influence": float("nan")}, "follower_influence is nan"),
        ({"follower_influence": 1e-15}, "follower_influence is 1e-15, whose integer weights"),
    ],
)
def test_an_argument_out_of_range_is_refused_by_name(arguments, message):
    sizes = {"n_states": 4, "n_leader_actions": 2, "n_follower_actions": 2, "rng": 0}
    with pytest.raises(InvalidArgument, match=message):
        random_game(**sizes | arguments)
