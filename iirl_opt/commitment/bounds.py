"""Bounds from every state on what any commitment leads to, whatever the follower's ties.

One box holds all commitments: its relaxation (`iirl_opt.commitment.relaxation`) bounds both agents'
values at once. A program takes its constants from these bounds, and a local search its upper bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from iirl_opt.brief import in_brief
from iirl_opt.checks import FLAG, checked
from iirl_opt.commitment.problem import PROBLEM, Array, CommitmentProblem
from iirl_opt.commitment.relaxation import Relaxation
from iirl_opt.commitment.stacked import UNIT
from iirl_opt.printing.records import with_html

__all__ = ["ValueBounds", "value_bounds"]


class ValueBounds(NamedTuple):
    """Bounds from every state on what any commitment leads to, arrays of shape (S,).

    Attributes
    ----------
    h_lo, h_hi : of the follower's optimal value under its own reward.
    w_lo, w_hi : of the leader's value.

    Examples
    --------
    >>> from iirl_opt.game.generate import random_game
    >>> problem = CommitmentProblem(*random_game(4, 2, 2, rng=0))
    >>> bounds, values = value_bounds(problem), problem.reply([[1, 0]] * 4).values
    >>> bool((bounds.w_lo <= values).all() and (values <= bounds.w_hi).all())
    True
    """

    h_lo: Array
    h_hi: Array
    w_lo: Array
    w_hi: Array

    def __repr__(self) -> str:
        return in_brief(self)

    def _repr_html_(self) -> str:
        return with_html(self, "state")


@checked(problem=PROBLEM, stochastic=FLAG)
def value_bounds(problem: CommitmentProblem, *, stochastic: bool = True) -> ValueBounds:
    """Return bounds (S,) on both agents' values over all allowed commitments and all tie rules.

    Parameters
    ----------
    stochastic : hold for stochastic commitments too; deterministic ones alone have tighter bounds.

    **Source** the module's docstring. A follower whose answers cannot be bounded is taken to answer
    anything. **Cost** arithmetic: some 20 S×S linear systems.

    Examples
    --------
    >>> from iirl_opt.game.generate import random_game
    >>> game, reward = random_game(5, 2, 2, rng=0)
    >>> bounds = value_bounds(CommitmentProblem(game, reward))
    >>> bool((bounds.w_lo <= bounds.w_hi).all())
    True
    """
    relaxation = Relaxation(problem, stochastic=stochastic, free=True)
    whole = problem.allowed[None]
    h_lo, h_hi = relaxation.follower_values(whole)
    answers = relaxation.answers(whole, h_lo, h_hi, every_tie=True)
    high = relaxation.leader(whole, h_lo, h_hi, answers, None).w_hi[0]
    low = -relaxation.leader(whole, h_lo, h_hi, answers, None, sign=-1.0).w_hi[0]
    theirs, own = problem.answers.offset, float(problem.offset)
    return ValueBounds(
        _restored(h_lo[0], theirs, -1),
        _restored(h_hi[0], theirs, 1),
        _restored(low, own, -1),
        _restored(high, own, 1),
    )


def _restored(values: Array, offset: float, sign: int) -> Array:
    """Return centred values as they are, rounded downwards or upwards."""
    return np.asarray(values + offset + sign * 4 * UNIT * (abs(values) + abs(offset)))
