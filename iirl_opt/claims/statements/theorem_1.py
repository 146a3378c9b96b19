"""Theorem 1 and Corollary 1: which rewards explain an optimal answer, and how many rows decide.

Source: the paper, Section 4.1 and Appendix A. A reward is feasible if the response is optimal,
which is decided here by comparison with every deterministic policy; the inequalities of Theorem 1
are computed beside it. All of it is exact.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from iirl_opt.claims.arithmetic import (
    Exact,
    constraint_rows,
    exact,
    in_cone,
    leave,
    nonzero_rows,
    optimal_policies,
    policies_of,
    policy_values,
    stochastic,
)
from iirl_opt.claims.claim import Claim, Outcome, untried
from iirl_opt.claims.instances import (
    POSITIVE,
    Case,
    Exchange,
    answered_cases,
    case,
    cases,
    generic_cases,
    near_ties,
)
from iirl_opt.claims.problems import nearest
from iirl_opt.claims.responses import STAY_OR_SWAP, is_feasible
from iirl_opt.game.mdp import TwoAgentMDP

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


__all__ = ["CLAIMS", "unconstrained"]


def _characterised(at: Case, *, scaled: bool) -> Outcome:
    """Compare the definition with the rows of Theorem 1, as printed or times γ."""
    optimal = is_feasible(at, at.reward)
    least = min(
        (constraint_rows(at.problem(t), e.pi2, at.discount) @ at.reward).min()
        * (at.discount if scaled else 1)
        for t, e in enumerate(at.episodes)
    )
    word = "optimal" if optimal else "not optimal"
    return Outcome(optimal == (least >= 0), f"the response is {word}, the least row is {least}")


def theorem_1(at: Case) -> Outcome:
    """Decide the printed characterisation."""
    return _characterised(at, scaled=False)


def theorem_1_scaled(at: Case) -> Outcome:
    """Decide the characterisation with the factor γ."""
    return _characterised(at, scaled=True)


def joint_rewards(at: Case, *, immediate: bool = True) -> Outcome:
    """Decide the characterisation for rewards of states and actions, with the immediate part."""
    pi1, pi2 = at.episodes[0].pi1, at.episodes[0].pi2
    own = (pi1[:, :, None] * at.other[0]).sum(axis=1)  # (S, B): what an action earns at once
    problem, gamma = at.problem(), at.discount
    n_states, n_b, _ = problem.shape

    def values(policy: Exact) -> Exact:
        return policy_values(problem, (policy * own).sum(axis=1), policy, gamma)

    mine = values(pi2)
    at_once = own if immediate else (pi2 * own).sum(axis=1)[:, None]
    ahead = mine[:, None] - at_once - gamma * (problem @ mine)
    rivals = (values(stochastic(choices, n_b)) for choices in policies_of(n_states, n_b))
    optimal = not any((rival > mine).any() for rival in rivals)
    word = "optimal" if optimal else "not optimal"
    return Outcome(optimal == (ahead >= 0).all(), f"the response is {word}; γ = {gamma}")


def unconstrained(at: Case) -> Outcome:
    """Decide whether every deterministic response is optimal."""
    n_states, _, n_b = at.game.shape
    every = policies_of(n_states, n_b)
    best = optimal_policies(at.problem(), at.reward, at.discount)
    return Outcome(len(best) == len(every), f"{len(best)} of {len(every)} responses are optimal")


def absorbing_states(at: Case) -> Outcome:
    """Decide: in an absorbing state the feasible set says nothing about the response."""
    n_states, _, n_b = at.game.shape
    unit = exact(np.eye(n_states, dtype=int))
    absorbing = [s for s in range(n_states) if (at.kernel[s] == unit[s]).all()]
    if not absorbing:
        return untried("no state is absorbing")
    best = set(optimal_policies(at.problem(), at.reward, at.discount))
    moved = {
        (*choices[:s], b, *choices[s + 1 :])
        for choices in best
        for s in absorbing
        for b in range(n_b)
    }
    return Outcome(moved <= best, f"{len(absorbing)} absorbing states")


def vacuous_action(at: Case) -> Outcome:
    """Decide: one of the |B| vector inequalities follows from the rest, which decide optimality."""
    rows = _by_action(at)
    optimal = is_feasible(at, at.reward)
    spared = []
    for b in range(len(rows)):
        rest = np.delete(rows, b, axis=0).reshape(-1, rows.shape[2])
        if all(in_cone(nonzero_rows(rest), row) for row in rows[b]):
            spared.append(b)
            if optimal != (rest @ at.reward >= 0).all():
                return Outcome(False, f"without action {b} the rows do not decide")
    return Outcome(bool(spared), f"{len(spared)} of {len(rows)} vector inequalities can be spared")


def scalar_rows(at: Case, *, most: int | None = None) -> Outcome:
    """Decide: the S(|B| − 1) rows of actions that are not played decide; or `most` of them."""
    rows, played = _by_action(at), at.episodes[0].pi2.argmax(axis=1)
    n_states, _, n_b = at.game.shape
    kept = np.array([rows[b, s] for s in range(n_states) for b in range(n_b) if b != played[s]])
    kept = kept.reshape(-1, n_states)[: n_states * (n_b - 1) if most is None else most]
    decided = bool((kept @ at.reward >= 0).all())
    return Outcome(is_feasible(at, at.reward) == decided, f"{len(kept)} rows")


def _by_action(at: Case) -> Exact:
    """Return the rows of Theorem 1, (B, S, S)."""
    n_states, _, n_b = at.game.shape
    rows = constraint_rows(at.problem(), at.episodes[0].pi2, at.discount)
    return rows.reshape(n_b, n_states, n_states)


def _discount_zero() -> Case:
    return case(STAY_OR_SWAP, 0, (1, 0), (1, 0))


def _undecided() -> Case:
    """Return two states whose response mixes, so that every action's inequality is needed."""
    at = case([[[[0, 1], [1, 0]]], [[[1, 0], [1, 0]]]], "1/2", (1, 0), (0, 0))
    return replace(at, episodes=(Exchange(at.episodes[0].pi1, exact([[1, 1]] * 2) / 2),))


