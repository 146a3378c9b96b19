"""The game that the counterexamples of Theorem 3 and Lemma 3 share, as the paper draws it.

Source: the paper, Appendix B. State s0 leads to s1 or s2 by the follower's choice, all else to the
end; what s2 is worth is up to the leader.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from iirl_opt.claims.arithmetic import Exact, action_values, policy_values
from iirl_opt.claims.instances import Case

__all__ = ["branching_kernel", "earned", "halves"]


def branching_kernel(n_states: int, ends: int) -> Any:
    """Return the kernel that both games share: s0 leads to s1 or s2, all else to the end."""
    kernel = np.zeros((n_states, 2, 2, n_states), dtype=int)
    kernel[0, :, 0, 1] = kernel[0, :, 1, 2] = 1
    kernel[1, :, :, ends] = kernel[3:, :, :, ends] = 1
    return kernel


def earned(at: Case, share: Fraction, answer: Callable[[Exact], Exact]) -> Exact:
    """Return the values (S,) when the leader plays a1 with probability `share` everywhere.

    Parameters
    ----------
    answer : the follower's response (S, B) to its optimal action values (S, B).
    """
    problem = share * at.kernel[:, 0] + (1 - share) * at.kernel[:, 1]
    q = action_values(problem, at.reward, at.discount)
    return policy_values(problem, at.reward, answer(q), at.discount)


def halves(numerator: int, denominator: int = 2) -> Fraction:
    """Return a fraction, of two where nothing else is said."""
    return Fraction(numerator, denominator)
