"""Play that ends: the time-expanded game against backward induction, and what stands on it."""

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest

import iirl_opt as iirl
from iirl_opt.errors import InvalidArgument, InvalidGame, InvalidPolicy, InvalidReward
from iirl_opt.follower import Power, ProportionalFollower, check_steps
from iirl_opt.formats import from_quantecon, read_dpomdp
from iirl_opt.game import exact_optimum, finite_horizon

SHARED = Path(__file__).parents[2] / ".." / "shared" / "problems"
real = pytest.mark.skipif(not SHARED.is_dir(), reason="the real problem files are not here")

GAME, TRUTH = iirl.random_game(4, 2, 2, rng=1)
CRITERIA = [{}, {"discount": 1}, {"discount": "2/3", "expanded_discount": "3/4"}]


def drawn(seed):
    """Return a small rational game with ties, a horizon, and a reward of one of four shapes."""
    rng = np.random.default_rng(seed)
    n_states, n_a, n_b, steps = (int(n) for n in rng.integers(1, [4, 3, 3, 6]))
    weights = rng.integers(0, 4, (n_states, n_a, n_b, n_states))
    weights[weights.sum(-1) == 0] = 1
    game = iirl.TwoAgentMDP(weights, ("1/2", "9/10", "0", "99/100")[seed % 4])
    shape = (n_states, n_a, n_b) if seed % 2 else (n_states,)
    shape = (steps, *shape) if seed % 5 == 0 else shape
    return game, steps, rng.integers(-3, 4, shape)


def backward(game, steps, reward, criterion):
    """Return the optimal values (H, S) of both agents together, in Fractions."""
    n_states, n_a, n_b = game.shape
    rows = game.rational.rows
    kernel = np.full((n_states * n_a * n_b, n_states), Fraction(0))
    for i in range(len(kernel)):
        for j, p in rows.row(i).items():
            kernel[i, j] = p
    by_step = reward if reward.ndim in (2, 4) else [reward] * steps
    ahead, found = np.full(n_states, Fraction(0)), []
    for own in reversed(by_step):
        q = criterion * (kernel @ ahead).reshape(game.shape)
        q = q + (own[:, None, None] if own.ndim == 1 else own)
        ahead = q.reshape(n_states, -1).max(axis=1)
        found.append(ahead)
    return np.array(found[::-1])


@pytest.mark.parametrize("seed", range(24))
def test_folded_back_the_optimum_is_that_of_backward_induction(seed):
    game, steps, reward = drawn(seed)
    play = finite_horizon(game, steps, **CRITERIA[seed % 3])
    expanded = play.expand_reward(reward)
    want = backward(game, steps, reward, play.criterion)
    assert play.game.is_rational
    assert (play.fold_values(exact_optimum(play.game, expanded).values) == want).all()
    plan = iirl.commit(play.game, expanded)
    np.testing.assert_allclose(
        play.fold_values(plan.values), want.astype(float), rtol=1e-12, atol=1e-12
    )


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:infinite horizon solution methods")
def test_an_inventory_is_worth_what_quantecon_says():
    """Puterman 1994, sections 3.2 and 4.6.1."""
    markov = pytest.importorskip("quantecon.markov")
    costs, sold = [0, 6, 8, 10], [0, 6, 8, 8]
    chances = [[1, 0, 0, 0], [0.75, 0.25, 0, 0], [0.25, 0.5, 0.25, 0], [0, 0.25, 0.5, 0.25]]
    pairs = [(s, a) for s in range(4) for a in range(4 - s)]
    ddp = markov.DiscreteDP(
        [sold[s + a] - costs[a] - (s + a) for s, a in pairs],
        [chances[s + a] for s, a in pairs],
        1,
        *np.transpose(pairs),
    )
    values, policies = markov.backward_induction(ddp, 3)
    made = from_quantecon(ddp, discount="1/2")
    play = finite_horizon(made.game, 3, discount=1)
    plan = iirl.commit(play.game, play.expand_reward(made.reward()))
    np.testing.assert_allclose(play.fold_values(plan.values), values[:3], rtol=0, atol=1e-12)
    response = iirl.OptimalFollower().respond(
        play.game, play.expand_reward(made.reward()), plan.policy
    )
    assert (play.fold(response).argmax(axis=2) == policies).all()


