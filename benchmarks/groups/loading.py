"""Making, reading and writing games.

*Random games* have five successors a row and 4×4 actions; the peer draws rows of the same form in
vectorised NumPy and makes the sparse matrix, of floats alone and unchecked. *Matrix MB* is the
size of the kernel's float matrix, to compare the peak with. The ``.dpomdp`` file is written as the
benchmark files of the field are, a line a transition: two agents on a 3×3 grid, 81 states and 25
joint actions. ``load_npz`` reads the float matrix of the same game, compressed as ours.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from cases import Case, Contestant, Outcome, ours, peer
from peers import sparse

import iirl_opt as iirl

TITLE = "Generators and files"
GROWTH = "S"

MOVES = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1), "stay": (0, 0)}


def cases(quick: bool) -> list[Case]:
    """Return the generators and the formats."""
    found = [
        Case(
            f"random game, S = {n:,}",
            {"S": n, "A·B": 16, "seed": 0},
            _random(n),
            runs=5,
            memory=True,
            family="random game",
        )
        for n in ((100, 200, 400) if quick else (1000, 10_000, 100_000))
    ]
    n = 200 if quick else 4000
    found.append(Case(f"saved game, S = {n:,}", {"S": n}, lambda: _saved(n), runs=5))
    if not quick:
        found.append(Case("Maze-Maker", {"S": 392}, lambda: {"maze_maker": ours(_maze)}, runs=5))
    side = 2 if quick else 3
    sizes = {"S": side**4, "A·B": 25}
    return [*found, Case(".dpomdp file", sizes, lambda: _dpomdp(side), runs=5)]


def _maze(_: int) -> Outcome:
    game, _ = iirl.maze_maker()
    return Outcome(None, {"matrix MB": _megabytes(game.matrix)})


def _random(n: int) -> Callable[[], dict[str, Contestant]]:
    def draw(_: int) -> Outcome:
        game, _ = sparse(n)
        return Outcome(None, {"matrix MB": _megabytes(game.matrix)})

    def plain(_: int) -> Outcome:
        rng, rows, k = np.random.default_rng(0), 16 * n, 5
        to = rng.integers(0, n, (rows, k))
        weights = rng.dirichlet(np.ones(k), rows)
        pointer = np.arange(0, rows * k + 1, k)
        matrix = sp.csr_array((weights.ravel(), to.ravel(), pointer), shape=(rows, n))
        matrix.sum_duplicates()
        return Outcome(None, {"matrix MB": _megabytes(matrix)})

    return lambda: {"random_game": ours(draw), "NumPy, unchecked": peer(plain)}


def _saved(n: int) -> dict[str, Contestant]:
    folder = tempfile.TemporaryDirectory()
    path, bare = Path(folder.name, "game.npz"), Path(folder.name, "matrix.npz")
    game, _ = sparse(n)
    iirl.save_game(game, path)
    sp.save_npz(bare, sp.csr_matrix(game.matrix))

    def load(_: int) -> float:
        assert Path(folder.name).exists()
        return float(iirl.load_game(path).matrix.nnz)

    return {
        "load_game": ours(load),
        "save_game": ours(lambda _: iirl.save_game(game, path)),
        "load_npz": peer(lambda _: float(sp.load_npz(bare).nnz)),
    }


def _dpomdp(side: int) -> dict[str, Contestant]:
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name, "grid.dpomdp")
    path.write_text(two_on_a_grid(side))

    def read(_: int) -> Outcome:
        assert Path(folder.name).exists()
        problem = iirl.formats.read_dpomdp(path)
        return Outcome(float(problem.game.matrix.nnz), {"kB": path.stat().st_size / 1024})

    return {"read_dpomdp": ours(read)}


def two_on_a_grid(side: int) -> str:
    """Return a ``.dpomdp`` file: two agents move, and slip, on a grid, and want to meet."""
    cells = list(product(range(side), repeat=2))
    single = {move: [_moved(cell, move, side) for cell in cells] for move in MOVES}
    lines = ["agents: 2", "discount: 0.9", "values: reward", f"states: {len(cells) ** 2}"]
    lines += ["start: uniform", "actions:", " ".join(MOVES), " ".join(MOVES)]
    lines += ["observations:", "1", "1"]
    for one, other in product(MOVES, repeat=2):
        for i, j in product(range(len(cells)), repeat=2):
            for (to_i, p), (to_j, q) in product(single[one][i].items(), single[other][j].items()):
                here, there = i * len(cells) + j, to_i * len(cells) + to_j
                lines.append(f"T: {one} {other} : {here} : {there} : {p * q / 100}")
    lines += [f"R: * : {i * len(cells) + i} : * : * : 1" for i in range(len(cells))]
    return "\n".join(lines) + "\n"


def _moved(cell: tuple[int, int], move: str, side: int) -> dict[int, int]:
    """Return where a move leads, in tenths: six where it should, one in every other direction."""
    shares: dict[int, int] = {}
    for way, (dy, dx) in MOVES.items():
        y, x = min(max(cell[0] + dy, 0), side - 1), min(max(cell[1] + dx, 0), side - 1)
        shares[y * side + x] = shares.get(y * side + x, 0) + (6 if way == move else 1)
    return shares


def _megabytes(matrix: Any) -> float:
    csr = sp.csr_array(matrix)
    return float(csr.data.nbytes + csr.indices.nbytes + csr.indptr.nbytes) / 2**20
