"""The set O of rewards under which no bad policy is optimal, and its relatives.

Source: the paper, Appendix A, which says that ``O = {r : Opt(r) ⊆ Opt(r*)}`` is convex. It is not;
what the proof of Proposition 1 needs of it, that it is connected, is true. All is exact. The
rewards of an instance are drawn within the cone of a policy that is optimal for each of them, in
its interior or on its boundary, so that the premises hold by construction.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from iirl_opt.claims.arithmetic import (
    Choices,
    Exact,
    constraint_rows,
    exact,
    joint_problem,
    stochastic,
)
from iirl_opt.claims.claim import Claim, Outcome, untried
from iirl_opt.claims.instances import Case, case, generic_cases
from iirl_opt.claims.responses import joint_optima
from iirl_opt.game.mdp import TwoAgentMDP

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy


__all__ = ["CLAIMS", "mixed", "not_convex", "not_convex_cases"]

Place: TypeAlias = Literal["inside", "boundary"]


def _optima(at: Case, reward: Exact) -> set[Choices]:
    return set(joint_optima(at, reward))


def mixed(at: Case) -> tuple[set[Choices], set[Choices], set[Choices], set[Choices]]:
    """Return the optimal joint policies for r*, r1, r2 and the mean of r1 and r2."""
    r1, r2 = at.other
    mean = (r1 + r2) / 2
    return _optima(at, at.reward), _optima(at, r1), _optima(at, r2), _optima(at, mean)


def convex(at: Case) -> Outcome:
    """Decide: if Opt(r1) and Opt(r2) lie in Opt(r*), so does that of their mean."""
    true, first, second, mean = mixed(at)
    if not (first <= true and second <= true):
        return untried("r1 or r2 is not in O")
    return Outcome(mean <= true, f"r1, r2 in O; {len(mean - true)} optima of the mean are not")


def convex_for_one_optimum(at: Case) -> Outcome:
    """Decide the same where Opt(r*) is a single policy."""
    if len(_optima(at, at.reward)) > 1:
        return untried("several optimal policies")
    return convex(at)


def convex_with_equality(at: Case) -> Outcome:
    """Decide: if Opt(r1) = Opt(r2) = Opt(r*), so is that of their mean."""
    true, first, second, mean = mixed(at)
    if not first == second == true:
        return untried("Opt(r1), Opt(r2) and Opt(r*) differ")
    return Outcome(mean == true, f"{len(true)} optimal policies")


def convex_superset(at: Case) -> Outcome:
    """Decide: if Opt(r1) and Opt(r2) contain Opt(r*), so does that of their mean."""
    true, first, second, mean = mixed(at)
    if not (true <= first and true <= second):
        return untried("Opt(r1) or Opt(r2) lacks a policy of Opt(r*)")
    return Outcome(true <= mean, f"{len(first)} and {len(second)} optimal policies")


def intersection(at: Case) -> Outcome:
    """Decide: Opt of the mean is the intersection of Opt(r1) and Opt(r2), unless that is empty."""
    _, first, second, mean = mixed(at)
    if not first & second:
        return untried("no policy is optimal for both")
    return Outcome(mean == first & second, f"{len(first)}, {len(second)} and {len(mean)} policies")


def star_shaped(at: Case) -> Outcome:
    """Decide: if Opt(r1) lies in Opt(r*), so does that of every mixture with r*."""
    true = _optima(at, at.reward)
    if not _optima(at, at.other[0]) <= true:
        return untried("r1 is not in O")
    mixtures = (at.reward + Fraction(k, 4) * (at.other[0] - at.reward) for k in range(1, 4))
    return Outcome(all(_optima(at, r) <= true for r in mixtures), f"Opt(r*) has {len(true)}")


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


def _stay_or_choose(z: int, discount: Fraction) -> Case:
    """Return the same with three actions in the first state, which needs no large discount."""
    weights = np.zeros((3, 1, 3, 3), dtype=int)
    weights[0, 0, range(3), range(3)] = 1
    weights[1, 0, :, 1] = weights[2, 0, :, 2] = 1
    others = (exact([z, 10, 0]), exact([z, 0, 10]))
    return case(weights, discount, (0, 1, 1), other=tuple(r / (z + 10) for r in others))


def not_convex_cases() -> SearchStrategy[Case]:
    """Return a strategy for such games with two members of O, of whose mean it is not certain."""
    from hypothesis import strategies as st

    large = st.sampled_from([Fraction(9, 10), Fraction(99, 100)])
    any_ = st.sampled_from([Fraction(1, 3), Fraction(1, 2), Fraction(9, 10)])
    return st.one_of(
        st.builds(_choose_or_stay, st.integers(1, 8), large),
        st.builds(_stay_or_choose, st.integers(1, 9), any_),
    )


def _cones(
    true: Place, others: Place, *, doubled: bool | None = False
) -> Callable[[], SearchStrategy[Case]]:
    """Return the function that makes r*, r1 and r2 for each of which one policy is optimal.

    Parameters
    ----------
    true, others : ``"inside"``, where only it is optimal, or on the ``"boundary"`` of its cone.
    doubled : give the follower a copy of its first action, so that each optimum has copies; None
        for both.
    """

    def strategy() -> SearchStrategy[Case]:
        from hypothesis import strategies as st

        from iirl_opt.testing.extreme import boundary_rewards

        def place(rows: Exact, begun: Exact, where: Place) -> SearchStrategy[Exact]:
            if where == "boundary":
                return boundary_rewards(rows, begun)
            shares = (Fraction(-1, 100), Fraction(-1, 2))  # back along the last step
            return boundary_rewards(rows, begun, faces=1, beyond=shares)

        def placed(drawn: tuple[Case, bool]) -> SearchStrategy[Case]:
            at, copied = drawn
            if copied:
                kernel = at.kernel
                weights = np.concatenate([kernel, kernel[:, :, :1]], axis=2)
                at = Case(TwoAgentMDP(weights, at.discount), at.reward)
            problem = joint_problem(at.kernel)
            policy = stochastic(joint_optima(at, at.reward)[0], problem.shape[1])
            rows = constraint_rows(problem, policy, at.discount)
            first, second, third = (place(rows, at.reward, x) for x in (true, others, others))
            return st.builds(lambda r, x, y: Case(at.game, r, (), (x, y)), first, second, third)

        copies = st.booleans() if doubled is None else st.just(doubled)
        games = st.one_of(generic_cases(3, n_a=1), generic_cases(3, 3, n_a=1), generic_cases(2))
        return st.tuples(games, copies).flatmap(placed)

    return strategy


def _two_states() -> SearchStrategy[Case]:
    """Return a strategy for two states and members of O, or any rewards where all are members."""
    from hypothesis import strategies as st

    from iirl_opt.claims.instances import cases, fractions

    def members(drawn: tuple[Case, list[Fraction]]) -> Case:
        at, (c1, c2, *scales) = drawn
        idle = len(joint_optima(at, at.reward)) == len(joint_optima(at, 0 * at.reward))
        l1, l2 = scales if idle else (abs(x) + Fraction(1, 8) for x in scales)
        return Case(at.game, at.reward, (), (l1 * at.reward + c1, l2 * at.reward + c2))

    numbers = st.lists(fractions(), min_size=4, max_size=4)
    return st.tuples(cases(min_states=2, max_states=2), numbers).map(members)


CLAIMS = (
    Claim(
        "o-is-convex",
        "Appendix A, 'O is convex'",
        "O = {r : Opt(r) ⊆ Opt(r*)} is convex.",
        not_convex_cases,
        convex,
        "false as stated",
        counterexample=not_convex,
        model="not-convex-mean",
    ),
    Claim(
        "o-equality-convex",
        "Appendix A, 'O is convex'",
        "{r : Opt(r) = Opt(r*)} is convex.",
        _cones("inside", "inside", doubled=None),
        convex_with_equality,
        "repaired",
    ),
    Claim(
        "o-connected",
        "Appendix A, 'O is convex'",
        "O is star-shaped about r*, hence connected.",
        _cones("boundary", "inside"),
        star_shaped,
        "repaired",
    ),
    Claim(
        "o-mixture",
        "Appendix A, 'O is convex'",
        "Opt of a mixture of r1 and r2 is Opt(r1) ∩ Opt(r2), unless that is empty.",
        _cones("inside", "boundary", doubled=None),
        intersection,
        "repaired",
    ),
    Claim(
        "o-superset-convex",
        "Appendix A, 'O is convex'",
        "{r : Opt(r) ⊇ Opt(r*)} is a convex cone.",
        _cones("inside", "boundary", doubled=None),
        convex_superset,
        "repaired",
    ),
    Claim(
        "o-single-convex",
        "Appendix A, 'O is convex'",
        "O is convex if Opt(r*) is a single policy.",
        _cones("inside", "inside"),
        convex_for_one_optimum,
        "repaired",
    ),
    Claim(
        "o-two-states",
        "Appendix A, 'O is convex'",
        "O is convex for N = 2.",
        _two_states,
        convex,
        "repaired",
    ),
)
