"""Every statement of the paper, and what is true in place of those that are not."""

from __future__ import annotations

from iirl_opt.claims.claim import Claim
from iirl_opt.claims.statements import (
    algorithm_4,
    algorithms_2_and_3,
    beta_scaling,
    condition_b,
    convexity,
    corollary_2,
    finite_horizon,
    half_spaces,
    influence,
    lemma_1,
    lemma_2,
    lemma_3,
    likelihood,
    proposition_1,
    questions,
    regret,
    soft_optimal,
    strict_verification,
    suboptimality,
    theorem_1,
    theorem_2,
    theorem_3,
)

__all__ = ["PAPER"]

# In the order of the paper; then what goes beyond it.
STATEMENTS = (
    theorem_1,
    lemma_1,
    half_spaces,
    influence,
    theorem_2,
    condition_b,
    corollary_2,
    strict_verification,
    lemma_2,
    convexity,
    proposition_1,
    theorem_3,
    lemma_3,
    algorithms_2_and_3,
    likelihood,
    beta_scaling,
    algorithm_4,
    finite_horizon,
    suboptimality,
    questions,
    soft_optimal,
    regret,
)

PAPER: tuple[Claim, ...] = tuple(claim for each in STATEMENTS for claim in each.CLAIMS)
