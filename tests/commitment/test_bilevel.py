"""The mixed-integer program against an enumeration of commitments and of all their answers."""

import json
from dataclasses import replace
from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from instances import games, rewards

from iirl_opt.cli import app as cli
from iirl_opt.commitment import bilevel_rounds
from iirl_opt.commitment.bilevel import DeterministicCommitment
from iirl_opt.commitment.bilevel_rounds import accepted_gap
from iirl_opt.commitment.methods import MixedInteger, commit
from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.errors import Infeasible, Interrupted, InvalidArgument, LimitReached
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower, best_responses
from iirl_opt.follower.proportional import ProportionalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.occupancy.measure import OccupancyMeasure
from iirl_opt.solver import Clarabel, HiGHS, Status

RULES = ("optimistic", "pessimistic", "first", "last")


def spread(game, reward):
    return (
        np.broadcast_to(reward.reshape(len(reward), -1, 1), game.shape)
        if reward.ndim == 1
        else reward
    )


def settled(found):
    """Whether the bound of a program meets the value of its commitment."""
    return found.gap <= accepted_gap(found.problem.reward, found.problem.game.discount)


def answers_to(game, actions, reward, epsilon):
    """All optimal answers (K, S) to a commitment by trying every one, and the mixed MDP."""
    n_states, _, n_b = game.shape
    states = np.arange(n_states)
    kernel, r = game.kernel[states, actions], spread(game, reward)[states, actions]
    every = np.array(list(product(range(n_b), repeat=n_states)))
    chains = np.eye(n_states) - game.discount * kernel[states, every]
    best = np.linalg.solve(chains, r[states, every][..., None])[..., 0].max(axis=0)
    q = r + game.discount * kernel @ best
    tied = q >= q.max(axis=1, keepdims=True) - 1e-9
    return every[tied[states, every].all(axis=1)], tied


def outcomes(game, own, theirs, epsilon, rule, cost=None):
    """Yield (value, expected cost) of every deterministic commitment under a tie rule.

    Under the optimistic rule of every answer that ties allow; the other rules allow one.
    """
    n_states, n_a, n_b = game.shape
    states, gamma = np.arange(n_states), game.discount
    costs = np.zeros(game.shape) if cost is None else spread(game, cost)
    for actions in product(range(n_a), repeat=n_states):
        allowed, tied = answers_to(game, list(actions), theirs, epsilon)
        found = []
        for answer in allowed:
            play = (1 - epsilon) * np.eye(n_b)[answer] + epsilon / n_b
            chain = np.einsum("sb,sbt->st", play, game.kernel[states, list(actions)])
            visits = np.linalg.solve((np.eye(n_states) - gamma * chain).T, game.start)
            earned, used = (
                float(visits @ (play * r[states, list(actions)]).sum(axis=1))
                for r in (spread(game, own), costs)
            )
            found.append((earned, used))
        if rule == "optimistic":
            yield from found
        elif rule == "pessimistic":
            yield min(found)
        else:
            chosen = tied.argmax(axis=1) if rule == "first" else n_b - 1 - tied[:, ::-1].argmax(1)
            yield found[int((allowed == chosen).all(axis=1).argmax())]


def problem_of(game, own, theirs, epsilon, rule, **given):
    ties = rule if rule in ("optimistic", "pessimistic") else None
    named = "first" if ties else rule
    follower = OptimalFollower(named) if epsilon == 0 else EpsilonGreedyFollower(epsilon, named)
    return CommitmentProblem(game, own, follower, follower_reward=theirs, ties=ties, **given)


@st.composite
def instances(draw):
    """A small game full of ties, two rewards and an error rate."""
    game = draw(games(states=(1, 3), leader=(1, 3), follower=(1, 2)))
    shape = draw(st.sampled_from([(game.n_states,), game.shape]))
    own = draw(rewards(shape)).astype(float)
    theirs = own if draw(st.booleans()) else draw(rewards(shape)).astype(float)
    return game, own, theirs, draw(st.sampled_from([0.0, 0.25, 1.0]))


