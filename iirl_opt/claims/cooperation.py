"""Cooperating with an optimal follower: Lemma 2, the set O, Proposition 1 and Algorithm 1.

Source: the paper, Section 4.2 and Appendix A. All is exact: Algorithm 1 runs on the vertices of the
feasible set within the reward simplex, so a reward on the boundary of two cells is on it.

Proposition 1 assumes that a reward which makes the leader play badly betrays itself in the answer.
Its two readings: about joint policies (as printed), or about commitments (which the proof uses). A
reward that violates it is a non-constant point of a cone, so a vertex of that cone within the
simplex tells.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from iirl_opt.claims.claim import Claim, Outcome
from iirl_opt.claims.exact import (
    Choices,
    Exact,
    constraint_rows,
    exact,
    is_constant,
    joint_problem,
    optimal_policies,
    policies_of,
    policy_values,
    simplex_vertices,
    stochastic,
)
from iirl_opt.claims.feasible import case_problem, same_answer
from iirl_opt.claims.instances import POSITIVE, Case, case, cases, generic_cases

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from iirl_opt.game.mdp import TwoAgentMDP

__all__ = ["CLAIMS", "bad_episodes", "violated_assumption"]

EPISODES = 60
LATE = 50


def _joint_optima(at: Case, reward: Exact) -> list[Choices]:
    return optimal_policies(joint_problem(at.kernel), reward, at.discount)


def _split(at: Case, joint: Choices) -> tuple[Choices, Choices]:
    n_b = at.game.shape[2]
    return tuple(c // n_b for c in joint), tuple(c % n_b for c in joint)


def _values(at: Case, pi1: Choices, pi2: Choices, reward: Exact) -> Exact:
    policy = stochastic(pi2, at.game.shape[2])
    return policy_values(case_problem(at, pi1), reward, policy, at.discount)


def _responses(at: Case, pi1: Choices, reward: Exact) -> list[Choices]:
    return optimal_policies(case_problem(at, pi1), reward, at.discount)


def lemma_2(at: Case) -> Outcome:
    """Decide: every optimal response to the leader's part of a joint optimum has its value."""
    pairs = 0
    for joint in _joint_optima(at, at.reward):
        pi1, pi2 = _split(at, joint)
        best = _values(at, pi1, pi2, at.reward)
        for response in _responses(at, pi1, at.reward):
            pairs += 1
            if (_values(at, pi1, response, at.reward) != best).any():
                return Outcome(False, f"joint optimum {joint}, response {response}")
    return Outcome(True, f"{pairs} pairs of a joint optimum and a response")


def _from_start(at: Case) -> list[tuple[Exact, Exact]]:
    """Return the values of every joint policy that is optimal from the start, and of an answer."""
    n_states, n_a, n_b = at.game.shape
    start = _start(at)
    every = {
        joint: _values(at, *_split(at, joint), at.reward)
        for joint in policies_of(n_states, n_a * n_b)
    }
    best = max(start @ values for values in every.values())
    found = []
    for joint, values in every.items():
        if start @ values == best:
            pi1, _ = _split(at, joint)
            response = _responses(at, pi1, at.reward)[0]
            found.append((values, _values(at, pi1, response, at.reward)))
    return found


def _start(at: Case) -> Exact:
    return np.array(at.game.rational.start, dtype=object)


def lemma_2_from_start(at: Case) -> Outcome:
    """Decide the same for joint policies that are optimal from the start only, in all states."""
    different = sum(bool((mine != theirs).any()) for mine, theirs in _from_start(at))
    return Outcome(different == 0, f"{different} policies have other values than the response")


def lemma_2_start_value(at: Case) -> Outcome:
    """Decide the same for joint policies that are optimal from the start, for the start value."""
    start = _start(at)
    return Outcome(all(start @ mine == start @ theirs for mine, theirs in _from_start(at)))


def _optima(at: Case, reward: Exact) -> set[Choices]:
    return set(_joint_optima(at, reward))


