"""Benchmarks: ``python benchmarks [NAME …] [--out FILE]`` prints medians and ratios against peers.

Every peer is timed in the same process and run as ours, in turn, so that the ratios hold when the
speed of the machine drifts; absolute times are for orientation. Names: planning, compile, learning,
active, certificates, cuts, live.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import cvxpy as cp
import highspy
import numpy as np
import quantecon
import scipy.sparse as sp

import iirl_opt as iirl
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.solver import LiveProgram

Row = dict[str, Any]


def timed(runs: int, **contestants: Callable[[], Any]) -> dict[str, float]:
    """Return the median milliseconds of each contestant, run in turn after one warm-up."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for i in range(runs + 1):
        for name, contestant in contestants.items():
            began = time.perf_counter()
            contestant()
            if i:
                times[name].append(1e3 * (time.perf_counter() - began))
    return {name: median(values) for name, values in times.items()}


def games() -> dict[str, tuple[TwoAgentMDP, np.ndarray]]:
    """Return the games of the tables: the paper's two, and a sparse random one."""
    return {
        "maze 392×6×4": tuple(iirl.maze_maker()),
        "paper 200×4×4": iirl.random_game(200, 4, 4, rng=0),
        "sparse 1000×4×4": iirl.random_game(1000, 4, 4, rng=0, successors=5),
    }


def value_iteration(game: TwoAgentMDP, reward: np.ndarray) -> np.ndarray:
    """Return optimal values by plain vectorised value iteration with a sup-norm stop at 1e-10."""
    values = np.zeros(game.n_states)
    while True:
        q = (game.matrix @ values).reshape(game.n_states, -1)
        new = reward + game.discount * q.max(axis=1)
        if np.abs(new - values).max() < 1e-10 * (1 - game.discount):
            return new
        values = new


def planning() -> list[Row]:
    """Time optimal values: ours, QuantEcon's modified policy iteration, value iteration."""
    rows = []
    for name, (game, reward) in games().items():
        k = game.n_choices
        peer = quantecon.markov.DiscreteDP(
            np.repeat(reward, k),
            sp.csr_matrix(game.matrix),
            game.discount,
            np.repeat(np.arange(game.n_states), k),
            np.tile(np.arange(k), game.n_states),
        )
        ms = timed(
            7,
            ours=lambda g=game, r=reward: iirl.game.modified_policy_iteration(g, r),
            unpolished=lambda g=game, r=reward: iirl.game.modified_policy_iteration(
                g, r, polish=False
            ),
            quantecon=lambda p=peer: p.solve(method="mpi", epsilon=1e-8),
            value_iteration=lambda g=game, r=reward: value_iteration(g, r),
        )
        rows.append(
            {
                "game": name,
                **{f"{key} ms": value for key, value in ms.items()},
                "unpolished/quantecon": ms["unpolished"] / ms["quantecon"],
                "value iteration/ours": ms["value_iteration"] / ms["ours"],
            }
        )
    return rows


def compile_overhead() -> list[Row]:
    """Time what cvxpy adds to bare HiGHS on the identical matrix, for the occupancy program."""
    rows = []
    for name, (game, reward) in list(games().items())[:2]:
        parts: list[tuple[float, float, float, float]] = []
        for _ in range(15):
            began = time.perf_counter()
            problem = iirl.StackelbergCommitment(game, reward).problem()
            built = time.perf_counter() - began
            solved = iirl.solve(problem)
            total = time.perf_counter() - began
            data, _, _ = problem.get_problem_data("HIGHS")
            began = time.perf_counter()
            bare_highs(data)
            parts.append((built, solved.compile_seconds, total, time.perf_counter() - began))
        build, compilation, total, bare = np.array(parts).T
        rows.append(
            {
                "game": name,
                "build ms": 1e3 * median(build),
                "compile ms": 1e3 * median(compilation),
                "bare HiGHS ms": 1e3 * median(bare),
                "(build + compile)/bare": median((build + compilation) / bare),
                "total/bare": median(total / bare),
            }
        )
    return rows


def bare_highs(data: dict[str, Any]) -> None:
    """Solve a compiled linear program by highspy alone, with the same options."""
    solver = highspy.Highs()
    solver.setOptionValue("log_to_console", False)
    for side in ("primal", "dual"):
        solver.setOptionValue(f"{side}_feasibility_tolerance", 1e-9)
    model = highspy.HighsModel()
    program, matrix = model.lp_, data["A"].tocsc()
    program.num_row_, program.num_col_ = matrix.shape
    program.col_cost_ = data["c"]
    program.row_upper_ = data["b"]
    program.row_lower_ = np.where(
        np.arange(matrix.shape[0]) < data["dims"].zero, data["b"], -np.inf
    )
    free = np.full(matrix.shape[1], np.inf)
    program.col_lower_ = -free if data["lower_bounds"] is None else data["lower_bounds"]
    program.col_upper_ = free if data["upper_bounds"] is None else data["upper_bounds"]
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_, program.a_matrix_.index_ = matrix.indptr, matrix.indices
    program.a_matrix_.value_ = matrix.data
    solver.passModel(model)
    solver.run()


