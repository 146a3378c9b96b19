"""Corollary 2: verifying a hypothesis by what the ideal environment's answer leaves.

Source: the paper, Section 4.1 and Appendix A. The strict test of
`iirl_opt.claims.statements.strict_verification` stands in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from iirl_opt.claims.arithmetic import (
    affine_class_holds,
    exact,
    in_affine_class,
    is_constant,
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
from iirl_opt.claims.instances import POSITIVE
from iirl_opt.claims.problems import showing
from iirl_opt.game.mdp import TwoAgentMDP

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


__all__ = ["CLAIMS"]


def tie_frequency(drawn: tuple[IdealTest, ...], *, off: int = 0) -> Outcome:
    """Decide: all deterministic optimal answers but two leave a set other than Aff(r).

    So the printed procedure, which accepts if the set is Aff(r), does so with frequency 2^−(N−2)
    under uniformly random ties, or 2^−(N−1) if the truth is constant and all states are tied.
    """
    found, as_stated = [], True
    for at in drawn:
        problem = ideal_kernel(at.hypothesis)
        answers = list(product(*optimal_actions(problem, at.truth, at.discount)))
        failed = [a for a in answers if not explained(at, problem, stochastic(a, 2))]
        n = len(at.truth) + is_constant(at.truth) + off
        as_stated &= Fraction(len(failed), len(answers)) == 1 - Fraction(2, 2 ** (n - 1))
        found.append(f"{len(failed)}/{len(answers)} at N = {len(at.truth)}")
    return Outcome(as_stated, f"the set is not Aff(r) for {', '.join(found)} of the answers")


def verified(at: IdealTest) -> Outcome:
    """Decide the printed iff: the feasible set is Aff(r) iff r ∈ Aff(r*)."""
    same, answer = explained_by_answer(at)
    true = in_affine_class(at.hypothesis, at.truth, strict=False)
    return Outcome(
        same == true,
        f"r ∈ Aff(r*): {true}; answer {actions_in_words(answer)}: {set_in_words(same)}",
    )


def _left_by_answer(at: IdealTest) -> Any:
    """Return what the answer says of the hypothesis, and of how many dimensions rewards are left.

    Aff(r) has two, one of a constant.
    """
    kernel = ideal_kernel(at.hypothesis, at.n_actions)
    same, answer = explained_by_answer(at)
    game = TwoAgentMDP(kernel[:, None], at.discount)
    size = 1 if is_constant(at.hypothesis) else 2
    return showing(
        game,
        at.truth,
        observations=[(exact(np.ones((len(kernel), 1), int)), stochastic(answer, at.n_actions))],
        question={"family": "affine_equivalence", "hypothesis": at.hypothesis},
        expect={
            "explains": 1,
            "equivalent": float(in_affine_class(at.hypothesis, at.truth, strict=True)),
            "dimension": size if same else ("at_least", size + 1),
        },
    )


def false_is_not_confirmed(at: IdealTest) -> Outcome:
    """Decide the half of it: if r ∉ Aff(r*), the feasible set is not Aff(r)."""
    if in_affine_class(at.hypothesis, at.truth, strict=False):
        return untried("r ∈ Aff(r*)")
    same, answer = explained_by_answer(at)
    return Outcome(
        not same, f"r ∉ Aff(r*); answer {actions_in_words(answer)}: {set_in_words(same)}"
    )


def verified_by_mask(at: IdealTest, *, spare: bool = False) -> Outcome:
    """Decide the iff with λ1 > 0 when all optimal actions are reported; or with a row less."""
    problem = ideal_kernel(at.hypothesis, at.n_actions)
    if spare:
        problem[-2, 1:] = problem[-2, :1]  # the row of −Σφ
    optimal = optimal_actions(problem, at.truth, at.discount)
    first = stochastic([actions[0] for actions in optimal], at.n_actions)
    rows = feasible_rows(at, problem, first).reshape(at.n_actions, len(at.truth), -1)
    equal = [rows[b, s] for s, actions in enumerate(optimal) for b in actions]
    same = affine_class_holds(np.vstack([*rows, -np.array(equal)]), at.hypothesis)
    return _verdict(at, same, "all optimal actions")


def verified_by_mixing(at: IdealTest) -> Outcome:
    """Decide the iff with λ1 > 0 when ties are mixed with full support."""
    problem = ideal_kernel(at.hypothesis, at.n_actions)
    optimal = optimal_actions(problem, at.truth, at.discount)
    policy = np.full(problem.shape[:2], Fraction(0))
    for s, actions in enumerate(optimal):
        policy[s, actions] = (1 - at.share) / max(len(actions) - 1, 1)
        policy[s, actions[0]] = at.share if len(actions) > 1 else Fraction(1)
    return _verdict(at, explained(at, problem, policy), f"ties mixed {at.share}")


def _verdict(at: IdealTest, same: bool, how: str) -> Outcome:
    true = in_affine_class(at.hypothesis, at.truth, strict=True)
    return Outcome(same == true, f"{how}: r ∈ Aff+(r*): {true}; {set_in_words(same)}")


def rejected_is_false(at: IdealTest, *, whatever: bool = False) -> Outcome:
    """Decide the right rejection rule: a hypothesis of the class explains the answer."""
    if not (whatever or in_affine_class(at.hypothesis, at.truth, strict=True)):
        return untried("r ∉ Aff+(r*)")
    problem = ideal_kernel(at.hypothesis, at.n_actions)
    policy = stochastic(answer_of(at, problem), at.n_actions)
    explains = bool((feasible_rows(at, problem, policy) @ at.hypothesis >= 0).all())
    return Outcome(explains, f"r ∈ Aff+(r*), r explains: {explains}")


def trials_of_sizes(
    sizes: Iterable[int], **kinds: Any
) -> Callable[[], SearchStrategy[tuple[IdealTest, ...]]]:
    """Return the function that makes a strategy for tuples of tests, one of each size."""

    def strategy() -> SearchStrategy[tuple[IdealTest, ...]]:
        from hypothesis import strategies as st

        return st.tuples(*(trials(least=n, most=n, **kinds)() for n in sizes))

    return strategy


CLAIMS = (
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
        problem=_left_by_answer,
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
        problem=_left_by_answer,
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