@real
@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("dectiger", {2: -4, 3: 5.190812, 4: 4.802755, 5: 7.026451}),
        ("broadcastChannel", {2: 2, 3: 2.99, 4: 3.89, 5: 4.79}),
        ("GridSmall", {2: 0.91, 3: 1.550444, 4: 2.241577, 5: 2.970496}),
    ],
)
def test_who_sees_all_earns_no_less_than_who_does_not(name, published):
    """Undiscounted optima of the partially observed problems: masplan.org, optimal values."""
    made = read_dpomdp(SHARED / f"{name}.dpomdp", discount="1/2")
    reward = made.reward()
    if made.reward_form == "next state":
        reward = (made.game.matrix @ reward).reshape(made.game.shape)
    found = {}
    for steps in published:
        play = finite_horizon(made.game, steps, discount=1)
        found[steps] = iirl.commit(play.game, play.expand_reward(reward)).value
    assert all(found[h] >= value - 1e-9 for h, value in published.items())
    if name == "broadcastChannel":  # two steps hide nothing
        assert found[2] == pytest.approx(2, abs=1e-12)


# What stands on it


@pytest.fixture(scope="module")
def play():
    return finite_horizon(GAME, 3, discount=1)


def test_sets_take_answers_over_steps_and_rewards_of_the_game(play):
    truth = play.expand_reward(TRUTH)
    pi1 = play.expand_policy(iirl.uniform_policy(4, 2))
    answer = iirl.OptimalFollower().respond(play.game, truth, pi1)
    known = iirl.FeasibleRewards(play.game).observe(pi1, answer)
    assert known.contains(truth, exact=True)
    by_step = play.expand_reward(np.repeat([[2.0], [-1.0], [5.0]], 4, axis=1))
    for sign in (1, -1):  # what a step pays everywhere is never seen
        assert known.contains(sign * by_step, exact=True)
    r = cp.Variable(4)
    inside = [cp.sum(r) == 1, r >= 0]
    found = iirl.solve(
        cp.Problem(cp.Minimize(TRUTH @ r), known.constraints(play.reward_map() @ r) + inside)
    )
    assert known.contains(play.expand_reward(r.value), tolerance=1e-7)
    assert found.value <= TRUTH @ TRUTH / TRUTH.sum()


def test_measures_followers_and_commitments_earn_what_induction_says(play):
    truth = play.expand_reward(TRUTH)
    plan = iirl.commit(play.game, truth)
    measure = iirl.OccupancyMeasure(play.game).maximise(truth.astype(float))
    assert measure.value == pytest.approx(plan.value, rel=1e-9)
    exact = iirl.commit(play.game, truth, follower=iirl.EpsilonGreedyFollower(0.2), exact=True)
    assert exact.value < plan.value
    # Over the steps, by hand: the greedy follower's answer, then what both earn.
    pi1, answer = play.fold(exact.policy), None
    ahead, earned = np.zeros(4), np.zeros(4)
    for step in reversed(range(3)):
        left = np.einsum("sa,sabz->sbz", pi1[step], GAME.kernel)
        answer = np.eye(2)[(left @ ahead).argmax(axis=1)]
        ahead = TRUTH + (answer * (left @ ahead)).sum(axis=1)
        mixed = 0.8 * answer + 0.1
        earned = TRUTH + (mixed * (left @ earned)).sum(axis=1)
    assert exact.value == pytest.approx(float(GAME.start @ earned), rel=1e-12)


def test_a_path_is_seen_step_by_step(play):
    pi1 = play.expand_policy(iirl.uniform_policy(4, 2))
    path = [(0, 0, 1), (int(GAME.kernel[0, 0, 1].argmax()), 1, 0)]
    told = iirl.observation.record_trajectory(
        play.game, pi1, [((s, step), a, b) for step, (s, a, b) in enumerate(path)]
    )
    assert list(told.states) == [s + 4 * step for step, (s, _, _) in enumerate(path)]


def test_ties_over_the_steps_stay_ties():
    """Now or later is the same in plain sums; a factor rounded to a float would decide."""
    game = iirl.TwoAgentMDP([[[[0, 1, 0], [0, 0, 1]]], [[[0, 1, 0]] * 2], [[[0, 0, 1]] * 2]], "1/2")
    late = np.zeros((7, 3))
    late[1, 1], late[6, 2] = 0.3, 0.3
    play = finite_horizon(game, 7, discount=1)
    q = iirl.OptimalFollower("all").respond(
        play.game, play.expand_reward(late), play.expand_policy(np.ones((3, 1)))
    )
    assert q[0].all()


def test_a_partner_with_a_temperature_is_refused_where_there_are_factors(play):
    steady = finite_horizon(GAME, 3)
    soft = iirl.BoltzmannFollower(2)
    assert steady.alike
    assert not play.alike
    for follower in (iirl.OptimalFollower("mix"), iirl.EpsilonGreedyFollower(0.3)):
        assert check_steps(play, follower) is follower
    for follower in (soft, ProportionalFollower(Power(2))):
        assert check_steps(steady, follower) is follower
        with pytest.raises(InvalidArgument, match=r"follower is .*allowed an optimal or ε-greedy"):
            check_steps(play, follower)
    # A steady horizon's answer is that of each step's action values.
    pi1, truth = steady.expand_policy(iirl.uniform_policy(4, 2)), steady.expand_reward(TRUTH)
    answer, ahead = steady.fold(soft.respond(steady.game, truth, pi1)), np.zeros(4)
    for step in reversed(range(3)):
        q = TRUTH[:, None] + GAME.discount * (GAME.kernel.mean(axis=1) @ ahead)
        np.testing.assert_allclose(answer[step], soft.answer(q), rtol=1e-12)
        ahead = q.max(axis=1)


