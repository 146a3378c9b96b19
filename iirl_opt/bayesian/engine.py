"""The engine of the samplers: optimal action values for many rewards, fast, and the chains on top.

Every proposal of a chain needs ``Q*`` of the MDP that each commitment leaves to the follower. The
optimal policies of two proposals differ in some states only. So each episode e keeps a *base*
policy with the inverse ``M = (I − γ P_base)⁻¹``; where a policy differs from it in the states D,

    V = V₀ + M E_D (I − W M E_D)⁻¹ W V₀,   V₀ = M r,   W = γ (P_π − P_base)_D

(Woodbury), a k×k system in place of one with S unknowns. Because ``γ P_base M = M − I``, the base's
rows are not needed: ``W V₀ = (r + γ P_π V₀ − V₀)_D`` and ``I − W M E_D = (M − γ P_π M)_DD``. Policy
iteration starts from the policy of the chain's current state, and the base moves only when an
accepted policy is far from it.

Everything here is plain NumPy. With the extra ``fast``, `compiled` gives the same chains compiled
by numba: the source of the chains is one, and only functions that come in pairs (`plan` and
`_plan_loops`, …) are written out as loops for it. Both draw the same numbers from a generator.

What enters is flat: a `Bank` of arrays in place of games, and tuples ``(kind, a, b)`` in place of
proposals. `iirl_opt.bayesian.sampler` is the way in.
"""

# One file on purpose: numba's cache of compiled code notices changes of this file alone.

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.errors import MissingExtra

__all__ = [
    "BOLTZMANN",
    "DIRICHLET",
    "EPSILON_GREEDY",
    "GAMMA",
    "REFLECTED",
    "STAY",
    "WALK",
    "Bank",
    "compiled",
]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# Kinds of moves of the reward and of the parameter.
STAY, WALK, DIRICHLET = 0, 1, 2
GAMMA, REFLECTED = 1, 2

# Families that the compiled chains know.
BOLTZMANN, EPSILON_GREEDY = 0, 1

# An inverse is computed anew after so many updates, before their rounding adds up.
UPDATES = 20

# Coordinates of Hamiltonian chains stay below this in size, lest exp overflow; no posterior puts
# weight beyond.
LARGEST = 600.0

# Logarithms of the sizes between which moves adapt, relative to those that were asked for.
SMALLEST_SIZE, LARGEST_SIZE = -30.0, 2.0

# An action changes only for a gain above this share of the values: less is rounding.
ROUNDING = 1e-14


class Bank(NamedTuple):
    """The follower's MDPs of E commitments, what was seen in them, and the moving bases.

    Attributes
    ----------
    indptr, indices, data : kernels of shape (S·B, S) as CSR, one after the other; `indptr` is
        (E, S·B + 1) and points into the whole.
    discount : γ.
    offsets : (E + 1,); the seen states of episode e are ``seen[offsets[e] : offsets[e + 1]]``.
    seen : states with observations, (n,).
    counts : observations of each action there, (n, B).
    policy : the optimal policy at the chain's current reward, (E, S).
    base : the base policy, (E, S).
    inverse : the *transposed* inverse ``M`` of each base, (E, S, S).
    age : how often each inverse was updated since it was last computed, (E,).
    limit : a base moves when an accepted policy differs from it in more states.
    """

    indptr: Integers
    indices: NDArray[np.int32]
    data: Array
    discount: float
    offsets: Integers
    seen: Integers
    counts: Array
    policy: Integers
    base: Integers
    inverse: Array
    age: Integers
    limit: int


# What comes in pairs: vectorised here, in loops for numba below.


def _kernel_rows(bank: Bank, e: int) -> Any:
    """Return the kernel of episode e, a sparse array (S·B, S)."""
    indptr, n_states = bank.indptr[e], bank.base.shape[1]
    span = slice(indptr[0], indptr[-1])
    parts = (bank.data[span], bank.indices[span], indptr - indptr[0])
    return sp.csr_array(parts, shape=(indptr.size - 1, n_states))


def system(bank: Bank, e: int) -> Array:
    """Return the transposed matrix ``I − γ P_base`` of episode e, shape (S, S)."""
    n_states = bank.base.shape[1]
    n_b = (bank.indptr.shape[1] - 1) // n_states
    chain = _kernel_rows(bank, e)[np.arange(n_states) * n_b + bank.base[e]]
    return np.ascontiguousarray((np.eye(n_states) - bank.discount * chain.toarray()).T)


