"""What rewards are worth elsewhere: the worst regret of a commitment in another game.

Answers were seen in one game, and a commitment is made in another one over the same states and
rewards, under kernels, actions, a discount and a start of its own. Its regret under a reward r is
``V*(r) − W(r)`` from the start there, W being what the commitment earns when the follower answers
it best. At home the response to a commitment that was played is known, and what the two earn is
linear in r. Elsewhere the answer depends on the reward: W is convex, and to guess a response only
overstates the regret.

*From above*, by arithmetic: the bound of `iirl_opt.rewards.regret` holds for any guess, mixed ones
too. On games that are not large the guess that makes it least comes from one linear program,
`iirl_opt.rewards.regret_products`. *From below*: a feasible reward, under which both plays are
evaluated. *Exactly*: the same program with binaries, whose bound is the solver's word.

All of it is relative to the reward simplex: a reward r has ``Σ (r − min r)`` times the regret of
its image there. Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.certificate import Check
from iirl_opt.checks import POSITIVE, RNG, TIME_LIMIT, checked, one_of
from iirl_opt.errors import Interrupted
from iirl_opt.follower.optimal import best_responses
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.optimum import modified_policy_iteration
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable
from iirl_opt.rewards.advantages import Play
from iirl_opt.rewards.constant import MaybeConstant
from iirl_opt.rewards.feasible import FEASIBLE, FeasibleRewards
from iirl_opt.rewards.regret import RegretBound, proved_bound, regret_bound
from iirl_opt.rewards.regret_products import RegretProgram, n_products, strict
from iirl_opt.rewards.regret_rows import Programs, known_rows, onto_simplex, same_rewards
from iirl_opt.rewards.regret_witness import GROWTH, WorstSoFar, largest_slack, off_simplex
from iirl_opt.solver import HiGHS, Solved, Status, solve
from iirl_opt.solver.records import HIGHS

__all__ = ["RegretElsewhere", "regret_elsewhere", "shared_regret"]

Array = NDArray[np.float64]
By = Literal["choose", "arithmetic", "program"]

# Numbers in a program of products up to which it is solved unasked: some seconds as a linear
# program, by an interior point and not the simplex method, which takes eight times as long; and
# with binaries.
LINEAR, MIXED = 300_000, 50_000
INTERIOR = HiGHS(method="ipm")

# Nearer to one than this, a discount makes numbers that a solver drops: no binaries unasked.
NEAR_ONE = 1e-7


@dataclass(frozen=True, eq=False)
class RegretElsewhere(Tabular, MaybeConstant):
    """The largest regret that a commitment has in a game, over all feasible rewards.

    Attributes
    ----------
    proved : bounds by arithmetic, with their multipliers; `check` proves them again.
    lower : the regret under `reward`, evaluated by us, less what rounding may have added.
    upper : no feasible reward has a larger one: the bound of `proved`, or the solver's word where
        that is smaller.
    reward : (S,), feasible and in the simplex: the worst that was found.
    solved : the record of the mixed-integer program, if there was one.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> home = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> away = iirl.TwoAgentMDP([[[stay], [go]], [[stay], [go]]], discount=0.5)
    >>> nothing_known = iirl.FeasibleRewards(home)
    >>> found = regret_elsewhere(nothing_known, away, [[1, 0], [1, 0]])
    >>> found.exact, round(found.upper, 6), found.reward.round(6).tolist()
    (True, 1.0, [0.0, 1.0])
    """

    proved: RegretBound
    lower: float
    upper: float
    reward: Array
    solved: Solved | None = None

    @property
    def feasible(self) -> FeasibleRewards:
        """The rewards in question."""
        return self.proved.feasible

    @property
    def game(self) -> TwoAgentMDP:
        """The game in which the commitment is made."""
        return self.proved.game

    @property
    def pi1(self) -> Array:
        """The commitment, (S, A)."""
        return self.proved.pi1

    @property
    def tolerance(self) -> float:
        """In the unit of values: bounds that differ by less are equal."""
        return self.proved.tolerance

    @property
    def exact(self) -> bool:
        """Whether both bounds are equal, so that `lower` is the worst regret."""
        return self.upper - self.lower <= self.tolerance

    @property
    def by_arithmetic(self) -> bool:
        """Whether `upper` is proved by our own arithmetic, and no solver's word."""
        return self.upper >= self.proved.upper - self.tolerance

    @property
    def _reward_found(self) -> Array:
        return self.reward

    def __repr__(self) -> str:
        word = "" if self.by_arithmetic else " by the solver's word"
        return f"RegretElsewhere({self.lower:.6g} ≤ worst regret ≤ {self.upper:.6g}{word})"

    def table(self) -> FactTable:
        """Return one row: the bounds, and what they are worth."""
        facts = {
            "lower": self.lower,
            "upper": self.upper,
            "exact": self.exact,
            "upper by arithmetic": self.proved.upper,
            "episodes": len(self.feasible.episodes),
            "constant": self.constant,
            "status": None if self.solved is None else self.solved.status,
        }
        return FactTable([facts], repr(self))

    @checked(tolerance=POSITIVE)
    def check(self, tolerance: float | None = None) -> Check:
        """Prove the bounds again without a solver: those of `proved`, and `lower` of `reward`.

        A solver's word is not asked again; `upper` is held against what was said.

        Parameters
        ----------
        tolerance : in the unit of values; by default the record's own.

        **Cost** arithmetic.
        """
        allowed = self.tolerance if tolerance is None else tolerance
        known = dict(self.proved.check(allowed).residuals)
        known["the worst reward is in the simplex"] = off_simplex(self.reward)
        known["the worst reward is feasible"] = largest_slack(self.feasible, self.reward)
        regret = shared_regret(self.game, self.reward, self.pi1)
        known["the worst reward has this regret"] = self.lower - regret
        word = _said(self.proved, self.solved)
        known["upper is proved, or the solver's bound"] = word - self.upper
        return Check(known, allowed)


