"""The rewards that explain the answers of a soft-optimal partner: equations, not inequalities.

A partner that maximises reward plus λ times entropy (`iirl_opt.follower.SoftOptimalFollower`) plays
every action, and by its probabilities, seen exactly, it says more than an optimal one: there are no
ties, and one commitment can tell the reward up to a constant. In episode t with values ``V_t``

    λ log π2_t(b | s) = r̄_b(s) + γ (P_b V_t)(s) − V_t(s)      for every state and action,

linear in (r, V_1, …, V_T), and in λ where the temperature is not known. Three things to know:

* The system has more equations than unknowns, so *rounded* logarithms contradict each other. Either
  say how far off they may be (``band``, in nats): then each equation holds within λ times that; or
  take `SoftRewards.fit`, the least-squares fit with its residual.
* Known λ makes an affine set: rewards are told in their own unit, up to a constant. Unknown λ makes
  a cone, and rewards are told up to positive affine images: λ is told in the unit of the reward.
* The discount and the kernel are taken for granted. Under *one* commitment almost any reward's
  answers with another discount have an explanation; a second commitment is the test.

It is not the set of a `BoltzmannFollower`, which plays a softmax of *optimal* action values: these
are no linear function of the reward. Nor are samples of answers an answer: `iirl_opt.Posterior`.

**Source** `iirl_opt.rewards.soft_rows`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import told
from iirl_opt.checks import NOT_NEGATIVE, POSITIVE, Rule, between, checked, each, is_a, one_of
from iirl_opt.errors import InvalidArgument, InvalidObservation
from iirl_opt.follower.soft import soft_optimum
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.reward import REWARD, check_reward
from iirl_opt.observation import Observation
from iirl_opt.printing.records import Tabular
from iirl_opt.printing.table import FactTable
from iirl_opt.rewards.domains import RewardDomain, RewardRows
from iirl_opt.rewards.price import in_words
from iirl_opt.rewards.sets import RewardPrograms
from iirl_opt.rewards.soft_fit import SoftFit, fitted
from iirl_opt.rewards.soft_rows import KINDS, RewardKind, SoftAnswer, mean_rows, reward_kind
from iirl_opt.solver.names import speaks_of
from iirl_opt.solver.rules import EXPRESSION

__all__ = ["SOFT_REWARDS", "SoftRewards"]

Array = NDArray[np.float64]

# Of the span of a reward: at this temperature all actions are as good, but for rounding.
HOT, HOTTEST = 1e18, 1e300


class _Centred:
    """All rewards that sum to zero: of those that differ by a constant, one."""

    def constraints(self, r: cp.Expression) -> list[cp.Constraint]:
        return [(cp.sum(r) == 0).set_label("sum zero")]


class _Anywhere:
    """All rewards."""

    def constraints(self, r: cp.Expression) -> list[cp.Constraint]:
        return []


@checked(game=GAME, temperature=POSITIVE, band=NOT_NEGATIVE, answers=each(is_a(SoftAnswer)))
@dataclass(frozen=True, eq=False)
class SoftRewards(RewardPrograms, Tabular):
    """The rewards under which the answers seen are soft-optimal.

    Immutable: `observe` returns a larger record. Rewards are (S,); (S, A, B), in cvxpy expressions
    of shape (S, A·B) in C order; or (S, B) where the leader's action is known not to enter.

    Without a domain, rewards of a known temperature are sought among those that sum to zero.

    Parameters
    ----------
    game : the game.
    temperature : λ > 0, in the unit of the reward; None if it is not known.
    band : how far off the logarithms of the probabilities may be, in nats.
    answers : what has been seen; `observe` adds to it.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, truth = iirl.random_game(3, 2, 2, rng=0)
    >>> partner = iirl.follower.SoftOptimalFollower(temperature=0.5)
    >>> pi1 = [[1, 0], [0, 1], [1, 0]]
    >>> known = SoftRewards(game, temperature=0.5, band=1e-9)
    >>> known = known.observe(pi1, partner.respond(game, truth, pi1))
    >>> known.contains(truth + 7), known.contains(2 * truth)
    (True, False)
    >>> (known.maximise([1, 0, 0]).reward - (truth - truth.mean())).round(6) + 0
    array([0., 0., 0.])
    """

    game: TwoAgentMDP
    temperature: float | None = None
    band: float = 0.0
    answers: tuple[SoftAnswer, ...] = ()

    def __repr__(self) -> str:
        n, known = len(self.answers), self.temperature
        heat = "temperature unknown" if known is None else f"temperature {known:g}"
        count = f"{n} answer{'' if n == 1 else 's'}"
        return told(self, repr(self.game), heat, count, f"band {self.band:g}")

    def table(self) -> FactTable:
        """Return a row an answer: the least probability, and how many actions were rare."""
        rows = [
            {"answer": t, "least probability": float(np.exp(x.log_pi2.min())), "rare": x.rare.sum()}
            for t, x in enumerate(self.answers, start=1)
        ]
        return FactTable(rows, repr(self))

    @checked(floor=between(0, 1, "()"))
    def observe(
        self, pi1: ArrayLike, response: ArrayLike, *, floor: float | None = None
    ) -> SoftRewards:
        """Return the set that knows one answer more.

        Parameters
        ----------
        pi1 : commitment, shape (S, A).
        response : the exact probabilities of what was played, shape (S, B), all above zero.
        floor : what a smaller one is at most; an inequality is kept of it. Without one a zero, as
            underflow makes it, is refused.

        Raises
        ------
        InvalidPolicy, InvalidObservation
            Names the state and action of a zero; counts, trajectories and masks are no answer.

        **Cost** arithmetic.
        """
        answer = SoftAnswer.of(self.game, pi1, response, floor)
        return replace(self, answers=(*self.answers, answer))

    def observe_log(self, pi1: ArrayLike, log_response: ArrayLike) -> SoftRewards:
        """Return the set that knows one answer more, given in logarithms (S, B).

        `SoftOptimalFollower.log_respond` has them where probabilities underflow.

        Raises
        ------
        InvalidPolicy, InvalidObservation
            Names the state whose probabilities sum to something else, beyond the band.

        **Cost** arithmetic.
        """
        answer = SoftAnswer.of_logs(self.game, pi1, log_response, self.band)
        return replace(self, answers=(*self.answers, answer))

    @checked(seen=is_a(Observation, error=InvalidObservation), floor=between(0, 1, "()"))
    def add(self, seen: Observation, *, floor: float | None = None) -> SoftRewards:
        """Return the set that knows an observed response more, as `observe` does."""
        if seen.suboptimality is not None:
            problem = f"is declared suboptimal ({seen.suboptimality})"
            raise InvalidObservation("seen", problem, "the answer of a soft-optimal partner", seen)
        if seen.whole:
            problem = "is a mask of optimal actions"
            raise InvalidObservation("seen", problem, "probabilities, each > 0", seen)
        return self.observe(seen.pi1, seen.pi2, floor=floor)

    @checked(r=EXPRESSION, temperature=EXPRESSION)
    def constraints(
        self, r: cp.Expression, temperature: cp.Expression | None = None
    ) -> list[cp.Constraint]:
        """Return cvxpy constraints that hold r in the set, to use in a program of your own.

        They are ``soft[t]`` (equations; with a band ``soft below[t]`` and ``soft above[t]``),
        ``rare[t]``, and ``temperature`` where that is not known.

        Parameters
        ----------
        r : affine expression of shape (S,), (S, B), or (S, A·B) for a joint reward.
        temperature : affine expression for λ where it is not known; a variable of their own by
            default. λ = 0 is the boundary, where r is a constant.

        Raises
        ------
        InvalidReward, InvalidArgument
            A shape that no reward has; a temperature beside one that is known.
        """
        kind = reward_kind(self.game, r.shape, "r")
        limits: list[cp.Constraint] = []
        scale: Any = self.temperature
        if scale is None:
            own = temperature is None
            scale = cp.Variable(name="temperature") if own else temperature
            limits.append((scale >= 0).set_label("temperature"))
        elif temperature is not None:
            problem, allowed = "stands beside one that is known", "none"
            raise InvalidArgument("temperature", problem, allowed, temperature)
        flat = r if r.ndim == 1 else cp.vec(r, order="C")
        for t, answer in enumerate(self.answers, start=1):
            v = cp.Variable(self.game.n_states, name=f"V[{t}]")
            limits += self._answer_rows(
                t, answer, mean_rows(self.game, answer.pi1, kind) @ flat, v, scale
            )
        return limits

    def _answer_rows(
        self, t: int, answer: SoftAnswer, mean: cp.Expression, v: cp.Variable, scale: Any
    ) -> Iterable[cp.Constraint]:
        """Yield the rows of one answer, each of which speaks of a state and action."""
        often, rare = (np.flatnonzero(mask.ravel()) for mask in (~answer.rare, answer.rare))
        lead = (_value_rows(self.game, answer.pi1) @ v) - mean
        logs = answer.log_pi2.ravel()
        off, say = lead[often] + logs[often] * scale, in_words(self.game, often)
        if self.band:
            low, high = off >= -self.band * scale, off <= self.band * scale
            yield speaks_of(low.set_label(f"soft below[{t}]"), say)
            yield speaks_of(high.set_label(f"soft above[{t}]"), say)
        else:
            yield speaks_of((off == 0).set_label(f"soft[{t}]"), say)
        if len(rare):
            most = lead[rare] + (logs[rare] + self.band) * scale >= 0
            yield speaks_of(most.set_label(f"rare[{t}]"), in_words(self.game, rare))

    def _limits(self, r: cp.Expression) -> list[cp.Constraint]:
        return self.constraints(r)

    def _within(
        self,
        goal: cp.Minimize | cp.Maximize,
        r: cp.Variable,
        domain: RewardDomain | None,
        subject_to: RewardRows | None = None,
    ) -> cp.Problem:
        if domain is None and self.temperature is not None:
            domain = _Centred() if isinstance(goal, cp.Maximize) else _Anywhere()
        return super()._within(goal, r, domain, subject_to)

    @checked(rewards=one_of(*KINDS))
    def fit(self, rewards: RewardKind = "state") -> SoftFit:
        """Return the reward that fits all answers best, by least squares, and how far it is told.

        Parameters
        ----------
        rewards : the kind that is sought: ``"state"`` (S,), ``"follower"`` (S, B), where the
            leader's action does not enter, or ``"joint"`` (S, A, B).

        Raises
        ------
        InvalidArgument
            Nothing was seen.

        **Cost** arithmetic: one dense singular value decomposition of T·S·B rows.
        """
        if not self.answers:
            raise InvalidArgument("answers", "are none", "at least one: `observe`", ())
        heat = 1.0 if self.temperature is None else float(self.temperature)
        return fitted(self.game, self.answers, rewards, heat, self.band)

    @checked(reward=REWARD, temperature=POSITIVE)
    def misfit(self, reward: ArrayLike, *, temperature: float | None = None) -> Array:
        """Return by how much a reward's soft-optimal answers differ from those seen, in nats, (T,).

        The largest difference of the logarithms over states and actions; of a rare action, how far
        it is above what it is at most.

        Parameters
        ----------
        reward : shape (S,) or (S, A, B).
        temperature : where it is not known, that of the reward; by default the one that fits best:
            by least squares, or, where that leaves the band, nearly the one whose largest
            difference is least.

        Raises
        ------
        InvalidReward

        **Cost** arithmetic: some linear systems an answer; to find a temperature, a dense
        least-squares problem of T·S·B rows, and up to some sixty times as many systems in a band.
        """
        r = check_reward(self.game, reward)
        heat = self.temperature if temperature is None else temperature
        if heat is not None:
            return self._misfit_at(r, heat)
        heat = self.best_temperature(reward)
        off = np.full(len(self.answers), np.inf) if heat is None else self._misfit_at(r, heat)
        near = self.band == 0 or np.ptp(r) == 0 or (off <= self.band).all()
        return off if near else self._least_misfit(r, heat)

    def _misfit_at(self, r: Array, heat: float) -> Array:
        off = []
        for answer in self.answers:
            logs = soft_optimum(self.game, r, answer.pi1, heat).log_response - answer.log_pi2
            off.append(np.where(answer.rare, np.maximum(logs, 0.0), np.abs(logs)).max())
        return np.array(off)

    def _least_misfit(self, r: Array, heat: float | None) -> Array:
        """Return the misfit whose largest number is least, of temperatures near one, or hot.

        Squares fit well on the whole, and a band limits each: the two need not agree.
        """
        from scipy.optimize import minimize_scalar

        hottest = min(HOT * float(np.ptp(r)), HOTTEST)
        if heat is None:
            return self._misfit_at(r, hottest)

        def off(change: float) -> Array:  # of 1/λ, in which small differences are linear
            cold = 1.0 + change
            return self._misfit_at(
                r, max(heat / cold, math.ulp(0)) if cold > heat / hottest else hottest
            )

        def largest(change: float) -> float:
            return float(off(change).max())

        found = minimize_scalar(
            largest,
            bounds=(-1.0, 7.0),
            method="bounded",
            options={"xatol": 1e-3 * min(self.band, 1.0), "maxiter": 60},
        )
        return min(off(-1.0), off(float(found.x)), key=lambda each: float(each.max()))

    @checked(reward=REWARD)
    def best_temperature(self, reward: ArrayLike) -> float | None:
        """Return the λ > 0 with which a reward fits the answers best; None if none does.

        By least squares of the equations with the reward as it is.

        **Cost** arithmetic: a dense least-squares problem of T·S·B rows.
        """
        r = check_reward(self.game, reward)
        if np.ptp(r) == 0 or not self.answers:
            return 1.0  # constants make every action as good at any temperature
        size = float(np.ptp(r))
        blocks, right = [], []
        for answer in self.answers:
            often = ~answer.rare.ravel()
            blocks.append(sp.csr_array(_value_rows(self.game, answer.pi1))[np.flatnonzero(often)])
            mean = mean_rows(self.game, answer.pi1, reward_kind(self.game, r.shape))
            right.append((mean @ ((r - r.min()) / size).ravel())[often])
        logs = np.concatenate([x.log_pi2[~x.rare] for x in self.answers])
        if not logs.size:
            return size  # nor do actions that are all rare
        values = sp.block_diag(blocks).toarray()
        rest = logs - values @ np.linalg.lstsq(values, logs)[0]
        if np.abs(rest).max() <= 1e-12 * np.abs(logs).max():
            return size  # uniform play: the equations say nothing of λ
        system = np.hstack([values, logs[:, None]])
        found = float(np.linalg.lstsq(system, np.concatenate(right))[0][-1])
        return found * size if found > 0 else None

    @checked(reward=REWARD, tolerance=POSITIVE, temperature=POSITIVE)
    def contains(
        self, reward: ArrayLike, *, tolerance: float = 1e-9, temperature: float | None = None
    ) -> bool:
        """Return whether a reward's soft-optimal answers are those seen.

        Parameters
        ----------
        tolerance : in nats, beside the band.
        temperature : as for `misfit`.

        **Cost** as `misfit`.
        """
        off = self.misfit(reward, temperature=temperature)
        return bool((off <= self.band + tolerance).all())


# What an argument `known` may be.
SOFT_REWARDS: Rule = is_a(SoftRewards)


def _value_rows(game: TwoAgentMDP, pi1: Array) -> Any:
    """Return the matrix (S·B, S) of ``V(s) − γ (P_b V)(s)``."""
    own = sp.kron(sp.eye_array(game.n_states), np.ones((game.n_follower_actions, 1)))
    return sp.csr_array(own - game.discount * sp.csr_array(game.follower_mdp(pi1).matrix))
