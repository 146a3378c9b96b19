"""The best deterministic commitment by branch and bound, for every follower that can be bounded.

A node is a box of commitments (`iirl_opt.planning.bounds`); its children fix the action of one
state. Boxes are taken best bound first, many at a time; the optimistic commitment of each is
evaluated, so the incumbent is always a commitment with its true value; boxes of few commitments are
enumerated. What is cut off has a bound no larger than the incumbent by more than the tolerance, and
the largest such bound is part of the answer: value, bound and gap are there whenever it ends.

The state to branch on is where the optimistic play, weighted by how much it is visited from the
start, depends most on the action: by the spread of the leader's optimistic action values, and of
the follower's, which shape the answers elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count

import numpy as np
from numpy.typing import ArrayLike

from iirl_opt.checks import FLAG, NOT_NEGATIVE, TIME_LIMIT, checked, whole
from iirl_opt.errors import InvalidArgument
from iirl_opt.planning.bounds import Box, Mask, Relaxation, bounded
from iirl_opt.planning.enumeration import (
    Search,
    check_weights,
    commitments,
    enumerate_commitments,
)
from iirl_opt.planning.problem import PROBLEM, Array, CommitmentProblem, Integers
from iirl_opt.planning.tree import TreeRecorder

__all__ = ["branch_and_bound", "search"]

# Boxes bounded together, and the size up to which a box is enumerated.
BATCH, LEAF = 64, 32


@checked(problem=PROBLEM, time_limit=TIME_LIMIT, gap=NOT_NEGATIVE, leaf=whole(1), record=FLAG)
def branch_and_bound(
    problem: CommitmentProblem,
    *,
    incumbent: ArrayLike | None = None,
    start: ArrayLike | None = None,
    gap: float = 1e-9,
    time_limit: float | None = None,
    leaf: int = LEAF,
    record: bool = False,
) -> Search:
    """Return the best allowed deterministic commitment, and a bound on all of them.

    Parameters
    ----------
    incumbent : actions (S,) of a commitment to begin with.
    start : weights (S,) of the states in the objective; the game's start distribution by default.
    gap : the search ends when the bound exceeds the value by no more than this share of the range
        of values, span(r)/(1−γ) times the weights' sum (or than rounding).
    time_limit : seconds after which the incumbent is returned with the bound proved so far; the
        root is always bounded and its optimistic commitment evaluated.
    leaf : boxes of so many commitments are enumerated.
    record : keep the tree in `Search.tree`, for a certificate; then boxes are branched on down to
        single commitments, and `leaf` plays no part.

    Raises
    ------
    InvalidArgument
        The follower declares no bounds on its answers (see `Relaxation`); the incumbent plays an
        action that is not allowed.

    **Source** the relaxation of `iirl_opt.planning.bounds`, proved there. **Cost** arithmetic: a
    node takes some 15 S×S linear systems; their number grows exponentially in S at worst.

    Examples
    --------
    >>> from iirl_opt.follower import BoltzmannFollower
    >>> from iirl_opt.game.generate import random_game
    >>> game, reward = random_game(10, 2, 2, seed=0)
    >>> found = branch_and_bound(CommitmentProblem(game, reward, BoltzmannFollower(2)))
    >>> found.complete, found.gap < 1e-6
    (True, True)
    """
    recorder = TreeRecorder() if record else None
    tree = _Tree(problem, check_weights(problem.game, start), gap, 1 if record else leaf, recorder)
    began = time.perf_counter()
    if incumbent is not None:
        tree.evaluate(_check_actions(problem, incumbent)[None])
    tree.begin()
    tree.climb()
    while tree.heap and tree.bound > tree.best + tree.tolerance:
        if time_limit is not None and time.perf_counter() - began > time_limit:
            break
        tree.expand()
    bound = tree.bound
    return Search(
        actions=tree.actions,
        value=tree.best,
        values=tree.values,
        bound=bound,
        evaluated=tree.evaluated,
        nodes=tree.nodes,
        seconds=time.perf_counter() - began,
        complete=bound <= tree.best + tree.tolerance,
        tree=None if recorder is None else recorder.tree(),
    )


def search(
    problem: CommitmentProblem, *, start: ArrayLike | None = None, time_limit: float | None = None
) -> Search:
    """Return the best allowed deterministic commitment by the search that fits the follower.

    Branch and bound (which enumerates what is small) where the follower's answers can be bounded,
    else enumeration.

    Raises
    ------
    InvalidArgument
        The follower has no bounds and there are too many commitments to enumerate.
    """
    if bounded(problem):
        return branch_and_bound(problem, start=start, time_limit=time_limit)
    return enumerate_commitments(problem, start=start, time_limit=time_limit)


@dataclass(eq=False)
class _Tree:
    """The open boxes, the incumbent, and the largest bound that was cut off."""

    problem: CommitmentProblem
    weights: Array
    gap: float
    leaf: int
    recorder: TreeRecorder | None = None
    best: float = -np.inf
    actions: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    values: Array = field(default_factory=lambda: np.empty(0))
    cut: float = -np.inf
    nodes: int = 0
    evaluated: int = 0
    heap: list[tuple[float, int, Box, int, int]] = field(default_factory=list)
    ids: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.relaxation = Relaxation(self.problem)
        reward, left = self.problem.full_reward, 1 - self.problem.game.discount
        rounding = 1e-13 * float(np.abs(reward).max()) / left
        range_of_values = float(np.ptp(reward)) / left
        self.tolerance = float(self.weights.sum()) * max(self.gap * range_of_values, rounding)

    @property
    def bound(self) -> float:
        """What no commitment exceeds."""
        return max(self.best, self.cut, -self.heap[0][0] if self.heap else -np.inf)

    def evaluate(self, actions: Integers) -> None:
        """Evaluate commitments (K, S) and keep the best."""
        values = self.problem.values_of(actions)
        scores = values @ self.weights
        self.evaluated += len(actions)
        at = int(scores.argmax())
        if scores[at] > self.best:
            self.best = float(scores[at])
            self.actions, self.values = actions[at].copy(), values[at].copy()

    def climb(self) -> None:
        """Change the incumbent in one state at a time while it gets better."""
        a, (states, actions) = self.problem.allowed, np.nonzero(self.problem.allowed)
        if a.sum() == len(a):
            return
        before = -np.inf
        while self.best > before:
            before = self.best
            near = np.tile(self.actions, (len(states), 1))
            near[np.arange(len(states)), states] = actions
            self.evaluate(near)

    def begin(self) -> None:
        """Bound the whole problem."""
        root = self.relaxation.bound(self.problem.allowed[None])
        self.add(root, np.zeros(1, int) if self.recorder is None else self.recorder.root(root))

    def add(self, boxes: Box, numbers: Integers) -> None:
        """Evaluate the optimistic commitments of boxes and keep those worth opening."""
        self.evaluate(boxes.actions)
        self.nodes += len(boxes.mask)
        bounds = boxes.w_hi @ self.weights
        for i in np.flatnonzero(bounds > self.best + self.tolerance):
            heappush(self.heap, (-float(bounds[i]), next(self.ids), boxes, int(i), int(numbers[i])))
        closed = bounds[bounds <= self.best + self.tolerance]
        self.cut = max(self.cut, float(closed.max(initial=-np.inf)))

    def expand(self) -> None:
        """Open the most promising boxes: enumerate the small ones, branch on the others."""
        taken: list[tuple[Box, int]] = []
        numbers: list[int] = []
        while self.heap and len(taken) < BATCH:
            bound, _, boxes, i, number = heappop(self.heap)
            if -bound <= self.best + self.tolerance:
                self.cut = max(self.cut, -bound)
                break
            taken.append((boxes, i))
            numbers.append(number)
        if not taken:
            return
        parents = Box.stack([boxes.take([i]) for boxes, i in taken])
        sizes = np.exp(np.log(parents.mask.sum(axis=-1)).sum(axis=-1))
        small = sizes <= self.leaf + 0.5
        for mask in parents.mask[small]:
            for rows in commitments(mask):
                self.evaluate(rows)
        if not small.all():
            wide = parents.take(np.flatnonzero(~small))
            states = self._states(wide)
            masks, of = _children(wide.mask, states)
            boxes = self.relaxation.bound(masks, wide.take(of))
            parents = np.array(numbers)[~small][of]
            self.add(
                boxes,
                parents
                if self.recorder is None
                else self.recorder.branch(boxes, parents, states[of]),
            )

    def _states(self, boxes: Box) -> Integers:
        """Return the state to branch on in each box, (N,)."""
        problem = self.problem
        states = np.arange(problem.game.n_states)
        rows = problem.kernel[states, boxes.actions]
        chain = np.matmul(boxes.response[:, :, None], rows)[:, :, 0]
        system = np.eye(len(states)) - problem.game.discount * chain
        visits = np.linalg.solve(np.swapaxes(system, 1, 2), self.weights[:, None])[..., 0]
        spread = _spread(boxes.q, boxes.mask)
        middle = (boxes.h_lo + boxes.h_hi) / 2
        theirs = self.relaxation.action_values(middle).max(axis=-1)
        spread = spread + _spread(theirs, boxes.mask)
        open_states = boxes.mask.sum(axis=-1) > 1
        score = np.where(open_states, (visits + 1e-3) * spread, -1.0)
        return np.asarray(score.argmax(axis=-1))


def _children(mask: Mask, states: Integers) -> tuple[Mask, Integers]:
    """Return the boxes (M, S, A) that fix the action of one state, and whose children they are."""
    parent, action = np.nonzero(mask[np.arange(len(mask)), states])
    children = mask[parent].copy()
    children[np.arange(len(parent)), states[parent]] = np.eye(mask.shape[2], dtype=bool)[action]
    return children, parent


def _spread(q: Array, mask: Mask) -> Array:
    """Return by how much allowed actions differ in each state, (N, S)."""
    return np.asarray(
        np.where(mask, q, -np.inf).max(axis=-1) - np.where(mask, q, np.inf).min(axis=-1)
    )


def _check_actions(problem: CommitmentProblem, incumbent: ArrayLike) -> Integers:
    actions = np.asarray(incumbent)
    shape = (problem.game.n_states,)
    if actions.shape != shape or actions.dtype.kind not in "iu":
        raise InvalidArgument(
            "incumbent",
            f"is {actions.dtype} of shape {actions.shape}",
            f"integers {shape}",
            actions,
        )
    known = (actions >= 0) & (actions < problem.game.n_leader_actions)
    known[known] = problem.allowed[np.flatnonzero(known), actions[known]]
    if not known.all():
        s = int(np.argmin(known))
        raise InvalidArgument(
            f"incumbent[s={problem.game.states[s]!r}]",
            f"is {actions[s]}",
            f"one of {np.flatnonzero(problem.allowed[s]).tolist()}",
            int(actions[s]),
        )
    return actions.astype(np.int64)
