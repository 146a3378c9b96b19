"""Optimal commitments (paper, Section 4.2 and Lemma 2).

When the follower answers optimally, the leader's part of an optimal joint policy is an optimal
commitment, and every optimal answer to it has the value of the joint optimum, whatever the tie
rule. This needs a joint policy that is optimal *from every state*: one that is optimal only from
the start distribution leaves states it never visits to chance, and a follower may go there. So the
program's policy is completed by policy iteration, which keeps what is optimal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Literal

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.errors import InvalidArgument
from iirl_opt.follower import Follower, OptimalFollower
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.game.values import (
    Optimum,
    check_reward,
    modified_policy_iteration,
    policy_iteration,
)
from iirl_opt.programs.occupancy import OccupancyMeasure
from iirl_opt.solver import Solved, Solver, solve

__all__ = ["Commitment", "Guarantee", "StackelbergCommitment", "commit"]

Array = NDArray[np.float64]


class Guarantee(Enum):
    """What is known about a commitment."""

    EXACT = "no commitment has a larger value"
    BOUND = "the value is within a stated bound of the best"
    HEURISTIC = "the value is what this commitment earns; nothing is known of the best"


@dataclass(frozen=True, eq=False)
class Commitment:
    """A leader policy with its value against the follower.

    Attributes
    ----------
    policy : the commitment, shape (S, A).
    response : an answer that the follower may give, shape (S, B).
    value : expected discounted reward from the start distribution.
    values : the same from every state, shape (S,).
    guarantee : what is known about it.
    residual : the Bellman residual of `values` in the joint MDP, recomputed: zero (up to rounding)
        proves that no joint policy, so no commitment, is better.
    solved : the solver's record where a program was solved.
    """

    policy: Array
    response: Array
    value: float
    values: Array
    guarantee: Guarantee
    residual: float
    solved: Solved | None = None


@dataclass(frozen=True, eq=False)
class StackelbergCommitment:
    """The commitment problem against an optimal follower as a cvxpy program to extend.

    The joint optimum as an occupancy linear program; `constraints` and `objective` are cvxpy's own.
    Rows that you add are respected by both agents: then the optimum may be correlated and is a
    commitment only if it splits (see `iirl_opt.programs.occupancy`).

    Parameters
    ----------
    game : the game.
    reward : shape (S,) or (S, A, B).
    """

    game: TwoAgentMDP
    reward: Array

    def __init__(self, game: TwoAgentMDP, reward: ArrayLike) -> None:
        object.__setattr__(self, "game", game)
        object.__setattr__(self, "reward", check_reward(game, reward))

    @cached_property
    def measure(self) -> OccupancyMeasure:
        """The joint occupancy measure: its `variable` is what to constrain."""
        return OccupancyMeasure(self.game)

    @property
    def objective(self) -> cp.Maximize:
        """The expected discounted reward."""
        return cp.Maximize(self.measure.expected(self.reward))

    @property
    def constraints(self) -> list[cp.Constraint]:
        """The flow constraints of the measure."""
        return self.measure.constraints

    def problem(self, subject_to: Sequence[cp.Constraint] = ()) -> cp.Problem:
        """Return the cvxpy problem, with further constraints if given."""
        return cp.Problem(self.objective, [*self.constraints, *subject_to])

    def solve(self, solver: Solver | None = None) -> Commitment:
        """Return an optimal commitment; states that it never visits are completed optimally.

        **Source** paper, Lemma 2. **Cost** one LP, and a few linear systems for the completion.
        """
        solved = solve(self.problem(), solver)
        mass = np.array(self.measure.variable.value).reshape(self.game.n_states, -1)
        optimum = policy_iteration(self.game, self.reward, start=mass.argmax(axis=1))
        return _commitment(self.game, optimum, solved)


def commit(
    game: TwoAgentMDP,
    reward: ArrayLike,
    *,
    follower: Follower | None = None,
    method: Literal["policy-iteration", "program"] = "policy-iteration",
    solver: Solver | None = None,
) -> Commitment:
    """Return an optimal commitment of the leader.

    Parameters
    ----------
    reward : shape (S,) or (S, A, B), the same for both agents.
    follower : `OptimalFollower` by default, and so far the only one with exact commitments here.
    method : modified policy iteration, or the linear program `StackelbergCommitment`; both exact.

    Raises
    ------
    InvalidArgument
        The follower is not an optimal one.

    **Source** paper, Lemma 2. **Cost** arithmetic (a few sweeps and one or two linear systems), or
    one LP.
    """
    model = OptimalFollower() if follower is None else follower
    if not isinstance(model, OptimalFollower):
        raise InvalidArgument("follower", f"is {model!r}", "an OptimalFollower", model)
    if method == "program":
        return StackelbergCommitment(game, reward).solve(solver)
    if method != "policy-iteration":
        raise InvalidArgument("method", f"is {method!r}", "policy-iteration, program", method)
    return _commitment(game, modified_policy_iteration(game, reward))


def _commitment(game: TwoAgentMDP, optimum: Optimum, solved: Solved | None = None) -> Commitment:
    leader, follower = np.divmod(optimum.actions, game.n_follower_actions)
    return Commitment(
        policy=deterministic_policy(leader, game.n_leader_actions),
        response=deterministic_policy(follower, game.n_follower_actions),
        value=float(game.start @ optimum.values),
        values=optimum.values,
        guarantee=Guarantee.EXACT if optimum.error == 0.0 else Guarantee.BOUND,
        residual=optimum.residual,
        solved=solved,
    )
