"""Linear functions over the feasible rewards of the simplex: programs that keep what they know.

A `Polytope` is the feasible set of a play as explicit rows, `Programs` maximises one linear
function after another over it: a live program that takes in rows as rewards violate them, and
returns the multipliers by which bounds are proved (`iirl_opt.rewards.ceiling`). `linear_values` is
one program more: the linear functions φ of the reward that make such bounds small.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.errors import InvalidArgument
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.rewards.advantages import Play
from iirl_opt.rewards.cut_search import CutSearch
from iirl_opt.rewards.cuts import CutProgram
from iirl_opt.rewards.domains import RewardSimplex
from iirl_opt.rewards.explicit_rows import Block
from iirl_opt.rewards.feasible import FeasibleRewards
from iirl_opt.rewards.lifted_rows import ZERO
from iirl_opt.solver import HiGHS, LiveProgram, Status

__all__ = [
    "Maximum",
    "Polytope",
    "Programs",
    "known_rows",
    "linear_values",
    "onto_simplex",
    "same_rewards",
]

Array = NDArray[np.float64]

# Rows that a program takes in at a time, the most violated first, and what counts as violated.
CUTS, VIOLATED = 40, 1e-9

# Rows without a larger entry are zero but for rounding; HiGHS drops entries of this size unasked.
ROUNDING = 1e-9

# Programs with more entries than this in their rows are solved in dual form.
BY_CUTS = 200_000


class Polytope(NamedTuple):
    """Rows ``free r ≥ 0`` and ``tied r = 0`` over flat rewards.

    The follower's own deviations from the play are the free rows from `own` on, unscaled, where
    the play was observed.
    """

    free: Array
    tied: Array
    own: int | None = None

    @property
    def beyond_rounding(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which free and which tied rows are more than rounding of zero: nothing rests on others.

        A row that has to be scaled would become a constraint that nobody observed.
        """
        free, tied = (np.abs(part).max(axis=1, initial=0.0) for part in (self.free, self.tied))
        return np.flatnonzero(free > ROUNDING), np.flatnonzero(tied > ROUNDING)


def same_rewards(
    feasible: FeasibleRewards, game: TwoAgentMDP, *, joint: bool = False
) -> TwoAgentMDP:
    """Return a game over the rewards of a set: one with the same states, by name and in order.

    Of joint rewards the actions are the same, too. The set's own game is returned as that.

    Raises
    ------
    InvalidArgument
        Names the first place where the two differ.
    """
    home = feasible.game
    if game == home:
        return home
    pairs = [("states", home.states, game.states)]
    if joint:
        pairs.append(("leader actions", home.leader_actions, game.leader_actions))
        pairs.append(("follower actions", home.follower_actions, game.follower_actions))
    for what, known, given in pairs:
        if len(known) != len(given):
            allowed = f"the {len(known)} of the rewards"
            raise InvalidArgument("game", f"has {len(given)} {what}", allowed, game)
        for i, (one, other) in enumerate(zip(known, given, strict=True)):
            if one != other:
                said = f"has {other!r} at place {i} of its {what}"
                raise InvalidArgument("game", said, f"{one!r}, as the rewards do", game)
    return game


def known_rows(feasible: FeasibleRewards, play: Play, *, seen: bool = True) -> Polytope:
    """Return the rows of the set, and those of the play once more where its response was seen."""
    free, tied = map(_without_noise, feasible.explicit_rows(joint=play.joint))
    if seen and _was_observed(feasible, play):
        again = _without_noise(play.deviations())
        return Polytope(np.concatenate([free, again]), tied, len(free))
    return Polytope(free, tied)


def _without_noise(rows: Array) -> Array:
    """Return rows whose entries are zero where they are rounding of larger numbers.

    The row of an action that is taken is zero; rounded, it would be a constraint of its own.
    """
    return np.where(np.abs(rows) < ZERO * np.abs(rows).max(initial=0.0), 0.0, rows)


def _was_observed(feasible: FeasibleRewards, play: Play) -> bool:
    return play.game is feasible.game and any(
        np.array_equal(o.pi1, play.pi1) and np.array_equal(o.pi2, play.pi2)
        for o in feasible.observations
    )


class Maximum(NamedTuple):
    """The maximum of a linear function: a feasible reward, and multipliers of the rows."""

    reward: Array
    free: Array
    tied: Array


