from dataclasses import replace

import numpy as np
import pytest
from depth import share
from exhaustive import FOLLOWERS, all_values, every_commitment, random_problem
from hypothesis import given, strategies as st

from iirl_opt.commitment.branch_and_bound import BranchAndBound, suited
from iirl_opt.commitment.branching import branched
from iirl_opt.commitment.enumeration import Enumeration
from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower
from iirl_opt.follower.proportional import ProportionalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP


@pytest.mark.parametrize("kind", FOLLOWERS)
@share(0.48)
@given(seed=st.integers(0, 10**6), leaf=st.sampled_from([1, 4, 32]))
def test_branch_and_bound_finds_what_a_plain_loop_finds(kind, seed, leaf):
    problem = random_problem(seed, kind, states=3)
    best = (all_values(problem) @ problem.game.start).max()
    found = BranchAndBound(leaf=leaf).search(problem)
    assert found.complete
    assert found.value == pytest.approx(best, abs=1e-7)
    assert found.bound >= best - 1e-10
    assert found.gap <= 1e-6
    values = problem.values_of(found.actions[None])[0]
    np.testing.assert_allclose(found.values, values, rtol=1e-12, atol=1e-12)
    assert found.value == pytest.approx(problem.game.start @ values)


@pytest.mark.parametrize("discount", ["0", "1/2", "9/10", "99/100"])
@pytest.mark.parametrize(
    "follower", [BoltzmannFollower(3), EpsilonGreedyFollower(0.4), ProportionalFollower(np.exp)]
)
def test_seven_states_agree_with_enumeration(follower, discount):
    game, reward = random_game(7, 2, 2, rng=7, discount=discount)
    problem = CommitmentProblem(game, (1 - game.discount) * reward, follower)
    found, best = BranchAndBound().search(problem), Enumeration().search(problem)
    assert found.complete
    assert found.value == pytest.approx(best.value, abs=1e-9)


def test_twenty_states_are_solved_in_a_fraction_of_their_million_commitments():
    game, reward = random_game(20, 2, 2, rng=0)
    problem = CommitmentProblem(game, reward, BoltzmannFollower(2))
    found = BranchAndBound().search(problem)
    assert found.complete
    assert found.evaluated + found.nodes < 20_000 < problem.n_deterministic
    near = np.tile(found.actions, (20, 1))
    near[np.arange(20), np.arange(20)] ^= 1
    assert (problem.values_of(near) @ game.start <= found.value + 1e-12).all()


def test_a_time_limit_returns_an_incumbent_with_a_valid_bound():
    game, reward = random_game(14, 2, 3, rng=3)
    problem = CommitmentProblem(game, reward, BoltzmannFollower(2))
    early, full = BranchAndBound(time_limit=0).search(problem), BranchAndBound().search(problem)
    assert not early.complete
    assert early.gap > 0
    assert early.value <= full.value <= early.bound
    assert full.complete
    assert full.bound <= early.bound


def test_a_wide_gap_ends_sooner_within_it():
    game, reward = random_game(14, 2, 3, rng=3)
    problem = CommitmentProblem(game, reward, BoltzmannFollower(2))
    wide, full = BranchAndBound(gap=0.05).search(problem), BranchAndBound().search(problem)
    assert wide.nodes < full.nodes
    assert wide.complete
    assert full.value <= wide.bound <= wide.value + 0.05 * np.ptp(reward) / (1 - game.discount)


def test_the_incumbent_is_kept_unless_beaten():
    game, reward = random_game(14, 2, 3, rng=3)
    problem = CommitmentProblem(game, reward, BoltzmannFollower(2))
    full = BranchAndBound().search(problem)
    again = BranchAndBound(incumbent=full.actions, time_limit=0).search(problem)
    assert again.actions.tolist() == full.actions.tolist()
    assert again.value == full.value


def test_the_objective_follows_the_start_of_the_game():
    problem = random_problem(3, "Boltzmann 1", states=4)
    values = all_values(problem)
    for s, weights in enumerate(np.eye(problem.game.n_states)):
        there = replace(problem, game=problem.game.starting_at(weights))
        found = BranchAndBound(leaf=1).search(there)
        assert found.value == pytest.approx(values[:, s].max(), abs=1e-8)


