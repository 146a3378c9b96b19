"""Sets of rewards: those that explain all observations (Theorem 1, Corollary 1), and others.

A reward r is *feasible* when in every episode t the response ``π2_t`` is optimal in the MDP that
the commitment ``π1_t`` left to the follower. With the value ``V_t`` of the episode this reads

    V_t = r̄_t + γ P_t V_t                                         (values)
    r̄_t − r̄_{t,b} + γ (P_t − P_{t,b}) V_t ≥ 0   for every action b  (optimal)

where ``r̄_t = Σ π1 π2 r`` and ``r̄_{t,b} = Σ_a π1 r(·, a, b)``; for state rewards the difference of
the r̄ vanishes. It is Corollary 1 lifted: eliminating V_t gives the printed inequalities with
``(I − γ P_t)^{-1}``, which is dense, while these rows are as sparse as the kernel. Multiplying by γ
as here repairs γ = 0, where every state reward is feasible and the printed rows are too strict.

Actions known to be optimal are tied: their rows are equalities (label ``tied``). Rows that are zero
or repeat another are left out, the rest are scaled to a largest entry of one. An observation that
repeats an earlier one stays among the episodes, but its rows stand once.

Programs are solved as they stand here, or by cuts over the explicit rows
(`iirl_opt.rewards.cuts`), whichever a measured rule says is faster.

The set is a closed convex cone that contains every constant reward. Without a domain such as
`RewardSimplex` its programs are unbounded.

Of a trajectory only visited actions are known to be optimal. The rewards that explain it are then
no convex set, and programs work on a cone around them (`iirl_opt.rewards.trajectories`): questions
about one reward (`contains`, `violations`, `slack`) stay exact, while what a program finds may
explain less than was seen, and what it excludes is excluded. `exact` says where the two agree.

A response may be declared suboptimal (`iirl_opt.rewards.suboptimal`): ``values[t]``, ``best[t]``
and ``loss[t]`` in place of the above. And what somebody prefers is a row more (``preferred[t]``,
`iirl_opt.rewards.preferences`). With a loss ε > 0 or a margin m > 0 the set is no cone: its unit is
that of ε and m, and constants are in it unless a margin leaves them out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Literal, get_args

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import told
from iirl_opt.checks import (
    FLAG,
    NOT_NEGATIVE,
    POSITIVE,
    Rule,
    array_of_floats,
    checked,
    each,
    is_a,
    one_of,
)
from iirl_opt.errors import Infeasible, InvalidArgument, SolverFailed
from iirl_opt.game.mdp import GAME
from iirl_opt.observation import Trajectory
from iirl_opt.occupancy.quantities import Quantity, composed, in_numbers
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable
from iirl_opt.rewards.cut_search import Cut, CutSearch
from iirl_opt.rewards.cuts import prefers_cuts
from iirl_opt.rewards.domains import (
    DOMAIN,
    REWARD_ROWS,
    CentredBox,
    NarrowedDomain,
    RewardBox,
    RewardDomain,
    RewardRows,
    UnitBox,
    domain_rows,
    least_reward,
)
from iirl_opt.rewards.geometry import THIN, Hull, Shortened
from iirl_opt.rewards.lifting import LiftedEpisodes
from iirl_opt.rewards.losing_chords import LosingChords
from iirl_opt.rewards.preferences import Preference, Preferred
from iirl_opt.rewards.price import exactly, priced
from iirl_opt.rewards.sets import RewardSolution
from iirl_opt.rewards.suboptimal import SuboptimalResponse
from iirl_opt.rewards.told import EPISODE, Seen
from iirl_opt.solver import HiGHS, Solver, solve
from iirl_opt.solver.records import SOLVER
from iirl_opt.spelling import allowed_names

__all__ = ["FeasibleRewards"]

Array = NDArray[np.float64]

# How a program is solved: by the rule, over the sparse lifted rows, or by cuts.
Method = Literal["choose", "lifted", "cuts"]


def _seen_as(seen: Seen) -> str:
    if isinstance(seen, Trajectory):
        return f"a trajectory of {seen.leader_actions.size} steps"
    if isinstance(seen, Preference):
        return f"a preference by {seen.by}"
    if seen.suboptimality is not None:
        return f"a response of {seen.suboptimality}"
    return "all optimal actions" if seen.whole else "a response"


@checked(game=GAME, episodes=each(EPISODE))
@dataclass(frozen=True, eq=False)
class FeasibleRewards(LiftedEpisodes, Tabular):
    """The rewards that explain all observations of a game: a polyhedral cone (Corollary 1).

    Immutable: `observe` returns a larger record and shares what is already computed. Rewards are
    (S,), or (S, A, B); in cvxpy the latter are expressions of shape (S, A·B) in C order.

    Examples
    --------
    >>> import numpy as np, iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> feasible = iirl.FeasibleRewards(game).observe([[1.0], [1.0]], [[0.0, 1.0], [1.0, 0.0]])
    >>> feasible.contains([0.0, 1.0]), feasible.contains([1.0, 0.0])
    (True, False)
    >>> feasible.maximise([1.0, 0.0]).reward
    array([0.5, 0.5])
    """

    def __repr__(self) -> str:
        sizes = {"episode": len(self.episodes), "row": self.count_rows()}
        counts = [f"{n} {what}{'' if n == 1 else 's'}" for what, n in sizes.items()]
        n_states, n_a, n_b = self.game.shape
        return told(self, *counts, f"of {n_states} states, {n_a}×{n_b} actions")

    def table(self) -> FactTable:
        """Return a row an episode: what was seen, and how many rows it added to the set."""
        added = {t: int(pool.counts.size) for t, pool in self._pools()}
        added |= {t: sum(x.at.size for x in rows) for t, _, rows in self._rows(joint=False)}
        added |= {t: e.count_rows for t, e in self._of_kind(SuboptimalResponse)}
        added |= {t: 1 for t, _ in self._of_kind(Preferred)}
        episodes = enumerate(self.seen, start=1)
        rows = [{"episode": t, "seen": _seen_as(x), "rows": added.get(t, 0)} for t, x in episodes]
        return FactTable(rows, repr(self))

    @checked(
        domain=DOMAIN,
        subject_to=REWARD_ROWS,
        solver=SOLVER,
        price=POSITIVE,
        method=one_of(*get_args(Method)),
    )
    def maximise(
        self,
        objective: ArrayLike,
        *,
        domain: RewardDomain | None = None,
        subject_to: RewardRows | None = None,
        solver: Solver | str | None = None,
        method: Method = "choose",
        price: float | None = None,
    ) -> RewardSolution:
        """Return a reward of the set that maximises ``Σ objective · r``.

        Parameters
        ----------
        objective : shape (S,), or (S, A, B) to look among joint rewards.
        domain : where to look; the `RewardSimplex` by default.
        subject_to : rows of your own, as a function of the reward variable that returns them.
        method : ``"lifted"`` solves one sparse program with value variables; ``"cuts"`` adds
            explicit rows while any is violated, for state rewards, a domain of plain rows and a
            simplex method of HiGHS, and the lifted program has the last word where one of these
            is not given or the cuts find no optimum, or one with residuals that it could better;
            ``"choose"`` takes the faster by `iirl_opt.rewards.cuts.prefers_cuts`. The optimum is
            the same, and so is the record.
        price : > 0, of a unit of `slack`, where observations may be violated. The value is then
            less by what they cost, ``price · Σ slack`` (for trajectories, at most that). By default
            nothing is violated.

        Raises
        ------
        Infeasible, Unbounded
            The domain holds no reward of the set, or does not bound the objective.

        **Source** paper, the linear program of Section 4.2. **Cost** one LP.
        """
        c = in_numbers(self.game, objective, "objective")
        found = None
        where = self._searched(domain, subject_to)
        if c.ndim == 1 and (cuts := self._cuts(where, solver, method, price)) is not None:
            found = cuts.maximise(c)
        if found is not None and found.sure:
            return found.solution
        program, r = self._program(c, where, price)
        try:
            return self._search(program, r, c.shape, solver)
        except SolverFailed:
            if found is None:
                raise
            return found.solution

    @checked(domain=DOMAIN, subject_to=REWARD_ROWS, price=POSITIVE)
    def problem(
        self,
        objective: Quantity,
        *,
        domain: RewardDomain | None = None,
        subject_to: RewardRows | None = None,
        price: float | None = None,
    ) -> cp.Problem:
        """Return the cvxpy problem that `maximise` solves, unsolved.

        Parameters
        ----------
        objective : as for `maximise`; or a `cvxpy.Parameter`, or what is affine in parameters, of
            shape (S,) or (S, A·B).
        """
        goal = composed(self.game, objective, "objective")
        return self._program(goal, self._searched(domain, subject_to), price)[0]

    def _program(
        self, c: Array | cp.Expression, where: RewardDomain, price: float | None
    ) -> tuple[cp.Problem, cp.Variable]:
        joint = c.ndim > 1
        r = self._variable(joint=joint)
        goal = self._goal(c, r)
        floor = None if joint else least_reward(where)
        rows = self._lifted_rows(r, floor)
        rows.sort(key=lambda part: part.kind == "least")
        if price is None:
            limits = [exactly(part) for part in rows]
            return cp.Problem(goal, limits + domain_rows(where, r)), r
        limits, costs = priced(rows, price)
        goal = cp.Maximize(goal.args[0] - sum(costs))
        return cp.Problem(goal, limits + domain_rows(where, r)), r

    @checked(
        domain=DOMAIN,
        solver=SOLVER,
        directions=array_of_floats(2),
        method=one_of(*get_args(Method)),
    )
    def widths(
        self,
        directions: ArrayLike | None = None,
        *,
        domain: RewardDomain | None = None,
        solver: Solver | str | None = None,
        method: Method = "choose",
    ) -> Array:
        """Return how far the set extends in each direction: ``max c·r − min c·r``, shape (k,).

        Parameters
        ----------
        directions : shape (k, S); the S unit vectors by default, so that entry s says how uncertain
            the reward of state s is.
        method : as for `maximise`.

        **Cost** 2k LPs, compiled once.
        """
        cuts = self._cuts(self._searched(domain), solver, method)
        given = np.eye(self.game.n_states) if directions is None else np.asarray(directions, float)
        found: list[Cut] = []
        if cuts is not None and given.ndim == 2 and given.shape[1] == self.game.n_states:
            ends = [cuts.maximise(sign * c) for sign in (1.0, -1.0) for c in given]
            found = [cut for cut in ends if cut is not None]
        whole = bool(found) and len(found) == 2 * len(given)
        if not (whole and all(cut.sure for cut in found)):
            try:
                return super().widths(directions, domain=domain, solver=solver)
            except SolverFailed:
                if not whole:
                    raise
        values = np.reshape([cut.solution.value for cut in found], (2, -1))
        return np.asarray(np.maximum(values.sum(axis=0), 0.0))

    def _cuts(
        self,
        where: RewardDomain,
        solver: Solver | str | None,
        method: Method,
        price: float | None = None,
    ) -> CutSearch | None:
        """Return the set within a domain as a program by cuts, where possible and wanted."""
        if method not in get_args(Method):
            allowed = allowed_names(method, get_args(Method))
            raise InvalidArgument("method", f"is {method!r}", allowed, method)
        chosen = HiGHS() if solver is None else solver
        possible = isinstance(chosen, HiGHS) and chosen.method in ("choose", "simplex")
        if method == "lifted" or not possible or not self._all_whole:
            return None
        distinct = list(self._distinct())
        blocks = [episode.block for _, episode in distinct]
        if method == "choose" and not prefers_cuts(blocks):
            return None
        assert isinstance(chosen, HiGHS)
        repeats = Counter(map(id, self.episodes))
        prices = None
        if price is not None:
            prices = [price * repeats[id(episode)] * episode.sizes for _, episode in distinct]
        names = [t for t, _ in distinct]
        return CutSearch.of(blocks, names, where, self.game.n_states, chosen, prices)

    @checked(penalty=NOT_NEGATIVE, bound=POSITIVE, solver=SOLVER)
    def max_margin(
        self, *, penalty: float = 0.0, bound: float = 1.0, solver: Solver | str | None = None
    ) -> RewardSolution:
        """Return the state reward under which the responses are best by the largest margin.

        Maximises ``Σ_t Σ_s min_b (V_t(s) − Q_t(s, b)) − penalty · ‖r‖₁`` over feasible rewards with
        ``|r| ≤ bound``, b running over the actions that are not known to be optimal. The bound
        makes it well posed: rewards form a cone, so without it the margin is zero or unbounded. A
        state in which every action is known to be optimal adds nothing; so with one action the
        margin is zero for every reward, and a positive penalty leaves r = 0.

        Parameters
        ----------
        penalty : ≥ 0, on the sum of absolute rewards.
        bound : > 0, on each reward.

        **Source** Ng & Russell 2000, their linear program for a known policy. **Cost** one LP.
        """
        episodes = self._whole()
        r = self._variable(joint=False)
        equalities, _ = self.lifted(r)
        values = [v for c in equalities for v in c.variables() if v.id != r.id]
        by_episode = {v.name(): v for v in values}
        limits = [*equalities, *RewardBox(bound).constraints(r)]
        goal = -penalty * cp.norm1(r) if penalty else 0.0
        first = {id(episode): t for t, episode in self._distinct()}
        for t, episode in enumerate(episodes, start=1):
            gaps, state = episode.open_gaps
            if len(state):
                margin = cp.Variable(len(np.unique(state)), nonneg=True, name=f"margin[{t}]")
                _, position = np.unique(state, return_inverse=True)
                rows = gaps @ by_episode[f"V[{first[id(episode)]}]"] >= margin[position]
                limits.append(rows.set_label(f"margin[{t}]"))
                goal = goal + cp.sum(margin)
        problem = cp.Problem(cp.Maximize(goal), limits)
        return self._search(problem, r, (self.game.n_states,), solver)

    def _hull(self, domain: RewardDomain | None, solver: Solver | str | None) -> Hull:
        said = [preference for _, preference in self._of_kind(Preferred)]
        if not said:
            return super()._hull(domain, solver)

        def preferred(r: cp.Expression) -> list[cp.Constraint]:
            return [exactly(row) for p in said for row in p.rows(1, r, joint=False)]

        without = tuple(e for e in self.episodes if not isinstance(e, Preferred))
        narrowed = NarrowedDomain(self._searched(domain), preferred)
        return super(FeasibleRewards, replace(self, episodes=without))._hull(narrowed, solver)

    def _walked(
        self, domain: RewardDomain | None, solver: Solver | str | None
    ) -> tuple[Hull, Array, Shortened | None]:
        """Return where samples walk; responses that may lose something shorten its chords."""
        losing = [episode for _, episode in self._of_kind(SuboptimalResponse)]
        if not losing:
            return super()._walked(domain, solver)
        others = tuple(e for e in self.episodes if not isinstance(e, SuboptimalResponse))
        hull = replace(self, episodes=others)._hull(self._searched(domain), solver)
        rows = self._suboptimal_rows(hull.r, {}, joint=False)

        def beside(radius: cp.Variable) -> list[cp.Constraint]:
            return [exactly(x) if x.weight is None else x.value >= radius for x in rows]

        ball = hull.ball(solver, beside)
        if ball.radius <= THIN:
            said = "hold no reward inside what is declared"
            raise InvalidArgument("the losses", said, "some that leave room", losing)
        return hull, ball.centre, LosingChords(losing).shortened

    @checked(joint=FLAG, spread=POSITIVE, solver=SOLVER)
    def is_informative(
        self, *, joint: bool = False, spread: float = 1e-6, solver: Solver | str | None = None
    ) -> bool:
        """Return whether some reward other than a constant explains all observations.

        Unless the set is `exact`, only "no" is certain.

        Asked by maximising a random direction and its opposite over the feasible rewards that sum
        to zero within a box: some reward is there iff one of the two is positive, with probability
        one.

        **Cost** one or two LPs.
        """
        direction = np.random.default_rng(0).uniform(-1, 1, self._variable(joint=joint).shape)
        shape = self.game.shape if joint else direction.shape
        where: RewardDomain = CentredBox()
        if any(e.declared.share is not None for _, e in self._of_kind(SuboptimalResponse)):
            where, direction = UnitBox(), direction - direction.mean()
        if any(e.observation.by for _, e in self._of_kind(Preferred)):
            return self._is_met(where, joint=joint, solver=solver)
        for sign in (1.0, -1.0):
            found = self.maximise((sign * direction).reshape(shape), domain=where, solver=solver)
            if found.spread > spread:
                return True
        return False

    def _is_met(self, where: RewardDomain, *, joint: bool, solver: Solver | str | None) -> bool:
        """Return whether any reward meets margins, which no constant does, whatever its unit."""
        r = self._variable(joint=joint)
        signed = [r >= 0] if isinstance(where, UnitBox) else []
        try:
            solve(cp.Problem(cp.Minimize(0), [*self._limits(r), *signed]), solver)
        except Infeasible:
            return False
        return True

    @checked(solver=SOLVER)
    def explain_infeasibility(
        self, *, solver: Solver | str | None = None
    ) -> tuple[int, ...] | None:
        """Return episodes that no non-constant state reward explains together, or None.

        The answer is minimal: without any one of them some non-constant reward explains the rest.
        Unless the set is `exact`, None is no proof that there are no such episodes.
        Counted from 1.

        **Cost** at most two LPs an episode.
        """
        if self.is_informative(solver=solver):
            return None
        kept = list(range(len(self.episodes)))
        for t in range(len(self.episodes)):
            fewer = [i for i in kept if i != t]
            subset = FeasibleRewards(self.game, tuple(self.episodes[i] for i in fewer))
            if not subset.is_informative(solver=solver):
                kept = fewer
        return tuple(t + 1 for t in kept)


# What an argument `feasible` may be.
FEASIBLE: Rule = is_a(FeasibleRewards)
