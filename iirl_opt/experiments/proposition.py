"""Proposition 1 as an experiment: where regret vanishes, where it does not, and where it cannot.

A cell is one run of one learner against an optimal follower with random ties, as in the paper. On
small random games the repaired assumption is decided first (`iirl_opt.learn.proposition_1`): where
it holds, no episode has regret from some episode on, and the late commitments are optimal in
rational arithmetic; where it fails, Algorithm 1 may keep a floor.

On two model files nothing can be learnt: no commitment, stochastic or not, separates the truth from
its mirror image (`iirl_opt.learn.limits`). A learner that is lucky under the one truth is as
unlucky under the other, so each run is played under both. Regrets here are in the unit of values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.experiments.bands import quantiles
from iirl_opt.experiments.figure import Figure, Statement
from iirl_opt.experiments.learning import NAMES, draw_regrets, late
from iirl_opt.experiments.sweep import Cell, CellResult, summarise
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.exact import exact_optimum
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import random_deterministic_policy
from iirl_opt.learn.episodes import interact
from iirl_opt.learn.limits import indistinguishable
from iirl_opt.learn.proposition_1 import convergence_condition
from iirl_opt.library import read_model
from iirl_opt.library.learners import make_learner

__all__ = ["PROPOSITION_1", "compute", "judge", "summarise_runs"]

Array = NDArray[np.float64]

NAME = "proposition-1"
EPISODES = 60
METHODS = ("algorithm-1", "active")
HOLDS, FAILS = "the assumption holds", "the assumption fails"

# The model files on which nothing can be learnt, each with the mirror image of its reward.
MIRRORED: Mapping[str, tuple[float, ...]] = {
    "idle-partner": (0.0, 1.0),
    "same-answer": (0.0, 0.95, 1.0),
}

# For each scale: how many random games of so many states, and how many runs on each model file.
SCALES: Mapping[str, tuple[Mapping[int, int], int]] = {
    "small": ({2: 10, 3: 20, 4: 10}, 10),
    "paper": ({2: 40, 3: 120, 4: 40}, 40),
}


def compute(cell: Cell) -> dict[str, Any]:
    """Return the regret of each episode, and what is proved of the game.

    ``holds`` and ``margin`` are those of the repaired assumption, ``most_bad`` the bound on bad
    episodes, if there is one; ``optimal_late`` says whether every commitment of the last third is
    optimal in rational arithmetic; ``floor`` is what no learner can undercut on a model file, in
    the mean over both truths.
    """
    run = int(cell.parameters.get("run", cell.seed))
    game, truth, floor = _instance(cell)
    follower = OptimalFollower("random")
    condition = convergence_condition(game, truth, follower)
    n_states, n_actions, _ = game.shape
    first = random_deterministic_policy(n_states, n_actions, np.random.default_rng([run, 0]))
    learner = make_learner(cell.method, game, seed=run, first=first)
    episodes = list(interact(learner, truth, int(cell.parameters["episodes"]), follower=follower))
    regrets = np.array([episode.regret for episode in episodes])
    bad = np.flatnonzero(regrets > condition.regret_tolerance)
    played = [o.pi1 for o in episodes[-1].learner.history]
    return {
        "holds": bool(condition),
        "proved": bool(condition.check()),
        "margin": condition.margin if np.isfinite(condition.margin) else None,
        "suboptimal": len(condition.commitments),
        "most_bad": condition.most_bad_episodes,
        "floor": floor,
        "regrets": regrets.tolist(),
        "bad": len(bad),
        "last_bad": int(bad[-1]) + 1 if bad.size else 0,
        "optimal_late": _all_optimal(game, truth, played[-max(1, len(played) // 3) :]),
    }


def _instance(cell: Cell) -> tuple[TwoAgentMDP, Array, float | None]:
    """Return game and truth of a cell, and the proved floor of a model file."""
    if cell.game == "random":
        n_states, n_leader, n_follower = cell.parameters["size"]
        game, truth = random_game(n_states, n_leader, n_follower, cell.seed, restart=False)
        return game, truth, None
    problem = read_model(cell.game)
    mirrored = np.array(MIRRORED[cell.game])
    found = indistinguishable(problem.game, problem.need_truth(), mirrored)
    truth = mirrored if cell.parameters["mirrored"] else problem.need_truth()
    return problem.game, truth, float(found.regret) if found else None


def _all_optimal(game: TwoAgentMDP, truth: Array, played: Sequence[Array]) -> bool:
    """Return whether all commitments are deterministic and, in rational arithmetic, optimal."""
    start = np.array(game.rational.start, dtype=object)
    best = start @ exact_optimum(game, truth).values
    distinct = {pi1.tobytes(): pi1 for pi1 in played}.values()
    return all(
        bool(np.isin(pi1, (0.0, 1.0)).all())
        and start @ exact_optimum(game, truth, pi1).values == best
        for pi1 in distinct
    )


def _cells_of_proposition_1(scale: str, seed: int) -> list[Cell]:
    sizes, runs = SCALES[scale]
    plan: list[tuple[str, int, dict[str, Any]]] = [
        ("random", seed + i, {"size": [n_states, 2, 2]})
        for n_states, games in sizes.items()
        for i in range(games)
    ]
    plan += [
        (name, 0, {"run": seed + i, "mirrored": mirrored})
        for name in MIRRORED
        for i in range(runs)
        for mirrored in (False, True)
    ]
    return [
        Cell(NAME, game, method, own, {**facts, "episodes": EPISODES})
        for game, own, facts in plan
        for method in METHODS
    ]


def _group(result: CellResult) -> str:
    if result.cell.game != "random":
        return result.cell.game
    return HOLDS if result.values["holds"] else FAILS


def _groups(results: Sequence[CellResult]) -> dict[str, dict[str, list[CellResult]]]:
    """Return the results by group of games and learner; groups without any are left out."""
    groups: dict[str, dict[str, list[CellResult]]] = {}
    for group in (HOLDS, FAILS, *MIRRORED):
        for result in results:
            if _group(result) == group:
                groups.setdefault(group, {}).setdefault(result.cell.method, []).append(result)
    return groups


def _regrets(results: Sequence[CellResult]) -> Array:
    """Return regrets (runs, T): of a run that was played under both truths their mean."""
    runs: dict[Any, list[Any]] = {}
    for result in results:
        facts = {k: v for k, v in result.cell.parameters.items() if k != "mirrored"}
        runs.setdefault((result.cell.seed, str(facts)), []).append(result.values["regrets"])
    return np.array([np.mean(both, axis=0) for both in runs.values()])


def summarise_runs(results: Sequence[CellResult]) -> dict[str, Any]:
    """Return regrets by group of games and learner, and how often the assumption holds by size."""
    random = [r for r in results if r.cell.game == "random" and r.cell.method == METHODS[0]]
    met: dict[str, dict[str, int]] = {}
    for result in random:
        row = met.setdefault(str(result.cell.parameters["size"][0]), {"games": 0, "holds": 0})
        row["games"] += 1
        row["holds"] += bool(result.values["holds"])
    return {
        "assumption": met,
        "panels": {
            group: {
                method: {
                    "regret": {**summarise(_regrets(own)).record(), **quantiles(_regrets(own))},
                    "late": summarise(late(_regrets(own))).record(),
                    "optimal_late": sum(r.values["optimal_late"] for r in own),
                    "last_bad": max(r.values["last_bad"] for r in own),
                }
                for method, own in learners.items()
            }
            for group, learners in _groups(results).items()
        },
    }


def judge(results: Sequence[CellResult]) -> list[Statement]:
    """Return what Proposition 1, repaired, says of these runs, and what it cannot say."""
    groups = _groups(results)
    statements = []
    for method, own in groups.get(HOLDS, {}).items():
        last = max(r.values["last_bad"] for r in own)
        sound = all(r.values["proved"] and r.values["optimal_late"] for r in own)
        statements.append(
            Statement(
                f"{HOLDS}: {NAMES[method]} is optimal in the end, exactly",
                sound and last <= 2 * EPISODES / 3,
                f"{len(own)} games, no regret after episode {last} of {EPISODES}",
            )
        )
    bounded = [
        r for r in groups.get(HOLDS, {}).get(METHODS[0], []) if r.values["most_bad"] is not None
    ]
    if bounded:
        most = max(r.values["bad"] for r in bounded)
        statements.append(
            Statement(
                f"{HOLDS}: Algorithm 1 has no more bad episodes than suboptimal commitments",
                all(r.values["bad"] <= r.values["most_bad"] for r in bounded),
                f"at most {most} of up to {max(r.values['most_bad'] for r in bounded)}",
            )
        )
    if FAILS in groups:
        own = groups[FAILS][METHODS[0]]
        floors = np.array([late(_regrets([r])).item() for r in own])
        kept = floors[[r.values["last_bad"] > 2 * EPISODES / 3 for r in own]]
        statements.append(
            Statement(
                f"{FAILS}: Algorithm 1 keeps a floor on some games",
                bool(kept.size),
                f"{kept.size} of {floors.size} games, late regret there "
                f"{kept.mean() if kept.size else 0.0:.3g} an episode",
            )
        )
    statements += [_judge_floor(name, groups[name]) for name in MIRRORED if name in groups]
    return statements


def _judge_floor(name: str, learners: Mapping[str, Sequence[CellResult]]) -> Statement:
    """Decide that no learner undercuts the proved floor, in any episode, over both truths."""
    floors = {r.values["floor"] for own in learners.values() for r in own}
    means = {method: _regrets(own).mean(axis=0) for method, own in learners.items()}
    proved = None not in floors
    floor = max(floors) if proved else np.inf
    found = ", ".join(f"{NAMES[method]} {mean.mean():.4g}" for method, mean in means.items())
    return Statement(
        f"{name}: no commitment separates the truth from its mirror image, so every learner loses",
        proved and all(bool((mean >= floor - 1e-9).all()) for mean in means.values()),
        f"proved: {floor:.4g} an episode over both truths; {found}",
    )


PROPOSITION_1 = Figure(
    number=NAME,
    title="Proposition 1: where the regret vanishes, and where nothing can be learnt",
    source="paper, Proposition 1, its assumption repaired; the active learner and floors are ours",
    scales={scale: partial(_cells_of_proposition_1, scale) for scale in SCALES},
    compute=compute,
    summarise=summarise_runs,
    judge=judge,
    draw=partial(draw_regrets, names=NAMES, ylabel="regret", log=1e-6),
)
