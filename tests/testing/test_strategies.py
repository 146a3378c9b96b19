"""Strategies: bounds hold, nothing is filtered, false claims shrink to their smallest instance."""

import re
from fractions import Fraction
from importlib.metadata import entry_points
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings, strategies as st

from iirl_opt.errors import InvalidArgument, InvalidPolicy, InvalidReward
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower, best_responses
from iirl_opt.follower.proportional import ProportionalFollower
from iirl_opt.game.exact import exact_kernel, exact_optimum
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.game.values import evaluate
from iirl_opt.observation import Observation, Trajectory
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.testing import (
    assert_policy,
    boundary_rewards,
    followers,
    games,
    mdps,
    observations,
    policies,
    rewards,
    tied_rewards,
    trajectories,
)

SEARCH = settings(
    max_examples=2000, database=None, derandomize=True, phases=(Phase.generate, Phase.shrink)
)
GAME = TwoAgentMDP(np.ones((3, 2, 4, 3), dtype=int), "1/2")
ONE = TwoAgentMDP([[[[1]]]], "1/2")


def smallest(strategy, condition=lambda _: True):
    return find(strategy, condition, settings=SEARCH)


def with_a_game(*inside, **bounds):
    """Draw a game and what the functions draw in it."""
    return games(**bounds).flatmap(lambda g: st.tuples(st.just(g), *(draw(g) for draw in inside)))


def rows_of(model):
    return [model.rational.rows.row(i) for i in range(len(model.rational.rows.denominators))]


def kernel(model):
    """The float kernel made from the exact numbers, entry by entry."""
    rows = [[row.get(j, 0) for j in range(model.n_states)] for row in rows_of(model)]
    return np.array(rows, dtype=float).reshape(*model.shape, model.n_states)


# Bounds


@given(
    game=games(
        min_states=2,
        max_states=5,
        min_leader_actions=2,
        max_leader_actions=3,
        max_follower_actions=1,
        max_denominator=3,
        discounts=("0", 0.7, Fraction(1, 7)),
    )
)
def test_games_keep_their_bounds_and_are_exactly_stochastic(game):
    n_states, n_a, n_b = game.shape
    assert 2 <= n_states <= 5
    assert 2 <= n_a <= 3
    assert n_b == 1
    for row in (*rows_of(game), dict(enumerate(game.rational.start))):
        assert sum(row.values()) == 1
        assert all(0 <= p <= 1 and p.denominator <= 3 for p in row.values())
    assert game.rational.discount in (0, Fraction(0.7), Fraction(1, 7))
    np.testing.assert_array_equal(game.kernel, kernel(game))


@given(mdp=mdps(min_states=3, max_states=3, min_actions=2, max_actions=4, max_denominator=2))
def test_mdps_keep_their_bounds_and_are_exactly_stochastic(mdp):
    assert mdp.n_states == 3
    assert 2 <= mdp.n_actions <= 4
    assert all(p in (Fraction(1, 2), 1) for row in rows_of(mdp) for p in row.values())
    assert all(sum(row.values()) == 1 for row in rows_of(mdp))


@given(data=st.data())
def test_the_start_is_as_asked(data):
    first = data.draw(games(start="first"))
    assert first.rational.start == (1,) + (0,) * (first.n_states - 1)
    uniform = data.draw(games(start="uniform"))
    assert set(uniform.rational.start) == {Fraction(1, uniform.n_states)}


@given(game=games(max_denominator=1))
def test_a_denominator_of_one_makes_deterministic_games(game):
    assert all(set(row.values()) == {1} for row in rows_of(game))


@pytest.mark.parametrize("agent", ["leader", "follower", "joint"])
@pytest.mark.parametrize("deterministic", [None, True, False])
@given(data=st.data())
def test_policies_are_small_fractions_of_the_right_kind(data, agent, deterministic):
    game = data.draw(games(max_leader_actions=3))
    policy = data.draw(policies(game, agent=agent, deterministic=deterministic))
    assert_policy(policy, game, agent=agent)
    n_actions = policy[0].size
    largest = 4 + (n_actions if deterministic is False else 0)
    exact = [Fraction(p).limit_denominator(largest) for p in policy.ravel()]
    np.testing.assert_array_equal(policy.ravel(), [float(p) for p in exact])
    for s in range(game.n_states):
        assert sum(exact[s * n_actions : (s + 1) * n_actions]) == 1
    if deterministic is not None:
        assert (policy > 0).all() if deterministic is False else set(exact) <= {0, 1}