def _mixed(at: Case) -> tuple[set[Choices], set[Choices], set[Choices], set[Choices]]:
    """Return the optimal joint policies for r*, r1, r2 and the mean of r1 and r2."""
    r1, r2 = at.other
    mean = (r1 + r2) / 2
    return _optima(at, at.reward), _optima(at, r1), _optima(at, r2), _optima(at, mean)


def convex(at: Case) -> Outcome:
    """Decide: if Opt(r1) and Opt(r2) lie in Opt(r*), so does that of their mean."""
    true, first, second, mean = _mixed(at)
    if not (first <= true and second <= true):
        return Outcome(True, "r1 or r2 is not in O")
    return Outcome(mean <= true, f"r1, r2 in O; {len(mean - true)} optima of the mean are not")


def convex_for_one_optimum(at: Case) -> Outcome:
    """Decide the same where Opt(r*) is a single policy."""
    if len(_optima(at, at.reward)) > 1:
        return Outcome(True, "several optimal policies")
    return convex(at)


def convex_with_equality(at: Case) -> Outcome:
    """Decide: if Opt(r1) = Opt(r2) = Opt(r*), so is that of their mean."""
    true, first, second, mean = _mixed(at)
    return Outcome(not first == second == true or mean == true)


def convex_superset(at: Case) -> Outcome:
    """Decide: if Opt(r1) and Opt(r2) contain Opt(r*), so does that of their mean."""
    true, first, second, mean = _mixed(at)
    return Outcome(not (true <= first and true <= second) or true <= mean)


def intersection(at: Case) -> Outcome:
    """Decide: Opt of the mean is the intersection of Opt(r1) and Opt(r2), unless that is empty."""
    _, first, second, mean = _mixed(at)
    return Outcome(not first & second or mean == first & second)


def star_shaped(at: Case) -> Outcome:
    """Decide: if Opt(r1) lies in Opt(r*), so does that of every mixture with r*."""
    true = _optima(at, at.reward)
    if not _optima(at, at.other[0]) <= true:
        return Outcome(True, "r1 is not in O")
    mixtures = (at.reward + Fraction(k, 4) * (at.other[0] - at.reward) for k in range(1, 4))
    return Outcome(all(_optima(at, r) <= true for r in mixtures), "r1 in O")


def violated_assumption(at: Case, *, joint: bool) -> Exact | None:
    """Return a non-constant reward that violates the assumption of Proposition 1, or None.

    Parameters
    ----------
    joint : read it about joint policies, as printed; else about commitments.
    """
    n_states, n_a, n_b = at.game.shape
    best = _optima(at, at.reward)
    good = {_split(at, policy)[0] for policy in best}
    problem = joint_problem(at.kernel)
    for pi1 in policies_of(n_states, n_a):
        if pi1 in good and not joint:
            continue
        answers = _responses(at, pi1, at.reward)
        partners = policies_of(n_states, n_b) if joint else [answers[0]]
        for pi2 in partners:
            choices = [a * n_b + b for a, b in zip(pi1, pi2, strict=True)]
            if tuple(choices) in best:
                continue
            wanted = [
                choices,
                *([a * n_b + b for a, b in zip(pi1, x, strict=True)] for x in answers),
            ]
            policies = {tuple(x) for x in wanted}
            rows = np.vstack(
                [constraint_rows(problem, stochastic(x, n_a * n_b), at.discount) for x in policies]
            )
            for vertex in simplex_vertices(rows):
                if not is_constant(vertex):
                    return vertex
    return None


def assumption_joint(at: Case) -> Outcome:
    """Decide the assumption, read about joint policies."""
    return _assumption(at, joint=True)


def assumption_commitments(at: Case) -> Outcome:
    """Decide the assumption, read about commitments."""
    return _assumption(at, joint=False)


def _assumption(at: Case, *, joint: bool) -> Outcome:
    reward = violated_assumption(at, joint=joint)
    if reward is None:
        return Outcome(True)
    return Outcome(False, f"r = ({', '.join(map(str, reward))}) leads astray and is never refuted")