def _rows_needed(at: Case) -> Any:
    """Return what the response says of the reward, all of whose rows are needed."""
    why = "files count the rows of an answer, and do not say which of them follow from others"
    return nearest(why, at.game, at.reward, observations=at.seen)


def _constant_answers() -> SearchStrategy[Case]:
    def first(at: Case) -> Case:
        n_states, _, n_b = at.game.shape
        chosen = replace(at.episodes[0], pi2=stochastic([n_b - 1] * n_states, n_b))
        return replace(at, episodes=(chosen,))

    bounds: dict[str, Any] = {
        "min_follower_actions": 2,
        "max_follower_actions": 3,
        "discounts": POSITIVE,
    }
    return cases(**{"episodes": 1, **bounds}).map(first)


def _one_mistake() -> SearchStrategy[Case]:
    """Return a strategy for deterministic responses that are optimal, but in one state at most."""
    from hypothesis import strategies as st

    def changed(drawn: tuple[Case, int, bool]) -> Case:
        at, where, wrong = drawn
        pi2 = np.array(at.episodes[0].pi2)
        s = where % len(pi2)
        pi2[s] = np.roll(pi2[s], int(wrong))
        return replace(at, episodes=(replace(at.episodes[0], pi2=pi2),))

    def answered(at: Case) -> Case:
        n_states, n_a, n_b = at.game.shape
        pi1 = exact(np.ones((n_states, n_a), dtype=int)) / n_a
        choices = optimal_policies(leave(at.kernel, pi1), at.reward, at.discount)[0]
        return replace(at, episodes=(Exchange(pi1, stochastic(choices, n_b)),))

    bounds = {"min_states": 2, "min_follower_actions": 2, "max_follower_actions": 3}
    small = answered_cases(deterministic=True, discounts=POSITIVE, constant=False, **bounds)
    optimal = st.one_of(small, generic_cases(3).map(answered), generic_cases(2, 3).map(answered))
    return st.tuples(optimal, st.integers(0, 2), st.booleans()).map(changed)


def _two_episodes(**bounds: Any) -> SearchStrategy[Case]:
    """Return a strategy for two episodes, the first of them optimal in half of all cases."""
    from hypothesis import strategies as st

    bounds = {"episodes": 2, "min_states": 2, "min_follower_actions": 2, **bounds}

    return st.one_of(cases(**bounds), answered_cases(answered=1, **bounds))


