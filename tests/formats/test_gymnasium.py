"""Gymnasium's environments, in and out, with Gymnasium itself on the other side."""

import sys
from fractions import Fraction
from math import sqrt
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from depth import share
from gymnasium.utils.env_checker import check_env
from hypothesis import given, strategies as st

import iirl_opt as iirl
from iirl_opt.errors import InvalidArgument, InvalidGame, InvalidPolicy, MissingExtra, UnknownLabel
from iirl_opt.formats import Doors, Setting, StartChoice, TableChoice, from_gymnasium, to_gymnasium
from iirl_opt.testing import games, policies, rewards

pytestmark = pytest.mark.oracle

# Name, what it is made with, and a discount at which the play below is short.
LAKES = [("FrozenLake-v1", {}), ("FrozenLake-v1", {"is_slippery": False})]
WORLDS = [
    (*LAKES[0], "9/10"),
    (*LAKES[1], "9/10"),
    ("FrozenLake-v1", {"map_name": "8x8"}, "9/10"),
    ("FrozenLake-v1", {"map_name": "8x8", "is_slippery": False}, "9/10"),
    ("FrozenLake-v1", {"desc": ["SFF", "HFG"], "success_rate": 0.8}, "9/10"),
    ("CliffWalking-v1", {}, "9/10"),
    ("CliffWalking-v1", {"is_slippery": True}, "1/2"),
    ("Taxi-v4", {}, "9/10"),
    ("Taxi-v4", {"is_rainy": True}, "9/10"),
]
EPISODES, SEED = 2000, 2022
# Two-sided 99.9 % of the normal distribution.
WIDE = 3.2905


def values_of_the_table(table, discount):
    """Value iteration on a table as it stands, written without this library."""
    outcomes = [
        (s * len(table[0]) + a, *outcome)
        for s in table
        for a in table[s]
        for outcome in table[s][a]
    ]
    row, p, successor, reward, over = map(np.array, zip(*outcomes, strict=True))
    values = np.zeros(len(table))
    for _ in range(2000):
        each = p * (reward + discount * values[successor] * ~over)
        new = np.bincount(row, each).reshape(len(table), -1).max(axis=1)
        if abs(new - values).max() < 1e-12:
            break
        values = new
    return new


def played(env, policy, discount):
    """The discounted sums of rewards of some episodes, and what their cut tails may add at most."""
    chosen, steps = policy.argmax(axis=1).tolist(), int(np.ceil(np.log(1e-9) / np.log(discount)))
    observation, _ = env.reset(seed=SEED)
    sums = []
    for _ in range(EPISODES):
        total, weight = 0.0, 1.0
        for _ in range(steps):
            observation, reward, terminated, _, _ = env.step(chosen[observation])
            total += weight * reward
            weight *= discount
            if terminated:
                break
        sums.append(total)
        observation, _ = env.reset()
    return np.array(sums), discount**steps * 100 / (1 - discount)


