"""What no learner can learn: proofs over all commitments, and what they imply for learners."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from depth import share
from hypothesis import assume, given, strategies as st

from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.exact.numbers import as_fractions, as_reals
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.exact import exact_kernel, exact_optimum, exact_reward
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import deterministic_policy, random_policy
from iirl_opt.game.values import evaluate
from iirl_opt.learn.active import ActiveIRL
from iirl_opt.learn.algorithm_1 import InteractiveIRL
from iirl_opt.learn.episodes import interact
from iirl_opt.learn.limits import indistinguishable
from iirl_opt.learn.same_answer import _LeadForms, least_on_simplex, one_answer
from iirl_opt.library import read_model
from iirl_opt.testing import games, policies, rewards

NEARLY = Fraction(19, 20)
MIRRORED = {
    "idle-partner": ([1, 0], [0, 1]),
    "same-answer": ([0, 1, NEARLY], [0, NEARLY, 1]),
}


def in_between():
    """The answer is the same to both deterministic commitments, and another to their mixture."""
    left, right, hub = [0, 1, 0], [0, 0, 1], [1, 0, 0]
    one, other = [left, [1, 1, 0]], [[0, 1, 1], hub]
    weights = [[one, other], [[hub, hub]] * 2, [[right, right]] * 2]
    return TwoAgentMDP(weights, "9/10"), [0, 1, 0]


# Quadratic forms


@given(data=st.data(), n=st.integers(1, 3))
def test_the_least_value_of_a_form_is_that_of_a_fine_grid(data, n):
    entries = data.draw(st.lists(st.integers(-4, 4), min_size=n * n, max_size=n * n))
    matrix = as_fractions(np.array(entries).reshape(n, n))
    least, at = least_on_simplex(matrix)
    assert at @ matrix @ at == least
    assert at.sum() == 1
    assert (at >= 0).all()
    points = np.array([p for p in product(range(61), repeat=n) if sum(p) == 60]) / 60
    values = np.einsum("ki,ij,kj->k", points, matrix.astype(float), points)
    # From the least point, stationary in its face, to the grid: L1 distance n/60 at most.
    assert -1e-9 <= values.min() - float(least) <= 4 * (n / 60) ** 2 + 1e-9
    assert least_on_simplex(matrix + as_fractions(np.full((n, n), 3)))[0] == least + 3


def test_horn_s_form_is_never_negative_though_no_sum_of_simpler_ones():
    first = [1, -1, 1, 1, -1]
    matrix = as_fractions([np.roll(first, k) for k in range(5)])
    assert least_on_simplex(matrix)[0] == 0
    matrix[0, 1] -= Fraction(1, 1000)
    assert least_on_simplex(matrix)[0] < 0


@share(0.8)
@given(data=st.data())
def test_a_lead_is_its_quadratic_form_over_the_determinant(data):
    game = data.draw(games(max_states=3, min_leader_actions=2, max_leader_actions=3))
    n, n_a, n_b = game.shape
    assume(n_b > 1)
    reward = exact_reward(game, data.draw(rewards(game)))
    pi2 = np.array(data.draw(st.tuples(*[st.integers(0, n_b - 1)] * n)))
    s, b = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n_b - 1))
    others = data.draw(st.tuples(*[st.integers(0, n_a - 1)] * (n - 1)))
    p = data.draw(policies(game))[s]
    matrix, dets = _LeadForms(game, reward, pi2).lead(s, b, others)
    pi1 = deterministic_policy(np.array([*others[:s], 0, *others[s:]]), n_a)
    pi1[s] = p
    values = evaluate(game, as_reals(reward), (pi1, np.eye(n_b)[pi2]))
    q = (pi1[:, :, None] * as_reals(reward)).sum(axis=1)
    q = q + game.discount * (game.follower_mdp(pi1).kernel @ values)
    found = p @ matrix.astype(float) @ p / (p @ np.array(dets, dtype=float))
    assert found == pytest.approx(values[s] - q[s, b], abs=1e-8)


# One answer


@given(data=st.data())
def test_one_answer_is_the_answer_to_every_commitment_and_leads_by_what_is_proved(data):
    game = data.draw(games(max_states=3, max_denominator=3))
    reward = data.draw(rewards(game))
    answer = one_answer(game, reward)
    commitments = [data.draw(policies(game)) for _ in range(4)]
    optima = [exact_optimum(game, reward, pi1) for pi1 in commitments]
    if answer is not None:
        for optimum in optima:
            assert np.array_equal(optimum.optimal, answer.optimal)
            worse = optimum.gaps[~answer.optimal]
            assert answer.lead is None or min(worse) >= answer.lead > 0


def test_deterministic_commitments_alone_prove_nothing():
    game, reward = in_between()
    masks = [
        exact_optimum(game, reward, np.eye(2)[list(actions)]).optimal
        for actions in product(range(2), repeat=3)
    ]
    assert all(np.array_equal(mask, masks[0]) for mask in masks)
    half = np.full((3, 2), 0.5)
    assert not np.array_equal(exact_optimum(game, reward, half).optimal, masks[0])
    assert one_answer(game, reward) is None
    # Where the right pays as well, going there is the answer to all: only mixtures separate.
    assert np.array_equal(one_answer(game, [0, 1, 1]).optimal, masks[0])
    found = indistinguishable(game, reward, [0, 1, 1])
    assert found.commitment is not None
    assert not np.isin(found.commitment, (0, 1)).all()


def test_an_action_that_is_tied_now_and_then_is_no_part_of_one_answer():
    # The follower's move matters only as far as the leader lets it.
    stay, go = [1, 0], [0, 1]
    game = TwoAgentMDP([[[stay, go], [go, go]], [[go, go], [go, go]]], "1/2")
    assert one_answer(game, [0, 1]) is None
    idle = TwoAgentMDP([[[go, go], [go, go]], [[go, go], [go, go]]], "1/2")
    answer = one_answer(idle, [0, 1])
    assert answer.optimal.all()
    assert answer.lead is None


# Rewards that cannot be told apart


@pytest.mark.parametrize(("name", "floor"), [("idle-partner", "9/2"), ("same-answer", "3/40")])
def test_on_both_model_files_truth_and_mirror_image_cannot_be_told_apart(name, floor):
    game, (truth, mirrored) = read_model(name).game, MIRRORED[name]
    found = indistinguishable(game, truth, mirrored)
    assert found
    assert found.decided
    assert found.commitment is None
    assert found.responses is None
    assert found.regret == Fraction(floor)
    assert "one answer" in repr(found)


def test_the_lead_on_the_game_of_one_answer_is_that_found_by_hand():
    # Right is worth 9.5; going back to a fork that sends left for ever .95 + .9 · 9.
    found = indistinguishable(read_model("same-answer").game, *MIRRORED["same-answer"])
    assert [answer.lead for answer in found.answers] == [Fraction(9, 20)] * 2


@pytest.mark.parametrize("name", MIRRORED)
@pytest.mark.parametrize("kind", [InteractiveIRL, ActiveIRL])
def test_a_learner_does_the_same_under_both_truths_and_loses_the_floor_in_the_mean(name, kind):
    game, truths = read_model(name).game, MIRRORED[name]
    floor = float(indistinguishable(game, *truths).regret)
    for seed in range(2):
        first, second = (
            list(interact(kind(game, seed=seed), np.array(truth, dtype=float), 12))
            for truth in truths
        )
        for one, other in zip(first, second, strict=True):
            assert np.array_equal(one.learner.history[-1].pi1, other.learner.history[-1].pi1)
            assert (one.regret + other.regret) / 2 >= floor - 1e-12


@share(0.6)
@given(data=st.data())
def test_the_floor_holds_for_every_commitment(data):
    game = data.draw(games(min_states=2, max_states=3, max_denominator=2))
    one, other = data.draw(rewards(game)), data.draw(rewards(game))
    found = indistinguishable(game, one, other)
    pi1 = data.draw(policies(game))
    start = np.array(game.rational.start, dtype=object)
    lost = [
        start @ (exact_optimum(game, r).values - exact_optimum(game, r, pi1).values)
        for r in (one, other)
    ]
    assert sum(lost) / 2 >= found.regret >= 0


@share(0.8)
@given(data=st.data())
def test_what_separates_does_and_what_cannot_is_never_separated(data):
    game = data.draw(games(min_states=2, max_states=3, max_denominator=3))
    one, other = data.draw(rewards(game)), data.draw(rewards(game))
    found = indistinguishable(game, one, other)
    if found:
        for pi1 in [data.draw(policies(game)) for _ in range(4)]:
            masks = [exact_optimum(game, r, pi1).optimal for r in (one, other)]
            assert np.array_equal(*masks)
    elif found.decided:
        masks = [exact_optimum(game, r, found.commitment).optimal for r in (one, other)]
        assert np.array_equal(masks, found.responses)
        assert not np.array_equal(*masks)
        tells = not (masks[0] & masks[1]).any(axis=1).all()
        assert found.whatever_the_ties == tells
        assert "separates" in repr(found)


def test_where_answers_vary_random_rewards_are_separated_whatever_the_ties():
    for seed in range(5):
        game, one = random_game(3, 2, 2, seed, restart=False)
        _, other = random_game(3, 2, 2, seed + 100, restart=False)
        found = indistinguishable(game, one, other)
        assert found.whatever_the_ties
        assert not found
        assert found.regret == 0
        response = OptimalFollower().respond(game, one, as_reals(found.commitment))
        assert not (found.responses[1][response > 0]).all()


@given(data=st.data())
def test_rewards_of_one_class_are_never_told_apart_and_cost_nothing(data):
    game = data.draw(games(max_states=3))
    reward = as_fractions(data.draw(rewards(game)))
    found = indistinguishable(game, reward, 3 * reward + Fraction(1, 7))
    assert found.same_class
    assert found.regret == 0
    assert "one class" in repr(found)


@given(data=st.data())
def test_shaping_and_rewards_of_places_apart_are_never_seen(data):
    game = data.draw(games(max_states=3))
    reward = exact_reward(game, data.draw(rewards(game)))
    potential = as_fractions(data.draw(rewards(game)))
    ahead = game.rational.discount * (exact_kernel(game) @ potential)
    shaped = 2 * reward + ahead - potential[:, None, None]
    found = indistinguishable(game, reward, shaped)
    assert found.same_class
    assert found.regret == 0


def test_a_reward_that_no_action_changes_is_never_seen():
    stay, go, apart = [1, 0, 0], [0, 1, 0], [0, 0, 1]
    moves = [[stay, go], [go, stay]]
    game = TwoAgentMDP([moves, moves, [[apart, apart]] * 2], "9/10")
    assert indistinguishable(game, [1, 0, 0], [1, 0, 7]).same_class
    assert not indistinguishable(game, [1, 0, 0], [0, 1, 7])


def test_joint_rewards_are_rewards_too():
    game = read_model("same-answer").game
    one, other = (exact_reward(game, r) for r in MIRRORED["same-answer"])
    assert indistinguishable(game, one, other).regret == Fraction(3, 40)
    pushed = one.copy()
    pushed[1, :, 1] += 10  # going back from the left pays
    assert indistinguishable(game, pushed, other).whatever_the_ties


def test_constants_and_single_states():
    game = TwoAgentMDP(np.ones((1, 2, 2, 1), dtype=int), "9/10")
    assert indistinguishable(game, [1], [2]).same_class
    joint = np.zeros((1, 2, 2), dtype=int)
    joint[0, :, 0] = 1
    assert indistinguishable(game, joint, np.zeros((1, 2, 2), dtype=int)).commitment is not None
    at_zero, reward = random_game(3, 2, 2, rng=0, discount=0)
    assert indistinguishable(at_zero, reward, -reward).same_class


def test_what_is_no_question_is_refused():
    game, reward = random_game(3, 2, 2, rng=0)
    with pytest.raises(InvalidReward):
        indistinguishable(game, reward, reward[:2])
    with pytest.raises(InvalidArgument, match="8 deterministic commitments; allowed at most 4"):
        indistinguishable(game, reward, -reward, limit=4)
    with pytest.raises(InvalidArgument, match="8 deterministic commitments; allowed at most 4"):
        one_answer(game, reward, limit=4)


def test_a_random_commitment_never_separates_the_mirror_images():
    game, rng = read_model("same-answer").game, np.random.default_rng(0)
    for _ in range(50):
        pi1 = random_policy(3, 2, rng)
        masks = [
            OptimalFollower("all").respond(game, np.array(r, dtype=float), pi1)
            for r in MIRRORED["same-answer"]
        ]
        assert np.array_equal(*masks)
