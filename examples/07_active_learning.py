"""Learn actively: Algorithm 1 keeps losing; mixtures that are worth their cost end that.

On each of two games both begin with the same commitment. The active learner pays for information
in the first episodes. On a small game a certificate bounds what its commitment can lose under any
reward that explains the answers, the true one included, and ends exploration.
"""

import numpy as np

import iirl_opt as iirl

late = {"Algorithm 1": [], "active": []}
for seed in range(2):
    game, truth = iirl.random_game(20, 3, 3, rng=seed)
    best = iirl.commit(game, truth).value
    learners = {
        "Algorithm 1": iirl.InteractiveIRL(game, seed=seed),
        "active": iirl.ActiveIRL(game, seed=seed),
    }
    for name, learner in learners.items():
        regrets = [e.regret / best for e in iirl.interact(learner, truth, 30)]
        late[name].append(np.mean(regrets[20:]))
        total, end = sum(regrets), late[name][-1]
        print(f"game {seed}: {name:12} loses {total:.2f} of V* in all, {end:.0e} an episode late")

game, truth = iirl.random_game(6, 2, 2, rng=1)
learner = iirl.ActiveIRL(game, delta=1e-3)
for episode in iirl.interact(learner, truth, 15):
    learner = episode.learner
bound = learner.regret()
print(f"proved: no reward that explains the answers makes it lose more than {bound.upper:.1e}")
print(f"checked without a solver: {bool(bound.check())}")

assert np.mean(late["active"]) < 0.1 * np.mean(late["Algorithm 1"])
assert learner.known.contains(truth)
assert bound.lower <= bound.upper + 1e-9