def capacitance(bank: Bank, e: int, where: Integers, rows: Integers) -> tuple[Any, Array]:
    """Return ``γ P`` of some rows (k,), and ``M − γ P M`` of states (k,), transposed, (k, k)."""
    chosen = bank.discount * _kernel_rows(bank, e)[rows]
    columns = bank.inverse[e][where]
    return chosen, columns[:, where] - (chosen @ columns.T).T


def backward(chosen: Any, vector: Array, n_states: int) -> Array:
    """Return ``Aᵀ v``, shape (S,)."""
    return np.asarray(chosen.T @ vector)


def gains(chosen: Any, inverse: Array, where: Integers) -> Array:
    """Return the transposed ``W M = (γ P_π M − M + I)_D``, shape (S, k)."""
    product = (chosen @ inverse.T).T - inverse[:, where]
    product[where, np.arange(where.size)] += 1.0
    return np.asarray(product)


def look_ahead(bank: Bank, e: int, r: Array, values: Array, q: Array) -> None:
    """Overwrite q (S, B) by ``r + γ P V``."""
    q[:] = r[:, None] + bank.discount * (_kernel_rows(bank, e) @ values).reshape(q.shape)


def improve(q: Array, policy: Integers) -> bool:
    """Make a policy greedy where that gains more than rounding; return whether it changed."""
    states = np.arange(policy.size)
    better = q.max(axis=1) - q[states, policy] > ROUNDING * np.abs(q).max()
    policy[better] = q[better].argmax(axis=1)
    return bool(better.any())


def pull_back(bank: Bank, e: int, q: Array, beta: float) -> tuple[Array, float]:
    """Return what a Boltzmann log-likelihood of episode e gains by ``P V`` and by β.

    With ``w = n(s, b) − n(s) π2(b | s)`` these are ``γ Pᵀ w``, shape (S,), and ``Σ w Q``.
    """
    span = slice(bank.offsets[e], bank.offsets[e + 1])
    seen, counts = bank.seen[span], bank.counts[span]
    rows = q[seen]
    chances = np.exp(beta * (rows - rows.max(axis=1, keepdims=True)))
    chances /= chances.sum(axis=1, keepdims=True)
    full = np.zeros_like(q)
    full[seen] = counts - counts.sum(axis=1, keepdims=True) * chances
    vector = bank.discount * (_kernel_rows(bank, e).T @ full.ravel())
    return np.asarray(vector), float((full * q).sum())


def plan(bank: Bank, e: int, r: Array, policy: Integers, q: Array) -> None:
    """Overwrite a policy (S,) by an optimal one for r, and q (S, B) by its action values.

    **Cost** arithmetic: one product with M, and a k×k system a step of policy iteration.
    """
    first = np.dot(r, bank.inverse[e])
    total = -np.inf
    while True:
        where = np.flatnonzero(policy != bank.base[e])
        values = first.copy()
        if where.size > 0:
            rows = where * q.shape[1] + policy[where]
            chosen, transposed = capacitance(bank, e, where, rows)
            gain = r[where] + chosen @ first - first[where]
            y = np.linalg.solve(transposed.T, gain)
            values += np.dot(y, bank.inverse[e][where])
        look_ahead(bank, e, r, values, q)
        # Rounding can fake a gain; then the values no longer rise.
        rises = values.sum() > total
        total = values.sum()
        if not rises or not improve(q, policy):
            return


def score(bank: Bank, e: int, family: Any, q: Array, parameter: float, tolerance: float) -> float:
    """Return ``Σ n(s, b) log π2(b | s)`` of episode e at action values q (S, B)."""
    span = slice(bank.offsets[e], bank.offsets[e + 1])
    counts = bank.counts[span]
    if hasattr(family, "log_planned"):  # it plans for its own play, not by Q* alone
        log = family.log_planned(_kernel_rows(bank, e), bank.discount, q, parameter)
        log = log[bank.seen[span]]
    else:
        log = family.log_answer(q[bank.seen[span]], parameter, tolerance)
    return float((counts * np.where(counts > 0, log, 0.0)).sum())


def log_reward_prior(prior: Any, r: Array) -> float:
    """Return the log density of a reward (S,)."""
    return float(prior.log_density(r))


def log_parameter_prior(prior: Any, parameter: float) -> float:
    """Return the log density of a parameter."""
    return float(prior.log_density(parameter))


# Derivatives and new bases


def adjoint(bank: Bank, e: int, policy: Integers, vector: Array) -> Array:
    """Return ``(I − γ P_π)⁻ᵀ u``, shape (S,): the derivative of ``u · V`` by the reward."""
    first: Array = np.dot(bank.inverse[e], vector)
    where = np.flatnonzero(policy != bank.base[e])
    if where.size == 0:
        return first
    n_b = (bank.indptr.shape[1] - 1) // policy.size
    chosen, transposed = capacitance(bank, e, where, where * n_b + policy[where])
    y: Any = np.linalg.solve(transposed, first[where])
    change = backward(chosen, y, policy.size)
    change[where] -= y
    first[where] += y
    first += np.dot(bank.inverse[e], change)
    return first


