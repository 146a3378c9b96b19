"""Theorem 2: does some commitment have an answer that leaves the class of the reward alone?

Source: the paper, Section 4.1 and Appendix A. What is true in its place depends on ties.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from iirl_opt.claims.arithmetic import (
    Exact,
    affine_class_holds,
    complement,
    constraint_rows,
    exact,
    in_affine_class,
    is_full,
    leave,
    optimal_policies,
    stochastic,
)
from iirl_opt.claims.claim import Claim, Outcome, untried
from iirl_opt.claims.ideal_environment import (
    IdealTest,
    actions_in_words,
    answer_of,
    explained,
    explained_by_answer,
    feasible_rows,
    ideal_kernel,
    optimal_actions,
    set_in_words,
    spoiled,
    trials,
)
from iirl_opt.claims.instances import POSITIVE, Case, independent, moved_cases, vectors_of

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


__all__ = ["CLAIMS"]


@dataclass(frozen=True, eq=False)
class Shown:
    """An environment like the ideal one, with other scales, places and a common next state.

    Attributes
    ----------
    hypothesis : the reward (N,).
    mu : where b1 leads from everywhere, (N,), positive.
    order : which of the N rows each state shows.
    shares : of the largest scales, how large each row is, 0 < share ≤ 1.
    discount : γ.
    """

    hypothesis: Exact
    mu: Exact
    order: tuple[int, ...]
    shares: tuple[Fraction, ...]
    discount: Fraction


def theorem_2(at: IdealTest) -> Outcome:
    """Decide whether the feasible set after the ideal environment's answer is the class of r."""
    same, answer = explained_by_answer(at)
    return Outcome(
        same, f"answer {actions_in_words(answer)}, γ = {at.discount}: " + set_in_words(same)
    )


def mixed_ties_tell_little(at: IdealTest, *, whatever: bool = False) -> Outcome:
    """Decide: the feasible set is full-dimensional if tied states are answered differently."""
    problem = ideal_kernel(at.hypothesis, at.n_actions)
    optimal = optimal_actions(problem, at.truth, at.discount)
    answer = answer_of(at, problem)
    tied = {answer[s] > 0 for s, actions in enumerate(optimal) if len(actions) > 1}
    if len(tied) < 2 and not whatever:
        return untried("the tied states are answered alike")
    full = is_full(feasible_rows(at, problem, stochastic(answer, at.n_actions)))
    return Outcome(full, f"answer {actions_in_words(answer)}")


def ties_decide(at: IdealTest) -> Outcome:
    """Decide: the feasible set is the class iff all tied states are answered alike."""
    problem = ideal_kernel(at.hypothesis, at.n_actions)
    optimal = optimal_actions(problem, at.truth, at.discount)
    same, answer = explained_by_answer(at)
    tied = [answer[s] > 0 for s, actions in enumerate(optimal) if len(actions) > 1]
    return Outcome(
        same == (all(tied) or not any(tied)),
        f"answer {actions_in_words(answer)}: {set_in_words(same)}",
    )


def all_rows_are_needed(at: tuple[IdealTest, Exact], *, doubled: bool = False) -> Outcome:
    """Decide: with two actions no N − 1 rows leave Aff(r): not those of all states but one,
    nor mixtures of them.
    """
    test, weights = at
    problem = ideal_kernel(test.hypothesis)
    policy = stochastic([0] * len(test.hypothesis), 2)
    rows = feasible_rows(test, problem, policy)[len(policy) :]
    if not affine_class_holds(rows, test.hypothesis):
        return Outcome(False, "nor do all N rows")
    if doubled:
        rows = np.vstack([rows, rows[:1]])
        weights = np.hstack([weights, weights[:, :1]])
    fewer = [*(np.delete(rows, s, axis=0) for s in range(len(rows))), weights @ rows]
    left = sum(affine_class_holds(some, test.hypothesis) for some in fewer)
    return Outcome(left == 0, f"{left} of {len(fewer)} sets of N − 1 rows leave Aff(r)")


def unique_answer(at: IdealTest) -> Outcome:
    """Decide the Remark: in the ideal environment one policy is optimal, and reveals the class.

    Two states need no tie: there the row of w stands in both.
    """
    problem = ideal_kernel(at.hypothesis)
    if len(at.truth) == 2:
        problem = problem[[1, 1]]
    best = optimal_policies(problem, at.truth, at.discount)
    same = explained(at, problem, stochastic(best[0], 2))
    return Outcome(same and len(best) == 1, f"{len(best)} optimal policies")


def spoiled_by_ties(at: Case, *, steps: int = 60) -> Outcome:
    """Decide the impossibility: some admissible answers leave a reward r + t v of another class."""
    v = at.other[0]
    if not _leaves_class(at.reward, v):
        return untried("r + t v is in the class for some t ≠ 0")
    problems = [leave(at.kernel, episode.pi1) for episode in at.episodes]
    own = [set(optimal_policies(p, at.reward, at.discount)) for p in problems]
    step = Fraction(1)
    for _ in range(steps):
        moved = at.reward + step * v
        new = [optimal_policies(p, moved, at.discount) for p in problems]
        if all(set(mine) <= theirs for mine, theirs in zip(new, own, strict=True)):
            other = not in_affine_class(moved, at.reward, strict=True)
            return Outcome(other, f"r + {step}·v has optimal answers that are optimal for r")
        step /= 4
    return Outcome(False, "no small step along v keeps the optimal answers")


