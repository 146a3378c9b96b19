"""
Learn for elsewhere
===================

For whoever may choose among environments, and will use the reward in others. What questions cost at
home does not count then; what their answers settle does. A committee of rewards says which those
are: those about which its members disagree.
"""

import numpy as np

import iirl_opt as iirl
from iirl_opt.learn import CommitteeIRL, loss_elsewhere

# %%
# Twenty states, eight environments to choose from in each, and ten games of one agent that nobody
# has seen, over the same rewards.

game, truth = iirl.random_game(20, 8, 4, rng=5)
unseen = [iirl.random_game(20, 1, 4, rng=100 + k)[0] for k in range(10)]
partner, episodes = iirl.OptimalFollower(), 8
print(game)

# %%
# Three ways to ask
# -----------------
# At random; what the active learner asks, which looks at its regret at home; and what tells most
# members apart. All estimate the reward alike, by the centre of what is known.


def run(seed, way):
    """Return what the estimate loses in unseen games after each answer, a share of the best."""
    rng, losses = np.random.default_rng([seed, 1]), []
    first = iirl.random_deterministic_policy(20, 8, np.random.default_rng([seed, 0]))
    learner = (iirl.ActiveIRL if way == "active" else CommitteeIRL)(game, seed=seed, first=first)
    for number in range(episodes):
        pi1 = learner.ask()
        if way == "random" and number:
            pi1 = iirl.random_deterministic_policy(20, 8, rng)
        learner = learner.tell(partner.respond(game, truth, pi1), pi1=pi1)
        losses.append(loss_elsewhere(unseen, truth, learner.estimate()).mean())
    return losses


ways = ("random", "active", "committee")
found = {way: np.array([run(seed, way) for seed in range(4)]) for way in ways}
for way, losses in found.items():
    shown = "  ".join(f"{100 * loss:6.3f} %" for loss in losses.mean(axis=0)[[0, 2, 4, 7]])
    print(f"{way:<10} after 1, 3, 5 and 8 answers  {shown}")

# %%
# A question
# ----------
# In a state it is an environment, or a mixture of two that ties two answers of the centre's.

learner = CommitteeIRL(game, seed=0)
learner = learner.tell(partner.respond(game, truth, learner.ask()))
question = learner.ask()
print("mixtures in", int((question.max(axis=1) < 1).sum()), "of 20 states;", question[0].round(2))

# %%
# Where commitments are given
# ---------------------------
# A leader with a list asks that of which the members' answers differ most.

given = [iirl.random_deterministic_policy(20, 8, np.random.default_rng(k)) for k in range(12)]
chosen = CommitteeIRL(game, among=given, seed=0)
for _ in range(4):
    pi1 = chosen.ask()
    print("asked number", next(k for k, own in enumerate(given) if (own == pi1).all()))
    chosen = chosen.tell(partner.respond(game, truth, pi1))

# %%

curves = {f"{way} questions": losses.mean(axis=0) for way, losses in found.items()}
axes = iirl.plot.plot_curves(
    curves, range(1, episodes + 1), xlabel="answers", ylabel="loss elsewhere", log=1e-5
)
axes.legend(frameon=False)
iirl.plot.save(axes, "learn-for-elsewhere.png")
