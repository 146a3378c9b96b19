"""
A regret that vanishes, and a proof of what is left to lose
===========================================================

For whoever plays many episodes. Algorithm 1 keeps losing; mixtures that are worth their cost end
that. On small games a certificate bounds what a commitment can lose under *any* reward that
explains the answers, the true one included.
"""

import numpy as np

import iirl_opt as iirl

# %%
# On each of two games both learners begin with the same commitment. The active one pays for
# information in the first episodes and hardly loses afterwards.

shares = {"Algorithm 1": [], "active": []}
for seed in range(2):
    game, truth = iirl.random_game(12, 3, 3, rng=seed)
    best = iirl.commit(game, truth).value
    learners = {
        "Algorithm 1": iirl.InteractiveIRL(game, seed=seed),
        "active": iirl.ActiveIRL(game, seed=seed),
    }
    for name, learner in learners.items():
        lost = [episode.regret / best for episode in iirl.interact(learner, truth, 30)]
        shares[name].append(lost)
        late = np.mean(lost[20:])
        print(f"game {seed}: {name:12} loses {sum(lost):.2f} of V* in all, {late:.0e} late")

late = {name: np.mean([lost[20:] for lost in runs]) for name, runs in shares.items()}
assert late["active"] < 0.1 * late["Algorithm 1"]

# %%
# A proof
# -------
# With ``delta`` exploration ends as soon as the next commitment is certified to lose no more. The
# bound comes from multipliers, by weak duality, and is recomputed without a solver.

game, truth = iirl.random_game(6, 2, 3, rng=1)
learner = iirl.ActiveIRL(game, delta=1e-3)
for episode in iirl.interact(learner, truth, 20):
    learner = episode.learner
bound = learner.regret()
print(f"no reward that explains the answers makes it lose more than {bound.upper:.1g}")
print(f"and one does make it lose {bound.lower:.1g}; checked by arithmetic: {bool(bound.check())}")
assert learner.known.contains(truth)
assert bound.lower <= bound.upper + 1e-9

# %%
# The mean of the two games, on an axis that is logarithmic and has a zero.

axes = iirl.plot.plot_curves(
    {name: np.mean(runs, axis=0) for name, runs in shares.items()},
    np.arange(1, 31),
    xlabel="episode",
    ylabel="regret, as a share of the best value",
    log=1e-6,
)
axes.legend(frameon=False)
iirl.plot.save(axes, "regret-of-two-learners-on-a-logarithmic-axis.png")
