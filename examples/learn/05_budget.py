"""
A budget on what both do together, and its price
================================================

For whoever may not do everything that pays. An occupancy measure is a cvxpy variable, so a budget
on any expected quantity is one row, and its multiplier is the price of the allowance.
"""

import numpy as np

import iirl_opt as iirl

game, reward = iirl.random_game(6, 2, 2, rng=6)
hazard = np.zeros(game.shape)
hazard[:, 1, 1] = 1.0  # what is dangerous: both at once take their second action

measure = iirl.OccupancyMeasure(game)
free = measure.maximise(reward)
used = float((hazard * free.measure).sum())
print(f"free: value {free.value:.4f}, hazard {used:.4f}")

# %%
# Half of the hazard
# ------------------

cap = iirl.budget(measure.expected(hazard), used / 2, name="hazard")
careful = measure.maximise(reward, subject_to=[cap])
print(f"at most {used / 2:.4f}: value {careful.value:.4f}, price {careful.price['hazard']:.4f}")
print("weak duality, by arithmetic:", bool(iirl.certify(careful).check()))

# %%
# The best joint policy may now be a lottery that no pair of policies plays. Then it is no
# commitment, and `split` says in which state.

try:
    careful.split()
    print("it is a pair of policies")
except iirl.errors.NotAProduct as correlated:
    print(correlated)

# %%
# The price
# ---------
# Value and price over the allowance: the value is concave, and the price is its slope. A small
# change confirms it.

limits = np.linspace(0.0, 1.1 * used, 12)
values, prices = [], []
for limit in limits:
    row = iirl.budget(measure.expected(hazard), limit, name="hazard")
    solved = measure.maximise(reward, subject_to=[row])
    values.append(solved.value)
    prices.append(solved.price["hazard"])
step = 1e-4 * used
more = iirl.budget(measure.expected(hazard), used / 2 + step, name="hazard")
slope = (measure.maximise(reward, subject_to=[more]).value - careful.value) / step
print(f"slope {slope:.4f}")
assert abs(slope - careful.price["hazard"]) < 1e-3
assert prices == sorted(prices, reverse=True)

# %%

axes = iirl.plot.panels(2)
shown = {"value": values}, {"price": prices}
for panel, series in zip(axes, shown, strict=True):
    (name,) = series
    iirl.plot.plot_curves(series, limits, xlabel="hazard allowed", ylabel=name, ax=panel)
iirl.plot.save(axes[0], "value-and-price-over-the-allowance.png")
