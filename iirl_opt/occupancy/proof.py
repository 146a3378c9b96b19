"""Makers of proofs about occupancy programs, and that a policy is no optimum of one.

Whatever prices λ ≥ 0 and κ a solver found, the best values beside them are those of the game with
the reward ``r − Gᵀ λ − Kᵀ κ``; so they come from policy iteration in exact numbers (or in numbers
as near as one likes), and the bound is off only by what the prices are. Where a basis of the
program is at hand, all numbers solve its equations exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.certificate.dyadic import in_units, masses, sums
from iirl_opt.certificate.given import joint_weights, read_reward
from iirl_opt.certificate.instance import Instance, SparseRows, clamped
from iirl_opt.certificate.occupancy import Infeasibility, Optimality
from iirl_opt.certificate.policies import PolicyImprovement, mean_reward
from iirl_opt.checks import array_of_floats, checked, is_a, kept
from iirl_opt.errors import InvalidArgument, InvalidPolicy, NotExact
from iirl_opt.exact.linear import solve_near
from iirl_opt.exact.numbers import as_fractions, as_reals
from iirl_opt.exact.rows import ExactRows
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.optimum import modified_policy_iteration
from iirl_opt.game.policy import POLICY
from iirl_opt.game.reward import REWARD

__all__ = ["Side", "infeasibility", "optimality", "policy_improvement"]

# Objects that are Fractions.
Vector = NDArray[Any]

# Measures and prices below this share of the largest are rounding.
ROUNDING = 1e-9

# What the parts of side constraints may be: finite numbers, as they are given.
NUMBERS = kept(array_of_floats(1, 2))


@checked(
    rows=NUMBERS,
    bounds=NUMBERS,
    equal=NUMBERS,
    right=NUMBERS,
    prices=NUMBERS,
    equal_prices=NUMBERS,
)
@dataclass(frozen=True)
class Side:
    """Side constraints ``rows μ ≤ bounds``, ``equal μ = right`` with multipliers λ and κ.

    Rows are (m, S·A·B), dense; none by default.

    Examples
    --------
    >>> stay, go = [1, 0], [0, 1]
    >>> game = TwoAgentMDP([[[stay, go]], [[go, go]]], discount="1/2", start=[1, 0])
    >>> visits = Side(rows=[[0, 0, 1, 1]], bounds=[0.5], prices=[1])  # of state 1: half a one
    >>> optimality(game, [0, 1], ([[1], [1]], [[0.75, 0.25], [1, 0]]), visits).upper
    Fraction(1, 2)
    """

    rows: ArrayLike = ()
    bounds: ArrayLike = ()
    equal: ArrayLike = ()
    right: ArrayLike = ()
    prices: ArrayLike = ()
    equal_prices: ArrayLike = ()

    __repr__ = in_brief

    def exact(self, width: int) -> dict[str, Any]:
        """Return the fields as those of a certificate, prices clamped at zero."""
        rows = [np.asarray(given).reshape(-1, width) for given in (self.rows, self.equal)]
        return {
            "rows": SparseRows.of(rows[0], width).exact(),
            "bounds": as_fractions(self.bounds),
            "equal": SparseRows.of(rows[1], width).exact(),
            "right": as_fractions(self.right),
            "prices": clamped(as_fractions(self.prices)),
            "equal_prices": as_fractions(self.equal_prices),
        }


@checked(game=GAME, reward=REWARD, policy=POLICY, side=is_a(Side))
def optimality(
    game: TwoAgentMDP,
    reward: ArrayLike,
    policy: ArrayLike | tuple[ArrayLike, ArrayLike],
    side: Side | None = None,
) -> Optimality:
    """Return the proof of what any joint policy earns at most, and this one at least.

    Parameters
    ----------
    reward : (S,) or (S, A, B).
    policy : a pair ``(pi1, pi2)``, or a joint policy (S, A, B). With side constraints it may be
        moved by rounding, to one that meets them exactly.
    side : side constraints with a solver's multipliers.

    Raises
    ------
    InvalidPolicy, InvalidReward

    **Cost** arithmetic: some steps of policy iteration in exact numbers.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], "1/2", start=[1, 0])
    >>> proof = optimality(game, [0, 1], ([[1], [1]], [[0, 1], [1, 0]]))
    >>> proof.lower, proof.upper, bool(proof.check())
    (Fraction(1, 1), Fraction(1, 1), True)
    """
    instance, r = Instance.of(game), _leanest(read_reward(game, reward))
    stated = (side or Side()).exact(np.prod(instance.shape, dtype=int).item())
    weights = joint_weights(game, policy)
    mass = masses(instance.chain(weights), instance.discount, instance.start)
    priced = instance.over_choices(r) - _priced(stated)
    near = Optimality(
        instance=instance,
        reward=r,
        policy=weights,
        mass=mass,
        values=planned(game, instance, priced, weights),
        lower=Fraction(0),
        upper=Fraction(0),
        excess=Fraction(0),
        **stated,
    )
    found = _stated(near)
    if found.excess or (side is not None and found.lower < found.upper):
        for exact in _of_bases(found):
            if not exact.excess and exact.upper - exact.lower <= abs(found.upper - found.lower):
                return exact
    return found


def _leanest(reward: Vector) -> Vector:
    """Return a reward as (S,) where it depends on the state alone."""
    flat = reward.reshape(len(reward), -1)
    return flat[:, 0] if (flat == flat[:, :1]).all() else reward


def _priced(stated: dict[str, Any]) -> Vector:
    """Return ``Gᵀ λ + Kᵀ κ``."""
    rows, equal = stated["rows"], stated["equal"]
    return np.asarray(rows.transposed(stated["prices"]) + equal.transposed(stated["equal_prices"]))


def _stated(near: Optimality) -> Optimality:
    """Return a certificate with the bounds that its other numbers prove."""
    lower, upper, excess = near.proved()
    return replace(near, lower=lower, upper=upper, excess=excess, claim="")


def planned(
    game: TwoAgentMDP, instance: Instance, reward: Vector, policy: Vector | None = None
) -> Vector:
    """Return values (S,) near those of the best joint policy for a reward (S·A·B,).

    Policy iteration goes on from that of floating point until no choice is better by more than the
    values may be off.
    """
    n_states = instance.shape[0]
    states = np.arange(n_states)
    flat = reward.reshape(n_states, -1)
    unit = Fraction(2) ** in_units(reward)
    start = modified_policy_iteration(game, as_reals(flat / unit).reshape(instance.shape))
    choices = np.asarray(start.actions, dtype=np.int64)
    while True:
        chain = instance.rows.take(states * flat.shape[1] + choices)
        own = flat[states, choices]
        values = sums(chain, instance.discount, own)
        missed = values - own - instance.discount * chain.times(values)
        error = 2 * max(map(abs, missed.tolist())) / (1 - instance.discount)
        gain = (reward - instance.leave(values)).reshape(flat.shape)
        best = gain.argmax(axis=1)
        better = gain[states, best] > error
        if not better.any():
            return values
        choices = np.where(better, best, choices)


def _of_bases(near: Optimality) -> Iterator[Optimality]:
    """Yield certificates whose numbers solve the equations that hold at those of a solver."""
    for ties in (False, True):
        try:
            found = _of_basis(near, *_basis(near, ties))
        except NotExact:
            return
        if found is not None:
            yield found


def _basis(near: Optimality, ties: bool) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which choices have no reduced cost, and which rows bind; with `ties`, more."""
    shares = near.shares("policy").reshape(len(near.mass), -1)
    mu, prices = as_reals((near.mass[:, None] * shares).ravel()), as_reals(near.prices)
    columns = mu > ROUNDING * mu.sum()
    each = shares.shape[1]
    lost = as_reals(near.combined() - near.instance.over_choices(near.reward))
    unseen = mu.reshape(-1, each).max(axis=1) <= ROUNDING * mu.sum()
    best = np.where(
        unseen, lost.reshape(-1, each).argmin(axis=1), mu.reshape(-1, each).argmax(axis=1)
    )
    columns[np.arange(len(best)) * each + best] = True
    active = prices > ROUNDING * prices.max(initial=0.0)
    if ties:
        columns |= lost <= ROUNDING * np.abs(as_reals(near.reward)).max()
        slack = as_reals(near.bounds - near.rows.times(as_fractions(mu)))
        active |= slack <= ROUNDING * mu.sum()
    return columns, active


