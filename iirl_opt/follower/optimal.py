"""Followers that play among their optimal actions: always, or with probability 1 − ε."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import NOT_NEGATIVE, RNG, SEED, SHARE, checked, one_of
from iirl_opt.follower.protocols import VALUES
from iirl_opt.follower.ties import MASK, TIES, Ties, break_ties
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.optimum import Optimum, follower_optimum

__all__ = ["EpsilonGreedyFollower", "OptimalFollower", "best_responses"]

Array = NDArray[np.float64]


@checked(game=GAME)
def best_responses(game: TwoAgentMDP, reward: ArrayLike, pi1: ArrayLike) -> Optimum:
    """Return values (S,), action values (S, B) and all optimal actions of the follower's MDP.

    **Cost** arithmetic: one planning problem with S states and B actions.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], discount=0.5)
    >>> found = best_responses(game, [0, 1], [[1], [1]])
    >>> found.values, found.optimal.tolist()
    (array([1., 2.]), [[False, True], [True, True]])
    """
    return follower_optimum(game, reward, pi1)


class TieBreaker(ABC):
    """What followers share that play among their optimal actions by a tie rule."""

    @checked(game=GAME, rng=RNG)
    def respond(
        self,
        game: TwoAgentMDP,
        reward: ArrayLike,
        pi1: ArrayLike,
        rng: int | np.random.Generator | None = None,
    ) -> NDArray[Any]:
        """Return the response (S, B): the play among the optimal actions, decided exactly."""
        return self.among(best_responses(game, reward, pi1).optimal, rng)

    @checked(q=VALUES, tolerance=NOT_NEGATIVE, rng=RNG)
    def answer(
        self,
        q: Array,
        tolerance: float = 0.0,
        rng: int | np.random.Generator | None = None,
    ) -> NDArray[Any]:
        """Return the play (…, B) at q (…, B), where values within `tolerance` of the best tie."""
        return self.among(q >= q.max(axis=-1, keepdims=True) - tolerance, rng)

    @abstractmethod
    def among(
        self, optimal: NDArray[np.bool_], rng: int | np.random.Generator | None = None
    ) -> NDArray[Any]:
        """Return the play (…, B) by the tie rule among optimal actions, a mask (…, B)."""


@checked(ties=one_of(*TIES), seed=SEED)
@dataclass(frozen=True)
class OptimalFollower(TieBreaker):
    """A follower that maximises its value from every state.

    Parameters
    ----------
    ties : which of several optimal actions it plays: ``"first"`` or ``"last"`` in order;
        ``"random"``, uniform and independent a state; ``"mix"``, all with equal probability;
        ``"all"``, the whole optimal set as a boolean mask (S, B) in place of a policy.
    seed : of ``"random"`` when `respond` is given no generator; then the same commitment gets the
        same answer every time.

    **Source** paper, Section 3.1; the tie rules are ours (the paper's results depend on them).

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], discount=0.5)
    >>> OptimalFollower().respond(game, [0, 1], [[1], [1]])
    array([[0., 1.],
           [1., 0.]])
    >>> OptimalFollower(ties="mix").respond(game, [0, 1], [[1], [1]])  # both do in the second state
    array([[0. , 1. ],
           [0.5, 0.5]])
    """

    ties: Ties = "first"
    seed: int | None = None

    @checked(optimal=MASK, rng=RNG)
    def among(
        self, optimal: NDArray[np.bool_], rng: int | np.random.Generator | None = None
    ) -> NDArray[Any]:
        """Return the play (…, B) by the tie rule among optimal actions, a mask (…, B)."""
        return break_ties(optimal, self.ties, self.seed if rng is None else rng)


@checked(epsilon=SHARE, ties=one_of(*TIES[:-1]), seed=SEED)
@dataclass(frozen=True)
class EpsilonGreedyFollower(TieBreaker):
    """A follower that plays optimally with probability 1 − ε and uniformly otherwise.

    Parameters
    ----------
    epsilon : 0 ≤ ε ≤ 1.
    ties, seed : as for `OptimalFollower`; ``"all"`` has no meaning here.

    **Source** paper, proof of Lemma 3.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], discount=0.5)
    >>> EpsilonGreedyFollower(0.5).respond(game, [0, 1], [[1], [1]])
    array([[0.25, 0.75],
           [0.75, 0.25]])
    """

    epsilon: float
    ties: Ties = "first"
    seed: int | None = None

    @checked(optimal=MASK, rng=RNG)
    def among(
        self, optimal: NDArray[np.bool_], rng: int | np.random.Generator | None = None
    ) -> Array:
        """Return the play (…, B): by the tie rule, but with probability ε uniform."""
        greedy = break_ties(optimal, self.ties, self.seed if rng is None else rng)
        return np.asarray((1 - self.epsilon) * greedy + self.epsilon / greedy.shape[-1])
