"""The shape of feasible sets: each answer against a closed form, a vertex list, or arithmetic."""

from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest
from depth import share
from hypothesis import given, strategies as st

from iirl_opt.errors import InvalidArgument, OnlyConstantRewards, Unbounded
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import random_deterministic_policy, random_policy
from iirl_opt.game.values import evaluate
from iirl_opt.rewards.domains import RewardBox, RewardSimplex
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.solver import linear_rows

STAY, SWITCH = [[1, 0], [0, 1]], [[0, 1], [1, 0]]


def two_rooms(discount: float = 0.5) -> TwoAgentMDP:
    """Two states, a leader without influence, a follower who stays or switches."""
    kernel = [[[[1, 0], [0, 1]]], [[[0, 1], [1, 0]]]]
    return TwoAgentMDP(kernel, discount, states=("left", "right"), follower_actions=("stay", "go"))


def right_is_better() -> FeasibleRewards:
    """Going right and staying there: exactly the rewards with r(right) ≥ r(left)."""
    return FeasibleRewards(two_rooms()).observe([[1.0], [1.0]], [[0, 1], [1, 0]])


def seen(seed: int, n_states: int = 4, episodes: int = 3) -> tuple[FeasibleRewards, np.ndarray]:
    game, truth = random_game(n_states, 2, 2, rng=seed)
    rng = np.random.default_rng(seed)
    feasible = FeasibleRewards(game)
    for _ in range(episodes):
        pi1 = random_policy(n_states, 2, rng)
        feasible = feasible.observe(pi1, OptimalFollower().respond(game, truth, pi1))
    return feasible, truth


def vertices(feasible: FeasibleRewards) -> np.ndarray:
    """List the vertices of the set within the simplex by trying every basis."""
    free, tied = feasible.explicit_rows()
    n = feasible.game.n_states
    rows = np.concatenate([free, np.eye(n)])
    equal = np.concatenate([tied, np.ones((1, n))])
    right = np.append(np.zeros(len(tied)), 1.0)
    found = []
    for chosen in combinations(range(len(rows)), n - len(equal)):
        system = np.concatenate([equal, rows[list(chosen)]])
        if abs(np.linalg.det(system)) > 1e-10:
            x = np.linalg.solve(system, np.append(right, np.zeros(len(chosen))))
            if (rows @ x).min() > -1e-9:
                found.append(x)
    return np.array(found)


def test_nearest_in_closed_form() -> None:
    feasible = right_is_better()
    for norm, distance in ((1, 1.0), (2, np.sqrt(0.5))):
        found = feasible.nearest([1.0, 0.0], norm=norm)
        np.testing.assert_allclose(found.reward, [0.5, 0.5], atol=1e-6)
        assert found.value == pytest.approx(distance, abs=1e-6)


@share(0.6)
@given(seed=st.integers(0, 10_000))
def test_a_feasible_reward_is_its_own_nearest(seed: int) -> None:
    feasible, truth = seen(seed)
    inside = truth / truth.sum()
    for norm in (1, 2):
        assert feasible.nearest(inside, norm=norm).value == pytest.approx(0, abs=1e-5)


def test_nearest_refuses_another_norm() -> None:
    with pytest.raises(InvalidArgument, match="norm is 3"):
        right_is_better().nearest([1.0, 0.0], norm=3)  # type: ignore[arg-type]


@share(0.6)
@given(seed=st.integers(0, 10_000))
def test_widths_and_maxima_are_those_of_the_vertices(seed: int) -> None:
    feasible, _ = seen(seed)
    corners = vertices(feasible)
    np.testing.assert_allclose(feasible.widths(), np.ptp(corners, axis=0), atol=1e-7)
    direction = np.random.default_rng(seed).normal(size=4)
    best = (corners @ direction).max()
    assert feasible.maximise(direction).value == pytest.approx(best, abs=1e-7)


def test_widths_in_a_box_need_no_simplex() -> None:
    widths = right_is_better().widths([[1.0, 0.0], [1.0, -1.0]], domain=RewardBox(3.0))
    np.testing.assert_allclose(widths, [6.0, 6.0], atol=1e-8)


