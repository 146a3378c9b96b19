"""The best feasible reward for a random objective after t episodes of Algorithm 1 (Corollary 1).

*maximise* is what a user calls; *lifted* and *cuts* are its two methods. The peers have the printed
rows, dense, made beforehand and without zero and double rows: highspy's dual simplex, SciPy's
``linprog`` and plain cvxpy. Ours keeps the rows that it has made, too, so that neither makes rows
here. Run number i has objective number i.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
from cases import Case, Contestant, Outcome, ours, peer
from peers import TOLERANCE, Linear, bare, explicit_rows, maze, paper200
from scipy.optimize import linprog

import iirl_opt as iirl

TITLE = "Feasible rewards"
GROWTH = "t"

# Episodes up to which the slower peers take part.
PATIENT, CVXPY = 10, 5


def cases(quick: bool) -> list[Case]:
    """Return the two games of the paper after some episodes."""
    if quick:
        small = lambda: iirl.random_game(15, 2, 3, rng=0)  # noqa: E731
        return [_case("random game", "15×2×3", small, t) for t in (1, 3, 5)]
    return [
        *(_case("Maze-Maker", "392×6×4", maze, t) for t in (1, 5, 10, 30)),
        *(_case("paper's random game", "200×4×4", paper200, t) for t in (1, 5, 10, 30)),
    ]


def learnt(make: Callable[[], Any], t: int) -> iirl.FeasibleRewards:
    """Return what is known after t episodes of Algorithm 1 with seed 0."""
    game, truth = make()
    *_, last = iirl.interact(iirl.InteractiveIRL(game, seed=0), truth, t)
    known = last.learner.known
    # Rows anew: what the run has kept is not kept here.
    fresh = iirl.FeasibleRewards(game)
    for seen in known.observations:
        fresh = fresh.observe(seen.pi1, seen.pi2)
    return fresh


def _case(name: str, size: str, make: Callable[[], Any], t: int) -> Case:
    def prepare() -> dict[str, Contestant]:
        known = learnt(make, t)
        n = known.game.n_states
        objectives = np.random.default_rng(0).uniform(-1, 1, (20, n))

        def best(**options: Any) -> Contestant:
            return ours(lambda c: known.maximise(c, **options).value, objectives.__getitem__)

        found = {
            "maximise": best(),
            "lifted": best(method="lifted"),
            "cuts": best(method="cuts"),
        }
        return found | _peers(known, objectives, t)

    return Case(
        f"{name}, t = {t}",
        {"game": size, "t": t, "seed": 0},
        prepare,
        runs=5,
        seconds=4.0,
        family=name,
    )


def _peers(known: iirl.FeasibleRewards, objectives: np.ndarray, t: int) -> dict[str, Contestant]:
    n = known.game.n_states
    if t > PATIENT:
        return {}
    rows = explicit_rows(known)
    one = np.ones((1, n))
    k = len(rows)

    def highs(c: np.ndarray) -> Outcome:
        matrix = np.concatenate([rows, one])
        low, high = np.append(np.zeros(k), 1.0), np.append(np.full(k, np.inf), 1.0)
        found = bare(Linear(-c, matrix, low, high, np.zeros(n), np.full(n, np.inf)))
        return Outcome(-found.value, {"rows": k})

    def scipy(c: np.ndarray) -> float:
        limits = {f"{side}_feasibility_tolerance": TOLERANCE for side in ("primal", "dual")}
        found = linprog(-c, -rows, np.zeros(k), one, [1.0], method="highs-ds", options=limits)
        return -float(found.fun)

    def plain(c: np.ndarray) -> float:
        r = cp.Variable(n, nonneg=True)
        problem = cp.Problem(cp.Maximize(c @ r), [rows @ r >= 0, cp.sum(r) == 1])
        limits = {f"{side}_feasibility_tolerance": TOLERANCE for side in ("primal", "dual")}
        return float(problem.solve(solver=cp.HIGHS, highs_options=limits, warm_start=False))

    found = {"explicit rows, highspy": peer(highs, objectives.__getitem__)}
    if t <= CVXPY:
        found["explicit rows, linprog"] = peer(scipy, objectives.__getitem__)
        found["explicit rows, cvxpy"] = peer(plain, objectives.__getitem__)
    return found
