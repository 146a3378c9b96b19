"""Commitments that make the follower indifferent where it costs the leader little.

Let V be the joint optimum under a reward r and (a, b) its choice in a state. Playing another leader
action a' there with probability θ moves the follower's preference: if under a' it prefers some b',
then for one θ between 0 and 1 it is indifferent between b and b'. Under that mixture r is on the
border between two answers, so whichever answer comes is a half-space with r on its border; when r
is the centre of the feasible set, this is a cut through the centre. A deterministic commitment
hardly ever gives one. Up to S such cuts come from a single episode.

A mixture costs the leader ``θ (V(s) − Q(s, a', b))`` a visit, by the performance difference lemma.
Mixtures change the values that define them, so they are adjusted a few times, and what they cost
together is recomputed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iirl_opt.brief import in_brief
from iirl_opt.game.iteration import improved
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import Optimum
from iirl_opt.game.policy import deterministic_policy
from iirl_opt.game.problem import follower_problem

__all__ = ["Indifference", "Mixtures", "cheapest_mixtures", "mixed_commitment"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# Rounds of adjustment; the gaps shrink by about the share of play that is mixed in each.
ROUNDS = 4

# Differences of action values below this share of the largest are rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Indifference:
    """A commitment that mixes two actions in some states.

    Attributes
    ----------
    policy : shape (S, A).
    states : where it mixes, sorted.
    pairs : the follower's two actions (b, b') there, shape (states, 2).
    cost : what it loses from the start distribution under the reward, ≥ 0; recomputed.

    Examples
    --------
    >>> from iirl_opt import ActiveIRL, OptimalFollower, random_game
    >>> game, truth = random_game(4, 2, 2, rng=2)
    >>> learner = ActiveIRL(game, seed=0)
    >>> learner = learner.tell(OptimalFollower().respond(game, truth, learner.ask()))
    >>> mixed = learner.mix()
    >>> mixed.states, mixed.policy[1].round(3), round(mixed.cost, 3)
    (array([1]), array([0.422, 0.578]), 0.224)
    """

    policy: Array
    states: Integers
    pairs: Integers
    cost: float

    __repr__ = in_brief


class Mixtures(NamedTuple):
    """Mixtures of a and a' that tie b and b' (columns of equal length), at most one a state.

    The leader plays `own` and, with probability `share`, `other` instead; that ties the follower's
    `answer` with its `rival` and loses `loss` a visit.
    """

    states: Integers
    own: Integers
    other: Integers
    answer: Integers
    rival: Integers
    share: Array
    loss: Array

    def take(self, index: NDArray[np.int64] | NDArray[np.bool_]) -> Mixtures:
        """Return some of the mixtures."""
        own: list[Any] = [part[index] for part in self]
        return Mixtures(*own)


def cheapest_mixtures(game: TwoAgentMDP, optimum: Optimum) -> Mixtures:
    """Return the mixture of least loss in each state that has one, for an optimum's choices."""
    n_states, _, n_b = game.shape
    q = optimum.q.reshape(game.shape)
    own, answer = np.divmod(optimum.actions, n_b)
    states = np.arange(n_states)
    mine = q[states, own]
    ahead = mine[states, answer][:, None] - mine
    behind = q - q[states, :, answer][:, :, None]
    # Of mixtures (S, a', b'): the share of a', and all action values (S, a', b', b).
    with np.errstate(divide="ignore", invalid="ignore"):
        share = ahead[:, None, :] / (ahead[:, None, :] + behind)
    possible = (behind > 0) & (ahead[:, None, :] > 0)
    share = np.where(possible, share, 0.0)
    mixed = (1 - share[..., None]) * mine[:, None, None, :] + share[..., None] * q[:, :, None, :]
    tied = mixed[states, :, :, answer]
    possible &= mixed.max(axis=-1) <= tied + ROUNDING * np.abs(q).max(initial=0.0)
    loss = np.where(possible, mine[states, answer][:, None, None] - tied, np.inf)
    flat = loss.reshape(n_states, -1)
    chosen = flat.argmin(axis=1)
    least = flat[states, chosen]
    where = np.flatnonzero(np.isfinite(least))
    other, rival = np.divmod(chosen[where], n_b)
    return Mixtures(
        where,
        own[where],
        other,
        answer[where],
        rival,
        share[where, other, rival],
        np.maximum(least[where], 0.0),
    )


def mixed_commitment(
    game: TwoAgentMDP, reward: Array, optimum: Optimum, mixtures: Mixtures
) -> Indifference:
    """Return an optimum's commitment changed to mixtures, as far as they work together.

    Parameters
    ----------
    reward : shape (S,) or (S, A, B), of which `optimum` is the joint optimum.

    **Cost** arithmetic: four planning problems of the follower.
    """
    own = optimum.actions // game.n_follower_actions
    policy, values = deterministic_policy(own, game.n_leader_actions), optimum.values
    response = optimum.actions % game.n_follower_actions
    for _ in range(ROUNDS if len(mixtures.states) else 0):
        share, fair = _mixing_shares(game, reward, values, mixtures)
        mixtures, share = mixtures.take(fair), share[fair]
        policy = deterministic_policy(own, game.n_leader_actions)
        policy[mixtures.states, mixtures.own] = 1 - share
        policy[mixtures.states, mixtures.other] = share
        # Nearly all is tied here, on purpose: which ties are exact is nobody's question.
        answered, gains, _ = improved(follower_problem(game, reward, policy), response)
        values, response = answered.values, gains.q.argmax(axis=1)
    return Indifference(
        policy,
        mixtures.states,
        np.stack([mixtures.answer, mixtures.rival], axis=1),
        max(float(game.start @ (optimum.values - values)), 0.0),
    )


def _mixing_shares(
    game: TwoAgentMDP, r: Array, values: Array, mixtures: Mixtures
) -> tuple[Array, NDArray[np.bool_]]:
    """Return how often a' must be played for indifference at given values, and where that works."""
    _, n_a, n_b = game.shape
    s, n = mixtures.states, np.arange(len(mixtures.states))
    rows = (s * n_a)[:, None] + np.stack([mixtures.own, mixtures.other], axis=1)
    index = rows[:, :, None] * n_b + np.arange(n_b)
    now = r[s][:, None, None] if r.ndim == 1 else r.reshape(-1)[index]
    ahead = (game.matrix[index.ravel()] @ values).reshape(index.shape)
    mine, theirs = np.moveaxis(now + game.discount * ahead, 1, 0)
    lead = mine[n, mixtures.answer] - mine[n, mixtures.rival]
    gain = theirs[n, mixtures.rival] - theirs[n, mixtures.answer]
    fair = (lead > 0) & (gain > 0)
    share = np.where(fair, lead, 0.0) / np.where(fair, lead + gain, 1.0)
    mixed = (1 - share[:, None]) * mine + share[:, None] * theirs
    slack = ROUNDING * float(np.abs(mixed).max(initial=0.0))
    return share, fair & (mixed.max(axis=1, initial=-np.inf) <= mixed[n, mixtures.answer] + slack)
