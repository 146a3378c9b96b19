"""Figure 3: the regret of learners that see whole optimal responses.

A cell is one run of one learner on one game against an optimal follower, or the one that a model
file states. All learners of a run begin with the same commitment, drawn by its seed. The *regret*
of an episode is what its commitment loses of the optimal value V*, as a share of V*; *late* regret
is its mean over the last third.

The paper's figure shows Algorithm 1 and the maximum-margin method of Ng & Russell in a fixed
environment, on Maze-Maker and on random games. The active learner is ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.experiments.bands import BAND, quantiles
from iirl_opt.experiments.figure import Figure, Statement
from iirl_opt.experiments.games import GAMES, game_of
from iirl_opt.experiments.sweep import Cell, CellResult, summarise
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.follower.protocols import Follower
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import random_deterministic_policy
from iirl_opt.learn.episodes import interact
from iirl_opt.library.learners import make_learner

if TYPE_CHECKING:
    from iirl_opt.library import ModelProblem

__all__ = [
    "FIGURE_3",
    "compute",
    "draw_regrets",
    "regrets_of",
    "summarise_regrets",
]

Array = NDArray[np.float64]

EPISODES = 30
METHODS = ("algorithm-1", "active", "max-margin-fixed")
NAMES = {
    "algorithm-1": "Algorithm 1",
    "active": "active learner",
    "max-margin-fixed": "maximum margin, fixed environment",
}

# For each scale: the maze and its runs, the size of the random games and their number.
SCALES: Mapping[str, tuple[str, int, tuple[int, int, int], int]] = {
    "small": ("small-maze", 5, (30, 3, 3), 10),
    "paper": ("maze-maker", 5, (200, 4, 4), 5),
}


def compute(cell: Cell) -> dict[str, Any]:
    """Return the optimal value and the regret of each episode, as a share of it."""
    return regrets_of(cell, *_met(cell))


def regrets_of(cell: Cell, game: TwoAgentMDP, truth: Array, partner: Follower) -> dict[str, Any]:
    """Return what `compute` does, for the learner of a cell on a game that is at hand."""
    seed = int(cell.parameters.get("run", cell.seed))
    n_states, n_actions, _ = game.shape
    first = random_deterministic_policy(n_states, n_actions, np.random.default_rng([seed, 0]))
    learner = make_learner(cell.method, game, seed=seed, first=first)
    episodes = list(interact(learner, truth, int(cell.parameters["episodes"]), follower=partner))
    best = episodes[0].best
    scale = abs(best) if best else 1.0
    return {"optimal_value": best, "regrets": [episode.regret / scale for episode in episodes]}


def _met(cell: Cell) -> tuple[TwoAgentMDP, Array, Follower]:
    """Return the game of a cell, its truth, and who answers; a model file has its own follower."""
    if cell.game in GAMES:
        seed = int(cell.parameters.get("run", cell.seed))
        return *game_of(cell), OptimalFollower(cell.parameters.get("ties", "first"), seed)
    problem = _read(cell.game, json.dumps(cell.parameters.get("asked", {})))
    return problem.game, problem.need_truth(), problem.follower or OptimalFollower("first")


@lru_cache(maxsize=1)
def _read(file: str, asked: str) -> ModelProblem:
    from iirl_opt.library import read_model

    return read_model(file, **json.loads(asked))


def _cells_of_figure_3(scale: str, seed: int) -> list[Cell]:
    maze, maze_runs, size, games = SCALES[scale]
    runs: list[tuple[str, int, dict[str, Any]]] = [
        (maze, 0, {"run": seed + i}) for i in range(maze_runs)
    ]
    runs += [("random", seed + i, {"size": list(size)}) for i in range(games)]
    return [
        Cell(3, game, method, own, {**facts, "episodes": EPISODES})
        for game, own, facts in runs
        for method in METHODS
    ]


def _curves(results: Sequence[CellResult]) -> Iterator[tuple[str, dict[str, Array]]]:
    """Yield the name of each game family and the regrets (runs, T) of each learner."""
    for name in dict.fromkeys(result.cell.game for result in results):
        own = [result for result in results if result.cell.game == name]
        yield (
            name,
            {
                method: np.array([r.values["regrets"] for r in own if r.cell.method == method])
                for method in dict.fromkeys(result.cell.method for result in own)
            },
        )


def late(regrets: Array) -> Array:
    """Return the mean regret (runs,) of the last third of the episodes, from regrets (runs, T)."""
    return np.asarray(regrets[:, -max(1, regrets.shape[1] // 3) :].mean(axis=1))


def summarise_regrets(results: Sequence[CellResult]) -> dict[str, Any]:
    """Return mean and interval of each learner's regret by episode, in all and late."""
    return {
        "panels": {
            name: {
                method: {
                    "regret": {**summarise(regrets).record(), **quantiles(regrets)},
                    "total": summarise(regrets.sum(axis=1)).record(),
                    "late": summarise(late(regrets)).record(),
                }
                for method, regrets in curves.items()
            }
            for name, curves in _curves(results)
        }
    }


