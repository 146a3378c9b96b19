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
Where little is left of a reward beside its shaping, exact arithmetic goes on, and a distance is
never off by more than some 1e-6: it is that of the numbers as given. What is shaping but for less
than their rounding has no direction that could be told, and is refused with `NotExact`; in integers
or Fractions it is decided (`iirl_opt.rewards.canonical`).

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
from iirl_opt.exact.numbers import as_reals
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.printing.table import FactTable
from iirl_opt.rewards.affine import affine_distance
from iirl_opt.rewards.canonical import CLOSE, By, direction, form_of, refuse_many, scaled

__all__ = [
    "canonical_reward",
    "dard_distance",
    "epic_distance",
    "reward_distances",
    "starc_distance",
]

Array = NDArray[np.float64]


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
    NotExact
        Floats lose the form of STARC, and the game is too large for exact numbers.

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
    r = scaled(game, reward, "reward")
    form, slip = form_of(game, r, by, policy)
    if slip > CLOSE:
        form = as_reals(form_of(game, r, by, policy, exactly=True)[0])
    with np.errstate(over="ignore"):
        found = r.unit * form / r.power
    if not np.isfinite(found).all():
        said = f"has a half range of {r.unit:g}, whose {by} form overflows"
        raise InvalidReward("reward", said, "a smaller unit", r.unit)
    return np.asarray(found.reshape(game.shape if by == "STARC" else (*game.shape, game.n_states)))


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
    NotExact
        A reward is shaping but for rounding.

    **Source** Gleave et al. (2021), section 4. **Cost** arithmetic on S²·A·B numbers.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, r = iirl.random_game(3, 2, 2, rng=0)
    >>> epic_distance(game, r, 3 * r + 1) < 1e-12, epic_distance(game, r, -r) > 1 - 1e-12
    (True, True)
    """
    weights = None if coverage is None else _coverage(game, coverage)
    return _distance(game, first, second, "EPIC", coverage=weights)


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
    NotExact
        A reward is shaping but for rounding.

    **Source** Wulfe et al. (2022), definition 5. **Cost** arithmetic: A·B products of matrices with
    S rows.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, r = iirl.random_game(3, 2, 2, rng=0)
    >>> dard_distance(game, r, 3 * r + 1) < 1e-12, dard_distance(game, r, -r) > 1 - 1e-12
    (True, True)
    """
    refuse_many(game)
    weights = _coverage(game, game.kernel if coverage is None else coverage)
    return _distance(game, first, second, "DARD", coverage=weights)


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
    NotExact
        A reward is shaping but for rounding.

    **Source** Skalse et al. (2024), definitions 1 to 4. **Cost** arithmetic: two linear systems
    with S unknowns.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, r = iirl.random_game(3, 2, 2, rng=0)
    >>> starc_distance(game, r, 3 * r + 1) < 1e-12, starc_distance(game, r, -r) > 1 - 1e-12
    (True, True)
    """
    return _distance(game, first, second, "STARC", policy=policy)


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
    NotExact
        A reward is shaping but for rounding.

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


def _distance(
    game: TwoAgentMDP, first: ArrayLike, second: ArrayLike, by: By, **options: Any
) -> float:
    """Return half the distance of two directions: ``sin(angle/2)``, which keeps small angles."""
    both = [scaled(game, r, name) for r, name in ((first, "first"), (second, "second"))]
    x, y = (direction(game, r, by, **options) for r in both)
    if x is None or y is None:
        return 0.0 if x is y else 0.5 if by == "STARC" else math.sqrt(0.5)
    return min(1.0, float(np.linalg.norm(x - y)) / 2)


def _coverage(game: TwoAgentMDP, coverage: ArrayLike) -> Array:
    """Return weights of transitions, (S, A·B, S)."""
    weights, shape = array_of_floats(4)("coverage", coverage), (*game.shape, game.n_states)
    if weights.shape != shape or weights.min() < 0 or not weights.max() > 0:
        said = f"has shape {weights.shape}"
        if weights.shape == shape:
            said = "has a negative weight" if weights.min() < 0 else "is zero"
        raise InvalidArgument("coverage", said, f"weights ≥ 0 of shape {shape}", coverage)
    return np.asarray(weights).reshape(game.n_states, game.n_choices, game.n_states)
