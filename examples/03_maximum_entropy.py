"""Maximum entropy: the least committal reward distribution that explains the answers.

Entropies are conic, so the program goes to Clarabel: the same door, the same record.
"""

import cvxpy as cp
import numpy as np

import iirl_opt as iirl

game, truth = iirl.random_game(8, 2, 2, rng=5)
follower = iirl.OptimalFollower()
feasible = iirl.FeasibleRewards(game)
for action in range(2):
    pi1 = iirl.deterministic_policy(np.full(8, action), 2)
    feasible = feasible.observe(pi1, follower.respond(game, truth, pi1))
r = cp.Variable(8)
rows = [cp.sum(r) == 1, r[0] >= 0.2]
problem = cp.Problem(cp.Maximize(cp.sum(cp.entr(r))), feasible.constraints(r) + rows)
solved = iirl.solve(problem, iirl.solver.Clarabel())

print(f"entropy {solved.value:.4f} of at most {np.log(8):.4f}")
print(f"reward {r.value.round(3).tolist()}")

assert solved.status is iirl.Status.OPTIMAL
assert feasible.contains(r.value, tolerance=1e-6)
assert solved.value <= np.log(8)
