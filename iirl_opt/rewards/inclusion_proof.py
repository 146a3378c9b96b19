"""Makers of inclusions: multipliers that combine the feasibility conditions to half-spaces.

With the values eliminated every gap is a row over the reward (Corollary 1). A half-space is solved
for in the rows that a solver's multipliers use, or in all: by non-negative least squares in
floating point, then exactly where the system allows it, else refined with exact residuals until
what is left no longer matters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls

from iirl_opt.certificate.check import magnitude
from iirl_opt.certificate.episodes import ExactEpisode, explicit_rows
from iirl_opt.certificate.form import above
from iirl_opt.certificate.given import stacked
from iirl_opt.certificate.halfspaces import cone_pairs
from iirl_opt.certificate.inclusion import ClassInclusion, Inclusion, tangent
from iirl_opt.certificate.instance import Instance, SparseRows, clamped, span
from iirl_opt.checks import array_of_floats, checked, each, kept, unmasked
from iirl_opt.errors import InvalidArgument, InvalidReward, NotExact
from iirl_opt.exact.linear import solve_near
from iirl_opt.exact.numbers import as_fraction, as_fractions, as_reals
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.observation import WHOLE_RESPONSE, Observation

__all__ = ["class_inclusion", "inclusion", "least_tangent"]

# Objects that are Fractions.
Vector = NDArray[Any]

# Multipliers below this share of the largest are rounding.
ROUNDING = 1e-9
# A half-space, or a class, that is left by more than this is not proved.
ROUGH = Fraction(1, 10**5)


def HALFSPACES(name: str, value: Any) -> Any:
    """Return half-spaces as they are given, sparse rows or an array of finite numbers."""
    return value if isinstance(value, SparseRows) else kept(array_of_floats(1, 2))(name, value)


@checked(
    game=GAME,
    observations=each(WHOLE_RESPONSE),
    halfspaces=HALFSPACES,
    multipliers=each(kept(array_of_floats())),
)
def inclusion(
    game: TwoAgentMDP,
    observations: Sequence[Observation],
    halfspaces: SparseRows | ArrayLike | None = None,
    multipliers: Iterable[ArrayLike] | None = None,
    *,
    reward: ArrayLike | None = None,
    tan: Any = None,
) -> Inclusion | ClassInclusion:
    """Return the proof that every reward that explains the observations lies in half-spaces.

    Parameters
    ----------
    halfspaces : rows h over state rewards (k, S) or joint ones (k, S·A·B), each of sum zero; what
        rounding makes of zero is taken off. Without them those of a class are proved.
    multipliers : for each half-space an array (T, S, B) of multipliers on the gaps, from the duals
        of a linear program; by default they are found by least squares over all gaps, which is for
        small games.
    reward, tan : the class in place of half-spaces: see `class_inclusion`.

    Raises
    ------
    InvalidArgument
        A half-space is not proved, beyond rounding: names it. Or there are half-spaces and a
        reward, or neither.

    **Cost** arithmetic: least squares and a rational system for each half-space over the gaps that
    its multipliers use, and a linear system with S unknowns for each such gap.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> seen = iirl.observe(game, [[1], [1]], [[0, 1], [1, 0]])
    >>> proof = inclusion(game, [seen], [[-1, 1]])  # state 1 pays as much, or more
    >>> proof.slack, bool(proof.check())
    (Fraction(0, 1), True)
    """
    if (halfspaces is None) == (reward is None):
        raise InvalidArgument(
            "halfspaces", "and a reward are both given, or neither", "one of them", None
        )
    if tan is not None and reward is None:
        raise InvalidArgument("tan", f"is {tan} without a reward", "None beside half-spaces", tan)
    if reward is not None:
        return class_inclusion(game, reward, observations, tan=tan, multipliers=multipliers)
    instance = Instance.of(game)
    n_states, n_a, n_b = instance.shape
    if not isinstance(halfspaces, SparseRows):
        dense = np.atleast_2d(np.asarray(halfspaces))
        halfspaces = SparseRows.of(dense, dense.shape[1])
    widths = (n_states, n_states * n_a * n_b)
    if halfspaces.width not in widths:
        width = halfspaces.width
        raise InvalidArgument("halfspaces", f"have width {width}", f"one of {widths}", width)
    rows = SparseRows.of(map(_balanced, halfspaces.exact()), halfspaces.width)
    proof = _multipliers(instance, observations, rows, multipliers)
    found = Inclusion(instance=instance, halfspaces=rows, slack=Fraction(0), **proof)
    slack = found.proved()
    if slack > ROUGH:
        unproved = f"are not proved (left by {as_reals(slack).item():.3g} of a span)"
        raise InvalidArgument("halfspaces", unproved, "what the observations imply", None)
    return replace(found, slack=slack, claim="")


def _balanced(h: Vector) -> Vector:
    """Return a half-space with sum zero."""
    total = sum(h.tolist(), Fraction(0))
    if abs(total) > Fraction(ROUNDING) * magnitude(h):
        problem = f"sum to {as_reals(total).item():.3g}"
        raise InvalidArgument("halfspaces", problem, "zero: constants explain everything", h)
    return np.asarray(h - total / len(h)) if total else h


@checked(
    game=GAME,
    observations=each(WHOLE_RESPONSE),
    reward=unmasked(InvalidReward),
    multipliers=each(kept(array_of_floats())),
)
def class_inclusion(
    game: TwoAgentMDP,
    reward: ArrayLike,
    observations: Sequence[Observation],
    *,
    tan: Any = None,
    multipliers: Iterable[ArrayLike] | None = None,
) -> ClassInclusion:
    """Return the proof that every explaining state reward is in the class of one, or near it.

    Parameters
    ----------
    reward : the hypothesis, (S,).
    tan : of the angle of the cone around it; by default the set is Aff(r). What the multipliers
        miss is added to the claim.
    multipliers : as of `inclusion`, for the half-spaces of `class_halfspaces` or
        `cone_halfspaces`.

    Raises
    ------
    InvalidArgument
        It is not proved, beyond rounding.
    InvalidReward
        The reward is constant, and a tangent is given.

    **Cost** as `inclusion`.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> seen = iirl.observe(game, [[1], [1]], [[0, 1], [1, 0]])
    >>> bool(class_inclusion(game, [0, 1], [seen]).check())
    True
    """
    instance = Instance.of(game)
    given = np.asarray(reward)
    if given.shape != (game.n_states,):
        raise InvalidReward("reward", f"has shape {given.shape}", f"({game.n_states},)", reward)
    inner = None
    if tan is not None:
        cone_pairs(given, tan)
        inner = as_fraction(tan)
    blank: dict[str, Any] = {name: SparseRows.of([], 0) for name in ("on_gaps", "on_values")}
    pi1, pi2 = stacked(instance, observations)
    empty = ClassInclusion(
        instance=instance, pi1=pi1, pi2=pi2, reward=given, inner=inner, tan=Fraction(0), **blank
    )
    found, etas = _proved(empty, observations, multipliers)
    least = least_tangent(found.reward, inner, etas)
    if least is None and inner is not None:
        # A cone so narrow that what is missed turns it round: the claim will be wider anyway.
        found, etas = _proved(replace(empty, inner=_wider(found, etas), claim=""), observations)
        least = least_tangent(found.reward, found.inner, etas)
    if least is None or least - (inner or 0) > ROUGH:
        missed = as_reals(max(etas)).item()
        problem = f"is not all that explains the observations (missed by {missed:.3g} of a span)"
        raise InvalidArgument("the class of the reward", problem, "what they imply", None)
    return replace(found, tan=least, claim="")


def _proved(
    blank: ClassInclusion,
    observations: Sequence[Observation],
    multipliers: Iterable[ArrayLike] | None = None,
) -> tuple[ClassInclusion, list[Fraction]]:
    """Return a certificate with its multipliers, and by how much they miss each half-space."""
    rows = blank.halfspaces()
    proof = _multipliers(blank.instance, observations, rows, multipliers)
    found = replace(blank, **proof, claim="")
    return found, found.missed()


def _wider(found: ClassInclusion, etas: list[Fraction]) -> Fraction:
    """Return a tangent some times what the half-spaces of a cone are missed by."""
    assert found.inner is not None
    pairs = cone_pairs(found.reward, found.inner)
    shares = (
        max(a, b) ** 2 / (phi @ phi)
        for (phi, _), a, b in zip(pairs, etas[::2], etas[1::2], strict=True)
    )
    return max(found.inner, 4 * above(len(pairs) * max(shares, default=Fraction(0))))


def least_tangent(reward: Vector, inner: Fraction | None, etas: list[Fraction]) -> Fraction | None:
    """Return a tangent that slack η of the half-spaces proves, near the least; None if none."""
    if (reward == reward[0]).all():
        return Fraction(0) if tangent(reward, inner, etas, Fraction(0)) else None
    if inner is None or len(reward) == 2:
        total = sum(etas[:-1], Fraction(0))
        across = 2 * (len(reward) - 2) * total**2 / span(reward) ** 2
        least = above(across / (1 - across)) if across < 1 else Fraction(0)
        least = max(least, inner or Fraction(0))
        return least if tangent(reward, inner, etas, least) else None
    pairs = zip(cone_pairs(reward, inner), etas[::2], etas[1::2], strict=True)
    across = sum((2 * max(a, b) ** 2 / (phi @ phi) for (phi, _), a, b in pairs), Fraction(0))
    least = inner
    for _ in range(100):
        if tangent(reward, inner, etas, least):
            return least
        least = (inner + above(across * (1 + least**2))) * (1 + Fraction(1, 2**40))
        if least > inner + 1:
            return None
    return None


def _multipliers(
    instance: Instance,
    observations: Sequence[Observation],
    halfspaces: SparseRows,
    multipliers: Iterable[ArrayLike] | None,
) -> dict[str, Any]:
    """Return the policies and the multipliers of half-spaces as fields of a certificate."""
    n_states, _, n_b = instance.shape
    pi1, pi2 = stacked(instance, observations)
    shape = (len(observations), n_states, n_b)
    given: list[Vector] | None = None
    if multipliers is not None:
        given = [np.asarray(y) for y in multipliers]
        if len(given) != len(halfspaces) or any(y.shape != shape for y in given):
            sizes = sorted({y.shape for y in given})
            allowed = f"{len(halfspaces)} arrays of shape {shape}"
            raise InvalidArgument("multipliers", f"are {len(given)} of {sizes}", allowed, sizes)
    episodes = [ExactEpisode(instance, a, b) for a, b in zip(pi1, pi2, strict=True)]
    search = _MultiplierSearch(episodes, halfspaces.width, n_states)
    both = [search.find(h, None if given is None else given[i]) for i, h in enumerate(halfspaces)]
    size = len(observations) * n_states
    return {
        "pi1": pi1,
        "pi2": pi2,
        "on_gaps": SparseRows.of((y for y, _ in both), size * n_b),
        "on_values": SparseRows.of((z for _, z in both), size),
    }


class _MultiplierSearch:
    """Looks for the multipliers of one half-space after another, and keeps the explicit rows."""

    def __init__(self, episodes: Sequence[ExactEpisode], width: int, n_states: int) -> None:
        self.episodes = episodes
        self.joint = width != n_states
        self.widths = (width, n_states)
        self.known: dict[int, tuple[Vector, Vector]] = {}

    def find(self, h: Vector, given: Vector | None) -> tuple[Vector, Vector]:
        """Return y over the T·S·B gaps and z over the T·S values, as near as they are found."""
        played = np.array([episode.played for episode in self.episodes], dtype=bool).ravel()
        near = np.ones(played.size) if given is None else as_reals(given).ravel()
        used = np.flatnonzero(np.abs(near) > ROUNDING * np.abs(near).max(initial=0.0))
        rows = self._rows(used)[0]
        used = used[(rows != 0).any(axis=1)]
        rows = self._rows(used)[0]
        free = played[used]
        if given is not None and given.dtype == object:
            guess = as_fractions(given).ravel()[used]
        else:
            scale = magnitude(h) / (magnitude(rows) or 1)
            guess = scale * as_fractions(_nonnegative(_floats(rows), _floats(h), free))
        for thin in (True, False):
            kept = guess != 0 if thin else np.ones(len(used), dtype=bool)
            with suppress(NotExact):
                found = solve_near(rows[kept].T, h, guess[kept])
                if found is not None and not (found[~free[kept]] < 0).any():
                    return self._spread(used[kept], found)
        kept = guess != 0
        return self._spread(used[kept], _refined(rows[kept], h, guess[kept], free[kept]))

    def _rows(self, used: NDArray[np.int64]) -> tuple[Vector, Vector]:
        """Return the explicit rows of gaps, and what eliminates the values."""
        each = self.episodes[0].pi2.size if self.episodes else 1
        new = np.array([i for i in used if int(i) not in self.known], dtype=np.int64)
        for t, episode in enumerate(self.episodes):
            own = new[new // each == t]
            if own.size:
                pairs = zip(*explicit_rows(episode, own - t * each, joint=self.joint), strict=True)
                self.known |= dict(zip(own.tolist(), pairs, strict=True))
        rows, through = (
            np.array([self.known[int(i)][part] for i in used], dtype=object).reshape(-1, width)
            for part, width in enumerate(self.widths)
        )
        return rows, through

    def _spread(self, used: NDArray[np.int64], y: Vector) -> tuple[Vector, Vector]:
        """Return multipliers on some gaps as vectors over all gaps and over all values."""
        sizes = [episode.pi2.shape for episode in self.episodes]
        n_states, n_b = sizes[0] if sizes else (0, 1)
        on_gaps = np.full(len(sizes) * n_states * n_b, Fraction(0), dtype=object)
        on_values = np.full((len(sizes), n_states), Fraction(0), dtype=object)
        on_gaps[used] = y
        for i, weight, through in zip(used, y, self._rows(used)[1], strict=True):
            on_values[i // (n_states * n_b)] += weight * through
        return on_gaps, on_values.ravel()


def _floats(numbers: Vector) -> Vector:
    """Return an array as floats whose largest entry is about one."""
    size = magnitude(numbers) or Fraction(1)
    return as_reals(numbers / size)


def _nonnegative(rows: Vector, h: Vector, free: NDArray[np.bool_]) -> Vector:
    """Return multipliers of independent rows that come nearest to h; `free` ones have any sign."""
    if not len(rows):
        return np.zeros(0)
    scale = np.abs(rows).max(axis=1)
    scale[scale == 0] = 1.0
    both = np.concatenate([rows, -rows[free]]) / np.concatenate([scale, scale[free]])[:, None]
    try:
        found, _ = nnls(both.T, h)
    except RuntimeError:  # it did not converge
        found = np.zeros(len(both))
    found[found < ROUNDING * found.max(initial=0.0)] = 0.0
    found[np.flatnonzero(free)] -= found[len(rows) :]
    return np.asarray(found[: len(rows)] / scale)


def _refined(rows: Vector, h: Vector, guess: Vector, free: NDArray[np.bool_]) -> Vector:
    """Return multipliers of rows near a guess that come nearer to h, by exact residuals."""
    y = guess
    if not len(rows):
        return y
    unit = magnitude(rows) or Fraction(1)
    inverse = np.linalg.pinv(as_reals(rows / unit))
    left = h - y @ rows
    for _ in range(6):
        size = magnitude(left)
        if not size:
            break
        step = as_fractions(as_reals(left / size) @ inverse) * size / unit
        after = np.where(free, y + step, clamped(y + step))
        missed = h - after @ rows
        if magnitude(missed) >= size:
            break
        y, left = after, missed
    return y
