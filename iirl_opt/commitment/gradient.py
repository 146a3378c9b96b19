"""The gradient of what a commitment earns against a smooth follower, and the climb along it.

For a *smooth* follower (Boltzmann, proportional, soft-optimal) the start value ``J(π1) = D·V`` has
a gradient wherever no two of the follower's actions are equally good. With ``π2 = F(Q*)``,
``q1 = r1 + γPV``, ``q2 = r2 + γPV*`` and the follower's optimal actions b*,

    dJ/dπ1(s, a) = d Σ_b π2 q1 + Σ_b h q2 + w q2(s, a, b*),

where ``d = (I − γP_{π1,π2})^{-T} D`` are the visits under the follower's play, ``h`` is ``F'(Q*)ᵀ``
applied to ``d Σ_a π1 q1``, and ``w = (I − γP_{π1,b*})^{-T} γ P_π1ᵀ h`` carries h back through the
follower's optimal values (which need no derivative of b*: the envelope theorem). A soft-optimal
follower's own values V, with π2 in place of b*, stand in for V* everywhere; they have no kinks.

Projected steps with backtracking follow it. They end at kinks, too, where the follower is
indifferent; where edges are few a search along them goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lu_factor, lu_solve
from scipy.sparse.linalg import splu

from iirl_opt.brief import in_brief
from iirl_opt.checks import checked
from iirl_opt.commitment.edges import search_edges
from iirl_opt.commitment.problem import PROBLEM, Array, CommitmentProblem
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import best_responses
from iirl_opt.follower.proportional import ProportionalFollower
from iirl_opt.follower.soft import SoftOptimalFollower, soft_optimum
from iirl_opt.game.factors import DENSE_STATES
from iirl_opt.game.kernel import Matrix, is_sparse
from iirl_opt.printing.records import with_html

__all__ = ["SMOOTH", "StartGradient", "climb", "start_gradient"]

# Followers whose play changes smoothly with what they value.
SMOOTH = (BoltzmannFollower, ProportionalFollower, SoftOptimalFollower)

# A step must bring this share of what the gradient promises.
SUFFICIENT = 1e-4

# A search that halves its step below this share of the first has reached rounding.
SMALLEST_STEP = 1e-14

# Step lengths tried together, as shares of the last one.
LENGTHS = 4.0 ** np.arange(2, -4, -1)

# Above so many actions in all states a gradient search leaves the edges alone.
MOST_EDGES = 100


class StartGradient(NamedTuple):
    """The start value of a commitment to a smooth follower, and its gradient.

    Attributes
    ----------
    value : the leader's value from the start distribution.
    gradient : its partial derivatives by ``π1(s, a)``, shape (S, A); only differences between the
        actions of a state have a meaning, since rows sum to one.

    Examples
    --------
    >>> from iirl_opt.follower import BoltzmannFollower
    >>> from iirl_opt.game.generate import random_game
    >>> problem = CommitmentProblem(*random_game(3, 2, 2, rng=6), BoltzmannFollower(2.0))
    >>> found = start_gradient(problem, [[0.5, 0.5]] * 3)
    >>> round(found.value, 3), found.gradient.argmax(axis=1)  # in each state what to do more
    (5.073, array([0, 1, 1]))
    """

    value: float
    gradient: Array

    def __repr__(self) -> str:
        return in_brief(self)

    def _repr_html_(self) -> str:
        return with_html(self)


@checked(problem=PROBLEM)
def start_gradient(problem: CommitmentProblem, pi1: ArrayLike) -> StartGradient:
    """Return the start value of a commitment (S, A) to a smooth follower, and its exact gradient.

    Where two of the follower's actions are equally good, the gradient is that of the first.

    Raises
    ------
    InvalidArgument
        The follower is neither a Boltzmann nor a proportional nor a soft-optimal one.

    **Source** ours: implicit differentiation by two adjoint systems (module docstring). The
    derivative of a proportional follower's f is a difference quotient. **Cost** arithmetic: one
    planning problem and four linear systems.

    Examples
    --------
    >>> from iirl_opt.follower import BoltzmannFollower
    >>> from iirl_opt.game.generate import random_game
    >>> problem = CommitmentProblem(*random_game(3, 2, 2, rng=6), BoltzmannFollower(2.0))
    >>> here = np.full((3, 2), 0.5)
    >>> value, gradient = start_gradient(problem, here)
    >>> uphill = 1e-3 * np.sign(gradient - gradient.mean(axis=1, keepdims=True))
    >>> bool(start_gradient(problem, here + uphill).value > value)
    True
    """
    game, follower = problem.game, problem.follower
    if not isinstance(follower, SMOOTH):
        allowed = "Boltzmann, proportional or soft-optimal: others jump"
        raise InvalidArgument("follower", f"is {follower!r}", allowed, follower)
    commitment = game.check_leader_policy(pi1)
    gamma = game.discount
    best, response, means = _plans(problem, commitment)
    joint = commitment[:, :, None] * response[:, None, :]
    solve = _system(game.joint_chain(commitment, response), gamma)
    values = solve((joint * problem.full_reward).sum(axis=(1, 2)), False)
    visits = solve(game.start, True)
    q1 = problem.full_reward + gamma * (game.matrix @ values).reshape(game.shape)
    q2 = problem.full_follower_reward + gamma * (game.matrix @ best.values).reshape(game.shape)
    of_response = visits[:, None] * np.einsum("sa,sab->sb", commitment, q1)
    of_q = _pull_back(follower, best.q, response, of_response)
    mdp = game.follower_mdp(commitment)
    theirs, back = mdp.matrix, _system(mdp.chain(means), gamma)
    weights = of_q + means * back(gamma * (theirs.T @ of_q.ravel()), True)[:, None]
    own = visits[:, None] * np.einsum("sb,sab->sa", response, q1)
    gradient: Array = own + np.einsum("sb,sab->sa", weights, q2)
    return StartGradient(float(game.start @ values), gradient)


def _plans(problem: CommitmentProblem, commitment: Array) -> tuple[Any, Array, Array]:
    """Return the follower's values and Q, its response, and the play that its values are of."""
    game, follower, reward = problem.game, problem.follower, problem.follower_reward
    if isinstance(follower, SoftOptimalFollower):
        soft = soft_optimum(game, reward, commitment, follower.temperature)
        response = soft.response / soft.response.sum(axis=1, keepdims=True)
        return soft, response, response
    best = best_responses(game, reward, commitment)
    assert isinstance(follower, BoltzmannFollower | ProportionalFollower)
    response = np.asarray(follower.answer(best.q), dtype=float)
    return best, response, np.eye(best.q.shape[1])[best.q.argmax(axis=1)]


