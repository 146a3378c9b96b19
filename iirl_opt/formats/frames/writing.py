"""From games to tables."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.checks import FLAG, checked
from iirl_opt.errors import InvalidArgument
from iirl_opt.formats.choices import IDLE, Integers
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.formats.numbers import number_text
from iirl_opt.game.kernel import LARGEST
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.support import transitions
from iirl_opt.printing.frames import BACKEND, Backend, frame_of, library_for

__all__ = ["frame_columns", "to_frame"]


@checked(backend=BACKEND, exact=FLAG)
def to_frame(
    problem: ImportedGame | TwoAgentMDP, backend: Backend | None = None, *, exact: bool = False
) -> Any:
    """Return a game as a table, of which `from_frame` makes the game again.

    A row for each transition of positive probability, in the columns that this module names;
    choices that the problem's source lacks have none, and an agent whose only action is "-" no
    column. Where not every state has every action, actions may come back in another order.

    Parameters
    ----------
    problem : rewards (S,) and (S, A, B) stand in every row of their choices.
    backend : whose table it is; None: the first that is installed of pandas, polars and pyarrow.
    exact : whether numbers are exact, in text such as "0.25" or "1/3": discount and start, and the
        probabilities if the game is rational. Otherwise they are floats, for arithmetic, and what
        is read back is a game of floats.

    Raises
    ------
    InvalidArgument
        The backend is not installed, or cannot hold the labels, as polars no tuples.
    MissingExtra
        narwhals is not installed, or none of the three.

    **Cost** arithmetic, linear in the transitions.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], "9/10", leader_actions=["-"])
    >>> to_frame(ImportedGame(game, {"reward": [0.0, 1.0]}))  # doctest: +NORMALIZE_WHITESPACE
       state  follower  next_state  probability  reward  discount  start
    0      0         0           0          0.5     0.0       0.9    0.5
    1      0         0           1          0.5     0.0       0.9    0.5
    2      1         0           1          1.0     1.0       0.9    0.5
    """
    columns = frame_columns(ImportedGame.of(problem), exact)
    backend = library_for(backend)
    try:
        return frame_of(columns, backend)
    except (TypeError, ValueError) as wrong:
        raise InvalidArgument(
            "backend",
            f"is {backend}, which holds no such labels ({wrong})",
            "labels of one type, text or numbers",
            backend,
        ) from None


def frame_columns(given: ImportedGame, exact: bool) -> dict[str, Any]:
    """Return the columns of the table of a game."""
    game = given.game
    row, column, weight = transitions(game)
    if given.available is not None:
        kept = given.available.reshape(-1)[row]
        row, column, weight = row[kept], column[kept], weight[kept]
    s, a, b = np.unravel_index(row, game.shape)
    columns: dict[str, Any] = {"state": _take(game.states, s)}
    for agent, names, at in (
        ("leader", game.leader_actions, a),
        ("follower", game.follower_actions, b),
    ):
        if tuple(names) != (IDLE,):
            columns[agent] = _take(names, at)
    columns["next_state"] = _take(game.states, column)
    if exact and game.is_rational:
        below = game.rational.rows.denominators[row]
        columns["probability"] = _quotients(weight, below)
    else:
        columns["probability"] = np.asarray(game.matrix[row, column], dtype=float).ravel()
    for name, r in given.rewards.items():
        worth = r[s] if r.ndim == 1 else r[s, a, b]
        columns["reward" if name == "reward" else f"reward:{name}"] = worth
    for name, marks in given.labels.items():
        columns[f"label:{name}"] = marks[s]
    if exact:
        columns["discount"] = [number_text(game.exact_discount)] * len(row)
        columns["start"] = _take(list(map(number_text, game.exact_start)), s)
    else:
        columns["discount"] = np.full(len(row), game.discount)
        columns["start"] = game.start[s]
    return columns


def _quotients(above: NDArray[Any], below: NDArray[Any]) -> list[str]:
    """Return quotients of integers as texts, each different one written once."""
    known: dict[tuple[int, int], str] = {}
    pairs = list(zip(above.tolist(), below.tolist(), strict=True))
    for n, d in dict.fromkeys(pairs):
        known[n, d] = number_text(Fraction(n, d))
    return [known[pair] for pair in pairs]


def _take(labels: Any, at: Integers) -> Any:
    """Return labels by their places, in an array of their type if they are all numbers."""
    given = list(labels)
    if {type(label) for label in given} <= {int} and all(abs(x) < LARGEST for x in given):
        return np.array(given, dtype=np.int64)[at]
    if {type(label) for label in given} <= {float}:
        return np.array(given)[at]
    held = np.empty(len(given), dtype=object)
    held[:] = given
    return held[at].tolist()
