"""Influence: what agents without it cannot teach, and whether those with it always do.

Source: the paper, its abstract, Section 4.1 and Appendix E. All is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from iirl_opt.claims.arithmetic import (
    Exact,
    affine_class_holds,
    constraint_rows,
    exact,
    is_constant,
    optimal_policies,
    policies_of,
    stochastic,
)
from iirl_opt.claims.claim import Claim, Outcome, untried
from iirl_opt.claims.instances import Case, Exchange, case, cases, generic_cases
from iirl_opt.claims.problems import showing
from iirl_opt.claims.responses import case_problem
from iirl_opt.claims.statements.theorem_1 import unconstrained
from iirl_opt.game.mdp import TwoAgentMDP

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


__all__ = ["CLAIMS", "all_answers", "same_answer"]


def leader_without_influence(at: Case) -> Outcome:
    """Decide: two commitments of a leader without influence leave the same set, by definition.

    That is, the same responses are optimal for either, for any reward.
    """
    if at.game.influence()[0] != 0:
        return untried("the leader has influence")
    return same_answers(at)


def follower_without_influence(at: Case) -> Outcome:
    """Decide: every response of a follower without influence is optimal."""
    if at.game.influence()[1] != 0:
        return untried("the follower has influence")
    return unconstrained(at)


def same_answers(at: Case) -> Outcome:
    """Decide whether the same responses are optimal after both commitments."""
    first, second = (optimal_policies(at.problem(t), at.reward, at.discount) for t in range(2))
    return Outcome(first == second, f"{len(first)} and {len(second)} optimal responses")


def influence_teaches(at: Case) -> Outcome:
    """Decide whether some two deterministic commitments have different optimal answers."""
    n_states, n_a, _ = at.game.shape
    influence = at.game.influence()
    if min(influence) == 0 or is_constant(at.reward):
        return untried("an agent has no influence")
    answers = set()
    for choices in policies_of(n_states, n_a):
        problem = case_problem(at, choices)
        answers.add(tuple(optimal_policies(problem, at.reward, at.discount)))
    return Outcome(
        len(answers) > 1,
        f"influences {influence[0]:g} and {influence[1]:g}; {len(answers)} different answers",
    )


def deterministic_suffice(at: Case) -> Outcome:
    """Decide: what optimal answers to all deterministic commitments leave together is Aff(r)."""
    n_states, n_a, n_b = at.game.shape
    rows = []
    for choices in policies_of(n_states, n_a):
        problem = case_problem(at, choices)
        answer = optimal_policies(problem, at.reward, at.discount)[0]
        rows.append(constraint_rows(problem, stochastic(answer, n_b), at.discount))
    return Outcome(affine_class_holds(np.vstack(rows), at.reward), f"{n_a**n_states} commitments")


def all_answers(at: Case) -> list[tuple[Exact, Exact]]:
    """Return every deterministic commitment with the first of the optimal answers to it."""
    n_states, n_a, n_b = at.game.shape
    seen = []
    for choices in policies_of(n_states, n_a):
        answer = optimal_policies(case_problem(at, choices), at.reward, at.discount)[0]
        seen.append((stochastic(choices, n_a), stochastic(answer, n_b)))
    return seen


def _more_is_left(at: Case) -> Any:
    """Return of how many dimensions the rewards are that all answers leave; Aff(r) has two."""
    question = {"family": "feasible_rewards", "ask": "dimension"}
    expect = {"dimension": ("at_least", 3)}
    seen = all_answers(at)
    return showing(at.game, at.reward, question=question, observations=seen, expect=expect)


def same_answer(reward: Sequence[Any] = (0, 1, "19/20")) -> Case:
    """Return three states in which every commitment gets the same answer (γ = 9/10)."""
    weights = np.zeros((3, 2, 2, 3), dtype=int)
    weights[0, 0, :, 1] = weights[0, 1, :, 2] = 1
    weights[1, :, 0, 1] = weights[2, :, 0, 2] = 1
    weights[1:, :, 1, 0] = 1
    return case(weights, "9/10", reward)


def _without(agent: int) -> SearchStrategy[Case]:
    """Return a strategy for cases whose leader (0) or follower (1) has no influence."""

    def still(at: Case) -> Case:
        kernel = np.array(at.kernel)
        kernel[:] = kernel[:, :1] if agent == 0 else kernel[:, :, :1]
        return replace(at, game=TwoAgentMDP(kernel, at.discount))

    return cases(episodes=2, min_leader_actions=2, min_follower_actions=2).map(still)


def _influential() -> SearchStrategy[Case]:
    """Return a strategy for games in which both agents have influence, in the first state.

    A third of them is the game of `same_answer`, with other rewards.
    """
    from hypothesis import strategies as st

    def moved(at: Case) -> Case:
        kernel = np.array(at.kernel)
        unit = exact(np.eye(len(at.reward), dtype=int))
        kernel[0, 0, 0], kernel[0, 1, 0] = unit[0], unit[1]
        kernel[0, 0, 1] = unit[1]
        return replace(at, game=TwoAgentMDP(kernel, at.discount))

    drawn = cases(constant=False, min_states=2, min_leader_actions=2, min_follower_actions=2)
    rewards = st.tuples(st.integers(0, 2), st.integers(3, 9), st.integers(3, 9))
    return st.one_of(drawn.map(moved), drawn.map(moved), rewards.map(same_answer))


def _same_answer_cases() -> SearchStrategy[Case]:
    """Return a strategy for pairs of commitments in the game that teaches nothing."""
    from iirl_opt.testing.arrays import policies

    at = same_answer()
    idle = np.full((3, 2), Fraction(1, 2))
    from hypothesis import strategies as st

    drawn = policies(at.game, exact=True)
    return st.tuples(drawn, drawn).map(
        lambda played: replace(at, episodes=tuple(Exchange(pi1, idle) for pi1 in played))
    )


CLAIMS = (
    Claim(
        "influence-leader",
        "Appendix E",
        "If I(A1) = 0 the feasible set does not depend on the commitment.",
        lambda: _without(0),
        leader_without_influence,
    ),
    Claim(
        "influence-follower",
        "Appendix E",
        "If I(A2) = 0 every reward is feasible.",
        lambda: _without(1),
        follower_without_influence,
    ),
    Claim(
        "influence-teaches",
        "Abstract; converse of Appendix E",
        "If both influences are positive and r is not constant, some commitments have different "
        "answers.",
        _influential,
        influence_teaches,
        "false as stated",
        counterexample=same_answer,
        model="same-answer",
    ),
    Claim(
        "influence-teaches-nothing",
        "Abstract; converse of Appendix E",
        "In the game same-answer all commitments, stochastic ones too, have the same answers.",
        _same_answer_cases,
        same_answers,
        "repaired",
    ),
    Claim(
        "deterministic-commitments",
        "Section 4.1",
        "The answers to all deterministic commitments together leave Aff(r*) only.",
        lambda: generic_cases(3),
        deterministic_suffice,
        "false as stated",
        counterexample=same_answer,
        problem=_more_is_left,
    ),
)
