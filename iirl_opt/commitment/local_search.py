"""Local search over stochastic commitments, which may earn more than all deterministic ones.

Against an optimal follower with the leader's reward a deterministic commitment is optimal (Lemma
2); against others a stochastic one may earn more, and no algorithm is known that finds the best.
Two searches climb from given commitments:

* For a *smooth* follower (Boltzmann, proportional, soft-optimal) steps along the gradient of the
  start value (`iirl_opt.commitment.gradient`).
* For others the value jumps where the follower changes its mind. A search along the edges towards
  single actions looks at both sides of every such jump that it meets (`iirl_opt.commitment.edges`).

Both return a *lower bound* on the optimum over all commitments that is at least the value of where
they began. Neither proves optimality, and the supremum need not be attained: with a follower that
breaks ties against the leader, the best commitments may be those just short of a tie.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import POSITIVE, SEED, Rule, array_of_floats, checked, whole
from iirl_opt.commitment.algorithms_2_and_3 import (
    Evaluated,
    ValueIteration,
    accepted_change,
    evaluated,
)
from iirl_opt.commitment.bounds import value_bounds
from iirl_opt.commitment.edges import search_edges
from iirl_opt.commitment.gradient import SMOOTH, climb
from iirl_opt.commitment.incumbent import meets
from iirl_opt.commitment.plans import METHOD, Commitment, CommitmentMethod
from iirl_opt.commitment.problem import PROBLEM, CommitmentProblem, check_local
from iirl_opt.commitment.searches import digits
from iirl_opt.errors import InvalidArgument, InvalidPolicy
from iirl_opt.follower.soft import SoftOptimalFollower
from iirl_opt.printing.records import Tabular

__all__ = ["Improvement", "LocalSearch", "grid_check"]

Array = NDArray[np.float64]

# A grid of more commitments is refused.
LARGEST_GRID = 500_000


@dataclass(frozen=True, eq=False)
class Improvement(Tabular):
    """A stochastic commitment, whose value is a lower bound on the optimum.

    Attributes
    ----------
    best : the commitment with its reply and value.
    begun : the commitment that the search was to improve.
    found_from : the start that led to `best`: ``"given"``, ``"uniform"`` or ``"random"``.
    steps : improving steps made from that start.
    stationarity : for a smooth follower, the most that the first-order model of the value promises
        for any other commitment; zero at a local optimum, but for kinks. None for others.

    Examples
    --------
    >>> from iirl_opt.follower import BoltzmannFollower
    >>> from iirl_opt.game.generate import random_game
    >>> problem = CommitmentProblem(*random_game(3, 2, 2, rng=0), BoltzmannFollower(2.0))
    >>> found = LocalSearch(random_starts=0).climb(problem)
    >>> found.policy.shape, found.gain >= 0, found.found_from
    ((3, 2), True, 'given')
    """

    best: Evaluated
    begun: Evaluated
    found_from: str
    steps: int
    stationarity: float | None

    __repr__ = in_brief

    @property
    def policy(self) -> Array:
        """The commitment, shape (S, A)."""
        return self.best.policy

    @property
    def value(self) -> float:
        """Its value from the start distribution, at least ``begun.value``."""
        return self.best.value

    @property
    def gain(self) -> float:
        """What it earns above where the search began."""
        return self.best.value - self.begun.value


def BEGIN(name: str, value: Any) -> Any:
    """Return a method as it is, or a policy as floats."""
    return METHOD(name, value) if hasattr(value, "plan") else _POLICY(name, value)


_POLICY: Rule = array_of_floats(2, error=InvalidPolicy)


@checked(begin=BEGIN, steps=whole(0), tolerance=POSITIVE, random_starts=whole(0), seed=SEED)
@dataclass(frozen=True, eq=False)
class LocalSearch:
    """Climb to a stochastic commitment: from a given one, the uniform one and random ones.

    Parameters
    ----------
    begin : a commitment (S, A) to begin with, or the method that finds it. Of a search that proves
        what is best among deterministic commitments the answer is no worse than that. Against a
        soft-optimal follower, to whom `ValueIteration` does not apply, the default is uniform play.
    steps : the most from one start: gradient steps, or rounds over all edges.
    tolerance : the gain, as a share of span(r)/(1−γ), that is worth no further step.
    random_starts : drawn besides, each row uniform on the simplex.
    seed : of these.

    Examples
    --------
    >>> from iirl_opt.commitment.enumeration import Enumeration
    >>> from iirl_opt.follower import BoltzmannFollower
    >>> from iirl_opt.game.generate import random_game
    >>> game, reward = random_game(3, 2, 2, rng=12, concentration=1, restart=False)
    >>> problem = CommitmentProblem(game, reward, BoltzmannFollower(2))
    >>> found = LocalSearch(begin=Enumeration(), random_starts=0).climb(problem)
    >>> found.gain >= 0
    True
    """

    begin: ArrayLike | CommitmentMethod = field(default_factory=ValueIteration)
    steps: int = 500
    tolerance: float = 1e-8
    random_starts: int = 3
    seed: int = 0

    __repr__ = in_brief

    @checked(problem=PROBLEM)
    def climb(self, problem: CommitmentProblem) -> Improvement:
        """Return the best place that is reached.

        Raises
        ------
        InvalidArgument
            A follower that is neither local nor soft-optimal; a tolerance that makes no sense.
        InvalidPolicy
            A start that is no policy or plays what the problem forbids (named).

        **Source** ours; the paper leaves stochastic commitments to suboptimal followers open.
        **Cost** arithmetic: a step with a gradient solves one planning problem and four linear
        systems. A round over edges evaluates 80 commitments an edge and 40 more a jump, with the
        dense kernel: for small games.
        """
        given: Any = self.begin
        if not isinstance(problem.follower, SoftOptimalFollower):
            check_local(problem)
        elif isinstance(given, ValueIteration):  # which sweeps over a local follower's Q*
            given = problem.allowed / problem.allowed.sum(axis=1, keepdims=True)
        policy = given.plan(problem).policy if hasattr(given, "plan") else given
        begun = _check_allowed(problem, evaluated(problem, policy))
        worthless = accepted_change(problem, self.tolerance) / (1 - problem.game.discount)
        smooth = isinstance(problem.follower, SMOOTH)
        upwards = climb if smooth else search_edges
        best: Improvement | None = None
        for name, start in _starts(problem, begun.policy, self.random_starts, self.seed):
            reached, made, stationarity = upwards(problem, start, self.steps, worthless)
            there = evaluated(problem, reached)
            if best is None:  # the given start: a search may lose by rounding only
                there = max(begun, there, key=lambda candidate: candidate.value)
            if best is None or there.value > best.value + worthless:
                best = Improvement(there, begun, name, made, stationarity)
        assert best is not None
        return best

    def plan(self, problem: CommitmentProblem) -> Commitment:
        """Return what is reached, with a bound on all commitments. Raises as `climb`."""
        best = self.climb(problem).best
        bound = float(problem.game.start @ value_bounds(problem).w_hi)
        return Commitment.of(
            problem,
            best.policy,
            best.reply,
            method="local-search",
            bound=bound,
            proved=meets(problem, best.policy, best.reply, bound),
        )


def _check_allowed(problem: CommitmentProblem, begun: Evaluated) -> Evaluated:
    """Return a commitment, or name what it plays and may not."""
    outside = begun.policy.astype(bool) & ~problem.allowed
    if outside.any():
        s, a = (int(i) for i in np.argwhere(outside)[0])
        place = f"begin[s={problem.game.states[s]!r}, a={problem.game.leader_actions[a]!r}]"
        raise InvalidPolicy(place, f"is {begun.policy[s, a]:g}", "0: it is forbidden")
    return begun


@checked(problem=PROBLEM, resolution=whole(1))
def grid_check(problem: CommitmentProblem, resolution: int) -> Evaluated:
    """Return the best commitment whose probabilities are multiples of 1 / `resolution`.

    For tiny games: n allowed actions give C(resolution + n − 1, n − 1) rows a state.

    Raises
    ------
    InvalidArgument
        A resolution below 1, or a grid of more than 500,000 commitments.

    **Cost** arithmetic: every commitment of the grid is evaluated.

    Examples
    --------
    >>> from iirl_opt.follower import BoltzmannFollower
    >>> from iirl_opt.game.generate import random_game
    >>> problem = CommitmentProblem(*random_game(2, 2, 2, rng=0), BoltzmannFollower(2.0))
    >>> grid_check(problem, resolution=4).policy  # rows in quarters
    array([[0., 1.],
           [1., 0.]])
    """
    check_local(problem)
    per_state = [math.comb(resolution + n - 1, n - 1) for n in problem.allowed.sum(axis=1).tolist()]
    total = math.prod(per_state)
    if total > LARGEST_GRID:
        raise InvalidArgument(
            "resolution", f"makes {total} commitments", f"at most {LARGEST_GRID}", resolution
        )
    rows = [_simplex_grid(allowed, resolution) for allowed in problem.allowed]
    value, policy = -np.inf, np.empty(problem.game.shape[:2])
    step = max(1, LARGEST_GRID // (10 * policy.size))
    for at in range(0, total, step):
        index = digits(np.arange(at, min(at + step, total)), per_state)
        block = np.stack([row[i] for row, i in zip(rows, index.T, strict=True)], axis=1)
        scores = problem.replies(block).values @ problem.game.start
        if scores.max() > value:
            value, policy = float(scores.max()), block[int(scores.argmax())]
    return evaluated(problem, policy)


def _simplex_grid(allowed: NDArray[np.bool_], resolution: int) -> Array:
    """Return all rows over the allowed actions in multiples of 1 / resolution (stars and bars)."""
    n = int(allowed.sum())
    bars = np.array(list(combinations(range(resolution + n - 1), n - 1)), dtype=np.int64)
    edges = np.pad(bars, ((0, 0), (1, 1)), constant_values=-1)
    edges[:, -1] = resolution + n - 1
    rows = np.zeros((len(edges), allowed.size))
    rows[:, allowed] = (np.diff(edges, axis=1) - 1) / resolution
    return rows


def _starts(
    problem: CommitmentProblem, given: Array, random_starts: int, seed: int
) -> Iterator[tuple[str, Array]]:
    yield "given", given
    allowed = problem.allowed.astype(float)
    yield "uniform", allowed / allowed.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(seed)
    for _ in range(random_starts):
        drawn = rng.exponential(size=allowed.shape) * allowed
        yield "random", drawn / drawn.sum(axis=1, keepdims=True)