def settle(bank: Bank, policy: Integers) -> None:
    """Make policies (E, S) the current ones, and those far from their base the new base.

    **Cost** arithmetic: where a base moves, a product of S×k by k×S; every so often an inverse.
    """
    for e in range(policy.shape[0]):
        bank.policy[e] = policy[e]
        where = np.flatnonzero(policy[e] != bank.base[e])
        if where.size <= bank.limit:
            continue
        if bank.age[e] < UPDATES:
            rows = where * bank.counts.shape[1] + policy[e][where]
            chosen, transposed = capacitance(bank, e, where, rows)
            y = np.linalg.solve(transposed, bank.inverse[e][where])
            bank.inverse[e] += np.dot(gains(chosen, bank.inverse[e], where), y)
            bank.age[e] += 1
            bank.base[e] = policy[e]
        else:
            bank.base[e] = policy[e]
            bank.inverse[e] = np.linalg.solve(system(bank, e), np.eye(policy.shape[1]))
            bank.age[e] = 0


# Densities


def dirichlet_log(x: Array, shape: Array) -> float:
    """Return the log density of a Dirichlet distribution at x (S,) in the simplex."""
    total, value = 0.0, 0.0
    for i in range(x.size):
        total += shape[i]
        value -= math.lgamma(shape[i])
        if shape[i] != 1.0:
            if x[i] <= 0.0:
                return -math.inf if shape[i] > 1.0 else math.inf
            value += (shape[i] - 1.0) * math.log(x[i])
    return value + math.lgamma(total)


def gamma_log(x: float, shape: float, rate: float) -> float:
    """Return the log density of a Gamma distribution at x."""
    if x < 0.0 or (x == 0.0 and shape > 1.0):
        return -math.inf
    if x == 0.0:
        return math.log(rate) if shape == 1.0 else math.inf
    return shape * math.log(rate) + (shape - 1.0) * math.log(x) - rate * x - math.lgamma(shape)


def _before_known(priors: tuple[Array, tuple[int, float, float]], r: Array, beta: float) -> float:
    alpha, (kind, shape, rate) = priors
    return dirichlet_log(r, alpha) + (gamma_log(beta, shape, rate) if kind == 1 else 0.0)


def tie_tolerance(r: Array, discount: float) -> float:
    """Return the difference below which action values are tied, as the game layer has it."""
    rounding = 8.0 * 2.220446049250313e-16 * np.abs(r).max() / (1.0 - discount)
    return float(max(1e-9 * (r.max() - r.min()), rounding) / (1.0 - discount))


def log_likelihood(
    bank: Bank, family: Any, r: Array, parameter: float, policy: Integers, q: Array
) -> float:
    """Return ``Σ n(s, b) log π2(b | s)`` over all episodes.

    Policies (E, S) are where planning starts, and are overwritten; so are the values q (E, S, B).
    """
    value = 0.0
    tolerance = tie_tolerance(r, bank.discount)
    for e in range(policy.shape[0]):
        plan(bank, e, r, policy[e], q[e])
        value += score(bank, e, family, q[e], parameter, tolerance)
    return value


# Metropolis–Hastings


def walk(units: Integers, moves: int, rng: np.random.Generator) -> None:
    """Walk on the discretised simplex, in place.

    A move picks an ordered pair i ≠ j uniformly and carries one unit from i to j; if there is none
    in i it stays. So each step and its reverse have the same probability, and paths of any length.
    """
    n = units.size
    if n < 2:
        return
    for _ in range(moves):
        i = int(rng.random() * n)
        j = int(rng.random() * (n - 1))
        if j >= i:
            j += 1
        if units[i] > 0:
            units[i] -= 1
            units[j] += 1


def move_reward(
    move: tuple[int, float, float],
    rng: np.random.Generator,
    old: tuple[Array, Integers],
    new: tuple[Array, Integers],
) -> float:
    """Draw a new reward into `new`; return ``log g(old | new) − log g(new | old)``.

    `old` and `new` are rewards (S,) with their units on the grid of the walk. `move` is
    ``(STAY, 0, 0)``, ``(WALK, moves, units in all)`` or ``(DIRICHLET, concentration, offset)``.
    """
    kind, a, b = move
    r, units = old
    r_new, units_new = new
    r_new[:] = r
    units_new[:] = units
    if kind == WALK:
        walk(units_new, int(a), rng)
        r_new[:] = units_new / b
    elif kind == DIRICHLET:
        shape = a * r + b
        for i in range(r.size):
            r_new[i] = rng.standard_gamma(shape[i])
        r_new /= r_new.sum()
        if r_new.min() <= 0.0:  # below what floats hold: a set of no weight
            return -math.inf
        return dirichlet_log(r, a * r_new + b) - dirichlet_log(r_new, shape)
    return 0.0