@given(data=st.data(), deterministic=st.sampled_from([None, True, False]))
def test_exact_policies_and_rewards_are_the_fractions_that_the_floats_round(data, deterministic):
    game = data.draw(games(max_leader_actions=3))
    policy = data.draw(policies(game, deterministic=deterministic, exact=True))
    reward = data.draw(rewards(game, decimals=1, exact=True))
    assert {type(x) for x in (*policy.ravel(), *reward)} == {Fraction}
    assert (policy.sum(axis=1) == 1).all()
    assert all(p.denominator <= 7 for p in policy.ravel())
    assert all((10 * x).denominator == 1 for x in reward)
    assert_policy(policy.astype(float), game)


@given(data=st.data())
def test_policies_and_rewards_of_an_mdp_have_its_shape(data):
    mdp = data.draw(mdps())
    assert_policy(data.draw(policies(mdp)), mdp)
    assert data.draw(rewards(mdp)).shape == (mdp.n_states,)
    assert data.draw(rewards(mdp, shape="joint")).shape == mdp.shape


@given(data=st.data())
def test_rewards_are_exact_decimals_within_their_bounds(data):
    joint = data.draw(rewards(GAME, shape="joint", min_value="-1/3", max_value=0.25, decimals=2))
    assert joint.shape == GAME.shape
    exact = [Fraction(x).limit_denominator(100) for x in joint.ravel()]
    np.testing.assert_array_equal(joint.ravel(), [float(x) for x in exact])
    assert all(-33 <= 100 * x <= 25 and (100 * x).denominator == 1 for x in exact)
    state = data.draw(rewards(GAME))
    assert state.shape == (3,)
    assert state.dtype == float
    assert set(state) <= set(range(-4, 5))


@given(data=st.data())
def test_long_decimals_survive_as_floats(data):
    state = data.draw(rewards(GAME, min_value=-0.9, max_value="0.9", decimals=15))
    assert all(float(Fraction(round(Fraction(x) * 10**15), 10**15)) == x for x in state)


@given(data=st.data(), bounds=st.sampled_from([(-4, 4), (3, 4), (-4, -3), (0, 1)]))
def test_constant_rewards_are_drawn_or_avoided_as_asked(data, bounds):
    low, high = bounds
    yes, no = (
        data.draw(rewards(GAME, min_value=low, max_value=high, constant=constant))
        for constant in (True, False)
    )
    assert np.ptp(yes) == 0
    assert np.ptp(no) > 0
    assert low <= min(yes.min(), no.min())
    assert max(yes.max(), no.max()) <= high


@given(data=st.data())
def test_followers_are_of_the_kinds_asked_for_and_answer_with_policies(data):
    game = data.draw(games())
    pi1, reward = data.draw(policies(game)), data.draw(rewards(game))
    follower = data.draw(followers(ties=("last", "random", "mix"), max_beta=3))
    assert_policy(follower.respond(game, reward, pi1), game, agent="follower")
    if isinstance(follower, OptimalFollower | EpsilonGreedyFollower):
        assert follower.ties in ("last", "random", "mix")
        assert (follower.seed is not None) == (follower.ties == "random")
    if isinstance(follower, BoltzmannFollower):
        assert 0 <= follower.beta <= 3
    only = data.draw(followers(kinds=("boltzmann", "proportional")))
    assert isinstance(only, BoltzmannFollower | ProportionalFollower)


@given(follower=followers(kinds=("proportional",)))
def test_proportional_followers_meet_the_conditions_of_theorem_3(follower):
    values = follower.f(np.linspace(-400, 400, 2001))
    assert (np.diff(values) > 0).all()
    assert values.min() > 0
    assert np.isfinite(values).all()


@given(data=st.data(), shape=st.sampled_from(["state", "joint"]))
def test_observations_are_optimal_for_the_reward_given(data, shape):
    game = data.draw(games(max_states=3))
    reward = data.draw(rewards(game, shape=shape))
    seen = data.draw(observations(game, reward=reward, deterministic=True))
    assert set(np.unique(seen.pi1)) <= {0.0, 1.0}
    own = evaluate(game, reward, (seen.pi1, seen.pi2))
    every = product(range(game.n_follower_actions), repeat=game.n_states)
    rivals = [deterministic_policy(b, game.n_follower_actions) for b in every]
    best = np.max([evaluate(game, reward, (seen.pi1, rival)) for rival in rivals], axis=0)
    np.testing.assert_allclose(own, best, atol=1e-6)
    assert FeasibleRewards(game).observe(seen.pi1, seen.pi2).contains(reward)


