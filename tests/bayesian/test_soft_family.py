"""The posterior given a soft-optimal partner: its likelihood is of the follower's own answers."""

import numpy as np
import pytest

import iirl_opt as iirl
from iirl_opt.bayesian import Evidence, Hamiltonian, Known, SoftOptimalFamily, sample
from iirl_opt.errors import InvalidArgument
from iirl_opt.testing import check_family


def test_the_likelihood_is_that_of_what_the_follower_plays():
    rng, family = np.random.default_rng(0), SoftOptimalFamily()
    for k in range(20):
        shape = [int(x) for x in rng.integers(1, 6, 3)]
        game, reward = iirl.random_game(*shape, rng=k, discount=float(rng.choice([0, 0.5, 0.99])))
        pi1 = iirl.random_policy(*shape[:2], rng)
        counts = rng.integers(0, 5, (shape[0], shape[2])).astype(float)
        beta = 10 ** rng.uniform(-3, 3)
        posterior = iirl.Posterior(Evidence(game).count(pi1, counts), family)
        logs = family.follower(beta).log_respond(game, reward, pi1)
        right = (counts * logs).sum()
        assert posterior.log_likelihood(reward, beta) == pytest.approx(right, rel=1e-9, abs=1e-9)


def test_the_truth_is_likeliest_and_a_known_temperature_stays():
    game, truth = iirl.random_game(3, 2, 2, rng=4)
    truth = truth / truth.sum()
    partner, evidence = SoftOptimalFamily().follower(20.0), Evidence(game)
    for seed in range(3):
        pi1 = iirl.random_policy(3, 2, seed)
        evidence = evidence.respond(pi1, partner.respond(game, truth, pi1), weight=1e3)
    posterior = iirl.Posterior(evidence, SoftOptimalFamily(), parameter_prior=Known(20.0))
    others = np.random.default_rng(0).dirichlet(np.ones(3), 20)
    best = posterior.log_density(truth, 20.0)
    assert all(posterior.log_density(other, 20.0) < best for other in others)
    chains = sample(posterior, 4, chains=2, thin=2, rng=0)
    assert (chains.parameters == 20.0).all()


def test_what_it_promises_holds_and_what_it_cannot_is_refused():
    check_family(SoftOptimalFamily())
    game, truth = iirl.random_game(3, 2, 2, rng=4)
    posterior = iirl.Posterior(Evidence(game), SoftOptimalFamily())
    with pytest.raises(InvalidArgument, match="BoltzmannFamily"):
        posterior.gradient(truth, 1.0)
    with pytest.raises(InvalidArgument, match="BoltzmannFamily"):
        sample(posterior, 2, move=Hamiltonian())