class Programs:
    """Linear functions over the feasible rewards of the simplex.

    One live program: rows are taken in when a reward violates them, and stay. Where rows are many
    and long it is one in dual form (`iirl_opt.rewards.cuts`), ten times as fast at 200 states.

    Attributes
    ----------
    rows : all rows of the feasible set.
    used : which of the free ones are in the program, or have had a multiplier.
    """

    rows: Polytope
    solver: HiGHS | None
    used: NDArray[np.int64]

    def __init__(self, rows: Polytope, solver: HiGHS | None) -> None:
        self.rows, self.solver, self.used = rows, solver, np.zeros(0, dtype=np.int64)
        self._inside = self.used
        width = rows.free.shape[1]
        self._cuts = self._in_dual_form() if rows.free.size > BY_CUTS else None
        right = np.zeros(1 + len(rows.tied))
        right[0] = 1.0
        fixed = np.concatenate([np.ones((1, width)), rows.tied])
        self._live = LiveProgram(
            np.zeros(width), fixed, right, right, lower=0.0, maximise=True, solver=solver
        )

    def maximise(self, c: Array) -> Maximum:
        """Return a maximum of ``c·r``."""
        if self._cuts is None or (found := self._cuts.maximise(c)) is None:
            return self._by_rows(c)
        free, tied = np.zeros(len(self.rows.free)), np.zeros(len(self.rows.tied))
        on_free, on_tied = self.rows.beyond_rounding
        scaled = found.on_rows / self._cuts.blocks[0].size
        free[on_free], tied[on_tied] = scaled[: on_free.size], -scaled[on_free.size :]
        self.used = np.union1d(self.used, np.flatnonzero(free))
        return Maximum(onto_simplex(found.x[self._cuts.reward]), free, tied)

    def _in_dual_form(self) -> CutProgram | None:
        """Return the program by cuts: to it, rows of rewards are rows of values ``V = r``."""
        width = self.rows.free.shape[1]
        on_free, on_tied = self.rows.beyond_rounding
        free, tied = sp.csr_array(self.rows.free[on_free]), sp.csr_array(self.rows.tied[on_tied])
        at = np.arange(free.shape[0] + tied.shape[0])
        block = Block(sp.eye_array(width, format="csc"), free, tied, at)
        solver = HiGHS() if self.solver is None else self.solver
        search = CutSearch.of([block], [0], RewardSimplex(), width, solver, None)
        return None if search is None else search.program

    def _by_rows(self, c: Array) -> Maximum:
        largest = float(np.abs(c).max())
        self._live.change_objective(c / largest if largest else c)
        while True:
            solved = self._live.solve()
            reward = onto_simplex(solved.primal["x"])
            slack = self.rows.free @ reward
            slack[self._inside] = 0.0
            wrong = np.flatnonzero(slack < -VIOLATED)
            if not wrong.size:
                break
            worst = wrong[np.argsort(slack[wrong], kind="stable")[:CUTS]]
            self._live.add_rows(self.rows.free[worst], np.zeros(worst.size), np.inf)
            self._inside = np.concatenate([self._inside, worst])
        duals = largest * solved.duals["rows"]
        first = 1 + len(self.rows.tied)
        free = np.zeros(len(self.rows.free))
        free[self._inside] = np.maximum(-duals[first:], 0.0)
        self.used = np.union1d(self.used, self._inside)
        return Maximum(reward, free, duals[1:first])


def linear_values(play: Play, rows: Polytope, solver: HiGHS | None) -> tuple[Array, Array] | None:
    """Return linear functions φ, (S, width), that make the bound small, and a bad reward.

    They are the multipliers of a maximisation over *products* of visits and reward, ``D(s, a, b) =
    d(s, a, b) r``: each a point of the cone, conserved by the flow in every entry. It has S·A·B·S
    columns, so it is for small games.

    Any φ gives a valid bound, so `rows` may be few and nothing rests on the solver's word; None
    where it brings no optimum.

    **Source** ours: the reformulation-linearisation of ``max E Σ γ^t adv_r`` over visits and r.
    **Cost** one LP with (S·A·B + 1)·width columns.
    """
    n, width = play.advantages.shape
    game = play.game
    each = sp.eye_array(width, format="csr")
    flow = sp.csr_array(play.choose.T) - game.discount * sp.csr_array(game.matrix).T
    begin = sp.csr_array(-game.start[:, None])
    matrix = sp.vstack(
        [
            sp.hstack([sp.kron(flow, each), sp.kron(begin, each)]),
            sp.hstack([sp.csr_array((1, n * width)), sp.csr_array(np.ones((1, width)))]),
            sp.kron(sp.eye_array(n + 1), sp.csr_array(rows.tied)),
            sp.kron(sp.eye_array(n + 1), sp.csr_array(rows.free)),
        ],
        format="csc",
    )
    low, high = np.zeros(matrix.shape[0]), np.zeros(matrix.shape[0])
    n_flows = game.n_states * width
    low[n_flows] = high[n_flows] = 1.0
    high[len(high) - (n + 1) * len(rows.free) :] = np.inf
    goal = np.concatenate([play.advantages.ravel(), np.zeros(width)])
    live = LiveProgram(goal, matrix, low, high, lower=0.0, maximise=True, solver=solver)
    solved = live.solve(throw=False)
    if solved.status is not Status.OPTIMAL:
        return None
    values = solved.duals["rows"][:n_flows].reshape(game.n_states, width)
    return values, onto_simplex(solved.primal["x"][-width:])


def onto_simplex(reward: Array) -> Array:
    """Return a solver's reward without its rounding: nonnegative, with sum one."""
    clipped = np.maximum(reward, 0.0)
    return np.asarray(clipped / clipped.sum())
