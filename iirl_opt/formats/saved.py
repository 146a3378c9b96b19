"""Saved games (``.npz``) with what came along with them: rewards, labels, available choices.

The file is that of `iirl_opt.save_game`, with more arrays beside: `iirl_opt.load_game` reads the
game of it, and `read_npz` reads what `iirl_opt.save_game` wrote.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np

from iirl_opt.checks import PATH, checked
from iirl_opt.errors import FileProblem
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.store import game_of, literal, read_arrays, write_arrays

__all__ = ["read_npz", "write_npz"]


@checked(path=PATH)
def read_npz(path: str | Path, discount: Any = None) -> ImportedGame:
    """Read a saved game, and the rewards, labels and available choices beside it.

    Parameters
    ----------
    discount : 0 ≤ γ < 1, used in place of the file's.

    Raises
    ------
    FileProblem
        The file is no saved game, or damaged, or of another format version.
    InvalidGame
        The argument `discount` is outside its range.
    OSError
        There is no such file, or it cannot be opened.

    **Cost** arithmetic.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import iirl_opt as iirl
    >>> game = iirl.TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], "1/2", states=["hall", "goal"])
    >>> with TemporaryDirectory() as folder:
    ...     write_npz(ImportedGame(game, labels={"done": [False, True]}), Path(folder, "game.npz"))
    ...     found = read_npz(Path(folder, "game.npz"), discount="9/10")
    >>> found.game.discount, found.labels["done"]
    (0.9, array([False,  True]))
    """
    arrays = read_arrays(path)
    game = game_of(path, arrays, discount)
    try:
        return ImportedGame(
            game,
            {name: arrays[f"reward_{i}"] for i, name in enumerate(_read_names(arrays, "rewards"))},
            {name: arrays[f"label_{i}"] for i, name in enumerate(_read_names(arrays, "labels"))},
            arrays.get("available"),
            str(arrays.get("source", "")),
        )
    # Whatever the arrays beside the game are, they are not those that were written.
    except Exception as problem:
        raise FileProblem(Path(path), f"is no file that write_npz wrote ({problem})") from problem


@checked(path=PATH)
def write_npz(problem: ImportedGame | TwoAgentMDP, path: str | Path) -> None:
    """Write a game with its rewards and labels to one file, which `read_npz` reads back equal.

    Raises
    ------
    InvalidArgument
        A state or action is no literal (text, number, tuple of those), so it could not be read
        back.
    OSError
        The folder is not there or cannot be written to.

    **Cost** arithmetic.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import iirl_opt as iirl
    >>> game = iirl.TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], "1/2")
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "game.npz")
    ...     write_npz(ImportedGame(game, {"steps": [1.0, 0.0]}), path)
    ...     read_npz(path).reward("steps")
    array([1., 0.])
    """
    given = ImportedGame.of(problem)
    more: dict[str, Any] = {
        "rewards": np.array([literal("rewards", name) for name in given.rewards]),
        "labels": np.array([literal("labels", name) for name in given.labels]),
        "source": np.array(given.source),
    }
    more |= {f"reward_{i}": array for i, array in enumerate(given.rewards.values())}
    more |= {f"label_{i}": array for i, array in enumerate(given.labels.values())}
    if given.available is not None:
        more["available"] = given.available
    write_arrays(given.game, path, more)


def _read_names(arrays: dict[str, Any], key: str) -> list[str]:
    """Return names that were written as literals, none where a game alone was saved."""
    return [ast.literal_eval(str(text)) for text in arrays.get(key, ())]
