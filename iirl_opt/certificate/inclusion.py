"""Proofs that every reward that explains the observations lies in given half-spaces.

For one half-space h the proof is a combination of the feasibility conditions. With the gaps
``C_t r + γ D_t V_t`` of episode t (C_t the part of the reward, zero for state rewards, and
``D_t = P_t − P_{t,b}``), which are zero for played actions and ≥ 0 for the others, and
``(I − γ P_t) V_t = R̄_t r``, multipliers y_t (≥ 0 but for played actions) and z_t give

    h·r = Σ y_t·gaps + e·r − Σ f_t·V_t,   e = h − Σ C_tᵀ y_t + R̄_tᵀ z_t,
                                           f_t = γ D_tᵀ y_t − (I − γ P_t)ᵀ z_t.

Where e and f vanish, h·r ≥ 0. Where they do not, let h sum to zero and subtract the least entry
from r: its entries are then between 0 and its span σ, those of V between 0 and σ/(1−γ), so that

    h·r ≥ −η σ,   η = Σ e⁻ + Σ f⁺/(1−γ).

`Inclusion` states half-spaces with their slack, `ClassInclusion` what those of Aff(ρ), or of a cone
around it, say about the angle between a reward and the hypothesis ρ: η becomes a part of it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from iirl_opt.certificate.check import Conditions, magnitude
from iirl_opt.certificate.episodes import ExactEpisode, combined, on_reward
from iirl_opt.certificate.form import above, up
from iirl_opt.certificate.halfspaces import centred, class_halfspaces, cone_halfspaces, cone_pairs
from iirl_opt.certificate.instance import SparseRows, clamped, span
from iirl_opt.certificate.record import Certificate

__all__ = ["ClassInclusion", "Inclusion", "slacks", "tangent"]

# Objects that are Fractions.
Vector = NDArray[Any]

THEOREM = "linear duality over Corollary 1 of the paper, with the factor γ"


def slacks(
    episodes: list[ExactEpisode], halfspaces: SparseRows, on_gaps: SparseRows, on_values: SparseRows
) -> Iterator[Fraction]:
    """Yield η for each half-space: by how much of a reward's span it may be left."""
    n_states = episodes[0].pi2.shape[0] if episodes else halfspaces.width
    joint = halfspaces.width != n_states
    gamma = episodes[0].discount if episodes else Fraction(0)
    for h, y, z in zip(halfspaces, on_gaps, on_values, strict=True):
        left, onward = h, Fraction(0)
        parts = max(len(episodes), 1)
        gaps, states = np.split(y, parts), np.split(z, parts)
        for episode, given, values in zip(episodes, gaps, states, strict=False):
            if not given.any() and not values.any():
                continue
            free = episode.played.ravel()
            weights = np.where(free, given, clamped(given))
            flow = combined(episode, weights, values)
            onward += sum((x for x in flow.tolist() if x > 0), Fraction(0))
            left = left - on_reward(episode, weights, values, joint)
        yield -sum((x for x in left.tolist() if x < 0), Fraction(0)) + onward / (1 - gamma)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class _Proof(Certificate):
    """Multipliers of half-spaces over the gaps and values of episodes."""

    theorem: ClassVar[str] = THEOREM
    weaker_answer: ClassVar[bool] = True
    forms: ClassVar[Mapping[str, str]] = {
        "pi1": "weights",
        "pi2": "weights",
        "on_gaps": "rows",
        "on_values": "rows",
    }

    pi1: Vector
    pi2: Vector
    on_gaps: SparseRows
    on_values: SparseRows

    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        n_states, n_a, n_b = self.instance.shape
        k, t = self._count(), len(self.pi1)
        return {
            "pi1": (t, n_states, n_a),
            "pi2": (t, n_states, n_b),
            "on_gaps": (k, t * n_states * n_b),
            "on_values": (k, t * n_states),
        }

    @abstractmethod
    def _count(self) -> int:
        """Return the number of half-spaces."""

    def _slacks(self, halfspaces: SparseRows) -> list[Fraction]:
        pairs = zip(self.shares("pi1"), self.shares("pi2"), strict=True)
        episodes = [ExactEpisode(self.instance, *pair) for pair in pairs]
        return [*slacks(episodes, halfspaces, self.on_gaps, self.on_values)]

    def _every(self) -> str:
        return f"every reward that explains the {len(self.pi1)} observed responses"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Inclusion(_Proof):
    """Every reward that explains the observations lies in half-spaces, exactly or nearly.

    Attributes
    ----------
    pi1, pi2 : weights, commitments (T, S, A) and responses (T, S, B).
    halfspaces : k rows h, of width S for state rewards or S·A·B.
    on_gaps : the multipliers y: k rows over the T·S·B gaps.
    on_values : the multipliers z: k rows over the T·S values.
    slack : ``h·r ≥ −slack · max|h| · span r``.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> from iirl_opt.rewards import inclusion
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> seen = iirl.observe(game, [[1], [1]], [[0, 1], [1, 0]])  # it goes
    >>> proof = inclusion(game, [seen], [[-1, 1]])  # so the second state is worth no less
    >>> print(proof.claim)
    every reward that explains the 1 observed responses lies in the 1 half-spaces h·r >= 0
    """

    kind: ClassVar[str] = "inclusion"
    forms: ClassVar[Mapping[str, str]] = {
        **_Proof.forms,
        "halfspaces": "rows",
        "slack": "number",
    }

    halfspaces: SparseRows
    slack: Fraction

    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        joint = self.halfspaces.width != self.instance.shape[0]
        width = np.prod(self.instance.shape if joint else self.instance.shape[:1]).item()
        return {**super()._shapes(), "halfspaces": (self._count(), width)}

    def _count(self) -> int:
        return len(self.halfspaces)

    def _words(self) -> str:
        count = f"the {len(self.halfspaces)} half-spaces"
        if not self.slack:
            return f"{self._every()} lies in {count} h·r >= 0"
        bound = f"h·r >= -{up(self.slack)} · max|h| · span r"
        return f"{self._every()} has {bound} for {count} h"

    def proved(self) -> Fraction:
        """Return the least `slack` that the other numbers prove of half-spaces that sum to zero."""
        return max((eta / size for eta, size in self._measured() if eta), default=Fraction(0))

    def _measured(self) -> list[tuple[Fraction, Fraction]]:
        """Return η and max |h| of each half-space."""
        sizes = [magnitude(h) for h in self.halfspaces]
        return [*zip(self._slacks(self.halfspaces), sizes, strict=True)]

    def _conditions(self) -> Conditions:
        totals = [abs(sum(h.tolist(), Fraction(0))) for h in self.halfspaces]
        over = [eta - self.slack * size for eta, size in self._measured()]
        residuals = {
            "the half-spaces sum to zero": max(totals, default=Fraction(0)),
            "the slack is no less than it is proved": max(over, default=Fraction(0)),
            "the slack is not negative": -self.slack,
        }
        return Conditions(residuals, {})


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ClassInclusion(_Proof):
    """Every state reward that explains the observations is within an angle of one, or constant.

    Attributes
    ----------
    pi1, pi2 : weights, commitments (T, S, A) and responses (T, S, B).
    reward : the hypothesis ρ, (S,).
    inner : None if the half-spaces are those of Aff(ρ), else the tangent of their cone.
    on_gaps, on_values : the multipliers y and z, a row for each half-space.
    tan : at least the tangent of the angle; 0 is the class itself.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> ideal = iirl.ideal_environment([0, 1, 3], "1/2")
    >>> answer = iirl.best_responses(ideal.game, [0, 1, 3], np.ones((3, 1))).optimal
    >>> proof = iirl.certify(iirl.verify_affine([0, 1, 3], ideal, answer))
    >>> proof.kind, proof.tan, bool(proof.check())  # within no angle: of the class itself
    ('class inclusion', Fraction(0, 1), True)
    """

    kind: ClassVar[str] = "class inclusion"
    forms: ClassVar[Mapping[str, str]] = {
        **_Proof.forms,
        "reward": "array",
        "inner": "number?",
        "tan": "number",
    }

    reward: Vector
    inner: Fraction | None
    tan: Fraction

    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        return {**super()._shapes(), "reward": self.instance.shape[:1]}

    def _count(self) -> int:
        size = len(self.reward)
        if self.inner is not None:
            return 1 if size == 2 else 2 * (size - 2)
        basis = size - 1 if self._constant() else size - 2
        return basis + (basis > 0) + (not self._constant())

    def _constant(self) -> bool:
        return bool((self.reward == self.reward[0]).all())

    def _misfits(self) -> list[str]:
        if self.reward.shape != self.instance.shape[:1]:
            return ["reward is no state reward"]
        if self.inner is not None and (self.inner <= 0 or self._constant()):
            return ["there is no such cone"]
        return super()._misfits()

    def _words(self) -> str:
        if self._constant():
            return f"{self._every()} is constant"
        if not self.tan:
            return f"{self._every()} is λ r + c with λ >= 0, for the stated reward r"
        return (
            f"{self._every()} is constant, or its angle to the stated reward, both centred, has a "
            f"tangent of at most {up(self.tan)}"
        )

    def halfspaces(self) -> SparseRows:
        """Return the half-spaces that the multipliers prove."""
        if self.inner is None:
            return class_halfspaces(self.reward)
        return cone_halfspaces(self.reward, self.inner)

    def missed(self) -> list[Fraction]:
        """Return η of each half-space."""
        return self._slacks(self.halfspaces())

    def proved(self) -> bool:
        """Return whether what the half-spaces are missed by leaves no larger tangent."""
        return tangent(self.reward, self.inner, self.missed(), self.tan)

    def _conditions(self) -> Conditions:
        residuals = {
            "the tangent is no less than it is proved": 0 if self.proved() else np.inf,
            "the tangent is not negative": -self.tan,
        }
        return Conditions(residuals, {})


