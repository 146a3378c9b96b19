"""The best deterministic commitment by trying all of them.

Commitments come in blocks (`iirl_opt.commitment.searches`) and are evaluated together. Of equally
good ones the first counts, where rational arithmetic can tell.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from iirl_opt.checks import TIME_LIMIT, checked, whole
from iirl_opt.commitment.incumbent import Incumbent, weighted
from iirl_opt.commitment.plans import Commitment
from iirl_opt.commitment.problem import PROBLEM, CommitmentProblem
from iirl_opt.commitment.relaxation import Relaxation
from iirl_opt.commitment.searches import (
    Search,
    check_count,
    commitments,
    concluded,
    seconds_left,
)

__all__ = ["LIMIT", "Enumeration"]

# Commitments beyond which an enumeration is refused unless asked for: some minutes of work.
LIMIT = 2_000_000


@checked(limit=whole(1), time_limit=TIME_LIMIT)
@dataclass(frozen=True)
class Enumeration:
    """Try every allowed deterministic commitment.

    Parameters
    ----------
    limit : how many commitments are accepted.
    time_limit : seconds after which the best so far is returned, with a bound that is valid but
        rarely tight; at least one block is evaluated.

    Examples
    --------
    >>> from iirl_opt.game.generate import random_game
    >>> game, reward = random_game(5, 2, 2, rng=0)
    >>> Enumeration().search(CommitmentProblem(game, reward)).evaluated
    32
    """

    limit: int = LIMIT
    time_limit: float | None = None

    @checked(problem=PROBLEM)
    def search(self, problem: CommitmentProblem) -> Search:
        """Return the best allowed deterministic commitment, the first of several.

        Raises
        ------
        InvalidArgument
            There are more commitments than the limit: names their number.

        **Cost** arithmetic: each commitment takes some S×S linear systems, stacked (about 10⁴ a
        second at S = 10).
        """
        began = time.perf_counter()
        check_count(problem, self.limit)
        incumbent, beyond, complete = Incumbent(problem), -np.inf, True
        for rows in commitments(problem.allowed):
            spent = time.perf_counter() - began
            if incumbent.evaluated and self.time_limit is not None and spent > self.time_limit:
                beyond, complete = _bound_of_all(problem), False
                break
            incumbent.look(rows)
        settled = incumbent.settle(beyond, seconds_left(began, self.time_limit))
        return concluded(settled, incumbent, began, complete)

    def plan(self, problem: CommitmentProblem) -> Commitment:
        """Return the best deterministic commitment. Raises and costs as `search`."""
        return searched(problem, self.search(problem), "enumerate")


def searched(problem: CommitmentProblem, found: Search, method: str) -> Commitment:
    """Return the commitment that a search ended with."""
    return Commitment.of(
        problem,
        found.policy(problem.game.n_leader_actions),
        found.reply,
        method=method,
        value=found.value,
        bound=found.bound,
        gap=found.gap,
        proved=found.proved,
        among="deterministic",
    )


def _bound_of_all(problem: CommitmentProblem) -> float:
    """Return what no commitment exceeds, centred."""
    box = Relaxation(problem, free=True).bound(problem.allowed[None])
    return float(weighted(box.w_hi, problem.game.start)[0])