def _pull_back(
    follower: Any,
    q: Array,
    response: Array,
    of_response: Array,
) -> Array:
    """Return the derivatives (S, B) by q, given those by the response."""
    centred = of_response - (response * of_response).sum(axis=1, keepdims=True)
    if isinstance(follower, BoltzmannFollower):
        return np.asarray(follower.beta * response * centred)
    if isinstance(follower, SoftOptimalFollower):
        return np.asarray(response * centred / follower.temperature)
    weights = follower.weights(q)
    step = np.cbrt(np.finfo(float).eps) * np.maximum(1, np.abs(q))
    with np.errstate(all="ignore"):  # f need not be defined below q
        above, below = follower.weights(q + step), follower.weights(q - step)
        slope = (above - below) / (2 * step)
    slope = np.where(np.isfinite(slope), slope, (above - weights) / step)
    return np.asarray(slope / weights.sum(axis=1, keepdims=True) * centred)


def _system(chain: Matrix, discount: float) -> Callable[[Array, bool], Array]:
    """Return the function (b, transposed) that solves ``(I − discount · chain) x = b``."""
    n_states = chain.shape[0]
    if is_sparse(chain) and n_states > DENSE_STATES:
        system: Any = splu(sp.eye_array(n_states, format="csc") - discount * chain.tocsc())
        return lambda b, transposed: np.asarray(system.solve(b, trans="T" if transposed else "N"))
    dense = chain.toarray() if is_sparse(chain) else chain
    factors: Any = lu_factor(np.eye(n_states) - discount * dense)
    return lambda b, transposed: np.asarray(lu_solve(factors, b, trans=1 if transposed else 0))


def climb(
    problem: CommitmentProblem, policy: Array, steps: int, tolerance: float
) -> tuple[Array, int, float]:
    """Climb; where edges are few, also search them, since gradients end at kinks, and climb on."""
    policy, made, stationarity = _follow(problem, policy, steps, tolerance)
    if problem.allowed.sum() > MOST_EDGES or stationarity <= tolerance:
        return policy, made, stationarity
    policy, rounds, _ = search_edges(problem, policy, steps, tolerance)
    if rounds == 0:
        return policy, made, stationarity
    policy, more, stationarity = _follow(problem, policy, steps, tolerance)
    return policy, made + rounds + more, stationarity


def _follow(
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
