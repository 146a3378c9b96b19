"""Domains: where rewards are looked for.

Cones of rewards have no size, so questions about size are asked within a *domain*, by default the
`RewardSimplex`. Pass any object with a method ``constraints(r)`` in its place. Rows of your own
beside a domain are a function of r that returns them: ``subject_to=lambda r: [r[0] >= 2 * r[1]]``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike

from iirl_opt.checks import POSITIVE, Rule, array_of_floats, checked, has, refuse
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.solver.rules import CONSTRAINTS, EXPRESSION, Rows

__all__ = [
    "DOMAIN",
    "REWARD_ROWS",
    "CentredBox",
    "RewardBox",
    "RewardDomain",
    "RewardRows",
    "RewardSimplex",
    "UnitBox",
    "domain_rows",
    "least_reward",
    "searched",
]

# What a reward may be where no game says how many states there are.
REWARD_ARRAY: Rule = array_of_floats(1, 3, error=InvalidReward, empty=False)

# What an argument `domain` may be.
DOMAIN: Rule = has("constraints", what="a domain such as RewardSimplex()")


# Rows of the user's own on the reward of a program, whose variable is the program's.
RewardRows: TypeAlias = Callable[[cp.Expression], Rows]


def REWARD_ROWS(name: str, value: Any) -> Any:
    """Return a function that returns rows; rows themselves can only be on another variable."""
    if not callable(value) or isinstance(value, type):
        allowed = "a function of the reward r that returns constraints: lambda r: [r[0] >= 1]"
        raise refuse(name, value, allowed)
    return value


class RewardDomain(Protocol):
    """A set of rewards to look in, given as constraints on a cvxpy expression.

    Examples
    --------
    >>> class Prizes:
    ...     def constraints(self, r: cp.Expression) -> list[cp.Constraint]:
    ...         return [r >= 0, cp.sum(r) <= 2]
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> known = iirl.FeasibleRewards(game).observe([[1], [1]], [[0, 1], [1, 0]])
    >>> round(known.maximise([0.0, 1.0], domain=Prizes()).value, 6)
    2.0
    """

    def constraints(self, r: cp.Expression) -> list[cp.Constraint]:
        """Return constraints that hold r in the set."""
        ...


@dataclass(frozen=True)
class RewardSimplex:
    """Rewards ``r ≥ 0`` that sum to one.

    Every non-constant state reward has a positive affine image here, so nothing is lost
    (Lemma 1 with λ1 > 0). **Source** paper, Section 4.2.

    Examples
    --------
    >>> RewardSimplex().contains([0.25, 0.75]), RewardSimplex().contains([0.5, 1.0])
    (True, False)
    >>> [rule.label for rule in RewardSimplex().constraints(cp.Variable(2))]
    ['simplex sum', 'simplex']
    """

    @checked(reward=REWARD_ARRAY, tolerance=POSITIVE)
    def contains(self, reward: ArrayLike, *, tolerance: float = 1e-9) -> bool:
        """Return whether a reward (S,) or (S, A, B) lies here; the set is closed.

        No entry is below −`tolerance`, and the sum is one within it. **Cost** arithmetic.
        """
        r = np.asarray(reward)
        return bool(r.min() >= -tolerance and abs(math.fsum(r.ravel()) - 1) <= tolerance)

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
    """Rewards with ``|r| ≤ bound`` in every entry.

    Examples
    --------
    >>> box = RewardBox(2.0)
    >>> box.contains([-2.0, 1.0]), box.contains([3.0, 0.0])
    (True, False)
    """

    bound: float = 1.0

    @checked(reward=REWARD_ARRAY, tolerance=POSITIVE)
    def contains(self, reward: ArrayLike, *, tolerance: float = 1e-9) -> bool:
        """Return whether a reward (S,) or (S, A, B) lies here; the set is closed.

        No entry exceeds the bound by more than `tolerance`, a share of it. **Cost** arithmetic.
        """
        return bool(np.abs(reward).max() <= self.bound * (1 + tolerance))

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


@dataclass(frozen=True)
class UnitBox:
    """Rewards in [0, 1]."""

    def constraints(self, r: cp.Expression) -> list[cp.Constraint]:
        return [(r >= 0).set_label("box below"), (r <= 1).set_label("box above")]


@dataclass(frozen=True)
class NarrowedDomain:
    """The rewards of a domain that meet rows of the user's own."""

    base: RewardDomain
    rows: RewardRows

    def constraints(self, r: cp.Expression) -> list[cp.Constraint]:
        own = CONSTRAINTS("subject_to(r)", self.rows(r))
        return [*domain_rows(self.base, r), *_connected("subject_to(r)", own, r)]


def searched(domain: RewardDomain | None, subject_to: RewardRows | None = None) -> RewardDomain:
    """Return where to look: in the simplex by default, and subject to the user's rows."""
    where = RewardSimplex() if domain is None else domain
    return where if subject_to is None else NarrowedDomain(where, subject_to)


def domain_rows(domain: RewardDomain, r: cp.Expression) -> list[cp.Constraint]:
    """Return the constraints of a domain.

    Raises
    ------
    InvalidArgument
        What it returns is no list of constraints, or one has nothing to do with r: names it.
    """
    if isinstance(domain, NarrowedDomain | RewardSimplex | RewardBox | CentredBox | UnitBox):
        return domain.constraints(r)
    name = "domain.constraints(r)"
    return _connected(name, CONSTRAINTS(name, domain.constraints(r)), r)


def _connected(name: str, rows: Sequence[cp.Constraint], r: cp.Expression) -> list[cp.Constraint]:
    """Return rows, each of which says something of r, be it through other variables of theirs."""
    known = {v.id for v in r.variables()}
    left = [(i, {v.id for v in row.variables()}) for i, row in enumerate(rows)]
    while found := [held for _, held in left if held & known]:
        known |= set().union(*found)
        left = [(i, held) for i, held in left if not held & known]
    for i, held in left:
        if held:
            place = f"{name}[{i}]" + (f" ({rows[i].label})" if rows[i].label else "")
            names = ", ".join(v.name() for v in rows[i].variables())
            raise InvalidArgument(place, f"holds {names} and not the reward", "rows on r", rows[i])
    return list(rows)


def least_reward(domain: RewardDomain) -> float | None:
    """Return what no reward of a domain is below, for our own domains."""
    if isinstance(domain, NarrowedDomain):
        return least_reward(domain.base)
    if isinstance(domain, RewardSimplex | UnitBox):
        return 0.0
    if isinstance(domain, RewardBox):
        return -domain.bound
    return -1.0 if isinstance(domain, CentredBox) else None
