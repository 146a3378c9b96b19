"""Analytic centres: optimality conditions, an independent program, flat sets, covariances."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import null_space

from iirl_opt.errors import InvalidArgument
from iirl_opt.rewards.centre import analytic_centre
from iirl_opt.rewards.unit_rows import unit_rows
from iirl_opt.solver import Clarabel, solve


def polytope(seed, n=6, m=12):
    """Unit rows that a point inside the simplex meets with room."""
    rng = np.random.default_rng(seed)
    inside = rng.dirichlet(np.full(n, 3.0))
    rows = rng.standard_normal((m, n))
    rows *= np.sign(rows @ inside - rows.mean(axis=1))[:, None]
    return unit_rows(rows)


@pytest.mark.parametrize("seed", range(8))
def test_the_centre_is_that_of_a_conic_solver(seed):
    rows = polytope(seed)
    found = analytic_centre(rows)
    x = cp.Variable(rows.shape[1])
    barrier = cp.sum(cp.log(x)) + cp.sum(cp.log(rows @ x))
    solve(cp.Problem(cp.Maximize(barrier), [cp.sum(x) == 1]), Clarabel(1e-11))
    assert found.converged
    assert found.point == pytest.approx(x.value, abs=1e-5)


@pytest.mark.parametrize("seed", range(8))
def test_the_gradient_of_the_barrier_is_constant_over_the_simplex_there(seed):
    rows = polytope(seed, n=8, m=30)
    found = analytic_centre(rows)
    x = found.point
    assert x.min() > 0
    assert x.sum() == pytest.approx(1)
    assert (rows @ x).min() > 0
    gradient = 1 / x + (1 / (rows @ x)) @ rows
    # Constant over x means that x · (gradient − mean) vanishes, the mean weighted by x.
    assert np.abs(x * (gradient - x @ gradient)).max() < 1e-4
    assert found.margins == pytest.approx(rows @ x)
    assert not found.slack.any()


def test_scales_shifts_repetitions_and_zeros_of_rows_do_not_matter():
    rows = polytope(3)
    rng = np.random.default_rng(0)
    other = rows * rng.uniform(0.01, 100, (len(rows), 1)) + rng.standard_normal((len(rows), 1))
    other = unit_rows(np.concatenate([other, other[:4], np.ones((2, rows.shape[1]))]))
    assert len(other) == len(rows)
    assert analytic_centre(other).point == pytest.approx(analytic_centre(rows).point, abs=1e-9)


@pytest.mark.parametrize("price", [1e4, 1e8])
def test_on_a_flat_set_the_equation_holds_within_the_reciprocal_of_the_price(price):
    flat = unit_rows([[1.0, -1.0, 0.0, 0.0]])
    rows = np.concatenate([flat, -flat, unit_rows([[0.0, 1.0, -2.0, 1.0]])])
    found = analytic_centre(rows, price=price)
    assert abs(float(flat[0] @ found.point)) < 100 / price
    assert found.point[0] == pytest.approx(found.point[1], abs=100 / price)


def test_contradicting_rows_are_violated_and_said_to_be():
    row = unit_rows([[1.0, 0.0, -1.0]])
    more = unit_rows([[1.0, -2.0, 1.0]])
    found = analytic_centre(np.concatenate([row, -row, more, -more]), price=1e3)
    assert found.point == pytest.approx(np.full(3, 1 / 3), abs=1e-2)


def covariance(rows, found, price):
    """The inverse of the barrier's Hessian within Σ x = 1, in a basis of that plane."""
    y = found.multipliers[found.active]
    curvature = 1 / (1 / y**2 + 1 / (price - y) ** 2)
    held = rows[found.active]
    hessian = np.diag(1 / found.point**2) + held.T @ (curvature[:, None] * held)
    plane = null_space(np.ones((1, rows.shape[1])))
    return plane @ np.linalg.inv(plane.T @ hessian @ plane) @ plane.T


def contradicting(seed):
    rows = polytope(seed)
    return np.concatenate([rows, -rows[:3]])


@pytest.mark.parametrize("build", [polytope, contradicting])
@pytest.mark.parametrize("keep", [None, 5])
@pytest.mark.parametrize("seed", range(4))
def test_the_root_is_one_of_the_inverse_hessian_within_the_simplex(seed, keep, build):
    rows, price = build(seed), 1e4
    found = analytic_centre(rows, price=price, keep=keep)
    root, dense = found.root(), covariance(rows, found, price)
    assert root @ root.T == pytest.approx(dense, abs=1e-9 * np.abs(dense).max())
    assert root.sum(axis=0) == pytest.approx(np.zeros(6), abs=1e-12)


