"""Algorithm 4: does its acceptance rule sample the posterior?

Source: the paper, Appendix D. Chains are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from iirl_opt.claims.arithmetic import Exact, exact, solve
from iirl_opt.claims.claim import Claim, Outcome

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


__all__ = ["CLAIMS", "printed_chain", "stationary"]


@dataclass(frozen=True, eq=False)
class Sampler:
    """A target over three points, and proposals ``g(new | old) = proposal[old, new]``."""

    target: Exact
    proposal: Exact


def printed_chain(at: Sampler) -> Exact:
    """Return Algorithm 4's chain over pairs (current, what it was proposed from), (9, 9).

    It stores ``p = L(x)/g(x | before)`` with the current point and accepts a new one with
    probability ``min(1, p_new / p)``.
    """
    n = len(at.target)
    chain = np.full((n * n, n * n), Fraction(0))
    for x in range(n):
        for before in range(n):
            here = x * n + before
            stored = at.target[x] / at.proposal[before, x]
            for new in range(n):
                accept = min(Fraction(1), at.target[new] / at.proposal[x, new] / stored)
                chain[here, new * n + x] += at.proposal[x, new] * accept
                chain[here, here] += at.proposal[x, new] * (1 - accept)
    return chain


def hastings_chain(at: Sampler) -> Exact:
    """Return the chain with the true ratio ``L(new) g(x | new) / (L(x) g(new | x))``, (3, 3)."""
    n = len(at.target)
    chain = np.full((n, n), Fraction(0))
    for x in range(n):
        for new in range(n):
            back, forth = at.proposal[new, x], at.proposal[x, new]
            accept = min(Fraction(1), at.target[new] * back / (at.target[x] * forth))
            chain[x, new] += forth * accept
            chain[x, x] += forth * (1 - accept)
    return chain


def stationary(chain: Exact) -> Exact:
    """Return the stationary distribution of an irreducible chain."""
    n = len(chain)
    balance = chain.T - exact(np.eye(n, dtype=int))
    balance[-1] = exact(np.ones(n, dtype=int))
    return solve(balance, exact([0] * (n - 1) + [1]))


def printed_acceptance(at: Sampler) -> Outcome:
    """Decide whether Algorithm 4's rule samples the target."""
    n = len(at.target)
    return _samples(at, stationary(printed_chain(at)).reshape(n, n).sum(axis=1))


def hastings_acceptance(at: Sampler) -> Outcome:
    """Decide whether the Hastings ratio samples the target."""
    return _samples(at, stationary(hastings_chain(at)))


def _samples(at: Sampler, found: Exact) -> Outcome:
    numbers = ", ".join(f"{float(x):.3f}" for x in found)
    return Outcome(bool((found == at.target).all()), f"stationary ({numbers})")


def asymmetric() -> Sampler:
    """Return three points with target (.2, .3, .5) and asymmetric proposals."""
    rows = [[5, 3, 2], [2, 5, 3], [3, 2, 5]]
    return Sampler(exact([2, 3, 5]) / 10, exact(rows) / 10)


def _samplers() -> SearchStrategy[Sampler]:
    from hypothesis import strategies as st

    def build(target: list[int], rows: list[list[int]]) -> Sampler:
        weights, proposal = exact(target), exact(rows)
        return Sampler(weights / weights.sum(), proposal / proposal.sum(axis=1)[:, None])

    weights = st.lists(st.integers(1, 6), min_size=3, max_size=3)
    return st.builds(build, weights, st.lists(weights, min_size=3, max_size=3))


CLAIMS = (
    Claim(
        "algorithm-4-acceptance",
        "Algorithm 4",
        "Accepting with min(1, p/p_{k−1}), p = L/g(new | old), samples the posterior.",
        _samplers,
        printed_acceptance,
        "false as stated",
        counterexample=asymmetric,
    ),
    Claim(
        "algorithm-4-repaired",
        "Algorithm 4",
        "The Hastings ratio L(new) g(old | new) / (L(old) g(new | old)) samples the posterior.",
        _samplers,
        hastings_acceptance,
        "repaired",
    ),
)
