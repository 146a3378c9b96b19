"""Sparsity: the simplest reward that explains what the follower did.

Among the rewards that explain the answers with a margin, minimise the sum of absolute rewards. The
margin (a lower bound on the gap of every observed choice that is not a tie under the truth) keeps
the constants out, which would otherwise win with r = 0.
"""

import cvxpy as cp
import numpy as np

import iirl_opt as iirl

game, truth = iirl.random_game(12, 3, 3, rng=3)
follower, rng = iirl.OptimalFollower(), np.random.default_rng(0)
feasible = iirl.FeasibleRewards(game)
for _ in range(1):
    pi1 = iirl.random_policy(game.n_states, game.n_leader_actions, rng)
    feasible = feasible.observe(pi1, follower.respond(game, truth, pi1))

r = cp.Variable(game.n_states)
equalities, nonnegative = feasible.lifted(r)
margins = [expression >= 0.01 for _, expression in nonnegative]
solved = iirl.solve(cp.Problem(cp.Minimize(cp.norm1(r)), equalities + margins))

used = np.flatnonzero(np.abs(r.value) > 1e-7)
print(f"{used.size} of {game.n_states} states carry a reward: {used.tolist()}")
print(f"sum of absolute rewards {solved.value:.4f}, residuals ≤ {solved.residuals.largest():.1e}")

assert feasible.contains(r.value)
assert used.size < game.n_states
assert np.ptp(r.value) > 1e-3
