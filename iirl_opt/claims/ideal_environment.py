"""Tests in the ideal environment: what a follower answers there, and what its answer leaves.

Source: the paper, Section 4.1 and Appendix A. The *ideal environment* of a reward r over N states
has ``P_b1 = 1/N`` and ``P_b2 = 1/N − Φ``, where the rows of Φ are φ_1, …, φ_{N−2} orthogonal to r
and 1, then minus their sum, then the centred r, all scaled so that probabilities result; further
actions copy b2. Under r the follower is tied in all states but the last (in all if r is constant),
so how it breaks ties decides what its answer reveals.

All is exact, cones by linear programming over rationals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from iirl_opt.claims.arithmetic import (
    Choices,
    Exact,
    affine_class_holds,
    complement,
    constraint_rows,
    exact,
    is_constant,
    largest_scale,
    optimal_policies,
    stochastic,
)
from iirl_opt.claims.instances import POSITIVE, independent, vectors_of

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


__all__ = [
    "IdealTest",
    "actions_in_words",
    "answer_of",
    "explained",
    "explained_by_answer",
    "feasible_rows",
    "ideal_kernel",
    "optimal_actions",
    "set_in_words",
    "spoiled",
    "trials",
]


@dataclass(frozen=True, eq=False)
class IdealTest:
    """The ideal environment of a hypothesis, and the true reward whose follower answers in it.

    Attributes
    ----------
    hypothesis, truth : rewards (N,).
    discount : γ.
    ties : for each state, True if a tied follower plays b2 there.
    n_actions : of the follower.
    share : how often b1 is played in ties by a follower that mixes.
    """

    hypothesis: Exact
    truth: Exact
    discount: Fraction
    ties: tuple[bool, ...]
    n_actions: int = 2
    share: Fraction = Fraction(1, 2)


def ideal_kernel(reward: Exact, n_actions: int = 2) -> Exact:
    """Return the paper's ideal environment of a reward, (N, n, N)."""
    n = len(reward)
    ones = exact(np.ones(n, int))
    phis = complement(ones, reward)
    rows = [*phis, -sum(phis, 0 * ones)] if n > 1 else []
    scale = min((largest_scale(row) for row in rows if (row != 0).any()), default=Fraction(1))
    rows = [scale * row for row in rows]
    if not is_constant(reward):
        centred = reward - reward.sum() / n
        rows.append(largest_scale(centred) * centred)
    flat = np.full((n, n), Fraction(1, n))
    other = flat - np.array(rows) if rows else flat
    return np.stack([flat, *[other] * (n_actions - 1)], axis=1)


def optimal_actions(problem: Exact, reward: Exact, discount: Fraction) -> list[list[int]]:
    """Return the optimal actions of each state: in these environments only b1 and its ties."""
    best = optimal_policies(problem, reward, discount)
    return [sorted({choices[s] for choices in best}) for s in range(len(reward))]


def answer_of(at: IdealTest, problem: Exact) -> Choices:
    """Return the deterministic answer of a follower that breaks ties as the test says."""
    optimal = optimal_actions(problem, at.truth, at.discount)
    return tuple(
        actions[-1] if late else actions[0] for actions, late in zip(optimal, at.ties, strict=True)
    )


def feasible_rows(at: IdealTest, problem: Exact, policy: Exact) -> Exact:
    """Return the rows of the feasible set, with the factor γ that they should have."""
    rows: Exact = at.discount * constraint_rows(problem, policy, at.discount)
    return rows


def explained(at: IdealTest, problem: Exact, policy: Exact) -> bool:
    """Return whether the feasible set of an answer is exactly the class of the hypothesis."""
    return affine_class_holds(feasible_rows(at, problem, policy), at.hypothesis)


def explained_by_answer(at: IdealTest) -> tuple[bool, Choices]:
    problem = ideal_kernel(at.hypothesis, at.n_actions)
    answer = answer_of(at, problem)
    return explained(at, problem, stochastic(answer, at.n_actions)), answer


def actions_in_words(answer: Choices) -> str:
    return "(" + ", ".join(f"b{b + 1}" for b in answer) + ")"


def set_in_words(same: bool) -> str:
    return "the feasible set is Aff(r)" if same else "the feasible set is not Aff(r)"


def spoiled() -> IdealTest:
    """Return the smallest spoiled test: three states, γ = 1/2, answer (b2, b1, b1)."""
    r = exact([0, 1, 2])
    return IdealTest(r, r, Fraction(1, 2), (True, False, False))


def trials(
    *,
    least: int = 1,
    most: int = 5,
    truth: str = "same",
    ties: str = "any",
    discounts: tuple[str, ...] = POSITIVE,
    actions: tuple[int, ...] = (2,),
    hypothesis_constant: bool | None = None,
) -> Callable[[], SearchStrategy[IdealTest]]:
    """Return the function that makes a strategy for tests.

    `truth` is ``"same"`` as the hypothesis, of its ``"class"`` with λ1 > 0, ``"other"`` (neither of
    it nor constant, but often close by), ``"any"`` of these two, or ``"constant"``; `ties` are
    ``"any"``, ``"alike"`` in all states, or ``"mixed"``: different in the first two.
    """

    def strategy() -> SearchStrategy[IdealTest]:
        from hypothesis import strategies as st

        @st.composite
        def other(draw: st.DrawFn, r: Exact) -> Exact:
            n = len(r)
            if n == 2 or draw(st.booleans()):
                return -draw(st.integers(1, 3)) * r + draw(st.integers(-2, 2))
            v = independent([exact(np.ones(n, int)), r, draw(vectors_of(n))])[-1]
            moved: Exact = r + Fraction(1, draw(st.sampled_from([1, 100]))) * v
            return moved

        @st.composite
        def drawn(draw: st.DrawFn) -> IdealTest:
            n = draw(st.integers(least, most))
            hypothesis = draw(vectors_of(n, constant=hypothesis_constant))
            kind = draw(st.sampled_from(["class", "other"])) if truth == "any" else truth
            true = hypothesis
            if kind == "class":
                true = draw(st.integers(1, 3)) * hypothesis + draw(st.integers(-2, 2))
            elif kind == "constant" or (kind == "other" and is_constant(hypothesis)):
                true = draw(vectors_of(n, constant=kind == "constant"))
            elif kind == "other":
                true = draw(other(hypothesis))
            broken = draw(st.lists(st.booleans(), min_size=n, max_size=n))
            if ties == "alike":
                broken = [broken[0]] * n
            elif ties == "mixed":
                broken[1] = not broken[0]
            gamma = Fraction(draw(st.sampled_from(discounts)))
            share = Fraction(draw(st.integers(1, 9)), 10)
            return IdealTest(
                hypothesis, true, gamma, tuple(broken), draw(st.sampled_from(actions)), share
            )

        return drawn()

    return strategy
