"""Learn actively: Algorithm 1 keeps losing, a learner that mixes where it is cheap does not.

Both begin with the same commitment. The active learner pays for information in the first episodes;
at the end a certificate bounds what its commitment can lose under any reward that explains the
answers, the true one included.
"""

import numpy as np

import iirl_opt as iirl

game, truth = iirl.random_game(8, 2, 3, seed=3)
best = iirl.commit(game, truth).value
learners = {"Algorithm 1": iirl.InteractiveIRL(game), "active": iirl.ActiveIRL(game)}
last, regrets = {}, {}
for name, learner in learners.items():
    episodes = list(iirl.interact(learner, truth, 30))
    regrets[name] = np.array([episode.regret for episode in episodes]) / best
    last[name] = episodes[-1].learner
    late = regrets[name][20:].mean()
    print(
        f"{name:12} loses {regrets[name].sum():.3f} of V* in all, {late:.1e} an episode at the end"
    )

bound = last["active"].stop().regret()
print(f"proved: no reward that explains the answers makes it lose more than {bound.upper:.1e}")
print(f"checked without a solver: {bool(bound.check())}")

assert regrets["active"][20:].mean() <= regrets["Algorithm 1"][20:].mean() + 1e-9
assert last["active"].known.contains(truth)
assert bound.lower <= bound.upper + 1e-9
