"""The maze of ``iirl-opt play``: eight lettered cells, of which two are prizes in secret.

    # # A # B # #
    # . . . . . #        The leader opens two doors of every cell, as in Maze-Maker, for the whole
    C . # . # . D        walk; the follower walks from S and stays where it likes. Nothing slips, so
    # . . S . . #        a walk that ends by staying shows all states that it leads to: the rewards
    E . # . # . F        that explain it are exactly the cone of `iirl_opt.rewards.trajectories`.
    # . . . . . #
    # # G # H # #

A *ranking* is a first and a second prize, two letters. The first pays two at each step that the
cart stands on it, the second one, all else nothing. Every letter is a dead end, and the shortest
way to each has four steps. So where the open doors leave no way but shortest ones, an optimal
follower goes to the first prize if it can be reached, else to the second, else every walk is
optimal; as the discount is one for all, how much more the first is worth does not matter.

A *ward* is a set of letters that can be opened together: the doors on the shortest ways to these,
at most two a cell, while the others lead nowhere. A cell of the start's four ways has two letters
behind it, so a ward is what two of the ways have, or some of it.

Source: paper, Section 5, of whose Maze-Maker this is a small relative; prizes that stay in place of
those that vanish, and no slips.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import breadth_first_order

from iirl_opt.checks import checked, refuse
from iirl_opt.game.grid import GridGame, grid_game
from iirl_opt.game.grid_text import DIRECTIONS
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.moves import neighbours_of
from iirl_opt.game.policy import deterministic_policy

__all__ = ["RANKING", "PrizeMaze", "Ranking", "Ward"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

Ranking = tuple[str, str]
Ward = frozenset[str]

TEXT = ("##A#B##", "#.....#", "C.#.#.D", "#..S..#", "E.#.#.F", "#.....#", "##G#H##")
LETTERS = "ABCDEFGH"
DISCOUNT = "9/10"
WORTH = (2.0, 1.0)  # of the first prize and of the second


def RANKING(name: str, value: Any) -> Ranking:
    """Return two different letters of the maze, the first prize first; ``"CF"`` will do."""
    try:
        first, second = tuple(value.upper()) if isinstance(value, str) else value
        if first != second and {first, second} <= set(LETTERS):
            return str(first), str(second)
    except (TypeError, ValueError):
        pass
    allowed = f"two different letters of {LETTERS}, the first prize first: 'CF'"
    raise refuse(name, value, allowed)


@dataclass(frozen=True)
class PrizeMaze:
    """The maze, its lettered cells, and what its doors can open.

    **Source** paper, Section 5. **Cost** arithmetic: each part is made once.

    Examples
    --------
    >>> maze = PrizeMaze()
    >>> maze.game
    TwoAgentMDP(29 states, 6×4 actions, discount=0.9, 696 transitions, rational)
    >>> len(maze.rankings), len(maze.wards)
    (56, 66)
    >>> print(maze.grid)
    # # A # B # #
    # . . . . . #
    C . # . # . D
    # . . S . . #
    E . # . # . F
    # . . . . . #
    # # G # H # #
    """

    def _repr_html_(self) -> str:
        return self.grid._repr_html_()

    @cached_property
    def grid(self) -> GridGame:
        """The maze with its picture; the letters are prizes of nothing, of which none is true."""
        nothing = dict.fromkeys(LETTERS, 0)
        return grid_game(TEXT, discount=DISCOUNT, prizes=nothing, prize_rule="stay")

    @property
    def game(self) -> TwoAgentMDP:
        """The game: a state a cell, the leader's six pairs of doors, the follower's four moves."""
        return self.grid.game

    @cached_property
    def states(self) -> Mapping[str, int]:
        """The state of each letter, in the order of the letters."""
        symbols = ["".join(TEXT[r][c]) for r, c in self.grid.cells]
        return {letter: symbols.index(letter) for letter in LETTERS}

    @property
    def letters(self) -> tuple[str, ...]:
        """The letters, in order."""
        return tuple(LETTERS)

    @cached_property
    def start(self) -> int:
        """The state in which every walk begins."""
        return int(np.argmax(self.game.start))

    @cached_property
    def rankings(self) -> tuple[Ranking, ...]:
        """Every first and second prize."""
        return tuple((first, second) for first, second in permutations(LETTERS, 2))

    @checked(ranking=RANKING)
    def reward(self, ranking: Any) -> Array:
        """Return the reward (S,) of a ranking.

        Parameters
        ----------
        ranking : two letters, the first prize first; ``"CF"`` will do.

        Raises
        ------
        InvalidArgument
            They are not two different letters of the maze.
        """
        reward = np.zeros(self.game.n_states)
        reward[[self.states[letter] for letter in ranking]] = WORTH
        return reward

    @cached_property
    def elsewhere(self) -> Integers:
        """The states without a letter, which no prize can be in."""
        return np.setdiff1d(np.arange(self.game.n_states), list(self.states.values()))

    def exits(self, pi1: ArrayLike) -> tuple[Mapping[str, int], ...]:
        """Return where the open doors of each state lead, by direction; none is onto a wall.

        Parameters
        ----------
        pi1 : the commitment, shape (S, A); a door that it opens with any probability is open.

        Raises
        ------
        InvalidPolicy
            It is none of this maze.
        """
        opened = (self.game.check_leader_policy(pi1) > 0) @ self._opens
        return tuple(
            {DIRECTIONS[d]: int(to[d]) for d in np.flatnonzero(doors) if to[d] != state}
            for state, (doors, to) in enumerate(zip(opened, self._neighbours.T, strict=True))
        )

    def reach(self, pi1: ArrayLike) -> Ward:
        """Return the letters that open doors lead to from the start.

        Parameters
        ----------
        pi1 : the commitment, shape (S, A).

        Raises
        ------
        InvalidPolicy
            It is none of this maze.
        """
        exits, reached = self.exits(pi1), [self.start]
        for state in reached:
            reached += [ahead for ahead in exits[state].values() if ahead not in reached]
        return frozenset(letter for letter, state in self.states.items() if state in reached)

    @cached_property
    def wards(self) -> Mapping[Ward, Array]:
        """Every ward with the commitment (S, A) that opens it."""
        steps = {letter: self._steps_to(state) for letter, state in self.states.items()}
        found = {}
        for size in range(1, len(LETTERS) + 1):
            for letters in combinations(LETTERS, size):
                needed = np.zeros((self.game.n_states, len(DIRECTIONS)), dtype=bool)
                for letter in letters:
                    needed[tuple(steps[letter])] = True
                if needed.sum(axis=1).max() <= self._opens.sum(axis=1).max():
                    found[frozenset(letters)] = self._doors(needed)
        return found

    @cached_property
    def _neighbours(self) -> Integers:
        """The state that each direction leads to, itself before a wall, shape (4, S)."""
        return neighbours_of(self.grid.cells, ~self.grid.walls)

    @cached_property
    def _opens(self) -> NDArray[np.bool_]:
        """Which directions each leader action opens, shape (A, 4)."""
        names = [str(name).removeprefix("open ") for name in self.game.leader_actions]
        return np.array([[d in name for d in DIRECTIONS] for name in names])

    @cached_property
    def _before(self) -> Integers:
        """The state before each on the shortest way from the start, shape (S,)."""
        n = self.game.n_states
        here = np.tile(np.arange(n), len(DIRECTIONS))
        joined = sp.csr_array((np.ones(here.size), (here, self._neighbours.ravel())), shape=(n, n))
        return np.asarray(breadth_first_order(joined, self.start)[1], dtype=np.int64)

    def _steps_to(self, state: int) -> Integers:
        """Return the states and directions of the shortest way from the start, shape (2, steps)."""
        way = [state]
        while way[-1] != self.start:
            way.append(int(self._before[way[-1]]))
        pairs = zip(way[1:], way[:-1], strict=True)
        steps = [(s, int(np.argmax(self._neighbours[:, s] == to))) for s, to in pairs]
        return np.array(steps, dtype=np.int64).T

    def _doors(self, needed: NDArray[np.bool_]) -> Array:
        """Return the commitment whose pairs hold all doors needed (S, 4) and lead little elsewhere.

        Of the pairs that do, one that opens onto walls is best, else back to where one came from.
        """
        leads = np.arange(self.game.n_states)[:, None] != self._neighbours.T
        back = self._before[:, None] == self._neighbours.T
        missed = needed.astype(int) @ ~self._opens.T
        idle = (leads * (2.0 - back) * ~needed) @ self._opens.T
        return deterministic_policy((missed * 100 + idle).argmin(axis=1), len(self._opens))
