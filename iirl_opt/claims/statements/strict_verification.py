"""The strict test: a verification that is right whatever the tie-break.

It stands in place of Corollary 2's procedure. Let w be the direction of the centred hypothesis r,
and k = N − 2 the dimension of the complement of 1 and w. To rows that cut out that class, ε·w is
added, so that nothing is tied under r: a follower with a reward of the class answers b1 everywhere,
and whoever does so has a reward within a stated angle of r. Which angle depends on the rows:

* unit vectors u_1, …, u_{k+1} of a regular simplex: tan θ ≤ kε, the least of the three;
* the paper's, an orthonormal basis φ_1, …, φ_k and −Σφ: tan θ ≤ ε√(k² + k − 1);
* both signs of the basis, which take a third action or a second episode: tan θ ≤ ε√k.

All bounds are attained, on the extreme rays of what is accepted, and there the instances are drawn.
To be exact without roots, a test begins in coordinates where all rows are rational up to their
lengths (N = 4 and 8 have Hadamard bases, the simplex lives in any N) and is then reflected at
rational hyperplanes that contain 1. Only ε² is rational, and squares are compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from iirl_opt.claims.arithmetic import (
    Choices,
    Exact,
    action_values,
    exact,
    largest_scale,
    optimal_policies,
    policies_of,
    solve,
)
from iirl_opt.claims.claim import Claim, Outcome, untried
from iirl_opt.claims.instances import POSITIVE, Case, case, moved_cases

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


__all__ = ["CLAIMS", "StrictTest", "sharpest", "strict_test"]

Rows: TypeAlias = Literal["simplex", "basis", "signs"]


@dataclass(frozen=True, eq=False)
class StrictTest:
    """A strict environment and the true reward whose follower answers in it.

    Attributes
    ----------
    rows : what b2 shows in each state, and b3 where both signs are shown, (N, n − 1, N).
    w : the centred hypothesis (N,), of any length.
    flat : vectors orthogonal to 1 and w: the corners of the simplex, or the basis.
    truth : the follower's reward (N,).
    discount : γ.
    squared : ε².
    kind : which rows they are.
    """

    rows: Exact
    w: Exact
    flat: Exact
    truth: Exact
    discount: Fraction
    squared: Fraction
    kind: Rows

    @property
    def kernel(self) -> Exact:
        """The environment (N, n, N): b1 goes anywhere alike, the rest what the rows leave of it."""
        n = len(self.w)
        return np.stack(
            [
                [
                    exact([Fraction(1, n)] * n),
                    *(Fraction(1, n) - largest_scale(x) * x for x in rows),
                ]
                for rows in self.rows
            ]
        )

    @cached_property
    def ahead(self) -> Exact:
        """How far b1 is ahead of each other action under the truth, (N, n − 1)."""
        q = action_values(self.kernel, self.truth, self.discount)
        ahead: Exact = q[:, :1] - q[:, 1:]
        return ahead

    @property
    def bound(self) -> Fraction:
        """The square of the stated bound on the tangent."""
        k = len(self.w) - 2
        factors: dict[Rows, int] = {"simplex": k * k, "basis": k * k + k - 1, "signs": k}
        return max(factors[self.kind], 0) * self.squared

    @property
    def tangent(self) -> Fraction | None:
        """The square of the tangent between the truth and w; None for an angle ≥ 90°."""
        centred = self.truth - self.truth.sum() / len(self.truth)
        along = centred @ self.w
        if along <= 0:
            return None
        return Fraction((centred @ centred) * (self.w @ self.w) / along**2 - 1)


def value_of_close_reward(at: Case, *, factor: Fraction = Fraction(2)) -> Outcome:
    """Decide: what is optimal for w loses at most 2γ|u|∞/(1−γ) under w + u."""
    w, u = at.reward, at.other[0]
    n_states = len(w)
    problem, states = at.problem(), np.arange(n_states)
    unit = exact(np.eye(n_states, dtype=int))

    def values(choices: Choices) -> Exact:
        return solve(unit - at.discount * problem[states, list(choices)], w + u)

    best = np.max([values(choices) for choices in policies_of(*problem.shape[:2])], axis=0)
    loss = max((best - values(c)).max() for c in optimal_policies(problem, w, at.discount))
    bound = factor * at.discount * max(abs(x) for x in u) / (1 - at.discount)
    return Outcome(bool(loss <= bound), f"loss {float(loss):.3g}, bound {float(bound):.3g}")


def strict_completeness(at: StrictTest, *, factor: Fraction = Fraction(1)) -> Outcome:
    """Decide: under a truth of the class b1 is strictly best everywhere, by the stated gap."""
    n = len(at.w)
    centred = at.truth - at.truth.sum() / n
    squared = at.discount**2 * at.squared * (centred @ centred) / (n * (n - 1) * (1 + at.squared))
    gap, least = at.ahead.min(), factor**2 * squared
    shown = f"gap {float(gap):.4g} ≥ {math.sqrt(least):.4g}"
    return Outcome(bool(gap > 0 and gap**2 >= least), shown)


def strict_soundness(at: StrictTest, *, factor: Fraction = Fraction(1)) -> Outcome:
    """Decide: if b1 may be answered everywhere, the tangent is within the bound."""
    if at.ahead.min() < 0:
        return untried("b1 is not an optimal answer everywhere")
    tangent, bound = at.tangent, factor**2 * at.bound
    if tangent is None:
        return Outcome(False, "the angle is 90° or more")
    return Outcome(tangent <= bound, f"tan / bound = {_root_of_ratio(tangent, bound):.6f}")


def strict_is_tight(at: StrictTest) -> Outcome:
    """Decide: the reward of an extreme ray is accepted by a tied follower, at the bound itself."""
    tangent = at.tangent
    accepted = bool(at.ahead.min() == 0)
    share = _root_of_ratio(tangent or Fraction(0), at.bound)
    return Outcome(
        accepted and tangent == at.bound,
        f"accepted: {accepted}; tan / bound = {share:.6f}",
    )


def _root_of_ratio(tangent: Fraction, bound: Fraction) -> float:
    return math.sqrt(tangent / bound) if bound else float(bool(tangent))


def _frame(n: int, kind: Rows) -> tuple[Exact, Exact]:
    """Return w (N,) and what is orthogonal to it and 1: corners of a simplex, or a basis."""
    if kind == "simplex" or n == 2:
        flat = exact(np.eye(n, dtype=int)[: n - 1])
        flat[:, : n - 1] -= Fraction(1, n - 1)
        return exact(np.eye(n, dtype=int)[-1]) - Fraction(1, n), flat
    if n == 3:
        return exact([1, -1, 0]), exact([[1, 1, -2]])
    hadamard = np.ones((1, 1), dtype=int)
    while len(hadamard) < n:
        hadamard = np.kron([[1, 1], [1, -1]], hadamard)
    return exact(hadamard[1]), exact(hadamard[2:])


def strict_test(
    n: int,
    kind: Rows,
    tilt: Fraction,
    discount: Fraction,
    mirrors: tuple[Exact, ...] = (),
) -> StrictTest:
    """Return the strict test of a hypothesis, with the hypothesis itself as the truth.

    Parameters
    ----------
    n : of states, ≥ 2; 3, 4 or 8 for other kinds than the simplex.
    tilt : by how much of w, with the lengths of `_frame`, each row is tilted: ε but for lengths.
    mirrors : vectors (N,) that sum to zero; all is reflected at what is orthogonal to each.
    """
    w, flat = _frame(n, kind)
    for mirror in mirrors:
        w, flat = _reflected(w, mirror), np.array([_reflected(x, mirror) for x in flat])
    length = flat[0] @ flat[0] if n > 2 else w @ w
    squared = tilt**2 * (w @ w) / length
    ends = flat if kind == "simplex" else np.array([*flat, -flat.sum(axis=0)])
    if kind == "signs":
        rows = np.stack([flat + tilt * w, -flat + tilt * w], axis=1)
        spare = np.array([[w, w]] * 2)
    else:
        rows, spare = (ends + tilt * w)[:, None], w[None, None]
    if n == 2:
        rows = (tilt * w)[None, None]
    return StrictTest(np.concatenate([rows, spare]), w, flat, w, discount, squared, kind)


def _reflected(x: Exact, mirror: Exact) -> Exact:
    if not (mirror != 0).any():
        return x
    image: Exact = x - 2 * (x @ mirror) / (mirror @ mirror) * mirror
    return image


def _on_ray(at: StrictTest, direction: Exact, share: Fraction) -> Exact:
    """Return the reward on the way from w in a direction to where b1 stops being best."""
    if not (direction != 0).any():
        return at.w
    rows = at.rows.reshape(-1, len(at.w))
    against, room = rows @ direction, rows @ at.w
    lengths = [room[i] / -against[i] for i in np.flatnonzero(against < 0)]
    reached: Exact = at.w + share * min(lengths, default=Fraction(1)) * direction
    return reached


def _extreme(at: StrictTest, corner: int, signs: list[bool]) -> Exact:
    """Return the direction from w to an extreme ray of what is accepted."""
    k = len(at.w) - 2
    if k <= 0:
        return 0 * at.w
    if at.kind == "simplex":
        return exact(at.flat[corner % (k + 1)])
    if at.kind == "signs":
        return sum((x if s else -x for x, s in zip(at.flat, signs, strict=False)), 0 * at.w)
    towards: Exact = (k + 1) * at.flat[corner % k] - at.flat.sum(axis=0)
    return towards


def sharpest(n: int, places: int, discount: Fraction) -> StrictTest:
    """Return a strict test in which b1 is ahead by no more than the stated gap.

    A row shrinks most where it points to a single state. With ``e = tilt (N − 1)`` the first row
    has the square ``(N(N − 2) + e²)/(N(N − 1))``, whose ratio to that of e_1 − 1/N is a rational
    square if N(N − 2) + e² is: then a rational mirror takes the one to the other.
    """
    m = Fraction(math.isqrt(n * (n - 2) * places**2), places)
    tilt = (n * (n - 2) / m - m) / 2 / (n - 1)
    first = strict_test(n, "simplex", tilt, discount).rows[0, 0]
    single = exact(np.eye(n, dtype=int)[0]) - Fraction(1, n)
    ratio = (first @ first) / (single @ single)
    root = Fraction(math.isqrt(ratio.numerator), math.isqrt(ratio.denominator))
    return strict_test(n, "simplex", tilt, discount, (first / root - single,))


def _tests(kinds: tuple[Rows, ...], *, truth: str) -> Callable[[], SearchStrategy[StrictTest]]:
    """Return the function that makes strict tests.

    `truth` is of the ``"class"``, or a reward that is just accepted: ``"extreme"`` on an extreme
    ray, or ``"accepted"``, there in half of all cases.
    """

    def strategy() -> SearchStrategy[StrictTest]:
        from dataclasses import replace

        from hypothesis import strategies as st

        from iirl_opt.claims.instances import vectors_of

        @st.composite
        def drawn(draw: st.DrawFn) -> StrictTest:
            kind = draw(st.sampled_from(kinds))
            sizes = range(3 if truth == "extreme" else 2, 7) if kind == "simplex" else (3, 4, 8)
            n = draw(st.sampled_from(sizes))
            gamma = Fraction(draw(st.sampled_from(POSITIVE)))
            if truth == "class" and n > 2 and draw(st.booleans()):
                at = sharpest(n, draw(st.sampled_from([3, 10, 100])), gamma)
            else:
                tilt = Fraction(draw(st.integers(1, 20)), draw(st.sampled_from([20, 10**4])))
                mirror = draw(vectors_of(n))
                at = strict_test(n, kind, tilt, gamma, (mirror - mirror.sum() / n,))
            reward, share = at.w, Fraction(1)
            if truth != "class":
                signs = draw(st.lists(st.booleans(), min_size=n, max_size=n))
                direction = _extreme(at, draw(st.integers(0, n - 1)), signs)
                if truth == "accepted" and draw(st.booleans()):
                    direction = exact(np.array(draw(vectors_of(len(at.flat))))) @ at.flat
                    share = Fraction(draw(st.integers(1, 10)), 10)
                reward = _on_ray(at, direction, share)
            scale = Fraction(draw(st.integers(1, 20)), 4)
            return replace(at, truth=scale * reward + draw(st.integers(-3, 3)))

        return drawn()

    return strategy


def torn(gamma: Fraction, size: int, level: int, extra: int) -> Case:
    """Return three states in which what is tied under w is as far apart as can be under w + u."""
    weights = np.zeros((3, 1, 2, 3), dtype=int)
    weights[0, 0, 0, 1] = weights[0, 0, 1, 2] = 1
    weights[1, :, :, 1] = weights[2, :, :, 2] = 1
    at = case(weights, gamma, (extra, level, level), (0, 0, 0))
    return Case(at.game, at.reward, at.episodes, (exact([extra, size, -size]),))


def _close_rewards() -> SearchStrategy[Case]:
    from hypothesis import strategies as st

    size = st.integers(3, 9)
    gammas = st.sampled_from([Fraction(x) for x in POSITIVE])
    apart = st.builds(torn, gammas, size, st.integers(-3, 3), st.integers(-3, 3))
    return st.one_of(apart, moved_cases(1))


KINDS: tuple[Rows, ...] = get_args(Rows)
CLAIMS = (
    Claim(
        "strict-complete",
        "Corollary 2, strict test",
        "Under r* ∈ Aff+(r) b1 is strictly best everywhere, by γε|r*_c| / √(N(N−1)(1+ε²)) at "
        "least, which is more than γε|r*_c| / (N(1+ε)).",
        _tests(("simplex",), truth="class"),
        strict_completeness,
        "repaired",
    ),
    Claim(
        "strict-sound",
        "Corollary 2, strict test",
        "If b1 is answered everywhere and r* is not constant, tan of the angle between r* and r "
        "is at most (N − 2)ε.",
        _tests(("simplex",), truth="accepted"),
        strict_soundness,
        "repaired",
    ),
    Claim(
        "strict-sound-basis",
        "Corollary 2, strict test",
        "With the paper's rows, tilted, that bound is ε√(k² + k − 1), k = N − 2.",
        _tests(("basis",), truth="accepted"),
        strict_soundness,
        "repaired",
    ),
    Claim(
        "strict-sound-signs",
        "Corollary 2, strict test",
        "With both signs of each row (a third action, or a second episode) it is ε√(N − 2).",
        _tests(("signs",), truth="accepted"),
        strict_soundness,
        "repaired",
    ),
    Claim(
        "strict-tight",
        "Corollary 2, strict test",
        "These three bounds are attained for N ≥ 3, on every extreme ray of what is accepted.",
        _tests(KINDS, truth="extreme"),
        strict_is_tight,
        "repaired",
    ),
    Claim(
        "close-reward",
        "Corollary 2, strict test",
        "What is optimal for w loses at most 2αγ|u|∞/(1−γ) under α(w + u) + c.",
        _close_rewards,
        value_of_close_reward,
        "repaired",
    ),
)
