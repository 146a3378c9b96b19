"""From a branch and bound to a proof: `commitment_bound`.

The search's tree, found in floating point, is gone through leaf by leaf; each leaf's vectors are
settled in whole numbers (`iirl_opt.commitment.rounding`), and a leaf whose bound is then above
what the best commitment earns is divided further.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.certificate.boxes import Bounds, FollowerPlay, Model
from iirl_opt.certificate.instance import Instance
from iirl_opt.certificate.tree import CommitmentBound, Mask, model_of, weighted
from iirl_opt.checks import POSITIVE, TIME_LIMIT, array_of_whole, checked, whole
from iirl_opt.commitment.branching import branched
from iirl_opt.commitment.problem import PROBLEM, CommitmentProblem
from iirl_opt.commitment.rounding import bound_box, bound_one, grid
from iirl_opt.commitment.search_tree import SearchTree
from iirl_opt.commitment.searches import check_actions
from iirl_opt.errors import InvalidArgument
from iirl_opt.exact.numbers import as_fraction, as_fractions
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower
from iirl_opt.follower.proportional import Affine, Exponential, Power, ProportionalFollower

__all__ = ["commitment_bound", "play_of"]

# Leaves of a proof: some minutes of work.
MOST_LEAVES = 20_000
# A bound is close to a value within this share of it, and within so many units of the grid.
CLOSE, ROUNDING = 2**41, 2**10


def play_of(problem: CommitmentProblem) -> FollowerPlay:
    """Return how the follower of a problem plays, in the words of a certificate.

    Raises
    ------
    InvalidArgument
        A follower that a file cannot state: one of your own, or proportional to a function that is
        none of `Affine`, `Power`, `Exponential` and ``np.exp``.
    """
    follower = problem.follower
    if isinstance(follower, OptimalFollower | EpsilonGreedyFollower):
        share = follower.epsilon if isinstance(follower, EpsilonGreedyFollower) else 0
        rule = problem.ties or follower.ties
        return FollowerPlay("greedy", "any" if rule == "random" else rule, (as_fraction(share),))
    if isinstance(follower, BoltzmannFollower):
        return FollowerPlay("boltzmann", "", (as_fraction(follower.beta),))
    f = follower.f if isinstance(follower, ProportionalFollower) else None
    if f is np.exp:
        return FollowerPlay("boltzmann", "", (Fraction(1),))
    if isinstance(f, Exponential):
        return FollowerPlay("boltzmann", "", (as_fraction(f.rate),))
    if isinstance(f, Affine):
        return FollowerPlay("affine", "", (as_fraction(f.constant), as_fraction(f.slope)))
    if isinstance(f, Power):
        return FollowerPlay("power", "", (as_fraction(f.exponent),))
    raise InvalidArgument(
        "follower",
        f"is {follower!r}, which a certificate cannot state",
        "optimal, ε-greedy, Boltzmann, or proportional to Affine, Power, Exponential or np.exp",
        follower,
    )


@checked(
    problem=PROBLEM,
    time_limit=TIME_LIMIT,
    gap=POSITIVE,
    most_leaves=whole(1),
    actions=array_of_whole(1),
)
def commitment_bound(
    problem: CommitmentProblem,
    actions: ArrayLike | None = None,
    *,
    gap: float = 1e-9,
    time_limit: float | None = None,
    most_leaves: int = MOST_LEAVES,
) -> CommitmentBound:
    """Return the proof of what deterministic commitments can earn at most, and one does earn.

    Parameters
    ----------
    actions : the commitment to state, (S,); by default the best one.
    gap, time_limit : of the search: see `BranchAndBound`. If the time ends first, the proof is of
        the bound that the search had reached.
    most_leaves : more are refused.

    Raises
    ------
    InvalidArgument
        The follower cannot be stated (see ``play_of``), its play is not defined for all of its
        values, or there are more leaves.

    **Source** the module `iirl_opt.certificate.boxes`. **Cost** a branch and bound; then some 30 ms
    a leaf of 20 states.

    Examples
    --------
    >>> from iirl_opt.follower import EpsilonGreedyFollower
    >>> from iirl_opt.game.generate import random_game
    >>> problem = CommitmentProblem(*random_game(3, 2, 2, rng=0), EpsilonGreedyFollower(0.2))
    >>> certificate = commitment_bound(problem)
    >>> certificate.actions, bool(certificate.check())
    ((0, 0, 0), True)
    """
    play = play_of(problem)
    given = None if actions is None else check_actions(problem, actions)
    found = branched(problem, incumbent=given, gap=gap, time_limit=time_limit, record=True)
    assert found.tree is not None
    if len(found.tree.leaf) > most_leaves:
        raise _too_many(len(found.tree.leaf), most_leaves)
    instance = Instance.of(problem.game)
    rewards = as_fractions(problem.reward), as_fractions(problem.follower_reward)
    model = model_of(instance, *rewards, play)
    writer = _Writer(model, instance.start.tolist(), most_leaves)
    writer.try_out([int(a) for a in found.actions])
    if not found.complete:
        writer.target = max(writer.target, Fraction(found.bound))
    writer.write(found.tree)
    assert writer.best is not None
    stated = writer.best if actions is None else writer.earned([int(a) for a in np.ravel(actions)])
    return CommitmentBound(
        instance=instance,
        reward=rewards[0],
        follower_reward=rewards[1],
        model=play.model,
        ties=play.ties,
        numbers=as_fractions(play.numbers),
        allowed=tuple(tuple(np.flatnonzero(row).tolist()) for row in problem.allowed),
        actions=stated.actions,
        lower=stated.value,
        upper=writer.upper,
        incumbent=stated.bounds,
        nodes=tuple(writer.nodes),
        leaves=tuple(writer.leaves),
    )


def _too_many(found: int, allowed: int) -> InvalidArgument:
    wanted = "more; or ask for less by `gap`, or for a bound alone by `time_limit`"
    return InvalidArgument(
        "most_leaves", f"is {allowed}: {found} or more are needed", wanted, found
    )


class _Earned(NamedTuple):
    """A commitment with the least that it earns, and the vectors that prove it."""

    value: Fraction
    actions: tuple[int, ...]
    bounds: Bounds


@dataclass(eq=False)
class _Writer:
    """Writes a tree in preorder, its leaves proved.

    A box whose bound exceeds `target` is divided until it does not, or is a single commitment.
    """

    model: Model
    start: Sequence[Fraction]
    most: int
    target: Fraction = Fraction(0)
    best: _Earned | None = None
    nodes: list[Any] = field(default_factory=list)
    leaves: list[Bounds] = field(default_factory=list)
    values: list[Fraction] = field(default_factory=list)

    @property
    def upper(self) -> Fraction:
        """The largest bound of a leaf."""
        return max(self.values)

    def earned(self, actions: Sequence[int]) -> _Earned:
        """Return what a commitment earns at least."""
        own = bound_one(self.model.reversed, actions)
        bounds = own._replace(w=tuple(-x for x in own.w))
        return _Earned(weighted(self.start, bounds), tuple(actions), bounds)

    def try_out(self, actions: Sequence[int]) -> None:
        """Take a commitment as the best one if it is better, and as the measure of what is close.

        Close is 2^-41 of its value, or what rounding does.
        """
        found = self.earned(actions)
        if self.best is None or found.value > self.best.value:
            unit = Fraction(ROUNDING, grid(self.model)) / (1 - self.model.discount)
            near = found.value + max(abs(found.value) / CLOSE, unit)
            self.target = near if self.best is None else max(self.target, near)
            self.best = found

    def write(self, tree: SearchTree) -> None:
        """Write the whole tree of a search."""
        children: dict[int, list[int]] = {}
        for node, parent in enumerate(tree.parent.tolist()[1:], start=1):
            children.setdefault(parent, []).append(node)
        at = {node: i for i, node in enumerate(tree.leaf.tolist())}
        waiting = [0]
        while waiting:
            node = waiting.pop()
            below = sorted(children.get(node, []), key=lambda child: int(tree.action[child]))
            if below:
                parts = [[int(tree.action[child])] for child in below]
                self.nodes.append([int(tree.state[below[0]]), *parts])
                waiting += reversed(below)
            else:
                i = at[node]
                mask = tuple(tuple(np.flatnonzero(row).tolist()) for row in tree.mask[i])
                self.prove(mask, [tree.h_lo[i], tree.h_hi[i], tree.w_hi[i]])

    def prove(self, mask: Mask, near: Sequence[NDArray[np.float64]]) -> None:
        """Write a box: as a leaf if its bound is within the target, else divided further."""
        waiting = [(mask, near)]
        while waiting:
            box, floats = waiting.pop()
            single = all(len(actions) == 1 for actions in box)
            try:
                bounds = (
                    bound_one(self.model, [a for (a,) in box], floats)
                    if single
                    else bound_box(self.model, box, floats)
                )
            except ArithmeticError as problem:
                place = self.model.play
                raise InvalidArgument("follower", str(problem), "a play that is", place) from None
            value = weighted(self.start, bounds)
            if value > self.target:
                self.try_out(self.hopeful(box, bounds))
            if single or value <= self.target:
                self.close(bounds, value)
                continue
            state = self.spread(box, bounds)
            self.nodes.append([state, *([a] for a in box[state])])
            nearer = [np.array([x / bounds.over for x in v]) for v in bounds[1:]]
            children = [(*box[:state], (a,), *box[state + 1 :]) for a in box[state]]
            waiting += [(child, nearer) for child in reversed(children)]

    def close(self, bounds: Bounds, value: Fraction) -> None:
        """Write a leaf."""
        if len(self.leaves) == self.most:
            raise _too_many(self.most + 1, self.most)
        self.nodes.append([])
        self.leaves.append(bounds)
        self.values.append(value)

    def hopeful(self, mask: Mask, bounds: Bounds) -> list[int]:
        """Return the commitment of a box that gains the leader most at best."""
        chosen = []
        for s, actions in enumerate(mask):
            gains = [max(self.model.gains(s, a, bounds)) for a in actions]
            chosen.append(actions[gains.index(max(gains))])
        return chosen

    def spread(self, mask: Mask, bounds: Bounds) -> int:
        """Return the state whose actions differ most, by what they gain the leader at best."""
        return max(self._spreads(mask, bounds))[1]

    def _spreads(self, mask: Mask, bounds: Bounds) -> Iterator[tuple[Fraction, int]]:
        for s, actions in enumerate(mask):
            if len(actions) > 1:
                gains = [max(self.model.gains(s, a, bounds)) for a in actions]
                yield max(gains) - min(gains), s
