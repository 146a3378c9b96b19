"""Farkas rays found by programs that have a point in any case, whatever HiGHS says at first.

A ray is sought as an optimum: by a margin, or as the multipliers of the program by how little the
rows must give way. What is found proves nothing before `farkas.exact_ray` has looked at it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.solver.call import Said
from iirl_opt.solver.program import Program

__all__ = ["Ask", "elastic_ray", "own_ray", "strict_ray"]

Array = NDArray[np.float64]

# Asks HiGHS about a program.
Ask = Callable[[Program], Said]


def own_ray(program: Program, ask: Ask) -> Array | None:
    """Return the ray that HiGHS finds itself."""
    return ask(program).ray


def elastic_ray(program: Program, ask: Ask) -> Array | None:
    """Return the multipliers of the program by how little the rows must give way."""
    return ask(_elastic(program)).y


def strict_ray(program: Program, ask: Ask) -> Array | None:
    """Return a ray that proves by a margin, so that rounding costs it nothing; None without any.

    The margin δ is largest with  A'y = p − q,  y·(bounds) ≥ reach of p and q + δ,  −1 ≤ y ≤ 1,
    where ``p_j = 0`` if x_j has no upper bound, and ``q_j ≥ δ ‖A_j‖`` then, and the reverse.
    """
    (m, n), norms = program.shape, program.coefficients.column_norms
    rises, falls = np.isfinite(program.row_lower), np.isfinite(program.row_upper)
    above, below = np.isfinite(program.upper), np.isfinite(program.lower)
    margin = norms * (above.astype(float) - below)
    reach = (np.where(above, program.upper, 0.0), np.where(below, program.lower, 0.0))
    demand = (np.where(rises, program.row_lower, 0.0), np.where(falls, program.row_upper, 0.0))
    eye, transposed = sp.eye_array(n, format="csc"), program.matrix.T
    combined = sp.hstack([transposed, -transposed, -eye, eye, -margin[:, None]], format="csc")
    balance = np.concatenate([demand[0], -demand[1], -reach[0], reach[1], [-1.0]])
    size = 2 * m + 2 * n + 1
    upper = np.concatenate(
        [rises, falls, np.where(above, np.inf, 0.0), np.where(below, np.inf, 0.0)]
    )
    matrix: Any = sp.vstack([combined, sp.csc_array(balance[None, :])], format="csc")
    asked = Program(
        cost=np.append(np.zeros(size - 1), -1.0),
        matrix=matrix,
        row_lower=np.zeros(n + 1),
        row_upper=np.append(np.zeros(n), np.inf),
        lower=np.zeros(size),
        upper=np.append(upper, 1.0),
        whole=np.zeros(size, dtype=bool),
    )
    x = ask(asked).x
    if x is None or not x[-1] > 0:
        return None
    return np.asarray(x[:m] - x[m : 2 * m])


def _elastic(program: Program) -> Program:
    """Return the program by how little the rows must give way."""
    m, n = program.shape
    eye, zero = sp.eye_array(m, format="csc"), np.zeros(2 * m)
    return Program(
        cost=np.append(np.zeros(n), zero + 1.0),
        matrix=sp.hstack([program.matrix, eye, -eye], format="csc"),
        row_lower=program.row_lower,
        row_upper=program.row_upper,
        lower=np.append(program.lower, zero),
        upper=np.append(program.upper, zero + np.inf),
        whole=np.zeros(n + 2 * m, dtype=bool),
    )
