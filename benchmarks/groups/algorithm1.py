"""Algorithm 1, 30 episodes from seed 0, one run each.

The answer is the regret of all episodes together. The exponents are those of an episode's CPU time
in its number t, from the third episode on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from cases import Case, Outcome, ours
from growth import growth
from peers import maze, paper200

import iirl_opt as iirl

TITLE = "Algorithm 1"
GROWTH = None


def cases(quick: bool) -> list[Case]:
    """Return the two games of the paper."""
    if quick:
        return [_case("random game, 8 episodes", "10×2×2", small, 8)]
    return [
        _case("Maze-Maker, 30 episodes", "392×6×4", maze, 30),
        _case("paper's random game, 30 episodes", "200×4×4", paper200, 30),
    ]


def small() -> tuple[iirl.TwoAgentMDP, np.ndarray]:
    """Return a random game of 10 states, seed 0."""
    return iirl.random_game(10, 2, 2, rng=0)


def episodes(learner: Any, truth: np.ndarray, n: int) -> Outcome:
    """Play n episodes; return the regret in all, and how the CPU time of an episode grows."""
    spent, regrets = [], []
    began = time.process_time()
    for episode in iirl.interact(learner, truth, n):
        regrets.append(episode.regret)
        now = time.process_time()
        spent.append(max(now - began, 1e-6))
        began = now
    k = growth(range(3, n + 1), spent[2:])
    late = float(np.mean(regrets[2 * n // 3 :]))
    figures = {
        "median s an episode": float(np.median(spent)),
        "slowest s": max(spent),
        "exponent in t": k.exponent,
        "its error": k.error,
        "R²": k.r2,
        "late regret": late,
    }
    return Outcome(sum(regrets), figures)


def _case(title: str, size: str, make: Callable[[], Any], n: int) -> Case:
    def prepare() -> dict[str, Any]:
        game, truth = make()
        return {"InteractiveIRL": ours(lambda x: episodes(x, truth, n), lambda _: _learner(game))}

    sizes = {"game": size, "episodes": n, "seed": 0}
    return Case(title, sizes, prepare, runs=2, seconds=1.0, limit=600.0)


def _learner(game: iirl.TwoAgentMDP) -> iirl.InteractiveIRL:
    return iirl.InteractiveIRL(game, seed=0)
