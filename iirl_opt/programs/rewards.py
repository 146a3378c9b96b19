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
or repeat another are left out, the rest are scaled to a largest entry of one.

The set is a closed convex cone that contains every constant reward. Without a domain such as
`RewardSimplex` its programs are unbounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.errors import InvalidReward, OnlyConstantRewards
from iirl_opt.game.kernel import Matrix, is_sparse
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.game.values import check_reward, evaluate, follower_reward, tie_tolerance
from iirl_opt.observation import Observation, observe
from iirl_opt.solve import Solved, Solver, solve

__all__ = [
    "AffineClass",
    "FeasibleRewards",
    "RewardDomain",
    "RewardSimplex",
    "RewardSolution",
    "Violation",
]

Array = NDArray[np.float64]

# Entries of P_t − P_{t,b} below this are rounding of equal probabilities.
ZERO = 1e-12


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

    def constraints(self, r: cp.Expression) -> list[cp.Constraint]:
        """Return the constraints ``simplex sum`` and ``simplex``."""
        return [
            (cp.sum(r) == 1).set_label("simplex sum"),
            (r >= 0).set_label("simplex"),
        ]


@dataclass(frozen=True, eq=False)
class AffineClass:
    """The positive affine images ``{λ1 r + λ2 1 : λ1 ≥ 0}`` of a state reward r of shape (S,).

    Its boundary λ1 = 0, the constants, belongs to it: then it is closed, but no equivalence class
    (a constant lies in every class). With ``strict`` membership λ1 > 0 is asked for.

    **Source** paper, Lemma 1.
    """

    reward: Array

    def __init__(self, reward: ArrayLike) -> None:
        array = np.array(reward, dtype=float)
        if array.ndim != 1 or not np.isfinite(array).all():
            raise InvalidReward("reward", f"has shape {array.shape}", "finite, (S,)", array)
        array.flags.writeable = False
        object.__setattr__(self, "reward", array)

    def constraints(self, x: cp.Expression) -> list[cp.Constraint]:
        """Return constraints that hold an expression x of shape (S,) in the class."""
        scale, shift = cp.Variable(name="affine scale"), cp.Variable(name="affine shift")
        return [
            (x == scale * self.reward + shift).set_label("affine class"),
            (scale >= 0).set_label("affine scale"),
        ]

    def contains(self, x: ArrayLike, *, strict: bool = False, tolerance: float = 1e-9) -> bool:
        """Return whether x lies in the class, within `tolerance` of the spread of x.

        **Cost** arithmetic: one projection.
        """
        y = np.asarray(x, dtype=float)
        centred, given = self.reward - self.reward.mean(), y - y.mean()
        # Spreads this small are rounding of constants.
        small = 64 * np.finfo(float).eps
        if np.ptp(y) <= small * np.abs(y).max(initial=0.0):
            return not strict or np.ptp(self.reward) <= small * np.abs(self.reward).max(initial=0.0)
        norm = float(centred @ centred)
        if norm <= (small * np.abs(self.reward).max(initial=0.0)) ** 2:
            return False
        scale = float(given @ centred) / norm
        return scale > 0 and bool(np.abs(given - scale * centred).max() <= tolerance * np.ptp(y))


class Violation(NamedTuple):
    """An observed action that a reward does not explain.

    Attributes
    ----------
    episode : counted from 0.
    state : label.
    action : the follower action that would have been better, or (when tied) is worse than played.
    gap : by how much; in the unit of the values.
    """

    episode: int
    state: Any
    action: Any
    gap: float


@dataclass(frozen=True, eq=False)
class RewardSolution:
    """A reward found in a set, and the evidence for it.

    Attributes
    ----------
    reward : shape (S,), or (S, A, B) for joint rewards.
    solved : the solver's record with recomputed residuals.
    """

    reward: Array
    solved: Solved

    @property
    def value(self) -> float:
        """The optimal objective."""
        assert self.solved.value is not None
        return self.solved.value

    @property
    def spread(self) -> float:
        """The difference of the largest and the smallest reward: zero for a constant."""
        return float(np.ptp(self.reward))