@given(data=st.data())
def test_every_step_of_a_trajectory_has_positive_probability(data):
    game = data.draw(games())
    pi2 = data.draw(policies(game, agent="follower"))
    seen = data.draw(trajectories(game, pi2=pi2, min_length=1, max_length=5))
    s, a, b = seen.states, seen.leader_actions, seen.follower_actions
    assert 1 <= len(seen) <= 5
    assert s.shape == a.shape == b.shape == (len(seen),)
    assert game.rational.start[s[0]] > 0
    assert (seen.pi1[s, a] > 0).all()
    assert (pi2[s, b] > 0).all()
    assert (kernel(game)[s[:-1], a[:-1], b[:-1], s[1:]] > 0).all()


@given(data=st.data())
def test_trajectories_keep_the_commitment_given(data):
    pi1 = deterministic_policy([0, 1, 0], 2)
    seen = data.draw(trajectories(GAME, pi1=pi1, min_length=3, max_length=3))
    np.testing.assert_array_equal(seen.pi1, pi1)
    np.testing.assert_array_equal(seen.leader_actions, seen.states == 1)


# Boundaries


def box(n):
    """The rows of |x_i − x_0| ≤ x_n − x_0, which cut out the cone over a cube."""
    rows = [
        np.eye(n)[-1] - np.eye(n)[0] + s * (np.eye(n)[i] - np.eye(n)[0])
        for i in range(1, n - 1)
        for s in (-1, 1)
    ]
    return np.array(rows, dtype=int)


@given(data=st.data(), n=st.integers(3, 6))
def test_boundary_rewards_walk_from_facet_to_facet(data, n):
    rows, inside = box(n), np.array([0] * (n - 1) + [1])
    faces = data.draw(st.integers(1, n - 2))
    found = data.draw(boundary_rewards(rows, inside, faces=faces))
    slack = rows @ found
    assert (slack >= 0).all()
    assert (slack == 0).sum() >= faces  # in general position as many facets meet
    assert found.sum() == inside.sum()
    centred = inside - Fraction(int(inside.sum()), n)
    assert found @ centred == inside @ centred
    assert len(set(found)) > 1


@given(data=st.data())
def test_extreme_rays_are_reached_and_are_those_of_the_cube(data):
    ray = data.draw(boundary_rewards(box(4), [0, 0, 0, 1], faces=2))
    corner = (ray - ray[0])[1:3] / (ray[3] - ray[0])
    assert set(abs(corner)) == {1}


@pytest.mark.parametrize(("share", "sign"), [("1/100", -1), ("-1/100", 1), (1e-12, -1)])
@given(data=st.data())
def test_boundary_rewards_overshoot_or_fall_short_as_asked(data, share, sign):
    found = data.draw(boundary_rewards(box(4), [0, 0, 0, 1], faces=1, beyond=(share,)))
    assert np.sign((box(4) @ found).min()) == sign


@given(data=st.data())
def test_a_cone_without_facets_leaves_the_reward_where_it_is(data):
    found = data.draw(boundary_rewards([[0, 0, 0]], [1, 2, 4], beyond=(0, 1)))
    assert found.tolist() == [1, 2, 4]


def optimal_sets(game, pi1, reward):
    return {
        (s, b) for s, b in zip(*np.nonzero(exact_optimum(game, reward, pi1).optimal), strict=True)
    }


@given(data=st.data())
def test_tied_rewards_tie_a_follower_exactly(data):
    game = data.draw(games(min_states=2, max_states=3, min_follower_actions=2))
    pi1 = data.draw(policies(game, exact=True))
    found = data.draw(tied_rewards(game, pi1, faces=1))
    still = game.discount == 0 or all(
        len({tuple(row) for row in (pi1[s, :, None, None] * exact_kernel(game)[s]).sum(axis=0)})
        == 1
        for s in range(game.n_states)
    )
    assert still or len(optimal_sets(game, pi1, found)) > game.n_states


@given(data=st.data())
def test_near_ties_are_decided_though_no_float_tells_them(data):
    game = TwoAgentMDP([[[[1, 0, 0], [0, 1, 0]]], [[[0, 1, 0]] * 2], [[[0, 0, 1]] * 2]], "1/2")
    one = np.ones((3, 1), dtype=int)
    tied = data.draw(tied_rewards(game, one, faces=1))
    near = data.draw(tied_rewards(game, one, faces=1, beyond=("1e-30", "-1e-30")))
    assert len(optimal_sets(game, one, tied)) == 6
    assert len(optimal_sets(game, one, near)) == 5


