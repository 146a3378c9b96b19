"""Where chains start, and how far they step: error rates of zero, narrow and absurd priors."""

from dataclasses import dataclass

import numpy as np
import pytest

from iirl_opt.bayesian import engine
from iirl_opt.bayesian.algorithm_4 import BayesianInteractiveIRL
from iirl_opt.bayesian.evidence import Evidence
from iirl_opt.bayesian.families import BoltzmannFamily, EpsilonGreedyFamily
from iirl_opt.bayesian.posterior import Posterior
from iirl_opt.bayesian.priors import DirichletPrior, GammaPrior, Known, UniformPrior
from iirl_opt.bayesian.proposals import (
    DirichletProposal,
    GammaProposal,
    ReflectedStep,
    SimplexWalk,
    parameter_step,
)
from iirl_opt.bayesian.sampler import sample
from iirl_opt.errors import InvalidArgument, InvalidObservation
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import random_policy
from iirl_opt.observation import record_trajectory, sample_trajectory
from iirl_opt.rewards.explanation import Seen, find_explanation

# Walk between a and b, or end: ending in a is best on 11/28 of the simplex.
WALK = np.zeros((3, 1, 2, 3), dtype=int)
WALK[0, 0, 0, 1] = WALK[0, 0, 1, 2] = WALK[1, 0, 0, 0] = WALK[1, 0, 1, 2] = WALK[2, 0, :, 2] = 1
GAME = TwoAgentMDP(WALK, "9/10")
ALONE = np.ones((3, 1))

NEVER, HARD = (EpsilonGreedyFamily(), Known(0.0)), (BoltzmannFamily(), Known(1e308))
MOVE = DirichletProposal(30.0, acceptance=0.3)


def seen(*pairs: tuple[int, int]) -> Evidence:
    counts = np.zeros((3, 2))
    for pair in pairs:
        counts[pair] += 1
    return Evidence(GAME).count(ALONE, counts)


def draws(evidence, family, prior, reward_prior=None, n=1500, **how):
    posterior = Posterior(evidence, family, reward_prior or DirichletPrior(), prior)
    how = {"move": MOVE, "chains": 4, "warmup": 600, **how}
    return posterior, sample(posterior, n, **how)


@dataclass(frozen=True)
class Floor:
    """Uniform over the rewards that are at least `least` in every state."""

    least: float

    def log_density(self, reward):
        return 0.0 if reward.min() >= self.least else -np.inf

    def draw(self, n_states, rng):
        return self.least + (1 - n_states * self.least) * rng.dirichlet(np.ones(n_states))


# Starts


@pytest.mark.parametrize(("family", "prior"), [NEVER, HARD])
def test_a_follower_that_never_errs_is_sampled_over_the_rewards_that_explain_it(family, prior):
    posterior, drawn = draws(seen((0, 1), (2, 0)), family, prior)
    for r in drawn.rewards[:, ::100].reshape(-1, 3):
        assert np.isfinite(posterior.log_density(r, prior.value))
        assert r[2] >= r[1] - 1e-9
        assert 1.9 * r[2] >= r[1] + 0.9 * r[0] - 1e-9
    centroid = np.array([223, 168, 533]) / 924
    np.testing.assert_allclose(drawn.mean_reward, centroid, atol=0.03)


def test_rare_explanations_are_found_and_each_chain_has_its_own():
    game, truth = random_game(7, 2, 3, rng=3)
    rng = np.random.default_rng(1)
    evidence = Evidence(game)
    for _ in range(3):
        pi1 = random_policy(7, 2, rng)
        response = OptimalFollower("mix").respond(game, truth, pi1)
        evidence = evidence.observe(
            sample_trajectory(game, pi1, response, rng, min_length=12, end_probability=0.1)
        )
    family, prior = NEVER
    posterior = Posterior(evidence, family, parameter_prior=prior)
    rare = [posterior.log_density(rng.dirichlet(np.ones(7)), 0.0) for _ in range(100)]
    assert not np.isfinite(rare).any()
    drawn = sample(posterior, 20, move=MOVE, chains=2, warmup=0, fast=False)
    assert np.isfinite(drawn.log_posterior).all()
    assert np.abs(drawn.rewards[0, 0] - drawn.rewards[1, 0]).max() > 1e-3


def test_an_integer_program_completes_what_no_random_policy_does():
    # A long corridor with a prize behind it: that the first step is worth taking needs a follower
    # who goes on in every state that was not seen.
    n = 12
    P = np.zeros((n, 1, 2, n), dtype=int)
    for s in range(n):
        P[s, 0, 0, s] = P[s, 0, 1, min(s + 1, n - 1)] = 1
    mdp = TwoAgentMDP(P, "9/10").follower_mdp(np.ones((n, 1)))
    played = np.zeros((n, 2), dtype=bool)
    played[0, 1] = True
    found, decided = find_explanation([Seen(mdp, played)], np.random.default_rng(0))
    assert decided
    assert found is not None
    v = np.linalg.solve(np.eye(n) - 0.9 * mdp.kernel[np.arange(n), found.policies[0]], found.reward)
    q = found.reward[:, None] + 0.9 * mdp.kernel @ v
    np.testing.assert_allclose(q.max(axis=1), v, atol=1e-7)
    assert q[0, 1] - q[0, 0] >= found.margin - 1e-7 > 0


