"""What a cut is worth: against quadrature, sampling, and the normal law conditioned explicitly."""

import statistics
from math import exp, pi, sqrt

import numpy as np
import pytest
from hypothesis import given, strategies as st
from instances import games, rewards
from scipy.integrate import quad

from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import modified_policy_iteration
from iirl_opt.learn.indifference import Mixtures, cheapest_mixtures
from iirl_opt.learn.information import look_ahead


def setting(seed, shape=(8, 2, 3), width=0.05, **options):
    """A game, the optimum of its reward, a root of some covariance, and mixtures."""
    game, reward = random_game(*shape, seed, **options)
    optimum = modified_policy_iteration(game, reward)
    rng = np.random.default_rng(seed)
    root = width * rng.standard_normal((game.n_states, game.n_states + 2))
    return game, optimum, root, cheapest_mixtures(game, optimum)


def kernel_of(game):
    rows = game.matrix
    return (rows.toarray() if hasattr(rows, "toarray") else rows).reshape(*game.shape, -1)


def greedy_chain(game, optimum):
    n = game.n_states
    return kernel_of(game).reshape(n, -1, n)[np.arange(n), optimum.actions]


def action_values(game, optimum):
    """Q of the greedy policies as a linear map of state rewards, (S, A, B, S)."""
    n = game.n_states
    values = np.linalg.inv(np.eye(n) - game.discount * greedy_chain(game, optimum))
    return np.eye(n)[:, None, None, :] + game.discount * kernel_of(game) @ values, values


def visits_of(game, optimum):
    total, now = np.zeros(game.n_states), np.asarray(game.start, dtype=float)
    for _ in range(600):
        total, now = total + now, game.discount * now @ greedy_chain(game, optimum)
    return total


def gain(mean, deviation):
    """The mean of the positive part of a normal variable, by quadrature."""
    if deviation < 1e-12:
        return max(mean, 0.0)
    top = mean + 12 * deviation
    if top <= 0:
        return 0.0

    def density(x):
        return x * exp(-(((x - mean) / deviation) ** 2) / 2) / (deviation * sqrt(2 * pi))

    return quad(density, 0.0, top, epsabs=1e-14, limit=200)[0]


def best_alternatives(game, optimum, root):
    """Each state's expected improvement a visit and the advantage behind it, one by one."""
    q, values = action_values(game, optimum)
    best, rows = np.zeros(game.n_states), np.zeros((game.n_states, game.n_states))
    for s in range(game.n_states):
        for choice in range(game.n_choices):
            row = q[s].reshape(-1, game.n_states)[choice] - values[s]
            mean = min(float(optimum.q[s, choice] - optimum.values[s]), 0.0)
            gained = gain(mean, float(np.linalg.norm(row @ root)))
            if gained > best[s]:
                best[s], rows[s] = gained, row
    return best, rows


@pytest.mark.parametrize("seed", range(4))
def test_the_improvement_is_the_mean_of_what_the_best_alternative_gains(seed):
    game, optimum, root, _ = setting(seed)
    outlook = look_ahead(game, optimum, root)
    best, _ = best_alternatives(game, optimum, root)
    assert outlook.visits == pytest.approx(visits_of(game, optimum))
    assert outlook.improvement == pytest.approx(outlook.visits * best, rel=1e-6, abs=1e-12)
    assert outlook.expected_regret == pytest.approx(float(outlook.visits @ best), rel=1e-6)


def test_the_improvement_is_the_mean_over_sampled_rewards():
    game, optimum, root, _ = setting(0, shape=(4, 2, 2), width=0.2)
    q, values = action_values(game, optimum)
    ahead = q.reshape(4, -1, 4) - values[:, None, :]
    noise = np.random.default_rng(0).standard_normal((root.shape[1], 100_000))
    mean = (optimum.q - optimum.values[:, None])[..., None]
    gains = np.maximum(mean + ahead @ (root @ noise), 0).mean(axis=2).max(axis=1)
    found = look_ahead(game, optimum, root)
    assert found.improvement.sum() > 0
    assert found.improvement == pytest.approx(found.visits * gains, rel=0.03, abs=1e-3)


