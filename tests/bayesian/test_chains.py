"""Chains: means, diagnostics and what is said when they have not mixed."""

import builtins

import numpy as np
import pytest

from iirl_opt.bayesian.chains import Chains
from iirl_opt.errors import MissingExtra


def chains(rewards, parameters, scales=True):
    shape = np.shape(parameters)
    logs = np.random.default_rng(0).normal(size=shape)
    return Chains(rewards, np.asarray(parameters), logs, np.ones(shape[0]), 1, "beta", scales, 0.0)


def independent(seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    rewards = rng.dirichlet(np.ones(3), size=(4, 250))
    betas = rng.gamma(9.0, 1.0, size=(4, 250)) + shift * np.arange(4)[:, None]
    return chains(rewards, betas)


def test_independent_draws_raise_no_warning():
    pytest.importorskip("arviz")
    found = independent()
    assert found.warning is None
    assert found.diagnostics.r_hat < 1.02
    assert 500 < found.diagnostics.ess_bulk < 1500
    assert 500 < found.diagnostics.ess_tail < 1500


def test_chains_in_different_places_are_told():
    pytest.importorskip("arviz")
    assert "1.05" in independent(shift=3.0).warning


def test_draws_that_stand_still_decide_nothing():
    pytest.importorskip("arviz")
    still = Chains(
        np.full((2, 20, 3), 1 / 3), np.ones((2, 20)), np.ones((2, 20)), np.zeros(2), 1, "b", True, 0
    )
    assert np.isnan(still.diagnostics.r_hat)
    assert "not defined" in still.warning


def test_without_arviz_the_warning_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **named):
        if name == "arviz":
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    found = independent()
    assert "iirl-opt[bayes]" in found.warning
    with pytest.raises(MissingExtra):
        _ = found.diagnostics
    with pytest.raises(MissingExtra):
        found.to_arviz()


def test_arviz_gets_all_draws():
    pytest.importorskip("arviz")
    found = independent()
    data = found.to_arviz()
    np.testing.assert_array_equal(np.asarray(data["posterior"]["beta"]), found.parameters)
    np.testing.assert_array_equal(np.asarray(data["posterior"]["reward"]), found.rewards)
    assert data["posterior"]["reward"].dims == ("chain", "draw", "state")
    np.testing.assert_array_equal(np.asarray(data["sample_stats"]["lp"]), found.log_posterior)


def test_means_last_and_picked_draws():
    found = independent()
    np.testing.assert_allclose(found.mean_reward, found.rewards.reshape(-1, 3).mean(axis=0))
    assert found.mean_parameter == pytest.approx(found.parameters.mean())
    assert len(found.last) == 4
    np.testing.assert_array_equal(found.last[2][0], found.rewards[2, -1])
    r, beta = found.pick(np.random.default_rng(1))
    place = np.argwhere(found.parameters == beta)[0]
    np.testing.assert_array_equal(found.rewards[tuple(place)], r)


def test_the_ridge_is_said_and_taken_out():
    # One follower, seen at many places of its ridge.
    share = np.random.default_rng(2).uniform(0.2, 1, size=(2, 100))
    rewards = (1 - share[..., None]) / 3 + share[..., None] * np.array([0.7, 0.3, 0.0])
    found = chains(rewards, 10 / share)
    assert found.ridge.uniform_share == pytest.approx((1 - share).mean())
    assert found.ridge.spread > 0.3
    assert found.ridge.spread_normalised < 1e-12
    assert "ridge" in str(found.ridge)
    normal = found.normalised("min")
    np.testing.assert_allclose(normal.parameters, 10.0)
    np.testing.assert_allclose(normal.rewards[..., 0], 0.7)


def test_a_parameter_without_a_unit_is_left_alone():
    found = chains(np.full((1, 5, 2), 0.5), np.full((1, 5), 0.3), scales=False)
    np.testing.assert_array_equal(found.normalised("min").parameters, 0.3)
