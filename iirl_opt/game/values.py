"""Values of policies, optimal values, and the set of all optimal actions.

For a reward ``r`` and a discount γ the values of a policy solve ``V = r_π + γ P_π V``; optimal
values solve ``V = max_b (r(·, b) + γ P_b V)``. Rewards are (S,) as in the paper, or (S, B) in an
MDP and (S, A, B) in a game. Every function takes an `MDP` or a `TwoAgentMDP`; a game is read as its
joint MDP, in which one planner chooses both actions.

Ties matter everywhere in this theory, so `Optimum.optimal` is the set of all optimal actions. It is
decided by `iirl_opt.game.decide`, by error bounds and in the last resort in rational arithmetic:
no tolerance enters, and nothing depends on rewards that are never met.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import FLAG, POSITIVE, array_of_floats, between, checked, kept, whole
from iirl_opt.errors import InvalidPolicy, InvalidReward
from iirl_opt.exact.numbers import as_fractions
from iirl_opt.game.decide import (
    UNIT,
    Factors,
    Played,
    Problem,
    decide,
    error_of,
    gains,
    improved,
    sharpened,
)
from iirl_opt.game.mdp import MDP, MODEL, TwoAgentMDP
from iirl_opt.game.policy import (
    as_floats,
    check_policy,
    deterministic_policy,
    joint_policy,
    rational_policy,
)

__all__ = [
    "Gaps",
    "Optimum",
    "check_reward",
    "error_bound",
    "evaluate",
    "follower_action_values",
    "follower_gaps",
    "follower_optimum",
    "follower_reward",
    "local_scale",
    "modified_policy_iteration",
    "policy_iteration",
    "tie_tolerance",
]

Array = NDArray[np.float64]

# What `tie_tolerance` takes for rounding, as a share of the largest value.
ROUNDING = 8 * float(np.finfo(float).eps)

# Modified policy iteration ends after so many steps without a smaller error: rounding is reached.
PATIENCE = 100

# With the same greedy policy for so many steps, exact policy iteration takes over where it ends the
# matter anyway: values may converge as slowly as γ does, on periodic chains.
SETTLED = 50

# The share of the local scale within which choices are reported as tied.
TIE = 1e-9

# Values whose error is a larger share of them, or of their local scale, are refined; and what is no
# error worth it.
SHARP, TINY = 2.0**-43, 1e-290

# The largest size of a value.
LARGEST = 1e300


# What an argument may be that is a reward: finite numbers, handed on as given, exact or not.
REWARD = kept(array_of_floats(error=InvalidReward))


def check_reward(model: MDP | TwoAgentMDP, reward: ArrayLike, name: str = "reward") -> Array:
    """Return a reward as a float array of shape (S,) or of the shape of the model's choices.

    Raises
    ------
    InvalidReward
        Names the state, or the wrong shape or type.
    """
    array = as_floats(reward, name, InvalidReward)
    if array.shape not in ((model.n_states,), model.shape):
        raise InvalidReward(
            name,
            f"has shape {array.shape}",
            f"({model.n_states},) or {model.shape}",
            array.shape,
        )
    bad = ~np.isfinite(array)
    if bad.any():
        at = np.unravel_index(int(np.argmax(bad)), array.shape)
        names = (model.states, *model.action_labels)
        where = ", ".join(
            f"{axis}={known[i]!r}" for axis, known, i in zip(model.axes, names, at, strict=False)
        )
        raise InvalidReward(f"{name}[{where}]", f"is {array[at]}", "finite numbers", array[at])
    largest = float(np.abs(array).max())
    if largest > LARGEST * (1 - model.discount):
        raise InvalidReward(
            name,
            f"has an entry of size {largest:g}, whose values overflow",
            f"sizes up to {LARGEST:g} × (1 − γ)",
            largest,
        )
    return array


@checked(reward=array_of_floats(error=InvalidReward, empty=False), discount=between(0, 1, "[)"))
def tie_tolerance(reward: ArrayLike, discount: float) -> float:
    """Return the planning tolerance that verification allows a follower unasked.

    Whoever plans in floats, or stops early, may take actions as tied whose values differ by this.
    This library's followers do not: they decide ties exactly (`Optimum.optimal`), and report near
    ones on a local scale (`Optimum.near`).

    ``max(1e-9 span(r), 8 ε max|r| / (1−γ)) / (1−γ)`` with ε the rounding unit.
    """
    r = np.asarray(reward, dtype=float)
    rounding = ROUNDING * np.abs(r).max() / (1 - discount)
    return float(max(1e-9 * np.ptp(r), rounding) / (1 - discount))


def follower_reward(game: TwoAgentMDP, reward: ArrayLike, pi1: ArrayLike) -> Array:
    """Return the reward that the follower faces: (S,) as it is, else ``Σ_a π1 r``, (S, B)."""
    r = check_reward(game, reward)
    if r.ndim == 1:
        return r
    marginal: Array = np.einsum("sa,sab->sb", game.check_leader_policy(pi1), r)
    return marginal


@checked(model=MODEL)
def evaluate(
    model: MDP | TwoAgentMDP, reward: ArrayLike, policy: ArrayLike | tuple[ArrayLike, ArrayLike]
) -> Array:
    """Return the values (S,) of a policy: the solution of ``V = r_π + γ P_π V``.

    Parameters
    ----------
    reward : (S,), (S, B) of an MDP, (S, A, B) of a game.
    policy : (S, B) in an MDP; in a game a pair ``(pi1, pi2)`` or a joint policy (S, A, B).

    **Cost** arithmetic: one linear system with S unknowns.
    """
    mdp, flat = _as_mdp(model), _weights(model, policy)
    r = check_reward(model, reward).reshape(model.n_states, -1)
    mean = r[:, 0] if r.shape[1] == 1 else (flat * r).sum(axis=1)
    return Factors(mdp.chain(flat), mdp.discount).solve(mean)


@checked(model=MODEL)
def local_scale(
    model: MDP | TwoAgentMDP, reward: ArrayLike, policy: ArrayLike | tuple[ArrayLike, ArrayLike]
) -> Array:
    """Return how much values from each state can differ by what a policy meets there, (S,).

    With m the reward that is worth as much as the policy, for ever: the discounted sum of the
    expected ``(r − m)²`` over 1 − γ, its root. Constants and what is never met do not enter, and a
    factor multiplies it.

    **Cost** arithmetic: two linear systems with S unknowns.
    """
    mdp, flat = _as_mdp(model), _weights(model, policy)
    r = check_reward(model, reward).reshape(model.n_states, -1)
    factors = Factors(mdp.chain(flat), mdp.discount)
    return _spread(factors, flat, r, factors.solve((flat * r).sum(axis=1)))


def _spread(factors: Factors, flat: Array, reward: Array, values: Array) -> Array:
    """Return the local scale of a policy, weights (S, n) of the choices, with its values."""
    # In a unit, a power of two, in which squares of rewards neither overflow nor vanish.
    unit = 2.0 ** int(np.frexp(np.abs(reward).max(initial=0.0))[1])
    unit = min(max(unit, 2.0**-1000), 2.0**1000)
    reward, values = reward / unit, values / unit
    gamma, worth = factors.discount, (1 - factors.discount) * values
    own = (flat * (reward - worth[:, None]) ** 2).sum(axis=1)
    # Σ_j P(s, j) (worth_j − worth_s)², without the cancellation of its expansion.
    rows = sp.csr_array(factors.chain)
    of = np.repeat(np.arange(worth.size), np.diff(rows.indptr))
    steps = rows.data * (worth[rows.indices] - worth[of]) ** 2
    spread = np.bincount(of, steps, worth.size)
    total = factors.solve(own + gamma / (1 - gamma) * spread)
    return np.asarray(unit * np.sqrt(np.maximum(total, 0.0) / (1 - gamma)))


@checked(model=MODEL)
def error_bound(
    model: MDP | TwoAgentMDP,
    reward: ArrayLike,
    policy: ArrayLike | tuple[ArrayLike, ArrayLike],
    values: ArrayLike,
) -> Array:
    """Return a bound (S,) on how far values are from those of a policy, state by state.

    It holds of the exact numbers of model and reward, whatever the values are: they may come from
    anywhere. A policy given in floats is taken as these floats over the exact sums of its rows.

    **Source** `iirl_opt.game.decide`. **Cost** arithmetic: a linear system with S unknowns.
    """
    flat, mdp = _weights(model, policy), _as_mdp(model)
    problem = _joint_problem(model, reward)
    unit = problem.unit + 4 * flat.shape[1] * UNIT
    slop = (flat * problem.slop).sum(axis=1) + unit * (flat * np.abs(problem.reward)).sum(axis=1)
    mean = (flat * problem.reward).sum(axis=1)
    factors = Factors(mdp.chain(flat), mdp.discount)
    return error_of(factors, mean, slop, as_floats(values, "values"), unit)


class Gaps(NamedTuple):
    """By how much choices are worse than a policy.

    Attributes
    ----------
    gaps : ``V(s) − Q(s, b)`` in floats, (S, n).
    widths : a bound on their error, (S, n).
    scale : the local scale of the policy, (S,).
    """

    gaps: Array
    widths: Array
    scale: Array


def follower_gaps(
    game: TwoAgentMDP, reward: ArrayLike, pi1: ArrayLike, pi2: ArrayLike | None = None
) -> Gaps:
    """Return by how much the follower's actions are worse than a response, or than an optimal one.

    Parameters
    ----------
    pi1, pi2 : commitment (S, A) and response (S, B); without it the best one.

    **Cost** arithmetic: four linear systems with S unknowns and one matrix, and a planning problem
    without a response.
    """
    problem = _follower_problem(game, pi1, reward)
    if pi2 is None:
        actions = _greedy(problem, 1e-10, 20)[0]
        pi2 = deterministic_policy(improved(problem, actions)[0].actions, problem.mdp.n_choices)
    flat = _weights(problem.mdp, pi2)
    unit = problem.unit + 4 * flat.shape[1] * UNIT
    mean = (flat * problem.reward).sum(axis=1)
    slop = (flat * (problem.slop + unit * np.abs(problem.reward))).sum(axis=1)
    factors = Factors(problem.mdp.chain(flat), problem.mdp.discount)
    values = factors.solve(mean)
    values = values + factors.solve(mean + factors.discount * (factors.chain @ values) - values)
    error = error_of(factors, mean, slop, values, unit)
    found = gains(problem, values, error)
    return Gaps(-found.gain, found.width, _spread(factors, flat, problem.reward, values))


@dataclass(frozen=True, eq=False)
class Optimum:
    """Optimal values and all optimal actions.

    Attributes
    ----------
    values : of `policy`, optimal from every state, (S,).
    q : (S, n), the value of each choice followed by `policy`.
    error : bounds on ``|values − V*|``, state by state, (S,): rounding, and what is undecided.
    actions : an optimal choice in each state, (S,): the first one where all is decided.
    optimal : the set of all optimal choices as a mask (S, n).
    undecided : choices of that mask of which it is not known whether they are optimal.
    doubt : what an undecided choice may gain at most in one step; 0 where all is decided.
    iterations : improvement steps.
    scale : the local scale of `policy`, (S,): see `local_scale`.
    """

    values: Array
    q: Array
    error: Array
    actions: NDArray[np.int64]
    optimal: NDArray[np.bool_]
    undecided: NDArray[np.bool_]
    doubt: float
    iterations: int
    scale: Array

    @property
    def tie_tolerance(self) -> Array:
        """What `near` takes for a tie, (S, 1): 1e-9 of the local scale, or rounding."""
        return np.maximum(TIE * self.scale, 4 * self.error)[:, None]

    @property
    def near(self) -> NDArray[np.bool_]:
        """The choices within `tie_tolerance` of the best, (S, n): a report; nobody plays by it."""
        mask: NDArray[np.bool_] = self.q >= self.q.max(axis=1, keepdims=True) - self.tie_tolerance
        return mask

    @property
    def policy(self) -> Array:
        """The deterministic policy that plays `actions`, shape (S, n)."""
        return deterministic_policy(self.actions, self.q.shape[1])

    @property
    def residual(self) -> float:
        """The Bellman residual ``max_s |max_b q(s, b) − values(s)|``, recomputed."""
        return float(np.abs(self.q.max(axis=1) - self.values).max())


@checked(model=MODEL, exact=FLAG)
def policy_iteration(
    model: MDP | TwoAgentMDP,
    reward: ArrayLike,
    *,
    initial: ArrayLike | None = None,
    exact: bool = False,
) -> Optimum:
    """Return the optimum by Howard's policy iteration, which cannot cycle among ties.

    A state changes its action for a gain beyond its own error bound; what is left is decided as
    `iirl_opt.game.decide` says.

    Parameters
    ----------
    reward : (S,), (S, B) of an MDP, (S, A, B) of a game.
    initial : choices (S,) to begin with; greedy for the immediate reward by default.
    exact : decide ties among up to 1,200 states that lead to each other, in place of 64.

    Raises
    ------
    InvalidReward
    InvalidPolicy
        `initial` names a choice that does not exist.

    **Cost** arithmetic: three linear systems with S unknowns and one matrix an iteration.
    """
    mdp, problem = _as_mdp(model), _joint_problem(model, reward)
    full = np.broadcast_to(problem.reward, mdp.shape)
    actions = full.argmax(axis=1) if initial is None else _check_choices(mdp, initial)
    return _optimum(problem, actions, 0, exact)


@checked(model=MODEL, tolerance=POSITIVE, sweeps=whole(0), exact=FLAG)
def modified_policy_iteration(
    model: MDP | TwoAgentMDP,
    reward: ArrayLike,
    *,
    tolerance: float = 1e-10,
    sweeps: int = 20,
    exact: bool = False,
) -> Optimum:
    """Return the optimum by modified policy iteration, the engine of this library.

    Greedy steps alternate with `sweeps` evaluations of the greedy policy until the *span* of the
    last change bounds the error by `tolerance` times span(r)/(1−γ), or by what rounding allows
    (Puterman 1994, sections 6.5 and 6.6); policy iteration ends it.

    Parameters
    ----------
    reward : (S,), (S, B) of an MDP, (S, A, B) of a game.
    exact : see `policy_iteration`.

    **Cost** arithmetic.
    """
    problem = _joint_problem(model, reward)
    actions, steps = _greedy(problem, tolerance, sweeps)
    return _optimum(problem, actions, steps, exact)


def follower_optimum(
    game: TwoAgentMDP, reward: ArrayLike, pi1: ArrayLike, *, exact: bool = False
) -> Optimum:
    """Return the optimum of the MDP that the commitment `pi1` (S, A) leaves to the follower."""
    problem = _follower_problem(game, pi1, reward)
    actions, steps = _greedy(problem, 1e-10, 20)
    return _optimum(problem, actions, steps, exact)


def follower_action_values(game: TwoAgentMDP, reward: ArrayLike, pi1: ArrayLike) -> Array:
    """Return the follower's optimal action values (S, B), for those to whom ties are nothing."""
    problem = _follower_problem(game, pi1, reward)
    return improved(problem, _greedy(problem, 1e-10, 20)[0])[1].q


