"""The ridge: chains reach its end and leave it as often, by a second computation and by quadrature.

Near its end the reward is nearly constant and β large, and chains that are stuck there, or never
get there, agree with each other. So chains start from independent draws of the posterior itself:
whatever the kernel and however slowly it mixes, they must stay distributed so.

The second computation: with ``v = β r`` the likelihood depends on ``m = v − min v`` alone, and with
uniform rewards and β exponential of rate λ a priori the density of v is ``β^(1 − S) exp(−λ β)``.
"""

from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import expn

from iirl_opt.bayesian import engine
from iirl_opt.bayesian.evidence import Evidence
from iirl_opt.bayesian.posterior import Posterior
from iirl_opt.bayesian.priors import DirichletPrior, Known, exponential_prior
from iirl_opt.bayesian.proposals import DirichletProposal, Hamiltonian
from iirl_opt.bayesian.sampler import sample
from iirl_opt.game.generate import random_game

# What a partner with a habit did in examples/learn/03_a_careless_partner.py.
GAME, _ = random_game(3, 2, 3, rng=4)
SEEN = [
    ([[1, 0]] * 3, np.array([[7, 4, 3], [53, 0, 0], [1, 0, 13]])),
    ([[0, 1]] * 3, np.array([[2, 5, 4], [12, 4, 34], [19, 0, 0]])),
]
RATE, FAR = 1 / 40, 30.0
MOVES = [DirichletProposal(30.0), Hamiltonian(leaps=5, step=0.15)]
# Compiling Hamiltonian chains takes a quarter of a minute.
COMPILED = [MOVES[0], pytest.param(MOVES[1], marks=pytest.mark.campaign)]


def posterior(**kinds):
    evidence = Evidence(GAME)
    for pi1, counts in SEEN:
        evidence = evidence.count(pi1, counts)
    return Posterior(evidence, **{"parameter_prior": exponential_prior(1 / RATE), **kinds})


def log_likelihoods(v):
    """Log-likelihoods (n,) at ``v = β r``, (n, 3): the best of all 27 policies, no iteration."""
    logs = np.zeros(len(v))
    for pi1, counts in SEEN:
        kernel = GAME.follower_mdp(np.array(pi1, dtype=float)).kernel
        chains = [kernel[np.arange(3), list(policy)] for policy in product(range(3), repeat=3)]
        values = [v @ np.linalg.inv(np.eye(3) - GAME.discount * chain).T for chain in chains]
        q = GAME.discount * np.einsum("sbt,nt->nsb", kernel, np.max(values, axis=0))
        q -= q.max(axis=2, keepdims=True)
        logs += (counts * (q - np.log(np.exp(q).sum(axis=2, keepdims=True)))).sum(axis=(1, 2))
    return logs


def beyond(beta):
    """``∫ b^(−2) exp(−λ b) db`` from β on."""
    return expn(2, RATE * beta) / beta


@cache
def quadrature(n=150, top=120.0):
    """Midpoints m (3 n², 3) of cells with a smallest entry 0, their widths and probabilities."""
    edges = np.expm1(np.linspace(0, np.log1p(2 * top), n + 1)) / 2
    centres, sizes = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    faces = [np.insert(list(product(centres, repeat=2)), s, 0.0, axis=1) for s in range(3)]
    widths = [np.insert(list(product(sizes, repeat=2)), s, 0.0, axis=1) for s in range(3)]
    m, width = np.concatenate(faces), np.concatenate(widths)
    area = np.tile(np.outer(sizes, sizes).ravel(), 3)
    logs = log_likelihoods(m)
    weight = area * np.exp(logs - logs.max()) * beyond(m.sum(axis=1))
    return m, width, weight / weight.sum()


def exact(n, seed):
    """Independent draws of the posterior: rewards (n, 3) and β (n,)."""
    rng = np.random.default_rng(seed)
    m, width, weight = quadrature()
    cell = rng.choice(len(m), n, p=weight)
    m = m[cell] + width[cell] * (rng.random((n, 3)) - 0.5)
    grid = np.geomspace(1e-4, 2000.0, 20_000)
    share = rng.random(n) * beyond(m.sum(axis=1))
    beta = np.interp(-np.log(share), -np.log(beyond(grid)), grid)
    return (m + (beta - m.sum(axis=1))[:, None] / 3) / beta[:, None], beta


def test_both_computations_of_the_likelihood_agree():
    rng = np.random.default_rng(0)
    for _ in range(10):
        r, beta = rng.dirichlet(np.ones(3)), rng.exponential(40.0)
        expected = log_likelihoods(beta * r[None])[0]
        assert posterior().log_likelihood(r, beta) == pytest.approx(expected, rel=1e-12)


@pytest.mark.campaign
@pytest.mark.parametrize("move", MOVES)
def test_chains_that_start_from_the_posterior_stay_distributed_so(move):
    pytest.importorskip("numba")
    rewards, before = exact(800, seed=1)
    start = list(zip(rewards, before, strict=True))
    drawn = sample(posterior(), 10, move=move, chains=800, warmup=0, thin=10, initial=start, rng=2)
    after = drawn.parameters[:, 0]
    more, betas = exact(50_000, seed=3)
    assert stats.ks_2samp(after, betas).pvalue > 0.01
    flat = betas * (1 - 3 * more.min(axis=1))
    normal = drawn.normalised("min")
    assert stats.ks_2samp(normal.parameters[:, 0], flat).pvalue > 0.01
    # Detailed balance: as many go out along the ridge as come back, and many do.
    out = int(((before <= 10) & (after > 10)).sum())
    back = int(((before > 10) & (after <= 10)).sum())
    assert out + back > 100
    assert stats.binomtest(out, out + back).pvalue > 0.01


