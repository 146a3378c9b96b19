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

from iirl_opt.claims.claim import Claim, Outcome, untried
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
    is_full,
    leave,
    optimal_policies,
    stochastic,
)
from iirl_opt.claims.instances import (
    POSITIVE,
    Case,
    cases,
    independent,
    moved_cases,
    vectors_of,
)

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["CLAIMS", "controlled", "ideal_kernel", "trials"]


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


def mixed_ties_tell_little(at: Test, *, whatever: bool = False) -> Outcome:
    """Decide: the feasible set is full-dimensional if tied states are answered differently."""
    problem = ideal_kernel(at.hypothesis, at.n_actions)
    optimal = _optimal_actions(problem, at.truth, at.discount)
    answer = _answer(at, problem)
    tied = {answer[s] > 0 for s, actions in enumerate(optimal) if len(actions) > 1}
    if len(tied) < 2 and not whatever:
        return untried("the tied states are answered alike")
    full = is_full(_rows(at, problem, stochastic(answer, at.n_actions)))
    return Outcome(full, f"answer {_names(answer)}")


def ties_decide(at: Test) -> Outcome:
    """Decide: the feasible set is the class iff all tied states are answered alike."""
    problem = ideal_kernel(at.hypothesis, at.n_actions)
    optimal = _optimal_actions(problem, at.truth, at.discount)
    same, answer = _by_answer(at)
    tied = [answer[s] > 0 for s, actions in enumerate(optimal) if len(actions) > 1]
    return Outcome(same == (all(tied) or not any(tied)), f"answer {_names(answer)}: {_says(same)}")


def tie_frequency(drawn: tuple[Test, ...], *, off: int = 0) -> Outcome:
    """Decide: all deterministic optimal answers but two leave a set other than Aff(r).

    So the printed procedure, which accepts if the set is Aff(r), does so with frequency 2^−(N−2)
    under uniformly random ties, or 2^−(N−1) if the truth is constant and all states are tied.
    """
    found, as_stated = [], True
    for at in drawn:
        problem = ideal_kernel(at.hypothesis)
        answers = list(product(*_optimal_actions(problem, at.truth, at.discount)))
        failed = [a for a in answers if not _explained(at, problem, stochastic(a, 2))]
        n = len(at.truth) + is_constant(at.truth) + off
        as_stated &= Fraction(len(failed), len(answers)) == 1 - Fraction(2, 2 ** (n - 1))
        found.append(f"{len(failed)}/{len(answers)} at N = {len(at.truth)}")
    return Outcome(as_stated, f"the set is not Aff(r) for {', '.join(found)} of the answers")


def verified(at: Test) -> Outcome:
    """Decide the printed iff: the feasible set is Aff(r) iff r ∈ Aff(r*)."""
    same, answer = _by_answer(at)
    true = in_affine_class(at.hypothesis, at.truth, strict=False)
    return Outcome(same == true, f"r ∈ Aff(r*): {true}; answer {_names(answer)}: {_says(same)}")


def false_is_not_confirmed(at: Test) -> Outcome:
    """Decide the half of it: if r ∉ Aff(r*), the feasible set is not Aff(r)."""
    if in_affine_class(at.hypothesis, at.truth, strict=False):
        return untried("r ∈ Aff(r*)")
    same, answer = _by_answer(at)
    return Outcome(not same, f"r ∉ Aff(r*); answer {_names(answer)}: {_says(same)}")


def all_rows_are_needed(at: tuple[Test, Exact], *, doubled: bool = False) -> Outcome:
    """Decide: with two actions no N − 1 rows leave Aff(r): not those of all states but one,
    nor mixtures of them.
    """
    test, weights = at
    problem = ideal_kernel(test.hypothesis)
    policy = stochastic([0] * len(test.hypothesis), 2)
    rows = _rows(test, problem, policy)[len(policy) :]
    if not affine_class_holds(rows, test.hypothesis):
        return Outcome(False, "nor do all N rows")
    if doubled:
        rows = np.vstack([rows, rows[:1]])
        weights = np.hstack([weights, weights[:, :1]])
    fewer = [*(np.delete(rows, s, axis=0) for s in range(len(rows))), weights @ rows]
    left = sum(affine_class_holds(some, test.hypothesis) for some in fewer)
    return Outcome(left == 0, f"{left} of {len(fewer)} sets of N − 1 rows leave Aff(r)")


def verified_by_mask(at: Test, *, spare: bool = False) -> Outcome:
    """Decide the iff with λ1 > 0 when all optimal actions are reported; or with a row less."""
    problem = ideal_kernel(at.hypothesis, at.n_actions)
    if spare:
        problem[-2, 1:] = problem[-2, :1]  # the row of −Σφ
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


def rejected_is_false(at: Test, *, whatever: bool = False) -> Outcome:
    """Decide the right rejection rule: a hypothesis of the class explains the answer."""
    if not (whatever or in_affine_class(at.hypothesis, at.truth, strict=True)):
        return untried("r ∉ Aff+(r*)")
    problem = ideal_kernel(at.hypothesis, at.n_actions)
    policy = stochastic(_answer(at, problem), at.n_actions)
    explains = bool((_rows(at, problem, policy) @ at.hypothesis >= 0).all())
    return Outcome(explains, f"r ∈ Aff+(r*), r explains: {explains}")


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
        at.mu - share * _largest(row, at.mu) * row
        for row, share in zip(shown, at.shares, strict=True)
    ]
    problem = np.stack([np.array([at.mu] * n), np.array(rest)], axis=1)
    if apart:  # the first state stays in half of all cases, whatever is played
        problem[0] = (problem[0] + exact(np.eye(n, dtype=int))[0]) / 2
    rows = at.discount * constraint_rows(problem, stochastic([0] * n, 2), at.discount)
    same = affine_class_holds(rows, at.hypothesis)
    return Outcome(same, f"order {at.order}: {_says(same)}")


