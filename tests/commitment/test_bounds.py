from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from exhaustive import FOLLOWERS, all_values, every_commitment, random_problem
from hypothesis import given, strategies as st

from iirl_opt.commitment.bounds import value_bounds
from iirl_opt.commitment.compatible import Weights, best_compatible, largest_mean
from iirl_opt.commitment.deviations import Range, deviating
from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.commitment.relaxation import Relaxation, bounded
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower, best_responses
from iirl_opt.follower.proportional import ProportionalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import policy_iteration
from iirl_opt.game.policy import deterministic_policy, random_policy
from iirl_opt.game.values import evaluate

SLACK = 1e-10  # rounding


def random_box(problem, rng):
    """Some allowed actions, at least one in every state."""
    mask = problem.allowed & (rng.random(problem.allowed.shape) < 0.6)
    empty = ~mask.any(axis=1)
    mask[empty] = problem.allowed[empty]
    return mask


def centred_values(problem):
    return all_values(problem) - float(problem.offset)


def follower_values(problem, actions):
    pi1 = deterministic_policy(actions, problem.game.n_leader_actions)
    return best_responses(problem.game, problem.follower_reward, pi1).values


@pytest.mark.parametrize("kind", FOLLOWERS)
def test_a_box_bounds_both_agents_values_of_every_commitment_in_it(kind):
    for seed in range(4):
        problem = random_problem(seed, kind, states=4)
        values, rows = centred_values(problem), np.array(every_commitment(problem))
        theirs = np.array([follower_values(problem, row) for row in rows])
        theirs -= problem.answers.offset
        rng = np.random.default_rng(seed)
        masks = np.stack([problem.allowed, *(random_box(problem, rng) for _ in range(3))])
        found = []
        for relaxation in (Relaxation(problem), Relaxation(problem, tight=True)):
            whole = relaxation.bound(masks[:1])
            found += [relaxation.bound(masks), relaxation.bound(masks, whole.take([0] * 4))]
        for box in found:
            for i, mask in enumerate(masks):
                inside = mask[np.arange(mask.shape[0]), rows].all(axis=1)
                assert inside.any()
                assert (values[inside] <= box.w_hi[i] + SLACK).all()
                assert (theirs[inside] <= box.h_hi[i] + SLACK).all()
                assert (theirs[inside] >= box.h_lo[i] - SLACK).all()


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.9, 0.9999]), st.sampled_from([1.0, 1e9]))
def test_deviations_from_a_reference_hold_the_differences_of_every_commitment(seed, gamma, dear):
    rng = np.random.default_rng(seed)
    game = random_game(4, 2, 3, rng=seed, discount=gamma)[0]
    reward = rng.normal(size=game.shape)
    reward[rng.random(reward.shape) < 0.1] -= dear
    problem = CommitmentProblem(game, reward, BoltzmannFollower(1))
    mask = random_box(problem, rng)
    relaxation = Relaxation(problem)
    low, high = relaxation.follower_values(mask[None])
    q = relaxation.action_values(high)
    lo, hi = (x[0] for x in deviating(problem, mask[None], Range(low, high), q))
    slack = 1e-14 * abs(reward).max() / (1 - gamma)
    for row in every_commitment(problem):
        if mask[np.arange(4), row].all():
            ahead = problem.kernel @ follower_values(problem, row)
            apart = ahead[:, :, None] - ahead[..., None]
            assert (lo - 8 * slack <= apart).all()
            assert (apart <= hi + 8 * slack).all()


def test_deviations_are_known_better_than_values_once_most_states_are_decided():
    game, reward = random_game(14, 3, 3, rng=1)
    problem = CommitmentProblem(game, reward, BoltzmannFollower(5))
    mask = np.ones((1, 14, 3), dtype=bool)
    mask[0, 4:] = [True, False, False]
    relaxation = Relaxation(problem)
    low, high = relaxation.follower_values(mask)
    found = deviating(problem, mask, Range(low, high), relaxation.action_values(high))
    apart = problem.kernel[:, :, None] - problem.kernel[:, :, :, None]
    box = abs(apart) @ (high - low)[0]
    assert (found.hi - found.lo).sum() < 0.8 * box.sum()
    tight = Relaxation(problem, tight=True).bound(mask)
    assert (tight.w_hi[0, 0] < relaxation.bound(mask).w_hi[0, 0] - 1e-3).all()