def test_the_centre_of_a_segment_and_of_a_triangle() -> None:
    ball = right_is_better().chebyshev_centre()
    np.testing.assert_allclose(ball.centre, [0.25, 0.75], atol=1e-8)
    assert ball.radius == pytest.approx(np.sqrt(2) / 4, abs=1e-8)
    free = FeasibleRewards(TwoAgentMDP(np.eye(3)[:, None, None, :].astype(int), 0.5))
    ball = free.chebyshev_centre()
    np.testing.assert_allclose(ball.centre, np.full(3, 1 / 3), atol=1e-8)
    assert ball.radius == pytest.approx(1 / np.sqrt(6), abs=1e-8)


@share(0.6)
@given(seed=st.integers(0, 10_000))
def test_the_ball_lies_inside_and_touches(seed: int) -> None:
    feasible, _ = seen(seed)
    ball = feasible.chebyshev_centre()
    free, _ = feasible.explicit_rows()
    rows = np.concatenate([free, np.eye(4)])
    lengths = np.linalg.norm(rows - rows.mean(axis=1, keepdims=True), axis=1)
    reach = (rows @ ball.centre)[lengths > 1e-9] / lengths[lengths > 1e-9]
    assert reach.min() == pytest.approx(ball.radius, abs=1e-7)


def test_a_set_of_one_point_has_radius_zero_and_one_sample() -> None:
    mask = np.ones((2, 2), dtype=bool)
    constant = FeasibleRewards(two_rooms()).observe([[1.0], [1.0]], mask)
    ball = constant.chebyshev_centre()
    np.testing.assert_allclose(ball.centre, [0.5, 0.5], atol=1e-8)
    assert ball.radius == pytest.approx(0, abs=1e-8)
    samples = constant.sample(3, np.random.default_rng(0))
    np.testing.assert_allclose(samples, np.full((3, 2), 0.5), atol=1e-8)


def ideal(n: int, truth: np.ndarray, answers: np.ndarray) -> FeasibleRewards:
    """Theorem 2's environment for a reward of n states, answered by 0 (b1) or 1 (b2) a state."""
    centred = truth - truth.mean()
    q, _ = np.linalg.qr(np.stack([np.ones(n), centred], axis=1), mode="complete")
    phi = q[:, 2:].T
    rows = np.concatenate([phi, -phi.sum(axis=0, keepdims=True), centred[None]])
    rows /= n * np.abs(rows).max(axis=1, keepdims=True)
    first = np.full((n, n), 1 / n)
    game = TwoAgentMDP(np.stack([first, first - rows], axis=1)[:, None], 0.5)
    return FeasibleRewards(game).observe(np.ones((n, 1)), np.eye(2)[answers])


@pytest.mark.parametrize("n", [3, 4, 5])
def test_dimensions_of_the_ideal_environment_follow_the_ties(n: int) -> None:
    """Only the answers b1 everywhere and b2 in every tied state leave the class: dimension 2."""
    truth = np.random.default_rng(n).normal(size=n)
    for code in range(2 ** (n - 1)):
        answers = np.array([code >> i & 1 for i in range(n - 1)] + [0])
        favourable = answers[:-1].sum() in (0, n - 1)
        assert ideal(n, truth, answers).dimension() == (2 if favourable else n)


def test_dimension_without_observations_or_future_is_the_whole_space() -> None:
    game, _ = random_game(5, 2, 2, rng=0)
    assert FeasibleRewards(game).dimension() == 5
    assert FeasibleRewards(game).dimension(joint=True) == 20
    now = two_rooms(0.0)
    assert FeasibleRewards(now).observe([[1.0], [1.0]], [[0, 1], [0, 1]]).dimension() == 2


@share(0.4)
@given(seed=st.integers(0, 10_000))
def test_samples_are_feasible_and_within_the_simplex(seed: int) -> None:
    feasible, _ = seen(seed)
    samples = feasible.sample(8, np.random.default_rng(seed))
    assert samples.shape == (8, 4)
    np.testing.assert_allclose(samples.sum(axis=1), 1, atol=1e-9)
    assert samples.min() > -1e-9
    assert all(feasible.contains(sample) for sample in samples)