def shared_regret(game: TwoAgentMDP, reward: Array, pi1: Array) -> float:
    """Return at least so much regret as a commitment has under a reward of both: errors taken off.

    It is that against a best response, and never negative.
    """
    best, theirs = modified_policy_iteration(game, reward), best_responses(game, reward, pi1)
    short = best.values - theirs.values - best.error - theirs.error
    return max(0.0, float(game.start @ short))


@checked(
    feasible=FEASIBLE,
    game=GAME,
    by=one_of(*get_args(By)),
    time_limit=TIME_LIMIT,
    rng=RNG,
    solver=HIGHS,
)
def regret_elsewhere(
    feasible: FeasibleRewards,
    game: TwoAgentMDP,
    pi1: ArrayLike,
    *,
    by: By = "choose",
    time_limit: float | None = None,
    rng: int | np.random.Generator | None = 0,
    solver: HiGHS | None = None,
) -> RegretElsewhere:
    """Find the largest regret of a commitment in a game over all feasible rewards of the simplex.

    Parameters
    ----------
    game : over the same states; its actions, kernel, discount and start are its own. The game of
        `feasible` is allowed, too: a commitment there whose answer was not seen.
    pi1 : the commitment there, shape (S, A), deterministic or not.
    by : ``"arithmetic"`` bounds alone; ``"program"``: exact by a mixed-integer program, wherever
        the two bounds are not equal already; ``"choose"`` that on small games, unless the discount
        is within 1e-7 of one.
    time_limit : seconds of the mixed-integer program; both bounds are kept.
    rng : of the search for a bad reward: a generator, or the seed of one.

    Raises
    ------
    InvalidArgument
        The states are not those of the rewards: names the first that differs. The set holds
        trajectories.
    InvalidPolicy
    Interrupted
        Ctrl-C in the program: its ``found`` is what is known by then.

    **Source** ours; see the module. **Cost** an LP with S²·A·B columns and some small ones; then a
    mixed-integer program with S·A·B binaries: seconds up to a dozen states. On games that are
    large for it that of `regret_bound`.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> home = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> away = iirl.TwoAgentMDP([[[stay], [go]], [[stay], [go]]], discount=0.5)
    >>> known = iirl.FeasibleRewards(home).observe([[1], [1]], [[0, 1], [1, 0]])  # 1 ≥ 0
    >>> regret_elsewhere(known, away, [[0, 1], [0, 1]]).upper < 1e-9
    True
    """
    away = same_rewards(feasible, game)
    commitment = away.check_leader_policy(pi1)
    play = Play(away, commitment, away.check_follower_policy(_uniform(away)), joint=False)
    rows = known_rows(feasible, play, seen=False)
    size = n_products(away, len(rows.free) + len(rows.tied))
    program = RegretProgram(play, rows)
    found = None if size > LINEAR else _relaxed(feasible, program, rng, solver)
    if found is None:
        proved = regret_bound(feasible, commitment, game=away, rng=rng, solver=solver)
        found = _of_proof(proved)
    small = size <= MIXED and 1 - away.discount >= NEAR_ONE
    if by == "program" or (by == "choose" and small):
        return found if found.exact else _exactly(found, program, time_limit, solver)
    return found


