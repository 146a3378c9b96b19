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

Ties are *exact*: no tolerance makes one. Floats decide a pair of actions where their error bounds
do (`iirl_opt.commitment.stacked`), or where both have the same row and reward; what is left open
leaves the value of a commitment between two numbers (`Assessment`), until rational arithmetic
decides (`iirl_opt.commitment.exact`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import median_low
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import RNG, Rule, array_of_floats, array_of_whole, checked, is_a, one_of
from iirl_opt.commitment.answers import Answers, Assessment, Ties, play
from iirl_opt.commitment.stacked import Arithmetic, Stack, best
from iirl_opt.errors import InvalidArgument, InvalidPolicy
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower, best_responses
from iirl_opt.follower.protocols import FOLLOWER, VALUES, Follower, LocalFollower
from iirl_opt.game.kernel import Matrix, is_sparse
from iirl_opt.game.mdp import GAME, MDP, TwoAgentMDP
from iirl_opt.game.optimum import policy_iteration
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.game.reward import REWARD, check_reward
from iirl_opt.game.values import evaluate
from iirl_opt.printing.records import Tabular, with_html

__all__ = ["Assessment", "CommitmentProblem", "Reply", "Ties"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
# Commitments are evaluated together in blocks of so many numbers of the follower's kernels.
BLOCK = 2_000_000


class Reply(NamedTuple):
    """The answer to a commitment.

    Attributes
    ----------
    response : what the follower plays, shape (S, B).
    values : what the leader earns from every state, shape (S,).

    Examples
    --------
    >>> from iirl_opt.game.generate import random_game
    >>> reply = CommitmentProblem(*random_game(4, 2, 2, rng=0)).reply([[1, 0]] * 4)
    >>> reply.response.shape, reply.values.shape
    ((4, 2), (4,))
    """

    response: Array
    values: Array

    def __repr__(self) -> str:
        return in_brief(self)

    def _repr_html_(self) -> str:
        return with_html(self)


@dataclass(frozen=True, eq=False)
class CommitmentProblem(Tabular):
    """A leader's problem.

    Parameters
    ----------
    game : the game; values count from its start distribution (see `TwoAgentMDP.starting_at`).
    reward : the leader's, shape (S,) or (S, A, B).
    follower : the response model.
    follower_reward : what the follower maximises, shape (S,) or (S, A, B); the leader's by default.
    ties : ``"optimistic"`` or ``"pessimistic"`` in place of the tie rule of an optimal or ε-greedy
        follower.
    allowed : mask (S, A) of the actions that the leader may commit to; all by default.

    Raises
    ------
    InvalidReward, InvalidArgument
        A reward of another shape; ties for a follower that has none, or that are broken at random:
        a commitment would be worth another number at every draw; a state without an allowed action
        (named).

    Examples
    --------
    >>> from iirl_opt.follower import EpsilonGreedyFollower
    >>> from iirl_opt.game.generate import random_game
    >>> game, reward = random_game(4, 2, 2, rng=0)
    >>> follower = EpsilonGreedyFollower(0.2)
    >>> problem = CommitmentProblem(game, reward, follower, follower_reward=-reward)
    >>> problem.cooperative, problem.n_deterministic
    (False, 16)
    >>> problem.values_of([[0, 0, 0, 0], [1, 1, 1, 1]]).shape
    (2, 4)
    """

    game: TwoAgentMDP
    reward: Array
    follower: Follower
    follower_reward: Array
    ties: Ties | None
    allowed: NDArray[np.bool_]

    __repr__ = in_brief

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
        if ties is None and getattr(model, "ties", None) == "random":
            raise InvalidArgument(
                "follower",
                f"is {model!r}, against which a commitment has no one value",
                "ties='mix', which plays every tie with equal probability at each visit, or "
                "another rule",
                model,
            )
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
        return _joint_reward(self.game, self.reward)

    @cached_property
    def full_follower_reward(self) -> Array:
        """The follower's reward as (S, A, B)."""
        return _joint_reward(self.game, self.follower_reward)

    @cached_property
    def arithmetic(self) -> Arithmetic:
        """What floats lose in this problem."""
        game = self.game
        filled = (game.matrix != 0).sum(axis=1) if is_sparse(game.matrix) else game.n_states
        terms = int(np.max(filled)) + sum(game.shape[1:])
        return Arithmetic.of(game.rational.discount, terms)

    @cached_property
    def centre(self) -> float:
        """What is taken off the leader's reward: (1 − γ) times the best joint value.

        So the values that searches compare are near zero for good commitments, whatever constant
        the reward has and however near one the discount is.
        """
        return self._gain(self.full_reward, self.allowed)

    @cached_property
    def offset(self) -> Fraction:
        """The value of `centre` for ever: what centred values are short of."""
        return Fraction(self.centre) / (1 - self.game.rational.discount)

    @cached_property
    def centred_reward(self) -> Array:
        """The leader's reward less `centre`, (S, A, B)."""
        return np.asarray(self.full_reward - self.centre)

    @cached_property
    def centred_follower_reward(self) -> Array:
        """The follower's reward less a constant of the same kind, (S, A, B)."""
        return np.asarray(self.full_follower_reward - self._their_centre)

    @cached_property
    def _their_centre(self) -> float:
        if self.cooperative:
            return self.centre
        return self._gain(self.full_follower_reward, np.ones(self.game.shape[:2], dtype=bool))

    def _gain(self, reward: Array, allowed: Mask) -> float:
        """Return (1 − γ) times the best joint value from the start, about."""
        n_states = self.game.n_states
        middle = median_low(reward.ravel().tolist())
        flat = (reward - middle).reshape(1, n_states, -1)
        kernel = self.kernel.reshape(1, n_states, -1, n_states)
        open_choices = np.repeat(allowed, self.game.n_follower_actions, axis=1)[None]
        found = best(Stack(kernel, flat, abs(flat)), self.arithmetic, open_choices)
        gain = float(self.game.start @ found.values[0]) * (1 - self.game.discount)
        return middle + gain if np.isfinite(gain) else middle

    @cached_property
    def answers(self) -> Answers:
        """How the follower answers many commitments at once."""
        absolute = Fraction(self._their_centre) / (1 - self.game.rational.discount)
        return Answers(
            self.follower,
            self.ties,
            self.epsilon,
            self.cooperative,
            self.arithmetic,
            self.game.start,
            float(absolute),
        )

    @cached_property
    def alike(self) -> Integers:
        """Numbers (S, A, B): equal in a state where row and follower's reward are the same."""
        rows, rewards = self.game.rational.rows, self.full_follower_reward.ravel().tolist()
        known: dict[tuple[object, ...], int] = {}
        numbers = np.empty(len(rewards), dtype=np.int64)
        for i, reward in enumerate(rewards):
            span = slice(rows.indptr[i], rows.indptr[i + 1])
            key = (
                reward,
                int(rows.denominators[i]),
                tuple(rows.indices[span].tolist()),
                tuple(rows.numerators[span].tolist()),
            )
            numbers[i] = known.setdefault(key, len(known))
        return numbers.reshape(self.game.shape)

    @cached_property
    def lemma_2(self) -> bool:
        """Whether ties do not matter: an optimal follower with the leader's reward (Lemma 2)."""
        return self.cooperative and isinstance(self.follower, OptimalFollower)

    @checked(rng=RNG)
    def reply(self, pi1: ArrayLike, rng: np.random.Generator | None = None) -> Reply:
        """Return the answer to a commitment (S, A), deterministic or not, and the leader's values.

        **Cost** arithmetic: two planning problems of S states at most.
        """
        commitment = self.game.check_leader_policy(pi1)
        if self.ties is None:
            response = self.follower.respond(self.game, self.follower_reward, commitment, rng)
            return Reply(response, evaluate(self.game, self.reward, (commitment, response)))
        response = self._favoured(commitment)
        return Reply(response, evaluate(self.game, self.reward, (commitment, response)))

    def _favoured(self, commitment: Array) -> Array:
        """Return the response (S, B) whose ties are broken by the leader's values."""
        assert self.epsilon is not None
        optimal = best_responses(self.game, self.follower_reward, commitment).optimal
        scores = np.zeros(optimal.shape)
        if (optimal.sum(axis=1) > 1).any():
            n_states, n_b = optimal.shape
            block = (1 - self.epsilon) * np.eye(n_b) + self.epsilon / n_b
            mixing = sp.kron(sp.eye_array(n_states), block, format="csr")
            own = np.einsum("sa,sab->sb", commitment, self.full_reward) @ block
            # What is not optimal does what the first optimal answer does.
            real = np.where(optimal, np.arange(n_b), optimal.argmax(axis=1)[:, None])
            rows = (np.arange(n_states)[:, None] * n_b + real).ravel()
            matrix = (mixing @ self.game.follower_mdp(commitment).matrix)[rows]
            sign = 1.0 if self.ties == "optimistic" else -1.0
            own = sign * np.take_along_axis(own, real, axis=1)
            scores = sign * policy_iteration(MDP(matrix, self.game.discount), own).q
        return play(self.follower, self.ties, optimal, scores)

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
        return self.assess(chosen).values + float(self.offset)

    @checked(policies=array_of_floats(3, error=InvalidPolicy))
    def replies(self, policies: ArrayLike) -> Reply:
        """Return the responses (K, S, B) and leader values (K, S) of K commitments (K, S, A).

        The policies are taken as they are; actions within rounding of the best count as tied.
        **Cost** as `values_of`.
        """
        stack = np.asarray(policies, dtype=float)
        if not self._stackable:
            n_states, _, n_answers = self.game.shape
            responses = np.empty((len(stack), n_states, n_answers))
            values = np.empty((len(stack), n_states))
            for k, policy in enumerate(stack):
                responses[k], values[k] = self.reply(policy)
            return Reply(responses, values)
        found = self.assess_policies(stack)
        return Reply(found.response, found.values + float(self.offset))

    @checked(policies=array_of_floats(3, error=InvalidPolicy))
    def assess_policies(self, policies: Array) -> Assessment:
        """Return what `assess` does for K commitments (K, S, A), deterministic or not."""
        check_local(self)
        parts = []
        for part in self._parts(len(policies)):
            block = policies[part]
            kernel = np.einsum("ksa,sabt->ksbt", block, self.kernel, optimize=True)
            parts.append(
                self.answers.assess(
                    Stack(kernel, *self._mixed(block, self.centred_follower_reward)),
                    Stack(kernel, *self._mixed(block, self.centred_reward)),
                    self._alike_at(block),
                )
            )
        return Assessment(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    @checked(actions=array_of_whole(2))
    def assess(self, actions: ArrayLike) -> Assessment:
        """Return bounds on what K deterministic commitments (K, S) earn, and what is decided.

        **Cost** as `values_of`; a commitment with open ties takes some systems more.
        """
        check_local(self)
        chosen = np.asarray(actions, dtype=np.int64)
        states = np.arange(self.game.n_states)
        parts = []
        for part in self._parts(len(chosen)):
            block = chosen[part]
            kernel = self.kernel[states, block]
            theirs = self.centred_follower_reward[states, block]
            own = self.centred_reward[states, block]
            parts.append(
                self.answers.assess(
                    Stack(kernel, theirs, abs(theirs)),
                    Stack(kernel, own, abs(own)),
                    self.alike[states, block],
                )
            )
        return Assessment(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _mixed(self, policies: Array, reward: Array) -> tuple[Array, Array]:
        """Return the mean of a reward over policies (K, S, A), and of its absolute numbers."""
        mean = np.einsum("ksa,sab->ksb", policies, reward)
        return mean, np.einsum("ksa,sab->ksb", policies, abs(reward))

    def _alike_at(self, policies: Array) -> Integers:
        """Return numbers (K, S, B), equal where answers are alike under all of a policy's actions.

        An answer that is like no other in some action that is played has a number of its own.
        """
        n_b = self.game.n_follower_actions
        same = self.alike[..., :, None] == self.alike[..., None, :]  # (S, A, B, C)
        differs = np.einsum("ksa,sabc->ksbc", (policies > 0).astype(float), ~same) > 0
        first: Integers = np.where(differs, n_b, np.arange(n_b)).min(axis=-1)
        return first

    @property
    def _stackable(self) -> bool:
        """Whether many commitments can be evaluated together."""
        return isinstance(self.follower, LocalFollower)

    def _parts(self, n: int) -> Iterator[slice]:
        """Yield slices of n commitments, each few enough to be evaluated together."""
        step = max(1, BLOCK // (self.game.n_states**2 * self.game.n_follower_actions))
        return (slice(at, at + step) for at in range(0, max(n, 1), step))

    @cached_property
    def kernel(self) -> Array:
        """The dense kernel (S, A, B, S)."""
        return dense_matrix(self.game.matrix).reshape(*self.game.shape, self.game.n_states)

    @checked(q=VALUES, own=VALUES, noise=VALUES)
    def answer(self, q: Array, own: Array, noise: Array | float = 0.0) -> Array:
        """Return a local follower's play (…, B) at action values q (…, B) of its own.

        Parameters
        ----------
        own : the leader's action values (…, B), by which the problem's tie rule decides, if any.
        noise : what rounding may have done to q, (…, B); less than that is a tie.
        """
        if self.epsilon is not None:
            return play(
                self.follower, self.ties, q + 2 * noise >= q.max(axis=-1, keepdims=True), own
            )
        assert isinstance(self.follower, LocalFollower)
        return np.asarray(self.follower.answer(q), dtype=float)


# What an argument `problem` may be.
PROBLEM: Rule = is_a(CommitmentProblem)


def check_local(problem: CommitmentProblem) -> None:
    """Raise `InvalidArgument` if the follower's answers are not local."""
    follower = problem.follower
    if not isinstance(follower, LocalFollower):
        raise InvalidArgument(
            "follower", f"is {follower!r}", "one with `answer`: a LocalFollower", follower
        )


def dense_matrix(matrix: Matrix) -> Array:
    """Return a matrix as a dense array."""
    return np.asarray(matrix.toarray() if is_sparse(matrix) else matrix)


def _joint_reward(game: TwoAgentMDP, reward: Array) -> Array:
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
