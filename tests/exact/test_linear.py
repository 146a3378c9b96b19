"""Exact linear systems: solutions solve, with and without python-flint."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from iirl_opt.errors import NotExact
from iirl_opt.exact.linear import echelon, eliminate, solve, solve_near
from iirl_opt.exact.numbers import as_fractions, as_reals


@given(seed=st.integers(0, 10_000), m=st.integers(0, 5), n=st.integers(0, 5))
def test_elimination_agrees_with_flint(seed: int, m: int, n: int) -> None:
    pytest.importorskip("flint")
    rng = np.random.default_rng(seed)
    matrix = as_fractions(rng.integers(-2, 3, (m, n))) / 3
    slow, fast = eliminate(matrix), echelon(matrix)
    assert (slow[0] == fast[0]).all()
    assert slow[1] == fast[1]


@given(seed=st.integers(0, 10_000), m=st.integers(1, 5), n=st.integers(1, 5))
def test_solutions_solve_and_stay_near_the_guess(seed: int, m: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    matrix, near = as_fractions(rng.integers(-2, 3, (m, n))), rng.normal(size=n).round(3)
    right = matrix @ as_fractions(near)
    found = solve_near(matrix, right, near + 1e-9)
    assert found is not None
    assert (matrix @ found == right).all()
    free = n - np.linalg.matrix_rank(as_reals(matrix))
    assert np.count_nonzero(found == as_fractions(near + 1e-9)) >= free
    if m == n:
        whole = solve(matrix, right)
        assert (whole is None) == (free > 0)


def test_what_has_no_solution_has_none() -> None:
    one = as_fractions([[1], [1]])
    assert solve_near(one, as_fractions([1, 2]), [0.0]) is None
    assert solve(as_fractions([[0]]), as_fractions([1])) is None


def test_large_systems_are_refused_where_flint_is_missing() -> None:
    identity = as_fractions(np.eye(41, dtype=int))
    with pytest.raises(NotExact, match=r"41 equations need python-flint.*iirl-opt\[exact\]"):
        eliminate(identity)
