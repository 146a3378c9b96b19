"""Proofs of what the strict test shows: the angle between a reward and a hypothesis.

Let the response to a commitment lead on alike from every state, so that all rows of its chain P are
equal. For gaps of it with the rows ``ψ = P(s) − P_b(s)``, which sum to zero, ``ψ (I − γP)⁻¹ = ψ``;
so where the response is optimal for a state reward r, ``ψ·r ≥ 0``, whatever the tie rule.

With S−1 such rows r, centred, lies in the simplicial cone ``{x ⟂ 1 : ψ_i·x ≥ 0}``. Its extreme
rays are the x_j with ``ψ_i·x_j = 0`` for i ≠ j, and a cone whose extreme rays are within an angle
θ < 90° of w lies within θ of it. The angles are compared as ``tan² = |x⊥|²|w|² / (w·x)²``. Rays
that are only nearly those, ``ψ_i·x_j = [i = j] + E_ij``, are off by at most ``ε/(1−ε) max|x|`` with
ε the largest sum of |E| over a column.

The certificate holds the commitment and the answer, and takes the rows from the game inside it.

**Source** the repaired Theorem 2: the robust test with regular-simplex rows has tan θ = (S−2)ε.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from iirl_opt.certificate.check import Conditions
from iirl_opt.certificate.episodes import ExactEpisode
from iirl_opt.certificate.form import above, up
from iirl_opt.certificate.halfspaces import centred
from iirl_opt.certificate.record import Certificate
from iirl_opt.exact.numbers import common

__all__ = ["AngleBound", "differing_rows", "whole_numbers"]

# Objects that are Fractions.
Vector = NDArray[Any]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class AngleBound(Certificate):
    """The response proves that a state reward is within an angle of a hypothesis, or constant.

    Attributes
    ----------
    pi1, pi2 : weights, the commitment (S, A) and the response to it (S, B).
    reward : the hypothesis, (S,).
    states, actions : positions of the S−1 gaps that are used.
    rays : near the extreme rays, (S−1, S).
    tan_squared : at least tan² of the angle.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> test = iirl.strict_environment([0, 1, 3], "1/2", epsilon="1/100", rational=True)
    >>> answer = iirl.OptimalFollower().respond(test.game, [0, 1, 3], np.ones((3, 1)))
    >>> proof = iirl.certify(iirl.verify_affine([0, 1, 3], test, answer))
    >>> proof.kind, float(proof.tan_squared) < 1e-3, bool(proof.check())
    ('angle bound', True, True)
    """

    kind: ClassVar[str] = "angle bound"
    theorem: ClassVar[str] = "extreme rays of the simplicial cone of the strict test"
    weaker_answer: ClassVar[bool] = True
    forms: ClassVar[Mapping[str, str]] = {
        "pi1": "weights",
        "pi2": "weights",
        "reward": "array",
        "states": "positions",
        "actions": "positions",
        "rays": "array",
        "tan_squared": "number",
    }

    pi1: Vector
    pi2: Vector
    reward: Vector
    states: tuple[int, ...]
    actions: tuple[int, ...]
    rays: Vector
    tan_squared: Fraction

    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        n_states, n_a, n_b = self.instance.shape
        return {
            "pi1": (n_states, n_a),
            "pi2": (n_states, n_b),
            "reward": (n_states,),
            "states": (n_states - 1, n_states),
            "actions": (n_states - 1, n_b),
            "rays": (n_states - 1, n_states),
        }

    def _words(self) -> str:
        return (
            "the stated response is optimal only for state rewards that are constant, or whose "
            f"angle to the stated one, both centred, has tan² <= {up(self.tan_squared)}"
        )

    def _episode(self) -> ExactEpisode:
        return ExactEpisode(self.instance, self.shares("pi1"), self.shares("pi2"))

    def proved(self) -> tuple[Fraction, Fraction, Fraction]:
        """Return the least `tan_squared` that the rays prove, and two numbers that must be > 0.

        The first of these is one less what the rays are off by, the second the least component of a
        ray along the hypothesis, up to scale.
        """
        if not len(self.rays):
            return Fraction(0), Fraction(1), Fraction(1)
        off = _column_error(differing_rows(self._episode(), self.states, self.actions), self.rays)
        if off >= 1:
            return Fraction(0), 1 - off, Fraction(0)
        ahead, largest = _tangents(self.rays, centred(self.reward), off)
        return largest, 1 - off, ahead

    def _conditions(self) -> Conditions:
        totals = [abs(sum(x.tolist(), Fraction(0))) for x in self.rays]
        largest, near, ahead = self.proved()
        residuals = {
            "the response leads on alike from every state": 0
            if _alike(self._episode())
            else np.inf,
            "the rays sum to zero": max(totals, default=Fraction(0)),
            "no ray is farther": largest - self.tan_squared,
            "the bound is not negative": -self.tan_squared,
        }
        margins = {
            "the discount is positive": self.instance.discount,
            "the rays are nearly those of the rows": near,
            "every ray is on the side of the hypothesis": ahead,
        }
        return Conditions(residuals, margins)


def _alike(episode: ExactEpisode) -> bool:
    rows = [episode.chain.row(s) for s in range(len(episode.pi2))]
    return all({j: p for j, p in row.items() if p} == rows[0] for row in rows)


def differing_rows(
    episode: ExactEpisode, states: tuple[int, ...], actions: tuple[int, ...]
) -> Vector:
    """Return ψ, (S−1, S)."""
    n_states, n_b = episode.pi2.shape
    out = np.full((len(states), n_states), Fraction(0), dtype=object)
    for i, (s, b) in enumerate(zip(states, actions, strict=True)):
        for j, p in episode.chain.row(s).items():
            out[i, j] += p
        for j, p in episode.follower.row(s * n_b + b).items():
            out[i, j] -= p
    return out


def _column_error(rows: Vector, rays: Vector) -> Fraction:
    """Return the largest sum over i of ``|ψ_i·x_j − [i = j]|``."""
    left = [whole_numbers(row) for row in rows]
    worst = Fraction(0)
    for j, ray in enumerate(rays):
        numbers, below = whole_numbers(ray)
        total = Fraction(0)
        for i, (row, under) in enumerate(left):
            product = sum(map(mul, row, numbers))
            if i == j or product:
                total += abs(Fraction(product, below * under) - (i == j))
        worst = max(worst, total)
    return worst


def whole_numbers(vector: Vector) -> tuple[list[int], int]:
    """Return a vector as integers over one denominator."""
    numbers, below = common(vector)
    return numbers.tolist(), below


def _tangents(rays: Vector, w: Vector, off: Fraction) -> tuple[Fraction, Fraction]:
    """Return the least component of a ray along w, up to scale, and the largest tan².

    Rays are taken to be off by what `off` allows. The tan² is of no use unless the first is > 0.
    """
    square: Any = w @ w
    squares: list[Any] = [x @ x for x in rays]
    slip = off / (1 - off) * above(max(squares)) if off else Fraction(0)
    length = above(square) if off else Fraction(1)
    ahead, tans = [], [Fraction(0)]
    for x, own in zip(rays, squares, strict=True):
        along = w @ x
        ahead.append(along / length - slip if along > 0 else Fraction(0))
        if ahead[-1] <= 0:
            continue
        if off:
            tans.append(((above(own - along**2 / square) + slip) / ahead[-1]) ** 2)
        else:
            tans.append(own * square / along**2 - 1)
    return min(ahead), max(tans)
