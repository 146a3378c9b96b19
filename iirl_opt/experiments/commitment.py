"""Figures 6 and 7: approximate value iteration against a follower that is not rational enough.

The leader commits to what Algorithm 2 (Boltzmann follower, β from 0 to 25) or Algorithm 3 (ε-greedy
follower, ε from 1 to 0) finds, or to its part of an optimal joint policy, which is right for an
optimal follower. Both commitments are evaluated against the follower. Where the best deterministic
commitment can be had it is shown too:

* in small games, by enumeration;
* against a follower that plays uniformly (β = 0, ε = 1): the leader then faces an MDP;
* against an optimal one (ε = 0): the value of the joint optimum (paper, Lemma 2).

The *advantage* of the algorithm is what it earns more than the joint policy's part, as a share of
what it earns. The algorithm's curve is the plain iteration, without the fall-back to the joint
policy that `Approximation.policy` has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.commitment.algorithms_2_and_3 import ValueIteration
from iirl_opt.commitment.enumeration import Enumeration
from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.experiments.bands import BAND, quantiles
from iirl_opt.experiments.figure import Figure, Statement
from iirl_opt.experiments.games import game_of
from iirl_opt.experiments.sweep import Cell, CellResult, summarise
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower
from iirl_opt.game.mdp import MDP
from iirl_opt.game.optimum import modified_policy_iteration

__all__ = ["FIGURE_6", "FIGURE_7", "compute", "judge", "summarise_values"]

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

BETAS = (0.0, 1.0, 2.0, 3.0, 5.0, 7.5, 10.0, 12.5, 15.0, 17.5, 20.0, 22.5, 25.0)
EPSILONS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0)
LEVELS: dict[str, tuple[str, tuple[float, ...]]] = {
    "boltzmann": ("beta", BETAS),
    "epsilon-greedy": ("epsilon", EPSILONS),
}

# For each scale: sizes of the random games and their number, then of those that are enumerated.
SCALES = {
    "small": (((50, 4, 4), 5), ((5, 3, 3), 10)),
    "paper": (((200, 4, 4), 10), ((6, 3, 3), 30)),
}
MOST_ENUMERATED = 5_000

# Values of the same commitment by two computations agree to this share.
AGREE = 1e-9

# An advantage vanishes below this share; in a picture, this many per cent are next to none.
VANISHED = 0.02
LEAST_PERCENT = 0.01

# An advantage that shrinks may rise from one level to the next by this share of its largest value:
# the algorithm is a heuristic, and the mean is over a few games.
NOISE = 0.05


def _cells_of_commitments(figure: int, method: str, scale: str, seed: int) -> list[Cell]:
    """Return the cells: Maze-Maker, random games and small random games at every level."""
    (size, runs), (small, small_runs) = SCALES[scale]
    games: list[tuple[str, int, dict[str, Any]]] = [("maze-maker", 0, {})]
    games += [("random", seed + i, {"size": list(size)}) for i in range(runs)]
    games += [("small", seed + i, {"size": list(small)}) for i in range(small_runs)]
    name, levels = LEVELS[method]
    return [
        Cell(figure, game, method, own, {name: level, **facts})
        for game, own, facts in games
        for level in levels
    ]


def compute(cell: Cell) -> dict[str, Any]:
    """Return what commitments earn from the start.

    `algorithm` is the plain iteration's, `returned` the better of it and `joint`, the joint
    policy's part; `best` is the best deterministic one's, None where it is not known.
    """
    game, reward = game_of(cell)
    level = float(cell.parameters[LEVELS[cell.method][0]])
    boltzmann = cell.method == "boltzmann"
    follower = BoltzmannFollower(level) if boltzmann else EpsilonGreedyFollower(level)
    problem = CommitmentProblem(game, reward, follower)
    found = ValueIteration().iterate(problem)
    return {
        "algorithm": found.iterated.value,
        "returned": found.value,
        "joint": found.joint.value,
        "best": best_value(problem),
        "sweeps": found.sweeps,
        "converged": found.converged,
    }


def best_value(problem: CommitmentProblem) -> float | None:
    """Return the value of the best deterministic commitment where it can be had, else None.

    **Source** the module's three cases; the joint optimum by the paper's Lemma 2.
    """
    if problem.n_deterministic <= MOST_ENUMERATED:
        return Enumeration().search(problem).value
    game = problem.game
    if problem.epsilon == 0:
        return float(game.start @ modified_policy_iteration(game, problem.reward).values)
    if problem.epsilon == 1 or problem.follower == BoltzmannFollower(0):
        mean = problem.kernel.mean(axis=2)
        alone = MDP(mean, game.discount, game.start)
        values = modified_policy_iteration(alone, problem.full_reward.mean(axis=2)).values
        return float(game.start @ values)
    return None


def _panels(results: Sequence[CellResult]) -> Iterator[tuple[str, Array, dict[str, Array]]]:
    """Yield the name of each game family, its levels (L,), and values (runs, L) by commitment."""
    for name in dict.fromkeys(result.cell.game for result in results):
        own = [result for result in results if result.cell.game == name]
        parameter, _ = LEVELS[own[0].cell.method]
        levels = list(dict.fromkeys(float(r.cell.parameters[parameter]) for r in own))
        values = {
            commitment: np.array([r.values[commitment] for r in own], dtype=float)
            for commitment in ("algorithm", "returned", "joint", "best")
        }
        yield name, np.array(levels), {k: v.reshape(-1, len(levels)) for k, v in values.items()}


def _advantage(values: Mapping[str, Array]) -> Array:
    """Return the advantage of the algorithm (runs, L), zero where it earns nothing."""
    scale = np.abs(values["algorithm"])
    gain = values["algorithm"] - values["joint"]
    return np.divide(gain, scale, out=np.zeros_like(gain), where=scale > 0)


def summarise_values(results: Sequence[CellResult]) -> dict[str, Any]:
    """Return, for each game family, levels and the mean and interval of each commitment's value."""
    method = results[0].cell.method
    return {
        "parameter": LEVELS[method][0],
        "panels": {
            name: {
                "size": results_of[0].cell.parameters.get("size"),
                "levels": levels.tolist(),
                **{commitment: summarise(v).record() for commitment, v in values.items()},
                "advantage": {
                    **summarise(_advantage(values)).record(),
                    **quantiles(_advantage(values)),
                },
            }
            for name, levels, values in _panels(results)
            if (results_of := [r for r in results if r.cell.game == name])
        },
    }