def conditioned(covariance, given_):
    """The covariance of a normal law once some of its variables are known."""
    if not given_:
        return covariance
    across = covariance[:, given_]
    return covariance - across @ np.linalg.solve(covariance[np.ix_(given_, given_)], across.T)


def law(game, optimum, root, mixtures):
    """The covariance of what answers tell (m of them) and of the best advantages (S)."""
    q, _ = action_values(game, optimum)
    told = [
        (1 - share) * (q[s, a, b] - q[s, a, c]) + share * (q[s, o, b] - q[s, o, c])
        for s, a, o, b, c, share, _ in zip(*mixtures, strict=True)
    ]
    best, rows = best_alternatives(game, optimum, root)
    whole = np.concatenate([np.reshape(told, (-1, game.n_states)), rows]) @ root
    return best, whole @ whole.T


def naive(game, optimum, root, mixtures, lasting):
    """Mixtures in the order of worth per cost, the law conditioned anew for every one."""
    m = len(mixtures.states)
    best, prior = law(game, optimum, root, mixtures)
    visits = visits_of(game, optimum)
    prices = [mixtures.loss[i] * visits[mixtures.states[i]] for i in range(m)]
    lasts = lasting * (statistics.median(prices) / statistics.fmean(prices)) ** 0.5
    chosen = []
    while True:
        rates = np.full(m, -1.0)
        now = conditioned(prior, chosen)
        for i in range(m):
            if i in chosen or now[i, i] <= 1e-6 * prior[i, i]:
                continue
            worth = sum(
                best[s] * visits[s] * now[i, m + s] ** 2 / now[i, i] / prior[m + s, m + s]
                for s in range(game.n_states)
                if prior[m + s, m + s] > 0
            )
            if lasts * worth > prices[i]:
                rates[i] = worth / prices[i]
        if rates.max(initial=-1.0) < 0:
            return sorted(chosen)
        chosen.append(int(rates.argmax()))


@pytest.mark.parametrize("lasting", [0.3, 3.0, 30.0, 1e4])
@pytest.mark.parametrize("seed", range(4))
def test_worth_is_reckoned_as_by_conditioning_the_law_on_every_pick(seed, lasting):
    game, optimum, root, mixtures = setting(seed)
    chosen = look_ahead(game, optimum, root).worthwhile(mixtures, lasting)
    assert chosen.tolist() == naive(game, optimum, root, mixtures, lasting)


def test_the_lastings_above_tell_some_mixtures_from_others():
    counts = set()
    for seed in range(4):
        game, optimum, root, mixtures = setting(seed)
        outlook = look_ahead(game, optimum, root)
        for lasting in (0.3, 3.0, 30.0, 1e4):
            counts.add(len(outlook.worthwhile(mixtures, lasting)))
        assert len(mixtures.states) > 2
    assert len(counts) >= 4


@given(game=games(states=(1, 4), leader=(1, 3)), data=st.data())
def test_for_no_episodes_nothing_is_worth_its_cost(game, data):
    reward = data.draw(rewards(game.n_states)).astype(float)
    optimum = modified_policy_iteration(game, reward)
    outlook = look_ahead(game, optimum, np.eye(game.n_states) - 1 / game.n_states)
    mixtures = cheapest_mixtures(game, optimum)
    assert outlook.worthwhile(mixtures, 0.0).size == 0
    assert (outlook.visits >= 0).all()
    assert (outlook.improvement >= 0).all()
    chosen = outlook.worthwhile(mixtures, 100.0)
    assert np.array_equal(chosen, np.unique(chosen))
    assert chosen.size <= mixtures.states.size


@pytest.mark.parametrize("seed", range(4))
def test_a_free_mixture_that_tells_something_is_taken_for_the_shortest_time(seed):
    game, optimum, root, mixtures = setting(seed)
    outlook = look_ahead(game, optimum, root)
    assert len(outlook.worthwhile(mixtures, 1e-9)) == 0
    for i in range(len(mixtures.states)):
        loss = np.where(np.arange(len(mixtures.states)) == i, 0.0, mixtures.loss)
        assert outlook.worthwhile(mixtures._replace(loss=loss), 1e-9).tolist() == [i]