def move_parameter(
    step: tuple[int, float, float, float], rng: np.random.Generator, old: float
) -> tuple[float, float]:
    """Draw a new parameter; return it with ``log g(old | new) − log g(new | old)``.

    `step` is ``(STAY, 0, …)``, ``(GAMMA, shape, …)`` or ``(REFLECTED, width, …)``, and the ends of
    the interval, finite or infinite, which no step leaves and at which the last kind is reflected.
    """
    kind, a, low, high = step
    if kind == GAMMA:
        new = old * rng.standard_gamma(a) / a
        if not (0.0 < new < math.inf and low <= new <= high):
            return old, -math.inf
        return new, gamma_log(old, a, a / new) - gamma_log(new, a, a / old)
    if kind == REFLECTED:
        return reflect(old + a * (2.0 * rng.random() - 1.0), low, high), 0.0
    return old, 0.0


def reflect(x: float, low: float, high: float) -> float:
    """Return a number folded into an interval, as often as it takes."""
    if low > -math.inf and high < math.inf:
        over = (x - low) % (2.0 * (high - low))
        x = low + (2.0 * (high - low) - over if over > high - low else over)
    elif x < low:
        x = 2.0 * low - x
    elif x > high:
        x = 2.0 * high - x
    return min(max(x, low), high)


def resized(move: tuple[int, float, float], size: float) -> tuple[int, float, float]:
    """Return a move of the reward with steps of another relative size; a walk keeps its own."""
    kind, a, b = move
    return kind, (a / (size * size) if kind == DIRICHLET else a), b


def resized_step(
    step: tuple[int, float, float, float], size: float
) -> tuple[int, float, float, float]:
    """Return a step of the parameter of another relative size."""
    kind, a, low, high = step
    if kind == GAMMA:
        a /= size * size
    elif kind == REFLECTED:
        a *= size
    return kind, a, low, high


def slide(rng: np.random.Generator, r: Array, parameter: float, new: Array) -> tuple[float, float]:
    """Draw a point on the ridge of (r, β) into `new` (S,), and its β; return this and a ratio.

    The ridge of ``v = β r`` is ``v + c``, along which the likelihood is flat: what is drawn is the
    smallest of v, as by `GammaProposal` with shape 1. The ratio is ``log g(old | new) − log g(new |
    old)`` with that of the volumes, for v has ``β^(S − 1)`` times that of (r, β).
    """
    low = r.min()
    anywhere = (GAMMA, 1.0, 0.0, math.inf)
    smallest, ratio = move_parameter(anywhere, rng, parameter * low)
    if not ratio > -math.inf:
        return parameter, ratio
    new[:] = parameter * (r - low) + smallest
    total = new.sum()
    new /= total
    if new.min() <= 0.0:
        return parameter, -math.inf
    return total, ratio + (r.size - 1) * (math.log(parameter) - math.log(total))


def before(priors: tuple[Any, Any], r: Array, parameter: float) -> float:
    """Return the log density of the prior, up to a constant."""
    return log_reward_prior(priors[0], r) + log_parameter_prior(priors[1], parameter)


def log_posterior(
    bank: Bank,
    family: Any,
    priors: tuple[Any, Any],
    r: Array,
    parameter: float,
    policy: Integers,
    q: Array,
) -> float:
    """Return the log density of the posterior, up to a constant; plans only if the prior is > 0."""
    prior = before(priors, r, parameter)
    if not prior > -math.inf:
        return -math.inf
    return prior + log_likelihood(bank, family, r, parameter, policy, q)


