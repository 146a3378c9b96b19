"""Environments that reveal the reward: Theorem 2, Corollary 2, and what is true in their place.

Source: the paper, Section 4.1 and Appendix A. The *ideal environment* of a reward r over N states
has ``P_b1 = 1/N`` and ``P_b2 = 1/N − Φ``, where the rows of Φ are φ_1, …, φ_{N−2} orthogonal to r
and 1, then minus their sum, then the centred r, all scaled so that probabilities result; further
actions copy b2. Under r the follower is tied in all states but the last (in all if r is constant),
so how it breaks ties decides what its answer reveals.

All is exact, cones by linear programming over rationals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from iirl_opt.claims.claim import Claim, Outcome
from iirl_opt.claims.exact import (
    Choices,
    Exact,
    affine_class_holds,
    complement,
    constraint_rows,
    exact,
    in_affine_class,
    in_cone,
    is_constant,
    leave,
    optimal_policies,
    solve,
    stochastic,
)
from iirl_opt.claims.instances import POSITIVE, Case, cases, moved_cases

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["CLAIMS", "ideal_kernel"]


@dataclass(frozen=True, eq=False)
class Test:
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
    scale = min((_fitting(row) for row in rows if (row != 0).any()), default=Fraction(1))
    rows = [scale * row for row in rows]
    if not is_constant(reward):
        centred = reward - reward.sum() / n
        rows.append(_fitting(centred) * centred)
    flat = np.full((n, n), Fraction(1, n))
    other = flat - np.array(rows) if rows else flat
    return np.stack([flat, *[other] * (n_actions - 1)], axis=1)


def _fitting(row: Exact) -> Fraction:
    """Return the largest scale at which 1/N − row is a distribution."""
    n = len(row)
    fitting: Fraction = min(Fraction(1, n) / row.max(), (1 - Fraction(1, n)) / -row.min())
    return fitting


def _optimal_actions(problem: Exact, reward: Exact, discount: Fraction) -> list[list[int]]:
    """Return the optimal actions of each state: in these environments only b1 and its ties."""
    best = optimal_policies(problem, reward, discount)
    return [sorted({choices[s] for choices in best}) for s in range(len(reward))]


def _answer(at: Test, problem: Exact) -> Choices:
    """Return the deterministic answer of a follower that breaks ties as the test says."""
    optimal = _optimal_actions(problem, at.truth, at.discount)
    return tuple(
        actions[-1] if late else actions[0] for actions, late in zip(optimal, at.ties, strict=True)
    )


def _rows(at: Test, problem: Exact, policy: Exact) -> Exact:
    """Return the rows of the feasible set, with the factor γ that they should have."""
    rows: Exact = at.discount * constraint_rows(problem, policy, at.discount)
    return rows


def _explained(at: Test, problem: Exact, policy: Exact) -> bool:
    """Return whether the feasible set of an answer is exactly the class of the hypothesis."""
    return affine_class_holds(_rows(at, problem, policy), at.hypothesis)


def _by_answer(at: Test) -> tuple[bool, Choices]:
    problem = ideal_kernel(at.hypothesis, at.n_actions)
    answer = _answer(at, problem)
    return _explained(at, problem, stochastic(answer, at.n_actions)), answer


def theorem_2(at: Test) -> Outcome:
    """Decide whether the feasible set after the ideal environment's answer is the class of r."""
    same, answer = _by_answer(at)
    return Outcome(same, f"answer {_names(answer)}, γ = {at.discount}: " + _says(same))


def ties_decide(at: Test) -> Outcome:
    """Decide: the feasible set is the class iff all tied states are answered alike."""
    problem = ideal_kernel(at.hypothesis, at.n_actions)
    optimal = _optimal_actions(problem, at.truth, at.discount)
    same, answer = _by_answer(at)
    tied = [answer[s] > 0 for s, actions in enumerate(optimal) if len(actions) > 1]
    return Outcome(same == (all(tied) or not any(tied)), f"answer {_names(answer)}: {_says(same)}")


