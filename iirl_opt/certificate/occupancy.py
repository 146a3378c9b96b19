"""Proofs about occupancy programs: optimality and infeasibility.

Occupancy programs over the measures ``μ ≥ 0`` of a game with side constraints,

    maximise  r·μ   subject to   (E − γP)ᵀ μ = start,   G μ ≤ h,   K μ = k,

have two kinds of proof. `Optimality` proves by weak duality that no measure earns more: for values
V and prices λ ≥ 0, κ with ``r − (E − γP) V − Gᵀ λ − Kᵀ κ ≤ 0`` every measure earns at most
``start·V + h·λ + k·κ``. `Infeasibility` proves by Farkas' lemma that no measure meets the
constraints: ``(E − γP) V + Gᵀ λ + Kᵀ κ ≥ 0`` and ``start·V + h·λ + k·κ < 0``.

Both come from a solver in floating point; `repair` looks for exact numbers. Without a binding side
constraint these are the values of a deterministic policy, improved exactly until it is optimal;
with one, the solution of the equations that hold at the floats (the basis). A Farkas ray needs no
equations: since ``(E − γP) 1 = 1 − γ``, raising V by a constant absorbs every rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from iirl_opt.certificate.base import Certificate, Conditions, in_words
from iirl_opt.certificate.instance import Numbers, largest
from iirl_opt.errors import NotExact
from iirl_opt.exact.linear import solve, solve_near
from iirl_opt.exact.numbers import as_fractions, as_reals

__all__ = ["Infeasibility", "Optimality"]

Vector = NDArray[Any]

# Measures and prices below this share of the largest are rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class _Constrained(Certificate):
    """Side constraints ``rows μ ≤ bounds`` and ``equal μ = right``, dense over S·A·B choices."""

    rows: Vector
    bounds: Vector
    equal: Vector
    right: Vector
    values: Vector
    prices: Vector
    equal_prices: Vector

    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        n, m, k = (
            np.prod(self.instance.shape, dtype=int).item(),
            np.size(self.bounds),
            self.right.size,
        )
        return {
            "rows": (m, n),
            "bounds": (m,),
            "equal": (k, n),
            "right": (k,),
            "values": (self.instance.shape[0],),
            "prices": (m,),
            "equal_prices": (k,),
        }

    def _combined(self, n: Numbers) -> Vector:
        """Return ``(E − γP) V + Gᵀ λ + Kᵀ κ`` for every choice."""
        side = n(self.rows).T @ n(self.prices) + n(self.equal).T @ n(self.equal_prices)
        return np.asarray(n.leave(n(self.values)) + side)

    def _paid(self, n: Numbers) -> Any:
        """Return ``start·V + h·λ + k·κ``."""
        side = n(self.bounds) @ n(self.prices) + n(self.right) @ n(self.equal_prices)
        return n.start @ n(self.values) + side

    def _decimals(self) -> Self:
        """Return the certificate with the constraints and multipliers read as decimals."""
        exact = {
            name: as_fractions(getattr(self, name))
            for name in ("rows", "bounds", "equal", "right", "values", "prices", "equal_prices")
        }
        return replace(self, **exact)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False, kw_only=True)
class Optimality(_Constrained):
    """No measure within the side constraints earns more than this one.

    Attributes
    ----------
    reward : (S·A·B,).
    measure : the measure, (S·A·B,).
    values, prices, equal_prices : V (S,), λ, κ.
    value : what the measure earns.
    """

    kind: ClassVar[str] = "optimality"
    theorem: ClassVar[str] = "weak duality of the occupancy program (Puterman 1994, section 6.9)"

    reward: Vector
    measure: Vector
    value: float | Fraction

    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        shapes = super()._shapes()
        n = (shapes["rows"][1],)
        return {**shapes, "reward": n, "measure": n, "value": ()}

    def _words(self) -> str:
        return f"no joint policy within the side constraints earns more than {in_words(self.value)}"

    def _conditions(self, numbers: Numbers) -> Conditions:
        n = numbers
        mu, reward, value = n(self.measure), n(self.reward), n(self.value)[()]
        residuals = {
            "the measure is not negative": largest(-mu),
            "flow is conserved": largest(np.abs(n.flow(mu) - n.start)),
            "the rows are met": largest(n(self.rows) @ mu - n(self.bounds)),
            "the equations are met": largest(np.abs(n(self.equal) @ mu - n(self.right))),
            "the value is that of the measure": abs(reward @ mu - value),
            "prices are not negative": largest(-n(self.prices)),
            "no choice is worth more": largest(reward - self._combined(n)),
            "the bound is the value": abs(self._paid(n) - value),
        }
        return Conditions(residuals, {})

    def repair(self) -> Optimality:
        """Return the same proof in exact numbers, or with the reason why none were found.

        Floats of the rows and the reward are read as the decimals they print as.

        Raises
        ------
        NotExact
            The game has no exact numbers.

        **Cost** arithmetic: a few rational systems of S equations and one for each side constraint.
        """
        if not self.instance.is_exact:
            raise NotExact(f"the game of this {self.kind} certificate")
        try:
            for candidate in self._candidates():
                if candidate.check(exact=True):
                    return candidate
        except NotExact as problem:
            return replace(self, inexact=str(problem))
        return replace(self, inexact="the equations that hold at the floats have no such solution")

    def _candidates(self) -> Iterator[Optimality]:
        """Yield exact certificates that are near, the likeliest first."""
        exact = replace(
            self._decimals(),
            reward=as_fractions(self.reward),
            measure=as_fractions(self.measure),
            value=Fraction(0),
            inexact="",
        )
        prices = as_reals(self.prices)
        scale = np.abs(prices).max(initial=1.0)
        if not self.right.size and not (prices > ROUNDING * scale).any():
            yield exact._of_policy(self._choices())
        for ties in (False, True):
            found = exact._of_basis(*self._basis(ties))
            if found is not None:
                yield found

    def _choices(self) -> NDArray[np.int64]:
        """Return the row of the best choice of each state: the most visited one, else the best."""
        n_states = self.instance.shape[0]
        mu = as_reals(self.measure).reshape(n_states, -1)
        floats = Numbers(self.instance, exact=False)
        lost = (self._combined(floats) - as_reals(self.reward)).reshape(n_states, -1)
        seen = mu.max(axis=1) > ROUNDING * mu.sum()
        best = np.where(seen, mu.argmax(axis=1), lost.argmin(axis=1))
        return np.asarray(np.arange(n_states) * mu.shape[1] + best)

    def _basis(self, ties: bool) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which choices have no reduced cost, and which rows bind; with `ties`, more."""
        floats = Numbers(self.instance, exact=False)
        mu, prices = as_reals(self.measure), as_reals(self.prices)
        columns = mu > ROUNDING * mu.sum()
        columns[self._choices()] = True
        active = prices > ROUNDING * np.abs(prices).max(initial=1.0)
        if ties:
            lost = self._combined(floats) - as_reals(self.reward)
            columns |= lost <= ROUNDING * max(1.0, np.abs(as_reals(self.reward)).max())
            slack = as_reals(self.bounds) - as_reals(self.rows) @ mu
            active |= slack <= ROUNDING * mu.sum()
        return columns, active

    def _of_policy(self, choices: NDArray[np.int64]) -> Optimality:
        """Return the certificate of a deterministic policy that is improved until it is optimal."""
        n = Numbers(self.instance, exact=True)
        n_states = n.shape[0]
        while True:
            chain = n.rows.mixed(np.full((n_states, 1), Fraction(1)), choices[:, None]).dense()
            system = np.eye(n_states, dtype=int) - n.discount * chain
            values = solve(system, self.reward[choices])
            assert values is not None  # I − γP is never singular
            gain = (self.reward - n.leave(values)).reshape(n_states, -1)
            better = np.flatnonzero(gain.max(axis=1) > 0)
            if not better.size:
                break
            choices = choices.copy()
            choices[better] = better * gain.shape[1] + gain.argmax(axis=1)[better]
        visits = solve(system.T, n.start)
        measure = np.full(self.reward.size, Fraction(0), dtype=object)
        measure[choices] = visits
        zero = np.full(self.prices.size, Fraction(0), dtype=object)
        return replace(
            self,
            values=values,
            measure=measure,
            prices=zero,
            value=sum((n.start * values).tolist(), Fraction(0)),
            claim="",
        )

    def _of_basis(self, columns: NDArray[np.bool_], active: NDArray[np.bool_]) -> Optimality | None:
        """Return the certificate whose numbers solve the equations of a basis."""
        n = Numbers(self.instance, exact=True)
        n_states, each = n.shape[0], n.shape[1] * n.shape[2]
        used = np.flatnonzero(columns)
        flow = (
            -n.discount * n.rows.mixed(np.full((len(used), 1), Fraction(1)), used[:, None]).dense()
        )
        flow[np.arange(len(used)), used // each] += 1
        side = np.concatenate([self.rows[active], self.equal])[:, used]
        system = np.hstack([flow, side.T])
        given = np.concatenate([n.start, self.bounds[active], self.right])
        guess = np.concatenate([self.values, self.prices[active], self.equal_prices])
        dual = solve_near(system, self.reward[used], guess)
        visits = solve_near(system.T, given, self.measure[used])
        if dual is None or visits is None:
            return None
        prices = np.full(self.prices.size, Fraction(0), dtype=object)
        prices[active] = dual[n_states : n_states + int(active.sum())]
        measure = np.full(self.measure.size, Fraction(0), dtype=object)
        measure[used] = visits
        return replace(
            self,
            values=dual[:n_states],
            prices=prices,
            equal_prices=dual[n_states + int(active.sum()) :],
            measure=measure,
            value=sum((self.reward * measure).tolist(), Fraction(0)),
            claim="",
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Infeasibility(_Constrained):
    """No measure meets the side constraints; the multipliers are scaled to ``paid = −1``."""

    kind: ClassVar[str] = "infeasibility"
    theorem: ClassVar[str] = "Farkas' lemma on the occupancy program"

    def _words(self) -> str:
        return "no joint policy meets the side constraints"

    def _conditions(self, numbers: Numbers) -> Conditions:
        combined, paid = self._combined(numbers), self._paid(numbers)
        # What a measure of mass 1/(1−γ) can gain where the combination is below zero.
        lost = largest(-combined) / (1 - numbers.discount)
        residuals = {
            "prices are not negative": largest(-numbers(self.prices)),
            "the combination is not negative": largest(-combined),
        }
        return Conditions(residuals, {"the combination asks for less than nothing": -paid - lost})

    def repair(self) -> Infeasibility:
        """Return the same proof in exact numbers, or with the reason why none were found.

        Raises
        ------
        NotExact
            The game has no exact numbers.

        **Cost** arithmetic.
        """
        if not self.instance.is_exact:
            raise NotExact(f"the game of this {self.kind} certificate")
        n = Numbers(self.instance, exact=True)
        exact = self._decimals()
        paying = np.array([max(x, Fraction(0)) for x in exact.prices], dtype=object)
        exact = replace(exact, prices=paying, inexact="")
        short = max(-exact._combined(n).min(), Fraction(0))
        exact = replace(exact, values=exact.values + short / (1 - n.discount))
        paid = exact._paid(n)
        if paid >= 0:
            return replace(self, inexact="rounding is larger than what the floats prove")
        scaled = {
            name: getattr(exact, name) / -paid for name in ("values", "prices", "equal_prices")
        }
        return replace(exact, **scaled)
