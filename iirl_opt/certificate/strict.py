"""Proofs of what the strict test shows: the angle between a reward and a direction.

In the strict environment of a direction w with rows ``ψ_1 … ψ_{S−1}`` the follower's first action
leads everywhere alike, ``P_{b1} = 1/S``, and the second to ``1/S − c_s ψ_s`` in state s, with
``c_s > 0`` and ``ψ_s`` summing to zero; the last state is spare. Then
``(P_{b1} − P_{b2}) (I − γ P_{b1})^{-1} = P_{b1} − P_{b2}``, so the response b1 everywhere, which is
optimal for a reward r, shows ``ψ_s·r ≥ 0`` for every s, whatever the tie rule.

So r, centred, lies in the simplicial cone ``{x ⟂ 1 : ψ_s·x ≥ 0}``. Its S−1 extreme rays are the x_j
with ``ψ_i·x_j = 0`` for i ≠ j, and a cone whose extreme rays are within an angle θ < 90° of w lies
within θ of it. The angles are compared as ``tan² = |x⊥|²|w|² / (w·x)²``, a rational number.

**Source** the repaired Theorem 2: the robust test with regular-simplex rows has tan θ = (S−2)ε.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.certificate.base import Certificate, Conditions
from iirl_opt.certificate.instance import Instance, Numbers, largest
from iirl_opt.certificate.rewards import best
from iirl_opt.errors import InvalidArgument
from iirl_opt.exact.linear import solve
from iirl_opt.exact.numbers import as_fractions, as_reals
from iirl_opt.game.mdp import MDP, TwoAgentMDP

__all__ = ["AngleBound", "angle_bound"]

Vector = NDArray[Any]


@dataclass(frozen=True, eq=False, kw_only=True)
class AngleBound(Certificate):
    """The first action everywhere proves that a reward is near a direction, or constant.

    Attributes
    ----------
    instance : the environment as a game with one leader action.
    psi : the rows ψ, (S−1, S).
    direction : w, (S,), of sum zero.
    bound : on tan² of the angle between the centred reward and w.
    """

    kind: ClassVar[str] = "angle bound"
    theorem: ClassVar[str] = "extreme rays of the simplicial cone of the strict test"

    psi: Vector
    direction: Vector
    bound: float | Fraction

    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        n_states = self.instance.shape[0]
        return {"psi": (n_states - 1, n_states), "direction": (n_states,), "bound": ()}

    def _misfits(self) -> list[str]:
        _, n_a, n_b = self.instance.shape
        wrong = (
            [] if n_a == 1 and n_b >= 2 else ["an environment has one leader action, two others"]
        )
        return super()._misfits() + wrong

    def _words(self) -> str:
        known = self.instance.follower_actions[0]
        return (
            f"if the response is {known} everywhere, the reward is constant, or its angle to the "
            f"stated direction, both centred, has tan² ≤ {as_reals(self.bound).item():.6g}"
        )

    def _conditions(self, numbers: Numbers) -> Conditions:
        n, n_states, n_b = numbers, numbers.shape[0], numbers.shape[2]
        psi, w, bound = n(self.psi), n(self.direction), n(self.bound)[()]
        kernel = n.rows.dense().reshape(n_states, n_b, n_states)
        even = 1 / n(n_states)[()]
        gaps = kernel[: n_states - 1, 0] - kernel[: n_states - 1, 1]
        at = np.arange(n_states - 1), np.abs(psi).argmax(axis=1)
        size = np.abs(psi[at])
        shares = _ratios(gaps[at], psi[at])
        rays = _rays(psi, n.exact)
        tans, cosines = _angles(rays, w)
        residuals = {
            "the first action leads everywhere alike": largest(np.abs(kernel[:, 0] - even)),
            "the second action leads along the rows": largest(np.abs(gaps - shares[:, None] * psi)),
            "the rows sum to zero": largest(_ratios(np.abs(psi.sum(axis=1)), size)),
            "the direction sums to zero": abs(w.sum()) / (largest(np.abs(w)) or 1),
            # Bounds may be far below any tolerance, so that they are compared by their quotient.
            "no extreme ray is farther": largest(tans / bound - 1 if bound > 0 else tans),
            "the bound is not negative": largest(-bound),
        }
        margins: dict[str, Any] = {"the discount is positive": n.discount}
        if n_states > 1:
            margins["rows are taken in their direction"] = (shares * size).min()
            margins["every extreme ray is on the side of the direction"] = cosines.min()
        return Conditions(residuals, margins)


def _ratios(above: Vector, below: Vector) -> Vector:
    """Return quotients, zero over zero being zero."""
    return np.asarray(above / np.where(below == 0, 1, below))


def _rays(psi: Vector, exact: bool) -> Vector:
    """Return the extreme rays x_j, (S−1, S), scaled to ``ψ_j·x_j = max|ψ_j|``; zeros if none."""
    size = psi.shape[1]
    zero = psi[:1, :1] * 0 if len(psi) else np.zeros((1, 1), dtype=psi.dtype)
    scale = _ratios(psi, np.abs(psi).max(axis=1, initial=0)[:, None])
    system = np.concatenate([scale, np.broadcast_to(zero + 1, (1, size))])
    right = np.eye(size, size - 1, dtype=int) + zero
    if exact:
        found = solve(as_fractions(system), as_fractions(right))
    else:
        try:
            found = np.linalg.solve(system, right)
        except np.linalg.LinAlgError:
            found = None
    return np.zeros_like(psi) if found is None else found.T


def _angles(rays: Vector, w: Vector) -> tuple[Vector, Vector]:
    """Return by ray the tan² of its angle to w, and a number of the sign of its cosine."""
    square = w @ w or 1
    along = rays @ w
    across = rays - along[:, None] * w / square
    tans = _ratios((across * across).sum(axis=1) * square, along * along)
    lengths = np.abs(rays).max(axis=1, initial=0) * (largest(np.abs(w)) or 1)
    return tans, _ratios(along, lengths)


def angle_bound(
    environment: MDP | TwoAgentMDP,
    psi: ArrayLike,
    direction: ArrayLike,
    bound: Any = None,
) -> AngleBound:
    """Return the proof of what the first action everywhere shows in a strict environment.

    Exact where the environment is: floats are then read as decimals, so the rows, too, should be
    given as Fractions.

    Parameters
    ----------
    environment : kernel (S, B, S), or (S, 1, B, S), with the first action first.
    psi : the rows, (S−1, S).
    direction : w, (S,).
    bound : on tan² θ; by default the largest of the extreme rays, which is the best.

    Raises
    ------
    InvalidArgument
        The claim does not hold for these rows: says why.

    **Cost** arithmetic: one linear system with S unknowns and S−1 right sides.
    """
    if isinstance(environment, MDP):
        environment = TwoAgentMDP.single_agent(environment)
    instance = Instance.of(environment)

    def build(exact: bool, why: str) -> AngleBound:
        n = Numbers(instance, exact)
        rows, w = n(psi), n(direction)
        limit: Any = largest(_angles(_rays(rows, exact), w)[0])
        if bound is not None:
            limit = n(bound)[()]
        limit = Fraction(limit) if exact else float(limit)
        return AngleBound(instance=instance, psi=rows, direction=w, bound=limit, inexact=why)

    found: AngleBound = best(build, instance.is_exact, "the environment has no exact numbers")
    outcome = found.check(exact=found.is_exact)
    if not outcome:
        problem = f"prove no such bound ({outcome.reasons[0]})"
        raise InvalidArgument("psi", problem, "rows of a strict environment", None)
    return found
