"""The paper's lemmas on random instances, where they hold and where they need a condition."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from iirl_opt.commitment.methods import commit
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.classes import reachable
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import random_policy
from iirl_opt.game.pruning import prune
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.solver import solve
from iirl_opt.testing import games, observations, rewards


@given(data=st.data(), scale=st.sampled_from([0.1, 1.0, 10.0]), shift=st.integers(-5, 5))
def test_lemma_1_positive_affine_images_are_feasible_together(
    data: st.DataObject, scale: float, shift: int
) -> None:
    game = data.draw(games())
    feasible = FeasibleRewards(game).add(data.draw(observations(game)))
    reward = data.draw(rewards(game))
    assert feasible.contains(reward) == feasible.contains(scale * reward + shift)
    assert feasible.contains(np.full(game.n_states, float(shift)))


def test_lemma_1_with_factor_zero_is_no_equivalence() -> None:
    """r = (1, 0) is infeasible, 0·r is feasible: the 'and vice versa' of the proof needs λ1 > 0."""
    game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [1, 0]]]], 0.5)
    feasible = FeasibleRewards(game).observe([[1.0], [1.0]], [[0, 1], [1, 0]])
    reward = np.array([1.0, 0.0])
    assert not feasible.contains(reward)
    assert feasible.contains(0 * reward)


@pytest.mark.parametrize("n", [3, 4, 6])
def test_half_space_lemma_and_that_its_number_is_least(n: int) -> None:
    """N − 1 half-spaces cut a plane through the origin out of R^N, and none can be spared."""
    rng = np.random.default_rng(n)
    q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    phi = q[:, 2:].T
    rows = np.concatenate([phi, -phi.sum(axis=0, keepdims=True)])

    def reach(kept: np.ndarray) -> float:
        x = cp.Variable(n)
        limits = [kept @ x >= 0, x <= 1, x >= -1]
        programs = [cp.Problem(cp.Maximize(s * row @ x), limits) for row in phi for s in (1, -1)]
        return max(solve(program).value or 0.0 for program in programs)

    assert reach(rows) < 1e-7
    for left_out in range(n - 1):
        assert reach(np.delete(rows, left_out, axis=0)) > 0.1


@given(seed=st.integers(0, 10_000))
def test_pruning_changes_no_answer_on_reachable_states(seed: int) -> None:
    game, reward = random_game(8, 2, 2, rng=seed, successors=2, restart=False)
    game = TwoAgentMDP(game.matrix, game.discount, {0: 1}, leader_actions=2)
    pruned = prune(game)
    kept = reachable(game)
    whole, part = commit(game, reward), commit(pruned.game, pruned.restrict(reward))
    np.testing.assert_allclose(part.values, whole.values[kept], atol=1e-9)
    pi1 = random_policy(8, 2, np.random.default_rng(seed))
    answer = OptimalFollower("all").respond(game, reward, pi1)
    inside = OptimalFollower("all").respond(
        pruned.game, pruned.restrict(reward), pruned.restrict(pi1)
    )
    np.testing.assert_array_equal(inside, answer[kept])


@given(data=st.data())
def test_a_duplicate_action_changes_no_value_and_ties_with_its_original(
    data: st.DataObject,
) -> None:
    game = data.draw(games())
    reward = data.draw(rewards(game))
    twice = TwoAgentMDP(np.repeat(game.kernel, 2, axis=2), game.discount)
    np.testing.assert_allclose(commit(twice, reward).values, commit(game, reward).values, atol=1e-9)
    pi1 = np.full(game.shape[:2], 1 / game.n_leader_actions)
    masks = [OptimalFollower("all").respond(g, reward, pi1) for g in (game, twice)]
    np.testing.assert_array_equal(masks[1], np.repeat(masks[0], 2, axis=1))