# What must be reachable, lest a bound hold for want of instances


REACHED = {
    "the largest sizes": (games(), lambda g: g.shape == (4, 2, 2)),
    "discount zero": (games(), lambda g: g.discount == 0),
    "three next states": (games(), lambda g: max(map(len, rows_of(g))) == 3),
    "weights that differ": (games(), lambda g: (kernel(g) == 0.75).any()),
    "two absorbing states": (
        games(),
        lambda g: (g.kernel == 1).all(axis=(1, 2)).diagonal().sum() == 2,
    ),
    "a stochastic game": (games(min_states=4), lambda g: min(map(len, rows_of(g))) > 1),
    "a spread start": (games(), lambda g: np.count_nonzero(g.start) > 2),
    "correlated policies": (
        policies(GAME, agent="joint"),
        lambda p: np.abs(p - p.sum(2, keepdims=True) * p.sum(1, keepdims=True)).max() > 0.1,
    ),
    "a reward without ties": (rewards(GAME), lambda r: len(set(r)) == 3),
    "a joint reward without a constant part": (
        rewards(GAME, shape="joint"),
        lambda r: np.ptp(r, axis=(1, 2)).min() > 0,
    ),
    "every tie rule": (followers(ties=("mix", "all")), lambda f: f == OptimalFollower("all")),
    "ε between": (followers(), lambda f: 0 < getattr(f, "epsilon", 0) < 1),
    "the whole optimal set": (
        games().flatmap(lambda g: observations(g, ties=("all",))),
        lambda o: o.played.sum(axis=1).max() > 1,
    ),
    "long trajectories": (trajectories(GAME), lambda t: len(t) == 8),
}


@pytest.mark.parametrize("what", REACHED)
def test_strategies_reach(what):
    find(*REACHED[what], settings=settings(SEARCH, phases=[Phase.generate]))


@pytest.mark.parametrize(
    "strategy",
    [
        games(),
        games(max_states=8, max_leader_actions=3, max_follower_actions=3),
        mdps(),
        followers(),
        with_a_game(policies, rewards, observations, trajectories, tied_rewards),
        boundary_rewards([[1, -1, 0, 0], [0, 1, -1, 0], [0, 0, 1, -1]], [3, 2, 1, 0]),
    ],
    ids=["games", "larger games", "mdps", "followers", "inside a game", "boundaries"],
)
def test_no_draw_is_filtered_or_too_large(strategy):
    drawn = []

    @settings(suppress_health_check=[HealthCheck.too_slow], max_examples=40, database=None)
    @given(strategy)
    def draw(value):
        drawn.append(value)

    draw()
    assert len(drawn) == 40


# Shrinking


def test_each_strategy_shrinks_to_its_simplest_value():
    assert smallest(games()) == ONE
    assert smallest(mdps()) == MDP([[[1]]], "1/2")
    game = smallest(games(min_states=2, min_follower_actions=2, discounts=(0.9, 0)))
    assert game.shape == (2, 1, 2)
    assert game.discount == 0.9
    assert (game.kernel[..., 0] == 1).all()
    assert game.start.tolist() == [1, 0]
    assert smallest(policies(GAME)).tolist() == [[1, 0]] * 3
    assert smallest(policies(GAME, deterministic=True)).tolist() == [[1, 0]] * 3
    assert smallest(policies(GAME, deterministic=False)).tolist() == [[0.5, 0.5]] * 3
    assert smallest(rewards(GAME)).tolist() == [0, 0, 0]
    assert smallest(rewards(GAME, min_value=2, constant=True)).tolist() == [2, 2, 2]
    assert smallest(rewards(GAME, constant=False, decimals=1)).tolist() == [0.1, 0, 0]
    assert smallest(rewards(GAME, max_value=0, constant=False)).tolist() == [-1, 0, 0]
    assert smallest(followers(kinds=("boltzmann", "optimal"))) == BoltzmannFollower(0)
    assert smallest(followers(ties=("last", "first"))) == OptimalFollower("last")
    assert smallest(trajectories(GAME)).states.tolist() == [0, 0]
    assert smallest(observations(GAME)).pi2.tolist() == [[1, 0, 0, 0]] * 3