def _uniform(game: TwoAgentMDP) -> Array:
    return np.full((game.n_states, game.n_follower_actions), 1.0 / game.n_follower_actions)


def _relaxed(
    feasible: FeasibleRewards,
    program: RegretProgram,
    rng: int | np.random.Generator | None,
    solver: HiGHS | None,
) -> RegretElsewhere | None:
    """Return the bounds that the linear program brings; None where it brings none."""
    solved = solve(program.relaxed(), INTERIOR if solver is None else solver, throw=False)
    if solved.status is not Status.OPTIMAL:
        return None
    game, programs = program.play.game, Programs(program.rows, solver)
    tolerance = GROWTH / (1 - game.discount)
    assert solved.value is not None
    ceiling = program.ceiling(solved.duals, programs)
    ceiling.lower_to(solved.value / (1 - game.discount), tolerance=tolerance, limit=np.inf)
    witness = WorstSoFar(ceiling.play, False, programs)
    witness.climb(onto_simplex(solved.primal["r"]))
    if ceiling.upper - witness.regret > tolerance:
        witness.oppose(ceiling.policy)
    proved = proved_bound(
        feasible, ceiling, witness, solved=len(ceiling.rewards), tolerance=tolerance
    )
    return _of_proof(proved)


def _of_proof(proved: RegretBound) -> RegretElsewhere:
    """Return bounds by arithmetic alone."""
    lower = shared_regret(proved.game, proved.reward, proved.pi1)
    return RegretElsewhere(proved, lower, max(lower, proved.upper), proved.reward)


def _exactly(
    found: RegretElsewhere,
    program: RegretProgram,
    time_limit: float | None,
    solver: HiGHS | None,
) -> RegretElsewhere:
    """Return bounds with what the mixed-integer program adds."""
    try:
        solved = solve(program.problem(), strict(solver, time_limit), throw=False)
    except Interrupted as stop:
        stop.found = _with_word(found, stop.solved)
        raise
    return _with_word(found, solved)


def _with_word(found: RegretElsewhere, solved: Solved) -> RegretElsewhere:
    """Return bounds with a program's point, evaluated by us, and its bound, taken as it is."""
    lower, reward = found.lower, found.reward
    if solved.value is not None:
        met = onto_simplex(solved.primal["r"])
        regret = shared_regret(found.game, met, found.pi1)
        if regret > lower and largest_slack(found.feasible, met) <= found.tolerance:
            lower, reward = regret, met
    upper = max(lower, _said(found.proved, solved))
    return RegretElsewhere(found.proved, lower, upper, reward, solved)


def _said(proved: RegretBound, solved: Solved | None) -> float:
    """Return the smaller of a proved bound and a program's, if it has one."""
    if solved is None or solved.bound is None or not np.isfinite(solved.bound):
        return proved.upper
    return min(proved.upper, solved.bound / (1 - proved.game.discount))
