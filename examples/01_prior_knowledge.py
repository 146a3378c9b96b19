"""Prior knowledge: what we know about a reward beyond the answers of the follower.

The follower answers two commitments in a small maze. We also know that the prize in the corner is
worth at least three times the start, and ask what the start may be worth at most.
"""

import cvxpy as cp
import numpy as np

import iirl_opt as iirl

game, truth = iirl.grid_game(
    ["1..", ".#.", "S.2"], discount="9/10", slip="1/5", prize_rule="stay", doors="pairs"
)
follower, rng = iirl.OptimalFollower(), np.random.default_rng(1)
feasible = iirl.FeasibleRewards(game)
for _ in range(2):
    pi1 = iirl.random_deterministic_policy(game.n_states, game.n_leader_actions, rng)
    feasible = feasible.observe(pi1, follower.respond(game, truth, pi1))

corner, start = (game.states.index(cell) for cell in ("(2,2)", "(2,0)"))
r = cp.Variable(game.n_states, nonneg=True)
known = [cp.sum(r) == 1, (r[corner] >= 3 * r[start]).set_label("corner thrice the start")]
without = feasible.maximise(np.eye(game.n_states)[start])
solved = iirl.solve(cp.Problem(cp.Maximize(r[start]), feasible.constraints(r) + known))

print(f"the start is worth at most {without.value:.4f}, and {solved.value:.4f} with what we know")
print(f"price of what we know: {float(solved.duals['corner thrice the start']):.4f}")

assert solved.value <= without.value + 1e-9
assert feasible.contains(r.value, tolerance=1e-7)
assert r.value[corner] >= 3 * r.value[start] - 1e-9
