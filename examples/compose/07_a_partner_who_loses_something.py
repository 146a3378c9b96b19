"""
A partner who loses something
=============================

For whoever's partner is good and not perfect: say how much it may lose, keep the truth in the set,
and see what that word costs. Then add what somebody prefers.
"""

import numpy as np

import iirl_opt as iirl
from iirl_opt.rewards import worst_regret

game, truth = iirl.random_game(3, 2, 2, rng=7, discount=0.8)
truth = (truth - truth.min()) / (truth - truth.min()).sum()
rng = np.random.default_rng(7)
answers = []
for episode in range(4):  # in each, one state is answered wrongly
    pi1 = iirl.random_deterministic_policy(3, 2, rng)
    answer = iirl.OptimalFollower().respond(game, truth, pi1).copy()
    answer[episode % 3] = answer[episode % 3][::-1]
    answers.append((pi1, answer))

# %%
# Taken for optimal
# -----------------
# Nothing but constants is left, and the truth is out. The least that any reward makes these answers
# lose, per unit of its span, is a lower bound on what the partner loses; it is no estimate of it.

trusting = iirl.FeasibleRewards(game)
for pi1, answer in answers:
    trusting = trusting.observe(pi1, answer)
print("some reward explains all:", trusting.is_informative())
print("the truth does:", trusting.contains(truth))
print(trusting.most_compatible())
print(f"under the truth they lose {trusting.compatibility(truth):.3f} per unit of span")

# %%
# A word about each
# -----------------
# What each answer loses under the truth is what an honest partner would declare. Declare half, and
# the truth is out again; declare more, and less is known.

lost = trusting.losses(truth).max(axis=1)


def declared(factor):
    """The rewards that explain the answers if they may lose so many times what they do."""
    known = iirl.FeasibleRewards(game)
    for (pi1, answer), loss in zip(answers, lost, strict=True):
        known = known.observe(pi1, answer, suboptimality=factor * loss)
    return known


factors = (0.5, 1.000001, 1.5, 2.0, 4.0)
widths, worst = [], []
for factor in factors:
    known = declared(factor)
    widths.append(known.widths().mean())
    worst.append(worst_regret(known, *answers[-1]).value)
    inside = "in" if known.contains(truth) else "out"
    print(f"{factor:.1f} times: truth {inside}, width {widths[-1]:.3f}, regret ≤ {worst[-1]:.3f}")

# %%
# What somebody prefers
# ---------------------
# That the best play of both would have been worth so much more than the last one is one row more.

best = iirl.commit(game, truth).policy
better = (best, iirl.OptimalFollower().respond(game, truth, best))
margin = iirl.rewards.prefer(game, better, answers[-1]).gain(truth)
honest = declared(1.000001)
said = honest.prefer(better, answers[-1], by=0.9 * margin)
print(f"width {honest.widths().mean():.3f} before, {said.widths().mean():.3f} after")
print("and the truth:", said.contains(truth))

curves = {"mean width": np.array(widths), "worst regret of the last answer": np.array(worst)}
axes = iirl.plot.plot_curves(curves, np.array(factors), xlabel="declared / lost", ylabel="left")
axes.legend(frameon=False)
iirl.plot.save(axes, "a-partner-who-loses-something.png")
