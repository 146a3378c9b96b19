"""Figure 3 and comparisons: the regret of learners that see whole optimal responses.

A cell is one run of one learner on one game against an optimal follower, or the one that a model
file states. All learners of a run begin with the same commitment, drawn by its seed. The *regret*
of an episode is what its commitment loses of the optimal value V*, as a share of V*; *late* regret
is its mean over the last third.

The paper's figure shows Algorithm 1 and the maximum-margin method of Ng & Russell in a fixed
environment, on Maze-Maker and on random games. The active learner is ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from iirl_opt.experiments.figure import Figure, Statement, document
from iirl_opt.experiments.sweep import Cell, Result, Sweep, run_cells, summarise
from iirl_opt.experiments.versions import versions
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.follower.protocols import Follower
from iirl_opt.game.generate import random_game
from iirl_opt.game.grid import grid_game
from iirl_opt.game.mazes import maze_maker
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import random_deterministic_policy
from iirl_opt.learn.episodes import interact
from iirl_opt.library.learners import check_learner, make_learner

__all__ = [
    "FIGURE_3",
    "compare_cells",
    "compare_runs",
    "compute",
    "draw_regrets",
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
SMALL_MAZE = ".....\n.1...\n..S..\n...2.\n....."

# For each scale: the maze and its runs, the size of the random games and their number.
SCALES: Mapping[str, tuple[str, int, tuple[int, int, int], int]] = {
    "small": ("small-maze", 5, (30, 3, 3), 10),
    "paper": ("maze-maker", 5, (200, 4, 4), 5),
}


def compute(cell: Cell) -> dict[str, Any]:
    """Return the optimal value and the regret of each episode, as a share of it."""
    game, truth, partner = _met(cell.game, cell.seed, _facts(cell.parameters))
    seed = int(cell.parameters.get("run", cell.seed))
    n_states, n_actions, _ = game.shape
    first = random_deterministic_policy(n_states, n_actions, np.random.default_rng([seed, 0]))
    learner = make_learner(cell.method, game, seed=seed, first=first)
    if partner is None:
        partner = OptimalFollower(cell.parameters.get("ties", "first"), seed)
    episodes = list(interact(learner, truth, int(cell.parameters["episodes"]), follower=partner))
    best = episodes[0].best
    scale = abs(best) if best else 1.0
    return {"optimal_value": best, "regrets": [episode.regret / scale for episode in episodes]}


def _facts(parameters: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(parameters.get("size", ())), parameters.get("concentration")


@lru_cache(maxsize=4)
def _met(
    name: str, seed: int, facts: tuple[Any, ...]
) -> tuple[TwoAgentMDP, Array, Follower | None]:
    """Return the game and the truth of a cell, and the follower of a model file."""
    size, concentration = facts
    if name == "random":
        n_states, n_leader, n_follower = size
        game, truth = random_game(n_states, n_leader, n_follower, seed, concentration=concentration)
        return game, truth, None
    if name == "small-maze":
        maze = grid_game(SMALL_MAZE, discount="9/10", slip="1/5")
        return maze.game, maze.reward, None
    if name == "maze-maker":
        maze = maze_maker()
        return maze.game, maze.reward, None
    from iirl_opt.library import read_model

    problem = read_model(name)
    return problem.game, problem.need_truth(), problem.follower


def compare_cells(
    file: str, learners: Sequence[str], *, episodes: int, runs: int, seed: int
) -> list[Cell]:
    """Return the cells that compare learners on a model file: runs differ in the first commitment.

    Raises
    ------
    InvalidArgument
        There is no such learner, or one is named twice.
    """
    _met(file, 0, ((), None))
    for name in learners:
        check_learner(name)
    return [
        Cell("compare", file, name, 0, {"run": seed + run, "episodes": episodes})
        for run in range(runs)
        for name in learners
    ]


def compare_runs(cells: Sequence[Cell], **how: Unpack[Sweep]) -> dict[str, Any]:
    """Run the cells of `compare_cells` and return the document of the comparison, JSON-able.

    Parameters
    ----------
    how : jobs, checkpoint, resume, progress; see `iirl_opt.experiments.sweep.run_cells`.
    """
    about = {"command": "compare", "file": Path(cells[0].game).name, "versions": versions()}
    results = run_cells(cells, compute, about=about, **how)
    return document(results, {**about, "summary": summarise_regrets(results)})


def _plan(scale: str, seed: int) -> list[Cell]:
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


def _curves(results: Sequence[Result]) -> Iterator[tuple[str, dict[str, Array]]]:
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


def summarise_regrets(results: Sequence[Result]) -> dict[str, Any]:
    """Return mean and interval of each learner's regret by episode, in all and late."""
    return {
        "panels": {
            name: {
                method: {
                    "regret": summarise(regrets).record(),
                    "total": summarise(regrets.sum(axis=1)).record(),
                    "late": summarise(late(regrets)).record(),
                }
                for method, regrets in curves.items()
            }
            for name, curves in _curves(results)
        }
    }


def judge(results: Sequence[Result]) -> list[Statement]:
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
    ylabel: str = "regret, as a share of V*",
    log: float | None = None,
) -> Path:
    """Draw a panel for each group of games: mean regret by episode, with its interval.

    Parameters
    ----------
    summary : under ``panels``, for each group and learner, the summary of its regret.
    names : of the learners, as they are to be called.
    log : as for `iirl_opt.plot.plot_curves`; then nothing is drawn below zero, where Student's
        interval may reach.
    """
    from iirl_opt import plot

    axes = plot.panels(len(summary["panels"]))
    for ax, (group, learners) in zip(axes, summary["panels"].items(), strict=True):
        regrets = {names.get(name, name): found["regret"] for name, found in learners.items()}
        least = -np.inf if log is None else 0.0
        curves = {name: np.maximum(_band(regret), least) for name, regret in regrets.items()}
        some = next(iter(regrets.values()))
        plot.plot_curves(
            {name: tuple(band) for name, band in curves.items()},
            range(1, len(some["mean"]) + 1),
            xlabel="episode",
            ylabel=ylabel if ax is axes[0] else "",
            title=f"{Path(group).stem}, {some['runs']} runs",
            log=log,
            ax=ax,
        )
        means = [float(end(band[0])) for band in curves.values() for end in (np.min, np.max)]
        # Wide intervals must not flatten the curves where the scale is linear.
        room = 1.5 if log is None else 5.0
        ax.set_ylim(min(0.0, *means), room * max(means) or None)
    plot.legend_below(axes)
    return plot.save(axes[0], path)


def _band(regret: Mapping[str, Any]) -> Array:
    """Return mean, low and high end (3, T); a single run has no interval but NaN."""
    return np.array([regret[end] for end in ("mean", "low", "high")], dtype=float)


FIGURE_3 = Figure(
    number=3,
    title="Optimal responses and full information: regret by episode",
    source="paper, Section 6; the active learner is ours",
    scales={scale: partial(_plan, scale) for scale in SCALES},
    compute=compute,
    summarise=summarise_regrets,
    judge=judge,
    draw=partial(draw_regrets, names=NAMES, log=1e-6),
)
