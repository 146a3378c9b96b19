"""
Commit to a partner who errs
============================

For whoever plans for a partner who is not perfect. This one plays its best action half of the time.
The paper's Algorithm 3 plans for that, a search proves how good the plan is, and two numbers say
what a wrong assumption costs and what the right one is worth.
"""

import iirl_opt as iirl
from iirl_opt.commitment import MixedInteger, joint_leader_policy, value_of_information

game, reward = iirl.random_game(6, 3, 3, rng=15, concentration=0.1)
partner = iirl.EpsilonGreedyFollower(0.5)
problem = iirl.CommitmentProblem(game, reward, partner)

# %%
# Four plans for one partner. What is best with a perfect partner is the leader's part of the joint
# optimum (Lemma 2); with this one it is only a start.

naive = joint_leader_policy(problem)
earned = float(game.start @ problem.reply(naive).values)
heuristic = iirl.commit(game, reward, partner)
exact = iirl.commit(game, reward, partner, exact=True)
program = iirl.commit(game, reward, partner, by=MixedInteger())
print(f"planned for a perfect partner  {earned:.4f}")
print(f"Algorithm 3                    {heuristic.value:.4f}  {heuristic.guarantee.name.lower()}")
print(f"branch and bound               {exact.value:.4f}  gap {exact.gap:.0e}")
print(f"mixed-integer program          {program.value:.4f}  gap {program.gap:.0e}")
assert earned <= heuristic.value + 1e-9 <= exact.value + 1e-8
assert abs(exact.value - program.value) < 1e-6

# %%
# Wrong assumptions
# -----------------
# Plan for another error rate than the partner has, and see what is lost. And what would it be worth
# to know the rate beforehand, if the three were equally likely?

partners = {f"ε = {e}": iirl.EpsilonGreedyFollower(e) for e in (0.1, 0.5, 0.9)}
for name, missed in iirl.misspecification_loss(problem, partners).items():
    print(f"assuming {name}: loses {missed.loss:.4f}")
worth = value_of_information(problem, list(partners.values()))
print(f"knowing ε beforehand is worth {worth.gain:.4f}")

# %%
# Best from where?
# ----------------
# With a perfect partner one commitment is best from every state. With this one there need not be
# any (Theorem 3): what is best from one state loses in another.

found = iirl.dominance(problem)
print("a commitment that is best from every state:", found.verdict.name.lower().replace("_", " "))
axes = iirl.plot.plot_dominance(found)
iirl.plot.save(axes, "nobody-stands-in-the-best-corner.png")