@given(instance=instances(), rule=st.sampled_from(RULES))
def test_the_optimum_is_that_of_an_enumeration(instance, rule):
    game, own, theirs, epsilon = instance
    best = max(value for value, _ in outcomes(game, own, theirs, epsilon, rule))
    problem = problem_of(game, own, theirs, epsilon, rule)
    found = DeterministicCommitment(problem).solve()
    assert found.value == pytest.approx(best, abs=1e-7)
    assert settled(found)
    assert found.bound >= best - 1e-9
    assert set(np.unique(found.policy)) <= {0.0, 1.0}
    reply = problem.reply(found.policy)
    assert np.array_equal(reply.response, found.response)
    assert np.array_equal(reply.values, found.values)


@given(instance=instances(), rule=st.sampled_from(["optimistic", "first", "last"]), data=st.data())
def test_rows_bind_the_leader_and_the_follower_ignores_them(instance, rule, data):
    game, own, theirs, epsilon = instance
    cost = data.draw(rewards(game.shape)).astype(float)
    every = list(outcomes(game, own, theirs, epsilon, rule, cost))
    limit = data.draw(st.sampled_from(sorted({round(used, 6) for _, used in every}))) + 1e-4
    best = max(value for value, used in every if used <= limit)
    model = DeterministicCommitment(problem_of(game, own, theirs, epsilon, rule))
    found = model.solve([(model.expected(cost) <= limit).set_label("budget")])
    assert found.value == pytest.approx(best, abs=1e-6)
    assert settled(found)
    held = OccupancyMeasure(game)
    joint = found.policy[:, :, None] * found.response[:, None, :]
    chain = np.einsum("sab,sabt->st", joint, game.kernel)
    visits = np.linalg.solve((np.eye(game.n_states) - game.discount * chain).T, game.start)
    held.variable.value = (visits[:, None, None] * joint).ravel()
    assert float(held.expected(cost).value) <= limit + 1e-6


@given(instance=instances())
def test_the_point_of_the_program_is_the_play_itself(instance):
    game, own, theirs, epsilon = instance
    model = DeterministicCommitment(problem_of(game, own, theirs, epsilon, "optimistic"))
    found = model.solve()
    assert max(float(np.max(row.violation())) for row in model.constraints) <= 1e-6
    assert float(model.objective.value) == pytest.approx(found.value, abs=1e-6)
    assert model.measure.value.sum() == pytest.approx(1 / (1 - game.discount), rel=1e-6)
    pi1 = np.round(model.leader.value).reshape(game.shape[:2])
    expected = best_responses(game, theirs, pi1).values
    assert model.follower_values.value == pytest.approx(expected, abs=1e-5)


def test_a_hazard_that_only_the_leader_minds_closes_the_short_way():
    # Town: the swamp leads to the goal at once if open, else nowhere; the bridge takes two steps,
    # or three if the swamp is closed. The goal pays 1, at discount 1/2.
    town, field, hill, goal, end = range(5)
    kernel = np.zeros((5, 2, 2, 5), dtype=int)
    for a, b, to in ((0, 0, goal), (0, 1, field), (1, 0, end), (1, 1, hill)):
        kernel[town, a, b, to] = 1
    for s, to in ((field, goal), (hill, field), (goal, end), (end, end)):
        kernel[s, :, :, to] = 1
    game = TwoAgentMDP(kernel, "1/2", start=[1, 0, 0, 0, 0])
    reward, swamp = np.eye(5)[goal], np.zeros(game.shape)
    swamp[town, :, 0] = 1
    for epsilon, free, bound in ((0.0, 0.5, 0.125), (1.0, None, None)):
        model = DeterministicCommitment(problem_of(game, reward, reward, epsilon, "first"))
        rows = [(model.expected(swamp) <= 0).set_label("swamp")]
        if free is None:  # it errs into the swamp half the time, whatever the leader does
            with pytest.raises(Infeasible):
                model.solve(rows)
            continue
        assert model.solve().value == pytest.approx(free)
        assert model.solve(rows).value == pytest.approx(bound)


