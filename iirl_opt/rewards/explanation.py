"""A reward that explains what was seen by a margin: an interior point where the set is a union.

A follower that never errs was seen in some states s under some commitments; what it does elsewhere
is not known. A reward r explains that *by the margin t* when every action that was not seen in such
a state is worse than what was seen there by t or more, with V* the optimal value of r,

    V*(s) = r(s) + γ P_b V*      for every pair that was seen
    V*(s) ≥ r(s) + γ P_b V* + t  for every other action there, but for those of the same row

and r ≥ t. The largest t over the simplex is positive exactly where a set of rewards of positive
volume explains what was seen: V* is continuous in r, and conversely two actions with different rows
are tied on a set of no volume only. With the follower's policy elsewhere given it is a linear
program; without, one with an indicator for every pair (s, b) elsewhere: the best action there is
one of them. Random policies are tried first, the integer program decides.

Source: ours, by the rows of Corollary 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from iirl_opt.errors import LimitReached
from iirl_opt.game.mdp import MDP
from iirl_opt.game.optimum import policy_iteration
from iirl_opt.solver import HiGHS, solve

__all__ = ["Explanation", "Seen", "find_explanation"]

Array = NDArray[np.float64]

# Rows that differ by less are the same; margins below are none, in the unit of the largest value.
SAME, NONE = 1e-12, 1e-7

# Policies that are tried before the integer program, and the seconds that it may take.
TRIES, SECONDS = 8, 60.0


class Seen(NamedTuple):
    """What was seen under one commitment.

    Attributes
    ----------
    mdp : what the commitment leaves to the follower.
    played : the pairs that were seen, shape (S, B).
    """

    mdp: MDP
    played: NDArray[np.bool_]

    @property
    def same(self) -> NDArray[np.bool_]:
        """Which actions lead where the first that was seen there leads, shape (S, B)."""
        n_states, n_actions = self.mdp.shape
        matrix: Any = sp.csr_array(self.mdp.matrix)
        first = np.arange(n_states) * n_actions + self.played.argmax(axis=1)
        off: Any = abs(matrix - matrix[np.repeat(first, n_actions)]).max(axis=1)
        return np.asarray(off.toarray() < SAME).reshape(n_states, n_actions)

    @property
    def free(self) -> NDArray[np.bool_]:
        """The states whose answer is not known and matters, shape (S,)."""
        return np.asarray(~(self.played | self.same.all(axis=1, keepdims=True)).any(axis=1))

    @property
    def contradiction(self) -> tuple[int, int] | None:
        """A state, and an action seen there beside another one: that takes a reward with a tie."""
        bad = np.argwhere(self.played & ~self.same)
        return (int(bad[0, 0]), int(bad[0, 1])) if bad.size else None


@dataclass(frozen=True, eq=False)
class Explanation:
    """A reward under which what was seen is optimal by a margin.

    Attributes
    ----------
    seen : the evidence.
    reward : in the simplex, shape (S,).
    margin : of the values and of the reward itself.
    policies : the answers to each commitment under it, shape (E, S).
    """

    seen: tuple[Seen, ...]
    reward: Array
    margin: float
    policies: NDArray[np.int64]

    def another(self, rng: np.random.Generator) -> Array:
        """Return a reward (S,) far in a random direction, by a tenth of the margin; same policies.

        **Cost** one LP.
        """
        r, rows = _margin_rows(self.seen, self.policies, self.margin / 10)
        direction = rng.standard_normal(self.reward.size)
        solved = solve(cp.Problem(cp.Maximize(direction @ r), rows), throw=False)
        if solved.value is None or r.value is None:
            return self.reward
        point = np.maximum(np.asarray(r.value), 0.0)
        return np.asarray(point / point.sum())


def find_explanation(
    seen: Sequence[Seen], rng: np.random.Generator
) -> tuple[Explanation | None, bool]:
    """Return a reward that explains what was seen by a margin, and whether None is a proof.

    Parameters
    ----------
    seen : one entry a commitment, at least one.
    rng : of the policies that are tried.

    Returns
    -------
    found : None where no margin above 1e-7 of the largest possible value was found.
    decided : whether then there is none: the integer program ended in time, or was not needed.

    **Cost** some LPs; where they find nothing and states were not seen, one integer program with
    an indicator a pair there.
    """
    seen = tuple(seen)
    n_states = seen[0].mdp.n_states
    if any(each.contradiction for each in seen):
        return None, True
    anywhere = any(each.free.any() for each in seen)
    for _ in range(TRIES if anywhere else 1):
        guess = rng.dirichlet(np.ones(n_states))
        found = _with_policies(
            seen, np.array([policy_iteration(e.mdp, guess).actions for e in seen])
        )
        if found is not None:
            return found, True
    if not anywhere:
        return None, True
    try:
        policies = _decide(seen)
    except LimitReached:
        return None, False
    found = None if policies is None else _with_policies(seen, policies)
    return found, found is not None or policies is None


def _least(seen: Sequence[Seen]) -> float:
    """Return what counts as no margin."""
    return NONE / (1 - float(seen[0].mdp.discount))


def _with_policies(seen: tuple[Seen, ...], policies: NDArray[np.int64]) -> Explanation | None:
    margin = cp.Variable(name="margin")
    r, rows = _margin_rows(seen, policies, margin)
    solved = solve(cp.Problem(cp.Maximize(margin), rows), throw=False)
    if solved.value is None or solved.value <= _least(seen):
        return None
    point = np.maximum(np.asarray(r.value), 0.0)
    return Explanation(seen, point / point.sum(), float(solved.value), policies)


def _decide(seen: tuple[Seen, ...]) -> NDArray[np.int64] | None:
    """Return the policies of the largest margin of all, or None if that is none."""
    margin = cp.Variable(name="margin")
    chosen: list[cp.Variable | None] = []
    _, rows = _margin_rows(seen, None, margin, chosen)
    solved = solve(cp.Problem(cp.Maximize(margin), rows), HiGHS(time_limit=SECONDS), throw=False)
    if solved.status.name == "LIMIT":
        raise LimitReached(solved)
    if solved.value is None or solved.value <= _least(seen):
        return None
    policies = np.array([each.played.argmax(axis=1) for each in seen])
    for e, (each, choice) in enumerate(zip(seen, chosen, strict=True)):
        if choice is not None:
            picked = np.asarray(choice.value).reshape(-1, each.mdp.n_actions)
            policies[e, each.free] = picked.argmax(axis=1)
    return policies


def _margin_rows(
    seen: Sequence[Seen],
    policies: NDArray[np.int64] | None,
    margin: cp.Expression | float,
    chosen: list[cp.Variable | None] | None = None,
) -> tuple[cp.Variable, list[cp.Constraint]]:
    """Return the reward and the rows of the module; without policies their indicators as well."""
    n_states, n_actions = seen[0].mdp.shape
    r = cp.Variable(n_states, name="r")
    rows: list[cp.Constraint] = [
        (r >= margin).set_label("rewards"),
        (cp.sum(r) == 1).set_label("simplex sum"),
    ]
    on_r: Any = sp.csr_array(np.ones((n_actions, 1)))
    on_r = sp.csr_array(sp.kron(sp.eye_array(n_states), on_r))
    for e, each in enumerate(seen, start=1):
        gamma = float(each.mdp.discount)
        v = cp.Variable(n_states, name=f"V[{e}]")
        on_v = sp.csr_array(on_r - gamma * sp.csr_array(each.mdp.matrix))
        gap = on_v @ v - on_r @ r
        known = np.zeros((n_states, n_actions), dtype=bool)
        told = np.asarray(each.played.any(axis=1))
        known[np.arange(n_states), each.played.argmax(axis=1)] = told | each.same.all(axis=1)
        free = each.free
        if policies is not None:
            known[np.flatnonzero(free), policies[e - 1][free]] = True
        others = (told[:, None] & ~each.same).ravel()
        rows.append((gap[np.flatnonzero(known)] == 0).set_label(f"known[{e}]"))
        if others.any():
            rows.append((gap[np.flatnonzero(others)] >= margin).set_label(f"margin[{e}]"))
        if free.any():
            elsewhere = np.flatnonzero(np.repeat(free, n_actions))
            rows.append((gap[elsewhere] >= 0).set_label(f"elsewhere[{e}]"))
            if policies is None:
                choice = cp.Variable(elsewhere.size, boolean=True, name=f"best[{e}]")
                each_state = sp.kron(sp.eye_array(int(free.sum())), np.ones((1, n_actions)))
                best = gap[elsewhere] <= (1 - choice) / (1 - gamma)
                some = sp.csr_array(each_state) @ choice >= 1
                rows += [best.set_label(f"best[{e}]"), some.set_label(f"some best[{e}]")]
        if chosen is not None:
            chosen.append(choice if free.any() else None)
    return r, rows
