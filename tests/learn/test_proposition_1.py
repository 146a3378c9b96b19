"""The assumption of Proposition 1: decided as by definition, with proofs, and what it implies."""

from dataclasses import replace

import numpy as np
import pytest
from depth import share
from hypothesis import assume, given, strategies as st

from iirl_opt.claims.arithmetic import exact
from iirl_opt.claims.instances import Case
from iirl_opt.claims.statements.proposition_1 import violated_assumption
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.follower.optimal import OptimalFollower, best_responses
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import modified_policy_iteration
from iirl_opt.game.values import evaluate
from iirl_opt.learn.algorithm_1 import InteractiveIRL
from iirl_opt.learn.choices import MeanOfVertices
from iirl_opt.learn.episodes import interact
from iirl_opt.learn.proposition_1 import convergence_condition
from iirl_opt.library import read_model
from iirl_opt.testing import games, rewards

UNIFORM = {"min_states": 2, "start": "uniform"}


def half_a_say():
    """Two states; the leader lets the follower move for certain or with probability ¾.

    Every answer says which state is wanted, so whoever let him move too rarely knows better then.
    """
    surely = {"stay": [[4, 0], [0, 4]], "go": [[0, 4], [4, 0]]}
    rarely = {"stay": [[3, 1], [1, 3]], "go": [[1, 3], [3, 1]]}
    weights = [[[way["stay"][s], way["go"][s]] for way in (surely, rarely)] for s in range(2)]
    return TwoAgentMDP(weights, "9/10"), np.array([1.0, 0.0])


def jointly_optimal(game, pi1, pi2, reward):
    best = modified_policy_iteration(game, reward).values
    return np.allclose(evaluate(game, reward, (pi1, pi2)), best, atol=1e-6)


# Decided as by definition


@given(data=st.data())
def test_it_is_decided_as_in_exact_arithmetic_by_all_vertices(data):
    game = data.draw(games(max_states=3, max_denominator=3, **UNIFORM))
    truth = data.draw(rewards(game))
    condition = convergence_condition(game, truth)
    assert bool(condition) == (violated_assumption(Case(game, exact(truth)), joint=False) is None)
    assert condition.check(), condition.check().reasons