@pytest.mark.parametrize("move", [MOVE, SimplexWalk(30)])
def test_contradictions_of_a_follower_that_never_errs_are_named(move):
    with pytest.raises(InvalidObservation, match=r"commitment 1, s=0.*tied"):
        draws(seen((0, 0), (0, 1)), *NEVER, move=move)
    both = seen((0, 0)).count(np.ones((3, 1)), np.eye(3, 2, k=1))
    with pytest.raises(InvalidObservation, match="tied"):
        draws(both, *NEVER, move=move)


def test_contradictions_over_several_states_are_told():
    # From both the follower goes to the other: for no reward, but with ties.
    P = np.zeros((2, 1, 2, 2), dtype=int)
    P[0, 0, 0, 0] = P[0, 0, 1, 1] = P[1, 0, 0, 1] = P[1, 0, 1, 0] = 1
    game = TwoAgentMDP(P, "1/2")
    evidence = Evidence(game).count(np.ones((2, 1)), [[0, 1], [0, 1]])
    with pytest.raises(InvalidObservation, match="explained by no reward"):
        sample(Posterior(evidence, NEVER[0], parameter_prior=NEVER[1]), 10, fast=False)


def test_what_errs_a_little_explains_everything():
    for prior in (Known(1e-300), Known(1.0), UniformPrior(0.0, 1e-9), UniformPrior(0.999, 1.0)):
        _, drawn = draws(seen((0, 0), (0, 1)), NEVER[0], prior, n=20, warmup=0)
        assert np.isfinite(drawn.log_posterior).all()


@pytest.mark.parametrize("family", [EpsilonGreedyFamily(), BoltzmannFamily()])
def test_priors_that_are_zero_where_the_data_are_explained_leave_no_start(family):
    # With floors of .3 in every state ending is best in some of the rest.
    prior = Known(0.0) if family.scales is False else Known(1e300)
    posterior, drawn = draws(seen((0, 1)), family, prior, Floor(0.3), n=30, warmup=20)
    assert drawn.rewards.min() >= 0.3
    assert np.isfinite(posterior.log_density(drawn.rewards[0, 0], prior.value))

    class Elsewhere(Floor):
        def draw(self, n_states, rng):
            return np.array([0.1, 0.6, 0.3])

        def log_density(self, reward):
            return 0.0 if abs(reward[1] - 0.6) < 1e-3 else -np.inf

    if not family.scales:
        with pytest.raises(InvalidArgument, match="initial was not found"):
            draws(seen((0, 1)), family, prior, Elsewhere(0.0), n=10)


@pytest.mark.parametrize(
    ("family", "prior"),
    [
        (EpsilonGreedyFamily(), Known(1.5)),
        (EpsilonGreedyFamily(), Known(-0.1)),
        (EpsilonGreedyFamily(), UniformPrior(2.0, 3.0)),
        (BoltzmannFamily(), Known(-1.0)),
        (BoltzmannFamily(), UniformPrior(-2.0, -1.0)),
    ],
)
def test_parameters_that_no_follower_has_are_refused(family, prior):
    with pytest.raises(InvalidArgument, match="parameter_prior"):
        Posterior(seen(), family, parameter_prior=prior)


@pytest.mark.parametrize("move", [None, GammaProposal(2.0), ReflectedStep(0.9)])
@pytest.mark.parametrize(
    "prior", [UniformPrior(-3.0, 0.4), UniformPrior(0.6, 9.0), GammaPrior(2, 1)]
)
@pytest.mark.parametrize("fast", [False, True])
def test_parameters_stay_where_family_and_prior_both_are(move, prior, fast):
    if fast:
        pytest.importorskip("numba")
    _, drawn = draws(
        seen(), EpsilonGreedyFamily(), prior, n=60, chains=2, parameter_move=move, fast=fast
    )
    low, high = prior.support
    assert drawn.parameters.min() >= max(0, low)
    assert drawn.parameters.max() <= min(1, high)
    assert np.ptp(drawn.parameters) > 0.1


def test_a_learner_forgets_ends_of_chains_that_the_newest_episode_rules_out():
    learner = BayesianInteractiveIRL(
        GAME, family=NEVER[0], parameter_prior=NEVER[1], proposals=20, thin=1, fast=False, move=MOVE
    )
    learner = learner.tell(record_trajectory(GAME, ALONE, [(0, 0, 1)]))
    r, _ = learner.sample().last[0]
    other = 0 if r[2] > r[0] else 1  # not what the last draw has the follower do in b
    learner = learner.tell(record_trajectory(GAME, ALONE, [(1, 0, other)]))
    assert learner.initial is not None
    assert not np.isfinite(learner.posterior.log_density(*learner.initial[0]))
    assert np.isfinite(learner.sample().log_posterior).all()


# Narrow priors


