"""Games on disk: one compressed ``.npz`` file of plain arrays, nothing pickled."""

from __future__ import annotations

import ast
import math
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
from iirl_opt.game.mdp import GAME, TwoAgentMDP

__all__ = ["load_game", "save_game"]

FORMAT, MOST_BYTES = 1, 2**32
LABELS = ("states", "leader_actions", "follower_actions")


@checked(game=GAME, path=PATH)
def save_game(game: TwoAgentMDP, path: str | Path) -> None:
    """Write a game to one ``.npz`` file that `load_game` reads back equal, exact numbers too.

    Raises
    ------
    InvalidArgument
        A label is no literal (text, number, tuple of those), so it could not be read back.
    """
    csr: Any = sp.csr_array(game.matrix)
    arrays: dict[str, Any] = {
        "format": np.array(FORMAT),
        "shape": np.array(game.shape),
        "discount": np.array(game.discount),
        "start": game.start,
        "indptr": csr.indptr,
        "indices": csr.indices,
        "data": csr.data,
        "exact_discount": np.array(str(game.exact_discount)),
        "exact_start": np.array([str(x) for x in game.exact_start]),
    }
    for name in LABELS:
        arrays[name] = np.array([_literal(name, label) for label in getattr(game, name)])
    if game.is_rational:
        # Integers beyond 64 bits have no NumPy type, so all are written in decimal.
        rows = game.rational.rows
        arrays |= {
            "exact_indptr": rows.indptr,
            "exact_indices": rows.indices,
            "exact_numerators": np.array([str(n) for n in rows.numerators.tolist()]),
            "exact_denominators": np.array([str(n) for n in rows.denominators.tolist()]),
        }
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
    """
    stored = BytesIO(read_bytes(path, MOST_BYTES))
    try:
        with np.load(stored, allow_pickle=False) as file:
            arrays = dict(file)
        found = int(arrays["format"])
        if found == FORMAT:
            return _game(arrays)
    # On damaged bytes the readers of zip, deflate and npy raise whatever they come across.
    except Exception as problem:
        raise FileProblem(
            Path(path), f"is no file that save_game wrote, or damaged ({problem})"
        ) from problem
    raise FileProblem(Path(path), f"is {found}; allowed {FORMAT}", key="format")


def _game(arrays: dict[str, Any]) -> TwoAgentMDP:
    """Return the game that was written as arrays."""
    shape = tuple(int(n) for n in arrays["shape"])
    if "exact_indptr" in arrays:
        rows = ExactRows(
            arrays["exact_indptr"],
            arrays["exact_indices"],
            _integers(arrays["exact_numerators"]),
            _integers(arrays["exact_denominators"]),
            shape[0],
        )
        kernel: Any = rows.weights()
    else:
        size = (math.prod(shape), shape[0])
        kernel = sp.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=size)
    discount = Fraction(str(arrays["exact_discount"]))
    start = np.array([Fraction(x) for x in arrays["exact_start"].tolist()], dtype=object)
    names = {name: [ast.literal_eval(text) for text in arrays[name].tolist()] for name in LABELS}
    return TwoAgentMDP(kernel, discount, start, **names)


def _literal(name: str, label: Any) -> str:
    text = repr(label)
    try:
        same = ast.literal_eval(text) == label
    except (ValueError, SyntaxError):
        same = False
    if not same:
        raise InvalidArgument(name, f"contain {text}", "text, numbers and tuples of those", label)
    return text


def _integers(digits: Any) -> Any:
    numbers = [int(text) for text in digits.tolist()]
    return np.array(numbers, dtype=np.int64 if max(numbers) < 2**62 else object)
