"""What an optimal answer says about the reward: Theorem 1, Corollary 1, Lemma 1, half-spaces.

Source: the paper, Section 4.1 and Appendix A. A reward is feasible if the response is optimal,
which is decided here by comparison with every deterministic policy; the inequalities of Theorem 1
are computed beside it. All of it is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from iirl_opt.claims.claim import Claim, Outcome
from iirl_opt.claims.exact import (
    Exact,
    complement,
    constraint_rows,
    exact,
    in_affine_class,
    in_cone,
    is_constant,
    optimal_policies,
    policies_of,
    policy_values,
    stochastic,
    vectors,
)
from iirl_opt.claims.instances import POSITIVE, Case, case, cases, fractions
from iirl_opt.game.mdp import TwoAgentMDP

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["CLAIMS"]

STAY_OR_SWAP = [[[[1, 0], [0, 1]]], [[[0, 1], [1, 0]]]]


@dataclass(frozen=True, eq=False)
class Plane:
    """The affine subspace ``offset + span(basis)`` of R^N."""

    basis: tuple[Exact, ...]
    offset: Exact


def _optimal(at: Case, reward: Exact) -> bool:
    """Return whether every episode's response is optimal, by definition."""
    for t, episode in enumerate(at.episodes):
        problem = at.problem(t)
        values = policy_values(problem, reward, episode.pi2, at.discount)
        n_states, n_actions, _ = problem.shape
        for choices in policies_of(n_states, n_actions):
            other = policy_values(problem, reward, stochastic(choices, n_actions), at.discount)
            if (other > values).any():
                return False
    return True


def _characterised(at: Case, *, scaled: bool) -> Outcome:
    """Compare the definition with the rows of Theorem 1, as printed or times γ."""
    optimal = _optimal(at, at.reward)
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


def vacuous_action(at: Case) -> Outcome:
    """Decide whether one of the |B| vector inequalities of Theorem 1 is empty."""
    empty, rows, n_b = _inequalities(at)
    return Outcome(empty > 0, f"{n_b - empty} of {n_b} vector inequalities, {rows} rows")


def scalar_rows(at: Case) -> Outcome:
    """Decide whether there are at most S(|B| − 1) rows that are not zero."""
    _, rows, n_b = _inequalities(at)
    most = at.game.n_states * (n_b - 1)
    return Outcome(rows <= most, f"{rows} rows, at most {most}")


def _inequalities(at: Case) -> tuple[int, int, int]:
    n_states, _, n_b = at.game.shape
    rows = constraint_rows(at.problem(), at.episodes[0].pi2, at.discount)
    zero = (rows == 0).all(axis=1).reshape(n_b, n_states)
    return int(zero.all(axis=1).sum()), int((~zero).sum()), n_b


def lemma_1(at: Case) -> Outcome:
    """Decide ``r feasible iff every member of Aff(r) is``, on r itself and the members given."""
    own = _optimal(at, at.reward)
    every = all(_optimal(at, l1 * at.reward + l2) for l1, l2 in (*at.other, (1, 0)))
    return Outcome(own == every, f"r is {'' if own else 'not '}feasible")


def indistinguishable(at: Case) -> Outcome:
    """Decide whether r and each given member of its class are feasible together."""
    own = _optimal(at, at.reward)
    for l1, l2 in at.other:
        if _optimal(at, l1 * at.reward + l2) != own:
            return Outcome(False, f"r and {l1}·r + {l2}: one is feasible, the other is not")
    return Outcome(True)


def constants_feasible(at: Case) -> Outcome:
    """Decide whether a constant reward is feasible."""
    return Outcome(_optimal(at, exact(np.ones(at.game.n_states, int)) * at.reward[0]))


