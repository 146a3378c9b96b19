"""The episodes of a game: what was seen, and what a reward makes of it, by arithmetic alone.

An episode is a whole response to a commitment (`iirl_opt.rewards.lifted_rows`) or a trajectory
(`iirl_opt.rewards.trajectories`). Of a given reward it is asked whether it explains them all, with
gaps, slack and the violated rows by name; of the episodes, their explicit rows. No solver is met
here but by `Episodes.outer_rows`: programs over all rewards at once are the `FeasibleRewards`.

An observation that repeats an earlier one stays among the episodes, but its rows stand once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import FLAG, POSITIVE, array_of_floats, checked
from iirl_opt.errors import InvalidArgument, InvalidObservation, InvalidReward
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.reward import check_reward
from iirl_opt.observation import SEEN, Observation, Trajectory, check_trajectory, observe
from iirl_opt.rewards.explicit_rows import DistinctRows, first_of_equals
from iirl_opt.rewards.lifted_rows import GapRows, WholeResponse, same_response
from iirl_opt.rewards.observed_rows import LABELS, ObservedRow, of_pool, of_response
from iirl_opt.rewards.slack import ViolatedRow, violated_by
from iirl_opt.rewards.trajectories import CommittedGame, PartialResponse, Watched
from iirl_opt.solver.multipliers import by_size, multipliers_of

__all__ = ["Episodes"]

Array = NDArray[np.float64]

# Gaps within this share of the local scale are none, in a report.
SHARE = 1e-9


@dataclass(frozen=True, eq=False)
class Episodes:
    """What was seen of a follower, an episode at a time; immutable.

    Attributes
    ----------
    game : the game.
    episodes : whole responses and trajectories, in the order in which they were observed.
    """

    game: TwoAgentMDP
    episodes: tuple[WholeResponse | Watched, ...] = ()

    def observe(self, pi1: ArrayLike, response: Trajectory | ArrayLike) -> Self:
        """Return the rewards that also explain `response` to the commitment `pi1`.

        Parameters
        ----------
        pi1 : shape (S, A).
        response : policy (S, B), deterministic or stochastic, or a boolean mask of all optimal
            actions; or a trajectory of an optimal follower under this commitment.

        Raises
        ------
        InvalidPolicy, InvalidObservation
            It is no response, or a trajectory of another game or commitment.

        **Cost** arithmetic.
        """
        if not isinstance(response, Trajectory):
            return self.add(observe(self.game, pi1, response))
        if not np.array_equal(response.pi1, self.game.check_leader_policy(pi1)):
            raise InvalidObservation(
                "pi1", "is not what the trajectory was played under", "the same", pi1
            )
        return self.add(response)

    @checked(observation=SEEN)
    def add(self, observation: Observation | Trajectory) -> Self:
        """Return the rewards that also explain an observation of this game.

        A response that repeats an earlier one, action for action, adds an episode and no rows.
        """
        episode: WholeResponse | Watched
        if isinstance(observation, Trajectory):
            check_trajectory(self.game, observation)
            under = (
                e.environment
                for e in self.episodes
                if isinstance(e, Watched) and np.array_equal(e.environment.pi1, observation.pi1)
            )
            environment = next(under, None) or CommittedGame(self.game, observation.pi1)
            episode = Watched(observation, environment)
        else:
            known = (e for _, e in self._distinct() if same_response(e.observation, observation))
            episode = next(known, None) or WholeResponse(self.game, observation)
        return replace(self, episodes=(*self.episodes, episode))

    @property
    def seen(self) -> tuple[Observation | Trajectory, ...]:
        """All responses and trajectories in the order in which they were observed."""
        return tuple(episode.observation for episode in self.episodes)

    @property
    def observations(self) -> tuple[Observation, ...]:
        """All observations in the order in which they were made, where these are whole responses.

        Raises
        ------
        InvalidArgument
            There is a trajectory among them.
        """
        return tuple(episode.observation for episode in self._whole())

    @property
    def exact(self) -> bool:
        """Whether programs work on the very set of state rewards that explain everything.

        True without trajectories, and where what was seen under each commitment leads nowhere
        else; otherwise they work on a larger cone. **Cost** arithmetic.
        """
        return all(pool.closed for _, pool in self._pools())

    @checked(joint=FLAG)
    def count_rows(self, *, joint: bool = False) -> int:
        """Return the number of rows beside the values: zeros and repetitions left out."""
        pairs = sum(int(pool.counts.size) for _, pool in self._pools())
        lifted = [part.at.size for _, _, rows in self._rows(joint) for part in rows]
        return pairs + sum(lifted)

    def gaps(self, reward: ArrayLike) -> Array:
        """Return ``V_t(s) − Q_t(s, b)`` under each response, shape (T, S, B).

        A reward is feasible iff no entry is negative and those of tied actions are zero. Of a
        trajectory the values are the optimal ones.

        **Cost** arithmetic: one linear system an episode, one planning problem a trajectory.
        """
        r = check_reward(self.game, reward)
        return np.array([episode.gaps(r).gaps for episode in self.episodes]).reshape(self._shape)

    def slack(self, reward: ArrayLike) -> Array:
        """Return how far each observed choice is violated, ≥ 0, shape (T, S, B).

        By how much an action is better than the response, and by how much one that is known to be
        optimal is no better or worse than it: zero everywhere iff the reward is feasible.

        **Cost** as `gaps`.
        """
        return violated_by(self.gaps(reward), self._played)

    @property
    def _shape(self) -> tuple[int, int, int]:
        """The number of episodes, states and follower actions."""
        return (len(self.episodes), self.game.n_states, self.game.n_follower_actions)

    @property
    def _played(self) -> NDArray[np.bool_]:
        """Which actions are known to be optimal in which episode, (T, S, B)."""
        return np.array([e.played for e in self.episodes], dtype=bool).reshape(self._shape)

    @checked(tolerance=POSITIVE, exact=FLAG)
    def violations(
        self, reward: ArrayLike, *, tolerance: float | None = None, exact: bool = False
    ) -> tuple[ViolatedRow, ...]:
        """Return every observed choice that the reward does not explain, the worst first.

        Parameters
        ----------
        tolerance : gaps up to this are none, in the unit of values; by default those within
            rounding, or within 1e-9 of the local scale: that of what the response meets from there
            (`local_scale`), so that rewards which nobody meets excuse nothing.
        exact : decide in rational arithmetic, every number being what it is. (Floats that are
            rounded rarely explain a tie exactly.)

        Raises
        ------
        InvalidReward, InvalidArgument
        NotExact
            An exact answer takes a linear system that is too large for what is installed.

        **Cost** arithmetic, as `gaps`; exact linear systems if asked for.
        """
        check_reward(self.game, reward)
        allowed: Array | float = 0.0 if tolerance is None else tolerance
        if exact:
            parts = [episode.exact_gaps(reward) for episode in self.episodes]
            gaps = np.array(parts, dtype=object).reshape(self._shape)
            allowed = 0.0
        else:
            found = [episode.gaps(reward) for episode in self.episodes]
            gaps = np.array([each.gaps for each in found]).reshape(self._shape)
            if tolerance is None:
                local = [np.maximum(each.widths, SHARE * each.scale[:, None]) for each in found]
                allowed = np.array(local).reshape(self._shape)
        slack = violated_by(gaps, self._played)
        wrong = np.array(slack > allowed, dtype=bool)
        order = np.argsort(-slack[wrong].astype(float), kind="stable")
        states, actions = self.game.states, self.game.follower_actions
        return tuple(
            ViolatedRow(int(t) + 1, states[s], actions[b], float(slack[t, s, b]))
            for t, s, b in np.argwhere(wrong)[order]
        )

    @checked(tolerance=POSITIVE, exact=FLAG)
    def contains(
        self, reward: ArrayLike, *, tolerance: float | None = None, exact: bool = False
    ) -> bool:
        """Return whether the reward explains every observation; the set is closed.

        The parameters, errors and the cost are those of `violations`.
        """
        return not self.violations(reward, tolerance=tolerance, exact=exact)

    @checked(joint=FLAG)
    def by_row(self, answer: Any, *, joint: bool = False) -> dict[ObservedRow, float]:
        """Return multipliers, or a Farkas ray, by (episode, state, action), the largest first.

        In the unit of gaps, whatever the rows of a program were scaled by: that of an action which
        was not seen to be optimal is ≥ 0, the gain of the objective (maximised; the fall of one
        that is minimised) when the action may be better than the response by one unit; that of a
        tied action is the gain when it is to be worse by one unit. Actions whose rows are multiples
        of one another share what their row bears. Episodes that repeat an earlier one have no rows;
        of a ceiling on a state that no trajectory visits the action is None.

        Parameters
        ----------
        answer : a `Solved`, or a record or an error that holds one, of a program with the
            `constraints` of these episodes; or multipliers by constraint.
        joint : whether the reward of the program is joint, (S, A, B).

        Raises
        ------
        InvalidArgument
            It holds no multipliers and no ray, or not those of these rows.

        **Cost** arithmetic.

        Examples
        --------
        >>> import iirl_opt as iirl
        >>> stay, go = [1, 0], [0, 1]
        >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
        >>> known = iirl.FeasibleRewards(game).observe([[1], [1]], [[0, 1], [1, 0]])
        >>> prices = known.by_row(known.maximise([1.0, 0.0]))
        >>> round(prices[1, 0, 0], 9)
        1.0
        """
        given = multipliers_of(answer)
        states, actions = self.game.states, (*self.game.follower_actions, None)
        pairs: list[tuple[ObservedRow, float]] = []
        parts = [(t, of_response(given, t, e, rows)) for t, e, rows in self._rows(joint)]
        parts += [(t, of_pool(given, t, pool, joint=joint)) for t, pool in self._pools()]
        for t, (s, b, numbers) in ((t, each) for t, found in parts for each in found):
            rows = zip(s.tolist(), b.tolist(), numbers.tolist(), strict=True)
            pairs += [(ObservedRow(t, states[i], actions[j]), y) for i, j, y in rows]
        own = any(label.partition("[")[0] in LABELS for label in given)
        if parts and not (pairs or (own and not self._has_gaps(joint))):
            found = ", ".join(given) or "nothing"
            raise InvalidArgument("answer", f"holds {found}", "rows of these episodes", answer)
        return by_size(pairs)

    @checked(joint=FLAG)
    def explicit_rows(self, *, joint: bool = False) -> tuple[Array, Array]:
        """Return (G, E) with ``G r ≥ 0`` and ``E r = 0`` over flat rewards: Corollary 1 as printed.

        Rows stand in the order of `lifted`, are scaled as there and carry the factor γ. Dense:
        (rows, S) or (rows, S·A·B).

        Raises
        ------
        InvalidArgument
            There is a trajectory: the cone of its rewards has no such rows.

        **Cost** arithmetic: one factorisation an episode, and a solve a row; for state rewards once
        an episode, whatever set it belongs to.
        """
        self._whole()
        width = self.game.matrix.shape[0] if joint else self.game.n_states
        parts = [episode.explicit(joint) for _, episode in self._distinct()]
        empty = np.zeros((0, width))
        free, tied = (np.concatenate([empty, *(pair[i] for pair in parts)]) for i in (0, 1))
        return free, tied

    def distinct_rows(self) -> DistinctRows:
        """Return the explicit rows of state rewards without repetitions, and whence they come.

        Raises
        ------
        InvalidArgument
            There is a trajectory: the cone of its rewards has no such rows.

        **Cost** arithmetic: the rows of an episode are made once and shared by all sets that
        contain it, so after one more observation this costs one factorisation, a solve a row of the
        new episode, and a copy of all rows.
        """
        n_states, n_actions = self.game.n_states, self.game.n_follower_actions
        self._whole()
        known = list(self._rows(joint=False))
        parts: list[Any] = []
        for side, held in enumerate(
            [
                [e.block.rows[: e.block.free.shape[0]] for _, e, _ in known],
                [e.block.rows[e.block.free.shape[0] :] for _, e, _ in known],
            ]
        ):
            rows = np.concatenate([np.zeros((0, n_states)), *held])
            of = np.repeat([t - 1 for t, _, _ in known], [len(part) for part in held])
            at = np.concatenate([np.zeros(0, np.int64), *(pair[side].at for _, _, pair in known)])
            first = first_of_equals(rows)
            of, at = of[first].astype(np.int64), at[first]
            parts += [rows[first], of, at // n_actions, at % n_actions]
        return DistinctRows(*parts)

    @checked(points=array_of_floats(2, error=InvalidReward), ceilings=FLAG)
    def outer_rows(self, points: ArrayLike, *, ceilings: bool = True) -> Array:
        """Return half-spaces ``g·r ≥ 0`` of the trajectories that cut off given points.

        They hold every reward of the simplex that explains the trajectories. Their cone has too
        many rows to list; these are some, for methods that need rows, where they are needed. Of
        responses see `distinct_rows`.

        Parameters
        ----------
        points : state rewards in the simplex, shape (k, S).
        ceilings : whether rows may use that rewards are at least zero; without, they are zero on
            constants up to rounding, as the rows of responses are.

        Returns
        -------
        rows of norm one, shape (m, S), at most one a point and commitment.

        **Cost** k LPs a commitment, hot.
        """
        given = np.asarray(points, dtype=float)
        if given.ndim != 2 or given.shape[1] != self.game.n_states:
            allowed = f"(k, {self.game.n_states})"
            raise InvalidArgument("points", f"have shape {given.shape}", allowed, given.shape)
        rows = [pool.outer_rows(given, ceilings=ceilings) for _, pool in self._pools()]
        return np.concatenate([np.zeros((0, self.game.n_states)), *rows])

    @property
    def _has_trajectories(self) -> bool:
        return any(isinstance(episode, Watched) for episode in self.episodes)

    def _whole(self) -> tuple[WholeResponse, ...]:
        """Return the episodes, all of which must be whole responses."""
        whole = tuple(episode for episode in self.episodes if isinstance(episode, WholeResponse))
        if len(whole) < len(self.episodes):
            raise InvalidArgument(
                "feasible",
                "holds trajectories, which say nothing of the states that they do not visit",
                "whole responses here: `observe(pi1, pi2)`, also of a log that visits every state; "
                "of trajectories ask `contains`, `violations`, `maximise` and `nearest`, in a "
                "learner RandomVertex and MeanOfVertices",
                self,
            )
        return whole

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

    def _has_gaps(self, joint: bool) -> bool:
        """Return whether any row bounds a gap: there is none where nothing depends on actions."""
        whole = any(part.at.size for _, _, parts in self._rows(joint) for part in parts)
        return whole or any(
            at.size for _, pool in self._pools() for at in pool.places(joint=joint)[:2]
        )

    def _rows(self, joint: bool) -> Iterator[tuple[int, WholeResponse, tuple[GapRows, GapRows]]]:
        for t, episode in self._distinct():
            yield t, episode, episode.joint_rows if joint else episode.state_rows
