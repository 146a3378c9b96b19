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
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple, get_args

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

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
from iirl_opt.errors import InvalidArgument, InvalidObservation, InvalidReward
from iirl_opt.game.exact import exact_gaps
from iirl_opt.game.kernel import Matrix, is_sparse
from iirl_opt.game.mdp import GAME, MDP, TwoAgentMDP
from iirl_opt.game.values import Gaps, check_reward, follower_gaps
from iirl_opt.observation import SEEN, Observation, Trajectory, check_trajectory, observe
from iirl_opt.rewards.cuts import Block, CutProgram, lift, prefers_cuts
from iirl_opt.rewards.domains import (
    DOMAIN,
    Lifted,
    RewardBox,
    RewardDomain,
    RewardSet,
    RewardSimplex,
    RewardSolution,
)
from iirl_opt.rewards.soft import Rows, exactly, priced
from iirl_opt.rewards.trajectories import Environment, PartialResponse, count_pairs
from iirl_opt.solver import HiGHS, Solver
from iirl_opt.solver.linear import LinearProgram, read_linear
from iirl_opt.solver.records import SOLVER
from iirl_opt.solver.rules import EXPRESSION

__all__ = ["DistinctRows", "FeasibleRewards", "ViolatedRow"]

Array = NDArray[np.float64]

# Entries of P_t − P_{t,b} below this are rounding of equal probabilities.
ZERO = 1e-12

# Gaps within this share of the local scale are none, in a report.
SHARE = 1e-9

# How a program is solved: by the rule, over the sparse lifted rows, or by cuts.
Method = Literal["choose", "lifted", "cuts"]


class ViolatedRow(NamedTuple):
    """An observed action that a reward does not explain.

    Attributes
    ----------
    episode : counted from 1.
    state : label.
    action : the follower action that would have been better, or (when tied) is worse than played.
    slack : by how much; in the unit of the values.
    """

    episode: int
    state: Any
    action: Any
    slack: float


class DistinctRows(NamedTuple):
    """The set as half-spaces ``rows @ r ≥ 0`` and equations ``ties @ r = 0`` of state rewards.

    No row is zero, none repeats another, and each is scaled to a largest entry of one.

    Attributes
    ----------
    rows : shape (m, S).
    episode, state, action : positions from 0, shape (m,): where each row comes from; the first of
        those that agree.
        The row says that `action` is not better in `state` than the response of `episode`.
    ties : shape (k, S), of actions that were played beside others.
    tie_episode, tie_state, tie_action : shape (k,).
    """

    rows: Array
    episode: NDArray[np.int64]
    state: NDArray[np.int64]
    action: NDArray[np.int64]
    ties: Array
    tie_episode: NDArray[np.int64]
    tie_state: NDArray[np.int64]
    tie_action: NDArray[np.int64]


class _Rows(NamedTuple):
    """Rows ``on_r @ r + on_v @ V`` of one episode; `on_r` is None for state rewards.

    Row i speaks of the state and action s·B + b = ``at[i]``; times ``size[i]`` it is the sum of the
    gaps ``V(s) − Q(s, b)`` of that action and of all whose rows are multiples of its own.
    """

    on_r: Matrix | None
    on_v: Matrix
    at: NDArray[np.int64]
    size: Array


