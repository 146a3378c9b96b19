"""Classes of states: what communicates, what absorbs, what is reachable, where nothing is at stake.

**Source** Puterman 1994, appendix A, for classes and closed sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import checked
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.reward import check_reward
from iirl_opt.game.support import adjacency, reached_from, steps, transitions

__all__ = [
    "CommunicatingClass",
    "absorbing_states",
    "communicating_classes",
    "dead_ends",
    "reachable",
]

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@checked(game=GAME)
def reachable(
    game: TwoAgentMDP, pi1: ArrayLike | None = None, pi2: ArrayLike | None = None
) -> Mask:
    """Return which states can occur, from the states in which the game can start: shape (S,).

    Parameters
    ----------
    pi1, pi2 : policies of shape (S, A) and (S, B); where one is not given, that agent may do
        anything.

    Raises
    ------
    InvalidPolicy

    **Cost** arithmetic: one graph search.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0]], [[0, 1]]], [[[0, 1]], [[0, 1]]]], 0.9, start=[1, 0])
    >>> reachable(game)
    array([ True,  True])
    >>> reachable(game, pi1=[[1, 0], [1, 0]])  # a leader that never takes its second action
    array([ True, False])
    """
    allowed = np.ones(game.shape, dtype=bool)
    if pi1 is not None:
        allowed &= (game.check_leader_policy(pi1) > 0)[:, :, None]
    if pi2 is not None:
        allowed &= (game.check_follower_policy(pi2) > 0)[:, None, :]
    row, column, _ = transitions(game)
    used = allowed.ravel()[row]
    start = game.exact_start
    return reached_from(row[used] // game.n_choices, column[used], np.array([p > 0 for p in start]))


@dataclass(frozen=True, eq=False)
class CommunicatingClass:
    """A largest set of states each of which can follow each other.

    Attributes
    ----------
    members : the numbers of the states, ascending.
    states : their labels.
    closed : whether no pair of actions can lead out.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], 0.9, states=["hall", "goal"])
    >>> communicating_classes(game)[0]
    CommunicatingClass(members=[0], states=('hall',), closed=False)
    """

    members: Integers
    states: tuple[Any, ...]
    closed: bool

    __repr__ = in_brief


@checked(game=GAME)
def communicating_classes(game: TwoAgentMDP) -> list[CommunicatingClass]:
    """Return the classes into which the states fall, ordered by their first members.

    A state that no other communicates with is a class of its own, even if it cannot come back to
    itself. **Cost** arithmetic: one graph search.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], 0.9, states=["hall", "goal"])
    >>> [(group.states, group.closed) for group in communicating_classes(game)]
    [(('hall',), False), (('goal',), True)]
    """
    from scipy.sparse.csgraph import connected_components

    tail, head = steps(game)
    graph = adjacency(tail, head, game.n_states)
    count, label = connected_components(graph, directed=True, connection="strong")
    leaves = np.zeros(count, dtype=bool)
    leaves[label[tail[label[tail] != label[head]]]] = True
    order = np.argsort(label, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(label, minlength=count))[:-1])
    return [
        CommunicatingClass(
            members, tuple(game.states[s] for s in members), not leaves[label[members[0]]]
        )
        for members in sorted(groups, key=lambda members: int(members[0]))
    ]


@checked(game=GAME)
def absorbing_states(game: TwoAgentMDP) -> Mask:
    """Return which states no pair of actions can leave, shape (S,). **Cost** arithmetic.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], 0.9)
    >>> absorbing_states(game)
    array([False,  True])
    """
    tail, head = steps(game)
    mask = np.ones(game.n_states, dtype=bool)
    mask[tail[tail != head]] = False
    return mask


@checked(game=GAME)
def dead_ends(game: TwoAgentMDP, reward: ArrayLike) -> Mask:
    """Return the states in which nothing is at stake any more, shape (S,).

    From a dead end every state that any joint policy can reach has the same reward, for every pair
    of actions; a goal that pays for ever is one, too. This definition is the useful one here
    because all policies then have the same value: no commitment matters there, and no response
    there tells anything about the reward. (All policies can agree elsewhere, too, by the
    probabilities; that the graph cannot see.) Rewards are compared exactly.

    Parameters
    ----------
    reward : (S,) or (S, A, B).

    Raises
    ------
    InvalidReward

    **Cost** arithmetic: one graph search.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], 0.9)
    >>> dead_ends(game, [0, 1])
    array([False,  True])
    """
    r = check_reward(game, reward).reshape(game.n_states, -1)
    least, most = r.min(axis=1), r.max(axis=1)
    tail, head = steps(game)
    # A path between different rewards has a step between different rewards, or a state with two.
    changes = least < most
    changes[tail[least[tail] != least[head]]] = True
    return ~reached_from(head, tail, changes)