@pytest.mark.parametrize("move", COMPILED)
def test_chains_do_not_stick_at_the_end_of_the_ridge(move):
    pytest.importorskip("numba")
    rewards, betas = exact(10_000, seed=4)
    far = np.flatnonzero(betas > FAR)[:80]
    start = list(zip(rewards[far], betas[far], strict=True))
    drawn = sample(posterior(), 50, move=move, chains=80, warmup=0, thin=50, initial=start, rng=5)
    still = int((drawn.parameters[:, 0] > FAR).sum())
    m, _, weight = quadrature()
    share = weight @ np.minimum(1, beyond(FAR) / beyond(m.sum(axis=1)))
    assert stats.binomtest(still, 80, share).pvalue > 0.01


@pytest.mark.parametrize(
    ("move", "proposals"),
    [(MOVES[0], 20_000), pytest.param(MOVES[1], 8000, marks=pytest.mark.campaign)],
)
def test_chains_agree_with_quadrature_on_the_posterior_of_the_example(move, proposals):
    pytest.importorskip("numba")
    pytest.importorskip("arviz")
    m, _, weight = quadrature()
    least = m.sum(axis=1)
    mean = weight @ (expn(1, RATE * least) / beyond(least))
    share = weight @ np.minimum(1, beyond(FAR) / beyond(least))
    assert mean == pytest.approx(8.343, abs=0.002)
    assert share == pytest.approx(0.0303, abs=1e-4)
    drawn = sample(posterior(), proposals, move=move, thin=2, warmup=proposals // 4, rng=6)
    beta, n = drawn.parameters, drawn.diagnostics.ess_bulk
    assert n > 1000
    assert drawn.mean_parameter == pytest.approx(mean, abs=3 * beta.std() / np.sqrt(n))
    error = np.sqrt(share * (1 - share) / n)
    assert (beta > FAR).mean() == pytest.approx(share, abs=3 * error)
    normal = drawn.normalised("min")
    error = normal.parameters.std() / np.sqrt(normal.diagnostics.ess_bulk)
    assert normal.mean_parameter == pytest.approx(weight @ least, abs=3 * error)


# The slide alone


@pytest.mark.parametrize(
    ("alpha", "shape", "rate"),
    [([1.0, 1.0, 1.0], 1.0, RATE), ([0.5, 1.0, 3.0], 2.0, 0.1), ([2.0], 3.0, 0.5)],
)
def test_slides_from_the_prior_keep_the_prior(alpha, shape, rate):
    rng, n = np.random.default_rng(7), 3000
    alpha = np.array(alpha)
    x = np.log(
        np.column_stack([rng.gamma(alpha, size=(n, alpha.size)), rng.gamma(shape, 1 / rate, n)])
    )
    before = x.copy()
    for point in x:
        for _ in range(5):
            engine.slide_in_logs((alpha, (1, shape, rate)), rng, point)
    assert (x[:, -1] != before[:, -1]).mean() > 0.9
    weights, beta = np.exp(x[:, :-1]), np.exp(x[:, -1])
    total = weights.sum(axis=1)
    np.testing.assert_allclose(total, np.exp(before[:, :-1]).sum(axis=1), rtol=1e-12)
    assert stats.kstest(beta, stats.gamma(shape, scale=1 / rate).cdf).pvalue > 0.01
    for i in range(alpha.size):  # independent Gammas, but for the total that stays
        assert stats.kstest(weights[:, i], stats.gamma(alpha[i]).cdf).pvalue > 0.01


def test_a_slide_keeps_the_likelihood_and_what_is_left_of_the_reward():
    rng, target = np.random.default_rng(8), posterior()
    for _ in range(30):
        r, beta, new = rng.dirichlet(np.ones(3)), rng.exponential(40.0), np.empty(3)
        other, ratio = engine.slide(rng, r, beta, new)
        assert np.isfinite(ratio)
        assert new.sum() == pytest.approx(1, abs=1e-15)
        np.testing.assert_allclose(
            other * (new - new.min()), beta * (r - r.min()), rtol=0, atol=1e-12 * (beta + other)
        )
        old = target.log_likelihood(r, beta)
        assert target.log_likelihood(new, other) == pytest.approx(old, rel=1e-9)


def test_there_is_no_sliding_where_the_smallest_reward_or_beta_is_nothing():
    rng, new = np.random.default_rng(9), np.empty(2)
    for r, beta in (([0.0, 1.0], 3.0), ([0.5, 0.5], 0.0)):
        assert engine.slide(rng, np.array(r), beta, new) == (beta, -np.inf)


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("prior", [DirichletPrior(), DirichletPrior([0.5, 1.0, 2.0])])
def test_draws_have_the_log_density_of_the_posterior_after_many_slides(move, prior):
    target = posterior(reward_prior=prior)
    drawn = sample(target, 50, move=move, chains=1, thin=30, warmup=50, rng=10, fast=False)
    logs = drawn.log_posterior[0]
    for r, beta, log in zip(drawn.rewards[0], drawn.parameters[0], logs, strict=True):
        assert target.log_density(r, beta) == pytest.approx(log, rel=1e-9)


@pytest.mark.parametrize("move", MOVES)
def test_a_known_beta_does_not_slide(move):
    drawn = sample(
        posterior(parameter_prior=Known(8.0)), 40, move=move, chains=1, rng=11, fast=False
    )
    np.testing.assert_allclose(drawn.parameters, 8.0, rtol=1e-15)
