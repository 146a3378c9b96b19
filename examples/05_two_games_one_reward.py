"""One reward, two games: choose the reward that explains both with the largest worst margin.

The same follower is seen in two games over the same states (a workshop and a storehouse, say).
Constraints of several sets on one variable simply add up.
"""

import cvxpy as cp
import numpy as np

import iirl_opt as iirl

one, truth = iirl.random_game(10, 2, 3, rng=6)
two, _ = iirl.random_game(10, 3, 2, rng=7)
follower, rng = iirl.OptimalFollower(), np.random.default_rng(0)
sets = []
for game in (one, two):
    feasible = iirl.FeasibleRewards(game)
    for _ in range(3):
        pi1 = iirl.random_policy(game.n_states, game.n_leader_actions, rng)
        feasible = feasible.observe(pi1, follower.respond(game, truth, pi1))
    sets.append(feasible)

r, margin = cp.Variable(10), cp.Variable()
rows = iirl.RewardSimplex().constraints(r)
for feasible in sets:
    equalities, nonnegative = feasible.lifted(r)
    rows += equalities + [expression >= margin for _, expression in nonnegative]
solved = iirl.solve(cp.Problem(cp.Maximize(margin), rows))

distance = np.linalg.norm(r.value - truth / truth.sum())
print(f"worst margin {solved.value:.5f}; distance to the truth {distance:.3f}")
for name, feasible in zip(("first", "second"), sets, strict=True):
    plan = iirl.commit(feasible.game, r.value)
    seen = follower.respond(feasible.game, truth, plan.policy)
    earned = feasible.game.start @ iirl.evaluate(feasible.game, truth, (plan.policy, seen))
    best = iirl.commit(feasible.game, truth).value
    print(f"{name} game: the commitment for it earns {earned:.3f} of at most {best:.3f}")
    assert feasible.contains(r.value)
    assert earned <= best + 1e-9
assert solved.value > 0
