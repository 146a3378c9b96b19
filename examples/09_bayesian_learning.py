"""Learn from a partner who errs, with a family of followers of your own, and look at the ridge.

The partner is Boltzmann-rational, but in one step of five it falls back on its habit, the first
action. A family that knows of the habit explains it with a larger β than one that takes every slip
for a lack of rationality. With a folder behind it the script also draws what it found there:
``python examples/09_bayesian_learning.py docs/images``.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

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


game, _ = iirl.random_game(3, 2, 3, rng=4)
truth, beta = np.array([0.0, 0.7, 0.3]), 40.0
rng = np.random.default_rng(0)
evidence = iirl.bayesian.Evidence(game)
for pi1 in ([[1, 0]] * 3, [[0, 1]] * 3):
    pi2 = HabitFollower(beta).respond(game, truth, pi1)
    for _ in range(4):
        evidence = evidence.observe(iirl.sample_trajectory(game, pi1, pi2, rng, min_length=15))

prior = iirl.bayesian.exponential_prior(40.0)
plain = iirl.Posterior(evidence, parameter_prior=prior)
own = iirl.Posterior(evidence, HabitFamily(), parameter_prior=prior)

# The library's own family is compiled (extra fast); yours runs in NumPy, by its likelihood.
move = iirl.bayesian.DirichletProposal(30.0)
ours = iirl.bayesian.sample(plain, 10_000, move=move, thin=5, warmup=1000, rng=0)
yours = iirl.bayesian.sample(own, 3000, move=move, chains=2, warmup=500, rng=0)

for name, chains in (("Boltzmann", ours), ("with the habit", yours)):
    moved = chains.normalised("min")
    drawn, normal = chains.mean_parameter, moved.mean_parameter
    print(f"{name:<15} β (truth {beta:g}) {drawn:6.1f} as drawn, {normal:6.1f} where min r = 0")
    print(f"{'':<15} reward {np.round(moved.mean_reward, 2)}, truth {truth}")
    print(f"{'':<15} {chains.warning or 'R-hat and the rest are in order'}")
print(ours.ridge)

# What to play next: the best commitment to the partner that the means describe.
learner = iirl.BayesianInteractiveIRL(game, proposals=500, family=HabitFamily(), fast=False)
learner = learner.tell(iirl.sample_trajectory(game, pi1, pi2, rng, min_length=50))
print("next commitment:", [game.leader_actions[a] for a in learner.ask().argmax(axis=1)])

if len(sys.argv) > 1:
    from iirl_opt import plot

    axes = plot.plot_chains(ours, most=2)
    print("wrote", plot.save(axes[0], Path(sys.argv[1]) / "posterior.png"))

assert ours.warning is None
assert yours.normalised("min").mean_parameter > 3 * ours.normalised("min").mean_parameter
assert own.log_likelihood(truth, beta) > plain.log_likelihood(truth, beta)
