"""Sets of rewards: what can be asked of any polyhedral cone of rewards.

A set is given by cvxpy constraints and by its explicit rows ``G r ≥ 0`` and ``E r = 0``. Programs
work on the lifted constraints (see `iirl_opt.rewards.lifted_rows`), which are sparse; only geometry
that needs the length of a row in the space of rewards (`iirl_opt.rewards.geometry`) makes the dense
rows. Questions about size are asked within a domain (`iirl_opt.rewards.domains`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.certificate import Certificate, certify
from iirl_opt.checks import FLAG, POSITIVE, RNG, array_of_floats, checked, one_of, whole
from iirl_opt.errors import InvalidArgument, NotCertified, OnlyConstantRewards
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.occupancy.quantities import Quantity, composed, in_numbers
from iirl_opt.printing.records import Tabular
from iirl_opt.rewards.constant import SPREAD, TELLS_NOTHING, MaybeConstant, is_constant
from iirl_opt.rewards.domains import (
    DOMAIN,
    REWARD_ROWS,
    RewardBox,
    RewardDomain,
    RewardRows,
    domain_rows,
    searched,
)
from iirl_opt.rewards.geometry import Ball, Hull, Shortened, dimension
from iirl_opt.rewards.lifted_rows import Lifted
from iirl_opt.solver import Clarabel, Solved, Solver, linear_rows, solve
from iirl_opt.solver.records import SOLVER
from iirl_opt.solver.rules import EXPRESSION

__all__ = ["RewardPrograms", "RewardSet", "RewardSolution"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RewardSolution(Tabular, MaybeConstant):
    """A reward found in a set, and the evidence for it.

    Attributes
    ----------
    reward : shape (S,), or (S, A, B) for joint rewards.
    value : the optimal objective.
    solved : the solver's record with recomputed residuals.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> known = iirl.FeasibleRewards(game).observe([[1], [1]], [[0, 1], [1, 0]])
    >>> found = known.maximise([-1.0, 1.0])
    >>> found.reward.round(6).tolist(), round(found.value, 6), found.constant
    ([0.0, 1.0], 1.0, False)
    """

    reward: Array
    value: float
    solved: Solved

    def __repr__(self) -> str:
        kind = "a constant reward" if self.constant else f"a reward of spread {self.spread:.3g}"
        return f"RewardSolution(value {self.value:.9g}, {kind}, {self.solved.status.name})"

    @property
    def _reward_found(self) -> Array:
        return self.reward

    @property
    def spread(self) -> float:
        """The difference of the largest and the smallest reward: zero for a constant."""
        return float(np.ptp(self.reward))


@certify.register
def _of_solution(found: RewardSolution) -> Certificate:
    what = "a constant RewardSolution" if found.constant else "a RewardSolution"
    reason = "`witness(game, found.reward, observations)` proves that a reward explains them"
    if found.constant:
        reason = f"it is {TELLS_NOTHING}, so there is nothing to prove"
    raise NotCertified(what, reason)


class RewardPrograms(ABC):
    """A closed convex set of rewards of a game, and the programs over it."""

    game: TwoAgentMDP

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
        return self._limits(r)

    @abstractmethod
    def _limits(self, r: cp.Expression) -> list[cp.Constraint]:
        """Return constraints that hold r in the set."""

    @checked(domain=DOMAIN, subject_to=REWARD_ROWS, solver=SOLVER)
    def maximise(
        self,
        objective: ArrayLike,
        *,
        domain: RewardDomain | None = None,
        subject_to: RewardRows | None = None,
        solver: Solver | str | None = None,
    ) -> RewardSolution:
        """Return a reward of the set that maximises ``Σ objective · r``.

        Parameters
        ----------
        objective : shape (S,), or (S, A, B) to look among joint rewards.
        domain : where to look; the `RewardSimplex` by default.
        subject_to : rows of your own, as a function of the reward variable that returns them.

        Raises
        ------
        Infeasible, Unbounded
            The domain holds no reward of the set, or does not bound the objective.

        **Source** paper, the linear program of Section 4.2. **Cost** one LP.
        """
        c = in_numbers(self.game, objective, "objective")
        r = self._variable(joint=c.ndim == 3)
        problem = self._within(self._goal(c, r), r, domain, subject_to)
        return self._search(problem, r, c.shape, solver)

    @checked(domain=DOMAIN, subject_to=REWARD_ROWS)
    def problem(
        self,
        objective: Quantity,
        *,
        domain: RewardDomain | None = None,
        subject_to: RewardRows | None = None,
    ) -> cp.Problem:
        """Return the cvxpy problem that `maximise` solves, unsolved.

        Parameters
        ----------
        objective : as for `maximise`; or a `cvxpy.Parameter`, or what is affine in parameters, of
            shape (S,) or (S, A·B).
        """
        c = composed(self.game, objective, "objective")
        r = self._variable(joint=c.ndim > 1)
        return self._within(self._goal(c, r), r, domain, subject_to)

    @checked(domain=DOMAIN, subject_to=REWARD_ROWS, solver=SOLVER, norm=one_of(1, 2))
    def nearest(
        self,
        reward: ArrayLike,
        *,
        norm: Literal[1, 2] = 1,
        domain: RewardDomain | None = None,
        subject_to: RewardRows | None = None,
        solver: Solver | str | None = None,
    ) -> RewardSolution:
        """Return the reward of the set nearest to a given one; its ``value`` is the distance.

        Parameters
        ----------
        reward : shape (S,) or (S, A, B).
        norm : 1 (sum of absolute differences, an LP by HiGHS) or 2 (Euclidean, a second-order cone
            program by Clarabel; its square as a quadratic program is ill-conditioned near zero).
        domain : where to look; the `RewardSimplex` by default, so normalise `reward` likewise.
        subject_to : rows of your own, as a function of the reward variable that returns them.

        **Cost** one LP or one cone program.
        """
        target = in_numbers(self.game, reward)
        r = self._variable(joint=target.ndim == 3)
        difference = cp.vec(r, order="C") - target.ravel()
        distance = cp.norm1(difference) if norm == 1 else cp.norm2(difference)
        if norm == 2 and solver is None:
            solver = Clarabel()
        problem = self._within(cp.Minimize(distance), r, domain, subject_to)
        found = self._search(problem, r, target.shape, solver)
        away = float(np.linalg.norm(found.reward.ravel() - target.ravel(), ord=norm))
        return RewardSolution(found.reward, away, found.solved)

    @checked(domain=DOMAIN, solver=SOLVER, rng=RNG, spread=POSITIVE, joint=FLAG, tries=whole(1))
    def random_vertex(
        self,
        rng: int | np.random.Generator | None = None,
        *,
        joint: bool = False,
        domain: RewardDomain | None = None,
        solver: Solver | str | None = None,
        tries: int = 10,
        spread: float = SPREAD,
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
        options : others of the set's own `maximise`, such as the ``price`` of feasible rewards.

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
            if not is_constant(found.reward, spread):
                return found
        raise OnlyConstantRewards(tries, spread)

    @checked(domain=DOMAIN, solver=SOLVER, directions=array_of_floats(2))
    def widths(
        self,
        directions: ArrayLike | None = None,
        *,
        domain: RewardDomain | None = None,
        solver: Solver | str | None = None,
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
        r, c = self._variable(joint=False), cp.Parameter(self.game.n_states, name="objective")
        program = self._within(cp.Maximize(c @ r), r, domain)
        ends = np.empty((2, given.shape[0]))
        for side, sign in enumerate((1.0, -1.0)):
            for i, direction in enumerate(given):
                c.value = sign * direction
                ends[side, i] = solve(program, solver).value
        return np.asarray(np.maximum(ends.sum(axis=0), 0.0))

    def _searched(
        self, domain: RewardDomain | None, subject_to: RewardRows | None = None
    ) -> RewardDomain:
        """Return where to look; a set that has no meaning everywhere refuses some domains."""
        return searched(domain, subject_to)

    def _variable(self, *, joint: bool) -> cp.Variable:
        n_states, n_choices = self.game.n_states, self.game.n_choices
        return cp.Variable((n_states, n_choices) if joint else n_states, name="r")

    def _goal(self, objective: Array | cp.Expression, r: cp.Variable) -> cp.Maximize:
        if isinstance(objective, cp.Expression):
            # A product that stays plain, so that it can be solved warm for many values.
            state = r.ndim == 1
            return cp.Maximize(objective @ r if state else cp.sum(cp.multiply(objective, r)))
        return cp.Maximize(cp.sum(cp.multiply(objective.reshape(r.shape), r)))

    def _within(
        self,
        goal: cp.Minimize | cp.Maximize,
        r: cp.Variable,
        domain: RewardDomain | None,
        subject_to: RewardRows | None = None,
    ) -> cp.Problem:
        """Return the problem of an objective over the set and a domain, the simplex by default."""
        limits = domain_rows(self._searched(domain, subject_to), r)
        return cp.Problem(goal, self.constraints(r) + limits)

    def _search(
        self,
        problem: cp.Problem,
        r: cp.Variable,
        shape: tuple[int, ...],
        solver: Solver | str | None,
    ) -> RewardSolution:
        """Return the reward that solves a problem in r."""
        solved = solve(problem, solver)
        assert solved.value is not None
        return RewardSolution(np.array(r.value).reshape(shape), solved.value, solved)


class RewardSet(RewardPrograms):
    """A closed convex cone of rewards of a game."""

    @abstractmethod
    def lifted(self, r: cp.Expression) -> Lifted:
        """Return the set as constraints on r with value variables of its own."""

    @abstractmethod
    def explicit_rows(self, *, joint: bool = False) -> tuple[Array, Array]:
        """Return (G, E) with ``G r ≥ 0`` and ``E r = 0``, dense, over flat rewards."""

    def _limits(self, r: cp.Expression) -> list[cp.Constraint]:
        equalities, nonnegative = self.lifted(r)
        return [*equalities, *((e >= 0).set_label(label) for label, e in nonnegative)]

    @checked(joint=FLAG, solver=SOLVER)
    def dimension(self, *, joint: bool = False, solver: Solver | str | None = None) -> int:
        """Return the dimension of the cone: 1 when only constants are left, at most S (or S·A·B).

        A maximal number of rows is made strict at once; those that cannot be are equalities.

        **Cost** a few LPs and one singular value decomposition.
        """
        explicit = self.explicit_rows(joint=joint)
        r = self._variable(joint=joint)
        return dimension(self.lifted(r), explicit, RewardBox().constraints(r), solver)

    @checked(domain=DOMAIN, solver=SOLVER)
    def chebyshev_centre(
        self, *, domain: RewardDomain | None = None, solver: Solver | str | None = None
    ) -> Ball:
        """Return the centre and radius of the largest ball in the set, within its affine hull.

        For state rewards (S,).

        **Cost** a few LPs: all but the last find the affine hull.
        """
        return self._hull(domain, solver).ball(solver)

    @checked(domain=DOMAIN, solver=SOLVER, rng=RNG, n=whole(0), thin=whole(1), burn=whole(0))
    def sample(
        self,
        n: int,
        rng: int | np.random.Generator | None = None,
        *,
        domain: RewardDomain | None = None,
        solver: Solver | str | None = None,
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

        Raises
        ------
        InvalidArgument
            Nothing is inside what responses are declared to lose, or there are trajectories among
            the episodes.

        **Cost** a few LPs, then one product with the dense rows a step; and some linear systems for
        each response that may lose something, in whose set the ellipsoid is that of the rest.
        """
        hull, centre, shortened = self._walked(domain, solver)
        random = np.random.default_rng(rng)
        return hull.walk(centre, n, random, thin=thin, burn=burn, shortened=shortened)

    def _walked(
        self, domain: RewardDomain | None, solver: Solver | str | None
    ) -> tuple[Hull, Array, Shortened | None]:
        """Return where samples walk, from where, and what shortens a chord of it."""
        hull = self._hull(domain, solver)
        return hull, hull.ball(solver).centre, None

    def _hull(self, domain: RewardDomain | None, solver: Solver | str | None) -> Hull:
        """Return the set within its domain, with its implicit equalities found."""
        explicit = self.explicit_rows()
        r = self._variable(joint=False)
        own = linear_rows(domain_rows(self._searched(domain), r), r)
        return Hull.of(r, self.lifted(r), explicit, own, solver)
