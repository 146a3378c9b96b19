"""Proofs that no deterministic commitment earns more than a branch and bound says.

Where the follower has a reward of its own, or answers by another model than optimality, the best
commitment is found by a search. Its proof is the search's tree: nodes divide the leader's actions
of one state, so that the leaves, boxes of commitments, hold all of them; and each leaf carries
three vectors that bound what its commitments lead to, which `iirl_opt.certificate.boxes` checks by
inequalities, without a solver and without a linear system. The stated commitment is a box of one
commitment, bounded from below.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

from iirl_opt.certificate.boxes import Bounds, FollowerPlay, KernelRow, Model
from iirl_opt.certificate.check import Conditions
from iirl_opt.certificate.form import down, up
from iirl_opt.certificate.instance import Instance
from iirl_opt.certificate.record import Certificate

__all__ = ["CommitmentBound", "leaf_masks", "model_of"]

Mask = tuple[tuple[int, ...], ...]


def model_of(instance: Instance, leader: Any, follower: Any, play: FollowerPlay) -> Model:
    """Return the commitment problem of a game with rewards (S,) or (S, A, B)."""
    rows = instance.rows
    columns, weights = rows.indices.tolist(), rows.numerators.tolist()
    spans = pairwise(rows.indptr.tolist())
    kernel = [
        KernelRow(tuple(columns[i:j]), tuple(weights[i:j]), int(below))
        for (i, j), below in zip(spans, rows.denominators.tolist(), strict=True)
    ]
    own, theirs = (instance.over_choices(r).tolist() for r in (leader, follower))
    return Model(instance.shape, kernel, instance.discount, own, theirs, play)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CommitmentBound(Certificate):
    """No allowed deterministic commitment earns more than a bound; a stated one earns as much.

    Attributes
    ----------
    reward, follower_reward : (S,) or (S, A, B).
    model, ties, numbers : how the follower plays: see `iirl_opt.certificate.boxes.FollowerPlay`.
    allowed : the leader's actions in each state.
    actions : the stated commitment, (S,).
    lower, upper : it earns at least, and none earns more than.
    incumbent : vectors of the stated commitment; w is a lower bound.
    nodes : the tree in preorder: empty for a leaf, else a state and the parts of its actions.
    leaves : vectors of the leaves, in their order.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, reward = iirl.random_game(3, 2, 2, rng=0)
    >>> problem = iirl.CommitmentProblem(game, reward, iirl.EpsilonGreedyFollower(0.2))
    >>> proof = iirl.commitment.commitment_bound(problem)
    >>> proof.actions, proof.lower <= proof.upper, bool(proof.check())
    ((0, 0, 0), True, True)
    """

    kind: ClassVar[str] = "search tree"
    theorem: ClassVar[str] = "monotone contractions over boxes of commitments (branch and bound)"
    forms: ClassVar[Mapping[str, str]] = {
        "reward": "array",
        "follower_reward": "array",
        "model": "text",
        "ties": "text",
        "numbers": "array",
        "allowed": "lists",
        "actions": "positions",
        "lower": "number",
        "upper": "number",
        "incumbent": "box",
        "nodes": "lists",
        "leaves": "boxes",
    }

    reward: Any
    follower_reward: Any
    model: str
    ties: str
    numbers: Any
    allowed: Any
    actions: tuple[int, ...]
    lower: Fraction
    upper: Fraction
    incumbent: Bounds
    nodes: Any
    leaves: Sequence[Bounds]

    @property
    def play(self) -> FollowerPlay:
        """How the follower plays."""
        return FollowerPlay(self.model, self.ties, tuple(self.numbers.ravel().tolist()))

    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        shape = self.instance.shape
        rewards = {
            name: shape if getattr(self, name).ndim == 3 else shape[:1]
            for name in ("reward", "follower_reward")
        }
        return {**rewards, "actions": shape[:2]}

    def _misfits(self) -> list[str]:
        n_states, n_a, _ = self.instance.shape
        boxes = (self.incumbent, *self.leaves)
        right = {
            "numbers": self.numbers.ndim == 1 and self.play.is_known,
            "allowed": len(self.allowed) == n_states
            and all(_are_positions(row, n_a) for row in self.allowed),
            "nodes": all(_is_node(node, n_states, n_a) for node in self.nodes),
            "leaves": all(
                box.over > 0 and {len(v) for v in box[1:]} == {n_states} for box in boxes
            ),
        }
        return super()._misfits() + [name for name, fits in right.items() if not fits]

    def _words(self) -> str:
        return (
            f"no allowed deterministic commitment earns more than {up(self.upper)} against "
            f"{_named(self.play)}; the stated one earns at least {down(self.lower)}"
        )

    def _conditions(self) -> Conditions:
        model = model_of(self.instance, self.reward, self.follower_reward, self.play)
        start = self.instance.start.tolist()
        allowed = tuple(map(tuple, self.allowed))
        masks = leaf_masks(allowed, self.nodes)
        whole = masks is not None and len(masks) == len(self.leaves)
        own = tuple((a,) for a in self.actions)
        opposite = self.incumbent._replace(w=tuple(-x for x in self.incumbent.w))
        worst = [_box_residuals(model.reversed, own, opposite)]
        over: Any = -math.inf if whole else math.inf
        if whole:
            assert masks is not None
            for mask, box in zip(masks, self.leaves, strict=True):
                worst.append(_box_residuals(model, mask, box))
                over = max(over, weighted(start, box) - self.upper)
        kept = all(a in row for a, row in zip(self.actions, allowed, strict=True))
        names = (
            "the follower earns its lower bounds",
            "the follower earns no more than its upper bounds",
            "the leader earns no more than its bounds",
        )
        return Conditions(
            {
                "the stated commitment is allowed": 0 if kept else math.inf,
                "the leaves hold every commitment once": 0 if whole else math.inf,
                **dict(zip(names, map(max, zip(*worst, strict=True)), strict=True)),
                "no leaf exceeds the upper bound": over,
                "the stated one earns the lower": self.lower - weighted(start, self.incumbent),
            },
            {},
        )


def weighted(start: Sequence[Fraction], box: Bounds) -> Fraction:
    """Return the mean of w over the start distribution."""
    return sum((p * x for p, x in zip(start, box.w, strict=True)), Fraction(0)) / box.over


def _box_residuals(model: Model, mask: Mask, box: Bounds) -> tuple[Any, Any, Any]:
    """Return how far the three vectors of a box are from being proved."""
    lead = model.leader_high(mask, box)
    return (
        model.follower_low(mask, box.h_lo, box.over),
        model.follower_high(mask, box.h_hi, box.over),
        math.inf if lead is None else lead,
    )


def leaf_masks(allowed: Mask, nodes: Sequence[Any]) -> list[Mask] | None:
    """Return the boxes of the leaves of a tree in preorder, or None if it is no such tree.

    Examples
    --------
    >>> leaf_masks(((0, 1), (0,)), [[0, [0], [1]], [], []])
    [((0,), (0,)), ((1,), (0,))]
    """
    found: list[Mask] = []
    waiting = [allowed]
    for node in nodes:
        if not waiting:
            return None
        mask = waiting.pop()
        if not node:
            found.append(mask)
            continue
        state, *parts = node
        if sorted(a for part in parts for a in part) != list(mask[state]):
            return None
        children = [(*mask[:state], tuple(part), *mask[state + 1 :]) for part in parts]
        waiting += reversed(children)
    return None if waiting else found


def _are_positions(given: Any, size: int) -> bool:
    fits = isinstance(given, list | tuple) and len(given) > 0
    return (
        fits
        and all(type(a) is int and 0 <= a < size for a in given)
        and all(a < b for a, b in pairwise(given))
    )


def _is_node(node: Any, n_states: int, n_a: int) -> bool:
    if not isinstance(node, list | tuple):
        return False
    if not node:
        return True
    inside = type(node[0]) is int and 0 <= node[0] < n_states
    return inside and all(_are_positions(part, n_a) for part in node[1:])


def _named(play: FollowerPlay) -> str:
    """Return a follower in words."""
    n = [down(x) for x in play.numbers]
    if play.model == "greedy":
        kind = f"an ε-greedy follower with ε = {n[0]}" if play.epsilon else "an optimal follower"
        return f"{kind} (ties: {play.ties})"
    if play.model == "boltzmann":
        return f"a Boltzmann follower with β = {n[0]}"
    shape = f"{n[0]} + {n[1]} x" if play.model == "affine" else f"x^{n[0]}"
    return f"a follower that plays in proportion to {shape}"
