"""An environment: a game for one follower, made to ask whether its reward is a given one.

The leader turns the game into an `Environment` made for the hypothesis r. The first action b1 leads
everywhere with the same probabilities, ``P_b1 = 1/N``, so that the feasible set of the answer "b1
everywhere" is ``{x : (P_b1 − P_b2) x ≥ 0}`` for every γ > 0, and the environment is free to choose
these rows. Two choices are

* the ideal environment of Theorem 2 (`iirl_opt.verification.ideal`): its rows cut out exactly the
  class of r, but under r all but one are ties;
* the strict environment (`iirl_opt.verification.strict`): under r the first action is strictly
  better everywhere, and who answers it has a reward within an angle of r.

`iirl_opt.verification.realisable` finds the commitment that makes a game an environment, and
`iirl_opt.verification.verdict` judges the answer.

Sources: paper, Theorem 2, Corollary 2 and their proofs; the strict environment is ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from iirl_opt.brief import told
from iirl_opt.errors import InvalidArgument
from iirl_opt.exact.numbers import UNREADABLE, Vector, as_fraction, as_reals
from iirl_opt.exact.rows import ExactRows
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.printing.records import Tabular
from iirl_opt.rewards.state_reward import StateReward

__all__ = ["Environment", "checked_discount", "integer_kernel", "mdp_of"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Environment(Tabular):
    """A single-agent MDP made for a reward hypothesis; the first action is the predicted answer.

    Attributes
    ----------
    kind : ``"ideal"`` or ``"strict"``.
    reward : the hypothesis, shape (S,).
    mdp : the MDP with kernel (S, B, S); made of integers unless it is strict with rows in floating
        point, whose exact numbers are those floats divided by their sums.
    epsilon : the share of w in the rows of a strict environment; None for an ideal one.
    tan2_bound : the square of the tangent of the largest angle that b1 everywhere allows: exact
        where the rows are, otherwise a bound that holds for the rows as they were rounded.
    exact : the hypothesis in exact numbers, from which everything here is computed.

    Examples
    --------
    >>> from iirl_opt.verification import ideal_environment
    >>> environment = ideal_environment([0, 1, 2], 0.9)
    >>> environment.mdp.shape, environment.tan_bound
    ((3, 2), 0.0)
    >>> environment.rows.round(3)
    array([[ 0.333, -0.667,  0.333],
           [-0.167,  0.333, -0.167],
           [-0.333,  0.   ,  0.333]])
    """

    kind: Literal["ideal", "strict"]
    reward: Array
    mdp: MDP
    epsilon: float | None
    tan2_bound: Fraction
    exact: StateReward = field(repr=False)

    @property
    def discount(self) -> float:
        """The discount γ."""
        return self.mdp.discount

    @cached_property
    def kernel(self) -> Array:
        """The kernel, shape (S, B, S), b1 first."""
        return self.mdp.kernel

    @cached_property
    def game(self) -> TwoAgentMDP:
        """The environment as a game whose leader has one action."""
        return TwoAgentMDP.single_agent(self.mdp)

    @property
    def rows(self) -> Array:
        """``P_b1 − P_b2``, shape (S, S): who answers b1 everywhere has ``rows @ reward ≥ 0``."""
        return as_reals(self.exact_rows)

    @cached_property
    def exact_rows(self) -> Vector:
        """The rows in exact numbers."""
        n, n_actions = self.mdp.shape
        every = np.arange(n) * n_actions
        rows: ExactRows = self.mdp.rational.rows
        return np.asarray(rows.take(every).dense() - rows.take(every + n_actions - 1).dense())

    @property
    def telling(self) -> NDArray[np.bool_]:
        """The states in which the actions differ, shape (S,)."""
        return np.asarray((self.exact_rows != 0).any(axis=1))

    @cached_property
    def exact_gaps(self) -> Vector:
        """By how much b1 is better than each action under the hypothesis, Fractions (S, B).

        As ``P_b1`` leads everywhere alike, its values are the reward but for a constant, and the
        gaps ``γ (P_b1 − P_b) r``.
        """
        ahead = self.mdp.rational.rows.times(self.exact.numbers - min(self.exact.numbers))
        ahead = ahead.reshape(self.mdp.shape)
        return np.asarray(self.mdp.rational.discount * (ahead[:, :1] - ahead))

    @property
    def tan_bound(self) -> float:
        """The tangent of the largest angle that b1 everywhere allows; 0 means exact."""
        return math.sqrt(self.tan2_bound)

    @property
    def angle_bound(self) -> float:
        """The angle itself, in radians."""
        return math.atan(self.tan_bound)

    @property
    def gap(self) -> float:
        """By how much b1 is at least better under the hypothesis, where the actions differ at all.

        In the unit of the hypothesis's values; zero in an ideal environment with N ≥ 3.
        """
        gaps = self.exact_gaps[self.telling, -1]
        return float(as_reals(max(min(gaps), Fraction(0)))) if gaps.size else 0.0

    def __repr__(self) -> str:
        share = [] if self.epsilon is None else [f"epsilon={self.epsilon:g}"]
        return told(self, self.kind, *share, f"tan θ ≤ {self.tan_bound:.3g}", repr(self.mdp))


def checked_discount(discount: Any, n_actions: int, n_states: int) -> Fraction:
    """Return γ in exact numbers, if it and the number of actions make an environment."""
    try:
        gamma = as_fraction(discount)
    except UNREADABLE:
        raise InvalidArgument(
            "discount", f"is {discount!r}", "a number with 0 < γ < 1", discount
        ) from None
    if gamma == 0:
        raise InvalidArgument(
            "discount",
            "is 0",
            "0 < γ < 1: without a future every response is optimal for every state reward",
            discount,
        )
    if not 0 < gamma < 1:
        raise InvalidArgument("discount", f"is {discount}", "0 < γ < 1", discount)
    if n_actions < (1 if n_states == 1 else 2):
        raise InvalidArgument(
            "n_actions", f"is {n_actions}", "at least 2: one action shows no choice", n_actions
        )
    return gamma


def integer_kernel(rows: NDArray[Any]) -> NDArray[Any]:
    """Return integer weights (S, 2, S) of ``P_b1 = 1/N``, ``P_b2 = 1/N − c_s rows_s``, c_s largest.

    ``c = min(1 / (N max row), (N − 1) / (N max −row))``: no entry below 0 or above 1.
    """
    n = rows.shape[1]
    up, down = rows.max(axis=1, keepdims=True), (-rows).max(axis=1, keepdims=True)
    above = down > (n - 1) * up
    second = np.where(above, down - (n - 1) * rows, np.where(up > 0, up - rows, 1))
    return np.stack([np.full_like(second, 1), second], axis=1)


def mdp_of(kernel: NDArray[Any], gamma: Fraction, n_actions: int) -> MDP:
    """Return the MDP with copies of the second action after it."""
    which = np.minimum(np.arange(n_actions), 1)
    names = [f"b{i}" for i in range(1, n_actions + 1)]
    return MDP(kernel[:, which], gamma, actions=names)
