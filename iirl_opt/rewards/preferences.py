"""Preferences: somebody says that one way of playing is better than another by at least m.

What is compared is a joint policy, from the start distribution, or a trajectory. With the
discounted numbers of visits x and y of the two, to states or to choices (s, a, b), it says

    (x − y) · r ≥ m                                      (preferred)

one row. A reward and a shift of it are one and the same only where x and y have the same total, so
trajectories are compared with trajectories of the same length, or go on for ever: then the last
step is repeated, in a state that it never leaves.

Where people contradict themselves the row has a price, as those of observations do
(`iirl_opt.rewards.price`). A margin m > 0 fixes the unit of the reward, and leaves out constants.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import FLAG, NOT_NEGATIVE, checked
from iirl_opt.errors import InvalidObservation
from iirl_opt.exact.numbers import as_fraction
from iirl_opt.game.exact import exact_reward, exact_values
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.policy import check_policy
from iirl_opt.game.reward import check_reward
from iirl_opt.observation import Trajectory, check_trajectory
from iirl_opt.printing.records import with_html
from iirl_opt.rewards.advantages import visits_of
from iirl_opt.rewards.price import LabelledRows

__all__ = ["Played", "Preference", "Preferred", "prefer"]

Array = NDArray[np.float64]

# A joint policy (S, A, B), or the steps of an episode.
Played = NDArray[np.float64] | Trajectory

# Differences within this share of what is compared are none, in a report.
SHARE = 1e-9


@dataclass(frozen=True, eq=False)
class Preference:
    """One way of playing is better than another by at least so much; made by `prefer`.

    Attributes
    ----------
    game : the game.
    better, worse : a joint policy (S, A, B), or a trajectory.
    by : m ≥ 0, in the unit of values.
    absorbed : whether trajectories go on for ever with their last step.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> said = prefer(game, ([[1], [1]], [[0, 1], [1, 0]]), ([[1], [1]], [[1, 0], [1, 0]]), by=0.5)
    >>> said.visits.sum(axis=(1, 2)).tolist()  # more of the second state, less of the first
    [-0.5, 0.5]
    """

    game: TwoAgentMDP
    better: Played
    worse: Played
    by: Any = 0
    absorbed: bool = False

    __repr__ = in_brief
    _repr_html_ = with_html

    def __eq__(self, other: object) -> bool:
        """Return whether two say the same of the same game."""
        if not isinstance(other, Preference):
            return NotImplemented
        mine, theirs = (
            (said.game, said.by, said.absorbed, *map(_comparable, (said.better, said.worse)))
            for said in (self, other)
        )
        return mine == theirs

    def __hash__(self) -> int:
        return hash((self.by, self.absorbed, _comparable(self.better), _comparable(self.worse)))

    @cached_property
    def both(self) -> tuple[Array, Array]:
        """The discounted visits of either to each choice, (S, A, B)."""
        return self._visits(self.better), self._visits(self.worse)

    @property
    def visits(self) -> Array:
        """How much oftener the better one is in each choice, discounted, (S, A, B)."""
        better, worse = self.both
        return better - worse

    def _visits(self, played: Played) -> Array:
        shape, gamma = self.game.shape, self.game.discount
        if not isinstance(played, Trajectory):
            flat = played.reshape(shape[0], -1)
            return np.asarray((visits_of(self.game, flat)[:, None] * flat).reshape(shape))
        weights = gamma ** np.arange(len(played))
        if self.absorbed:
            weights[-1] /= 1 - gamma
        found = np.zeros(shape)
        np.add.at(found, (played.states, played.leader_actions, played.follower_actions), weights)
        return found

    def gain(self, reward: ArrayLike) -> float:
        """Return by how much the better one is better under a reward, (S,) or (S, A, B)."""
        r = check_reward(self.game, reward)
        return float(np.sum(self.visits * (r[:, None, None] if r.ndim == 1 else r)))

    def exact_gain(self, reward: ArrayLike) -> Any:
        """Return the same in Fractions."""
        return self._exact_value(self.better, reward) - self._exact_value(self.worse, reward)

    def _exact_value(self, played: Played, reward: ArrayLike) -> Any:
        game = self.game
        if not isinstance(played, Trajectory):
            start = np.array(game.exact_start, dtype=object)
            return start @ exact_values(game, reward, played)
        r, gamma = exact_reward(game, reward), game.exact_discount
        steps = r[played.states, played.leader_actions, played.follower_actions]
        last = steps[-1] / (1 - gamma) if self.absorbed else steps[-1]
        total = last
        for step in steps[-2::-1]:
            total = step + gamma * total
        return total


def _comparable(played: Played) -> Any:
    """Return what is compared as something that is equal for equals."""
    return played if isinstance(played, Trajectory) else tuple(played.ravel().tolist())


@dataclass(frozen=True, eq=False)
class Preferred:
    """A preference as an episode: what a reward and programs make of it."""

    observation: Preference

    def violated(
        self, reward: ArrayLike, tolerance: float | None, *, exact: bool
    ) -> Iterator[tuple[int | None, int | None, float]]:
        """Yield what is missing of the difference, if anything, of no state and no action."""
        said = self.observation
        allowed: Any = 0.0 if tolerance is None else tolerance
        if exact:
            missing, allowed = as_fraction(said.by) - said.exact_gain(reward), 0
        else:
            missing = float(said.by) - said.gain(reward)
            if tolerance is None:
                r = np.abs(check_reward(said.game, reward))
                r = r[:, None, None] if r.ndim == 1 else r
                allowed = SHARE * float(sum((part * r).sum() for part in said.both))
        if missing > allowed:
            yield None, None, float(missing)

    def row(self, *, joint: bool) -> Array:
        """Return ``x − y`` over flat rewards, (S,) or (S·A·B,); zero where it is of rounding."""
        flat = [x.ravel() if joint else x.sum(axis=(1, 2)) for x in self.observation.both]
        row, noise = flat[0] - flat[1], SHARE * np.max(flat)
        # What is rounding would otherwise be scaled up to a row that excludes, or contradicts.
        return row if np.abs(row).max() > noise else np.zeros_like(row)

    def size(self, *, joint: bool) -> float:
        """Return what the row of a program is divided by."""
        return float(np.abs(self.row(joint=joint)).max()) or 1.0

    def rows(self, t: int, r: cp.Expression, *, joint: bool) -> list[LabelledRows]:
        """Return the row of a program, scaled to a largest entry of one; r is flat."""
        row, size = self.row(joint=joint), self.size(joint=joint)
        value = cp.reshape((row / size) @ r - float(self.observation.by) / size, (1,), order="C")
        return [LabelledRows(f"preferred[{t}]", value, "least", np.array([size]))]


@checked(game=GAME, by=NOT_NEGATIVE, absorbed=FLAG)
def prefer(
    game: TwoAgentMDP,
    better: Any,
    worse: Any,
    *,
    by: float | Fraction = 0.0,
    absorbed: bool = False,
) -> Preference:
    """Return a checked preference of one way of playing over another.

    Parameters
    ----------
    better, worse : a pair ``(pi1, pi2)`` of policies (S, A) and (S, B), a joint policy (S, A, B),
        or a trajectory. Policies are played from the start distribution, for ever.
    by : m ≥ 0, what the difference is at least, in the unit of values.
    absorbed : whether trajectories go on for ever, their last step again and again.

    Raises
    ------
    InvalidPolicy, InvalidObservation
        One of the two is none of this game; a trajectory is compared with one of another length, or
        with a policy, without a declared tail; or its last step may lead elsewhere.

    **Cost** arithmetic: one linear system a policy, when it is asked for.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> stay, go = [1, 0], [0, 1]
    >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
    >>> walk = iirl.observation.record_trajectory(game, [[1], [1]], [(0, 0, 1), (1, 0, 0)])
    >>> rest = iirl.observation.record_trajectory(game, [[1], [1]], [(0, 0, 0), (0, 0, 0)])
    >>> prefer(game, walk, rest).gain([0, 1])
    0.5
    """
    first, second = _played(game, "better", better), _played(game, "worse", worse)
    paths = {
        name: path
        for name, path in (("better", first), ("worse", second))
        if isinstance(path, Trajectory)
    }
    if absorbed:
        for name, path in paths.items():
            _check_end(game, name, path)
    elif len(paths) == 1:
        (name,) = paths
        allowed = "two trajectories of the same length, or absorbed=True: a policy goes on for ever"
        raise InvalidObservation(name, "is a trajectory beside a policy", allowed, paths[name])
    elif len({len(path) for path in paths.values()}) > 1:
        allowed = f"{len(paths['better'])}, as the better one, or absorbed=True, for their ends"
        said = f"has {len(paths['worse'])} steps"
        raise InvalidObservation("worse", said, allowed, paths["worse"])
    return Preference(game, first, second, by, absorbed and bool(paths))


def _played(game: TwoAgentMDP, name: str, played: Any) -> Played:
    """Return a trajectory of the game as it is, policies as a joint one (S, A, B)."""
    if isinstance(played, Trajectory):
        check_trajectory(game, played)
        return played
    if isinstance(played, tuple) and len(played) == 2:
        pi1, pi2 = game.check_leader_policy(played[0]), game.check_follower_policy(played[1])
        return np.asarray(pi1[:, :, None] * pi2[:, None, :])
    joint = np.array(check_policy(played, game.shape, name=name, states=game.states), dtype=float)
    joint.flags.writeable = False
    return joint


def _check_end(game: TwoAgentMDP, name: str, path: Trajectory) -> None:
    """Refuse a trajectory whose last step may lead elsewhere than to its own state."""
    s, a, b = (int(x[-1]) for x in (path.states, path.leader_actions, path.follower_actions))
    _, n_a, n_b = game.shape
    if game.matrix[(s * n_a + a) * n_b + b, s] != 1.0:
        last = (game.states[s], game.leader_actions[a], game.follower_actions[b])
        allowed = "a last step that leads back to its own state, for absorbed=True"
        raise InvalidObservation(name, f"ends with {last}, which leads elsewhere", allowed, path)
