"""The two-agent MDP and the single-agent MDP that the follower faces (paper, Section 3).

A `TwoAgentMDP` is ``(S, A, B, P, γ)`` with a start distribution and labels; it is free of reward,
which is always an argument: the same game is asked about many rewards. Once the leader commits
to ``π1``, the follower plans in the `MDP` with kernel
``P_π1(s' | s, b) = Σ_a π1(a | s) P(s' | s, a, b)``.

What both share stands in `iirl_opt.game.model`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import MAPPING, Rule, checked, is_a
from iirl_opt.errors import InvalidGame
from iirl_opt.game.entries import RowBlocks
from iirl_opt.game.kernel import Matrix
from iirl_opt.game.labels import Labels
from iirl_opt.game.model import FiniteModel
from iirl_opt.game.policy import check_policy, from_labels

__all__ = ["MDP", "TwoAgentMDP"]

Array = NDArray[np.float64]


class MDP(FiniteModel):
    """A finite Markov decision process without reward.

    Parameters
    ----------
    kernel : ``P[s, b, s']`` of shape (S, B, S), or (S·B, S) with row ``s·B + b``, dense or sparse;
        floats, integer weights a row, or Fractions.
    discount : 0 ≤ γ < 1, a float, Fraction or string such as ``"9/10"``.
    start : distribution over states, shape (S,), or ``{label: weight}``, in the numbers that a
        kernel may have; uniform by default.
    states, actions : labels (any hashables), or their number; integers by default.
    fallback : an action whose row stands in for actions that a state lacks (all-zero rows);
        without it such a row is an error.
    normalise : whether rows (and a start) within 2e-3 of one are divided by their sum, as is wanted
        of float32, or of decimals of few digits; otherwise they must sum to one within 1e-9.

    Raises
    ------
    InvalidGame, UnknownLabel

    **Cost** arithmetic.

    Examples
    --------
    >>> mdp = MDP([[[1, 1], [0, 1]], [[0, 1], [0, 1]]], "9/10", actions=["wait", "go"])
    >>> mdp
    MDP(2 states, 2 actions, discount=0.9, 5 transitions, rational)
    >>> mdp.chain([[1, 0], [1, 0]])
    array([[0.5, 0.5],
           [0. , 1. ]])
    """

    axes: tuple[str, ...] = ("s", "b")

    def __init__(
        self,
        kernel: Any,
        discount: Any,
        start: Any = None,
        *,
        states: Iterable[Any] | int | None = None,
        actions: Iterable[Any] | int | None = None,
        fallback: Any = None,
        normalise: bool = False,
    ) -> None:
        self._set(
            kernel,
            discount,
            start,
            states,
            {"action": actions},
            {"action": fallback},
            normalise,
        )

    @property
    def actions(self) -> Labels:
        """The action labels."""
        return self._labels[1]

    @property
    def n_actions(self) -> int:
        """The number of actions, B."""
        return self.shape[1]

    def chain(self, policy: ArrayLike) -> Matrix:
        """Return the (S, S) transition matrix under a policy of shape (S, B)."""
        return _mixed_rows(self.matrix, check_policy(policy, self.shape, states=self.states))

    def __repr__(self) -> str:
        return f"MDP({self.n_states} states, {self.n_actions} actions, {self._sizes()})"


class TwoAgentMDP(FiniteModel):
    """A cooperative two-agent MDP without reward (paper, Section 3).

    Parameters
    ----------
    kernel : ``P[s, a, b, s']`` of shape (S, A, B, S), or (S·A·B, S) with row ``(s·A + a)·B + b``
        (then A or B must be known from `leader_actions` or `follower_actions`), dense or in any
        scipy sparse form; floats, integer weights a row, or Fractions.
    discount : 0 ≤ γ < 1, a float, Fraction or string such as ``"9/10"``.
    start : distribution over states, shape (S,), or ``{label: weight}``, in the numbers that a
        kernel may have; uniform by default.
    states, leader_actions, follower_actions : labels (any hashables), or their number; integers
        by default.
    leader_fallback, follower_fallback : an action whose rows stand in for actions that a state
        lacks (all-zero rows); without it such a row is an error.
    normalise : whether rows (and a start) within 2e-3 of one are divided by their sum, as is wanted
        of float32, or of decimals of few digits; otherwise they must sum to one within 1e-9.

    Raises
    ------
    InvalidGame
        Names the place: ``P[s='(2,3)', a='open NE', b='W'] sums to 0.97; allowed 1 ± 1e-09``.
    UnknownLabel
        A fallback or start label that does not exist.

    **Cost** arithmetic.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 1]], [[0, 1]]], [[[0, 1]], [[0, 1]]]], discount=0.9)
    >>> game
    TwoAgentMDP(2 states, 2×1 actions, discount=0.9, 5 transitions, rational)
    >>> game.kernel[0, 0, 0]
    array([0.5, 0.5])
    """

    axes: tuple[str, ...] = ("s", "a", "b")

    def __init__(
        self,
        kernel: Any,
        discount: Any,
        start: Any = None,
        *,
        states: Iterable[Any] | int | None = None,
        leader_actions: Iterable[Any] | int | None = None,
        follower_actions: Iterable[Any] | int | None = None,
        leader_fallback: Any = None,
        follower_fallback: Any = None,
        normalise: bool = False,
    ) -> None:
        self._set(
            kernel,
            discount,
            start,
            states,
            {"leader action": leader_actions, "follower action": follower_actions},
            {"leader action": leader_fallback, "follower action": follower_fallback},
            normalise,
        )

    @classmethod
    @checked(mdp=is_a(MDP, error=InvalidGame))
    def single_agent(cls, mdp: MDP) -> TwoAgentMDP:
        """Return an MDP as the game whose leader has one action and no influence."""
        return cls(
            RowBlocks.of(mdp.rational.rows) if mdp.is_rational else mdp.matrix,
            mdp.exact_discount,
            np.array(mdp.exact_start, dtype=object),
            states=mdp.states,
            leader_actions=("wait",),
            follower_actions=mdp.actions,
        )

    @property
    def leader_actions(self) -> Labels:
        """The labels of the leader's actions."""
        return self._labels[1]

    @property
    def follower_actions(self) -> Labels:
        """The labels of the follower's actions."""
        return self._labels[2]

    @property
    def n_leader_actions(self) -> int:
        """The number of the leader's actions, A."""
        return self.shape[1]

    @property
    def n_follower_actions(self) -> int:
        """The number of the follower's actions, B."""
        return self.shape[2]

    def check_leader_policy(self, pi1: ArrayLike) -> Array:
        """Return a leader policy (S, A) as a checked float array, or raise `InvalidPolicy`."""
        return check_policy(pi1, self.shape[:2], name="leader policy", states=self.states)

    def check_follower_policy(self, pi2: ArrayLike) -> Array:
        """Return a follower policy (S, B) as a checked float array, or raise `InvalidPolicy`."""
        shape = (self.shape[0], self.shape[2])
        return check_policy(pi2, shape, name="follower policy", states=self.states)

    @checked(choices=MAPPING)
    def leader_policy(self, choices: Mapping[Any, Any]) -> Array:
        """Return the leader policy written as ``{state: action}``; ``"*"`` is the rest."""
        return from_labels(choices, self.states, self.leader_actions, name="leader policy")

    @checked(choices=MAPPING)
    def follower_policy(self, choices: Mapping[Any, Any]) -> Array:
        """Return the follower policy written as ``{state: action}``; ``"*"`` is the rest."""
        return from_labels(choices, self.states, self.follower_actions, name="follower policy")

    def follower_mdp(self, pi1: ArrayLike) -> MDP:
        """Return the MDP that the follower faces after the commitment `pi1` of shape (S, A).

        **Source** paper, Section 3.1: ``P_π1``. **Cost** arithmetic: one sparse product.
        """
        n_states, n_a, n_b = self.shape
        pi1 = self.check_leader_policy(pi1)
        s, b, a = np.nonzero(np.broadcast_to(pi1[:, None], (n_states, n_b, n_a)))
        spans = np.repeat(np.count_nonzero(pi1, axis=1), n_b)
        matrix = _mixture(self.matrix, pi1[s, a], (s * n_a + a) * n_b + b, spans)
        shape = (n_states, n_b)
        return _trusted(matrix, self, shape, self.follower_actions, pi1)

    def joint_mdp(self) -> MDP:
        """Return the MDP in which one planner chooses both actions; action ``a·B + b``."""
        actions = ((a, b) for a in self.leader_actions for b in self.follower_actions)
        shape = (self.n_states, self.n_choices)
        return _trusted(self.matrix, self, shape, Labels(actions, "action"), None)

    def joint_chain(self, pi1: ArrayLike, pi2: ArrayLike) -> Matrix:
        """Return ``P_{π1,π2}``, the (S, S) transition matrix under both policies."""
        pi1, pi2 = self.check_leader_policy(pi1), self.check_follower_policy(pi2)
        joint = (pi1[:, :, None] * pi2[:, None, :]).reshape(self.n_states, -1)
        return _mixed_rows(self.matrix, joint)

    def influence(self) -> tuple[float, float]:
        """Return the influences (I(A1), I(A2)) of leader and follower, each in [0, 2].

        ``I(A1) = max_{s, a, a', b} ‖P(·|s, a, b) − P(·|s, a', b)‖₁``, and likewise for the
        follower. **Source** paper, Appendix on influence. **Cost** arithmetic: one pass over the
        kernel a pair of actions.
        """
        row = np.arange(math.prod(self.shape)).reshape(self.shape)
        pairs1 = ((row[:, i, :], row[:, j, :]) for i, j in combinations(range(self.shape[1]), 2))
        pairs2 = ((row[:, :, i], row[:, :, j]) for i, j in combinations(range(self.shape[2]), 2))

        def largest(pairs: Iterable[tuple[NDArray[Any], NDArray[Any]]]) -> float:
            gaps = (abs(self.matrix[i.ravel()] - self.matrix[j.ravel()]) for i, j in pairs)
            return min(2.0, max((float(gap.sum(axis=1).max()) for gap in gaps), default=0.0))

        return largest(pairs1), largest(pairs2)

    def __repr__(self) -> str:
        sizes = f"{self.n_states} states, {self.n_leader_actions}×{self.n_follower_actions} actions"
        return f"TwoAgentMDP({sizes}, {self._sizes()})"