NARROW = [
    (EpsilonGreedyFamily(), UniformPrior(0.29, 0.31)),
    (EpsilonGreedyFamily(), UniformPrior(0.3, 0.3 + 1e-12)),
    (EpsilonGreedyFamily(), UniformPrior(0.0, 1e-6)),
    (EpsilonGreedyFamily(), GammaPrior(3e6, 1e7)),
    (BoltzmannFamily(), UniformPrior(9.999, 10.001)),
    (BoltzmannFamily(), UniformPrior(0.0, 1e-6)),
    (BoltzmannFamily(), GammaPrior(1e12, 1e10)),
]


@pytest.mark.parametrize(("family", "prior"), NARROW)
def test_steps_are_no_longer_than_the_prior_is_wide(family, prior):
    pytest.importorskip("arviz")
    _, drawn = draws(seen((0, 1), (2, 0)), family, prior, n=2000)
    assert drawn.acceptance.min() > 0.15
    assert drawn.diagnostics.r_hat < 1.06
    rng = np.random.default_rng(0)
    exact = np.array([prior.draw(rng) for _ in range(2000)])
    spread = drawn.parameters.std() / exact.std()
    assert 0.6 < spread < 1.4


def test_a_narrow_prior_on_the_reward_is_met_by_adaptation():
    pytest.importorskip("numba")
    alpha = np.array([2e5, 3e5, 5e5])
    family, prior = EpsilonGreedyFamily(), Known(0.3)
    _, fixed = draws(seen(), family, prior, DirichletPrior(alpha), fast=True,
                     move=DirichletProposal(30.0))  # fmt: skip
    _, drawn = draws(seen(), family, prior, DirichletPrior(alpha), fast=True, n=20_000, warmup=3000)
    assert fixed.acceptance.max() < 0.02
    assert 0.15 < drawn.acceptance.min() < drawn.acceptance.max() < 0.5
    np.testing.assert_allclose(drawn.mean_reward, alpha / alpha.sum(), atol=3e-4)
    exact = np.sqrt(alpha / 1e6 * (1 - alpha / 1e6) / 1e6)
    np.testing.assert_allclose(drawn.rewards.std(axis=(0, 1)), exact, rtol=0.2)


def test_after_the_warm_up_moves_stay_as_they_are():
    evidence, (family, prior) = seen((0, 1)), NARROW[0]
    posterior = Posterior(evidence, family, parameter_prior=prior)
    r = np.array([0.2, 0.2, 0.6])
    bank = posterior.bank(r)
    state = (r, np.zeros(3, dtype=np.int64), np.array([0.3, posterior.log_density(r, 0.3), 0.5]))
    parts = (bank, family, (DirichletPrior(), prior))
    moves = ((engine.DIRICHLET, 30.0, 1.0), ReflectedStep(0.01).code(prior.support), False)
    out = (np.empty((50, 3)), np.empty(50), np.empty(50))
    rng = np.random.default_rng(0)
    engine.metropolis(*parts, moves, rng, state, out, 1, (0.3, -1.0))
    assert state[2][2] == 0.5
    engine.metropolis(*parts, moves, rng, state, out, 1, (0.3, 0.0))
    assert state[2][2] != 0.5


def test_usual_steps_are_those_of_wide_priors():
    assert parameter_step(UniformPrior(), (0.0, 1.0), False) == (engine.REFLECTED, 0.1, 0.0, 1.0)
    wide = parameter_step(GammaPrior(1.0, 1 / 500), (0.0, np.inf), True)
    assert wide == (engine.GAMMA, 20.0, 0.0, np.inf)
    assert parameter_step(Known(0.3), (0.3, 0.3), False)[0] == engine.STAY


@pytest.mark.parametrize(
    ("x", "low", "high", "where"),
    [
        (0.4, 0.0, 1.0, 0.4),
        (-0.25, 0.0, 1.0, 0.25),
        (1.25, 0.0, 1.0, 0.75),
        (2.25, 0.0, 1.0, 0.25),
        (0.5, 2.0, 3.0, 2.5),
        (-1.0, 0.0, np.inf, 1.0),
        (5.0, -np.inf, 3.0, 1.0),
        (5.0, -np.inf, np.inf, 5.0),
    ],
)
def test_reflections_fold_into_the_interval(x, low, high, where):
    assert engine.reflect(x, low, high) == pytest.approx(where)


@pytest.mark.parametrize("beta", [0.0, 1e6, 1e300, 1e308])
def test_compiled_and_plain_likelihoods_agree_for_any_beta(beta):
    pytest.importorskip("numba")
    _, plain = draws(
        seen((0, 1)), BoltzmannFamily(), Known(beta), n=40, chains=1, warmup=0, fast=False
    )
    _, quick = draws(
        seen((0, 1)), BoltzmannFamily(), Known(beta), n=40, chains=1, warmup=0, fast=True
    )
    np.testing.assert_allclose(plain.rewards, quick.rewards, rtol=1e-9)
    np.testing.assert_allclose(plain.log_posterior, quick.log_posterior, rtol=1e-9, atol=1e-14)