def learning() -> list[Row]:
    """Time Algorithm 1 on Maze-Maker, and the lifted feasible set against explicit rows."""
    game, truth = iirl.maze_maker()
    began = time.perf_counter()
    at: dict[int, float] = {}
    learner = iirl.InteractiveIRL(game, seed=0)
    for episode in iirl.interact(learner, truth, 30):
        at[episode.number] = time.perf_counter() - began
        if episode.number == 5:
            feasible = episode.learner.known
    objective = np.random.default_rng(0).uniform(-1, 1, game.n_states)
    ms = timed(
        3,
        lifted=lambda: feasible.maximise(objective),
        explicit=lambda: explicit(feasible, objective),
    )
    return [
        {
            "game": "maze 392×6×4",
            "5 episodes s": at[5],
            "30 episodes s": at[30],
            "lifted, 5 episodes ms": ms["lifted"],
            "explicit/lifted": ms["explicit"] / ms["lifted"],
        }
    ]


def active() -> list[Row]:
    """Time the active learner's episodes against Algorithm 1's, and compare their regrets."""
    sizes = {"random 30×3×3": (30, 3, 3), "random 200×4×4": (200, 4, 4)}
    problems = {name: iirl.random_game(*size, rng=0) for name, size in sizes.items()}
    problems["maze 392×6×4"] = tuple(iirl.maze_maker())
    rows = []
    for name, (game, truth) in problems.items():
        ms, regrets = {}, {}
        for kind in (iirl.InteractiveIRL, iirl.ActiveIRL):
            times, lost = [], []
            began = time.perf_counter()
            for episode in iirl.interact(kind(game, seed=0), truth, 30):
                times.append(1e3 * (time.perf_counter() - began))
                lost.append(episode.regret)
                began = time.perf_counter()
            ms[kind], regrets[kind] = median(times), np.array(lost)
        one, other = regrets[iirl.ActiveIRL], regrets[iirl.InteractiveIRL]
        rows.append(
            {
                "game": name,
                "active ms": ms[iirl.ActiveIRL],
                "active/Algorithm 1": ms[iirl.ActiveIRL] / ms[iirl.InteractiveIRL],
                "regret, late": one[20:].sum() / other[20:].sum(),
                "regret, in all": one.sum() / other.sum(),
            }
        )
    return rows


def certificates() -> list[Row]:
    """Compare the regret certificate with the exact worst regret on 200 instances of six states."""
    worst: list[float] = []
    upper: dict[bool, list[float]] = {False: [], True: []}
    ms: dict[bool, list[float]] = {False: [], True: []}
    for seed in range(50):
        game, truth = iirl.random_game(6, 2, 2, rng=seed)
        for episode in iirl.interact(iirl.ActiveIRL(game, seed=seed), truth, 24):
            if episode.number not in (3, 9, 15, 24):
                continue
            known = episode.learner.known
            worst.append(iirl.worst_regret(known, episode.pi1).value)
            for tighten, bounds in upper.items():
                began = time.perf_counter()
                bounds.append(iirl.rewards.regret_bound(known, episode.pi1, tighten=tighten).upper)
                ms[tighten].append(1e3 * (time.perf_counter() - began))
    exact, zero = np.array(worst), 1e-7
    rows = []
    for tighten, bounds in upper.items():
        bound = np.array(bounds)
        loose = bound[exact > zero] / exact[exact > zero]
        rows.append(
            {
                "game": "tightened" if tighten else "plain",
                "instances": len(bound),
                "below the exact one": np.count_nonzero(bound < exact - zero),
                "exact zero": np.count_nonzero(exact <= zero),
                "both zero": np.count_nonzero((bound <= zero) & (exact <= zero)),
                "bound/exact, median": float(np.median(loose)),
                "90 %": float(np.quantile(loose, 0.9)),
                "ms": median(ms[tighten]),
            }
        )
    return rows


