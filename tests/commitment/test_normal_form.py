"""One-state games: the mixed-integer program against one linear program an answer."""

import numpy as np
import pytest
from depth import share
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog

from iirl_opt.commitment.methods import NormalForm
from iirl_opt.commitment.normal_form import MixedCommitment
from iirl_opt.commitment.plans import Guarantee
from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP


def stage(n_a, n_b, discount):
    return TwoAgentMDP(np.ones((1, n_a, n_b, 1), dtype=int), discount)


def multiple_programs(own, theirs, epsilon=0.0, allowed=None):
    """The best a step by Conitzer & Sandholm 2006: an answer at a time, its best mixture."""
    n_a, n_b = own.shape
    mixed = (1 - epsilon) * own + epsilon * own.mean(axis=1, keepdims=True)
    bounds = [(0, 1 if allowed is None or allowed[a] else 0) for a in range(n_a)]
    found = []
    for b in range(n_b):
        rows = theirs.T - theirs[:, b]  # Σ x (r2(a, b') − r2(a, b)) ≤ 0
        done = linprog(-mixed[:, b], rows, np.zeros(n_b), np.ones((1, n_a)), [1], bounds)
        if done.success:
            found.append(-done.fun)
    return max(found)


@st.composite
def stages(draw):
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    reward = arrays(np.int64, shape, elements=st.integers(-4, 4))
    game = stage(*shape, draw(st.sampled_from(["0", "1/2", "9/10"])))
    return game, draw(reward).astype(float), draw(reward).astype(float)


@share(0.6)
@given(instance=stages(), epsilon=st.sampled_from([0.0, 0.3]))
def test_the_optimum_is_that_of_one_linear_program_an_answer(instance, epsilon):
    game, own, theirs = instance
    follower = EpsilonGreedyFollower(epsilon) if epsilon else OptimalFollower()
    best = multiple_programs(own, theirs, epsilon) / (1 - game.discount)
    problem = CommitmentProblem(
        game, own[None], follower, follower_reward=theirs[None], ties="optimistic"
    )
    plan = NormalForm().plan(problem)
    assert plan.bound == pytest.approx(best, abs=1e-6)
    assert plan.value == pytest.approx(best, abs=1e-6)
    assert (plan.guarantee, plan.among) == (Guarantee.EXACT, "all")


@share(0.4)
@given(instance=stages())
def test_another_tie_rule_may_fall_short_of_the_supremum_and_then_says_so(instance):
    game, own, theirs = instance
    best = multiple_programs(own, theirs) / (1 - game.discount)
    problem = CommitmentProblem(game, own[None], follower_reward=theirs[None], ties="pessimistic")
    plan = NormalForm().plan(problem)
    assert plan.bound == pytest.approx(best, abs=1e-6)
    assert plan.value <= best + 1e-6
    if plan.guarantee is Guarantee.EXACT:
        assert plan.value == pytest.approx(best, abs=1e-5)
    else:
        assert plan.gap > 0


@share(0.6)
@given(instance=stages())
def test_zero_sum_is_the_value_of_the_matrix_game(instance):
    game, own, _ = instance
    n_a, n_b = own.shape
    # max v subject to Σ x r(·, b) ≥ v for every b.
    done = linprog(
        np.r_[np.zeros(n_a), -1],
        np.c_[-own.T, np.ones(n_b)],
        np.zeros(n_b),
        np.r_[np.ones(n_a), 0][None],
        [1],
        [(0, 1)] * n_a + [(None, None)],
    )
    plan = NormalForm().plan(CommitmentProblem(game, own[None], follower_reward=-own[None]))
    assert plan.bound == pytest.approx(-done.fun / (1 - game.discount), abs=1e-6)
    assert plan.value == pytest.approx(plan.bound, abs=1e-5)


def test_forbidden_actions_have_no_share():
    own, theirs = np.array([[2.0, 4.0], [1.0, 3.0], [9.0, 9.0]]), np.eye(3)[:, :2]
    allowed = np.array([[True, True, False]])
    problem = CommitmentProblem(
        stage(3, 2, 0),
        own[None],
        follower_reward=theirs[None],
        allowed=allowed,
        ties="optimistic",
    )
    found = MixedCommitment(problem).solve()
    assert found.policy[0, 2] == 0
    assert found.bound == pytest.approx(multiple_programs(own, theirs, allowed=allowed[0]))


def test_rows_of_ones_own_bind_the_leader_and_the_follower_ignores_them():
    own, theirs = np.array([[2.0, 4.0], [1.0, 3.0]]), np.eye(2)
    problem = CommitmentProblem(
        stage(2, 2, 0), own[None], follower_reward=theirs[None], ties="optimistic"
    )
    model = MixedCommitment(problem)
    seldom = model.solve([(model.leader[0] <= 0.25).set_label("seldom")])
    # The second answer stays best for the follower: 1/4 of 4 and 3/4 of 3.
    assert seldom.value == pytest.approx(3.25)
    assert seldom.policy[0] == pytest.approx([0.25, 0.75])
    assert seldom.bound == pytest.approx(3.25)
    assert seldom.guarantee is Guarantee.BOUND
    assert model.solve().value == pytest.approx(3.5)


def test_more_states_and_other_followers_are_refused():
    game, reward = random_game(2, 2, 2, rng=0)
    with pytest.raises(InvalidArgument, match="one state"):
        MixedCommitment(CommitmentProblem(game, reward))
    with pytest.raises(InvalidArgument, match="follower"):
        MixedCommitment(CommitmentProblem(stage(2, 2, 0), [1.0], BoltzmannFollower(1)))
