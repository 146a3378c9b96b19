"""The outcome of a check: conditions that must hold, and by how much each is missed or met.

There is one check of a certificate and it has no tolerance; what a proof in floating point misses
an exact one by is part of the claim.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from iirl_opt.brief import in_brief
from iirl_opt.exact.numbers import as_reals
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable

__all__ = ["Check", "Conditions", "magnitude", "positive"]


class Conditions(NamedTuple):
    """What a proof consists of.

    Attributes
    ----------
    residuals : by condition, how far it is from holding: zero or less holds.
    margins : by strict condition, by how much it holds: more than zero is needed.
    """

    residuals: Mapping[str, Any]
    margins: Mapping[str, Any]


@dataclass(frozen=True)
class Check(Tabular):
    """The outcome of a check: true when the claim is proved.

    Attributes
    ----------
    residuals : by condition, how far it is from holding exactly (zero or less: it holds).
    tolerance : what was allowed; zero in a check of a certificate.
    margins : by strict condition, by how much it holds; more than `tolerance` is needed.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import iirl_opt as iirl
    >>> certificate = iirl.certify(iirl.commit(*iirl.random_game(3, 2, 2, rng=0)))
    >>> bool(certificate.check())
    True
    >>> replace(certificate, upper=0, claim="").check().reasons
    ('no choice is worth more: 4.43 exceeds 0',)
    """

    residuals: Mapping[str, Any]
    tolerance: float = 0.0
    margins: Mapping[str, Any] = field(default_factory=dict)

    __repr__ = in_brief

    @property
    def reasons(self) -> tuple[str, ...]:
        """The conditions that fail, with their residuals; empty when the claim is proved."""
        wide = (
            f"{name}: {_in_short(residual)} exceeds {self.tolerance:g}"
            for name, residual in self.residuals.items()
            if not residual <= self.tolerance
        )
        narrow = (
            f"{name}: {_in_short(margin)} does not exceed {self.tolerance:g}"
            for name, margin in self.margins.items()
            if not margin > self.tolerance
        )
        return (*wide, *narrow)

    def __bool__(self) -> bool:
        return not self.reasons

    def table(self) -> FactTable:
        """Return a row a condition: how far it is from holding, or by how much it holds."""
        allowed = self.tolerance
        rows: list[dict[str, Any]] = [
            {"condition": name, "misses by": x, "met": bool(x <= allowed)}
            for name, x in self.residuals.items()
        ]
        rows += [
            {"condition": name, "holds by": x, "met": bool(x > allowed)}
            for name, x in self.margins.items()
        ]
        return FactTable(rows, f"{'proved' if self else 'NOT PROVED'}, tolerance {allowed:g}")


def _in_short(number: Any) -> str:
    return f"{as_reals(number).item():.3g}"


def magnitude(vector: Any) -> Fraction:
    """Return the largest absolute value of an array, or zero."""
    return max(map(abs, np.asarray(vector).ravel().tolist()), default=Fraction(0))


def positive(vector: Any) -> Fraction:
    """Return the largest number of an array, or zero if none is positive."""
    numbers: list[Fraction] = np.asarray(vector).ravel().tolist()
    return max([Fraction(0), *numbers])
