"""The worst regret of a commitment as a program over products of visits and reward.

A commitment c in a game (P, γ, start) leaves the follower with the kernels ``P_{c,b}``. Leader and
follower share the reward r, so what the two earn is ``W(r)``, the follower's optimal value, and the
*regret* is ``V*(r) − W(r)`` from the start. Both are convex in r. Its maximum over rewards r of a
set is that of

    max Σ D(s, a, b)_s − start · W
    Σ_ab D(s', a, b) − γ Σ P(s' | ·) D = start(s') r         flow, in every entry of the reward
    W(s) ≥ r(s) + γ Σ_a c(a|s) P_ab W   for every b          response
    r, and every D(s, a, b), in the cone of the set; Σ r = 1

with ``D(s, a, b) = d(s, a, b) r``, d the discounted visits of the joint play that is best for r.
The objective pushes W down to the response's value: no program inside the program. As it stands
this is a linear program, whose points may be no products, and so an upper bound. With a binary
z(s, a, b) a choice,

    Σ_ab z(s, ·) = 1,     Σ_i D(s, a, b)_i ≤ U(s) z(s, a, b)     one choice, visits

it is exact: where z chooses a policy, the flow leaves ``D = d r`` alone. U(s) is the largest number
of visits that any joint policy pays to s. Binaries are needed for V* alone.

The multipliers of the rows `response` are the visits of a randomised response π2 that is good
against all these rewards at once, and those of the flow are linear functions φ of the reward:
from the two, `iirl_opt.rewards.ceiling` makes an upper bound by arithmetic.

Source: ours; the reformulation-linearisation of Sherali & Adams 1990, over cones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import modified_policy_iteration
from iirl_opt.rewards.advantages import Play
from iirl_opt.rewards.ceiling import Ceiling
from iirl_opt.rewards.regret_rows import Polytope, Programs
from iirl_opt.solver import HiGHS

__all__ = ["SLACK", "RegretProgram", "most_visits", "n_products", "strict"]

Array = NDArray[np.float64]

# HiGHS counts 1e-6 as zero by default, which would pass for a visit.
STRICT = {"mip_feasibility_tolerance": 1e-9, "mip_abs_gap": 1e-10}

# U is widened by this share, so that rounding cuts no play off.
SLACK = 1e-9


def strict(solver: HiGHS | None, seconds: float | None) -> HiGHS:
    """Return a solver for a mixed-integer program, within a time if one is given."""
    chosen = HiGHS(options=STRICT) if solver is None else solver
    limits = [limit for limit in (chosen.time_limit, seconds) if limit is not None]
    return replace(chosen, time_limit=min(limits, default=None))


def n_products(game: TwoAgentMDP, n_rows: int) -> int:
    """Return about how many numbers the program has: what its cost grows with."""
    n_states = game.n_states
    return n_states * game.n_choices * n_states * (n_rows + n_states)


def most_visits(game: TwoAgentMDP) -> Array:
    """Return the largest discounted number of visits that any joint policy pays to each state."""
    units = np.eye(game.n_states)
    most = [float(game.start @ modified_policy_iteration(game, unit).values) for unit in units]
    return np.array(most) * (1 + SLACK)


@dataclass(frozen=True, eq=False)
class RegretProgram:
    """The program of the module for one commitment, over state rewards.

    Everything that is discounted is in units of 1/(1 − γ).

    Parameters
    ----------
    play : the game, and the commitment; its response is not looked at.
    rows : of the set of rewards.
    """

    play: Play
    rows: Polytope

    @cached_property
    def reward(self) -> cp.Variable:
        """The reward r, shape (S,)."""
        return cp.Variable(self.play.game.n_states, nonneg=True, name="r")

    @cached_property
    def products(self) -> cp.Variable:
        """D, shape (S·A·B·S,), row order ``(s·A + a)·B + b``, then the entry of the reward."""
        size = self.play.game.n_states**2 * self.play.game.n_choices
        return cp.Variable(size, nonneg=True, name="products")

    @cached_property
    def response_values(self) -> cp.Variable:
        """(1 − γ) W, shape (S,)."""
        return cp.Variable(self.play.game.n_states, name="response values")

    @cached_property
    def choice(self) -> cp.Variable:
        """The binaries z, shape (S·A·B,)."""
        game = self.play.game
        return cp.Variable(game.n_states * game.n_choices, boolean=True, name="choice")

    @property
    def objective(self) -> cp.Maximize:
        """(1 − γ) times the regret."""
        game = self.play.game
        n = game.n_states * game.n_choices
        own = sp.csr_array((np.ones(n), (np.arange(n), self.play.state)))
        return cp.Maximize(
            own.toarray().ravel() @ self.products - game.start @ self.response_values
        )

    @cached_property
    def constraints(self) -> list[cp.Constraint]:
        """The rows of the linear program."""
        game, r, products = self.play.game, self.reward, self.products
        each, gamma = sp.eye_array(game.n_states, format="csr"), game.discount
        flow = sp.csr_array(self.play.choose.T) - gamma * sp.csr_array(game.matrix).T
        begin = (1 - gamma) * sp.csr_array(game.start[:, None])
        rows = [
            (sp.kron(flow, each) @ products - sp.kron(begin, each) @ r == 0).set_label("flow"),
            (cp.sum(r) == 1).set_label("simplex sum"),
            (self._ahead @ self.response_values - (1 - gamma) * self._own @ r >= 0).set_label(
                "response"
            ),
        ]
        every = sp.eye_array(game.n_states * game.n_choices, format="csr")
        free, tied = (sp.csr_array(part) for part in (self.rows.free, self.rows.tied))
        if free.shape[0]:
            cone = sp.kron(every, free, format="csr")
            rows.append((free @ r >= 0).set_label("free"))
            rows.append((cone @ products >= 0).set_label("free products"))
        if tied.shape[0]:
            cone = sp.kron(every, tied, format="csr")
            rows.append((tied @ r == 0).set_label("tied"))
            rows.append((cone @ products == 0).set_label("tied products"))
        return rows

    @cached_property
    def choices(self) -> list[cp.Constraint]:
        """The rows of the binaries, which make the program exact."""
        game, z = self.play.game, self.choice
        total = sp.kron(sp.eye_array(z.size), np.ones((1, game.n_states)), format="csr")
        most = (1 - game.discount) * most_visits(game)[self.play.state]
        return [
            (self.play.choose.T @ z == 1).set_label("one choice"),
            (total @ self.products - sp.diags_array(most) @ z <= 0).set_label("visits"),
        ]

    def relaxed(self) -> cp.Problem:
        """Return the linear program."""
        return cp.Problem(self.objective, self.constraints)

    def problem(self) -> cp.Problem:
        """Return the mixed-integer program."""
        return cp.Problem(self.objective, [*self.constraints, *self.choices])

    def response(self, duals: Mapping[str, Array]) -> Array:
        """Return the response (S, B) that multipliers of the linear program speak of."""
        weights = np.maximum(duals["response"].reshape(self.play.game.n_states, -1), 0.0)
        total = weights.sum(axis=1, keepdims=True)
        visited = total > SLACK * total.max(initial=0.0)
        return np.where(visited, weights / np.where(visited, total, 1.0), self.play.pi2)

    def ceiling(self, duals: Mapping[str, Array], program: Programs) -> Ceiling:
        """Return the upper bounds that multipliers of the linear program prove, by arithmetic."""
        game = self.play.game
        play = Play(game, self.play.pi1, self.response(duals), joint=False)
        linear = duals["flow"].reshape(game.n_states, -1) - np.linalg.inv(play.system)
        out = Ceiling(play, program, linear)
        n = len(play.advantages)
        free, tied = (
            duals.get(f"{name} products", np.zeros(0)).reshape(n, -1) for name in ("free", "tied")
        )
        out.use(np.maximum(free, 0.0), tied)
        return out

    @property
    def _own(self) -> sp.csr_array:
        """The (S·B, S) matrix that repeats a state's entry for each of the follower's actions."""
        n_b = self.play.game.n_follower_actions
        return sp.csr_array(sp.kron(sp.eye_array(self.play.game.n_states), np.ones((n_b, 1))))

    @property
    def _ahead(self) -> sp.csr_array:
        """``W(s) − γ P_{c,b} W`` for every s and b, (S·B, S)."""
        game = self.play.game
        kernel = sp.csr_array(game.follower_mdp(self.play.pi1).matrix)
        return sp.csr_array(self._own - game.discount * kernel)