@dataclass(frozen=True, eq=False)
class _Episode:
    """One observation with what the programs need of it."""

    game: TwoAgentMDP
    observation: Observation

    @cached_property
    def mdp(self) -> MDP:
        return self.game.follower_mdp(self.observation.pi1)

    @cached_property
    def chain(self) -> Matrix:
        return self.mdp.chain(self.observation.pi2)

    @property
    def played(self) -> NDArray[np.bool_]:
        """Which actions are known to be optimal, shape (S, B)."""
        return self.observation.played

    def gaps(self, reward: ArrayLike) -> Gaps:
        """Return ``V(s) − Q(s, b)`` under the response."""
        return follower_gaps(self.game, reward, self.observation.pi1, self.observation.pi2)

    def exact_gaps(self, reward: ArrayLike) -> NDArray[Any]:
        """Return ``V(s) − Q(s, b)`` under the response in Fractions, shape (S, B)."""
        return exact_gaps(self.game, reward, self.observation.pi1, self.observation.pi2)

    @cached_property
    def mean_reward(self) -> Matrix:
        """The (S, S·A·B) matrix of ``r ↦ r̄`` for joint rewards."""
        o = self.observation
        return _spread(o.pi1[:, :, None] * o.pi2[:, None, :])

    @property
    def open_gaps(self) -> tuple[Matrix, NDArray[np.int64]]:
        """Rows ``gap = rows @ V`` of state rewards for the actions not known to be optimal.

        Unscaled, with the state of each.
        """
        n_states, n_actions = self.mdp.shape
        state = np.repeat(np.arange(n_states), n_actions)
        gaps = sp.csr_array(self.chain)[state] - self.mdp.matrix
        wanted = np.flatnonzero(~self.observation.played.ravel())
        return self.game.discount * sp.csr_array(gaps)[wanted], state[wanted]

    @cached_property
    def block(self) -> Block:
        """The rows of state rewards, lifted and explicit."""
        free, tied = self.state_rows
        return Block(self.flow, free.on_v, tied.on_v)

    @property
    def sizes(self) -> Array:
        """What the rows of the block were divided by, shape (rows,)."""
        return np.concatenate([rows.size for rows in self.state_rows])

    @property
    def flow(self) -> Matrix:
        """The matrix I − γP_t."""
        eye: Any = sp.eye_array(self.game.n_states, format="csc")
        return sp.csc_array(eye - self.game.discount * sp.csc_array(self.chain))

    def explicit(self, joint: bool) -> tuple[Array, Array]:
        """Return the free and the tied lifted rows with the value variable eliminated."""
        if not joint:
            whole = self.block.rows * self.block.size[:, None]
            return whole[: self.block.free.shape[0]], whole[self.block.free.shape[0] :]
        free, tied = (self._eliminated(rows) for rows in self.joint_rows)
        return free, tied

    def _eliminated(self, rows: _Rows) -> Array:
        assert rows.on_r is not None
        dense = np.ascontiguousarray(rows.on_v.toarray().T)
        through_v = self.block.splu.solve(dense, trans="T").T if dense.size else dense.T
        return np.asarray(through_v @ self.mean_reward.toarray() + rows.on_r.toarray())

    @cached_property
    def state_rows(self) -> tuple[_Rows, _Rows]:
        return self._rows(joint=False)

    @cached_property
    def joint_rows(self) -> tuple[_Rows, _Rows]:
        return self._rows(joint=True)

    def _rows(self, joint: bool) -> tuple[_Rows, _Rows]:
        """Return the rows of actions not known to be optimal (≥ 0), and of tied ones (= 0)."""
        n_states, n_actions = self.mdp.shape
        repeat = np.repeat(np.arange(n_states), n_actions)
        gamma = self.game.discount
        on_v = gamma * sp.csr_array(sp.csr_array(self.chain)[repeat] - self.mdp.matrix)
        on_r = None
        if joint:
            pi1 = self.observation.pi1
            each = np.zeros((n_states, n_actions, *self.game.shape[1:]))
            actions = np.arange(n_actions)
            each[:, actions, :, actions] = pi1[None, :, :]
            flat = each.reshape(n_states * n_actions, *self.game.shape[1:])
            own = _spread(flat, repeat, n_states)
            on_r = sp.csr_array(sp.csr_array(self.mean_reward)[repeat] - own)
        played = self.observation.played
        alone = played & (played.sum(axis=1, keepdims=True) == 1)
        tied = (played & ~alone).ravel()
        return _tidy(on_r, on_v, ~played.ravel()), _tidy(on_r, on_v, tied)


@dataclass(frozen=True, eq=False)
class _Watched:
    """One trajectory; those under the same commitment share its environment."""

    observation: Trajectory
    environment: Environment

    @cached_property
    def played(self) -> NDArray[np.bool_]:
        """Which actions are known to be optimal, shape (S, B)."""
        return count_pairs(self.observation, self.environment.game.n_follower_actions) > 0

    def gaps(self, reward: ArrayLike) -> Gaps:
        """Return ``V*(s) − Q*(s, b)``."""
        return self.environment.gaps(reward)

    def exact_gaps(self, reward: ArrayLike) -> NDArray[Any]:
        """Return ``V*(s) − Q*(s, b)`` in Fractions, shape (S, B)."""
        return self.environment.exact_gaps(reward)