def test_samples_are_uniform_on_a_segment_and_have_the_moments_of_a_simplex() -> None:
    samples = right_is_better().sample(4000, np.random.default_rng(0))[:, 0]
    counts, _ = np.histogram(samples, bins=8, range=(0, 0.5))
    assert ((counts - 500) ** 2 / 500).sum() < 24.3
    free = FeasibleRewards(TwoAgentMDP(np.eye(3)[:, None, None, :].astype(int), 0.5))
    draws = free.sample(4000, np.random.default_rng(1))
    np.testing.assert_allclose(draws.mean(axis=0), np.full(3, 1 / 3), atol=0.02)
    np.testing.assert_allclose(draws.var(axis=0), np.full(3, 1 / 18), atol=0.006)


def test_sampling_an_unbounded_domain_says_so() -> None:
    class Anything:
        def constraints(self, r: cp.Expression) -> list[cp.Constraint]:
            return []

    with pytest.raises(Unbounded, match="bound the variables"):
        right_is_better().sample(1, np.random.default_rng(0), domain=Anything())


def test_a_domain_with_other_variables_is_refused_where_rows_are_needed() -> None:
    class Ball:
        def constraints(self, r: cp.Expression) -> list[cp.Constraint]:
            return [cp.norm1(r) <= 1]

    with pytest.raises(InvalidArgument, match="other variables"):
        right_is_better().chebyshev_centre(domain=Ball())
    assert right_is_better().maximise([-1.0, 1.0], domain=Ball()).value == pytest.approx(1)


def test_linear_rows_are_in_c_order() -> None:
    r = cp.Variable((2, 3))
    weights = np.arange(6.0).reshape(2, 3)
    rows = linear_rows([cp.sum(cp.multiply(weights, r)) <= 7, r[1, 0] == 2], r)
    np.testing.assert_array_equal(rows.rows, [np.arange(6.0)])
    np.testing.assert_array_equal(rows.bounds, [7])
    np.testing.assert_array_equal(rows.equal, np.eye(6)[[3]])
    np.testing.assert_array_equal(rows.right, [2])


@given(seed=st.integers(0, 10_000))
def test_explicit_rows_are_the_lifted_set(seed: int) -> None:
    feasible, _ = seen(seed)
    free, tied = feasible.explicit_rows()
    assert not len(tied)
    rng = np.random.default_rng(seed)
    for reward in rng.normal(size=(10, 4)):
        if np.abs(free @ reward).min() > 1e-6:
            assert feasible.contains(reward) == bool((free @ reward).min() > 0)


def test_max_margin_in_closed_form() -> None:
    """The gap in each state is γ (r(right) − r(left)): twice γ · 2 at r = (−1, 1)."""
    found = right_is_better().max_margin(bound=1.0)
    np.testing.assert_allclose(found.reward, [-1, 1], atol=1e-8)
    assert found.value == pytest.approx(2.0, abs=1e-8)
    assert right_is_better().max_margin(penalty=0.5).value == pytest.approx(1.0, abs=1e-8)
    heavy = right_is_better().max_margin(penalty=3.0)
    np.testing.assert_allclose(heavy.reward, 0, atol=1e-9)


@share(0.4)
@given(seed=st.integers(0, 10_000), penalty=st.sampled_from([0.0, 0.3]))
def test_max_margin_against_its_definition(seed: int, penalty: float) -> None:
    """The objective recomputed by policy evaluation, and no feasible sample beats it."""
    feasible, truth = seen(seed)

    def objective(reward: np.ndarray) -> float:
        gaps = feasible.gaps(reward)
        played = np.array([o.played for o in feasible.observations])
        margins = np.where(played, np.inf, gaps).min(axis=2)
        return float(margins.sum() - penalty * np.abs(reward).sum())

    found = feasible.max_margin(penalty=penalty)
    assert np.abs(found.reward).max() <= 1 + 1e-9
    assert objective(found.reward) == pytest.approx(found.value, abs=1e-6)
    rivals = feasible.sample(4, np.random.default_rng(seed))
    for rival in [truth / np.abs(truth).max(), *rivals / rivals.max(axis=1, keepdims=True)]:
        assert objective(rival) <= found.value + 1e-6


def test_max_margin_with_one_action_has_nothing_to_separate() -> None:
    game = TwoAgentMDP([[[[0, 1]]], [[[1, 0]]]], 0.5)
    feasible = FeasibleRewards(game).observe([[1.0], [1.0]], [[1.0], [1.0]])
    assert feasible.max_margin().value == 0
    np.testing.assert_allclose(feasible.max_margin(penalty=1.0).reward, 0, atol=1e-9)


