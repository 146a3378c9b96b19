"""
Explain an infeasibility: which rows, which episodes
====================================================

For whoever got ``Infeasible`` and wants to know what to take back. Two questions have two answers:
which *rows of mine* contradict what was seen, and which *episodes* contradict each other.
"""

from textwrap import fill

import cvxpy as cp
import numpy as np

import iirl_opt as iirl
from iirl_opt.solver import explain

game, truth = iirl.random_game(3, 4, 3, rng=3)
partner, rng = iirl.OptimalFollower(), np.random.default_rng(1)
feasible = iirl.FeasibleRewards(game)
for _ in range(3):
    pi1 = iirl.deterministic_policy(rng.integers(4, size=3), 4)
    feasible = feasible.observe(pi1, partner.respond(game, truth, pi1))

# %%
# Rows of mine
# ------------
# Three beliefs about the reward, one of them wrong. The error says what the proof uses; `explain`
# reduces that to a smallest set of rows: without any one of them there is a point.

r = cp.Variable(3, name="r")
best, worst = int(truth.argmax()), int(truth.argmin())
rows = {
    "shares": cp.sum(r) == 1,
    "nothing is bad": r >= 0,
    "the last state is poor": r[worst] <= 0.3,
    "the first is richer": r[worst] >= r[best] + 0.1,
}
mine = [row.set_label(label) for label, row in rows.items()]
problem = cp.Problem(cp.Maximize(r[0]), feasible.constraints(r) + mine)
try:
    iirl.solve(problem)
except iirl.Infeasible as error:
    print(fill(str(error), 98))

conflict = explain(problem)
print(conflict)
print("checked again without a solver:", conflict.check())

# %%
# Episodes
# --------
# A partner who errs can contradict itself. Here the fourth answer is the worst one instead of the
# best; no reward but a constant explains all four.

pi1 = iirl.deterministic_policy(rng.integers(4, size=3), 4)
mistaken = partner.respond(game, -truth, pi1)
wrong = feasible.observe(pi1, mistaken)
episodes = wrong.explain_infeasibility()
print("these episodes have no reward in common:", episodes)
print("the truth is violated by", wrong.violations(truth)[0])
assert 4 in episodes

# %%
# Each answer leaves a wedge at the constant reward. Those of the first three answers lie in one
# another; that of the mistake points elsewhere, and the constant is all that they share.

axes = iirl.plot.panels(2, (3.4, 3.6))
alone = iirl.FeasibleRewards(game).observe(pi1, mistaken)
for panel, shown, title in zip(
    axes, (feasible, alone), ("three answers", "the mistake alone"), strict=True
):
    iirl.plot.plot_feasible(shown, truth=truth, ax=panel)
    panel.set_title(title)
iirl.plot.save(axes[0], "what-answers-leave-and-what-a-mistake-leaves.png")
