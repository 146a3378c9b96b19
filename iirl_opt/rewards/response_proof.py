"""Makers of proofs about one reward: that it does not explain a response, or that it explains all.

A reward that a solver found explains the observations up to rounding. So its witness is repaired:
the numbers are rounded, or moved to the solution of the conditions that nearly hold with equality;
where that fails the certificate (`iirl_opt.certificate.responses`) states what is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.certificate.check import magnitude
from iirl_opt.certificate.dyadic import in_units, rounded, sums
from iirl_opt.certificate.episodes import ExactEpisode, explicit_rows
from iirl_opt.certificate.form import up
from iirl_opt.certificate.given import read_reward, stacked
from iirl_opt.certificate.instance import Instance
from iirl_opt.certificate.responses import Violation, Witness
from iirl_opt.checks import array_of_floats, checked, each, kept, whole
from iirl_opt.errors import InvalidArgument, NotExact
from iirl_opt.exact.linear import solve_near
from iirl_opt.exact.numbers import as_fractions, as_reals
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.reward import REWARD
from iirl_opt.observation import WHOLE_RESPONSE, Observation

__all__ = ["violation", "witness"]

# Objects that are Fractions.
Vector = NDArray[Any]

# A gap below this share of the largest reward counts as zero where exact numbers are looked for.
TIGHT = 1e-9
# A reward that loses more than this share of the span of its values explains nothing.
LOST = Fraction(1, 10**5)


@checked(game=GAME, observation=WHOLE_RESPONSE, state=whole(0), action=whole(0), episode=whole(1))
def violation(
    game: TwoAgentMDP,
    reward: ArrayLike,
    observation: Observation,
    state: int,
    action: int,
    *,
    episode: int = 1,
) -> Violation:
    """Return the proof that a reward does not explain a response.

    Parameters
    ----------
    reward : (S,) or (S, A, B), floats or Fractions.
    state, action : positions of the state and of the follower's action.
    episode : how the claim calls the observation, counted from 1.

    Raises
    ------
    InvalidArgument
        There is no such state or action, or the reward does explain this choice.

    **Cost** arithmetic: one linear system with S unknowns.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> seen = iirl.observe(game, [[1], [1]], [[0, 1], [1, 0]])
    >>> proof = violation(game, [1, 0], seen, state=0, action=0)
    >>> proof.advantage, bool(proof.check())
    (Fraction(1, 2), True)
    """
    instance, r = Instance.of(game), read_reward(game, reward)
    sizes = {"state": (state, game.n_states), "action": (action, game.n_follower_actions)}
    for name, (at, size) in sizes.items():
        if not 0 <= at < size:
            raise InvalidArgument(name, f"is {at}", f"0 … {size - 1}", at)
    pi1, pi2 = stacked(instance, [observation])
    one = ExactEpisode(instance, pi1[0], pi2[0])
    parts: dict[str, Any] = {
        "instance": instance,
        "episode": int(episode),
        "state": int(state),
        "action": int(action),
        "pi1": pi1[0],
        "pi2": pi2[0],
        "reward": r,
        "values": sums(one.chain, instance.discount, one.mean(r)),
    }
    least, most = Violation(**parts, advantage=Fraction(1)).proved()
    advantage = least
    if least <= 0:
        advantage = most
        if not (most < 0 and one.played[state, action]):
            place = f"reward at {game.states[state]!r}, {game.follower_actions[action]!r}"
            gap = as_reals(least).item()
            raise InvalidArgument(place, "explains the response", "one that does not", gap)
    return Violation(**parts, advantage=advantage)


@checked(
    game=GAME,
    observations=each(WHOLE_RESPONSE),
    reward=REWARD,
    halfspace=kept(array_of_floats(1, 3)),
)
def witness(
    game: TwoAgentMDP,
    reward: ArrayLike,
    observations: Sequence[Observation],
    halfspace: ArrayLike,
) -> Witness:
    """Return the proof that a reward explains all observations and lies outside a half-space.

    A reward that explains them only up to rounding, such as a solver finds, is repaired: rounded,
    or moved to the solution of the conditions that hold with equality. With one episode and a state
    reward the values are repaired in its stead, and the reward follows from them without a linear
    system. Where that fails the claim states the loss.

    Parameters
    ----------
    reward : (S,) or (S, A, B).
    halfspace : h of the same shape.

    Raises
    ------
    InvalidArgument
        The reward does not explain the observations, or ``h·r ≥ 0``, beyond rounding.

    **Cost** arithmetic: T linear systems with S unknowns for every attempt.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> seen = iirl.observe(game, [[1], [1]], [[0, 1], [1, 0]])
    >>> proof = witness(game, [0, 1], [seen], halfspace=[1, -1])
    >>> proof.margin, bool(proof.check())
    (Fraction(1, 1), True)
    """
    instance, given = Instance.of(game), read_reward(game, reward)
    h = as_fractions(halfspace)
    if h.shape != given.shape:
        raise InvalidArgument("halfspace", f"has shape {h.shape}", f"{given.shape}", h.shape)
    pi1, pi2 = stacked(instance, observations)
    episodes = [ExactEpisode(instance, *pair) for pair in zip(pi1, pi2, strict=True)]

    def build(r: Vector, values: Vector | None = None) -> Witness:
        v = [sums(e.chain, instance.discount, e.mean(r)) for e in episodes]
        if values is not None:
            v = [values]
        parts: dict[str, Any] = {
            "instance": instance,
            "pi1": pi1,
            "pi2": pi2,
            "reward": r,
            "halfspace": h,
            "values": np.array(v, dtype=object).reshape(len(episodes), game.n_states),
        }
        margin, loss = Witness(**parts, margin=Fraction(1), loss=Fraction(0)).proved()
        return Witness(**parts, margin=margin, loss=Fraction(1) if loss is None else loss)

    first = build(given)
    if first.margin <= 0 or first.loss * (1 - instance.discount) > LOST:
        fault = f"loses {up(first.loss)} of its span" if first.margin > 0 else "has h·r ≥ 0"
        raise InvalidArgument("reward", f"is no witness ({fault})", "one", reward)
    if not first.loss:
        return first
    try:
        for attempt in _repaired(first, episodes):
            found = build(*attempt)
            if found.margin > 0 and not found.loss:
                return found
    except NotExact:
        pass  # then the loss is stated
    return first


def _repaired(near: Witness, episodes: Sequence[ExactEpisode]) -> Iterator[tuple[Vector, ...]]:
    """Yield rewards near that of a witness, with the values if known."""
    unit = Fraction(2) ** in_units(near.reward)
    reward = near.reward / unit
    if len(episodes) == 1 and reward.ndim == 1:
        values = (near.values[0] - min(near.values[0])) / unit
        for v in _near_values(episodes[0], rounded(values, -30)):
            onward = episodes[0].discount * episodes[0].chain.times(v)
            yield unit * (v - onward), unit * v
        return
    for bits in (10, 20, 30):
        yield (unit * rounded(reward.ravel(), -bits).reshape(reward.shape),)
    found = _of_tight_rows(near, reward, episodes)
    if found is not None:
        yield (unit * found,)


def _near_values(episode: ExactEpisode, values: Vector) -> Iterator[Vector]:
    """Yield values near given ones whose gaps ``(P − P_b) V`` are zero where theirs nearly are."""
    yield values
    n_b = episode.pi2.shape[1]
    gaps = as_reals(np.repeat(episode.chain.times(values), n_b) - episode.follower.times(values))
    wanted = np.flatnonzero((np.abs(gaps) < 10 * TIGHT) | episode.played.ravel())
    rows = episode.chain.dense()[wanted // n_b] - episode.follower.dense()[wanted]
    rows = rows[(rows != 0).any(axis=1)]
    found = solve_near(rows, np.full(len(rows), Fraction(0), dtype=object), values)
    if found is not None:
        yield found


def _of_tight_rows(
    near: Witness, reward: Vector, episodes: Sequence[ExactEpisode]
) -> Vector | None:
    """Return a reward near that of a witness for which its nearly zero gaps are zero."""
    parts = []
    for t, episode in enumerate(episodes):
        gaps = as_reals(episode.gaps(near.reward, near.values[t]) / magnitude(near.reward))
        wanted = np.flatnonzero((np.abs(gaps) < TIGHT) | episode.played)
        parts.append(explicit_rows(episode, wanted, joint=reward.ndim == 3)[0])
    rows = np.concatenate(parts)
    rows = rows[(rows != 0).any(axis=1)]
    zero = np.full(len(rows), Fraction(0), dtype=object)
    found = solve_near(rows, zero, reward.ravel())
    return None if found is None else found.reshape(reward.shape)