def tangent(reward: Vector, inner: Fraction | None, etas: list[Fraction], tan: Fraction) -> bool:
    """Return whether half-spaces left by at most η·span allow no tangent above `tan`."""
    if (reward == reward[0]).all():
        return 2 * sum(etas, Fraction(0)) < 1
    w = centred(reward)
    square = w @ w
    if inner is None or len(reward) == 2:
        total = sum(etas[:-1], Fraction(0))
        back = 2 * etas[-1] ** 2 / square
        across = 2 * (len(reward) - 2) * total**2 / span(reward) ** 2
        inside = inner is None or inner + above(across) <= tan
        return back + across < 1 and across <= tan**2 * (1 - across) and inside
    across, back = Fraction(0), None
    pairs = cone_pairs(reward, inner)
    for (phi, t), both in zip(pairs, _twos(etas), strict=True):
        across += 2 * max(both) ** 2 / (phi @ phi)
        behind = sum(both) ** 2 / (2 * t**2 * square)
        back = behind if back is None else min(back, behind)
    assert back is not None
    return across + back < 1 and inner + above(across * (1 + tan**2)) <= tan


def _twos(numbers: list[Fraction]) -> Iterator[tuple[Fraction, Fraction]]:
    return (pair for i, pair in enumerate(pairwise(numbers)) if i % 2 == 0)
