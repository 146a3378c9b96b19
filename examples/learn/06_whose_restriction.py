"""
Whose restriction is it?
========================

For whoever may not do everything, or whose partner may not. Three kinds of restriction on one game,
for a follower who answers optimally. Actions that are forbidden to the leader, and bounds on how
often she plays each, are exact; a budget depends on who respects it.
"""

import numpy as np

import iirl_opt as iirl
from iirl_opt.commitment import AdmissibleCommitment, DeterministicCommitment, JointOptimum

game, reward = iirl.random_game(5, 3, 2, rng=8)
free = iirl.commit(game, reward)
print(f"free                                {free.value:.4f}")

# %%
# The leader's own
# ----------------
# Forbidden: in each state what she would have done. Admissible: no action more than half of the
# time, as rows ``H p ≤ h`` on what she plays in a state.

allowed = np.ones((5, 3), dtype=bool)
allowed[np.arange(5), free.policy.argmax(axis=1)] = False
other = JointOptimum().plan(iirl.CommitmentProblem(game, reward, allowed=allowed))
print(f"those actions forbidden             {other.value:.4f}  {other.guarantee.name.lower()}")
half = (np.eye(3), np.full(3, 0.5))
mixed = AdmissibleCommitment(game, reward, {"*": half}).solve()
print(f"every action at most half the time  {mixed.value:.4f}  {mixed.guarantee.name.lower()}")

# %%
# A budget
# --------
# The best state is dangerous. If the follower does not know of it, the program is bilevel, exact
# over deterministic commitments. If both respect it, it is a row of the occupancy program, whose
# optimum may need play that no pair of policies plays.

hazard = np.zeros(5)
hazard[int(np.argmax(reward))] = 1.0


def budget(program):
    """Return the budget as a row of whichever program it is given."""
    return iirl.budget(program.expected(hazard), 3.0, name="hazard")


alone = DeterministicCommitment(iirl.CommitmentProblem(game, reward))
ignored = alone.solve([budget(alone)])
print(f"a budget that the follower ignores  {ignored.value:.4f}  among {ignored.among}")
both = iirl.StackelbergCommitment(game, reward)
try:
    print(f"the same budget, shared             {both.solve([budget(both)]).value:.4f}")
except iirl.errors.NotAProduct as correlated:
    print("the same budget, shared:", correlated)

assert max(other.value, mixed.value, ignored.value) <= free.value + 1e-9
assert mixed.policy.max() <= 0.5 + 1e-9

# %%
# With which probability the leader plays each action when none may be played more than half of the
# time, and what the follower answers.

axes = iirl.plot.plot_commitment(mixed)
iirl.plot.save(axes, "no-action-more-than-half-of-the-time.png")