@pytest.mark.parametrize("kind", FOLLOWERS)
def test_a_box_of_one_commitment_has_its_value_as_bound(kind):
    for seed in range(6):
        problem = random_problem(seed, kind, states=4)
        actions = [np.flatnonzero(row)[-1] for row in problem.allowed]
        point = deterministic_policy(actions, problem.game.n_leader_actions).astype(bool)
        box = Relaxation(problem).bound(point[None])
        assert box.actions[0].tolist() == actions
        np.testing.assert_allclose(box.h_lo, box.h_hi, atol=1e-9)
        centred = problem.values_of([actions]) - float(problem.offset)
        np.testing.assert_allclose(box.w_hi, centred, atol=1e-6)


@pytest.mark.parametrize(
    ("follower", "ties", "first", "second"),
    [
        (OptimalFollower("first"), None, 1.0, 0.0),
        (OptimalFollower("last"), None, 0.0, 1.0),
        (OptimalFollower("mix"), None, 0.5, 0.5),
        (OptimalFollower(), "optimistic", 1.0, 1.0),
        (OptimalFollower(), "pessimistic", 0.0, 0.0),
        (EpsilonGreedyFollower(0.5, "last"), None, 0.25, 0.75),
        (EpsilonGreedyFollower(0.5), "pessimistic", 0.25, 0.25),
    ],
)
def test_sure_ties_are_broken_by_the_followers_rule(follower, ties, first, second):
    # From state 0 the follower chooses between 1 and 2, alike for itself; the leader wants one.
    kernel = np.zeros((3, 1, 2, 3))
    kernel[0, 0, 0, 1] = kernel[0, 0, 1, 2] = 1
    kernel[1, :, :, 1] = kernel[2, :, :, 2] = 1
    game = TwoAgentMDP(kernel, 0.5, [1, 0, 0])
    epsilon = getattr(follower, "epsilon", 0.0)
    for wanted, value in ((1, first), (2, second)):
        problem = CommitmentProblem(
            game, np.eye(3)[wanted], follower, follower_reward=np.zeros(3), ties=ties
        )
        bound = Relaxation(problem).bound(problem.allowed[None]).w_hi[0, 0]
        assert bound + float(problem.offset) == pytest.approx(value)
        bounds = value_bounds(problem)  # of all rules
        assert bounds.w_lo[0] == pytest.approx(epsilon / 2)
        assert bounds.w_hi[0] == pytest.approx(1 - epsilon / 2)


@given(seed=st.integers(0, 10**6))
def test_the_best_compatible_answer_is_the_best_over_corners_and_samples(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    w, lo = rng.normal(size=n), rng.random(n) * (rng.random(n) < 0.8)
    hi = lo + rng.random(n) * (rng.random(n) < 0.8)
    hi[rng.integers(n)] += 0.1
    value, play = best_compatible(
        w[None, None, None], Weights(*(x[None, None, None, None] for x in (lo, hi)))
    )
    corners = np.array(np.meshgrid(*zip(lo, hi, strict=True))).reshape(n, -1).T
    corners = corners[corners.sum(axis=1) > 0]
    means = corners @ w / corners.sum(axis=1)
    assert value[0, 0, 0] == pytest.approx(means.max(), abs=1e-12)
    assert play[0, 0, 0] @ w == pytest.approx(means.max(), abs=1e-12)
    inner = lo + rng.random((50, n)) * (hi - lo)
    assert (inner @ w / inner.sum(axis=1) <= means.max() + 1e-12).all()


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-305, 1e-40, 1.0, 1e150]))
def test_the_largest_mean_is_rounded_upwards_at_every_scale(seed, scale):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    w = scale * rng.normal(size=n) * 10.0 ** -rng.integers(0, 60, n)
    lo, hi = np.zeros(n), np.full(n, 1e-280)
    hi[rng.integers(n)] = 1.0
    value = largest_mean(
        w[None, None, None], Weights(*(x[None, None, None, None] for x in (lo, hi)))
    )
    exact, corner = [Fraction(x) for x in w], [Fraction(x) for x in hi]
    chosen = [[c for c in range(n) if w[c] >= w[b]] for b in range(n)]
    best = max(sum(corner[c] * exact[c] for c in at) / sum(corner[c] for c in at) for at in chosen)
    assert best <= Fraction(value[0, 0, 0]) <= best + Fraction(scale) * Fraction(1, 10**12)


def test_the_tight_relaxation_is_for_deterministic_commitments():
    problem = random_problem(0, "Boltzmann 1", states=3)
    with pytest.raises(InvalidArgument, match="stochastic"):
        Relaxation(problem, stochastic=True, tight=True)


