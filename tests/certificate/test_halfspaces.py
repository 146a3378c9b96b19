"""Half-spaces cut out the class of a reward, or a cone around it, and no more."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import linprog

from iirl_opt.certificate import class_halfspaces, cone_halfspaces
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.exact.numbers import as_reals


@given(seed=st.integers(0, 10_000), n=st.integers(1, 7))
def test_affine_halfspaces_are_a_minimal_cut_in_whole_numbers(seed: int, n: int) -> None:
    r = np.random.default_rng(seed).integers(-4, 5, n)
    rows = np.array([*class_halfspaces(r)], dtype=object).reshape(-1, n)
    constant = np.ptp(r) == 0
    assert len(rows) == (n if constant else n - (n == 2)) - (n == 1)
    assert not rows.sum(axis=1).any()
    flat, last = (rows, None) if constant else (rows[:-1], rows[-1])
    assert not flat.sum(axis=0).any()
    assert not (flat @ r).any()
    rank = np.linalg.matrix_rank(as_reals(flat)) if flat.size else 0  # numpy 2.0 refuses none
    assert rank == max(n - 2, 0) + (constant and n > 1)
    if last is not None:
        across = as_reals(last) @ (r - r.mean())
        assert np.isclose(across, np.linalg.norm(as_reals(last)) * np.linalg.norm(r - r.mean()))


@given(seed=st.integers(0, 10_000), n=st.integers(2, 6), tan=st.fractions("1/100", 10))
def test_rewards_in_the_cone_are_within_its_angle(seed: int, n: int, tan: Fraction) -> None:
    rng = np.random.default_rng(seed)
    r = rng.integers(-4, 5, n).astype(float)
    r[0] = r[1:].max() + 1
    rows = as_reals(np.array([*cone_halfspaces(r, tan)]))
    assert (rows @ r > 0).all()
    w = (r - r.mean()) / np.linalg.norm(r - r.mean())
    for goal in rng.normal(size=(10, n)):
        found = linprog(goal, -rows, np.zeros(len(rows)), [w, np.ones(n)], [1, 0], (None, None))
        assert found.status == 0
        assert np.linalg.norm(found.x - w) <= float(tan) * (1 + 1e-6)


def test_half_spaces_of_what_has_no_direction_are_refused() -> None:
    with pytest.raises(InvalidReward, match="is constant"):
        cone_halfspaces([1, 1], 1)
    with pytest.raises(InvalidArgument, match="tan is 0"):
        cone_halfspaces([1, 2], 0)
    for wrong in ([], [[1.0]], [np.nan, 1.0]):
        with pytest.raises(InvalidReward):
            class_halfspaces(wrong)