def _of_basis(
    near: Optimality, columns: NDArray[np.bool_], active: NDArray[np.bool_]
) -> Optimality | None:
    """Return the certificate whose numbers solve the equations of a basis."""
    instance = near.instance
    n_states, each = instance.shape[0], instance.shape[1] * instance.shape[2]
    used = np.flatnonzero(columns)
    flow = -instance.discount * instance.rows.take(used).dense()
    flow[np.arange(len(used)), used // each] += 1
    binding = [row for row, binds in zip(near.rows, active, strict=True) if binds]
    side = np.array([*binding, *near.equal], dtype=object).reshape(-1, columns.size)[:, used]
    system = np.hstack([flow, side.T])
    given = np.concatenate([instance.start, near.bounds[active], near.right])
    guess = np.concatenate([near.values, near.prices[active], near.equal_prices])
    shares = near.shares("policy").reshape(n_states, each)
    mu = (near.mass[:, None] * shares).ravel()
    dual = solve_near(system, instance.over_choices(near.reward)[used], guess)
    visits = solve_near(system.T, given, mu[used])
    if dual is None or visits is None or min(visits) < 0:
        return None
    count = int(active.sum())
    prices = np.full(near.prices.size, Fraction(0), dtype=object)
    prices[active] = dual[n_states : n_states + count]
    measure = np.full(mu.size, Fraction(0), dtype=object)
    measure[used] = visits
    by_state = measure.reshape(n_states, each)
    mass = by_state.sum(axis=1)
    seen = (mass > 0)[:, None]
    policy = np.where(seen, by_state, shares).reshape(instance.shape)
    exact = replace(
        near,
        values=dual[:n_states],
        prices=prices,
        equal_prices=dual[n_states + count :],
        policy=policy,
        mass=mass,
    )
    return _stated(exact)


@checked(game=GAME, side=is_a(Side), values=kept(array_of_floats(1)))
def infeasibility(game: TwoAgentMDP, side: Side, values: ArrayLike | None = None) -> Infeasibility:
    """Return the proof that no joint policy meets side constraints.

    Parameters
    ----------
    side : the constraints, with the multipliers of a Farkas ray.
    values : those of the ray, (S,).

    Raises
    ------
    InvalidArgument
        The ray proves nothing.

    **Cost** arithmetic; policy iteration in exact numbers where the values are not good enough.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], "1/2", start=[1, 0])
    >>> least = Side(rows=[[0, 0, -1, -1]], bounds=[-2], prices=[1])  # state 1 is visited twice
    >>> bool(infeasibility(game, least).check())
    True
    """
    instance = Instance.of(game)
    stated = side.exact(np.prod(instance.shape, dtype=int).item())
    if values is not None:
        found = Infeasibility(instance=instance, values=as_fractions(values), **stated)
        if found.check():
            return found
    best = planned(game, instance, -_priced(stated))
    found = Infeasibility(instance=instance, values=best, **stated)
    outcome = found.check()
    if not outcome:
        problem = f"prove nothing ({outcome.reasons[0]})"
        raise InvalidArgument("multipliers", problem, "a Farkas ray", None)
    return found


@checked(game=GAME, reward=REWARD, old=POLICY, new=POLICY)
def policy_improvement(
    game: TwoAgentMDP,
    reward: ArrayLike,
    old: ArrayLike | tuple[ArrayLike, ArrayLike],
    new: ArrayLike | tuple[ArrayLike, ArrayLike],
) -> PolicyImprovement:
    """Return the proof that a policy is not optimal, because another is worth more somewhere.

    Parameters
    ----------
    reward : (S,) or (S, A, B).
    old, new : pairs ``(pi1, pi2)``, or joint policies (S, A, B).

    Raises
    ------
    InvalidPolicy
        The new policy is worth no more from any state.

    **Cost** arithmetic: two linear systems with S unknowns.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], discount="1/2")
    >>> stay, go = [[1, 0], [1, 0]], [[0, 1], [1, 0]]
    >>> proof = policy_improvement(game, [0, 1], ([[1], [1]], stay), ([[1], [1]], go))
    >>> proof.state, proof.gain
    (0, Fraction(1, 1))
    """
    instance, r = Instance.of(game), read_reward(game, reward)
    policies = [joint_weights(game, p, name) for p, name in ((old, "old"), (new, "new"))]
    values = []
    for policy in policies:
        chain: ExactRows = instance.chain(policy)
        values.append(sums(chain, instance.discount, mean_reward(r, policy)))
    gains = values[1] - values[0]
    state = int(np.argmax(gains))
    parts: dict[str, Any] = {
        "instance": instance,
        "reward": r,
        "old": policies[0],
        "new": policies[1],
        "old_values": values[0],
        "new_values": values[1],
        "state": state,
    }
    gain = PolicyImprovement(**parts, gain=gains[state]).proved()
    if gain <= 0:
        problem = f"is no improvement (the largest gain is {as_reals(gains[state]).item():.3g})"
        raise InvalidPolicy("new policy", problem, "one that is worth more from a state", None)
    return PolicyImprovement(**parts, gain=gain)
