"""Questions that are mixtures: what ties two answers, and whether a third one is better.

Source: ours, of `iirl_opt.learn.CommitteeIRL`, whose candidates they are. All is exact.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from iirl_opt.claims.claim import Claim, Outcome, untried
from iirl_opt.claims.instances import Case, case, cases
from iirl_opt.claims.problems import nearest
from iirl_opt.game.mdp import TwoAgentMDP

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["CLAIMS", "tied_is_best"]


def tied_is_best(at: Case, *, moved: Fraction = Fraction(0)) -> Outcome:
    """Decide: of the mixture that ties the best answers to two actions, no answer is better.

    In the first state, with the case's reward as the values of the next one.

    Parameters
    ----------
    moved : what is added to the share of the second action.
    """
    first, second = at.kernel[0, :2] @ at.reward
    b, other = int(first.argmax()), int(second.argmax())
    lead, gain = first[b] - first[other], second[other] - second[b]
    if lead == 0 or gain == 0:
        return untried("one answer is best for both")
    share = lead / (lead + gain) + moved
    mixed = (1 - share) * first + share * second
    tied = mixed[b] == mixed[other] == mixed.max()
    return Outcome(bool(tied), f"{share} of the second action: values {', '.join(map(str, mixed))}")


def _differing(n_b: int) -> SearchStrategy[Case]:
    """Return a strategy for cases whose two actions have different best answers in state 0."""

    def apart(at: Case) -> Case:
        kernel, unit = np.array(at.kernel), np.eye(len(at.reward), dtype=int)
        low, high = unit[at.reward.argmin()], unit[at.reward.argmax()]
        for a in range(2):  # the best answer to a is a, to a state of the largest reward
            kernel[0, a, :2] = (kernel[0, a, :2] + low) / 2
            kernel[0, a, 2:] = (kernel[0, a, 2:] + high) / 2
            kernel[0, a, a] = high
        return replace(at, game=TwoAgentMDP(kernel, at.discount))

    drawn = cases(
        constant=False,
        min_states=2,
        min_leader_actions=2,
        min_follower_actions=n_b,
        max_follower_actions=n_b,
    )
    return drawn.map(apart)


def _third() -> Case:
    """Return two actions to which different answers are best, and a third nearly so to both."""
    weights = np.zeros((2, 2, 3, 2), dtype=int)
    weights[..., 1], weights[..., 0] = 1, 9
    weights[:, 0, 0] = weights[:, 1, 1] = [0, 1]
    weights[:, :, 2] = [1, 9]
    return case(weights, "1/2", [0, 1])


def _evaluated(at: Case) -> Any:
    """Return what a commitment to both actions alike earns."""
    why = "files do not say which answers tie in a mixture"
    half = np.full(at.game.shape[:2], Fraction(1, at.game.n_leader_actions))
    question = {"family": "commitment", "ask": "evaluate", "leader": half}
    return nearest(why, at.game, at.reward, question=question)


CLAIMS = (
    Claim(
        "question-ties",
        "questions, ours",
        "Where the best answers to two of the leader's actions differ, no answer is better to the "
        "mixture that ties them.",
        lambda: _differing(2),
        tied_is_best,
        "needs a condition",
        outside=lambda: _differing(3),
        counterexample=_third,
        problem=_evaluated,
    ),
)
