"""The leader of ``iirl-opt play``: which doors teach most, and when the prizes can be named.

It asks and tells as every `iirl_opt.learn.Learner`. What it is told goes into `FeasibleRewards`,
and two questions are put to what it knows:

*Which rankings are left.* A ranking (`iirl_opt.play.maze`) is *excluded* by an episode when its
reward violates a choice that was observed, by more than what rounding can be: that is a proof, for
every optimal follower and however it breaks ties. When one is left it is named; when none is, the
episodes contradict each other, and a smallest set of them that do is `contradiction`.

*What each letter may be worth.* Among all rewards on the letters that sum to one, of any worth and
not of rankings alone, the least and the largest of each letter that explains everything: two linear
programs a letter. They say how the feasible set shrinks, and decide nothing.

The next ward is the one that leaves fewest rankings in the worst case, then on average, among those
not yet asked for. A follower none of whose prizes can be reached may walk anywhere, so whatever the
answer, the rankings that have no letter in the ward stay. Equals are drawn by the seed. On this
maze that names every ranking after at most five episodes, if a follower stays at the start when
there is nothing to win.

Source: ours; the protocol is that of the paper's Section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import SEED, checked, each, is_a, optional
from iirl_opt.errors import Infeasible, InvalidArgument
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.learn.learner import Learner
from iirl_opt.observation import Observation, Trajectory
from iirl_opt.play.maze import RANKING, PrizeMaze, Ranking, Ward
from iirl_opt.rewards.feasible import FEASIBLE, FeasibleRewards
from iirl_opt.rewards.told import AnyEpisode

__all__ = ["Doorkeeper", "left_after", "score_of"]

Array = NDArray[np.float64]


@checked(maze=is_a(PrizeMaze), seed=SEED, feasible=FEASIBLE, left=optional(each(RANKING)))
@dataclass(frozen=True, eq=False)
class Doorkeeper(Learner):
    """A learner that opens doors until one first and one second prize explain every answer.

    Parameters
    ----------
    maze : the maze, which says what the prizes may be.
    seed : of the choice among doors that teach alike.
    feasible : what is known so far; leave it to `tell`.
    left : the rankings that no episode excludes, all by default; leave it to `tell`.

    Attributes
    ----------
    game : that of the maze.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> maze = PrizeMaze()
    >>> partner, learner = iirl.OptimalFollower(), Doorkeeper(maze)
    >>> while learner.named is None:
    ...     pi1 = learner.ask()
    ...     learner = learner.tell(partner.respond(maze.game, maze.reward("FC"), pi1))
    >>> learner.named
    ('F', 'C')
    """

    maze: PrizeMaze = field(default_factory=PrizeMaze)
    seed: int = 0
    feasible: FeasibleRewards | None = None
    left: tuple[Ranking, ...] | None = None
    game: TwoAgentMDP = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "game", self.maze.game)
        if self.feasible is not None and self.feasible.game != self.game:
            allowed = "rewards of the maze's game"
            raise InvalidArgument("feasible", "is of another game", allowed, self.feasible)

    def __repr__(self) -> str:
        said = (
            f"{self.episode} episodes, {len(self.rankings)} of {len(self.maze.rankings)} rankings"
        )
        return f"Doorkeeper(seed={self.seed}, {said})"

    @property
    def known(self) -> FeasibleRewards:
        """The rewards that explain every answer."""
        return FeasibleRewards(self.game) if self.feasible is None else self.feasible

    @property
    def history(self) -> tuple[Observation | Trajectory, ...]:
        """All that it was told, in order."""
        return self.known.answers

    @property
    def rankings(self) -> tuple[Ranking, ...]:
        """The rankings that no episode excludes."""
        return self.maze.rankings if self.left is None else self.left

    @property
    def named(self) -> Ranking | None:
        """The first and the second prize, where one ranking is left."""
        return self.rankings[0] if len(self.rankings) == 1 else None

    @cached_property
    def contradiction(self) -> tuple[int, ...] | None:
        """Episodes, counted from 1, that no ranking explains together, or None.

        The answer is minimal: without any one of them some ranking explains the rest.

        **Cost** arithmetic: a planning problem an episode and ranking, once.
        """
        if self.rankings:
            return None
        every = self.maze.rankings
        explained = [set(self._explaining(episode, every)) for episode in self.known.episodes]
        kept = list(range(len(explained)))
        for t in range(len(explained)):
            fewer = [i for i in kept if i != t]
            if not set(every).intersection(*(explained[i] for i in fewer)):
                kept = fewer
        return tuple(t + 1 for t in kept)

    def ask(self) -> Array:
        """Return the commitment (S, A) to play in the next episode.

        Once the prizes are named, the one that opens the way to the first.

        **Cost** arithmetic.
        """
        return self._doors.copy()

    def tell(self, response: Trajectory | ArrayLike, *, pi1: ArrayLike | None = None) -> Self:
        """Return the learner that also knows this response; the old one stays as it is.

        Parameters
        ----------
        response : policy (S, B), a mask (S, B) of all optimal actions, or a trajectory.
        pi1 : what was committed, where it was not what `ask` returned; a trajectory knows it.

        Raises
        ------
        InvalidPolicy, InvalidObservation
            The response is none of this game; nothing is lost.

        **Cost** arithmetic: a planning problem for each ranking that is left.
        """
        if pi1 is None:
            pi1 = response.pi1 if isinstance(response, Trajectory) else self.ask()
        known = self.known.observe(pi1, response)
        left = self._explaining(known.episodes[-1], self.rankings)
        return replace(self, feasible=known, left=left)

    def estimate(self) -> Array | None:
        """Return the reward (S,) of the ranking that is named; None before."""
        return None if self.named is None else self.maze.reward(self.named)

    def facts(self) -> dict[str, float]:
        """Return how many rankings are left."""
        return {"rankings": float(len(self.rankings))}

    def shares(self) -> Mapping[str, tuple[float, float]] | None:
        """Return the least and the largest share of all worth that each letter may have.

        None where no reward on the letters explains every answer.

        **Cost** two LPs a letter.
        """
        found = {}
        for letter, state in self.maze.states.items():
            unit = np.eye(self.game.n_states)[state]
            try:
                least, most = (self._extreme(sign * unit) for sign in (-1.0, 1.0))
            except Infeasible:
                return None
            found[letter] = max(0.0, -least), min(1.0, most)
        return found

    def _explaining(self, episode: AnyEpisode, among: tuple[Ranking, ...]) -> tuple[Ranking, ...]:
        """Return those of some rankings that an episode does not exclude.

        A walk tells nothing of letters that the doors do not lead to, so rankings that agree on the
        others are decided together.
        """
        seen = episode.observation
        near = set(self.maze.letters)
        if isinstance(seen, Trajectory):
            near &= self.maze.reach(seen.pi1)
        alone, decided = FeasibleRewards(self.game, (episode,)), dict[Ranking | Ward, bool]()
        left = []
        for ranking in among:
            agree: Ranking | Ward = ranking
            if not near.issuperset(ranking):  # one prize at most counts, whatever it is worth
                agree = frozenset(ranking) & near
            if agree not in decided:
                decided[agree] = alone.contains(self.maze.reward(ranking))
            if decided[agree]:
                left.append(ranking)
        return tuple(left)

    def _extreme(self, objective: Array) -> float:
        elsewhere = self.maze.elsewhere
        found = self.known.maximise(objective, subject_to=lambda r: [r[elsewhere] == 0])
        return found.value

    @cached_property
    def _doors(self) -> Array:
        if self.named is not None:
            return self.maze.wards[frozenset(self.named[:1])]
        rng = np.random.default_rng([self.seed, self.episode])
        draws = rng.random(len(self.maze.wards))
        order = zip(self.maze.wards.items(), draws, strict=True)
        told = [seen.pi1 for seen in self.history]
        scores = {
            (
                any(np.array_equal(pi1, old) for old in told),
                *score_of(self.rankings, ward),
                draw,
            ): pi1
            for (ward, pi1), draw in order
        }
        return scores[min(scores)]


def left_after(rankings: Iterable[Ranking], ward: Ward) -> dict[str | None, tuple[Ranking, ...]]:
    """Return the rankings that each answer to a ward leaves, of some.

    An answer is the letter that the follower goes to; None where it stays, having nothing to win. A
    ranking without a letter in the ward is left by all of them.
    """
    answers: dict[str | None, list[Ranking]] = {None: []}
    for ranking in rankings:
        to = next((letter for letter in ranking if letter in ward), None)
        answers.setdefault(to, []).append(ranking)
    idle = answers.pop(None)
    return {to: (*some, *idle) for to, some in answers.items()} | {None: tuple(idle)}


def score_of(rankings: Iterable[Ranking], ward: Ward) -> tuple[int, int]:
    """Return how many of some rankings a ward leaves: at most, and summed over all that are true.

    The less the better; `Doorkeeper` asks for a ward of the least score.
    """
    left = left_after(rankings, ward)
    idle = len(left[None])
    answering = {to: len(some) - idle if to else idle for to, some in left.items()}
    return max(map(len, left.values())), sum(n * len(left[to]) for to, n in answering.items())
