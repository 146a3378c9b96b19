"""Whose restriction is it? Three kinds, on one game, for a follower who answers optimally.

Forbidden actions and admissible policies bind the leader alone and are exact. A budget that the
follower does not know of makes a bilevel program, exact over deterministic commitments. A budget
that both respect is a row of the occupancy program, whose optimum may need correlated play.
"""

import numpy as np

import iirl_opt as iirl

game, reward = iirl.random_game(5, 3, 2, rng=8)
free = iirl.commit(game, reward)
print(f"free:                                {free.value:.4f}")

allowed = np.ones((5, 3), dtype=bool)
allowed[np.arange(5), free.policy.argmax(axis=1)] = False  # what the leader would have done
problem = iirl.CommitmentProblem(game, reward, allowed=allowed)
other = iirl.commitment.JointOptimum().plan(problem)
print(f"those actions forbidden:             {other.value:.4f}  {other.guarantee.name.lower()}")

half = (np.eye(3), np.full(3, 0.5))  # no action more than half of the time
mixed = iirl.commitment.AdmissibleCommitment(game, reward, {"*": half}).solve()
print(f"every action at most half the time:  {mixed.value:.4f}  {mixed.guarantee.name.lower()}")

hazard = np.zeros(5)
hazard[int(np.argmax(reward))] = 1.0  # the best state is dangerous


def budget(program):
    """The budget as a cvxpy row on whichever program it is given."""
    return iirl.budget(program.expected(hazard), 3.0, name="hazard")


alone = iirl.commitment.DeterministicCommitment(iirl.CommitmentProblem(game, reward))
ignored = alone.solve([budget(alone)])
print(f"a budget the follower ignores:       {ignored.value:.4f}  among {ignored.among}")
try:
    both = iirl.StackelbergCommitment(game, reward)
    shared = both.solve([budget(both)]).value
    print(f"the same budget, shared:             {shared:.4f}")
    assert shared >= ignored.value - 1e-6
except iirl.errors.NotAProduct as correlated:
    print(f"the same budget, shared:             {correlated}")

assert max(other.value, mixed.value, ignored.value) <= free.value + 1e-9
assert mixed.policy.max() <= 0.5 + 1e-9
