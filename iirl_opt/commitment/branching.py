"""Branch and bound over boxes of deterministic commitments: the search itself.

A node is a box of commitments (`iirl_opt.commitment.relaxation`); its children fix the action of
one state. Boxes are taken best bound first, many at a time; the optimistic commitments of the most
promising are evaluated, so the incumbent is always a commitment with its true value; boxes of few
commitments are enumerated. Of actions that do the same the first stands for all. A box is cut off
where its bound is below what the incumbent surely earns; boxes within the tolerance of it are put
aside for the end game, and the largest bound that is left then is part of the answer: value, bound
and gap are there whenever it ends.

The state to branch on is where the optimistic play, weighted by how much it is visited from the
start, depends most on the action: by the spread of the leader's optimistic action values, and of
the follower's, which shape the answers elsewhere. For a Boltzmann follower the second is weighted
by what it does there: its play in s moves by β p times the change of an action value, which the
occupancies of `iirl_opt.commitment.deviations` carry to s.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

import numpy as np

from iirl_opt.commitment.incumbent import PROVED, Incumbent, weighted
from iirl_opt.commitment.problem import Array, CommitmentProblem, Integers
from iirl_opt.commitment.relaxation import Box, Mask, Relaxation
from iirl_opt.commitment.search_tree import TreeRecorder
from iirl_opt.commitment.searches import Search, commitments, concluded, seconds_left
from iirl_opt.follower.boltzmann import BoltzmannFollower

__all__ = ["GAP", "LEAF", "branched"]

# Boxes bounded together, and the size up to which a box is enumerated.
BATCH, LEAF = 64, 4

# The gap that is accepted, as a share of the scale of the incumbent: half of what counts as none.
GAP = PROVED / 2

# Boxes of a batch whose optimistic commitments are evaluated: those of the largest bounds.
LOOKED = 8

# What a change of the follower's play counts beside one of the leader's own action values.
MOVED = 2.0

# Boxes bounded in the end game.
FINISH = 512


def branched(
    problem: CommitmentProblem,
    *,
    incumbent: Integers | None = None,
    gap: float = GAP,
    time_limit: float | None = None,
    leaf: int = LEAF,
    record: bool = False,
) -> Search:
    """Return the best deterministic commitment: see `BranchAndBound`, which has these options.

    Parameters
    ----------
    record : keep the tree in `Search.tree`, for a certificate; then boxes are branched on down to
        single commitments, and `leaf` plays no part.
    """
    recorder = TreeRecorder() if record else None
    tree = Branching(problem, gap, 1 if record else leaf, recorder)
    began = time.perf_counter()
    until = np.inf if time_limit is None else began + time_limit
    if incumbent is not None:
        tree.incumbent.look(incumbent[None])
    tree.begin()
    tree.climb()
    tree.work(until)
    complete = not tree.heap
    if complete:
        tree.finish(until)
    settled = tree.incumbent.settle(tree.beyond, seconds_left(began, time_limit))
    recorded = None if recorder is None else recorder.tree()
    return concluded(settled, tree.incumbent, began, complete, tree.nodes, recorded)


class _Node(NamedTuple):
    """A box in the heap: the largest bound comes first."""

    below: float
    number: int
    boxes: Box
    place: int
    recorded: int


@dataclass(eq=False)
class Branching:
    """The open boxes, the incumbent with its rivals, and the boxes that were cut off too early.

    A box is cut off for good where its bound is not above what the incumbent surely earns. One
    whose bound is above that by the tolerance at most is put aside: most are ties and rounding.
    """

    problem: CommitmentProblem
    gap: float
    leaf: int
    recorder: TreeRecorder | None = None
    nodes: int = 0
    heap: list[_Node] = field(default_factory=list)
    aside: list[_Node] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)
    tolerance: float = 0.0
    seen: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.relaxation: Relaxation = Relaxation(self.problem, tight=self.recorder is None)
        self.incumbent: Incumbent = Incumbent(self.problem)

    @property
    def beyond(self) -> float:
        """What no commitment exceeds that was not evaluated."""
        boxes = [*self.heap, *self.aside]
        return max((-n.below for n in boxes if -n.below > self.incumbent.floor), default=-np.inf)

    def climb(self) -> None:
        """Change the incumbent in one state at a time while it gets better."""
        states, actions = np.nonzero(self.problem.allowed)
        if len(states) == len(self.problem.allowed):
            return
        before = -np.inf
        while self.incumbent.floor > before and self.incumbent.best is not None:
            before = self.incumbent.floor
            near = np.tile(self.incumbent.best.actions, (len(states), 1))
            near[np.arange(len(states)), states] = actions
            self.incumbent.look(near)
        # Rounding in the incumbent's own value is no gain.
        self.tolerance = max(self.gap * self.incumbent.scale(), 2 * self.incumbent.slack)

    def begin(self) -> None:
        """Bound the whole problem."""
        whole = self.problem.allowed if self.recorder is not None else _distinct(self.problem)
        root = self.relaxation.bound(whole[None])
        self.add(root, np.zeros(1, int) if self.recorder is None else self.recorder.root(root))

    def work(self, until: float) -> None:
        """Open boxes until none is left that is better than the incumbent by the tolerance."""
        while self.heap and time.perf_counter() <= until:
            self.expand()

    def finish(self, until: float) -> None:
        """Open some of the boxes put aside, where rational arithmetic can tell what is in them."""
        if self.incumbent.exact is None or self.problem.lemma_2 or self.gap > GAP:
            return
        self.tolerance, most = 0.0, self.nodes + FINISH
        self.heap, self.aside = self.aside, []
        heapify(self.heap)
        while self.heap and self.nodes < most and time.perf_counter() <= until:
            self.expand()

    def add(self, boxes: Box, recorded: Integers) -> None:
        """Evaluate optimistic commitments of the best boxes and keep those worth opening."""
        self.nodes += len(boxes.mask)
        bounds = weighted(boxes.w_hi, self.problem.game.start)
        promising = np.argsort(-bounds, kind="stable")[:LOOKED]
        self._look(boxes.actions[promising[bounds[promising] >= self.incumbent.floor]])
        for i in np.flatnonzero(bounds > self.incumbent.floor):
            below = -float(bounds[i])
            node = _Node(below, next(self.numbers), boxes, int(i), int(recorded[i]))
            if self._worth_opening(node):
                heappush(self.heap, node)
            else:
                self.aside.append(node)

    def _look(self, commitments: Integers) -> None:
        """Evaluate those commitments (N, S) that were not evaluated yet."""
        new = [row.tobytes() not in self.seen for row in commitments]
        self.seen.update(row.tobytes() for row in commitments)
        if any(new):
            self.incumbent.look(commitments[new])

    def _worth_opening(self, node: _Node) -> bool:
        """Return whether a box may be better than the incumbent by more than the tolerance."""
        return -node.below > self.incumbent.floor + self.tolerance

    def expand(self) -> None:
        """Open the most promising boxes: enumerate the small ones, branch on the others."""
        taken: list[_Node] = []
        while self.heap and len(taken) < BATCH:
            node = heappop(self.heap)
            if not self._worth_opening(node):  # nor are those behind it
                self.aside += [n for n in (node, *self.heap) if -n.below > self.incumbent.floor]
                self.heap.clear()
                break
            taken.append(node)
        if not taken:
            return
        parents = Box.stack([node.boxes.take([node.place]) for node in taken])
        sizes = np.exp(np.log(parents.mask.sum(axis=-1)).sum(axis=-1))
        small = sizes <= self.leaf + 0.5
        for mask in parents.mask[small]:
            for rows in commitments(mask):
                self.incumbent.look(rows)
        if not small.all():
            wide = parents.take(np.flatnonzero(~small))
            states = self._states(wide)
            masks, of = _children(wide.mask, states)
            boxes = self.relaxation.bound(masks, wide.take(of))
            recorded = np.array([node.recorded for node in taken])[~small][of]
            if self.recorder is not None:
                recorded = self.recorder.branch(boxes, recorded, states[of])
            self.add(boxes, recorded)

    def _states(self, boxes: Box) -> Integers:
        """Return the state to branch on in each box, (N,)."""
        problem, gamma = self.problem, self.problem.game.discount
        at = np.arange(len(boxes.mask))[:, None], np.arange(problem.game.n_states)
        actions, play = boxes.actions, boxes.response
        rows = problem.kernel[at[1], actions]
        chain = np.matmul(play[:, :, None], rows)[:, :, 0]
        system = np.eye(problem.game.n_states) - gamma * chain
        visits = np.linalg.solve(np.swapaxes(system, 1, 2), problem.game.start[:, None])[..., 0]
        theirs = self.relaxation.action_values((boxes.h_lo + boxes.h_hi) / 2)
        own, moved = _differences(boxes.q, boxes.mask), _differences(theirs.max(-1), boxes.mask)
        score = (visits + 1e-3) * (own + moved)
        if isinstance(problem.follower, BoltzmannFollower):
            gains = self.relaxation.own_values(boxes.w_hi)[(*at, actions)]
            pull = play * abs(gains - (play * gains).sum(axis=-1, keepdims=True))
            pull *= MOVED * problem.follower.beta * gamma * visits[..., None]
            steps = problem.kernel[(*at[1:], actions, theirs[(*at, actions)].argmax(axis=-1))]
            apart = (rows - chain[:, :, None]).reshape(len(rows), -1, len(at[1]))
            far = np.matmul(apart, np.linalg.inv(np.eye(len(at[1])) - gamma * steps))
            moving = np.matmul(pull.reshape(len(rows), 1, -1), abs(far))[:, 0]
            score = visits * own + (moving + 1e-3) * moved
        open_states = boxes.mask.sum(axis=-1) > 1
        return np.asarray(np.where(open_states, score, -1.0).argmax(axis=-1))


def _distinct(problem: CommitmentProblem) -> Mask:
    """Return the allowed actions (S, A) less those that do what one before them does."""
    own = np.unique(problem.full_reward, return_inverse=True)[1]
    kinds = np.stack([problem.alike, own.reshape(problem.game.shape)], -1)
    same = (kinds[:, :, None] == kinds[:, None]).all(axis=(3, 4))
    before = np.tril(np.ones(same.shape[1:], dtype=bool), -1)
    return np.asarray(problem.allowed & ~(same & before & problem.allowed[:, None]).any(axis=2))


def _children(mask: Mask, states: Integers) -> tuple[Mask, Integers]:
    """Return the boxes (M, S, A) that fix the action of one state, and whose children they are."""
    parent, action = np.nonzero(mask[np.arange(len(mask)), states])
    children = mask[parent].copy()
    children[np.arange(len(parent)), states[parent]] = np.eye(mask.shape[2], dtype=bool)[action]
    return children, parent


def _differences(q: Array, mask: Mask) -> Array:
    """Return by how much allowed actions differ in each state, (N, S)."""
    return np.asarray(
        np.where(mask, q, -np.inf).max(axis=-1) - np.where(mask, q, np.inf).min(axis=-1)
    )
