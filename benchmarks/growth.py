"""Growth: ``y ≈ c x^k``, or ``y ≈ c k^x``, by least squares on logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["Growth", "growth"]


class Growth(NamedTuple):
    """A fitted exponent.

    Attributes
    ----------
    exponent : k, or the factor a unit.
    error : its standard error; NaN with two points.
    r2 : the share of the variance of ``log y`` that the fit explains.
    points : how many.
    """

    exponent: float
    error: float
    r2: float
    points: int


def growth(x: Sequence[float], y: Sequence[float], exponential: bool = False) -> Growth:
    """Fit the growth of positive numbers y in positive numbers x, of which two differ."""
    u, v = np.asarray(x, dtype=float), np.log(np.asarray(y, dtype=float))
    u = u if exponential else np.log(u)
    du, dv = u - u.mean(), v - v.mean()
    slope = float(du @ dv / (du @ du))
    left = float(((dv - slope * du) ** 2).sum())
    whole = float(dv @ dv)
    freedom = u.size - 2
    error = float(np.sqrt(left / freedom / (du @ du))) if freedom else float("nan")
    if exponential:
        slope, error = float(np.exp(slope)), float(np.exp(slope)) * error
    return Growth(slope, error, 1 - left / whole if whole else 1.0, u.size)
