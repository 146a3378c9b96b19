"""Occupancy programs, γ = 0.9: the joint optimum over discounted state–action frequencies.

*maximise* is what a user calls. The peers solve the identical matrix: plain cvxpy, and highspy by
the simplex method, by its interior-point method with crossover, and from the basis that modified
policy iteration finds (finding it is counted): columns (s, π(s)) basic, all else at its lower
bound. With a budget the same basis starts the dual simplex method.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import highspy
import numpy as np
import scipy.sparse as sp
from cases import Case, Contestant, Outcome, ours, peer
from peers import TOLERANCE, Bare, Linear, bare, maze, paper200, sparse

import iirl_opt as iirl

TITLE = "Occupancy programs"
GROWTH = "S"

Array = np.ndarray


def cases(quick: bool) -> list[Case]:
    """Return the paper's games and random ones, without and with a budget."""
    if quick:
        made = [(f"random, S = {n}", lambda n=n: sparse(n), n, "r") for n in (20, 40, 80)]
    else:
        made = [
            ("Maze-Maker", maze, 392, ""),
            ("paper's random game", paper200, 200, ""),
            *((f"random, S = {n:,}", lambda n=n: sparse(n), n, "r") for n in (250, 500, 1000)),
        ]
    family = {"r": "random, 5 successors", "": ""}
    found = []
    for title, make, n, kind in made:
        for share in (None, 0.9):
            budget = "" if share is None else ", budget"
            found.append(
                Case(
                    title + budget,
                    {"S": n, "seed": 0},
                    _prepared(make, share, slow=n < 1000),
                    runs=5,
                    seconds=3.0,
                    family=family[kind] + budget if kind else "",
                )
            )
    return found


def _prepared(
    make: Callable[[], Any], share: float | None, slow: bool
) -> Callable[[], dict[str, Contestant]]:
    def prepare() -> dict[str, Contestant]:
        game, reward = make()
        hazard, most = _hazard(game, reward, share)
        program = flow_program(game, reward, hazard, most)

        def maximise(_: int) -> Outcome:
            measure = iirl.OccupancyMeasure(game)
            rows = []
            if hazard is not None:
                rows = [iirl.budget(measure.expected(hazard), most, name="hazard")]
            found = measure.maximise(reward, subject_to=rows)
            return Outcome(found.value, {"iterations": float(found.solved.iterations or 0)})

        def crashed(_: int) -> Outcome:
            optimum = iirl.game.modified_policy_iteration(game, reward)
            return _outcome(bare(program, _basis(game, optimum.q.argmax(axis=1), program)))

        found = {
            "maximise": ours(maximise),
            "highspy from the policy's basis": peer(crashed),
            "highspy, simplex": peer(lambda _: _outcome(bare(program))),
            "highspy, interior point": peer(lambda _: _outcome(bare(program, solver="ipx"))),
        }
        if slow:
            found["plain cvxpy"] = peer(lambda _: _cvxpy(game, reward, hazard, most))
        return found

    return prepare


def _hazard(
    game: iirl.TwoAgentMDP, reward: Array, share: float | None
) -> tuple[Array | None, float]:
    """Return a cost by state and what may be spent: a share of what the optimum spends."""
    if share is None:
        return None, 0.0
    hazard = np.random.default_rng(2).random(game.n_states)
    optimum = iirl.game.modified_policy_iteration(game, reward)
    flat = optimum.policy.reshape(game.shape)
    return hazard, share * float(game.start @ iirl.evaluate(game, hazard, flat))


def flow_program(
    game: iirl.TwoAgentMDP, reward: Array, hazard: Array | None, most: float
) -> Linear:
    """Return the occupancy program as a matrix, the budget as its last row."""
    n, k = game.n_states, game.n_choices
    own = sp.csr_array(
        (np.ones(n * k), (np.arange(n * k), np.repeat(np.arange(n), k))), shape=(n * k, n)
    )
    matrix = sp.csc_array((own - game.discount * sp.csr_array(game.matrix)).T)
    low = high = np.asarray(game.start)
    if hazard is not None:
        matrix = sp.csc_array(sp.vstack([matrix, np.repeat(hazard, k)[None]]))
        low, high = np.append(low, -np.inf), np.append(high, most)
    free = np.full(n * k, np.inf)
    return Linear(-np.repeat(reward, k), matrix, low, high, np.zeros(n * k), free)


def _basis(game: iirl.TwoAgentMDP, actions: Array, program: Linear) -> highspy.HighsBasis:
    n, k = game.n_states, game.n_choices
    basis = highspy.HighsBasis()
    status = highspy.HighsBasisStatus
    columns = [status.kLower] * (n * k)
    for column in (np.arange(n) * k + actions).tolist():
        columns[column] = status.kBasic
    basis.col_status = columns
    basis.row_status = [status.kLower] * n + [status.kBasic] * (program.matrix.shape[0] - n)
    basis.valid = True
    return basis


def _outcome(found: Bare) -> Outcome:
    return Outcome(-found.value, {"iterations": found.iterations})


def _cvxpy(game: iirl.TwoAgentMDP, reward: Array, hazard: Array | None, most: float) -> float:
    n, k = game.n_states, game.n_choices
    program = flow_program(game, reward, None, 0.0)
    mu = cp.Variable(n * k, nonneg=True)
    rows: list[cp.Constraint] = [program.matrix @ mu == game.start]
    if hazard is not None:
        rows.append(np.repeat(hazard, k) @ mu <= most)
    limits = {f"{side}_feasibility_tolerance": TOLERANCE for side in ("primal", "dual")}
    problem = cp.Problem(cp.Maximize(-program.cost @ mu), rows)
    return float(problem.solve(solver=cp.HIGHS, highs_options=limits, warm_start=False))
