"""Values of policies, optimal values, and the set of all optimal actions.

For a reward ``r`` and a discount γ the values of a policy solve ``V = r_π + γ P_π V``; optimal
values solve ``V = max_b (r(·, b) + γ P_b V)``. Rewards are (S,) as in the paper, or (S, B) in an
MDP and (S, A, B) in a game. Every function takes an `MDP` or a `TwoAgentMDP`; a game is read as its
joint MDP, in which one planner chooses both actions.

Ties matter everywhere in this theory, so `Optimum.optimal` is the set of all optimal actions. Two
action values within `tie_tolerance` are tied: 1e-9 of the largest value difference that the reward
can make, span(r)/(1−γ), or the rounding error of the values where that is larger. So the set does
not change under ``λ r + c`` with λ > 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import splu

from iirl_opt.checks import FLAG, POSITIVE, array_of_floats, between, checked, whole
from iirl_opt.errors import InvalidPolicy, InvalidReward
from iirl_opt.game.kernel import Matrix, is_sparse
from iirl_opt.game.mdp import MDP, MODEL, TwoAgentMDP
from iirl_opt.game.policy import as_floats, check_policy, deterministic_policy, joint_policy

__all__ = [
    "Optimum",
    "check_reward",
    "evaluate",
    "follower_reward",
    "modified_policy_iteration",
    "policy_iteration",
    "tie_tolerance",
]

Array = NDArray[np.float64]

# Below the first size a dense factorisation beats a sparse one; above the second, fill-in of I − γP
# makes the exact polish dearer than further sweeps (random sparse kernels; grids would bear more).
DENSE_STATES = 128
POLISH_STATES = 2000

# Differences of action values below this share of the largest are rounding.
ROUNDING = 8 * float(np.finfo(float).eps)

# Modified policy iteration ends after so many steps without a smaller error: rounding is reached.
PATIENCE = 100

# With the same greedy policy for so many steps, exact policy iteration takes over where it ends the
# matter anyway: values may converge as slowly as γ does, on periodic chains.
SETTLED = 50


def REWARD(name: str, value: Any) -> Any:
    """Return a reward as it is given, exact numbers included, if it holds finite numbers."""
    _FINITE(name, value)
    return value


_FINITE = array_of_floats(error=InvalidReward)


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
    return array


@checked(reward=array_of_floats(error=InvalidReward), discount=between(0, 1, "[)"))
def tie_tolerance(reward: ArrayLike, discount: float) -> float:
    """Return the difference of action values below which two actions are tied.

    ``max(1e-9 span(r), 8 ε max|r| / (1−γ)) / (1−γ)`` with ε the rounding unit.
    """
    r = np.asarray(reward, dtype=float)
    rounding = ROUNDING * np.abs(r).max() / (1 - discount)
    return float(max(1e-9 * np.ptp(r), rounding) / (1 - discount))


def follower_reward(game: TwoAgentMDP, pi1: ArrayLike, reward: ArrayLike) -> Array:
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
    if isinstance(model, TwoAgentMDP):
        if isinstance(policy, tuple):
            pi1, pi2 = policy
            policy = joint_policy(model.check_leader_policy(pi1), model.check_follower_policy(pi2))
        weights = check_policy(policy, model.shape, name="joint policy", states=model.states)
    else:
        weights = check_policy(policy, model.shape, states=model.states)  # type: ignore[arg-type]
    flat = weights.reshape(model.n_states, -1)
    mdp = _as_mdp(model)
    r = check_reward(model, reward).reshape(model.n_states, -1)
    mean = r[:, 0] if r.shape[1] == 1 else (flat * r).sum(axis=1)
    return _solve_values(mdp.chain(flat), mean, mdp.discount)


@dataclass(frozen=True, eq=False)
class Optimum:
    """Optimal values and all optimal actions.

    Attributes
    ----------
    values : (S,), optimal from every state.
    q : (S, n), the value of each choice followed by optimal play.
    error : a bound on ``|values − V*|`` (zero: exact up to rounding).
    tolerance : choices whose `q` is within this of the best are optimal.
    iterations : improvement steps.
    """

    values: Array
    q: Array
    error: float
    tolerance: float
    iterations: int

    @property
    def optimal(self) -> NDArray[np.bool_]:
        """The set of all optimal choices as a mask of shape (S, n)."""
        mask: NDArray[np.bool_] = self.q >= self.q.max(axis=1, keepdims=True) - self.tolerance
        return mask

    @property
    def actions(self) -> NDArray[np.int64]:
        """The first optimal choice in each state, shape (S,)."""
        first: NDArray[np.int64] = self.optimal.argmax(axis=1)
        return first

    @property
    def policy(self) -> Array:
        """The deterministic policy that plays the first optimal choice, shape (S, n)."""
        return deterministic_policy(self.actions, self.q.shape[1])

    @property
    def residual(self) -> float:
        """The Bellman residual ``max_s |max_b q(s, b) − values(s)|``, recomputed."""
        return float(np.abs(self.q.max(axis=1) - self.values).max())


@checked(model=MODEL)
def policy_iteration(
    model: MDP | TwoAgentMDP, reward: ArrayLike, *, start: ArrayLike | None = None
) -> Optimum:
    """Return the optimum by Howard's policy iteration, which cannot cycle among ties.

    A state changes its action only for a gain above rounding, and it ends when the values no longer
    rise. (The tie tolerance would not do: gains below it add up, to 1/(1−γ) times as much.)

    Parameters
    ----------
    reward : (S,), (S, B) of an MDP, (S, A, B) of a game.
    start : choices (S,) to begin with; greedy for the immediate reward by default.

    Raises
    ------
    InvalidReward
    InvalidPolicy
        `start` names a choice that does not exist.

    **Cost** arithmetic: one linear system with S unknowns an iteration.
    """
    mdp = _as_mdp(model)
    r = check_reward(model, reward).reshape(mdp.n_states, -1)
    states = np.arange(mdp.n_states)
    tolerance = tie_tolerance(r, mdp.discount)
    full = np.broadcast_to(r, mdp.shape)
    actions = full.argmax(axis=1) if start is None else _check_choices(mdp, start)
    total = -np.inf
    iterations = 0
    while True:
        chain = mdp.matrix[states * mdp.n_choices + actions]
        values = _solve_values(chain, full[states, actions], mdp.discount)
        q = r + mdp.discount * (mdp.matrix @ values).reshape(mdp.shape)
        gains = q.max(axis=1) - q[states, actions]
        better = gains > ROUNDING * np.abs(q).max()
        # Rounding can fake a gain when 1 − γ is tiny; then the values no longer rise.
        if not better.any() or values.sum() <= total:
            return Optimum(values, q, 0.0, tolerance, iterations)
        total = values.sum()
        actions = np.where(better, q.argmax(axis=1), actions)
        iterations += 1


@checked(model=MODEL, tolerance=POSITIVE, sweeps=whole(0), polish=FLAG)
def modified_policy_iteration(
    model: MDP | TwoAgentMDP,
    reward: ArrayLike,
    *,
    tolerance: float = 1e-10,
    sweeps: int = 20,
    polish: bool | None = None,
) -> Optimum:
    """Return the optimum by modified policy iteration, the engine of this library.

    Greedy steps alternate with `sweeps` evaluations of the greedy policy. It stops when the *span*
    of the last change bounds the error by `tolerance` times span(r)/(1−γ), or by what rounding
    allows, and shifts the values to the middle of the bounds (Puterman 1994, sections 6.5 and 6.6).

    Parameters
    ----------
    reward : (S,), (S, B) of an MDP, (S, A, B) of a game.
    polish : end with exact policy iteration, which takes one or two linear systems; by default up
        to 2,000 states, above which the error bound stands in `Optimum.error`.

    **Cost** arithmetic.
    """
    mdp = _as_mdp(model)
    r = check_reward(model, reward).reshape(mdp.n_states, -1)
    full = np.broadcast_to(r, mdp.shape)
    gamma, states = mdp.discount, np.arange(mdp.n_states)
    ties = tie_tolerance(r, gamma)
    rounding = ROUNDING * float(np.abs(r).max()) / (1 - gamma)
    accepted = max(tolerance * float(np.ptp(r)), rounding) / (1 - gamma)
    values = full.max(axis=1) / (1 - gamma)
    least, iterations, last = np.inf, 0, 0
    exact_end = mdp.n_states <= POLISH_STATES if polish is None else polish
    actions, same = np.zeros(mdp.n_states, dtype=np.int64), 0
    while True:
        q = r + gamma * (mdp.matrix @ values).reshape(mdp.shape)
        before, actions = actions, q.argmax(axis=1)
        same = same + 1 if np.array_equal(before, actions) else 0
        improved = q[states, actions]
        change = improved - values
        error = gamma / (1 - gamma) * float(np.ptp(change)) / 2
        if error < least:
            least, last = error, iterations
        if error <= accepted or iterations - last >= PATIENCE or (exact_end and same >= SETTLED):
            break
        iterations += 1
        chain, mean = mdp.matrix[states * mdp.n_choices + actions], full[states, actions]
        values = improved
        for _ in range(sweeps):
            values = mean + gamma * (chain @ values)
    if exact_end:
        exact = policy_iteration(mdp, r[:, 0] if r.shape[1] == 1 else r, start=actions)
        return Optimum(exact.values, exact.q, 0.0, ties, iterations + exact.iterations)
    values = improved + gamma / (1 - gamma) * (change.min() + change.max()) / 2
    q = r + gamma * (mdp.matrix @ values).reshape(mdp.shape)
    return Optimum(values, q, error, ties + 2 * gamma * error, iterations)


def _check_choices(mdp: MDP, choices: ArrayLike) -> NDArray[np.int64]:
    """Return choices (S,) that exist, as they are."""
    if np.shape(choices) != (mdp.n_states,):
        raise InvalidPolicy(
            "start", f"has shape {np.shape(choices)}", f"({mdp.n_states},)", choices
        )
    chosen: NDArray[np.int64] = deterministic_policy(choices, mdp.n_choices).argmax(axis=1)
    return chosen


def _as_mdp(model: MDP | TwoAgentMDP) -> MDP:
    return model.joint_mdp() if isinstance(model, TwoAgentMDP) else model


def _solve_values(chain: Matrix, reward: Array, discount: float) -> Array:
    """Return the solution of ``V = reward + discount · chain · V``."""
    n_states = reward.size
    if is_sparse(chain) and n_states > DENSE_STATES:
        system: Any = sp.eye_array(n_states, format="csc") - discount * chain.tocsc()
        return np.asarray(splu(system).solve(np.ascontiguousarray(reward)))
    dense = chain.toarray() if is_sparse(chain) else chain
    return np.asarray(np.linalg.solve(np.eye(n_states) - discount * dense, reward))