def metropolis(
    bank: Bank,
    family: Any,
    priors: tuple[Any, Any],
    moves: tuple[tuple[int, float, float], tuple[int, float, float, float], bool],
    rng: np.random.Generator,
    state: tuple[Array, Integers, Array],
    out: tuple[Array, Array, Array],
    thin: int,
    adapting: tuple[float, float] = (0.0, -1.0),
) -> int:
    """Run a Metropolis–Hastings chain in place; return the number of accepted proposals.

    Parameters
    ----------
    moves : of the reward and of the parameter, of which a proposal makes both; and whether the
        chain slides along its ridge after each proposal.
    state : reward (S,), its units on the grid, and (parameter, log posterior, logarithm of the
        relative size of the moves).
    out : rewards (n, S), parameters (n,), log posteriors (n,); one row every `thin` proposals.
    adapting : the acceptance that the size aims at, and the number of proposals by which it was
        adapted in the past; if that is negative the size stays, and the chain is homogeneous.
    """
    aim, past = adapting
    r, units, scalars = state
    new = (np.empty_like(r), np.empty_like(units))
    policy = np.empty_like(bank.policy)
    q = np.empty((policy.shape[0], r.size, bank.counts.shape[1]))
    accepted = 0
    for row in range(out[1].size):
        for _ in range(thin):
            size = math.exp(scalars[2])
            ratio = move_reward(resized(moves[0], size), rng, (r, units), new)
            parameter, more = move_parameter(resized_step(moves[1], size), rng, scalars[0])
            policy[:] = bank.policy
            threshold = -rng.standard_exponential() - ratio - more + scalars[1]
            log = -math.inf
            if threshold < math.inf:
                log = log_posterior(bank, family, priors, new[0], parameter, policy, q)
            if past >= 0.0:
                gain = log + ratio + more - scalars[1]
                chance = math.exp(min(gain, 0.0)) if gain > -math.inf else 0.0
                change = (chance - aim) / (past + 10.0) ** 0.6
                scalars[2] = min(max(scalars[2] + change, SMALLEST_SIZE), LARGEST_SIZE)
                past += 1.0
            if log > threshold:
                accepted += 1
                r[:] = new[0]
                units[:] = new[1]
                scalars[0] = parameter
                scalars[1] = log
                settle(bank, policy)
            if moves[2]:
                parameter, ratio = slide(rng, r, scalars[0], new[0])
                if ratio > -math.inf:
                    change = before(priors, new[0], parameter) - before(priors, r, scalars[0])
                    if change + ratio > -rng.standard_exponential():
                        r[:] = new[0]
                        scalars[0] = parameter
                        scalars[1] += change
        out[0][row] = r
        out[1][row] = scalars[0]
        out[2][row] = scalars[1]
    return accepted


# Hamiltonian and Langevin moves


def slope(
    bank: Bank, family: Any, r: Array, beta: float, policy: Integers, q: Array, gradient: Array
) -> tuple[float, float]:
    """Return the log-likelihood of a Boltzmann follower and its derivative by β.

    Overwrites `gradient` (S,) by the derivative by the reward, which exists almost everywhere.
    """
    value = log_likelihood(bank, family, r, beta, policy, q)
    gradient[:] = 0.0
    by_beta = 0.0
    for e in range(policy.shape[0]):
        vector, gain = pull_back(bank, e, q[e], beta)
        by_beta += gain
        gradient += beta * adjoint(bank, e, policy[e], vector)
    return value, by_beta


def _shares(y: Array) -> Array:
    """Return the reward ``exp(y) / Σ exp(y)``."""
    shares: Array = np.exp(y - y.max())
    shares /= shares.sum()
    return shares


def energy(
    priors: tuple[Array, tuple[int, float, float]],
    x: Array,
    moving: bool,
    likelihood: float,
    by_reward: Array,
    gradient: Array,
) -> float:
    """Return the log density at ``x = (y, log β)``, shape (S + 1,).

    The reward is ``softmax(y)`` with independent ``exp(y_i) ~ Gamma(α_i)`` a priori, which makes it
    Dirichlet(α) and its total a number of no consequence. The log-likelihood comes with its
    derivative by the reward; by log β it is ``r · by_reward``, since it is a function of ``β r``.
    `gradient` (S + 1,) is overwritten.
    """
    alpha, (_, shape, rate) = priors
    y, beta = x[:-1], math.exp(x[-1])
    r, weights = _shares(y), np.exp(y)
    mean = (r * by_reward).sum()
    gradient[:-1] = alpha - weights + r * (by_reward - mean)
    gradient[-1] = 0.0
    value = (alpha * y - weights).sum() + likelihood
    if moving:
        gradient[-1] = shape - rate * beta + mean
        value += shape * x[-1] - rate * beta
    return float(value)


def slide_in_logs(
    priors: tuple[Array, tuple[int, float, float]], rng: np.random.Generator, x: Array
) -> float:
    """Move ``x = (y, log β)`` along its ridge, in place; return the factor on β."""
    r, beta = _shares(x[:-1]), math.exp(x[-1])
    new = np.empty_like(r)
    beta_new, ratio = slide(rng, r, beta, new)
    if not ratio > -math.inf:
        return 1.0
    y = np.log(new) + math.log(np.exp(x[:-1]).sum())
    change = _before_known(priors, new, beta_new) - _before_known(priors, r, beta)
    if np.abs(y).max() > LARGEST or not change + ratio > -rng.standard_exponential():
        return 1.0
    x[:-1] = y
    x[-1] = math.log(beta_new)
    return beta_new / beta


