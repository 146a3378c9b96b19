"""The half-space lemma: how many half-spaces cut out a subspace.

Source: the paper, Appendix A. All is exact, cones by linear programming over rationals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from iirl_opt.claims.arithmetic import Exact, complement, exact, in_cone, nonzero_rows, vectors
from iirl_opt.claims.claim import Claim, Outcome
from iirl_opt.claims.instances import independent, vectors_of

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


__all__ = ["CLAIMS"]


@dataclass(frozen=True, eq=False)
class Plane:
    """The affine subspace ``offset + span(basis)`` of R^N."""

    basis: tuple[Exact, ...]
    offset: Exact


def half_spaces(at: Plane) -> Outcome:
    """Decide whether the half-spaces of the proof cut out the subspace."""
    rows = _proof_rows(at)
    lie = all(row @ at.offset == 0 for row in rows)
    closed = all(in_cone(rows, -row) for row in rows)
    return Outcome(
        lie and closed,
        f"{len(rows)} half-spaces"
        + ("" if lie else "; none of them contains the whole of it, which misses the origin"),
    )


def half_spaces_minimal(at: Plane) -> Outcome:
    """Decide whether leaving out any one half-space of the proof spoils the intersection."""
    rows = _proof_rows(at)
    for i in range(len(rows)):
        rest = np.delete(rows, i, axis=0)
        if all(in_cone(rest, -row) for row in rest):
            return Outcome(False, f"without row {i} it is still a subspace")
    return Outcome(True, f"all {len(rows)} half-spaces are needed")


def too_few_half_spaces(at: tuple[Plane, Exact]) -> Outcome:
    """Decide: so many half-spaces that contain a subspace cut out more than it."""
    plane, weights = at
    rows = weights @ np.array(complement(*plane.basis))
    spans = len(complement(*plane.basis, *rows)) == 0
    same = spans and all(in_cone(nonzero_rows(rows), -row) for row in rows)
    return Outcome(not same, f"{len(rows)} half-spaces in R^{len(plane.offset)}")


def _proof_rows(at: Plane) -> Exact:
    phis = complement(*at.basis)
    return np.array([*phis, -sum(phis, exact(np.zeros(len(at.offset), int)))])


def norm_is_zero(phi: Exact) -> Outcome:
    """Decide the printed ``‖φ‖₁ = 0`` for a row orthogonal to 1."""
    return Outcome(bool(sum(abs(x) for x in phi) == 0), f"φ sums to {sum(phi)}")


def _planes(dimension: int, *, offset: bool = False, least: int = 2) -> SearchStrategy[Plane]:
    """Return a strategy for subspaces of R^2 … R^5: through the origin, or off it with `offset`."""
    from hypothesis import strategies as st

    def plane(drawn: tuple[Exact, ...]) -> Plane:
        if offset:
            *basis, away = independent(drawn)
            return Plane(tuple(basis), away)
        return Plane(tuple(independent(drawn[:-1])), 0 * drawn[-1])

    def planes(n: int) -> SearchStrategy[Plane]:
        return st.tuples(*(vectors_of(n) for _ in range(dimension + 1))).map(plane)

    return st.integers(least, 5).flatmap(planes)


def _few_half_spaces(short_of: int = 2) -> SearchStrategy[tuple[Plane, Exact]]:
    """Return a strategy for planes in R^3 … R^5 with N − short_of rows orthogonal to each."""
    from hypothesis import strategies as st

    def weighted(plane: Plane) -> SearchStrategy[tuple[Plane, Exact]]:
        n = len(plane.offset)
        row = vectors_of(n - 2, constant=None)
        rows = st.lists(row, min_size=n - short_of, max_size=n - short_of)
        return rows.map(lambda drawn: (plane, np.array(drawn, dtype=object)))

    return _planes(2, least=3).flatmap(weighted)


def _orthogonal() -> SearchStrategy[Exact]:
    return vectors_of(3, constant=False).map(lambda r: r - r.sum() / len(r))


CLAIMS = (
    Claim(
        "half-space-lemma",
        "Appendix A, half-space lemma",
        "Any plane in R^N is the intersection of N − 1 half-spaces. Condition: it contains 0.",
        lambda: _planes(2),
        half_spaces,
        "needs a condition",
        outside=lambda: _planes(2, offset=True, least=3),
        counterexample=lambda: Plane((exact([1, 0, 0]), exact([0, 1, 0])), exact([0, 0, 1])),
    ),
    Claim(
        "half-space-line",
        "Appendix A, half-space lemma",
        "Any line through 0 is the intersection of N half-spaces.",
        lambda: _planes(1),
        half_spaces,
    ),
    Claim(
        "half-space-minimal",
        "Appendix A, half-space lemma",
        "For N ≥ 3 none of the N − 1 half-spaces can be left out.",
        lambda: _planes(2, least=3),
        half_spaces_minimal,
    ),
    Claim(
        "half-space-fewer",
        "Appendix A, half-space lemma",
        "No N − 2 half-spaces have a plane in R^N as their intersection.",
        _few_half_spaces,
        too_few_half_spaces,
    ),
    Claim(
        "half-space-norm",
        "Appendix A, proof of Theorem 2",
        "For φ orthogonal to 1, ‖φ‖₁ = 0 (its entries sum to 0 instead).",
        _orthogonal,
        norm_is_zero,
        "false as stated",
        counterexample=lambda: vectors([[1, -1]])[0],
    ),
)