def judge(results: Sequence[CellResult]) -> list[Statement]:
    """Return what the paper says of its figure 3, and what we add, decided on these results.

    **Source** paper, Section 6: the regret of Algorithm 1 decreases notably, and after a few
    episodes it is lower than that of the maximum margin in a fixed environment.
    """
    statements = []
    for name, curves in _curves(results):
        one, active, margin = (curves[method] for method in METHODS)
        first, last = one[:, :5].mean(), late(one).mean()
        statements += [
            Statement(
                f"{name}: Algorithm 1's regret decreases notably",
                bool(last < first / 2),
                f"{first:.2%} of V* in the first five episodes, {last:.2%} in the last third",
            ),
            Statement(
                f"{name}: Algorithm 1 ends below the maximum margin in a fixed environment",
                bool(last < late(margin).mean()),
                f"late regret {last:.2%} and {late(margin).mean():.2%}",
            ),
            Statement(
                f"{name}: the active learner ends below Algorithm 1",
                bool(late(active).mean() < last),
                f"late regret {late(active).mean():.1e} and {last:.1e}; in all "
                f"{active.sum(axis=1).mean():.2f} and {one.sum(axis=1).mean():.2f}",
            ),
        ]
    return statements


def draw_regrets(
    summary: Mapping[str, Any],
    path: Path,
    *,
    names: Mapping[str, str],
    ylabel: str = "regret, share of V*",
    log: float | None = None,
) -> Path:
    """Draw a panel for each group of games: mean regret by episode, and a band of its runs.

    Parameters
    ----------
    summary : under ``panels``, for each group and learner, the summary of its regret.
    names : of the learners, as they are to be called.
    log : as for `iirl_opt.plot.plot_curves`.
    """
    from iirl_opt import plot

    axes = plot.panels(len(summary["panels"]))
    for i, (ax, (group, learners)) in enumerate(zip(axes, summary["panels"].items(), strict=True)):
        regrets = {names.get(name, name): found["regret"] for name, found in learners.items()}
        some = next(iter(regrets.values()))
        runs = f"{some['runs']} run" + "s" * (some["runs"] > 1)
        plot.plot_curves(
            {name: _banded(regret) for name, regret in regrets.items()},
            range(1, len(some["mean"]) + 1),
            xlabel="episode",
            ylabel="" if i % 2 else ylabel,
            title=f"{Path(group).stem}, {runs}",
            band=BAND,
            log=log,
            ax=ax,
        )
        if log is not None:
            # A curve that stays at its largest value must not lie on the border.
            ax.set_ylim(0.0, 2 * max(max(r.get("upper", []) + r["mean"]) for r in regrets.values()))
    plot.legend_below(axes)
    return plot.save(axes[0], path)


def _banded(regret: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the mean and, of more than one run, the ends of the band."""
    return tuple(regret[part] for part in ("mean", "lower", "upper") if part in regret)


FIGURE_3 = Figure(
    number=3,
    title="Optimal responses and full information: regret by episode",
    source="paper, Section 6; the active learner is ours",
    scales={scale: partial(_cells_of_figure_3, scale) for scale in SCALES},
    compute=compute,
    summarise=summarise_regrets,
    judge=judge,
    draw=partial(draw_regrets, names=NAMES, log=1e-6),
)
