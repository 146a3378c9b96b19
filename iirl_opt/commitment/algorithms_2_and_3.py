"""Algorithms 2 and 3: approximate value iteration for a leader whose follower errs.

Two value functions are iterated together: ``V``, what the leader earns, and ``V̂``, what the
follower believes the game to be worth. A sweep computes

    Q̂(s, a, b) = r2 + γ Σ P V̂,             π2(· | s, a) = the follower's answer to Q̂(s, a, ·),
    π1(s) = argmax_a Σ_b π2 (r1 + γ Σ P V),   V(s) = that maximum,   V̂(s) = max_b Q̂(s, π1(s), b).

With a `BoltzmannFollower` this is the paper's Algorithm 2, with an `EpsilonGreedyFollower` its
Algorithm 3, and any other `LocalFollower` will do. For a fixed ``π1`` the sweep converges to what
``π1`` earns; but ``π1`` is chosen as if one commitment were best from every state. For such
followers there need be none (Theorem 3, Lemma 3), so the result is a *heuristic*: it may lose any
share of the value, and ``π1`` may cycle for ever. Hence sweeps are capped, cycles are found, and
what is returned is the best commitment by exact evaluation among the last ones met and the leader's
part of an optimal joint policy.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import POSITIVE, Rule, array_of_floats, checked, one_of, whole
from iirl_opt.commitment.lemma_2 import joint_leader_policy
from iirl_opt.commitment.plans import Commitment
from iirl_opt.commitment.problem import PROBLEM, CommitmentProblem, Reply, check_local
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.optimal import best_responses
from iirl_opt.game.kernel import Matrix
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.game.reward import ROUNDING
from iirl_opt.printing.records import Tabular, with_html

__all__ = [
    "Approximation",
    "Evaluated",
    "ValueIteration",
    "accepted_change",
    "evaluated",
]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Order = Literal["together", "in-place"]

# Without convergence so many distinct commitments, the last ones met, are evaluated.
EVALUATED = 20

# Action values of an iteration are tied within this share of themselves.
NOISE = 64 * float(np.finfo(float).eps)

# No more sweeps than these are made unasked: a discount near one would want any number.
MOST_SWEEPS = 50_000

# Leaps begin after so many sweeps: earlier, a commitment that stands has not stood for long.
FIRST_LEAP = 16


class Evaluated(NamedTuple):
    """A commitment and what it earns.

    Attributes
    ----------
    policy : the commitment, shape (S, A).
    reply : the follower's response and the leader's values.
    value : the leader's value from the start distribution.

    Examples
    --------
    >>> from iirl_opt.follower import BoltzmannFollower
    >>> from iirl_opt.game.generate import random_game
    >>> game, reward = random_game(4, 2, 2, rng=0)
    >>> found = ValueIteration().iterate(CommitmentProblem(game, reward, BoltzmannFollower(2.0)))
    >>> found.best.policy.shape, found.best.value >= found.joint.value
    ((4, 2), True)
    """

    policy: Array
    reply: Reply
    value: float

    def __repr__(self) -> str:
        return in_brief(self)

    def _repr_html_(self) -> str:
        return with_html(self)


@dataclass(frozen=True, eq=False)
class Approximation(Tabular):
    """What approximate value iteration found: a heuristic commitment, exactly evaluated.

    Attributes
    ----------
    iterated : the best commitment among the last ones of the iteration; the plain algorithm.
    joint : the leader's part of an optimal joint policy.
    leader_values, follower_values : V and V̂ of the last sweep, shape (S,); a warm start.
    sweeps : how many were made.
    converged : whether V and V̂ came to rest; then `iterated` is the commitment they rest on.
    cycle : the length of the cycle that the iteration ran into; None if it ran into none.
    residual : the largest change of V or V̂ in the last sweep.

    Examples
    --------
    >>> from iirl_opt.follower import BoltzmannFollower
    >>> from iirl_opt.game.generate import random_game
    >>> game, reward = random_game(4, 2, 2, rng=0)
    >>> found = ValueIteration().iterate(CommitmentProblem(game, reward, BoltzmannFollower(2.0)))
    >>> found.converged, found.cycle, found.kept
    (True, None, 'iterated')
    """

    iterated: Evaluated
    joint: Evaluated
    leader_values: Array
    follower_values: Array
    sweeps: int
    converged: bool
    cycle: int | None
    residual: float

    __repr__ = in_brief

    @property
    def kept(self) -> Literal["iterated", "joint"]:
        """Which of the two is better; `iterated` if neither is."""
        return "joint" if self.joint.value > self.iterated.value else "iterated"

    @property
    def best(self) -> Evaluated:
        """The better of the two."""
        return self.joint if self.kept == "joint" else self.iterated

    @property
    def policy(self) -> Array:
        """The commitment, shape (S, A)."""
        return self.best.policy

    @property
    def reply(self) -> Reply:
        """The follower's response to it, and the leader's values."""
        return self.best.reply

    @property
    def value(self) -> float:
        """The leader's value from the start distribution: a lower bound on the optimum."""
        return self.best.value