def test_rows_that_no_joint_policy_meets_are_named_by_a_proof():
    game, reward = random_game(3, 2, 2, rng=0)
    model = DeterministicCommitment(problem_of(game, reward, reward, 0.0, "first"))
    total = model.expected(np.ones(3))
    with pytest.raises(Infeasible) as caught:
        model.solve([(total <= 1).set_label("too little"), (total >= 0).set_label("idle")])
    farkas = caught.value.solved.farkas
    assert farkas["too little"] > 0
    assert np.abs(farkas["idle"]).max() <= 1e-9


def test_rows_that_a_joint_policy_meets_but_no_commitment_are_infeasible_too():
    # The follower is paid for going right, which the row forbids; the leader is powerless.
    game = TwoAgentMDP(np.ones((1, 2, 2, 1), dtype=int), "1/2")
    right = np.array([[[0.0, 1.0], [0.0, 1.0]]])
    model = DeterministicCommitment(problem_of(game, -right, right, 0.0, "optimistic"))
    with pytest.raises(Infeasible) as caught:
        model.solve([(model.expected(right) <= 1).set_label("left half the time")])
    assert caught.value.solved.status is Status.INFEASIBLE


def test_forbidden_actions_are_not_played():
    game, reward = random_game(5, 3, 2, rng=3)
    allowed = np.ones((5, 3), dtype=bool)
    allowed[[0, 2], [0, 1]] = False
    problem = problem_of(game, reward, -reward, 0.3, "first", allowed=allowed)
    found = DeterministicCommitment(problem).solve()
    assert (found.policy[~allowed] == 0).all()
    every = [
        problem.values_of(np.array([x]))[0] @ game.start
        for x in product(range(3), repeat=5)
        if allowed[np.arange(5), list(x)].all()
    ]
    assert found.value == pytest.approx(max(every), abs=1e-8)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_units_of_the_rewards_do_not_matter(scale):
    game, reward = random_game(4, 3, 2, rng=1)
    other = np.random.default_rng(1).normal(size=4)
    plain, scaled = (
        DeterministicCommitment(problem_of(game, k * reward, other / k + k, 0.2, "first")).solve()
        for k in (1.0, scale)
    )
    assert scaled.value == pytest.approx(scale * plain.value, rel=1e-9)
    assert settled(scaled)


@pytest.mark.parametrize("discount", [0, 0.99])
def test_small_and_large_discounts_and_unreachable_states(discount):
    kernel = random_game(4, 2, 2, rng=5)[0].kernel.copy()
    kernel[:3, ..., 3] = 0
    kernel /= kernel.sum(axis=-1, keepdims=True)
    game = TwoAgentMDP(kernel, discount, start=[1, 0, 0, 0])
    own, theirs = np.random.default_rng(2).normal(size=(2, 4))
    best = max(value for value, _ in outcomes(game, own, theirs, 0.0, "first"))
    found = DeterministicCommitment(problem_of(game, own, theirs, 0.0, "first")).solve()
    assert found.value == pytest.approx(best, abs=1e-7)


def test_constant_rewards_make_every_commitment_optimal():
    game, _ = random_game(4, 2, 2, rng=0)
    constant = np.full(4, 2.0)
    for rule in RULES:
        found = DeterministicCommitment(problem_of(game, constant, constant, 0.0, rule)).solve()
        assert found.value == pytest.approx(20)
        assert settled(found)


def test_a_time_limit_brings_the_incumbent_and_a_bound_that_holds():
    game, reward = random_game(6, 3, 3, rng=0)
    other = np.random.default_rng(0).normal(size=6)
    model = DeterministicCommitment(problem_of(game, reward, other, 0.0, "first"))
    limited, whole = model.solve(time_limit=0), model.solve()
    assert limited.value <= whole.value + 1e-9
    assert limited.bound >= whole.value - 1e-9
    assert limited.gap == limited.bound - limited.value
    given = model.solve(time_limit=0, incumbent=whole.policy)
    assert given.value == pytest.approx(whole.value)


