"""The commitment problem: replies against plain evaluation, ties against all tied responses."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from instances import games, policies, rewards

from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.errors import InvalidArgument, InvalidPolicy, InvalidReward
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower, best_responses
from iirl_opt.follower.proportional import ProportionalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.mazes import maze_maker
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import deterministic_policy, random_policy
from iirl_opt.game.values import evaluate

FOLLOWERS = (
    OptimalFollower(),
    OptimalFollower("last"),
    OptimalFollower("mix"),
    EpsilonGreedyFollower(0.3, "mix"),
    EpsilonGreedyFollower(0.3),
    BoltzmannFollower(2.0),
    ProportionalFollower(lambda q: 2 + np.tanh(q)),
)


def problem_rewards(game):
    return st.one_of(rewards(game.n_states), rewards(game.shape))


@st.composite
def cases(draw, followers=FOLLOWERS, ties=(None,)):
    """Draw a problem with ties, its two rewards the same or not, and a commitment."""
    game = draw(games(leader=(1, 3), follower=(1, 3)))
    own = draw(problem_rewards(game))
    theirs = draw(st.one_of(st.none(), problem_rewards(game)))
    follower, rule = draw(st.sampled_from(followers)), draw(st.sampled_from(ties))
    problem = CommitmentProblem(game, own, follower, follower_reward=theirs, ties=rule)
    pi1 = draw(policies(game.n_states, game.n_leader_actions)).astype(float)
    return problem, pi1


@given(case=cases())
def test_a_reply_is_the_followers_response_and_its_evaluation(case):
    problem, pi1 = case
    reply = problem.reply(pi1)
    response = problem.follower.respond(problem.game, problem.follower_reward, pi1)
    assert reply.response == pytest.approx(response)
    values = evaluate(problem.game, problem.reward, (pi1, response))
    assert reply.values == pytest.approx(values, abs=1e-12)


@given(
    case=st.one_of(cases(), cases(FOLLOWERS[:1] + FOLLOWERS[4:5], ("optimistic", "pessimistic"))),
    data=st.data(),
)
def test_many_commitments_are_answered_together_as_one_by_one(case, data):
    problem, _ = case
    game = problem.game
    every = list(product(range(game.n_leader_actions), repeat=game.n_states))
    values = problem.values_of(every)
    assert values.shape == (len(every), game.n_states)
    assert problem.n_deterministic == len(every)
    for actions, row in zip(every, values, strict=True):
        single = problem.reply(deterministic_policy(actions, game.n_leader_actions))
        assert row == pytest.approx(single.values, abs=1e-9)
    seed = data.draw(st.integers(0, 99))
    stack = np.random.default_rng(seed).dirichlet(
        np.ones(game.n_leader_actions), (4, game.n_states)
    )
    together = problem.replies(stack)
    for k, policy in enumerate(stack):
        single = problem.reply(policy)
        assert together.response[k] == pytest.approx(single.response)
        assert together.values[k] == pytest.approx(single.values, abs=1e-9)


@given(case=cases(FOLLOWERS[:1] + FOLLOWERS[4:5], ("optimistic", "pessimistic")))
def test_tie_rules_are_best_and_worst_of_all_tied_responses_from_every_state(case):
    problem, pi1 = case
    game, epsilon = problem.game, problem.epsilon
    n_answers = game.n_follower_actions
    optimal = best_responses(game, problem.follower_reward, pi1).optimal
    values = [
        evaluate(
            game,
            problem.reward,
            (pi1, (1 - epsilon) * deterministic_policy(chosen, n_answers) + epsilon / n_answers),
        )
        for chosen in product(*(np.flatnonzero(row) for row in optimal))
    ]
    extreme = np.max if problem.ties == "optimistic" else np.min
    reply = problem.reply(pi1)
    assert reply.values == pytest.approx(extreme(values, axis=0), abs=1e-9)
    assert ((1 - epsilon) * (reply.response > epsilon / n_answers) <= optimal).all()
    assert reply.values == pytest.approx(
        evaluate(game, problem.reward, (pi1, reply.response)), abs=1e-9
    )


@given(case=cases(FOLLOWERS[:3] + FOLLOWERS[4:5]))
def test_every_own_tie_rule_lies_between_the_two(case):
    problem, pi1 = case
    own = problem.reply(pi1).values
    game, follower = problem.game, problem.follower
    theirs = problem.follower_reward
    for rule, sign in (("optimistic", 1), ("pessimistic", -1)):
        other = CommitmentProblem(game, problem.reward, follower, follower_reward=theirs, ties=rule)
        assert (sign * (other.reply(pi1).values - own) >= -1e-9).all()


def test_a_tie_is_broken_by_the_leaders_reward_where_the_two_differ():
    """One state, two answers: the follower does not care, the leader earns 3 or 1 a step."""
    game = TwoAgentMDP([[[[1], [1]]]], "1/2")
    own = [[[1, 3]]]
    earned = {
        ties: CommitmentProblem(game, own, follower_reward=[0.0], ties=ties).reply([[1.0]]).values
        for ties in (None, "optimistic", "pessimistic")
    }
    assert earned["optimistic"] == pytest.approx([6])
    assert earned["pessimistic"] == earned[None] == pytest.approx([2])


@pytest.mark.parametrize("discount", [0, "99/100"])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_values_scale_with_the_rewards_at_every_discount(discount, scale):
    game, reward = random_game(5, 2, 3, rng=1, discount=discount)
    pi1 = random_policy(5, 2, np.random.default_rng(0))
    for ties in (None, "optimistic", "pessimistic"):
        one = CommitmentProblem(game, reward, OptimalFollower(), ties=ties).reply(pi1)
        other = CommitmentProblem(game, scale * reward, OptimalFollower(), ties=ties).reply(pi1)
        assert other.values == pytest.approx(scale * one.values, rel=1e-9)
        assert (other.response == one.response).all()


def test_a_sparse_game_is_answered_without_its_dense_kernel():
    maze = maze_maker(size=4, prizes={3: 1, 13: 2})
    pi1 = random_policy(maze.game.n_states, 6, np.random.default_rng(0))
    for ties in (None, "optimistic", "pessimistic"):
        problem = CommitmentProblem(maze.game, maze.reward, EpsilonGreedyFollower(0.2), ties=ties)
        reply = problem.reply(pi1)
        assert "kernel" not in vars(problem)
        assert reply.values == pytest.approx(problem.replies(pi1[None]).values[0], abs=1e-9)


def test_a_mask_is_kept_and_counts():
    game, reward = random_game(4, 3, 2, rng=0)
    mask = np.array([[1, 1, 1], [1, 0, 0], [0, 1, 1], [0, 0, 1]], dtype=bool)
    problem = CommitmentProblem(game, reward, allowed=mask)
    assert problem.n_deterministic == 6
    assert not problem.allowed.flags.writeable
    mask[1] = False
    assert problem.allowed[1, 0]


def test_a_problem_says_whether_its_rewards_are_one():
    game, reward = random_game(4, 2, 2, rng=0)
    assert CommitmentProblem(game, reward).cooperative
    assert CommitmentProblem(game, reward, follower_reward=reward.copy()).cooperative
    assert not CommitmentProblem(game, reward, follower_reward=-reward).cooperative


@pytest.mark.parametrize(
    ("bad", "place"),
    [
        ({"ties": "best"}, "ties"),
        ({"ties": "optimistic", "follower": BoltzmannFollower(1)}, "ties"),
        ({"follower": OptimalFollower("all")}, "follower"),
        ({"follower": OptimalFollower("random")}, "follower"),
        ({"follower": OptimalFollower("random", 3)}, "follower"),
        ({"follower": EpsilonGreedyFollower(0.2, "random", 3)}, "follower"),
        ({"allowed": np.ones((2, 2), dtype=bool)}, "allowed"),
        ({"allowed": np.ones((3, 2))}, "allowed"),
        ({"allowed": [[True, True], [False, False], [True, True]]}, "allowed[s=1]"),
    ],
)
def test_a_wrong_argument_is_named(bad, place):
    game, reward = random_game(3, 2, 2, rng=0)
    with pytest.raises(InvalidArgument) as caught:
        CommitmentProblem(game, reward, **bad)
    assert caught.value.place == place


def test_wrong_rewards_and_commitments_are_named():
    game, reward = random_game(3, 2, 2, rng=0)
    with pytest.raises(InvalidReward, match="shape"):
        CommitmentProblem(game, reward[:2])
    with pytest.raises(InvalidReward, match="nan"):
        CommitmentProblem(game, reward, follower_reward=np.full(3, np.nan))
    with pytest.raises(InvalidPolicy, match="sums to"):
        CommitmentProblem(game, reward).reply(np.ones((3, 2)))
