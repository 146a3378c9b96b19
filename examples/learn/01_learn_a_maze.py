"""
Learn what a partner wants, by asking
=====================================

For whoever can set a partner's world and watch what it does there. The leader opens doors, the
follower walks towards prizes that only it knows. A learner is frozen: ``ask`` says what to play
next, ``tell`` returns the learner that knows the answer. So the partner may be a program, a robot
or a person, and nothing is hidden between two episodes.
"""

import iirl_opt as iirl

rows = ["3..1", ".#..", "S..2"]
maze = iirl.grid_game(rows, discount="9/10", slip="1/10", prize_rule="stay", doors="pairs")
game, truth = maze
best = iirl.commit(game, truth).value
print(game)
print(f"three prizes that pay as long as one stays there; knowing them is worth {best:.2f}")

# %%
# Ask and tell
# ------------
# Algorithm 1 plays what is best for a random reward that explains all answers so far.

partner = iirl.OptimalFollower()
learner = iirl.InteractiveIRL(game, seed=0)
for episode in range(1, 5):
    doors = learner.ask()
    answer = partner.respond(game, truth, doors)
    learner = learner.tell(answer)
    print(f"episode {episode}: the truth explains all answers: {learner.feasible.contains(truth)}")
lost = iirl.regret(game, truth, learner.history)
print("lost so far:", lost.round(3).tolist())

# %%
# Better questions
# ----------------
# Algorithm 1 learns what its commitments happen to teach. `ActiveIRL` mixes its doors where the
# answer is worth the cost, and its estimate comes near the truth. `interact` plays any learner
# against a follower with the true reward. Answers tell a reward up to a positive affine
# transformation only, so both are compared from 0 to 1.


def unit(reward):
    """Return the positive affine image of a reward that runs from 0 to 1."""
    return (reward - reward.min()) / (reward.max() - reward.min())


for learner in (iirl.InteractiveIRL(game, seed=0), iirl.ActiveIRL(game, seed=0)):
    episodes = list(iirl.interact(learner, truth, 8))
    lost = sum(episode.regret for episode in episodes) / best
    off = abs(unit(episodes[-1].learner.estimate()) - unit(truth)).max()
    print(f"{type(learner).__name__:14} lost {lost:.2f} of V*, estimate off by {off:.2f}")
assert off < 0.05

# %%
# What the active learner believes after eight answers.

axes = iirl.plot.plot_rewards(maze, episodes[-1].learner.estimate(), truth=truth)
iirl.plot.save(axes, "what-the-learner-believes-beside-the-truth.png")