@pytest.mark.parametrize("kind", FOLLOWERS)
def test_value_bounds_hold_for_stochastic_commitments_and_every_tie_rule(kind):
    rng = np.random.default_rng(5)
    for seed in range(5):
        problem = random_problem(seed, kind, states=4)
        game = problem.game
        bounds = value_bounds(problem)
        rules = ["first", "last", "mix"]
        for _ in range(5):
            pi1 = np.where(problem.allowed, random_policy(*game.shape[:2], rng), 0)
            pi1 /= pi1.sum(axis=1, keepdims=True)
            best = best_responses(game, problem.follower_reward, pi1)
            assert (bounds.h_lo - SLACK <= best.values).all()
            assert (best.values <= bounds.h_hi + SLACK).all()
            answers = [problem.reply(pi1).response]
            if problem.epsilon is not None:
                f = EpsilonGreedyFollower
                answers += [f(problem.epsilon, t).among(best.optimal) for t in rules]
            for answer in answers:
                values = evaluate(game, problem.reward, (pi1, answer))
                assert (bounds.w_lo - SLACK <= values).all()
                assert (values <= bounds.w_hi + SLACK).all()


@pytest.mark.parametrize("kind", FOLLOWERS)
def test_deterministic_value_bounds_hold_and_are_no_looser(kind):
    for seed in range(5):
        problem = random_problem(seed, kind, states=4)
        values = all_values(problem)
        tight, loose = value_bounds(problem, stochastic=False), value_bounds(problem)
        assert (tight.w_lo - SLACK <= values).all()
        assert (values <= tight.w_hi + SLACK).all()
        for sign, inner, outer in zip((-1, 1, -1, 1), tight, loose, strict=True):
            assert (sign * inner <= sign * outer + SLACK).all()


def test_for_an_optimal_follower_with_the_same_reward_the_bound_is_the_joint_optimum():
    game, reward = random_game(20, 3, 3, rng=2)
    problem = CommitmentProblem(game, reward)
    box = Relaxation(problem).bound(np.ones((1, 20, 3), dtype=bool))
    joint = policy_iteration(game, reward).values - float(problem.offset)
    np.testing.assert_allclose(box.w_hi[0], joint, atol=1e-10)
    np.testing.assert_allclose(box.h_hi, box.w_hi, atol=1e-10)


@pytest.mark.parametrize("beta", [0.0, 1e-3, 1e3, 1e12, 1e300])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_extreme_temperatures_and_rewards_overflow_nowhere(beta, scale):
    game, reward = random_game(5, 2, 3, rng=4)
    problem = CommitmentProblem(game, scale * reward, BoltzmannFollower(beta))
    box = Relaxation(problem).bound(problem.allowed[None])
    values = centred_values(problem)
    assert np.isfinite(box.w_hi).all()
    assert (values <= box.w_hi[0] + SLACK * scale).all()


def test_followers_without_bounds_are_refused_or_free():
    game, reward = random_game(4, 2, 2, rng=0)

    @dataclass(frozen=True)
    class Contrary:
        def respond(self, game, reward, pi1, rng=None):
            return self.answer(best_responses(game, reward, pi1).q)

        def answer(self, q, tolerance=0.0, rng=None):
            return np.eye(q.shape[-1])[q.argmin(axis=-1)]

    for follower in (Contrary(), ProportionalFollower(lambda q: np.exp(-q))):
        problem = CommitmentProblem(game, reward, follower)
        assert not bounded(problem)
        with pytest.raises(InvalidArgument, match="follower"):
            Relaxation(problem)
        bounds, values = value_bounds(problem), all_values(problem)
        assert (bounds.w_lo - SLACK <= values).all()
        assert (values <= bounds.w_hi + SLACK).all()


def test_a_follower_of_ones_own_is_served_once_it_declares_bounds():
    game, reward = random_game(5, 2, 3, rng=0)

    @dataclass(frozen=True)
    class Squares:
        def respond(self, game, reward, pi1, rng=None):
            return self.answer(best_responses(game, reward, pi1).q)

        def answer(self, q, tolerance=0.0, rng=None):
            return q**2 / (q**2).sum(axis=-1, keepdims=True)

        def weight_bounds(self, lower, upper):
            return lower**2, upper**2  # rewards are ≥ 0

    problem = CommitmentProblem(game, reward, Squares())
    box = Relaxation(problem).bound(problem.allowed[None])
    same = CommitmentProblem(game, reward, ProportionalFollower(np.square))
    np.testing.assert_allclose(box.w_hi, Relaxation(same).bound(same.allowed[None]).w_hi)
    assert (centred_values(problem) <= box.w_hi[0] + SLACK).all()


def test_weights_that_vanish_everywhere_are_refused_with_the_place():
    game, _ = random_game(3, 2, 2, rng=0)
    problem = CommitmentProblem(game, np.zeros(3), ProportionalFollower(np.abs))
    with pytest.raises(InvalidArgument, match="not all 0"):
        Relaxation(problem).bound(problem.allowed[None])
