"""A search along the edges from a commitment towards single actions, a state at a time.

Against a follower that changes its mind all at once what a commitment earns jumps. Between two
points of an edge at which the follower answers with different actions, the indifference is found by
halving, and both sides of it are candidates.
"""

from __future__ import annotations

import numpy as np

from iirl_opt.commitment.problem import Array, CommitmentProblem

__all__ = ["search_edges"]

# An edge is cut into so many parts; a jump between two points is then halved so many times.
EDGE_PARTS = 16
HALVINGS = 40


def search_edges(
    problem: CommitmentProblem, policy: Array, steps: int, tolerance: float
) -> tuple[Array, int, None]:
    """Return where searches along the edges to single actions lead, and their number of rounds."""
    value = float((problem.assess_policies(policy[None]).lower @ problem.game.start)[0])
    free = problem.allowed & (problem.allowed.sum(axis=1, keepdims=True) > 1)
    for made in range(steps):
        before = value
        for s, a in np.argwhere(free):
            policy, value = _search_edge(problem, policy, value, int(s), int(a))
        if value <= before + tolerance:
            return policy, made, None
    return policy, steps, None


def _search_edge(
    problem: CommitmentProblem, policy: Array, value: float, s: int, a: int
) -> tuple[Array, float]:
    """Return the best policy met on the way from row s to its action a, and its value.

    Between two points at which the follower answers with different actions, the indifference is
    found by halving, and both sides of it are candidates; around the best point so far the parts
    are cut anew.
    """
    target = np.eye(policy.shape[1])[a]
    if policy[s, a] == 1:
        return policy, value

    def look(points: Array) -> tuple[Array, Array]:
        stack = np.repeat(policy[None], len(points), axis=0)
        stack[:, s] = (1 - points[:, None]) * policy[s] + points[:, None] * target
        found = problem.assess_policies(stack)
        # The least that is sure: a tie that rounding makes is no place to stop at.
        return found.response, found.lower @ problem.game.start

    points = np.linspace(0, 1, EDGE_PARTS + 1)
    plays, scores = look(points)
    low, high = points[:-1], points[1:]
    jumps = np.flatnonzero((plays[:-1] != plays[1:]).any(axis=(1, 2)))
    low, high, left = low[jumps], high[jumps], plays[:-1][jumps]
    for _ in range(HALVINGS if jumps.size else 0):
        middle = (low + high) / 2
        seen, gained = look(middle)
        same = (seen == left).all(axis=(1, 2))
        low, high = np.where(same, middle, low), np.where(same, high, middle)
        points, scores = np.concatenate([points, middle]), np.concatenate([scores, gained])
    at, width = float(points[scores.argmax()]), 1 / EDGE_PARTS
    while width > 1e-4:
        finer = np.clip(at + width * np.linspace(-1, 1, 9), 0, 1)
        _, gained = look(finer)
        points, scores = np.concatenate([points, finer]), np.concatenate([scores, gained])
        at, width = float(points[scores.argmax()]), width / 4
    if scores.max() <= value:
        return policy, value
    better = policy.copy()
    better[s] = (1 - at) * policy[s] + at * target
    return better, float(scores.max())
