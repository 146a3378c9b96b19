"""The half-spaces of an affine class of state rewards, as exact integer rows.

**Source** paper, the lemma on half-spaces in the proof of Theorem 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.rewards.state_reward import StateReward

__all__ = ["basis_across", "class_rows", "closed_rows"]


def class_rows(r: StateReward) -> NDArray[Any]:
    """Return integer half-spaces (S, S) whose intersection is Aff(r), in the order of the states.

    A basis of ``span(r, 1)^⊥``, minus its sum, and, unless r is constant, the centred reward.
    """
    rows = closed_rows(basis_across(r.steps))
    return rows if r.is_constant else np.vstack([rows, r.weights])


def basis_across(exact: NDArray[Any]) -> NDArray[Any]:
    """Return integer rows that span the vectors orthogonal to a reward and to 1.

    ``−(hi − lo) e_s + (hi − r_s) e_lo + (r_s − lo) e_hi`` for every state s but lo and hi; for a
    constant reward ``e_lo − e_s`` for every s but the first.
    """
    n = exact.size
    lo, hi = int(exact.argmin()), int(exact.argmax())
    spread = exact[hi] - exact[lo] or 1
    others = [s for s in range(n) if s not in (lo, hi)]
    basis = np.zeros((len(others), n), dtype=object)
    at = np.arange(len(others))
    basis[at, others] = -spread
    basis[at, lo] += (exact[hi] - exact[others]) if lo != hi else spread
    basis[at, hi] += exact[others] - exact[lo]
    return basis


def closed_rows(basis: NDArray[Any]) -> NDArray[Any]:
    """Return the basis with minus its sum: together the rows are ≥ 0 only where all are zero."""
    return np.vstack([basis, -basis.sum(axis=0, keepdims=True)])
