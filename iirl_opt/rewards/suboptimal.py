"""Responses that may lose something: declared suboptimality, as rows that are linear and exact.

A response to a commitment is said to lose at most ε of value, ``V*(s) − V(s) ≤ ε`` in every state,
V being its own value and V* the optimal one. That is so iff there are V and W with

    V = r̄ + γ P V                                       (values)
    W(s) ≥ r(s, b) + γ P_b W(s)   for every action b    (best)
    W − V ≤ ε                                           (loss)

Any such W is at least V*, and W = V* is one. From the start distribution μ alone the last row is
``μ·(W − V) ≤ ε``; for a share δ of the optimum, under rewards of at least zero, it is
``(1 − δ) W ≤ V``. Responses to the same commitment share W. Stochastic policies and joint rewards
need nothing more, and ε may be a variable: the rows are linear in it, too.

The set is closed and convex, a shift of the reward changes nothing (but for a share, of which it
changes everything), and it is no cone: a multiple of the reward multiplies the loss. A
neighbourhood of the constants loses less than any ε > 0, so what a loss means depends on the unit
of the reward, of which its span is the natural one (`FeasibleRewards.compatibility`).

*The loss of a given reward* is found without the difference of two large numbers: V* − V is the
optimal value of the problem whose reward is the advantage ``Q(s, b) − V(s)`` of each action over
the response (performance difference lemma).

**Source** Poiani, Curti, Metelli & Restelli 2024 (arXiv 2401.03857), their feasible set of a
suboptimal expert, which for one agent is these conditions; Lazzati, Mutti & Metelli 2024 (arXiv
2406.03812), reward compatibility. Lifted here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.errors import InvalidReward, NotExact
from iirl_opt.game.exact import exact_optimum, exact_values
from iirl_opt.game.optimum import Gaps, policy_iteration
from iirl_opt.game.values import evaluate
from iirl_opt.observation import Observation, Suboptimality
from iirl_opt.rewards.lifted_rows import WholeResponse
from iirl_opt.rewards.price import LabelledRows, in_words
from iirl_opt.rewards.trajectories import CommittedGame

__all__ = ["Losses", "SuboptimalResponse", "best_rows"]

Array = NDArray[np.float64]

# Losses within this share of the local scale are none, in a report; and so is a reward below zero.
SHARE = 1e-9

# Of how many states a loss that rounding leaves open is decided in rationals.
MOST_IN_DOUBT = 64


class Losses(NamedTuple):
    """What a response loses under a reward.

    Attributes
    ----------
    losses : ``V* − V`` in floats, (S,).
    widths : what rounding may have added, (S,).
    scale : the local scale of the response, (S,).
    """

    losses: Array
    widths: Array
    scale: Array


@dataclass(frozen=True, eq=False)
class SuboptimalResponse:
    """A response that may lose something, with what the programs need of it."""

    response: WholeResponse
    environment: CommittedGame
    declared: Suboptimality

    @classmethod
    def of(cls, response: WholeResponse, declared: Suboptimality | None = None) -> Self:
        """Return a response as one that may lose what is declared, by default nothing."""
        environment = CommittedGame(response.game, response.observation.pi1)
        return cls(response, environment, Suboptimality(0.0) if declared is None else declared)

    @property
    def observation(self) -> Observation:
        """What was seen."""
        return self.response.observation

    @cached_property
    def played(self) -> NDArray[np.bool_]:
        """Which actions are known to be optimal: none."""
        return np.zeros(self.observation.pi2.shape, dtype=bool)

    @property
    def count_rows(self) -> int:
        """The number of rows beside the values."""
        n_states, n_actions = self.observation.pi2.shape
        return int(n_states * n_actions) + (1 if self.declared.start else int(n_states))

    def gaps(self, reward: ArrayLike) -> Gaps:
        """Return ``V(s) − Q(s, b)`` under the response."""
        return self.response.gaps(reward)

    def exact_gaps(self, reward: ArrayLike) -> NDArray[Any]:
        """Return ``V(s) − Q(s, b)`` under the response in Fractions, (S, B)."""
        return self.response.exact_gaps(reward)

    def losses(self, reward: ArrayLike) -> Losses:
        """Return what the response loses of the optimal value, state by state.

        **Cost** arithmetic: two planning problems.
        """
        gaps, mdp = self.gaps(reward), self.environment.mdp
        found, less = (
            np.maximum(policy_iteration(mdp, part).values, 0.0)
            for part in (-gaps.gaps, -gaps.gaps - gaps.widths)
        )
        return Losses(found, found - less, gaps.scale)

    def exact_losses(self, reward: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return ``V* − V`` and V in Fractions, both (S,)."""
        seen, game = self.observation, self.environment.game
        own = exact_values(game, reward, (seen.pi1, seen.pi2))
        return exact_optimum(game, reward, seen.pi1).values - own, own

    def violated(
        self, reward: ArrayLike, tolerance: float | None, *, exact: bool
    ) -> Iterator[tuple[int | None, int | None, float]]:
        """Yield the states in which more is lost than declared, None for the start, and how much.

        Raises
        ------
        InvalidReward
            A share is declared, and the reward is somewhere below zero.
        """
        declared = self.declared
        if declared.share is not None:
            self._check_sign(reward, exact)
        if exact:
            over, allowed = self._over_exactly(reward), np.zeros(1)
        else:
            over, rounding, local = self._over(reward)
            allowed = np.maximum(rounding, local) if tolerance is None else np.array([tolerance])
            # Near a discount of one the bounds on rounding are of the size of losses.
            doubt = tolerance is None and ((over > local) & (over <= rounding)).any()
            if doubt and len(local) <= MOST_IN_DOUBT:
                with suppress(NotExact):
                    over, allowed = self._over_exactly(reward), local
        for s in np.flatnonzero(np.asarray(over > allowed, dtype=bool)):
            yield None if declared.start else int(s), None, float(over[s])

    def _over(self, reward: ArrayLike) -> tuple[Array, Array, Array]:
        """Return how much more is lost than declared, its error at most, and its local scale."""
        game, declared, found = self.environment.game, self.declared, self.losses(reward)
        over = found.losses - declared.amount
        if declared.share is not None:
            own = evaluate(game, reward, (self.observation.pi1, self.observation.pi2))
            over = (1 - declared.amount) * found.losses - declared.amount * own
        three = over, found.widths, SHARE * found.scale
        if not declared.start:
            return three
        over, rounding, local = (np.array([game.start @ part]) for part in three)
        return over, rounding, local

    def _over_exactly(self, reward: ArrayLike) -> NDArray[Any]:
        """Return how much more is lost than declared, in Fractions."""
        declared, (lost, own) = self.declared, self.exact_losses(reward)
        amount = declared.exact_amount
        share = declared.share is not None
        over = np.asarray((1 - amount) * lost - amount * own if share else lost - amount)
        if not declared.start:
            return over
        return np.array([np.array(self.environment.game.exact_start, dtype=object) @ over])

    @staticmethod
    def _check_sign(reward: ArrayLike, exact: bool) -> None:
        r = np.asarray(reward)
        least = r.min()
        if least < (0 if exact else -SHARE * float(np.abs(r).max())):
            allowed = "a reward of at least zero: a share of the optimum changes with its shift"
            raise InvalidReward("reward", f"falls to {float(least):.6g}", allowed, reward)

    def rows(
        self, t: int, r: cp.Expression, best: cp.Variable, loss: Any = None, *, joint: bool
    ) -> list[LabelledRows]:
        """Return the rows of the response: its values, and what it may lose.

        Parameters
        ----------
        t : the number in the labels, from 1.
        r : flat, (S,) or (S·A·B,).
        best : at least the optimal values (S,), see `best_rows`.
        loss : ε in place of what is declared, a number or an affine expression in one.
        joint : whether r stands for a joint reward.
        """
        game, declared = self.environment.game, self.declared
        v = cp.Variable(game.n_states, name=f"V[{t}]")
        mean = self.response.mean_reward @ r if joint else r
        of_states = in_words(game)
        rows = [
            LabelledRows(
                f"values[{t}]", self.response.flow.tocsr() @ v - mean, "equal", None, of_states
            )
        ]
        if loss is None and declared.share is not None:
            rows.append(LabelledRows(f"nonnegative[{t}]", r, "least", None))
            left = v - (1 - declared.amount) * best
        else:
            left = (declared.amount if loss is None else loss) - best + v
        if declared.start:
            left = cp.reshape(game.start @ left, (1,), order="C")
        say = None if declared.start else of_states
        rows.append(LabelledRows(f"loss[{t}]", left, "least", np.ones(left.shape), say))
        return rows


def best_rows(
    environment: CommittedGame, t: int, r: cp.Expression, best: cp.Variable, *, joint: bool
) -> LabelledRows:
    """Return the rows that hold a variable at or above the optimal values under a commitment."""
    value = environment.on_values @ best - environment.on_rewards(joint=joint) @ r
    every = np.arange(value.shape[0])
    return LabelledRows(f"best[{t}]", value, "least", None, in_words(environment.game, every))