def bad_episodes(at: Case, *, seed: int = 0) -> list[int]:
    """Run Algorithm 1 against random ties, and return the episodes with a bad commitment.

    A commitment is bad if the follower's value falls short of the joint optimum in some state.
    """
    rng = np.random.default_rng(seed)
    n_states, n_a, n_b = at.game.shape
    best = _values(at, *_split(at, _joint_optima(at, at.reward)[0]), at.reward)
    known = exact(np.zeros((1, n_states), dtype=int))
    plans: dict[tuple[Fraction, ...], list[Choices]] = {}
    rows_of: dict[tuple[Choices, Choices], Exact] = {}
    answers: dict[Choices, list[Choices]] = {}
    vertices = simplex_vertices(known)
    pi1 = _any(rng, policies_of(n_states, n_a))
    bad = []
    for episode in range(1, EPISODES + 1):
        if pi1 not in answers:
            answers[pi1] = _responses(at, pi1, at.reward)
        pi2 = _any(rng, answers[pi1])
        if (_values(at, pi1, pi2, at.reward) != best).any():
            bad.append(episode)
        if (pi1, pi2) not in rows_of:
            policy = stochastic(pi2, n_b)
            rows_of[pi1, pi2] = constraint_rows(case_problem(at, pi1), policy, at.discount)
            vertices = simplex_vertices(np.vstack([known, *rows_of.values()]))
        informative = [vertex for vertex in vertices if not is_constant(vertex)]
        if not informative:
            pi1 = _any(rng, policies_of(n_states, n_a))
            continue
        # Maximising a random objective again until it is no constant is to leave that vertex out.
        objective = exact(rng.integers(-1000, 1001, n_states))
        reward = max(informative, key=lambda vertex: objective @ vertex)
        if tuple(reward) not in plans:
            plans[tuple(reward)] = sorted({_split(at, x)[0] for x in _joint_optima(at, reward)})
        pi1 = _any(rng, plans[tuple(reward)])
    return bad


def _any(rng: np.random.Generator, choices: list[Choices]) -> Choices:
    return choices[int(rng.integers(len(choices)))]


def no_regret(at: Case) -> Outcome:
    """Decide: Algorithm 1 plays no bad commitment after episode 50 of 60."""
    bad = bad_episodes(at)
    late = sum(episode > LATE for episode in bad)
    return Outcome(late == 0, f"{len(bad)} of {EPISODES} episodes bad, {late} after episode {LATE}")


def idle_partner() -> Case:
    """Return two states in which the follower is idle, so that nothing is ever learnt."""
    stay, switch = [[1, 0], [0, 1]], [[0, 1], [1, 0]]
    weights = [[[stay[s]], [switch[s]]] for s in range(2)]
    return case(weights, "9/10", (1, 0))


def not_convex() -> Case:
    """Return the smallest known game whose O is not convex."""
    return _choose_or_stay(7, Fraction(9, 10))


def _choose_or_stay(z: int, discount: Fraction) -> Case:
    weights = np.zeros((3, 1, 2, 3), dtype=int)
    weights[0, 0, 0, 1] = weights[0, 0, 1, 0] = 1
    weights[1, 0, 0, 1] = weights[1, 0, 1, 2] = 1
    weights[2, 0, :, 2] = 1
    others = (exact([z, 10, 0]), exact([z, 0, 10]))
    return case(weights, discount, (0, 1, 1), other=tuple(r / (z + 10) for r in others))


def _not_convex_family() -> SearchStrategy[Case]:
    from hypothesis import strategies as st

    gammas = st.sampled_from([Fraction(9, 10), Fraction(4, 5), Fraction(99, 100)])
    return st.builds(_choose_or_stay, st.integers(1, 12), gammas)


def _two_rewards(game: TwoAgentMDP) -> SearchStrategy[tuple[Any, ...]]:
    from hypothesis import strategies as st

    from iirl_opt.testing.strategies import rewards

    pair = rewards(game, min_value=0).map(exact)
    return st.tuples(pair, pair)