def rank_one(at: Shown, *, apart: bool = False) -> Outcome:
    """Decide: b1 to the same place from everywhere, and any row in any state, leave Aff(r)."""
    n = len(at.mu)
    ideal = ideal_kernel(at.hypothesis)
    shown = [ideal[s, 0] - ideal[s, 1] for s in at.order]  # the rows, in the order of states
    rest = [
        at.mu - share * _largest_share(row, at.mu) * row
        for row, share in zip(shown, at.shares, strict=True)
    ]
    problem = np.stack([np.array([at.mu] * n), np.array(rest)], axis=1)
    if apart:  # the first state stays in half of all cases, whatever is played
        problem[0] = (problem[0] + exact(np.eye(n, dtype=int))[0]) / 2
    rows = at.discount * constraint_rows(problem, stochastic([0] * n, 2), at.discount)
    same = affine_class_holds(rows, at.hypothesis)
    return Outcome(same, f"order {at.order}: {set_in_words(same)}")


def _largest_share(row: Exact, mu: Exact) -> Fraction:
    """Return the largest scale at which mu − row is a distribution; 1 for a row of zeros."""
    return min((Fraction(mu[j] / row[j]) for j in np.flatnonzero(row > 0)), default=Fraction(1))


def _leaves_class(r: Exact, v: Exact) -> bool:
    """Return whether no r + t v with t ≠ 0 lies in the span of r and 1."""
    return any(phi @ v != 0 for phi in complement(exact(np.ones(len(r), int)), r))


def _with_mixtures() -> SearchStrategy[tuple[IdealTest, Exact]]:
    """Return a strategy for tests with weights (N − 1, N) ≥ 0 for mixtures of their rows."""
    from hypothesis import strategies as st

    def weighted(at: IdealTest) -> SearchStrategy[tuple[IdealTest, Exact]]:
        n = len(at.hypothesis)
        row = st.lists(st.integers(0, 2), min_size=n, max_size=n)
        rows = st.lists(row, min_size=n - 1, max_size=n - 1)
        return rows.map(lambda drawn: (at, exact(drawn)))

    return trials(least=3, most=4, hypothesis_constant=False)().flatmap(weighted)


def _leaving_cases() -> SearchStrategy[Case]:
    """Return a strategy for cases with a second reward outside the span of the first and 1."""

    def apart(at: Case) -> Case:
        ones = exact(np.ones(len(at.reward), int))
        _, r, v = independent([ones, at.reward, at.other[0]])
        return replace(at, reward=r, other=(v,))

    return moved_cases(3).map(apart)


def _shown() -> SearchStrategy[Shown]:
    from hypothesis import strategies as st

    @st.composite
    def drawn(draw: st.DrawFn) -> Shown:
        n = draw(st.integers(2, 4))
        mu = exact(draw(st.lists(st.integers(1, 8), min_size=n, max_size=n)))
        shares = draw(st.lists(st.integers(1, 9), min_size=n, max_size=n))
        return Shown(
            draw(vectors_of(n, constant=False)),
            mu / mu.sum(),
            tuple(draw(st.permutations(range(n)))),
            tuple(Fraction(share, 9) for share in shares),
            Fraction(draw(st.sampled_from(POSITIVE))),
        )

    return drawn()


CLAIMS = (
    Claim(
        "theorem-2",
        "Theorem 2",
        "Some commitment has an optimal response that leaves exactly Aff(r*). Conditions: γ > 0, "
        "|A2| ≥ 2 (or N = 1), and ties broken alike in all states.",
        trials(ties="alike", actions=(2, 3)),
        theorem_2,
        "needs a condition",
        outside=trials(least=2, discounts=(*POSITIVE, "0"), actions=(1, 2)),
        counterexample=spoiled,
        model="tie-break",
    ),
    Claim(
        "theorem-2-remark",
        "Section 4.1, remark after Theorem 2",
        "In some environment the optimal policy reveals the class of r*. Condition: N = 2 and r* "
        "not constant; for N ≥ 3 several policies are optimal.",
        trials(least=2, most=2, hypothesis_constant=False),
        unique_answer,
        "needs a condition",
        outside=trials(least=3),
        counterexample=spoiled,
        model="favourable-ties",
    ),
    Claim(
        "theorem-2-ties",
        "Theorem 2",
        "In the ideal environment the feasible set is Aff(r*) iff all tied states are answered "
        "alike (γ > 0).",
        trials(),
        ties_decide,
        "repaired",
    ),
    Claim(
        "theorem-2-full",
        "Theorem 2",
        "If tied states are answered differently, the feasible set is full-dimensional (γ > 0).",
        trials(least=3, ties="mixed", hypothesis_constant=False),
        mixed_ties_tell_little,
        "repaired",
    ),
    Claim(
        "theorem-2-two-states",
        "Theorem 2",
        "For N = 2 and r* not constant the feasible set is Aff(r*) whatever the tie-break (γ > 0).",
        trials(least=2, most=2, hypothesis_constant=False, actions=(2, 3)),
        theorem_2,
        "repaired",
    ),
    Claim(
        "theorem-2-all-rows",
        "Theorem 2",
        "With two actions and N ≥ 3 no N − 1 rows leave Aff(r*): no state can be spared.",
        _with_mixtures,
        all_rows_are_needed,
        "repaired",
    ),
    Claim(
        "theorem-2-impossible",
        "Theorem 2",
        "For N ≥ 3 no environments leave Aff(r*) whatever the tie-break: answers that are optimal "
        "for r* + t v are optimal for r*.",
        _leaving_cases,
        spoiled_by_ties,
        "repaired",
    ),
    Claim(
        "theorem-2-rank-one",
        "Theorem 2, proof",
        "P_b1 = 1 μᵀ with any μ > 0, and the rows in any order at any scale, leave Aff(r*), too.",
        _shown,
        rank_one,
        "repaired",
    ),
)
