"""Figure 4: the regret of Bayesian learners that see trajectories of a Boltzmann follower.

A cell is one run of Algorithm 4, or of its fixed-environment baseline, in which all trajectories
are answers to the first commitment. Both begin with the same commitment and the same trajectory.
*Regret* is what a commitment loses of V*, as a share of it, and *late* regret its mean over the
last third of the episodes.

V* is the value of the best commitment known: the better of what Algorithm 2 finds under the true
reward and the leader's part of an optimal joint policy. It is a lower bound on the best, so a
regret may be negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.bayesian.algorithm_4 import BayesianInteractiveIRL
from iirl_opt.experiments.figure import Figure, Statement
from iirl_opt.experiments.games import game_of
from iirl_opt.experiments.learning import draw_regrets, late, summarise_regrets
from iirl_opt.experiments.sweep import Cell, CellResult, Summary, summarise
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.learn.episodes import interact

__all__ = ["FIGURE_4", "compute", "judge"]

Array = NDArray[np.float64]

BETA = 10.0
MIN_LENGTH = 2
THIN = 25

# For each scale: the maze, the size of the random games, the runs of each, the episodes, and the
# proposals of an episode.
SCALES: Mapping[str, tuple[str, tuple[int, int, int], int, int, int]] = {
    "small": ("small-maze", (50, 4, 4), 3, 10, 2_000),
    "paper": ("maze-maker", (200, 4, 4), 10, 30, 25_000),
}
INTERACTIVE, FIXED = "algorithm-4", "algorithm-4-fixed"
NAMES = {INTERACTIVE: "Algorithm 4", FIXED: "Bayesian IRL, fixed environment"}


def _cells_of_figure_4(scale: str, seed: int) -> list[Cell]:
    """Return the cells; each run of random games has a game of its own."""
    maze, size, runs, episodes, proposals = SCALES[scale]
    games: dict[str, dict[str, Any]] = {maze: {}, "random": {"size": list(size)}}
    effort = {"episodes": episodes, "proposals": proposals, "thin": THIN}
    return [
        Cell(4, game, method, seed + run, {**facts, **effort})
        for game, facts in games.items()
        for run in range(runs)
        for method in NAMES
    ]


def compute(cell: Cell) -> dict[str, Any]:
    """Return V* and the regret of each episode, as a share of it.

    **Source** paper, Section 6 and appendix D: unknown β with an exponential prior, one chain that
    goes on from episode to episode, trajectories of a random length of at least 2. Ours: every 25th
    proposal enters the means.
    """
    game, truth = game_of(cell)
    learner = BayesianInteractiveIRL(
        game,
        seed=cell.seed,
        proposals=cell.parameters["proposals"],
        thin=cell.parameters["thin"],
        fixed=cell.method == FIXED,
    )
    run = interact(
        learner,
        truth,
        cell.parameters["episodes"],
        follower=BoltzmannFollower(BETA),
        min_length=MIN_LENGTH,
    )
    lost = {episode.number: (episode.regret, episode.best) for episode in run}
    best = lost[1][1]
    return {"optimal_value": best, "regrets": [regret / best for regret, _ in lost.values()]}


def _curves(results: Sequence[CellResult]) -> Iterator[tuple[str, Array, Array]]:
    """Yield each game family, and the regrets (runs, T) of learner and baseline."""
    for game in dict.fromkeys(result.cell.game for result in results):
        one, fixed = (
            np.array([r.values["regrets"] for r in results if (r.cell.game, r.cell.method) == key])
            for key in ((game, INTERACTIVE), (game, FIXED))
        )
        yield game, one, fixed


def judge(results: Sequence[CellResult]) -> list[Statement]:
    """Return what the paper says of its figure 4, decided on the means of these runs.

    **Source** paper, Section 6: the learner improves with the episodes, and gains substantially
    from new environments. The intervals, and that of the difference in pairs, are evidence only: a
    few runs leave them wide.
    """
    statements = []
    for game, one, fixed in _curves(results):
        first, last, other = summarise(one[:, 0]), summarise(late(one)), summarise(late(fixed))
        gain = summarise(late(fixed) - late(one))
        statements += [
            Statement(
                f"{game}: Algorithm 4's regret falls with the episodes",
                bool(last.mean < first.mean),
                f"{_percent(first)} of V* in the first episode, {_percent(last)} in the last third",
            ),
            Statement(
                f"{game}: Algorithm 4 ends below its fixed environment",
                bool(last.mean < other.mean),
                f"late regret {_percent(last)} and {_percent(other)}, difference in pairs "
                f"{_percent(gain)}, {gain.runs} runs",
            ),
        ]
    return statements


def _percent(summary: Summary) -> str:
    return f"{summary.mean:.1%} [{summary.low:.1%}, {summary.high:.1%}]"


FIGURE_4 = Figure(
    number=4,
    title="Suboptimal responses and partial information: regret by episode",
    source=(
        "paper, Section 6 and appendix D; regret is against the better of Algorithm 2 under the "
        "true reward and the joint policy's part, a lower bound on the best commitment"
    ),
    scales={scale: partial(_cells_of_figure_4, scale) for scale in SCALES},
    compute=compute,
    summarise=summarise_regrets,
    judge=judge,
    draw=partial(draw_regrets, names=NAMES),
)