def hamiltonian(
    bank: Bank,
    family: Any,
    priors: tuple[Array, tuple[int, float, float]],
    settings: tuple[int, float, float, bool],
    rng: np.random.Generator,
    state: tuple[Array, Array],
    out: tuple[Array, Array, Array],
    thin: int,
) -> int:
    """Run a Hamiltonian chain in place; return the number of accepted proposals.

    After each proposal a chain whose β moves slides along its ridge. Leaps cannot follow it: far
    out the reward is nearly constant, the posterior too narrow for a step that suits the rest.

    Parameters
    ----------
    settings : leapfrog steps (1 is MALA), the acceptance aimed at while the step adapts, the number
        of proposals so adapted in the past (negative: the step stays), and whether β moves.
    state : ``x = (y, log β)``, shape (S + 1,), and (the logarithm of the step, log posterior).
    out : as for `metropolis`.
    """
    x, scalars = state
    leaps, aim, past, moving = settings
    policy = bank.policy.copy()
    q = np.empty((policy.shape[0], x.size - 1, bank.counts.shape[1]))
    old, new = np.empty_like(x), np.empty_like(x)
    by_reward, by_trial = np.empty_like(x[:-1]), np.empty_like(x[:-1])
    r, beta = _shares(x[:-1]), math.exp(x[-1])
    likelihood, _ = slope(bank, family, r, beta, policy, q, by_reward)
    value = energy(priors, x, moving, likelihood, by_reward, old)
    accepted = 0
    for row in range(out[1].size):
        for _ in range(thin):
            h = math.exp(scalars[0])
            momentum = np.empty_like(x)
            for i in range(x.size):
                momentum[i] = rng.standard_normal()
            if not moving:
                momentum[-1] = 0.0
            kinetic = 0.5 * (momentum * momentum).sum()
            trial, trial_value, trial_likelihood = x.copy(), value, likelihood
            new[:] = old
            for _ in range(leaps):
                momentum += 0.5 * h * new
                trial += h * momentum
                if np.abs(trial).max() > LARGEST:
                    trial_value = -math.inf
                    break
                r, beta = _shares(trial[:-1]), math.exp(trial[-1])
                trial_likelihood, _ = slope(bank, family, r, beta, policy, q, by_trial)
                trial_value = energy(priors, trial, moving, trial_likelihood, by_trial, new)
                momentum += 0.5 * h * new
            gain = trial_value - value + kinetic - 0.5 * (momentum * momentum).sum()
            if not gain > -math.inf:
                gain = -math.inf
            if past >= 0.0:
                chance = math.exp(min(gain, 0.0))
                scalars[0] += (chance - aim) / (past + 10.0) ** 0.6
                past += 1.0
            if -rng.standard_exponential() < gain:
                accepted += 1
                x[:] = trial
                old[:] = new
                by_reward[:] = by_trial
                value, likelihood = trial_value, trial_likelihood
                settle(bank, policy)
            else:
                policy[:] = bank.policy
            if moving:
                by_reward *= slide_in_logs(priors, rng, x)
                value = energy(priors, x, moving, likelihood, by_reward, old)
        r, beta = _shares(x[:-1]), math.exp(x[-1])
        out[0][row] = r
        out[1][row] = beta
        out[2][row] = likelihood + _before_known(priors, r, beta)
    scalars[1] = out[2][-1]
    return accepted


# The other halves of the pairs, in loops for numba; unsigned indices spare it a test for negative
# ones in the innermost loops, which are half of the time.


def _system_loops(bank: Bank, e: int) -> Array:
    n_states = bank.base.shape[1]
    n_b = (bank.indptr.shape[1] - 1) // n_states
    matrix = np.zeros((n_states, n_states))
    for s in range(n_states):
        matrix[s, s] += 1.0
        row = s * n_b + bank.base[e, s]
        for k in range(bank.indptr[e, row], bank.indptr[e, row + 1]):
            matrix[bank.indices[k], s] -= bank.discount * bank.data[k]
    return matrix


def _chosen(bank: Bank, e: int, rows: Integers) -> tuple[Any, Any, Array]:
    ends = np.zeros(rows.size + 1, np.uint64)
    size = 0
    for i in range(rows.size):
        size += bank.indptr[e, rows[i] + 1] - bank.indptr[e, rows[i]]
        ends[i + 1] = size
    columns = np.empty(size, np.uint32)
    weights = np.empty(size)
    at = 0
    for i in range(rows.size):
        for k in range(bank.indptr[e, rows[i]], bank.indptr[e, rows[i] + 1]):
            columns[at] = bank.indices[k]
            weights[at] = bank.discount * bank.data[k]
            at += 1
    return ends, columns, weights