class _Rows(NamedTuple):
    """Rows ``on_r @ r + on_v @ V`` of one episode; `on_r` is None for state rewards."""

    on_r: Matrix | None
    on_v: Matrix


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

    def gaps(self, reward: Array) -> Array:
        """Return ``V(s) − Q(s, b)`` under the response, shape (S, B)."""
        r = follower_reward(self.game, self.observation.pi1, reward)
        values = evaluate(self.mdp, r, self.observation.pi2)
        full = r.reshape(self.game.n_states, -1)
        q = full + self.game.discount * (self.mdp.matrix @ values).reshape(self.mdp.shape)
        gaps: Array = values[:, None] - q
        return gaps

    @cached_property
    def mean_reward(self) -> Matrix:
        """The (S, S·A·B) matrix of ``r ↦ r̄`` for joint rewards."""
        o = self.observation
        return _spread(o.pi1[:, :, None] * o.pi2[:, None, :])

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
class FeasibleRewards:
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
    episodes: tuple[_Episode, ...] = ()

    def observe(self, pi1: ArrayLike, response: ArrayLike) -> FeasibleRewards:
        """Return the rewards that also explain `response` to the commitment `pi1`.

        Parameters
        ----------
        pi1 : shape (S, A).
        response : policy (S, B), deterministic or stochastic, or a boolean mask of all optimal
            actions.

        **Cost** arithmetic.
        """
        episode = _Episode(self.game, observe(self.game, pi1, response))
        return FeasibleRewards(self.game, (*self.episodes, episode))

    @property
    def observations(self) -> tuple[Observation, ...]:
        """All observations in the order in which they were made."""
        return tuple(episode.observation for episode in self.episodes)

    def __repr__(self) -> str:
        return f"FeasibleRewards({self.game!r}, {len(self.episodes)} episodes, {self.n_rows} rows)"

    @cached_property
    def n_rows(self) -> int:
        """The number of rows that constrain a state reward, zeros and repetitions left out."""
        return sum(part.on_v.shape[0] for rows in self._rows(joint=False) for part in rows)

    def slack(self, reward: ArrayLike) -> Array:
        """Return ``V_t(s) − Q_t(s, b)`` under each response, shape (T, S, B).

        A reward is feasible iff no entry is negative and those of tied actions are zero.

        **Cost** arithmetic: one linear system an episode.
        """
        r = check_reward(self.game, reward)
        shape = (len(self.episodes), self.game.n_states, self.game.n_follower_actions)
        return np.array([episode.gaps(r) for episode in self.episodes]).reshape(shape)

    def violations(
        self, reward: ArrayLike, *, tolerance: float | None = None
    ) -> tuple[Violation, ...]:
        """Return every observed choice that the reward does not explain, the worst first.

        Parameters
        ----------
        tolerance : gaps up to this are none; by default `tie_tolerance`.

        **Cost** arithmetic, as `slack`.
        """
        r = check_reward(self.game, reward)
        allowed = tie_tolerance(r, self.game.discount) if tolerance is None else tolerance
        slack = self.slack(r)
        played = np.array([o.played for o in self.observations], dtype=bool).reshape(slack.shape)
        wrong = (slack < -allowed) | (played & (slack > allowed))
        at = np.argwhere(wrong)
        order = np.argsort(-np.abs(slack[wrong]), kind="stable")
        states, actions = self.game.states, self.game.follower_actions
        return tuple(
            Violation(int(t), states[s], actions[b], float(abs(slack[t, s, b])))
            for t, s, b in at[order]
        )

    def contains(self, reward: ArrayLike, *, tolerance: float | None = None) -> bool:
        """Return whether the reward explains every observation; the set is closed.

        **Cost** arithmetic, as `slack`.
        """
        return not self.violations(reward, tolerance=tolerance)

    def constraints(self, r: cp.Expression) -> list[cp.Constraint]:
        """Return cvxpy constraints that hold r in the set, to use in a program of your own.

        Parameters
        ----------
        r : affine expression of shape (S,), or (S, A·B) for a joint reward.

        Returns
        -------
        list of constraints
            Labelled ``values[t]``, ``optimal[t]`` and ``tied[t]``; each call brings value variables
            ``V[t]`` of its own.
        """
        joint = self._is_joint(r)
        flat = cp.vec(r, order="C") if joint else r
        gamma, n_states = self.game.discount, self.game.n_states
        out: list[cp.Constraint] = []
        for t, (episode, (free, tied)) in enumerate(
            zip(self.episodes, self._rows(joint), strict=True)
        ):
            v = cp.Variable(n_states, name=f"V[{t}]")
            flow = sp.eye_array(n_states, format="csr") - gamma * sp.csr_array(episode.chain)
            mean = episode.mean_reward @ flat if joint else flat
            out.append((flow @ v == mean).set_label(f"values[{t}]"))
            if free.on_v.shape[0]:
                out.append((_apply(free, flat, v) >= 0).set_label(f"optimal[{t}]"))
            if tied.on_v.shape[0]:
                out.append((_apply(tied, flat, v) == 0).set_label(f"tied[{t}]"))
        return out

    def maximise(
        self,
        objective: ArrayLike,
        *,
        domain: RewardDomain | None = None,
        solver: Solver | None = None,
    ) -> RewardSolution:
        """Return a feasible reward that maximises ``Σ objective · r``.

        Parameters
        ----------
        objective : shape (S,), or (S, A, B) to look among joint rewards.
        domain : where to look; the `RewardSimplex` by default.

        Raises
        ------
        Infeasible, Unbounded
            The domain holds no feasible reward, or does not bound the objective.

        **Source** paper, the linear program of Section 4.2. **Cost** one LP.
        """
        c = check_reward(self.game, objective)
        shape = c.shape if c.ndim == 1 else (self.game.n_states, self.game.n_choices)
        r = cp.Variable(shape, name="r")
        where = RewardSimplex() if domain is None else domain
        goal = cp.Maximize(cp.sum(cp.multiply(c.reshape(shape), r)))
        program = cp.Problem(goal, self.constraints(r) + where.constraints(r))
        solved = solve(program, solver)
        return RewardSolution(np.array(r.value).reshape(c.shape), solved)

    def random_vertex(
        self,
        rng: np.random.Generator,
        *,
        joint: bool = False,
        domain: RewardDomain | None = None,
        solver: Solver | None = None,
        tries: int = 10,
        spread: float = 1e-6,
    ) -> RewardSolution:
        """Return a non-constant feasible reward that maximises a random objective.

        The objective is uniform on (−1, 1)^S. A constant reward is a frequent answer (in an ideal
        environment about half the time), so constants are drawn again, `tries` times in all.

        Parameters
        ----------
        joint : look among joint rewards (S, A, B) in place of state rewards.
        spread : a reward is constant when max r − min r is at most this times its largest entry.

        Raises
        ------
        OnlyConstantRewards
            Every try brought a constant: the observations are uninformative.

        **Source** paper, Algorithm 1, lines 6 and 7. **Cost** one to `tries` LPs.
        """
        shape = self.game.shape if joint else (self.game.n_states,)
        for _ in range(tries):
            found = self.maximise(rng.uniform(-1, 1, shape), domain=domain, solver=solver)
            if found.spread > spread * np.abs(found.reward).max():
                return found
        raise OnlyConstantRewards(tries, spread)

    def _is_joint(self, r: cp.Expression) -> bool:
        shapes = {(self.game.n_states,): False, (self.game.n_states, self.game.n_choices): True}
        if r.shape not in shapes:
            raise InvalidReward("r", f"has shape {r.shape}", " or ".join(map(str, shapes)), r.shape)
        return shapes[r.shape]

    def _rows(self, joint: bool) -> list[tuple[_Rows, _Rows]]:
        return [e.joint_rows if joint else e.state_rows for e in self.episodes]


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
    whole = whole[np.flatnonzero(wanted)]
    whole.data[np.abs(whole.data) < ZERO] = 0.0
    whole.eliminate_zeros()
    whole = whole[np.flatnonzero(np.diff(whole.indptr))]
    if whole.shape[0]:
        largest = abs(whole).max(axis=1)
        largest = largest.toarray() if is_sparse(largest) else np.asarray(largest)
        whole = sp.diags_array(1.0 / largest.ravel(), format="csr") @ whole
        # Equal rows have equal products with a random vector, and almost surely only they have.
        probe = np.random.default_rng(0).random((whole.shape[1], 2))
        _, first = np.unique(np.round(whole @ probe, 12), axis=0, return_index=True)
        whole = whole[np.sort(first)]
    width = 0 if on_r is None else on_r.shape[1]
    return _Rows(None if on_r is None else whole[:, :width], whole[:, width:])
