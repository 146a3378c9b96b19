"""Half-spaces that cut out Aff(r), or a cone of stated angle around it, in whole numbers.

A half-space is a vector h of shape (S,), and stands for ``{x : h·x ≥ 0}``. The vectors here sum to
zero, so that no constant reward matters; r is the hypothesis, ``w = S·r − Σ r`` its centred
version.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.certificate.instance import SparseRows
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.exact.numbers import as_fractions, as_reals

__all__ = ["affine_halfspaces", "centred", "cone_halfspaces"]

Vector = NDArray[Any]


def centred(reward: ArrayLike) -> Vector:
    """Return a positive multiple of ``r − mean r`` in whole numbers without a common factor.

    Examples
    --------
    >>> [int(x) for x in centred([0.0, 0.5, 1.0])]
    [-1, 0, 1]
    """
    r = _checked(reward)
    return _whole(len(r) * r - r.sum())


def affine_halfspaces(reward: ArrayLike) -> SparseRows:
    """Return at most S half-spaces whose intersection is ``Aff(r) = {λ r + c : λ ≥ 0}``.

    The vectors ``φ_1 … φ_{S−2}`` are a basis of the complement of span(r, 1), with three entries
    each; then follow ``−Σ φ_i`` (so that all are zero) and w. For a constant reward the φ are a
    basis of the complement of the constants, and there is no w.

    Parameters
    ----------
    reward : (S,), Fractions, integers, or floats, which are read as decimals.

    **Source** paper, Theorem 2 and the lemma on half-spaces. **Cost** arithmetic.

    Examples
    --------
    >>> for h in affine_halfspaces([0.0, 1.0, 3.0]):
    ...     print([int(x) for x in h])
    [2, -3, 1]
    [-2, 3, -1]
    [-4, -1, 5]
    """
    r = _checked(reward)
    low, high = int(np.argmin(r)), int(np.argmax(r))
    rest = [k for k in range(len(r)) if k not in (low, high)]
    constant = r[low] == r[high]
    if constant:
        rest = list(range(1, len(r)))
        low = 0
    rows = []
    scale = math.lcm(*(x.denominator for x in r))
    for k in rest:
        row = np.full(len(r), Fraction(0), dtype=object)
        if constant:
            row[low], row[k] = Fraction(1), Fraction(-1)
        else:
            row[low], row[high], row[k] = r[high] - r[k], r[k] - r[low], r[low] - r[high]
        rows.append(row * scale)
    if rows:
        rows.append(-np.sum(rows, axis=0))
    if not constant:
        rows.append(_whole(centred(r)))
    return SparseRows.of(rows, len(r))


def cone_halfspaces(reward: ArrayLike, tan: Any) -> SparseRows:
    """Return half-spaces ``t_i w ± φ_i`` in which no reward makes a larger angle with r than θ.

    The φ_i are an orthogonal basis of the complement of span(r, 1), and the rationals t_i are such
    that ``|φ_i·x| ≤ t_i w·x`` for all i implies tan θ of at most `tan`, or x constant.

    Parameters
    ----------
    reward : (S,), not constant.
    tan : tan θ > 0.

    Raises
    ------
    InvalidReward
        The reward is constant.
    """
    r, bound = _checked(reward), as_fractions(tan)[()]
    if bound <= 0:
        raise InvalidArgument("tan", f"is {tan}", "tan θ > 0", tan)
    if (r == r[0]).all():
        raise InvalidReward("reward", "is constant", "a reward with a direction", float(r[0]))
    w = centred(r)
    basis = _orthogonal_basis(r)
    rows: list[Vector] = [w] if not basis else []
    for phi in basis:
        t = _root_below(bound**2 * (phi @ phi) / (w @ w) / len(basis))
        rows += [t * w + phi, t * w - phi]
    return SparseRows.of(rows, len(r))


def _orthogonal_basis(r: Vector) -> list[Vector]:
    """Return S−2 orthogonal whole vectors ⟂ 1, r.

    In an order in which the first two rewards differ, the one for position k has entries
    ``a + b r`` before k and one more at k.
    """
    order = np.array([0, int(np.flatnonzero(r != r[0])[0])])
    order = np.concatenate([order, np.setdiff1d(np.arange(len(r)), order)])
    x, basis = r[order], []
    for k in range(2, len(r)):
        first, second = x[:k].sum(), x[:k] @ x[:k]
        # Solves Σ (a + b x) = −1 and Σ (a + b x) x = −x_k over the positions before k.
        determinant = k * second - first**2
        a = (-second + first * x[k]) / determinant
        b = (first - k * x[k]) / determinant
        phi = np.full(len(r), Fraction(0), dtype=object)
        phi[order[:k]] = a + b * x[:k]
        phi[order[k]] = Fraction(1)
        basis.append(_whole(phi))
    return basis


def _root_below(square: Fraction) -> Fraction:
    """Return a rational a little below a square root, to some forty bits."""
    bits = max(0, 40 + (square.denominator.bit_length() - square.numerator.bit_length()) // 2)
    return Fraction(math.isqrt((square.numerator << (2 * bits)) // square.denominator), 1 << bits)


def _whole(vector: Vector) -> Vector:
    """Return a vector times the positive number that makes it whole without a common factor."""
    below = math.lcm(*(x.denominator for x in vector))
    numbers = [int(x * below) for x in vector]
    factor = math.gcd(*numbers) or 1
    out = np.empty(len(numbers), dtype=object)
    out[:] = [Fraction(x // factor) for x in numbers]
    return out


def _checked(reward: ArrayLike) -> Vector:
    given = np.asarray(reward)
    if given.ndim != 1 or not given.size:
        raise InvalidReward("reward", f"has shape {given.shape}", "(S,)", given.shape)
    if not np.isfinite(as_reals(given)).all():
        raise InvalidReward("reward", "is not finite", "finite numbers", reward)
    return as_fractions(given)