_VALUES: Rule = array_of_floats(1)


def VALUES_TO_BEGIN(name: str, value: Any) -> Any:
    """Return values (S,), or a pair of them, as floats."""
    if isinstance(value, tuple) and len(value) == 2 and np.ndim(value[0]) == 1:
        return tuple(_VALUES(f"{name}[{i}]", part) for i, part in enumerate(value))
    return _VALUES(name, value)


@checked(
    begin=VALUES_TO_BEGIN, sweeps=whole(1), tolerance=POSITIVE, order=one_of("together", "in-place")
)
@dataclass(frozen=True, eq=False)
class ValueIteration:
    """Plan by approximate value iteration: Algorithm 2, 3, or that of any other local follower.

    Parameters
    ----------
    begin : ``(V, V̂)`` to begin with, or one array (S,) for both; zero by default.
    sweeps : the most to make; by default twice what a fixed commitment needs, or 50,000.
    tolerance : the change of values, as a share of the reward's span, at which they are at rest.
    order : ``"together"`` changes all states at once, and leaps to the values of a commitment that
        has stood for half of the sweeps; ``"in-place"`` goes state by state as printed, without
        leaps, which is slow.

    Examples
    --------
    >>> from iirl_opt.follower import BoltzmannFollower
    >>> from iirl_opt.game.mdp import TwoAgentMDP
    >>> game = TwoAgentMDP([[[[3, 1]], [[1, 3]]], [[[1, 1]], [[0, 1]]]], discount=0.5)
    >>> found = ValueIteration().iterate(CommitmentProblem(game, [0, 1], BoltzmannFollower(2)))
    >>> found.policy.argmax(axis=1), found.converged, found.kept
    (array([1, 1]), True, 'iterated')
    """

    begin: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None
    sweeps: int | None = None
    tolerance: float = 1e-9
    order: Order = "together"

    __repr__ = in_brief

    @checked(problem=PROBLEM)
    def iterate(self, problem: CommitmentProblem) -> Approximation:
        """Return a heuristic commitment to a follower that answers from its action values.

        A Boltzmann follower makes this Algorithm 2, an ε-greedy one Algorithm 3. A tie rule of the
        problem breaks ties of Q̂ by ``r1 + γ Σ P V``.

        Raises
        ------
        InvalidArgument
            A follower that is not local; values to begin with, or a tolerance, that make no sense.

        **Source** paper, appendix C, Algorithms 2 and 3. Ours: rewards (S, A, B) and of two kinds,
        the leaps, the end in cycles, the evaluation, the joint policy as a candidate. **Cost**
        arithmetic: one pass over the kernel a sweep.
        """
        check_local(problem)
        ended = _swept(problem, self)
        n_actions = problem.game.n_leader_actions
        candidates = [
            evaluated(problem, deterministic_policy(row, n_actions)) for row in ended.late
        ]
        return Approximation(
            iterated=max(candidates, key=lambda candidate: candidate.value),
            joint=evaluated(problem, joint_leader_policy(problem)),
            leader_values=ended.values[:, 0],
            follower_values=ended.values[:, 1],
            sweeps=ended.sweeps,
            converged=ended.converged,
            cycle=ended.cycle,
            residual=ended.residual,
        )

    def plan(self, problem: CommitmentProblem) -> Commitment:
        """Return a heuristic commitment: nothing is known of the best. Raises as `iterate`."""
        found = self.iterate(problem)
        return Commitment.of(
            problem,
            found.policy,
            found.reply,
            method="approximate",
            among="deterministic",
            converged=found.converged,
        )


class _Ended(NamedTuple):
    """Where sweeps end: values (S, 2), the last commitments met (S,), and how."""

    values: Array
    late: list[Integers]
    sweeps: int
    converged: bool
    cycle: int | None
    residual: float