@pytest.mark.parametrize("seed", range(4))
def test_of_free_mixtures_only_those_are_left_that_tell_nothing_more(seed):
    game, optimum, root, mixtures = setting(seed)
    thin = root[:, :3]
    free = mixtures._replace(loss=np.zeros(len(mixtures.loss)))
    chosen = look_ahead(game, optimum, thin).worthwhile(free, 1.0).tolist()
    _, prior = law(game, optimum, thin, free)
    left = (
        np.diag(conditioned(prior, chosen))[: len(free.states)] / np.diag(prior)[: len(free.states)]
    )
    # Three directions are left open, so three answers tell everything.
    assert len(chosen) == 3
    assert len(free.states) > 3
    assert (left < 1e-6).all()


def twice(mixtures):
    return Mixtures(*(np.concatenate([part, part]) for part in mixtures))


@pytest.mark.parametrize("lasting", [3.0, 1e9])
@pytest.mark.parametrize("seed", range(4))
def test_no_two_mixtures_are_taken_that_tell_the_same(seed, lasting):
    game, optimum, root, mixtures = setting(seed)
    outlook = look_ahead(game, optimum, root)
    chosen = outlook.worthwhile(twice(mixtures), lasting) % len(mixtures.states)
    assert len(set(chosen)) == len(chosen)
    assert sorted(chosen) == outlook.worthwhile(mixtures, lasting).tolist()


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 0.25, 7.0, 1e9])
@pytest.mark.parametrize("seed", range(3))
def test_the_scale_of_rewards_does_not_matter(seed, scale):
    game, reward = random_game(8, 2, 3, seed)
    root = 0.05 * np.random.default_rng(seed).standard_normal((8, 8))
    found = []
    for factor in (1.0, scale):
        optimum = modified_policy_iteration(game, factor * reward)
        mixtures = cheapest_mixtures(game, optimum)
        outlook = look_ahead(game, optimum, factor * root)
        found.append((outlook, mixtures, outlook.worthwhile(mixtures, 100.0).tolist()))
    (one, own, chosen), (other, its, same) = found
    assert chosen
    assert chosen == same
    assert np.array_equal(own.states, its.states)
    assert its.loss == pytest.approx(scale * own.loss, rel=1e-6)
    assert other.improvement == pytest.approx(scale * one.improvement, rel=1e-6)
    assert other.visits == pytest.approx(one.visits)


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 2, 2), (3, 1, 2), (3, 2, 1), (4, 2, 2)])
@pytest.mark.parametrize("discount", [0, "9/10"])
def test_small_games_and_discount_zero_do_no_harm(shape, discount):
    game, optimum, root, mixtures = setting(1, shape=shape, discount=discount)
    outlook = look_ahead(game, optimum, root)
    chosen = outlook.worthwhile(mixtures, 1e9)
    assert np.isfinite(outlook.improvement).all()
    if not discount or 1 in shape[1:]:
        assert chosen.size == 0
    if not discount or shape[0] == 1:
        # Nothing that is played changes what is earned.
        assert outlook.expected_regret == 0


def test_a_reward_that_is_known_leaves_nothing_to_learn():
    game, optimum, root, mixtures = setting(0)
    outlook = look_ahead(game, optimum, 0 * root)
    assert outlook.expected_regret == 0
    assert outlook.worthwhile(mixtures, 1e9).size == 0


def test_only_mixtures_where_the_greedy_play_never_comes_are_free():
    # The last two states lead among themselves and are never met from the start.
    rng = np.random.default_rng(0)
    kernel = rng.integers(1, 9, (5, 3, 3, 5))
    kernel[:3, ..., 3:] = 0
    game = TwoAgentMDP(kernel, "9/10", [1, 0, 0, 0, 0])
    optimum = modified_policy_iteration(game, rng.random(5))
    root = 0.01 * rng.standard_normal((5, 5))
    outlook, mixtures = look_ahead(game, optimum, root), cheapest_mixtures(game, optimum)
    assert outlook.visits[3:] == pytest.approx(np.zeros(2), abs=0)
    assert not outlook.improvement[3:].any()
    assert outlook.improvement[:3].all()
    far = np.flatnonzero(mixtures.states >= 3)
    assert far.size
    # What is told there bears on the states that are met.
    assert outlook.worthwhile(mixtures, 1e-9).tolist() == far.tolist()
    assert outlook.worthwhile(mixtures, 0.0).size == 0
