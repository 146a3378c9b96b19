"""Which choices are optimal, decided and not presumed: ties among optimal actions.

Policy iteration ends with pairs of a state and a choice whose gain is within its error. They are
taken through, in this order,

1. *identical rows*: the same reward and the same distribution are a tie without arithmetic;
2. *refinement* and 3. *an exact solve*, as in `iirl_opt.game.refinement`.

What is still undecided is said to be so, with the width of the doubt.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iirl_opt.exact.rows import ExactRows
from iirl_opt.game.iteration import Played, Rivals, improved
from iirl_opt.game.kernel import is_sparse
from iirl_opt.game.problem import PlanningProblem
from iirl_opt.game.refinement import UNKNOWN, signs_of_gains

__all__ = ["Decision", "decide"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Decision(NamedTuple):
    """What is known of every choice.

    Attributes
    ----------
    played : what is played in the end, optimal where nothing is undecided.
    q : the values of choices followed by it, (S, n).
    optimal : the choices that are optimal, and those undecided, (S, n).
    undecided : the choices of which it is not known, (S, n).
    doubt : how much an undecided choice may gain at most.
    """

    played: Played
    q: Array
    optimal: Mask
    undecided: Mask
    doubt: float


def decide(
    problem: PlanningProblem, played: Played, found: Rivals, *, exact: bool = False
) -> Decision:
    """Decide which choices are optimal.

    Parameters
    ----------
    played, found : from `improved`.
    exact : solve exact systems of up to 1,200 states that lead to each other; else up to 64 (40
        without python-flint in either case).
    """
    shape = problem.mdp.shape
    if np.ptp(problem.reward) == 0 and not np.any(problem.slop):
        everything = np.ones(shape, dtype=bool)
        return Decision(played, found.q, everything, ~everything, 0.0)
    while True:
        actions, s, b = played.actions, found.s, found.b
        optimal, undecided = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
        optimal[np.arange(len(actions)), actions] = True
        optimal[s, b] = True
        if s.size:
            apart = ~_identical(problem, s, b, actions[s])
            s, b = s[apart], b[apart]
        if not s.size:
            return Decision(played, found.q, optimal, undecided, 0.0)
        signs, doubt = signs_of_gains(problem, played, s, b, exact)
        open_, worse, better = signs == UNKNOWN, signs < 0, signs == 1
        undecided[s[open_], b[open_]] = True
        optimal[s[worse], b[worse]] = False
        if not better.any():
            return Decision(played, found.q, optimal, undecided, doubt)
        actions = actions.copy()
        actions[s[better]] = b[better]
        played, found, _ = improved(problem, actions, played.values)


def _identical(problem: PlanningProblem, s: Integers, b: Integers, other: Integers) -> Mask:
    """Return for pairs of choices (s, b), (s, other) whether reward and row are the same."""
    n = problem.mdp.n_choices
    one, two = s * n + b, s * n + other
    apart = problem.mdp.matrix[one] - problem.mdp.matrix[two]
    largest = abs(apart).max(axis=1)
    near = largest.toarray() if is_sparse(largest) else largest
    same: Mask = np.ravel(near) <= problem.units[s, b]
    at = np.flatnonzero(same)
    if at.size:
        rewards = problem.exact(one[at]) == problem.exact(two[at])
        rows = _equal_rows(problem.mdp.exact_rows(one[at]), problem.mdp.exact_rows(two[at]))
        same[at] = np.asarray(rewards, dtype=bool) & rows
    return same


def _equal_rows(one: ExactRows, two: ExactRows) -> Mask:
    return np.array([one.row(i) == two.row(i) for i in range(len(one.denominators))], dtype=bool)
