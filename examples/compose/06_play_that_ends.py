"""
Play that ends
==============

For whoever's partner plays a number of steps and no more. The time-expanded game is a game like any
other, so sets of rewards, budgets and commitments take it as it is; what comes out is folded back.
"""

import cvxpy as cp
import numpy as np

import iirl_opt as iirl
from iirl_opt.game import finite_horizon

maze = iirl.grid_game("S1..\n....\n...3", discount="9/10", prize_rule="stay")
play = finite_horizon(maze.game, 8, discount=1)
print(play, play.game, sep="\n")

# %%
# Eight steps, each worth as much as the next
# -------------------------------------------
# Rewards are those of the maze, values what is still to come. The large prize is five steps away:
# with few steps left, the small one beside the start is worth more.

reward = play.expand_reward(maze.reward)
plan = iirl.commit(play.game, reward)
to_come = play.fold_values(plan.values)
start = int(maze.game.start.argmax())
print(f"from the start: {to_come[0, start]:g}; with h steps left:", to_come[::-1, start].round(2))

# %%
# What eight steps tell
# ---------------------
# The partner answers every door open. Which rewards, the same at each step, explain that? The map
# from a reward of the maze to the expanded game is linear, so they are rows like any others.

doors = play.expand_policy(iirl.uniform_policy(*maze.game.shape[:2]))
answer = iirl.OptimalFollower().respond(play.game, reward, doors)
known = iirl.FeasibleRewards(play.game).observe(doors, answer)
r = cp.Variable(maze.game.n_states)
rows = [*known.constraints(play.reward_map() @ r), r >= 0, cp.sum(r) == 1]
print("the truth explains it:", known.contains(reward))
paying = np.flatnonzero(maze.reward)
for s in paying:
    low, high = (
        iirl.solve(cp.Problem(way(r[s]), rows)).value for way in (cp.Minimize, cp.Maximize)
    )
    print(f"{maze.game.states[s]}: {low:.3f} to {high:.3f} of all that is paid")

# %%
# What each step pays everywhere alike is never seen: eight dimensions of it explain any answer.

bonus = np.arange(8.0)[:, None] * np.ones(maze.game.n_states)
print(known.contains(play.expand_reward(bonus)), known.contains(play.expand_reward(-bonus)))

# %%
# A partner who errs
# ------------------
# An ε-greedy partner only compares values, and serves as it is. One with a temperature would not:
# its numbers have a unit, which changes with the step.

careless = iirl.follower.check_steps(play, iirl.EpsilonGreedyFollower(0.2))
meant = iirl.commit(play.game, reward, follower=careless)
print(f"with a partner who errs in a fifth of the steps: {meant.value:.3f} of {plan.value:g}")
try:
    iirl.follower.check_steps(play, iirl.BoltzmannFollower(5))
except iirl.errors.InvalidArgument as refusal:
    print(refusal)

# %%

curves = {"both at their best": to_come[::-1, start]}
curves["partner errs"] = play.fold_values(meant.values)[::-1, start]
axes = iirl.plot.plot_curves(curves, np.arange(1, 9), xlabel="steps left", ylabel="worth")
axes.legend(frameon=False)
iirl.plot.save(axes, "play-that-ends.png")
