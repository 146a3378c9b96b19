"""The rank of a matrix of whole numbers modulo a prime: at most what it is, and nearly always that.

A minor that is invertible modulo any number is not zero. So rows and columns of one *prove* that
the rank is at least their number, at the price of elimination on small integers; a proof that it is
no more are as many independent null vectors as are left.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LARGEST_MODULUS", "MODULI", "is_invertible", "pivots"]

# Products of two numbers below it fit into 64 bits.
LARGEST_MODULUS = 2**31

# Primes; a rank that one of them hides, another shows.
MODULI = (2**31 - 1, 2**31 - 19, 2**31 - 61)


def reduced(matrix: NDArray[Any], modulus: int) -> NDArray[np.int64]:
    """Return whole numbers of any size modulo a number, in 64 bits."""
    return np.asarray(matrix % modulus, dtype=np.int64)


def pivots(matrix: NDArray[Any], modulus: int) -> tuple[list[int], list[int]]:
    """Return rows and columns of a largest minor that is invertible modulo a prime.

    Columns are the first that are independent of those before them.

    Parameters
    ----------
    matrix : whole numbers, (m, n).
    modulus : 2 ≤ p < 2³¹.

    **Cost** m n k operations on whole numbers, for a rank of k.
    """
    left = reduced(matrix, modulus)
    order = np.arange(len(left))
    columns: list[int] = []
    for j in range(left.shape[1]):
        here = len(columns)
        near = np.flatnonzero(left[here:, j]).tolist()
        found = next((i for i in near if _is_unit(left[here + i, j], modulus)), None)
        if found is None:
            continue
        swap = [here, here + found]
        left[swap], order[swap] = left[swap[::-1]], order[swap[::-1]]
        row = left[here, j:] * pow(int(left[here, j]), -1, modulus) % modulus
        rest = here + 1 + np.flatnonzero(left[here + 1 :, j])
        left[rest, j:] = (left[rest, j:] - left[rest, j, None] * row) % modulus
        columns.append(j)
    return order[: len(columns)].tolist(), columns


def _is_unit(number: Any, modulus: int) -> bool:
    return math.gcd(int(number), modulus) == 1


def is_invertible(matrix: NDArray[Any], modulus: int) -> bool:
    """Return whether elimination shows a square matrix of whole numbers invertible modulo a number.

    Then its determinant is not zero, whether or not the modulus is a prime.
    """
    return len(pivots(matrix, modulus)[1]) == len(matrix)
