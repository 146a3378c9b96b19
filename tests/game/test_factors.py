"""Systems of ``I − γ P``: every way to a solution ends within the bound that is stated for it."""

from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from iirl_opt.game import factors
from iirl_opt.game.exact import exact_values
from iirl_opt.game.factors import Factors, error_of
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import MDP
from iirl_opt.game.values import error_bound

WAYS = ("sweeps that mix", "steps", "factors", "dense factors", "sweeps")
DISCOUNTS = ["0", "1/2", "9/10", "999/1000", 1 - Fraction(1, 10**6), 1 - Fraction(1, 10**9)]


def solver(way, chain, discount):
    """Factors that take one way, at any size."""
    with patch.object(factors, "DENSE_STATES", chain.shape[0] if way == "dense factors" else 0):
        found = Factors(chain, discount)
        found._mixes = way == "sweeps that mix"
        found._steps = 1000 * (way == "steps")
        found._dearness = np.inf if way == "sweeps" else 0.0
        if way in ("sweeps", "factors", "dense factors"):
            found._direct = found._factored()
    return found


@st.composite
def chains(draw):
    """Integer weights of a chain of up to five states: any, cyclic, or in two parts."""
    n = draw(st.integers(1, 5))
    kind = draw(st.sampled_from(["any", "cycle", "parts"]))
    if kind == "cycle":
        return np.roll(np.eye(n, dtype=int), 1, axis=1)
    rows = st.lists(st.integers(0, 3), min_size=n, max_size=n)
    weights = np.array(draw(st.lists(rows, min_size=n, max_size=n))) + np.eye(n, dtype=int)
    if kind == "parts":
        weights[: n // 2, n // 2 :] = 0
    return weights


@pytest.mark.parametrize("way", WAYS)
@given(data=st.data(), weights=chains(), discount=st.sampled_from(DISCOUNTS))
def test_values_are_within_the_bound_of_the_exact_ones(way, data, weights, discount):
    if way == "sweeps" and Fraction(discount) > Fraction(9, 10):
        discount = "9/10"
    n = len(weights)
    mdp = MDP(weights[:, None], discount)
    entries = st.sampled_from([0, 1, -1, Fraction(1, 3), 7, -(10**12)])
    reward = np.array(data.draw(st.lists(entries, min_size=n, max_size=n)), dtype=object)
    exact = exact_values(mdp, reward, np.ones((n, 1)))
    found, mean = solver(way, sp.csr_array(mdp.kernel[:, 0]), mdp.discount), reward.astype(float)
    values = found.solve(mean)
    error = error_of(found, mean, 2 * factors.UNIT * np.abs(mean), values)
    for value, true, bound in zip(values, exact, error, strict=True):
        assert abs(Fraction(value) - true) <= Fraction(bound)


def unstructured(n):
    rng = np.random.default_rng(0)
    rows = (rng.random(5 * n), rng.integers(0, n, 5 * n), np.arange(0, 5 * n + 1, 5))
    chain = sp.csr_array(rows, shape=(n, n))
    return sp.csr_array(sp.diags_array(1 / chain.sum(axis=1)) @ chain)


def ring(n):
    """A walk that stays, or goes on, on a ring: slow to mix, cheap to factor."""
    steps = sp.eye_array(n, format="csr") + sp.csr_array(np.roll(np.eye(n), 1, axis=1))
    return sp.csr_array(steps / 2)


def parts(n):
    """Two parts that mix, and hardly ever lead to each other."""
    chain = sp.block_diag([unstructured(n // 2)] * 2, format="lil")
    chain[0] *= 1 - 1e-9
    chain[0, n - 1] = 1e-9
    return sp.csr_array(chain)


@pytest.mark.parametrize("discount", [0.9, 1 - 1e-6])
@pytest.mark.parametrize("chain", [unstructured, ring, parts])
def test_every_way_agrees_within_the_bounds(chain, discount):
    n = 300
    mean = np.random.default_rng(1).random(n)
    mean[-1] = -1e12
    answers = []
    for way in [*WAYS[:3], "as it comes"]:
        found = Factors(chain(n), discount) if way[0] == "a" else solver(way, chain(n), discount)
        values = found.solve(mean)
        answers.append((values, error_of(found, mean, np.zeros(n), values)))
    for values, error in answers:
        assert (np.abs(values - answers[2][0]) <= error + answers[2][1]).all()
        # No looser than rounding of what a state meets asks for.
        assert (error <= 4 * answers[2][1]).all()


def test_a_bound_is_not_wider_where_what_is_dear_is_not_met():
    chain = sp.csr_array(sp.block_diag([unstructured(200)] * 2))
    sizes = np.repeat([1e-16, 1e-4], 200)
    bound = Factors(chain, 0.999).bound(sizes)
    assert (bound[:200] < 4e-13).all()
    assert (bound[200:] < 0.4).all()


def test_factors_are_taken_where_they_are_cheaper():
    # A long cycle does not mix, and has no fill; an unstructured chain mixes, and is filled in.
    mean = np.random.default_rng(0).random(2000)
    for chain, factored in [(ring(2000), True), (unstructured(2000), False)]:
        found = Factors(chain, 0.9999)
        found.solve(mean)
        assert (found._direct is not None) == factored


def test_a_small_residual_beside_a_large_one_keeps_its_own_bound():
    model = MDP(np.array([[[1, 0, 0]], [[0, 0, 1]], [[0, 0, 1]]], dtype=float), 0.9)
    bound = error_bound(model, np.array([1e-3, 0, -1e6]), np.ones((3, 1)), np.zeros(3))
    assert (bound >= [1e-2, 9e6, 1e7]).all()
    assert (bound <= 2.01 * np.array([1e-2, 9e6, 1e7])).all()


def test_a_correction_that_overflows_ends():
    game, _ = random_game(300, 1, 1, rng=0, restart=False)
    with np.errstate(all="ignore"):
        Factors(game.matrix, 0.9).solve(np.full(300, 1.7e308), np.zeros(300))
