"""Half-spaces that cut out Aff(r), or a cone of stated tangent around it, in exact numbers.

A half-space is a vector h of shape (S,), and stands for ``{x : h·x ≥ 0}``. The vectors here sum to
zero, so that no constant reward matters; r is the hypothesis, ``w = S·r − Σ r`` its centred
version.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.certificate.form import below
from iirl_opt.certificate.instance import SparseRows
from iirl_opt.checks import checked, unmasked
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.exact.numbers import UNREADABLE, as_fraction, as_fractions

__all__ = ["centred", "class_halfspaces", "cone_halfspaces", "cone_pairs"]

# Objects that are Fractions.
Vector = NDArray[Any]


def centred(reward: ArrayLike) -> Vector:
    """Return ``w = S·r − Σ r``.

    Examples
    --------
    >>> [float(x) for x in centred([0.0, 0.5, 1.0])]
    [-1.5, 0.0, 1.5]
    """
    r = _checked(reward)
    return np.asarray(len(r) * r - r.sum())


@checked(reward=unmasked(InvalidReward))
def class_halfspaces(reward: ArrayLike) -> SparseRows:
    """Return at most S half-spaces whose intersection is ``Aff(r) = {λ r + c : λ ≥ 0}``.

    The vectors ``φ_1 … φ_{S−2}`` are a basis of the complement of span(r, 1), with three entries
    each; then follow ``−Σ φ_i`` (so that all are zero) and w. For a constant reward the φ are a
    basis of the complement of the constants, and there is no w.

    Parameters
    ----------
    reward : (S,), numbers of any type.

    **Source** paper, Theorem 2 and the lemma on half-spaces. **Cost** arithmetic.

    Examples
    --------
    >>> for h in class_halfspaces([0.0, 1.0, 3.0]):
    ...     print([int(x) for x in h])
    [2, -3, 1]
    [-2, 3, -1]
    [-4, -1, 5]
    """
    r = _checked(reward)
    low, high = int(np.argmin(r)), int(np.argmax(r))
    constant = r[low] == r[high]
    rows = []
    for k in range(len(r)):
        if k in ((0,) if constant else (low, high)):
            continue
        row = np.full(len(r), Fraction(0), dtype=object)
        if constant:
            row[0], row[k] = Fraction(1), Fraction(-1)
        else:
            row[low], row[high], row[k] = r[high] - r[k], r[k] - r[low], r[low] - r[high]
        rows.append(row)
    if rows:
        rows.append(-np.sum(rows, axis=0))
    if not constant:
        rows.append(centred(r))
    return SparseRows.of(rows, len(r))


@checked(reward=unmasked(InvalidReward))
def cone_halfspaces(reward: ArrayLike, tan: Any) -> SparseRows:
    """Return half-spaces ``t w ± φ`` in which no reward makes a larger angle with r than θ.

    Parameters
    ----------
    reward : (S,), not constant.
    tan : tan θ > 0.

    Raises
    ------
    InvalidArgument
        The tangent is no positive number.
    InvalidReward
        The reward is constant.

    **Cost** arithmetic.

    Examples
    --------
    >>> rows = cone_halfspaces([0.0, 1.0, 3.0], tan=1)  # up to 45° from the reward
    >>> [bool(np.all(rows.times(np.array(r)) >= 0)) for r in ([0, 1, 3], [1, 3, 7], [3, 1, 0])]
    [True, True, False]
    """
    r = _checked(reward)
    if len(r) == 2:
        cone_pairs(r, tan)
        return SparseRows.of([centred(r)], 2)
    w = centred(r)
    rows = [row for phi, t in cone_pairs(r, tan) for row in (t * w + phi, t * w - phi)]
    return SparseRows.of(rows, len(r))


def cone_pairs(reward: ArrayLike, tan: Any) -> list[tuple[Vector, Fraction]]:
    """Return the vectors φ and the numbers t of `cone_halfspaces`.

    The φ are an orthogonal basis of the complement of span(r, 1), and the t such that
    ``|φ·x| ≤ t w·x`` for all of them implies a tangent of at most `tan`, or x constant.
    """
    r = _checked(reward)
    try:
        bound = as_fraction(tan)
    except UNREADABLE:
        bound = Fraction(0)
    if bound <= 0:
        raise InvalidArgument("tan", f"is {tan}", "tan θ > 0", tan)
    if (r == r[0]).all():
        raise InvalidReward("reward", "is constant", "a reward with a direction", float(r[0]))
    w = centred(r)
    basis = _orthogonal_basis(r)
    share = bound**2 / ((w @ w) * max(len(basis), 1))
    return [(phi, below(share * (phi @ phi))) for phi in basis]


def _orthogonal_basis(r: Vector) -> list[Vector]:
    """Return S−2 orthogonal vectors ⟂ 1, r.

    In an order in which the first two rewards differ, the one for position k has entries
    ``a + b r`` before k and one at k.
    """
    order = np.array([0, int(np.flatnonzero(r != r[0])[0])])
    order = np.concatenate([order, np.setdiff1d(np.arange(len(r)), order)])
    x, basis = r[order], []
    for k in range(2, len(r)):
        first, second = x[:k].sum(), x[:k] @ x[:k]
        # Solves Σ (a + b x) = −1 and Σ (a + b x) x = −x_k over the positions before k.
        determinant = k * second - first**2
        a = (first * x[k] - second) / determinant
        b = (first - k * x[k]) / determinant
        phi = np.full(len(r), Fraction(0), dtype=object)
        phi[order[:k]] = a + b * x[:k]
        phi[order[k]] = Fraction(1)
        basis.append(phi)
    return basis


def _checked(reward: ArrayLike) -> Vector:
    given = np.asarray(reward)
    if given.ndim != 1 or not given.size:
        raise InvalidReward("reward", f"has shape {given.shape}", "(S,)", given.shape)
    try:
        return as_fractions(given)
    except UNREADABLE:
        raise InvalidReward("reward", "is not finite", "finite numbers", reward) from None
