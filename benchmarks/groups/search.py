"""Exact commitments: the best deterministic one for a Boltzmann follower, β = 5.

Branch and bound on random games with A = B = 3; each run is another seed, 0 to 9, so that medians
and quartiles are those of the ten games. A search ends when the gap is 1e-6 of the scale of the
values, or after two minutes by the clock: *closed* says which.
"""

from __future__ import annotations

from typing import Any

from cases import Case, Outcome, ours

import iirl_opt as iirl

TITLE = "Exact searches"
GROWTH, EXPONENTIAL = "S", True

SEEDS, TIME_LIMIT, GAP = 10, 120.0, 1e-6

# States up to which an earlier checkout takes part: it takes 2.5 times as long a state.
EARLIER = 14


def cases(quick: bool) -> list[Case]:
    """Return games of growing size."""
    return [_case(n) for n in ((4, 5, 6) if quick else (8, 11, 14, 20))]


def _case(n: int) -> Case:
    def prepare() -> dict[str, Any]:
        def problem(seed: int) -> iirl.CommitmentProblem:
            game, reward = iirl.random_game(n, 3, 3, rng=seed)
            return iirl.CommitmentProblem(game, reward, iirl.BoltzmannFollower(5))

        def search(asked: iirl.CommitmentProblem) -> Outcome:
            found = iirl.BranchAndBound(gap=GAP, time_limit=TIME_LIMIT).search(asked)
            gap = found.gap / found.scale if found.scale else 0.0
            closed = float(found.complete)
            return Outcome(found.value, {"closed": closed, "gap": gap, "nodes": found.nodes})

        return {"BranchAndBound": ours(search, problem)}

    return Case(
        f"S = {n}, A = B = 3",
        {"S": n, "β": 5, "seeds": f"0–{SEEDS - 1}"},
        prepare,
        runs=SEEDS,
        seeds=True,
        limit=300.0,
        before=n <= EARLIER,
        family="A = B = 3",
    )
