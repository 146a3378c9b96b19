"""What the way through cvxpy adds to a solve: building, compiling, reading back, residuals.

The commitment program of Lemma 2 as a user writes it, solved through `iirl_opt.solve`; the same
program by ``Problem.solve`` of plain cvxpy; and highspy on the identical compiled matrix with the
same options. *Build and compile* makes the program and solves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cases import Case, Contestant, Outcome, ours, peer
from peers import TOLERANCE, Linear, bare, maze, paper200, sparse

import iirl_opt as iirl

TITLE = "Compilation"
GROWTH = None


def cases(quick: bool) -> list[Case]:
    """Return the paper's games, and a larger random one."""
    if quick:
        games: dict[str, Callable[[], Any]] = {"random, S = 20": lambda: sparse(20)}
    else:
        games = {
            "Maze-Maker": maze,
            "paper's random game": paper200,
            "random, S = 500": lambda: sparse(500),
        }
    return [
        Case(name, {"seed": 0}, _prepared(make), runs=9, seconds=3.0)
        for name, make in games.items()
    ]


def _prepared(make: Callable[[], Any]) -> Callable[[], dict[str, Contestant]]:
    def prepare() -> dict[str, Contestant]:
        game, reward = make()
        problem = iirl.StackelbergCommitment(game, reward).problem()
        program = compiled(problem)
        limits = {f"{side}_feasibility_tolerance": TOLERANCE for side in ("primal", "dual")}

        def whole(_: int) -> Outcome:
            found = iirl.solve(iirl.StackelbergCommitment(game, reward).problem())
            return Outcome(found.value, {"compile ms": 1e3 * found.compile_seconds})

        def plain(_: int) -> float:
            built = iirl.StackelbergCommitment(game, reward).problem()
            return float(built.solve(solver=cp.HIGHS, highs_options=limits, warm_start=False))

        def build(_: int) -> None:
            iirl.StackelbergCommitment(game, reward).problem().get_problem_data("HIGHS")

        return {
            "iirl_opt.solve": ours(whole),
            "highspy": peer(lambda _: -bare(program).value),
            "plain cvxpy": peer(plain),
            "build and compile": ours(build),
        }

    return prepare


def compiled(problem: cp.Problem) -> Linear:
    """Return the linear program that cvxpy makes of a problem, as it passes it to HiGHS."""
    data, _, _ = problem.get_problem_data("HIGHS")
    matrix = sp.csc_array(data["A"])
    rows, n = matrix.shape
    equal = np.arange(rows) < data["dims"].zero
    free = np.full(n, np.inf)
    return Linear(
        data["c"],
        matrix,
        np.where(equal, data["b"], -np.inf),
        data["b"],
        -free if data["lower_bounds"] is None else data["lower_bounds"],
        free if data["upper_bounds"] is None else data["upper_bounds"],
    )
