"""The episodes of a game: what was seen, and what a reward makes of it, by arithmetic alone.

An episode is a whole response to a commitment (`iirl_opt.rewards.lifted_rows`), a trajectory
(`iirl_opt.rewards.trajectories`), a response that may lose something
(`iirl_opt.rewards.suboptimal`) or a preference (`iirl_opt.rewards.preferences`). Of a given reward
it is asked whether it explains them all, with gaps, slack and the violated rows by name; of the
episodes, their explicit rows, which whole responses of an optimal follower alone have. No solver is
met here but by `Episodes.outer_rows`: programs over all rewards at once are the `FeasibleRewards`.

An observation that repeats an earlier one stays among the episodes, but its rows stand once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import FLAG, POSITIVE, array_of_floats, checked
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.game.reward import check_reward
from iirl_opt.rewards.explicit_rows import DistinctRows, first_of_equals
from iirl_opt.rewards.observed_rows import (
    LABELS,
    ObservedRow,
    of_loss,
    of_pool,
    of_preference,
    of_response,
)
from iirl_opt.rewards.preferences import Preferred
from iirl_opt.rewards.slack import ViolatedRow, violated_by
from iirl_opt.rewards.suboptimal import SuboptimalResponse
from iirl_opt.rewards.told import EpisodeList
from iirl_opt.rewards.trajectories import Watched
from iirl_opt.solver.multipliers import by_size, multipliers_of

__all__ = ["Episodes"]

Array = NDArray[np.float64]

# Gaps within this share of the local scale are none, in a report.
SHARE = 1e-9


@dataclass(frozen=True, eq=False)
class Episodes(EpisodeList):
    """What a reward makes of the episodes of a game: see `EpisodeList`."""

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
        near = sum(e.count_rows for _, e in self._of_kind(SuboptimalResponse))
        return pairs + sum(lifted) + near + len(list(self._of_kind(Preferred)))

    def gaps(self, reward: ArrayLike) -> Array:
        """Return ``V_t(s) − Q_t(s, b)`` under each response, shape (T, S, B).

        A reward is feasible iff no entry is negative and those of tied actions are zero. Of a
        trajectory the values are the optimal ones. (What responses may lose is in `losses`.)

        Raises
        ------
        InvalidArgument
            There is a preference among the episodes, which has no gaps.

        **Cost** arithmetic: one linear system an episode, one planning problem a trajectory.
        """
        r = check_reward(self.game, reward)
        episodes = [e for e in self.episodes if not isinstance(e, Preferred)]
        if len(episodes) < len(self.episodes):
            allowed = "responses and trajectories here; of preferences ask `violations`"
            raise InvalidArgument("feasible", "holds preferences", allowed, self)
        return np.array([episode.gaps(r).gaps for episode in episodes]).reshape(self._shape)

    def slack(self, reward: ArrayLike) -> Array:
        """Return how far each observed choice is violated, ≥ 0, shape (T, S, B).

        By how much an action is better than the response, and by how much one that is known to be
        optimal is no better or worse than it: zero everywhere iff the reward is feasible.

        Raises
        ------
        InvalidArgument
            There is a response that may lose something among the episodes, or a preference: see
            `violations`.

        **Cost** as `gaps`.
        """
        if len(self._plain) < len(self.episodes):
            said = f"holds {self._besides(Watched)}"
            allowed = "optimal responses and trajectories here; of all ask `violations`"
            raise InvalidArgument("feasible", said, allowed, self)
        return violated_by(self.gaps(reward), self._played)

    def losses(self, reward: ArrayLike) -> Array:
        """Return what each response loses of the optimal value, ``V* − V``, shape (T, S).

        Whatever was declared, and of responses that are said to be optimal, too. Where the whole
        optimal set was seen, it is the loss of the even mixture.

        Raises
        ------
        InvalidReward
        InvalidArgument
            There is a trajectory among the episodes, or a preference.

        **Source** `iirl_opt.rewards.suboptimal`. **Cost** arithmetic: two planning problems an
        episode.

        Examples
        --------
        >>> import iirl_opt as iirl
        >>> stay, go = [1, 0], [0, 1]
        >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
        >>> iirl.FeasibleRewards(game).observe([[1], [1]], [[1, 0], [1, 0]]).losses([0.0, 1.0])
        array([[1., 0.]])
        """
        r = check_reward(self.game, reward)
        found = [episode.losses(r).losses for episode in self._responses()]
        return np.array(found).reshape(len(found), self.game.n_states)

    def compatibility(self, reward: ArrayLike) -> float:
        """Return the largest loss of any response, per unit of the span of the reward.

        In any state; from the start where that was declared. The span is ``max r − min r``; of a
        constant the compatibility is 0, for it explains everything. Neither shift nor scale of the
        reward matters. A small one is compatible with what was seen.

        Raises
        ------
        InvalidReward
        InvalidArgument
            There is a trajectory among the episodes, or a preference.

        **Source** Lazzati, Mutti & Metelli 2024 (arXiv 2406.03812), for responses to commitments,
        and divided by the span. **Cost** as `losses`.

        Examples
        --------
        >>> import iirl_opt as iirl
        >>> stay, go = [1, 0], [0, 1]
        >>> game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount=0.5)
        >>> known = iirl.FeasibleRewards(game).observe([[1], [1]], [[1, 0], [1, 0]])
        >>> known.compatibility([0.0, 2.0]), known.compatibility([5.0, 7.0])
        (1.0, 1.0)
        """
        r = check_reward(self.game, reward)
        episodes, spread = self._responses(), float(np.ptp(r))
        if not spread:
            return 0.0
        start = np.asarray(self.game.start)
        lost = [(episode.losses(r).losses, episode.declared.start) for episode in episodes]
        worst = [float(start @ loss if first else loss.max()) for loss, first in lost]
        return max(worst, default=0.0) / spread

    @property
    def _shape(self) -> tuple[int, int, int]:
        """The number of episodes, states and follower actions."""
        return (len(self.episodes), self.game.n_states, self.game.n_follower_actions)

    @property
    def _played(self) -> NDArray[np.bool_]:
        """Which actions are known to be optimal in which plain episode, (T, S, B)."""
        shape = (-1, *self._shape[1:])
        return np.array([e.played for _, e in self._plain], dtype=bool).reshape(shape)

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
        rows = self._wrong_choices(reward, tolerance, exact=exact)
        for t, episode in enumerate(self.episodes, start=1):
            if isinstance(episode, SuboptimalResponse | Preferred):
                found = episode.violated(reward, tolerance, exact=exact)
                rows += [(t, s, b, slack) for s, b, slack in found]
        rows.sort(key=lambda row: -row[3])
        states, actions = (*self.game.states, None), (*self.game.follower_actions, None)
        return tuple(
            ViolatedRow(t, states[-1 if s is None else s], actions[-1 if b is None else b], slack)
            for t, s, b, slack in rows
        )

    def _wrong_choices(
        self, reward: ArrayLike, tolerance: float | None, *, exact: bool
    ) -> list[tuple[int, int | None, int | None, float]]:
        """Return episode, state, action and slack where a choice of a plain episode is violated."""
        shape = (-1, *self._shape[1:])
        allowed: Array | float = 0.0 if tolerance is None else tolerance
        if exact:
            parts = [episode.exact_gaps(reward) for _, episode in self._plain]
            gaps = np.array(parts, dtype=object).reshape(shape)
            allowed = 0.0
        else:
            found = [episode.gaps(reward) for _, episode in self._plain]
            gaps = np.array([each.gaps for each in found]).reshape(shape)
            if tolerance is None:
                local = [np.maximum(each.widths, SHARE * each.scale[:, None]) for each in found]
                allowed = np.array(local).reshape(shape)
        slack = violated_by(gaps, self._played)
        wrong = np.array(slack > allowed, dtype=bool)
        numbers = [t for t, _ in self._plain]
        return [
            (numbers[t], int(s), int(b), float(slack[t, s, b])) for t, s, b in np.argwhere(wrong)
        ]

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
        of a ceiling on a state that no trajectory visits the action is None, and so it is of what a
        response may lose (the gain when it may lose one unit more); of a loss from the start, and
        of a preference, the state is None, too.

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
        states, actions = (*self.game.states, None), (*self.game.follower_actions, None)
        pairs: list[tuple[ObservedRow, float]] = []
        parts = [(t, of_response(given, t, e, rows)) for t, e, rows in self._rows(joint)]
        parts += [(t, of_pool(given, t, pool, joint=joint)) for t, pool in self._pools()]
        parts += [(t, of_loss(given, t, e)) for t, e in self._of_kind(SuboptimalResponse)]
        parts += [(t, of_preference(given, t, e, joint)) for t, e in self._of_kind(Preferred)]
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
            There is a trajectory, or a response that may lose something: the set of its rewards has
            no such list of rows; or a preference.

        **Cost** arithmetic: one factorisation an episode, and a solve a row; for state rewards once
        an episode, whatever set it belongs to.
        """
        self._whole()
        return self._explicit(joint)

    def _explicit(self, joint: bool) -> tuple[Array, Array]:
        """Return the explicit rows of the whole responses of an optimal follower."""
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
            There is a trajectory, or a response that may lose something: the set of its rewards has
            no such list of rows; or a preference.

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

    def _has_gaps(self, joint: bool) -> bool:
        """Return whether any row bounds a gap: there is none where nothing depends on actions."""
        whole = any(part.at.size for _, _, parts in self._rows(joint) for part in parts)
        more = any(isinstance(e, SuboptimalResponse | Preferred) for e in self.episodes)
        return (
            whole
            or more
            or any(at.size for _, pool in self._pools() for at in pool.places(joint=joint)[:2])
        )
