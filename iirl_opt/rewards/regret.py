"""How large the regret of a commitment can be under every feasible reward: bounds with proofs.

The leader has committed to ``π1`` and seen the response ``π2``; with π for both, the *regret* under
a reward r is ``V*(r) − V_π(r)`` from the start distribution, V* being the value of the joint
optimum. ``V_π(r)`` is linear in r and ``V*`` convex, so the worst feasible reward is the maximum of
a convex function over a polytope: hard to find, and here bounded from both sides.

*From above.* The advantage ``adv_r(s, a, b) = Q_π(s, a, b) − V_π(s)`` is linear in r; for state
rewards ``adv_r = γ (P_ab − P_π)(I − γ P_π)^{-1} r``. Let ``ā(s, a, b)`` be its maximum over all
feasible rewards, a linear program each. By the performance difference lemma the regret under r of a
joint optimum π' is ``E_π'[Σ_t γ^t adv_r(s_t, a_t, b_t)] ≤ E_π'[Σ_t γ^t ā(s_t, a_t, b_t)]``, and so
at most the optimal value of the MDP whose reward is ā. This bound is zero iff no ``ā`` is positive
where a joint policy can come, and then π is jointly optimal for every feasible reward. (Constants
are feasible and have no advantages, so ``ā ≥ 0``: there is nothing to clip.)

How the ``ā`` are found and proved, with few programs, stands in `iirl_opt.rewards.ceiling`.

The bound is tightened by linear functions that make the worst rewards of different choices agree:
on small games mostly to the worst regret itself, by one program, on others by descent
(`iirl_opt.rewards.regret_descent`), until it is at most twice the lower bound.

*From below.* The joint optimum for r and the reward that is worst against this joint policy, an LP,
alternate until the regret no longer grows; the best reward met is the witness.

*Exactly* on small games, by a mixed-integer program over r, the gains ``V* − V_π`` and the actions.

All of it is relative to the reward simplex: a reward r has ``Σ (r − min r)`` times the regret of
its image there. Source: ours, after Kakade & Langford 2002 (their Lemma 6.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.certificate import Check
from iirl_opt.checks import FLAG, NOT_NEGATIVE, POSITIVE, RNG, checked, whole
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.kernel import Matrix
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.optimum import modified_policy_iteration
from iirl_opt.observation import observe
from iirl_opt.printing.records import with_html
from iirl_opt.rewards.advantages import Play
from iirl_opt.rewards.ceiling import Ceiling, excess
from iirl_opt.rewards.constant import MaybeConstant
from iirl_opt.rewards.feasible import FEASIBLE, FeasibleRewards
from iirl_opt.rewards.regret_descent import descended
from iirl_opt.rewards.regret_rows import Polytope, Programs, known_rows, linear_values, same_rewards
from iirl_opt.rewards.regret_witness import (
    GROWTH,
    WorstSoFar,
    largest_slack,
    off_simplex,
    regret_under,
)
from iirl_opt.solver import HiGHS
from iirl_opt.solver.records import HIGHS

__all__ = ["RegretBound", "certified", "proved_bound", "regret_bound"]

Array = NDArray[np.float64]

# Nonzeros of the program that tightens a bound, up to which it is solved unasked.
SMALL = 30_000

# Entries of the rows times the number of choices, beyond which bounds are made all together.
LARGE = 300_000_000

# An upper bound is good at so many times the lower one, and a share of the constant's value more.
RATIO, SHARE = 2.0, 1e-3


@dataclass(frozen=True, eq=False)
class RegretBound(MaybeConstant):
    """Bounds on the regret of a commitment under every feasible reward of the simplex.

    Attributes
    ----------
    feasible : the rewards in question.
    game : the game in which the commitment is made.
    pi1, pi2 : the commitment (S, A) and the response (S, B).
    seen : whether `pi2` is known to be the response; if not, it is a guess: the regret is that
        against a best response, which a guess can only overstate.
    upper : no feasible reward has a larger regret.
    lower : some feasible reward, `reward`, has at least this one.
    reward : (S,), or (S, A, B).
    linear, base : linear functions φ of the reward, (S, width), zero unless the bound was
        tightened, and a bound on φ at the start over all feasible rewards.
    advantages : (S, A, B), bounds on the largest advantages relative to φ.
    values : (S,), at least the optimal values of the MDP with reward `advantages`.
    multipliers : (k, rows) ≥ 0, and `tied` (k, equations): each line proves bounds.
    proof, base_proof : (S, A, B), the line of multipliers behind each bound, and behind `base`.
    solved, screened : how many of the advantages took a program of their own, and how many did not.
    tolerance : bounds that differ by less are equal.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> known = iirl.FeasibleRewards(game).observe([[1], [1]], [[0, 1], [1, 0]])
    >>> bound = regret_bound(known, [[1], [1]], starts=1)
    >>> bound.zero, bound.exact, bool(bound.check())
    (True, True, True)
    """

    feasible: FeasibleRewards
    game: TwoAgentMDP
    pi1: Array
    pi2: Array
    seen: bool
    upper: float
    lower: float
    reward: Array
    linear: Array
    base: float
    advantages: Array
    values: Array
    multipliers: Matrix
    tied: Array
    proof: NDArray[np.int64]
    base_proof: int
    solved: int
    screened: int
    tolerance: float

    @property
    def _reward_found(self) -> Array:
        return self.reward

    @property
    def exact(self) -> bool:
        """Whether both bounds are equal, so that `lower` is the worst regret."""
        return self.upper - self.lower <= self.tolerance

    @property
    def zero(self) -> bool:
        """Whether the commitment is proved to be optimal for every feasible reward."""
        return self.upper <= self.tolerance

    def __repr__(self) -> str:
        counts = f"{self.solved} programs, {self.screened} screened"
        return f"RegretBound({self.lower:.6g} ≤ worst regret ≤ {self.upper:.6g}, {counts})"

    _repr_html_ = with_html

    @checked(tolerance=POSITIVE)
    def check(self, tolerance: float | None = None) -> Check:
        """Prove both bounds again from multipliers and witness, without a solver.

        Parameters
        ----------
        tolerance : in the unit of values; by default the record's own.

        **Cost** arithmetic: rows and advantages are made anew.
        """
        game, joint = self.game, self.reward.ndim == 3
        play = Play(game, self.pi1, self.pi2, joint)
        rows = known_rows(self.feasible, play, seen=self.seen)
        allowed = self.tolerance if tolerance is None else tolerance
        n_lines = self.multipliers.shape[0]
        if self.multipliers.shape[1:] != rows.free.shape[:1] or self.tied.shape != (
            n_lines,
            len(rows.tied),
        ):
            return Check({"there is a multiplier for each row": np.inf}, allowed)
        shift = np.asarray(self.multipliers @ rows.free) - self.tied @ rows.tied
        proved = (play.relative(self.linear) + shift[self.proof.ravel()]).max(axis=1)
        base = (game.start @ self.linear + shift[self.base_proof]).max()
        residuals = {
            "multipliers are nonnegative": -float(self.multipliers.data.min(initial=0.0)),
            "multipliers bound the advantages": float((proved - self.advantages.ravel()).max()),
            "multipliers bound the start": float(base) - self.base,
            "values bound the MDP": excess(game, self.advantages, self.values),
            "upper is the sum": self.base + float(game.start @ self.values) - self.upper,
            "the witness is in the simplex": off_simplex(self.reward),
            "the witness is feasible": largest_slack(self.feasible, self.reward),
            "the witness has this regret": self.lower - regret_under(play, self.seen, self.reward),
        }
        return Check(residuals, allowed)


@checked(
    feasible=FEASIBLE,
    game=GAME,
    joint=FLAG,
    delta=NOT_NEGATIVE,
    tolerance=POSITIVE,
    rng=RNG,
    tighten=FLAG,
    steps=whole(0),
    limit=whole(0),
    starts=whole(0),
    solver=HIGHS,
)
def regret_bound(
    feasible: FeasibleRewards,
    pi1: ArrayLike,
    response: ArrayLike | None = None,
    *,
    game: TwoAgentMDP | None = None,
    joint: bool = False,
    delta: float | None = None,
    tighten: bool | None = None,
    steps: int = 60,
    limit: int | None = None,
    tolerance: float | None = None,
    starts: int = 5,
    rng: int | np.random.Generator | None = 0,
    solver: HiGHS | None = None,
) -> RegretBound:
    """Bound the regret of a commitment under every feasible reward, from above and from below.

    The regret is that of the play (π1, π2) from the start distribution. `feasible` is taken as it
    is: to use what the response itself says, pass a set that knows it.

    Parameters
    ----------
    pi1 : the commitment, shape (S, A).
    response : a policy (S, B), or a mask (S, B) of all optimal actions. If it is left out, the
        response seen in the last episode with this commitment; of a commitment that was never
        played, the best response to a few feasible rewards: the bound is valid for any guess, since
        the response that will come is at least as good.
    game : where the commitment is made: another game over the same rewards than the one in which
        answers were seen, with labels and start of its own. There no response was seen, and one
        that is given is a guess, too.
    joint : under joint rewards (S, A, B) in place of state rewards (S,).
    delta : stop as soon as the upper bound is at most this, or the lower bound above it.
    tighten : also look for linear functions that lower the bound: by one LP with some S²·A·B
        columns; by default that where it takes well under a second, elsewhere `steps`.
    steps : of a descent by default, at most; fewer where the bound is at most `delta`, or twice
        the lower one and a thousandth of what the constant reward earns.
    limit : solve programs of at most so many choices for the upper bound, which is valid after any
        number; the start has one of its own, in each step of a descent. As many as it takes by
        default, and none on large games (200 states with 4 × 4 actions), where all multipliers are
        made by arithmetic together.
    tolerance : in the unit of values, how much of the upper bound may be left to gain by further
        programs; 1e-8/(1−γ) by default, what they can be solved to.
    starts : of the search for the lower bound, ≥ 0: so many random vertices, and as many of the
        rewards that count most in the upper bound.
    rng : of these vertices: a generator, or the seed of one.

    Raises
    ------
    InvalidPolicy, InvalidObservation, InvalidArgument
        Also a game of other states, by name.

    **Source** performance difference lemma; see the module. **Cost** at most S·A·B LPs, in practice
    a fraction of them, and a few for the lower bound; on large games some hundred products of an
    (S·A·B, width) and a (width, 6·width) matrix in their place.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> nothing_known = iirl.FeasibleRewards(game)
    >>> bound = regret_bound(nothing_known, [[1], [1]], [[1, 0], [1, 0]], starts=1)
    >>> round(bound.lower, 6), round(bound.upper, 6)
    (0.5, 0.5)
    """
    where = feasible.game if game is None else same_rewards(feasible, game, joint=joint)
    allowed = GROWTH / (1 - where.discount) if tolerance is None else tolerance
    random = np.random.default_rng(rng)
    play, seen, program = _prepare(feasible, where, pi1, response, joint, random, solver)
    witness = WorstSoFar(play, seen, program)
    for _ in range(starts):
        if delta is not None and witness.regret > delta:
            break
        witness.climb(program.maximise(random.uniform(-1, 1, play.width)).reward)
    ceiling = Ceiling(play, program, np.zeros((play.game.n_states, play.width)))
    enough = -np.inf if delta is None else delta
    large = program.rows.free.size * len(ceiling.gains) > LARGE
    budget = (0 if large else np.inf) if limit is None else limit

    def is_open() -> bool:
        decided = delta is not None and (witness.regret > delta or ceiling.upper <= delta)
        return not decided and ceiling.upper - witness.regret > allowed

    if large and is_open():
        ceiling.lower_together(enough)
    if is_open():
        ceiling.lower_to(enough, tolerance=allowed, limit=budget)
    solved = set(ceiling.rewards)
    if is_open():
        witness.oppose(ceiling.policy)
        for reward in ceiling.worst(starts):
            witness.climb(reward)
    small = _products(play, program) <= SMALL
    if is_open() and tighten is None and not small and 0 < len(solved) < budget:
        good = RATIO * witness.regret + SHARE / play.width / (1 - where.discount)
        target = good if delta is None else delta
        ceiling, more = descended(
            ceiling, target, steps=steps, limit=budget - len(solved), tolerance=allowed
        )
        solved |= more
        witness.oppose(ceiling.policy)
    if is_open() and (small if tighten is None else tighten):
        tighter = _tightened(play, program, witness)
        if tighter is not None:
            tighter.lower_to(enough, tolerance=allowed, limit=budget)
            solved |= set(tighter.rewards)
            ceiling = min(ceiling, tighter, key=lambda c: c.upper)
    return proved_bound(feasible, ceiling, witness, solved=len(solved), tolerance=allowed)


def proved_bound(
    feasible: FeasibleRewards,
    ceiling: Ceiling,
    witness: WorstSoFar,
    *,
    solved: int,
    tolerance: float,
) -> RegretBound:
    """Return the record of a ceiling and a witness."""
    play, (free, tied, proof) = ceiling.play, ceiling.proofs()
    return RegretBound(
        feasible=feasible,
        game=play.game,
        pi1=play.pi1,
        pi2=play.pi2,
        seen=witness.seen,
        upper=max(ceiling.upper, witness.regret),
        lower=witness.regret,
        reward=witness.reward.reshape(play.reward_shape),
        linear=ceiling.linear,
        base=ceiling.base,
        advantages=ceiling.bounds.reshape(play.game.shape),
        values=ceiling.values,
        multipliers=free,
        tied=tied,
        proof=proof[:-1].reshape(play.game.shape),
        base_proof=int(proof[-1]),
        solved=solved,
        screened=len(play.advantages) - solved,
        tolerance=tolerance,
    )


def _products(play: Play, program: Programs) -> int:
    """Return the number of nonzeros that all rows have in the program of `linear_values`."""
    return (len(play.advantages) + 1) * sum(part.size for part in program.rows[:2])


def _tightened(play: Play, program: Programs, witness: WorstSoFar) -> Ceiling | None:
    """Return the bounds relative to good linear functions; their program has a bad reward too."""
    free, tied, _ = program.rows
    if _products(play, program) > SMALL:
        free = free[program.used]
    found = linear_values(play, Polytope(free, tied), program.solver)
    if found is None:
        return None
    linear, reward = found
    optimum = modified_policy_iteration(play.game, reward.reshape(play.reward_shape))
    witness.oppose(optimum.policy)
    return Ceiling(play, program, linear)


@checked(feasible=FEASIBLE, delta=NOT_NEGATIVE, solver=HIGHS)
def certified(
    feasible: FeasibleRewards,
    pi1: ArrayLike,
    response: ArrayLike | None = None,
    *,
    delta: float,
    solver: HiGHS | None = None,
) -> bool:
    """Return whether the regret is proved to be at most `delta` under every feasible reward.

    False says that there is no proof, not that there is such a reward.

    **Cost** as `regret_bound`, which stops early here.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> known = iirl.FeasibleRewards(game).observe([[1], [1]], [[0, 1], [1, 0]])
    >>> certified(known, [[1], [1]], delta=0.01)
    True
    """
    return regret_bound(feasible, pi1, response, delta=delta, solver=solver).upper <= delta


def _prepare(
    feasible: FeasibleRewards,
    game: TwoAgentMDP,
    pi1: ArrayLike,
    response: ArrayLike | None,
    joint: bool,
    rng: np.random.Generator,
    solver: HiGHS | None,
) -> tuple[Play, bool, Programs]:
    """Return the play, whether its response is known, and the programs over the feasible set."""
    policy, at_home = game.check_leader_policy(pi1), game is feasible.game
    if response is None and at_home:
        known = [o for o in feasible.observations if np.array_equal(o.pi1, policy)]
        if known:
            response = known[-1].pi2
    seen = response is not None and at_home
    if response is None:
        shape = game.shape if joint else game.shape[:1]
        program = Programs(Polytope(*feasible.explicit_rows(joint=joint)), solver)
        corners = [program.maximise(rng.uniform(-1, 1, int(np.prod(shape)))) for _ in range(3)]
        centre = np.mean([corner.reward for corner in corners], axis=0).reshape(shape)
        response = OptimalFollower().respond(game, centre, policy)
    seen_as = observe(game, policy, response)
    play = Play(game, seen_as.pi1, seen_as.pi2, joint)
    return play, seen, Programs(known_rows(feasible, play), solver)