def tie_frequency(tests: tuple[Test, ...]) -> Outcome:
    """Decide: all deterministic optimal answers but two leave a set other than Aff(r).

    So the printed procedure, which accepts if the set is Aff(r), does so with frequency 2^−(N−2)
    under uniformly random ties, or 2^−(N−1) if the truth is constant and all states are tied.
    """
    found, as_stated = [], True
    for at in tests:
        problem = ideal_kernel(at.hypothesis)
        answers = list(product(*_optimal_actions(problem, at.truth, at.discount)))
        failed = [a for a in answers if not _explained(at, problem, stochastic(a, 2))]
        n = len(at.truth) + is_constant(at.truth)
        as_stated &= Fraction(len(failed), len(answers)) == 1 - Fraction(2, 2 ** (n - 1))
        found.append(f"{len(failed)}/{len(answers)} at N = {len(at.truth)}")
    return Outcome(as_stated, f"the set is not Aff(r) for {', '.join(found)} of the answers")


def verified(at: Test) -> Outcome:
    """Decide the printed iff: the feasible set is Aff(r) iff r ∈ Aff(r*)."""
    same, answer = _by_answer(at)
    true = in_affine_class(at.hypothesis, at.truth, strict=False)
    return Outcome(same == true, f"r ∈ Aff(r*): {true}; answer {_names(answer)}: {_says(same)}")


def confirmed_is_true(at: Test) -> Outcome:
    """Decide the half of it: if the feasible set is Aff(r), then r ∈ Aff(r*)."""
    same, answer = _by_answer(at)
    true = in_affine_class(at.hypothesis, at.truth, strict=False)
    return Outcome(not same or true, f"answer {_names(answer)}: {_says(same)}")


def verified_by_mask(at: Test) -> Outcome:
    """Decide the iff with λ1 > 0 when all optimal actions are reported."""
    problem = ideal_kernel(at.hypothesis, at.n_actions)
    optimal = _optimal_actions(problem, at.truth, at.discount)
    first = stochastic([actions[0] for actions in optimal], at.n_actions)
    rows = _rows(at, problem, first).reshape(at.n_actions, len(at.truth), -1)
    equal = [rows[b, s] for s, actions in enumerate(optimal) for b in actions]
    same = affine_class_holds(np.vstack([*rows, -np.array(equal)]), at.hypothesis)
    return _verdict(at, same, "all optimal actions")


def verified_by_mixing(at: Test) -> Outcome:
    """Decide the iff with λ1 > 0 when ties are mixed with full support."""
    problem = ideal_kernel(at.hypothesis, at.n_actions)
    optimal = _optimal_actions(problem, at.truth, at.discount)
    policy = np.full(problem.shape[:2], Fraction(0))
    for s, actions in enumerate(optimal):
        policy[s, actions] = (1 - at.share) / max(len(actions) - 1, 1)
        policy[s, actions[0]] = at.share if len(actions) > 1 else Fraction(1)
    return _verdict(at, _explained(at, problem, policy), f"ties mixed {at.share}")


def _verdict(at: Test, same: bool, how: str) -> Outcome:
    true = in_affine_class(at.hypothesis, at.truth, strict=True)
    return Outcome(same == true, f"{how}: r ∈ Aff+(r*): {true}; {_says(same)}")


def rejected_is_false(at: Test) -> Outcome:
    """Decide the right rejection rule: a hypothesis of the class explains the answer."""
    problem = ideal_kernel(at.hypothesis, at.n_actions)
    policy = stochastic(_answer(at, problem), at.n_actions)
    explains = bool((_rows(at, problem, policy) @ at.hypothesis >= 0).all())
    true = in_affine_class(at.hypothesis, at.truth, strict=True)
    return Outcome(explains or not true, f"r ∈ Aff+(r*): {true}, r explains: {explains}")


