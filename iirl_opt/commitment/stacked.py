"""Many small MDPs at once, in floats, with a bound on every error state by state.

K problems with kernels (K, S, B, S) and rewards (K, S, B) are solved together. What is returned is
true whatever rounding did, since every bound is *verified*:

* **a policy.** Let V̂ be what a linear solver returns for ``V = r + γPV``, ρ its residual and η what
  rounding may do to that residual. Then ``|V − V̂| ≤ E`` for every E with ``E ≥ |ρ| + η + γPE``,
  since the matrix I − γP has a nonnegative inverse. Such an E is found by one more solve and
  checked; a penalty in a state that the policy does not enter has no part in it.
* **a maximum.** ``V* ≤ W`` for every W with ``W ≥ r_b + γP_b W`` for all b.

In a solve of floats the unit of η is u = 2⁻⁵³ times the numbers that met in that state, and E is
about ``ηS/(1−γ)``. So a reward is first *centred*: r − c for a constant c, whose value c/(1−γ) is
kept apart. For c = (1−γ)V(start) the values that remain are those by which states differ.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Arithmetic",
    "Optima",
    "Stack",
    "best",
    "majorant",
    "policy_values",
    "upper_values",
]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

UNIT = float(np.finfo(float).eps)

# Policy iteration ends here at the latest: more steps than Howard's method was ever seen to take.
STEPS = 200


class Arithmetic(NamedTuple):
    """What floats lose in one problem.

    Attributes
    ----------
    discount : γ as a float.
    left : a float that is at most 1 − γ.
    unit : what rounding does to a state's equation at most, as a share of the numbers in it.
    """

    discount: float
    left: float
    unit: float

    @classmethod
    def of(cls, discount: Fraction, terms: int) -> Arithmetic:
        """Return it for equations of so many terms."""
        return cls(float(discount), float(1 - discount) * (1 - UNIT), (terms + 6) * UNIT)


class Stack(NamedTuple):
    """K problems.

    Attributes
    ----------
    kernel : (K, S, B, S).
    reward : (K, S, B), centred.
    size : (K, S, B), the sums of the absolute numbers that a reward was computed from.
    """

    kernel: Array
    reward: Array
    size: Array

    def take(self, which: Integers | Mask) -> Stack:
        """Return some of the problems."""
        return Stack(self.kernel[which], self.reward[which], self.size[which])


class Optima(NamedTuple):
    """Good policies of K problems and what they are worth, as computed.

    Attributes
    ----------
    actions, values : (K, S).
    q, noise : action values above `values`, and what rounding did to them at most, (K, S, B).
    """

    actions: Integers
    values: Array
    q: Array
    noise: Array


def best(
    stack: Stack, arithmetic: Arithmetic, allowed: Mask | None = None, start: Integers | None = None
) -> Optima:
    """Return optimal policies, as far as floats can tell, by stacked policy iteration.

    Parameters
    ----------
    allowed : mask (K, S, B) of the actions that the maximisation may take.
    start : actions (K, S) to begin with.

    **Source** Howard's policy iteration. An action changes only for a gain above what rounding does
    in that state, and no problem goes on once its values rise nowhere. **Cost** arithmetic: K S×S
    systems a step.
    """
    kernel, reward = stack.kernel, stack.reward
    open_reward = reward if allowed is None else np.where(allowed, reward, -np.inf)
    actions = open_reward.argmax(axis=-1) if start is None else start.copy()
    values, q, noise = np.empty(actions.shape), np.empty(reward.shape), np.empty(reward.shape)
    going = np.arange(len(kernel))
    before = np.full(actions.shape, -np.inf)
    states = np.arange(kernel.shape[1])
    for _ in range(STEPS):
        some = np.arange(len(going))[:, None]
        part, played = stack if going.size == len(kernel) else stack.take(going), actions[going]
        v = solved(part.kernel[some, states, played], part.reward[some, states, played], arithmetic)
        ahead = part.reward + arithmetic.discount * products(part.kernel, v)
        lost = arithmetic.unit * (part.size + arithmetic.discount * products(part.kernel, abs(v)))
        values[going], q[going], noise[going] = v, ahead, lost
        open_q = ahead if allowed is None else np.where(allowed[going], ahead, -np.inf)
        chosen = open_q.argmax(axis=-1)
        gain = open_q[some, states, chosen] - open_q[some, states, played]
        better = gain > lost[some, states, chosen] + lost[some, states, played]
        rises = np.asarray((v > before[going] + arithmetic.unit * abs(v)).any(axis=1))
        better &= rises[:, None]
        before[going] = v
        actions[going] = np.where(better, chosen, played)
        going = going[better.any(axis=1)]
        if not going.size:
            break
    return Optima(actions, values, q, noise)


def policy_values(
    chain: Array, reward: Array, size: Array, arithmetic: Arithmetic
) -> tuple[Array, Array]:
    """Return values (K, S) of K chains (K, S, S) and bounds on their errors.

    Parameters
    ----------
    reward, size : (K, S), the reward and what may be wrong with it in units of rounding.
    """
    values = solved(chain, reward, arithmetic)
    values += solved(chain, _residual(chain, reward, values, arithmetic), arithmetic)
    residual = _residual(chain, reward, values, arithmetic)
    numbers = size + abs(values) + arithmetic.discount * _times(chain, abs(values))
    return values, majorant(chain, abs(residual) + arithmetic.unit * numbers, arithmetic)


def majorant(chain: Array, right: Array, arithmetic: Arithmetic) -> Array:
    """Return E (K, S) with ``E ≥ right + γ · P · E``, for right ≥ 0 and stochastic P ≤ chain."""
    large = (arithmetic.discount * chain.sum(axis=-1) >= 1).any(axis=1)  # has no such E itself
    found = solved(np.where(large[:, None, None], 0.0, chain), right, arithmetic)
    found = np.maximum(2 * found, right)
    ahead = (right + arithmetic.discount * _times(chain, found)) * (1 + arithmetic.unit)
    held = np.asarray((found >= ahead).all(axis=1))
    most = right.max(axis=1, keepdims=True, initial=0.0) / arithmetic.left * (1 + 4 * UNIT)
    return np.where(held[:, None], found, most)


def upper_values(
    stack: Stack,
    arithmetic: Arithmetic,
    allowed: Mask | None = None,
    near: Optima | None = None,
) -> Array:
    """Return W (K, S), which the values of no policy over the allowed actions exceed.

    Parameters
    ----------
    near : what `best` returned, if it was asked already.
    """
    found = best(stack, arithmetic, allowed) if near is None else near
    taken = np.ones(stack.reward.shape, dtype=bool) if allowed is None else allowed
    values, some = found.values, np.arange(len(stack.kernel))[:, None]
    states = np.arange(values.shape[1])
    above = np.where(taken, found.q + found.noise - values[..., None], -np.inf)
    above += 2 * UNIT * (abs(found.q) + abs(values[..., None]))
    right = np.maximum(above.max(axis=-1), arithmetic.unit * abs(values))
    chain = stack.kernel[some, states, found.actions]
    error = majorant(chain, right, arithmetic)
    open_ = np.flatnonzero(~_holds(stack, above, error, arithmetic))
    if open_.size:  # an action nearly as good leads to larger errors: let the errors be maximised
        lost = np.where(taken[open_], above[open_], 0.0)
        part = Stack(stack.kernel[open_], lost, abs(lost))
        worst = best(part, arithmetic, taken[open_])
        places = np.arange(len(open_))[:, None]
        rest = majorant(
            part.kernel[places, states, worst.actions],
            np.maximum(right[open_], arithmetic.unit * abs(worst.values)),
            arithmetic,
        )
        error[open_] = np.maximum(worst.values, 0) + rest
        failed = open_[~_holds(part, above[open_], error[open_], arithmetic)]
        most = right[failed].max(axis=1, keepdims=True) / arithmetic.left * (1 + 4 * UNIT)
        error[failed] = most
    return np.asarray(values + error + arithmetic.unit * (abs(values) + error))


def _holds(stack: Stack, above: Array, error: Array, arithmetic: Arithmetic) -> Mask:
    """Return which (K,) errors E are at least ``above_b + γ P_b E`` for every action b."""
    ahead = arithmetic.discount * products(stack.kernel, error) * (1 + arithmetic.unit)
    return np.asarray((above + ahead <= error[..., None]).all(axis=(1, 2)))


def solved(chain: Array, reward: Array, arithmetic: Arithmetic) -> Array:
    """Return the solutions (K, S) of ``V = reward + γ · chain · V``, as computed."""
    systems = np.eye(chain.shape[-1]) - arithmetic.discount * chain
    return np.asarray(np.linalg.solve(systems, reward[..., None])[..., 0])


def products(kernel: Array, values: Array) -> Array:
    """Return ``P_b · values`` (K, S, B)."""
    k, s, b, t = kernel.shape
    return np.asarray(np.matmul(kernel.reshape(k, s * b, t), values[..., None])).reshape(k, s, b)


def _times(chain: Array, values: Array) -> Array:
    return np.asarray(np.matmul(chain, values[..., None])[..., 0])


def _residual(chain: Array, reward: Array, values: Array, arithmetic: Arithmetic) -> Array:
    return np.asarray(reward - values + arithmetic.discount * _times(chain, values))