def _mixtures() -> SearchStrategy[Case]:
    from hypothesis import strategies as st

    drawn = cases(other=_two_rewards, max_leader_actions=1, max_follower_actions=3)
    return st.one_of(drawn, _not_convex_family())


def _small() -> SearchStrategy[Case]:
    return cases(max_states=3, max_denominator=3)


def _two_state_learning() -> SearchStrategy[Case]:
    return generic_cases(2).filter(_meets)


def _learnable() -> SearchStrategy[Case]:
    """Return a strategy for cases of two or three states that meet the assumption."""
    from hypothesis import strategies as st

    ties = cases(min_states=2, max_states=2, discounts=POSITIVE, constant=False).filter(_meets)
    return st.one_of(ties, _two_state_learning(), _three_states().filter(_meets))


def _meets(at: Case) -> bool:
    return violated_assumption(at, joint=False) is None


def _three_states() -> SearchStrategy[Case]:
    return generic_cases(3)


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
        lambda: cases(start="first", min_states=2, max_denominator=2, constant=False),
        lemma_2_from_start,
        "false as stated",
        counterexample=_partial_start,
    ),
    Claim(
        "lemma-2-start-value",
        "Lemma 2",
        "For a joint policy that is optimal from the start the start values agree.",
        lambda: cases(max_denominator=3),
        lemma_2_start_value,
        "repaired",
    ),
    Claim(
        "o-is-convex",
        "Appendix A, 'O is convex'",
        "O = {r : Opt(r) ⊆ Opt(r*)} is convex.",
        _not_convex_family,
        convex,
        "false as stated",
        counterexample=not_convex,
        model="not-convex-mean",
    ),
    Claim(
        "o-equality-convex",
        "Appendix A, 'O is convex'",
        "{r : Opt(r) = Opt(r*)} is convex.",
        _mixtures,
        convex_with_equality,
        "repaired",
    ),
    Claim(
        "o-connected",
        "Appendix A, 'O is convex'",
        "O is star-shaped about r*, hence connected.",
        _mixtures,
        star_shaped,
        "repaired",
    ),
    Claim(
        "o-mixture",
        "Appendix A, 'O is convex'",
        "Opt of a mixture of r1 and r2 is Opt(r1) ∩ Opt(r2), unless that is empty.",
        _mixtures,
        intersection,
        "repaired",
    ),
    Claim(
        "o-superset-convex",
        "Appendix A, 'O is convex'",
        "{r : Opt(r) ⊇ Opt(r*)} is a convex cone.",
        _mixtures,
        convex_superset,
        "repaired",
    ),
    Claim(
        "o-single-convex",
        "Appendix A, 'O is convex'",
        "O is convex if Opt(r*) is a single policy.",
        _mixtures,
        convex_for_one_optimum,
        "repaired",
    ),
    Claim(
        "proposition-1-joint",
        "Proposition 1, assumption about joint policies",
        "The assumption, as printed, is mild: games meet it.",
        _three_states,
        assumption_joint,
        "false as stated",
        counterexample=same_answer,
        model="same-answer",
    ),
    Claim(
        "proposition-1-commitments",
        "Proposition 1, assumption about commitments",
        "The assumption, read about commitments, is mild: games meet it.",
        _three_states,
        assumption_commitments,
        "false as stated",
        counterexample=same_answer,
        model="same-answer",
    ),
    Claim(
        "proposition-1",
        "Proposition 1",
        "The average regret of Algorithm 1 vanishes. Condition: its assumption about commitments.",
        _two_state_learning,
        no_regret,
        "needs a condition",
        outside=_three_states,
        counterexample=idle_partner,
        model="idle-partner",
    ),
    Claim(
        "proposition-1-repaired",
        "Proposition 1",
        "Under the assumption about commitments, with deterministic ones, finitely many episodes "
        "are bad.",
        _learnable,
        no_regret,
        "repaired",
    ),
)
