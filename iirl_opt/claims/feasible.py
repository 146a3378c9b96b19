"""What an optimal answer says about the reward: Theorem 1, Corollary 1, Lemma 1, half-spaces.

Source: the paper, Section 4.1 and Appendix A. A reward is feasible if the response is optimal,
which is decided here by comparison with every deterministic policy; the inequalities of Theorem 1
are computed beside it. All of it is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from iirl_opt.claims.claim import Claim, Outcome, untried
from iirl_opt.claims.exact import (
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
    policies_of,
    policy_values,
    stochastic,
    vectors,
)
from iirl_opt.claims.instances import (
    POSITIVE,
    Case,
    Episode,
    answered_cases,
    case,
    cases,
    fractions,
    generic_cases,
    independent,
    near_ties,
    vectors_of,
)
from iirl_opt.game.mdp import TwoAgentMDP

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["CLAIMS", "case_problem", "is_feasible", "same_answer"]

STAY_OR_SWAP = [[[[1, 0], [0, 1]]], [[[0, 1], [1, 0]]]]


@dataclass(frozen=True, eq=False)
class Plane:
    """The affine subspace ``offset + span(basis)`` of R^N."""

    basis: tuple[Exact, ...]
    offset: Exact


def is_feasible(at: Case, reward: Exact) -> bool:
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
        if all(in_cone(_nonzero(rest), row) for row in rows[b]):
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


def _nonzero(rows: Exact) -> Exact:
    kept: Exact = rows[(rows != 0).any(axis=1)]
    return kept


def lemma_1(at: Case) -> Outcome:
    """Decide ``r feasible iff every member of Aff(r) is``, on r itself and the members given."""
    if not is_feasible(at, at.reward):  # then r is itself a member of Aff(r) that is not feasible
        return untried("r is not feasible")
    every = all(is_feasible(at, l1 * at.reward + l2) for l1, l2 in at.other)
    return Outcome(every, f"{len(at.other)} members of Aff(r)")


def indistinguishable(at: Case) -> Outcome:
    """Decide whether r and each given member of its class are feasible together."""
    own = is_feasible(at, at.reward)
    for l1, l2 in at.other:
        if is_feasible(at, l1 * at.reward + l2) != own:
            return Outcome(False, f"r and {l1}·r + {l2}: one is feasible, the other is not")
    return Outcome(True)


def constants_feasible(at: Case) -> Outcome:
    """Decide whether a constant reward is feasible."""
    return Outcome(is_feasible(at, exact(np.ones(at.game.n_states, int)) * at.reward[0]))


def closure(at: tuple[Exact, Exact]) -> Outcome:
    """Decide: x lies in Aff(r) iff x + t r lies in Aff+(r) for all t > 0, however small."""
    r, x = at
    within = in_affine_class(x, r, strict=False)
    near = all(
        in_affine_class(x + Fraction(1, 10**k) * r, r, strict=True) for k in (0, 3, 6, 9, 30)
    )
    return Outcome(within == near, f"x ∈ Aff(r): {within}")


def equivalence(at: tuple[Exact, Exact, Exact], *, strict: bool = True) -> Outcome:
    """Decide: the relation x ∈ Aff+(r) is reflexive, symmetric and transitive, on three rewards."""

    def related(x: Exact, y: Exact) -> bool:
        return in_affine_class(x, y, strict=strict)

    reflexive = all(related(x, x) for x in at)
    pairs = [(x, y) for x in at for y in at]
    symmetric_ = all(related(x, y) == related(y, x) for x, y in pairs)
    transitive = all(related(x, z) for x, y in pairs if related(x, y) for z in at if related(y, z))
    found = sum(related(x, y) for x, y in pairs)
    return Outcome(reflexive and symmetric_ and transitive, f"{found} of 9 pairs are related")


def symmetric(at: tuple[Exact, Exact]) -> Outcome:
    """Decide whether ``x ∈ Aff(r)`` and ``r ∈ Aff(x)`` agree."""
    r, x = at
    there, back = in_affine_class(x, r, strict=False), in_affine_class(r, x, strict=False)
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


def too_few_half_spaces(at: tuple[Plane, Exact]) -> Outcome:
    """Decide: so many half-spaces that contain a subspace cut out more than it."""
    plane, weights = at
    rows = weights @ np.array(complement(*plane.basis))
    spans = len(complement(*plane.basis, *rows)) == 0
    same = spans and all(in_cone(_nonzero(rows), -row) for row in rows)
    return Outcome(not same, f"{len(rows)} half-spaces in R^{len(plane.offset)}")


def _proof_rows(at: Plane) -> Exact:
    phis = complement(*at.basis)
    return np.array([*phis, -sum(phis, exact(np.zeros(len(at.offset), int)))])


def norm_is_zero(phi: Exact) -> Outcome:
    """Decide the printed ``‖φ‖₁ = 0`` for a row orthogonal to 1."""
    return Outcome(bool(sum(abs(x) for x in phi) == 0), f"φ sums to {sum(phi)}")


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


def case_problem(at: Case, choices: tuple[int, ...]) -> Exact:
    """Return what a deterministic commitment leaves to the follower, (S, B, S)."""
    chosen: Exact = at.kernel[np.arange(len(choices)), list(choices)]
    return chosen


def same_answer(reward: Sequence[Any] = (0, 1, "19/20")) -> Case:
    """Return three states in which every commitment gets the same answer (γ = 9/10)."""
    weights = np.zeros((3, 2, 2, 3), dtype=int)
    weights[0, 0, :, 1] = weights[0, 1, :, 2] = 1
    weights[1, :, 0, 1] = weights[2, :, 0, 2] = 1
    weights[1:, :, 1, 0] = 1
    return case(weights, "9/10", reward)


def _discount_zero() -> Case:
    return case(STAY_OR_SWAP, 0, (1, 0), (1, 0))


def _undecided() -> Case:
    """Return two states whose response mixes, so that every action's inequality is needed."""
    at = case([[[[0, 1], [1, 0]]], [[[1, 0], [1, 0]]]], "1/2", (1, 0), (0, 0))
    return replace(at, episodes=(Episode(at.episodes[0].pi1, exact([[1, 1]] * 2) / 2),))


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
        return replace(at, episodes=(Episode(pi1, stochastic(choices, n_b)),))

    bounds = {"min_states": 2, "min_follower_actions": 2, "max_follower_actions": 3}
    small = answered_cases(deterministic=True, discounts=POSITIVE, constant=False, **bounds)
    optimal = st.one_of(small, generic_cases(3).map(answered), generic_cases(2, 3).map(answered))
    return st.tuples(optimal, st.integers(0, 2), st.booleans()).map(changed)