def test_contradicting_episodes_are_named_and_no_others() -> None:
    left, right = [[1, 0], [0, 1]], [[0, 1], [1, 0]]
    always = np.array([[1.0], [1.0]])
    feasible = FeasibleRewards(two_rooms()).observe(always, right)
    assert feasible.explain_infeasibility() is None
    assert feasible.is_informative()
    feasible = feasible.observe(always, right).observe(always, left).observe(always, right)
    conflict = feasible.explain_infeasibility()
    assert conflict is not None
    assert 3 in conflict
    assert len(conflict) == 2
    with pytest.raises(OnlyConstantRewards):
        feasible.random_vertex(np.random.default_rng(0))


def test_joint_rewards_modulo_shaping_explain_the_same_answers() -> None:
    """Potential shaping r + Φ(s) − γ E Φ(s') changes no answer."""
    game, _ = random_game(4, 2, 3, rng=9)
    rng = np.random.default_rng(0)
    reward = rng.normal(size=game.shape)
    potential = rng.normal(size=4)
    shaped = reward + potential[:, None, None] - game.discount * game.kernel @ potential
    feasible = FeasibleRewards(game)
    for _ in range(3):
        pi1 = random_deterministic_policy(4, 2, rng)
        feasible = feasible.observe(pi1, OptimalFollower().respond(game, reward, pi1))
    assert feasible.contains(reward)
    assert feasible.contains(shaped)
    np.testing.assert_allclose(feasible.gaps(shaped), feasible.gaps(reward), atol=1e-9)
    found = feasible.maximise(rng.normal(size=game.shape), domain=RewardBox())
    assert feasible.contains(found.reward, tolerance=1e-7)


def test_features_are_composition() -> None:
    feasible, _ = seen(3, n_states=6)
    features = np.random.default_rng(0).uniform(size=(6, 2))
    w = cp.Variable(2)
    program = cp.Problem(
        cp.Maximize(w[0]), [*feasible.constraints(features @ w), cp.norm_inf(w) <= 1]
    )
    program.solve(solver="CLARABEL")
    assert feasible.contains(features @ w.value, tolerance=1e-6)


@share(0.4)
@given(seed=st.integers(0, 10_000))
def test_sets_shrink_with_observations(seed: int) -> None:
    feasible, _ = seen(seed)
    fewer = FeasibleRewards(feasible.game, feasible.episodes[:-1])
    direction = np.random.default_rng(seed).normal(size=4)
    assert feasible.maximise(direction).value <= fewer.maximise(direction).value + 1e-8
    assert (feasible.widths() <= fewer.widths() + 1e-8).all()
    assert feasible.dimension() <= fewer.dimension()


@share(0.6)
@given(seed=st.integers(0, 10_000))
def test_relabelling_states_and_actions_permutes_the_set(seed: int) -> None:
    feasible, truth = seen(seed)
    game, rng = feasible.game, np.random.default_rng(seed)
    s, a, b = (rng.permutation(n) for n in game.shape)
    renamed = TwoAgentMDP(game.kernel[s][:, a][:, :, b][..., s], game.discount)
    other = FeasibleRewards(renamed)
    for o in feasible.observations:
        other = other.observe(o.pi1[s][:, a], o.pi2[s][:, b])
    assert other.contains(truth[s])
    np.testing.assert_allclose(other.widths(), feasible.widths()[s], atol=1e-7)
    value = evaluate(renamed, truth[s], (other.observations[0].pi1, other.observations[0].pi2))
    first = feasible.observations[0]
    np.testing.assert_allclose(value, evaluate(game, truth, (first.pi1, first.pi2))[s], atol=1e-9)


@pytest.mark.parametrize("bound", [0.0, -1.0, np.inf, np.nan])
def test_a_box_needs_a_positive_bound(bound: float) -> None:
    with pytest.raises(InvalidArgument, match="bound"):
        RewardBox(bound)


def test_the_simplex_has_named_constraints() -> None:
    labels = [c.label for c in RewardSimplex().constraints(cp.Variable(3))]
    assert labels == ["simplex sum", "simplex"]