def test_no_influence_of_the_leader_is_refuted_by_two_states_and_two_actions():
    game = smallest(games(), lambda game: game.influence()[0] > 0)
    assert game.shape == (2, 2, 1)
    assert game.discount == 0.5
    assert len(np.flatnonzero(game.kernel[..., 1])) == 1


def test_uniqueness_of_the_optimal_action_is_refuted_in_one_state():
    game, pi1, reward = smallest(
        with_a_game(policies, rewards),
        lambda x: best_responses(x[0], x[2], x[1]).optimal.sum() > x[0].n_states,
    )
    assert game.shape == (1, 1, 2)
    assert pi1.tolist() == [[1]]
    assert reward.tolist() == [0]


@pytest.mark.campaign  # a program or two for each of many steps of shrinking
def test_feasibility_of_every_reward_is_refuted_by_two_states_and_one_unit_of_reward():
    def refuted(instance):
        game, seen, reward = instance
        return not FeasibleRewards(game).observe(seen.pi1, seen.pi2).contains(reward)

    game, seen, reward = smallest(with_a_game(observations, rewards), refuted)
    assert game.shape == (2, 1, 2)
    assert np.count_nonzero(reward) == 1
    assert np.abs(reward).max() == 1
    assert set(np.unique(game.kernel)) == {0.0, 1.0}
    assert set(np.unique(seen.pi2)) == {0.0, 1.0}


def test_a_falsifying_instance_is_reported_as_what_makes_it_again():
    @SEARCH
    @given(game=games(), data=st.data())
    def claim(game, data):
        seen, reward = data.draw(observations(game)), data.draw(rewards(game, exact=True))
        assert not reward[0], seen

    with pytest.raises(AssertionError) as failure:
        claim()
    report = "\n".join(failure.value.__notes__).partition("\n\nYou can reproduce")[0]
    assert len(report) < 900
    names = {kind.__name__: kind for kind in (TwoAgentMDP, Observation, Fraction, np.array)}
    call, first, second = re.split(r"Draw \d: ", report.split("Failing test case: test", 1)[-1])
    text = call.partition("game=")[2].rpartition("data=")[0].strip().rstrip(",")
    game, seen, reward = (eval(part, names | {"object": object}) for part in (text, first, second))
    assert isinstance(game, TwoAgentMDP)
    assert seen.pi2.shape == (game.n_states, game.n_follower_actions)
    assert isinstance(reward[0], Fraction)
    assert reward[0] != 0


