"""When Algorithm 1 stops losing: the assumption of Proposition 1, repaired and decided.

Proposition 1 says that the regret of Algorithm 1 vanishes if a reward that makes the leader play
badly betrays itself in the answer. As printed it asks this of joint policies, which hardly any game
grants; what its proof uses speaks of commitments. Call a deterministic commitment *suboptimal* if
it has regret under the true reward, and say that it is *refuted* by its answer if no non-constant
reward makes it jointly optimal together with each response that the follower may give. The
assumption is

    every suboptimal deterministic commitment is refuted by its answer.

Then Algorithm 1 has only finitely many episodes with regret. Say that it commits to π1, suboptimal,
because this is optimal for its reward r_t, and that it has been given every response to π1 before.
They are optimal for r_t too, since r_t explains them, so by Lemma 2 they are jointly optimal with
π1 under r_t: contradiction. So where the response is unique, or the same every time, each
suboptimal commitment is played at most once; under random ties almost surely finitely often. It
needs nothing of the choice of r_t but that it explains the answers and is not constant.

It is decided a commitment at a time. With π the commitment and the even mixture of the responses in
question, r makes all of them jointly optimal iff no advantage ``adv_r(s, a, b)`` of π is positive.
The *margin* of a commitment is the least over all rewards with ``min r = 0`` and ``max r = 1`` of
the largest advantage: it is refuted iff that is positive. For each pair of states, one for the
largest and one for the least reward, this is a linear program, and its multipliers prove it: with
``y ≥ 0``, ``Σ y = 1`` and ``w = Σ y adv``, all such rewards have an advantage of at least

    w_i + Σ_{k ≠ i, j} min(w_k, 0)        where r_i = 1 and r_j = 0.

Source: paper, Proposition 1, repaired; its appendix argues with a cover of the rewards instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.certificate import Check
from iirl_opt.checks import POSITIVE, checked, is_a, whole
from iirl_opt.commitment.searches import commitments
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.follower.optimal import OptimalFollower, best_responses
from iirl_opt.game.exact import exact_optimum
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.optimum import modified_policy_iteration
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.game.reward import check_reward
from iirl_opt.printing.records import with_html
from iirl_opt.rewards.advantages import Play
from iirl_opt.solver import HiGHS, LiveProgram
from iirl_opt.solver.records import HIGHS

__all__ = ["ConvergenceCondition", "convergence_condition"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# Over 1 − γ, in values of rewards whose spread is one: what programs cannot tell from zero.
SLACK = 1e-8

# Deterministic commitments beyond which an enumeration is refused: each may take S(S − 1) programs.
LIMIT = 1024


@dataclass(frozen=True, eq=False)
class ConvergenceCondition:
    """Whether the answer to every suboptimal commitment refutes it, with the proof; true if so.

    Arrays have one entry for each of the K suboptimal deterministic commitments.

    Attributes
    ----------
    game, truth : the game, and the follower's reward (S,).
    follower : whose tie rule says which responses may come.
    commitments : the leader's actions, (K, S).
    regrets : what they lose under the truth, from the start distribution, (K,).
    responses : the even mixture of all responses that may come, (K, S, B).
    margins : ≥ 0, (K,): under every reward with least entry zero and largest one, some joint action
        has an advantage of at least this over commitment and responses. Zero: not refuted.
    rewards : such a reward, (K, S), with no larger advantage. Where the margin is zero it makes
        commitment and responses jointly optimal, so it explains the answer and leads astray.
    multipliers : (K, S·(S − 1), S·A·B), of each pair (largest, least) of states in the order of
        `itertools.permutations`: they prove the margins.
    tolerance : margins up to this are zero.

    Examples
    --------
    >>> from iirl_opt import random_game
    >>> game, truth = random_game(2, 2, 2, rng=3, restart=False)
    >>> convergence_condition(game, truth)
    ConvergenceCondition(holds, 3 suboptimal of 4, margin 0.28)
    """

    game: TwoAgentMDP
    truth: Array
    follower: OptimalFollower
    commitments: Integers
    regrets: Array
    responses: Array
    margins: Array
    rewards: Array
    multipliers: Array
    tolerance: float

    def __bool__(self) -> bool:
        return self.margin > self.tolerance

    @property
    def margin(self) -> float:
        """The least margin, infinite where no commitment is suboptimal."""
        return float(self.margins.min(initial=np.inf))

    @property
    def regret_tolerance(self) -> float:
        """Regrets in floats up to this are rounding, or near ties on the scale of the best play."""
        best = modified_policy_iteration(self.game, self.truth)
        return float(self.game.start @ best.tie_tolerance[:, 0])

    @property
    def violations(self) -> Integers:
        """The positions of the commitments that their answers do not refute."""
        return np.flatnonzero(self.margins <= self.tolerance)

    @property
    def most_bad_episodes(self) -> int | None:
        """How many episodes with regret Algorithm 1 has at most; None where there is no bound.

        The number of suboptimal commitments, if the assumption holds and the follower always gives
        all it may: one response, or the whole set of optimal actions.
        """
        tied = np.count_nonzero(self.responses, axis=2).max(initial=1) > 1
        if not self or (tied and self.follower.ties == "random"):
            return None
        return len(self.commitments)

    @checked(k=whole(0))
    def pi1(self, k: int) -> Array:
        """Return a suboptimal commitment by its position, as a policy (S, A)."""
        return deterministic_policy(self.commitments[k], self.game.n_leader_actions)

    def __repr__(self) -> str:
        found = "holds" if self else f"fails at {len(self.violations)} commitments"
        return (
            f"ConvergenceCondition({found}, {len(self.commitments)} suboptimal of "
            f"{self.game.n_leader_actions**self.game.n_states}, margin {self.margin:.3g})"
        )

    _repr_html_ = with_html

    @checked(tolerance=POSITIVE)
    def check(self, tolerance: float | None = None) -> Check:
        """Prove everything again without a solver: the enumeration, both sides of all margins.

        Parameters
        ----------
        tolerance : in values of rewards whose spread is one; by default the record's own.

        **Cost** arithmetic: a planning problem for each deterministic commitment.
        """
        allowed = self.tolerance if tolerance is None else tolerance
        again = _suboptimal(self.game, self.truth, self.follower)
        if any(
            mine.shape != theirs.shape or not np.allclose(mine, theirs, rtol=0, atol=allowed)
            for mine, theirs in zip(
                (self.commitments, self.regrets, self.responses), again, strict=True
            )
        ):
            return Check({"the suboptimal commitments are those listed": np.inf}, allowed)
        residuals = {
            "multipliers are nonnegative": -float(self.multipliers.min(initial=0.0)),
            "multipliers sum to one": float(
                np.abs(self.multipliers.sum(axis=2) - 1).max(initial=0.0)
            ),
            "the rewards lie between zero and one": float(
                np.abs(self.rewards - self.rewards.clip(0.0, 1.0)).max(initial=0.0)
            ),
            "the rewards have spread one": float(
                np.abs(np.ptp(self.rewards, axis=1) - 1).max(initial=0.0)
            ),
        }
        proved, attained = np.zeros(len(self.margins)), np.zeros(len(self.margins))
        for k in range(len(self.margins)):
            rows = _advantages_over(self.game, self.pi1(k), self.responses[k])
            proved[k] = _margin_proved(rows, self.multipliers[k])
            attained[k] = (rows @ self.rewards[k]).max()
        short, over = self.margins - proved, attained - self.margins
        residuals["multipliers prove the margins"] = float(short.max(initial=0.0))
        residuals["the rewards attain the margins"] = float(over.max(initial=0.0))
        return Check(residuals, allowed)


@checked(
    game=GAME, tolerance=POSITIVE, limit=whole(1), follower=is_a(OptimalFollower), solver=HIGHS
)
def convergence_condition(
    game: TwoAgentMDP,
    truth: ArrayLike,
    follower: OptimalFollower | None = None,
    *,
    tolerance: float | None = None,
    limit: int = LIMIT,
    solver: HiGHS | None = None,
) -> ConvergenceCondition:
    """Decide whether every suboptimal deterministic commitment is refuted by its answer.

    Parameters
    ----------
    truth : the follower's reward, shape (S,).
    follower : its tie rule. With ``"first"`` or ``"last"`` one response comes; with any other, all
        optimal ones count, which refute more. By default random ties, as in the paper.
    tolerance : in values of rewards whose spread is one; 1e-8/(1−γ) by default.
    limit : how many deterministic commitments are accepted.

    Raises
    ------
    InvalidReward
        The truth is no finite state reward.
    InvalidArgument
        There are more commitments than the limit; the tolerance is not positive.

    **Source** paper, Proposition 1, its assumption read about commitments. **Cost** a planning
    problem for each deterministic commitment, and S (S − 1) small LPs for each suboptimal one.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, truth = iirl.random_game(2, 2, 2, rng=3, restart=False)
    >>> condition = convergence_condition(game, truth)
    >>> bool(condition), bool(condition.check()), condition.most_bad_episodes
    (True, True, 3)
    """
    r = check_reward(game, truth)
    if r.ndim != 1:
        raise InvalidReward("truth", f"has shape {r.shape}", f"({game.n_states},)", r.shape)
    partner = OptimalFollower("random") if follower is None else follower
    allowed = SLACK / (1 - game.discount) if tolerance is None else tolerance
    count = game.n_leader_actions**game.n_states
    if count > limit:
        raise InvalidArgument(
            "game", f"has {count:,} deterministic commitments", f"at most {limit:,}", count
        )
    suboptimal, regrets, responses = _suboptimal(game, r, partner)
    k, n = suboptimal.shape
    margins, rewards = np.zeros(k), np.zeros((k, n))
    multipliers = np.zeros((k, n * (n - 1), n * game.n_choices))
    for i, (actions, pi2) in enumerate(zip(suboptimal, responses, strict=True)):
        pi1 = deterministic_policy(actions, game.n_leader_actions)
        rows = _advantages_over(game, pi1, pi2)
        rewards[i], multipliers[i] = _least_betraying(rows, solver)
        margins[i] = max(_margin_proved(rows, multipliers[i]), 0.0)
    return ConvergenceCondition(
        game,
        r,
        partner,
        suboptimal,
        regrets,
        responses,
        margins,
        rewards,
        multipliers,
        allowed,
    )


def _suboptimal(
    game: TwoAgentMDP, truth: Array, follower: OptimalFollower
) -> tuple[Integers, Array, Array]:
    """Return the deterministic commitments with regret, the regrets, and what answers them.

    Where the regret is within the error of floats, it is decided in rationals.
    """
    shape = (game.n_states, game.n_follower_actions)
    best, start = modified_policy_iteration(game, truth), np.array(game.exact_start, dtype=object)
    one = follower.ties in ("first", "last")
    answers = follower if one else OptimalFollower("mix")
    chosen, regrets, responses = [], [], []
    most = None
    for block in commitments(np.ones(game.shape[:2], dtype=bool)):
        for actions in block:
            pi1 = deterministic_policy(actions, game.n_leader_actions)
            found = best_responses(game, truth, pi1)
            regret = game.start @ (best.values - found.values)
            if abs(regret) <= 2 * game.start @ (best.error + found.error):
                most = start @ exact_optimum(game, truth).values if most is None else most
                regret = most - start @ exact_optimum(game, truth, pi1).values
            if regret > 0:
                chosen.append(actions)
                regrets.append(float(regret))
                responses.append(answers.among(found.optimal))
    return (
        np.array(chosen, dtype=np.int64).reshape(-1, game.n_states),
        np.array(regrets, dtype=float),
        np.array(responses, dtype=float).reshape(-1, *shape),
    )


def _advantages_over(game: TwoAgentMDP, pi1: Array, pi2: Array) -> Array:
    """Return the (S·A·B, S) matrix of the advantages over a play."""
    return Play(game, pi1, pi2, joint=False).advantages


def _least_betraying(rows: Array, solver: HiGHS | None) -> tuple[Array, Array]:
    """Return a reward of spread one with the least largest advantage, and multipliers of all pairs.

    The program in (r, t): ``min t`` with ``rows @ r ≤ t``, ``0 ≤ r ≤ 1``, ``r_i = 1``, ``r_j = 0``.
    """
    m, n = rows.shape
    matrix = np.block([[rows, -np.ones((m, 1))], [np.eye(n), np.zeros((n, 1))]])
    low, high = np.full(m + n, -np.inf), np.zeros(m + n)
    low[m:], high[m:] = 0.0, 1.0
    live = LiveProgram(np.eye(n + 1)[n], matrix, low, high, solver=solver)
    best, reward, multipliers = np.inf, np.zeros(n), []
    for i, j in permutations(range(n), 2):
        low[m:], high[m:] = 0.0, 1.0
        low[m + i], high[m + j] = 1.0, 0.0
        live.change_rows(low, high)
        solved = live.solve()
        y = np.maximum(solved.duals["rows"][:m], 0.0)
        multipliers.append(y / y.sum())
        r = solved.primal["x"][:n].clip(0.0, 1.0)
        r[i], r[j] = 1.0, 0.0
        largest = float((rows @ r).max())
        if largest < best:
            best, reward = largest, r
    return reward, np.array(multipliers)


def _margin_proved(rows: Array, multipliers: Array) -> float:
    """Return what the multipliers of all pairs prove about the largest advantage."""
    n = rows.shape[1]
    i, j = np.array(list(permutations(range(n), 2)), dtype=np.int64).reshape(-1, 2).T
    w = multipliers @ rows
    at = np.arange(len(w))
    others = np.minimum(w, 0.0)
    others[at, i] = others[at, j] = 0.0
    return float((w[at, i] + others.sum(axis=1)).min(initial=np.inf))