@pytest.mark.parametrize(("name", "made_with", "discount"), WORLDS)
def test_the_optimum_is_that_of_the_table_and_earns_it_in_the_environment(
    name, made_with, discount
):
    env = gymnasium.make(name, **made_with)
    found = from_gymnasium(env, discount)
    game, gamma = found.game, found.game.discount
    optimum = iirl.policy_iteration(game, found.reward())
    table = env.unwrapped.P
    assert game.is_rational
    assert found.n_table_states == len(table)
    expected = values_of_the_table(table, gamma)
    np.testing.assert_allclose(optimum.values[: len(table)], expected, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(game.start[: len(table)], env.unwrapped.initial_state_distrib)
    promised = float(game.start @ optimum.values)
    sums, tail = played(env.unwrapped, optimum.policy, gamma)
    half = WIDE * sums.std(ddof=1) / sqrt(EPISODES)
    assert abs(sums.mean() - promised) <= half + tail + 1e-9


def test_a_fickle_passenger_is_planned_for_as_he_is():
    env = gymnasium.make("Taxi-v4", fickle_passenger=True).unwrapped
    found = from_gymnasium(env, "9/10")
    assert (found.n_table_states, found.game.n_states, found.game.is_rational) == (500, 1008, True)
    optimum = iirl.policy_iteration(found.game, found.reward())
    chosen, promised = optimum.policy.argmax(axis=1), found.game.start @ optimum.values
    sums, (s, _) = [], env.reset(seed=SEED)
    for _ in range(EPISODES):
        total, weight, settled, terminated = 0.0, 1.0, 0, False
        while not terminated and weight > 1e-9:
            before = env.decode(s)
            s, reward, terminated, _, _ = env.step(int(chosen[s + 500 * settled]))
            settled |= before[2] == 4 and before[:2] != env.decode(s)[:2]
            total, weight = total + weight * reward, weight * 0.9
        sums.append(total)
        s, _ = env.reset()
    half = WIDE * np.std(sums, ddof=1) / sqrt(EPISODES)
    assert abs(np.mean(sums) - promised) <= half
    # The table alone promises something else: the new destination is often where he was picked up.
    alone = env.initial_state_distrib @ values_of_the_table(env.P, 0.9)
    assert abs(np.mean(sums) - alone) > half
    with pytest.raises(InvalidArgument, match="has 500 states; allowed 1000, as env"):
        from_gymnasium(
            gymnasium.make("Taxi-v4", fickle_passenger=True),
            0.9,
            leader=Setting("fickle_passenger"),
        )


# What the table says


def environment(table, **more):
    env = SimpleNamespace(P=table, **more)
    env.unwrapped = env
    return env


def test_the_ice_slips_by_thirds_and_duplicates_are_one_transition():
    game = from_gymnasium(gymnasium.make("FrozenLake-v1"), "9/10").game
    rows = game.rational.rows
    assert set(rows.denominators.tolist()) == {1, 3}
    # Left in the corner: up and left both stay.
    assert game.kernel[0, 0, 0, 0] == 2 / 3
    assert game.states[1], game.follower_actions == ("(0,1)", ("left", "down", "right", "up"))
    assert game.leader_actions == ("-",)


def test_play_is_over_by_the_outcome_and_not_by_the_state():
    # Action 0 of state 0 reaches state 1 and ends; action 1 reaches the same state and goes on.
    table = {
        0: {0: [(1, 1, 5, True)], 1: [(1, 1, 5, False)]},
        1: {0: [(1, 0, 1, False)], 1: [(0.5, 1, 0, False), (0.5, 1, 4, True)]},
        2: {0: [(1, 2, 0, True)], 1: [(1, 2, 0, False)]},
        3: {0: [(1, 2, 7, True)], 1: [(1, 2, 7, False)]},
    }
    found = from_gymnasium(environment(table), "1/2", start=[1, 0, 0, 0])
    game = found.game
    # State 2 stays for nothing by its own rows and needs no copy.
    assert game.states == (0, 1, 2, 3, "end at 1")
    assert found.labels["terminal"].tolist() == [False, False, True, False, True]
    assert game.start.tolist() == [1, 0, 0, 0, 0]
    policy = np.eye(2)[[0, 0, 0, 0, 0]]
    values = iirl.evaluate(game, found.reward(), policy[:, None, :])
    np.testing.assert_array_equal(values, [5, 3.5, 0, 7, 0])
    assert found.reward()[1, 0].tolist() == [1, 2]
    # Of one choice the two ways into state 1 earn different rewards, which stay apart.
    assert found.next_state_reward.toarray()[3].tolist() == [0, 0, 0, 0, 4]
    assert found.next_state_reward.shape == game.matrix.shape


@pytest.mark.parametrize("name", ["CliffWalking-v1", "Taxi-v4"])
def test_expected_rewards_are_means_of_next_state_rewards(name):
    more = {"is_slippery": True} if name == "CliffWalking-v1" else {"is_rainy": True}
    found = from_gymnasium(gymnasium.make(name, **more), "9/10")
    means = (found.next_state_reward * found.game.matrix).sum(axis=1)
    np.testing.assert_allclose(means.reshape(found.game.shape), found.reward(), rtol=1e-14)
    assert from_gymnasium(gymnasium.make(name), 0.9, agent="leader").game.shape[2] == 1


def test_floats_that_are_no_simple_fractions_stay_what_they_are():
    p = 0.1234567890123
    found = from_gymnasium(
        environment([[[(p, 0, 1, False), (1 - p, 1, 0, False)]], [[(1.0, 1, 0, True)]]]), "1/2"
    )
    assert not found.game.is_rational
    assert found.game.kernel[0, 0, 0].tolist() == [p, 1 - p]
    exact = [[[(Fraction(1, 3), 0, "1/3", False), ("2/3", 1, 0, False)]], [[(1, 1, 0, True)]]]
    found = from_gymnasium(environment(exact), "1/2")
    assert found.game.is_rational
    assert found.reward()[0, 0, 0] == 1 / 9


def test_what_is_possible_stays_possible_however_unlikely():
    # Within 2⁻⁵² of zero, and yet the reward for it decides.
    table = {0: {0: [(1.0, 0, 0.0, False), (1e-17, 1, -1e17, True)]}, 1: {0: [(1, 1, 0, False)]}}
    found = from_gymnasium(environment(table), "1/2")
    assert found.game.n_transitions == 3
    assert found.reward()[0, 0, 0] == pytest.approx(-1, rel=1e-12)


FULL = (1.0, 0, 0.0, False)
MALFORMED = [
    ({0: {0: [FULL], 1: [FULL]}, 1: {0: [FULL]}}, r"P\[s=1, action=1\] is missing"),
    ({0: {0: [FULL]}, 2: {0: [FULL]}}, "P has no entry 1"),
    ({0: {0: []}}, r"P\[s=0, action=0\] is empty"),
    ({0: {0: [(0.9, 0, 0.0, False)]}}, r"P\[s=0, action=0\] sums to 0.9"),
    ({0: {0: [(1.5, 0, 0, False), (-0.5, 0, 0, False)]}}, r"P\[s=0, action=0\] has probability"),
    ({0: {0: [(float("nan"), 0, 0, False)]}}, r"P\[s=0, action=0\] has probability nan"),
    ({0: {0: [(1.0, 0, float("inf"), False)]}}, r"P\[s=0, action=0\]\[0\] has reward inf"),
    ({0: {0: [(1.0, 0, None, False)]}}, "has reward None"),
    ({0: {0: [(1.0, 0, 10**400, False)]}}, r"P\[s=0, action=0\]\[0\] has reward 1000"),
    ({0: {0: [(1.0, 0, 10**5000, False)]}}, "has reward an integer of 16610 bits"),
    ({0: {0: [(10**5000, 0, 0, False)]}}, "has probability an integer of 16610 bits"),
    ({0: {0: [(1.0, 10**5000, 0, False)]}}, "leads to state an integer of 16610 bits"),
    ({0: {0: [(1.0, 5, 0.0, False)]}}, "leads to state 5; allowed 0 … 0"),
    ({0: {0: [(1.0, -1, 0.0, False)]}}, "leads to state -1"),
    ({0: {0: [(1.0, 0.0, 0.0, False)]}}, r"P\[s=0, action=0\]\[0\] is"),
    ({0: {0: [(1.0, 0, 0.0)]}}, "allowed .probability, next state, reward, terminated."),
    ({0: {0: [(1.0, 0, 0.0, "no")]}}, "has terminated 'no'"),
    ({0: {0: 1.0}}, r"P\[s=0, action=0\] is 1.0"),
    ({0: [0.5]}, r"P\[s=0, action=0\] is 0.5"),
    ({0: 3}, "P has no action"),
    ({}, "P is dict"),
    (np.ones((1, 1, 1)), "P is ndarray"),
    ("text", "P is str"),
]


@pytest.mark.parametrize(("table", "message"), MALFORMED)
def test_a_malformed_table_is_refused_with_state_and_action(table, message):
    with pytest.raises(InvalidGame, match=message):
        from_gymnasium(environment(table), "9/10")


def test_what_is_no_environment_with_a_table_is_refused():
    for name in ("CartPole-v1", "Blackjack-v1"):
        with pytest.raises(InvalidArgument, match=r"no table of transitions env\.unwrapped\.P"):
            from_gymnasium(gymnasium.make(name), "9/10")
    vector = gymnasium.make_vec("FrozenLake-v1", num_envs=2, vectorization_mode="sync")
    with pytest.raises(InvalidArgument, match="vector of 2 environments"):
        from_gymnasium(vector, "9/10")
    for nothing in (None, "FrozenLake-v1", gymnasium.Env, 3):
        with pytest.raises(InvalidArgument, match=r"env is .* allowed a Gymnasium environment"):
            from_gymnasium(nothing, "9/10")
    with pytest.raises(InvalidArgument, match="discount is not given"):
        from_gymnasium(gymnasium.make("FrozenLake-v1"))
    one = environment({0: {0: [FULL]}}, observation_space=gymnasium.spaces.Discrete(2))
    with pytest.raises(InvalidGame, match="has 1 states; allowed 2, as the observation_space says"):
        from_gymnasium(one, "9/10")


# Two agents


def test_the_leader_sets_the_slip_state_by_state():
    lake = gymnasium.make("FrozenLake-v1")
    made = [gymnasium.make(name, **more) for name, more in LAKES[::-1]]
    parts = [from_gymnasium(env, "9/10").game for env in made]
    found = from_gymnasium(lake, "9/10", leader=Setting("is_slippery", names=["sand", "leave"]))
    assert found.game.leader_actions == ("sand", "leave")
    for a, part in enumerate(parts):
        np.testing.assert_array_equal(found.game.kernel[:, a], part.kernel[:, 0])
    other = from_gymnasium(lake, "9/10", leader=TableChoice(dict(enumerate(made))))
    np.testing.assert_array_equal(other.game.kernel, found.game.kernel)
    # The optimum of both agents is that of the firm lake.
    firm = iirl.policy_iteration(parts[0], from_gymnasium(made[0], "9/10").reward())
    plan = iirl.commit(found.game, found.reward())
    assert plan.value == pytest.approx(firm.values[0], rel=1e-12)
    with pytest.raises(InvalidArgument, match="is_wet=False is refused by FrozenLake-v1"):
        from_gymnasium(lake, "9/10", leader=Setting("is_wet"))
    with pytest.raises(InvalidGame, match="'is_slippery=True' is named twice"):
        from_gymnasium(lake, "9/10", leader=Setting("is_slippery", [True, True]))
    with pytest.raises(InvalidArgument, match="does not say how it was made"):
        from_gymnasium(environment({0: {0: [FULL]}}), "9/10", leader=Setting("is_wet"))
    with pytest.raises(InvalidGame, match="16"):
        from_gymnasium(lake, "9/10", leader=TableChoice({"a": gymnasium.make("Taxi-v4")}))


def test_a_setting_makes_the_environment_that_is_given_and_changes_something():
    slip = Setting("is_slippery", [False])
    changed = gymnasium.make("FrozenLake-v1")
    changed.unwrapped.P[14][2] = [(1.0, 14, 0.0, False)]
    drawn = gymnasium.make("FrozenLake-v1", map_name=None)
    for env in (changed, drawn):
        with pytest.raises(InvalidArgument, match=r"its spec .FrozenLake-v1. does not give again"):
            from_gymnasium(env, "9/10", leader=slip)
    # What a wrapper does is not read, here as elsewhere.
    lake = gymnasium.make("FrozenLake-v1", desc=["SFF", "HFG"])
    wrapped = gymnasium.wrappers.TransformReward(lake, lambda reward: 2 * reward)
    one = from_gymnasium(wrapped, "9/10", leader=slip).game
    assert one == from_gymnasium(lake, "9/10", leader=slip).game
    for idle in (
        Setting("max_episode_steps", [5, 10]),
        Setting("disable_env_checker"),
        Setting("render_mode", ["ansi", None]),
        Setting("is_slippery", [True, True], names=["a", "b"]),
    ):
        with pytest.raises(InvalidArgument, match=f"{idle.argument}', on which no outcome"):
            from_gymnasium(lake, "9/10", leader=idle)


@pytest.mark.parametrize(
    "names", [("shut", "b"), ("", "b"), ("a", "a, b", "b"), (1, "1"), ("shut",)]
)
def test_no_two_of_the_leaders_actions_have_one_name(names):
    lake = gymnasium.make("FrozenLake-v1")
    doors = dict(zip(names, (((0, 0), (0, 1)), ((0, 0), (1, 0)), ((1, 0), (2, 0))), strict=False))
    if "" in names:
        doors["shut"] = ((1, 0), (2, 0))
    with pytest.raises(InvalidGame, match=r"leader action '.*' is named twice"):
        from_gymnasium(lake, "9/10", leader=Doors(doors, reward=0, at_once=None))


def test_what_a_shut_door_earns_is_a_float():
    for beyond in (10**400, "1e400", 10**5000):
        with pytest.raises(InvalidArgument, match=r"reward is .*; allowed a finite number"):
            Doors({"x": ((0, 0), (0, 1))}, reward=beyond)


def test_a_shut_door_stops_moves_both_ways_and_an_open_one_none():
    env = gymnasium.make("CliffWalking-v1")
    alone = from_gymnasium(env, "9/10")
    gate = {"gate": ((2, 11), (3, 11)), "hatch": ((2, 0), (3, 0))}
    found = from_gymnasium(env, "9/10", leader=Doors(gate, reward=-3, at_once=None))
    game, states = found.game, found.game.states
    assert game.leader_actions == ("shut", "gate", "hatch", "gate, hatch")
    np.testing.assert_array_equal(game.kernel[:, 3], alone.game.kernel[:, 0])
    np.testing.assert_array_equal(found.reward()[:, 3], alone.reward()[:, 0])
    above, down = states.index("(2,11)"), game.follower_actions.index("down")
    below, up = states.index("(3,11)"), game.follower_actions.index("up")
    for s, b in ((above, down), (below, up)):
        assert game.kernel[s, 0, b, s] == 1
        assert found.reward()[s, 0, b] == -3
    assert game.kernel[above, 1, down, states.index("end at (3,11)")] == 1
    # A taxi's cells are doors for every passenger.
    taxi = from_gymnasium(
        gymnasium.make("Taxi-v4"), "9/10", leader=Doors({"x": ((0, 0), (1, 0))}, reward=-1)
    )
    changed = np.flatnonzero((taxi.game.kernel[:, 0] != taxi.game.kernel[:, 1]).any(axis=(1, 2)))
    assert changed.size == 40
    with pytest.raises(UnknownLabel, match=r"no cell is called \(9, 9\)"):
        from_gymnasium(env, "9/10", leader=Doors({"x": ((0, 0), (9, 9))}, reward=-1))
    with pytest.raises(UnknownLabel, match="no cell is called"):
        from_gymnasium(env, "9/10", leader=Doors({"x": ((0, 0), [0, 1])}, reward=-1))
    with pytest.raises(InvalidArgument, match="which nobody passes"):
        from_gymnasium(env, "9/10", leader=Doors({"x": ((0, 0), (2, 9))}, reward=-1))
    many = {i: ((0, i), (1, i)) for i in range(12)} | {12: ((0, 0), (0, 1))}
    with pytest.raises(InvalidArgument, match="more than 4096 actions"):
        from_gymnasium(env, "9/10", leader=Doors(many, reward=-1, at_once=None))


def test_the_leader_chooses_the_start():
    env = gymnasium.make("FrozenLake-v1")
    alone = from_gymnasium(env, "9/10")
    values = iirl.policy_iteration(alone.game, alone.reward()).values
    places = ("(0,0)", "(3,2)", "(2,0)")
    found = from_gymnasium(env, "9/10", leader=StartChoice(places))
    assert found.game.start[-1] == 1
    plan = iirl.commit(found.game, found.reward())
    best = max(values[alone.game.states.index(place)] for place in places)
    assert plan.value == pytest.approx(0.9 * best, rel=1e-12)
    assert found.game.leader_actions[plan.policy[-1].argmax()] == "(3,2)"
    with pytest.raises(InvalidArgument, match="None where the split chooses it"):
        from_gymnasium(env, "9/10", leader=StartChoice(places), start="uniform")
    with pytest.raises(UnknownLabel):
        from_gymnasium(env, "9/10", leader=StartChoice(["(7,7)"]))
    with pytest.raises(InvalidArgument, match='None where agent="leader"'):
        from_gymnasium(env, "9/10", leader=StartChoice(places), agent="leader")


# And out

GAME, REWARD = iirl.random_game(5, 3, 2, rng=0)
WIDER = np.random.default_rng(1).normal(size=GAME.shape)
PI1, PI2 = iirl.random_policy(5, 3, 2), iirl.random_policy(5, 2, 3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "given",
    [
        {"leader": PI1},
        {"leader": PI1, "max_steps": 3, "render_mode": "ansi"},
        {"side": "leader", "follower": PI2, "geometric_end": True},
    ],
)
def test_gymnasium_finds_nothing_wrong_with_the_environment(given):
    check_env(to_gymnasium(GAME, WIDER, **given))
    check_env(to_gymnasium(GAME, REWARD, **given), skip_render_check=True)


@pytest.mark.parametrize("side", ["follower", "leader"])
@share(0.6)
@given(data=st.data())
def test_the_table_gives_the_game_back(side, data):
    game = data.draw(games())
    reward = data.draw(rewards(game, shape=data.draw(st.sampled_from(["state", "joint"]))))
    other = "leader" if side == "follower" else "follower"
    policy = data.draw(policies(game, agent=other))
    env = to_gymnasium(game, reward, side=side, **{other: policy})
    back = from_gymnasium(env, game.exact_discount, agent=side)
    # Summed over the other agent's actions.
    axis, index = (1, "sa,sabt->sbt") if other == "leader" else (2, "sb,sabt->sat")
    whole = np.broadcast_to(reward if reward.ndim == 3 else reward[:, None, None], game.shape)
    mixed = np.expand_dims(np.einsum(index, policy, game.kernel), axis)
    means = np.expand_dims(np.einsum(index.replace("t", ""), policy, whole), axis)
    np.testing.assert_allclose(back.game.kernel, mixed, atol=1e-14)
    np.testing.assert_allclose(back.reward(), means, atol=1e-12)
    np.testing.assert_array_equal(back.game.start, game.start)
    assert back.game.n_states == game.n_states


@pytest.mark.parametrize(("name", "made_with"), [*LAKES, ("CliffWalking-v1", {})])
def test_an_environment_survives_the_way_in_and_out(name, made_with):
    once = from_gymnasium(gymnasium.make(name, **made_with), "9/10")
    env = to_gymnasium(once)
    again = from_gymnasium(env, "9/10", states=env.states, actions=env.actions)
    assert again.game.fingerprint == once.game.fingerprint
    np.testing.assert_array_equal(again.reward(), once.reward())
    np.testing.assert_array_equal(again.labels["terminal"], once.labels["terminal"])
    # What ended play there ends it here, and nothing else does.
    over = {s for s in env.P for rows in env.P[s].values() for _, s, _, ended in rows if ended}
    assert over == set(np.flatnonzero(once.labels["terminal"]).tolist())


def test_a_geometric_end_turns_discounted_values_into_sums():
    env = to_gymnasium(GAME, WIDER, leader=PI1, geometric_end=True)
    going, earned = np.zeros((5, 5)), np.zeros(5)
    for s in env.P:
        for b, outcomes in env.P[s].items():
            for p, successor, reward, over in outcomes:
                earned[s] += PI2[s, b] * p * reward
                going[s, successor] += PI2[s, b] * p * (not over)
    sums = np.linalg.solve(np.eye(5) - going, earned)
    expected = iirl.evaluate(GAME, WIDER, iirl.game.joint_policy(PI1, PI2))
    np.testing.assert_allclose(sums, expected, rtol=1e-12)


def test_an_episode_is_its_seed_and_says_what_happened():
    env = to_gymnasium(GAME, WIDER, leader=PI1, max_steps=4, render_mode="ansi")

    def episode(seed):
        first, info = env.reset(seed=seed)
        assert info == {"state": GAME.states[first]}
        return [first, *(env.step(i % 2) for i in range(4))]

    assert episode(1) == episode(1)
    assert any(episode(1) != episode(seed) for seed in range(2, 6))
    before = env.reset(seed=1)[0]
    after, reward, terminated, truncated, info = env.step(1)
    assert reward == WIDER[before, info["leader"], 1]
    assert (terminated, truncated, info["state"]) == (False, False, GAME.states[after])
    assert f"step 1: 1 in {before}, leader {info['leader']}: to {after}" in env.render()
    assert [env.step(0)[3] for _ in range(3)] == [False, False, True]
    with pytest.raises(gymnasium.error.InvalidAction, match="action is 2; allowed 0 … 1"):
        env.step(2)
    with pytest.raises(gymnasium.error.ResetNeeded):
        to_gymnasium(GAME, WIDER, leader=PI1).step(0)


def test_choices_that_a_state_lacks_are_masked():
    available = np.ones(GAME.shape, dtype=bool)
    available[2, :, 1] = False
    found = iirl.formats.ImportedGame(GAME, {"r": WIDER}, available=available)
    env = to_gymnasium(found, "r", leader=PI1)
    for _ in range(5):
        observation, info = env.reset()
        assert info["action_mask"].tolist() == [1, int(observation != 2)]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, InvalidArgument, "leader is not given, and has 3 actions"),
        ({"leader": PI2}, InvalidPolicy, "leader policy has shape"),
        ({"leader": PI1, "follower": PI2}, InvalidArgument, "follower has a policy"),
        ({"side": "leader"}, InvalidArgument, "follower is not given"),
        (
            {"side": "leader", "follower": iirl.OptimalFollower()},
            InvalidArgument,
            "answers a commitment, which is no step",
        ),
        ({"leader": PI1, "reward": None}, InvalidArgument, "reward is not given"),
        ({"leader": PI1, "reward": "r"}, InvalidArgument, "reward is the name 'r'"),
        ({"leader": PI1, "max_steps": 0}, InvalidArgument, "max_steps"),
        ({"leader": PI1, "render_mode": "human"}, InvalidArgument, "render_mode"),
    ],
)
def test_the_way_out_refuses_by_name(given, error, message):
    with pytest.raises(error, match=message):
        to_gymnasium(GAME, **({"reward": REWARD} | given))


def test_without_gymnasium_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "iirl_opt.formats.gymnasium.environment", None)
    with pytest.raises(MissingExtra, match=r"iirl-opt\[gym\]"):
        to_gymnasium(GAME, REWARD, leader=PI1)