def _capacitance_loops(bank: Bank, e: int, where: Integers, rows: Integers) -> tuple[Any, Array]:
    size = where.size
    ends, columns, weights = _chosen(bank, e, rows)
    transposed = np.empty((size, size))
    for j in range(size):
        line = bank.inverse[e, where[j]]
        for i in range(size):
            entry = line[where[i]]
            for k in range(ends[i], ends[i + 1]):
                entry -= weights[k] * line[columns[k]]
            transposed[j, i] = entry
    return (ends, columns, weights), transposed


def _backward_loops(chosen: Any, vector: Array, n_states: int) -> Array:
    ends, columns, weights = chosen
    product = np.zeros(n_states)
    for i in range(ends.size - 1):
        for k in range(ends[i], ends[i + 1]):
            product[columns[k]] += weights[k] * vector[i]
    return product


def _gains_loops(chosen: Any, inverse: Array, where: Integers) -> Array:
    ends, columns, weights = chosen
    product = np.empty((inverse.shape[0], where.size))
    for s in range(inverse.shape[0]):
        line = inverse[s]
        for i in range(where.size):
            entry = -line[where[i]]
            if where[i] == s:
                entry += 1.0
            for k in range(ends[i], ends[i + 1]):
                entry += weights[k] * line[columns[k]]
            product[s, i] = entry
    return product


def _look_ahead_loops(bank: Bank, e: int, r: Array, values: Array, q: Array) -> None:
    n_states, n_b = q.shape
    data, indices, indptr = bank.data, bank.indices, bank.indptr[e]
    row, hi = 0, np.uint64(indptr[0])
    for s in range(n_states):
        for b in range(n_b):
            row += 1
            lo, hi = hi, np.uint64(indptr[row])
            mean = 0.0
            for k in range(lo, hi):
                mean += data[k] * values[np.uint32(indices[k])]
            q[s, b] = r[s] + bank.discount * mean


def _improve_loops(q: Array, policy: Integers) -> bool:
    n_states, n_b = q.shape
    largest = 0.0
    for s in range(n_states):
        for b in range(n_b):
            largest = max(largest, abs(q[s, b]))
    changed = False
    for s in range(n_states):
        best = 0
        for b in range(1, n_b):
            if q[s, b] > q[s, best]:
                best = b
        if q[s, best] - q[s, policy[s]] > ROUNDING * largest:
            policy[s] = best
            changed = True
    return changed


def _plan_loops(bank: Bank, e: int, r: Array, policy: Integers, q: Array) -> None:
    # D only grows here: where the policy is the base's again, its row of the system is one of I.
    n_states, n_b = q.shape
    base, inverse = bank.base[e], bank.inverse[e]
    first = np.dot(r, inverse)
    where = np.empty(n_states, np.int64)
    fresh = np.zeros(n_states, np.bool_)  # by place in `where`: whether its row is to be computed
    place = np.full(n_states, -1)
    size, old = 0, 0
    for s in range(n_states):
        if policy[s] != base[s]:
            place[s], where[size], fresh[size] = size, s, True
            size += 1
    room = min(n_states, size + 32)
    matrix, gain = np.empty((room, room)), np.empty(n_states)
    total = -np.inf
    while True:
        values = first.copy()
        if size > 0:
            if size > room:
                room = min(n_states, 2 * size)
                larger = np.empty((room, room))
                larger[:old, :old] = matrix[:old, :old]
                matrix = larger
            rows = where[:size] * n_b + policy[where[:size]]
            ends, columns, weights = _chosen(bank, e, rows)
            for j in range(size):
                line = inverse[where[j]]
                for i in range(size):
                    if fresh[i] or j >= old:
                        entry = line[where[i]]
                        for k in range(ends[i], ends[i + 1]):
                            entry -= weights[k] * line[columns[k]]
                        matrix[i, j] = entry
            for i in range(size):
                if fresh[i]:
                    gain[i] = r[where[i]] - first[where[i]]
                    for k in range(ends[i], ends[i + 1]):
                        gain[i] += weights[k] * first[columns[k]]
                    fresh[i] = False
            y = np.linalg.solve(matrix[:size, :size].copy(), gain[:size])
            for j in range(size):
                line, weight = inverse[where[j]], y[j]
                for s in range(n_states):
                    values[s] += weight * line[s]
            old = size
        look_ahead(bank, e, r, values, q)
        rises = values.sum() > total
        total = values.sum()
        before = policy.copy()
        if not rises or not improve(q, policy):
            return
        for s in range(n_states):
            if policy[s] != before[s]:
                if place[s] < 0:
                    place[s], where[size] = size, s
                    size += 1
                fresh[place[s]] = True


