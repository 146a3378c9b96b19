"""
Add constraints of your own to what the answers say
===================================================

For whoever knows more than the partner's answers show. The rewards that explain the answers are
ordinary cvxpy constraints, so prior knowledge is a row more, and its multiplier says what it is
worth.
"""

import cvxpy as cp
import numpy as np

import iirl_opt as iirl

# %%
# Two answers in a small maze. The set of rewards under which both are optimal never changes in
# place: `observe` returns a smaller one.

maze = iirl.grid_game(
    ["1..", ".#.", "S.2"], discount="9/10", slip="1/5", prize_rule="stay", doors="pairs"
)
game, truth = maze
partner, rng = iirl.OptimalFollower(), np.random.default_rng(1)
feasible = iirl.FeasibleRewards(game)
for _ in range(2):
    pi1 = iirl.random_deterministic_policy(game.n_states, game.n_leader_actions, rng)
    feasible = feasible.observe(pi1, partner.respond(game, truth, pi1))

# %%
# We also know that the prize in the corner is worth at least three times the start. What may the
# start be worth at most, as a share of all rewards?

corner, start = game.states.index("(2,2)"), game.states.index("(2,0)")
r = cp.Variable(game.n_states, nonneg=True)
known = [cp.sum(r) == 1, (r[corner] >= 3 * r[start]).set_label("corner thrice the start")]
without = feasible.maximise(np.eye(game.n_states)[start])
solved = iirl.solve(cp.Problem(cp.Maximize(r[start]), feasible.constraints(r) + known))
price = float(solved.duals["corner thrice the start"])
print(f"at most {without.value:.4f} by the answers, {solved.value:.4f} with what we know")
print(f"price of what we know: {price:.4f} for each unit by which the row is relaxed")

# %%
# Multipliers of the answers come by episode, state and action: the observed choices that keep the
# start from being worth more.

for row, multiplier in list(feasible.by_row(solved).items())[:3]:
    print(f"episode {row.episode}, in {row.state} not {row.action}: {abs(multiplier):.4f}")

# %%
# The record holds residuals of the data as given, recomputed and not the solver's word.

print(solved.status.name, f"residuals up to {solved.residuals.largest():.0e}")
assert solved.value <= without.value + 1e-9
assert feasible.contains(r.value, tolerance=1e-7)
assert r.value[corner] >= 3 * r.value[start] - 1e-9

# %%
# The two rewards that favour the start most, by the answers alone and with the row. Both explain
# all that was seen.

axes = iirl.plot.panels(2)
for panel, values, title in zip(
    axes, (without.reward, r.value), ("by the answers", "with our row"), strict=True
):
    iirl.plot.plot_rewards(maze, values, top=0.45, title=title, ax=panel)
iirl.plot.save(axes[0], "rewards-that-favour-the-start.png")
