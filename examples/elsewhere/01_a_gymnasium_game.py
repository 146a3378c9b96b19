"""
A game of Gymnasium's, and a leader who changes the world
=========================================================

For whoever has an environment of Gymnasium's (extra ``gym``). Its table of dynamics becomes an
exact game, and something that an agent of Gymnasium's only suffers becomes the leader's choice:
here whether the ice is gritted, state by state.
"""

import gymnasium
import numpy as np

import iirl_opt as iirl
from iirl_opt.formats import Setting, from_gymnasium

# %%
# The argument ``is_slippery`` of the environment is the leader's action; the follower walks. Slips
# by thirds are thirds, not 0.333.

lake = gymnasium.make("FrozenLake-v1")
found = from_gymnasium(lake, "9/10", leader=Setting("is_slippery", names=["grit", "leave"]))
game, reward = found.game, found.reward()
print(game, *zip(game.leader_actions, ("firm", "icy"), strict=True))

# %%
# Everywhere grit
# ---------------
# The best commitment, and the follower's answer played in the environment itself.

plan = iirl.commit(game, reward)
answer = iirl.OptimalFollower().respond(game, reward, plan.policy)
firm = gymnasium.make("FrozenLake-v1", is_slippery=False)
state, _ = firm.reset(seed=0)
earned, weight, over = 0.0, 1.0, False
while not over:
    state, gain, over, _, _ = firm.step(int(answer[state].argmax()))
    earned, weight = earned + weight * gain, weight * game.discount
print(f"the commitment is worth {plan.value:.5f}; played in Gymnasium: {earned:.5f}")
assert abs(earned - plan.value) < 1e-9

# %%
# Grit is dear
# ------------
# How many steps on gritted ice are worth their price? The budget is on what both do together.

gritted = np.zeros(game.shape)
gritted[:, 0, :] = 1.0
measure = iirl.OccupancyMeasure(game)
limits = np.linspace(0.0, 5.0, 21)
values, prices = [], []
for limit in limits:
    cap = iirl.budget(measure.expected(gritted), limit, name="grit")
    solved = measure.maximise(reward, subject_to=[cap])
    values.append(solved.value)
    prices.append(solved.price["grit"])
for limit, value, price in list(zip(limits, values, prices, strict=True))[::4]:
    print(f"{limit:.0f} gritted steps: worth {value:.4f}, one more would bring {price:.4f}")

# %%

axes = iirl.plot.plot_curves(
    {"value": values, "price of a gritted step": prices}, limits, xlabel="gritted steps allowed"
)
axes.legend(frameon=False)
iirl.plot.save(axes, "what-grit-on-a-frozen-lake-is-worth.png")
