"""Episodes as records: what is kept of a run, ready for JSON, so that it can be taken up again.

A record holds what was played and what was seen; `recall` tells it to a learner as if it had just
been answered. The learner that comes out is the one that was there, to the last bit: what it does
next depends on its seed and on what it was told alone. What would be dear to compute again (the
places where Markov chains start) a learner keeps beside it, see `Learner.memory`.

Numbers survive JSON to the last bit. A row of a policy that is certain is the position of its
action, any other one a list of probabilities.

Source: paper, Section 3.2, the protocol of Interactive IRL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from iirl_opt.checks import FINITE, MAPPING, checked, is_a
from iirl_opt.errors import InvalidObservation
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.learn.episodes import Episode
from iirl_opt.learn.learner import Learner
from iirl_opt.observation import Observation, Trajectory, observe, record_trajectory

__all__ = ["recall", "record_of"]

Array = NDArray[np.float64]
L = TypeVar("L", bound=Learner)


@checked(episode=is_a(Episode))
def record_of(episode: Episode[Any]) -> dict[str, Any]:
    """Return the record of an episode, ready for JSON.

    **Cost** arithmetic.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game, truth = iirl.random_game(3, 2, 2, rng=1)
    >>> learner = iirl.InteractiveIRL(game, seed=0)
    >>> (episode,) = iirl.interact(learner, truth, 1)
    >>> record = record_of(episode)
    >>> record["episode"], len(record["pi1"])
    (1, 3)
    >>> again = recall(learner, record, best=episode.best)
    >>> bool((again.learner.ask() == episode.learner.ask()).all())
    True
    """
    seen = episode.learner.history[-1]
    record: dict[str, Any] = {
        "episode": episode.number,
        "pi1": _policy_rows(episode.pi1),
        "pi2": _policy_rows(episode.pi2),
        "values": episode.values.tolist(),
        "memory": episode.learner.memory(),
    }
    if isinstance(seen, Trajectory):
        parts = (seen.states, seen.leader_actions, seen.follower_actions)
        record["steps"] = np.stack(parts, axis=1).tolist()
    elif seen.whole:
        record["whole"] = True
    if not np.array_equal(episode.plan, episode.pi1):
        record["plan"] = _policy_rows(episode.plan)
    return record


@checked(learner=is_a(Learner), record=MAPPING, best=FINITE)
def recall(learner: L, record: Mapping[str, Any], *, best: float) -> Episode[L]:
    """Return the episode of a record, whose learner knows it; the next one of the learner given.

    Parameters
    ----------
    learner : as it was before that episode.
    record : what `record_of` returned, also after a way through JSON.
    best : what regret is measured against.

    Raises
    ------
    InvalidObservation, InvalidPolicy
        The record is none of the learner's next episode, or no answer of its game.

    **Cost** that of `Learner.tell`; no commitment is planned again.

    Examples
    --------
    >>> from iirl_opt import InteractiveIRL, interact, random_game
    >>> game, truth = random_game(3, 2, 2, rng=1)
    >>> learner = InteractiveIRL(game, seed=0)
    >>> (episode,) = interact(learner, truth, 1)
    >>> again = recall(learner, record_of(episode), best=episode.best)
    >>> again.number, again.regret == episode.regret, again.learner.episode
    (1, True, 1)
    """
    game, number = learner.game, learner.episode + 1
    if record.get("episode") != number:
        raise InvalidObservation(
            "record.episode", f"is {record.get('episode')!r}", f"{number}", record
        )
    n_a, n_b = game.n_leader_actions, game.n_follower_actions
    pi1 = game.check_leader_policy(_policy("record.pi1", record.get("pi1"), n_a))
    answer = _policy("record.pi2", record.get("pi2"), n_b)
    response = observe(game, pi1, answer > 0 if record.get("whole") is True else answer)
    seen: Observation | Trajectory = response
    if "steps" in record:
        seen = record_trajectory(game, pi1, _steps(game, record["steps"]))
    plan = pi1
    if "plan" in record:
        plan = game.check_leader_policy(
            _policy("record.plan", record["plan"], game.n_leader_actions)
        )
    values = _true_values(game, record.get("values"))
    memory = MAPPING("record.memory", record.get("memory"))
    told = learner.recall(seen, memory)
    value = float(game.start @ values)
    return Episode(number, told, pi1, response.pi2, plan, values, value, best)


def _policy_rows(policy: Array) -> list[Any]:
    """Return the rows of a policy: the position of the one action, or all probabilities."""
    rows: list[Any] = policy.argmax(axis=1).tolist()
    certain = (policy.max(axis=1) == 1) & (np.count_nonzero(policy, axis=1) == 1)
    for s in np.flatnonzero(~certain):
        rows[s] = policy[s].tolist()
    return rows


def _policy(name: str, rows: object, n_actions: int) -> Array:
    """Return the policy that `_policy_rows` wrote; that it is one is for the game to say."""
    if not isinstance(rows, list):
        raise InvalidObservation(name, "is no list of rows", "a row for each state", rows)
    policy = np.zeros((len(rows), n_actions))
    for s, row in enumerate(rows):
        if type(row) is int and 0 <= row < n_actions:
            policy[s, row] = 1.0
        elif isinstance(row, list) and len(row) == n_actions and all(map(_is_number, row)):
            policy[s] = row
        else:
            allowed = f"an action below {n_actions}, or {n_actions} probabilities"
            raise InvalidObservation(f"{name}[{s}]", f"is {row!r:.60}", allowed, row)
    return policy


def _steps(game: TwoAgentMDP, steps: object) -> list[tuple[Any, ...]]:
    """Return the steps of a trajectory in the labels of the game."""
    labels = (game.states, game.leader_actions, game.follower_actions)
    named = []
    for h, step in enumerate(steps if isinstance(steps, list) else [steps]):
        at = step if isinstance(step, list) and len(step) == 3 else [None]
        if not all(
            type(i) is int and 0 <= i < len(known) for i, known in zip(at, labels, strict=False)
        ):
            allowed = f"three positions below {game.shape}"
            raise InvalidObservation(f"record.steps[{h}]", f"is {step!r:.60}", allowed, step)
        named.append(tuple(known[i] for i, known in zip(at, labels, strict=True)))
    return named


def _true_values(game: TwoAgentMDP, values: object) -> Array:
    """Return the true values (S,) of the plan."""
    if isinstance(values, list) and all(map(_is_number, values)):
        array = np.array(values, dtype=float)
        if array.shape == (game.n_states,) and np.isfinite(array).all():
            return array
    allowed = f"{game.n_states} finite numbers"
    raise InvalidObservation("record.values", f"are {values!r:.60}", allowed, values)


def _is_number(value: object) -> bool:
    return type(value) is float or (type(value) is int and abs(value) < 2**53)