def _swept(problem: CommitmentProblem, options: ValueIteration) -> _Ended:
    """Sweep until values come to rest, run into a cycle, or the sweeps are used up."""
    values = _values_to_begin(problem, options.begin)
    rest = accepted_change(problem, options.tolerance)
    most = _most_sweeps(problem, options.sweeps, options.tolerance)
    blocks = list(_blocks(problem, options.order))
    met: OrderedDict[bytes, Integers] = OrderedDict()
    anchor, anchored, changed = values, 0, 0
    cycle: int | None = None
    for sweep in count(1):
        old = values
        values, actions = _sweep(problem, blocks, old)
        key = actions.tobytes()
        if not met or key != next(reversed(met)):
            changed = sweep
        met[key] = actions
        met.move_to_end(key)
        if len(met) > EVALUATED:
            met.popitem(last=False)
        residual = float(np.abs(values - old).max())
        converged = residual <= rest
        # Brent's search: a return to the anchor after other commitments is a cycle.
        if not converged and changed > anchored + 1 and np.abs(values - anchor).max() <= rest:
            cycle = sweep - anchored
        if converged or cycle is not None or sweep == most:
            break
        if sweep >= 2 * anchored:
            if options.order == "together" and sweep >= FIRST_LEAP and changed <= sweep // 2:
                values = _limit_of_sweeps(problem, actions)
            anchor, anchored = values, sweep
    late = [actions] if converged else list(met.values())
    return _Ended(values, late, sweep, converged, cycle, residual)


def evaluated(problem: CommitmentProblem, policy: ArrayLike) -> Evaluated:
    """Return a commitment (S, A) with the reply to it. **Cost** arithmetic."""
    commitment = problem.game.check_leader_policy(policy)
    reply = problem.reply(commitment)
    return Evaluated(commitment, reply, float(problem.game.start @ reply.values))


def accepted_change(problem: CommitmentProblem, tolerance: float) -> float:
    """Return the change of values at which they are at rest: a share of the reward's span.

    Where rounding changes them by more, that is accepted.
    """
    if not 0 < tolerance < 1:
        raise InvalidArgument("tolerance", f"is {tolerance}", "a share in (0, 1)", tolerance)
    rewards = (problem.reward, problem.follower_reward)
    span = max(float(np.ptp(r)) for r in rewards)
    largest = max(float(np.abs(r).max()) for r in rewards)
    return max(tolerance * span, ROUNDING * largest / (1 - problem.game.discount))


class _Block(NamedTuple):
    """States that a sweep changes together: rows of the kernel, rewards and allowed actions."""

    states: slice
    matrix: Matrix
    own: Array
    theirs: Array
    allowed: NDArray[np.bool_]


def _blocks(problem: CommitmentProblem, order: Order) -> Iterator[_Block]:
    size, n = problem.game.n_states, problem.game.n_choices
    step = size if order == "together" else 1
    own, theirs = problem.full_reward, problem.full_follower_reward
    for at in range(0, size, step):
        states = slice(at, at + step)
        rows = problem.game.matrix[at * n : (at + step) * n]
        yield _Block(states, rows, own[states], theirs[states], problem.allowed[states])


def _sweep(
    problem: CommitmentProblem, blocks: list[_Block], values: Array
) -> tuple[Array, Integers]:
    """Return the next V and V̂ as columns (S, 2), and the leader's actions (S,)."""
    values = values.copy()
    actions = np.empty(len(values), dtype=np.int64)
    for block in blocks:
        ahead = problem.game.discount * (block.matrix @ values)
        own = block.own + ahead[:, 0].reshape(block.own.shape)
        theirs = block.theirs + ahead[:, 1].reshape(block.own.shape)
        rounding = NOISE * (abs(block.theirs) + abs(theirs))
        mean = np.einsum("sab,sab->sa", problem.answer(theirs, own, rounding), own)
        chosen = np.where(block.allowed, mean, -np.inf).argmax(axis=1)
        states = np.arange(len(chosen))
        actions[block.states] = chosen
        values[block.states, 0] = mean[states, chosen]
        values[block.states, 1] = theirs[states, chosen].max(axis=1)
    return values, actions


def _limit_of_sweeps(problem: CommitmentProblem, actions: Integers) -> Array:
    """Return V and V̂ (S, 2) to which sweeps with one commitment converge."""
    policy = deterministic_policy(actions, problem.game.n_leader_actions)
    theirs = best_responses(problem.game, problem.follower_reward, policy).values
    return np.stack([problem.reply(policy).values, theirs], axis=1)


def _values_to_begin(problem: CommitmentProblem, begin: Any) -> Array:
    """Return V and V̂ (S, 2) before the first sweep."""
    n_states = problem.game.n_states
    if begin is None:
        return np.zeros((n_states, 2))
    pair = begin if isinstance(begin, tuple) and len(begin) == 2 else (begin, begin)
    for column in pair:
        if column.shape != (n_states,):
            wrong = f"has shape {column.shape}"
            raise InvalidArgument("begin", wrong, f"values of shape ({n_states},)", begin)
    return np.stack(pair, axis=1)


def _most_sweeps(problem: CommitmentProblem, sweeps: int | None, tolerance: float) -> int:
    if sweeps is None:
        gamma = problem.game.discount
        needed = 0.0 if gamma == 0 else math.log(tolerance * (1 - gamma)) / math.log(gamma)
        return min(2 * math.ceil(needed) + FIRST_LEAP, MOST_SWEEPS)
    return int(sweeps)
