"""How large the regret of a commitment can be under every feasible reward: `regret_bound`.

After so many episodes of the active learner, of the commitment that it played last: *upper* is
proved, *found* the regret of the worst feasible reward found, both as shares of V*. A bound is
*tight* where upper ≤ 2 found + 1e-3 V*. Each run is another seed. With six states the peer is the
exact worst regret by a mixed-integer program (`worst_regret`), and *upper/exact* says how loose the
bound is where that is not zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from cases import Case, Outcome, ours

import iirl_opt as iirl

TITLE = "The regret certificate"
GROWTH = None


class Played(NamedTuple):
    """What is known, what was committed to, and the best value."""

    known: iirl.FeasibleRewards
    pi1: np.ndarray
    best: float


def cases(quick: bool) -> list[Case]:
    """Return small games with the exact answer, and the sizes of the goals."""
    if quick:
        return [_case((4, 2, 2), 4, 2, exact=True), _case((8, 2, 2), 5, 2)]
    return [
        _case((6, 2, 2), 9, 10, exact=True),
        _case((30, 3, 3), 24, 20),
        _case((200, 4, 4), 30, 1),
    ]


def played(size: tuple[int, int, int], episodes: int, seed: int) -> Played:
    """Play the active learner on a random game."""
    game, truth = iirl.random_game(*size, rng=seed)
    *_, last = iirl.interact(iirl.ActiveIRL(game, seed=seed), truth, episodes)
    return Played(last.learner.known, last.pi1, last.best)


def bounded(given: Played) -> Outcome:
    """Bound the regret of what was played last."""
    bound = iirl.rewards.regret_bound(given.known, given.pi1)
    tight = bound.upper <= 2 * bound.lower + 1e-3 * given.best
    figures = {
        "upper/V*": bound.upper / given.best,
        "found/V*": bound.lower / given.best,
        "tight": float(tight),
    }
    return Outcome(None, figures)


def exactly(given: Played) -> Outcome:
    """Find the worst regret by a mixed-integer program, and how loose the bound is."""
    worst = iirl.worst_regret(given.known, given.pi1).value
    figures = {"exact/V*": worst / given.best}
    if worst > 1e-7:
        upper = iirl.rewards.regret_bound(given.known, given.pi1).upper
        figures["upper/exact"] = upper / worst
    return Outcome(None, figures)


def _case(size: tuple[int, int, int], episodes: int, seeds: int, exact: bool = False) -> Case:
    def prepare() -> dict[str, Any]:
        def fresh(seed: int) -> Played:
            return played(size, episodes, seed)

        found = {"regret_bound": ours(bounded, fresh)}
        if exact:
            found["worst_regret"] = ours(exactly, fresh)
        return found

    sizes = {"game": "×".join(map(str, size)), "episodes": episodes, "seeds": f"0–{seeds - 1}"}
    title = f"{size[0]} states, {size[1]}×{size[2]} actions"
    return Case(title, sizes, prepare, runs=seeds, seeds=True, limit=120.0)
