"""Approximate value iteration: Algorithms 2 and 3, where they are right and how they err."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from instances import games, rewards

from iirl_opt.commitment.algorithms_2_and_3 import ValueIteration
from iirl_opt.commitment.lemma_2 import joint_leader_policy
from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower
from iirl_opt.follower.proportional import ProportionalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.mazes import maze_maker
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import policy_iteration
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.game.values import evaluate

FOLLOWERS = (
    OptimalFollower(),
    EpsilonGreedyFollower(0.3, "last"),
    BoltzmannFollower(0.5),
    BoltzmannFollower(3.0),
    ProportionalFollower(lambda q: 2 + np.tanh(q)),
)


def best_deterministic(problem):
    """The largest start value of an allowed deterministic commitment."""
    every = list(product(*(np.flatnonzero(row) for row in problem.allowed)))
    return float((problem.values_of(every) @ problem.game.start).max())


def cycling_problem():
    """Two states, a Boltzmann follower with β = 2: in-place sweeps from zero cycle, of length 3."""
    kernel = [
        [[[0.03, 0.97], [1, 0]], [[1, 0], [0, 1]]],
        [[[0.23, 0.77], [0.77, 0.23]], [[0.03, 0.97], [0.88, 0.12]]],
    ]
    return CommitmentProblem(TwoAgentMDP(kernel, 0.9), [0.76, 0.57], BoltzmannFollower(2))


def lemma_3(epsilon, delta, discount=0.9):
    """The game of the proof of Lemma 3, rewards of s3 and s4 divided by γ; state 6 is the end.

    Under a1 in s2 the follower goes for 2, but slips so dearly that δ (1 − ε/2) is left.
    """
    kernel = np.zeros((7, 2, 2, 7), dtype=int)
    kernel[[1, 3, 4, 5, 6], :, :, 6] = 1
    kernel[0, :, 0, 1] = kernel[0, :, 1, 2] = 1
    kernel[2, 0, 0, 3] = kernel[2, 0, 1, 4] = kernel[2, 1, :, 5] = 1
    slip = (delta - 2) * (1 - epsilon / 2) / (epsilon / 2)
    reward = np.array([0, 1, 0, 2 / discount, slip / discount, 0, 0])
    game = TwoAgentMDP(kernel, discount, np.eye(7, dtype=int)[0])
    return CommitmentProblem(game, reward, EpsilonGreedyFollower(epsilon))


def printed_step(problem, v, v_hat):
    """One sweep over all states at once, by the formulas, a number at a time."""
    game, kernel, gamma = problem.game, problem.game.kernel, problem.game.discount
    next_v, next_hat = np.zeros(game.n_states), np.zeros(game.n_states)
    for s in range(game.n_states):
        options = []
        for a in np.flatnonzero(problem.allowed[s]):
            q_hat = np.array(
                [
                    problem.full_follower_reward[s, a, b] + gamma * kernel[s, a, b] @ v_hat
                    for b in range(game.n_follower_actions)
                ]
            )
            play = problem.follower.answer(q_hat, 1e-13 * np.abs(q_hat).max())
            worth = sum(
                play[b] * (problem.full_reward[s, a, b] + gamma * kernel[s, a, b] @ v)
                for b in range(game.n_follower_actions)
            )
            options.append((worth, q_hat.max()))
        next_v[s], next_hat[s] = best = max(options, key=lambda option: option[0])
        # Where rounding alone decides between actions, either is the printed one.
        rivals = [option for option in options if option[0] > best[0] - 1e-12]
        assume(all(abs(option[1] - best[1]) < 1e-12 for option in rivals))
    return next_v, next_hat


# What it computes


@given(data=st.data(), follower=st.sampled_from(FOLLOWERS), n=st.integers(1, 6))
def test_sweeps_are_the_printed_ones(data, follower, n):
    game = data.draw(games(leader=(1, 3)))
    own = data.draw(st.one_of(rewards(game.n_states), rewards(game.shape)))
    theirs = data.draw(st.one_of(st.none(), rewards(game.shape)))
    problem = CommitmentProblem(game, own + 0.1, follower, follower_reward=theirs)
    start = np.linspace(-1, 2, game.n_states), np.linspace(1, 0, game.n_states)
    found = ValueIteration(begin=start, sweeps=n).iterate(problem)
    v, v_hat = start
    for _ in range(found.sweeps):
        last = v, v_hat
        v, v_hat = printed_step(problem, v, v_hat)
    assert found.leader_values == pytest.approx(v, abs=1e-9)
    assert found.follower_values == pytest.approx(v_hat, abs=1e-9)
    assert found.residual == pytest.approx(
        max(np.abs(v - last[0]).max(), np.abs(v_hat - last[1]).max())
    )
    assert found.converged or found.cycle is not None or found.sweeps == n


@given(data=st.data(), follower=st.sampled_from(FOLLOWERS))
def test_a_converged_iteration_rests_on_the_exact_values_of_its_commitment(data, follower):
    game = data.draw(games(leader=(1, 3)))
    problem = CommitmentProblem(game, data.draw(rewards(game.shape)), follower)
    found = ValueIteration().iterate(problem)
    if found.converged:
        assert found.leader_values == pytest.approx(found.iterated.reply.values, abs=1e-6)
        v, v_hat = printed_step(problem, found.leader_values, found.follower_values)
        assert v == pytest.approx(found.leader_values, abs=1e-7)
        assert v_hat == pytest.approx(found.follower_values, abs=1e-7)
    else:
        assert found.cycle is not None


@given(data=st.data(), follower=st.sampled_from(FOLLOWERS))
def test_it_keeps_the_better_candidate_and_never_exceeds_the_best_deterministic(data, follower):
    game = data.draw(games(leader=(1, 3)))
    own = data.draw(st.one_of(rewards(game.n_states), rewards(game.shape)))
    problem = CommitmentProblem(game, own, follower)
    found = ValueIteration().iterate(problem)
    for candidate in (found.iterated, found.joint):
        assert candidate.reply.values == pytest.approx(problem.reply(candidate.policy).values)
        assert candidate.value == pytest.approx(float(game.start @ candidate.reply.values))
    assert found.value == max(found.iterated.value, found.joint.value)
    assert found.joint.policy == pytest.approx(joint_leader_policy(problem))
    assert found.value <= best_deterministic(problem) + 1e-9


@given(data=st.data())
def test_the_joint_policy_is_optimal_among_allowed_actions(data):
    game = data.draw(games(states=(1, 2), leader=(1, 3), follower=(1, 2)))
    mask = data.draw(
        st.lists(
            st.integers(1, 2**game.n_leader_actions - 1),
            min_size=game.n_states,
            max_size=game.n_states,
        )
    )
    allowed = np.array(mask)[:, None] >> np.arange(game.n_leader_actions) & 1 == 1
    own = data.draw(st.one_of(rewards(game.n_states), rewards(game.shape)))
    problem = CommitmentProblem(game, own, ties="optimistic", allowed=allowed)
    leader = joint_leader_policy(problem)
    assert (leader <= allowed).all()
    pairs = product(
        product(*(np.flatnonzero(row) for row in allowed)),
        product(range(game.n_follower_actions), repeat=game.n_states),
    )
    values = [
        evaluate(
            game,
            own,
            (
                deterministic_policy(a, game.n_leader_actions),
                deterministic_policy(b, game.n_follower_actions),
            ),
        )
        for a, b in pairs
    ]
    assert problem.reply(leader).values == pytest.approx(np.max(values, axis=0), abs=1e-9)


# Where it is right


@given(data=st.data(), follower=st.sampled_from([EpsilonGreedyFollower(0), OptimalFollower("mix")]))
def test_it_reaches_the_joint_optimum_with_an_optimal_follower(data, follower):
    game = data.draw(games(leader=(1, 3)))
    reward = data.draw(rewards(game.n_states))
    found = ValueIteration().iterate(CommitmentProblem(game, reward, follower))
    optimum = policy_iteration(game, reward).values
    assert found.iterated.reply.values == pytest.approx(optimum, abs=1e-7)


def test_it_approaches_the_joint_optimum_as_beta_grows():
    for seed in range(20):
        game, reward = random_game(5, 3, 3, rng=seed, concentration=1)
        optimum = float(game.start @ policy_iteration(game, reward).values)
        lost = [
            optimum
            - ValueIteration()
            .iterate(CommitmentProblem(game, reward, BoltzmannFollower(beta)))
            .iterated.value
            for beta in (1.0, 100.0, 1e6)
        ]
        assert lost[0] > lost[1] >= lost[2] - 1e-9
        assert lost[2] == pytest.approx(0, abs=1e-4)


@given(data=st.data())
def test_it_is_optimal_with_a_follower_that_plays_uniformly(data):
    game = data.draw(games(leader=(1, 3)))
    own = data.draw(st.one_of(rewards(game.n_states), rewards(game.shape)))
    for follower in (BoltzmannFollower(0), EpsilonGreedyFollower(1)):
        problem = CommitmentProblem(game, own, follower)
        found = ValueIteration().iterate(problem)
        every = list(product(range(game.n_leader_actions), repeat=game.n_states))
        best = problem.values_of(every).max(axis=0)
        assert found.iterated.reply.values == pytest.approx(best, abs=1e-7)


@given(data=st.data(), follower=st.sampled_from(FOLLOWERS))
def test_it_is_optimal_without_a_future(data, follower):
    game = data.draw(games(leader=(1, 3), discounts=(0,)))
    problem = CommitmentProblem(game, data.draw(rewards(game.shape)), follower)
    found = ValueIteration().iterate(problem)
    assert found.converged
    assert found.sweeps <= 2
    assert found.iterated.value == pytest.approx(best_deterministic(problem))


@pytest.mark.parametrize("follower", [BoltzmannFollower(10), EpsilonGreedyFollower(0.1)])
def test_maze_maker_gains_over_the_joint_policy_in_either_order(follower):
    maze = maze_maker(size=4, prizes={3: 1, 13: 2})
    problem = CommitmentProblem(maze.game, maze.reward, follower)
    together = ValueIteration().iterate(problem)
    in_place = ValueIteration(order="in-place").iterate(problem)
    assert together.converged
    assert in_place.converged
    assert "kernel" not in vars(problem)
    assert together.value == pytest.approx(in_place.value, rel=1e-9)
    assert together.iterated.value > together.joint.value * 1.001


def test_values_near_an_undiscounted_game_are_found_by_leaps():
    game, reward = random_game(6, 2, 2, rng=3, discount="9999/10000", concentration=1)
    problem = CommitmentProblem(game, reward, EpsilonGreedyFollower(0.2))
    found = ValueIteration().iterate(problem)
    assert found.converged
    assert found.sweeps < 200
    assert found.value == pytest.approx(best_deterministic(problem), rel=1e-9)


# How it errs


@pytest.mark.parametrize("epsilon", [0.1, 0.01, 0.001])
def test_on_the_family_of_lemma_3_any_share_of_the_value_is_lost(epsilon):
    problem = lemma_3(epsilon, epsilon)
    found = ValueIteration().iterate(problem)
    share = found.value / best_deterministic(problem)
    kept = 1 - epsilon / 2
    assert found.value == pytest.approx(0.9 * (epsilon * kept**2 + epsilon / 2))
    assert best_deterministic(problem) == pytest.approx(0.9 * kept)
    assert share < 2 * epsilon
    assert found.joint.value == pytest.approx(found.value)


@pytest.mark.parametrize("order", ["in-place", "together"])
def test_algorithm_2_can_cycle_and_says_so(order):
    problem = cycling_problem()
    found = ValueIteration(order=order).iterate(problem)
    assert not found.converged
    assert found.cycle == 3
    assert found.residual > 0.01
    assert found.value == pytest.approx(best_deterministic(problem))
    start = found.leader_values, found.follower_values
    ahead = [ValueIteration(begin=start, sweeps=k, order=order).iterate(problem) for k in (1, 2, 3)]
    distances = [np.abs(each.leader_values - found.leader_values).max() for each in ahead]
    assert distances[2] < 1e-7
    assert min(distances[:2]) > 1e-4
    # The commitments of the cycle are 00, 00 and 01, from wherever it is entered.
    first = ahead[0]
    played = []
    for _ in range(3):
        played.append(tuple(first.iterated.policy.argmax(axis=1).tolist()))
        start = first.leader_values, first.follower_values
        first = ValueIteration(begin=start, sweeps=1, order=order).iterate(problem)
    assert sorted(played) == [(0, 0), (0, 0), (0, 1)]


def test_plain_algorithm_2_can_be_worse_than_the_joint_policy_whose_part_is_then_kept():
    game, reward = random_game(2, 3, 3, rng=256, concentration=0.5, restart=False)
    problem = CommitmentProblem(game, reward, BoltzmannFollower(0.5))
    for order in ("together", "in-place"):
        found = ValueIteration(order=order).iterate(problem)
        assert found.converged
        assert found.kept == "joint"
        assert found.value == found.joint.value > found.iterated.value + 8e-4
        assert found.policy is found.joint.policy
        assert found.reply is found.joint.reply


# Starts, bounds, errors


def test_a_warm_start_ends_at_once_where_it_began():
    game, reward = random_game(20, 3, 3, rng=5)
    problem = CommitmentProblem(game, reward, BoltzmannFollower(4))
    cold = ValueIteration().iterate(problem)
    warm = ValueIteration(begin=(cold.leader_values, cold.follower_values)).iterate(problem)
    assert warm.sweeps == 1
    assert warm.converged
    assert (warm.policy == cold.policy).all()
    one = ValueIteration(begin=cold.leader_values).iterate(problem)
    assert one.value == pytest.approx(cold.value)


def test_a_capped_iteration_does_not_say_converged():
    game, reward = random_game(20, 3, 3, rng=5)
    found = ValueIteration(sweeps=3).iterate(CommitmentProblem(game, reward, BoltzmannFollower(4)))
    assert (found.sweeps, found.converged, found.cycle) == (3, False, None)
    assert found.value >= found.joint.value


@pytest.mark.parametrize("follower", FOLLOWERS)
def test_forbidden_actions_are_never_chosen(follower):
    rng = np.random.default_rng(0)
    for seed in range(10):
        game, reward = random_game(5, 3, 2, rng=seed)
        allowed = rng.random((5, 3)) < 0.5
        allowed[np.arange(5), rng.integers(3, size=5)] = True
        found = ValueIteration().iterate(CommitmentProblem(game, reward, follower, allowed=allowed))
        assert (found.iterated.policy <= allowed).all()
        assert (found.joint.policy <= allowed).all()


@pytest.mark.parametrize("ties", ["optimistic", "pessimistic"])
def test_a_tie_rule_of_the_problem_is_that_of_the_iteration(ties):
    """The follower never cares; the leader would have b1 under a0, and gains 2 a step by a1."""
    game = TwoAgentMDP([[[[1], [1]], [[1], [1]]]], "1/2")
    own = [[[0, 3], [2, 2]]]
    problem = CommitmentProblem(game, own, follower_reward=[1.0], ties=ties)
    found = ValueIteration().iterate(problem)
    assert found.iterated.value == pytest.approx({"optimistic": 6, "pessimistic": 4}[ties])


@pytest.mark.parametrize("constant", [0.0, 5.0, -1e12])
def test_a_constant_reward_converges_to_its_only_value(constant):
    game, _ = random_game(4, 2, 2, rng=0)
    for follower in (BoltzmannFollower(1), EpsilonGreedyFollower(0.5)):
        found = ValueIteration().iterate(CommitmentProblem(game, np.full(4, constant), follower))
        assert found.converged
        assert found.value == pytest.approx(10 * constant)


class Stubborn:
    """A follower that always plays its first action, and has no `answer`."""

    def respond(self, game, reward, pi1, rng=None):
        return np.eye(game.n_follower_actions)[[0] * game.n_states]


@pytest.mark.parametrize(
    ("bad", "place"),
    [
        ({"begin": [0.0]}, "begin"),
        ({"begin": ([0.0, 0.0, 0.0], [0.0, np.inf, 0.0])}, "begin[1][1]"),
        ({"begin": "zero"}, "begin"),
        ({"sweeps": 0}, "sweeps"),
        ({"sweeps": 2.5}, "sweeps"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"tolerance": np.nan}, "tolerance"),
        ({"order": "random"}, "order"),
    ],
)
def test_a_wrong_argument_is_named(bad, place):
    game, reward = random_game(3, 2, 2, rng=0)
    with pytest.raises(InvalidArgument) as caught:
        ValueIteration(**bad).iterate(CommitmentProblem(game, reward, BoltzmannFollower(1)))
    assert caught.value.place == place


@pytest.mark.parametrize(
    "follower", [Stubborn(), OptimalFollower("random"), OptimalFollower("random", 3)]
)
def test_a_follower_whose_answers_cannot_be_compared_is_refused(follower):
    game, reward = random_game(3, 2, 2, rng=0)
    with pytest.raises(InvalidArgument, match="follower"):
        ValueIteration().iterate(CommitmentProblem(game, reward, follower))
