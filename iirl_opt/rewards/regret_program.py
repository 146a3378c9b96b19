"""The worst regret exactly, on small games: a mixed-integer program over rewards and policies.

With the gains ``U = V* − V_π ≥ 0`` over the play and one binary z a choice, the largest regret of
the play is

    max Σ start · U                                                  over r in the simplex,
    U(s) ≤ adv_r(s, a, b) + γ P_ab U + M(s, a, b) (1 − z(s, a, b))    gains
    Σ_ab z(s, a, b) = 1                                               one choice
    G r ≥ 0,  E r = 0                                                 explicit, tied

and the lifted rows of responses that may lose something, and of preferences. The rows of the
feasible set and advantages linear in r (`iirl_opt.rewards.advantages`). Each M is
as small as the values of `regret_bound` prove.

Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import FLAG, checked
from iirl_opt.errors import InvalidArgument, SolverFailed
from iirl_opt.observation import Observation
from iirl_opt.printing.records import Tabular
from iirl_opt.rewards.advantages import Play
from iirl_opt.rewards.constant import MaybeConstant, is_constant
from iirl_opt.rewards.feasible import FEASIBLE, FeasibleRewards
from iirl_opt.rewards.lifted_rows import WholeResponse
from iirl_opt.rewards.regret import regret_bound
from iirl_opt.rewards.regret_rows import Polytope, known_rows
from iirl_opt.rewards.regret_witness import regret_under
from iirl_opt.rewards.trajectories import Watched
from iirl_opt.solver import HiGHS, Solved, solve
from iirl_opt.solver.records import HIGHS

__all__ = ["WorstRegret", "worst_regret"]

Array = NDArray[np.float64]

# Shares of a constant that make up for the rounding of a program, the least first.
ROUNDING = (1e-7, 1e-6, 1e-5)


@dataclass(frozen=True, eq=False)
class WorstRegret(Tabular, MaybeConstant):
    """The largest regret of a commitment over all feasible rewards of the simplex.

    Attributes
    ----------
    value : the regret under `reward`, evaluated by us.
    bound : no feasible reward has a larger regret: the solver's word, or the upper bound of
        `regret_bound`, which is proved, where that is smaller.
    reward : (S,), or (S, A, B).
    solved : the solver's record.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> worst = worst_regret(iirl.FeasibleRewards(game), [[1], [1]], [[1, 0], [1, 0]])
    >>> round(worst.value, 6), worst.reward.round(6).tolist()
    (0.5, [0.0, 1.0])
    """

    value: float
    bound: float
    reward: Array
    solved: Solved

    __repr__ = in_brief

    @property
    def _reward_found(self) -> Array:
        return self.reward


@checked(feasible=FEASIBLE, joint=FLAG, solver=HIGHS)
def worst_regret(
    feasible: FeasibleRewards,
    pi1: ArrayLike,
    response: ArrayLike | None = None,
    *,
    joint: bool = False,
    solver: HiGHS | None = None,
) -> WorstRegret:
    """Find the feasible reward of the simplex under which the regret is largest, on small games.

    Parameters
    ----------
    feasible : responses that may lose something and preferences count, too; not trajectories.
    response : as for `regret_bound`; a commitment without response is refused, since the follower's
        own best response would be a second program inside this one.

    Raises
    ------
    InvalidArgument
        No response is given, and no episode of `feasible` has this commitment.
    LimitReached, SolverFailed
        The program was not solved, or its witness is not feasible by our arithmetic.

    **Cost** one mixed-integer program with S·A·B binaries: seconds up to some six states with four
    choices each, hopeless for dozens.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> known = iirl.FeasibleRewards(game).observe([[1], [1]], [[0, 1], [1, 0]])
    >>> round(worst_regret(known, [[1], [1]], [[1, 0], [1, 0]]).value, 6)
    0.5
    """
    whole = tuple(e for e in feasible.episodes if isinstance(e, WholeResponse))
    others = tuple(e for e in feasible.episodes if not isinstance(e, WholeResponse))
    if any(isinstance(e, Watched) for e in others):
        allowed = "responses and preferences: of trajectories programs know a larger set"
        raise InvalidArgument("feasible", "holds trajectories", allowed, feasible)
    if response is None:
        response = _last_response(feasible, pi1)
    # What else was seen only narrows the set, so bounds without it hold.
    plain = FeasibleRewards(feasible.game, whole) if others else feasible
    proved = regret_bound(plain, pi1, response, joint=joint, tighten=False, solver=solver)
    if not proved.seen:
        raise InvalidArgument(
            "response", "is missing", "the response to this commitment, given or observed", None
        )
    play = Play(feasible.game, proved.pi1, proved.pi2, joint)
    rows = known_rows(plain, play)
    large = np.maximum(proved.values, 0.0)[play.state] - play.advantages.min(axis=1)
    problem, r = _problem(play, rows, large)
    if others:
        more = FeasibleRewards(feasible.game, others)
        shaped = cp.reshape(r, (play.game.n_states, -1), order="C") if joint else r
        problem = cp.Problem(problem.objective, problem.constraints + more.constraints(shaped))
    solved = solve(problem, solver)
    reward = np.maximum(np.array(r.value), 0.0).reshape(play.reward_shape)
    reward = _explaining(feasible, reward / reward.sum(), proved.tolerance)
    if reward is None:
        raise SolverFailed(solved)
    assert solved.bound is not None
    value = regret_under(play, True, reward)
    return WorstRegret(value, max(value, min(solved.bound, proved.upper)), reward, solved)


def _explaining(feasible: FeasibleRewards, reward: Array, tolerance: float) -> Array | None:
    """Return a reward of the simplex that explains everything, moved by rounding if it has to be.

    A constant loses nothing, so a little of it makes up for what a program exceeds a loss by; and a
    reward that is one up to rounding becomes one.
    """
    whole = (1.0,) if is_constant(reward, ROUNDING[-1]) else ()
    for little in (0.0, *ROUNDING, *whole):
        near = (1 - little) * reward + little / reward.size
        if not feasible.violations(near, tolerance=tolerance):
            return np.asarray(near)
    return None


def _responses(feasible: FeasibleRewards) -> list[Observation]:
    return [o for o in feasible.answers if isinstance(o, Observation)]


def _last_response(feasible: FeasibleRewards, pi1: ArrayLike) -> Array | None:
    """Return the response seen in the last episode with a commitment, optimal or not."""
    policy = feasible.game.check_leader_policy(pi1)
    known = [o for o in _responses(feasible) if np.array_equal(o.pi1, policy)]
    return known[-1].pi2 if known else None


def _problem(play: Play, rows: Polytope, large: Array) -> tuple[cp.Problem, cp.Variable]:
    """Return the program of the module with constants M (S·A·B,), and its reward."""
    game, n = play.game, play.game.n_states
    r, u = cp.Variable(play.width, nonneg=True, name="r"), cp.Variable(n, nonneg=True, name="gain")
    z = cp.Variable(n * game.n_choices, boolean=True, name="choice")
    gained = play.advantages @ r + game.discount * (game.matrix @ u) - play.choose @ u
    limits = [
        (gained + cp.multiply(large, 1 - z) >= 0).set_label("gains"),
        (play.choose.T @ z == 1).set_label("one choice"),
        (cp.sum(r) == 1).set_label("simplex sum"),
    ]
    if len(rows.free):
        limits.append((rows.free @ r >= 0).set_label("explicit"))
    if len(rows.tied):
        limits.append((rows.tied @ r == 0).set_label("tied"))
    return cp.Problem(cp.Maximize(game.start @ u), limits), r
