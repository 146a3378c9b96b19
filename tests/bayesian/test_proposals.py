"""Proposals: densities in both directions, symmetry, and detailed balance written down."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from iirl_opt.bayesian import engine
from iirl_opt.bayesian.evidence import Evidence
from iirl_opt.bayesian.posterior import Posterior
from iirl_opt.bayesian.priors import DirichletPrior, Known
from iirl_opt.bayesian.proposals import (
    DirichletProposal,
    GammaProposal,
    Hamiltonian,
    ReflectedStep,
    SimplexWalk,
)
from iirl_opt.bayesian.sampler import sample
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.game.generate import random_game

GRID = 5
POINTS = [p for p in product(range(GRID + 1), repeat=3) if sum(p) == GRID]
PLACE = {p: i for i, p in enumerate(POINTS)}


class Script:
    """A source of numbers that were written down before."""

    def __init__(self, numbers):
        self.numbers = list(numbers)

    def random(self):
        return self.numbers.pop(0)


def walk_matrix():
    """The transition matrix of one move, from the engine's own code: all numbers it can draw."""
    matrix = np.zeros((len(POINTS), len(POINTS)))
    for point in POINTS:
        for i, j in product(range(3), range(2)):
            units = np.array(point)
            engine.walk(units, 1, Script([(i + 0.5) / 3, (j + 0.5) / 2]))
            matrix[PLACE[point], PLACE[tuple(units)]] += 1 / 6
    return matrix


def observed(weight=3.0, **priors):
    game, truth = random_game(3, 2, 2, rng=4)
    pi1 = game.leader_policy({"*": 0})
    response = BoltzmannFollower(15.0).respond(game, truth / truth.sum(), pi1)
    return Posterior(Evidence(game).respond(pi1, response, weight=weight), **priors)


def test_a_move_of_the_walk_is_as_likely_as_its_reverse():
    matrix = walk_matrix()
    np.testing.assert_allclose(matrix.sum(axis=1), 1)
    np.testing.assert_array_equal(matrix, matrix.T)
    assert (np.linalg.matrix_power(matrix, 2 * GRID) > 0).all()


def kernel(posterior, moves):
    """The transition matrix of Metropolis–Hastings with the walk, and the exact posterior."""
    logs = np.array([posterior.log_density(np.array(p) / GRID, 15.0) for p in POINTS])
    target = np.exp(logs - logs.max())
    target /= target.sum()
    proposal = np.linalg.matrix_power(walk_matrix(), moves)
    accept = np.minimum(1, target[None, :] / target[:, None])
    matrix = proposal * accept
    matrix += np.diag(1 - matrix.sum(axis=1))
    return matrix, target


@pytest.mark.parametrize("moves", [1, 3])
def test_the_stationary_distribution_of_the_kernel_is_the_posterior(moves):
    matrix, target = kernel(observed(parameter_prior=Known(15.0)), moves)
    assert target.max() / target.min() > 3  # not the uniform distribution
    power = np.linalg.matrix_power(matrix, 2**14)
    np.testing.assert_allclose(power, np.tile(target, (len(POINTS), 1)), rtol=0, atol=1e-10)
    flow = target[:, None] * matrix
    np.testing.assert_allclose(flow, flow.T, atol=1e-15)


@pytest.mark.parametrize(("fast", "steps"), [(True, 200_000), (False, 4_000)])
def test_the_chain_makes_the_transitions_of_that_matrix(fast, steps):
    if fast:
        pytest.importorskip("numba")
    posterior = observed(parameter_prior=Known(15.0))
    matrix, target = kernel(posterior, 3)
    drawn = sample(
        posterior, steps, move=SimplexWalk(moves=3, grid=GRID), chains=1, rng=1, fast=fast
    )
    units = np.rint(drawn.rewards[0] * GRID).astype(int)
    visits = np.array([PLACE[tuple(u)] for u in units])
    counts = np.zeros_like(matrix)
    np.add.at(counts, (visits[:-1], visits[1:]), 1)
    assert not counts[matrix == 0].any()
    # Given the state, transitions are multinomial: a chi-square test over the likely ones.
    expected = counts.sum(axis=1, keepdims=True) * matrix
    likely = expected > 5
    score = ((counts - expected)[likely] ** 2 / expected[likely]).sum()
    freedom = likely.sum() - (likely.sum(axis=1) > 0).sum()
    assert stats.chi2.sf(score, freedom) > 0.01
    if fast:
        share = np.bincount(visits, minlength=len(POINTS)) / visits.size
        assert np.abs(share - target).sum() < 0.03


