"""Proofs about one reward: it does not explain a response, or it explains all of them.

A `Violation` names an action that would have been better than the response, or one that was played
although it is worse: so the response is not optimal for the reward, whatever the tie rule. A
`Witness` is a reward that explains every observation, exactly or nearly, and lies outside a
half-space: so the feasible set does not lie in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from iirl_opt.certificate.check import Conditions, magnitude, positive
from iirl_opt.certificate.episodes import ExactEpisode
from iirl_opt.certificate.form import down, up
from iirl_opt.certificate.instance import span
from iirl_opt.certificate.record import Certificate

__all__ = ["Violation", "Witness"]

# Objects that are Fractions.
Vector = NDArray[Any]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Violation(Certificate):
    """A reward does not explain the response of an episode.

    Attributes
    ----------
    episode : counted from 1.
    state, action : positions of the state and of the follower's action.
    advantage : at most ``Q(s, b) − V(s)`` where that is positive; at least that where it is
        negative, for an action that was played.
    pi1, pi2 : weights, commitment (S, A) and response (S, B).
    reward : (S,) or (S, A, B).
    values : near those of the response, (S,).

    Examples
    --------
    >>> from iirl_opt.game.mdp import TwoAgentMDP
    >>> from iirl_opt.observation import observe
    >>> from iirl_opt.rewards import violation
    >>> stay, go = [1, 0], [0, 1]
    >>> game = TwoAgentMDP([[[stay, go]], [[go, go]]], discount="1/2")
    >>> seen = observe(game, [[1], [1]], [[0, 1], [1, 0]])  # it goes
    >>> proof = violation(game, [1, 0], seen, state=0, action=0)  # to stay would have been better
    >>> proof.state, proof.advantage, bool(proof.check())
    (0, Fraction(1, 2), True)
    """

    kind: ClassVar[str] = "violation"
    theorem: ClassVar[str] = "policy improvement; paper, Theorem 1"
    forms: ClassVar[Mapping[str, str]] = {
        "episode": "integer",
        "state": "integer",
        "action": "integer",
        "advantage": "number",
        "pi1": "weights",
        "pi2": "weights",
        "reward": "array",
        "values": "array",
    }

    episode: int
    state: int
    action: int
    advantage: Fraction
    pi1: Vector
    pi2: Vector
    reward: Vector
    values: Vector

    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        n_states, n_a, n_b = self.instance.shape
        return {
            "pi1": (n_states, n_a),
            "pi2": (n_states, n_b),
            "reward": self.instance.shape if self.reward.ndim == 3 else (n_states,),
            "values": (n_states,),
        }

    def _misfits(self) -> list[str]:
        n_states, _, n_b = self.instance.shape
        right = {
            "episode": self.episode >= 1,
            "state": 0 <= self.state < n_states,
            "action": 0 <= self.action < n_b,
        }
        return super()._misfits() + [
            f"{name} is none" for name, holds in right.items() if not holds
        ]

    def _words(self) -> str:
        known = self.instance
        state, action = known.states[self.state], known.follower_actions[self.action]
        better = f"would have been better by at least {down(self.advantage)}"
        worse = f"was played though it is worse by at least {down(-self.advantage)}"
        return (
            f"the reward does not explain the response of episode {self.episode}: in {state} "
            f"the action {action} {better if self.advantage > 0 else worse}"
        )

    def proved(self) -> tuple[Fraction, Fraction]:
        """Return the least and the largest advantage that the action may have."""
        episode = ExactEpisode(self.instance, self.shares("pi1"), self.shares("pi2"))
        gamma = self.instance.discount
        error = magnitude(episode.errors(self.reward, self.values))
        doubt = error * (1 + gamma) / (1 - gamma)
        advantage = -episode.gaps(self.reward, self.values)[self.state, self.action]
        return advantage - doubt, advantage + doubt

    def _conditions(self) -> Conditions:
        least, most = self.proved()
        residuals = {"the advantage is no larger than it is proved": self.advantage - least}
        margin = self.advantage
        if self.advantage < 0:
            residuals = {"the advantage is no less than it is proved": most - self.advantage}
            margin = -self.advantage if self.pi2[self.state, self.action] > 0 else Fraction(0)
        return Conditions(residuals, {"the response is not optimal": margin})


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Witness(Certificate):
    """A reward explains every observation, exactly or nearly, and lies outside a half-space.

    Attributes
    ----------
    pi1, pi2 : weights, commitments (T, S, A) and responses (T, S, B).
    reward : (S,) or (S, A, B).
    halfspace : h, of the shape of the reward.
    margin : at most ``−h·r``.
    values : near those of the responses, (T, S).
    loss : at least what a response is worth less than the best, in the unit of the reward's span.

    Examples
    --------
    >>> from iirl_opt.game.mdp import TwoAgentMDP
    >>> from iirl_opt.observation import observe
    >>> from iirl_opt.rewards import witness
    >>> stay, go = [1, 0], [0, 1]
    >>> game = TwoAgentMDP([[[stay, go]], [[go, go]]], discount="1/2")
    >>> seen = observe(game, [[1], [1]], [[0, 1], [1, 0]])
    >>> proof = witness(game, [0, 1], [seen], [1, -1])  # it explains this, outside r(0) ≥ r(1)
    >>> proof.margin, proof.loss, bool(proof.check())
    (Fraction(1, 1), Fraction(0, 1), True)
    """

    kind: ClassVar[str] = "witness"
    theorem: ClassVar[str] = "paper, Corollary 1, with the factor γ"
    forms: ClassVar[Mapping[str, str]] = {
        "pi1": "weights",
        "pi2": "weights",
        "reward": "array",
        "halfspace": "array",
        "margin": "number",
        "values": "array",
        "loss": "number",
    }

    pi1: Vector
    pi2: Vector
    reward: Vector
    halfspace: Vector
    margin: Fraction
    values: Vector
    loss: Fraction

    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        n_states, n_a, n_b = self.instance.shape
        reward = self.instance.shape if self.reward.ndim == 3 else (n_states,)
        t = len(self.pi1)
        return {
            "pi1": (t, n_states, n_a),
            "pi2": (t, n_states, n_b),
            "reward": reward,
            "halfspace": reward,
            "values": (t, n_states),
        }

    def _words(self) -> str:
        nearly = f"all but {up(self.loss)} of span r of " if self.loss else ""
        return (
            f"the reward r explains {nearly}all {len(self.pi1)} observed responses and lies "
            f"outside the half-space h·r >= 0: h·r <= {up(-self.margin)}"
        )

    def proved(self) -> tuple[Fraction, Fraction | None]:
        """Return the largest `margin` and the least `loss`; None for a constant that loses."""
        worst, pairs = Fraction(0), zip(self.shares("pi1"), self.shares("pi2"), strict=True)
        for (pi1, pi2), values in zip(pairs, self.values, strict=True):
            episode = ExactEpisode(self.instance, pi1, pi2)
            lost = positive(-episode.gaps(self.reward, values))
            worst = max(worst, lost + positive(episode.errors(self.reward, values)))
        unit = (1 - self.instance.discount) * span(self.reward)
        margin = -sum((self.halfspace * self.reward).ravel().tolist(), Fraction(0))
        return margin, worst / unit if unit else None if worst else Fraction(0)

    def _conditions(self) -> Conditions:
        margin, loss = self.proved()
        residuals = {
            "the margin is no larger than it is": self.margin - margin,
            "the loss is no less than it is proved": np.inf if loss is None else loss - self.loss,
        }
        return Conditions(residuals, {"the reward is outside the half-space": self.margin})
