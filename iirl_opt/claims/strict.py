"""The strict test: a verification that is right whatever the tie-break.

It stands in place of Corollary 2's procedure. To the rows of a regular simplex in the complement of
1 and w, the direction of the centred r, it adds ε·w, so that nothing is tied under r: a follower
with a reward of the class answers b1 everywhere, and whoever does so has a reward within a stated
angle of it. A regular simplex is irrational, so this is computed in floating point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from iirl_opt.claims.claim import Claim, Outcome
from iirl_opt.claims.exact import Choices, Exact, exact, optimal_policies, policies_of, solve
from iirl_opt.claims.instances import Case, moved_cases

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["CLAIMS", "strict_rows"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StrictTest:
    """The strict environment of a hypothesis, and the true reward, in floating point."""

    hypothesis: Array
    truth: Array
    discount: float
    epsilon: float


def value_of_close_reward(at: Case) -> Outcome:
    """Decide: what is optimal for w loses at most 2|u|∞/(1−γ) under w + u."""
    w, u = at.reward, at.other[0]
    n_states, n_actions, _ = at.problem().shape
    problem, states = at.problem(), np.arange(n_states)
    unit = exact(np.eye(n_states, dtype=int))

    def values(choices: Choices) -> Exact:
        return solve(unit - at.discount * problem[states, list(choices)], w + u)

    best = np.max([values(choices) for choices in policies_of(n_states, n_actions)], axis=0)
    loss = max((best - values(c)).max() for c in optimal_policies(problem, w, at.discount))
    bound = 2 * max(abs(x) for x in u) / (1 - at.discount)
    return Outcome(bool(loss <= bound), f"loss {float(loss):.3g}, bound {float(bound):.3g}")


def strict_rows(hypothesis: Array, epsilon: float) -> tuple[Array, Array]:
    """Return the unscaled rows ψ of the strict environment (N, N), and w (N,)."""
    n = hypothesis.size
    w = hypothesis - hypothesis.mean()
    w = w / np.linalg.norm(w)
    if n == 2:
        return np.array([epsilon * w, w]), w
    basis = np.linalg.svd(np.vstack([np.ones(n) / np.sqrt(n), w]))[2][2:]  # (N − 2, N)
    corners = np.eye(n - 1) - 1 / (n - 1)
    flat = np.linalg.svd(corners)[2][: n - 2]
    simplex = corners @ flat.T
    simplex = simplex / np.linalg.norm(simplex, axis=1, keepdims=True) @ basis
    return np.vstack([simplex + epsilon * w, w]), w


def _gaps(at: StrictTest) -> tuple[Array, Array]:
    """Return by how much b1 is better than b2 everywhere, (N,), and w."""
    psi, w = strict_rows(at.hypothesis, at.epsilon)
    n = w.size
    scale = np.minimum(1 / n / psi.max(axis=1), (1 - 1 / n) / -psi.min(axis=1))
    return at.discount * scale * (psi @ at.truth), w


def strict_completeness(at: StrictTest) -> Outcome:
    """Decide: under a truth of the class b1 is strictly best everywhere, by the stated gap."""
    gaps, _ = _gaps(at)
    n = gaps.size
    size = float(np.linalg.norm(at.truth - at.truth.mean()))
    least = at.discount * at.epsilon * size / (n * (1 + at.epsilon))
    return Outcome(bool(gaps.min() >= least * (1 - 1e-9)), f"gap {gaps.min():.3g} ≥ {least:.3g}")


def strict_soundness(at: StrictTest) -> Outcome:
    """Decide: if b1 may be answered everywhere, tan of the angle is at most (N − 2)ε."""
    gaps, w = _gaps(at)
    if gaps.min() < -1e-13 * np.abs(at.truth).max():
        return Outcome(True, "rejected")
    tangent = _tangent(at.truth, w)
    bound = (w.size - 2) * at.epsilon
    return Outcome(
        tangent <= bound * (1 + 1e-6) + 1e-9, f"accepted, tan = {tangent:.6g}, bound {bound:.6g}"
    )


def strict_is_tight(at: StrictTest) -> Outcome:
    """Decide: a reward at the bound itself is accepted by a tied follower."""
    psi, w = strict_rows(at.hypothesis, at.epsilon)
    edge = w + (w.size - 2) * (psi[0] - at.epsilon * w) * at.epsilon
    gaps, _ = _gaps(replace(at, truth=edge))
    bound = (w.size - 2) * at.epsilon
    tangent = _tangent(edge, w)
    accepted = gaps.min() >= -1e-12
    return Outcome(
        accepted and abs(tangent - bound) <= 1e-9, f"tan / bound = {tangent / bound:.9f}"
    )


def _tangent(truth: Array, w: Array) -> float:
    centred = truth - truth.mean()
    along = float(centred @ w)
    across = float(np.linalg.norm(centred - along * w))
    return across / along if along > 0 else float("inf")


def _strict(*, near: bool) -> Callable[[], SearchStrategy[StrictTest]]:
    """Return the function that makes strict tests: truths near the cone, or of the class."""

    def drawn(seed: int) -> StrictTest:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 9))
        hypothesis = rng.normal(size=n)
        epsilon = float(10 ** rng.uniform(-4, 0))
        w = hypothesis - hypothesis.mean()
        u = rng.normal(size=n)
        u -= u.mean() + (u @ w) / (w @ w) * w
        size = rng.uniform(0, 1.5) * max(n - 2, 1) * epsilon * np.linalg.norm(w)
        truth = w + (size / max(float(np.linalg.norm(u)), 1e-12) * u if near and n > 2 else 0)
        scale = rng.uniform(0.1, 10) * (rng.choice([-1, 1]) if near else 1)
        return StrictTest(
            hypothesis, scale * truth + rng.normal(), float(rng.uniform(0.05, 0.99)), epsilon
        )

    def strategy() -> SearchStrategy[StrictTest]:
        from hypothesis import strategies as st

        return st.integers(0, 10**6).map(drawn)

    return strategy


def _large_strict() -> SearchStrategy[StrictTest]:
    return _strict(near=False)().filter(lambda at: at.hypothesis.size > 2)


CLAIMS = (
    Claim(
        "strict-complete",
        "Corollary 2, strict test",
        "Under r* ∈ Aff+(r) b1 is strictly best everywhere, by γε|r*_c| / (N(1+ε)) at least.",
        _strict(near=False),
        strict_completeness,
        "repaired",
    ),
    Claim(
        "strict-sound",
        "Corollary 2, strict test",
        "If b1 is answered everywhere and r* is not constant, tan of the angle between r* and r "
        "is at most (N − 2)ε.",
        _strict(near=True),
        strict_soundness,
        "repaired",
    ),
    Claim(
        "strict-tight",
        "Corollary 2, strict test",
        "That bound is attained for N ≥ 3.",
        _large_strict,
        strict_is_tight,
        "repaired",
    ),
    Claim(
        "close-reward",
        "Corollary 2, strict test",
        "What is optimal for w loses at most 2α|u|∞/(1−γ) under α(w + u) + c.",
        lambda: moved_cases(1),
        value_of_close_reward,
        "repaired",
    ),
)
