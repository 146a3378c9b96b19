"""Analytic centres: optimality conditions, an independent program, flat sets."""

import cvxpy as cp
import numpy as np
import pytest

from iirl_opt.errors import InvalidArgument
from iirl_opt.programs.centre import analytic_centre, unit_rows
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
    solve(cp.Problem(cp.Maximize(barrier), [cp.sum(x) == 1]), Clarabel())
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
    assert found.slack == pytest.approx(rows @ x)
    assert found.violation == 0


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


def test_rows_left_out_are_added_when_violated():
    rows = polytope(5, n=5, m=80)
    whole, some = analytic_centre(rows), analytic_centre(rows, keep=10)
    assert some.active.sum() < len(rows)
    assert (rows @ some.point).min() > -1e-9
    assert whole.active.all()


@pytest.mark.parametrize("bad", [{"price": 0.0}, {"tolerance": 0.0}])
def test_an_option_outside_its_range_is_refused(bad):
    with pytest.raises(InvalidArgument):
        analytic_centre(polytope(0), **bad)