def symmetric(at: tuple[Exact, Exact], *, strict: bool) -> Outcome:
    """Decide whether ``x ∈ Aff(r)`` and ``r ∈ Aff(x)`` agree."""
    r, x = at
    there, back = in_affine_class(x, r, strict=strict), in_affine_class(r, x, strict=strict)
    return Outcome(there == back, f"x ∈ Aff(r): {there}, r ∈ Aff(x): {back}")


def half_spaces(at: Plane) -> Outcome:
    """Decide whether the half-spaces of the proof cut out the subspace."""
    rows = _proof_rows(at)
    lie = all(row @ at.offset == 0 for row in rows)
    closed = all(in_cone(rows, -row) for row in rows)
    return Outcome(
        lie and closed,
        f"{len(rows)} half-spaces"
        + ("" if lie else "; none of them contains the whole of it, which misses the origin"),
    )


def half_spaces_minimal(at: Plane) -> Outcome:
    """Decide whether leaving out any one half-space of the proof spoils the intersection."""
    rows = _proof_rows(at)
    for i in range(len(rows)):
        rest = np.delete(rows, i, axis=0)
        if all(in_cone(rest, -row) for row in rest):
            return Outcome(False, f"without row {i} it is still a subspace")
    return Outcome(True, f"all {len(rows)} half-spaces are needed")


def _proof_rows(at: Plane) -> Exact:
    phis = complement(*at.basis)
    return np.array([*phis, -sum(phis, exact(np.zeros(len(at.offset), int)))])


def norm_is_zero(phi: Exact) -> Outcome:
    """Decide the printed ``‖φ‖₁ = 0`` for a row orthogonal to 1."""
    return Outcome(bool(sum(abs(x) for x in phi) == 0), f"φ sums to {sum(phi)}")


def leader_without_influence(at: Case) -> Outcome:
    """Decide whether two commitments of a leader without influence leave the same set."""
    first, _ = at.episodes
    same = (
        constraint_rows(at.problem(0), first.pi2, at.discount)
        == constraint_rows(at.problem(1), first.pi2, at.discount)
    ).all()
    return Outcome(bool(same), f"leader influence {at.game.influence()[0]:g}")


def follower_without_influence(at: Case) -> Outcome:
    """Decide whether the answer of a follower without influence leaves every reward."""
    rows = constraint_rows(at.problem(), at.episodes[0].pi2, at.discount)
    return Outcome(bool((rows == 0).all()), f"follower influence {at.game.influence()[1]:g}")


def influence_teaches(at: Case) -> Outcome:
    """Decide whether some two deterministic commitments have different optimal answers."""
    n_states, n_a, _ = at.game.shape
    answers = set()
    for choices in policies_of(n_states, n_a):
        problem = case_problem(at, choices)
        answers.add(tuple(optimal_policies(problem, at.reward, at.discount)))
    influence = at.game.influence()
    return Outcome(
        len(answers) > 1 or min(influence) == 0,
        f"influences {influence[0]:g} and {influence[1]:g}; {len(answers)} different answers",
    )


def case_problem(at: Case, choices: tuple[int, ...]) -> Exact:
    """Return what a deterministic commitment leaves to the follower, (S, B, S)."""
    chosen: Exact = at.kernel[np.arange(len(choices)), list(choices)]
    return chosen


def same_answer() -> Case:
    """Return three states in which every commitment gets the same answer (γ = 9/10)."""
    weights = np.zeros((3, 2, 2, 3), dtype=int)
    weights[0, 0, :, 1] = weights[0, 1, :, 2] = 1
    weights[1, :, 0, 1] = weights[2, :, 0, 2] = 1
    weights[1:, :, 1, 0] = 1
    return case(weights, "9/10", (0, 1, "19/20"))


def _discount_zero() -> Case:
    return case(STAY_OR_SWAP, 0, (1, 0), (1, 0))


def _swapped(*scales: tuple[int, int]) -> Case:
    return case(STAY_OR_SWAP, "1/2", (1, 0), (1, 0), other=scales)


