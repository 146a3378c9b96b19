"""The commitment problem: what the leader decides, and what a commitment earns.

The leader commits to ``π1``; the follower answers by its model, which reads the optimal action
values ``Q*_π1`` of the follower's own reward; the leader then has the values

    V = r̄ + γ P_{π1,π2} V,   r̄ = Σ π1 π2 r,

under its own reward. In the paper both rewards are the same (a *cooperative* game); here they may
differ (a general Stackelberg game). Where the follower is indifferent, its tie rule decides; a
problem may replace that rule by the *optimistic* one (the leader's favour: strong Stackelberg) or
the *pessimistic* one (against the leader: weak Stackelberg). Both choose among the tied actions by
the leader's own values, and one choice is best, or worst, from every state at once: the follower's
optimal set leaves the leader an MDP.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import RNG, Rule, array_of_floats, array_of_whole, checked, is_a, one_of
from iirl_opt.errors import InvalidArgument, InvalidPolicy
from iirl_opt.follower import (
    FOLLOWER,
    VALUES,
    EpsilonGreedyFollower,
    Follower,
    LocalFollower,
    OptimalFollower,
)
from iirl_opt.game.kernel import Matrix, is_sparse
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.game.values import REWARD, check_reward, evaluate, tie_tolerance

__all__ = ["CommitmentProblem", "Reply", "Ties"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Ties = Literal["optimistic", "pessimistic"]

# Commitments are evaluated together in blocks of so many numbers of the follower's kernels.
BLOCK = 4_000_000

# A policy changes an action only for a gain above this share of the values: less is rounding.
ROUNDING = 64 * float(np.finfo(float).eps)


class Reply(NamedTuple):
    """The answer to a commitment.

    Attributes
    ----------
    response : what the follower plays, shape (S, B).
    values : what the leader earns from every state, shape (S,).
    """

    response: Array
    values: Array


@dataclass(frozen=True, eq=False)
class CommitmentProblem:
    """A leader's problem.

    Parameters
    ----------
    game : the game.
    reward : the leader's, shape (S,) or (S, A, B).
    follower : the response model.
    follower_reward : what the follower maximises, shape (S,) or (S, A, B); the leader's by default.
    ties : ``"optimistic"`` or ``"pessimistic"`` in place of the tie rule of an optimal or ε-greedy
        follower.
    allowed : mask (S, A) of the actions that the leader may commit to; all by default.

    Raises
    ------
    InvalidReward, InvalidArgument
        A reward of another shape; ties for a follower that has none; a state without an allowed
        action (named).
    """

    game: TwoAgentMDP
    reward: Array
    follower: Follower
    follower_reward: Array
    ties: Ties | None
    allowed: NDArray[np.bool_]

    @checked(
        game=GAME,
        reward=REWARD,
        follower=FOLLOWER,
        follower_reward=REWARD,
        ties=one_of("optimistic", "pessimistic"),
    )
    def __init__(
        self,
        game: TwoAgentMDP,
        reward: ArrayLike,
        follower: Follower | None = None,
        *,
        follower_reward: ArrayLike | None = None,
        ties: Ties | None = None,
        allowed: ArrayLike | None = None,
    ) -> None:
        model = OptimalFollower() if follower is None else follower
        own = check_reward(game, reward)
        theirs = own if follower_reward is None else check_reward(game, follower_reward)
        if ties not in (None, "optimistic", "pessimistic"):
            raise InvalidArgument("ties", f"is {ties!r}", "optimistic, pessimistic or None", ties)
        if ties is not None and not isinstance(model, OptimalFollower | EpsilonGreedyFollower):
            raise InvalidArgument(
                "ties", f"is {ties!r} for {model!r}", "None: this follower breaks no ties", ties
            )
        if ties is None and getattr(model, "ties", None) == "all":
            raise InvalidArgument("follower", "answers with a set", "a tie rule that plays", model)
        for name, value in {
            "game": game,
            "reward": own,
            "follower": model,
            "follower_reward": theirs,
            "ties": ties,
            "allowed": check_allowed(game, allowed),
        }.items():
            object.__setattr__(self, name, value)

    @property
    def cooperative(self) -> bool:
        """Whether both agents have the same reward."""
        return self.follower_reward is self.reward or (
            self.follower_reward.shape == self.reward.shape
            and bool((self.follower_reward == self.reward).all())
        )

    @property
    def epsilon(self) -> float | None:
        """The share of uniform play of an optimal (0) or ε-greedy follower; else None."""
        if isinstance(self.follower, OptimalFollower):
            return 0.0
        return self.follower.epsilon if isinstance(self.follower, EpsilonGreedyFollower) else None

    @property
    def n_deterministic(self) -> int:
        """The number of allowed deterministic commitments, an integer of any size."""
        total = 1
        for n in self.allowed.sum(axis=1).tolist():
            total *= n
        return total

    @cached_property
    def full_reward(self) -> Array:
        """The leader's reward as (S, A, B)."""
        return _spread(self.game, self.reward)

    @cached_property
    def full_follower_reward(self) -> Array:
        """The follower's reward as (S, A, B)."""
        return _spread(self.game, self.follower_reward)

    @cached_property
    def tolerance(self) -> float:
        """The follower's tie tolerance."""
        return tie_tolerance(self.follower_reward, self.game.discount)

    @checked(rng=RNG)
    def reply(self, pi1: ArrayLike, rng: np.random.Generator | None = None) -> Reply:
        """Return the answer to a commitment (S, A), deterministic or not, and the leader's values.

        **Cost** arithmetic: two planning problems of S states at most.
        """
        commitment = self.game.check_leader_policy(pi1)
        if self.ties is None:
            response = self.follower.respond(self.game, commitment, self.follower_reward, rng)
            return Reply(response, evaluate(self.game, self.reward, (commitment, response)))
        shape = (1, self.game.n_states, self.game.n_follower_actions, self.game.n_states)
        kernel = _dense(self.game.follower_mdp(commitment).matrix).reshape(shape)
        theirs = np.einsum("sa,sab->sb", commitment, self.full_follower_reward)[None]
        own = np.einsum("sa,sab->sb", commitment, self.full_reward)[None]
        response, values = self._replies(kernel, theirs, own)
        return Reply(response[0], values[0])

    @checked(actions=array_of_whole(2))
    def values_of(self, actions: ArrayLike) -> Array:
        """Return the leader's values (K, S) of K deterministic commitments given as actions (K, S).

        **Cost** arithmetic: 2 to 10 stacked S×S linear systems a commitment, vectorised over
        commitments.
        """
        chosen = np.asarray(actions, dtype=np.int64)
        if not self._stackable:
            n_actions = self.game.n_leader_actions
            rows = [self.reply(deterministic_policy(row, n_actions)).values for row in chosen]
            return np.array(rows).reshape(chosen.shape)
        states = np.arange(self.game.n_states)
        values = np.empty(chosen.shape)
        for part in self._parts(len(chosen)):
            block = chosen[part]
            _, values[part] = self._replies(
                self.kernel[states, block],
                self.full_follower_reward[states, block],
                self.full_reward[states, block],
            )
        return values

    @checked(policies=array_of_floats(3, error=InvalidPolicy))
    def replies(self, policies: ArrayLike) -> Reply:
        """Return the responses (K, S, B) and leader values (K, S) of K commitments (K, S, A).

        The policies are taken as they are. **Cost** as `values_of`.
        """
        stack = np.asarray(policies, dtype=float)
        n_states, _, n_answers = self.game.shape
        responses = np.empty((len(stack), n_states, n_answers))
        values = np.empty((len(stack), n_states))
        if not self._stackable:
            for k, policy in enumerate(stack):
                responses[k], values[k] = self.reply(policy)
            return Reply(responses, values)
        for part in self._parts(len(stack)):
            block = stack[part]
            responses[part], values[part] = self._replies(
                np.einsum("ksa,sabt->ksbt", block, self.kernel, optimize=True),
                np.einsum("ksa,sab->ksb", block, self.full_follower_reward),
                np.einsum("ksa,sab->ksb", block, self.full_reward),
            )
        return Reply(responses, values)

    @property
    def _stackable(self) -> bool:
        """Whether a commitment's answer does not depend on what it is computed together with."""
        return self.ties is not None or (
            isinstance(self.follower, LocalFollower)
            and getattr(self.follower, "ties", None) != "random"
        )

    def _parts(self, n: int) -> Iterator[slice]:
        """Yield slices of n commitments, each few enough to be evaluated together."""
        step = max(1, BLOCK // (self.game.n_states**2 * self.game.n_follower_actions))
        return (slice(at, at + step) for at in range(0, n, step))

    @cached_property
    def kernel(self) -> Array:
        """The dense kernel (S, A, B, S)."""
        return _dense(self.game.matrix).reshape(*self.game.shape, self.game.n_states)

    @checked(q=VALUES, own=VALUES)
    def answer(self, q: Array, own: Array) -> Array:
        """Return a local follower's play (…, B) at action values q (…, B) of its own.

        Parameters
        ----------
        own : the leader's action values (…, B), by which the problem's tie rule decides, if any.
        """
        if self.ties is not None:
            return self._chosen(q >= q.max(axis=-1, keepdims=True) - self.tolerance, own)
        assert isinstance(self.follower, LocalFollower)
        return np.asarray(self.follower.answer(q, self.tolerance), dtype=float)

    def _replies(self, kernel: Array, theirs: Array, own: Array) -> tuple[Array, Array]:
        """Return responses (K, S, B) and leader values (K, S) of K follower MDPs.

        Parameters
        ----------
        kernel : (K, S, B, S).
        theirs, own : the follower's and the leader's reward, (K, S, B).
        """
        gamma = self.game.discount
        everything = np.ones(theirs.shape, dtype=bool)
        q = best_values(kernel, theirs, gamma, everything)
        if self.ties is None:
            response = self.answer(q, own)
        else:
            response = self._tied(kernel, own, q >= q.max(axis=-1, keepdims=True) - self.tolerance)
        chain = np.einsum("ksb,ksbt->kst", response, kernel)
        mean = np.einsum("ksb,ksb->ks", response, own)
        return response, _solve(chain, mean, gamma)

    def _tied(self, kernel: Array, own: Array, optimal: NDArray[np.bool_]) -> Array:
        """Return the responses (K, S, B) that break ties for the leader, or against it."""
        assert self.epsilon is not None
        score = np.zeros(own.shape)
        if (optimal.sum(axis=-1) > 1).any():
            uniform = self.epsilon / kernel.shape[2]
            sign = 1.0 if self.ties == "optimistic" else -1.0
            mixed = (1 - self.epsilon) * kernel + uniform * kernel.sum(axis=2, keepdims=True)
            reward = (1 - self.epsilon) * own + uniform * own.sum(axis=2, keepdims=True)
            score = sign * best_values(mixed, sign * reward, self.game.discount, optimal)
        return self._chosen(optimal, score)

    def _chosen(self, optimal: NDArray[np.bool_], own: Array) -> Array:
        """Return the play (…, B) of the optimal action that is best, or worst, for the leader."""
        assert self.epsilon is not None
        sign = 1.0 if self.ties == "optimistic" else -1.0
        chosen = np.where(optimal, sign * own, -np.inf).argmax(axis=-1)
        greedy = np.eye(own.shape[-1])[chosen]
        return np.asarray((1 - self.epsilon) * greedy + self.epsilon / own.shape[-1])


# What an argument `problem` may be.
PROBLEM: Rule = is_a(CommitmentProblem)


def best_values(kernel: Array, reward: Array, discount: float, allowed: NDArray[np.bool_]) -> Array:
    """Return the optimal action values (K, S, B) of K MDPs by stacked policy iteration.

    Parameters
    ----------
    kernel : (K, S, B, S).
    reward : (K, S, B).
    allowed : mask (K, S, B) of the actions that the maximisation may take.

    **Source** Howard's policy iteration; an action changes only for a gain above rounding, and no
    MDP is improved again once its values no longer rise. **Cost** arithmetic: K S×S systems a step.
    """
    some, states = np.arange(len(kernel))[:, None], np.arange(kernel.shape[1])
    actions = np.where(allowed, reward, -np.inf).argmax(axis=-1)
    total = np.full(len(kernel), -np.inf)
    while True:
        values = _solve(kernel[some, states, actions], reward[some, states, actions], discount)
        q: Array = reward + discount * np.einsum("ksbt,kt->ksb", kernel, values)
        open_q = np.where(allowed, q, -np.inf)
        best = open_q.argmax(axis=-1)
        gain = open_q[some, states, best] - open_q[some, states, actions]
        rises = values.sum(axis=1) > total
        better = (gain > ROUNDING * np.abs(q).max(axis=(1, 2))[:, None]) & rises[:, None]
        if not better.any():
            return q
        total = np.where(rises, values.sum(axis=1), total)
        actions = np.where(better, best, actions)


def _solve(chain: Array, reward: Array, discount: float) -> Array:
    """Return the solutions (K, S) of ``V = reward + discount · chain · V``."""
    systems = np.eye(chain.shape[-1]) - discount * chain
    return np.asarray(np.linalg.solve(systems, reward[..., None])[..., 0])


def _dense(matrix: Matrix) -> Array:
    return np.asarray(matrix.toarray() if is_sparse(matrix) else matrix)


def _spread(game: TwoAgentMDP, reward: Array) -> Array:
    joint = reward[:, None, None] if reward.ndim == 1 else reward
    return np.broadcast_to(joint, game.shape)


def check_allowed(game: TwoAgentMDP, allowed: ArrayLike | None) -> NDArray[np.bool_]:
    """Return the mask (S, A) of the actions that the leader may commit to; all by default."""
    shape = game.shape[:2]
    mask = np.ones(shape, dtype=bool) if allowed is None else np.array(allowed)
    if mask.shape != shape or mask.dtype != bool:
        raise InvalidArgument(
            "allowed", f"is {mask.dtype} of shape {mask.shape}", f"booleans of shape {shape}", mask
        )
    empty = ~mask.any(axis=1)
    if empty.any():
        s = game.states[int(np.argmax(empty))]
        raise InvalidArgument(f"allowed[s={s!r}]", "names no action", "at least one", s)
    mask.flags.writeable = False
    return mask