def unique_answer(at: Test) -> Outcome:
    """Decide the Remark: in the ideal environment one policy is optimal, and reveals the class.

    Two states need no tie: there the row of w stands in both.
    """
    problem = ideal_kernel(at.hypothesis)
    if len(at.truth) == 2:
        problem = problem[[1, 1]]
    best = optimal_policies(problem, at.truth, at.discount)
    same = _explained(at, problem, stochastic(best[0], 2))
    return Outcome(same and len(best) == 1, f"{len(best)} optimal policies")


def spoiled_by_ties(at: Case) -> Outcome:
    """Decide the impossibility: some admissible answers leave a reward r + t v of another class."""
    v = at.other[0]
    problems = [leave(at.kernel, episode.pi1) for episode in at.episodes]
    own = [set(optimal_policies(p, at.reward, at.discount)) for p in problems]
    step = Fraction(1)
    for _ in range(60):
        moved = at.reward + step * v
        new = [optimal_policies(p, moved, at.discount) for p in problems]
        if all(set(mine) <= theirs for mine, theirs in zip(new, own, strict=True)):
            other = not in_affine_class(moved, at.reward, strict=True)
            return Outcome(other, f"r + {step}·v has optimal answers that are optimal for r")
        step /= 4
    return Outcome(False, "no small step along v keeps the optimal answers")


def rank_one(at: tuple[Exact, Exact, Fraction]) -> Outcome:
    """Decide: D (I − γ P)⁻¹ = D for P = 1 μᵀ and rows of D that sum to zero."""
    mu, differences, discount = at
    n = len(mu)
    unit = exact(np.eye(n, dtype=int))
    inverse = solve(unit - discount * np.array([mu] * n), unit)
    return Outcome(bool((differences @ inverse == differences).all()))