@pytest.mark.parametrize("build", [polytope, contradicting])
@pytest.mark.parametrize("seed", range(4))
def test_depth_is_the_margin_in_standard_deviations(seed, build):
    rows, price = build(seed), 1e4
    found = analytic_centre(rows, price=price)
    other = unit_rows(np.random.default_rng(seed).standard_normal((9, 6)))
    for g in (rows, other):
        deviation = np.sqrt(np.einsum("mi,ij,mj->m", g, covariance(rows, found, price), g))
        assert found.depth(g) == pytest.approx(g @ found.point / deviation, rel=1e-6)


def test_points_are_spread_with_the_scaled_covariance_around_the_centre():
    rows = polytope(2)
    found = analytic_centre(rows)
    points = found.spread(100_000, np.random.default_rng(0), scale=3.0)
    law = 9 * found.root() @ found.root().T
    assert points.sum(axis=1) == pytest.approx(np.ones(len(points)))
    assert np.cov(points.T) == pytest.approx(law, abs=0.03 * np.abs(law).max())
    assert points.mean(axis=0) == pytest.approx(found.point, abs=0.02 * np.sqrt(law.max()))


def meets_its_word(rows, found, price):
    """Whether no row left out is violated by more than what is documented."""
    out = ~found.active
    deep = (found.margins[out] < -100 / price) & (found.depth(rows[out]) < -0.1)
    return not deep.any()


