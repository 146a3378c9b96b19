"""
A partner who hesitates
=======================

For whoever sees *how often* a partner does what, not only what it does. A partner that maximises
reward plus entropy (soft-optimal, maximum causal entropy) says by its probabilities what it wants:
one commitment can tell its reward, and a second one that its discount is not what we thought.
"""

import matplotlib.pyplot as plt
import numpy as np

import iirl_opt as iirl
from iirl_opt.follower import SoftOptimalFollower
from iirl_opt.rewards import SoftRewards, affine_distance
from iirl_opt.verification import identifiability, verify_soft_optimal

game, truth = iirl.random_game(6, 2, 3, rng=3, discount=0.9)
partner = SoftOptimalFollower(temperature=float(np.ptp(truth)))
first, second = (iirl.random_policy(6, 2, seed) for seed in (0, 1))

# %%
# Before it is asked
# ------------------
# What a commitment can tell is a rank of the game, proved in exact numbers.

found = identifiability(game, [first])
print(found, "proved:", bool(iirl.certify(found).check()))
assert found.identified

# %%
# One answer
# ----------
# The temperature is not known, so the reward is told up to its unit; and a hypothesis gets a
# verdict in the game as it is.

known = SoftRewards(game).observe(first, partner.respond(game, truth, first))
fit = known.fit()
print(f"angle to the truth {affine_distance(truth, fit.reward):.1e}, residual {fit.residual:.1e}")
print(verify_soft_optimal(2 * truth + 1, known))
print(verify_soft_optimal(np.roll(truth, 1), known).evidence)
assert affine_distance(truth, fit.reward) < 1e-9

# %%
# A partner who looks less far ahead
# ----------------------------------
# Its discount is 0.8. One answer is explained without a residual all the same, by a wrong reward:
# what is told is told *given* the discount. A second answer contradicts it, and that is proved.

hasty = iirl.TwoAgentMDP(game.kernel, 0.8)
one = SoftRewards(game).observe(first, partner.respond(hasty, truth, first))
two = one.observe(second, partner.respond(hasty, truth, second))
wrong = one.fit().reward
print(f"residuals {one.fit().residual:.0e} and {two.fit().residual:.0e} nats")
print(f"after the first answer the reward is {np.degrees(affine_distance(truth, wrong)):.2f}° off")
report = verify_soft_optimal(truth, two)
print(report.verdict.name, report.evidence)
assert report.verdict is iirl.Verdict.REFUTED
assert report.violation is None

# %%
# Rounded probabilities
# ---------------------
# Probabilities of three digits contradict each other, too. Their logarithms are off by a band,
# which makes an interval of every state's reward.

answer = np.round(partner.respond(game, truth, first), 3)
answer[:, 0] += 1 - answer.sum(axis=1)
rough = SoftRewards(game, partner.temperature, band=5e-3).observe(first, answer).fit()
fig, axes = plt.subplots(figsize=(6, 3))
states = np.arange(6)
axes.errorbar(states, rough.reward, rough.error, fmt="o", capsize=4, label="three digits")
axes.plot(states, truth - truth.mean(), "kx", label="the truth")
axes.set(xlabel="state", ylabel="reward, centred", xticks=states)
axes.legend()
iirl.plot.save(axes, "three-digits-leave-an-interval.png")
