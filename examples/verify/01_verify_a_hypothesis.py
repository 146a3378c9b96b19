"""
Verify a hypothesis about a reward
==================================

For whoever believes to know what a partner wants. *Is its reward, up to positive affine
transformation, this one?* gets one of three verdicts: confirmed with a proof, refuted with the
action that contradicts it, or inconclusive.
"""

import numpy as np

import iirl_opt as iirl

hypothesis = np.array([0.0, 1.0, 3.0])
partner, hers = iirl.OptimalFollower(), np.ones((3, 1))  # she has one action: the world is the test

# %%
# A world that asks the question
# ------------------------------
# In a *strict environment* the first action is best everywhere for the hypothesis, and for hardly
# anything else: one answer decides, whatever the partner does in ties.

test = iirl.strict_environment(hypothesis, "9/10", epsilon=0.1, rational=True)
for reward in (5 * hypothesis - 2, np.array([0.0, 3.0, 1.0])):
    answer = partner.respond(test.game, reward, hers)
    report = iirl.verify_affine(hypothesis, test, answer)
    print(f"a partner who wants {reward}: {report.verdict.name}, {report.evidence}")

# %%
# Confirmed means within an angle, and the angle is proved; a smaller ``epsilon`` makes it smaller.
# The claim names the one case that no test excludes: a partner who wants nothing answers anything.

answer = partner.respond(test.game, 5 * hypothesis, hers)
report = iirl.verify_affine(hypothesis, test, answer)
certificate = iirl.certify(report)
print(f"within {report.angle:.4f} rad; checked without a solver: {bool(certificate.check())}")
print(certificate.claim)
assert report.verdict is iirl.Verdict.CONFIRMED

# %%
# The paper's *ideal environment* leaves ties even where the hypothesis is right. How the partner
# breaks them is no evidence; where another reward explains the answer too, the verdict says so.

ideal = iirl.ideal_environment(hypothesis, "9/10")
print("optimal there:", iirl.best_responses(ideal.game, hypothesis, hers).optimal.tolist())
verdict = iirl.verify_affine(hypothesis, ideal, [[0, 1], [1, 0], [1, 0]])
print(f"{verdict.verdict.name}: {verdict.evidence}")
assert verdict.verdict is iirl.Verdict.INCONCLUSIVE

# %%
# A game that you do not choose
# -----------------------------
# Mostly the world is given, and a leader can only commit. `realise` finds a commitment under which
# the follower faces the test, or proves that there is none.

game, _ = iirl.random_game(3, 4, 3, rng=2, discount="9/10")
try:
    pi1 = iirl.realise(game, iirl.ideal_environment(hypothesis, "9/10", n_actions=3))
    print("the leader can ask the question by", pi1)
except iirl.NotRealisable as no:
    print("no commitment asks it in the states", no.states)

# %%
# What the answer leaves
# ----------------------
# The rewards that explain it are a needle at the constant reward: the hypothesis and its positive
# affine images, up to the proved angle.

feasible = iirl.FeasibleRewards(test.game).observe(hers, answer)
axes = iirl.plot.plot_feasible(feasible, truth=hypothesis)
iirl.plot.save(axes, "the-needle-that-one-answer-leaves.png")