@pytest.mark.parametrize("keep", [0, 3, 10])
@pytest.mark.parametrize("seed", range(5))
def test_with_rows_left_out_it_is_the_centre_of_those_held_and_meets_the_others(seed, keep):
    rows = polytope(seed, n=5, m=80)
    found = analytic_centre(rows, keep=keep)
    assert found.converged
    assert keep <= found.active.sum() < len(rows)
    assert meets_its_word(rows, found, 1e8)
    held = rows[found.active]
    gradient = 1 / found.point + (1 / (held @ found.point)) @ held
    residual = np.abs(found.point * (gradient - found.point @ gradient)).max()
    assert residual < 1e-4
    assert found.residual == pytest.approx(residual, abs=1e-4)
    assert found.point == pytest.approx(analytic_centre(held).point, abs=1e-6)
    assert not found.multipliers[~found.active].any()
    assert found.margins == pytest.approx(rows @ found.point, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_deep_redundant_rows_that_are_left_out_do_not_move_the_centre(seed):
    base = polytope(seed, n=5, m=6)
    near = analytic_centre(base)
    weights = np.random.default_rng(seed).random((300, len(base)))
    sums = unit_rows(weights @ base)
    redundant = sums[near.depth(sums) > near.depth(base).max()]
    assert len(redundant)
    rows = np.concatenate([redundant, base])
    found = analytic_centre(rows, near=near, keep=len(base))
    assert np.array_equal(np.flatnonzero(found.active), len(redundant) + np.arange(len(base)))
    assert found.point == pytest.approx(near.point, abs=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_centres_of_growing_sets_follow_from_earlier_ones(seed):
    rows, near = polytope(seed, n=6, m=90), None
    for last in range(15, 91, 15):
        near = analytic_centre(rows[:last], near=near, keep=12)
        assert near.converged
        assert meets_its_word(rows[:last], near, 1e8)
    whole = analytic_centre(rows, near=near)
    assert whole.active.all()
    assert whole.point == pytest.approx(analytic_centre(rows).point, abs=1e-8)


@pytest.mark.parametrize("build", [polytope, contradicting])
@pytest.mark.parametrize("seed", range(4))
def test_wherever_it_begins_the_centre_is_the_same(seed, build):
    rows, price = build(seed), 1e4
    begun = [analytic_centre(build(other), price=price) for other in (seed + 1, seed + 2)]
    begun.append(analytic_centre(rows[:4], price=price))
    for near in begun:
        found = analytic_centre(rows, price=price, near=near)
        assert found.converged
        assert found.point == pytest.approx(analytic_centre(rows, price=price).point, abs=1e-8)


@pytest.mark.parametrize("build", [polytope, contradicting])
@pytest.mark.parametrize("seed", range(4))
def test_damped_steps_alone_lead_to_the_same_centre(seed, build, monkeypatch):
    rows, price = build(seed), 1e4
    expected = analytic_centre(rows, price=price)
    monkeypatch.setattr("iirl_opt.rewards.centre.PATIENCE", 0)
    found = analytic_centre(rows, price=price)
    assert found.converged
    assert found.point == pytest.approx(expected.point, abs=1e-8)


def test_rows_violated_deeply_are_met_in_few_steps_from_the_centre_before():
    rows = polytope(0, n=20, m=120)
    near = analytic_centre(rows[:60])
    assert (rows @ near.point < 0).sum() > 10
    assert analytic_centre(rows, near=near, tolerance=1e-3).iterations <= 12


def test_a_centre_that_ran_out_of_steps_does_not_claim_to_have_converged():
    rows = polytope(5, n=5, m=80)
    for steps in range(4):
        found = analytic_centre(rows, keep=5, max_iterations=steps)
        assert found.iterations <= steps
        assert not found.converged
        assert found.decrement > 1e-8 or not meets_its_word(rows, found, 1e8)


@st.composite
def any_rows(draw):
    n = draw(st.integers(1, 5))
    rows = draw(arrays(np.int64, (draw(st.integers(0, 8)), n), elements=st.integers(-2, 2)))
    more = [rows, -rows, rows + 1e-9 * np.arange(n)][: draw(st.integers(1, 3))]
    rows = np.concatenate(more).astype(float)
    if draw(st.booleans()):
        return unit_rows(rows)
    centred = rows - rows.mean(axis=1, keepdims=True)
    return centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-300)


@given(
    rows=any_rows(),
    price=st.sampled_from([1e-3, 1.0, 1e4, 1e7, 1e8, 1e12, 1e16]),
    keep=st.sampled_from([None, 0, 2]),
)
def test_any_rows_give_a_point_of_the_simplex(rows, price, keep):
    first = analytic_centre(rows, price=price, keep=keep)
    for found in (first, analytic_centre(rows, price=price, keep=keep, near=first)):
        assert found.point.min() > 0
        assert found.point.sum() == pytest.approx(1)
        assert np.isfinite(found.root()).all()
        assert np.isfinite(found.depth(rows)).all()
        assert (found.multipliers <= price).all()
        if price <= 1e7:
            assert found.converged
        if found.converged:
            assert meets_its_word(rows, found, price)


@pytest.mark.parametrize("seed", range(6))
def test_a_price_beyond_what_squares_carry_still_gives_the_centre(seed):
    rows = contradicting(seed)[3:]
    found = analytic_centre(polytope(seed), price=1e14, tolerance=1e-6)
    assert found.point == pytest.approx(analytic_centre(polytope(seed)).point, abs=1e-5)
    flat = analytic_centre(rows, price=1e12)
    assert flat.point == pytest.approx(analytic_centre(rows, price=1e7).point, abs=1e-4)


@pytest.mark.parametrize("bad", [{"price": 0.0}, {"tolerance": 0.0}, {"keep": -1}])
def test_an_option_outside_its_range_is_refused(bad):
    with pytest.raises(InvalidArgument):
        analytic_centre(polytope(0), **bad)


@pytest.mark.parametrize("n", [5, 7])
def test_a_centre_nearby_of_another_width_is_refused(n):
    with pytest.raises(InvalidArgument, match=f"near is a point of {n} entries") as refused:
        analytic_centre(polytope(0), near=analytic_centre(polytope(0, n=n)))
    assert refused.value.place == "near"


@pytest.mark.parametrize("price", [1e4, 1e8, 1e10, 1e12, 1e14])
@pytest.mark.parametrize("seed", range(3))
def test_the_decrement_is_no_less_than_the_slope_in_any_direction(seed, price):
    rng = np.random.default_rng(seed)
    rows = unit_rows(rng.standard_normal((30, 6)))
    found = analytic_centre(rows, price=price, max_iterations=60)
    y = found.multipliers
    curvature = 1 / (1 / y**2 + 1 / (price - y) ** 2)
    along = rng.standard_normal((200, 6))
    along -= along.mean(axis=1, keepdims=True)
    length = np.sqrt(((along / found.point) ** 2).sum(axis=1) + (along @ rows.T) ** 2 @ curvature)
    slope = np.abs(along @ (1 / found.point + y @ rows)) / length
    assert found.decrement >= 0.99 * slope.max()
    assert found.converged == (found.decrement <= 1e-8)
