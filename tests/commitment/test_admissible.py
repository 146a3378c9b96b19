"""Admissible policies: against dynamic programming over the vertices of every polytope."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from instances import games, rewards

from iirl_opt.commitment.admissible import AdmissibleCommitment
from iirl_opt.commitment.lemma_2 import JointOptimum
from iirl_opt.commitment.methods import OccupancyProgram
from iirl_opt.commitment.plans import Guarantee
from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.errors import Infeasible, InvalidArgument, UnknownLabel
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.game.optimum import policy_iteration
from iirl_opt.game.values import evaluate


def vertices(g, h):
    """All vertices of {p ≥ 0, Σ p = 1, G p ≤ h}: every basis is tried."""
    n = g.shape[1]
    rows, right = np.vstack([g, -np.eye(n)]), np.r_[h, np.zeros(n)]
    found = []
    for active in combinations(range(len(rows)), n - 1):
        system = np.vstack([np.ones((1, n)), rows[list(active)]])
        if abs(np.linalg.det(system)) > 1e-9:
            p = np.linalg.solve(system, np.r_[1.0, right[list(active)]])
            if (rows @ p <= right + 1e-9).all():
                found.append(p)
    return np.unique(np.round(found, 12), axis=0)


def best_by_vertices(game, reward, polytopes):
    """The values of the MDP whose actions are pairs of a vertex and an answer."""
    n = game.n_states
    joint = np.broadcast_to(reward.reshape(n, -1, 1), game.shape) if reward.ndim == 1 else reward
    width = max(len(p) for p in polytopes)
    # A state with fewer vertices has its last one several times.
    points = np.array([np.r_[p, np.repeat(p[-1:], width - len(p), axis=0)] for p in polytopes])
    kernel = np.einsum("ska,sabt->skbt", points, game.kernel).reshape(n, -1, n)
    mdp = MDP(kernel / kernel.sum(axis=-1, keepdims=True), game.discount)
    return policy_iteration(mdp, np.einsum("ska,sab->skb", points, joint).reshape(n, -1)).values


@st.composite
def restricted(draw):
    game = draw(games(states=(1, 3), leader=(2, 3), follower=(1, 2)))
    reward = draw(rewards(draw(st.sampled_from([(game.n_states,), game.shape])))).astype(float)
    n = game.n_leader_actions
    polytopes = {}
    for s in game.states:
        g = draw(arrays(np.int64, (2, n), elements=st.integers(-2, 2))).astype(float)
        inner = draw(arrays(np.int64, n, elements=st.integers(1, 3))).astype(float)
        slack = draw(arrays(np.int64, 2, elements=st.integers(0, 2))) / 4
        polytopes[s] = (g, g @ (inner / inner.sum()) + slack)
    return game, reward, polytopes


@given(instance=restricted())
def test_the_optimum_is_that_of_the_vertices_from_every_state(instance):
    game, reward, polytopes = instance
    best = best_by_vertices(game, reward, [vertices(*polytopes[s]) for s in game.states])
    plan = AdmissibleCommitment(game, reward, polytopes).solve()
    assert plan.values == pytest.approx(best, abs=1e-6)
    assert plan.bound == pytest.approx(game.start @ best, abs=1e-6)
    assert (plan.guarantee, plan.among) == (Guarantee.EXACT, "admissible")
    for s, (g, h) in polytopes.items():
        assert (g @ plan.policy[game.states.index(s)] <= h + 1e-7).all()


@given(instance=restricted(), ties=st.sampled_from(["first", "last", "mix"]))
def test_every_optimal_answer_keeps_the_value(instance, ties):
    game, reward, polytopes = instance
    plan = AdmissibleCommitment(game, reward, polytopes).solve()
    answer = OptimalFollower(ties).respond(game, reward, plan.policy)
    assert evaluate(game, reward, (plan.policy, answer)) == pytest.approx(plan.values, abs=1e-6)


def test_half_the_way_at_most():
    # "go" leads to the goal, "stay" nowhere; with at most half a chance of going,
    # V = 1/2 (γ 1/(1−γ)) + 1/2 γ V with γ = 1/2, so V = 2/3.
    game = TwoAgentMDP([[[[1, 0]], [[0, 1]]], [[[0, 1]], [[0, 1]]]], "1/2", start=[1, 0])
    plan = AdmissibleCommitment(game, [0.0, 1.0], {0: ([[0.0, 1.0]], [0.5])}).solve()
    assert plan.value == pytest.approx(2 / 3)
    assert plan.policy[0] == pytest.approx([0.5, 0.5])


def test_allowed_actions_are_a_restriction_too():
    game, reward = random_game(4, 3, 2, rng=0)
    allowed = np.array([[True, True, False]] * 4)
    problem = CommitmentProblem(game, reward, allowed=allowed)
    by_program, by_iteration = OccupancyProgram().plan(problem), JointOptimum().plan(problem)
    by_sets = AdmissibleCommitment(game, reward, {}, allowed=allowed).solve()
    smaller = TwoAgentMDP(game.kernel[:, :2], game.discount, game.start)
    for plan in (by_program, by_iteration, by_sets):
        assert plan.value == pytest.approx(policy_iteration(smaller, reward).values @ game.start)
        assert (plan.policy[:, 2] == 0).all()
        assert (plan.guarantee, plan.among) == (Guarantee.EXACT, "all")


def test_a_state_without_an_admissible_distribution_is_named():
    game, reward = random_game(3, 2, 2, rng=0)
    with pytest.raises(Infeasible) as caught:
        AdmissibleCommitment(game, reward, {1: ([[1.0, 1.0]], [0.5])}).solve()
    assert caught.value.solved.farkas["admissible[1]"].max() > 0


@pytest.mark.parametrize(
    "rows",
    [3.0, ([1.0, 0.0], [1.0]), ([[1.0]], [1.0]), ([[1.0, 0.0]], [1.0, 2.0]), ([[np.nan, 0]], [1])],
)
def test_rows_that_are_none_are_refused_by_name(rows):
    game, reward = random_game(3, 2, 2, rng=0)
    with pytest.raises(InvalidArgument, match=r"admissible\[1\]"):
        AdmissibleCommitment(game, reward, {1: rows})


def test_a_state_that_does_not_exist_is_refused():
    game, reward = random_game(3, 2, 2, rng=0)
    with pytest.raises(UnknownLabel):
        AdmissibleCommitment(game, reward, {"nowhere": ([[1.0, 0.0]], [0.5])})


def test_the_program_shows_cvxpys_own_objects_by_name():
    game, reward = random_game(3, 2, 2, rng=0)
    model = AdmissibleCommitment(game, reward, {1: ([[1.0, 0.0]], [0.5])})
    assert [row.label for row in model.constraints] == ["flow", "admissible[1]"]
    assert model.problem().variables() == [model.measure.variable]
    plan = model.solve()
    assert float(model.objective.value) == pytest.approx(model.weights @ plan.values)


def test_a_state_without_an_admissible_distribution_is_named_by_a_ray():
    """From the policy's basis HiGHS does not presolve, and says nothing of this program."""
    game, reward = random_game(5, 2, 3, rng=5)
    allowed = np.ones((5, 2), dtype=bool)
    allowed[1, 0] = False
    model = AdmissibleCommitment(game, reward, {"*": ([[0.0, 1.0]], [0.5])}, allowed=allowed)
    with pytest.raises(Infeasible) as error:
        model.solve()
    rows = model.by_row(error.value)
    assert any(y for row, y in rows.items() if row[:2] == ("admissible", 1))
