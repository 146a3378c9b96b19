"""The engine: warm-started planning, its derivatives, moving bases, and the two ways to run it."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from iirl_opt.bayesian import engine
from iirl_opt.bayesian.evidence import Evidence
from iirl_opt.bayesian.families import BoltzmannFamily, EpsilonGreedyFamily
from iirl_opt.bayesian.markov_chain import engine_of
from iirl_opt.bayesian.posterior import Posterior
from iirl_opt.bayesian.priors import DirichletPrior, GammaPrior, Known, UniformPrior
from iirl_opt.bayesian.proposals import DirichletProposal, Hamiltonian, SimplexWalk
from iirl_opt.bayesian.sampler import sample
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import policy_iteration
from iirl_opt.game.policy import random_policy


def watched(n_states=12, episodes=3, seed=0, discount="9/10", weight=3.0, **kinds):
    """A posterior after whole Boltzmann responses to random mixed commitments."""
    game, truth = random_game(n_states, 2, 3, rng=seed, discount=discount)
    rng = np.random.default_rng(seed)
    evidence, r = Evidence(game), truth / truth.sum()
    for _ in range(episodes):
        pi1 = random_policy(n_states, 2, rng)
        response = BoltzmannFollower(20.0).respond(game, r, pi1)
        evidence = evidence.respond(pi1, response, weight=weight)
    return Posterior(evidence, **kinds)


def code(posterior, fast):
    if fast:
        pytest.importorskip("numba")
    return engine_of(posterior, fast)


def exact(posterior, r):
    """Action values (E, S, B) by policy iteration from scratch."""
    game = posterior.evidence.game
    return np.array(
        [policy_iteration(game.follower_mdp(pi1), r).q for pi1 in posterior.evidence.commitments]
    )


# Planning


@pytest.mark.parametrize("discount", ["0", "1/2", "9/10", "99/100"])
def test_planning_from_any_policy_gives_the_optimal_action_values(discount):
    posterior = watched(discount=discount)
    rng = np.random.default_rng(1)
    bank = posterior.bank(rng.dirichlet(np.ones(12)))
    for _ in range(10):
        r = rng.dirichlet(np.full(12, 0.3))
        truth = exact(posterior, r)
        for e in range(3):
            q = np.empty((12, 3))
            engine.plan(bank, e, r, rng.integers(3, size=12), q)
            np.testing.assert_allclose(q, truth[e], rtol=0, atol=1e-10)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("move", [SimplexWalk(moves=40, grid=200), DirichletProposal(200.0)])
def test_action_values_are_exact_at_every_accepted_reward(fast, move):
    # A limit of 2 makes bases move again and again, and inverses be computed anew.
    posterior = watched(weight=0.5)
    parts = code(posterior, fast)
    rng = np.random.default_rng(2)
    units = SimplexWalk(grid=200).snap(rng.dirichlet(np.ones(12)))
    r = units / 200
    bank = posterior.bank(r, limit=2)
    state = (r, units, np.array([20.0, posterior.log_density(r, 20.0), 0.0]))
    out = (np.empty((1, 12)), np.empty(1), np.empty(1))
    accepted, renewed = 0, 0
    still = (0.0, -1.0)  # said, not left out: numba compiles once for each way of calling
    for _ in range(150):
        age = bank.age.sum()
        moves = (move.code, (engine.GAMMA, 20.0, 0.0, np.inf), False)
        new = parts.metropolis(bank, parts.family, parts.priors, moves, rng, state, out, 1, still)
        accepted += new
        renewed += bank.age.sum() < age
        if new:
            truth = exact(posterior, r)
            for e in range(3):
                q, policy = np.empty((12, 3)), bank.policy[e].copy()
                engine.plan(bank, e, r, policy, q)
                np.testing.assert_array_equal(policy, bank.policy[e])
                np.testing.assert_allclose(q, truth[e], rtol=0, atol=1e-9)
    assert accepted > 20
    assert renewed > 0


def test_a_base_moves_only_when_a_policy_is_far_from_it():
    posterior = watched()
    bank = posterior.bank(np.full(12, 1 / 12), limit=5)
    near, far = bank.base.copy(), bank.base.copy()
    near[:, :5] = (near[:, :5] + 1) % 3
    far[:, :6] = (far[:, :6] + 1) % 3
    before = bank.base.copy()
    engine.settle(bank, near)
    np.testing.assert_array_equal(bank.base, before)
    engine.settle(bank, far)
    np.testing.assert_array_equal(bank.base, far)
    for e in range(3):
        inverse = np.linalg.inv(engine.system(bank, e))
        np.testing.assert_allclose(bank.inverse[e], inverse, atol=1e-12)


def test_the_adjoint_is_that_of_the_values():
    posterior = watched()
    rng = np.random.default_rng(3)
    bank = posterior.bank(rng.dirichlet(np.ones(12)))
    policy, u, r = rng.integers(3, size=12), rng.normal(size=12), rng.normal(size=12)
    mdp = posterior.evidence.game.follower_mdp(posterior.evidence.commitments[1])
    chain = mdp.kernel[np.arange(12), policy]
    values = np.linalg.solve(np.eye(12) - 0.9 * chain, r)
    assert engine.adjoint(bank, 1, policy, u) @ r == pytest.approx(u @ values, rel=1e-12)


def test_compiled_code_is_one_whatever_the_game_was_made_from():
    # numba compiles anew for each combination of types, for half a minute.
    dense = np.full((3, 1, 2, 3), 1 / 3)
    games = [TwoAgentMDP(dense, 0.5), TwoAgentMDP(np.eye(3, dtype=int)[None].repeat(2, 0)
             .transpose(1, 0, 2)[:, None], "1/2"), random_game(3, 1, 2, rng=0)[0]]  # fmt: skip
    counts = np.ones((3, 2))
    banks = [
        Posterior(Evidence(game).count(np.ones((3, 1)), counts)).bank(np.full(3, 1 / 3))
        for game in games
    ]
    kinds = {tuple(getattr(part, "dtype", type(part)) for part in bank) for bank in banks}
    assert len(kinds) == 1


# Densities


def test_the_dirichlet_density_is_scipys():
    rng = np.random.default_rng(4)
    for _ in range(20):
        shape = rng.gamma(1.0, 3.0, size=5)
        x = rng.dirichlet(shape)
        expected = stats.dirichlet.logpdf(x / x.sum(), shape)
        assert engine.dirichlet_log(x, shape) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_the_gamma_density_is_scipys():
    for x, shape, rate in [(0.3, 0.5, 2.0), (7.0, 20.0, 3.0), (1e-8, 1.0, 0.002)]:
        expected = stats.gamma.logpdf(x, shape, scale=1 / rate)
        assert engine.gamma_log(x, shape, rate) == pytest.approx(expected, rel=1e-12)


def test_densities_at_the_edge_of_their_support():
    assert engine.gamma_log(-1.0, 2.0, 1.0) == -np.inf
    assert engine.gamma_log(0.0, 2.0, 1.0) == -np.inf
    assert engine.gamma_log(0.0, 1.0, 3.0) == pytest.approx(np.log(3.0))
    assert engine.gamma_log(0.0, 0.5, 1.0) == np.inf
    edge = np.array([0.0, 1.0])
    assert engine.dirichlet_log(edge, np.array([2.0, 1.0])) == -np.inf
    assert engine.dirichlet_log(edge, np.array([0.5, 1.0])) == np.inf
    assert engine.dirichlet_log(edge, np.ones(2)) == 0.0


# One source, two ways to run it


@pytest.mark.parametrize(
    "parameter_prior", [GammaPrior(2.0, 0.1), Known(15.0), UniformPrior(1, 30)]
)
@pytest.mark.parametrize("move", [SimplexWalk(moves=20), DirichletProposal(300.0)])
def test_compiled_and_plain_chains_agree(move, parameter_prior):
    pytest.importorskip("numba")
    posterior = watched(parameter_prior=parameter_prior, reward_prior=DirichletPrior(1.5))
    plain, fast = (sample(posterior, 80, move=move, chains=2, rng=5, fast=f) for f in (False, True))
    np.testing.assert_allclose(fast.rewards, plain.rewards, atol=1e-12)
    np.testing.assert_allclose(fast.parameters, plain.parameters, rtol=1e-12)
    np.testing.assert_allclose(fast.log_posterior, plain.log_posterior, rtol=1e-9)
    np.testing.assert_array_equal(fast.acceptance, plain.acceptance)


def test_compiled_and_plain_chains_agree_for_epsilon_greedy_followers():
    pytest.importorskip("numba")
    posterior = watched(family=EpsilonGreedyFamily())
    plain, fast = (sample(posterior, 80, chains=1, rng=6, fast=f) for f in (False, True))
    np.testing.assert_allclose(fast.rewards, plain.rewards, atol=1e-12)
    np.testing.assert_allclose(fast.parameters, plain.parameters, rtol=1e-12)
    np.testing.assert_allclose(fast.log_posterior, plain.log_posterior, rtol=1e-9)


@pytest.mark.campaign  # compiling these takes a quarter of a minute
def test_compiled_and_plain_hamiltonian_chains_agree():
    pytest.importorskip("numba")
    posterior = watched(n_states=6, parameter_prior=GammaPrior(2.0, 0.1))
    move = Hamiltonian(leaps=2)
    plain, fast = (
        sample(posterior, 20, move=move, warmup=10, chains=1, rng=7, fast=f) for f in (False, True)
    )
    # Leapfrog steps spread differences of rounding.
    np.testing.assert_allclose(fast.rewards, plain.rewards, atol=1e-7)
    np.testing.assert_allclose(fast.log_posterior, plain.log_posterior, rtol=1e-6)


# Sizes that break things


@pytest.mark.parametrize(
    ("move", "fast"),
    [
        *product([SimplexWalk(), DirichletProposal()], [False, True]),
        (Hamiltonian(), False),
        pytest.param(Hamiltonian(), True, marks=pytest.mark.campaign),
    ],
)
@pytest.mark.parametrize(("n_states", "n_b"), [(1, 1), (1, 3), (4, 1)])
def test_one_state_and_one_action(fast, move, n_states, n_b):
    kernel = np.full((n_states, 1, n_b, n_states), 1 / n_states)
    game = TwoAgentMDP(kernel, discount=0.5)
    seen = Evidence(game).count(np.ones((n_states, 1)), np.ones((n_states, n_b)))
    posterior = Posterior(seen, family=BoltzmannFamily())
    code(posterior, fast)
    drawn = sample(posterior, 30, move=move, chains=1, rng=8, fast=fast)
    np.testing.assert_allclose(drawn.rewards.sum(axis=-1), 1, atol=1e-12)
    assert np.isfinite(drawn.log_posterior).all()


def test_unreachable_states_and_actions_without_effect_are_ties_and_no_trouble():
    kernel = np.zeros((3, 1, 2, 3))
    kernel[0, 0, :, 1] = kernel[1, 0, :, 0] = kernel[2, 0, :, 2] = 1.0
    game = TwoAgentMDP(kernel, discount=0.9, start=[1.0, 0.0, 0.0])
    seen = Evidence(game).count(np.ones((3, 1)), [[3, 1], [0, 2], [0, 0]])
    posterior = Posterior(seen)
    for r in ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1 / 3] * 3):
        assert posterior.log_likelihood(r, 50.0) == pytest.approx(6 * np.log(0.5))
