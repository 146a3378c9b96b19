"""QuantEcon's dynamic programs in both forms: the same values there and here."""

import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st

import iirl_opt as iirl
from iirl_opt.errors import (
    InvalidArgument,
    InvalidGame,
    InvalidReward,
    MissingExtra,
    UnknownLabel,
)
from iirl_opt.formats import ImportedGame, from_quantecon, to_quantecon
from iirl_opt.testing import games

quantecon = pytest.importorskip("quantecon", reason="quantecon is not installed")
DiscreteDP = quantecon.markov.DiscreteDP
pytestmark = pytest.mark.oracle


def random_ddp(seed):
    """Rewards of all sizes; some choices that are not available, whose rows mean nothing."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 7), rng.integers(1, 5)
    kernel = rng.dirichlet(np.ones(n), (n, m))
    reward = rng.normal(size=(n, m)) * 10.0 ** rng.integers(-3, 6)
    missing = (rng.random((n, m)) < 0.3) & (np.arange(m) != rng.integers(m))
    reward[missing], kernel[missing] = -np.inf, 7.0
    return DiscreteDP(reward, kernel, 0.95), ~missing


@pytest.mark.parametrize("seed", range(12))
def test_values_are_those_of_quantecon_in_every_form_and_direction(seed):
    ddp, there = random_ddp(seed)
    value = ddp.solve("policy_iteration").v
    found = from_quantecon(ddp)
    optimum = iirl.policy_iteration(found.game, found.reward())
    assert abs(optimum.values - value).max() <= 1e-8 * abs(value).max()
    assert there.all() if found.available is None else (found.available[:, 0] == there).all()
    forms = [ddp.to_sa_pair_form(), ddp.to_sa_pair_form(sparse=False)]
    for again in forms + [to_quantecon(found, form=form) for form in ("product", "pairs")]:
        assert abs(again.solve("policy_iteration").v - value).max() <= 1e-8 * abs(value).max()
        assert again.num_sa_pairs == there.sum()
        back = from_quantecon(again, follower_actions=there.shape[1] if again.R.ndim == 2 else None)
        used = there.any(axis=0).nonzero()[0].max() + 1
        assert (back.game.kernel == found.game.kernel[:, :, :used]).all()
        assert (back.reward() == found.reward()[:, :, :used]).all()


@given(data=st.data())
def test_a_game_goes_out_as_the_joint_planners_and_is_itself_again(data):
    game = data.draw(games())
    reward = np.random.default_rng(data.draw(st.integers(0, 9))).normal(size=game.shape)
    for form in ("product", "pairs"):
        ddp = to_quantecon(ImportedGame(game, {"r": reward}), form=form)
        value = ddp.solve("policy_iteration").v
        best = iirl.policy_iteration(game, reward).values
        assert abs(best - value).max() <= 1e-8 * max(1, abs(value).max())
        back = from_quantecon(ddp, leader_actions=game.shape[1])
        assert back.game.kernel.tolist() == game.kernel.tolist()
        assert back.game.discount == game.discount
        assert (back.reward() == reward).all()


def test_a_state_reward_is_every_choices():
    game, reward = iirl.random_game(4, 2, 2, rng=3)
    assert to_quantecon(game, reward).R.tolist() == reward[:, None].repeat(4, axis=1).tolist()
    named = ImportedGame(game, {"a": reward, "b": -reward})
    assert to_quantecon(named, "b", form="pairs").R.tolist() == (-reward).repeat(4).tolist()


def bad(reward, kernel, beta=0.9):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DiscreteDP(reward, kernel, beta)


@pytest.mark.parametrize(
    ("ddp", "more", "error", "message"),
    [
        (bad([[1, 2]], [[[1.0], [0.5]]]), {}, InvalidGame, r"b=1\] sums to 0.5"),
        (bad([[1, 2]], [[[1.0], [0.0]]]), {}, InvalidGame, r"b=1\] sums to 0;"),
        # Integers are probabilities there, and no weights.
        (bad([[1, 2]], [[[1], [2]]]), {}, InvalidGame, r"b=1\] sums to 2"),
        (bad([[np.inf, 2]], [[[1.0], [1.0]]]), {}, InvalidReward, r"b=0\] is inf"),
        (bad([[np.nan, 2]], [[[1.0], [1.0]]]), {}, InvalidReward, r"b=0\] is nan"),
        (bad([[1, 2]], [[[1.0], [1.0]]], 1), {}, InvalidGame, "discount is 1"),
        (
            bad([[-np.inf, 2]], [[[1.0], [1.0]]]),
            {"unavailable": "refuse", "states": ["x"]},
            InvalidGame,
            r"P\[s='x', a='-', b=0\] is not available",
        ),
        (
            DiscreteDP([1.0], [[1.0]], 0.9, [0], [10**9]),
            {},
            InvalidGame,
            "a_indices reach 1000000000",
        ),
        ("ddp", {}, InvalidArgument, "ddp is 'ddp'; allowed a DiscreteDP"),
    ],
)
def test_what_is_no_game_is_named(ddp, more, error, message):
    with pytest.raises(error, match=message):
        from_quantecon(ddp, **more)


def test_without_quantecon_its_extra_is_named(monkeypatch):
    game, reward = iirl.random_game(2, 1, 1, rng=0)
    monkeypatch.setitem(sys.modules, "quantecon.markov", None)
    with pytest.raises(MissingExtra, match=r"iirl-opt\[quantecon\]"):
        to_quantecon(game, reward)


def test_an_undiscounted_program_needs_a_discount_and_an_outgoing_one_a_reward():
    assert from_quantecon(bad([[1, 2]], [[[1.0], [1.0]]], 1), "9/10").game.discount == 0.9
    game, reward = iirl.random_game(2, 1, 1, rng=0)
    with pytest.raises(InvalidArgument, match="reward is not given, and there is no reward"):
        to_quantecon(game)
    with pytest.raises(UnknownLabel, match="no reward is called 'r'"):
        to_quantecon(game, "r")
    with pytest.raises(InvalidReward, match="shape"):
        to_quantecon(game, reward[:1])
