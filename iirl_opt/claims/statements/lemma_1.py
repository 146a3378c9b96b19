"""Lemma 1 and the affine class: which rewards no answer tells apart.

Source: the paper, Section 4.1 and Appendix A. All is exact.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from iirl_opt.claims.arithmetic import Exact, exact, in_affine_class
from iirl_opt.claims.claim import Claim, Outcome, untried
from iirl_opt.claims.instances import Case, answered_cases, case, cases, fractions, vectors_of
from iirl_opt.claims.problems import showing
from iirl_opt.claims.responses import STAY_OR_SWAP, is_feasible
from iirl_opt.game.mdp import TwoAgentMDP

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


__all__ = ["CLAIMS"]


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


def _told_apart(at: Case) -> Any:
    """Return whether the answer admits r; it admits every 0·r + λ2, which is constant."""
    admitted = float(is_feasible(at, at.reward))
    return showing(at.game, at.reward, observations=at.seen, expect={"contains": admitted})


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


def _swapped(*scales: tuple[int, int]) -> Case:
    return case(STAY_OR_SWAP, "1/2", (1, 0), (1, 0), other=scales)


def _scales(least: int) -> Any:
    def scales(_: TwoAgentMDP) -> SearchStrategy[tuple[Any, ...]]:
        from hypothesis import strategies as st

        pair = st.tuples(fractions(least, 5).map(lambda x: x + Fraction(1, 8) * least), fractions())
        return st.lists(pair, min_size=1, max_size=3).map(tuple)

    return scales


def _zero_scale(_: TwoAgentMDP) -> SearchStrategy[tuple[Any, ...]]:
    from hypothesis import strategies as st

    return st.just(((0, 0), (1, 1)))


def _half_answered(**bounds: Any) -> SearchStrategy[Case]:
    """Return a strategy for one episode, whose response is optimal in half of all cases."""
    from hypothesis import strategies as st

    bounds = {"episodes": 1, "min_states": 2, "min_follower_actions": 2, **bounds}
    return st.one_of(cases(**bounds), answered_cases(**bounds))


def _pairs_of_rewards(*, related: bool) -> SearchStrategy[tuple[Exact, Exact]]:
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
    return st.one_of(level, _pairs_of_rewards(related=True), _pairs_of_rewards(related=False))


def _triples() -> SearchStrategy[tuple[Exact, Exact, Exact]]:
    """Return a strategy for chains of rewards, each an image of the one before, λ1 ≥ 0."""
    from hypothesis import strategies as st

    shift = st.tuples(st.integers(0, 2), st.integers(-2, 2))
    return st.tuples(_pairs_of_rewards(related=True), shift).map(
        lambda drawn: (*drawn[0], drawn[1][0] * drawn[0][1] + drawn[1][1])
    )


CLAIMS = (
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
        problem=_told_apart,
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
        lambda: _pairs_of_rewards(related=True),
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
)
