"""A session: walks of a follower, one after the other, under the doors that a learner opens.

A walk goes from the start through open doors, and ends by staying where it is for good: the last
step pushes against a locked door. What goes into the record is that walk alone; one that was begun
and taken back was never made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import array_of_floats, checked, each, is_a, one_of
from iirl_opt.errors import InvalidArgument
from iirl_opt.follower.optimal import best_responses
from iirl_opt.game.grid_text import DIRECTIONS
from iirl_opt.observation import Trajectory, record_trajectory
from iirl_opt.play.doorkeeper import Doorkeeper
from iirl_opt.play.maze import PrizeMaze
from iirl_opt.printing.table import safe

__all__ = ["Session", "walk_for"]

Array = NDArray[np.float64]


@checked(learner=is_a(Doorkeeper), walk=each(one_of(*DIRECTIONS)))
@dataclass(frozen=True, eq=False)
class Session:
    """A game of some walks, as it stands; each move returns another session.

    Parameters
    ----------
    learner : what opens the doors, and knows the walks that are over.
    walk : the moves of the walk that is under way; leave them to `move`.

    Raises
    ------
    InvalidArgument
        The walk goes through a door that is locked: names the move.

    Examples
    --------
    >>> session = Session(Doorkeeper())
    >>> sorted(session.exits), session.round
    (['N', 'S'], 1)
    >>> session.move("S").stay().round
    2
    """

    learner: Doorkeeper = field(default_factory=Doorkeeper)
    walk: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "walk", tuple(self.walk))
        if self.walk:
            _ = self.states  # which refuses a walk through a locked door

    def __repr__(self) -> str:
        where = self.maze.game.states[self.cart]
        return f"Session(walk {self.round}, the cart in {where}, {self.learner!r})"

    def _repr_html_(self) -> str:
        doors = None if self.over else self.doors
        return (
            f"<pre>{safe(self.maze.grid.render(leader=doors))}</pre><pre>{safe(repr(self))}</pre>"
        )

    @property
    def maze(self) -> PrizeMaze:
        """The maze."""
        return self.learner.maze

    @cached_property
    def doors(self) -> Array:
        """The commitment (S, A) of this walk."""
        return self.learner.ask()

    @property
    def round(self) -> int:
        """The number of this walk, from 1."""
        return self.learner.episode + 1

    @property
    def over(self) -> bool:
        """Whether the prizes are named, or the walks contradict each other."""
        return len(self.learner.rankings) <= 1

    @cached_property
    def ways(self) -> tuple[Mapping[str, int], ...]:
        """Where the open doors of each state lead, by direction."""
        return self.maze.exits(self.doors)

    @cached_property
    def states(self) -> tuple[int, ...]:
        """The states of the walk, from the start to where the cart stands."""
        way = [self.maze.start]
        for i, direction in enumerate(self.walk):
            ahead = self.ways[way[-1]]
            if direction not in ahead:
                allowed = ", ".join(ahead) or "none: every door there is locked"
                raise InvalidArgument(f"walk[{i}]", f"is {direction!r}", allowed, direction)
            way.append(ahead[direction])
        return tuple(way)

    @property
    def cart(self) -> int:
        """The state in which the cart stands."""
        return self.states[-1]

    @property
    def exits(self) -> Mapping[str, int]:
        """Where the open doors of the cart's cell lead, by direction."""
        return self.ways[self.cart]

    def move(self, direction: str) -> Session:
        """Return the session after a move.

        Parameters
        ----------
        direction : N, E, S or W.

        Raises
        ------
        InvalidArgument
            No open door leads there.
        """
        if not isinstance(direction, str) or direction not in self.exits:
            allowed = ", ".join(self.exits) or "none: every door here is locked, so stay"
            raise InvalidArgument("direction", f"is {direction!r}", allowed, direction)
        return replace(self, walk=(*self.walk, direction))

    def back(self) -> Session:
        """Return the session with the cart at the start again, as if it had not moved."""
        return replace(self, walk=())

    def trajectory(self) -> Trajectory:
        """Return the walk as what is seen of it, when the cart stays where it stands."""
        game = self.maze.game
        locked = next(d for d in DIRECTIONS if d not in self.exits)
        moves = (*self.walk, locked)
        steps = [
            (game.states[s], game.leader_actions[int(self.doors[s].argmax())], move)
            for s, move in zip(self.states, moves, strict=True)
        ]
        return record_trajectory(game, self.doors, steps)

    def stay(self) -> Session:
        """Return the session whose learner knows this walk, at the start of the next.

        **Cost** arithmetic: that of the learner's ``tell``.
        """
        return Session(self.learner.tell(self.trajectory()))


@checked(session=is_a(Session), reward=array_of_floats(1))
def walk_for(session: Session, reward: ArrayLike) -> tuple[str, ...]:
    """Return the moves of an optimal follower from where the cart stands, before it stays.

    It stays as soon as that is optimal: at the start, where there is nothing to win.

    Parameters
    ----------
    reward : shape (S,).

    **Cost** one planning problem.

    Examples
    --------
    >>> session = Session()
    >>> [walk_for(session, session.maze.reward(prizes)) for prizes in ("CF", "GE")]
    [(), ('S', 'S', 'W', 'S')]
    """
    best = best_responses(session.maze.game, reward, session.doors).optimal
    moves: list[str] = []
    while True:
        optimal = [d for d, is_best in zip(DIRECTIONS, best[session.cart], strict=True) if is_best]
        if any(d not in session.exits for d in optimal):
            return tuple(moves)
        moves.append(optimal[0])
        session = session.move(optimal[0])