def test_a_dirichlet_proposal_knows_its_density_in_both_directions():
    rng = np.random.default_rng(0)
    move = DirichletProposal(30.0, 0.7)
    old = (rng.dirichlet(np.ones(4)), np.zeros(4, dtype=np.int64))
    for _ in range(20):
        new = (np.empty(4), np.zeros(4, dtype=np.int64))
        ratio = engine.move_reward(move.code, rng, old, new)
        r, s = old[0] / old[0].sum(), new[0] / new[0].sum()
        there = stats.dirichlet.logpdf(s, 30 * r + 0.7)
        back = stats.dirichlet.logpdf(r, 30 * s + 0.7)
        assert ratio == pytest.approx(back - there, rel=1e-9, abs=1e-9)
        old = new


def test_a_gamma_proposal_knows_its_density_in_both_directions():
    rng, old = np.random.default_rng(1), 7.0
    for _ in range(20):
        new, ratio = engine.move_parameter(GammaProposal(6.0).code((0.0, np.inf)), rng, old)
        there = stats.gamma.logpdf(new, 6, scale=old / 6)
        back = stats.gamma.logpdf(old, 6, scale=new / 6)
        assert ratio == pytest.approx(back - there, rel=1e-9, abs=1e-9)
        old = new


def test_a_reflected_step_is_symmetric():
    # A chain of such steps without a target is uniform, at the ends too.
    rng, x, seen = np.random.default_rng(2), 0.01, []
    for i in range(40_000):
        x, ratio = engine.move_parameter(ReflectedStep(0.4).code((0.0, 1.0)), rng, x)
        assert ratio == 0
        assert 0 <= x <= 1
        if i % 20 == 0:
            seen.append(x)
    assert stats.kstest(seen, stats.uniform().cdf).pvalue > 0.01


def test_snapping_keeps_the_sum_and_is_near():
    rng = np.random.default_rng(3)
    for size in (1, 4, 30):
        r = rng.dirichlet(np.ones(size))
        units = SimplexWalk(grid=100).snap(r)
        assert units.sum() == 100
        assert np.abs(units / 100 - r).max() < 0.01
        again = SimplexWalk(grid=100).snap(units / 100)
        np.testing.assert_array_equal(again, units)
        assert SimplexWalk(grid=100).snap(r, least=1).min() >= 1
    with pytest.raises(InvalidArgument, match="grid"):
        SimplexWalk(grid=10).snap(np.full(30, 1 / 30), least=1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: SimplexWalk(moves=0),
        lambda: SimplexWalk(grid=True),
        lambda: SimplexWalk(moves=1.5),
        lambda: DirichletProposal(0.0),
        lambda: DirichletProposal(offset=np.nan),
        lambda: GammaProposal(-1.0),
        lambda: ReflectedStep(0.0),
        lambda: ReflectedStep(1.5),
        lambda: Hamiltonian(leaps=0),
        lambda: Hamiltonian(step=np.inf),
        lambda: Hamiltonian(acceptance=1.0),
    ],
)
def test_proposals_that_are_none_are_refused(make):
    with pytest.raises(InvalidArgument):
        make()


def test_the_walk_refuses_priors_that_are_infinite_on_its_boundary():
    posterior = observed(reward_prior=DirichletPrior(0.5))
    with pytest.raises(InvalidArgument, match="SimplexWalk"):
        sample(posterior, 10, chains=1, fast=False)
    low = observed(reward_prior=DirichletPrior(2.0))
    assert sample(low, 10, chains=1, fast=False).rewards.min() > 0
