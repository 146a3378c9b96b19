"""Which choices are optimal, decided and not presumed: ties among optimal actions.

Policy iteration ends with pairs of a state and a choice whose gain is within its error. They are
taken through, in this order,

1. *nothing at stake*: where all that can follow pays the same, what is done does not matter;
2. *identical rows*: the same reward and the same distribution are a tie without arithmetic;
3. *refinement* and 4. *an exact solve*, as in `iirl_opt.game.refinement`.

What is still undecided is said to be so, with the width of the doubt.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iirl_opt.exact.rows import ExactRows
from iirl_opt.game.factors import UNIT
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
    while True:
        actions, s, b = played.actions, found.s, found.b
        optimal, undecided = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
        optimal[np.arange(len(actions)), actions] = True
        optimal[s, b] = True
        if s.size:
            apart = ~_identical(problem, s, b, actions[s], _calm(problem, played))
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


def _calm(problem: PlanningProblem, played: Played) -> Integers:
    """Return labels (S,): of states from which all that follows pays the same; −1 for others.

    Whatever is done, they stay among those with their label, which all have the same value.
    """
    r, mdp = problem.reward, problem.mdp
    alike = np.ptp(r, axis=1) == 0
    worth = r[:, 0] / float(1 - mdp.exact_discount)
    alike &= np.abs(played.values - worth) <= played.error + 8 * UNIT * np.abs(worth)
    at = np.flatnonzero(alike)
    paid = at[:, None] * mdp.n_choices + np.arange(r.shape[1])
    alike[at] = (problem.exact(paid.ravel()).reshape(paid.shape) == r[at]).all(axis=1)
    labels = np.where(alike, np.unique(r[:, 0], return_inverse=True)[1], -1)
    while True:
        at = np.flatnonzero(labels >= 0)
        rows = (at[:, None] * mdp.n_choices + np.arange(mdp.n_choices)).ravel()
        stay = mdp.leads_to(rows, labels).reshape(-1, mdp.n_choices) == labels[at][:, None]
        if stay.all():
            return labels
        labels[at[~stay.all(axis=1)]] = -1


def _identical(
    problem: PlanningProblem, s: Integers, b: Integers, other: Integers, calm: Integers
) -> Mask:
    """Return for pairs of choices (s, b), (s, other) whether they tie without arithmetic.

    They do where reward and row are the same, or lead to what is worth the same.
    """
    mdp = problem.mdp
    one, two = s * mdp.n_choices + b, s * mdp.n_choices + other
    same, rest = calm[s] >= 0, np.flatnonzero(calm[s] < 0)
    to = mdp.leads_to(one[rest], calm)
    same[rest] = (to >= 0) & (to == mdp.leads_to(two[rest], calm))
    rest = rest[~same[rest]]
    same[rest] = mdp.same_rows(one[rest], two[rest])
    rest = rest[~same[rest]]
    if rest.size:
        most = abs(mdp.matrix[one[rest]] - mdp.matrix[two[rest]]).max(axis=1)
        most = most.toarray() if is_sparse(most) else most
        at = rest[np.ravel(most) <= problem.units[s[rest], b[rest]]]
        same[at] = _equal_rows(mdp.exact_rows(one[at]), mdp.exact_rows(two[at]))
    at = np.flatnonzero(same)
    same[at] = problem.same_rewards(one[at], two[at])
    return same


def _equal_rows(one: ExactRows, two: ExactRows) -> Mask:
    return np.array([one.row(i) == two.row(i) for i in range(len(one.denominators))], dtype=bool)
