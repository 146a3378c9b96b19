"""
Safe whatever the reward
========================

For whoever must commit before everything is known. Three answers leave many rewards. The commitment
that is best for their centre is a bet on it; here is the one that loses least at worst, at home and
in another game, and what would be worth asking next.
"""

import numpy as np

import iirl_opt as iirl
from iirl_opt.commitment import minimax_regret
from iirl_opt.rewards import regret_elsewhere, still_matters

home, truth = iirl.random_game(4, 2, 2, rng=49)
away, _ = iirl.random_game(4, 2, 2, rng=149)
partner, known = iirl.OptimalFollower(), iirl.FeasibleRewards(home)
for pi1 in np.eye(2)[[[0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 1]]]:
    known = known.observe(pi1, partner.respond(home, truth, pi1))

# %%
# A bet, and what it may cost elsewhere
# -------------------------------------
# The worst regret is bracketed: a reward that attains the lower bound, an upper bound with a proof.

centre = known.chebyshev_centre().centre
bet = iirl.commit(away, centre).policy
worst = regret_elsewhere(known, away, bet)
print(worst, "proved again:", bool(worst.check()), sep="\n")

# %%
# The least of the worst
# ----------------------
# Deterministic commitments are searched to the end; a lottery may be safer than all of them, and no
# commitment at all comes below the floor.

safe = minimax_regret(known, away)
print(safe.table())

# %%
# Which rewards still matter there
# --------------------------------
# If the reward of one state were known to be that of the centre, this is what the bound would fall
# to: the state to ask about next is the first.

print(still_matters(known, away, safe.mixed_policy).table())

# %%
# What each loses under a hundred rewards that explain the answers

rewards = known.sample(100, rng=0)
best = [iirl.commit(away, r).value for r in rewards]
curves = {}
for name, policy in {
    "bet": bet,
    "deterministic": safe.policy,
    "lottery": safe.mixed_policy,
}.items():
    plays = [(r, (policy, partner.respond(away, r, policy))) for r in rewards]
    earned = [away.start @ iirl.evaluate(away, r, play) for r, play in plays]
    curves[name] = np.sort(np.subtract(best, earned))
axes = iirl.plot.plot_curves(
    curves, range(1, 101), xlabel="rewards, by what is lost", ylabel="regret elsewhere"
)
axes.legend(frameon=False)
iirl.plot.save(axes, "safe-whatever-the-reward.png")