def _shares_loops(values: Array, beta: float, shares: Array) -> float:
    # Returns log Σ exp(β (v − max v)); β max v itself may be beyond what floats hold.
    top, total = values[0], 0.0
    for b in range(1, values.size):
        top = max(top, values[b])
    for b in range(values.size):
        shares[b] = math.exp(beta * (values[b] - top))
        total += shares[b]
    for b in range(values.size):
        shares[b] /= total
    return math.log(total)


def _pull_back_loops(bank: Bank, e: int, q: Array, beta: float) -> tuple[Array, float]:
    n_states, n_b = q.shape
    product, by_beta, shares = np.zeros(n_states), 0.0, np.empty(n_b)
    for i in range(bank.offsets[e], bank.offsets[e + 1]):
        s, number = bank.seen[i], 0.0
        _shares_loops(q[s], beta, shares)
        for b in range(n_b):
            number += bank.counts[i, b]
        for b in range(n_b):
            weight = bank.counts[i, b] - number * shares[b]
            by_beta += weight * q[s, b]
            for k in range(bank.indptr[e, s * n_b + b], bank.indptr[e, s * n_b + b + 1]):
                product[bank.indices[k]] += bank.discount * bank.data[k] * weight
    return product, by_beta


def _score_loops(
    bank: Bank, e: int, family: int, q: Array, parameter: float, tolerance: float
) -> float:
    n_b, value = q.shape[1], 0.0
    shares = np.empty(n_b)
    for i in range(bank.offsets[e], bank.offsets[e + 1]):
        s = bank.seen[i]
        top, tied = q[s, 0], 0
        for b in range(1, n_b):
            top = max(top, q[s, b])
        if family == BOLTZMANN:
            log = _shares_loops(q[s], parameter, shares)
            for b in range(n_b):
                if bank.counts[i, b] > 0.0:
                    value += bank.counts[i, b] * (parameter * (q[s, b] - top) - log)
            continue
        for b in range(n_b):
            tied += q[s, b] >= top - tolerance
        for b in range(n_b):
            if bank.counts[i, b] > 0.0:
                chance = parameter / n_b
                if q[s, b] >= top - tolerance:
                    chance += (1.0 - parameter) / tied
                if not chance > 0.0:
                    return -math.inf
                value += bank.counts[i, b] * math.log(chance)
    return value


def _log_reward_prior_known(prior: Array, r: Array) -> float:
    return dirichlet_log(r, prior)


def _log_parameter_prior_known(prior: tuple[int, float, float], parameter: float) -> float:
    kind, a, b = prior
    if kind == 1:
        return gamma_log(parameter, a, b)
    if kind == 2:
        return -math.log(b - a) if a <= parameter <= b else -math.inf
    return 0.0


PAIRS: dict[Callable[..., Any], Callable[..., Any]] = {
    plan: _plan_loops,
    system: _system_loops,
    capacitance: _capacitance_loops,
    gains: _gains_loops,
    backward: _backward_loops,
    look_ahead: _look_ahead_loops,
    improve: _improve_loops,
    pull_back: _pull_back_loops,
    score: _score_loops,
    log_reward_prior: _log_reward_prior_known,
    log_parameter_prior: _log_parameter_prior_known,
}
SHARED = (
    adjoint,
    settle,
    dirichlet_log,
    gamma_log,
    tie_tolerance,
    log_likelihood,
    walk,
    move_reward,
    move_parameter,
    reflect,
    resized,
    resized_step,
    log_posterior,
    slope,
    _shares,
    energy,
    slide,
    slide_in_logs,
    before,
    _before_known,
    _chosen,
    _shares_loops,
)


def _returning(loops: Callable[..., Any]) -> Callable[..., Callable[..., Any]]:
    """Return what numba asks for the code of a pair: the loops, whatever the types."""
    return lambda *_: loops


@cache
def compiled() -> tuple[Callable[..., int], Callable[..., int]]:
    """Return `metropolis` and `hamiltonian`, compiled.

    Raises
    ------
    MissingExtra
        numba is not installed.
    """
    try:
        import numba
        from numba.extending import overload, register_jitable
    except ImportError:
        raise MissingExtra("compiled sampling", "fast") from None
    for plain, loops in PAIRS.items():
        overload(plain, strict=False)(_returning(loops))
    for function in SHARED:
        register_jitable(function)
    return numba.njit(cache=True)(metropolis), numba.njit(cache=True)(hamiltonian)
