"""The geometry of a set of rewards within a domain: affine hull, dimension, largest ball, samples.

Half-spaces that no point of the set leaves are equalities in disguise (with ties the set is flat).
Linear programs find them: those of the lifted rows that can be positive somewhere in the set are
*strict*, the others hold with equality throughout, and together with the equalities they span the
affine hull. Within it lengths of rows are measured, the largest ball is found by one more program,
and a walk that hits a random point of a random chord, again and again, leaves the uniform
distribution invariant.

**Source** Boyd & Vandenberghe 2004, section 8.5.1 (centres); Smith 1984, Lovász & Vempala 2006
(hit-and-run).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space, solve_triangular

from iirl_opt.errors import InvalidArgument
from iirl_opt.printing.records import Tabular
from iirl_opt.rewards.constant import MaybeConstant
from iirl_opt.rewards.lifted_rows import Lifted
from iirl_opt.solver import LinearRows, Solved, Solver, solve

__all__ = ["Ball", "Hull", "dimension"]

Array = NDArray[np.float64]

# Rows have entries of order one. A margin that can be no larger than THIN is an equality; programs
# that look for margins count no more than CAP of each, so that they spread over many rows.
THIN, CAP = 1e-8, 1e-4


@dataclass(frozen=True, eq=False)
class Ball(Tabular, MaybeConstant):
    """The largest ball of a set, within the set's own affine hull.

    Attributes
    ----------
    centre : shape (S,) or (S, A, B).
    radius : Euclidean; zero where the set is a single point.
    solved : the solver's record.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> known = iirl.FeasibleRewards(game).observe([[1], [1]], [[0, 1], [1, 0]])
    >>> ball = known.chebyshev_centre()
    >>> ball.centre.round(6).tolist(), round(ball.radius, 6)
    ([0.25, 0.75], 0.353553)
    """

    centre: Array
    radius: float
    solved: Solved

    def __repr__(self) -> str:
        kind = "a constant reward" if self.constant else "no constant reward"
        return f"Ball(radius {self.radius:.9g}, its centre {kind}, {self.solved.status.name})"

    @property
    def _reward_found(self) -> Array:
        return self.centre


# From a point, a direction, and how far a chord reaches back and forth, to what is left of it.
Shortened = Callable[[Array, Array, float, float], tuple[float, float]]


# From the radius of a ball to what its centre is held to beside the hull.
Beside = Callable[[cp.Variable], list[cp.Constraint]]


class Hull(NamedTuple):
    """A set within a domain: its program, and its geometry in the space of rewards.

    The lifted program holds r by `equalities` and nonnegative `margins`, of which `strict` says
    which can be positive; those have the explicit form ``rows r ≤ bounds``. The columns of `basis`
    are an orthonormal basis of the directions of the affine hull.
    """

    r: cp.Variable
    equalities: list[cp.Constraint]
    margins: list[cp.Expression]
    strict: NDArray[np.bool_]
    rows: Array
    bounds: Array
    basis: Array

    @classmethod
    def of(
        cls,
        r: cp.Variable,
        lifted: Lifted,
        explicit: tuple[Array, Array],
        domain: LinearRows,
        solver: Solver | str | None,
    ) -> Hull:
        """Return a set that is given lifted and by explicit rows, its implicit equalities found.

        **Cost** a few LPs.
        """
        equalities, margins = lifted.equalities, [e for _, e in lifted.nonnegative]
        if len(domain.equal):
            equalities = [*equalities, (domain.equal @ r == domain.right).set_label("domain")]
        if len(domain.rows):
            margins.append(domain.bounds - domain.rows @ r)
        strict = _strict_rows(equalities, margins, solver)
        free, tied = explicit
        rows = np.concatenate([-free, domain.rows])
        bounds = np.concatenate([np.zeros(len(free)), domain.bounds])
        equal = np.concatenate([tied, domain.equal, rows[~strict]])
        basis = null_space(equal) if len(equal) else np.eye(r.size)
        return cls(r, equalities, margins, strict, rows[strict], bounds[strict], basis)

    def ball(self, solver: Solver | str | None, beside: Beside | None = None) -> Ball:
        """Return the largest ball of the set within its affine hull. **Cost** one LP.

        Its centre may be held to more, by constraints that depend on the radius.
        """
        norms = np.zeros(self.strict.size)
        norms[self.strict] = np.linalg.norm(self.rows @ self.basis, axis=1)
        radius = cp.Variable(nonneg=True, name="radius")
        limits = list(self.equalities)
        parts = _by_block(self.margins, self.strict, norms)
        for i, (margin, strict, norm) in enumerate(parts):
            if strict.any():
                inside = margin[strict] >= radius * norm[strict]
                limits.append(inside.set_label(f"inside[{i}]"))
            if not strict.all():
                limits.append((margin[~strict] == 0).set_label(f"flat[{i}]"))
        if not norms.any():
            limits.append((radius == 0).set_label("point"))
        if beside is not None:
            limits += beside(radius)
        solved = solve(cp.Problem(cp.Maximize(radius), limits), solver)
        return Ball(np.array(self.r.value), float(radius.value), solved)

    def walk(
        self,
        x: Array,
        n: int,
        rng: np.random.Generator,
        *,
        thin: int | None,
        burn: int | None,
        shortened: Shortened | None = None,
    ) -> Array:
        """Return n points (n, width) of a hit-and-run walk that starts inside, at x.

        Directions come from the ellipsoid of the set at the start. By default every d-th step is
        kept after 10·d steps, d being the dimension of the hull. Where the set is a part of the
        hull that is given by its chords, `shortened` returns that of a chord's part inside it.

        **Cost** one product with the dense rows a step.
        """
        d = self.basis.shape[1]
        if d == 0:
            return np.tile(x, (n, 1))
        x, rows, margin = x.copy(), self.rows @ self.basis, self.bounds - self.rows @ x
        scaled = rows / margin[:, None]
        factor = np.linalg.cholesky(scaled.T @ scaled + 1e-12 * np.eye(d))
        every, wait = (d if thin is None else thin), (10 * d if burn is None else burn)
        out = np.empty((n, x.size))
        for step in range(-wait, n * every):
            direction = solve_triangular(factor.T, rng.standard_normal((d,)))
            along = rows @ direction
            chord = _chord(margin, along)
            if shortened is not None:
                chord = shortened(x, self.basis @ direction, *chord)
            length = rng.uniform(*chord)
            x += length * (self.basis @ direction)
            margin = np.maximum(margin - length * along, 0.0)
            if step >= 0 and (step + 1) % every == 0:
                out[step // every] = x
        return out


def _chord(margin: Array, along: Array) -> tuple[float, float]:
    """Return how far the set reaches backward and forward from a point along a direction."""
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = margin / along
    forward = float(np.min(reach[along > 0], initial=np.inf))
    backward = float(np.max(reach[along < 0], initial=-np.inf))
    if not (np.isfinite(forward) and np.isfinite(backward)):
        raise InvalidArgument("domain", "does not bound the set", "a bounded domain", None)
    return backward, forward


def dimension(
    lifted: Lifted,
    explicit: tuple[Array, Array],
    box: list[cp.Constraint],
    solver: Solver | str | None,
) -> int:
    """Return the dimension of a cone that is given lifted and by explicit rows.

    A maximal number of rows is made strict at once, within a box; those that cannot be are
    equalities.

    **Cost** a few LPs and one singular value decomposition.
    """
    rows, tied = explicit
    limits = [*lifted.equalities, *box]
    strict = _strict_rows(limits, [e for _, e in lifted.nonnegative], solver)
    return int(rows.shape[1]) - _rank(np.concatenate([tied, rows[~strict]]))


def _by_block(blocks: list[cp.Expression], *arrays: NDArray[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield each block with its part of arrays that run over all blocks."""
    if not blocks:
        return
    ends = np.cumsum([block.size for block in blocks])[:-1]
    yield from zip(blocks, *(np.split(array, ends) for array in arrays), strict=True)