def _optimum(problem: Problem, actions: NDArray[np.int64], before: int, exact: bool) -> Optimum:
    played, found, steps = improved(problem, actions)
    decision = decide(problem, played, found, exact=exact)
    played, q, scale = decision.played, decision.gains.q, _scale(problem, decision.played)
    if (played.error > SHARP * np.maximum(np.abs(played.values), scale) + TINY).any():
        played = sharpened(problem, played)
        q = gains(problem, played.values, played.error).q
    open_ = decision.undecided.any()
    actions = decision.played.actions if open_ else decision.optimal.argmax(axis=1)
    doubt = decision.doubt / (1 - problem.mdp.discount)
    return Optimum(
        played.values,
        q,
        played.error + doubt,
        actions,
        decision.optimal,
        decision.undecided,
        decision.doubt,
        before + steps,
        scale,
    )


def _scale(problem: Problem, played: Played) -> Array:
    flat = deterministic_policy(played.actions, problem.mdp.n_choices)
    return _spread(played.factors, flat, problem.reward, played.values)


def _greedy(problem: Problem, tolerance: float, sweeps: int) -> tuple[NDArray[np.int64], int]:
    """Return a policy near the optimum by modified policy iteration, and its steps."""
    mdp, r = problem.mdp, problem.reward
    full = np.broadcast_to(r, mdp.shape)
    gamma, states = mdp.discount, np.arange(mdp.n_states)
    rounding = ROUNDING * float(np.abs(r).max()) / (1 - gamma)
    accepted = max(tolerance * float(np.ptp(r)), rounding) / (1 - gamma)
    values = full.max(axis=1) / (1 - gamma)
    least, iterations, last = np.inf, 0, 0
    actions, same = np.zeros(mdp.n_states, dtype=np.int64), 0
    while True:
        q = r + gamma * (mdp.matrix @ values).reshape(mdp.shape)
        before, actions = actions, q.argmax(axis=1)
        same = same + 1 if np.array_equal(before, actions) else 0
        improved_values = q[states, actions]
        error = gamma / (1 - gamma) * float(np.ptp(improved_values - values)) / 2
        if error < least:
            least, last = error, iterations
        if error <= accepted or iterations - last >= PATIENCE or same >= SETTLED:
            return actions, iterations
        iterations += 1
        chain, mean = mdp.matrix[problem.rows(actions)], full[states, actions]
        values = improved_values
        for _ in range(sweeps):
            values = mean + gamma * (chain @ values)