def _half_answered(**bounds: Any) -> SearchStrategy[Case]:
    """Return a strategy for one episode, whose response is optimal in half of all cases."""
    from hypothesis import strategies as st

    bounds = {"episodes": 1, "min_states": 2, "min_follower_actions": 2, **bounds}
    return st.one_of(cases(**bounds), answered_cases(**bounds))


def _two_episodes(**bounds: Any) -> SearchStrategy[Case]:
    """Return a strategy for two episodes, the first of them optimal in half of all cases."""
    from hypothesis import strategies as st

    bounds = {"episodes": 2, "min_states": 2, "min_follower_actions": 2, **bounds}

    return st.one_of(cases(**bounds), answered_cases(answered=1, **bounds))


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
    from iirl_opt.testing.strategies import policies

    at = same_answer()
    idle = np.full((3, 2), Fraction(1, 2))
    from hypothesis import strategies as st

    drawn = policies(at.game, exact=True)
    return st.tuples(drawn, drawn).map(
        lambda played: replace(at, episodes=tuple(Episode(pi1, idle) for pi1 in played))
    )


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
    from iirl_opt.testing.strategies import rewards

    def joint(game: TwoAgentMDP) -> SearchStrategy[tuple[Any, ...]]:
        return rewards(game, shape="joint", min_value=-1, max_value=1, exact=True).map(
            lambda r: (r,)
        )

    return cases(episodes=1, deterministic=True, other=joint, min_follower_actions=2)


def _pairs(*, related: bool) -> SearchStrategy[tuple[Exact, Exact]]:
    from hypothesis import strategies as st

    def pairs(n: int) -> SearchStrategy[tuple[Exact, Exact]]:
        if not related:
            return st.tuples(vectors_of(n), vectors_of(n))
        return st.tuples(vectors_of(n), st.integers(0, 2), st.integers(-2, 2)).map(
            lambda drawn: (drawn[0], drawn[1] * drawn[0] + drawn[2])
        )

    return st.integers(1, 4).flatmap(pairs)


