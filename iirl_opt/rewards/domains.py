"""Domains: where rewards are looked for.

Cones of rewards have no size, so questions about size are asked within a *domain*, by default the
`RewardSimplex`. Pass any object with a method ``constraints(r)`` in its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import cvxpy as cp

from iirl_opt.checks import POSITIVE, Rule, checked, has
from iirl_opt.solver.rules import EXPRESSION

__all__ = [
    "DOMAIN",
    "CentredBox",
    "RewardBox",
    "RewardDomain",
    "RewardSimplex",
    "least_reward",
]

# What an argument `domain` may be.
DOMAIN: Rule = has("constraints", what="a domain such as RewardSimplex()")


class RewardDomain(Protocol):
    """A set of rewards to look in, given as constraints on a cvxpy expression."""

    def constraints(self, r: cp.Expression) -> list[cp.Constraint]:
        """Return constraints that hold r in the set."""
        ...


@dataclass(frozen=True)
class RewardSimplex:
    """Rewards ``r ≥ 0`` that sum to one.

    Every non-constant state reward has a positive affine image here, so nothing is lost
    (Lemma 1 with λ1 > 0). **Source** paper, Section 4.2.
    """

    @checked(r=EXPRESSION)
    def constraints(self, r: cp.Expression) -> list[cp.Constraint]:
        """Return the constraints ``simplex sum`` and ``simplex``."""
        return [
            (cp.sum(r) == 1).set_label("simplex sum"),
            (r >= 0).set_label("simplex"),
        ]


@checked(bound=POSITIVE)
@dataclass(frozen=True)
class RewardBox:
    """Rewards with ``|r| ≤ bound`` in every entry."""

    bound: float = 1.0

    @checked(r=EXPRESSION)
    def constraints(self, r: cp.Expression) -> list[cp.Constraint]:
        """Return the constraints ``box below`` and ``box above``."""
        return [
            (r >= -self.bound).set_label("box below"),
            (r <= self.bound).set_label("box above"),
        ]


@dataclass(frozen=True)
class CentredBox:
    """Rewards in [−1, 1] that sum to zero: of the constants only zero is left."""

    def constraints(self, r: cp.Expression) -> list[cp.Constraint]:
        return [*RewardBox().constraints(r), (cp.sum(r) == 0).set_label("centred")]


def least_reward(domain: RewardDomain) -> float | None:
    """Return what no reward of a domain is below, for our own domains."""
    if isinstance(domain, RewardSimplex):
        return 0.0
    if isinstance(domain, RewardBox):
        return -domain.bound
    return -1.0 if isinstance(domain, CentredBox) else None