# What an argument `game`, or `model`, may be.
GAME: Rule = is_a(TwoAgentMDP, error=InvalidGame)
MODEL: Rule = is_a(TwoAgentMDP, MDP, error=InvalidGame)


def _mixed_rows(matrix: Matrix, weights: Array) -> Matrix:
    """Return the (S, S) mixture of each state's rows with weights of shape (S, n)."""
    s, k = np.nonzero(weights)
    spans = np.count_nonzero(weights, axis=1)
    return _mixture(matrix, weights[s, k], s * weights.shape[1] + k, spans)


def _mixture(matrix: Matrix, weights: Array, rows: NDArray[np.int64], spans: Any) -> Matrix:
    """Return sums of weighted rows of a matrix: the first ``spans[0]`` of them, the next, …"""
    starts = np.concatenate([[0], spans.cumsum()])
    return sp.csr_array((weights, rows, starts), (spans.size, matrix.shape[0])) @ matrix


def _trusted(
    matrix: Matrix, game: TwoAgentMDP, shape: tuple[int, ...], actions: Labels, pi1: Array | None
) -> MDP:
    """Return an MDP over a matrix that is known to be stochastic, without checking it again."""
    mdp = object.__new__(MDP)
    mdp.__setstate__(
        {
            "matrix": matrix,
            "shape": shape,
            "discount": game.discount,
            "start": game.start,
            "states": game.states,
            "is_rational": game.is_rational,
            "is_nearest": game.is_nearest,
            "_labels": (game.states, actions),
            "exact_discount": game.exact_discount,
            "exact_start": game.exact_start,
            "_exact": None,
            "_origin": (game, pi1),
        }
    )
    return mdp