def _joint_problem(model: MDP | TwoAgentMDP, reward: ArrayLike) -> Problem:
    """Return the problem of an MDP, or of the one planner of a game, for a reward."""
    check_reward(model, reward)
    return _problem(_as_mdp(model), np.asarray(reward))


def _problem(mdp: MDP, reward: NDArray[Any]) -> Problem:
    """Return the problem of an MDP for a checked reward of its choices, or of its states."""
    given = reward.reshape(mdp.n_states, -1)
    r = given.astype(float)
    slop = UNIT * np.abs(r) if given.dtype == object else 0.0

    def exact(rows: NDArray[np.int64]) -> NDArray[Any]:
        s, b = np.divmod(rows, mdp.n_choices)
        return as_fractions(given[s, b if given.shape[1] > 1 else 0])

    return Problem(mdp, r, slop, exact)


def _follower_problem(game: TwoAgentMDP, pi1: ArrayLike, reward: ArrayLike) -> Problem:
    """Return the problem that a commitment leaves to the follower."""
    policy, mdp = game.check_leader_policy(pi1), game.follower_mdp(pi1)
    r = follower_reward(game, reward, policy)
    if r.ndim == 1:
        return _problem(mdp, np.asarray(reward))
    given, n_b = np.asarray(reward), game.n_follower_actions
    slop = 2 * (game.n_leader_actions + 2) * UNIT * np.einsum("sa,sab->sb", policy, np.abs(given))

    def exact(rows: NDArray[np.int64]) -> NDArray[Any]:
        s, b = np.divmod(rows, n_b)
        return np.asarray((rational_policy(policy[s]) * as_fractions(given[s, :, b])).sum(axis=1))

    return Problem(mdp, r, slop.astype(float), exact)


def _check_choices(mdp: MDP, choices: ArrayLike) -> NDArray[np.int64]:
    """Return choices (S,) that exist, as they are."""
    if np.shape(choices) != (mdp.n_states,):
        raise InvalidPolicy(
            "initial", f"has shape {np.shape(choices)}", f"({mdp.n_states},)", choices
        )
    chosen: NDArray[np.int64] = deterministic_policy(choices, mdp.n_choices).argmax(axis=1)
    return chosen


def _weights(model: MDP | TwoAgentMDP, policy: ArrayLike | tuple[ArrayLike, ArrayLike]) -> Array:
    """Return a policy as weights (S, n) of the choices."""
    if isinstance(model, MDP):
        return check_policy(policy, model.shape, states=model.states)  # type: ignore[arg-type]
    if isinstance(policy, tuple):
        pi1, pi2 = policy
        policy = joint_policy(model.check_leader_policy(pi1), model.check_follower_policy(pi2))
    weights = check_policy(policy, model.shape, name="joint policy", states=model.states)
    return weights.reshape(model.n_states, -1)


def _as_mdp(model: MDP | TwoAgentMDP) -> MDP:
    return model.joint_mdp() if isinstance(model, TwoAgentMDP) else model