def _largest(row: Exact, mu: Exact) -> Fraction:
    """Return the largest scale at which mu − row is a distribution; 1 for a row of zeros."""
    return min((Fraction(mu[j] / row[j]) for j in np.flatnonzero(row > 0)), default=Fraction(1))


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


def _names(answer: Choices) -> str:
    return "(" + ", ".join(f"b{b + 1}" for b in answer) + ")"


def _says(same: bool) -> str:
    return "the feasible set is Aff(r)" if same else "the feasible set is not Aff(r)"


def spoiled() -> Test:
    """Return the smallest spoiled test: three states, γ = 1/2, answer (b2, b1, b1)."""
    r = exact([0, 1, 2])
    return Test(r, r, Fraction(1, 2), (True, False, False))


def trials(
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

    `truth` is ``"same"`` as the hypothesis, of its ``"class"`` with λ1 > 0, ``"other"`` (neither of
    it nor constant, but often close by), ``"any"`` of these two, or ``"constant"``; `ties` are
    ``"any"``, ``"alike"`` in all states, or ``"mixed"``: different in the first two.
    """

    def strategy() -> SearchStrategy[Test]:
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
        def drawn(draw: st.DrawFn) -> Test:
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
            return Test(
                hypothesis, true, gamma, tuple(broken), draw(st.sampled_from(actions)), share
            )

        return drawn()

    return strategy


def trials_of_sizes(
    sizes: Iterable[int], **kinds: Any
) -> Callable[[], SearchStrategy[tuple[Test, ...]]]:
    """Return the function that makes a strategy for tuples of tests, one of each size."""

    def strategy() -> SearchStrategy[tuple[Test, ...]]:
        from hypothesis import strategies as st

        return st.tuples(*(trials(least=n, most=n, **kinds)() for n in sizes))

    return strategy


def _leaves_class(r: Exact, v: Exact) -> bool:
    """Return whether no r + t v with t ≠ 0 lies in the span of r and 1."""
    return any(phi @ v != 0 for phi in complement(exact(np.ones(len(r), int)), r))


def _with_mixtures() -> SearchStrategy[tuple[Test, Exact]]:
    """Return a strategy for tests with weights (N − 1, N) ≥ 0 for mixtures of their rows."""
    from hypothesis import strategies as st

    def weighted(at: Test) -> SearchStrategy[tuple[Test, Exact]]:
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
    Claim(
        "corollary-2",
        "Corollary 2",
        "After the ideal environment of r the feasible set is Aff(r) iff r ∈ Aff(r*).",
        trials(least=3, hypothesis_constant=False),
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
        trials_of_sizes(range(2, 5), hypothesis_constant=False),
        tie_frequency,
        "repaired",
    ),
    Claim(
        "corollary-2-constant-truth",
        "Corollary 2",
        "If r* is constant, the printed procedure accepts under uniformly random ties with "
        "frequency 2^−(N−1).",
        trials_of_sizes(range(2, 4), truth="constant"),
        tie_frequency,
        "repaired",
    ),
    Claim(
        "corollary-2-accepts",
        "Corollary 2",
        "If r ∉ Aff(r*), the feasible set is not Aff(r). Condition: r* is not constant.",
        trials(truth="other", hypothesis_constant=False, least=2, most=4),
        false_is_not_confirmed,
        "needs a condition",
        outside=trials(truth="constant", hypothesis_constant=False, least=2, most=3),
        counterexample=lambda: replace(
            spoiled(), truth=exact([0, 0, 0]), ties=(False, False, False)
        ),
    ),
    Claim(
        "corollary-2-constant",
        "Corollary 2",
        "A constant hypothesis, which lies in Aff(r*), is verified.",
        trials(truth="any", hypothesis_constant=True, least=2, most=4),
        verified,
        "false as stated",
        counterexample=lambda: replace(
            spoiled(), hypothesis=exact([0, 0]), truth=exact([0, 1]), ties=(False, False)
        ),
    ),
    Claim(
        "corollary-2-rejects",
        "Corollary 2",
        "A hypothesis in Aff+(r*) explains the answer, whatever the ties: one that does not is "
        "refuted.",
        trials(truth="class", discounts=(*POSITIVE, "0"), most=4),
        rejected_is_false,
        "repaired",
    ),
    Claim(
        "corollary-2-all-optimal",
        "Corollary 2",
        "If all optimal actions are reported, the feasible set is Aff(r) iff r ∈ Aff+(r*) "
        "(r, r* not constant, γ > 0).",
        trials(truth="any", hypothesis_constant=False, least=2, most=4, actions=(2, 3)),
        verified_by_mask,
        "repaired",
    ),
    Claim(
        "corollary-2-fewer-rows",
        "Corollary 2",
        "If all optimal actions are reported, the row of −Σφ can be spared.",
        trials(truth="any", hypothesis_constant=False, least=3, most=4),
        lambda at: verified_by_mask(at, spare=True),
        "repaired",
    ),
    Claim(
        "corollary-2-mixed",
        "Corollary 2",
        "If ties are mixed with full support, the feasible set is Aff(r) iff r ∈ Aff+(r*) "
        "(r, r* not constant, γ > 0).",
        trials(truth="any", hypothesis_constant=False, least=2, most=4),
        verified_by_mixing,
        "repaired",
    ),
)