@share(0.4)
@given(seed=st.integers(0, 9999))
def test_where_it_holds_no_sampled_reward_leads_astray_unrefuted(seed):
    game, truth = random_game(3, 2, 2, rng=seed, restart=False)
    condition = convergence_condition(game, truth)
    unrefuted = {tuple(condition.commitments[k]) for k in condition.violations}
    bad = {tuple(row) for row in condition.commitments}
    rng = np.random.default_rng(seed)
    for reward in rng.dirichlet(np.full(3, 0.4), size=60):
        optimum = modified_policy_iteration(game, reward)
        chosen = tuple(optimum.actions // game.n_follower_actions)
        if chosen in bad - unrefuted:
            pi1 = np.eye(2)[list(chosen)]
            answer = best_responses(game, truth, pi1).policy
            assert not jointly_optimal(game, pi1, answer, reward)


@share(0.4)
@given(seed=st.integers(0, 9999))
def test_where_it_fails_its_reward_is_not_constant_and_makes_all_jointly_optimal(seed):
    game, truth = random_game(3, 2, 2, rng=seed, restart=False)
    condition = convergence_condition(game, truth)
    for k in condition.violations:
        reward, pi1, pi2 = condition.rewards[k], condition.pi1(k), condition.responses[k]
        assert np.ptp(reward) == 1
        assert jointly_optimal(game, pi1, pi2, reward)
        best = modified_policy_iteration(game, truth).values
        lost = game.start @ (best - evaluate(game, truth, (pi1, pi2)))
        assert lost == pytest.approx(condition.regrets[k])
        assert lost > 0


@given(data=st.data())
def test_a_single_response_refutes_no_more_than_all_of_them(data):
    game = data.draw(games(max_states=3, **UNIFORM))
    truth = data.draw(rewards(game))
    for ties in ("first", "last"):
        if convergence_condition(game, truth, OptimalFollower(ties)):
            assert convergence_condition(game, truth)


@share(0.4)
@given(seed=st.integers(0, 999), size=st.sampled_from([1e-6, 1.0, 1e6]))
def test_scale_and_shift_of_the_truth_change_nothing(seed, size):
    game, truth = random_game(3, 2, 2, rng=seed, restart=False)
    plain, other = (convergence_condition(game, r) for r in (truth, size * (truth + 1)))
    assert np.array_equal(plain.commitments, other.commitments)
    assert plain.margins == pytest.approx(other.margins, abs=1e-7)


# Games made for it


@pytest.mark.parametrize("ties", ["first", "last", "random", "mix", "all"])
def test_it_holds_where_every_answer_says_which_state_is_wanted(ties):
    game, truth = half_a_say()
    condition = convergence_condition(game, truth, OptimalFollower(ties))
    assert condition
    assert condition.check()
    assert condition.most_bad_episodes == 3
    assert condition.commitments.tolist() == [[0, 1], [1, 0], [1, 1]]


@pytest.mark.parametrize("name", ["same-answer", "idle-partner", "two-rooms"])
def test_it_fails_where_an_answer_fits_a_reward_that_leads_astray(name):
    problem = read_model(name)
    condition = convergence_condition(problem.game, problem.need_truth())
    assert not condition
    assert condition.check()


def test_on_the_game_of_one_answer_the_mirror_image_leads_astray():
    problem = read_model("same-answer")
    condition = convergence_condition(problem.game, problem.need_truth())
    assert condition.regrets == pytest.approx([0.15] * 4)
    assert list(condition.violations) == [0, 1, 2, 3]
    assert condition.most_bad_episodes is None
    for k in range(4):
        assert condition.rewards[k, 2] >= condition.rewards[k, 1]


def test_it_holds_without_a_suboptimal_commitment():
    game, truth = random_game(3, 2, 2, rng=0, restart=False)
    at_zero, _ = random_game(3, 2, 2, rng=0, restart=False, discount=0)
    alone = TwoAgentMDP(np.ones((1, 2, 2, 1), dtype=int), "9/10")
    for case, reward in [(game, np.ones(3)), (at_zero, truth), (alone, [2.0])]:
        condition = convergence_condition(case, reward)
        assert condition
        assert condition.check()
        assert condition.margin == np.inf
        assert condition.most_bad_episodes == 0


# What it implies


@share(0.24)
@given(seed=st.integers(0, 999), ties=st.sampled_from(["first", "random", "all"]))
def test_where_it_holds_each_suboptimal_commitment_is_played_once_at_most(seed, ties):
    game, truth = random_game(2, 2, 2, rng=seed, restart=False)
    follower = OptimalFollower(ties)
    condition = convergence_condition(game, truth, follower)
    assume(bool(condition))
    learners = [
        InteractiveIRL(game, seed=seed, choice=choice) for choice in (None, MeanOfVertices(2))
    ]
    for learner in learners:
        run = list(interact(learner, truth, 7, follower=follower))
        bad = [e.learner.history[-1].pi1.tobytes() for e in run if e.regret > 1e-7]
        assert len(bad) == len(set(bad))
        assert condition.most_bad_episodes is None or len(bad) <= condition.most_bad_episodes


def test_it_holds_on_some_games_of_three_states_where_algorithm_1_stops_losing():
    held = 0
    for seed in (8, 15, 16, 17, 19):
        game, truth = random_game(3, 2, 2, rng=seed, restart=False)
        condition = convergence_condition(game, truth)
        assert condition
        assert condition.margin > 1e-3
        regrets = [e.regret for e in interact(InteractiveIRL(game, seed=seed), truth, 15)]
        held += sum(regret > 1e-9 for regret in regrets) <= len(condition.commitments)
        assert max(regrets[8:]) <= 1e-9
    assert held == 5


# Proofs and refusals


@pytest.mark.parametrize(
    "edit",
    [
        {"commitments": lambda c: c.commitments[1:]},
        {"commitments": lambda c: c.commitments[::-1]},
        {"regrets": lambda c: c.regrets + 0.1},
        {"responses": lambda c: c.responses[:, :, ::-1]},
        {"margins": lambda c: c.margins + 1e-3},
        {"margins": lambda c: c.margins - 1e-3},
        {"margins": lambda c: c.margins + np.nan},
        {"rewards": lambda c: c.rewards * 0.5},
        {"rewards": lambda c: c.rewards + 0.5},
        {"rewards": lambda c: 1 - c.rewards},
        {"multipliers": lambda c: -c.multipliers},
        {"multipliers": lambda c: 2 * c.multipliers},
        {"multipliers": lambda c: c.multipliers[:, ::-1]},
    ],
)
def test_a_proof_that_is_edited_fails(edit):
    game, truth = random_game(3, 2, 2, rng=8, restart=False)
    condition = convergence_condition(game, truth)
    assert condition.check()
    changes = {name: change(condition) for name, change in edit.items()}
    if "commitments" in changes and len(changes["commitments"]) < len(condition.commitments):
        for name in ("regrets", "responses", "margins", "rewards", "multipliers"):
            changes[name] = getattr(condition, name)[1:]
    assert not replace(condition, **changes).check()


def test_what_is_no_question_is_refused():
    game, truth = random_game(3, 2, 2, rng=0, restart=False)
    with pytest.raises(InvalidReward, match=r"truth has shape \(3, 2, 2\)"):
        convergence_condition(game, np.zeros((3, 2, 2)))
    with pytest.raises(InvalidReward):
        convergence_condition(game, [0.0, np.nan, 1.0])
    with pytest.raises(InvalidArgument, match="8 deterministic commitments; allowed at most 7"):
        convergence_condition(game, truth, limit=7)
    with pytest.raises(InvalidArgument, match="tolerance is 0"):
        convergence_condition(game, truth, tolerance=0.0)
    with pytest.raises(InvalidArgument, match="tolerance is nan"):
        convergence_condition(game, truth, tolerance=np.nan)


def test_it_says_what_it_found():
    game, truth = random_game(3, 2, 2, rng=8, restart=False)
    assert "holds" in repr(convergence_condition(game, truth))
    problem = read_model("same-answer")
    found = repr(convergence_condition(problem.game, problem.need_truth()))
    assert found == "ConvergenceCondition(fails at 4 commitments, 4 suboptimal of 8, margin 0)"