@pytest.mark.parametrize("reward", [0.0, 1.0, 1e12])
def test_constant_rewards_are_solved_at_the_root(reward):
    game, _ = random_game(15, 3, 3, rng=0)
    found = BranchAndBound().search(
        CommitmentProblem(game, np.full(15, reward), BoltzmannFollower(1))
    )
    assert found.complete
    assert found.nodes == 1
    assert found.value == pytest.approx(10 * reward)


def test_one_allowed_action_a_state_leaves_one_commitment():
    game, reward = random_game(6, 3, 2, rng=0)
    allowed = np.eye(3, dtype=bool)[[0, 1, 2, 0, 1, 2]]
    problem = CommitmentProblem(game, reward, BoltzmannFollower(1), allowed=allowed)
    found = BranchAndBound().search(problem)
    assert found.complete
    assert found.actions.tolist() == [0, 1, 2, 0, 1, 2]


def test_one_state_and_no_future_take_the_best_matrix_row():
    game = TwoAgentMDP(np.ones((1, 2, 2, 1)), 0)
    own, theirs = np.array([[[2.0, 4.0], [1.0, 3.0]]]), np.array([[[1.0, 0.0], [0.0, 1.0]]])
    found = BranchAndBound(leaf=1).search(
        CommitmentProblem(game, own, OptimalFollower(), follower_reward=theirs)
    )
    assert (found.value, found.actions.tolist()) == (3.0, [1])


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"incumbent": [0, 0, 2]}, r"incumbent\[s=2\]"),
        ({"incumbent": [0, 1, 0]}, r"incumbent\[s=1\]"),
        ({"incumbent": [0.0, 0.0, 0.0]}, "incumbent"),
        ({"incumbent": [0]}, "incumbent"),
        ({"gap": -1.0}, "gap"),
        ({"gap": np.nan}, "gap"),
        ({"leaf": 0}, "leaf"),
    ],
)
def test_bad_arguments_are_named(arguments, name):
    game, reward = random_game(3, 2, 2, rng=0)
    allowed = [[True, True], [True, False], [True, True]]
    problem = CommitmentProblem(game, reward, BoltzmannFollower(1), allowed=allowed)
    with pytest.raises(InvalidArgument, match=name):
        BranchAndBound(**arguments).search(problem)


def test_search_enumerates_where_the_follower_has_no_bounds():
    game, reward = random_game(4, 2, 2, rng=0)
    problem = CommitmentProblem(game, reward, ProportionalFollower(lambda q: np.exp(-q)))
    with pytest.raises(InvalidArgument, match="f that decreases"):
        BranchAndBound().search(problem)
    found = suited(problem).search(problem)
    assert (found.nodes, found.evaluated) == (0, 16)
    assert found.value == pytest.approx((all_values(problem) @ game.start).max())


@pytest.mark.parametrize("kind", FOLLOWERS)
def test_a_recorded_tree_holds_every_commitment_once_below_its_bound(kind):
    for seed in range(6):
        problem = random_problem(seed, kind, states=4)
        found, plain = branched(problem, record=True), BranchAndBound().search(problem)
        tree = found.tree
        assert found.value == pytest.approx(plain.value, abs=1e-9)
        assert set(tree.leaf) == set(range(len(tree.parent))) - set(tree.parent)
        rows = np.array(every_commitment(problem))
        states = np.arange(rows.shape[1])
        inside = tree.mask[:, states, rows].all(axis=-1)  # (L, K)
        assert (inside.sum(axis=0) == 1).all()
        values = all_values(problem) - float(problem.offset)
        assert (values <= tree.w_hi[inside.argmax(axis=0)] + 1e-7).all()
        for leaf, node in zip(tree.mask, tree.leaf, strict=True):
            mask = problem.allowed.copy()
            while tree.parent[node] >= 0:  # what the branches say is what the mask says
                mask[tree.state[node]] = np.eye(mask.shape[1])[tree.action[node]]
                node = tree.parent[node]
            assert (mask == leaf).all()
