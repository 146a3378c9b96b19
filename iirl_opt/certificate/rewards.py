"""Proofs about one reward: it does not explain a response, or it explains all of them.

A `Violation` names an action that would have been better than the response, or one that was played
although it is worse: so the response is not optimal for the reward, whatever the tie rule. A
`Witness` is a reward that explains every observation and lies outside a half-space: so the feasible
set does not lie in it.

The values in them are solutions of ``V = r̄ + γ P V``; floats that violate it by ρ are wrong by at
most ρ/(1−γ), which the margin of a violation takes into account.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.certificate.base import Certificate, Conditions
from iirl_opt.certificate.episodes import Episode, explicit_rows, policy_residuals
from iirl_opt.certificate.instance import Instance, Numbers, largest
from iirl_opt.errors import InvalidArgument, NotExact
from iirl_opt.exact.linear import solve_near
from iirl_opt.exact.numbers import as_fractions, as_reals
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import rational_policy
from iirl_opt.game.values import check_reward
from iirl_opt.observation import Observation

__all__ = [
    "Violation",
    "Witness",
    "best",
    "outside",
    "read_reward",
    "stacked",
    "violation",
    "witness",
]

Vector = NDArray[Any]

# A gap below this share of the largest reward counts as zero where exact numbers are looked for.
TIGHT = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class Violation(Certificate):
    """A reward does not explain the response of an episode.

    Attributes
    ----------
    episode : counted from 0.
    state, action : positions of the state and of the follower's action.
    advantage : ``Q(s, b) − V(s)``: positive, or negative for an action that was played.
    pi1, pi2 : commitment (S, A) and response (S, B).
    reward : (S,) or (S, A, B).
    values : those of the response, (S,).
    """

    kind: ClassVar[str] = "violation"
    theorem: ClassVar[str] = "policy improvement; paper, Theorem 1"

    episode: int
    state: int
    action: int
    advantage: float | Fraction
    pi1: Vector
    pi2: Vector
    reward: Vector
    values: Vector

    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        n_states, n_a, n_b = self.instance.shape
        joint = np.ndim(self.reward) == 3
        return {
            "episode": (),
            "state": (),
            "action": (),
            "advantage": (),
            "pi1": (n_states, n_a),
            "pi2": (n_states, n_b),
            "reward": self.instance.shape if joint else (n_states,),
            "values": (n_states,),
        }

    def _misfits(self) -> list[str]:
        n_states, _, n_b = self.instance.shape
        limits = {"episode": 2**62, "state": n_states, "action": n_b}
        return super()._misfits() + outside(self, limits)

    def _words(self) -> str:
        known = self.instance
        state, action = known.states[self.state], known.follower_actions[self.action]
        gain = as_reals(self.advantage).item()
        better = f"would have been better by {gain:.6g}"
        worse = f"was played though it is worse by {-gain:.6g}"
        return (
            f"the reward does not explain the response of episode {self.episode}: in {state} "
            f"the action {action} {better if gain > 0 else worse}"
        )

    def _conditions(self, numbers: Numbers) -> Conditions:
        n, at = numbers, (self.state, self.action)
        pi1, pi2, reward, values = map(n, (self.pi1, self.pi2, self.reward, self.values))
        episode = Episode(n, pi1, pi2)
        error = largest(np.abs(episode.errors(reward, values)))
        advantage = -episode.gaps(reward, values)[at]
        wrong = -advantage if advantage < 0 and episode.played[at] else advantage
        residuals = {
            **policy_residuals("the commitment", pi1),
            **policy_residuals("the response", pi2),
            "the values are those of the response": error,
            "the advantage is the stated one": abs(advantage - n(self.advantage)[()]),
        }
        doubt = error * (1 + n.discount) / (1 - n.discount)
        return Conditions(residuals, {"the response is not optimal": wrong - doubt})


@dataclass(frozen=True, eq=False, kw_only=True)
class Witness(Certificate):
    """A reward explains every observation and lies outside a half-space.

    Attributes
    ----------
    pi1, pi2 : commitments (T, S, A) and responses (T, S, B).
    reward : (S,) or (S, A, B).
    halfspace : h, of the shape of the reward.
    margin : ``−h·r > 0``.
    values : those of the responses, (T, S).
    slack : by episode, the least of ``V(s) − Q(s, b)`` over actions that were not played, (T,).
    """

    kind: ClassVar[str] = "witness"
    theorem: ClassVar[str] = "paper, Corollary 1, with the factor γ"

    pi1: Vector
    pi2: Vector
    reward: Vector
    halfspace: Vector
    margin: float | Fraction
    values: Vector
    slack: Vector

    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        n_states, n_a, n_b = self.instance.shape
        reward = self.instance.shape if np.ndim(self.reward) == 3 else (n_states,)
        t = np.size(self.slack)
        return {
            "pi1": (t, n_states, n_a),
            "pi2": (t, n_states, n_b),
            "reward": reward,
            "halfspace": reward,
            "margin": (),
            "values": (t, n_states),
            "slack": (t,),
        }

    def _words(self) -> str:
        return (
            f"the reward r explains all {len(self.pi1)} observed responses and lies outside the "
            f"half-space h·r ≥ 0: h·r = {-as_reals(self.margin).item():.6g}"
        )

    def _conditions(self, numbers: Numbers) -> Conditions:
        n = numbers
        pi1, pi2, reward, values = map(n, (self.pi1, self.pi2, self.reward, self.values))
        halfspace, slack = n(self.halfspace), n(self.slack)
        residuals = {
            **policy_residuals("a commitment", pi1),
            **policy_residuals("a response", pi2),
        }
        # Feasible rewards are a cone: what counts is a residual's share of the reward.
        size = largest(np.abs(reward)) or 1
        worst: list[list[Any]] = [[], [], [], []]
        for t in range(len(pi1)):
            episode = Episode(n, pi1[t], pi2[t])
            gaps = episode.gaps(reward, values[t]) / size
            free = gaps[~episode.played]
            least = free.min() if free.size else 0
            worst[0].append(largest(np.abs(episode.errors(reward, values[t]))) / size)
            worst[1].append(largest(np.abs(gaps[episode.played])))
            worst[2].append(largest(-free))
            worst[3].append(abs(slack[t] / size - least))
        names = (
            "the values are those of the responses",
            "played actions are the best",
            "no action is better",
            "the slack is the stated one",
        )
        residuals |= {name: largest(found) for name, found in zip(names, worst, strict=True)}
        scale = size * (largest(np.abs(halfspace)) or 1)
        beyond = -(halfspace * reward).sum()
        residuals["the margin is the stated one"] = abs(beyond - n(self.margin)[()]) / scale
        return Conditions(residuals, {"the reward is outside the half-space": beyond / scale})


def outside(certificate: Certificate, limits: Mapping[str, int]) -> list[str]:
    """Return the fields that are no position below their limit."""
    return [
        f"{name} is {getattr(certificate, name)!r}, not one of {limit}"
        for name, limit in limits.items()
        if type(getattr(certificate, name)) is not int
        or not 0 <= getattr(certificate, name) < limit
    ]


def stacked(
    instance: Instance, observations: Sequence[Observation]
) -> tuple[Vector, Vector, bool, str]:
    """Return commitments (T, S, A) and responses (T, S, B), whether they are exact, or why not."""
    n_states, n_a, n_b = instance.shape
    shapes = (len(observations), n_states, n_a), (len(observations), n_states, n_b)
    floats = [
        np.array(parts, dtype=float).reshape(shape)
        for parts, shape in zip(
            ([o.pi1 for o in observations], [o.pi2 for o in observations]), shapes, strict=True
        )
    ]
    if not instance.is_exact:
        return floats[0], floats[1], False, "the game has no exact numbers"
    try:
        names = ("a commitment", "a response")
        exact = [
            rational_policy(part.reshape(-1, part.shape[-1])).reshape(part.shape)
            for part, name in zip(floats, names, strict=True)
        ]
    except NotExact as problem:
        return floats[0], floats[1], False, str(problem)
    return exact[0], exact[1], True, ""


def read_reward(game: TwoAgentMDP, reward: ArrayLike) -> Vector:
    """Return a reward as it was given, Fractions or floats, of a shape of the game."""
    given = np.asarray(reward)
    checked = check_reward(game, as_reals(given) if given.dtype == object else given)
    return as_fractions(given) if given.dtype == object else checked


def violation(
    game: TwoAgentMDP,
    observation: Observation,
    reward: ArrayLike,
    state: int,
    action: int,
    *,
    episode: int = 0,
) -> Violation:
    """Return the proof that a reward does not explain a response.

    Exact where the game is: rewards and policies in floats are read as decimals.

    Parameters
    ----------
    reward : (S,) or (S, A, B), floats or Fractions.
    state, action : positions of the state and of the follower's action.
    episode : how the claim calls the observation.

    Raises
    ------
    InvalidArgument
        There is no such state or action, or the reward does explain this choice.

    **Cost** arithmetic: one linear system with S unknowns.
    """
    instance = Instance.of(game)
    given = read_reward(game, reward)
    sizes = {"state": (state, game.n_states), "action": (action, game.n_follower_actions)}
    for name, (at, size) in sizes.items():
        if not 0 <= at < size:
            raise InvalidArgument(name, f"is {at}", f"0 … {size - 1}", at)
    pi1, pi2, exact, why = stacked(instance, [observation])

    def build(exact: bool, why: str) -> Violation:
        n = Numbers(instance, exact)
        one = Episode(n, n(pi1[0]), n(pi2[0]))
        values = one.values(n(given))
        advantage = -one.gaps(n(given), values)[state, action]
        return Violation(
            instance=instance,
            episode=int(episode),
            state=int(state),
            action=int(action),
            advantage=advantage if exact else float(advantage),
            pi1=one.pi1,
            pi2=one.pi2,
            reward=n(given),
            values=values,
            inexact=why,
        )

    found: Violation = best(build, exact, why)
    outcome = found.check(0.0, exact=found.is_exact)
    if not outcome.margins["the response is not optimal"] > 0:
        advantage = found.advantage
        place = f"reward at {game.states[state]!r}, {game.follower_actions[action]!r}"
        raise InvalidArgument(place, "explains the response", "one that does not", advantage)
    return found


def best(build: Callable[[bool, str], Any], exact: bool, why: str) -> Any:
    """Return what is built in exact numbers if that succeeds, else in floats with the reason."""
    if exact:
        try:
            return build(True, "")
        except NotExact as problem:
            why = str(problem)
    return build(False, why)


def witness(
    game: TwoAgentMDP,
    observations: Sequence[Observation],
    reward: ArrayLike,
    halfspace: ArrayLike,
) -> Witness:
    """Return the proof that a reward explains all observations and lies outside a half-space.

    A reward found in floating point is repaired: read as decimals; rounded; or moved to the
    solution of the conditions that hold with equality. With one episode and a state reward the
    values are repaired in its stead, and the reward follows from them without a linear system.

    Parameters
    ----------
    reward : (S,) or (S, A, B).
    halfspace : h of the same shape.

    Raises
    ------
    InvalidArgument
        The reward does not explain the observations, or ``h·r ≥ 0``, beyond rounding.

    **Cost** arithmetic: T linear systems with S unknowns for every attempt.
    """
    instance = Instance.of(game)
    given = read_reward(game, reward)
    h = np.asarray(halfspace)
    if h.shape != given.shape:
        raise InvalidArgument("halfspace", f"has shape {h.shape}", f"{given.shape}", h.shape)
    pi1, pi2, exact, why = stacked(instance, observations)

    def build(exact: bool, reward: Vector, values: Vector | None = None) -> Witness:
        n = Numbers(instance, exact)
        r = n(reward)
        parts = [Episode(n, *map(n, pair)) for pair in zip(pi1, pi2, strict=True)]
        v = [p.values(r) for p in parts] if values is None else [values]
        free = [p.gaps(r, x)[~p.played] for p, x in zip(parts, v, strict=True)]
        margin = -(n(h) * r).sum()
        return Witness(
            instance=instance,
            pi1=n(pi1),
            pi2=n(pi2),
            reward=r,
            halfspace=n(h),
            margin=margin if exact else float(margin),
            values=n(np.array(v).reshape(len(parts), game.n_states)),
            slack=n(np.array([x.min() if x.size else 0 for x in free])),
        )

    floats = build(False, given)
    outcome = floats.check()
    if not outcome:
        raise InvalidArgument("reward", f"is no witness ({outcome.reasons[0]})", "one", given)
    if exact:
        try:
            for attempt in _repaired(floats, pi1, pi2):
                found = build(True, *attempt)
                if found.check(exact=True):
                    return found
            why = "no exact reward near the given one explains the observations"
        except NotExact as problem:
            why = str(problem)
    return replace(floats, inexact=why)


def _repaired(floats: Witness, pi1: Vector, pi2: Vector) -> Iterator[tuple[Vector, ...]]:
    """Yield rewards in exact numbers near the reward of a witness, with the values if known."""
    reward = floats.reward
    yield (as_fractions(reward),)
    n = Numbers(floats.instance, exact=True)
    size = np.abs(reward).max() or 1.0
    if len(pi1) == 1 and reward.ndim == 1:
        episode = Episode(n, pi1[0], pi2[0])
        shifted = floats.values[0] - floats.values[0].min()
        for values in _near_values(episode, np.round(shifted / size, 9), TIGHT):
            onward = n.discount * episode.chain.times(values)
            yield values - onward, values
        return
    for digits in (3, 6, 9):
        yield (as_fractions(np.round(reward / size, digits)),)
    found = _of_tight_rows(floats, [Episode(n, *pair) for pair in zip(pi1, pi2, strict=True)])
    if found is not None:
        yield (found,)


def _near_values(episode: Episode, values: Vector, tight: float) -> Iterator[Vector]:
    """Yield exact values near floats whose gaps ``(P − P_b) V`` are zero where theirs are."""
    yield as_fractions(values)
    floats = episode.chain.times(as_fractions(values)), episode.follower.times(as_fractions(values))
    n_b = episode.pi2.shape[1]
    gaps = as_reals(np.repeat(floats[0], n_b) - floats[1])
    wanted = np.flatnonzero((np.abs(gaps) < 10 * tight) | episode.played.ravel())
    rows = episode.chain.dense()[wanted // n_b] - episode.follower.dense()[wanted]
    rows = rows[(rows != 0).any(axis=1)]
    found = solve_near(rows, np.full(len(rows), Fraction(0), dtype=object), values)
    if found is not None:
        yield found


def _of_tight_rows(floats: Witness, episodes: Sequence[Episode]) -> Vector | None:
    """Return an exact reward near that of a witness for which its zero gaps are exactly zero."""
    size = np.abs(floats.reward).max() or 1.0
    parts = []
    for t, episode in enumerate(episodes):
        n = Numbers(floats.instance, exact=False)
        same = Episode(n, floats.pi1[t], floats.pi2[t])
        gaps = same.gaps(floats.reward, floats.values[t]) / size
        wanted = np.flatnonzero((np.abs(gaps) < TIGHT) | episode.played)
        parts.append(explicit_rows(episode, wanted, joint=floats.reward.ndim == 3)[0])
    rows = np.concatenate(parts)
    rows = rows[(rows != 0).any(axis=1)]
    zero = np.full(len(rows), Fraction(0), dtype=object)
    found = solve_near(rows, zero, (floats.reward / size).ravel())
    return None if found is None else found.reshape(floats.reward.shape)
