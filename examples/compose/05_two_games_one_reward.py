"""
One reward behind two games
===========================

For whoever saw the same partner in two places: a workshop and a storehouse, say, over the same
states. Constraints of several sets on one variable simply add up, and the reward is chosen that
explains both with the largest worst margin.
"""

import cvxpy as cp
import numpy as np

import iirl_opt as iirl

workshop, truth = iirl.random_game(10, 2, 3, rng=6)
storehouse, _ = iirl.random_game(10, 3, 2, rng=7)
partner, rng = iirl.OptimalFollower(), np.random.default_rng(0)
sets = {}
for name, game in (("workshop", workshop), ("storehouse", storehouse)):
    feasible = iirl.FeasibleRewards(game)
    for _ in range(3):
        pi1 = iirl.random_policy(game.n_states, game.n_leader_actions, rng)
        feasible = feasible.observe(pi1, partner.respond(game, truth, pi1))
    sets[name] = feasible


# %%
# One program for any number of sets: every action that was not played is worse by the margin.


def widest(*chosen):
    """Return the reward of the simplex with the largest worst margin in some sets, and that."""
    r, margin = cp.Variable(10), cp.Variable()
    rows = iirl.RewardSimplex().constraints(r)
    for feasible in chosen:
        equalities, nonnegative = feasible.lifted(r)
        rows += equalities + [expression >= margin for _, expression in nonnegative]
    solved = iirl.solve(cp.Problem(cp.Maximize(margin), rows))
    return r.value, solved.value


found = {name: widest(feasible) for name, feasible in sets.items()}
found["both"] = widest(*sets.values())
for name, (reward, margin) in found.items():
    distance = np.linalg.norm(reward - truth / truth.sum())
    print(f"{name:10} worst margin {margin:.4f}, distance to the truth {distance:.3f}")

# %%
# What the common reward is worth: the leader plans for it, and earns by the truth.

reward, margin = found["both"]
for name, feasible in sets.items():
    plan = iirl.commit(feasible.game, reward)
    seen = partner.respond(feasible.game, truth, plan.policy)
    earned = feasible.game.start @ iirl.evaluate(feasible.game, truth, (plan.policy, seen))
    best = iirl.commit(feasible.game, truth).value
    print(f"{name:10} earns {earned:.3f} of at most {best:.3f}")
    assert feasible.contains(reward)
    assert earned <= best + 1e-9
assert margin > 0

# %%

curves = {"truth": truth / truth.sum()} | {name: reward for name, (reward, _) in found.items()}
axes = iirl.plot.plot_curves(
    curves, np.arange(10), xlabel="state", ylabel="share of all rewards", points=["truth"]
)
axes.legend(frameon=False, loc="lower center", ncols=2)
iirl.plot.save(axes, "the-reward-by-each-game-and-by-both.png")
