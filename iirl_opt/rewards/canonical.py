"""Canonical forms of rewards by EPIC, STARC and DARD, and how far rounding carries them.

A form is a linear image of the reward, so it is taken of the reward in its half range, centred. All
that it ignores cancels in it, and with it digits: a *slip* bounds how far each entry is from that
of the exact reward, game and policy. A *direction* is told where the slip is below a millionth of
the form; otherwise the form is taken anew in Fractions, where the game is small enough for these,
and then zero is zero; what is not decided is refused.

STARC's form ``r − V + γ P V`` feels a constant in V by 1 − γ alone, and V is nearly constant for γ
near one. So V is parted into ``h + g/(1 − γ)`` with h zero in a state s*, in which a run under the
policy is often: with P₀ the chain of the policy without its column of s*,

    (I − γ P₀) u = r_π,   (I − γ P₀) w = 1,   g = u(s*)/w(s*),   h = u − g w,

and the form is ``r − g − h + γ P h``. As (I − γ P₀)⁻¹ ≥ 0, a residual ρ of ``r_π = g + h − γ P h``
moves g by at most max|ρ|, and h by at most ``2 w max|ρ|``; w is the discounted time until s* is met
again, which stays small as γ grows.

**Source** see `iirl_opt.rewards.distances`; the parting is that of relative values (Puterman,
Markov Decision Processes, section 8.2), at a discount.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.errors import InvalidArgument
from iirl_opt.exact.linear import NotRepaired
from iirl_opt.exact.numbers import as_fractions, as_reals
from iirl_opt.game.exact import exact_values
from iirl_opt.game.factors import Factors
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.problem import as_mdp, policy_weights
from iirl_opt.game.reward import ROUNDING, finite_reward

__all__ = ["By", "CentredReward", "direction", "form_of", "refuse_many", "scaled"]

Array = NDArray[np.float64]
By: TypeAlias = Literal["EPIC", "STARC", "DARD"]

# Transitions, possible or not, of which arrays are made at most; products of Fractions.
MOST_TRANSITIONS, MOST_EXACT = 50_000_000, 200_000

# The largest slip of a form, as a share of it, with which its direction is told.
CLOSE = 1e-6
EPS = float(np.finfo(float).eps)


class CentredReward(NamedTuple):
    """A reward in its half range, and centred: within [−1, 1]; both are given times a power of 2.

    That is 1, but of rewards so small that halves of their ranges are no floats.
    """

    name: str
    given: NDArray[Any]
    centre: float
    unit: float
    power: float
    values: Array

    def exact(self) -> NDArray[Any]:
        """Return the values in Fractions."""
        lifted = as_fractions(self.given) * Fraction(self.power)
        return np.asarray((lifted - Fraction(self.centre)) / Fraction(self.unit))


def scaled(game: TwoAgentMDP, reward: ArrayLike, name: str) -> CentredReward:
    """Return a checked reward in its half range.

    No canonical form feels the shift, and all are linear: so no digit goes to a large constant.

    Raises
    ------
    InvalidReward
    """
    shapes = ((game.n_states,), game.shape, (*game.shape, game.n_states))
    r = finite_reward(game, reward, name, shapes)
    power = 2.0**600 if np.abs(r).max() < 2.0**-900 else 1.0
    r = r * power
    low, high = float(r.min()), float(r.max())
    unit, centre = high / 2 - low / 2, high / 2 + low / 2
    # Without a future every reward of states is shaping.
    if low == high or (r.ndim == 1 and not game.discount):
        return CentredReward(name, np.asarray(reward), centre, 1.0, power, np.zeros_like(r))
    return CentredReward(name, np.asarray(reward), centre, unit, power, (r - centre) / unit)


def refuse_many(game: TwoAgentMDP) -> None:
    """Refuse a game that is too large for an array over all pairs of states.

    Raises
    ------
    InvalidArgument
    """
    n, most = game.n_states**2 * game.n_choices, MOST_TRANSITIONS
    if n > most:
        said = f"has {n} transitions to weigh"
        raise InvalidArgument("game", said, f"at most {most}; STARC needs none", game.n_states)


def form_of(
    game: TwoAgentMDP, r: CentredReward, by: By, policy: Any = None, *, exactly: bool = False
) -> tuple[NDArray[Any], float]:
    """Return a canonical form in the unit of the reward, and the slip of its entries.

    The form is (S, A·B, S), that of STARC (S, A·B); of zeros it is zero, without a slip.

    Raises
    ------
    InvalidPolicy
    InvalidArgument
        The game is too large for an array over all pairs of states.
    NotExact
        It is asked for `exactly`, and the game is too large for that.
    """
    weights = _weights(game, policy) if by == "STARC" else None
    values: NDArray[Any] = r.values
    gamma: Any = game.discount
    if exactly:
        _refuse_large(game, r, by)
        values, gamma = r.exact(), game.rational.discount
    if weights is not None:
        if not r.values.any() or game.n_choices == 1:
            return np.zeros((game.n_states, game.n_choices)), 0.0
        return (_levelled_exactly if exactly else _levelled)(game, values, weights)
    whole = _spread_out(game, values)
    if by == "EPIC":
        form, terms = _epic(whole, gamma), 32 + math.log2(whole.size)
    else:
        form = _dard(whole, _kernel(game, exactly), gamma)
        terms = 40 + game.n_states * game.n_choices
    return form, 4 * terms * EPS if r.values.any() and not exactly else 0.0


def direction(
    game: TwoAgentMDP, r: CentredReward, by: By, policy: Any = None, coverage: Array | None = None
) -> Array | None:
    """Return the unit vector of a canonical form, or None of one that is exactly zero.

    Those of EPIC and DARD are less their mean, and weighed by the root of the coverage (all alike
    by default).

    Raises
    ------
    NotExact
        What rounding leaves of the form has no direction.
    """
    form, slip = form_of(game, r, by, policy)
    shares = None if coverage is None else np.sqrt(coverage / coverage.max())
    weights = None if shares is None else shares**2
    if not slip or (shares is not None and np.count_nonzero(shares) == 1 and by != "STARC"):
        return None
    part = form if by == "STARC" else form - np.average(form, weights=weights)
    part = part if shares is None else part * shares
    size = float(np.linalg.norm(part))
    reach = math.sqrt(form.size) if shares is None else float(np.linalg.norm(shares))
    if 2 * slip * reach <= CLOSE * size:
        return np.asarray(part / size)
    return _exact_direction(game, r, by, policy, coverage)


def _exact_direction(
    game: TwoAgentMDP, r: CentredReward, by: By, policy: Any, coverage: Array | None
) -> Array | None:
    """Return what `direction` does, by arithmetic on Fractions."""
    part, _ = form_of(game, r, by, policy, exactly=True)
    met = np.ones(part.shape, dtype=bool) if coverage is None else coverage > 0
    if by != "STARC":
        weights = np.ones(met.sum(), dtype=int) if coverage is None else coverage[met]
        exact = as_fractions(weights)
        part = part - (part[met] * exact).sum() / exact.sum()
    largest = max(map(abs, part[met].tolist()))
    if not largest:
        return None
    if r.given.dtype.kind == "f" and largest <= ROUNDING:
        raise _undecided(r, by, f"is {float(largest):.2g} of its half range, and may be rounding")
    floats = as_reals(np.where(met, part / largest, 0))
    floats = floats if coverage is None else floats * np.sqrt(coverage / coverage.max())
    return np.asarray(floats / np.linalg.norm(floats))


def _undecided(r: CentredReward, by: By, said: str) -> NotRepaired:
    reason = f"its {by} form {said}: give it with less shaping, or in integers or Fractions"
    return NotRepaired(f"the direction of {r.name}", reason)


def _refuse_large(game: TwoAgentMDP, r: CentredReward, by: By) -> None:
    work = game.n_states**2 * game.n_choices * (game.n_states if by == "DARD" else 1)
    if work > MOST_EXACT:
        said = f"is lost in rounding, and the game too large for exact numbers ({work} products)"
        raise _undecided(r, by, said)


def _weights(game: TwoAgentMDP, policy: Any) -> Array:
    """Return a policy as weights (S, A·B) of the choices, uniform without one."""
    if policy is None:
        return np.full((game.n_states, game.n_choices), 1 / game.n_choices)
    return policy_weights(game, policy)


def _spread_out(game: TwoAgentMDP, r: NDArray[Any]) -> NDArray[Any]:
    """Return a reward as an array (S, A·B, S)."""
    n, k = game.n_states, game.n_choices
    refuse_many(game)
    parts = r.reshape(n, 1, 1) if r.ndim == 1 else r.reshape(n, k, -1)
    return np.broadcast_to(parts, (n, k, n))


def _kernel(game: TwoAgentMDP, exactly: bool) -> NDArray[Any]:
    """Return the kernel as a dense array (S, A·B, S)."""
    kernel = game.rational.rows.dense() if exactly else game.kernel
    return np.asarray(kernel).reshape(game.n_states, game.n_choices, game.n_states)


def _epic(whole: NDArray[Any], gamma: Any) -> NDArray[Any]:
    n = len(whole)
    mean = whole.reshape(n, -1).sum(axis=1) / (whole.size // n)
    return np.asarray(whole - mean[:, None, None] + gamma * (mean - mean.sum() / n))


def _dard(whole: NDArray[Any], kernel: NDArray[Any], gamma: Any) -> NDArray[Any]:
    k = kernel.shape[1]
    mean = (whole * kernel).sum(axis=(1, 2)) / k
    # R(S', A, S'') with S' from s and S'' from s', both under A.
    by_choice = kernel.transpose(1, 0, 2)
    met = by_choice @ whole.transpose(1, 0, 2) @ by_choice.transpose(0, 2, 1)
    ahead = gamma * (mean - met.sum(axis=0) / k)
    return np.asarray(whole - mean[:, None, None] + ahead[:, None, :])


def _levelled(game: TwoAgentMDP, r: Array, weights: Array) -> tuple[Array, float]:
    """Return a reward less the values of a policy, (S, A·B), and its slip."""
    n, gamma = game.n_states, game.discount
    mine = r.reshape(n, -1)
    if r.ndim == 4:
        mine = np.einsum("skt,skt->sk", _spread_out(game, r), _kernel(game, False))
    chain = as_mdp(game).chain(weights)
    mean = (weights * mine).sum(axis=1)
    state = _often_met(chain)
    away = Factors(_ended_at(chain, state), gamma)
    u, w = away.solve(mean), away.solve(np.ones(n))
    g = float(u[state] / w[state])
    h = u - g * w
    h[state] = 0.0
    form = mine - g - h[:, None] + gamma * (game.matrix @ h).reshape(n, -1)
    # The numbers that each sum is of; a chain's entry is a sum over choices, of at most n terms.
    sizes = 1 + abs(g) + np.abs(h) + gamma * (chain @ np.abs(h))
    rounding = (n + game.n_choices + 16) * EPS * float(sizes.max())
    residual = float(np.abs(mean - g - h + gamma * (chain @ h)).max()) + rounding
    if not np.abs(1 - w + gamma * (away.chain @ w)).max() <= 0.5:
        return form, math.inf  # else the exact w is at most twice this one
    ahead = np.abs(h)[:, None] + gamma * (game.matrix @ np.abs(h)).reshape(n, -1)
    own = (n + game.n_choices + 16) * EPS * (1 + abs(g) + float(ahead.max()))
    return np.broadcast_to(form, (n, game.n_choices)), own + residual * (1 + 8 * float(w.max()))


def _levelled_exactly(
    game: TwoAgentMDP, r: NDArray[Any], weights: Array
) -> tuple[NDArray[Any], float]:
    """Return the same in Fractions."""
    if r.ndim == 4:
        r = (_spread_out(game, r) * _kernel(game, True)).sum(axis=2).reshape(game.shape)
    values = exact_values(game, r, weights.reshape(game.shape))
    ahead = game.rational.discount * game.rational.rows.times(values)
    form = r.reshape(game.n_states, -1) - values[:, None] + ahead.reshape(game.n_states, -1)
    return np.asarray(form), 0.0


def _often_met(chain: Any) -> int:
    """Return a state in which a run from anywhere is often, after a few steps."""
    met = np.full(chain.shape[0], 1 / chain.shape[0])
    for _ in range(32):
        met = met @ chain
    return int(np.argmax(met))


def _ended_at(chain: Any, state: int) -> Any:
    """Return a chain that ends where it comes to a state."""
    kept = np.ones(chain.shape[0])
    kept[state] = 0.0
    return chain.multiply(kept).tocsr() if hasattr(chain, "multiply") else chain * kept
