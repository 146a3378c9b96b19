"""Sampling: chains that reproduce the prior, are calibrated, find the truth and can be repeated."""

import json
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pytest
from scipy import stats

from iirl_opt.bayesian import engine
from iirl_opt.bayesian.evidence import Evidence
from iirl_opt.bayesian.families import EpsilonGreedyFamily
from iirl_opt.bayesian.posterior import Posterior
from iirl_opt.bayesian.priors import DirichletPrior, GammaPrior, Known, UniformPrior
from iirl_opt.bayesian.proposals import DirichletProposal, Hamiltonian, SimplexWalk
from iirl_opt.bayesian.sampler import PosteriorSampler, sample, sampling
from iirl_opt.errors import InvalidArgument, InvalidValue, MissingExtra
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.policy import random_policy
from iirl_opt.observation import sample_trajectory

GAME, TRUTH = random_game(4, 2, 2, rng=3)
TRUTH = TRUTH / TRUTH.sum()


def answered(weight, game=GAME, truth=TRUTH, beta=20.0, commitments=4, **kinds):
    """A posterior after whole responses to random commitments."""
    rng = np.random.default_rng(0)
    evidence = Evidence(game)
    for _ in range(commitments):
        pi1 = random_policy(game.n_states, game.n_leader_actions, rng)
        response = BoltzmannFollower(beta).respond(game, truth, pi1)
        evidence = evidence.respond(pi1, response, weight=weight)
    return Posterior(evidence, **kinds)


# Compiling Hamiltonian chains takes a quarter of a minute.
COMPILED_ANEW = pytest.mark.campaign


# The prior


@pytest.mark.parametrize(
    "move",
    [
        DirichletProposal(3.0),
        pytest.param(Hamiltonian(leaps=3, step=0.5, acceptance=0.8), marks=COMPILED_ANEW),
    ],
)
def test_without_data_chains_reproduce_the_prior(move):
    pytest.importorskip("numba")
    alpha = np.array([1.0, 1.0, 2.0, 4.0])
    posterior = Posterior(
        Evidence(GAME), reward_prior=DirichletPrior(alpha), parameter_prior=GammaPrior(2.0, 0.1)
    )
    drawn = sample(posterior, 40_000, move=move, chains=2, thin=20, rng=1)
    rewards, betas = drawn.rewards.reshape(-1, 4), drawn.parameters.ravel()
    exact = stats.dirichlet(alpha)
    np.testing.assert_allclose(rewards.mean(axis=0), exact.mean(), atol=0.015)
    np.testing.assert_allclose(rewards.var(axis=0), exact.var(), rtol=0.15)
    assert betas.mean() == pytest.approx(20.0, rel=0.06)
    assert betas.var() == pytest.approx(200.0, rel=0.25)


def test_without_data_the_walk_is_uniform_on_its_grid():
    pytest.importorskip("numba")
    posterior = Posterior(Evidence(GAME), parameter_prior=Known(1.0))
    drawn = sample(
        posterior, 200_000, move=SimplexWalk(moves=20, grid=10), chains=1, thin=10, rng=2
    )
    units = np.rint(drawn.rewards[0] * 10).astype(int)
    keys = units @ 11 ** np.arange(4)
    points, counts = np.unique(keys, return_counts=True)
    assert points.size == 286  # 13 over 3
    # Draws are nearly independent: the variance of counts is that of a uniform sample.
    assert counts.var() / counts.mean() == pytest.approx(1, abs=0.6)
    assert drawn.acceptance == 1


def test_epsilon_is_uniform_without_data():
    posterior = Posterior(Evidence(GAME), family=EpsilonGreedyFamily())
    drawn = sample(posterior, 4000, chains=1, thin=4, rng=3, move=SimplexWalk(moves=1))
    assert drawn.parameters.mean() == pytest.approx(0.5, abs=0.08)
    assert drawn.parameters.var() == pytest.approx(1 / 12, rel=0.25)


# Calibration (Talts et al. 2018): the truth's rank among draws is uniform


def ranks(move, thin, prior_draw, n_data, n_draws):
    """Ranks of two rewards and of β for data sets simulated from the prior."""
    found = []
    game, _ = random_game(3, 2, 2, rng=5)
    prior = GammaPrior(3.0, 0.2)
    for i in range(n_data):
        rng = np.random.default_rng([11, i])
        r, beta = prior_draw(rng), prior.draw(rng)
        evidence = Evidence(game)
        for a in (0, 1):
            pi1 = game.leader_policy({"*": a})
            response = BoltzmannFollower(beta).respond(game, r, pi1)
            evidence = evidence.observe(
                sample_trajectory(game, pi1, response, rng, min_length=5, end_probability=0.5)
            )
        drawn = sample(
            Posterior(evidence, parameter_prior=prior),
            n_draws * thin,
            move=move,
            chains=1,
            thin=thin,
            warmup=200,
            rng=[12, i],
        )
        points = [*drawn.rewards[0, :, :2].T, drawn.parameters[0]]
        for truth, draws in zip([r[0], r[1], beta], points, strict=True):
            # On a grid there are ties: the truth stands at random among its equals.
            below, equal = (draws < truth - 1e-12).sum(), (np.abs(draws - truth) <= 1e-12).sum()
            found.append(below + rng.integers(equal + 1))
    return np.array(found).reshape(n_data, 3)