def judge(results: Sequence[CellResult]) -> list[Statement]:
    """Return what the paper says of its figures 6 and 7, decided on these results.

    **Source** paper, appendix C: the algorithm outperforms, its advantage is the larger the less
    rational the follower, and (almost) vanishes at β = 20 and ε = 0. Ours: the numbers for
    "almost identical" (2 %) and "shrinks" (`NOISE`), and the comparison with the best commitment.
    The paper's "consistently outperforms" is decided on the mean over games: single games refute
    it.
    """
    statements = []
    boltzmann = results[0].cell.method == "boltzmann"
    algorithm = "Algorithm 2" if boltzmann else "Algorithm 3"
    for name, levels, values in _panels(results):
        advantage = _advantage(values)
        mean = advantage.mean(axis=0)
        if name != "small":
            statements += [
                Statement(
                    f"{name}: {algorithm} earns no less than the joint policy's part on average",
                    bool((mean >= -AGREE).all()),
                    f"least mean advantage {mean.min():.2e}",
                ),
                _shrinks(name, boltzmann, levels, mean),
                _vanishes(name, boltzmann, levels, advantage),
            ]
        statements += [_not_below(name, values, advantage), _not_above(name, values)]
    return statements


def _not_below(name: str, values: Mapping[str, Array], advantage: Array) -> Statement:
    gain = values["returned"] - values["joint"]
    below = advantage < -AGREE
    evidence = f"the plain iteration does in {below.sum()} of {below.size} cells"
    if below.any():
        evidence += f", by {-advantage.min():.2%} at most"
    return Statement(
        f"{name}: what is returned never earns less than the joint policy's part",
        bool((gain >= -AGREE * np.abs(values["joint"])).all()),
        evidence,
    )


def _not_above(name: str, values: Mapping[str, Array]) -> Statement:
    known = ~np.isnan(values["best"])
    best, returned = values["best"][known], values["returned"][known]
    missed = (best - returned) / np.maximum(np.abs(best), np.finfo(float).tiny)
    missed[np.abs(missed) <= AGREE] = 0.0
    evidence = f"known in {best.size} of {known.size} cells"
    if best.size:
        evidence += f", missed by {missed.mean():.2%} on average, {missed.max():.2%} at most"
    return Statement(
        f"{name}: what is returned never earns more than the best deterministic commitment",
        bool(best.size and (missed >= 0).all()),
        evidence,
    )