def _strict_rows(
    limits: list[cp.Constraint], margins: list[cp.Expression], solver: Solver | str | None
) -> NDArray[np.bool_]:
    """Return which entries of nonnegative margins can be positive somewhere in a convex set.

    Each program makes as many of the entries in question positive as it can; the mean of its points
    has them all positive, so what never was is zero throughout.
    """
    strict = np.zeros(sum(margin.size for margin in margins), dtype=bool)
    while not strict.all():
        shares = [
            cp.Variable(margin.shape, bounds=[0, CAP], name=f"share[{i}]")
            for i, margin in enumerate(margins)
        ]
        asked = [
            cp.sum(share[~known]) for share, known in _by_block(shares, strict) if not known.all()
        ]
        held = [
            (margin >= share).set_label(f"share[{i}]")
            for i, (margin, share) in enumerate(zip(margins, shares, strict=True))
        ]
        solve(cp.Problem(cp.Maximize(sum(asked)), [*limits, *held]), solver)
        now = np.concatenate([np.asarray(share.value) > THIN for share in shares])
        if not (now & ~strict).any():
            break
        strict |= now
    return strict


def _rank(rows: Array) -> int:
    """Return the numerical rank, singular values below 1e-8 of the largest counting as zero."""
    if not rows.size:
        return 0
    values = np.linalg.svd(rows, compute_uv=False)
    return int((values > 1e-8 * max(values[0], 1e-300)).sum())
