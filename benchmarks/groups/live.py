"""A program solved again after a small change of the reward, on one object and from scratch.

Run number i draws the reward anew, each state's within one per cent (standard deviation).
*Occupancy* changes the objective, *values* the right-hand sides of the dual program, ``min Σ V/S``
over ``(E − γP) V ≥ r``. The peer is highspy on the identical matrix, hot on one object and cold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from cases import Case, Contestant, Outcome, ours, peer
from peers import Linear, bare, maze, paper200

import iirl_opt as iirl
from groups.occupancy import flow_program
from iirl_opt.solver import LiveProgram

TITLE = "Live programs"
GROWTH = None

Array = np.ndarray


def cases(quick: bool) -> list[Case]:
    """Return both programs of the paper's games."""
    games: dict[str, Callable[[], Any]] = {"Maze-Maker": maze, "paper's random game": paper200}
    if quick:
        games = {"random, S = 10": lambda: iirl.random_game(10, 2, 2, rng=0)}
    return [
        Case(f"{name}, {kind}", {"seed": 0}, _prepared(make, kind), runs=9, seconds=6.0)
        for name, make in games.items()
        for kind in ("occupancy", "values")
    ]


def _prepared(make: Callable[[], Any], kind: str) -> Callable[[], dict[str, Contestant]]:
    def prepare() -> dict[str, Contestant]:
        game, reward = make()
        rng = np.random.default_rng(0)
        nearby = reward * (1 + 0.01 * rng.normal(size=(20, reward.size)))
        rows = np.repeat(nearby, game.n_choices, axis=1)
        contest = _occupancy if kind == "occupancy" else _values
        return contest(flow_program(game, reward, None, 0.0), rows.__getitem__)

    return prepare


def _occupancy(program: Linear, draw: Callable[[int], Array]) -> dict[str, Contestant]:
    def made(c: Array) -> LiveProgram:
        equal = program.row_lower
        return LiveProgram(c, program.matrix, equal, equal, lower=0.0, maximise=True)

    live = made(-program.cost)
    live.solve()
    direct = bare(program).highs
    every = np.arange(program.cost.size, dtype=np.int32)

    def hot(c: Array) -> Outcome:
        live.change_objective(c)
        return _solved(live)

    def bare_hot(c: Array) -> Outcome:
        direct.changeColsCost(every.size, every, -c)
        direct.setOptionValue("simplex_strategy", 4)
        return _run(direct, -1.0)

    return {
        "hot": ours(hot, draw),
        "cold": ours(lambda c: _solved(made(c)), draw),
        "highspy, hot": peer(bare_hot, draw),
        "highspy, cold": peer(lambda c: -bare(program._replace(cost=-c)).value, draw),
    }


def _values(flow: Linear, draw: Callable[[int], Array]) -> dict[str, Contestant]:
    n = flow.matrix.shape[0]
    free = np.full(n, np.inf)
    matrix = sp.csc_array(flow.matrix.T)
    above = np.full(matrix.shape[0], np.inf)
    program = Linear(np.ones(n) / n, matrix, -flow.cost, above, -free, free)

    def made(r: Array) -> LiveProgram:
        return LiveProgram(program.cost, matrix, r, np.inf)

    live = made(program.row_lower)
    live.solve()
    direct = bare(program).highs
    every = np.arange(above.size, dtype=np.int32)

    def hot(r: Array) -> Outcome:
        live.change_rows(r, np.inf)
        return _solved(live)

    def bare_hot(r: Array) -> Outcome:
        direct.changeRowsBounds(every.size, every, r, above)
        return _run(direct, 1.0)

    return {
        "hot": ours(hot, draw),
        "cold": ours(lambda r: _solved(made(r)), draw),
        "highspy, hot": peer(bare_hot, draw),
        "highspy, cold": peer(lambda r: bare(program._replace(row_lower=r)).value, draw),
    }


def _solved(program: LiveProgram) -> Outcome:
    found = program.solve()
    return Outcome(found.value, {"iterations": float(found.iterations or 0)})


def _run(highs: Any, sign: float) -> Outcome:
    highs.run()
    info = highs.getInfo()
    count = float(info.simplex_iteration_count)
    return Outcome(sign * info.objective_function_value, {"iterations": count})