def _shrinks(name: str, boltzmann: bool, levels: Array, mean: Array) -> Statement:
    word = "β grows" if boltzmann else "ε falls"
    rise = np.diff(mean)
    order = np.diff(levels) * (1 if boltzmann else -1)
    return Statement(
        f"{name}: the advantage shrinks as {word}",
        bool((order > 0).all() and mean[-1] < mean[0] and (rise <= NOISE * mean.max()).all()),
        f"{mean[0]:.2%} at {levels[0]:g}, {mean[-1]:.2%} at {levels[-1]:g}, "
        f"largest step {rise.max():+.2%}",
    )


def _vanishes(name: str, boltzmann: bool, levels: Array, advantage: Array) -> Statement:
    at, most = (20.0, VANISHED) if boltzmann else (0.0, AGREE)
    found = np.abs(advantage[:, levels == at])
    return Statement(
        f"{name}: the advantage at β = 20 is under 2 %"
        if boltzmann
        else f"{name}: at ε = 0 both earn the same",
        bool(found.size and (found < most).all()),
        f"largest advantage {found.max():.2e}" if found.size else f"no cell at {at:g}",
    )


def draw(summary: Mapping[str, Any], path: Path) -> Path:
    """Draw a row for each game family: values over the levels, and the advantage by itself.

    Where values differ by a few hundredths their curves coincide; the advantage over the joint
    policy's part shows what the statements are about, on a logarithmic axis.
    """
    from iirl_opt import plot

    beta = summary["parameter"] == "beta"
    names = {
        "algorithm": "Algorithm 2" if beta else "Algorithm 3",
        "joint": "leader's part of the optimal joint policy",
        "best": "best deterministic commitment, where known",
    }
    xlabel = "β of the follower" if beta else "ε of the follower"
    axes = plot.panels(2 * len(summary["panels"]))
    for i, (name, panel) in enumerate(summary["panels"].items()):
        plot.plot_curves(
            {title: panel[curve]["mean"] for curve, title in names.items()},
            panel["levels"],
            points=[names["best"]],
            xlabel=xlabel,
            ylabel="value from the start",
            title=_title(name, panel),
            ax=axes[2 * i],
        )
        _draw_advantage(axes[2 * i + 1], panel, names, xlabel)
    if not beta:
        for ax in axes:
            ax.invert_xaxis()
    plot.legend_below(axes)
    return plot.save(axes[0], path)


def _draw_advantage(
    ax: Axes, panel: Mapping[str, Any], names: Mapping[str, str], xlabel: str
) -> None:
    """Draw what the algorithm earns more than the joint policy's part, which is the line at 0."""
    from iirl_opt import plot

    gain = panel["advantage"]
    shares = [100 * np.array(gain[p], dtype=float) for p in ("mean", "lower", "upper") if p in gain]
    plot.plot_curves(
        {names["algorithm"]: tuple(shares), names["joint"]: np.zeros(len(shares[0]))},
        panel["levels"],
        xlabel=xlabel,
        ylabel="% of the value",
        title="advantage over the joint part",
        band=BAND,
        log=LEAST_PERCENT,
        ax=ax,
    )
    if "β" in xlabel:
        ax.axhline(100 * VANISHED, color="0.4", linestyle=":", label="2 % of the value")


def _title(name: str, panel: Mapping[str, Any]) -> str:
    if name == "maze-maker":
        return "Maze-Maker"
    size = "×".join(map(str, panel["size"]))
    return f"{panel['algorithm']['runs']} random games {size}"


def _figure(number: int, method: str, title: str) -> Figure:
    return Figure(
        number=number,
        title=title,
        source="paper, appendix C; small games and the best commitment are ours",
        scales={scale: partial(_cells_of_commitments, number, method, scale) for scale in SCALES},
        compute=compute,
        summarise=summarise_values,
        judge=judge,
        draw=draw,
    )


FIGURE_6 = _figure(6, "boltzmann", "Algorithm 2 against a Boltzmann follower")
FIGURE_7 = _figure(7, "epsilon-greedy", "Algorithm 3 against an ε-greedy follower")
