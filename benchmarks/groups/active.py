"""The active learner, 30 episodes from seed 0, one run each where they take seconds.

The answer is the regret of all episodes together, *late regret* the mean of the last third.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cases import Case, ours
from peers import maze, paper200

import iirl_opt as iirl
from groups.algorithm1 import episodes, small

TITLE = "The active learner"
GROWTH = None


def cases(quick: bool) -> list[Case]:
    """Return a small game and the two games of the paper."""
    if quick:
        return [_case("random game, 8 episodes", "10×2×2", small, 8)]
    return [
        _case("random game, 30 episodes", "30×3×3", lambda: iirl.random_game(30, 3, 3, rng=0), 30),
        _case("paper's random game, 30 episodes", "200×4×4", paper200, 30),
        _case("Maze-Maker, 30 episodes", "392×6×4", maze, 30),
    ]


def _case(title: str, size: str, make: Callable[[], Any], n: int) -> Case:
    def prepare() -> dict[str, Any]:
        game, truth = make()
        return {
            "ActiveIRL": ours(
                lambda learner: episodes(learner, truth, n),
                lambda _: iirl.ActiveIRL(game, seed=0),
            )
        }

    sizes = {"game": size, "episodes": n, "seed": 0}
    return Case(title, sizes, prepare, runs=3, seconds=5.0, limit=600.0)
