"""The commitment problem against an optimal follower, as a cvxpy program to extend.

When the follower answers optimally and has the leader's reward, the leader's part of an optimal
joint policy is an optimal commitment, and every optimal answer to it has the value of the joint
optimum, whatever the tie rule (paper, Section 4.2 and Lemma 2). This needs a joint policy that is
optimal *from every state*: one that is optimal only from the start distribution leaves states it
never visits to chance, and a follower may go there. So the program's policy is completed by policy
iteration, which keeps what is optimal.

Rows that you add are *respected by both agents*: then the optimum may be correlated, and is a
commitment only if it is a pair of policies. Rows that the follower ignores make a bilevel program
(`iirl_opt.commitment.bilevel`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import checked
from iirl_opt.commitment.lemma_2 import joint_commitment, joint_optimum
from iirl_opt.commitment.plans import Commitment
from iirl_opt.commitment.problem import CommitmentProblem, Reply, check_allowed
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.values import evaluate
from iirl_opt.occupancy.measure import OccupancyMeasure
from iirl_opt.occupancy.quantities import MeasuredPlay, Quantity, composed, value_of
from iirl_opt.occupancy.rows import ChoiceRow, StateRow, of_choices
from iirl_opt.solver import Solver
from iirl_opt.solver.multipliers import by_size, multipliers_of, rows_under
from iirl_opt.solver.records import SOLVER
from iirl_opt.solver.rules import CONSTRAINTS, Rows

__all__ = ["StackelbergCommitment"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StackelbergCommitment(MeasuredPlay):
    """The joint optimum as an occupancy linear program, to which rows can be added.

    `constraints` are labelled ``flow`` and, where actions are forbidden, ``forbidden``.

    Parameters
    ----------
    game : the game.
    reward : of both agents, shape (S,) or (S, A, B); or a `cvxpy.Parameter`, or what is affine in
        parameters, of shape (S,) or (S, A·B): `problem` is compiled once for all its values, and
        `solve` takes the present one.
    allowed : mask (S, A) of the actions that the leader may commit to; all by default.

    Examples
    --------
    >>> from iirl_opt.game.generate import random_game
    >>> from iirl_opt.occupancy.quantities import budget
    >>> game, reward = random_game(4, 2, 2, rng=0)
    >>> model = StackelbergCommitment(game, reward)
    >>> rare = budget(model.expected([0, 1, 0, 0]), 5.0, name="rare")
    >>> model.problem([rare]).is_dcp(), model.solve()
    (True, Commitment(value 6.4..., bound 6.4..., EXACT among all, program))
    """

    game: TwoAgentMDP
    reward: Array | cp.Expression
    allowed: NDArray[np.bool_]

    __repr__ = in_brief

    @checked(game=GAME)
    def __init__(
        self, game: TwoAgentMDP, reward: Quantity, *, allowed: ArrayLike | None = None
    ) -> None:
        object.__setattr__(self, "game", game)
        object.__setattr__(self, "reward", composed(game, reward))
        object.__setattr__(self, "allowed", check_allowed(game, allowed))

    @cached_property
    def measure(self) -> OccupancyMeasure:
        """The joint occupancy measure: its ``variable`` is what to constrain."""
        return OccupancyMeasure(self.game)

    @property
    def _measured(self) -> tuple[TwoAgentMDP, cp.Expression]:
        return self.game, self.measure.variable

    @property
    def objective(self) -> cp.Maximize:
        """The expected discounted reward."""
        return cp.Maximize(self.expected(self.reward))

    @cached_property
    def constraints(self) -> list[cp.Constraint]:
        """The flow constraints of the measure, and the actions that have no share of it."""
        return [*self.measure.constraints, *self._forbidden]

    @cached_property
    def _forbidden(self) -> list[cp.Constraint]:
        closed = np.repeat(~self.allowed, self.game.n_follower_actions).astype(float)
        if not closed.any():
            return []
        return [(closed @ self.measure.variable <= 0).set_label("forbidden")]

    @checked(subject_to=CONSTRAINTS)
    def problem(self, subject_to: Rows = ()) -> cp.Problem:
        """Return the cvxpy problem, with further constraints if given."""
        return cp.Problem(self.objective, [*self.constraints, *subject_to])

    def by_row(self, answer: Any) -> dict[StateRow | ChoiceRow, float]:
        """Return multipliers, or a Farkas ray, by what their rows speak of, the largest first.

        Those of the flow by (state,), as `OccupancyMeasure.by_row` does; by (state, leader,
        follower) those of choices that are not allowed, which one row forbids together.
        """
        given = multipliers_of(answer)
        rows = self.measure.by_row({"flow": given["flow"]} if "flow" in given else given)
        if (forbidden := rows_under(given, "forbidden", 1)) is not None:
            closed = np.flatnonzero(np.repeat(~self.allowed, self.game.n_follower_actions))
            rows |= of_choices(self.game, np.full(closed.size, forbidden[0]), closed)
        return by_size(rows.items())

    @checked(solver=SOLVER, subject_to=CONSTRAINTS)
    def solve(self, subject_to: Rows = (), *, solver: Solver | str | None = None) -> Commitment:
        """Return an optimal commitment.

        Without rows of yours its value is proved by Lemma 2, and states that the measure never
        visits are completed optimally. With rows, it is the joint optimum under them, and its bound
        the solver's word.

        Parameters
        ----------
        subject_to : rows on the measure that both agents respect.

        Raises
        ------
        NotAProduct
            The joint optimum under the rows is correlated: no pair of policies plays it.
        Infeasible
            No joint policy respects the rows: they are named by the Farkas ray.

        **Source** paper, Lemma 2. **Cost** that of `OccupancyMeasure.maximise`, and a few linear
        systems for the completion.
        """
        reward = value_of(self.game, self.reward)
        asked = CommitmentProblem(self.game, reward, allowed=self.allowed)
        rows = [*self._forbidden, *subject_to]
        best = self.measure.maximise(reward, subject_to=rows, solver=solver)
        if not subject_to:
            choices = best.measure.reshape(self.game.n_states, -1).argmax(axis=1)
            start = choices if self.allowed.all() else None
            return joint_commitment(asked, joint_optimum(asked, start), best.solved)
        policy, response = best.split()
        values = evaluate(self.game, reward, (policy, response))
        return Commitment.of(
            asked,
            policy,
            Reply(response, values),
            method="program",
            bound=best.value,
            solved=best.solved,
        )
