"""Programs over sets of rewards whose objective, or reward, holds cvxpy parameters."""

import cvxpy as cp
import numpy as np
import pytest

import iirl_opt as iirl
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.solver import solve

GAME, TRUTH = iirl.random_game(4, 2, 2, rng=3)
PI1 = iirl.uniform_policy(4, 2)
KNOWN = iirl.FeasibleRewards(GAME).observe(PI1, iirl.OptimalFollower().respond(GAME, TRUTH, PI1))
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(4,), (4, 4)])
@pytest.mark.parametrize("price", [None, 0.5])
def test_an_objective_may_be_a_parameter(shape, price):
    c = cp.Parameter(shape, name="c")
    problem = KNOWN.problem(2 * c, price=price)
    assert problem.is_dcp(dpp=True)
    with pytest.raises(InvalidArgument, match="c has no value"):
        solve(problem)
    for _ in range(3):
        c.value = RNG.standard_normal(shape)
        plain = c.value if len(shape) == 1 else c.value.reshape(GAME.shape)
        assert solve(problem).value == pytest.approx(KNOWN.maximise(2 * plain, price=price).value)


def test_a_reward_may_be_affine_in_parameters():
    features, weights = cp.Parameter((4, 2), name="features"), cp.Variable(2, name="w")
    reward = features @ weights
    limits = [*KNOWN.constraints(reward), weights >= 0, cp.sum(weights) == 1]
    problem = cp.Problem(cp.Maximize(reward[0]), limits)
    assert problem.is_dcp(dpp=True)
    for _ in range(2):
        features.value = np.stack([TRUTH, RNG.random(4)], axis=1)
        plain = features.value @ weights
        rows = [*KNOWN.constraints(plain), weights >= 0, cp.sum(weights) == 1]
        expected = solve(cp.Problem(cp.Maximize(plain[0]), rows)).value
        assert solve(problem).value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("objective", "error", "said"),
    [
        (cp.Parameter(3), InvalidReward, r"objective has shape \(3,\); allowed \(4,\) or \(4, 4\)"),
        (cp.Variable(4, name="x"), InvalidArgument, "objective holds the variable x"),
    ],
)
def test_an_objective_that_is_none_is_refused_by_name(objective, error, said):
    with pytest.raises(error, match=said):
        KNOWN.problem(objective)


def test_what_solves_takes_numbers():
    p = cp.Parameter(4, name="p")
    for ask in (KNOWN.maximise, KNOWN.nearest):
        with pytest.raises(InvalidReward, match="allowed numbers"):
            ask(p)