@checked(game=GAME, episodes=each(is_a(_Episode, _Watched)))
@dataclass(frozen=True, eq=False)
class FeasibleRewards(RewardSet):
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

    game: TwoAgentMDP
    episodes: tuple[_Episode | _Watched, ...] = ()

    def observe(self, pi1: ArrayLike, response: Trajectory | ArrayLike) -> FeasibleRewards:
        """Return the rewards that also explain `response` to the commitment `pi1`.

        Parameters
        ----------
        pi1 : shape (S, A).
        response : policy (S, B), deterministic or stochastic, or a boolean mask of all optimal
            actions; or a trajectory of an optimal follower under this commitment.

        Raises
        ------
        InvalidPolicy, InvalidObservation
            It is no response, or a trajectory of another game or commitment.

        **Cost** arithmetic.
        """
        if not isinstance(response, Trajectory):
            return self.add(observe(self.game, pi1, response))
        if not np.array_equal(response.pi1, self.game.check_leader_policy(pi1)):
            raise InvalidObservation(
                "pi1", "is not what the trajectory was played under", "the same", pi1
            )
        return self.add(response)

    @checked(observation=SEEN)
    def add(self, observation: Observation | Trajectory) -> FeasibleRewards:
        """Return the rewards that also explain an observation of this game.

        A response that repeats an earlier one, action for action, adds an episode and no rows.
        """
        episode: _Episode | _Watched
        if isinstance(observation, Trajectory):
            check_trajectory(self.game, observation)
            under = (
                e.environment
                for e in self.episodes
                if isinstance(e, _Watched) and np.array_equal(e.environment.pi1, observation.pi1)
            )
            environment = next(under, None) or Environment(self.game, observation.pi1)
            episode = _Watched(observation, environment)
        else:
            known = (e for _, e in self._distinct() if _same(e.observation, observation))
            episode = next(known, None) or _Episode(self.game, observation)
        return FeasibleRewards(self.game, (*self.episodes, episode))

    @property
    def seen(self) -> tuple[Observation | Trajectory, ...]:
        """All responses and trajectories in the order in which they were observed."""
        return tuple(episode.observation for episode in self.episodes)

    @property
    def observations(self) -> tuple[Observation, ...]:
        """All observations in the order in which they were made, where these are whole responses.

        Raises
        ------
        InvalidArgument
            There is a trajectory among them.
        """
        return tuple(episode.observation for episode in self._whole())

    @property
    def exact(self) -> bool:
        """Whether programs work on the very set of state rewards that explain everything.

        True without trajectories, and where what was seen under each commitment leads nowhere
        else; otherwise they work on a larger cone. **Cost** arithmetic.
        """
        return all(pool.closed for _, pool in self._pools())

    def __repr__(self) -> str:
        counts = f"{len(self.episodes)} episodes, {self.count_rows()} rows"
        return f"FeasibleRewards({self.game!r}, {counts})"

    @checked(joint=FLAG)
    def count_rows(self, *, joint: bool = False) -> int:
        """Return the number of rows beside the values: zeros and repetitions left out."""
        pairs = sum(int(pool.counts.size) for _, pool in self._pools())
        lifted = [part.at.size for _, _, rows in self._rows(joint) for part in rows]
        return pairs + sum(lifted)

    def gaps(self, reward: ArrayLike) -> Array:
        """Return ``V_t(s) − Q_t(s, b)`` under each response, shape (T, S, B).

        A reward is feasible iff no entry is negative and those of tied actions are zero. Of a
        trajectory the values are the optimal ones.

        **Cost** arithmetic: one linear system an episode, one planning problem a trajectory.
        """
        r = check_reward(self.game, reward)
        return np.array([episode.gaps(r).gaps for episode in self.episodes]).reshape(self._shape)

    def slack(self, reward: ArrayLike) -> Array:
        """Return how far each observed choice is violated, ≥ 0, shape (T, S, B).

        By how much an action is better than the response, and by how much one that is known to be
        optimal is no better or worse than it: zero everywhere iff the reward is feasible.

        **Cost** as `gaps`.
        """
        return violated_by(self.gaps(reward), self._played)

    @property
    def _shape(self) -> tuple[int, int, int]:
        """The number of episodes, states and follower actions."""
        return (len(self.episodes), self.game.n_states, self.game.n_follower_actions)

    @property
    def _played(self) -> NDArray[np.bool_]:
        """Which actions are known to be optimal in which episode, (T, S, B)."""
        return np.array([e.played for e in self.episodes], dtype=bool).reshape(self._shape)

    @checked(tolerance=POSITIVE, exact=FLAG)
    def violations(
        self, reward: ArrayLike, *, tolerance: float | None = None, exact: bool = False
    ) -> tuple[ViolatedRow, ...]:
        """Return every observed choice that the reward does not explain, the worst first.

        Parameters
        ----------
        tolerance : gaps up to this are none, in the unit of values; by default those within
            rounding, or within 1e-9 of the local scale: that of what the response meets from there
            (`local_scale`), so that rewards which nobody meets excuse nothing.
        exact : decide in rational arithmetic, every number being what it is. (Floats that are
            rounded rarely explain a tie exactly.)

        Raises
        ------
        InvalidReward, InvalidArgument
        NotExact
            An exact answer takes a linear system that is too large for what is installed.

        **Cost** arithmetic, as `gaps`; exact linear systems if asked for.
        """
        check_reward(self.game, reward)
        allowed: Array | float = 0.0 if tolerance is None else tolerance
        if exact:
            parts = [episode.exact_gaps(reward) for episode in self.episodes]
            gaps = np.array(parts, dtype=object).reshape(self._shape)
            allowed = 0.0
        else:
            found = [episode.gaps(reward) for episode in self.episodes]
            gaps = np.array([each.gaps for each in found]).reshape(self._shape)
            if tolerance is None:
                local = [np.maximum(each.widths, SHARE * each.scale[:, None]) for each in found]
                allowed = np.array(local).reshape(self._shape)
        slack = violated_by(gaps, self._played)
        wrong = np.array(slack > allowed, dtype=bool)
        order = np.argsort(-slack[wrong].astype(float), kind="stable")
        states, actions = self.game.states, self.game.follower_actions
        return tuple(
            ViolatedRow(int(t) + 1, states[s], actions[b], float(slack[t, s, b]))
            for t, s, b in np.argwhere(wrong)[order]
        )

    @checked(tolerance=POSITIVE, exact=FLAG)
    def contains(
        self, reward: ArrayLike, *, tolerance: float | None = None, exact: bool = False
    ) -> bool:
        """Return whether the reward explains every observation; the set is closed.

        The parameters, errors and the cost are those of `violations`.
        """
        return not self.violations(reward, tolerance=tolerance, exact=exact)

    @checked(r=EXPRESSION)
    def lifted(self, r: cp.Expression) -> Lifted:
        """Return the set as ``values[t]`` and ``tied[t]`` (equalities) and ``optimal[t]`` (≥ 0).

        Episodes that repeat an earlier one have none. Trajectories are ``seen[t]`` and ``idle[t]``
        (equalities) and ``unseen[t]`` (≥ 0), once a commitment.

        Parameters
        ----------
        r : affine expression of shape (S,), or (S, A·B) for a joint reward.
        """
        rows = self._lifted_rows(r)
        equalities = [exactly(part) for part in rows if part.kind != "least"]
        nonnegative = [(part.label, part.value) for part in rows if part.kind == "least"]
        return Lifted(equalities, nonnegative)

    def _lifted_rows(self, r: cp.Expression, floor: float | None = None) -> list[Rows]:
        """Return the rows of the set, within a domain of state rewards of at least `floor`."""
        joint = self._is_joint(r)
        flat = cp.vec(r, order="C") if joint else r
        n_states = self.game.n_states
        rows: list[Rows] = []
        repeats = Counter(map(id, self.episodes))
        for t, episode, (free, tied) in self._rows(joint):
            v = cp.Variable(n_states, name=f"V[{t}]")
            mean = episode.mean_reward @ flat if joint else flat
            rows.append(Rows(f"values[{t}]", episode.flow.tocsr() @ v - mean, "equal", None))
            often = repeats[id(episode)]
            if tied.on_v.shape[0]:
                value = _apply(tied, flat, v)
                rows.append(Rows(f"tied[{t}]", value, "equal", often * tied.size))
            if free.on_v.shape[0]:
                value = _apply(free, flat, v)
                rows.append(Rows(f"optimal[{t}]", value, "least", often * free.size))
        for t, pool in self._pools():
            v = cp.Variable(n_states, name=f"V[{t}]")
            rows += pool.rows(t, flat, v, joint=joint, floor=floor)
        return rows

    @checked(joint=FLAG)
    def explicit_rows(self, *, joint: bool = False) -> tuple[Array, Array]:
        """Return (G, E) with ``G r ≥ 0`` and ``E r = 0`` over flat rewards: Corollary 1 as printed.

        Rows stand in the order of `lifted`, are scaled as there and carry the factor γ. Dense:
        (rows, S) or (rows, S·A·B).

        Raises
        ------
        InvalidArgument
            There is a trajectory: the cone of its rewards has no such rows.

        **Cost** arithmetic: one factorisation an episode, and a solve a row; for state rewards once
        an episode, whatever set it belongs to.
        """
        self._whole()
        width = self.game.matrix.shape[0] if joint else self.game.n_states
        parts = [episode.explicit(joint) for _, episode in self._distinct()]
        empty = np.zeros((0, width))
        free, tied = (np.concatenate([empty, *(pair[i] for pair in parts)]) for i in (0, 1))
        return free, tied

    def distinct_rows(self) -> DistinctRows:
        """Return the explicit rows of state rewards without repetitions, and whence they come.

        Raises
        ------
        InvalidArgument
            There is a trajectory: the cone of its rewards has no such rows.

        **Cost** arithmetic: the rows of an episode are made once and shared by all sets that
        contain it, so after one more observation this costs one factorisation, a solve a row of the
        new episode, and a copy of all rows.
        """
        n_states, n_actions = self.game.n_states, self.game.n_follower_actions
        self._whole()
        known = list(self._rows(joint=False))
        parts: list[Any] = []
        for side, held in enumerate(
            [
                [e.block.rows[: e.block.free.shape[0]] for _, e, _ in known],
                [e.block.rows[e.block.free.shape[0] :] for _, e, _ in known],
            ]
        ):
            rows = np.concatenate([np.zeros((0, n_states)), *held])
            of = np.repeat([t for t, _, _ in known], [len(part) for part in held])
            at = np.concatenate([np.zeros(0, np.int64), *(pair[side].at for _, _, pair in known)])
            first = _first_of_equals(rows)
            of, at = of[first].astype(np.int64), at[first]
            parts += [rows[first], of, at // n_actions, at % n_actions]
        return DistinctRows(*parts)

    @checked(points=array_of_floats(2, error=InvalidReward), ceilings=FLAG)
    def outer_rows(self, points: ArrayLike, *, ceilings: bool = True) -> Array:
        """Return half-spaces ``g·r ≥ 0`` of the trajectories that cut off given points.

        They hold every reward of the simplex that explains the trajectories. Their cone has too
        many rows to list; these are some, for methods that need rows, where they are needed. Of
        responses see `distinct_rows`.

        Parameters
        ----------
        points : state rewards in the simplex, shape (k, S).
        ceilings : whether rows may use that rewards are at least zero; without, they are zero on
            constants up to rounding, as the rows of responses are.

        Returns
        -------
        rows of norm one, shape (m, S), at most one a point and commitment.

        **Cost** k LPs a commitment, hot.
        """
        given = np.asarray(points, dtype=float)
        if given.ndim != 2 or given.shape[1] != self.game.n_states:
            allowed = f"(k, {self.game.n_states})"
            raise InvalidArgument("points", f"have shape {given.shape}", allowed, given.shape)
        rows = [pool.outer_rows(given, ceilings=ceilings) for _, pool in self._pools()]
        return np.concatenate([np.zeros((0, self.game.n_states)), *rows])

    @checked(domain=DOMAIN, solver=SOLVER, price=POSITIVE, method=one_of(*get_args(Method)))
    def maximise(
        self,
        objective: ArrayLike,
        *,
        domain: RewardDomain | None = None,
        solver: Solver | None = None,
        method: Method = "choose",
        price: float | None = None,
    ) -> RewardSolution:
        """Return a reward of the set that maximises ``Σ objective · r``.

        Parameters
        ----------
        objective : shape (S,), or (S, A, B) to look among joint rewards.
        domain : where to look; the `RewardSimplex` by default.
        method : ``"lifted"`` solves one sparse program with value variables; ``"cuts"`` adds
            explicit rows while any is violated, for state rewards, a domain of plain rows and a
            simplex method of HiGHS, and the lifted program has the last word where one of these
            is not given or the cuts find no optimum; ``"choose"`` takes the faster by
            `iirl_opt.rewards.cuts.prefers_cuts`. The optimum is the same, and so is the record.
        price : > 0, of a unit of `slack`, where observations may be violated. The value is then
            less by what they cost, ``price · Σ slack`` (for trajectories, at most that). By default
            nothing is violated.

        Raises
        ------
        Infeasible, Unbounded
            The domain holds no reward of the set, or does not bound the objective.

        **Source** paper, the linear program of Section 4.2. **Cost** one LP.
        """
        c = check_reward(self.game, objective)
        if c.ndim == 1 and (cuts := self._cuts(domain, solver, method, price)) is not None:
            found = cuts.maximise(c)
            if found is not None:
                return found
        program, r = self._program(c, domain, price)
        return self._search(program.objective, r, c.shape, program.constraints, solver)

    @checked(domain=DOMAIN, price=POSITIVE)
    def problem(
        self,
        objective: ArrayLike,
        *,
        domain: RewardDomain | None = None,
        price: float | None = None,
    ) -> cp.Problem:
        """Return the cvxpy problem that `maximise` solves, unsolved."""
        return self._program(check_reward(self.game, objective), domain, price)[0]

    def _program(
        self, c: Array, domain: RewardDomain | None, price: float | None
    ) -> tuple[cp.Problem, cp.Variable]:
        r = self._variable(joint=c.ndim == 3)
        where = RewardSimplex() if domain is None else domain
        goal = self._goal(c, r)
        floor = None if c.ndim == 3 else _floor(where)
        rows = self._lifted_rows(r, floor)
        rows.sort(key=lambda part: part.kind == "least")
        if price is None:
            limits = [exactly(part) for part in rows]
            return cp.Problem(goal, limits + where.constraints(r)), r
        limits, costs = priced(rows, price)
        goal = cp.Maximize(goal.args[0] - sum(costs))
        return cp.Problem(goal, limits + where.constraints(r)), r

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
        solver: Solver | None = None,
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
        cuts = self._cuts(domain, solver, method)
        given = np.eye(self.game.n_states) if directions is None else np.asarray(directions, float)
        if cuts is not None and given.ndim == 2 and given.shape[1] == self.game.n_states:
            ends = [[cuts.maximise(sign * c) for c in given] for sign in (1.0, -1.0)]
            values = [found.value for side in ends for found in side if found is not None]
            if len(values) == 2 * len(given):
                return np.asarray(np.maximum(np.reshape(values, (2, -1)).sum(axis=0), 0.0))
        return super().widths(directions, domain=domain, solver=solver)

    def _cuts(
        self,
        domain: RewardDomain | None,
        solver: Solver | None,
        method: Method,
        price: float | None = None,
    ) -> _Cuts | None:
        """Return the set within a domain as a program by cuts, where possible and wanted."""
        if method not in get_args(Method):
            allowed = ", ".join(get_args(Method))
            raise InvalidArgument("method", f"is {method!r}", allowed, method)
        chosen = HiGHS() if solver is None else solver
        possible = isinstance(chosen, HiGHS) and chosen.method in ("choose", "simplex")
        if method == "lifted" or not possible or self._has_trajectories:
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
        return _Cuts.of(self, blocks, names, domain or RewardSimplex(), chosen, prices)

    @checked(penalty=NOT_NEGATIVE, bound=POSITIVE, solver=SOLVER)
    def max_margin(
        self, *, penalty: float = 0.0, bound: float = 1.0, solver: Solver | None = None
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
        for t, episode in enumerate(episodes):
            gaps, state = episode.open_gaps
            if len(state):
                margin = cp.Variable(len(np.unique(state)), nonneg=True, name=f"margin[{t}]")
                _, position = np.unique(state, return_inverse=True)
                rows = gaps @ by_episode[f"V[{first[id(episode)]}]"] >= margin[position]
                limits.append(rows.set_label(f"margin[{t}]"))
                goal = goal + cp.sum(margin)
        return self._search(cp.Maximize(goal), r, (self.game.n_states,), limits, solver)

    @checked(joint=FLAG, spread=POSITIVE, solver=SOLVER)
    def is_informative(
        self, *, joint: bool = False, spread: float = 1e-6, solver: Solver | None = None
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
        for sign in (1.0, -1.0):
            found = self.maximise(
                (sign * direction).reshape(shape), domain=_CentredBox(), solver=solver
            )
            if found.spread > spread:
                return True
        return False

    @checked(solver=SOLVER)
    def explain_infeasibility(self, *, solver: Solver | None = None) -> tuple[int, ...] | None:
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

    def _is_joint(self, r: cp.Expression) -> bool:
        shapes = {(self.game.n_states,): False, (self.game.n_states, self.game.n_choices): True}
        if r.shape not in shapes:
            raise InvalidReward("r", f"has shape {r.shape}", " or ".join(map(str, shapes)), r.shape)
        return shapes[r.shape]

    @property
    def _has_trajectories(self) -> bool:
        return any(isinstance(episode, _Watched) for episode in self.episodes)

    def _whole(self) -> tuple[_Episode, ...]:
        """Return the episodes, all of which must be whole responses."""
        whole = tuple(episode for episode in self.episodes if isinstance(episode, _Episode))
        if len(whole) < len(self.episodes):
            raise InvalidArgument(
                "feasible",
                "holds trajectories, which say nothing of the states that they do not visit",
                "whole responses here; by linear programs, as RandomVertex and MeanOfVertices "
                "choose, trajectories will do",
                self,
            )
        return whole

    def _distinct(self) -> Iterator[tuple[int, _Episode]]:
        """Yield the whole responses that repeat no earlier one, each with its number."""
        known: set[int] = set()
        for t, episode in enumerate(self.episodes):
            if isinstance(episode, _Episode) and id(episode) not in known:
                known.add(id(episode))
                yield t, episode

    def _pools(self) -> Iterator[tuple[int, PartialResponse]]:
        """Yield what all trajectories under a commitment say, with the number of the first."""
        under: dict[int, list[tuple[int, _Watched]]] = {}
        for t, episode in enumerate(self.episodes):
            if isinstance(episode, _Watched):
                under.setdefault(id(episode.environment), []).append((t, episode))
        for members in under.values():
            first, episode = members[0]
            counts = np.array([e.played for _, e in members]).sum(axis=0, dtype=np.int64)
            yield first, PartialResponse(episode.environment, counts)

    def _rows(self, joint: bool) -> Iterator[tuple[int, _Episode, tuple[_Rows, _Rows]]]:
        for t, episode in self._distinct():
            yield t, episode, episode.joint_rows if joint else episode.state_rows


# What an argument `feasible` may be.
FEASIBLE: Rule = is_a(FeasibleRewards)


class _Cuts(NamedTuple):
    """A set of state rewards within a plain domain, whose programs are solved by cuts."""

    program: CutProgram
    names: list[int]
    compile_seconds: float

    @classmethod
    def of(
        cls,
        feasible: FeasibleRewards,
        blocks: list[Block],
        names: list[int],
        domain: RewardDomain,
        solver: HiGHS,
        prices: list[Array] | None,
    ) -> _Cuts | None:
        began = time.perf_counter()
        n_states = feasible.game.n_states
        if isinstance(domain, RewardSimplex | RewardBox):
            plain, reward = _read_own(domain, n_states)
        else:
            plain, reward = _read_domain(domain, n_states)
        if plain is None or plain.data["bool_vars_idx"] or plain.data["int_vars_idx"]:
            return None
        program = CutProgram(blocks, plain, reward, solver, prices)
        return cls(program, names, time.perf_counter() - began)

    def maximise(self, objective: Array) -> RewardSolution | None:
        point = self.program.maximise(objective)
        if point is None:
            return None
        solved = lift(self.program, point, objective, self.names, self.compile_seconds)
        if solved is None or solved.value is None:
            return None
        return RewardSolution(point.x[self.program.reward].copy(), solved.value, solved)


@dataclass(frozen=True)
class _CentredBox:
    """Rewards in [−1, 1] that sum to zero: of the constants only zero is left."""

    def constraints(self, r: cp.Expression) -> list[cp.Constraint]:
        return [*RewardBox().constraints(r), (cp.sum(r) == 0).set_label("centred")]


def _floor(domain: RewardDomain) -> float | None:
    """Return what no reward of a domain is below, for our own domains."""
    if isinstance(domain, RewardSimplex):
        return 0.0
    if isinstance(domain, RewardBox):
        return -domain.bound
    return -1.0 if isinstance(domain, _CentredBox) else None


def _read_domain(domain: RewardDomain, n_states: int) -> tuple[LinearProgram | None, slice]:
    """Return a domain of state rewards as a linear program, and where the reward stands in it."""
    r = cp.Variable(n_states, name="r")
    plain = read_linear(cp.Problem(cp.Minimize(cp.sum(r)), domain.constraints(r)))
    return plain, slice(0, 0) if plain is None else plain.columns[r]


@lru_cache(maxsize=16)
def _read_own(
    domain: RewardSimplex | RewardBox, n_states: int
) -> tuple[LinearProgram | None, slice]:
    """Return one of our own domains, which cannot change: reading takes as long as a small LP."""
    return _read_domain(domain, n_states)


def violated_by(gaps: NDArray[Any], played: NDArray[np.bool_]) -> NDArray[Any]:
    """Return by how much gaps ``V − Q`` are below zero, or beside zero where an action is known."""
    return np.asarray(np.where(played, np.abs(gaps), np.maximum(-gaps, 0)))


def _apply(rows: _Rows, r: cp.Expression, v: cp.Expression) -> cp.Expression:
    return rows.on_v @ v if rows.on_r is None else rows.on_r @ r + rows.on_v @ v


def _spread(
    weights: Array, owner: NDArray[np.int64] | None = None, n_states: int | None = None
) -> Matrix:
    """Return the matrix whose row i holds weights[i], (A, B), in the columns of its state."""
    n_rows, width = weights.shape[0], int(np.prod(weights.shape[1:]))
    states = np.arange(n_rows) if owner is None else owner
    columns = (states[:, None] * width + np.arange(width)).ravel()
    rows = np.repeat(np.arange(n_rows), width)
    shape = (n_rows, width * (n_rows if n_states is None else n_states))
    matrix: Any = sp.csr_array((weights.ravel(), (rows, columns)), shape=shape)
    matrix.eliminate_zeros()
    return matrix


def _tidy(on_r: Matrix | None, on_v: Matrix, wanted: NDArray[np.bool_]) -> _Rows:
    """Return the wanted rows without zeros and repetitions, scaled to a largest entry of one."""
    whole: Any = sp.csr_array(on_v if on_r is None else sp.hstack([on_r, on_v], format="csr"))
    at = np.flatnonzero(wanted)
    whole = whole[at]
    whole.data[np.abs(whole.data) < ZERO] = 0.0
    whole.eliminate_zeros()
    filled = np.flatnonzero(np.diff(whole.indptr))
    whole, at = whole[filled], at[filled]
    size: Array = np.zeros(0)
    if whole.shape[0]:
        largest = abs(whole).max(axis=1)
        largest = largest.toarray() if is_sparse(largest) else np.asarray(largest)
        whole = sp.diags_array(1.0 / largest.ravel(), format="csr") @ whole
        first, of = _equals(whole)
        size = np.bincount(of, weights=largest.ravel()).astype(float)
        whole, at = whole[first], at[first]
    width = 0 if on_r is None else on_r.shape[1]
    return _Rows(None if on_r is None else whole[:, :width], whole[:, width:], at, size)


def _first_of_equals(rows: Matrix | Array) -> NDArray[np.int64]:
    """Return the places of rows that repeat no earlier one, in order."""
    return _equals(rows)[0]


def _equals(rows: Matrix | Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of rows that repeat no earlier one, in order, and which of them each is.

    Equal rows have equal products with a random vector, and almost surely only they have.
    """
    probe = np.random.default_rng(0).random((rows.shape[1], 2))
    _, first, of = np.unique(
        np.round(rows @ probe, 12), axis=0, return_index=True, return_inverse=True
    )
    order = np.argsort(first)
    return first[order], np.argsort(order)[of.ravel()]


def _same(one: Observation, other: Observation) -> bool:
    """Return whether two observations say the same."""
    parts = ("pi1", "pi2", "played")
    return one.whole == other.whole and all(
        np.array_equal(getattr(one, part), getattr(other, part)) for part in parts
    )
