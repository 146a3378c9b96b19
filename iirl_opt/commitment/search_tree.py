"""What a finished branch and bound leaves behind: its tree, whose leaves bound all commitments.

A node is a box of commitments; its children fix the action of one state, one child an allowed
action, so the leaves hold every allowed deterministic commitment once. Each leaf comes with the
three vectors of its bound (`iirl_opt.commitment.relaxation`): whoever can check these knows that no
commitment earns more than the largest ``weights · w_hi``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iirl_opt.commitment.problem import Array, Integers
from iirl_opt.commitment.relaxation import Box, Mask

__all__ = ["SearchTree", "TreeRecorder"]


class SearchTree(NamedTuple):
    """A finished tree of M nodes and L leaves.

    Attributes
    ----------
    parent : of each node, (M,); −1 for the root, which is node 0.
    state, action : which action of which state a node fixes beside its parent's, (M,); −1 for the
        root.
    leaf : which node each leaf is, (L,).
    mask : the allowed actions of each leaf, (L, S, A).
    h_lo, h_hi : bounds on the follower's values in it, (L, S).
    w_hi : no commitment in it has larger values for the leader, (L, S).
    """

    parent: Integers
    state: Integers
    action: Integers
    leaf: Integers
    mask: Mask
    h_lo: Array
    h_hi: Array
    w_hi: Array

    def bound(self, weights: Array) -> float:
        """Return the largest bound of a leaf, weighted over the states (S,)."""
        return float((self.w_hi @ weights).max())


@dataclass(eq=False)
class TreeRecorder:
    """Notes the nodes of a running search, each known by its box and its place there."""

    parent: list[int] = field(default_factory=list)
    state: list[int] = field(default_factory=list)
    action: list[int] = field(default_factory=list)
    _box: dict[int, tuple[Box, int]] = field(default_factory=dict)

    def root(self, boxes: Box) -> NDArray[np.int64]:
        """Note the root and return its number as an array (1,)."""
        return self._note(boxes, [-1], [-1], [-1])

    def branch(self, boxes: Box, parents: NDArray[np.int64], states: Integers) -> NDArray[np.int64]:
        """Note children (N,) that fix the action of one state each; return their numbers (N,)."""
        for node in set(parents.tolist()):
            del self._box[node]
        fixed = boxes.mask[np.arange(len(states)), states].argmax(axis=1)
        return self._note(boxes, parents.tolist(), states.tolist(), fixed.tolist())

    def tree(self) -> SearchTree:
        """Return the tree as it stands: whatever has not been branched on is a leaf."""
        leaves = sorted(self._box)
        boxes = Box.stack([box.take([i]) for box, i in (self._box[node] for node in leaves)])
        return SearchTree(
            np.array(self.parent, dtype=np.int64),
            np.array(self.state, dtype=np.int64),
            np.array(self.action, dtype=np.int64),
            np.array(leaves, dtype=np.int64),
            boxes.mask,
            boxes.h_lo,
            boxes.h_hi,
            boxes.w_hi,
        )

    def _note(
        self, boxes: Box, parents: list[int], states: list[int], actions: list[int]
    ) -> NDArray[np.int64]:
        first = len(self.parent)
        self.parent += parents
        self.state += states
        self.action += actions
        numbers = range(first, len(self.parent))
        self._box.update({node: (boxes, i) for i, node in enumerate(numbers)})
        return np.array(numbers, dtype=np.int64)
