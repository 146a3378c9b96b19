"""Proofs about occupancy programs: optimality and infeasibility.

Occupancy programs over the measures ``μ ≥ 0`` of a game with side constraints,

    maximise  r·μ   subject to   (E − γP)ᵀ μ = start,   G μ ≤ h,   K μ = k,

have two kinds of proof. `Optimality` bounds by weak duality what any measure earns: with values V,
prices λ ≥ 0, κ and ``δ = r − (E − γP) V − Gᵀ λ − Kᵀ κ`` it is at most
``start·V + h·λ + k·κ + max δ/(1−γ)``; and it bounds from below what one stated policy earns.
`Infeasibility` proves by Farkas' lemma that no measure meets the constraints: with
``c = (E − γP) V + Gᵀ λ + Kᵀ κ`` one would need ``start·V + h·λ + k·κ ≥ min c/(1−γ)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from iirl_opt.certificate.check import Conditions, magnitude
from iirl_opt.certificate.form import down, up
from iirl_opt.certificate.instance import SparseRows, clamped
from iirl_opt.certificate.record import Certificate

__all__ = ["Infeasibility", "Optimality"]

# Objects that are Fractions.
Vector = NDArray[Any]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class _Constrained(Certificate):
    """Side constraints ``rows μ ≤ bounds`` and ``equal μ = right`` over S·A·B choices."""

    forms: ClassVar[Mapping[str, str]] = {
        "rows": "rows",
        "bounds": "array",
        "equal": "rows",
        "right": "array",
        "values": "array",
        "prices": "array",
        "equal_prices": "array",
    }

    rows: SparseRows
    bounds: Vector
    equal: SparseRows
    right: Vector
    values: Vector
    prices: Vector
    equal_prices: Vector

    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        n = np.prod(self.instance.shape, dtype=int).item()
        m, k = len(self.rows), len(self.equal)
        return {
            "rows": (m, n),
            "bounds": (m,),
            "equal": (k, n),
            "right": (k,),
            "values": self.instance.shape[:1],
            "prices": (m,),
            "equal_prices": (k,),
        }

    def _paying(self) -> Vector:
        """Return λ, with zero for what is negative."""
        return clamped(self.prices)

    def combined(self) -> Vector:
        """Return ``(E − γP) V + Gᵀ λ + Kᵀ κ`` for every choice."""
        side = self.rows.transposed(self._paying()) + self.equal.transposed(self.equal_prices)
        return np.asarray(self.instance.leave(self.values) + side)

    def paid(self) -> Fraction:
        """Return ``start·V + h·λ + k·κ``."""
        pairs = (
            (self.instance.start, self.values),
            (self.bounds, self._paying()),
            (self.right, self.equal_prices),
        )
        return sum((x for a, b in pairs for x in (a * b).tolist()), Fraction(0))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Optimality(_Constrained):
    """No joint policy within the side constraints earns more than a bound; one earns nearly that.

    Attributes
    ----------
    reward : (S,) or (S, A, B).
    policy : the joint policy, weights (S, A, B).
    mass : near its discounted visits, (S,).
    values, prices, equal_prices : V (S,), λ, κ.
    lower, upper : at least what the policy earns, at most what any earns.
    excess : by how much the policy breaks a side constraint at most.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount="1/2", start=[1, 0])
    >>> proof = iirl.certify(iirl.OccupancyMeasure(game).maximise([0, 1]))
    >>> print(proof.claim)
    no joint policy earns more than 1; the stated one earns at least 1
    """

    kind: ClassVar[str] = "optimality"
    theorem: ClassVar[str] = "weak duality of the occupancy program (Puterman 1994, section 6.9)"
    forms: ClassVar[Mapping[str, str]] = {
        **_Constrained.forms,
        "reward": "array",
        "policy": "weights",
        "mass": "array",
        "lower": "number",
        "upper": "number",
        "excess": "number",
    }

    reward: Vector
    policy: Vector
    mass: Vector
    lower: Fraction
    upper: Fraction
    excess: Fraction

    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        shape = self.instance.shape
        reward = shape if self.reward.ndim == 3 else shape[:1]
        return {**super()._shapes(), "reward": reward, "policy": shape, "mass": shape[:1]}

    def _flat(self, name: str, value: Vector) -> Vector:
        return value.reshape(len(value), -1)

    def _words(self) -> str:
        side = " within the side constraints" if len(self.rows) + len(self.equal) else ""
        broken = f", and breaks a constraint by at most {up(self.excess)}" if self.excess else ""
        return (
            f"no joint policy{side} earns more than {up(self.upper)}; the stated one earns at "
            f"least {down(self.lower)}{broken}"
        )

    def proved(self) -> tuple[Fraction, Fraction, Fraction]:
        """Return the best `lower`, `upper` and `excess` that the other numbers prove."""
        gamma = self.instance.discount
        reward = self.instance.over_choices(self.reward)
        upper = self.paid() + max((reward - self.combined()).tolist()) / (1 - gamma)
        shares = self.shares("policy").reshape(len(self.mass), -1)
        measure = (self.mass[:, None] * shares).ravel()
        missed = self.instance.start - self.instance.flow(measure)
        off = sum(map(abs, missed.tolist()), Fraction(0)) / (1 - gamma)
        earned = sum((reward * measure).tolist(), Fraction(0))
        excess = Fraction(0)
        for side, right in ((self.rows, self.bounds), (self.equal, self.right)):
            over = side.times(measure) - right
            if side is self.equal:
                over = np.abs(over)
            for row, x in zip(side, over.tolist(), strict=True):
                excess = max(excess, x + _mean_size(row, shares) * off)
        return earned - _mean_size(reward, shares) * off, upper, excess

    def _conditions(self) -> Conditions:
        lower, upper, excess = self.proved()
        residuals = {
            "no choice is worth more": upper - self.upper,
            "the policy earns it": self.lower - lower,
            "the constraints are met": excess - self.excess,
        }
        return Conditions(residuals, {})


def _mean_size(row: Vector, shares: Vector) -> Fraction:
    """Return the largest absolute mean of a row over the choices that a policy makes in a state."""
    return magnitude((row.reshape(shares.shape) * shares).sum(axis=1))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Infeasibility(_Constrained):
    """No measure meets the side constraints.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount="1/2", start=[1, 0])
    >>> measure = iirl.OccupancyMeasure(game)
    >>> stays_away = [iirl.budget(measure.expected([1, 0]), 0.5, name="first")]
    >>> try:  # but it starts in the first state
    ...     measure.maximise([0, 1], subject_to=stays_away)
    ... except iirl.errors.Infeasible as found:
    ...     proof = iirl.certify(found)
    >>> proof.claim, bool(proof.check())
    ('no joint policy meets the side constraints', True)
    """

    kind: ClassVar[str] = "infeasibility"
    theorem: ClassVar[str] = "Farkas' lemma on the occupancy program"

    def _words(self) -> str:
        return "no joint policy meets the side constraints"

    def _conditions(self) -> Conditions:
        least = min(self.combined().tolist()) / (1 - self.instance.discount)
        return Conditions({}, {"the combination asks for more than is there": least - self.paid()})
