"""Local search over stochastic commitments, which may earn more than all deterministic ones.

Against an optimal follower with the leader's reward a deterministic commitment is optimal (Lemma
2); against others a stochastic one may earn more, and no algorithm is known that finds the best.
Two searches climb from given commitments:

* For a *smooth* follower projected steps with backtracking follow the gradient of the start value
  (`iirl_opt.commitment.gradient`). They end at kinks, too, where the follower is indifferent; in
  small games the second search goes on from there.
* For others the value jumps where the follower changes its mind. A search along the edges towards
  single actions, a state at a time, looks at both sides of every such jump that it meets.

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

from iirl_opt.checks import POSITIVE, SEED, Rule, array_of_floats, checked, whole
from iirl_opt.commitment.algorithms_2_and_3 import (
    Evaluated,
    ValueIteration,
    accepted_change,
    check_local,
    evaluated,
)
from iirl_opt.commitment.bounds import value_bounds
from iirl_opt.commitment.gradient import start_gradient
from iirl_opt.commitment.incumbent import meets
from iirl_opt.commitment.plans import METHOD, Commitment, CommitmentMethod
from iirl_opt.commitment.problem import PROBLEM, CommitmentProblem
from iirl_opt.commitment.searches import digits
from iirl_opt.errors import InvalidArgument, InvalidPolicy
from iirl_opt.follower import BoltzmannFollower, ProportionalFollower
from iirl_opt.game.decide import DENSE_STATES
from iirl_opt.game.kernel import is_sparse

__all__ = ["Improvement", "LocalSearch", "grid_check"]

Array = NDArray[np.float64]

# A step must bring this share of what the gradient promises.
SUFFICIENT = 1e-4

# A search that halves its step below this share of the first has reached rounding.
SMALLEST_STEP = 1e-14

# Step lengths tried together, as shares of the last one.
LENGTHS = 4.0 ** np.arange(2, -4, -1)

# Above so many actions in all states a gradient search leaves the edges alone.
MOST_EDGES = 100

# An edge is cut into so many parts; a jump between two points is then halved so many times.
EDGE_PARTS = 16
HALVINGS = 40

# A grid of more commitments is refused.
LARGEST_GRID = 500_000


@dataclass(frozen=True, eq=False)
class Improvement:
    """A stochastic commitment, whose value is a lower bound on the optimum.

    Attributes
    ----------
    best : the commitment with its reply and value.
    begun : the commitment that the search was to improve.
    found_from : the start that led to `best`: ``"given"``, ``"uniform"`` or ``"random"``.
    steps : improving steps made from that start.
    stationarity : for a smooth follower, the most that the first-order model of the value promises
        for any other commitment; zero at a local optimum, but for kinks. None for others.
    """

    best: Evaluated
    begun: Evaluated
    found_from: str
    steps: int
    stationarity: float | None

    @property
    def policy(self) -> Array:
        """The commitment, shape (S, A)."""
        return self.best.policy

    @property
    def value(self) -> float:
        """Its value from the start distribution, at least `begun.value`."""
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
        what is best among deterministic commitments the answer is no worse than that.
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

    @checked(problem=PROBLEM)
    def climb(self, problem: CommitmentProblem) -> Improvement:
        """Return the best place that is reached.

        Raises
        ------
        InvalidArgument
            A follower that is not local; a tolerance that makes no sense.
        InvalidPolicy
            A start that is no policy or plays what the problem forbids (named).

        **Source** ours; the paper leaves stochastic commitments to suboptimal followers open.
        **Cost** arithmetic: a step with a gradient solves one planning problem and four linear
        systems. A round over edges evaluates 80 commitments an edge and 40 more a jump, with the
        dense kernel: for small games.
        """
        check_local(problem)
        given = self.begin
        policy = given.plan(problem).policy if hasattr(given, "plan") else given
        begun = _check_allowed(problem, evaluated(problem, policy))
        worthless = accepted_change(problem, self.tolerance) / (1 - problem.game.discount)
        smooth = isinstance(problem.follower, BoltzmannFollower | ProportionalFollower)
        climb = _climb_and_search if smooth else _search_edges
        best: Improvement | None = None
        for name, start in _starts(problem, begun.policy, self.random_starts, self.seed):
            reached, made, stationarity = climb(problem, start, self.steps, worthless)
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


def _climb_and_search(
    problem: CommitmentProblem, policy: Array, steps: int, tolerance: float
) -> tuple[Array, int, float]:
    """Climb; where edges are few, also search them, since gradients end at kinks, and climb on."""
    policy, made, stationarity = _climb(problem, policy, steps, tolerance)
    if problem.allowed.sum() > MOST_EDGES or stationarity <= tolerance:
        return policy, made, stationarity
    policy, rounds, _ = _search_edges(problem, policy, steps, tolerance)
    if rounds == 0:
        return policy, made, stationarity
    policy, more, stationarity = _climb(problem, policy, steps, tolerance)
    return policy, made + rounds + more, stationarity


def _climb(
    problem: CommitmentProblem, policy: Array, steps: int, tolerance: float
) -> tuple[Array, int, float]:
    """Return where projected gradient steps lead, their number and the stationarity there."""
    length, shortest, gained = np.inf, 0.0, np.inf
    for made in range(steps + 1):
        value, gradient = start_gradient(problem, policy)
        best = np.where(problem.allowed, gradient, -np.inf).max(axis=1)
        stationarity = float((best - (policy * gradient).sum(axis=1)).sum())
        if min(stationarity, gained) <= tolerance or made == steps:
            break
        if made == 0:
            length = 1 / max(float(np.ptp(gradient)), np.finfo(float).tiny)
            shortest = SMALLEST_STEP * length
        found = False
        while not found and length > shortest:
            lengths = length * LENGTHS
            ahead = np.stack([_project(policy + t * gradient, problem.allowed) for t in lengths])
            values = _start_values(problem, ahead)
            promised = (gradient * (ahead - policy)).sum(axis=(1, 2))
            enough = (values > value) & (values >= value + SUFFICIENT * promised)
            found = bool(enough.any())
            at = int(np.where(enough, values, -np.inf).argmax())
            length = float(lengths[at] if found else lengths[-1] / 4)
        if not found:
            break
        policy, gained = ahead[at], float(values[at]) - value
    return policy, made, stationarity


def _start_values(problem: CommitmentProblem, policies: Array) -> Array:
    """Return the start values (K,) of K commitments; large sparse games stay sparse."""
    if is_sparse(problem.game.matrix) and problem.game.n_states > DENSE_STATES:
        values = np.array([problem.reply(policy).values for policy in policies])
    else:
        values = problem.replies(policies).values
    return np.asarray(values @ problem.game.start)


def _search_edges(
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


def _project(points: Array, allowed: NDArray[np.bool_]) -> Array:
    """Return the nearest policies: rows on the simplex over the allowed actions.

    **Source** Held, Wolfe & Crowder 1974: sort, then subtract a threshold.
    """
    shifted = np.where(allowed, points - points.max(axis=1, keepdims=True), -np.inf)
    shifted -= shifted.max(axis=1, keepdims=True)
    ordered = -np.sort(-shifted, axis=1)
    finite = np.isfinite(ordered)
    sums = np.where(finite, ordered, 0).cumsum(axis=1) - 1
    counts = np.arange(1, points.shape[1] + 1)
    kept = (finite & (np.where(finite, ordered, -np.inf) * counts > sums)).sum(axis=1)
    threshold = sums[np.arange(len(points)), kept - 1] / kept
    rows = np.maximum(shifted - threshold[:, None], 0)
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


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