# Arguments


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: games(min_states=0), "min_states is 0; allowed a whole number ≥ 1"),
        (lambda: games(min_states=5), "max_states is 4; allowed a whole number ≥ 5"),
        (lambda: games(max_leader_actions=2.0), "max_leader_actions is 2.0"),
        (lambda: games(max_follower_actions=True), "max_follower_actions is True"),
        (lambda: games(max_denominator=0), "max_denominator is 0; allowed a whole number ≥ 1"),
        (lambda: games(discounts=()), "discounts is empty"),
        (lambda: games(discounts="0.9"), "discounts is '0.9'; allowed a list"),
        (lambda: games(discounts=0.9), "discounts is 0.9; allowed a list"),
        (lambda: games(discounts=(0, 1)), r"discounts\[1\] is 1; allowed 0 ≤ γ < 1"),
        (lambda: games(discounts=(float("nan"),)), r"discounts\[0\] is nan"),
        (lambda: games(discounts=(None,)), r"discounts\[0\] is None"),
        (lambda: games(start="last"), "start is 'last'; allowed any, first, uniform"),
        (lambda: mdps(min_actions=3), "max_actions is 2; allowed a whole number ≥ 3"),
        (lambda: policies(games()), "game is .*; allowed a TwoAgentMDP or MDP; draw"),
        (lambda: policies(GAME, agent="A2"), "agent is 'A2'; allowed leader, follower, joint"),
        (lambda: policies(GAME, deterministic=1), "deterministic is 1; allowed None, True, False"),
        (lambda: policies(GAME, max_denominator=0), "max_denominator is 0"),
        (lambda: rewards(None), "game is NoneType"),
        (lambda: rewards(GAME, shape="action"), "shape is 'action'; allowed state, joint"),
        (lambda: rewards(GAME, min_value=2, max_value=1), "max_value is 1; allowed a decimal"),
        (lambda: rewards(GAME, min_value=0.1, max_value=0.9), "max_value is 0.9"),
        (lambda: rewards(GAME, max_value=float("inf")), "max_value is inf; allowed a finite"),
        (lambda: rewards(GAME, min_value="-10", decimals=15), "min_value is -10, too long"),
        (lambda: rewards(GAME, max_value=10**400), "max_value is 1000.* too long"),
        (lambda: rewards(GAME, decimals=-1), "decimals is -1"),
        (lambda: rewards(GAME, constant="no"), "constant is 'no'"),
        (lambda: rewards(ONE, constant=False), "constant is False with 1 entries"),
        (lambda: rewards(GAME, min_value=4, constant=False), "constant is False with 3 entries"),
        (lambda: policies(GAME, exact=1), "exact is 1; allowed True, False"),
        (lambda: rewards(GAME, exact="yes"), "exact is 'yes'"),
        (lambda: boundary_rewards([[1, -1]], [1, 0, 0]), "rows have 2 entries and inside has 3"),
        (lambda: boundary_rewards([[1, -1]], [0, 1]), "inside violates row 0"),
        (lambda: boundary_rewards([1, -1], [1, 0]), r"rows has shape \(2,\); allowed \(m, S\)"),
        (lambda: boundary_rewards([[1, np.nan]], [1, 0]), "rows has an entry that is no number"),
        (lambda: boundary_rewards([[1, -1]], [1, "x"]), "inside has an entry that is no number"),
        (
            lambda: boundary_rewards([[1, -1]], [1, 0], faces=2),
            "faces is 2; allowed a whole",
        ),
        (lambda: boundary_rewards([[1, -1]], [1, 0], faces=True), "faces is True"),
        (lambda: boundary_rewards([[1, -1]], [1, 0], beyond=()), "beyond is empty"),
        (lambda: boundary_rewards([[1, -1]], [1, 0], beyond="1"), "beyond is '1'; allowed a list"),
        (lambda: boundary_rewards([[1, -1]], [1, 0], beyond=("x",)), r"beyond\[0\] is 'x'"),
        (lambda: tied_rewards(MDP([[[1]]], 0)), "game is MDP; allowed a TwoAgentMDP"),
        (lambda: tied_rewards(GAME, faces=0), "faces is 0; allowed a whole number ≥ 1"),
        (lambda: followers(kinds=()), "kinds is empty"),
        (
            lambda: followers(kinds=("greedy",)),
            r"kinds\[0\] is 'greedy'; allowed epsilon_greedy \(the nearest\), ",
        ),
        (lambda: followers(ties="first"), "ties is 'first'; allowed a list"),
        (lambda: followers(ties=("all",)), "ties are all, under which no ε-greedy follower"),
        (lambda: followers(max_beta=-1), "max_beta is -1"),
        (lambda: observations(MDP([[[1]]], 0)), "game is MDP; allowed a TwoAgentMDP"),
        (lambda: observations(GAME, ties=("never",)), r"ties\[0\] is 'never'"),
        (lambda: trajectories(GAME, min_length=0), "min_length is 0"),
        (lambda: trajectories(GAME, max_length=1), "max_length is 1; allowed a whole number ≥ 2"),
    ],
)
def test_arguments_are_checked_at_once(call, message):
    with pytest.raises(InvalidArgument, match=message):
        call()


def test_rewards_and_policies_given_are_checked_at_once():
    with pytest.raises(InvalidReward, match="has shape"):
        observations(GAME, reward=[1.0])
    for strategy in (trajectories, tied_rewards):
        with pytest.raises(InvalidPolicy, match="leader policy has shape"):
            strategy(GAME, pi1=[[1.0]])
    with pytest.raises(InvalidPolicy, match="follower policy"):
        trajectories(GAME, pi2=np.ones((3, 4)))


# Registration and imports


installed = pytest.mark.skipif(
    not any(entry.value.startswith("iirl_opt.") for entry in entry_points(group="hypothesis")),
    reason="the package is not installed, so that hypothesis cannot find its entry point",
)


@installed
@given(...)
def test_annotations_are_enough(game: TwoAgentMDP, mdp: MDP, seen: Observation, steps: Trajectory):
    assert game.is_rational
    assert mdp.is_rational
    assert seen.played.any(axis=1).all()
    assert len(steps) >= 2


def test_the_package_names_what_it_has_and_nothing_else():
    import iirl_opt.testing as package

    assert {"games", "assert_kkt"} <= set(dir(package))
    assert all(hasattr(package, name) for name in package.__all__)
    with pytest.raises(AttributeError, match="attribute 'nothing'"):
        _ = package.nothing
