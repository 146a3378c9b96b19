"""The list of episodes: what was told of a follower, one record after another.

An episode is a whole response to a commitment (`iirl_opt.rewards.lifted_rows`), a trajectory
(`iirl_opt.rewards.trajectories`), a response that may lose something
(`iirl_opt.rewards.suboptimal`) or a preference (`iirl_opt.rewards.preferences`). What takes whole
responses of an optimal follower alone refuses the others, by name.

An observation that repeats an earlier one stays among the episodes, but its rows stand once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import Rule, checked, is_a
from iirl_opt.errors import InvalidArgument, InvalidObservation
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.observation import (
    SUBOPTIMALITY,
    Observation,
    Suboptimality,
    Trajectory,
    check_trajectory,
    observe,
)
from iirl_opt.rewards.lifted_rows import GapRows, WholeResponse, same_response
from iirl_opt.rewards.preferences import Preference, Preferred, prefer
from iirl_opt.rewards.suboptimal import SuboptimalResponse
from iirl_opt.rewards.trajectories import CommittedGame, PartialResponse, Watched

__all__ = ["EPISODE", "AnyEpisode", "EpisodeList", "Seen"]

Array = NDArray[np.float64]

# What an episode may be, and what is seen of one.
AnyEpisode: TypeAlias = WholeResponse | Watched | SuboptimalResponse | Preferred
Seen: TypeAlias = Observation | Trajectory | Preference

KINDS = is_a(WholeResponse, Watched, SuboptimalResponse, Preferred)
SEEN: Rule = is_a(Observation, Trajectory, Preference, error=InvalidObservation)


def EPISODE(name: str, value: Any) -> Any:
    """Return an episode; as an optimal one no response that is declared suboptimal."""
    episode = KINDS(name, value)
    if isinstance(episode, WholeResponse) and episode.observation.suboptimality is not None:
        raise InvalidArgument(name, "is declared suboptimal", "`FeasibleRewards.add` of it", value)
    return episode


E = TypeVar("E", bound=AnyEpisode)

# What there may be beside whole responses, as messages have it.
BESIDES = (
    (Watched, "trajectories, which say nothing of the states that they do not visit"),
    (SuboptimalResponse, "responses declared suboptimal, whose actions need not be optimal"),
    (Preferred, "preferences, which are no responses"),
)

# Why no loss is declared of a trajectory.
OF_TRAJECTORY = (
    "is declared of a trajectory: what it loses is a difference of convex functions of the reward",
    "None; of a log that visits every state, the response that it shows, a policy (S, B)",
)


@dataclass(frozen=True, eq=False)
class EpisodeList:
    """What was seen of a follower, an episode at a time; immutable.

    Attributes
    ----------
    game : the game.
    episodes : whole responses, trajectories, responses that may lose something, and preferences,
        in the order in which they were observed.
    """

    game: TwoAgentMDP
    episodes: tuple[AnyEpisode, ...] = ()

    def observe(
        self,
        pi1: ArrayLike,
        response: Trajectory | ArrayLike,
        *,
        suboptimality: float | Suboptimality | None = None,
    ) -> Self:
        """Return the rewards that also explain `response` to the commitment `pi1`.

        Parameters
        ----------
        pi1 : shape (S, A).
        response : policy (S, B), deterministic or stochastic, or a boolean mask of all optimal
            actions; or a trajectory of an optimal follower under this commitment.
        suboptimality : ε ≥ 0, how much of the optimal value the response may lose in every state,
            or a `Suboptimality`; by default it is optimal.

        Raises
        ------
        InvalidPolicy, InvalidObservation
            It is no response, or a trajectory of another game or commitment. A trajectory is
            declared suboptimal: what it loses is a difference of convex functions of the reward.

        **Cost** arithmetic.
        """
        if not isinstance(response, Trajectory):
            seen = observe(self.game, pi1, response, suboptimality=suboptimality)
            return self.add(seen)
        if suboptimality is not None and not SUBOPTIMALITY("suboptimality", suboptimality).nothing:
            raise InvalidObservation("suboptimality", *OF_TRAJECTORY, suboptimality)
        if not np.array_equal(response.pi1, self.game.check_leader_policy(pi1)):
            raise InvalidObservation(
                "pi1", "is not what the trajectory was played under", "the same", pi1
            )
        return self.add(response)

    def prefer(
        self, better: Any, worse: Any, *, by: float | Fraction = 0.0, absorbed: bool = False
    ) -> Self:
        """Return the rewards under which, too, one way of playing is better by at least `by`.

        It counts as an episode. Parameters, errors and the cost are those of
        `iirl_opt.rewards.prefer`.

        Examples
        --------
        >>> import iirl_opt as iirl
        >>> stay, go = [1, 0], [0, 1]
        >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
        >>> going, staying = ([[1], [1]], [[0, 1], [1, 0]]), ([[1], [1]], [[1, 0], [1, 0]])
        >>> said = iirl.FeasibleRewards(game).prefer(going, staying, by=0.25)
        >>> said.contains([0, 1]), said.contains([0.4, 0.6])
        (True, False)
        """
        return self.add(prefer(self.game, better, worse, by=by, absorbed=absorbed))

    @checked(observation=SEEN)
    def add(self, observation: Seen) -> Self:
        """Return the rewards that also explain an observation of this game.

        A response that repeats an earlier one, action for action, adds an episode and no rows.
        """
        episode: AnyEpisode
        if isinstance(observation, Preference):
            if observation.game is not self.game:
                better, worse, by = observation.better, observation.worse, observation.by
                absorbed = observation.absorbed
                observation = prefer(self.game, better, worse, by=by, absorbed=absorbed)
            episode = Preferred(observation)
        elif isinstance(observation, Trajectory):
            check_trajectory(self.game, observation)
            environment = self._environment(Watched, observation.pi1)
            episode = Watched(observation, environment)
        elif observation.suboptimality is not None:
            response = WholeResponse(self.game, observation)
            environment = self._environment(SuboptimalResponse, observation.pi1)
            episode = SuboptimalResponse(response, environment, observation.suboptimality)
        else:
            known = (e for _, e in self._distinct() if same_response(e.observation, observation))
            episode = next(known, None) or WholeResponse(self.game, observation)
        return replace(self, episodes=(*self.episodes, episode))

    def _environment(
        self, kind: type[Watched] | type[SuboptimalResponse], pi1: Array
    ) -> CommittedGame:
        """Return what a commitment leaves; episodes of one kind under the same share it."""
        under = (e.environment for e in self.episodes if isinstance(e, kind))
        same = (known for known in under if np.array_equal(known.pi1, pi1))
        return next(same, None) or CommittedGame(self.game, pi1)

    @property
    def seen(self) -> tuple[Seen, ...]:
        """All responses, trajectories and preferences in the order in which they were observed."""
        return tuple(episode.observation for episode in self.episodes)

    @property
    def answers(self) -> tuple[Observation | Trajectory, ...]:
        """All responses and trajectories: what was seen of play, preferences left out."""
        return tuple(x for x in self.seen if not isinstance(x, Preference))

    @property
    def observations(self) -> tuple[Observation, ...]:
        """All observations in the order in which they were made, where all are whole and optimal.

        Raises
        ------
        InvalidArgument
            There is a trajectory among them, a response that may lose something, or a preference.
        """
        return tuple(episode.observation for episode in self._whole())

    @property
    def _all_whole(self) -> bool:
        return all(isinstance(episode, WholeResponse) for episode in self.episodes)

    @property
    def _plain(self) -> list[tuple[int, WholeResponse | Watched]]:
        """The episodes of an optimal follower, each with its number from 1."""
        numbered = enumerate(self.episodes, start=1)
        return [(t, e) for t, e in numbered if isinstance(e, WholeResponse | Watched)]

    def _of_kind(self, kind: type[E]) -> Iterator[tuple[int, E]]:
        """Yield the episodes of one kind, each with its number from 1."""
        for t, episode in enumerate(self.episodes, start=1):
            if isinstance(episode, kind):
                yield t, episode

    def _besides(self, *known: type) -> str:
        """Return what there is beside whole responses, and what is known, in words."""
        found = [
            said
            for kind, said in BESIDES
            if kind not in known and any(isinstance(e, kind) for e in self.episodes)
        ]
        return " and ".join(found)

    def _whole(self) -> tuple[WholeResponse, ...]:
        """Return the episodes, all of which must be whole responses of an optimal follower."""
        whole = tuple(episode for episode in self.episodes if isinstance(episode, WholeResponse))
        if len(whole) < len(self.episodes):
            raise InvalidArgument(
                "feasible",
                f"holds {self._besides()}",
                "whole responses here: `observe(pi1, pi2)`, also of a log that visits every state; "
                "of all else ask `contains`, `violations`, `maximise` and `nearest`, in a "
                "learner RandomVertex and MeanOfVertices",
                self,
            )
        return whole

    def _responses(self) -> list[SuboptimalResponse]:
        """Return the episodes as responses that may lose something, which all must be."""
        if any(isinstance(episode, Watched | Preferred) for episode in self.episodes):
            said = f"holds {self._besides(SuboptimalResponse)}"
            raise InvalidArgument("feasible", said, "responses here: `observe(pi1, pi2)`", self)
        return [
            e if isinstance(e, SuboptimalResponse) else SuboptimalResponse.of(e)
            for e in self.episodes
            if isinstance(e, WholeResponse | SuboptimalResponse)
        ]

    def _distinct(self) -> Iterator[tuple[int, WholeResponse]]:
        """Yield the whole responses that repeat no earlier one, each with its number from 1."""
        known: set[int] = set()
        for t, episode in enumerate(self.episodes, start=1):
            if isinstance(episode, WholeResponse) and id(episode) not in known:
                known.add(id(episode))
                yield t, episode

    def _pools(self) -> Iterator[tuple[int, PartialResponse]]:
        """Yield what all trajectories under a commitment say, and the number of the first."""
        under: dict[int, list[tuple[int, Watched]]] = {}
        for t, episode in enumerate(self.episodes, start=1):
            if isinstance(episode, Watched):
                under.setdefault(id(episode.environment), []).append((t, episode))
        for members in under.values():
            first, episode = members[0]
            counts = np.array([e.played for _, e in members]).sum(axis=0, dtype=np.int64)
            yield first, PartialResponse(episode.environment, counts)

    def _rows(self, joint: bool) -> Iterator[tuple[int, WholeResponse, tuple[GapRows, GapRows]]]:
        for t, episode in self._distinct():
            yield t, episode, episode.joint_rows if joint else episode.state_rows