def _scales(least: int) -> Any:
    def scales(_: TwoAgentMDP) -> SearchStrategy[tuple[Any, ...]]:
        from hypothesis import strategies as st

        pair = st.tuples(fractions(least, 5).map(lambda x: x + Fraction(1, 8) * least), fractions())
        return st.lists(pair, min_size=1, max_size=3).map(tuple)

    return scales


def _constant_answers() -> SearchStrategy[Case]:
    def first(at: Case) -> Case:
        n_states, _, n_b = at.game.shape
        chosen = replace(at.episodes[0], pi2=stochastic([n_b - 1] * n_states, n_b))
        return replace(at, episodes=(chosen,))

    return cases(episodes=1, max_follower_actions=3).map(first)


def _without(agent: int) -> SearchStrategy[Case]:
    """Return a strategy for cases whose leader (0) or follower (1) has no influence."""

    def still(at: Case) -> Case:
        kernel = np.array(at.kernel)
        kernel[:] = kernel[:, :1] if agent == 0 else kernel[:, :, :1]
        return replace(at, game=TwoAgentMDP(kernel, at.discount))

    return cases(episodes=2, min_leader_actions=2, min_follower_actions=2).map(still)


def _rewards(n: int) -> SearchStrategy[Exact]:
    from hypothesis import strategies as st

    return st.lists(st.integers(-3, 3), min_size=n, max_size=n).map(exact)


def _pairs(*, related: bool) -> SearchStrategy[tuple[Exact, Exact]]:
    from hypothesis import strategies as st

    def pairs(n: int) -> SearchStrategy[tuple[Exact, Exact]]:
        if not related:
            return st.tuples(_rewards(n), _rewards(n))
        return st.tuples(_rewards(n), st.integers(0, 2), st.integers(-2, 2)).map(
            lambda drawn: (drawn[0], drawn[1] * drawn[0] + drawn[2])
        )

    return st.integers(1, 4).flatmap(pairs)


def _planes(dimension: int, *, offset: bool = False, least: int = 2) -> SearchStrategy[Plane]:
    """Return a strategy for subspaces of R^2 … R^5, through the origin unless `offset`."""
    from hypothesis import strategies as st

    def planes(n: int) -> SearchStrategy[Plane]:
        return st.tuples(*(_rewards(n) for _ in range(dimension + 1))).map(
            lambda drawn: Plane(drawn[:-1], drawn[-1] * int(offset))
        )

    return (
        st.integers(least, 5)
        .flatmap(planes)
        .filter(lambda at: len(complement(*at.basis)) == len(at.offset) - dimension)
    )


def _orthogonal() -> SearchStrategy[Exact]:
    return _rewards(3).map(lambda r: r - r.sum() / len(r)).filter(lambda r: not is_constant(r))


def _symmetric_closed(at: tuple[Exact, Exact]) -> Outcome:
    return symmetric(at, strict=False)


def _symmetric_strict(at: tuple[Exact, Exact]) -> Outcome:
    return symmetric(at, strict=True)