def _trivial() -> SearchStrategy[Case]:
    """Return a strategy for cases of one state, or of one action of the follower."""
    from hypothesis import strategies as st

    one = cases(episodes=1, max_states=1, max_follower_actions=3)
    return st.one_of(one, cases(episodes=1, max_follower_actions=1))


def _with_absorbing() -> SearchStrategy[Case]:
    """Return a strategy for cases whose last state is absorbing."""

    def still(at: Case) -> Case:
        kernel = np.array(at.kernel)
        kernel[-1] = exact(np.eye(len(at.reward), dtype=int))[-1]
        return replace(at, game=TwoAgentMDP(kernel, at.discount))

    return cases(episodes=1, min_states=2, min_follower_actions=2).map(still)


def _with_action_rewards() -> SearchStrategy[Case]:
    from iirl_opt.testing.arrays import rewards

    def joint(game: TwoAgentMDP) -> SearchStrategy[tuple[Any, ...]]:
        return rewards(game, shape="joint", min_value=-1, max_value=1, exact=True).map(
            lambda r: (r,)
        )

    return cases(episodes=1, deterministic=True, other=joint, min_follower_actions=2)


def _cases_near_ties(**bounds: Any) -> SearchStrategy[Case]:
    """Return a strategy for cases of any kind, half of them with a reward at a tie or close by."""
    from hypothesis import strategies as st

    return st.one_of(cases(**{"episodes": 1, **bounds}), near_ties(max_states=3))


CLAIMS = (
    Claim(
        "theorem-1",
        "Theorem 1",
        "A reward is feasible iff (P_π − P_b)(I − γP_π)⁻¹ r ≥ 0 for all b. Condition: γ > 0.",
        lambda: _cases_near_ties(discounts=POSITIVE, max_follower_actions=3),
        theorem_1,
        "needs a condition",
        outside=lambda: cases(episodes=1, discounts=(0,), min_states=2),
        counterexample=_discount_zero,
        model="discount-zero",
    ),
    Claim(
        "theorem-1-repaired",
        "Theorem 1",
        "With the factor γ before the rows it holds for all 0 ≤ γ < 1.",
        lambda: _cases_near_ties(max_follower_actions=3),
        theorem_1_scaled,
        "repaired",
    ),
    Claim(
        "theorem-1-actions",
        "Theorem 1",
        "For rewards of states and actions a reward is feasible iff r̄_π − r̄_b + "
        "γ(P_π − P_b)(I − γP_π)⁻¹ r̄_π ≥ 0 for all b, 0 ≤ γ < 1.",
        _with_action_rewards,
        joint_rewards,
        "repaired",
    ),
    Claim(
        "theorem-1-trivial",
        "Theorem 1",
        "With one state, or one action of A2, every reward is feasible.",
        _trivial,
        unconstrained,
    ),
    Claim(
        "theorem-1-absorbing",
        "Theorem 1",
        "What is answered in an absorbing state constrains no reward.",
        _with_absorbing,
        absorbing_states,
    ),
    Claim(
        "corollary-1",
        "Corollary 1",
        "After several episodes a reward is feasible iff all their rows are ≥ 0. Condition: γ > 0.",
        lambda: _two_episodes(discounts=POSITIVE),
        theorem_1,
        "needs a condition",
        outside=lambda: cases(episodes=2, discounts=(0,), min_states=2),
        counterexample=_discount_zero,
        model="discount-zero",
    ),
    Claim(
        "corollary-1-repaired",
        "Corollary 1",
        "With the factor γ before the rows of every episode it holds for all 0 ≤ γ < 1.",
        _two_episodes,
        theorem_1_scaled,
        "repaired",
    ),
    Claim(
        "constraint-count",
        "Appendix A, proof of Theorem 1",
        "|A2| − 1 vector inequalities decide. Condition: the response is one action everywhere.",
        _constant_answers,
        vacuous_action,
        "needs a condition",
        outside=lambda: cases(episodes=1, min_states=2, min_follower_actions=2, discounts=POSITIVE),
        counterexample=_undecided,
        problem=_rows_needed,
    ),
    Claim(
        "constraint-count-repaired",
        "Appendix A, proof of Theorem 1",
        "For a deterministic response the N(|A2| − 1) rows of other actions decide.",
        _one_mistake,
        scalar_rows,
        "repaired",
    ),
)