def test_a_time_limit_before_any_commitment_meets_the_rows_is_said():
    game, reward = random_game(6, 3, 3, rng=0)
    model = DeterministicCommitment(problem_of(game, reward, -reward, 0.0, "first"))
    rare = [model.expected(np.random.default_rng(1).normal(size=game.shape)) <= -0.5]
    with pytest.raises((LimitReached, Infeasible)):
        model.solve(rare, time_limit=0)


def test_variables_of_ones_own_need_the_optimistic_rule():
    game, reward = random_game(4, 2, 2, rng=0)
    cost = np.random.default_rng(0).uniform(size=game.shape)
    for rule in ("optimistic", "first"):
        model = DeterministicCommitment(problem_of(game, reward, reward, 0.3, rule))
        paid = cp.Variable(1, name="paid")
        rows = [cp.reshape(model.expected(cost), (1,), order="C") <= paid, paid <= 4.5]
        if rule == "first":
            with pytest.raises(InvalidArgument, match="'paid'"):
                model.solve(rows)
        else:
            plain = DeterministicCommitment(model.asked)
            expected = plain.solve([plain.expected(cost) <= 4.5]).value
            assert model.solve(rows).value == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(
    "follower",
    [BoltzmannFollower(1.0), ProportionalFollower(np.exp), OptimalFollower("random")],
)
def test_followers_that_no_rows_describe_are_refused(follower):
    game, reward = random_game(3, 2, 2, rng=0)
    with pytest.raises(InvalidArgument, match="follower"):
        DeterministicCommitment(CommitmentProblem(game, reward, follower))


def test_a_time_limit_is_for_highs():
    game, reward = random_game(3, 2, 2, rng=0)
    model = DeterministicCommitment(problem_of(game, reward, reward, 0.0, "first"))
    with pytest.raises(InvalidArgument, match="time_limit"):
        model.solve(time_limit=1, solver=Clarabel())
    assert settled(model.solve(time_limit=60, solver=HiGHS(time_limit=30)))


def test_the_model_shows_cvxpys_own_objects_by_name():
    game, reward = random_game(3, 2, 2, rng=0)
    model = DeterministicCommitment(problem_of(game, reward, reward, 0.0, "first"))
    labels = [row.label for row in model.constraints]
    assert labels == ["one choice", "flow", "visits", "optimum", "greedy"]
    names = {v.name() for v in model.problem().variables()}
    assert names == {"choice", "greedy measure", "follower values"}


# Ctrl-C.

SLOW = """
version = 1
title = "A program that is interrupted"
source = "generator"

[game.generator]
name = "random_game"
states = 5
leader_actions = 2
follower_actions = 2
seed = 3

[follower]
model = "epsilon-greedy"
epsilon = 0.6

[question]
family = "commitment"
ask = "optimal"
exact = true
method = "milp"
"""


def test_ctrl_c_keeps_the_best_commitment_from_the_program_to_the_command(
    monkeypatch, tmp_path, capsys
):
    honest = bilevel_rounds.solve

    def interrupted(*args, **options):
        solved = honest(*args, **options)
        raise Interrupted(replace(solved, status=Status.INTERRUPTED, bound=solved.bound + 1))

    monkeypatch.setattr(bilevel_rounds, "solve", interrupted)
    game, reward = random_game(5, 2, 2, rng=3)
    follower = EpsilonGreedyFollower(0.6)
    model = DeterministicCommitment(CommitmentProblem(game, reward, follower))
    with monkeypatch.context() as patch:
        patch.setattr(bilevel_rounds, "solve", honest)
        whole = model.solve()
    with pytest.raises(KeyboardInterrupt) as caught:
        model.solve()
    found = caught.value.found
    assert found.bound >= found.value == pytest.approx(whole.value)
    with pytest.raises(Interrupted) as caught:
        commit(game, reward, follower, by=MixedInteger())
    plan = caught.value.found
    assert plan.value == pytest.approx(found.value)
    assert plan.bound == pytest.approx(found.bound)
    (tmp_path / "slow.toml").write_text(SLOW)
    assert cli.run(["solve", str(tmp_path / "slow.toml"), "--json"]) == 130
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert result["complete"] is False
    assert result["quantities"]["value"] == pytest.approx(found.value)
    assert "interrupted" in err
