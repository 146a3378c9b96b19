"""Lemma 2: cooperating with an optimal follower, and the condition that it needs.

Source: the paper, Section 4.2. All is exact, by comparison with every deterministic policy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from iirl_opt.claims.arithmetic import Choices, Exact, exact, policies_of, stochastic
from iirl_opt.claims.claim import Claim, Outcome
from iirl_opt.claims.instances import POSITIVE, Case, case, cases
from iirl_opt.claims.problems import showing
from iirl_opt.claims.responses import joint_optima, responses, split, values
from iirl_opt.game.mdp import TwoAgentMDP

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


__all__ = ["CLAIMS"]


def lemma_2(at: Case, *, any_response: bool = False) -> Outcome:
    """Decide: every optimal response to the leader's part of a joint optimum has its value."""
    pairs = 0
    for joint in joint_optima(at, at.reward):
        pi1, pi2 = split(at, joint)
        best = values(at, pi1, pi2, at.reward)
        every = policies_of(len(pi2), at.game.n_follower_actions)
        for response in every if any_response else responses(at, pi1, at.reward):
            pairs += 1
            if (values(at, pi1, response, at.reward) != best).any():
                return Outcome(False, f"joint optimum {joint}, response {response}")
    return Outcome(True, f"{pairs} pairs of a joint optimum and a response")


def _from_start(at: Case) -> list[tuple[Choices, Exact, Exact]]:
    """Return every joint policy that is optimal from the start: the leader's part and its values.

    And the values of an answer to that part.
    """
    n_states, n_a, n_b = at.game.shape
    start = _start(at)
    every = {
        joint: values(at, *split(at, joint), at.reward)
        for joint in policies_of(n_states, n_a * n_b)
    }
    best = max(start @ own for own in every.values())
    found = []
    for joint, own in every.items():
        if start @ own == best:
            pi1, _ = split(at, joint)
            response = responses(at, pi1, at.reward)[0]
            found.append((pi1, own, values(at, pi1, response, at.reward)))
    return found


def _start(at: Case) -> Exact:
    return np.array(at.game.rational.start, dtype=object)


def lemma_2_from_start(at: Case) -> Outcome:
    """Decide the same for joint policies that are optimal from the start only, in all states."""
    different = sum(bool((mine != theirs).any()) for _, mine, theirs in _from_start(at))
    return Outcome(different == 0, f"{different} policies have other values than the response")


def lemma_2_start_value(at: Case, *, elsewhere: bool = False) -> Outcome:
    """Decide the same for joint policies that are optimal from the start, for the start value.

    Or for the value from a uniform start, `elsewhere`.
    """
    weights, found = _start(at), _from_start(at)
    if elsewhere:
        weights = 0 * weights + 1
    agree = all(weights @ mine == weights @ theirs for _, mine, theirs in found)
    return Outcome(agree, f"{len(found)} policies are optimal from the start")


def _other_values(at: Case) -> Any:
    """Return what the response to a policy that is optimal from the start earns in every state.

    The first such policy that has other values.
    """
    differ = (found for found in _from_start(at) if (found[1] != found[2]).any())
    pi1, _, theirs = next(differ)
    leader = stochastic(pi1, at.game.n_leader_actions)
    question = {"family": "commitment", "ask": "evaluate", "leader": leader}
    expect = {"value": ("values", theirs)}
    return showing(at.game, at.reward, question=question, expect=expect)


def _small() -> SearchStrategy[Case]:
    from hypothesis import strategies as st

    more = cases(max_denominator=3, constant=False, min_states=2, min_follower_actions=2)
    return st.one_of(cases(max_states=3, max_denominator=3), more)


def _cut_off(**bounds: Any) -> SearchStrategy[Case]:
    """Return a strategy for games, half of whose start states lead nowhere else.

    Then policies that are bad elsewhere are optimal from the start.
    """
    from hypothesis import strategies as st

    def stay(at: Case) -> Case:
        kernel = np.array(at.kernel)
        kernel[0] = exact(np.eye(len(at.reward), dtype=int))[0]
        start = [1] + [0] * (len(at.reward) - 1)
        return replace(at, game=TwoAgentMDP(kernel, at.discount, start))

    drawn = cases(min_states=2, max_denominator=2, constant=False, **bounds)
    influential = cases(
        min_states=2, min_follower_actions=2, max_denominator=2, constant=False, discounts=POSITIVE
    )
    return st.one_of(influential.map(stay), drawn)


def _partial_start() -> Case:
    weights = [[[[1, 0], [1, 0]]], [[[0, 1], [1, 0]]]]
    return case(weights, "1/2", (0, 1), start=[1, 0])


CLAIMS = (
    Claim(
        "lemma-2",
        "Lemma 2",
        "Every optimal response to the leader's part of an optimal joint policy has its value.",
        _small,
        lemma_2,
    ),
    Claim(
        "lemma-2-from-start",
        "Lemma 2",
        "The same, in all states, for a joint policy that is optimal from the start only.",
        lambda: _cut_off(start="first"),
        lemma_2_from_start,
        "false as stated",
        counterexample=_partial_start,
        problem=_other_values,
    ),
    Claim(
        "lemma-2-start-value",
        "Lemma 2",
        "For a joint policy that is optimal from the start the start values agree.",
        _cut_off,
        lemma_2_start_value,
        "repaired",
    ),
)
