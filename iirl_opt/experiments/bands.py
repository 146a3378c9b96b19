"""Bands: the quantiles over runs that a picture shows around a mean.

On a logarithmic axis an interval for the mean reaches below zero where runs differ by decades, and
cannot be drawn; quantiles are values of runs (or between two of them), so they always can.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["BAND", "quantiles"]

# The ends of a band, and what a legend says of it.
ENDS = (0.1, 0.9)
BAND = "line: mean of runs; band: 10 % to 90 % of runs"


def quantiles(runs: ArrayLike) -> dict[str, list[Any]]:
    """Return the ends of the band over runs (R, T), JSON-able; empty of a single run.

    Examples
    --------
    >>> quantiles([[0.0], [1.0], [2.0]])
    {'lower': [0.2], 'upper': [1.8]}
    """
    values = np.asarray(runs, dtype=float)
    if len(values) < 2:
        return {}
    lower, upper = np.quantile(values, ENDS, axis=0)
    return {"lower": lower.tolist(), "upper": upper.tolist()}
