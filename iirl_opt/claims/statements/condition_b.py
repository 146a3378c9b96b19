"""Condition (B) of Theorem 2: can the leader induce every kernel?

Source: the paper, Section 4.1.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from iirl_opt.claims.arithmetic import exact, in_cone
from iirl_opt.claims.claim import Claim, Outcome, untried
from iirl_opt.claims.instances import Case, cases

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


__all__ = ["CLAIMS", "controlled"]


def condition_b(at: Case) -> Outcome:
    """Decide: every kernel can be induced iff each map of actions to next states is some action.

    A kernel is induced state by state. The vertices ``e_{m(b)}`` are decided each, and where all
    of them are actions so is the kernel given.
    """
    n_states, n_a, n_b = at.game.shape
    unit = exact(np.eye(n_states, dtype=int))
    missing = found = 0
    for s in range(n_states):
        rows = at.kernel[s].reshape(n_a, -1)
        for vertex in product(range(n_states), repeat=n_b):
            target = unit[list(vertex)].ravel()
            is_action = any((row == target).all() for row in rows)
            induced = in_cone(rows, target)
            if is_action != induced:
                return Outcome(False, f"state {s}, map {vertex}: induced is {induced}")
            found, missing = found + is_action, missing + (not is_action)
    shown = f"{found} vertices are actions, {missing} are missing"
    if missing:
        return Outcome(True, shown)
    target = at.other[0]
    rows = at.kernel.reshape(n_states, n_a, -1)
    induced = all(in_cone(rows[s], target[s].ravel()) for s in range(n_states))
    return Outcome(induced and n_a >= n_states**n_b, f"{shown}; another kernel: {induced}")


def uncontrolled_state(at: Case, *, whatever: bool = False) -> Outcome:
    """Decide: (B) fails where the leader does not move the kernel of some state at all."""
    n_states, n_a, n_b = at.game.shape
    still = [s for s in range(n_states) if whatever or (at.kernel[s] == at.kernel[s, :1]).all()]
    if not still or n_states == 1:
        return untried("the leader moves the kernel of every state")
    unit = exact(np.eye(n_states, dtype=int))
    missing = [
        vertex
        for vertex in product(range(n_states), repeat=n_b)
        if not in_cone(at.kernel[still[0]].reshape(n_a, -1), unit[list(vertex)].ravel())
    ]
    return Outcome(bool(missing), f"{len(missing)} of {n_states**n_b} maps cannot be induced")


def controlled(*, still: bool | None = None) -> SearchStrategy[Case]:
    """Return a strategy for games in which (B) holds, or lacks a row, or is out of reach.

    With `still` the leader has no influence in the first of two states, and all elsewhere; with
    False all everywhere.
    """
    from hypothesis import strategies as st

    from iirl_opt.game.mdp import TwoAgentMDP

    def build(n_states: int, n_b: int, lacks: bool, weights: list[int]) -> Case:
        unit = np.eye(n_states, dtype=int)
        maps = list(product(range(n_states), repeat=n_b))
        rows = np.array([[unit[list(m)] for m in maps]] * n_states)
        if still:
            rows[0] = rows[0, weights[0] % len(maps)]
        elif still is None and lacks and len(maps) > 1:
            rows[0, -1] = rows[0, 0]
        target = exact(np.resize(weights, (n_states, n_b, n_states)))
        target = target / target.sum(axis=2)[:, :, None]
        game = TwoAgentMDP(rows, Fraction(1, 2))
        return Case(game, exact([0] * n_states), (), (target,))

    weights = st.lists(st.integers(1, 5), min_size=8, max_size=8)
    sizes = st.integers(1, 2) if still is None else st.just(2)
    drawn = cases(max_leader_actions=4, max_denominator=2).map(
        lambda at: replace(at, other=(at.kernel.mean(axis=1),))  # what a uniform leader induces
    )
    full = st.builds(build, sizes, st.integers(1, 2), st.booleans(), weights)
    return st.one_of(full, drawn) if still is None else full


CLAIMS = (
    Claim(
        "condition-b",
        "Theorem 2, condition (B)",
        "(B) holds iff in each state every map of follower actions to next states is an action "
        "of the leader, so it needs |A1| ≥ N^|A2|.",
        controlled,
        condition_b,
        "repaired",
    ),
    Claim(
        "condition-b-uncontrolled",
        "Theorem 2, condition (B)",
        "(B) fails where the leader cannot move the transitions of some state: an absorbing one.",
        lambda: controlled(still=True),
        uncontrolled_state,
        "repaired",
    ),
)
