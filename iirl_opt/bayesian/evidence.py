"""Evidence: what the follower was seen to do, as counts (paper, Section 5.1).

Given reward and parameter, the episodes are independent and only the follower's choices matter: the
commitment and the kernel enter the probability of a trajectory by factors that depend on neither.
So an episode is its commitment and the counts ``n(s, b)`` of its actions, and the log-likelihood is

    Σ_episodes Σ_{s, b} n(s, b) log π2(b | s, π1, r, θ).

Episodes under one commitment share their counts: thirty trajectories in one environment cost what
one costs. A response policy seen whole counts as `weight` observations in every state, spread as
the policy is; for large weights it is then known, for small ones it is a hint.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import POSITIVE, array_of_floats, checked, each, kept, whole
from iirl_opt.errors import InvalidObservation
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.policy import as_floats
from iirl_opt.observation import SEEN, Observation, Trajectory, observe
from iirl_opt.printing.records import Tabular

__all__ = ["Evidence"]

Array = NDArray[np.float64]


@checked(
    game=GAME,
    commitments=each(kept(array_of_floats(2))),
    counts=each(kept(array_of_floats(2))),
    episodes=whole(0),
)
@dataclass(frozen=True, eq=False)
class Evidence(Tabular):
    """All episodes seen so far; immutable, `observe` and ``count`` return what knows one more.

    Parameters
    ----------
    game : the game.

    Attributes
    ----------
    commitments : the different commitments, each (S, A), in the order of their first episode.
    counts : the observations (S, B) under each of them.
    episodes : the number of episodes.

    Examples
    --------
    >>> from iirl_opt.observation import record_trajectory
    >>> game = TwoAgentMDP([[[[0, 1], [1, 0]]], [[[1, 0], [0, 1]]]], discount=0.5)
    >>> seen = record_trajectory(game, [[1.0], [1.0]], [(0, 0, 0), (1, 0, 1), (1, 0, 1)])
    >>> Evidence(game).observe(seen).counts[0]
    array([[1., 0.],
           [0., 2.]])
    """

    game: TwoAgentMDP
    commitments: tuple[Array, ...] = ()
    counts: tuple[Array, ...] = ()
    episodes: int = 0

    __repr__ = in_brief

    @checked(weight=POSITIVE, seen=SEEN)
    def observe(self, seen: Trajectory | Observation, *, weight: float = 1.0) -> Evidence:
        """Return the evidence with one episode more.

        Parameters
        ----------
        seen : a trajectory, or a response policy that was seen whole.
        weight : > 0, what each step, or each state of a whole policy, counts for.

        Raises
        ------
        InvalidObservation
            A mask of all optimal actions: it says what is optimal, not what was played. Or a
            response of declared suboptimality, which a likelihood has no place for.
        """
        if isinstance(seen, Trajectory):
            counts = np.zeros((self.game.n_states, self.game.n_follower_actions))
            np.add.at(counts, (seen.states, seen.follower_actions), weight)
            return self.count(seen.pi1, counts)
        if seen.suboptimality is not None:
            said = f"is declared suboptimal ({seen.suboptimality}), which no likelihood knows"
            allowed = "the response alone: the family says how the follower errs"
            raise InvalidObservation("seen", said, allowed, seen)
        if seen.whole:
            raise InvalidObservation(
                "response", "is a mask of optimal actions", "a policy (S, B) or a trajectory", seen
            )
        return self.count(seen.pi1, weight * seen.pi2)

    @checked(weight=POSITIVE)
    def respond(self, pi1: ArrayLike, response: ArrayLike, *, weight: float = 1.0) -> Evidence:
        """Return the evidence with a whole response policy (S, B) to the commitment `pi1` more."""
        return self.observe(observe(self.game, pi1, response), weight=weight)

    def count(self, pi1: ArrayLike, counts: ArrayLike) -> Evidence:
        """Return the evidence with counts (S, B) under the commitment `pi1` (S, A) more.

        Raises
        ------
        InvalidPolicy, InvalidObservation
            Names the state and action of a negative or infinite count.
        """
        commitment = self.game.check_leader_policy(pi1)
        number = as_floats(counts, "counts", InvalidObservation)
        shape = (self.game.n_states, self.game.n_follower_actions)
        if number.shape != shape:
            raise InvalidObservation("counts", f"has shape {number.shape}", f"{shape}", number)
        bad = ~(np.isfinite(number) & (number >= 0))
        if bad.any():
            s, b = np.argwhere(bad)[0]
            place = f"s={self.game.states[s]!r}, b={self.game.follower_actions[b]!r}"
            raise InvalidObservation(
                f"counts[{place}]", f"is {number[s, b]}", "finite numbers ≥ 0", number[s, b]
            )
        known = list(self.counts)
        at = next(
            (i for i, old in enumerate(self.commitments) if np.array_equal(old, commitment)), None
        )
        if at is not None:
            number = known.pop(at) + number
        for array in (commitment, number):
            array.flags.writeable = False
        known.insert(len(known) if at is None else at, number)
        return replace(
            self,
            commitments=self.commitments if at is not None else (*self.commitments, commitment),
            counts=tuple(known),
            episodes=self.episodes + 1,
        )
