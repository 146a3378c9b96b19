"""A game without the states that cannot occur, and the way back to all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.brief import in_brief
from iirl_opt.checks import checked, refuse
from iirl_opt.errors import InvalidArgument
from iirl_opt.exact.rows import ExactRows
from iirl_opt.game.classes import reachable
from iirl_opt.game.entries import RowBlocks
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.support import row_pointers, transitions
from iirl_opt.printing.records import with_html

__all__ = ["Pruned", "prune"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pruned:
    """A game without the states that cannot occur, and the way back.

    Attributes
    ----------
    game : the smaller game, of S' states, with the labels and exact numbers of the old one.
    kept : the old numbers of its states, ascending, shape (S',).
    n_states : the number of states of the old game, S.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0]]], [[[0, 1]]]], 0.9, start=[1, 0], states=["in", "out"])
    >>> pruned = prune(game)
    >>> pruned.kept, pruned.game.states
    (array([0]), ('in',))
    >>> pruned.extend([2.5], fill=np.nan)
    array([2.5, nan])
    """

    game: TwoAgentMDP
    kept: Integers
    n_states: int

    __repr__ = in_brief

    _repr_html_ = with_html

    def restrict(self, array: ArrayLike) -> NDArray[Any]:
        """Return an array over the old states, shape (S, …), on those kept: (S', …)."""
        return self._over(array, self.n_states)[self.kept]

    def extend(self, array: ArrayLike, fill: Any) -> NDArray[Any]:
        """Return an array over the states kept, shape (S', …), on all old ones: (S, …).

        Parameters
        ----------
        fill : what stands at the states left out; a number, NaN too, or an array that fits one
            state.
        """
        known = self._over(array, self.kept.size)
        kind = np.result_type(known, np.asarray(fill))
        try:
            full = np.full((self.n_states, *known.shape[1:]), fill, dtype=kind)
        except ValueError:
            raise refuse("fill", fill, f"a number, or an array {known.shape[1:]}") from None
        full[self.kept] = known
        return full

    @staticmethod
    def _over(array: ArrayLike, n_states: int) -> NDArray[Any]:
        known = np.asarray(array)
        if np.ma.is_masked(array) or (known.dtype.kind == "f" and np.isnan(known).any()):
            raise InvalidArgument("array", "holds NaN or masked entries", "neither", array)
        if known.shape[:1] != (n_states,):
            raise InvalidArgument(
                "array", f"has shape {known.shape}", f"({n_states}, …)", known.shape
            )
        return known


@checked(game=GAME)
def prune(game: TwoAgentMDP) -> Pruned:
    """Return the game on the states that can occur at all, whatever the agents do.

    Values, optimal actions and occupancies there are those of the whole game.
    **Cost** arithmetic: one graph search.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0]]], [[[1, 1]]]], 0.9, start=[1, 0], states=["in", "out"])
    >>> pruned = prune(game)
    >>> pruned.game.states
    ('in',)
    >>> pruned.extend([10.0], fill=np.nan)
    array([10., nan])
    """
    mask = reachable(game)
    kept = np.flatnonzero(mask)
    kept.flags.writeable = False
    rows = np.repeat(mask, game.n_choices)
    kernel: Any = game.matrix[rows][:, kept]
    start = np.array([game.exact_start[s] for s in kept], dtype=object)
    if game.is_rational:
        row, column, numerators = transitions(game)
        inside = rows[row]
        kernel = RowBlocks.of(
            ExactRows(
                row_pointers((np.cumsum(rows) - 1)[row[inside]], int(rows.sum())),
                (np.cumsum(mask) - 1)[column[inside]],
                numerators[inside],
                game.rational.rows.denominators[rows],
                kept.size,
            )
        )
    smaller = TwoAgentMDP(
        kernel,
        game.exact_discount,
        start,
        states=[game.states[s] for s in kept],
        leader_actions=game.leader_actions,
        follower_actions=game.follower_actions,
    )
    return Pruned(smaller, kept, game.n_states)