def explicit(feasible: iirl.FeasibleRewards, objective: np.ndarray) -> None:
    """Maximise over Corollary 1 as printed, with (I − γP)^-1 in every row."""
    game = feasible.game
    r = cp.Variable(game.n_states)
    rows = []
    for observation in feasible.observations:
        mdp = game.follower_mdp(observation.pi1)
        chain = mdp.chain(observation.pi2).toarray()
        inverse = np.linalg.inv(np.eye(game.n_states) - game.discount * chain)
        each = mdp.kernel.transpose(1, 0, 2)
        printed = ((chain[None] - each) @ inverse).reshape(-1, game.n_states)
        rows.append(printed[np.abs(printed).max(axis=1) > 1e-12])
    unique = np.unique(np.round(np.concatenate(rows), 12), axis=0)
    iirl.solve(
        cp.Problem(cp.Maximize(objective @ r), [unique @ r >= 0, r >= 0, cp.sum(r) == 1]),
        throw=False,
    )


def cuts() -> list[Row]:
    """Time Algorithm 1 on random games, where feasible sets are solved by cuts."""
    rows = []
    for name, size, lifted_at in (
        ("random 30×3×3", (30, 3, 3), 10),
        ("paper 200×4×4", (200, 4, 4), 4),
    ):
        game, truth = iirl.random_game(*size, rng=0)
        seconds, began = [], time.perf_counter()
        for episode in iirl.interact(iirl.InteractiveIRL(game, seed=0), truth, 30):
            seconds.append(time.perf_counter() - began)
            if episode.number == lifted_at:
                feasible = episode.learner.known
            began = time.perf_counter()
        objective = np.random.default_rng(0).uniform(-1, 1, game.n_states)
        ms = timed(
            3,
            cuts=lambda f=feasible, c=objective: f.maximise(c, method="cuts"),
            lifted=lambda f=feasible, c=objective: f.maximise(c, method="lifted"),
        )
        rows.append(
            {
                "game": name,
                "median episode ms": 1e3 * median(seconds),
                "slowest episode ms": 1e3 * max(seconds),
                "episodes compared": lifted_at,
                "cuts ms": ms["cuts"],
                "lifted/cuts": ms["lifted"] / ms["cuts"],
            }
        )
    return rows


def live() -> list[Row]:
    """Time a live program after a small change of the reward against a fresh one."""
    rows = []
    for name, (game, reward) in list(games().items())[:2]:
        rng = np.random.default_rng(0)
        n, k = game.n_states, game.n_choices
        flow = iirl.StackelbergCommitment(game, reward).problem()
        advantage = np.repeat(np.eye(n), k, axis=0) - game.discount * game.matrix
        hot_flow = LiveProgram.of(flow)
        hot_values = LiveProgram(np.ones(n) / n, advantage, np.repeat(reward, k), np.inf)
        hot_flow.solve(), hot_values.solve()

        def nearby(
            r: np.ndarray = reward, rng: np.random.Generator = rng, k: int = k
        ) -> np.ndarray:
            return np.repeat(r * (1 + 0.01 * rng.normal(size=r.size)), k)

        def occupancy(program: LiveProgram, draw: Any = nearby) -> None:
            program.change_objective(draw())
            program.solve()

        def values(program: LiveProgram, draw: Any = nearby) -> None:
            program.change_rows(draw(), np.inf)
            program.solve()

        ms = timed(
            5,
            hot_occupancy=lambda p=hot_flow, f=occupancy: f(p),
            occupancy=lambda q=flow, f=occupancy: f(LiveProgram.of(q)),
            hot_values=lambda p=hot_values, f=values: f(p),
            values=lambda a=advantage, n=n, f=values: f(
                LiveProgram(np.ones(n) / n, a, np.full(a.shape[0], -np.inf), np.inf)
            ),
        )
        rows.append(
            {
                "game": name,
                "occupancy hot ms": ms["hot_occupancy"],
                "occupancy cold/hot": ms["occupancy"] / ms["hot_occupancy"],
                "values hot ms": ms["hot_values"],
                "values cold/hot": ms["values"] / ms["hot_values"],
            }
        )
    return rows


SUITES: dict[str, Callable[[], list[Row]]] = {
    "planning": planning,
    "compile": compile_overhead,
    "learning": learning,
    "active": active,
    "certificates": certificates,
    "cuts": cuts,
    "live": live,
}


def main() -> None:
    """Run the named suites and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *SUITES], help="suites (all by default)")
    parser.add_argument("--out", type=Path, help="write the tables as JSON")
    options = parser.parse_args()
    packages = ("iirl-opt", "cvxpy", "highspy", "numpy", "scipy", "quantecon")
    result: dict[str, Any] = {
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages},
        "tables": {},
    }
    for name in options.names or SUITES:
        rows = SUITES[name]()
        result["tables"][name] = rows
        print(f"\n{name}")
        for row in rows:
            print("  " + "   ".join(f"{k} {v:.4g}" if k != "game" else v for k, v in row.items()))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