# Maps and refusals


def test_maps_go_both_ways(play):
    rng = np.random.default_rng(0)
    pi = rng.dirichlet(np.ones(2), (3, 4))
    assert (play.fold(play.expand_policy(pi)) == pi).all()
    assert (play.fold(play.expand_policy(pi[0])) == pi[0]).all()
    for shape in ((4,), (4, 2, 2), (3, 4), (3, 4, 2, 2)):
        reward = rng.integers(-5, 6, shape)
        own = reward if len(shape) % 2 == 0 else np.broadcast_to(reward, (3, *shape))
        assert (play.fold_values(play.expand_reward(reward)) == own).all()
    exact = play.expand_reward(TRUTH).astype(float)
    np.testing.assert_allclose(play.reward_map() @ TRUTH, exact, rtol=1e-15)
    mask = play.expand_policy(np.array([[True, False]] * 4))
    assert mask.dtype == bool
    assert mask[-1].all()


@pytest.mark.parametrize("steps", [1, 2, 60, 1000])
def test_factors_of_plain_sums_stay_below_e(steps):
    play = finite_horizon(iirl.TwoAgentMDP([[[[1]]]], "1/2"), steps, discount=1)
    assert play.game.exact_discount == Fraction(steps, steps + 1)
    assert all(b == a * Fraction(steps + 1, steps) for a, b in pairwise(play.exact_factors))
    assert play.factors[-1] < np.e
    once = play.expand_reward([1]).astype(float)
    total = iirl.evaluate(play.game, once, np.ones((steps + 1, 1, 1)))
    assert total[0] == pytest.approx(steps, rel=1e-12)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"steps": 0}, InvalidArgument, "steps is 0; allowed a whole number ≥ 1"),
        ({"steps": 2.0}, InvalidArgument, "steps is 2.0"),
        ({"steps": True}, InvalidArgument, "steps is True"),
        ({"steps": 10**12}, InvalidArgument, r"makes \d+ transitions; allowed 1 ≤ steps ≤"),
        ({"discount": 2}, InvalidGame, "discount is 2; allowed 0 ≤ γ < 1"),
        ({"discount": float("nan")}, InvalidGame, "discount is nan"),
        ({"discount": None, "expanded_discount": 1}, InvalidGame, "expanded_discount is 1"),
        ({"expanded_discount": 0}, InvalidArgument, "expanded_discount is 0, whose factors at"),
        (
            {"steps": 60, "discount": 1, "expanded_discount": "1/2"},
            InvalidArgument,
            r"factors at a discount of 1 span 5.8e\+17 over 60 steps; .* as those of 60/61 are",
        ),
    ],
)
def test_a_horizon_that_goes_wrong_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        finite_horizon(GAME, **{"steps": 3, **given})


def test_what_does_not_fit_is_refused_by_name(play):
    late = np.zeros((3, 4))
    late[2, 1] = np.inf
    with pytest.raises(InvalidReward, match=r"reward\[2, 1\] is inf"):
        play.expand_reward(late)
    with pytest.raises(
        InvalidReward, match=r"shape \(2, 4\); allowed \(4,\), .* or \(3, 4, 2, 2\)"
    ):
        play.expand_reward(np.zeros((2, 4)))
    with pytest.raises(InvalidPolicy, match=r"shape \(4, 3\)"):
        play.expand_policy(np.ones((4, 3)))
    with pytest.raises(InvalidPolicy, match=r"s=\(1, 0\)"):
        play.expand_policy([[1, 0], [1, 1], [1, 0], [1, 0]])
    for array in (np.zeros(12), [[1], [1, 2]], "x", np.full(13, np.nan)):
        with pytest.raises(InvalidArgument, match="array"):
            play.fold(array)
    with pytest.raises(InvalidArgument, match="values is no array of numbers"):
        play.fold_values(["a"] * 13)


def test_floats_stay_floats_and_labels_stay_labels():
    floats = iirl.TwoAgentMDP(GAME.kernel, 0.9, states=["a", "b", "c", "d"])
    play = finite_horizon(floats, 2, discount=1)
    assert play.game.states[5] == ("b", 1)
    assert play.game.states[-1] == ("end", 2)
    assert play.game.kernel[0, 0, 0, 4:8] == pytest.approx(GAME.kernel[0, 0, 0], rel=1e-15)
    assert play.game.start[:4].tolist() == [0.25] * 4
