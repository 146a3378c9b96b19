"""Games on disk: one compressed ``.npz`` file of plain arrays, nothing pickled."""

from __future__ import annotations

import ast
import math
import zipfile
from collections.abc import Mapping
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from iirl_opt.checks import PATH, checked
from iirl_opt.errors import FileProblem, InvalidArgument
from iirl_opt.exact.rows import ExactRows
from iirl_opt.files import read_bytes, writing
from iirl_opt.game.entries import RowBlocks
from iirl_opt.game.kernel import LARGEST
from iirl_opt.game.mdp import GAME, TwoAgentMDP

__all__ = ["game_of", "literal", "load_game", "read_arrays", "save_game", "write_arrays"]

FORMAT, MOST_BYTES = 1, 2**32
FLOATS = ("indptr", "indices", "data")
LABELS = ("states", "leader_actions", "follower_actions")


@checked(game=GAME, path=PATH)
def save_game(game: TwoAgentMDP, path: str | Path) -> None:
    """Write a game to one ``.npz`` file that `load_game` reads back equal, exact numbers too.

    Raises
    ------
    InvalidArgument
        A label is no literal (text, number, tuple of those), so it could not be read back.

    **Cost** arithmetic, linear in the transitions: one file is written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> game = TwoAgentMDP([[[[1, 2]]], [[[0, 1]]]], "9/10")
    >>> with TemporaryDirectory() as folder:
    ...     save_game(game, f"{folder}/game.npz")
    ...     load_game(f"{folder}/game.npz") == game
    True
    """
    write_arrays(game, path, {})


def write_arrays(game: TwoAgentMDP, path: str | Path, more: Mapping[str, Any]) -> None:
    """Write a game, and more arrays beside it, which `load_game` passes over."""
    arrays: dict[str, Any] = {
        **more,
        "format": np.array(FORMAT),
        "shape": np.array(game.shape),
        "exact_discount": np.array(str(game.exact_discount)),
        "exact_start": np.array([str(x) for x in game.exact_start]),
    }
    for name in LABELS:
        arrays[name] = np.array([literal(name, label) for label in getattr(game, name)])
    if game.is_rational:
        rows = game.rational.rows
        arrays["exact_indptr"] = rows.indptr
        for name in ("indices", "numerators", "denominators"):
            arrays[f"exact_{name}"] = _written(getattr(rows, name))
    else:
        csr: Any = sp.csr_array(game.matrix)
        arrays |= {name: getattr(csr, name) for name in FLOATS}
    with writing(path, ".npz") as part:
        np.savez_compressed(part, **arrays)


@checked(path=PATH)
def load_game(path: str | Path) -> TwoAgentMDP:
    """Read a game that `save_game` wrote.

    Raises
    ------
    OSError
        There is no such file, or it cannot be opened.
    FileProblem
        The file is no saved game, or damaged, or of another format version.

    **Cost** arithmetic, linear in the transitions: one file is read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> game = TwoAgentMDP([[[[1, 2]]], [[[0, 1]]]], "9/10")
    >>> with TemporaryDirectory() as folder:
    ...     save_game(game, f"{folder}/game.npz")
    ...     load_game(f"{folder}/game.npz")
    TwoAgentMDP(2 states, 1×1 actions, discount=0.9, 3 transitions, rational)
    """
    return game_of(path, read_arrays(path))


def read_arrays(path: str | Path) -> dict[str, Any]:
    """Return the arrays of a saved game, without floats where there are exact numbers.

    Raises
    ------
    OSError
        There is no such file, or it cannot be opened.
    FileProblem
        The file is no saved game, or damaged, or too large, or of another format version.
    """
    content = BytesIO(read_bytes(path, MOST_BYTES))
    try:
        with content, zipfile.ZipFile(content) as inside:
            held = sum(part.file_size for part in inside.infolist())
            if held <= MOST_BYTES:
                with np.load(content, allow_pickle=False) as file:
                    found = int(file["format"])
                    unread = FLOATS if "exact_indptr" in file else ()
                    arrays = {name: file[name] for name in file.files if name not in unread}
    # On damaged bytes the readers of zip, deflate and npy raise whatever they come across.
    except Exception as problem:
        raise _damaged(path, problem) from problem
    if held > MOST_BYTES:
        raise FileProblem(Path(path), f"unpacks to more than {MOST_BYTES} bytes")
    if found != FORMAT:
        raise FileProblem(Path(path), f"is {found}; allowed {FORMAT}", key="format")
    return arrays


def game_of(path: str | Path, arrays: dict[str, Any], discount: Any = None) -> TwoAgentMDP:
    """Return the game that was written as arrays, which are given up as they are read.

    Parameters
    ----------
    discount : in place of the one that was written.

    Raises
    ------
    FileProblem
        The arrays make no game.
    InvalidGame
        The argument `discount` is outside its range.
    """
    try:
        made = _game(arrays)
    except Exception as problem:
        raise _damaged(path, problem) from problem
    return made if discount is None else made.discounted(discount)


def _damaged(path: str | Path, problem: Exception) -> FileProblem:
    return FileProblem(Path(path), f"is no file that save_game wrote, or damaged ({problem})")


def _game(arrays: dict[str, Any]) -> TwoAgentMDP:
    """Return the game that was written as arrays, which are given up as they are read."""
    shape = tuple(int(n) for n in arrays["shape"])
    kernel: Any
    if "exact_indptr" in arrays:
        kernel = RowBlocks.of(
            ExactRows(
                arrays.pop("exact_indptr"),
                arrays.pop("exact_indices"),
                _integers(arrays.pop("exact_numerators")),
                _integers(arrays.pop("exact_denominators")),
                shape[0],
            )
        )
    else:
        indptr, indices, data = (arrays.pop(name) for name in FLOATS)
        kernel = sp.csr_array((data, indices, indptr), shape=(math.prod(shape), shape[0]))
    discount = Fraction(str(arrays.pop("exact_discount")))
    given = arrays.pop("exact_start").tolist()
    known = {text: Fraction(text) for text in set(given)}
    start = np.array([known[text] for text in given], dtype=object)
    names: dict[str, Any] = {
        name: list(map(ast.literal_eval, arrays.pop(name).tolist())) for name in LABELS
    }
    return TwoAgentMDP(kernel, discount, start, **names)


def literal(name: str, label: Any) -> str:
    """Return a label as Python writes it, or say that it could not be read back."""
    text = repr(label)
    try:
        same = ast.literal_eval(text) == label
    except (ValueError, SyntaxError):
        same = False
    if not same:
        raise InvalidArgument(name, f"contain {text}", "text, numbers and tuples of those", label)
    return text


def _written(numbers: Any) -> Any:
    """Return integers in the narrowest type, or in decimal beyond 64 bits: NumPy has no type."""
    if numbers.dtype == object:
        return np.array([str(n) for n in numbers.tolist()])
    return numbers.astype(np.min_scalar_type(-1 - int(numbers.max())))


def _integers(written: Any) -> Any:
    """Return the integers that were written, some day as decimals of any size."""
    if written.dtype.kind == "i":
        return written
    numbers = [int(text) for text in written.tolist()]
    return np.array(numbers, dtype=np.int64 if max(numbers) < LARGEST else object)
