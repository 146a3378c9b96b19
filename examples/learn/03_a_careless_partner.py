"""
Infer what a careless partner wants
===================================

For whoever's partner errs. From trajectories a posterior of the reward *and* of the rationality β
is sampled. The partner here errs in a way of its own: in one step of five it falls back on its
habit, the first action. A family of followers that knows of the habit is a class of your own.
"""

from dataclasses import dataclass

import numpy as np

import iirl_opt as iirl

HABIT = 0.2


@dataclass(frozen=True)
class HabitFamily:
    """Boltzmann with unknown β, and its first action with probability `HABIT` in any case."""

    parameter = "beta"
    scales = True  # twice the reward with half of β is the same follower
    bounds = (0.0, np.inf)

    def log_answer(self, q, parameter, tolerance=0.0):
        """Return log-probabilities (n, B) at action values (n, B)."""
        rational = np.log1p(-HABIT) + iirl.BoltzmannFollower(parameter).log_answer(q)
        rational[..., 0] = np.logaddexp(rational[..., 0], np.log(HABIT))
        return rational

    def follower(self, parameter):
        """Return the follower of this β, for planning and for simulations."""
        return HabitFollower(parameter)


@dataclass(frozen=True)
class HabitFollower:
    """The member of the family with this β."""

    beta: float

    def answer(self, q, tolerance=0.0, rng=None):
        """Return the play (…, B) at action values (…, B)."""
        return np.exp(HabitFamily().log_answer(q, self.beta))

    def respond(self, game, reward, pi1, rng=None):
        """Return the response policy (S, B)."""
        return self.answer(iirl.best_responses(game, reward, pi1).q)


# %%
# Eight short episodes under two commitments.

game, _ = iirl.random_game(3, 2, 3, rng=4)
truth, beta, rng = np.array([0.0, 0.7, 0.3]), 40.0, np.random.default_rng(0)
evidence = iirl.bayesian.Evidence(game)
for pi1 in ([[1, 0]] * 3, [[0, 1]] * 3):
    pi2 = HabitFollower(beta).respond(game, truth, pi1)
    for _ in range(4):
        evidence = evidence.observe(iirl.sample_trajectory(game, pi1, pi2, rng, min_length=15))

# %%
# Two explanations. Boltzmann takes every slip for a lack of rationality, so its β is far too small.
prior, move = iirl.bayesian.exponential_prior(40.0), iirl.bayesian.DirichletProposal(30.0)
for family in (iirl.bayesian.BoltzmannFamily(), HabitFamily()):
    posterior = iirl.Posterior(evidence, family, parameter_prior=prior)
    few = {"warmup": 300, "chains": 2, "fast": False}  # so few are not worth compiling for
    chains = iirl.bayesian.sample(posterior, 1500, move=move, rng=0, **few)
    moved = chains.normalised("min")  # all draws have least reward 0: see the ridge, below
    print(f"{type(family).__name__:16} β {moved.mean_parameter:4.1f} of {beta:g}", end=", reward ")
    print(moved.mean_reward.round(2), "of", truth)

# %%
# A constant in the reward can be exchanged for β: the ridge, in the last row.

axes = iirl.plot.plot_chains(chains, truth=(truth, beta), most=2)
iirl.plot.save(axes[0], "the-posterior-of-a-partner-with-a-habit.png")
