"""Sets of rewards: what can be asked of any polyhedron of rewards, and domains to look in.

A set is given by cvxpy constraints and by its explicit rows ``G r ≥ 0`` and ``E r = 0``. Programs
work on the lifted constraints (see `iirl_opt.rewards.feasible`), which are sparse; only geometry
that needs the length of a row in the space of rewards (centre, samples) makes the dense rows.

Cones of rewards have no size, so questions about size are asked within a *domain*, by default the
`RewardSimplex`. Pass any object with a method ``constraints(r)`` in its place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import null_space, solve_triangular

from iirl_opt.checks import FLAG, POSITIVE, RNG, Rule, checked, has, one_of, whole
from iirl_opt.errors import InvalidArgument, OnlyConstantRewards
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.values import check_reward
from iirl_opt.solver import Clarabel, Solved, Solver, linear_rows, solve
from iirl_opt.solver.records import SOLVER
from iirl_opt.solver.rules import EXPRESSION

__all__ = [
    "Ball",
    "RewardBox",
    "RewardDomain",
    "RewardSet",
    "RewardSimplex",
    "RewardSolution",
]

Array = NDArray[np.float64]

# Rows have entries of order one. A slack that can be no larger than THIN is an equality; programs
# that look for slack count no more than CAP of it, so that they spread it over many rows.
THIN, CAP = 1e-8, 1e-4


# What an argument `domain` may be.
DOMAIN: Rule = has("constraints", what="a domain such as RewardSimplex()")


class RewardDomain(Protocol):
    """A set of rewards to look in, given as constraints on a cvxpy expression."""

    def constraints(self, r: cp.Expression) -> list[cp.Constraint]:
        """Return constraints that hold r in the set."""
        ...


@dataclass(frozen=True)
class RewardSimplex:
    """Rewards ``r ≥ 0`` that sum to one.

    Every non-constant state reward has a positive affine image here, so nothing is lost
    (Lemma 1 with λ1 > 0). **Source** paper, Section 4.2.
    """

    @checked(r=EXPRESSION)
    def constraints(self, r: cp.Expression) -> list[cp.Constraint]:
        """Return the constraints ``simplex sum`` and ``simplex``."""
        return [
            (cp.sum(r) == 1).set_label("simplex sum"),
            (r >= 0).set_label("simplex"),
        ]


@checked(bound=POSITIVE)
@dataclass(frozen=True)
class RewardBox:
    """Rewards with ``|r| ≤ bound`` in every entry."""

    bound: float = 1.0

    @checked(r=EXPRESSION)
    def constraints(self, r: cp.Expression) -> list[cp.Constraint]:
        """Return the constraints ``box below`` and ``box above``."""
        return [
            (r >= -self.bound).set_label("box below"),
            (r <= self.bound).set_label("box above"),
        ]


@dataclass(frozen=True, eq=False)
class RewardSolution:
    """A reward found in a set, and the evidence for it.

    Attributes
    ----------
    reward : shape (S,), or (S, A, B) for joint rewards.
    value : the optimal objective.
    solved : the solver's record with recomputed residuals.
    """

    reward: Array
    value: float
    solved: Solved

    @property
    def spread(self) -> float:
        """The difference of the largest and the smallest reward: zero for a constant."""
        return float(np.ptp(self.reward))


@dataclass(frozen=True, eq=False)
class Ball:
    """The largest ball of a set, within the set's own affine hull.

    Attributes
    ----------
    centre : shape (S,) or (S, A, B).
    radius : Euclidean; zero where the set is a single point.
    solved : the solver's record.
    """

    centre: Array
    radius: float
    solved: Solved


class Lifted(NamedTuple):
    """A set in lifted form: equalities, and labelled expressions that are to be nonnegative."""

    equalities: list[cp.Constraint]
    nonnegative: list[tuple[str, cp.Expression]]


class _Hull(NamedTuple):
    """A set within a domain: its program, and its geometry in the space of rewards.

    The lifted program holds r by `equalities` and nonnegative `slacks`, of which `strict` says
    which can be positive; those have the explicit form ``rows r ≤ bounds``. The columns of `basis`
    are an orthonormal basis of the directions of the affine hull.
    """

    r: cp.Variable
    equalities: list[cp.Constraint]
    slacks: list[cp.Expression]
    strict: NDArray[np.bool_]
    rows: Array
    bounds: Array
    basis: Array


class RewardSet(ABC):
    """A closed convex cone of rewards of a game."""

    game: TwoAgentMDP

    @abstractmethod
    def lifted(self, r: cp.Expression) -> Lifted:
        """Return the set as constraints on r with value variables of its own."""

    @abstractmethod
    def explicit_rows(self, *, joint: bool = False) -> tuple[Array, Array]:
        """Return (G, E) with ``G r ≥ 0`` and ``E r = 0``, dense, over flat rewards."""

    @checked(r=EXPRESSION)
    def constraints(self, r: cp.Expression) -> list[cp.Constraint]:
        """Return cvxpy constraints that hold r in the set, to use in a program of your own.

        Parameters
        ----------
        r : affine expression of shape (S,), or (S, A·B) for a joint reward.

        Returns
        -------
        list of constraints
            Labelled; each call brings value variables ``V[t]`` of its own.
        """
        equalities, nonnegative = self.lifted(r)
        return [*equalities, *((e >= 0).set_label(label) for label, e in nonnegative)]

    @checked(domain=DOMAIN, solver=SOLVER)
    def maximise(
        self,
        objective: ArrayLike,
        *,
        domain: RewardDomain | None = None,
        solver: Solver | None = None,
    ) -> RewardSolution:
        """Return a reward of the set that maximises ``Σ objective · r``.

        Parameters
        ----------
        objective : shape (S,), or (S, A, B) to look among joint rewards.
        domain : where to look; the `RewardSimplex` by default.

        Raises
        ------
        Infeasible, Unbounded
            The domain holds no reward of the set, or does not bound the objective.

        **Source** paper, the linear program of Section 4.2. **Cost** one LP.
        """
        c = check_reward(self.game, objective)
        r = self._variable(joint=c.ndim == 3)
        where = RewardSimplex() if domain is None else domain
        limits = self.constraints(r) + where.constraints(r)
        return self._search(self._goal(c, r), r, c.shape, limits, solver)

    @checked(domain=DOMAIN)
    def problem(self, objective: ArrayLike, *, domain: RewardDomain | None = None) -> cp.Problem:
        """Return the cvxpy problem that `maximise` solves, unsolved."""
        c = check_reward(self.game, objective)
        r = self._variable(joint=c.ndim == 3)
        where = RewardSimplex() if domain is None else domain
        return cp.Problem(self._goal(c, r), self.constraints(r) + where.constraints(r))

    @checked(domain=DOMAIN, solver=SOLVER, norm=one_of(1, 2))
    def nearest(
        self,
        reward: ArrayLike,
        *,
        norm: Literal[1, 2] = 1,
        domain: RewardDomain | None = None,
        solver: Solver | None = None,
    ) -> RewardSolution:
        """Return the reward of the set nearest to a given one; its `value` is the distance.

        Parameters
        ----------
        reward : shape (S,) or (S, A, B).
        norm : 1 (sum of absolute differences, an LP by HiGHS) or 2 (Euclidean, a second-order cone
            program by Clarabel; its square as a quadratic program is ill-conditioned near zero).
        domain : where to look; the `RewardSimplex` by default, so normalise `reward` likewise.

        **Cost** one LP or one cone program.
        """
        target = check_reward(self.game, reward)
        r = self._variable(joint=target.ndim == 3)
        difference = cp.vec(r, order="C") - target.ravel()
        distance = cp.norm1(difference) if norm == 1 else cp.norm2(difference)
        where = RewardSimplex() if domain is None else domain
        limits = self.constraints(r) + where.constraints(r)
        if norm == 2 and solver is None:
            solver = Clarabel()
        found = self._search(cp.Minimize(distance), r, target.shape, limits, solver)
        away = float(np.linalg.norm(found.reward.ravel() - target.ravel(), ord=norm))
        return RewardSolution(found.reward, away, found.solved)

    @checked(domain=DOMAIN, solver=SOLVER, rng=RNG, spread=POSITIVE, joint=FLAG, tries=whole(1))
    def random_vertex(
        self,
        rng: int | np.random.Generator | None = None,
        *,
        joint: bool = False,
        domain: RewardDomain | None = None,
        solver: Solver | None = None,
        tries: int = 10,
        spread: float = 1e-6,
        **options: Any,
    ) -> RewardSolution:
        """Return a non-constant reward of the set that maximises a random objective.

        The objective is uniform on (−1, 1)^S. A constant reward is a frequent answer (in an ideal
        environment about half the time), so constants are drawn again, `tries` times in all.

        Parameters
        ----------
        rng : a generator, or the seed of one.
        joint : look among joint rewards (S, A, B) in place of state rewards.
        spread : a reward is constant when max r − min r is at most this times its largest entry.
        options : others of the set's own `maximise`, such as the `price` of feasible rewards.

        Raises
        ------
        OnlyConstantRewards
            Every try brought a constant: the observations are uninformative, or contradict each
            other (see `FeasibleRewards.explain_infeasibility`).

        **Source** paper, Algorithm 1, lines 6 and 7. **Cost** one to `tries` LPs.
        """
        random = np.random.default_rng(rng)
        shape = self.game.shape if joint else (self.game.n_states,)
        for _ in range(tries):
            objective = random.uniform(-1, 1, shape)
            found = self.maximise(objective, domain=domain, solver=solver, **options)
            if found.spread > spread * np.abs(found.reward).max():
                return found
        raise OnlyConstantRewards(tries, spread)

    @checked(domain=DOMAIN, solver=SOLVER)
    def widths(
        self,
        directions: ArrayLike | None = None,
        *,
        domain: RewardDomain | None = None,
        solver: Solver | None = None,
    ) -> Array:
        """Return how far the set extends in each direction: ``max c·r − min c·r``, shape (k,).

        Parameters
        ----------
        directions : shape (k, S); the S unit vectors by default, so that entry s says how uncertain
            the reward of state s is.

        **Cost** 2k LPs, compiled once.
        """
        given = np.eye(self.game.n_states) if directions is None else np.asarray(directions, float)
        if given.ndim != 2 or given.shape[1] != self.game.n_states:
            allowed = f"(k, {self.game.n_states})"
            raise InvalidArgument("directions", f"have shape {given.shape}", allowed, given.shape)
        r, c = self._variable(joint=False), cp.Parameter(self.game.n_states)
        where = RewardSimplex() if domain is None else domain
        program = cp.Problem(cp.Maximize(c @ r), self.constraints(r) + where.constraints(r))
        ends = np.empty((2, given.shape[0]))
        for side, sign in enumerate((1.0, -1.0)):
            for i, direction in enumerate(given):
                c.value = sign * direction
                ends[side, i] = solve(program, solver).value
        return np.asarray(np.maximum(ends.sum(axis=0), 0.0))

    @checked(joint=FLAG, solver=SOLVER)
    def dimension(self, *, joint: bool = False, solver: Solver | None = None) -> int:
        """Return the dimension of the cone: 1 when only constants are left, at most S (or S·A·B).

        A maximal number of rows is made strict at once; those that cannot be are equalities.

        **Cost** a few LPs and one singular value decomposition.
        """
        r = self._variable(joint=joint)
        equalities, nonnegative = self.lifted(r)
        rows, tied = self.explicit_rows(joint=joint)
        limits = [*equalities, *RewardBox().constraints(r)]
        strict = _strict_rows(limits, [e for _, e in nonnegative], solver)
        return int(r.size) - _rank(np.concatenate([tied, rows[~strict]]))

    @checked(domain=DOMAIN, solver=SOLVER)
    def chebyshev_centre(
        self, *, domain: RewardDomain | None = None, solver: Solver | None = None
    ) -> Ball:
        """Return the centre and radius of the largest ball in the set, within its affine hull.

        For state rewards (S,).

        **Cost** a few LPs: all but the last find the affine hull.
        """
        return self._ball(self._hull(domain, solver), solver)

    @checked(domain=DOMAIN, solver=SOLVER, rng=RNG, n=whole(0), thin=whole(1), burn=whole(0))
    def sample(
        self,
        n: int,
        rng: int | np.random.Generator | None = None,
        *,
        domain: RewardDomain | None = None,
        solver: Solver | None = None,
        thin: int | None = None,
        burn: int | None = None,
    ) -> Array:
        """Return n rewards of shape (n, S), uniform on the set within its domain, by hit-and-run.

        The walk starts at the Chebyshev centre and draws directions from the ellipsoid of the
        set there, which evens out its shape; any fixed distribution of directions leaves the
        uniform distribution invariant. Samples are correlated: hit-and-run mixes in about d² steps
        from a warm start in d dimensions once the set is round (Lovász & Vempala 2006). By default
        every d-th step is kept after 10·d steps; for d in the hundreds that is far from
        independence, so thin more when tails matter.

        Parameters
        ----------
        rng : a generator, or the seed of one.
        thin : steps between samples; d by default.
        burn : steps before the first; 10·d by default.

        **Cost** a few LPs, then one product with the dense rows a step.
        """
        random = np.random.default_rng(rng)
        hull = self._hull(domain, solver)
        x, basis = self._ball(hull, solver).centre.copy(), hull.basis
        d = basis.shape[1]
        if d == 0:
            return np.tile(x, (n, 1))
        rows = hull.rows @ basis
        slack = hull.bounds - hull.rows @ x
        scaled = rows / slack[:, None]
        factor = np.linalg.cholesky(scaled.T @ scaled + 1e-12 * np.eye(d))
        every, wait = (d if thin is None else thin), (10 * d if burn is None else burn)
        out = np.empty((n, x.size))
        for step in range(-wait, n * every):
            direction = solve_triangular(factor.T, random.standard_normal((d,)))
            along = rows @ direction
            with np.errstate(divide="ignore", invalid="ignore"):
                reach = slack / along
            forward = np.min(reach[along > 0], initial=np.inf)
            backward = np.max(reach[along < 0], initial=-np.inf)
            if not (np.isfinite(forward) and np.isfinite(backward)):
                raise InvalidArgument(
                    "domain", "does not bound the set", "a bounded domain", domain
                )
            length = random.uniform(backward, forward)
            x += length * (basis @ direction)
            slack = np.maximum(slack - length * along, 0.0)
            if step >= 0 and (step + 1) % every == 0:
                out[step // every] = x
        return out

    def _variable(self, *, joint: bool) -> cp.Variable:
        n_states, n_choices = self.game.n_states, self.game.n_choices
        return cp.Variable((n_states, n_choices) if joint else n_states, name="r")

    def _goal(self, objective: Array, r: cp.Variable) -> cp.Maximize:
        return cp.Maximize(cp.sum(cp.multiply(objective.reshape(r.shape), r)))

    def _search(
        self,
        goal: cp.Minimize | cp.Maximize,
        r: cp.Variable,
        shape: tuple[int, ...],
        limits: list[cp.Constraint],
        solver: Solver | None,
    ) -> RewardSolution:
        solved = solve(cp.Problem(goal, limits), solver)
        assert solved.value is not None
        return RewardSolution(np.array(r.value).reshape(shape), solved.value, solved)

    def _hull(self, domain: RewardDomain | None, solver: Solver | None) -> _Hull:
        """Return the set within its domain, with its implicit equalities found."""
        where = RewardSimplex() if domain is None else domain
        r = self._variable(joint=False)
        own = linear_rows(where.constraints(r), r)
        equalities, nonnegative = self.lifted(r)
        if len(own.equal):
            equalities = [*equalities, own.equal @ r == own.right]
        slacks = [e for _, e in nonnegative]
        if len(own.rows):
            slacks.append(own.bounds - own.rows @ r)
        strict = _strict_rows(equalities, slacks, solver)
        free, tied = self.explicit_rows()
        rows = np.concatenate([-free, own.rows])
        bounds = np.concatenate([np.zeros(len(free)), own.bounds])
        equal = np.concatenate([tied, own.equal, rows[~strict]])
        basis = null_space(equal) if len(equal) else np.eye(r.size)
        return _Hull(r, equalities, slacks, strict, rows[strict], bounds[strict], basis)

    def _ball(self, hull: _Hull, solver: Solver | None) -> Ball:
        norms = np.zeros(hull.strict.size)
        norms[hull.strict] = np.linalg.norm(hull.rows @ hull.basis, axis=1)
        radius = cp.Variable(nonneg=True, name="radius")
        limits = list(hull.equalities)
        for slack, strict, norm in _by_block(hull.slacks, hull.strict, norms):
            if strict.any():
                limits.append(slack[strict] >= radius * norm[strict])
            if not strict.all():
                limits.append(slack[~strict] == 0)
        if not norms.any():
            limits.append(radius == 0)
        solved = solve(cp.Problem(cp.Maximize(radius), limits), solver)
        return Ball(np.array(hull.r.value), float(radius.value), solved)


def _by_block(blocks: list[cp.Expression], *arrays: NDArray[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield each block with its part of arrays that run over all blocks."""
    ends = np.cumsum([block.size for block in blocks])[:-1]
    yield from zip(blocks, *(np.split(array, ends) for array in arrays), strict=True)


def _strict_rows(
    limits: list[cp.Constraint], slacks: list[cp.Expression], solver: Solver | None
) -> NDArray[np.bool_]:
    """Return which entries of nonnegative slacks can be positive somewhere in a convex set.

    Each program makes as many of the entries in question positive as it can; the mean of its points
    has them all positive, so what never was is zero throughout.
    """
    strict = np.zeros(sum(slack.size for slack in slacks), dtype=bool)
    while not strict.all():
        shares = [cp.Variable(slack.shape, bounds=[0, CAP]) for slack in slacks]
        open_ = cp.Problem(
            cp.Maximize(
                sum(
                    cp.sum(share[~known])
                    for share, known in _by_block(shares, strict)
                    if not known.all()
                )
            ),
            [*limits, *(slack >= share for slack, share in zip(slacks, shares, strict=True))],
        )
        solve(open_, solver)
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
