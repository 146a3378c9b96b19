"""A budget on what both agents do together: its price, and what becomes of the commitment.

With a side constraint the best joint policy may be a lottery that no pair of policies plays. Then
it is no commitment; `split` says in which state.
"""

import numpy as np

import iirl_opt as iirl

game, reward = iirl.random_game(6, 2, 2, rng=6)
hazard = np.zeros(game.shape)
hazard[:, 1, 1] = 1.0

measure = iirl.OccupancyMeasure(game)
free = measure.maximise(reward)
used = float((hazard * free.measure).sum())
limit = used / 2
cap = iirl.budget(measure.expected(hazard), limit, name="hazard")
careful = measure.maximise(reward, subject_to=[cap])

print(f"free: value {free.value:.4f}, hazard {used:.4f}")
print(f"at most {limit:.4f}: value {careful.value:.4f}, price {careful.price['hazard']:.4f}")
try:
    careful.split()
    print("the best joint policy is a pair of policies")
except iirl.errors.NotAProduct as correlated:
    print(f"no pair of policies: {correlated}")

# The price is the gain for one more unit of hazard: check it by a small change.
step = 1e-4 * limit
more = measure.maximise(
    reward, subject_to=[iirl.budget(measure.expected(hazard), limit + step, name="hazard")]
)
assert abs((more.value - careful.value) / step - careful.price["hazard"]) < 1e-3
assert (hazard * careful.measure).sum() <= limit + 1e-8