def _some_pairs() -> SearchStrategy[tuple[Exact, Exact]]:
    from hypothesis import strategies as st

    level = st.tuples(vectors_of(3, constant=False), vectors_of(3, constant=True))
    return st.one_of(level, _pairs(related=True), _pairs(related=False))


def _triples() -> SearchStrategy[tuple[Exact, Exact, Exact]]:
    """Return a strategy for chains of rewards, each an image of the one before, λ1 ≥ 0."""
    from hypothesis import strategies as st

    shift = st.tuples(st.integers(0, 2), st.integers(-2, 2))
    return st.tuples(_pairs(related=True), shift).map(
        lambda drawn: (*drawn[0], drawn[1][0] * drawn[0][1] + drawn[1][1])
    )


def _planes(dimension: int, *, offset: bool = False, least: int = 2) -> SearchStrategy[Plane]:
    """Return a strategy for subspaces of R^2 … R^5: through the origin, or off it with `offset`."""
    from hypothesis import strategies as st

    def plane(drawn: tuple[Exact, ...]) -> Plane:
        if offset:
            *basis, away = independent(drawn)
            return Plane(tuple(basis), away)
        return Plane(tuple(independent(drawn[:-1])), 0 * drawn[-1])

    def planes(n: int) -> SearchStrategy[Plane]:
        return st.tuples(*(vectors_of(n) for _ in range(dimension + 1))).map(plane)

    return st.integers(least, 5).flatmap(planes)


def _few_half_spaces(short_of: int = 2) -> SearchStrategy[tuple[Plane, Exact]]:
    """Return a strategy for planes in R^3 … R^5 with N − short_of rows orthogonal to each."""
    from hypothesis import strategies as st

    def weighted(plane: Plane) -> SearchStrategy[tuple[Plane, Exact]]:
        n = len(plane.offset)
        row = vectors_of(n - 2, constant=None)
        rows = st.lists(row, min_size=n - short_of, max_size=n - short_of)
        return rows.map(lambda drawn: (plane, np.array(drawn, dtype=object)))

    return _planes(2, least=3).flatmap(weighted)


def _orthogonal() -> SearchStrategy[Exact]:
    return vectors_of(3, constant=False).map(lambda r: r - r.sum() / len(r))


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
    ),
    Claim(
        "constraint-count-repaired",
        "Appendix A, proof of Theorem 1",
        "For a deterministic response the N(|A2| − 1) rows of other actions decide.",
        _one_mistake,
        scalar_rows,
        "repaired",
    ),
    Claim(
        "lemma-1",
        "Lemma 1",
        "r is feasible iff every member of Aff(r) is feasible.",
        lambda: answered_cases(other=_scales(0), min_follower_actions=2),
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
        lambda: _half_answered(other=_zero_scale, constant=False),
        indistinguishable,
        "false as stated",
        counterexample=lambda: _swapped((0, 0)),
    ),
    Claim(
        "lemma-1-repaired",
        "Lemma 1",
        "r is indistinguishable from each λ1·r + λ2 with λ1 > 0.",
        lambda: _half_answered(other=_scales(1), constant=False),
        indistinguishable,
        "repaired",
    ),
    Claim(
        "affine-class",
        "Section 4.1",
        "Affine equivalence with λ1 ≥ 0 is symmetric: x ∈ Aff(r) iff r ∈ Aff(x).",
        lambda: _pairs(related=True),
        symmetric,
        "false as stated",
        counterexample=lambda: (exact([1, 0]), exact([0, 0])),
    ),
    Claim(
        "affine-class-repaired",
        "Section 4.1",
        "With λ1 > 0 it is an equivalence relation: reflexive, symmetric, transitive.",
        _triples,
        equivalence,
        "repaired",
    ),
    Claim(
        "affine-class-closure",
        "Section 4.1",
        "Aff(r) is the closure of Aff+(r), the class with λ1 > 0.",
        _some_pairs,
        closure,
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
        "half-space-fewer",
        "Appendix A, half-space lemma",
        "No N − 2 half-spaces have a plane in R^N as their intersection.",
        _few_half_spaces,
        too_few_half_spaces,
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
    ),
)


def _zero_scale(_: TwoAgentMDP) -> SearchStrategy[tuple[Any, ...]]:
    from hypothesis import strategies as st

    return st.just(((0, 0), (1, 1)))
