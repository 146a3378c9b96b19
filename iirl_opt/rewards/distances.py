"""Distances between rewards of the literature: EPIC, STARC and DARD.

Each takes a reward as a function ``R(s, a, b, s')`` of transitions: one of states (S,) or of
choices (S, A, B) is the same wherever a step leads. It brings R to a *canonical* form, which is the
same of all that shall make no difference, and compares two of these as directions. With a and A for
both agents' choices:

* EPIC: ``R + E[γ R(s',A,S') − R(s,A,S') − γ R(S,A,S')]`` with S, A and S' uniform;
* DARD: ``R + E[γ R(s',A,S'') − R(s,A,S') − γ R(S',A,S'')]`` with A uniform, S' and S'' where the
  kernel leads under A from s and from s';
* STARC: ``E[R(s,a,S') − V(s) + γ V(S')]`` with V the values of a policy, S' by the kernel.

All ignore positive scale, shifts, and potential shaping ``γ φ(s') − φ(s)`` by the game's discount.
EPIC and DARD are Pearson distances, ``√((1 − ρ)/2) = sin(angle/2)``, over a distribution of
transitions, their *coverage*; STARC is half the Euclidean distance of the canonical forms, each
divided by its norm. They are pseudometrics with values in [0, 1]: 1 is the opposite. What is
canonically zero, a reward that orders no two policies and has no direction, is at distance 0 of its
like, and of all others at √½ (EPIC, DARD: a correlation of 0) or ½ (STARC).

STARC alone is zero exactly where the two rewards order all policies alike; EPIC and DARD also tell
apart what no policy feels. None is zero for as much as `affine_distance`, which compares rewards of
states and knows no shaping: among these, with γ > 0, EPIC under uniform coverage is
``sin(affine_distance / 2)``; with γ = 0 every reward of states is shaping.

All are arithmetic in floats: of two rewards that are equal but for rounding they say some 1e-16.

**Source** Gleave et al. (ICLR 2021) for EPIC; Skalse et al. (ICLR 2024) for STARC, with the
canonicalisation *value-adjusted levelling*; Wulfe et al. (ICLR 2022) for DARD.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import array_of_floats, checked, one_of
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.reward import ROUNDING, check_reward
from iirl_opt.game.values import error_bound, evaluate
from iirl_opt.printing.table import FactTable
from iirl_opt.rewards.affine import affine_distance

__all__ = [
    "canonical_reward",
    "dard_distance",
    "epic_distance",
    "reward_distances",
    "starc_distance",
]

Array = NDArray[np.float64]

# Transitions, possible or not, of which arrays are made at most.
MOST_TRANSITIONS = 50_000_000


@checked(game=GAME, by=one_of("EPIC", "STARC", "DARD"))
def canonical_reward(
    game: TwoAgentMDP,
    reward: ArrayLike,
    by: Literal["EPIC", "STARC", "DARD"],
    *,
    policy: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
) -> Array:
    """Return the canonical form of a reward, in its own unit, as a function of transitions.

    Parameters
    ----------
    reward : (S,), (S, A, B) or (S, A, B, S).
    by : whose form: (S, A, B, S) of EPIC and DARD, (S, A, B) of STARC, whose form does not depend
        on where a step leads.
    policy : of STARC: ``(pi1, pi2)`` or a joint policy (S, A, B); uniform by default.

    Raises
    ------
    InvalidReward, InvalidPolicy
    InvalidArgument
        The game is too large for an array over all pairs of states; a policy beside EPIC or DARD.

    **Source** see `iirl_opt.rewards.distances`. **Cost** arithmetic: EPIC passes over S²·A·B
    numbers, DARD multiplies A·B matrices of S rows, STARC evaluates a policy.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, reward = iirl.random_game(3, 2, 2, rng=0)
    >>> canonical_reward(game, reward, "STARC").shape, canonical_reward(game, reward, "EPIC").shape
    ((3, 2, 2), (3, 2, 2, 3))
    """
    if policy is not None and by != "STARC":
        raise InvalidArgument("policy", f"stands beside {by}", "None: STARC alone has one", policy)
    unit, r = _scaled(game, reward, "reward")
    if by == "STARC":
        return unit * _levelled(game, r, policy)
    form = _epic(game, r) if by == "EPIC" else _dard(game, r)
    return unit * form.reshape(*game.shape, game.n_states)


@checked(game=GAME)
def epic_distance(
    game: TwoAgentMDP, first: ArrayLike, second: ArrayLike, *, coverage: ArrayLike | None = None
) -> float:
    """Return the EPIC distance of two rewards, in [0, 1]; of the game it knows the discount alone.

    It ignores positive scale, shifts and potential shaping. It does tell apart rewards that differ
    only on transitions that cannot happen, or in how a choice's reward is spread over the states it
    leads to.

    Parameters
    ----------
    first, second : rewards (S,), (S, A, B) or (S, A, B, S).
    coverage : weights (S, A, B, S) of transitions; uniform over all by default, possible or not.

    Raises
    ------
    InvalidReward
    InvalidArgument
        The coverage is none; the game is too large for an array over all pairs of states.

    **Source** Gleave et al. (2021), definitions 4.2, 4.5 and 4.6. **Cost** arithmetic on S²·A·B
    numbers.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, r = iirl.random_game(3, 2, 2, rng=0)
    >>> epic_distance(game, r, 3 * r + 1) < 1e-12, epic_distance(game, r, -r) > 1 - 1e-12
    (True, True)
    """
    weights = None if coverage is None else _coverage(game, coverage)
    one, other = (_epic(game, _scaled(game, r, name)[1]) for r, name in _both(first, second))
    return _pearson(one, other, weights)


@checked(game=GAME)
def dard_distance(
    game: TwoAgentMDP, first: ArrayLike, second: ArrayLike, *, coverage: ArrayLike | None = None
) -> float:
    """Return the DARD distance of two rewards under the game's own dynamics, in [0, 1].

    It ignores positive scale, shifts and potential shaping, and looks at transitions that happen
    (but in one term, at pairs of states that two such transitions lead to). It does tell apart
    rewards that differ only in how a choice's reward is spread over the states it leads to.

    Parameters
    ----------
    first, second : rewards (S,), (S, A, B) or (S, A, B, S).
    coverage : weights (S, A, B, S) of transitions; by default all choices alike, each followed by
        the game's kernel.

    Raises
    ------
    InvalidReward
    InvalidArgument
        The coverage is none; the game is too large for an array over all pairs of states.

    **Source** Wulfe et al. (2022), definition 5. **Cost** arithmetic: A·B products of matrices with
    S rows.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, r = iirl.random_game(3, 2, 2, rng=0)
    >>> dard_distance(game, r, 3 * r + 1) < 1e-12, dard_distance(game, r, -r) > 1 - 1e-12
    (True, True)
    """
    one, other = (_dard(game, _scaled(game, r, name)[1]) for r, name in _both(first, second))
    weights = _transitions(game) if coverage is None else _coverage(game, coverage)
    return _pearson(one, other, weights)


@checked(game=GAME)
def starc_distance(
    game: TwoAgentMDP,
    first: ArrayLike,
    second: ArrayLike,
    *,
    policy: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
) -> float:
    """Return the STARC distance of two rewards by value-adjusted levelling, in [0, 1].

    It ignores positive scale, shifts, potential shaping, and how a choice's reward is spread over
    the states that it leads to: all that no policy feels. So it is zero exactly where the two
    rewards order all joint policies alike from every start.

    Parameters
    ----------
    first, second : rewards (S,), (S, A, B) or (S, A, B, S).
    policy : whose values level the rewards: ``(pi1, pi2)`` or a joint policy (S, A, B); uniform by
        default. It changes the distance, and not where it is zero.

    Raises
    ------
    InvalidReward, InvalidPolicy

    **Source** Skalse et al. (2024), definitions 1 to 4. **Cost** arithmetic: two linear systems
    with S unknowns.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, r = iirl.random_game(3, 2, 2, rng=0)
    >>> starc_distance(game, r, 3 * r + 1) < 1e-12, starc_distance(game, r, -r) > 1 - 1e-12
    (True, True)
    """
    forms = [_levelled(game, _scaled(game, r, name)[1], policy) for r, name in _both(first, second)]
    x, y = (form / (float(np.linalg.norm(form)) or 1.0) for form in forms)
    return min(1.0, float(np.linalg.norm(x - y)) / 2)


@checked(game=GAME)
def reward_distances(game: TwoAgentMDP, first: ArrayLike, second: ArrayLike) -> FactTable:
    """Return all distances between two rewards as a table, with what each ignores.

    Parameters
    ----------
    first, second : rewards (S,), (S, A, B) or (S, A, B, S); of two of states alone the first row is
        `affine_distance`, an angle in radians.

    Raises
    ------
    InvalidReward
    InvalidArgument
        The game is too large for an array over all pairs of states.

    **Cost** arithmetic, that of DARD.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, truth = iirl.random_game(3, 2, 2, rng=0)
    >>> reward_distances(game, truth, [1.0, 0.0, 0.0]).column("distance")
    ['affine', 'EPIC', 'STARC', 'DARD']
    """
    shaping = "scale, shift, potential shaping"
    rows: list[dict[str, Any]] = [
        {"distance": name, "value": value, "at most": 1.0, "ignores": ignored}
        for name, value, ignored in (
            ("EPIC", epic_distance(game, first, second), shaping),
            ("STARC", starc_distance(game, first, second), f"{shaping}, spread over next states"),
            ("DARD", dard_distance(game, first, second), shaping),
        )
    ]
    if np.ndim(first) == np.ndim(second) == 1:
        angle = affine_distance(first, second)
        own = {"distance": "affine", "value": angle, "at most": math.pi, "ignores": "scale, shift"}
        rows.insert(0, own)
    return FactTable(rows, "distances between two rewards")


def _both(first: ArrayLike, second: ArrayLike) -> tuple[tuple[ArrayLike, str], ...]:
    return (first, "first"), (second, "second")


def _scaled(game: TwoAgentMDP, reward: ArrayLike, name: str) -> tuple[float, Array]:
    """Return the half range of a reward, and the reward in it, centred: within [−1, 1].

    No canonical form feels the shift, and all are linear: so no digit goes to a large constant.
    """
    if np.ndim(reward) == 4:
        r = array_of_floats(4, error=InvalidReward)(name, reward)
        shape = (*game.shape, game.n_states)
        if r.shape != shape:
            raise InvalidReward(name, f"has shape {r.shape}", f"{shape}", r.shape)
    else:
        r = check_reward(game, reward, name)
    low, high = float(r.min()), float(r.max())
    unit = high / 2 - low / 2
    if not unit:
        return 1.0, np.zeros_like(r)
    return unit, (r - (high / 2 + low / 2)) / unit


def _spread_out(game: TwoAgentMDP, r: Array) -> Array:
    """Return a reward as an array (S, A·B, S)."""
    n, k = game.n_states, game.n_choices
    if n * n * k > MOST_TRANSITIONS:
        said = f"has {n * n * k} transitions to weigh"
        raise InvalidArgument("game", said, f"at most {MOST_TRANSITIONS}; STARC needs none", n)
    parts = r.reshape(n, 1, 1) if r.ndim == 1 else r.reshape(n, k, -1)
    return np.broadcast_to(parts, (n, k, n))


def _transitions(game: TwoAgentMDP) -> Array:
    """Return the kernel as a dense array (S, A·B, S)."""
    return game.kernel.reshape(game.n_states, game.n_choices, game.n_states)


def _epic(game: TwoAgentMDP, r: Array) -> Array:
    whole = _spread_out(game, r)
    mean = whole.mean(axis=(1, 2))
    gamma = game.discount
    return np.asarray(whole - mean[:, None, None] + gamma * (mean - mean.mean()))


def _dard(game: TwoAgentMDP, r: Array) -> Array:
    whole, kernel, gamma = _spread_out(game, r), _transitions(game), game.discount
    mean = np.einsum("skt,skt->s", whole, kernel) / game.n_choices
    # R(S', A, S'') with S' from s and S'' from s', both under A.
    by_choice = kernel.transpose(1, 0, 2)
    met = by_choice @ whole.transpose(1, 0, 2) @ by_choice.transpose(0, 2, 1)
    return np.asarray(whole - mean[:, None, None] + gamma * (mean - met.mean(axis=0))[:, None, :])


def _levelled(
    game: TwoAgentMDP, r: Array, policy: ArrayLike | tuple[ArrayLike, ArrayLike] | None
) -> Array:
    """Return a reward less the values of a policy, (S, A, B); zero where rounding made it."""
    if r.ndim == 4:
        r = np.einsum("skt,skt->sk", _spread_out(game, r), _transitions(game)).reshape(game.shape)
    if policy is None:
        policy = np.full(game.shape, 1 / game.n_choices)
    values = evaluate(game, r, policy)
    ahead = game.discount * (game.matrix @ values).reshape(game.shape)
    mine = r[:, None, None] if r.ndim == 1 else r
    form = np.asarray(mine - values[:, None, None] + ahead)
    off = float(error_bound(game, r, policy, values).max())
    return form if np.abs(form).max() > 2 * off + ROUNDING * _most(values) else 0 * form


def _most(values: Array) -> float:
    return 1.0 + float(np.abs(values).max())


def _coverage(game: TwoAgentMDP, coverage: ArrayLike) -> Array:
    """Return weights of transitions, (S, A·B, S)."""
    weights, shape = array_of_floats(4)("coverage", coverage), (*game.shape, game.n_states)
    if weights.shape != shape or weights.min() < 0 or not weights.max() > 0:
        said = f"has shape {weights.shape}"
        if weights.shape == shape:
            said = "has a negative weight" if weights.min() < 0 else "is zero"
        raise InvalidArgument("coverage", said, f"weights ≥ 0 of shape {shape}", coverage)
    return np.asarray(weights).reshape(game.n_states, game.n_choices, game.n_states)


def _pearson(first: Array, second: Array, weights: Array | None) -> float:
    """Return ``√((1 − ρ)/2)``, by the chord of two unit vectors, which keeps small angles."""
    shares = None if weights is None else np.sqrt(weights / weights.max())
    units = []
    for form in (first, second):
        mean = form.mean() if shares is None else np.average(form, weights=shares**2)
        centred = (form - mean) if shares is None else (form - mean) * shares
        none = float(np.abs(centred).max()) <= 8 * ROUNDING
        units.append(None if none else centred / np.linalg.norm(centred))
    x, y = units
    if x is None or y is None:
        return 0.0 if x is y else math.sqrt(0.5)
    return min(1.0, float(np.linalg.norm(x - y)) / 2)