CLAIMS = (
    Claim(
        "theorem-1",
        "Theorem 1",
        "A reward is feasible iff (P_π − P_b)(I − γP_π)⁻¹ r ≥ 0 for all b. Condition: γ > 0.",
        lambda: cases(episodes=1, discounts=POSITIVE, max_follower_actions=3),
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
        lambda: cases(episodes=1, max_follower_actions=3),
        theorem_1_scaled,
        "repaired",
    ),
    Claim(
        "corollary-1",
        "Corollary 1",
        "After several episodes a reward is feasible iff all their rows are ≥ 0. Condition: γ > 0.",
        lambda: cases(episodes=2, discounts=POSITIVE),
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
        lambda: cases(episodes=2),
        theorem_1_scaled,
        "repaired",
    ),
    Claim(
        "constraint-count",
        "Appendix A, proof of Theorem 1",
        "There are |A2| − 1 vector inequalities. Condition: the response is one action everywhere.",
        _constant_answers,
        vacuous_action,
        "needs a condition",
        outside=lambda: cases(episodes=1, min_states=2, min_follower_actions=2),
        counterexample=lambda: case(STAY_OR_SWAP, "1/2", (1, 0), (1, 0)),
    ),
    Claim(
        "constraint-count-repaired",
        "Appendix A, proof of Theorem 1",
        "For a deterministic response at most N(|A2| − 1) rows are not zero.",
        lambda: cases(episodes=1, deterministic=True, max_follower_actions=3),
        scalar_rows,
        "repaired",
    ),
    Claim(
        "lemma-1",
        "Lemma 1",
        "r is feasible iff every member of Aff(r) is feasible.",
        lambda: cases(episodes=1, other=_scales(0)),
        lemma_1,
    ),
    Claim(
        "lemma-1-constants",
        "Section 4.1",
        "Constant rewards explain any observed behaviour.",
        lambda: cases(episodes=1),
        constants_feasible,
    ),
    Claim(
        "lemma-1-indistinguishable",
        "Lemma 1",
        "r is indistinguishable from each λ1·r + λ2 with λ1 ≥ 0: both are feasible or neither is.",
        lambda: cases(
            episodes=1, constant=False, min_states=2, min_follower_actions=2, other=_zero_scale
        ),
        indistinguishable,
        "false as stated",
        counterexample=lambda: _swapped((0, 0)),
    ),
    Claim(
        "lemma-1-repaired",
        "Lemma 1",
        "r is indistinguishable from each λ1·r + λ2 with λ1 > 0.",
        lambda: cases(episodes=1, other=_scales(1)),
        indistinguishable,
        "repaired",
    ),
    Claim(
        "affine-class",
        "Section 4.1",
        "Affine equivalence with λ1 ≥ 0 is symmetric: x ∈ Aff(r) iff r ∈ Aff(x).",
        lambda: _pairs(related=True),
        _symmetric_closed,
        "false as stated",
        counterexample=lambda: (exact([1, 0]), exact([0, 0])),
    ),
    Claim(
        "affine-class-repaired",
        "Section 4.1",
        "With λ1 > 0 it is symmetric, so an equivalence relation.",
        lambda: _pairs(related=True),
        _symmetric_strict,
        "repaired",
    ),
    Claim(
        "half-space-lemma",
        "Appendix A, half-space lemma",
        "Any plane in R^N is the intersection of N − 1 half-spaces. Condition: it contains 0.",
        lambda: _planes(2),
        half_spaces,
        "needs a condition",
        outside=lambda: _planes(2, offset=True, least=3),
        counterexample=lambda: Plane((exact([1, 0, 0]), exact([0, 1, 0])), exact([0, 0, 1])),
    ),
    Claim(
        "half-space-line",
        "Appendix A, half-space lemma",
        "Any line through 0 is the intersection of N half-spaces.",
        lambda: _planes(1),
        half_spaces,
    ),
    Claim(
        "half-space-minimal",
        "Appendix A, half-space lemma",
        "For N ≥ 3 none of the N − 1 half-spaces can be left out.",
        lambda: _planes(2, least=3),
        half_spaces_minimal,
    ),
    Claim(
        "half-space-norm",
        "Appendix A, proof of Theorem 2",
        "For φ orthogonal to 1, ‖φ‖₁ = 0 (its entries sum to 0 instead).",
        _orthogonal,
        norm_is_zero,
        "false as stated",
        counterexample=lambda: vectors([[1, -1]])[0],
    ),
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
        lambda: cases(constant=False, min_states=2, min_leader_actions=2, min_follower_actions=2),
        influence_teaches,
        "false as stated",
        counterexample=same_answer,
        model="same-answer",
    ),
)


def _zero_scale(_: TwoAgentMDP) -> SearchStrategy[tuple[Any, ...]]:
    from hypothesis import strategies as st

    return st.just(((0, 0), (1, 1)))