def condition_b(at: Case) -> Outcome:
    """Decide: every kernel can be induced iff each map of actions to next states is some action.

    A kernel is induced state by state, so it suffices to look at the vertices ``e_{m(b)}``: every
    kernel is a mixture of these.
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
    enough = n_a >= n_states**n_b
    return Outcome(bool(missing) or enough, f"{found} vertices are actions, {missing} are missing")


def _names(answer: Choices) -> str:
    return "(" + ", ".join(f"b{b + 1}" for b in answer) + ")"


def _says(same: bool) -> str:
    return "the feasible set is Aff(r)" if same else "the feasible set is not Aff(r)"


def spoiled() -> Test:
    """Return the smallest spoiled test: three states, γ = 1/2, answer (b2, b1, b1)."""
    r = exact([0, 1, 2])
    return Test(r, r, Fraction(1, 2), (True, False, False))


def _tests(
    *,
    least: int = 1,
    most: int = 5,
    truth: str = "same",
    ties: str = "any",
    discounts: tuple[str, ...] = POSITIVE,
    actions: tuple[int, ...] = (2,),
    hypothesis_constant: bool | None = None,
) -> Callable[[], SearchStrategy[Test]]:
    """Return the function that makes a strategy for tests.

    `truth` is ``"same"`` as the hypothesis, of its ``"class"`` with λ1 > 0, ``"any"`` (of the class
    or not, never constant) or ``"constant"``; `ties` are ``"any"`` or ``"alike"`` in all states.
    """

    def strategy() -> SearchStrategy[Test]:
        from hypothesis import strategies as st

        def reward(n: int, constant: bool | None) -> SearchStrategy[Exact]:
            some = st.lists(st.integers(-3, 3), min_size=n, max_size=n).map(exact)
            level = st.integers(-3, 3).map(lambda x: exact([x] * n))
            if constant:
                return level
            return some if constant is None else some.filter(lambda r: not is_constant(r))

        @st.composite
        def drawn(draw: st.DrawFn) -> Test:
            n = draw(st.integers(least, most))
            hypothesis = draw(reward(n, hypothesis_constant))
            of_class = draw(st.booleans()) if truth == "any" else truth == "class"
            true = hypothesis
            if of_class:
                true = draw(st.integers(1, 3)) * hypothesis + draw(st.integers(-2, 2))
            elif truth in ("any", "constant"):
                true = draw(reward(n, truth == "constant"))
            broken = draw(st.lists(st.booleans(), min_size=n, max_size=n))
            if ties == "alike":
                broken = [broken[0]] * n
            gamma = Fraction(draw(st.sampled_from(discounts)))
            share = Fraction(draw(st.integers(1, 9)), 10)
            return Test(
                hypothesis, true, gamma, tuple(broken), draw(st.sampled_from(actions)), share
            )

        return drawn()

    return strategy


def _tests_by_size(
    sizes: Iterable[int], **kinds: Any
) -> Callable[[], SearchStrategy[tuple[Test, ...]]]:
    """Return the function that makes a strategy for tuples of tests, one of each size."""

    def strategy() -> SearchStrategy[tuple[Test, ...]]:
        from hypothesis import strategies as st

        return st.tuples(*(_tests(least=n, most=n, **kinds)() for n in sizes))

    return strategy


def _leaves_class(r: Exact, v: Exact) -> bool:
    """Return whether no r + t v with t ≠ 0 lies in the span of r and 1."""
    return any(phi @ v != 0 for phi in complement(exact(np.ones(len(r), int)), r))


def _rank_one_instances() -> SearchStrategy[tuple[Exact, Exact, Fraction]]:
    from hypothesis import strategies as st

    def build(n: int, seed: int, gamma: str) -> tuple[Exact, Exact, Fraction]:
        rng = np.random.default_rng(seed)
        mu = exact(rng.integers(1, 9, n))
        rows = exact(rng.integers(-5, 6, (n, n)))
        return mu / mu.sum(), rows - rows.sum(axis=1)[:, None] / n, Fraction(gamma)

    return st.builds(build, st.integers(1, 4), st.integers(0, 10**6), st.sampled_from(POSITIVE))


def _controlled() -> SearchStrategy[Case]:
    """Return a strategy for games in which (B) holds, or lacks a row, or is out of reach."""
    from hypothesis import strategies as st

    from iirl_opt.game.mdp import TwoAgentMDP

    def build(n_states: int, n_b: int, lacks: bool) -> Case:
        unit = np.eye(n_states, dtype=int)
        maps = list(product(range(n_states), repeat=n_b))
        rows = np.array([[unit[list(m)] for m in maps]] * n_states)
        if lacks and len(maps) > 1:
            rows[0, -1] = rows[0, 0]
        return Case(TwoAgentMDP(rows, Fraction(1, 2)), exact([0] * n_states))

    full = st.builds(build, st.integers(1, 2), st.integers(1, 2), st.booleans())
    return st.one_of(full, cases(max_leader_actions=4, max_denominator=2))


CLAIMS = (
    Claim(
        "theorem-2",
        "Theorem 2",
        "Some commitment has an optimal response that leaves exactly Aff(r*). Conditions: γ > 0, "
        "|A2| ≥ 2 (or N = 1), and ties broken alike in all states.",
        _tests(ties="alike", actions=(2, 3)),
        theorem_2,
        "needs a condition",
        outside=_tests(least=2, discounts=(*POSITIVE, "0"), actions=(1, 2)),
        counterexample=spoiled,
        model="tie-break",
    ),
    Claim(
        "theorem-2-remark",
        "Section 4.1, remark after Theorem 2",
        "In some environment the optimal policy reveals the class of r*. Condition: N = 2 and r* "
        "not constant; for N ≥ 3 several policies are optimal.",
        _tests(least=2, most=2, hypothesis_constant=False),
        unique_answer,
        "needs a condition",
        outside=_tests(least=3),
        counterexample=spoiled,
        model="favourable-ties",
    ),
    Claim(
        "theorem-2-ties",
        "Theorem 2",
        "In the ideal environment the feasible set is Aff(r*) iff all tied states are answered "
        "alike (γ > 0).",
        _tests(),
        ties_decide,
        "repaired",
    ),
    Claim(
        "theorem-2-impossible",
        "Theorem 2",
        "For N ≥ 3 no environments leave Aff(r*) whatever the tie-break: answers that are optimal "
        "for r* + t v are optimal for r*.",
        lambda: moved_cases(3).filter(lambda at: _leaves_class(at.reward, at.other[0])),
        spoiled_by_ties,
        "repaired",
    ),
    Claim(
        "theorem-2-rank-one",
        "Theorem 2, proof",
        "P_b1 = 1 μᵀ with any μ suffices: then (P_b1 − P_b2)(I − γ P_b1)⁻¹ = P_b1 − P_b2.",
        _rank_one_instances,
        rank_one,
        "repaired",
    ),
    Claim(
        "condition-b",
        "Theorem 2, condition (B)",
        "(B) holds iff in each state every map of follower actions to next states is an action "
        "of the leader, so it needs |A1| ≥ N^|A2|.",
        _controlled,
        condition_b,
        "repaired",
    ),
    Claim(
        "corollary-2",
        "Corollary 2",
        "After the ideal environment of r the feasible set is Aff(r) iff r ∈ Aff(r*).",
        _tests(least=3, hypothesis_constant=False),
        verified,
        "false as stated",
        counterexample=spoiled,
        model="tie-break",
    ),
    Claim(
        "corollary-2-frequency",
        "Corollary 2",
        "Under uniformly random ties the printed procedure fails on a true hypothesis with "
        "frequency 1 − 2^−(N−2).",
        _tests_by_size(range(2, 6), hypothesis_constant=False),
        tie_frequency,
        "repaired",
    ),
    Claim(
        "corollary-2-constant-truth",
        "Corollary 2",
        "If r* is constant, the printed procedure accepts under uniformly random ties with "
        "frequency 2^−(N−1).",
        _tests_by_size(range(2, 5), truth="constant"),
        tie_frequency,
        "repaired",
    ),
    Claim(
        "corollary-2-accepts",
        "Corollary 2",
        "If the feasible set is Aff(r), then r ∈ Aff(r*). Condition: r* is not constant.",
        _tests(truth="any", hypothesis_constant=False, least=2, most=4),
        confirmed_is_true,
        "needs a condition",
        outside=_tests(truth="constant", hypothesis_constant=False, least=2, most=3),
        counterexample=lambda: replace(
            spoiled(), truth=exact([0, 0, 0]), ties=(False, False, False)
        ),
    ),
    Claim(
        "corollary-2-constant",
        "Corollary 2",
        "A constant hypothesis, which lies in Aff(r*), is verified.",
        _tests(truth="any", hypothesis_constant=True, least=2, most=4),
        verified,
        "false as stated",
        counterexample=lambda: replace(
            spoiled(), hypothesis=exact([0, 0]), truth=exact([0, 1]), ties=(False, False)
        ),
    ),
    Claim(
        "corollary-2-rejects",
        "Corollary 2",
        "A hypothesis that does not explain the answer is not in Aff+(r*), whatever the ties.",
        _tests(truth="any", discounts=(*POSITIVE, "0"), most=4),
        rejected_is_false,
        "repaired",
    ),
    Claim(
        "corollary-2-all-optimal",
        "Corollary 2",
        "If all optimal actions are reported, the feasible set is Aff(r) iff r ∈ Aff+(r*) "
        "(r, r* not constant, γ > 0).",
        _tests(truth="any", hypothesis_constant=False, least=2, most=4, actions=(2, 3)),
        verified_by_mask,
        "repaired",
    ),
    Claim(
        "corollary-2-mixed",
        "Corollary 2",
        "If ties are mixed with full support, the feasible set is Aff(r) iff r ∈ Aff+(r*) "
        "(r, r* not constant, γ > 0).",
        _tests(truth="any", hypothesis_constant=False, least=2, most=4),
        verified_by_mixing,
        "repaired",
    ),
)