def uniform_on_grid(rng, grid=20):
    """A uniform point of the grid, by stars and bars."""
    bars = np.sort(rng.choice(grid + 2, 2, replace=False))
    return np.diff(np.array([-1, *bars, grid + 2])) / grid - 1 / grid


@pytest.mark.parametrize(
    ("move", "thin", "prior_draw"),
    [
        (DirichletProposal(8.0), 40, lambda rng: rng.dirichlet(np.ones(3))),
        (SimplexWalk(moves=15, grid=20), 40, uniform_on_grid),
        pytest.param(
            Hamiltonian(leaps=3, step=0.5),
            15,
            lambda rng: rng.dirichlet(np.ones(3)),
            marks=COMPILED_ANEW,
        ),
    ],
)
@pytest.mark.parametrize("n_data", [60, pytest.param(200, marks=pytest.mark.campaign)])
def test_chains_are_calibrated_on_simulated_data(move, thin, prior_draw, n_data):
    pytest.importorskip("numba")
    n_draws = 9 if n_data < 100 else 19
    for column in ranks(move, thin, prior_draw, n_data, n_draws).T:
        assert stats.chisquare(np.bincount(column, minlength=n_draws + 1)).pvalue > 0.01


# The truth


@pytest.mark.parametrize(
    ("move", "proposals"),
    [
        (SimplexWalk(moves=20), 10_000),
        (DirichletProposal(3000.0), 10_000),
        pytest.param(Hamiltonian(leaps=5), 4000, marks=COMPILED_ANEW),
    ],
)
def test_with_much_data_the_posterior_is_at_the_truth_up_to_its_ridge(move, proposals):
    pytest.importorskip("numba")
    posterior = answered(300.0)
    drawn = sample(posterior, proposals, move=move, chains=2, warmup=4000, thin=10, rng=4)
    w = TRUTH - TRUTH.mean()
    direction = drawn.normalised("direction").mean_reward
    cosine = direction @ w / np.linalg.norm(direction) / np.linalg.norm(w)
    assert cosine > 0.999
    beta = drawn.normalised("direction").mean_parameter
    assert beta == pytest.approx(20.0 * np.linalg.norm(w), rel=0.03)
    assert drawn.ridge.spread_normalised < drawn.ridge.spread


def test_more_data_concentrates_the_posterior():
    pytest.importorskip("numba")
    spreads = []
    for weight in (1.0, 30.0, 1000.0):
        drawn = sample(answered(weight), 6000, chains=2, warmup=2000, thin=5, rng=5)
        directions = drawn.normalised("direction").rewards.reshape(-1, 4)
        spreads.append(directions.std(axis=0).max())
    assert spreads[0] > 2 * spreads[1] > 4 * spreads[2]


def test_epsilon_is_found():
    pytest.importorskip("numba")
    rng = np.random.default_rng(6)
    evidence = Evidence(GAME)
    for _ in range(4):
        pi1 = random_policy(4, 2, rng)
        best = OptimalFollower("mix").respond(GAME, TRUTH, pi1)
        evidence = evidence.respond(pi1, 0.7 * best + 0.3 / 2, weight=30.0)
    posterior = Posterior(evidence, family=EpsilonGreedyFamily(), parameter_prior=UniformPrior())
    # The likelihood is flat between jumps: small moves would stay in one of its pieces.
    drawn = sample(posterior, 4000, chains=2, warmup=2000, rng=7, move=SimplexWalk(10, 20))
    assert drawn.mean_parameter == pytest.approx(0.3, abs=0.02)


# Families and priors of a user's own


@dataclass(frozen=True)
class Tempted:
    """A follower that plays its first action with probability θ whatever it is worth."""

    parameter = "temptation"
    scales = False
    bounds = (0.0, 1.0)

    def log_answer(self, q, parameter, tolerance):
        rest = (q.argmax(axis=-1)[:, None] == np.arange(q.shape[1])) * 0.9 + 0.1 / q.shape[1]
        first = np.arange(q.shape[1]) == 0
        return np.log(parameter * first + (1 - parameter) * rest)

    def follower(self, parameter):
        return BoltzmannFollower(parameter)


def test_a_family_of_ones_own_is_learnt_without_numba():
    counts = np.array([[80, 20], [90, 10], [85, 15], [85, 15]])
    evidence = Evidence(GAME).count(GAME.leader_policy({"*": 0}), counts)
    posterior = Posterior(evidence, family=Tempted())
    drawn = sample(posterior, 600, chains=1, rng=8, move=SimplexWalk(moves=20))
    assert drawn.parameter == "temptation"
    assert np.isfinite(drawn.log_posterior).all()
    with pytest.raises(InvalidArgument, match="fast"):
        sample(posterior, 10, fast=True)
    with pytest.raises(InvalidArgument, match="family"):
        sample(posterior, 10, move=Hamiltonian())


# Runs


def test_a_run_is_repeated_by_its_seed_wherever_one_looks_at_it(monkeypatch):
    posterior = answered(5.0)
    one = sample(posterior, 60, chains=2, thin=2, rng=9, fast=False)
    monkeypatch.setattr("iirl_opt.bayesian.sampler.PLANS", 24)
    looks = list(sampling(posterior, 60, chains=2, thin=2, rng=9, fast=False))
    assert len(looks) == 10
    np.testing.assert_array_equal(looks[-1].rewards, one.rewards)
    np.testing.assert_array_equal(looks[2].rewards, one.rewards[:, :9])
    other = sample(posterior, 60, chains=2, thin=2, rng=10, fast=False)
    assert (other.rewards != one.rewards).any()
    assert (one.rewards[0] != one.rewards[1]).any()


@pytest.mark.parametrize(
    "move", [SimplexWalk(), DirichletProposal(30.0, acceptance=0.3), Hamiltonian(acceptance=0.6)]
)
def test_a_sampler_goes_on_from_the_records_of_another(monkeypatch, move):
    monkeypatch.setattr("iirl_opt.bayesian.sampler.PLANS", 24)

    def begun():
        given = {"chains": 2, "thin": 2, "warmup": 6, "rng": 9, "fast": False}
        return PosteriorSampler(posterior, 40, move=move, **given)

    posterior = answered(5.0)
    first = begun()
    records = [json.loads(json.dumps(first.record())) for _ in first]
    assert len(records) == 7
    later = begun()
    for record in records[:3]:
        with pytest.raises(InvalidArgument, match=r"record\.draws"):
            later.take_up({**record, "draws": [1, 3]})
        later.take_up(record)
    short = {"arrays": [*records[3]["arrays"][:-1], "AAAA"]}
    generators = records[3]["generators"]
    for changed in (short, {"arrays": 3}, {"generators": []}, {"generators": [generators[0], {}]}):
        with pytest.raises(InvalidArgument, match=r"record\."):
            later.take_up({**records[3], **changed})
    *_, last = later
    np.testing.assert_array_equal(last.rewards, first.chains.rewards)
    np.testing.assert_array_equal(last.log_posterior, first.chains.log_posterior)
    np.testing.assert_array_equal(last.acceptance, first.chains.acceptance)


def test_a_run_can_be_stopped_and_taken_up_again(monkeypatch):
    monkeypatch.setattr("iirl_opt.bayesian.sampler.PLANS", 24)
    posterior = answered(5.0)
    (look,) = islice(sampling(posterior, 1000, chains=2, fast=False), 1)
    assert look.rewards.shape == (2, 6, 4)
    more = sample(posterior, 10, chains=2, initial=look.last, fast=False)
    for (r, beta), rewards in zip(look.last, more.rewards, strict=True):
        assert np.abs(rewards[0] - r).sum() <= 0.2 + 1e-12  # at most 100 moves away
        assert beta > 0


def test_log_posteriors_of_draws_are_those_of_the_posterior():
    posterior = answered(5.0)
    for move in (SimplexWalk(), DirichletProposal(), Hamiltonian()):
        drawn = sample(posterior, 20, move=move, chains=1, rng=11, fast=False)
        for r, beta, log in zip(
            drawn.rewards[0], drawn.parameters[0], drawn.log_posterior[0], strict=True
        ):
            assert posterior.log_density(r, beta) == pytest.approx(log, rel=1e-9)


def test_without_numba_the_extra_is_named(monkeypatch):
    def missing():
        raise MissingExtra("compiled sampling", "fast")

    monkeypatch.setattr(engine, "compiled", missing)
    posterior = answered(5.0)
    with pytest.raises(MissingExtra, match=r"iirl-opt\[fast\]"):
        sample(posterior, 10, fast=True)
    assert sample(posterior, 10, chains=1).n_draws == 10


@pytest.mark.parametrize(
    "wrong",
    [
        {"proposals": 0},
        {"chains": 0},
        {"thin": 11},
        {"thin": 1.5},
        {"warmup": -1},
        {"initial": []},
        {"initial": [(np.full(4, 0.3), 1.0)]},
        {"initial": [([0.5, 0.5], 1.0)]},
        {"initial": [([np.nan, 0.5, 0.5, 0.0], 1.0)]},
        {"initial": [(np.full(4, 0.25), -1.0)]},
        {"initial": [(np.full(4, 0.25), np.nan)]},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InvalidValue):
        sample(answered(1.0), **{"proposals": 10, "fast": False, **wrong})
